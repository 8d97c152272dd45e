//! The service rate C, the capacity C*, and the cost of packets at C. The controller's law ([`super::controller::law`]) moves C.

use evenair_units::{BitRate, Instant, Span};
use evenair_wifi::PhyRate;
use minicbor::{Decode, Encode};

use crate::airtime_model::AirtimeModel;
use crate::packet_cost::PacketCost;

/// Least C as a part of C*, as a divisor: no channel loses more of the formula's capacity and still carries TCP.
const FLOOR_PART: u64 = 20;

/// How packets are charged to the virtual server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Charge {
    /// Medium time of everything that crosses the WLAN because of the packet, stretched by C*/C. For packets of full size that is
    /// `l/C_i * C*/C`; small packets pay for their overhead.
    #[n(0)]
    Airtime,
    /// Published: `l/C` for virtual length `l`, whatever the station's rate.
    #[n(1)]
    Bits,
}

/// Input of a law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    /// Service rate C.
    pub(crate) rate: BitRate,
    /// Capacity C*.
    pub(crate) capacity: BitRate,
    /// How C is charged.
    pub(crate) charge: Charge,
}

impl Rates {
    /// Lowest C that a law should set, so that it recovers.
    pub(crate) fn floor(&self) -> BitRate {
        self.capacity.mul_div(1, FLOOR_PART).max(BitRate::from_bps(1))
    }

    /// This many thousandths of C*.
    pub(crate) fn part(&self, permille: u64) -> BitRate {
        self.capacity.mul_div(permille, 1_000)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ServiceRate {
    rates: Rates,
    interval: Span,
    /// Server time of the traffic seen to cross the WLAN since the last evaluation.
    crossed: Span,
    crossed_bits: u64,
    throughput: BitRate,
    /// Airtime of the same traffic by the model; that of the last interval, in thousandths of the interval.
    airtime: Span,
    used_permille: u64,
    next_tick: Instant,
}

impl ServiceRate {
    /// `interval`: time between two evaluations.
    pub(crate) fn new(rates: Rates, interval: Span, now: Instant) -> Self {
        Self {
            rates,
            interval,
            crossed: Span::ZERO,
            crossed_bits: 0,
            throughput: BitRate::ZERO,
            airtime: Span::ZERO,
            used_permille: 0,
            next_tick: now + interval,
        }
    }

    /// C and C*, and how C is charged.
    pub(crate) const fn rates(&self) -> Rates {
        self.rates
    }

    /// Service rate C.
    pub(crate) const fn rate(&self) -> BitRate {
        self.rates.rate
    }

    /// Capacity C*.
    pub(crate) const fn capacity(&self) -> BitRate {
        self.rates.capacity
    }

    /// IP-level bits of TCP seen to cross the WLAN per second, in the last interval.
    pub(crate) const fn throughput(&self) -> BitRate {
        self.throughput
    }

    /// Part of the last interval, in thousandths, that traffic seen to cross the WLAN took by the airtime model.
    pub(crate) const fn used_permille(&self) -> u64 {
        self.used_permille
    }

    pub(crate) const fn next_tick(&self) -> Instant {
        self.next_tick
    }

    /// Server time of a load.
    pub(crate) fn wait(&self, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) -> Span {
        self.wait_for(model.airtime(cost, rate), cost)
    }

    /// Server time of a load of this medium time.
    fn wait_for(&self, airtime: Span, cost: &PacketCost) -> Span {
        match self.rates.charge {
            Charge::Airtime => self.stretch(airtime),
            Charge::Bits => self.rates.rate.time_for_bits(cost.bits()),
        }
    }

    /// Medium time as server time, for broadcasts, of which only medium time is known.
    pub(crate) const fn stretch(&self, airtime: Span) -> Span {
        airtime.mul_div(self.rates.capacity.as_bps(), self.rates.rate.as_bps())
    }

    /// Notes a load seen to cross the WLAN.
    pub(crate) fn note_crossed(&mut self, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) {
        let airtime = model.airtime(cost, rate);
        self.crossed += self.wait_for(airtime, cost);
        self.airtime += airtime;
        self.crossed_bits += cost.bits();
    }

    /// Sets C as the law decides.
    pub(crate) const fn set(&mut self, rate: BitRate) {
        self.rates.rate = rate;
    }

    /// Sets C* after a change of active stations or rates. Returns the former C*.
    pub(crate) const fn set_capacity(&mut self, capacity: BitRate) -> BitRate {
        core::mem::replace(&mut self.rates.capacity, capacity)
    }

    /// Ends an interval of this length and begins the next. Returns the server time of traffic seen to cross the WLAN.
    pub(crate) fn measure(&mut self, now: Instant, elapsed: Span) -> Span {
        self.throughput = BitRate::from_bits_over(core::mem::take(&mut self.crossed_bits), elapsed);
        let airtime = core::mem::take(&mut self.airtime);
        self.used_permille = Span::from_nanos(1_000).mul_div(airtime.as_nanos(), elapsed.as_nanos().max(1)).as_nanos();
        // A driver that slept through several ticks sees one interval.
        self.next_tick = now + self.interval;
        core::mem::replace(&mut self.crossed, Span::ZERO)
    }
}
