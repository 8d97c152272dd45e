//! Traffic of applications: the keys of `[[udp]]`, `[[replay]]`, `[[voip]]`, `[[flows]]` and `[[onoff]]`.

use std::net::IpAddr;
use std::path::Path;

use evenair_reader::{OrDefault, Permille, Problems};
use evenair_units::{BitRate, Bytes, Span};
use evenair_workload::trace::{self, Filter, TracedPacket};
use evenair_workload::voice::{BaresipCodec, CallTool, Codec, Hearing, VoipSpec};
use evenair_workload::{Bursts, DatagramSpec, Direction, Distribution, FlowSpec, OnOffSpec, Spacing, Spread};

use super::distribution::{Admitted, sizes, times};
use super::tcp::congestion_control;
use crate::raw::{FlowsRaw, OnOffRaw, ReplayRaw, ScenarioRaw, UdpRaw, VoipRaw};
use crate::traffic_words::{ArrivalKind, CallProgram, Reuse, Speech};
use crate::words::At;
use crate::{AppKind, IpVersion};

/// UDP payload that fits an Ethernet frame: 1500 bytes less IPv6 (40) or IPv4 (20) and UDP (8) headers.
const MAX_PAYLOAD_V4: u64 = 1472;
const MAX_PAYLOAD_V6: u64 = 1452;
/// Minimum gap: a million datagrams per second. 10 Gb/s of full size are fewer, and more would fill the memory in front of
/// a medium that carries some thousands.
const SHORTEST_GAP: Span = Span::from_micros(1);
/// Range of sizes of video frames.
const FRAMES: Admitted<'_> = Admitted { bounds: (1.0, 1e7), words: "1 byte to 10 MB" };
/// Range of sizes of transfers.
const TRANSFERS: Admitted<'_> = Admitted { bounds: (1.0, 1e12), words: "1 byte to 1000 GB" };
/// Range of lengths of bursts and silences.
const PERIODS: Admitted<'_> = Admitted { bounds: (0.0, 86_400e9), words: "0 to 24 h" };

pub(super) fn udp(raw: &UdpRaw, folder: &Path, problems: &mut Problems) -> AppKind {
    let v6 = raw.ip.get_or(IpVersion::V4, &mut Problems::default()) == Some(IpVersion::V6);
    let most = if v6 { MAX_PAYLOAD_V6 } else { MAX_PAYLOAD_V4 };
    let fits = |payload: &Bytes| (1..=most).contains(&payload.0);
    let payload = raw.payload.get_or_if(Bytes(1000), problems, fits, format!("1 to {most} bytes, one Ethernet frame"));
    let payload = payload.unwrap_or(Bytes(1));
    // A placeholder for an invalid value.
    let spacing = spacing(raw, payload, folder, problems).unwrap_or(Spacing::Regular { gap: Span::from_secs(1) });
    AppKind::Udp(DatagramSpec { spacing, payload, bursts: bursts(raw, folder, problems) })
}

/// Whether datagrams go to a multicast group.
pub(super) fn to_group(raw: &UdpRaw, scenario: &ScenarioRaw, problems: &mut Problems) -> bool {
    let Some(written) = &raw.group else { return false };
    if written.get(problems) != Some(true) {
        return false;
    }
    let unsaid = &mut Problems::default();
    let server = raw.server.get(unsaid);
    let server = scenario.server.iter().find(|other| other.name.get(unsaid) == server);
    let wrong = if raw.direction.get(unsaid) == Some(Direction::Up) {
        Some(("a station does not send to a group here", "direction = \"down\""))
    } else if raw.ip.get_or(IpVersion::V4, unsaid) == Some(IpVersion::V6) {
        Some(("groups are those of IPv4 here", "ip = \"v4\""))
    } else if server.is_some_and(|server| server.at.get_or(At::Lan, unsaid) == Some(At::Wan)) {
        Some(("a group does not reach beyond the Internet link", "a server on the LAN"))
    } else if scenario.access_point.len() > 1 {
        Some(("packets to groups are for one access point only here", "one [[access_point]], or none"))
    } else {
        None
    };
    if let Some((what, allowed)) = wrong {
        problems.add(written.span(), what, allowed);
    }
    wrong.is_none()
}

fn spacing(raw: &UdpRaw, payload: Bytes, folder: &Path, problems: &mut Problems) -> Option<Spacing> {
    let arrivals = raw.arrivals.get_or(ArrivalKind::Regular, problems);
    let noise = raw.noise.get_or(Permille(0), problems);
    let given = [raw.rate.is_some(), raw.packet_rate.is_some(), raw.frame_interval.is_some()];
    if given.into_iter().filter(|&is| is).count() != 1 {
        let places = [raw.frame_interval.place(), raw.packet_rate.place(), raw.name.span()];
        let place = places.into_iter().find(|place| !place.is_empty()).unwrap_or_default();
        problems.add(
            place,
            "how often it sends is not said, or said twice",
            "one of rate, packet_rate, frame_interval",
        );
        return None;
    }
    if let Some(interval) = &raw.frame_interval {
        let interval = interval.get(problems);
        for (key, place) in [("arrivals", raw.arrivals.place()), ("noise", raw.noise.place())] {
            if !place.is_empty() {
                problems.add(place, format!("frames come at regular times and have no {key}"), "");
            }
        }
        let Some(frame) = &raw.frame else {
            problems.add(raw.frame_interval.place(), "the sizes of the frames are not said", "[udp.frame]");
            return None;
        };
        let size = sizes(frame, raw.frame_interval.place(), FRAMES, folder, problems);
        return Some(Spacing::Frames { interval: interval?, size: size? });
    }
    if raw.frame.is_some() {
        let place = [raw.rate.place(), raw.packet_rate.place()].into_iter().find(|place| !place.is_empty());
        problems.add(place.unwrap_or_default(), "frames come at their own times", "frame_interval, or no [udp.frame]");
        return None;
    }
    let gap = gap(raw, payload, problems)?;
    match (arrivals?, noise?) {
        (ArrivalKind::Poisson, Permille(0)) => Some(Spacing::Poisson { gap }),
        (ArrivalKind::Poisson, _) => {
            problems.add(raw.noise.place(), "Poisson arrivals have no further noise", "arrivals = \"regular\"");
            None
        }
        (ArrivalKind::Regular, Permille(0)) => Some(Spacing::Regular { gap }),
        (ArrivalKind::Regular, noise) => Some(Spacing::Noisy { gap, most: gap.mul_div(u64::from(noise.0), 1000) }),
    }
}

/// Mean gap between datagrams.
fn gap(raw: &UdpRaw, payload: Bytes, problems: &mut Problems) -> Option<Span> {
    if let Some(rate) = &raw.rate {
        let written = rate;
        let rate = rate.get(problems)?;
        let gap = rate.time_for(payload);
        if gap < SHORTEST_GAP {
            let each_second = rate.as_bps() / 8 / payload.0;
            let what = format!("in datagrams of {payload} this is {each_second} of them a second");
            problems.add(written.span(), what, "up to 1000000 datagrams a second: a lower rate, or a larger payload");
            return None;
        }
        return Some(gap);
    }
    Some(raw.packet_rate.as_ref()?.get(problems)?.gap())
}

fn bursts(raw: &UdpRaw, folder: &Path, problems: &mut Problems) -> Option<Bursts> {
    let (on, off) = match (&raw.on, &raw.off) {
        (Some(on), Some(off)) => (on, off),
        (None, None) => return None,
        _ => {
            problems.add(
                raw.name.span(),
                "bursts have lengths and silences between them",
                "both [udp.on] and [udp.off]",
            );
            return None;
        }
    };
    let mut period = |raw, least: f64, words: &str| -> Option<Distribution> {
        let period = times(raw, 0..0, PERIODS, folder, problems)?;
        if period.mean() < least {
            problems.add(raw.distribution.place(), "is too short on average", words);
        }
        Some(period)
    };
    let on = period(on, 1e6, "bursts of 1 ms or more on average");
    let off = period(off, 0.0, "");
    Some(Bursts { on: on?, off: off? })
}

pub(super) fn flows(raw: &FlowsRaw, folder: &Path, duration: Span, problems: &mut Problems) -> AppKind {
    let size = sizes(&raw.size, raw.name.span(), TRANSFERS, folder, problems).unwrap_or(Distribution::Constant(1.0));
    // A placeholder for an invalid value.
    let gap = flow_gap(raw, &size, problems).unwrap_or(Span::from_secs(1));
    let start = raw.start.get_or(Span::ZERO, &mut Problems::default()).unwrap_or_default();
    let allowed = format!("after the start, up to the run's end at {} s", duration.as_secs_f64());
    let until = raw
        .until
        .as_ref()
        .and_then(|until| until.get_if(problems, |&until| until > start && until <= duration, allowed));
    AppKind::Flows(FlowSpec {
        first: 0,
        members: 1,
        gap,
        poisson: raw.arrivals.get_or(ArrivalKind::Poisson, problems) != Some(ArrivalKind::Regular),
        count: raw.count.as_ref().and_then(|count| count.get(problems)),
        until: until.map(|until| until.saturating_sub(start).as_nanos()),
        spread: raw.spread.get_or(Spread::Random, problems).unwrap_or(Spread::Random),
        size,
        limit: raw.limit.get_or(1000, problems).unwrap_or(1),
        congestion_control: congestion_control(raw.congestion_control.as_ref(), problems),
    })
}

/// Mean gap between arrivals.
fn flow_gap(raw: &FlowsRaw, size: &Distribution, problems: &mut Problems) -> Option<Span> {
    let gaps = Span::from_micros(1)..=Span::from_secs(86_400);
    let is_gap = |gap: &Span| gaps.contains(gap);
    match (&raw.interval, &raw.rate, &raw.load) {
        (Some(interval), None, None) => interval.get(problems),
        (None, Some(rate), None) => Some(rate.get(problems)?.gap()),
        (None, None, Some(load)) => {
            let gap = |load: &BitRate| Span::from_nanos((size.mean() * 8e9 / load.as_bps().max(1) as f64) as u64);
            let allowed = "a load that makes 1 us to 24 h between arrivals of this mean size";
            Some(gap(&load.get_if(problems, |load| is_gap(&gap(load)), allowed)?))
        }
        _ => {
            let places = [raw.load.place(), raw.rate.place(), raw.name.span()];
            let place = places.into_iter().find(|place| !place.is_empty()).unwrap_or_default();
            problems.add(place, "how often transfers arrive is not said, or said twice", "one of interval, rate, load");
            None
        }
    }
}

pub(super) fn onoff(raw: &OnOffRaw, folder: &Path, problems: &mut Problems) -> AppKind {
    let size = sizes(&raw.size, raw.name.span(), TRANSFERS, folder, problems);
    let gap = times(&raw.gap, raw.name.span(), PERIODS, folder, problems);
    AppKind::OnOff(OnOffSpec {
        size: size.unwrap_or(Distribution::Constant(1.0)),
        gap: gap.unwrap_or(Distribution::Constant(0.0)),
        persistent: raw.connection.get_or(Reuse::Persistent, problems) != Some(Reuse::Each),
        congestion_control: congestion_control(raw.congestion_control.as_ref(), problems),
    })
}

/// Checks a replayed trace; one that ends within a packet adds a warning.
pub(super) fn replay(
    raw: &ReplayRaw,
    direction: Direction,
    folder: &Path,
    warnings: &mut Vec<String>,
    problems: &mut Problems,
) -> AppKind {
    let host = raw.host.as_ref().and_then(|written| {
        let address = written.get(problems)?.parse::<IpAddr>();
        if address.is_err() {
            problems.add(written.span(), format!("{written} is no IP address"), "an address such as \"192.168.1.20\"");
        }
        address.ok()
    });
    let speed = raw.speed.get_or(1.0, problems).unwrap_or(1.0);
    let repeat = raw.repeat.get_or(false, problems).unwrap_or(false);
    let mut packets = Vec::new();
    if let Some(name) = raw.file.get(problems) {
        match trace::read(&folder.join(name), Filter { host, direction }) {
            Ok(trace) => {
                packets = trace.packets;
                warnings.extend(trace.cut.map(|cut| cut.to_string()));
            }
            Err(error) => {
                let allowed = "a capture (pcap, pcapng) of IP, or lines \"SECONDS, BYTES\" or \"SECONDS, BYTES, up\"";
                problems.add(raw.file.span(), error, allowed);
            }
        }
    }
    let v6 = raw.ip.get_or(IpVersion::V4, problems) == Some(IpVersion::V6);
    let (headers, most) = if v6 { (48, MAX_PAYLOAD_V6) } else { (28, MAX_PAYLOAD_V4) };
    let last = packets.last().map_or(0, |packet| packet.at.as_nanos());
    let mean_gap = last / (packets.len() as u64).saturating_sub(1).max(1);
    let faster = |ns: u64| (ns as f64 / speed) as u64;
    // A single packet would be repeated infinitely often at once.
    let period = faster(last + mean_gap).max(1_000_000);
    let cut = |packet: &TracedPacket| {
        // A packet larger than an Ethernet frame was merged by the capturing host: sent in as many datagrams as necessary.
        let (at, payload) = (faster(packet.at.as_nanos()), packet.ip_len.saturating_sub(headers));
        let most = most as u32;
        let pieces = payload.div_ceil(most).max(1);
        (0..pieces).map(move |piece| (at, (payload - piece * most).min(most)))
    };
    AppKind::Udp(DatagramSpec {
        spacing: Spacing::Trace {
            datagrams: packets.iter().flat_map(cut).collect(),
            repeat_ns: repeat.then_some(period),
        },
        payload: Bytes(most),
        bursts: None,
    })
}

pub(super) fn voip(raw: &VoipRaw, problems: &mut Problems) -> AppKind {
    let codec = raw.codec.get_or(Codec::G711, problems).unwrap_or(Codec::G711);
    let usual = BitRate::from_kbps(24);
    let bit_rate = raw.bit_rate.get_or(usual, problems);
    if codec != Codec::Opus && raw.bit_rate.is_some() {
        problems.add(raw.bit_rate.place(), "this codec has its own bit rate", "codec = \"opus\"");
    }
    let bit_rate = bit_rate.unwrap_or(usual).as_bps();
    let is_frame = |frame: &Span| *frame <= Span::from_millis(120) && codec.speech(*frame, bit_rate).is_some();
    let allowed = match codec {
        Codec::G711 => "whole milliseconds, up to 120 ms",
        Codec::G729 => "a multiple of 10 ms, up to 120 ms",
        Codec::Opus => "2.5, 5, 10, 20, 40 or 60 ms",
    };
    // A placeholder for an invalid value: every codec has it.
    let frame = raw.frame.get_or_if(Span::from_millis(20), problems, is_frame, allowed);
    let frame = frame.unwrap_or(Span::from_millis(20));
    let speech = codec.speech(frame, bit_rate).unwrap_or(Bytes(1));
    let suppresses = raw.suppress_silence.get_or(false, problems).unwrap_or(false);
    let usual = codec.hearing(frame);
    let playout = raw.playout.get_or(usual.playout, problems);
    let impairment = raw.impairment.get_or(usual.impairment, problems);
    let robustness = raw.robustness.get_or(usual.robustness, problems);
    AppKind::Voip(VoipSpec {
        packets: codec.packets(frame, speech, suppresses),
        hearing: Hearing {
            coding: usual.coding,
            playout: playout.unwrap_or_default(),
            impairment: impairment.unwrap_or(0.0),
            robustness: robustness.unwrap_or(1.0),
        },
        tool: call_tool(raw, codec, problems),
    })
}

fn call_tool(raw: &VoipRaw, codec: Codec, problems: &mut Problems) -> CallTool {
    let Some(written) = raw.tool.as_ref().filter(|tool| tool.get(problems) == Some(CallProgram::Baresip)) else {
        return CallTool::Builtin;
    };
    let direction = raw.direction.get_or(Speech::Both, &mut Problems::default());
    let v6 = raw.ip.get_or(IpVersion::V4, &mut Problems::default()) == Some(IpVersion::V6);
    let suppresses = raw.suppress_silence.get_or(false, &mut Problems::default()) == Some(true);
    let frame = raw.frame.get_or(Span::from_millis(20), &mut Problems::default());
    let codec = match codec {
        Codec::G711 => Some(BaresipCodec::Pcmu),
        Codec::Opus => Some(BaresipCodec::Opus),
        Codec::G729 => None,
    };
    let wrong = if direction != Some(Speech::Both) {
        Some(("baresip speaks and listens", "direction = \"both\""))
    } else if codec.is_none() {
        Some(("baresip has no such codec", "codec = \"g711\" or \"opus\""))
    } else if suppresses || frame != Some(Span::from_millis(20)) {
        Some(("baresip sends a packet each 20 ms", "no suppress_silence, and frame = \"20 ms\""))
    } else if v6 {
        Some(("baresip calls over IPv4 here", "ip = \"v4\""))
    } else {
        None
    };
    if let Some((what, allowed)) = wrong {
        problems.add(written.span(), what, allowed);
    }
    codec.map_or(CallTool::Builtin, CallTool::Baresip)
}
