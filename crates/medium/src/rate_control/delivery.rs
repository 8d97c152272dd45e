//! What part of its frames a rate delivers, averaged over time, as the Minstrels of Linux measure it.

/// Probabilities are counted in this many parts.
pub(super) const SCALE: u64 = 1_000_000;
/// Weight of the past, per cent.
const PAST_PERCENT: u64 = 75;

/// The frames at one rate.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Delivery {
    /// Since the last evaluation.
    attempts: u64,
    successes: u64,
    /// The part that was delivered, of [`SCALE`], averaged over evaluations; `None` before the first attempt.
    pub(super) part: Option<u64>,
}

impl Delivery {
    pub(super) fn add(&mut self, attempts: u64, successes: u64) {
        self.attempts += attempts;
        self.successes += successes;
    }

    /// Since the last evaluation there were more attempts than these, and less than a quarter were successes.
    pub(super) fn is_poor_of(&self, attempts: u64) -> bool {
        self.attempts > attempts && 4 * self.successes < self.attempts
    }

    /// A period is over.
    pub(super) fn evaluate(&mut self) {
        if let Some(now) = (self.successes * SCALE).checked_div(self.attempts) {
            self.part = Some(self.part.map_or(now, |past| average(past, now)));
        }
        (self.attempts, self.successes) = (0, 0);
    }
}

/// A moving average with the value of one more period.
pub(super) const fn average(past: u64, now: u64) -> u64 {
    (past * PAST_PERCENT + now * (100 - PAST_PERCENT)) / 100
}
