//! The PHY rates of each standard.

use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

use evenair_units::{BitRate, Bytes, Span};
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use crate::mode::{Format, GuardInterval, PhyMode};

/// An amendment of IEEE 802.11, by its common name.
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
    /// High throughput (IEEE 802.11-2020 clause 19) at 2.4 or 5 GHz.
    #[n(3)]
    Dot11n,
    /// Very high throughput (clause 21) at 5 GHz.
    #[n(4)]
    Dot11ac,
    /// High efficiency (IEEE 802.11ax-2021 clause 27) at 2.4, 5 or 6 GHz.
    #[n(5)]
    Dot11ax,
}

/// A frequency band, as far as the PHY's timing depends on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Band {
    /// 2.4 GHz.
    #[n(0)]
    Ghz2_4,
    /// 5 GHz, and 6 GHz, which has the same timing.
    #[n(1)]
    Ghz5,
}

/// Modulation of a rate's payload, which determines the duration of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Modulation {
    /// Continuous bits, in half megabits per second.
    Dsss(u8),
    /// Symbols of 4 us, in half megabits of payload per second.
    Ofdm(u8),
    /// Symbols of a mode.
    PhyMode(PhyMode),
}

/// A PHY rate of some [`Standard`]: one of DSSS or of OFDM, or a [`PhyMode`] of 802.11n and later. Ordered by its bit rate.
///
/// Frames carry it and are compared by it: it is one small number that encodes the modulation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PhyRate(u16);

/// Flag of a [`PhyRate`] of OFDM; the lower bits are half megabits per second.
const OFDM: u16 = 1 << 8;
/// Flag of a [`PhyRate`] that is a mode; the lower bits are [`PhyMode::packed`].
const MODE: u16 = 1 << 13;

/// Error: the name of an unknown standard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownStandard;

const fn dsss(half_mbps: u8) -> PhyRate {
    PhyRate(half_mbps as u16)
}

pub(crate) const fn ofdm(mbps: u8) -> PhyRate {
    PhyRate(OFDM | (mbps as u16 * 2))
}

/// HR/DSSS rates, clause 16.2.3.
const DSSS_RATES: [PhyRate; 4] = [dsss(2), dsss(4), dsss(11), dsss(22)];
/// OFDM rates with 20 MHz channel spacing, table 17-4.
const OFDM_RATES: [PhyRate; 8] = [ofdm(6), ofdm(9), ofdm(12), ofdm(18), ofdm(24), ofdm(36), ofdm(48), ofdm(54)];
/// OFDM rates every station must support, clause 17.1.1.
const OFDM_MANDATORY: [PhyRate; 3] = [ofdm(6), ofdm(12), ofdm(24)];

impl Standard {
    /// All known standards.
    pub const ALL: [Self; 6] = [Self::Dot11b, Self::Dot11a, Self::Dot11g, Self::Dot11n, Self::Dot11ac, Self::Dot11ax];

    /// Its rates in ascending order. For 802.11n and later these are the rates of frames that older stations must understand,
    /// such as control frames; the rates of DATA are those that [`Phy::takes`](crate::Phy::takes).
    pub const fn rates(self) -> &'static [PhyRate] {
        match self {
            Self::Dot11b => &DSSS_RATES,
            Self::Dot11a | Self::Dot11g | Self::Dot11n | Self::Dot11ac | Self::Dot11ax => &OFDM_RATES,
        }
    }

    /// The rates that every station must support, in ascending order.
    pub const fn mandatory_rates(self) -> &'static [PhyRate] {
        match self {
            Self::Dot11b => &DSSS_RATES,
            Self::Dot11a | Self::Dot11g | Self::Dot11n | Self::Dot11ac | Self::Dot11ax => &OFDM_MANDATORY,
        }
    }

    /// The rate of `bit_rate`, if this standard has it.
    pub fn rate(self, bit_rate: BitRate) -> Option<PhyRate> {
        self.rates().iter().copied().find(|rate| rate.bit_rate() == bit_rate)
    }

    /// The rate of DATA of `bit_rate`, if this standard has it: [`Self::rate`], or the mode within 60 kb/s of it, since bit
    /// rates are written with one decimal. Of several modes the one of the newest format, then in the narrowest channel, with
    /// the fewest streams, and preferably with the guard interval of 0.8 us.
    pub fn data_rate(self, bit_rate: BitRate) -> Option<PhyRate> {
        self.data_rate_of(bit_rate, |_| true)
    }

    /// [`Self::data_rate`] among the rates for which `fits` holds.
    pub(crate) fn data_rate_of(self, bit_rate: BitRate, fits: impl Fn(PhyRate) -> bool) -> Option<PhyRate> {
        const SAME_BPS: u64 = 60_000;
        let is_same = |mode: &PhyMode| {
            mode.bit_rate().as_bps().abs_diff(bit_rate.as_bps()) < SAME_BPS && fits(PhyRate::from(*mode))
        };
        let plainest =
            |mode: &PhyMode| (mode.width(), mode.streams(), mode.guard_interval() != GuardInterval::Ns800, mode.mcs());
        let mode_of = |format: &Format| PhyMode::all(*format).filter(is_same).min_by_key(plainest);
        self.rate(bit_rate).or_else(|| self.formats().iter().rev().find_map(mode_of).map(PhyRate::from))
    }

    /// The formats of its DATA frames, oldest first: its own and the earlier ones.
    pub const fn formats(self) -> &'static [Format] {
        match self {
            Self::Dot11b | Self::Dot11a | Self::Dot11g => &[],
            Self::Dot11n => &[Format::Ht],
            Self::Dot11ac => &[Format::Ht, Format::Vht],
            Self::Dot11ax => &Format::ALL,
        }
    }

    /// The bands in which it is used, the usual one first.
    pub const fn bands(self) -> &'static [Band] {
        match self {
            Self::Dot11b | Self::Dot11g => &[Band::Ghz2_4],
            Self::Dot11a | Self::Dot11ac => &[Band::Ghz5],
            Self::Dot11n | Self::Dot11ax => &[Band::Ghz5, Band::Ghz2_4],
        }
    }
}

impl PhyRate {
    /// Bits per second of the payload; for a mode rounded down.
    pub const fn bit_rate(self) -> BitRate {
        match self.modulation() {
            Modulation::Dsss(half_mbps) | Modulation::Ofdm(half_mbps) => BitRate::from_kbps(half_mbps as u64 * 500),
            Modulation::PhyMode(mode) => mode.bit_rate(),
        }
    }

    /// The mode; `None` for a rate of DSSS or OFDM.
    pub const fn mode(self) -> Option<PhyMode> {
        match self.modulation() {
            Modulation::PhyMode(mode) => Some(mode),
            Modulation::Dsss(_) | Modulation::Ofdm(_) => None,
        }
    }

    /// A small unique number for each rate, for hashing. It is not ordered, and may change between versions.
    pub const fn index(self) -> u32 {
        self.0 as u32
    }

    /// The least number of whole bytes whose payload takes at least this long.
    pub(crate) const fn bytes_in(self, span: Span) -> Bytes {
        let (bits, period_ns) = match self.modulation() {
            Modulation::Dsss(half_mbps) | Modulation::Ofdm(half_mbps) => (half_mbps as u64, 2_000),
            Modulation::PhyMode(mode) => (mode.bits_per_symbol() as u64, mode.symbol().as_nanos()),
        };
        Bytes(span.as_nanos().saturating_mul(bits).div_ceil(8 * period_ns))
    }

    /// Half megabits per second, for a mode of its non-HT reference rate.
    #[inline]
    pub(crate) const fn reference_half_mbps(self) -> u8 {
        match self.modulation() {
            Modulation::Dsss(half_mbps) | Modulation::Ofdm(half_mbps) => half_mbps,
            Modulation::PhyMode(mode) => mode.reference_half_mbps(),
        }
    }

    #[inline]
    pub(crate) const fn modulation(self) -> Modulation {
        if self.0 & MODE != 0 {
            return Modulation::PhyMode(PhyMode::unpacked(self.0 & !MODE));
        }
        let half_mbps = self.0 as u8;
        if self.0 & OFDM != 0 { Modulation::Ofdm(half_mbps) } else { Modulation::Dsss(half_mbps) }
    }
}

impl From<PhyMode> for PhyRate {
    fn from(mode: PhyMode) -> Self {
        Self(MODE | mode.packed())
    }
}

impl Ord for PhyRate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bit_rate().cmp(&other.bit_rate()).then_with(|| self.index().cmp(&other.index()))
    }
}

impl PartialOrd for PhyRate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Kind of a rate in the encoded form.
#[derive(Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
enum Kind {
    #[n(0)]
    Dsss,
    #[n(1)]
    Ofdm,
    #[n(2)]
    PhyMode,
}

impl<C> Encode<C> for PhyRate {
    /// Encodes a pair: the kind of rate, and half megabits per second or the mode.
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, ctx: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.array(2)?;
        match self.modulation() {
            Modulation::Dsss(half_mbps) => e.encode_with(Kind::Dsss, ctx)?.u8(half_mbps)?,
            Modulation::Ofdm(half_mbps) => e.encode_with(Kind::Ofdm, ctx)?.u8(half_mbps)?,
            Modulation::PhyMode(mode) => e.encode_with(Kind::PhyMode, ctx)?.encode_with(mode, ctx)?,
        };
        Ok(())
    }
}

impl<'b, C> Decode<'b, C> for PhyRate {
    /// Rejects rates of no standard.
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, decode::Error> {
        let at = d.position();
        let unknown = || decode::Error::message("not a rate of any standard").at(at);
        let fields = d.array()?;
        if fields.is_some_and(|fields| fields < 2) {
            return Err(unknown());
        }
        let rate = match d.decode_with(ctx)? {
            Kind::Dsss => Self(u16::from(d.u8()?)),
            Kind::Ofdm => Self(OFDM | u16::from(d.u8()?)),
            Kind::PhyMode => Self::from(d.decode_with::<_, PhyMode>(ctx)?),
        };
        skip_rest(d, fields, 2)?;
        let is_known = rate.mode().is_some() || DSSS_RATES.contains(&rate) || OFDM_RATES.contains(&rate);
        if is_known { Ok(rate) } else { Err(unknown()) }
    }
}

/// Skips the fields of an array that later versions may append.
fn skip_rest(d: &mut Decoder<'_>, fields: Option<u64>, read: u64) -> Result<(), decode::Error> {
    if let Some(fields) = fields {
        return (read..fields).try_for_each(|_| d.skip());
    }
    while d.datatype()? != minicbor::data::Type::Break {
        d.skip()?;
    }
    d.skip()
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dot11b => "802.11b",
            Self::Dot11a => "802.11a",
            Self::Dot11g => "802.11g",
            Self::Dot11n => "802.11n",
            Self::Dot11ac => "802.11ac",
            Self::Dot11ax => "802.11ax",
        })
    }
}

impl FromStr for Standard {
    type Err = UnknownStandard;

    /// Parses "802.11b" and, for short, "b".
    fn from_str(text: &str) -> Result<Self, UnknownStandard> {
        match text.strip_prefix("802.11").unwrap_or(text) {
            "b" => Ok(Self::Dot11b),
            "a" => Ok(Self::Dot11a),
            "g" => Ok(Self::Dot11g),
            "n" => Ok(Self::Dot11n),
            "ac" => Ok(Self::Dot11ac),
            "ax" => Ok(Self::Dot11ax),
            _ => Err(UnknownStandard),
        }
    }
}

impl fmt::Display for UnknownStandard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one of 802.11b, 802.11a, 802.11g, 802.11n, 802.11ac, 802.11ax")
    }
}

impl core::error::Error for UnknownStandard {}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ghz2_4 => "2.4 GHz",
            Self::Ghz5 => "5 GHz",
        })
    }
}

impl fmt::Display for PhyRate {
    /// In Mb/s, as in the standard: "5.5", "11"; rounded to one decimal: "86", "143.4".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.bit_rate().as_bps() + 50_000) / 100_000;
        match tenths % 10 {
            0 => write!(f, "{}", tenths / 10),
            tenth => write!(f, "{}.{tenth}", tenths / 10),
        }
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
        assert_eq!("be".parse::<Standard>(), Err(UnknownStandard));
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
        for (standard, kbps, mode) in [
            (Standard::Dot11ax, 86_029, "HE MCS 7, 20 MHz, 1 stream, GI 0.8 us"),
            (Standard::Dot11ac, 702_000, "VHT MCS 8, 80 MHz, 2 streams, GI 0.8 us"),
            (Standard::Dot11n, 72_200, "HT MCS 7, 20 MHz, 1 stream, GI 0.4 us"),
        ] {
            let found = standard.data_rate(BitRate::from_kbps(kbps)).and_then(PhyRate::mode);
            assert_eq!(found.map(|mode| mode.to_string()).as_deref(), Some(mode));
        }
        assert_eq!(Standard::Dot11ax.data_rate(BitRate::from_mbps(54)), Some(ofdm(54)));
        assert_eq!(Standard::Dot11g.data_rate(BitRate::from_mbps(65)), None);
        assert_eq!(Standard::Dot11ax.data_rate(BitRate::from_mbps(10)), None);
        assert_eq!(Standard::Dot11b.rate(BitRate::from_kbps(5_500)).map(|r| r.to_string()).as_deref(), Some("5.5"));
    }
}
