//! Per-sender counters on the air, frame by frame: frames that entered the buffer, their TX status, and their sojourn time.
//! Access points come first, then stations, as in the results.

use std::collections::BTreeMap;

use evenair_medium::{Counters, DropReason};
use evenair_results::histogram::{Histogram, Times};
use evenair_units::{Instant, Span};

/// Why a frame was lost at its sender or on the air.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Loss {
    /// By the medium; or the queue in front of it was full, or its node left.
    Medium(DropReason),
    /// By a queue that had been too long for too long.
    QueueDelay,
}

/// All senders.
#[derive(Debug)]
pub struct Senders {
    all: Vec<Sender>,
}

#[derive(Debug, Default)]
struct Sender {
    counted: Counted,
    sojourn: Histogram,
    /// In its buffer, that in service included.
    packets: u64,
    /// Up to when the time in the buffer has been added up.
    since: Instant,
    /// All that was counted of its attempts before the last call of [`Senders::take`].
    counters: Counters,
}

/// What was counted of one sender in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Frames that came to its buffer, those included that found no room.
    pub offered: u64,
    /// Frames that it delivered.
    pub delivered: u64,
    /// Frames that were lost there.
    pub lost: BTreeMap<Loss, u64>,
    /// Of its attempts.
    pub counters: Counters,
    /// Delivered frames by the attempts that they took, from one on.
    pub by_attempts: Vec<u64>,
    /// From a frame's arrival in the buffer to its delivery.
    pub sojourn: Times,
    /// Packets in its buffer times nanoseconds.
    pub area_ns: u128,
    /// Nanoseconds in which there was any.
    pub occupied_ns: u64,
    /// The most that the buffer held.
    pub most: u64,
}

impl Senders {
    /// This number of senders, without frames.
    pub fn new(senders: usize) -> Self {
        Self { all: std::iter::repeat_with(Sender::default).take(senders).collect() }
    }

    /// A frame comes to a sender's buffer, which may have no room for it.
    pub fn arrive(&mut self, sender: usize, now: Instant) {
        let sender = &mut self.all[sender];
        sender.advance(now);
        sender.packets += 1;
        sender.counted.offered += 1;
    }

    /// A frame was delivered at `at` that had come at `enqueued`.
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

    /// A frame was lost at `at`.
    pub fn lose(&mut self, sender: usize, at: Instant, why: Loss) {
        let sender = &mut self.all[sender];
        sender.leave(at);
        *sender.counted.lost.entry(why).or_default() += 1;
    }

    /// What was counted of each since the last call; `counters` says what was counted of its attempts since ever.
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

    /// What is in the buffer has been there until now. A frame that found no room never was, so the most counts only what
    /// stays.
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
        // 1 + 2 + 3 ms while they came, 2 ms of four, 4 of three, 1 of two, 10 of one.
        assert_eq!(busy.area_ns, (1 + 2 + 3 + 8 + 12 + 2 + 10) * 1_000_000);
        assert_eq!(busy.occupied_ns, 20_000_000);
        let times = busy.sojourn.distribution().expect("two frames");
        assert_eq!((times.count, times.min_ms, times.max_ms), (2, 5.0, 8.0));
        let [_, later] = &senders.take(ms(21), |_| counters)[..] else { panic!("two") };
        assert_eq!((later.offered, later.most, later.area_ns, later.counters.attempts), (0, 1, 1_000_000, 0));
    }

    #[test]
    fn one_that_finds_no_room_was_never_there() {
        let mut senders = Senders::new(1);
        senders.arrive(0, ms(1));
        senders.arrive(0, ms(2));
        senders.lose(0, ms(2), Loss::Medium(DropReason::BufferFull));
        senders.deliver(0, ms(4), ms(1), 1);
        let counted = senders.take(ms(5), |_| Counters::default());
        assert_eq!((counted[0].most, counted[0].area_ns), (1, 3_000_000));
    }
}
