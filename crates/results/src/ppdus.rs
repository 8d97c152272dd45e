//! PPDUs and MPDUs of one station and direction in a phase, if nodes aggregate.

use std::collections::BTreeMap;

use evenair_medium::{PpduCounters, RateCounters};
use evenair_units::Airtime;
use evenair_workload::Direction;
use serde::{Deserialize, Serialize};

use super::{Scheme, UsedRate};

/// Names of the sizes of PPDUs in [`PpduResult::by_size`].
pub const PPDU_SIZES: [&str; PpduCounters::SIZES] =
    ["1", "2_to_3", "4_to_7", "8_to_15", "16_to_31", "32_to_63", "64_to_127", "128_or_more"];

/// PPDUs to a station, or from it, whose accesses ended in a phase, and MPDUs whose outcome was decided in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PpduResult {
    /// Toward the station (down) or from it (up), whatever the direction of the transfer.
    pub direction: Direction,
    /// PPDUs with MPDUs.
    pub ppdus: u64,
    /// Their MPDUs, counted per transmission.
    pub mpdus: u64,
    /// Of these, retransmissions.
    pub repeated_mpdus: u64,
    /// PPDUs by number of MPDUs, as in [`PPDU_SIZES`].
    pub by_size: Vec<u64>,
    /// MPDUs that were delivered.
    pub delivered_mpdus: u64,
    /// MPDUs given up after the maximum number of transmissions.
    pub lost_mpdus: u64,
    /// BlockAckReq frames sent.
    pub block_ack_requests: u64,
    /// How often the receiver stopped waiting for a missing MPDU.
    pub reorder_timeouts: u64,
    /// PPDUs by their PHY rate, lowest first.
    pub by_rate: Vec<PpduRate>,
}

/// PPDUs of one PHY rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PpduRate {
    /// The rate.
    pub rate_mbps: f64,
    /// Its modulation and coding scheme and streams, of a mode of 802.11n or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// Number of PPDUs.
    pub ppdus: u64,
    /// Airtime of their accesses, including failed ones: RTS, CTS, DATA, response and SIFS between them.
    pub airtime_ms: f64,
}

impl PpduResult {
    /// What was counted.
    pub(crate) fn of(direction: Direction, counted: &PpduCounters) -> Self {
        let mut rates: BTreeMap<UsedRate, (u64, Airtime)> = BTreeMap::new();
        for &RateCounters { rate, ppdus, airtime } in &counted.by_rate {
            let sum = rates.entry(rate.into()).or_default();
            sum.0 += ppdus;
            sum.1 += airtime;
        }
        let by_rate = rates.into_iter().map(|(rate, (ppdus, airtime))| PpduRate {
            rate_mbps: rate.bps as f64 / 1e6,
            scheme: rate.scheme,
            ppdus,
            airtime_ms: airtime.as_nanos() as f64 / 1e6,
        });
        Self {
            direction,
            ppdus: counted.ppdus,
            mpdus: counted.mpdus,
            repeated_mpdus: counted.repeated_mpdus,
            by_size: counted.by_size.to_vec(),
            delivered_mpdus: counted.delivered_mpdus,
            lost_mpdus: counted.lost_mpdus,
            block_ack_requests: counted.block_ack_requests,
            reorder_timeouts: counted.reorder_timeouts,
            by_rate: by_rate.collect(),
        }
    }

    /// Mean number of MPDUs per PPDU; `None` without any.
    pub fn mpdus_per_ppdu(&self) -> Option<f64> {
        part(self.mpdus, self.ppdus)
    }

    /// Retransmissions per delivered MPDU; `None` without any.
    pub fn retries_per_mpdu(&self) -> Option<f64> {
        part(self.repeated_mpdus, self.delivered_mpdus)
    }

    /// MPDUs given up relative to those delivered or given up; `None` without any.
    pub fn mpdu_loss_rate(&self) -> Option<f64> {
        part(self.lost_mpdus, self.delivered_mpdus + self.lost_mpdus)
    }
}

fn part(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
