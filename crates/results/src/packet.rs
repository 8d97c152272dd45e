//! What became of single IP packets on the WLAN.

use evenair_units::{Bytes, Instant};
use evenair_wifi::PhyRate;
use evenair_workload::Direction;

/// An IP packet that was delivered or lost between an access point and a station. Instants are those of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// The station that it is for or from, by its number among the scenario's hosts.
    pub station: u32,
    /// The station's access point, by its number among the scenario's.
    pub access_point: u32,
    /// To the station or from it.
    pub direction: Direction,
    /// The application, by its number in the scenario; absent of the box's probes and the answers to them.
    pub app: Option<u32>,
    /// How many packets of the application in this direction came to the buffer of their sender before it; absent without an application.
    pub sequence: Option<u64>,
    /// Size of the IP packet.
    pub ip: Bytes,
    /// When it came to the buffer of its sender: the access point, or the station.
    pub enqueued: Instant,
    /// When the first transmission for it began, be it an RTS; absent where there was none.
    pub first_tx: Option<Instant>,
    /// When it was received, or lost.
    pub done: Instant,
    /// Transmissions of it. Failed RTS count where nodes do not aggregate, as in [`NodeResult`](super::NodeResult).
    pub attempts: u32,
    /// PHY rate of its last transmission; absent where there was none.
    pub rate: Option<PhyRate>,
    /// [`DELIVERED`], or the reason of the loss: "buffer full", "retry limit" ...
    pub outcome: &'static str,
}

/// The outcome of a packet that was received.
pub const DELIVERED: &str = "delivered";
