//! From frames to states.

use std::collections::BTreeMap;
use std::time::Duration;

use evenair_medium::BacklogChain;
use evenair_packet::{MacAddr, PacketMeta, TcpFlags};

use super::Inferred;
use super::capture::{AirFrame, Packet};
use super::flow::{Flow, end, flow};
use super::successes::{Success, successes};

/// An acknowledgment that waited longer was sent by a timer: delayed ones wait for 40 ms or more.
const TIMER: Duration = Duration::from_millis(30);
/// Longer than one that a timer sends waits for the medium; a timer that was longer than the shortest one seen is not
/// known.
const ACCESS: Duration = Duration::from_millis(20);

/// The success after which a node was backlogged until its own.
enum Since {
    Success(usize),
    /// After this one at the earliest.
    Unknown(Option<usize>),
}

/// Data of a flow that a station received: the number after its last byte, and which success it was.
#[derive(Default)]
struct Received {
    segments: Vec<(u32, usize)>,
    /// The number that was acknowledged last.
    acknowledged: Option<u32>,
    /// So many of them have been acknowledged, or caused a duplicate acknowledgment.
    answered: usize,
}

/// What is known of a station.
#[derive(Default)]
struct Station {
    /// The last success whose receiver is not known: it may have been this station.
    unseen: Option<usize>,
    /// Its last own success, and the last one that it received.
    sent: Option<usize>,
    received: Vec<usize>,
    flows: BTreeMap<Flow, Received>,
}

/// What made a station's TCP send an acknowledgment.
enum Made {
    /// The receipt of this success.
    By(usize),
    /// The receipt of data that nobody saw.
    Unseen,
    /// A timer, so long after the receipt of this success or a little less.
    Late(usize, Duration),
}

pub(super) fn infer(air: &[&AirFrame], wire: &[(Duration, Packet)]) -> Inferred {
    let successes = successes(air, wire);
    let mut waits: BTreeMap<u128, u64> = BTreeMap::new();
    pass(&successes, &mut |_, wait| {
        *waits.entry(wait.as_millis()).or_default() += 1;
        None
    });
    // Most timers run equally long, and most acknowledgments get the medium soon.
    let most = waits.values().copied().max().unwrap_or(0);
    let usual = waits.into_iter().find(|&(_, times)| 4 * times >= most);
    let timer = usual.map_or(TIMER, |(ms, _)| Duration::from_millis(ms as u64));
    pass(&successes, &mut |index, wait| {
        let sent = successes[index].at + timer;
        (timer..timer + ACCESS).contains(&wait).then(|| successes.partition_point(|other| other.at <= sent) - 1)
    })
}

/// Goes through all successes. `late` says after which success an acknowledgment was made that a timer sent: of the
/// success whose receipt it acknowledges, and so much later than that.
fn pass(successes: &[Success<'_>], late: &mut dyn FnMut(usize, Duration) -> Option<usize>) -> Inferred {
    let mut stations: BTreeMap<MacAddr, Station> = BTreeMap::new();
    let mut timeline = Timeline::new(successes.len());
    let (mut lost, mut unresolved) = (0, 0);
    let mut unseen = None;
    for (now, success) in successes.iter().enumerate() {
        let since = if success.up {
            let station = stations.entry(success.from).or_default();
            station.unseen = unseen;
            let since = station.since(successes, success, late);
            station.sent = Some(now);
            since
        } else {
            match (success.to, success.packet) {
                (Some(to), Some(packet)) => stations.entry(to).or_default().receive(now, &packet.meta),
                _ => unseen = Some(now),
            }
            // Those that were received before it arrived at the access point.
            let before = success.wired.map(|at| successes.partition_point(|other| other.at < at));
            before.map_or(Since::Unknown(now.checked_sub(1)), |before| match before {
                0 => Since::Unknown(None),
                before => Since::Success(before - 1),
            })
        };
        lost += u64::from(success.lost);
        unresolved += u64::from(matches!(since, Since::Unknown(_)));
        timeline.add(success.from, since, now);
    }
    Inferred {
        chain: timeline.chain(),
        frames: successes.len() as u64,
        lost,
        unresolved,
        thinned: Vec::new(),
        cuts: Vec::new(),
    }
}

impl Station {
    /// It received a frame.
    fn receive(&mut self, now: usize, meta: &PacketMeta) {
        self.received.push(now);
        if let Some((flow, tcp)) = flow(meta)
            && end(tcp) != tcp.seq
        {
            self.flows.entry(flow).or_default().segments.push((end(tcp), now));
        }
    }

    /// Since when it has held the frame that it now delivers.
    fn since(
        &mut self,
        successes: &[Success<'_>],
        success: &Success<'_>,
        late: &mut dyn FnMut(usize, Duration) -> Option<usize>,
    ) -> Since {
        let made = match self.made(successes, success) {
            Some(Made::By(made)) => Some(made),
            Some(Made::Unseen) => return Since::Unknown(self.sent),
            Some(Made::Late(data, wait)) => match late(data, wait) {
                Some(made) => Some(made),
                None => return Since::Unknown(self.sent.max(Some(data))),
            },
            None => None,
        };
        let last = self.received.iter().rev().find(|&&received| successes[received].at <= success.began).copied();
        let last = last.max(self.unseen);
        match (made, self.sent) {
            // It came to those that were waiting.
            (Some(made), Some(sent)) => Since::Success(made.max(sent)),
            (Some(made), None) => Since::Success(made),
            (None, Some(sent)) if last.is_none_or(|last| last < sent) => Since::Success(sent),
            (None, sent) => Since::Unknown(sent),
        }
    }

    /// What made its TCP send this acknowledgment.
    fn made(&mut self, successes: &[Success<'_>], success: &Success<'_>) -> Option<Made> {
        let ((from, to, source, target), tcp) = flow(&success.packet?.meta)?;
        if tcp.payload.0 > 0 || tcp.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0) != 0 {
            return None;
        }
        let received = self.flows.entry((to, from, target, source)).or_default();
        let before = received.acknowledged.replace(tcp.ack);
        let came = |&(_, index): &(u32, usize)| successes[index].at <= success.began;
        let segments = &received.segments;
        let acknowledged = segments.iter().rposition(|segment| segment.0 == tcp.ack && came(segment));
        let which = match acknowledged {
            Some(which) if which >= received.answered => which,
            None if before.is_some_and(|before| tcp.ack.wrapping_sub(before) as i32 > 0) => return Some(Made::Unseen),
            // A duplicate: the next one that came out of order.
            _ => Some(received.answered).filter(|&next| segments.get(next).is_some_and(came))?,
        };
        received.answered = which + 1;
        let made = received.segments[which].1;
        let wait = success.began.saturating_sub(successes[made].at);
        Some(if wait < TIMER { Made::By(made) } else { Made::Late(made, wait) })
    }
}

/// Who is backlogged at each success.
struct Timeline {
    /// For each node the spans of successes, first and last, in which it is.
    spans: BTreeMap<MacAddr, Vec<(usize, usize)>>,
    unknown: Vec<(usize, usize)>,
    successes: usize,
}

impl Timeline {
    fn new(successes: usize) -> Self {
        Self { spans: BTreeMap::new(), unknown: Vec::new(), successes }
    }

    fn add(&mut self, node: MacAddr, since: Since, until: usize) {
        let span = match since {
            Since::Success(since) => (since + 1).min(until),
            Since::Unknown(earliest) => {
                let earliest = earliest.map_or(0, |earliest| earliest + 1);
                self.unknown.extend((earliest < until).then(|| (earliest, until - 1)));
                until
            }
        };
        self.spans.entry(node).or_default().push((span, until));
    }

    fn chain(self) -> BacklogChain {
        let mut change = vec![0i64; self.successes + 1];
        for spans in self.spans.into_values() {
            // A node with several frames is one.
            let union = cover(spans);
            union.into_iter().for_each(|(from, to)| {
                change[from] += 1;
                change[to + 1] -= 1;
            });
        }
        let mut unknown = vec![false; self.successes];
        cover(self.unknown).into_iter().for_each(|(from, to)| unknown[from..=to].fill(true));
        let mut chain = BacklogChain::default();
        let mut state = 0;
        for (change, unknown) in change.into_iter().zip(unknown) {
            state += change;
            if unknown {
                chain.interrupt();
            } else {
                chain.push(state as u32);
            }
        }
        chain
    }
}

/// The same places in spans that do not overlap.
fn cover(mut spans: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    spans.sort_unstable();
    let mut out: Vec<(usize, usize)> = Vec::new();
    for (from, to) in spans {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_one_node_count_once_and_unknown_states_are_left_out() {
        assert_eq!(cover(vec![(3, 5), (0, 1), (4, 9), (1, 1)]), [(0, 1), (3, 9)]);
        let (a, b) = (MacAddr([1; 6]), MacAddr([2; 6]));
        let mut timeline = Timeline::new(6);
        timeline.add(a, Since::Unknown(None), 0);
        timeline.add(b, Since::Success(0), 2);
        timeline.add(a, Since::Success(0), 1);
        timeline.add(a, Since::Success(1), 3);
        timeline.add(b, Since::Unknown(Some(3)), 5);
        // States 1, 2, 2, 1, unknown, 1.
        let chain = timeline.chain();
        assert_eq!(chain.transitions().collect::<Vec<_>>(), [(1, 2, 1), (2, 1, 1), (2, 2, 1)]);
    }
}
