//! Knowledge of stations from ARP, neighbour discovery and DHCP, with real frames as a box reads them.

use core::net::IpAddr;

use evenair_manager::{Counter, Event, Manager, Output, StationReport};
use evenair_packet::{MacAddr, Port, parse};
use evenair_units::{Instant, Span};

use crate::world::config;

const PHONE: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x11]);
const LAPTOP: MacAddr = MacAddr([0x00, 0x1b, 0x21, 0, 0, 0x22]);
const GATEWAY: MacAddr = MacAddr([0x00, 0x50, 0x56, 0, 0, 1]);
const ALL: MacAddr = MacAddr([0xff; 6]);

struct Net {
    manager: Manager<u64>,
    events: Vec<Event>,
    now: Instant,
}

struct Macs {
    src: MacAddr,
    dst: MacAddr,
}

/// A datagram with its IP header.
fn udp(from: ([u8; 4], u16), to: ([u8; 4], u16), payload: &[u8]) -> Vec<u8> {
    let len = (28 + payload.len()) as u16;
    let mut body = vec![0x45, 0];
    body.extend_from_slice(&len.to_be_bytes());
    body.extend_from_slice(&[0, 0, 0, 0, 64, 17, 0, 0]);
    body.extend_from_slice(&from.0);
    body.extend_from_slice(&to.0);
    for number in [from.1, to.1, len - 20, 0] {
        body.extend_from_slice(&number.to_be_bytes());
    }
    body.extend_from_slice(payload);
    body
}

impl Net {
    fn new() -> Self {
        Self { manager: Manager::new(config(&[]), Instant::ZERO), events: Vec::new(), now: Instant::ZERO }
    }

    fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += Span::from_secs(1);
            self.manager.handle_timeout(self.now);
        }
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.manager.poll_output() {
            if let Output::Event(event) = output {
                self.events.push(event);
            }
        }
    }

    fn frame(&mut self, ingress: Port, macs: Macs, ether_type: u16, body: &[u8]) {
        let frame = [&macs.dst.0[..], &macs.src.0, &ether_type.to_be_bytes(), body].concat();
        self.manager.handle_packet(self.now, 0, &parse(ingress, &frame));
        self.drain();
    }

    /// RFC 826: a request, or an answer, of this sender.
    fn arp(&mut self, ingress: Port, mac: MacAddr, address: [u8; 4]) {
        let body = [&[0, 1, 8, 0, 6, 4, 0, 2][..], &mac.0, &address, &ALL.0, &address].concat();
        self.frame(ingress, Macs { src: mac, dst: ALL }, 0x0806, &body);
    }

    /// RFC 4861, 4.4: an advertisement of this address.
    fn advertise(&mut self, mac: MacAddr, address: IpAddr) {
        let IpAddr::V6(address) = address else { panic!("of version 6") };
        let group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        let message = [&[136, 0, 0, 0, 0x20, 0, 0, 0][..], &address.octets(), &[2, 1], &mac.0].concat();
        let header = [&[0x60, 0, 0, 0, 0, 32, 58, 255][..], &address.octets(), &group].concat();
        let macs = Macs { src: mac, dst: MacAddr([0x33, 0x33, 0, 0, 0, 1]) };
        self.frame(Port::Wlan, macs, 0x86dd, &[header, message].concat());
    }

    /// RFC 2131: a request with a name, and its grant.
    fn dhcp(&mut self, from: Port, client: MacAddr, granted: [u8; 4], name: &str) {
        let mut message = vec![0; 236];
        message[..3].copy_from_slice(&[if granted == [0; 4] { 1 } else { 2 }, 1, 6]);
        message[16..20].copy_from_slice(&granted);
        message[28..34].copy_from_slice(&client.0);
        message.extend_from_slice(&[99, 130, 83, 99, 53, 1, if granted == [0; 4] { 3 } else { 5 }]);
        if !name.is_empty() {
            message.extend_from_slice(&[12, name.len() as u8]);
            message.extend_from_slice(name.as_bytes());
        }
        message.push(255);
        if from == Port::Wlan {
            let body = udp(([0; 4], 68), ([255; 4], 67), &message);
            self.frame(from, Macs { src: client, dst: ALL }, 0x0800, &body);
        } else {
            let body = udp(([10, 0, 0, 1], 67), ([255; 4], 68), &message);
            self.frame(from, Macs { src: GATEWAY, dst: ALL }, 0x0800, &body);
        }
    }

    fn station(&self, mac: MacAddr) -> Option<StationReport> {
        self.manager.report(self.now).stations.into_iter().find(|station| station.mac == mac)
    }

    fn addresses(&self, mac: MacAddr) -> Vec<String> {
        self.station(mac).map(|station| station.addresses.iter().map(ToString::to_string).collect()).unwrap_or_default()
    }

    fn contested(&self) -> Vec<(String, MacAddr, MacAddr)> {
        let contested = self.events.iter().filter_map(|event| match event {
            Event::AddressContested { address, holder, claimant } => Some((address.to_string(), *holder, *claimant)),
            _ => None,
        });
        contested.collect()
    }
}

#[test]
fn a_station_is_known_by_all_its_addresses_and_its_name() {
    let mut net = Net::new();
    net.dhcp(Port::Wlan, PHONE, [0; 4], "Anns-phone");
    net.dhcp(Port::Wire, PHONE, [10, 0, 0, 7], "");
    net.advertise(PHONE, "fe80::11".parse().unwrap());
    net.advertise(PHONE, "2001:db8::11".parse().unwrap());
    let phone = net.station(PHONE).expect("it was seen");
    assert_eq!((phone.name.as_deref(), phone.random_mac), (Some("Anns-phone"), true));
    assert_eq!(net.addresses(PHONE), ["2001:db8::11", "fe80::11", "10.0.0.7"]);
    // A quiet station, which only answers ARP.
    net.arp(Port::Wlan, LAPTOP, [10, 0, 0, 8]);
    let laptop = net.station(LAPTOP).expect("it was seen");
    assert_eq!((laptop.addresses.len(), laptop.name, laptop.random_mac), (1, None, false));
    // A grant to a wired host makes no station.
    net.dhcp(Port::Wire, MacAddr([0, 1, 2, 3, 4, 5]), [10, 0, 0, 9], "printer");
    assert_eq!(net.manager.report(net.now).stations.len(), 2);
    assert_eq!(net.contested(), []);
    assert_eq!(net.manager.counters()[Counter::Control], 6, "none of it was held");
}

#[test]
fn a_present_host_keeps_its_address() {
    let mut net = Net::new();
    net.arp(Port::Wire, GATEWAY, [10, 0, 0, 1]);
    net.arp(Port::Wlan, PHONE, [10, 0, 0, 7]);
    // The laptop answers for both addresses, as a man in the middle does, and uses the phone's name.
    (0..5).for_each(|_| {
        net.arp(Port::Wlan, LAPTOP, [10, 0, 0, 1]);
        net.arp(Port::Wlan, LAPTOP, [10, 0, 0, 7]);
        let body = udp(([10, 0, 0, 7], 9), ([192, 0, 2, 1], 9), b"x");
        net.frame(Port::Wlan, Macs { src: LAPTOP, dst: GATEWAY }, 0x0800, &body);
    });
    let contested = [("10.0.0.1".to_owned(), GATEWAY, LAPTOP), ("10.0.0.7".to_owned(), PHONE, LAPTOP)];
    assert_eq!(net.contested(), contested, "each is reported once");
    assert_eq!(net.addresses(PHONE), ["10.0.0.7"]);
    assert_eq!(net.addresses(LAPTOP), Vec::<String>::new());
    assert_eq!(net.manager.counters()[Counter::AddressesContested], 2);
    // It continues a minute later.
    net.wait(61);
    net.arp(Port::Wlan, LAPTOP, [10, 0, 0, 7]);
    assert_eq!(net.contested().len(), 3);
    // A frame in which a host assigns another's address to a third one has no effect.
    let body = [&[0, 1, 8, 0, 6, 4, 0, 2][..], &GATEWAY.0, &[10, 0, 0, 9], &ALL.0, &[10, 0, 0, 9]].concat();
    net.frame(Port::Wlan, Macs { src: LAPTOP, dst: ALL }, 0x0806, &body);
    assert_eq!((net.contested().len(), net.addresses(LAPTOP).len()), (3, 0));
    // A rogue server on the WLAN grants nothing.
    net.dhcp(Port::Wlan, PHONE, [10, 0, 0, 66], "stolen");
    assert_eq!(net.station(PHONE).expect("it is there").name, None);
}

#[test]
fn an_address_changes_hands_by_a_grant_or_after_its_holder_has_gone() {
    let mut net = Net::new();
    net.arp(Port::Wlan, PHONE, [10, 0, 0, 7]);
    net.arp(Port::Wlan, LAPTOP, [10, 0, 0, 8]);
    net.dhcp(Port::Wire, LAPTOP, [10, 0, 0, 7], "");
    assert_eq!((net.addresses(PHONE).len(), net.addresses(LAPTOP)), (0, vec!["10.0.0.7".into(), "10.0.0.8".into()]));
    net.wait(400);
    net.arp(Port::Wlan, PHONE, [10, 0, 0, 8]);
    assert_eq!((net.addresses(PHONE), net.contested()), (vec!["10.0.0.8".into()], vec![]));
    assert!(net.station(LAPTOP).is_none(), "it was forgotten with its addresses");
}

#[test]
fn addresses_are_bounded_and_unused_ones_are_forgotten() {
    let mut net = Net::new();
    for number in 0..=u16::MAX {
        let [high, low] = number.to_be_bytes();
        net.arp(Port::Wlan, LAPTOP, [10, 7, high, low]);
    }
    assert_eq!(net.addresses(LAPTOP).len(), 8, "whoever makes them up has some of them");
    net.arp(Port::Wlan, PHONE, [10, 7, 0, 1]);
    assert_eq!((net.addresses(PHONE).len(), net.contested().len()), (1, 0), "the others are free");
    // A station that continues with another address keeps only that.
    for _ in 0..5 {
        net.wait(200);
        net.arp(Port::Wlan, LAPTOP, [10, 8, 0, 1]);
    }
    assert_eq!(net.addresses(LAPTOP), ["10.8.0.1"]);
}
