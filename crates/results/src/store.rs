//! Results on disk: one JSON document per run, written atomically.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::RunResult;

/// Why results could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No room left.
    #[error("{}: the disk is full; make room, the results were not written", .0.display())]
    DiskFull(PathBuf),
    /// The operating system returned an error.
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The failed operation.
        doing: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a result of a version that this program knows.
    #[error("{}: not a result file: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl RunResult {
    /// Writes the results to `path`, replacing the file atomically: the document is first written to a file beside
    /// it.
    ///
    /// # Errors
    /// See [`StoreError`]; nothing is left behind then.
    pub fn write(&self, path: &Path) -> Result<(), StoreError> {
        let mut text = serde_json::to_string_pretty(self).expect("results have no maps with strange keys");
        text.push('\n');
        write_whole(path, text.as_bytes())
    }

    /// Reads results.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "reading it", source };
        let text = fs::read_to_string(path).map_err(io_error)?;
        serde_json::from_str(&text).map_err(|source| StoreError::Format { path: path.to_owned(), source })
    }
}

/// Writes a file atomically.
///
/// # Errors
/// See [`StoreError`].
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let fail = |doing| {
        move |source: io::Error| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull(path.to_owned()),
            _ => StoreError::Io { path: path.to_owned(), doing, source },
        }
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);

    let write = || -> Result<(), StoreError> {
        let mut file = BufWriter::new(File::create(&part).map_err(fail("making it"))?);
        file.write_all(bytes).map_err(fail("writing it"))?;
        let file = file.into_inner().map_err(|error| fail("writing it")(error.into_error()))?;
        // Some file systems report a full disk only here.
        file.sync_all().map_err(fail("flushing it to disk"))?;
        fs::rename(&part, path).map_err(fail("putting it in place"))
    };
    write().inspect_err(|_| {
        // The partial file may not exist; the first error is the one that matters.
        let _ = fs::remove_file(&part);
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn written_results_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        let (_, run) = sample::two_flows();
        run.write(&path).unwrap();
        run.write(&path).unwrap();
        assert_eq!(RunResult::read(&path).unwrap(), run);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_nothing_behind_and_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir_all(path.join("inside")).unwrap();
        let error = write_whole(&path, b"x").unwrap_err();
        assert!(error.to_string().contains("taken: putting it in place: "), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        let error = write_whole(&folder.path().join("missing/x"), b"x").unwrap_err();
        assert!(error.to_string().contains("missing/x: making it: "), "{error}");
        let error = RunResult::read(&folder.path().join("missing")).unwrap_err();
        assert!(error.to_string().contains("missing: reading it: "), "{error}");
    }

    #[test]
    fn a_full_disk_is_called_that() {
        // The only device that is always full. Files cannot be renamed in its folder, which would be the next step.
        let mut file = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let source = file.write_all(b"x").unwrap_err();
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert!(StoreError::DiskFull("r.json".into()).to_string().starts_with("r.json: the disk is full"));
    }

    #[test]
    fn other_files_are_no_results() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        fs::write(&path, "{}").unwrap();
        let error = RunResult::read(&path).unwrap_err();
        assert!(error.to_string().contains("not a result file: missing field"), "{error}");
    }
}
