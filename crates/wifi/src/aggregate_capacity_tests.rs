//! The closed forms against independently computed tables from the standard's durations.

extern crate std;
use std::format;

use super::*;
use crate::Format::{self, He, Ht, Vht};
use crate::{GuardInterval, PhyMode, Standard, Width, mixed_capacity, time_fair_weight};
use GuardInterval::{Ns400, Ns800};
use Width::{Mhz20, Mhz40, Mhz80, Mhz160};

/// A mode with the guard interval of 0.8 us.
#[derive(Clone, Copy, Debug)]
struct Mode {
    format: Format,
    /// MCS of each stream.
    mcs: u8,
    width: Width,
    streams: u8,
}

const fn at(format: Format, mcs: u8, width: Width, streams: u8) -> Mode {
    Mode { format, mcs, width, streams }
}

const FULL_SIZE: Bytes = Bytes(1_500);
const ACK: Bytes = Bytes(52);

fn ax() -> Phy {
    Phy::default_for(Standard::Dot11ax)
}

fn of_rate(phy: &Phy, rate: PhyRate) -> AggregateSender<'_> {
    AggregateSender { phy, rate, limits: AggregateLimits::of_rate(rate), rts_threshold: None }
}

fn sender(phy: &Phy, mode: Mode) -> AggregateSender<'_> {
    let Mode { format, mcs, width, streams } = mode;
    of_rate(phy, PhyMode::new(format, mcs, streams, width, Ns800).unwrap().into())
}

fn tcp(d: u32, is_colliding: bool) -> AggregateTcp {
    let shape = TcpShape { d_milli: d * 1_000, rts_threshold: None, ..TcpShape::ADWISER };
    AggregateTcp { shape, acks: None, collision_millionths: if is_colliding { collision_millionths(&ax()) } else { 0 } }
}

fn micros(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e3
}

/// Full aggregates: n, PPDU, cycle, Mb/s with them and with single frames, and the n that reaches 90, 95 and 98 % of it.
#[test]
fn full_aggregates_of_full_size_packets() {
    let phy = ax();
    for (mode, n, ppdu, cycle, mbps, single, needed) in [
        ((Ht, 0, Mhz20, 1, Ns800), 2, 3840, 4035, "5.9", "5.7", [1, 1, 2]),
        ((Ht, 7, Mhz20, 1, Ns800), 28, 5360, 5519, "60.9", "31.4", [7, 12, 18]),
        ((Ht, 7, Mhz40, 2, Ns400), 42, 1772, 1931, "261", "50.3", [21, 28, 36]),
        ((Vht, 8, Mhz20, 1, Ns800), 34, 5428, 5587, "73.0", "33.9", [9, 14, 22]),
        ((Vht, 9, Mhz80, 1, Ns800), 64, 2068, 2227, "345", "53.0", [29, 41, 53]),
        ((Vht, 8, Mhz80, 2, Ns800), 64, 1172, 1331, "577", "54.9", [37, 49, 57]),
        ((Vht, 9, Mhz160, 4, Ns400), 64, 284, 443, "1736", "57.0", [52, 59, 62]),
        ((He, 0, Mhz20, 1, Ns800), 3, 4354, 4581, "7.9", "7.2", [1, 2, 3]),
        ((He, 7, Mhz20, 1, Ns800), 37, 5361, 5527, "80.3", "34.6", [10, 16, 25]),
        ((He, 11, Mhz20, 1, Ns800), 63, 5483, 5650, "134", "41.0", [17, 26, 41]),
        ((He, 7, Mhz80, 1, Ns800), 158, 5470, 5636, "336", "50.3", [40, 65, 103]),
        ((He, 11, Mhz80, 2, Ns800), 256, 2689, 2855, "1076", "54.9", [107, 152, 202]),
        ((He, 11, Mhz160, 2, Ns800), 256, 1370, 1536, "2000", "54.9", [145, 190, 227]),
    ] {
        let (format, mcs, width, streams, guard) = mode;
        let ours = of_rate(&phy, PhyMode::new(format, mcs, streams, width, guard).unwrap().into());
        let full = ours.full(FULL_SIZE);
        assert_eq!(full, n, "{mode:?}");
        assert!(
            (micros(ours.ppdu(n, FULL_SIZE)) - f64::from(ppdu)).abs() <= 0.6,
            "{mode:?}: {}",
            ours.ppdu(n, FULL_SIZE)
        );
        assert!((micros(ours.cycle(n, FULL_SIZE)) - f64::from(cycle)).abs() <= 0.6, "{mode:?}");
        for (of, shown) in [(n, mbps), (1, single)] {
            let ours = ours.throughput(of, FULL_SIZE).as_mbps_f64();
            let places = shown.split_once('.').map_or(0, |(_, places)| places.len());
            assert_eq!(format!("{ours:.places$}"), shown, "{mode:?}, {of} frames: {ours}");
        }
        let bps = |n| ours.throughput(n, FULL_SIZE).as_bps();
        let least = |percent: u64| (1..=n).find(|&of| bps(of) * 100 >= percent * bps(n)).unwrap();
        assert_eq!([90, 95, 98].map(least), needed, "{mode:?}");
    }
}

/// C_i in Mb/s: d = 2 without collisions; and with collisions: d = 2, d = 2 with at most 8 frames, d = 44, d = 1.
const CAPACITIES: [(Mode, [f64; 5]); 12] = [
    (at(Ht, 7, Mhz20, 1), [58.1, 55.0, 47.4, 56.2, 54.5]),
    (at(Ht, 7, Mhz40, 2), [215.3, 204.8, 121.7, 207.2, 203.4]),
    (at(Vht, 0, Mhz80, 1), [25.7, 24.4, 23.4, 25.3, 24.1]),
    (at(Vht, 8, Mhz80, 2), [498.0, 475.8, 171.7, 452.6, 473.5]),
    (at(Vht, 9, Mhz80, 4), [826.8, 797.3, 196.8, 725.3, 797.8]),
    (at(He, 0, Mhz20, 1), [7.4, 7.0, 7.0, 7.4, 6.9]),
    (at(He, 5, Mhz20, 1), [61.2, 57.9, 48.6, 59.3, 57.4]),
    (at(He, 7, Mhz20, 1), [76.4, 72.3, 57.8, 73.6, 71.6]),
    (at(He, 11, Mhz20, 1), [127.5, 120.7, 82.3, 120.2, 119.6]),
    (at(He, 7, Mhz80, 1), [320.3, 303.1, 132.1, 307.1, 300.5]),
    (at(He, 11, Mhz80, 2), [986.7, 937.0, 177.0, 946.9, 930.2]),
    (at(He, 11, Mhz160, 2), [1729.1, 1650.9, 192.1, 1666.2, 1643.7]),
];

#[test]
fn capacities_of_tcp() {
    let phy = ax();
    for (mode, shown) in CAPACITIES {
        let ours = sender(&phy, mode);
        let full = ours.full(FULL_SIZE);
        let of = [(full, 2, false), (full, 2, true), (full.min(8), 2, true), (full, 44, true), (full, 1, true)];
        for ((n, d, is_colliding), shown) in of.into_iter().zip(shown) {
            let ours = ours.tcp_capacity(n, &tcp(d, is_colliding)).as_mbps_f64();
            assert!((ours - shown).abs() <= 0.051, "{mode:?}, {n} frames, d {d}: {ours} against {shown}");
        }
    }
}

/// Without a given k, the ACKs of one aggregate of DATA share an access; fewer ACKs per access cost more accesses.
#[test]
fn ill_aggregated_acks_cost_accesses() {
    let phy = ax();
    let ours = sender(&phy, at(Vht, 8, Mhz80, 2));
    let of = |acks| ours.tcp_capacity(64, &AggregateTcp { acks, ..tcp(2, false) });
    assert_eq!(of(None), of(Some(32)));
    // By hand, us: an aggregate 1331 (1172 on air), 32 accesses of one ACK: 110.5 + PPDU 44 + 4 + 16 + 28.
    let by_hand = (64.0 * 12_000.0 + 32.0 * 416.0) / (1_330.5 + 32.0 * 202.5);
    assert!((of(Some(1)).as_mbps_f64() - by_hand).abs() < 0.05, "{} against {by_hand}", of(Some(1)));
    assert!(of(Some(8)) < of(Some(16)) && of(Some(16)) < of(Some(32)));
    // No more than an aggregate can have.
    assert_eq!(of(Some(64)), of(Some(1_000)));
}

#[test]
fn rts_is_sent_in_front_of_accesses_above_the_threshold() {
    let phy = ax();
    let without = sender(&phy, at(He, 7, Mhz20, 1));
    let with = AggregateSender { rts_threshold: Some(Bytes(15_000)), ..without };
    assert_eq!(with.cycle(10, FULL_SIZE), without.cycle(10, FULL_SIZE));
    // RTS 28, SIFS 16, CTS 28, SIFS 16.
    assert_eq!(with.cycle(11, FULL_SIZE), without.cycle(11, FULL_SIZE) + Span::from_micros(88));
    // ns-3 3.44 carries 79.09 Mb/s.
    let mbps = AggregateSender { rts_threshold: Some(Bytes(0)), ..without }.throughput(37, FULL_SIZE).as_mbps_f64();
    assert!((mbps - 79.09).abs() < 0.005 * 79.09, "{mbps}");
}

/// The mean of the capacities if each station gets the same airtime, as with single frames.
#[test]
fn a_mixture_that_is_fair_in_time_has_the_mean_capacity() {
    let phy = ax();
    let parts = [at(He, 11, Mhz20, 1), at(He, 5, Mhz20, 1), at(He, 0, Mhz20, 1)].map(|mode| {
        let ours = sender(&phy, mode);
        let capacity = ours.tcp_capacity(ours.full(FULL_SIZE), &tcp(2, true));
        (time_fair_weight(1, capacity), capacity)
    });
    let mean = mixed_capacity(&parts).as_mbps_f64();
    assert!((mean - (120.7 + 57.9 + 7.0) / 3.0).abs() < 0.1, "{mean}");
}

/// Payload of 5.4, 4, 2 and 1 ms: efficiency in %, and a round of 2, 5, 10 and 30 stations in ms.
#[test]
fn what_an_access_costs_beside_its_frames() {
    let phy = ax();
    let ours = sender(&phy, at(Vht, 8, Mhz80, 2));
    let cost = ours.cost(ours.full(FULL_SIZE), &tcp(2, false));
    for (ms, percent, rounds) in [
        (5.4, 96, ["11", "28", "56", "168"]),
        (4.0, 95, ["8.4", "21", "42", "126"]),
        (2.0, 91, ["4.4", "11", "22", "66"]),
        (1.0, 83, ["2.4", "6", "12", "36"]),
    ] {
        let payload = Span::from_secs_f64(ms / 1e3);
        assert_eq!((cost.efficiency_permille(payload) + 5) / 10, percent, "{ms} ms");
        for (stations, shown) in [2, 5, 10, 30].into_iter().zip(rounds) {
            let round = (payload + cost.per_access).as_secs_f64() * 1e3 * f64::from(stations);
            let places = shown.split_once('.').map_or(0, |(_, places)| places.len());
            assert_eq!(format!("{round:.places$}"), shown, "{stations} stations, {ms} ms");
        }
    }
    // Nearly the same in other modes.
    for mode in [at(Ht, 7, Mhz20, 1), at(Vht, 8, Mhz20, 1), at(He, 7, Mhz20, 1), at(He, 11, Mhz80, 2)] {
        let ours = sender(&phy, mode);
        let per_access = micros(ours.cost(ours.full(FULL_SIZE), &tcp(2, false)).per_access);
        assert!((195.0..225.0).contains(&per_access), "{mode:?}: {per_access}");
    }
}

/// A packet with its part of its ACK takes the time that the capacity says, to half a symbol of each access.
#[test]
fn costs_of_packets_add_up_to_capacities() {
    let phy = ax();
    for (mode, _) in CAPACITIES {
        for d in [1, 2, 44] {
            let (ours, tcp) = (sender(&phy, mode), tcp(d, false));
            for n in [ours.full(FULL_SIZE), ours.full(FULL_SIZE).min(8)] {
                let cost = ours.cost(n, &tcp);
                let cycle = ours.cycle(n, FULL_SIZE);
                let sum = cost.data(FULL_SIZE) * u64::from(n);
                assert!(cycle.as_nanos().abs_diff(sum.as_nanos()) <= 2 * u64::from(n), "{mode:?}: {sum}, {cycle}");
                let bits = 12_000.0 + 416.0 / f64::from(d);
                let of_packets = bits / micros(cost.data_with_acks(FULL_SIZE, ACK, d * 1_000));
                let ratio = of_packets / ours.tcp_capacity(n, &tcp).as_mbps_f64();
                assert!((ratio - 1.0).abs() < 0.012, "{mode:?}, {n} frames, d {d}: {ratio}");
            }
        }
    }
}

#[test]
fn a_lone_packet_pays_for_its_access() {
    let phy = ax();
    for mode in [at(Ht, 7, Mhz20, 1), at(Vht, 9, Mhz80, 4), at(He, 11, Mhz80, 2)] {
        let ours = sender(&phy, mode);
        let cost = ours.cost(ours.full(FULL_SIZE), &tcp(2, false));
        for ip in [Bytes(60), Bytes(200), FULL_SIZE] {
            let (alone, cycle) = (micros(cost.alone(ip)), micros(ours.cycle(1, ip)));
            // At most a symbol of rounding on either side, and BlockAck in place of ACK.
            assert!((alone - cycle).abs() < 24.0, "{mode:?}, {ip:?}: {alone} against {cycle}");
            assert_eq!(cost.alone(ip) - cost.data(ip), cost.per_access - cost.per_access / u64::from(cost.expected));
        }
    }
}

/// A rate without aggregation: with EDCA, one access per packet.
#[test]
fn a_legacy_station_sends_single_frames() {
    let phy = ax();
    let ours = of_rate(&phy, Standard::Dot11ax.rate(BitRate::from_mbps(54)).unwrap());
    assert_eq!((ours.full(FULL_SIZE), ours.full(ACK)), (1, 1));
    // us: AIFS 43, back-off 67.5, DATA of 1538 bytes 20 + 58 * 4, SIFS 16, ACK 28.
    let cycle = Span::from_nanos(43_000 + 67_500 + 252_000 + 16_000 + 28_000);
    assert_eq!(ours.cycle(1, FULL_SIZE), cycle);
    let cost = ours.cost(ours.full(FULL_SIZE), &tcp(2, false));
    assert_eq!((cost.expected, cost.expected_acks, cost.data(FULL_SIZE)), (1, 1, cost.alone(FULL_SIZE)));
    assert!(cost.data(FULL_SIZE).as_nanos().abs_diff(cycle.as_nanos()) <= 1);
}
