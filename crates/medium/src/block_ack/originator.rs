//! The sender's end of a block-ack agreement (the originator).

use alloc::collections::VecDeque;

use evenair_units::{Airtime, Bytes};

/// The originator's window: MPDUs with a sequence number, from the oldest one that is neither acknowledged nor dropped
/// (WinStartO) on.
#[derive(Debug)]
pub(crate) struct Originator<P> {
    window: VecDeque<Slot<P>>,
    /// WinStartO.
    start: u64,
}

/// An MPDU of the window.
#[derive(Debug)]
pub(crate) struct Slot<P> {
    /// Payload; `None`: the recipient has it, even if the originator does not know that yet.
    pub(crate) payload: Option<P>,
    /// Size of the MPDU with its header and FCS.
    pub(crate) mpdu: Bytes,
    /// Transmissions begun.
    pub(crate) attempts: u32,
    /// Its share of the airtime of these transmissions.
    pub(crate) airtime: Airtime,
    pub(crate) load: Load,
    state: State,
}

/// Packets of an MPDU that count as queued until it is acknowledged or dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Load {
    /// Arrival number, in its queue, of the first packet.
    pub(crate) arrival: u64,
    /// Packets: more than one in an A-MSDU, none in a management frame.
    pub(crate) packets: u32,
    /// Bytes of these packets.
    pub(crate) bytes: Bytes,
}

/// Final state of an MPDU.
#[derive(Debug)]
pub(crate) enum Completion<P> {
    /// The recipient has it, and the originator knows that or has stopped trying.
    Received,
    /// It was dropped, with this payload.
    GivenUp(P),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Waits for a transmission or a repetition.
    Due,
    InFlight,
    /// Acknowledged or dropped.
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

    /// WinStartO: all MPDUs before this one are acknowledged or dropped.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Number of MPDUs in the window.
    pub(crate) fn len(&self) -> usize {
        self.window.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// The MPDU at this distance from [`Self::start`].
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

    /// The oldest MPDU that is neither acknowledged nor dropped.
    pub(crate) fn first(&self) -> Option<&Slot<P>> {
        self.window.front()
    }

    /// An MPDU gets the next sequence number.
    pub(crate) fn push(&mut self, payload: P, mpdu: Bytes, load: Load) {
        let (attempts, airtime, state) = (0, Airtime::ZERO, State::Due);
        self.window.push_back(Slot { payload: Some(payload), mpdu, attempts, airtime, load, state });
    }

    /// The MPDU at this place of the window is transmitted.
    #[inline]
    pub(crate) fn begin(&mut self, place: usize) {
        let slot = &mut self.window[place];
        slot.attempts += 1;
        slot.state = State::InFlight;
    }

    /// The access ends before any MPDU is transmitted, because its RTS got no CTS: MPDUs in flight are due again.
    pub(crate) fn take_back(&mut self) {
        for slot in self.window.iter_mut().filter(|slot| slot.state == State::InFlight) {
            slot.attempts -= 1;
            slot.state = State::Due;
        }
    }

    /// Ends an access. If it was `answered` by an ACK or a BlockAck, all MPDUs that the recipient has are acknowledged. Of
    /// the others, those with `limit` transmissions are dropped, and the rest is due again. The window moves on. `done`
    /// gets each MPDU that is acknowledged or dropped.
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

    /// Drops all MPDUs of the window. Yields each with its payload, unless the recipient has it.
    pub(crate) fn abandon(&mut self) -> impl Iterator<Item = (Load, Option<P>)> {
        self.start += self.window.len() as u64;
        self.window.drain(..).filter(|slot| slot.state != State::Done).map(|slot| (slot.load, slot.payload))
    }
}
