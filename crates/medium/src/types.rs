//! What goes into a medium and what comes out of it.

use evenair_units::{Airtime, Bytes, Instant, Limit, Span};
use evenair_wifi::{Phy, PhyRate};

/// A station or an access point on one medium. Ids count up from zero in the order of [`crate::Medium::add_node`] and
/// are not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// What nodes wait after a collision before their back-off counts on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterCollision {
    /// Bystanders wait EIFS, as the standard says of a frame that could not be decoded (IEEE Std 802.11-2016,
    /// 10.3.2.3.7); senders wait until their answer is overdue and then DIFS.
    Eifs,
    /// Bystanders wait DIFS, senders as above: receivers that do not lock on to a preamble when two come at once sense
    /// energy but no frame. This is what ns-3 does with its model of preamble detection.
    Difs,
    /// Everybody waits DIFS, senders too: what Bianchi's model and simulations in slots assume.
    DifsForAll,
}

/// One medium's rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediumConfig {
    /// Times, rates and contention windows.
    pub phy: Phy,
    /// An MSDU of more than this many bytes is sent after RTS and CTS; `None`: never.
    pub rts_threshold: Option<Bytes>,
    /// Attempts that may end without CTS, or without ACK where no RTS was sent, before a frame is dropped. Usually 7.
    pub short_retry_limit: u32,
    /// Attempts that may end without ACK after RTS and CTS before a frame is dropped. Usually 4.
    pub long_retry_limit: u32,
    /// What bystanders of a collision wait.
    pub after_collision: AfterCollision,
}

/// What is particular to one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeConfig {
    /// Drop-tail buffer; bytes are those of MSDUs (IP packets), and the frame in service counts.
    pub buffer: Limit,
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
    /// PHY rate of this frame. Broadcasts go at the lowest basic rate whatever this says.
    pub rate: PhyRate,
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
    /// The sender left.
    Left,
    /// A broadcast collided; nobody acknowledges it and so it is not sent again.
    BroadcastCollision,
}

/// What a node's buffer holds, the frame in service included.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueState {
    /// Frames.
    pub packets: usize,
    /// Their MSDUs' bytes.
    pub bytes: Bytes,
}

/// What happened at one node since it joined.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Accesses to the medium.
    pub attempts: u64,
    /// Accesses that delivered.
    pub successes: u64,
    /// Accesses that ended in a collision.
    pub collisions: u64,
    /// Accesses that failed without collision.
    pub losses: u64,
    /// Frames dropped at a retry limit.
    pub retry_drops: u64,
    /// Frames that found the buffer full.
    pub buffer_drops: u64,
    /// Medium time of its accesses, failed ones included: RTS, CTS, DATA, ACK and SIFS.
    pub airtime: Airtime,
}

/// What the medium was used for. The three spans add up to the time since [`Instant::ZERO`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Frames, and the gaps inside of exchanges.
    pub busy: Span,
    /// Silence while some node had a frame to send: inter-frame spaces, back-off, timeouts.
    pub contending: Span,
    /// Silence with nothing to send.
    pub idle: Span,
    /// Transmissions: times that the medium became busy.
    pub transmissions: u64,
    /// Those in which two or more nodes sent at once.
    pub collisions: u64,
}
