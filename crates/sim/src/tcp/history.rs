//! When each segment outstanding was sent, for a round-trip sample from every acknowledgment without timestamps: as in ns-3
//! (see [`Quirks`](super::config::Quirks)). Other stacks time one segment per round trip.

use std::collections::VecDeque;
use std::ops::Range;

use evenair_units::{Instant, Span};

/// First transmissions of the data outstanding, in stream order.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    sent: VecDeque<Sent>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Instant,
    /// Retransmitted: an acknowledgment may be for either transmission (Karn).
    again: bool,
}

impl History {
    /// Records new data up to `end`.
    pub(super) fn on_sent(&mut self, end: u64, at: Instant) {
        self.sent.push_back(Sent { end, at, again: false });
    }

    /// Records a retransmission.
    pub(super) fn on_sent_again(&mut self, piece: Range<u64>) {
        let first = self.sent.partition_point(|sent| sent.end <= piece.start);
        if let Some(sent) = self.sent.get_mut(first) {
            sent.again = true;
        }
    }

    /// Handles an acknowledgment up to `una`: returns the time since the first segment that it covers was sent, unless that
    /// was retransmitted.
    pub(super) fn on_acked(&mut self, una: u64, now: Instant) -> Option<Span> {
        let sample = self.sent.front().filter(|first| first.end <= una && !first.again).map(|first| now - first.at);
        while self.sent.front().is_some_and(|sent| sent.end <= una) {
            self.sent.pop_front();
        }
        if self.sent.is_empty() {
            self.sent.clear(); // the deque restarts at the same memory instead of moving through it
        }
        sample
    }

    /// Handles an expired timer: nothing outstanding gives a sample any more.
    pub(super) fn clear(&mut self) {
        self.sent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_segment_that_is_acknowledged_gives_the_sample_unless_it_was_sent_again() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut history = History::default();
        for (end, ms) in [(10, 1), (20, 2), (30, 3), (40, 4)] {
            history.on_sent(end, at(ms));
        }
        assert_eq!(history.on_acked(20, at(101)), Some(Span::from_millis(100)), "the first of two");
        assert_eq!(history.on_acked(25, at(102)), None, "a part of one");
        history.on_sent_again(20..30);
        assert_eq!(history.on_acked(30, at(103)), None);
        assert_eq!(history.on_acked(40, at(104)), Some(Span::from_millis(100)));
        history.on_sent(50, at(200));
        history.clear();
        assert_eq!(history.on_acked(50, at(300)), None);
    }
}
