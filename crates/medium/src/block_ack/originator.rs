//! The sender's end of a block-ack agreement (the originator).

use alloc::collections::VecDeque;

use evenair_units::{Airtime, Bytes};

/// MPDUs that have a sequence number and are neither acknowledged nor given up, and between them those that are: from
/// the oldest one that is not (WinStartO) on.
#[derive(Debug)]
pub(crate) struct Originator<P> {
    window: VecDeque<Slot<P>>,
    /// WinStartO.
    start: u64,
}

/// An MPDU of the window.
#[derive(Debug)]
pub(crate) struct Slot<P> {
    /// What it carries; `None`: the recipient has it, whether the originator knows that or not.
    pub(crate) payload: Option<P>,
    /// The MPDU with its header and FCS.
    pub(crate) mpdu: Bytes,
    /// Transmissions that began.
    pub(crate) attempts: u32,
    /// Its part of the medium time of these.
    pub(crate) airtime: Airtime,
    pub(crate) load: Load,
    state: State,
}

/// What a queue holds as long as an MPDU is neither acknowledged nor given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Load {
    /// Which arrival at the queue its first packet was.
    pub(crate) arrival: u64,
    /// Packets that it carries; more than one: it is an A-MSDU. None: it is a frame of the node's own.
    pub(crate) packets: u32,
    /// Their bytes.
    pub(crate) bytes: Bytes,
}

/// What has become of an MPDU.
#[derive(Debug)]
pub(crate) enum Completion<P> {
    /// The recipient has it, and the originator knows that or will not learn it any more.
    Received,
    /// It was given up, with this payload.
    GivenUp(P),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It is to be sent, or to be repeated.
    Due,
    InFlight,
    /// Acknowledged or given up.
    Done,
}

impl<P> Slot<P> {
    /// It waits for its first or next transmission.
    pub(crate) fn is_due(&self) -> bool {
        self.state == State::Due
    }
}

impl<P> Originator<P> {
    pub(crate) const fn new() -> Self {
        Self { window: VecDeque::new(), start: 0 }
    }

    /// WinStartO: all MPDUs before this one are acknowledged or given up.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// The MPDUs from [`Self::start`] on that have a sequence number.
    pub(crate) fn len(&self) -> usize {
        self.window.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// By its distance from [`Self::start`].
    pub(crate) fn slot(&self, place: usize) -> &Slot<P> {
        &self.window[place]
    }

    pub(crate) fn slot_mut(&mut self, place: usize) -> &mut Slot<P> {
        &mut self.window[place]
    }

    /// The MPDUs from [`Self::start`] on.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot<P>> {
        self.window.iter()
    }

    /// The oldest MPDU, which is neither acknowledged nor given up.
    pub(crate) fn first(&self) -> Option<&Slot<P>> {
        self.window.front()
    }

    /// An MPDU gets the next sequence number.
    pub(crate) fn push(&mut self, payload: P, mpdu: Bytes, load: Load) {
        let (attempts, airtime, state) = (0, Airtime::ZERO, State::Due);
        self.window.push_back(Slot { payload: Some(payload), mpdu, attempts, airtime, load, state });
    }

    /// The MPDU at this place is sent.
    #[inline]
    pub(crate) fn begin(&mut self, place: usize) {
        let slot = &mut self.window[place];
        slot.attempts += 1;
        slot.state = State::InFlight;
    }

    /// An access with the MPDUs in flight is over before any of them was sent: its RTS was not answered.
    pub(crate) fn take_back(&mut self) {
        for slot in self.window.iter_mut().filter(|slot| slot.state == State::InFlight) {
            slot.attempts -= 1;
            slot.state = State::Due;
        }
    }

    /// An access is over. Where it was `answered`, by an ACK or by a BlockAck, all that the recipient has is acknowledged.
    /// Of the others, those are given up that had `limit` transmissions; the rest is due again. The window moves on. Each
    /// MPDU that is done with goes to `done`.
    pub(crate) fn end_access(&mut self, answered: bool, limit: u32, mut done: impl FnMut(Load, Completion<P>)) {
        let mut open = None;
        for (place, slot) in self.window.iter_mut().enumerate() {
            if slot.state != State::Done {
                let had_last = slot.state == State::InFlight && slot.attempts >= limit;
                if slot.payload.is_none() && (answered || had_last) {
                    slot.state = State::Done;
                    done(slot.load, Completion::Received);
                } else if had_last && let Some(payload) = slot.payload.take() {
                    slot.state = State::Done;
                    done(slot.load, Completion::GivenUp(payload));
                } else {
                    slot.state = State::Due;
                    open.get_or_insert(place);
                }
            }
        }
        let done = open.unwrap_or(self.window.len());
        self.window.drain(..done);
        self.start += done as u64;
    }

    /// Gives up all MPDUs that are not done with, and hands them out with what the recipient does not have of them.
    pub(crate) fn abandon(&mut self) -> impl Iterator<Item = (Load, Option<P>)> {
        self.start += self.window.len() as u64;
        self.window.drain(..).filter(|slot| slot.state != State::Done).map(|slot| (slot.load, slot.payload))
    }
}
