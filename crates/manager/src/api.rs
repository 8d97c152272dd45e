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
    RateReport, Refusal, ReportCounts, ReportedRate, SpeechReport, StationCounted, UplinkReport,
};

/// What the operator asks for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Command {
    /// Start to hold packets.
    #[n(0)]
    Insert,
    /// Stop to hold packets, after the queues have drained.
    #[n(1)]
    Bypass,
    /// Replace the configuration. A wrong one is refused as a whole, with [`Event::ConfigRefused`].
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
    /// Packets that an access point has lost toward its stations, as SNMP reports it: a total since any time. Without such reports, the
    /// manager infers losses from retransmissions.
    #[n(1)]
    AccessPointLosses {
        /// Any MAC address that names the access point.
        #[n(0)]
        access_point: MacAddr,
        /// Packets lost so far.
        #[n(1)]
        total: u64,
    },
    /// A telemetry report about a station, right or wrong: the manager checks it, and forgets it when it expires.
    #[n(2)]
    RateReport(#[n(0)] RateReport),
    /// Traffic that the bridge has carried. Has no effect, since packets that left by a port may have been dropped behind it. In old
    /// recordings.
    #[n(3)]
    Bridged {
        /// IP-level bytes that crossed the port of the access points, both ways.
        #[n(0)]
        carried: Bytes,
        /// Time in which they crossed it.
        #[n(1)]
        elapsed: Span,
    },
    /// The network that a station is in.
    #[n(4)]
    StationNetwork {
        /// Its MAC address.
        #[n(0)]
        mac: MacAddr,
        /// The network's name; `None`: unknown again.
        #[n(1)]
        ssid: Option<Label>,
    },
    /// The operator's group of a station: of its user, its kind, its payment.
    #[n(5)]
    StationGroup {
        /// Its MAC address.
        #[n(0)]
        mac: MacAddr,
        /// The group's name; `None`: it is in no group.
        #[n(1)]
        group: Option<Label>,
    },
    /// The access point that a station is at. Its held packets move along if that is in another contention domain. Ignored if the VLAN of
    /// the station's frames identifies its access point.
    #[n(6)]
    StationAt {
        /// Its MAC address.
        #[n(0)]
        mac: MacAddr,
        /// The access point, by a name or by its radio; `None`: unknown again. One that is not configured counts as `None`, until a later
        /// configuration has it.
        #[n(1)]
        place: Option<Place>,
    },
    /// A station has left. Its state is forgotten; packets held for it are still released in turn, because it may only have roamed.
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
    /// Send a probe now, from the configuration's [`ProbeConfig::source`](crate::ProbeConfig), to this station and for this address of it:
    /// an ARP request with the sender's address 0.0.0.0 for version 4, a neighbour solicitation for version 6.
    Probe {
        /// The station's MAC address, to which the frame goes.
        station: MacAddr,
        /// The VLAN of the frame.
        vlan: Option<Vlan>,
        /// The address that the probe asks for.
        address: IpAddr,
    },
    /// Discard this packet: it answers a probe, and ends here.
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
    /// A new configuration was refused.
    ConfigRefused(ConfigError),
    /// An observation was refused: the PHY does not have the rate, the address is a group address, or there are too many stations or
    /// access points.
    ObservationRefused(Observation),
    /// A station was seen that neither the configuration nor a report has named.
    StationLearned(MacAddr),
    /// A station has begun (`true`) or ceased to take more than its share of the medium as an unresponsive sender: a flood without
    /// acknowledgments. Its other traffic pays for it.
    StationOverShare {
        /// The station.
        mac: MacAddr,
        /// Whether it has begun.
        over: bool,
    },
    /// The WLAN carried much less than before while packets waited: the harm guard has taken a step.
    Guard {
        /// The contention domain.
        domain: Label,
        /// What the guard did.
        step: GuardStep,
        /// Bits per second at IP level carried without holding packets.
        before: BitRate,
        /// Bits per second at IP level carried while packets were held.
        held: BitRate,
    },
    /// The contention domains, as learned from the reported channels of access points, have changed.
    DomainsChanged {
        /// Channels that are a domain each; zero: all stations are in one domain.
        channels: usize,
    },
    /// Frames to groups exceeded their share of the medium, and some were dropped. At most one event a minute.
    GroupLimited {
        /// The contention domain.
        domain: Label,
        /// The group of the dropped frame.
        group: MacAddr,
        /// Sender of that frame.
        sender: MacAddr,
    },
    /// The observed traffic contradicts the reported rate of a station: the rate is not used for a while.
    ReportContradicted {
        /// The station.
        mac: MacAddr,
        /// The rate that it was taken to have; `None`: unknown.
        rate: Option<PhyRate>,
    },
    /// A station or a wired host claims an address that another, present one uses. The claim is not accepted.
    AddressContested {
        /// The address.
        address: IpAddr,
        /// The host that uses the address.
        holder: MacAddr,
        /// The host that claims it.
        claimant: MacAddr,
    },
    /// A call was detected and admitted: it has strict priority from now on.
    CallAdmitted {
        /// Its station.
        station: MacAddr,
        /// Its other end.
        peer: IpAddr,
        /// Its codec, as far as its rate identifies it.
        codec: Codec,
    },
    /// A call was detected and refused: it exceeds a limit, and gets no priority.
    CallRefused {
        /// Its station.
        station: MacAddr,
        /// Its other end.
        peer: IpAddr,
        /// Its codec, as far as its rate identifies it.
        codec: Codec,
        /// The reason.
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
        /// The new contention domain.
        domain: Label,
        /// Why a call that begins there would be refused. This one is not cut off; others are refused until there is room.
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
        /// Whether it had strict priority.
        admitted: bool,
        /// Duration since it was detected.
        lasted: Span,
        /// Quality of speech: to the station, from it.
        speech: alloc::boxed::Box<[SpeechReport; 2]>,
    },
    /// The controller has set another service rate, or C* has changed.
    RateChanged {
        /// Service rate C.
        service_rate: BitRate,
        /// Capacity C*.
        capacity: BitRate,
    },
}

/// Whether packets are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Packets pass straight through; flow statistics are kept.
    Bypassed,
    /// Packets toward the WLAN are held and released in turn.
    Inserted,
    /// As [`Mode::Inserted`], until the queues are empty.
    Draining,
}

/// Why a manager wants to be called at its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A packet waits, and may be released then.
    Release,
    /// The drain limit ends.
    DrainLimit,
    /// An interval of the controller ends: service rate and upload limit are evaluated, and old connections forgotten.
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
    /// Stations known, whether in the list or not.
    pub stations_known: usize,
    /// Flows, by key.
    pub flows: Vec<FlowReport>,
    /// The operator's policy classes, by their numbers, and last the traffic in none of them; empty if none is
    /// configured.
    pub classes: Vec<ClassReport>,
    /// Queues that hold packets.
    pub queues: Vec<QueueReport>,
    /// What packets wait for, and how long: the WLAN, and each direction of the Internet link, if configured.
    pub hops: Vec<HopReport>,
    /// Ongoing calls, oldest first.
    pub calls: Vec<CallReport>,
    /// Whether the box detects calls: the configuration has `voice`.
    pub calls_watched: bool,
    /// Receiver control, if it is configured, or ACKs are still held from when it was.
    pub receiver: Option<ReceiverReport>,
    /// The upload limiter, if configured.
    pub uplink: Option<UplinkReport>,
    /// Counts of telemetry reports since the manager began.
    pub rate_reports: ReportCounts,
    /// The harm guard.
    pub guard: GuardReport,
    /// Totals since the manager began.
    pub counters: Counters,
}

/// A contention domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainReport {
    /// Its name.
    pub name: Label,
    /// Its configured access points; of a learned domain, those at which stations are reported, by their BSSIDs.
    pub access_points: Vec<Label>,
    /// Whether it was learned from the reported channels of access points, and is not configured.
    pub learned: bool,
    /// Stations known there.
    pub stations: usize,
    /// Stations that came from another domain, since this one was configured.
    pub roamed: u64,
    /// Service rate C.
    pub service_rate: BitRate,
    /// Capacity C* of the stations active lately, by the formula.
    pub capacity: BitRate,
    /// IP-level bits of flows seen to cross the medium per second, in the last interval of the controller.
    pub throughput: BitRate,
    /// Packets that wait for its medium, and how long they waited.
    pub hop: HopReport,
    /// Receiver control in this domain, if configured; held ACKs are counted for all domains together.
    pub receiver: Option<ReceiverReport>,
    /// The upload limiter of this domain, if configured.
    pub uplink: Option<UplinkReport>,
    /// What completions show of the path to the access points and back, if the controller decides by them.
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
    /// State of probing.
    pub probes: ProbeState,
}

/// State of probing in a contention domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeState {
    /// No probes may be sent.
    #[default]
    Off,
    /// No probes are needed: the traffic shows completions, or there is little of it.
    Idle,
    /// Replies to probes show how far the access point's queue has come.
    Used,
    /// Replies did not wait behind earlier releases: the access point answers in the stations' place, or queues by station or flow. No
    /// probes are sent for a while.
    Disbelieved,
}

/// A policy class, with all classes below it. Totals count since there is a class of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassReport {
    /// Name in the configuration; "other" for traffic in no class.
    pub name: String,
    /// The class above it.
    pub parent: Option<ClassId>,
    /// Packets held, for the WLAN and for the Internet link.
    pub held: u32,
    /// IP-level bytes held.
    pub held_bytes: Bytes,
    /// Whether it has used what its ceiling allows, and waits.
    pub at_ceiling: bool,
    /// IP-level bytes released toward the WLAN.
    pub released: Bytes,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan: Bytes,
    /// Charged airtime of the released packets and of the packets that they caused.
    pub airtime: Span,
    /// Packets dropped.
    pub dropped: u64,
    /// Lost packets.
    pub losses: Losses,
    /// Latency of its packets.
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
    /// Why it has no strict priority; `None`: it has.
    pub refused: Option<Refusal>,
    /// When it was detected.
    pub since: Instant,
    /// Call quality at the station, as far as the box can measure it.
    pub to_station: SpeechReport,
    /// Quality of the speech from the station.
    pub from_station: SpeechReport,
}

/// Receiver control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverReport {
    /// TCP flows, used lately, whose latest window left lowered, as of the last tick.
    pub clamped_flows: u32,
    /// TCP flows, used lately and not closed: those of the last tick and those that began since.
    pub flows: u32,
    /// The largest window that may be advertised now, in bytes; for a law that counts segments, with segments of 1460 bytes.
    pub window: Option<Bytes>,
    /// Time for which an ACK that arrives now is held.
    pub delay: Option<Span>,
    /// Packets held: ACKs, and packets behind them.
    pub held: u64,
    /// Recent mean time that packets toward the WLAN waited in the access point: from the release of DATA to their ACK, less the medium
    /// time that they take.
    pub ap_queueing: Option<Span>,
}

/// What a packet waits for.
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

/// Time that packets waited in the box for one hop. Waits behind the box are not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopReport {
    /// The hop.
    pub hop: Hop,
    /// Packets that wait now.
    pub held: u64,
    /// Packets that left in the last interval of the controller.
    pub recent: DelayReport,
    /// Packets that left since the manager began or the link was configured.
    pub total: DelayReport,
}

/// Where the PHY rate of a station comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSource {
    /// Reported by telemetry, or configured or set by the operator.
    Reported,
    /// Inferred from the measured airtime of packets to the station, compared with packets to the others.
    Inferred,
    /// Not known; the rate is the configured default.
    Unknown,
}

/// One station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationReport {
    /// Its MAC address.
    pub mac: MacAddr,
    /// Instant of this copy. Other parts of a report may be of other instants ([`Collection`](crate::Collection)).
    pub copied: Instant,
    /// Index of its contention domain in [`Report::domains`].
    pub domain: usize,
    /// Its access point, if it is known and configured.
    pub access_point: Option<Label>,
    /// Its last reported access point, configured or not.
    pub reported_place: Option<Place>,
    /// The PHY rate that it is charged by. If its source is [`RateSource::Unknown`], that is the configured default, which says
    /// nothing about the station.
    pub rate: PhyRate,
    /// Where the rate comes from.
    pub rate_source: RateSource,
    /// C_i at that rate.
    pub capacity: BitRate,
    /// Its configured weight.
    pub weight: u32,
    /// Whether it was learned from traffic, and is not configured.
    pub learned: bool,
    /// Its charged airtime since it was learned, in both directions. This estimates the medium time of packets to and from it: airtime at
    /// its assumed rate, times the medium time per airtime that completions show.
    pub airtime: Span,
    /// The part of `airtime` that is charged for packets from it.
    pub airtime_up: Span,
    /// IP addresses that it uses, as its packets or address grants show, most recent first; eight at most.
    pub addresses: Vec<IpAddr>,
    /// The name that it gives itself (DHCP).
    pub name: Option<String>,
    /// Whether its MAC address is locally administered (IEEE 802c): it may come back with another one.
    pub random_mac: bool,
    /// IP-level bytes released toward it.
    pub to_station: Bytes,
    /// IP-level bytes that came from it.
    pub from_station: Bytes,
    /// Whether it takes more than its share of the medium, as an unresponsive sender.
    pub over_share: bool,
    /// Other counts since it was learned.
    pub counted: StationCounted,
    /// Losses since it was learned.
    pub losses: Losses,
    /// Latency of its packets since it was learned; `None`: no packet was timed.
    pub latency: Option<Arc<Latency>>,
    /// The telemetry reports about it, if one is valid.
    pub reported: Option<ReportedRate>,
}

/// One flow: a TCP connection, or packets of one protocol between two addresses and ports. A flow between two stations that a router on
/// the wired side joins is listed twice, once for each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// Its addresses and ports.
    pub key: FlowKey,
    /// Its VLAN.
    pub vlan: Option<Vlan>,
    /// Its station.
    pub station: MacAddr,
    /// The direction in which its data travel.
    pub direction: Direction,
    /// Segments that one ACK of the receiver of its data covers, d, in thousandths; for other protocols than TCP, packets from the WLAN
    /// for each packet toward it.
    pub d_milli: u32,
    /// IP-level bytes released toward the WLAN.
    pub released: Bytes,
    /// IP-level bytes that came from the WLAN.
    pub from_wlan: Bytes,
    /// Smoothed round trip over the WLAN alone, from a segment's release to its ACK.
    pub wlan_rtt: Option<Span>,
    /// Shortest round trip over the WLAN alone.
    pub wlan_rtt_least: Option<Span>,
    /// Medium time charged for its releases, or that would be charged if packets were held.
    pub charged: Span,
    /// Retransmitted TCP segments of DATA that came from the wire.
    pub resent_down: u64,
    /// Retransmitted TCP segments of DATA that came from the WLAN.
    pub resent_up: u64,
    /// Packets held.
    pub backlog_packets: u32,
    /// Packets dropped.
    pub dropped: u64,
}

/// One queue. The field of a level that the policy does not have is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// The hop that its packets wait for.
    pub hop: Hop,
    /// Direction, if the policy has that level.
    pub direction: Option<Direction>,
    /// Policy class.
    pub class: Option<ClassId>,
    /// Station.
    pub station: Option<MacAddr>,
    /// Flow.
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
    /// Packets handed out to be sent, including those that passed at once.
    pub released: u64,
    /// Packets dropped, by reason.
    pub drops: Drops,
    /// Other counts.
    pub counted: Counted,
    /// Packets held now.
    pub held: u64,
    /// IP-level bytes of packets handed in.
    pub received_bytes: u64,
    /// The part of `received_bytes` in packets that cannot be read: neither IP nor control, or tunnels of an unknown or encrypted kind.
    /// They are queued by the addresses of their frames.
    pub unread_bytes: u64,
    /// Probes sent.
    pub probes: u64,
    /// Replies to probes, which end in the box.
    pub probe_answers: u64,
}

impl Counters {
    /// Packets dropped, for any reason.
    pub fn dropped(&self) -> u64 {
        self.drops.total()
    }

    /// Packets released, dropped, consumed or held: all that were received.
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
