//! A contention domain: radios that hear each other and therefore share one medium; and the state that the box keeps
//! for it.
//!
//! Each domain has queues, a controller and accounts of its own, because transmissions in one take no airtime from
//! another. A station is in exactly one domain, and a flow waits in the domain of its station.
//!
//! A site may have hundreds of domains, but the cost of a packet must not grow with their number. Therefore a change
//! in a domain marks it as touched, and the manager serves only domains that are touched or whose deadline has come.
//! It always serves the default domain, without that bookkeeping: on most sites that is the only one.
//!
//! What is not here: the way of a packet through a domain (see `manager`), what is above all domains: the Internet
//! link, the tables of stations and flows, totals.

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

/// What is known of a medium before anything was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Medium {
    pub(crate) standard: Standard,
    /// C*.
    pub(crate) capacity: BitRate,
}

/// What one medium has of its own.
#[derive(Debug)]
pub(crate) struct Domain<P> {
    pub(crate) name: Label,
    pub(crate) queues: Queues<P>,
    /// Where a discipline decides in the tree's place, which is then empty.
    pub(crate) discipline: Option<Disciplined<P>>,
    /// How long packets waited.
    pub(crate) waits: Waits,
    pub(crate) pacer: Pacer,
    /// Releases that were looked ahead to and are still to come.
    pub(crate) seen_ahead: u32,
    /// The airtime that stations use together, by their reported rates.
    pub(crate) shares: Shares,
    /// The airtime of releases in this interval.
    pub(crate) counted: Counted,
    /// That of the last interval with releases.
    pub(crate) counted_before: Counted,
    /// What stations are charged together.
    pub(crate) charged: ChargedSum,
    /// The airtime estimator, while reports distinguish the stations, or nobody reports the rates of some.
    pub(crate) observed: Option<Box<Observed>>,
    /// The limit on uploads, where there is one.
    pub(crate) uplink: Option<Box<Limiter>>,
    /// Probes, where there are any.
    pub(crate) probes: Option<Box<Probes>>,
    /// How windows and ACKs are steered, and who shares the access points' buffers.
    pub(crate) receiver: Steered,
    /// Stations that came to it from another one.
    pub(crate) roamed: u64,
    /// The budget of control packets.
    pub(crate) control: ControlBudget,
    /// Airtime of frames to groups in this interval.
    pub(crate) to_groups: Span,
    /// Frames to groups, by their shares.
    pub(crate) groups: Groups<P>,
    /// What was sent to groups in all domains, as far as it is reckoned with here.
    groups_reckoned: Span,
    /// It is in the list of those to be looked at; else: its deadline, as the set has it.
    touched: bool,
    due: Option<Instant>,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Domains<P> {
    list: Vec<Domain<P>>,
    /// To be looked at, beside the default one.
    touched: Vec<DomainId>,
    /// Of all others: the packets that they hold, and when the next one may be released of those that hold any.
    held: usize,
    due: BTreeSet<(Instant, DomainId)>,
    /// Medium time of all that was sent to groups, by airtime model.
    groups: Vec<Span>,
}

/// What was sent to groups while nothing happened in a domain has been on the air long ago, but for this much.
const GROUPS_AT_MOST: Span = Span::from_millis(10);

impl<P: Send + 'static> Domain<P> {
    /// What was found of the path.
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

    /// Packets that wait.
    pub(crate) fn len(&self) -> usize {
        self.queues.len() + self.discipline.as_ref().map_or(0, Disciplined::len)
    }

    /// When something may go, as far as the queues are asked: ceilings, a discipline that shapes.
    pub(crate) fn shaped_until(&self) -> Instant {
        self.discipline.as_ref().map_or(self.queues.ready_at(), Disciplined::ready_at)
    }

    /// The box begins to hold packets.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.pacer.on_insert(now);
        self.probes.iter_mut().for_each(|probes| probes.begin(now));
    }

    /// Until when nothing may go, so that a probe finds no queue.
    pub(crate) fn quiet_until(&self) -> Option<Instant> {
        self.probes.as_ref()?.holds_until()
    }

    /// C* of what waits or was served lately.
    pub(crate) fn active_capacity(&mut self, stations: &Stations, now: Instant) -> Option<BitRate> {
        match &self.discipline {
            Some(discipline) => discipline.capacity(),
            None => self.queues.capacity(stations, now),
        }
    }

    /// A packet to a group takes so much of this medium.
    pub(crate) fn note_group(&mut self, now: Instant, airtime: Span, managed: bool) {
        self.to_groups += airtime;
        if managed {
            self.pacer.on_unscheduled_group(airtime);
        }
        self.pacer.on_release(now, Outgoing::to_group(airtime), None);
    }
}

impl<P: Send + 'static> Domains<P> {
    /// The default one first. Those that were in another list before hold nothing.
    pub(crate) fn new(mut list: Vec<Domain<P>>) -> Self {
        list.iter_mut().for_each(|domain| (domain.touched, domain.due) = (false, None));
        let mut this = Self { list, touched: Vec::new(), held: 0, due: BTreeSet::new(), groups: Vec::new() };
        this.ids().for_each(|id| this.mark_touched(id));
        this
    }

    /// One more, at the end, which was learned and so has the default airtime model.
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

    /// Takes all out.
    pub(crate) fn take(&mut self) -> Vec<Domain<P>> {
        core::mem::take(&mut self.list)
    }

    /// Packets that wait for the WLAN, in all of them.
    pub(crate) fn held(&self) -> usize {
        let default = self.list.first().map_or(0, Domain::len);
        default + self.held + self.touched.iter().map(|id| self.list[id.index()].len()).sum::<usize>()
    }

    /// Those whose deadline has come are to be looked at.
    pub(crate) fn touch_due(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.due.first()
            && at <= now
        {
            self.mark_touched(id);
        }
    }

    /// A domain that is to be changed: it is looked at afterwards.
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

    /// One that is to be looked at, not the default one.
    pub(crate) fn next_touched(&self) -> Option<DomainId> {
        self.touched.last().copied()
    }

    /// It was looked at, and its next packet may go then.
    pub(crate) fn settle(&mut self, id: DomainId, due: Option<Instant>) {
        let domain = &mut self.list[id.index()];
        domain.touched = false;
        domain.due = due;
        self.held += domain.len();
        self.due.extend(due.map(|at| (at, id)));
        self.touched.retain(|&other| other != id);
    }

    /// Those that were touched since they were looked at; the next deadline of all others, but for the default one's.
    pub(crate) fn deadlines(&self) -> (&[DomainId], Option<Instant>) {
        (&self.touched, self.due.first().map(|&(at, _)| at))
    }

    /// A packet to a group goes out by all access points, and was reckoned with in one domain already. The others
    /// come to it when something happens there.
    pub(crate) fn note_group(&mut self, reckoned_in: DomainId, ip_len: Bytes, models: &AirtimeModels) {
        self.groups.resize(models.iter().count(), Span::ZERO);
        for (sum, (_, model)) in self.groups.iter_mut().zip(models.iter()) {
            *sum += model.broadcast_airtime(ip_len);
        }
        self.list[reckoned_in.index()].groups_reckoned += models[reckoned_in].broadcast_airtime(ip_len);
    }

    /// What was sent to groups and is not reckoned with in this domain of this airtime model, which is reckoned with from now on.
    pub(crate) fn take_groups(&mut self, id: DomainId, model: ModelId) -> Span {
        let groups = self.groups_by(model);
        let domain = &mut self.list[id.index()];
        let missed = groups.saturating_sub(core::mem::replace(&mut domain.groups_reckoned, groups));
        missed.min(GROUPS_AT_MOST)
    }

    fn groups_by(&self, model: ModelId) -> Span {
        self.groups.get(model.index()).copied().unwrap_or(Span::ZERO)
    }

    /// The domains have other airtime models: what was sent to groups before is on the air or in no account.
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
