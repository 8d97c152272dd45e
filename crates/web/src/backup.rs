//! Backups of the state directory: one gzipped tar file, which `evenair-web restore` restores.
//!
//! Its first entry, `manifest.json`, has the version of the format and the length and SHA-256 of each file. The history is copied by
//! SQLite's online backup, a consistent snapshot although the server goes on writing; later lines of the audit log are left out. All
//! other files are only ever replaced as a whole. Everything is copied first, into a folder beside the backup, so that the manifest
//! matches the files.
//!
//! Not in it: other backups, a setup link (it could have been used since), files outside the state directory (web.toml, the operator's
//! own certificate), and symbolic links.

mod manifest;
mod restore;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;

use self::manifest::{Listed, MANIFEST, Manifest};
pub use self::restore::{Restored, restore};
use crate::audit::{command, of_shell};
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::history;
use crate::link;
use crate::secret::{give_to_owner, hex, make_folder, random};

/// The folder of rotated backups, in the state directory.
const BACKUPS: &str = "backups";
/// Number of rotated backups to keep.
const ROTATED: usize = 2;
/// Prefix of the folder with replaced files of a restore.
const BEFORE: &str = "before-restore-";

/// Destination of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupTo {
    /// A file, with mode 0600.
    File {
        /// Its path.
        path: PathBuf,
        /// Whether to replace an existing file.
        force: bool,
    },
    /// A new file in `backups/` of the state directory, where the last two are kept.
    Rotated,
    /// Standard output.
    Output,
}

/// Summary of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The file; `None`: standard output.
    pub path: Option<PathBuf>,
    /// How many files it has.
    pub files: usize,
    /// Their total uncompressed length, in bytes.
    pub bytes: u64,
    /// Files left out, with the reasons.
    pub left_out: Vec<String>,
}

/// Makes a backup of the state directory; evenair-web may be running.
///
/// # Errors
/// The state directory cannot be read, or the file exists or cannot be written. Then nothing is left behind, and an existing file is
/// unchanged.
pub fn back_up(config: &WebConfig, clock: &Clock, to: &BackupTo) -> Result<Backup> {
    let state = &config.state;
    fs::read_dir(state)
        .with_context(|| format!("cannot read {}: run it with sudo, or as the user of evenair-web", state.display()))?;
    let audit = of_shell(config, clock)?;
    let target = target(state, clock, to)?;
    let folder = target.as_deref().map_or(state.as_path(), folder_of);
    let staged = Staged::new(folder)?;
    let mut copies = Copies { root: &staged.folder, listed: vec![], left_out: vec![] };
    copies.folder(state, Path::new(""))?;
    let Copies { mut listed, left_out, .. } = copies;
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    let bytes = listed.iter().map(|file| file.bytes).sum();
    let manifest = Manifest::of(clock.unix(), listed);
    let files = manifest.files.len();
    match &target {
        None => _ = pack(&staged.folder, &manifest, std::io::stdout().lock()).context("standard output")?,
        Some(path) => {
            write_file(path, &staged, &manifest, to).with_context(|| path.display().to_string())?;
        }
    }
    if *to == BackupTo::Rotated {
        rotate(folder)?;
    }
    audit.write(command("evenair-web backup").with("file", target.as_ref().map(|path| path.display().to_string())))?;
    Ok(Backup { path: target, files, bytes, left_out })
}

/// The path of the backup; `None`: standard output.
fn target(state: &Path, clock: &Clock, to: &BackupTo) -> Result<Option<PathBuf>> {
    match to {
        BackupTo::Output => Ok(None),
        BackupTo::File { path, force } => {
            if path.exists() && !force {
                bail!("{} is there already: choose another name, or add --force to replace it", path.display());
            }
            Ok(Some(path.clone()))
        }
        BackupTo::Rotated => {
            let folder = state.join(BACKUPS);
            make_folder(&folder).and_then(|()| give_to_owner(&File::open(&folder)?, state)).with_context(|| {
                format!("cannot write to {}: run it with sudo, or as the user of evenair-web", state.display())
            })?;
            let name = |count: usize| {
                let count = if count == 0 { String::new() } else { format!("-{count}") };
                folder.join(format!("evenair-web-{}{count}.tar.gz", stamp(clock)))
            };
            Ok((0..).map(name).find(|path| !path.exists()))
        }
    }
}

/// The parent folder of a path.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The current time as a sortable part of a name: "20261129T065314Z".
fn stamp(clock: &Clock) -> String {
    let date = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(clock.unix());
    humantime::format_rfc3339_seconds(date).to_string().replace(['-', ':'], "")
}

/// Whether a file of this name in the state directory belongs in a backup.
fn is_kept(name: &str) -> bool {
    let is_transient = [history::LOG, history::INDEX, history::RESERVE, link::FILE].contains(&name);
    !(name.starts_with('.') || name == BACKUPS || name.starts_with(BEFORE) || is_transient)
}

/// A folder for copies, removed when dropped.
struct Staged {
    folder: PathBuf,
}

impl Staged {
    fn new(beside: &Path) -> Result<Self> {
        let folder = beside.join(format!(".evenair-web-{}", hex(&random::<8>())));
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("cannot write to {}", beside.display()))?;
        Ok(Self { folder })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// Copies of the files of a backup.
struct Copies<'a> {
    /// The folder with the copies.
    root: &'a Path,
    listed: Vec<Listed>,
    left_out: Vec<String>,
}

impl Copies<'_> {
    /// Copies a folder; `within`: its path below the state directory.
    fn folder(&mut self, folder: &Path, within: &Path) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let entry = entry.with_context(|| folder.display().to_string())?;
            let name = entry.file_name();
            let (path, place) = (entry.path(), within.join(&name));
            let Some(text) = place.to_str() else {
                self.left_out.push(format!("{}: its name is no UTF-8", path.display()));
                continue;
            };
            if within.as_os_str().is_empty() && !is_kept(text) {
                continue;
            }
            let kind = entry.file_type().with_context(|| path.display().to_string())?;
            if kind.is_dir() {
                make_folder(&self.root.join(&place))?;
                self.folder(&path, &place)?;
            } else if kind.is_file() {
                self.file(&path, text)?;
            } else {
                self.left_out.push(format!("{}: neither a file nor a folder", path.display()));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, place: &str) -> Result<()> {
        let copy = self.root.join(place);
        if place == history::FILE {
            if let Err(error) = history::copy_database(path, &copy) {
                if !history::is_damage(&error) {
                    return Err(error).with_context(|| format!("the history, {}", path.display()));
                }
                _ = fs::remove_file(&copy);
                self.left_out.push(format!("{}: {error}", path.display()));
                return Ok(());
            }
        } else {
            copy_file(path, &copy).with_context(|| path.display().to_string())?;
        }
        self.listed.push(Listed::of(place, &mut File::open(&copy)?).with_context(|| copy.display().to_string())?);
        Ok(())
    }
}

/// Copies the current content of a file, which may be appended to meanwhile. Does not follow symbolic links.
fn copy_file(path: &Path, copy: &Path) -> std::io::Result<()> {
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(no_link).open(path)?;
    let length = file.metadata()?.len();
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(copy)?;
    std::io::copy(&mut file.take(length), &mut to).map(drop)
}

/// Writes the backup to a temporary file, and moves that into place once complete.
fn write_file(path: &Path, staged: &Staged, manifest: &Manifest, to: &BackupTo) -> Result<()> {
    let folder = folder_of(path);
    let new = staged.folder.join(".new");
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    if *to == BackupTo::Rotated {
        give_to_owner(&file, folder)?;
    }
    let file = pack(&staged.folder, manifest, file)?;
    file.sync_all()?;
    match to {
        // A file of this name that was created meanwhile is not replaced.
        BackupTo::File { force: false, .. } => fs::hard_link(&new, path).or_else(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Err(error),
            // The file system has no hard links.
            _ => fs::rename(&new, path),
        })?,
        _ => fs::rename(&new, path)?,
    }
    Ok(File::open(folder)?.sync_all()?)
}

/// Writes manifest and files as a gzipped tar.
fn pack<W: Write>(folder: &Path, manifest: &Manifest, to: W) -> Result<W> {
    let mut tar = tar::Builder::new(GzEncoder::new(to, Compression::fast()));
    let text = serde_json::to_string_pretty(manifest)? + "\n";
    let mut add = |path: &str, bytes, content: &mut dyn Read| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes);
        header.set_mode(0o600);
        header.set_mtime(manifest.made_s);
        tar.append_data(&mut header, path, content)
    };
    add(MANIFEST, text.len() as u64, &mut text.as_bytes())?;
    for Listed { path, bytes, .. } in &manifest.files {
        add(path, *bytes, &mut File::open(folder.join(path))?)?;
    }
    let mut to = tar.into_inner()?.finish()?;
    to.flush()?;
    Ok(to)
}

/// Removes the oldest rotated backups; their names begin with the time.
fn rotate(folder: &Path) -> Result<()> {
    let read = || -> std::io::Result<()> {
        let names = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names: Vec<_> = names.collect::<std::io::Result<_>>()?;
        names.retain(|name| {
            name.to_str().is_some_and(|name| name.starts_with("evenair-web-") && name.ends_with(".tar.gz"))
        });
        names.sort_unstable();
        names.iter().rev().skip(ROTATED).try_for_each(|name| fs::remove_file(folder.join(name)))
    };
    read().with_context(|| format!("old backups in {}", folder.display()))
}
