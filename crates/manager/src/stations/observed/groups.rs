//! Stations whose costs do not differ: their common cost is known better than that of each.
//!
//! The most similar groups are joined first, until all differ by more than their errors explain. So equal stations stay
//! equal, and inferred rates do not follow the noise of each.
//!
//! Principle: agglomerative clustering with a test for the difference of two means.

use alloc::vec::Vec;

use evenair_units::Span;

use crate::ids::StationId;

/// Difference of two means, in hundredths of its error (two standard deviations), from which on groups differ.
const DIFFERS_AT_PERCENT: u64 = 200;
/// Relative difference, as a divisor, below which groups do not differ in any case.
const ALIKE_PART: u64 = 12;

/// Airtime of a full-size packet of a station, and its largest likely error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) station: StationId,
    pub(crate) airtime: Span,
    pub(crate) error: Span,
}

/// Stations with equal costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) stations: Vec<StationId>,
    /// Mean airtime, weighted by precision, and its error.
    pub(crate) airtime: Span,
    pub(crate) error: Span,
}

/// The groups, lowest cost first.
pub(crate) fn groups(mut seen: Vec<Estimate>) -> Vec<Group> {
    seen.sort_unstable_by_key(|seen| (seen.airtime, seen.station));
    let alone = |seen: Estimate| Group { stations: [seen.station].into(), airtime: seen.airtime, error: seen.error };
    let mut groups: Vec<Group> = seen.into_iter().map(alone).collect();
    loop {
        let pairs = groups.windows(2).enumerate();
        let closest = pairs.filter_map(|(at, pair)| Some((pair[0].distance(&pair[1])?, at))).min();
        let Some((_, at)) = closest else { return groups };
        let next = groups.remove(at + 1);
        groups[at].join(next);
    }
}

impl Group {
    /// Distance to the next group, in hundredths of its error. `None`: they differ.
    fn distance(&self, next: &Self) -> Option<u64> {
        let between = next.airtime.saturating_sub(self.airtime).as_nanos();
        let square = |error: Span| error.as_nanos().saturating_mul(error.as_nanos());
        let error = square(self.error).saturating_add(square(next.error)).isqrt().max(1);
        let distance = between.saturating_mul(100) / error;
        let are_alike = between * ALIKE_PART <= self.airtime.as_nanos();
        (distance <= DIFFERS_AT_PERCENT || are_alike).then_some(distance)
    }

    fn join(&mut self, other: Self) {
        // Weights are the inverse squares of errors.
        let square = |error: Span| u128::from(error.as_nanos().max(1)).pow(2);
        let (own, others) = (square(self.error), square(other.error));
        let all = own + others;
        let sum = u128::from(self.airtime.as_nanos()) * others + u128::from(other.airtime.as_nanos()) * own;
        let nanos = |value: u128| Span::from_nanos(u64::try_from(value).unwrap_or(u64::MAX));
        self.airtime = nanos(sum / all);
        self.error = nanos((own / 2 * others / all * 2).isqrt());
        self.stations.extend(other.stations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of stations in each group, for these airtimes and errors in us.
    fn sizes(seen: &[(u64, u64)]) -> Vec<usize> {
        let estimate = |(n, &(airtime, error)): (u32, &(u64, u64))| Estimate {
            station: StationId(n),
            airtime: Span::from_micros(airtime),
            error: Span::from_micros(error),
        };
        groups((0..).zip(seen).map(estimate).collect()).iter().map(|group| group.stations.len()).collect()
    }

    #[test]
    fn stations_that_differ_by_less_than_the_error_are_one_group() {
        assert_eq!(sizes(&[(2_100, 200), (330, 40), (600, 60), (350, 40), (2_000, 200), (620, 60)]), [2, 2, 2]);
        assert_eq!(sizes(&[(330, 300), (600, 300), (500, 300)]), [3], "too little is known");
        assert_eq!(sizes(&[(330, 5), (340, 5)]), [2], "next to nothing");
        assert_eq!(sizes(&[(330, 5), (420, 5)]), [1, 1]);
        assert!(sizes(&[]).is_empty());
    }

    #[test]
    fn a_group_is_known_better_than_each_station() {
        let estimate = |n, airtime, error| Estimate {
            station: StationId(n),
            airtime: Span::from_micros(airtime),
            error: Span::from_micros(error),
        };
        let joined = groups([estimate(0, 1_000, 100), estimate(1, 1_090, 200)].into());
        let [group] = &joined[..] else { panic!("one: {joined:?}") };
        assert_eq!((group.airtime.as_micros(), group.error.as_micros()), (1_018, 89));
    }
}
