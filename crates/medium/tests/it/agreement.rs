//! Agreement of both engines: the same run if all nodes hear each other.

use evenair_medium::{
    AccessCategory, AfterCollision, Antenna, BacklogChain, Capture, Counters, Event, Interference, Limit, Medium,
    MediumConfig, Mpdu, NodeConfig, NodeId, Reception, To, Totals,
};
use evenair_units::{Bytes, Db, Instant, Span, Streams};
use evenair_wifi::{BitErrorRate, EdcaParameters, PathLoss, Position, Standard, power};
use proptest::prelude::*;

use crate::saturation::{assert_near, saturate_on};
use crate::{config, rate};

/// A frame: time since the last one, sender, receiver, size.
type Arrival = (u64, u32, u32, u64);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap_us = prop_oneof![3 => Just(0), 3 => 0..300u64, 1 => 0..20_000u64];
    prop::collection::vec((gap_us, 0..6u32, 1..6u32, 1..1_500u64), 0..150)
}

fn any_config() -> impl Strategy<Value = MediumConfig> {
    let after = prop_oneof![Just(AfterCollision::Eifs), Just(AfterCollision::Difs), Just(AfterCollision::DifsForAll)];
    let standard = prop_oneof![Just(Standard::Dot11b), Just(Standard::Dot11a), Just(Standard::Dot11g)];
    (after, standard, prop_oneof![Just(None), (0..1_500u64).prop_map(|bytes| Some(Bytes(bytes)))])
        .prop_map(|(after, standard, rts_threshold)| MediumConfig { rts_threshold, ..config(standard, after) })
}

fn run(medium: Medium<usize>, edca: u32, arrivals: &[Arrival]) -> (Vec<Event<usize>>, Totals, BacklogChain) {
    let step = |medium: &mut Medium<usize>, at| {
        medium.handle_timeout(at);
        events_of(medium)
    };
    run_by(medium, edca, arrivals, step)
}

fn events_of(medium: &mut Medium<usize>) -> Vec<Event<usize>> {
    std::iter::from_fn(|| medium.poll_event()).collect()
}

/// Runs a medium; `goes_on` handles the events at an instant, or more, and returns the outcomes of frames.
fn run_by(
    mut medium: Medium<usize>,
    edca: u32,
    arrivals: &[Arrival],
    goes_on: impl Fn(&mut Medium<usize>, Instant) -> Vec<Event<usize>>,
) -> (Vec<Event<usize>>, Totals, BacklogChain) {
    medium.count_backlog();
    let rates = medium.config().phy.standard().rates();
    // Between the frames of a TXOP the shared-channel engine considers the medium busy, the per-node engine follows the
    // NAV.
    let set = medium.config().phy.default_edca().map(|parameters| EdcaParameters { txop: Span::ZERO, ..parameters });
    for id in 0..6 {
        medium.add_node(match edca & (1 << id) {
            0 => NodeConfig::dcf(Limit::Unlimited),
            _ => NodeConfig::edca(Limit::Unlimited, set),
        });
    }
    let mut now = Instant::ZERO;
    for (frame, &(gap_us, from, offset, msdu)) in arrivals.iter().enumerate() {
        now += Span::from_micros(gap_us);
        let to = To::Node(NodeId((from + offset) % 6));
        let rate = rates[msdu as usize % rates.len()];
        // One category for each node: while a node awaits a response that will not come, the shared-channel engine
        // considers the medium idle for the node's other categories.
        let mpdu = Mpdu { to, msdu: Bytes(msdu), rate, category: AccessCategory::ALL[from as usize % 4], frame };
        medium.handle_frame(now, NodeId(from), mpdu);
    }
    let mut events = events_of(&mut medium);
    while let Some(at) = medium.poll_deadline() {
        events.extend(goes_on(&mut medium, at));
    }
    // A dropped frame is reported when the medium falls silent by the shared-channel engine, at the timeout by the
    // per-node engine.
    events.retain(|event| matches!(event, Event::Delivered { .. }));
    (events, medium.totals(Instant::ZERO), medium.take_backlog_chain().expect("it is counted"))
}

proptest! {
    /// `advance` up to the next outcome of a frame, or for a while, whichever comes first.
    #[test]
    fn advance_equals_stepping_from_deadline_to_deadline(
        config in any_config(), (seed, hides) in any::<(u64, bool)>(), edca in 0..64u32, arrivals in arrivals(),
        stride_us in 0..3_000u64
    ) {
        let streams = Streams::new(seed);
        let new = || match hides {
            true => Medium::with_hidden_nodes(config.clone(), &streams),
            false => Medium::new(config.clone(), &streams),
        };
        let advance = |medium: &mut Medium<usize>, at: Instant| {
            let limit = at + Span::from_micros(stride_us);
            let reached = medium.advance(limit);
            let events = events_of(medium);
            // It stops at the first instant with an outcome, and has reported all of that instant.
            let instants = events.iter().map(|event| match *event {
                Event::Delivered { at, .. } | Event::Dropped { at, .. } => at,
            });
            instants.for_each(|at| assert_eq!(at, reached));
            assert!((at..=limit).contains(&reached));
            assert!(medium.deadline() > if events.is_empty() { limit } else { reached });
            events
        };
        prop_assert_eq!(run_by(new(), edca, &arrivals, advance), run(new(), edca, &arrivals));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_engines_give_the_same_run(config in any_config(), seed: u64, edca in 0..64u32, arrivals in arrivals()) {
        let streams = Streams::new(seed);
        let (one, of_one, backlog_of_one) = run(Medium::new(config.clone(), &streams), edca, &arrivals);
        let (each, of_each, backlog_of_each) = run(Medium::with_hidden_nodes(config, &streams), edca, &arrivals);
        prop_assert_eq!(one, each);
        prop_assert_eq!((of_one.transmissions, of_one.collisions), (of_each.transmissions, of_each.collisions));
        prop_assert_eq!(of_one.busy, of_each.busy);
        prop_assert_eq!(backlog_of_one, backlog_of_each);
    }
}

/// Five stations at 10, 20, ... m with bit errors, capture, and TXOPs of several frames: Mb/s and outcomes of attempts.
fn with_losses(new: fn(MediumConfig, &Streams) -> Medium<()>, rts: bool, edca: bool) -> [f64; 4] {
    let phy = config(Standard::Dot11g, AfterCollision::Eifs).phy;
    let capture = Capture { threshold: Db::from_milli(10_000), over: Interference::Sum };
    let reception = Reception {
        ber: BitErrorRate::new(1e-5).unwrap(),
        path_loss: Some(PathLoss::new(Standard::Dot11g, 3_000)),
        noise: true,
        capture: Some(capture),
        ..Reception::default()
    };
    let config = MediumConfig { reception, rts_threshold: rts.then_some(Bytes(0)), ..MediumConfig::new(phy.clone()) };
    let mut medium = new(config, &Streams::new(1));
    let node = |x: i64| {
        let position = Position { x_mm: x * 10_000, y_mm: 0 };
        let antenna = Some(Antenna { position, power: power::USUAL_POWER });
        let edca = edca.then(|| phy.default_edca());
        NodeConfig { antenna, edca, ..NodeConfig::dcf(Limit::Unlimited) }
    };
    let nodes: Vec<NodeId> = (0..=5).map(|x| medium.add_node(node(x))).collect();
    let mpdu = |from: NodeId| {
        let category = AccessCategory::ALL[from.0 as usize % 4];
        let rate = rate(Standard::Dot11g, 24);
        Mpdu { to: To::Node(nodes[0]), msdu: Bytes(1_000), rate, category, frame: () }
    };
    for &station in &nodes[1..] {
        (0..32).for_each(|_| medium.handle_frame(Instant::ZERO, station, mpdu(station)));
    }
    let seconds = 30;
    for ms in 1..=seconds * 1_000 {
        let now = Instant::ZERO + Span::from_millis(ms);
        medium.handle_timeout(now);
        while let Some(Event::Delivered { from, .. } | Event::Dropped { from, .. }) = medium.poll_event() {
            medium.handle_frame(now, from, mpdu(from));
        }
    }
    let of = |what: fn(&Counters) -> u64| nodes.iter().map(|&node| what(&medium.counters(node))).sum::<u64>() as f64;
    let attempts = of(|c| c.attempts);
    let parts = [of(|c| c.losses), of(|c| c.collisions), of(|c| c.duplicates)];
    let [losses, collisions, duplicates] = parts.map(|part| part / attempts);
    [of(|c| c.successes) * 8_000.0 / seconds as f64 / 1e6, losses, collisions, duplicates]
}

#[test]
fn both_engines_agree_on_errors_capture_and_txops() {
    for (rts, edca) in [(false, false), (true, false), (false, true), (true, true)] {
        let one = with_losses(Medium::new, rts, edca);
        let each = with_losses(Medium::with_hidden_nodes, rts, edca);
        assert_near("throughput", each[0], one[0], 0.01);
        // After a broken-off TXOP, bystanders whose NAV covers its next frame leave the medium to its sender.
        let within = if edca { 0.01 } else { 0.005 };
        for (each, one) in each.into_iter().zip(one).skip(1) {
            assert!((each - one).abs() < within, "{each} against {one}");
        }
    }
}

#[test]
fn exact_simulation_in_slots() {
    for (stations, mbps, p) in [(5, 29.674, 0.2647), (10, 28.068, 0.3674)] {
        let config =
            MediumConfig { short_retry_limit: u32::MAX, ..config(Standard::Dot11a, AfterCollision::DifsForAll) };
        let medium = Medium::with_hidden_nodes(config, &Streams::new(1));
        let ours = saturate_on(medium, Bytes(1_500), &vec![rate(Standard::Dot11a, 54); stations], 300);
        assert_near("throughput", ours.mbps(1_500), mbps, 0.003);
        assert!((ours.p - p).abs() < 0.001, "collision probability {} against {p}", ours.p);
    }
}

#[test]
fn ns3_saturated_80211b() {
    // ns-3 3.44 with preamble detection, 1000-byte frame bodies at 11 Mb/s, long preamble.
    for (stations, mbps, p) in [(1, 5.138, 0.0), (5, 5.512, 0.1757), (10, 5.318, 0.2807)] {
        let medium = Medium::with_hidden_nodes(config(Standard::Dot11b, AfterCollision::Difs), &Streams::new(1));
        let ours = saturate_on(medium, Bytes(992), &vec![rate(Standard::Dot11b, 11); stations], 300);
        assert_near("throughput", ours.mbps(1_000), mbps, 0.005);
        assert!((ours.p - p).abs() < 0.005, "collision probability {} against {p}", ours.p);
    }
}
