//! Ports, memory, lease and loop of the box.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causes::{self, Losses};

/// One side of the box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortStatus {
    /// The interface.
    pub interface: String,
    /// How packets come in: "af-packet", or "af-xdp" with where ("native", in the driver, or "generic") and how ("zero copy" or
    /// "copied").
    #[serde(default)]
    pub io: String,
    /// Why so, where the configuration leaves it to the box ("auto: ..."); else why not otherwise, where that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_why: Option<String>,
    /// Packets taken from the bridge here.
    pub taken: u64,
    /// Merged by the kernel, or left to the network card to split.
    pub super_packets: u64,
    /// Sent here.
    pub sent: u64,
    /// Bytes sent here, Ethernet headers included.
    pub sent_bytes: u64,
    /// Lost here, by reason; each under its own key.
    #[serde(flatten, with = "causes::flat")]
    #[schemars(with = "causes::AllCounts<causes::LossReason>")]
    pub losses: Losses,
}

/// Memory for packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolStatus {
    /// Frames in use.
    pub used: usize,
    /// The most ever in use.
    pub peak: usize,
    /// All frames.
    pub size: usize,
}

/// The fail-open lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldStatus {
    /// How often it ran out because the loop was late, so that packets went past the box.
    pub lapses: u64,
}

/// How punctual the loop is: the lateness of the manager's deadlines, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacingStatus {
    /// Deadlines met so far.
    pub deadlines: u64,
    /// Half of them were not later than this (a power of two).
    pub p50_us: u64,
    /// 99 of 100 were not later than this (a power of two).
    pub p99_us: u64,
    /// The latest.
    pub max_us: u64,
}

/// A recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingStatus {
    /// The file.
    pub file: String,
    /// Bytes recorded.
    pub bytes: u64,
    /// Length and digest of the manager's decisions; a replay of the file must come to the same.
    pub digest: String,
    /// Why it stopped, where it did. The traffic went on.
    pub stopped: Option<String>,
}

/// One of several packet loops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShardStatus {
    /// The contention domains that it owns.
    pub domains: Vec<String>,
    /// CPU time of its thread, in seconds.
    pub cpu_s: f64,
    /// Packets taken from the bridge.
    pub taken: u64,
    /// Packets handed to its manager.
    pub received: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets in its manager's queues.
    pub held: u64,
    /// Packets lost: its rings or its memory were full, too long, out of date, refused by the kernel, dropped by its manager.
    pub lost: u64,
    /// Frames of its memory in use.
    pub pool_used: usize,
    /// How often the lease expired because the loop was late.
    pub lapses: u64,
    /// Its own balance is right.
    pub conserved: bool,
}

/// Whether the bridge can carry the traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailOpenStatus {
    /// It can: the traffic goes on if the box dies, hangs or is bypassed.
    pub available: bool,
    /// Why it cannot, and where there is one, the command that mends it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}
