//! `evenair results`: folders of results are described and repeated from their content.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A run of a fraction of a second.
const SMALL: &str = "version = 1\nname = \"small\"\nduration = \"2 s\"\nradio = { standard = \"802.11b\" }\n\
    station = [{ name = \"sta\", rate = \"11 Mb/s\" }]\nserver = [{ name = \"server\" }]\n\
    bulk = [{ name = \"up\", stations = [\"sta\"], server = \"server\", direction = \"up\" }]\n";

/// A policy from a file.
const MINE: &str = "[radio]\nap_buffer = \"20 packets\"\n";

/// Exit status and all output.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_evenair-lab")).args(arguments).current_dir(folder).output();
    let output = output.expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned())
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let (code, text) = run(folder, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

fn small() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    fs::write(folder.path().join("small.toml"), SMALL).expect("written");
    fs::write(folder.path().join("mine.toml"), MINE).expect("written");
    folder
}

/// Replaces the first `old` in a file, which must be there.
fn alter(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).expect("a file");
    assert!(text.contains(old), "{old} in {text}");
    fs::write(file, text.replacen(old, new, 1)).expect("written");
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_run_is_shown_and_repeated_and_an_altered_number_is_named() {
    let folder = small();
    let folder = folder.path();
    succeeds(folder, &["sim", "run", "small.toml", "--set", "radio.ap_buffer=50 packets", "--seed", "7", "--quiet"]);
    let kept = folder.join("results/small-1");
    let shown = succeeds(folder, &["results", "show", "results/small-1"]);
    let version = concat!("Simulated with Evenair ", env!("CARGO_PKG_VERSION"));
    for part in [
        "run of small, sim, seed 7, 2 s",
        "sim run small.toml --set 'radio.ap_buffer=50 packets' --seed 7 --quiet",
        "complete  yes",
        "valid     yes",
        "All (",
        version,
        "Set: radio.ap_buffer = 50 packets, seed = 7.\nSeed: 7.\nMade on ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = json(&succeeds(folder, &["results", "show", "results/small-1", "--json"]));
    assert_eq!((&shown["kind"], &shown["seed"], &shown["valid"]), (&"run".into(), &7.into(), &true.into()));

    // Neither the original file nor the working directory of the run is needed.
    fs::remove_file(folder.join("small.toml")).expect("it was there");
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let path = kept.to_str().expect("text");
    let same = succeeds(elsewhere.path(), &["results", "rerun", path]);
    assert!(same.starts_with("the same: result.json, "), "{same}");
    assert_eq!(fs::read_dir(elsewhere.path()).expect("a folder").count(), 0);

    let result = fs::read_to_string(kept.join("result.json")).expect("a result");
    let value = json(&result)["phases"][0]["directions"]["up_ip_mbps"].as_f64().expect("a number");
    let other = f64::from_bits(value.to_bits() ^ 1);
    let line = |value: f64| format!("\"up_ip_mbps\": {value:?}");
    alter(&kept.join("result.json"), &line(value), &line(other));
    let (code, said) = run(folder, &["results", "rerun", path]);
    assert_eq!(code, Some(1), "{said}");
    let expected = format!(
        "different: result.json: phases[0].directions.up_ip_mbps is {other:?} as kept and {value:?} made again"
    );
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn another_version_is_named_and_run_only_where_that_is_asked_for() {
    let folder = small();
    let folder = folder.path();
    succeeds(folder, &["sim", "run", "small.toml", "--quiet"]);
    succeeds(folder, &["sim", "sweep", "small.toml", "--vary", "lan.delay=1 ms,2 ms", "--quiet"]);
    let program = evenair_study::program();
    alter(&folder.join("results/small-1/made.json"), program, "0.0 x");
    alter(&folder.join("results/small-1/result.json"), "\"version\": \"", "\"version\": \"0-");
    for name in ["made.json", "experiment.json"] {
        alter(&folder.join("results/small-sweep-1").join(name), program, "0.0 x");
    }
    for kept in ["results/small-1", "results/small-sweep-1"] {
        let (code, said) = run(folder, &["results", "rerun", kept]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("(simulator 0.0 x); this is ") && said.contains(program), "{said}");
    }
    let said = succeeds(folder, &["results", "rerun", "results/small-1", "--anyway"]);
    assert!(said.contains("the same: result.json"), "{said}");
    // If the simulator is unknown, the version decides.
    fs::remove_file(folder.join("results/small-1/made.json")).expect("it was there");
    succeeds(folder, &["results", "rerun", "results/small-1"]);
    alter(&folder.join("results/small-1/run.json"), "\"version\": \"", "\"version\": \"0-");
    assert_eq!(run(folder, &["results", "rerun", "results/small-1"]).0, Some(2));
}

#[test]
fn sweeps_and_comparisons_are_shown_and_repeated() {
    let folder = small();
    let folder = folder.path();
    let commands: [(&[&str], &str, &str); 4] = [
        (
            &["sim", "sweep", "small.toml", "--vary", "lan.delay=1 ms,2 ms"],
            "small-sweep-1",
            "Varied: lan.delay = 1 ms, 2 ms.",
        ),
        (
            &["sim", "sweep", "small.toml", "--policies", "fifo,mine.toml", "--store", "results/s"],
            "s",
            "Policies: fifo, mine.",
        ),
        (
            &["sim", "compare", "small.toml", "--b", "lan.delay=2 ms"],
            "small-compare-1",
            "B: small.toml with: duration = 1 s, lan.delay = 2 ms.",
        ),
        (&["compare", "small.toml", "--policies", "fifo,mine.toml"], "small-policies-1", "Policies: fifo, mine."),
    ];
    for (command, results, cited) in commands {
        succeeds(folder, &[command, &["--set", "duration=1 s", "--replications=2", "--quiet"]].concat());
        let kept = format!("results/{results}");
        let shown = succeeds(folder, &["results", "show", &kept]);
        for part in [cited, "complete  yes", "valid     yes", "2 points, 4 runs", "the same at each point; 4 runs."] {
            assert!(shown.contains(part), "{command:?}: {part}: {shown}");
        }
        let same = succeeds(folder, &["results", "rerun", &kept]);
        assert!(same.contains("the same: 4 runs of runs.jsonl"), "{command:?}: {same}");
    }

    let file = folder.join("results/small-compare-1/runs.jsonl");
    let text = fs::read_to_string(&file).expect("runs");
    let record: evenair_study::Record = serde_json::from_str(text.lines().next().expect("a run")).expect("a record");
    let (name, value) = record.scalars.iter().find(|(_, value)| value.fract() != 0.0).expect("a measure");
    let other = f64::from_bits(value.to_bits() ^ 1);
    alter(&file, &format!("[\"{name}\",{value:?}]"), &format!("[\"{name}\",{other:?}]"));
    let (code, said) = run(folder, &["results", "rerun", "results/small-compare-1"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("{name} is {other:?} as kept and {value:?} made again")), "{said}");

    // A missing run is no difference of the others, but the folder is incomplete.
    fs::write(&file, text.lines().take(3).map(|line| format!("{line}\n")).collect::<String>()).expect("written");
    let shown = json(&succeeds(folder, &["results", "show", "results/small-compare-1", "--json"]));
    assert_eq!((&shown["complete"], &shown["missing"]), (&false.into(), &"runs.jsonl has 3 of 4 runs".into()));
}

#[test]
fn a_folder_without_results_is_refused_with_suggestions() {
    let folder = small();
    let folder = folder.path();
    succeeds(folder, &["sim", "run", "small.toml", "--quiet", "--trace", "traces"]);
    let kept = folder.join("results/small-1");
    let refused = |given: &str, part: &str| {
        for command in ["show", "rerun"] {
            let (code, said) = run(folder, &["results", command, given]);
            assert_eq!((code, said.lines().count()), (Some(1), 1), "{command} {given}: {said}");
            assert!(said.contains(part), "{command} {given}: {said}");
        }
    };
    refused("nowhere", "nowhere is no folder");
    refused("traces", "traces has neither run.json, as evenair sim run --out writes it, nor experiment.json");
    refused("results", "; name results/small-1");
    fs::rename(kept.join("scenario.toml"), kept.join("other.toml")).expect("renamed");
    refused("results/small-1", "cannot read results/small-1/scenario.toml (the folder of a run has run.json");
    fs::rename(kept.join("other.toml"), kept.join("scenario.toml")).expect("renamed");
    let good = fs::read(kept.join("result.json")).expect("a result");
    fs::write(kept.join("result.json"), &good[..good.len() / 2]).expect("written");
    refused("results/small-1", "results/small-1/result.json: not a result file");
    fs::write(kept.join("run.json"), "{").expect("written");
    refused("results/small-1", "results/small-1/run.json is not readable as JSON");
    succeeds(folder, &["sim", "run", "small.toml", "--replications", "2", "--quiet"]);
    refused("results/small-replications-1", "which keeps no scenario");
    let part =
        ["sim", "sweep", "small.toml", "--vary", "lan.delay=1 ms,2 ms", "--store", "s", "--part", "1/2", "--quiet"];
    succeeds(folder, &part);
    refused("s", "evenair sim merge s");
}
