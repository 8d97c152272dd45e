//! The program as a person calls it.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str], folder: &Path) -> (Output, String) {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/smoke.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_evenair-lab"))
        .args(arguments.iter().map(|&argument| if argument == "SMOKE" { scenario } else { argument }))
        .current_dir(folder)
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
    (output, text)
}

#[test]
fn a_scenario_is_checked_and_simulated() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (output, text) = run(&["scenario", "check", "SMOKE"], folder.path());
    assert!(output.status.success(), "{text}");
    let (output, text) = run(&["sim", "run", "SMOKE", "--quiet"], folder.path());
    assert!(output.status.success() && text.contains("results: "), "{text}");
    assert!(folder.path().join("results/smoke-1/result.json").exists(), "{text}");
}

#[test]
fn a_comparison_warns_of_policies_that_break_aggregates() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (standard, station, warnings) in [("802.11ax", "mcs = 7", 1), ("802.11g", "rate = \"54 Mb/s\"", 0)] {
        let text = format!(
            "version = 1\nname = \"{standard}\"\nduration = \"2 s\"\n[radio]\nstandard = \"{standard}\"\n\
             [[station]]\nname = \"s\"\n{station}\n[[server]]\nname = \"server\"\n\
             [[bulk]]\nname = \"down\"\nstations = [\"s\"]\nserver = \"server\"\ndirection = \"down\"\n"
        );
        let name = format!("{standard}.toml");
        std::fs::write(folder.path().join(&name), text).expect("written");
        let policies = ["compare", &name, "--policies", "fifo,adwiser,evenair", "--replications", "2"];
        let (output, text) = run(&policies, folder.path());
        assert!(output.status.success(), "{text}");
        let found: Vec<_> = text.lines().filter(|line| line.starts_with("warning: ")).collect();
        assert_eq!(found.len(), warnings, "{standard}: {text}");
        assert!(found.iter().all(|line| line.starts_with("warning: adwiser: ") && line.contains("use the default")));
    }
}

#[test]
fn an_error_is_one_line_and_a_wrong_command_line_has_a_status_of_its_own() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (output, text) = run(&["sim", "run", "no-such-file.toml"], folder.path());
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.starts_with("evenair-lab: ") && text.contains("no-such-file.toml"), "{text}");
    let (output, text) = run(&["insert"], folder.path());
    assert_eq!(output.status.code(), Some(2), "{text}");
}
