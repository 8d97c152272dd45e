//! Queue disciplines, in the manager and in front of a MAC: their settings and common checks.

mod airtime;
mod cbq;
mod tree;

use evenair_reader::{Count, List, OrDefault, Permille, Problems, Written, ranges, words};
use evenair_sched::{
    CakeConfig, ChannelTable, CodelConfig, CodelQueueConfig, Config, DeliveryConfig, DrrConfig, Estimator,
    FqCodelConfig, HtbConfig, LasAckConfig, Mac80211Config, Overflow, Sharing, WhtbConfig,
};
use evenair_units::{BitRate, Bytes, Db, Dbm, Limit, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::airtime::{AirtimeInFlight, AirtimeWeightRaw, AirtimeWeights};
use self::tree::ClassKeys;
pub use self::tree::{ClassRates, ClassSizes, Priorities, Tree};
use crate::DirectionWord;

/// A queue discipline: between the network layer and the MAC of a node, whose size is that of the buffer, or in the manager, in
/// place of its tree of queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueRaw {
    /// Its name: "fifo", "codel", "drr", "fq-codel", "cake", "las-ack", "htb", "whtb" or "cbq"; not in the manager
    /// "station-fifo" or "mac80211".
    pub discipline: Written<DisciplineWord>,
    /// Packets in the MAC below the queue; not in the manager. Default: 1, with "mac80211" 2; with 802.11n and
    /// later 128, with "mac80211" as many as its limits of airtime let down, and without these 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Written<u32, DriverPackets>>,
    /// "drr", "fq-codel": the flows: "flow" (one direction of a connection) or "station" (all packets of a station). Default:
    /// "flow".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["drr", "fq-codel"] }))]
    pub by: Option<Written<FlowOf>>,
    /// "drr", "fq-codel", "cake": what a flow, or a station with CAKE, may send in a round. Default: "1500 bytes".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["drr", "fq-codel", "cake"] }))]
    pub quantum: Option<Written<Bytes, Quanta>>,
    /// "fq-codel", "cake": number of queues that flows are hashed to. Default: 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["fq-codel", "cake"] }))]
    pub queues: Option<Written<u32, QueueCounts>>,
    /// "codel", "fq-codel", "cake": acceptable standing delay. Default: "5 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["codel", "fq-codel", "cake"] }))]
    pub target: Option<Written<Span, QueueTimes>>,
    /// "codel", "fq-codel", "cake": the longest usual round-trip time. Default: "100 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["codel", "fq-codel", "cake"] }))]
    pub interval: Option<Written<Span, QueueTimes>>,
    /// "mac80211", so not in the manager: it limits the airtime of packets in the MAC. Without that the packets of `driver` are
    /// the only limit, as before Linux 5.5 and with drivers that do not support it. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["mac80211"] }))]
    #[schemars(extend("default" = true))]
    pub aql: Option<Written<bool>>,
    /// "mac80211", so not in the manager: a station with less airtime in the MAC gets another packet there, whatever others
    /// have. Default: "5 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["mac80211"], "aql": [true] }))]
    pub aql_low: Option<Written<Span, AirtimeInFlight>>,
    /// "mac80211", so not in the manager: the same while all stations together have less than `aql_total`; at least `aql_low`.
    /// Default: "12 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["mac80211"], "aql": [true] }))]
    pub aql_high: Option<Written<Span, AirtimeInFlight>>,
    /// "mac80211", so not in the manager: airtime of all stations in the MAC from which on `aql_low` holds. Default: "24 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["mac80211"], "aql": [true] }))]
    pub aql_total: Option<Written<Span, AirtimeInFlight>>,
    /// "mac80211" of access points: weights of stations in the airtime scheduler. Default: all stations weigh alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-only-with" = { "discipline": ["mac80211"] }))]
    pub airtime_weight: Vec<AirtimeWeightRaw>,
    /// "las-ack": which packet a full queue drops: the last one of the "most-served" connection, or the arriving one
    /// ("tail-drop"). Default: "most-served".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["las-ack"] }))]
    pub overflow: Option<Written<OverflowWord>>,
    /// "las-ack": every n-th packet is the one that has waited longest. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["las-ack"] }))]
    pub floor: Option<Written<Count>>,
    /// "las-ack": a connection expires after this idle time. Default: "60 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["las-ack"] }))]
    pub expire: Option<Written<Span, QueueTimes>>,
    /// "las-ack": capacity of the table of connections. Default: 1000000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["las-ack"] }))]
    pub connections: Option<Written<u32, ConnectionCounts>>,
    /// "htb", "whtb", "cbq": the classes of the tree, parents before their children. Classes without children are its leaves,
    /// each with a drop-tail queue of the buffer's size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-only-with" = { "discipline": ["htb", "whtb", "cbq"] }))]
    pub class: Vec<QueueClassRaw>,
    /// "htb", "whtb", "cbq": the leaf of packets without a matching leaf. Default: the last leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["htb", "whtb", "cbq"] }))]
    pub default: Option<Written<String>>,
    /// "htb", "whtb": a class keeps its mode until its debt is a burst. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["htb", "whtb"] }))]
    pub hysteresis: Option<Written<bool>>,
    /// "htb", "whtb": step of the clock that fills the buckets, as by Linux's timer interrupt before 2.6.22. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["htb", "whtb"] }))]
    pub tick: Option<Written<Span, Ticks>>,
    /// "cbq": link-sharing guidelines: "formal", "ancestors-only" or "top-level". Default: "top-level".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["cbq"] }))]
    pub sharing: Option<Written<SharingWord>>,
    /// "whtb": how the channel is estimated: by "delivery" of packets or, as published, by "signal". Default: "delivery".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"] }))]
    #[schemars(extend("default" = "delivery"))]
    pub estimator: Option<Written<EstimatorWord>>,
    /// Estimator "signal": goodput by signal, from a calibration, in ascending order; linear between the points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"], "estimator": ["signal"] }))]
    pub channel: Vec<ChannelRaw>,
    /// Estimator "signal", in the manager: the noise level for reported signals. Default: that of a typical receiver in the
    /// standard's channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"], "estimator": ["signal"] }))]
    pub noise: Option<Written<Dbm, NoiseLevels>>,
    /// Estimator "delivery": a class with less than this part of the best channel's goodput counts as dead; not in the manager.
    /// Default: "2 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"], "estimator": ["delivery"] }))]
    pub dead: Option<Written<Permille, DeadParts>>,
    /// Estimator "delivery": how long a dead class is skipped; not in the manager. Default: "1 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "discipline": ["whtb"], "estimator": ["delivery"] }))]
    pub pause: Option<Written<Span, QueueTimes>>,
}

/// A point of the table from signal to goodput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelRaw {
    /// Signal-to-noise ratio.
    pub snr: Written<Db>,
    /// Goodput of a saturated link at this SNR.
    pub goodput: Written<BitRate, Goodputs>,
}

/// A class of the tree: what it is owed, what it may reach, and as a leaf whose packets it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueClassRaw {
    /// Its name.
    pub name: Written<String>,
    /// The class it borrows from, which precedes it in the file. Default: none, a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Written<String>>,
    /// Its guaranteed rate, counted in IP packets.
    pub rate: Written<BitRate, ClassRates>,
    /// "htb", "whtb": its largest rate with unused bandwidth of others. Default: its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["htb", "whtb"] }))]
    pub ceil: Option<Written<BitRate, ClassRates>>,
    /// "htb", "whtb": its burst at its rate. Default: "1600 bytes".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["htb", "whtb"] }))]
    pub burst: Option<Written<Bytes, ClassSizes>>,
    /// "htb", "whtb": its burst at its ceiling. Default: "1600 bytes".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["htb", "whtb"] }))]
    pub cburst: Option<Written<Bytes, ClassSizes>>,
    /// What it may send in its turn. Default: a tenth of its rate in a second, 1000 to 200000 bytes; with "cbq" its part of
    /// 1514 bytes for each leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Written<Bytes, ClassSizes>>,
    /// "cbq": it may exceed its rate while its parent class does not. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub borrows: Option<Written<bool>>,
    /// "cbq": it lends only to its descendants, and does not borrow. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub isolated: Option<Written<bool>>,
    /// "cbq": its burst after an idle time, in packets of 1000 bytes. Default: 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub max_burst: Option<Written<Count, CbqBursts>>,
    /// "cbq": its burst after each wait, in packets of 1000 bytes; it waits longer for it. Default: one packet as its rate
    /// allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub min_burst: Option<Written<Count, CbqBursts>>,
    /// "cbq": lower bound of its mean idle time, below zero. Default: no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "../discipline": ["cbq"] }))]
    pub min_idle: Option<Written<Span, IdleTimes>>,
    /// Priority of a leaf: 0 is the highest, 7 the lowest. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Written<u32, Priorities>>,
    /// In the manager: a leaf takes packets toward stations of these policy classes. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub station_classes: Option<List<String>>,
    /// A leaf takes packets to and from these stations; not in the manager. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations: Option<List<String>>,
    /// A leaf takes packets of applications with this direction, "up" or "down". Default: both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Written<DirectionWord>>,
    /// A leaf takes packets of these applications or groups of them; not in the manager. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps: Option<List<String>>,
}

/// A queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisciplineWord {
    /// First come, first served, with a limit.
    Fifo,
    /// One queue with CoDel (RFC 8289).
    Codel,
    /// Deficit round robin (Shreedhar and Varghese, 1995).
    Drr,
    /// FQ-CoDel (RFC 8290).
    FqCodel,
    /// CAKE: stations in turn, flows hashed within, COBALT.
    Cake,
    /// Least attained service first, over both directions of a TCP connection (LAS-ACK).
    LasAck,
    /// Hierarchical token buckets.
    Htb,
    /// HTB that weights classes by their channels.
    Whtb,
    /// Class-based queueing (Floyd and Jacobson, 1995).
    Cbq,
    /// A FIFO per station, in turns, as in a driver.
    StationFifo,
    /// Linux's intermediate queues.
    Mac80211,
}

/// Channel estimator of WHTB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimatorWord {
    /// By the outcome of packets.
    Delivery,
    /// By the signal-to-noise ratio, as published.
    Signal,
}

/// Packets that form a flow of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowOf {
    /// One direction of a connection.
    Flow,
    /// All packets of a station.
    Station,
}

words!(DisciplineWord {
    "fifo" => Self::Fifo,
    "codel" => Self::Codel,
    "drr" => Self::Drr,
    "fq-codel" => Self::FqCodel,
    "cake" => Self::Cake,
    "las-ack" => Self::LasAck,
    "htb" => Self::Htb,
    "whtb" => Self::Whtb,
    "cbq" => Self::Cbq,
    "station-fifo" => Self::StationFifo,
    "mac80211" => Self::Mac80211,
});
words!(SharingWord(Sharing) {
    "formal" => Sharing::Formal,
    "ancestors-only" => Sharing::AncestorsOnly,
    "top-level" => Sharing::TopLevel,
});
words!(EstimatorWord { "delivery" => Self::Delivery, "signal" => Self::Signal });
words!(FlowOf { "flow" => Self::Flow, "station" => Self::Station });
words!(OverflowWord(Overflow) { "most-served" => Overflow::MostServed, "tail-drop" => Overflow::TailDrop });

ranges! {
    /// Limits of the driver's queue below a queue, in packets: with more, the queue would have no effect.
    pub DriverPackets: u32 = "1 to 10000";
    /// Quanta of a flow per round: with more, flows would be served at once.
    pub Quanta: Bytes = "1 byte to 1 MB";
    /// Numbers of hash queues, as in the kernel.
    pub QueueCounts: u32 = "1 to 65536";
    /// Times of CoDel, and of silence after which a connection or a class is removed.
    pub QueueTimes: Span = "10 us to 24 h";
    /// Capacities of the table of connections.
    pub ConnectionCounts: u32 = "1 to 10000000";
    /// Clock ticks of schedulers, which ran at 100 Hz or more.
    pub Ticks: Span = "0 s to 100 ms";
    /// Noise levels, from a quiet narrow channel to one on which nothing is receivable.
    pub NoiseLevels: Dbm = "-120 dBm to -30 dBm";
    /// Goodputs of dead channels, relative to the best channel.
    pub DeadParts: Permille = "0 % to 50 %";
    /// Goodputs of a saturated link.
    pub Goodputs: BitRate = "above 0 b/s";
    /// Bursts of CBQ: an estimator with a gain of 1/32 cannot bound longer ones.
    pub CbqBursts: Count = "1 to 1000 packets";
    /// Idle times of CBQ, below zero.
    pub IdleTimes: Span = "0 s to 10 s";
}

/// The checked settings that all tables have in common.
pub struct Checked {
    /// The discipline with its buffer limit.
    pub config: Config,
    /// Whether all packets of a station are one flow.
    pub by_station: bool,
    /// The class tree, if the discipline has one.
    pub tree: Option<Tree>,
}

/// The discipline, without the assignment to classes.
pub fn discipline(raw: &QueueRaw, limit: Limit, problems: &mut Problems) -> Option<Checked> {
    use DisciplineWord::{Cake, Cbq, Codel, Drr, Fifo, FqCodel, Htb, LasAck, Mac80211, StationFifo, Whtb};
    let discipline = raw.discipline.get(problems);
    let by = raw.by.get_or(FlowOf::Flow, problems);
    let quantum = raw.quantum.get_or(Bytes(1500), problems);
    let queues = raw.queues.get_or(FqCodelConfig::default().flows, problems);
    let usual = LasAckConfig::default();
    let target = raw.target.get_or(CodelConfig::RFC.target, problems);
    let interval = raw.interval.get_or(CodelConfig::RFC.interval, problems);
    let expire = raw.expire.get_or(usual.expire, problems);
    let overflow = raw.overflow.get_or(OverflowWord(usual.overflow), problems);
    let floor = raw.floor.as_ref().and_then(|floor| floor.get(problems)).map(|Count(n)| n);
    let connections = raw.connections.get_or(usual.connections, problems);
    let hysteresis = raw.hysteresis.get_or(false, problems);
    let tick = raw.tick.get_or(Span::ZERO, problems);
    let has_tree = discipline.is_some_and(|discipline| WITH_TREE.contains(&discipline));
    let tree = if has_tree { tree(raw, problems) } else { None };
    let aql = airtime::limits(raw, problems);
    let estimator = if discipline == Some(Whtb) { estimator(raw, problems) } else { None };
    let law = CodelConfig { target: target?, interval: interval? };
    let codel = CodelQueueConfig { codel: law, mtu: Bytes(1500), ecn: false };
    let quantum = quantum?;
    let config = match discipline? {
        Fifo => Config::Fifo(limit),
        StationFifo => Config::StationFifo(limit),
        Mac80211 => Config::Mac80211(Mac80211Config { limit, aql: aql?, ..Mac80211Config::default() }),
        Codel => Config::Codel(codel, limit),
        Drr => Config::Drr(DrrConfig { quantum, limit }),
        FqCodel => Config::FqCodel(FqCodelConfig { codel, flows: queues?, quantum, limit, seed: 0 }),
        Cake => Config::Cake(CakeConfig { codel: law, queues: queues?, quantum, limit, seed: 0 }),
        LasAck => Config::LasAck(LasAckConfig {
            limit,
            overflow: overflow?.0,
            floor,
            expire: expire?,
            connections: connections?,
        }),
        Cbq => Config::Cbq(cbq::check(raw, tree.clone()?, Box::new(Config::Fifo(limit)), problems)?),
        Htb | Whtb => {
            let Tree { classes, default } = tree.clone()?;
            let leaf = Box::new(Config::Fifo(limit));
            let tree = HtbConfig { classes, default, leaf, hysteresis: hysteresis?, tick: tick? };
            match discipline? {
                Htb => Config::Htb(tree),
                _ => Config::Whtb(WhtbConfig { tree, estimator: estimator? }),
            }
        }
    };
    let by_station = by? == FlowOf::Station;
    Some(Checked { config, by_station, tree })
}

fn keys_of(class: &QueueClassRaw) -> ClassKeys<'_> {
    let QueueClassRaw { name, parent, rate, ceil, burst, cburst, quantum, priority, .. } = class;
    ClassKeys { name, parent, rate, ceil, burst, cburst, quantum, priority }
}

fn tree(raw: &QueueRaw, problems: &mut Problems) -> Option<Tree> {
    let classes: Vec<_> = raw.class.iter().map(keys_of).collect();
    tree::check(&classes, &raw.default, raw.discipline.span(), problems)
}

fn estimator(raw: &QueueRaw, problems: &mut Problems) -> Option<Estimator> {
    let word = raw.estimator.get_or(EstimatorWord::Delivery, problems)?;
    if word == EstimatorWord::Signal {
        return table(raw, problems).map(Estimator::Signal);
    }
    let usual = DeliveryConfig::default();
    let dead = raw.dead.get_or(Permille(usual.dead_permille), problems);
    let pause = raw.pause.get_or(usual.pause, problems);
    Some(Estimator::Delivery(DeliveryConfig { dead_permille: dead?.0, pause: pause? }))
}

fn table(raw: &QueueRaw, problems: &mut Problems) -> Option<ChannelTable> {
    let point = |point: &ChannelRaw, problems: &mut Problems| {
        let goodput = point.goodput.get(problems);
        Some((point.snr.get(problems)?, goodput?))
    };
    let points: Vec<_> = raw.channel.iter().map(|raw| point(raw, problems)).collect::<Option<_>>()?;
    let table = ChannelTable::new(points);
    if table.is_none() {
        let place = raw.channel.last().map_or(raw.estimator.place(), |point| point.snr.span());
        problems.add(
            place,
            "no table from signal to goodput",
            "channel = [{ snr, goodput }, ...], each snr above the last",
        );
    }
    table
}

/// Whether it is a queue of access points, with turns per station.
pub(crate) fn is_of_access_points(word: DisciplineWord) -> bool {
    matches!(word, DisciplineWord::StationFifo | DisciplineWord::Mac80211)
}

/// Disciplines with a tree of classes.
const WITH_TREE: &[DisciplineWord] = &[DisciplineWord::Htb, DisciplineWord::Whtb, DisciplineWord::Cbq];
