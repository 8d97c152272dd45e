//! Code that the programs `evenaird`, `evenair` and `evenair-lab` share: the version that they print, one-line errors, and how one
//! program finds another and replaces itself with it.

mod moment;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Error, Result, anyhow};

pub use self::moment::moment_s;

/// The version with the commit that the program was built from, as build metadata of Semantic Versioning: "0.1.0+1a2b3c4d5e6f",
/// followed by ".dirty" if the sources had uncommitted changes; without a commit if the sources were not in a repository.
pub const VERSION: &str = env!("EVENAIR_VERSION");

/// The daemon's program, which its package installs beside `evenair`.
pub const DAEMON: &str = "evenaird";

/// The program that serves the box's page, and the name of its package.
pub const WEB: &str = "evenair-web";

/// The program of simulator, testbed and studies, and the name of its package.
pub const LAB: &str = "evenair-lab";

/// The commands of [`LAB`] with their descriptions, which `evenair` lists and forwards. A test of [`LAB`] compares them with its own.
pub const LAB_COMMANDS: [(&str, &str); 11] = [
    ("demo", "Demonstrate the box in a minute: a room without and with it, in a browser and here"),
    ("testbed", "Run scenarios with real hosts over a simulated radio, in real time"),
    ("sim", "Run scenarios in the simulator, in virtual time"),
    ("results", "Show a folder of results, or make it again and compare"),
    (
        "compare",
        "Compare policies for a WLAN in the same simulated experiment: FIFO, FQ-CoDel, LAS-ACK, ADWISER, Evenair, your own",
    ),
    ("scenario", "Check scenario files, print their schema and the reference of their keys"),
    ("accept", "Measure every promised figure and compare it with its bound"),
    ("reproduce", "Run the published experiments in the simulator, and compare each published figure"),
    ("backlog", "Infer from captures of air and wire how many nodes were backlogged"),
    ("calibrate", "Measure the goodput of a link by its signal, for channel-aware schedulers"),
    ("measure", "Measure what the box does in simulated networks: a table for each question, as in docs/measured"),
];

/// The exit status of a command. Prints an error first, in one line after the program's name.
pub fn end(program: &str, outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("{program}: {}", in_one_line(&error));
        ExitCode::FAILURE
    })
}

/// The error, followed by each cause whose text it does not contain: some errors include their cause.
fn in_one_line(error: &Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Path of a program: beside the running program's file, else in PATH.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|this| this.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    first_with_program(beside.into_iter().chain(std::env::split_paths(&path)), name)
}

fn first_with_program(mut folders: impl Iterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| is_program(path)))
}

/// Error message for a program that is not found: names the package to install.
pub fn missing(name: &str, package: &str) -> String {
    format!("the program {name} is neither beside this one nor in PATH: install the package {package}")
}

/// Replaces this process with another program. `shown_as` is the name of that program in its usage lines.
///
/// # Errors
/// The program is not found (the error names the `package` to install) or cannot be started. It returns only on error.
pub fn become_program(
    name: &str,
    package: &str,
    shown_as: &str,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<ExitCode> {
    let program = find_program(name).ok_or_else(|| anyhow!(missing(name, package)))?;
    Err(Command::new(&program).arg0(shown_as).args(arguments).exec())
        .with_context(|| format!("cannot start {}", program.display()))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn a_cause_is_printed_once() {
        let cause = std::io::Error::other("the disk is full");
        let error = Error::new(cause).context("cannot write x: the disk is full").context("no result");
        assert_eq!(in_one_line(&error), "no result: cannot write x: the disk is full");
    }

    #[test]
    fn the_first_folder_with_an_executable_file_has_the_program() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let folders = ["directory", "text", "first", "second"].map(|name| folder.path().join(name));
        folders.iter().for_each(|folder| fs::create_dir(folder).expect("made"));
        let found = || first_with_program(folders.iter().cloned(), "x");
        fs::create_dir(folders[0].join("x")).expect("made");
        fs::write(folders[1].join("x"), "").expect("written");
        assert_eq!(found(), None);
        for folder in &folders[2..] {
            fs::write(folder.join("x"), "").expect("written");
            fs::set_permissions(folder.join("x"), Permissions::from_mode(0o755)).expect("permitted");
        }
        assert_eq!(found(), Some(folders[2].join("x")));
    }

    #[test]
    fn a_missing_program_comes_with_the_package_that_has_it() {
        let error = become_program("no-such-program", "its-package", "it", []).expect_err("not there").to_string();
        assert!(error.contains("no-such-program") && error.ends_with("install the package its-package"), "{error}");
    }
}
