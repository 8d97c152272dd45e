//! Cost of flows without TCP acknowledgments: QUIC, IPsec, calls, any other protocol over IP.
//!
//! Toward the WLAN a packet costs its own airtime. The cost of packets from the WLAN is known only once they have
//! crossed, and is charged then: to the flow's next packet toward the WLAN, as an ACK is charged for the DATA that it
//! releases. So an upload over QUIC, whose acknowledgments the box holds, is limited to its share like one over TCP:
//! its sender gets an acknowledgment only after its turns are paid for.
//!
//! An unresponsive sender, whose packets no packet toward the WLAN acknowledges, cannot be slowed down from the wire.
//! Its airtime is a debt of its station and is paid by that station's other traffic only (see `stations`).
//!
//! What is not here: sequence numbers, which are encrypted; so it is unknown which packet acknowledges which release.

use evenair_units::{Bytes, Instant, Span};

use crate::packet_cost::Packets;

/// Packets from the WLAN charged to one packet toward it, at most: no receiver acknowledges more at once (behind receive
/// offload some tens), and one packet must not block an upload with a huge window.
const MOST: u64 = 64;
/// Time within which a responsive station's flow is answered: a round trip to the other side of the Earth takes 300 ms.
/// Answers that are held here are waited for.
const ANSWERED_WITHIN: Span = Span::from_millis(500);
/// Weight of a new sample of the ratio: 1/16, as a shift.
const RATIO_SHIFT: u32 = 4;
/// Weight of a new sample of the long-term ratio: 1/256, as a shift.
const USUAL_SHIFT: u32 = 8;
/// Initial ratio of packets from the WLAN to packets toward it, in thousandths: a receiver acknowledges at least every
/// second packet (RFC 9000, 13.2.2).
const INITIAL_RATIO_MILLI: u32 = 2_000;
/// Least time between two congestion signals to one sender: about a round trip, in which it slows down.
const SIGNAL_INTERVAL: Span = Span::from_millis(100);

/// Packets from the WLAN that are not paid for yet, and the ratio by which more are expected.
#[derive(Clone, Debug)]
pub(crate) struct Uplink {
    packets: u64,
    bytes: Bytes,
    /// When the first unpaid packet came.
    since: Instant,
    /// Whether there was no acknowledgment for long, so that none is expected any more.
    unanswered: bool,
    ratio_16: u32,
    /// The ratio over a longer time, and the mean size of the packets that were paid for.
    usual: u64,
    mean_len: Bytes,
    signalled_at: Option<Instant>,
}

impl Default for Uplink {
    fn default() -> Self {
        Self {
            packets: 0,
            bytes: Bytes::ZERO,
            since: Instant::ZERO,
            unanswered: false,
            ratio_16: INITIAL_RATIO_MILLI << RATIO_SHIFT,
            usual: 0,
            mean_len: Bytes::ZERO,
            signalled_at: None,
        }
    }
}

impl Uplink {
    /// Handles a packet from the WLAN; `held`: packets toward it wait, which will pay. Returns packets that no packet
    /// will pay for.
    pub(crate) fn note_arrival(&mut self, now: Instant, ip_len: Bytes, held: bool) -> Option<Packets> {
        if self.packets == 0 {
            self.since = now;
        }
        self.unanswered |= !held && now.saturating_since(self.since) >= ANSWERED_WITHIN;
        if self.packets < MOST || self.unanswered {
            self.packets += 1;
            self.bytes += ip_len;
            return if self.unanswered { self.take_all() } else { None };
        }
        Some(Packets::one(ip_len))
    }

    /// Handles a release toward the WLAN: returns what it is charged for.
    pub(crate) fn pay(&mut self) -> Packets {
        self.unanswered = false;
        let sample = (self.packets * 1_000) as u32;
        self.ratio_16 = self.ratio_16 - (self.ratio_16 >> RATIO_SHIFT) + sample;
        self.usual = self.usual - (self.usual >> USUAL_SHIFT) + u64::from(sample);
        let paid = self.take_all();
        if let Some(Packets { ip_len, .. }) = paid {
            let is_first = self.mean_len == Bytes::ZERO;
            let before = if is_first { ip_len } else { self.mean_len };
            if is_first {
                self.usual = u64::from(INITIAL_RATIO_MILLI) << USUAL_SHIFT;
            }
            self.mean_len = Bytes((before.0 * ((1 << RATIO_SHIFT) - 1) + ip_len.0) >> RATIO_SHIFT);
        }
        paid.unwrap_or_default()
    }

    /// The long-term mean of what comes from the WLAN for a packet toward it. The count since the last release says
    /// less, since packets are released in bursts.
    pub(crate) fn expected(&self) -> Packets {
        Packets { milli: self.usual >> USUAL_SHIFT, ip_len: self.mean_len }
    }

    fn take_all(&mut self) -> Option<Packets> {
        let (packets, bytes) = (core::mem::take(&mut self.packets), core::mem::take(&mut self.bytes));
        // All of the mean size: exact in bits, and in airtime as far as that is linear in them.
        (packets > 0).then(|| Packets { milli: packets * 1_000, ip_len: Bytes(bytes.0 / packets) })
    }

    /// Packets from the WLAN for each one toward it, in thousandths.
    pub(crate) fn ratio_milli(&self) -> u32 {
        self.ratio_16 >> RATIO_SHIFT
    }

    /// Whether its sender may get another congestion signal now. True counts as a signal.
    pub(crate) fn signal_congestion(&mut self, now: Instant) -> bool {
        let signals = self.signalled_at.is_none_or(|at| now.saturating_since(at) >= SIGNAL_INTERVAL);
        if signals {
            self.signalled_at = Some(now);
        }
        signals
    }
}

/// Releases toward a station that are unconfirmed: the station has not replied in the flow since, so that nothing shows
/// that they have crossed the medium.
///
/// A reply confirms what was released since the previous reply, but no more than [`Self::MOST`] packets of it, of the mean
/// size, and nothing if the last release was longer ago than [`ANSWERED_WITHIN`]. So a stray reply does not confirm
/// a flood, and a flow is counted by how often its station replies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unconfirmed {
    newest: Instant,
    /// The first 65,535 packets since the last reply.
    bytes: u32,
    packets: u16,
}

impl Unconfirmed {
    /// Packets that one reply confirms, at most: receivers of QUIC acknowledge every second (RFC 9000, 13.2.2) to every
    /// tenth packet, some a little fewer where receive offload joins packets.
    const MOST: u64 = 16;

    /// Notes a release toward the station.
    pub(crate) fn note_release(&mut self, now: Instant, ip_len: Bytes) {
        if let Some(packets) = self.packets.checked_add(1) {
            (self.packets, self.bytes) = (packets, self.bytes.saturating_add(ip_len.0 as u32));
        }
        self.newest = now;
    }

    /// Handles a packet from the station: returns the bytes that it confirms.
    pub(crate) fn confirm(&mut self, now: Instant) -> Bytes {
        let Self { packets, bytes, newest } = core::mem::take(self);
        if packets == 0 || now.saturating_since(newest) > ANSWERED_WITHIN {
            return Bytes::ZERO;
        }
        let packets = u64::from(packets);
        Bytes(u64::from(bytes) / packets * packets.min(Self::MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Bytes = Bytes(1_500);

    #[test]
    fn a_reply_confirms_some_packets_and_not_a_flood() {
        let ms = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut flow = Unconfirmed::default();
        assert_eq!(flow.confirm(ms(0)), Bytes::ZERO, "nothing was sent");
        (0..3).for_each(|n| flow.note_release(ms(n), FULL));
        assert_eq!(flow.confirm(ms(100)), FULL * 3);
        assert_eq!(flow.confirm(ms(100)), Bytes::ZERO, "once");
        (0..10_000).for_each(|n| flow.note_release(ms(n), FULL));
        assert_eq!(flow.confirm(ms(10_000)), FULL * 16);
        flow.note_release(ms(10_000), FULL);
        assert_eq!(flow.confirm(ms(10_501)), Bytes::ZERO, "it is too late to be the reply");
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_next_packet_toward_the_wlan_pays_for_packets_from_it() {
        let mut uplink = Uplink::default();
        assert_eq!(uplink.pay(), Packets::default());
        assert_eq!([1_000, 1_400].map(|bytes| uplink.note_arrival(at(1), Bytes(bytes), false)), [None, None]);
        assert_eq!(uplink.pay(), Packets { milli: 2_000, ip_len: Bytes(1_200) });
        assert_eq!(uplink.pay(), Packets::default(), "once");
    }

    #[test]
    fn unanswered_packets_are_paid_for_by_their_station_until_one_is_answered() {
        let mut uplink = Uplink::default();
        let unpaid: u64 = (0..200).filter_map(|k| uplink.note_arrival(at(k * 5), FULL, false)).map(|p| p.milli).sum();
        assert_eq!(unpaid, 200_000, "a second of it: the first half waits for an answer, and then all is known");
        assert_eq!(uplink.pay(), Packets::default());
        assert_eq!(uplink.note_arrival(at(2_000), FULL, false), None, "it may answer after all");
    }

    #[test]
    fn answers_held_by_the_box_are_waited_for() {
        let mut uplink = Uplink::default();
        assert_eq!(uplink.note_arrival(at(0), FULL, true), None);
        assert_eq!(uplink.note_arrival(at(3_000), FULL, true), None);
        assert_eq!(uplink.pay().milli, 2_000);
    }

    #[test]
    fn one_packet_is_not_charged_for_a_huge_window() {
        let mut uplink = Uplink::default();
        let unpaid: u64 = (0..100).filter_map(|_| uplink.note_arrival(at(0), FULL, true)).map(|p| p.milli).sum();
        assert_eq!((unpaid, uplink.pay().milli), (36_000, 64_000));
    }

    #[test]
    fn the_ratio_is_learned() {
        let mut uplink = Uplink::default();
        for _ in 0..200 {
            (0..10).for_each(|_| _ = uplink.note_arrival(at(0), FULL, true));
            uplink.pay();
        }
        assert!(uplink.ratio_milli().abs_diff(10_000) < 100, "{}", uplink.ratio_milli());
    }

    #[test]
    fn a_sender_gets_one_congestion_signal_in_a_round_trip() {
        let mut uplink = Uplink::default();
        assert_eq!([0, 50, 100].map(|ms| uplink.signal_congestion(at(ms))), [true, false, true]);
    }
}
