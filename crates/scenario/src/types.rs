//! A checked scenario: the input of an engine (simulator or testbed).
//!
//! All values are valid: names are resolved to indices, quantities have units, rates belong to the radio's standard,
//! instants are within the run. The raw forms are in [`crate::raw`]; [`crate::check`] converts them. Instants of a run are
//! [`Span`]s since its start, because each engine has its own origin of time.

use std::net::Ipv4Addr;

use evenair_config::{ManagerSpec, PhySpec};
use evenair_manager::ClassId;
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
    /// Access points, in the order of the file; where it names none, the one that there is.
    pub access_points: Vec<AccessPoint>,
    /// Networks of others on their channels.
    pub neighbours: Vec<Neighbour>,
    /// Between the access points and the LAN's hosts.
    pub lan: LinkSpec,
    /// Between the LAN's router and the hosts on the Internet; present whenever a host is there.
    pub wan: Option<WanSpec>,
    /// Stations and servers, in the order of the file, groups expanded.
    pub hosts: Vec<Host>,
    /// Applications, groups expanded: one entry per station and repetition.
    pub apps: Vec<App>,
    /// What is odd about the scenario's files, and does not keep a run from starting: captures that end within a packet.
    pub warnings: Vec<String>,
    /// The box's settings, checked against the radio once.
    pub manager: ManagerSpec,
    /// Telemetry of the box during a run.
    pub telemetry: Telemetry,
    /// What happens when, in order of time.
    pub events: Vec<Event>,
    /// What is measured.
    pub measure: Measure,
    /// Settings of every host's TCP.
    pub tcp: TcpSpec,
    /// Numbers and findings that others published for this set-up.
    pub published: Vec<Published>,
    /// What an experiment of many runs varies, see [`Scenario::points`].
    pub sweep: Vec<Axis>,
    /// What of the file lies beyond the end of a run that `--set duration=...` makes shorter: a line for each kind, with names.
    pub left_out: Vec<String>,
    /// The text that it was read from.
    pub source: Source,
}

/// Telemetry of stations and access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telemetry {
    /// The stations with weights and classes.
    pub stations: bool,
    /// The stations' PHY rates and each change of them.
    pub rates: bool,
    /// How long after a station has come to an access point its association is reported; `None`: it is not.
    pub associations: Option<Span>,
    /// How strongly stations are received.
    pub signal: bool,
    /// How many packets the access point has lost.
    pub ap_losses: bool,
}

/// What a scenario was read from: enough to make the same run again.
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
    /// The same, with the RTS threshold, as it was written: to be handed to a box with a configuration of its own.
    pub phy_spec: PhySpec,
    /// A packet (IP level) larger than this is preceded by RTS/CTS; never where absent.
    pub rts_threshold: Option<Bytes>,
    /// Preamble of the CTS to itself that a sender puts in front of each frame (802.11g), where it does.
    pub protection: Option<Preamble>,
    /// Attempts of a frame sent without RTS.
    pub short_retry_limit: u32,
    /// Attempts of a frame sent with RTS.
    pub long_retry_limit: u32,
    /// What is waited after a collision.
    pub after_collision: AfterCollision,
    /// Replies that are ready at once need no back-off (ns-3).
    pub idle_before_ack: bool,
    /// The access point's buffer toward the stations.
    pub ap_buffer: Limit,
    /// Each station's buffer toward the access point.
    pub station_buffer: Limit,
    /// The access point's queue in front of its MAC, which has its buffer's size; `None`: the buffer is the MAC's own.
    pub ap_queue: Option<evenair_ap::QueueSpec>,
    /// The same at each station.
    pub station_queue: Option<evenair_ap::QueueSpec>,
    /// The access categories' parameters; with DCF none.
    pub edca: Option<Edca>,
    /// Where the access point's back-off is drawn from, and the stations'.
    pub back_off: (BackOff, BackOff),
    /// What Idle Sense aims at, where nodes have it.
    pub idle_sense: IdleSenseConfig,
    /// Pairs of stations that do not hear each other, each once, by their numbers among the stations, the lower one first.
    pub hidden: Vec<(usize, usize)>,
    /// What is received of what is sent.
    pub reception: Reception,
    /// Rate control of the senders.
    pub rate_control: RateControl,
    /// Where stations are that have no place of their own; `None`: places do not matter, or each has its own.
    pub layout: Option<Layout>,
    /// Position of the access point.
    pub ap_position: Position,
    /// What the access point sends with, and stations without a power of their own.
    pub tx_power: Dbm,
    /// Stations that reach each other with less than this do not hear each other.
    pub carrier_sense: Dbm,
    /// The access points' beacons, where there are any.
    pub beacons: Option<Beacons>,
    /// How nodes aggregate, with 802.11n and later.
    pub aggregation: Option<Aggregation>,
}

/// A network of others on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Unique in the scenario.
    pub name: String,
    /// Number of the contention domain that it disturbs.
    pub domain: usize,
    /// What it sends.
    pub sends: Obss,
}

/// An access point with its radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPoint {
    /// Unique among access points and hosts; "ap" where the file names none.
    pub name: String,
    /// Its radio's channel; `None` where the file names no access points.
    pub channel: Option<u32>,
    /// Number of its contention domain, which it shares with those that it hears: from zero on in the order of the file.
    pub domain: usize,
    /// What results call that domain.
    pub domain_name: String,
    /// Where it is.
    pub position: Position,
    /// Its stations' frames cross the box in this VLAN.
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
    /// What each packet waits besides: uniform from zero to this, in order.
    pub jitter: Span,
    /// Packets are handed over at multiples of this; zero: as each arrives.
    pub batch: Span,
}

/// The access categories' parameters. Each category has a buffer of its own.
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
    /// Bit rate; unlimited where absent.
    pub rate: Option<BitRate>,
    /// One-way delay.
    pub delay: Span,
    /// Buffer before the link.
    pub buffer: Limit,
}

/// The Internet link, each direction on its own.
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
    /// One-way delay of what it sends before that comes to the Internet link: how much farther away it is.
    pub delay: Span,
    /// What each packet that it sends toward the Internet link waits besides: uniform from zero to this, in order.
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
        /// The number of the access point that it is at, until an event moves it.
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
    /// Probability per 10^9 that a DATA frame between the two is lost, beside other losses.
    pub loss_per_billion: u32,
    /// Signal-to-noise ratio in both directions, overriding the positions.
    pub snr: Option<Db>,
    /// The station's place, where it does not follow from the layout.
    pub position: Option<Position>,
    /// What the station sends with, where it is not the usual.
    pub tx_power: Option<Dbm>,
    /// How the station saves power, where it does.
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

/// One application: one station talking to one server.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// Unique in the scenario.
    pub name: String,
    /// Name of its entry in the file, of which there may be several applications: one for each station, and one for each
    /// direction of a call.
    pub entry: String,
    /// What its random streams are named by: its entry in the file and its station, so that what it draws does not depend on
    /// what others there are.
    pub streams: String,
    /// Index in [`Scenario::hosts`] of the station.
    pub station: usize,
    /// Index in [`Scenario::hosts`] of the server.
    pub peer: usize,
    /// Which way the data flow.
    pub direction: Direction,
    /// What it does.
    pub kind: AppKind,
    /// When it starts.
    pub start: Span,
    /// When it stops; at the end of the run where absent.
    pub stop: Option<Span>,
    /// Which IP it uses.
    pub ip: IpVersion,
    /// Differentiated services code point of its packets, both ways.
    pub dscp: u8,
    /// Its packets go to a group, to which the station listens.
    pub group: bool,
}

impl App {
    /// A separate program makes it, whose received packets are unknown here.
    pub fn is_foreign_program(&self) -> bool {
        self.is_telephone() || matches!(self.kind, AppKind::Bulk { tool: Tool::Iperf3, .. })
    }

    /// One direction of a call that a telephone program makes.
    pub fn is_telephone(&self) -> bool {
        matches!(&self.kind, AppKind::Voip(spec) if spec.tool != CallTool::Builtin)
    }

    /// The group that its packets go to, where they do: one for each station, of those that stay on a site (RFC 2365, 6.1).
    pub fn group_address(&self) -> Option<Ipv4Addr> {
        let [high, low] = (self.station as u16).to_be_bytes();
        self.group.then_some(Ipv4Addr::new(239, 255, high, low))
    }
}

/// Which IP an application uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// What an application does.
#[derive(Clone, Debug, PartialEq)]
pub enum AppKind {
    /// One TCP transfer, as fast as TCP can.
    Bulk {
        /// Which program makes it.
        tool: Tool,
        /// TCP congestion control of the sender, where it differs from [`TcpSpec::congestion_control`].
        congestion_control: Option<String>,
        /// How much to send; without end where absent.
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
    /// A reader of web pages: a main object, then further objects over parallel connections, then a pause.
    Web {
        /// Fewest and most further objects of a page, uniform between.
        objects: (u32, u32),
        /// Bytes of an object.
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
    /// The other direction of a call: what is called NAME-down3 of NAME-up3.
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

/// Which program makes a bulk transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The engine's own sender and sink.
    Builtin,
    /// iperf3, which must be installed (testbed only).
    Iperf3,
    /// QUIC, which the box sees as datagrams: quinn between real hosts; in the simulator its TCP, with nothing seen of what
    /// that says in its header.
    Quic,
}

/// Settings of every host's TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSpec {
    /// As the kernel names it ("cubic", "reno").
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
    /// Largest window that a receiver advertises, where something else than its buffer bounds it.
    pub window: Option<Bytes>,
    /// Segments that a connection starts with, RFC 6928.
    pub initial_window: u32,
    /// Every second segment is acknowledged, or after a wait; otherwise each one at once.
    pub delayed_ack: bool,
    /// Shortest retransmission timeout.
    pub min_rto: Span,
    /// Whose TCP it is.
    pub stack: Stack,
    /// Repair of losses without SACK.
    pub fast_recovery: FastRecovery,
}

/// Whose TCP the hosts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Linux: windows grow by bytes acknowledged, the first segments are acknowledged one by one, the timeout's lower
    /// bound counts above the round-trip time, SACK recovery is proportional (RFC 6937), CUBIC has HyStart++.
    Linux,
    /// The RFCs' text, as most simulators have it: windows grow by ACKs (RFC 5681), the timeout itself is bounded
    /// (RFC 6298), SACK recovery is RFC 6675, and no window falls back after idle time.
    Textbook,
    /// ns-3 3.44, with its deviations from the RFCs: the TCP of the comparisons with it. Its defaults are its own.
    Ns3,
}

/// Repair of losses without SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastRecovery {
    /// RFC 6582: fast recovery lasts until all data sent before it are acknowledged.
    NewReno,
    /// RFC 5681 without RFC 6582: it ends with the first new acknowledgment.
    Reno,
}

/// Something that happens in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Span,
    /// What.
    pub action: Action,
}

/// What an event does. Hosts are indices in [`Scenario::hosts`] and are stations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The box starts to manage.
    Insert,
    /// The box drains and lets everything pass.
    Bypass,
    /// A station associates. A station whose first event is a join is absent until then.
    Join(usize),
    /// A station goes.
    Leave(usize),
    /// A station's PHY rate changes.
    Rate(usize, PhyRate),
    /// A station goes to another access point.
    Roam {
        /// Which.
        station: usize,
        /// The number of the access point that it comes to.
        access_point: usize,
        /// How long it is not associated.
        gap: Span,
    },
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Length of an interval of the time series.
    pub interval: Span,
    /// Named stretches of the run over which results are averaged, in order of time.
    pub phases: Vec<Phase>,
    /// What is left out at the start.
    pub warm_up: WarmUp,
}

/// What of a run's start is left out of averages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// Everything before this instant; the phases have been cut already.
    Until(Span),
    /// The initial transient of each phase, as far as one is found.
    Auto,
}

/// Something that others published for this set-up, to set beside the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Which result it compares to.
    pub what: Quantity,
    /// In which phase; the finding speaks of the run as a whole where absent.
    pub phase: Option<String>,
    /// The number, where one was published.
    pub value: Option<f64>,
    /// Unit of the number; empty where it has none.
    pub unit: String,
    /// Source, and the finding in words.
    pub note: String,
    /// Unique in the scenario; what is judged has one.
    #[serde(default)]
    pub id: Option<String>,
    /// Its variant of the scenario; the file as it is if absent.
    #[serde(default)]
    pub at: Option<String>,
}

/// A result that published values can be set beside.
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
    /// Any measure by its name (see [`crate::measures`]), which may leave out its phase.
    Measure(String),
    /// A number of a kind of its own, which its words and its id define.
    Figure,
    /// A finding in words only.
    Finding,
}
