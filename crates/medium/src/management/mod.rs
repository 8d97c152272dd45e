//! Management traffic: what nodes of a medium send by themselves, without a packet of the driver's. That is beacons of
//! access points (`beacons`), null frames of stations that sleep (`power_save`), and what overlapping BSS on the same
//! channel send (`obss`).
//!
//! Their frames contend and collide like all others, and none of them comes out as an event. Where nobody asks for any of
//! this there is none of it, and it costs nothing.

mod beacons;
mod obss;
mod power_save;
mod tasks;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Airtime, Instant, Rng, Span};

use self::beacons::BeaconSchedule;
use self::obss::ObssTraffic;
use self::power_save::PowerSaving;
use self::tasks::{Context, Task, Timers};
use crate::counters::{OverheadAirtime, QueueState};
use crate::feedback::Feedback;
use crate::frame::{Event, Mpdu, NodeId, Own, To};
use crate::mac::Mac;
use crate::nodes::Nodes;

pub use self::beacons::Beacons;
pub use self::obss::Obss;
pub use self::power_save::PowerSave;
pub(crate) use self::power_save::Sleeper;

/// All management traffic of a medium.
#[derive(Debug)]
pub(crate) struct Management<F> {
    timers: Timers,
    beacons: BeaconSchedule,
    sleepers: PowerSaving<F>,
    obss: ObssTraffic,
    /// Spent on beacons and null frames.
    airtime: Airtime,
    /// Spent on packets to groups.
    groups: Airtime,
    /// Kept for its memory.
    started: Vec<u32>,
}

impl<F> Management<F> {
    pub(crate) fn new() -> Self {
        Self {
            timers: Timers::default(),
            beacons: BeaconSchedule::default(),
            sleepers: PowerSaving::new(),
            obss: ObssTraffic::default(),
            airtime: Airtime::ZERO,
            groups: Airtime::ZERO,
            started: Vec::new(),
        }
    }

    /// When something is to be done next; [`Instant::MAX`] where nothing is.
    pub(crate) fn next(&self) -> Instant {
        self.timers.next()
    }

    /// From `now` on a node sends beacons; the first one at a random point of its interval.
    pub(crate) fn send_beacons(&mut self, now: Instant, id: NodeId, beacons: Beacons, mut start: Rng) {
        let first = now + Span::from_nanos(start.below(beacons.interval.as_nanos()));
        self.beacons.add(id, beacons);
        self.sleepers.add_access_point(id);
        self.timers.schedule(first, Task::Beacon(id.0));
    }

    /// A network of others, whose first node sends to the second.
    pub(crate) fn add_obss(&mut self, nodes: [NodeId; 2], what: Obss, gaps: Rng) {
        let (first, task) = self.obss.add(nodes, what, gaps);
        self.timers.schedule(first, task);
    }

    /// From now on a station saves power.
    pub(crate) fn save_power(&mut self, station: NodeId, sleeper: Sleeper<F>) {
        assert!(self.beacons.has(sleeper.access_point()), "stations sleep from beacon to beacon");
        self.timers.schedule(sleeper.first_doze(), Task::Doze(station.0));
        self.sleepers.add(station, sleeper);
    }

    /// What an access point keeps for stations that sleep, and for groups, beside its queues.
    pub(crate) fn kept(&self, access_point: NodeId) -> QueueState {
        self.sleepers.kept(access_point)
    }

    /// What was spent so far beside packets for and from single stations.
    pub(crate) fn overhead(&self, nodes: &Nodes<F>) -> OverheadAirtime {
        let obss = self.obss.senders().map(|node| nodes.counters(node).airtime);
        let obss = obss.fold(Airtime::ZERO, |sum, airtime| sum + airtime);
        OverheadAirtime { management: self.airtime, groups: self.groups, obss }
    }

    /// Measured airtime of networks of others.
    pub(crate) fn neighbours(&self, nodes: &Nodes<F>) -> Span {
        self.obss.senders().map(|node| nodes.counters(node).measured.sent).sum()
    }

    /// A packet comes to a node: gives it back where it is not to be kept for stations that sleep.
    pub(crate) fn keep(&mut self, mac: &mut Mac<F>, now: Instant, from: NodeId, mpdu: Mpdu<F>) -> Option<Mpdu<F>> {
        self.sleepers.keep(mac, now, from, mpdu)
    }

    /// A station has left, and what is kept for it is lost.
    pub(crate) fn forget(&mut self, now: Instant, station: NodeId, events: &mut VecDeque<Event<F>>) {
        self.sleepers.forget(now, station, events);
    }

    /// Handles feedback and does all that is due at `at`. The EDCAFs that have got work by it are put into `started`.
    #[inline(never)]
    pub(crate) fn run(&mut self, mac: &mut Mac<F>, at: Instant) -> &[u32] {
        self.started.clear();
        while let Some(feedback) = mac.feedback.pop() {
            self.handle_feedback(mac, &feedback);
        }
        while let Some(task) = self.timers.take_due(at) {
            let ctx = &mut context(&mut self.timers, &mut self.started, mac, at);
            match task {
                Task::Beacon(point) => {
                    if self.beacons.send(ctx, NodeId(point)) {
                        self.sleepers.send_groups(ctx, NodeId(point));
                    }
                }
                Task::Doze(station) => self.sleepers.consider_sleep(ctx, station),
                Task::Obss(source) => self.obss.send(ctx, source),
            }
        }
        mac.feedback.due = self.timers.next();
        &self.started
    }

    fn handle_feedback(&mut self, mac: &mut Mac<F>, feedback: &Feedback) {
        let &Feedback { at, from, to, own, airtime, received } = feedback;
        let ctx = &mut context(&mut self.timers, &mut self.started, mac, at);
        match own {
            None => {
                if to == To::Broadcast {
                    self.groups += airtime;
                }
                self.sleepers.note_activity(ctx, from, to);
            }
            Some(Own::Obss) => {}
            Some(Own::Null { sleeps }) => {
                self.airtime += airtime;
                self.sleepers.note_null(ctx, feedback, sleeps);
            }
            Some(Own::Beacon(number)) => {
                self.airtime += airtime;
                self.beacons.note_sent(from);
                if received {
                    self.sleepers.wake_for(ctx, from, number.into());
                }
            }
        }
    }
}

/// What the parts of management traffic work with.
fn context<'a, F>(
    timers: &'a mut Timers,
    started: &'a mut Vec<u32>,
    mac: &'a mut Mac<F>,
    at: Instant,
) -> Context<'a, F> {
    let lowest_rate = mac.config.phy.lowest_basic();
    Context { at, nodes: &mut mac.nodes, events: &mut mac.events, timers, started, lowest_rate }
}
