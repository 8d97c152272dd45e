//! The balance of all packets.

use serde::{Deserialize, Serialize};
use tracing::info;

use super::Status;

/// What became of every packet that was taken from the bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketStatus {
    /// Taken: `taken + more_segments = ring_full + super_lost + too_long + pool_full + stale + received`, when the ring is empty.
    pub taken: u64,
    /// Segments that super-packets were cut into, beyond one each.
    #[serde(default)]
    pub more_segments: u64,
    /// Copies of packets that the bridge carried, taken while observing. They count in the sum above as the taken do.
    #[serde(default)]
    pub copied: u64,
    /// Copies that the manager has let go; they end there.
    #[serde(default)]
    pub copies_done: u64,
    /// Lost: the receive ring was full.
    pub ring_full: u64,
    /// Lost: super-packets that the kernel had no memory for.
    #[serde(default)]
    pub super_lost: u64,
    /// Lost: longer than the interface allows, or broken.
    pub too_long: u64,
    /// Lost: the pool was full.
    pub pool_full: u64,
    /// Dropped: out of date, since the bridge took over under the box, which was stopped or hung.
    #[serde(default)]
    pub stale: u64,
    /// Handed to the manager: `released + dropped_queue_full + dropped_ack_superseded + dropped_sender_ahead +
    /// dropped_standing_queue + dropped_uplink_limit + dropped_too_old + held`.
    pub received: u64,
    /// Released by the manager: `sent + send_refused + sending + copies_done + stale_released`.
    pub released: u64,
    /// Dropped: out of date when it was released.
    #[serde(default)]
    pub stale_released: u64,
    /// Dropped by the manager: the queue was full.
    pub dropped_queue_full: u64,
    /// Dropped by the manager: a later ACK says all that it said.
    pub dropped_ack_superseded: u64,
    /// Dropped by the manager: an upload is far ahead of what it is released, and its sender is to slow down.
    pub dropped_sender_ahead: u64,
    /// Dropped by the manager: the head of a standing queue.
    pub dropped_standing_queue: u64,
    /// Dropped by the manager: uploads came faster than their limit.
    #[serde(default)]
    pub dropped_uplink_limit: u64,
    /// Dropped by the manager: held for more than a second.
    #[serde(default)]
    pub dropped_too_old: u64,
    /// Among the released: marked "congestion experienced".
    pub marked: u64,
    /// Among the released: with a lowered TCP window.
    #[serde(default)]
    pub windows_lowered: u64,
    /// Among the released: ACKs that were held for the control at the receiver.
    #[serde(default)]
    pub acks_delayed: u64,
    /// Among the released: of admitted calls, past what waits.
    #[serde(default)]
    pub calls_packets: u64,
    /// Claims of addresses that others use; no packets.
    #[serde(default)]
    pub addresses_contested: u64,
    /// Calls that were admitted so far; no packets.
    #[serde(default)]
    pub calls_admitted: u64,
    /// Calls that were refused so far; no packets.
    #[serde(default)]
    pub calls_refused: u64,
    /// Calls that roamed to a medium where they are too many, and go on all the same.
    #[serde(default)]
    pub calls_over_limit: u64,
    /// Calls that have ended so far, admitted or not; no packets.
    #[serde(default)]
    pub calls_ended: u64,
    /// Among the released: what keeps the network together (ARP, neighbour discovery, DHCP, 802.1X), never held.
    pub control: u64,
    /// Among the released: to groups, never held.
    pub groups: u64,
    /// In the manager's queues.
    pub held: u64,
    /// Sent.
    pub sent: u64,
    /// Lost: the kernel refused to send it.
    pub send_refused: u64,
    /// Released, and waiting for the kernel to take it.
    pub sending: u64,
    /// The sums above are right. While the box carries the traffic, packets that are in the rings right now count as
    /// `taken` only: then `taken` may be larger than its sum by as many as the rings hold, and smaller by those that the
    /// processors are handling right now. When the bridge carries the traffic, the rings are empty and the sum is exact.
    pub conserved: bool,
}

impl PacketStatus {
    /// Lost by the box: for want of room, too long, out of date, or refused by the kernel.
    pub const fn lost(&self) -> u64 {
        self.ring_full
            + self.super_lost
            + self.too_long
            + self.pool_full
            + self.stale
            + self.stale_released
            + self.send_refused
    }

    /// Dropped by the manager, for whatever reason.
    pub const fn dropped(&self) -> u64 {
        self.dropped_queue_full
            + self.dropped_ack_superseded
            + self.dropped_sender_ahead
            + self.dropped_standing_queue
            + self.dropped_uplink_limit
            + self.dropped_too_old
    }
}

impl Status {
    /// Logs what became of every packet, at the end.
    pub(crate) fn log_balance(&self) {
        let p = &self.packets;
        info!(
            "ended: taken {} + cut from super-packets {} = ring full {} + super-packets lost {} + too long {} + pool full {} + out of date {} + received {}; released {} + \
             dropped {} + held {}; sent {} + refused {} + sending {} + out of date {}; {}",
            p.taken,
            p.more_segments,
            p.ring_full,
            p.super_lost,
            p.too_long,
            p.pool_full,
            p.stale,
            p.received,
            p.released,
            p.dropped(),
            p.held,
            p.sent,
            p.send_refused,
            p.sending,
            p.stale_released,
            if p.conserved { "every packet is accounted for" } else { "THE SUMS DO NOT AGREE" }
        );
    }
}
