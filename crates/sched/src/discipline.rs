//! The common interface of all disciplines: how they are driven, the properties of a packet, and the causes of drops.

use alloc::vec::Vec;

use evenair_units::{BitRate, Bytes, Db, Instant, Span};

/// The host of packets that are for all stations.
pub const GROUP: u64 = u64::MAX;

/// The properties of a packet for a discipline. The caller defines flows, classes and sizes.
pub trait Packet {
    /// The size that counts against limits in bytes.
    fn size(&self) -> Bytes;

    /// What is charged for it. By default its size. More where it makes the medium carry other packets besides, as an ACK
    /// does that lets a station send DATA.
    fn cost(&self) -> Bytes {
        self.size()
    }

    /// The key of its flow: packets of one flow have the same, and are never reordered.
    fn flow(&self) -> u64;

    /// The key of its host, the station that it goes to or comes from, or [`GROUP`]: flows of one host may share what that
    /// gets. By default its flow, where nothing more is known.
    fn host(&self) -> u64 {
        self.flow()
    }

    /// The class of a tree that it belongs to, by its number there.
    fn class(&self) -> u32 {
        0
    }

    /// The key of its connection: the same for both ways of one. By default its flow, for packets that all go one way.
    fn connection(&self) -> u64 {
        self.flow()
    }

    /// The information of its segment, for a TCP connection.
    fn progress(&self) -> Option<Progress> {
        None
    }

    /// The PHY rate at which it is likely to be sent, where that is known.
    fn rate(&self) -> Option<BitRate> {
        None
    }

    /// The medium time that it is expected to take, in one attempt. Zero: not known, or nobody reports what it took.
    fn airtime(&self) -> Span {
        Span::ZERO
    }

    /// Marks it as having met congestion (RFC 3168, the CE code point) instead of being dropped. `false`: its transport
    /// does not take marks, and it is unchanged.
    fn mark(&mut self) -> bool {
        false
    }
}

/// The information of a TCP segment about its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// It goes the one way of the connection and not the other; which is which does not matter.
    pub forth: bool,
    /// It opens the connection: SYN without ACK.
    pub opens: bool,
    /// It carries data.
    pub has_data: bool,
    /// Its acknowledgment number, where that counts.
    pub ack: Option<u32>,
}

/// A queue discipline: packets come in, and leave in the order that it decides, or are dropped.
///
/// In: [`Self::handle_packet`]. Out: [`Self::poll_packet`] whenever the server is free, and after each of the two
/// [`Self::poll_drop`] until `None`. What came in has left, was dropped, or is held: [`Self::len`] counts it. Time must
/// not go back.
pub trait Discipline<P> {
    /// A packet arrives. It or others may be dropped.
    fn handle_packet(&mut self, now: Instant, packet: P);

    /// The server is free: the packet that it takes. Others may be dropped.
    fn poll_packet(&mut self, now: Instant) -> Option<P>;

    /// What was dropped, in the order in which it was.
    fn poll_drop(&mut self) -> Option<Dropped<P>>;

    /// When [`Self::poll_packet`] may have a packet although it had none at `now`, and nothing comes or is reported
    /// meanwhile: not later than it has one. `None` where that will not be: always, unless the discipline shapes.
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

    /// Everything that is held leaves, in no order that matters: for a queue that goes away.
    fn take_all(&mut self) -> Vec<P>;

    /// Packets held.
    fn len(&self) -> usize;

    /// Their sizes.
    fn bytes(&self) -> Bytes;

    /// Nothing is held.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A packet that was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped<P> {
    /// Which.
    pub packet: P,
    /// Why.
    pub cause: Cause,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// The limit: of the queue, or of all queues together.
    Overflow,
    /// The queue has been too long for too long, and its senders are to slow down.
    Delay,
}

/// Medium time that a station's packets took, with the inter-frame space before each attempt and the ACK after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AirtimeReport {
    /// A departed packet has been delivered or given up. Of those with a [`Packet::airtime`] each is reported.
    Sent {
        /// Its host.
        host: u64,
        /// What all its attempts took.
        took: Span,
        /// Its [`Packet::airtime`].
        expected: Span,
    },
    /// A packet was received from a station.
    Received {
        /// The station's key as a host.
        host: u64,
        /// What the attempt took that was received.
        took: Span,
    },
}

/// Feedback of the sender about the channel to the receivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// The class of the packets.
    pub class: u32,
    /// What was learned.
    pub news: News,
}

/// What was learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// With how much signal over noise a frame came from there.
    Signal(Db),
    /// A packet of that class has been delivered or given up. Packets of a class come to their fates in the order in which
    /// they left, and each does.
    Fate {
        /// Its size.
        size: Bytes,
        /// The medium time that it took, with all attempts and the waits between them; zero: it was never sent.
        took: Span,
        /// What it would have taken with the best channel.
        at_best: Span,
        /// It was received.
        delivered: bool,
    },
}
