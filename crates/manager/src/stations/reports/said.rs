//! A rate as reported: in kb/s, or as a mode.

use core::ops::RangeInclusive;

use evenair_wifi::PhyMode;

use super::ReportCounts;
use crate::airtime_model::rate_classes::{RateClasses, is_single};

/// Slowest and fastest rate that any 802.11 radio has, in kb/s: from narrow channels to IEEE 802.11be.
const RATES_KBPS: RangeInclusive<i64> = 250..=46_200_000;

/// A rate in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Bit rate in kb/s; for a mode its own, rounded down.
    pub(super) kbps: u32,
    pub(super) mode: Option<PhyMode>,
}

impl Said {
    /// The mode, if the domain has it, or else the rate in kb/s, if that is plausible. Impossible values are counted.
    pub(super) fn accept(
        kbps: Option<i64>,
        mode: Option<PhyMode>,
        classes: &RateClasses,
        counts: &mut ReportCounts,
    ) -> Option<Self> {
        if let Some(mode) = mode {
            if classes.has(mode.into()) {
                let kbps = u32::try_from(mode.bit_rate().as_bps() / 1_000).unwrap_or(u32::MAX);
                return Some(Self { kbps, mode: Some(mode) });
            }
            counts.refused_modes += 1;
        }
        Some(Self { kbps: sensible(kbps, &RATES_KBPS, counts)?, mode: None })
    }

    /// Whether frames at this rate are sent singly.
    pub(super) fn is_single(self) -> bool {
        self.mode.is_none() && is_single(self.kbps)
    }
}

/// A value in the plausible range; others are counted.
pub(super) fn sensible<T: TryFrom<i64>>(
    value: Option<i64>,
    range: &RangeInclusive<i64>,
    counts: &mut ReportCounts,
) -> Option<T> {
    let value = value?;
    let fits = range.contains(&value).then(|| T::try_from(value).ok()).flatten();
    counts.absurd += u64::from(fits.is_none());
    fits
}
