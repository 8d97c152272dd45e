//! The end of an access: the medium falls silent, senders learn what became of their frames, and back-off begins anew.
//!
//! Clause numbers are those of IEEE Std 802.11-2016.

use evenair_units::{Instant, Span};

use crate::access::{Access, Attempt, Outcome};
use crate::chores::News;
use crate::frame::{Carried, Queued, dropped};
use crate::function::Head;
use crate::medium::Stage;
use crate::{AfterCollision, DropReason, Medium, NodeId, To};

impl<F> Medium<F> {
    /// The medium falls silent, unless the TXOP goes on.
    #[inline(always)]
    pub(crate) fn end(&mut self, at: Instant) {
        if self.rates.is_some() {
            self.report_received();
        }
        self.split_airtime(at);
        if self.has_edca && self.carry_on(at) {
            return;
        }
        self.account(at);
        self.stage = Stage::Silent;
        if let [Access { node, function, outcome: Outcome::Received, .. }] = self.on_air[..] {
            self.contention.resume(at);
            self.settle_received(node, function);
        } else {
            self.end_failed(at);
        }
        self.due = self.contention.next();
    }

    /// The medium falls silent with the end of DATA: nothing answers it.
    #[inline(never)]
    pub(crate) fn end_broadcast(&mut self, at: Instant) {
        self.end(at);
    }

    /// The one access was a success, if it was.
    #[inline(never)]
    fn report_received(&mut self) {
        if let [Access { node, attempt, outcome: Outcome::Received, .. }] = self.on_air[..]
            && !self.nodes[node as usize].has_left
        {
            self.report(node, &attempt, true);
        }
    }

    /// The one access was a success, and its TXOP is over.
    #[inline(always)]
    fn settle_received(&mut self, node: u32, id: u32) {
        self.functions[id as usize].on_air = false;
        if !self.nodes[node as usize].has_left {
            self.back_off(id);
        }
        self.on_air.clear();
    }

    /// An access failed, or several began together.
    #[inline(never)]
    fn end_failed(&mut self, at: Instant) {
        let resume = at + self.wait_of_bystanders();
        self.contention.resume(resume);
        let mut on_air = core::mem::take(&mut self.on_air);
        for access in &on_air {
            self.settle(at, resume, access);
        }
        on_air.clear();
        self.on_air = on_air;
    }

    /// A TXOP goes on after SIFS while the next frame and its answer fit (10.22.2.7, 10.22.2.8). After a failure the
    /// function backs off, as it may.
    #[inline(never)]
    fn carry_on(&mut self, at: Instant) -> bool {
        let [Access { function: id, outcome: Outcome::Received, txop_end: Some(txop_end), .. }] = self.on_air[..]
        else {
            return false;
        };
        if !self.functions[id as usize].has_work() {
            return false;
        }
        let attempt = self.attempt(at, id, false);
        let next = at + self.config.phy.sifs();
        if next + attempt.data + attempt.answer > txop_end {
            return false;
        }
        self.on_air.clear();
        let outcome = self.outcome_alone(id, attempt);
        self.transmit_until(next, id, attempt, outcome, Some(txop_end));
        self.tell_accesses(next);
        (self.stage, self.due) = self.stage_of_transmission();
        true
    }

    /// From the end of the last frame until the inter-frame space begins, for those who did not send.
    fn wait_of_bystanders(&self) -> Span {
        let phy = &self.config.phy;
        let Access { outcome, attempt, .. } = self.on_air[0];
        let outcome = if self.on_air.len() > 1 { self.last_of_collision() } else { outcome };
        match outcome {
            Outcome::Received | Outcome::Unconfirmed => Span::ZERO,
            // They could decode the frame, and keep off while the ACK is due (the NAV, 10.3.2.4). The receiver, which
            // could not, would wait EIFS: a few microseconds more, which are left out.
            Outcome::Lost => attempt.answer,
            // They give the reservation up when no CTS comes, as the sender does.
            Outcome::Unanswered => phy.response_timeout(),
            Outcome::Collided => match self.config.after_collision {
                AfterCollision::Eifs => phy.eifs() - phy.difs(),
                AfterCollision::Difs | AfterCollision::DifsForAll => Span::ZERO,
                AfterCollision::EifsThenDifs => phy.eifs(),
            },
        }
    }

    /// What bystanders of a collision hear last: the answer to a frame that was captured, or only noise.
    fn last_of_collision(&self) -> Outcome {
        let answers = self.on_air.iter().filter(|access| access.outcome.delivers());
        let answered = answers.map(|access| access.answered).max();
        let noises = self.on_air.iter().filter(|access| !access.outcome.delivers());
        let noise_ends = noises.map(|access| access.sent).max();
        if answered.is_some() && answered >= noise_ends { Outcome::Received } else { Outcome::Collided }
    }

    /// How long a sender whose access failed waits, from the end of its own frame, before its inter-frame space begins.
    fn wait_of_sender(&self, access: &Access) -> Span {
        let phy = &self.config.phy;
        let collided = access.outcome == Outcome::Collided;
        match self.config.after_collision {
            _ if access.attempt.to == To::Broadcast => Span::ZERO,
            AfterCollision::DifsForAll if collided => Span::ZERO,
            // The inter-frame space is over when the answer is.
            AfterCollision::EifsThenDifs if collided => {
                Span::from_nanos(access.attempt.answer.as_nanos().saturating_sub(phy.difs().as_nanos()))
            }
            _ => phy.response_timeout(),
        }
    }

    /// The sender learns what became of its access, and draws its next back-off: also where it has no other frame, so
    /// that it cannot take the medium twice in a row at once (10.3.4.2).
    fn settle(&mut self, at: Instant, resume: Instant, access: &Access) {
        let id = access.function;
        let function = &mut self.functions[id as usize];
        function.on_air = false;
        if self.nodes[access.node as usize].has_left {
            return;
        }
        self.report_access(access);
        if access.outcome != Outcome::Received {
            let from = at.max(match access.outcome {
                // It heard the ACK, and could not decode it.
                Outcome::Unconfirmed => access.answered + self.config.phy.eifs() - self.config.phy.difs(),
                _ => access.sent + self.wait_of_sender(access),
            });
            if from != resume {
                // The node's other functions wait like the one that sent: none of them heard the frame (10.22.2.4).
                let functions = self.nodes[access.node as usize].functions();
                functions.for_each(|id| self.contention.set_apart(id as u32, from));
            }
            self.fail(at, access);
        }
        self.back_off(id);
    }

    /// A new back-off begins, with or without a frame.
    #[inline(always)]
    pub(crate) fn back_off(&mut self, id: u32) {
        let slots = self.draw_back_off(id);
        self.contention.begin(id, slots, self.functions[id as usize].has_work());
    }

    fn report_access(&mut self, access: &Access) {
        let sent_data = !access.attempt.rts || !matches!(access.outcome, Outcome::Unanswered | Outcome::Collided);
        if sent_data {
            self.report(access.node, &access.attempt, access.outcome == Outcome::Received);
        }
    }

    /// The sender's choice of rates learns what became of its DATA.
    pub(crate) fn report(&mut self, from: u32, attempt: &Attempt, acknowledged: bool) {
        if let (Some(rates), To::Node(NodeId(to))) = (&mut self.rates, attempt.to) {
            rates.report(from, to, attempt.rate, acknowledged);
        }
    }

    fn fail(&mut self, at: Instant, access: &Access) {
        let function = &mut self.functions[access.function as usize];
        let counters = &mut function.counters;
        counters.repeated_failures += u64::from(function.head.attempts > 1);
        match access.outcome {
            Outcome::Collided => counters.collisions += 1,
            _ => counters.losses += 1,
        }
        match access.attempt.to {
            To::Broadcast => self.give_up(at, access.function, DropReason::BroadcastCollision),
            To::Node(_) => self.retry(
                at,
                access.function,
                access.attempt.rts && matches!(access.outcome, Outcome::Lost | Outcome::Unconfirmed),
            ),
        }
    }

    /// Doubles the window, or gives the frame up (10.3.3, 10.3.4.4). DATA after RTS has a retry limit of its own.
    pub(crate) fn retry(&mut self, at: Instant, id: u32, after_rts: bool) {
        let function = &mut self.functions[id as usize];
        let (retries, limit) = match after_rts {
            true => (&mut function.head.long_retries, self.config.long_retry_limit),
            false => (&mut function.head.short_retries, self.config.short_retry_limit),
        };
        *retries += 1;
        if *retries < limit {
            return function.widen_window();
        }
        if function.confirm() {
            // Nothing is lost: it was received, only its sender does not know.
            function.reset_window();
            return self.note_if_empty(id);
        }
        function.counters.retry_drops += 1;
        self.give_up(at, id, DropReason::RetryLimit);
    }

    pub(crate) fn give_up(&mut self, at: Instant, id: u32, reason: DropReason) {
        let (queued, head) = self.pop(id);
        let function = &mut self.functions[id as usize];
        function.reset_window();
        let from = NodeId(function.node);
        match queued.mpdu.frame {
            Carried::Own(own) => {
                let (to, airtime) = (queued.mpdu.to, head.airtime);
                self.hear_of(News { at, from, to, own: Some(own), airtime, received: false });
            }
            Carried::Packet(_) => self.events.extend(dropped(at, from, queued.mpdu, reason)),
        }
    }

    /// Takes the frame at the head out of a function's queue.
    fn pop(&mut self, id: u32) -> (Queued<F>, Head) {
        let function = &mut self.functions[id as usize];
        let popped = function.pop().expect("the frame in service is at the head of its queue");
        self.note_if_empty(id);
        popped
    }

    /// The function may have lost its last frame.
    pub(crate) fn note_if_empty(&mut self, id: u32) {
        let function = &self.functions[id as usize];
        if !function.has_work() {
            self.note_backlog(function.node, false);
        }
    }
}
