//! The medium's speed, from the answers to probes.
//!
//! Probes are few: between two answers time moves the estimate of the backlog, and errors of the speed add up. A probe that
//! has found a queue shows that the medium was busy; then what left between the last two completions, and how long that
//! took, is the speed. One that has found none, while packets waited in the box, shows only that the medium may be faster,
//! and the speed rises by a step. So a queue is always found again, and it is short.
//!
//! A probe has found a queue if its answer took clearly longer than the path does without queues.

use evenair_units::{Instant, Span};

use crate::pacer::standing::UNIT;

/// A shorter wait is no queue, nor is one that is less than one part in so many of the estimated backlog.
const QUEUE: Span = Span::from_millis(1);
const PART: u64 = 3;
/// A step, in hundredths of the time that is taken for each packet. Where the next probe finds no queue either,
/// the step is twice as large, up to the second.
const STEP_PERCENT: (u64, u64) = (3, 20);
/// Without a queue the speed rises to no more than so many times what it was.
const MOST_TIMES: u64 = 16;
/// So many times as fast is more than a step from a queue to the next.
const UNPROVEN_TIMES: u64 = 2;
/// Of how many samples the mean counts.
const SAMPLES: u64 = 4;
/// The part of the time after a pause, one in so many, that is added to what may be in flight.
const RAMP: u64 = 4;
/// More than this time between two completions says nothing of now.
const OUTAGE: Span = Span::from_millis(500);

/// How long a probe waited until its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    /// What the path takes without queues.
    pub(crate) lag: Span,
    /// All beyond that is a queue.
    pub(crate) in_queue: bool,
}

impl Waited {
    /// Until an answer that took so long, where the estimated backlog was `expected`.
    pub(super) fn new(took: Span, lag: Span, expected: Span) -> Self {
        let beyond = took.saturating_sub(lag);
        Self { lag, in_queue: beyond >= QUEUE && beyond * PART >= expected }
    }
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbedSpeed {
    /// The last completion, and the estimated airtime of all releases up to it.
    at: Instant,
    released: Span,
    /// The box has had nothing to release since, or kept it back.
    is_starved: bool,
    /// It was by a probe, and the path has this lag.
    by_probe: Option<Span>,
    /// When the box last kept all back, so that nothing is in flight.
    quiet: Instant,
    /// The next step, in hundredths.
    step: u64,
    /// The slowness when a queue was found last, or before any probe.
    found: u64,
}

impl ProbedSpeed {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            at: now,
            released: Span::ZERO,
            is_starved: true,
            by_probe: None,
            quiet: now,
            step: STEP_PERCENT.0,
            found: UNIT,
        }
    }

    /// Probes tell how far the queue has come, and not the traffic.
    pub(crate) const fn is_in_use(&self) -> bool {
        self.by_probe.is_some()
    }

    /// So much more is in flight since the path takes time, as far as probes tell. After a pause it is no more than a part
    /// of the time that has passed, since it would be a burst.
    pub(crate) fn lag(&self, now: Instant) -> Span {
        self.by_probe.unwrap_or(Span::ZERO).min(now.saturating_since(self.quiet) / RAMP)
    }

    /// The box keeps all back.
    pub(crate) const fn pause(&mut self, now: Instant) {
        self.quiet = now;
    }

    /// The box has nothing to release, or keeps it back.
    pub(crate) const fn starve(&mut self) {
        self.is_starved = true;
    }

    /// A release was completed, `released` being the estimated airtime of all up to it.
    pub(crate) const fn note_completion(&mut self, now: Instant, released: Span) {
        *self = Self { at: now, released, is_starved: false, by_probe: None, step: STEP_PERCENT.0, ..*self };
    }

    /// The same by a probe: the slowness from now on, where it was `slowness`.
    pub(crate) fn note_probe(&mut self, now: Instant, released: Span, waited: Waited, slowness: u64) -> u64 {
        let (took, left) = (now.saturating_since(self.at), released.saturating_sub(self.released));
        let Self { is_starved, step, .. } = *self;
        let found = if self.is_in_use() { self.found } else { slowness };
        let by_probe = Some(waited.lag);
        *self = Self { at: now, released, is_starved: false, by_probe, step: STEP_PERCENT.0, found, ..*self };
        if took > OUTAGE || left == Span::ZERO {
            return slowness;
        }
        if !waited.in_queue {
            if is_starved {
                return slowness;
            }
            self.step = (step * 2).min(STEP_PERCENT.1);
            return (slowness * (100 - step) / 100).max(found / MOST_TIMES).min(slowness);
        }
        let sample = took.mul_div(UNIT, left.as_nanos()).as_nanos().clamp(slowness / 2, slowness * 2);
        self.found =
            if is_starved && sample < slowness { slowness } else { (slowness * (SAMPLES - 1) + sample) / SAMPLES };
        self.found
    }

    /// Whether this slowness is much less than at the last queue that was found.
    pub(crate) const fn is_unproven(&self, slowness: u64) -> bool {
        self.is_in_use() && slowness * UNPROVEN_TIMES < self.found
    }

    /// Probes are not believed any more: the slowness from now on, where it was `slowness`.
    pub(crate) const fn give_up(&mut self, slowness: u64) -> u64 {
        match self.by_probe.take() {
            Some(_) => self.found,
            None => slowness,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAG: Span = Span::from_millis(5);

    /// After so many probes at a medium that takes `real` for each unit of airtime, and of which `asked` units are asked each
    /// 40 ms: they find a queue where that is more than it can do.
    fn after(probes: u64, slowness: u64, real: u64) -> u64 {
        let mut speed = ProbedSpeed::new(Instant::ZERO);
        let (mut slowness, mut released, mut queue) = (slowness, Span::ZERO, Span::ZERO);
        for number in 1..=probes {
            let interval = Span::from_millis(40);
            let came = interval.mul_div(UNIT, slowness);
            let left = (came + queue).min(interval.mul_div(UNIT, real));
            queue = came + queue - left;
            released += left;
            let waited = Waited::new(LAG + queue.mul_div(real, UNIT), LAG, Span::from_millis(3));
            slowness = speed.note_probe(Instant::ZERO + interval * number, released, waited, slowness);
        }
        assert_eq!((speed.is_in_use(), speed.lag(Instant::ZERO + LAG)), (true, LAG / RAMP));
        slowness
    }

    #[test]
    fn the_speed_is_found_from_either_side() {
        for (slowness, real) in [(1_000, 1_000), (4_000, 1_000), (500, 1_000), (1_000, 4_000)] {
            let found = after(60, slowness, real);
            assert!(found * 100 / real >= 80 && found * 100 / real <= 120, "{found} where {real} is right");
        }
    }

    #[test]
    fn without_a_queue_it_rises_no_further_than_so_many_times_and_is_taken_back() {
        let mut speed = ProbedSpeed::new(Instant::ZERO);
        let waited = Waited { lag: LAG, in_queue: false };
        let mut slowness = 8_000;
        for number in 1..=40 {
            let (at, released) = (Instant::ZERO + Span::from_millis(40 * number), Span::from_millis(10 * number));
            slowness = speed.note_probe(at, released, waited, slowness);
        }
        assert_eq!(slowness, 500);
        assert_eq!(speed.give_up(slowness), 8_000);
        assert!(!speed.is_in_use());
    }

    #[test]
    fn where_the_box_had_nothing_to_release_no_queue_says_nothing() {
        let mut speed = ProbedSpeed::new(Instant::ZERO);
        let waited = Waited { lag: LAG, in_queue: false };
        for number in 1..=10 {
            speed.starve();
            let (at, released) = (Instant::ZERO + Span::from_millis(40 * number), Span::from_millis(10 * number));
            assert_eq!(speed.note_probe(at, released, waited, 1_000), 1_000);
        }
    }
}
