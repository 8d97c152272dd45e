//! Saturated sources and their goodput.

use evenair_medium::{AccessCategory, Event, Medium, MediumConfig, Mpdu, NodeId, To};
use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_wifi::PhyRate;

use crate::unlimited;

/// Result of saturated stations.
pub(crate) struct Saturation {
    /// Frames per second that each station delivered.
    pub(crate) frames_per_s: Vec<f64>,
    /// Share of accesses that collided.
    pub(crate) p: f64,
}

impl Saturation {
    /// Total Mb/s of all stations, with `bytes` per frame.
    pub(crate) fn mbps(&self, bytes: u64) -> f64 {
        self.frames_per_s.iter().sum::<f64>() * Bytes(bytes).bits() as f64 / 1e6
    }
}

/// Runs one station for each of `rates`, which sends packets of `msdu` bytes to a common receiver for
/// `seconds`.
pub(crate) fn saturate(config: MediumConfig, seed: u64, msdu: Bytes, rates: &[PhyRate], seconds: u64) -> Saturation {
    saturate_on(Medium::new(config, &Streams::new(seed)), msdu, rates, seconds)
}

/// [`saturate`] on a given medium without nodes.
pub(crate) fn saturate_on(medium: Medium<()>, msdu: Bytes, rates: &[PhyRate], seconds: u64) -> Saturation {
    saturate_where(medium, msdu, rates, seconds, &[])
}

/// [`saturate_on`] with pairs of nodes hidden from each other. The receiver is node 0.
pub(crate) fn saturate_where(
    mut medium: Medium<()>,
    msdu: Bytes,
    rates: &[PhyRate],
    seconds: u64,
    hidden: &[(u32, u32)],
) -> Saturation {
    let receiver = medium.add_node(unlimited());
    let stations: Vec<NodeId> = rates.iter().map(|_| medium.add_node(unlimited())).collect();
    hidden.iter().for_each(|&(a, b)| medium.hide(NodeId(a), NodeId(b)));
    let frame = |rate| Mpdu { to: To::Node(receiver), msdu, rate, category: AccessCategory::BestEffort, frame: () };
    for (&station, &rate) in stations.iter().zip(rates) {
        // More than can be sent in a millisecond: the queues are refilled once a millisecond.
        (0..16).for_each(|_| medium.handle_frame(Instant::ZERO, station, frame(rate)));
    }
    for ms in 1..=seconds * 1_000 {
        let now = Instant::ZERO + Span::from_millis(ms);
        medium.handle_timeout(now);
        while let Some(Event::Delivered { from, .. } | Event::Dropped { from, .. }) = medium.poll_event() {
            medium.handle_frame(now, from, frame(rates[from.0 as usize - 1]));
        }
    }
    let counters: Vec<_> = stations.iter().map(|&station| medium.counters(station)).collect();
    let collisions: u64 = counters.iter().map(|c| c.collisions).sum();
    let attempts: u64 = counters.iter().map(|c| c.attempts).sum();
    Saturation {
        frames_per_s: counters.iter().map(|c| c.successes as f64 / seconds as f64).collect(),
        p: collisions as f64 / attempts as f64,
    }
}

#[track_caller]
pub(crate) fn assert_near(what: &str, ours: f64, oracle: f64, within: f64) {
    let error = ours / oracle - 1.0;
    assert!(error.abs() <= within, "{what}: {ours:.4} against {oracle:.4}, {:+.3} %", error * 100.0);
}
