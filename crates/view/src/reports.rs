//! Telemetry reports about stations in the status.

use evenair_api::{ReportCountsStatus, StationReportStatus};
use evenair_manager::{ReportCounts, ReportedRate};
use evenair_units::{BitRate, Instant};
use evenair_wifi::PhyMode;

pub(crate) fn counts(counts: ReportCounts) -> ReportCountsStatus {
    let ReportCounts { taken, absurd, refused_modes, untimely, unknown, contradicted } = counts;
    ReportCountsStatus { taken, absurd, refused_modes, untimely, unknown, contradicted }
}

fn refused(mode: PhyMode) -> String {
    format!("{mode}: the standard of the station's contention domain does not have it in its band")
}

pub(crate) fn reported_rate(reported: &ReportedRate, now: Instant, sources: &[&str]) -> StationReportStatus {
    let mbps = |kbps: Option<u32>| kbps.map(|kbps| f64::from(kbps) / 1e3);
    StationReportStatus {
        source: sources.get(usize::from(reported.source)).map_or_else(String::new, |name| (*name).to_owned()),
        age_s: now.saturating_since(reported.measured).as_secs_f64(),
        transmit_mbps: mbps(reported.transmit_kbps),
        receive_mbps: mbps(reported.receive_kbps),
        transmit_mode: reported.transmit_mode.map(|mode| mode.to_string()),
        receive_mode: reported.receive_mode.map(|mode| mode.to_string()),
        refused_mode: reported.refused_mode.map(refused),
        signal_dbm: reported.signal_dbm,
        class_mbps: reported.class.map(|rate| BitRate::as_mbps_f64(rate.bit_rate())),
        set_aside: reported.set_aside,
    }
}
