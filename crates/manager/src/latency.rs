//! Latency of packets on each leg of their way, by station and by policy class.
//!
//! Counts are cumulative: the difference of two states covers the time between them, and the sum over stations or shards covers them all,
//! so that percentiles of any interval and any group are right. There are four buckets to a doubling, from 0.5 ms to 8 s; a percentile is
//! interpolated within its bucket, and so accurate to a tenth of its value.
//!
//! The legs of the WLAN and of the Internet are round trips, measured on up to 16 packets of a flow at a time:
//! - WLAN: from the release of a segment to the ACK that covers it, and from the release of an ACK to a station that sends
//!   without pauses to the first segment that echoes its timestamp. This includes the wait in the station and the receiver's ACK delay.
//! - Internet: from DATA, a SYN or a first datagram that leaves by the wire to the acknowledgment or answer, and from an ACK to a server
//!   that sends without pauses to the first segment that echoes its timestamp.
//!
//! A retransmitted segment is not timed (Karn and Partridge, 1987). A SACK block (RFC 2018) ends the times of all segments up to its end:
//! they have arrived, or were lost and would not have been acknowledged earlier.

pub(crate) mod delays;
mod right_edges;

use alloc::collections::VecDeque;

use evenair_packet::TcpMeta;
use evenair_units::{Bytes, Instant, Span};

use crate::flows::tcp::after;
use delays::{class_of, end_of};
use right_edges::RightEdges;

/// Index, as of [`class_of`], of the class that ends with the first bucket, 0.5 ms.
const FIRST: usize = 35;
/// Number of buckets: up to 8.4 s; the last one has no end.
const BUCKETS: usize = 58;
const PER_DOUBLING: usize = 4;
/// Ends of the first bucket and of each fourth one after it: 0.512 ms, and its doublings to 8.4 s.
pub const DOUBLINGS: [Span; 15] = {
    let mut ends = [Span::from_micros(512); 15];
    let mut at = 1;
    while at < ends.len() {
        ends[at] = Span::from_micros(512 << at);
        at += 1;
    }
    ends
};
/// Time after which an unanswered packet is no longer timed.
pub(crate) const FORGOTTEN: Span = Span::from_secs(10);
/// Packets of a flow timed at once, at most: enough for tens a second at any latency.
const MOST: usize = 16;
/// A flow is thinned if this many timed packets took less than `BUSY_ROUND`: 250 to 500 a second remain, and more add no information.
const ROUND: u32 = 16;
const BUSY_ROUND: Span = Span::from_millis(32);
/// Thinning is relaxed if fewer than `ROUND` were timed within this time, and at most `FEW` are under way.
const SPARSE_ROUND: Span = Span::from_millis(128);
const FEW: usize = MOST / 4;
/// Most thinning: at least one packet in 2^16 is timed.
const MOST_THINNING: u32 = 16;
/// Segments in a row, of full size or up to the end of the receiver's window, after which a station is taken to send as soon as it may, so
/// that the echo of an ACK does not wait for its application.
const BACKLOGGED: u32 = 64;
/// Silence after which a server has paused, so that its next segment answers no ACK: the least retransmission timeout of Linux.
const PAUSE: Span = Span::from_millis(200);
/// Segments in a row after which a station's receiver windows are remembered.
const LONG: u32 = 8;

/// A leg of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// Held here for the WLAN.
    Box,
    /// Access point and air, to the station and back.
    Wlan,
    /// Held here for the Internet link.
    InternetQueue,
    /// Beyond the wire port, and back.
    Internet,
}

impl Leg {
    /// All legs, in the order of [`Latency`].
    pub const ALL: [Self; 4] = [Self::Box, Self::Wlan, Self::InternetQueue, Self::Internet];
}

/// A histogram of times, and their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    counts: [u32; BUCKETS],
    sum: Span,
}

impl Default for Times {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], sum: Span::ZERO }
    }
}

impl Times {
    fn note(&mut self, took: Span) {
        let bucket = class_of(took).saturating_sub(FIRST).min(BUCKETS - 1);
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.sum = together(self.sum, took);
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
        self.sum = together(self.sum, other.sum);
    }

    fn since(&self, before: &Self) -> Self {
        let counts = core::array::from_fn(|bucket| self.counts[bucket] - before.counts[bucket]);
        Self { counts, sum: self.sum.saturating_sub(before.sum) }
    }

    fn contains(&self, before: &Self) -> bool {
        self.sum >= before.sum && self.counts.iter().zip(before.counts).all(|(now, before)| *now >= before)
    }

    /// Packets by bucket: the first bucket ends with the first of [`DOUBLINGS`], each doubling has four, and the last has no end.
    pub const fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The sum of all times.
    pub const fn sum(&self) -> Span {
        self.sum
    }

    /// Packets by doublings of the time: those below each of [`DOUBLINGS`] and, but for the first, not below the one before; at the end
    /// the rest. Exact, since these times are ends of buckets.
    pub fn by_doubling(&self) -> [u64; DOUBLINGS.len() + 1] {
        let mut packets = [0; DOUBLINGS.len() + 1];
        let at = |bucket: usize| bucket.div_ceil(PER_DOUBLING);
        self.counts.iter().enumerate().for_each(|(bucket, &count)| packets[at(bucket)] += u64::from(count));
        packets
    }

    /// Number of packets timed.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// The time that this percentage of packets did not exceed; `None`: no packets.
    pub fn percentile(&self, percent: u64) -> Option<Span> {
        let wanted = (self.count() * percent).div_ceil(100);
        let mut before = 0;
        for (bucket, count) in self.counts.iter().map(|&count| u64::from(count)).enumerate() {
            if count > 0 && before + count >= wanted {
                let start = bucket.checked_sub(1).map_or(Span::ZERO, |below| end_of(FIRST + below));
                if bucket == BUCKETS - 1 {
                    return Some(start);
                }
                let width = end_of(FIRST + bucket) - start;
                // The middle of the packet's part of the bucket.
                return Some(start + width.mul_div(2 * (wanted - before).max(1) - 1, 2 * count));
            }
            before += count;
        }
        None
    }
}

/// The sum of two times, saturating at 584 years: where 16,000 packets wait all the time, 16,000 seconds are added in each second.
const fn together(a: Span, b: Span) -> Span {
    Span::from_nanos(a.as_nanos().saturating_add(b.as_nanos()))
}

/// Latency of packets, by leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency([Times; Leg::ALL.len()]);

impl Latency {
    pub(crate) fn note(&mut self, leg: Leg, took: Span) {
        self.0[leg as usize].note(took);
    }

    /// The histogram of a leg.
    pub const fn leg(&self, leg: Leg) -> &Times {
        &self.0[leg as usize]
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, times)| sum.add(times));
    }

    /// Its counts plus those of another.
    pub fn plus(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    /// The counts since an earlier state. Counts that have decreased were reset.
    pub fn since(&self, before: &Self) -> Self {
        let pairs = || self.0.iter().zip(&before.0);
        if pairs().all(|(now, before)| now.contains(before)) {
            Self(core::array::from_fn(|leg| self.0[leg].since(&before.0[leg])))
        } else {
            *self
        }
    }
}

/// The timed packets of one kind, by ascending keys.
///
/// One packet in a power of two is timed, chosen by a hash of the key, so that its position in a burst does not matter: the first packet
/// of an aggregate waits for less, and the first of two waits for the ACK of both.
#[derive(Clone, Debug, Default)]
struct Laps {
    /// The furthest key so far.
    furthest: Option<u32>,
    under_way: VecDeque<(u32, Instant)>,
    /// One packet in `2^thinning` is timed.
    thinning: u32,
    /// Packets timed in this round, and when the round began.
    timed: u32,
    round: Instant,
}

impl Laps {
    /// Starts timing a packet. False: its key is not a new one.
    fn begin(&mut self, now: Instant, key: u32) -> bool {
        if self.furthest.is_some_and(|furthest| !after(key, furthest)) {
            return false;
        }
        self.furthest = Some(key);
        let age = |lap: Option<&(u32, Instant)>| lap.map(|(_, since)| now.saturating_since(*since));
        if age(self.under_way.front()).is_some_and(|age| age >= FORGOTTEN) {
            self.under_way.clear();
        }
        if self.thinning > 0 && now.saturating_since(self.round) >= SPARSE_ROUND {
            self.thinning -= u32::from(self.under_way.len() <= FEW);
            (self.timed, self.round) = (0, now);
        }
        if is_chosen(key, self.thinning) {
            if self.under_way.len() == MOST {
                self.thin(now);
            }
            if self.under_way.len() < MOST && is_chosen(key, self.thinning) {
                self.under_way.push_back((key, now));
            }
        }
        true
    }

    /// Handles an answer to all keys up to this one: returns the time of the oldest timed one; to be called until `None`.
    fn end(&mut self, now: Instant, key: u32) -> Option<Span> {
        self.under_way.front().filter(|(begun, _)| !after(*begun, key))?;
        let (_, since) = self.under_way.pop_front()?;
        self.timed += 1;
        if self.timed == ROUND {
            if now.saturating_since(self.round) < BUSY_ROUND {
                self.thin(now);
            }
            (self.timed, self.round) = (0, now);
        }
        Some(now.saturating_since(since)).filter(|&took| took < FORGOTTEN)
    }

    /// Halves the share of timed packets from now on, also of those under way.
    fn thin(&mut self, now: Instant) {
        self.thinning = (self.thinning + 1).min(MOST_THINNING);
        let thinning = self.thinning;
        self.under_way.retain(|&(key, _)| is_chosen(key, thinning));
        (self.timed, self.round) = (0, now);
    }

    /// Stops timing a packet that was sent again, since it is unknown which copy is answered.
    fn forget(&mut self, key: u32) {
        self.under_way.retain(|&(begun, _)| begun != key);
    }
}

/// Whether a packet is timed where one in 2^`thinning` is.
const fn is_chosen(key: u32, thinning: u32) -> bool {
    // The finalizer of MurmurHash3 (Appleby, 2011), which leaves no trace of the arithmetic progression of sequence numbers.
    let key = (key ^ key >> 16).wrapping_mul(0x85eb_ca6b);
    let key = (key ^ key >> 13).wrapping_mul(0xc2b2_ae35);
    (key ^ key >> 16).trailing_zeros() >= thinning
}

/// The packets of a flow that are being timed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopwatch {
    /// Segments toward the station, and segments beyond the wire port, by their ends.
    data: Laps,
    beyond: Laps,
    /// ACKs of an upload, by timestamp. Later ACKs with the same timestamp are not timed.
    acks: Laps,
    /// ACKs of a download beyond the wire port, by timestamp.
    beyond_acks: Laps,
    server: Server,
    /// Segments of the upload in a row that are of full size or fill the receiver's window, and that size.
    in_a_row: u32,
    largest: Bytes,
    edges: RightEdges,
    /// Whether the station reports segments behind a gap (SACK).
    sacks: bool,
}

/// Whether the sender of a download sends as soon as an ACK allows it.
#[derive(Clone, Debug, Default)]
struct Server {
    /// Segments of full size in a row without a pause, and that size.
    in_a_row: u32,
    largest: Bytes,
    last: Instant,
}

impl Server {
    /// Notes a segment from the server. False: it has paused before, or may pause now.
    fn sends_on(&mut self, now: Instant, payload: Bytes) -> bool {
        let is_full = payload >= self.largest;
        let paused = now.saturating_since(self.last) >= PAUSE;
        (self.last, self.largest) = (now, self.largest.max(payload));
        self.in_a_row = if is_full && !paused { self.in_a_row.saturating_add(1) } else { 0 };
        is_full && !paused
    }
}

impl Stopwatch {
    /// A segment is released toward the station.
    pub(crate) fn release(&mut self, now: Instant, tcp: &TcpMeta) {
        if tcp.payload > Bytes::ZERO {
            if !self.data.begin(now, tcp.seq_end()) {
                self.resend(tcp);
            }
        } else if tcp.is_pure_ack() && (self.in_a_row >= LONG || self.edges.are_known()) {
            self.edges.note_ack(tcp);
            if let Some(stamps) = tcp.timestamps.filter(|_| self.in_a_row >= BACKLOGGED) {
                self.acks.begin(now, stamps.value);
            }
        }
    }

    /// Whether a segment with these DATA, or a later one, was released toward the station.
    pub(crate) fn has_released(&self, tcp: &TcpMeta) -> bool {
        self.data.furthest.is_some_and(|furthest| !after(tcp.seq_end(), furthest))
    }

    /// A segment toward the station is sent again. Without SACK the next ACK covers it and those behind it that have waited for it.
    fn resend(&mut self, tcp: &TcpMeta) {
        if self.sacks {
            self.data.forget(tcp.seq_end());
        } else {
            self.data.under_way.clear();
        }
    }

    /// Notes a segment from the station. A short one ends what its application has written, which may then pause, unless the receiver's
    /// window ends there.
    pub(crate) fn note_from_station(&mut self, tcp: &TcpMeta) {
        let is_data = tcp.payload > Bytes::ZERO;
        if tcp.payload >= self.largest || is_data && self.edges.end_at(tcp.seq_end()) {
            self.largest = self.largest.max(tcp.payload);
            self.in_a_row = self.in_a_row.saturating_add(u32::from(is_data));
        } else {
            self.in_a_row = 0;
            self.acks.under_way.clear();
        }
    }

    /// Handles a noted segment from the station: returns the time of one packet that it answers; to be called until `None`.
    pub(crate) fn come_from_station(&mut self, now: Instant, tcp: &TcpMeta) -> Option<Span> {
        let echo = tcp.timestamps.map(|stamps| stamps.echo);
        self.sacks |= tcp.sacked_to.is_some();
        let covered = tcp.sacked_to.filter(|&to| after(to, tcp.ack)).unwrap_or(tcp.ack);
        self.data.end(now, covered).or_else(|| self.acks.end(now, echo?))
    }

    /// DATA, or an ACK, leave by the wire.
    pub(crate) fn leave_by_wire(&mut self, now: Instant, tcp: &TcpMeta) {
        if tcp.payload > Bytes::ZERO {
            if !self.beyond.begin(now, tcp.seq_end()) {
                self.beyond.under_way.clear();
            }
        } else if self.server.in_a_row >= BACKLOGGED
            && let Some(stamps) = tcp.timestamps
        {
            self.beyond_acks.begin(now, stamps.value);
        }
    }

    /// A segment comes from the wire, to be followed by calls of [`Self::come_from_wire`].
    pub(crate) fn note_from_wire(&mut self, now: Instant, tcp: &TcpMeta) {
        if tcp.payload > Bytes::ZERO && !self.server.sends_on(now, tcp.payload) {
            self.beyond_acks.under_way.clear();
        }
    }

    /// Handles a noted segment from the wire: returns the time of one packet that it answers; to be called until `None`.
    pub(crate) fn come_from_wire(&mut self, now: Instant, tcp: &TcpMeta) -> Option<Span> {
        let echo = tcp.timestamps.filter(|_| tcp.payload > Bytes::ZERO).map(|stamps| stamps.echo);
        self.beyond.end(now, tcp.ack).or_else(|| self.beyond_acks.end(now, echo?))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use evenair_packet::Timestamps;

    use super::*;
    use crate::flows::tcp::tests::segment;

    #[test]
    fn percentiles_are_near_those_of_the_times() {
        for scale in [7, 100, 1_300] {
            let mut latency = Latency::default();
            (1..=1_000).for_each(|k| latency.note(Leg::Wlan, Span::from_micros(k * scale)));
            let times = latency.leg(Leg::Wlan);
            assert_eq!(times.count(), 1_000);
            for percent in [50, 95] {
                let (got, exact) = (times.percentile(percent).expect("some").as_micros(), percent * 10 * scale);
                assert!(got * 100 >= exact * 90 && got * 100 <= exact * 110, "{got} for {exact} us");
            }
        }
    }

    #[test]
    fn times_below_and_above_the_buckets_are_counted() {
        let mut latency = Latency::default();
        assert_eq!(latency.leg(Leg::Box).percentile(50), None);
        latency.note(Leg::Box, Span::ZERO);
        assert!(latency.leg(Leg::Box).percentile(50).expect("one") < Span::from_micros(512));
        latency.note(Leg::Internet, Span::from_secs(60));
        assert!(latency.leg(Leg::Internet).percentile(50).expect("one") > Span::from_secs(8));
        assert_eq!(latency.leg(Leg::Wlan).count(), 0);
    }

    #[test]
    fn doublings_and_sums_are_exact() {
        let mut latency = Latency::default();
        let just_below = |end: Span| end.saturating_sub(Span::from_micros(1));
        DOUBLINGS.iter().for_each(|&end| latency.note(Leg::Wlan, just_below(end)));
        let times = latency.leg(Leg::Wlan);
        assert_eq!(times.by_doubling(), core::array::from_fn(|at| u64::from(at < DOUBLINGS.len())));
        assert_eq!(times.sum(), DOUBLINGS.iter().fold(Span::ZERO, |sum, &end| sum + just_below(end)));
        let before = latency;
        DOUBLINGS.iter().for_each(|&end| latency.note(Leg::Wlan, end));
        let since = latency.since(&before);
        assert_eq!(since.leg(Leg::Wlan).by_doubling(), core::array::from_fn(|at| u64::from(at > 0)));
        assert_eq!(since.leg(Leg::Wlan).sum(), DOUBLINGS.iter().fold(Span::ZERO, |sum, &end| sum + end));
        assert_eq!(since.plus(&before), latency);
    }

    #[test]
    fn differences_are_of_the_interval_and_sums_of_all() {
        let mut latency = Latency::default();
        (0..100).for_each(|_| latency.note(Leg::Box, Span::from_millis(100)));
        let before = latency;
        (0..10).for_each(|_| latency.note(Leg::Box, Span::from_millis(10)));
        let interval = latency.since(&before);
        assert_eq!(interval.leg(Leg::Box).count(), 10);
        assert!(interval.leg(Leg::Box).percentile(95).expect("some") < Span::from_millis(12));
        let mut sum = interval;
        sum.add(&before);
        assert_eq!(sum, latency);
        assert_eq!(before.since(&latency), before, "one that was forgotten begins anew");
    }

    fn stamped(tcp: TcpMeta, value: u32, echo: u32) -> TcpMeta {
        TcpMeta { timestamps: Some(Timestamps { value, echo }), ..tcp }
    }

    #[test]
    fn segments_are_timed_to_the_ack_that_covers_them_unless_sent_again() {
        let mut watch = Stopwatch::default();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let data = |k: u32| segment(1 + k * 1_000, 1, 1_000);
        (0..3).for_each(|k| watch.release(at(u64::from(k) * 20), &data(k)));
        let ack = segment(1, 2_001, 0);
        assert_eq!(watch.come_from_station(at(50), &ack), Some(Span::from_millis(50)));
        assert_eq!(watch.come_from_station(at(50), &ack), Some(Span::from_millis(30)));
        assert_eq!(watch.come_from_station(at(50), &ack), None, "the third is not covered");
        watch.release(at(60), &data(2));
        assert_eq!(watch.come_from_station(at(70), &segment(1, 3_001, 0)), None, "it was sent twice");
    }

    #[test]
    fn a_gap_keeps_no_segment_behind_it_from_being_timed_where_sack_reports_them() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut watch = Stopwatch::default();
        let data = |k: u32| segment(1 + k * 1_000, 1, 1_000);
        (0..4).for_each(|k| watch.release(at(u64::from(k)), &data(k)));
        assert!(watch.has_released(&data(3)) && !watch.has_released(&data(4)));
        // The first is lost, and the third overtakes the second.
        let sack = TcpMeta { sacked_to: Some(3_001), ..segment(1, 1, 0) };
        let times: Vec<_> = core::iter::from_fn(|| watch.come_from_station(at(10), &sack)).collect();
        assert_eq!(times, [10, 9, 8].map(Span::from_millis), "it would have been acknowledged by then");
        watch.release(at(11), &data(4));
        watch.release(at(12), &data(0));
        watch.release(at(13), &data(3));
        let ack = segment(1, 5_001, 0);
        assert_eq!(
            watch.come_from_station(at(20), &ack),
            Some(Span::from_millis(9)),
            "the one before it was sent twice"
        );
        assert_eq!(watch.come_from_station(at(20), &ack), None);
    }

    /// Bursts of segments, each answered segment by segment, a millisecond apart: the median in milliseconds, and how many were timed.
    fn timed_in_bursts(segments: u32, bursts: u32) -> (u64, usize) {
        let (mut watch, mut times) = (Stopwatch::default(), Vec::new());
        let data = |k: u32| segment(k.wrapping_mul(1_448), 1, 1_448);
        for burst in 0..bursts {
            let begun = Instant::ZERO + Span::from_millis(u64::from(burst * segments));
            (0..segments).for_each(|k| watch.release(begun, &data(burst * segments + k)));
            for k in 0..segments {
                let ack = segment(1, data(burst * segments + k).seq_end(), 0);
                let now = begun + Span::from_millis(u64::from(k) + 1);
                times.extend(core::iter::from_fn(|| watch.come_from_station(now, &ack)));
            }
        }
        times.sort_unstable();
        (times[times.len() / 2].as_micros() / 1_000, times.len())
    }

    #[test]
    fn packets_are_timed_whatever_their_place_in_a_burst() {
        for segments in [4, 30, 200] {
            let (median, count) = timed_in_bursts(segments, 400);
            let expected = u64::from(segments) / 2;
            assert!(median.abs_diff(expected) <= expected / 10 + 1, "{median} of {segments}");
            assert!(count >= 400, "{count} of {segments}");
        }
    }

    #[test]
    fn packets_in_quick_succession_are_timed_500_times_a_second() {
        let (mut watch, mut count) = (Stopwatch::default(), 0);
        for k in 0..100_000u32 {
            let now = Instant::ZERO + Span::from_micros(u64::from(k) * 20);
            let data = segment(k * 1_448, 1, 1_448);
            watch.release(now, &data);
            let ack = segment(1, data.seq_end(), 0);
            count += core::iter::from_fn(|| watch.come_from_station(now + Span::from_micros(10), &ack)).count();
        }
        assert!((200..=1_500).contains(&count), "{count} in two seconds");
    }

    #[test]
    fn an_ack_is_timed_to_its_echo_while_the_station_sends_without_pauses() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut watch = Stopwatch::default();
        let (ack, data) = (segment(1, 1_001, 0), segment(3_001, 1, 1_000));
        watch.release(at(1), &stamped(ack.clone(), 60, 5));
        (0..BACKLOGGED).for_each(|_| watch.note_from_station(&data));
        assert_eq!(watch.come_from_station(at(9), &stamped(data.clone(), 6, 60)), None, "it had sent little by then");
        watch.release(at(10), &stamped(ack.clone(), 70, 5));
        // A second ACK with the same timestamp is not timed.
        watch.release(at(14), &stamped(ack.clone(), 70, 5));
        assert_eq!(watch.come_from_station(at(14), &stamped(data.clone(), 6, 69)), None);
        assert_eq!(watch.come_from_station(at(15), &stamped(data.clone(), 6, 70)), Some(Span::from_millis(5)));
        assert_eq!(watch.come_from_station(at(16), &stamped(data.clone(), 6, 70)), None);
        // After a short segment the station may be silent for any time.
        watch.release(at(20), &stamped(ack, 80, 6));
        watch.note_from_station(&segment(4_001, 1, 300));
        assert_eq!(watch.come_from_station(at(3_000), &stamped(data, 9, 81)), None);
    }

    #[test]
    fn an_ack_is_timed_to_its_echo_while_a_server_sends_without_pauses() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut watch = Stopwatch::default();
        let come = |watch: &mut Stopwatch, ms, tcp: &TcpMeta| {
            watch.note_from_wire(at(ms), tcp);
            watch.come_from_wire(at(ms), tcp)
        };
        let (ack, data) = (segment(1, 1_001, 0), segment(3_001, 1, 1_000));
        (0..=BACKLOGGED).for_each(|_| _ = come(&mut watch, 1, &stamped(data.clone(), 5, 1)));
        watch.leave_by_wire(at(10), &stamped(ack.clone(), 70, 5));
        watch.leave_by_wire(at(12), &stamped(ack.clone(), 70, 5));
        assert_eq!(come(&mut watch, 100, &stamped(data.clone(), 6, 69)), None, "of an ACK before");
        assert_eq!(come(&mut watch, 160, &stamped(data.clone(), 6, 70)), Some(Span::from_millis(150)));
        // After a pause, or a short segment, it may have waited for its application.
        watch.leave_by_wire(at(161), &stamped(ack.clone(), 80, 6));
        assert_eq!(come(&mut watch, 400, &stamped(data.clone(), 9, 80)), None);
        (0..=BACKLOGGED).for_each(|_| _ = come(&mut watch, 401, &stamped(data.clone(), 9, 80)));
        watch.leave_by_wire(at(402), &stamped(ack.clone(), 90, 9));
        assert_eq!(come(&mut watch, 403, &stamped(segment(4_001, 1, 300), 10, 80)), None);
        assert_eq!(come(&mut watch, 404, &stamped(data, 10, 90)), None);
    }

    /// A window of 65,535 bytes is filled with 45 segments of 1448 bytes and one of 375; the station answers an ACK after 20 ms. Returns
    /// how many ACKs of ten windows were timed, if the receiver advertises a window of the given size.
    fn timed_behind_a_window(window: u16) -> usize {
        const ROUND_TRIP: Span = Span::from_millis(20);
        let (mut watch, mut timed) = (Stopwatch::default(), Vec::new());
        for (round, k) in (0..10u32).flat_map(|round| (0..46u32).map(move |k| (round, k))) {
            let (window_at, ms) = (1 + round * 65_535, round * 20 + k / 10);
            let sent =
                if k < 45 { segment(window_at + k * 1_448, 1, 1_448) } else { segment(window_at + 65_160, 1, 375) };
            let (now, sent) = (Instant::ZERO + Span::from_millis(u64::from(ms)), stamped(sent, 500 + ms, ms));
            watch.note_from_station(&sent);
            timed.extend(core::iter::from_fn(|| watch.come_from_station(now, &sent)));
            let ack = TcpMeta { window, ..segment(1, sent.seq_end(), 0) };
            watch.release(now, &stamped(ack, ms + 20, ms));
        }
        assert!(timed.iter().all(|&took| took == ROUND_TRIP), "{timed:?}");
        timed.len()
    }

    #[test]
    fn a_short_segment_that_fills_the_window_is_no_end_of_what_the_station_sends() {
        assert!(timed_behind_a_window(65_535) >= 25);
        assert_eq!(timed_behind_a_window(65_534), 0);
    }

    #[test]
    fn data_that_leave_by_the_wire_are_timed_to_their_acknowledgment() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut watch = Stopwatch::default();
        watch.leave_by_wire(at(1), &segment(1, 1, 1_000));
        assert_eq!(watch.come_from_wire(at(9), &segment(1, 500, 0)), None);
        assert_eq!(watch.come_from_wire(at(31), &segment(1, 1_001, 0)), Some(Span::from_millis(30)));
        watch.leave_by_wire(at(40), &segment(1_001, 1, 0));
        assert_eq!(watch.come_from_wire(at(50), &segment(1, 1_001, 0)), None, "an ACK has no answer");
    }
}
