//! Tail loss probes (RFC 8985, section 7): if the end of a flight is lost, no ACK shows that. Before the retransmission timer
//! runs out one more segment is sent, and what is SACKed in answer starts fast recovery.

use std::collections::VecDeque;

use evenair_units::{Instant, Span};

/// What probes need to know. Empty, and without memory of its own, where they are not in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    /// Ends of what is outstanding, and when it was sent for the first time: an entry for all that left together.
    sent: VecDeque<(u64, Instant)>,
    due: bool,
    probe: Option<Probe>,
}

/// A probe that is not answered yet (`TLP.end_seq`, `TLP.is_retrans`).
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// All below had been sent with it.
    end: u64,
    /// It was the last segment again, and no new data.
    is_again: bool,
    at: Instant,
}

impl Tail {
    /// New data up to `end` leave.
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

    /// When what ends at `end` was sent for the first time, if that is outstanding.
    pub(super) fn sent_at(&self, end: u64) -> Option<Instant> {
        self.sent.get(self.sent.partition_point(|&(last, _)| last < end)).map(|&(_, at)| at)
    }

    /// The end of what is outstanding and was sent for the first time at `time` or before, if anything is.
    pub(super) fn end_sent_by(&self, time: Instant) -> Option<u64> {
        let count = self.sent.partition_point(|&(_, at)| at <= time);
        count.checked_sub(1).map(|last| self.sent[last].0)
    }

    /// When the first of what is outstanding was sent for the first time.
    pub(super) fn head_sent_at(&self) -> Option<Instant> {
        self.sent.front().map(|&(_, at)| at)
    }

    /// A probe is due.
    pub(super) fn ask(&mut self) {
        self.due = true;
    }

    /// Whether a probe is due; it is not any more.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// A probe leaves, after which all below `end` has been sent.
    pub(super) fn on_probed(&mut self, end: u64, is_again: bool, now: Instant) {
        self.probe = Some(Probe { end, is_again, at: now });
    }

    /// A probe is not answered yet: there is no second one.
    pub(super) fn is_probed(&self) -> bool {
        self.probe.is_some()
    }

    /// Recovery goes on without probes.
    pub(super) fn forget(&mut self) {
        (self.due, self.probe) = (false, None);
    }

    /// Everything below `una` is acknowledged now, in `recovery` or not; `rtt` is the sample of the timestamps. Whether a probe
    /// was answered by which a loss was repaired (section 7.4.2; timestamps distinguish the probe's arrival from the
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
    fn the_head_is_the_first_that_is_outstanding() {
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
    fn a_probe_that_repaired_a_loss_is_distinguished_from_one_that_was_in_vain() {
        for (is_again, rtt_ms, repaired) in [(true, 30, true), (true, 80, false), (false, 30, false)] {
            let mut tail = Tail::default();
            tail.on_probed(30, is_again, at(100));
            assert!(!tail.take_answer(20, false, at(120), Some(Span::from_millis(20))) && tail.is_probed());
            assert_eq!(tail.take_answer(30, false, at(140), Some(Span::from_millis(rtt_ms))), repaired);
            assert!(!tail.is_probed());
        }
    }
}
