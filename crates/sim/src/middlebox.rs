//! The box between the access point and the wire: the deployed manager, in virtual time.
//!
//! As in the live box, the traffic goes through the manager from the insertion until it has drained after a bypass; at
//! other times a bridge carries the traffic, and the manager gets copies of the packets where its harm guard wants them. The manager's view of a packet is made
//! from the packet's record, with the same fields as from parsing a frame.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use evenair_manager::{
    Command, Config, Manager, Mode, Observation, Output, Place as At, RateReport, Reason, Report, StationConfig,
    Without,
};
use evenair_packet::{
    Claim, Content, Control, IpMeta, MacAddr, PacketMeta, Port, RtpMeta, TcpFlags, TcpMeta, Timestamps, Transport, Vlan,
};
use evenair_scenario::{App, AppKind, IpVersion, Place, Scenario, Tool};
use evenair_units::{Bytes, Dbm, Instant, Span};
use evenair_wifi::PhyRate;
use evenair_workload::Direction;

use crate::connections::Connections;
use crate::event_queue::{EventQueue, Task, Timer};
use crate::packet::{Body, Packet, PacketId, Pool};
use crate::tcp::segment::Segment;

/// Size of an Ethernet header: destination, source, EtherType.
const ETHERNET_HEADER: Bytes = Bytes(14);
const ETHER_TYPE_V4: u16 = 0x0800;
const ETHER_TYPE_V6: u16 = 0x86dd;
const ETHER_TYPE_ARP: u16 = 0x0806;
/// IANA "Assigned Internet Protocol Numbers".
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
/// RFC 4861, 4.4.
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
/// The box's own addresses, from which it sends probes.
pub(crate) const BOX: MacAddr = MacAddr([0x02, 0xea, 3, 0, 0, 1]);
pub(crate) const BOX_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0xea, 0x03ff, 0xfe00, 1);
/// Address of the first access point in observations; further ones differ in the last bytes. No host has one of these.
const ACCESS_POINT: MacAddr = MacAddr([0x02, 0xea, 0, 0, 0, 0]);
/// Size of an IEEE 802.1Q tag.
const VLAN_TAG: Bytes = Bytes(4);
/// Validity of a reported signal: three reporting intervals.
const SIGNAL_VALID: Span = Span::from_secs(3);
/// Server port of the first application, as in the testbed.
pub(crate) const FIRST_SERVER_PORT: u16 = 20_000;
/// Station's port of the first application that sends datagrams or echoes.
pub(crate) const FIRST_DATAGRAM_PORT: u16 = 10_000;

#[derive(Debug)]
pub(crate) struct Middlebox {
    manager: Manager<PacketId>,
    /// Whether the box carries the traffic; else the bridge does.
    carries: bool,
    timer: Timer,
    /// Addresses of each application's two ends.
    talks: Vec<Talk>,
    reports_stations: bool,
    reports_rates: bool,
    reports_signals: bool,
    /// Delay of an association report; `None` without such reports.
    associations_delay: Option<Span>,
    /// Interval of the reports of access points' losses.
    losses_interval: Option<Span>,
}

/// The addresses of an application's two ends.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) station: (MacAddr, IpAddr),
    /// Server, or the MAC address of the router if the server is behind the Internet link.
    pub(crate) server: (MacAddr, IpAddr),
    pub(crate) dscp: u8,
    /// VLAN in which its frames cross the box.
    vlan: Option<Vlan>,
    /// The box sees its packets as datagrams, whatever they contain.
    opaque: bool,
}

impl Middlebox {
    /// `without`: mechanisms of its controller that are left out.
    pub(crate) fn new(scenario: &Scenario, without: Without) -> Self {
        let config = Config { without, ..config(scenario) };
        let limit = config.uplink_limit.filter(|_| scenario.telemetry.ap_losses);
        let manager = Manager::new(config, Instant::ZERO);
        Self {
            manager,
            carries: false,
            timer: Timer::OFF,
            talks: scenario.apps.iter().map(|app| talk(scenario, app)).collect(),
            reports_stations: scenario.telemetry.stations,
            reports_rates: scenario.telemetry.rates,
            reports_signals: scenario.telemetry.signal,
            associations_delay: scenario.telemetry.associations.filter(|_| reports_associations(scenario)),
            losses_interval: limit.and_then(|limit| limit.steps()).map(|steps| steps.interval),
        }
    }

    /// Whether packets go through the box.
    pub(crate) fn carries(&self) -> bool {
        self.carries
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, id: PacketId, pool: &Pool, connections: &Connections) {
        let (packet, segment) = pool.whole(id);
        let meta = self.meta(packet, segment, connections);
        self.manager.handle_packet(now, id, &meta);
    }

    /// Whether the manager gets copies of packets that the bridge carries.
    pub(crate) fn wants_copies(&self) -> bool {
        self.manager.wants_copies()
    }

    pub(crate) fn command(&mut self, now: Instant, command: Command) {
        self.carries |= command == Command::Insert;
        self.manager.handle_command(now, command);
    }

    /// Reports a station's rate to the box, or with `None` its departure, if the scenario reports rates.
    pub(crate) fn observe(&mut self, now: Instant, host: usize, rate: Option<PhyRate>) {
        let mac = mac_of(host);
        match rate {
            Some(rate) if self.reports_rates => {
                self.manager.handle_observation(now, Observation::StationRate { mac, rate });
            }
            None if self.reports_stations => self.manager.handle_observation(now, Observation::StationGone { mac }),
            _ => {}
        }
    }

    pub(crate) fn reports_signals(&self) -> bool {
        self.reports_signals
    }

    /// Reports the signal at which the access point receives a station, in whole decibels as access points do.
    pub(crate) fn report_signal(&mut self, now: Instant, host: usize, signal: Dbm) {
        let report = RateReport {
            mac: mac_of(host),
            source: 0,
            measured: now,
            valid_for: SIGNAL_VALID,
            transmit_kbps: None,
            receive_kbps: None,
            signal_dbm: Some(i64::from((signal.as_milli() + 500).div_euclid(1000))),
            transmit_mode: None,
            receive_mode: None,
        };
        self.manager.handle_observation(now, Observation::RateReport(report));
    }

    pub(crate) fn associations_delay(&self) -> Option<Span> {
        self.associations_delay
    }

    /// Reports that a station is associated with the access point of this name.
    pub(crate) fn report_association(&mut self, now: Instant, host: usize, access_point: &str) {
        let place = access_point.parse().ok().map(At::Named);
        self.manager.handle_observation(now, Observation::StationAt { mac: mac_of(host), place });
    }

    /// Sets the VLAN of a station's frames.
    pub(crate) fn set_vlan(&mut self, host: usize, vlan: Option<u16>) {
        let own = mac_of(host);
        let talks = self.talks.iter_mut().filter(|talk| talk.station.0 == own);
        talks.for_each(|talk| talk.vlan = vlan.map(Vlan::from));
    }

    pub(crate) fn losses_interval(&self) -> Option<Span> {
        self.losses_interval
    }

    /// Reports the total of packets that an access point's buffer has dropped.
    pub(crate) fn report_losses(&mut self, now: Instant, number: usize, total: u64) {
        let MacAddr([a, b, c, d, e, f]) = ACCESS_POINT;
        let access_point = MacAddr([a, b, c, d, e, f + number as u8]);
        self.manager.handle_observation(now, Observation::AccessPointLosses { access_point, total });
    }

    /// Handles the box's timer entry.
    pub(crate) fn fire(&mut self, now: Instant) {
        if self.timer.fires(now) && self.deadline().is_some_and(|at| at <= now) {
            self.manager.handle_timeout(now);
        }
    }

    /// The manager's next output. Switches to the bridge when the manager has drained, and back to the box when the guard retries it.
    pub(crate) fn poll_output(&mut self) -> Option<Output<PacketId>> {
        let output = self.manager.poll_output();
        if output.is_none() {
            self.carries = self.manager.mode() != Mode::Bypassed;
        }
        output
    }

    pub(crate) fn schedule(&mut self, event_queue: &mut EventQueue) {
        let deadline = self.deadline();
        event_queue.arm(&mut self.timer, deadline, Task::Box);
    }

    fn deadline(&self) -> Option<Instant> {
        self.manager.poll_deadline().map(|(at, _): (Instant, Reason)| at)
    }

    pub(crate) fn mode(&self) -> Mode {
        self.manager.mode()
    }

    /// Packets in its queues.
    pub(crate) fn held(&self) -> u64 {
        self.manager.counters().held
    }

    pub(crate) fn report(&self, now: Instant) -> Report {
        self.manager.report(now)
    }

    /// The application for which a station uses this address.
    pub(crate) fn app_of(&self, station: MacAddr, address: IpAddr) -> Option<usize> {
        self.talks.iter().position(|talk| talk.station == (station, address))
    }

    fn meta(&self, packet: &Packet, segment: Option<&Segment>, connections: &Connections) -> PacketMeta {
        let talk = &self.talks[packet.app as usize];
        let server_port = FIRST_SERVER_PORT + packet.app as u16;
        let station_port = match packet.body {
            Body::Tcp { connection, .. } => connections.get(connection).station_port(),
            Body::Datagram { .. } | Body::Speech { .. } | Body::Echo { .. } => FIRST_DATAGRAM_PORT + packet.app as u16,
            Body::Probe => return probe_answer(talk),
        };
        let (ingress, from, to, ports) = match packet.way {
            Direction::Up => {
                (Port::Wlan, talk.station, talk.server, Ports { source: station_port, destination: server_port })
            }
            Direction::Down => {
                (Port::Wire, talk.server, talk.station, Ports { source: server_port, destination: station_port })
            }
        };
        let (protocol, transport) = match segment.filter(|_| !talk.opaque) {
            Some(segment) => (TCP, Transport::Tcp(tcp_meta(segment, ports))),
            None => (UDP, Transport::Udp { src_port: ports.source, dst_port: ports.destination }),
        };
        PacketMeta {
            ingress,
            frame_len: packet.len + ETHERNET_HEADER + if talk.vlan.is_some() { VLAN_TAG } else { Bytes::ZERO },
            src: from.0,
            dst: to.0,
            vlan: talk.vlan,
            ether_type: if from.1.is_ipv4() { ETHER_TYPE_V4 } else { ETHER_TYPE_V6 },
            ip: Some(IpMeta {
                src: from.1,
                dst: to.1,
                protocol,
                dscp: talk.dscp,
                ecn: 0,
                total_len: packet.len,
                fragment: false,
                transport,
            }),
            content: match packet.body {
                Body::Speech { number, sent } => Content::Rtp(rtp(packet.app, number, sent)),
                Body::Tcp { .. } | Body::Datagram { .. } | Body::Echo { .. } | Body::Probe => Content::Opaque,
            },
            control: None,
            encapsulation: None,
        }
    }
}

/// A station's answer to a probe, as the box sees it.
fn probe_answer(talk: &Talk) -> PacketMeta {
    let (mac, address) = talk.station;
    let len = probe_len(address);
    let ip = IpMeta {
        src: address,
        dst: BOX_LOCAL.into(),
        protocol: ICMPV6,
        dscp: 0,
        ecn: 0,
        total_len: len,
        fragment: false,
        transport: Transport::Icmp { kind: NEIGHBOUR_ADVERTISEMENT },
    };
    PacketMeta {
        ingress: Port::Wlan,
        frame_len: len + ETHERNET_HEADER + if talk.vlan.is_some() { VLAN_TAG } else { Bytes::ZERO },
        src: mac,
        dst: BOX,
        vlan: talk.vlan,
        ether_type: if address.is_ipv4() { ETHER_TYPE_ARP } else { ETHER_TYPE_V6 },
        ip: address.is_ipv6().then_some(ip),
        content: Content::Claim(Claim { address, mac }),
        control: Some(if address.is_ipv4() { Control::Arp } else { Control::Neighbour }),
        encapsulation: None,
    }
}

/// Length of a probe for an address, and of its answer, behind the Ethernet header: ARP padded to Ethernet's minimum, or
/// neighbour discovery with its option.
pub(crate) fn probe_len(address: IpAddr) -> Bytes {
    if address.is_ipv4() { Bytes(46) } else { Bytes(72) }
}

/// RTP header of a speech packet: a dynamic payload type (RFC 3551, 3) with the clock of G.711.
fn rtp(app: u32, number: u16, sent: Instant) -> RtpMeta {
    const DYNAMIC: u8 = 96;
    const CLOCK_HZ: u64 = 8_000;
    let ticks = sent.saturating_since(Instant::ZERO).mul_div(CLOCK_HZ, 1_000_000_000).as_nanos();
    RtpMeta { payload_type: DYNAMIC, marker: false, sequence: number, timestamp: ticks as u32, source: app }
}

/// Source and destination ports of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) source: u16,
    pub(crate) destination: u16,
}

fn tcp_meta(segment: &Segment, ports: Ports) -> TcpMeta {
    let bits = [
        (segment.flags.syn, TcpFlags::SYN),
        (segment.flags.ack, TcpFlags::ACK),
        (segment.flags.fin, TcpFlags::FIN),
        (segment.flags.rst, TcpFlags::RST),
    ];
    let flags = bits.into_iter().filter(|(set, _)| *set).fold(TcpFlags::default(), |flags, (_, bit)| flags.with(bit));
    TcpMeta {
        src_port: ports.source,
        dst_port: ports.destination,
        seq: segment.wire_seq(),
        ack: if segment.flags.ack { segment.wire_ack() } else { 0 },
        flags,
        window: segment.window,
        payload: Bytes(u64::from(segment.len)),
        window_scale: segment.syn.and_then(|syn| syn.window_shift),
        mss: segment.syn.map(|syn| syn.mss),
        sacked_to: segment.sack.iter(segment.ack).next().map(|block| block.end as u32),
        timestamps: segment.timestamps.map(|stamps| Timestamps { value: stamps.value, echo: stamps.echo }),
    }
}

/// Whether stations' access points are reported to the box.
fn reports_associations(scenario: &Scenario) -> bool {
    !scenario.manager.access_points.is_empty() && scenario.access_points.iter().any(|point| point.channel.is_some())
}

fn config(scenario: &Scenario) -> Config {
    let (mut config, telemetry) = (scenario.manager.clone(), scenario.telemetry);
    config.probes.iter_mut().for_each(|probes| probes.source = Some(BOX));
    if telemetry.stations {
        for (host, spec) in scenario.hosts.iter().enumerate() {
            if let Place::Station { rate, weight, class, .. } = spec.place {
                let rate = if telemetry.rates { rate } else { config.default_rate };
                config.stations.push(StationConfig { mac: mac_of(host), rate, weight, class });
            }
        }
    }
    config
}

pub(crate) fn talk(scenario: &Scenario, app: &App) -> Talk {
    let address = |host: usize| -> IpAddr {
        let subnet = if scenario.hosts[host].place == Place::Wan { 2 } else { 1 };
        let number = host as u16;
        match app.ip {
            IpVersion::V4 => {
                Ipv4Addr::new(10, 233 + subnet as u8, (number / 200) as u8 + 1, (number % 200) as u8 + 1).into()
            }
            IpVersion::V6 => Ipv6Addr::new(0xfdea, 0, 0, subnet, 0, 0, 0, number + 1).into(),
        }
    };
    let peer_mac = match scenario.hosts[app.peer].place {
        Place::Wan => MacAddr([0x02, 0xea, 2, 0, 0, 1]),
        Place::Lan | Place::Station { .. } => mac_of(app.peer),
    };
    let (station, server) = ((mac_of(app.station), address(app.station)), (peer_mac, address(app.peer)));
    let station = app.group_address().map_or(station, |group| (MacAddr::of_group(group), group.into()));
    let opaque = matches!(app.kind, AppKind::Bulk { tool: Tool::Quic, .. });
    Talk { station, server, dscp: app.dscp, vlan: None, opaque }
}

/// The host whose MAC address [`mac_of`] gave.
pub(crate) fn station_of(mac: MacAddr) -> Option<usize> {
    let MacAddr([.., high, low]) = mac;
    let host = usize::from(u16::from_be_bytes([high, low]));
    (mac_of(host) == mac).then_some(host)
}

/// The MAC address of a host, as in the testbed.
pub(crate) fn mac_of(host: usize) -> MacAddr {
    let [high, low] = (host as u16).to_be_bytes();
    MacAddr([0x02, 0xea, 1, 0, high, low])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "version = 1\nname = \"modes\"\nduration = \"2 s\"\n\
        radio = { standard = \"802.11ac\", width = \"80 MHz\", guard_interval = \"0.4 us\" }\n\
        station = [{ name = \"vht\", mcs = 4, streams = 2 }, { name = \"old\", rate = \"54 Mb/s\" }]\n\
        server = [{ name = \"server\" }]\ntelemetry = { stations = true, rates = true }\n\
        ping = [{ name = \"ping\", stations = [\"vht\", \"old\"], server = \"server\", interval = \"1 s\" }]\n";

    #[test]
    fn the_box_gets_reported_modes_and_their_changes() {
        let scenario = Scenario::parse(TEXT, "modes.toml").unwrap_or_else(|error| panic!("{error}"));
        let mut middlebox = Middlebox::new(&scenario, Without::NOTHING);
        let of = |middlebox: &Middlebox, name: &str| {
            let host = scenario.hosts.iter().position(|host| host.name == *name).expect("a station");
            let stations = middlebox.report(Instant::ZERO).stations;
            (host, stations.into_iter().find(|station| station.mac == mac_of(host)).expect("it is known").rate)
        };
        let mode = |text: &str| PhyRate::from(text.parse::<evenair_wifi::PhyMode>().expect("a mode"));
        let (host, rate) = of(&middlebox, "vht");
        assert_eq!(rate, mode("VHT MCS 4, 80 MHz, 2 streams, GI 0.4 us"));
        assert_eq!(of(&middlebox, "old").1.mode(), None);
        // As an event changes it.
        for text in ["VHT MCS 4, 40 MHz, 4 streams, GI 0.4 us", "HT MCS 3, 40 MHz"] {
            middlebox.observe(Instant::ZERO, host, Some(mode(text)));
            assert_eq!(of(&middlebox, "vht").1, mode(text));
        }
    }
}
