//! Power saving by stations that switch the standard's power management on and off with their traffic (IEEE Std
//! 802.11-2016, 11.2.3). A station sleeps after some time without traffic, and announces that with a null frame. From then
//! on the access point buffers its packets. The station wakes at every n-th beacon. If that indicates buffered packets, or
//! once the station has something to send, it announces that it is awake, and gets all buffered packets.
//!
//! While one of its stations sleeps, the access point buffers packets to groups, too, until right after the next beacon
//! that announces them (DTIM).
//!
//! Buffer limits, and the drop of the oldest packet, are those of Linux (`net/mac80211/ieee80211_i.h`:
//! `STA_MAX_TX_BUFFER`, `AP_MAX_BC_BUFFER`).
//!
//! Simplified:
//! - A station knows whether the access point has more packets for it, and stays awake meanwhile; really it would learn
//!   that from the "More Data" bit.
//! - The frame in service when a station announces that it sleeps is still received.
//! - Null frames are as long as an empty packet, eight bytes too long. No PS-Poll, no U-APSD: a station that wakes stays
//!   awake.
//! - Sleeping stations receive group frames, too: each wakes for the beacons that announce them.

use alloc::collections::{BTreeMap, VecDeque};

use evenair_units::{Bytes, Instant, Span};
use evenair_wifi::PhyRate;

use super::tasks::{Context, Task};
use crate::counters::QueueState;
use crate::feedback::Feedback;
use crate::frame::{Carried, DropReason, Event, Mpdu, NodeId, Own, Queued, To, dropped, lost};
use crate::mac::Mac;

/// Maximum number of packets that an access point buffers for a sleeping station.
const KEPT_FOR_STATION: usize = 64;
/// Maximum number of packets that it buffers for groups.
const KEPT_FOR_GROUPS: usize = 128;

/// Power saving of a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerSave {
    /// Listen interval: it wakes at every n-th beacon; one or more.
    pub listen_interval: u32,
    /// How long it stays awake without traffic.
    pub stays_awake: Span,
}

/// A station that saves power.
#[derive(Debug)]
pub(crate) struct Sleeper<F> {
    access_point: NodeId,
    how: PowerSave,
    /// Rate of its null frames.
    rate: PhyRate,
    state: State,
    /// Time of its last traffic.
    active: Instant,
    /// Packets that the access point buffers for it.
    kept: VecDeque<Queued<F>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Awake,
    /// It has a null frame to send, after which it sleeps.
    Retiring,
    Asleep,
    /// It is awake, and has not announced that yet.
    Waking,
}

impl<F> Sleeper<F> {
    /// Awake from `now` on. Its null frames use `rate` until a packet carries another.
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

    /// Whether the access point buffers its packets.
    fn is_kept_for(&self) -> bool {
        matches!(self.state, State::Asleep | State::Waking)
    }
}

/// State of an access point with beacons.
#[derive(Debug)]
struct AccessPoint<F> {
    /// Number of its stations that it considers asleep.
    asleep: u32,
    /// Group packets buffered until the next beacon that announces them.
    groups: VecDeque<Queued<F>>,
}

impl<F> AccessPoint<F> {
    /// Whether group packets are buffered.
    fn keeps_groups(&self) -> bool {
        self.asleep > 0 || !self.groups.is_empty()
    }
}

/// All power-saving stations, and their access points.
#[derive(Debug)]
pub(super) struct PowerSaving<F> {
    sleepers: BTreeMap<u32, Sleeper<F>>,
    points: BTreeMap<u32, AccessPoint<F>>,
}

impl<F> PowerSaving<F> {
    pub(super) const fn new() -> Self {
        Self { sleepers: BTreeMap::new(), points: BTreeMap::new() }
    }

    /// Adds an access point with beacons.
    pub(super) fn add_access_point(&mut self, id: NodeId) {
        self.points.insert(id.0, AccessPoint { asleep: 0, groups: VecDeque::new() });
    }

    /// Starts power saving of a station.
    pub(super) fn add(&mut self, station: NodeId, sleeper: Sleeper<F>) {
        self.sleepers.insert(station.0, sleeper);
    }

    /// Packets that an access point buffers for sleeping stations and for groups, outside of its queues.
    pub(super) fn kept(&self, access_point: NodeId) -> QueueState {
        let sleepers = self.sleepers.values().filter(|sleeper| sleeper.access_point == access_point);
        let kept = sleepers.flat_map(|sleeper| &sleeper.kept);
        let groups = self.points.get(&access_point.0).into_iter().flat_map(|point| &point.groups);
        let one = |queued: &Queued<F>| QueueState { packets: 1, bytes: queued.mpdu.msdu };
        kept.chain(groups).map(one).sum()
    }

    /// Buffers a packet for a sleeping station or a group; returns it if it need not be buffered.
    pub(super) fn keep(&mut self, mac: &mut Mac<F>, now: Instant, from: NodeId, mpdu: Mpdu<F>) -> Option<Mpdu<F>> {
        let (kept, limit) = match mpdu.to {
            // Packets buffered earlier go first.
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

    /// Queues the buffered group packets behind the beacon that announces them.
    pub(super) fn send_groups(&mut self, ctx: &mut Context<'_, F>, access_point: NodeId) {
        let Some(point) = self.points.get_mut(&access_point.0) else { return };
        for queued in core::mem::take(&mut point.groups) {
            ctx.send_first(access_point, Queued { enqueued: ctx.at, ..queued });
        }
    }

    /// A packet was received: its sender is awake, and the idle time of its receiver starts again.
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

    /// Lets a station go to sleep if it may; otherwise sets a timer.
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

    /// A beacon of the access point was received: sleeping stations whose listen interval ends and that have buffered
    /// packets wake up.
    pub(super) fn wake_for(&mut self, ctx: &mut Context<'_, F>, access_point: NodeId, number: u64) {
        for (&id, sleeper) in &mut self.sleepers {
            // The phase of a station's listen interval depends on when it joined: here, on its number.
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

    /// A null frame was received or dropped.
    pub(super) fn note_null(&mut self, ctx: &mut Context<'_, F>, feedback: &Feedback, sleeps: bool) {
        let from = feedback.from;
        let Some(sleeper) = self.sleepers.get_mut(&from.0) else { return };
        match (sleeps, feedback.received, sleeper.state) {
            (true, true, State::Retiring) => self.falls_asleep(ctx, from),
            (true, false, State::Retiring) => self.is_awake(ctx, from),
            (false, true, _) => self.is_awake(ctx, from),
            // It tries again after its listen interval.
            (false, false, State::Waking) => sleeper.state = State::Asleep,
            _ => {}
        }
    }

    /// The station sleeps: the access point moves its queued packets to the buffer.
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

    /// The access point learns that a station is awake, and queues its buffered packets.
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

    /// Drops the packets buffered for a station that has left.
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

/// The MPDU of a buffered frame, if it is a packet.
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
