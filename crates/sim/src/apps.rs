//! Applications: bulk transfers, datagrams, echoes. The reader of web pages is in `web`.
//!
//! They do on the network what the testbed's programs do. A bulk transfer is one connection, opened by the station
//! whichever way the data flow; an attempt to connect that timed out is made again after a second. At its end an
//! application cuts its connections: one reset goes out, and both ends are gone.
//!
//! A datagram sender that has its station's buffer for itself sleeps while there is something in the buffer. Whenever a
//! frame leaves the buffer, it makes up for what was due meanwhile: what there was room for goes in, the rest is counted
//! as lost. On the air that is the same, since only the frame at the head of a queue matters there, and it spares
//! saturated senders most of their work. A sender's first datagram comes at a random instant of the first interval,
//! because senders in step would collide for ever.

use evenair_scenario::results::EchoResult;
use evenair_scenario::results::stats::percentile;
use evenair_scenario::{AppKind, Direction, Scenario};
use evenair_units::{Bytes, Instant, Span, Streams};

use crate::SimError;
use crate::agenda::{Side, Task};
use crate::air::Air;
use crate::connections::{Connections, Ticket, algorithm, ip_header};
use crate::meter::{TcpSample, data_direction};
use crate::packet::{Body, Packet};
use crate::tcp::{self, CloseReason, Config};
use crate::web::Reader;
use crate::wire::Wire;
use crate::world::World;

/// UDP header, RFC 768.
const UDP_HEADER: Bytes = Bytes(8);
/// Payload of an echo: 64 bytes of IPv4, as ping(8) has it.
const ECHO_PAYLOAD: Bytes = Bytes(36);
/// Until a connection is tried again.
const RETRY: Span = Span::from_secs(1);
/// IPv6 headers are this much longer, and segments that much smaller.
const V6_EXTRA: u16 = 20;

#[derive(Debug)]
pub(crate) struct App {
    /// Number of the station among the stations.
    pub(crate) station: usize,
    pub(crate) first_port_up: u32,
    pub(crate) first_port_down: u32,
    pub(crate) ip_header: Bytes,
    pub(crate) tcp: Config,
    pub(crate) runs: bool,
    data: Direction,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Bulk { bytes: Option<Bytes>, connection: Option<Ticket>, established: bool },
    Datagrams { payload: Bytes, gap: Span, next: Instant, sleeps: bool },
    Web(Box<Reader>),
    Ping { interval: Span, rtts_ms: Vec<f64> },
}

impl App {
    /// The scenario's applications, none of which runs.
    pub(crate) fn all(
        scenario: &Scenario,
        tcp: &Config,
        air: &Air,
        wire: &Wire,
        streams: &Streams,
    ) -> Result<Vec<Self>, SimError> {
        let apps = scenario.apps.iter().enumerate().map(|(number, app)| {
            let header = ip_header(app.ip);
            let mut tcp = tcp.clone();
            tcp.mss -= if header == Bytes(40) { V6_EXTRA } else { 0 };
            if let AppKind::Bulk { congestion_control: Some(name), .. } = &app.kind {
                tcp.algorithm = algorithm(name, scenario.tcp.timestamps)?;
            }
            tcp.check()?;
            Ok(Self {
                station: air.station_of(app.station),
                first_port_up: wire.first_port(scenario, app.peer, Direction::Up),
                first_port_down: wire.first_port(scenario, app.peer, Direction::Down),
                ip_header: header,
                tcp,
                runs: false,
                data: data_direction(app),
                kind: Kind::new(&app.kind, number as u64, streams),
            })
        });
        apps.collect()
    }

    /// The end that sends the data.
    fn sender(&self) -> Side {
        match self.data {
            Direction::Up => Side::Station,
            Direction::Down => Side::Server,
        }
    }

    /// Size of its datagrams at IP level.
    fn datagram_len(&self) -> Bytes {
        match self.kind {
            Kind::Datagrams { payload, .. } => self.ip_header + UDP_HEADER + payload,
            _ => Bytes::ZERO,
        }
    }

    /// How the sender of a bulk transfer stands.
    pub(crate) fn sample(&self, connections: &Connections) -> Option<TcpSample> {
        let Kind::Bulk { connection: Some(connection), established: true, .. } = self.kind else { return None };
        let tcp = connections.tcp(connections.find(connection)?, self.sender());
        Some(TcpSample {
            cwnd_segments: tcp.cwnd().0 as f64 / tcp.segment_payload().0 as f64,
            rtt: tcp.srtt(),
            retransmits: tcp.stats().retransmissions,
        })
    }

    /// The echoes of a run, where it sent any that came back.
    pub(crate) fn echoes(&self, name: &str) -> Option<EchoResult> {
        let Kind::Ping { rtts_ms, .. } = &self.kind else { return None };
        Some(EchoResult {
            app: name.to_owned(),
            answers: rtts_ms.len() as u64,
            p50_ms: percentile(rtts_ms, 500)?,
            p99_ms: percentile(rtts_ms, 990)?,
            max_ms: percentile(rtts_ms, 1000)?,
        })
    }
}

impl Kind {
    fn new(kind: &AppKind, number: u64, streams: &Streams) -> Self {
        match *kind {
            // Another program's transfer is the same on the network.
            AppKind::Bulk { bytes, .. } => Self::Bulk { bytes, connection: None, established: false },
            AppKind::Udp { rate, payload } => {
                let gap = rate.time_for(payload).max(Span::from_nanos(1));
                let phase = streams.numbered("datagram phase", number).below(gap.as_nanos());
                Self::Datagrams { payload, gap, next: Instant::from_nanos(phase), sleeps: false }
            }
            AppKind::Web { objects, size, think } => {
                Self::Web(Box::new(Reader::new(objects, size, think, streams.numbered("web", number))))
            }
            AppKind::Ping { interval } => Self::Ping { interval, rtts_ms: Vec::new() },
        }
    }
}

impl World<'_> {
    pub(crate) fn start_app(&mut self, number: u32) {
        let app = &mut self.apps[number as usize];
        app.runs = true;
        match &mut app.kind {
            Kind::Bulk { .. } => self.open_bulk(number),
            Kind::Datagrams { next, .. } => {
                *next = self.now + next.saturating_since(Instant::ZERO);
                self.agenda.enter(*next, Task::App(number));
            }
            Kind::Web(_) => self.begin_page(number),
            Kind::Ping { .. } => self.wake_app(number),
        }
    }

    pub(crate) fn stop_app(&mut self, number: u32) {
        let station = self.apps[number as usize].station;
        self.catch_up(station, None);
        let app = &mut self.apps[number as usize];
        app.runs = false;
        match &mut app.kind {
            Kind::Bulk { connection, .. } => {
                if let Some(connection) = connection.take().and_then(|ticket| self.connections.find(ticket)) {
                    self.cut(connection);
                }
            }
            Kind::Web(_) => self.abandon_page(number),
            Kind::Datagrams { .. } | Kind::Ping { .. } => {}
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
            Kind::Web(_) => self.begin_page(number),
            Kind::Ping { interval, .. } => {
                let sent = self.now;
                self.send_echo(number, Direction::Up, sent);
                self.agenda.enter(self.now + interval, Task::App(number));
            }
        }
    }

    /// Ends a connection at once: the station's reset goes out, and both ends are gone.
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
            Kind::Web(_) => self.on_web_event(number, connection, side, event),
            _ => self.on_bulk_event(number, connection, side, event),
        }
    }
}

/// Bulk transfers.
impl World<'_> {
    fn open_bulk(&mut self, number: u32) {
        let app = &mut self.apps[number as usize];
        let opened = self.connections.open(number, &app.tcp);
        let ticket = self.connections.ticket(opened);
        let sender = self.connections.tcp_mut(opened, app.sender());
        if let Kind::Bulk { bytes, connection, established } = &mut app.kind {
            (*connection, *established) = (Some(ticket), false);
            match *bytes {
                Some(bytes) => {
                    sender.write(bytes);
                    sender.close();
                }
                None => sender.write_endlessly(),
            }
        }
        self.pump(opened, Side::Station);
    }

    fn on_bulk_event(&mut self, number: u32, connection: u32, side: Side, event: tcp::Event) {
        match event {
            tcp::Event::Received(bytes) => self.meter.receive(number, bytes.0),
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
        if again {
            self.connections.forget(connection);
            self.agenda.enter(self.now + RETRY, Task::App(number));
        }
    }
}

/// Datagrams and echoes.
impl World<'_> {
    fn send_due_datagram(&mut self, number: u32) {
        self.send_datagram(number);
        let app = &mut self.apps[number as usize];
        let Kind::Datagrams { gap, next, sleeps, .. } = &mut app.kind else { return };
        *next = self.now + *gap;
        *sleeps = self.air.sole_sender(app.station) == Some(number) && !self.air.is_empty(app.station);
        if !*sleeps {
            self.agenda.enter(*next, Task::App(number));
        }
    }

    /// A frame of `left` bytes has left a station's buffer, or the station's only application ends: what a sleeping
    /// sender has missed.
    pub(crate) fn catch_up(&mut self, station: usize, left: Option<Bytes>) {
        let Some(number) = self.air.sole_sender(station) else { return };
        let app = &self.apps[number as usize];
        let (runs, len) = (app.runs, app.datagram_len());
        let Kind::Datagrams { gap, mut next, sleeps: true, .. } = app.kind else { return };
        while runs && next < self.now {
            if !self.air.had_room(station, len, left) {
                let missed = self.now.saturating_since(next).as_nanos().div_ceil(gap.as_nanos());
                self.air.lose_unmade(station, missed);
                next += gap * missed;
                break;
            }
            self.send_datagram(number);
            next += gap;
        }
        let wakes = self.air.is_empty(station);
        if wakes {
            self.agenda.enter(next, Task::App(number));
        }
        if let Kind::Datagrams { next: due, sleeps, .. } = &mut self.apps[number as usize].kind {
            (*due, *sleeps) = (next, !wakes);
        }
    }

    fn send_datagram(&mut self, number: u32) {
        let app = &self.apps[number as usize];
        let (way, len) = (app.data, app.datagram_len());
        self.send(Packet { app: number, way, len, body: Body::Datagram });
    }

    pub(crate) fn receive_datagram(&mut self, packet: &Packet) {
        let headers = self.apps[packet.app as usize].ip_header + UDP_HEADER;
        self.meter.receive(packet.app, packet.len.saturating_sub(headers).0);
    }

    fn send_echo(&mut self, number: u32, way: Direction, sent: Instant) {
        let len = self.apps[number as usize].ip_header + UDP_HEADER + ECHO_PAYLOAD;
        self.send(Packet { app: number, way, len, body: Body::Echo { sent } });
    }

    /// The server answers, the station notes the time.
    pub(crate) fn receive_echo(&mut self, number: u32, sent: Instant, side: Side) {
        match side {
            Side::Server => self.send_echo(number, Direction::Down, sent),
            Side::Station => {
                let app = &mut self.apps[number as usize];
                if let Kind::Ping { rtts_ms, .. } = &mut app.kind
                    && app.runs
                {
                    rtts_ms.push(self.now.saturating_since(sent).as_secs_f64() * 1e3);
                }
            }
        }
    }
}
