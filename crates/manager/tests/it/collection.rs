//! The state collected in parts between packets is that of a whole report.

use evenair_manager::{Collected, Collection, Manager, Part, Report, StationReport};
use evenair_packet::{FlowKey, Port, TcpFlags};
use evenair_units::{Instant, Span};
use proptest::prelude::*;

use crate::conservation::{Session, apply};
use crate::world::{Segment, config, mac, packet, rate};

const ALL: usize = usize::MAX;

/// Both ends of a collection: a manager's cursor, and the copies.
struct Both {
    collection: Collection,
    collected: Collected,
    /// Flows in the parts of this collection.
    flows: Vec<FlowKey>,
}

impl Both {
    fn new() -> Self {
        Self { collection: Collection::new(1_000), collected: Collected::default(), flows: Vec::new() }
    }

    /// Copies up to `most` stations or flows. Returns whether there is more.
    fn collect(&mut self, manager: &mut Manager<u64>, now: Instant, most: usize) -> bool {
        let mut part = Part::new(now);
        let more = manager.collect(now, &mut self.collection, most, &mut part);
        self.flows.extend(part.flows().iter().map(|flow| flow.key));
        self.collected.take(&mut part);
        more
    }

    /// Completes a collection: returns its report.
    fn finish(&mut self, manager: &mut Manager<u64>, now: Instant) -> Report {
        while self.collect(manager, now, 3) {}
        self.collection = Collection::new(1_000);
        self.flows.clear();
        self.collected.finish(manager.report_totals(now), ALL)
    }
}

/// A station's report without the parts that depend on the instant of the copy: the time of a rejected report passes by itself.
fn timeless(station: &StationReport) -> StationReport {
    let reported =
        station.reported.map(|reported| evenair_manager::ReportedRate { set_aside: false, class: None, ..reported });
    StationReport { copied: Instant::ZERO, reported, ..station.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_handed_over_when_it_changes_is_all_that_changes(seed: u64) {
        let mut session = Session::new(seed);
        let mut manager = Manager::new(session.config(), session.now);
        let mut both = Both::new();
        for round in 0..2000_usize {
            let step = session.step();
            apply(&mut manager, session.now, &step);
            while manager.poll_output().is_some() {}
            if round % 3 == 0 && !both.collect(&mut manager, session.now, 1 + round % 2) {
                let _ = both.finish(&mut manager, session.now);
            }
            if round % 50 == 0 {
                // Stations behind the cursor are in the next collection.
                let _ = both.finish(&mut manager, session.now);
                let collected = both.finish(&mut manager, session.now);
                let whole = manager.report(session.now);
                let all = |report: &Report| report.stations.iter().map(timeless).collect::<Vec<_>>();
                prop_assert_eq!(all(&collected), all(&whole));
                prop_assert_eq!(&collected.domains, &whole.domains);
                prop_assert_eq!(collected.stations_known, whole.stations_known);
            }
        }
    }
}

fn heard(manager: &mut Manager<u64>, now: Instant, station: usize, flow: u16) {
    let meta = packet(Port::Wlan, station, flow, Segment::new(TcpFlags::ACK, 1, 1, 100));
    manager.handle_packet(now, 0, &meta);
    while manager.poll_output().is_some() {}
}

fn macs(report: &Report) -> Vec<evenair_packet::MacAddr> {
    report.stations.iter().map(|station| station.mac).collect()
}

#[test]
fn stations_that_come_and_go_between_parts_are_listed_once_or_not_at_all() {
    let (start, mut both) = (Instant::ZERO, Both::new());
    let mut manager = Manager::<u64>::new(config(&[]), start);
    (0..10).for_each(|station| heard(&mut manager, start, station, 1));
    assert!(both.collect(&mut manager, start, 4), "the first four are copied");
    // An hour in which the odd ones are used: the others are forgotten.
    let mut now = start;
    for _ in 0..360 {
        now += Span::from_secs(10);
        manager.handle_timeout(now);
        (0..10).filter(|station| station % 2 == 1).for_each(|station| heard(&mut manager, now, station, 1));
    }
    // New ones get the slots of those that have gone: some behind the cursor, some before it.
    (20..24).for_each(|station| heard(&mut manager, now, station, 1));
    // One that was copied appears again, in another slot.
    heard(&mut manager, now, 0, 1);
    let first = both.finish(&mut manager, now);
    let odd = || (0..10).filter(|station| station % 2 == 1);
    for station in odd().map(mac) {
        assert_eq!(macs(&first).iter().filter(|&&found| found == station).count(), 1, "{station} has stayed");
    }
    assert!(first.stations.windows(2).all(|two| two[0].mac < two[1].mac), "nothing is there twice");
    let second = both.finish(&mut manager, now);
    let mut all: Vec<_> = odd().chain(20..24).chain([0]).map(mac).collect();
    all.sort();
    assert_eq!((macs(&second), second.stations_known), (all, 10));
}

#[test]
fn unchanged_stations_are_not_handed_over_again() {
    let (now, mut both) = (Instant::ZERO, Both::new());
    let mut manager = Manager::<u64>::new(config(&[]), now);
    (0..10).for_each(|station| heard(&mut manager, now, station, 1));
    let _ = both.finish(&mut manager, now);
    heard(&mut manager, now, 7, 1);
    let mut part = Part::new(now);
    while manager.collect(now, &mut Collection::new(0), 100, &mut part) && part.stations().count() == 0 {}
    assert_eq!(part.stations().map(|station| station.mac).collect::<Vec<_>>(), [mac(7)]);
}

#[test]
fn flows_that_are_used_between_parts_are_copied_once() {
    let (now, mut both) = (Instant::ZERO, Both::new());
    let mut manager = Manager::<u64>::new(config(&[rate(11_000)]), now);
    (0..40).for_each(|flow| heard(&mut manager, now, 0, flow));
    while both.collect(&mut manager, now, 5) {
        // Some that are copied already come to the front, and some that are not.
        let used = (both.flows.len() as u16).min(39);
        [39 - used, used].into_iter().for_each(|flow| heard(&mut manager, now, 0, flow));
    }
    let mut flows = both.flows.clone();
    flows.sort();
    flows.dedup();
    assert_eq!((both.flows.len(), flows.len()), (40, 40));
}

/// All 200 flows are used between two parts of eight. A part looks at eight flows, so a collection that looked past the copied ones again
/// would never advance.
#[test]
fn a_collection_ends_while_all_flows_are_used_between_its_parts() {
    let (now, mut both) = (Instant::ZERO, Both::new());
    let mut manager = Manager::<u64>::new(config(&[rate(11_000)]), now);
    let use_all = |manager: &mut Manager<u64>, round: u16| {
        (0..200).for_each(|flow| heard(manager, now, 0, (flow * 7 + round) % 200));
    };
    use_all(&mut manager, 0);
    let mut parts = 0;
    while both.collect(&mut manager, now, 8) {
        parts += 1;
        assert!(parts <= 2 + 4_000 / 8, "{} flows in {parts} parts", both.flows.len());
        use_all(&mut manager, parts);
    }
    let mut flows = both.flows.clone();
    flows.sort();
    flows.dedup();
    assert_eq!(flows.len(), both.flows.len(), "none is there twice");
    assert!(flows.len() > 100, "{} flows", flows.len());
}

/// A packet of 16 stations every millisecond, and a part of the collection every 10 ms: the rates are right for any size of parts.
#[test]
fn rates_are_right_by_the_instants_of_the_copies() {
    let (mut now, mut both) = (Instant::ZERO, Both::new());
    let mut manager = Manager::<u64>::new(config(&[]), now);
    let mut second = |most: usize| {
        let mut more = true;
        for tick in 0..1_000 {
            now += Span::from_millis(1);
            (0..16).for_each(|station| heard(&mut manager, now, station, 1));
            if tick % 10 == 0 && more {
                more = both.collect(&mut manager, now, most);
            }
        }
        both.finish(&mut manager, now).stations
    };
    let seconds = [5, 3, 1, 16].map(&mut second);
    let ip_len = packet(Port::Wlan, 0, 1, Segment::new(TcpFlags::ACK, 1, 1, 100)).ip.expect("IP").total_len;
    let (mut shortest, mut longest) = (f64::MAX, f64::MIN);
    for (before, after) in seconds.iter().zip(&seconds[1..]).flat_map(|(a, b)| a.iter().zip(b)) {
        let interval = after.copied.saturating_since(before.copied).as_secs_f64();
        let rate = (after.from_station.0 - before.from_station.0) as f64 / interval;
        let right = ip_len.0 as f64 * 1e3;
        assert!((rate / right - 1.0).abs() < 0.01, "{}: {rate} bytes/s in {interval} s, not {right}", after.mac);
        (shortest, longest) = (shortest.min(interval), longest.max(interval));
    }
    assert!(
        longest - shortest > 0.05,
        "by the interval of the totals, rates would be wrong: {shortest} to {longest} s"
    );
}
