//! Tests of the packaged systemd unit (`packaging/evenair.service`), with systemd's own tools.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Highest exposure that `systemd-analyze security` may report, in tenths: 0 is none, 100 the worst. The remainder is what the
/// box needs (packets, interfaces, BPF, real-time priority), the machine's files, and its names.
const MOST_EXPOSED: u32 = 23;

fn packaged() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/evenair.service");
    std::fs::read_to_string(path).expect("it is packaged")
}

/// Writes a unit with this text. The program under test replaces those that the unit names, which are not installed here.
fn unit(folder: &Path, text: &str) -> PathBuf {
    let file = folder.join("evenair.service");
    let daemon = env!("CARGO_BIN_EXE_evenaird");
    let text = text.replace("/usr/bin/evenaird", daemon).replace("=/usr/bin/evenair ", &format!("={daemon} "));
    std::fs::write(&file, text).expect("written");
    file
}

/// Output of `systemd-analyze`; `None`, with the reason printed, where the program is missing.
fn analyze(arguments: &[&str], unit: &Path) -> Option<Output> {
    match Command::new("systemd-analyze").args(arguments).arg("--no-pager").arg(unit).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: systemd-analyze: {error}");
            None
        }
    }
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

#[test]
fn systemd_finds_no_fault_in_the_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(output) = analyze(&["verify"], &unit(folder.path(), &packaged())) else { return };
    // It reports other units of the machine as well, which are not checked here.
    let of_ours = said(&output).lines().any(|line| line.contains("evenair"));
    assert!(output.status.success() && !of_ours, "{}", said(&output));
    let wrong = packaged().replace("ProtectSystem=strict", "ProtectSystems=strict");
    let output = analyze(&["verify"], &unit(folder.path(), &wrong)).expect("it is there");
    assert!(said(&output).contains("ProtectSystems"), "a wrong key is found: {}", said(&output));
}

#[test]
fn the_exposure_of_the_service_is_low() {
    let folder = tempfile::tempdir().expect("a folder");
    let threshold = format!("--threshold={MOST_EXPOSED}");
    let judge = |text: &str| analyze(&["security", "--offline=true", &threshold], &unit(folder.path(), text));
    let Some(output) = judge(&packaged()) else { return };
    assert!(output.status.success(), "{}", said(&output));
    let open: String =
        packaged().lines().filter(|line| !line.starts_with("SystemCall")).map(|l| format!("{l}\n")).collect();
    let output = judge(&open).expect("it is there");
    assert!(!output.status.success(), "one that may make any system call is too exposed: {}", said(&output));
}

#[test]
fn the_service_is_started_again_however_often_it_fails() {
    let text = packaged();
    let section = |name: &str| {
        let (_, after) = text.split_once(&format!("[{name}]\n")).expect("a section");
        after.split("\n[").next().expect("at least nothing").lines().collect::<Vec<_>>()
    };
    let (unit, service) = (section("Unit"), section("Service"));
    // The default limit of five starts in ten seconds would leave the box stopped for good.
    assert!(unit.contains(&"StartLimitIntervalSec=0"), "{unit:?}");
    // Restarts after a failure, a signal and a missed watchdog, but not after a requested stop.
    assert!(service.contains(&"Restart=on-failure") && service.contains(&"RestartSec=1"), "{service:?}");
    // A killed box cannot restore the offloads of the interfaces.
    assert!(service.contains(&"ExecStopPost=/usr/bin/evenaird restore-offloads"), "{service:?}");
    for line in service.iter().filter(|line| line.contains("=/usr/bin/evenaird")) {
        let (_, arguments) = line.split_once(' ').expect("it has some");
        let known = Command::new(env!("CARGO_BIN_EXE_evenaird")).args(arguments.split(' ')).arg("--help").output();
        let known = known.expect("it starts");
        assert!(known.status.success(), "{line}: {}", said(&known));
    }
}

/// The defaults need less than the unit's limits, which are no more than a small machine can spare.
#[test]
fn the_service_has_bounds_that_its_defaults_fit_into() {
    let text = packaged();
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).expect("it is set").to_owned();
    let memory = value("MemoryMax=");
    let gigabytes: u64 = memory.strip_suffix('G').and_then(|number| number.parse().ok()).expect("in gigabytes");
    let jumbo_frame = 9_216;
    let pool = u64::from(evenair_boxfile::BoxConfig::POOL_FRAMES) * jumbo_frame;
    let rings = 2 * u64::from(evenair_boxfile::BoxConfig::RING_FRAMES) * 2_048;
    assert!((pool + rings) * 2 < gigabytes << 30, "room for as much again: flows, stations, history, telemetry");
    assert!(gigabytes <= 2, "{memory}");
    let tasks: u32 = value("TasksMax=").parse().expect("a number");
    assert!((100..=1000).contains(&tasks), "{tasks}");
}

/// The maintainer script for a purge, with its paths below `root`; `has_page`: whether the page's package is installed.
fn purge(root: &Path, has_page: bool) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/debian/postrm");
    let text = std::fs::read_to_string(path).expect("it is packaged");
    let root = root.display();
    let below = |text: String, folder: &str| text.replace(&format!(" {folder}"), &format!(" {root}{folder}"));
    // The script must not change users and services of this machine.
    let text = ["/etc/", "/var/", "/run/"].into_iter().fold(text, below);
    let text = text.replace("getent passwd evenair-web", if has_page { "true" } else { "false" });
    ["getent passwd evenair", "getent group evenair-watch"]
        .into_iter()
        .fold(text, |text, asks| text.replace(asks, "false"))
        .replace("systemctl", "true")
}

#[test]
fn purging_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let make = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    make("etc/evenair/box.toml", "");
    make("etc/evenair/network/down", &format!("rm {}/etc/systemd/system/evenair-network.service\n", root.display()));
    make("etc/systemd/system/evenair-network.service", "");
    make("etc/systemd/system/evenair.service.d/af-xdp.conf", "");
    make("etc/systemd/system/multi-user.target.wants/evenair.service", "");
    make("var/lib/evenair/history/0", "");
    make("run/evenair/mode", "");
    let status = Command::new("sh").args(["-c", &purge(root, false), "postrm", "purge"]).status().expect("a shell");
    assert!(status.success());
    let left = Command::new("find").arg(root).args(["-name", "*evenair*"]).output().expect("it is installed");
    assert_eq!(String::from_utf8_lossy(&left.stdout).trim(), "");
    // Another file of the operator is kept, and the purge continues.
    make("etc/systemd/system/evenair.service.d/own.conf", "");
    let status = Command::new("sh").args(["-c", &purge(root, false), "postrm", "purge"]).status().expect("a shell");
    assert!(status.success() && root.join("etc/systemd/system/evenair.service.d/own.conf").exists());
    // The page, which is not purged, keeps its configuration and loses its access to the box.
    let files =
        ["etc/evenair/web.toml", "etc/evenair/box.toml", "etc/systemd/system/evenair-web.service.d/50-control.conf"];
    files.iter().for_each(|path| make(path, ""));
    let status = Command::new("sh").args(["-c", &purge(root, true), "postrm", "purge"]).status().expect("a shell");
    assert!(status.success());
    assert_eq!(files.map(|path| root.join(path).exists()), [true, false, false]);
}
