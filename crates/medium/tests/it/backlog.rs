//! The backlog chain of TCP-like traffic: each frame that the access point delivers makes a station send a reply.

use evenair_medium::{AccessCategory, AfterCollision, Event, Medium, Mpdu, NodeId, To};
use evenair_units::{Bytes, Instant, Streams};
use evenair_wifi::Standard;

use crate::{config, rate, unlimited};

/// Share of the time in each state.
fn states(stations: u32, frames: u32) -> Vec<f64> {
    let mut medium = Medium::new(config(Standard::Dot11b, AfterCollision::Eifs), &Streams::new(1));
    medium.count_backlog();
    let nodes: Vec<NodeId> = (0..=stations).map(|_| medium.add_node(unlimited())).collect();
    let mut which = Streams::new(1).stream("station");
    let mut next = |medium: &mut Medium<()>, now| {
        let station = nodes[1 + which.below(u64::from(stations)) as usize];
        send(medium, now, nodes[0], station, 1_500);
    };
    (0..10).for_each(|_| next(&mut medium, Instant::ZERO));
    let mut left = frames;
    while left > 0 {
        let at = medium.poll_deadline().expect("someone always sends");
        medium.handle_timeout(at);
        while let Some(Event::Delivered { at, from, to, .. } | Event::Dropped { at, from, to, .. }) =
            medium.poll_event()
        {
            left = left.saturating_sub(1);
            match to {
                To::Node(station) if from == nodes[0] => {
                    send(&mut medium, at, station, nodes[0], 40);
                    next(&mut medium, at);
                }
                _ => {}
            }
        }
    }
    let chain = medium.take_backlog_chain().expect("it is counted");
    let total: u64 = chain.states().map(|(_, times)| times).sum();
    let mut states = vec![0.0; stations as usize + 2];
    chain.states().for_each(|(state, times)| states[state as usize] = times as f64 / total as f64);
    states
}

fn send(medium: &mut Medium<()>, now: Instant, from: NodeId, to: NodeId, msdu: u64) {
    let (rate, category) = (rate(Standard::Dot11b, 11), AccessCategory::BestEffort);
    medium.handle_frame(now, from, Mpdu { to: To::Node(to), msdu: Bytes(msdu), rate, category, frame: () });
}

#[test]
fn tcp_keeps_two_or_three_nodes_backlogged_however_many_there_are() {
    // With k stations backlogged besides the access point and each equally likely to send next, a station joins
    // with probability 1/(k + 1) and leaves with k/(k + 1): the states' weights are (k + 1)/k!, their mean 3/2. (In
    // DCF the node that has waited longest is likelier to be next, which this leaves out.)
    let factorial = |k: u32| (1..=k).map(f64::from).product::<f64>();
    let weights: Vec<f64> = (0..12).map(|k| f64::from(k + 1) / factorial(k)).collect();
    let total: f64 = weights.iter().sum();
    for stations in [15, 100] {
        let states = states(stations, 100_000);
        for (k, weight) in weights.iter().enumerate() {
            let (ours, theirs) = (states[k + 1], weight / total);
            assert!((ours - theirs).abs() < 0.07, "{stations} stations, {k} backlogged: {ours} against {theirs}");
        }
        let mean: f64 = states.iter().enumerate().map(|(state, part)| state as f64 * part).sum();
        assert!((mean - 2.5).abs() < 0.3, "{stations} stations: {mean}");
        let rare: f64 = states[8..].iter().sum();
        assert!(rare < 1e-3, "published: 7 at most, {rare}");
    }
}
