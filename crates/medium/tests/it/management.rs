//! Beacons, stations that sleep, networks of others: what nodes do by themselves.

use std::collections::BTreeMap;

use evenair_medium::{
    AccessCategory, AfterCollision, Beacons, DropReason, Event, Limit, Medium, Mpdu, NodeConfig, NodeId, Obss,
    PowerSave, To,
};
use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_wifi::{Phy, Standard};

use crate::{config, rate, unlimited};

const INTERVAL: Span = Span::from_micros(102_400);
const AWAKE: Span = Span::from_millis(20);
const ENGINES: [fn(&Streams) -> Medium<u32>; 2] = [
    |streams| Medium::new(config(Standard::Dot11g, AfterCollision::Eifs), streams),
    |streams| Medium::with_hidden_nodes(config(Standard::Dot11g, AfterCollision::Eifs), streams),
];

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn mpdu(to: To, frame: u32) -> Mpdu<u32> {
    let rate = rate(Standard::Dot11g, 54);
    Mpdu { to, msdu: Bytes(1_500), rate, category: AccessCategory::BestEffort, frame }
}

/// An access point with beacons, a station that sleeps, and one that does not.
fn cell(mut medium: Medium<u32>, node: NodeConfig, listen_interval: u32) -> (Medium<u32>, [NodeId; 3]) {
    let nodes = [(); 3].map(|()| medium.add_node(node));
    medium.send_beacons(nodes[0], Beacons { interval: INTERVAL, dtim_period: 2 });
    let how = PowerSave { listen_interval, stays_awake: AWAKE };
    medium.save_power(nodes[1], nodes[0], rate(Standard::Dot11g, 24), how);
    (medium, nodes)
}

/// Lets time pass, and takes what happened meanwhile.
fn until(medium: &mut Medium<u32>, now: Instant) -> Vec<Event<u32>> {
    medium.handle_timeout(now);
    std::iter::from_fn(|| medium.poll_event()).collect()
}

fn received(events: &[Event<u32>]) -> Vec<u32> {
    let of = |event: &Event<u32>| match *event {
        Event::Delivered { frame, .. } => Some(frame),
        Event::Dropped { .. } => None,
    };
    events.iter().filter_map(of).collect()
}

fn lost(events: &[Event<u32>]) -> Vec<(DropReason, u32)> {
    let of = |event: &Event<u32>| match *event {
        Event::Dropped { reason, frame, .. } => Some((reason, frame)),
        Event::Delivered { .. } => None,
    };
    events.iter().filter_map(of).collect()
}

/// Sends one packet each millisecond to the sleeper, which is asleep at first; when they were received, in milliseconds.
fn bursts(new: fn(&Streams) -> Medium<u32>, listen_interval: u32) -> Vec<u64> {
    let (mut medium, [ap, sleeper, _]) = cell(new(&Streams::new(1)), unlimited(), listen_interval);
    let mut times = vec![];
    let mut now = at_ms(1_000);
    assert_eq!(until(&mut medium, now), []);
    for frame in 0..5 {
        medium.handle_frame(now, ap, mpdu(To::Node(sleeper), frame));
        assert!(medium.queue(ap).packets + medium.kept(ap).packets > 0);
        // Far apart enough for it to fall asleep again.
        for _ in 0..700 {
            now += Span::from_millis(1);
            times.extend(until(&mut medium, now).iter().map(|_| (now - Instant::ZERO).as_micros() / 1_000));
        }
    }
    assert_eq!(medium.kept(ap).packets, 0);
    times
}

#[test]
fn packets_wait_for_the_beacon_at_which_their_station_wakes() {
    for new in ENGINES {
        for listen_interval in [1, 3] {
            let times = bursts(new, listen_interval);
            assert_eq!(times.len(), 5, "{times:?}");
            // The beacons to which they wait are whole listen intervals apart, but for a millisecond of contention.
            let period = INTERVAL * u64::from(listen_interval);
            for pair in times.windows(2) {
                let gap = Span::from_millis(pair[1] - pair[0]).as_nanos();
                let off = gap % period.as_nanos();
                let off = off.min(period.as_nanos() - off);
                assert!(off < 3_000_000, "{times:?}, every {period}");
            }
            let waits: Vec<_> = times.iter().zip(0..).map(|(at, frame)| at - (1_000 + 700 * frame)).collect();
            assert!(waits.iter().any(|&wait| wait > 20) && waits.iter().all(|&wait| wait <= 103 * 3), "{waits:?}");
        }
    }
}

#[test]
fn who_sends_is_awake_and_gets_all_in_order() {
    for new in ENGINES {
        let (mut medium, [ap, sleeper, _]) = cell(new(&Streams::new(1)), unlimited(), 100);
        until(&mut medium, at_ms(1_000));
        (0..4).for_each(|frame| medium.handle_frame(at_ms(1_000), ap, mpdu(To::Node(sleeper), frame)));
        assert_eq!(until(&mut medium, at_ms(1_050)), []);
        assert_eq!((medium.kept(ap).packets, medium.queue(ap).packets), (4, 0));
        medium.handle_frame(at_ms(1_050), sleeper, mpdu(To::Node(ap), 9));
        assert_eq!(received(&until(&mut medium, at_ms(1_060))), [9, 0, 1, 2, 3]);
        // While it is awake nothing is kept.
        medium.handle_frame(at_ms(1_065), ap, mpdu(To::Node(sleeper), 5));
        assert_eq!(received(&until(&mut medium, at_ms(1_067))), [5]);
    }
}

#[test]
fn groups_wait_while_a_station_sleeps() {
    for new in ENGINES {
        let (mut medium, [ap, sleeper, other]) = cell(new(&Streams::new(1)), unlimited(), 1);
        medium.handle_frame(at_ms(5), ap, mpdu(To::Broadcast, 0));
        assert_eq!(received(&until(&mut medium, at_ms(15))), [0], "all are awake at first");
        until(&mut medium, at_ms(1_000));
        let spent = medium.totals(at_ms(1_000)).overhead;
        assert!(spent.groups.0 > Span::from_millis(2) && spent.management.0 > Span::from_micros(1_200), "{spent:?}");
        (1..4).for_each(|frame| medium.handle_frame(at_ms(1_000), ap, mpdu(To::Broadcast, frame)));
        medium.handle_frame(at_ms(1_000), ap, mpdu(To::Node(other), 8));
        let events = until(&mut medium, at_ms(1_000) + INTERVAL * 2 + Span::from_millis(10));
        assert_eq!(received(&events), [8, 1, 2, 3]);
        let at = |wanted: u32| {
            let of = |event: &Event<u32>| match *event {
                Event::Delivered { at, frame, .. } if frame == wanted => Some(at),
                _ => None,
            };
            events.iter().find_map(of).unwrap()
        };
        // At 6 Mb/s one takes 2.1 ms, and they follow each other.
        assert!(at(3) - at(1) < Span::from_millis(6), "{:?}", at(3) - at(1));
        // One of the others leaves; then nobody sleeps, and nothing waits.
        medium.remove_node(at_ms(1_300), sleeper);
        medium.handle_frame(at_ms(1_300), ap, mpdu(To::Broadcast, 4));
        assert_eq!(received(&until(&mut medium, at_ms(1_310))), [4]);
    }
}

#[test]
fn what_is_kept_is_bounded_and_lost_with_its_station() {
    let (mut medium, [ap, sleeper, _]) = cell(ENGINES[0](&Streams::new(1)), NodeConfig::dcf(Limit::Packets(9)), 100);
    until(&mut medium, at_ms(1_000));
    (0..66).for_each(|frame| medium.handle_frame(at_ms(1_000), ap, mpdu(To::Node(sleeper), frame)));
    let full = |frame| (DropReason::BufferFull, frame);
    assert_eq!(lost(&until(&mut medium, at_ms(1_001))), [full(0), full(1)]);
    assert_eq!(medium.kept(ap).bytes, Bytes(64 * 1_500));
    medium.remove_node(at_ms(1_002), sleeper);
    let gone: Vec<_> = (2..66).map(|frame| (DropReason::Left, frame)).collect();
    assert_eq!(lost(&until(&mut medium, at_ms(1_003))), gone);
}

/// Packets at random to and from a station that sleeps and one that does not: each comes out once, and those of one way and
/// category in their order.
#[test]
fn nothing_is_lost_or_overtaken() {
    let phy = Phy::default_for(Standard::Dot11g);
    let edca = NodeConfig::edca(Limit::Unlimited, phy.default_edca());
    for (new, node) in ENGINES.into_iter().flat_map(|new| [unlimited(), edca].map(|node| (new, node))) {
        let streams = Streams::new(7);
        let (mut medium, [ap, sleeper, other]) = cell(new(&streams), node, 2);
        let mut rng = streams.stream("test");
        let (mut sent, mut now) = (BTreeMap::<_, Vec<u32>>::new(), Instant::ZERO);
        let mut events = vec![];
        for frame in 0..2_000 {
            let pause = if rng.below(4) == 0 { 60_000 } else { 1 };
            now += Span::from_micros(rng.below(pause));
            let station = if rng.below(2) == 0 { sleeper } else { other };
            let (from, to) = match rng.below(5) {
                0 => (station, To::Node(ap)),
                1 => (ap, To::Broadcast),
                _ => (ap, To::Node(station)),
            };
            let category = AccessCategory::ALL[rng.below(4) as usize];
            medium.handle_frame(now, from, Mpdu { category, ..mpdu(to, frame) });
            let lane = if node.edca.is_some() { category } else { AccessCategory::BestEffort };
            sent.entry((from, to, lane)).or_default().push(frame);
            events.extend(until(&mut medium, now));
        }
        events.extend(until(&mut medium, now + Span::from_secs(5)));
        assert_eq!(medium.kept(ap).packets + medium.queue(ap).packets, 0);
        let mut all: Vec<_> = events
            .iter()
            .map(|event| match *event {
                Event::Delivered { frame, .. } | Event::Dropped { frame, .. } => frame,
            })
            .collect();
        let order = received(&events);
        for ((_, to, _), sent) in &sent {
            // The oldest that are kept give way, and a broadcast may collide.
            let came: Vec<_> = order.iter().filter(|frame| sent.contains(frame)).copied().collect();
            assert!(came.is_sorted(), "{to:?} {came:?}");
            assert!(came.len() * 10 >= sent.len() * 8, "{to:?}: {} of {}", came.len(), sent.len());
        }
        all.sort_unstable();
        assert_eq!(all, (0..2_000).collect::<Vec<_>>());
    }
}

#[test]
fn a_network_of_others_takes_what_it_is_to_take_and_says_nothing() {
    for new in ENGINES {
        let mut medium = new(&Streams::new(1));
        let phy = Phy::default_for(Standard::Dot11g);
        let rate = rate(Standard::Dot11g, 12);
        let exchange = phy.exchange(Bytes(1_000), rate, false).0;
        let (start, stop) = (at_ms(1_000), at_ms(11_000));
        medium.add_obss(Obss { msdu: Bytes(1_000), rate, gap: exchange.mul_div(10, 3), start, stop });
        let share = |medium: &mut Medium<u32>, from: Instant, to: Instant| {
            assert_eq!(until(medium, from), []);
            let before = medium.totals(from).overhead.obss.0;
            assert_eq!(until(medium, to), []);
            let spent = medium.totals(to).overhead.obss.0 - before;
            spent.as_secs_f64() / (to - from).as_secs_f64()
        };
        assert_eq!(share(&mut medium, at_ms(0), start), 0.0);
        let part = share(&mut medium, start, stop);
        assert!((part - 0.30).abs() < 0.01, "{part}");
        assert_eq!(share(&mut medium, at_ms(11_010), at_ms(12_000)), 0.0);
        assert_eq!(medium.poll_deadline(), None);
    }
}
