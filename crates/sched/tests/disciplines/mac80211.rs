//! Linux's intermediate queues: airtime of stations, what is in flight, CoDel of slow ones.

use std::collections::{BTreeMap, VecDeque};

use evenair_sched::{AirtimeReport, Cause, Discipline, GROUP, Mac80211, Mac80211Config, Packet};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use proptest::prelude::*;

use crate::packets::at_us;

/// A packet whose airtime is known.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Timed {
    host: u64,
    flow: u64,
    number: u32,
    airtime: Span,
    mbps: u64,
}

impl Packet for Timed {
    fn size(&self) -> Bytes {
        Bytes(1500)
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn host(&self) -> u64 {
        self.host
    }

    fn airtime(&self) -> Span {
        self.airtime
    }

    fn rate(&self) -> Option<BitRate> {
        Some(BitRate::from_mbps(self.mbps))
    }
}

const fn us(us: u64) -> Span {
    Span::from_micros(us)
}

fn to(host: u64, airtime_us: u64) -> Timed {
    Timed { host, flow: host, number: 0, airtime: us(airtime_us), mbps: 54 }
}

fn sent(packet: &Timed) -> AirtimeReport {
    AirtimeReport::Sent { host: packet.host, took: packet.airtime, expected: packet.airtime }
}

/// A MAC that takes two packets, sends each for its airtime, and reports.
struct Mac {
    queue: Mac80211<Timed>,
    now: Instant,
    below: VecDeque<Timed>,
    airtime: BTreeMap<u64, Span>,
}

impl Mac {
    fn new() -> Self {
        let queue = Mac80211::new(Mac80211Config::default());
        Self { queue, now: Instant::ZERO, below: VecDeque::new(), airtime: BTreeMap::new() }
    }

    /// One packet is sent.
    fn send(&mut self) -> Option<Timed> {
        while self.below.len() < 2
            && let Some(packet) = self.queue.poll_packet(self.now)
        {
            self.below.push_back(packet);
        }
        let packet = self.below.pop_front()?;
        self.now += packet.airtime;
        *self.airtime.entry(packet.host).or_default() += packet.airtime;
        self.queue.handle_airtime(self.now, &sent(&packet));
        Some(packet)
    }

    fn receive(&mut self, host: u64, took: Span) {
        self.now += took;
        *self.airtime.entry(host).or_default() += took;
        self.queue.handle_airtime(self.now, &AirtimeReport::Received { host, took });
    }
}

proptest! {
    /// Whatever a packet takes: to within what may be in flight and a weight for each.
    #[test]
    fn backlogged_stations_get_equal_airtime(airtimes in proptest::collection::vec(200..6000u64, 2..6)) {
        let mut mac = Mac::new();
        while mac.now < at_us(5_000_000) {
            for (host, &airtime) in (0..).zip(&airtimes) {
                // CoDel drops some.
                (0..2).for_each(|_| mac.queue.handle_packet(mac.now, to(host, airtime)));
            }
            mac.send();
            while mac.queue.poll_drop().is_some() {}
        }
        let most = mac.airtime.values().max().expect("some were served").as_micros();
        let least = mac.airtime.values().min().expect("some were served").as_micros();
        let longest = *airtimes.iter().max().expect("there are some");
        prop_assert!(most - least <= 12_000 + 2 * longest, "{:?}", mac.airtime);
        prop_assert_eq!(mac.airtime.len(), airtimes.len());
    }

    /// What is received from a station counts: the sum of both ways is equal, as long as what comes up is less than that.
    #[test]
    fn uploads_are_paid_for(down_us in 300..2500u64, up_us in 300..2500u64) {
        let mut mac = Mac::new();
        while mac.now < at_us(3_000_000) {
            (0..3).for_each(|host| mac.queue.handle_packet(mac.now, to(host, down_us)));
            if mac.airtime.get(&0).copied().unwrap_or_default() * 5 < mac.now.saturating_since(Instant::ZERO) {
                mac.receive(0, us(up_us));
            }
            mac.send();
            while mac.queue.poll_drop().is_some() {}
        }
        let total: u64 = mac.airtime.values().map(|span| span.as_micros()).sum();
        for (host, airtime) in &mac.airtime {
            let share = airtime.as_micros() as f64 / total as f64;
            prop_assert!((share - 1.0 / 3.0).abs() < 0.01, "station {}: {} of {:?}", host, share, mac.airtime);
        }
    }
}

#[test]
fn a_station_without_packets_pays_while_it_is_active_and_not_later() {
    let deficit_after = |pause: Span| {
        let mut mac = Mac::new();
        mac.queue.handle_packet(mac.now, to(1, 0));
        assert!(mac.send().is_some());
        // It sends for long, and has a packet again.
        mac.now += pause;
        mac.receive(1, us(20_000));
        (0..40).for_each(|_| mac.queue.handle_packet(mac.now, to(2, 500)));
        mac.queue.handle_packet(mac.now, to(1, 500));
        let before = (0..41).map_while(|_| mac.send()).position(|packet| packet.host == 1);
        before.expect("it is served")
    };
    assert!(deficit_after(us(50_000)) > 20, "another one goes first until it has had as much");
    assert_eq!(deficit_after(us(150_000)), 0);
}

#[test]
fn packets_for_an_idle_station_go_before_all_others() {
    let mut mac = Mac::new();
    for host in 0..4 {
        (0..50).for_each(|_| mac.queue.handle_packet(mac.now, to(host, 2000)));
    }
    (0..20).for_each(|_| assert!(mac.send().is_some()));
    mac.queue.handle_packet(mac.now, to(9, 100));
    // Those that the MAC has already.
    let hosts: Vec<u64> = (0..3).map(|_| mac.send().expect("there are packets").host).collect();
    assert!(hosts.contains(&9), "{hosts:?}");
}

#[test]
fn no_more_is_in_flight_than_the_airtime_queue_limit() {
    // Of one station up to 12 ms, and of all 24 ms; then up to 5 ms each.
    let mut queue = Mac80211::new(Mac80211Config::default());
    let now = Instant::ZERO;
    for host in 0..5 {
        (0..100).for_each(|_| queue.handle_packet(now, to(host, 1000)));
    }
    let departed: Vec<Timed> = std::iter::from_fn(|| queue.poll_packet(now)).collect();
    let of = |host| departed.iter().filter(|packet| packet.host == host).count();
    assert!((0..5).all(|host| (5..=12).contains(&of(host))), "{:?}", [0, 1, 2, 3, 4].map(of));
    assert!((24..=29).contains(&departed.len()), "{} ms in flight", departed.len());
    assert_eq!(queue.len(), 500 - departed.len());
    // One alone.
    let mut queue = Mac80211::new(Mac80211Config::default());
    (0..100).for_each(|_| queue.handle_packet(now, to(7, 1000)));
    let departed: Vec<Timed> = std::iter::from_fn(|| queue.poll_packet(now)).collect();
    assert_eq!(departed.len(), 12);
    queue.handle_airtime(now, &sent(&departed[0]));
    assert!(queue.poll_packet(now).is_some() && queue.poll_packet(now).is_none());
}

#[test]
fn packets_for_all_stations_take_turns_and_pay_nothing() {
    let mut queue = Mac80211::new(Mac80211Config::default());
    let now = Instant::ZERO;
    for _ in 0..20 {
        queue.handle_packet(now, Timed { airtime: Span::ZERO, ..to(GROUP, 0) });
        queue.handle_packet(now, Timed { airtime: Span::ZERO, ..to(1, 0) });
    }
    let first: Vec<u64> = (0..10).map(|_| queue.poll_packet(now).expect("there are packets").host).collect();
    assert!(first.contains(&1), "a station is served although others have packets: {first:?}");
    let all = std::iter::from_fn(|| queue.poll_packet(now)).count();
    assert_eq!(all, 30);
}

#[test]
fn at_the_limit_the_longest_queue_loses_its_head() {
    let mut queue = Mac80211::new(Mac80211Config { limit: Limit::Packets(10), ..Mac80211Config::default() });
    let now = Instant::ZERO;
    for number in 0..9 {
        queue.handle_packet(now, Timed { number, ..to(1, 500) });
    }
    for number in 0..4 {
        queue.handle_packet(now, Timed { number, ..to(2, 500) });
    }
    let dropped: Vec<_> = std::iter::from_fn(|| queue.poll_drop()).collect();
    let heads: Vec<_> = dropped.iter().map(|dropped| (dropped.packet.host, dropped.packet.number)).collect();
    assert_eq!(heads, [(1, 0), (1, 1), (1, 2)]);
    assert!(dropped.iter().all(|dropped| dropped.cause == Cause::Overflow));
}

/// When CoDel first drops in a queue that always has packets of 1 to 12 ms, served without a pause.
fn first_drop(mbps: u64, others: u64) -> Option<Instant> {
    let mut queue = Mac80211::new(Mac80211Config::default());
    for host in 0..others {
        queue.handle_airtime(Instant::ZERO, &AirtimeReport::Received { host: 100 + host, took: Span::ZERO });
    }
    let packet = Timed { airtime: Span::ZERO, mbps, ..to(1, 0) };
    (0..200).for_each(|_| queue.handle_packet(Instant::ZERO, packet));
    (1..1000).map(|ms| at_us(ms * 1000)).find(|&now| {
        queue.handle_packet(now, packet);
        queue.poll_packet(now);
        queue.poll_drop().is_some()
    })
}

#[test]
fn codel_is_gentler_with_slow_stations() {
    // The first packet that waited for the target, and an interval after that.
    let usual = Some(at_us(120_000));
    let gentle = Some(at_us(350_000));
    assert_eq!(first_drop(54, 0), usual);
    assert_eq!(first_drop(6, 0), usual, "6 Mb/s for one station is not slow");
    assert_eq!(first_drop(6, 1), gentle);
    assert_eq!(first_drop(12, 1), usual);
    assert_eq!(first_drop(54, 9), gentle);
}

/// A sparse flow of a station passes its bulk flow.
#[test]
fn sparse_flows_of_a_station_go_first() {
    let mut queue = Mac80211::new(Mac80211Config::default());
    let now = Instant::ZERO;
    (0..50).for_each(|_| queue.handle_packet(now, to(1, 0)));
    (0..3).for_each(|_| assert!(queue.poll_packet(now).is_some()));
    queue.handle_packet(now, Timed { flow: 77, ..to(1, 0) });
    assert_eq!(queue.poll_packet(now).expect("there are packets").flow, 77);
}
