//! The receiver's end of a block-ack agreement (the recipient), with its reorder buffer.

use alloc::collections::VecDeque;

use evenair_units::{Instant, Span};

/// What has come of an agreement's MPDUs: all before `next` were passed up in order, or were given up, and of those from
/// `next` on some are held until what is missing before them has come, or is given up.
#[derive(Debug)]
pub(crate) struct Recipient<P> {
    /// How many MPDUs the originator may have sent from its oldest one on.
    pub(crate) window: u16,
    /// WinStartB: the MPDU that is passed up next.
    next: u64,
    /// From `next` on, each with when it came; the first is missing where there is any, and the last is not.
    held: VecDeque<Option<(Instant, P)>>,
}

impl<P> Recipient<P> {
    pub(crate) const fn new() -> Self {
        Self { window: u16::MAX, next: 0, held: VecDeque::new() }
    }

    /// An MPDU has come that had not come before. What can be passed up by it, is. Where it lies beyond the end of the window,
    /// that moves so far that it is the last one.
    #[inline]
    pub(crate) fn receive(&mut self, at: Instant, number: u64, payload: P, mut pass_up: impl FnMut(P)) -> Option<P> {
        if number == self.next && self.held.is_empty() {
            self.next += 1;
            pass_up(payload);
            return None;
        }
        let first = (number + 1).saturating_sub(u64::from(self.window));
        if first > self.next {
            self.move_to(first, &mut pass_up);
        }
        let Some(place) = number.checked_sub(self.next) else { return Some(payload) };
        let place = place as usize;
        if place >= self.held.len() {
            self.held.resize_with(place + 1, || None);
        }
        self.held[place] = Some((at, payload));
        self.pass_up_run(&mut pass_up);
        None
    }

    /// Passes up what follows without a gap.
    fn pass_up_run(&mut self, pass_up: &mut impl FnMut(P)) {
        while let Some(Some(_)) = self.held.front() {
            self.pass_up_first(pass_up);
        }
    }

    fn pass_up_first(&mut self, pass_up: &mut impl FnMut(P)) {
        let first = self.held.pop_front().flatten();
        self.next += 1;
        first.into_iter().for_each(|(_, payload)| pass_up(payload));
    }

    /// What is missing before `number` is given up: the window moves there, by a BlockAckReq or by an MPDU that lies beyond
    /// its end (10.25.6.6).
    pub(crate) fn move_to(&mut self, number: u64, mut pass_up: impl FnMut(P)) {
        while self.next < number && !self.held.is_empty() {
            self.pass_up_first(&mut pass_up);
        }
        self.next = self.next.max(number);
        self.pass_up_run(&mut pass_up);
    }

    /// When a gap is to be given up, where nothing may be held for longer than `timeout`.
    pub(crate) fn deadline(&self, timeout: Span) -> Option<Instant> {
        let first = self.held.iter().flatten().map(|&(came, _)| came).min();
        first.map(|came| came + timeout)
    }

    /// Gives up what is missing before all that has been held for so long.
    pub(crate) fn expire(&mut self, now: Instant, timeout: Span, pass_up: impl FnMut(P)) {
        let is_over = |held: &Option<(Instant, P)>| held.as_ref().is_some_and(|&(came, _)| came + timeout <= now);
        if let Some(last) = self.held.iter().rposition(is_over) {
            self.move_to(self.next + last as u64, pass_up);
        }
    }

    /// What is held, in order; all that is missing is given up.
    pub(crate) fn abandon(&mut self) -> impl Iterator<Item = P> {
        self.next += self.held.len() as u64;
        self.held.drain(..).flatten().map(|(_, payload)| payload)
    }
}
