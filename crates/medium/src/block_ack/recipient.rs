//! The receiver's end of a block-ack agreement (the recipient), with its reorder buffer.

use alloc::collections::VecDeque;

use evenair_units::{Instant, Span};

/// The recipient's reorder buffer: all MPDUs before `next` were passed up in order or skipped; some later ones are held until
/// the missing ones arrive or are skipped.
#[derive(Debug)]
pub(crate) struct Recipient<P> {
    /// Block-ack window: MPDUs that the originator may have in its window.
    pub(crate) window: u16,
    /// WinStartB: sequence number of the MPDU to pass up next.
    next: u64,
    /// MPDUs from `next` on with their time of arrival, `None` for missing ones. If not empty, the first is missing and the
    /// last is not.
    held: VecDeque<Option<(Instant, P)>>,
}

impl<P> Recipient<P> {
    pub(crate) const fn new() -> Self {
        Self { window: u16::MAX, next: 0, held: VecDeque::new() }
    }

    /// Receives a new MPDU and passes up all that are then in order. An MPDU beyond the end of the window moves the window so
    /// that it becomes the last one.
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

    /// Passes up MPDUs until the first gap.
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

    /// Skips missing MPDUs before `number`: a BlockAckReq, or an MPDU beyond the end of the window, moves the window there
    /// (10.25.6.6).
    pub(crate) fn move_to(&mut self, number: u64, mut pass_up: impl FnMut(P)) {
        while self.next < number && !self.held.is_empty() {
            self.pass_up_first(&mut pass_up);
        }
        self.next = self.next.max(number);
        self.pass_up_run(&mut pass_up);
    }

    /// When a missing MPDU is skipped if none may be held for longer than `timeout`.
    pub(crate) fn deadline(&self, timeout: Span) -> Option<Instant> {
        let first = self.held.iter().flatten().map(|&(came, _)| came).min();
        first.map(|came| came + timeout)
    }

    /// Skips what is missing before every MPDU that has been held for `timeout`.
    pub(crate) fn expire(&mut self, now: Instant, timeout: Span, pass_up: impl FnMut(P)) {
        let is_over = |held: &Option<(Instant, P)>| held.as_ref().is_some_and(|&(came, _)| came + timeout <= now);
        if let Some(last) = self.held.iter().rposition(is_over) {
            self.move_to(self.next + last as u64, pass_up);
        }
    }

    /// Takes all held MPDUs, in order, and skips the missing ones.
    pub(crate) fn abandon(&mut self) -> impl Iterator<Item = P> {
        self.next += self.held.len() as u64;
        self.held.drain(..).flatten().map(|(_, payload)| payload)
    }
}
