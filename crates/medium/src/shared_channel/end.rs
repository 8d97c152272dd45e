//! The end of an access in the shared-channel engine: the medium falls silent, senders learn the outcomes of their
//! frames, and back-off begins again.
//!
//! Clause numbers are those of IEEE Std 802.11-2016.

use evenair_units::{Airtime, Instant, Span};

use super::access::{Access, Outcome};
use super::channel::{SharedChannel, Stage};
use super::frames;
use crate::attempt::Attempt;
use crate::config::AfterCollision;
use crate::frame::{NodeId, To};
use crate::mac::{Failure, Mac};
use crate::watch::TxStatus;

/// Time in which a node senses the start of an OFDM frame (IEEE Std 802.11-2020, 17.3.10.6), as in ns-3. Back-off after a
/// reserved TXOP counts on several grids, whose boundaries may be less than this apart.
const SENSING: Span = Span::from_micros(4);

impl SharedChannel {
    /// The medium falls silent, unless the TXOP goes on.
    #[inline(always)]
    pub(super) fn end<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        if mac.rates.is_some() {
            self.report_received(mac);
        }
        if mac.config.aggregation.is_some() {
            self.confirm_bursts(mac, at);
        }
        self.split_airtime(mac, at);
        if mac.nodes.has_edca && self.carry_on(mac, at) {
            return;
        }
        mac.account(at, true);
        self.stage = Stage::Silent;
        if let [Access { node, edcaf, outcome: Outcome::Received, txop_end, .. }] = self.on_air[..] {
            match txop_end {
                Some(txop_end) if mac.reserves_txops() => self.resume_reserved(mac, at, txop_end),
                _ => self.contention.resume(at),
            }
            self.end_received(mac, node, edcaf);
        } else {
            self.end_failed(mac, at);
        }
        self.due = self.contention.next();
    }

    /// Delivers the MPDUs of bursts whose response has been received.
    #[inline(never)]
    fn confirm_bursts<F>(&self, mac: &mut Mac<F>, at: Instant) {
        for access in self.on_air.iter().filter(|access| access.outcome == Outcome::Received) {
            let edcaf = &mac.nodes.edcafs[access.edcaf as usize];
            if edcaf.tx_queues().is_some_and(|queues| queues.burst.on_air) && !mac.nodes.has_left(access.node) {
                mac.deliver(at, access.edcaf, true);
            }
        }
    }

    /// Ends an access at the end of DATA, as a broadcast has no response.
    #[inline(never)]
    pub(super) fn end_broadcast<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        self.end(mac, at);
    }

    /// Reports the success of the only access to rate control, if it was one.
    #[inline(never)]
    fn report_received<F>(&self, mac: &mut Mac<F>) {
        if let [Access { node, attempt, outcome: Outcome::Received, .. }] = self.on_air[..]
            && !mac.nodes.has_left(node)
        {
            mac.report(node, &attempt, true);
        }
    }

    /// Ends the only access, a success, when its TXOP is over.
    #[inline(always)]
    fn end_received<F>(&mut self, mac: &mut Mac<F>, node: u32, id: u32) {
        mac.nodes.edcafs[id as usize].on_air = false;
        if !mac.nodes.has_left(node) {
            self.back_off(mac, id);
        }
        self.on_air.clear();
    }

    /// The medium falls silent before the end of a TXOP whose frames reserved it: their NAV keeps bystanders from it until then,
    /// but neither its holder nor its responder, which have none. See [`crate::Aggregation::cf_end`].
    #[inline(never)]
    fn resume_reserved<F>(&mut self, mac: &Mac<F>, at: Instant, txop_end: Instant) {
        if txop_end <= at {
            return self.contention.resume(at);
        }
        self.contention.resume_late(txop_end, SENSING);
        let Access { node, attempt, .. } = self.on_air[0];
        let responder = if let To::Node(NodeId(responder)) = attempt.to { Some(responder) } else { None };
        for node in core::iter::once(node).chain(responder).filter(|&node| !mac.nodes.has_left(node)) {
            mac.nodes.edcaf_ids(node).for_each(|id| self.contention.set_apart(id as u32, at));
        }
    }

    /// Ends accesses that failed, or that began together.
    #[inline(never)]
    fn end_failed<F>(&mut self, mac: &mut Mac<F>, at: Instant) {
        let resume = at + self.wait_of_bystanders(mac);
        self.contention.resume(resume);
        let mut on_air = core::mem::take(&mut self.on_air);
        for access in &on_air {
            self.end_access(mac, at, resume, access);
        }
        on_air.clear();
        self.on_air = on_air;
    }

    /// A TXOP goes on after SIFS while the next frame and its answer fit (10.22.2.7, 10.22.2.8). After a failure the
    /// EDCAF backs off, as the standard permits.
    #[inline(never)]
    fn carry_on<F>(&mut self, mac: &mut Mac<F>, at: Instant) -> bool {
        let [Access { edcaf: id, outcome: Outcome::Received, txop_end: Some(txop_end), .. }] = self.on_air[..] else {
            return false;
        };
        if !mac.nodes.edcafs[id as usize].has_work() {
            return self.give_back(mac, at, id, txop_end);
        }
        let next = at + mac.config.phy.sifs();
        let attempt = mac.attempt(at, id, false, Some(txop_end.saturating_since(next)));
        if next + attempt.data + attempt.answer > txop_end {
            return self.give_back(mac, at, id, txop_end);
        }
        self.on_air.clear();
        let outcome = self.outcome_alone(mac, id, attempt);
        // The TXOP goes on: keep its end.
        self.on_air.push(Access { txop_end: Some(txop_end), ..Access::begin(mac, next, id, attempt, outcome) });
        self.watch_accesses(mac, next);
        (self.stage, self.due) = self.stage_of_transmission();
        if mac.delivers_each() {
            self.await_mpdus(mac);
        }
        true
    }

    /// Ends an unused TXOP with a CF-End frame, if nodes do that and it fits. Returns whether it does.
    fn give_back<F>(&mut self, mac: &mut Mac<F>, at: Instant, id: u32, txop_end: Instant) -> bool {
        let phy = &mac.config.phy;
        let takes = phy.sifs() + phy.cf_end(self.on_air[0].attempt.rate);
        // ns-3 wants more time than the frame takes.
        if !mac.reserves_txops() || at + takes >= txop_end {
            return false;
        }
        let Access { node, attempt: Attempt { rate, .. }, .. } = self.on_air[0];
        if let Some(watch) = &mut mac.watch {
            watch.frame(frames::cf_end(at, node, rate, phy), TxStatus::Received);
        }
        mac.nodes.edcafs[id as usize].counters.airtime += Airtime(takes);
        self.on_air[0] = Access { answered: at + takes, txop_end: None, ..self.on_air[0] };
        (self.stage, self.due) = (Stage::Ending, at + takes);
        true
    }

    /// Time from the end of the last frame to the start of the inter-frame space, for bystanders.
    fn wait_of_bystanders<F>(&self, mac: &Mac<F>) -> Span {
        let phy = &mac.config.phy;
        let Access { outcome, attempt, .. } = self.on_air[0];
        let outcome = if self.on_air.len() > 1 { self.last_of_collision() } else { outcome };
        match outcome {
            Outcome::Received | Outcome::Unconfirmed => Span::ZERO,
            // They could decode the frame, and defer until the end of the ACK (the NAV, 10.3.2.4). The receiver, which
            // could not, would wait EIFS: a few microseconds more, which are left out.
            Outcome::Lost => attempt.answer,
            // They reset the NAV when no CTS comes, at the time of the sender's timeout.
            Outcome::Unanswered => phy.response_timeout(),
            Outcome::Collided => match mac.config.after_collision {
                AfterCollision::Eifs => phy.eifs() - phy.difs(),
                AfterCollision::Difs | AfterCollision::DifsForAll => Span::ZERO,
                AfterCollision::EifsThenDifs => phy.eifs(),
            },
        }
    }

    /// The last frame of a collision for bystanders: the response to a captured frame, or noise.
    fn last_of_collision(&self) -> Outcome {
        let answers = self.on_air.iter().filter(|access| access.outcome.delivers());
        let answered = answers.map(|access| access.answered).max();
        let noises = self.on_air.iter().filter(|access| !access.outcome.delivers());
        let noise_ends = noises.map(|access| access.sent).max();
        if answered.is_some() && answered >= noise_ends { Outcome::Received } else { Outcome::Collided }
    }

    /// Time from the end of the sender's own frame to the start of its inter-frame space, after a failed access.
    fn wait_of_sender<F>(&self, mac: &Mac<F>, access: &Access) -> Span {
        let phy = &mac.config.phy;
        let collided = access.outcome == Outcome::Collided;
        match mac.config.after_collision {
            _ if access.attempt.to == To::Broadcast => Span::ZERO,
            AfterCollision::DifsForAll if collided => Span::ZERO,
            // The inter-frame space ends with the time of the response.
            AfterCollision::EifsThenDifs if collided => {
                Span::from_nanos(access.attempt.answer.as_nanos().saturating_sub(phy.difs().as_nanos()))
            }
            _ => phy.response_timeout(),
        }
    }

    /// The sender learns the outcome of its access, and draws its next back-off, even without another frame: it must
    /// not win the medium twice in a row without back-off (10.3.4.2).
    fn end_access<F>(&mut self, mac: &mut Mac<F>, at: Instant, resume: Instant, access: &Access) {
        let id = access.edcaf;
        let edcaf = &mut mac.nodes.edcafs[id as usize];
        edcaf.on_air = false;
        if mac.nodes.has_left(access.node) {
            return;
        }
        report(mac, access);
        if access.outcome != Outcome::Received {
            let from = at.max(match access.outcome {
                // It heard the ACK, and could not decode it.
                Outcome::Unconfirmed => access.answered + mac.config.phy.eifs() - mac.config.phy.difs(),
                _ => access.sent + self.wait_of_sender(mac, access),
            });
            if from != resume {
                // The node's other EDCAFs wait like the one that sent, since none of them heard the frame (10.22.2.4).
                let edcafs = mac.nodes.edcaf_ids(access.node);
                edcafs.for_each(|id| self.contention.set_apart(id as u32, from));
            }
            let failure = Failure {
                to: access.attempt.to,
                collided: access.outcome == Outcome::Collided,
                after_rts: access.attempt.rts && matches!(access.outcome, Outcome::Lost | Outcome::Unconfirmed),
            };
            mac.fail(at, id, failure);
        }
        self.back_off(mac, id);
    }
}

/// Reports the outcome of an access to rate control, if DATA was sent.
fn report<F>(mac: &mut Mac<F>, access: &Access) {
    let sent_data = !access.attempt.rts || !matches!(access.outcome, Outcome::Unanswered | Outcome::Collided);
    if sent_data {
        mac.report(access.node, &access.attempt, access.outcome == Outcome::Received);
    }
}
