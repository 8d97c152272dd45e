//! ACK tracking: which packets from a station acknowledge which releases toward it.
//!
//! - DATA of a download are acknowledged by the ACK that covers them, or that selectively acknowledges them behind a
//!   hole (RFC 2018).
//! - An ACK of an upload is acknowledged by the first packet that echoes its timestamp (RFC 7323, 3): the station
//!   sent that packet after the ACK had arrived, for whatever reason.
//! - An ACK of an upload without timestamps has no acknowledgment. More DATA may be caused by it, by any ACK before
//!   it that is still in the access point, or by a growing window; when they were taken for acknowledgments, the
//!   access point's queue filled in one of six runs. Packets from such a connection only show how fast the medium is.
//!
//! A station that acknowledges DATA which it cannot have received, since they wait in the box or have not reached it yet, forges its ACKs:
//! after some of these no packet of its connection counts as an acknowledgment ([`Answers::is_forged`]).
//!
//! What is not here: other protocols than TCP; retransmissions, whose acknowledgment may belong to the original (Karn
//! and Partridge, 1987).

use alloc::collections::VecDeque;

use evenair_packet::{TcpFlags, TcpMeta};

use super::tcp::after;
use crate::pacer::marks::Mark;

/// Awaited acknowledgments of one kind for one flow, at most: a bound of memory, 24 bytes each. Of further releases only the last is
/// awaited.
const MOST: usize = 128;

/// ACKs of DATA that the station cannot have received, after which the flow's ACKs are ignored as forged. Fewer may be a retransmission
/// that crosses the ACK of packets that the bridge carried before the insertion.
const FORGED: u8 = 16;

/// The awaited acknowledgments of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    /// DATA, by the sequence number behind them.
    acks: VecDeque<(u32, Mark)>,
    /// ACKs, by their timestamp.
    echoes: VecDeque<(u32, Mark)>,
    /// The furthest DATA with an awaited ACK, the furthest timestamp, and the furthest acknowledgment of the wired side.
    furthest: Option<u32>,
    stamped: Option<u32>,
    acked_by_wire: Option<u32>,
    /// The furthest DATA that have come from the wire, the furthest that the station has acknowledged, and how often it has acknowledged
    /// DATA that it cannot have received.
    offered: Option<u32>,
    acked: Option<u32>,
    forged: u8,
    /// The newest release, and the newest that was acknowledged.
    released: Option<Mark>,
    acknowledged: Option<Mark>,
}

impl Answers {
    /// Whether an acknowledgment is due for a packet that is about to be released; `held`: more packets of its flow wait; `ratio_milli`:
    /// segments per ACK of the station, in thousandths.
    pub(crate) fn is_due(&self, tcp: &TcpMeta, held: bool, ratio_milli: u32) -> bool {
        // The receiver acknowledges after that many segments; a quarter of an ACK less is near enough.
        let acks = |segments: usize| (segments as u64 * 1_000 + 250) / u64::from(ratio_milli.max(1_000));
        let enough = acks(self.acks.len() + 1) > acks(self.acks.len());
        let answered = self.is_new_data(tcp) && (enough || tcp.payload.0 == 0);
        !tcp.flags.contains(TcpFlags::RST) && (answered || self.newly_covers(tcp) && self.tells(tcp, held))
    }

    /// Whether the station acknowledges DATA that it cannot have received.
    pub(crate) const fn is_forged(&self) -> bool {
        self.forged >= FORGED
    }

    /// Notes a packet from the wire that is to be held or released.
    pub(crate) fn note_offered(&mut self, tcp: &TcpMeta) {
        self.restart_on_syn(tcp);
        let end = tcp.seq_end();
        if tcp.payload.0 > 0 && self.offered.is_none_or(|offered| after(end, offered)) {
            let is_new = self.offered.replace(end).is_some();
            let forged = is_new && self.acked.is_some_and(|acked| !after(end, acked));
            self.forged = self.forged.saturating_add(forged.into());
        }
    }

    /// The newest release of the flow.
    pub(crate) const fn newest(&self) -> Option<Mark> {
        self.released
    }

    /// The oldest release with an acknowledgment due.
    pub(crate) fn oldest_due(&self) -> Option<Mark> {
        let of = |queue: &VecDeque<(u32, Mark)>| {
            let from = queue.partition_point(|&(_, mark)| Some(mark) <= self.acknowledged);
            queue.range(from..).map(|&(_, mark)| mark).find(|mark| mark.is_due())
        };
        of(&self.acks).into_iter().chain(of(&self.echoes)).min()
    }

    /// Notes a release.
    pub(crate) fn note_release(&mut self, tcp: &TcpMeta, mark: Mark) {
        self.restart_on_syn(tcp);
        self.released = Some(mark);
        if self.is_new_data(tcp) {
            self.furthest = Some(tcp.seq_end());
            push(&mut self.acks, tcp.seq_end().wrapping_sub(1), mark);
        }
        let echoed = tcp.timestamps.filter(|_| tcp.is_pure_ack());
        if let Some(stamps) = echoed
            && self.stamped.is_none_or(|stamped| after(stamps.value, stamped))
        {
            self.stamped = Some(stamps.value);
            push(&mut self.echoes, stamps.value.wrapping_sub(1), mark);
        }
        if tcp.flags.contains(TcpFlags::ACK) && self.acked_by_wire.is_none_or(|acked| after(tcp.ack, acked)) {
            self.acked_by_wire = Some(tcp.ack);
        }
    }

    /// Handles a packet from the station: returns the newest release that it acknowledges. Of selective acknowledgments only the first
    /// block counts.
    pub(crate) fn note_arrival(&mut self, tcp: &TcpMeta) -> Option<Mark> {
        self.restart_on_syn(tcp);
        let mut newest = None;
        if tcp.flags.contains(TcpFlags::ACK) {
            self.note_acked(tcp.ack);
        }
        if self.is_forged() {
            return None;
        }
        if tcp.flags.contains(TcpFlags::ACK) {
            newest = newest.max(pop(&mut self.acks, |end| after(tcp.ack, end)));
            if let Some(end) = tcp.sacked_to {
                let arrived = self.acks.partition_point(|(last, _)| after(end, *last));
                newest = newest.max(arrived.checked_sub(1).and_then(|at| self.acks.get(at)).map(|&(_, mark)| mark));
            }
        }
        if let Some(stamps) = tcp.timestamps.filter(|_| tcp.flags.contains(TcpFlags::ACK)) {
            newest = newest.max(pop(&mut self.echoes, |value| after(stamps.echo, value)));
        }
        self.acknowledged = self.acknowledged.max(newest);
        newest
    }

    /// Whether a packet was sent before the station had any release whose timestamp it is to echo.
    pub(crate) fn is_older(&self, tcp: &TcpMeta) -> bool {
        let echo = tcp.timestamps.filter(|_| tcp.flags.contains(TcpFlags::ACK)).map(|stamps| stamps.echo);
        echo.zip(self.echoes.front()).is_some_and(|(echo, &(value, _))| !after(echo, value))
    }

    /// Counts an acknowledgment of DATA that have come from the wire but are still held: the station cannot have them.
    fn note_acked(&mut self, ack: u32) {
        if let (Some(furthest), Some(offered)) = (self.furthest, self.offered) {
            let forged = after(ack, furthest) && !after(ack, offered);
            self.forged = self.forged.saturating_add(forged.into());
        }
        if self.acked.is_none_or(|acked| after(ack, acked)) {
            self.acked = Some(ack);
        }
    }

    /// Forgets all awaited acknowledgments.
    pub(crate) fn forget(&mut self) {
        self.acks.clear();
        self.echoes.clear();
        (self.released, self.acknowledged) = (None, None);
    }

    /// A SYN without ACK begins another connection between the same ports.
    fn restart_on_syn(&mut self, tcp: &TcpMeta) {
        if tcp.begins() {
            *self = Self { forged: self.forged, ..Self::default() };
        }
    }

    /// Whether it carries DATA that were not released before.
    fn is_new_data(&self, tcp: &TcpMeta) -> bool {
        tcp.seq_end() != tcp.seq && self.furthest.is_none_or(|furthest| after(tcp.seq_end(), furthest))
    }

    /// Whether it acknowledges more than the ACKs before, to which a sender with more DATA reacts.
    fn newly_covers(&self, tcp: &TcpMeta) -> bool {
        tcp.flags.contains(TcpFlags::ACK) && self.acked_by_wire.is_some_and(|acked| after(tcp.ack, acked))
    }

    /// Whether a packet from the station can show that this ACK has arrived.
    fn tells(&self, tcp: &TcpMeta, held: bool) -> bool {
        let is_new = |value| self.stamped.is_none_or(|stamped| after(value, stamped));
        held && tcp.timestamps.is_some_and(|stamps| is_new(stamps.value))
    }
}

fn push(queue: &mut VecDeque<(u32, Mark)>, key: u32, mark: Mark) {
    if queue.len() == MOST {
        queue.pop_back();
    }
    queue.push_back((key, mark));
}

/// Removes all acknowledged entries, oldest first, and returns the newest of them.
fn pop(queue: &mut VecDeque<(u32, Mark)>, answered: impl Fn(u32) -> bool) -> Option<Mark> {
    let count = queue.iter().take_while(|(key, _)| answered(*key)).count();
    queue.drain(..count).next_back().map(|(_, mark)| mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::tcp::tests::segment;
    use crate::pacer::marks::Release;
    use crate::pacer::standing::Standing;
    use evenair_packet::Timestamps;
    use evenair_units::{Instant, Span};

    fn stamped(value: u32, echo: u32, tcp: TcpMeta) -> TcpMeta {
        TcpMeta { timestamps: Some(Timestamps { value, echo }), ..tcp }
    }

    /// Releases these packets, and returns their marks.
    fn release(answers: &mut Answers, packets: &[TcpMeta]) -> alloc::vec::Vec<Mark> {
        let mut standing = Standing::new(1, Instant::ZERO);
        let mut note = |tcp: &TcpMeta| {
            let airtime = Span::from_millis(1);
            let packet = Release {
                unanswerable: false,
                airtime,
                for_data: Span::ZERO,
                is_sure: false,
                managed: true,
                due: true,
                previous: None,
                station: None,
            };
            let mark = standing.release(Instant::ZERO, packet, None);
            answers.note_release(tcp, mark);
            mark
        };
        packets.iter().map(&mut note).collect()
    }

    #[test]
    fn an_ack_acknowledges_the_data_that_it_covers() {
        let mut answers = Answers::default();
        let data: alloc::vec::Vec<_> = (0..4).map(|k| segment(1 + k * 100, 1, 100)).collect();
        let marks = release(&mut answers, &data);
        assert_eq!(answers.note_arrival(&segment(1, 1, 0)), None);
        assert_eq!(answers.note_arrival(&segment(1, 250, 0)), Some(marks[1]));
        let missing = TcpMeta { sacked_to: Some(401), ..segment(1, 250, 0) };
        assert_eq!(answers.note_arrival(&missing), Some(marks[3]), "the third is missing, one behind it has arrived");
        assert!(!answers.is_due(&data[2], true, 2_000), "its answer may be that of the original");
    }

    #[test]
    fn acks_of_what_the_box_holds_or_has_not_seen_are_forged() {
        let data = |k: u32| segment(1 + k * 100, 1, 100);
        for ahead in [1, 50] {
            let mut answers = Answers::default();
            for k in 0..=u32::from(FORGED) {
                assert!(!answers.is_forged());
                answers.note_offered(&data(2 * k));
                release(&mut answers, &[data(2 * k)]);
                answers.note_offered(&data(2 * k + 1));
                answers.note_arrival(&segment(1, 1 + (2 * k + 1 + ahead) * 100, 0));
                if answers.is_forged() {
                    break;
                }
            }
            assert!(answers.is_forged(), "{ahead} segments ahead");
            let last = data(200);
            release(&mut answers, core::slice::from_ref(&last));
            assert_eq!(answers.note_arrival(&segment(1, last.seq_end(), 0)), None);
        }
        // The canary: each segment is released before it is acknowledged.
        let mut answers = Answers::default();
        for k in 0..1_000 {
            answers.note_offered(&data(k));
            release(&mut answers, &[data(k)]);
            answers.note_arrival(&segment(1, data(k).seq_end(), 0));
        }
        assert!(!answers.is_forged());
    }

    #[test]
    fn every_second_segment_is_due_where_the_receiver_acknowledges_so() {
        let mut answers = Answers::default();
        let data = |k: u32| segment(1 + k * 100, 1, 100);
        assert!(!answers.is_due(&data(0), true, 2_000));
        assert!(answers.is_due(&data(0), true, 1_000));
        release(&mut answers, &[data(0)]);
        assert!(answers.is_due(&data(1), true, 2_000));
        assert!(!answers.is_due(&data(1), true, 8_000), "a receiver that joins segments");
    }

    #[test]
    fn the_echo_of_a_timestamp_acknowledges_the_ack_that_carried_it() {
        let mut answers = Answers::default();
        let acks: alloc::vec::Vec<_> = (0..3).map(|k| stamped(50 + k / 2, 0, segment(1, 1 + k * 200, 0))).collect();
        let marks = release(&mut answers, &acks);
        assert_eq!(answers.note_arrival(&stamped(9, 49, segment(1, 1, 100))), None);
        assert_eq!(
            answers.note_arrival(&stamped(9, 50, segment(101, 1, 100))),
            Some(marks[0]),
            "the first of two alike"
        );
        assert_eq!(answers.note_arrival(&stamped(9, 50, segment(201, 1, 100))), None, "nothing new");
        assert_eq!(answers.note_arrival(&stamped(9, 51, segment(301, 1, 100))), Some(marks[2]));
    }

    #[test]
    fn without_timestamps_data_acknowledge_no_ack() {
        let mut answers = Answers::default();
        (0..3).for_each(|k| _ = answers.note_arrival(&segment(1 + k * 100, 1, 100)));
        release(&mut answers, &[segment(1, 1, 0)]);
        assert!(!answers.is_due(&segment(1, 101, 0), true, 2_000));
        release(&mut answers, &[segment(1, 101, 0), segment(1, 301, 0)]);
        assert_eq!(answers.note_arrival(&segment(301, 1, 100)), None);
        let both = segment(1, 301, 100);
        assert!(answers.is_due(&both, true, 1_000), "the DATA are acknowledged");
        let marks = release(&mut answers, &[both]);
        assert_eq!(answers.note_arrival(&segment(401, 101, 100)), Some(marks[0]));
    }
}
