//! The raw form of a scenario. `evenair scenario reference` is made of the comments here, and editors show them;
//! `docs/scenario-guide.md` explains the tables with examples.

use evenair_config::RtsThresholds;
use evenair_config::manager::{Parts, QueueLimits, Weights};
use evenair_config::{ManagerSpec, PhySpec};
use evenair_reader::{CodePoint, Count, List, Metres, PerBillion, Permille, Written};
use evenair_units::{BitRate, Bytes, Db, Dbm, Limit, Span};
use evenair_wifi::{Band, GuardInterval, Preamble, Standard, Width};
use evenair_workload::Direction;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::profile::Profile;
use crate::ranges::{
    Aifsns, ApRatios, Attempts, AwakeTimes, Batches, BeaconIntervals, BitErrorRates, BulkSizes, Channels,
    ContentionWindows, Coordinates, Delays, Distances, DtimPeriods, Durations, IdleSlots, InitialWindows, LinkRates,
    ListenIntervals, LossRates, MsduSizes, ObjectAlphas, ObjectCounts, ObjectSizes, PathLossExponents, ReportDelays,
    RetransmissionTimes, RoamingTimes, SegmentSizes, SendIntervals, SensedLevels, SignalRatios, SocketBuffers,
    ThinkTimes, TxPowers, Txops, Vlans,
};
use crate::words::{
    AccessWord, AdaptationWord, AfterCollisionWord, At, CaptureThreshold, DecisionsWord, Do, EdcaProfileWord, Measured,
    RateControlWord, Shape, What,
};
use crate::{FastRecovery, IpVersion, Stack, Tool, WarmUp};

mod aggregation;
mod traffic;

pub(crate) use aggregation::AggregationRaw;
use evenair_config::queue::QueueRaw;
pub(crate) use traffic::{FlowsRaw, OnOffRaw, ReplayRaw, SizeRaw, TimeRaw, UdpRaw, VoipRaw};

/// One experiment: the radio, the hosts and their traffic, the events, and the measurements.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioRaw {
    /// Version of the format: 1.
    pub version: Written<u32>,
    /// Short name, usable as a file name.
    pub name: Written<String>,
    /// One line for headings. Default: the name.
    pub title: Option<Written<String>>,
    /// Purpose of the experiment and source of its set-up. Default: empty.
    pub description: Option<Written<String>>,
    /// Seed of all random streams. Default: 1.
    pub seed: Option<Written<u64>>,
    /// Length of the run.
    pub duration: Written<Span, Durations>,
    /// The wireless side.
    pub radio: RadioRaw,
    /// Access points, if there are several. Default: one, named "ap".
    #[serde(default)]
    pub access_point: Vec<AccessPointRaw>,
    /// The wired path between the box and each access point.
    #[serde(default)]
    pub ap_path: PathRaw,
    /// The wire between the access points and the servers on the LAN.
    #[serde(default)]
    pub lan: LinkRaw,
    /// The Internet link; needed by servers that are at "wan".
    pub wan: Option<WanRaw>,
    /// Stations, or groups of identical stations.
    #[serde(default)]
    pub station: Vec<StationRaw>,
    /// Other networks on the same channels.
    #[serde(default)]
    pub neighbour: Vec<NeighbourRaw>,
    /// Servers: hosts on the wired side.
    #[serde(default)]
    pub server: Vec<ServerRaw>,
    /// TCP transfers as fast as TCP can.
    #[serde(default)]
    pub bulk: Vec<BulkRaw>,
    /// Datagrams.
    #[serde(default)]
    pub udp: Vec<UdpRaw>,
    /// Traces of real traffic, replayed as datagrams.
    #[serde(default)]
    pub replay: Vec<ReplayRaw>,
    /// Telephone calls.
    #[serde(default)]
    pub voip: Vec<VoipRaw>,
    /// Arrivals of TCP transfers of random size.
    #[serde(default)]
    pub flows: Vec<FlowsRaw>,
    /// Sources that send one TCP transfer of random size after another.
    #[serde(default)]
    pub onoff: Vec<OnOffRaw>,
    /// Clients that load web pages.
    #[serde(default)]
    pub web: Vec<WebRaw>,
    /// UDP echo from stations to a server.
    #[serde(default)]
    pub ping: Vec<PingRaw>,
    /// Settings of every host's TCP.
    #[serde(default)]
    pub tcp: TcpRaw,
    /// Settings of the manager in the box.
    #[serde(default)]
    pub manager: ManagerSpec,
    /// Telemetry of stations and access points that the box gets during a run.
    #[serde(default)]
    pub telemetry: TelemetryRaw,
    /// Events and their times.
    #[serde(default)]
    pub event: Vec<EventRaw>,
    /// Parameters of the time series.
    #[serde(default)]
    pub measure: MeasureRaw,
    /// Periods of the run over which results are averaged. Default: one, "all", the whole run.
    #[serde(default)]
    pub phase: Vec<PhaseRaw>,
    /// Numbers and findings published for this set-up, shown beside the results.
    #[serde(default)]
    pub published: Vec<PublishedRaw>,
    /// Keys that `evenair sim sweep` varies; a single run ignores them.
    #[serde(default)]
    pub sweep: Vec<SweepRaw>,
}

/// The wireless side.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RadioRaw {
    /// Standard of the BSS: its rates, slot and inter-frame spaces.
    pub standard: Written<Standard>,
    /// Band of 802.11n and 802.11ax: "2.4 GHz" or "5 GHz" (and 6 GHz). Default: that of the standard, or "5 GHz".
    pub band: Option<Written<Band>>,
    /// Width of the channel of 802.11n and later: "20 MHz" to "160 MHz". Default: "20 MHz".
    pub width: Option<Written<Width>>,
    /// Guard interval of 802.11n and later: "0.4 us" (n, ac), "0.8 us", "1.6 us" or "3.2 us" (ax). Default: "0.8 us".
    pub guard_interval: Option<Written<GuardInterval>>,
    /// Preamble of 802.11b frames. Default: "long".
    pub preamble: Option<Written<Preamble>>,
    /// Rates of ACK, RTS and CTS: an ACK or CTS uses the highest of them that does not exceed the DATA frame's rate. Default: 1
    /// and 2 Mb/s for 802.11b, 6, 12 and 24 Mb/s otherwise; the lowest of them alone with the profile "ns-2".
    pub basic_rates: Option<List<BitRate>>,
    /// IP packets larger than this are sent with RTS/CTS. Default: no RTS/CTS.
    pub rts_threshold: Option<Written<Bytes, RtsThresholds>>,
    /// 802.11g protection beside 802.11b stations: a CTS-to-self at 11 Mb/s with this preamble precedes each frame. Not with
    /// RTS. Default: no protection.
    pub protection: Option<Written<Preamble>>,
    /// Attempts of a frame sent without RTS, and of an RTS. Default: 7.
    pub short_retry_limit: Option<Written<u32, Attempts>>,
    /// Attempts of a frame sent after RTS/CTS. Default: 4.
    pub long_retry_limit: Option<Written<u32, Attempts>>,
    /// Deviations of the simulator that produced published results: "standard" (none), "ns-2", "ns-3" or "qualnet"; each key
    /// overrides its profile. Default: "standard".
    pub profile: Option<Written<Profile>>,
    /// How receivers of 802.11a and g decide before they decode: "soft", as those of 802.11n and later, or "hard", each bit by
    /// itself, which takes a signal 3 to 4 dB better. Default: "soft".
    pub ofdm_decisions: Option<Written<DecisionsWord>>,
    /// First contention window: back-off is drawn from 0 to this many slots. Default: the standard's.
    pub cw_min: Option<Written<u32, ContentionWindows>>,
    /// Largest contention window. Default: the standard's.
    pub cw_max: Option<Written<u32, ContentionWindows>>,
    /// Inter-frame space after a collision: of bystanders "eifs" (the standard) or "difs"; of all nodes "difs-for-all"
    /// (Bianchi's model) or "eifs-then-difs" (ns-2). Default: that of the profile.
    pub after_collision: Option<Written<AfterCollisionWord>>,
    /// The access point's buffer toward the stations; IP-level sizes count. Default: "100 packets".
    pub ap_buffer: Option<Written<Limit, QueueLimits>>,
    /// Each station's buffer toward the access point. Default: "1000 packets".
    pub station_buffer: Option<Written<Limit, QueueLimits>>,
    /// How senders choose their rates: "fixed", "two-failures", "arf", "aarf" or "minstrel"; with 802.11n, ac and ax "fixed" or
    /// "minstrel-ht", which measures what the modes deliver, up to the station's MCS and streams. Default: "fixed".
    pub rate_control: Option<Written<RateControlWord>>,
    /// Bit error rate of all frames. Default: 0.
    pub ber: Option<Written<f64, BitErrorRates>>,
    /// By how much a frame must exceed those that overlap it to be received, or "off". Default: that of the profile.
    pub capture_threshold: Option<Written<CaptureThreshold>>,
    /// Path loss exponent: 2 in free space, 3 in typical rooms. Default: 3.
    pub path_loss_exponent: Option<Written<f64, PathLossExponents>>,
    /// Stations whose signals reach each other with less than this are hidden from each other. Default: "-82 dBm".
    pub carrier_sense: Option<Written<Dbm, SensedLevels>>,
    /// Transmit power of the access point and the stations. Default: "16.021 dBm".
    pub tx_power: Option<Written<Dbm, TxPowers>>,
    /// Where the access point is: two coordinates. Default: the origin.
    pub ap_position: Option<List<Metres, Coordinates>>,
    /// Where the stations are.
    pub layout: Option<LayoutRaw>,
    /// Contention window: "dcf" as in the standard, "idle-sense" at all nodes, or "asymmetric": Idle Sense at stations and a
    /// constant window at the access point. Default: "dcf".
    #[schemars(extend("default" = "dcf"))]
    pub access: Option<Written<AccessWord>>,
    /// Target of Idle Sense: idle slots between two transmissions. Default: 5.68 for 802.11b, 3.91 otherwise.
    #[schemars(extend("x-only-with" = { "access": ["idle-sense", "asymmetric"] }))]
    pub idle_slots: Option<Written<f64, IdleSlots>>,
    /// How Idle Sense adapts: "proportional", or "aimd" as published. Default: "proportional".
    #[schemars(extend("x-only-with" = { "access": ["idle-sense", "asymmetric"] }))]
    pub idle_adaptation: Option<Written<AdaptationWord>>,
    /// "asymmetric": ratio of the access point's share to that of all stations together. Default: 2.
    #[schemars(extend("x-only-with" = { "access": ["asymmetric"] }))]
    pub ap_ratio: Option<Written<f64, ApRatios>>,
    /// Four access categories with EDCA instead of DCF. Default: true with 802.11n and later, false otherwise.
    pub edca: Option<Written<bool>>,
    /// EDCA parameters that [radio.ac] and [radio.ap_ac] change: "standard", "hostapd" (its announced ones, and its own for
    /// the access point), or "ns-3". Default: "ns-3" with that profile, "standard" otherwise.
    pub edca_parameters: Option<Written<EdcaProfileWord>>,
    /// How nodes of 802.11n and later aggregate.
    #[serde(default)]
    pub aggregation: AggregationRaw,
    /// Time between two beacons of an access point. Default: no beacons, or "102.4 ms" if stations sleep.
    pub beacon_interval: Option<Written<Span, BeaconIntervals>>,
    /// Every n-th beacon announces group-addressed packets, which access points buffer while stations sleep. Default: 2.
    pub dtim_period: Option<Written<u32, DtimPeriods>>,
    /// The access point's queue in front of its MAC, where its buffer is more than drop-tail.
    pub ap_queue: Option<QueueRaw>,
    /// The same at each station.
    pub station_queue: Option<QueueRaw>,
    /// EDCA parameters of the access categories, at all nodes.
    #[serde(default)]
    #[schemars(extend("x-only-with" = { "edca": [true] }))]
    pub ac: CategoriesRaw,
    /// EDCA parameters that the access point alone has; the others it has from [radio.ac].
    #[serde(default)]
    #[schemars(extend("x-only-with" = { "edca": [true] }))]
    pub ap_ac: CategoriesRaw,
}

/// The four access categories.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CategoriesRaw {
    /// Background.
    #[serde(default)]
    pub bk: CategoryRaw,
    /// Best effort.
    #[serde(default)]
    pub be: CategoryRaw,
    /// Video.
    #[serde(default)]
    pub vi: CategoryRaw,
    /// Voice.
    #[serde(default)]
    pub vo: CategoryRaw,
}

/// EDCA parameters of one access category.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CategoryRaw {
    /// Slots of AIFS after SIFS. Default: 7 for bk, 3 for be, 2 for vi and vo.
    pub aifsn: Option<Written<u32, Aifsns>>,
    /// First contention window. Default: that of IEEE Std 802.11-2016, table 9-137.
    pub cw_min: Option<Written<u32, ContentionWindows>>,
    /// Largest contention window. Default: that of table 9-137.
    pub cw_max: Option<Written<u32, ContentionWindows>>,
    /// Longest duration of one access, including ACKs; "0 us" means one frame. Default: that of table 9-137.
    pub txop: Option<Written<Span, Txops>>,
}

/// An access point, on one wired network with the others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessPointRaw {
    /// Its name in stations, events and results.
    pub name: Written<String>,
    /// Channel of its radio. Access points on one channel share one medium.
    pub channel: Written<u32, Channels>,
    /// Radios on one channel in different areas do not hear each other. Default: one area.
    pub area: Option<Written<String>>,
    /// Where it is: two coordinates. Default: that of [radio].
    pub position: Option<List<Metres, Coordinates>>,
    /// VLAN of its stations' frames at the box. Default: none.
    pub vlan: Option<Written<u32, Vlans>>,
    /// The wired path between the box and this access point, where it differs from [ap_path].
    #[serde(default)]
    pub path: OwnPathRaw,
}

/// The wired path between the box and each access point.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathRaw {
    /// From the box to the access point.
    #[serde(default)]
    pub down: DelayRaw,
    /// From the access point to the box.
    #[serde(default)]
    pub up: DelayRaw,
}

/// One direction of the wired path between the box and an access point.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DelayRaw {
    /// One-way delay: of a driver, a mesh hop, a tunnel. Default: "0 ms".
    pub delay: Option<Written<Span, Delays>>,
    /// Additional random delay of each packet, uniform from zero to this, without reordering. Default: "0 ms".
    pub jitter: Option<Written<Span, Delays>>,
    /// Packets are delivered in batches at multiples of this, as with interrupt moderation; zero: each as it arrives. Default:
    /// "0 ms".
    pub batch: Option<Written<Span, Batches>>,
}

/// The wired path between the box and one access point.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnPathRaw {
    /// From the box to this access point.
    #[serde(default)]
    pub down: OwnDelayRaw,
    /// From this access point to the box.
    #[serde(default)]
    pub up: OwnDelayRaw,
}

/// One direction of the wired path between the box and one access point.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnDelayRaw {
    /// One-way delay. Default: that of [ap_path].
    pub delay: Option<Written<Span, Delays>>,
    /// Additional random delay of each packet, uniform from zero to this. Default: that of [ap_path].
    pub jitter: Option<Written<Span, Delays>>,
    /// Packets are handed over together, at multiples of this. Default: that of [ap_path].
    pub batch: Option<Written<Span, Batches>>,
}

/// Where the stations are around the access point.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LayoutRaw {
    /// "circle" around the access point, "line" from it, "near-random" in a disk around it, "far-random" in a disk away
    /// from it, or one "point".
    pub shape: Written<Shape>,
    /// Radius of the circle or disk. Default: "10 m".
    #[schemars(extend("x-only-with" = { "shape": ["circle", "near-random", "far-random"] }))]
    pub radius: Option<Written<Metres, Distances>>,
    /// From one station of a line to the next. Default: "1 m".
    #[schemars(extend("x-only-with" = { "shape": ["line"] }))]
    pub spacing: Option<Written<Metres, Distances>>,
    /// From the access point to the centre of the far disk, or to the point. Default: "20 m", of a point "10 m".
    #[schemars(extend("x-only-with" = { "shape": ["far-random", "point"] }))]
    pub distance: Option<Written<Metres, Distances>>,
}

impl RadioRaw {
    /// The part that the box's own configuration has too.
    pub fn phy_spec(&self) -> PhySpec {
        PhySpec {
            standard: self.standard.clone(),
            band: self.band.clone(),
            preamble: self.preamble.clone(),
            basic_rates: self.basic_rates.clone(),
            rts_threshold: self.rts_threshold.clone(),
        }
    }
}

/// One direction of a wired link.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkRaw {
    /// Bit rate. Default: unlimited.
    pub rate: Option<Written<BitRate, LinkRates>>,
    /// One-way delay. Default: "0 ms".
    pub delay: Option<Written<Span, Delays>>,
    /// Buffer before the link. Default: "1000 packets".
    pub buffer: Option<Written<Limit, QueueLimits>>,
}

/// The Internet link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WanRaw {
    /// From the Internet toward the stations.
    pub down: LinkRaw,
    /// From the stations toward the Internet.
    pub up: LinkRaw,
}

/// A station, or a group of like stations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StationRaw {
    /// Its name; with a count, NAME1, NAME2 and so on, and NAME means all of them.
    pub name: Written<String>,
    /// Number of such stations. Default: one, without a number.
    pub count: Option<Written<Count>>,
    /// PHY rate of its data frames in both directions; needed where mcs is not given.
    pub rate: Option<Written<BitRate>>,
    /// The same with 802.11n and later: its MCS, 0 to 7 (n), 9 (ac) or 11 (ax) for each stream.
    pub mcs: Option<Written<u32>>,
    /// Spatial streams; with mcs. Default: 1.
    pub streams: Option<Written<u32>>,
    /// Standard of the station, where it is older than that of the BSS; with mcs. Default: that of the BSS.
    pub standard: Option<Written<Standard>>,
    /// Its share in the manager's policy, relative to other stations; not with a [manager.queue], unless there is a [manager.wan].
    /// Default: 1.
    pub weight: Option<Written<u32, Weights>>,
    /// Its class in the manager's policy, one of [[manager.class]]. Default: none.
    pub class: Option<Written<String>>,
    /// Its access point. Default: the only one; required if there are several.
    pub access_point: Option<Written<String>>,
    /// Stations and groups that are hidden from it. With its own name: the stations of its group are hidden from each other.
    /// Default: none.
    pub hidden_from: Option<List<String>>,
    /// Loss probability of a DATA frame to or from it, in addition to other losses. Default: "0 %".
    pub loss: Option<Written<PerBillion, LossRates>>,
    /// Signal-to-noise ratio between it and the access point, in the width of the radio's channel, overriding their positions.
    /// Default: from the positions, if any.
    pub snr: Option<Written<Db, SignalRatios>>,
    /// Where it is: two coordinates. Default: from the layout, if any.
    pub position: Option<List<Metres, Coordinates>>,
    /// Its transmit power. Default: that of [radio].
    pub tx_power: Option<Written<Dbm, TxPowers>>,
    /// Power save: it sleeps while it has no traffic, and wakes at every n-th beacon. Default: it never sleeps.
    pub listen_interval: Option<Written<u32, ListenIntervals>>,
    /// How long it stays awake when nothing comes or goes; with listen_interval. Default: "100 ms".
    pub stays_awake: Option<Written<Span, AwakeTimes>>,
    /// How late it answers: the time that each packet it sends waits before it enters its MAC (simulator only). Default: "0 ms".
    pub answers_late: Option<Written<Span, Delays>>,
}

/// A network of others on a channel.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NeighbourRaw {
    /// Its name.
    pub name: Written<String>,
    /// An access point on its channel. Default: the only one; required if there are several.
    pub access_point: Option<Written<String>>,
    /// Airtime of its frames and their ACKs without contention, as a part of the time.
    pub load: Written<Permille, Parts>,
    /// PHY rate of its frames.
    pub rate: Written<BitRate>,
    /// Size of its IP packets. Default: "1500 bytes".
    pub size: Option<Written<Bytes, MsduSizes>>,
    /// When it begins. Default: "0 s".
    pub start: Option<Written<Span>>,
    /// When it ends. Default: at the end of the run.
    pub stop: Option<Written<Span>>,
}

/// A host on the wired side.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerRaw {
    /// Its name.
    pub name: Written<String>,
    /// Its location: "lan", or "wan" beyond the Internet link. Default: "lan".
    #[schemars(extend("default" = "lan"))]
    pub at: Option<Written<At>>,
    /// One-way delay of its packets before the Internet link; only "wan". Default: "0 ms".
    #[schemars(extend("x-only-with" = { "at": ["wan"] }))]
    pub delay: Option<Written<Span, Delays>>,
    /// Additional random delay of each of its packets, uniform from zero to this, without reordering: the processing time of
    /// real hosts; only "wan". Default: "0 ms".
    #[schemars(extend("x-only-with" = { "at": ["wan"] }))]
    pub jitter: Option<Written<Span, Delays>>,
}

/// The keys that all applications share.
pub(crate) struct Common<'a> {
    pub name: &'a Written<String>,
    pub stations: &'a List<String>,
    pub server: &'a Written<String>,
    pub per_station: &'a Option<Written<Count>>,
    pub start: &'a Option<Written<Span>>,
    pub stagger: &'a Option<Written<Span>>,
    pub stop: &'a Option<Written<Span>>,
    pub ip: &'a Option<Written<IpVersion>>,
    pub dscp: &'a Option<Written<CodePoint>>,
}

/// Declares a kind of application with the shared keys and its own. (Flattening one struct into another would lose
/// the places of values in the file.)
macro_rules! application {
    ($(#[$meta:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            /// Its name; if there are several, NAME1, NAME2 and so on.
            pub name: Written<String>,
            /// Stations and groups; each station runs the application.
            pub stations: List<String>,
            /// The server at the other end.
            pub server: Written<String>,
            /// Number of instances per station. Default: 1.
            pub per_station: Option<Written<Count>>,
            /// When the first starts. Default: "0 s".
            pub start: Option<Written<Span>>,
            /// Time from one start to the next. Default: "0 s".
            pub stagger: Option<Written<Span>>,
            /// When all stop. Default: at the end of the run.
            pub stop: Option<Written<Span>>,
            /// IP version: "v4" or "v6". Default: "v4".
            pub ip: Option<Written<IpVersion>>,
            /// Differentiated services code point of its packets in both directions: a name such as "EF", "AF41", "CS1", or a
            /// number. With EDCA it decides the access category (RFC 8325). Default: 0, and EF for calls.
            pub dscp: Option<Written<CodePoint>>,
            $($own)*
        }

        impl $name {
            pub fn common(&self) -> Common<'_> {
                let Self { name, stations, server, per_station, start, stagger, stop, ip, dscp, .. } = self;
                Common { name, stations, server, per_station, start, stagger, stop, ip, dscp }
            }
        }
    };
}

pub(crate) use application;

application!(
    /// TCP transfers as fast as TCP can.
    BulkRaw {
        /// "up" sends from the station, "down" to it.
        pub direction: Written<Direction>,
        /// Program for the transfer: "builtin", "iperf3" (testbed only; must be installed) or "quic" (quinn on the testbed; in
        /// the simulator TCP that the box sees as datagrams). Default: "builtin".
        pub tool: Option<Written<Tool>>,
        /// Congestion control of the sender. Default: that of [tcp].
        pub congestion_control: Option<Written<String>>,
        /// Amount of data to send. Default: without end.
        pub size: Option<Written<Bytes, BulkSizes>>,
    }
);

application!(
    /// Clients that load web pages: a main object, further objects over parallel connections, a pause, the next page.
    WebRaw {
        /// Least number of further objects of a page. Default: 1.
        pub objects_min: Option<Written<u32, ObjectCounts>>,
        /// Largest number of further objects of a page. Default: 6.
        pub objects_max: Option<Written<u32, ObjectCounts>>,
        /// Tail exponent of the Pareto distribution of object sizes. Default: 1.1.
        pub size_alpha: Option<Written<f64, ObjectAlphas>>,
        /// Mean of that distribution, before truncation. Default: "20 kB".
        pub size_mean: Option<Written<Bytes, ObjectSizes>>,
        /// Largest object. Default: "10 MB".
        pub size_cap: Option<Written<Bytes, ObjectSizes>>,
        /// Pause between the end of a page and the next request. Default: "1 s".
        pub think: Option<Written<Span, ThinkTimes>>,
    }
);

application!(
    /// UDP echo from stations to a server.
    PingRaw {
        /// Time between requests. Default: "200 ms".
        pub interval: Option<Written<Span, SendIntervals>>,
    }
);

/// Settings of every host's TCP.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TcpRaw {
    /// Congestion control, by its kernel name. Default: "cubic", or "reno" with the stack "ns-3".
    pub congestion_control: Option<Written<String>>,
    /// Largest receive buffer. Default: "8 MB", or "64 MiB" with the stack "ns-3".
    pub receive_buffer: Option<Written<Bytes, SocketBuffers>>,
    /// Largest send buffer. Default: "8 MB", or "64 MiB" with the stack "ns-3".
    pub send_buffer: Option<Written<Bytes, SocketBuffers>>,
    /// RFC 7323 timestamps. Default: true, or false with the stack "ns-3".
    pub timestamps: Option<Written<bool>>,
    /// Selective acknowledgements. Default: true.
    #[schemars(extend("default" = true))]
    pub sack: Option<Written<bool>>,
    /// RFC 7323 window scaling. Default: true.
    pub window_scaling: Option<Written<bool>>,
    /// Explicit congestion notification. Default: false.
    pub ecn: Option<Written<bool>>,
    /// Largest segment, TCP options included: the IPv4 packet is 40 bytes larger. Default: "1460 bytes".
    pub mss: Option<Written<Bytes, SegmentSizes>>,
    /// Largest window that a receiver advertises, in segments or bytes; the receive buffer is a limit too. Default:
    /// "unlimited".
    pub window: Option<Written<Limit>>,
    /// Initial congestion window, in segments. Default: 10.
    pub initial_window: Option<Written<u32, InitialWindows>>,
    /// Acknowledge every second segment, or after a delay (40 ms in Linux's stack, 200 ms in the textbook's, 100 ms in that of
    /// ns-3); otherwise each segment at once. Default: true.
    pub delayed_ack: Option<Written<bool>>,
    /// Least retransmission timeout; Linux's stack adds it to the round-trip time. Default: "200 ms".
    pub min_rto: Option<Written<Span, RetransmissionTimes>>,
    /// The TCP stack: "linux", "textbook" as in the RFCs and most simulators, or "ns-3" as in ns-3 3.44, with its deviations
    /// from the RFCs (the last two in the simulator only). Default: "linux".
    pub stack: Option<Written<Stack>>,
    /// Loss recovery without SACK: "newreno", or "reno", whose fast recovery ends with the first new ACK (simulator only).
    /// Default: "newreno".
    #[schemars(extend("x-only-with" = { "sack": [false] }))]
    pub fast_recovery: Option<Written<FastRecovery>>,
}

/// An event.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventRaw {
    /// When it happens.
    pub at: Written<Span>,
    /// The event: "insert" or "bypass" the manager; "join", "leave", "rate" change or "roam" to another access point of
    /// stations.
    #[serde(rename = "do")]
    pub action: Written<Do>,
    /// Stations and groups that join, leave, roam or change their rate.
    #[schemars(extend("x-only-with" = { "do": ["join", "leave", "rate", "roam"] }))]
    #[schemars(extend("x-needed-with" = { "do": ["join", "leave", "rate", "roam"] }))]
    pub stations: Option<List<String>>,
    /// The new PHY rate.
    #[schemars(extend("x-only-with" = { "do": ["rate"] }))]
    #[schemars(extend("x-needed-with" = { "do": ["rate"] }))]
    pub rate: Option<Written<BitRate>>,
    /// The new access point of a "roam".
    #[schemars(extend("x-only-with" = { "do": ["roam"] }))]
    #[schemars(extend("x-needed-with" = { "do": ["roam"] }))]
    pub access_point: Option<Written<String>>,
    /// How long a roaming station is not associated. Default: "50 ms".
    #[schemars(extend("x-only-with" = { "do": ["roam"] }))]
    pub gap: Option<Written<Span, RoamingTimes>>,
}

/// Parameters of the time series.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureRaw {
    /// Length of an interval of the time series. Default: "1 s".
    pub interval: Option<Written<Span>>,
    /// What phases leave out: the time before this, or "auto" for the initial transient of each phase (MSER-5). Default: "0 s".
    pub warm_up: Option<Written<WarmUp>>,
}

/// Telemetry of stations and access points that the box gets during a run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TelemetryRaw {
    /// Whether the box gets the stations with weights and classes from telemetry, or learns them from traffic. Default: true.
    pub stations: Option<Written<bool>>,
    /// Whether the box gets reports of the stations' PHY rates and their changes. Default: true.
    pub rates: Option<Written<bool>>,
    /// Whether the box gets reports of each station's access point, as from a controller (with `[[manager.access_point]]`).
    /// Default: true.
    pub associations: Option<Written<bool>>,
    /// Delay of these reports after an association. Default: "0 s".
    pub associations_delay: Option<Written<Span, ReportDelays>>,
    /// Whether the box gets a report every second of the signal strength of each station at the access point, as over SNMP
    /// (simulator only, stations with an `snr` or a position). Default: false.
    pub signal: Option<Written<bool>>,
    /// Whether the box gets a report of the access point's losses in each interval of the upload limiter, as over SNMP
    /// (simulator only); otherwise it infers losses from retransmissions. Default: false.
    pub ap_losses: Option<Written<bool>>,
}

/// A stretch of the run over which results are averaged.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhaseRaw {
    /// Its name; by convention "bypassed" and "inserted".
    pub name: Written<String>,
    /// Its start.
    pub from: Written<Span>,
    /// Its end.
    pub to: Written<Span>,
}

/// A number or finding published for this set-up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishedRaw {
    /// The result to compare with: "total", "up", "down", "capacity" (C*), "jain_flows", "app", "station", a measure by its
    /// name such as "ap.loss_rate", a "figure" that is defined only by its note, or "finding" without a value.
    pub what: Written<What>,
    /// The application or station, for "app" and "station".
    pub of: Option<Written<String>>,
    /// Its phase. Default: the run as a whole.
    pub phase: Option<Written<String>>,
    /// The value: a rate such as "4.8 Mb/s", a time such as "1.76 s", or a plain number without unit; none for "finding".
    pub value: Option<Written<Measured>>,
    /// Source, and the finding in words.
    pub note: Written<String>,
    /// Its identifier, unique in the file, for `evenair reproduce`. Default: it is not compared.
    pub id: Option<Written<String>>,
    /// Its variant of the file, such as "N = 10". Default: the file as it is.
    pub at: Option<Written<String>>,
}

/// A key that `evenair sim sweep` varies.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SweepRaw {
    /// The key, as `--set` takes it: "radio.ap_buffer", "station.sta.count".
    pub key: Written<String>,
    /// Its values, separated by commas, or a range: "2, 5, 10", "2..20 step 2", "1 Mb/s..7 Mb/s step 0.5 Mb/s".
    pub values: Written<String>,
    /// Advance together with the previous entry, instead of making a grid with it. Default: false.
    pub together: Option<Written<bool>>,
}
