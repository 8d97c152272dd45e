//! Laws of every discipline, on random arrivals: packets are conserved, flows keep their order, limits hold, and
//! disciplines that do not shape are work conserving.

use evenair_sched::{
    Cake, CakeConfig, CodelQueue, CodelQueueConfig, Discipline, Drr, DrrConfig, Fifo, FqCodel, FqCodelConfig, LasAck,
    LasAckConfig, Mac80211, Mac80211Config, Overflow, StationFifo,
};
use evenair_units::{Bytes, Instant, Limit, Span};
use proptest::prelude::*;

use crate::packets::{Bench, Pkt};

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Arrive { flow: u64, size: u64, takes_marks: bool },
    Serve,
}

pub fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let arrive = (0..5u64, 40..1515u64, any::<bool>()).prop_map(|(flow, size, takes_marks)| Step::Arrive {
        flow,
        size,
        takes_marks,
    });
    let step = prop_oneof![3 => arrive, 2 => Just(Step::Serve)];
    proptest::collection::vec((0..20_000u64, step), 0..400)
}

pub fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (1..40u32).prop_map(Limit::Packets),
        (1600..30_000u64).prop_map(|n| Limit::Bytes(Bytes(n))),
        Just(Limit::Unlimited)
    ]
}

fn holds(limit: Limit, discipline: &impl Discipline<Pkt>) -> bool {
    match limit {
        Limit::Packets(most) => discipline.len() <= most as usize,
        Limit::Bytes(most) => discipline.bytes() <= most,
        Limit::Unlimited => true,
    }
}

/// Runs the steps, then serves the rest. Checks the order in each flow and the conservation of packets on the way.
fn obeys(discipline: impl Discipline<Pkt>, limit: Limit, steps: &[(u64, Step)]) {
    let mut bench = Bench::new(discipline);
    let mut now = Instant::ZERO;
    for &(gap_us, step) in steps {
        now += Span::from_micros(gap_us);
        match step {
            Step::Arrive { flow, size, takes_marks } => {
                bench.arrive_as(now, Pkt { flow, host: flow % 2, size, takes_marks, ..Pkt::default() });
                assert!(holds(limit, &bench.discipline), "{} packets held", bench.discipline.len());
            }
            Step::Serve => {
                let had = !bench.discipline.is_empty();
                let sent = bench.serve(now).is_some();
                // CoDel may drop the last ones, but it sends the very last: nothing waits behind that.
                assert_eq!(sent, had, "it keeps the server waiting");
            }
        }
    }
    let held = bench.discipline.len();
    if held % 2 == 0 {
        while bench.serve(now).is_some() {}
    } else {
        assert_eq!(bench.discipline.take_all().len(), held);
    }
    assert!(bench.discipline.is_empty() && bench.discipline.bytes() == Bytes::ZERO);
    assert!(bench.discipline.poll_packet(now).is_none());
    assert!(bench.sent.iter().all(|(_, packet)| packet.marked <= packet.takes_marks));
}

fn las_ack() -> impl Strategy<Value = LasAckConfig> {
    let floor = proptest::option::of(1..10u32);
    (limits(), any::<bool>(), floor, 1..6u32, 1..1000u64).prop_map(|(limit, evicts, floor, connections, expire_ms)| {
        let overflow = if evicts { Overflow::MostServed } else { Overflow::TailDrop };
        LasAckConfig { limit, overflow, floor, connections, expire: Span::from_millis(expire_ms) }
    })
}

proptest! {
    #[test]
    fn fifo_obeys(steps in steps(), limit in limits()) {
        obeys(Fifo::new(limit), limit, &steps);
    }

    #[test]
    fn codel_obeys(steps in steps(), limit in limits(), ecn in any::<bool>()) {
        obeys(CodelQueue::new(CodelQueueConfig { ecn, ..CodelQueueConfig::default() }, limit), limit, &steps);
    }

    #[test]
    fn drr_obeys(steps in steps(), limit in limits(), quantum in 100..3000u64) {
        obeys(Drr::new(DrrConfig { quantum: Bytes(quantum), limit }), limit, &steps);
    }

    #[test]
    fn fq_codel_obeys(steps in steps(), limit in limits(), flows in 1..8u32, quantum in 100..3000u64, seed in any::<u64>()) {
        let config = FqCodelConfig { flows, quantum: Bytes(quantum), limit, seed, ..FqCodelConfig::default() };
        obeys(FqCodel::new(config), limit, &steps);
    }

    #[test]
    fn cake_obeys(steps in steps(), limit in limits(), queues in 1..12u32, quantum in 100..3000u64, seed in any::<u64>()) {
        let config = CakeConfig { queues, quantum: Bytes(quantum), limit, seed, ..CakeConfig::default() };
        obeys(Cake::new(config), limit, &steps);
    }

    #[test]
    fn las_ack_obeys(steps in steps(), config in las_ack()) {
        obeys(LasAck::new(config), config.limit, &steps);
    }

    #[test]
    fn mac80211_obeys(steps in steps(), limit in limits(), queues in 1..8u32, seed in any::<u64>()) {
        obeys(Mac80211::new(Mac80211Config { limit, queues, seed, ..Mac80211Config::default() }), limit, &steps);
    }

    /// The limit is that of each station.
    #[test]
    fn station_fifo_obeys(steps in steps(), limit in limits()) {
        let of_two = match limit {
            Limit::Packets(n) => Limit::Packets(2 * n),
            Limit::Bytes(n) => Limit::Bytes(Bytes(2 * n.0)),
            Limit::Unlimited => limit,
        };
        obeys(StationFifo::new(limit), of_two, &steps);
    }

    /// Comparison with a plain queue of numbers.
    #[test]
    fn fifo_is_a_queue(steps in steps(), room in 1..20u32) {
        let mut bench = Bench::new(Fifo::new(Limit::Packets(room)));
        let mut model = std::collections::VecDeque::new();
        for &(_, step) in &steps {
            match step {
                Step::Arrive { flow, size, .. } => {
                    bench.arrive(Instant::ZERO, flow, size);
                    if model.len() < room as usize {
                        model.push_back((flow, size));
                    }
                }
                Step::Serve => {
                    let sent = bench.serve(Instant::ZERO).map(|packet| (packet.flow, packet.size));
                    prop_assert_eq!(sent, model.pop_front());
                }
            }
        }
    }
}
