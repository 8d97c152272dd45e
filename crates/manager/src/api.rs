//! The inputs and outputs of a manager, except for packets and configuration.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::ops::{Add, Index, IndexMut};

use evenair_packet::{Edits, FlowKey, MacAddr, Port, Vlan};
use evenair_units::{BitRate, Bytes, Instant, Span};
use evenair_wifi::PhyRate;
use minicbor::{Decode, Encode};

use crate::ids::{ClassId, Direction};
use crate::latency::Latency;
use crate::loss::Losses;
use crate::pacer::guard::{GuardReport, GuardStep};
use crate::{
    Codec, Config, ConfigError, Counted, Counter, DelayReport, DropReason, Drops, GroupReport, Label, Place,
    RateReport, Refusal, ReportCounts, ReportedRate, SpeechReport, UplinkReport,
};

/// What the operator asks for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Command {
    /// Start to manage.
    #[n(0)]
    Insert,
    /// Stop to manage, after the queues have drained.
    #[n(1)]
    Bypass,
    /// Replace the configuration. A wrong one is refused whole, with [`Event::ConfigRefused`].
    #[n(2)]
    Reconfigure(#[n(0)] alloc::boxed::Box<Config>),
}

/// Input about the WLAN from outside: telemetry, the operator, the bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Observation {
    /// A station now uses this PHY rate.
    #[n(0)]
    StationRate {
        /// Its MAC address.
        #[n(0)]
        mac: MacAddr,
        /// The rate toward and from it.
        #[n(1)]
        rate: PhyRate,
    },
    /// How many packets an access point has lost so far toward its stations, as SNMP reports it: a total since any
    /// time. Without such reports, the manager infers losses from retransmissions.
    #[n(1)]
    AccessPointLosses {
        /// Any MAC address that names the access point.
        #[n(0)]
        access_point: MacAddr,
        /// The total.
        #[n(1)]
        total: u64,
    },
    /// A telemetry report about a station, right or wrong: the manager checks it, and forgets it when it expires.
    #[n(2)]
    RateReport(#[n(0)] RateReport),
    /// The bridge has carried so much. Has no effect: what left by a port may have been dropped behind it. In old
    /// recordings.
    #[n(3)]
    Bridged {
        /// IP-level bytes that crossed the port of the access points, both ways,
        #[n(0)]
        carried: Bytes,
        /// in this time.
        #[n(1)]
        elapsed: Span,
    },
    /// A station is in this network now.
    #[n(4)]
    StationNetwork {
        /// Its MAC address.
        #[n(0)]
        mac: MacAddr,
        /// The network's name; `None`: it is not known any more.
        #[n(1)]
        ssid: Option<Label>,
    },
    /// A station belongs to this group of the operator's: of its user, its kind, its payment.
    #[n(5)]
    StationGroup {
        /// Its MAC address.
        #[n(0)]
        mac: MacAddr,
        /// The group's name; `None`: to none.
        #[n(1)]
        group: Option<Label>,
    },
    /// A station is at this access point now. Its held packets move along if that is in another contention domain.
    /// Ignored if the VLAN of the station's frames identifies its access point.
    #[n(6)]
    StationAt {
        /// Its MAC address.
        #[n(0)]
        mac: MacAddr,
        /// The access point, by a name or by its radio; `None`: it is not known any more. One that is not configured
        /// counts as `None`, until a later configuration has it.
        #[n(1)]
        place: Option<Place>,
    },
    /// A station has left. What is known of it is forgotten; packets held for it are still released in turn, because
    /// it may only have roamed.
    #[n(7)]
    StationGone {
        /// Its MAC address.
        #[n(0)]
        mac: MacAddr,
    },
}

/// What a manager decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<P> {
    /// Send this packet now.
    Release {
        /// The packet.
        packet: P,
        /// The side it leaves by.
        port: Port,
        /// Changes to make before it leaves.
        edits: Edits,
    },
    /// Discard this packet.
    Drop {
        /// The packet.
        packet: P,
        /// Why.
        reason: DropReason,
    },
    /// Send a probe now, from the configuration's [`ProbeConfig::source`](crate::ProbeConfig): to this station and for this
    /// address of its, of version 4 an ARP request with the sender's address 0.0.0.0, of version 6 a neighbour solicitation.
    Probe {
        /// The station's MAC address, to which the frame goes.
        station: MacAddr,
        /// The VLAN of the frame.
        vlan: Option<Vlan>,
        /// The address that is asked for.
        address: IpAddr,
    },
    /// This packet answers a probe: it has arrived, and is sent nowhere.
    Consume {
        /// The packet.
        packet: P,
    },
    /// An event to report.
    Event(Event),
}

/// An event to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The manager is now in this mode.
    ModeChanged(Mode),
    /// A new configuration was not taken.
    ConfigRefused(ConfigError),
    /// An observation was not taken: the PHY does not have the rate, the address is a group address, or there are too
    /// many stations or access points.
    ObservationRefused(Observation),
    /// A station was seen that neither the configuration nor a report has named.
    StationLearned(MacAddr),
    /// A station has begun (`true`) or ceased to take more than its share of the medium as an unresponsive sender: a
    /// flood without acknowledgments. Its other traffic pays for it.
    StationOverShare {
        /// The station.
        mac: MacAddr,
        /// It has begun.
        over: bool,
    },
    /// The WLAN carried much less than before while packets waited: the harm guard has taken a step.
    Guard {
        /// The contention domain.
        domain: Label,
        /// What it did.
        step: GuardStep,
        /// IP-level bits per second that were carried before,
        before: BitRate,
        /// and while packets were held.
        held: BitRate,
    },
    /// Stations are in other contention domains, by the reported channels of access points.
    DomainsChanged {
        /// Channels that are a domain each; zero: all stations are in one domain.
        channels: usize,
    },
    /// Frames to groups exceeded their share of the medium, and some were dropped: at first, and then once a minute.
    GroupLimited {
        /// The contention domain.
        domain: Label,
        /// The group of the dropped frame.
        group: MacAddr,
        /// Who sent it.
        sender: MacAddr,
    },
    /// The observed traffic contradicts the reported rate of a station: the rate is not used for a while.
    ReportContradicted {
        /// The station.
        mac: MacAddr,
        /// The rate that it was taken to have.
        rate: Option<PhyRate>,
    },
    /// A station or a wired host claims an address that another, present one uses. The claim is not accepted.
    AddressContested {
        /// The address.
        address: IpAddr,
        /// Whose it is.
        holder: MacAddr,
        /// Who claims it.
        claimant: MacAddr,
    },
    /// A call was found and admitted: it has strict priority from now on.
    CallAdmitted {
        /// Its station.
        station: MacAddr,
        /// Its other end.
        peer: IpAddr,
        /// Its codec, as far as its rate identifies it.
        codec: Codec,
    },
    /// A call was found and refused: it exceeds a limit, and gets no priority.
    CallRefused {
        /// Its station.
        station: MacAddr,
        /// Its other end.
        peer: IpAddr,
        /// Its codec, as far as its rate identifies it.
        codec: Codec,
        /// Why.
        why: Refusal,
    },
    /// A call has moved to another contention domain with its station, and keeps its priority there.
    CallRoamed {
        /// Its station.
        station: MacAddr,
        /// Its other end.
        peer: IpAddr,
        /// Its codec, as far as its rate identifies it.
        codec: Codec,
        /// The medium.
        domain: Label,
        /// Why it would have been refused had it begun there. It is not cut off for that; others are refused until
        /// there is room.
        over: Option<Refusal>,
    },
    /// A call has been silent for long, or turned out to be something else.
    CallEnded {
        /// Its station.
        station: MacAddr,
        /// Its other end.
        peer: IpAddr,
        /// Its codec, as far as its rate identifies it.
        codec: Codec,
        /// It went first.
        admitted: bool,
        /// How long it lasted, since it was found.
        lasted: Span,
        /// How it was heard: to the station, from it.
        speech: alloc::boxed::Box<[SpeechReport; 2]>,
    },
    /// The controller has set another service rate, or C* has changed.
    RateChanged {
        /// C.
        service_rate: BitRate,
        /// C*.
        capacity: BitRate,
    },
}

/// Whether packets are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Packets pass straight through; connections are watched.
    Bypassed,
    /// Packets toward the WLAN are held and released in turn.
    Inserted,
    /// As inserted, until the queues are empty.
    Draining,
}

/// Why a manager wants to be called at its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The virtual server will be free, and a packet waits for it.
    Release,
    /// The drain limit ends.
    DrainLimit,
    /// The service rate or the upload limit is to be evaluated, and old connections are to be forgotten.
    Tick,
}

/// The state of a manager at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Mode.
    pub mode: Mode,
    /// Service rate C: IP-level bits of DATA and ACKs over the WLAN per second.
    pub service_rate: BitRate,
    /// Capacity C* of the stations active lately, by the formula.
    pub capacity: BitRate,
    /// IP-level bits of flows seen to cross the WLAN per second, in the last interval of the controller.
    pub throughput: BitRate,
    /// Each contention domain: the default one, for all stations not known to be in another, and those of the
    /// configured access points. The values above are of all domains together.
    pub domains: Vec<DomainReport>,
    /// Stations, by MAC address.
    pub stations: Vec<StationReport>,
    /// Stations that are known, be they in the list or not.
    pub stations_known: usize,
    /// Flows, by key.
    pub flows: Vec<FlowReport>,
    /// The operator's policy classes, by their numbers, and last the traffic in none of them; empty if none is
    /// configured.
    pub classes: Vec<ClassReport>,
    /// Queues that hold packets.
    pub queues: Vec<QueueReport>,
    /// The hops that packets wait for, and for how long: the WLAN, and each direction of the Internet link, if
    /// configured.
    pub hops: Vec<HopReport>,
    /// Calls that go on, the oldest first.
    pub calls: Vec<CallReport>,
    /// Whether calls are looked for: the configuration has `voice`.
    pub calls_watched: bool,
    /// The control at the receiver, where there is one, or packets are still held for one that was.
    pub receiver: Option<ReceiverReport>,
    /// The limit on uploads, where there is one.
    pub uplink: Option<UplinkReport>,
    /// Telemetry reports about stations since the manager began.
    pub rate_reports: ReportCounts,
    /// The harm guard.
    pub guard: GuardReport,
    /// Totals since the manager began.
    pub counters: Counters,
}

/// A contention domain: one medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainReport {
    /// Its name.
    pub name: Label,
    /// Its configured access points; of a learned domain, those at which stations are reported, by their BSSIDs.
    pub access_points: Vec<Label>,
    /// It is not configured, but learned from the reported channels of access points.
    pub learned: bool,
    /// Stations that are known there.
    pub stations: usize,
    /// Stations that came to it from another one, since it was configured.
    pub roamed: u64,
    /// Service rate C.
    pub service_rate: BitRate,
    /// Capacity C* of the stations active lately, by the formula.
    pub capacity: BitRate,
    /// IP-level bits of flows seen to cross the medium per second, in the last interval of the controller.
    pub throughput: BitRate,
    /// How many packets wait for it, and how long they waited.
    pub hop: HopReport,
    /// What control at the receiver does there, where that is asked for; ACKs that it holds are counted for all media
    /// together.
    pub receiver: Option<ReceiverReport>,
    /// What the limit on uploads does there, where there is one.
    pub uplink: Option<UplinkReport>,
    /// What was found of the way to the access points and back, where completions decide what may be released.
    pub path: Option<PathReport>,
    /// Frames to groups.
    pub groups: GroupReport,
}

/// What the queue controller has found of the path between the box and the stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathReport {
    /// Medium time that has to be in flight for the path to carry all it can, beyond the target of backlog: what the path delays.
    pub lag: Span,
    /// The access points' estimated backlog, in the time that the medium takes for it.
    pub backlog: Span,
    /// Medium time that releases take, as completions show, in thousandths of what the airtime model gives for the PHY rates that are
    /// known: retries and other networks on the channel make it larger. `None`: nothing is measured, since a service rate paces.
    pub cost_permille: Option<u64>,
    /// The part of what was released lately, by airtime, of which the traffic shows no completion, in thousandths. `None`: unknown,
    /// since no probes are configured.
    pub unacknowledged_permille: Option<u64>,
    /// What probes do about that.
    pub probes: ProbeState,
}

/// What probes do in a contention domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeState {
    /// None may be sent.
    #[default]
    Off,
    /// None are needed: the traffic shows completions, or there is little of it.
    Idle,
    /// Their answers show how far the access point's queue has come.
    Used,
    /// Answers did not wait behind what was released before: the access point answers in the stations' place, or queues by station
    /// or flow. None are sent for a while.
    Disbelieved,
}

/// A class, with all below it. Totals are of all time since there was a class of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassReport {
    /// What the operator calls it; "other" for what is in none.
    pub name: String,
    /// The class that it is in.
    pub parent: Option<ClassId>,
    /// Packets held, for the WLAN and for the Internet link.
    pub held: u32,
    /// IP-level bytes held.
    pub held_bytes: Bytes,
    /// It has had what its ceiling allows, and waits.
    pub at_ceiling: bool,
    /// IP-level bytes released toward the WLAN.
    pub released: Bytes,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan: Bytes,
    /// Charged airtime of the released packets and of the packets that they caused.
    pub airtime: Span,
    /// Packets dropped.
    pub dropped: u64,
    /// What was lost.
    pub losses: Losses,
    /// How long its packets took.
    pub latency: Latency,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallReport {
    /// Its station.
    pub station: MacAddr,
    /// Its other end.
    pub peer: IpAddr,
    /// Its codec, as far as its rate identifies it.
    pub codec: Codec,
    /// Why it does not go first; `None`: it does.
    pub refused: Option<Refusal>,
    /// When it was found.
    pub since: Instant,
    /// Call quality at the station, as far as the box can measure it.
    pub to_station: SpeechReport,
    /// How the station is heard.
    pub from_station: SpeechReport,
}

/// The control at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverReport {
    /// TCP flows used lately whose latest window left lowered, as of the last tick.
    pub clamped_flows: u32,
    /// TCP flows used lately and not closed, as of the last tick and with those that came since.
    pub flows: u32,
    /// The largest window that may be advertised now, in bytes; of a law that counts segments, for segments of 1460
    /// bytes.
    pub window: Option<Bytes>,
    /// For how long ACKs that come now are held.
    pub delay: Option<Span>,
    /// Packets held: ACKs, and what waits behind them.
    pub held: u64,
    /// Mean time that packets toward the WLAN were seen to wait in the access point lately: from the release of DATA to
    /// their ACK, less what the medium takes for them.
    pub ap_queueing: Option<Span>,
}

/// What packets wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum Hop {
    /// The wireless medium.
    #[n(0)]
    Wlan,
    /// The Internet link, toward the stations.
    #[n(1)]
    InternetDown,
    /// The Internet link, from the stations.
    #[n(2)]
    InternetUp,
}

/// One hop: how long packets waited in the box for it. Waits behind the box are not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopReport {
    /// Which.
    pub hop: Hop,
    /// Packets that wait now.
    pub held: u64,
    /// Those that left in the last interval of the controller.
    pub recent: DelayReport,
    /// All that left since the manager began or the link was configured.
    pub total: DelayReport,
}

/// Where the PHY rate of a station comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSource {
    /// Reported by telemetry, or configured or set by the operator.
    Reported,
    /// Inferred from the airtime that packets to the station really take, compared with packets to the others.
    Inferred,
    /// The rate is the configured default.
    Unknown,
}

/// One station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationReport {
    /// Its MAC address.
    pub mac: MacAddr,
    /// When this was so. Other parts of a report may be of other instants ([`Collection`](crate::Collection)).
    pub copied: Instant,
    /// The place of its contention domain in the manager's list.
    pub domain: usize,
    /// The access point that it is at, as far as one of the configuration is known.
    pub access_point: Option<Label>,
    /// Its last reported place, configured or not.
    pub reported_place: Option<Place>,
    /// The PHY rate that it is charged by. If its source is [`RateSource::Unknown`], that is the configured default, which says
    /// nothing about the station.
    pub rate: PhyRate,
    /// Where the rate comes from.
    pub rate_source: RateSource,
    /// C_i at that rate.
    pub capacity: BitRate,
    /// The operator's weight.
    pub weight: u32,
    /// It was learned from traffic, not configured.
    pub learned: bool,
    /// Its charged airtime since it was learned, in both directions: an estimate of the medium time that packets to
    /// it and from it took: by the rate assumed of it, times what completions show the medium to take for that.
    pub airtime: Span,
    /// Of it, what is charged for packets from it.
    pub airtime_up: Span,
    /// IP addresses that it uses, by what it sends or was granted, the last one first; eight at most.
    pub addresses: Vec<IpAddr>,
    /// What it calls itself (DHCP).
    pub name: Option<String>,
    /// Its MAC address is one that it has made up (IEEE 802c): it may come back with another one.
    pub random_mac: bool,
    /// IP-level bytes released toward it.
    pub to_station: Bytes,
    /// IP-level bytes that came from it.
    pub from_station: Bytes,
    /// It takes more than its share of the medium, as an unresponsive sender.
    pub over_share: bool,
    /// What was lost since it was learned.
    pub losses: Losses,
    /// How long its packets took since it was learned; `None`: none was timed.
    pub latency: Option<Arc<Latency>>,
    /// The telemetry reports about it, if one is valid.
    pub reported: Option<ReportedRate>,
}

/// One flow: a TCP connection, or packets of one protocol between two addresses and ports. One between two stations
/// that a router on the wired side joins is there twice, once for each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// Its addresses and ports.
    pub key: FlowKey,
    /// Its VLAN.
    pub vlan: Option<Vlan>,
    /// Its station.
    pub station: MacAddr,
    /// Which way its data travel.
    pub direction: Direction,
    /// Segments that one ACK of the receiver of its data covers, d, in thousandths; of another protocol than TCP,
    /// packets of an upload for each packet that answers.
    pub d_milli: u32,
    /// IP-level bytes released toward the WLAN.
    pub released: Bytes,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan: Bytes,
    /// Round trip over the WLAN alone, from a segment's release to its ACK: smoothed.
    pub wlan_rtt: Option<Span>,
    /// The shortest one.
    pub wlan_rtt_least: Option<Span>,
    /// Medium time that its releases were charged for, or would be where nothing is held.
    pub charged: Span,
    /// TCP segments of DATA that came from the wire again.
    pub resent_down: u64,
    /// The same, from the WLAN.
    pub resent_up: u64,
    /// Packets held.
    pub backlog_packets: u32,
    /// Packets dropped.
    pub dropped: u64,
}

/// One queue. A level of the policy that is not there leaves its field empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// What its packets wait for.
    pub hop: Hop,
    /// Direction.
    pub direction: Option<Direction>,
    /// Class.
    pub class: Option<ClassId>,
    /// Station.
    pub station: Option<MacAddr>,
    /// Connection.
    pub flow: Option<FlowKey>,
    /// Packets held.
    pub packets: u32,
    /// IP-level bytes held.
    pub bytes: Bytes,
}

/// Totals since the manager began. `received == released + dropped() + probe_answers + held`, always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets handed in.
    pub received: u64,
    /// Packets handed out to be sent, those that passed at once included.
    pub released: u64,
    /// Packets dropped, by reason.
    pub drops: Drops,
    /// What else was counted.
    pub counted: Counted,
    /// Packets held now.
    pub held: u64,
    /// Bytes at IP level that were handed in.
    pub received_bytes: u64,
    /// Of them, those of packets that cannot be read: neither IP nor control, or tunnels of an unknown or encrypted kind. They are
    /// queued by the addresses of their frames.
    pub unread_bytes: u64,
    /// Probes that were sent.
    pub probes: u64,
    /// Packets that answered a probe, and were sent nowhere.
    pub probe_answers: u64,
}

impl Counters {
    /// Packets dropped for whatever reason.
    pub fn dropped(&self) -> u64 {
        self.drops.total()
    }

    /// Packets that were released, dropped or consumed, or are held: all that were received.
    pub fn accounted_for(&self) -> u64 {
        self.released + self.dropped() + self.probe_answers + self.held
    }
}

impl Index<Counter> for Counters {
    type Output = u64;

    fn index(&self, counter: Counter) -> &u64 {
        &self.counted[counter]
    }
}

impl IndexMut<Counter> for Counters {
    fn index_mut(&mut self, counter: Counter) -> &mut u64 {
        &mut self.counted[counter]
    }
}

impl Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            received: self.received + other.received,
            released: self.released + other.released,
            drops: self.drops + other.drops,
            counted: self.counted + other.counted,
            held: self.held + other.held,
            received_bytes: self.received_bytes + other.received_bytes,
            unread_bytes: self.unread_bytes + other.unread_bytes,
            probes: self.probes + other.probes,
            probe_answers: self.probe_answers + other.probe_answers,
        }
    }
}
