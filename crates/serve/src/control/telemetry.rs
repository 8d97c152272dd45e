//! Telemetry sources in the status.

use evenair_api::SourceStatus;
use evenair_telemetry::Health;

pub(super) fn source(health: &Health) -> SourceStatus {
    SourceStatus {
        name: health.name.clone(),
        from: health.from.clone(),
        stations: health.stations,
        interval_s: health.interval.as_secs_f64(),
        polls: health.polls,
        failures: health.failures,
        error: health.error.clone(),
        age_s: health.answered.map(|at| at.elapsed().as_secs_f64()),
    }
}
