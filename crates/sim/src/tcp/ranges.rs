//! A set of stream positions as sorted, disjoint, non-touching ranges.
//!
//! Loss leaves few holes in a window of thousands of segments, so the cost depends on the number of holes: finding a position
//! is a binary search, and the two ends, where nearly all changes happen, are cheap to change. The set keeps its memory, so
//! that it does not allocate in steady state.

use core::ops::Range;
use std::collections::VecDeque;

use evenair_units::hint::prefetch;

/// A set of `u64` positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RangeSet {
    /// Sorted by start, as pairs of start and end; each end is below the next start.
    ranges: VecDeque<(u64, u64)>,
    /// Sum of the lengths.
    total: u64,
}

impl RangeSet {
    /// Number of positions in the set.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The ranges from the highest down.
    pub(super) fn iter_down(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().rev().map(|&(start, end)| start..end)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The lowest range.
    pub(super) fn first(&self) -> Option<Range<u64>> {
        self.ranges.front().map(|&(start, end)| start..end)
    }

    /// The position after the highest range.
    pub(super) fn end(&self) -> Option<u64> {
        self.ranges.back().map(|&(_, end)| end)
    }

    /// Prefetches the lowest range: most sets have few.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.ranges.front().into_iter().for_each(|first| prefetch(first));
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }

    /// The range that contains `position`.
    pub(super) fn containing(&self, position: u64) -> Option<Range<u64>> {
        let (start, end) = *self.ranges.get(self.first_ending_above(position))?;
        (start <= position).then_some(start..end)
    }

    /// Adds a range; returns how many of its positions are new.
    pub(super) fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        // The ranges from `first` up to `after` overlap or touch the new one and are merged with it.
        let first = self.ranges.partition_point(|&(_, end)| end < range.start);
        let (mut start, mut end) = (range.start, range.end);
        let (mut after, mut held) = (first, 0);
        while let Some(&(a, b)) = self.ranges.get(after).filter(|&&(a, _)| a <= range.end) {
            (start, end) = (start.min(a), end.max(b));
            held += b - a;
            after += 1;
        }
        if after == first {
            self.ranges.insert(first, (start, end));
        } else {
            self.ranges[first] = (start, end);
            self.ranges.drain(first + 1..after);
        }
        let new = end - start - held;
        self.total += new;
        new
    }

    /// Removes everything below `position`; returns the number of positions removed.
    pub(super) fn remove_below(&mut self, position: u64) -> u64 {
        let before = self.total;
        while let Some(front) = self.ranges.front_mut().filter(|front| front.0 < position) {
            if front.1 <= position {
                self.total -= front.1 - front.0;
                self.ranges.pop_front();
            } else {
                self.total -= position - front.0;
                front.0 = position;
            }
        }
        before - self.total
    }

    /// Removes the positions of `range`.
    pub(super) fn remove(&mut self, range: Range<u64>) {
        let mut at = self.first_ending_above(range.start);
        while let Some(&(start, end)) = self.ranges.get(at).filter(|held| held.0 < range.end) {
            self.ranges.remove(at);
            self.total -= end.min(range.end) - start.max(range.start);
            if start < range.start {
                self.ranges.insert(at, (start, range.start));
                at += 1;
            }
            if end > range.end {
                self.ranges.insert(at, (range.end, end));
                return;
            }
        }
    }

    /// Number of positions of `range` in the set.
    pub(super) fn covered(&self, range: Range<u64>) -> u64 {
        let first = self.first_ending_above(range.start);
        let overlapping = self.ranges.range(first..).take_while(|&&(start, _)| start < range.end);
        overlapping.map(|&(start, end)| end.min(range.end) - start.max(range.start)).sum()
    }

    /// The first gap at or after `position`, up to `limit`; `None` if the set contains all positions up to there.
    pub(super) fn gap(&self, position: u64, limit: u64) -> Option<Range<u64>> {
        let mut at = self.first_ending_above(position);
        let mut start = position;
        if let Some(&(_, end)) = self.ranges.get(at).filter(|range| range.0 <= position) {
            start = end;
            at += 1;
        }
        let end = self.ranges.get(at).map_or(limit, |range| range.0.min(limit));
        (start < end).then_some(start..end)
    }

    fn first_ending_above(&self, position: u64) -> usize {
        self.ranges.partition_point(|&(_, end)| end <= position)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(ranges: &[Range<u64>]) -> RangeSet {
        let mut set = RangeSet::default();
        ranges.iter().for_each(|range| {
            set.insert(range.clone());
        });
        set
    }

    #[test]
    fn touching_ranges_are_merged() {
        let set = set(&[10..20, 30..40, 20..30]);
        assert_eq!(set.first(), Some(10..40));
        assert_eq!(set.total(), 30);
    }

    proptest! {
        /// The oracle is a set of single positions.
        #[test]
        fn agrees_with_a_set_of_positions(
            steps in prop::collection::vec((0..4u8, 0..60u64, 0..12u64), 1..60),
        ) {
            let mut ours = RangeSet::default();
            let mut oracle = BTreeSet::new();
            for (what, at, len) in steps {
                if what == 0 {
                    let kept = oracle.split_off(&at);
                    prop_assert_eq!(ours.remove_below(at), oracle.len() as u64);
                    oracle = kept;
                } else {
                    let new = (at..at + len).filter(|&p| oracle.insert(p)).count() as u64;
                    prop_assert_eq!(ours.insert(at..at + len), new);
                }
                prop_assert_eq!(ours.total(), oracle.len() as u64);
                prop_assert_eq!(ours.covered(at..at + 20), oracle.range(at..at + 20).count() as u64);
                prop_assert_eq!(ours.containing(at).is_some(), oracle.contains(&at));
                let start = (at..at + 20).find(|p| !oracle.contains(p));
                let gap = start.map(|s| s..(s..at + 20).find(|p| oracle.contains(p)).unwrap_or(at + 20));
                prop_assert_eq!(ours.gap(at, at + 20), gap);
                prop_assert!(ours.ranges.iter().zip(ours.ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
            }
        }
    }
}
