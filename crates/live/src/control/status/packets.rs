//! The packet balance in the status.

use evenair_api::causes::{self, Drops, Losses};
use serde::{Deserialize, Serialize};
use tracing::info;

use super::Status;

/// What became of every packet that was taken from the bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketStatus {
    /// Taken: `taken + copied + more_segments = received`, and what was lost before the manager got it, when the ring is empty.
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
    /// Lost by the box, by reason; each under its own key.
    #[serde(flatten, with = "causes::flat")]
    pub losses: Losses,
    /// Handed to the manager: `released + dropped() + held`.
    pub received: u64,
    /// Released by the manager: `sent + sending + copies_done`, and what was lost after it was released.
    pub released: u64,
    /// Dropped by the manager, by reason; each under its own key.
    #[serde(flatten, with = "causes::flat")]
    pub drops: Drops,
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
    /// Released, and waiting for the kernel to take it.
    pub sending: u64,
    /// The sums above are right. While the box carries the traffic, packets that are in the rings right now count as
    /// `taken` only: then `taken` may be larger than its sum by as many as the rings hold, and smaller by those that the
    /// processors are handling right now. When the bridge carries the traffic, the rings are empty and the sum is exact.
    pub conserved: bool,
}

impl PacketStatus {
    /// Lost by the box, for any reason.
    pub fn lost(&self) -> u64 {
        self.losses.total()
    }

    /// Dropped by the manager, for any reason.
    pub fn dropped(&self) -> u64 {
        self.drops.total()
    }
}

impl Status {
    /// Logs what became of every packet, at the end.
    pub(crate) fn log_balance(&self) {
        info!("ended: {}", balance(&self.packets));
    }
}

fn balance(packets: &PacketStatus) -> String {
    let PacketStatus { taken, more_segments, received, released, drops, held, losses, sent, sending, .. } = packets;
    format!(
        "taken {taken} + cut from super-packets {more_segments}; received {received} = released {released} + dropped {} + held {held}; \
         sent {sent}, sending {sending}; dropped: {drops}; lost: {losses}; {}",
        packets.dropped(),
        if packets.conserved { "every packet is accounted for" } else { "THE SUMS DO NOT AGREE" }
    )
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::{Cause, DropReason, LossReason};

    use super::super::PortStatus;
    use super::*;

    /// A status with one packet of this cause, and what it looks like in JSON.
    fn one<C: Cause>(count: impl Fn(&mut PacketStatus, C), cause: C) -> (PacketStatus, serde_json::Value) {
        let mut packets = PacketStatus::default();
        count(&mut packets, cause);
        let json = serde_json::to_value(&packets).expect("serialises");
        assert_eq!(serde_json::from_value::<PacketStatus>(json.clone()).expect("reads"), packets);
        (packets, json)
    }

    #[test]
    fn every_cause_has_a_key_and_is_in_the_log() {
        for &reason in DropReason::ALL {
            let (packets, json) = one(|packets, reason: DropReason| packets.drops[reason] += 1, reason);
            assert_eq!((&json[reason.key()], packets.dropped(), packets.lost()), (&1.into(), 1, 0), "{json}");
            assert!(balance(&packets).contains(&format!("dropped: {} 1; lost: none", reason.word())));
        }
        for &reason in LossReason::ALL {
            let (packets, json) = one(|packets, reason: LossReason| packets.losses[reason] += 1, reason);
            assert_eq!((&json[reason.key()], packets.dropped(), packets.lost()), (&1.into(), 0, 1), "{json}");
            assert!(balance(&packets).contains(&format!("dropped: none; lost: {} 1", reason.word())));
            let port = PortStatus { losses: packets.losses, ..PortStatus::default() };
            assert_eq!(serde_json::to_value(&port).expect("serialises")[reason.key()], 1);
        }
    }

    #[test]
    fn a_status_of_an_older_box_is_read() {
        let text = r#"{"taken": 9, "ring_full": 1, "too_long": 2, "pool_full": 3, "received": 3, "released": 3,
            "dropped_queue_full": 4, "dropped_ack_superseded": 5, "dropped_sender_ahead": 6, "dropped_standing_queue": 7,
            "marked": 0, "control": 0, "groups": 0, "held": 0, "sent": 3, "send_refused": 8, "sending": 0,
            "conserved": true}"#;
        let packets: PacketStatus = serde_json::from_str(text).expect("reads");
        assert_eq!((packets.lost(), packets.dropped(), packets.sent), (1 + 2 + 3 + 8, 4 + 5 + 6 + 7, 3));
    }
}
