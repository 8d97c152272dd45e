//! How long packets took on each leg of their way, by station and by policy class.
//!
//! Counts are of all time: the difference of two states is of the time between them, and the sum over stations or shards is of
//! them all, so that percentiles of any interval and any group are right. They have four buckets to a doubling, from 0.5 ms to
//! 8 s; a percentile is interpolated within its bucket, and so known to a tenth of its value.
//!
//! The legs of the WLAN and of the Internet are round trips, seen on up to 16 packets of a flow at a time:
//! - WLAN: from the release of a segment to the ACK that covers it, and from the release of an ACK to a station that sends
//!   without pauses to the first segment that echoes its timestamp. With it come the wait in the station and the receiver's delay of the ACK.
//! - Internet: from DATA, a SYN or a first datagram that leaves by the wire to the acknowledgment or answer.
//!
//! A segment that is sent again is not timed (Karn and Partridge, 1987).

use alloc::collections::VecDeque;

use evenair_packet::TcpMeta;
use evenair_units::{Bytes, Instant, Span};

use crate::delays::{class_of, end_of};
use crate::tcp::after;

/// The class of [`class_of`] that ends with the first bucket, 0.5 ms.
const FIRST: usize = 35;
/// To 8.4 s; the last bucket has no end.
const BUCKETS: usize = 58;
/// A packet that is not answered for so long is not waited for.
pub(crate) const FORGOTTEN: Span = Span::from_secs(10);
/// Packets of a flow that are timed at once, and the least time between two: enough for tens in a second whatever the latency.
const MOST: usize = 16;
const APART: Span = Span::from_millis(2);
/// A station that has sent so many segments of full size in a row is taken to send on as soon as it may, so that the echo of an ACK
/// does not wait for its application.
const BACKLOGGED: u32 = 64;

/// A part of the way of a packet.
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
    /// All of them, in the order of [`Latency`].
    pub const ALL: [Self; 4] = [Self::Box, Self::Wlan, Self::InternetQueue, Self::Internet];
}

/// Counts of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times([u32; BUCKETS]);

impl Default for Times {
    fn default() -> Self {
        Self([0; BUCKETS])
    }
}

impl Times {
    fn note(&mut self, took: Span) {
        let bucket = class_of(took).saturating_sub(FIRST).min(BUCKETS - 1);
        self.0[bucket] = self.0[bucket].saturating_add(1);
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, count)| *sum = sum.saturating_add(count));
    }

    fn since(&self, before: &Self) -> Self {
        Self(core::array::from_fn(|bucket| self.0[bucket] - before.0[bucket]))
    }

    fn contains(&self, before: &Self) -> bool {
        self.0.iter().zip(before.0).all(|(now, before)| *now >= before)
    }

    /// How many packets were timed.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|&count| u64::from(count)).sum()
    }

    /// The time that so many of 100 packets did not exceed; `None`: there are none.
    pub fn percentile(&self, percent: u64) -> Option<Span> {
        let wanted = (self.count() * percent).div_ceil(100);
        let mut before = 0;
        for (bucket, count) in self.0.iter().map(|&count| u64::from(count)).enumerate() {
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

/// How long packets took, by leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency([Times; Leg::ALL.len()]);

impl Latency {
    pub(crate) fn note(&mut self, leg: Leg, took: Span) {
        self.0[leg as usize].note(took);
    }

    /// Counts of a leg.
    pub const fn leg(&self, leg: Leg) -> &Times {
        &self.0[leg as usize]
    }

    /// Adds the counts of others.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, times)| sum.add(times));
    }

    /// Its counts and those of others.
    pub fn plus(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    /// What was counted after an earlier state. Counts that have become fewer have begun anew.
    pub fn since(&self, before: &Self) -> Self {
        let pairs = || self.0.iter().zip(&before.0);
        if pairs().all(|(now, before)| now.contains(before)) {
            Self(core::array::from_fn(|leg| self.0[leg].since(&before.0[leg])))
        } else {
            *self
        }
    }
}

/// Packets of one kind that are timed, by ascending keys.
#[derive(Clone, Debug, Default)]
struct Laps {
    /// The furthest key of all packets.
    furthest: Option<u32>,
    under_way: VecDeque<(u32, Instant)>,
}

impl Laps {
    /// A packet begins its way. False: its key is not a new one.
    fn begin(&mut self, now: Instant, key: u32) -> bool {
        if self.furthest.is_some_and(|furthest| !after(key, furthest)) {
            return false;
        }
        self.furthest = Some(key);
        let age = |lap: Option<&(u32, Instant)>| lap.map(|(_, since)| now.saturating_since(*since));
        if age(self.under_way.front()).is_some_and(|age| age >= FORGOTTEN) {
            self.under_way.clear();
        }
        if self.under_way.len() < MOST && age(self.under_way.back()).is_none_or(|age| age >= APART) {
            self.under_way.push_back((key, now));
        }
        true
    }

    /// All keys up to this one are answered: how long the oldest that is timed took, until there is none.
    fn end(&mut self, now: Instant, key: u32) -> Option<Span> {
        self.under_way.front().filter(|(begun, _)| !after(*begun, key))?;
        let (_, since) = self.under_way.pop_front()?;
        Some(now.saturating_since(since)).filter(|&took| took < FORGOTTEN)
    }
}

/// The packets of a flow that are timed now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopwatch {
    /// Segments toward the station, and what went beyond the wire port: by their ends.
    data: Laps,
    beyond: Laps,
    /// ACKs of an upload, by timestamp. One that several have shows nothing of the later ones.
    acks: Laps,
    /// Its segments of full size in a row, and that size.
    full_sized: u32,
    largest: Bytes,
}

impl Stopwatch {
    /// A segment is released toward the station.
    pub(crate) fn release(&mut self, now: Instant, tcp: &TcpMeta) {
        if tcp.payload > Bytes::ZERO {
            if !self.data.begin(now, tcp.seq_end()) {
                self.data.under_way.clear();
            }
        } else if let Some(stamps) = tcp.timestamps.filter(|_| tcp.is_pure_ack() && self.full_sized >= BACKLOGGED) {
            self.acks.begin(now, stamps.value);
        }
    }

    /// DATA come from the station. A short segment ends what its application has written: it may pause then.
    pub(crate) fn note_data(&mut self, payload: Bytes) {
        if payload < self.largest {
            self.full_sized = 0;
            self.acks.under_way.clear();
        } else if payload > Bytes::ZERO {
            self.largest = payload;
            self.full_sized = self.full_sized.saturating_add(1);
        }
    }

    /// A segment comes from the station, and was noted: how long one of those that it answers took, until there is none.
    pub(crate) fn come_from_station(&mut self, now: Instant, tcp: &TcpMeta) -> Option<Span> {
        let echo = tcp.timestamps.map(|stamps| stamps.echo);
        self.data.end(now, tcp.ack).or_else(|| self.acks.end(now, echo?))
    }

    /// DATA leave by the wire.
    pub(crate) fn leave_by_wire(&mut self, now: Instant, tcp: &TcpMeta) {
        if tcp.payload > Bytes::ZERO && !self.beyond.begin(now, tcp.seq_end()) {
            self.beyond.under_way.clear();
        }
    }

    /// A segment comes from the wire: how long one of those that it acknowledges was under way, until there is none.
    pub(crate) fn come_from_wire(&mut self, now: Instant, tcp: &TcpMeta) -> Option<Span> {
        self.beyond.end(now, tcp.ack)
    }
}

#[cfg(test)]
mod tests {
    use evenair_packet::Timestamps;

    use super::*;
    use crate::tcp::tests::segment;

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
    fn ends_of_the_scale() {
        let mut latency = Latency::default();
        assert_eq!(latency.leg(Leg::Box).percentile(50), None);
        latency.note(Leg::Box, Span::ZERO);
        assert!(latency.leg(Leg::Box).percentile(50).expect("one") < Span::from_micros(512));
        latency.note(Leg::Internet, Span::from_secs(60));
        assert!(latency.leg(Leg::Internet).percentile(50).expect("one") > Span::from_secs(8));
        assert_eq!(latency.leg(Leg::Wlan).count(), 0);
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
    fn an_ack_is_timed_to_its_echo_while_the_station_sends_without_pauses() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut watch = Stopwatch::default();
        let (ack, data) = (segment(1, 1_001, 0), segment(3_001, 1, 1_000));
        watch.release(at(1), &stamped(ack.clone(), 60, 5));
        (0..BACKLOGGED).for_each(|_| watch.note_data(data.payload));
        assert_eq!(watch.come_from_station(at(9), &stamped(data.clone(), 6, 60)), None, "it had sent little by then");
        watch.release(at(10), &stamped(ack.clone(), 70, 5));
        // A second ACK with the same timestamp is not timed.
        watch.release(at(14), &stamped(ack.clone(), 70, 5));
        assert_eq!(watch.come_from_station(at(14), &stamped(data.clone(), 6, 69)), None);
        assert_eq!(watch.come_from_station(at(15), &stamped(data.clone(), 6, 70)), Some(Span::from_millis(5)));
        assert_eq!(watch.come_from_station(at(16), &stamped(data.clone(), 6, 70)), None);
        // After a short segment the station may be silent for as long as it likes.
        watch.release(at(20), &stamped(ack, 80, 6));
        watch.note_data(Bytes(300));
        assert_eq!(watch.come_from_station(at(3_000), &stamped(data, 9, 81)), None);
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
