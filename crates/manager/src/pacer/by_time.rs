//! How fast time alone moves the estimate of the access points' backlog: at nine tenths of the medium's speed if no acknowledgment is due,
//! not at all while completions come, and at a small part of the speed if nothing is received for long.

use evenair_units::{Instant, Span};

/// Time after a completion during which nothing leaves by time.
const PATIENCE: Span = Span::from_millis(5);
/// Part of the medium's measured speed, in hundredths, at which time moves the estimate.
pub(crate) const BY_TIME_PERCENT: u64 = 90;
/// The same between probes, which show the real queue.
const PROBED_PERCENT: u64 = 95;
/// Silence of the WLAN while acknowledgments are due, and the part of the speed from then on, in hundredths; two stages. Stations sleep
/// for 100 to 300 ms.
const LOST: (Span, u64) = (Span::from_millis(50), 25);
const DEAD: (Span, u64) = (Span::from_secs(1), 5);

/// Margin of a deadline: more than divisions cut off in a few steps.
pub(crate) const ROUNDING: Span = Span::from_micros(1);
/// Age from which a due acknowledgment says nothing about now.
pub(crate) const LONG_AGO: Span = DEAD.0;

/// What the WLAN was last heard to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// Whether probes show how far the queue has come.
    pub(crate) is_probed: bool,
    /// The last completion, and when the WLAN was last heard.
    pub(crate) answered_at: Instant,
    pub(crate) heard: Instant,
    /// Since when an acknowledgment has been due, if that is known; whether one is due.
    pub(crate) due_since: Option<Instant>,
    pub(crate) is_due: bool,
    /// The age of the last completion is not to count: nothing leaves by time until nothing was heard for long.
    pub(crate) is_patient: bool,
    /// The lag of the path.
    pub(crate) lag: Span,
}

/// Instants from which on time moves the estimate at a part of the medium's speed, in hundredths.
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

    /// Whether acknowledgments are due, and nothing has been received for long.
    pub(crate) fn is_lost(&self, now: Instant) -> bool {
        now >= self.0[2].0
    }

    /// Medium time by which the estimate moves in an interval.
    pub(crate) fn progress(&self, from: Instant, to: Instant) -> Span {
        let part = |(begin, end, percent): (Instant, Instant, u64)| {
            end.min(to).saturating_since(begin.max(from)).mul_div(percent, 100)
        };
        self.spans().map(part).sum()
    }

    /// When the estimate will have moved by this medium time, from `from` on.
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

    /// Start, end and percentage of each stage.
    fn spans(&self) -> impl Iterator<Item = (Instant, Instant, u64)> + '_ {
        let ends = self.0[1..].iter().map(|next| next.0).chain([Instant::MAX]);
        self.0.iter().zip(ends).map(|(&(begin, percent), end)| (begin, end, percent))
    }
}
