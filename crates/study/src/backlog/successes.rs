//! The received frames, in the order of time: captured ones, and those that the capture lost.
//!
//! A frame that the monitor missed shows as a gap in its sender's sequence numbers. `lost` reconstructs it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use evenair_packet::MacAddr;

use super::capture::{AirFrame, AirKind, Data, NO_TID, Number, Packet, Sender};
use super::idle::{Contention, Idle, category};
use super::lost::{Orphans, Wire, fill};

/// Largest gap in sequence numbers that is attributed to missed frames; beyond it the counter has restarted.
const MAX_MISSING: u16 = 256;
/// Number of sequence numbers: they have twelve bits.
const NUMBERS: u16 = 4096;

/// A frame when it is received for the first time.
pub(super) struct Success<'a> {
    /// Approximate end of the frame.
    pub(super) at: Duration,
    /// Start of its first decodable attempt.
    pub(super) began: Duration,
    pub(super) from: MacAddr,
    /// Whether it goes from a station to its access point.
    pub(super) up: bool,
    /// Its packet; unknown for some frames that the capture lost.
    pub(super) packet: Option<&'a Packet>,
    /// Its receiver, if known.
    pub(super) to: Option<MacAddr>,
    /// When it passed the wire, if it did.
    pub(super) wired: Option<Duration>,
    /// Whether the capture lacks it.
    pub(super) lost: bool,
    /// When it was acknowledged, by the monitor's clock.
    pub(super) ended: Duration,
    /// Its first contention, if its first attempt was captured.
    pub(super) contention: Option<Contention>,
}

/// A sequence number counter: sender, receiver (if it counts per receiver), traffic identifier.
pub(super) type Counter = (MacAddr, Option<MacAddr>, u8);

/// A frame in the capture that was received for the first time.
pub(super) struct Heard<'a> {
    pub(super) at: Duration,
    pub(super) began: Duration,
    pub(super) to: MacAddr,
    pub(super) data: &'a Data,
    /// Index of its packet on the wire, if it was found there.
    pub(super) wired: Option<usize>,
    ended: Duration,
    /// Start of its first attempt, or of the RTS before it, by the monitor's clock.
    first: Option<Duration>,
}

/// Missing sequence numbers of a counter between two captured frames.
pub(super) struct Gap {
    pub(super) counter: Counter,
    pub(super) missing: Missing,
    /// Indices of the captured frames before and after it.
    pub(super) between: (usize, usize),
}

/// Numbers of missing frames.
#[derive(Clone, Copy, Default)]
pub(super) struct Missing {
    /// Frames of which nothing was captured.
    pub(super) unheard: usize,
    /// Frames of which only undecodable attempts were captured.
    pub(super) failed: usize,
}

/// State of a counter.
struct Counted {
    last: u16,
    /// The last captured frame that may have been received.
    heard: Option<usize>,
    /// What is missing since then.
    missing: Missing,
    /// Recently captured numbers: MPDUs of A-MPDUs are retransmitted after later ones.
    known: BTreeSet<u16>,
}

/// First pass over an air capture.
#[derive(Default)]
struct Sight<'a> {
    heard: Vec<Heard<'a>>,
    gaps: Vec<Gap>,
    /// Orphaned ACKs (their frame is missing), by the frame's sender.
    orphans: Orphans,
    counters: BTreeMap<Counter, Counted>,
    /// Numbers of undecodable attempts since the last decodable one, with the start of the first, unless that was a retry.
    failed: BTreeMap<Counter, BTreeMap<u16, Option<Duration>>>,
    /// The first RTS of each sender since its last frame.
    requests: BTreeMap<MacAddr, Duration>,
}

/// The received frames, in the order of time, each once. `wire` must be in the order of time.
pub(super) fn successes<'a>(air: &[&'a AirFrame], wire: &'a [(Duration, Packet)], idle: &Idle) -> Vec<Success<'a>> {
    let mut sight = Sight::default();
    sight.look(air);
    let Sight { mut heard, mut gaps, mut orphans, .. } = sight;
    let mut wire = Wire::new(wire, heard.iter().map(|heard| heard.to));
    heard.iter_mut().for_each(|heard| heard.wired = wire.find(heard));
    let several = categories(&heard);
    let mut out: Vec<_> = heard.iter().map(|heard| heard.success(&wire, idle, &several)).collect();
    // Gaps that add up to more frames than the capture has are no evidence of losses.
    let mut left = heard.len();
    gaps.sort_by_key(|gap| gap.missing.unheard + gap.missing.failed);
    for gap in &gaps {
        let Some(rest) = left.checked_sub(gap.missing.unheard + gap.missing.failed) else { break };
        left = rest;
        out.extend(fill(gap, &heard, &mut orphans, &mut wire));
    }
    out.sort_by_key(|success| success.at);
    out
}

impl<'a> Sight<'a> {
    fn look(&mut self, air: &[&'a AirFrame]) {
        // The sender whose frame the next ACK may acknowledge.
        let mut sender = None;
        for (index, &frame) in air.iter().enumerate() {
            let (from, number) = match &frame.kind {
                AirKind::Ack => {
                    if sender.take() != Some(frame.to) {
                        self.orphans.entry(frame.to).or_default().insert(frame.at);
                    }
                    continue;
                }
                AirKind::Bad { sender: Sender { from, number }, retry } => {
                    if let Some(number) = number {
                        let failed = self.failed.entry(counter(*from, frame.to, *number)).or_default();
                        failed.entry(number.sequence).or_insert((!retry).then_some(frame.begins));
                    }
                    continue;
                }
                AirKind::Rts(from) => {
                    self.requests.entry(*from).or_insert(frame.begins);
                    continue;
                }
                AirKind::Control => continue,
                AirKind::BlockAck => {
                    sender = None;
                    continue;
                }
                AirKind::Data(data) => (data.from, Some(data.number)),
                AirKind::Other(Sender { from, number }) => (*from, *number),
            };
            sender = Some(from);
            let is_retry = matches!(&frame.kind, AirKind::Data(data) if data.retry);
            let first = self.first_attempt(frame, from, number, is_retry);
            let is_new =
                number.is_some_and(|number| self.count(counter(from, frame.to, number), number.sequence, is_retry));
            let is_group = frame.to.0[0] & 1 != 0;
            if let AirKind::Data(data) = &frame.kind
                && is_new
                && !is_group
            {
                self.hear(frame, first, data, &air[index + 1..]);
            }
        }
    }

    /// Start of the first contention of a sender for a frame.
    fn first_attempt(&self, frame: &AirFrame, from: MacAddr, number: Option<Number>, retry: bool) -> Option<Duration> {
        let failed = |number: Number| self.failed.get(&counter(from, frame.to, number))?.get(&number.sequence).copied();
        let first = number.and_then(failed);
        let request = self.requests.get(&from).copied();
        match (first, retry) {
            (Some(first), _) => first.map(|first| request.map_or(first, |request| request.min(first))),
            (None, true) => None,
            (None, false) => Some(request.unwrap_or(frame.begins)),
        }
    }

    /// Records a number. Returns whether it is new.
    fn count(&mut self, counter: Counter, sequence: u16, is_retry: bool) -> bool {
        let Some(counted) = self.counters.get_mut(&counter) else {
            self.failed.remove(&counter);
            let known = BTreeSet::from([sequence]);
            self.counters.insert(counter, Counted { last: sequence, heard: None, missing: Missing::default(), known });
            return true;
        };
        let behind = |number: u16| (counted.last + NUMBERS - number) % NUMBERS;
        if is_retry && (1..MAX_MISSING).contains(&behind(sequence)) {
            return counted.known.insert(sequence);
        }
        let failed = self.failed.remove(&counter).unwrap_or_default();
        counted.known.retain(|&number| behind(number) < MAX_MISSING);
        counted.known.insert(sequence);
        let last = std::mem::replace(&mut counted.last, sequence);
        let missing = (sequence + 2 * NUMBERS - last - 1) % NUMBERS;
        if missing <= MAX_MISSING {
            let failed = (1..=missing).filter(|more| failed.contains_key(&((last + more) % NUMBERS))).count();
            counted.missing.failed += failed;
            counted.missing.unheard += usize::from(missing) - failed;
        }
        sequence != last
    }

    /// Adds a new data frame with the start of its first attempt; `next`: the frames that follow it.
    fn hear(&mut self, frame: &AirFrame, attempt: Option<Duration>, data: &'a Data, next: &[&AirFrame]) {
        self.requests.remove(&data.from);
        // Its ACK begins SIFS after its end; before a BlockAck come the other MPDUs.
        let next = next.iter().find(|next| !matches!(next.kind, AirKind::Bad { .. }) && next.begins != frame.begins);
        let is_answer =
            |next: &&&AirFrame| matches!(next.kind, AirKind::Ack | AirKind::BlockAck) && next.to == data.from;
        let ack = next.filter(is_answer);
        let (at, ended) = ack.map_or((frame.at, frame.begins), |ack| (ack.at, ack.begins));
        let here = self.heard.len();
        let counter = counter(data.from, frame.to, data.number);
        let Some(counted) = self.counters.get_mut(&counter) else { return };
        let missing = std::mem::take(&mut counted.missing);
        // A duplicate, whose sender missed the ACK, unless another frame can have been acknowledged.
        let last = counted.heard.map(|before| self.heard[before].at);
        let first = last.filter(|_| data.retry && missing.unheard + missing.failed == 0).and_then(|last| {
            let acks = self.orphans.get_mut(&data.from)?;
            let first = acks.range(last..frame.at).next().copied()?;
            acks.remove(&first).then_some(first)
        });
        // Then the time of its first attempt is unknown.
        let attempt = attempt.filter(|_| first.is_none());
        let (at, began) = first.map_or((at, frame.at), |first| (first, first));
        self.heard.push(Heard { at, began, to: frame.to, data, wired: None, ended, first: attempt });
        if let Some(before) = counted.heard.replace(here)
            && missing.unheard + missing.failed > 0
        {
            self.gaps.push(Gap { counter, missing, between: (before, here) });
        }
    }
}

fn counter(from: MacAddr, to: MacAddr, number: Number) -> Counter {
    (from, (number.tid != NO_TID).then_some(to), number.tid)
}

/// Senders that use more than one access category.
fn categories(heard: &[Heard<'_>]) -> BTreeSet<MacAddr> {
    let mut used: BTreeMap<MacAddr, BTreeSet<_>> = BTreeMap::new();
    heard.iter().for_each(|heard| {
        used.entry(heard.data.from).or_default().insert(category(heard.data.number.tid));
    });
    used.into_iter().filter(|(_, used)| used.len() > 1).map(|(from, _)| from).collect()
}

impl<'a> Heard<'a> {
    fn success(&self, wire: &Wire<'_>, idle: &Idle, several: &BTreeSet<MacAddr>) -> Success<'a> {
        let Data { from, up, packet, number, .. } = self.data;
        let contention = self.first.and_then(|begins| idle.contention(begins, *number, several.contains(from)));
        Success {
            at: self.at,
            began: self.began,
            from: *from,
            up: *up,
            packet: packet.as_ref().ok(),
            to: Some(self.to),
            wired: self.wired.map(|index| wire.packets[index].0),
            lost: false,
            ended: self.ended,
            contention,
        }
    }
}

#[cfg(test)]
mod tests {
    use evenair_packet::{Port, parse};

    use super::*;

    const STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const ACCESS_POINT: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn packet(start: u64) -> Packet {
        let ethernet = [&ACCESS_POINT.0[..], &STATION.0, &[8, 0]].concat();
        Packet { meta: parse(Port::Wire, &ethernet), start }
    }

    /// A station's data frame with this sequence number.
    fn data(at: u64, sequence: u16, retry: bool) -> AirFrame {
        let number = Number { sequence, tid: NO_TID };
        let packet = Ok(packet(u64::from(sequence)));
        let data = Data { from: STATION, up: true, retry, number, packet };
        frame(at, ACCESS_POINT, AirKind::Data(Box::new(data)))
    }

    fn frame(at: u64, to: MacAddr, kind: AirKind) -> AirFrame {
        AirFrame { at: ms(at), begins: ms(at), busy: None, dsss: false, to, kind }
    }

    fn ack(at: u64) -> AirFrame {
        frame(at, STATION, AirKind::Ack)
    }

    fn found(air: &[AirFrame], wire: &[(Duration, Packet)]) -> Vec<(Duration, Option<u64>, bool)> {
        let air: Vec<_> = air.iter().collect();
        let successes = successes(&air, wire, &Idle::of(&air));
        successes.iter().map(|success| (success.at, success.packet.map(|packet| packet.start), success.lost)).collect()
    }

    #[test]
    fn a_missing_number_with_an_ack_is_a_frame_that_was_not_heard() {
        let air = [data(1, 4095, false), ack(2), ack(5), data(8, 1, false), ack(9)];
        let wire = [(ms(3), packet(4095)), (ms(6), packet(0)), (ms(10), packet(1))];
        let expected = [(ms(2), Some(4095), false), (ms(5), Some(0), true), (ms(9), Some(1), false)];
        assert_eq!(found(&air, &wire), expected);
        // Neither an ACK nor the wire proves that it was received.
        let air = [data(1, 4095, false), ack(2), data(8, 1, false), ack(9)];
        assert_eq!(found(&air, &[wire[0].clone(), wire[2].clone()]), [expected[0], expected[2]]);
    }

    #[test]
    fn retransmitted_mpdus_count_once() {
        let air = [data(1, 4094, false), data(1, 4095, false), data(1, 1, false)];
        let again = [data(3, 4095, true), data(3, 0, true), data(3, 2, false), data(5, 0, true), data(5, 3, false)];
        let found = found(&[&air[..], &again].concat(), &[]);
        let numbers: Vec<_> =
            found.into_iter().filter(|&(.., lost)| !lost).map(|(at, packet, _)| (at, packet)).collect();
        let expected = [(1, 4094), (1, 4095), (1, 1), (3, 0), (3, 2), (5, 3)];
        assert_eq!(numbers, expected.map(|(at, number)| (ms(at), Some(number))));
    }

    #[test]
    fn a_retry_after_an_ack_was_received_before() {
        let air = [data(1, 7, false), ack(2), ack(5), data(8, 8, true), ack(9)];
        assert_eq!(found(&air, &[])[1], (ms(5), Some(8), false));
        // Its first attempts failed.
        let air = [data(1, 7, false), ack(2), data(8, 8, true), ack(9)];
        assert_eq!(found(&air, &[])[1], (ms(9), Some(8), false));
    }
}
