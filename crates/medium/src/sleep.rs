//! Stations that save power, as stations do that turn the standard's power management on and off with their traffic (IEEE
//! Std 802.11-2016, 11.2.3): a station sleeps once nothing has come or gone for some time, and says so with a null frame.
//! From then on the access point keeps what comes for it. It wakes at each so manieth beacon; if that says that something is
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

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use evenair_units::{Bytes, Instant, Span};
use evenair_wifi::PhyRate;

use crate::chores::Chore;
use crate::frame::{Carried, Own, Queued, dropped, lost};
use crate::{DropReason, Medium, Mpdu, NodeId, QueueState, To};

/// Packets that an access point keeps for a station that sleeps.
const KEPT_FOR_STATION: usize = 64;
/// Packets that it keeps for groups.
const KEPT_FOR_GROUPS: usize = 128;

/// How a station saves power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerSave {
    /// It wakes at each so manieth beacon; one or more.
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
    /// What comes for it is kept.
    fn is_kept_for(&self) -> bool {
        matches!(self.state, State::Asleep | State::Waking)
    }
}

impl<F> Medium<F> {
    /// From now on a station saves power, which is awake. Its access point sends beacons; its null frames go at this rate
    /// until a packet brings another.
    ///
    /// # Panics
    /// If the access point sends no beacons, or the listen interval is zero.
    pub fn save_power(&mut self, station: NodeId, access_point: NodeId, rate: PhyRate, how: PowerSave) {
        assert!(how.listen_interval > 0, "{how:?}");
        let chores = self.chores.as_mut().filter(|chores| chores.points.contains_key(&access_point.0));
        let chores = chores.expect("stations sleep from beacon to beacon");
        let (state, active) = (State::Awake, self.clock);
        let sleeper = Sleeper { access_point, how, rate, state, active, kept: VecDeque::new() };
        chores.sleepers.insert(station.0, sleeper);
        self.plan(active + how.stays_awake, Chore::Doze(station.0));
    }

    /// What an access point keeps for stations that sleep, and for groups, beside its queues.
    pub fn kept(&self, access_point: NodeId) -> QueueState {
        let Some(chores) = &self.chores else { return QueueState::default() };
        let sleepers = chores.sleepers.values().filter(|sleeper| sleeper.access_point == access_point);
        let kept = sleepers.flat_map(|sleeper| &sleeper.kept);
        let groups = chores.points.get(&access_point.0).into_iter().flat_map(|point| &point.groups);
        let one = |queued: &Queued<F>| QueueState { packets: 1, bytes: queued.mpdu.msdu };
        kept.chain(groups).map(one).sum()
    }

    /// A packet comes to a node: gives it back where it is not to be kept.
    pub(crate) fn meet_sleepers(&mut self, now: Instant, from: NodeId, mpdu: Mpdu<F>) -> Option<Mpdu<F>> {
        let chores = self.chores.as_mut()?;
        let (kept, limit) = match mpdu.to {
            // What is kept already goes first.
            To::Broadcast => match chores.points.get_mut(&from.0).filter(|point| point.keeps_groups()) {
                Some(point) => (&mut point.groups, KEPT_FOR_GROUPS),
                None => return Some(mpdu),
            },
            To::Node(to) => {
                if let Some(own) = chores.sleepers.get_mut(&from.0) {
                    (own.active, own.rate) = (now, mpdu.rate);
                }
                match chores.sleepers.get_mut(&to.0).filter(|sleeper| sleeper.is_kept_for()) {
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
            let function = self.nodes[from.0 as usize].function(oldest.mpdu.category);
            self.functions[function as usize].counters.buffer_drops += 1;
            self.events.extend(dropped(now, from, oldest.mpdu, DropReason::BufferFull));
        }
        None
    }

    /// A packet was received: who sent it is awake, and who got it.
    pub(crate) fn note_activity(&mut self, at: Instant, from: NodeId, to: To) {
        let Some(chores) = &mut self.chores else { return };
        if let To::Node(to) = to
            && let Some(sleeper) = chores.sleepers.get_mut(&to.0)
        {
            sleeper.active = at;
        }
        if chores.sleepers.contains_key(&from.0) {
            self.is_awake(at, from);
        }
    }

    /// Whether a station may go to sleep now.
    pub(crate) fn consider_sleep(&mut self, at: Instant, station: u32) {
        let Some(sleeper) = self.chores.as_mut().and_then(|chores| chores.sleepers.get_mut(&station)) else { return };
        if sleeper.state != State::Awake {
            return;
        }
        let (until, access_point, rate) =
            (sleeper.active + sleeper.how.stays_awake, sleeper.access_point, sleeper.rate);
        if until > at {
            return self.plan(until, Chore::Doze(station));
        }
        let id = NodeId(station);
        if self.has_frames(id) || self.has_for(access_point, id) {
            let again = at + self.sleeper(station).how.stays_awake;
            return self.plan(again, Chore::Doze(station));
        }
        self.sleeper(station).state = State::Retiring;
        self.send_null(at, id, access_point, rate, true);
    }

    /// Its access point's beacon was received: those wake whose turn it is, and stay awake for whom something is there.
    pub(crate) fn wake_for(&mut self, at: Instant, access_point: NodeId, number: u64) {
        let Some(chores) = &mut self.chores else { return };
        let is_awaited = |(id, sleeper): &(&u32, &mut Sleeper<F>)| {
            // Which of the beacons a station wakes for depends on when it came: here, on its number.
            let turn = (number + u64::from(**id)).is_multiple_of(u64::from(sleeper.how.listen_interval));
            sleeper.access_point == access_point && sleeper.state == State::Asleep && turn && !sleeper.kept.is_empty()
        };
        let wake = |(&id, sleeper): (&u32, &mut Sleeper<F>)| {
            sleeper.state = State::Waking;
            (id, sleeper.rate)
        };
        let woken: Vec<_> = chores.sleepers.iter_mut().filter(is_awaited).map(wake).collect();
        for (id, rate) in woken {
            self.send_null(at, NodeId(id), access_point, rate, false);
        }
    }

    /// A null frame was received, or given up.
    pub(crate) fn note_null(&mut self, at: Instant, from: NodeId, sleeps: bool, received: bool) {
        let Some(sleeper) = self.chores.as_mut().and_then(|chores| chores.sleepers.get_mut(&from.0)) else { return };
        match (sleeps, received, sleeper.state) {
            (true, true, State::Retiring) => self.falls_asleep(at, from),
            (true, false, State::Retiring) => self.is_awake(at, from),
            (false, true, _) => self.is_awake(at, from),
            // It tries again when its turn comes.
            (false, false, State::Waking) => sleeper.state = State::Asleep,
            _ => {}
        }
    }

    /// The access point takes back what it has in its queues.
    fn falls_asleep(&mut self, at: Instant, station: NodeId) {
        let sleeper = self.sleeper(station.0);
        sleeper.state = State::Asleep;
        let access_point = sleeper.access_point;
        let mut back = Vec::new();
        for number in self.nodes[access_point.0 as usize].functions() {
            back.extend(self.functions[number].take_waiting(station));
        }
        self.sleeper(station.0).kept.extend(back.into_iter().map(|queued| Queued { enqueued: at, ..queued }));
        if let Some(point) = self.chores.as_mut().and_then(|chores| chores.points.get_mut(&access_point.0)) {
            point.asleep += 1;
        }
    }

    /// The access point knows that a station is awake, and sends what it has kept.
    fn is_awake(&mut self, at: Instant, station: NodeId) {
        let sleeper = self.sleeper(station.0);
        sleeper.active = at;
        let was_kept_for = sleeper.is_kept_for();
        if sleeper.state == State::Awake {
            return;
        }
        sleeper.state = State::Awake;
        let (access_point, again) = (sleeper.access_point, at + sleeper.how.stays_awake);
        let kept = core::mem::take(&mut sleeper.kept);
        self.plan(again, Chore::Doze(station.0));
        if was_kept_for {
            self.is_not_asleep(access_point);
        }
        for Queued { mpdu: Mpdu { to, msdu, rate, category, frame }, .. } in kept {
            if let Carried::Packet(frame) = frame {
                self.accept(at, access_point, Mpdu { to, msdu, rate, category, frame });
            }
        }
    }

    fn is_not_asleep(&mut self, access_point: NodeId) {
        if let Some(point) = self.chores.as_mut().and_then(|chores| chores.points.get_mut(&access_point.0)) {
            point.asleep -= 1;
        }
    }

    /// A station has left, and what is kept for it is lost.
    pub(crate) fn forget_sleeper(&mut self, station: NodeId) {
        let Some(sleeper) = self.chores.as_mut().and_then(|chores| chores.sleepers.remove(&station.0)) else { return };
        if sleeper.is_kept_for() {
            self.is_not_asleep(sleeper.access_point);
        }
        for Queued { mpdu: Mpdu { to, msdu, rate, category, frame }, .. } in sleeper.kept {
            if let Carried::Packet(frame) = frame {
                let mpdu = Mpdu { to, msdu, rate, category, frame };
                self.events.push_back(lost(self.clock, sleeper.access_point, mpdu, DropReason::Left));
            }
        }
    }

    fn send_null(&mut self, at: Instant, station: NodeId, access_point: NodeId, rate: PhyRate, sleeps: bool) {
        let null = self.own(at, To::Node(access_point), Bytes::ZERO, Own::Null { sleeps });
        let mpdu = Mpdu { rate, ..null.mpdu };
        self.accept_own(at, station, Queued { mpdu, ..null });
    }

    fn has_frames(&self, id: NodeId) -> bool {
        self.functions[self.nodes[id.0 as usize].functions()].iter().any(|function| function.has_work())
    }

    fn has_for(&self, from: NodeId, to: NodeId) -> bool {
        self.functions[self.nodes[from.0 as usize].functions()].iter().any(|function| function.has_for(to))
    }

    fn sleeper(&mut self, station: u32) -> &mut Sleeper<F> {
        let sleepers = self.chores.as_mut().map(|chores| &mut chores.sleepers);
        sleepers.and_then(|sleepers| sleepers.get_mut(&station)).expect("it saves power")
    }
}
