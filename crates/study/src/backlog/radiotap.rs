//! Radiotap headers. Fields, their sizes and alignments are those of radiotap.org.

use std::time::Duration;

use evenair_units::{BitRate, Bytes};
use evenair_wifi::{Phy, PhyRate, Preamble, Standard};

pub(super) const RADIOTAP_FLAGS_HAS_FCS: u8 = 0x10;
pub(super) const RADIOTAP_FLAGS_BAD_FCS: u8 = 0x40;
const SHORT_PREAMBLE: u8 = 0x02;
const CHANNEL_5GHZ: u16 = 0x0100;

/// The fields of a header that are used here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Radiotap {
    /// Length of the header, in bytes.
    pub(super) length: usize,
    /// Time of the frame's first bit, by the monitor's clock.
    pub(super) tsft: Option<Duration>,
    pub(super) flags: u8,
    /// Rate in units of 500 kb/s; only DSSS and OFDM frames have one.
    rate: Option<u8>,
    is_5ghz: bool,
}

impl Radiotap {
    /// Reads the header at the beginning of a record.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let length = usize::from(u16::from_le_bytes(bytes.get(2..4)?.try_into().ok()?));
        let present = word(4)?;
        let mut at = 8;
        // Further presence words, each announced by the highest bit of the previous one.
        while word(at - 4)? & 1 << 31 != 0 {
            at += 4;
        }
        let mut field = |bit: u32, alignment: usize, size: usize| {
            if present & 1 << bit == 0 {
                return None;
            }
            let begin = at.next_multiple_of(alignment);
            at = begin + size;
            bytes.get(begin..at.min(length))
        };
        let tsft = field(0, 8, 8).and_then(|field| Some(u64::from_le_bytes(field.try_into().ok()?)));
        let flags = field(1, 1, 1).and_then(|field| field.first().copied()).unwrap_or(0);
        let rate = field(2, 1, 1).and_then(|field| field.first().copied());
        let channel = field(3, 2, 4).and_then(|field| Some(u16::from_le_bytes(*field.last_chunk()?))).unwrap_or(0);
        let is_5ghz = channel & CHANNEL_5GHZ != 0;
        Some(Self { length, tsft: tsft.map(Duration::from_micros), flags, rate, is_5ghz })
    }

    /// Airtime of a frame of `psdu` bytes, FCS included, if its rate is one of DSSS or OFDM.
    pub(super) fn airtime(&self, psdu: usize) -> Option<Duration> {
        let bit_rate = BitRate::from_kbps(u64::from(self.rate?) * 500);
        let of = |standard: Standard| Some((standard, standard.rate(bit_rate)?));
        let ofdm = if self.is_5ghz { Standard::Dot11a } else { Standard::Dot11g };
        let (standard, rate) = of(Standard::Dot11b).or_else(|| of(ofdm))?;
        Some(Duration::from_nanos(self.phy(standard).ppdu(Bytes(psdu as u64), rate).as_nanos()))
    }

    /// Whether it was sent with DSSS.
    pub(super) fn is_dsss(&self) -> bool {
        let bit_rate = BitRate::from_kbps(u64::from(self.rate.unwrap_or(0)) * 500);
        Standard::Dot11b.rate(bit_rate).is_some()
    }

    fn phy(&self, standard: Standard) -> Phy {
        let is_short = standard == Standard::Dot11b && self.flags & SHORT_PREAMBLE != 0;
        let short = |basic: &[PhyRate]| Phy::new(standard, Preamble::Short, basic).ok();
        is_short.then(|| short(standard.mandatory_rates())).flatten().unwrap_or_else(|| Phy::default_for(standard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with TSFT, flags, rate and channel, and more than one presence word.
    fn header(rate: u8, channel: u16) -> Vec<u8> {
        let mut bytes = vec![0, 0, 32, 0, 0x0f, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(1_234_567u64.to_le_bytes());
        bytes.extend([RADIOTAP_FLAGS_HAS_FCS, rate]);
        bytes.extend(2437u16.to_le_bytes());
        bytes.extend(channel.to_le_bytes());
        bytes.resize(32, 0);
        bytes
    }

    #[test]
    fn fields_are_found_behind_several_words() {
        let read = Radiotap::read(&header(108, 0)).expect("a header");
        assert_eq!((read.length, read.tsft), (32, Some(Duration::from_micros(1_234_567))));
        assert_eq!((read.flags, read.rate, read.is_5ghz), (RADIOTAP_FLAGS_HAS_FCS, Some(108), false));
        assert!(Radiotap::read(&header(108, CHANNEL_5GHZ)).is_some_and(|read| read.is_5ghz));
        for end in 0..8 {
            assert_eq!(Radiotap::read(&header(108, 0)[..end]), None);
        }
    }

    /// An ACK has 14 bytes: 1 Mb/s with the long preamble 192 + 112 us, 24 Mb/s 20 + 8 us, at 2.4 GHz 6 us more.
    #[test]
    fn airtime_is_that_of_the_standard() {
        let us = |rate, channel| Radiotap::read(&header(rate, channel)).and_then(|read| read.airtime(14));
        assert_eq!(us(2, 0), Some(Duration::from_micros(304)));
        assert_eq!(us(48, 0), Some(Duration::from_micros(34)));
        assert_eq!(us(48, CHANNEL_5GHZ), Some(Duration::from_micros(28)));
        assert_eq!(us(7, 0), None);
    }
}
