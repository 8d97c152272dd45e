//! Finds scenarios by name: those of the checkout, or those that the package has installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use evenair_reader::nearest;

/// The scenario by which the folder of a checkout is known.
const ITS_FIRST: &str = "smoke.toml";
/// Where the package installs scenarios.
const INSTALLED: &str = "/usr/share/evenair/scenarios";
/// Number of similar names offered for an unknown one.
const OFFERED: usize = 3;

/// Existing folders with scenarios: those of the checkout that contains the working directory or the running program, or else the
/// installed one.
pub fn folders() -> Vec<PathBuf> {
    let places = [std::env::current_dir(), std::env::current_exe()];
    let of_checkouts = places.iter().flatten().flat_map(|place| place.ancestors()).map(|place| place.join("scenarios"));
    let of_checkouts = of_checkouts.filter(|folder| folder.join(ITS_FIRST).is_file()).take(1);
    of_checkouts.chain([PathBuf::from(INSTALLED)].into_iter().filter(|folder| folder.is_dir())).collect()
}

/// The file of a scenario, given as a path, as a name such as `demo`, or as a path in `scenarios/`.
///
/// # Errors
/// Neither a file nor a scenario matches.
pub fn scenario_file(given: &Path) -> Result<PathBuf> {
    scenario_in(&folders(), given)
}

/// The scenarios in a folder of `scenarios/`, such as `venues`, sorted by name.
///
/// # Errors
/// There is no such folder.
pub fn scenarios_in(name: &str) -> Result<Vec<PathBuf>> {
    let folder = folders().into_iter().map(|folder| folder.join(name)).find(|folder| folder.is_dir());
    scenario_files(&folder.with_context(|| format!("there is no folder scenarios/{name}"))?)
}

fn scenario_in(folders: &[PathBuf], given: &Path) -> Result<PathBuf> {
    if given.exists() && !given.is_dir() {
        return Ok(given.to_owned());
    }
    let name = without_extension(given.strip_prefix("scenarios").unwrap_or(given));
    let mut names = Vec::new();
    for folder in folders {
        for file in scenario_files(folder)? {
            let of_folder = without_extension(file.strip_prefix(folder).unwrap_or(&file));
            let stem = of_folder.file_name().unwrap_or_default().to_owned();
            if of_folder == name || name.as_os_str() == stem {
                return Ok(file);
            }
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    let wanted = name.file_name().unwrap_or_default().to_string_lossy();
    let near = nearest(&wanted, names.iter().map(String::as_str), OFFERED);
    let given = given.display();
    match near[..] {
        [] => bail!("{given}: there is no such file, and no folder with scenarios"),
        _ => bail!(
            "{given}: there is no such file or scenario; the nearest names are {}; evenair scenario list lists all",
            near.join(", ")
        ),
    }
}

/// A path without its extension `.toml`; other dots belong to the name.
fn without_extension(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|extension| extension == "toml") {
        path.with_extension("")
    } else {
        path.to_owned()
    }
}

/// The scenario files below a folder, sorted by name.
///
/// # Errors
/// It cannot be read.
pub fn scenario_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            files.extend(scenario_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_before_a_name_and_a_name_has_one_file() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let library = folder.path().join("scenarios");
        fs::create_dir_all(library.join("adwiser")).expect("made");
        for name in ["demo.toml", "adwiser/a01-one.toml"] {
            fs::write(library.join(name), "").expect("written");
        }
        let mine = folder.path().join("demo.toml");
        fs::write(&mine, "").expect("written");
        let find = |given: &str| scenario_in(std::slice::from_ref(&library), Path::new(given));
        let found = |given: &str| find(given).expect("found");
        assert_eq!(found(&mine.to_string_lossy()), mine);
        for given in ["demo-of-nobody", "adwiser/demo", "scenarios/adwiser/a02"] {
            let error = find(given).expect_err("unknown").to_string();
            assert!(error.contains("the nearest names are"), "{error}");
        }
        for given in ["a01-one", "adwiser/a01-one", "scenarios/adwiser/a01-one.toml", "a01-one.toml"] {
            assert_eq!(found(given), library.join("adwiser/a01-one.toml"), "{given}");
        }
        let error = find("a01-on").expect_err("unknown").to_string();
        assert!(error.contains("the nearest names are a01-one, demo;"), "{error}");
        assert!(scenario_in(&[], Path::new("demo")).is_err());
    }
}
