//! Telemetry sources in the status.

use evenair_api::{SourceStatus, StationToldStatus, ToldStatus};
use evenair_manager::{ToldCounts, ToldReport};
use evenair_telemetry::Health;
use evenair_units::{BitRate, Instant};

pub(super) fn counts(counts: ToldCounts) -> ToldStatus {
    let ToldCounts { taken, absurd, untimely, unknown, contradicted } = counts;
    ToldStatus { taken, absurd, untimely, unknown, contradicted }
}

pub(super) fn source(health: &Health) -> SourceStatus {
    SourceStatus {
        name: health.name.clone(),
        from: health.from.clone(),
        stations: health.stations,
        polls: health.polls,
        failures: health.failures,
        error: health.error.clone(),
        age_s: health.answered.map(|at| at.elapsed().as_secs_f64()),
    }
}

pub(super) fn station(told: &ToldReport, now: Instant, sources: &[Health]) -> StationToldStatus {
    let mbps = |kbps: Option<u32>| kbps.map(|kbps| f64::from(kbps) / 1e3);
    StationToldStatus {
        source: sources.get(usize::from(told.source)).map_or_else(String::new, |source| source.name.clone()),
        age_s: now.saturating_since(told.measured).as_secs_f64(),
        transmit_mbps: mbps(told.transmit_kbps),
        receive_mbps: mbps(told.receive_kbps),
        signal_dbm: told.signal_dbm,
        class_mbps: told.class.map(|rate| BitRate::as_mbps_f64(rate.bit_rate())),
        set_aside: told.set_aside,
    }
}
