//! Telemetry of the box during a run.

use evenair_reader::{OrDefault, Problems};
use evenair_units::Span;

use crate::Telemetry;
use crate::raw::TelemetryRaw;

pub(super) fn check(raw: &TelemetryRaw, problems: &mut Problems) -> Telemetry {
    let delay = raw.associations_delay.get_or(Span::ZERO, problems).unwrap_or_default();
    let associations = raw.associations.get_or(true, problems).unwrap_or(true);
    Telemetry {
        stations: raw.stations.get_or(true, problems).unwrap_or(true),
        rates: raw.rates.get_or(true, problems).unwrap_or(true),
        associations: associations.then_some(delay),
        signal: raw.signal.get_or(false, problems).unwrap_or(false),
        ap_losses: raw.ap_losses.get_or(false, problems).unwrap_or(false),
    }
}
