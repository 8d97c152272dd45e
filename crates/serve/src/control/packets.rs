//! The packet balance in the status.

use evenair_api::PacketStatus;
use tracing::info;

/// Logs the fate of all packets, at the end.
pub(crate) fn log_balance(packets: &PacketStatus) {
    info!("ended: {}", balance(packets));
}

fn balance(packets: &PacketStatus) -> String {
    let PacketStatus { taken, more_segments, received, released, drops, held, losses, sent, sending, .. } = packets;
    let PacketStatus { probes, probe_answers, .. } = packets;
    format!(
        "taken {taken} + cut from super-packets {more_segments}; received {received} = released {released} + dropped {} + held {held} \
         + answers to probes {probe_answers}; probes {probes}; \
         sent {sent}, sending {sending}; dropped: {drops}; lost: {losses}; {}",
        packets.dropped(),
        if packets.conserved { "every packet is accounted for" } else { "THE SUMS DO NOT AGREE" }
    )
}

#[cfg(test)]
mod tests {
    use evenair_api::PortStatus;
    use evenair_api::causes::{Cause, DropReason, LossReason};

    use super::*;

    /// A status with one packet of this cause, and its form in JSON.
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
