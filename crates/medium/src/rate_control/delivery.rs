//! Delivery ratio of a rate, averaged over time as in Linux's Minstrel.

/// Unit of probabilities: 1 / `SCALE`.
pub(super) const SCALE: u64 = 1_000_000;
/// Weight of the past in the moving average, per cent.
const PAST_PERCENT: u64 = 75;

/// Delivery of the frames at one rate.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Delivery {
    /// Attempts, and successes, since the last evaluation.
    attempts: u64,
    successes: u64,
    /// Delivery ratio in units of 1 / [`SCALE`], averaged over evaluations; `None` before the first attempt.
    pub(super) part: Option<u64>,
}

impl Delivery {
    pub(super) fn add(&mut self, attempts: u64, successes: u64) {
        self.attempts += attempts;
        self.successes += successes;
    }

    /// Whether there were more than this many attempts since the last evaluation, and fewer than a quarter
    /// succeeded.
    pub(super) fn is_poor_of(&self, attempts: u64) -> bool {
        self.attempts > attempts && 4 * self.successes < self.attempts
    }

    /// Ends a period and updates the average.
    pub(super) fn evaluate(&mut self) {
        if let Some(now) = (self.successes * SCALE).checked_div(self.attempts) {
            self.part = Some(self.part.map_or(now, |past| average(past, now)));
        }
        (self.attempts, self.successes) = (0, 0);
    }
}

/// Moving average after one more period.
pub(super) const fn average(past: u64, now: u64) -> u64 {
    (past * PAST_PERCENT + now * (100 - PAST_PERCENT)) / 100
}
