//! A run leaves no process, namespace or directory, however it ends.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use evenair_results::RunResult;
use evenair_testbed::rundir;

use crate::common;

const UPLOAD: &str = r#"
    [[bulk]]
    name = "upload"
    stations = ["sta"]
    server = "server"
    direction = "up"
"#;

/// The run directories of the process `pid`.
fn directories(pid: u32) -> Vec<PathBuf> {
    let own = format!("{pid}-");
    let entries = rundir::bases().into_iter().filter_map(|base| std::fs::read_dir(base).ok()).flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own))).collect()
}

/// Processes whose network namespace is one of those of the run's hosts.
fn inside(namespaces: &[PathBuf]) -> usize {
    let processes = std::fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let own = |path: PathBuf| std::fs::read_link(path.join("ns/net")).is_ok_and(|ns| namespaces.contains(&ns));
    processes.filter(|entry| own(entry.path())).count()
}

/// The namespaces named in the run directory.
fn namespaces(directory: &Path) -> Vec<PathBuf> {
    let hosts = std::fs::read_dir(directory.join("hosts")).expect("a run has hosts").flatten();
    let names = hosts.filter_map(|host| {
        let content = std::fs::read_to_string(host.path()).ok()?;
        let (pid, fd) = content.trim().split_once(' ')?;
        std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()
    });
    names.collect()
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_cancelled_run_is_marked_and_leaves_nothing() {
    let Some(_turn) = common::turn() else { return };
    let scenario = common::scenario(2, UPLOAD);
    let options = common::options();
    let mut seen = Vec::new();
    let result = evenair_testbed::run(&scenario, &options, |_| {
        let directory = directories(std::process::id()).pop().expect("a run has a directory");
        seen = namespaces(&directory);
        assert!(inside(&seen) >= 3, "an agent for each host");
        options.cancel.store(true, Ordering::Relaxed);
    })
    .expect("a cancelled run is a result");
    assert!(!result.valid);
    assert!(result.invalid_because.iter().any(|why| why.starts_with("cancelled after ")), "{result:?}");
    // One of five intervals, or as many as passed before a busy machine handled the cancellation.
    let intervals = result.series.ap_queue_packets.len();
    assert!((1..4).contains(&intervals), "{intervals} of {result:?}");
    assert_eq!(seen.len(), 4, "two stations, the server, the box");
    assert_eq!(inside(&seen), 0);
    assert_eq!(directories(std::process::id()), Vec::<PathBuf>::new());
}

/// Starts the example program on a long scenario, in its own process group as a shell does, and waits until its hosts have
/// agents. Its result goes to `result.json` beside the scenario.
fn start(file: &Path) -> (Child, PathBuf, Vec<PathBuf>) {
    let mut command = Command::new(common::options().program);
    command.arg("scenario").arg(file).arg(file.with_file_name("result.json"));
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("the example program is built");
    let pid = child.id();
    let mut found = (PathBuf::new(), Vec::new());
    eventually("the run comes up", || {
        let Some(directory) = directories(pid).pop().filter(|d| d.join("hosts").is_dir()) else { return false };
        found = (directory.clone(), namespaces(&directory));
        found.1.len() == 3 && inside(&found.1) >= 2
    });
    (child, found.0, found.1)
}

/// Sends what Ctrl-C at a terminal sends to the foreground process group of `leader`.
fn interrupt_group(leader: &Child) {
    let status = Command::new("sh").args(["-c", &format!("kill -s INT -- -{}", leader.id())]).status();
    assert!(status.expect("every system has a shell").success());
}

#[test]
fn ctrl_c_at_a_terminal_ends_a_run_with_its_measurements() {
    let Some(_turn) = common::turn_with_box() else { return };
    let files = tempfile::tempdir().expect("a temporary directory");
    let file = files.path().join("long.toml");
    let with_box = format!("{UPLOAD}\n[[event]]\nat = \"500 ms\"\ndo = \"insert\"\n");
    std::fs::write(&file, common::text(1, &with_box).replace("5 s", "100 s")).expect("written");
    let (mut child, directory, hosts) = start(&file);
    // Wait until the run itself is past its first interval.
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    let mut stderr = String::new();
    while !stderr.contains(" total ") {
        assert!(said.read_line(&mut stderr).expect("text") > 0, "it ended: {stderr}");
    }
    interrupt_group(&child);
    said.read_to_string(&mut stderr).expect("text");
    let status = child.wait().expect("ends");
    assert!(status.success(), "{stderr}");
    let text = std::fs::read_to_string(files.path().join("result.json")).expect("a result");
    let result: RunResult = serde_json::from_str(&text).expect("in its format");
    assert!(result.invalid_because.iter().any(|why| why.starts_with("cancelled after ")), "{result:?}");
    assert!(result.box_faults.is_empty() && result.box_counters.is_some(), "{result:?}");
    assert!(!result.series.ap_queue_packets.is_empty());
    assert!(!directory.exists());
    assert_eq!(inside(&hosts), 0);
}

#[test]
fn a_killed_run_leaves_no_process_and_the_next_removes_its_directory() {
    let Some(_turn) = common::turn() else { return };
    let files = tempfile::tempdir().expect("a temporary directory");
    let file = files.path().join("long.toml");
    std::fs::write(&file, common::text(1, UPLOAD).replace("5 s", "100 s")).expect("written");
    let (mut child, directory, hosts) = start(&file);
    child.kill().expect("it runs");
    child.wait().expect("killed");
    eventually("its agents die with it", || inside(&hosts) == 0);
    assert!(directory.exists(), "nobody was left to remove it");
    // The next run removes it.
    let base = directory.parent().expect("it is in one of the places");
    drop(rundir::RunDir::create_in(base).expect("creates"));
    assert!(!directory.exists());
}

#[test]
fn an_agent_that_dies_ends_the_run_with_its_name() {
    let Some(_turn) = common::turn() else { return };
    let files = tempfile::tempdir().expect("a temporary directory");
    let file = files.path().join("long.toml");
    std::fs::write(&file, common::text(1, UPLOAD).replace("5 s", "100 s")).expect("written");
    let (mut child, directory, hosts) = start(&file);
    let in_station = std::fs::read_dir("/proc").expect("/proc is mounted").flatten().find_map(|entry| {
        let namespace = std::fs::read_link(entry.path().join("ns/net")).ok()?;
        let pid = entry.file_name().to_string_lossy().parse::<u32>().ok()?;
        (hosts.contains(&namespace)).then_some(pid)
    });
    evenair_sys::process::signal(in_station.expect("an agent runs"), 9).expect("killed");
    let status = child.wait().expect("ends");
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
    assert!(!status.success());
    assert!(stderr.contains("the agent of ") && stderr.contains("signal: 9"), "{stderr}");
    assert!(!directory.exists());
    assert_eq!(inside(&hosts), 0);
}
