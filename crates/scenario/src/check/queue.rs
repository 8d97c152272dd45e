//! Queues in front of the medium.

use std::ops::Range;

use evenair_sched::{CodelConfig, CodelQueueConfig, Config, DrrConfig, FqCodelConfig, LasAckConfig};
use evenair_units::{Bytes, Limit, Span};

use crate::QueueSpec;
use crate::config::{OrDefault, Problems, Written};
use crate::raw::QueueRaw;
use crate::words::{Count, DisciplineWord, FlowOf};

/// More packets below a queue would leave it without effect.
const MAX_DRIVER: u32 = 10_000;
const MAX_QUEUES: u32 = 65_536;
const MAX_CONNECTIONS: u32 = 10_000_000;
/// Far more than a packet: a whole round of it would be served at once.
const MAX_QUANTUM: Bytes = Bytes(1_000_000);
/// CoDel's times, and the silence after which a connection is forgotten.
const TIMES: std::ops::RangeInclusive<Span> = Span::from_micros(10)..=Span::from_secs(86_400);

/// A queue that holds as much as `limit` says.
pub(super) fn check(raw: &QueueRaw, limit: Limit, problems: &mut Problems) -> Option<QueueSpec> {
    use DisciplineWord::{Codel, Drr, Fifo, FqCodel, LasAck};
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
    let driver = raw.driver.get_or_if(Count(1), problems, |n| n.0 <= MAX_DRIVER, format!("1 to {MAX_DRIVER}"));
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
    let law = CodelConfig { target: target?, interval: interval? };
    let codel = CodelQueueConfig { codel: law, mtu: Bytes(1500), ecn: false };
    let quantum = quantum?;
    let config = match discipline? {
        Fifo => Config::Fifo(limit),
        Codel => Config::Codel(codel, limit),
        Drr => Config::Drr(DrrConfig { quantum, limit }),
        FqCodel => Config::FqCodel(FqCodelConfig { codel, flows: queues?.0, quantum, limit, seed: 0 }),
        LasAck => Config::LasAck(LasAckConfig {
            limit,
            overflow: overflow?,
            floor,
            expire: expire?,
            connections: connections?,
        }),
    };
    Some(QueueSpec { config, driver: driver?.0, by_station: by? == FlowOf::Station })
}

/// The keys that are written and that not all disciplines have, and which do.
fn keys(raw: &QueueRaw) -> impl Iterator<Item = (Range<usize>, &'static [DisciplineWord])> {
    use DisciplineWord::{Codel, Drr, FqCodel, LasAck};
    fn place<T>(written: &Option<Written<T>>) -> Option<Range<usize>> {
        written.as_ref().map(Written::span)
    }
    let fair: &[DisciplineWord] = &[Drr, FqCodel];
    let timed: &[DisciplineWord] = &[Codel, FqCodel];
    let las: &[DisciplineWord] = &[LasAck];
    let QueueRaw { by, quantum, queues, target, interval, overflow, floor, expire, connections, .. } = raw;
    [
        (place(by), fair),
        (place(quantum), fair),
        (place(queues), &[FqCodel]),
        (place(target), timed),
        (place(interval), timed),
        (place(overflow), las),
        (place(floor), las),
        (place(expire), las),
        (place(connections), las),
    ]
    .into_iter()
    .filter_map(|(place, disciplines)| Some((place?, disciplines)))
}
