//! Counters of frames and airtime of each node, and of the use of a medium.

use core::iter::Sum;
use core::ops::{Add, Sub};

use evenair_units::{Airtime, Bytes, Span};

/// What a node's buffer holds, the frame in service included.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueState {
    /// Frames.
    pub packets: usize,
    /// Bytes of their MSDUs.
    pub bytes: Bytes,
}

impl Sum for QueueState {
    fn sum<I: Iterator<Item = Self>>(queues: I) -> Self {
        queues.fold(Self::default(), |a, b| Self { packets: a.packets + b.packets, bytes: a.bytes + b.bytes })
    }
}

/// Counters of one node, or of one of its EDCAFs, since it joined. The counters of every access come first, to be
/// adjacent in memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct Counters {
    /// Attempts to send a frame, with or without RTS: with DCF one per access, in a TXOP several.
    pub attempts: u64,
    /// Successful attempts: acknowledged, or received broadcasts.
    pub successes: u64,
    /// Airtime of its attempts, failed ones included: RTS, CTS, DATA, ACK and SIFS between them.
    pub airtime: Airtime,
    /// Attempts that ended in a collision.
    pub collisions: u64,
    /// Attempts that failed without a collision.
    pub losses: u64,
    /// Attempts that failed right after another attempt of the same frame had failed.
    pub repeated_failures: u64,
    /// Attempts that repeated a frame which had been received, since its ACK was lost.
    pub duplicates: u64,
    /// Attempts with DATA at a lower rate than the frame carried.
    pub slowed: u64,
    /// Internal collisions: a higher category of the same node sent at the same instant. Not counted as attempts.
    pub internal_collisions: u64,
    /// Frames dropped at the retry limit.
    pub retry_drops: u64,
    /// Frames dropped because the buffer was full.
    pub buffer_drops: u64,
    /// Measured airtime of frames from and to the node. Of an EDCAF: of its frames, and at the node's first EDCAF of all
    /// frames to the node.
    pub measured: MeasuredAirtime,
    /// MPDUs sent by a node that aggregates; each MPDU of an A-MPDU counts.
    pub mpdus: u64,
    /// MPDUs sent again.
    pub repeated_mpdus: u64,
    /// BlockAckReq frames sent; they count as attempts, too.
    pub block_ack_requests: u64,
    /// Reorder timeouts at receivers of its frames.
    pub reorder_timeouts: u64,
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
            mpdus: a.mpdus + b.mpdus,
            repeated_mpdus: a.repeated_mpdus + b.repeated_mpdus,
            block_ack_requests: a.block_ack_requests + b.block_ack_requests,
            reorder_timeouts: a.reorder_timeouts + b.reorder_timeouts,
            measured: a.measured + b.measured,
            airtime: a.airtime + b.airtime,
        })
    }
}

/// Counts since `base` was taken.
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
            mpdus: self.mpdus - base.mpdus,
            repeated_mpdus: self.repeated_mpdus - base.repeated_mpdus,
            block_ack_requests: self.block_ack_requests - base.block_ack_requests,
            reorder_timeouts: self.reorder_timeouts - base.reorder_timeouts,
            measured: self.measured - base.measured,
            airtime: Airtime(self.airtime.0 - base.airtime.0),
        }
    }
}

/// Use of a medium. `busy`, `contending` and `idle` add up to the time since [`evenair_units::Instant::ZERO`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Frames, and the gaps within exchanges.
    pub busy: Span,
    /// Silence while some node had a frame to send: inter-frame spaces, back-off, timeouts.
    pub contending: Span,
    /// Silence without a frame to send.
    pub idle: Span,
    /// Times that the medium became busy.
    pub transmissions: u64,
    /// Those of them in which two or more nodes sent at once.
    pub collisions: u64,
    /// Overhead airtime: frames other than packets from or to a single station.
    pub overhead: OverheadAirtime,
    /// Measured airtime of all nodes; for exchanges in progress up to the last [`crate::Medium::split_airtime`].
    pub measured: MeasuredTotals,
}

/// Use since `base` was taken.
impl Sub for Totals {
    type Output = Self;
    fn sub(self, base: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(base.busy),
            contending: self.contending.saturating_sub(base.contending),
            idle: self.idle.saturating_sub(base.idle),
            transmissions: self.transmissions - base.transmissions,
            collisions: self.collisions - base.collisions,
            overhead: self.overhead - base.overhead,
            measured: self.measured - base.measured,
        }
    }
}

/// Airtime of frames other than packets from or to a single station. It is part of the nodes' airtime, too.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OverheadAirtime {
    /// Beacons and null frames.
    pub management: Airtime,
    /// Packets to groups.
    pub groups: Airtime,
    /// Overlapping BSS, failed attempts included.
    pub obss: Airtime,
}

/// Airtime since `base` was taken.
impl Sub for OverheadAirtime {
    type Output = Self;
    fn sub(self, base: Self) -> Self {
        let since = |now: Airtime, base: Airtime| Airtime(now.0.saturating_sub(base.0));
        Self {
            management: since(self.management, base.management),
            groups: since(self.groups, base.groups),
            obss: since(self.obss, base.obss),
        }
    }
}

/// Measured airtime of a node. A station's is the sum of its uplink and downlink frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MeasuredAirtime {
    /// Exchanges with frames from the node, responses and inter-frame spaces included.
    pub sent: Span,
    /// Exchanges with unicast frames to the node.
    pub received: Span,
    /// Part of `sent` for frames to all nodes: beacons and group frames.
    pub groups: Span,
    /// Part of `sent` in which several exchanges overlapped: the node's share.
    pub sent_collided: Span,
    /// Part of `received` in which several exchanges overlapped.
    pub received_collided: Span,
}

impl MeasuredAirtime {
    /// Airtime in which several exchanges overlapped, both directions.
    pub fn collided(&self) -> Span {
        self.sent_collided + self.received_collided
    }
}

impl Add for MeasuredAirtime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            groups: self.groups + other.groups,
            sent_collided: self.sent_collided + other.sent_collided,
            received_collided: self.received_collided + other.received_collided,
        }
    }
}

/// Airtime since `base` was taken.
impl Sub for MeasuredAirtime {
    type Output = Self;
    fn sub(self, base: Self) -> Self {
        Self {
            sent: self.sent - base.sent,
            received: self.received - base.received,
            groups: self.groups - base.groups,
            sent_collided: self.sent_collided - base.sent_collided,
            received_collided: self.received_collided - base.received_collided,
        }
    }
}

/// Measured airtime of all nodes of a medium. Together with back-off and idle it adds up to the elapsed time: `sent +
/// (contending - contending_spaces) + (idle - idle_spaces)`, with the spans of [`crate::Totals`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MeasuredTotals {
    /// All exchanges, with their inter-frame spaces.
    pub sent: Span,
    /// Part of `sent` for frames to all nodes: beacons and group frames.
    pub groups: Span,
    /// Part of `sent` of overlapping BSS, which send no group frames.
    pub neighbours: Span,
    /// Part of `sent` in which several exchanges overlapped and shared the time.
    pub collisions: Span,
    /// Inter-frame spaces within [`crate::Totals::contending`].
    pub contending_spaces: Span,
    /// Inter-frame spaces within [`crate::Totals::idle`].
    pub idle_spaces: Span,
}

/// Airtime since `base` was taken.
impl Sub for MeasuredTotals {
    type Output = Self;
    fn sub(self, base: Self) -> Self {
        Self {
            sent: self.sent - base.sent,
            groups: self.groups - base.groups,
            neighbours: self.neighbours - base.neighbours,
            collisions: self.collisions - base.collisions,
            contending_spaces: self.contending_spaces - base.contending_spaces,
            idle_spaces: self.idle_spaces - base.idle_spaces,
        }
    }
}
