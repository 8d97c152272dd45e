//! The rates that the stations of a contention domain may be at, as far as the airtime model distinguishes them.
//!
//! Up to 802.11g these are the standard's own. From 802.11n on they are of two kinds: modes of the standard's newest
//! format, whose frames share an access, and the rates of OFDM, at which a station sends one frame at a time. Modes are so
//! many that some have nearly the same rate; of these the one with the fewest streams stands for all.
//!
//! Classes are for rates of which only kb/s are known, and for means of several. A station whose mode is known is at that
//! mode, whether or not it stands for a class.
//!
//! A report without a mode is taken to be of a station that does not aggregate if all of its rates are rates of OFDM or
//! DSSS, which modes hardly ever have. 54 Mb/s is also a rate of 40 MHz, but is taken as OFDM.

use alloc::vec::Vec;

use evenair_units::BitRate;
use evenair_wifi::{GuardInterval, Phy, PhyMode, PhyRate, Standard};

/// Modes whose bit rates differ by less than this percentage are one class.
const APART_PERCENT: u64 = 2;

/// The rate classes of a standard, slowest first; see the module.
#[derive(Clone, Debug)]
pub(crate) struct RateClasses {
    phy: Phy,
    /// Rates at which frames are sent singly.
    single: &'static [PhyRate],
    /// Modes with aggregation; empty up to 802.11g.
    modes: Vec<PhyRate>,
}

impl RateClasses {
    pub(crate) fn of(phy: &Phy) -> Self {
        let format = phy.standard().formats().last().copied();
        let all = format.into_iter().flat_map(PhyMode::all).filter(|&mode| phy.takes(mode.into())).collect();
        Self { phy: phy.clone(), single: phy.standard().rates(), modes: distinct(all) }
    }

    /// The usual classes: modes, where there are any.
    pub(crate) fn usual(&self) -> &[PhyRate] {
        if self.modes.is_empty() { self.single } else { &self.modes }
    }

    /// Classes of a station that does not aggregate (`is_single`), or of one that does.
    pub(crate) fn of_kind(&self, is_single: bool) -> &[PhyRate] {
        if is_single { self.single } else { self.usual() }
    }

    /// All classes, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = PhyRate> {
        self.single.iter().chain(&self.modes).copied()
    }

    /// Whether a station may be at this rate: it is a class, or another mode of the standard in its band.
    pub(crate) fn has(&self, rate: PhyRate) -> bool {
        self.phy.takes(rate)
    }

    /// Whether stations aggregate.
    pub(crate) fn have_modes(&self) -> bool {
        !self.modes.is_empty()
    }

    /// This rate if a station may be at it, or else the nearest one of its kind.
    pub(crate) fn nearest(&self, rate: PhyRate) -> PhyRate {
        if self.has(rate) {
            rate
        } else {
            nearest(self.of_kind(rate.mode().is_none()), rate.bit_rate()).unwrap_or(rate)
        }
    }
}

/// Whether the mode's bit rate is so near to a mean that the mode represents it.
pub(crate) fn is_near(mode: PhyMode, mean: BitRate) -> bool {
    mode.bit_rate().as_bps().abs_diff(mean.as_bps()).saturating_mul(100) < mean.as_bps().saturating_mul(APART_PERCENT)
}

/// The rate whose bit rate is nearest; the slower one of two equally near.
pub(crate) fn nearest(rates: &[PhyRate], to: BitRate) -> Option<PhyRate> {
    rates.iter().copied().min_by_key(|rate| rate.bit_rate().as_bps().abs_diff(to.as_bps()))
}

/// Whether this bit rate is one of OFDM or DSSS, whose frames are sent singly.
pub(crate) fn is_single(kbps: u32) -> bool {
    let rate = BitRate::from_kbps(kbps.into());
    [Standard::Dot11b, Standard::Dot11a].into_iter().any(|standard| standard.rate(rate).is_some())
}

/// Keeps one of the modes with nearly the same rate: that with the fewest streams, then in the narrowest channel, then
/// with the guard interval of 0.8 us, which all formats have.
fn distinct(mut modes: Vec<PhyMode>) -> Vec<PhyRate> {
    let is_unusual = |mode: &PhyMode| mode.guard_interval() != GuardInterval::Ns800;
    modes.sort_by_key(|mode| (mode.streams(), mode.width(), is_unusual(mode), mode.mcs()));
    let mut rates: Vec<PhyRate> = Vec::new();
    for rate in modes.into_iter().map(PhyRate::from) {
        let bps = rate.bit_rate().as_bps();
        let at = rates.partition_point(|known| *known < rate);
        let is_near = |known: &PhyRate| known.bit_rate().as_bps().abs_diff(bps) * 100 < bps * APART_PERCENT;
        if !rates[at.saturating_sub(1)..].iter().take(2).any(is_near) {
            rates.insert(at, rate);
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use evenair_wifi::{Band, Width};

    fn classes(standard: Standard) -> RateClasses {
        RateClasses::of(&Phy::default_for(standard))
    }

    #[test]
    fn up_to_80211g_the_classes_are_the_rates_of_the_standard() {
        for standard in [Standard::Dot11b, Standard::Dot11a, Standard::Dot11g] {
            let classes = classes(standard);
            assert!(!classes.have_modes());
            assert_eq!((classes.usual(), classes.of_kind(false)), (standard.rates(), standard.rates()));
        }
    }

    #[test]
    fn modes_are_near_to_each_rate_and_apart_from_each_other() {
        for standard in [Standard::Dot11n, Standard::Dot11ac, Standard::Dot11ax] {
            let classes = classes(standard);
            let rates = classes.usual();
            assert!(rates.len() > 30 && rates.iter().all(|rate| rate.mode().is_some()), "{standard}: {rates:?}");
            let bps = |rate: PhyRate| rate.bit_rate().as_bps();
            assert!(rates.windows(2).all(|two| bps(two[0]) * 1_019 / 1_000 < bps(two[1])), "{standard}: {rates:?}");
            for mode in PhyMode::all(*standard.formats().last().unwrap()).map(PhyRate::from) {
                assert_eq!(classes.nearest(mode), mode);
                let nearest = nearest(rates, mode.bit_rate()).unwrap();
                assert!(bps(nearest).abs_diff(bps(mode)) * 100 < 2 * bps(mode), "{mode} is taken for {nearest}");
            }
            assert_eq!(classes.of_kind(true), standard.rates());
        }
    }

    #[test]
    fn a_standard_has_the_modes_of_its_formats_and_the_rates_of_single_frames() {
        let newest =
            |standard: Standard| PhyRate::from(PhyMode::all(*standard.formats().last().unwrap()).next().unwrap());
        let (ht, he) = (newest(Standard::Dot11n), newest(Standard::Dot11ax));
        let ofdm = Standard::Dot11a.rates()[0];
        for (standard, expected) in [
            (Standard::Dot11b, [false, false, false]),
            (Standard::Dot11a, [true, false, false]),
            (Standard::Dot11n, [true, true, false]),
            (Standard::Dot11ax, [true, true, true]),
        ] {
            assert_eq!([ofdm, ht, he].map(|rate| classes(standard).has(rate)), expected, "{standard}");
        }
    }

    #[test]
    fn channels_of_2_4_ghz_have_no_vht_and_at_most_40_mhz() {
        let phy = Phy::default_for(Standard::Dot11ax).in_band(Band::Ghz2_4).unwrap();
        let classes = RateClasses::of(&phy);
        assert!(classes.usual().iter().all(|rate| rate.mode().unwrap().width() <= Width::Mhz40));
        for (mode, expected) in
            [("HE MCS 3, 40 MHz", true), ("HE MCS 3, 80 MHz", false), ("VHT MCS 3", false), ("HT MCS 3", true)]
        {
            assert_eq!(classes.has(mode.parse::<PhyMode>().unwrap().into()), expected, "{mode}");
        }
    }

    #[test]
    fn common_modes_stand_for_themselves() {
        for (standard, known) in [
            (Standard::Dot11n, &["6.5", "65", "72.2", "130", "144.4", "150", "300"][..]),
            (Standard::Dot11ac, &["6.5", "65", "86.7", "200", "390", "433.3", "780", "866.7"][..]),
            (Standard::Dot11ax, &["8.6", "86", "143.4", "286.8", "600.4", "1201", "2401.9"][..]),
        ] {
            let classes = classes(standard);
            for wanted in known {
                assert!(classes.usual().iter().any(|rate| rate.to_string() == **wanted), "{wanted} of {standard}");
            }
        }
    }

    #[test]
    fn frames_at_rates_of_ofdm_and_dsss_go_by_themselves() {
        assert!([1_000, 5_500, 11_000, 6_000, 54_000].into_iter().all(is_single));
        assert!(![6_500, 7_200, 65_000, 54_001, 780_000].into_iter().any(is_single));
    }
}
