//! The back-off of one EDCAF in slots, where each node has its own view of when the medium is idle.
//!
//! While the medium is idle for the node, back-off is stored as the number of slots left when the idle period began, and
//! the instant at which the first of them begins; slots are not counted one by one. When the medium becomes busy, the
//! elapsed slots are subtracted.

use evenair_units::{Instant, Span};

use crate::edcaf::Waiting;

#[derive(Debug)]
pub(super) struct BackOff {
    pub(super) waiting: Waiting,
    slots: u64,
    /// When the first slot begins, while the medium is idle or an inter-frame space passes.
    origin: Option<Instant>,
    /// Whether the EDCAF has a frame to send.
    pub(super) contends: bool,
}

impl BackOff {
    /// Back-off of zero slots, on a medium that is idle from `now` on.
    pub(super) fn new(waiting: Waiting, now: Instant) -> Self {
        Self { waiting, slots: 0, origin: Some(now), contends: false }
    }

    /// The medium is idle from `idle` on.
    pub(super) fn resume(&mut self, idle: Instant) {
        self.origin = Some(idle + self.waiting.space);
    }

    /// The medium becomes busy, if it is not.
    pub(super) fn freeze(&mut self, now: Instant, slot: Span) {
        if let Some(passed) = self.origin.take().and_then(|origin| now.checked_since(origin)) {
            let counted = passed / slot + u64::from(self.waiting.counts_boundaries);
            self.slots = self.slots.saturating_sub(counted);
        }
    }

    /// Starts a back-off of this many slots. Only while the medium is not idle.
    pub(super) fn set(&mut self, slots: u64) {
        self.slots = slots;
    }

    /// Whether back-off had run out when the medium became busy.
    pub(super) fn has_run_out(&self) -> bool {
        self.slots == 0
    }

    /// The EDCAF now has a frame to send: if its back-off has expired, it sends at the first slot boundary after `now`.
    pub(super) fn enter(&mut self, now: Instant, slot: Span) {
        self.contends = true;
        if let Some(passed) = self.origin.and_then(|origin| now.checked_since(origin)) {
            self.slots = self.slots.max(passed / slot + 1);
        }
    }

    /// When it sends if the medium stays idle.
    pub(super) fn due(&self, slot: Span) -> Option<Instant> {
        self.origin.filter(|_| self.contends).map(|origin| origin + slot * self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Span = Span::from_micros(10);

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    fn back_off(slots: u64, counts_boundaries: bool) -> BackOff {
        let mut b = BackOff::new(Waiting { space: Span::from_micros(50), counts_boundaries }, at(0));
        b.freeze(at(0), SLOT);
        b.set(slots);
        b.contends = true;
        b
    }

    #[test]
    fn slots_that_passed_are_taken_off_when_the_medium_becomes_busy() {
        let mut b = back_off(5, false);
        b.resume(at(100));
        assert_eq!(b.due(SLOT), Some(at(200)));
        b.freeze(at(189), SLOT);
        b.freeze(at(500), SLOT);
        assert_eq!(b.due(SLOT), None);
        b.resume(at(1_000));
        assert_eq!(b.due(SLOT), Some(at(1_070)), "three of five have passed");
        b.freeze(at(1_049), SLOT);
        b.resume(at(2_000));
        assert_eq!(b.due(SLOT), Some(at(2_070)), "none pass in the inter-frame space");
    }

    #[test]
    fn boundaries_count_one_more() {
        let mut b = back_off(5, true);
        b.resume(at(0));
        b.freeze(at(49), SLOT);
        b.resume(at(0));
        b.freeze(at(50), SLOT);
        b.resume(at(100));
        assert_eq!(b.due(SLOT), Some(at(190)));
    }

    #[test]
    fn a_frame_comes_to_an_idle_medium() {
        let mut b = back_off(0, false);
        b.contends = false;
        b.resume(at(0));
        assert_eq!(b.due(SLOT), None);
        b.enter(at(20), SLOT);
        assert_eq!(b.due(SLOT), Some(at(50)), "at the end of the inter-frame space");
        b.enter(at(75), SLOT);
        assert_eq!(b.due(SLOT), Some(at(80)), "at the next boundary");
    }
}
