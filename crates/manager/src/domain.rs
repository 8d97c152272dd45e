//! A contention domain: the radios that hear each other, and so share one medium; and what the box keeps for it.
//!
//! Each has a queue, a pace and an account of its own, since what is sent in one takes nothing of another. A station is in
//! exactly one, and a flow waits in that of its station.
//!
//! What is not here: the way of a packet through it (see `manager`), what is above all of them: the Internet link, the
//! tables of stations and flows, totals.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use evenair_units::{BitRate, Instant};

use crate::Config;
use crate::discipline::Disciplined;
use crate::queues::Queues;
use crate::rate::ServiceRate;
use crate::server::Server;
use crate::standing::Standing;
use crate::station::Stations;
use crate::wan::Waits;

/// A domain, by its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DomainId(u16);

impl DomainId {
    /// That of whoever is not known to be anywhere else.
    pub(crate) const DEFAULT: Self = Self(0);
}

/// What one medium has of its own.
#[derive(Debug)]
pub(crate) struct Domain<P> {
    pub(crate) queues: Queues<P>,
    /// Where a discipline decides in the tree's place, which is then empty.
    pub(crate) discipline: Option<Disciplined<P>>,
    /// How long packets waited.
    pub(crate) waits: Waits,
    pub(crate) server: Server,
    pub(crate) standing: Standing,
    pub(crate) rate: ServiceRate,
    /// Releases that were looked ahead to and are still to come.
    pub(crate) seen_ahead: u32,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Domains<P> {
    list: Vec<Domain<P>>,
}

impl<P: Send + 'static> Domain<P> {
    /// `capacity` is C* as long as nothing was seen.
    pub(crate) fn new(config: &Config, capacity: BitRate, now: Instant) -> Self {
        Self {
            queues: Queues::new(config, now),
            discipline: config.queue.as_deref().map(Disciplined::new),
            waits: Waits::default(),
            server: Server::new(config.pacing_slack, now),
            standing: Standing::new(now),
            rate: ServiceRate::new(config.charge, config.controller, capacity, now),
            seen_ahead: 0,
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

    /// C* of what waits or was served lately.
    pub(crate) fn active_capacity(&mut self, stations: &Stations, now: Instant) -> Option<BitRate> {
        match &self.discipline {
            Some(discipline) => discipline.capacity(),
            None => self.queues.capacity(stations, now),
        }
    }
}

impl<P: Send + 'static> Domains<P> {
    /// One.
    pub(crate) fn new(first: Domain<P>) -> Self {
        Self { list: Vec::from([first]) }
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = DomainId> + use<P> {
        (0..u16::try_from(self.list.len()).unwrap_or(u16::MAX)).map(DomainId)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Domain<P>> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Domain<P>> {
        self.list.iter_mut()
    }

    /// Packets that wait for the WLAN, in all of them.
    pub(crate) fn held(&self) -> usize {
        self.list.iter().map(Domain::len).sum()
    }
}

impl<P> Index<DomainId> for Domains<P> {
    type Output = Domain<P>;

    fn index(&self, id: DomainId) -> &Domain<P> {
        &self.list[usize::from(id.0)]
    }
}

impl<P> IndexMut<DomainId> for Domains<P> {
    fn index_mut(&mut self, id: DomainId) -> &mut Domain<P> {
        &mut self.list[usize::from(id.0)]
    }
}
