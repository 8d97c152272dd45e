//! What the WLAN carries because of one TCP packet.
//!
//! A packet that the box releases toward the WLAN is charged for more than its own bits (virtual length): DATA will
//! be acknowledged, by `1/d` of an ACK each; an ACK lets the station send as many new bytes as it newly acknowledges.
//! The same sum covers packets that are both, and SYN and FIN. In the other direction, an arriving packet shows what has crossed the WLAN:
//! the packet itself, and the DATA that it acknowledges.
//!
//! Both are counted when a packet passes the box, so that the DATA that a dropped ACK would have released are charged
//! to the next ACK. A duplicate ACK shows that a segment has left the network (RFC 5681, 3.2), and so releases a part
//! of one, since its sender is reducing its window meanwhile; the cumulative ACK that ends the recovery is not
//! charged for these again.
//!
//! A sender does not send exactly what its ACKs release: while its window grows it sends more, and its first DATA are
//! released by no ACK. Bytes from the WLAN beyond those charged are therefore charged to the connection's next
//! release. Over time a connection is charged for what it has really sent, and the growth of its window does not add
//! to the load beyond C.
//!
//! d, the segment size, the header's and the ACK's length are learned for each connection.
//!
//! What is not here: round-trip times, windows, loss recovery. Headers are trusted, within the bounds given below.

use evenair_packet::{Port, TcpFlags, TcpMeta};
use evenair_units::Bytes;

use crate::packet_cost::{PacketCost, Packets};

/// Initial d, in thousandths: a receiver acknowledges at least every second full segment (RFC 1122, 4.2.3.2).
const INITIAL_RATIO_MILLI: u32 = 2_000;
/// Largest sample of d, in thousandths: a receiver behind receive offload acknowledges some tens of segments at once; more is a filled
/// hole.
const MAX_RATIO_MILLI: u32 = 64_000;
/// Weight of a new sample of d, as a shift: 1/16 follows a change within some tens of ACKs.
const RATIO_SHIFT: u32 = 4;
/// Bytes of DATA in a 1500-byte packet with timestamps: the segment size until one is seen, and the largest single segment where no MSS
/// option was seen. A larger packet is several segments that an offload has joined.
const USUAL_SEGMENT: u64 = 1_448;
/// Bytes of IPv4 and TCP headers with timestamps, until a header is seen.
const USUAL_HEADER: u64 = 52;
/// Released segments that one packet is charged for, at most, in thousandths: newly covered DATA and growth of the window together. An ACK
/// covers more only where a hole was filled, whose segments have crossed before. Growth is more only where a connection was not held
/// before (its ACKs are still in the access point), and is forgiven then. The bound also keeps a forged ACK from blocking the server.
const MAX_RELEASED_MILLI: u64 = 64_000;
/// Duplicate ACKs in a row of which the box releases the last one alone: as many segments behind a hole may be new in it.
pub(crate) const MERGED: u8 = 4;
/// Percentage of delivered DATA that a sender in recovery sends: CUBIC's reduction (RFC 9438, 4.6), spread over the recovery (RFC 9937).
/// Reno's is 50; the difference is small and short.
const REDUCTION_PERCENT: u64 = 70;

/// DATA that an ACK newly covers.
#[derive(Clone, Copy, Debug)]
enum Covered {
    /// Bytes in order, up to its acknowledgment number, which has advanced.
    InOrder(u64),
    /// A duplicate ACK: bytes that have arrived behind a hole.
    Duplicate(u64),
}

impl Covered {
    const fn bytes(self) -> u64 {
        match self {
            Self::InOrder(bytes) | Self::Duplicate(bytes) => bytes,
        }
    }
}

/// The state of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tcp {
    wlan: Side,
    wire: Side,
    growth: Growth,
    /// Furthest acknowledgment from the wire's end including waiting packets, where the charge is set when a packet begins to wait.
    waiting_ack: Option<u32>,
    /// The furthest byte that the WLAN's end had sent when it got a congestion signal by a loss, until an ACK for all of it is released.
    signalled_at: Option<u32>,
}

/// DATA that the WLAN's end has sent beyond what releases toward it were charged for, in bytes.
///
/// Its outstanding DATA (arrived, and not yet released again by an ACK) exceed their highest level so far only when its window grows. A
/// shrinking window leaves charges unused, and may grow back to its old size without a charge.
#[derive(Clone, Debug, Default)]
struct Growth {
    outstanding: i64,
    highest: i64,
    uncharged: u64,
}

/// What one end has sent past the box.
#[derive(Clone, Debug)]
struct Side {
    /// Sequence number behind the furthest byte.
    sent: Option<u32>,
    /// Furthest acknowledgment.
    acked: Option<u32>,
    window: u16,
    /// Bytes that its duplicate ACKs have released ahead of the cumulative one.
    ahead: u64,
    /// Whether it sends SACK blocks, so that a duplicate ACK without one reports no arrival; the end of its latest first block.
    sacks: bool,
    sacked: u32,
    /// Its MSS option: the largest segment it receives.
    mss: Option<u16>,
    /// Mean DATA of its segments, in 1/16 byte; `None`: no segment seen yet.
    segment_16: Option<u64>,
    /// IP and TCP header of its latest DATA packet, in bytes.
    header: u64,
    /// Size of its latest pure ACK, at IP level.
    pure_ack: Bytes,
    /// Segments covered by each of its ACKs, in 1/16 thousandths.
    ratio_16: u32,
}

impl Default for Side {
    fn default() -> Self {
        Self {
            sent: None,
            acked: None,
            window: 0,
            ahead: 0,
            sacks: false,
            sacked: 0,
            mss: None,
            segment_16: None,
            header: USUAL_HEADER,
            pure_ack: Bytes(USUAL_HEADER),
            ratio_16: INITIAL_RATIO_MILLI << RATIO_SHIFT,
        }
    }
}

impl Tcp {
    /// Handles a release toward the WLAN: returns its cost.
    pub(crate) fn note_release(&mut self, tcp: &TcpMeta, ip_len: Bytes) -> PacketCost {
        self.restart_on_syn(tcp);
        let (own, covered) = pass(&mut self.wire, &self.wlan, tcp, ip_len);
        // Forgotten at once, because sequence numbers more than half their range apart change their order.
        self.signalled_at =
            self.signalled_at.filter(|&signalled| self.wire.acked.is_none_or(|acked| after(signalled, acked)));
        self.waiting_ack = self.waiting_ack.filter(|&ack| self.wire.acked.is_none_or(|acked| after(ack, acked)));
        let sent_for_it = match covered {
            Covered::InOrder(bytes) => bytes,
            Covered::Duplicate(bytes) => bytes * REDUCTION_PERCENT / 100,
        };
        // DATA that are not charged must not count as charged: those that arrive count as growth.
        let charged = sent_for_it.min(MAX_RELEASED_MILLI * self.wlan.segment() / 1_000);
        let released = self.wlan.packets(charged);
        let with_growth = self.wlan.packets(charged + self.growth.take(charged));
        let growth = Packets { milli: with_growth.milli - released.milli, ip_len: released.ip_len };
        PacketCost([own, self.elicited(tcp, own.milli), released, growth])
    }

    /// The ACKs that a packet of this many thousandths of segments elicits from the WLAN's end.
    fn elicited(&self, tcp: &TcpMeta, own_milli: u64) -> Packets {
        let opens_or_closes = tcp.flags.intersects(TcpFlags::SYN.with(TcpFlags::FIN));
        let milli = match tcp.payload {
            _ if opens_or_closes => 1_000,
            Bytes(0) => 0,
            Bytes(_) => own_milli * 1_000 / u64::from(self.wlan.ratio_milli()),
        };
        Packets { milli, ip_len: self.wlan.pure_ack }
    }

    /// Handles a packet that begins to wait: returns its expected charge, if all that wait before it are released. Leaves out the growth
    /// of the window meanwhile, and what an ACK that is dropped meanwhile would have released.
    pub(crate) fn expected_cost(&mut self, tcp: &TcpMeta, ip_len: Bytes) -> PacketCost {
        let limit = self.wlan.mss.map_or(USUAL_SEGMENT + 12, u64::from).max(1);
        let segments = tcp.payload.0.div_ceil(limit).max(1);
        let own = Packets { milli: segments * 1_000, ip_len: Bytes(ip_len.0 / segments) };
        let covered = self.expected_coverage(tcp).min(MAX_RELEASED_MILLI * self.wlan.segment() / 1_000);
        let released = self.wlan.packets(covered);
        PacketCost([own, self.elicited(tcp, own.milli), released, Packets::default()])
    }

    /// Bytes of the WLAN's end that a packet newly covers or stands for, beyond the waiting packets before it.
    fn expected_coverage(&mut self, tcp: &TcpMeta) -> u64 {
        if tcp.flags.contains(TcpFlags::SYN) {
            self.waiting_ack = None;
            return 0;
        }
        if !tcp.flags.contains(TcpFlags::ACK) {
            return 0;
        }
        let furthest =
            [self.waiting_ack, self.wire.acked].into_iter().flatten().reduce(|a, b| if after(a, b) { a } else { b });
        let Some(acked) = furthest else {
            self.waiting_ack = Some(tcp.ack);
            return 0;
        };
        if after(tcp.ack, acked) {
            self.waiting_ack = Some(tcp.ack);
            let outstanding = self.wlan.sent.map_or(0, |sent| forward(acked, sent));
            return forward(acked, tcp.ack).min(outstanding);
        }
        let is_duplicate = tcp.ack == acked && tcp.is_pure_ack() && tcp.sacked_to.is_some();
        if is_duplicate { self.wlan.segment() * REDUCTION_PERCENT / 100 } else { 0 }
    }

    /// Handles a packet from the WLAN: returns what is thereby known to have crossed.
    pub(crate) fn note_arrival(&mut self, tcp: &TcpMeta, ip_len: Bytes) -> PacketCost {
        self.restart_on_syn(tcp);
        let (own, covered) = pass(&mut self.wlan, &self.wire, tcp, ip_len);
        self.growth.note_arrival(tcp.payload.0);
        PacketCost([own, self.wire.packets(covered.bytes()), Packets::default(), Packets::default()])
    }

    /// Whether this segment from the WLAN's end, not noted yet, is new: all of it is beyond what was seen so far.
    pub(crate) fn is_new(&self, tcp: &TcpMeta) -> bool {
        self.wlan.sent.is_none_or(|sent| !after(sent, tcp.seq))
    }

    /// Whether a loss or a mark now is a new congestion signal to the WLAN's end: once per window, as often as its congestion control
    /// reacts (RFC 5681, 4.3). True counts as a signal.
    pub(crate) fn signal_congestion(&mut self) -> bool {
        let signals = self.signalled_at.is_none();
        if signals {
            self.signalled_at = self.wlan.sent;
        }
        signals
    }

    /// Furthest acknowledgment from the end at a port.
    pub(crate) const fn acked_from(&self, port: Port) -> Option<u32> {
        match port {
            Port::Wlan => self.wlan.acked,
            Port::Wire => self.wire.acked,
        }
    }

    /// Whether the WLAN's end has sent more than this packet acknowledges.
    pub(crate) fn has_sent_beyond(&self, tcp: &TcpMeta) -> bool {
        self.wlan.sent.is_some_and(|sent| after(sent, tcp.ack))
    }

    /// Segments toward the WLAN covered by each ACK from there, in thousandths.
    pub(crate) fn download_ratio_milli(&self) -> u32 {
        self.wlan.ratio_milli()
    }

    /// Segments from the WLAN covered by each ACK toward it, in thousandths.
    pub(crate) fn upload_ratio_milli(&self) -> u32 {
        self.wire.ratio_milli()
    }

    /// A SYN without ACK begins another connection between the same ports.
    fn restart_on_syn(&mut self, tcp: &TcpMeta) {
        if tcp.begins() {
            *self = Self::default();
        }
    }
}

impl Side {
    fn ratio_milli(&self) -> u32 {
        self.ratio_16 >> RATIO_SHIFT
    }

    fn segment(&self) -> u64 {
        self.segment_16.map_or(USUAL_SEGMENT, |mean| (mean >> RATIO_SHIFT).max(1))
    }

    /// `bytes` of its DATA as packets.
    fn packets(&self, bytes: u64) -> Packets {
        let ip_len = Bytes(self.segment() + self.header);
        Packets { milli: (bytes * 1_000 / self.segment()).min(MAX_RELEASED_MILLI), ip_len }
    }

    /// Notes a packet that this end sends, and returns it as the segments that it is on the WLAN.
    fn note_sent(&mut self, tcp: &TcpMeta, ip_len: Bytes, limit: u64) -> Packets {
        self.mss = tcp.mss.or(self.mss);
        let end = tcp.seq_end();
        if self.sent.is_none_or(|sent| after(end, sent)) {
            self.sent = Some(end);
        }
        let payload = tcp.payload.0;
        if payload == 0 {
            return Packets::one(ip_len);
        }
        self.header = ip_len.0.saturating_sub(payload);
        let segments = payload.div_ceil(limit);
        let sample = (payload / segments) << RATIO_SHIFT;
        let mean = self.segment_16.unwrap_or(sample);
        self.segment_16 = Some(mean - (mean >> RATIO_SHIFT) + (sample >> RATIO_SHIFT));
        Packets { milli: segments * 1_000, ip_len: Bytes(payload / segments + self.header) }
    }

    /// Notes an acknowledgment that this end sends; returns the bytes from `peer` that it newly covers or stands for.
    fn note_ack(&mut self, peer: &Self, tcp: &TcpMeta, ip_len: Bytes) -> Covered {
        const NOTHING: Covered = Covered::InOrder(0);
        if !tcp.flags.contains(TcpFlags::ACK) {
            return NOTHING;
        }
        let same_window = core::mem::replace(&mut self.window, tcp.window) == tcp.window;
        if tcp.is_pure_ack() {
            self.pure_ack = ip_len;
        }
        let reported = tcp.sacked_to.map(|end| forward(core::mem::replace(&mut self.sacked, end), end));
        self.sacks |= reported.is_some();
        let Some(acked) = self.acked.replace(tcp.ack) else { return NOTHING };
        let outstanding = peer.sent.map_or(0, |sent| forward(acked, sent));
        if tcp.ack == acked {
            let duplicate = tcp.is_pure_ack()
                && outstanding > self.ahead
                && (tcp.sacked_to.is_some() || same_window && !self.sacks);
            // A new block beyond another hole says nothing of what is before it.
            let merged = reported.filter(|&bytes| bytes <= peer.segment() * u64::from(MERGED)).unwrap_or(0);
            let released = if duplicate { merged.max(peer.segment()).min(outstanding - self.ahead) } else { 0 };
            self.ahead += released;
            return Covered::Duplicate(released);
        }
        if after(acked, tcp.ack) {
            // An old ACK: the furthest acknowledgment stays.
            self.acked = Some(acked);
            return NOTHING;
        }
        let covered = forward(acked, tcp.ack).min(outstanding);
        let released = covered.saturating_sub(self.ahead);
        self.ahead -= covered - released;
        if self.sacks && tcp.sacked_to.is_none() {
            // No hole is left. The rest of `ahead` were duplicates that reported no arrival: answers to segments that were sent twice.
            self.ahead = 0;
        }
        if tcp.is_pure_ack() && covered >= peer.segment() {
            self.note_ratio(covered * 1_000 / peer.segment());
        }
        Covered::InOrder(released)
    }

    fn note_ratio(&mut self, sample_milli: u64) {
        let sample = sample_milli.clamp(1_000, u64::from(MAX_RATIO_MILLI)) as u32;
        self.ratio_16 = self.ratio_16 - (self.ratio_16 >> RATIO_SHIFT) + sample;
    }
}

impl Growth {
    fn note_arrival(&mut self, payload: u64) {
        self.outstanding = self.outstanding.saturating_add_unsigned(payload);
        if self.outstanding > self.highest {
            self.uncharged += self.outstanding.abs_diff(self.highest);
            self.highest = self.outstanding;
        }
    }

    /// Charges a release for `covered` bytes, and returns how many more it is to be charged for.
    fn take(&mut self, covered: u64) -> u64 {
        self.outstanding = self.outstanding.saturating_sub_unsigned(covered);
        core::mem::take(&mut self.uncharged)
    }
}

/// Handles a packet from `sender` that passes the box: returns it as it is on the WLAN, and the bytes from `peer` that it newly covers.
fn pass(sender: &mut Side, peer: &Side, tcp: &TcpMeta, ip_len: Bytes) -> (Packets, Covered) {
    let limit = peer.mss.map_or(USUAL_SEGMENT + 12, u64::from).max(1);
    let own = sender.note_sent(tcp, ip_len, limit);
    (own, sender.note_ack(peer, tcp, ip_len))
}

/// Whether sequence number `a` is beyond `b`, modulo 2^32 (RFC 9293, 3.4).
pub(crate) fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// Bytes from `from` forward to `to`; zero if `to` is before it.
fn forward(from: u32, to: u32) -> u64 {
    if after(to, from) { u64::from(to.wrapping_sub(from)) } else { 0 }
}

/// Whether a later acknowledgment number makes an earlier one superfluous.
pub(crate) fn supersedes(later: &TcpMeta, earlier: &TcpMeta) -> bool {
    later.is_pure_ack() && earlier.is_pure_ack() && after(later.ack, earlier.ack)
}

/// Whether a later duplicate ACK reports all that an earlier one does, and more: SACK blocks are repeated (RFC 2018, 4). Other flags, such
/// as ECE, are news of their own.
pub(crate) fn repeats(later: &TcpMeta, earlier: &TcpMeta) -> bool {
    let reported = |tcp: &TcpMeta| tcp.sacked_to.filter(|&end| tcp.is_pure_ack() && after(end, tcp.ack));
    later.ack == earlier.ack
        && later.flags == earlier.flags
        && reported(later).zip(reported(earlier)).is_some_and(|(later, earlier)| after(later, earlier))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use evenair_packet::TcpFlags;

    const DATA: Bytes = Bytes(1500);
    const ACK: Bytes = Bytes(52);

    pub(crate) fn segment(seq: u32, ack: u32, payload: u64) -> TcpMeta {
        TcpMeta {
            src_port: 1,
            dst_port: 2,
            seq,
            ack,
            flags: TcpFlags::ACK,
            window: 500,
            payload: Bytes(payload),
            window_scale: None,
            mss: None,
            sacked_to: None,
            timestamps: None,
        }
    }

    fn data(seq: u32) -> TcpMeta {
        segment(seq, 1, 1448)
    }

    /// A pure ACK, for `segments` segments after `base`.
    fn ack(base: u32, segments: u32) -> TcpMeta {
        segment(1, base.wrapping_add(segments * 1448), 0)
    }

    /// A connection whose station has sent `segments` segments from `base` on, with nothing acknowledged yet.
    fn upload(base: u32, segments: u32) -> Tcp {
        let mut tcp = Tcp::default();
        tcp.note_release(&ack(base, 0), ACK);
        (0..segments).for_each(|k| _ = tcp.note_arrival(&data(base.wrapping_add(k * 1448)), DATA));
        // As if this much had been outstanding and charged for from the start.
        tcp.growth.uncharged = 0;
        tcp
    }

    fn released(tcp: &mut Tcp, meta: &TcpMeta) -> u64 {
        let cost = tcp.note_release(meta, ACK);
        cost.0[2].milli + cost.0[3].milli
    }

    #[test]
    fn data_are_charged_for_themselves_and_a_part_of_an_ack() {
        let cost = Tcp::default().note_release(&data(1), DATA);
        assert_eq!(cost.bits(), 1500 * 8 + 52 * 8 / 2);
    }

    #[test]
    fn an_ack_is_charged_for_the_data_it_releases() {
        for base in [1, u32::MAX - 2000] {
            let mut tcp = upload(base, 10);
            assert_eq!(tcp.note_release(&ack(base, 2), ACK).bits(), 52 * 8 + 2 * 1500 * 8, "from {base}");
            assert_eq!(released(&mut tcp, &ack(base, 5)), 3_000);
            assert_eq!(released(&mut tcp, &ack(base, 4)), 0, "an old one");
            assert_eq!(released(&mut tcp, &ack(base, 6)), 1_000);
        }
    }

    #[test]
    fn data_of_a_dropped_ack_are_charged_to_the_next_ack() {
        let mut tcp = upload(1, 10);
        // The ACK for two segments is dropped before the box.
        assert_eq!(released(&mut tcp, &ack(1, 4)), 4_000);
    }

    #[test]
    fn duplicate_acks_release_a_part_of_a_segment_each_and_are_not_charged_twice() {
        let mut tcp = upload(1, 10);
        assert_eq!(released(&mut tcp, &ack(1, 2)), 2_000);
        for _ in 0..3 {
            assert_eq!(released(&mut tcp, &ack(1, 2)), 699, "seven tenths, in whole bytes");
        }
        assert_eq!(released(&mut tcp, &ack(1, 10)), 8_000 - 3_000);
        assert_eq!(released(&mut tcp, &ack(1, 10)), 0, "nothing is outstanding");
    }

    #[test]
    fn a_merged_duplicate_ack_is_charged_for_all_that_it_reports() {
        let mut tcp = upload(1, 20);
        let mut charged = |reported| {
            let sacked_to = Some(ack(1, reported).ack);
            released(&mut tcp, &TcpMeta { sacked_to, ..ack(1, 2) })
        };
        assert_eq!([8, 9].map(&mut charged), [2_000, 699], "two in order, then a duplicate");
        assert_eq!(charged(13), 2_799, "seven tenths of four segments");
        assert_eq!(charged(19), 699, "a block beyond another hole");
    }

    #[test]
    fn acks_of_duplicate_segments_do_not_reduce_later_charges() {
        let mut tcp = upload(1, 20);
        let sack = |segments| TcpMeta { sacked_to: Some(1), ..ack(1, segments) };
        assert_eq!(released(&mut tcp, &ack(1, 2)), 2_000);
        // Two without blocks, before any with them: taken for arrivals. Then two with blocks.
        assert_eq!([0; 2].map(|_| released(&mut tcp, &ack(1, 2))), [699; 2]);
        assert_eq!([0; 2].map(|_| released(&mut tcp, &sack(2))), [699; 2]);
        assert_eq!([0; 2].map(|_| released(&mut tcp, &ack(1, 2))), [0; 2], "now it is known that it says what arrived");
        // The hole is filled: the ACK covers three, four had been taken for arrivals.
        assert_eq!(released(&mut tcp, &ack(1, 5)), 0);
        assert_eq!(released(&mut tcp, &ack(1, 7)), 2_000);
    }

    #[test]
    fn a_window_update_is_no_duplicate_unless_it_has_sack_blocks() {
        let mut tcp = upload(1, 10);
        released(&mut tcp, &ack(1, 2));
        let update = TcpMeta { window: 900, ..ack(1, 2) };
        assert_eq!(released(&mut tcp, &update), 0);
        assert_eq!(released(&mut tcp, &TcpMeta { window: 901, sacked_to: Some(1), ..update }), 699);
    }

    #[test]
    fn a_window_that_grows_is_charged_for_its_growth_once() {
        let mut tcp = upload(1, 10);
        // Each ACK covers two segments and three arrive: one more than was charged for.
        for k in 1..=5 {
            assert_eq!(released(&mut tcp, &ack(1, 2 * k)), if k == 1 { 2_000 } else { 3_000 });
            (0..3).for_each(|j| _ = tcp.note_arrival(&data(1 + (10 + 3 * (k - 1) + j) * 1448), DATA));
        }
        // It stops growing.
        assert_eq!(released(&mut tcp, &ack(1, 12)), 3_000);
        (25..27).for_each(|j| _ = tcp.note_arrival(&data(1 + j * 1448), DATA));
        assert_eq!(released(&mut tcp, &ack(1, 14)), 2_000);
    }

    #[test]
    fn data_that_were_not_charged_do_not_offset_growth() {
        let mut tcp = upload(1, 500);
        // A hole was filled. It covers 500 segments and is charged for 64.
        assert_eq!(released(&mut tcp, &ack(1, 500)), MAX_RELEASED_MILLI);
        (500..600).for_each(|j| _ = tcp.note_arrival(&data(1 + j * 1448), DATA));
        assert_eq!(tcp.growth.uncharged, (100 - 64) * 1448);
    }

    #[test]
    fn a_window_that_shrank_grows_back_without_a_charge() {
        let mut tcp = upload(1, 10);
        assert_eq!(released(&mut tcp, &ack(1, 4)), 4_000);
        // Nothing arrives for it. Then the window grows back to its old size, and beyond by one.
        (10..15).for_each(|j| _ = tcp.note_arrival(&data(1 + j * 1448), DATA));
        assert_eq!(released(&mut tcp, &ack(1, 5)), 1_000 + 1_000);
    }

    #[test]
    fn a_sender_can_be_signalled_again_however_much_it_has_sent_since() {
        let mut tcp = upload(1, 1);
        assert!(tcp.signal_congestion());
        for seq in [1, 1 << 30, 2 << 30, 3 << 30] {
            tcp.note_arrival(&data(seq), DATA);
            tcp.note_release(&ack(seq, 1), ACK);
        }
        tcp.note_arrival(&data(3 << 30), DATA);
        assert!(tcp.signal_congestion(), "3 GB later");
    }

    #[test]
    fn a_sender_gets_one_congestion_signal_for_each_window() {
        let mut tcp = upload(1, 10);
        assert!(tcp.signal_congestion());
        assert!(!tcp.signal_congestion());
        released(&mut tcp, &ack(1, 9));
        assert!(!tcp.signal_congestion(), "not all of that window has been acknowledged");
        released(&mut tcp, &ack(1, 10));
        assert!(tcp.signal_congestion());
    }

    #[test]
    fn an_ack_of_data_never_sent_is_not_charged() {
        let mut tcp = upload(1, 4);
        assert_eq!(released(&mut tcp, &segment(1, 1 + (1 << 30), 0)), 4_000);
        let mut busy = upload(1, 500);
        assert_eq!(released(&mut busy, &ack(1, 500)), MAX_RELEASED_MILLI);
    }

    #[test]
    fn a_packet_with_data_and_ack_is_charged_for_both() {
        let mut tcp = upload(1, 2);
        let both = segment(1, 1 + 2 * 1448, 100);
        assert_eq!(tcp.note_release(&both, Bytes(152)).bits(), 152 * 8 + 52 * 8 / 2 + 2 * 1500 * 8);
    }

    #[test]
    fn syn_and_fin_elicit_an_ack() {
        let with = |flags| TcpMeta { flags, ..segment(1, 0, 0) };
        let mut tcp = upload(1, 2);
        assert_eq!(tcp.note_release(&with(TcpFlags::RST), ACK).bits(), 52 * 8);
        assert_eq!(tcp.note_release(&with(TcpFlags::FIN), ACK).bits(), 2 * 52 * 8);
        assert_eq!(tcp.note_release(&with(TcpFlags::SYN), ACK).bits(), 2 * 52 * 8);
        // The SYN began a new connection: nothing of the old one counts any more.
        assert_eq!(released(&mut tcp, &ack(1, 2)), 0);
    }

    #[test]
    fn d_is_learned_in_both_directions() {
        let mut up = upload(1, 400);
        (1..=100).for_each(|k| _ = released(&mut up, &ack(1, 4 * k)));
        assert!(up.upload_ratio_milli().abs_diff(4_000) < 40, "{}", up.upload_ratio_milli());

        let mut down = Tcp::default();
        (0..400).for_each(|k| _ = down.note_release(&data(1 + k * 1448), DATA));
        (0..=400).for_each(|k| _ = down.note_arrival(&ack(1, k), ACK));
        assert!(down.download_ratio_milli().abs_diff(1_000) < 20, "{}", down.download_ratio_milli());
        let cost = down.note_release(&data(1 + 400 * 1448), DATA);
        assert!(cost.bits().abs_diff((1500 + 52) * 8) < 16, "now an ACK for each segment");
    }

    #[test]
    fn acks_from_the_wlan_show_what_has_crossed() {
        let mut tcp = Tcp::default();
        tcp.note_arrival(&ack(1, 0), ACK);
        (0..4).for_each(|k| _ = tcp.note_release(&data(1 + k * 1448), DATA));
        assert_eq!(tcp.note_arrival(&ack(1, 2), ACK).bits(), (52 + 2 * 1500) * 8);
        assert_eq!(tcp.note_arrival(&ack(1, 9), ACK).bits(), (52 + 2 * 1500) * 8, "no more than was released");
    }

    #[test]
    fn joined_segments_are_counted_apart() {
        let mut tcp = Tcp::default();
        let cost = tcp.note_release(&segment(1, 1, 10 * 1448), Bytes(10 * 1448 + 52));
        assert_eq!(cost.0[0], Packets { milli: 10_000, ip_len: DATA });
        assert_eq!(cost.0[1].milli, 5_000);
    }
}
