//! `evenair init` as a person runs it, on a machine that is a network namespace: what it leaves if it is not to change anything, and
//! if it is killed before it is confirmed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use evenair_live::setup::{self, Gateway};
use evenair_sys::netns::Netns;

/// A machine with two interfaces, of which the wired one has an address and the way out.
fn machine() -> Option<Netns> {
    if let Err(error) = Command::new("nft").arg("--version").output() {
        eprintln!("skipped: needs nft (package nftables): {error}");
        return None;
    }
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

/// Kills `command`, which changes the network, while it waits for the confirmation: soon all is as it was before.
fn killed_it_leaves_the_network_as_it_was(machine: &Netns, mut command: Command, out: &Path) {
    let before = network(machine);
    // Its standard input stays open and silent: somebody who has not answered yet.
    let start = || command.arg("--apply").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
    let mut child = machine.run(start).expect("entered");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("The network is changed"))), "it asks");
    assert_ne!(network(machine), before);
    child.kill().expect("it waits for an answer");
    child.wait().expect("it has ended");
    let limit = Instant::now() + Duration::from_secs(60);
    while network(machine) != before {
        assert!(Instant::now() < limit, "{}\nbefore:\n{before}", network(machine));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!out.exists(), "nothing was written");
    assert!(!Path::new(&format!("/run/evenair-init.{}", child.id())).exists(), "the watchdog has gone");
}

#[test]
fn killed_before_it_is_confirmed_it_leaves_the_network_as_it_was() {
    let Some(machine) = machine() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("box.toml");
    killed_it_leaves_the_network_as_it_was(&machine, init(&out), &out);
}

/// A gateway of stations at eth1, which has an address and a route already.
fn router(out: &Path) -> Command {
    let mut command = init(out);
    command.args(["--router", "--address", "192.168.77.1/24"]);
    command
}

/// What a gateway changes besides: forwarding, and the kernel's tables of filters.
fn gateway(namespace: &Netns) -> String {
    let read = |name: &str| {
        let read = || fs::read_to_string(Path::new("/proc/sys").join(name)).unwrap_or_default();
        namespace.run(read).expect("entered")
    };
    let tables = || Command::new("nft").args(["list", "tables"]).output().expect("it is installed");
    let tables = namespace.run(tables).expect("entered");
    let forwards = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding", "net/ipv6/conf/eth0/accept_ra"].map(read);
    let links = ip(namespace, "-br link show type veth").lines().count();
    format!("{forwards:?} {links} {}{}", String::from_utf8_lossy(&tables.stdout), network(namespace))
}

#[test]
fn a_router_killed_before_it_is_confirmed_leaves_the_network_as_it_was() {
    let Some(machine) = machine() else { return };
    ip(&machine, "addr add 10.6.0.1/24 dev eth1");
    ip(&machine, "route add 10.7.0.0/16 via 10.6.0.9 dev eth1");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("box.toml");
    let before = gateway(&machine);
    killed_it_leaves_the_network_as_it_was(&machine, router(&out), &out);
    // The watchdog has removed its file before it begins, and addresses may be back before the rest is.
    let limit = Instant::now() + Duration::from_secs(10);
    while gateway(&machine) != before {
        assert!(Instant::now() < limit, "{}\nbefore:\n{before}", gateway(&machine));
        std::thread::sleep(Duration::from_millis(50));
    }
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

/// The way back that init leaves where systemd keeps the network, and what a package manager runs when the package is purged.
fn purge(machine: &Netns, root: &Path, way_back: &str) {
    let network = root.join("etc/evenair/network");
    fs::create_dir_all(&network).expect("made");
    fs::write(network.join("down"), way_back).expect("written");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/debian/postrm");
    let text = fs::read_to_string(path).expect("it is packaged");
    let below =
        |text: String, folder: &str| text.replace(&format!(" {folder}"), &format!(" {}{folder}", root.display()));
    // Files, users and the service manager are not those of this machine.
    let text = ["/etc/", "/var/", "/run/"].into_iter().fold(text, below);
    let text = text.replace("getent passwd evenair", "false").replace("systemctl", "true");
    let run = || Command::new("sh").args(["-ec", &text, "postrm", "purge"]).output().expect("a shell");
    let output = machine.run(run).expect("entered");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.is_empty(), "something was not there to be taken back: {said}");
    assert!(!network.exists(), "the way back has gone, too");
}

#[test]
fn purged_while_it_carries_traffic_the_network_is_as_before_init_and_the_rest_stays() {
    for is_router in [false, true] {
        let Some(machine) = machine() else { return };
        // What the operator has besides: another bridge, a filter of their own, and at a router addresses of the stations' port.
        ip(&machine, "link add own0 type bridge");
        ip(&machine, "addr add 10.9.0.1/24 dev own0");
        if is_router {
            ip(&machine, "addr add 10.6.0.1/24 dev eth1");
        }
        let add = || Command::new("nft").args(["add", "table", "inet", "own"]).status().expect("it is installed");
        assert!(machine.run(add).expect("entered").success());
        let before = gateway(&machine);
        let gateway_of = Gateway { wlan: "eth1", uplink: "eth0", bridge: "br0", gateway: "gw0" };
        let make = || {
            let plan = match is_router {
                true => setup::plan_router(gateway_of, &["192.168.77.1/24".to_owned()]),
                false => setup::plan("eth1", "eth0", "br0"),
            };
            let plan = plan.expect("it can be done");
            plan.apply().expect("done").keep().expect("kept");
            plan.script_back()
        };
        let way_back = machine.run(make).expect("entered");
        assert_ne!(gateway(&machine), before);
        let root = tempfile::tempdir().expect("a folder");
        purge(&machine, root.path(), &way_back);
        assert_eq!(gateway(&machine), before, "a router: {is_router}");
    }
}
