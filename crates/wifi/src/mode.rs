//! The modes of 802.11n, ac and ax: how a frame is modulated, and what of its duration follows from that alone.
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

/// The width of a channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Width {
    /// 20 MHz: all that standards before 802.11n have.
    #[default]
    #[n(0)]
    Mhz20,
    /// 40 MHz.
    #[n(1)]
    Mhz40,
    /// 80 MHz.
    #[n(2)]
    Mhz80,
    /// 160 MHz, in one piece.
    #[n(3)]
    Mhz160,
}

/// What each symbol repeats of itself, so that echoes do not reach into the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum GuardInterval {
    /// 0.4 us: HT and VHT, the short one.
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

/// How a frame of 802.11n or later is sent. Only modes that the standard has can be made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode)]
pub struct PhyMode {
    #[n(0)]
    format: Format,
    /// Of each stream.
    #[n(1)]
    mcs: u8,
    #[n(2)]
    streams: u8,
    #[n(3)]
    width: Width,
    #[n(4)]
    guard: GuardInterval,
}

/// How long payloads of a mode take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Payload {
    overhead_bits: u64,
    bits_per_symbol: u64,
    symbol_ns: u64,
    /// They are multiples of this.
    grain_ns: u64,
}

/// The same for many payloads: without the divisions, which would be most of the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Payloads {
    one: Payload,
    /// 2^64 by the bits of a symbol, rounded up: the upper half of its product with a number of bits is how many whole
    /// symbols these are, exactly, while number times divisor is below 2^64 (T. Granlund, P. L. Montgomery, "Division
    /// by Invariant Integers using Multiplication", PLDI 1994).
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

    /// For many.
    pub(crate) const fn for_many(self) -> Payloads {
        Payloads { one: self, reciprocal: u64::MAX / self.bits_per_symbol + 1 }
    }
}

impl Payloads {
    #[inline]
    pub(crate) const fn of(&self, psdu: Bytes) -> Span {
        // As many whole symbols as there are in the bits and all but one bit of a symbol.
        let bits = self.one.overhead_bits + psdu.bits() + self.one.bits_per_symbol - 1;
        self.one.of_symbols(((bits as u128 * self.reciprocal as u128) >> 64) as u64)
    }
}

/// Coded bits of each subcarrier (N_BPSCS), and the code's rate as a fraction, by MCS (clauses 19.5, 21.5, 27.5).
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
/// Non-HT reference rate, Mb/s, by MCS (clause 10.6.11). What is faster than 64-QAM counts as 54.
const REFERENCE_MBPS: [u8; 12] = [6, 12, 18, 24, 36, 48, 54, 54, 54, 54, 54, 54];
/// Data subcarriers (N_SD) by width, HT and VHT (clauses 19.5, 21.5).
const VHT_SUBCARRIERS: [u32; 4] = [52, 108, 234, 468];
/// The same of HE in the resource unit that fills the channel (clause 27.5).
const HE_SUBCARRIERS: [u32; 4] = [234, 468, 980, 1_960];
/// Long training fields by streams, the same for all formats (clauses 19.3, 21.3, 27.3).
const TRAINING_FIELDS: [u64; 8] = [1, 2, 4, 4, 6, 6, 8, 8];

/// SERVICE field in front of the payload, bits.
const SERVICE_BITS: u64 = 16;
/// Tail of each encoder, bits.
const TAIL_BITS: u64 = 6;
/// With the short guard interval, a frame ends on a boundary of the long one's symbols: TXTIME in clauses 19.4.3, 21.4.3.
const SHORT_GUARD_GRAIN_NS: u64 = 4_000;

impl Format {
    /// Every format, oldest first.
    pub const ALL: [Self; 3] = [Self::Ht, Self::Vht, Self::He];

    /// The highest MCS of a stream.
    pub const fn highest_mcs(self) -> u8 {
        match self {
            Self::Ht => 7,
            Self::Vht => 9,
            Self::He => 11,
        }
    }

    /// The most streams.
    pub const fn most_streams(self) -> u8 {
        match self {
            Self::Ht => 4,
            Self::Vht | Self::He => 8,
        }
    }

    /// The widths of its channels, narrowest first.
    pub const fn widths(self) -> &'static [Width] {
        match self {
            Self::Ht => &[Width::Mhz20, Width::Mhz40],
            Self::Vht | Self::He => &Width::ALL,
        }
    }

    /// Its guard intervals, shortest first.
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

    /// That of so many MHz.
    pub fn of_mhz(mhz: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|width| width.mhz() == mhz)
    }

    /// In MHz.
    pub const fn mhz(self) -> u32 {
        20 << self as u32
    }
}

impl GuardInterval {
    /// As a time.
    pub const fn span(self) -> Span {
        Span::from_nanos(400 << self as u64)
    }
}

impl PhyMode {
    /// A mode of `streams` streams that all have this MCS (0 to 7 for HT too, whose index counts the streams besides; see
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

    /// A mode of HT by its index, which counts the streams too (clause 19.5): 0 to 31.
    ///
    /// # Errors
    /// See [`ModeError`].
    pub fn of_ht_index(index: u8, width: Width, guard: GuardInterval) -> Result<Self, ModeError> {
        Self::new(Format::Ht, index % 8, index / 8 + 1, width, guard)
    }

    /// Every mode of a format: by width, guard interval and streams, and for each of these by MCS.
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

    /// The MCS index of HT, which counts the streams too (clause 19.5): 0 to 31. `None` for the other formats.
    pub const fn ht_index(self) -> Option<u8> {
        match self.format {
            Format::Ht => Some(self.mcs + 8 * (self.streams - 1)),
            Format::Vht | Format::He => None,
        }
    }

    /// How many spatial streams.
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

    /// Data bits of each symbol, of all streams together (N_DBPS): rounded down, as the tables of HE have it.
    pub const fn bits_per_symbol(self) -> u32 {
        let (coded_bits, numerator, denominator) = SCHEMES[self.mcs as usize];
        let subcarriers = match self.format {
            Format::Ht | Format::Vht => VHT_SUBCARRIERS[self.width as usize],
            Format::He => HE_SUBCARRIERS[self.width as usize],
        };
        subcarriers * coded_bits * self.streams as u32 * numerator / denominator
    }

    /// A symbol with its guard interval (T_SYM): 3.2 us and that, or 12.8 us for HE.
    pub const fn symbol(self) -> Span {
        let useful_ns = match self.format {
            Format::Ht | Format::Vht => 3_200,
            Format::He => 12_800,
        };
        Span::from_nanos(useful_ns + self.guard.span().as_nanos())
    }

    /// Bits of payload per second of payload time, rounded down to whole ones: no two different rates round to the same.
    pub const fn bit_rate(self) -> BitRate {
        BitRate::from_bps(self.bits_per_symbol() as u64 * 1_000_000_000 / self.symbol().as_nanos())
    }

    /// What precedes the payload: fields of the older formats, of this one's own, and training fields for each stream
    /// (clauses 19.3.2, 21.3.2, 27.3.4). Those of HE are long by guard interval: 7.2 and 8 us as usual with 0.8 and 1.6 us
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

    /// Its preamble but for training fields.
    pub(crate) const fn fixed_preamble_ns(self) -> u64 {
        match self.format {
            Format::Ht => 32_000,
            Format::Vht | Format::He => 36_000,
        }
    }

    /// The non-HT reference rate: the rate of older formats that stands for this one where the rate of an answer is chosen
    /// (clause 10.6.11).
    pub const fn reference_rate(self) -> PhyRate {
        ofdm(REFERENCE_MBPS[self.mcs as usize])
    }

    /// The non-HT reference rate in half megabits per second.
    pub(crate) const fn reference_half_mbps(self) -> u8 {
        2 * REFERENCE_MBPS[self.mcs as usize]
    }

    /// How many long training fields its preamble has.
    pub(crate) const fn training_fields(self) -> u64 {
        TRAINING_FIELDS[self.streams as usize - 1]
    }

    /// SERVICE and tails: bits that are sent beside those of the PSDU.
    const fn overhead_bits(self) -> u64 {
        SERVICE_BITS + TAIL_BITS * self.encoders()
    }

    /// Convolutional encoders (N_ES), each of which takes a part of the rate, which is larger with the short guard interval
    /// (clauses 19.5, 21.5). LDPC, which HE has above 20 MHz, needs no tails; as one choice of
    /// coding changes a PPDU by a symbol at most, HE counts as one encoder.
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

    /// How long payloads take: whole symbols, and where `rounded` with the short guard interval up to a multiple of 4 us.
    pub(crate) const fn payload(self, rounded: bool) -> Payload {
        Payload {
            overhead_bits: self.overhead_bits(),
            bits_per_symbol: self.bits_per_symbol() as u64,
            symbol_ns: self.symbol().as_nanos(),
            grain_ns: if rounded { self.grain_ns() } else { 1 },
        }
    }

    /// The largest PSDU whose payload takes no longer, and zero where none does.
    pub(crate) const fn largest_payload(self, max: Span, rounded: bool) -> Bytes {
        let ns = if rounded { max.as_nanos() / self.grain_ns() * self.grain_ns() } else { max.as_nanos() };
        let bits = (ns / self.symbol().as_nanos()).saturating_mul(self.bits_per_symbol() as u64);
        Bytes(bits.saturating_sub(self.overhead_bits()) / 8)
    }

    /// The payload's time is a multiple of this.
    const fn grain_ns(self) -> u64 {
        match self.guard {
            GuardInterval::Ns400 => SHORT_GUARD_GRAIN_NS,
            _ => 1,
        }
    }

    /// A number of 13 bits, of its own for each mode; neighbouring MCS and streams differ in the lowest.
    pub(crate) const fn packed(self) -> u16 {
        let (format, width, guard) = (self.format as u16, self.width as u16, self.guard as u16);
        self.mcs as u16 | (self.streams as u16 - 1) << 4 | width << 7 | guard << 9 | format << 11
    }

    /// The mode of such a number.
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

/// The combinations that clause 21.5 leaves out.
const fn vht_lacks(mcs: u8, width: Width, streams: u8) -> bool {
    match (mcs, width) {
        (9, Width::Mhz20) => streams != 3 && streams != 6,
        (6, Width::Mhz80) => streams == 3 || streams == 7,
        (9, Width::Mhz80) => streams == 6,
        (9, Width::Mhz160) => streams == 3,
        _ => false,
    }
}

/// What is read of a [`PhyMode`].
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
    /// Only a mode that can be is decoded.
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
    /// As products and tools write it: "HE MCS 7, 80 MHz, 2 streams, GI 0.8 us". The MCS of HT is its index.
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
