//! FQ-CoDel: priority for sparse flows, equal bytes for backlogged ones, and drops at the limit.

use evenair_sched::{Cause, CodelConfig, CodelQueueConfig, FqCodel, FqCodelConfig};
use evenair_units::{Bytes, Instant, Limit, Span};
use proptest::prelude::*;

use crate::packets::{Bench, Pkt, at_us};

const NOW: Instant = Instant::ZERO;

fn fq_codel(limit: Limit) -> Bench<FqCodel<Pkt>> {
    Bench::new(FqCodel::new(FqCodelConfig { limit, ..FqCodelConfig::default() }))
}

#[test]
fn a_sparse_flow_has_priority_over_backlogged_ones() {
    let mut bench = fq_codel(Limit::Packets(1000));
    (0..100).for_each(|n| bench.arrive(NOW, n % 2, 1500));
    // Both have used their quantum as new flows.
    for _ in 0..6 {
        bench.serve(NOW);
    }
    bench.arrive(NOW, 7, 100);
    assert_eq!(bench.serve(NOW).map(|packet| packet.flow), Some(7));
    // The next service finds its queue empty: from then on it is in the round like the others.
    bench.serve(NOW);
    (0..20).for_each(|_| bench.arrive(NOW, 7, 1500));
    let turns: Vec<_> = (0..9).filter_map(|_| bench.serve(NOW)).map(|packet| packet.flow).collect();
    let count = |flow| turns.iter().filter(|&&turn| turn == flow).count();
    assert!([0, 1, 7].iter().all(|&flow| (2..=4).contains(&count(flow))), "{turns:?}");
}

#[test]
fn the_longest_queue_loses_half_from_its_head() {
    let mut bench = fq_codel(Limit::Packets(20));
    (0..5).for_each(|_| bench.arrive(NOW, 1, 1500));
    (0..15).for_each(|_| bench.arrive(NOW, 2, 1500));
    bench.arrive(NOW, 1, 1500);
    let lost: Vec<_> = bench.dropped.iter().map(|(_, packet, cause)| (packet.flow, packet.number, *cause)).collect();
    assert_eq!(lost, (0..8).map(|number| (2, number, Cause::Overflow)).collect::<Vec<_>>());
    // At most 64 packets are dropped at once.
    let mut bench = fq_codel(Limit::Packets(1000));
    (0..1001).for_each(|_| bench.arrive(NOW, 2, 100));
    assert_eq!(bench.dropped.len(), 64);
}

#[test]
fn each_flow_has_a_codel_of_its_own() {
    let mut bench = fq_codel(Limit::Packets(10_000));
    // One floods at three times its share; one sends a packet of 300 bytes each 10 ms: 3 % of the server.
    for ms in 0..3000 {
        (0..2).for_each(|_| bench.arrive(at_us(ms * 1000), 1, 1000));
        if ms % 10 == 0 {
            bench.arrive(at_us(ms * 1000), 2, 300);
        }
        bench.serve(at_us(ms * 1000 + 999));
    }
    let drops_of = |flow| bench.dropped.iter().filter(|(_, packet, _)| packet.flow == flow).count();
    assert!(drops_of(1) > 50, "{}", drops_of(1));
    assert_eq!(drops_of(2), 0);
    assert!(bench.sent_bytes(2) >= 300 * 298);
}

#[test]
fn the_seed_decides_which_flows_share_a_queue() {
    let together = |seed| {
        let config = FqCodelConfig { flows: 8, seed, ..FqCodelConfig::default() };
        let mut bench = Bench::new(FqCodel::new(config));
        (0..30).for_each(|n| bench.arrive(NOW, n % 3, 1500));
        // Three queues take turns by quanta of one packet, after the first; fewer do not.
        let order: Vec<_> = (0..30).filter_map(|_| bench.serve(NOW)).map(|packet| packet.flow).collect();
        order[9..15].to_vec()
    };
    let orders: Vec<_> = (0..20).map(together).collect();
    assert!(orders.iter().any(|order| *order != orders[0]));
}

proptest! {
    /// The bound of deficit round robin. A target above all delays disables CoDel.
    #[test]
    fn backlogged_flows_get_equal_bytes(
        quantum in 1514..4000u64,
        sizes in proptest::collection::vec(40..1515u64, 2..5),
        services in 1..200usize,
    ) {
        let codel = CodelQueueConfig { codel: CodelConfig { target: Span::from_secs(1), ..CodelConfig::RFC }, ..CodelQueueConfig::default() };
        let config = FqCodelConfig { codel, quantum: Bytes(quantum), limit: Limit::Unlimited, ..FqCodelConfig::default() };
        let mut bench = Bench::new(FqCodel::new(config));
        // Keys with separate queues: each is alone when it is new, and so precedes the others.
        for (flow, &size) in sizes.iter().enumerate() {
            (0..200).for_each(|_| bench.arrive(NOW, flow as u64, size));
        }
        for _ in 0..services {
            bench.serve(NOW);
            let sent: Vec<u64> = (0..sizes.len()).map(|flow| bench.sent_bytes(flow as u64)).collect();
            let gap = sent.iter().max().unwrap() - sent.iter().min().unwrap();
            // A turn ends with the packet that uses up the quantum: one packet more, and one round.
            prop_assert!(gap <= 2 * quantum + 2 * 1514, "{sent:?} with a quantum of {quantum}");
        }
    }
}
