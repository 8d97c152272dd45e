//! Reports of the upload limiter.

use evenair_units::BitRate;

/// The state of the upload limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkReport {
    /// The present limit.
    pub limit: BitRate,
    /// Traffic from the WLAN, at IP level, before the limit.
    pub up: BitRate,
    /// The part of `up` in datagrams: all but TCP.
    pub up_datagrams: BitRate,
    /// Traffic from the wire toward the WLAN.
    pub down: BitRate,
    /// Packets lost by the access points, reported or inferred, since the limit began.
    pub lost: u64,
}
