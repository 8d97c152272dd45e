//! `evenair init` as a person runs it, on a machine that is a network namespace: what it leaves if it is not to change anything, and
//! if it is killed before it is confirmed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use evenair_sys::netns::Netns;

/// A machine with two interfaces, of which the wired one has an address and the way out.
fn machine() -> Option<Netns> {
    let namespace = match Netns::new() {
        Ok(namespace) => namespace,
        Err(error) => {
            eprintln!("skipped: needs root: {error}");
            return None;
        }
    };
    for line in [
        "link add eth0 type veth peer name far0",
        "link add eth1 type veth peer name far1",
        "link set eth0 up",
        "link set far0 up",
        "link set eth1 up",
        "addr add 10.5.0.7/24 dev eth0",
        "route add default via 10.5.0.1 dev eth0",
    ] {
        ip(&namespace, line);
    }
    Some(namespace)
}

fn ip(namespace: &Netns, line: &str) -> String {
    let run = || Command::new("ip").args(line.split(' ')).output().expect("it is installed");
    let output = namespace.run(run).expect("entered");
    assert!(output.status.success(), "ip {line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// What it has of bridges, addresses and routes; without the numbers that change by themselves.
fn network(namespace: &Netns) -> String {
    let links = ip(namespace, "-br link show type bridge");
    let ports = ip(namespace, "-o link show").lines().filter(|line| line.contains(" master ")).count();
    format!("{links}{ports}\n{}{}", ip(namespace, "-4 -br addr show scope global"), ip(namespace, "route show"))
}

fn init(out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenair"));
    command.args(["init", "--wlan", "eth1", "--wire", "eth0", "--standard", "802.11g", "--out"]).arg(out);
    command
}

#[test]
fn without_apply_nothing_is_written_or_changed() {
    let Some(machine) = machine() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let before = network(&machine);
    let run = || init(&folder.path().join("sub/box.toml")).stdin(Stdio::null()).output().expect("started");
    let output = machine.run(run).expect("entered");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for part in ["Nothing is changed", "ip link add br0", "wlan = \"eth1\"", "standard = \"802.11g\"", "--apply"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0, "not even a folder");
    assert_eq!(network(&machine), before);
}

#[test]
fn killed_before_it_is_confirmed_it_leaves_the_network_as_it_was() {
    let Some(machine) = machine() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("box.toml");
    let before = network(&machine);
    // Its standard input stays open and silent: somebody who has not answered yet.
    let start = || init(&out).arg("--apply").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
    let mut child = machine.run(start).expect("entered");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("The network is changed"))), "it asks");
    assert_ne!(network(&machine), before);
    child.kill().expect("it waits for an answer");
    child.wait().expect("it has ended");
    let limit = Instant::now() + Duration::from_secs(60);
    while network(&machine) != before {
        assert!(Instant::now() < limit, "{}", network(&machine));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!out.exists(), "nothing was written");
    assert!(!Path::new(&format!("/run/evenair-init.{}", child.id())).exists(), "the watchdog has gone");
}

#[test]
fn confirmed_it_stays_and_the_watchdog_goes() {
    let Some(machine) = machine() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("box.toml");
    let yes = folder.path().join("yes");
    fs::write(&yes, "yes\n").expect("written");
    let answers = fs::File::open(&yes).expect("readable");
    let start = || init(&out).arg("--apply").stdin(answers).stdout(Stdio::null()).spawn().expect("started");
    let mut child = machine.run(start).expect("entered");
    assert!(child.wait().expect("it ends").success());
    assert!(fs::read_to_string(&out).expect("written").contains("bridge = \"br0\""));
    assert!(!Path::new(&format!("/run/evenair-init.{}", child.id())).exists(), "the watchdog has gone");
    assert!(network(&machine).contains("br0"));
}
