//! One EDCAF (enhanced distributed channel access function): its queue, its contention window, and how the frame at the
//! head has fared. DCF has one for each node, EDCA four.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use evenair_units::{Airtime, Bytes, Instant, Limit, Rng, Span};
use evenair_wifi::PhyRate;

use crate::counters::{Counters, QueueState};
use crate::frame::{Carried, Mpdu, NodeId, Queued, To};
use crate::tx_queues::TxQueues;

/// Where there are many, each access fetches an EDCAF from far: so what every access needs comes first, in three pieces
/// of what a processor fetches at once: what a frame that comes needs, what the back-off needs, what is counted.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Edcaf<F> {
    queue: VecDeque<Queued<F>>,
    /// Of its packets.
    bytes: Bytes,
    /// The frame in service has been received, and is not at the head any more, but its sender does not know it.
    unconfirmed: Option<Box<Service>>,
    /// In place of `queue`, where it aggregates.
    tx_queues: Option<Box<TxQueues<F>>>,
    /// Shared by those that have the same.
    rules: Arc<Rules>,
    /// The node that it belongs to.
    pub(crate) node: u32,
    window: u32,
    back_off: Rng,
    pub(crate) head: Head,
    /// From the start of its transmission until the medium falls silent.
    pub(crate) on_air: bool,
    /// Frames in the queue that are no packets of the driver's.
    own: u32,
    pub(crate) counters: Counters,
    /// Attempts by rate, where rates are chosen, since they were taken last.
    pub(crate) rates_used: Vec<(PhyRate, u64)>,
}

/// How an EDCAF waits before it sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    /// DIFS or AIFS: silence before the first slot.
    pub(crate) space: Span,
    /// Whether the end of `space` counts as the end of a slot, as EDCA has it.
    pub(crate) counts_boundaries: bool,
}

/// What does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rules {
    pub(crate) cw_min: u32,
    pub(crate) cw_max: u32,
    /// DIFS or AIFS.
    pub(crate) space: Span,
    /// How long an access may last; zero: one frame.
    pub(crate) txop: Span,
    pub(crate) buffer: Limit,
    /// Probability that the window is one slot larger.
    pub(crate) more_per_billion: u32,
    /// The window is that of the medium's `IdleSense`.
    pub(crate) idle_sense: bool,
}

/// How the frame in service is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub(crate) to: To,
    pub(crate) msdu: Bytes,
    pub(crate) rate: PhyRate,
    /// It is no packet.
    pub(crate) own: bool,
}

/// What happened so far to the frame at the head of the queue.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Head {
    pub(crate) attempts: u32,
    pub(crate) airtime: Airtime,
    /// Chosen for the next attempt.
    pub(crate) rate: Option<PhyRate>,
    pub(crate) short_retries: u32,
    pub(crate) long_retries: u32,
}

impl Service {
    fn of<F>(queued: &Queued<F>) -> Self {
        let &Mpdu { to, msdu, rate, .. } = &queued.mpdu;
        Self { to, msdu, rate, own: queued.mpdu.frame.packet().is_none() }
    }
}

impl<F> Edcaf<F> {
    /// One that `aggregates` has its frames by receiver.
    pub(crate) fn new(node: u32, rules: Arc<Rules>, back_off: Rng, aggregates: bool) -> Self {
        Self {
            tx_queues: aggregates.then(|| Box::new(TxQueues::new())),
            node,
            queue: VecDeque::new(),
            bytes: Bytes::ZERO,
            window: rules.cw_min,
            rules,
            head: Head::default(),
            unconfirmed: None,
            on_air: false,
            counters: Counters::default(),
            rates_used: Vec::new(),
            own: 0,
            back_off,
        }
    }

    /// Has all memory fetched that every frame needs which comes, is sent and delivered.
    #[inline]
    pub(crate) fn prefetch(&self, prefetch: impl Fn(*const ())) {
        prefetch((&raw const self.bytes).cast());
        prefetch((&raw const self.on_air).cast());
        prefetch((&raw const self.counters).cast());
    }

    /// Has the frame fetched that is at this place in the queue, where there is one.
    #[inline]
    pub(crate) fn prefetch_waiting(&self, place: usize, prefetch: impl Fn(*const ())) {
        self.queue.get(place).into_iter().for_each(|queued| prefetch((&raw const *queued).cast()));
    }

    /// The packet at this place in the queue, where there is one.
    pub(crate) fn waiting(&self, place: usize) -> Option<&F> {
        self.queue.get(place)?.mpdu.frame.packet()
    }

    /// Its frames by receiver, where it aggregates.
    #[inline]
    pub(crate) fn tx_queues(&self) -> Option<&TxQueues<F>> {
        self.tx_queues.as_deref()
    }

    /// The same.
    #[inline]
    pub(crate) fn tx_queues_mut(&mut self) -> Option<&mut TxQueues<F>> {
        self.tx_queues.as_deref_mut()
    }

    pub(crate) fn has_frame(&self) -> bool {
        !self.queue.is_empty() || self.tx_queues.as_ref().is_some_and(|queues| queues.has_work())
    }

    /// Whether it has a frame to send, or one to repeat.
    pub(crate) fn has_work(&self) -> bool {
        self.has_frame() || self.is_unconfirmed()
    }

    /// The frame that is sent next: one that is repeated, or the one at the head.
    #[inline]
    pub(crate) fn service(&self) -> Option<Service> {
        match &self.unconfirmed {
            Some(service) => Some(**service),
            None => self.queue.front().map(Service::of),
        }
    }

    /// What the frame at the head carries, where that is the one in service.
    pub(crate) fn in_service(&self) -> Option<&F> {
        self.queue.front().filter(|_| !self.is_unconfirmed()).and_then(|queued| queued.mpdu.frame.packet())
    }

    /// Whether the frame in service is one of the node's own.
    pub(crate) fn serves_own(&self) -> bool {
        match (&self.unconfirmed, &self.tx_queues) {
            (Some(service), _) => service.own,
            (None, Some(queues)) => queues.queues[queues.burst.queue].serves_own(),
            (None, None) => self.queue.front().is_some_and(|queued| queued.mpdu.frame.packet().is_none()),
        }
    }

    /// The frame that is sent after that.
    pub(crate) fn next_service(&self) -> Option<Service> {
        self.queue.get(usize::from(!self.is_unconfirmed())).map(Service::of)
    }

    /// The frame in service was received, but its sender repeats it unless it learns that.
    pub(crate) fn is_unconfirmed(&self) -> bool {
        self.unconfirmed.is_some()
    }

    /// The frame in service, which fared so far like `head`, has been received and stays in service.
    pub(crate) fn keep(&mut self, service: Service, head: Head) {
        self.unconfirmed = Some(Box::new(service));
        self.head = head;
    }

    /// The sender learns that the frame in service was received, or gives up to repeat it. Says whether there was one.
    pub(crate) fn confirm(&mut self) -> bool {
        let was = self.unconfirmed.take().is_some();
        if was {
            self.head = Head::default();
        }
        was
    }

    pub(crate) fn queue_state(&self) -> QueueState {
        if let Some(queues) = &self.tx_queues {
            return queues.present();
        }
        QueueState { packets: self.packets(), bytes: self.bytes }
    }

    /// Frames in the queue that are packets of the driver's.
    fn packets(&self) -> usize {
        self.queue.len() - self.own as usize
    }

    /// The frame in service is sent, for so long as is known yet.
    #[inline(always)]
    pub(crate) fn begin_attempt(&mut self, airtime: Airtime) {
        if self.tx_queues.is_some() {
            return self.begin_burst(airtime);
        }
        self.head.attempts += 1;
        self.counters.attempts += 1;
        self.counters.duplicates += u64::from(self.is_unconfirmed());
        self.charge(airtime);
        if let Some(rate) = self.head.rate.take() {
            let brought = self.service().expect("it is being sent").rate;
            self.counters.slowed += u64::from(rate < brought);
            self.note_rate(rate);
        }
    }

    #[inline(never)]
    fn begin_burst(&mut self, airtime: Airtime) {
        if let Some(queues) = &mut self.tx_queues {
            let (mpdus, repeats) = queues.begin();
            self.head.attempts = queues.attempts();
            self.counters.attempts += 1;
            self.counters.mpdus += mpdus;
            self.counters.repeated_mpdus += repeats;
            self.counters.block_ack_requests += u64::from(queues.burst.request);
            if let Some(rate) = queues.burst.chosen {
                self.counters.slowed += u64::from(rate < queues.queue().rate);
                self.note_rate(rate);
            }
        }
        self.charge(airtime);
    }

    fn note_rate(&mut self, rate: PhyRate) {
        match self.rates_used.iter_mut().find(|(known, _)| *known == rate) {
            Some((_, attempts)) => *attempts += 1,
            None => self.rates_used.push((rate, 1)),
        }
    }

    /// More medium time of the present attempt.
    pub(crate) fn charge(&mut self, airtime: Airtime) {
        self.head.airtime += airtime;
        self.counters.airtime += airtime;
    }

    /// Its inter-frame space.
    pub(crate) fn space(&self) -> Span {
        self.rules.space
    }

    /// How long a TXOP may last; `None`: an access is one frame.
    #[inline]
    pub(crate) fn txop(&self) -> Option<Span> {
        Some(self.rules.txop).filter(|&txop| txop > Span::ZERO)
    }

    /// When a TXOP ends that begins at `at`; `None`: an access is one frame.
    #[inline]
    pub(crate) fn txop_end(&self, at: Instant) -> Option<Instant> {
        self.txop().map(|txop| at + txop)
    }

    /// Whether the buffer takes another frame of this size.
    #[inline]
    pub(crate) fn has_room(&self, msdu: Bytes) -> bool {
        let QueueState { packets, bytes } = self.held();
        self.rules.buffer.admits(packets, bytes, msdu)
    }

    /// What counts against the limit of the buffer.
    #[inline]
    pub(crate) fn held(&self) -> QueueState {
        match &self.tx_queues {
            Some(queues) => queues.state(),
            None => QueueState { packets: self.packets(), bytes: self.bytes },
        }
    }

    /// Takes a packet in for which there is room.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, mpdu: Mpdu<F>) {
        let Mpdu { to, msdu, rate, category, frame } = mpdu;
        let mpdu = Mpdu { to, msdu, rate, category, frame: Carried::Packet(frame) };
        if let Some(queues) = &mut self.tx_queues {
            return queues.push(Queued { enqueued: now, mpdu }, false);
        }
        self.bytes += msdu;
        self.queue.push_back(Queued { enqueued: now, mpdu });
    }

    /// Takes a frame to everybody in that goes before all that wait behind the frame in service, but for others like it.
    pub(crate) fn push_first(&mut self, queued: Queued<F>) {
        if let Some(queues) = &mut self.tx_queues {
            return queues.push(queued, true);
        }
        let like = self.queue.iter().rposition(|other| other.mpdu.to == To::Broadcast);
        let place = like.map_or(0, |place| place + 1).max(self.first_waiting());
        self.note(&queued, true);
        self.queue.insert(place, queued);
    }

    /// Takes a frame in that is none of the driver's packets.
    pub(crate) fn push_own(&mut self, queued: Queued<F>) {
        if let Some(queues) = &mut self.tx_queues {
            return queues.push(queued, false);
        }
        self.note(&queued, true);
        self.queue.push_back(queued);
    }

    /// All frames, those that are no packets included.
    pub(crate) fn frames(&self) -> usize {
        self.tx_queues.as_ref().map_or(self.queue.len(), |queues| queues.frames())
    }

    /// Whether a frame for a node is in the queue.
    pub(crate) fn has_for(&self, to: NodeId) -> bool {
        if let Some(queues) = &self.tx_queues {
            return queues.has_for(To::Node(to));
        }
        self.queue.iter().any(|queued| queued.mpdu.to == To::Node(to))
    }

    /// A frame comes or goes.
    fn note(&mut self, queued: &Queued<F>, comes: bool) {
        match (&queued.mpdu.frame, comes) {
            (Carried::Packet(_), true) => self.bytes += queued.mpdu.msdu,
            (Carried::Packet(_), false) => self.bytes = self.bytes - queued.mpdu.msdu,
            (Carried::Own(_), true) => self.own += 1,
            (Carried::Own(_), false) => self.own -= 1,
        }
    }

    /// Where those begin that wait behind the frame in service.
    fn first_waiting(&self) -> usize {
        usize::from(!self.is_unconfirmed()).min(self.queue.len())
    }

    /// The frame at the head, delivered or given up, and how it fared.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Queued<F>, Head)> {
        let queued = self.queue.pop_front()?;
        if self.queue.is_empty() {
            self.queue.clear(); // what comes next has the same place in memory, and not one after the other
        }
        self.note(&queued, false);
        Some((queued, core::mem::take(&mut self.head)))
    }

    /// Takes out what waits for a node behind what is in service.
    pub(crate) fn take_waiting(&mut self, to: NodeId) -> Vec<Queued<F>> {
        if let Some(queues) = &mut self.tx_queues {
            return queues.take_waiting(To::Node(to));
        }
        let waiting = self.queue.split_off(self.first_waiting());
        let (taken, kept): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|queued| queued.mpdu.to == To::Node(to));
        self.queue.extend(kept);
        taken.iter().for_each(|queued| self.note(queued, false));
        taken
    }

    #[inline(always)]
    pub(crate) fn draw_back_off(&mut self) -> u64 {
        let more = self.rules.more_per_billion > 0 && self.back_off.chance(self.rules.more_per_billion);
        self.back_off.below(u64::from(self.window) + 1 + u64::from(more))
    }

    pub(crate) fn has_idle_sense(&self) -> bool {
        self.rules.idle_sense
    }

    pub(crate) fn set_window(&mut self, window: u32) {
        self.window = window;
    }

    pub(crate) fn reset_window(&mut self) {
        self.window = self.rules.cw_min;
    }

    pub(crate) fn widen_window(&mut self) {
        self.window = (2 * self.window + 1).min(self.rules.cw_max);
    }
}
