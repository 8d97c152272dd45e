//! `evenair init` in a network namespace: its effect without `--apply`, and when it is killed before the confirmation.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use evenair_site::setup::{self, Gateway};
use evenair_sys::netns::Netns;

/// A machine with two interfaces, of which the wired one has an address and the default route.
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

/// Its bridges, addresses and routes, without numbers that change by themselves.
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
fn the_plan_is_printed_as_json_and_nothing_is_written_or_changed() {
    let Some(machine) = machine() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let before = network(&machine);
    let out = folder.path().join("sub/box.toml");
    let run = || init(&out).arg("--json").stdin(Stdio::null()).output().expect("started");
    let output = machine.run(run).expect("entered");
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&plan["wlan"], &plan["wire"], &plan["file_exists"]), (&"eth1".into(), &"eth0".into(), &false.into()));
    let commands = plan["commands"].as_array().expect("a list");
    assert!(
        commands.iter().any(|command| command.as_str().is_some_and(|text| text.contains("link add br0"))),
        "{plan}"
    );
    assert!(plan["configuration"].as_str().is_some_and(|text| text.contains("standard = \"802.11g\"")), "{plan}");
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0, "not even a folder");
    assert_eq!(network(&machine), before);
}

/// Kills `command`, which changes the network, while it waits for the confirmation: the network must soon be as before.
fn killed_it_leaves_the_network_as_it_was(machine: &Netns, mut command: Command, out: &Path) {
    let before = network(machine);
    // Its standard input stays open and silent: the operator has not answered yet.
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

/// A gateway for stations at eth1, which already has an address and a route.
fn router(out: &Path) -> Command {
    let mut command = init(out);
    command.args(["--router", "--address", "192.168.77.1/24"]);
    command
}

/// Further changes of a gateway: forwarding, and the kernel's filter tables.
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
    // The watchdog removes its file before it begins, and addresses may be restored before the rest.
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

/// Runs the revert script of init with systemd, and the package's purge script.
fn purge(machine: &Netns, root: &Path, way_back: &str) {
    let network = root.join("etc/evenair/network");
    fs::create_dir_all(&network).expect("made");
    fs::write(network.join("down"), way_back).expect("written");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/debian/postrm");
    let text = fs::read_to_string(path).expect("it is packaged");
    let below =
        |text: String, folder: &str| text.replace(&format!(" {folder}"), &format!(" {}{folder}", root.display()));
    // The script must not touch this machine's files, users and service manager.
    let text = ["/etc/", "/var/", "/run/"].into_iter().fold(text, below);
    let asks = ["getent passwd evenair-web", "getent passwd evenair", "getent group evenair-watch"];
    let text = asks.into_iter().fold(text, |text, asks| text.replace(asks, "false")).replace("systemctl", "true");
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
        // Other configuration of the operator: a bridge, a filter, and for a gateway addresses of the stations' port.
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

/// All addresses, neighbours, routes of all tables and rules, without those that every interface has and without lifetimes.
fn state(machine: &Netns) -> Vec<String> {
    let mut lines = Vec::new();
    for command in [
        "-o addr show",
        "-o -d -4 route show table all",
        "-o -d -6 route show table all",
        "-o neigh show nud permanent",
    ] {
        lines.extend(ip(machine, command).lines().map(str::to_owned));
    }
    let seconds = |word: &str| word.strip_suffix("sec").is_some_and(|number| number.parse::<u32>().is_ok());
    let plain = |line: &String| {
        let words =
            line.split_whitespace().filter(|word| !seconds(word) && !["tentative", "linkdown", "\\"].contains(word));
        let words: Vec<_> = words.map(|word| word.trim_end_matches('\\')).collect();
        // Without the number of the interface.
        let from = usize::from(words[0].ends_with(':'));
        words[from..].join(" ")
    };
    let is_own = |line: &String| line.contains("fe80:") && !line.contains("via") || line.contains("ff00::/8");
    let mut lines: Vec<_> = lines.iter().filter(|line| !is_own(line)).map(plain).collect();
    lines.extend(ip(machine, "rule show").lines().map(str::to_owned));
    lines.sort();
    lines
}

/// A machine whose wired side, without the address of [`machine`], is configured by these commands.
fn configured(commands: &[&str]) -> Option<Netns> {
    let machine = machine()?;
    ip(&machine, "addr flush dev eth0");
    ip(&machine, "link set far1 up");
    commands.iter().for_each(|command| drop(ip(&machine, command)));
    Some(machine)
}

/// Runs `init` with this answer. Returns whether it succeeded, and its output.
fn answered(machine: &Netns, answer: &str) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("answer");
    fs::write(&file, answer).expect("written");
    let answers = fs::File::open(&file).expect("readable");
    let out = folder.path().join("box.toml");
    let run = || init(&out).arg("--apply").stdin(answers).output().expect("started");
    let output = machine.run(run).expect("entered");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert_eq!(out.exists(), output.status.success(), "{text}");
    (output.status.success(), text)
}

/// Typical configurations of the wired side.
const WIRES: [&[&str]; 8] = [
    // A gateway outside of the address's network.
    &["addr add 203.0.113.7/32 dev eth0", "route add default via 169.254.0.1 dev eth0 onlink"],
    &[
        "addr add 10.5.0.7/24 dev eth0",
        "route add default nexthop via 10.5.0.1 dev eth0 weight 3 nexthop via 10.5.0.2 dev eth0",
    ],
    &[
        "addr add 10.5.0.7/24 dev eth0",
        "route add default via 10.5.0.1 dev eth0 mtu lock 1400 initcwnd 20 rto_min 20ms src 10.5.0.7",
        "route add 10.60.0.0/16 via 10.5.0.9 dev eth0 table 100 tos 0x10 realms 3/4",
        "rule add from 10.5.0.7 table 100",
    ],
    &[
        "addr add 10.5.0.7/24 dev eth0",
        "addr add 10.5.0.8/24 dev eth0 label eth0:8",
        "addr add 10.5.0.9/24 brd + dev eth0 valid_lft 4000 preferred_lft 3000",
        "route add default via 10.5.0.1 dev eth0",
    ],
    // A gateway reached by a route, and routes without an own address.
    &[
        "addr add 10.9.0.1 peer 10.9.0.2/32 dev eth0",
        "addr add 10.8.0.1/24 dev eth0 noprefixroute",
        "route add 172.16.0.1 dev eth0 scope link",
        "route add default via 172.16.0.1 dev eth0 proto static metric 50",
        "route add local 10.99.0.0/16 dev eth0",
        "route append default via 172.16.0.1 dev eth0 proto static metric 50 mtu 1300",
        "neigh add 172.16.0.1 lladdr 02:00:00:00:00:99 dev eth0 nud permanent",
    ],
    &[
        "addr add 2001:db8::7/64 dev eth0 nodad",
        "addr add 2001:db8:1::7/64 dev eth0 nodad",
        "addr add fe80::7/64 dev eth0 nodad",
        "-6 route add default nexthop via fe80::1 dev eth0 nexthop via 2001:db8::2 dev eth0",
        "-6 route add 2001:db8:9::/48 via fe80::1 dev eth0 pref high metric 77 mtu 1300",
        "-6 route add 2001:db8:a::/48 via fe80::1 dev eth0 proto ra expires 1000",
        "-6 route add 2001:db8:b::/48 via fe80::1 dev eth0 src 2001:db8:1::7",
    ],
    // A route that comes with the address was removed.
    &[
        "addr add 10.5.0.7/24 dev eth0",
        "route del 10.5.0.0/24 dev eth0",
        "route add 10.5.0.1 dev eth0",
        "route add default via 10.5.0.1 dev eth0",
    ],
    // A route elsewhere whose source is the address that moves.
    &[
        "addr add 10.5.0.7/24 dev eth0",
        "link add other0 type veth peer name other1",
        "link set other0 up",
        "route add 10.70.0.0/16 dev other0 src 10.5.0.7",
        "route add default via 10.5.0.1 dev eth0",
    ],
];

#[test]
fn refused_by_the_operator_every_field_of_addresses_and_routes_is_as_before() {
    for wire in WIRES {
        let Some(machine) = configured(wire) else { return };
        let before = state(&machine);
        let (succeeded, said) = answered(&machine, "no\n");
        assert!(!succeeded && said.contains("not confirmed: the network is as it was"), "{wire:?}: {said}");
        assert_eq!(state(&machine), before, "{wire:?}");
    }
}

#[test]
fn confirmed_every_field_of_addresses_and_routes_is_at_the_bridge() {
    for wire in WIRES {
        let Some(machine) = configured(wire) else { return };
        let before = state(&machine);
        let (succeeded, said) = answered(&machine, "yes\n");
        assert!(succeeded, "{wire:?}: {said}");
        // Without a lifetime, which nothing would renew.
        let renamed = |line: &String| {
            line.replace("eth0", "br0")
                .replace("global dynamic", "global")
                .replace("secondary dynamic", "secondary")
                .replace("valid_lft preferred_lft", "valid_lft forever preferred_lft forever")
        };
        let mut expected: Vec<_> = before.iter().map(renamed).collect();
        expected.sort();
        assert_eq!(state(&machine), expected, "{wire:?}: {said}");
    }
}

#[test]
fn killed_it_restores_every_field() {
    for wire in WIRES {
        let Some(machine) = configured(wire) else { return };
        let before = state(&machine);
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("box.toml");
        killed_it_leaves_the_network_as_it_was(&machine, init(&out), &out);
        let limit = Instant::now() + Duration::from_secs(10);
        while state(&machine) != before && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(state(&machine), before, "{wire:?}");
    }
}

#[test]
fn state_that_cannot_be_restored_is_refused_before_the_first_change() {
    let address = "addr add 10.5.0.7/24 dev eth0";
    for (wire, named) in [
        (
            &[address, "route add 10.12.0.0/16 dev eth0 encap ip id 5 dst 10.5.0.9"][..],
            ["route 10.12.0.0/16", "\"encap\""],
        ),
        (&[address, "nexthop add id 7 via 10.5.0.3 dev eth0"], ["nexthop", "id 7 via 10.5.0.3"]),
        (
            &[address, "link add link eth0 name eth0.10 type macvlan"],
            ["eth0.10 is made of eth0", "ip link del eth0.10"],
        ),
        (
            &[address, "link add vx1 type vxlan id 5 dev eth1 dstport 4789 remote 10.0.0.9"],
            ["vx1 is made of eth1", "ip link del vx1"],
        ),
        (&[address, "rule add iif eth0 table 100"], ["iif eth0", "names a port"]),
        (
            &[
                address,
                "route add default via 10.5.0.1 dev eth0",
                "addr add 10.6.0.7/24 dev eth1",
                "route append default via 10.6.0.1 dev eth1",
            ],
            ["route default via 10.5.0.1", "different metrics"],
        ),
        (&[address, "link add br0 type bridge"], ["br0", "already"]),
    ] {
        let Some(machine) = configured(wire) else { return };
        let before = (state(&machine), ip(&machine, "-o link show"));
        let (succeeded, said) = answered(&machine, "yes\n");
        assert!(!succeeded && named.iter().all(|part| said.contains(part)), "{wire:?}: {said}");
        assert!(!said.contains("The network is changed"), "{said}");
        assert_eq!((state(&machine), ip(&machine, "-o link show")), before, "{wire:?}");
    }
}

#[test]
fn a_port_that_was_down_is_down_again() {
    let Some(machine) = configured(&["addr add 10.5.0.7/24 dev eth0", "link set eth1 down"]) else { return };
    assert!(!answered(&machine, "no\n").0);
    assert!(ip(&machine, "-br link show dev eth1").contains("DOWN"));
}

#[test]
fn a_change_that_fails_midway_leaves_every_field_as_before() {
    let wire: [&str; 4] = [
        "addr add 10.5.0.7/24 dev eth0",
        "route add default via 10.5.0.1 dev eth0 mtu 1400 onlink",
        "addr add 2001:db8::7/64 dev eth0 nodad",
        "-6 route add default via fe80::1 dev eth0",
    ];
    let Some(machine) = configured(&wire) else { return };
    // The bridge accepts no IPv6 address: when that fails, the IPv4 addresses have moved.
    let set = || evenair_sys::netns::set_sysctl("net/ipv6/conf/default/disable_ipv6", "1");
    machine.run(set).expect("entered").expect("set");
    let before = state(&machine);
    let (succeeded, said) = answered(&machine, "yes\n");
    let failed = said.contains("ip -6 addr add 2001:db8::7/64 dev br0") && said.ends_with("the network is as it was\n");
    assert!(!succeeded && failed, "{said}");
    assert_eq!(state(&machine), before);
}

/// "As it was" is printed after a comparison, not because the undo ran.
#[test]
fn what_the_undo_does_not_restore_is_named() {
    let Some(machine) = configured(&["addr add 10.5.0.7/24 dev eth0"]) else { return };
    let revert = || {
        let applied = setup::plan("eth1", "eth0", "br0").expect("it can be done").apply().expect("done");
        // Meanwhile another program removes the port.
        for line in ["link set eth0 nomaster", "link set eth0 name gone0"] {
            assert!(Command::new("ip").args(line.split(' ')).status().expect("it is installed").success());
        }
        applied.revert()
    };
    let said = machine.run(revert).expect("entered");
    assert!(said.contains("NOT as it was") && said.contains("missing: addr 10.5.0.7/24 dev eth0"), "{said}");
}
