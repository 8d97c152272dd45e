//! Applications: bulk transfers, datagrams, echoes. The web client is in `web`.
//!
//! They behave on the network like the testbed's programs. A bulk transfer is one connection, opened by the station in both
//! directions of the data; after a connection timeout it tries again a second later. At its end an application aborts its
//! connections: one reset is sent, and both ends are closed.
//!
//! A datagram sender that uses its station's buffer alone sleeps while the buffer is not empty. Whenever a frame leaves the
//! buffer, the sender catches up: datagrams that had room enter the buffer, the others are counted as lost. On the air this
//! is equivalent, since only the head of a queue matters there, and it saves saturated senders most of their work.

use std::sync::Arc;

use evenair_results::EchoResult;
use evenair_results::quantiles::Quantiles;
use evenair_scenario::{AppKind, Scenario};
use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_wifi::AccessCategory;
use evenair_workload::{DatagramSource, Direction};

use crate::SimError;
use crate::call::Call;
use crate::connections::{Connections, Ticket, algorithm, ip_header};
use crate::domain::ContentionDomain;
use crate::event_queue::{Side, Task};
use crate::flows::{Flows, OnOff, Transfer, since_start};
use crate::meter::{TcpSample, data_direction};
use crate::packet::{Body, Packet};
use crate::tcp::{self, CloseReason, Config};
use crate::web::Reader;
use crate::wire::Wire;
use crate::world::World;

/// UDP header, RFC 768.
pub(crate) const UDP_HEADER: Bytes = Bytes(8);
/// Payload of an echo: 64 bytes of IPv4, as ping(8) has it.
const ECHO_PAYLOAD: Bytes = Bytes(36);
/// Pause before a connection is tried again after its timeout.
const RETRY: Span = Span::from_secs(1);
/// Bytes by which an IPv6 header is longer than one of IPv4, and a segment smaller.
const V6_EXTRA: u16 = 20;

/// An application, in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct App {
    /// Index of the station.
    pub(crate) station: u32,
    pub(crate) first_port_up: u32,
    pub(crate) first_port_down: u32,
    ip_header: u8,
    pub(crate) category: AccessCategory,
    /// The packets go to a multicast or broadcast group.
    group: bool,
    pub(crate) runs: bool,
    pub(crate) data: Direction,
    pub(crate) tcp: Arc<Config>,
    pub(crate) kind: Kind,
}

/// Routing of an application's packets, which each hop of each packet reads. A small copy, so that those of thousands of
/// applications stay in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Index of the station.
    pub(crate) station: u32,
    pub(crate) first_port_up: u32,
    pub(crate) first_port_down: u32,
    ip_header: u8,
    pub(crate) category: AccessCategory,
    /// The receiver only counts what it receives: nothing is sent in return.
    pub(crate) only_counts: bool,
    /// The packets go to a multicast or broadcast group.
    pub(crate) group: bool,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Bulk {
        connection: Option<Ticket>,
        established: bool,
        /// `None`: the transfer never ends.
        sized: Option<Box<SizedBulk>>,
    },
    /// Times of the source are relative to the start of the run.
    Datagrams {
        source: DatagramSource,
        sleeps: bool,
    },
    Call(Box<Call>),
    Flows(Box<Flows>),
    OnOff(Box<OnOff>),
    Web(Box<Reader>),
    Ping {
        interval: Span,
        rtts: Box<Quantiles>,
    },
}

/// A bulk transfer of known size.
#[derive(Debug)]
pub(crate) struct SizedBulk {
    bytes: Bytes,
    /// `None` once the transfer is complete.
    pub(crate) transfer: Option<Transfer>,
}

impl App {
    /// Creates the scenario's applications, not started yet.
    pub(crate) fn all(
        scenario: &Scenario,
        tcp: &Config,
        air: &ContentionDomain,
        wire: &Wire,
        streams: &Streams,
    ) -> Result<Vec<Self>, SimError> {
        let apps = scenario.apps.iter().enumerate().map(|(number, app)| {
            let header = ip_header(app.ip);
            let mut tcp = tcp.clone();
            tcp.mss -= if header == Bytes(40) { V6_EXTRA } else { 0 };
            if let Some(name) = app.kind.congestion_control() {
                tcp.algorithm = algorithm(name, &scenario.tcp)?;
            }
            tcp.check()?;
            Ok(Self {
                station: air.station_of(app.station) as u32,
                first_port_up: wire.first_port(scenario, app.peer, Direction::Up),
                first_port_down: wire.first_port(scenario, app.peer, Direction::Down),
                ip_header: header.0 as u8,
                category: AccessCategory::of_dscp(app.dscp),
                tcp: Arc::new(tcp),
                group: app.group,
                runs: false,
                data: data_direction(app),
                kind: Kind::new(scenario, number, streams),
            })
        });
        apps.collect()
    }

    /// Size of its packets' IP header.
    pub(crate) fn ip_header(&self) -> Bytes {
        Bytes(self.ip_header.into())
    }

    pub(crate) fn way(&self) -> Way {
        let &Self { station, first_port_up, first_port_down, ip_header, category, group, .. } = self;
        let only_counts = matches!(self.kind, Kind::Bulk { sized: None, .. });
        Way { station, first_port_up, first_port_down, ip_header, category, only_counts, group }
    }

    /// The end that sends the data.
    pub(crate) fn sender(&self) -> Side {
        match self.data {
            Direction::Up => Side::Station,
            Direction::Down => Side::Server,
        }
    }

    /// When its next datagram is due, and its size at IP level.
    fn next_datagram(&self) -> Option<(Instant, Bytes)> {
        let Kind::Datagrams { source, .. } = &self.kind else { return None };
        let next = source.peek();
        Some((Instant::ZERO + next.at, self.ip_header() + UDP_HEADER + next.payload))
    }

    /// State of the sender of a bulk transfer.
    pub(crate) fn sample(&self, connections: &Connections) -> Option<TcpSample> {
        let Kind::Bulk { connection: Some(connection), established: true, .. } = self.kind else { return None };
        let sender = connections.get(connections.find(connection)?);
        Some(TcpSample {
            cwnd_segments: sender.cwnd as f64 / f64::from(sender.payload),
            rtt: sender.srtt(),
            retransmits: sender.retransmissions,
        })
    }

    /// Echo results of the run, if any echo came back.
    pub(crate) fn echoes(&self, name: &str) -> Option<EchoResult> {
        let Kind::Ping { rtts, .. } = &self.kind else { return None };
        let [p50_ms, p99_ms, max_ms] = rtts.at([500, 990, 1000])?.map(|rtt| rtt.as_secs_f64() * 1e3);
        Some(EchoResult { app: name.to_owned(), answers: rtts.count(), p50_ms, p99_ms, max_ms })
    }
}

impl Way {
    /// Size of an IP header.
    pub(crate) fn ip_header(&self) -> Bytes {
        Bytes(self.ip_header.into())
    }
}

impl Kind {
    fn new(scenario: &Scenario, index: usize, streams: &Streams) -> Self {
        let app = &scenario.apps[index];
        let streams = &streams.of(&app.streams);
        match &app.kind {
            // Other programs' transfers look the same on the network.
            AppKind::Bulk { bytes, .. } => {
                let sized = bytes.map(|bytes| Box::new(SizedBulk { bytes, transfer: None }));
                Self::Bulk { connection: None, established: false, sized }
            }
            AppKind::Udp(spec) => Self::Datagrams { source: DatagramSource::new(spec, streams), sleeps: false },
            AppKind::Voip(spec) => Self::Call(Box::new(Call::new(scenario, app, spec, streams))),
            AppKind::Flows(spec) => Self::Flows(Box::new(Flows::new(spec, index, streams))),
            AppKind::OnOff(spec) => Self::OnOff(Box::new(OnOff::new(spec, streams))),
            AppKind::Web { objects, size, think } => {
                Self::Web(Box::new(Reader::new(*objects, size.clone(), *think, streams.stream("web"))))
            }
            AppKind::Ping { interval } => Self::Ping { interval: *interval, rtts: Box::default() },
        }
    }
}

impl World {
    pub(crate) fn start_app(&mut self, number: u32) {
        let app = &mut self.apps[number as usize];
        app.runs = true;
        match &mut app.kind {
            Kind::Bulk { .. } => self.open_bulk(number),
            Kind::Datagrams { source, .. } => {
                source.put_off(since_start(self.now));
                self.event_queue.schedule(Instant::ZERO + source.peek().at, Task::App(number));
            }
            Kind::Call(_) => self.start_call(number),
            Kind::Flows(_) => self.start_flows(number),
            Kind::OnOff(_) => self.pause(number),
            Kind::Web(_) => self.begin_page(number),
            Kind::Ping { .. } => self.wake_app(number),
        }
    }

    pub(crate) fn stop_app(&mut self, number: u32) {
        let station = self.apps[number as usize].station as usize;
        self.catch_up(station, None);
        let app = &mut self.apps[number as usize];
        app.runs = false;
        match &mut app.kind {
            Kind::Bulk { connection, sized, .. } => {
                if let Some(transfer) = sized.as_mut().and_then(|sized| sized.transfer.take()) {
                    self.transfers.cut(number as usize, since_start(transfer.began), transfer.bytes);
                }
                if let Some(connection) = connection.take().and_then(|ticket| self.connections.find(ticket)) {
                    self.cut(connection);
                }
            }
            Kind::Flows(_) => self.cut_flows(number),
            Kind::OnOff(_) => self.cut_file(number),
            Kind::Web(_) => self.abandon_page(number),
            Kind::Datagrams { .. } | Kind::Call(_) | Kind::Ping { .. } => {}
        }
    }

    /// An application's own timer.
    pub(crate) fn wake_app(&mut self, number: u32) {
        let app = &self.apps[number as usize];
        if !app.runs {
            return;
        }
        match app.kind {
            Kind::Bulk { .. } => self.open_bulk(number),
            Kind::Datagrams { .. } => self.send_due_datagram(number),
            Kind::Call(_) => self.speak(number),
            Kind::Flows(_) => self.open_flows(number),
            Kind::OnOff(_) => self.send_file(number),
            Kind::Web(_) => self.begin_page(number),
            Kind::Ping { interval, .. } => {
                let sent = self.now;
                self.send_echo(number, Direction::Up, sent);
                self.event_queue.schedule(self.now + interval, Task::App(number));
            }
        }
    }

    /// Aborts a connection: the station sends a reset, and both endpoints are removed.
    pub(crate) fn cut(&mut self, connection: u32) {
        self.connections.tcp_mut(connection, Side::Station).abort();
        self.connections.tcp_mut(connection, Side::Server).abort();
        self.pump(connection, Side::Station);
        self.connections.forget(connection);
    }

    /// Something happened at an endpoint.
    pub(crate) fn on_tcp_event(&mut self, connection: u32, side: Side, event: tcp::Event) {
        let number = self.connections.get(connection).app;
        match &self.apps[number as usize].kind {
            Kind::Flows(_) => self.on_flow_event(number, connection, side, event),
            Kind::OnOff(_) => self.on_file_event(number, connection, side, event),
            Kind::Web(_) => self.on_web_event(number, connection, side, event),
            _ => self.on_bulk_event(number, connection, side, event),
        }
    }
}

/// Bulk transfers.
impl World {
    fn open_bulk(&mut self, number: u32) {
        let app = &mut self.apps[number as usize];
        let opened = self.connections.open(number, app.sender(), &app.tcp);
        let ticket = self.connections.ticket(opened);
        let sender = self.connections.tcp_mut(opened, app.sender());
        if let Kind::Bulk { connection, established, sized } = &mut app.kind {
            (*connection, *established) = (Some(ticket), false);
            match sized {
                Some(sized) => {
                    // A connection tried again belongs to the transfer that began with the first attempt.
                    sized.transfer.get_or_insert(Transfer::new(self.now, sized.bytes));
                    sender.write(sized.bytes);
                    sender.close();
                }
                None => sender.write_endlessly(),
            }
        }
        self.pump(opened, Side::Station);
    }

    fn on_bulk_event(&mut self, number: u32, connection: u32, side: Side, event: tcp::Event) {
        match event {
            tcp::Event::Received(bytes) => {
                self.meter.receive(number, bytes.0);
                if let Kind::Bulk { sized: Some(sized), .. } = &mut self.apps[number as usize].kind
                    && sized.transfer.as_mut().is_some_and(|transfer| transfer.receive(bytes))
                {
                    let transfer = sized.transfer.take().expect("it is there");
                    self.complete_transfer(number, transfer);
                }
            }
            tcp::Event::PeerFinished => self.connections.tcp_mut(connection, side).close(),
            tcp::Event::Established => {
                if let Kind::Bulk { established, .. } = &mut self.apps[number as usize].kind {
                    *established = true;
                }
            }
            tcp::Event::Drained => {}
            tcp::Event::Closed(reason) => self.on_bulk_closed(number, connection, side, reason),
        }
    }

    fn on_bulk_closed(&mut self, number: u32, connection: u32, side: Side, reason: CloseReason) {
        let Kind::Bulk { established, .. } = self.apps[number as usize].kind else { return };
        if reason == CloseReason::Normal {
            return;
        }
        let name = &self.scenario.apps[number as usize].name;
        let again = side == Side::Station && !established;
        self.note(
            "note",
            format!("{name}: the connection ended: {reason:?}{}", if again { "; trying again" } else { "" }),
        );
        if let Kind::Bulk { sized: Some(sized), established: true, .. } = &mut self.apps[number as usize].kind
            && let Some(transfer) = sized.transfer.take()
        {
            self.transfers.fail(number as usize, since_start(transfer.began), transfer.bytes);
        }
        if again {
            self.connections.forget(connection);
            self.event_queue.schedule(self.now + RETRY, Task::App(number));
        }
    }
}

/// Datagrams and echoes.
impl World {
    fn send_due_datagram(&mut self, number: u32) {
        // All datagrams of one frame of the source are due at once.
        let next = loop {
            let app = &mut self.apps[number as usize];
            let (Some((at, len)), way) = (app.next_datagram(), app.data) else { return };
            let Kind::Datagrams { source, .. } = &mut app.kind else { return };
            if at > self.now {
                break at;
            }
            source.advance();
            self.send(Packet { app: number, way, len, body: Body::Datagram { sent: at } });
        };
        let app = &mut self.apps[number as usize];
        let Kind::Datagrams { sleeps, .. } = &mut app.kind else { return };
        let station = app.station as usize;
        *sleeps =
            self.domains.first.sole_sender(station) == Some(number) && !self.domains.of(station).is_empty(station);
        if !*sleeps {
            self.event_queue.schedule(next, Task::App(number));
        }
    }

    /// Makes up the datagrams that a sleeping sender was due to send: called when a frame of `left` bytes has left the
    /// station's buffer, or with `None` when the station's only application ends.
    pub(crate) fn catch_up(&mut self, station: usize, left: Option<Bytes>) {
        let Some(number) = self.domains.first.sole_sender(station) else { return };
        let now = self.now;
        let app = &self.apps[number as usize];
        let (true, Kind::Datagrams { sleeps: true, .. }) = (app.runs, &app.kind) else { return };
        // Common to all of the sender's datagrams.
        let (way, category, headers) = (app.data, app.category, app.ip_header() + UDP_HEADER);
        let mut room = self.domains.of(station).room(station, category, left);
        loop {
            let Kind::Datagrams { source, sleeps } = &mut self.apps[number as usize].kind else { return };
            let next = source.peek();
            let (at, len) = (Instant::ZERO + next.at, headers + next.payload);
            if at >= now {
                *sleeps = !room.is_empty;
                if room.is_empty {
                    self.event_queue.schedule(at, Task::App(number));
                }
                return;
            }
            if room.take(len) {
                source.advance();
                let packet = Packet { app: number, way, len, body: Body::Datagram { sent: at } };
                let id = self.pool.add(packet);
                self.send_made(&packet, id);
            } else {
                let missed = if self.packet_log.is_some() {
                    // Each datagram has its own record.
                    source.advance();
                    self.log_unmade(number, at, len);
                    1
                } else {
                    source.skip_alike(since_start(now))
                };
                self.domains.of_mut(station).lose_unmade(station, category, missed);
                self.meter.lose_unmade(number, missed);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn receive_datagram(&mut self, packet: &Packet) {
        let headers = self.ways[packet.app as usize].ip_header() + UDP_HEADER;
        self.meter.receive(packet.app, packet.len.saturating_sub(headers).0);
    }

    fn send_echo(&mut self, number: u32, way: Direction, sent: Instant) {
        let len = self.apps[number as usize].ip_header() + UDP_HEADER + ECHO_PAYLOAD;
        self.send(Packet { app: number, way, len, body: Body::Echo { sent } });
    }

    /// Handles an echo packet: the server answers, the station records the round-trip time.
    pub(crate) fn receive_echo(&mut self, number: u32, sent: Instant, side: Side) {
        match side {
            Side::Server => self.send_echo(number, Direction::Down, sent),
            Side::Station => {
                let app = &mut self.apps[number as usize];
                if let Kind::Ping { rtts, .. } = &mut app.kind
                    && app.runs
                {
                    rtts.record(self.now.saturating_since(sent));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimOptions;

    /// MPDUs that were received occupy the buffer until a BlockAck arrives.
    #[test]
    fn a_sleeping_sender_makes_no_datagram_that_its_buffer_drops() {
        let text = "version = 1\nname = \"flood\"\nduration = \"2 s\"\n[radio]\nstandard = \"802.11ax\"\nprofile = \"ns-3\"\n\
                    station_buffer = \"100 packets\"\n[lan]\nrate = \"1 Gb/s\"\n[[station]]\nname = \"sta\"\nmcs = 7\n\
                    [[server]]\nname = \"server\"\n[[udp]]\nname = \"up\"\nstations = [\"sta\"]\nserver = \"server\"\n\
                    direction = \"up\"\nrate = \"100 Mb/s\"\n";
        let scenario = Arc::new(Scenario::parse(text, "flood.toml").expect("it is sound"));
        let mut world = World::new(scenario, &Config::ns3(), &SimOptions::default()).expect("it can be run");
        assert!(world.run_before(Instant::ZERO + Span::from_secs(2), u32::MAX));
        let lost: u64 = world.domains.first.losses().map(|(.., frames)| frames).sum();
        assert!(world.arrived > 1_000 && lost > 1_000, "{} arrived, {lost} lost", world.arrived);
        assert_eq!(world.lost, 0, "packets were made to be dropped");
        world.check_conservation();
    }
}
