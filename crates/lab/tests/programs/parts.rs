//! A sweep in parts, as on a cluster, equals the whole sweep.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use evenair_study::{Lock, Record};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// Runs of a fraction of a second.
const SMALL: &str = "version = 1\nname = \"small\"\nduration = \"2 s\"\nradio = { standard = \"802.11b\" }\n\
    station = [{ name = \"sta\", rate = \"11 Mb/s\" }]\nserver = [{ name = \"server\" }]\n\
    bulk = [{ name = \"up\", stations = [\"sta\"], server = \"server\", direction = \"up\" }]\n";

/// A sweep of 40 runs.
const SWEEP: [&str; 9] = [
    "sim",
    "sweep",
    "small.toml",
    "--vary",
    "station.sta.rate=2 Mb/s, 11 Mb/s",
    "--vary",
    "lan.delay=1 ms..4 ms step 1 ms",
    "--replications=5",
    "--quiet",
];

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenair-lab"));
    command.args(arguments).current_dir(folder);
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned()
}

/// Output of a command that must succeed.
fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = program(folder, arguments).output().expect("it starts");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    text(&output)
}

/// Output of a command that must fail.
fn fails(folder: &Path, arguments: &[&str]) -> String {
    let output = program(folder, arguments).output().expect("it starts");
    assert!(!output.status.success(), "{arguments:?}: {}", text(&output));
    text(&output)
}

/// Arguments of a part of the sweep, with further ones.
fn part<'a>(part: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&SWEEP[..], &["--store", "store", "--part", part], more].concat()
}

fn small() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    fs::write(folder.path().join("small.toml"), SMALL).expect("written");
    folder
}

/// Starts a part, kills it once a run is stored, and truncates the last line.
fn kill_in_the_middle(folder: &Path, number: &str, file: &str) {
    let file = folder.join("store").join(file);
    let mut child = program(folder, &part(number, &["--threads=1"])).stdout(Stdio::null()).spawn().expect("it starts");
    let start = Instant::now();
    while fs::metadata(&file).map_or(0, |file| file.len()) == 0 && start.elapsed().as_secs() < 60 {
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    let bytes = fs::read(&file).expect("a run");
    fs::write(&file, &bytes[..bytes.len() - 100]).expect("written");
}

#[test]
fn parts_in_any_order_and_one_killed_are_the_whole_sweep() {
    let folder = small();
    let folder = folder.path();
    succeeds(folder, &SWEEP);
    for number in [7, 16, 1, 12, 4, 9, 2, 15, 6, 11, 3, 14, 8, 5, 13, 10] {
        let number = format!("{number}/16");
        if number == "3/16" {
            kill_in_the_middle(folder, &number, "part-3-of-16.jsonl");
            let merged = succeeds(folder, &["sim", "merge", "store"]);
            assert!(
                merged.contains("note: store/part-3-of-16.jsonl: line ") && merged.contains("cut short"),
                "{merged}"
            );
            fs::remove_file(folder.join("store/runs.jsonl")).expect("it was there");
        }
        let said = succeeds(folder, &part(&number, &[]));
        assert!(said.contains(" of 16: ") && said.contains("evenair sim merge store"), "{said}");
    }
    let early = fails(folder, &[&SWEEP[..], &["--store", "store"]].concat());
    assert!(early.contains("evenair sim merge store"), "{early}");
    let merged = succeeds(folder, &["sim", "merge", "store"]);
    assert!(merged.contains("40 runs of 16 files") && merged.contains(" is no record, and left out"), "{merged}");
    let whole = succeeds(folder, &[&SWEEP[..], &["--store", "store"]].concat());
    assert!(whole.contains("0 of 40 runs made") && whole.contains("40 known before"), "{whole}");
    for name in ["runs.parquet", "points.csv", "points_long.parquet"] {
        let read = |results: &str| fs::read(folder.join(results).join(name)).expect("it is there");
        assert!(read("store") == read("results/small-sweep-1"), "{name}");
    }
    // Parts reuse merged runs, and a store merges those of another folder again.
    let again = succeeds(folder, &part("1/2", &[]));
    assert!(again.contains("part 1 of 2: 0 of 20 runs made") && again.contains("20 known before"), "{again}");
    let both = succeeds(folder, &["sim", "merge", "new", "store", "results/small-sweep-1"]);
    assert!(both.contains("40 runs of 19 files are in new/runs.jsonl; 80 more"), "{both}");
    assert!(fs::read_dir(folder.join("store")).expect("a folder").flatten().all(|entry| {
        let name = entry.file_name().into_string().expect("text");
        !name.ends_with(".lock") && !name.ends_with(".part")
    }));
}

#[test]
fn two_results_of_one_run_are_an_error_that_says_where() {
    let folder = small();
    let folder = folder.path();
    succeeds(folder, &part("1/8", &[]));
    succeeds(folder, &["sim", "merge", "store"]);
    let kept = fs::read_to_string(folder.join("store/runs.jsonl")).expect("it is there");
    let mut lines: Vec<String> = kept.lines().map(str::to_owned).collect();
    let mut record: Record = serde_json::from_str(&lines[2]).expect("a record");
    record.took_s += 1.0;
    let altered = |record: &Record, lines: &mut [String]| {
        lines[2] = serde_json::to_string(record).expect("plain data");
        fs::create_dir_all(folder.join("other")).expect("made");
        fs::write(folder.join("other/part-2-of-3.jsonl"), lines.join("\n")).expect("written");
    };
    altered(&record, &mut lines);
    succeeds(folder, &["sim", "merge", "store", "other"]);
    let before = fs::read(folder.join("store/runs.jsonl")).expect("it is there");

    let at = record.scalars.iter().position(|(_, value)| value.fract() != 0.0).expect("a measure");
    record.scalars[at].1 = f64::from_bits(record.scalars[at].1.to_bits() ^ 1);
    altered(&record, &mut lines);
    let said = fails(folder, &["sim", "merge", "store", "other"]);
    let (name, value) = &record.scalars[at];
    for part in [
        format!("differ: {name} is "),
        "store/runs.jsonl, line 3, and ".to_owned(),
        format!("and {value:?} in other/part-2-of-3.jsonl, line 3"),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
    assert_eq!(fs::read(folder.join("store/runs.jsonl")).expect("it is there"), before);
    assert!(folder.join("store/part-1-of-8.jsonl").exists());
}

/// Rows of a Parquet file: values by the names of columns.
fn rows(file: &Path) -> Vec<Vec<(String, Field)>> {
    let reader = SerializedFileReader::new(fs::File::open(file).expect("it is there")).expect("Parquet");
    reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").into_columns()).collect()
}

/// The series that `sim run` writes for one of the runs of [`SWEEP`] equal its rows in the table of the sweep, bit by
/// bit.
fn check_against_a_single_run(folder: &Path) {
    let all = rows(&folder.join("results/small-sweep-1/series_flow.parquet"));
    let names: Vec<_> = all[0].iter().take(4).map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["station_sta_rate_mbps", "lan_delay_ms", "seed", "time_s"]);
    let Field::ULong(seed) = all[all.len() - 1][2].1 else { panic!("a typed seed") };
    let (delay, seed) = ("lan.delay=3 ms", seed - 1);
    let set = ["sim", "run", "small.toml", "--set", "station.sta.rate=2 Mb/s", "--set", delay, "--quiet", "--seed"];
    succeeds(folder, &[&set[..], &[&seed.to_string()]].concat());
    let keys = [Field::Double(2.0), Field::Double(3.0), Field::ULong(seed)];
    let is_of_run = |row: &&Vec<(String, Field)>| row.iter().zip(&keys).all(|((_, value), key)| value == key);
    let found: Vec<_> = all.iter().filter(is_of_run).map(|row| row[3..].to_vec()).collect();
    let single = rows(&folder.join("results/small-1/series.parquet"));
    assert!(found == single && single.len() == 2, "{found:?} {single:?}");
}

#[test]
fn series_of_parts_are_those_of_the_whole_sweep_and_of_single_runs() {
    let folder = small();
    let folder = folder.path();
    let series = ["--series", "station,flow,flow"];
    succeeds(folder, &[&SWEEP[..], &series].concat());
    for number in [3, 1, 4, 2] {
        succeeds(folder, &part(&format!("{number}/4"), &series));
    }
    succeeds(folder, &["sim", "merge", "store"]);
    let whole = succeeds(folder, &[&SWEEP[..], &series, &["--store", "store"]].concat());
    assert!(whole.contains("0 of 40 runs made"), "{whole}");
    assert!(whole.contains("runs.parquet, series_flow.parquet, series_station.parquet, sweep.json"), "{whole}");
    for name in ["runs.parquet", "points.csv", "series_flow.parquet", "series_station.parquet"] {
        let read = |results: &str| fs::read(folder.join(results).join(name)).expect("it is there");
        assert!(read("store") == read("results/small-sweep-1"), "{name}");
    }
    check_against_a_single_run(folder);
    assert!(succeeds(folder, &part("1/2", &series)).contains("0 of 20 runs made"));
    assert!(succeeds(folder, &part("1/40", &["--series", "sender"])).contains("1 of 1 runs made"));
}

#[test]
fn series_that_are_asked_for_later_are_made_and_change_nothing_else() {
    let folder = small();
    let folder = folder.path();
    let sweep = ["sim", "sweep", "small.toml", "--vary", "lan.delay=1 ms, 2 ms", "--quiet"];
    succeeds(folder, &sweep);
    let read = |name: &str| fs::read(folder.join("results/small-sweep-1").join(name)).expect("it is there");
    let before =
        ["runs.parquet", "points.csv", "points_long.parquet", "experiment.json"].map(|name| (name, read(name)));
    assert!(!String::from_utf8_lossy(&read("runs.jsonl")).contains("series"));
    assert!(!folder.join("results/small-sweep-1/series_flow.parquet").exists());

    let said = succeeds(folder, &[&sweep[..], &["--series", "flow"]].concat());
    assert!(
        said.contains("note: 2 runs were kept without these series") && said.contains("2 of 2 runs made"),
        "{said}"
    );
    // Further runs in the folder are added to its table of series without the option.
    let said = succeeds(folder, &[&sweep[..], &["--replications=2"]].concat());
    assert!(!said.contains("note: ") && said.contains("2 of 4 runs made"), "{said}");
    assert!(said.contains("series_flow.parquet"), "{said}");
    let series = || rows(&folder.join("results/small-sweep-1/series_flow.parquet")).len();
    assert_eq!(series(), 8);
    succeeds(folder, &sweep);
    assert_eq!(series(), 4);
    before.into_iter().for_each(|(name, bytes)| assert!(read(name) == bytes, "{name}"));

    let said = fails(folder, &[&sweep[..], &["--series", "flow,stations"]].concat());
    for part in ["allowed: flow, station, sender, access_point, domain, medium, place", "did you mean \"station\"?"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_comparison_of_policies_keeps_series_too() {
    let folder = small();
    let folder = folder.path();
    let compare = ["compare", "small.toml", "--policies", "fifo,fq-codel", "--replications", "2", "--quiet"];
    let said = succeeds(folder, &[&compare[..], &["--series", "station"]].concat());
    assert!(said.contains("points_long.parquet, series_station.parquet, policies.json"), "{said}");
    let rows = rows(&folder.join("results/small-policies-1/series_station.parquet"));
    assert!(!rows.is_empty() && rows.len().is_multiple_of(4), "as many of each run: {}", rows.len());
}

#[test]
fn a_part_has_one_writer() {
    let folder = small();
    let folder = folder.path();
    let lock = Lock::of(&folder.join("store/part-2-of-20.jsonl")).expect("it is free");
    let said = fails(folder, &part("2/20", &[]));
    assert!(said.contains(&format!("is being written by process {} on ", std::process::id())), "{said}");
    succeeds(folder, &part("1/20", &[]));
    drop(lock);
    succeeds(folder, &part("2/20", &[]));
}

#[test]
fn a_part_is_written_right_and_a_store_is_of_one_experiment() {
    let folder = small();
    let folder = folder.path();
    for wrong in ["17/16", "0/16", "3", "a/b"] {
        let said = fails(folder, &part(wrong, &[]));
        assert!(said.contains("expected K/N, part K of N with K from 1 to N, such as 3/16"), "{said}");
    }
    assert!(fails(folder, &[&SWEEP[..], &["--part", "1/2"]].concat()).contains("--store"));
    assert!(fails(folder, &["sim", "merge", "store"]).contains("no folder"));
    fs::create_dir(folder.join("empty")).expect("made");
    assert!(fails(folder, &["sim", "merge", "empty"]).contains("has no runs"));

    succeeds(folder, &part("1/40", &[]));
    let said = fails(folder, &part("2/40", &["--set", "duration=3 s"]));
    assert!(said.contains("--set duration is absent there and 3 s here"), "{said}");
    let said = fails(folder, &part("2/40", &["--vary", "radio.ap_buffer=50 packets"]));
    assert!(said.contains("--vary radio.ap_buffer is absent there and 50 packets here"), "{said}");
    fs::write(folder.join("small.toml"), SMALL.replace("11 Mb/s", "5.5 Mb/s")).expect("written");
    let said = fails(folder, &part("2/40", &[]));
    assert!(said.contains("line 5 of the scenario is `station = ") && said.contains("5.5 Mb/s"), "{said}");
    fs::write(folder.join("small.toml"), SMALL).expect("written");
    let file = folder.join("store/experiment.json");
    let known = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, known.replace(evenair_study::program(), "0.0 x")).expect("written");
    let said = fails(folder, &part("2/40", &[]));
    assert!(said.contains("version of the simulator is 0.0 x there"), "{said}");
    assert!(!folder.join("store/part-2-of-40.jsonl").exists());
}
