//! EDCA against closed forms and against a slot-by-slot simulation that follows the wording of the standard.

use std::collections::BTreeMap;

use evenair_medium::{
    AccessCategory, AfterCollision, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To,
};
use evenair_units::{Bytes, Instant, Rng, Span, Streams};
use evenair_wifi::{EdcaParameters, EdcaSet, Phy, Standard};
use proptest::prelude::*;

use crate::saturation::assert_near;
use crate::{config, rate, unlimited};

const MSDU: Bytes = Bytes(1_500);
const SLOT_US: u64 = 9;

fn without_txop(set: EdcaSet) -> EdcaSet {
    set.map(|parameters| EdcaParameters { txop: Span::ZERO, ..parameters })
}

/// Bianchi's assumptions: all resume together and no frame is dropped.
fn slotted() -> MediumConfig {
    MediumConfig { short_retry_limit: u32::MAX, ..config(Standard::Dot11a, AfterCollision::DifsForAll) }
}

/// Frames per second and collisions per attempt, for each EDCAF.
type Outcome = Vec<(f64, f64)>;

/// Runs nodes with these saturated categories for `seconds`.
fn saturate(config: MediumConfig, set: EdcaSet, nodes: &[&[AccessCategory]], seconds: u64) -> Outcome {
    let mut medium = Medium::new(config, &Streams::new(1));
    let receiver = medium.add_node(NodeConfig::edca(Limit::Unlimited, set));
    let frame = |category| {
        let rate = rate(Standard::Dot11a, 54);
        Mpdu { to: To::Node(receiver), msdu: MSDU, rate, category, frame: category }
    };
    let ids: Vec<NodeId> = nodes.iter().map(|_| medium.add_node(NodeConfig::edca(Limit::Unlimited, set))).collect();
    for (&id, categories) in ids.iter().zip(nodes) {
        for &category in *categories {
            (0..64).for_each(|_| medium.handle_frame(Instant::ZERO, id, frame(category)));
        }
    }
    for ms in 1..=seconds * 1_000 {
        let now = Instant::ZERO + Span::from_millis(ms);
        medium.handle_timeout(now);
        while let Some(event) = medium.poll_event() {
            let (Event::Delivered { from, frame: category, .. } | Event::Dropped { from, frame: category, .. }) = event;
            medium.handle_frame(now, from, frame(category));
        }
    }
    let functions = ids.iter().zip(nodes).flat_map(|(&id, own)| own.iter().map(move |&category| (id, category)));
    let outcome = functions.map(|(id, category)| {
        let counters = medium.counters_of(id, category);
        let failed = counters.collisions + counters.internal_collisions;
        let tried = counters.attempts + counters.internal_collisions;
        (counters.successes as f64 / seconds as f64, failed as f64 / tried as f64)
    });
    outcome.collect()
}

/// An EDCAF of the slot-by-slot simulation.
struct Counting {
    node: usize,
    category: AccessCategory,
    parameters: EdcaParameters,
    window: u32,
    counter: u64,
    successes: u64,
    tried: u64,
    failed: u64,
}

impl Counting {
    fn draw(&mut self, rng: &mut Rng) {
        self.counter = rng.below(u64::from(self.window) + 1);
    }

    fn fail(&mut self, rng: &mut Rng) {
        self.tried += 1;
        self.failed += 1;
        self.window = (2 * self.window + 1).min(self.parameters.cw_max);
        self.draw(rng);
    }
}

/// [`saturate`], slot by slot: at each boundary an EDCAF sends, or decrements, or collides within its node, or
/// does nothing (IEEE Std 802.11-2016, 10.22.2.4). Boundaries are one slot apart, from the end of AIFS on.
fn count_slots(set: EdcaSet, nodes: &[&[AccessCategory]], seconds: u64) -> Outcome {
    let phy = Phy::default_for(Standard::Dot11a);
    let rate = rate(Standard::Dot11a, 54);
    let data_us = phy.qos_data(MSDU, rate).as_micros();
    let exchange_us = data_us + (phy.sifs() + phy.ack(rate)).as_micros();
    let mut rng = Streams::new(7).stream("slots");
    let mut all: Vec<Counting> = Vec::new();
    for (node, categories) in nodes.iter().enumerate() {
        for &category in *categories {
            let parameters = set[category.index()];
            let window = parameters.cw_min;
            let mut function =
                Counting { node, category, parameters, window, counter: 0, successes: 0, tried: 0, failed: 0 };
            function.draw(&mut rng);
            all.push(function);
        }
    }
    let (mut now_us, end_us) = (0, seconds * 1_000_000);
    while now_us < end_us {
        // The medium has just fallen silent.
        for slots_after_sifs in 0.. {
            let at_boundary = |f: &Counting| slots_after_sifs >= u64::from(f.parameters.aifsn);
            let ready = |f: &Counting| at_boundary(f) && f.counter == 0;
            let outranked =
                |i: usize| all.iter().any(|f| f.node == all[i].node && f.category > all[i].category && ready(f));
            let due: Vec<usize> = (0..all.len()).filter(|&i| ready(&all[i])).collect();
            let (losers, senders): (Vec<usize>, Vec<usize>) = due.iter().partition(|&&i| outranked(i));
            for function in all.iter_mut().filter(|f| at_boundary(f)) {
                function.counter = function.counter.saturating_sub(1);
            }
            losers.iter().for_each(|&i| all[i].fail(&mut rng));
            match senders[..] {
                [] => continue,
                [one] => {
                    let function = &mut all[one];
                    function.tried += 1;
                    function.successes += 1;
                    function.window = function.parameters.cw_min;
                    function.draw(&mut rng);
                    now_us += exchange_us;
                }
                _ => {
                    senders.iter().for_each(|&i| all[i].fail(&mut rng));
                    now_us += data_us;
                }
            }
            now_us += phy.sifs().as_micros() + slots_after_sifs * SLOT_US;
            break;
        }
    }
    all.iter().map(|f| (f.successes as f64 / seconds as f64, f.failed as f64 / f.tried as f64)).collect()
}

/// Sums over EDCAFs of one kind: frames per second, and the mean share of collisions.
fn sum(outcome: &[(f64, f64)]) -> (f64, f64) {
    let frames: f64 = outcome.iter().map(|&(frames, _)| frames).sum();
    (frames, outcome.iter().map(|&(_, p)| p).sum::<f64>() / outcome.len() as f64)
}

#[track_caller]
fn assert_alike(ours: &[(f64, f64)], slots: &[(f64, f64)]) {
    let (ours, slots) = (sum(ours), sum(slots));
    assert_near("frames a second", ours.0, slots.0, 0.015);
    assert!((ours.1 - slots.1).abs() < 0.005, "collisions: {} against {}", ours.1, slots.1);
}

#[test]
fn two_categories_share_as_slots_counted_one_by_one_say() {
    use AccessCategory::{BestEffort, Video};
    let phy = Phy::default_for(Standard::Dot11a);
    // Different AIFS only, then different windows only, then the standard's parameters.
    let of = |aifsn, cw_min, cw_max| EdcaParameters { aifsn, cw_min, cw_max, txop: Span::ZERO };
    let usual = without_txop(phy.default_edca());
    let aifs = [of(7, 15, 1_023), of(4, 15, 1_023), of(2, 15, 1_023), of(2, 15, 1_023)];
    let windows = [of(2, 31, 1_023), of(2, 31, 1_023), of(2, 7, 1_023), of(2, 7, 1_023)];
    for set in [aifs, windows, usual] {
        let nodes: [&[AccessCategory]; 6] =
            [&[Video], &[Video], &[BestEffort], &[BestEffort], &[BestEffort], &[BestEffort]];
        let (ours, slots) = (saturate(slotted(), set, &nodes, 400), count_slots(set, &nodes, 400));
        assert_alike(&ours[..2], &slots[..2]);
        assert_alike(&ours[2..], &slots[2..]);
        assert!(sum(&ours[..2]).0 > sum(&ours[2..]).0, "video comes first: {ours:?}");
    }
}

#[test]
fn categories_of_one_node_collide_within_it() {
    let set = without_txop(Phy::default_for(Standard::Dot11a).default_edca());
    let nodes: [&[AccessCategory]; 2] = [&AccessCategory::ALL[1..], &AccessCategory::ALL[1..]];
    let (ours, slots) = (saturate(slotted(), set, &nodes, 800), count_slots(set, &nodes, 800));
    for category in 1..3 {
        assert_alike(&[ours[category], ours[category + 3]], &[slots[category], slots[category + 3]]);
    }
    // Best effort rarely sends, so its figure is small.
    let (ours, slots) = (ours[0].0 + ours[3].0, slots[0].0 + slots[3].0);
    assert!((ours - slots).abs() < 0.5, "{ours} {slots}");
}

#[test]
fn one_station_alone_fills_its_txops() {
    let phy = Phy::default_for(Standard::Dot11a);
    let rate = rate(Standard::Dot11a, 54);
    let exchange = phy.qos_data(MSDU, rate) + phy.sifs() + phy.ack(rate);
    for txop_us in [0, 200, 607, 608, 2_528, 4_096] {
        let txop = Span::from_micros(txop_us);
        let parameters = EdcaParameters { aifsn: 2, cw_min: 7, cw_max: 15, txop };
        let ours = saturate(slotted(), [parameters; 4], &[&[AccessCategory::Video]], 20);
        // As many as fit with SIFS between them, and at least one.
        let frames = ((txop + phy.sifs()) / (exchange + phy.sifs())).max(1);
        assert_eq!(txop_us == 608, frames == 2, "the limit is sharp where the test looks");
        let access = exchange * frames + phy.sifs() * (frames - 1);
        let cycle = parameters.aifs(&phy).as_secs_f64() + 3.5 * phy.slot().as_secs_f64() + access.as_secs_f64();
        assert_near("frames a second", ours[0].0, frames as f64 / cycle, 0.002);
    }
}

#[test]
fn a_frame_of_higher_priority_leaves_first() {
    let set = Phy::default_for(Standard::Dot11a).default_edca();
    let mut medium = Medium::new(config(Standard::Dot11a, AfterCollision::Eifs), &Streams::new(1));
    let from = medium.add_node(NodeConfig::edca(Limit::Packets(1), set));
    let to = medium.add_node(NodeConfig::edca(Limit::Packets(1), set));
    let rate = rate(Standard::Dot11a, 54);
    for category in AccessCategory::ALL {
        let frame = Mpdu { to: To::Node(to), msdu: MSDU, rate, category, frame: category };
        medium.handle_frame(Instant::ZERO, from, frame);
    }
    assert_eq!(medium.queue(from).packets, 4, "each category has a buffer of its own");
    let first = std::iter::from_fn(|| {
        medium.handle_timeout(medium.poll_deadline()?);
        Some(medium.poll_event())
    });
    let first = first.flatten().next();
    assert!(matches!(first, Some(Event::Delivered { frame: AccessCategory::Voice, .. })), "{first:?}");
    assert_eq!(medium.counters_of(from, AccessCategory::BestEffort).internal_collisions, 1);
    assert_eq!(medium.counters(from).internal_collisions, 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Nodes with EDCA beside nodes with DCF: each frame comes out once, in the order of its queue.
    #[test]
    fn no_frame_is_lost_without_a_trace(
        seed: u64,
        eifs: bool,
        frames in prop::collection::vec((0..6usize, 0..6usize, 0..4usize, 1..1_500u64, 0..2_000u64), 1..200),
        per_billion in 0..1_000_000_000u32,
    ) {
        let after = if eifs { AfterCollision::Eifs } else { AfterCollision::Difs };
        let config = config(Standard::Dot11a, after);
        let set = config.phy.default_edca();
        let mut medium = Medium::new(config, &Streams::new(seed));
        let edca = |buffer| NodeConfig::edca(buffer, set);
        let nodes = [unlimited(), edca(Limit::Unlimited), edca(Limit::Packets(3)), edca(Limit::Unlimited), unlimited(),
            edca(Limit::Unlimited)].map(|node| medium.add_node(node));
        medium.set_frame_error(nodes[1], nodes[3], per_billion);
        let mut now = Instant::ZERO;
        let mut events = vec![];
        for (number, &(from, to, category, msdu, pause_us)) in frames.iter().enumerate() {
            let rate = rate(Standard::Dot11a, if number % 3 == 0 { 6 } else { 54 });
            let category = AccessCategory::ALL[category];
            let mpdu = Mpdu { to: To::Node(nodes[to]), msdu: Bytes(msdu), rate, category, frame: (number, category) };
            medium.handle_frame(now, nodes[from], mpdu);
            now += Span::from_micros(pause_us);
            medium.handle_timeout(now);
            events.extend(std::iter::from_fn(|| medium.poll_event()));
            let held: usize = nodes.iter().map(|&node| medium.queue(node).packets).sum();
            prop_assert_eq!(events.len() + held, number + 1);
        }
        while let Some(at) = medium.poll_deadline() {
            now = at;
            medium.handle_timeout(at);
            events.extend(std::iter::from_fn(|| medium.poll_event()));
        }
        let totals = medium.totals(now);
        prop_assert_eq!(totals.busy + totals.contending + totals.idle, now - Instant::ZERO);
        prop_assert_eq!(medium.backlogged(), 0);
        let mut numbers = vec![];
        let mut last = BTreeMap::new();
        for event in &events {
            let (Event::Delivered { from, frame, .. } | Event::Dropped { from, frame, .. }) = *event;
            numbers.push(frame.0);
            if let Event::Delivered { .. } = event {
                let queue = (from, medium.has_edca(from).then_some(frame.1));
                let before = last.insert(queue, frame.0);
                prop_assert!(before < Some(frame.0), "{:?} overtook", frame);
            }
        }
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..frames.len()).collect::<Vec<_>>());
    }
}
