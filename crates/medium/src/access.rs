//! An access to the medium from its first bit to the silence after it.
//!
//! Clause numbers are those of IEEE Std 802.11-2016.

use evenair_units::{Airtime, Instant, Span};
use evenair_wifi::PhyRate;

use crate::medium::{Stage, dropped};
use crate::{AfterCollision, DropReason, Event, Medium, NodeId, To};

/// What one node sends when it has won the medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    node: u32,
    to: To,
    rate: PhyRate,
    /// Starts with RTS.
    rts: bool,
    outcome: Outcome,
    /// End of what the node itself sends of RTS and DATA.
    sent: Instant,
    /// End of the ACK where there is one.
    answered: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Received,
    /// DATA was not received.
    Lost,
    /// RTS was not answered, for its receiver has left.
    Unanswered,
    Collided,
}

impl<F> Medium<F> {
    /// Back-off has run out at one node, or at several at once.
    pub(crate) fn start(&mut self, at: Instant) {
        self.account(at);
        let mut senders = core::mem::take(&mut self.senders);
        self.contention.start(at, &mut senders);
        let alone = senders.len() == 1;
        for id in senders.drain(..) {
            let access = self.access(at, id, alone);
            let node = &mut self.nodes[id as usize];
            let airtime = Airtime(access.answered - at);
            node.on_air = true;
            node.head.attempts += 1;
            node.head.airtime += airtime;
            node.counters.attempts += 1;
            node.counters.airtime += airtime;
            self.on_air.push(access);
        }
        self.senders = senders;
        self.totals.transmissions += 1;
        self.totals.collisions += u64::from(!alone);
        self.stage = match self.on_air[..] {
            [Access { outcome: Outcome::Received, sent, .. }] => Stage::Receiving(sent),
            _ => Stage::Ending(self.on_air.iter().map(|access| access.sent).max().expect("someone sends")),
        };
    }

    /// What `id` sends from `at` on, and what will become of it.
    fn access(&mut self, at: Instant, id: u32, alone: bool) -> Access {
        let mpdu = self.nodes[id as usize].front().expect("a node contends while it has a frame");
        let (to, msdu, rate) = (mpdu.to, mpdu.msdu, mpdu.rate);
        let acknowledged = to != To::Broadcast;
        let rts = acknowledged && self.config.rts_threshold.is_some_and(|threshold| msdu > threshold);
        let outcome = if alone { self.outcome_alone(id, to, rts) } else { Outcome::Collided };
        let phy = &self.config.phy;
        let rate = if acknowledged { rate } else { phy.lowest_basic() };
        let sent = at
            + match outcome {
                Outcome::Unanswered | Outcome::Collided if rts => phy.rts(rate),
                Outcome::Received | Outcome::Lost if rts => phy.reservation(rate) + phy.data(msdu, rate),
                _ => phy.data(msdu, rate),
            };
        let has_answer = acknowledged && outcome == Outcome::Received;
        let answered = if has_answer { sent + phy.sifs() + phy.ack(rate) } else { sent };
        Access { node: id, to, rate, rts, outcome, sent, answered }
    }

    fn outcome_alone(&mut self, id: u32, to: To, rts: bool) -> Outcome {
        let To::Node(receiver) = to else { return Outcome::Received };
        if self.nodes[receiver.0 as usize].has_left {
            return if rts { Outcome::Unanswered } else { Outcome::Lost };
        }
        let per_billion = self.frame_errors.get(&(NodeId(id), receiver)).copied().unwrap_or(0);
        if self.nodes[id as usize].draw_error(per_billion) { Outcome::Lost } else { Outcome::Received }
    }

    /// The end of a DATA frame that is received, unless one of the two has left meanwhile.
    pub(crate) fn receive(&mut self, at: Instant) {
        let Access { node: id, to, answered, .. } = self.on_air[0];
        let receiver_left = matches!(to, To::Node(receiver) if self.nodes[receiver.0 as usize].has_left);
        let sender = &mut self.nodes[id as usize];
        if receiver_left || sender.has_left {
            self.on_air[0].outcome = Outcome::Lost;
            return self.end(at);
        }
        let (queued, head) = sender.pop().expect("the frame on the air is at the head of its queue");
        sender.counters.successes += 1;
        sender.reset_window(self.config.phy.cw_min());
        self.backlogged -= usize::from(!sender.has_frame());
        self.events.push_back(Event::Delivered {
            at,
            enqueued: queued.enqueued,
            from: NodeId(id),
            to,
            msdu: queued.mpdu.msdu,
            attempts: head.attempts,
            airtime: head.airtime,
            frame: queued.mpdu.frame,
        });
        self.stage = Stage::Ending(answered);
    }

    /// The medium falls silent.
    pub(crate) fn end(&mut self, at: Instant) {
        self.account(at);
        self.stage = Stage::Silent;
        let resume = at + self.wait_of_bystanders();
        self.contention.resume(resume);
        let mut on_air = core::mem::take(&mut self.on_air);
        for access in on_air.drain(..) {
            self.settle(at, resume, access);
        }
        self.on_air = on_air;
    }

    /// From the end of the last frame until the first slot, for those who did not send.
    fn wait_of_bystanders(&self) -> Span {
        let phy = &self.config.phy;
        let Access { outcome, rate, .. } = self.on_air[0];
        match outcome {
            Outcome::Received => phy.difs(),
            // They could decode the frame, and keep off while the ACK is due (the NAV, 10.3.2.4). The receiver, which
            // could not, would wait EIFS: a few microseconds more, which are left out.
            Outcome::Lost => phy.sifs() + phy.ack(rate) + phy.difs(),
            // They give the reservation up when no CTS comes, as the sender does.
            Outcome::Unanswered => phy.response_timeout() + phy.difs(),
            Outcome::Collided => match self.config.after_collision {
                AfterCollision::Eifs => phy.eifs(),
                AfterCollision::Difs | AfterCollision::DifsForAll => phy.difs(),
            },
        }
    }

    /// How long a sender whose access failed waits, from the end of its own frame, before it counts DIFS.
    fn wait_of_sender(&self, access: &Access) -> Span {
        let expects_answer = access.to != To::Broadcast;
        let together = access.outcome == Outcome::Collided && self.config.after_collision == AfterCollision::DifsForAll;
        if expects_answer && !together { self.config.phy.response_timeout() } else { Span::ZERO }
    }

    /// The sender learns what became of its access, and draws its next back-off: also where it has no other frame, so
    /// that it cannot take the medium twice in a row at once (10.3.4.2).
    fn settle(&mut self, at: Instant, resume: Instant, access: Access) {
        let node = &mut self.nodes[access.node as usize];
        node.on_air = false;
        if node.has_left {
            return;
        }
        if access.outcome != Outcome::Received {
            let origin = at.max(access.sent + self.wait_of_sender(&access)) + self.config.phy.difs();
            if origin != resume {
                self.contention.set_apart(access.node, origin);
            }
            self.fail(at, &access);
        }
        let node = &mut self.nodes[access.node as usize];
        self.contention.set(access.node, node.draw_back_off());
        if node.has_frame() {
            self.contention.enter(access.node);
        }
    }

    /// Doubles the window, or gives the frame up (10.3.3, 10.3.4.4).
    fn fail(&mut self, at: Instant, access: &Access) {
        let node = &mut self.nodes[access.node as usize];
        let counter = match access.outcome {
            Outcome::Collided => &mut node.counters.collisions,
            _ => &mut node.counters.losses,
        };
        *counter += 1;
        let (retries, limit) = match access.outcome {
            Outcome::Lost if access.rts => (&mut node.head.long_retries, self.config.long_retry_limit),
            _ => (&mut node.head.short_retries, self.config.short_retry_limit),
        };
        *retries += 1;
        let reason = match access.to {
            To::Broadcast => DropReason::BroadcastCollision,
            To::Node(_) if *retries >= limit => DropReason::RetryLimit,
            To::Node(_) => return node.widen_window(self.config.phy.cw_max()),
        };
        let (queued, _) = node.pop().expect("the frame on the air is at the head of its queue");
        node.counters.retry_drops += u64::from(reason == DropReason::RetryLimit);
        node.reset_window(self.config.phy.cw_min());
        self.backlogged -= usize::from(!node.has_frame());
        self.events.push_back(dropped(at, NodeId(access.node), queued.mpdu, reason));
    }
}
