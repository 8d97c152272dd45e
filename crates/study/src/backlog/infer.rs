//! Infers the backlog states from frames.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use evenair_packet::MacAddr;

use super::acks::{Made, made};
use super::capture::{AirFrame, AirKind, Packet, Why};
use super::events::Events;
use super::flow::{Flow, flow};
use super::idle::Idle;
use super::standing::{Standing, Waited};
use super::successes::{Success, successes};
use super::timeline::{Since, Timeline};
use super::{Inferred, Unread};

/// An ACK that comes later than this after its data was sent by a timer: delayed ACKs wait for 40 ms or more.
const TIMER: Duration = Duration::from_millis(30);
/// Longest time that the ACK of a timer waits for the medium; timers longer than the shortest one seen are not known.
const ACCESS: Duration = Duration::from_millis(20);

/// State of a node: a station, or the access point.
#[derive(Default)]
struct Node {
    /// Its last own event.
    sent: Option<usize>,
    /// Events at which it received segments of a flow, which acknowledge its own data.
    acknowledged: BTreeMap<Flow, Vec<usize>>,
}

/// Results of a pass over all frames.
struct Found {
    timeline: Timeline,
    /// Number of ACKs sent by a timer, by their delay after the data in milliseconds.
    waits: BTreeMap<u128, u64>,
    /// Contention of frames since the previous one, by sender.
    waited: BTreeMap<MacAddr, Waited>,
    unresolved: u64,
}

/// The frames of two captures, with what was derived for each.
struct Frames<'a> {
    successes: Vec<Success<'a>>,
    events: Events,
    idle: Idle,
    /// Trigger of each frame.
    made: Vec<Option<Made>>,
}

/// Results of the first pass that the second one needs.
struct Known {
    /// Duration of the delayed-ACK timer.
    timer: Duration,
    /// Nodes that seem to have had each next frame queued when they sent the previous one.
    standing: BTreeSet<MacAddr>,
}

pub(super) fn infer(air: &[&AirFrame], wire: &[(Duration, Packet)]) -> Inferred {
    let idle = Idle::of(air);
    let successes = successes(air, wire, &idle);
    let events = Events::of(&successes);
    let made = made(&successes, &events);
    let frames = Frames { successes, events, idle, made };
    let Found { waits, waited, .. } = frames.walk(None);
    // Most timers have the same duration, and most ACKs get the medium soon.
    let most = waits.values().copied().max().unwrap_or(0);
    let usual = waits.into_iter().find(|&(_, times)| 4 * times >= most);
    let timer = usual.map_or(TIMER, |(ms, _)| Duration::from_millis(ms as u64));
    let standing = Standing::of(waited);
    let Found { timeline, unresolved, .. } = frames.walk(Some(&Known { timer, standing: standing.nodes() }));
    let states = timeline.states(&standing);
    Inferred {
        chain: states.chain,
        between: states.mean,
        frames: frames.successes.len() as u64,
        lost: frames.successes.iter().filter(|success| success.lost).count() as u64,
        unresolved,
        unread: unread(air),
        wired: frames.successes.iter().filter(|success| success.wired.is_some()).count() as u64,
        thinned: Vec::new(),
        cuts: Vec::new(),
    }
}

/// Data frames, without retransmissions, of which only sender and number can be read.
fn unread(air: &[&AirFrame]) -> Unread {
    let mut unread = Unread::default();
    for frame in air {
        let AirKind::Data(data) = &frame.kind else { continue };
        match data.packet {
            _ if data.retry => {}
            Err(Why::Encrypted) => unread.encrypted += 1,
            Err(Why::Cut) => unread.cut += 1,
            Err(Why::Format) => unread.format += 1,
            Ok(_) => {}
        }
    }
    unread
}

impl Frames<'_> {
    /// One pass over all frames. The second pass has the results of the first in `known`.
    fn walk(&self, known: Option<&Known>) -> Found {
        let mut nodes: BTreeMap<MacAddr, Node> = BTreeMap::new();
        let timeline = Timeline::new(self.events.count());
        let mut found = Found { timeline, waits: BTreeMap::new(), waited: BTreeMap::new(), unresolved: 0 };
        for (index, success) in self.successes.iter().enumerate() {
            let now = self.events.of[index];
            let node = nodes.entry(success.from).or_default();
            let is_standing = known.is_some_and(|known| known.standing.contains(&success.from));
            let since = match (success.up, success.wired) {
                (true, _) => self.since(node, index, known, &mut found.waits),
                // Events before the packet reached the access point do not count.
                (false, Some(wired)) => Since::exactly(self.events.before(wired).min(now)),
                (false, None) => Since { earliest: after(node.sent), latest: now },
            };
            let mut since = self.bound(since, node, index, &mut found.waited);
            if is_standing && since.earliest < since.latest {
                since.latest = self.released(node, index).clamp(since.earliest, since.latest);
            }
            let is_known = is_standing || since.earliest == since.latest;
            found.unresolved += u64::from(!is_known || success.packet.is_none());
            node.sent = Some(now);
            if !success.up
                && let (Some(to), Some((flow, _))) = (success.to, success.packet.and_then(|packet| flow(&packet.meta)))
            {
                nodes.entry(to).or_default().acknowledged.entry(flow).or_default().push(now);
            }
            found.timeline.add(success.from, since, now);
        }
        found
    }

    /// Narrows by idle slots since when a node has held a frame for which there is no other evidence.
    fn bound(&self, since: Since, node: &Node, index: usize, waited: &mut BTreeMap<MacAddr, Waited>) -> Since {
        let now = self.events.of[index];
        let Some(contention) = &self.events.contention[now] else { return since };
        let after = node.sent.map_or(Duration::ZERO, |sent| self.events.ended[sent]);
        let is_exact = since.earliest == since.latest && node.sent != now.checked_sub(1);
        if node.sent.is_some() && !is_exact {
            let slots = self.idle.slots_since(after, contention);
            waited.entry(self.successes[index].from).or_default().add(slots, contention);
        }
        let Some(begin) = self.idle.earliest(contention, after) else { return since };
        let earliest = self.events.ended_before(begin).max(since.earliest).min(since.latest);
        Since { earliest, ..since }
    }

    /// Latest event from which an always backlogged station can have held a TCP segment: an ACK that it received opened the window.
    fn released(&self, station: &Node, index: usize) -> usize {
        let success = &self.successes[index];
        let now = self.events.of[index];
        let Some(((from, to, source, target), _)) = success.packet.and_then(|packet| flow(&packet.meta)) else {
            return now;
        };
        let Some(events) = station.acknowledged.get(&(to, from, target, source)) else { return now };
        let last = events.iter().rev().find(|&&event| self.events.at[event] <= success.began);
        after(station.sent).max(after(last.copied()))
    }

    /// Since when a station has held the frame that it now delivers.
    fn since(&self, station: &Node, index: usize, known: Option<&Known>, waits: &mut BTreeMap<u128, u64>) -> Since {
        let now = self.events.of[index];
        let unknown = |earliest: usize| Since { earliest: earliest.min(now), latest: now };
        let Some(Made::By(made)) = self.made[index] else { return unknown(after(station.sent)) };
        let wait = self.successes[index].began.saturating_sub(self.events.at[made]);
        if wait < TIMER {
            // The frame joined the queue behind others.
            return Since::exactly(after(station.sent).max(made + 1).min(now));
        }
        *waits.entry(wait.as_millis()).or_default() += 1;
        match known.map(|known| known.timer).filter(|&timer| (timer..timer + ACCESS).contains(&wait)) {
            Some(timer) => {
                let sent = self.events.until(self.events.at[made] + timer);
                Since::exactly(after(station.sent).max(sent).min(now))
            }
            None => unknown(after(station.sent).max(made + 1)),
        }
    }
}

/// The event after the given one; the first event without one.
fn after(event: Option<usize>) -> usize {
    event.map_or(0, |event| event + 1)
}
