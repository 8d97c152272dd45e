//! The transmit queues of an EDCAF that aggregates: its frames by receiver, with a block-ack agreement for each, and the
//! burst of the present access.
//!
//! A burst has one receiver and one rate. It takes MPDUs in the order of their sequence numbers, repetitions first, as many
//! as fit when the access begins; it does not wait for more. Frames that are not aggregated (to groups, to a receiver without
//! EDCA, at a rate without aggregation, management frames) are bursts of one.
//!
//! With [`Order::Neighbours`] the queues form one FIFO: each frame keeps its arrival number, and a burst ends at the first
//! frame for another receiver.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Airtime, Bytes, Instant, Span};
use evenair_wifi::{A_MSDU_HEADER, AccessCategory, AggregateSize, LLC_SNAP, PhyRate, PpduTimes, RateLimits};

use crate::aggregation::Order;
use crate::block_ack::{Completion, Load, Originator, Recipient};
use crate::counters::QueueState;
use crate::frame::{Carried, Mpdu, NodeId, Queued, To};
use crate::oldest::Oldest;
use crate::ppdus::{PpduCounters, RateCounters};
use crate::rate_control::BurstRate;
use crate::watch::{BurstOnAir, MpduOnAir};

/// Transmit queues of an EDCAF, by receiver.
#[derive(Debug)]
pub(crate) struct TxQueues<F> {
    pub(crate) queues: Vec<TxQueue<F>>,
    /// Number of the oldest frame of each queue, indexed like `queues`; a BlockAckReq counts as frame 0.
    oldest: Oldest,
    queue_index: QueueIndex,
    /// Number of frames that ever arrived.
    arrivals: u64,
    held: Held,
    /// Packets neither delivered nor dropped; some may be acknowledged and held in a receiver's reorder buffer.
    present: QueueState,
    /// Index of the queue that the last burst served.
    served: usize,
    /// Index of the queue that got the last frame.
    filled: usize,
    pub(crate) burst: Burst,
    /// Whether the rest of the TXOP uses a channel of 20 MHz.
    pub(crate) is_narrowed: bool,
}

/// Transmit queue of one receiver.
#[derive(Debug)]
pub(crate) struct TxQueue<F> {
    pub(crate) to: To,
    /// Frames without a sequence number, with their arrival numbers.
    waiting: VecDeque<(u64, Msdu<F>)>,
    pub(crate) originator: Originator<Msdus<F>>,
    pub(crate) recipient: Recipient<Received<F>>,
    /// Whether a BlockAckReq goes before anything else.
    pub(crate) request_due: bool,
    /// Consecutive accesses with MPDUs without a response.
    pub(crate) failures: u32,
    /// Consecutive accesses with a BlockAckReq without a response.
    pub(crate) failed_requests: u32,
    /// Consecutive RTS frames without CTS.
    pub(crate) failed_rts: u32,
    /// Rate of the last frame.
    pub(crate) rate: PhyRate,
    /// Category of the last frame.
    category: AccessCategory,
    /// Rate and form that the sender has chosen for the next burst. Kept if the burst does not fit into the TXOP.
    pub(crate) chosen: Option<BurstRate>,
    /// Time of the reorder buffer's next timer, if it is set.
    pub(crate) reorder_due: Option<Instant>,
    /// Counters since they were last taken.
    pub(crate) counters: PpduCounters,
}

/// Index of each receiver's queue.
#[derive(Debug, Default)]
struct QueueIndex {
    /// Index by receiver; [`Places::NONE`] if it has no queue.
    of_nodes: Vec<u32>,
    of_all: Option<usize>,
}

/// A queued frame without the properties that its queue has: receiver, rate and category. Small, since it is moved several
/// times and thousands may wait.
#[derive(Debug)]
pub(crate) struct Msdu<F> {
    pub(crate) enqueued: Instant,
    /// Size of the IP packet.
    pub(crate) size: Bytes,
    pub(crate) frame: Carried<F>,
}

/// Payload of an MPDU: a packet, or several in an A-MSDU.
#[derive(Debug)]
pub(crate) struct Msdus<F> {
    pub(crate) first: Msdu<F>,
    pub(crate) rest: Box<[Msdu<F>]>,
}

/// A received MPDU.
#[derive(Debug)]
pub(crate) struct Received<F> {
    pub(crate) msdus: Msdus<F>,
    pub(crate) attempts: u32,
    pub(crate) airtime: Airtime,
}

/// The burst that the present access sends.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    /// Index of its queue.
    pub(crate) queue: usize,
    /// Whether it is a BlockAckReq, without MPDUs.
    pub(crate) request: bool,
    /// Indices of its MPDUs in the originator's window.
    pub(crate) places: Vec<usize>,
    /// Offset of the end of each MPDU within the A-MPDU.
    pub(crate) ends: Vec<Bytes>,
    /// Number of its MPDUs that the receiver has got or missed.
    pub(crate) received: usize,
    /// Time from the start of the PPDU to the end of an MPDU, if MPDUs are delivered one by one.
    pub(crate) times: Option<PpduTimes>,
    pub(crate) parts: Parts,
    /// Whether noise spoils each MPDU; empty: none is spoiled.
    pub(crate) lost: Vec<bool>,
    /// Total size of the MPDUs.
    pub(crate) mpdus: Bytes,
    /// Whether it is sent under a block-ack agreement.
    pub(crate) agreed: bool,
    /// Whether it follows an RTS.
    pub(crate) reserved: bool,
    /// The rate of the PPDU.
    pub(crate) rate: Option<PhyRate>,
    /// Number of its MPDUs that were sent before.
    repeats: u64,
    /// Rate chosen by the sender, whose rate control awaits the outcome; `None`: the rate of the frames.
    pub(crate) chosen: Option<PhyRate>,
    /// Whether it is being sent, and its outcome is pending.
    pub(crate) on_air: bool,
    /// Whether its end has been received.
    pub(crate) delivered: bool,
}

/// Cache for each MPDU's share of an access's airtime: most MPDUs are as large as the one before.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    airtime: Airtime,
    of: Bytes,
    mpdu: Bytes,
    part: Airtime,
}

/// Limits of a burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BurstLimits {
    /// Limits of the A-MPDU; `frames` is the block-ack window, too. `None`: the burst is one MPDU.
    pub(crate) a_mpdu: Option<RateLimits>,
    /// Maximum size of a single MPDU.
    pub(crate) mpdu: Bytes,
    /// Maximum size of an A-MSDU.
    pub(crate) a_msdu: Bytes,
    /// Overhead of an MPDU on top of the IP packet.
    pub(crate) overhead: Bytes,
    /// Arrival number before which frames may follow the first MPDU ([`TxQueues::run_end`]).
    pub(crate) run_end: u64,
}

/// Contents of the queues that are neither acknowledged nor dropped.
#[derive(Debug, Default)]
struct Held {
    packets: QueueState,
    /// Management frames.
    own: usize,
}

impl Held {
    fn add(&mut self, load: Load) {
        self.packets.packets += load.packets as usize;
        if load.packets > 0 {
            self.packets.bytes += load.bytes;
        } else {
            self.own += 1;
        }
    }

    fn remove(&mut self, load: Load) {
        self.packets.packets -= load.packets as usize;
        if load.packets > 0 {
            self.packets.bytes = self.packets.bytes - load.bytes;
        } else {
            self.own -= 1;
        }
    }
}

impl BurstLimits {
    /// Maximum number of MPDUs.
    fn most(&self) -> usize {
        self.a_mpdu.map_or(1, |limits| usize::from(limits.frames))
    }

    fn empty(&self) -> AggregateSize {
        self.a_mpdu.map_or(AggregateSize::default(), |limits| limits.empty())
    }

    /// Size of an A-MPDU with another MPDU, and whether it is within the limits.
    fn grown(&self, mut size: AggregateSize, mpdu: Bytes) -> (AggregateSize, bool) {
        size.push(mpdu);
        (size, self.a_mpdu.is_some_and(|limits| limits.fits(size)))
    }
}

impl QueueIndex {
    const NONE: u32 = u32::MAX;

    #[inline]
    fn get(&self, to: To) -> Option<usize> {
        match to {
            To::Node(NodeId(node)) => {
                self.of_nodes.get(node as usize).filter(|&&place| place != Self::NONE).map(|&place| place as usize)
            }
            To::Broadcast => self.of_all,
        }
    }

    fn set(&mut self, to: To, place: usize) {
        match to {
            To::Node(NodeId(node)) => {
                let node = node as usize;
                if node >= self.of_nodes.len() {
                    self.of_nodes.resize(node + 1, Self::NONE);
                }
                self.of_nodes[node] = place as u32;
            }
            To::Broadcast => self.of_all = Some(place),
        }
    }
}

impl<F> Msdu<F> {
    /// The frame with the properties of its queue.
    fn queued(self, to: To, rate: PhyRate, category: AccessCategory) -> Queued<F> {
        let Self { enqueued, size, frame } = self;
        Queued { enqueued, mpdu: Mpdu { to, msdu: size, rate, category, frame } }
    }

    fn is_own(&self) -> bool {
        self.frame.packet().is_none()
    }
}

impl<F> TxQueue<F> {
    fn new(to: To, rate: PhyRate, category: AccessCategory) -> Self {
        Self {
            to,
            category,
            waiting: VecDeque::new(),
            originator: Originator::new(),
            recipient: Recipient::new(),
            request_due: false,
            failures: 0,
            failed_requests: 0,
            failed_rts: 0,
            rate,
            chosen: None,
            reorder_due: None,
            counters: PpduCounters::default(),
        }
    }

    /// Arrival number of the oldest frame, if any; zero for a due BlockAckReq, which precedes all frames.
    fn oldest(&self) -> Option<u64> {
        if self.request_due {
            return Some(0);
        }
        let sent = self.originator.first().map(|slot| slot.load.arrival);
        sent.or_else(|| self.waiting.front().map(|&(arrival, _)| arrival))
    }

    /// Whether the next frame to send is a management frame.
    pub(crate) fn serves_own(&self) -> bool {
        match self.originator.first() {
            Some(slot) => slot.load.packets == 0,
            None => self.waiting.front().is_some_and(|(_, msdu)| msdu.is_own()),
        }
    }

    /// Gives the next waiting frames a sequence number, as one MPDU that extends an A-MPDU of `size`. Returns the size of the
    /// MPDU.
    #[inline]
    fn number_next(&mut self, size: AggregateSize, limits: &BurstLimits) -> Bytes {
        let (arrival, first) = self.waiting.pop_front().expect("there is a frame for the MPDU");
        let own = first.is_own();
        if !own && limits.a_msdu > Bytes::ZERO {
            return self.number_joined(size, limits, arrival, first);
        }
        let load = Load { arrival, packets: u32::from(!own), bytes: first.size };
        let mpdu = first.size + limits.overhead;
        self.originator.push(Msdus { first, rest: Box::default() }, mpdu, load);
        mpdu
    }

    /// [`Self::number_next`] for an A-MSDU: joins the waiting packets that fit to the packet taken already.
    #[inline(never)]
    fn number_joined(&mut self, size: AggregateSize, limits: &BurstLimits, arrival: u64, first: Msdu<F>) -> Bytes {
        let mut load = Load { arrival, packets: 1, bytes: first.size };
        let mut mpdu = first.size + limits.overhead;
        let mut rest = Vec::new();
        let subframe = |msdu: Bytes| A_MSDU_HEADER.0 + LLC_SNAP.0 + msdu.0;
        let mut a_msdu = subframe(first.size);
        while let Some((arrival, next)) = self.waiting.front() {
            let grown = a_msdu.next_multiple_of(4) + subframe(next.size);
            let grown_mpdu = Bytes(limits.overhead.0 - LLC_SNAP.0 + grown);
            let fits = match size.frames() {
                0 => grown_mpdu <= limits.mpdu,
                _ => limits.grown(size, grown_mpdu).1,
            };
            if grown > limits.a_msdu.0 || !fits || next.is_own() || *arrival >= limits.run_end {
                break;
            }
            (a_msdu, mpdu) = (grown, grown_mpdu);
            load = Load { packets: load.packets + 1, bytes: load.bytes + next.size, ..load };
            rest.extend(self.waiting.pop_front().map(|(_, msdu)| msdu));
        }
        self.originator.push(Msdus { first, rest: rest.into_boxed_slice() }, mpdu, load);
        mpdu
    }

    /// Size of the MPDU of the first waiting frame alone, if it may follow the MPDUs of the window.
    #[inline]
    fn next_mpdu(&self, limits: &BurstLimits) -> Option<Bytes> {
        let (arrival, next) = self.waiting.front()?;
        let may_follow = !next.is_own() && self.originator.len() < limits.most() && *arrival < limits.run_end;
        (self.originator.is_empty() || may_follow).then(|| next.size + limits.overhead)
    }
}

impl<F> TxQueues<F> {
    pub(crate) fn new() -> Self {
        Self {
            queues: Vec::new(),
            oldest: Oldest::new(),
            queue_index: QueueIndex::default(),
            arrivals: 0,
            held: Held::default(),
            present: QueueState::default(),
            served: 0,
            filled: 0,
            burst: Burst::default(),
            is_narrowed: false,
        }
    }

    /// Enqueues a frame; one that is `first` goes before all others except earlier such frames.
    pub(crate) fn push(&mut self, queued: Queued<F>, first: bool) {
        self.arrivals += 1;
        let Queued { enqueued, mpdu: Mpdu { to, msdu: size, rate, category, frame } } = queued;
        let place = match self.queues.get(self.filled) {
            Some(queue) if queue.to == to => self.filled,
            _ => self.queue_index.get(to).unwrap_or_else(|| self.add_queue(to, rate, category)),
        };
        self.filled = place;
        let msdu = Msdu { enqueued, size, frame };
        let is_packet = !msdu.is_own();
        self.held.add(Load { arrival: 0, packets: u32::from(is_packet), bytes: size });
        if is_packet {
            self.present.packets += 1;
            self.present.bytes += size;
        }
        let queue = &mut self.queues[place];
        let is_next = first || queue.waiting.is_empty() && queue.originator.is_empty();
        (queue.rate, queue.category) = (rate, category);
        if first {
            let behind = queue.waiting.iter().position(|&(arrival, _)| arrival > 0).unwrap_or(queue.waiting.len());
            queue.waiting.insert(behind, (0, msdu));
        } else {
            queue.waiting.push_back((self.arrivals, msdu));
        }
        if is_next {
            self.note_oldest(place);
        }
    }

    /// Updates the oldest frame of a queue.
    fn note_oldest(&mut self, place: usize) {
        self.oldest.set(place, self.queues[place].oldest());
    }

    /// Adds a queue for a new receiver.
    #[inline(never)]
    fn add_queue(&mut self, to: To, rate: PhyRate, category: AccessCategory) -> usize {
        let place = self.queues.len();
        self.queues.push(TxQueue::new(to, rate, category));
        self.queue_index.set(to, place);
        place
    }

    /// Updates the counts for a frame that is taken out.
    fn note_taken(&mut self, queued: &Queued<F>) {
        let packet = queued.mpdu.frame.packet().is_some();
        let load = Load { arrival: 0, packets: u32::from(packet), bytes: queued.mpdu.msdu };
        self.held.remove(load);
        if packet {
            self.note_gone(QueueState { packets: 1, bytes: load.bytes });
        }
    }

    /// Packets were delivered or dropped.
    pub(crate) fn note_gone(&mut self, gone: QueueState) {
        self.present.packets -= gone.packets;
        self.present.bytes = self.present.bytes - gone.bytes;
    }

    /// Packets neither delivered nor dropped.
    pub(crate) fn present(&self) -> QueueState {
        self.present
    }

    /// Ends the access of the present burst: see [`Originator::settle`]. Passes dropped payloads to `given_up`, and returns
    /// the number of dropped MPDUs.
    pub(crate) fn end_burst(&mut self, answered: bool, limit: u32, mut given_up: impl FnMut(Msdus<F>)) -> u64 {
        let Self { queues, held, burst, .. } = self;
        let (TxQueue { originator, counters, .. }, mut lost) = (&mut queues[burst.queue], 0);
        originator.end_access(answered, limit, |load, completion| {
            held.remove(load);
            let packets = u64::from(load.packets > 0);
            match completion {
                Completion::Received => counters.delivered_mpdus += packets,
                Completion::GivenUp(msdus) => {
                    counters.lost_mpdus += packets;
                    lost += 1;
                    given_up(msdus);
                }
            }
        });
        self.served = burst.queue;
        burst.reset(self.served);
        self.note_oldest(self.served);
        lost
    }

    /// Counts the present burst, whose PPDU was sent and whose access took `airtime`, unless it has a management frame.
    pub(crate) fn count_burst(&mut self, airtime: Airtime) {
        let Self { queues, burst, .. } = self;
        let TxQueue { originator, counters, .. } = &mut queues[burst.queue];
        if burst.request {
            counters.block_ack_requests += 1;
            return;
        }
        let first = burst.places.first().filter(|&&place| place < originator.len());
        if first.is_some_and(|&place| originator.slot(place).load.packets > 0) {
            counters.count(burst.places.len(), burst.repeats);
            if let Some(rate) = burst.rate {
                counters.count_rate(RateCounters { rate, ppdus: 1, airtime });
            }
        }
    }

    /// Packets that are neither acknowledged nor dropped.
    pub(crate) fn state(&self) -> QueueState {
        self.held.packets
    }

    /// Number of frames that are neither acknowledged nor dropped.
    pub(crate) fn frames(&self) -> usize {
        self.held.packets.packets + self.held.own
    }

    /// Whether there is anything to send.
    pub(crate) fn has_work(&self) -> bool {
        self.frames() > 0 || self.oldest.least().is_some()
    }

    /// Whether there is a frame for this receiver.
    pub(crate) fn has_for(&self, to: To) -> bool {
        self.queue_index.get(to).is_some_and(|place| {
            let queue = &self.queues[place];
            !queue.waiting.is_empty() || !queue.originator.is_empty()
        })
    }

    /// Index of the queue that the next access serves.
    pub(crate) fn next(&self, order: Order) -> Option<usize> {
        match order {
            Order::Arrival | Order::Neighbours => self.oldest.first(),
            Order::RoundRobin if self.oldest.least() == Some(0) => self.oldest.first(),
            Order::RoundRobin => self.oldest.next_from(self.served + 1).or_else(|| self.oldest.next_from(0)),
        }
    }

    /// Arrival number that ends the run of frames which an access to a queue may take.
    ///
    /// [`Order::Neighbours`]: that of the oldest frame for another receiver or a group. Repetitions are older, so they go
    /// first and keep the head of the FIFO, as in hardware that keeps a descriptor until its frame is acknowledged or
    /// dropped; only the rest of their run follows. So the block-ack window advances within a run only, and a receiver that
    /// does not respond blocks all others. Not modelled: drivers that get failed frames back and queue them again behind the
    /// others. Frames with priority (arrival 0) are no neighbours: devices have another queue for them.
    pub(crate) fn run_end(&self, order: Order, place: usize) -> u64 {
        match order {
            Order::Arrival | Order::RoundRobin => u64::MAX,
            Order::Neighbours => self.oldest.least_beside(place).unwrap_or(u64::MAX),
        }
    }

    /// Composes the burst of a queue, and returns the size of its PSDU as an A-MPDU. The first MPDU is taken whatever its
    /// size.
    pub(crate) fn compose(&mut self, place: usize, limits: &BurstLimits) -> Bytes {
        let (queue, burst) = (&mut self.queues[place], &mut self.burst);
        burst.reset(place);
        let mut size = limits.empty();
        for (number, slot) in queue.originator.slots().enumerate().filter(|(_, slot)| slot.is_due()) {
            let (grown, fits) = limits.grown(size, slot.mpdu);
            let is_taken = burst.places.is_empty() || fits && number < limits.most();
            if !is_taken {
                return size.bytes();
            }
            size = grown;
            burst.take(number, slot.mpdu, size.bytes());
        }
        while burst.places.len() < limits.most()
            && let Some(mpdu) = queue.next_mpdu(limits)
        {
            let (alone, fits) = limits.grown(size, mpdu);
            if !fits && !burst.places.is_empty() {
                break;
            }
            let number = queue.originator.len();
            let joined = queue.number_next(size, limits);
            size = if joined == mpdu { alone } else { limits.grown(size, joined).0 };
            burst.take(number, joined, size.bytes());
        }
        size.bytes()
    }

    /// Starts the present burst. Returns the number of its MPDUs, and how many of them were sent before.
    pub(crate) fn begin(&mut self) -> (u64, u64) {
        let queue = &mut self.queues[self.burst.queue];
        queue.chosen = None;
        let originator = &mut queue.originator;
        let mut repeats = 0;
        self.burst.on_air = true;
        for &place in &self.burst.places {
            repeats += u64::from(originator.slot(place).attempts > 0);
            originator.begin(place);
        }
        self.burst.repeats = repeats;
        (self.burst.places.len() as u64, repeats)
    }

    /// Transmissions of the first MPDU of the present burst.
    pub(crate) fn attempts(&self) -> u32 {
        let originator = &self.queues[self.burst.queue].originator;
        self.burst.places.first().map_or(1, |&place| originator.slot(place).attempts)
    }

    /// The present burst, for the watch. A sender that leaves abandons its MPDUs while they are on the air.
    pub(crate) fn on_air(&self, window_at: impl Fn(PhyRate) -> u16) -> BurstOnAir<'_, F> {
        let queue = &self.queues[self.burst.queue];
        let (start, slots) = (queue.originator.start(), queue.originator.len());
        let present = self.burst.places.iter().filter(|&&place| place < slots);
        let mpdus = present.map(|&place| {
            let msdus = queue.originator.slot(place).payload.as_ref();
            let msdus = msdus.into_iter().flat_map(|msdus| core::iter::once(&msdus.first).chain(&msdus.rest));
            let packets = msdus.filter_map(|msdu| msdu.frame.packet()).collect();
            MpduOnAir { number: start + place as u64, packets }
        });
        BurstOnAir { start, window: window_at(queue.rate), mpdus: mpdus.collect() }
    }

    /// The queue of the present burst.
    pub(crate) fn queue(&mut self) -> &mut TxQueue<F> {
        &mut self.queues[self.burst.queue]
    }

    /// Requires a BlockAckReq to a queue's receiver before anything else.
    pub(crate) fn ask(&mut self, place: usize) {
        self.queues[place].request_due = true;
        self.note_oldest(place);
    }

    /// Makes the burst a BlockAckReq to a queue's receiver.
    pub(crate) fn request(&mut self, place: usize) {
        self.burst.reset(place);
        self.burst.request = true;
    }

    /// The access of the present burst ends before any of its MPDUs was sent, because its RTS got no CTS.
    pub(crate) fn take_back(&mut self) {
        let place = self.burst.queue;
        self.queues[place].originator.take_back();
        self.burst.reset(place);
    }

    /// Removes the frames that wait for a receiver. MPDUs with a sequence number stay or, if there are none, the first frame.
    pub(crate) fn take_waiting(&mut self, to: To) -> Vec<Queued<F>> {
        let Some(place) = self.queue_index.get(to) else { return Vec::new() };
        let queue = &mut self.queues[place];
        let in_service = usize::from(queue.originator.is_empty()).min(queue.waiting.len());
        let (rate, category) = (queue.rate, queue.category);
        let waiting = queue.waiting.split_off(in_service).into_iter();
        let waiting: Vec<_> = waiting.map(|(_, msdu)| msdu.queued(to, rate, category)).collect();
        waiting.iter().for_each(|queued| self.note_taken(queued));
        self.note_oldest(place);
        waiting
    }

    /// Removes all frames.
    pub(crate) fn take_all(&mut self) -> Vec<Queued<F>> {
        let mut taken = Vec::new();
        for queue in &mut self.queues {
            queue.request_due = false;
            let sent = queue.originator.abandon().filter_map(|(_, msdus)| msdus).flat_map(Msdus::into_iter);
            let all = sent.chain(queue.waiting.drain(..).map(|(_, msdu)| msdu));
            taken.extend(all.map(|msdu| msdu.queued(queue.to, queue.rate, queue.category)));
        }
        (self.held, self.oldest) = (Held::default(), Oldest::new());
        let packets = taken.iter().filter(|queued| queued.mpdu.frame.packet().is_some());
        let gone = packets.map(|queued| QueueState { packets: 1, bytes: queued.mpdu.msdu }).sum();
        self.note_gone(gone);
        taken
    }

    /// The queue of a receiver, if it ever had frames.
    pub(crate) fn of_receiver(&mut self, to: To) -> Option<&mut TxQueue<F>> {
        self.queue_index.get(to).map(|place| &mut self.queues[place])
    }
}

impl Parts {
    /// An MPDU's share, by bytes, of the airtime of an access with `of` bytes.
    #[inline]
    pub(crate) fn get(&mut self, airtime: Airtime, mpdu: Bytes, of: Bytes) -> Airtime {
        if (self.mpdu, self.of, self.airtime) != (mpdu, of, airtime) {
            *self = Self { airtime, of, mpdu, part: part(airtime, mpdu, of) };
        }
        self.part
    }
}

/// A share, by bytes, of an access's airtime.
pub(crate) fn part(airtime: Airtime, mpdu: Bytes, of: Bytes) -> Airtime {
    Airtime(Span::from_nanos(airtime.0.as_nanos() * mpdu.0 / of.0.max(1)))
}

impl Burst {
    fn reset(&mut self, queue: usize) {
        (self.queue, self.mpdus) = (queue, Bytes::ZERO);
        (self.request, self.agreed, self.reserved, self.on_air, self.delivered) = (false, false, false, false, false);
        (self.chosen, self.rate, self.repeats) = (None, None, 0);
        self.places.clear();
        self.ends.clear();
        self.times = None;
        self.received = 0;
        self.lost.clear();
    }

    /// Adds an MPDU, which ends at this offset of the A-MPDU.
    #[inline]
    fn take(&mut self, place: usize, mpdu: Bytes, end: Bytes) {
        self.places.push(place);
        self.ends.push(end);
        self.mpdus += mpdu;
    }
}

impl<F> Msdus<F> {
    pub(crate) fn into_iter(self) -> impl Iterator<Item = Msdu<F>> {
        core::iter::once(self.first).chain(self.rest)
    }
}
