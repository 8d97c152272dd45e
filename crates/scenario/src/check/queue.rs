//! Queues in front of the medium.

use std::ops::Range;

use evenair_sched::{
    CakeConfig, ChannelTable, CodelConfig, CodelQueueConfig, Config, DeliveryConfig, DrrConfig, Estimator,
    FqCodelConfig, HtbConfig, LasAckConfig, WhtbConfig,
};
use evenair_units::{BitRate, Bytes, Limit, Span};

use super::apps::Apps;
use super::cbq;
use super::hosts::Hosts;
use super::tree::{self, ClassKeys, Tree};
use crate::QueueSpec;
use crate::config::{List, OrDefault, Permille, Problems, Written};
use crate::raw::{ChannelRaw, QueueClassRaw, QueueRaw};
use crate::words::{Count, DisciplineWord, EstimatorWord, FlowOf};

/// More packets below a queue would leave it without effect.
const MAX_DRIVER: u32 = 10_000;
const MAX_QUEUES: u32 = 65_536;
const MAX_CONNECTIONS: u32 = 10_000_000;
/// Far more than a packet: a whole round of it would be served at once.
const MAX_QUANTUM: Bytes = Bytes(1_000_000);
/// Clocks of schedulers went at 100 Hz and above.
const MAX_TICK: Span = Span::from_millis(100);
/// CoDel's times, and the silence after which a connection is forgotten.
const TIMES: std::ops::RangeInclusive<Span> = Span::from_micros(10)..=Span::from_secs(86_400);

/// A queue that holds as much as `limit` says.
pub(super) fn check(
    raw: &QueueRaw,
    limit: Limit,
    hosts: &Hosts,
    apps: &Apps,
    problems: &mut Problems,
) -> Option<QueueSpec> {
    for class in raw.class.iter().filter_map(|class| class.station_classes.as_ref()) {
        problems.add(class.span(), "only the manager knows classes of stations", "stations, direction or apps");
    }
    if let Some(noise) = &raw.noise {
        problems.add(noise.span(), "a radio's own receiver knows its noise", "only for the manager's queue");
    }
    let driver = raw.driver.get_or_if(Count(1), problems, |n| n.0 <= MAX_DRIVER, format!("1 to {MAX_DRIVER}"));
    let checked = discipline(raw, limit, problems);
    let class_of_app = match &checked {
        Some(Checked { tree: Some(tree), .. }) => class_of_app(&raw.class, tree, hosts, apps, problems),
        _ => Vec::new(),
    };
    let Checked { config, by_station, .. } = checked?;
    Some(QueueSpec { config, driver: driver?.0, by_station, class_of_app })
}

/// The common part of a discipline in any table.
pub(crate) struct Checked {
    pub config: Config,
    pub by_station: bool,
    /// Of a discipline that has one.
    pub tree: Option<Tree>,
}

/// The discipline, but for who belongs to which class.
pub(crate) fn discipline(raw: &QueueRaw, limit: Limit, problems: &mut Problems) -> Option<Checked> {
    use DisciplineWord::{Cake, Cbq, Codel, Drr, Fifo, FqCodel, Htb, LasAck, Whtb};
    let discipline = raw.discipline.get(problems);
    for (place, disciplines) in keys(raw) {
        if discipline.is_some_and(|discipline| !disciplines.contains(&discipline)) {
            problems.add(
                place,
                format!("a queue that is {} does not have this", raw.discipline),
                "only without this key",
            );
        }
    }
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
    let overflow = raw.overflow.get_or(usual.overflow, problems);
    let floor = raw.floor.as_ref().and_then(|floor| floor.get(problems)).map(|Count(n)| n);
    let many = |n: &u32| (1..=MAX_CONNECTIONS).contains(n);
    let connections = raw.connections.get_or_if(usual.connections, problems, many, format!("1 to {MAX_CONNECTIONS}"));
    let hysteresis = raw.hysteresis.get_or(false, problems);
    let tick = raw.tick.get_or_if(Span::ZERO, problems, |tick| *tick <= MAX_TICK, "0 s to 100 ms");
    let has_tree = discipline.is_some_and(|discipline| WITH_TREE.contains(&discipline));
    let tree = if has_tree { tree(raw, problems) } else { None };
    if let Some(discipline) = discipline.filter(|_| has_tree) {
        cbq::refuse_keys_of_others(raw, discipline, problems);
    }
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
            overflow: overflow?,
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
    let first_channel = raw.channel.first().map(|point| point.snr.span());
    let keys = [
        (first_channel, EstimatorWord::Signal, "signal"),
        (raw.noise.as_ref().map(Written::span), EstimatorWord::Signal, "signal"),
        (raw.dead.as_ref().map(Written::span), EstimatorWord::Delivery, "delivery"),
        (raw.pause.as_ref().map(Written::span), EstimatorWord::Delivery, "delivery"),
    ];
    for (place, user, name) in keys {
        if let Some(place) = place.filter(|_| user != word) {
            problems.add(place, "the estimator does not use this", format!("only with estimator = \"{name}\""));
        }
    }
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

/// The leaf of each application: the first one all of whose conditions it meets, of those that have any.
fn class_of_app(raw: &[QueueClassRaw], tree: &Tree, hosts: &Hosts, apps: &Apps, problems: &mut Problems) -> Vec<u32> {
    let mut leaves = vec![None; apps.list.len()];
    for (number, class) in raw.iter().enumerate() {
        let QueueClassRaw { stations, direction, apps: named, .. } = class;
        if stations.is_none() && direction.is_none() && named.is_none() {
            continue;
        }
        if !tree.is_leaf(number) {
            let what = format!("class {} has children, and so no packets of its own", class.name);
            problems.add(class.name.span(), what, "stations, direction and apps in its leaves");
            continue;
        }
        let stations = stations.as_ref().map(|list| hosts.stations(list, problems));
        let direction = direction.as_ref().and_then(|direction| direction.get(problems));
        let named = named.as_ref().map(|list| named_apps(list, apps, problems));
        for (app, leaf) in apps.list.iter().zip(0..).zip(&mut leaves).filter(|(_, leaf)| leaf.is_none()) {
            let (app, at): (_, u32) = app;
            let meets = stations.as_ref().is_none_or(|stations| stations.contains(&app.station))
                && direction.is_none_or(|direction| direction == app.direction)
                && named.as_ref().is_none_or(|named| named.contains(&at));
            *leaf = meets.then_some(number as u32);
        }
    }
    leaves.into_iter().map(|leaf| leaf.unwrap_or(tree.default as u32)).collect()
}

fn named_apps(list: &List<String>, apps: &Apps, problems: &mut Problems) -> Vec<u32> {
    let mut named = Vec::new();
    for item in list.items() {
        let Some(name) = item.get(problems) else { continue };
        let found = apps.named(&name);
        if found.is_empty() {
            let what = format!("there is no application named {item}");
            problems.add(item.span(), what, "the name of an application or of a group of them");
        }
        named.extend(found);
    }
    named
}

/// Disciplines with a tree of classes.
const WITH_TREE: &[DisciplineWord] = &[DisciplineWord::Htb, DisciplineWord::Whtb, DisciplineWord::Cbq];
/// Disciplines with token buckets.
const WITH_BUCKETS: &[DisciplineWord] = &[DisciplineWord::Htb, DisciplineWord::Whtb];
/// Disciplines that know channels.
const WITH_CHANNELS: &[DisciplineWord] = &[DisciplineWord::Whtb];

/// The keys that are written and that not all disciplines have, and which do.
fn keys(raw: &QueueRaw) -> impl Iterator<Item = (Range<usize>, &'static [DisciplineWord])> {
    use DisciplineWord::{Cake, Codel, Drr, FqCodel, LasAck};
    fn place<T>(written: &Option<Written<T>>) -> Option<Range<usize>> {
        written.as_ref().map(Written::span)
    }
    let chosen: &[DisciplineWord] = &[Drr, FqCodel];
    let fair: &[DisciplineWord] = &[Drr, FqCodel, Cake];
    let timed: &[DisciplineWord] = &[Codel, FqCodel, Cake];
    let las: &[DisciplineWord] = &[LasAck];
    let QueueRaw { by, quantum, queues, target, interval, overflow, floor, expire, connections, .. } = raw;
    let class = raw.class.first().map(|class| class.name.span());
    [
        (place(by), chosen),
        (place(quantum), fair),
        (place(queues), &[FqCodel, Cake]),
        (place(target), timed),
        (place(interval), timed),
        (place(overflow), las),
        (place(floor), las),
        (place(expire), las),
        (place(connections), las),
        (class, WITH_TREE),
        (place(&raw.default), WITH_TREE),
        (place(&raw.hysteresis), WITH_BUCKETS),
        (place(&raw.tick), WITH_BUCKETS),
        (place(&raw.sharing), &[DisciplineWord::Cbq]),
        (place(&raw.estimator), WITH_CHANNELS),
        (raw.channel.first().map(|point| point.snr.span()), WITH_CHANNELS),
        (place(&raw.dead), WITH_CHANNELS),
        (place(&raw.pause), WITH_CHANNELS),
        (place(&raw.noise), WITH_CHANNELS),
    ]
    .into_iter()
    .filter_map(|(place, disciplines)| Some((place?, disciplines)))
}
