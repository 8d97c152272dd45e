//! The common interface of all disciplines: how they are driven, the properties of a packet, and the causes of drops.

use alloc::vec::Vec;

use evenair_units::{BitRate, Bytes, Db, Instant, Span};

/// Host key of group packets, which are for all stations.
pub const GROUP: u64 = u64::MAX;

/// The properties of a packet for a discipline. The caller defines flows, classes and sizes.
pub trait Packet {
    /// The size that counts against limits in bytes.
    fn size(&self) -> Bytes;

    /// Charged size, by default its size. Larger if the packet causes other traffic on the medium, as an ACK does that
    /// lets a station send DATA.
    fn cost(&self) -> Bytes {
        self.size()
    }

    /// The key of its flow: packets of one flow have the same, and are never reordered.
    fn flow(&self) -> u64;

    /// Key of its host, the station that it is for or from, or [`GROUP`]: flows of one host may share the host's
    /// bandwidth. By default its flow.
    fn host(&self) -> u64 {
        self.flow()
    }

    /// Number of its class, for trees.
    fn class(&self) -> u32 {
        0
    }

    /// Key of its connection, the same in both directions. By default its flow, for packets in one direction only.
    fn connection(&self) -> u64 {
        self.flow()
    }

    /// Progress of its TCP connection according to its segment.
    fn progress(&self) -> Option<Progress> {
        None
    }

    /// Expected PHY rate, if known.
    fn rate(&self) -> Option<BitRate> {
        None
    }

    /// Expected airtime of one attempt. Zero: unknown, or airtime is not reported.
    fn airtime(&self) -> Span {
        Span::ZERO
    }

    /// Marks it with congestion experienced (CE, RFC 3168) instead of dropping it. `false`: its transport is not
    /// ECN-capable, and it is unchanged.
    fn mark(&mut self) -> bool {
        false
    }
}

/// The information of a TCP segment about its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Direction: true for one direction of the connection, whichever.
    pub forth: bool,
    /// Whether it opens the connection: SYN without ACK.
    pub opens: bool,
    /// Whether it carries data.
    pub has_data: bool,
    /// Acknowledgment number, if valid.
    pub ack: Option<u32>,
}

/// A queue discipline: packets arrive, and leave in the order that it decides, or are dropped.
///
/// In: [`Self::handle_packet`]. Out: [`Self::poll_packet`] whenever the server is free, and after each of the two
/// [`Self::poll_drop`] until `None`. Each packet that arrived has left, was dropped, or is held: [`Self::len`] counts it.
/// Time must not go back.
pub trait Discipline<P> {
    /// A packet arrives. It or others may be dropped.
    fn handle_packet(&mut self, now: Instant, packet: P);

    /// The server is free: returns the packet to send. Others may be dropped.
    fn poll_packet(&mut self, now: Instant) -> Option<P>;

    /// The next dropped packet, in order of the drops.
    fn poll_drop(&mut self) -> Option<Dropped<P>>;

    /// When [`Self::poll_packet`] may have a packet, if it had none at `now` and there are neither arrivals nor reports
    /// meanwhile; not too late. `None`: never, as in all disciplines that do not shape.
    fn poll_deadline(&self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }

    /// Feedback about the channel of departed packets. Disciplines without an estimator ignore it.
    fn handle_feedback(&mut self, now: Instant, feedback: &Feedback) {
        let _ = (now, feedback);
    }

    /// A report of airtime. Disciplines that do not share airtime ignore it.
    fn handle_airtime(&mut self, now: Instant, report: &AirtimeReport) {
        let _ = (now, report);
    }

    /// Takes all held packets, in any order: for a queue that is removed.
    fn take_all(&mut self) -> Vec<P>;

    /// Number of held packets.
    fn len(&self) -> usize;

    /// Total size of held packets.
    fn bytes(&self) -> Bytes;

    /// Whether no packet is held.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A packet that was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped<P> {
    /// The packet.
    pub packet: P,
    /// Reason.
    pub cause: Cause,
}

/// Reason for a drop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// The limit of the queue, or of all queues together.
    Overflow,
    /// Congestion signal: the queue has been standing for too long.
    Delay,
}

/// Airtime of a station's packets, with the inter-frame space before each attempt and the ACK after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AirtimeReport {
    /// A departed packet was delivered or dropped. Reported for each packet with a [`Packet::airtime`].
    Sent {
        /// Host key.
        host: u64,
        /// Airtime of all its attempts.
        took: Span,
        /// Its [`Packet::airtime`].
        expected: Span,
    },
    /// A packet was received from a station.
    Received {
        /// Host key of the station.
        host: u64,
        /// Airtime of the received attempt.
        took: Span,
    },
}

/// Feedback from the sender about the channels to the receivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// The class of the packets.
    pub class: u32,
    /// Content.
    pub news: News,
}

/// Content of feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// Signal-to-noise ratio of a frame from there.
    Signal(Db),
    /// A packet of that class was delivered or dropped. Each packet is reported, in the order in which the packets of the
    /// class left.
    Fate {
        /// Its size.
        size: Bytes,
        /// Its airtime, with all attempts and the waits between them; zero: it was never sent.
        took: Span,
        /// Its airtime over the best channel.
        at_best: Span,
        /// Whether it was received.
        delivered: bool,
    },
}
