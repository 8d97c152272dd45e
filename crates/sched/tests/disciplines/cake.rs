//! CAKE: equal bytes for hosts, priority for sparse flows, few shared queues, and limits for unresponsive flows.

use evenair_sched::{Cake, CakeConfig, Cause, CodelConfig};
use evenair_units::{Bytes, Instant, Limit, Span};
use proptest::prelude::*;

use crate::packets::{Bench, Pkt, at_us};

const NOW: Instant = Instant::ZERO;

fn cake(config: CakeConfig) -> Bench<Cake<Pkt>> {
    Bench::new(Cake::new(config))
}

/// A target that no packet exceeds.
fn patient() -> CakeConfig {
    let codel = CodelConfig { target: Span::from_secs(10), ..CodelConfig::RFC };
    CakeConfig { codel, limit: Limit::Unlimited, ..CakeConfig::default() }
}

fn arrive(bench: &mut Bench<Cake<Pkt>>, now: Instant, host: u64, flow: u64, size: u64) {
    bench.arrive_as(now, Pkt { host, flow: 1000 * host + flow, size, ..Pkt::default() });
}

fn serve(bench: &mut Bench<Cake<Pkt>>, packets: u64) {
    for _ in 0..packets {
        bench.serve(NOW);
    }
}

fn bytes_of_host(bench: &Bench<Cake<Pkt>>, host: u64) -> u64 {
    bench.sent.iter().filter(|(_, packet)| packet.host == host).map(|(_, packet)| packet.size).sum()
}

#[test]
fn a_host_with_more_flows_gets_no_more() {
    let mut bench = cake(patient());
    for flow in 0..10 {
        (0..300).for_each(|_| arrive(&mut bench, NOW, 1, flow, 1500));
    }
    (0..1500).for_each(|_| arrive(&mut bench, NOW, 2, 0, 1500));
    serve(&mut bench, 2000);
    let (many, one) = (bytes_of_host(&bench, 1) as f64, bytes_of_host(&bench, 2) as f64);
    assert!((many / one - 1.0).abs() < 0.02, "{many} for ten flows, {one} for one");
    // Its ten flows get equal shares, too.
    let flows: Vec<_> = (0..10).map(|flow| bench.sent_bytes(1000 + flow) / 1500).collect();
    assert!(flows.iter().all(|&packets| (98..=102).contains(&packets)), "{flows:?}");
}

#[test]
fn a_sparse_flow_has_priority_over_backlogged_ones() {
    let mut bench = cake(patient());
    for host in 0..3 {
        (0..100).for_each(|_| arrive(&mut bench, NOW, host, 0, 1500));
    }
    serve(&mut bench, 6);
    arrive(&mut bench, NOW, 7, 0, 100);
    assert_eq!(bench.serve(NOW).map(|packet| packet.host), Some(7));
}

#[test]
fn an_unresponsive_flow_loses_packets_and_others_do_not() {
    let limit = Limit::Packets(200);
    let mut bench = cake(CakeConfig { limit, ..CakeConfig::default() });
    // A server of 1000 packets per second: one flow sends four times that, the other a fifth.
    for ms in 0..20_000 {
        for quarter in 0..4 {
            arrive(&mut bench, at_us(ms * 1000 + 250 * quarter), 1, 0, 1000);
        }
        if ms % 5 == 0 {
            arrive(&mut bench, at_us(ms * 1000 + 900), 2, 0, 1000);
        }
        bench.serve(at_us(ms * 1000 + 999));
    }
    let lost = |host| bench.dropped.iter().filter(|(_, packet, _)| packet.host == host).count();
    assert_eq!(lost(2), 0);
    assert_eq!(bytes_of_host(&bench, 2), 4_000_000);
    // Delay-based signals come ever more often, and BLUE adds drops: finally hardly any drop is an overflow.
    let late = bench.dropped.iter().filter(|(at, ..)| *at > at_us(15_000_000));
    let (overflows, all) = late
        .fold((0, 0), |(overflows, all), (.., cause)| (overflows + usize::from(*cause == Cause::Overflow), all + 1));
    assert!(all > 10_000 && overflows * 20 < all, "{overflows} of {all}");
}

#[test]
fn a_thousand_flows_hardly_share_queues() {
    // Each sends one packet, then each a second one: with separate queues each flow's first precedes all seconds.
    let shared = |flows: u64, cake: &mut Bench<Cake<Pkt>>| {
        for _ in 0..2 {
            (0..flows).for_each(|host| arrive(cake, NOW, host, 0, 1514));
        }
        let first: Vec<_> = (0..flows).filter_map(|_| cake.serve(NOW)).collect();
        first.iter().filter(|packet| packet.number > 0).count()
    };
    assert_eq!(shared(400, &mut cake(patient())), 0);
}

#[test]
fn ecn_capable_packets_are_marked_instead_of_dropped() {
    let mut bench = cake(CakeConfig { limit: Limit::Unlimited, ..CakeConfig::default() });
    for ms in 0..2000 {
        (0..2).for_each(|_| {
            bench.arrive_as(at_us(ms * 1000), Pkt { flow: 1, size: 1000, takes_marks: true, ..Pkt::default() });
        });
        bench.serve(at_us(ms * 1000 + 999));
    }
    assert_eq!(bench.dropped.len(), 0);
    let marked = bench.sent.iter().filter(|(_, packet)| packet.marked).count();
    assert!((100..1000).contains(&marked), "{marked}");
}

proptest! {
    /// Deficit round robin between hosts: a quantum and a packet in each round, for each of a host's flows.
    #[test]
    fn backlogged_hosts_get_equal_bytes(
        quantum in 1514..4000u64,
        hosts in proptest::collection::vec((1..6u64, 400..1515u64), 2..5),
        services in 1..300u64,
    ) {
        let mut bench = cake(CakeConfig { quantum: Bytes(quantum), ..patient() });
        for (host, &(flows, size)) in hosts.iter().enumerate() {
            (0..1000).for_each(|n| arrive(&mut bench, NOW, host as u64, n % flows, size));
        }
        // Until each flow has used the quantum of a new flow, which favours hosts with many flows.
        let flows: u64 = hosts.iter().map(|(flows, _)| flows).sum();
        let is_new_for = 2 * flows * (quantum / 400 + 1);
        serve(&mut bench, is_new_for);
        let before: Vec<u64> = (0..hosts.len()).map(|host| bytes_of_host(&bench, host as u64)).collect();
        serve(&mut bench, services);
        let sent: Vec<u64> = (0..hosts.len()).map(|host| bytes_of_host(&bench, host as u64) - before[host]).collect();
        let gap = sent.iter().max().unwrap() - sent.iter().min().unwrap();
        prop_assert!(gap <= 2 * (quantum + 6 * 1514), "{sent:?} with a quantum of {quantum}");
    }
}
