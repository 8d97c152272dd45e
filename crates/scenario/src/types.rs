//! A checked scenario: the input of an engine (simulator or testbed).
//!
//! All values are valid: names are resolved to indices, quantities have units, rates belong to the radio's standard,
//! instants are within the run. The raw forms are in [`crate::raw`]; [`crate::check`] converts them. Instants of a run are
//! [`Span`]s since its start, because each engine has its own origin of time.

use std::net::Ipv4Addr;

use evenair_manager::{ClassId, Config};
use evenair_medium::{
    AfterCollision, Aggregation, BackOff, Beacons, IdleSenseConfig, Obss, PowerSave, RateControl, Reception,
};
use evenair_units::{BitRate, Bytes, Db, Dbm, Limit, Span};
use evenair_wifi::{EdcaSet, Phy, PhyRate, Position, Preamble};
use evenair_workload::voice::{CallTool, VoipSpec};
use evenair_workload::{DatagramSpec, Direction, Distribution, FlowSpec, OnOffSpec, Phase};
use serde::{Deserialize, Serialize};

use crate::{Axis, Layout};

/// One experiment, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Short name, fit for a file name (letters, digits, `-`, `_`, `.`).
    pub name: String,
    /// One line for headings.
    pub title: String,
    /// Purpose of the experiment and source of its set-up.
    pub description: String,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Length of the run.
    pub duration: Span,
    /// The wireless side: PHY profile, MAC limits, buffers.
    pub radio: Radio,
    /// Access points, in the order of the file; if it names none, the only one.
    pub access_points: Vec<AccessPoint>,
    /// Overlapping BSS on their channels.
    pub neighbours: Vec<Neighbour>,
    /// Link between the access points and the LAN's hosts.
    pub lan: LinkSpec,
    /// Link between the LAN's router and the hosts on the Internet; present if there are such hosts.
    pub wan: Option<WanSpec>,
    /// Stations and servers, in the order of the file, groups expanded.
    pub hosts: Vec<Host>,
    /// Applications, groups expanded: one entry per station and repetition.
    pub apps: Vec<App>,
    /// Oddities of the scenario's files that do not prevent a run: captures that end within a packet.
    pub warnings: Vec<String>,
    /// The manager's configuration, without stations, which an engine adds.
    pub manager: Config,
    /// Telemetry of the box during a run.
    pub telemetry: Telemetry,
    /// Events, in order of time.
    pub events: Vec<Event>,
    /// Intervals, phases and warm-up.
    pub measure: Measure,
    /// Settings of every host's TCP.
    pub tcp: TcpSpec,
    /// Published numbers and findings for this set-up.
    pub published: Vec<Published>,
    /// Keys varied by an experiment of many runs, see [`Scenario::points`].
    pub sweep: Vec<Axis>,
    /// Parts of the file beyond the end of a run that `--set duration=...` makes shorter: a line for each kind, with names.
    pub left_out: Vec<String>,
    /// The text from which it was read.
    pub source: Source,
}

/// Telemetry of stations and access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telemetry {
    /// The stations with weights and classes.
    pub stations: bool,
    /// The stations' PHY rates and each change of them.
    pub rates: bool,
    /// Delay of the report after a station has associated; `None`: no reports.
    pub associations: Option<Span>,
    /// Signal strengths of stations.
    pub signal: bool,
    /// Packets lost by the access point.
    pub ap_losses: bool,
}

/// Source of a scenario: enough to repeat the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The file's name, as it was given.
    pub file: String,
    /// The file's text.
    pub text: String,
    /// Keys whose values were replaced, in this order, as `--set KEY=VALUE` does.
    pub settings: Vec<(String, String)>,
}

/// The wireless side.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Standard, preamble and basic rates.
    pub phy: Phy,
    /// A packet larger than this (IP level) is preceded by RTS/CTS; never if absent.
    pub rts_threshold: Option<Bytes>,
    /// Preamble of the CTS-to-self that precedes each frame (802.11g); absent without protection.
    pub protection: Option<Preamble>,
    /// Attempts of a frame sent without RTS.
    pub short_retry_limit: u32,
    /// Attempts of a frame sent with RTS.
    pub long_retry_limit: u32,
    /// Inter-frame space after a collision.
    pub after_collision: AfterCollision,
    /// Replies that are ready at once need no back-off (ns-3).
    pub idle_before_ack: bool,
    /// The access point's buffer toward the stations.
    pub ap_buffer: Limit,
    /// Each station's buffer toward the access point.
    pub station_buffer: Limit,
    /// The access point's queue in front of its MAC, which has its buffer's size; `None`: the buffer is the MAC's own.
    pub ap_queue: Option<evenair_ap::QueueSpec>,
    /// The stations' queue in front of their MAC.
    pub station_queue: Option<evenair_ap::QueueSpec>,
    /// Parameters of the access categories; absent with DCF.
    pub edca: Option<Edca>,
    /// Back-off of the access point, and of the stations.
    pub back_off: (BackOff, BackOff),
    /// Configuration of Idle Sense, for nodes that use it.
    pub idle_sense: IdleSenseConfig,
    /// Pairs of stations that do not hear each other, each once, by index, the lower one first.
    pub hidden: Vec<(usize, usize)>,
    /// Reception of frames: errors, capture, path loss.
    pub reception: Reception,
    /// Rate control of the senders.
    pub rate_control: RateControl,
    /// Layout of stations without their own position; `None`: positions do not matter, or each station has its own.
    pub layout: Option<Layout>,
    /// Position of the access point.
    pub ap_position: Position,
    /// Transmit power of the access point, and default of the stations.
    pub tx_power: Dbm,
    /// Stations that receive each other below this do not hear each other.
    pub carrier_sense: Dbm,
    /// The access points' beacons, if any.
    pub beacons: Option<Beacons>,
    /// Aggregation of nodes, with 802.11n and later.
    pub aggregation: Option<Aggregation>,
}

/// An overlapping BSS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Unique in the scenario.
    pub name: String,
    /// Index of the contention domain that it disturbs.
    pub domain: usize,
    /// Its traffic.
    pub sends: Obss,
}

/// An access point with its radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPoint {
    /// Unique among access points and hosts; "ap" where the file names none.
    pub name: String,
    /// Its radio's channel; `None` if the file names no access points.
    pub channel: Option<u32>,
    /// Index of its contention domain, which it shares with access points that it hears: from zero on in the order of the file.
    pub domain: usize,
    /// Name of that domain in results.
    pub domain_name: String,
    /// Position of the access point.
    pub position: Position,
    /// VLAN of its stations' frames at the box.
    pub vlan: Option<u16>,
    /// The wired path between it and the box.
    pub path: PathSpec,
}

/// The wired path between the box and an access point: it delays packets, and has neither a rate nor a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSpec {
    /// From the box to the access point.
    pub down: DelaySpec,
    /// From the access point to the box.
    pub up: DelaySpec,
}

/// One direction of such a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelaySpec {
    /// One-way delay.
    pub delay: Span,
    /// Additional random delay of each packet: uniform from zero to this, without reordering.
    pub jitter: Span,
    /// Packets are delivered at multiples of this; zero: on arrival.
    pub batch: Span,
}

/// Parameters of the access categories, each of which has its own buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edca {
    /// At stations.
    pub stations: EdcaSet,
    /// At the access point.
    pub access_point: EdcaSet,
}

/// One direction of a wired link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Bit rate; unlimited if absent.
    pub rate: Option<BitRate>,
    /// One-way delay.
    pub delay: Span,
    /// Buffer before the link.
    pub buffer: Limit,
}

/// The Internet link, with separate directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WanSpec {
    /// From the Internet toward the LAN.
    pub down: LinkSpec,
    /// From the LAN toward the Internet.
    pub up: LinkSpec,
}

/// An end system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Unique in the scenario.
    pub name: String,
    /// Where it is attached.
    pub place: Place,
    /// One-way delay of its packets before the Internet link: its additional distance.
    pub delay: Span,
    /// Additional random delay of each packet that it sends toward the Internet link: uniform from zero to this, without reordering.
    pub jitter: Span,
}

/// Where a host is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the wireless side.
    Station {
        /// PHY rate of its data frames, both directions, until an event changes it.
        rate: PhyRate,
        /// Its weight in the manager's policy.
        weight: u32,
        /// Its class in the manager's policy.
        class: Option<ClassId>,
        /// Index of its access point, until an event moves it.
        access_point: usize,
        /// How it and the access point receive each other.
        link: Link,
    },
    /// Behind the access point (and the box), on the local wire.
    Lan,
    /// Beyond the Internet link.
    Wan,
}

/// How a station and the access point receive each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Probability per 10^9 that a DATA frame between the two is lost, in addition to other losses.
    pub loss_per_billion: u32,
    /// Signal-to-noise ratio in both directions, overriding the positions.
    pub snr: Option<Db>,
    /// The station's position; `None`: it follows from the layout.
    pub position: Option<Position>,
    /// The station's transmit power; `None`: the default.
    pub tx_power: Option<Dbm>,
    /// The station's power save, if any.
    pub power_save: Option<PowerSave>,
    /// The time that each packet of the station waits before it enters its MAC.
    pub answers_late: Span,
}

impl Place {
    /// Whether this is a station.
    pub fn is_station(&self) -> bool {
        matches!(self, Self::Station { .. })
    }
}

/// One application between a station and a server.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// Unique in the scenario.
    pub name: String,
    /// Name of its entry in the file, which may have several applications: one for each station, and one for each direction
    /// of a call.
    pub entry: String,
    /// Name of its random streams: its entry in the file and its station, so that its draws do not depend on other
    /// applications.
    pub streams: String,
    /// Index in [`Scenario::hosts`] of the station.
    pub station: usize,
    /// Index in [`Scenario::hosts`] of the server.
    pub peer: usize,
    /// Direction of the data.
    pub direction: Direction,
    /// Kind of application.
    pub kind: AppKind,
    /// When it starts.
    pub start: Span,
    /// When it stops; at the end of the run if absent.
    pub stop: Option<Span>,
    /// IP version.
    pub ip: IpVersion,
    /// DSCP of its packets, in both directions.
    pub dscp: u8,
    /// Its packets go to a multicast group that the station has joined.
    pub group: bool,
}

impl App {
    /// Whether a separate program runs it, whose received packets are unknown here.
    pub fn is_foreign_program(&self) -> bool {
        self.is_telephone() || matches!(self.kind, AppKind::Bulk { tool: Tool::Iperf3, .. })
    }

    /// Whether it is one direction of a call by a telephone program.
    pub fn is_telephone(&self) -> bool {
        matches!(&self.kind, AppKind::Voip(spec) if spec.tool != CallTool::Builtin)
    }

    /// The multicast group of its packets, if any: one per station, of site-local scope (RFC 2365, 6.1).
    pub fn group_address(&self) -> Option<Ipv4Addr> {
        let [high, low] = (self.station as u16).to_be_bytes();
        self.group.then_some(Ipv4Addr::new(239, 255, high, low))
    }
}

/// IP version of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Kind of application.
#[derive(Clone, Debug, PartialEq)]
pub enum AppKind {
    /// One TCP transfer, as fast as TCP can.
    Bulk {
        /// Program of the transfer.
        tool: Tool,
        /// TCP congestion control of the sender, where it differs from [`TcpSpec::congestion_control`].
        congestion_control: Option<String>,
        /// Bytes to send; endless if absent.
        bytes: Option<Bytes>,
    },
    /// Datagrams.
    Udp(DatagramSpec),
    /// One direction of a telephone call.
    Voip(VoipSpec),
    /// Arrivals of TCP transfers of random size; one application of a group.
    Flows(FlowSpec),
    /// One TCP transfer of random size after another.
    OnOff(OnOffSpec),
    /// A web client: a main object, then further objects over parallel connections, then a pause.
    Web {
        /// Minimum and maximum number of further objects of a page, uniform between.
        objects: (u32, u32),
        /// Size of an object in bytes.
        size: Distribution,
        /// Pause between the end of a page and the next request.
        think: Span,
    },
    /// UDP echo from the station to the server.
    Ping {
        /// Time between requests.
        interval: Span,
    },
}

impl Scenario {
    /// The other direction of a call: NAME-down3 for NAME-up3.
    pub fn answer_to(&self, up: &App) -> Option<usize> {
        let (name, number) = up.name.rsplit_once("-up")?;
        let down = format!("{name}-down{number}");
        self.apps.iter().position(|app| app.name == down && app.direction == Direction::Down)
    }
}

impl AppKind {
    /// TCP congestion control of its senders, where it differs from the scenario's.
    pub fn congestion_control(&self) -> Option<&str> {
        match self {
            Self::Bulk { congestion_control, .. }
            | Self::Flows(FlowSpec { congestion_control, .. })
            | Self::OnOff(OnOffSpec { congestion_control, .. }) => congestion_control.as_deref(),
            Self::Udp(_) | Self::Voip(_) | Self::Web { .. } | Self::Ping { .. } => None,
        }
    }
}

/// Program of a bulk transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The engine's own sender and sink.
    Builtin,
    /// iperf3, which must be installed (testbed only).
    Iperf3,
    /// QUIC, which the box sees as datagrams: quinn between real hosts; in the simulator its TCP, whose headers the box
    /// cannot read.
    Quic,
}

/// Settings of every host's TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSpec {
    /// Congestion control by its kernel name ("cubic", "reno").
    pub congestion_control: String,
    /// Largest receive buffer.
    pub rmem_max: Bytes,
    /// Largest send buffer.
    pub wmem_max: Bytes,
    /// RFC 7323 timestamps (an ACK is then 52 bytes of IPv4).
    pub timestamps: bool,
    /// Selective acknowledgements, RFC 2018.
    pub sack: bool,
    /// RFC 7323 window scaling.
    pub window_scaling: bool,
    /// Explicit congestion notification, RFC 3168.
    pub ecn: bool,
    /// Largest segment, TCP options included.
    pub mss: Bytes,
    /// Largest window that a receiver advertises, if it is not limited by its buffer alone.
    pub window: Option<Bytes>,
    /// Initial window in segments, RFC 6928.
    pub initial_window: u32,
    /// Every second segment is acknowledged, or after a delay; otherwise each one at once.
    pub delayed_ack: bool,
    /// Minimum retransmission timeout.
    pub min_rto: Span,
    /// The TCP stack.
    pub stack: Stack,
    /// Repair of losses without SACK.
    pub fast_recovery: FastRecovery,
}

/// The TCP stack of the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Linux: windows grow by bytes acknowledged, the first segments are acknowledged one by one, the timeout's lower bound
    /// applies above the round-trip time, SACK recovery is proportional (RFC 6937), CUBIC has HyStart++.
    Linux,
    /// As in the RFCs and most simulators: windows grow by ACKs (RFC 5681), the timeout itself is bounded (RFC 6298), SACK
    /// recovery is RFC 6675, and no window falls back after idle time.
    Textbook,
    /// ns-3 3.44 with its deviations from the RFCs, for comparisons with it. It has its own defaults.
    Ns3,
}

/// Repair of losses without SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastRecovery {
    /// RFC 6582: fast recovery ends when all data sent before it is acknowledged.
    NewReno,
    /// RFC 5681 without RFC 6582: fast recovery ends with the first new acknowledgment.
    Reno,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event, since the start of the run.
    pub at: Span,
    /// The action.
    pub action: Action,
}

/// What an event does. Hosts are indices in [`Scenario::hosts`] and are stations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The box begins to manage.
    Insert,
    /// The box drains and is bypassed.
    Bypass,
    /// A station associates. A station whose first event is a join is absent until then.
    Join(usize),
    /// A station leaves.
    Leave(usize),
    /// A station's PHY rate changes.
    Rate(usize, PhyRate),
    /// A station roams to another access point.
    Roam {
        /// The station.
        station: usize,
        /// Index of its new access point.
        access_point: usize,
        /// Time for which it is not associated.
        gap: Span,
    },
}

/// Parameters of the measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Length of an interval of the time series.
    pub interval: Span,
    /// Named intervals of the run over which results are averaged, in order of time.
    pub phases: Vec<Phase>,
    /// Omitted start of the run.
    pub warm_up: WarmUp,
}

/// Start of a run that averages omit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// Everything before this instant; the phases are already cut.
    Until(Span),
    /// The initial transient of each phase, if one is detected.
    Auto,
}

/// A number or finding published for this set-up, to compare with the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The result to compare with.
    pub what: Quantity,
    /// The phase; if absent the finding is about the whole run.
    pub phase: Option<String>,
    /// The number, if one was published.
    pub value: Option<f64>,
    /// Unit of the number; empty if it has none.
    pub unit: String,
    /// Source, and the finding in words.
    pub note: String,
    /// Identifier, unique in the scenario; only values with one are compared.
    #[serde(default)]
    pub id: Option<String>,
    /// Variant of the scenario; the file as it is if absent.
    #[serde(default)]
    pub at: Option<String>,
}

/// A result that published values can be compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// All IP-level bits over the WLAN hop, DATA and ACKs, Mb/s.
    Total,
    /// That part of the total that belongs to uploads (their DATA and ACKs), Mb/s.
    Up,
    /// That part of the total that belongs to downloads (their DATA and ACKs), Mb/s.
    Down,
    /// The medium's capacity C*, Mb/s.
    Capacity,
    /// Jain's index over the flows, 0 to 1.
    JainFlows,
    /// IP-level rate of one application, Mb/s.
    App(String),
    /// IP-level rate of all applications of one station, Mb/s.
    Station(String),
    /// Any measure by its name (see [`crate::measures`]), which may omit the phase.
    Measure(String),
    /// Another number, defined by its note and its id.
    Figure,
    /// A finding in words only.
    Finding,
}
