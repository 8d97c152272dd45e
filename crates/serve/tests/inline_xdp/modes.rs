//! The modes of AF_XDP, and the behaviour without it.

use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use evenair_api::Status;
use evenair_api::causes::LossReason;
use evenair_sys::{iface, process};

use crate::lab::{Lab, ip};
use crate::switching::{Late, assert_untouched, most_gap, under_traffic};
use crate::traffic::{largest_cross, transfer};

fn ways(status: &Status) -> [&str; 2] {
    [&status.wlan, &status.wire].map(|port| port.io.as_str())
}

/// Asserts that TCP crosses both ways, and that all packets are accounted for.
fn carries_tcp(lab: &Lab, parameters: &str) -> Status {
    let running = lab.start_box(&format!("controller=published inserted=true {parameters}"));
    transfer(&lab.source, &lab.sink, "10.9.0.2:5301", 1 << 20);
    transfer(&lab.sink, &lab.source, "10.9.0.1:5302", 1 << 20);
    transfer(&lab.source, &lab.middle, "10.9.0.254:22", 100_000);
    let status = running.client().shutdown().expect("ends");
    assert!(status.packets.conserved && status.packets.taken > 1000, "{:?}", status.packets);
    assert_eq!(
        (
            status.packets.losses[LossReason::TooLong],
            status.packets.losses[LossReason::RingFull],
            status.packets.losses[LossReason::PoolFull]
        ),
        (0, 0, 0)
    );
    status
}

#[test]
fn a_virtual_cable_has_it_in_its_driver() {
    let Some(lab) = Lab::new() else { return };
    let status = carries_tcp(&lab, "");
    assert_eq!(ways(&status), ["af-xdp, native, copied"; 2]);
    assert_eq!((&status.wlan.io_why, &status.wire.io_why), (&None, &None));
}

#[test]
fn the_general_path_does_as_well() {
    let Some(lab) = Lab::new() else { return };
    let status = carries_tcp(&lab, "io=af-xdp-generic");
    assert_eq!(ways(&status), ["af-xdp, generic, copied"; 2]);
    let mut running = lab.start_box("inserted=true controller=none io=af-xdp-generic");
    let arrivals = under_traffic(&lab, 5_000, || {
        for _ in 0..10 {
            running.client().bypass().expect("bypassed");
            thread::sleep(Duration::from_millis(15));
            running.client().insert().expect("inserted");
            thread::sleep(Duration::from_millis(25));
        }
    });
    assert_untouched(&arrivals, Late::of(&running.client().status().expect("answers")));
    let arrivals = under_traffic(&lab, 5_000, || {
        running.child.kill().expect("it lives");
        running.child.wait().expect("it was a child");
    });
    println!("kill -9, generic: {arrivals:?}");
    for direction in &arrivals {
        assert_eq!((direction.doubled, direction.reordered), (0, 0), "{direction:?}");
        assert!(direction.longest_gap < most_gap(direction), "{direction:?}");
    }
}

#[test]
fn each_receive_queue_has_a_socket() {
    let Some(lab) = Lab::with_queues(2) else { return };
    assert_eq!(lab.middle.run(|| iface::receive_queues("wl0")).expect("entered"), Ok(2));
    let running = lab.start_box("controller=published");
    let mut client = running.client();
    // By their ports, connections arrive in either queue.
    thread::scope(|scope| {
        for port in 5310..5318 {
            let (source, sink) = (&lab.source, &lab.sink);
            scope.spawn(move || transfer(sink, source, &format!("10.9.0.1:{port}"), 1 << 20));
        }
        for _ in 0..10 {
            client.insert().expect("inserted");
            thread::sleep(Duration::from_millis(200));
            client.bypass().expect("bypassed");
            thread::sleep(Duration::from_millis(5));
        }
    });
    let status = client.shutdown().expect("ends");
    assert_eq!(ways(&status), ["af-xdp, native, copied"; 2]);
    assert!(status.packets.conserved && status.packets.taken > 1000, "{:?}", status.packets);
    assert_eq!(
        (
            status.packets.losses[LossReason::RingFull],
            status.packets.losses[LossReason::PoolFull],
            status.packets.losses[LossReason::SendRefused]
        ),
        (0, 0, 0)
    );
}

#[test]
fn where_it_cannot_be_had_the_rings_do_it_and_the_status_says_why() {
    let Some(lab) = Lab::new() else { return };
    for (ns, port) in [(&lab.source, "s0"), (&lab.sink, "k0"), (&lab.middle, "wl0"), (&lab.middle, "wi0")] {
        ip(ns, &format!("link set {port} mtu 9000"));
    }
    let running = lab.start_box("inserted=true controller=none");
    largest_cross(&lab, 9014);
    let status = running.client().status().expect("answers");
    assert_eq!(ways(&status), ["af-packet"; 2]);
    assert!(status.wlan.io_why.is_some_and(|why| why.contains("frames of 9022 bytes")), "{:?}", status.wire);
}

#[test]
fn frames_of_a_page_cross() {
    let Some(lab) = Lab::new() else { return };
    for (ns, port) in [(&lab.source, "s0"), (&lab.sink, "k0"), (&lab.middle, "wl0"), (&lab.middle, "wi0")] {
        ip(ns, &format!("link set {port} mtu 3400"));
    }
    let running = lab.start_box("inserted=true controller=none");
    largest_cross(&lab, 3414);
    let status = running.client().status().expect("answers");
    assert_eq!(ways(&status), ["af-xdp, native, copied"; 2]);
    assert_eq!((status.packets.losses[LossReason::TooLong], status.packets.losses[LossReason::RingFull]), (0, 0));
}

#[test]
fn a_stopped_box_leaves_nothing_to_be_sent_twice() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("inserted=true controller=none");
    for _ in 0..3 {
        let before = Late::of(&running.client().status().expect("answers"));
        let arrivals = under_traffic(&lab, 5_000, || {
            process::signal(running.child.id(), libc::SIGSTOP).expect("it lives");
            thread::sleep(Duration::from_millis(120));
            process::signal(running.child.id(), libc::SIGCONT).expect("it lives");
            thread::sleep(Duration::from_millis(50));
        });
        let status = running.client().status().expect("it goes on");
        let stale = Late::of(&status).stale - before.stale;
        assert!(status.packets.conserved, "{:?}", status.packets);
        assert_eq!(arrivals.iter().map(|direction| direction.lost).sum::<u64>(), stale);
        for direction in &arrivals {
            assert_eq!((direction.doubled, direction.reordered), (0, 0), "{direction:?}");
        }
    }
}

#[test]
fn offloads_that_a_killed_box_left_off_are_on_again_after_the_next_start() {
    let Some(lab) = Lab::new() else { return };
    let directory = lab.file("runtime");
    std::fs::create_dir(&directory).expect("made");
    let directory = directory.display().to_string();
    let variables = [("RUNTIME_DIRECTORY", directory.as_str())];
    let switch = |on| lab.middle.run(|| iface::set_receive_merging("wl0", on)).expect("entered").expect("root");
    switch(true);
    let mut killed = lab.start_box_with("io=af-xdp-generic", &variables);
    assert!(!switch(false), "it is off as long as the box runs");
    killed.child.kill().expect("it lives");
    killed.child.wait().expect("a child");
    // The next box leaves it on, since it uses packet rings.
    let mut next = lab.start_box_with("io=af-packet", &variables);
    assert!(switch(true), "it is on again");
    next.client().shutdown().expect("ends");
    assert!(next.child.wait().expect("a child").success());
    let mut last = lab.start_box_with("io=af-xdp-generic", &variables);
    last.client().shutdown().expect("ends");
    assert!(last.child.wait().expect("a child").success());
    assert!(switch(true), "an orderly end restores it, too");
}

/// The choice of a box with automatic packet I/O: that of both ports, and the reason.
fn chosen(lab: &Lab, by: Option<&[&str]>) -> (String, String) {
    let mut command = lab.box_command("inserted=true io=auto", by);
    let mut running = lab.of_child(process::tie(&mut command, Some(lab.middle.as_fd())).spawn().expect("spawned"));
    running.until_it_answers();
    let status = running.client().shutdown().expect("ends");
    running.child.wait().expect("a child");
    assert_eq!((&status.wlan.io, &status.wlan.io_why), (&status.wire.io, &status.wire.io_why));
    (status.wlan.io, status.wlan.io_why.expect("it says why"))
}

#[test]
fn what_is_left_to_the_box_is_af_xdp_only_where_nothing_speaks_against_it() {
    let Some(lab) = Lab::new() else { return };
    let (io, why) = chosen(&lab, None);
    assert_eq!(io, "af-xdp, native, copied", "{why}");
    assert!(why.starts_with("auto: both drivers"), "{why}");
    let rings = |because: &str, by: Option<&[&str]>| {
        let (io, why) = chosen(&lab, by);
        assert!(io == "af-packet" && why.starts_with("auto: ") && why.contains(because), "{because}: {io}: {why}");
    };
    // Without the capability to lock memory, and with too low a limit.
    let limited = ["setpriv", "--bounding-set=-ipc_lock", "--", "prlimit", "--memlock=65536"];
    rings("MiB of locked memory", Some(&limited));
    ip(&lab.sink, "link set k0 gso_max_segs 65535");
    rings("wi0: its other end may send super-packets", None);
    ip(&lab.sink, "link set k0 gso_max_segs 1");
    for (ns, port) in [(&lab.source, "s0"), (&lab.sink, "k0"), (&lab.middle, "wl0"), (&lab.middle, "wi0")] {
        ip(ns, &format!("link set {port} mtu 3001"));
    }
    rings("MTU 3001", None);
}

#[test]
fn a_driver_without_it_leaves_the_rings() {
    let Some(lab) = Lab::new() else { return };
    // The cable to the sink uses a driver that runs no XDP programs.
    ip(&lab.middle, "link set wi0 nomaster");
    ip(&lab.middle, "link set wi0 down");
    ip(&lab.middle, "link set wi0 name cable0");
    ip(&lab.middle, "link set cable0 up");
    ip(&lab.middle, "link add link cable0 name wi0 type macvlan mode passthru");
    ip(&lab.middle, "link set wi0 master br0 up");
    let (io, why) = chosen(&lab, None);
    assert!(io == "af-packet" && why.contains("XDP"), "{io}: {why}");
    // If configured, AF_XDP is used in generic mode.
    let status = lab.start_box("io=af-xdp").client().shutdown().expect("ends");
    assert_eq!(ways(&status), ["af-xdp, native, copied", "af-xdp, generic, copied"]);
}
