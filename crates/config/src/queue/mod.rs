//! Queue disciplines, in the manager and in front of a MAC: their settings, and the checks that both have in common.

mod cbq;
mod tree;
pub mod words;
mod written;

use evenair_reader::{Count, OrDefault, Permille, Problems, Written};
use evenair_sched::{
    CakeConfig, ChannelTable, CodelConfig, CodelQueueConfig, Config, DeliveryConfig, DrrConfig, Estimator,
    FqCodelConfig, HtbConfig, LasAckConfig, WhtbConfig,
};
use evenair_units::{BitRate, Bytes, Limit, Span};

use self::tree::ClassKeys;
pub use self::tree::Tree;
use self::words::{DisciplineWord, EstimatorWord, FlowOf, OverflowWord};
pub use self::written::{ChannelRaw, QueueClassRaw, QueueRaw};

const MAX_QUEUES: u32 = 65_536;
const MAX_CONNECTIONS: u32 = 10_000_000;
/// Far more than a packet: a whole round of it would be served at once.
const MAX_QUANTUM: Bytes = Bytes(1_000_000);
/// Clocks of schedulers went at 100 Hz and above.
const MAX_TICK: Span = Span::from_millis(100);
/// CoDel's times, and the silence after which a connection is forgotten.
const TIMES: std::ops::RangeInclusive<Span> = Span::from_micros(10)..=Span::from_secs(86_400);

/// The common part of a discipline in any table.
pub struct Checked {
    /// The discipline, with the size of its buffer.
    pub config: Config,
    /// All packets of a station are one flow.
    pub by_station: bool,
    /// Of a discipline that has one.
    pub tree: Option<Tree>,
}

/// The discipline, but for who belongs to which class.
pub fn discipline(raw: &QueueRaw, limit: Limit, problems: &mut Problems) -> Option<Checked> {
    use DisciplineWord::{Cake, Cbq, Codel, Drr, Fifo, FqCodel, Htb, LasAck, Whtb};
    let discipline = raw.discipline.get(problems);
    let by = raw.by.get_or(FlowOf::Flow, problems);
    let quanta = Bytes(1)..=MAX_QUANTUM;
    let quantum = raw.quantum.get_or_if(Bytes(1500), problems, |q| quanta.contains(q), "1 byte to 1 MB");
    let flows = Count(FqCodelConfig::default().flows);
    let queues = raw.queues.get_or_if(flows, problems, |n| n.0 <= MAX_QUEUES, format!("1 to {MAX_QUEUES}"));
    let mut time = |written: &Option<Written<Span>>, default| {
        written.get_or_if(default, problems, |time| TIMES.contains(time), "10 us to 24 h")
    };
    let usual = LasAckConfig::default();
    let target = time(&raw.target, CodelConfig::RFC.target);
    let interval = time(&raw.interval, CodelConfig::RFC.interval);
    let expire = time(&raw.expire, usual.expire);
    let overflow = raw.overflow.get_or(OverflowWord(usual.overflow), problems);
    let floor = raw.floor.as_ref().and_then(|floor| floor.get(problems)).map(|Count(n)| n);
    let many = |n: &u32| (1..=MAX_CONNECTIONS).contains(n);
    let connections = raw.connections.get_or_if(usual.connections, problems, many, format!("1 to {MAX_CONNECTIONS}"));
    let hysteresis = raw.hysteresis.get_or(false, problems);
    let tick = raw.tick.get_or_if(Span::ZERO, problems, |tick| *tick <= MAX_TICK, "0 s to 100 ms");
    let has_tree = discipline.is_some_and(|discipline| WITH_TREE.contains(&discipline));
    let tree = if has_tree { tree(raw, problems) } else { None };
    let estimator = if discipline == Some(Whtb) { estimator(raw, problems) } else { None };
    let law = CodelConfig { target: target?, interval: interval? };
    let codel = CodelQueueConfig { codel: law, mtu: Bytes(1500), ecn: false };
    let quantum = quantum?;
    let config = match discipline? {
        Fifo => Config::Fifo(limit),
        Codel => Config::Codel(codel, limit),
        Drr => Config::Drr(DrrConfig { quantum, limit }),
        FqCodel => Config::FqCodel(FqCodelConfig { codel, flows: queues?.0, quantum, limit, seed: 0 }),
        Cake => Config::Cake(CakeConfig { codel: law, queues: queues?.0, quantum, limit, seed: 0 }),
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
    let parts = Permille(0)..=Permille(500);
    let dead = raw.dead.get_or_if(Permille(usual.dead_permille), problems, |part| parts.contains(part), "0 % to 50 %");
    let pause = raw.pause.get_or_if(usual.pause, problems, |pause| TIMES.contains(pause), "10 us to 24 h");
    Some(Estimator::Delivery(DeliveryConfig { dead_permille: dead?.0, pause: pause? }))
}

fn table(raw: &QueueRaw, problems: &mut Problems) -> Option<ChannelTable> {
    let point = |point: &ChannelRaw, problems: &mut Problems| {
        let goodput = point.goodput.get_if(problems, |rate| *rate > BitRate::ZERO, "above 0 b/s");
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

/// Disciplines with a tree of classes.
const WITH_TREE: &[DisciplineWord] = &[DisciplineWord::Htb, DisciplineWord::Whtb, DisciplineWord::Cbq];
