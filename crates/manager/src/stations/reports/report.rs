//! Telemetry reports about stations as received, and the manager's own reports about them.

use evenair_packet::MacAddr;
use evenair_units::{Instant, Span};
use evenair_wifi::{PhyMode, PhyRate};
use minicbor::{Decode, Encode};

/// A source's report about a station, as received: it may be right or wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct RateReport {
    /// The station's MAC address.
    #[n(0)]
    pub mac: MacAddr,
    /// The source: a number that the driver assigns to each of its sources.
    #[n(1)]
    pub source: u16,
    /// When it was measured, by the manager's clock.
    #[n(2)]
    pub measured: Instant,
    /// Validity from then on.
    #[n(3)]
    pub valid_for: Span,
    /// PHY rate of frames from the access point to it, in kb/s.
    #[n(4)]
    pub transmit_kbps: Option<i64>,
    /// PHY rate of frames from it, in kb/s.
    #[n(5)]
    pub receive_kbps: Option<i64>,
    /// Signal with which the access point receives it, in dBm.
    #[n(6)]
    pub signal_dbm: Option<i64>,
    /// Mode of frames from the access point to it, if the source has it. It counts instead of the rate in kb/s if the standard of the
    /// station's domain has it.
    #[n(7)]
    #[cbor(default)]
    pub transmit_mode: Option<PhyMode>,
    /// Mode of frames from it.
    #[n(8)]
    #[cbor(default)]
    pub receive_mode: Option<PhyMode>,
}

/// The reports about a station, of which at least one value is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedRate {
    /// The source.
    pub source: u16,
    /// When it was measured.
    pub measured: Instant,
    /// The last rate toward it, in kb/s.
    pub transmit_kbps: Option<u32>,
    /// The last rate from it, in kb/s.
    pub receive_kbps: Option<u32>,
    /// The last mode toward it, if it was reported and its domain has it.
    pub transmit_mode: Option<PhyMode>,
    /// The last mode from it.
    pub receive_mode: Option<PhyMode>,
    /// A refused mode of the last report: not of the standard of the station's domain, or not in its band.
    pub refused_mode: Option<PhyMode>,
    /// The last signal, in dBm.
    pub signal_dbm: Option<i8>,
    /// The rate in force by the reports, if they are used.
    pub class: Option<PhyRate>,
    /// Whether the reported rate is rejected, since the observed traffic contradicts it.
    pub set_aside: bool,
}

/// Counts of reports, by outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReportCounts {
    /// Accepted, at least in part.
    pub taken: u64,
    /// With an impossible rate or signal. The rest of the report may have been accepted.
    pub absurd: u64,
    /// With a mode that is not of the standard of the station's domain, or not in its band. The rate in kb/s was used instead, if there
    /// was one.
    pub refused_modes: u64,
    /// Measured in the future, expired, or older than a previous report of the source.
    pub untimely: u64,
    /// About a group address, or a station for which the table has no room.
    pub unknown: u64,
    /// Rates rejected because the observed traffic contradicts them.
    pub contradicted: u64,
}

impl core::ops::AddAssign for ReportCounts {
    fn add_assign(&mut self, other: Self) {
        self.taken += other.taken;
        self.absurd += other.absurd;
        self.refused_modes += other.refused_modes;
        self.untimely += other.untimely;
        self.unknown += other.unknown;
        self.contradicted += other.contradicted;
    }
}
