//! Rules that a machine can check: the map of the crates is complete and its arrows go down, the core has no forbidden
//! dependencies, files are small with few import cycles, parameters are not hidden in tuples, old terms do not return, and
//! links in documents have targets.
//!
//! Rules that the compiler's and the linter's settings check are not repeated here (see checks/core-clippy.toml), nor that
//! the core needs no standard library (see checks/core-proof).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

mod circles;
mod parameters;
mod terms;

/// Maximum number of lines of a source file, tests included.
const MOST_LINES: usize = 800;

/// External crates that the core may use, directly or indirectly, each for one purpose.
const CORE_MAY_USE: [&str; 5] = [
    "libm",            // the only maths library, equal on every machine
    "etherparse",      // packet headers
    "arrayvec",        // of etherparse
    "minicbor",        // recordings: numbered fields, derived on the types
    "minicbor-derive", // of minicbor, runs in the compiler
];

/// Core crates without any floating point. `units` converts for reports and `wifi` has closed forms: both deny it by
/// default, too.
const INTEGERS_ONLY: [&str; 5] = ["packet", "sched", "manager", "medium", "link"];

/// Number of files in the largest import cycle, for crates that have one of more than two. To be lowered, never raised.
const LARGEST_CIRCLE: [(&str, usize); 4] = [("sched", 9), ("sim", 16), ("live", 5), ("site", 6)];

/// Modules that `lib.rs` of the manager lists. Its mechanisms are in folders, which docs/developers.md names; what several of them
/// share is beside these.
const MOST_MODULES_OF_MANAGER: usize = 24;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace's folder")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A source's lines up to its `mod tests`.
fn lines_before_tests(source: &str) -> impl Iterator<Item = &str> {
    let opens_tests =
        |(line, next): (&str, &str)| line.trim() == "#[cfg(test)]" && next.contains("mod ") && next.ends_with('{');
    let end = source.lines().zip(source.lines().skip(1)).position(opens_tests).unwrap_or(usize::MAX);
    source.lines().take(end)
}

/// Whether `make reference` writes the file, which is not committed: `.gitignore` has its path.
fn is_generated(path: &Path) -> bool {
    let ignored = read(&root().join(".gitignore"));
    let mut paths = ignored.lines().filter_map(|line| line.strip_prefix('/'));
    path.canonicalize().is_ok_and(|path| paths.any(|made| path == root().join(made)))
}

/// All files below `folder` with one of these endings, without build output and version control.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                let made =
                    matches!(name, "target" | ".git" | "node_modules" | "dist") || path == root().join("results");
                if !made && !path.is_symlink() {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) && !is_generated(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Names of the crates in the tables of ARCHITECTURE.md, in order: those of the core, then all.
fn mapped_crates() -> (Vec<String>, Vec<String>) {
    let (mut core, mut all, mut section) = (Vec::new(), Vec::new(), String::new());
    for line in read(&root().join("ARCHITECTURE.md")).lines() {
        if let Some(title) = line.strip_prefix('#') {
            section = title.trim_start_matches('#').trim().to_owned();
        } else if let Some(name) = line.strip_prefix("| `").and_then(|rest| rest.split('`').next()) {
            if section == "The core" {
                core.push(name.to_owned());
            }
            if section == "The core" || section == "Around the core" {
                all.push(name.to_owned());
            }
        }
    }
    assert!(!core.is_empty() && all.len() > core.len(), "ARCHITECTURE.md has lost its tables of crates");
    (core, all)
}

fn metadata(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON from cargo metadata")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string in cargo's metadata")
}

fn items(value: &Value) -> &[Value] {
    value.as_array().expect("a list in cargo's metadata")
}

/// The folder name of one of our crates: `evenair-units` is `units`.
fn short(package: &str) -> &str {
    package.strip_prefix("evenair-").unwrap_or(package)
}

#[test]
fn the_map_names_every_crate_and_no_other() {
    let mut folders: Vec<String> = std::fs::read_dir(root().join("crates"))
        .expect("crates/")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .collect();
    let mut mapped = mapped_crates().1;
    folders.sort();
    mapped.sort();
    assert_eq!(mapped, folders, "left: the tables of ARCHITECTURE.md, right: the folders in crates/");
}

#[test]
fn arrows_go_down_the_map_only() {
    let order = mapped_crates().1;
    let place = |name: &str| order.iter().position(|other| other == name).expect("a mapped crate");
    let metadata = metadata(&["--no-deps"]);
    let mut arrows = BTreeSet::new();
    // The fuzz targets and the Python module may use any crate, and no crate uses them.
    let is_mapped = |package: &&Value| package["name"] != "evenair-fuzz" && package["name"] != "evenair-python";
    for package in items(&metadata["packages"]).iter().filter(is_mapped) {
        let from = short(text(&package["name"]));
        for dependency in items(&package["dependencies"]) {
            let ours = dependency["path"].is_string();
            if ours && dependency["kind"].as_str() != Some("dev") {
                arrows.insert((from, short(text(&dependency["name"]))));
            }
        }
    }
    assert!(arrows.contains(&("wifi", "units")), "no arrows found: this test sees nothing");
    let up: Vec<_> = arrows.iter().filter(|(from, to)| place(to) >= place(from)).collect();
    assert!(up.is_empty(), "these use a crate that stands below them in ARCHITECTURE.md: {up:?}");
    assert!(!arrows.contains(&("live", "sim")), "the simulator and the live box must not know each other");
    assert!(!arrows.contains(&("sim", "sys")), "the simulator makes no system calls");
    let of_the_contract: Vec<_> = arrows.iter().filter(|(from, _)| *from == "api").collect();
    assert!(of_the_contract.iter().all(|(_, to)| *to == "units"), "readers of a box need no box: {of_the_contract:?}");
}

#[test]
fn the_core_uses_the_core_and_few_others() {
    let (core, _) = mapped_crates();
    // Without a platform filter, the dependencies of all platforms would have to be fetched.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = metadata(&["--filter-platform", &platform]);
    let names: BTreeMap<&str, &str> =
        items(&metadata["packages"]).iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for node in items(&metadata["resolve"]["nodes"]) {
        for dependency in items(&node["deps"]) {
            // A dependency without a kind is needed at run time; others are for tests and build scripts.
            if items(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()) {
                uses.entry(names[text(&node["id"])]).or_default().insert(names[text(&dependency["pkg"])]);
            }
        }
    }
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let core_packages: Vec<String> = core.iter().map(|name| format!("evenair-{name}")).collect();
    let mut open: Vec<&str> = core_packages.iter().map(String::as_str).collect();
    while let Some(name) = open.pop() {
        if reached.insert(name) && !CORE_MAY_USE.contains(&name) {
            open.extend(uses.get(name).into_iter().flatten());
        }
    }
    let strangers: Vec<_> = reached
        .iter()
        .filter(|name| !CORE_MAY_USE.contains(name) && !core_packages.iter().any(|ours| ours == *name))
        .collect();
    assert!(strangers.is_empty(), "the core uses {strangers:?}; it may use itself and {CORE_MAY_USE:?}");
}

#[test]
fn the_core_says_what_it_is() {
    let (core, _) = mapped_crates();
    let bans = read(&root().join("checks/core-clippy.toml"));
    assert!(
        bans.contains(&format!("({})", core.join(" "))),
        "checks/core-clippy.toml lists other core crates than {core:?}"
    );
    for name in &core {
        let source = read(&root().join("crates").join(name).join("src/lib.rs"));
        assert!(source.lines().any(|line| line == "#![no_std]"), "{name} is a core crate without #![no_std]");
        let integers = source.lines().any(|line| line == "#![cfg_attr(not(test), deny(clippy::float_arithmetic))]");
        assert!(integers, "{name} does not deny clippy::float_arithmetic in its lib.rs");
        if INTEGERS_ONLY.contains(&name.as_str()) {
            for file in files(&root().join("crates").join(name).join("src"), &[".rs"]) {
                let lifted = ["allow", "expect"].map(|word| format!("{word}(clippy::float_arithmetic"));
                let source = read(&file);
                assert!(!lifted.iter().any(|text| source.contains(text)), "{} lifts the ban of floats", file.display());
            }
        }
    }
}

#[test]
fn every_crate_follows_the_lints_of_the_house() {
    for name in mapped_crates().1 {
        let folder = root().join("crates").join(&name);
        let manifest = read(&folder.join("Cargo.toml"));
        assert!(manifest.contains("[lints]\nworkspace = true"), "{name} does not take the workspace's lints");
        for file in files(&folder, &[".rs"]).iter().filter(|file| !file.ends_with("tests/tidy/main.rs")) {
            let source = read(file);
            for word in ["allow", "expect"] {
                assert!(
                    !source.contains(&format!("{word}(dead_code")),
                    "{}: dead code is to be removed",
                    file.display()
                );
                let lifts_unsafe = source.contains(&format!("{word}(unsafe_code"));
                let may_lift = name == "sys" || file.ends_with("units/src/hint.rs");
                assert!(may_lift || !lifts_unsafe, "{}: unsafe code belongs in crate sys", file.display());
            }
        }
    }
}

#[test]
fn files_are_short_enough_to_be_read() {
    let sources = [files(&root().join("crates"), &[".rs"]), files(&root().join("checks"), &[".rs"])].concat();
    assert!(sources.len() > 30, "found only {} source files", sources.len());
    for path in sources {
        let lines = read(&path).lines().count();
        assert!(lines <= MOST_LINES, "{}: {lines} lines, more than {MOST_LINES}", path.display());
    }
}

#[test]
fn circles_of_imports_are_small() {
    for name in mapped_crates().1 {
        let circles = circles::Imports::of(&root().join("crates").join(&name).join("src")).circles();
        let largest = circles.first().map_or(0, Vec::len).max(2);
        let allowed = LARGEST_CIRCLE.iter().find(|(known, _)| *known == name).map_or(2, |(_, files)| *files);
        assert!(largest <= allowed, "{name}: a circle of {largest} files, more than {allowed}: {:#?}", circles[0]);
        assert!(largest == allowed, "{name}: the largest circle has {largest} files now: write so in LARGEST_CIRCLE");
    }
}

#[test]
fn the_modules_of_the_manager_can_be_told_apart() {
    let imports = circles::Imports::of(&root().join("crates/manager/src"));
    let modules = imports.at_the_top();
    assert!(modules.contains("manager") && modules.contains("pacer"), "not the modules of the manager: {modules:?}");
    let most = MOST_MODULES_OF_MANAGER;
    assert!(modules.len() <= most, "{} modules, more than {most}: group them in folders: {modules:?}", modules.len());
}

/// The anchor of a heading: lower case, hyphens for spaces, no punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Lines of a document outside of its fenced blocks.
fn prose(document: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    document.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Targets of the links `[text](target)` in a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[test]
fn a_test_that_skips_itself_says_so_as_it_is_counted() {
    assert!(read(&root().join("scripts/test.d/programs.sh")).contains("/^skipped: /"), "what is counted");
    let sources = [files(&root().join("crates"), &[".rs"]), files(&root().join("checks"), &[".rs"])].concat();
    let mut otherwise = Vec::new();
    for path in sources {
        for (line, n) in read(&path).lines().zip(1..) {
            let said = line.split_once("println!(\"").map_or("", |(_, said)| said);
            if said.to_lowercase().starts_with("skip") && !said.starts_with("skipped: ") {
                otherwise.push(format!("{}:{n}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(otherwise.is_empty(), "say `skipped: WHY` on a line of its own:\n{}", otherwise.join("\n"));
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut dead = Vec::new();
    let mut seen = 0;
    let committed = files(&root(), &[".md"]).into_iter().map(|path| (read(&path), path));
    let printed = [
        (evenair_boxfile::reference(), root().join("docs/box-format.md")),
        (evenair_api::reference::fields(), root().join("docs/api-format.md")),
    ];
    for (document, path) in committed.chain(printed) {
        for target in prose(&document).flat_map(links).filter(|target| !target.contains("://")) {
            seen += 1;
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let linked = path.parent().expect("a folder").join(file);
            let is_there = linked.exists() && !is_generated(&linked);
            let has_anchor = || {
                let text = if file.is_empty() { document.clone() } else { read(&linked) };
                prose(&text).any(|line| line.starts_with('#') && anchor(line.trim_start_matches('#')) == fragment)
            };
            if !is_there || (!fragment.is_empty() && !has_anchor()) {
                dead.push(format!("{}: {target}", path.strip_prefix(root()).expect("inside").display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links: {dead:#?}");
    assert!(seen > 5, "found only {seen} links: this test sees nothing");
}

#[test]
fn the_checks_of_documents_themselves_work() {
    assert_eq!(anchor(" What you'll see: a `demo`"), "what-youll-see-a-demo");
    assert_eq!(links("see [a](b.md) and [c](d/e.md#f).").collect::<Vec<_>>(), ["b.md", "d/e.md#f"]);
    assert_eq!(prose("a\n```sh\nb\n```\nc").collect::<Vec<_>>(), ["a", "c"]);
}
