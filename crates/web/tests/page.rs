//! The page in a real browser: the tests are in `page/test/`, run by Node.js and Chromium.

use std::path::Path;
use std::process::Command;

/// A missing program, if any.
fn missing() -> Option<&'static str> {
    let runs =
        |program: &str| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    ["node", "chromium"].into_iter().find(|program| !runs(program))
}

#[test]
fn the_page_shows_the_data_of_the_box_and_is_accessible() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../page");
    if let Some(program) = missing() {
        println!("skipped: this machine lacks {program}");
        return;
    }
    if !folder.join("dist/index.html").exists() || !folder.join("node_modules").exists() {
        println!("skipped: the page was not built; run: scripts/page");
        return;
    }
    let output = Command::new("node")
        .args(["--test", "test/"])
        .env("EVENAIR_WEB", env!("CARGO_BIN_EXE_evenair-web"))
        .current_dir(folder)
        .output()
        .expect("node runs");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "a test of the page failed");
    // A missing test file must not pass.
    let passed =
        text.lines().find_map(|line| line.trim_start_matches(['#', 'ℹ', ' ']).strip_prefix("pass ")?.parse().ok());
    assert!(passed.is_some_and(|passed: u32| passed >= 6), "{passed:?} tests of the page passed");
}
