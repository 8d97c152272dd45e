//! How fast time alone moves the estimate of the access points' backlog: at nine tenths of the medium's speed where nothing is due, not
//! at all while completions come, and at a small part of the speed where nothing is heard for long.

use evenair_units::{Instant, Span};

/// For so long after a completion nothing leaves by time.
const PATIENCE: Span = Span::from_millis(5);
/// Of the medium's measured speed, in hundredths, when time moves the estimate.
pub(crate) const BY_TIME_PERCENT: u64 = 90;
/// The same between probes, which show how long the queue really is.
const PROBED_PERCENT: u64 = 95;
/// Nothing heard from the WLAN for so long, while answers are due, and time moves the estimate at so many hundredths of the
/// speed; and for so much longer. Stations sleep for 100 to 300 ms.
const LOST: (Span, u64) = (Span::from_millis(50), 25);
const DEAD: (Span, u64) = (Span::from_secs(1), 5);

/// More than what divisions cut off in a few steps: a deadline lies so much behind the moment that is meant.
pub(crate) const ROUNDING: Span = Span::from_micros(1);
/// An answer that has been due for longer says nothing about now.
pub(crate) const LONG_AGO: Span = DEAD.0;

/// What was heard last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// Probes show how far the queue has come.
    pub(crate) is_probed: bool,
    /// The last completion, and when the WLAN was last heard.
    pub(crate) answered_at: Instant,
    pub(crate) heard: Instant,
    /// Since when an answer has been due, as far as that is known; whether one is.
    pub(crate) due_since: Option<Instant>,
    pub(crate) is_due: bool,
    /// The age of the last completion is not to count: nothing leaves by time until nothing was heard for long.
    pub(crate) is_patient: bool,
    /// The lag of the path.
    pub(crate) lag: Span,
}

/// From when on at how many hundredths of the medium's speed time moves the estimate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stages([(Instant, u64); 4]);

impl Stages {
    pub(crate) fn of(last: Heard) -> Self {
        let percent = if last.is_probed { PROBED_PERCENT } else { BY_TIME_PERCENT };
        if !last.is_due {
            let never = (Instant::MAX, percent);
            return Self([(Instant::ZERO, percent), never, never, never]);
        }
        let patient_until = last.answered_at.saturating_add(PATIENCE + last.lag);
        let silent_since = last.due_since.map_or(last.heard, |due| due.max(last.heard));
        let lost = silent_since.saturating_add(LOST.0 + last.lag).max(patient_until);
        let dead = silent_since.saturating_add(DEAD.0).max(lost);
        let (percent, while_lost) = if last.is_patient { (0, 0) } else { (percent, LOST.1) };
        Self([(Instant::ZERO, 0), (patient_until, percent), (lost, while_lost), (dead, DEAD.1)])
    }

    /// Answers are due, and nothing has been heard for long.
    pub(crate) fn is_lost(&self, now: Instant) -> bool {
        now >= self.0[2].0
    }

    /// How far time moves the estimate in an interval, in medium time.
    pub(crate) fn progress(&self, from: Instant, to: Instant) -> Span {
        let part = |(begin, end, percent): (Instant, Instant, u64)| {
            end.min(to).saturating_since(begin.max(from)).mul_div(percent, 100)
        };
        self.spans().map(part).sum()
    }

    /// When time will have moved it by this much more medium time than at `from`.
    pub(crate) fn moved_by(&self, from: Instant, mut left: Span) -> Instant {
        for (begin, end, percent) in self.spans() {
            let begin = begin.max(from);
            let moves = end.saturating_since(begin).mul_div(percent, 100);
            if percent > 0 && left <= moves {
                return begin.saturating_add(left.mul_div(100, percent) + ROUNDING);
            }
            left = left.saturating_sub(moves);
        }
        Instant::MAX
    }

    /// Begin, end and percentage of each stage.
    fn spans(&self) -> impl Iterator<Item = (Instant, Instant, u64)> + '_ {
        let ends = self.0[1..].iter().map(|next| next.0).chain([Instant::MAX]);
        self.0.iter().zip(ends).map(|(&(begin, percent), end)| (begin, end, percent))
    }
}
