//! Mechanisms beside the queues in the status: control at the receiver, the upload limiter.

use evenair_manager::{ReceiverReport, UplinkReport};
use evenair_units::Span;
use serde::{Deserialize, Serialize};

/// Control of TCP by what receivers tell senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiverStatus {
    /// TCP flows used in the last ten seconds and not closed.
    pub flows: u32,
    /// Those of them whose windows are lowered.
    pub clamped_flows: u32,
    /// Largest window that may be advertised now, in bytes.
    pub window_bytes: Option<u64>,
    /// For how long ACKs are held now.
    pub delay_ms: Option<f64>,
    /// Packets held: ACKs, and what waits behind them.
    pub held: u64,
    /// How long packets were seen to wait in the access point lately.
    pub ap_queueing_ms: Option<f64>,
}

/// The upload limiter, and the rates that it is based on, at IP level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UplinkStatus {
    /// The limit now, in megabits per second.
    pub limit_mbps: f64,
    /// What comes from the WLAN, before the limit.
    pub up_mbps: f64,
    /// Of it, datagrams: all but TCP.
    pub up_datagrams_mbps: f64,
    /// What comes from the wire toward the WLAN.
    pub down_mbps: f64,
    /// Losses at the access points, reported or inferred, since the limit began.
    pub lost_in_access_points: u64,
}

impl From<UplinkReport> for UplinkStatus {
    fn from(report: UplinkReport) -> Self {
        Self {
            limit_mbps: report.limit.as_mbps_f64(),
            up_mbps: report.up.as_mbps_f64(),
            up_datagrams_mbps: report.up_datagrams.as_mbps_f64(),
            down_mbps: report.down.as_mbps_f64(),
            lost_in_access_points: report.lost,
        }
    }
}

pub(in super::super) fn receiver_status(report: &ReceiverReport) -> ReceiverStatus {
    let ms = |span: Span| span.as_secs_f64() * 1e3;
    ReceiverStatus {
        flows: report.flows,
        clamped_flows: report.clamped_flows,
        window_bytes: report.window.map(|window| window.0),
        delay_ms: report.delay.map(ms),
        held: report.held,
        ap_queueing_ms: report.ap_queueing.map(ms),
    }
}
