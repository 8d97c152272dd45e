//! A video call in one connection, whose directions do not acknowledge each other, beside a flood toward the same
//! station.
//!
//! The box serves at a fixed rate; frames of stations take no time of its medium, so that any loss or delay is caused by
//! the manager.

use evenair_manager::{Command, Config, Controller, Manager, Output, StationConfig};
use evenair_packet::{PacketMeta, Port, TcpFlags, Transport};
use evenair_units::{BitRate, Instant, Span};
use evenair_wifi::{Phy, Standard};

use crate::world::{Segment, mac, packet};

const STATIONS: usize = 5;
const SECONDS: u64 = 20;
/// The first second is not measured.
const WARM_UP: Instant = Instant::from_nanos(1_000_000_000);
/// IP bytes of the call's packets, which are 1.5 Mb/s each way, and of a flood's.
const CALL: u64 = 1_200;
const FLOOD: u64 = 1_500;
const STEP: Span = Span::from_micros(200);
/// In steps: a packet of the call each way, and of each flood.
const CALL_EVERY: u64 = 32;
const FLOOD_EVERY: u64 = 5;

fn datagram(ingress: Port, station: usize, port: u16, ip_len: u64) -> PacketMeta {
    let mut meta = packet(ingress, station, 0, Segment::new(TcpFlags::ACK, 0, 0, 0));
    let ip = meta.ip.as_mut().unwrap();
    let (src_port, dst_port) = if ingress == Port::Wire { (port, 8) } else { (8, port) };
    (ip.protocol, ip.transport) = (17, Transport::Udp { src_port, dst_port });
    ip.total_len.0 = ip_len;
    meta.frame_len.0 = ip_len + 14;
    meta
}

/// Results of the call, by direction, and the bytes that each station got and sent.
#[derive(Default)]
struct Became {
    sent: u64,
    up: u64,
    delays: Vec<Span>,
    carried: [u64; STATIONS],
}

fn run() -> Became {
    let phy = Phy::default_for(Standard::Dot11g);
    let rate = *phy.standard().rates().last().expect("a standard has rates");
    let station = |n| StationConfig { mac: mac(n), rate, weight: 1, class: None };
    let controller = Controller::Fixed(BitRate::from_mbps(22));
    let config = Config { stations: (0..STATIONS).map(station).collect(), controller, ..Config::new(phy) };
    let mut manager: Manager<(Instant, PacketMeta)> = Manager::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    let mut became = Became::default();
    let mut now = Instant::ZERO;
    for step in 0..Span::from_secs(SECONDS) / STEP {
        now += STEP;
        let mut come = |meta: PacketMeta| manager.handle_packet(now, (now, meta.clone()), &meta);
        if step % CALL_EVERY == 0 {
            became.sent += u64::from(now >= WARM_UP);
            come(datagram(Port::Wire, 0, 7, CALL));
            come(datagram(Port::Wlan, 0, 7, CALL));
        }
        if step % FLOOD_EVERY == 0 {
            (0..STATIONS).for_each(|station| come(datagram(Port::Wire, station, 9, FLOOD)));
        }
        manager.handle_timeout(now);
        while let Some(output) = manager.poll_output() {
            if let Output::Release { packet: (came, meta), .. } = output {
                became.note(now.saturating_since(came), came, &meta);
            }
        }
    }
    became
}

impl Became {
    fn note(&mut self, delay: Span, came: Instant, meta: &PacketMeta) {
        if came < WARM_UP {
            return;
        }
        let ip_len = meta.ip_len().0;
        let station = if meta.ingress == Port::Wlan { meta.src } else { meta.dst };
        self.carried[usize::from(station.0[5])] += ip_len;
        match meta.ingress {
            Port::Wlan => self.up += 1,
            Port::Wire if ip_len == CALL => self.delays.push(delay),
            Port::Wire => {}
        }
    }
}

#[test]
fn packets_from_a_call_do_not_delay_packets_to_it() {
    let mut became = run();
    became.delays.sort_unstable();
    let got = became.delays.len() as u64;
    assert!(got * 1_000 >= became.sent * 995, "{got} of {} arrived", became.sent);
    assert_eq!(became.up, became.sent, "nobody is asked to send less");
    let p99 = became.delays[became.delays.len() * 99 / 100];
    assert!(p99 < Span::from_millis(20), "{p99}");
    // Its station pays for both directions.
    let [own, others @ ..] = became.carried;
    let other = others.iter().sum::<u64>() / others.len() as u64;
    let parts = own * 1_000 / other;
    assert!((960..=1_040).contains(&parts), "{parts} thousandths: {:?}", became.carried);
}
