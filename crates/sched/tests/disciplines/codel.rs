//! CoDel against the control law's closed form and against a direct floating-point version of RFC 8289's pseudo-code.

use std::collections::VecDeque;

use evenair_sched::{Cause, CodelQueue, CodelQueueConfig};
use evenair_units::{Instant, Limit, Span};
use proptest::prelude::*;

use crate::laws::{Step, steps};
use crate::packets::{Bench, Pkt, at_us};

const MS: u64 = 1_000;

fn codel(ecn: bool) -> Bench<CodelQueue<Pkt>> {
    Bench::new(CodelQueue::new(CodelQueueConfig { ecn, ..CodelQueueConfig::default() }, Limit::Unlimited))
}

/// Offers a packet of 1000 bytes each 0.9 ms, and serves one each millisecond.
fn overload(bench: &mut Bench<CodelQueue<Pkt>>, until_ms: u64, takes_marks: bool) {
    let mut arrival_us = 0;
    for ms in 1..until_ms {
        while arrival_us <= ms * MS {
            bench.arrive_as(at_us(arrival_us), Pkt { size: 1000, takes_marks, ..Pkt::default() });
            arrival_us += 900;
        }
        bench.serve(at_us(ms * MS));
    }
}

#[test]
fn drops_come_at_intervals_over_the_root_of_their_number() {
    let mut bench = codel(false);
    overload(&mut bench, 1000, false);
    let times: Vec<f64> = bench.dropped.iter().map(|(at, _, _)| at.as_nanos() as f64 / 1e6).collect();
    assert!(bench.dropped.iter().all(|&(_, _, cause)| cause == Cause::Delay) && times.len() > 15, "{times:?}");
    // Packet n comes at 0.9 n ms and leaves at n + 1 ms: the 40th is the first to wait 5 ms, 100 ms before the first drop.
    assert_eq!(times[0], 141.0);
    let mut due = times[0];
    for (n, &time) in times.iter().enumerate().skip(1) {
        due += 100.0 / (n as f64).sqrt();
        // Each drop comes at the next departure: within a millisecond.
        assert!(time >= due - 1e-6 && time < due + 1.000_001, "drop {n} at {time} ms, due at {due}");
    }
}

#[test]
fn ecn_capable_packets_are_marked_when_others_would_be_dropped() {
    let (mut drops, mut marks) = (codel(false), codel(true));
    overload(&mut drops, 1000, false);
    overload(&mut marks, 1000, true);
    assert!(marks.dropped.is_empty());
    let marked: Vec<Instant> = marks.sent.iter().filter(|(_, packet)| packet.marked).map(|&(at, _)| at).collect();
    let dropped: Vec<Instant> = drops.dropped.iter().map(|&(at, _, _)| at).collect();
    assert_eq!(marked, dropped);
    // Packets that are not ECN-capable are dropped.
    let mut deaf = codel(true);
    overload(&mut deaf, 1000, false);
    assert_eq!(deaf.dropped.len(), dropped.len());
}

#[test]
fn a_burst_that_drains_within_the_interval_is_not_signalled() {
    let mut bench = codel(false);
    (0..90).for_each(|_| bench.arrive(Instant::ZERO, 0, 1000));
    for ms in 1..=90 {
        assert!(bench.serve(at_us(ms * MS)).is_some());
    }
    assert!(bench.dropped.is_empty());
}

#[test]
fn a_standing_queue_soon_after_another_resumes_its_rate_of_signals() {
    let mut bench = codel(false);
    overload(&mut bench, 1000, false);
    let before = bench.dropped.len();
    let end = at_us(1000 * MS);
    while bench.serve(end).is_some() {}
    let dropped_meanwhile = bench.dropped.len();
    // A standing queue again at once, for 200 ms.
    (0..300).for_each(|_| bench.arrive(end, 0, 1000));
    for ms in 0..250 {
        bench.serve(end + Span::from_millis(ms));
    }
    let again = &bench.dropped[dropped_meanwhile..];
    assert!(before > 15 && again.len() > 5, "{before} drops before, {} after", again.len());
    let gap = again[1].0 - again[0].0;
    assert!(gap < Span::from_millis(60), "the first gap is {gap}, of a fresh start it would be 100 ms");
}

/// RFC 8289, sections 5.3 and 5.4, literally; times in seconds.
#[derive(Default)]
struct Rfc {
    queue: VecDeque<(f64, u64, u64)>,
    bytes: u64,
    first_above_time: f64,
    drop_next: f64,
    count: f64,
    lastcount: f64,
    dropping: bool,
    dropped: Vec<u64>,
}

impl Rfc {
    fn dodeque(&mut self, now: f64) -> (Option<u64>, bool) {
        let Some((since, number, size)) = self.queue.pop_front() else {
            self.first_above_time = 0.0;
            return (None, false);
        };
        self.bytes -= size;
        let mut ok = false;
        if now - since < 0.005 - 1e-12 || self.bytes <= 1514 {
            self.first_above_time = 0.0;
        } else if self.first_above_time == 0.0 {
            self.first_above_time = now + 0.1;
        } else {
            ok = now >= self.first_above_time - 1e-12;
        }
        (Some(number), ok)
    }

    fn deque(&mut self, now: f64) -> Option<u64> {
        let (mut packet, mut ok) = self.dodeque(now);
        if self.dropping {
            self.dropping = ok;
            while now >= self.drop_next && self.dropping {
                self.dropped.extend(packet);
                self.count += 1.0;
                (packet, ok) = self.dodeque(now);
                if ok {
                    self.drop_next += 0.1 / self.count.sqrt();
                } else {
                    self.dropping = false;
                }
            }
        } else if ok {
            self.dropped.extend(packet);
            (packet, _) = self.dodeque(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = if delta > 1.0 && now - self.drop_next < 1.6 { delta } else { 1.0 };
            self.drop_next = now + 0.1 / self.count.sqrt();
            self.lastcount = self.count;
        }
        packet
    }
}

proptest! {
    #[test]
    fn decisions_are_those_of_the_rfc(steps in steps()) {
        // No two instants are a whole number of microseconds apart, as the target and the law's times are: at a tie the
        // rounded seconds of the reference could fall on either side.
        let mut bench = codel(false);
        let mut rfc = Rfc::default();
        let mut now = Span::from_nanos(100);
        let mut number = 0;
        for &(gap_us, step) in &steps {
            now += Span::from_micros(gap_us / 2) + Span::from_nanos(1);
            match step {
                Step::Arrive { size, .. } => {
                    bench.arrive(Instant::ZERO + now, 0, size);
                    rfc.queue.push_back((now.as_secs_f64(), number, size));
                    rfc.bytes += size;
                    number += 1;
                }
                Step::Serve => {
                    let sent = bench.serve(Instant::ZERO + now).map(|packet| packet.number);
                    prop_assert_eq!(sent, rfc.deque(now.as_secs_f64()));
                }
            }
        }
        let dropped: Vec<u64> = bench.dropped.iter().map(|(_, packet, _)| packet.number).collect();
        prop_assert_eq!(dropped, rfc.dropped);
    }
}

#[test]
fn a_queue_of_one_packet_is_never_dropped_from() {
    let mut bench = codel(false);
    for round in 0..100 {
        bench.arrive(at_us(round * 200 * MS), 0, 1500);
        assert!(bench.serve(at_us(round * 200 * MS + 150 * MS)).is_some());
    }
    assert!(bench.dropped.is_empty());
}
