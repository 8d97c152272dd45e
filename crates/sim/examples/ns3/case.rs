//! A set-up for both simulators, and the values compared.

use std::fmt::Write;

use evenair_units::Streams;

/// Traffic of the stations of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Traffic {
    UpTcp,
    DownTcp,
    /// Payload of a datagram in bytes, payload offered by each station in Mb/s.
    UpUdp(u32, f64),
    /// The same in the other direction.
    DownUdp(u32, f64),
    /// A bidirectional G.711 call as voice.
    Voice,
}

/// A group of identical stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    pub name: &'static str,
    pub count: u32,
    /// PHY rate in Mb/s, or mode by ns-3's name, and its streams if there are several: "HeMcs7", "VhtMcs8:2".
    pub rate: &'static str,
    pub traffic: Traffic,
}

/// A value of both simulators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// Total goodput, Mb/s.
    Goodput,
    /// Goodput of a group, Mb/s.
    GoodputOf(&'static str),
    /// Total IP-level rate, data and ACKs, Mb/s.
    Ip,
    /// A group's share of the total goodput, 0 to 1.
    Share(&'static str),
}

/// A value to compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    pub what: What,
    /// Tolerance of the difference of the means.
    pub band: Band,
}

/// Tolerance of a difference of means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// In percent of ns-3's.
    Percent(f64),
    /// In the value's own unit.
    Absolute(f64),
}

/// A set-up, its duration, and the values compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub name: String,
    pub standard: &'static str,
    pub basic: &'static [&'static str],
    /// Channel width.
    pub width_mhz: u32,
    pub groups: Vec<Group>,
    /// Frames that carry more than 500 bytes are sent after RTS/CTS.
    pub rts: bool,
    pub short_preamble: bool,
    /// Groups, and the percentage of lost frames to them.
    pub losses: Vec<(&'static str, u32)>,
    /// Groups whose stations do not hear each other.
    pub hidden: Vec<&'static str>,
    /// EDCA, which 802.11ac and ax always have.
    pub edca: bool,
    /// TXOP limit of best effort; zero: one frame, as ns-3 has it.
    pub txop_us: u32,
    pub ap_queue: u32,
    /// Rate of the wired network.
    pub lan_mbps: u32,
    pub delay_ms: u32,
    /// TCP window in bytes, without scaling.
    pub window: Option<u32>,
    /// Segments per ACK.
    pub ack_every: u32,
    pub seconds: u32,
    /// Omitted time at the start, in seconds.
    pub warmup: u32,
    /// The case is in the short validation, too.
    pub in_short: bool,
    pub metrics: Vec<Metric>,
}

/// Results of a group in a run, Mb/s.
#[derive(Clone, Debug, PartialEq)]
pub struct Got {
    pub group: String,
    pub ip: f64,
    pub goodput: f64,
}

pub const STATION_QUEUE: u32 = 500;
/// Default values of set-ups, and of ns-3's program.
pub const WIDTH_MHZ: u32 = 20;
pub const LAN_MBPS: u32 = 100;
/// Attempts per frame in our simulator. ns-3 repeats a frame FrameRetryLimit times, 7, with or without RTS; our limits
/// count the first attempt, too, as the standard's retry counters do.
const ATTEMPTS: u32 = 8;
/// Size in bytes above which RTS is used: ACKs of TCP, as IP packets and MAC frames, are below it, those with data above.
const RTS_THRESHOLD: u32 = 500;

impl What {
    pub fn of(self, run: &[Got]) -> f64 {
        let sum = |value: fn(&Got) -> f64| run.iter().map(value).sum::<f64>();
        let group = |name| run.iter().find(move |got| got.group == name).expect("a case's metrics name its groups");
        match self {
            Self::Goodput => sum(|got| got.goodput),
            Self::GoodputOf(name) => group(name).goodput,
            Self::Ip => sum(|got| got.ip),
            Self::Share(name) => group(name).goodput / sum(|got| got.goodput),
        }
    }

    pub fn words(self) -> String {
        match self {
            Self::Goodput => "goodput, Mb/s".into(),
            Self::GoodputOf(name) => format!("goodput of {name}, Mb/s"),
            Self::Ip => "IP level, Mb/s".into(),
            Self::Share(name) => format!("share of {name}"),
        }
    }
}

impl Case {
    /// The set-up as a scenario of ours.
    pub fn scenario(&self, seed: u32) -> String {
        let Self { standard, seconds, warmup, ap_queue, lan_mbps, delay_ms, .. } = self;
        let rates: Vec<String> = self.basic.iter().map(|rate| format!("\"{rate} Mb/s\"")).collect();
        let mut text = format!(
            r#"version = 1
name = "ns3"
seed = {seed}
duration = "{seconds} s"
[[phase]]
name = "all"
from = "{warmup} s"
to = "{seconds} s"
[lan]
rate = "{lan_mbps} Mb/s"
delay = "{delay_ms} ms"
buffer = "unlimited"
[[server]]
name = "server"
[radio]
standard = "{standard}"
basic_rates = [{}]
profile = "ns-3"
capture_threshold = "off"
short_retry_limit = {ATTEMPTS}
long_retry_limit = {ATTEMPTS}
ap_buffer = "{ap_queue} packets"
station_buffer = "{STATION_QUEUE} packets"
"#,
            rates.join(", ")
        );
        if self.width_mhz != WIDTH_MHZ {
            let _ = writeln!(text, "width = \"{} MHz\"", self.width_mhz);
        }
        if self.short_preamble {
            text += "preamble = \"short\"\n";
        }
        if self.edca {
            text += "edca = true\n";
        }
        if self.edca || self.txop_us > 0 {
            let _ = writeln!(text, "ac.be.txop = \"{} us\"", self.txop_us);
        }
        if self.rts {
            let _ = writeln!(text, "rts_threshold = \"{RTS_THRESHOLD} bytes\"");
        }
        text += &self.tcp();
        // Transfers start at random within the first second, as in ns-3's.
        let mut starts = Streams::new(u64::from(seed)).stream("starts");
        for Group { name, count, rate, traffic } in &self.groups {
            let _ = write!(text, "[[station]]\nname = \"{name}\"\ncount = {count}\n{}", rate_keys(rate));
            for (_, percent) in self.losses.iter().filter(|(group, _)| group == name) {
                let _ = writeln!(text, "loss = \"{percent} %\"");
            }
            if self.hidden.contains(name) {
                let _ = writeln!(text, "hidden_from = [\"{name}\"]");
            }
            let (kind, direction, more) = match traffic {
                Traffic::UpTcp | Traffic::DownTcp => {
                    let direction = if *traffic == Traffic::UpTcp { "up" } else { "down" };
                    for station in 1..=*count {
                        let start_us = starts.below(1_000_000);
                        let _ = write!(
                            text,
                            "[[bulk]]\nname = \"{name}-app{station}\"\nstations = [\"{name}{station}\"]\n\
                             server = \"server\"\ndirection = \"{direction}\"\nstart = \"{start_us} us\"\n"
                        );
                    }
                    continue;
                }
                Traffic::UpUdp(payload, mbps) => ("udp", "up", datagrams(*payload, *mbps)),
                Traffic::DownUdp(payload, mbps) => ("udp", "down", datagrams(*payload, *mbps)),
                Traffic::Voice => ("voip", "both", "dscp = \"CS6\"\n".to_owned()),
            };
            let _ = write!(
                text,
                "[[{kind}]]\nname = \"{name}-app\"\nstations = [\"{name}\"]\nserver = \"server\"\n\
                 direction = \"{direction}\"\n{more}"
            );
        }
        text
    }

    /// The TCP table: ns3's stack with the changes of the case.
    fn tcp(&self) -> String {
        let mut text = "[tcp]\nstack = \"ns-3\"\n".to_owned();
        if self.ack_every == 1 {
            text += "delayed_ack = false\n";
        }
        if let Some(window) = self.window {
            let _ =
                write!(text, "window = \"{window} bytes\"\nsend_buffer = \"{window} bytes\"\nwindow_scaling = false\n");
        }
        text
    }

    /// The set-up as arguments of ns-3's program, without the seed.
    pub fn ns3_args(&self) -> Vec<String> {
        let groups: Vec<String> = self.groups.iter().map(ns3_group).collect();
        let mut args = vec![
            format!("--standard={}", self.standard.replace('.', "")),
            format!("--basic={}", self.basic.join(",")),
            format!("--groups={}", groups.join("/")),
            format!("--seconds={}", self.seconds),
            format!("--warmup={}", self.warmup),
            format!("--ap-queue={}", self.ap_queue),
            format!("--station-queue={STATION_QUEUE}"),
            format!("--delay-ms={}", self.delay_ms),
            format!("--window={}", self.window.unwrap_or(0)),
            format!("--ack-every={}", self.ack_every),
        ];
        if self.lan_mbps != LAN_MBPS {
            args.push(format!("--wire-rate={}Mbps", self.lan_mbps));
        }
        if self.width_mhz != WIDTH_MHZ {
            args.push(format!("--width={}", self.width_mhz));
        }
        if self.rts {
            args.push(format!("--rts-threshold={RTS_THRESHOLD}"));
        }
        if self.short_preamble {
            args.push("--short-preamble=1".into());
        }
        if self.edca {
            args.push("--qos=1".into());
        }
        if self.txop_us > 0 {
            args.push(format!("--txop-us={}", self.txop_us));
        }
        if !self.losses.is_empty() {
            let losses = self.losses.iter().map(|(group, percent)| format!("{group},{}", f64::from(*percent) / 100.0));
            args.push(format!("--losses={}", losses.collect::<Vec<_>>().join("/")));
        }
        if !self.hidden.is_empty() {
            let hidden = self.hidden.iter().map(|group| format!("{group},{group}"));
            args.push(format!("--hidden={}", hidden.collect::<Vec<_>>().join("/")));
        }
        args
    }
}

fn datagrams(payload: u32, mbps: f64) -> String {
    format!("rate = \"{mbps} Mb/s\"\npayload = \"{payload} bytes\"\n")
}

/// A group's rate as keys of a scenario of ours.
fn rate_keys(rate: &str) -> String {
    let Some((_, mode)) = rate.split_once("Mcs") else { return format!("rate = \"{rate} Mb/s\"\n") };
    let (mcs, streams) = mode.split_once(':').unwrap_or((mode, "1"));
    format!("mcs = {mcs}\nstreams = {streams}\n")
}

fn ns3_group(group: &Group) -> String {
    let Group { name, count, rate, traffic } = group;
    let app = match traffic {
        Traffic::UpTcp => "up-tcp".into(),
        Traffic::DownTcp => "down-tcp".into(),
        Traffic::UpUdp(payload, mbps) => format!("up-udp,{payload},{mbps}"),
        Traffic::DownUdp(payload, mbps) => format!("down-udp,{payload},{mbps}"),
        Traffic::Voice => "voice".into(),
    };
    format!("{name},{count},{rate},{app}")
}
