//! The settings of the limit on uploads to bytes and back, see [`crate::config_codec`].

use alloc::vec::Vec;

use evenair_packet::codec::{CodecError, Reader, Write};
use evenair_sched::BucketConfig;
use evenair_units::{BitRate, Bytes};

use super::{LimitRule, Steps, UplinkLimit};
use crate::config_codec::values::read_span;

pub(crate) fn put_uplink_limit(out: &mut Vec<u8>, limit: &UplinkLimit) {
    match limit.rule {
        LimitRule::Static => out.put_u8(0),
        LimitRule::Published(steps) => {
            out.put_u8(1);
            put_steps(steps, out);
        }
        LimitRule::Adaptive { steps, datagrams_permille } => {
            out.put_u8(2);
            put_steps(steps, out);
            out.put_u32(datagrams_permille);
        }
    }
    out.put_option(limit.rate, put_rate);
    out.put_u32(limit.split_permille);
    out.put_u64(limit.bucket.depth.0);
    out.put_u32(limit.bucket.threshold_permille);
    out.put_u64(limit.memory.as_nanos());
}

pub(crate) fn read_uplink_limit(reader: &mut Reader<'_>) -> Result<UplinkLimit, CodecError> {
    let rule = match reader.u8()? {
        0 => LimitRule::Static,
        1 => LimitRule::Published(read_steps(reader)?),
        2 => LimitRule::Adaptive { steps: read_steps(reader)?, datagrams_permille: reader.u32()? },
        tag => return Err(CodecError::Tag(tag)),
    };
    Ok(UplinkLimit {
        rule,
        rate: reader.option(read_rate)?,
        split_permille: reader.u32()?,
        bucket: BucketConfig { depth: Bytes(reader.u64()?), threshold_permille: reader.u32()? },
        memory: read_span(reader)?,
    })
}

fn put_steps(steps: Steps, out: &mut Vec<u8>) {
    out.put_u64(steps.interval.as_nanos());
    out.put_u64(steps.step.as_bps());
    out.put_option(steps.ceiling, put_rate);
}

fn read_steps(reader: &mut Reader<'_>) -> Result<Steps, CodecError> {
    Ok(Steps {
        interval: read_span(reader)?,
        step: BitRate::from_bps(reader.u64()?),
        ceiling: reader.option(read_rate)?,
    })
}

fn put_rate(out: &mut Vec<u8>, rate: BitRate) {
    out.put_u64(rate.as_bps());
}

fn read_rate(reader: &mut Reader<'_>) -> Result<BitRate, CodecError> {
    reader.u64().map(BitRate::from_bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_round_trips() {
        let ceiling = Some(BitRate::from_mbps(5));
        let rules = [
            LimitRule::Static,
            LimitRule::Published(Steps { ceiling, ..Steps::PUBLISHED }),
            LimitRule::Adaptive { steps: Steps::PUBLISHED, datagrams_permille: 300 },
        ];
        for rule in rules {
            for rate in [None, Some(BitRate::from_kbps(2_300))] {
                let limit = UplinkLimit { rule, rate, split_permille: 400, ..UplinkLimit::default() };
                let mut bytes = Vec::new();
                put_uplink_limit(&mut bytes, &limit);
                assert_eq!(read_uplink_limit(&mut Reader::new(&bytes)), Ok(limit));
            }
        }
        assert!(read_uplink_limit(&mut Reader::new(&[3; 100])).is_err());
    }
}
