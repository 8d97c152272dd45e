//! Outcomes of single IP packets on the WLAN.

use evenair_units::{Bytes, Instant};
use evenair_wifi::PhyRate;
use evenair_workload::Direction;

/// An IP packet that was delivered or lost between an access point and a station. Instants are those of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// The station that it is to or from, by its number among the scenario's hosts.
    pub station: u32,
    /// The station's access point, by its number among the scenario's.
    pub access_point: u32,
    /// Direction: to the station or from it.
    pub direction: Direction,
    /// The application, by its number in the scenario; absent for the box's probes and their replies.
    pub app: Option<u32>,
    /// Number of the application's earlier packets in this direction at the sender's buffer; absent without an application.
    pub sequence: Option<u64>,
    /// Size of the IP packet.
    pub ip: Bytes,
    /// Arrival in the buffer of its sender: the access point or the station.
    pub enqueued: Instant,
    /// Start of the first transmission for it, which may be an RTS; absent without any.
    pub first_tx: Option<Instant>,
    /// When it was received or lost.
    pub done: Instant,
    /// Number of transmissions. Failed RTS count if nodes do not aggregate, as in [`NodeResult`](super::NodeResult).
    pub attempts: u32,
    /// PHY rate of its last transmission; absent without any.
    pub rate: Option<PhyRate>,
    /// [`DELIVERED`], or the reason of the loss: "buffer full", "retry limit" ...
    pub outcome: &'static str,
}

/// The outcome of a packet that was received.
pub const DELIVERED: &str = "delivered";
