//! Between virtual ports with default settings: TCP comes in super-packets of up to 64 KB.

use std::os::fd::AsFd;
use std::process::Command;
use std::time::Duration;

use evenair_api::Status;
use evenair_api::causes::LossReason;
use evenair_sys::netns::Netns;
use evenair_sys::process;

use crate::lab::{Lab, ip};
use crate::traffic::transfer;

/// Asserts that nothing was lost except what the manager dropped, and that super-packets came, where they can.
fn assert_whole(status: &Status) {
    let packets = &status.packets;
    if status.wlan.io.contains("native") {
        // A virtual cable cuts them if its other end has an XDP program.
        assert_eq!(status.wlan.super_packets, 0, "{status:?}");
    } else {
        assert!(status.wlan.super_packets > 100 && packets.more_segments > 1000, "{status:?}");
    }
    assert_eq!(
        (
            packets.losses[LossReason::TooLong],
            packets.losses[LossReason::SuperLost],
            packets.losses[LossReason::SendRefused]
        ),
        (0, 0, 0),
        "{status:?}"
    );
    assert!(packets.conserved, "{status:?}");
}

/// Restores the default of virtual cables: both hosts leave the cutting of long packets to the cable.
pub fn restore_offloads(lab: &Lab) {
    ip(&lab.source, "link set s0 gso_max_segs 65535");
    ip(&lab.sink, "link set k0 gso_max_segs 65535");
}

#[test]
fn super_packets_are_cut_and_joined_and_none_is_lost() {
    let Some(lab) = Lab::new() else { return };
    restore_offloads(&lab);
    let running = lab.start_box("inserted=true controller=none");
    let mut client = running.client();
    let up = transfer(&lab.source, &lab.sink, "10.9.0.2:5009", 16 << 20);
    let down = transfer(&lab.sink, &lab.source, "10.9.0.1:5010", 16 << 20);
    assert_whole(&client.status().expect("answers"));
    client.observe().expect("observing");
    let watched = transfer(&lab.source, &lab.sink, "10.9.0.2:5011", 4 << 20);
    client.bypass().expect("bypassed");
    let status = client.status().expect("answers");
    println!("up {up:.0}, down {down:.0}, observing {watched:.0} Mb/s: {:?}", status.packets);
    assert_whole(&status);
    // A transfer that loses every long packet gets some 0.3 Mb/s; `make measure NAME=offload` has a stricter bound.
    assert!(up > 300.0 && down > 300.0, "{up} and {down} Mb/s");
}

#[test]
fn super_packets_are_held_to_the_rate_by_their_segments() {
    let Some(lab) = Lab::new() else { return };
    restore_offloads(&lab);
    let running = lab.start_box("inserted=true controller=100");
    let up = transfer(&lab.source, &lab.sink, "10.9.0.2:5009", 24 << 20);
    let down = transfer(&lab.sink, &lab.source, "10.9.0.1:5010", 24 << 20);
    let status = running.client().status().expect("answers");
    println!("up {up:.0}, down {down:.0} Mb/s: {:?}", status.packets);
    assert_whole(&status);
    // The limit counts IP-level bits of data and ACKs; a window is sent before the limit takes effect.
    assert!((80.0..110.0).contains(&up) && (80.0..110.0).contains(&down), "{up} and {down} Mb/s");
}

/// A newcomer's trial: iperf3 between virtual ports with default settings.
#[test]
#[ignore = "a measurement: make measure NAME=offload"]
fn figures_of_default_offloads() {
    let Some(lab) = Lab::new() else { return };
    restore_offloads(&lab);
    let mut missed = 0;
    for (what, parameters, watch, bound) in [
        ("bypassed", "", false, 3_000.0..f64::INFINITY),
        ("observing", "", true, 3_000.0..f64::INFINITY),
        ("inserted, no limit", "inserted=true controller=none", false, 1_000.0..f64::INFINITY),
        // At IP level, with the ACKs, of which a receiver that merges segments sends few.
        ("inserted, limited to 100 Mb/s", "inserted=true controller=100", false, 90.0..105.0),
    ] {
        let running = lab.start_box(parameters);
        if watch {
            running.client().observe().expect("observing");
        }
        for (way, [client, server], address) in
            [("up", [&lab.source, &lab.sink], "10.9.0.2"), ("down", [&lab.sink, &lab.source], "10.9.0.1")]
        {
            let mbps = iperf(client, server, address);
            let good = bound.contains(&mbps);
            missed += u32::from(!good);
            let verdict = if good { "ok    " } else { "MISSED" };
            println!("{verdict}  {}: {what}, {way}: {mbps:.0} Mb/s of TCP payload (bound: {bound:?})", crate::IO);
        }
        assert!(running.client().status().expect("answers").packets.conserved);
    }
    assert_eq!(missed, 0, "figures beyond their bounds");
}

/// Throughput received according to iperf3, in Mb/s.
fn iperf(client: &Netns, server: &Netns, address: &str) -> f64 {
    let start = |ns: &Netns, arguments: &[&str]| {
        let mut command = Command::new("iperf3");
        command.args(arguments);
        process::tie(&mut command, Some(ns.as_fd()))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("iperf3 is installed")
    };
    let mut sink = start(server, &["-s", "-1", "-B", address]);
    std::thread::sleep(Duration::from_millis(300));
    let output = start(client, &["-c", address, "-t", "4", "-O", "1", "-J"]).wait_with_output().expect("ends");
    sink.wait().expect("ends");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    said["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate") / 1e6
}
