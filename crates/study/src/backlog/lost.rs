//! Frames that were received, and that the monitor missed.
//!
//! Gaps in the sender's sequence numbers give their maximum number, but some of those frames were given up and not received.
//! Received frames are those with an orphaned ACK, since the monitor seldom misses both; a station's frames whose packet
//! passed the wire; and the access point's frames whose packet TCP did not retransmit, unless attempts were captured that
//! their receiver could not decode.
//!
//! The ACK gives the time of the reception. The wire gives the packet: a station's packet passes it after the reception, and
//! the access point's have passed it in the order in which they are sent. If these are more packets than frames, the access
//! point dropped some, most likely those that TCP retransmitted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::time::Duration;

use evenair_packet::MacAddr;

use super::capture::Packet;
use super::flow::segment;
use super::successes::{Gap, Heard, Success};

/// Times of orphaned ACKs (their frame is missing), by the frame's sender.
pub(super) type Orphans = BTreeMap<MacAddr, BTreeSet<Duration>>;

/// Packets on the access point's wire, and which of them match frames.
pub(super) struct Wire<'a> {
    pub(super) packets: &'a [(Duration, Packet)],
    /// Indices of packets with the same hash that match no frame yet.
    places: BTreeMap<u64, VecDeque<usize>>,
    /// Whether each packet matches a frame.
    found: Vec<bool>,
    /// Whether TCP retransmits each packet later.
    again: Vec<bool>,
    /// Matched frames, by queue; those of an access point in the order in which its queue sent them.
    queues: BTreeMap<Queue, Vec<Sent>>,
    receivers: BTreeSet<MacAddr>,
}

/// Sender and traffic identifier.
type Queue = (MacAddr, u8);

/// A captured frame: the index of its packet, when it was received, and when it began.
struct Sent {
    place: usize,
    at: Duration,
    began: Duration,
}

impl<'a> Wire<'a> {
    /// From packets in the order of time, and all receivers of frames.
    pub(super) fn new(packets: &'a [(Duration, Packet)], receivers: impl Iterator<Item = MacAddr>) -> Self {
        let mut places: BTreeMap<u64, VecDeque<usize>> = BTreeMap::new();
        for (index, (_, packet)) in packets.iter().enumerate() {
            places.entry(packet.start).or_default().push_back(index);
        }
        let mut later = BTreeSet::new();
        let mut again: Vec<_> = packets
            .iter()
            .rev()
            .map(|(_, packet)| segment(&packet.meta).is_some_and(|segment| !later.insert(segment)))
            .collect();
        again.reverse();
        let found = vec![false; packets.len()];
        Self { packets, places, found, again, queues: BTreeMap::new(), receivers: receivers.collect() }
    }

    /// Index of the packet of the next frame, which it marks as matched.
    pub(super) fn find(&mut self, heard: &Heard<'_>) -> Option<usize> {
        let places = self.places.get_mut(&heard.data.packet.as_ref().ok()?.start)?;
        // The access point's queues are FIFO: a packet that arrived earlier and was not delivered was dropped, and
        // retransmitted.
        let queue = self.queues.entry((heard.data.from, heard.data.number.tid)).or_default();
        let last = queue.last().map_or(0, |sent| sent.place);
        while let Some(place) = places.pop_front() {
            if heard.data.up && self.packets[place].0 >= heard.began || !heard.data.up && place >= last {
                queue.push(Sent { place, at: heard.at, began: heard.began });
                self.found[place] = true;
                return Some(place);
            }
        }
        None
    }

    /// Indices of packets that may belong to the frames missing in a gap.
    fn candidates(&self, gap: &Gap, before: &Heard<'_>, after: &Heard<'_>) -> Vec<usize> {
        let place = |at: Duration| self.packets.partition_point(|packet| packet.0 <= at);
        let (sender, receiver, _) = gap.counter;
        if after.data.up {
            let range = place(before.began)..after.wired.unwrap_or(place(after.at));
            return range.filter(|&index| self.packets[index].1.meta.src == sender && !self.found[index]).collect();
        }
        let Some(before) = before.wired else { return Vec::new() };
        let range = before + 1..after.wired.unwrap_or(place(after.began));
        let fits = |to: MacAddr| receiver.map_or(self.receivers.contains(&to), |receiver| receiver == to);
        range.filter(|&index| fits(self.packets[index].1.meta.dst) && !self.found[index]).collect()
    }
}

impl Wire<'_> {
    /// Interval in which an access point sent these packets: within `range`, and between the frames before and after them in
    /// the FIFO queue.
    fn between(&self, queue: Queue, places: &[usize], range: Range<Duration>) -> Range<Duration> {
        let (Some(first), Some(last), Some(queue)) = (places.first(), places.last(), self.queues.get(&queue)) else {
            return range;
        };
        let earlier = queue[..queue.partition_point(|sent| sent.place < *first)].last();
        let later = queue.get(queue.partition_point(|sent| sent.place <= *last));
        let start = earlier.map_or(range.start, |sent| sent.at.max(range.start));
        start..later.map_or(range.end, |sent| sent.began.min(range.end))
    }

    /// How many of an access point's candidates were delivered, at most `unheard`: those that TCP did not retransmit.
    fn delivered(&self, candidates: &[usize], unheard: usize) -> usize {
        if candidates.is_empty() {
            // The packets came from elsewhere, or the wire capture lost some too.
            return unheard;
        }
        candidates.iter().filter(|&&index| !self.again[index]).count().min(unheard)
    }

    /// Keeps `count` of the candidates, preferably those that TCP did not retransmit, and marks them as matched.
    fn choose(&mut self, candidates: &mut Vec<usize>, count: usize) {
        let again = candidates.iter().filter(|&&index| self.again[index]).count();
        let mut dropped = candidates.len().saturating_sub(count).min(again);
        candidates.retain(|&index| {
            let is_dropped = dropped > 0 && self.again[index];
            dropped -= usize::from(is_dropped);
            !is_dropped
        });
        candidates.truncate(count);
        candidates.iter().for_each(|&index| self.found[index] = true);
    }
}

/// Reconstructs the frames missing in a gap.
pub(super) fn fill<'a>(gap: &Gap, heard: &[Heard<'_>], orphans: &mut Orphans, wire: &mut Wire<'a>) -> Vec<Success<'a>> {
    let (before, after) = (&heard[gap.between.0], &heard[gap.between.1]);
    let (sender, _, tid) = gap.counter;
    let up = after.data.up;
    let mut candidates = wire.candidates(gap, before, after);
    let acks = orphans.entry(sender).or_default();
    let between = before.at..after.began;
    let sent = if up { between.clone() } else { wire.between((sender, tid), &candidates, between.clone()) };
    let most = gap.missing.unheard + gap.missing.failed;
    let acked = within(acks, sent.clone()).take(most).count();
    let passed = if up { candidates.len() } else { wire.delivered(&candidates, gap.missing.unheard) };
    let count = acked.max(passed).min(most);
    wire.choose(&mut candidates, count);
    let times = if candidates.len() < count {
        spread(take(acks, sent.clone(), count), sent, count)
    } else if up && acked < count {
        candidates.iter().map(|&index| wire.packets[index].0).collect()
    } else {
        let each = candidates.iter().map(|&index| {
            let sent = if up { between.clone() } else { wire.between((sender, tid), &[index], between.clone()) };
            spread(take(acks, sent.clone(), 1), sent, 1)
        });
        each.flatten().collect()
    };
    let packet = |index: Option<&usize>| index.map(|&index| &wire.packets[index]);
    let packets = (0..count).map(|index| packet(candidates.get(index)));
    let lost = times.into_iter().zip(packets).map(|(at, packet)| Success {
        at,
        began: at,
        from: sender,
        up,
        packet: packet.map(|(_, packet)| packet),
        to: if up { Some(after.to) } else { packet.map(|(_, packet)| packet.meta.dst) },
        wired: packet.map(|&(passed, _)| passed),
        lost: true,
        ended: at,
        contention: None,
    });
    lost.collect()
}

/// The instants within a range.
fn within(all: &BTreeSet<Duration>, range: Range<Duration>) -> impl Iterator<Item = Duration> {
    let end = range.end.max(range.start);
    all.range(range.start..end).copied()
}

/// Removes up to `most` instants within a range, and returns them.
fn take(all: &mut BTreeSet<Duration>, between: Range<Duration>, most: usize) -> Vec<Duration> {
    let taken: Vec<_> = within(all, between).take(most).collect();
    taken.iter().for_each(|at| {
        all.remove(at);
    });
    taken
}

/// `count` instants: the known ones, and others evenly spread over a range.
fn spread(mut known: Vec<Duration>, range: Range<Duration>, count: usize) -> Vec<Duration> {
    let more = count.saturating_sub(known.len()) as u32;
    let step = range.end.saturating_sub(range.start) / (more + 1);
    known.extend((1..=more).map(|index| range.start + step * index));
    known.sort_unstable();
    known
}
