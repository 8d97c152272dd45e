//! Round robin of drop-tail queues, one for each station.

use evenair_sched::{Cause, StationFifo};
use evenair_units::{Instant, Limit};

use crate::packets::{Bench, Pkt};

fn to(host: u64, size: u64) -> Pkt {
    Pkt { flow: host, host, size, ..Pkt::default() }
}

#[test]
fn each_station_has_its_own_limit_and_one_packet_in_its_turn() {
    let mut bench = Bench::new(StationFifo::new(Limit::Packets(10)));
    // Sizes do not matter.
    for _ in 0..20 {
        bench.arrive_as(Instant::ZERO, to(1, 1500));
    }
    for host in [2, 3] {
        (0..4).for_each(|_| bench.arrive_as(Instant::ZERO, to(host, 60)));
    }
    let lost: Vec<_> = bench.dropped.iter().map(|&(_, packet, cause)| (packet.host, packet.number, cause)).collect();
    assert_eq!(lost, (10..20).map(|number| (1, number, Cause::Overflow)).collect::<Vec<_>>());
    let served: Vec<u64> = std::iter::from_fn(|| bench.serve(Instant::ZERO).map(|packet| packet.host)).collect();
    assert_eq!(served, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn a_station_that_was_empty_waits_for_one_packet_of_each_other() {
    let mut bench = Bench::new(StationFifo::new(Limit::Unlimited));
    for host in [1, 2, 3] {
        (0..5).for_each(|_| bench.arrive_as(Instant::ZERO, to(host, 1500)));
    }
    bench.serve(Instant::ZERO);
    bench.arrive_as(Instant::ZERO, to(4, 60));
    let served: Vec<u64> = (0..4).map(|_| bench.serve(Instant::ZERO).expect("it has packets").host).collect();
    assert_eq!(served, [2, 3, 1, 4]);
}
