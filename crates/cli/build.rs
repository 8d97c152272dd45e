//! Names the commit that the program is built from, for `--version` and for results.

use std::process::Command;

/// Digits of a commit's name.
const DIGITS: &str = "--abbrev=12";

fn main() {
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let version = commit().map_or_else(|| version.clone(), |commit| format!("{version}+{commit}"));
    println!("cargo::rustc-env=EVENAIR_VERSION={version}");
    println!("cargo::rerun-if-env-changed=EVENAIR_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    if given().is_none() {
        watch_repository();
    }
}

/// Whether sources were changed is part of the answer.
fn watch_repository() {
    println!("cargo::rerun-if-changed=..");
    for name in ["HEAD", "index"] {
        if let Some(file) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={file}");
        }
    }
}

/// The variable, which a build outside of a repository and a release set, or else what git says; without either there is none.
fn commit() -> Option<String> {
    given().or_else(|| git(&["describe", "--always", "--match=", DIGITS, "--dirty=.dirty"]))
}

/// The commit named by the environment.
fn given() -> Option<String> {
    std::env::var("EVENAIR_COMMIT").ok().filter(|commit| !commit.is_empty())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
