//! The pacer of a contention domain: how much may be released to the access points now.
//!
//! It receives releases, completions and time, and gives the instant of the next release ([`Pacer::ready_at`]). The queues or a discipline
//! decide which packet that is. It knows nothing of the PHY: callers pass the airtime of a packet.
//!
//! The controller ([`controller`]) determines what paces releases:
//!
//! | pacing | controllers |
//! |---|---|
//! | the backlog of the access points, estimated from completions ([`standing`]), unless the guard holds nothing | `queue` |
//! | a virtual server at the service rate ([`server`], [`rate`]), which the law moves | `published`, `pi`, `fixed` |
//! | nothing | `none` |
//!
//! The backlog is estimated with every controller, since calls and reports use it.

mod account;
pub(crate) mod aggregating;
mod by_time;
pub(crate) mod config;
pub mod controller;
pub(crate) mod guard;
mod in_flight;
mod knee;
mod lateness;
mod load;
pub(crate) mod marks;
pub(crate) mod probes;
pub(crate) mod rate;
mod server;
mod speed_steps;
pub(crate) mod standing;

use alloc::boxed::Box;

use evenair_units::{BitRate, Instant, Span};
use evenair_wifi::PhyRate;

use crate::airtime_model::{AirtimeModel, Counted};
use crate::config::without::Without;
use crate::ids::{DomainId, StationId};
use crate::packet_cost::PacketCost;
use account::Account;
use aggregating::Aggregating;
use aggregating::costs::Learned;
use aggregating::paced::Paced;
use aggregating::runs::RunLimit;
use config::PacerConfig;
use controller::law::{Law, Pacing, Released, Seen};
use guard::{Carried, Guard, GuardStep, Interval, Undrained};
use marks::{Allowance, Mark, Next, Release};
use probes::speed::Waited;
use rate::{Rates, ServiceRate};
use server::Server;
use standing::{RatesSaid, Ratio, Standing};

/// A packet on its way to the access points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    /// Airtime still to come for it, by the airtime model.
    pub(crate) airtime: Span,
    /// The part of `airtime` for DATA that its station sends in response.
    pub(crate) for_data: Span,
    /// Before access points that aggregate: `airtime` is exact, and is not scaled by measured costs.
    pub(crate) is_sure: bool,
    pub(crate) completion: Completion,
    /// The previous release of its flow.
    pub(crate) previous: Option<Mark>,
    /// The receiving station. `None`: a group, or an unknown receiver.
    pub(crate) station: Option<StationId>,
}

impl Outgoing {
    /// A packet without an acknowledgment due.
    pub(crate) const fn unanswered(airtime: Span, station: Option<StationId>) -> Self {
        Self { airtime, for_data: Span::ZERO, is_sure: false, completion: Completion::None, previous: None, station }
    }

    /// A packet to a group, whose airtime is exact.
    pub(crate) const fn to_group(airtime: Span) -> Self {
        Self { is_sure: true, ..Self::unanswered(airtime, None) }
    }
}

/// Whether and how a release will be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The station acknowledges it. `managed`: packets are held, so that what is in flight is the box's choice.
    Expected { managed: bool },
    /// Another packet's acknowledgment covers it.
    None,
    /// It is of a protocol whose acknowledgments are not recognised.
    Unknown,
}

/// The pacer of one domain; see the module.
#[derive(Debug)]
pub(crate) struct Pacer {
    domain: DomainId,
    pacing: Pacing,
    law: Box<dyn Law>,
    server: Server,
    backlog: Box<dyn Account>,
    /// The longest run of packets to one station, where access points aggregate.
    run: RunLimit,
    /// A fixed limit of the medium time in flight, in place of target and lag.
    in_flight: Option<Span>,
    guard: Guard,
    undrained: Undrained,
    /// Whether the account is that for access points that aggregate.
    aggregates: bool,
    /// Mechanisms that are left out.
    without: Without,
    rate: ServiceRate,
}

/// The law of the configured controller, and its first service rate.
fn start(config: PacerConfig, capacity: BitRate, now: Instant) -> (Box<dyn Law>, ServiceRate) {
    let law = config.controller.law(now);
    let rates = Rates { rate: capacity, capacity, charge: config.charge };
    let rates = Rates { rate: law.first(rates), ..rates };
    (law, ServiceRate::new(rates, config.controller.interval(), now))
}

/// The account of a domain whose access points aggregate, or do not; `next`: the number of the next release.
fn account(config: PacerConfig, next: u64, now: Instant) -> Box<dyn Account> {
    let PacerConfig { aggregates, without, .. } = config;
    if aggregates {
        Box::new(Aggregating::new(next, now).without(without, now))
    } else {
        Box::new(Standing::new(next, now).without(without))
    }
}

impl Pacer {
    /// `capacity`: C* as long as no station is active.
    pub(crate) fn new(id: DomainId, config: PacerConfig, capacity: BitRate, now: Instant) -> Self {
        let (law, rate) = start(config, capacity, now);
        Self {
            domain: id,
            pacing: config.controller.pacing(),
            law,
            server: Server::new(config.slack, now),
            backlog: account(config, Mark::first(id), now),
            aggregates: config.aggregates,
            without: config.without,
            run: config.run,
            in_flight: config.in_flight,
            guard: Guard::new(config.guard),
            undrained: Undrained::default(),
            rate,
        }
    }

    /// Applies another configuration. Releases in flight stay in the account; the service rate starts anew. `waiting`: packets are held.
    pub(crate) fn reconfigure(&mut self, config: PacerConfig, capacity: BitRate, now: Instant, waiting: bool) {
        (self.pacing, self.run, self.in_flight) = (config.controller.pacing(), config.run, config.in_flight);
        if (self.aggregates, self.without) != (config.aggregates, config.without) {
            (self.aggregates, self.without) = (config.aggregates, config.without);
            self.backlog = account(config, self.backlog.next_release(), now);
        }
        self.guard.configure(config.guard);
        self.server.set_slack(config.slack);
        self.server.take_account(now, waiting);
        (self.law, self.rate) = start(config, capacity, now);
    }

    /// When the next packet may be released, if nothing happens until then.
    pub(crate) fn ready_at(&self, next: impl FnOnce() -> Next) -> Instant {
        match self.pacing {
            Pacing::Backlog { target } if self.guard.holds() => {
                let allowance = self.in_flight.map_or(Allowance::Target(target), Allowance::Fixed);
                self.backlog.ready_at(allowance, next())
            }
            Pacing::Server => self.server.free_at(),
            Pacing::Backlog { .. } | Pacing::None => Instant::ZERO,
        }
    }
}

/// Events.
impl Pacer {
    /// The box begins to hold packets; it has released nothing that is in flight.
    pub(crate) fn on_insert(&mut self, now: Instant) {
        self.undrained = Undrained::new(self.backlog.awaited());
        self.backlog.begin(now);
    }

    /// The first packet of a busy period is held. Returns whether the service of the last one has ended.
    pub(crate) fn on_busy(&mut self, now: Instant) -> bool {
        self.server.wake(now)
    }

    /// A held packet with this cost is released.
    pub(crate) fn on_service(&mut self, now: Instant, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) {
        self.server.release(now, self.rate.wait(model, cost, rate));
    }

    /// The packet of [`Self::on_service`] has left; `waiting`: others are held.
    pub(crate) fn on_served(&mut self, waiting: bool) {
        self.law.on_served(waiting);
    }

    /// A packet goes to the access points, held before or not; `of`: the pacer's state of its station.
    pub(crate) fn on_release(&mut self, now: Instant, outgoing: Outgoing, of: Option<&mut Paced>) -> Mark {
        let Outgoing { airtime, for_data, is_sure, completion, previous, station } = outgoing;
        let due = matches!(completion, Completion::Expected { .. });
        let managed = completion == Completion::Expected { managed: true };
        let unanswerable = completion == Completion::Unknown;
        let in_flight = self.backlog.under_way();
        let previous = previous.filter(|previous| previous.domain() == self.domain);
        let mark = self.backlog.release(
            now,
            Release { airtime, for_data, is_sure, due, unanswerable, managed, previous, station },
            of,
        );
        if unanswerable {
            self.backlog.note_unanswerable(airtime);
        }
        if due {
            self.law.on_release(now, Released { number: mark.number(), in_flight, airtime });
        }
        mark
    }

    /// Whether this release was given up, so that completions of its flow are not relied on for now.
    pub(crate) fn has_given_up(&self, mark: Mark) -> bool {
        mark.domain() == self.domain && self.backlog.is_given_up(mark)
    }

    /// A release of a station is complete, and with it all earlier ones of its flow; `of`: the pacer's state of the station.
    pub(crate) fn on_completion(&mut self, now: Instant, mark: Mark, station: StationId, of: &mut Paced) {
        self.undrained.note_completion(station, mark.number());
        self.backlog.answer(now, mark, station, of);
        self.law.on_completion(now, mark.number());
    }

    /// A packet from a station was sent before the station had the oldest release of the packet's flow.
    pub(crate) fn on_older_packet(&mut self, now: Instant) {
        self.backlog.note_older_packet(now);
    }

    /// A station has replied to the probe that was this release: all earlier releases have left.
    pub(crate) fn on_probe_completion(&mut self, now: Instant, mark: Mark, waited: Waited) {
        self.backlog.answer_probe(now, mark, waited);
    }

    /// The box releases nothing, so that a probe finds no queue.
    pub(crate) fn on_pause(&mut self, now: Instant) {
        self.backlog.pause(now);
    }

    /// Replies to probes are no longer trusted.
    pub(crate) fn on_probes_disbelieved(&mut self) {
        self.backlog.disbelieve_probes();
    }

    /// A packet came from the WLAN and took this airtime.
    pub(crate) fn on_heard(&mut self, now: Instant, airtime: Span) {
        self.backlog.hear(now, airtime);
    }

    /// DATA of a station came from the WLAN and took this airtime; `of`: the pacer's state of the station.
    pub(crate) fn on_data(&mut self, now: Instant, airtime: Span, station: StationId, of: &Paced) {
        self.backlog.note_data(now, airtime, station, of);
    }

    /// A packet was seen to cross the WLAN.
    pub(crate) fn on_crossed(&mut self, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) {
        self.rate.note_crossed(model, cost, rate);
    }

    /// A packet that is not held crosses the WLAN: held packets pay for it.
    pub(crate) fn on_unscheduled(&mut self, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) {
        self.server.bypass(self.rate.wait(model, cost, rate));
    }

    /// Same as [`Self::on_unscheduled`] for a packet to a group, of which only the airtime is known.
    pub(crate) fn on_unscheduled_group(&mut self, airtime: Span) {
        self.server.bypass(self.rate.stretch(airtime));
    }

    /// The box has nothing to release, or releases nothing on purpose: the medium may be idle.
    pub(crate) fn on_starved(&mut self) {
        self.backlog.starve();
    }

    /// C* has changed, with the active stations or their rates.
    pub(crate) fn on_capacity(&mut self, capacity: BitRate) {
        let before = self.rate.set_capacity(capacity);
        self.rate.set(self.law.at_capacity(self.rate.rates(), before));
    }

    /// Unresponsive senders have used this part of an interval.
    pub(crate) fn on_flood(&mut self, flood: Span, interval: Span) {
        self.backlog.note_flood(flood, interval);
    }

    /// Advances the account to now.
    pub(crate) fn on_time(&mut self, now: Instant) {
        self.backlog.reckon(now);
    }

    /// Lets the law change the service rate, while packets are held.
    pub(crate) fn shape(&mut self, now: Instant) {
        self.rate.set(self.law.at_time(now, self.rate.rates()));
    }
}

/// Intervals.
impl Pacer {
    /// Ends an interval in which the box managed the traffic; `usual`: the speed that is assumed of the medium where nothing can be
    /// measured; `said`: which rates of its stations are known. Returns the length of the interval.
    pub(crate) fn tick(&mut self, now: Instant, waiting: bool, usual: Ratio, said: RatesSaid) -> Span {
        let account = self.server.take_account(now, waiting);
        let seen = Seen { account, crossed: self.rate.measure(now, account.elapsed) };
        self.rate.set(self.law.at_interval(self.rate.rates(), seen));
        self.backlog.forget_speed(now, usual, said);
        self.rate.set(self.law.at_speed(self.rate.rates(), self.backlog.speed()));
        account.elapsed
    }

    /// Ends an interval in which nothing was managed, so that it does not change the service rate. Returns its length.
    pub(crate) fn tick_unmanaged(&mut self, now: Instant, waiting: bool) -> Span {
        let account = self.server.take_account(now, waiting);
        self.rate.measure(now, account.elapsed);
        account.elapsed
    }

    /// When the interval ends.
    pub(crate) const fn next_tick(&self) -> Instant {
        self.rate.next_tick()
    }

    /// Checks whether holding packets does harm; `waits`: packets are held that only the pacer keeps back; `left`: the part of the
    /// interval that frames to groups left to other traffic.
    pub(crate) fn guard(&mut self, waits: bool, carried: Carried, left: Ratio) -> Option<GuardStep> {
        if self.undrained.is_most() && self.guard.note_drain(carried) {
            return None;
        }
        let mut used = self.rate.used_permille();
        if self.aggregates {
            // The airtime model knows neither aggregates nor unreported rates.
            let Ratio { numerator, denominator } = self.backlog.speed();
            used = Span::from_nanos(used).mul_div(denominator, numerator.max(1)).as_nanos();
        }
        used = Span::from_nanos(used).mul_div(left.denominator, left.numerator).as_nanos();
        let is_slow = self.guard.is_slow(used);
        self.guard.tick(Interval { carried, waits, is_slow })
    }

    /// Notes throughput without the box, while it is bypassed.
    pub(crate) fn guard_bypassed(&mut self, carried: Carried) {
        self.guard.note_bypassed(carried);
    }
}

/// State.
impl Pacer {
    /// Whether the guard is needed: only a controller that paces by completions can be wrong about what the medium carries; the others
    /// keep to a configured rate or a published rule.
    pub(crate) const fn can_do_harm(&self) -> bool {
        matches!(self.pacing, Pacing::Backlog { .. })
    }

    /// Whether completions pace releases.
    pub(crate) const fn paces_by_completions(&self) -> bool {
        matches!(self.pacing, Pacing::Backlog { .. })
    }

    /// The lag: medium time that has to be in flight beyond the target, since the path delays.
    pub(crate) fn lag(&self) -> Span {
        self.backlog.lag()
    }

    /// Whether probes, and not the traffic, show completions.
    pub(crate) fn uses_probes(&self) -> bool {
        self.backlog.uses_probes()
    }

    /// Whether replies to probes have raised the speed above what any queue has confirmed.
    pub(crate) fn is_speed_unproven(&self) -> bool {
        self.backlog.is_speed_unproven()
    }

    /// The guard's state.
    pub(crate) const fn state_of_guard(&self) -> &Guard {
        &self.guard
    }

    /// The guard, to be changed: its trials concern the whole box.
    pub(crate) const fn guard_mut(&mut self) -> &mut Guard {
        &mut self.guard
    }

    /// Service rate C.
    pub(crate) const fn service_rate(&self) -> BitRate {
        self.rate.rate()
    }

    /// Capacity C*.
    pub(crate) const fn capacity(&self) -> BitRate {
        self.rate.capacity()
    }

    /// IP-level bits of TCP seen to cross the WLAN per second, in the last interval.
    pub(crate) const fn throughput(&self) -> BitRate {
        self.rate.throughput()
    }

    /// The medium's measured speed, relative to the airtime model.
    pub(crate) fn speed(&self) -> Ratio {
        self.backlog.speed()
    }

    /// Whether access points aggregate, so that completions show what each station costs.
    pub(crate) const fn aggregates(&self) -> bool {
        self.aggregates
    }

    /// The backlog account.
    pub(crate) fn account(&self) -> &dyn Account {
        &*self.backlog
    }

    /// News of some station's cost, not taken before.
    pub(crate) fn take_learned(&mut self) -> Option<(StationId, Learned)> {
        self.backlog.take_learned()
    }

    /// Medium time of releases to a station, as shown in reports. `counted`: airtime of recent releases of the domain. Where a service
    /// rate paces releases to access points that do not aggregate, this is the airtime of the model, since the controller then determines
    /// the time between completions.
    pub(crate) fn charged(&self, airtime: Counted, counted: Counted, of: &Paced) -> Span {
        match (self.aggregates, self.pacing) {
            (true, _) => self.backlog.charged(airtime.paced, of),
            (false, Pacing::Backlog { .. }) => self.backlog.charged(counted.to_paced(airtime.charged), of),
            (false, Pacing::Server | Pacing::None) => airtime.charged,
        }
    }

    /// Mean medium time of releases, in thousandths of their airtime by the model; `None`: not measured.
    pub(crate) fn cost_permille(&self) -> Option<u64> {
        let believed = Span::from_millis(1000);
        match self.pacing {
            Pacing::Backlog { .. } => Some(self.backlog.medium(believed, &Paced::default()).as_nanos() / 1_000_000),
            Pacing::Server | Pacing::None => None,
        }
    }

    /// The present limit of a run of packets to one station.
    pub(crate) fn run_limit(&self, now: Instant) -> RunLimit {
        match self.pacing {
            Pacing::Backlog { .. } => self.backlog.run_limit(now, self.run),
            Pacing::Server | Pacing::None => RunLimit::SINGLE,
        }
    }

    /// A station has joined the domain.
    pub(crate) fn on_new_station(&mut self) {
        self.backlog.note_new_station();
    }

    /// The access points' backlog, as medium time.
    pub(crate) fn backlog(&self) -> Span {
        self.backlog.backlog()
    }
}
