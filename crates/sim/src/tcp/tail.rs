//! Tail loss probes (RFC 8985, section 7): if the end of a flight is lost, no ACK shows that. Before the retransmission timer
//! expires one more segment is sent, and the SACK that it causes starts fast recovery.

use std::collections::VecDeque;

use evenair_units::{Instant, Span};

/// State of tail loss probes. Empty and without allocations if they are not in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    /// Ends of the data outstanding, and when it was first sent: one entry for all segments sent together.
    sent: VecDeque<(u64, Instant)>,
    due: bool,
    probe: Option<Probe>,
}

/// A probe that is not acknowledged yet (`TLP.end_seq`, `TLP.is_retrans`).
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// End of the stream sent, including the probe.
    end: u64,
    /// The probe retransmitted the last segment, instead of sending new data.
    is_again: bool,
    at: Instant,
}

impl Tail {
    /// Records new data up to `end`.
    pub(super) fn on_sent(&mut self, end: u64, now: Instant) {
        match self.sent.back_mut() {
            Some(last) if last.1 == now => last.0 = end,
            _ => self.sent.push_back((end, now)),
        }
    }

    /// Everything below `una` is acknowledged.
    pub(super) fn on_acked(&mut self, una: u64) {
        while self.sent.front().is_some_and(|&(end, _)| end <= una) {
            self.sent.pop_front();
        }
    }

    /// When the data that ends at `end` was first sent, if that is outstanding.
    pub(super) fn sent_at(&self, end: u64) -> Option<Instant> {
        self.sent.get(self.sent.partition_point(|&(last, _)| last < end)).map(|&(_, at)| at)
    }

    /// End of the outstanding data that was first sent at `time` or before, if any.
    pub(super) fn end_sent_by(&self, time: Instant) -> Option<u64> {
        let count = self.sent.partition_point(|&(_, at)| at <= time);
        count.checked_sub(1).map(|last| self.sent[last].0)
    }

    /// When the first data outstanding was first sent.
    pub(super) fn head_sent_at(&self) -> Option<Instant> {
        self.sent.front().map(|&(_, at)| at)
    }

    /// Requests a probe.
    pub(super) fn ask(&mut self) {
        self.due = true;
    }

    /// Whether a probe is due; clears the request.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// Records a probe, after which everything below `end` has been sent.
    pub(super) fn on_probed(&mut self, end: u64, is_again: bool, now: Instant) {
        self.probe = Some(Probe { end, is_again, at: now });
    }

    /// Whether a probe is not acknowledged yet: then there is no second one.
    pub(super) fn is_probed(&self) -> bool {
        self.probe.is_some()
    }

    /// Ends probing, since recovery has begun.
    pub(super) fn forget(&mut self) {
        (self.due, self.probe) = (false, None);
    }

    /// Handles an acknowledgment up to `una`, in `recovery` or not; `rtt` is the sample of the timestamps. Returns whether it
    /// acknowledges a probe that repaired a loss (section 7.4.2; timestamps distinguish the probe's arrival from the
    /// original's, as in RFC 3522, where the RFC uses duplicate SACK).
    pub(super) fn take_answer(&mut self, una: u64, recovery: bool, now: Instant, rtt: Option<Span>) -> bool {
        if recovery {
            self.forget();
        }
        let Some(probe) = self.probe.filter(|probe| una >= probe.end) else { return false };
        self.probe = None;
        probe.is_again && rtt.is_none_or(|rtt| rtt <= now.saturating_since(probe.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_head_is_the_first_segment_outstanding() {
        let mut tail = Tail::default();
        for (end, ms) in [(10, 1), (20, 1), (30, 5)] {
            tail.on_sent(end, at(ms));
        }
        assert_eq!(tail.head_sent_at(), Some(at(1)));
        tail.on_acked(15);
        assert_eq!(tail.head_sent_at(), Some(at(1)));
        tail.on_acked(20);
        assert_eq!(tail.head_sent_at(), Some(at(5)));
        tail.on_acked(30);
        assert_eq!(tail.head_sent_at(), None);
    }

    #[test]
    fn a_probe_that_repaired_a_loss_is_told_from_a_needless_one() {
        for (is_again, rtt_ms, repaired) in [(true, 30, true), (true, 80, false), (false, 30, false)] {
            let mut tail = Tail::default();
            tail.on_probed(30, is_again, at(100));
            assert!(!tail.take_answer(20, false, at(120), Some(Span::from_millis(20))) && tail.is_probed());
            assert_eq!(tail.take_answer(30, false, at(140), Some(Span::from_millis(rtt_ms))), repaired);
            assert!(!tail.is_probed());
        }
    }
}
