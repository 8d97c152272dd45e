//! The service rate C, and the capacity C* that it is compared with.
//!
//! The published controller: each interval C rises by a step if TCP's measured use of the WLAN is equal to C within a
//! tolerance, else it falls by a step; it never exceeds C*, the capacity of the active stations by the formula (Hegde
//! et al., 2013).
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

use evenair_units::{BitRate, Instant, Span};
use evenair_wifi::PhyRate;

use crate::airtime_model::AirtimeModel;
use crate::load::Step;
use crate::pacer::config::{Charge, Controller};
use crate::packet_cost::PacketCost;
use crate::server::Account;
use crate::standing::Ratio;

/// Time between two ticks where the controller names none.
const DEFAULT_INTERVAL: Span = Span::from_secs(1);
/// C stays above this part of C*: of what the formula says, no channel loses more and still carries TCP.
const FLOOR_PART: u64 = 20;
/// An interval is evaluated if pauses make up at most this part of it.
const IDLE_PART: u64 = 10;
/// Of C*, where the load that is offered is shaped and nothing tells what it does.
const BLIND_PERMILLE: u64 = 900;
/// No medium carries more than so many times what the rates that are believed say (1 Mb/s where it is 54).
const MOST_CAPACITIES: u64 = 64;

#[derive(Clone, Debug)]
pub(crate) struct ServiceRate {
    charge: Charge,
    controller: Controller,
    rate: BitRate,
    capacity: BitRate,
    /// Server time of the traffic seen to cross the WLAN since the last evaluation.
    crossed: Span,
    crossed_bits: u64,
    throughput: BitRate,
    next_tick: Instant,
}

impl ServiceRate {
    pub(crate) fn new(charge: Charge, controller: Controller, capacity: BitRate, now: Instant) -> Self {
        let mut this = Self {
            charge,
            controller,
            rate: capacity,
            capacity,
            crossed: Span::ZERO,
            crossed_bits: 0,
            throughput: BitRate::ZERO,
            next_tick: now,
        };
        this.next_tick = now + this.interval();
        this.rate = match controller {
            Controller::Fixed(rate) => rate,
            Controller::Queue { .. } | Controller::None => capacity,
            Controller::Pi { .. } => capacity.mul_div(BLIND_PERMILLE, 1_000).max(this.floor()),
            Controller::Published { start_permille, .. } => {
                capacity.mul_div(u64::from(start_permille), 1_000).max(this.floor())
            }
        };
        this
    }

    /// C.
    pub(crate) const fn rate(&self) -> BitRate {
        self.rate
    }

    /// C*.
    pub(crate) const fn capacity(&self) -> BitRate {
        self.capacity
    }

    /// IP-level bits of TCP seen to cross the WLAN per second, in the last interval.
    pub(crate) const fn throughput(&self) -> BitRate {
        self.throughput
    }

    pub(crate) const fn next_tick(&self) -> Instant {
        self.next_tick
    }

    /// How long the server takes for a load.
    pub(crate) fn wait(&self, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) -> Span {
        match self.charge {
            Charge::Airtime => self.stretch(model.airtime(cost, rate)),
            Charge::Bits => self.rate.time_for_bits(cost.bits()),
        }
    }

    /// Medium time as server time, where only medium time is known (broadcasts).
    pub(crate) const fn stretch(&self, airtime: Span) -> Span {
        airtime.mul_div(self.capacity.as_bps(), self.rate.as_bps())
    }

    /// A load was seen to cross the WLAN.
    pub(crate) fn note_crossed(&mut self, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) {
        self.crossed += self.wait(model, cost, rate);
        self.crossed_bits += cost.bits();
    }

    /// Other stations are active, or their rates have changed.
    pub(crate) fn set_capacity(&mut self, capacity: BitRate) {
        let before = core::mem::replace(&mut self.capacity, capacity);
        match (self.controller, self.charge) {
            (Controller::Fixed(_), _) => {}
            (Controller::None, _) => self.rate = capacity,
            // It is the medium's own speed, and was measured as a part of C*.
            (Controller::Queue { .. }, _) => self.rate = self.rate.mul_div(capacity.as_bps(), before.as_bps()),
            (Controller::Published { .. }, Charge::Airtime) => {
                self.rate = self.rate.mul_div(capacity.as_bps(), before.as_bps()).clamp(self.floor(), capacity);
            }
            (Controller::Pi { .. }, _) => {
                let rate = self.rate.mul_div(capacity.as_bps(), before.as_bps().max(1));
                self.rate = rate.max(self.floor()).min(self.capacity.mul_div(MOST_CAPACITIES, 1));
            }
            (Controller::Published { .. }, Charge::Bits) => self.rate = self.rate.clamp(self.floor(), capacity),
        }
    }

    /// The medium was seen to work at this speed, in parts of what the formulas say.
    pub(crate) fn set_speed(&mut self, speed: Ratio) {
        if matches!(self.controller, Controller::Queue { .. }) {
            self.rate = self.capacity.mul_div(speed.numerator, speed.denominator).max(BitRate::from_bps(1));
        }
    }

    /// The law of the load that is offered says what is to become of C.
    pub(crate) fn shape(&mut self, step: Step) {
        let start = self.capacity.mul_div(BLIND_PERMILLE, 1_000);
        let rate = match step {
            Step::Stay => return,
            Step::Change(millionths) => {
                let change = self.rate.mul_div(u64::from(millionths.unsigned_abs()), 1_000_000);
                if millionths < 0 { self.rate.saturating_sub(change) } else { self.rate + change }
            }
            Step::Back(rate) => rate,
            Step::Halve => self.rate.mul_div(1, 2),
            // An eighth of the way.
            Step::Start => self.rate.mul_div(7, 8) + start.mul_div(1, 8),
        };
        self.rate = rate.max(self.floor()).min(self.capacity.mul_div(MOST_CAPACITIES, 1));
    }

    /// Evaluates the interval that ends and begins the next.
    pub(crate) fn tick(&mut self, now: Instant, account: Account) {
        let crossed = self.crossed;
        self.measure(now, account.elapsed);
        let Controller::Published { delta, tolerance_permille, .. } = self.controller else { return };
        let loaded = account.idle * IDLE_PART <= account.elapsed;
        if !loaded || account.elapsed == Span::ZERO {
            return;
        }
        let expected = account.elapsed.saturating_sub(account.paid).saturating_sub(account.idle);
        let kept_up = crossed >= expected.mul_div(1_000 - u64::from(tolerance_permille), 1_000);
        let next = if kept_up { self.rate + delta } else { self.rate.saturating_sub(delta) };
        self.rate = next.clamp(self.floor(), self.capacity);
    }

    /// An interval has ended that lasted so long and is not to be judged, because nothing was managed in it.
    pub(crate) fn measure(&mut self, now: Instant, elapsed: Span) {
        self.crossed = Span::ZERO;
        self.throughput = BitRate::from_bits_over(core::mem::take(&mut self.crossed_bits), elapsed);
        // A driver that slept through several ticks has seen one interval, not several.
        self.next_tick = now + self.interval();
    }

    fn interval(&self) -> Span {
        match self.controller {
            Controller::Published { interval, .. } => interval,
            Controller::Queue { .. } | Controller::Pi { .. } | Controller::Fixed(_) | Controller::None => {
                DEFAULT_INTERVAL
            }
        }
    }

    fn floor(&self) -> BitRate {
        self.capacity.mul_div(1, FLOOR_PART).max(BitRate::from_bps(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Span = Span::from_secs(1);

    fn published() -> Controller {
        Controller::PUBLISHED
    }

    fn mbps(milli: u64) -> BitRate {
        BitRate::from_kbps(milli)
    }

    fn tick(rate: &mut ServiceRate, crossed_permille: u64, idle_permille: u64) {
        rate.crossed = SECOND.mul_div(crossed_permille, 1_000);
        let idle = SECOND.mul_div(idle_permille, 1_000);
        rate.tick(rate.next_tick(), Account { elapsed: SECOND, idle, paid: Span::ZERO });
    }

    #[test]
    fn climbs_to_the_capacity_and_no_further() {
        let mut rate = ServiceRate::new(Charge::Airtime, published(), mbps(4_890), Instant::ZERO);
        assert_eq!(rate.rate(), mbps(4_401));
        tick(&mut rate, 980, 0);
        assert_eq!(rate.rate(), mbps(4_501));
        (0..10).for_each(|_| tick(&mut rate, 1_000, 0));
        assert_eq!(rate.rate(), mbps(4_890));
    }

    #[test]
    fn falls_when_the_wlan_does_not_keep_up_and_never_to_zero() {
        let mut rate = ServiceRate::new(Charge::Bits, published(), mbps(4_890), Instant::ZERO);
        tick(&mut rate, 940, 0);
        assert_eq!(rate.rate(), mbps(4_301));
        (0..1_000).for_each(|_| tick(&mut rate, 0, 0));
        assert_eq!(rate.rate().as_bps(), 4_890_000 / 20);
        (0..1_000).for_each(|_| tick(&mut rate, 1_000, 0));
        assert_eq!(rate.rate(), mbps(4_890));
    }

    #[test]
    fn an_idle_interval_is_no_evidence() {
        let mut rate = ServiceRate::new(Charge::Airtime, published(), mbps(4_890), Instant::ZERO);
        tick(&mut rate, 0, 1_000);
        tick(&mut rate, 700, 200);
        assert_eq!(rate.rate(), mbps(4_401));
    }

    #[test]
    fn what_was_paid_for_other_traffic_does_not_count_against_tcp() {
        let mut rate = ServiceRate::new(Charge::Airtime, published(), mbps(4_890), Instant::ZERO);
        rate.crossed = SECOND.mul_div(600, 1_000);
        rate.tick(rate.next_tick(), Account { elapsed: SECOND, idle: Span::ZERO, paid: SECOND.mul_div(390, 1_000) });
        assert_eq!(rate.rate(), mbps(4_501));
    }

    #[test]
    fn another_population() {
        let mut air = ServiceRate::new(Charge::Airtime, published(), mbps(4_000), Instant::ZERO);
        air.set_capacity(mbps(2_000));
        assert_eq!(air.rate(), mbps(1_800), "the share of medium time stays");
        air.set_capacity(mbps(4_000));
        assert_eq!(air.rate(), mbps(3_600));

        let mut bits = ServiceRate::new(Charge::Bits, published(), mbps(4_000), Instant::ZERO);
        bits.set_capacity(mbps(2_000));
        assert_eq!(bits.rate(), mbps(2_000), "cut to the capacity");
        bits.set_capacity(mbps(4_000));
        assert_eq!(bits.rate(), mbps(2_000), "and has to climb");

        let mut fixed = ServiceRate::new(Charge::Bits, Controller::Fixed(mbps(9_000)), mbps(4_000), Instant::ZERO);
        fixed.set_capacity(mbps(2_000));
        tick(&mut fixed, 0, 0);
        assert_eq!(fixed.rate(), mbps(9_000));
    }
}
