//! An access to the medium from its first bit to the last: one frame, or with EDCA as many as the TXOP has room for. Its
//! end is in `settle`.
//!
//! Clause numbers are those of IEEE Std 802.11-2016.

use alloc::vec::Vec;

use evenair_units::{Airtime, Bytes, Instant, Span};
use evenair_wifi::{ACK_CTS, LLC_SNAP, MAC_HEADER_AND_FCS, Phy, PhyRate, QOS_CONTROL, RTS};

use crate::chores::News;
use crate::frame::{Carried, Queued};
use crate::function::{Head, Service};
use crate::medium::Stage;
use crate::reception::Sent;
use crate::{Event, Medium, NodeId, To};

/// One attempt to send the frame at the head of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) to: To,
    pub(crate) rate: PhyRate,
    /// Starts with RTS.
    pub(crate) rts: bool,
    /// DATA with its header and FCS.
    pub(crate) psdu: Bytes,
    /// Time on air of DATA.
    pub(crate) data: Span,
    /// SIFS and ACK, where there is one.
    pub(crate) answer: Span,
}

/// What one function sends at a time when it has won the medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) node: u32,
    pub(crate) function: u32,
    pub(crate) attempt: Attempt,
    pub(crate) outcome: Outcome,
    /// End of what the node itself sends of RTS and DATA.
    pub(crate) sent: Instant,
    /// End of the ACK where there is one.
    pub(crate) answered: Instant,
    /// DATA was received, and its receiver has it.
    pub(crate) delivered: bool,
    /// When the TXOP ends, if it may have more than one frame.
    pub(crate) txop_end: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Received,
    /// DATA was received, its ACK was not.
    Unconfirmed,
    /// DATA was not received.
    Lost,
    /// RTS was not received, or its CTS was not, or its receiver has left.
    Unanswered,
    Collided,
}

impl Outcome {
    pub(crate) fn delivers(self) -> bool {
        matches!(self, Self::Received | Self::Unconfirmed)
    }
}

impl<F> Medium<F> {
    /// Back-off has run out at one function, or at several at once.
    #[inline(always)]
    pub(crate) fn start(&mut self, at: Instant) {
        self.account(at);
        let slots = self.idle_sense.is_some().then(|| self.contention.slots());
        self.contention.start(at, &mut self.senders);
        if let (Some(before), Some(sense)) = (slots, &mut self.idle_sense) {
            sense.observe(self.contention.slots() - before);
        }
        if self.senders.len() > 1 && self.has_edca {
            self.collide_internally(at);
        }
        self.totals.transmissions += 1;
        if let [id] = self.senders[..] {
            self.senders.clear();
            let attempt = self.attempt(at, id, true);
            let outcome = self.outcome_alone(id, attempt);
            let (sent, answered) = self.transmit(at, id, attempt, outcome);
            (self.stage, self.due) =
                if outcome.delivers() { (Stage::Receiving, sent) } else { (Stage::Ending, answered) };
        } else {
            self.start_together(at);
        }
        self.begin_airtime(at);
        if self.watch.is_some() {
            self.tell_accesses(at);
        }
    }

    /// Several functions send at once.
    #[inline(never)]
    fn start_together(&mut self, at: Instant) {
        let senders = core::mem::take(&mut self.senders);
        for &id in &senders {
            let attempt = self.attempt(at, id, true);
            self.transmit(at, id, attempt, Outcome::Collided);
        }
        self.senders = senders;
        self.senders.clear();
        self.totals.collisions += 1;
        if self.receivers.can_capture() {
            self.capture(at);
        }
        (self.stage, self.due) = self.stage_of_transmission();
    }

    /// Of the functions of one node that would send, the one of the highest priority does. The others behave as if they
    /// had collided (10.22.2.4).
    #[inline(never)]
    fn collide_internally(&mut self, at: Instant) {
        let mut senders = core::mem::take(&mut self.senders);
        // The functions of a node have successive numbers, in the order of priority.
        senders.sort_unstable_by(|a, b| b.cmp(a));
        let mut last = None;
        let mut losers = Vec::new();
        senders.retain(|&id| {
            let node = self.functions[id as usize].node;
            let wins = last.replace(node) != Some(node);
            if !wins {
                losers.push(id);
            }
            wins
        });
        self.senders = senders;
        for id in losers {
            self.functions[id as usize].counters.internal_collisions += 1;
            self.retry(at, id, false);
            self.back_off(id);
        }
    }

    /// How the frame at the head of the queue is sent now.
    #[inline(always)]
    pub(crate) fn attempt(&mut self, at: Instant, id: u32, may_reserve: bool) -> Attempt {
        let function = &self.functions[id as usize];
        let mut service = function.service().expect("a function contends while it has a frame");
        let node = function.node;
        if self.rates.is_some() {
            service.rate = self.choose_rate(at, id, service);
        }
        self.attempt_at(node, service, may_reserve)
    }

    /// The rate of the next attempt, where senders choose it.
    #[inline(never)]
    fn choose_rate(&mut self, at: Instant, id: u32, service: Service) -> PhyRate {
        let function = &mut self.functions[id as usize];
        let (Some(rates), To::Node(receiver)) = (&mut self.rates, service.to) else { return service.rate };
        let (pair, attempt, highest) = ((function.node, receiver.0), function.head.attempts, service.rate);
        let choose = || rates.choose((at, &self.config.phy), pair, highest, attempt);
        *function.head.rate.get_or_insert_with(choose)
    }

    /// How a node sends a frame.
    #[inline(always)]
    pub(crate) fn attempt_at(&mut self, node: u32, service: Service, may_reserve: bool) -> Attempt {
        let Service { to, msdu, rate, .. } = service;
        let phy = &self.config.phy;
        let psdu = Bytes(msdu.0 + LLC_SNAP.0 + MAC_HEADER_AND_FCS.0);
        let To::Node(receiver) = to else { return broadcast(phy, psdu) };
        let rts = may_reserve && self.config.rts_threshold.is_some_and(|threshold| msdu > threshold);
        let qos = self.has_edca && self.nodes[node as usize].edca && self.nodes[receiver.0 as usize].edca;
        let psdu = if qos { Bytes(psdu.0 + QOS_CONTROL.0) } else { psdu };
        let (data, answer) = self.airtimes.of(phy, psdu, rate);
        Attempt { to, rate, rts, psdu, data, answer }
    }

    /// The frame at the head of the queue goes on the air, and a TXOP begins where there are any. Says when what the
    /// sender itself sends will have ended, and the whole exchange.
    #[inline(always)]
    fn transmit(&mut self, at: Instant, id: u32, attempt: Attempt, outcome: Outcome) -> (Instant, Instant) {
        let txop = self.functions[id as usize].txop();
        self.transmit_until(at, id, attempt, outcome, (txop > Span::ZERO).then(|| at + txop))
    }

    /// The same where the TXOP has begun.
    #[inline(always)]
    pub(crate) fn transmit_until(
        &mut self,
        at: Instant,
        id: u32,
        attempt: Attempt,
        outcome: Outcome,
        txop_end: Option<Instant>,
    ) -> (Instant, Instant) {
        let (sent, answered) = self.ends(at, attempt, outcome);
        let function = &mut self.functions[id as usize];
        function.on_air = true;
        function.begin_attempt(Airtime(answered - at));
        let node = function.node;
        self.on_air.push(Access { node, function: id, attempt, outcome, sent, answered, delivered: false, txop_end });
        (sent, answered)
    }

    /// When what the sender itself sends will have ended, and the whole exchange.
    #[inline(always)]
    fn ends(&self, at: Instant, attempt: Attempt, outcome: Outcome) -> (Instant, Instant) {
        let sent = at + if attempt.rts { self.own_time_after_rts(attempt, outcome) } else { attempt.data };
        (sent, if outcome.delivers() { sent + attempt.answer } else { sent })
    }

    /// How long what the sender itself sends takes, with RTS.
    #[inline(never)]
    fn own_time_after_rts(&self, attempt: Attempt, outcome: Outcome) -> Span {
        let (phy, rate) = (&self.config.phy, attempt.rate);
        match outcome {
            Outcome::Unanswered | Outcome::Collided => phy.rts(rate),
            _ => phy.reservation(rate) + attempt.data,
        }
    }

    /// What becomes of a frame that nothing overlaps.
    #[inline(always)]
    pub(crate) fn outcome_alone(&mut self, id: u32, attempt: Attempt) -> Outcome {
        let To::Node(NodeId(to)) = attempt.to else { return Outcome::Received };
        if self.nodes[to as usize].has_left {
            return if attempt.rts { Outcome::Unanswered } else { Outcome::Lost };
        }
        if self.receivers.is_lossy() { self.outcome_in_noise(id, to, attempt) } else { Outcome::Received }
    }

    #[inline(never)]
    fn outcome_in_noise(&mut self, id: u32, to: u32, attempt: Attempt) -> Outcome {
        let from = self.functions[id as usize].node;
        let control = |psdu| Sent { rate: self.config.phy.control_rate(attempt.rate), psdu, is_data: false };
        let (rts, answer) = (control(RTS), control(ACK_CTS));
        if attempt.rts
            && (self.receivers.draw_loss(&self.config.phy, from, to, rts)
                || self.receivers.draw_loss(&self.config.phy, to, from, answer))
        {
            Outcome::Unanswered
        } else if self.receivers.draw_loss(
            &self.config.phy,
            from,
            to,
            Sent { rate: attempt.rate, psdu: attempt.psdu, is_data: true },
        ) {
            Outcome::Lost
        } else if self.receivers.draw_loss(&self.config.phy, to, from, answer) {
            Outcome::Unconfirmed
        } else {
            Outcome::Received
        }
    }

    /// Of frames that began together, those go on that are received in spite of the others.
    fn capture(&mut self, at: Instant) {
        for index in 0..self.on_air.len() {
            let Access { node, function, attempt, .. } = self.on_air[index];
            let To::Node(NodeId(to)) = attempt.to else { continue };
            let receiver_sends = self.on_air.iter().any(|access| access.node == to);
            if receiver_sends || !self.is_captured(index, to, node, at) {
                continue;
            }
            let mut outcome = self.outcome_alone(function, attempt);
            let phy = &self.config.phy;
            let cts_begins = at + phy.rts(attempt.rate) + phy.sifs();
            if attempt.rts && !self.is_captured(index, node, to, cts_begins) {
                outcome = Outcome::Unanswered;
            }
            let (sent, _) = self.ends(at, attempt, outcome);
            if outcome == Outcome::Received && !self.is_captured(index, node, to, sent + self.config.phy.sifs()) {
                outcome = Outcome::Unconfirmed;
            }
            let (sent, answered) = self.ends(at, attempt, outcome);
            let more = Airtime(answered - self.on_air[index].answered);
            self.functions[function as usize].charge(more);
            self.on_air[index] = Access { outcome, sent, answered, ..self.on_air[index] };
        }
    }

    /// Whether what begins at `begins` from `from` for `at` is received in spite of the frames that began with that of
    /// `index` and are still on the air then.
    fn is_captured(&mut self, index: usize, at: u32, from: u32, begins: Instant) -> bool {
        let others = self.on_air.iter().enumerate().filter(|&(other, access)| other != index && access.sent > begins);
        self.receivers.captures(at, from, others.map(|(_, access)| access.node))
    }

    #[inline(never)]
    pub(crate) fn stage_of_transmission(&self) -> (Stage, Instant) {
        let next = self.on_air.iter().filter(|access| access.outcome.delivers() && !access.delivered);
        match next.map(|access| access.sent).min() {
            Some(received) => (Stage::Receiving, received),
            None => (Stage::Ending, self.on_air.iter().map(|access| access.answered).max().expect("someone sends")),
        }
    }

    /// The end of a DATA frame that is received, unless one of the two has left meanwhile.
    #[inline(always)]
    pub(crate) fn receive(&mut self, at: Instant) {
        let is_due = |access: &Access| access.outcome.delivers() && !access.delivered && access.sent == at;
        let alone = self.on_air.len() == 1;
        let place = if alone { 0 } else { self.on_air.iter().position(is_due).expect("the stage says so") };
        let access = &mut self.on_air[place];
        access.delivered = true;
        let Access { node, function, attempt: Attempt { to, .. }, outcome, .. } = *access;
        let receiver_left = matches!(to, To::Node(receiver) if self.nodes[receiver.0 as usize].has_left);
        if receiver_left || self.nodes[node as usize].has_left {
            (access.outcome, access.answered) = (Outcome::Lost, access.sent);
        } else {
            self.deliver(at, function, outcome == Outcome::Received);
        }
        (self.stage, self.due) =
            if alone { (Stage::Ending, self.on_air[0].answered) } else { self.stage_of_transmission() };
        if self.stage == Stage::Ending && self.due <= at {
            self.end_broadcast(at);
        }
    }

    /// The function's node has received a frame at `now`, and has not sent its ACK yet.
    pub(crate) fn is_to_answer(&self, now: Instant, id: u32) -> bool {
        let node = To::Node(NodeId(self.functions[id as usize].node));
        self.on_air.iter().any(|access| access.delivered && access.sent == now && access.attempt.to == node)
    }

    /// The frame in service has been received, and where `confirmed`, its sender will know. A receiver drops what it
    /// has had before.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, at: Instant, id: u32, confirmed: bool) {
        let function = &mut self.functions[id as usize];
        if !function.is_unconfirmed() {
            if let Some(chain) = &mut self.backlog {
                chain.push(self.backlogged as u32);
            }
            let service = if confirmed { None } else { function.service() };
            let (Queued { enqueued, mpdu }, head) = function.pop().expect("the frame in service is at the head");
            let (from, to) = (NodeId(function.node), mpdu.to);
            if let Some(service) = service {
                function.keep(service, head);
                self.has_repeated = true;
            }
            let Head { attempts, airtime, .. } = head;
            let own = match mpdu.frame {
                Carried::Own(own) => Some(own),
                Carried::Packet(frame) => {
                    let msdu = mpdu.msdu;
                    self.events.push_back(Event::Delivered { at, enqueued, from, to, msdu, attempts, airtime, frame });
                    None
                }
            };
            if self.chores.is_some() {
                self.hear_of(News { at, from, to, own, airtime, received: true });
            }
        } else if confirmed {
            function.confirm();
        }
        if confirmed {
            let function = &mut self.functions[id as usize];
            function.counters.successes += 1;
            function.reset_window();
            self.note_if_empty(id);
        }
    }
}

/// A broadcast is sent once at the lowest basic rate, and not answered.
#[cold]
fn broadcast(phy: &Phy, psdu: Bytes) -> Attempt {
    let rate = phy.lowest_basic();
    Attempt { to: To::Broadcast, rate, rts: false, psdu, data: phy.ppdu(psdu, rate), answer: Span::ZERO }
}
