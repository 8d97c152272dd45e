//! The modes of 802.11n, ac and ax: how a frame is modulated, and its duration as far as that follows.
//!
//! A mode is a format, a modulation and coding scheme, a number of streams, a width and a guard interval. Its bit rate is
//! `N_DBPS / T_SYM`: whole data bits in each symbol, over the symbol's duration.
//!
//! Sources: IEEE Std 802.11-2020, clauses 19 (HT) and 21 (VHT); IEEE Std 802.11ax-2021, clause 27 (HE). Bandwidths are
//! those of one user who has the whole channel.
//!
//! Not here: unequal modulation and MCS 32 of HT, 80+80 MHz, resource units of several users, dual carrier modulation, the
//! extended range format of HE, LDPC's extra symbol, packet extension.

mod error;
mod text;

use core::fmt;

use evenair_units::{BitRate, Bytes, Span};
use minicbor::{Decode, Decoder, Encode, decode};

use crate::rate::{PhyRate, ofdm};

pub use error::ModeError;
pub use text::ModeTextError;

/// The format of a PPDU of 802.11n or later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Format {
    /// High throughput, 802.11n, in its mixed format (clause 19).
    #[n(0)]
    Ht,
    /// Very high throughput, 802.11ac (clause 21).
    #[n(1)]
    Vht,
    /// High efficiency, 802.11ax, to or from a single user (clause 27).
    #[n(2)]
    He,
}

/// Width of a channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Width {
    /// 20 MHz, the only width before 802.11n.
    #[default]
    #[n(0)]
    Mhz20,
    /// 40 MHz.
    #[n(1)]
    Mhz40,
    /// 80 MHz.
    #[n(2)]
    Mhz80,
    /// 160 MHz, contiguous.
    #[n(3)]
    Mhz160,
}

/// Guard interval: the cyclic prefix of each symbol, against inter-symbol interference by echoes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum GuardInterval {
    /// 0.4 us: HT and VHT, short guard interval.
    #[n(0)]
    Ns400,
    /// 0.8 us: all formats.
    #[n(1)]
    Ns800,
    /// 1.6 us: HE.
    #[n(2)]
    Ns1600,
    /// 3.2 us: HE.
    #[n(3)]
    Ns3200,
}

/// A mode of 802.11n or later: how a frame is sent. Only modes of the standard can be constructed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode)]
pub struct PhyMode {
    #[n(0)]
    format: Format,
    /// MCS of each stream.
    #[n(1)]
    mcs: u8,
    #[n(2)]
    streams: u8,
    #[n(3)]
    width: Width,
    #[n(4)]
    guard: GuardInterval,
}

/// Duration of payloads of a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Payload {
    overhead_bits: u64,
    bits_per_symbol: u64,
    symbol_ns: u64,
    /// Granularity of the durations.
    grain_ns: u64,
}

/// [`Payload`] for many sizes, without the divisions, which would dominate the cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Payloads {
    one: Payload,
    /// 2^64 / bits of a symbol, rounded up: the upper half of its product with a number of bits is the number of whole
    /// symbols, exactly, while number times divisor is below 2^64 (T. Granlund, P. L. Montgomery, "Division by Invariant
    /// Integers using Multiplication", PLDI 1994).
    reciprocal: u64,
}

impl Payload {
    pub(crate) const fn of(&self, psdu: Bytes) -> Span {
        self.of_symbols((self.overhead_bits + psdu.bits()).div_ceil(self.bits_per_symbol))
    }

    #[inline]
    const fn of_symbols(&self, symbols: u64) -> Span {
        let ns = symbols * self.symbol_ns;
        Span::from_nanos(if self.grain_ns == 1 { ns } else { ns.next_multiple_of(self.grain_ns) })
    }

    /// Prepares for many sizes.
    pub(crate) const fn for_many(self) -> Payloads {
        Payloads { one: self, reciprocal: u64::MAX / self.bits_per_symbol + 1 }
    }
}

impl Payloads {
    #[inline]
    pub(crate) const fn of(&self, psdu: Bytes) -> Span {
        // Round up to whole symbols: add all but one bit of a symbol.
        let bits = self.one.overhead_bits + psdu.bits() + self.one.bits_per_symbol - 1;
        self.one.of_symbols(((bits as u128 * self.reciprocal as u128) >> 64) as u64)
    }

    /// Time of the bits up to this offset of a PSDU, not rounded up to whole symbols.
    #[inline]
    pub(crate) const fn of_part(&self, psdu: Bytes) -> Span {
        let symbols = (self.one.overhead_bits + psdu.bits()) as u128 * self.reciprocal as u128;
        Span::from_nanos(((symbols * self.one.symbol_ns as u128) >> 64) as u64)
    }
}

/// Coded bits per subcarrier (N_BPSCS), and the code rate as a fraction, by MCS (clauses 19.5, 21.5, 27.5).
const SCHEMES: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];
/// Non-HT reference rate, Mb/s, by MCS (clause 10.6.11). Modulations above 64-QAM count as 54.
const REFERENCE_MBPS: [u8; 12] = [6, 12, 18, 24, 36, 48, 54, 54, 54, 54, 54, 54];
/// Data subcarriers (N_SD) by width, HT and VHT (clauses 19.5, 21.5).
const VHT_SUBCARRIERS: [u32; 4] = [52, 108, 234, 468];
/// Data subcarriers of HE by width, in the resource unit that fills the channel (clause 27.5).
const HE_SUBCARRIERS: [u32; 4] = [234, 468, 980, 1_960];
/// Number of long training fields by number of streams, for all formats (clauses 19.3, 21.3, 27.3).
const TRAINING_FIELDS: [u64; 8] = [1, 2, 4, 4, 6, 6, 8, 8];

/// SERVICE field in front of the payload, bits.
const SERVICE_BITS: u64 = 16;
/// Tail of each encoder, bits.
const TAIL_BITS: u64 = 6;
/// With the short guard interval, a frame ends on a symbol boundary of the long one: TXTIME in clauses 19.4.3, 21.4.3.
const SHORT_GUARD_GRAIN_NS: u64 = 4_000;

impl Format {
    /// Every format, oldest first.
    pub const ALL: [Self; 3] = [Self::Ht, Self::Vht, Self::He];

    /// Highest MCS of a stream.
    pub const fn highest_mcs(self) -> u8 {
        match self {
            Self::Ht => 7,
            Self::Vht => 9,
            Self::He => 11,
        }
    }

    /// Maximum number of streams.
    pub const fn most_streams(self) -> u8 {
        match self {
            Self::Ht => 4,
            Self::Vht | Self::He => 8,
        }
    }

    /// Widths of its channels, in ascending order.
    pub const fn widths(self) -> &'static [Width] {
        match self {
            Self::Ht => &[Width::Mhz20, Width::Mhz40],
            Self::Vht | Self::He => &Width::ALL,
        }
    }

    /// Guard intervals, in ascending order.
    pub const fn guard_intervals(self) -> &'static [GuardInterval] {
        match self {
            Self::Ht | Self::Vht => &[GuardInterval::Ns400, GuardInterval::Ns800],
            Self::He => &[GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200],
        }
    }
}

impl Width {
    /// Every width, narrowest first.
    pub const ALL: [Self; 4] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];

    /// The width of this many MHz, if there is one.
    pub fn of_mhz(mhz: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|width| width.mhz() == mhz)
    }

    /// Width in MHz.
    pub const fn mhz(self) -> u32 {
        20 << self as u32
    }
}

impl GuardInterval {
    /// Duration.
    pub const fn span(self) -> Span {
        Span::from_nanos(400 << self as u64)
    }
}

impl PhyMode {
    /// A mode of `streams` streams that all have this MCS (0 to 7 for HT, too; the HT index combines MCS and streams, see
    /// [`PhyMode::ht_index`]).
    ///
    /// # Errors
    /// See [`ModeError`].
    pub fn new(format: Format, mcs: u8, streams: u8, width: Width, guard: GuardInterval) -> Result<Self, ModeError> {
        if mcs > format.highest_mcs() {
            return Err(ModeError::Mcs(format, mcs));
        }
        if streams == 0 || streams > format.most_streams() {
            return Err(ModeError::Streams(format, streams));
        }
        if !format.widths().contains(&width) {
            return Err(ModeError::Width(format, width));
        }
        if !format.guard_intervals().contains(&guard) {
            return Err(ModeError::GuardInterval(format, guard));
        }
        if format == Format::Vht && vht_lacks(mcs, width, streams) {
            return Err(ModeError::Excluded { mcs, width, streams });
        }
        Ok(Self { format, mcs, streams, width, guard })
    }

    /// A mode of HT by its index, 0 to 31, which combines MCS and streams (clause 19.5).
    ///
    /// # Errors
    /// See [`ModeError`].
    pub fn of_ht_index(index: u8, width: Width, guard: GuardInterval) -> Result<Self, ModeError> {
        Self::new(Format::Ht, index % 8, index / 8 + 1, width, guard)
    }

    /// All modes of a format, ordered by width, guard interval, streams and MCS.
    pub fn all(format: Format) -> impl Iterator<Item = Self> {
        let widths = format.widths().iter();
        widths.flat_map(move |&width| {
            format.guard_intervals().iter().flat_map(move |&guard| {
                (1..=format.most_streams()).flat_map(move |streams| {
                    let of_mcs = move |mcs| Self::new(format, mcs, streams, width, guard).ok();
                    (0..=format.highest_mcs()).filter_map(of_mcs)
                })
            })
        })
    }

    /// Its format.
    pub const fn format(self) -> Format {
        self.format
    }

    /// The MCS of each stream.
    pub const fn mcs(self) -> u8 {
        self.mcs
    }

    /// The MCS index of HT, 0 to 31, which combines MCS and streams (clause 19.5). `None` for the other formats.
    pub const fn ht_index(self) -> Option<u8> {
        match self.format {
            Format::Ht => Some(self.mcs + 8 * (self.streams - 1)),
            Format::Vht | Format::He => None,
        }
    }

    /// Number of spatial streams.
    pub const fn streams(self) -> u8 {
        self.streams
    }

    /// The channel's width.
    pub const fn width(self) -> Width {
        self.width
    }

    /// Its guard interval.
    pub const fn guard_interval(self) -> GuardInterval {
        self.guard
    }

    /// Data bits per symbol of all streams (N_DBPS), rounded down as in the tables of HE.
    pub const fn bits_per_symbol(self) -> u32 {
        let (coded_bits, numerator, denominator) = SCHEMES[self.mcs as usize];
        let subcarriers = match self.format {
            Format::Ht | Format::Vht => VHT_SUBCARRIERS[self.width as usize],
            Format::He => HE_SUBCARRIERS[self.width as usize],
        };
        subcarriers * coded_bits * self.streams as u32 * numerator / denominator
    }

    /// Duration of a symbol with its guard interval (T_SYM): 3.2 us, or 12.8 us for HE, plus the guard interval.
    pub const fn symbol(self) -> Span {
        let useful_ns = match self.format {
            Format::Ht | Format::Vht => 3_200,
            Format::He => 12_800,
        };
        Span::from_nanos(useful_ns + self.guard.span().as_nanos())
    }

    /// Bits per second of the payload, rounded down; no two different rates round to the same value.
    pub const fn bit_rate(self) -> BitRate {
        BitRate::from_bps(self.bits_per_symbol() as u64 * 1_000_000_000 / self.symbol().as_nanos())
    }

    /// Duration of the preamble: legacy fields, the format's own fields, and training fields for each stream (clauses
    /// 19.3.2, 21.3.2, 27.3.4). HE training fields depend on the guard interval: 7.2 and 8 us as usual with 0.8 and 1.6 us
    /// (2x HE-LTF), and 16 us with 3.2 us (4x HE-LTF).
    pub const fn preamble(self) -> Span {
        let training_ns = match (self.format, self.guard) {
            (Format::Ht | Format::Vht, _) => 4_000,
            (Format::He, GuardInterval::Ns400 | GuardInterval::Ns800) => 7_200,
            (Format::He, GuardInterval::Ns1600) => 8_000,
            (Format::He, GuardInterval::Ns3200) => 16_000,
        };
        Span::from_nanos(self.fixed_preamble_ns() + self.training_fields() * training_ns)
    }

    /// Duration of its preamble without training fields, ns.
    pub(crate) const fn fixed_preamble_ns(self) -> u64 {
        match self.format {
            Format::Ht => 32_000,
            Format::Vht | Format::He => 36_000,
        }
    }

    /// Non-HT reference rate: the legacy rate that represents this mode in the choice of the response's rate (clause
    /// 10.6.11).
    pub const fn reference_rate(self) -> PhyRate {
        ofdm(REFERENCE_MBPS[self.mcs as usize])
    }

    /// The non-HT reference rate in half megabits per second.
    pub(crate) const fn reference_half_mbps(self) -> u8 {
        2 * REFERENCE_MBPS[self.mcs as usize]
    }

    /// Number of long training fields in its preamble.
    pub(crate) const fn training_fields(self) -> u64 {
        TRAINING_FIELDS[self.streams as usize - 1]
    }

    /// SERVICE and tail bits, which are sent in addition to those of the PSDU.
    const fn overhead_bits(self) -> u64 {
        SERVICE_BITS + TAIL_BITS * self.encoders()
    }

    /// Number of convolutional encoders (N_ES), each of which has a maximum rate, higher with the short guard interval
    /// (clauses 19.5, 21.5). LDPC, which HE uses above 20 MHz, has no tails; since coding changes a PPDU by at most one
    /// symbol, HE counts as one encoder.
    const fn encoders(self) -> u64 {
        let mbps_of_one = match (self.format, self.guard) {
            (Format::He, _) => return 1,
            (Format::Ht, GuardInterval::Ns400) => 350,
            (Format::Ht, _) => 320,
            (Format::Vht, GuardInterval::Ns400) => 600,
            (Format::Vht, _) => 540,
        };
        (self.bits_per_symbol() as u64 * 1_000).div_ceil(self.symbol().as_nanos() * mbps_of_one)
    }

    /// Durations of payloads: whole symbols; with the short guard interval, if `rounded`, multiples of 4 us.
    pub(crate) const fn payload(self, rounded: bool) -> Payload {
        Payload {
            overhead_bits: self.overhead_bits(),
            bits_per_symbol: self.bits_per_symbol() as u64,
            symbol_ns: self.symbol().as_nanos(),
            grain_ns: if rounded { self.grain_ns() } else { 1 },
        }
    }

    /// The largest PSDU whose payload takes at most `max`; zero if there is none.
    pub(crate) const fn largest_payload(self, max: Span, rounded: bool) -> Bytes {
        let ns = if rounded { max.as_nanos() / self.grain_ns() * self.grain_ns() } else { max.as_nanos() };
        let bits = (ns / self.symbol().as_nanos()).saturating_mul(self.bits_per_symbol() as u64);
        Bytes(bits.saturating_sub(self.overhead_bits()) / 8)
    }

    /// Granularity of the payload's duration, ns.
    const fn grain_ns(self) -> u64 {
        match self.guard {
            GuardInterval::Ns400 => SHORT_GUARD_GRAIN_NS,
            _ => 1,
        }
    }

    /// A unique number of 13 bits for each mode; adjacent MCS and streams differ in the lowest bits.
    pub(crate) const fn packed(self) -> u16 {
        let (format, width, guard) = (self.format as u16, self.width as u16, self.guard as u16);
        self.mcs as u16 | (self.streams as u16 - 1) << 4 | width << 7 | guard << 9 | format << 11
    }

    /// The mode with this [`Self::packed`] number.
    pub(crate) const fn unpacked(packed: u16) -> Self {
        let format = match packed >> 11 {
            0 => Format::Ht,
            1 => Format::Vht,
            _ => Format::He,
        };
        let width = match packed >> 7 & 3 {
            0 => Width::Mhz20,
            1 => Width::Mhz40,
            2 => Width::Mhz80,
            _ => Width::Mhz160,
        };
        let guard = match packed >> 9 & 3 {
            0 => GuardInterval::Ns400,
            1 => GuardInterval::Ns800,
            2 => GuardInterval::Ns1600,
            _ => GuardInterval::Ns3200,
        };
        Self { format, mcs: (packed & 15) as u8, streams: (packed >> 4 & 7) as u8 + 1, width, guard }
    }
}

/// Combinations that clause 21.5 excludes.
const fn vht_lacks(mcs: u8, width: Width, streams: u8) -> bool {
    match (mcs, width) {
        (9, Width::Mhz20) => streams != 3 && streams != 6,
        (6, Width::Mhz80) => streams == 3 || streams == 7,
        (9, Width::Mhz80) => streams == 6,
        (9, Width::Mhz160) => streams == 3,
        _ => false,
    }
}

/// Encoded form of a [`PhyMode`].
#[derive(Decode)]
struct ReadMode {
    #[n(0)]
    format: Format,
    #[n(1)]
    mcs: u8,
    #[n(2)]
    streams: u8,
    #[n(3)]
    width: Width,
    #[n(4)]
    guard: GuardInterval,
}

impl<'b, C> Decode<'b, C> for PhyMode {
    /// Rejects modes that the standard does not have.
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, decode::Error> {
        let at = d.position();
        let ReadMode { format, mcs, streams, width, guard } = d.decode_with(ctx)?;
        Self::new(format, mcs, streams, width, guard).map_err(|error| decode::Error::message(error).at(at))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ht => "HT",
            Self::Vht => "VHT",
            Self::He => "HE",
        })
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz", self.mhz())
    }
}

impl fmt::Display for GuardInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.span().as_nanos() / 100;
        write!(f, "{}.{} us", tenths / 10, tenths % 10)
    }
}

impl fmt::Display for PhyMode {
    /// In the common notation: "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us". HT has its MCS index.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, streams, width, guard, .. } = self;
        let plural = if *streams == 1 { "" } else { "s" };
        let mcs = self.ht_index().unwrap_or(self.mcs);
        write!(f, "{format} MCS {mcs}, {width}, {streams} stream{plural}, GI {guard}")
    }
}

impl fmt::Debug for PhyMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
#[path = "mode_tests.rs"]
mod tests;
