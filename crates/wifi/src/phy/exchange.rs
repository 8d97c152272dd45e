//! Airtime of frames by name, and of their sequences: DATA, responses, reservations, exchanges, back-off.

use evenair_units::{Airtime, Bytes, Span};

use super::{
    ACK_CTS, BLOCK_ACK_HEADER, BLOCK_ACK_REQUEST, CF_END, LLC_SNAP, LONG_PREAMBLE_US, MAC_HEADER_AND_FCS, Phy,
    Preamble, QOS_CONTROL, RTS, SHORT_PREAMBLE_US,
};
use crate::aggregate::a_mpdu_bytes;
use crate::mode::Format;
use crate::rate::PhyRate;

/// Size of a BlockAck frame for a window of outstanding frames: its bitmap is the smallest of 64, 256 and 1024 bits with
/// one bit per frame (clause 9.3.1.8).
pub const fn block_ack_size(window: u16) -> Bytes {
    let bitmap_bits = match window {
        0..=64 => 64,
        65..=256 => 256,
        _ => 1_024,
    };
    Bytes(BLOCK_ACK_HEADER.0 + bitmap_bits / 8)
}

impl Phy {
    /// Airtime of a DATA frame with an IP packet of `msdu` bytes: LLC/SNAP, MAC header and FCS are added.
    pub const fn data(&self, msdu: Bytes, rate: PhyRate) -> Span {
        self.ppdu(Bytes(msdu.0 + LLC_SNAP.0 + MAC_HEADER_AND_FCS.0), rate)
    }

    /// Airtime of a QoS DATA frame, as with EDCA, with an IP packet of `msdu` bytes.
    pub const fn qos_data(&self, msdu: Bytes, rate: PhyRate) -> Span {
        self.data(Bytes(msdu.0 + QOS_CONTROL.0), rate)
    }

    /// Airtime of the ACK to a frame at `data`.
    pub fn ack(&self, data: PhyRate) -> Span {
        self.ppdu(ACK_CTS, self.control_rate(data))
    }

    /// Airtime of the BlockAck to an aggregate at `data`, for a window of outstanding frames; see [`block_ack_size`].
    pub fn block_ack(&self, data: PhyRate, window: u16) -> Span {
        self.ppdu(block_ack_size(window), self.control_rate(data))
    }

    /// Size of the PSDU of a single MPDU that is acknowledged by an ACK: VHT and HE put a delimiter in front of it (clause
    /// 10.12.7); ns-3 does not.
    pub const fn single_mpdu(&self, mpdu: Bytes, rate: PhyRate) -> Bytes {
        match rate.mode() {
            Some(mode) if !self.is_ns3 && !matches!(mode.format(), Format::Ht) => a_mpdu_bytes(1, mpdu),
            _ => mpdu,
        }
    }

    /// Airtime of the BlockAckReq for the BlockAck to an aggregate at `data`.
    pub fn block_ack_request(&self, data: PhyRate) -> Span {
        self.ppdu(BLOCK_ACK_REQUEST, self.control_rate(data))
    }

    /// Airtime of the CF-End that ends a TXOP early, behind a frame at `data`.
    pub fn cf_end(&self, data: PhyRate) -> Span {
        self.ppdu(CF_END, self.cf_end_rate(data))
    }

    /// Rate of the CF-End behind a frame at `data`.
    pub fn cf_end_rate(&self, data: PhyRate) -> PhyRate {
        if self.is_ns3 { self.lowest_basic() } else { self.control_rate(data) }
    }

    /// Airtime of the RTS in front of a frame at `data`.
    pub fn rts(&self, data: PhyRate) -> Span {
        self.ppdu(RTS, self.reservation_rate(data))
    }

    /// Airtime of the CTS in front of a frame at `data`.
    pub fn cts(&self, data: PhyRate) -> Span {
        self.ppdu(ACK_CTS, self.reservation_rate(data))
    }

    /// Protection in front of an OFDM frame near stations of 802.11b, which cannot decode it: a CTS-to-self frame at 11
    /// Mb/s with this preamble, and SIFS (clause 10.26). The rate is the highest of such stations; a BSS may use a lower
    /// basic rate of theirs.
    pub const fn protection(&self, preamble: Preamble) -> Span {
        let header_us = match preamble {
            Preamble::Long => LONG_PREAMBLE_US,
            Preamble::Short => SHORT_PREAMBLE_US,
        };
        Span::from_micros(header_us + ACK_CTS.bits().div_ceil(11) + self.timing.sifs_us)
    }

    /// Duration of RTS, SIFS, CTS and SIFS in front of DATA.
    pub fn reservation(&self, data: PhyRate) -> Span {
        self.rts(data) + self.sifs() + self.cts(data) + self.sifs()
    }

    /// Airtime of one packet after its back-off: [RTS SIFS CTS SIFS] DATA SIFS ACK. No DIFS, no back-off.
    pub fn exchange(&self, msdu: Bytes, rate: PhyRate, rts: bool) -> Airtime {
        let reservation = if rts { self.reservation(rate) } else { Span::ZERO };
        Airtime(reservation + self.data(msdu, rate) + self.sifs() + self.ack(rate))
    }

    /// Mean back-off of a first attempt: half of the first contention window.
    pub const fn mean_backoff(&self) -> Span {
        Span::from_nanos(self.slot().as_nanos() * self.cw_min() as u64 / 2)
    }

    /// Mean total back-off of all attempts of a packet: the window doubles with each failure, up to the largest.
    pub fn mean_backoff_of(&self, attempts: u32) -> Span {
        let window = |failures: u32| ((u64::from(self.cw_min()) + 1) << failures.min(16)) - 1;
        let mean = |failures| self.slot().as_nanos() * window(failures).min(u64::from(self.cw_max())) / 2;
        Span::from_nanos((0..attempts).map(mean).sum())
    }

    /// Airtime of one packet with this many attempts and no collision: DIFS, a mean back-off and the exchange for each. A
    /// failed attempt counts the ACK, since its timeout is about as long.
    pub fn retried_cost(&self, msdu: Bytes, rate: PhyRate, rts: bool, attempts: u32) -> Airtime {
        let each = Airtime(self.difs()) + self.exchange(msdu, rate, rts);
        Airtime(Span::from_nanos(each.0.as_nanos() * u64::from(attempts)) + self.mean_backoff_of(attempts))
    }

    /// Airtime of one packet without collisions: DIFS, one mean back-off, the exchange.
    pub fn access_cost(&self, msdu: Bytes, rate: PhyRate, rts: bool) -> Airtime {
        Airtime(self.difs() + self.mean_backoff()) + self.exchange(msdu, rate, rts)
    }

    /// The rate of RTS, and of the CTS to it, in front of a frame at `data`.
    pub fn reservation_rate(&self, data: PhyRate) -> PhyRate {
        match data.mode() {
            Some(_) if self.is_ns3 => self.standard.rates()[self.basic.ilog2() as usize],
            _ => self.control_rate(data),
        }
    }
}
