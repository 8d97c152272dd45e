//! Modes of 802.11n and later as sources report them: MCS, streams, width and guard interval, or some of these with the
//! bit rate.

use evenair_wifi::{Format, GuardInterval, ModeError, PhyMode, Width};

/// A reported mode, or why the standard has no such mode.
pub type ReportedMode = Result<PhyMode, ModeError>;

/// Coarsest resolution of reported bit rates, in b/s, rounded or truncated.
const COARSEST_BPS: u64 = 100_000;

/// The reported parameters of a mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) format: Format,
    /// MCS index; for HT it includes the number of streams.
    pub(crate) mcs: u8,
    /// Number of streams, default 1; not needed for HT.
    pub(crate) streams: Option<u8>,
    /// Channel width; `None`: not reported.
    pub(crate) width: Option<Width>,
    /// Guard interval; `None`: not reported.
    pub(crate) guard: Option<GuardInterval>,
}

impl Parts {
    pub(crate) const fn new(format: Format, mcs: u8) -> Self {
        Self { format, mcs, streams: None, width: None, guard: None }
    }

    /// The mode. A missing width or guard interval is inferred from the bit rate; `None` if none matches it.
    pub(crate) fn mode(&self, kbps: Option<i64>) -> Option<ReportedMode> {
        if let (Some(width), Some(guard)) = (self.width, self.guard) {
            return Some(self.with(width, guard));
        }
        let bps = u64::try_from(kbps?).ok()?.checked_mul(1_000)?;
        let widths = self.format.widths().iter().filter(|&&width| self.width.is_none_or(|own| own == width));
        let mut modes = widths.flat_map(|&width| {
            let guards = self.format.guard_intervals().iter();
            let guards = guards.filter(|&&guard| self.guard.is_none_or(|own| own == guard));
            guards.filter_map(move |&guard| self.with(width, guard).ok())
        });
        modes.find(|mode| mode.bit_rate().as_bps().abs_diff(bps) < COARSEST_BPS).map(Ok)
    }

    fn with(&self, width: Width, guard: GuardInterval) -> ReportedMode {
        match self.format {
            Format::Ht => PhyMode::of_ht_index(self.mcs, width, guard),
            Format::Vht | Format::He => PhyMode::new(self.format, self.mcs, self.streams.unwrap_or(1), width, guard),
        }
    }
}

/// The guard interval of HE by its number in nl80211 (`enum nl80211_he_gi`).
pub(crate) fn he_guard(number: i64) -> Option<GuardInterval> {
    match number {
        0 => Some(GuardInterval::Ns800),
        1 => Some(GuardInterval::Ns1600),
        2 => Some(GuardInterval::Ns3200),
        _ => None,
    }
}

/// The guard interval of HT and VHT.
pub(crate) const fn guard(is_short: bool) -> GuardInterval {
    if is_short { GuardInterval::Ns400 } else { GuardInterval::Ns800 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreported_width_follows_from_the_bit_rate() {
        let mode = |parts: Parts, kbps| parts.mode(Some(kbps)).and_then(Result::ok).map(|mode| mode.to_string());
        let short = Parts { guard: Some(GuardInterval::Ns400), ..Parts::new(Format::Ht, 15) };
        assert_eq!(mode(short, 144_400).as_deref(), Some("HT MCS 15, 20 MHz, 2 streams, GI 0.4 us"));
        assert_eq!(mode(short, 300_000).as_deref(), Some("HT MCS 15, 40 MHz, 2 streams, GI 0.4 us"));
        assert_eq!(mode(short, 270_000), None, "that is of the long guard interval");
        let he = Parts { streams: Some(2), ..Parts::new(Format::He, 11) };
        assert_eq!(mode(he, 1_200_900).as_deref(), Some("HE MCS 11, 80 MHz, 2 streams, GI 0.8 us"));
        assert_eq!(mode(he, 1_134_200).as_deref(), Some("HE MCS 11, 80 MHz, 2 streams, GI 1.6 us"));
        assert_eq!((he.mode(None), he.mode(Some(-1)), he.mode(Some(i64::MAX))), (None, None, None));
    }
}
