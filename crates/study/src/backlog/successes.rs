//! The frames that were received, in the order of time: those in the capture, and those that it lost.
//!
//! That the monitor did not hear a frame shows in its sender's sequence numbers: a number is missing. `lost` says what it
//! was.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use evenair_packet::MacAddr;

use super::capture::{AirFrame, AirKind, Data, NO_TID, Number, Packet, Sender};
use super::idle::{Contention, Idle, category};
use super::lost::{Orphans, Wire, fill};

/// More numbers than this are not missing because the monitor heard nothing, but because the counter began anew.
const MAX_MISSING: u16 = 256;
/// Sequence numbers are of twelve bits.
const NUMBERS: u16 = 4096;

/// A frame that was received, for the first time.
pub(super) struct Success<'a> {
    /// About its end.
    pub(super) at: Duration,
    /// When its first attempt that could be decoded began.
    pub(super) began: Duration,
    pub(super) from: MacAddr,
    /// From a station to its access point.
    pub(super) up: bool,
    /// What it carried: not known of some that the capture lost.
    pub(super) packet: Option<&'a Packet>,
    /// Its receiver, where that is known.
    pub(super) to: Option<MacAddr>,
    /// When it passed the wire, if it did.
    pub(super) wired: Option<Duration>,
    /// It is not in the capture.
    pub(super) lost: bool,
    /// When it was answered by the monitor's clock.
    pub(super) ended: Duration,
    /// Its first attempt, where that was heard.
    pub(super) contention: Option<Contention>,
}

/// Whose sequence numbers: sender, receiver if they count for one, traffic identifier.
pub(super) type Counter = (MacAddr, Option<MacAddr>, u8);

/// A frame in the capture that was received for the first time.
pub(super) struct Heard<'a> {
    pub(super) at: Duration,
    pub(super) began: Duration,
    pub(super) to: MacAddr,
    pub(super) data: &'a Data,
    /// Place on the wire, if it was found there.
    pub(super) wired: Option<usize>,
    ended: Duration,
    /// The beginning of its first attempt, or of the RTS before it, by the monitor's clock.
    first: Option<Duration>,
}

/// Numbers of a counter that are missing between two frames in the capture.
pub(super) struct Gap {
    pub(super) counter: Counter,
    pub(super) missing: Missing,
    /// The frames before and after it, of those that were heard.
    pub(super) between: (usize, usize),
}

/// How many numbers are missing.
#[derive(Clone, Copy, Default)]
pub(super) struct Missing {
    /// Nothing was heard of so many.
    pub(super) unheard: usize,
    /// Only attempts that their receiver could not decode of so many.
    pub(super) failed: usize,
}

/// How far a counter has come.
struct Counted {
    last: u16,
    /// The last frame that was heard and may have been received.
    heard: Option<usize>,
    /// What is missing since then.
    missing: Missing,
    /// Numbers that were heard, of the last ones: MPDUs of A-MPDUs are repeated after others.
    known: BTreeSet<u16>,
}

/// What a capture on the air says at first sight.
#[derive(Default)]
struct Sight<'a> {
    heard: Vec<Heard<'a>>,
    gaps: Vec<Gap>,
    /// ACKs whose frame is missing, by its sender.
    orphans: Orphans,
    counters: BTreeMap<Counter, Counted>,
    /// Numbers of attempts that their receiver could not decode, since the last one that it could: the beginning of the first
    /// one, if that was no retry.
    failed: BTreeMap<Counter, BTreeMap<u16, Option<Duration>>>,
    /// The first request to send of each sender since its last frame.
    requests: BTreeMap<MacAddr, Duration>,
}

/// The frames that were received, in the order of time, each once. Packets on the wire are in the order of time.
pub(super) fn successes<'a>(air: &[&'a AirFrame], wire: &'a [(Duration, Packet)], idle: &Idle) -> Vec<Success<'a>> {
    let mut sight = Sight::default();
    sight.look(air);
    let Sight { mut heard, mut gaps, mut orphans, .. } = sight;
    let mut wire = Wire::new(wire, heard.iter().map(|heard| heard.to));
    heard.iter_mut().for_each(|heard| heard.wired = wire.find(heard));
    let several = categories(&heard);
    let mut out: Vec<_> = heard.iter().map(|heard| heard.success(&wire, idle, &several)).collect();
    // A capture that lost more than it has says nothing of what it lost.
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
        // Who may be sent an ACK now.
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

    /// When a sender first tried to get the medium for a frame.
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

    /// Notes a number, and says whether it is a new one.
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

    /// A frame that is new, with the beginning of its first attempt, and those that follow it.
    fn hear(&mut self, frame: &AirFrame, attempt: Option<Duration>, data: &'a Data, next: &[&AirFrame]) {
        self.requests.remove(&data.from);
        // Its ACK begins SIFS after its end; before a BlockAck are the other MPDUs.
        let next = next.iter().find(|next| !matches!(next.kind, AirKind::Bad { .. }) && next.begins != frame.begins);
        let is_answer =
            |next: &&&AirFrame| matches!(next.kind, AirKind::Ack | AirKind::BlockAck) && next.to == data.from;
        let ack = next.filter(is_answer);
        let (at, ended) = ack.map_or((frame.at, frame.begins), |ack| (ack.at, ack.begins));
        let here = self.heard.len();
        let counter = counter(data.from, frame.to, data.number);
        let Some(counted) = self.counters.get_mut(&counter) else { return };
        let missing = std::mem::take(&mut counted.missing);
        // It was received before, and its sender did not hear the ACK, if no other frame can have been acknowledged.
        let last = counted.heard.map(|before| self.heard[before].at);
        let first = last.filter(|_| data.retry && missing.unheard + missing.failed == 0).and_then(|last| {
            let acks = self.orphans.get_mut(&data.from)?;
            let first = acks.range(last..frame.at).next().copied()?;
            acks.remove(&first).then_some(first)
        });
        // Then it is not known when it was first sent.
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

    /// The station's frame with a number.
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
        // Neither its ACK nor the wire says that it was received.
        let air = [data(1, 4095, false), ack(2), data(8, 1, false), ack(9)];
        assert_eq!(found(&air, &[wire[0].clone(), wire[2].clone()]), [expected[0], expected[2]]);
    }

    #[test]
    fn what_an_a_mpdu_repeats_counts_once() {
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
