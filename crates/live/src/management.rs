//! The interface of the packet path to the management plane: the threads that reply to operators and show the state of
//! the box.

use std::collections::BTreeMap;

use evenair_api::health::Limits;
use evenair_packet::MacAddr;
use evenair_telemetry::StationReading;

/// The management plane, as called by a packet loop, or the coordinator of several, and by the threads that poll
/// telemetry. No call takes long.
pub trait ManagementPlane: Send + Sync {
    /// The loops have applied a new configuration, with these names of stations and limits of health.
    fn reconfigure(&self, names: BTreeMap<MacAddr, String>, health: Limits);

    /// A source of telemetry has reported these stations, with their aliases, in place of its former report.
    fn report_aliases(&self, source: u16, stations: &[StationReading]);

    /// Other telemetry sources are polled from now on.
    fn forget_aliases(&self);
}
