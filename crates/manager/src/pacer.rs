//! The pacer of a contention domain: how much may be released to the access points now.
//!
//! It receives releases, completions and time, and says when the next packet may be released ([`Pacer::ready_at`]). Which packet that
//! is, is not its business: the queues or a discipline decide. It knows nothing of the PHY: others hand in what a packet costs.
//!
//! The controller ([`controller`]) says what releases are paced by:
//!
//! | pacing | controllers |
//! |---|---|
//! | the backlog of the access points, estimated from completions ([`standing`]), unless the guard holds nothing | `queue` |
//! | a virtual server at the service rate ([`server`], [`rate`]), which the law moves | `published`, `pi`, `fixed` |
//! | nothing | `none` |
//!
//! The backlog is estimated whatever the controller is, since calls and reports use it.

mod account;
pub(crate) mod aggregating;
mod by_time;
pub(crate) mod config;
pub(crate) mod controller;
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
    /// Airtime that is still to come for it, by the airtime model.
    pub(crate) airtime: Span,
    /// Of it, that of DATA that its station sends for it.
    pub(crate) for_data: Span,
    /// Before access points that aggregate: that is what it takes, whatever cost was measured.
    pub(crate) is_sure: bool,
    pub(crate) completion: Completion,
    /// The release before it of its flow.
    pub(crate) previous: Option<Mark>,
    /// The receiving station. `None`: a group, or an unknown receiver.
    pub(crate) station: Option<StationId>,
}

impl Outgoing {
    /// A packet to which no acknowledgment is due.
    pub(crate) const fn unanswered(airtime: Span, station: Option<StationId>) -> Self {
        Self { airtime, for_data: Span::ZERO, is_sure: false, completion: Completion::None, previous: None, station }
    }

    /// A packet to a group, whose rate is known.
    pub(crate) const fn to_group(airtime: Span) -> Self {
        Self { is_sure: true, ..Self::unanswered(airtime, None) }
    }
}

/// What is known of the completion of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The station acknowledges it. `managed`: packets are held, so that what is in flight is the box's choice.
    Expected { managed: bool },
    /// Another packet's acknowledgement will stand for it.
    None,
    /// It is of a protocol whose acknowledgements are not known.
    Unknown,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Pacer {
    domain: DomainId,
    pacing: Pacing,
    law: Box<dyn Law>,
    server: Server,
    backlog: Box<dyn Account>,
    /// The longest run of packets to one station, where access points aggregate.
    run: RunLimit,
    /// A fixed limit of the medium time in flight.
    in_flight: Option<Span>,
    guard: Guard,
    undrained: Undrained,
    /// Without a baseline the guard may hold nothing for a moment to measure one.
    measures_at_start: bool,
    /// The account is that for access points that aggregate.
    aggregates: bool,
    /// Mechanisms that are left out.
    without: Without,
    rate: ServiceRate,
}

/// The law of the configured controller, and the service rate at which it starts.
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
    /// `capacity` is C* as long as no station is active.
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
            guard: Guard::new(),
            undrained: Undrained::default(),
            measures_at_start: config.measures_at_start,
            rate,
        }
    }

    /// Takes another configuration over. What is in flight stays so; the service rate starts anew. `waiting`: packets are held.
    pub(crate) fn reconfigure(&mut self, config: PacerConfig, capacity: BitRate, now: Instant, waiting: bool) {
        (self.pacing, self.run, self.in_flight) = (config.controller.pacing(), config.run, config.in_flight);
        if (self.aggregates, self.without) != (config.aggregates, config.without) {
            (self.aggregates, self.without) = (config.aggregates, config.without);
            self.backlog = account(config, self.backlog.next_release(), now);
        }
        self.measures_at_start = config.measures_at_start;
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
    /// The box begins to hold packets: nothing that is in flight was released by it.
    pub(crate) fn on_insert(&mut self, now: Instant) {
        self.undrained = Undrained::new(self.backlog.awaited());
        self.backlog.begin(now);
    }

    /// The first packet of a busy period is held. True if the service of the last one has ended.
    pub(crate) fn on_busy(&mut self, now: Instant) -> bool {
        self.server.wake(now)
    }

    /// A packet that was held is released, which costs this much in all.
    pub(crate) fn on_service(&mut self, now: Instant, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) {
        self.server.release(now, self.rate.wait(model, cost, rate));
    }

    /// The packet of [`Self::on_service`] has gone; `waiting`: others are held.
    pub(crate) fn on_served(&mut self, waiting: bool) {
        self.law.on_served(waiting);
    }

    /// A packet goes to the access points, held before or not; `of`: what is known of its station.
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

    /// The completion of this release is not waited for any more: those of its flow cannot be relied on for now.
    pub(crate) fn has_given_up(&self, mark: Mark) -> bool {
        mark.domain() == self.domain && self.backlog.is_given_up(mark)
    }

    /// This release of a station is complete, and with it all before of its flow; `of`: what is known of the station.
    pub(crate) fn on_completion(&mut self, now: Instant, mark: Mark, station: StationId, of: &mut Paced) {
        self.undrained.note_completion(station, mark.number());
        self.backlog.answer(now, mark, station, of);
        self.law.on_completion(now, mark.number());
    }

    /// A station sent a packet before it had the oldest release of the packet's flow.
    pub(crate) fn on_older_packet(&mut self, now: Instant) {
        self.backlog.note_older_packet(now);
    }

    /// A station has answered the probe that was this release: all that was released before it has left.
    pub(crate) fn on_probe_completion(&mut self, now: Instant, mark: Mark, waited: Waited) {
        self.backlog.answer_probe(now, mark, waited);
    }

    /// The box keeps all back, so that a probe finds no queue.
    pub(crate) fn on_pause(&mut self, now: Instant) {
        self.backlog.pause(now);
    }

    /// Answers to probes are not believed any more.
    pub(crate) fn on_probes_disbelieved(&mut self) {
        self.backlog.disbelieve_probes();
    }

    /// Something came from the WLAN, which took this airtime.
    pub(crate) fn on_heard(&mut self, now: Instant, airtime: Span) {
        self.backlog.hear(now, airtime);
    }

    /// DATA of a station came from the WLAN, which took this airtime; `of`: what is known of the station.
    pub(crate) fn on_data(&mut self, now: Instant, airtime: Span, station: StationId, of: &Paced) {
        self.backlog.note_data(now, airtime, station, of);
    }

    /// Something was seen to cross the WLAN.
    pub(crate) fn on_crossed(&mut self, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) {
        self.rate.note_crossed(model, cost, rate);
    }

    /// Something that is not held crosses the WLAN: what is held pays for it.
    pub(crate) fn on_unscheduled(&mut self, model: &AirtimeModel, cost: &PacketCost, rate: PhyRate) {
        self.server.bypass(self.rate.wait(model, cost, rate));
    }

    /// The same of a packet to a group, of which the airtime alone is known.
    pub(crate) fn on_unscheduled_group(&mut self, airtime: Span) {
        self.server.bypass(self.rate.stretch(airtime));
    }

    /// The box has nothing to release, or keeps it back: the medium may wait for it.
    pub(crate) fn on_starved(&mut self) {
        self.backlog.starve();
    }

    /// Other stations are active, or their rates have changed: C* is this.
    pub(crate) fn on_capacity(&mut self, capacity: BitRate) {
        let before = self.rate.set_capacity(capacity);
        self.rate.set(self.law.at_capacity(self.rate.rates(), before));
    }

    /// Senders that do not respond have taken this part of an interval.
    pub(crate) fn on_flood(&mut self, flood: Span, interval: Span) {
        self.backlog.note_flood(flood, interval);
    }

    /// Time has passed.
    pub(crate) fn on_time(&mut self, now: Instant) {
        self.backlog.reckon(now);
    }

    /// Packets are held, and the service rate may be due for a change.
    pub(crate) fn shape(&mut self, now: Instant) {
        self.rate.set(self.law.at_time(now, self.rate.rates()));
    }
}

/// Intervals.
impl Pacer {
    /// An interval has ended in which the box managed the traffic; `usual`: the speed that is assumed of the medium where nothing can
    /// be learned; `said`: what is known of the rates of its stations. Returns how long the interval was.
    pub(crate) fn tick(&mut self, now: Instant, waiting: bool, usual: Ratio, said: RatesSaid) -> Span {
        let account = self.server.take_account(now, waiting);
        let seen = Seen { account, crossed: self.rate.measure(now, account.elapsed) };
        self.rate.set(self.law.at_interval(self.rate.rates(), seen));
        self.backlog.forget_speed(now, usual, said);
        self.rate.set(self.law.at_speed(self.rate.rates(), self.backlog.speed()));
        account.elapsed
    }

    /// An interval has ended that says nothing of the service rate, since nothing was managed in it. Returns how long it was.
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
    /// interval that frames to groups have left to others, of which these use a part.
    pub(crate) fn guard(&mut self, waits: bool, carried: Carried, left: Ratio) -> Option<GuardStep> {
        if self.undrained.is_most() && self.guard.note_drain(carried) {
            return None;
        }
        let mut used = self.rate.used_permille();
        if self.aggregates {
            // The airtime model knows neither aggregates nor rates that nothing reports.
            let Ratio { numerator, denominator } = self.backlog.speed();
            used = Span::from_nanos(used).mul_div(denominator, numerator.max(1)).as_nanos();
        }
        used = Span::from_nanos(used).mul_div(left.denominator, left.numerator).as_nanos();
        let is_slow = Guard::is_slow(used);
        self.guard.tick(Interval { carried, waits, is_slow }, self.measures_at_start)
    }

    /// The box is bypassed, and this much is carried without it.
    pub(crate) fn guard_bypassed(&mut self, carried: Carried) {
        self.guard.note_bypassed(carried);
    }
}

/// What is known.
impl Pacer {
    /// Only a controller that paces by completions can be wrong about what the medium carries; the others hold to a configured
    /// rate or a published rule.
    pub(crate) const fn can_do_harm(&self) -> bool {
        matches!(self.pacing, Pacing::Backlog { .. })
    }

    /// Completions decide what may be released.
    pub(crate) const fn paces_by_completions(&self) -> bool {
        matches!(self.pacing, Pacing::Backlog { .. })
    }

    /// What has to be in flight beyond the target since the path delays, in medium time.
    pub(crate) fn lag(&self) -> Span {
        self.backlog.lag()
    }

    /// Probes show how far the access point's queue has come, and not the traffic.
    pub(crate) fn uses_probes(&self) -> bool {
        self.backlog.uses_probes()
    }

    /// Answers to probes have made the medium look faster than any queue has shown.
    pub(crate) fn is_speed_unproven(&self) -> bool {
        self.backlog.is_speed_unproven()
    }

    /// The guard, to be read.
    pub(crate) const fn state_of_guard(&self) -> &Guard {
        &self.guard
    }

    /// The guard, whose trials are the whole box's matter.
    pub(crate) const fn guard_mut(&mut self) -> &mut Guard {
        &mut self.guard
    }

    /// C.
    pub(crate) const fn service_rate(&self) -> BitRate {
        self.rate.rate()
    }

    /// C*.
    pub(crate) const fn capacity(&self) -> BitRate {
        self.rate.capacity()
    }

    /// IP-level bits of TCP seen to cross the WLAN per second, in the last interval.
    pub(crate) const fn throughput(&self) -> BitRate {
        self.rate.throughput()
    }

    /// The medium's speed, in parts of what the airtime model says.
    pub(crate) fn speed(&self) -> Ratio {
        self.backlog.speed()
    }

    /// Access points aggregate, so that completions show what each station costs.
    pub(crate) const fn aggregates(&self) -> bool {
        self.aggregates
    }

    /// The account of the backlog, to be read.
    pub(crate) fn account(&self) -> &dyn Account {
        &*self.backlog
    }

    /// What was learned of some station since it was last asked for.
    pub(crate) fn take_learned(&mut self) -> Option<(StationId, Learned)> {
        self.backlog.take_learned()
    }

    /// Medium time of releases to a station, as it is shown. `counted`: airtime of recent releases of the domain. Where a
    /// service rate paces releases to access points that do not aggregate, it is the airtime of the model, since the time between
    /// completions is that of the controller.
    pub(crate) fn charged(&self, airtime: Counted, counted: Counted, of: &Paced) -> Span {
        match (self.aggregates, self.pacing) {
            (true, _) => self.backlog.charged(airtime.paced, of),
            (false, Pacing::Backlog { .. }) => self.backlog.charged(counted.to_paced(airtime.charged), of),
            (false, Pacing::Server | Pacing::None) => airtime.charged,
        }
    }

    /// Mean medium time of releases in thousandths of their airtime by the model; `None`: it is not measured.
    pub(crate) fn cost_permille(&self) -> Option<u64> {
        let believed = Span::from_millis(1000);
        match self.pacing {
            Pacing::Backlog { .. } => Some(self.backlog.medium(believed, &Paced::default()).as_nanos() / 1_000_000),
            Pacing::Server | Pacing::None => None,
        }
    }

    /// How long a run of packets to one station may be.
    pub(crate) fn run_limit(&self, now: Instant) -> RunLimit {
        match self.pacing {
            Pacing::Backlog { .. } => self.backlog.run_limit(now, self.run),
            Pacing::Server | Pacing::None => RunLimit::SINGLE,
        }
    }

    /// A station has come to the domain.
    pub(crate) fn on_new_station(&mut self) {
        self.backlog.note_new_station();
    }

    /// The backlog of the access points, in the time that the medium takes for it.
    pub(crate) fn backlog(&self) -> Span {
        self.backlog.backlog()
    }
}
