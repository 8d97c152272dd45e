//! The program as users call it.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use parquet::file::reader::{FileReader, SerializedFileReader};

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
fn the_packets_of_a_run_are_a_table_beside_the_same_results() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| folder.path().join(name);
    let command = ["sim", "run", "SMOKE", "--quiet", "--json"];
    let (output, text) = run(&command, folder.path());
    assert!(output.status.success(), "{text}");
    let (output, text) = run(&[&command[..], &["--packets", "packets.parquet"]].concat(), folder.path());
    assert!(output.status.success(), "{text}");
    let read = |name: &str| std::fs::read(at(name)).expect("it is there");
    assert!(read("results/smoke-1/result.json") == read("results/smoke-2/result.json"));
    let file = std::fs::File::open(at("packets.parquet")).expect("it is there");
    let reader = SerializedFileReader::new(file).expect("a table");
    let about = reader.metadata().file_metadata();
    assert!(about.num_rows() > 1000);
    let about = about.key_value_metadata().expect("metadata");
    assert_eq!(about.iter().map(|pair| &*pair.key).collect::<Vec<_>>(), ["scenario", "seed", "version"]);
    assert_eq!(about[0].value.as_deref(), Some("smoke"));
}

#[test]
fn packets_that_cannot_be_written_are_refused_before_the_run() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (more, said) in [
        (&["--packets", "none/packets.parquet"][..], "cannot write the packets to none/packets.parquet: No such file"),
        (&["--packets", "packets.parquet", "--replications", "2"], "--packets is of one run"),
    ] {
        let (output, text) = run(&[&["sim", "run", "SMOKE", "--quiet"], more].concat(), folder.path());
        assert!(output.status.code() == Some(1) && text.contains(said), "{text}");
        assert!(!folder.path().join("results/smoke-1").exists() && !folder.path().join("packets.parquet").exists());
    }
    let (output, text) = run(&["sim", "sweep", "SMOKE", "--packets", "packets.parquet"], folder.path());
    assert!(output.status.code() == Some(2) && text.contains("--packets"), "{text}");
}

#[test]
fn an_interrupted_run_leaves_a_whole_table_of_packets() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("packets.parquet");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/smoke.toml");
    let mut child = Command::new(env!("CARGO_BIN_EXE_evenair-lab"))
        .args(["sim", "run", scenario, "--set", "duration=24 h", "--quiet", "--packets", "packets.parquet"])
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    // A row group has been written.
    while std::fs::metadata(&file).map_or(0, |about| about.len()) < 1000 {
        assert!(child.try_wait().expect("it is there").is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("it starts");
    assert!(sent.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let reader = SerializedFileReader::new(std::fs::File::open(file).expect("it is there")).expect("a whole table");
    assert!(reader.metadata().file_metadata().num_rows() >= 65_536);
}

#[test]
fn a_quiet_run_for_a_program_draws_no_plots() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (arguments, plots) in [(&["--json", "--quiet"][..], false), (&["--json"], true)] {
        let (output, text) = run(&[&["sim", "run", "SMOKE"], arguments].concat(), folder.path());
        assert!(output.status.success(), "{text}");
        assert!(text.starts_with('{'), "{text}");
        let results = folder.path().join(format!("results/smoke-{}", 1 + u32::from(plots)));
        assert!(results.join("measures.parquet").exists() && results.join("report.html").exists());
        assert_eq!(results.join("throughput.svg").exists(), plots, "{arguments:?}");
    }
}

#[test]
fn a_sweep_and_comparisons_write_a_row_for_each_number() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let short = ["--set", "duration=2 s", "--replications", "2", "--quiet"];
    let commands: [(&[&str], &str); 3] = [
        (&["sim", "sweep", "SMOKE", "--vary", "lan.delay=1 ms,2 ms"], "smoke-sweep-1"),
        (&["sim", "compare", "SMOKE", "--b", "lan.delay=2 ms"], "smoke-compare-1"),
        (&["compare", "SMOKE", "--policies", "fifo,fq-codel"], "smoke-policies-1"),
    ];
    for (command, results) in commands {
        let (output, text) = run(&[command, &short[..]].concat(), folder.path());
        assert!(output.status.success(), "{text}");
        for name in ["runs.parquet", "points_long.parquet"] {
            let bytes = std::fs::read(folder.path().join("results").join(results).join(name)).expect(&text);
            assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{name}");
        }
    }
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

/// A run of a few seconds with a box that is inserted, a phase after that, and a published value for the
/// phase.
const SHORT: &str = "version = 1\nname = \"short\"\nduration = \"4 s\"\n[radio]\nstandard = \"802.11g\"\n\
    [[station]]\nname = \"near\"\ncount = 2\nrate = \"54 Mb/s\"\n[[server]]\nname = \"server\"\n\
    [[bulk]]\nname = \"down\"\nstations = [\"near2\"]\nserver = \"server\"\ndirection = \"down\"\n\
    [[event]]\nat = \"2 s\"\ndo = \"insert\"\n[[phase]]\nname = \"inserted\"\nfrom = \"3 s\"\nto = \"4 s\"\n\
    [[published]]\nid = \"x1\"\nwhat = \"total\"\nphase = \"inserted\"\nvalue = \"9 Mb/s\"\nnote = \"made up\"\n";

#[test]
fn a_comparison_sets_events_that_a_policy_without_a_box_drops() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(folder.path().join("short.toml"), SHORT).expect("written");
    let compare = |policies: &str, set: &str| {
        run(&["compare", "short.toml", "--policies", policies, "--set", set, "--replications", "2"], folder.path())
    };
    let (output, text) = compare("fifo,evenair", "event.1.at=\"1 s\"");
    assert!(output.status.success(), "{text}");
    let (output, text) = compare("fifo", "event.2.at=\"1 s\"");
    let wrong = "--set event.2.at=\"1 s\": \"event\" has no entry \"2\" in short.toml; allowed: event.1";
    assert!(!output.status.success() && text.contains(wrong), "{text}");
    let (output, text) = compare("fifo,fq-codle", "seed=2");
    assert!(!output.status.success() && text.contains("did you mean \"fq-codel\"?"), "{text}");
}

#[test]
fn a_shortened_run_says_what_it_leaves_out_and_so_does_its_result() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(folder.path().join("short.toml"), SHORT).expect("written");
    let set = ["--set", "duration=2 s", "--quiet"];
    let (output, text) = run(&[&["sim", "run", "short.toml"], &set[..]].concat(), folder.path());
    assert!(output.status.success(), "{text}");
    let said: Vec<_> = text.lines().filter(|line| line.starts_with("note: ")).collect();
    for (line, left_out) in said.iter().zip(["phases: inserted", "events: event.1", "published values: x1"]) {
        assert!(line.ends_with(left_out), "{text}");
    }
    let result = std::fs::read_to_string(folder.path().join("results/short-1/result.json")).expect("a result");
    assert!(said.len() == 3 && result.contains("events: event.1"), "{text}");
    let vary = ["sim", "sweep", "short.toml", "--vary", "station.near.count=1..3 step 1", "--json"];
    let (output, text) = run(&[&vary[..], &set].concat(), folder.path());
    assert!(!output.status.success() && text.contains("1 of 3 points failed"), "{text}");
    assert!(text.contains("bulk.down.stations.1") && text.contains("station.near.count = 2 or more"), "{text}");
    assert!(text.contains("\"left_out\""), "{text}");
    let (output, text) =
        run(&["sim", "sweep", "short.toml", "--vary", "seed=1,2", "--plot", "ap.los_rate"], folder.path());
    assert!(!output.status.success() && text.contains("did you mean \"ap.loss_rate\"?"), "{text}");
}

#[test]
fn a_scenario_of_the_library_is_found_by_its_name() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let inside = folder.path().join("scenarios/rooms");
    std::fs::create_dir_all(&inside).expect("made");
    std::fs::write(folder.path().join("scenarios/smoke.toml"), SHORT).expect("written");
    std::fs::write(inside.join("short.toml"), SHORT).expect("written");
    for name in ["short", "rooms/short", "scenarios/rooms/short.toml"] {
        let (output, text) = run(&["scenario", "check", name], &inside);
        assert!(output.status.success() && text.contains("scenarios/rooms/short.toml: right"), "{text}");
    }
    let (output, text) = run(&["scenario", "list"], &inside);
    assert!(output.status.success() && text.contains("rooms/short.toml"), "{text}");
    let (output, text) = run(&["sim", "run", "shrot"], &inside);
    assert!(!output.status.success() && text.contains("the nearest names are short"), "{text}");
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
