//! The throughput of a contention domain, as the harm guard counts it.
//!
//! Bytes count once they have certainly crossed the medium, or once their receiver acknowledges them:
//!
//! - everything that came from a station;
//! - TCP toward a station when the station's cumulative ACK covers it, up to what was sent past the box;
//! - other protocols toward a station when the station replies in the same flow ([`crate::flows::datagrams::Unconfirmed`]).
//!
//! A station may lie: it can acknowledge DATA that it has not received. So there are two sums. The first takes each
//! station's word. The second counts a station at most as much as all others together, or in full if it is alone; so a
//! single liar at most doubles what the others show. Neither exceeds what the standard carries at its highest rate. The
//! guard compares both, and finds less or more only if both agree ([`Carried::is_below`], [`Carried::reaches`]): a liar
//! does not raise the second, and the first does not fall when one of two stations stops.
//!
//! The medium time of frames to groups is taken out ([`Carried::without_groups`]).
//!
//! Not here: stations that lie together.

use evenair_units::{BitRate, Span};

use crate::pacer::standing::Ratio;

/// Bits that stations of a domain have confirmed in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confirmed {
    /// All stations.
    total: u64,
    /// The station with the most bits.
    most: u64,
}

impl Confirmed {
    /// Adds a station's confirmed bits.
    pub(crate) fn add(&mut self, bits: u64) {
        self.total = self.total.saturating_add(bits);
        self.most = self.most.max(bits);
    }

    /// As a rate over the interval, at most what the standard carries.
    pub(crate) fn over(self, interval: Span, capacity: BitRate) -> Carried {
        let others = self.total - self.most;
        let fair = if others == 0 { self.total } else { self.total.min(others.saturating_mul(2)) };
        let rate = |bits| BitRate::from_bits_over(bits, interval).min(capacity).as_bps();
        Carried { all: rate(self.total), fair: rate(fair) }
    }
}

/// Throughput, in b/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Sum of what each station has confirmed.
    pub(crate) all: u64,
    /// The same with each station at most as much as all others together.
    pub(crate) fair: u64,
}

/// The part of an interval that frames to groups leave to other traffic; they are taken to use at most two thirds.
pub(crate) fn left_by_groups(to_groups: Span, interval: Span) -> Ratio {
    let left = interval.saturating_sub(to_groups).max(interval / 3);
    Ratio { numerator: left.as_nanos().max(1), denominator: interval.as_nanos().max(1) }
}

impl Carried {
    pub(crate) const NONE: Self = Self { all: 0, fair: 0 };

    pub(crate) const fn is_none(self) -> bool {
        self.all == 0
    }

    /// Throughput if frames to groups had left the whole interval, of which they left this part.
    pub(crate) fn without_groups(self, left: Ratio, capacity: BitRate) -> Self {
        let Ratio { numerator, denominator } = left;
        let grown = |bps| BitRate::from_bps(bps).mul_div(denominator, numerator).min(capacity).as_bps();
        Self { all: grown(self.all), fair: grown(self.fair) }
    }

    /// The rate to be reported.
    pub(crate) const fn rate(self) -> BitRate {
        BitRate::from_bps(self.all)
    }

    /// Whether both sums are below this percentage of `whole`.
    pub(crate) fn is_below(self, percent: u64, whole: Self) -> bool {
        self.all_parts(whole, |part, whole| part / percent < whole / 100)
    }

    /// Whether both sums are at least this percentage of `before`.
    pub(crate) fn reaches(self, percent: u64, before: Self) -> bool {
        self.all_parts(before, |now, before| u128::from(now) * 100 >= u128::from(before) * u128::from(percent))
    }

    pub(crate) fn max(self, other: Self) -> Self {
        Self { all: self.all.max(other.all), fair: self.fair.max(other.fair) }
    }

    pub(crate) fn min(self, other: Self) -> Self {
        Self { all: self.all.min(other.all), fair: self.fair.min(other.fair) }
    }

    /// This fraction of it.
    pub(crate) const fn part(self, numerator: u64, denominator: u64) -> Self {
        Self { all: self.all / denominator * numerator, fair: self.fair / denominator * numerator }
    }

    pub(crate) fn mean(of: &[Self]) -> Self {
        let mean = |part: fn(&Self) -> u64| of.iter().map(part).sum::<u64>() / of.len().max(1) as u64;
        Self { all: mean(|carried| carried.all), fair: mean(|carried| carried.fair) }
    }

    fn all_parts(self, other: Self, compare: impl Fn(u64, u64) -> bool) -> bool {
        compare(self.all, other.all) && compare(self.fair, other.fair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: BitRate = BitRate::from_mbps(30);

    fn carried(mbps: &[u64]) -> (u64, u64) {
        let mut confirmed = Confirmed::default();
        mbps.iter().for_each(|mbps| confirmed.add(mbps * 1_000_000));
        let Carried { all, fair } = confirmed.over(Span::from_secs(1), CAPACITY);
        (all / 1_000_000, fair / 1_000_000)
    }

    #[test]
    fn a_station_counts_at_most_as_much_as_all_others_unless_it_is_alone() {
        assert_eq!(carried(&[]), (0, 0));
        assert_eq!(carried(&[20]), (20, 20), "alone");
        assert_eq!(carried(&[20, 0]), (20, 20), "the other one is silent");
        assert_eq!(carried(&[5, 6, 7]), (18, 18));
        assert_eq!(carried(&[2, 20, 3]), (25, 10));
        assert_eq!(carried(&[1_000, 1]), (30, 2), "no more than the standard carries");
        assert_eq!(carried(&[1_000]), (30, 30));
        assert_eq!(carried(&[1_000, 1_000]), (30, 30));
    }

    #[test]
    fn medium_time_of_group_frames_is_no_harm() {
        let carried = Carried { all: 12_000_000, fair: 9_000_000 };
        let second = Span::from_secs(1);
        let without = |to_groups| carried.without_groups(left_by_groups(to_groups, second), CAPACITY);
        assert_eq!(without(Span::ZERO), carried);
        let grown = without(second / 4);
        assert_eq!((grown.all, grown.fair), (16_000_000, 12_000_000));
        assert_eq!(without(second * 9).fair, 27_000_000, "three times as much at most");
    }

    #[test]
    fn below_and_reached_need_both_sums() {
        let carried = |all, fair| Carried { all, fair };
        assert!(carried(900, 900).is_below(50, carried(2_000, 2_000)));
        assert!(!carried(900, 900).is_below(50, carried(9_000, 1_000)), "one station has said too much before");
        assert!(!carried(1_900, 10).is_below(50, carried(2_000, 2_000)), "one of two stations has stopped");
        assert!(carried(2_600, 2_600).reaches(130, carried(2_000, 2_000)));
        assert!(!carried(9_000, 2_000).reaches(130, carried(2_000, 2_000)));
        assert!(!carried(2_000, 20).reaches(130, carried(2_000, 10)));
    }
}
