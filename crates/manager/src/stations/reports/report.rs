//! Telemetry reports about stations as they come in, and what the manager reports of them.

use evenair_packet::MacAddr;
use evenair_units::{Instant, Span};
use evenair_wifi::{PhyMode, PhyRate};
use minicbor::{Decode, Encode};

/// A source's report about a station, as received: right or wrong.
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
    /// How long it is valid from then on.
    #[n(3)]
    pub valid_for: Span,
    /// The PHY rate of what the access point sends to it, in kb/s.
    #[n(4)]
    pub transmit_kbps: Option<i64>,
    /// The PHY rate of what it sends, in kb/s.
    #[n(5)]
    pub receive_kbps: Option<i64>,
    /// How strongly the access point receives it, in dBm.
    #[n(6)]
    pub signal_dbm: Option<i64>,
    /// The mode of what the access point sends to it, where the source has it. It counts, and not the rate in kb/s, if the
    /// standard of the station's domain has it.
    #[n(7)]
    #[cbor(default)]
    pub transmit_mode: Option<PhyMode>,
    /// The same of what it sends.
    #[n(8)]
    #[cbor(default)]
    pub receive_mode: Option<PhyMode>,
}

/// The reports about a station, of which at least one value is valid now.
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
    /// The last mode toward it, if that was reported and its domain has it.
    pub transmit_mode: Option<PhyMode>,
    /// The same of what it sends.
    pub receive_mode: Option<PhyMode>,
    /// A mode of the last report that was refused: it is not of the standard of the station's domain, or not in its band.
    pub refused_mode: Option<PhyMode>,
    /// The last signal, in dBm.
    pub signal_dbm: Option<i8>,
    /// The rate in force that follows from the reports, if they are used.
    pub class: Option<PhyRate>,
    /// The observed traffic contradicts it, and it is not used.
    pub set_aside: bool,
}

/// Counts of reports, by outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReportCounts {
    /// Taken, at least in part.
    pub taken: u64,
    /// An impossible rate or signal. The rest of the report may have been taken.
    pub absurd: u64,
    /// A mode that is not of the standard of the station's domain, or not in its band. The rate in kb/s was taken instead, if
    /// there was one.
    pub refused_modes: u64,
    /// Measured in the future, expired, or older than a previous report of the source.
    pub untimely: u64,
    /// About a group address, or about one station too many.
    pub unknown: u64,
    /// How often a rate was rejected because the observed traffic contradicts it.
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
