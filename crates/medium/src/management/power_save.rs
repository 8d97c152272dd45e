//! Stations that save power, as stations do that turn the standard's power management on and off with their traffic (IEEE
//! Std 802.11-2016, 11.2.3): a station sleeps once nothing has come or gone for some time, and says so with a null frame.
//! From then on the access point keeps what comes for it. It wakes at every n-th beacon; if that says that something is
//! there for it, or once it has something to send itself, it says that it is awake, and gets all at once.
//!
//! While one of its stations sleeps the access point keeps packets to groups, too, until the next beacon that tells of
//! them (DTIM), right behind which they go.
//!
//! Sizes of what an access point keeps, and that the oldest gives way, are those of Linux (`net/mac80211/ieee80211_i.h`:
//! `STA_MAX_TX_BUFFER`, `AP_MAX_BC_BUFFER`).
//!
//! Simplified:
//! - A station knows whether the access point has something more for it, and stays awake as long; it would learn that from
//!   the bit "More Data".
//! - The frame that is in service when a station says that it sleeps is still received.
//! - Null frames are as long as an empty packet, eight bytes too long. No PS-Poll, no U-APSD: who wakes is awake.
//! - Groups reach sleeping stations, too: each wakes for the beacons that tell of them.

use alloc::collections::{BTreeMap, VecDeque};

use evenair_units::{Bytes, Instant, Span};
use evenair_wifi::PhyRate;

use super::tasks::{Context, Task};
use crate::counters::QueueState;
use crate::feedback::Feedback;
use crate::frame::{Carried, DropReason, Event, Mpdu, NodeId, Own, Queued, To, dropped, lost};
use crate::mac::Mac;

/// Packets that an access point keeps for a station that sleeps.
const KEPT_FOR_STATION: usize = 64;
/// Packets that it keeps for groups.
const KEPT_FOR_GROUPS: usize = 128;

/// How a station saves power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerSave {
    /// It wakes at every n-th beacon; one or more.
    pub listen_interval: u32,
    /// How long it stays awake when nothing comes or goes.
    pub stays_awake: Span,
}

/// A station that saves power.
#[derive(Debug)]
pub(crate) struct Sleeper<F> {
    access_point: NodeId,
    how: PowerSave,
    /// At which it sends null frames.
    rate: PhyRate,
    state: State,
    /// When something came or went last.
    active: Instant,
    /// What the access point keeps for it.
    kept: VecDeque<Queued<F>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Awake,
    /// It has a null frame to send, after which it will sleep.
    Retiring,
    Asleep,
    /// It is awake, and has yet to say so.
    Waking,
}

impl<F> Sleeper<F> {
    /// Awake from `now` on. Its null frames go at `rate` until a packet brings another.
    pub(crate) const fn new(now: Instant, access_point: NodeId, rate: PhyRate, how: PowerSave) -> Self {
        Self { access_point, how, rate, state: State::Awake, active: now, kept: VecDeque::new() }
    }

    pub(super) const fn access_point(&self) -> NodeId {
        self.access_point
    }

    /// When it may first go to sleep.
    pub(super) fn first_doze(&self) -> Instant {
        self.active + self.how.stays_awake
    }

    /// What comes for it is kept.
    fn is_kept_for(&self) -> bool {
        matches!(self.state, State::Asleep | State::Waking)
    }
}

/// What an access point with beacons knows of its stations' sleep.
#[derive(Debug)]
struct AccessPoint<F> {
    /// Its stations that it takes for asleep.
    asleep: u32,
    /// What it keeps for groups until the next beacon that tells of them.
    groups: VecDeque<Queued<F>>,
}

impl<F> AccessPoint<F> {
    /// Packets to groups have to wait.
    fn keeps_groups(&self) -> bool {
        self.asleep > 0 || !self.groups.is_empty()
    }
}

/// All stations that save power, and their access points.
#[derive(Debug)]
pub(super) struct PowerSaving<F> {
    sleepers: BTreeMap<u32, Sleeper<F>>,
    points: BTreeMap<u32, AccessPoint<F>>,
}

impl<F> PowerSaving<F> {
    pub(super) const fn new() -> Self {
        Self { sleepers: BTreeMap::new(), points: BTreeMap::new() }
    }

    /// An access point sends beacons.
    pub(super) fn add_access_point(&mut self, id: NodeId) {
        self.points.insert(id.0, AccessPoint { asleep: 0, groups: VecDeque::new() });
    }

    /// From now on a station saves power.
    pub(super) fn add(&mut self, station: NodeId, sleeper: Sleeper<F>) {
        self.sleepers.insert(station.0, sleeper);
    }

    /// What an access point keeps for stations that sleep, and for groups, beside its queues.
    pub(super) fn kept(&self, access_point: NodeId) -> QueueState {
        let sleepers = self.sleepers.values().filter(|sleeper| sleeper.access_point == access_point);
        let kept = sleepers.flat_map(|sleeper| &sleeper.kept);
        let groups = self.points.get(&access_point.0).into_iter().flat_map(|point| &point.groups);
        let one = |queued: &Queued<F>| QueueState { packets: 1, bytes: queued.mpdu.msdu };
        kept.chain(groups).map(one).sum()
    }

    /// A packet comes to a node: gives it back where it is not to be kept.
    pub(super) fn keep(&mut self, mac: &mut Mac<F>, now: Instant, from: NodeId, mpdu: Mpdu<F>) -> Option<Mpdu<F>> {
        let (kept, limit) = match mpdu.to {
            // What is kept already goes first.
            To::Broadcast => match self.points.get_mut(&from.0).filter(|point| point.keeps_groups()) {
                Some(point) => (&mut point.groups, KEPT_FOR_GROUPS),
                None => return Some(mpdu),
            },
            To::Node(to) => {
                if let Some(own) = self.sleepers.get_mut(&from.0) {
                    (own.active, own.rate) = (now, mpdu.rate);
                }
                match self.sleepers.get_mut(&to.0).filter(|sleeper| sleeper.is_kept_for()) {
                    Some(sleeper) => (&mut sleeper.kept, KEPT_FOR_STATION),
                    None => return Some(mpdu),
                }
            }
        };
        let Mpdu { to, msdu, rate, category, frame } = mpdu;
        let mpdu = Mpdu { to, msdu, rate, category, frame: Carried::Packet(frame) };
        kept.push_back(Queued { enqueued: now, mpdu });
        let oldest = if kept.len() > limit { kept.pop_front() } else { None };
        if let Some(oldest) = oldest {
            let edcaf = mac.nodes.edcaf_id(from.0, oldest.mpdu.category);
            mac.nodes.edcafs[edcaf as usize].counters.buffer_drops += 1;
            mac.events.extend(dropped(now, from, oldest.mpdu, DropReason::BufferFull));
        }
        None
    }

    /// A beacon that tells of group frames is on its way: those that were kept follow it.
    pub(super) fn send_groups(&mut self, ctx: &mut Context<'_, F>, access_point: NodeId) {
        let Some(point) = self.points.get_mut(&access_point.0) else { return };
        for queued in core::mem::take(&mut point.groups) {
            ctx.send_first(access_point, Queued { enqueued: ctx.at, ..queued });
        }
    }

    /// A packet was received: who sent it is awake, and who got it.
    pub(super) fn note_activity(&mut self, ctx: &mut Context<'_, F>, from: NodeId, to: To) {
        if let To::Node(to) = to
            && let Some(sleeper) = self.sleepers.get_mut(&to.0)
        {
            sleeper.active = ctx.at;
        }
        if self.sleepers.contains_key(&from.0) {
            self.is_awake(ctx, from);
        }
    }

    /// Whether a station may go to sleep now.
    pub(super) fn consider_sleep(&mut self, ctx: &mut Context<'_, F>, station: u32) {
        let Some(sleeper) = self.sleepers.get_mut(&station) else { return };
        if sleeper.state != State::Awake {
            return;
        }
        let (stays_awake, access_point) = (sleeper.how.stays_awake, sleeper.access_point);
        let until = sleeper.active + stays_awake;
        if until > ctx.at {
            return ctx.timers.schedule(until, Task::Doze(station));
        }
        let id = NodeId(station);
        if ctx.nodes.has_work(id) || ctx.nodes.has_for(access_point, id) {
            return ctx.timers.schedule(ctx.at + stays_awake, Task::Doze(station));
        }
        sleeper.state = State::Retiring;
        send_null(ctx, id, access_point, sleeper.rate, true);
    }

    /// Its access point's beacon was received: those wake whose turn it is, and stay awake for whom something is there.
    pub(super) fn wake_for(&mut self, ctx: &mut Context<'_, F>, access_point: NodeId, number: u64) {
        for (&id, sleeper) in &mut self.sleepers {
            // Which of the beacons a station wakes for depends on when it came: here, on its number.
            let turn = (number + u64::from(id)).is_multiple_of(u64::from(sleeper.how.listen_interval));
            if sleeper.access_point == access_point
                && sleeper.state == State::Asleep
                && turn
                && !sleeper.kept.is_empty()
            {
                sleeper.state = State::Waking;
                send_null(ctx, NodeId(id), access_point, sleeper.rate, false);
            }
        }
    }

    /// A null frame was received, or given up.
    pub(super) fn note_null(&mut self, ctx: &mut Context<'_, F>, feedback: &Feedback, sleeps: bool) {
        let from = feedback.from;
        let Some(sleeper) = self.sleepers.get_mut(&from.0) else { return };
        match (sleeps, feedback.received, sleeper.state) {
            (true, true, State::Retiring) => self.falls_asleep(ctx, from),
            (true, false, State::Retiring) => self.is_awake(ctx, from),
            (false, true, _) => self.is_awake(ctx, from),
            // It tries again when its turn comes.
            (false, false, State::Waking) => sleeper.state = State::Asleep,
            _ => {}
        }
    }

    /// The access point takes back what it has in its queues.
    fn falls_asleep(&mut self, ctx: &mut Context<'_, F>, station: NodeId) {
        let sleeper = self.sleeper(station);
        sleeper.state = State::Asleep;
        let access_point = sleeper.access_point;
        let back = ctx.nodes.take_waiting(access_point, station);
        sleeper.kept.extend(back.map(|queued| Queued { enqueued: ctx.at, ..queued }));
        if let Some(point) = self.points.get_mut(&access_point.0) {
            point.asleep += 1;
        }
    }

    /// The access point knows that a station is awake, and sends what it has kept.
    fn is_awake(&mut self, ctx: &mut Context<'_, F>, station: NodeId) {
        let sleeper = self.sleeper(station);
        sleeper.active = ctx.at;
        let was_kept_for = sleeper.is_kept_for();
        if sleeper.state == State::Awake {
            return;
        }
        sleeper.state = State::Awake;
        let (access_point, again) = (sleeper.access_point, ctx.at + sleeper.how.stays_awake);
        let kept = core::mem::take(&mut sleeper.kept);
        ctx.timers.schedule(again, Task::Doze(station.0));
        if was_kept_for {
            self.is_not_asleep(access_point);
        }
        for mpdu in kept.into_iter().filter_map(packet) {
            ctx.accept(access_point, mpdu);
        }
    }

    fn is_not_asleep(&mut self, access_point: NodeId) {
        if let Some(point) = self.points.get_mut(&access_point.0) {
            point.asleep -= 1;
        }
    }

    /// A station has left, and what is kept for it is lost.
    pub(super) fn forget(&mut self, now: Instant, station: NodeId, events: &mut VecDeque<Event<F>>) {
        let Some(sleeper) = self.sleepers.remove(&station.0) else { return };
        if sleeper.is_kept_for() {
            self.is_not_asleep(sleeper.access_point);
        }
        for mpdu in sleeper.kept.into_iter().filter_map(packet) {
            events.push_back(lost(now, sleeper.access_point, mpdu, DropReason::Left));
        }
    }

    fn sleeper(&mut self, station: NodeId) -> &mut Sleeper<F> {
        self.sleepers.get_mut(&station.0).expect("it saves power")
    }
}

/// What is kept, where it is a packet.
fn packet<F>(queued: Queued<F>) -> Option<Mpdu<F>> {
    let Mpdu { to, msdu, rate, category, frame } = queued.mpdu;
    let Carried::Packet(frame) = frame else { return None };
    Some(Mpdu { to, msdu, rate, category, frame })
}

fn send_null<F>(ctx: &mut Context<'_, F>, station: NodeId, access_point: NodeId, rate: PhyRate, sleeps: bool) {
    let null = ctx.own(To::Node(access_point), Bytes::ZERO, Own::Null { sleeps });
    let mpdu = Mpdu { rate, ..null.mpdu };
    ctx.send(station, Queued { mpdu, ..null });
}
