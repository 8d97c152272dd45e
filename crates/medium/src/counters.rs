//! What is counted: frames and airtime of each node, and what a medium was used for.

use core::iter::Sum;
use core::ops::{Add, Sub};

use evenair_units::{Airtime, Bytes, Span};

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
    /// MPDUs sent by a node that aggregates, those in A-MPDUs one by one.
    pub mpdus: u64,
    /// Those of them that had been sent before.
    pub repeated_mpdus: u64,
    /// BlockAckReq frames sent; they are attempts, too.
    pub block_ack_requests: u64,
    /// Times that a receiver of its frames gave up to wait for a missing one.
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
            mpdus: self.mpdus - base.mpdus,
            repeated_mpdus: self.repeated_mpdus - base.repeated_mpdus,
            block_ack_requests: self.block_ack_requests - base.block_ack_requests,
            reorder_timeouts: self.reorder_timeouts - base.reorder_timeouts,
            measured: self.measured - base.measured,
            airtime: Airtime(self.airtime.0 - base.airtime.0),
        }
    }
}

/// What the medium was used for. The three spans add up to the time since [`evenair_units::Instant::ZERO`].
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
    /// Overhead: what of it was for no packet for or from a single station.
    pub overhead: OverheadAirtime,
    /// Airtime of all nodes; that of exchanges under way up to the last [`crate::Medium::split_airtime`].
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
            overhead: self.overhead - base.overhead,
            measured: self.measured - base.measured,
        }
    }
}

/// What was spent on frames that are no packet for or from a single station. It is part of nodes' airtime, too.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OverheadAirtime {
    /// Beacons, and what stations say of their sleep.
    pub management: Airtime,
    /// Packets to groups.
    pub groups: Airtime,
    /// Overlapping BSS, failed attempts included.
    pub obss: Airtime,
}

/// What was spent since the other account was taken.
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

/// Measured airtime of a node. That of a station is what it sent and what it received: uplink and downlink frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MeasuredAirtime {
    /// Exchanges with frames from the node, their answers and inter-frame spaces included.
    pub sent: Span,
    /// The same of frames from other nodes to this one alone.
    pub received: Span,
    /// Of `sent`, frames for all nodes: beacons and group frames.
    pub groups: Span,
    /// Of `sent`, its part of time in which several exchanges were under way.
    pub sent_collided: Span,
    /// The same of `received`.
    pub received_collided: Span,
}

impl MeasuredAirtime {
    /// Its part of time in which several exchanges were under way, both ways.
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

/// What was measured since the other account was taken.
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

/// Measured airtime of all nodes of a medium. What they sent, back-off and idle add up to the time:
/// `sent + (contending - contending_spaces) + (idle - idle_spaces)`, with the spans of [`crate::Totals`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MeasuredTotals {
    /// All exchanges, with their inter-frame spaces.
    pub sent: Span,
    /// Of it, frames for all nodes: beacons and group frames.
    pub groups: Span,
    /// Of it, networks of others, whose group frames there are none of.
    pub neighbours: Span,
    /// Of it, time in which several exchanges were under way, whose senders share it.
    pub collisions: Span,
    /// Inter-frame spaces, as far as they are part of [`crate::Totals::contending`].
    pub contending_spaces: Span,
    /// Inter-frame spaces, as far as they are part of [`crate::Totals::idle`].
    pub idle_spaces: Span,
}

/// What was measured since the other account was taken.
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
