//! Losses of the access points toward the stations: reported, or inferred.
//!
//! *Reported*: total counters read from the access points (SNMP: `ifOutDiscards` of RFC 2863, for instance). The
//! difference from the previous total counts; a total that has decreased starts again, as after a restart.
//!
//! *Inferred*: DATA of a download that were released toward the WLAN and that the sender retransmits before a station
//! has acknowledged them. DATA that never passed here were lost elsewhere, and acknowledged DATA were retransmitted
//! needlessly. A loss that is not repaired counts in each interval, for a while: a starved sender retries ever more
//! rarely, and its silence does not mean that it is satisfied.
//!
//! Not detected: lost ACKs of uploads, which carry the same information as the next one. Losses by retries on the air
//! count like those of a full buffer.

use alloc::collections::BTreeMap;

use evenair_packet::{MacAddr, TcpMeta};
use evenair_units::{Instant, Span};

use crate::ids::FlowId;

/// Access points with counters, at most; reports of others are refused.
const MAX_ACCESS_POINTS: usize = 1024;
/// Flows watched for repair, at most; further ones soon lose again.
const MAX_UNREPAIRED: usize = 1024;
/// Time for which an unrepaired loss counts. Retransmissions of a starved sender come 1, 2 and 4 s apart (RFC 6298); the
/// download of a station that has gone does not limit the uploads for longer.
pub(super) const UNREPAIRED: Span = Span::from_secs(5);
/// Intervals without a report after which inferred losses count again.
const SILENT: u32 = 10;

/// Losses in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Number of packets.
    Packets(u64),
    /// Reports exist, but none has come since the last evaluation.
    Unknown,
}

/// Losses since the last evaluation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    totals: BTreeMap<MacAddr, u64>,
    reported: Option<u64>,
    /// Intervals since the last report; `None`: no report so far.
    silence: Option<u32>,
    seen: u64,
    unrepaired: BTreeMap<FlowId, Instant>,
}

impl Losses {
    /// Handles the reported total of an access point. False: there are too many access points.
    pub(crate) fn handle_report(&mut self, access_point: MacAddr, total: u64) -> bool {
        if self.totals.len() >= MAX_ACCESS_POINTS && !self.totals.contains_key(&access_point) {
            return false;
        }
        let new = match self.totals.insert(access_point, total) {
            Some(before) if before <= total => total - before,
            Some(_) => total,
            None => 0,
        };
        self.reported = Some(self.reported.unwrap_or(0).saturating_add(new));
        true
    }

    /// Notes that the sender of a download has retransmitted what was lost behind the box.
    pub(crate) fn see(&mut self, now: Instant, flow: FlowId) {
        self.seen += 1;
        if self.unrepaired.len() < MAX_UNREPAIRED || self.unrepaired.contains_key(&flow) {
            self.unrepaired.insert(flow, now);
        }
    }

    /// Notes that a station has acknowledged new data of a download.
    pub(crate) fn repaired(&mut self, flow: FlowId) {
        if !self.unrepaired.is_empty() {
            self.unrepaired.remove(&flow);
        }
    }

    /// Flows with an unrepaired loss, as of the last evaluation: a starved sender loses rarely, since it tries rarely,
    /// and reports count only losses.
    pub(crate) fn unrepaired(&self) -> u64 {
        self.unrepaired.len() as u64
    }

    /// The losses since the last call.
    pub(crate) fn take(&mut self, now: Instant) -> Lost {
        self.unrepaired.retain(|_, &mut since| now.saturating_since(since) < UNREPAIRED);
        let seen = core::mem::take(&mut self.seen).max(self.unrepaired.len() as u64);
        if let Some(reported) = self.reported.take() {
            self.silence = Some(0);
            return Lost::Packets(reported);
        }
        self.silence = self.silence.map(|intervals| intervals.saturating_add(1));
        match self.silence {
            Some(intervals) if intervals <= SILENT => Lost::Unknown,
            _ => Lost::Packets(seen),
        }
    }
}

/// Releases of one flow toward the WLAN that are unconfirmed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Released {
    /// Sequence number behind the furthest byte released.
    end: Option<u32>,
    /// Furthest acknowledgment from the station.
    acked: Option<u32>,
    /// The last gap, from and to: DATA lost before the box, or dropped here.
    hole: (u32, u32),
}

impl Released {
    /// Whether a packet from the wire repeats DATA, SYN or FIN that were released and are not acknowledged.
    pub(crate) fn is_repeat(&self, tcp: &TcpMeta) -> bool {
        let (from, to) = (tcp.seq, tcp.seq_end());
        let (hole_from, hole_to) = self.hole;
        let in_hole = hole_from != hole_to && !after(hole_from, from) && !after(to, hole_to);
        from != to
            && self.end.is_some_and(|end| after(end, from))
            && self.acked.is_none_or(|acked| after(to, acked))
            && !in_hole
    }

    /// Notes a release toward the WLAN.
    pub(crate) fn release(&mut self, tcp: &TcpMeta) {
        if tcp.begins() {
            *self = Self::default();
        }
        let (from, to) = (tcp.seq, tcp.seq_end());
        let Some(end) = self.end else {
            self.end = Some(to);
            return;
        };
        if after(from, end) {
            self.hole = (end, from);
        } else if from == self.hole.0 && !after(to, self.hole.1) {
            self.hole.0 = to;
        }
        if after(to, end) {
            self.end = Some(to);
        }
    }

    /// Notes a packet from the station. True: it acknowledges something new.
    pub(crate) fn acknowledge(&mut self, tcp: &TcpMeta) -> bool {
        if tcp.begins() {
            *self = Self::default();
        }
        let new =
            tcp.flags.contains(evenair_packet::TcpFlags::ACK) && self.acked.is_none_or(|acked| after(tcp.ack, acked));
        if new {
            self.acked = Some(tcp.ack);
        }
        new
    }
}

/// Whether `a` is beyond `b`, modulo 2^32 (RFC 9293, 3.4).
const fn after(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

#[cfg(test)]
mod tests {
    use evenair_packet::TcpFlags;
    use evenair_units::Bytes;

    use super::*;

    const AP: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
    const INTERVAL: Span = Span::from_millis(300);

    fn data(seq: u32) -> TcpMeta {
        TcpMeta { seq, payload: Bytes(1_000), flags: TcpFlags::ACK, ..meta() }
    }

    fn ack(ack: u32) -> TcpMeta {
        TcpMeta { ack, flags: TcpFlags::ACK, ..meta() }
    }

    fn meta() -> TcpMeta {
        TcpMeta {
            src_port: 1,
            dst_port: 2,
            seq: 0,
            ack: 0,
            flags: TcpFlags::default(),
            window: 0,
            payload: Bytes::ZERO,
            window_scale: None,
            mss: None,
            sacked_to: None,
            timestamps: None,
        }
    }

    #[test]
    fn reports_are_totals_of_each_access_point() {
        let mut losses = Losses::default();
        let other = MacAddr([2, 0, 0, 0, 0, 8]);
        let now = Instant::ZERO;
        assert!(losses.handle_report(AP, 1_000));
        assert_eq!(losses.take(now), Lost::Packets(0), "the first one is where counting begins");
        losses.handle_report(AP, 1_003);
        losses.handle_report(other, 50);
        losses.handle_report(AP, 1_004);
        assert_eq!(losses.take(now), Lost::Packets(4));
        losses.handle_report(other, 50);
        assert_eq!(losses.take(now), Lost::Packets(0));
        losses.handle_report(other, 7);
        assert_eq!(losses.take(now), Lost::Packets(7), "it began anew");
        for n in 0..2_000u32 {
            let [.., high, low] = n.to_be_bytes();
            losses.handle_report(MacAddr([4, 0, 0, 0, high, low]), 1);
        }
        assert_eq!(losses.totals.len(), MAX_ACCESS_POINTS);
    }

    #[test]
    fn reports_count_until_none_came_for_long() {
        let mut losses = Losses::default();
        let flow = FlowId::FIRST;
        losses.handle_report(AP, 0);
        losses.see(Instant::ZERO, flow);
        assert_eq!(losses.take(Instant::ZERO), Lost::Packets(0));
        for _ in 0..SILENT {
            losses.see(Instant::ZERO, flow);
            assert_eq!(losses.take(Instant::ZERO), Lost::Unknown);
        }
        losses.see(Instant::ZERO, flow);
        losses.see(Instant::ZERO, flow);
        assert_eq!(losses.take(Instant::ZERO), Lost::Packets(2));
    }

    #[test]
    fn an_unrepaired_loss_counts_for_a_while() {
        let mut losses = Losses::default();
        let flow = FlowId::FIRST;
        losses.see(Instant::ZERO, flow);
        let mut now = Instant::ZERO;
        for _ in 0..17 {
            assert_eq!(losses.take(now), Lost::Packets(1));
            now += INTERVAL;
        }
        assert_eq!(losses.take(now), Lost::Packets(0), "five seconds later");
        losses.see(now, flow);
        losses.repaired(flow);
        assert_eq!(losses.take(now), Lost::Packets(1));
        assert_eq!(losses.take(now), Lost::Packets(0));
    }

    #[test]
    fn only_unacknowledged_releases_are_lost_behind_the_box() {
        let mut released = Released::default();
        assert!(!released.is_repeat(&data(1_000)));
        for seq in [1_000, 2_000, 4_000] {
            assert!(!released.is_repeat(&data(seq)));
            released.release(&data(seq));
        }
        assert!(!released.is_repeat(&data(3_000)), "it did not come by here");
        assert!(released.is_repeat(&data(2_000)) && released.is_repeat(&data(4_000)));
        released.release(&data(3_000));
        assert!(released.is_repeat(&data(3_000)), "now it did");
        assert!(released.acknowledge(&ack(3_000)) && !released.acknowledge(&ack(3_000)));
        assert!(!released.is_repeat(&data(2_000)), "the station has it");
        assert!(released.is_repeat(&data(3_000)));
        assert!(!released.is_repeat(&ack(1)), "there is nothing in it");
        let answer = TcpMeta { flags: TcpFlags::SYN.with(TcpFlags::ACK), seq: 70_000, ..meta() };
        released.acknowledge(&TcpMeta { flags: TcpFlags::SYN, seq: 9, ..meta() });
        released.release(&answer);
        assert!(released.is_repeat(&answer), "the station has not heard that it is accepted");
        released.release(&TcpMeta { flags: TcpFlags::SYN, seq: 9, ..meta() });
        assert!(!released.is_repeat(&data(10)), "another connection");
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut released = Released::default();
        released.release(&data(u32::MAX - 500));
        released.release(&data(499));
        assert!(released.is_repeat(&data(u32::MAX - 500)));
        released.acknowledge(&ack(499));
        assert!(!released.is_repeat(&data(u32::MAX - 500)) && released.is_repeat(&data(499)));
    }
}
