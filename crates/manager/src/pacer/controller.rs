//! The controllers and their settings. This is the only place that knows all of them.
//!
//! Each kind has a file below, with its settings (`Settings`: defaults, checks, what it paces releases by) and its law (`Law`: how it moves
//! the service rate). A new kind is such a file, its `mod` line, a variant of [`Controller`] with the next number for recordings, and
//! an arm of `Controller::with`; the written form is in crate `config`.

mod fixed;
pub(crate) mod law;
mod none;
mod pi;
mod published;
mod queue;

use alloc::boxed::Box;

use evenair_units::{BitRate, Instant, Span};
use minicbor::{Decode, Encode};

use crate::config::error::ConfigError;
use law::{Law, Pacing, Settings};
pub use pi::Pi;
pub use published::Published;
pub use queue::QueueTarget;

/// How releases are paced: by completions, or by a service rate C and a law that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Controller {
    /// The published additive rule: up by `delta` while TCP's measured use of the WLAN keeps up with C, else down.
    #[n(0)]
    Published {
        /// Time between two evaluations; published 1 s.
        #[n(0)]
        interval: Span,
        /// Step; published 0.1 Mb/s.
        #[n(1)]
        delta: BitRate,
        /// The measured use may be this many thousandths below C and still count as equal.
        #[n(2)]
        tolerance_permille: u32,
        /// C starts at this many thousandths of C*.
        #[n(3)]
        start_permille: u32,
    },
    /// Keeps the access points' backlog at this much medium time, estimated from the stations' acknowledgments, without
    /// assumed rates, with as little in flight besides as carries nearly all of what more would carry.
    #[n(1)]
    Queue {
        /// Target of the backlog. It may be exceeded by one packet, so that the medium never waits for the box.
        #[n(0)]
        target: Span,
    },
    /// The same controller; in recordings of a version in which the two differed.
    #[n(5)]
    Knee {
        /// The medium time.
        #[n(0)]
        target: Span,
    },
    /// A service rate that a proportional-integral law moves, so that packets wait for a target time in the access point: this keeps the
    /// load offered to the medium just below the critical one.
    #[n(2)]
    Pi {
        /// Time between two evaluations.
        #[n(0)]
        interval: Span,
        /// Target of the mean time that packets wait in the access point, as stations' acknowledgments show it.
        #[n(1)]
        target: Span,
    },
    /// A constant service rate, in IP-level bits of DATA and ACKs over the WLAN per second.
    #[n(3)]
    Fixed(#[n(0)] BitRate),
    /// Nothing is held for the WLAN: packets pass in order of arrival, and the queue forms in the access point. For mechanisms that need
    /// no queue, and for comparison.
    #[n(4)]
    None,
}

impl Default for Controller {
    fn default() -> Self {
        QueueTarget::default().into()
    }
}

impl From<QueueTarget> for Controller {
    fn from(QueueTarget { target }: QueueTarget) -> Self {
        Self::Queue { target }
    }
}

impl From<Pi> for Controller {
    fn from(Pi { interval, target }: Pi) -> Self {
        Self::Pi { interval, target }
    }
}

impl From<Published> for Controller {
    fn from(Published { interval, delta, tolerance_permille, start_permille }: Published) -> Self {
        Self::Published { interval, delta, tolerance_permille, start_permille }
    }
}

impl Controller {
    /// Calls `ask` with the settings of this kind.
    #[inline]
    fn with<T>(self, ask: impl FnOnce(&dyn Settings) -> T) -> T {
        match self {
            Self::Published { interval, delta, tolerance_permille, start_permille } => {
                ask(&Published { interval, delta, tolerance_permille, start_permille })
            }
            Self::Queue { target } | Self::Knee { target } => ask(&QueueTarget { target }),
            Self::Pi { interval, target } => ask(&Pi { interval, target }),
            Self::Fixed(rate) => ask(&fixed::Fixed { rate }),
            Self::None => ask(&none::Unpaced),
        }
    }
}

impl Controller {
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        self.with(|settings| settings.check())
    }

    /// What paces releases.
    pub(crate) fn pacing(self) -> Pacing {
        self.with(|settings| settings.pacing())
    }

    /// Whether packets toward the WLAN are held.
    pub(crate) fn holds(self) -> bool {
        self.pacing() != Pacing::None
    }

    /// Whether releases follow completions, so that released packets have crossed the medium, or soon will.
    pub(crate) fn follows_completions(self) -> bool {
        matches!(self.pacing(), Pacing::Backlog { .. })
    }

    /// Whether packets of no more use are dropped: those that have waited for too long, and duplicate ACKs that a later one repeats.
    pub(crate) fn drops_useless(self) -> bool {
        self.with(|settings| settings.drops_useless())
    }

    /// Time between two evaluations.
    pub(crate) fn interval(self) -> Span {
        self.with(|settings| settings.interval())
    }

    /// A new instance of its law.
    pub(crate) fn law(self, now: Instant) -> Box<dyn Law> {
        self.with(|settings| settings.law(now))
    }
}
