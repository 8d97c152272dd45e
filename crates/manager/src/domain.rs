//! Contention domains: the state that the box keeps for each set of radios that hear each other and share one channel.
//!
//! Each domain has queues, a controller and accounts of its own, because transmissions in one take no airtime from
//! another. A station is in exactly one domain, and a flow waits in the domain of its station.
//!
//! A site may have hundreds of domains, but the cost of a packet must not grow with their number. Therefore a change
//! in a domain marks it as touched, and the manager serves only domains that are touched or whose deadline has come.
//! It always serves the default domain, without that bookkeeping: on most sites that is the only one.
//!
//! What is not here: the path of a packet through a domain (see `manager`); what is above all domains, as the Internet link, the tables of
//! stations and flows, and totals.

pub(crate) mod charged_sum;
mod control_budget;
pub(crate) mod groups;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Index;

use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::Standard;

use crate::airtime_model::{AirtimeModels, Counted};
use crate::ids::{DomainId, ModelId};
use crate::pacer::probes::Probes;
use crate::pacer::{Outgoing, Pacer};
use crate::queues::Queues;
use crate::queues::discipline::Disciplined;
use crate::receiver::Steered;
use crate::stations::Stations;
use crate::stations::observed::Observed;
use crate::stations::reports::Shares;
use crate::uplink::Limiter;
use crate::wan::Waits;
use crate::{Config, Label, PathReport, ProbeState};
use charged_sum::ChargedSum;
use control_budget::ControlBudget;
use groups::Groups;

/// Initial knowledge of a contention domain, before any traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Medium {
    pub(crate) standard: Standard,
    /// Capacity C*, from the configuration.
    pub(crate) capacity: BitRate,
}

/// The state of one contention domain.
#[derive(Debug)]
pub(crate) struct Domain<P> {
    pub(crate) name: Label,
    pub(crate) queues: Queues<P>,
    /// The queue discipline in place of the tree, which is then empty.
    pub(crate) discipline: Option<Disciplined<P>>,
    /// Waiting times of packets.
    pub(crate) waits: Waits,
    pub(crate) pacer: Pacer,
    /// Upcoming releases that were prefetched already.
    pub(crate) seen_ahead: u32,
    /// Airtime used by all stations, by their reported rates.
    pub(crate) shares: Shares,
    /// Airtime of releases in this interval.
    pub(crate) counted: Counted,
    /// Airtime of releases in the last interval that had any.
    pub(crate) counted_before: Counted,
    /// Charges of all stations together.
    pub(crate) charged: ChargedSum,
    /// The airtime estimator, if reports distinguish the stations or some rates are unreported.
    pub(crate) observed: Option<Box<Observed>>,
    /// The upload limiter, if configured.
    pub(crate) uplink: Option<Box<Limiter>>,
    /// Probes, if configured.
    pub(crate) probes: Option<Box<Probes>>,
    /// State of receiver control: windows, ACK delay, and flows that share the access points' buffers.
    pub(crate) receiver: Steered,
    /// Stations that came from another domain.
    pub(crate) roamed: u64,
    /// The budget of control packets.
    pub(crate) control: ControlBudget,
    /// Airtime of frames to groups in this interval.
    pub(crate) to_groups: Span,
    /// Frames to groups, by their shares.
    pub(crate) groups: Groups<P>,
    /// Total of [`Domains::groups`] that this domain's account has taken up.
    groups_reckoned: Span,
    /// Whether it is in the list of touched domains; if not, `due` is its deadline in the set.
    touched: bool,
    due: Option<Instant>,
}

/// All contention domains.
#[derive(Debug)]
pub(crate) struct Domains<P> {
    list: Vec<Domain<P>>,
    /// Touched domains, which are to be served; never the default one.
    touched: Vec<DomainId>,
    /// Of the untouched domains: packets held, and the next release of each one that holds any.
    held: usize,
    due: BTreeSet<(Instant, DomainId)>,
    /// Medium time of all frames sent to groups in all domains, by airtime model.
    groups: Vec<Span>,
}

/// Most medium time of group frames that a domain takes up at once: earlier ones, sent while nothing happened in it, have left by then.
const GROUPS_AT_MOST: Span = Span::from_millis(10);

impl<P: Send + 'static> Domain<P> {
    /// What the controller has found of the path.
    pub(crate) fn report_path(&self, now: Instant) -> PathReport {
        let probes = match &self.probes {
            None => ProbeState::Off,
            Some(probes) if !probes.are_believed(now) => ProbeState::Disbelieved,
            Some(_) if self.pacer.uses_probes() => ProbeState::Used,
            Some(_) => ProbeState::Idle,
        };
        PathReport {
            lag: self.pacer.lag(),
            backlog: self.pacer.backlog(),
            cost_permille: self.pacer.cost_permille(),
            unacknowledged_permille: self.probes.as_ref().map(|probes| probes.unacknowledged_permille()),
            probes,
        }
    }

    pub(crate) fn new(id: DomainId, name: Label, config: &Config, medium: Medium, now: Instant) -> Self {
        let Medium { standard, capacity } = medium;
        Self {
            name,
            queues: Queues::new(&config.tree(), now),
            discipline: config.queue.as_deref().map(Disciplined::new),
            waits: Waits::default(),
            pacer: Pacer::new(id, config.pacer(standard), capacity, now),
            seen_ahead: 0,
            shares: Shares::default(),
            counted: Counted::default(),
            counted_before: Counted::default(),
            charged: ChargedSum::default(),
            observed: None,
            uplink: config.uplink_limit.as_ref().map(|limit| Limiter::new(limit, capacity, now).into()),
            probes: config.probe().map(|probe| Probes::new(probe, now).into()),
            receiver: Steered::new(now),
            roamed: 0,
            control: ControlBudget::default(),
            to_groups: Span::ZERO,
            groups: Groups::default(),
            groups_reckoned: Span::ZERO,
            touched: false,
            due: None,
        }
    }

    /// Packets held.
    pub(crate) fn len(&self) -> usize {
        self.queues.len() + self.discipline.as_ref().map_or(0, Disciplined::len)
    }

    /// When a queue may next be served, by ceilings or a shaping discipline.
    pub(crate) fn shaped_until(&self) -> Instant {
        self.discipline.as_ref().map_or(self.queues.ready_at(), Disciplined::ready_at)
    }

    /// Starts the account when the box begins to hold packets.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.pacer.on_insert(now);
        self.probes.iter_mut().for_each(|probes| probes.begin(now));
    }

    /// Until when nothing is released, so that a probe finds no queue.
    pub(crate) fn quiet_until(&self) -> Option<Instant> {
        self.probes.as_ref()?.holds_until()
    }

    /// C* of the stations that have packets or were served lately.
    pub(crate) fn active_capacity(&mut self, stations: &Stations, now: Instant) -> Option<BitRate> {
        match &self.discipline {
            Some(discipline) => discipline.capacity(),
            None => self.queues.capacity(stations, now),
        }
    }

    /// Counts a frame to a group that takes this airtime of the medium.
    pub(crate) fn note_group(&mut self, now: Instant, airtime: Span, managed: bool) {
        self.to_groups += airtime;
        if managed {
            self.pacer.on_unscheduled_group(airtime);
        }
        self.pacer.on_release(now, Outgoing::to_group(airtime), None);
    }
}

impl<P: Send + 'static> Domains<P> {
    /// All domains, the default one first. Domains that were in another list before must hold nothing.
    pub(crate) fn new(mut list: Vec<Domain<P>>) -> Self {
        list.iter_mut().for_each(|domain| (domain.touched, domain.due) = (false, None));
        let mut this = Self { list, touched: Vec::new(), held: 0, due: BTreeSet::new(), groups: Vec::new() };
        this.ids().for_each(|id| this.mark_touched(id));
        this
    }

    /// Adds a learned domain at the end, which has the default airtime model.
    pub(crate) fn push(&mut self, domain: Domain<P>) {
        let groups_reckoned = self.groups_by(ModelId::DEFAULT);
        self.list.push(Domain { touched: false, due: None, groups_reckoned, ..domain });
        self.mark_touched(DomainId::at(self.list.len() - 1));
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = DomainId> + use<P> {
        (0..self.list.len()).map(DomainId::at)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Domain<P>> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Domain<P>> {
        self.ids().for_each(|id| self.mark_touched(id));
        self.list.iter_mut()
    }

    /// Takes all domains out.
    pub(crate) fn take(&mut self) -> Vec<Domain<P>> {
        core::mem::take(&mut self.list)
    }

    /// Packets held for the WLAN, in all domains.
    pub(crate) fn held(&self) -> usize {
        let default = self.list.first().map_or(0, Domain::len);
        default + self.held + self.touched.iter().map(|id| self.list[id.index()].len()).sum::<usize>()
    }

    /// Touches the domains whose deadline has come.
    pub(crate) fn touch_due(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.due.first()
            && at <= now
        {
            self.mark_touched(id);
        }
    }

    /// A domain to be changed, which is then served.
    pub(crate) fn touch(&mut self, id: DomainId) -> &mut Domain<P> {
        self.mark_touched(id);
        &mut self.list[id.index()]
    }

    fn mark_touched(&mut self, id: DomainId) {
        if id == DomainId::DEFAULT {
            return;
        }
        let domain = &mut self.list[id.index()];
        if core::mem::replace(&mut domain.touched, true) {
            return;
        }
        self.held -= domain.len();
        if let Some(at) = domain.due.take() {
            self.due.remove(&(at, id));
        }
        self.touched.push(id);
    }

    /// A touched domain, never the default one.
    pub(crate) fn next_touched(&self) -> Option<DomainId> {
        self.touched.last().copied()
    }

    /// Notes that a domain was served, and when its next packet may be released.
    pub(crate) fn settle(&mut self, id: DomainId, due: Option<Instant>) {
        let domain = &mut self.list[id.index()];
        domain.touched = false;
        domain.due = due;
        self.held += domain.len();
        self.due.extend(due.map(|at| (at, id)));
        self.touched.retain(|&other| other != id);
    }

    /// The touched domains, and the next deadline of all others but the default one.
    pub(crate) fn deadlines(&self) -> (&[DomainId], Option<Instant>) {
        (&self.touched, self.due.first().map(|&(at, _)| at))
    }

    /// Counts a frame to a group, which all access points send. One domain has counted it already; the others do so when they are next
    /// touched.
    pub(crate) fn note_group(&mut self, reckoned_in: DomainId, ip_len: Bytes, models: &AirtimeModels) {
        self.groups.resize(models.iter().count(), Span::ZERO);
        for (sum, (_, model)) in self.groups.iter_mut().zip(models.iter()) {
            *sum += model.broadcast_airtime(ip_len);
        }
        self.list[reckoned_in.index()].groups_reckoned += models[reckoned_in].broadcast_airtime(ip_len);
    }

    /// Medium time of group frames that this domain has not counted yet; it counts as taken up from now on.
    pub(crate) fn take_groups(&mut self, id: DomainId, model: ModelId) -> Span {
        let groups = self.groups_by(model);
        let domain = &mut self.list[id.index()];
        let missed = groups.saturating_sub(core::mem::replace(&mut domain.groups_reckoned, groups));
        missed.min(GROUPS_AT_MOST)
    }

    fn groups_by(&self, model: ModelId) -> Span {
        self.groups.get(model.index()).copied().unwrap_or(Span::ZERO)
    }

    /// Resets group frames when domains get other airtime models: earlier ones have left, or are in no account.
    pub(crate) fn forget_groups(&mut self) {
        self.groups.clear();
        self.list.iter_mut().for_each(|domain| domain.groups_reckoned = Span::ZERO);
    }
}

impl<P> Index<DomainId> for Domains<P> {
    type Output = Domain<P>;

    fn index(&self, id: DomainId) -> &Domain<P> {
        &self.list[id.index()]
    }
}
