//! From frames to states.

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

/// An acknowledgment that waited longer was sent by a timer: delayed ones wait for 40 ms or more.
const TIMER: Duration = Duration::from_millis(30);
/// Longer than one that a timer sends waits for the medium; a timer that was longer than the shortest one seen is not
/// known.
const ACCESS: Duration = Duration::from_millis(20);

/// What is known of a node: a station, or the access point.
#[derive(Default)]
struct Node {
    /// Its last own event.
    sent: Option<usize>,
    /// Events at which it received segments of a flow, which acknowledge what it sends itself.
    acknowledged: BTreeMap<Flow, Vec<usize>>,
}

/// What is found by going through all frames.
struct Found {
    timeline: Timeline,
    /// Acknowledgments that a timer sent, by how many milliseconds they came after the data.
    waits: BTreeMap<u128, u64>,
    /// How long frames contended since the one before, by sender.
    waited: BTreeMap<MacAddr, Waited>,
    unresolved: u64,
}

/// The frames of two captures, and what is known of all of them.
struct Frames<'a> {
    successes: Vec<Success<'a>>,
    events: Events,
    idle: Idle,
    /// What made each frame.
    made: Vec<Option<Made>>,
}

/// What is known only after all frames have been looked at.
struct Known {
    /// How long after data an acknowledgment is sent by itself.
    timer: Duration,
    /// Nodes that had each next frame when they sent the one before, as far as can be seen.
    standing: BTreeSet<MacAddr>,
}

pub(super) fn infer(air: &[&AirFrame], wire: &[(Duration, Packet)]) -> Inferred {
    let idle = Idle::of(air);
    let successes = successes(air, wire, &idle);
    let events = Events::of(&successes);
    let made = made(&successes, &events);
    let frames = Frames { successes, events, idle, made };
    let Found { waits, waited, .. } = frames.walk(None);
    // Most timers run equally long, and most acknowledgments get the medium soon.
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

/// Data frames, repeated ones not counted, of which only sender and number can be read.
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
    /// Goes through all frames.
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
                // Those events before it came to the access point are over.
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

    /// Bounds by idle slots since when a node has held a frame of which nothing else says it.
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

    /// The latest event from which a station can have held a segment of TCP, if it always has something to send: the window lets data
    /// go when it receives an acknowledgment.
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
            // It came to those that were waiting.
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

/// The first event after one, or of all.
fn after(event: Option<usize>) -> usize {
    event.map_or(0, |event| event + 1)
}
