//! EDCA: four access categories with different contention parameters.
//!
//! Clause and table numbers are those of IEEE Std 802.11-2016.

use core::fmt;
use core::str::FromStr;

use evenair_units::Span;

use crate::{Phy, Standard};

/// An access category (clause 10.2.4.2, table 10-1). Ordered by priority, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum AccessCategory {
    /// AC_BK.
    Background,
    /// AC_BE.
    #[default]
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

/// Error: a text is not the short name of an access category.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownCategory;

/// EDCA parameters of one category's EDCAF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdcaParameters {
    /// Slots after SIFS before the first slot boundary; at least 1 at an access point and 2 at a station.
    pub aifsn: u8,
    /// First contention window: back-off is drawn from `0..=cw_min` slots.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// TXOP limit: maximum duration of an access; zero: one frame of any duration.
    pub txop: Span,
}

/// The parameters of all categories, by [`AccessCategory::index`].
pub type EdcaSet = [EdcaParameters; 4];

impl AccessCategory {
    /// All categories, lowest priority first: each at its [`Self::index`].
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// Its index in tables: 0 for background to 3 for voice.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The category of packets with this DSCP (RFC 8325, section 4.3; RFC 8622 for LE): telephony and network control are
    /// voice; signalling, conferencing, interactive and streamed video are video; low-priority and lower-effort data are
    /// background; all others, known or not, are best effort.
    pub const fn of_dscp(dscp: u8) -> Self {
        match dscp {
            // EF, VOICE-ADMIT, CS6, CS7.
            46 | 44 | 48 | 56 => Self::Voice,
            // CS5, AF4x, CS4, AF3x, CS3.
            40 | 34 | 36 | 38 | 32 | 26 | 28 | 30 | 24 => Self::Video,
            // CS1, LE.
            8 | 1 => Self::Background,
            _ => Self::BestEffort,
        }
    }

    /// Its short name: "bk", "be", "vi", "vo".
    pub const fn name(self) -> &'static str {
        match self {
            Self::Background => "bk",
            Self::BestEffort => "be",
            Self::Video => "vi",
            Self::Voice => "vo",
        }
    }
}

impl EdcaParameters {
    /// AIFS: silence required before the first slot boundary (clause 10.3.2.3.6).
    pub fn aifs(&self, phy: &Phy) -> Span {
        phy.sifs() + phy.slot() * u64::from(self.aifsn)
    }
}

impl Phy {
    /// The parameters of a BSS unless its access point announces others (table 9-137). Windows follow from the PHY's own;
    /// TXOP limits are those of the columns for clause 16 (DSSS, HR/DSSS) and for clauses 17 and later (OFDM, ERP, HT,
    /// VHT, HE; table 9-155 of 802.11-2020).
    pub const fn default_edca(&self) -> EdcaSet {
        let txops_us = match self.standard() {
            Standard::Dot11b => [3_264, 3_264, 6_016, 3_264],
            _ => [2_528, 2_528, 4_096, 2_080],
        };
        let half = (self.cw_min().saturating_add(1) / 2).saturating_sub(1);
        let quarter = (self.cw_min().saturating_add(1) / 4).saturating_sub(1);
        [
            set(7, self.cw_min(), self.cw_max(), txops_us[0]),
            set(3, self.cw_min(), self.cw_max(), txops_us[1]),
            set(2, half, self.cw_min(), txops_us[2]),
            set(2, quarter, half, txops_us[3]),
        ]
    }
}

/// Source of a BSS's EDCA parameters.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EdcaProfile {
    /// The standard's tables, at all nodes.
    #[default]
    Standard,
    /// The defaults of hostapd's configuration file: no TXOP limit for background and best effort; at the access point a
    /// smaller largest window for best effort, and shorter AIFS for video and voice.
    Hostapd,
    /// ns-3 3.44: the standard's, without TXOP limit for background and best effort.
    Ns3,
}

impl Phy {
    /// The parameters of stations and of the access point.
    pub const fn edca_of(&self, profile: EdcaProfile) -> (EdcaSet, EdcaSet) {
        let all = self.default_edca();
        let [bk, be, vi, vo] = all;
        let (bk, be) = (without_txop(bk), without_txop(be));
        match profile {
            EdcaProfile::Standard => (all, all),
            EdcaProfile::Ns3 => ([bk, be, vi, vo], [bk, be, vi, vo]),
            EdcaProfile::Hostapd => {
                let stations = [bk, be, set(2, vi.cw_min, vi.cw_max, 3_008), set(2, vo.cw_min, vo.cw_max, 1_504)];
                let be = set(3, be.cw_min, be.cw_min.saturating_add(1).saturating_mul(4).saturating_sub(1), 0);
                let ap = [bk, be, set(1, vi.cw_min, vi.cw_max, 3_008), set(1, vo.cw_min, vo.cw_max, 1_504)];
                (stations, ap)
            }
        }
    }
}

const fn without_txop(parameters: EdcaParameters) -> EdcaParameters {
    EdcaParameters { txop: Span::ZERO, ..parameters }
}

const fn set(aifsn: u8, cw_min: u32, cw_max: u32, txop_us: u64) -> EdcaParameters {
    EdcaParameters { aifsn, cw_min, cw_max, txop: Span::from_micros(txop_us) }
}

impl fmt::Display for AccessCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AccessCategory {
    type Err = UnknownCategory;

    fn from_str(text: &str) -> Result<Self, UnknownCategory> {
        Self::ALL.into_iter().find(|category| category.name() == text).ok_or(UnknownCategory)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn table_9_137() {
        let of = |standard| {
            Phy::default_for(standard).default_edca().map(|p| (p.aifsn, p.cw_min, p.cw_max, p.txop.as_micros()))
        };
        assert_eq!(
            of(Standard::Dot11b),
            [(7, 31, 1023, 3_264), (3, 31, 1023, 3_264), (2, 15, 31, 6_016), (2, 7, 15, 3_264)]
        );
        for standard in [Standard::Dot11a, Standard::Dot11g] {
            assert_eq!(of(standard), [(7, 15, 1023, 2_528), (3, 15, 1023, 2_528), (2, 7, 15, 4_096), (2, 3, 7, 2_080)]);
        }
    }

    #[test]
    fn profiles_have_the_published_parameters() {
        let phy = Phy::default_for(Standard::Dot11ax);
        let numbers = |set: EdcaSet| set.map(|p| (p.aifsn, p.cw_min, p.cw_max, p.txop.as_micros()));
        let (stations, access_point) = phy.edca_of(EdcaProfile::Hostapd);
        assert_eq!(numbers(stations), [(7, 15, 1023, 0), (3, 15, 1023, 0), (2, 7, 15, 3_008), (2, 3, 7, 1_504)]);
        assert_eq!(numbers(access_point), [(7, 15, 1023, 0), (3, 15, 63, 0), (1, 7, 15, 3_008), (1, 3, 7, 1_504)]);
        let (stations, access_point) = phy.edca_of(EdcaProfile::Ns3);
        assert_eq!(numbers(stations), [(7, 15, 1023, 0), (3, 15, 1023, 0), (2, 7, 15, 4_096), (2, 3, 7, 2_080)]);
        assert_eq!(stations, access_point);
        assert_eq!(phy.edca_of(EdcaProfile::Standard), (phy.default_edca(), phy.default_edca()));
    }

    #[test]
    fn aifs_is_sifs_and_slots() {
        let phy = Phy::default_for(Standard::Dot11g);
        assert_eq!(phy.default_edca().map(|p| p.aifs(&phy).as_micros()), [73, 37, 28, 28]);
    }

    #[test]
    fn rfc_8325() {
        let of = |category| (0..=u8::MAX).filter(move |&dscp| AccessCategory::of_dscp(dscp) == category);
        assert_eq!(of(AccessCategory::Voice).collect::<Vec<_>>(), [44, 46, 48, 56]);
        assert_eq!(of(AccessCategory::Video).collect::<Vec<_>>(), [24, 26, 28, 30, 32, 34, 36, 38, 40]);
        assert_eq!(of(AccessCategory::Background).collect::<Vec<_>>(), [1, 8]);
    }

    #[test]
    fn categories_rank_by_priority_and_have_names() {
        assert!(AccessCategory::ALL.is_sorted());
        for (index, category) in AccessCategory::ALL.into_iter().enumerate() {
            assert_eq!(category.index(), index);
            assert_eq!(category.name().parse(), Ok(category));
        }
        assert_eq!("voice".parse::<AccessCategory>(), Err(UnknownCategory));
        assert_eq!(AccessCategory::default(), AccessCategory::BestEffort);
    }
}
