//! The medium's speed, from replies to probes.
//!
//! Probes are few: between two replies time moves the estimate of the backlog, and errors of the speed add up. A probe that has found a
//! queue shows that the medium was busy; then the airtime that left between the last two completions, over the time between them, is the
//! speed. A probe without a queue, while packets waited in the box, shows only that the medium may be faster, and the speed rises by a
//! step. So a queue always forms again, and it is short.
//!
//! A probe has found a queue if its reply took clearly longer than the lag of the path.

use evenair_units::{Instant, Span};

use crate::pacer::standing::UNIT;

/// Least wait that shows a queue: this time, and this part (as a divisor) of the estimated backlog.
const QUEUE: Span = Span::from_millis(1);
const PART: u64 = 3;
/// A step of the slowness, in hundredths. If the next probe finds no queue either, the step is doubled, up to the second value.
const STEP_PERCENT: (u64, u64) = (3, 20);
/// Largest rise of the speed without a queue, as a factor.
const MOST_TIMES: u64 = 16;
/// Factor above which the speed is unproven: more than one step since the last queue.
const UNPROVEN_TIMES: u64 = 2;
/// Samples of which the speed is a mean, as an exponential mean.
const SAMPLES: u64 = 4;
/// Part of the time since a pause, as a divisor, that is added to what may be in flight.
const RAMP: u64 = 4;
/// Longest time between two completions that measures the speed.
const OUTAGE: Span = Span::from_millis(500);

/// The wait of a probe until its reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    /// The lag of the path.
    pub(crate) lag: Span,
    /// Whether a queue took the rest.
    pub(crate) in_queue: bool,
}

impl Waited {
    /// The wait of a probe that was answered after `took`, with an estimated backlog of `expected`.
    pub(super) fn new(took: Span, lag: Span, expected: Span) -> Self {
        let beyond = took.saturating_sub(lag);
        Self { lag, in_queue: beyond >= QUEUE && beyond * PART >= expected }
    }
}

/// The speed as measured by probes; see the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbedSpeed {
    /// The last completion, and the estimated airtime of all releases up to it.
    at: Instant,
    released: Span,
    /// Whether the box has had nothing to release since, or released nothing on purpose.
    is_starved: bool,
    /// The lag of the path, if the last completion was by a probe.
    by_probe: Option<Span>,
    /// When the box last released nothing on purpose, so that nothing is in flight.
    quiet: Instant,
    /// The next step, in hundredths.
    step: u64,
    /// The slowness when a queue was last found, or before any probe.
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

    /// Whether probes, and not the traffic, show completions.
    pub(crate) const fn is_in_use(&self) -> bool {
        self.by_probe.is_some()
    }

    /// The lag to be allowed in flight, as probes show it. After a pause it is limited to a part of the time since, since it would be a
    /// burst.
    pub(crate) fn lag(&self, now: Instant) -> Span {
        self.by_probe.unwrap_or(Span::ZERO).min(now.saturating_since(self.quiet) / RAMP)
    }

    /// The box releases nothing on purpose.
    pub(crate) const fn pause(&mut self, now: Instant) {
        self.quiet = now;
    }

    /// The box has nothing to release, or releases nothing on purpose.
    pub(crate) const fn starve(&mut self) {
        self.is_starved = true;
    }

    /// Notes a completion; `released`: estimated airtime of all releases up to it.
    pub(crate) const fn note_completion(&mut self, now: Instant, released: Span) {
        *self = Self { at: now, released, is_starved: false, by_probe: None, step: STEP_PERCENT.0, ..*self };
    }

    /// Notes a completion by a probe; returns the new slowness, which was `slowness`.
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

    /// Whether this slowness is much less than at the last queue found.
    pub(crate) const fn is_unproven(&self, slowness: u64) -> bool {
        self.is_in_use() && slowness * UNPROVEN_TIMES < self.found
    }

    /// Stops trusting probes; returns the new slowness, which was `slowness`.
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

    /// The slowness after so many probes of a medium that takes `real` for each unit of airtime, with a load of `asked` units in 40 ms:
    /// probes find a queue if that is more than the medium carries.
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
    fn without_a_queue_the_speed_rises_up_to_a_bound_and_is_taken_back() {
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
    fn a_probe_without_a_queue_shows_nothing_if_the_box_had_nothing_to_release() {
        let mut speed = ProbedSpeed::new(Instant::ZERO);
        let waited = Waited { lag: LAG, in_queue: false };
        for number in 1..=10 {
            speed.starve();
            let (at, released) = (Instant::ZERO + Span::from_millis(40 * number), Span::from_millis(10 * number));
            assert_eq!(speed.note_probe(at, released, waited, 1_000), 1_000);
        }
    }
}
