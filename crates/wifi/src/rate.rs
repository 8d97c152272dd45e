//! The rates a standard offers.

use core::fmt;
use core::str::FromStr;

use evenair_units::BitRate;
use minicbor::{Decode, Decoder, Encode, decode};

/// An amendment of IEEE 802.11, by the name its products carry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
pub enum Standard {
    /// HR/DSSS at 2.4 GHz (IEEE 802.11-2016 clause 16): 1, 2, 5.5 and 11 Mb/s.
    #[n(0)]
    Dot11b,
    /// OFDM at 5 GHz, 20 MHz (clause 17): 6 to 54 Mb/s.
    #[n(1)]
    Dot11a,
    /// OFDM at 2.4 GHz (clause 18, ERP) in a BSS without 802.11b stations: the short slot, OFDM only.
    #[n(2)]
    Dot11g,
}

/// How a rate's payload is sent, which decides how long a frame takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub(crate) enum Modulation {
    /// A run of bits.
    #[n(0)]
    Dsss,
    /// A run of 4 us symbols.
    #[n(1)]
    Ofdm,
}

/// A PHY rate of some [`Standard`]. Ordered by its bit rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode)]
pub struct PhyRate {
    /// The standard's own unit (the Supported Rates element uses it).
    #[n(1)]
    half_mbps: u8,
    #[n(0)]
    modulation: Modulation,
}

/// A standard's name that is not one of those known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownStandard;

const fn dsss(half_mbps: u8) -> PhyRate {
    PhyRate { half_mbps, modulation: Modulation::Dsss }
}

const fn ofdm(mbps: u8) -> PhyRate {
    PhyRate { half_mbps: mbps * 2, modulation: Modulation::Ofdm }
}

/// HR/DSSS rates, clause 16.2.3.
const DSSS_RATES: [PhyRate; 4] = [dsss(2), dsss(4), dsss(11), dsss(22)];
/// OFDM rates with 20 MHz channel spacing, table 17-4.
const OFDM_RATES: [PhyRate; 8] = [ofdm(6), ofdm(9), ofdm(12), ofdm(18), ofdm(24), ofdm(36), ofdm(48), ofdm(54)];
/// OFDM rates every station must support, clause 17.1.1.
const OFDM_MANDATORY: [PhyRate; 3] = [ofdm(6), ofdm(12), ofdm(24)];

impl Standard {
    /// Every standard known here.
    pub const ALL: [Self; 3] = [Self::Dot11b, Self::Dot11a, Self::Dot11g];

    /// Its rates, slowest first.
    pub const fn rates(self) -> &'static [PhyRate] {
        match self {
            Self::Dot11b => &DSSS_RATES,
            Self::Dot11a | Self::Dot11g => &OFDM_RATES,
        }
    }

    /// The rates that every station must support, slowest first.
    pub const fn mandatory_rates(self) -> &'static [PhyRate] {
        match self {
            Self::Dot11b => &DSSS_RATES,
            Self::Dot11a | Self::Dot11g => &OFDM_MANDATORY,
        }
    }

    /// The rate of `bit_rate` where this standard has it.
    pub fn rate(self, bit_rate: BitRate) -> Option<PhyRate> {
        self.rates().iter().copied().find(|rate| rate.bit_rate() == bit_rate)
    }
}

impl PhyRate {
    /// Bits of payload per second of payload time.
    pub const fn bit_rate(self) -> BitRate {
        BitRate::from_kbps(self.half_mbps as u64 * 500)
    }

    /// The same in the standard's own unit of 500 kb/s.
    pub const fn in_half_mbps(self) -> u8 {
        self.half_mbps
    }

    pub(crate) const fn modulation(self) -> Modulation {
        self.modulation
    }
}

/// What is read of a [`PhyRate`].
#[derive(Decode)]
struct ReadRate {
    #[n(0)]
    modulation: Modulation,
    #[n(1)]
    half_mbps: u8,
}

impl<'b, C> Decode<'b, C> for PhyRate {
    /// Only a rate of some standard is decoded.
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, decode::Error> {
        let at = d.position();
        let ReadRate { modulation, half_mbps } = d.decode_with(ctx)?;
        let rate = Self { half_mbps, modulation };
        let is_known = Standard::ALL.iter().any(|standard| standard.rates().contains(&rate));
        if is_known { Ok(rate) } else { Err(decode::Error::message("not a rate of any standard").at(at)) }
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dot11b => "802.11b",
            Self::Dot11a => "802.11a",
            Self::Dot11g => "802.11g",
        })
    }
}

impl FromStr for Standard {
    type Err = UnknownStandard;

    /// Reads "802.11b" and, for short, "b".
    fn from_str(text: &str) -> Result<Self, UnknownStandard> {
        match text.strip_prefix("802.11").unwrap_or(text) {
            "b" => Ok(Self::Dot11b),
            "a" => Ok(Self::Dot11a),
            "g" => Ok(Self::Dot11g),
            _ => Err(UnknownStandard),
        }
    }
}

impl fmt::Display for UnknownStandard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one of 802.11b, 802.11a, 802.11g")
    }
}

impl core::error::Error for UnknownStandard {}

impl fmt::Display for PhyRate {
    /// In Mb/s, as the standard writes it: "5.5", "11".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = if self.half_mbps % 2 == 1 { ".5" } else { "" };
        write!(f, "{}{half}", self.half_mbps / 2)
    }
}

impl fmt::Debug for PhyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} Mb/s")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn names_read_back() {
        for standard in Standard::ALL {
            assert_eq!(standard.to_string().parse(), Ok(standard));
            assert_eq!(standard.to_string()[6..].parse(), Ok(standard));
        }
        assert_eq!("802.11".parse::<Standard>(), Err(UnknownStandard));
        assert_eq!("n".parse::<Standard>(), Err(UnknownStandard));
    }

    #[test]
    fn rates_ascend_and_are_found_by_their_bit_rate() {
        for standard in Standard::ALL {
            assert!(standard.rates().is_sorted());
            for &rate in standard.rates() {
                assert_eq!(standard.rate(rate.bit_rate()), Some(rate));
            }
            assert!(standard.mandatory_rates().iter().all(|rate| standard.rates().contains(rate)));
        }
        assert_eq!(Standard::Dot11a.rate(BitRate::from_mbps(11)), None);
        assert_eq!(Standard::Dot11b.rate(BitRate::from_kbps(5_500)).map(|r| r.to_string()).as_deref(), Some("5.5"));
    }
}
