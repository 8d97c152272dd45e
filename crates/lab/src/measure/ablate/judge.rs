//! What a mechanism changes in a network: the runs without it beside those of the full controller, in pairs of the same seed.

use evenair_results::paired::Paired;

use super::figures::{Figures, Measure, Unit};

/// Of the intervals.
const CONFIDENCE: f64 = 0.95;

/// What a difference says of the mechanism that was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Without it the measure is worse by more than counts, wherever in its interval the difference is.
    Earns,
    /// The same, better.
    Costs,
    /// The mean is worse or better by more than counts, but not all of the interval.
    Unclear,
    /// Neither.
    Nothing,
}

/// A difference: without the mechanism, less with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub measure: Measure,
    pub paired: Paired,
}

impl Change {
    /// From the runs of the same seeds, with the mechanism and without it; `None` where none has the measure.
    pub fn of(measure: Measure, with: &[Figures], without: &[Figures]) -> Option<Self> {
        let pairs = with.iter().zip(without).map(|(with, without)| with.get(measure).zip(without.get(measure)));
        let pairs: Vec<_> = pairs.flatten().collect();
        Some(Self { measure, paired: Paired::of(&pairs, CONFIDENCE)? })
    }

    /// One pair has no interval, and says nothing for sure.
    pub fn verdict(&self) -> Verdict {
        let Paired { first, mean, half_width, .. } = self.paired;
        let least = self.measure.least(first);
        let worse = if self.measure.is_cost() { mean } else { -mean };
        if worse.abs() <= least {
            Verdict::Nothing
        } else if half_width.is_none_or(|half| worse.abs() - half <= least) {
            Verdict::Unclear
        } else if worse > 0.0 {
            Verdict::Earns
        } else {
            Verdict::Costs
        }
    }

    /// As it is shown: the mean and half the width of its interval.
    pub fn text(&self) -> String {
        let shown = |value: f64| match self.measure.unit() {
            Unit::Percent => self.paired.percent(value),
            Unit::Own => Some(value),
        };
        let (decimals, sign) = match self.measure.unit() {
            Unit::Percent => (1, " %"),
            Unit::Own => (self.measure.decimals(), ""),
        };
        let Some(mean) = shown(self.paired.mean) else { return "-".to_owned() };
        match self.paired.half_width.and_then(shown) {
            Some(half) => format!("{mean:+.decimals$} ± {half:.decimals$}{sign}"),
            None => format!("{mean:+.decimals$}{sign}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in which goodput, delay, Jain's index, page time and R are these, of each seed.
    fn runs(seeds: &[[f64; 5]]) -> Vec<Figures> {
        seeds.iter().map(|values| Figures::with(values.map(Some))).collect()
    }

    const FULL: [[f64; 5]; 3] =
        [[100.0, 6.0, 0.98, 200.0, 90.0], [101.0, 6.1, 0.98, 210.0, 90.0], [99.0, 5.9, 0.98, 190.0, 90.0]];

    /// All verdicts where each seed differs by about this much in each measure; `spread`: the seeds differ by so much more or less.
    fn verdicts(change: [f64; 5], spread: f64) -> [Verdict; 5] {
        let mut without = FULL;
        for (seed, part) in without.iter_mut().zip([1.0 - spread, 1.0, 1.0 + spread]) {
            seed.iter_mut().zip(change).for_each(|(value, change)| *value += change * part);
        }
        Measure::ALL.map(|measure| Change::of(measure, &runs(&FULL), &runs(&without)).unwrap().verdict())
    }

    #[test]
    fn what_is_worse_beyond_the_bounds_earns_and_what_is_better_costs() {
        let worse = [-2.5, 1.5, -0.03, 25.0, -3.0];
        assert_eq!(verdicts(worse, 0.01), [Verdict::Earns; 5]);
        assert_eq!(verdicts(worse.map(|change| -change), 0.01), [Verdict::Costs; 5]);
    }

    #[test]
    fn what_is_within_the_bounds_is_nothing_however_sure_it_is() {
        assert_eq!(verdicts([-1.9, 0.95, -0.019, 19.0, -1.9], 0.001), [Verdict::Nothing; 5]);
        assert_eq!(verdicts([0.0; 5], 0.0), [Verdict::Nothing; 5]);
    }

    #[test]
    fn what_the_interval_does_not_show_is_unclear() {
        assert_eq!(verdicts([-2.5, 1.5, -0.03, 25.0, -3.0], 0.5), [Verdict::Unclear; 5]);
        let one = Change::of(Measure::Goodput, &runs(&FULL[..1]), &runs(&[[50.0, 6.0, 0.98, 200.0, 90.0]])).unwrap();
        assert_eq!(one.verdict(), Verdict::Unclear, "one pair has no interval");
    }

    #[test]
    fn delays_have_to_differ_by_a_tenth_and_by_a_millisecond() {
        assert_eq!(Measure::ApDelay.least(5.0), 1.0);
        assert_eq!(Measure::ApDelay.least(50.0), 5.0);
    }

    #[test]
    fn a_change_is_shown_with_its_sign_and_its_interval() {
        let without = FULL.map(|[goodput, ..]| [goodput * 0.5, 6.0, 0.90, 200.0, 90.0]);
        let text = |measure| Change::of(measure, &runs(&FULL), &runs(&without)).unwrap().text();
        assert_eq!(text(Measure::Goodput), "-50.0 ± 1.2 %");
        assert_eq!(text(Measure::Jain), "-0.080 ± 0.000");
        let none = [Figures::with([None; 5])];
        assert!(Change::of(Measure::Page, &none, &none).is_none());
    }
}
