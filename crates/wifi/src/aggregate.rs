//! How large an aggregate is and may be: A-MPDUs, which the medium carries in one PPDU, and A-MSDUs within an MPDU.
//!
//! An A-MPDU is a run of subframes, each a delimiter and an MPDU, padded so that the next begins at a multiple of four
//! bytes. What ends it: the bytes that its receiver takes, the frames that may be outstanding, the time on air, and the
//! backlog, which only the sender knows. IEEE Std 802.11-2020, clauses 9.3.2.2 (A-MSDU), 9.7 and 10.12 (A-MPDU).
//!
//! The limits of bytes and time are one number for each rate ([`AggregateLimits::at`]), so that a sender that fills an
//! aggregate compares once for each frame.
//!
//! Not here: which frames are in it (sequence numbers, windows, repetitions), the limit of the TXOP, which changes from
//! access to access (see [`AggregateLimits::max_ppdu`]).

use evenair_units::{Bytes, Span};

use crate::mode::Format;
use crate::phy::Phy;
use crate::rate::PhyRate;

/// In front of each MPDU of an A-MPDU (clause 9.7.1).
const DELIMITER: u64 = 4;
/// Subframes begin at multiples of this (clauses 9.7.1, 9.3.2.2.2).
const ALIGNMENT: u64 = 4;
/// In front of each MSDU of an A-MSDU: two addresses and a length (clause 9.3.2.2.2).
pub const A_MSDU_HEADER: Bytes = Bytes(14);
/// aPPDUMaxTime of HT (mixed format), VHT and HE, with the preamble (clauses 19.4.4, 21.4.4, 27.4.4).
const MAX_PPDU: Span = Span::from_micros(5_484);

/// What ends an A-MPDU to some receiver, beside the backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AggregateLimits {
    /// The most bytes that the receiver takes: 2^(13 + exponent) - 1, with the exponent that it announces (clause 10.12.2).
    pub bytes: u32,
    /// The most frames: the window of the block acknowledgement agreement.
    pub frames: u16,
    /// The longest PPDU. Drivers limit it to less than the standard does; in a TXOP it is also what is left of it.
    pub max_ppdu: Span,
    /// From the start of one MPDU to that of the next (minimum MPDU start spacing, clause 10.12.3): the sender pads short
    /// ones with empty delimiters.
    pub min_spacing: Span,
}

/// [`AggregateLimits`] at one rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLimits {
    /// The most bytes of the whole, by the receiver's limit and by the time they take.
    pub bytes: Bytes,
    /// The most frames.
    pub frames: u16,
    /// From the start of one subframe to that of the next: a multiple of four bytes.
    pub spacing: Bytes,
}

/// The size of an A-MPDU that is being filled. A copy of it says what one frame more would make of it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AggregateSize {
    frames: u16,
    bytes: u64,
    /// Where the last subframe begins.
    last: u64,
    spacing: u64,
}

impl AggregateLimits {
    /// One frame in each PPDU, as before 802.11n, without a limit of its size.
    pub const SINGLE: Self =
        Self { bytes: u32::MAX, frames: 1, max_ppdu: Span::from_nanos(u64::MAX), min_spacing: Span::ZERO };

    /// Of frames at this rate: [`AggregateLimits::of`] its format, or single frames at a rate without one.
    pub const fn of_rate(rate: PhyRate) -> Self {
        match rate.mode() {
            Some(mode) => Self::of(mode.format()),
            None => Self::SINGLE,
        }
    }

    /// The largest that the standard has for a format, with the usual window: 64 frames, and 256 for HE (clauses 10.12.2,
    /// 26.6).
    pub const fn of(format: Format) -> Self {
        let (bytes, frames) = match format {
            Format::Ht => (65_535, 64),
            Format::Vht => (1_048_575, 64),
            Format::He => (6_500_631, 256),
        };
        Self { bytes, frames, max_ppdu: MAX_PPDU, min_spacing: Span::ZERO }
    }

    /// The same for frames at this rate, to be worked out once for many aggregates.
    pub const fn at(&self, phy: &Phy, rate: PhyRate) -> RateLimits {
        let by_time = phy.largest_psdu(rate, self.max_ppdu).0;
        let bytes = if by_time < self.bytes as u64 { by_time } else { self.bytes as u64 };
        let spacing = rate.bytes_in(self.min_spacing).0.next_multiple_of(ALIGNMENT);
        RateLimits { bytes: Bytes(bytes), frames: self.frames, spacing: Bytes(spacing) }
    }

    /// Whether an A-MPDU of this size may be sent at this rate.
    pub const fn fits(&self, phy: &Phy, rate: PhyRate, size: AggregateSize) -> bool {
        self.at(phy, rate).fits(size)
    }
}

impl RateLimits {
    /// An A-MPDU without frames yet, whose MPDUs will begin as far apart as the receiver needs.
    pub const fn empty(&self) -> AggregateSize {
        AggregateSize { frames: 0, bytes: 0, last: 0, spacing: self.spacing.0 }
    }

    /// Whether an A-MPDU of this size may be sent.
    pub const fn fits(&self, size: AggregateSize) -> bool {
        size.frames <= self.frames && size.bytes <= self.bytes.0
    }
}

impl AggregateSize {
    /// Adds an MPDU of this size (with header and FCS), and returns the size of all.
    pub const fn push(&mut self, mpdu: Bytes) -> Bytes {
        if self.frames > 0 {
            let aligned = self.bytes.next_multiple_of(ALIGNMENT);
            let spaced = self.last + self.spacing;
            self.last = if aligned > spaced { aligned } else { spaced };
        }
        self.frames += 1;
        self.bytes = self.last + DELIMITER + mpdu.0;
        Bytes(self.bytes)
    }

    /// How many MPDUs it has.
    pub const fn frames(&self) -> u16 {
        self.frames
    }

    /// Delimiters, MPDUs and padding. A single MPDU of VHT and HE has a delimiter too, and of HT is sent without.
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }
}

/// The size of an A-MPDU of `n` MPDUs of this size each (with header and FCS).
pub const fn a_mpdu_bytes(n: u16, mpdu: Bytes) -> Bytes {
    match n {
        0 => Bytes::ZERO,
        n => Bytes((n as u64 - 1) * subframe(mpdu) + DELIMITER + mpdu.0),
    }
}

/// A subframe that is not the last.
pub(crate) const fn subframe(mpdu: Bytes) -> u64 {
    (DELIMITER + mpdu.0).next_multiple_of(ALIGNMENT)
}

/// The size of an A-MSDU of these MSDUs, each of which is an IP packet with [`LLC_SNAP`](crate::LLC_SNAP). The header and
/// FCS of the MPDU that carries it are not counted.
pub fn a_msdu_bytes(msdus: impl IntoIterator<Item = Bytes>) -> Bytes {
    let add = |total: u64, msdu: Bytes| total.next_multiple_of(ALIGNMENT) + A_MSDU_HEADER.0 + msdu.0;
    Bytes(msdus.into_iter().fold(0, add))
}

/// How many MPDUs of this size (with header and FCS) the largest A-MPDU has at this rate. One at least: a frame that is
/// too long by itself goes alone.
pub fn full_aggregate(phy: &Phy, rate: PhyRate, mpdu: Bytes, limits: &AggregateLimits) -> u16 {
    let limits = limits.at(phy, rate);
    let each = subframe(mpdu).max(limits.spacing.0);
    let behind_the_first = limits.bytes.0.saturating_sub(DELIMITER + mpdu.0) / each;
    let frames = u64::from(limits.frames).min(behind_the_first + 1).max(1);
    u16::try_from(frames).expect("not above a number of 16 bits")
}

#[cfg(test)]
#[path = "aggregate_tests.rs"]
mod tests;
