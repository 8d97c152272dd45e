//! Per-sender counters on the air, frame by frame: frames that entered the buffer, their TX status, and their sojourn time.
//! Access points come first, then stations, as in the results.

use std::collections::BTreeMap;

use evenair_medium::{Counters, DropReason};
use evenair_results::histogram::{Histogram, Times};
use evenair_units::{Instant, Span};

/// Reason of a loss at the sender or on the air.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Loss {
    /// Lost on the medium, dropped by a full queue, or its node left.
    Medium(DropReason),
    /// Dropped by a queue that was too long for too long.
    QueueDelay,
}

/// Counters of all senders.
#[derive(Debug)]
pub struct Senders {
    all: Vec<Sender>,
}

#[derive(Debug, Default)]
struct Sender {
    counted: Counted,
    sojourn: Histogram,
    /// Frames in its buffer, including that in service.
    packets: u64,
    /// Time up to which the occupancy is counted.
    since: Instant,
    /// Counters of its attempts at the last call of [`Senders::take`].
    counters: Counters,
}

/// Counters of one sender in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Frames that arrived at its buffer, including those that found no room.
    pub offered: u64,
    /// Delivered frames.
    pub delivered: u64,
    /// Lost frames.
    pub lost: BTreeMap<Loss, u64>,
    /// Counters of its attempts.
    pub counters: Counters,
    /// Delivered frames by number of attempts, from one on.
    pub by_attempts: Vec<u64>,
    /// Times from arrival in the buffer to delivery.
    pub sojourn: Times,
    /// Packet-nanoseconds in its buffer.
    pub area_ns: u128,
    /// Nanoseconds in which the buffer was not empty.
    pub occupied_ns: u64,
    /// Maximum number of packets in the buffer.
    pub most: u64,
}

impl Senders {
    /// This number of senders, without frames.
    pub fn new(senders: usize) -> Self {
        Self { all: std::iter::repeat_with(Sender::default).take(senders).collect() }
    }

    /// Counts a frame that arrives at a sender's buffer, which may have no room for it.
    pub fn arrive(&mut self, sender: usize, now: Instant) {
        let sender = &mut self.all[sender];
        sender.advance(now);
        sender.packets += 1;
        sender.counted.offered += 1;
    }

    /// Counts a frame that arrived at `enqueued` and was delivered at `at`.
    pub fn deliver(&mut self, sender: usize, at: Instant, enqueued: Instant, attempts: u32) {
        let sender = &mut self.all[sender];
        sender.leave(at);
        sender.sojourn.record(at.saturating_since(enqueued));
        let counted = &mut sender.counted;
        counted.delivered += 1;
        let place = attempts.saturating_sub(1) as usize;
        if place >= counted.by_attempts.len() {
            counted.by_attempts.resize(place + 1, 0);
        }
        counted.by_attempts[place] += 1;
    }

    /// Counts a frame that was lost at `at`.
    pub fn lose(&mut self, sender: usize, at: Instant, why: Loss) {
        let sender = &mut self.all[sender];
        sender.leave(at);
        *sender.counted.lost.entry(why).or_default() += 1;
    }

    /// Counters of each sender since the last call; `counters` gives a sender's totals of attempts.
    pub fn take(&mut self, now: Instant, counters: impl Fn(usize) -> Counters) -> Vec<Counted> {
        let take = |(number, sender): (usize, &mut Sender)| sender.take(now, counters(number));
        self.all.iter_mut().enumerate().map(take).collect()
    }
}

impl Sender {
    fn leave(&mut self, at: Instant) {
        self.advance(at);
        self.packets = self.packets.saturating_sub(1);
    }

    /// Adds the occupancy up to now. A frame that finds no room never occupies the buffer, so that only remaining frames
    /// count for the maximum.
    fn advance(&mut self, now: Instant) {
        let passed = now.saturating_since(self.since);
        if passed > Span::ZERO {
            self.counted.area_ns += u128::from(passed.as_nanos()) * u128::from(self.packets);
            self.counted.occupied_ns += if self.packets > 0 { passed.as_nanos() } else { 0 };
            self.counted.most = self.counted.most.max(self.packets);
            self.since = now;
        }
    }

    fn take(&mut self, now: Instant, counters: Counters) -> Counted {
        self.advance(now);
        let before = std::mem::replace(&mut self.counters, counters);
        let next = Counted { most: self.packets, ..Counted::default() };
        Counted {
            counters: counters - before,
            sojourn: self.sojourn.take(),
            ..std::mem::replace(&mut self.counted, next)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn every_frame_is_delivered_lost_or_still_there() {
        let mut senders = Senders::new(2);
        (0..4).for_each(|k| senders.arrive(1, ms(k)));
        senders.deliver(1, ms(5), ms(0), 1);
        senders.deliver(1, ms(9), ms(1), 3);
        senders.lose(1, ms(10), Loss::Medium(DropReason::RetryLimit));
        let counters = Counters { attempts: 11, ..Counters::default() };
        let [idle, busy] = &senders.take(ms(20), |_| counters)[..] else { panic!("two") };
        assert_eq!((idle.offered, idle.delivered, idle.area_ns), (0, 0, 0));
        assert_eq!((busy.offered, busy.delivered, &busy.by_attempts[..]), (4, 2, &[1, 0, 1][..]));
        assert_eq!(busy.lost, BTreeMap::from([(Loss::Medium(DropReason::RetryLimit), 1)]));
        assert_eq!((busy.most, busy.counters.attempts), (4, 11));
        // 1 + 2 + 3 ms while they arrived, 2 ms of four, 4 ms of three, 1 ms of two, 10 ms of one.
        assert_eq!(busy.area_ns, (1 + 2 + 3 + 8 + 12 + 2 + 10) * 1_000_000);
        assert_eq!(busy.occupied_ns, 20_000_000);
        let times = busy.sojourn.distribution().expect("two frames");
        assert_eq!((times.count, times.min_ms, times.max_ms), (2, 5.0, 8.0));
        let [_, later] = &senders.take(ms(21), |_| counters)[..] else { panic!("two") };
        assert_eq!((later.offered, later.most, later.area_ns, later.counters.attempts), (0, 1, 1_000_000, 0));
    }

    #[test]
    fn a_frame_that_finds_no_room_is_not_in_the_occupancy() {
        let mut senders = Senders::new(1);
        senders.arrive(0, ms(1));
        senders.arrive(0, ms(2));
        senders.lose(0, ms(2), Loss::Medium(DropReason::BufferFull));
        senders.deliver(0, ms(4), ms(1), 1);
        let counted = senders.take(ms(5), |_| Counters::default());
        assert_eq!((counted[0].most, counted[0].area_ns), (1, 3_000_000));
    }
}
