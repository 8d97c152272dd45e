//! Control at the receiver and the upload limiter in the status.

use evenair_api::{ReceiverStatus, UplinkStatus};
use evenair_manager::{ReceiverReport, UplinkReport};

use crate::milliseconds;

pub(crate) fn uplink_status(report: UplinkReport) -> UplinkStatus {
    UplinkStatus {
        limit_mbps: report.limit.as_mbps_f64(),
        up_mbps: report.up.as_mbps_f64(),
        up_datagrams_mbps: report.up_datagrams.as_mbps_f64(),
        down_mbps: report.down.as_mbps_f64(),
        lost_in_access_points: report.lost,
    }
}

pub(crate) fn receiver_status(report: &ReceiverReport) -> ReceiverStatus {
    ReceiverStatus {
        flows: report.flows,
        clamped_flows: report.clamped_flows,
        window_bytes: report.window.map(|window| window.0),
        delay_ms: report.delay.map(milliseconds),
        held: report.held,
        ap_queueing_ms: report.ap_queueing.map(milliseconds),
    }
}
