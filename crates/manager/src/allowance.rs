//! How much may be in flight beyond the target of backlog, since the path between the box and the stations takes time: one of two
//! estimators. The lag of the path is probed with few packets in flight ([`crate::lag`]), or the least in flight that carries nearly
//! all is sought ([`crate::knee`]).
//!
//! Times of the medium are converted to airtime of releases by the medium's slowness, real time for each unit of airtime in
//! [`UNIT`].

use evenair_units::{Instant, Span};

use crate::knee::Knee;
use crate::lag::Lag;

/// Slowness is counted in parts of this.
pub(crate) const UNIT: u64 = 1 << 10;

/// Which estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Estimator {
    /// The lag is probed.
    Lag,
    /// The knee of throughput over what is in flight is sought.
    Knee,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) enum Allowance {
    Lag(Lag),
    Knee(Knee),
}

impl Allowance {
    /// Nothing is known yet.
    pub(crate) const fn new(estimator: Estimator, now: Instant) -> Self {
        match estimator {
            Estimator::Lag => Self::Lag(Lag::new(now)),
            Estimator::Knee => Self::Knee(Knee::new(now)),
        }
    }

    /// Which it is.
    pub(crate) const fn estimator(&self) -> Estimator {
        match self {
            Self::Lag(_) => Estimator::Lag,
            Self::Knee(_) => Estimator::Knee,
        }
    }

    /// The box begins to hold packets.
    pub(crate) const fn begin(&mut self, now: Instant) {
        *self = match self {
            Self::Lag(_) => Self::Lag(Lag::new(now)),
            Self::Knee(_) => Self::Knee(Knee::inserted(now)),
        };
    }

    /// So much more may be in flight, in airtime of releases.
    pub(crate) fn airtime(&self, slowness: u64) -> Span {
        match self {
            Self::Lag(lag) => lag.get().mul_div(UNIT, slowness),
            Self::Knee(knee) => knee.get(),
        }
    }

    /// The same as a time of the medium.
    pub(crate) fn time(&self, slowness: u64) -> Span {
        match self {
            Self::Lag(lag) => lag.get(),
            Self::Knee(knee) => knee.get().mul_div(slowness, UNIT),
        }
    }

    /// The same as far as it is known to be lag, and no backlog.
    pub(crate) fn proven(&self, slowness: u64) -> Span {
        match self {
            Self::Lag(lag) => lag.get(),
            Self::Knee(knee) => knee.proven().mul_div(slowness, UNIT),
        }
    }

    /// The slowness to convert the target by. A window in which too little was in flight makes the medium look slow; were the limit
    /// computed from that, it would shrink further.
    pub(crate) fn slowness(&self, measured: u64) -> u64 {
        match self {
            Self::Knee(knee) if knee.best() > 0 => measured.min((UNIT * 1_000_000_000 / knee.best()).max(1)),
            Self::Lag(_) | Self::Knee(_) => measured,
        }
    }

    /// Few packets are kept in flight for a moment, to see how long the path takes without queues.
    pub(crate) const fn is_probing(&self) -> bool {
        matches!(self, Self::Lag(lag) if lag.is_probing())
    }

    /// A packet that asks for an answer is released. In flight are so many, this one included, and this airtime.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, in_flight: (u64, Span)) {
        match self {
            Self::Lag(lag) => lag.note_release(now, number, in_flight.0),
            Self::Knee(knee) => knee.note_release(now, number, in_flight.1),
        }
    }

    /// A release was completed; `carried` is the airtime of all up to it.
    pub(crate) fn note_completion(&mut self, now: Instant, number: u64, carried: Span) {
        match self {
            Self::Lag(lag) => lag.note_answer(now, number, carried),
            Self::Knee(knee) => knee.note_completion(now, number, carried),
        }
    }

    /// The box has nothing to release, or keeps it back.
    pub(crate) const fn starve(&mut self) {
        match self {
            Self::Lag(lag) => lag.starve(),
            Self::Knee(knee) => knee.starve(),
        }
    }

    /// Beside a flood nothing can be measured.
    pub(crate) fn give_up(&mut self) {
        match self {
            Self::Lag(lag) => lag.give_up_probe(),
            Self::Knee(knee) => knee.give_up(),
        }
    }

    /// Packets wait, and no answer has been due to any for long.
    pub(crate) fn forget(&mut self, now: Instant) {
        if let Self::Knee(knee) = self {
            knee.forget(now);
        }
    }

    /// Time has passed.
    pub(crate) fn expire(&mut self, now: Instant) {
        match self {
            Self::Lag(lag) => lag.expire(now),
            Self::Knee(knee) => knee.expire(now),
        }
    }
}
