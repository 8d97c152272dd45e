//! Encapsulated packets: their station and flow, and that edits leave them alone.

use etherparse::PacketBuilder;
use evenair_packet::{Control, Edits, Encapsulation, FlowKey, MacAddr, PacketMeta, Port, Transport, Vlan, parse};

const ACCESS_POINT: [u8; 6] = [2, 0, 0, 0, 0, 0xa0];
const CONTROLLER: [u8; 6] = [2, 0, 0, 0, 0, 0xc0];
const STATION: [u8; 6] = [2, 0, 0, 0, 0, 1];
const SERVER: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// A datagram from a server to a station, as an Ethernet frame.
fn inner() -> Vec<u8> {
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2(SERVER, STATION).ipv4([10, 0, 0, 2], [10, 0, 0, 1], 64).udp(5000, 6000);
    builder.write(&mut frame, &[7; 100]).unwrap();
    frame
}

/// An Ethernet frame of this type between access point and controller.
fn outer(ether_type: u16, body: &[&[u8]]) -> Vec<u8> {
    [&ACCESS_POINT[..], &CONTROLLER, &ether_type.to_be_bytes()]
        .into_iter()
        .chain(body.iter().copied())
        .flatten()
        .copied()
        .collect()
}

/// A datagram from the controller to the access point.
fn datagram(dst_port: u16, payload: &[&[u8]]) -> Vec<u8> {
    let mut frame = Vec::new();
    let builder =
        PacketBuilder::ethernet2(CONTROLLER, ACCESS_POINT).ipv4([10, 9, 0, 1], [10, 9, 0, 2], 64).udp(50_000, dst_port);
    builder.write(&mut frame, &payload.concat()).unwrap();
    frame
}

/// A packet of this IP protocol from the controller to the access point.
fn ip(protocol: u8, payload: &[&[u8]]) -> Vec<u8> {
    let mut frame = Vec::new();
    let payload = payload.concat();
    let builder = PacketBuilder::ethernet2(CONTROLLER, ACCESS_POINT).ipv4([10, 9, 0, 1], [10, 9, 0, 2], 64);
    builder.write(&mut frame, etherparse::IpNumber(protocol), &payload).unwrap();
    frame
}

/// An 802.11 QoS data frame from an access point's distribution system to a station.
fn native(body: &[u8]) -> Vec<u8> {
    let header =
        [&[0x88, 0x02, 0, 0][..], &STATION, &ACCESS_POINT, &SERVER, &[0, 0, 0, 0], &[0xaa, 0xaa, 3, 0, 0, 0], &[8, 0]];
    [header.concat(), body.to_vec()].concat()
}

const VXLAN: [u8; 8] = [8, 0, 0, 0, 0, 0, 42, 0];
/// Two words of header, binding 802.11; with and without the flag of a native frame.
const CAPWAP: [u8; 8] = [0, 0x10, 0x02, 0, 0, 0, 0, 0];
const CAPWAP_NATIVE: [u8; 8] = [0, 0x10, 0x03, 0, 0, 0, 0, 0];
/// One label with the bottom bit.
const LABEL: [u8; 4] = [0, 0x01, 0x11, 0xff];

fn frames() -> Vec<(&'static str, Encapsulation, bool, Vec<u8>)> {
    let frame = inner();
    let packet = &frame[14..];
    let len = (packet.len() as u16 + 2).to_be_bytes();
    vec![
        ("PPPoE", Encapsulation::Pppoe, false, outer(0x8864, &[&[0x11, 0, 0, 7], &len, &[0, 0x21], packet])),
        ("MPLS", Encapsulation::Mpls, false, outer(0x8847, &[&[0, 0, 0x20, 0xff], &LABEL, packet])),
        ("Ethernet over MPLS", Encapsulation::Mpls, true, outer(0x8847, &[&LABEL, &[0; 4], &frame])),
        ("GRE", Encapsulation::Gre, false, ip(47, &[&[0, 0, 8, 0], packet])),
        ("GRE with key", Encapsulation::Gre, true, ip(47, &[&[0x20, 0, 0x65, 0x58], &[0, 0, 0, 9], &frame])),
        ("VXLAN", Encapsulation::Vxlan, true, datagram(4789, &[&VXLAN, &frame])),
        ("CAPWAP", Encapsulation::Capwap, true, datagram(5247, &[&CAPWAP, &frame])),
        ("CAPWAP, 802.11", Encapsulation::Capwap, true, datagram(5247, &[&CAPWAP_NATIVE, &native(packet)])),
    ]
}

fn key(meta: &PacketMeta) -> FlowKey {
    meta.flow().0
}

#[test]
fn the_inner_packet_is_queued() {
    let plain = parse(Port::Wire, &inner());
    for (name, kind, names_station, frame) in frames() {
        let meta = parse(Port::Wire, &frame);
        assert_eq!((meta.encapsulation, key(&meta)), (Some(kind), key(&plain)), "{name}");
        assert_eq!(meta.ip_len(), plain.ip_len(), "{name}");
        let ip = meta.ip.as_ref().expect("IP");
        assert_eq!(ip.transport, Transport::Udp { src_port: 5000, dst_port: 6000 }, "{name}");
        let ends = if names_station { (SERVER, STATION) } else { (meta.src.0, meta.dst.0) };
        assert_eq!((meta.src, meta.dst), (MacAddr(ends.0), MacAddr(ends.1)), "{name}");
        assert!(!meta.is_unread(), "{name}");
    }
}

#[test]
fn edits_leave_the_inner_packet_unchanged() {
    let edits = Edits { window: Some(9), congestion: true, dscp: None };
    for (name, _, _, frame) in frames() {
        let mut edited = frame.clone();
        edits.apply(&mut edited);
        assert_eq!(edited, frame, "{name}");
        assert!(!parse(Port::Wire, &frame).takes_marks(), "{name}");
    }
}

#[test]
fn unreadable_packets_keep_the_outer_addresses() {
    let frame = inner();
    let unread = [
        ("CAPWAP with DTLS", datagram(5247, &[&[1, 0, 0, 0], &frame])),
        ("a fragment of CAPWAP", datagram(5247, &[&[0, 0x10, 0x02, 0x80, 0, 0, 0, 0], &frame])),
        ("another VXLAN", datagram(4789, &[&[0x0c, 0, 0, 0, 0, 0, 42, 0], &frame])),
        ("GRE of another version", ip(47, &[&[0x20, 1, 0x88, 0x0b], &frame])),
        ("GRE that is cut short", ip(47, &[&[0x80, 0, 0x65, 0x58]])),
    ];
    for (name, frame) in unread {
        let meta = parse(Port::Wire, &frame);
        assert_eq!((meta.encapsulation, meta.dst), (None, MacAddr(ACCESS_POINT)), "{name}");
        assert!(meta.ip.is_some() && meta.is_unread(), "{name}");
    }
    let discovery = parse(Port::Wire, &outer(0x8863, &[&[0x11, 9, 0, 0, 0, 0]]));
    assert!(discovery.ip.is_none() && discovery.encapsulation.is_none() && discovery.is_unread());
}

#[test]
fn outer_and_inner_tags_form_the_vlan() {
    let mut tagged = inner();
    tagged.splice(12..12, [0x81, 0, 0, 20]);
    let vlan = |frame: &[u8]| parse(Port::Wire, frame).vlan;
    let mut frame = datagram(4789, &[&VXLAN, &tagged]);
    assert_eq!(vlan(&frame), Some(Vlan::from(20)));
    frame.splice(12..12, [0x81, 0, 0, 7]);
    assert_eq!(vlan(&frame), Some(Vlan { id: 7, inner: Some(20) }));
}

#[test]
fn control_inside_of_a_tunnel_is_control() {
    let arp = [&[0xff; 6][..], &SERVER, &[8, 6], &[0; 46]].concat();
    let meta = parse(Port::Wire, &datagram(4789, &[&VXLAN, &arp]));
    assert_eq!((meta.control, meta.dst), (Some(Control::Arp), MacAddr::BROADCAST));
}
