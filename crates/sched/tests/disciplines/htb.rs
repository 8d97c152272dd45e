//! HTB against fluid shares: guaranteed rates, and lending of unused bandwidth.

use evenair_sched::{Config, Discipline, Htb, HtbClass, HtbConfig, Mode};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use proptest::prelude::*;

use crate::packets::{Bench, Pkt};

const SIZE: u64 = 1000;

fn tree(classes: &[HtbClass]) -> Bench<Htb<Pkt>> {
    let default =
        (0..classes.len()).rev().find(|&leaf| classes.iter().all(|class| class.parent != Some(leaf))).unwrap();
    let leaf = Box::new(Config::Fifo(Limit::Unlimited));
    Bench::new(Htb::new(HtbConfig { classes: classes.to_vec(), default, leaf, hysteresis: false, tick: Span::ZERO }, 0))
}

fn mbps(mbps: u64) -> BitRate {
    BitRate::from_mbps(mbps)
}

/// Keeps these leaves backlogged behind a server of 1 Gb/s for `seconds`. Returns the throughput of each, in Mb/s.
fn saturate(bench: &mut Bench<Htb<Pkt>>, leaves: &[usize], seconds: u64) -> Vec<f64> {
    let wire = BitRate::from_mbps(1000);
    let (mut now, end) = (Instant::ZERO, Instant::ZERO + Span::from_secs(seconds));
    let mut sent = vec![0; leaves.len()];
    while now < end {
        for &leaf in leaves {
            while bench.discipline.leaf_len(leaf) < 3 {
                bench.arrive(now, leaf as u64, SIZE);
            }
        }
        if let Some(packet) = bench.serve(now) {
            if let Some(at) = leaves.iter().position(|&leaf| leaf as u64 == packet.flow) {
                sent[at] += packet.size;
            }
            now += wire.time_for(Bytes(packet.size));
        } else {
            let next = bench.discipline.poll_deadline(now).expect("it will have packets to send");
            assert!(next > now);
            now = next;
        }
    }
    sent.iter().map(|&bytes| bytes as f64 * 8.0 / seconds as f64 / 1e6).collect()
}

fn near(got: &[f64], expected: &[f64], within: f64) {
    assert_eq!(got.len(), expected.len());
    for (got_one, expected_one) in got.iter().zip(expected) {
        assert!((got_one - expected_one).abs() <= within * expected_one, "{got:?} for {expected:?}");
    }
}

#[test]
fn a_class_alone_sends_at_its_rate_and_at_once_no_more_than_its_burst() {
    let mut bench = tree(&[HtbClass { burst: Bytes(10_000), cburst: Bytes(10_000), ..HtbClass::new(mbps(2)) }]);
    near(&saturate(&mut bench, &[0], 10), &[2.0], 0.005);
    // Bytes sent up to any time t: at most rate * t + burst and a packet.
    let mut bytes = 0;
    for &(at, packet) in &bench.sent {
        bytes += packet.size;
        let most = 10_000 + SIZE + at.as_nanos() / 4_000;
        assert!(bytes <= most, "{bytes} bytes by {at:?}");
    }
    // Canary: it uses the burst.
    let early: u64 = bench.sent.iter().filter(|(at, _)| at.as_nanos() < 1_000_000).map(|(_, packet)| packet.size).sum();
    assert!(early >= 10_000, "{early}");
}

#[test]
fn modes_are_the_colours_of_the_buckets() {
    let classes = [HtbClass::new(mbps(10)), HtbClass::new(mbps(1)).under(0).with_ceil(mbps(2))];
    let mut bench = tree(&classes);
    assert_eq!(bench.discipline.mode(1), Mode::CanSend);
    (0..4).for_each(|_| bench.arrive(Instant::ZERO, 1, SIZE));
    // A burst of 1600 bytes: two packets leave it owing 400 to both buckets.
    bench.serve(Instant::ZERO);
    assert_eq!(bench.discipline.mode(1), Mode::CanSend);
    bench.serve(Instant::ZERO);
    assert_eq!(bench.discipline.mode(1), Mode::CannotSend);
    assert!(bench.serve(Instant::ZERO).is_none());
    // 400 bytes are 1.6 ms at the ceiling, and 3.2 ms at the rate. The root, which owes as much, is green before that.
    let mut at = Instant::ZERO;
    while bench.serve(at).is_none() {
        at = bench.discipline.poll_deadline(at).expect("it will have a packet");
    }
    assert_eq!(at, Instant::ZERO + Span::from_micros(1600), "its parent lends");
}

#[test]
fn unused_bandwidth_is_borrowed() {
    let classes = [
        HtbClass::new(mbps(10)),
        HtbClass::new(mbps(6)).under(0).with_ceil(mbps(10)),
        HtbClass::new(mbps(4)).under(0).with_ceil(mbps(10)),
    ];
    near(&saturate(&mut tree(&classes), &[1, 2], 10), &[6.0, 4.0], 0.01);
    near(&saturate(&mut tree(&classes), &[2], 10), &[10.0], 0.01);
    // A class whose ceiling is its rate borrows nothing.
    let strict = [classes[0].clone(), HtbClass::new(mbps(6)).under(0), classes[2].clone()];
    near(&saturate(&mut tree(&strict), &[1], 10), &[6.0], 0.01);
}

#[test]
fn unused_bandwidth_is_shared_by_quanta_within_a_priority() {
    let leaf = |quantum, priority| {
        HtbClass { quantum: Bytes(quantum), priority, ..HtbClass::new(mbps(1)) }.under(0).with_ceil(mbps(20))
    };
    let by_quanta = [HtbClass::new(mbps(20)), leaf(2000, 0), leaf(6000, 0)];
    // 18 Mb/s remain beyond the guaranteed rates: 4.5 and 13.5.
    near(&saturate(&mut tree(&by_quanta), &[1, 2], 20), &[5.5, 14.5], 0.02);
    let by_priority = [HtbClass::new(mbps(20)), leaf(2000, 1), leaf(2000, 0)];
    near(&saturate(&mut tree(&by_priority), &[1, 2], 20), &[1.0, 19.0], 0.02);
}

#[test]
fn a_tree_lends_within_a_branch_before_it_lends_to_another() {
    // Two branches of 6 and 4 of the root's 10; the first has two leaves of 3 each.
    let classes = [
        HtbClass::new(mbps(10)),
        HtbClass::new(mbps(6)).under(0).with_ceil(mbps(10)),
        HtbClass::new(mbps(4)).under(0).with_ceil(mbps(10)),
        HtbClass::new(mbps(3)).under(1).with_ceil(mbps(10)),
        HtbClass::new(mbps(3)).under(1).with_ceil(mbps(10)),
        HtbClass::new(mbps(4)).under(2).with_ceil(mbps(10)),
    ];
    near(&saturate(&mut tree(&classes), &[3, 4, 5], 10), &[3.0, 3.0, 4.0], 0.01);
    near(&saturate(&mut tree(&classes), &[3, 5], 10), &[6.0, 4.0], 0.01);
    near(&saturate(&mut tree(&classes), &[3, 4], 10), &[5.0, 5.0], 0.01);
    near(&saturate(&mut tree(&classes), &[4], 10), &[10.0], 0.01);
}

#[test]
fn packets_of_no_leaf_go_to_the_default_one() {
    let mut bench = tree(&[HtbClass::new(mbps(10)), HtbClass::new(mbps(6)).under(0), HtbClass::new(mbps(4)).under(0)]);
    bench.arrive(Instant::ZERO, 0, 100);
    bench.arrive(Instant::ZERO, 77, 100);
    assert_eq!(bench.discipline.leaf_len(2), 2);
}

/// The fluid limit of two levels: each leaf gets its rate, and the rest of the root's is shared by quanta up to the
/// ceilings.
fn fluid(root: f64, leaves: &[(f64, f64, f64)]) -> Vec<f64> {
    let mut got: Vec<f64> = leaves.iter().map(|&(rate, _, _)| rate).collect();
    let mut left = root - got.iter().sum::<f64>();
    while left > 1e-9 {
        let open: Vec<usize> = (0..leaves.len()).filter(|&i| leaves[i].1 - got[i] > 1e-9).collect();
        let quanta: f64 = open.iter().map(|&i| leaves[i].2).sum();
        if open.is_empty() {
            break;
        }
        // Up to the point where the first of them reaches its ceiling.
        let step = open.iter().map(|&i| (leaves[i].1 - got[i]) * quanta / leaves[i].2).fold(left, f64::min);
        open.iter().for_each(|&i| got[i] += step * leaves[i].2 / quanta);
        left -= step;
    }
    got
}

/// Throughput, in Mb/s, of a single leaf of 4 Mb/s on a link of 10 Mb/s, with this clock and these bursts.
fn alone_with_tick(tick: Span, burst: u64) -> f64 {
    let class = HtbClass { burst: Bytes(burst), cburst: Bytes(burst), ..HtbClass::new(mbps(4)) };
    let leaf = Box::new(Config::Fifo(Limit::Unlimited));
    let config = HtbConfig { classes: vec![class], default: 0, leaf, hysteresis: false, tick };
    let mut bench = Bench::new(Htb::new(config, 0));
    (0..10_000).for_each(|_| bench.arrive(Instant::ZERO, 0, SIZE));
    let (mut now, mut sent) = (Instant::ZERO, 0);
    while now < Instant::ZERO + Span::from_secs(5) {
        if let Some(packet) = bench.serve(now) {
            sent += packet.size;
            now += mbps(10).time_for(Bytes(packet.size));
        } else {
            now = bench.discipline.poll_deadline(now).expect("it holds something");
        }
    }
    sent as f64 * 8.0 / 5e6
}

#[test]
fn a_clock_that_ticks_needs_bursts_of_a_tick() {
    let tick = Span::from_millis(10);
    let exact = alone_with_tick(Span::ZERO, 1600);
    let ample = alone_with_tick(tick, 5000 + 1600);
    assert!((exact - 4.0).abs() < 0.02 && (ample - 4.0).abs() < 0.02, "{exact} and {ample} Mb/s");
    // In 10 ms at 4 Mb/s the bucket gets 5000 bytes, of which it keeps 1600 and what it owed.
    let small = alone_with_tick(tick, 1600);
    assert!(small < 3.0, "{small} Mb/s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn shares_are_those_of_the_fluid_limit(
        leaves in proptest::collection::vec((1..5u64, 0..10u64, 2..6u64), 1..5),
        spare in 0..10u64,
    ) {
        let root = leaves.iter().map(|leaf| leaf.0).sum::<u64>() + spare;
        let mut classes = vec![HtbClass::new(mbps(root))];
        for &(rate, above, quantum) in &leaves {
            let quantum = Bytes(quantum * SIZE);
            // With small bursts a class is red so often that others take its turns.
            let bursts = HtbClass { burst: Bytes(12_000), cburst: Bytes(12_000), ..HtbClass::new(mbps(rate)) };
            classes.push(HtbClass { quantum, ..bursts }.under(0).with_ceil(mbps(rate + above)));
        }
        let numbers: Vec<usize> = (1..classes.len()).collect();
        let got = saturate(&mut tree(&classes), &numbers, 10);
        let fluid = fluid(root as f64, &leaves.iter().map(|&(rate, above, quantum)| (rate as f64, (rate + above) as f64, quantum as f64)).collect::<Vec<_>>());
        for (got_one, expected) in got.iter().zip(&fluid) {
            prop_assert!((got_one - expected).abs() <= 0.03 * expected + 0.02, "{got:?} for {fluid:?}");
        }
    }

    /// Random arrivals at a tree of three levels: nothing is lost, flows keep their order, and everything leaves in
    /// the end.
    #[test]
    fn nothing_is_lost_and_everything_leaves(
        steps in proptest::collection::vec((0..3000u64, 0..7u64, 40..1515u64, 0..3usize), 0..300),
        hysteresis in any::<bool>(),
        rates in proptest::collection::vec((1..10u64, 0..10u64, 0..3u8), 6),
    ) {
        let parents = [None, Some(0), Some(0), Some(1), Some(1), Some(2)];
        let class = |i: usize| {
            let (rate, above, priority) = rates[i];
            HtbClass { parent: parents[i], priority, ..HtbClass::new(mbps(rate)) }.with_ceil(mbps(rate + above))
        };
        let leaf = Box::new(Config::Fifo(Limit::Unlimited));
        let config = HtbConfig { classes: (0..6).map(class).collect(), default: 5, leaf, hysteresis, tick: Span::ZERO };
        let mut bench = Bench::new(Htb::new(config, 0));
        let mut now = Instant::ZERO;
        for (gap_us, flow, size, serves) in steps {
            now += Span::from_micros(gap_us);
            bench.arrive(now, flow, size);
            for _ in 0..serves {
                bench.serve(now);
            }
        }
        while !bench.discipline.is_empty() {
            if bench.serve(now).is_none() {
                let next = bench.discipline.poll_deadline(now).expect("it holds something");
                prop_assert!(next > now && next < now + Span::from_secs(70), "{next:?} from {now:?}");
                now = next;
            }
        }
        prop_assert!(bench.dropped.is_empty());
    }
}
