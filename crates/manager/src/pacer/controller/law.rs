//! What every controller answers: its settings, and its law for the service rate.
//!
//! A controller does not release packets itself. It names what the pacer goes by ([`Pacing`]), and moves the service rate C as events
//! come in. The defaults are those of a controller that goes by the virtual server at a constant rate.

use alloc::boxed::Box;
use core::fmt;

use evenair_units::{BitRate, Instant, Span};

use crate::config::error::ConfigError;
use crate::pacer::rate::Rates;
use crate::pacer::server::Account;
use crate::pacer::standing::Ratio;

/// Time between two evaluations where the controller names none.
const DEFAULT_INTERVAL: Span = Span::from_secs(1);

/// What releases are paced by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// The backlog of the access points, estimated from completions and kept at this much medium time ([`crate::pacer::standing`]).
    Backlog { target: Span },
    /// The virtual server, at the service rate ([`crate::pacer::server`]).
    Server,
    /// Nothing: packets toward the WLAN are not held.
    None,
}

/// The settings of a controller.
pub(crate) trait Settings {
    /// What is wrong with them.
    fn check(&self) -> Result<(), ConfigError>;

    /// What releases are paced by.
    fn pacing(&self) -> Pacing {
        Pacing::Server
    }

    /// Packets that have waited for too long are dropped.
    fn drops_old(&self) -> bool {
        true
    }

    /// Time between two calls of [`Law::at_interval`].
    fn interval(&self) -> Span {
        DEFAULT_INTERVAL
    }

    /// The law with these settings, without a past.
    fn law(&self, now: Instant) -> Box<dyn Law>;
}

/// How a controller moves the service rate C. What a method gets in `rates` is C as it is, and C*; what it returns is the new C.
pub(crate) trait Law: fmt::Debug + Send {
    /// C at the start.
    fn first(&self, rates: Rates) -> BitRate;

    /// Other stations are active, or their rates have changed: C* was `before`.
    fn at_capacity(&self, rates: Rates, before: BitRate) -> BitRate;

    /// The medium works at this speed, in parts of what the formulas say.
    fn at_speed(&self, rates: Rates, _speed: Ratio) -> BitRate {
        rates.rate
    }

    /// An interval has ended in which the box managed the traffic.
    fn at_interval(&self, rates: Rates, _seen: Seen) -> BitRate {
        rates.rate
    }

    /// Time has passed while packets are held.
    fn at_time(&mut self, _now: Instant, rates: Rates) -> BitRate {
        rates.rate
    }

    /// A packet goes to the access points whose completion is expected.
    fn on_release(&mut self, _now: Instant, _released: Released) {}

    /// A packet that was held has gone; `waiting`: others are held.
    fn on_served(&mut self, _waiting: bool) {}

    /// The release of this number is complete, and so are all before it.
    fn on_completion(&mut self, _now: Instant, _number: u64) {}
}

/// What an interval has shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Of the virtual server.
    pub(crate) account: Account,
    /// Server time of the traffic seen to cross the WLAN.
    pub(crate) crossed: Span,
}

/// A release whose completion is expected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Released {
    /// Among the releases of its contention domain.
    pub(crate) number: u64,
    /// Releases in flight before it.
    pub(crate) in_flight: u64,
    /// Its own medium time, and its ACK's.
    pub(crate) airtime: Span,
}
