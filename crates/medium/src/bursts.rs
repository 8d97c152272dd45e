//! Bursts in the MAC: composes them, delivers received MPDUs through the reorder buffer, and handles the response.
//!
//! Clause numbers are those of IEEE Std 802.11-2020.

use alloc::collections::{BTreeSet, VecDeque};

use evenair_units::{Airtime, Bytes, Instant, Span};
use evenair_wifi::{BLOCK_ACK_REQUEST, LLC_SNAP, MAC_HEADER_AND_FCS, PhyMode, PhyRate, QOS_CONTROL, Width};

use crate::aggregation::{Aggregation, Recover};
use crate::attempt::{Attempt, Sending};
use crate::burst_bounds::{Bounds, BurstCase};
use crate::counters::QueueState;
use crate::feedback::{Feedback, FeedbackQueue};
use crate::frame::{Carried, DropReason, Event, NodeId, NodePair, To, dropped};
use crate::mac::{Failure, Mac};
use crate::rate_control::BurstRate;
use crate::reception::Sent;
use crate::tx_queues::{BurstLimits, Msdu, Msdus, Received, TxQueues, part};

/// Timers of the reorder buffers.
#[derive(Debug)]
pub(crate) struct ReorderTimers {
    /// The earliest timer; [`Instant::MAX`] if there is none.
    pub(crate) due: Instant,
    /// Timers: instant, the sender's EDCAF, and its queue.
    all: BTreeSet<(Instant, u32, usize)>,
}

impl ReorderTimers {
    pub(crate) const fn new() -> Self {
        Self { due: Instant::MAX, all: BTreeSet::new() }
    }

    fn arm(&mut self, at: Instant, id: u32, queue: usize) {
        self.all.insert((at, id, queue));
        self.due = self.due.min(at);
    }

    fn take_due(&mut self, at: Instant) -> Option<(u32, usize)> {
        let first = self.all.first().copied().filter(|&(due, ..)| due <= at);
        first.map(|first| {
            self.all.remove(&first);
            self.due = self.all.first().map_or(Instant::MAX, |&(due, ..)| due);
            (first.1, first.2)
        })
    }
}

impl<F> Mac<F> {
    /// The next attempt of an EDCAF that aggregates: within the `left` part of its TXOP, or in a new one.
    #[inline(never)]
    pub(crate) fn attempt_burst(&mut self, at: Instant, id: u32, may_reserve: bool, left: Option<Span>) -> Attempt {
        let rules = self.config.aggregation.expect("an EDCAF has transmit queues where the medium aggregates");
        let edcaf = &self.nodes.edcafs[id as usize];
        let left = left.or(edcaf.txop());
        let (node, queues) = (edcaf.node, edcaf.tx_queues().expect("it has queues"));
        let place = queues.next(rules.order).expect("a function contends while it has a frame");
        let run_end = queues.run_end(rules.order, place);
        let queue = &queues.queues[place];
        let (to, request, own) = (queue.to, queue.request_due, queue.serves_own());
        let goes_on = !may_reserve;
        let is_narrowed = goes_on && queues.is_narrowed;
        let brought = queue.rate;
        let chosen = if request || own { None } else { self.choose_burst(at, id, place) };
        let BurstRate { rate, single, reserve } = chosen.unwrap_or(BurstRate::fixed(brought));
        let rate = if is_narrowed { narrowed(rate) } else { rate };
        let qos = matches!(to, To::Node(receiver) if self.nodes.is_qos(node) && self.nodes.is_qos(receiver.0));
        let agreed = qos && !own && rate.mode().is_some();
        let phy = &self.config.phy;
        let threshold = if reserve { Some(Bytes::ZERO) } else { self.config.rts_threshold };
        let reserves = may_reserve && to != To::Broadcast && threshold.is_some();
        let case = BurstCase { rate, left, reserves, aggregates: agreed && !single, goes_on };
        let Bounds { block_ack, ack, a_mpdu, mpdu } = self.burst_bounds.of(phy, &rules, case);
        let crypto = if own || to == To::Broadcast { Bytes::ZERO } else { rules.crypto };
        let qos_control = if qos { QOS_CONTROL } else { Bytes::ZERO };
        let limits = BurstLimits {
            a_mpdu,
            mpdu,
            a_msdu: if agreed { rules.a_msdu } else { Bytes::ZERO },
            overhead: LLC_SNAP + MAC_HEADER_AND_FCS + qos_control + crypto,
            run_end,
        };
        let queues = self.nodes.edcafs[id as usize].tx_queues_mut().expect("it has queues");
        let a_mpdu = if request {
            queues.request(place);
            BLOCK_ACK_REQUEST
        } else {
            queues.compose(place, &limits)
        };
        let burst = &mut queues.burst;
        burst.agreed = agreed;
        burst.chosen = chosen.map(|_| rate);
        burst.rate = Some(rate);
        let attempt = if to == To::Broadcast {
            Attempt::broadcast(phy, burst.mpdus)
        } else if request {
            let data = phy.block_ack_request(rate);
            Attempt { to, rate, rts: false, psdu: a_mpdu, data, answer: block_ack, sending: Sending::Request }
        } else if burst.places.len() == 1 {
            let psdu = phy.single_mpdu(burst.mpdus, rate);
            let rts = reserves && threshold.is_some_and(|threshold| psdu > threshold);
            Attempt { to, rate, rts, psdu, data: phy.ppdu(psdu, rate), answer: ack, sending: Sending::Single }
        } else {
            let rts = reserves && threshold.is_some_and(|threshold| a_mpdu > threshold);
            let data = phy.ppdu(a_mpdu, rate);
            burst.times = rate.mode().filter(|_| rules.deliver_each).map(|mode| phy.ppdu_times(mode));
            Attempt { to, rate, rts, psdu: a_mpdu, data, answer: block_ack, sending: Sending::Aggregate }
        };
        burst.reserved = attempt.rts;
        queues.is_narrowed = rules.narrow_after_request && (request || goes_on && queues.is_narrowed);
        attempt
    }

    /// Rate of the next burst of a queue, if senders choose rates.
    fn choose_burst(&mut self, at: Instant, id: u32, place: usize) -> Option<BurstRate> {
        let rates = self.rates.as_mut()?;
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let from = edcaf.node;
        let queue = &mut edcaf.tx_queues_mut().expect("it has queues").queues[place];
        let To::Node(NodeId(to)) = queue.to else { return None };
        if queue.chosen.is_none() {
            let attempt = queue.failures + queue.failed_rts;
            queue.chosen = rates.choose_burst(at, NodePair { from, to }, queue.rate, attempt);
        }
        queue.chosen
    }

    /// Reports the outcome of the present burst to rate control, once. Returns whether the sender chose its mode.
    fn report_burst(&mut self, id: u32, answered: bool) -> bool {
        let Some(rates) = &mut self.rates else { return false };
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let from = edcaf.node;
        let queues = edcaf.tx_queues_mut().expect("it has queues");
        let (Some(rate), To::Node(NodeId(to))) = (queues.burst.chosen.take(), queues.queue().to) else { return false };
        let mpdus = queues.burst.places.len();
        let lost = if answered { queues.burst.lost.iter().filter(|&&lost| lost).count() } else { mpdus };
        rates.report_burst(NodePair { from, to }, rate, mpdus as u64, (mpdus - lost) as u64);
        true
    }

    /// Draws which MPDUs of a burst are lost to noise. Returns whether the receiver gets any.
    #[inline(never)]
    pub(crate) fn draw_burst(&mut self, id: u32, to: u32, attempt: &Attempt) -> bool {
        let Self { nodes, receivers, config, .. } = self;
        let edcaf = &mut nodes.edcafs[id as usize];
        let node = edcaf.node;
        let Some(queues) = edcaf.tx_queues_mut().filter(|queues| !queues.burst.request) else {
            let rate = config.phy.control_rate(attempt.rate);
            return !receivers.draw_loss(&config.phy, node, to, Sent { rate, psdu: attempt.psdu, is_data: false });
        };
        let TxQueues { queues, burst, .. } = queues;
        let originator = &queues[burst.queue].originator;
        burst.lost.clear();
        let mut last = None;
        for &place in &burst.places {
            let psdu = originator.slot(place).mpdu;
            // Most MPDUs have the size, and so the error probability, of the one before.
            let error = match last {
                Some((size, error)) if size == psdu => error,
                _ => receivers.error(&config.phy, node, to, Sent { rate: attempt.rate, psdu, is_data: true }),
            };
            last = Some((psdu, error));
            burst.lost.push(receivers.draw(node, error));
        }
        burst.lost.contains(&false)
    }

    /// Delivers the MPDUs of a burst that survived noise; `confirmed`: the sender gets the response.
    #[inline(never)]
    pub(crate) fn deliver_burst(&mut self, at: Instant, id: u32, confirmed: bool) {
        let rules = self.config.aggregation.expect("an EDCAF has transmit queues where the medium aggregates");
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let (from, airtime) = (NodeId(edcaf.node), edcaf.head.airtime);
        let queues = edcaf.tx_queues_mut().expect("it has queues");
        if !core::mem::replace(&mut queues.burst.delivered, true) {
            if let Some(chain) = &mut self.backlog {
                chain.push(self.nodes.backlogged as u32);
            }
            let mut outcomes = Outcomes::new(at, from, &mut self.events, &mut self.feedback);
            receive_burst(queues, &rules, usize::MAX, airtime, &mut outcomes);
            queues.note_gone(outcomes.gone);
            self.arm_reorder(id, &rules);
        }
        if confirmed {
            if let Some(queues) = self.nodes.edcafs[id as usize].tx_queues_mut() {
                queues.count_burst(airtime);
            }
            self.complete_burst(at, id, true);
            let edcaf = &mut self.nodes.edcafs[id as usize];
            edcaf.counters.successes += 1;
            edcaf.reset_window();
            self.nodes.note_if_empty(id);
        }
    }

    /// The next MPDU of a burst that is being received has ended.
    pub(crate) fn deliver_next(&mut self, at: Instant, id: u32) {
        let rules = self.config.aggregation.expect("an EDCAF has transmit queues where the medium aggregates");
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let (from, airtime) = (NodeId(edcaf.node), edcaf.head.airtime);
        let Some(queues) = edcaf.tx_queues_mut() else { return };
        let mut outcomes = Outcomes::new(at, from, &mut self.events, &mut self.feedback);
        let until = queues.burst.received + 1;
        receive_burst(queues, &rules, until, airtime, &mut outcomes);
        queues.note_gone(outcomes.gone);
        self.arm_reorder(id, &rules);
    }

    /// Time from the start of the PPDU to the end of the next MPDU, unless that is the last one or MPDUs are not delivered
    /// one by one.
    #[inline]
    pub(crate) fn next_arrival(&self, id: u32) -> Option<Span> {
        let burst = &self.nodes.edcafs[id as usize].tx_queues()?.burst;
        let times = burst.times?;
        (burst.received + 1 < burst.ends.len()).then(|| times.mpdu_end(burst.ends[burst.received]))
    }

    /// Whether receivers deliver MPDUs one by one.
    pub(crate) fn delivers_each(&self) -> bool {
        self.config.aggregation.is_some_and(|rules| rules.deliver_each)
    }

    /// Whether frames of a TXOP reserve all of it.
    #[inline]
    pub(crate) fn reserves_txops(&self) -> bool {
        self.config.aggregation.is_some_and(|rules| rules.cf_end)
    }

    /// Sets the reorder timer of the present burst's queue, if MPDUs are held behind a missing one.
    fn arm_reorder(&mut self, id: u32, rules: &Aggregation) {
        let Some(timeout) = rules.reorder_timeout else { return };
        let Some(queues) = self.nodes.edcafs[id as usize].tx_queues_mut() else { return };
        let place = queues.burst.queue;
        let queue = queues.queue();
        if queue.reorder_due.is_none()
            && let Some(due) = queue.recipient.deadline(timeout)
        {
            queue.reorder_due = Some(due);
            self.reorder.arm(due, id, place);
        }
    }

    /// Skips MPDUs whose reorder timeout has expired.
    #[inline(never)]
    pub(crate) fn expire_reorder(&mut self, at: Instant) {
        let Some(timeout) = self.config.aggregation.and_then(|rules| rules.reorder_timeout) else { return };
        while let Some((id, place)) = self.reorder.take_due(at) {
            let edcaf = &mut self.nodes.edcafs[id as usize];
            let from = NodeId(edcaf.node);
            let mut outcomes = Outcomes::new(at, from, &mut self.events, &mut self.feedback);
            let Some(queues) = edcaf.tx_queues_mut() else { continue };
            let queue = &mut queues.queues[place];
            let (to, mut any) = (queue.to, false);
            queue.recipient.expire(at, timeout, |received| {
                any = true;
                outcomes.pass_up(to, received);
            });
            queue.counters.reorder_timeouts += u64::from(any);
            queue.reorder_due = queue.recipient.deadline(timeout);
            if let Some(due) = queue.reorder_due {
                self.reorder.arm(due, id, place);
            }
            queues.note_gone(outcomes.gone);
            edcaf.counters.reorder_timeouts += u64::from(any);
        }
    }

    /// A burst failed: neither it nor its RTS got a response.
    #[inline(never)]
    pub(crate) fn fail_burst(&mut self, at: Instant, id: u32, failure: Failure) {
        let rules = self.config.aggregation.expect("an EDCAF has transmit queues where the medium aggregates");
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let airtime = edcaf.head.airtime;
        let queues = edcaf.tx_queues_mut().expect("it has queues");
        let (request, agreed, several) = (queues.burst.request, queues.burst.agreed, queues.burst.places.len() > 1);
        if failure.to == To::Broadcast {
            self.complete_burst(at, id, false);
            self.nodes.edcafs[id as usize].reset_window();
            return self.nodes.note_if_empty(id);
        }
        if queues.burst.reserved && !failure.after_rts {
            return self.fail_rts(at, id);
        }
        queues.count_burst(airtime);
        let queue = queues.queue();
        queue.failed_rts = 0;
        let failures = if request { &mut queue.failed_requests } else { &mut queue.failures };
        *failures += 1;
        let is_last = *failures >= rules.attempts;
        if is_last {
            *failures = 0;
        }
        if request {
            // What it asked for is repeated.
            queue.request_due &= !is_last;
        } else if rules.recover == Recover::Request && agreed && several {
            queue.request_due = true;
        }
        self.complete_burst(at, id, false);
        let edcaf = &mut self.nodes.edcafs[id as usize];
        if is_last && !request {
            edcaf.reset_window();
        } else {
            edcaf.widen_window();
        }
        self.nodes.note_if_empty(id);
    }

    /// No CTS came. A failed RTS is no attempt of the MPDUs, but `short_retry_limit` of them in a row count as one, since the
    /// receiver may be gone. Rate control counts each, as with the TX status of drivers.
    fn fail_rts(&mut self, at: Instant, id: u32) {
        let limit = self.config.short_retry_limit;
        let chosen = self.report_burst(id, false);
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let queues = edcaf.tx_queues_mut().expect("it has queues");
        let queue = queues.queue();
        queue.failed_rts += 1;
        if queue.failed_rts < limit {
            queues.take_back();
            edcaf.head = Default::default();
        } else {
            queue.failed_rts = 0;
            if chosen {
                // The chain of modes starts again.
                queue.failures = 0;
            }
            self.complete_burst(at, id, false);
        }
        self.nodes.edcafs[id as usize].widen_window();
        self.nodes.note_if_empty(id);
    }

    /// Ends the access of a burst; `answered`: with a response.
    fn complete_burst(&mut self, at: Instant, id: u32, answered: bool) {
        self.report_burst(id, answered);
        let rules = self.config.aggregation.expect("an EDCAF has transmit queues where the medium aggregates");
        let edcaf = &mut self.nodes.edcafs[id as usize];
        let (from, airtime) = (NodeId(edcaf.node), core::mem::take(&mut edcaf.head).airtime);
        let queues = edcaf.tx_queues_mut().expect("it has queues");
        charge_rest(queues, airtime);
        let (request, agreed, place) = (queues.burst.request, queues.burst.agreed, queues.burst.queue);
        let queue = queues.queue();
        let to = queue.to;
        if answered && request {
            (queue.request_due, queue.failed_requests) = (false, 0);
        } else if answered {
            (queue.failures, queue.failed_rts) = (0, 0);
        }
        let attempts = if to == To::Broadcast { 1 } else { rules.attempts };
        let mut outcomes = Outcomes::new(at, from, &mut self.events, &mut self.feedback);
        let reason = if to == To::Broadcast { DropReason::BroadcastCollision } else { DropReason::RetryLimit };
        let lost = queues.end_burst(answered, attempts, |msdus| outcomes.give_up(to, msdus, reason, airtime));
        queues.note_gone(outcomes.gone);
        if lost > 0 && agreed && rules.request_after_drop {
            queues.ask(place);
        }
        edcaf.counters.retry_drops += if to == To::Broadcast { 0 } else { lost };
    }

    /// A node leaves: the frames in its queues are lost, and so are those in its reorder buffers. Frames that others hold of
    /// it in their reorder buffers are passed up.
    pub(crate) fn abandon_tx_queues(&mut self, at: Instant, id: NodeId) {
        for number in self.nodes.edcaf_ids(id.0) {
            let Some(queues) = self.nodes.edcafs[number].tx_queues_mut() else { continue };
            for queued in queues.take_all() {
                self.events.extend(dropped(at, id, queued.mpdu, DropReason::Left));
            }
            let mut outcomes = Outcomes::new(at, id, &mut self.events, &mut self.feedback);
            for queue in &mut queues.queues {
                let to = queue.to;
                queue.recipient.abandon().for_each(|received| outcomes.pass_up(to, received));
            }
            queues.note_gone(outcomes.gone);
        }
        for edcaf in &mut self.nodes.edcafs {
            let from = NodeId(edcaf.node);
            let Some(queues) = edcaf.tx_queues_mut() else { continue };
            let mut outcomes = Outcomes::new(at, from, &mut self.events, &mut self.feedback);
            if let Some(queue) = queues.of_receiver(To::Node(id)) {
                let held = queue.recipient.abandon();
                held.for_each(|received| {
                    outcomes.give_up(To::Node(id), received.msdus, DropReason::Left, received.airtime)
                });
            }
            queues.note_gone(outcomes.gone);
        }
    }
}

/// The same mode at 20 MHz, if it exists.
fn narrowed(rate: PhyRate) -> PhyRate {
    let narrow = |mode: PhyMode| {
        PhyMode::new(mode.format(), mode.mcs(), mode.streams(), Width::Mhz20, mode.guard_interval()).ok()
    };
    rate.mode().and_then(narrow).map_or(rate, PhyRate::from)
}

/// Passes up to this many MPDUs of the present burst, those that survive noise, to the receiver.
fn receive_burst<F>(
    queues: &mut TxQueues<F>,
    rules: &Aggregation,
    until: usize,
    airtime: Airtime,
    outcomes: &mut Outcomes<'_, F>,
) {
    let TxQueues { queues, burst, .. } = queues;
    let queue = &mut queues[burst.queue];
    let (to, start) = (queue.to, queue.originator.start());
    if burst.received == 0 {
        queue.recipient.window = rules.window_at(queue.rate);
    }
    if burst.request {
        return queue.recipient.move_to(start, |received| outcomes.pass_up(to, received));
    }
    let until = until.min(burst.places.len());
    let from = core::mem::replace(&mut burst.received, until);
    for (number, &place) in burst.places[..until].iter().enumerate().skip(from) {
        if burst.lost.get(number).is_some_and(|&lost| lost) {
            continue;
        }
        let slot = queue.originator.slot_mut(place);
        let Some(msdus) = slot.payload.take() else { continue };
        slot.airtime += burst.parts.get(airtime, slot.mpdu, burst.mpdus);
        let (attempts, airtime) = (slot.attempts, slot.airtime);
        let number = start + place as u64;
        if !burst.agreed {
            queue.recipient.move_to(number, |received| outcomes.pass_up(to, received));
        }
        let received = Received { msdus, attempts, airtime };
        let late = queue.recipient.receive(outcomes.at, number, received, |received| outcomes.pass_up(to, received));
        late.into_iter().for_each(|late| outcomes.give_up(to, late.msdus, DropReason::Late, late.airtime));
    }
}

/// Charges a share of the present access to each MPDU that will be repeated.
fn charge_rest<F>(queues: &mut TxQueues<F>, airtime: Airtime) {
    let TxQueues { queues, burst, .. } = queues;
    let originator = &mut queues[burst.queue].originator;
    for &place in &burst.places {
        let slot = originator.slot_mut(place);
        if slot.payload.is_some() {
            slot.airtime += burst.parts.get(airtime, slot.mpdu, burst.mpdus);
        }
    }
}

/// Turns the outcomes of one sender's MPDUs into events and feedback.
struct Outcomes<'a, F> {
    at: Instant,
    from: NodeId,
    events: &'a mut VecDeque<Event<F>>,
    feedback: &'a mut FeedbackQueue,
    /// Packets delivered or lost so far.
    gone: QueueState,
}

impl<'a, F> Outcomes<'a, F> {
    fn new(at: Instant, from: NodeId, events: &'a mut VecDeque<Event<F>>, feedback: &'a mut FeedbackQueue) -> Self {
        Self { at, from, events, feedback, gone: QueueState::default() }
    }

    fn note_gone(&mut self, msdu: Bytes) {
        self.gone.packets += 1;
        self.gone.bytes += msdu;
    }

    /// Passes up the packets of an MPDU.
    #[inline]
    fn pass_up(&mut self, to: To, received: Received<F>) {
        let Received { msdus: Msdus { first, rest }, attempts, airtime } = received;
        if rest.is_empty() {
            return self.pass_up_one(to, first, attempts, airtime);
        }
        let bytes = rest.iter().fold(first.size, |sum, msdu| sum + msdu.size);
        for msdu in core::iter::once(first).chain(rest) {
            let airtime = part(airtime, msdu.size, bytes);
            self.pass_up_one(to, msdu, attempts, airtime);
        }
    }

    #[inline]
    fn pass_up_one(&mut self, to: To, msdu: Msdu<F>, attempts: u32, airtime: Airtime) {
        let (at, from) = (self.at, self.from);
        let Msdu { enqueued, size: msdu, frame } = msdu;
        let own = match frame {
            Carried::Own(own) => Some(own),
            Carried::Packet(frame) => {
                self.note_gone(msdu);
                self.events.push_back(Event::Delivered { at, enqueued, from, to, msdu, attempts, airtime, frame });
                None
            }
        };
        if self.feedback.is_wanted {
            self.feedback.push(Feedback { at, from, to, own, airtime, received: true });
        }
    }

    /// Drops the packets of an MPDU.
    fn give_up(&mut self, to: To, msdus: Msdus<F>, reason: DropReason, airtime: Airtime) {
        let (at, from) = (self.at, self.from);
        for Msdu { size: msdu, frame, .. } in msdus.into_iter() {
            match frame {
                Carried::Own(own) => {
                    self.feedback.push(Feedback { at, from, to, own: Some(own), airtime, received: false });
                }
                Carried::Packet(frame) => {
                    self.note_gone(msdu);
                    self.events.push_back(Event::Dropped { at, from, to, msdu, reason, frame });
                }
            }
        }
    }
}
