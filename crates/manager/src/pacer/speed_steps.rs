//! Raises the assumed speed of a medium that carries mostly unacknowledged traffic beside some acknowledged packets.
//!
//! If unacknowledged traffic fills the medium, the box releases it at the assumed speed, and all of it leaves the access
//! point: that only proves that the medium is no slower. An acknowledged packet among it says more. If its
//! acknowledgment is no later than the promptest ones were, given the estimated backlog ahead of it, then there is no
//! unknown backlog and the medium may be faster: the speed rises by a quarter. If the acknowledgment is later, a queue
//! has formed in the access point: the last step is undone, and the next one waits for longer each time.
//!
//! A wrong step fills the access point once, by an eighth of the time between two acknowledgments, because time advances
//! the backlog estimate at nine tenths of the speed (see `standing`).
//!
//! What is not here: speeds without any acknowledgments (the trial in `standing`); access points that serve each station
//! from a queue of its own, where the acknowledged packet does not wait behind the others.
//!
//! Principle: a rise by steps until delay shows a queue, as in TCP Vegas (Brakmo and Peterson, 1995).

use evenair_units::{Instant, Span};

/// A step: the new slowness, in hundredths of the old one.
const STEP_PERCENT: u64 = 80;
/// Time beyond that of the promptest acknowledgment, corrected for the backlog ahead, from which on one is late.
const LATE: Span = Span::from_millis(5);
/// Time from a late acknowledgment to the next step: at first, at most.
const PAUSE: (Span, Span) = (Span::from_secs(2), Span::from_secs(64));
/// Time after which a packet without an acknowledgment is no longer timed.
const LOST: Span = Span::from_secs(1);

/// The steps toward a higher speed; see the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpeedSteps {
    timed: Option<Timed>,
    /// Least time of an acknowledgment beyond what its packet had to wait for.
    least: Option<Span>,
    /// Whether some acknowledgment in this window was prompt, and whether one was late.
    is_prompt: bool,
    is_late: bool,
    /// Whether the last step is unconfirmed.
    is_open: bool,
    not_before: Instant,
    pause: Span,
}

/// The packet being timed.
#[derive(Clone, Copy, Debug)]
struct Timed {
    number: u64,
    at: Instant,
    /// Estimated medium time of it and all before it.
    expected: Span,
}

impl SpeedSteps {
    pub(crate) const fn new() -> Self {
        Self {
            timed: None,
            least: None,
            is_prompt: false,
            is_late: false,
            is_open: false,
            not_before: Instant::ZERO,
            pause: PAUSE.0,
        }
    }

    /// Notes a release with an acknowledgment due.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, expected: Span) {
        self.timed = self.timed.filter(|timed| now.saturating_since(timed.at) < LOST);
        self.timed.get_or_insert(Timed { number, at: now, expected });
    }

    /// Handles the acknowledgment of all up to this release. Returns the new slowness, which was `slowness`.
    pub(crate) fn note_answer(&mut self, now: Instant, number: u64, slowness: u64) -> u64 {
        let Some(timed) = self.timed.filter(|timed| timed.number <= number) else { return slowness };
        self.timed = None;
        let excess = now.saturating_since(timed.at).saturating_sub(timed.expected);
        let least = *self.least.get_or_insert(excess);
        self.least = Some(least.min(excess));
        if excess <= least + LATE {
            self.is_prompt = true;
            return slowness;
        }
        self.is_late = true;
        if !core::mem::take(&mut self.is_open) {
            return slowness;
        }
        self.not_before = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSE.1);
        slowness * 100 / STEP_PERCENT
    }

    /// A window begins.
    pub(crate) const fn begin(&mut self) {
        (self.is_prompt, self.is_late) = (false, false);
    }

    /// Ends a window in which only time let packets go, and packets always waited. Returns the new slowness.
    pub(crate) fn step(&mut self, now: Instant, slowness: u64) -> u64 {
        if !self.is_prompt || self.is_late || now < self.not_before {
            return slowness;
        }
        if core::mem::replace(&mut self.is_open, true) {
            // The step before was right.
            self.pause = (self.pause / 2).max(PAUSE.0);
        }
        slowness * STEP_PERCENT / 100
    }

    /// Confirms the last step, since acknowledgments measure the speed.
    pub(crate) const fn close(&mut self) {
        self.is_open = false;
    }

    /// Forgets the timing after a long time without acknowledgments.
    pub(crate) const fn forget(&mut self) {
        (self.timed, self.least, self.is_open) = (None, None, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// Acknowledges a packet that has to wait for 3 ms after `after_ms`, and ends a window. Returns the new slowness.
    fn window(steps: &mut SpeedSteps, number: u64, after_ms: u64, slowness: u64) -> u64 {
        let released = at(number * 1_000);
        steps.note_release(released, number, Span::from_millis(3));
        let answered = released + Span::from_millis(after_ms);
        let slowness = steps.note_answer(answered, number, slowness);
        let slowness = steps.step(answered, slowness);
        steps.begin();
        slowness
    }

    #[test]
    fn prompt_acknowledgments_raise_the_speed_and_a_late_one_takes_one_step_back() {
        let mut steps = SpeedSteps::new();
        assert_eq!(window(&mut steps, 1, 2, 1_000), 800);
        assert_eq!(window(&mut steps, 2, 4, 800), 640);
        assert_eq!(window(&mut steps, 3, 10, 640), 800, "7 ms more than it had to wait for");
        assert_eq!(window(&mut steps, 4, 2, 800), 800, "not before two seconds are over");
        assert_eq!(window(&mut steps, 6, 2, 800), 640);
        assert_eq!(window(&mut steps, 7, 10, 640), 800);
        assert_eq!(window(&mut steps, 10, 2, 800), 800, "nor, the second time, before four are");
        assert_eq!(window(&mut steps, 12, 2, 800), 640);
    }

    #[test]
    fn acknowledgments_that_were_always_late_are_not_late() {
        let mut steps = SpeedSteps::new();
        assert_eq!(window(&mut steps, 1, 40, 1_000), 800, "a station that acknowledges late");
        assert_eq!(window(&mut steps, 2, 42, 800), 640);
        assert_eq!(window(&mut steps, 3, 60, 640), 800);
    }

    #[test]
    fn a_late_acknowledgment_does_not_undo_a_confirmed_step() {
        let mut steps = SpeedSteps::new();
        assert_eq!(window(&mut steps, 1, 2, 1_000), 800);
        steps.close();
        assert_eq!(window(&mut steps, 2, 10, 300), 300);
    }
}
