//! Crash reports: a file of bounded size in the state directory, with the source line, the last log lines, the version and
//! a digest of the configuration. Meanwhile the bridge carries the traffic.
//!
//! The report of a panic has all of this. The report of a fatal signal (an abort, such as after a failed allocation; a
//! fault) has version, signal and time, since nothing else is safe in a signal handler ([`evenair_sys::fatal`]).

use std::backtrace::Backtrace;
use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use evenair_sys::fatal;

use evenair_boxfile::BoxConfig;
use evenair_boxfile::small_file::read_bytes;

/// Log lines at the end of a report, at most.
const LAST_LINES: usize = 100;
/// Bytes kept of a line, at most.
const LINE: usize = 500;
/// Bytes of a report, at most.
const MOST_BYTES: usize = 128 * 1024;
/// Reports kept: the latest ones.
const KEPT: usize = 5;
const PREFIX: &str = "crash-";

/// The last log lines.
static LAST: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Writer of the log: to standard error, and to the lines kept for a report.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        // A panic while the lock is held must not block its report.
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if last.len() == LAST_LINES {
                last.pop_front();
            }
            last.push_back(line.chars().take(LINE).collect());
        }
        drop(last);
        io::stderr().write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// From now on a panic in any thread and a fatal signal write a report to `directory`, in addition to the usual output.
pub fn report_crashes(directory: &Path, config: &Path) {
    // A signal handler cannot do this.
    keep_latest(directory);
    let version = env!("CARGO_PKG_VERSION");
    let text = format!("evenair {version}\nconfiguration: {}, digest {}\n", config.display(), digest_of(config));
    if let Err(error) = fatal::report(directory, PREFIX, text) {
        eprintln!("evenair: an abort would leave no report: {error}");
    }
    report_panics(directory, config);
}

fn report_panics(directory: &Path, config: &Path) {
    let (directory, config) = (directory.to_owned(), config.to_owned());
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        before(info);
        match save(&directory, &text(info, &config)) {
            Ok(path) => eprintln!("evenair: a report of this is in {}", path.display()),
            Err(error) => eprintln!("evenair: no report could be left in {}: {error}", directory.display()),
        }
    }));
}

/// Directory for files of the box: that of the service manager, or the one for temporary files.
pub fn state_directory() -> PathBuf {
    std::env::var_os("STATE_DIRECTORY").map_or_else(std::env::temp_dir, PathBuf::from)
}

fn text(info: &PanicHookInfo<'_>, config: &Path) -> String {
    let thread = std::thread::current();
    let mut text = format!(
        "evenair {}\nthread: {}\n{info}\nconfiguration: {}, digest {}\n\n{}\nlast lines of the log:\n",
        env!("CARGO_PKG_VERSION"),
        thread.name().unwrap_or("without a name"),
        config.display(),
        digest_of(config),
        Backtrace::force_capture(),
    );
    // The panicking thread may hold the lock.
    if let Ok(last) = LAST.try_lock() {
        last.iter().for_each(|line| {
            text.push_str(line);
            text.push('\n');
        });
    }
    text
}

fn digest_of(config: &Path) -> String {
    let bytes = read_bytes(config, BoxConfig::LONGEST_FILE);
    bytes.map_or_else(|error| error.to_string(), |bytes| format!("{:016x}", digest(&bytes)))
}

/// FNV-1a: distinguishes files, and is not cryptographic.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn save(directory: &Path, text: &str) -> io::Result<PathBuf> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let path = directory.join(format!("{PREFIX}{:012}.{:09}.txt", since.as_secs(), since.subsec_nanos()));
    fs::write(&path, &text.as_bytes()[..text.len().min(MOST_BYTES)])?;
    keep_latest(directory);
    Ok(path)
}

/// Removes all but the latest reports.
fn keep_latest(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_report = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let mut reports: Vec<PathBuf> = names.filter(is_report).collect();
    // Names sort by time.
    reports.sort();
    let old = reports.len().saturating_sub(KEPT);
    reports.drain(..old).for_each(|path| drop(fs::remove_file(path)));
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn the_latest_reports_are_kept_and_each_is_bounded() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("other"), "stays").expect("writable");
        for n in 0..KEPT + 3 {
            save(directory.path(), &format!("report {n} {}", "x".repeat(2 * MOST_BYTES))).expect("writable");
        }
        let mut files: Vec<_> = fs::read_dir(directory.path()).expect("there").flatten().map(|e| e.path()).collect();
        files.sort();
        assert_eq!(files.len(), KEPT + 1);
        let (first, last) = (fs::read(&files[0]).expect("there"), fs::read(&files[KEPT - 1]).expect("there"));
        assert!(first.starts_with(b"report 3 ") && last.starts_with(b"report 7 "));
        assert_eq!(last.len(), MOST_BYTES);
    }

    #[test]
    fn a_panic_leaves_a_report_with_the_last_log_lines() {
        let directory = tempfile::tempdir().expect("a directory");
        let config = directory.path().join("box.toml");
        fs::write(&config, "[ports]").expect("writable");
        (0..2 * LAST_LINES).for_each(|n| Log.write_all(format!("line {n}\n").as_bytes()).expect("taken"));
        report_panics(directory.path(), &config);
        let ended = std::thread::Builder::new().name("doomed".into()).spawn(|| panic!("out of luck")).expect("started");
        ended.join().expect_err("it panicked");
        let _ = std::panic::take_hook();
        let report = fs::read_dir(directory.path()).expect("there").flatten().map(|entry| entry.path());
        let report = report.filter(|path| path.extension().is_some_and(|ending| ending == "txt")).last();
        let text = fs::read_to_string(report.expect("a report")).expect("readable");
        for part in ["thread: doomed", "out of luck", "digest", "crash::tests", "line 199"] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        assert!(!text.contains("line 99\n"), "only the last ones");
    }

    /// Environment variable for a child process: the directory of its report, and how it dies.
    const DIES: &str = "EVENAIR_TEST_DIES";

    /// The child process that the test below starts.
    #[test]
    fn die() {
        let Some(how) = std::env::var_os(DIES) else { return };
        let how = how.into_string().expect("text");
        let (how, directory) = how.split_once(' ').expect("how and where");
        report_crashes(Path::new(directory), Path::new("/etc/evenair/box.toml"));
        match how {
            "abort" => std::process::abort(),
            "allocation" => std::alloc::handle_alloc_error(std::alloc::Layout::new::<u8>()),
            "overflow" => println!("{}", overflow(1)),
            signal => {
                evenair_sys::process::signal(std::process::id(), signal.parse().expect("a number")).expect("sent")
            }
        }
    }

    #[allow(unconditional_recursion)]
    fn overflow(n: u64) -> u64 {
        let far = std::hint::black_box([n; 1000]);
        overflow(far[7] + 1) + far[999]
    }

    #[test]
    fn a_fatal_signal_leaves_a_report_and_ends_the_process() {
        use libc::{SIGABRT, SIGBUS, SIGILL, SIGSEGV};
        for (how, signal, name) in [
            ("abort", SIGABRT, "SIGABRT"),
            ("allocation", SIGABRT, "SIGABRT"),
            ("overflow", SIGABRT, "SIGSEGV"),
            (&*SIGSEGV.to_string(), SIGSEGV, "SIGSEGV"),
            (&*SIGBUS.to_string(), SIGBUS, "SIGBUS"),
            (&*SIGILL.to_string(), SIGILL, "SIGILL"),
        ] {
            let directory = tempfile::tempdir().expect("a directory");
            let mut child = std::process::Command::new(std::env::current_exe().expect("this test"));
            child.args(["--exact", "crash::tests::die"]).env(DIES, format!("{how} {}", directory.path().display()));
            let output = child.output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.signal(), Some(signal), "{how}: {said}");
            let reports: Vec<_> = fs::read_dir(directory.path()).expect("there").flatten().map(|e| e.path()).collect();
            let [report] = &reports[..] else { panic!("{how}: {reports:?}") };
            let text = fs::read_to_string(report).expect("readable");
            for part in
                [concat!("evenair ", env!("CARGO_PKG_VERSION")), "box.toml", &format!("signal: {name}\n"), "time: "]
            {
                assert!(text.contains(part), "{how}: {part} is missing in:\n{text}");
            }
            assert_eq!(how == "overflow", said.contains("overflowed its stack"), "{said}");
        }
    }
}
