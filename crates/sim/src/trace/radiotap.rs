//! Radiotap headers: a monitor's metadata of a captured frame. Fields are those of radiotap.org.
//!
//! Values that the medium does not have are marked as unknown: signal strengths, the BSS colour and the coding of HE, the
//! partial AID of VHT.

use evenair_medium::Transmission;
use evenair_scenario::Scenario;
use evenair_units::{Bytes, Instant};
use evenair_wifi::{Band, Format, GuardInterval, Phy, PhyMode, Preamble, Standard, Width};

/// Bits of the fields that may be present.
mod present {
    pub(super) const TSFT: u32 = 1;
    pub(super) const FLAGS: u32 = 1 << 1;
    pub(super) const RATE: u32 = 1 << 2;
    pub(super) const CHANNEL: u32 = 1 << 3;
    pub(super) const MCS: u32 = 1 << 19;
    pub(super) const A_MPDU_STATUS: u32 = 1 << 20;
    pub(super) const VHT: u32 = 1 << 21;
    pub(super) const HE: u32 = 1 << 23;
}

const SHORT_PREAMBLE: u8 = 0x02;
const HAS_FCS: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_OFDM: u16 = 0x0040;
const CHANNEL_2GHZ: u16 = 0x0080;
const CHANNEL_5GHZ: u16 = 0x0100;

/// A-MPDU status: whether the MPDU is the last one is known; it is; whether it is the only one (EOF) is known; it is.
const LAST_KNOWN: u16 = 0x0004;
const IS_LAST: u16 = 0x0008;
const IS_ONLY: u16 = 0x0040;
const ONLY_KNOWN: u16 = 0x0080;

/// MCS: all is known: bandwidth, index, guard interval, format (mixed: 0), coding (BCC: 0), STBC (none: 0).
const MCS_KNOWN: u8 = 0x3f;
const MCS_SHORT_GUARD: u8 = 0x04;

/// VHT: STBC (none: 0), guard interval and bandwidth are known.
const VHT_KNOWN: u16 = 0x0001 | 0x0004 | 0x0040;
const VHT_SHORT_GUARD: u8 = 0x04;

/// HE: MCS, DCM (none: 0), STBC (none: 0), bandwidth, and in the second word guard interval are known; the format is SU (0).
const HE_KNOWN: u16 = 0x0020 | 0x0040 | 0x0200 | 0x4000;
const HE_GUARD_KNOWN: u16 = 0x0002;

/// Properties that all captures of a run share.
#[derive(Debug)]
pub(super) struct Radio {
    phy: Phy,
    short_preamble: bool,
}

/// A frame that is captured.
#[derive(Clone, Copy)]
pub(super) struct Capture<'a> {
    pub(super) transmission: &'a Transmission,
    pub(super) channel: Option<u32>,
    /// The frame without its FCS.
    pub(super) frame: &'a [u8],
    pub(super) received: bool,
    /// Its position in an A-MPDU, if it is in one.
    pub(super) part: Option<Part>,
}

/// Position of an MPDU in an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Reference number of the A-MPDU, the same for all its MPDUs and different from those near it.
    pub(super) reference: u32,
    pub(super) is_last: bool,
    pub(super) is_only: bool,
}

impl Radio {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let phy = scenario.radio.phy.clone();
        let short_preamble = phy.standard() == Standard::Dot11b && phy.preamble() == Preamble::Short;
        Self { phy, short_preamble }
    }

    /// Whether a single frame is sent as an A-MPDU of one, as in VHT and HE.
    pub(super) fn delimits(&self, transmission: &Transmission, frame: &[u8]) -> bool {
        let mpdu = Bytes(frame.len() as u64 + 4);
        self.phy.single_mpdu(mpdu, transmission.rate) != mpdu
    }

    /// The captured frame: with a radiotap header and, at its end, the FCS.
    pub(super) fn capture(&self, capture: Capture<'_>) -> Vec<u8> {
        let Capture { transmission, channel, frame, received, part } = capture;
        let mut header = self.header(transmission, channel, received);
        let mode = transmission.rate.mode();
        if let Some(mode) = mode.filter(|mode| mode.format() == Format::Ht) {
            header.add(present::MCS, 1, &mcs(mode));
        }
        if let Some(part) = part {
            header.add(present::A_MPDU_STATUS, 4, &a_mpdu_status(part));
        }
        match mode.map(|mode| (mode.format(), mode)) {
            Some((Format::Vht, mode)) => header.add(present::VHT, 2, &vht(mode)),
            Some((Format::He, mode)) => header.add(present::HE, 2, &he(mode)),
            Some((Format::Ht, _)) | None => {}
        }
        let mut out = header.finish();
        out.extend(frame);
        let fcs = crc32fast::hash(frame);
        // A frame that was not received has a wrong checksum.
        out.extend(if received { fcs } else { !fcs }.to_le_bytes());
        out
    }

    /// Fields of all frames: time, flags, channel, and the rate if the standard is one of the older ones.
    fn header(&self, transmission: &Transmission, channel: Option<u32>, received: bool) -> Header {
        let mut flags = HAS_FCS;
        flags |= if self.short_preamble { SHORT_PREAMBLE } else { 0 };
        flags |= if received { 0 } else { BAD_FCS };
        // Without a channel: channel 6 of the 2.4 GHz band, or channel 36 of the 5 GHz band.
        let channel = channel.map(|channel| channel as u16);
        let (mhz, band): (u16, u16) = match (self.phy.band(), self.phy.standard()) {
            (Band::Ghz5, _) => (5000 + 5 * channel.unwrap_or(36), CHANNEL_5GHZ | CHANNEL_OFDM),
            (Band::Ghz2_4, Standard::Dot11b) => (mhz_of(channel), CHANNEL_2GHZ | CHANNEL_CCK),
            (Band::Ghz2_4, _) => (mhz_of(channel), CHANNEL_2GHZ | CHANNEL_OFDM),
        };
        let us = transmission.at.saturating_since(Instant::ZERO).as_nanos() / 1000;
        let mut header = Header::new();
        header.add(present::TSFT, 8, &us.to_le_bytes());
        header.add(present::FLAGS, 1, &[flags]);
        if transmission.rate.mode().is_none() {
            let half_megabits = (transmission.rate.bit_rate().as_bps() / 500_000) as u8;
            header.add(present::RATE, 1, &[half_megabits]);
        }
        header.add(present::CHANNEL, 2, &words([mhz, band]));
        header
    }
}

/// A radiotap header being written.
struct Header {
    bytes: Vec<u8>,
    present: u32,
}

impl Header {
    fn new() -> Self {
        Self { bytes: vec![0; 8], present: 0 }
    }

    /// Appends a field. Fields are in the order of their bits, each aligned to its own size.
    fn add(&mut self, bit: u32, alignment: usize, field: &[u8]) {
        debug_assert!(bit > self.present, "fields come in the order of their bits");
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
        self.bytes.extend(field);
        self.present |= bit;
    }

    fn finish(mut self) -> Vec<u8> {
        let length = self.bytes.len() as u16;
        self.bytes[2..4].copy_from_slice(&length.to_le_bytes());
        self.bytes[4..8].copy_from_slice(&self.present.to_le_bytes());
        self.bytes
    }
}

/// Centre of a channel of the 2.4 GHz band (IEEE Std 802.11-2016, table 15-6).
fn mhz_of(channel: Option<u16>) -> u16 {
    match channel.unwrap_or(6) {
        14 => 2484,
        channel => 2407 + 5 * channel,
    }
}

fn a_mpdu_status(part: Part) -> [u8; 8] {
    let last = if part.is_last { IS_LAST } else { 0 };
    let only = if part.is_only { IS_ONLY } else { 0 };
    let [a, b, c, d] = part.reference.to_le_bytes();
    let [e, f] = (LAST_KNOWN | ONLY_KNOWN | last | only).to_le_bytes();
    // The CRC of the delimiter is not known.
    [a, b, c, d, e, f, 0, 0]
}

fn mcs(mode: PhyMode) -> [u8; 3] {
    let guard = if mode.guard_interval() == GuardInterval::Ns400 { MCS_SHORT_GUARD } else { 0 };
    let width = u8::from(mode.width() == Width::Mhz40);
    [MCS_KNOWN, guard | width, mode.ht_index().unwrap_or(0)]
}

fn vht(mode: PhyMode) -> [u8; 12] {
    let guard = if mode.guard_interval() == GuardInterval::Ns400 { VHT_SHORT_GUARD } else { 0 };
    let width = match mode.width() {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 4,
        Width::Mhz160 => 11,
    };
    let [a, b] = VHT_KNOWN.to_le_bytes();
    // The first of four users, whose coding is BCC; group and partial AID are unknown.
    [a, b, guard, width, mode.mcs() << 4 | mode.streams(), 0, 0, 0, 0, 0, 0, 0]
}

fn he(mode: PhyMode) -> Vec<u8> {
    // Training fields are 4x with the longest guard interval, and 2x with the others, as their durations are.
    let (guard, training) = match mode.guard_interval() {
        GuardInterval::Ns400 | GuardInterval::Ns800 => (0, 2),
        GuardInterval::Ns1600 => (1, 2),
        GuardInterval::Ns3200 => (2, 3),
    };
    let mcs = u16::from(mode.mcs()) << 8;
    let width = mode.width() as u16;
    words([HE_KNOWN, HE_GUARD_KNOWN, mcs, 0, width | guard << 4 | training << 6, u16::from(mode.streams())])
}

fn words<const N: usize>(words: [u16; N]) -> Vec<u8> {
    words.into_iter().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use evenair_medium::{Kind, NodeId, To};
    use evenair_units::Span;
    use evenair_wifi::PhyRate;

    use super::*;

    const PART: Part = Part { reference: 0x0102_0304, is_last: true, is_only: false };

    /// The header of a frame in this mode.
    fn header(standard: Standard, mode: PhyMode, part: Option<Part>) -> Vec<u8> {
        let radio = Radio { phy: Phy::default_for(standard), short_preamble: false };
        let transmission = Transmission {
            at: Instant::ZERO + Span::from_micros(0x0908),
            lasts: Span::from_micros(100),
            from: NodeId(0),
            to: To::Node(NodeId(1)),
            kind: Kind::Ack,
            rate: PhyRate::from(mode),
            reserves: Span::ZERO,
        };
        let frame = [7; 30];
        let mut bytes = radio.capture(Capture {
            transmission: &transmission,
            channel: Some(40),
            frame: &frame,
            received: true,
            part,
        });
        let length = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
        assert_eq!(bytes[length..length + 30], frame);
        assert_eq!(bytes.len(), length + 34);
        bytes.truncate(length);
        bytes
    }

    /// Checks the beginning: length, presence bits, TSFT, flags and channel.
    fn begins(bytes: &[u8], length: u8, present: [u8; 4]) {
        assert_eq!(bytes[..8], [0, 0, length, 0, present[0], present[1], present[2], present[3]]);
        assert_eq!(bytes[8..18], [8, 9, 0, 0, 0, 0, 0, 0, 0x10, 0]);
        assert_eq!(bytes[18..22], [0x50, 0x14, 0x40, 0x01], "5200 MHz, OFDM");
    }

    #[test]
    fn ht_has_an_mcs_field() {
        let mode = PhyMode::new(Format::Ht, 7, 2, Width::Mhz40, GuardInterval::Ns400).unwrap();
        let bytes = header(Standard::Dot11n, mode, Some(PART));
        begins(&bytes, 36, [0x0b, 0, 0x18, 0]);
        assert_eq!(bytes[22..25], [0x3f, 0x05, 15]);
        assert_eq!(bytes[25..28], [0; 3], "the next field is aligned to four bytes");
        assert_eq!(bytes[28..], [4, 3, 2, 1, 0x8c, 0, 0, 0]);
    }

    #[test]
    fn vht_has_a_vht_field() {
        let mode = PhyMode::new(Format::Vht, 8, 3, Width::Mhz160, GuardInterval::Ns800).unwrap();
        let bytes = header(Standard::Dot11ac, mode, Some(Part { is_last: false, ..PART }));
        begins(&bytes, 44, [0x0b, 0, 0x30, 0]);
        assert_eq!(bytes[22..32], [0, 0, 4, 3, 2, 1, 0x84, 0, 0, 0]);
        assert_eq!(bytes[32..], [0x45, 0, 0, 11, 0x83, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn he_has_an_he_field() {
        let mode = PhyMode::new(Format::He, 11, 2, Width::Mhz80, GuardInterval::Ns3200).unwrap();
        let bytes = header(Standard::Dot11ax, mode, None);
        begins(&bytes, 34, [0x0b, 0, 0x80, 0]);
        assert_eq!(bytes[22..], [0x60, 0x42, 2, 0, 0, 11, 0, 0, 0xe2, 0, 2, 0]);
    }

    #[test]
    fn vht_and_he_send_single_frames_as_an_a_mpdu() {
        let of = |format: Format| PhyRate::from(PhyMode::all(format).next().unwrap());
        for (standard, format, delimits) in [
            (Standard::Dot11n, Format::Ht, false),
            (Standard::Dot11ac, Format::Vht, true),
            (Standard::Dot11ax, Format::He, true),
        ] {
            let radio = Radio { phy: Phy::default_for(standard), short_preamble: false };
            let rate = of(format);
            let (at, lasts, reserves) = (Instant::ZERO, Span::ZERO, Span::ZERO);
            let transmission =
                Transmission { at, lasts, from: NodeId(0), to: To::Broadcast, kind: Kind::Ack, rate, reserves };
            assert_eq!(radio.delimits(&transmission, &[0; 100]), delimits, "{standard}");
        }
    }
}
