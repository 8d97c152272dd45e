//! The start of an access in the shared-channel engine: senders, and reception of frames that begin together.
//!
//! Clause numbers are those of IEEE Std 802.11-2016.

use alloc::vec::Vec;

use evenair_units::{Airtime, Instant};

use super::access::{Access, Outcome, ends};
use super::channel::{SharedChannel, Stage};
use crate::frame::{NodeId, NodePair, To};
use crate::mac::Mac;

impl SharedChannel {
    /// Back-off has expired at one EDCAF, or at several at once.
    #[inline(always)]
    pub(super) fn start<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        mac.account(at, false);
        let slots = self.idle_sense.is_some().then(|| self.contention.slots());
        self.contention.start(at, &mut self.senders);
        if let (Some(before), Some(sense)) = (slots, &mut self.idle_sense) {
            sense.observe(self.contention.slots() - before);
        }
        if self.senders.len() > 1 && mac.nodes.has_edca {
            self.collide_internally(mac, at);
        }
        mac.accounts.totals.transmissions += 1;
        if let [id] = self.senders[..] {
            self.senders.clear();
            let attempt = mac.attempt(at, id, true, None);
            let outcome = self.outcome_alone(mac, id, attempt);
            let access = Access::begin(mac, at, id, attempt, outcome);
            let Access { sent, answered, .. } = access;
            self.on_air.push(access);
            (self.stage, self.due) =
                if outcome.delivers() { (Stage::Receiving, sent) } else { (Stage::Ending, answered) };
        } else {
            self.start_together(mac, at);
        }
        self.begin_airtime(mac, at);
        if mac.delivers_each() {
            self.await_mpdus(mac);
        }
        if mac.watch.is_some() {
            self.watch_accesses(mac, at);
        }
    }

    /// Schedules the reception of the frames on the air MPDU by MPDU.
    #[inline(never)]
    pub(super) fn await_mpdus<F>(&mut self, mac: &Mac<F>) {
        let received = self.on_air.iter_mut().filter(|access| access.outcome.delivers());
        received.for_each(|access| access.arrives = access.next_arrival(mac));
        (self.stage, self.due) = self.stage_of_transmission();
    }

    /// Several EDCAFs send at once.
    #[inline(never)]
    fn start_together<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        let senders = core::mem::take(&mut self.senders);
        for &id in &senders {
            let attempt = mac.attempt(at, id, true, None);
            self.on_air.push(Access::begin(mac, at, id, attempt, Outcome::Collided));
        }
        self.senders = senders;
        self.senders.clear();
        mac.accounts.totals.collisions += 1;
        if mac.receivers.can_capture() {
            self.capture(mac, at);
        }
        (self.stage, self.due) = self.stage_of_transmission();
    }

    /// Among EDCAFs of one node that would send, the one of the highest priority does. The others behave as if they
    /// had collided (10.22.2.4).
    #[inline(never)]
    fn collide_internally<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        let mut senders = core::mem::take(&mut self.senders);
        // The EDCAFs of a node have successive numbers, in the order of priority.
        senders.sort_unstable_by(|a, b| b.cmp(a));
        let mut last = None;
        let mut losers = Vec::new();
        senders.retain(|&id| {
            let node = mac.nodes.edcafs[id as usize].node;
            let wins = last.replace(node) != Some(node);
            if !wins {
                losers.push(id);
            }
            wins
        });
        self.senders = senders;
        for id in losers {
            mac.nodes.edcafs[id as usize].counters.internal_collisions += 1;
            mac.retry(at, id, false);
            self.back_off(mac, id);
        }
    }

    /// Continues those of the frames that began together which their receivers capture.
    fn capture<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        for index in 0..self.on_air.len() {
            let Access { node, edcaf, attempt, .. } = self.on_air[index];
            let To::Node(NodeId(to)) = attempt.to else { continue };
            let (data, answer) = (NodePair { from: node, to }, NodePair { from: to, to: node });
            let receiver_sends = self.on_air.iter().any(|access| access.node == to);
            if receiver_sends || !self.is_captured(mac, index, data, at) {
                continue;
            }
            let mut outcome = self.outcome_alone(mac, edcaf, attempt);
            let phy = &mac.config.phy;
            let cts_begins = at + phy.rts(attempt.rate) + phy.sifs();
            if attempt.rts && !self.is_captured(mac, index, answer, cts_begins) {
                outcome = Outcome::Unanswered;
            }
            let (sent, _) = ends(&mac.config.phy, at, attempt, outcome);
            let ack_begins = sent + mac.config.phy.sifs();
            if outcome == Outcome::Received && !self.is_captured(mac, index, answer, ack_begins) {
                outcome = Outcome::Unconfirmed;
            }
            let (sent, answered) = ends(&mac.config.phy, at, attempt, outcome);
            let more = Airtime(answered - self.on_air[index].answered);
            mac.nodes.edcafs[edcaf as usize].charge(more);
            self.on_air[index] = Access { outcome, sent, arrives: sent, answered, ..self.on_air[index] };
        }
    }

    /// Whether a frame of this pair that begins at `begins` is captured among the frames that began with that of
    /// `index` and are still on the air.
    fn is_captured<F>(&self, mac: &mut Mac<F>, index: usize, pair: NodePair, begins: Instant) -> bool {
        let others = self.on_air.iter().enumerate().filter(|&(other, access)| other != index && access.sent > begins);
        mac.receivers.captures(pair.to, pair.from, others.map(|(_, access)| access.node))
    }
}
