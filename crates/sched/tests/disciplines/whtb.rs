//! WHTB: charges, shares of airtime, and dead stations.

use std::collections::VecDeque;

use evenair_sched::{
    ChannelTable, Config, DeliveryConfig, Discipline, Estimator, Feedback, HtbClass, HtbConfig, News, Whtb, WhtbConfig,
};
use evenair_units::{BitRate, Bytes, Db, Instant, Limit, Span};
use proptest::prelude::*;

use crate::packets::{Bench, Pkt};

const SIZE: u64 = 1000;
/// Airtime of a packet over the best channel.
const AT_BEST: Span = Span::from_micros(1_600);

/// Leaves of 4 and 1 Mb/s with bursts that cover long packets of the other.
fn tree() -> HtbConfig {
    let leaf =
        |mbps| HtbClass { burst: Bytes(50_000), cburst: Bytes(50_000), ..HtbClass::new(BitRate::from_mbps(mbps)) };
    let queue = Box::new(Config::Fifo(Limit::Unlimited));
    HtbConfig { classes: vec![leaf(4), leaf(1)], default: 1, leaf: queue, hysteresis: false, tick: Span::ZERO }
}

fn bench(estimator: Estimator) -> Bench<Whtb<Pkt>> {
    Bench::new(Whtb::new(WhtbConfig { tree: tree(), estimator }, 0))
}

fn by_delivery() -> Bench<Whtb<Pkt>> {
    bench(Estimator::Delivery(DeliveryConfig::default()))
}

fn table() -> ChannelTable {
    let point = |db: i32, mbps| (Db::from_milli(db * 1000), BitRate::from_mbps(mbps));
    ChannelTable::new(vec![point(4, 1), point(8, 5)]).expect("it rises")
}

fn tell(bench: &mut Bench<Whtb<Pkt>>, now: Instant, class: u32, news: News) {
    bench.discipline.handle_feedback(now, &Feedback { class, news });
}

/// Keeps both leaves backlogged on a medium where a packet of the second takes `times` as long, and is delivered or not.
/// Returns the airtime of each, in seconds.
fn share(bench: &mut Bench<Whtb<Pkt>>, from: Instant, seconds: u64, times: u64, delivered: bool) -> [f64; 2] {
    let (mut now, end) = (from, from + Span::from_secs(seconds));
    let (mut used, mut waiting) = ([0.0; 2], [0; 2]);
    while now < end {
        for (leaf, waiting) in waiting.iter_mut().enumerate() {
            while *waiting < 50 {
                bench.arrive(now, leaf as u64, SIZE);
                *waiting += 1;
            }
        }
        let Some(packet) = bench.serve(now) else {
            now = bench.discipline.poll_deadline(now).expect("it will have one");
            continue;
        };
        let took = if packet.flow == 1 { AT_BEST * times } else { AT_BEST };
        waiting[packet.flow as usize] -= 1;
        used[packet.flow as usize] += took.as_nanos() as f64 / 1e9;
        now += took;
        let delivered = packet.flow == 0 || delivered;
        let fate = News::Fate { size: Bytes(SIZE), took, at_best: AT_BEST, delivered };
        tell(bench, now, packet.flow as u32, fate);
    }
    used
}

#[test]
fn goodput_lies_on_lines_between_the_tables_points() {
    let at = |milli| table().at(Db::from_milli(milli)).as_bps() / 1000;
    assert_eq!([0, 4_000, 5_000, 6_500, 8_000, 30_000].map(at), [1_000, 1_000, 2_000, 3_500, 5_000, 5_000]);
    let point = (Db::from_milli(1), BitRate::from_mbps(1));
    assert!(ChannelTable::new(vec![]).is_none() && ChannelTable::new(vec![point, point]).is_none());
    assert!(ChannelTable::new(vec![(point.0, BitRate::ZERO)]).is_none());
}

#[test]
fn a_signal_stretches_by_a_filtered_table_up_to_a_quantum() {
    let mut bench = bench(Estimator::Signal(table()));
    assert_eq!(bench.discipline.stretch_permille(1), 1_000, "nothing is known yet");
    let hear = |bench: &mut _, milli| tell(bench, Instant::ZERO, 1, News::Signal(Db::from_milli(milli)));
    hear(&mut bench, 8_000);
    assert_eq!(bench.discipline.stretch_permille(1), 1_000);
    // Three quarters of 5 Mb/s and one of 1 are 4.
    hear(&mut bench, 4_000);
    assert_eq!(bench.discipline.stretch_permille(1), 1_250);
    (0..40).for_each(|_| hear(&mut bench, 4_000));
    let worst = bench.discipline.stretch_permille(1);
    assert!((4_990..=5_000).contains(&worst), "{worst}");
    assert_eq!(bench.discipline.stretch_permille(0), 1_000, "the other's channel is its own");
    let far =
        ChannelTable::new(vec![(Db::from_milli(0), BitRate::from_kbps(1)), (Db::from_milli(1), BitRate::from_mbps(5))]);
    let mut bench = self::bench(Estimator::Signal(far.expect("it rises")));
    hear(&mut bench, 0);
    assert_eq!(bench.discipline.stretch_permille(1), 12_500, "the quantum of 1 Mb/s");
}

#[test]
fn airtime_is_shared_by_rates_whatever_the_airtime_of_packets() {
    for times in [1, 3, 10, 30] {
        let mut bench = by_delivery();
        let [first, second] = share(&mut bench, Instant::ZERO, 60, times, true);
        // At best 1000 bytes in 1.6 ms are 5 Mb/s, the sum of the guaranteed rates.
        assert!((second / 60.0 - 0.2).abs() < 0.01, "{times}: {second} s");
        assert!((first / 60.0 - 0.8).abs() < 0.02, "{times}: {first} s");
    }
    // Canary: by bytes, a packet that is ten times as long takes ten times the share.
    let mut bytes = bench(Estimator::Signal(table()));
    let [first, second] = share(&mut bytes, Instant::ZERO, 60, 10, true);
    assert!(second > 2.0 * first, "{first} and {second}");
}

#[test]
fn a_dead_station_skips_its_turns_until_it_recovers() {
    let mut bench = by_delivery();
    let [_, dead] = share(&mut bench, Instant::ZERO, 60, 25, false);
    // A packet of 40 ms each second, and those before it counted as dead.
    assert!(dead < 60.0 * 0.06, "{dead} s");
    let back = Instant::ZERO + Span::from_secs(61);
    assert!(bench.discipline.is_held(back - Span::from_millis(900), 1));
    let [_, alive] = share(&mut bench, back, 60, 1, true);
    assert!(alive > 60.0 * 0.18, "{alive} s");
    assert!(!bench.discipline.is_held(back + Span::from_secs(60), 1));
}

/// A card holds packets below the queue: the outcome of one is known after those before it have been sent.
#[test]
fn a_dead_station_probes_with_one_packet_whatever_the_buffer_of_the_card() {
    let mut bench = by_delivery();
    let (mut now, mut below, mut tries) = (Instant::ZERO, VecDeque::new(), 0);
    while now < Instant::ZERO + Span::from_secs(60) {
        (0..2).for_each(|flow| bench.arrive(now, flow, SIZE));
        while below.len() < 8
            && let Some(packet) = bench.serve(now)
        {
            below.push_back(packet.flow);
            tries += u64::from(packet.flow == 1 && now > Instant::ZERO + Span::from_secs(10));
        }
        let Some(flow) = below.pop_front() else {
            now = bench.discipline.poll_deadline(now).expect("it will have one");
            continue;
        };
        let took = if flow == 1 { AT_BEST * 25 } else { AT_BEST };
        now += took;
        tell(
            &mut bench,
            now,
            flow as u32,
            News::Fate { size: Bytes(SIZE), took, at_best: AT_BEST, delivered: flow == 0 },
        );
    }
    assert!((45..=50).contains(&tries), "{tries} in 50 s");
}

#[test]
fn a_packet_that_was_never_sent_is_refunded() {
    let spent = |took: Span| {
        let mut bench = by_delivery();
        let mut now = Instant::ZERO;
        (0..2_000).for_each(|_| bench.arrive(now, 1, SIZE));
        while now < Instant::ZERO + Span::from_secs(4) {
            let Some(packet) = bench.serve(now) else {
                let Some(next) = bench.discipline.poll_deadline(now) else { break };
                now = next;
                continue;
            };
            now += AT_BEST;
            let size = Bytes(packet.size);
            tell(&mut bench, now, 1, News::Fate { size, took, at_best: AT_BEST, delivered: took > Span::ZERO });
        }
        bench.sent.len()
    };
    let (paid, free) = (spent(AT_BEST), spent(Span::ZERO));
    // 50 kB of burst and 1 Mb/s; and as many as the loop can take.
    assert!((530..=560).contains(&paid) && free >= 2_000, "{paid} and {free}");
}

#[test]
fn a_dead_station_alone_is_not_held_back() {
    let mut bench = by_delivery();
    let mut now = Instant::ZERO;
    for sent in 0..20 {
        bench.arrive(now, 1, SIZE);
        while bench.serve(now).is_none() {
            let next = bench.discipline.poll_deadline(now).expect("it will have one");
            assert!(next > now && next < now + Span::from_millis(500), "{sent}: {next:?} from {now:?}");
            now = next;
        }
        now += AT_BEST * 25;
        tell(
            &mut bench,
            now,
            1,
            News::Fate { size: Bytes(SIZE), took: AT_BEST * 25, at_best: AT_BEST, delivered: false },
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any arrivals and reports: nothing is lost, flows keep their order, and everything leaves in the end.
    #[test]
    fn nothing_is_lost_whatever_is_reported(
        steps in proptest::collection::vec((0..3000u64, 0..2u64, 40..1515u64, 0..3usize, 0..40u64, 0..3u8), 0..300),
        by_signal in any::<bool>(),
    ) {
        let signal = Estimator::Signal(table());
        let mut bench = if by_signal { bench(signal) } else { by_delivery() };
        let mut now = Instant::ZERO;
        for (gap_us, flow, size, serves, times, news) in steps {
            now += Span::from_micros(gap_us);
            bench.arrive(now, flow, size);
            for _ in 0..serves {
                bench.serve(now);
            }
            let fate = |delivered| News::Fate { size: Bytes(size), took: AT_BEST * times, at_best: AT_BEST, delivered };
            let all = [News::Signal(Db::from_milli(times as i32 * 300)), fate(true), fate(false)];
            // Also for an unknown class.
            tell(&mut bench, now, (flow + times % 2) as u32, all[usize::from(news)]);
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
