//! Linux's intermediate queues: airtime of stations, airtime queue limits, CoDel of slow stations.

use std::collections::{BTreeMap, VecDeque};

use evenair_sched::{AirtimeLimits, AirtimeReport, Cause, Config, Discipline, GROUP, Mac80211, Mac80211Config, Packet};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use proptest::prelude::*;

use crate::packets::at_us;

/// A packet with a known airtime.
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

/// A MAC that holds two packets, sends each for its airtime, and reports it.
struct Mac {
    queue: Mac80211<Timed>,
    now: Instant,
    below: VecDeque<Timed>,
    airtime: BTreeMap<u64, Span>,
}

impl Mac {
    fn new() -> Self {
        Self::before(Mac80211Config::default())
    }

    fn before(config: Mac80211Config) -> Self {
        let queue = Mac80211::new(config);
        Self { queue, now: Instant::ZERO, below: VecDeque::new(), airtime: BTreeMap::new() }
    }

    /// Sends one packet.
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
    /// For packets of any airtime: to within the airtime in flight and a weight for each.
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

    /// Airtime received from a station counts: the sums of both directions are equal, as long as the uplink's is less.
    #[test]
    fn received_airtime_is_charged(down_us in 300..2500u64, up_us in 300..2500u64) {
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
        // It sends for long, and gets a packet again.
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
fn packets_for_an_idle_station_have_priority() {
    let mut mac = Mac::new();
    for host in 0..4 {
        (0..50).for_each(|_| mac.queue.handle_packet(mac.now, to(host, 2000)));
    }
    (0..20).for_each(|_| assert!(mac.send().is_some()));
    mac.queue.handle_packet(mac.now, to(9, 100));
    // After those that the MAC has already.
    let hosts: Vec<u64> = (0..3).map(|_| mac.send().expect("there are packets").host).collect();
    assert!(hosts.contains(&9), "{hosts:?}");
}

#[test]
fn no_more_is_in_flight_than_the_airtime_queue_limit() {
    // For one station up to 12 ms, and for all 24 ms; then up to 5 ms each.
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
    // A single station.
    let mut queue = Mac80211::new(Mac80211Config::default());
    (0..100).for_each(|_| queue.handle_packet(now, to(7, 1000)));
    let departed: Vec<Timed> = std::iter::from_fn(|| queue.poll_packet(now)).collect();
    assert_eq!(departed.len(), 12);
    queue.handle_airtime(now, &sent(&departed[0]));
    assert!(queue.poll_packet(now).is_some() && queue.poll_packet(now).is_none());
}

/// Number of packets of 500 us that depart to each station before any is reported.
fn in_flight(aql: Option<AirtimeLimits>, stations: u64) -> Vec<usize> {
    let mut queue = Mac80211::new(Mac80211Config { aql, ..Mac80211Config::default() });
    let now = Instant::ZERO;
    for host in 0..stations {
        (0..100).for_each(|_| queue.handle_packet(now, to(host, 500)));
    }
    let departed: Vec<Timed> = std::iter::from_fn(|| queue.poll_packet(now)).collect();
    (0..stations).map(|host| departed.iter().filter(|packet| packet.host == host).count()).collect()
}

#[test]
fn each_of_the_airtime_queue_limits_is_kept() {
    let limits = |low: u64, high: u64, total: u64| {
        Some(AirtimeLimits { low: us(low * 1000), high: us(high * 1000), total: us(total * 1000) })
    };
    // The high limit for a single station, and for several that stay below the total.
    assert_eq!(in_flight(limits(2, 4, 8), 1), [8]);
    assert_eq!(in_flight(limits(2, 4, 50), 3), [8; 3]);
    // At the total, the low limit: three stations together go on in turn up to 8 ms, more than 2 ms each.
    let three = in_flight(limits(2, 4, 8), 3);
    assert_eq!(three.iter().sum::<usize>(), 16, "{three:?}");
    assert_eq!(in_flight(limits(2, 4, 8), 10), [4; 10], "20 ms, as each may have 2");
    assert_eq!(in_flight(limits(3, 3, 1), 4), [6; 4], "of equal ones the total says nothing");
}

#[test]
fn without_airtime_queue_limits_stations_pay_when_packets_are_reported() {
    assert_eq!(in_flight(None, 3), [100; 3]);
    // Airtime in flight is no debt: the station keeps its priority until a report.
    let mut queue = Mac80211::new(Mac80211Config { aql: None, ..Mac80211Config::default() });
    let now = Instant::ZERO;
    (1..3).for_each(|host| (0..10).for_each(|_| queue.handle_packet(now, to(host, 500))));
    let mut next = || queue.poll_packet(now).expect("there are packets");
    let first = next();
    assert_eq!((0..4).map(|_| next().host).collect::<Vec<_>>(), [first.host; 4]);
    queue.handle_airtime(now, &sent(&first));
    assert_ne!(queue.poll_packet(now).expect("there are packets").host, first.host);
}

/// Ratio of the airtime of two backlogged stations with these weights in 5 s, with packets of different airtimes.
fn by_weight(aql: Option<AirtimeLimits>, weights: [u32; 2]) -> f64 {
    let weights = (0..).zip(weights).collect();
    let mut mac = Mac::before(Mac80211Config { aql, weights, ..Mac80211Config::default() });
    while mac.now < at_us(5_000_000) {
        for (host, airtime) in [(0, 700), (1, 1900)] {
            (0..2).for_each(|_| mac.queue.handle_packet(mac.now, to(host, airtime)));
        }
        mac.send();
        while mac.queue.poll_drop().is_some() {}
    }
    mac.airtime[&0].as_micros() as f64 / mac.airtime[&1].as_micros() as f64
}

#[test]
fn stations_get_airtime_by_their_weights() {
    for aql in [Some(AirtimeLimits::default()), None] {
        for (weights, want) in [([1, 1], 1.0), ([2, 1], 2.0), ([1, 2], 0.5), ([6, 2], 3.0)] {
            let got = by_weight(aql, weights);
            assert!((got / want - 1.0).abs() < 0.05, "{weights:?}, {aql:?}: {got:.3}");
        }
    }
}

#[test]
fn invalid_limits_and_weights_are_refused() {
    let check = |config: Mac80211Config| Config::Mac80211(config).check();
    let with = |low: u64, high: u64| {
        let aql = Some(AirtimeLimits { low: us(low), high: us(high), total: us(24_000) });
        check(Mac80211Config { aql, ..Mac80211Config::default() })
    };
    assert!(with(5000, 5000).is_ok() && with(5001, 5000).is_err() && with(0, 5000).is_err());
    let weight = |weight| check(Mac80211Config { weights: [(3, weight)].into(), ..Mac80211Config::default() });
    assert!(weight(1).is_ok() && weight(255).is_ok() && weight(0).is_err() && weight(256).is_err());
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
fn slow_stations_have_a_higher_codel_target() {
    // An interval after the first packet that waited for the target.
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
