//! Loss of fail-open while the box runs: the bridge or a port is changed.

use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::causes::LossReason;
use evenair_api::history::Record;
use evenair_api::{Carrier, Mode, Status};
use evenair_boxfile::BoxConfig;
use evenair_client::control::Client;
use evenair_client::history::Reader;
use evenair_manager::Config;
use evenair_sys::bpf::{Assembler, Program, ProgramKind, Reg, XdpMode};
use evenair_sys::{iface, process};
use evenair_wifi::{Phy, Standard};

use crate::lab::{Arrivals, BoxProcess, Lab, ip, stream};

/// Generous: expected changes take milliseconds.
const LIMIT: Duration = Duration::from_secs(30);
/// Packets that [`cross`] sends at least. On an idle machine they are a hundred.
const FEW: u64 = 10;

/// Waits until the box's status satisfies the condition.
fn until(client: &mut Client, is_so: impl Fn(&Status) -> bool) -> Status {
    let begin = Instant::now();
    loop {
        let status = client.status().expect("the box answers");
        if is_so(&status) {
            return status;
        }
        assert!(begin.elapsed() < LIMIT, "carried by {}, {:?}", status.carrier, status.fail_open);
        thread::sleep(Duration::from_millis(10));
    }
}

/// Arrivals of a short stream from the source to the sink.
fn cross(lab: &Lab) -> Arrivals {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(500));
            stop.store(true, Ordering::Relaxed);
        });
        stream(lab.source_end(), lab.sink_end(), 200, 200, &stop)
    })
}

#[test]
fn a_bypass_to_a_bridge_that_cannot_carry_is_refused() {
    let Some(lab) = Lab::new() else { return };
    // The bridge forwards to one isolated port; it only separates two isolated ones.
    ip(&lab.middle, "link set wi0 type bridge_slave isolated on");
    let mut running = lab.start_box("inserted=true controller=none");
    let mut client = running.client();
    assert!(client.status().expect("answers").fail_open.available);
    for (take, give, said) in [
        (
            "link set wl0 nomaster",
            "link set wl0 master br0",
            "wl0 is not a port of br0; run: ip link set wl0 master br0",
        ),
        ("link set br0 down", "link set br0 up", "the bridge br0 is down; run: ip link set br0 up"),
        ("link set wi0 mtu 1400", "link set wi0 mtu 1500", "wl0 has MTU 1500 and wi0 has MTU 1400"),
        (
            "link set wl0 type bridge_slave isolated on",
            "link set wl0 type bridge_slave isolated off",
            "br0 isolates its ports wl0 and wi0 from each other",
        ),
    ] {
        ip(&lab.middle, take);
        // At once, before the box may have noticed.
        for refused in [client.bypass(), client.observe(), client.shutdown().map(drop)] {
            let error = refused.expect_err(take).to_string();
            assert!(error.contains(said) && error.contains("--force"), "{error}");
        }
        let status = until(&mut client, |status| !status.fail_open.available);
        assert!(status.fail_open.why[0].starts_with(said), "{:?}", status.fail_open);
        assert_eq!((status.mode, status.carrier), (Mode::Inserted, Carrier::Box));
        ip(&lab.middle, give);
        until(&mut client, |status| status.fail_open.available);
    }
    ip(&lab.middle, "link set wl0 nomaster");
    let arrivals = cross(&lab);
    assert!(arrivals.sent >= FEW && arrivals.lost == 0, "the box goes on carrying: {arrivals:?}");
    client.force_bypass().expect("whoever insists may");
    assert_eq!(until(&mut client, |status| !status.fail_open.available).carrier, Carrier::Nobody);
    assert_eq!(cross(&lab).received, 0, "and nothing passes then");
    client.insert().expect("the way out");
    assert_eq!(cross(&lab).lost, 0);
    process::signal(running.child.id(), libc::SIGTERM).expect("it lives");
    assert!(running.child.wait().expect("a child").success(), "a signal ends it all the same");
}

#[test]
fn losing_the_bridge_and_having_it_back_are_events() {
    let Some(lab) = Lab::beside_others() else { return };
    let (file, history) = (lab.file("box.toml"), lab.file("history"));
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\n[radio]\nstandard = \"802.11g\"\n\
         [history]\npath = {:?}\ninterval = \"1 s\"\nlimit = \"1 MB\"\n",
        history.display()
    );
    std::fs::write(&file, text).expect("writable");
    let running = lab.start_box(&format!("file={}", file.display()));
    let mut client = running.client();
    ip(&lab.middle, "link del br0");
    let status = until(&mut client, |status| !status.fail_open.available);
    assert_eq!((status.mode, status.carrier), (Mode::Bypassed, Carrier::Nobody), "it does not insert itself");
    ip(&lab.middle, "link add br0 up type bridge mcast_snooping 0");
    ["wl0", "wi0"].iter().for_each(|port| ip(&lab.middle, &format!("link set {port} master br0")));
    until(&mut client, |status| status.carrier == Carrier::Bridge);
    client.shutdown().expect("ends");
    let events: Vec<_> = Reader::open(&history)
        .expect("a directory")
        .filter_map(|record| match record.expect("readable") {
            Record::Event(record) if record.event.name() == "fail-open" => Some(record.event.text()),
            _ => None,
        })
        .collect();
    let (first, last) = (events.first().expect("lost"), events.last().expect("back"));
    assert!(first.starts_with("fail-open is lost: ") && last.starts_with("fail-open is back"), "{events:?}");
}

/// The address of a bridge without a configured address is that of one of its ports, and changes with them.
#[test]
fn the_machine_stays_reachable_when_the_bridges_address_changes() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("inserted=true controller=none");
    ip(&lab.middle, "link set br0 address 02:00:00:00:00:cc");
    let begin = Instant::now();
    loop {
        ip(&lab.source, "neigh flush dev s0");
        // Nobody listens there: its refusal is the reply.
        let machine = "10.9.0.254:9".parse().expect("an address");
        let asked = lab.source.run(|| TcpStream::connect_timeout(&machine, Duration::from_secs(1))).expect("entered");
        if asked.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused) {
            break;
        }
        assert!(begin.elapsed() < LIMIT, "the machine is not reachable any more");
    }
    running.client().shutdown().expect("ends");
}

/// Removes the access points' cable, and the interface with it.
fn unplug(lab: &Lab) {
    ip(&lab.middle, "link del wl0");
}

/// Adds the cable again: a new interface with the old name.
fn plug_in(lab: &Lab) {
    let source = format!("/proc/{}/fd/{}", std::process::id(), lab.source.as_fd().as_raw_fd());
    ip(&lab.middle, &format!("link add wl0 type veth peer name s0 netns {source}"));
    ip(&lab.source, "link set s0 address 02:00:00:00:00:0a");
    ip(&lab.source, "link set s0 up");
    ip(&lab.middle, "link set wl0 up");
    ip(&lab.middle, "link set wl0 master br0");
}

#[test]
fn a_port_that_goes_away_and_comes_back_is_taken_up_again() {
    let Some(lab) = Lab::new() else { return };
    unplug(&lab);
    let mut running = lab.begin_box("waits=true controller=none", &[]);
    thread::sleep(Duration::from_millis(300));
    assert!(running.child.try_wait().expect("a child").is_none(), "it waits for a port that is not there");
    plug_in(&lab);
    running.until_it_answers();
    running.client().insert().expect("inserted");
    for _ in 0..3 {
        unplug(&lab);
        plug_in(&lab);
        until_carried_by_the_box(&lab, &mut running);
    }
    // The bridge as well: with group-addressed packets, a box that kept the old one would misbehave.
    ip(&lab.middle, "link del br0");
    ip(&lab.middle, "link add br0 up type bridge mcast_snooping 0");
    ["wl0", "wi0"].iter().for_each(|port| ip(&lab.middle, &format!("link set {port} master br0")));
    until_carried_by_the_box(&lab, &mut running);
    unplug(&lab);
    process::signal(running.child.id(), libc::SIGTERM).expect("it lives");
    assert!(running.child.wait().expect("a child").success(), "it can be ended while it waits");
}

/// A box that has started again, inserted as before.
fn until_carried_by_the_box(lab: &Lab, running: &mut BoxProcess) {
    let begin = Instant::now();
    loop {
        assert!(begin.elapsed() < LIMIT, "the box does not take its ports up again");
        thread::sleep(Duration::from_millis(20));
        running.until_it_answers();
        // It may be ending.
        let Ok(mut client) = running.try_client() else { continue };
        let Ok(status) = client.status() else { continue };
        if status.carrier == Carrier::Box && status.uptime_s < begin.elapsed().as_secs_f64() {
            break;
        }
    }
    // While the box's loop is late, as it may be at its start, packets go past it.
    let mut before = 0;
    loop {
        let arrivals = cross(lab);
        let taken = running.client().status().expect("answers").wlan.taken;
        if arrivals.sent >= FEW && 2 * arrivals.received > arrivals.sent && taken - before >= arrivals.received {
            break;
        }
        assert!(begin.elapsed() < LIMIT, "through the box: {} of {arrivals:?}", taken - before);
        before = taken;
    }
}

#[test]
fn a_second_box_on_the_same_ports_is_refused_with_the_first_ones_process() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("inserted=true controller=none");
    let refusal = || {
        let mut config = BoxConfig::new("wl0", "wi0", Config::new(Phy::default_for(Standard::Dot11g)));
        config.bridge = Some("br0".into());
        let error = lab.middle.run(|| evenair_serve::run(config)).expect("entered").expect_err("refused");
        format!("{error:#}")
    };
    let said = refusal();
    assert!(said.contains(&format!("another box, process {}, works on wl0", running.child.id())), "{said}");
    let arrivals = cross(&lab);
    assert_eq!((arrivals.lost, arrivals.doubled), (0, 0), "{arrivals:?}");
    drop(running);
    // Another program, at the other port.
    let pass = Assembler::new().set(Reg::R0, 2).exit().finish();
    let attach = || {
        let program = Program::load(ProgramKind::Xdp, &pass, "a test").expect("root");
        program.attach_xdp(XdpMode::Generic, iface::find("wi0").expect("laid").index, "wi0").expect("attached")
    };
    let link = lab.middle.run(attach).expect("entered");
    assert!(refusal().contains("wi0"), "{}", refusal());
    drop(link);
    // A killed box leaves nothing behind that would block its successor.
    let mut killed = lab.start_box("inserted=true controller=none");
    killed.child.kill().expect("it lives");
    killed.child.wait().expect("a child");
    lab.start_box("inserted=true controller=none").client().shutdown().expect("ends");
}

#[test]
fn of_two_boxes_started_at_the_same_moment_one_runs() {
    let Some(lab) = Lab::new() else { return };
    for _ in 0..5 {
        let begin = || {
            let mut command = lab.box_command("inserted=true controller=none", None);
            command.stderr(std::process::Stdio::piped());
            process::tie(&mut command, Some(lab.middle.as_fd())).spawn().expect("spawned")
        };
        let mut both = [begin(), begin()];
        let begun = Instant::now();
        let ended = loop {
            if let Some(ended) = both.iter_mut().position(|one| one.try_wait().expect("a child").is_some()) {
                break ended;
            }
            assert!(begun.elapsed() < LIMIT, "both run");
            thread::sleep(Duration::from_millis(5));
        };
        let [mut refused, mut other] = both;
        if ended == 1 {
            std::mem::swap(&mut refused, &mut other);
        }
        let said = refused.wait_with_output().expect("it has ended");
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains(&format!("another box, process {}, works on w", other.id())), "{said}");
        let mut running = lab.of_child(other);
        running.until_it_answers();
        let arrivals = cross(&lab);
        assert!(arrivals.sent >= FEW && arrivals.doubled + arrivals.lost == 0, "{arrivals:?}");
        running.client().shutdown().expect("ends");
        running.child.wait().expect("a child");
    }
}

/// The MTU of everything between the hosts, in an order in which no part has to carry more than the next.
fn set_mtu(lab: &Lab, mtu: u32) {
    for (ns, port) in [(&lab.middle, "wl0"), (&lab.middle, "wi0"), (&lab.source, "s0"), (&lab.sink, "k0")] {
        ip(ns, &format!("link set {port} mtu {mtu}"));
    }
}

#[test]
fn a_raised_mtu_is_taken_up_while_the_box_runs() {
    let Some(lab) = Lab::new() else { return };
    let mut running = lab.start_box("waits=true inserted=true controller=none");
    crate::traffic::largest_cross(&lab, 1514);
    // Under an XDP program a virtual cable takes no frame longer than a page.
    let mtu = if crate::IO == "af-packet" { 9000 } else { 3000 };
    set_mtu(&lab, mtu);
    until_carried_by_the_box(&lab, &mut running);
    crate::traffic::largest_cross(&lab, mtu as usize + 14);
    let packets = running.client().shutdown().expect("ends").packets;
    assert!(packets.conserved && packets.losses[LossReason::TooLong] == 0 && packets.taken > 3, "{packets:?}");
}

#[test]
fn a_box_that_cannot_take_up_a_raised_mtu_says_what_to_do() {
    let Some(lab) = Lab::new() else { return };
    let (file, history, socket) = (lab.file("box.toml"), lab.file("history"), lab.file("box.sock"));
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nio = \"af-packet\"\n[radio]\nstandard = \"802.11g\"\n[control]\nsocket = {:?}\n\
         [history]\npath = {:?}\ninterval = \"1 s\"\nlimit = \"1 MB\"\n",
        socket.display(),
        history.display()
    );
    // Without a bridge, where no other check would notice it.
    std::fs::write(&file, text).expect("writable");
    let running = lab.start_box(&format!("file={}", file.display()));
    set_mtu(&lab, 9000);
    let events = || -> Vec<_> {
        let records = Reader::open(&history).into_iter().flatten();
        let event = |record| match record {
            Ok(Record::Event(record)) if record.event.name() == "ports" => Some(record.event.text()),
            _ => None,
        };
        records.filter_map(event).collect()
    };
    let begin = Instant::now();
    while events().is_empty() {
        assert!(begin.elapsed() < LIMIT, "it says nothing");
        thread::sleep(Duration::from_millis(50));
    }
    running.client().shutdown().expect("ends");
    let events = events();
    assert!(
        events.len() == 1 && events[0].contains("from 1500 to 9000: ") && events[0].contains("start it again"),
        "{events:?}"
    );
}

#[test]
fn a_box_in_a_time_namespace_is_refused() {
    let Some(lab) = Lab::new() else { return };
    let mut command = lab.box_command("inserted=true", Some(&["unshare", "--time", "--monotonic", "1000"]));
    let output = process::tie(&mut command, Some(lab.middle.as_fd())).output();
    let said = match output {
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => return eprintln!("skipped: unshare(1): {error}"),
    };
    if said.contains("unshare:") {
        return eprintln!("skipped: {said}");
    }
    assert!(said.contains("shifted by 1000.000000000 s"), "{said}");
}

#[test]
fn a_hangup_reloads_the_configuration_and_a_bad_one_changes_nothing() {
    let Some(lab) = Lab::new() else { return };
    let file = lab.file("box.toml");
    let write = |rate: &str| {
        let text = format!(
            "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\n[radio]\nstandard = \"802.11g\"\n\
             [control]\nsocket = {:?}\n\
             [[station]]\nmac = \"02:00:00:00:00:01\"\nrate = \"{rate}\"\n",
            lab.file("box.sock")
        );
        std::fs::write(&file, text).expect("writable");
    };
    write("54 Mb/s");
    let log = lab.file("log");
    let writer = std::fs::File::create(&log).expect("writable");
    let mut command = lab.box_command(&format!("file={}", file.display()), None);
    let child = process::tie(command.stderr(writer), Some(lab.middle.as_fd())).spawn().expect("spawned");
    let mut running = lab.of_child(child);
    running.until_it_answers();
    let mut client = running.client();
    let rate = |status: &Status| status.stations[0].rate_mbps;
    let hang_up = || process::signal(running.child.id(), libc::SIGHUP).expect("it lives");
    write("24 Mb/s");
    hang_up();
    until(&mut client, |status| rate(status) == Some(24.0));
    write("13 Mb/s");
    hang_up();
    let begin = Instant::now();
    while !std::fs::read_to_string(&log).expect("a log").contains("the old configuration stays: ") {
        assert!(begin.elapsed() < LIMIT, "{}", std::fs::read_to_string(&log).expect("a log"));
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(rate(&client.status().expect("it lives")), Some(24.0));
}
