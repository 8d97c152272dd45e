//! What goes into a medium and what comes out of it.

use core::iter::Sum;
use core::ops::Sub;

use evenair_units::{Airtime, Bytes, Instant, Limit, Span};
use evenair_wifi::{AccessCategory, EdcaSet, Phy, PhyRate, Preamble};

use crate::{Antenna, Besides, IdleSenseConfig, MeasuredAirtime, MeasuredTotals, RateControl, Reception};

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
    /// Bystanders wait EIFS and then DIFS; senders begin to count when the time of an answer is over. This is what ns-2
    /// does.
    EifsThenDifs,
}

/// One medium's rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediumConfig {
    /// Times, rates and contention windows.
    pub phy: Phy,
    /// An MSDU of more than this many bytes is sent after RTS and CTS; `None`: never.
    pub rts_threshold: Option<Bytes>,
    /// With 802.11g: each frame comes after a CTS of 802.11b to the sender itself, with this preamble, for the sake of
    /// stations that would not hear it else ([`Phy::protection`]). Not beside RTS, which would say the same.
    pub protection: Option<Preamble>,
    /// Attempts that may end without CTS, or without ACK where no RTS was sent, before a frame is dropped. Usually 7.
    pub short_retry_limit: u32,
    /// Attempts that may end without ACK after RTS and CTS before a frame is dropped. Usually 4.
    pub long_retry_limit: u32,
    /// What bystanders of a collision wait.
    pub after_collision: AfterCollision,
    /// A node takes the medium for idle between a frame to it and the ACK that it is about to send: what it has to send
    /// from then on, having had nothing and no back-off to count, follows its ACK after DIFS or AIFS without back-off. A
    /// deviation of ns-3; by the standard the medium has not been idle for DIFS (10.3.4.2). Only where all hear all.
    pub idle_before_ack: bool,
    /// What is received of what is sent.
    pub reception: Reception,
    /// How senders choose their rates.
    pub rate_control: RateControl,
    /// What nodes with [`BackOff::IdleSense`] aim at.
    pub idle_sense: IdleSenseConfig,
}

impl MediumConfig {
    /// The standard's rules, without RTS: nothing is lost but by collision, and rates are those that frames bring.
    pub fn new(phy: Phy) -> Self {
        Self {
            phy,
            rts_threshold: None,
            protection: None,
            short_retry_limit: 7,
            long_retry_limit: 4,
            after_collision: AfterCollision::Eifs,
            idle_before_ack: false,
            reception: Reception::default(),
            rate_control: RateControl::Fixed,
            idle_sense: IdleSenseConfig::default(),
        }
    }
}

/// Where the back-off of a node with DCF is drawn from.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BackOff {
    /// From the PHY's windows, doubled with each failure.
    #[default]
    Standard,
    /// From 0 to `slots` slots, whatever fails; with a probability of `more_per_billion`, from one slot more.
    Constant {
        /// The window.
        slots: u32,
        /// Makes windows that are no whole number in the mean.
        more_per_billion: u32,
    },
    /// From a window that keeps the mean number of idle slots between transmissions at [`MediumConfig::idle_sense`],
    /// whatever fails. Only where all hear all.
    IdleSense,
}

/// What is particular to one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeConfig {
    /// Drop-tail buffer, with EDCA one for each category; bytes are those of MSDUs (IP packets), and the frame in
    /// service counts.
    pub buffer: Limit,
    /// The parameters of its categories; `None`: it has DCF, with the PHY's contention windows.
    pub edca: Option<EdcaSet>,
    /// Where its back-off is drawn from with DCF.
    pub back_off: BackOff,
    /// Its place and power, where these matter.
    pub antenna: Option<Antenna>,
}

impl NodeConfig {
    /// A node with DCF.
    pub const fn dcf(buffer: Limit) -> Self {
        Self { buffer, edca: None, back_off: BackOff::Standard, antenna: None }
    }

    /// A node with EDCA, with a buffer like this for each category.
    pub const fn edca(buffer: Limit, set: EdcaSet) -> Self {
        Self { buffer, edca: Some(set), back_off: BackOff::Standard, antenna: None }
    }
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

impl Sum for QueueState {
    fn sum<I: Iterator<Item = Self>>(queues: I) -> Self {
        queues.fold(Self::default(), |a, b| Self { packets: a.packets + b.packets, bytes: a.bytes + b.bytes })
    }
}

/// What happened at one node, or at one of its access functions, since it joined. What every access counts comes first,
/// to lie together in memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct Counters {
    /// Frames sent, or RTS for them: with DCF one for each access to the medium, in a TXOP several.
    pub attempts: u64,
    /// Attempts that delivered.
    pub successes: u64,
    /// Medium time of its attempts, failed ones included: RTS, CTS, DATA, ACK and SIFS between them.
    pub airtime: Airtime,
    /// Attempts that ended in a collision.
    pub collisions: u64,
    /// Attempts that failed without collision.
    pub losses: u64,
    /// Attempts that failed right after another attempt of the same frame had failed.
    pub repeated_failures: u64,
    /// Attempts that repeated a frame which had been received: its ACK was not.
    pub duplicates: u64,
    /// Attempts with DATA at a lower rate than the frame brought.
    pub slowed: u64,
    /// Times that a category of higher priority of the same node was to send at the same instant. These are no attempts.
    pub internal_collisions: u64,
    /// Frames dropped at a retry limit.
    pub retry_drops: u64,
    /// Frames that found the buffer full.
    pub buffer_drops: u64,
    /// Time in which the medium was taken by its frames and by frames to it. Of an access function: by its frames, and at
    /// the node's first one by all frames to the node.
    pub measured: MeasuredAirtime,
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Self>>(counters: I) -> Self {
        counters.fold(Self::default(), |a, b| Self {
            attempts: a.attempts + b.attempts,
            successes: a.successes + b.successes,
            collisions: a.collisions + b.collisions,
            losses: a.losses + b.losses,
            repeated_failures: a.repeated_failures + b.repeated_failures,
            duplicates: a.duplicates + b.duplicates,
            slowed: a.slowed + b.slowed,
            internal_collisions: a.internal_collisions + b.internal_collisions,
            retry_drops: a.retry_drops + b.retry_drops,
            buffer_drops: a.buffer_drops + b.buffer_drops,
            measured: a.measured + b.measured,
            airtime: a.airtime + b.airtime,
        })
    }
}

/// What happened since the other count was taken.
impl Sub for Counters {
    type Output = Self;
    fn sub(self, base: Self) -> Self {
        Self {
            attempts: self.attempts - base.attempts,
            successes: self.successes - base.successes,
            collisions: self.collisions - base.collisions,
            losses: self.losses - base.losses,
            repeated_failures: self.repeated_failures - base.repeated_failures,
            duplicates: self.duplicates - base.duplicates,
            slowed: self.slowed - base.slowed,
            internal_collisions: self.internal_collisions - base.internal_collisions,
            retry_drops: self.retry_drops - base.retry_drops,
            buffer_drops: self.buffer_drops - base.buffer_drops,
            measured: self.measured - base.measured,
            airtime: Airtime(self.airtime.0 - base.airtime.0),
        }
    }
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
    /// Accesses: times that the medium became busy.
    pub transmissions: u64,
    /// Those in which two or more nodes sent at once.
    pub collisions: u64,
    /// What of it was for no packet for or from a single station.
    pub besides: Besides,
    /// Airtime of all nodes; that of exchanges under way up to the last [`crate::Medium::settle_airtime`].
    pub measured: MeasuredTotals,
}

/// What happened since the other account was taken.
impl Sub for Totals {
    type Output = Self;
    fn sub(self, base: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(base.busy),
            contending: self.contending.saturating_sub(base.contending),
            idle: self.idle.saturating_sub(base.idle),
            transmissions: self.transmissions - base.transmissions,
            collisions: self.collisions - base.collisions,
            besides: self.besides - base.besides,
            measured: self.measured - base.measured,
        }
    }
}
