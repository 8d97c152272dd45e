//! The closed loop of receiver control: window or delay follow the access point's backlog.
//!
//! In each connection one DATA segment at a time is timed from its release toward the WLAN to the ACK that covers it.
//! The wait in the access point is that time less the segment's own airtime. A retransmitted segment is not timed
//! (Karn and Partridge, 1987). The mean of an interval is compared with the target.
//!
//! - Window: the backlog grows in proportion to the window, less what is in flight elsewhere. So the window moves a
//!   part of the way to the value that this proportion gives for the target (as in FAST TCP, Wei et al., 2006), and
//!   grows only if it is what limits the senders.
//! - Delay: if windows limit the senders, packets held in the box are not in the access point. So the delay changes
//!   by a part of the excess over the target.
//!
//! What is not here: several access points in one domain, whose queues are taken together.

use evenair_units::{Instant, Span};

use crate::ReceiverConfig;
use crate::flows::tcp::after;

/// Shortest interval of the loop. A change shows after a round trip, of which the box sees only the part behind it, so
/// twice the measured mean is added.
const INTERVAL: Span = Span::from_millis(250);
/// Samples needed for a mean.
const SAMPLES: u64 = 8;
/// Time after which an unacknowledged segment is no longer timed.
const FORGOTTEN: Span = Span::from_secs(10);
/// Part of the distance that a step covers, as a divisor. With a quarter the loop is stable if the wired part of a
/// round trip is up to seven times the target, and corrects nine tenths of an error in eight steps.
const GAIN: u64 = 4;
/// Initial window of a connection in bytes: ten segments (RFC 6928).
const FIRST_WINDOW: u64 = 14_600;
/// Smallest window, in bytes: one segment of usual size.
const LEAST_WINDOW: u64 = 1_460;

/// The segment of a connection that is being timed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timed {
    /// The sequence number behind it, and when it was released.
    segment: Option<(u32, Instant)>,
    /// Sequence number behind the furthest byte released.
    furthest: Option<u32>,
}

impl Timed {
    /// Notes that DATA up to `end` are released toward the WLAN. Returns whether they are new.
    pub(crate) fn note_release(&mut self, now: Instant, end: u32) -> bool {
        let is_new = self.furthest.is_none_or(|furthest| after(end, furthest));
        if is_new {
            self.furthest = Some(end);
            let is_stale = |&(_, since): &(u32, Instant)| now.saturating_since(since) >= FORGOTTEN;
            if self.segment.is_none() || self.segment.as_ref().is_some_and(is_stale) {
                self.segment = Some((end, now));
            }
        } else {
            self.segment = None;
        }
        is_new
    }

    /// Notes that the station acknowledges all before `ack`. Returns how long the timed segment took.
    pub(crate) fn note_ack(&mut self, now: Instant, ack: u32) -> Option<Span> {
        let (_, since) = self.segment.take_if(|(end, _)| !after(*end, ack))?;
        Some(now.saturating_since(since)).filter(|&took| took < FORGOTTEN)
    }

    /// Resets for another connection between the same ports.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }
}

/// Measured wait in the access point, and the controls that follow from it.
#[derive(Clone, Debug)]
pub(crate) struct Steering {
    waited: Span,
    own: Span,
    samples: u64,
    next: Instant,
    /// Mean wait of the last interval.
    queueing: Option<Span>,
    window: u64,
    delay: Span,
    /// Whether some window was lowered since the last evaluation.
    binds: bool,
}

/// Target of the law in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    Window(Span),
    Delay(Span),
    Nothing,
}

impl Steering {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            waited: Span::ZERO,
            own: Span::ZERO,
            samples: 0,
            next: now + INTERVAL,
            queueing: None,
            window: FIRST_WINDOW,
            delay: Span::ZERO,
            binds: false,
        }
    }

    /// Mean time that packets waited in the access point in the last evaluated interval.
    pub(crate) const fn queueing(&self) -> Option<Span> {
        self.queueing
    }

    /// The window for a law with a target, in bytes.
    pub(crate) const fn window(&self) -> u64 {
        self.window
    }

    /// The time to hold ACKs for a law with a target.
    pub(crate) const fn delay(&self) -> Span {
        self.delay
    }

    /// Notes that a window was lowered.
    pub(crate) const fn note_lowered(&mut self) {
        self.binds = true;
    }

    /// Notes the round trip of a segment to the station; `own`: the medium time of the segment.
    pub(crate) fn note_sample(&mut self, now: Instant, took: Span, own: Span, aim: Aim) {
        self.waited += took.saturating_sub(own);
        self.own += own;
        self.samples += 1;
        if now >= self.next && self.samples >= SAMPLES {
            self.judge(now, aim);
        }
    }

    fn judge(&mut self, now: Instant, aim: Aim) {
        let (mean, own) = (self.waited / self.samples, self.own / self.samples);
        match aim {
            Aim::Window(target) => self.move_window(mean + own, target + own),
            Aim::Delay(target) if mean >= target => {
                self.delay = (self.delay + (mean - target) / GAIN).min(ReceiverConfig::MAX_DELAY);
            }
            Aim::Delay(target) => self.delay = self.delay.saturating_sub((target - mean) / GAIN),
            Aim::Nothing => {}
        }
        self.queueing = Some(mean);
        (self.waited, self.own, self.samples, self.binds) = (Span::ZERO, Span::ZERO, 0, false);
        self.next = now + INTERVAL + mean * 2;
    }

    fn move_window(&mut self, is: Span, aim: Span) {
        // A step changes it to at most double or half.
        let scaled = u128::from(self.window) * u128::from(aim.as_nanos()) / u128::from(is.as_nanos().max(1));
        let there = u64::try_from(scaled).unwrap_or(u64::MAX).clamp(self.window / 2, self.window * 2);
        if there > self.window && !self.binds {
            return;
        }
        let moved = (self.window * (GAIN - 1) + there) / GAIN;
        self.window = moved.clamp(LEAST_WINDOW, ReceiverConfig::MAX_WINDOW.0);
    }
}
