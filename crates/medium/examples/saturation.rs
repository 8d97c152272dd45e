//! Speed of the medium: saturated stations that send 1500-byte packets to one receiver at 54 Mb/s (802.11a).
//!
//! `cargo run --release -p evenair-medium --example saturation -- [stations] [simulated seconds]`

// A benchmark is a driver: it has a clock and arguments.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time;

use evenair_medium::{
    AccessCategory, AfterCollision, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To,
};
use evenair_units::{BitRate, Bytes, Instant, Span, Streams};
use evenair_wifi::{Phy, Standard};

const MSDU: Bytes = Bytes(1_500);
/// Frames queued at each station: more than it can send in one `STEP`.
const READY: u32 = 64;
const STEP: Span = Span::from_millis(10);

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse().expect("a number"));
    let stations: u32 = args.next().unwrap_or(10);
    let seconds = u64::from(args.next().unwrap_or(2_000));

    let mut medium = Medium::new(
        MediumConfig { after_collision: AfterCollision::Difs, ..MediumConfig::new(Phy::default_for(Standard::Dot11a)) },
        &Streams::new(1),
    );
    let receiver = medium.add_node(NodeConfig::dcf(Limit::Packets(1)));
    let rate = Standard::Dot11a.rate(BitRate::from_mbps(54)).expect("a rate of 802.11a");
    let frame = Mpdu { to: To::Node(receiver), msdu: MSDU, rate, category: AccessCategory::BestEffort, frame: () };
    let stations: Vec<NodeId> =
        (0..stations).map(|_| medium.add_node(NodeConfig::dcf(Limit::Packets(READY)))).collect();
    for &station in &stations {
        (0..READY).for_each(|_| medium.handle_frame(Instant::ZERO, station, frame.clone()));
    }

    let started = time::Instant::now();
    let end = Instant::ZERO + Span::from_secs(seconds);
    let mut now = Instant::ZERO;
    let mut delivered = 0u64;
    while now < end {
        now += STEP;
        medium.handle_timeout(now);
        while let Some(event) = medium.poll_event() {
            let (Event::Delivered { from, .. } | Event::Dropped { from, .. }) = event;
            delivered += u64::from(matches!(event, Event::Delivered { .. }));
            medium.handle_frame(now, from, frame.clone());
        }
    }
    let took = started.elapsed().as_secs_f64();

    let counters = || stations.iter().map(|&station| medium.counters(station));
    let attempts: u64 = counters().map(|c| c.attempts).sum();
    let collisions: u64 = counters().map(|c| c.collisions).sum();
    println!("throughput             {:.3} Mb/s", (MSDU * delivered).bits() as f64 / seconds as f64 / 1e6);
    println!("collision probability  {:.4}", collisions as f64 / attempts as f64);
    println!("frames per second      {:.2} million", delivered as f64 / took / 1e6);
    println!("simulated time         {:.0} times real time", seconds as f64 / took);
}
