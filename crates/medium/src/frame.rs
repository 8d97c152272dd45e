//! Frames: sender, receiver, content and outcome.

use evenair_units::{Airtime, Bytes, Instant};
use evenair_wifi::{AccessCategory, PhyRate};

/// A station or an access point on one medium. Ids count up from zero in the order of [`crate::Medium::add_node`] and
/// are not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// Sender and receiver of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NodePair {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// Receiver of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum To {
    /// One node, which acknowledges the frame.
    Node(NodeId),
    /// All other nodes: sent once at the lowest basic rate, without ACK.
    Broadcast,
}

/// A frame to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mpdu<F> {
    /// Receiver.
    pub to: To,
    /// Size of the IP packet; LLC/SNAP, MAC header and FCS are added to it on the air.
    pub msdu: Bytes,
    /// PHY rate of this frame; with rate control, the highest that it may choose. Broadcasts always use the lowest basic
    /// rate.
    pub rate: PhyRate,
    /// Category whose EDCAF sends it, if the sender has EDCA.
    pub category: AccessCategory,
    /// Payload.
    pub frame: F,
}

/// Outcome of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<F> {
    /// It was received.
    Delivered {
        /// End of the DATA frame at the receiver, before its ACK.
        at: Instant,
        /// Arrival in the sender's buffer.
        enqueued: Instant,
        /// Sender.
        from: NodeId,
        /// Receiver; for [`To::Broadcast`] one event covers all other nodes.
        to: To,
        /// Size of the IP packet.
        msdu: Bytes,
        /// Number of transmissions, this one included.
        attempts: u32,
        /// Airtime of all these transmissions and of their RTS, CTS, ACK and SIFS.
        airtime: Airtime,
        /// Payload.
        frame: F,
    },
    /// It was dropped.
    Dropped {
        /// Time of the drop.
        at: Instant,
        /// Sender.
        from: NodeId,
        /// Intended receiver.
        to: To,
        /// Size of the IP packet.
        msdu: Bytes,
        /// Reason.
        reason: DropReason,
        /// Payload.
        frame: F,
    },
}

/// Reason for a drop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// The sender's buffer had no room.
    BufferFull,
    /// The last permitted attempt failed.
    RetryLimit,
    /// The sender left, or flushed its frames for a node that did.
    Left,
    /// It arrived after its receiver had skipped it and passed up later frames.
    Late,
    /// A broadcast collided; it has no ACK and is not sent again.
    BroadcastCollision,
}

/// Payload of a queued frame. The tag has eight bytes, so that the surrounding struct is moved in whole words; with a tag of
/// four bytes it is moved in overlapping pieces, which takes a processor several times as long.
#[derive(Debug)]
#[repr(u64)]
pub(crate) enum Carried<F> {
    /// A packet of the driver.
    Packet(F),
    /// A management frame.
    Own(Own),
}

impl<F> Carried<F> {
    pub(crate) fn packet(&self) -> Option<&F> {
        match self {
            Self::Packet(frame) => Some(frame),
            Self::Own(_) => None,
        }
    }
}

/// A management frame, sent without a request of the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Own {
    /// The beacon of this number, counted from 0.
    Beacon(u32),
    /// A null frame, by which a station announces that it goes to sleep or is awake.
    Null {
        /// Its power management bit: the station goes to sleep.
        sleeps: bool,
    },
    /// A frame of an overlapping BSS.
    Obss,
}

/// A frame in a queue.
#[derive(Debug)]
pub(crate) struct Queued<F> {
    pub(crate) enqueued: Instant,
    pub(crate) mpdu: Mpdu<Carried<F>>,
}

/// Event for a dropped packet.
pub(crate) fn lost<F>(at: Instant, from: NodeId, mpdu: Mpdu<F>, reason: DropReason) -> Event<F> {
    Event::Dropped { at, from, to: mpdu.to, msdu: mpdu.msdu, reason, frame: mpdu.frame }
}

/// Event for a dropped frame of a queue, if it is a packet.
pub(crate) fn dropped<F>(at: Instant, from: NodeId, mpdu: Mpdu<Carried<F>>, reason: DropReason) -> Option<Event<F>> {
    let Mpdu { to, msdu, rate, category, frame } = mpdu;
    let Carried::Packet(frame) = frame else { return None };
    Some(lost(at, from, Mpdu { to, msdu, rate, category, frame }, reason))
}
