//! Frames of IEEE 802.11 as bytes, and the radiotap header in front of them.
//!
//! Clause numbers are those of IEEE Std 802.11-2016; radiotap fields are those of radiotap.org.

use evenair_medium::{AccessCategory, Transmission};
use evenair_packet::MacAddr;
use evenair_scenario::Scenario;
use evenair_units::{Instant, Span};
use evenair_wifi::{Band, Preamble, Standard};

/// Frame Control of control frames (9.2.4.1): type and subtype in the first byte.
const RTS: [u8; 2] = [0xb4, 0];
const CTS: [u8; 2] = [0xc4, 0];
const ACK: [u8; 2] = [0xd4, 0];
const DATA: u8 = 0x08;
const QOS_DATA: u8 = 0x88;
/// Second byte of Frame Control.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const RETRY: u8 = 0x08;

/// Radiotap: TSFT, Flags, Rate, Channel are present.
const PRESENT: u32 = 0b1111;
const SHORT_PREAMBLE: u8 = 0x02;
const HAS_FCS: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
const CHANNEL_CCK: u16 = 0x0020;
const CHANNEL_OFDM: u16 = 0x0040;
const CHANNEL_2GHZ: u16 = 0x0080;
const CHANNEL_5GHZ: u16 = 0x0100;

/// What all captures have in common.
#[derive(Debug)]
pub(super) struct Radio {
    standard: Standard,
    band: Band,
    short_preamble: bool,
}

impl Radio {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let phy = &scenario.radio.phy;
        let standard = phy.standard();
        Self {
            standard,
            band: phy.band(),
            short_preamble: standard == Standard::Dot11b && phy.preamble() == Preamble::Short,
        }
    }

    /// A frame as it is captured on a channel: with a radiotap header and, at its end, the FCS.
    pub(super) fn capture(
        &self,
        transmission: &Transmission,
        channel: Option<u32>,
        frame: &[u8],
        received: bool,
    ) -> Vec<u8> {
        let mut flags = HAS_FCS;
        flags |= if self.short_preamble { SHORT_PREAMBLE } else { 0 };
        flags |= if received { 0 } else { BAD_FCS };
        // Where none is named, channel 6 of the 2.4 GHz band, or channel 36 of that at 5 GHz.
        let channel = channel.map(|channel| channel as u16);
        let (mhz, band): (u16, u16) = match (self.band, self.standard) {
            (Band::Ghz5, _) => (5000 + 5 * channel.unwrap_or(36), CHANNEL_5GHZ | CHANNEL_OFDM),
            (Band::Ghz2_4, Standard::Dot11b) => (mhz_of(channel), CHANNEL_2GHZ | CHANNEL_CCK),
            (Band::Ghz2_4, _) => (mhz_of(channel), CHANNEL_2GHZ | CHANNEL_OFDM),
        };
        let half_megabits = (transmission.rate.bit_rate().as_bps() / 500_000) as u8;
        let us = transmission.at.saturating_since(Instant::ZERO).as_nanos() / 1000;
        let mut out = vec![0, 0, 22, 0];
        out.extend(PRESENT.to_le_bytes());
        out.extend(us.to_le_bytes());
        out.extend([flags, half_megabits]);
        out.extend(mhz.to_le_bytes());
        out.extend(band.to_le_bytes());
        out.extend(frame);
        let fcs = crc32fast::hash(frame);
        // What was not received has a checksum that does not fit.
        out.extend(if received { fcs } else { !fcs }.to_le_bytes());
        out
    }
}

/// Centre of a channel of the 2.4 GHz band (IEEE Std 802.11-2016, table 15-6).
fn mhz_of(channel: Option<u16>) -> u16 {
    match channel.unwrap_or(6) {
        14 => 2484,
        channel => 2407 + 5 * channel,
    }
}

/// A data frame.
pub(super) struct Data<'a> {
    /// From a station to the access point.
    pub(super) up: bool,
    /// It was sent before.
    pub(super) retry: bool,
    pub(super) reserves: Span,
    /// Receiver, transmitter and the third, as 9.3.2.1 has them.
    pub(super) addresses: [MacAddr; 3],
    pub(super) sequence: u16,
    /// The category, where the frame has a QoS header.
    pub(super) qos: Option<AccessCategory>,
    /// The packet with its LLC header.
    pub(super) msdu: &'a [u8],
}

pub(super) fn data(frame: &Data<'_>) -> Vec<u8> {
    let direction = if frame.up { TO_DS } else { FROM_DS };
    let retry = if frame.retry { RETRY } else { 0 };
    let mut out = vec![if frame.qos.is_some() { QOS_DATA } else { DATA }, direction | retry];
    out.extend(duration(frame.reserves));
    frame.addresses.iter().for_each(|address| out.extend(address.0));
    out.extend((frame.sequence << 4).to_le_bytes());
    if let Some(category) = frame.qos {
        out.extend(u16::from(user_priority(category)).to_le_bytes());
    }
    out.extend(frame.msdu);
    out
}

pub(super) fn rts(reserves: Span, receiver: MacAddr, sender: MacAddr) -> Vec<u8> {
    [&RTS[..], &duration(reserves), &receiver.0, &sender.0].concat()
}

pub(super) fn cts(reserves: Span, receiver: MacAddr) -> Vec<u8> {
    [&CTS[..], &duration(reserves), &receiver.0].concat()
}

pub(super) fn ack(reserves: Span, receiver: MacAddr) -> Vec<u8> {
    [&ACK[..], &duration(reserves), &receiver.0].concat()
}

/// The Duration field, in microseconds, rounded up; 32767 at most (9.2.4.2).
fn duration(reserves: Span) -> [u8; 2] {
    (reserves.as_nanos().div_ceil(1000).min(32_767) as u16).to_le_bytes()
}

/// The user priority of a category (table 10-1).
const fn user_priority(category: AccessCategory) -> u8 {
    match category {
        AccessCategory::Background => 1,
        AccessCategory::BestEffort => 0,
        AccessCategory::Video => 5,
        AccessCategory::Voice => 6,
    }
}
