//! What the packet path tells the management plane: the threads that answer operators and show others the state of the box.

use std::collections::BTreeMap;

use evenair_api::health::Limits;
use evenair_packet::MacAddr;
use evenair_telemetry::StationReading;

/// The management plane, as far as the packet path calls it: a packet loop, or the coordinator of several, and the threads
/// that poll telemetry. No call takes long.
pub trait ManagementPlane: Send + Sync {
    /// The loops have taken a new configuration, which has these names of stations and these limits of health.
    fn reconfigure(&self, names: BTreeMap<MacAddr, String>, health: Limits);

    /// A source of telemetry has reported these stations, with their aliases, in place of what it reported before.
    fn report_aliases(&self, source: u16, stations: &[StationReading]);

    /// Other sources are polled from now on.
    fn forget_aliases(&self);
}
