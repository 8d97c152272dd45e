//! The sender's side: the start of an access, and its outcome.
//!
//! Clause numbers are those of IEEE Std 802.11-2016.

use evenair_units::{Airtime, Instant, Span};

use super::state::CarrierSense;
use super::terminal::{Access, Frame, Kind, Phase};
use crate::config::AfterCollision;
use crate::frame::{NodeId, To};
use crate::mac::{Failure, Mac};
use crate::watch::{self, TxStatus};

impl CarrierSense {
    /// Handles expired back-off at one or several EDCAFs of a node: the one of the highest priority sends, and the
    /// others behave as if they had collided (10.22.2.4).
    pub(super) fn win<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32) -> Option<Frame> {
        let edcafs = self.nodes[id as usize].edcafs.clone();
        let is_due = |sense: &Self, edcaf: u32| sense.back_offs[edcaf as usize].due(sense.slot) == Some(at);
        let winner = edcafs.clone().rev().find(|&edcaf| is_due(self, edcaf))?;
        for edcaf in edcafs.start..winner {
            if is_due(self, edcaf) {
                mac.nodes.edcafs[edcaf as usize].counters.internal_collisions += 1;
                self.back_offs[edcaf as usize].freeze(at, self.slot);
                mac.retry(at, edcaf, false);
                self.back_off(mac, edcaf);
            }
        }
        let txop_end = mac.nodes.edcafs[winner as usize].txop_end(at);
        let attempt = mac.attempt(at, winner, true, None);
        self.back_offs[winner as usize].contends = false;
        self.open += 1;
        mac.accounts.open(at, winner, attempt.to, &mut mac.nodes);
        Some(self.begin_access(mac, at, Access::new(winner, attempt, txop_end)))
    }

    /// Begins an access of an EDCAF's node, and returns its first frame.
    fn begin_access<F>(&mut self, mac: &mut Mac<F>, at: Instant, access: Access) -> Frame {
        let access = Access { next: next_in_txop(mac, at, &access), ..access };
        let edcaf = access.edcaf as usize;
        self.nodes[mac.nodes.edcafs[edcaf].node as usize].access = Some(access);
        let frame = if access.cleared { access.data() } else { access.rts(&mac.config.phy) };
        mac.nodes.edcafs[edcaf].begin_attempt(Airtime(frame.lasts));
        frame
    }

    /// TX status of a frame unless its receiver reports otherwise.
    pub(super) fn presumed<F>(&self, mac: &Mac<F>, id: u32, frame: Frame) -> TxStatus {
        match frame.to {
            To::Node(to) if mac.nodes.has_left(to.0) || !self.audibility.hears(id, to.0) => TxStatus::Lost,
            To::Broadcast if self.audibility.of(id).is_empty() => TxStatus::Received,
            To::Node(_) | To::Broadcast => TxStatus::Overlapped,
        }
    }

    pub(super) fn presume<F>(&mut self, mac: &Mac<F>, id: u32, frame: Frame) {
        let status = self.presumed(mac, id, frame);
        if let (Kind::Rts | Kind::Data, Some(access)) = (frame.kind, &mut self.nodes[id as usize].access) {
            access.status = status;
        }
    }

    /// Records the start of a frame in the watch.
    pub(super) fn watch_begin<F>(&self, mac: &mut Mac<F>, at: Instant, id: u32, frame: Frame) {
        if mac.watch.is_none() {
            return;
        }
        let kind = match (frame.kind, &self.nodes[id as usize].access) {
            (Kind::Rts, Some(access)) => mac.nodes.kind_of(access.edcaf, &access.attempt, true),
            (Kind::Data, Some(access)) => mac.nodes.kind_of(access.edcaf, &access.attempt, false),
            (Kind::Cts, _) => watch::Kind::Cts,
            (Kind::Ack, _) => self.kind_of_answer(frame),
            (Kind::Rts | Kind::Data, None) => return,
        };
        let Frame { to, lasts, reserves, sent, .. } = frame;
        mac.watch_begin(watch::Transmission { at, lasts, from: NodeId(id), to, kind, rate: sent.rate, reserves });
    }

    /// Kind of the response, ACK or BlockAck, for the watch.
    fn kind_of_answer(&self, frame: Frame) -> watch::Kind {
        let access = if let To::Node(sender) = frame.to { self.nodes[sender.0 as usize].access } else { None };
        access.map_or(watch::Kind::Ack, |access| access.attempt.answer_kind())
    }

    /// The sender waits for a response, which should begin after SIFS (10.3.2.7, 10.3.2.9).
    pub(super) fn wait<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32) {
        let terminal = &mut self.nodes[id as usize];
        let overlapped = terminal.access.is_some_and(|access| access.status == TxStatus::Overlapped);
        if overlapped && mac.config.after_collision == AfterCollision::DifsForAll {
            return self.fail(mac, at, id);
        }
        terminal.phase = Phase::Awaiting(Some(at + mac.config.phy.response_timeout()));
        self.arm(id);
    }

    pub(super) fn conclude_broadcast<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32) {
        let access = self.nodes[id as usize].access.expect("a broadcast is an access");
        if access.status != TxStatus::Received {
            return self.fail(mac, at, id);
        }
        mac.deliver(at, access.edcaf, true);
        if self.carry_on(mac, at, id, &access) {
            self.open += 1;
        } else {
            self.conclude(mac, at, id, access.edcaf);
        }
    }

    /// The sender received the response to its DATA. Returns whether its TXOP goes on.
    pub(super) fn succeed<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32, access: &Access) -> bool {
        mac.deliver(at, access.edcaf, true);
        mac.report(id, &access.attempt, true);
        let goes_on = self.carry_on(mac, at, id, access);
        if !goes_on {
            self.conclude(mac, at, id, access.edcaf);
        }
        goes_on
    }

    /// A TXOP goes on after SIFS while the next frame and its answer fit (10.22.2.7, 10.22.2.8).
    fn carry_on<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32, access: &Access) -> bool {
        let Some(txop_end) = access.txop_end else { return false };
        if !mac.nodes.edcafs[access.edcaf as usize].has_work() {
            return false;
        }
        let next = at + mac.config.phy.sifs();
        let attempt = mac.attempt(at, access.edcaf, false, Some(txop_end.saturating_since(next)));
        if next + attempt.data + attempt.answer > txop_end {
            return false;
        }
        mac.accounts.resume(at, access.edcaf, attempt.to, &mut mac.nodes);
        let frame = self.begin_access(mac, next, Access::new(access.edcaf, attempt, Some(txop_end)));
        self.turn(at, id, next, frame);
        true
    }

    /// No response came, or another frame, or one that could not be decoded.
    pub(super) fn fail<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32) {
        let access = self.nodes[id as usize].access.expect("who waits for an answer has sent something");
        let failure = Failure {
            to: access.attempt.to,
            // If it was received, its response was lost.
            collided: access.status != TxStatus::Lost,
            after_rts: access.cleared && access.attempt.rts,
        };
        mac.fail(at, access.edcaf, failure);
        if access.cleared {
            mac.report(id, &access.attempt, false);
        }
        self.conclude(mac, at, id, access.edcaf);
    }

    /// Ends the access and begins a new back-off.
    fn conclude<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32, edcaf: u32) {
        self.nodes[id as usize].access = None;
        self.back_off(mac, edcaf);
        self.listen(at, id, at);
    }

    /// A new back-off begins, with or without a frame (10.3.4.2).
    pub(super) fn back_off<F>(&mut self, mac: &mut Mac<F>, number: u32) {
        let edcaf = &mut mac.nodes.edcafs[number as usize];
        let back_off = &mut self.back_offs[number as usize];
        back_off.set(edcaf.draw_back_off());
        back_off.contends = edcaf.has_work();
    }
}

/// Duration of the next frame of a TXOP and its response, with the SIFS before it, if they fit: zero otherwise, or if
/// senders choose their rates, since the next rate is not chosen yet.
fn next_in_txop<F>(mac: &mut Mac<F>, at: Instant, access: &Access) -> Span {
    let Access { edcaf, attempt, txop_end, .. } = access;
    let edcaf = *edcaf as usize;
    let next = mac.nodes.edcafs[edcaf].next_service().zip(*txop_end).filter(|_| mac.rates.is_none());
    let Some((service, txop_end)) = next else { return Span::ZERO };
    let next = mac.attempt_at(mac.nodes.edcafs[edcaf].node, service, false);
    let phy = &mac.config.phy;
    let reservation = if attempt.rts { phy.reservation(attempt.rate) } else { Span::ZERO };
    let next = phy.sifs() + next.data + next.answer;
    let ends = at + reservation + attempt.data + attempt.answer + next;
    if ends <= txop_end { next } else { Span::ZERO }
}
