//! Packet counters and their balance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causes::{self, Counted, Drops, Losses};

/// What became of every packet that was taken from the bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketStatus {
    /// Taken: `taken + copied + more_segments = received`, and what was lost before the manager got it, when the ring is empty.
    pub taken: u64,
    /// Segments that super-packets were cut into, beyond one each.
    #[serde(default)]
    pub more_segments: u64,
    /// Copies of packets that the bridge carried, taken while bypassed or observing. They count in the sum above as the taken do.
    #[serde(default)]
    pub copied: u64,
    /// Copies that the manager has let go; they end there.
    #[serde(default)]
    pub copies_done: u64,
    /// Lost by the box, by reason; each under its own key.
    #[serde(flatten, with = "causes::flat")]
    #[schemars(with = "causes::AllCounts<causes::LossReason>")]
    pub losses: Losses,
    /// Handed to the manager: `released + dropped() + probe_answers + held`.
    pub received: u64,
    /// Released by the manager: with `probes`, `sent + sending + copies_done`, and what was lost after it was released.
    pub released: u64,
    /// Dropped by the manager, by reason; each under its own key.
    #[serde(flatten, with = "causes::flat")]
    #[schemars(with = "causes::AllCounts<causes::DropReason>")]
    pub drops: Drops,
    /// What else the manager counted; each under its own key.
    #[serde(flatten, with = "causes::flat")]
    #[schemars(with = "causes::AllCounts<causes::Counter>")]
    pub counted: Counted,
    /// Bytes at IP level that were handed to the manager.
    #[serde(default)]
    pub received_bytes: u64,
    /// Of them, those of packets that it cannot read: neither IP nor control, or tunnels of an unknown or encrypted kind.
    #[serde(default)]
    pub unread_bytes: u64,
    /// Probes that the box has sent, or queued to be sent; it made them itself.
    #[serde(default)]
    pub probes: u64,
    /// Answers to probes; they end at the box.
    #[serde(default)]
    pub probe_answers: u64,
    /// In the manager's queues.
    pub held: u64,
    /// Sent.
    pub sent: u64,
    /// Released, and waiting for the kernel to take it.
    pub sending: u64,
    /// The sums above are right. While the box carries the traffic, packets that are in the rings right now count as
    /// `taken` only: then `taken` may be larger than its sum by as many as the rings hold, and smaller by those that the
    /// processors are handling right now. When the bridge carries the traffic, the rings are empty and the sum is exact.
    pub conserved: bool,
}

impl PacketStatus {
    /// Packets that the box lost, for any reason.
    pub fn lost(&self) -> u64 {
        self.losses.total()
    }

    /// Packets that the manager dropped, for any reason.
    pub fn dropped(&self) -> u64 {
        self.drops.total()
    }

    /// The part of the traffic that cannot be read, by bytes, 0 to 1.
    pub fn unread(&self) -> f64 {
        if self.received_bytes == 0 { 0.0 } else { self.unread_bytes as f64 / self.received_bytes as f64 }
    }

    /// The balance in one line.
    pub fn in_short(&self) -> String {
        let (dropped, lost) = (self.dropped(), self.lost());
        let agrees = if self.conserved { "the sum agrees" } else { "THE SUM DOES NOT AGREE" };
        format!(
            "packets: {} taken, {} copied, {} sent, {dropped} dropped by the manager, {} held, {lost} lost; {agrees}",
            self.taken, self.copied, self.sent, self.held
        )
    }
}
