//! Quality of telephone calls, by direction and phase.

use evenair_scenario::{App, Scenario};
use evenair_workload::voice::{CallMeter, Heard};
use evenair_workload::{Direction, Phase};
use serde::{Deserialize, Serialize};

/// One direction of a call in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// Name of the application: one for each direction.
    pub app: String,
    /// Name of its entry in the scenario: of all its stations, and both directions.
    #[serde(default)]
    pub entry: String,
    /// Name of the station.
    pub station: String,
    /// Direction of the speech.
    pub direction: Direction,
    /// Name of the phase.
    pub phase: String,
    /// The receiver's measurements.
    #[serde(flatten)]
    pub heard: Heard,
}

impl CallResult {
    /// All phases of an application's call.
    pub fn of<'a>(scenario: &'a Scenario, app: &'a App, meter: &'a CallMeter) -> impl Iterator<Item = Self> + 'a {
        meter.heard().map(|(phase, heard)| Self::new(scenario, app, phase, heard))
    }

    /// One phase of an application's call.
    pub fn new(scenario: &Scenario, app: &App, phase: &Phase, heard: Heard) -> Self {
        Self {
            app: app.name.clone(),
            entry: app.entry.clone(),
            station: scenario.hosts[app.station].name.clone(),
            direction: app.direction,
            phase: phase.name.clone(),
            heard,
        }
    }
}
