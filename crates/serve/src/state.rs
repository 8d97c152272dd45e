//! The state of a box for the management plane: the control handle of its packet path, and what the path does not know.

use std::collections::BTreeMap;

use evenair_api::Status;
use evenair_api::health::Limits;
use evenair_live::control::ControlHandle;
use evenair_live::{ManagementPlane, Snapshot};
use evenair_packet::MacAddr;
use evenair_telemetry::StationReading;

use crate::control::status_of;
use crate::names::Names;
use crate::vitals::Vitals;

/// The state of a box. Clones refer to the same box.
#[derive(Clone)]
pub(crate) struct BoxState {
    pub(crate) control: ControlHandle,
    pub(crate) names: Names,
    pub(crate) vitals: Vitals,
}

impl BoxState {
    /// The status of a snapshot.
    pub(crate) fn status(&self, snapshot: &Snapshot) -> Status {
        status_of(snapshot, &self.names)
    }
}

impl ManagementPlane for BoxState {
    fn reconfigure(&self, names: BTreeMap<MacAddr, String>, health: Limits) {
        self.names.configure(names);
        self.vitals.configure(health);
    }

    fn report_aliases(&self, source: u16, stations: &[StationReading]) {
        self.names.report(source, stations);
    }

    fn forget_aliases(&self) {
        self.names.forget_aliases();
    }
}
