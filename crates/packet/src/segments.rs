//! Super-packets: several TCP segments or UDP datagrams in one frame, which the network card should segment (segmentation
//! offload), or which the kernel merged on receipt.
//!
//! The manager charges and schedules segments, since those cross the medium. [`Segments`] splits a super-packet into the
//! frames that would have been on the wire, as the Linux kernel does (`tcp_gso_segment`, `__udp_gso_segment`,
//! `inet_gso_segment`). [`Run`] joins consecutive segments of a connection to one super-packet again, if the kernel would
//! segment that into the same frames, so that it can be passed to the kernel at once.
//!
//! A super-packet's transport checksum is left to the card; segments get complete checksums, and a joined packet gets the sum
//! of its pseudo header in the field, as the kernel expects.
//!
//! Not here: packets inside of tunnels, IP fragments (UFO, which Linux dropped in 4.14), and joining of datagrams.

use crate::checksum::sum;
use crate::parse::{PROTOCOL_TCP, PROTOCOL_UDP, UDP_HEADER, Version, transport_offset};

/// Offsets in an IPv4 header (RFC 791, 3.1).
const V4_TOTAL_LEN: usize = 2;
const V4_ID: usize = 4;
const V4_CHECKSUM: usize = 10;
const V4_ADDRESSES: usize = 12;
/// Offsets and length of an IPv6 header (RFC 8200, 3).
const V6_PAYLOAD_LEN: usize = 4;
const V6_ADDRESSES: usize = 8;
const V6_HEADER: usize = 40;
/// Offsets and least length of a TCP header (RFC 9293, 3.1).
const TCP_SEQ: usize = 4;
const TCP_FLAGS: usize = 13;
const TCP_CHECKSUM: usize = 16;
const TCP_HEADER: usize = 20;
/// Offsets in a UDP header (RFC 768).
const UDP_LEN: usize = 4;
const UDP_CHECKSUM: usize = 6;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const PSH: u8 = 0x08;
const URG: u8 = 0x20;
const CWR: u8 = 0x80;

/// Maximum size of an IP packet with its length field of 16 bits.
const MOST_IP_BYTES: usize = 65_535;

/// Positions of the headers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    version: Version,
    ip: usize,
    is_tcp: bool,
    transport: usize,
    /// Length of all headers.
    headers: usize,
    /// Offset of the end of the IP packet.
    end: usize,
}

impl Layout {
    fn of(frame: &[u8]) -> Option<Self> {
        let (version, ip, protocol, transport) = transport_offset(frame)?;
        let is_tcp = match protocol {
            PROTOCOL_TCP => true,
            PROTOCOL_UDP => false,
            _ => return None,
        };
        let header = match is_tcp {
            true => usize::from(*frame.get(transport + TCP_FLAGS - 1)? >> 4) * 4,
            false => UDP_HEADER,
        };
        let (field, uncounted) = match version {
            Version::V4 => (u16_at(frame, ip + V4_TOTAL_LEN)?, 0),
            Version::V6 => (u16_at(frame, ip + V6_PAYLOAD_LEN)?, V6_HEADER),
        };
        // Zero: longer than the field can express (Linux, "BIG TCP").
        let end = if field == 0 { frame.len() } else { ip + usize::from(field) + uncounted };
        let headers = transport + header;
        let is_whole = (!is_tcp || header >= TCP_HEADER) && headers <= end && end <= frame.len();
        is_whole.then_some(Self { version, ip, is_tcp, transport, headers, end })
    }

    /// Writes the lengths, the IPv4 identification if there is one, and the IPv4 header's checksum into the headers of a
    /// packet with `payload` bytes behind them.
    fn set_ip(&self, frame: &mut [u8], payload: usize, id_step: u16) {
        let len = self.headers + payload - self.ip;
        match self.version {
            Version::V4 => {
                let header = &mut frame[self.ip..self.transport];
                put_u16(header, V4_TOTAL_LEN, len as u16);
                let id = u16::from_be_bytes([header[V4_ID], header[V4_ID + 1]]);
                put_u16(header, V4_ID, id.wrapping_add(id_step));
                put_u16(header, V4_CHECKSUM, 0);
                let checksum = !sum(header, 0);
                put_u16(header, V4_CHECKSUM, checksum);
            }
            Version::V6 => put_u16(&mut frame[self.ip..], V6_PAYLOAD_LEN, (len - V6_HEADER) as u16),
        }
    }

    /// Sum of the pseudo header for this many bytes of transport header and payload (RFC 9293, 3.1; RFC 8200, 8.1).
    fn pseudo_sum(&self, frame: &[u8], bytes: usize) -> u16 {
        let addresses = match self.version {
            Version::V4 => self.ip + V4_ADDRESSES..self.ip + V4_ADDRESSES + 8,
            Version::V6 => self.ip + V6_ADDRESSES..self.ip + V6_HEADER,
        };
        let protocol = if self.is_tcp { PROTOCOL_TCP } else { PROTOCOL_UDP };
        sum(&frame[addresses], u64::from(protocol) + bytes as u64)
    }
}

/// The segments of a super-packet.
#[derive(Clone, Debug)]
pub struct Segments<'f> {
    frame: &'f [u8],
    layout: Layout,
    /// Payload bytes of each segment but the last.
    size: usize,
}

impl<'f> Segments<'f> {
    /// The segments of `frame`, each with `size` bytes of payload, and the last with the rest. `None` if the frame is not TCP
    /// or UDP in IP, or is truncated.
    pub fn of(frame: &'f [u8], size: u16) -> Option<Self> {
        let layout = Layout::of(frame)?;
        (size > 0).then_some(Self { frame, layout, size: size.into() })
    }

    /// Number of segments; at least one.
    pub fn count(&self) -> usize {
        (self.layout.end - self.layout.headers).div_ceil(self.size).max(1)
    }

    /// Writes segment `n`, counted from zero, to `out` as an Ethernet frame with complete checksums, and returns its length;
    /// `None` if it does not fit.
    pub fn write(&self, n: usize, out: &mut [u8]) -> Option<usize> {
        let Self { frame, layout, size } = *self;
        let start = (layout.headers + n * size).min(layout.end);
        let payload = &frame[start..(start + size).min(layout.end)];
        let len = layout.headers + payload.len();
        let out = out.get_mut(..len)?;
        out[..layout.headers].copy_from_slice(&frame[..layout.headers]);
        out[layout.headers..].copy_from_slice(payload);
        layout.set_ip(out, payload.len(), n as u16);
        match layout.is_tcp {
            true => self.set_tcp(n, out),
            false => self.set_udp(out),
        }
        Some(len)
    }

    fn set_tcp(&self, n: usize, out: &mut [u8]) {
        let pseudo = self.layout.pseudo_sum(out, out.len() - self.layout.transport);
        let tcp = &mut out[self.layout.transport..];
        let seq = u32_at(tcp, TCP_SEQ).wrapping_add((n * self.size) as u32);
        tcp[TCP_SEQ..TCP_SEQ + 4].copy_from_slice(&seq.to_be_bytes());
        if n + 1 < self.count() {
            tcp[TCP_FLAGS] &= !(FIN | PSH);
        }
        if n > 0 {
            // Only the first segment has "congestion window reduced" (RFC 3168, 6.1.2).
            tcp[TCP_FLAGS] &= !CWR;
        }
        put_u16(tcp, TCP_CHECKSUM, 0);
        let checksum = !sum(tcp, pseudo.into());
        put_u16(tcp, TCP_CHECKSUM, checksum);
    }

    fn set_udp(&self, out: &mut [u8]) {
        let pseudo = self.layout.pseudo_sum(out, out.len() - self.layout.transport);
        let udp = &mut out[self.layout.transport..];
        put_u16(udp, UDP_LEN, udp.len() as u16);
        put_u16(udp, UDP_CHECKSUM, 0);
        // Zero would mean that there is no checksum (RFC 768).
        let checksum = match !sum(udp, pseudo.into()) {
            0 => 0xffff,
            checksum => checksum,
        };
        put_u16(udp, UDP_CHECKSUM, checksum);
    }
}

/// Consecutive segments of a TCP connection that can form one super-packet.
#[derive(Clone, Debug)]
pub struct Run {
    layout: Layout,
    /// Payload bytes of the first segment, and of each but the last.
    size: usize,
    /// Total payload, bytes.
    payload: usize,
    count: usize,
    /// Flags that only the last segment has.
    last_flags: u8,
    /// Whether another segment may follow.
    open: bool,
}

impl Run {
    /// A run of this segment alone. `None` if no segment can follow: it is no TCP segment with data, it closes the
    /// connection, or bytes follow the IP packet, which a joined packet would lose.
    pub fn begin(first: &[u8]) -> Option<Self> {
        let layout = Layout::of(first).filter(|layout| layout.is_tcp && layout.end == first.len())?;
        let (flags, size) = (first[layout.transport + TCP_FLAGS], layout.end - layout.headers);
        let open = size > 0 && flags & (SYN | RST | URG | FIN | PSH) == 0;
        open.then_some(Self { layout, size, payload: size, count: 1, last_flags: 0, open })
    }

    /// Adds the segment `next` to the run that begins with `first`, if the kernel would segment the whole into the same
    /// frames. Returns whether it did.
    pub fn extend(&mut self, first: &[u8], next: &[u8]) -> bool {
        let layout = self.layout;
        let Some(own) = Layout::of(next).filter(|own| Layout { end: 0, ..*own } == Layout { end: 0, ..layout }) else {
            return false;
        };
        let payload = own.end - own.headers;
        let fits = own.end == next.len() && self.headers_and(self.payload + payload) - layout.ip <= MOST_IP_BYTES;
        if !self.open || !fits || payload == 0 || payload > self.size || !self.continues(first, next) {
            return false;
        }
        self.last_flags = next[layout.transport + TCP_FLAGS] & (FIN | PSH);
        self.open = payload == self.size && self.last_flags == 0;
        self.payload += payload;
        self.count += 1;
        true
    }

    const fn headers_and(&self, payload: usize) -> usize {
        self.layout.headers + payload
    }

    /// Whether segmentation would produce the headers of `next`.
    fn continues(&self, first: &[u8], next: &[u8]) -> bool {
        let Layout { version, ip, transport: tcp, headers, .. } = self.layout;
        let same = |from: usize, to: usize| first[from..to] == next[from..to];
        let same_ip = match version {
            Version::V4 => {
                let id = |frame: &[u8]| u16_at(frame, ip + V4_ID);
                same(0, ip + V4_TOTAL_LEN)
                    && id(next) == id(first).map(|id| id.wrapping_add(self.count as u16))
                    && same(ip + V4_ID + 2, ip + V4_CHECKSUM)
                    && same(ip + V4_ADDRESSES, tcp)
            }
            Version::V6 => same(0, ip + V6_PAYLOAD_LEN) && same(ip + V6_PAYLOAD_LEN + 2, tcp),
        };
        let flags = |frame: &[u8]| frame[tcp + TCP_FLAGS];
        same_ip
            && same(tcp, tcp + TCP_SEQ)
            && u32_at(&next[tcp..], TCP_SEQ) == u32_at(&first[tcp..], TCP_SEQ).wrapping_add(self.payload as u32)
            && same(tcp + TCP_SEQ + 4, tcp + TCP_FLAGS)
            && flags(first) & !CWR == flags(next) & !(FIN | PSH)
            && same(tcp + TCP_FLAGS + 1, tcp + TCP_CHECKSUM)
            && same(tcp + TCP_CHECKSUM + 2, headers)
    }

    /// Number of segments.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Writes the headers of the super-packet of the run that begins with `first` to `out`, with the pseudo header's sum as
    /// checksum, and returns the kernel's offload parameters; `None` if they do not fit. The payloads of all segments follow
    /// these headers.
    pub fn join(&self, first: &[u8], out: &mut [u8]) -> Option<Joined> {
        let layout = self.layout;
        let out = out.get_mut(..layout.headers)?;
        out.copy_from_slice(&first[..layout.headers]);
        layout.set_ip(out, self.payload, 0);
        let pseudo = layout.pseudo_sum(out, self.headers_and(self.payload) - layout.transport);
        out[layout.transport + TCP_FLAGS] |= self.last_flags;
        put_u16(&mut out[layout.transport..], TCP_CHECKSUM, pseudo);
        Some(Joined {
            headers: layout.headers,
            size: self.size as u16,
            transport: layout.transport,
            is_v6: layout.version == Version::V6,
            cwr: out[layout.transport + TCP_FLAGS] & CWR != 0,
        })
    }
}

/// Offload parameters with which the kernel segments a super-packet of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Length of all headers.
    pub headers: usize,
    /// Payload bytes of each segment but the last.
    pub size: u16,
    /// Offset of the TCP header.
    pub transport: usize,
    /// Whether it is IPv6, else IPv4.
    pub is_v6: bool,
    /// Whether the first segment, and no other, has "congestion window reduced".
    pub cwr: bool,
}

/// The payload of a frame of TCP or UDP; empty for others.
pub fn payload(frame: &[u8]) -> &[u8] {
    Layout::of(frame).map_or(&[], |layout| &frame[layout.headers..layout.end])
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// # Panics
/// If it is out of bounds.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use etherparse::{PacketBuilder, PacketHeaders, TransportHeader};
    use proptest::prelude::*;

    /// A super-packet: IP version, protocol, VLAN tag, TCP options, and TCP flags.
    #[derive(Clone, Copy, Debug)]
    struct Shape {
        v6: bool,
        tcp: bool,
        tagged: bool,
        options: bool,
        flags: u8,
    }

    fn build(shape: Shape, payload: &[u8]) -> Vec<u8> {
        let eth = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let ip = match (shape.v6, shape.tagged) {
            (false, false) => eth.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
            (true, false) => eth.ipv6([1; 16], [2; 16], 64),
            (false, true) => eth.single_vlan(7.try_into().unwrap()).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
            (true, true) => eth.single_vlan(7.try_into().unwrap()).ipv6([1; 16], [2; 16], 64),
        };
        let mut frame = Vec::new();
        match shape.tcp {
            true => {
                let tcp = ip.tcp(80, 4000, u32::MAX - 2000, 500).ack(99);
                let options = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
                let tcp = if shape.options { tcp.options_raw(&options).unwrap() } else { tcp };
                tcp.write(&mut frame, payload).unwrap();
                let at = Layout::of(&frame).unwrap().transport;
                frame[at + TCP_FLAGS] |= shape.flags;
            }
            false => ip.udp(53, 4000).write(&mut frame, payload).unwrap(),
        }
        if !shape.v6 {
            // The kernel increments identifications, also across the overflow.
            let layout = Layout::of(&frame).unwrap();
            put_u16(&mut frame, layout.ip + V4_ID, 0xfffe);
        }
        frame
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        let flags = prop_oneof![Just(0), Just(PSH), Just(FIN | PSH), Just(CWR), Just(CWR | PSH)];
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), flags)
            .prop_map(|(v6, tcp, tagged, options, flags)| Shape { v6, tcp, tagged, options, flags })
    }

    fn cut(frame: &[u8], size: u16) -> Vec<Vec<u8>> {
        let segments = Segments::of(frame, size).expect("TCP or UDP");
        let write = |n| {
            let mut out = [0; 2048];
            segments.write(n, &mut out).map(|len| out[..len].to_vec()).expect("fits")
        };
        (0..segments.count()).map(write).collect()
    }

    /// Checks with another parser that the lengths agree and the checksums are right.
    fn assert_right(frame: &[u8]) {
        let read = PacketHeaders::from_ethernet_slice(frame).expect("whole");
        let (net, payload) = (read.net.expect("IP"), read.payload.slice());
        if let etherparse::NetHeaders::Ipv4(ip, _) = &net {
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        }
        match (read.transport.expect("TCP or UDP"), net) {
            (TransportHeader::Tcp(tcp), etherparse::NetHeaders::Ipv4(ip, _)) => {
                assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(&ip, payload).unwrap());
            }
            (TransportHeader::Tcp(tcp), etherparse::NetHeaders::Ipv6(ip, _)) => {
                assert_eq!(tcp.checksum, tcp.calc_checksum_ipv6(&ip, payload).unwrap());
            }
            (TransportHeader::Udp(udp), etherparse::NetHeaders::Ipv4(ip, _)) => {
                assert_eq!(udp.checksum, udp.calc_checksum_ipv4(&ip, payload).unwrap());
                assert_eq!(usize::from(udp.length), 8 + payload.len());
            }
            (TransportHeader::Udp(udp), etherparse::NetHeaders::Ipv6(ip, _)) => {
                assert_eq!(udp.checksum, udp.calc_checksum_ipv6(&ip, payload).unwrap());
            }
            other => panic!("{other:?}"),
        }
    }

    fn flags(frame: &[u8]) -> u8 {
        frame[Layout::of(frame).unwrap().transport + TCP_FLAGS]
    }

    proptest! {
        #[test]
        fn segments_are_complete_packets_with_the_same_payload(shape in shapes(), len in 1usize..6000, size in 1u16..1460) {
            let data: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let frame = build(shape, &data);
            let size = size.max(len.div_ceil(64) as u16);
            let segments = cut(&frame, size);
            prop_assert_eq!(segments.len(), len.div_ceil(size.into()));
            segments.iter().for_each(|segment| assert_right(segment));
            let carried: Vec<u8> = segments.iter().flat_map(|segment| payload(segment).iter().copied()).collect();
            prop_assert_eq!(carried, data);
            if shape.tcp {
                let [first, .., last] = &segments[..] else { return Ok(()) };
                prop_assert_eq!((flags(first) & (FIN | PSH | CWR), flags(last) & (FIN | PSH | CWR)), (shape.flags & CWR, shape.flags & (FIN | PSH)));
            }
        }

        #[test]
        fn joined_runs_are_segmented_into_the_same_frames(shape in shapes(), len in 2usize..6000, size in 64u16..1460) {
            prop_assume!(shape.tcp && len > size.into());
            let data: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let segments = cut(&build(shape, &data), size);
            let first = &segments[0];
            let mut run = Run::begin(first).expect("one may follow");
            for next in &segments[1..] {
                prop_assert!(run.extend(first, next));
            }
            prop_assert_eq!(run.count(), segments.len());
            let mut head = [0; 160];
            let joined = run.join(first, &mut head).expect("fits");
            prop_assert_eq!((joined.size, joined.is_v6, joined.cwr), (size, shape.v6, shape.flags & CWR != 0));
            let whole: Vec<u8> = head[..joined.headers].iter().copied().chain(data).collect();
            prop_assert_eq!(cut(&whole, joined.size), segments.clone());
            // Nothing follows a short segment, or one with PSH; and nothing out of order does.
            let last = &segments[segments.len() - 1];
            prop_assert!(!run.clone().extend(first, last));
        }

        #[test]
        fn any_bytes_are_survived(frame: Vec<u8>, next: Vec<u8>, size: u16) {
            if let Some(segments) = Segments::of(&frame, size) {
                segments.write(segments.count() - 1, &mut [0; 2048]);
            }
            if let Some(mut run) = Run::begin(&frame) {
                run.extend(&frame, &next);
                run.join(&frame, &mut [0; 160]);
            }
        }
    }

    /// Changes each byte of the headers in turn, so that every run covers all. The two checksums are recomputed.
    #[test]
    fn a_segment_with_any_other_header_is_not_joined() {
        for (v6, headers, checksums) in [(false, 66, [24..26, 50..52]), (true, 86, [0..0, 70..72])] {
            let shape = Shape { v6, tcp: true, tagged: false, options: true, flags: 0 };
            let segments = cut(&build(shape, &[5; 3000]), 1000);
            let run = Run::begin(&segments[0]).expect("one may follow");
            assert!(run.clone().extend(&segments[0], &segments[1]));
            let flags_at = Layout::of(&segments[0]).expect("TCP").transport + TCP_FLAGS;
            for at in (0..headers).filter(|at| !checksums.iter().any(|field| field.contains(at))) {
                for flip in 1..=u8::MAX {
                    let mut other = segments[1].clone();
                    other[at] ^= flip;
                    let may_end_the_run = at == flags_at && flip & !(FIN | PSH) == 0;
                    assert_eq!(
                        run.clone().extend(&segments[0], &other),
                        may_end_the_run,
                        "byte {at} changed by {flip:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_segment_with_bytes_behind_its_packet_is_not_joined() {
        let shape = Shape { v6: false, tcp: true, tagged: false, options: false, flags: 0 };
        let segments = cut(&build(shape, &[5; 3000]), 1000);
        let padded = |at: usize| segments[at].iter().copied().chain([0]).collect::<Vec<u8>>();
        assert!(Run::begin(&padded(0)).is_none());
        assert!(!Run::begin(&segments[0]).expect("one may follow").extend(&segments[0], &padded(1)));
    }

    #[test]
    fn segments_without_data_or_with_syn_or_fin_begin_no_run() {
        let shape = |flags| Shape { v6: false, tcp: true, tagged: false, options: false, flags };
        for flags in [SYN, FIN, RST, PSH, URG] {
            assert!(Run::begin(&build(shape(flags), &[1; 100])).is_none(), "{flags}");
        }
        assert!(Run::begin(&build(shape(0), &[])).is_none());
        assert!(Run::begin(&build(Shape { tcp: false, ..shape(0) }, &[1; 100])).is_none());
        assert!(Run::begin(&build(shape(0), &[1; 100])).is_some());
    }

    #[test]
    fn fragments_and_packets_that_are_cut_short_have_no_segments() {
        let shape = Shape { v6: false, tcp: true, tagged: false, options: false, flags: 0 };
        let frame = build(shape, &[1; 3000]);
        assert!(Segments::of(&frame[..frame.len() - 1], 1000).is_none());
        assert!(Segments::of(&frame, 0).is_none());
        let mut fragment = frame;
        fragment[20] = 0x20;
        assert!(Segments::of(&fragment, 1000).is_none());
    }
}
