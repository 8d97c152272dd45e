//! Speed of the medium with aggregation, on one core: saturated stations that send 1500-byte packets to one receiver, and an
//! access point that sends them to stations.
//!
//! `cargo run --release -p evenair-medium --example aggregates -- [simulated seconds]`

// A benchmark is a driver: it has a clock and arguments.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time;

use evenair_medium::{
    AccessCategory, AfterCollision, Aggregation, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To,
};
use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_wifi::{EdcaProfile, Format, GuardInterval, Phy, PhyMode, PhyRate, Standard, Width};

const MSDU: Bytes = Bytes(1_500);
/// Packets queued for each receiver.
const READY: u32 = 600;

/// A configuration to measure.
struct Case {
    name: &'static str,
    mode: PhyMode,
    stations: usize,
    down: bool,
    /// Probability that an MPDU is lost, per 10^9.
    loss: u32,
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(100, |arg| arg.parse().expect("a number of seconds"));
    let mode = |format, mcs, streams, width| {
        PhyMode::new(format, mcs, streams, width, GuardInterval::Ns800).expect("a mode of the standard")
    };
    let (he, vht) = (mode(Format::He, 7, 1, Width::Mhz20), mode(Format::Vht, 8, 2, Width::Mhz80));
    for case in [
        Case { name: "HE MCS 7, 20 MHz, 10 stations up", mode: he, stations: 10, down: false, loss: 0 },
        Case { name: "VHT MCS 8 x2, 80 MHz, 5 stations up", mode: vht, stations: 5, down: false, loss: 0 },
        Case { name: "VHT MCS 8 x2, 80 MHz, 5 stations down", mode: vht, stations: 5, down: true, loss: 0 },
        Case { name: "the same, 10 % of MPDUs lost", mode: vht, stations: 5, down: true, loss: 100_000_000 },
    ] {
        run(&case, seconds);
    }
}

fn run(case: &Case, seconds: u64) {
    let phy = Phy::default_for(Standard::Dot11ax);
    let (edca, _) = phy.edca_of(EdcaProfile::Ns3);
    let config = MediumConfig {
        after_collision: AfterCollision::Difs,
        aggregation: Some(Aggregation::new()),
        ..MediumConfig::new(phy)
    };
    let mut medium = Medium::new(config, &Streams::new(1));
    let mut add = || medium.add_node(NodeConfig::edca(Limit::Unlimited, edca));
    let ap = add();
    let stations: Vec<NodeId> = (0..case.stations).map(|_| add()).collect();
    let rate = PhyRate::from(case.mode);
    let send = |medium: &mut Medium<usize>, at, station: usize| {
        let (from, to) = if case.down { (ap, stations[station]) } else { (stations[station], ap) };
        let (to, category) = (To::Node(to), AccessCategory::BestEffort);
        medium.handle_frame(at, from, Mpdu { to, msdu: MSDU, rate, category, frame: station });
    };
    for (station, &id) in stations.iter().enumerate() {
        medium.set_frame_error(ap, id, case.loss);
        (0..READY).for_each(|_| send(&mut medium, Instant::ZERO, station));
    }
    let started = time::Instant::now();
    let end = Instant::ZERO + Span::from_secs(seconds);
    let mut delivered = 0u64;
    loop {
        let at = medium.advance(end);
        let before = delivered;
        while let Some(event) = medium.poll_event() {
            let (Event::Delivered { frame, .. } | Event::Dropped { frame, .. }) = event;
            delivered += 1;
            send(&mut medium, at, frame);
        }
        if delivered == before {
            break;
        }
    }
    let took = started.elapsed().as_secs_f64();
    println!(
        "{:38} {:7.1} Mb/s {:6.0} times real time {:5.0} ns for each packet",
        case.name,
        (MSDU * delivered).bits() as f64 / seconds as f64 / 1e6,
        seconds as f64 / took,
        took * 1e9 / delivered as f64
    );
}
