//! Size and limits of aggregates: A-MPDUs, which are sent in one PPDU, and A-MSDUs within an MPDU.
//!
//! An A-MPDU is a sequence of subframes, each a delimiter and an MPDU, padded so that the next begins at a multiple of four
//! bytes. It is limited by the bytes that its receiver accepts, the frames that may be outstanding, the airtime, and the
//! backlog, which only the sender knows. IEEE Std 802.11-2020, clauses 9.3.2.2 (A-MSDU), 9.7 and 10.12 (A-MPDU).
//!
//! [`AggregateLimits::at`] combines the limits of bytes and time into one number for each rate, so that a sender that fills
//! an aggregate compares once per frame.
//!
//! Not here: which frames are in it (sequence numbers, windows, repetitions), and the TXOP limit, which changes from access
//! to access (see [`AggregateLimits::max_ppdu`]).

use evenair_units::{Bytes, Span};

use crate::mode::Format;
use crate::phy::Phy;
use crate::rate::PhyRate;

/// Delimiter in front of each MPDU of an A-MPDU, bytes (clause 9.7.1).
const DELIMITER: u64 = 4;
/// Alignment of subframes, bytes (clauses 9.7.1, 9.3.2.2.2).
pub(crate) const ALIGNMENT: u64 = 4;
/// Subframe header in front of each MSDU of an A-MSDU: two addresses and a length (clause 9.3.2.2.2).
pub const A_MSDU_HEADER: Bytes = Bytes(14);
/// aPPDUMaxTime of HT (mixed format), VHT and HE, with the preamble (clauses 19.4.4, 21.4.4, 27.4.4).
const MAX_PPDU: Span = Span::from_micros(5_484);

/// Limits of an A-MPDU to a receiver, apart from the backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AggregateLimits {
    /// Maximum size that the receiver accepts: 2^(13 + exponent) - 1 bytes, with the exponent that it announces (clause
    /// 10.12.2).
    pub bytes: u32,
    /// Maximum number of frames: the window of the block-ack agreement.
    pub frames: u16,
    /// Maximum duration of the PPDU. Drivers limit it to less than the standard does; in a TXOP it is at most the remaining
    /// time.
    pub max_ppdu: Span,
    /// Minimum time between the starts of MPDUs (minimum MPDU start spacing, clause 10.12.3): the sender pads short ones
    /// with empty delimiters.
    pub min_spacing: Span,
}

/// [`AggregateLimits`] at one rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLimits {
    /// Maximum size, by the receiver's limit and by the airtime.
    pub bytes: Bytes,
    /// Maximum number of frames.
    pub frames: u16,
    /// Minimum distance between the starts of subframes: a multiple of four bytes.
    pub spacing: Bytes,
}

/// Size of an A-MPDU that is being filled. A copy of it can try one more frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AggregateSize {
    frames: u16,
    bytes: u64,
    /// Offset of the last subframe.
    last: u64,
    spacing: u64,
}

impl AggregateLimits {
    /// One frame in each PPDU, as before 802.11n, of any size.
    pub const SINGLE: Self =
        Self { bytes: u32::MAX, frames: 1, max_ppdu: Span::from_nanos(u64::MAX), min_spacing: Span::ZERO };

    /// Limits at this rate: [`AggregateLimits::of`] its format, or single frames at a rate without one.
    pub const fn of_rate(rate: PhyRate) -> Self {
        match rate.mode() {
            Some(mode) => Self::of(mode.format()),
            None => Self::SINGLE,
        }
    }

    /// The standard's maximum for a format, with the usual window: 64 frames, and 256 for HE (clauses 10.12.2, 26.6).
    pub const fn of(format: Format) -> Self {
        let (bytes, frames) = match format {
            Format::Ht => (65_535, 64),
            Format::Vht => (1_048_575, 64),
            Format::He => (6_500_631, 256),
        };
        Self { bytes, frames, max_ppdu: MAX_PPDU, min_spacing: Span::ZERO }
    }

    /// Limits at this rate, to be computed once for many aggregates.
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
    /// An A-MPDU without frames, with the receiver's minimum spacing.
    pub const fn empty(&self) -> AggregateSize {
        AggregateSize { frames: 0, bytes: 0, last: 0, spacing: self.spacing.0 }
    }

    /// Whether an A-MPDU of this size may be sent.
    pub const fn fits(&self, size: AggregateSize) -> bool {
        size.frames <= self.frames && size.bytes <= self.bytes.0
    }
}

impl AggregateSize {
    /// Adds an MPDU of this size (with header and FCS), and returns the total size.
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

    /// Number of MPDUs.
    pub const fn frames(&self) -> u16 {
        self.frames
    }

    /// Size with delimiters, MPDUs and padding. A single MPDU has a delimiter with VHT and HE, and none with HT.
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }
}

/// Size of an A-MPDU of `n` MPDUs of this size each (with header and FCS).
pub const fn a_mpdu_bytes(n: u16, mpdu: Bytes) -> Bytes {
    match n {
        0 => Bytes::ZERO,
        n => Bytes((n as u64 - 1) * subframe(mpdu) + DELIMITER + mpdu.0),
    }
}

/// Size of a subframe that is not the last.
pub(crate) const fn subframe(mpdu: Bytes) -> u64 {
    (DELIMITER + mpdu.0).next_multiple_of(ALIGNMENT)
}

/// Size of an A-MSDU of these MSDUs, each of which is an IP packet with [`LLC_SNAP`](crate::LLC_SNAP). The header and FCS
/// of its MPDU are not counted.
pub fn a_msdu_bytes(msdus: impl IntoIterator<Item = Bytes>) -> Bytes {
    let add = |total: u64, msdu: Bytes| total.next_multiple_of(ALIGNMENT) + A_MSDU_HEADER.0 + msdu.0;
    Bytes(msdus.into_iter().fold(0, add))
}

/// Number of MPDUs of this size (with header and FCS) in the largest A-MPDU at this rate. At least one: a frame that
/// exceeds the limits is sent alone.
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
