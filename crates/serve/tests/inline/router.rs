//! A machine that is the stations' gateway, with the box between its gateway and the access points: address translation,
//! routing by the kernel without the box, fair shares with it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::causes::LossReason;
use evenair_site::doctor::{Verdict, examine};
use evenair_site::setup::{Applied, Gateway, plan_router};
use evenair_sys::iface;
use evenair_sys::netns::{self, Netns};
use evenair_sys::ring::{Ring, Sender};

use crate::lab::{Lab, SOURCE, ensure, ip, judged};
use crate::offload::restore_offloads;
use crate::traffic::transfer;

const NAMES: Gateway<'static> = Gateway { wlan: "wl0", uplink: "wi0", bridge: "br0", gateway: "gw0" };
const GATEWAYS: [&str; 2] = ["192.168.77.1/24", "fd00:77::1/64"];
/// The machine's address at the uplink, and the host there.
const OUTSIDE: &str = "10.9.0.254";
const HOST: &str = "10.9.0.2";

/// The lab without its bridge: the source is a station, the sink a host beyond the uplink, with a route to the stations'
/// IPv6 network but not to the IPv4 one.
fn site(lab: fn() -> Option<Lab>) -> Option<Lab> {
    if Command::new("nft").arg("--version").output().is_err() {
        eprintln!("skipped: needs nft of nftables");
        return None;
    }
    let lab = lab()?;
    ip(&lab.middle, "link del br0");
    ip(&lab.middle, "addr add 10.9.0.254/24 dev wi0");
    ip(&lab.middle, "addr add fd00:9::fe/64 dev wi0 nodad");
    for (ns, port, address, way) in [
        (&lab.source, "s0", "fd00:77::10/64", "-6 route add default via fd00:77::1"),
        (&lab.sink, "k0", "fd00:9::2/64", "-6 route add fd00:77::/64 via fd00:9::fe"),
    ] {
        let name = format!("net/ipv6/conf/{port}/disable_ipv6");
        ns.run(|| netns::set_sysctl(&name, "0")).expect("entered").expect("set");
        ip(ns, &format!("addr add {address} dev {port} nodad"));
        ip(ns, way);
    }
    ip(&lab.source, "addr del 10.9.0.1/24 dev s0");
    ip(&lab.source, "addr add 192.168.77.10/24 dev s0");
    ip(&lab.source, "route add default via 192.168.77.1");
    Some(lab)
}

fn make_gateway(lab: &Lab) -> Applied {
    let addresses = GATEWAYS.map(str::to_owned);
    let plan = lab.middle.run(|| plan_router(NAMES, &addresses)).expect("entered").expect("a plan");
    let applied = lab.middle.run(|| plan.apply()).expect("entered").expect("applied");
    // Until duplicate address detection of IPv6 has finished.
    let start = Instant::now();
    while ip_text(lab, "addr show dev gw0").contains("tentative") {
        assert!(start.elapsed() < Duration::from_secs(20), "its address stays tentative");
        thread::sleep(Duration::from_millis(50));
    }
    applied
}

fn output(lab: &Lab, program: &str, arguments: &str) -> String {
    let run = || Command::new(program).args(arguments.split(' ')).output().expect("it is installed");
    String::from_utf8(lab.middle.run(run).expect("entered").stdout).expect("text")
}

fn ip_text(lab: &Lab, what: &str) -> String {
    output(lab, "ip", what)
}

/// State of the middle that set-up may change.
fn network(lab: &Lab) -> String {
    let setting = |name: &str| {
        let read = || std::fs::read_to_string(format!("/proc/sys/net/{name}"));
        lab.middle.run(read).expect("entered").expect("readable")
    };
    let lines = ["addr show", "route show", "-6 route show"].map(|what| ip_text(lab, what)).concat();
    let lines: Vec<_> = lines.lines().filter(|line| !line.contains("fe80") && !line.contains("valid_lft")).collect();
    // Addresses and carriers appear a moment later.
    let states = [" tentative", "state UP", "state DOWN", "NO-CARRIER,", ",LOWER_UP"];
    let without_state = states.iter().fold(lines.join("\n"), |text, state| text.replace(state, ""));
    let rules = output(lab, "nft", "list ruleset");
    [without_state, rules, setting("ipv4/ip_forward"), setting("ipv6/conf/all/forwarding")].join("\n")
}

fn start(lab: &Lab, more: &str) -> crate::lab::BoxProcess {
    let file = lab.file("box.toml");
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"gw0p\"\nbridge = \"br0\"\n[router]\ngateway = \"gw0\"\nuplink = \"wi0\"\n\
         [radio]\nstandard = \"802.11g\"\n[control]\nsocket = {:?}\n{more}",
        lab.file("box.sock")
    );
    std::fs::write(&file, text).expect("writable");
    let examined = lab.middle.run(|| examine(&file)).expect("entered");
    let wrong: Vec<_> = examined.iter().filter(|finding| finding.verdict >= Verdict::Warning).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    lab.start_box(&format!("file={}", file.display()))
}

#[test]
fn a_gateway_is_made_and_taken_back() {
    let Some(lab) = site(Lab::beside_others) else { return };
    let before = network(&lab);
    let applied = make_gateway(&lab);
    transfer(&lab.source, &lab.sink, &format!("{HOST}:6001"), 100_000);
    transfer(&lab.source, &lab.sink, "[fd00:9::2]:6002", 100_000);
    lab.middle.run(|| drop(applied)).expect("entered");
    assert_eq!(network(&lab), before);
    // A set-up that fails half way undoes its changes.
    let plan = lab.middle.run(|| plan_router(NAMES, &[GATEWAYS[0].to_owned()])).expect("entered").expect("a plan");
    let run = |arguments: &str| output(&lab, "nft", arguments);
    run("add table inet evenair");
    let error = lab.middle.run(|| plan.apply()).expect("entered").expect_err("there is such a table");
    assert!(error.contains("create table inet evenair"), "{error}");
    run("delete table inet evenair");
    assert_eq!(network(&lab), before);
}

#[test]
fn a_gateway_is_there_again_after_a_start() {
    let Some(lab) = site(Lab::beside_others) else { return };
    let before = network(&lab);
    let addresses = GATEWAYS.map(str::to_owned);
    let plan = lab.middle.run(|| plan_router(NAMES, &addresses)).expect("entered").expect("a plan");
    let (up, down) = (lab.file("up"), lab.file("down"));
    std::fs::write(&up, plan.script(NAMES.gateway)).expect("writable");
    std::fs::write(&down, plan.script_back()).expect("writable");
    let sh = |script: &std::path::Path| {
        let run = || Command::new("sh").arg(script).output().expect("a shell");
        let output = lab.middle.run(run).expect("entered");
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    sh(&up);
    transfer(&lab.source, &lab.sink, &format!("{HOST}:6001"), 100_000);
    let made = network(&lab);
    sh(&up);
    assert_eq!(network(&lab), made, "it is there already");
    sh(&down);
    assert_eq!(network(&lab), before);
}

/// A host that used another reply would bypass the box.
#[test]
fn only_the_gateway_answers_for_its_address() {
    let Some(lab) = site(Lab::beside_others) else { return };
    // With the kernel's default. Distributions with systemd set 2, which would hide it.
    for name in ["all", "default"] {
        let set = || netns::set_sysctl(&format!("net/ipv4/conf/{name}/rp_filter"), "0");
        lab.middle.run(set).expect("entered").expect("set");
    }
    let _kept = make_gateway(&lab);
    let gateway = output(&lab, "ip", "-j link show dev gw0");
    let answers = lab.source.run(|| who_has([192, 168, 77, 1])).expect("entered");
    assert!(!answers.is_empty(), "nobody answers");
    assert!(answers.iter().all(|mac| gateway.contains(mac)), "{answers:?} beside {gateway}");
}

/// The MAC addresses in replies to an ARP request of the source, after several requests.
fn who_has(address: [u8; 4]) -> Vec<String> {
    const ARP: [u8; 2] = [0x08, 0x06];
    let interface = iface::find("s0").expect("laid");
    let mut ring = Ring::open(&interface, 1024).expect("root");
    ring.start().expect("up");
    let sender = Sender::open(&interface, 1 << 16).expect("root");
    // RFC 826: Ethernet, IPv4, a request.
    let head = [0, 1, 8, 0, 6, 4, 0, 1];
    let request = [&[0xff; 6][..], &SOURCE, &ARP, &head, &SOURCE, &[192, 168, 77, 10], &[0; 6], &address].concat();
    let (start, mut answers) = (Instant::now(), Vec::new());
    let mut asked = 0;
    while start.elapsed() < Duration::from_secs(3) {
        if start.elapsed() >= Duration::from_millis(500) * asked {
            sender.send(std::iter::once(&request[..])).expect("sent");
            asked += 1;
        }
        while let Some(frame) = ring.next_frame() {
            let bytes = frame.bytes();
            if bytes[12..14] == ARP && bytes[20..22] == [0, 2] && bytes[28..32] == address {
                answers.push(bytes[22..28].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"));
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    answers
}

#[test]
fn connections_cross_a_gateway_translated_and_managed() {
    let Some(lab) = site(Lab::beside_others) else { return };
    let _kept = make_gateway(&lab);
    let running = start(&lab, "[manager]\ncontroller.kind = \"published\"\n");
    let mut client = running.client();
    let seen = seen_by_the_host(&lab, &mut client);
    assert_eq!(seen.ip().to_string(), OUTSIDE, "the host sees the machine, and not the station");
    let status = client.status().expect("answers");
    assert_eq!(status.stations.iter().map(|s| s.mac.as_str()).collect::<Vec<_>>(), ["02:00:00:00:00:0a"]);
    let flows = format!("{:?}", status.flows);
    assert!(flows.contains("192.168.77.10") && !flows.contains(OUTSIDE), "the box sees the station: {flows}");
    assert_eq!(status.wlan.super_packets + status.wire.super_packets, 0, "{status:?}");
    // IPv6 is not translated, and strangers are kept out nevertheless.
    transfer(&lab.source, &lab.sink, "[fd00:9::2]:6003", 500_000);
    let listener = lab.source.run(|| TcpListener::bind("[fd00:77::10]:6004")).expect("entered").expect("free");
    let stranger =
        || TcpStream::connect_timeout(&"[fd00:77::10]:6004".parse().expect("an address"), Duration::from_secs(1));
    assert!(lab.sink.run(stranger).expect("entered").is_err(), "nobody asked for it");
    drop(listener);
    let packets = client.shutdown().expect("ends").packets;
    assert!(packets.conserved && packets.losses[LossReason::TooLong] == 0, "{packets:?}");
}

#[test]
fn super_packets_of_the_gateway_and_of_both_hosts_are_cut() {
    let Some(lab) = site(Lab::beside_others) else { return };
    let _kept = make_gateway(&lab);
    // With the default offloads of virtual cables.
    restore_offloads(&lab);
    ip(&lab.middle, "link set gw0 gso_max_segs 65535");
    let running = start(&lab, "[manager.controller]\nkind = \"none\"\n");
    let mut client = running.client();
    client.insert().expect("inserted");
    seen_by_the_host(&lab, &mut client);
    let status = client.status().expect("answers");
    assert!(status.wlan.super_packets + status.wire.super_packets > 10, "{status:?}");
    assert_eq!(
        (
            status.packets.losses[LossReason::TooLong],
            status.packets.losses[LossReason::SuperLost],
            status.packets.losses[LossReason::SendRefused]
        ),
        (0, 0, 0)
    );
    assert!(client.shutdown().expect("ends").packets.conserved, "{status:?}");
}

/// A connection through the gateway with equal traffic both ways, while the box is inserted and bypassed; returns the
/// peer that the host sees.
fn seen_by_the_host(lab: &Lab, client: &mut evenair_client::control::Client) -> SocketAddr {
    const LEN: usize = 3 << 20;
    let listener = lab.sink.run(|| TcpListener::bind((HOST, 6000))).expect("entered").expect("free");
    thread::scope(|scope| {
        let host = scope.spawn(move || {
            let (mut stream, peer) = listener.accept().expect("a client");
            let mut bytes = vec![0; LEN];
            stream.read_exact(&mut bytes).expect("whole");
            stream.write_all(&bytes).expect("taken");
            peer
        });
        let station = scope.spawn(|| {
            let address: SocketAddr = (HOST.parse::<std::net::IpAddr>().expect("an address"), 6000).into();
            let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(20));
            let mut stream = lab.source.run(connect).expect("entered").expect("connects");
            let sent: Vec<u8> = (0..LEN).map(|n| ((n * 7) >> 2) as u8).collect();
            stream.write_all(&sent).expect("taken");
            let mut back = vec![0; LEN];
            stream.read_exact(&mut back).expect("whole");
            assert!(back == sent, "the bytes came back as they went");
        });
        for _ in 0..3 {
            client.insert().expect("inserted");
            thread::sleep(Duration::from_millis(150));
            client.bypass().expect("bypassed");
            thread::sleep(Duration::from_millis(5));
        }
        client.insert().expect("inserted");
        station.join().expect("whole");
        host.join().expect("whole")
    })
}

#[test]
fn the_kernel_routes_when_the_box_is_killed() {
    judged(|| site(Lab::new).map_or(Ok(()), |lab| gap_of_a_gateway(&lab)));
}

fn gap_of_a_gateway(lab: &Lab) -> Result<(), String> {
    let _kept = make_gateway(lab);
    let mut running = start(lab, "");
    running.client().insert().expect("inserted");
    let host = lab.sink.run(|| UdpSocket::bind((HOST, 6000))).expect("entered").expect("free");
    let station = lab.source.run(|| UdpSocket::bind("192.168.77.10:0")).expect("entered").expect("free");
    station.send_to(b"hello", (HOST, 6000)).expect("sent");
    let (_, peer) = host.recv_from(&mut [0; 16]).expect("it arrives");
    assert_eq!(peer.ip().to_string(), OUTSIDE);
    station.set_read_timeout(Some(Duration::from_millis(500))).expect("set");
    let stop = AtomicBool::new(false);
    let (longest, received, sent) = thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut last, mut longest, mut received) = (None, Duration::ZERO, 0u32);
            while station.recv(&mut [0; 64]).is_ok() {
                let now = Instant::now();
                longest = longest.max(last.map_or(Duration::ZERO, |last| now - last));
                (last, received) = (Some(now), received + 1);
            }
            (longest, received)
        });
        let sender = scope.spawn(|| {
            let mut sent = 0u32;
            while !stop.load(Ordering::Relaxed) {
                host.send_to(&sent.to_be_bytes(), peer).expect("sent");
                sent += 1;
                thread::sleep(Duration::from_micros(400));
            }
            sent
        });
        thread::sleep(Duration::from_millis(400));
        running.child.kill().expect("it lives");
        running.child.wait().expect("a child");
        thread::sleep(Duration::from_millis(400));
        stop.store(true, Ordering::Relaxed);
        let sent = sender.join().expect("no panic");
        let (longest, received) = receiver.join().expect("no panic");
        (longest, received, sent)
    });
    println!("kill -9 of a gateway's box: longest gap {longest:?}, {received} of {sent} arrived");
    let is_short = longest < Duration::from_millis(200) && received > sent * 3 / 4;
    ensure(is_short, || format!("{longest:?}, {received} of {sent}"))
}

#[test]
fn stations_behind_a_gateway_share_alike() {
    judged(|| site(Lab::new).map_or(Ok(()), |lab| shares_behind_a_gateway(&lab)));
}

fn shares_behind_a_gateway(lab: &Lab) -> Result<(), String> {
    let second = Netns::new().expect("there are some already");
    join_second_station(lab, &second);
    let _kept = make_gateway(lab);
    let running =
        start(lab, "[manager]\ncontroller.kind = \"fixed\"\ncontroller.rate = \"8 Mb/s\"\ncharge = \"bits\"\n");
    running.client().insert().expect("inserted");
    // One connection beside four.
    let bytes = thread::scope(|scope| {
        let stations = [(&lab.source, 1, 6100), (&second, 4, 6200)];
        let loads = stations.map(|(station, connections, port)| {
            scope.spawn(move || {
                thread::scope(|scope| {
                    let each: Vec<_> =
                        (0..connections).map(|n| scope.spawn(move || download(lab, station, port + n))).collect();
                    each.into_iter().map(|each| each.join().expect("no panic")).sum::<u64>()
                })
            })
        });
        loads.map(|load| load.join().expect("no panic"))
    });
    println!("one connection beside four: {bytes:?} bytes");
    let [one, four] = bytes.map(|bytes| bytes as f64);
    let jain = (one + four).powi(2) / (2.0 * (one * one + four * four));
    ensure(jain > 0.95, || format!("{bytes:?}: {jain:.3}"))
}

/// Adds a station beside the source, behind a switch of its own.
fn join_second_station(lab: &Lab, second: &Netns) {
    use std::os::fd::{AsFd, AsRawFd};
    let path = |ns: &Netns| format!("/proc/{}/fd/{}", std::process::id(), ns.as_fd().as_raw_fd());
    // The WLAN port's cable leads to a bridge in the middle: that of the access point, beside the first station.
    ip(&lab.source, &format!("link add ap0 type veth peer name s1 netns {}", path(second)));
    ip(&lab.source, "link add ap type bridge");
    ip(&lab.source, "link add sta type veth peer name stap");
    for change in [
        "addr flush dev s0",
        "link set s0 gso_max_segs 65535",
        "link set s0 master ap",
        "link set ap0 master ap",
        "link set stap master ap",
        "link set ap0 up",
        "link set stap up",
        "link set ap up",
        "link set sta gso_max_segs 1",
        "addr add 192.168.77.10/24 dev sta",
        "link set sta up",
        "route add default via 192.168.77.1",
    ] {
        ip(&lab.source, change);
    }
    for change in ["link set s1 gso_max_segs 1", "addr add 192.168.77.11/24 dev s1", "link set s1 up"] {
        ip(second, change);
    }
    ip(second, "route add default via 192.168.77.1");
}

/// Bytes that a station gets in some seconds, after a warm-up.
fn download(lab: &Lab, station: &Netns, port: u16) -> u64 {
    const SPAN: Duration = Duration::from_secs(6);
    const WARM_UP: Duration = Duration::from_secs(2);
    let listener = lab.sink.run(|| TcpListener::bind((HOST, port))).expect("entered").expect("free");
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            while stream.write_all(&[7; 16_384]).is_ok() {}
        });
        let address: SocketAddr = (HOST.parse::<std::net::IpAddr>().expect("an address"), port).into();
        let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(20));
        let mut stream = station.run(connect).expect("entered").expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(3))).expect("set");
        let (start, mut bytes) = (Instant::now(), 0);
        let mut buffer = vec![0; 65_536];
        while start.elapsed() < SPAN {
            let n = stream.read(&mut buffer).expect("it goes on");
            bytes += if start.elapsed() > WARM_UP { n as u64 } else { 0 };
        }
        bytes
    })
}
