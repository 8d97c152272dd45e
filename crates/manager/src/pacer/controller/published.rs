//! `published`: each interval C rises by a step if TCP's measured use of the WLAN is equal to C within a tolerance, else it falls by a
//! step; it never exceeds C*, the capacity of the active stations by the formula (Hegde et al., 2013).
//!
//! Differences from the publication:
//! - An interval in which the server was idle is no evidence: use below C then only means that there was less demand.
//!   It is not evaluated, and C stays. Short gaps do not count as idle: they are the only sign here that C exceeds
//!   what the medium carries and that the queue is in the access point.
//! - C has a floor, so that it recovers from a series of wrong steps.
//! - Under [`Charge::Airtime`] a change of C* moves C in proportion. There C/C* is the used share of medium time, and
//!   another mixture of stations is no reason to use less of it; under [`Charge::Bits`] C is cut to the new C* and
//!   has to climb again, as published.
//! - "Use" is the time that the traffic seen to cross would have taken the server, so that it is right for any
//!   mixture, any d and small packets, and the server's payments for other traffic do not count against C.

use alloc::boxed::Box;

use evenair_units::{BitRate, Instant, Span};

use super::law::{Law, Seen, Settings};
use crate::config::error::{ConfigError, not_high, not_long};
use crate::pacer::rate::{Charge, Rates};

/// Largest part of an interval that may be pauses, as a divisor, for it to be evaluated.
const IDLE_PART: u64 = 10;

/// Settings of the published rule.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Time between two evaluations.
    pub interval: Span,
    /// Step.
    pub delta: BitRate,
    /// The measured use may be this many thousandths below C and still count as equal.
    pub tolerance_permille: u32,
    /// C starts at this many thousandths of C*.
    pub start_permille: u32,
}

impl Default for Published {
    /// The published interval and step.
    fn default() -> Self {
        Self {
            interval: Span::from_secs(1),
            delta: BitRate::from_kbps(100),
            tolerance_permille: 30,
            start_permille: 900,
        }
    }
}

impl Settings for Published {
    fn check(&self) -> Result<(), ConfigError> {
        match *self {
            Self { delta, .. } if delta == BitRate::ZERO => Err(ConfigError::ZeroRate),
            Self { interval, .. } if interval == Span::ZERO => Err(ConfigError::ZeroSpan),
            Self { tolerance_permille: t, .. } if t >= 1000 => Err(ConfigError::Tolerance(t)),
            Self { start_permille: s, .. } if s == 0 || s > 1000 => Err(ConfigError::Start(s)),
            Self { interval, delta, .. } => not_high(delta).and_then(|()| not_long(interval)),
        }
    }

    /// As published: only the limits bound what a queue holds.
    fn drops_useless(&self) -> bool {
        false
    }

    fn interval(&self) -> Span {
        self.interval
    }

    fn law(&self, _now: Instant) -> Box<dyn Law> {
        Box::new(*self)
    }
}

impl Law for Published {
    fn first(&self, rates: Rates) -> BitRate {
        rates.part(u64::from(self.start_permille)).max(rates.floor())
    }

    fn at_capacity(&self, rates: Rates, before: BitRate) -> BitRate {
        let rate = match rates.charge {
            Charge::Airtime => rates.rate.mul_div(rates.capacity.as_bps(), before.as_bps()),
            Charge::Bits => rates.rate,
        };
        rate.clamp(rates.floor(), rates.capacity)
    }

    fn at_interval(&self, rates: Rates, seen: Seen) -> BitRate {
        let account = seen.account;
        let loaded = account.idle * IDLE_PART <= account.elapsed;
        if !loaded || account.elapsed == Span::ZERO {
            return rates.rate;
        }
        let expected = account.elapsed.saturating_sub(account.paid).saturating_sub(account.idle);
        let kept_up = seen.crossed >= expected.mul_div(1_000 - u64::from(self.tolerance_permille), 1_000);
        let next = if kept_up { rates.rate + self.delta } else { rates.rate.saturating_sub(self.delta) };
        next.clamp(rates.floor(), rates.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacer::controller::Controller;
    use crate::pacer::server::Account;

    const SECOND: Span = Span::from_secs(1);

    /// A law and the rates that it moves.
    struct Paced {
        law: Box<dyn Law>,
        rates: Rates,
    }

    impl Paced {
        fn new(charge: Charge, controller: Controller, capacity: BitRate) -> Self {
            let law = controller.law(Instant::ZERO);
            let rates = Rates { rate: capacity, capacity, charge };
            Self { rates: Rates { rate: law.first(rates), ..rates }, law }
        }

        fn published(charge: Charge, capacity: BitRate) -> Self {
            Self::new(charge, Published::default().into(), capacity)
        }

        fn set_capacity(&mut self, capacity: BitRate) {
            let before = core::mem::replace(&mut self.rates.capacity, capacity);
            self.rates.rate = self.law.at_capacity(self.rates, before);
        }

        fn tick(&mut self, crossed_permille: u64, idle_permille: u64, paid_permille: u64) {
            let of_second = |permille| SECOND.mul_div(permille, 1_000);
            let account = Account { elapsed: SECOND, idle: of_second(idle_permille), paid: of_second(paid_permille) };
            self.rates.rate = self.law.at_interval(self.rates, Seen { account, crossed: of_second(crossed_permille) });
        }

        fn rate(&self) -> BitRate {
            self.rates.rate
        }
    }

    fn mbps(milli: u64) -> BitRate {
        BitRate::from_kbps(milli)
    }

    #[test]
    fn c_climbs_to_the_capacity_and_no_further() {
        let mut paced = Paced::published(Charge::Airtime, mbps(4_890));
        assert_eq!(paced.rate(), mbps(4_401));
        paced.tick(980, 0, 0);
        assert_eq!(paced.rate(), mbps(4_501));
        (0..10).for_each(|_| paced.tick(1_000, 0, 0));
        assert_eq!(paced.rate(), mbps(4_890));
    }

    #[test]
    fn c_falls_when_the_wlan_does_not_keep_up_and_never_to_zero() {
        let mut paced = Paced::published(Charge::Bits, mbps(4_890));
        paced.tick(940, 0, 0);
        assert_eq!(paced.rate(), mbps(4_301));
        (0..1_000).for_each(|_| paced.tick(0, 0, 0));
        assert_eq!(paced.rate().as_bps(), 4_890_000 / 20);
        (0..1_000).for_each(|_| paced.tick(1_000, 0, 0));
        assert_eq!(paced.rate(), mbps(4_890));
    }

    #[test]
    fn an_idle_interval_is_no_evidence() {
        let mut paced = Paced::published(Charge::Airtime, mbps(4_890));
        paced.tick(0, 1_000, 0);
        paced.tick(700, 200, 0);
        assert_eq!(paced.rate(), mbps(4_401));
    }

    #[test]
    fn payments_for_other_traffic_do_not_count_against_tcp() {
        let mut paced = Paced::published(Charge::Airtime, mbps(4_890));
        paced.tick(600, 0, 390);
        assert_eq!(paced.rate(), mbps(4_501));
    }

    #[test]
    fn c_follows_another_set_of_stations() {
        let mut air = Paced::published(Charge::Airtime, mbps(4_000));
        air.set_capacity(mbps(2_000));
        assert_eq!(air.rate(), mbps(1_800), "the share of medium time stays");
        air.set_capacity(mbps(4_000));
        assert_eq!(air.rate(), mbps(3_600));

        let mut bits = Paced::published(Charge::Bits, mbps(4_000));
        bits.set_capacity(mbps(2_000));
        assert_eq!(bits.rate(), mbps(2_000), "cut to the capacity");
        bits.set_capacity(mbps(4_000));
        assert_eq!(bits.rate(), mbps(2_000), "and has to climb");

        let mut fixed = Paced::new(Charge::Bits, Controller::Fixed(mbps(9_000)), mbps(4_000));
        fixed.set_capacity(mbps(2_000));
        fixed.tick(0, 0, 0);
        assert_eq!(fixed.rate(), mbps(9_000));
    }
}
