//! Queue disciplines to bytes and back.

use alloc::boxed::Box;
use alloc::vec::Vec;

use evenair_packet::codec::{CodecError, Reader, Write};
use evenair_sched::{
    CakeConfig, CbqClass, CbqConfig, ChannelTable, CodelConfig, CodelQueueConfig, Config as Discipline, DeliveryConfig,
    DrrConfig, Estimator, FqCodelConfig, HtbClass, HtbConfig, LasAckConfig, Overflow, Sharing, WhtbConfig,
};
use evenair_units::{BitRate, Bytes, Db, Dbm};

use super::values::{put_limit, read_limit, read_list, read_span};
use crate::ids::{ClassId, Direction};
use crate::{LeafRule, QueueConfig};

pub(super) fn put(out: &mut Vec<u8>, queue: &QueueConfig) {
    put_discipline(out, &queue.discipline);
    out.put_u8(queue.by_station.into());
    out.put_u32(queue.leaves.len() as u32);
    for rule in &queue.leaves {
        out.put_u32(rule.leaf);
        out.put_u32(rule.classes.len() as u32);
        rule.classes.iter().for_each(|class| out.put_u8(class.0));
        out.put_option(rule.direction, |out, direction| out.put_u8((direction == Direction::Up).into()));
    }
    out.put_u32(queue.default_leaf);
    out.put_u32(queue.noise.as_milli().cast_unsigned());
    out.put_u64(queue.seed);
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<QueueConfig, CodecError> {
    let rule = |r: &mut Reader<'_>| {
        Ok(LeafRule {
            leaf: r.u32()?,
            classes: read_list(r, |r| r.u8().map(ClassId))?,
            direction: r.option(|r| Ok(if r.bool()? { Direction::Up } else { Direction::Down }))?,
        })
    };
    Ok(QueueConfig {
        discipline: read_discipline(reader, INNERMOST)?,
        by_station: reader.bool()?,
        leaves: read_list(reader, rule)?,
        default_leaf: reader.u32()?,
        noise: Dbm::from_milli(reader.u32()?.cast_signed()),
        seed: reader.u64()?,
    })
}

/// A discipline in the leaves of another has none in its own.
const INNERMOST: u8 = 1;

fn put_discipline(out: &mut Vec<u8>, discipline: &Discipline) {
    match discipline {
        Discipline::Fifo(limit) => {
            out.put_u8(0);
            put_limit(*limit, out);
        }
        Discipline::Codel(codel, limit) => {
            out.put_u8(1);
            put_codel(out, codel);
            put_limit(*limit, out);
        }
        Discipline::Drr(DrrConfig { quantum, limit }) => {
            out.put_u8(2);
            out.put_u64(quantum.0);
            put_limit(*limit, out);
        }
        Discipline::FqCodel(FqCodelConfig { codel, flows, quantum, limit, seed }) => {
            out.put_u8(3);
            put_codel(out, codel);
            out.put_u32(*flows);
            out.put_u64(quantum.0);
            put_limit(*limit, out);
            out.put_u64(*seed);
        }
        Discipline::LasAck(LasAckConfig { limit, overflow, floor, expire, connections }) => {
            out.put_u8(4);
            put_limit(*limit, out);
            out.put_u8((*overflow == Overflow::TailDrop).into());
            out.put_option(*floor, Write::put_u32);
            out.put_u64(expire.as_nanos());
            out.put_u32(*connections);
        }
        Discipline::Htb(tree) => {
            out.put_u8(5);
            put_tree(out, tree);
        }
        Discipline::Whtb(WhtbConfig { tree, estimator }) => {
            out.put_u8(6);
            put_tree(out, tree);
            put_estimator(out, estimator);
        }
        Discipline::Cake(CakeConfig { codel: CodelConfig { target, interval }, queues, quantum, limit, seed }) => {
            out.put_u8(8);
            out.put_u64(target.as_nanos());
            out.put_u64(interval.as_nanos());
            out.put_u32(*queues);
            out.put_u64(quantum.0);
            put_limit(*limit, out);
            out.put_u64(*seed);
        }
        Discipline::Cbq(CbqConfig { classes, default, leaf, gain, sharing }) => {
            out.put_u8(7);
            out.put_u32(classes.len() as u32);
            classes.iter().for_each(|class| put_part(out, class));
            out.put_u32(*default as u32);
            put_discipline(out, leaf);
            out.put_u32(*gain);
            out.put_u8(match sharing {
                Sharing::Formal => 0,
                Sharing::AncestorsOnly => 1,
                Sharing::TopLevel => 2,
            });
        }
    }
}

fn put_tree(out: &mut Vec<u8>, HtbConfig { classes, default, leaf, hysteresis, tick }: &HtbConfig) {
    out.put_u32(classes.len() as u32);
    classes.iter().for_each(|class| put_class(out, class));
    out.put_u32(*default as u32);
    put_discipline(out, leaf);
    out.put_u8((*hysteresis).into());
    out.put_u64(tick.as_nanos());
}

fn read_tree(reader: &mut Reader<'_>, depth: u8) -> Result<HtbConfig, CodecError> {
    Ok(HtbConfig {
        classes: read_list(reader, read_class)?,
        default: reader.u32()? as usize,
        leaf: Box::new(read_discipline(reader, depth - 1)?),
        hysteresis: reader.bool()?,
        tick: read_span(reader)?,
    })
}

fn put_estimator(out: &mut Vec<u8>, estimator: &Estimator) {
    match estimator {
        Estimator::Signal(table) => {
            out.put_u8(0);
            out.put_u32(table.points().len() as u32);
            for (snr, goodput) in table.points() {
                out.put_u32(snr.as_milli().cast_unsigned());
                out.put_u64(goodput.as_bps());
            }
        }
        Estimator::Delivery(DeliveryConfig { dead_permille, pause }) => {
            out.put_u8(1);
            out.put_u32(*dead_permille);
            out.put_u64(pause.as_nanos());
        }
    }
}

fn read_estimator(reader: &mut Reader<'_>) -> Result<Estimator, CodecError> {
    let point = |r: &mut Reader<'_>| Ok((Db::from_milli(r.u32()?.cast_signed()), BitRate::from_bps(r.u64()?)));
    match reader.u8()? {
        0 => ChannelTable::new(read_list(reader, point)?).map(Estimator::Signal).ok_or(CodecError::Tag(0)),
        1 => Ok(Estimator::Delivery(DeliveryConfig { dead_permille: reader.u32()?, pause: read_span(reader)? })),
        tag => Err(CodecError::Tag(tag)),
    }
}

fn put_part(out: &mut Vec<u8>, class: &CbqClass) {
    out.put_option(class.parent, |out, parent| out.put_u32(parent as u32));
    out.put_u64(class.rate.as_bps());
    out.put_u64(class.quantum.0);
    out.put_u8(class.priority);
    out.put_u8(class.borrows.into());
    out.put_u8(class.isolated.into());
    out.put_u64(class.max_idle.as_nanos());
    for span in [class.min_idle, class.extra_delay] {
        out.put_option(span, |out, span| out.put_u64(span.as_nanos()));
    }
}

fn read_part(reader: &mut Reader<'_>) -> Result<CbqClass, CodecError> {
    Ok(CbqClass {
        parent: reader.option(|r| r.u32().map(|parent| parent as usize))?,
        rate: BitRate::from_bps(reader.u64()?),
        quantum: Bytes(reader.u64()?),
        priority: reader.u8()?,
        borrows: reader.bool()?,
        isolated: reader.bool()?,
        max_idle: read_span(reader)?,
        min_idle: reader.option(read_span)?,
        extra_delay: reader.option(read_span)?,
    })
}

fn read_discipline(reader: &mut Reader<'_>, depth: u8) -> Result<Discipline, CodecError> {
    Ok(match reader.u8()? {
        0 => Discipline::Fifo(read_limit(reader)?),
        1 => Discipline::Codel(read_codel(reader)?, read_limit(reader)?),
        2 => Discipline::Drr(DrrConfig { quantum: Bytes(reader.u64()?), limit: read_limit(reader)? }),
        3 => Discipline::FqCodel(FqCodelConfig {
            codel: read_codel(reader)?,
            flows: reader.u32()?,
            quantum: Bytes(reader.u64()?),
            limit: read_limit(reader)?,
            seed: reader.u64()?,
        }),
        8 => Discipline::Cake(CakeConfig {
            codel: CodelConfig { target: read_span(reader)?, interval: read_span(reader)? },
            queues: reader.u32()?,
            quantum: Bytes(reader.u64()?),
            limit: read_limit(reader)?,
            seed: reader.u64()?,
        }),
        4 => Discipline::LasAck(LasAckConfig {
            limit: read_limit(reader)?,
            overflow: if reader.bool()? { Overflow::TailDrop } else { Overflow::MostServed },
            floor: reader.option(Reader::u32)?,
            expire: read_span(reader)?,
            connections: reader.u32()?,
        }),
        5 if depth > 0 => Discipline::Htb(read_tree(reader, depth)?),
        6 if depth > 0 => {
            Discipline::Whtb(WhtbConfig { tree: read_tree(reader, depth)?, estimator: read_estimator(reader)? })
        }
        7 if depth > 0 => Discipline::Cbq(CbqConfig {
            classes: read_list(reader, read_part)?,
            default: reader.u32()? as usize,
            leaf: Box::new(read_discipline(reader, depth - 1)?),
            gain: reader.u32()?,
            sharing: match reader.u8()? {
                0 => Sharing::Formal,
                1 => Sharing::AncestorsOnly,
                2 => Sharing::TopLevel,
                tag => return Err(CodecError::Tag(tag)),
            },
        }),
        tag => return Err(CodecError::Tag(tag)),
    })
}

fn put_codel(out: &mut Vec<u8>, queue: &CodelQueueConfig) {
    out.put_u64(queue.codel.target.as_nanos());
    out.put_u64(queue.codel.interval.as_nanos());
    out.put_u64(queue.mtu.0);
    out.put_u8(queue.ecn.into());
}

fn read_codel(reader: &mut Reader<'_>) -> Result<CodelQueueConfig, CodecError> {
    let codel = CodelConfig { target: read_span(reader)?, interval: read_span(reader)? };
    Ok(CodelQueueConfig { codel, mtu: Bytes(reader.u64()?), ecn: reader.bool()? })
}

fn put_class(out: &mut Vec<u8>, class: &HtbClass) {
    out.put_option(class.parent, |out, parent| out.put_u32(parent as u32));
    [class.rate, class.ceil].iter().for_each(|rate| out.put_u64(rate.as_bps()));
    [class.burst, class.cburst, class.quantum].iter().for_each(|bytes| out.put_u64(bytes.0));
    out.put_u8(class.priority);
}

fn read_class(reader: &mut Reader<'_>) -> Result<HtbClass, CodecError> {
    Ok(HtbClass {
        parent: reader.option(|r| r.u32().map(|parent| parent as usize))?,
        rate: BitRate::from_bps(reader.u64()?),
        ceil: BitRate::from_bps(reader.u64()?),
        burst: Bytes(reader.u64()?),
        cburst: Bytes(reader.u64()?),
        quantum: Bytes(reader.u64()?),
        priority: reader.u8()?,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use evenair_units::{Limit, Span};

    /// One of each discipline.
    pub(in crate::config_codec) fn examples() -> Vec<QueueConfig> {
        let limit = Limit::Packets(300);
        let codel = CodelQueueConfig { codel: CodelConfig::RFC, mtu: Bytes(1500), ecn: true };
        let rate = BitRate::from_mbps(1);
        let classes = [HtbClass::new(rate), HtbClass::new(rate).under(0), HtbClass::new(rate).under(0)].into();
        let fq = FqCodelConfig { codel, limit, ..FqCodelConfig::default() };
        let las = LasAckConfig { limit, floor: Some(8), expire: Span::from_secs(9), ..LasAckConfig::default() };
        let leaf = || Box::new(Discipline::Fifo(limit));
        let htb = HtbConfig { classes, default: 2, leaf: leaf(), hysteresis: true, tick: Span::from_millis(10) };
        let table = ChannelTable::new([(Db::from_milli(-500), rate), (Db::from_milli(900), rate)].into());
        let signal = Estimator::Signal(table.expect("it rises"));
        let delivery = Estimator::Delivery(DeliveryConfig { dead_permille: 30, pause: Span::from_millis(700) });
        let whtb = |estimator| Discipline::Whtb(WhtbConfig { tree: htb.clone(), estimator });
        let part = CbqClass {
            parent: None,
            rate,
            quantum: Bytes(700),
            priority: 3,
            borrows: false,
            isolated: true,
            max_idle: Span::from_micros(90),
            min_idle: Some(Span::from_micros(80)),
            extra_delay: None,
        };
        let extra_delay = Some(Span::from_micros(70));
        let other = CbqClass { parent: Some(0), borrows: true, isolated: false, min_idle: None, extra_delay, ..part };
        let cbq = |sharing| {
            let classes = [part, other].into();
            Discipline::Cbq(CbqConfig { classes, default: 1, leaf: leaf(), gain: 4, sharing })
        };
        let disciplines = [
            Discipline::Fifo(limit),
            Discipline::Codel(codel, limit),
            Discipline::Drr(DrrConfig { quantum: Bytes(1514), limit }),
            Discipline::FqCodel(fq),
            Discipline::Cake(CakeConfig { queues: 77, limit, seed: 5, ..CakeConfig::default() }),
            Discipline::LasAck(LasAckConfig { overflow: Overflow::TailDrop, ..las }),
            Discipline::LasAck(las),
            whtb(signal),
            whtb(delivery),
            Discipline::Htb(htb),
            cbq(Sharing::Formal),
            cbq(Sharing::AncestorsOnly),
            cbq(Sharing::TopLevel),
        ];
        let rule = LeafRule { leaf: 1, classes: [ClassId(0), ClassId(4)].into(), direction: Some(Direction::Up) };
        let queue = |discipline| QueueConfig {
            discipline,
            by_station: true,
            leaves: [rule.clone()].into(),
            default_leaf: 2,
            noise: Dbm::from_milli(-93_500),
            seed: 77,
        };
        disciplines.map(queue).into()
    }
}
