//! The directory of a run: it identifies the owner and gives access to the hosts during the run.
//!
//! `/run/evenair/PID-N/`, or below `$XDG_RUNTIME_DIR` or the temporary directory where `/run` is not writable:
//!
//! | file | content |
//! |---|---|
//! | `owner` | process id and its start time in clock ticks since boot, which together identify a process uniquely |
//! | `hosts/NAME` | process id and descriptor of the host's network namespace: `/proc/PID/fd/N` |
//! | `box.toml`, `box.sock` | the box program's configuration and control socket |
//!
//! The directory is removed when the run ends. If the owner was killed, the next run removes it.

use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use evenair_sys::process::{effective_user, start_time};

use crate::error::TestbedError;

/// The directory of this run. Dropping it removes it.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Creates the directory of a new run in the first writable place, after removing directories of dead runs there.
    ///
    /// # Errors
    /// If no place is writable, or the disk is full.
    pub fn create() -> Result<Self, TestbedError> {
        let mut refused = None;
        for base in bases() {
            match Self::create_in(&base) {
                Ok(run) => return Ok(run),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.expect("there is always a temporary directory"))
    }

    /// As [`RunDir::create`], in a given place.
    ///
    /// # Errors
    /// If it is not writable, or the disk is full.
    pub fn create_in(base: &Path) -> Result<Self, TestbedError> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(base).map_err(|e| files("make the directory", base, e))?;
        remove_dead(base);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{}-{number}", process::id()));
        // Of a dead process with the same id, which `remove_dead` could not remove.
        let made = fs::create_dir(&path).and_then(|()| fs::create_dir(path.join("hosts")));
        made.map_err(|e| files("make the directory", &path, e))?;
        let run = Self { path };
        let started = start_time(process::id()).unwrap_or_default();
        run.write("owner", &format!("{} {started}\n", process::id()))?;
        Ok(run)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name, as an argument of `exec`.
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Writes a file in it.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn write(&self, name: &str, content: &str) -> Result<PathBuf, TestbedError> {
        let path = self.path.join(name);
        fs::write(&path, content).map_err(|e| files("write", &path, e))?;
        Ok(path)
    }

    /// Publishes the location of a host's namespace.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn write_host(&self, name: &str, netns: BorrowedFd<'_>) -> Result<(), TestbedError> {
        let content = format!("{} {}\n", process::id(), netns.as_raw_fd());
        self.write(&format!("hosts/{name}"), &content).map(|_| ())
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the run's directory stays behind");
        }
    }
}

/// Candidate places for run directories, best first.
pub fn bases() -> Vec<PathBuf> {
    let mut bases = vec![PathBuf::from("/run/evenair")];
    bases.extend(std::env::var_os("XDG_RUNTIME_DIR").map(|dir| Path::new(&dir).join("evenair")));
    bases.push(std::env::temp_dir().join(format!("evenair-{}", effective_user())));
    bases
}

/// The namespaces of the running testbeds' hosts: run, host, path of the namespace.
pub fn running_hosts() -> Vec<(String, String, PathBuf)> {
    let mut found = Vec::new();
    for run in bases().iter().flat_map(|base| entries(base)).filter(|run| is_alive(run)) {
        for host in entries(&run.join("hosts")) {
            let Ok(content) = fs::read_to_string(&host) else { continue };
            let Some((pid, fd)) = content.trim().split_once(' ') else { continue };
            found.push((name_of(&run), name_of(&host), PathBuf::from(format!("/proc/{pid}/fd/{fd}"))));
        }
    }
    found
}

fn remove_dead(base: &Path) {
    for run in entries(base).into_iter().filter(|run| run.join("hosts").is_dir() && !is_alive(run)) {
        match fs::remove_dir_all(&run) {
            Ok(()) => tracing::info!(run = %run.display(), "removed the directory of a run that was killed"),
            Err(error) => tracing::warn!(run = %run.display(), %error, "cannot remove the directory of a dead run"),
        }
    }
}

/// Whether the owner of a run lives. A directory without an owner is being created.
fn is_alive(run: &Path) -> bool {
    let Ok(owner) = fs::read_to_string(run.join("owner")) else { return true };
    let mut words = owner.split_whitespace().map(str::parse::<u64>);
    match (words.next(), words.next()) {
        (Some(Ok(pid)), Some(Ok(started))) => u32::try_from(pid).ok().and_then(start_time) == Some(started),
        _ => true,
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<_> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn files(what: &'static str, path: &Path, source: std::io::Error) -> TestbedError {
    TestbedError::Files { what, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_removes_its_directory_and_those_of_dead_runs() {
        let base = tempfile::tempdir().expect("a temporary directory");
        let dead = base.path().join("1-0");
        fs::create_dir_all(dead.join("hosts")).expect("made");
        // Process 1 lives, but was not started at that time.
        fs::write(dead.join("owner"), "1 123456789012345\n").expect("written");
        let other = base.path().join("notes");
        fs::create_dir(&other).expect("made");

        let first = RunDir::create_in(base.path()).expect("created");
        assert!(!dead.exists() && other.exists());
        let second = RunDir::create_in(base.path()).expect("created");
        assert!(first.path().exists() && first.name() != second.name());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }

    #[test]
    fn an_unwritable_place_is_named() {
        let error = RunDir::create_in(Path::new("/proc/evenair")).expect_err("/proc takes no directories");
        assert!(error.to_string().contains("/proc/evenair"), "{error}");
    }
}
