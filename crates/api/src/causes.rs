//! Causes of loss in the box, and the notation of counters by cause in the box's status, its history, and in results.
//!
//! They are in this crate because the testbed reads them too, which knows the box only from its control socket.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

pub use evenair_units::causes::{Cause, Counts, DropReason, Drops};
pub use evenair_units::counters::{Counted, Counter, StationCounted, StationCounter};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};

evenair_units::causes! {
    /// Why the box lost a packet without the manager's decision.
    ///
    /// To add a reason, add a line here, at the end, with its [`remedy`](Self::remedy), and count it at the port where it
    /// happens (`port.rs` of the box): two files. The status, the metrics, the history, `evenair status --all`,
    /// `evenair doctor`, results and reports iterate over [`Cause::ALL`].
    pub enum LossReason {
        RingFull: "ring_full", "ring full",
            "The receive ring was full.";
        SuperLost: "super_lost", "super-packet lost",
            "The kernel had no memory for a super-packet.";
        TooLong: "too_long", "too long",
            "It was longer than the interface allows, or malformed.";
        PoolFull: "pool_full", "pool full",
            "The box's packet memory was full.";
        LinkLocal: "link_local", "link-local group",
            "It was addressed to a group 01:80:c2:00:00:0x that the bridge does not forward either.";
        Stale: "stale", "out of date",
            "It was out of date when the box, stopped or late, read it: the bridge had taken over.";
        StaleReleased: "stale_released", "out of date when released",
            "It was out of date when its turn to be sent came: the bridge had taken over.";
        SendRefused: "send_refused", "send refused",
            "The kernel refused to send it: the interface's queue was full, it was down, or the frame too long for it.";
    }
}

/// Packets that the box lost, by reason.
pub type Losses = Counts<LossReason, { LossReason::ALL.len() }>;

impl LossReason {
    /// Whether the manager had released the packet before it was lost; otherwise the manager never received it.
    pub const fn is_after_release(self) -> bool {
        match self {
            Self::RingFull | Self::SuperLost | Self::TooLong | Self::PoolFull | Self::LinkLocal | Self::Stale => false,
            Self::StaleReleased | Self::SendRefused => true,
        }
    }

    /// The operator's remedy.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::RingFull => {
                "the box does not read its ports fast enough: give it a CPU core of its own, more of them ([shards]), or \
                 AF_XDP ([ports] io = \"af-xdp\"); against short bursts, raise [ports] ring_packets"
            }
            Self::SuperLost => {
                "turn segmentation offload off where the super-packets come from: ip link set NAME gso_max_segs 1"
            }
            Self::TooLong => "give both ports and what is attached to them the same MTU: ip link set NAME mtu N",
            Self::LinkLocal => {
                "nothing is wrong, unless these frames (STP, LACP, 802.1X, LLDP) are to cross the box: then let the bridge forward them, \
                 ip link set BRIDGE type bridge group_fwd_mask 0xfff8"
            }
            Self::PoolFull => "raise [ports] pool_frames",
            Self::Stale | Self::StaleReleased => {
                "the box was stopped, or did not run for 50 ms: see its log, and give it a CPU core of its own; on a \
                 virtual machine, one that is not shared"
            }
            Self::SendRefused => {
                "see the log for the kernel's error; check that the ports are up and have the same MTU, and raise the \
                 length of their queues: ip link set NAME txqueuelen 1000"
            }
        }
    }
}

/// Number of lost packets, by whether the manager had released them.
pub fn lost(losses: &Losses, after_release: bool) -> u64 {
    losses.iter().filter(|(reason, _)| reason.is_after_release() == after_release).map(|(_, packets)| packets).sum()
}

/// Texts about drops and losses: a line for packets that the manager dropped and one for lost packets, each with the causes
/// that occurred; no line if there were none.
pub fn in_lines(drops: &Drops, losses: &Losses) -> Vec<String> {
    let dropped = (!drops.is_zero()).then(|| format!("dropped: {drops}"));
    let lost = (!losses.is_zero()).then(|| format!("LOST IN THE BOX: {losses}"));
    dropped.into_iter().chain(lost).collect()
}

/// Counts written beside other keys, each under its own key, for `#[serde(flatten, with = "causes::flat")]`. A missing key
/// is a count of zero.
pub mod flat {
    use super::*;

    /// Writes every count.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<C: Cause, S: Serializer, const N: usize>(counts: &Counts<C, N>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(N))?;
        for (cause, packets) in counts.iter() {
            map.serialize_entry(cause.key(), &packets)?;
        }
        map.end()
    }

    /// Reads the counts present.
    ///
    /// # Errors
    /// If a count is no whole number.
    pub fn deserialize<'de, C: Cause, D: Deserializer<'de>, const N: usize>(from: D) -> Result<Counts<C, N>, D::Error> {
        from.deserialize_map(ByKey(PhantomData))
    }
}

/// Counts written as a table of those that are not zero, for `#[serde(with = "causes::nonzero")]`.
pub mod nonzero {
    use super::*;

    pub use super::flat::deserialize;

    /// Writes the counts that are not zero.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<C: Cause, S: Serializer, const N: usize>(counts: &Counts<C, N>, to: S) -> Result<S::Ok, S::Error> {
        let counted = counts.iter().filter(|(_, packets)| *packets > 0);
        to.collect_map(counted.map(|(cause, packets)| (cause.key(), packets)))
    }
}

/// Schema of a complete set of counts.
pub(crate) struct AllCounts<C>(PhantomData<C>);

/// Schema of a set of counts without zeros.
pub(crate) struct SomeCounts<C>(PhantomData<C>);

impl<C: Cause> JsonSchema for AllCounts<C> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        std::any::type_name::<Self>().into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let keys: Vec<_> = C::ALL.iter().map(|cause| cause.key()).collect();
        json_schema!({ "type": "object", "properties": count_schemas::<C>(), "required": keys })
    }
}

impl<C: Cause> JsonSchema for SomeCounts<C> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        std::any::type_name::<Self>().into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "properties": count_schemas::<C>() })
    }
}

/// Schema of each count, by key.
fn count_schemas<C: Cause>() -> BTreeMap<&'static str, Schema> {
    let count = |help| json_schema!({ "type": "integer", "format": "uint64", "minimum": 0, "description": help });
    C::ALL.iter().map(|cause| (cause.key(), count(format!("Packets: {}", cause.help())))).collect()
}

struct ByKey<C, const N: usize>(PhantomData<C>);

impl<'de, C: Cause, const N: usize> Visitor<'de> for ByKey<C, N> {
    type Value = Counts<C, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counts by cause")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut counts = Counts::default();
        while let Some(key) = map.next_key::<String>()? {
            match C::ALL.iter().find(|cause| cause.key() == key) {
                Some(&cause) => counts[cause] = map.next_value()?,
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Both {
        sent: u64,
        #[serde(flatten, with = "flat")]
        drops: Drops,
        #[serde(flatten, with = "flat")]
        losses: Losses,
        #[serde(with = "nonzero", skip_serializing_if = "Counts::is_zero")]
        lately: Losses,
        mode: String,
    }

    #[test]
    fn counts_are_read_back_as_written() {
        let mut both = Both { sent: u64::MAX, mode: "inserted".into(), ..Both::default() };
        for (number, &reason) in DropReason::ALL.iter().enumerate() {
            both.drops[reason] = u64::MAX - number as u64;
        }
        for (number, &reason) in LossReason::ALL.iter().enumerate() {
            both.losses[reason] = number as u64;
        }
        both.lately[LossReason::PoolFull] = 7;
        let text = serde_json::to_string(&both).expect("serialises");
        for reason in LossReason::ALL {
            assert!(text.contains(&format!("\"{}\":{}", reason.key(), both.losses[*reason])), "{text}");
        }
        assert!(text.contains(r#""lately":{"pool_full":7}"#), "{text}");
        assert_eq!(serde_json::from_str::<Both>(&text).expect("reads"), both);
    }

    #[test]
    fn missing_counts_are_zero_and_unknown_ones_are_skipped() {
        let text = r#"{"sent": 1, "ring_full": 2, "frozen": {"a": [3]}, "lately": {"melted": 4}}"#;
        let read: Both = serde_json::from_str(text).expect("reads");
        let mut wanted = Both { sent: 1, ..Both::default() };
        wanted.losses[LossReason::RingFull] = 2;
        assert_eq!(read, wanted);
        assert!(serde_json::from_str::<Both>(r#"{"ring_full": "two"}"#).is_err());
    }

    #[test]
    fn no_two_causes_share_a_key_or_a_word() {
        let of = |name: fn(&LossReason) -> &'static str, other: fn(&DropReason) -> &'static str| {
            LossReason::ALL.iter().map(name).chain(DropReason::ALL.iter().map(other)).collect::<BTreeSet<_>>().len()
        };
        let all = LossReason::ALL.len() + DropReason::ALL.len();
        assert_eq!(of(|cause| cause.key(), |cause| cause.key()), all);
        assert_eq!(of(|cause| cause.word(), |cause| cause.word()), all);
        for (number, reason) in LossReason::ALL.iter().enumerate() {
            assert!(reason.index() == number && reason.help().ends_with('.') && !reason.remedy().is_empty());
        }
    }

    #[test]
    fn a_loss_is_before_or_after_the_manager() {
        let mut losses = Losses::default();
        losses[LossReason::RingFull] = 3;
        losses[LossReason::SendRefused] = 4;
        assert_eq!((lost(&losses, false), lost(&losses, true)), (3, 4));
    }

    #[test]
    fn every_cause_is_shown_in_words_when_it_occurred() {
        assert!(in_lines(&Drops::default(), &Losses::default()).is_empty());
        let mut drops = Drops::default();
        let mut losses = Losses::default();
        for (number, &reason) in DropReason::ALL.iter().enumerate() {
            drops[reason] = 1000 + number as u64;
        }
        for (number, &reason) in LossReason::ALL.iter().enumerate() {
            losses[reason] = 2000 + number as u64;
        }
        let [dropped, lost] = &*in_lines(&drops, &losses) else { panic!("two lines") };
        assert!(dropped.starts_with("dropped: ") && lost.starts_with("LOST IN THE BOX: "), "{dropped} {lost}");
        for (reason, packets) in drops.iter() {
            assert!(dropped.contains(&format!("{} {packets}", reason.word())), "{dropped}");
        }
        for (reason, packets) in losses.iter() {
            assert!(lost.contains(&format!("{} {packets}", reason.word())), "{lost}");
        }
    }
}
