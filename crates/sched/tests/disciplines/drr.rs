//! Deficit round robin against the paper's pseudo-code and its bound on fairness.

use std::collections::VecDeque;

use evenair_sched::{Cause, Drr, DrrConfig};
use evenair_units::{Bytes, Instant, Limit};
use proptest::prelude::*;

use crate::packets::{Bench, Pkt};

const NOW: Instant = Instant::ZERO;

fn drr(quantum: u64, limit: Limit) -> Bench<Drr<Pkt>> {
    Bench::new(Drr::new(DrrConfig { quantum: Bytes(quantum), limit }))
}

#[test]
fn the_example_of_the_paper() {
    // Figures 2 and 3 of the paper: quantum 500; queue 1 holds 200, 750, 20; queue 2 500, 500; queue 3 200, 600, 100;
    // queue 4 50, 700, 180. In the first round queue 1 sends 200 and keeps 300, in the second, with 800, its 750 and 20.
    let mut bench = drr(500, Limit::Unlimited);
    for (flow, sizes) in [(1, &[200, 750, 20][..]), (2, &[500, 500]), (3, &[200, 600, 100]), (4, &[50, 700, 180])] {
        sizes.iter().for_each(|&size| bench.arrive(NOW, flow, size));
    }
    while bench.serve(NOW).is_some() {}
    let order: Vec<_> = bench.sent.iter().map(|(_, packet)| (packet.flow, packet.size)).collect();
    let first = [(1, 200), (2, 500), (3, 200), (4, 50)];
    let second = [(1, 750), (1, 20), (2, 500), (3, 600), (3, 100), (4, 700), (4, 180)];
    assert_eq!(order, [&first[..], &second].concat());
}

#[test]
fn the_longest_queue_loses_packets_at_the_limit() {
    let mut bench = drr(1500, Limit::Packets(10));
    (0..10).for_each(|_| bench.arrive(NOW, 1, 1000));
    (0..4).for_each(|_| bench.arrive(NOW, 2, 1000));
    // Queue 1 had 10 packets and lost one for each of queue 2's.
    assert_eq!(
        bench.dropped.iter().map(|(_, packet, cause)| (packet.flow, packet.number, *cause)).collect::<Vec<_>>(),
        [(1, 9, Cause::Overflow), (1, 8, Cause::Overflow), (1, 7, Cause::Overflow), (1, 6, Cause::Overflow)]
    );
}

/// The paper's figure 4, for queues that are all full at the start.
fn paper(quantum: u64, backlog: &[Vec<u64>]) -> Vec<(u64, u64)> {
    let mut queues: Vec<VecDeque<u64>> = backlog.iter().map(|sizes| sizes.iter().copied().collect()).collect();
    let mut deficit = vec![0; queues.len()];
    let mut active: VecDeque<usize> = (0..queues.len()).filter(|&i| !queues[i].is_empty()).collect();
    let mut sent = Vec::new();
    while let Some(i) = active.pop_front() {
        deficit[i] += quantum;
        while let Some(&size) = queues[i].front().filter(|&&size| size <= deficit[i]) {
            deficit[i] -= size;
            queues[i].pop_front();
            sent.push((i as u64, size));
        }
        if queues[i].is_empty() {
            deficit[i] = 0;
        } else {
            active.push_back(i);
        }
    }
    sent
}

proptest! {
    #[test]
    fn the_order_is_that_of_the_paper(
        quantum in 100..4000u64,
        backlog in proptest::collection::vec(proptest::collection::vec(40..1515u64, 0..20), 1..6),
    ) {
        let mut bench = drr(quantum, Limit::Unlimited);
        for (flow, sizes) in backlog.iter().enumerate() {
            sizes.iter().for_each(|&size| bench.arrive(NOW, flow as u64, size));
        }
        while bench.serve(NOW).is_some() {}
        let order: Vec<_> = bench.sent.iter().map(|(_, packet)| (packet.flow, packet.size)).collect();
        prop_assert_eq!(order, paper(quantum, &backlog));
    }

    /// Backlogged flows get equal bytes, whatever the packet sizes.
    #[test]
    fn backlogged_flows_get_equal_bytes(
        quantum in 1514..4000u64,
        sizes in proptest::collection::vec(proptest::collection::vec(40..1515u64, 1..10), 2..6),
        services in 1..300usize,
    ) {
        let mut bench = drr(quantum, Limit::Unlimited);
        for (flow, sizes) in sizes.iter().enumerate() {
            (0..300).for_each(|n| bench.arrive(NOW, flow as u64, sizes[n % sizes.len()]));
        }
        for _ in 0..services {
            bench.serve(NOW);
            let sent: Vec<u64> = (0..sizes.len()).map(|flow| bench.sent_bytes(flow as u64)).collect();
            let gap = sent.iter().max().unwrap() - sent.iter().min().unwrap();
            prop_assert!(gap <= quantum + 2 * 1514, "{sent:?} with a quantum of {quantum}");
        }
    }
}
