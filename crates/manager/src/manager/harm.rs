//! The harm guard (see [`crate::pacer::guard`]) as far as the whole box is concerned: throughput while it is bypassed, results of the
//! guard's steps, and trials of a box that the guard has bypassed.

pub(super) mod record;

use evenair_units::{BitRate, Bytes, Instant, Span};

use record::Harm;

use super::Manager;
use crate::domain::Domain;
use crate::ids::DomainId;
use crate::pacer::guard::{Carried, Confirmed, GuardReport, GuardState, GuardStep, Trials};
use crate::pacer::standing::Ratio;
use crate::{Event, Label, Mechanism, Mode};

/// IP-level size of a full packet.
const FULL_SIZE: Bytes = Bytes(1500);

impl<P: Send + 'static> Manager<P> {
    /// The highest throughput of a domain: packets of full size at the highest rate of its standard.
    fn most_carried(&self, id: DomainId) -> BitRate {
        BitRate::from_bits_over(FULL_SIZE.bits(), self.models[id].shortest_airtime(FULL_SIZE))
    }

    /// The throughput of a domain in an interval; `left`: the part of it that frames to groups left to other traffic.
    pub(super) fn carried(&self, id: DomainId, confirmed: Confirmed, left: Ratio, interval: Span) -> Carried {
        let capacity = self.most_carried(id);
        confirmed.over(interval, capacity).without_groups(left, capacity)
    }

    /// Notes the throughput of an interval without the box.
    pub(super) fn measure_without_box(&mut self, id: DomainId, carried: Carried) {
        self.domains.touch(id).pacer.guard_bypassed(carried);
    }

    /// Checks whether the box holds packets while the medium is idle; `left`: the part of the interval that frames to groups left.
    pub(super) fn guard_against_harm(&mut self, now: Instant, id: DomainId, carried: Carried, left: Ratio) {
        let domain = self.domains.touch(id);
        if !can_do_harm(domain) || self.mode != Mode::Inserted || self.config.without.has(Mechanism::Guard) {
            return;
        }
        let waits = domain.len() > 0 && domain.shaped_until() <= now;
        let (reference, _) = domain.pacer.state_of_guard().rates();
        let Some(step) = domain.pacer.guard(waits, carried, left) else { return };
        let name = domain.name;
        self.tell_step(id, step);
        if step == GuardStep::Bypassed {
            self.harm.bypasses += 1;
            self.harm.bypassed = Some((name, reference));
            self.harm.trials.put_off(now);
            // Draining at the harmful pace would prolong the harm.
            self.release_all(now);
        }
    }

    /// Begins and ends trials of a box that a guard has bypassed.
    pub(super) fn try_again(&mut self, now: Instant) {
        let Some((name, _)) = self.harm.bypassed else { return };
        let id = self.domains.ids().find(|&id| self.domains[id].name == name).unwrap_or(DomainId::DEFAULT);
        if self.is_trial_due(now) {
            self.harm.trials.begin(now);
            self.domains.touch(id).pacer.guard_mut().begin_trial();
            self.tell_step(id, GuardStep::Trying);
            self.insert(now);
        } else if self.harm.trials.is_proven(now) && !is_on_trial(&self.domains[id]) {
            self.tell_step(id, GuardStep::Proven);
            self.end_trials();
        }
    }

    fn tell_step(&mut self, id: DomainId, step: GuardStep) {
        let Domain { name, pacer, .. } = &self.domains[id];
        let (before, held) = pacer.state_of_guard().rates();
        self.tell(Event::Guard { domain: *name, step, before, held });
        self.harm.steps += 1;
    }

    fn end_trials(&mut self) {
        (self.harm.bypassed, self.harm.trials) = (None, Trials::NONE);
        self.domains.iter_mut().for_each(|domain| domain.pacer.guard_mut().end_trial());
    }

    /// Ends the guard's control of the mode: an operator has decided.
    pub(super) fn overrule_guard(&mut self, now: Instant) {
        self.end_trials();
        self.note_guard(now);
    }

    /// Notes when the guard's state changes.
    pub(super) fn note_guard(&mut self, now: Instant) {
        let (state, _) = self.guard_state();
        if core::mem::replace(&mut self.harm.state, state) != state {
            self.harm.since = now;
        }
    }

    /// The state of the guard, and its domain.
    fn guard_state(&self) -> (GuardState, Label) {
        let open = self.domains.iter().find(|domain| !domain.pacer.state_of_guard().holds());
        match (self.harm.bypassed, open) {
            (Some((name, _)), _) if self.harm.trials.is_under_way() => (GuardState::Trying, name),
            (Some((name, _)), _) => (GuardState::Bypassed, name),
            (None, Some(domain)) => (GuardState::Loosened, domain.name),
            (None, None) => (GuardState::Watching, self.domains[DomainId::DEFAULT].name),
        }
    }

    /// The state of the harm guard, throughput before and now, and when it tries the box again.
    pub fn report_guard(&self) -> GuardReport {
        let (state, name) = self.guard_state();
        let domain = self.domains.iter().find(|domain| domain.name == name);
        let (before, now) = domain.map_or((BitRate::ZERO, BitRate::ZERO), |domain| {
            let guard = domain.pacer.state_of_guard();
            (guard.rates().0, guard.carried())
        });
        let before = self.harm.bypassed.map_or(before, |(_, before)| before);
        let Harm { since, steps, bypasses, trials, .. } = self.harm;
        GuardReport { state, since, domain: name, before, now, steps, bypasses, next_try: trials.next() }
    }
}

/// Whether the box can be wrong about what the medium of this domain carries.
pub(super) const fn can_do_harm<P>(domain: &Domain<P>) -> bool {
    domain.pacer.can_do_harm() && domain.discipline.is_none()
}

/// Whether the box is on trial in this domain.
const fn is_on_trial<P>(domain: &Domain<P>) -> bool {
    can_do_harm(domain) && domain.pacer.state_of_guard().is_on_trial()
}
