//! Windows lowered in transit.
//!
//! A window field has no meaning without the scale that both SYNs agreed on (RFC 7323, 2.2), so a connection whose
//! handshake was not seen keeps its windows. The window of a SYN is never scaled. An offer is never withdrawn: the right
//! edge, acknowledgment plus window, never moves to the left (RFC 9293, 3.8.6.2.1, "shrinking the window"). A window
//! that is not zero is at least one unit of the scale afterwards, and a zero one stays zero.
//!
//! Without SACK three equal ACKs indicate a loss (RFC 5681, 2), and an ACK with another window is not one of them. So
//! ACKs that came equal leave equal, whatever the law has done meanwhile, and a mere update of the window leaves with a
//! changed window, as far as the receiver's own window leaves room.
//!
//! What is not here: the decision which windows are lowered, and how far.

use evenair_packet::{Port, TcpFlags, TcpMeta};

use crate::flows::tcp::after;

/// Largest scale (RFC 7323, 2.3); a larger one counts as this.
const MAX_SCALE: u8 = 14;
/// Segment size in bytes if a SYN names none (RFC 9293, 3.7.1).
const DEFAULT_SEGMENT: u16 = 536;
/// Bytes of the timestamps option in each segment (RFC 7323, appendix A).
const TIMESTAMPS: u16 = 12;

/// The largest window that may be advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Most {
    /// At most so many bytes.
    Bytes(u64),
    /// Room for so many segments; a little more if the scale's unit is coarse.
    Segments(u64),
}

/// The windows of both ends of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    wlan: End,
    wire: End,
}

/// One end: the contents of its SYN, and its offers since.
#[derive(Clone, Debug, Default)]
struct End {
    syn: Option<Syn>,
    /// Right edge of its offers as they left, and the session of that.
    offered: Option<(u32, u32)>,
    /// Acknowledgment and window of its latest packet, as they came, and its window as it left.
    latest: Option<(u32, u16, u16)>,
    timestamps: bool,
}

#[derive(Clone, Copy, Debug)]
struct Syn {
    seq: u32,
    scale: Option<u8>,
    mss: u16,
    /// The acknowledgment of the other end's SYN.
    answers: Option<u32>,
    /// Its window as it left, and the session.
    window: Option<(u16, u32)>,
}

impl Windows {
    /// Notes a packet that has come in, and what its SYN says.
    pub(crate) fn note_arrival(&mut self, ingress: Port, tcp: &TcpMeta) {
        if tcp.flags.contains(TcpFlags::SYN) {
            let (own, other) = self.ends(ingress);
            let again = own.syn.is_some_and(|syn| syn.seq == tcp.seq);
            if tcp.begins() && !again {
                *other = End::default();
            }
            if !again {
                *own = End { syn: Some(Syn::of(tcp)), ..End::default() };
            }
        }
        let (own, _) = self.ends(ingress);
        own.timestamps = tcp.timestamps.is_some();
    }

    /// The window with which this packet, from `ingress`, is to leave; `None`: unchanged. `session` changes whenever
    /// packets may have left without this call. `most` is called only if needed, with the bytes in a segment.
    pub(crate) fn lower(
        &mut self,
        ingress: Port,
        tcp: &TcpMeta,
        session: u32,
        most: impl FnOnce(u64) -> Most,
    ) -> Option<u16> {
        let acknowledges = tcp.flags.contains(TcpFlags::ACK);
        let is_syn = tcp.flags.contains(TcpFlags::SYN);
        if tcp.flags.contains(TcpFlags::RST) || !acknowledges && !is_syn {
            return None;
        }
        let scale = if is_syn { Some(0) } else { self.scale(ingress) };
        let (Some(scale), Some(segment)) = (scale, self.segment(ingress)) else { return None };
        let (own, other) = self.ends(ingress);
        if tcp.window == 0 {
            own.latest = acknowledges.then_some((tcp.ack, 0, 0));
            return None;
        }
        if !acknowledges {
            let window = units(most(segment), segment, 0).min(tcp.window);
            own.syn.as_mut().expect("it was noted").window = Some((window, session));
            return (window != tcp.window).then_some(window);
        }
        let offered = own.offered_at(session, other);
        let window = match offered {
            // Earlier offers are unknown: this one counts.
            None if !is_syn => tcp.window,
            offered => own.chosen(tcp, offered, scale, units(most(segment), segment, scale)),
        };
        let edge = tcp.ack.wrapping_add(u32::from(window) << scale);
        own.offered = Some((offered.filter(|&offered| !after(edge, offered)).unwrap_or(edge), session));
        own.latest = Some((tcp.ack, tcp.window, window));
        (window != tcp.window).then_some(window)
    }

    /// The scale of this end's windows, if both SYNs were seen; zero unless both agreed to scaling.
    fn scale(&self, ingress: Port) -> Option<u8> {
        let (own, other) = match ingress {
            Port::Wlan => (self.wlan.syn?, self.wire.syn?),
            Port::Wire => (self.wire.syn?, self.wlan.syn?),
        };
        let met = own.answers == Some(other.seq.wrapping_add(1)) || other.answers == Some(own.seq.wrapping_add(1));
        let scale = own.scale.filter(|_| other.scale.is_some()).unwrap_or(0);
        met.then_some(scale.min(MAX_SCALE))
    }

    /// Bytes of data in a full segment toward this end, as far as the SYNs show.
    fn segment(&self, ingress: Port) -> Option<u64> {
        let (own, other) = match ingress {
            Port::Wlan => (&self.wlan, &self.wire),
            Port::Wire => (&self.wire, &self.wlan),
        };
        let mss = own.syn?.mss.min(other.syn.map_or(u16::MAX, |syn| syn.mss));
        let options = if own.timestamps { TIMESTAMPS } else { 0 };
        Some(u64::from(mss.saturating_sub(options).max(1)))
    }

    fn ends(&mut self, ingress: Port) -> (&mut End, &mut End) {
        match ingress {
            Port::Wlan => (&mut self.wlan, &mut self.wire),
            Port::Wire => (&mut self.wire, &mut self.wlan),
        }
    }
}

impl End {
    /// The right edge of its offers in this session, at first that of its SYN.
    fn offered_at(&self, session: u32, other: &Self) -> Option<u32> {
        let by_syn = || {
            let (window, at) = self.syn?.window?;
            Some((other.syn?.seq.wrapping_add(1).wrapping_add(u32::from(window)), at))
        };
        self.offered.or_else(by_syn).filter(|&(_, at)| at == session).map(|(edge, _)| edge)
    }

    /// The window field with which a packet is to leave, under a law with the limit `most`.
    fn chosen(&self, tcp: &TcpMeta, offered: Option<u32>, scale: u8, most: u16) -> u16 {
        let open = offered.map_or(0, |edge| edge.wrapping_sub(tcp.ack).cast_signed().max(0).cast_unsigned());
        let kept = u16::try_from(open.div_ceil(1 << scale)).unwrap_or(u16::MAX);
        let window = most.max(kept).min(tcp.window);
        match self.latest {
            Some((ack, came, left)) if ack == tcp.ack && tcp.is_pure_ack() && left > 0 => {
                if came == tcp.window {
                    left
                } else if left == window {
                    (left + 1).min(tcp.window)
                } else {
                    window
                }
            }
            _ => window,
        }
    }
}

impl Syn {
    fn of(tcp: &TcpMeta) -> Self {
        Self {
            seq: tcp.seq,
            scale: tcp.window_scale,
            mss: tcp.mss.unwrap_or(DEFAULT_SEGMENT),
            answers: tcp.flags.contains(TcpFlags::ACK).then_some(tcp.ack),
            window: None,
        }
    }
}

/// A law's window in units of the scale: at least one, with room for a segment.
fn units(most: Most, segment: u64, scale: u8) -> u16 {
    let least = segment.div_ceil(1 << scale);
    let units = match most {
        Most::Bytes(bytes) => bytes >> scale,
        Most::Segments(count) => (count * segment).div_ceil(1 << scale),
    };
    u16::try_from(units.max(least)).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::tcp::tests::segment;
    use evenair_units::{Bytes, Rng, Streams};
    use proptest::prelude::*;

    const SYN: TcpFlags = TcpFlags::SYN;

    fn syn(seq: u32, ack: Option<u32>, window: u16, scale: Option<u8>) -> TcpMeta {
        let flags = if ack.is_some() { SYN.with(TcpFlags::ACK) } else { SYN };
        let segment = segment(seq, ack.unwrap_or(0), 0);
        TcpMeta { flags, window, window_scale: scale, mss: Some(1460), ..segment }
    }

    /// The window with which a packet leaves in this session.
    fn pass(windows: &mut Windows, from: Port, tcp: &TcpMeta, session: u32, most: Most) -> u16 {
        windows.note_arrival(from, tcp);
        windows.lower(from, tcp, session, |_| most).unwrap_or(tcp.window)
    }

    /// A connection opened by its station, with these scales.
    fn met(station: Option<u8>, server: Option<u8>, most: Most) -> Windows {
        let mut windows = Windows::default();
        pass(&mut windows, Port::Wlan, &syn(100, None, 65_535, station), 1, most);
        windows.note_arrival(Port::Wire, &syn(900, Some(101), 65_535, server));
        windows
    }

    fn ack(ack: u32, window: u16) -> TcpMeta {
        TcpMeta { window, ..segment(101, ack, 0) }
    }

    #[test]
    fn a_window_in_segments_has_room_for_them_in_units_of_the_scale() {
        let most = Most::Segments(5);
        let mut windows = met(Some(7), Some(2), most);
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 500), 1, most), 58, "7,300 bytes are 57.03 units");
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(2361, 20), 1, most), 20, "less is less");
        let mut windows = met(Some(7), Some(2), Most::Bytes(7_300));
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 500), 1, Most::Bytes(7_300)), 58, "the SYN offered 7,300");
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(2361, 500), 1, Most::Bytes(7_300)), 57, "at most");
        let mut windows = met(Some(14), Some(2), most);
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 500), 1, most), 1, "a unit of 16 KiB");
        let mut windows = met(Some(7), Some(2), most);
        let stamps = Some(evenair_packet::Timestamps { value: 1, echo: 1 });
        let stamped = TcpMeta { timestamps: stamps, ..ack(901 + 7_300, 500) };
        assert_eq!(pass(&mut windows, Port::Wlan, &stamped, 1, most), 57, "1,448 bytes each");
    }

    #[test]
    fn without_the_option_of_both_ends_nothing_is_scaled() {
        for (station, server) in [(Some(7), None), (None, Some(7)), (None, None)] {
            let mut windows = met(station, server, Most::Segments(2));
            assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 60_000), 1, Most::Segments(2)), 2_920);
        }
    }

    #[test]
    fn the_window_of_a_syn_is_lowered_unscaled() {
        let mut windows = Windows::default();
        let most = Most::Segments(4);
        assert_eq!(pass(&mut windows, Port::Wlan, &syn(100, None, 65_535, Some(7)), 1, most), 5_840);
        assert_eq!(pass(&mut windows, Port::Wlan, &syn(100, None, 65_535, Some(7)), 1, most), 5_840, "sent again");
        assert_eq!(pass(&mut windows, Port::Wire, &syn(900, Some(101), 65_535, Some(7)), 1, most), 5_840);
        assert_eq!(
            pass(&mut windows, Port::Wlan, &ack(901, 500), 1, most),
            46,
            "and the SYN of the other end is no new one"
        );
    }

    #[test]
    fn a_connection_taken_up_in_the_middle_is_left_alone() {
        let most = Most::Segments(1);
        let mut windows = Windows::default();
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 500), 1, most), 500);
        // One SYN is not enough, nor are two that do not belong together.
        windows.note_arrival(Port::Wire, &syn(900, Some(77), 65_535, Some(2)));
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 500), 1, most), 500);
        windows.note_arrival(Port::Wlan, &TcpMeta { seq: 100, ..syn(100, Some(5), 9, Some(7)) });
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 500), 1, most), 500);
        let mut windows = met(Some(7), Some(2), most);
        windows.note_arrival(Port::Wlan, &syn(5_000, None, 65_535, Some(7)));
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 500), 1, most), 500, "another connection begins");
    }

    #[test]
    fn an_earlier_offer_is_not_withdrawn() {
        let most = Most::Segments(2);
        let mut windows = Windows::default();
        windows.note_arrival(Port::Wlan, &syn(100, None, 65_535, Some(7)));
        windows.note_arrival(Port::Wire, &syn(900, Some(101), 65_535, Some(2)));
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 100), 3, most), 100, "the SYN left unasked");
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901 + 6_400, 100), 3, most), 50);
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901 + 12_800, 100), 3, most), 23);
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901 + 12_800, 100), 4, most), 100, "another session");
    }

    #[test]
    fn equal_acks_stay_equal_and_window_updates_stay_updates() {
        let few = Most::Segments(2);
        let mut windows = met(Some(0), Some(0), few);
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 9_000), 1, few), 2_920);
        assert_eq!(
            pass(&mut windows, Port::Wlan, &ack(901, 9_000), 1, Most::Segments(5)),
            2_920,
            "the law has changed"
        );
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 9_500), 1, few), 2_921, "an update is no duplicate");
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 0), 1, few), 0, "zero is zero");
        assert_eq!(pass(&mut windows, Port::Wlan, &ack(901, 9_000), 1, few), 2_921);
        let with_data = TcpMeta { payload: Bytes(10), ..ack(901, 9_000) };
        assert_eq!(pass(&mut windows, Port::Wlan, &with_data, 1, Most::Segments(3)), 4_380);
        let reset = TcpMeta { flags: TcpFlags::RST.with(TcpFlags::ACK), ..ack(901, 9_000) };
        assert_eq!(pass(&mut windows, Port::Wlan, &reset, 1, few), 9_000);
    }

    /// A receiver that never shrinks its offer except by the rounding of its scale, 64 bits wide.
    struct Receiver {
        rng: Rng,
        acked: u64,
        edge: u64,
        scale: u8,
    }

    impl Receiver {
        /// Acknowledgment and window field of its next packet.
        fn next(&mut self) -> (u64, u16) {
            self.acked = (self.acked + self.rng.below(3) * self.rng.below(5_000)).min(self.edge);
            let most = 65_535_u64 << self.scale;
            self.edge = self.edge.max(self.acked + self.rng.below(2) * self.rng.below(most));
            (self.acked, ((self.edge - self.acked) >> self.scale).min(65_535) as u16)
        }
    }

    proptest! {
        #[test]
        fn the_right_edge_never_moves_left_and_nothing_reads_as_zero(
            seed: u64,
            first: u32,
            scale in prop_oneof![Just(None), (0u8..20).prop_map(Some)],
        ) {
            let mut rng = Streams::new(seed).stream("windows");
            let mut windows = Windows::default();
            let law = |rng: &mut Rng| match rng.below(2) {
                0 => Most::Bytes(rng.below(100_000)),
                _ => Most::Segments(rng.below(60)),
            };
            let most = law(&mut rng);
            let opened = pass(&mut windows, Port::Wlan, &syn(100, None, 65_535, scale), 1, most);
            prop_assert!(opened > 0);
            windows.note_arrival(Port::Wire, &syn(first, Some(101), 65_535, Some(3)));
            // Positions count from the first byte; on the wire they are 32 bits wide from anywhere.
            let mut edge = u64::from(opened);
            let scale = scale.unwrap_or(0).min(14);
            let unit = 1_u64 << scale;
            let mut receiver = Receiver { rng: Streams::new(seed).stream("receiver"), acked: 0, edge: 65_535, scale };
            let (mut session, mut slack, mut most) = (1, 0, most);
            for _ in 0..400 {
                if rng.below(50) == 0 {
                    most = law(&mut rng);
                }
                let (acked, window) = receiver.next();
                let tcp = TcpMeta { window, ..segment(101, first.wrapping_add(1).wrapping_add(acked as u32), 0) };
                windows.note_arrival(Port::Wlan, &tcp);
                if rng.below(100) == 0 {
                    // It leaves without the call; from now on only the receiver's own rounding is known.
                    (session, slack) = (session + 1, unit);
                    edge = edge.max(acked + u64::from(window) * unit);
                    continue;
                }
                let is = windows.lower(Port::Wlan, &tcp, session, |_| most).unwrap_or(window);
                prop_assert!(is <= window);
                prop_assert_eq!(is == 0, window == 0);
                let (left, came) = (acked + u64::from(is) * unit, acked + u64::from(window) * unit);
                prop_assert!(left + slack >= edge.min(came), "{} is left of {}, {} came", left, edge, came);
                edge = edge.max(left);
            }
        }

        /// A constant law holds once earlier offers are used up.
        #[test]
        fn the_law_holds(first: u32, scale in 0u8..14, segments in 1u64..40) {
            let most = Most::Segments(segments);
            let mut windows = Windows::default();
            windows.note_arrival(Port::Wlan, &syn(100, None, 65_535, Some(scale)));
            windows.note_arrival(Port::Wire, &syn(first, Some(101), 65_535, Some(3)));
            for step in 0..200_u32 {
                let acked = first.wrapping_add(1).wrapping_add(step << 24);
                let is = pass(&mut windows, Port::Wlan, &ack(acked, 65_535), 1, most);
                let bytes = u64::from(is) << scale;
                let room = segments * 1460;
                let open_at_first = u64::from(65_535_u32) << scale;
                if u64::from(step) << 24 > open_at_first {
                    prop_assert!((room..room + (1 << scale)).contains(&bytes), "{} bytes for {}", bytes, room);
                }
            }
        }
    }
}
