//! Renames the keys in a file of an older version: `evenair config migrate`.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use evenair_reader::{Change, ConfigError, Migrated, migrate};

use crate::checked::BoxConfig;
use crate::small_file::read_text;

/// Maximum number of old files kept beside one another.
const MOST_KEPT: u32 = 1000;

/// A file and its migrated text.
#[derive(Debug)]
pub struct Migration {
    /// Path of the file itself, with links resolved.
    path: PathBuf,
    migrated: Migrated,
}

impl Migration {
    /// Reads a configuration, a scenario or a policy, without writing anything.
    ///
    /// # Errors
    /// If it cannot be read, or is no TOML, with the position.
    pub fn of(file: &Path) -> Result<Self, ConfigError> {
        let failed = |source| ConfigError::Read { path: file.to_owned(), source };
        let path = fs::canonicalize(file).map_err(failed)?;
        let text = read_text(&path, BoxConfig::LONGEST_FILE).map_err(failed)?;
        Ok(Self { path, migrated: migrate(&text, &file.display().to_string())? })
    }

    /// The changes to make.
    pub fn changes(&self) -> &[Change] {
        &self.migrated.changes
    }

    /// Replaces the file, and returns the path under which the old one is kept beside it. The new file has the mode and the
    /// owner of the old one, and is written atomically, even if the power fails.
    ///
    /// # Errors
    /// The operation that failed. Then the file is unchanged.
    pub fn write(&self) -> io::Result<PathBuf> {
        let new = beside(&self.path, ".evenair-new");
        let written = self.write_new(&new).and_then(|()| {
            let kept = keep(&self.path)?;
            match fs::rename(&new, &self.path) {
                Ok(()) => Ok(kept),
                Err(error) => {
                    _ = fs::remove_file(kept);
                    Err(error)
                }
            }
        });
        if written.is_err() {
            _ = fs::remove_file(&new);
        } else if let Some(folder) = self.path.parent() {
            _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        written
    }

    fn write_new(&self, new: &Path) -> io::Result<()> {
        // Left by a crash.
        match fs::remove_file(new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let old = fs::metadata(&self.path)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
        file.write_all(self.migrated.text.as_bytes())?;
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            fchown(&file, Some(old.uid()), Some(old.gid()))?;
        }
        file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))?;
        file.sync_all()
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Keeps a copy of the file: FILE.bak, or FILE.bak.1 and so on if that exists.
fn keep(path: &Path) -> io::Result<PathBuf> {
    for number in 0..MOST_KEPT {
        let name = if number == 0 { ".bak".to_owned() } else { format!(".bak.{number}") };
        let kept = beside(path, &name);
        match fs::hard_link(path, &kept) {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, format!("there are {MOST_KEPT} old files beside it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# Mine.\n[ports]\nwlan = \"eth1\"\nwire = \"eth0\"\ninserted = true  # from the start on\n\
                       [radio]\nstandard = \"802.11g\"\n";

    #[test]
    fn the_old_file_is_kept_without_replacing_earlier_copies() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("box.toml");
        fs::write(&file, OLD).expect("writable");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("mine");
        fs::write(folder.path().join("box.toml.bak"), "another").expect("writable");
        let migration = Migration::of(&file).expect("good");
        assert_eq!(fs::read_to_string(&file).expect("readable"), OLD, "nothing is written before it is asked for");
        let kept = migration.write().expect("written");
        assert_eq!(kept.file_name().and_then(|name| name.to_str()), Some("box.toml.bak.1"));
        assert_eq!(fs::read_to_string(&kept).expect("readable"), OLD);
        assert_eq!(fs::read_to_string(folder.path().join("box.toml.bak")).expect("readable"), "another");
        let new = fs::read_to_string(&file).expect("readable");
        assert_eq!(new, OLD.replace("inserted = true", "mode = \"inserted\""));
        assert_eq!(fs::metadata(&file).expect("there").mode() & 0o7777, 0o640);
        assert!(BoxConfig::load(&file).expect("good").inserted);
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 3, "and nothing else is left");
        assert!(Migration::of(&file).expect("good").changes().is_empty());
    }

    /// Every old key of a box, in the file of a site.
    #[test]
    fn configurations_of_older_versions_are_valid_after_migration() {
        let old = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/old"));
        for (name, changes) in [("packaged.toml", 0), ("site.toml", 5)] {
            let text = fs::read_to_string(old.join(name)).expect("readable");
            assert_eq!(BoxConfig::parse(&text, name).is_ok(), changes == 0, "{name}");
            let Migrated { text: new, changes: found } = migrate(&text, name).expect("good");
            assert_eq!(found.len(), changes, "{name}: {found:#?}");
            let config = BoxConfig::parse(&new, name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(config.observing, changes > 0);
            let comments = |text: &str| {
                text.lines().filter_map(|line| line.find('#').map(|at| line[at..].to_owned())).collect::<Vec<_>>()
            };
            assert_eq!(comments(&new), comments(&text), "{name}");
        }
    }

    #[test]
    fn the_target_of_a_link_changes_and_the_link_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, link] = ["real.toml", "box.toml"].map(|name| folder.path().join(name));
        fs::write(&file, OLD).expect("writable");
        std::os::unix::fs::symlink("real.toml", &link).expect("writable");
        Migration::of(&link).expect("good").write().expect("written");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert!(fs::read_to_string(&file).expect("readable").contains("mode = \"inserted\""));
    }

    #[test]
    fn missing_files_and_invalid_toml_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("box.toml");
        fs::write(&file, "[ports]\ninserted = = true\n").expect("writable");
        let error = Migration::of(&file).expect_err("refused").to_string();
        assert!(error.contains("box.toml:2:"), "{error}");
        for path in [Path::new("/dev/zero"), folder.path(), &folder.path().join("none.toml")] {
            assert!(Migration::of(path).is_err(), "{}", path.display());
        }
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
    }
}
