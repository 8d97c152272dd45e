//! Restores the state directory from a backup.
//!
//! Everything is unpacked into a folder of the state directory and checked there. Only then the existing files are moved into
//! `before-restore-TIME`, and the new ones into their place. A marker file exists meanwhile (`state_lock.rs`).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;

use super::manifest::{Listed, MANIFEST, Manifest};
use super::{BEFORE, Staged, is_kept, stamp};
use crate::account::Accounts;
use crate::audit::{command, of_shell};
use crate::clock::Clock;
use crate::config::WebConfig;
use crate::history;
use crate::link;
use crate::secret::{give_to_owner, make_folder};
use crate::state_lock::{StateLock, UNFINISHED};

/// Longest manifest, in bytes: some thousand files.
const LONGEST_MANIFEST: u64 = 1 << 20;
/// User of the service.
const USER: &str = "evenair-web";

/// Result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// When the backup was made, in seconds since 1970, UTC.
    pub made_s: u64,
    /// Version of the program that made it.
    pub version: String,
    /// How many files it has.
    pub files: usize,
    /// The folder with the previous files; `None` without any.
    pub before: Option<PathBuf>,
}

/// Replaces the content of the state directory by a backup. The previous files are kept in a separate folder.
///
/// # Errors
/// evenair-web is running; the backup is damaged, or of a later version; a file cannot be written. Then the state directory is
/// unchanged.
pub fn restore(config: &WebConfig, clock: &Clock, from: impl Read) -> Result<Restored> {
    let state = &config.state;
    let cannot = || format!("cannot write to {}: run it with sudo, or as the user of evenair-web", state.display());
    make_state(state).with_context(cannot)?;
    let _lock = StateLock::of_restore(state)?;
    let staged = Staged::new(state)?;
    let manifest =
        unpack(from, &staged.folder, state).context("nothing was changed, since the backup cannot be used")?;
    check(&staged.folder).context("nothing was changed, since the backup cannot be used")?;
    let before = replace(state, &staged.folder, clock).with_context(cannot)?;
    let Manifest { made_s, version, files, .. } = manifest;
    let line = command("evenair-web restore").with("made_s", made_s);
    of_shell(config, clock)
        .and_then(|audit| audit.write(line))
        .context("it is restored, without a line in the audit log")?;
    Ok(Restored { made_s, version, files: files.len(), before })
}

/// Creates the state directory if missing, for the user of the service if that exists.
fn make_state(state: &Path) -> io::Result<()> {
    if state.is_dir() {
        return Ok(());
    }
    make_folder(state)?;
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|user| user[0] == USER);
    let ids = user.and_then(|user| Some((user.get(2)?.parse().ok()?, user.get(3)?.parse().ok()?)));
    match ids {
        Some((user, group)) if is_root() => chown(state, Some(user), Some(group)),
        _ => Ok(()),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Unpacks a backup into a folder, and checks each file. The files belong to the owner of the state directory.
fn unpack(from: impl Read, folder: &Path, state: &Path) -> Result<Manifest> {
    const CUT: &str = "it is damaged, or was cut off";
    let mut archive = tar::Archive::new(GzDecoder::new(from));
    let mut entries = archive.entries().context(CUT)?;
    let first = entries.next().context("it is empty")?.context("it is no backup, or damaged")?;
    let is_manifest = first.path_bytes() == MANIFEST.as_bytes() && first.size() <= LONGEST_MANIFEST;
    ensure!(is_manifest, "it is no backup of evenair-web: its first entry is not {MANIFEST}");
    let mut text = String::new();
    first.take(LONGEST_MANIFEST).read_to_string(&mut text).context(CUT)?;
    let manifest = Manifest::parse(&text)?;
    let mut wanted: BTreeMap<_, _> = manifest.files.iter().map(|file| (file.path.as_bytes(), file)).collect();
    for entry in entries {
        let entry = entry.context(CUT)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let listed = wanted.remove(name.as_bytes()).with_context(|| format!("{name:?} is not in its manifest"))?;
        let is_plain = entry.header().entry_type().is_file() && entry.size() == listed.bytes;
        ensure!(is_plain, "{name:?} is not as its manifest says");
        write(folder, entry, listed, state).with_context(|| format!("{name:?}"))?;
    }
    if let Some(missing) = wanted.values().next() {
        bail!("{:?} is in its manifest, and missing: the file was cut off", missing.path);
    }
    // Reading the last byte verifies the checksum of gzip.
    io::copy(&mut archive.into_inner(), &mut io::sink()).context(CUT)?;
    Ok(manifest)
}

/// Writes a file below a folder, and verifies it as written.
fn write(root: &Path, mut content: impl Read, listed: &Listed, state: &Path) -> Result<()> {
    let mut path = root.to_owned();
    for part in Path::new(&listed.path) {
        if path != root {
            make_folder(&path)?;
            give_to_owner(&File::open(&path)?, state)?;
        }
        path.push(part);
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    give_to_owner(&file, state)?;
    io::copy(&mut content, &mut file)?;
    file.sync_all()?;
    let is = Listed::of(&listed.path, &mut File::open(&path)?)?;
    ensure!(is == *listed, "it is not what was backed up: SHA-256 {}, and not {}", is.sha256, listed.sha256);
    Ok(())
}

/// Checks that this version can use the unpacked files.
fn check(folder: &Path) -> Result<()> {
    Accounts::load(folder)?;
    let database = folder.join(history::FILE);
    if database.exists() {
        history::check_database(&database).context("its history is damaged, or of another version")?;
    }
    Ok(())
}

/// Moves the existing files aside, and the unpacked ones into place. A failure is rolled back.
fn replace(state: &Path, new: &Path, clock: &Clock) -> Result<Option<PathBuf>> {
    let old: Vec<_> = names(state)?.into_iter().filter(|name| is_replaced(name)).collect();
    let before = (!old.is_empty()).then(|| before(state, clock)).transpose()?;
    let mut moves = Vec::new();
    for name in old {
        let folder = before.as_deref().context("it was made for these")?;
        moves.push([state.join(&name), folder.join(name)]);
    }
    moves.extend(names(new)?.into_iter().map(|name| [new.join(&name), state.join(name)]));
    let mark = state.join(UNFINISHED);
    // An earlier restore may have left it.
    _ = fs::remove_file(&mark);
    give_to_owner(&OpenOptions::new().write(true).create_new(true).mode(0o600).open(&mark)?, state)?;
    File::open(state)?.sync_all()?;
    for (count, [from, to]) in moves.iter().enumerate() {
        let Err(error) = fs::rename(from, to) else { continue };
        for [from, to] in moves[..count].iter().rev() {
            fs::rename(to, from).context("what was moved cannot be moved back")?;
        }
        fs::remove_file(&mark)?;
        return Err(error).with_context(|| from.display().to_string());
    }
    for folder in before.iter().map(PathBuf::as_path).chain([state]) {
        File::open(folder)?.sync_all()?;
    }
    fs::remove_file(&mark)?;
    File::open(state)?.sync_all()?;
    Ok(before)
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name().into_string()));
    Ok(names.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Whether a restore replaces this file: content of a backup, the log of its database, or an earlier setup link.
fn is_replaced(name: &str) -> bool {
    is_kept(name) || [history::LOG, history::INDEX, link::FILE].contains(&name)
}

/// Creates the folder for the previous files.
fn before(state: &Path, clock: &Clock) -> Result<PathBuf> {
    let name = |count: usize| {
        let count = if count == 0 { String::new() } else { format!("-{count}") };
        state.join(format!("{BEFORE}{}{count}", stamp(clock)))
    };
    let folder = (0..).map(name).find(|folder| !folder.exists()).context("numbers do not end")?;
    make_folder(&folder)?;
    give_to_owner(&File::open(&folder)?, state)?;
    Ok(folder)
}
