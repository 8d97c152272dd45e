//! The MAC functions that both engines share: attempts, outcomes of frames, and their records.
//!
//! Clause numbers are those of IEEE Std 802.11-2016.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use evenair_units::{Bytes, Instant, Span};
use evenair_wifi::{LLC_SNAP, MAC_HEADER_AND_FCS, PhyRate, QOS_CONTROL};

use crate::accounts::Accounts;
use crate::airtimes::Airtimes;
use crate::attempt::{Attempt, Sending};
use crate::backlog::BacklogChain;
use crate::burst_bounds::BurstBounds;
use crate::bursts::ReorderTimers;
use crate::config::MediumConfig;
use crate::edcaf::{Head, Service};
use crate::feedback::{Feedback, FeedbackQueue};
use crate::frame::{Carried, DropReason, Event, NodeId, NodePair, Queued, To, dropped};
use crate::nodes::Nodes;
use crate::rate_control::Rates;
use crate::reception::{Receivers, Sent};
use crate::watch::{Transmission, TxStatus, Watch};

/// The MAC of all nodes, without medium access.
#[derive(Debug)]
pub(crate) struct Mac<F> {
    pub(crate) config: MediumConfig,
    pub(crate) nodes: Nodes<F>,
    /// Reception between all pairs of nodes.
    pub(crate) receivers: Receivers,
    /// Rate control; `None`: frames carry their own rates.
    pub(crate) rates: Option<Rates>,
    pub(crate) events: VecDeque<Event<F>>,
    /// Whether a frame was ever received without its sender's knowledge.
    pub(crate) has_repeated: bool,
    /// The backlog chain, if it is counted.
    pub(crate) backlog: Option<Box<BacklogChain>>,
    pub(crate) accounts: Accounts,
    /// Watch of the frames on the air, if requested.
    pub(crate) watch: Option<Box<Watch>>,
    airtimes: Airtimes,
    pub(crate) burst_bounds: BurstBounds,
    /// Feedback to management traffic.
    pub(crate) feedback: FeedbackQueue,
    /// Reorder timers of receivers.
    pub(crate) reorder: ReorderTimers,
}

impl<F> Mac<F> {
    pub(crate) fn new(config: MediumConfig) -> Self {
        Self {
            nodes: Nodes::new(),
            receivers: Receivers::new(config.reception),
            rates: Rates::new(config.rate_control, &config.phy),
            events: VecDeque::new(),
            has_repeated: false,
            backlog: None,
            accounts: Accounts::default(),
            watch: None,
            airtimes: Airtimes::new(&config.phy, config.protection),
            burst_bounds: BurstBounds::new(),
            feedback: FeedbackQueue::new(),
            reorder: ReorderTimers::new(),
            config,
        }
    }

    /// A node leaves, and what its buffers hold is lost.
    pub(crate) fn remove_node(&mut self, now: Instant, id: NodeId) {
        self.nodes.leave(id);
        for number in self.nodes.edcaf_ids(id.0) {
            let edcaf = &mut self.nodes.edcafs[number];
            while let Some((queued, _)) = edcaf.pop() {
                self.events.extend(dropped(now, id, queued.mpdu, DropReason::Left));
            }
            edcaf.confirm();
        }
        if self.config.aggregation.is_some() {
            self.abandon_tx_queues(now, id);
        }
        self.receivers.remove_node(id.0);
        if let Some(rates) = &mut self.rates {
            rates.remove_node(id.0);
        }
    }

    /// Adds the time since the last call to the totals.
    #[inline]
    pub(crate) fn account(&mut self, now: Instant, busy: bool) {
        self.accounts.account(now, busy, self.nodes.backlogged);
    }

    /// The attempt at the frame at the head of the queue; for an EDCAF that aggregates, as much as fits into the `left`
    /// part of its TXOP.
    #[inline(always)]
    pub(crate) fn attempt(&mut self, at: Instant, id: u32, may_reserve: bool, left: Option<Span>) -> Attempt {
        let edcaf = &self.nodes.edcafs[id as usize];
        if edcaf.tx_queues().is_some() {
            return self.attempt_burst(at, id, may_reserve, left);
        }
        let mut service = edcaf.service().expect("a function contends while it has a frame");
        let node = edcaf.node;
        if self.rates.is_some() {
            service.rate = self.choose_rate(at, id, service);
        }
        self.attempt_at(node, service, may_reserve)
    }

    /// Rate of the next attempt, if senders choose rates.
    #[inline(never)]
    fn choose_rate(&mut self, at: Instant, id: u32, service: Service) -> PhyRate {
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let (Some(rates), To::Node(receiver)) = (&mut self.rates, service.to) else { return service.rate };
        let pair = NodePair { from: edcaf.node, to: receiver.0 };
        let (attempt, highest) = (edcaf.head.attempts, service.rate);
        let choose = || rates.choose(at, pair, highest, attempt);
        *edcaf.head.rate.get_or_insert_with(choose)
    }

    /// The attempt at a given frame of a node.
    #[inline(always)]
    pub(crate) fn attempt_at(&mut self, node: u32, service: Service, may_reserve: bool) -> Attempt {
        let Service { to, msdu, rate, .. } = service;
        let phy = &self.config.phy;
        let psdu = Bytes(msdu.0 + LLC_SNAP.0 + MAC_HEADER_AND_FCS.0);
        let To::Node(receiver) = to else { return Attempt::broadcast(phy, psdu) };
        let rts = may_reserve && self.config.rts_threshold.is_some_and(|threshold| msdu > threshold);
        let nodes = &self.nodes;
        let qos = nodes.has_edca && nodes.is_qos(node) && nodes.is_qos(receiver.0);
        let psdu = if qos { Bytes(psdu.0 + QOS_CONTROL.0) } else { psdu };
        let (data, answer) = self.airtimes.of(phy, psdu, rate);
        Attempt { to, rate, rts, psdu, data, answer, sending: Sending::Single }
    }

    /// Whether noise spoils a frame that nothing overlaps.
    pub(crate) fn draw_loss(&mut self, from: u32, to: u32, sent: Sent) -> bool {
        self.receivers.draw_loss(&self.config.phy, from, to, sent)
    }

    /// Whether noise spoils the DATA of an attempt that nothing overlaps; of an A-MPDU, all of its MPDUs.
    pub(crate) fn draw_loss_of_data(&mut self, id: u32, to: u32, attempt: &Attempt) -> bool {
        let edcaf = &self.nodes.edcafs[id as usize];
        if edcaf.tx_queues().is_some() {
            return !self.draw_burst(id, to, attempt);
        }
        let from = edcaf.node;
        self.draw_loss(from, to, Sent { rate: attempt.rate, psdu: attempt.psdu, is_data: true })
    }

    /// Whether a bystander decodes more than half of such frames.
    pub(crate) fn decodes(&mut self, from: u32, to: u32, sent: Sent) -> bool {
        self.receivers.decodes(&self.config.phy, from, to, sent)
    }

    /// The frame in service has been received; `confirmed`: the sender knows that. The receiver drops a duplicate.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, at: Instant, id: u32, confirmed: bool) {
        let edcaf = &mut self.nodes.edcafs[id as usize];
        if edcaf.tx_queues().is_some() {
            return self.deliver_burst(at, id, confirmed);
        }
        if !edcaf.is_unconfirmed() {
            if let Some(chain) = &mut self.backlog {
                chain.push(self.nodes.backlogged as u32);
            }
            let service = if confirmed { None } else { edcaf.service() };
            let (Queued { enqueued, mpdu }, head) = edcaf.pop().expect("the frame in service is at the head");
            let (from, to) = (NodeId(edcaf.node), mpdu.to);
            if let Some(service) = service {
                edcaf.keep(service, head);
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
            if self.feedback.is_wanted {
                self.feedback.push(Feedback { at, from, to, own, airtime, received: true });
            }
        } else if confirmed {
            edcaf.confirm();
        }
        if confirmed {
            let edcaf = &mut self.nodes.edcafs[id as usize];
            edcaf.counters.successes += 1;
            edcaf.reset_window();
            self.nodes.note_if_empty(id);
        }
    }

    /// Reports the outcome of DATA to the sender's rate control.
    pub(crate) fn report(&mut self, from: u32, attempt: &Attempt, acknowledged: bool) {
        if let (Some(rates), To::Node(NodeId(to)), None) = (&mut self.rates, attempt.to, self.config.aggregation) {
            rates.report(NodePair { from, to }, attempt.rate, acknowledged);
        }
    }

    /// Handles a failed attempt, after a collision or without one.
    pub(crate) fn fail(&mut self, at: Instant, id: u32, failure: Failure) {
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let counters = &mut edcaf.counters;
        counters.repeated_failures += u64::from(edcaf.head.attempts > 1);
        match failure.collided {
            true => counters.collisions += 1,
            false => counters.losses += 1,
        }
        if edcaf.tx_queues().is_some() {
            return self.fail_burst(at, id, failure);
        }
        match failure.to {
            To::Broadcast => self.give_up(at, id, DropReason::BroadcastCollision),
            To::Node(_) => self.retry(at, id, failure.after_rts),
        }
    }

    /// Doubles the window, or gives the frame up (10.3.3, 10.3.4.4). DATA after RTS has a retry limit of its own.
    pub(crate) fn retry(&mut self, at: Instant, id: u32, after_rts: bool) {
        let edcaf = &mut self.nodes.edcafs[id as usize];
        if edcaf.tx_queues().is_some() {
            // Another EDCAF of the node sends: no MPDU of this one has been.
            return edcaf.widen_window();
        }
        let (retries, limit) = match after_rts {
            true => (&mut edcaf.head.long_retries, self.config.long_retry_limit),
            false => (&mut edcaf.head.short_retries, self.config.short_retry_limit),
        };
        *retries += 1;
        if *retries < limit {
            return edcaf.widen_window();
        }
        if edcaf.confirm() {
            // Nothing is lost: the frame was received, and only its sender does not know.
            edcaf.reset_window();
            return self.nodes.note_if_empty(id);
        }
        edcaf.counters.retry_drops += 1;
        self.give_up(at, id, DropReason::RetryLimit);
    }

    fn give_up(&mut self, at: Instant, id: u32, reason: DropReason) {
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let (queued, head) = edcaf.pop().expect("the frame in service is at the head of its queue");
        edcaf.reset_window();
        let from = NodeId(edcaf.node);
        self.nodes.note_if_empty(id);
        match queued.mpdu.frame {
            Carried::Own(own) => {
                let (to, airtime) = (queued.mpdu.to, head.airtime);
                self.feedback.push(Feedback { at, from, to, own: Some(own), airtime, received: false });
            }
            Carried::Packet(_) => self.events.extend(dropped(at, from, queued.mpdu, reason)),
        }
    }

    /// Records the start of a frame on the air.
    pub(crate) fn watch_begin(&mut self, transmission: Transmission) {
        if let Some(watch) = &mut self.watch {
            watch.begin(transmission);
        }
    }

    /// Records the end of a frame on the air.
    pub(crate) fn watch_end(&mut self, at: Instant, from: u32, status: TxStatus) {
        if let Some(watch) = &mut self.watch {
            watch.end(at, from, status);
        }
    }
}

/// A failed attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) to: To,
    /// Other frames overlapped it.
    pub(crate) collided: bool,
    /// DATA failed after a CTS.
    pub(crate) after_rts: bool,
}
