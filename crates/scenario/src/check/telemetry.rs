//! Telemetry of the box during a run.

use evenair_reader::{OrDefault, Problems};
use evenair_units::Span;

use crate::Telemetry;
use crate::raw::TelemetryRaw;

/// The longest that a report of a station's access point may take.
const MAX_DELAY: Span = Span::from_secs(600);

pub(super) fn check(raw: &TelemetryRaw, problems: &mut Problems) -> Telemetry {
    let fits = |delay: &Span| *delay <= MAX_DELAY;
    let delay = raw.associations_delay.get_or_if(Span::ZERO, problems, fits, "0 to 10 min").unwrap_or_default();
    let associations = raw.associations.get_or(true, problems).unwrap_or(true);
    Telemetry {
        stations: raw.stations.get_or(true, problems).unwrap_or(true),
        rates: raw.rates.get_or(true, problems).unwrap_or(true),
        associations: associations.then_some(delay),
        signal: raw.signal.get_or(false, problems).unwrap_or(false),
        ap_losses: raw.ap_losses.get_or(false, problems).unwrap_or(false),
    }
}
