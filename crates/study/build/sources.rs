//! The sources that decide what a simulation gives: those of the simulator's crate and of all crates of this workspace that it uses, and
//! the versions of the others.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::{fmt::Write, fs};

use sha2::{Digest, Sha256};

/// The crate that makes runs.
const SIMULATOR: &str = "sim";
/// What the names of this workspace's crates begin with; their folders are named as the rest.
const PREFIX: &str = "evenair-";

/// A hash of the sources in the workspace at `root`, in hexadecimal digits, and the folders and files that it depends on.
///
/// # Errors
/// Something of it is not there.
pub fn hash(root: &Path) -> io::Result<(String, Vec<PathBuf>)> {
    let mut inputs = vec![root.join("Cargo.lock")];
    for name in crates(root)? {
        let folder = root.join("crates").join(name);
        inputs.extend([folder.join("Cargo.toml"), folder.join("src")]);
    }
    let mut files = BTreeSet::new();
    inputs.iter().try_for_each(|input| collect(input, &mut files))?;
    let mut hash = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let content = fs::read(file).map_err(|error| named(file, &error))?;
        // The lengths keep names and contents apart.
        hash.update([name.len() as u64, content.len() as u64].map(u64::to_le_bytes).concat());
        hash.update(name.as_bytes());
        hash.update(&content);
    }
    let mut text = String::new();
    for byte in &hash.finalize()[..16] {
        write!(text, "{byte:02x}").expect("a string takes all");
    }
    Ok((text, inputs))
}

/// The simulator's crate and those of the workspace that it uses, directly or not, by their folders.
fn crates(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut open = vec![SIMULATOR.to_owned()];
    while let Some(name) = open.pop() {
        let manifest = root.join("crates").join(&name).join("Cargo.toml");
        if found.insert(name) {
            let text = fs::read_to_string(&manifest).map_err(|error| named(&manifest, &error))?;
            open.extend(dependencies(&text));
        }
    }
    Ok(found)
}

/// The folders of this workspace's crates in the `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> impl Iterator<Item = String> + '_ {
    let lines = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    let own = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.strip_prefix(PREFIX));
    own.map(|rest| rest.chars().take_while(|&c| c.is_ascii_alphanumeric() || c == '-').collect())
}

/// All files at a path.
fn collect(path: &Path, files: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        fs::metadata(path).map_err(|error| named(path, &error))?;
        files.insert(path.to_owned());
        return Ok(());
    }
    fs::read_dir(path)?.try_for_each(|entry| collect(&entry?.path(), files))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
