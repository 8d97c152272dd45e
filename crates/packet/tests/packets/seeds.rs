//! The initial frames of the fuzzer reach the intended parsers.

use evenair_packet::{Content, Control, Encapsulation, Membership, Port, Transport, parse};

const SEEDS: &str = include_str!("../../../../fuzz/seeds/frames");

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("two hexadecimal digits")).collect()
}

#[test]
fn every_seed_is_parsed_as_its_name_says() {
    let seeds: Vec<_> = SEEDS.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(seeds.len(), 11);
    for line in seeds {
        let (name, hex) = line.split_once(' ').expect("a name and bytes");
        let meta = parse(Port::Wire, &bytes(hex));
        // Encapsulated frames have a datagram from port 5000 to port 6000 inside.
        let (control, encapsulation) = match name {
            "pppoe" => (None, Some(Encapsulation::Pppoe)),
            "mpls" => (None, Some(Encapsulation::Mpls)),
            "gre" => (None, Some(Encapsulation::Gre)),
            "vxlan" => (None, Some(Encapsulation::Vxlan)),
            "capwap" => (None, Some(Encapsulation::Capwap)),
            "membership" => (Some(Control::Membership), None),
            "dhcp" => (Some(Control::Dhcp), None),
            _ => panic!("no kind {name}"),
        };
        assert_eq!((meta.control, meta.encapsulation), (control, encapsulation), "{line}");
        let joins = match &meta.content {
            Content::Membership(found) => matches!(&**found, Membership::Report { joined, .. } if joined.len() == 1),
            _ => false,
        };
        assert_eq!(joins, name == "membership", "{line}: {:?}", meta.content);
        let inner = Transport::Udp { src_port: 5000, dst_port: 6000 };
        assert_eq!(meta.ip.is_some_and(|ip| ip.transport == inner), encapsulation.is_some(), "{line}");
    }
}
