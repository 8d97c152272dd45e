//! TCP connections: a table of pairs of endpoints.
//!
//! The station opens each connection and the server accepts it. Both endpoints are in one entry, which is reused when both
//! are closed; a serial number identifies stray packets of an earlier connection.

use std::sync::Arc;

use evenair_scenario::{FastRecovery, IpVersion, Stack, TcpSpec};
use evenair_units::hint::prefetch;
use evenair_units::{Bytes, Instant, Span};
use evenair_workload::Direction;

use crate::SimError;
use crate::event_queue::{EventQueue, Side, Task, Timer};
use crate::prefetch::MANY;
use crate::tcp::{Algorithm, Config, Connection, Growth, LossRecovery, Quirks, RtoFloor, State};

/// A connection without its two endpoints, in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Pair {
    pub(crate) app: u32,
    /// Number of the connection in the run; its low part determines the station's port.
    pub(crate) serial: u32,
    /// Timers of the station's and the server's endpoint.
    timers: [Timer; 2],
    /// Deadline of each endpoint, as it last reported it; [`Instant::MAX`] without one.
    deadlines: [Instant; 2],
    /// Congestion window of the sending end after its last call, in bytes.
    pub(crate) cwnd: u64,
    /// Smoothed round-trip time; zero before the first sample.
    srtt: Span,
    pub(crate) retransmissions: u32,
    /// Payload of a full segment, in bytes.
    pub(crate) payload: u16,
    /// The end whose state is kept here.
    sender: Side,
    pub(crate) open: bool,
}

/// Reference to a connection by index and serial number: the index may be another connection's by the time it is looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    connection: u32,
    serial: u32,
}

#[derive(Debug)]
pub(crate) struct Connections {
    pairs: Vec<Pair>,
    /// Endpoints by the same index: the station's and the server's.
    ends: Vec<[Connection; 2]>,
    free: Vec<u32>,
    opened: u32,
}

impl Connections {
    /// An empty table with capacity for this many connections.
    pub(crate) fn with_room_for(connections: usize) -> Self {
        let (pairs, ends) = (Vec::with_capacity(connections), Vec::with_capacity(connections));
        Self { pairs, ends, free: Vec::new(), opened: 0 }
    }

    /// Opens a connection of `app` on which `sender` sends the data; the station's SYN is ready.
    ///
    /// # Panics
    /// If the settings were not checked.
    pub(crate) fn open(&mut self, app: u32, sender: Side, config: &Arc<Config>) -> u32 {
        self.opened += 1;
        let ends = [Connection::connect(Arc::clone(config)), Connection::listen(Arc::clone(config))];
        let ends = ends.map(|end| end.expect("settings were checked"));
        let pair = Pair::new(app, self.opened, sender, &ends[sender as usize]);
        if let Some(place) = self.free.pop() {
            (self.pairs[place as usize], self.ends[place as usize]) = (pair, ends);
            return place;
        }
        self.pairs.push(pair);
        self.ends.push(ends);
        (self.pairs.len() - 1) as u32
    }

    /// Whether the connections are too many to stay in the caches.
    #[inline]
    pub(crate) fn are_many(&self) -> bool {
        self.pairs.len() >= MANY
    }

    /// Prefetches what an endpoint needs to handle a segment, with data or with an acknowledgment.
    #[inline]
    pub(crate) fn prefetch(&self, connection: u32, side: Side, is_data: bool) {
        prefetch(&self.pairs[connection as usize]);
        self.ends[connection as usize][side as usize].prefetch(is_data);
    }

    /// Prefetches what those parts point to; call it when they have arrived in the cache.
    #[inline]
    pub(crate) fn prefetch_more(&self, connection: u32, side: Side, is_data: bool) {
        self.ends[connection as usize][side as usize].prefetch_more(is_data);
    }

    pub(crate) fn get(&self, connection: u32) -> &Pair {
        &self.pairs[connection as usize]
    }

    pub(crate) fn tcp(&self, connection: u32, side: Side) -> &Connection {
        &self.ends[connection as usize][side as usize]
    }

    pub(crate) fn tcp_mut(&mut self, connection: u32, side: Side) -> &mut Connection {
        &mut self.ends[connection as usize][side as usize]
    }

    /// A reference that remains valid after the connection is gone.
    pub(crate) fn ticket(&self, connection: u32) -> Ticket {
        Ticket { connection, serial: self.get(connection).serial }
    }

    /// Index of a connection, if it still exists.
    pub(crate) fn find(&self, ticket: Ticket) -> Option<u32> {
        Some(ticket.connection).filter(|&connection| self.is(connection, ticket.serial))
    }

    /// Whether a segment belongs to the connection that has this index now.
    pub(crate) fn is(&self, connection: u32, serial: u32) -> bool {
        let pair = &self.pairs[connection as usize];
        pair.open && pair.serial == serial
    }

    /// After a call of an endpoint: schedules its deadline, or frees the entry when both ends are closed.
    pub(crate) fn schedule_or_close(&mut self, event_queue: &mut EventQueue, connection: u32, side: Side) {
        let (pair, ends) = (&mut self.pairs[connection as usize], &self.ends[connection as usize]);
        let tcp = &ends[side as usize];
        if side == pair.sender {
            pair.note(tcp);
        }
        pair.deadlines[side as usize] = tcp.poll_deadline().map_or(Instant::MAX, |(at, _)| at);
        pair.arm(event_queue, connection, side);
        if tcp.state() == State::Closed && ends.iter().all(|end| end.state() == State::Closed) {
            self.forget(connection);
        }
    }

    /// Handles a timer entry that fired at `now`. Returns whether something was due.
    pub(crate) fn fire(&mut self, event_queue: &mut EventQueue, now: Instant, connection: u32, side: Side) -> bool {
        let pair = &mut self.pairs[connection as usize];
        if !pair.timers[side as usize].fires(now) || !pair.open {
            return false;
        }
        let is_due = pair.deadlines[side as usize] <= now;
        if is_due {
            self.ends[connection as usize][side as usize].handle_timeout(now);
        } else {
            pair.arm(event_queue, connection, side);
        }
        is_due
    }

    /// Frees the entry. Pending entries of its timers find it closed, or nothing due.
    pub(crate) fn forget(&mut self, connection: u32) {
        let pair = &mut self.pairs[connection as usize];
        if std::mem::take(&mut pair.open) {
            self.free.push(connection);
        }
    }
}

impl Pair {
    fn new(app: u32, serial: u32, sender: Side, tcp: &Connection) -> Self {
        let (timers, deadlines) = ([Timer::OFF; 2], [Instant::MAX; 2]);
        let (cwnd, srtt, retransmissions, payload) = (0, Span::ZERO, 0, 0);
        let mut pair =
            Self { app, serial, timers, deadlines, cwnd, srtt, retransmissions, payload, sender, open: true };
        pair.note(tcp);
        pair
    }

    /// Records the present state of the sending end.
    fn note(&mut self, tcp: &Connection) {
        self.cwnd = tcp.cwnd().0;
        self.srtt = tcp.srtt().unwrap_or(Span::ZERO);
        self.retransmissions = tcp.stats().retransmissions as u32;
        self.payload = tcp.segment_payload().0 as u16; // a SYN announces it in 16 bits
    }

    /// Schedules the endpoint's deadline.
    fn arm(&mut self, event_queue: &mut EventQueue, connection: u32, side: Side) {
        let deadline = Some(self.deadlines[side as usize]).filter(|&at| at < Instant::MAX);
        event_queue.arm(&mut self.timers[side as usize], deadline, Task::Tcp { connection, side });
    }

    /// Smoothed round-trip time of the end that sends the data.
    pub(crate) fn srtt(&self) -> Option<Span> {
        Some(self.srtt).filter(|&srtt| srtt > Span::ZERO)
    }

    /// The station's port; a port is reused after 28,232 other connections.
    pub(crate) fn station_port(&self) -> u16 {
        station_port(self.serial)
    }
}

/// The station's port of the connection with this serial number.
pub(crate) const fn station_port(serial: u32) -> u16 {
    // Linux's range of ephemeral ports.
    32_768 + (serial % 28_232) as u16
}

/// TCP settings of every host that a scenario asks for: those of its stack, unless it overrides them.
pub(crate) fn tcp_config(spec: &TcpSpec) -> Result<Config, SimError> {
    let mut config = match spec.stack {
        Stack::Linux => Config::linux(),
        Stack::Textbook => textbook(),
        Stack::Ns3 => Config { quirks: Quirks::NS3, ..Config::ns3() },
    };
    config.algorithm = algorithm(&spec.congestion_control, spec)?;
    if !spec.sack {
        config.recovery = match spec.fast_recovery {
            FastRecovery::NewReno => LossRecovery::NewReno,
            FastRecovery::Reno => LossRecovery::Reno,
        };
    }
    config.rto.floor = match spec.stack {
        Stack::Linux => RtoFloor::AboveSrtt(spec.min_rto),
        Stack::Textbook | Stack::Ns3 => RtoFloor::Total(spec.min_rto),
    };
    config.mss = spec.mss.0.try_into().unwrap_or(u16::MAX);
    config.initial_window = spec.initial_window;
    config.timestamps = spec.timestamps;
    config.window_scaling = spec.window_scaling;
    config.receive_buffer = spec.window.map_or(spec.rmem_max, |window| window.min(spec.rmem_max));
    config.send_buffer = spec.wmem_max;
    if !spec.delayed_ack {
        config = config.without_delayed_ack();
    }
    config.check()?;
    Ok(config)
}

/// Exactly as the RFCs have it: no credit for bytes covered by a late ACK, no quick start, no fallback after idle time.
fn textbook() -> Config {
    Config { growth: Growth::PerAck, idle_restart: false, ..Config::rfc() }
}

/// The congestion control of this name, in the variant of `spec`'s stack.
pub(crate) fn algorithm(name: &str, spec: &TcpSpec) -> Result<Algorithm, SimError> {
    match (name, spec.stack) {
        ("cubic", Stack::Linux) => Ok(Algorithm::LinuxCubic { hystart: spec.timestamps }),
        ("cubic", _) => Ok(Algorithm::Cubic { fast_convergence: true, hystart: false }),
        ("reno", _) => Ok(Algorithm::Reno),
        (other, _) => Err(SimError::CongestionControl(other.to_owned())),
    }
}

/// Size of an IP header without options: RFC 791, RFC 8200.
pub(crate) const fn ip_header(version: IpVersion) -> Bytes {
    match version {
        IpVersion::V4 => Bytes(20),
        IpVersion::V6 => Bytes(40),
    }
}

/// Direction of a segment that `side` sends.
pub(crate) const fn way_from(side: Side) -> Direction {
    match side {
        Side::Station => Direction::Up,
        Side::Server => Direction::Down,
    }
}

#[cfg(test)]
mod tests {
    use evenair_scenario::Scenario;

    use super::*;

    /// The configuration of a `[tcp]` table.
    fn of(settings: &str) -> Config {
        let text = format!(
            "version = 1\nname = \"x\"\nduration = \"1 s\"\nradio = {{ standard = \"802.11b\" }}\n\
             station = [{{ name = \"s\", rate = \"11 Mb/s\" }}]\nserver = [{{ name = \"t\" }}]\n\
             ping = [{{ name = \"p\", stations = [\"s\"], server = \"t\" }}]\n[tcp]\n{settings}\n"
        );
        tcp_config(&Scenario::parse(&text, "x.toml").expect("a sound scenario").tcp).expect("sound settings")
    }

    fn ns3() -> Config {
        Config { quirks: Quirks::NS3, ..Config::ns3() }
    }

    #[test]
    fn the_stack_of_ns3_is_the_one_compared_with_it() {
        assert_eq!(of("stack = \"ns-3\""), ns3());
        let capped = "window = \"64240 bytes\"\nsend_buffer = \"64240 bytes\"\nwindow_scaling = false";
        assert_eq!(of(&format!("stack = \"ns-3\"\n{capped}")), ns3().with_window(Bytes(64_240)));
        assert_eq!(of("stack = \"ns-3\"\ndelayed_ack = false"), ns3().without_delayed_ack());
    }

    #[test]
    fn explicit_keys_override_the_ns3_stack() {
        let with = |settings: &str| of(&format!("stack = \"ns-3\"\n{settings}"));
        let cubic = Algorithm::Cubic { fast_convergence: true, hystart: false };
        assert_eq!(with("congestion_control = \"cubic\""), Config { algorithm: cubic, ..ns3() });
        assert_eq!(with("sack = false"), Config { recovery: LossRecovery::NewReno, ..ns3() });
        assert_eq!(with("sack = false\nfast_recovery = \"reno\""), Config { recovery: LossRecovery::Reno, ..ns3() });
        assert_eq!(with("timestamps = true"), Config { timestamps: true, ..ns3() });
        let mut patient = ns3();
        patient.rto.floor = RtoFloor::Total(Span::from_secs(1));
        assert_eq!(with("min_rto = \"1 s\""), patient);
        let (receive_buffer, send_buffer) = (Bytes(2_000_000), Bytes(1_000_000));
        assert_eq!(
            with("receive_buffer = \"2 MB\"\nsend_buffer = \"1 MB\""),
            Config { receive_buffer, send_buffer, ..ns3() }
        );
    }

    #[test]
    fn other_stacks_have_their_own_configurations() {
        let buffers =
            |config: Config| Config { receive_buffer: Bytes(8_000_000), send_buffer: Bytes(8_000_000), ..config };
        assert_eq!(of(""), buffers(Config::linux()));
        assert_eq!(of("sack = false"), buffers(Config { recovery: LossRecovery::NewReno, ..Config::linux() }));
        let mut expected = buffers(textbook());
        expected.algorithm = Algorithm::Cubic { fast_convergence: true, hystart: false };
        expected.rto.floor = RtoFloor::Total(Span::from_millis(200));
        assert_eq!(of("stack = \"textbook\""), expected);
    }
}
