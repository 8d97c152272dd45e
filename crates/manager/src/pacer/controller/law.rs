//! The interface of a controller: its settings, and its law for the service rate.
//!
//! A controller does not release packets itself. It selects the pacing ([`Pacing`]), and moves the service rate C as events come in. The
//! default methods are those of a virtual server at a constant rate.

use alloc::boxed::Box;
use core::fmt;

use evenair_units::{BitRate, Instant, Span};

use crate::config::error::ConfigError;
use crate::pacer::rate::Rates;
use crate::pacer::server::Account;
use crate::pacer::standing::Ratio;

/// Default time between two evaluations.
const DEFAULT_INTERVAL: Span = Span::from_secs(1);

/// What paces releases.
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
    /// Checks the settings.
    fn check(&self) -> Result<(), ConfigError>;

    /// What paces releases.
    fn pacing(&self) -> Pacing {
        Pacing::Server
    }

    /// Whether packets of no more use are dropped: those that have waited for too long, and duplicate ACKs that a later one repeats.
    fn drops_useless(&self) -> bool {
        true
    }

    /// Time between two calls of [`Law::at_interval`].
    fn interval(&self) -> Span {
        DEFAULT_INTERVAL
    }

    /// A new instance of the law with these settings.
    fn law(&self, now: Instant) -> Box<dyn Law>;
}

/// How a controller moves the service rate C. `rates` has the present C and C*; the result is the new C.
pub(crate) trait Law: fmt::Debug + Send {
    /// Initial C.
    fn first(&self, rates: Rates) -> BitRate;

    /// C* has changed from `before`, with the active stations or their rates.
    fn at_capacity(&self, rates: Rates, before: BitRate) -> BitRate;

    /// The medium's measured speed, relative to the airtime model.
    fn at_speed(&self, rates: Rates, _speed: Ratio) -> BitRate {
        rates.rate
    }

    /// Ends an interval in which the box managed the traffic.
    fn at_interval(&self, rates: Rates, _seen: Seen) -> BitRate {
        rates.rate
    }

    /// Time passes while packets are held.
    fn at_time(&mut self, _now: Instant, rates: Rates) -> BitRate {
        rates.rate
    }

    /// A packet with a completion expected goes to the access points.
    fn on_release(&mut self, _now: Instant, _released: Released) {}

    /// A held packet has left; `waiting`: others are held.
    fn on_served(&mut self, _waiting: bool) {}

    /// The release of this number is complete, and with it all earlier ones.
    fn on_completion(&mut self, _now: Instant, _number: u64) {}
}

/// Measurements of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Account of the virtual server.
    pub(crate) account: Account,
    /// Server time of the traffic seen to cross the WLAN.
    pub(crate) crossed: Span,
}

/// A release whose completion is expected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Released {
    /// Its number among the releases of its contention domain.
    pub(crate) number: u64,
    /// Releases in flight before it.
    pub(crate) in_flight: u64,
    /// Medium time of the packet and its ACK.
    pub(crate) airtime: Span,
}
