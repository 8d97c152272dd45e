//! Outlier check: whether the reported rates explain the measured costs.
//!
//! The estimator (`observed`) gives the real cost of each station's releases, up to a factor that is the same for all
//! stations and follows from how busy the channel is. Two hypotheses compete to explain the costs: the reported
//! rates, and the rates that the box would use if nothing were reported or inferred (all alike, or as configured).
//! Each hypothesis leaves an error for each station: the factor between estimated and expected cost, relative to the
//! median station. The check rejects a reported rate if its error is significant and larger than the error without
//! reports. So a report is used as long as it is better than none, however many retries there are; if it is worse, the
//! box ignores it.
//!
//! Estimated costs have an uncertainty. The check changes its result only if the comparison has the same outcome at
//! both bounds; in between, nothing changes.
//!
//! Of two stations neither is the median: if they contradict each other, neither report is used.

use alloc::vec::Vec;

use evenair_units::Span;

/// Error, in hundredths, from which on a rate is an outlier. Two stations that are wrong relative to each other by its
/// square share 39 to 61, for which Jain's index is 0.95.
const CLEARLY_PERCENT: u128 = 125;
/// Error, in hundredths, below which a rate is no outlier.
const HARDLY_PERCENT: u128 = 115;
/// Fixed-point units of squared factors.
const UNIT: u128 = 1 << 20;
const PERCENT_SQUARED: u128 = 10_000;

/// A station with a report, and its measured cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its cost relative to the reported rate, in any unit that is the same for all.
    pub(crate) cost: u64,
    /// Largest likely error of `cost`.
    pub(crate) error: u64,
    /// Airtime of a packet by the report; airtime without it.
    pub(crate) reported: Span,
    pub(crate) alone: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutlierCheck {
    Contradicts,
    Unclear,
    Agrees,
}

/// The result for each station, in the same order.
pub(crate) fn check_outliers(seen: &[Seen]) -> Vec<OutlierCheck> {
    let reported: Vec<[u128; 3]> = seen.iter().map(|seen| seen.bounds().map(u128::from)).collect();
    let real = |seen: &Seen| u128::from(seen.cost) * u128::from(seen.reported.as_nanos());
    let alone = |seen: &Seen| (real(seen) / u128::from(seen.alone.as_nanos().max(1))).clamp(1, MOST);
    let alone: Vec<u128> = seen.iter().map(alone).collect();
    let (Some(middle), Some(middle_alone)) =
        (middle(reported.iter().map(|reported| reported[1])), middle(alone.iter().copied()))
    else {
        return Vec::new();
    };
    let check = |(reported, alone): (&[u128; 3], &u128)| {
        // If the median lies between the bounds, it may be right.
        let [least, likely, most] = reported.map(|bound| off(bound, middle));
        let between = reported[0] * reported[0] <= middle && middle <= reported[2] * reported[2];
        let nearest = if between { UNIT } else { least.min(most) };
        let beyond = |error: u128, percent: u128| error * PERCENT_SQUARED > percent * percent * UNIT;
        if likely <= off(*alone, middle_alone) || !beyond(least.max(most), HARDLY_PERCENT) {
            OutlierCheck::Agrees
        } else if beyond(likely, CLEARLY_PERCENT) && beyond(nearest, HARDLY_PERCENT) {
            OutlierCheck::Contradicts
        } else {
            OutlierCheck::Unclear
        }
    };
    reported.iter().zip(&alone).map(check).collect()
}

/// Bound of values, so that the product of two can be multiplied three times.
const MOST: u128 = 1 << 50;

impl Seen {
    /// Its cost: at least, probably, at most.
    fn bounds(&self) -> [u64; 3] {
        let bounds = [self.cost.saturating_sub(self.error), self.cost, self.cost.saturating_add(self.error)];
        bounds.map(|bound| bound.clamp(1, MOST as u64))
    }
}

/// The square of the median, or the product of the two middle values.
fn middle(values: impl Iterator<Item = u128>) -> Option<u128> {
    let mut values: Vec<u128> = values.collect();
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    Some(values[last / 2] * values[values.len() / 2])
}

/// Squared ratio, at least one, of a value and the median, in `UNIT`.
fn off(value: u128, middle: u128) -> u128 {
    let square = value * value;
    let (large, small) = (square.max(middle), square.min(middle));
    // Shifted as far as there is room: a factor of a thousand or more is clear enough.
    let spare = large.leading_zeros().min(20);
    ((large << spare) / small.max(1)) << (20 - spare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use OutlierCheck::{Agrees, Contradicts};

    /// Results for stations with these real times of packets in us, and the airtimes by their reported rates.
    fn checks(real: &[u64], reported: &[u64]) -> Vec<OutlierCheck> {
        let seen = |(&real, &reported): (&u64, &u64)| Seen {
            cost: (real << 16) / reported,
            error: (real << 11) / reported,
            reported: Span::from_micros(reported),
            alone: Span::from_micros(2_000),
        };
        check_outliers(&real.iter().zip(reported).map(seen).collect::<Vec<_>>())
    }

    #[test]
    fn a_right_rate_agrees_however_slow_the_others_are() {
        assert_eq!(checks(&[2_000, 3_600, 7_400], &[2_000, 3_600, 7_400]), [Agrees; 3]);
        assert_eq!(checks(&[6_000, 10_800, 22_200], &[2_000, 3_600, 7_400]), [Agrees; 3], "a busy channel");
        assert_eq!(checks(&[2_000, 5_400, 22_200], &[2_000, 3_600, 7_400]), [Agrees; 3], "far stations retry");
        assert_eq!(checks(&[1_000, 1_800, 3_700], &[2_000, 3_600, 7_400]), [Agrees; 3], "all too slow alike");
        assert!(check_outliers(&[]).is_empty());
    }

    #[test]
    fn a_report_worse_than_none_is_contradicted() {
        assert_eq!(checks(&[2_000, 7_400], &[7_400, 2_000]), [Contradicts; 2], "swapped");
        assert_eq!(checks(&[2_000, 2_000], &[2_000, 3_600]), [Contradicts; 2], "one of two, nobody knows which");
        assert_eq!(checks(&[2_000, 2_000, 2_000], &[2_000, 2_000, 3_600]), [Agrees, Agrees, Contradicts]);
        assert_eq!(
            checks(&[2_000, 3_600, 7_400, 7_400, 3_600], &[2_000, 3_600, 7_400, 2_000, 3_600]),
            [Agrees, Agrees, Agrees, Contradicts, Agrees],
            "one slow station reported as fast"
        );
        assert_eq!(checks(&[2_000, 2_000, 2_000], &[2_000, 2_000, 2_700])[2], Contradicts);
        assert_eq!(checks(&[2_000, 2_000, 2_000], &[2_000, 2_000, 2_400])[2], OutlierCheck::Unclear);
        assert_eq!(checks(&[2_000; 3], &[2_000, 2_000, 2_000_000])[2], Contradicts, "absurd");
    }
}
