//! One channel access function: its queue, its contention window, and how the frame at the head has fared. DCF has one
//! for each node, EDCA four.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use evenair_units::{Airtime, Bytes, Instant, Limit, Rng, Span};
use evenair_wifi::PhyRate;

use crate::{Counters, Mpdu, NodeId, QueueState, To};

/// Where there are many, each access fetches a function from far: so what every access needs comes first, in three pieces
/// of what a processor fetches at once: what a frame that comes needs, what the back-off needs, what is counted.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Function<F> {
    queue: VecDeque<Queued<F>>,
    bytes: Bytes,
    /// The frame in service has been received, and is not at the head any more, but its sender does not know it.
    unconfirmed: Option<Box<Service>>,
    /// Shared by those that have the same.
    rules: Arc<Rules>,
    /// The node that it belongs to.
    pub(crate) node: u32,
    window: u32,
    back_off: Rng,
    pub(crate) head: Head,
    /// From the start of its transmission until the medium falls silent.
    pub(crate) on_air: bool,
    pub(crate) counters: Counters,
    /// Attempts by rate, where rates are chosen, since they were taken last.
    pub(crate) rates_used: Vec<(PhyRate, u64)>,
}

/// What does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rules {
    pub(crate) cw_min: u32,
    pub(crate) cw_max: u32,
    /// How long an access may last; zero: one frame.
    pub(crate) txop: Span,
    pub(crate) buffer: Limit,
    /// Probability that the window is one slot larger.
    pub(crate) more_per_billion: u32,
    /// The window is that of the medium's `IdleSense`.
    pub(crate) idle_sense: bool,
}

#[derive(Debug)]
pub(crate) struct Queued<F> {
    pub(crate) enqueued: Instant,
    pub(crate) mpdu: Mpdu<F>,
}

/// How the frame in service is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub(crate) to: To,
    pub(crate) msdu: Bytes,
    pub(crate) rate: PhyRate,
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
        let Mpdu { to, msdu, rate, .. } = queued.mpdu;
        Self { to, msdu, rate }
    }
}

impl<F> Function<F> {
    pub(crate) fn new(node: u32, rules: Arc<Rules>, back_off: Rng) -> Self {
        Self {
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
            back_off,
        }
    }

    pub(crate) fn has_frame(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether it has a frame to send, or one to repeat.
    pub(crate) fn has_work(&self) -> bool {
        self.is_unconfirmed() || self.has_frame()
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
        self.queue.front().filter(|_| !self.is_unconfirmed()).map(|queued| &queued.mpdu.frame)
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
        QueueState { packets: self.queue.len(), bytes: self.bytes }
    }

    /// The frame in service is sent, for so long as is known yet.
    #[inline(always)]
    pub(crate) fn begin_attempt(&mut self, airtime: Airtime) {
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

    /// How long an access may last; zero: one frame.
    pub(crate) fn txop(&self) -> Span {
        self.rules.txop
    }

    /// Whether the buffer takes another frame of this size.
    #[inline]
    pub(crate) fn has_room(&self, msdu: Bytes) -> bool {
        self.rules.buffer.admits(self.queue.len(), self.bytes, msdu)
    }

    /// Takes a frame in for which there is room.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, mpdu: Mpdu<F>) {
        self.bytes += mpdu.msdu;
        self.queue.push_back(Queued { enqueued: now, mpdu });
    }

    /// The frame at the head, delivered or given up, and how it fared.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Queued<F>, Head)> {
        let queued = self.queue.pop_front()?;
        if self.queue.is_empty() {
            self.queue.clear(); // what comes next has the same place in memory, and not one after the other
        }
        self.bytes = self.bytes - queued.mpdu.msdu;
        Some((queued, core::mem::take(&mut self.head)))
    }

    /// Takes out what waits for a node behind what is in service.
    pub(crate) fn take_waiting(&mut self, to: NodeId) -> Vec<Queued<F>> {
        let first = usize::from(!self.is_unconfirmed()).min(self.queue.len());
        let waiting = self.queue.split_off(first);
        let (taken, kept): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|queued| queued.mpdu.to == To::Node(to));
        self.queue.extend(kept);
        taken.iter().for_each(|queued| self.bytes = self.bytes - queued.mpdu.msdu);
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
