//! Requests to a box, and its error messages.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::time::Duration;

use evenair_api::Mode;
use evenair_boxfile::BoxConfig;
use evenair_client::control::ClientError;
use evenair_manager::Config;
use evenair_packet::MacAddr;
use evenair_units::BitRate;
use evenair_wifi::{Phy, Standard};

use crate::lab::{BoxProcess, Lab, SOURCE, ip};

fn config() -> BoxConfig {
    let mut config = BoxConfig::new("wl0", "wi0", Config::new(Phy::default_for(Standard::Dot11g)));
    config.bridge = Some("br0".into());
    config
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> String {
    match answer {
        Err(ClientError::Refused(why)) => why,
        other => panic!("not a refusal: {other:?}"),
    }
}

/// The error of a box that cannot start.
fn start_error(lab: &Lab, config: BoxConfig) -> String {
    let error = lab.middle.run(|| evenair_serve::run(config)).expect("entered").expect_err("cannot start");
    format!("{error:#}")
}

#[test]
fn a_box_that_cannot_start_says_why() {
    let Some(lab) = Lab::beside_others() else { return };
    let missing = start_error(&lab, BoxConfig { wlan: "eth7".into(), ..config() });
    assert!(missing.contains("[ports] wlan = \"eth7\"") && missing.contains("No such device"), "{missing}");
    let no_bridge = start_error(&lab, BoxConfig { bridge: Some("br7".into()), ..config() });
    assert!(no_bridge.contains("[ports] bridge = \"br7\""), "{no_bridge}");
    let not_a_bridge = start_error(&lab, BoxConfig { bridge: Some("wl0".into()), ..config() });
    assert!(not_a_bridge.contains("not a bridge"), "{not_a_bridge}");
    ip(&lab.middle, "link set wl0 nomaster");
    let outside = start_error(&lab, config());
    assert!(outside.contains("run: ip link set wl0 master br0"), "{outside}");
    ip(&lab.middle, "link set wi0 mtu 1400");
    let unequal = start_error(&lab, BoxConfig { bridge: None, ..config() });
    assert!(unequal.contains("MTU 1500") && unequal.contains("MTU 1400"), "{unequal}");
    ip(&lab.middle, "link set wl0 down");
    assert!(start_error(&lab, BoxConfig { bridge: None, ..config() }).contains("run: ip link set wl0 up"));
}

#[test]
fn a_bridge_is_made_and_taken_back() {
    use evenair_site::setup::{interfaces, plan};
    const SINK_HOST: [u8; 4] = [10, 9, 0, 2];
    let Some(lab) = Lab::beside_others() else { return };
    for change in [
        "link del br0",
        "addr add 10.9.0.254/24 dev wi0",
        "route add default via 10.9.0.2 metric 7",
        "route add 10.77.0.0/16 dev wi0",
    ] {
        ip(&lab.middle, change);
    }
    // Links that were just joined may lose the first ARP request, which is sent again after a second.
    let comes_to_answer = |from| (0..5).any(|_| answers(from, SINK_HOST));
    let reaches = || comes_to_answer(&lab.middle);
    assert!(reaches() && !answers(&lab.source, SINK_HOST), "the sides are apart");
    let network = || (ip_json(&lab, "addr show"), ip_json(&lab, "route show"));
    let before = network();
    let found = lab.middle.run(interfaces).expect("entered").expect("interfaces");
    let to_router: Vec<_> = found.iter().filter(|port| port.to_router).map(|port| port.name.as_str()).collect();
    assert_eq!(to_router, ["wi0"]);

    let plan = lab.middle.run(|| plan("wl0", "wi0", "br0")).expect("entered").expect("a plan");
    let applied = lab.middle.run(|| plan.apply()).expect("entered").expect("applied");
    assert!(reaches() && comes_to_answer(&lab.source), "joined, and the machine is still reached");
    assert!(network().1.contains("10.77.0.0/16"), "{}", network().1);
    lab.middle.run(|| drop(applied)).expect("entered");
    assert_eq!(network(), before);
    assert!(reaches() && !answers(&lab.source, SINK_HOST));

    // A plan of a network that has changed since is refused: its undo would restore another network.
    let plan = lab.middle.run(|| evenair_site::setup::plan("wl0", "wi0", "br0")).expect("entered").expect("a plan");
    let refused = |found: &str| {
        let before = network();
        let error = lab.middle.run(|| plan.apply()).expect("entered").expect_err("the network has changed");
        assert!(error.contains("nothing was changed") && error.contains(found), "{error}");
        assert_eq!(network(), before);
    };
    ip(&lab.middle, "link add br0 type bridge");
    refused("extra: link br0");
    ip(&lab.middle, "link del br0");
    ip(&lab.middle, "route del 10.77.0.0/16 dev wi0");
    refused("missing: route 10.77.0.0/16 dev wi0");
}

/// Whether a host replies: nobody listens there, and its refusal is a reply.
fn answers(from: &evenair_sys::netns::Netns, host: [u8; 4]) -> bool {
    let connect = || TcpStream::connect_timeout(&SocketAddr::from((host, 9)), Duration::from_secs(1));
    from.run(connect).expect("entered").is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

/// Output of `ip` in the middle, without values that change by themselves.
fn ip_json(lab: &Lab, what: &str) -> String {
    let command = || std::process::Command::new("ip").args(what.split(' ')).output().expect("ip(8) is installed");
    let text = String::from_utf8(lab.middle.run(command).expect("entered").stdout).expect("text");
    text.lines()
        .filter(|line| !line.contains("qdisc"))
        .map(|line| format!("{}\n", line.trim().replace(" tentative", "")))
        .collect()
}

#[test]
fn the_doctor_finds_what_is_wrong_and_its_mends_mend_it() {
    use evenair_site::doctor::{Finding, Verdict, examine};
    let Some(lab) = Lab::beside_others() else { return };
    let file = lab.file("box.toml");
    let text = "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\n[radio]\nstandard = \"802.11g\"\n";
    fs::write(&file, text).expect("writable");
    let at_least = |verdict: Verdict| -> Vec<Finding> {
        let findings = lab.middle.run(|| examine(&file)).expect("entered");
        findings.into_iter().filter(|finding| finding.verdict >= verdict).collect()
    };
    ip(&lab.middle, "link set wi0 type bridge_slave isolated on");
    assert_eq!(at_least(Verdict::Wrong), [], "a healthy lab, even with one isolated port");
    for (harm, subject, found) in [
        ("link set wi0 mtu 1400", "MTU", "1400"),
        ("link set wl0 nomaster", "wlan", "must be a port of the bridge"),
        ("link set wi0 down", "wire", "is down"),
        ("link set br0 down", "bridge", "is down"),
        ("link set wl0 type bridge_slave isolated on", "bridge", "isolates its ports wl0 and wi0"),
    ] {
        ip(&lab.middle, harm);
        let wrong = at_least(Verdict::Wrong);
        let finding = wrong.iter().find(|finding| finding.subject == subject && finding.found.contains(found));
        let Some(mend) = finding.and_then(|finding| finding.mend.clone()) else { panic!("{harm}: {wrong:?}") };
        let command = mend.strip_prefix("run: ip ").expect("a command").replace("NAME mtu N", "wi0 mtu 1500");
        ip(&lab.middle, &command);
        assert_eq!(at_least(Verdict::Wrong), [], "after {mend}");
    }
    ip(&lab.middle, "link set br0 type bridge stp_state 1");
    lab.middle.run(|| run_tc("qdisc add dev wi0 root handle 1: htb")).expect("entered");
    let warned: Vec<_> = at_least(Verdict::Warning).into_iter().map(|finding| finding.found).collect();
    assert!(warned.iter().any(|found| found.contains("spanning tree")), "{warned:?}");
    assert!(warned.iter().any(|found| found.contains("wi0 has htb")), "{warned:?}");
    fs::write(&file, text.replace("802.11g", "802.11z")).expect("writable");
    assert!(at_least(Verdict::Wrong).iter().any(|finding| finding.found.contains(":6:12: radio.standard")));
}

fn run_tc(arguments: &str) {
    let status = std::process::Command::new("tc").args(arguments.split(' ')).status().expect("tc of iproute2");
    assert!(status.success(), "tc {arguments}");
}

#[test]
fn the_service_manager_hears_of_its_life() {
    let Some(lab) = Lab::new() else { return };
    let path = lab.file("notify");
    let manager = UnixDatagram::bind(&path).expect("bound");
    manager.set_read_timeout(Some(Duration::from_millis(600))).expect("set");
    let hear = || {
        let mut message = [0; 256];
        manager.recv(&mut message).ok().map(|n| String::from_utf8_lossy(&message[..n]).trim_end().to_owned())
    };
    let wait_for = |what: &str| (0..200).map_while(|_| hear()).any(|message| message == what);
    let socket = path.to_str().expect("plain");
    let mut process = lab.start_box_with("", &[("NOTIFY_SOCKET", socket), ("WATCHDOG_USEC", "300000")]);
    assert!(wait_for("READY=1"));
    assert!(wait_for("STATUS=bypassed"));
    assert!(wait_for("WATCHDOG=1") && wait_for("WATCHDOG=1"), "while it only waits for commands");
    process.client().insert().expect("inserted");
    assert!(wait_for("STATUS=inserted"));
    assert!(wait_for("WATCHDOG=1") && wait_for("WATCHDOG=1"), "while it carries the traffic");
    evenair_sys::process::signal(process.child.id(), libc::SIGSTOP).expect("it lives");
    assert!((0..200).map_while(|_| hear()).count() < 10, "one that hangs gives no sign of life");
    evenair_sys::process::signal(process.child.id(), libc::SIGCONT).expect("it lives");
    process.client().shutdown().expect("ended");
    assert!(wait_for("STOPPING=1"));
    process.child.wait().expect("it ends");
}

#[test]
fn the_last_requested_mode_outlives_the_box() {
    let Some(lab) = Lab::beside_others() else { return };
    let (directory, mode) = (lab.file("run"), |running: &BoxProcess| running.client().status().expect("answers").mode);
    fs::create_dir(&directory).expect("made");
    let start =
        |parameters: &str| lab.start_box_with(parameters, &[("RUNTIME_DIRECTORY", directory.to_str().expect("plain"))]);
    let mut first = start("");
    assert_eq!(mode(&first), Mode::Bypassed);
    first.client().insert().expect("inserted");
    // Killed, as by a watchdog.
    first.child.kill().expect("it lives");
    first.child.wait().expect("a child");
    let second = start("");
    assert_eq!(mode(&second), Mode::Inserted);
    second.client().observe().expect("looks on");
    second.client().shutdown().expect("ends");
    drop(second);
    let third = start("");
    assert_eq!(mode(&third), Mode::Observing);
    drop(third);
    assert_eq!(mode(&start("inserted=true")), Mode::Inserted, "the configuration was changed since");
}

#[test]
fn two_boxes_do_not_share_a_socket() {
    let Some(lab) = Lab::beside_others() else { return };
    let _running = lab.start_box("");
    // On other ports.
    ip(&lab.middle, "link add x0 up type veth peer name x1");
    ip(&lab.middle, "link set x1 up");
    let (wlan, wire) = ("x0".into(), "x1".into());
    let control = Some(lab.file("box.sock"));
    let error = start_error(&lab, BoxConfig { wlan, wire, bridge: None, control, ..config() });
    assert!(error.contains("another box answers there already"), "{error}");
}

#[test]
fn a_wrong_request_or_file_changes_nothing() {
    let Some(lab) = Lab::beside_others() else { return };
    let file = lab.file("box.toml");
    let good = "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\n[radio]\nstandard = \"802.11b\"\n";
    let good = format!("{good}[control]\nsocket = {:?}\n", lab.file("box.sock"));
    fs::write(&file, &good).expect("writable");
    let running = lab.start_box(&format!("file={}", file.display()));
    let mut client = running.client();

    let wrong_rate = refusal(client.set_rate(MacAddr(SOURCE), BitRate::from_mbps(54)));
    assert_eq!(wrong_rate, "rate_mbps: 802.11b has 1, 2, 5.5, 11, not 54");
    client.set_rate(MacAddr(SOURCE), BitRate::from_mbps(11)).expect("a rate of 802.11b");

    fs::write(&file, good.replace("802.11b", "802.11x")).expect("writable");
    let bad = refusal(client.reconfigure(None));
    assert!(bad.contains("box.toml:6:12: radio.standard"), "{bad}");
    client.set_rate(MacAddr(SOURCE), BitRate::from_mbps(11)).expect("still 802.11b");
    fs::write(&file, good.replace("802.11b", "802.11g")).expect("writable");
    client.reconfigure(None).expect("a good file");
    client.set_rate(MacAddr(SOURCE), BitRate::from_mbps(54)).expect("now 802.11g");

    let mut raw = BufReader::new(UnixStream::connect(lab.file("box.sock")).expect("it listens"));
    raw.get_mut().write_all(b"{\"command\":\"explode\"}\n{\"command\":\"status\"}\n").expect("taken");
    let mut lines = raw.lines().map(|line| line.expect("an answer"));
    assert!(lines.next().expect("one").contains("unknown variant `explode`"));
    assert!(lines.next().expect("two").contains("\"mode\":\"bypassed\""));
}
