//! Frames: whose they are, what they carry, and what became of them.

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

/// For whom a frame is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum To {
    /// One node, which answers with an ACK.
    Node(NodeId),
    /// All other nodes: sent once at the lowest basic rate, without ACK.
    Broadcast,
}

/// A frame to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mpdu<F> {
    /// For whom.
    pub to: To,
    /// Size of the IP packet; LLC/SNAP, MAC header and FCS are added to it on the air.
    pub msdu: Bytes,
    /// PHY rate of this frame; with a rate control, the highest that it may choose. Broadcasts go at the lowest basic
    /// rate whatever this says.
    pub rate: PhyRate,
    /// Which of the sender's access functions sends it, where it has EDCA.
    pub category: AccessCategory,
    /// What is carried.
    pub frame: F,
}

/// What became of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<F> {
    /// It was received.
    Delivered {
        /// End of the DATA frame at the receiver, before its ACK.
        at: Instant,
        /// When the sender's buffer took it in.
        enqueued: Instant,
        /// Sender.
        from: NodeId,
        /// Receiver; for [`To::Broadcast`] this one event stands for all other nodes.
        to: To,
        /// Size of the IP packet.
        msdu: Bytes,
        /// Transmissions it took, this one included.
        attempts: u32,
        /// Medium time of all these transmissions and of their RTS, CTS, ACK and SIFS.
        airtime: Airtime,
        /// What was carried.
        frame: F,
    },
    /// It was lost for good.
    Dropped {
        /// When.
        at: Instant,
        /// Sender.
        from: NodeId,
        /// Intended receiver.
        to: To,
        /// Size of the IP packet.
        msdu: Bytes,
        /// Why.
        reason: DropReason,
        /// What was carried.
        frame: F,
    },
}

/// Why a frame was lost for good.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// The sender's buffer had no room.
    BufferFull,
    /// The last permitted attempt failed.
    RetryLimit,
    /// The sender left, or gave up what it had for a node that did.
    Left,
    /// It came after its receiver had given it up, and had passed up what came behind it.
    Late,
    /// A broadcast collided; nobody acknowledges it and so it is not sent again.
    BroadcastCollision,
}

/// What a frame of a queue carries. Its tag has eight bytes, so that what surrounds it is moved in whole words: in pieces that
/// overlap, which is what a tag of four bytes leads to, a move takes a processor several times as long.
#[derive(Debug)]
#[repr(u64)]
pub(crate) enum Carried<F> {
    /// A packet of the driver's.
    Packet(F),
    /// Something of the node's own.
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

/// A frame that no driver asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Own {
    /// The beacon of this number.
    Beacon(u32),
    /// A null frame, by which a station says that it is going to sleep, or that it is awake.
    Null {
        /// Its power management bit.
        sleeps: bool,
    },
    /// Of an overlapping BSS.
    Obss,
}

/// A frame in a queue.
#[derive(Debug)]
pub(crate) struct Queued<F> {
    pub(crate) enqueued: Instant,
    pub(crate) mpdu: Mpdu<Carried<F>>,
}

/// A packet that is lost.
pub(crate) fn lost<F>(at: Instant, from: NodeId, mpdu: Mpdu<F>, reason: DropReason) -> Event<F> {
    Event::Dropped { at, from, to: mpdu.to, msdu: mpdu.msdu, reason, frame: mpdu.frame }
}

/// A frame of a queue that is lost, where it is a packet.
pub(crate) fn dropped<F>(at: Instant, from: NodeId, mpdu: Mpdu<Carried<F>>, reason: DropReason) -> Option<Event<F>> {
    let Mpdu { to, msdu, rate, category, frame } = mpdu;
    let Carried::Packet(frame) = frame else { return None };
    Some(lost(at, from, Mpdu { to, msdu, rate, category, frame }, reason))
}
