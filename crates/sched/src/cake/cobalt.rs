//! COBALT: CoDel for responsive senders, BLUE for unresponsive ones.
//!
//! Two things differ from the CoDel of RFC 8289. When the queue is good again the count of signals is not reset but
//! reduced, one step for each interval between signals, so that the next standing queue starts with about the signal rate
//! that the last one needed. In addition there is a drop probability, which a full queue raises and an empty one lowers: it
//! limits an unresponsive sender to the available rate, even if its delay does not show congestion.
//!
//! Source: Palmei et al., "Design and Evaluation of COBALT Queue Discipline", IEEE LANMAN 2019; BLUE: Feng, Shin, Kandlur,
//! Saha, IEEE/ACM ToN 10(4), 2002. The steps of the probability are those of CAKE.

use evenair_units::{Instant, Rng, Span};

use crate::codel::{CodelConfig, spacing};

/// Increment of the drop probability by a full queue, in 2^-32: 1/256.
const RAISE: u32 = 1 << 24;
/// Decrement by an empty queue: 1/4096.
const LOWER: u32 = 1 << 20;

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    /// Signals that the last standing queue needed, less those taken back since.
    count: u32,
    signalling: bool,
    /// Time of the next signal while signalling; otherwise when the count is next reduced.
    next: Instant,
    /// Drop probability, in 2^-32.
    loss: u32,
    loss_changed: Instant,
}

impl Cobalt {
    /// Whether a congestion signal is due when the head of the queue, which has waited for `sojourn`, leaves.
    /// [`Self::drops`] follows.
    pub(super) fn signals(&mut self, now: Instant, sojourn: Span, config: &CodelConfig) -> bool {
        let stands = sojourn > config.target;
        if stands && !self.signalling {
            self.next = now.saturating_add(spacing(config.interval, self.count));
            self.count = self.count.max(1);
        }
        self.signalling = stands;
        let is_due = |cobalt: &Self| cobalt.count > 0 && cobalt.next <= now;
        let signals = self.signalling && is_due(self);
        if signals {
            self.count = self.count.saturating_add(1);
            self.next = self.next.saturating_add(spacing(config.interval, self.count));
        } else {
            while is_due(self) {
                self.take_back(config);
            }
        }
        signals
    }

    /// After [`Self::signals`]: whether to drop the head. It is dropped if it was left `unmarked` though a signal was due,
    /// or by chance.
    pub(super) fn drops(&mut self, now: Instant, unmarked: bool, config: &CodelConfig, rng: &mut Rng) -> bool {
        let mut drops = unmarked;
        if self.loss > 0 {
            drops |= rng.next_u64() as u32 <= self.loss;
        }
        if self.count == 0 {
            self.next = now.saturating_add(config.interval);
        } else if !drops {
            self.next = self.next.max(now);
        }
        drops
    }

    /// The queue lost a packet because all queues together are full.
    pub(super) fn note_overflow(&mut self, now: Instant, config: &CodelConfig) {
        if now.saturating_since(self.loss_changed) > config.target {
            self.loss = self.loss.saturating_add(RAISE);
            self.loss_changed = now;
        }
        self.signalling = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// The queue was empty in its turn.
    pub(super) fn note_empty(&mut self, now: Instant, config: &CodelConfig) {
        if self.loss > 0 && now.saturating_since(self.loss_changed) > config.target {
            self.loss = self.loss.saturating_sub(LOWER);
            self.loss_changed = now;
        }
        self.signalling = false;
        if self.count > 0 && self.next <= now {
            self.take_back(config);
        }
    }

    /// Whether the state has decayed completely.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.count == 0 && self.loss == 0 && self.next <= now
    }

    fn take_back(&mut self, config: &CodelConfig) {
        self.count -= 1;
        self.next = self.next.saturating_add(spacing(config.interval, self.count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use evenair_units::Streams;

    const CONFIG: CodelConfig = CodelConfig::RFC;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_millis(n)
    }

    /// Times, in ms, of congestion signals to a queue that is served each millisecond, with this sojourn time of its heads.
    fn signals(cobalt: &mut Cobalt, range: core::ops::Range<u64>, sojourn_ms: u64) -> Vec<u64> {
        let mut rng = Streams::new(1).stream("test");
        let mut drops = |n| {
            let signals = cobalt.signals(ms(n), Span::from_millis(sojourn_ms), &CONFIG);
            cobalt.drops(ms(n), signals, &CONFIG, &mut rng)
        };
        range.filter(|&n| drops(n)).collect()
    }

    #[test]
    fn signals_to_a_standing_queue_come_ever_sooner() {
        // An interval after the standing queue began; then the interval over the root of the number of signals, the present
        // one included: 100/sqrt(2) = 70.7, 100/sqrt(3) = 57.7, 50, 44.7 ms.
        assert_eq!(signals(&mut Cobalt::default(), 0..420, 20), [100, 171, 229, 279, 324, 364, 402]);
        assert_eq!(signals(&mut Cobalt::default(), 0..420, 5), []);
    }

    #[test]
    fn the_count_of_signals_decays_step_by_step() {
        let mut cobalt = Cobalt::default();
        signals(&mut cobalt, 0..420, 20);
        assert_eq!(cobalt.count, 8);
        // Good for a while: fewer signals than were given are taken back, and the next standing queue is signalled sooner.
        assert_eq!(signals(&mut cobalt, 420..520, 1), []);
        assert!((3..8).contains(&cobalt.count), "{}", cobalt.count);
        let again = signals(&mut cobalt, 520..600, 20);
        assert!(again[0] < 520 + 60, "{again:?}");
        // Good for long: the count is zero.
        signals(&mut cobalt, 600..2_000, 1);
        assert_eq!(cobalt.count, 0);
        assert!(!cobalt.is_at_rest(ms(2_000)) && cobalt.is_at_rest(ms(2_100)));
    }

    #[test]
    fn a_full_queue_raises_the_loss_and_an_empty_one_lowers_it() {
        let mut cobalt = Cobalt::default();
        // At most one step in each target.
        (1..=128_000).for_each(|us| cobalt.note_overflow(Instant::ZERO + Span::from_micros(us), &CONFIG));
        let steps = cobalt.loss / RAISE;
        assert!((24..=26).contains(&steps), "{steps}");
        let lost = signals(&mut cobalt, 200..10_200, 0).len();
        let expected = 10_000.0 * f64::from(steps) / 256.0;
        assert!((lost as f64 - expected).abs() < 0.15 * expected, "{lost} for {expected}");
        (0..16 * u64::from(steps)).for_each(|n| cobalt.note_empty(ms(11_000 + 6 * n), &CONFIG));
        assert_eq!(cobalt.loss, 0);
    }
}
