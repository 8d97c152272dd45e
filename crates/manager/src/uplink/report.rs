//! What the upload limiter reports.

use evenair_units::BitRate;

/// The state of the limit on uploads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkReport {
    /// The limit now.
    pub limit: BitRate,
    /// What comes from the WLAN, at IP level, before the limit.
    pub up: BitRate,
    /// Of it, datagrams: all but TCP.
    pub up_datagrams: BitRate,
    /// What comes from the wire toward the WLAN.
    pub down: BitRate,
    /// Packets lost by the access points, reported or inferred, since the limit began.
    pub lost: u64,
}
