//! The PHY profile of one BSS: its timing, and the airtime of each frame.
//!
//! Clause numbers are those of IEEE Std 802.11-2016, and for 802.11n and later those of IEEE Std 802.11-2020 and
//! 802.11ax-2021.

mod exchange;

pub use self::exchange::block_ack_size;

use alloc::vec::Vec;
use core::fmt;

use evenair_units::{BitRate, Bytes, Span};
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use crate::aggregate::ALIGNMENT;
use crate::mode::{Format, Payloads, PhyMode, Width};
use crate::rate::{Band, Modulation, PhyRate, Standard};

/// LLC and SNAP in front of every IP packet (IEEE 802, IETF RFC 1042).
pub const LLC_SNAP: Bytes = Bytes(8);
/// Header of a DATA frame with three addresses and no QoS field (24), and the frame check sequence (4); clause 9.3.2.1.
pub const MAC_HEADER_AND_FCS: Bytes = Bytes(28);
/// QoS Control field, an addition of QoS DATA frames to the header (clause 9.2.4.5).
pub const QOS_CONTROL: Bytes = Bytes(2);
/// An ACK or a CTS frame (clauses 9.3.1.3, 9.3.1.4).
pub const ACK_CTS: Bytes = Bytes(14);
/// An RTS frame (clause 9.3.1.2).
pub const RTS: Bytes = Bytes(20);
/// A CF-End frame (clause 9.3.1.6).
pub const CF_END: Bytes = Bytes(20);
/// A BlockAckReq frame of the compressed variant (clause 9.3.1.7).
pub const BLOCK_ACK_REQUEST: Bytes = Bytes(24);
/// A BlockAck frame of the compressed variant without its bitmap (clause 9.3.1.8).
const BLOCK_ACK_HEADER: Bytes = Bytes(24);

/// The preamble of 802.11b frames. The OFDM standards have one preamble only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Preamble {
    /// 144 us and a header of 48 us at 1 Mb/s (clause 16.2.2.2).
    #[n(0)]
    Long,
    /// 72 us and a header of 24 us at 2 Mb/s (clause 16.2.2.3). Frames at 1 Mb/s keep the long one.
    #[n(1)]
    Short,
}

/// Timing of a standard, in microseconds.
#[derive(PartialEq, Eq, Debug)]
struct Timing {
    slot_us: u64,
    sifs_us: u64,
    cw_min: u32,
    cw_max: u32,
    /// OFDM only: preamble and SIGNAL field.
    ofdm_header_us: u64,
    /// OFDM only: silence at the end of a frame at 2.4 GHz, in which receivers finish decoding (clause 18.3.2.4).
    signal_extension_us: u64,
    /// aRxPHYStartDelay: from the start of a frame on the air to the PHY's indication that it receives one.
    rx_start_delay_us: u64,
}

/// HR/DSSS PHY characteristics, clause 16.3.3. The delay is that of the long preamble.
const DOT11B: Timing = Timing {
    slot_us: 20,
    sifs_us: 10,
    cw_min: 31,
    cw_max: 1023,
    ofdm_header_us: 0,
    signal_extension_us: 0,
    rx_start_delay_us: LONG_PREAMBLE_US,
};

/// OFDM PHY characteristics, clause 17.4.4; frame format, clause 17.3.2. Those of HT, VHT and HE at 5 GHz are the same
/// (clauses 19.4.4, 21.4.4, 27.4.4).
const DOT11A: Timing = Timing {
    slot_us: 9,
    sifs_us: 16,
    cw_min: 15,
    cw_max: 1023,
    ofdm_header_us: 20,
    signal_extension_us: 0,
    rx_start_delay_us: 20,
};

/// ERP characteristics, clause 18.5.4, with the short slot; those of HT and HE at 2.4 GHz are the same (clauses 19.4.4,
/// 27.4.4).
const DOT11G: Timing = Timing { sifs_us: 10, signal_extension_us: 6, ..DOT11A };

const LONG_PREAMBLE_US: u64 = 144 + 48;
const SHORT_PREAMBLE_US: u64 = 72 + 24;
/// One OFDM symbol (clause 17.3.2.4).
const SYMBOL_US: u64 = 4;
/// SERVICE field in front of the payload and tail behind it (clauses 17.3.5.2, 17.3.5.3).
const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;
/// VHT-SIG-B, which VHT preambles of ns-3 3.44 lack (`VhtPhy::GetSigBDuration`).
const NS3_MISSING_SIG_B_NS: u64 = 4_000;
/// A training field of HE in ns-3 3.44, with each guard interval.
const NS3_TRAINING_FIELD_NS: u64 = 8_000;

/// Timing of a standard in a band.
const fn timing(standard: Standard, band: Band) -> &'static Timing {
    match (standard, band) {
        (Standard::Dot11b, _) => &DOT11B,
        (_, Band::Ghz2_4) => &DOT11G,
        (_, Band::Ghz5) => &DOT11A,
    }
}

/// Data bits of an OFDM symbol at this rate in half megabits per second.
const fn bits_per_symbol(half_mbps: u8) -> u64 {
    half_mbps as u64 * SYMBOL_US / 2
}

/// One BSS's PHY profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phy {
    standard: Standard,
    preamble: Preamble,
    band: Band,
    /// Timing of the standard in its band.
    timing: &'static Timing,
    /// Whether durations are those of ns-3.
    is_ns3: bool,
    /// Whether receivers of OFDM decide each bit before decoding.
    hard_decisions: bool,
    /// Bit mask of the basic rates, one bit for each of `standard.rates()`.
    basic: u16,
    /// First and largest contention window.
    windows: (u32, u32),
}

/// Why a profile is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PhyError {
    /// A BSS has at least one basic rate.
    NoBasicRate,
    /// A basic rate is not one of the standard's.
    NotARateOf(Standard, PhyRate),
    /// Only 802.11b has a short preamble.
    NoShortPreamble(Standard),
    /// The standard is not used in this band.
    NotInBand(Standard, Band),
}

impl Phy {
    /// A profile with these basic rates, at which control frames and broadcasts are sent.
    ///
    /// # Errors
    /// See [`PhyError`].
    pub fn new(standard: Standard, preamble: Preamble, basic_rates: &[PhyRate]) -> Result<Self, PhyError> {
        if preamble == Preamble::Short && standard != Standard::Dot11b {
            return Err(PhyError::NoShortPreamble(standard));
        }
        let mut basic = 0;
        for &rate in basic_rates {
            let index = standard.rates().iter().position(|&known| known == rate);
            basic |= 1 << index.ok_or(PhyError::NotARateOf(standard, rate))?;
        }
        if basic == 0 {
            return Err(PhyError::NoBasicRate);
        }
        let band = standard.bands()[0];
        let timing = timing(standard, band);
        let windows = (timing.cw_min, timing.cw_max);
        Ok(Self { standard, preamble, band, timing, is_ns3: false, hard_decisions: false, basic, windows })
    }

    /// The usual profile: long preamble and basic rates 1 and 2 for 802.11b, basic rates 6, 12 and 24 for OFDM; 5 GHz for
    /// the standards that are used there and at 2.4 GHz.
    pub fn default_for(standard: Standard) -> Self {
        let basic = match standard {
            Standard::Dot11b => &standard.rates()[..2],
            _ => standard.mandatory_rates(),
        };
        Self::new(standard, Preamble::Long, basic).expect("the rates are the standard's own")
    }

    /// Its standard.
    pub const fn standard(&self) -> Standard {
        self.standard
    }

    /// The preamble of its DSSS frames.
    pub const fn preamble(&self) -> Preamble {
        self.preamble
    }

    /// Its band.
    pub const fn band(&self) -> Band {
        self.band
    }

    /// The profile in another band: 802.11n and ax have the timing of 802.11g at 2.4 GHz.
    ///
    /// # Errors
    /// [`PhyError::NotInBand`].
    pub fn in_band(self, band: Band) -> Result<Self, PhyError> {
        if !self.standard.bands().contains(&band) {
            return Err(PhyError::NotInBand(self.standard, band));
        }
        Ok(Self { band, timing: timing(self.standard, band), ..self })
    }

    /// The profile with the durations of ns-3 3.44 for frames of 802.11n and later, only for comparisons with it: VHT
    /// preambles lack VHT-SIG-B (4 us), training fields of HE take 8 us with each guard interval, and frames with the short
    /// guard interval do not end on a boundary of 4 us. RTS and CTS in front of such frames use the highest basic rate,
    /// CF-End behind them the lowest. MPDUs end within a symbol ([`PpduTimes::mpdu_end`]).
    pub fn with_ns3_durations(self) -> Self {
        Self { is_ns3: true, ..self }
    }

    /// The profile with hard decisions: receivers of OFDM decide each bit before decoding, and need 3 to 4 dB more SNR. For
    /// networks of 802.11a and g, whose published simulations often use it.
    pub fn with_hard_decisions(self) -> Self {
        Self { hard_decisions: true, ..self }
    }

    /// Whether receivers of OFDM decide each bit before decoding.
    pub(crate) const fn has_hard_decisions(&self) -> bool {
        self.hard_decisions
    }

    /// Whether DATA can be sent at this rate in this BSS: at its standard's own rates, and in the formats of its standard
    /// and of those before it. VHT is not for 2.4 GHz, nor are channels wider than 40 MHz.
    pub fn takes(&self, rate: PhyRate) -> bool {
        let Some(mode) = rate.mode() else { return self.standard.rates().contains(&rate) };
        let fits_band = match self.band {
            Band::Ghz2_4 => mode.format() != Format::Vht && mode.width() <= Width::Mhz40,
            Band::Ghz5 => true,
        };
        fits_band && self.standard.formats().contains(&mode.format())
    }

    /// The rate of DATA of this bit rate in this BSS; see [`Standard::data_rate`].
    pub fn data_rate(&self, bit_rate: BitRate) -> Option<PhyRate> {
        self.standard.data_rate_of(bit_rate, |rate| self.takes(rate))
    }

    /// The profile with other contention windows than its standard's.
    pub const fn with_windows(self, cw_min: u32, cw_max: u32) -> Self {
        Self { windows: (cw_min, cw_max), ..self }
    }

    /// The unit of back-off.
    pub const fn slot(&self) -> Span {
        Span::from_micros(self.timing.slot_us)
    }

    /// Gap between a frame and its response.
    pub const fn sifs(&self) -> Span {
        Span::from_micros(self.timing.sifs_us)
    }

    /// Silence required before back-off counts: SIFS and two slots (clause 10.3.7).
    pub const fn difs(&self) -> Span {
        Span::from_micros(self.timing.sifs_us + 2 * self.timing.slot_us)
    }

    /// Silence required after a frame that could not be decoded: room for an ACK at the lowest mandatory rate, and
    /// DIFS (clause 10.3.7).
    pub fn eifs(&self) -> Span {
        self.sifs() + self.ppdu(ACK_CTS, self.standard.mandatory_rates()[0]) + self.difs()
    }

    /// How long a sender waits for the start of an ACK or CTS: SIFS, a slot, and the detection delay (clause 10.3.2.9).
    pub const fn response_timeout(&self) -> Span {
        let timing = self.timing;
        let delay = match self.preamble {
            Preamble::Long => timing.rx_start_delay_us,
            Preamble::Short => SHORT_PREAMBLE_US,
        };
        Span::from_micros(timing.sifs_us + timing.slot_us + delay)
    }

    /// First contention window: back-off is drawn from `0..=cw_min` slots.
    pub const fn cw_min(&self) -> u32 {
        self.windows.0
    }

    /// Largest contention window.
    pub const fn cw_max(&self) -> u32 {
        self.windows.1
    }

    /// The lowest basic rate: that of broadcasts.
    pub fn lowest_basic(&self) -> PhyRate {
        self.standard.rates()[self.basic.trailing_zeros() as usize]
    }

    /// The rate of the response to a frame at `data`: the highest basic rate that is not higher or, if there is none, the
    /// highest mandatory one (clause 10.7.6.5.2). For a mode its non-HT reference rate counts.
    pub fn control_rate(&self, data: PhyRate) -> PhyRate {
        // Plain numbers, as each packet's airtime needs this: modes are not among the rates of responses.
        let most = data.reference_half_mbps();
        let rates = self.standard.rates();
        let is_slow_enough = |rate: PhyRate| rate.reference_half_mbps() <= most;
        let basic = (0..rates.len()).rev().find(|&i| self.basic & (1 << i) != 0 && is_slow_enough(rates[i]));
        let mandatory = || self.standard.mandatory_rates().iter().rev().find(|&&rate| is_slow_enough(rate));
        basic.map_or_else(|| *mandatory().unwrap_or(&rates[0]), |i| rates[i])
    }

    /// Airtime of a PSDU (a whole MAC frame with its FCS, or an A-MPDU): preamble, header and payload, as TXTIME in clauses
    /// 16.3.4 (rounded up to a microsecond), 17.4.3 and 18.5.3, and for modes in 19.4.3, 21.4.3 and 27.4.3.
    pub const fn ppdu(&self, psdu: Bytes, rate: PhyRate) -> Span {
        let us = match rate.modulation() {
            Modulation::Dsss(half_mbps) => {
                self.dsss_header_us(half_mbps) + (2 * psdu.bits()).div_ceil(half_mbps as u64)
            }
            Modulation::Ofdm(half_mbps) => {
                let symbols = (SERVICE_AND_TAIL_BITS + psdu.bits()).div_ceil(bits_per_symbol(half_mbps));
                self.ofdm_overhead_us() + symbols * SYMBOL_US
            }
            Modulation::PhyMode(mode) => return self.mode_ppdu(psdu, mode),
        };
        Span::from_micros(us)
    }

    /// Separate, so that the rest of [`Phy::ppdu`] stays small enough to be inlined.
    #[inline(never)]
    const fn mode_ppdu(&self, psdu: Bytes, mode: PhyMode) -> Span {
        Span::from_nanos(self.mode_overhead(mode).as_nanos() + mode.payload(!self.is_ns3).of(psdu).as_nanos())
    }

    /// Precomputed times of PPDUs of this mode: [`Phy::ppdu`] for many sizes, and the ends of MPDUs.
    pub const fn ppdu_times(&self, mode: PhyMode) -> PpduTimes {
        let payloads = mode.payload(!self.is_ns3).for_many();
        let preamble = if self.is_ns3 { Some(self.mode_preamble(mode)) } else { None };
        PpduTimes { overhead: self.mode_overhead(mode), payloads, ns3_preamble: preamble }
    }

    /// The largest PSDU whose PPDU takes at most `max`: the inverse of [`Phy::ppdu`]. Zero if not even one byte fits.
    pub const fn largest_psdu(&self, rate: PhyRate, max: Span) -> Bytes {
        let bits = match rate.modulation() {
            Modulation::Dsss(half_mbps) => {
                let payload_us = max.as_micros().saturating_sub(self.dsss_header_us(half_mbps));
                payload_us.saturating_mul(half_mbps as u64) / 2
            }
            Modulation::Ofdm(half_mbps) => {
                let symbols = max.as_micros().saturating_sub(self.ofdm_overhead_us()) / SYMBOL_US;
                symbols.saturating_mul(bits_per_symbol(half_mbps)).saturating_sub(SERVICE_AND_TAIL_BITS)
            }
            Modulation::PhyMode(mode) => {
                return mode.largest_payload(max.saturating_sub(self.mode_overhead(mode)), !self.is_ns3);
            }
        };
        Bytes(bits / 8)
    }

    /// Preamble and header of a DSSS frame, us; at 1 Mb/s always the long ones.
    const fn dsss_header_us(&self, half_mbps: u8) -> u64 {
        match self.preamble {
            Preamble::Short if half_mbps > 2 => SHORT_PREAMBLE_US,
            Preamble::Long | Preamble::Short => LONG_PREAMBLE_US,
        }
    }

    /// Duration of an OFDM frame without its payload symbols, us.
    const fn ofdm_overhead_us(&self) -> u64 {
        self.timing.ofdm_header_us + self.timing.signal_extension_us
    }

    /// Duration of a frame in this mode without its payload.
    const fn mode_overhead(&self, mode: PhyMode) -> Span {
        Span::from_nanos(self.mode_preamble(mode).as_nanos() + self.timing.signal_extension_us * 1_000)
    }

    /// Duration of the preamble of a frame in this mode.
    const fn mode_preamble(&self, mode: PhyMode) -> Span {
        let ns = match mode.format() {
            Format::Vht if self.is_ns3 => mode.preamble().as_nanos() - NS3_MISSING_SIG_B_NS,
            Format::He if self.is_ns3 => mode.fixed_preamble_ns() + mode.training_fields() * NS3_TRAINING_FIELD_NS,
            _ => mode.preamble().as_nanos(),
        };
        Span::from_nanos(ns)
    }
}

/// Precomputed times of PPDUs of one mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PpduTimes {
    /// Preamble and signal extension.
    overhead: Span,
    payloads: Payloads,
    /// The preamble, where MPDUs end as in ns-3.
    ns3_preamble: Option<Span>,
}

impl PpduTimes {
    /// Airtime of a PPDU with a PSDU of this size.
    #[inline]
    pub const fn of(&self, psdu: Bytes) -> Span {
        Span::from_nanos(self.overhead.as_nanos() + self.payloads.of(psdu).as_nanos())
    }

    /// Time from the start of a PPDU to the end of an MPDU that ends at this offset of the A-MPDU, and is not its last one: the end
    /// of the symbol with its last bit, before which no receiver can decode it, and of the signal extension. In ns-3 3.44 it ends
    /// within the symbol, with the padding of its subframe; the tail bits count with the first MPDU, the signal extension with
    /// the last (`HtPhy::GetPayloadDuration`, `PhyEntity::ScheduleEndOfMpdus`).
    #[inline]
    pub const fn mpdu_end(&self, offset: Bytes) -> Span {
        let Some(preamble) = self.ns3_preamble else { return self.of(offset) };
        let subframe = Bytes(offset.0.next_multiple_of(ALIGNMENT));
        Span::from_nanos(preamble.as_nanos() + self.payloads.of_part(subframe).as_nanos())
    }
}

/// Encoded form of a [`Phy`].
#[derive(Encode, Decode)]
#[cbor(map)]
struct EncodedPhy {
    #[n(0)]
    standard: Standard,
    #[n(1)]
    preamble: Preamble,
    #[n(2)]
    basic: Vec<PhyRate>,
    /// First and largest contention window, if not those of the standard.
    #[n(3)]
    windows: Option<(u32, u32)>,
    /// Band, if not the usual one of the standard.
    #[n(4)]
    band: Option<Band>,
    /// Durations, if not those of the standard.
    #[n(5)]
    durations: Option<Durations>,
    /// Decisions of receivers, if not soft.
    #[n(6)]
    decisions: Option<Decisions>,
}

/// Encoded non-default decisions of receivers.
#[derive(Clone, Copy, Encode, Decode)]
#[cbor(index_only)]
enum Decisions {
    #[n(0)]
    Hard,
}

/// Encoded non-standard durations.
#[derive(Clone, Copy, Encode, Decode)]
#[cbor(index_only)]
enum Durations {
    #[n(0)]
    Ns3,
}

/// The largest contention window that EDCA parameters can encode (clause 9.4.2.29: an exponent of 4 bits).
const LARGEST_WINDOW: u32 = (1 << 15) - 1;

impl<C> Encode<C> for Phy {
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, ctx: &mut C) -> Result<(), encode::Error<W::Error>> {
        let is_basic = |(index, _): &(usize, &PhyRate)| self.basic & (1 << index) != 0;
        let basic = self.standard.rates().iter().enumerate().filter(is_basic).map(|(_, &rate)| rate).collect();
        let windows = (self.windows != (self.timing.cw_min, self.timing.cw_max)).then_some(self.windows);
        let band = (self.band != self.standard.bands()[0]).then_some(self.band);
        let durations = self.is_ns3.then_some(Durations::Ns3);
        let decisions = self.hard_decisions.then_some(Decisions::Hard);
        let (standard, preamble) = (self.standard, self.preamble);
        EncodedPhy { standard, preamble, basic, windows, band, durations, decisions }.encode(e, ctx)
    }
}

impl<'b, C> Decode<'b, C> for Phy {
    /// Rejects invalid profiles.
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, decode::Error> {
        let at = d.position();
        let EncodedPhy { standard, preamble, basic, windows, band, durations, decisions } = d.decode_with(ctx)?;
        let phy = Self::new(standard, preamble, &basic)
            .and_then(|phy| phy.in_band(band.unwrap_or(standard.bands()[0])))
            .map_err(|error| decode::Error::message(error).at(at))?;
        let phy = match durations {
            None => phy,
            Some(Durations::Ns3) => phy.with_ns3_durations(),
        };
        let phy = match decisions {
            None => phy,
            Some(Decisions::Hard) => phy.with_hard_decisions(),
        };
        match windows {
            None => Ok(phy),
            Some((min, max)) if min <= max && max <= LARGEST_WINDOW => Ok(phy.with_windows(min, max)),
            Some(_) => Err(decode::Error::message("contention windows that cannot be").at(at)),
        }
    }
}

impl fmt::Display for PhyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBasicRate => f.write_str("no basic rate: at least one is needed for ACKs and broadcasts"),
            Self::NotARateOf(standard, rate) => {
                write!(f, "{rate} Mb/s is not a rate of {standard}, which has")?;
                standard.rates().iter().try_for_each(|known| write!(f, " {known}"))
            }
            Self::NoShortPreamble(standard) => write!(f, "{standard} has no short preamble: only 802.11b has"),
            Self::NotInBand(standard, band) => {
                write!(f, "{standard} is not used at {band}, only at {}", standard.bands()[0])
            }
        }
    }
}

impl core::error::Error for PhyError {}

#[cfg(test)]
#[path = "phy_tests.rs"]
mod tests;
