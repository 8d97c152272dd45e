//! The kernel's TCP through a box that changes its receivers' windows and ACKs.

use anyhow::ensure;
use evenair_results::RunResult;
use evenair_scenario::Scenario;

use crate::common;

const FILE: &str = include_str!("../../../../scenarios/box/b05-many-connections.toml");
/// The short form: five stations, 20 long downloads and 5 uploads, 100 + 25 short transfers.
const SHORT: [(&str, &str); 8] = [
    ("duration", "12 s"),
    ("station.sta.count", "5"),
    ("radio.ap_buffer", "150 packets"),
    ("flows.short-down.count", "100"),
    ("flows.short-up.count", "25"),
    ("phase.all.to", "12 s"),
    ("phase.last.from", "8 s"),
    ("phase.last.to", "12 s"),
];

fn judge(result: &RunResult) -> anyhow::Result<()> {
    for (name, wanted) in [("short-down", 100), ("short-up", 25)] {
        let counts = result.transfers.counts.iter().filter(|count| count.app.starts_with(name));
        let sums =
            counts.fold((0, 0), |(started, complete), count| (started + count.started, complete + count.complete));
        ensure!(sums == (wanted, wanted), "{name}: {sums:?} started and complete, of {wanted}");
    }
    let last = result.phases.last().expect("a phase");
    let long: Vec<_> =
        last.flows.iter().filter(|flow| flow.app.starts_with("down") || flow.app.starts_with("up")).collect();
    ensure!(long.len() == 25, "{} long ones", long.len());
    for flow in long {
        ensure!(flow.goodput_mbps > 0.0, "{} came to nothing", flow.app);
    }
    // 25 connections of two segments each, and short transfers; without control the buffer would be full.
    let queue = result.phases[0].ap_queue_mean_packets;
    ensure!(queue < 100.0, "the windows are not lowered: {queue} packets in the access point");
    let counters = result.box_counters.as_ref().expect("the box tells");
    let dropped: u64 = counters.dropped.iter().map(|drop| drop.packets).sum();
    ensure!(counters.received == counters.released + dropped + counters.held, "{counters:?}");
    Ok(())
}

#[test]
fn lowered_windows_and_delayed_acks_break_no_connection() {
    let Some(_turn) = common::turn_with_box() else { return };
    for tcp in [
        &[("tcp.ecn", "true")][..],
        &[("tcp.window_scaling", "false")],
        &[("tcp.sack", "false"), ("tcp.timestamps", "false")],
        &[("tcp.window_scaling", "false"), ("tcp.sack", "false"), ("tcp.timestamps", "false")],
    ] {
        let sets = [&SHORT, tcp].concat();
        let scenario = Scenario::parse_with(FILE, "b05", &sets).unwrap_or_else(|error| panic!("{error}"));
        let result = common::judged(&scenario, judge);
        let phase = &result.phases[0];
        eprintln!("{tcp:?}: {:.2} Mb/s, {:.0} packets", phase.total_ip_mbps, phase.ap_queue_mean_packets);
    }
}
