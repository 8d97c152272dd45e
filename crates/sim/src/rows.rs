//! Series as they are filled: zeros are entered when something else comes after them, or the run ends.
//!
//! What is reported of an interval is kept as one row until the run ends, and is made into series then: each of many
//! senders and applications would otherwise have a dozen places in memory to be visited for every interval.

use evenair_scenario::Scenario;
use evenair_scenario::results::LossSeries;

/// Whole intervals of a run.
pub(crate) fn intervals(scenario: &Scenario) -> usize {
    (scenario.duration / scenario.measure.interval) as usize
}

/// Rows of one sender or application: of those intervals in which something happened.
#[derive(Debug)]
pub(crate) struct Rows<R>(Vec<(u32, R)>);

impl<R> Default for Rows<R> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<R> Rows<R> {
    /// The row of interval `number` of `intervals`.
    #[inline]
    pub(crate) fn push(&mut self, (number, intervals): (usize, usize), row: R) {
        if self.0.is_empty() {
            self.0.reserve_exact(intervals - number);
        }
        self.0.push((number as u32, row));
    }

    /// The numbers of the intervals, and their rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &R)> {
        self.0.iter().map(|(number, row)| (*number as usize, row))
    }
}

/// Enters the value of interval `number` of `intervals`, unless it is zero as those before that are not there yet. A
/// series that has any value will be as long as the run, and gets its memory at once.
#[inline]
pub(crate) fn put<T: Copy + Default + PartialEq>(series: &mut Vec<T>, (number, intervals): (usize, usize), value: T) {
    if value != T::default() {
        if series.len() != number || number == 0 {
            skip_to(series, number, intervals);
        }
        series.push(value);
    }
}

/// Zeros up to interval `number`.
#[inline(never)]
fn skip_to<T: Copy + Default>(series: &mut Vec<T>, number: usize, intervals: usize) {
    if series.capacity() == 0 {
        series.reserve_exact(intervals);
    }
    series.resize(number, T::default());
}

/// The same for a reason of losses.
pub(crate) fn put_loss(series: &mut Vec<LossSeries>, at: (usize, usize), reason: &str, frames: u64) {
    if frames > 0 {
        let place = series.iter().position(|loss| loss.reason == reason).unwrap_or_else(|| {
            series.push(LossSeries { reason: reason.to_owned(), frames: Vec::new() });
            series.len() - 1
        });
        put(&mut series[place].frames, at, frames);
    }
}

/// Makes a series as long as the run, unless it is empty.
pub(crate) fn fill<T: Copy + Default>(series: &mut Vec<T>, intervals: usize) {
    if !series.is_empty() {
        series.resize(intervals, T::default());
    }
}
