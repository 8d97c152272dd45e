//! Parsing and recording over built, random and mutated frames.

use core::net::IpAddr;

use etherparse::{IpFragOffset, IpNumber, Ipv6FragmentHeader, PacketBuilder, TcpOptionElement};
use evenair_packet::{
    Claim, Content, Control, Encapsulation, Encoding, FlowKey, HostName, IpMeta, Lease, MacAddr, Membership,
    PacketMeta, Port, RtpMeta, SdpStream, SipMeta, SipStep, Subnet, TcpFlags, TcpMeta, Timestamps, Transport, Vlan,
    parse,
};
use evenair_units::Bytes;
use minicbor::{Decoder, decode};
use proptest::prelude::*;

const SRC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const DST: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn tcp_frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(SRC, DST)
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(5001, 443, 1000, 65535)
        .ack(7777)
        .syn()
        .options(&[TcpOptionElement::MaximumSegmentSize(1460), TcpOptionElement::WindowScale(7)])
        .unwrap()
        .write(&mut frame, payload)
        .unwrap();
    frame
}

#[test]
fn timestamps_are_read_with_other_options_around_them() {
    let options = [
        TcpOptionElement::SelectiveAcknowledgement((1, 2), [None; 3]),
        TcpOptionElement::Noop,
        TcpOptionElement::Timestamp(7, 9),
    ];
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(SRC, DST)
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(5001, 443, 1000, 65535)
        .ack(7777)
        .options(&options)
        .unwrap()
        .write(&mut frame, b"x")
        .unwrap();
    let meta = parse(Port::Wlan, &frame);
    let tcp = meta.tcp().expect("TCP");
    assert_eq!((tcp.timestamps, tcp.sacked_to), (Some(Timestamps { value: 7, echo: 9 }), Some(2)));
}

fn tagged(frame: &[u8], tags: &[(u16, u16)]) -> Vec<u8> {
    let mut out = frame[..12].to_vec();
    for (tpid, tci) in tags {
        out.extend_from_slice(&tpid.to_be_bytes());
        out.extend_from_slice(&tci.to_be_bytes());
    }
    out.extend_from_slice(&frame[12..]);
    out
}

/// An IPv6 packet whose extension headers are given as raw bytes, `first` being the number of the first one.
fn v6_frame(first: u8, extensions: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut frame = [DST, SRC].concat();
    frame.extend_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend_from_slice(&((extensions.len() + rest.len()) as u16).to_be_bytes());
    frame.extend_from_slice(&[first, 64]);
    frame.extend_from_slice(&[1; 16]);
    frame.extend_from_slice(&[2; 16]);
    frame.extend_from_slice(extensions);
    frame.extend_from_slice(rest);
    frame
}

#[test]
fn tcp_over_ipv4() {
    let frame = tcp_frame(b"hello");
    let meta = parse(Port::Wire, &frame);
    assert_eq!((meta.src, meta.dst, meta.vlan, meta.ether_type), (MacAddr(SRC), MacAddr(DST), None, 0x0800));
    assert_eq!(meta.ip_len(), Bytes(frame.len() as u64 - 14));
    let tcp = meta.tcp().unwrap();
    assert_eq!((tcp.src_port, tcp.dst_port, tcp.seq, tcp.ack, tcp.window), (5001, 443, 1000, 7777, 65535));
    assert_eq!((tcp.payload, tcp.mss, tcp.window_scale, tcp.sacked_to), (Bytes(5), Some(1460), Some(7), None));
    assert_eq!(tcp.flags, TcpFlags::SYN.with(TcpFlags::ACK));
    assert_eq!(tcp.seq_end(), 1006);
}

#[test]
fn ethernet_padding_is_not_payload() {
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2(SRC, DST).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1, 2, 3, 4).ack(5);
    builder.write(&mut frame, &[]).unwrap();
    frame.resize(60, 0);
    let meta = parse(Port::Wlan, &frame);
    assert_eq!((meta.frame_len, meta.ip_len()), (Bytes(60), Bytes(40)));
    assert!(meta.tcp().unwrap().is_pure_ack());
}

#[test]
fn vlan_and_double_tags() {
    let plain = parse(Port::Wire, &tcp_frame(b"x"));
    let one = parse(Port::Wire, &tagged(&tcp_frame(b"x"), &[(0x8100, 0xa064)]));
    assert_eq!((one.vlan, &one.ip), (Some(100.into()), &plain.ip));
    let two = parse(Port::Wire, &tagged(&tcp_frame(b"x"), &[(0x88a8, 7), (0x8100, 100)]));
    assert_eq!((two.vlan, &two.ip, two.ip_len()), (Some(Vlan { id: 7, inner: Some(100) }), &plain.ip, plain.ip_len()));
    let endless = parse(Port::Wire, &tagged(&tcp_frame(b"x"), &[(0x8100, 1); 9]));
    assert_eq!((endless.vlan, endless.ip), (Some(Vlan { id: 1, inner: Some(1) }), None));
}

#[test]
fn a_priority_tag_names_no_vlan() {
    let plain = parse(Port::Wire, &tcp_frame(b"x"));
    let priority = parse(Port::Wire, &tagged(&tcp_frame(b"x"), &[(0x8100, 0xe000)]));
    assert_eq!((priority.vlan, &priority.ip), (None, &plain.ip));
    let inside = parse(Port::Wire, &tagged(&tcp_frame(b"x"), &[(0x88a8, 0xe000), (0x8100, 0x2014)]));
    assert_eq!(inside.vlan, Some(20.into()));
    assert_eq!([Vlan::from(20), Vlan { id: 7, inner: Some(20) }].map(|vlan| vlan.to_string()), ["20", "7.20"]);
}

#[test]
fn ipv6_extension_headers_are_walked() {
    // Hop-by-hop (next: destination options), destination options (next: UDP), both padded with one PadN option.
    let extensions = [60, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0];
    let meta = parse(Port::Wire, &v6_frame(0, &extensions, &[0, 53, 0, 99, 0, 8, 0, 0]));
    let ip = meta.ip.unwrap();
    assert_eq!((ip.protocol, ip.total_len, ip.fragment), (17, Bytes(64), false));
    assert_eq!(ip.transport, Transport::Udp { src_port: 53, dst_port: 99 });
}

#[test]
fn fragments_have_no_ports() {
    let fragment = Ipv6FragmentHeader::new(IpNumber::TCP, IpFragOffset::ZERO, true, 9).to_bytes();
    let ip = parse(Port::Wire, &v6_frame(44, &fragment, &[0; 40])).ip.unwrap();
    assert_eq!((ip.fragment, ip.protocol, &ip.transport), (true, 6, &Transport::Other));
    assert!(!FlowKey::of(&ip).0.names_ports());

    let mut frame = tcp_frame(b"x");
    frame[20] |= 0x20; // more fragments
    let ip = parse(Port::Wire, &frame).ip.unwrap();
    assert_eq!((ip.fragment, ip.transport), (true, Transport::Other));
}

#[test]
fn truncated_and_contradictory_headers_are_not_understood() {
    let frame = tcp_frame(b"hello");
    for len in 0..frame.len() {
        let meta = parse(Port::Wire, &frame[..len]);
        assert_eq!(meta.ip, None, "{len} bytes of {}", frame.len());
        assert_eq!(meta.frame_len, Bytes(len as u64));
    }
    let mut short_transport = frame;
    short_transport[16..18].copy_from_slice(&30u16.to_be_bytes()); // the IP header ends the packet after 10 bytes of TCP
    assert_eq!(parse(Port::Wire, &short_transport).ip.unwrap().transport, Transport::Other);
}

#[test]
fn arp_is_recognised() {
    let mut frame = [[0xff; 6], SRC].concat();
    frame.extend_from_slice(&[0x08, 0x06]);
    frame.extend_from_slice(&[0; 28]);
    let meta = parse(Port::Wlan, &frame);
    assert_eq!((meta.ether_type, &meta.ip, meta.ip_len()), (0x0806, &None, Bytes(28)));
    assert!(meta.dst.is_multicast());
}

fn any_ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

/// Length up to the longest that a recording may have.
fn length(any: u64) -> Bytes {
    Bytes(any % ((1 << 20) + 1))
}

/// Encodes a packet as in a recording.
fn write(meta: &PacketMeta) -> Vec<u8> {
    let mut bytes = Vec::new();
    minicbor::encode(meta, &mut bytes).expect("a vector takes any bytes");
    bytes
}

/// Decodes a packet at the beginning of some bytes, and returns their number.
fn read(bytes: &[u8]) -> Result<(PacketMeta, usize), decode::Error> {
    let mut decoder = Decoder::new(bytes);
    Ok((decoder.decode()?, decoder.position()))
}

#[test]
fn impossible_values_are_refused() {
    let refused = |meta: PacketMeta| read(&write(&meta)).expect_err("refused").to_string();
    let rtp = parse(Port::Wlan, &udp_frame((4000, 5004), &RTP));
    let rtp_type = |payload_type| match rtp.content {
        Content::Rtp(header) => PacketMeta { content: Content::Rtp(RtpMeta { payload_type, ..header }), ..rtp.clone() },
        _ => panic!("RTP"),
    };
    assert!(read(&write(&rtp_type(127))).is_ok());
    assert!(refused(rtp_type(128)).contains("no payload type"));
    let stream = SdpStream {
        address: IpAddr::from([192, 0, 2, 1]),
        port: 4000,
        payload_type: 0,
        encoding: Encoding::G711,
        clock_hz: 8_000,
        packet_ms: 20,
    };
    let sip = |streams| SipMeta { call: 7, step: SipStep::Offer, streams: vec![stream; streams] };
    let content = |streams| PacketMeta { content: Content::Sip(sip(streams).into()), ..rtp.clone() };
    assert!(read(&write(&content(4))).is_ok());
    assert!(refused(content(5)).contains("too many streams"));
}

#[test]
fn an_unknown_transport_or_content_is_an_error() {
    let written = write(&parse(Port::Wlan, &udp_frame((4000, 5004), &RTP)));
    // UDP between these ports, and RTP of type 8.
    for known in [&[0x83, 1, 0x19, 0x0f, 0xa0][..], &[0x82, 1, 0x85, 8]] {
        let at = written.windows(known.len()).position(|bytes| bytes == known).expect("it is there");
        let mut changed = written.clone();
        changed[at + 1] = 23;
        let error = read(&changed).expect_err("unknown").to_string();
        assert!(error.contains("23"), "{error}");
    }
}

#[test]
fn invalid_subnets_and_names_are_refused() {
    let subnet = |address: [u8; 4], prefix: u8| {
        let mut bytes = Vec::new();
        minicbor::encode((IpAddr::from(address), prefix), &mut bytes).expect("a vector takes any bytes");
        decode::<Subnet>(&bytes).ok()
    };
    assert_eq!(subnet([10, 0, 0, 0], 32), Some("10.0.0.0/32".parse().unwrap()));
    assert_eq!(subnet([10, 0, 0, 0], 33), None);
    let name = |text: &str| {
        let mut bytes = Vec::new();
        minicbor::encode(text, &mut bytes).expect("a vector takes any bytes");
        decode::<HostName>(&bytes).ok()
    };
    assert_eq!(name("phone"), HostName::new(b"phone"));
    for wrong in ["", "phone.home", " phone", "caf\u{e9}", &"x".repeat(64)] {
        assert_eq!(name(wrong), None, "{wrong:?}");
    }
}

#[test]
fn an_impossible_length_is_refused() {
    let mut meta = parse(Port::Wlan, &tcp_frame(b""));
    meta.frame_len = Bytes((1 << 20) + 1);
    let error = read(&write(&meta)).expect_err("too long");
    assert!(error.to_string().contains("longer than any packet"), "{error}");
}

fn any_tcp() -> impl Strategy<Value = TcpMeta> {
    let ports = any::<(u16, u16, u32, u32, u8, u16, u64)>();
    (ports, any::<(Option<u8>, Option<u16>, Option<u32>, Option<(u32, u32)>)>()).prop_map(|(p, o)| TcpMeta {
        src_port: p.0,
        dst_port: p.1,
        seq: p.2,
        ack: p.3,
        flags: TcpFlags(p.4),
        window: p.5,
        payload: length(p.6),
        window_scale: o.0,
        mss: o.1,
        sacked_to: o.2,
        timestamps: o.3.map(|(value, echo)| Timestamps { value, echo }),
    })
}

fn any_transport() -> impl Strategy<Value = Transport> {
    prop_oneof![
        Just(Transport::Other),
        any::<u8>().prop_map(|kind| Transport::Icmp { kind }),
        any::<(u16, u16)>().prop_map(|(src_port, dst_port)| Transport::Udp { src_port, dst_port }),
        any_tcp().prop_map(Transport::Tcp),
    ]
}

fn any_content() -> impl Strategy<Value = Content> {
    let rtp = any::<(u8, bool, u16, u32, u32)>().prop_map(|(kind, marker, sequence, timestamp, source)| RtpMeta {
        payload_type: kind & 0x7f,
        marker,
        sequence,
        timestamp,
        source,
    });
    let stream = (any_ip(), any::<(u16, u8, u32, u16)>(), 0usize..4).prop_map(|(address, plain, encoding)| SdpStream {
        address,
        port: plain.0,
        payload_type: plain.1,
        encoding: [Encoding::G711, Encoding::G722, Encoding::G729, Encoding::Other][encoding],
        clock_hz: plain.2,
        packet_ms: plain.3,
    });
    let sip = (any::<u64>(), 0usize..3, proptest::collection::vec(stream, 0..=4)).prop_map(|(call, step, streams)| {
        let step = [SipStep::Offer, SipStep::Answer, SipStep::End][step];
        Content::Sip(SipMeta { call, step, streams }.into())
    });
    let claim =
        (any_ip(), any::<[u8; 6]>()).prop_map(|(address, mac)| Content::Claim(Claim { address, mac: MacAddr(mac) }));
    let name = proptest::option::of("[a-z][a-z-]{0,61}[a-z]");
    let lease = (any::<([u8; 6], Option<[u8; 4]>, u32)>(), name).prop_map(|((mac, granted, seconds), name)| {
        let name = name.and_then(|name| HostName::new(name.as_bytes()));
        Content::Lease(Lease { mac: MacAddr(mac), granted: granted.map(Into::into), seconds, name }.into())
    });
    let groups = || proptest::collection::vec(any_ip(), 0..4);
    let membership = (groups(), groups()).prop_map(|(joined, left)| {
        Content::Membership(Membership::Report { joined: joined.into(), left: left.into() }.into())
    });
    let query = Just(Content::Membership(Membership::Query.into()));
    prop_oneof![Just(Content::Opaque), rtp.prop_map(Content::Rtp), sip, claim, lease, membership, query]
}

fn any_meta() -> impl Strategy<Value = PacketMeta> {
    let ip = (any_ip(), any_ip(), any::<(u8, u8, u8, u64, bool)>(), any_transport()).prop_map(
        |(src, dst, (protocol, dscp, ecn, len, fragment), transport)| IpMeta {
            src,
            dst,
            protocol,
            dscp,
            ecn,
            total_len: length(len),
            fragment,
            transport,
        },
    );
    let link = any::<(bool, u64, [u8; 6], [u8; 6], Option<(u16, Option<u16>)>, u16)>();
    let kind = (0usize..=6, 0usize..=5).prop_map(|(control, encapsulation)| {
        let controls = [
            Control::Arp,
            Control::Neighbour,
            Control::Membership,
            Control::Dhcp,
            Control::Authentication,
            Control::Link,
        ];
        let encapsulations = [
            Encapsulation::Pppoe,
            Encapsulation::Mpls,
            Encapsulation::Gre,
            Encapsulation::Vxlan,
            Encapsulation::Capwap,
        ];
        (controls.get(control).copied(), encapsulations.get(encapsulation).copied())
    });
    (link, proptest::option::of(ip), any_content(), kind).prop_map(|(l, ip, content, kind)| PacketMeta {
        ingress: if l.0 { Port::Wlan } else { Port::Wire },
        frame_len: length(l.1),
        src: MacAddr(l.2),
        dst: MacAddr(l.3),
        vlan: l.4.map(|(id, inner)| Vlan { id, inner }),
        ether_type: l.5,
        ip,
        content,
        control: kind.0,
        encapsulation: kind.1,
    })
}

proptest! {
    #[test]
    fn random_bytes_are_survived(frame in proptest::collection::vec(any::<u8>(), 0..200)) {
        let meta = parse(Port::Wlan, &frame);
        prop_assert_eq!(meta.frame_len, Bytes(frame.len() as u64));
    }

    #[test]
    fn mutated_frames_are_survived(
        which in 0usize..5,
        changes in proptest::collection::vec((0usize..160, any::<u8>()), 0..12),
        cut in 0usize..160,
    ) {
        let extensions = [60, 0, 1, 4, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0];
        let mut frame = match which {
            0 => tcp_frame(b"some payload"),
            1 => tagged(&tcp_frame(b"some payload"), &[(0x88a8, 7), (0x8100, 100)]),
            2 => v6_frame(0, &extensions, &[0x50; 60]),
            3 => v6_frame(44, &[6, 0, 0, 1, 0, 0, 0, 9], &[0x50; 60]),
            _ => v6_frame(51, &[6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9], &[0x50; 60]),
        };
        for (at, value) in changes {
            if let Some(byte) = frame.get_mut(at) {
                *byte = value;
            }
        }
        frame.truncate(frame.len() - cut.min(frame.len()) / 4);
        let meta = parse(Port::Wire, &frame);
        if let Some(ip) = &meta.ip {
            prop_assert!(ip.total_len.0 <= meta.frame_len.0);
            if let Transport::Tcp(tcp) = &ip.transport {
                prop_assert!(tcp.payload.0 + 40 <= ip.total_len.0);
            }
        }
    }

    #[test]
    fn recordings_round_trip(meta in any_meta(), tail: [u8; 3]) {
        let mut bytes = write(&meta);
        let len = bytes.len();
        bytes.extend_from_slice(&tail);
        prop_assert_eq!(read(&bytes).expect("just written"), (meta, len));
        for cut in 0..len {
            prop_assert!(read(&bytes[..cut]).is_err_and(|error| error.is_end_of_input()));
        }
    }

    #[test]
    fn random_recordings_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        if let Ok((_, consumed)) = read(&bytes) {
            prop_assert!(consumed <= bytes.len());
        }
    }
}

fn udp_frame(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(SRC, DST)
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(ports.0, ports.1)
        .write(&mut frame, payload)
        .unwrap();
    frame
}

/// RFC 3550, 5.1: payload type 8, number 0x1234, timestamp 10,000.
const RTP: [u8; 16] = [0x80, 8, 0x12, 0x34, 0, 0, 0x27, 0x10, 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4];

#[test]
fn rtp_is_parsed_on_any_port_up_to_the_end_of_the_datagram() {
    let meta = parse(Port::Wlan, &udp_frame((4000, 5004), &RTP));
    let rtp = RtpMeta { payload_type: 8, marker: false, sequence: 0x1234, timestamp: 10_000, source: 0xdead_beef };
    assert_eq!(meta.rtp(), Some(&rtp));
    // Ethernet pads short frames: bytes behind the datagram's end do not belong to it.
    let mut padded = udp_frame((4000, 5004), &RTP[..4]);
    padded.extend_from_slice(&RTP[4..]);
    assert_eq!(parse(Port::Wlan, &padded).content, Content::Opaque);
    assert_eq!(parse(Port::Wlan, &tcp_frame(&RTP)).content, Content::Opaque);
}

#[test]
fn sip_is_read_from_datagrams_and_segments_at_its_port() {
    let bye = b"BYE sip:alice@192.0.2.4 SIP/2.0\r\nCall-ID: 7@box\r\nCSeq: 2 BYE\r\n\r\n";
    let Content::Sip(sip) = parse(Port::Wlan, &udp_frame((5060, 5061), bye)).content else { panic!("it is SIP") };
    assert_eq!((sip.step, sip.streams.len()), (SipStep::End, 0));
    assert_eq!(parse(Port::Wlan, &udp_frame((5062, 5061), bye)).content, Content::Opaque);
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(SRC, DST)
        .ipv6([1; 16], [2; 16], 64)
        .tcp(40_000, 5060, 1, 65535)
        .write(&mut frame, bye)
        .unwrap();
    assert_eq!(parse(Port::Wire, &frame).content, Content::Sip(sip));
}

/// A frame of ARP or IPv6 from [`SRC`], in one VLAN.
fn frame_of(ether_type: u16, body: &[u8]) -> Vec<u8> {
    let mut frame = [DST, SRC].concat();
    frame.extend_from_slice(&[0x81, 0, 0, 30]);
    frame.extend_from_slice(&ether_type.to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

#[test]
fn address_claims_are_parsed_from_arp_and_neighbour_discovery() {
    // `arping -U 10.0.0.1` as captured, and the same on behalf of another host.
    let arp = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 255, 255, 255, 255, 255, 255, 10, 0, 0, 1];
    let meta = parse(Port::Wlan, &frame_of(0x0806, &arp));
    let claim = Claim { address: IpAddr::from([10, 0, 0, 1]), mac: MacAddr(SRC) };
    assert_eq!((&meta.content, meta.vlan, &meta.ip), (&Content::Claim(claim), Some(30.into()), &None));
    let mut foreign = arp;
    foreign[13] = 9;
    assert_eq!(parse(Port::Wlan, &frame_of(0x0806, &foreign)).content, Content::Opaque);
    // An advertisement of fe80::1 (RFC 4861, 4.4), on the link or routed.
    let own = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let advertisement = [&[136, 0, 0, 0, 0x20, 0, 0, 0][..], &own, &[2, 1, 2, 0, 0, 0, 0, 1]].concat();
    for (hops, expected) in
        [(255, Content::Claim(Claim { address: IpAddr::from(own), mac: MacAddr(SRC) })), (64, Content::Opaque)]
    {
        let header = [&[0x60, 0, 0, 0, 0, advertisement.len() as u8, 58, hops][..], &own, &own].concat();
        let meta = parse(Port::Wlan, &frame_of(0x86dd, &[header, advertisement.clone()].concat()));
        assert_eq!(meta.content, expected);
    }
}

#[test]
fn names_are_read_from_dhcp() {
    let mut message = vec![0; 236];
    message[..3].copy_from_slice(&[1, 1, 6]);
    message[28..34].copy_from_slice(&SRC);
    message.extend_from_slice(b"\x63\x82\x53\x63\x35\x01\x03\x0c\x06tablet\xff");
    let Content::Lease(lease) = parse(Port::Wlan, &udp_frame((68, 67), &message)).content else { panic!("DHCP") };
    assert_eq!((lease.mac, lease.name.map(|name| name.as_str().to_owned())), (MacAddr(SRC), Some("tablet".into())));
    assert_eq!(parse(Port::Wlan, &udp_frame((68, 53), &message)).content, Content::Opaque);
}
