//! Counters of the queues of access categories, with EDCA: arrivals, departures by outcome, and sojourn times, by period.

use std::iter::repeat_with;

use evenair_medium::AccessCategory;
use evenair_results::histogram::Histogram;
use evenair_results::period::CategoryPeriod;
use evenair_units::{Instant, Span};

use crate::occupancy::Occupancy;
use crate::records::Records;

/// The queues of all senders.
#[derive(Debug)]
pub(crate) struct Categories {
    senders: Vec<[Queue; 4]>,
    /// Sojourn times of each queue, the four of a sender in a row.
    sojourns: Records<Histogram>,
    since: Instant,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Queue {
    offered: u64,
    delivered: u64,
    lost: u64,
    frames: Occupancy,
}

impl Categories {
    pub(crate) fn new(senders: usize) -> Self {
        let queues = repeat_with(Default::default).take(senders).collect();
        let sojourns = Records::new(repeat_with(Histogram::default).take(4 * senders));
        Self { senders: queues, sojourns, since: Instant::ZERO }
    }

    fn queue(&mut self, sender: usize, category: AccessCategory) -> &mut Queue {
        &mut self.senders[sender][category.index()]
    }

    /// Counts the arrival of a frame that was due at `due`, which may be past.
    pub(crate) fn arrive(&mut self, sender: usize, category: AccessCategory, now: Instant, due: Instant) {
        let queue = self.queue(sender, category);
        queue.offered += 1;
        queue.frames.arrive(now, due);
    }

    /// Counts frames that were lost before they entered the buffer.
    pub(crate) fn never_arrived(&mut self, sender: usize, category: AccessCategory, frames: u64) {
        let queue = self.queue(sender, category);
        queue.offered += frames;
        queue.lost += frames;
    }

    pub(crate) fn deliver(&mut self, sender: usize, category: AccessCategory, at: Instant, sojourn: Span) {
        let queue = self.queue(sender, category);
        queue.frames.leave(at, false);
        queue.delivered += 1;
        self.sojourns.enter(4 * sender + category.index(), sojourn);
    }

    /// Counts a frame that was lost from the buffer, or that `found_no_room` in it.
    pub(crate) fn lose(&mut self, sender: usize, category: AccessCategory, at: Instant, found_no_room: bool) {
        let queue = self.queue(sender, category);
        queue.frames.leave(at, found_no_room);
        queue.lost += 1;
    }

    /// Ends a period; returns the counters of each sender.
    pub(crate) fn take(&mut self, now: Instant) -> Vec<Vec<CategoryPeriod>> {
        let length_ns = now.saturating_since(std::mem::replace(&mut self.since, now)).as_nanos();
        let sojourns = self.sojourns.all().chunks_mut(4);
        let of = |(queues, sojourns): (&mut [Queue; 4], &mut [Histogram])| {
            let queues = queues.iter_mut().zip(sojourns);
            queues.map(|(queue, sojourn)| queue.take(now, length_ns, sojourn)).collect()
        };
        self.senders.iter_mut().zip(sojourns).map(of).collect()
    }
}

impl Queue {
    fn take(&mut self, now: Instant, length_ns: u64, sojourn: &mut Histogram) -> CategoryPeriod {
        let (area_ns, most) = self.frames.take(now);
        CategoryPeriod {
            offered: std::mem::take(&mut self.offered),
            delivered: std::mem::take(&mut self.delivered),
            lost: std::mem::take(&mut self.lost),
            area_ns,
            length_ns,
            most,
            sojourn: sojourn.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_by_hand() {
        let ms = |ms| Instant::ZERO + Span::from_millis(ms);
        let voice = AccessCategory::Voice;
        let mut categories = Categories::new(2);
        categories.arrive(1, voice, ms(0), ms(0));
        categories.arrive(1, voice, ms(4), ms(4));
        categories.arrive(1, voice, ms(4), ms(4));
        categories.lose(1, voice, ms(4), true);
        categories.deliver(1, voice, ms(6), Span::from_millis(6));
        categories.never_arrived(1, voice, 2);
        let [first, second] = [ms(8), ms(10)].map(|at| categories.take(at)[1][3].clone());
        assert_eq!((first.offered, first.delivered, first.lost, first.most), (5, 1, 3, 2));
        // One frame for 6 ms and one for 4 ms, 8 ms in all; then one frame for 2 ms.
        assert_eq!((first.area_ns, first.length_ns), (10_000_000, 8_000_000));
        assert_eq!((second.area_ns, second.length_ns, second.most), (2_000_000, 2_000_000, 1));
        assert_eq!(first.sojourn.distribution().map(|times| times.max_ms), Some(6.0));
    }
}
