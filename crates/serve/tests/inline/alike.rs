//! Frames that pass equally with the box and without it, and changes by other programs at the ports of a running box.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::causes::LossReason;
use evenair_api::history::Record;
use evenair_client::history::Reader;
use evenair_sys::bpf::{Assembler, Program, ProgramKind, Reg, XdpMode};
use evenair_sys::netns::Netns;
use evenair_sys::ring::{Ring, Sender};
use evenair_sys::{iface, process};

use crate::lab::{Arrivals, Endpoint, Lab, NUMBERED, ip, stream};

const STATION: [u8; 6] = [0x02, 0, 0, 0, 0x77, 1];
/// First five bytes of the group addresses of IEEE 802.1D.
const GROUP: [u8; 5] = [0x01, 0x80, 0xc2, 0, 0];
/// Their last bytes: STP, pause frames, LACP, 802.1X, LLDP.
const GROUPS: [u8; 5] = [0, 1, 2, 3, 14];
/// Generous: expected changes take a second or two.
const LIMIT: Duration = Duration::from_secs(30);

/// Sends twenty frames: returns the arrivals.
fn cross(from: Endpoint<'_>, to: Endpoint<'_>) -> Arrivals {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
        stream(from, to, 100, 100, &stop)
    })
}

/// Output of `bridge` in a namespace.
fn bridge(ns: &Netns, arguments: &str) -> String {
    let mut command = Command::new("bridge");
    command.args(arguments.split_whitespace());
    let output = process::tie(&mut command, Some(ns.as_fd())).output().expect("bridge(8) is installed");
    assert!(output.status.success(), "bridge {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_station_that_roamed_while_the_box_was_inserted_is_reached_by_the_bridge() {
    let Some(lab) = Lab::new() else { return };
    const STATIC: &str = "02:00:00:00:99:01";
    bridge(&lab.middle, &format!("fdb add {STATIC} dev wi0 master static"));
    let [at_wire, at_wlan] = [lab.sink_end(), lab.source_end()].map(|end| Endpoint { mac: STATION, ..end });
    for killed in [false, true] {
        let mut running = lab.start_box("controller=none");
        let heard = cross(at_wire, lab.source_end());
        assert!(heard.sent > 0 && heard.lost == 0, "{heard:?}");
        assert!(bridge(&lab.middle, "fdb show br br0").contains("02:00:00:00:77:01 dev wi0"));
        running.client().insert().expect("inserted");
        let up = cross(at_wlan, lab.sink_end());
        assert!(up.sent > 0 && up.lost == 0, "{up:?}");
        if killed {
            running.child.kill().expect("it lives");
            running.child.wait().expect("a child");
        } else {
            running.client().bypass().expect("bypassed");
        }
        let down = cross(lab.sink_end(), at_wlan);
        assert!(down.sent > 0 && down.lost == 0, "killed {killed}: {down:?}");
        assert!(bridge(&lab.middle, "fdb show br br0").contains(STATIC), "static entries stay");
    }
}

#[test]
fn what_the_bridge_learns_while_the_box_is_inserted_is_forgotten_within_seconds() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("inserted=true controller=none");
    // A frame for the bridge itself bypasses the box.
    let to_bridge = Endpoint { mac: [2, 0, 0, 0, 0, 0xbb], ..lab.sink_end() };
    let from = Endpoint { mac: STATION, ..lab.source_end() };
    cross(from, to_bridge);
    let begin = Instant::now();
    while bridge(&lab.middle, "fdb show br br0").contains("02:00:00:00:77:01") {
        assert!(begin.elapsed() < Duration::from_secs(5), "{}", bridge(&lab.middle, "fdb show br br0"));
        thread::sleep(Duration::from_millis(100));
    }
    running.client().shutdown().expect("ends");
}

#[test]
fn link_local_groups_pass_alike_inserted_and_bypassed() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("controller=none");
    let mut client = running.client();
    let mut passing_in = |mode: &str| {
        match mode {
            "inserted" => client.insert().expect("inserted"),
            _ => client.bypass().expect("bypassed"),
        }
        let (down, up) = (passing(lab.sink_end(), lab.source_end()), passing(lab.source_end(), lab.sink_end()));
        assert_eq!(down, up, "down and up, {mode}");
        down
    };
    let all_but = |none: &[u8]| GROUPS.into_iter().filter(|last| !none.contains(last)).collect::<Vec<u8>>();
    // As the kernel creates the bridge, as `init` creates it, with the spanning tree, and with LACP by the masks of the
    // ports.
    let settings: [(&[&str], Vec<u8>); 4] = [
        (&["link set br0 type bridge group_fwd_mask 0"], vec![0]),
        (&["link set br0 type bridge group_fwd_mask 0xfff8"], all_but(&[1, 2])),
        (
            &["link set wl0 type bridge_slave group_fwd_mask 4", "link set wi0 type bridge_slave group_fwd_mask 4"],
            all_but(&[1]),
        ),
        (&["link set br0 type bridge stp_state 1 forward_delay 0"], all_but(&[0, 1])),
    ];
    for (commands, wanted) in settings {
        commands.iter().for_each(|command| ip(&lab.middle, command));
        // The box checks within a second.
        thread::sleep(Duration::from_millis(1500));
        for mode in ["bypassed", "inserted"] {
            assert_eq!(passing_in(mode), wanted, "{mode}, {commands:?}");
        }
    }
    let packets = running.client().shutdown().expect("ends").packets;
    assert!(packets.conserved && packets.losses[LossReason::LinkLocal] > 0, "{packets:?}");
}

/// The groups of which any frame passes: some are sent to each in turn.
fn passing(from: Endpoint<'_>, to: Endpoint<'_>) -> Vec<u8> {
    let find = |end: Endpoint<'_>| iface::find(end.interface).expect("laid");
    let mut ring = to.netns.run(|| Ring::open(&find(to), 1024).expect("root")).expect("entered");
    ring.start().expect("up");
    let sender = from.netns.run(|| Sender::open(&find(from), 1 << 20).expect("root")).expect("entered");
    for _ in 0..10 {
        for last in GROUPS {
            let mut frame = [&GROUP[..], &[last], &from.mac, &NUMBERED.to_be_bytes()].concat();
            frame.resize(100, 0);
            assert_eq!(sender.send([&frame[..]]), Ok(1));
        }
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(200));
    let mut passed = BTreeSet::new();
    while let Some(frame) = ring.next_frame() {
        let bytes = frame.bytes();
        if bytes[..5] == GROUP && bytes[6..12] == from.mac && bytes[12..14] == NUMBERED.to_be_bytes() {
            passed.insert(bytes[5]);
        }
    }
    passed.into_iter().collect()
}

#[test]
fn a_program_that_is_attached_later_is_reported_once() {
    let Some(lab) = Lab::new() else { return };
    let (file, history) = (lab.file("box.toml"), lab.file("history"));
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nio = \"af-packet\"\n[radio]\nstandard = \"802.11g\"\n\
         [history]\npath = {:?}\n",
        history.display()
    );
    std::fs::write(&file, text).expect("writable");
    let running = lab.start_box(&format!("file={}", file.display()));
    let events = || -> Vec<_> {
        let records = Reader::open(&history).into_iter().flatten();
        let event = |record| match record {
            Ok(Record::Event(record)) if record.event.name() == "ports" => Some(record.event.text()),
            _ => None,
        };
        records.filter_map(event).collect()
    };
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(events(), Vec::<String>::new(), "its own programs are none of others");
    let pass = Assembler::new().set(Reg::R0, 2).exit().finish();
    let load = |kind| Program::load(kind, &pass, "a test").expect("root");
    let attached = lab.middle.run(|| {
        let index = |name| iface::find(name).expect("laid").index;
        let xdp = load(ProgramKind::Xdp).attach_xdp(XdpMode::Generic, index("wi0"), "wi0").expect("attached");
        (xdp, load(ProgramKind::SchedCls).attach_ingress(index("wl0"), "wl0").ok())
    });
    let attached = attached.expect("entered");
    let wanted = 1 + usize::from(attached.1.is_some());
    let begin = Instant::now();
    while events().len() < wanted {
        assert!(begin.elapsed() < LIMIT, "{:?}", events());
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_millis(1500));
    let events = events();
    assert_eq!(events.len(), wanted, "each once: {events:?}");
    // The programs of this process are named like a box's.
    let said = format!("another box, process {}, works on wi0", std::process::id());
    assert!(
        events.iter().any(|text| text.starts_with(&said) || text.contains("wi0 that takes packets: XDP")),
        "{events:?}"
    );
    running.client().shutdown().expect("ends");
}

#[test]
fn a_name_that_any_user_can_hold_does_not_keep_the_box_away() {
    let Some(lab) = Lab::new() else { return };
    let hold = || {
        ["wl0", "wi0"].map(|port| {
            let name = format!("evenair-port-{}", iface::find(port).expect("laid").index);
            let address = SocketAddr::from_abstract_name(name).expect("short");
            UnixListener::bind_addr(&address).expect("free")
        })
    };
    let held = lab.middle.run(hold).expect("entered");
    lab.start_box("controller=none").client().shutdown().expect("ends");
    drop(held);
}
