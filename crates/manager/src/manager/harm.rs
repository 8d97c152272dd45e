//! The guard against harm (see [`crate::guard`]), as far as the whole box is concerned: what is carried while it is
//! bypassed, and what became of the guard's steps.

pub(super) mod record;

use evenair_units::{BitRate, Bytes, Instant, Span};

use record::Harm;

use super::Manager;
use crate::guard::{GuardReport, GuardState, GuardStep};
use crate::ids::DomainId;
use crate::{Event, Label, Mode};

/// More is in no interval, and nothing faster is a WLAN: counters that are out of their senses do not overflow what
/// follows.
const MOST_BYTES: u64 = 1 << 50;
const FASTEST: BitRate = BitRate::from_mbps(10_000_000);

impl<P: Send + 'static> Manager<P> {
    /// The bridge has carried so much in so much time.
    pub(super) fn note_bridged(&mut self, carried: Bytes, elapsed: Span) {
        if self.mode == Mode::Bypassed {
            let (bytes, span) = self.harm.bridged;
            let span = Span::from_nanos(span.as_nanos().saturating_add(elapsed.as_nanos()));
            self.harm.bridged = (Bytes(bytes.0.saturating_add(carried.0).min(MOST_BYTES)), span);
        }
    }

    /// An interval without the box has ended. The bridge's counters say nothing of one of several media.
    pub(super) fn measure_without_box(&mut self, id: DomainId) {
        let (bytes, span) = core::mem::replace(&mut self.harm.bridged, (Bytes::ZERO, Span::ZERO));
        let is_alone = self.domains.iter().count() == 1;
        let domain = self.domains.touch(id);
        let bridged = if is_alone { BitRate::from_bits_over(bytes.bits(), span).min(FASTEST) } else { BitRate::ZERO };
        domain.pacer.guard_bypassed(bridged);
    }

    /// Checks whether the box holds packets while the medium waits.
    pub(super) fn guard_against_harm(&mut self, now: Instant, id: DomainId) {
        let domain = self.domains.touch(id);
        let can_do_harm = domain.pacer.can_do_harm() && domain.discipline.is_none();
        if !can_do_harm || self.mode != Mode::Inserted {
            return;
        }
        let waits = domain.len() > 0 && domain.shaped_until() <= now;
        let (reference, _) = domain.pacer.state_of_guard().rates();
        let Some(step) = domain.pacer.guard(waits) else { return };
        let (before, held) = domain.pacer.state_of_guard().rates();
        let name = domain.name;
        self.tell(Event::Guard { domain: name, step, before, held });
        self.harm.steps += 1;
        if step == GuardStep::Bypassed {
            self.harm.bypasses += 1;
            self.harm.bypassed = Some((name, reference));
            self.drain_until = now.saturating_add(self.config.drain_limit);
            self.set_mode(now, Mode::Draining);
        }
    }

    /// An operator has decided: whatever the mode is from now on, it is not the guard's.
    pub(super) fn overrule_guard(&mut self, now: Instant) {
        self.harm.bypassed = None;
        self.note_guard(now);
    }

    /// Notes since when the guard is in its state.
    pub(super) fn note_guard(&mut self, now: Instant) {
        let (state, _) = self.guard_state();
        if core::mem::replace(&mut self.harm.state, state) != state {
            self.harm.since = now;
        }
    }

    /// The state, and the domain that it is of.
    fn guard_state(&self) -> (GuardState, Label) {
        let loosened = self.domains.iter().find(|domain| domain.pacer.state_of_guard().is_loosened());
        match (self.harm.bypassed, loosened) {
            (Some((name, _)), _) => (GuardState::Bypassed, name),
            (None, Some(domain)) => (GuardState::Loosened, domain.name),
            (None, None) => (GuardState::Watching, self.domains[DomainId::DEFAULT].name),
        }
    }

    pub(super) fn report_guard(&self) -> GuardReport {
        let (state, name) = self.guard_state();
        let domain = self.domains.iter().find(|domain| domain.name == name);
        let (before, now) = domain.map_or((BitRate::ZERO, BitRate::ZERO), |domain| {
            let guard = domain.pacer.state_of_guard();
            (guard.rates().0, guard.carried())
        });
        let before = self.harm.bypassed.map_or(before, |(_, before)| before);
        let Harm { since, steps, bypasses, .. } = self.harm;
        GuardReport { state, since, domain: name, before, now, steps, bypasses }
    }
}
