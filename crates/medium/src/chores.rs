//! What nodes of a medium do by themselves, without a packet of the driver's: beacons of access points, stations that
//! sleep (see `sleep`), and networks of others on the same channel (see `foreign`).
//!
//! Their frames contend and collide like all others, and none of them comes out as an event. Where nobody asks for any of
//! this there is none of it, and it costs nothing.
//!
//! A beacon goes before all that waits in the access point, behind the frame in service, as from the queue of its own that
//! hardware has for it. Where the one before is still waiting, it is left out. It contends with the access point's other
//! frames' back-off; the short one that some hardware gives to beacons is not here.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use evenair_units::{Airtime, Bytes, Instant, Span};
use evenair_wifi::{AccessCategory, LLC_SNAP};

use crate::counters::Besides;
use crate::foreign::Source;
use crate::frame::{Carried, Own, Queued};
use crate::sleep::Sleeper;
use crate::{Medium, Mpdu, NodeId, To};

/// Body of a beacon of 802.11a, b or g with the elements of RSN and WMM (IEEE Std 802.11-2016, table 9-27), about.
const BEACON_BODY: Bytes = Bytes(110);

/// An access point's beacons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beacons {
    /// From one to the next; usually 100 time units of 1024 us.
    pub interval: Span,
    /// Each so manieth tells of group frames, which follow it (the DTIM period); one or more.
    pub dtim_period: u32,
}

/// What has become of a packet that was received, or of a frame of a node's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    pub(crate) at: Instant,
    pub(crate) from: NodeId,
    pub(crate) to: To,
    /// `None`: a packet.
    pub(crate) own: Option<Own>,
    /// Medium time of all transmissions that it took.
    pub(crate) airtime: Airtime,
    /// Otherwise it was given up.
    pub(crate) received: bool,
}

/// What is to be done next, by the number of the access point, station or source. At one instant in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Chore {
    Beacon(u32),
    /// Whether a station may go to sleep.
    Doze(u32),
    Foreign(u32),
}

#[derive(Debug)]
pub(crate) struct Chores<F> {
    agenda: BTreeSet<(Instant, Chore)>,
    /// What is to be acted upon now.
    news: VecDeque<News>,
    pub(crate) points: BTreeMap<u32, Point<F>>,
    pub(crate) sleepers: BTreeMap<u32, Sleeper<F>>,
    pub(crate) sources: Vec<Source>,
    pub(crate) management: Airtime,
    pub(crate) groups: Airtime,
}

/// An access point with beacons.
#[derive(Debug)]
pub(crate) struct Point<F> {
    beacons: Beacons,
    /// Beacons that were due so far.
    count: u64,
    /// The last one is still in the queue.
    waits: bool,
    /// Its stations that it takes for asleep.
    pub(crate) asleep: u32,
    /// What it keeps for groups until the next beacon that tells of them.
    pub(crate) groups: VecDeque<Queued<F>>,
}

impl<F> Point<F> {
    /// Packets to groups have to wait.
    pub(crate) fn keeps_groups(&self) -> bool {
        self.asleep > 0 || !self.groups.is_empty()
    }
}

impl<F> Default for Chores<F> {
    fn default() -> Self {
        Self {
            agenda: BTreeSet::new(),
            news: VecDeque::new(),
            points: BTreeMap::new(),
            sleepers: BTreeMap::new(),
            sources: Vec::new(),
            management: Airtime::ZERO,
            groups: Airtime::ZERO,
        }
    }
}

impl<F> Medium<F> {
    /// From now on a node sends beacons; the first one at a random point of its interval.
    ///
    /// # Panics
    /// If the interval is zero, or the DTIM period.
    pub fn send_beacons(&mut self, id: NodeId, beacons: Beacons) {
        assert!(beacons.interval > Span::ZERO && beacons.dtim_period > 0, "{beacons:?}");
        let mut start = self.streams.numbered("medium beacons", u64::from(id.0));
        let first = self.clock + Span::from_nanos(start.below(beacons.interval.as_nanos()));
        let point = Point { beacons, count: 0, waits: false, asleep: 0, groups: VecDeque::new() };
        self.chores.get_or_insert_default().points.insert(id.0, point);
        self.plan(first, Chore::Beacon(id.0));
    }

    /// What was spent so far beside packets for and from single stations.
    pub(crate) fn besides(&self) -> Besides {
        let Some(chores) = &self.chores else { return Besides::default() };
        let foreign = chores.sources.iter().map(|source| self.counters(source.node).airtime);
        let foreign = foreign.fold(Airtime::ZERO, |sum, airtime| sum + airtime);
        Besides { management: chores.management, groups: chores.groups, foreign }
    }

    /// Measured airtime of networks of others.
    pub(crate) fn neighbours(&self) -> Span {
        let sources = self.chores.iter().flat_map(|chores| &chores.sources);
        sources.map(|source| self.counters(source.node).measured.sent).sum()
    }

    pub(crate) fn plan(&mut self, at: Instant, chore: Chore) {
        let chores = self.chores.get_or_insert_default();
        chores.agenda.insert((at, chore));
        self.chores_due = chores.next();
    }

    /// Does all that is due at `at`.
    #[inline(never)]
    pub(crate) fn do_chores(&mut self, at: Instant) {
        while let Some(news) = self.chores.as_mut().and_then(|chores| chores.news.pop_front()) {
            self.act_upon(news);
        }
        self.chores_due = self.chores.as_ref().map_or(Instant::MAX, |chores| chores.next());
        while let Some(chores) = &mut self.chores
            && let Some(&(due, chore)) = chores.agenda.first()
            && due <= at
        {
            chores.agenda.pop_first();
            self.chores_due = chores.next();
            match chore {
                Chore::Beacon(point) => self.send_beacon(at, point),
                Chore::Doze(station) => self.consider_sleep(at, station),
                Chore::Foreign(source) => self.send_foreign(at, source),
            }
        }
    }

    fn send_beacon(&mut self, at: Instant, id: u32) {
        let Some(point) = self.chores.as_mut().and_then(|chores| chores.points.get_mut(&id)) else { return };
        let number = point.count;
        point.count += 1;
        let next = at + point.beacons.interval;
        let is_dtim = number.is_multiple_of(u64::from(point.beacons.dtim_period));
        let groups = if is_dtim { core::mem::take(&mut point.groups) } else { VecDeque::new() };
        let beacon = (!core::mem::replace(&mut point.waits, true)).then_some(Own::Beacon(number));
        let category = AccessCategory::Voice;
        let beacon = beacon.map(|own| self.own(at, To::Broadcast, BEACON_BODY.saturating_sub(LLC_SNAP), own));
        let beacon = beacon.map(|queued| Queued { mpdu: Mpdu { category, ..queued.mpdu }, ..queued });
        let frames = beacon.into_iter().chain(groups.into_iter().map(|queued| Queued { enqueued: at, ..queued }));
        for queued in frames {
            let number = self.nodes[id as usize].function(queued.mpdu.category);
            let function = &mut self.functions[number as usize];
            let had_work = function.has_work();
            function.push_first(queued);
            if !had_work {
                self.begin_work(at, number);
            }
        }
        self.plan(next, Chore::Beacon(id));
    }

    /// A frame of a node's own, so large behind the headers of data frames.
    pub(crate) fn own(&self, at: Instant, to: To, msdu: Bytes, own: Own) -> Queued<F> {
        let (rate, category) = (self.config.phy.lowest_basic(), AccessCategory::BestEffort);
        Queued { enqueued: at, mpdu: Mpdu { to, msdu, rate, category, frame: Carried::Own(own) } }
    }

    /// A node is to send a frame of its own, in its turn.
    pub(crate) fn accept_own(&mut self, at: Instant, from: NodeId, queued: Queued<F>) {
        let id = self.nodes[from.0 as usize].function(queued.mpdu.category);
        let function = &mut self.functions[id as usize];
        let had_work = function.has_work();
        function.push_own(queued);
        if !had_work {
            self.begin_work(at, id);
        }
    }

    /// Something has become of a frame: it is acted upon at the same instant, once what brought it about is done.
    #[inline(never)]
    pub(crate) fn hear_of(&mut self, news: News) {
        if let Some(chores) = &mut self.chores {
            chores.news.push_back(news);
            self.chores_due = news.at;
        }
    }

    fn act_upon(&mut self, news: News) {
        let News { at, from, to, own, airtime, received } = news;
        if let Some(own) = own {
            return self.note_own(at, from, own, airtime, received);
        }
        if to == To::Broadcast
            && let Some(chores) = &mut self.chores
        {
            chores.groups += airtime;
        }
        self.note_activity(at, from, to);
    }

    /// A frame of a node's own was received, or given up, after transmissions that took so long.
    pub(crate) fn note_own(&mut self, at: Instant, from: NodeId, own: Own, airtime: Airtime, received: bool) {
        let Some(chores) = &mut self.chores else { return };
        match own {
            Own::Obss => return,
            Own::Beacon(_) | Own::Null { .. } => chores.management += airtime,
        }
        match own {
            Own::Obss => {}
            Own::Null { sleeps } => self.note_null(at, from, sleeps, received),
            Own::Beacon(number) => {
                if let Some(point) = chores.points.get_mut(&from.0) {
                    point.waits = false;
                }
                if received {
                    self.wake_for(at, from, number);
                }
            }
        }
    }
}

impl<F> Chores<F> {
    fn next(&self) -> Instant {
        self.agenda.first().map_or(Instant::MAX, |&(at, _)| at)
    }
}
