//! The sender's side: frames that begin and end, and what an access comes to.

use evenair_units::{Airtime, Bytes, Instant, Span};
use evenair_wifi::{ACK_CTS, Phy, RTS};

use super::{Frame, Kind, Phase, Sensing};
use crate::access::Attempt;
use crate::reception::Sent;
use crate::watch::Fate;
use crate::{AfterCollision, DropReason, Medium, NodeId, To, watch};

/// What a node sends when it has won the medium, from its first frame to the answer to its last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) function: u32,
    pub(super) attempt: Attempt,
    /// DATA goes out, or has: CTS has come, or none is needed.
    pub(super) cleared: bool,
    pub(super) fate: Fate,
    txop_end: Option<Instant>,
    /// From the answer to the end of the next frame's, where the TXOP goes on with one.
    next: Span,
}

impl Access {
    /// Its Duration is that of its answer and, in a TXOP, of the next frame and its answer (9.2.5.2).
    pub(super) fn data(&self) -> Frame {
        Frame {
            kind: Kind::Data,
            to: self.attempt.to,
            lasts: self.attempt.data,
            reserves: self.attempt.answer + self.next,
            unless_used: Span::ZERO,
            sent: Sent { rate: self.attempt.rate, psdu: self.attempt.psdu, is_data: true },
        }
    }

    fn control(&self, phy: &Phy, psdu: Bytes) -> Sent {
        Sent { rate: phy.control_rate(self.attempt.rate), psdu, is_data: false }
    }

    /// Its Duration is that of all that follows (9.2.5.1); who hears nothing of that gives the reservation up after two
    /// SIFS, CTS, the delay of detection and two slots (10.3.2.4).
    fn rts(&self, phy: &Phy) -> Frame {
        let cts = self.cts(phy);
        Frame {
            kind: Kind::Rts,
            to: self.attempt.to,
            lasts: phy.rts(self.attempt.rate),
            reserves: phy.sifs() + cts.lasts + cts.reserves,
            unless_used: phy.sifs() + cts.lasts + phy.response_timeout() + phy.slot(),
            sent: self.control(phy, RTS),
        }
    }

    /// The CTS that answers its RTS. Where it goes is filled in by who sends it.
    pub(super) fn cts(&self, phy: &Phy) -> Frame {
        let reserves = phy.sifs() + self.attempt.data + self.attempt.answer + self.next;
        let sent = self.control(phy, ACK_CTS);
        Frame { kind: Kind::Cts, reserves, lasts: phy.cts(self.attempt.rate), sent, ..self.data() }
    }

    /// The ACK that answers its DATA. Where it goes is filled in by who sends it.
    pub(super) fn ack(&self, phy: &Phy) -> Frame {
        let sent = self.control(phy, ACK_CTS);
        Frame { kind: Kind::Ack, reserves: self.next, lasts: phy.ack(self.attempt.rate), sent, ..self.data() }
    }
}

impl Sensing {
    /// What begins at `at`, at the nodes `due`: none of them senses any of the others.
    pub(super) fn begin_all<F>(&mut self, medium: &mut Medium<F>, at: Instant, due: &[u32]) {
        let mut starting = core::mem::take(&mut self.starting);
        let before = self.open;
        for &id in due {
            let frame = match self.nodes[id as usize].phase {
                Phase::Turning(frame, when) if when == at => Some(frame),
                Phase::Listening => self.win(medium, at, id),
                _ => None,
            };
            if let Some(frame) = frame {
                self.freeze(at, id);
                let terminal = &mut self.nodes[id as usize];
                terminal.phase = Phase::Sending(frame, at + frame.lasts);
                terminal.carrier.begin_own();
                starting.push(id);
                self.tell_begin(medium, at, id, frame);
            }
            self.arm(id);
        }
        self.count_accesses(medium, before);
        for &id in &starting {
            for place in 0..self.reach.of(id).len() {
                self.hear(medium, at, id, self.reach.of(id)[place]);
            }
        }
        starting.clear();
        self.starting = starting;
    }

    /// Counts the accesses that began where `before` exchanges were under way.
    fn count_accesses<F>(&mut self, medium: &mut Medium<F>, before: u32) {
        debug_assert_eq!(self.open as usize, medium.exchanges());
        if self.open == before {
            return;
        }
        if before == 0 {
            medium.charge_spaces();
            medium.totals.transmissions += 1;
            self.met = false;
        }
        if self.open > 1 && !self.met {
            self.met = true;
            medium.totals.collisions += 1;
        }
    }

    /// Back-off may have run out at a function of the node, or at several: the one of the highest priority sends, and
    /// the others behave as if they had collided (10.22.2.4).
    fn win<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32) -> Option<Frame> {
        let functions = self.nodes[id as usize].functions.clone();
        let is_due = |sensing: &Self, function: u32| sensing.back_offs[function as usize].due(sensing.slot) == Some(at);
        let winner = functions.clone().rev().find(|&function| is_due(self, function))?;
        for function in functions.start..winner {
            if is_due(self, function) {
                medium.functions[function as usize].counters.internal_collisions += 1;
                self.back_offs[function as usize].freeze(at, self.slot);
                medium.retry(at, function, false);
                self.back_off(medium, function);
            }
        }
        let txop = medium.functions[winner as usize].txop();
        let attempt = medium.attempt(at, winner, true);
        self.back_offs[winner as usize].contends = false;
        self.open += 1;
        medium.open_exchange(at, winner, attempt.to);
        Some(self.attempt(medium, at, id, winner, attempt, (txop > Span::ZERO).then(|| at + txop)))
    }

    /// The node begins an attempt with this frame.
    fn attempt<F>(
        &mut self,
        medium: &mut Medium<F>,
        at: Instant,
        id: u32,
        number: u32,
        attempt: Attempt,
        txop_end: Option<Instant>,
    ) -> Frame {
        let cleared = !attempt.rts;
        let next = next_in_txop(medium, at, number, &attempt, txop_end);
        let access = Access { function: number, attempt, cleared, fate: Fate::Lost, txop_end, next };
        self.nodes[id as usize].access = Some(access);
        let frame = if cleared { access.data() } else { access.rts(&medium.config.phy) };
        medium.functions[number as usize].begin_attempt(Airtime(frame.lasts));
        frame
    }

    /// A frame of `id` ends, at those who hear it and at itself.
    pub(super) fn end<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32, frame: Frame) {
        self.nodes[id as usize].carrier.end_own();
        self.presume(medium, id, frame);
        let presumed = self.presumed(medium, id, frame);
        if let Some(watch) = &mut medium.watch {
            watch.fate = Some(presumed);
        }
        let mut goes_on = false;
        for place in 0..self.reach.of(id).len() {
            let hearer = self.reach.of(id)[place];
            if let Some(receiving) = self.nodes[hearer as usize].carrier.end(at, id) {
                goes_on |= self.receive(medium, at, hearer, id, frame, receiving.intact);
            }
            self.resume(at, hearer);
        }
        if let Some(fate) = medium.watch.as_mut().and_then(|watch| watch.fate.take()) {
            medium.tell_end(at, id, fate);
        }
        if !goes_on {
            self.open -= 1;
            medium.close_exchange(at, sender(id, frame));
        }
        if medium.nodes[id as usize].has_left {
            return self.forget(id);
        }
        match (frame.kind, frame.to) {
            (Kind::Rts, _) | (Kind::Data, To::Node(_)) => self.wait(medium, at, id),
            (Kind::Data, To::Broadcast) => self.conclude_broadcast(medium, at, id),
            // DATA is to come.
            (Kind::Cts, _) => self.listen(at, id, at + medium.config.phy.sifs()),
            (Kind::Ack, _) => self.listen(at, id, at + frame.reserves),
        }
    }

    /// What has become of a frame unless its receiver says otherwise.
    fn presumed<F>(&self, medium: &Medium<F>, id: u32, frame: Frame) -> Fate {
        match frame.to {
            To::Node(to) if medium.nodes[to.0 as usize].has_left || !self.reach.hears(id, to.0) => Fate::Lost,
            To::Broadcast if self.reach.of(id).is_empty() => Fate::Received,
            To::Node(_) | To::Broadcast => Fate::Overlapped,
        }
    }

    fn presume<F>(&mut self, medium: &Medium<F>, id: u32, frame: Frame) {
        let fate = self.presumed(medium, id, frame);
        if let (Kind::Rts | Kind::Data, Some(access)) = (frame.kind, &mut self.nodes[id as usize].access) {
            access.fate = fate;
        }
    }

    /// For those who watch.
    fn tell_begin<F>(&self, medium: &mut Medium<F>, at: Instant, id: u32, frame: Frame) {
        if medium.watch.is_none() {
            return;
        }
        let kind = match (frame.kind, &self.nodes[id as usize].access) {
            (Kind::Rts, Some(access)) => medium.kind_of(access.function, &access.attempt, true),
            (Kind::Data, Some(access)) => medium.kind_of(access.function, &access.attempt, false),
            (Kind::Cts, _) => watch::Kind::Cts,
            (Kind::Ack, _) => watch::Kind::Ack,
            (Kind::Rts | Kind::Data, None) => return,
        };
        let Frame { to, lasts, reserves, sent, .. } = frame;
        medium.tell_begin(watch::Transmission { at, lasts, from: NodeId(id), to, kind, rate: sent.rate, reserves });
    }

    /// The sender waits for an answer, which should begin after SIFS (10.3.2.7, 10.3.2.9).
    fn wait<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32) {
        let terminal = &mut self.nodes[id as usize];
        let overlapped = terminal.access.is_some_and(|access| access.fate == Fate::Overlapped);
        if overlapped && medium.config.after_collision == AfterCollision::DifsForAll {
            return self.fail(medium, at, id);
        }
        terminal.phase = Phase::Awaiting(Some(at + medium.config.phy.response_timeout()));
        self.arm(id);
    }

    fn conclude_broadcast<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32) {
        let access = self.nodes[id as usize].access.expect("a broadcast is an access");
        if access.fate != Fate::Received {
            return self.fail(medium, at, id);
        }
        medium.deliver(at, access.function, true);
        if self.carry_on(medium, at, id, &access) {
            self.open += 1;
        } else {
            self.conclude(medium, at, id, access.function);
        }
    }

    /// The answer to its DATA reached the sender. Says whether its TXOP goes on.
    pub(super) fn succeed<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32, access: &Access) -> bool {
        medium.deliver(at, access.function, true);
        medium.report(id, &access.attempt, true);
        let goes_on = self.carry_on(medium, at, id, access);
        if !goes_on {
            self.conclude(medium, at, id, access.function);
        }
        goes_on
    }

    /// A TXOP goes on after SIFS while the next frame and its answer fit (10.22.2.7, 10.22.2.8).
    fn carry_on<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32, access: &Access) -> bool {
        let Some(txop_end) = access.txop_end else { return false };
        if !medium.functions[access.function as usize].has_work() {
            return false;
        }
        let attempt = medium.attempt(at, access.function, false);
        let next = at + medium.config.phy.sifs();
        if next + attempt.data + attempt.answer > txop_end {
            return false;
        }
        medium.continue_exchange(at, access.function, attempt.to);
        let frame = self.attempt(medium, next, id, access.function, attempt, Some(txop_end));
        self.turn(at, id, next, frame);
        true
    }

    /// The node will send a frame at `next`: the medium is its own until then.
    pub(super) fn turn(&mut self, at: Instant, id: u32, next: Instant, frame: Frame) {
        self.freeze(at, id);
        let terminal = &mut self.nodes[id as usize];
        terminal.phase = Phase::Turning(frame, next);
        terminal.carrier.engage();
        self.arm(id);
    }

    /// No answer came, or another frame, or one that could not be decoded.
    pub(super) fn fail<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32) {
        let access = self.nodes[id as usize].access.expect("who waits for an answer has sent something");
        let function = &mut medium.functions[access.function as usize];
        let counters = &mut function.counters;
        counters.repeated_failures += u64::from(function.head.attempts > 1);
        match access.fate {
            Fate::Lost => counters.losses += 1,
            // It was received, but its answer was not.
            Fate::Overlapped | Fate::Received => counters.collisions += 1,
        }
        match access.attempt.to {
            To::Broadcast => medium.give_up(at, access.function, DropReason::BroadcastCollision),
            To::Node(_) => medium.retry(at, access.function, access.cleared && access.attempt.rts),
        }
        if access.cleared {
            medium.report(id, &access.attempt, false);
        }
        self.conclude(medium, at, id, access.function);
    }

    /// The access is over, and a new back-off begins.
    fn conclude<F>(&mut self, medium: &mut Medium<F>, at: Instant, id: u32, function: u32) {
        self.nodes[id as usize].access = None;
        self.back_off(medium, function);
        self.listen(at, id, at);
    }

    /// A new back-off begins, with or without a frame (10.3.4.2).
    fn back_off<F>(&mut self, medium: &mut Medium<F>, number: u32) {
        let function = &mut medium.functions[number as usize];
        let back_off = &mut self.back_offs[number as usize];
        back_off.set(function.draw_back_off());
        back_off.contends = function.has_work();
    }

    /// The node has no further part in an exchange, but to receive until `end`.
    fn listen(&mut self, at: Instant, id: u32, end: Instant) {
        let terminal = &mut self.nodes[id as usize];
        terminal.phase = Phase::Listening;
        terminal.carrier.disengage(end);
        self.resume(at, id);
    }
}

/// What follows in a TXOP the answer to a frame that is sent at `at`: SIFS, the next frame and its answer, if they fit.
/// Nothing where senders choose their rates, for the next one is not chosen yet.
fn next_in_txop<F>(
    medium: &mut Medium<F>,
    at: Instant,
    number: u32,
    attempt: &Attempt,
    txop_end: Option<Instant>,
) -> Span {
    let next = medium.functions[number as usize].next_service().zip(txop_end).filter(|_| medium.rates.is_none());
    let Some((service, txop_end)) = next else { return Span::ZERO };
    let next = medium.attempt_at(medium.functions[number as usize].node, service, false);
    let phy = &medium.config.phy;
    let reservation = if attempt.rts { phy.reservation(attempt.rate) } else { Span::ZERO };
    let next = phy.sifs() + next.data + next.answer;
    let ends = at + reservation + attempt.data + attempt.answer + next;
    if ends <= txop_end { next } else { Span::ZERO }
}

/// Whose access a frame of `id` belongs to: its own, or that which it answers.
pub(super) fn sender(id: u32, frame: Frame) -> u32 {
    match (frame.kind, frame.to) {
        (Kind::Cts | Kind::Ack, To::Node(sender)) => sender.0,
        _ => id,
    }
}

/// A frame's receiver.
pub(super) const fn to(id: u32) -> To {
    To::Node(NodeId(id))
}
