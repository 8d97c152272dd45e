//! Telemetry sources in the status.

use evenair_manager::{ToldCounts, ToldReport};
use evenair_telemetry::Health;
use evenair_units::{BitRate, Instant};
use serde::{Deserialize, Serialize};

/// An access point or controller that is asked for stations and rates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceStatus {
    /// Its kind and where it is.
    pub name: String,
    /// Which of its tables or interfaces answered last.
    pub from: String,
    /// Number of stations in its last report.
    pub stations: usize,
    /// How often it was asked.
    pub polls: u64,
    /// How often it did not answer as it should.
    pub failures: u64,
    /// What is wrong with it; none: its last answer was right.
    pub error: Option<String>,
    /// Seconds since it answered as it should; none: it never has.
    pub age_s: Option<f64>,
}

/// Number of station reports, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldStatus {
    /// Taken, at least in part.
    pub taken: u64,
    /// Not a rate or signal that can be.
    pub absurd: u64,
    /// In the future, expired, or older than the previous report.
    pub untimely: u64,
    /// Of a group address, or of one station too many.
    pub unknown: u64,
    /// Set aside, because what crosses contradicts it.
    pub contradicted: u64,
}

/// A station's telemetry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StationToldStatus {
    /// The source.
    pub source: String,
    /// Seconds since it was measured.
    pub age_s: f64,
    /// The last rate toward it.
    pub transmit_mbps: Option<f64>,
    /// The last rate from it.
    pub receive_mbps: Option<f64>,
    /// How strongly it is received, in dBm.
    pub signal_dbm: Option<i8>,
    /// The rate that it is taken to have by this; none: nothing is known of its rate, or it is set aside.
    pub class_mbps: Option<f64>,
    /// It contradicts what is seen to cross, and is set aside.
    pub set_aside: bool,
}

impl From<ToldCounts> for ToldStatus {
    fn from(counts: ToldCounts) -> Self {
        let ToldCounts { taken, absurd, untimely, unknown, contradicted } = counts;
        Self { taken, absurd, untimely, unknown, contradicted }
    }
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
