//! A configuration to bytes and back, so that a recording needs nothing else.
//!
//! Little endian, no self-description; the recording's header carries the version.

mod queue;
pub(crate) mod values;
mod voice;

use alloc::boxed::Box;
use alloc::vec::Vec;

use evenair_packet::codec::{CodecError, Reader, Write};
use evenair_sched::CodelConfig;
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{Phy, PhyRate, Preamble};

use crate::access_points::{put_access_point, read_access_point};
use crate::classes::codec::{put_application, put_tree, read_application, read_tree};
use crate::ids::ClassId;
use crate::receiver::{put_receiver, read_receiver};
use crate::uplink::{put_uplink_limit, read_uplink_limit};
use crate::{Charge, Config, Controller, Level, Policy, StationConfig, WanConfig};
use values::{
    put_limit, put_list, put_name, put_rate, put_standard, put_subnet, read_limit, read_list, read_name, read_rate,
    read_span, read_standard, read_subnet,
};

pub(crate) fn encode_config(config: &Config, out: &mut Vec<u8>) {
    put_phy(&config.phy, out);
    out.put_option(config.rts_threshold, |out, bytes| out.put_u64(bytes.0));
    put_list(out, &config.policy.levels, |out, level| put_level(level, out));
    put_list(out, &config.policy.names, put_name);
    out.put_u8((config.charge == Charge::Bits).into());
    put_controller(config.controller, out);
    out.put_u32(config.stations.len() as u32);
    for station in &config.stations {
        out.put(&station.mac.0);
        put_rate(station.rate, out);
        out.put_u32(station.weight);
        out.put_option(station.class, |out, class| out.put_u8(class.0));
    }
    put_rate(config.default_rate, out);
    put_limit(config.queue_limit, out);
    out.put_option(config.aqm, |out, aqm| {
        out.put_u64(aqm.target.as_nanos());
        out.put_u64(aqm.interval.as_nanos());
    });
    out.put_u8(config.sparse_first.into());
    out.put_option(config.held_limit, Write::put_u32);
    out.put_u32(config.flow_limit);
    out.put_option(config.queue.as_deref(), queue::put);
    out.put_option(config.wan.as_deref(), put_wan);
    out.put_option(config.voice.as_deref(), voice::put);
    out.put_option(config.receiver, |out, receiver| put_receiver(out, receiver, put_limit));
    out.put_option(config.uplink_limit.as_ref(), put_uplink_limit);
    put_list(out, &config.access_points, put_access_point);
    out.put_u64(config.pacing_slack.as_nanos());
    out.put_u64(config.drain_limit.as_nanos());
}

/// Reads what [`encode_config`] wrote. The values are not checked here: a recording may well hold a configuration that
/// was refused.
pub(crate) fn decode_config(reader: &mut Reader<'_>) -> Result<Config, CodecError> {
    Ok(Config {
        phy: read_phy(reader)?,
        rts_threshold: reader.option(|r| r.u64().map(Bytes))?,
        policy: Policy { levels: read_list(reader, read_level)?, names: read_list(reader, read_name)? },
        charge: if reader.bool()? { Charge::Bits } else { Charge::Airtime },
        controller: read_controller(reader)?,
        stations: read_list(reader, |r| {
            Ok(StationConfig {
                mac: r.mac()?,
                rate: read_rate(r)?,
                weight: r.u32()?,
                class: r.option(|r| r.u8().map(ClassId))?,
            })
        })?,
        default_rate: read_rate(reader)?,
        queue_limit: read_limit(reader)?,
        aqm: reader.option(|r| Ok(CodelConfig { target: read_span(r)?, interval: read_span(r)? }))?,
        sparse_first: reader.bool()?,
        held_limit: reader.option(Reader::u32)?,
        flow_limit: reader.u32()?,
        queue: reader.option(queue::read)?.map(Box::new),
        wan: reader.option(read_wan)?.map(Box::new),
        voice: reader.option(voice::read)?.map(Box::new),
        receiver: reader.option(|r| read_receiver(r, read_limit))?,
        uplink_limit: reader.option(read_uplink_limit)?,
        access_points: read_list(reader, read_access_point)?,
        pacing_slack: read_span(reader)?,
        drain_limit: read_span(reader)?,
    })
}

fn put_wan(out: &mut Vec<u8>, wan: &WanConfig) {
    out.put_u64(wan.down.as_bps());
    out.put_u64(wan.up.as_bps());
    put_list(out, &wan.lan, put_subnet);
    out.put_u32(wan.lan_permille);
    out.put_u64(wan.aqm.target.as_nanos());
    out.put_u64(wan.aqm.interval.as_nanos());
    out.put_u8(wan.shared.into());
}

fn read_wan(reader: &mut Reader<'_>) -> Result<WanConfig, CodecError> {
    Ok(WanConfig {
        down: BitRate::from_bps(reader.u64()?),
        up: BitRate::from_bps(reader.u64()?),
        lan: read_list(reader, read_subnet)?,
        lan_permille: reader.u32()?,
        aqm: CodelConfig { target: read_span(reader)?, interval: read_span(reader)? },
        shared: reader.bool()?,
    })
}

/// The basic rates are those that a frame is answered at whose own rate they are; below the lowest of them, where a
/// frame is answered at a mandatory rate, there is none.
fn basic_rates(phy: &Phy) -> Vec<PhyRate> {
    let is_basic = |rate: &PhyRate| *rate >= phy.lowest_basic() && phy.control_rate(*rate) == *rate;
    phy.standard().rates().iter().copied().filter(is_basic).collect()
}

fn put_phy(phy: &Phy, out: &mut Vec<u8>) {
    let basic = basic_rates(phy);
    let short = Phy::new(phy.standard(), Preamble::Short, &basic).is_ok_and(|short| short == *phy);
    put_standard(phy.standard(), out);
    out.put_u8(short.into());
    out.put_u32(basic.len() as u32);
    basic.into_iter().for_each(|rate| put_rate(rate, out));
}

fn read_phy(reader: &mut Reader<'_>) -> Result<Phy, CodecError> {
    let (tag, standard) = read_standard(reader)?;
    let preamble = if reader.bool()? { Preamble::Short } else { Preamble::Long };
    let basic = read_list(reader, read_rate)?;
    Phy::new(standard, preamble, &basic).map_err(|_| CodecError::Tag(tag))
}

fn put_level(level: &Level, out: &mut Vec<u8>) {
    match level {
        Level::Direction { up, down } => {
            out.put_u8(0);
            out.put_u32(*up);
            out.put_u32(*down);
        }
        Level::Class { weights, other } => {
            out.put_u8(1);
            out.put_u32(weights.len() as u32);
            for (class, weight) in weights {
                out.put_u8(class.0);
                out.put_u32(*weight);
            }
            out.put_u32(*other);
        }
        Level::Tree(tree) => {
            out.put_u8(4);
            put_tree(out, tree);
        }
        Level::Application { applications, other } => {
            out.put_u8(5);
            put_list(out, applications, put_application);
            out.put_u32(*other);
        }
        Level::Station { time_fair } => {
            out.put_u8(2);
            out.put_u8((*time_fair).into());
        }
        Level::Host => out.put_u8(6),
        Level::Flow => out.put_u8(3),
    }
}

fn read_level(reader: &mut Reader<'_>) -> Result<Level, CodecError> {
    Ok(match reader.u8()? {
        0 => Level::Direction { up: reader.u32()?, down: reader.u32()? },
        1 => Level::Class { weights: read_list(reader, |r| Ok((ClassId(r.u8()?), r.u32()?)))?, other: reader.u32()? },
        2 => Level::Station { time_fair: reader.bool()? },
        3 => Level::Flow,
        4 => Level::Tree(read_tree(reader)?),
        5 => Level::Application { applications: read_list(reader, read_application)?, other: reader.u32()? },
        6 => Level::Host,
        tag => return Err(CodecError::Tag(tag)),
    })
}

fn put_controller(controller: Controller, out: &mut Vec<u8>) {
    match controller {
        Controller::Published { interval, delta, tolerance_permille, start_permille } => {
            out.put_u8(0);
            out.put_u64(interval.as_nanos());
            out.put_u64(delta.as_bps());
            out.put_u32(tolerance_permille);
            out.put_u32(start_permille);
        }
        Controller::Fixed(rate) => {
            out.put_u8(1);
            out.put_u64(rate.as_bps());
        }
        Controller::None => out.put_u8(3),
        Controller::Pi { interval, target } => {
            out.put_u8(4);
            out.put_u64(interval.as_nanos());
            out.put_u64(target.as_nanos());
        }
        Controller::Queue { target } => {
            out.put_u8(2);
            out.put_u64(target.as_nanos());
        }
    }
}

fn read_controller(reader: &mut Reader<'_>) -> Result<Controller, CodecError> {
    Ok(match reader.u8()? {
        0 => Controller::Published {
            interval: read_span(reader)?,
            delta: BitRate::from_bps(reader.u64()?),
            tolerance_permille: reader.u32()?,
            start_permille: reader.u32()?,
        },
        1 => Controller::Fixed(BitRate::from_bps(reader.u64()?)),
        2 => Controller::Queue { target: read_span(reader)? },
        3 => Controller::None,
        4 => Controller::Pi { interval: read_span(reader)?, target: read_span(reader)? },
        tag => return Err(CodecError::Tag(tag)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccessPoint, Codec, MacPrefix, UplinkLimit, VoiceConfig};
    use crate::{DelayLaw, ReceiverConfig, WindowLaw};
    use evenair_packet::MacAddr;
    use evenair_units::{Limit, Span};
    use evenair_wifi::{Standard, adwiser_80211b};

    fn example() -> Config {
        let rates = Standard::Dot11b.rates();
        let station = |n, rate, class| StationConfig { mac: MacAddr([2, 0, 0, 0, 0, n]), rate, weight: 5, class };
        Config {
            rts_threshold: Some(Bytes(1000)),
            policy: Policy::of([
                Level::Class { weights: [(ClassId(1), 4), (ClassId(2), 1)].into(), other: 3 },
                Level::Direction { up: 2, down: 7 },
                Level::Station { time_fair: false },
                Level::Host,
                Level::Flow,
            ]),
            charge: Charge::Bits,
            controller: Controller::Fixed(BitRate::from_kbps(4_890)),
            stations: [station(1, rates[0], None), station(2, rates[3], Some(ClassId(2)))].into(),
            queue_limit: Limit::Bytes(Bytes(150_000)),
            aqm: None,
            sparse_first: false,
            held_limit: Some(14_336),
            flow_limit: 77_000,
            access_points: [AccessPoint {
                domain: "x".parse().unwrap(),
                vlans: [evenair_packet::Vlan { id: 7, inner: Some(20) }].into(),
                radios: [MacPrefix { mac: MacAddr([2, 0, 0, 0, 0, 9]), bits: 44 }].into(),
                told_as: ["ap-1".parse().unwrap()].into(),
                standard: Some(Standard::Dot11a),
                ..AccessPoint::new("hall".parse().unwrap())
            }]
            .into(),
            uplink_limit: Some(UplinkLimit::default()),
            voice: Some(Box::new(VoiceConfig {
                calls: Some(12),
                codecs: [(Codec::G711, 10), (Codec::Other, 3)].into(),
                data_permille: 400,
                dscp: 44,
            })),
            wan: Some(Box::new(WanConfig {
                down: BitRate::from_kbps(7_200),
                up: BitRate::from_kbps(900),
                lan: ["10.0.0.0/8", "fd00::/8"].map(|text| text.parse().unwrap()).into(),
                lan_permille: 250,
                aqm: WanConfig::AQM,
                shared: true,
            })),
            ..Config::new(adwiser_80211b())
        }
    }

    #[test]
    fn configurations_round_trip() {
        let queued = |queue| Config { queue: Some(Box::new(queue)), ..example() };
        let plain = [example(), Config::new(Phy::default_for(Standard::Dot11a)), Config::new(adwiser_80211b())];
        let receiver = |window, delay| Some(ReceiverConfig { window, delay, uploads: window.is_some() });
        let laws = [
            (Some(WindowLaw::Fixed(Limit::Packets(5))), Some(DelayLaw::Fixed(Span::from_millis(50)))),
            (Some(WindowLaw::ShareOf(Limit::Bytes(Bytes(150_000)))), None),
            (Some(WindowLaw::Target(Span::from_millis(100))), None),
            (None, Some(DelayLaw::Target(Span::from_millis(100)))),
        ];
        let with = laws.map(|(window, delay)| Config { receiver: receiver(window, delay), ..example() });
        let (tree, applications) = crate::classes::codec::tests::examples();
        let levels = [Level::Tree(tree), Level::Application { applications, other: 4 }, Level::Flow];
        let policy = Policy { levels: levels.into(), names: ["staff", "caf\u{e9}", ""].map(Into::into).into() };
        let classes = Config { policy, ..example() };
        for config in
            [classes].into_iter().chain(plain).chain(with).chain(queue::tests::examples().into_iter().map(queued))
        {
            let mut bytes = Vec::new();
            encode_config(&config, &mut bytes);
            assert_eq!(decode_config(&mut Reader::new(&bytes)), Ok(config));
            for cut in 0..bytes.len() {
                assert!(decode_config(&mut Reader::new(&bytes[..cut])).is_err());
            }
        }
    }
}
