//! CBQ: rates that are kept, what is borrowed and how it is shared, bursts after a silence.

use evenair_sched::{Cbq, CbqClass, CbqConfig, Config, Discipline};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use proptest::prelude::*;

use crate::packets::{Bench, Pkt};

const SIZE: u64 = 1000;
const LINK: BitRate = BitRate::from_mbps(10);

fn class(parent: Option<usize>, mbps: u64, borrows: bool) -> CbqClass {
    let rate = BitRate::from_mbps(mbps);
    let max_idle = CbqConfig::max_idle(LINK, rate, 20, CbqConfig::GAIN);
    CbqClass { parent, rate, quantum: Bytes(mbps * 500), priority: 0, borrows, max_idle, min_idle: None }
}

fn tree(classes: &[CbqClass]) -> Bench<Cbq<Pkt>> {
    let leaf = Box::new(Config::Fifo(Limit::Unlimited));
    let config = CbqConfig { classes: classes.to_vec(), default: classes.len() - 1, leaf, gain: CbqConfig::GAIN };
    Bench::new(Cbq::new(config, 0))
}

/// A link of 10 Mb/s with these leaves backlogged for some seconds: what each gets, in Mb/s.
fn saturate(bench: &mut Bench<Cbq<Pkt>>, leaves: &[u64], seconds: u64) -> Vec<f64> {
    let (mut now, end) = (Instant::ZERO, Instant::ZERO + Span::from_secs(seconds));
    leaves.iter().for_each(|&leaf| (0..seconds * 1300).for_each(|_| bench.arrive(now, leaf, SIZE)));
    let mut got = vec![0.0; leaves.len()];
    while now < end {
        if let Some(packet) = bench.serve(now) {
            let leaf = leaves.iter().position(|&leaf| leaf == packet.flow).expect("one of them");
            got[leaf] += packet.size as f64 * 8.0 / 1e6 / seconds as f64;
            now += LINK.time_for(Bytes(packet.size));
        } else {
            now = bench.discipline.poll_deadline(now).expect("it holds something");
        }
    }
    got
}

fn near(got: &[f64], expected: &[f64]) {
    let ok = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() <= 0.03 * expected);
    assert!(ok, "{got:?} for {expected:?}");
}

#[test]
fn a_bounded_class_sends_at_its_rate_and_no_more() {
    for mbps in [1, 2, 4, 8] {
        let got = saturate(&mut tree(&[class(None, 10, false), class(Some(0), mbps, false)]), &[1], 20);
        near(&got, &[mbps as f64]);
    }
}

#[test]
fn what_is_left_is_borrowed_by_weights() {
    let leaves = [class(None, 10, false), class(Some(0), 4, true), class(Some(0), 1, true)];
    near(&saturate(&mut tree(&leaves), &[1, 2], 20), &[8.0, 2.0]);
    // Who may not borrow leaves it to the other.
    let bounded = [leaves[0], class(Some(0), 4, false), leaves[2]];
    near(&saturate(&mut tree(&bounded), &[1, 2], 20), &[4.0, 6.0]);
}

#[test]
fn a_bounded_class_bounds_what_is_below_it() {
    let classes = [class(None, 10, false), class(Some(0), 3, false), class(Some(1), 1, true), class(Some(0), 1, true)];
    near(&saturate(&mut tree(&classes), &[2, 3], 20), &[3.0, 7.0]);
}

#[test]
fn after_a_silence_a_burst_goes_at_once_and_no_longer_one() {
    let mut bench = tree(&[class(None, 10, false), class(Some(0), 1, false)]);
    (0..200).for_each(|_| bench.arrive(Instant::ZERO, 1, SIZE));
    let mut now = Instant::ZERO;
    let mut burst = 0;
    while bench.serve(now).is_some() {
        burst += 1;
        now += LINK.time_for(Bytes(SIZE));
    }
    // Made for 20 packets at the link's rate; the first one has no time before it that would count.
    assert!((19..=22).contains(&burst), "{burst}");
}

#[test]
fn a_class_of_high_priority_borrows_first_and_leaves_others_their_rates() {
    let second = class(Some(0), 2, true);
    let first = CbqClass { priority: 0, ..class(Some(0), 4, true) };
    let tree_of = |priority| tree(&[class(None, 8, false), first, CbqClass { priority, ..second }]);
    let got = saturate(&mut tree_of(1), &[1, 2], 20);
    assert!((got[0] - 6.0).abs() < 0.2 && (got[1] - 2.0).abs() < 0.1, "{got:?}");
    // The canary: at one priority both borrow.
    let got = saturate(&mut tree_of(0), &[1, 2], 20);
    assert!(got[1] > 2.3, "{got:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Random arrivals at a tree of three levels: nothing is lost, order holds, and everything leaves in the end.
    #[test]
    fn nothing_is_lost_and_everything_leaves(
        steps in proptest::collection::vec((0..3000u64, 0..7u64, 40..1515u64, 0..3usize), 0..300),
        shape in proptest::collection::vec((1..10u64, any::<bool>(), 0..3u8, any::<bool>()), 6),
    ) {
        let parents = [None, Some(0), Some(0), Some(1), Some(1), Some(2)];
        let class = |i: usize| {
            let (mbps, borrows, priority, bounded) = shape[i];
            let min_idle = bounded.then_some(Span::from_millis(5));
            CbqClass { priority, min_idle, ..class(parents[i], mbps, borrows) }
        };
        let mut bench = tree(&(0..6).map(class).collect::<Vec<_>>());
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
                prop_assert!(next > now && next < now + Span::from_secs(10), "{next:?} from {now:?}");
                now = next;
            }
        }
        prop_assert!(bench.dropped.is_empty());
    }
}
