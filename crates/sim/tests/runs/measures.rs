//! The measures of every committed scenario, by name and value, against a committed table: one line for each scenario with the
//! number of its measures and a checksum of their names and values, to the bit. Runs are cut to [`DURATION`].
//!
//! If names, values or scenarios change on purpose, copy the new table, whose path the failing test prints, to
//! `crates/sim/tests/runs/measures.tsv`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use evenair_results::scalars;
use evenair_scenario::Scenario;

/// Length of each run, so that all of them take a few seconds.
const DURATION: &str = "600 ms";

/// The scenario files below a folder.
fn scenario_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(scenario_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The line of one scenario: its file, the number of its measures, their checksum.
fn line(root: &Path, file: &Path) -> String {
    let settings = [("duration", DURATION), ("measure.interval", "100 ms")];
    let scenario = Scenario::load_with(file, &settings).unwrap_or_else(|error| panic!("{error}"));
    let measures = scalars(&evenair_sim::run(&scenario, |_| ()).unwrap());
    let mut checksum = crc32fast::Hasher::new();
    for (name, value) in &measures {
        checksum.update(name.as_bytes());
        checksum.update(&value.to_bits().to_le_bytes());
    }
    let name = file.strip_prefix(root).unwrap().display();
    format!("{name}\t{}\t{:08x}\n", measures.len(), checksum.finalize())
}

#[test]
fn names_and_values_of_every_scenario_are_known() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = scenario_files(&root);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut lines = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            lines.push(line(&root, file));
        }
        lines
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut lines: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    lines.sort();
    let mut table = "scenario\tmeasures\tchecksum\n".to_owned();
    lines.iter().for_each(|line| table.write_str(line).unwrap());
    let anew = Path::new(env!("CARGO_TARGET_TMPDIR")).join("measures.tsv");
    fs::write(&anew, &table).unwrap();
    let known = include_str!("measures.tsv");
    let differ: Vec<_> = table.lines().filter(|line| !known.lines().any(|known| known == *line)).collect();
    assert!(known == table, "others than before, see {}:\n{}", anew.display(), differ.join("\n"));
}
