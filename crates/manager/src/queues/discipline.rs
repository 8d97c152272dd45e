//! A queue discipline in place of the policy's tree for the packets that wait for the WLAN.
//!
//! It serves for comparison, and for the published mechanisms that are disciplines (LAS-ACK, HTB). The box still draws
//! the queue into itself, and the controller still decides how much is released; the discipline only decides the order.
//! It charges packets toward the WLAN by their virtual length: DATA with the ACKs that they elicit, an ACK with the DATA
//! that it releases. Rates of classes therefore cover both directions. Limits of queues in bytes count the packets
//! themselves.
//!
//! A channel-aware discipline (WHTB) gets what the manager knows: the reported signals, and the airtime of a packet
//! at the assumed rate of its station, beside that at the best rate. The box does not see the fate of single packets,
//! so failed attempts show only in a rate or a signal.
//!
//! What it does not do: weights by the Internet link, congestion signals to the senders of uploads and sparse-flow
//! priority are features of the tree.

pub(crate) mod config;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use evenair_sched::{Discipline, Dropped, Feedback, News, Packet, Progress};
use evenair_units::{BitRate, Bytes, Dbm, Instant, Span};

use crate::held::{Held, Tags};
use crate::ids::{ClassId, Direction};
use crate::packet_cost::Charge;
use crate::{Hop, QueueReport};
use config::QueueConfig;

/// The discipline and the packets that it holds.
pub(crate) struct Disciplined<P> {
    config: QueueConfig,
    queue: Box<dyn Discipline<Waiting<P>> + Send>,
    /// Earliest time of the next packet, after the discipline had none to give although it holds some.
    shaped_until: Instant,
    /// Medium time of the last packet, which is expected of the next one, too.
    last_airtime: Span,
    /// Recent service, in bits and in time at C_i.
    served_bits: u64,
    served_time: Span,
}

/// A packet in the form that the discipline needs.
struct Waiting<P> {
    held: Held<P>,
    tags: Tags,
    charge: Charge,
}

impl<P> Packet for Waiting<P> {
    fn size(&self) -> Bytes {
        self.held.ip_len
    }

    fn cost(&self) -> Bytes {
        self.charge.due
    }

    fn flow(&self) -> u64 {
        self.tags.flow
    }

    fn host(&self) -> u64 {
        self.tags.station
    }

    fn class(&self) -> u32 {
        self.tags.leaf
    }

    fn connection(&self) -> u64 {
        self.tags.connection
    }

    fn progress(&self) -> Option<Progress> {
        let tcp = self.held.tcp.as_ref()?;
        let ack = tcp.flags.contains(evenair_packet::TcpFlags::ACK).then_some(tcp.ack);
        Some(Progress { forth: true, opens: tcp.begins(), has_data: tcp.payload > Bytes::ZERO, ack })
    }

    fn mark(&mut self) -> bool {
        self.held.marked |= self.held.takes_marks;
        self.held.takes_marks
    }
}

impl<P: Send + 'static> Disciplined<P> {
    pub(crate) fn new(config: &QueueConfig) -> Self {
        Self {
            config: config.clone(),
            queue: config.discipline.build(config.seed),
            shaped_until: Instant::ZERO,
            last_airtime: Span::ZERO,
            served_bits: 0,
            served_time: Span::ZERO,
        }
    }

    pub(crate) const fn config(&self) -> &QueueConfig {
        &self.config
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Holds a packet with this charge.
    pub(crate) fn push(&mut self, now: Instant, held: Held<P>, tags: Tags, charge: Charge) {
        self.queue.handle_packet(now, Waiting { held, tags, charge });
        self.shaped_until = Instant::ZERO;
    }

    /// When the discipline may give a packet.
    pub(crate) const fn ready_at(&self) -> Instant {
        self.shaped_until
    }

    /// Expected medium time of the next packet.
    pub(crate) const fn expected_airtime(&self) -> Span {
        self.last_airtime
    }

    /// Takes the next packet in the discipline's order, with what was charged for it.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Held<P>, Charge)> {
        let next = self.queue.poll_packet(now);
        if next.is_none() {
            self.shaped_until = self.queue.poll_deadline(now).unwrap_or(Instant::MAX);
        }
        next.map(|waiting| (waiting.held, waiting.charge))
    }

    /// The next packet that the discipline has dropped.
    pub(crate) fn poll_drop(&mut self) -> Option<Dropped<Held<P>>> {
        self.queue.poll_drop().map(|Dropped { packet, cause }| Dropped { packet: packet.held, cause })
    }

    /// Passes a station's signal to the leaves of its packets.
    pub(crate) fn hear(&mut self, now: Instant, class: Option<ClassId>, signal: Dbm) {
        let news = News::Signal(signal - self.config.noise);
        let [up, down] = [Direction::Up, Direction::Down].map(|direction| self.config.leaf_of(class, direction));
        self.queue.handle_feedback(now, &Feedback { class: up, news });
        if down != up {
            self.queue.handle_feedback(now, &Feedback { class: down, news });
        }
    }

    /// Whether the discipline uses measured costs.
    pub(crate) const fn asks_for_costs(&self) -> bool {
        use evenair_sched::{Config, Estimator, WhtbConfig};
        matches!(self.config.discipline, Config::Whtb(WhtbConfig { estimator: Estimator::Delivery(_), .. }))
    }

    /// Notes a released packet of a leaf and its charge: its medium time, and the same over the best channel.
    pub(crate) fn note_cost(&mut self, now: Instant, leaf: u32, size: Bytes, [took, at_best]: [Span; 2]) {
        let news = News::Fate { size, took, at_best, delivered: true };
        self.queue.handle_feedback(now, &Feedback { class: leaf, news });
    }

    pub(crate) fn note_service(&mut self, bits: u64, capacity: BitRate, airtime: Span) {
        self.served_bits += bits;
        self.served_time += capacity.time_for_bits(bits);
        self.last_airtime = airtime;
    }

    /// Halves the weight of earlier service.
    pub(crate) const fn age(&mut self) {
        self.served_bits /= 2;
        self.served_time = Span::from_nanos(self.served_time.as_nanos() / 2);
    }

    /// What it holds, as one queue.
    pub(crate) fn report(&self) -> Option<QueueReport> {
        let packets = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let bytes = self.queue.bytes();
        let (direction, class, station, flow) = (None, None, None, None);
        let report = QueueReport { hop: Hop::Wlan, direction, class, station, flow, packets, bytes };
        (packets > 0).then_some(report)
    }

    /// C of the mixture served recently; `None`: nothing was.
    pub(crate) fn capacity(&self) -> Option<BitRate> {
        Some(BitRate::from_bits_over(self.served_bits, self.served_time)).filter(|rate| *rate > BitRate::ZERO)
    }

    /// Takes out all packets in the order of service; the second result are those dropped on the way.
    pub(crate) fn drain(&mut self, now: Instant) -> (Vec<Held<P>>, Vec<Dropped<Held<P>>>) {
        let (mut taken, mut at) = (Vec::with_capacity(self.len()), now);
        loop {
            if let Some((held, _)) = self.pop(at) {
                taken.push(held);
            } else if self.len() == 0 || self.shaped_until <= at || self.shaped_until == Instant::MAX {
                break;
            } else {
                // A shaper waits; this only advances its clock.
                at = self.shaped_until;
            }
        }
        taken.extend(self.queue.take_all().into_iter().map(|waiting| waiting.held));
        let dropped = core::iter::from_fn(|| self.poll_drop()).collect();
        // Its clock is now ahead of the caller's.
        *self = Self::new(&self.config);
        (taken, dropped)
    }
}

impl<P> fmt::Debug for Disciplined<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disciplined").field("config", &self.config).field("held", &self.queue.len()).finish()
    }
}
