//! The networks: one access point of some kind, its PHY, its stations and their traffic, as the text of a scenario. A server is on
//! the LAN, at 1 Gb/s and 5 ms from the box in each direction.

use std::fmt;

use anyhow::{Context, Result};
use evenair_scenario::{Policy, Scenario};

use super::super::kinds::{self, Kind};
use super::options::Options;

/// Round-trip time of the wired path without queues, ms.
pub const PATH_MS: f64 = 10.0;

/// Start of the steady phase of a run, s.
const STEADY_S: u32 = 6;

/// 1000 packets; an access takes all queued packets for the receiver of the oldest one.
pub static DEEP: Kind = Kind { name: "deep FIFO", keys: &[] };
/// 1000 packets; accesses take the packets of one receiver after the other.
pub static STATIONS: Kind = Kind { name: "by station", keys: kinds::STATIONS };
/// With AQL at Linux's limits.
pub static MAC80211: Kind = Kind { name: "mac80211", keys: kinds::MAC80211 };
/// 1000 packets; an access takes the packets at the head of the queue that have one receiver.
pub static NEIGHBOURS: Kind = Kind { name: "neighbours", keys: kinds::NEIGHBOURS };
pub static SINGLE: Kind = Kind { name: "single frames", keys: kinds::SINGLE_FRAMES };

/// All kinds of access point.
pub static KINDS: [&Kind; 5] = [&DEEP, &STATIONS, &MAC80211, &NEIGHBOURS, &SINGLE];

/// The PHY of a BSS; `top_mcs` is its highest MCS of one stream.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phy {
    standard: &'static str,
    width_mhz: u32,
    streams: u32,
    pub top_mcs: u32,
}

pub static HE_20: Phy = Phy { standard: "802.11ax", width_mhz: 20, streams: 1, top_mcs: 11 };
pub static VHT_80: Phy = Phy { standard: "802.11ac", width_mhz: 80, streams: 2, top_mcs: 9 };
pub static HT_40: Phy = Phy { standard: "802.11n", width_mhz: 40, streams: 2, top_mcs: 7 };
pub static HT_20: Phy = Phy { standard: "802.11n", width_mhz: 20, streams: 2, top_mcs: 7 };

/// A PHY and the MCS of each stream: MCS 7 of two streams of 802.11n is its MCS 15.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    pub phy: &'static Phy,
    pub mcs: u32,
}

pub static MODES: [Mode; 4] = [
    Mode { phy: &HE_20, mcs: 7 },
    Mode { phy: &HE_20, mcs: 11 },
    Mode { phy: &VHT_80, mcs: 8 },
    Mode { phy: &HT_40, mcs: 7 },
];

impl fmt::Display for Phy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} MHz x{}", &self.standard[4..], self.width_mhz, self.streams)
    }
}

/// Traffic of a station: endless TCP transfers, 20 echo requests per second, web pages, a telephone call, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Traffic {
    Down,
    Up,
    Both,
    Ping,
    Pages,
    Call,
    None,
}

impl Traffic {
    pub const BULK: [Self; 3] = [Self::Down, Self::Up, Self::Both];

    /// The tables of the station of this index.
    fn tables(self, station: usize) -> String {
        let table = |kind: &str, name: &str, keys: &str| {
            format!(
                "[[{kind}]]\nname = \"{name}{station}\"\nstations = [\"s{station}\"]\nserver = \"server\"\n{keys}\n"
            )
        };
        let bulk = |way: &str| table("bulk", way, &format!("direction = \"{way}\""));
        match self {
            Self::Down => bulk("down"),
            Self::Up => bulk("up"),
            Self::Both => bulk("down") + &bulk("up"),
            Self::Ping => table("ping", "ping", "interval = \"50 ms\""),
            Self::Pages => table("web", "pages", ""),
            Self::Call => table("voip", "call", ""),
            Self::None => String::new(),
        }
    }
}

/// A station: its MCS, and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Station {
    pub mcs: u32,
    pub traffic: Traffic,
}

/// A network and its schedule.
#[derive(Clone, Debug)]
pub struct Site {
    pub name: String,
    pub kind: &'static Kind,
    pub phy: &'static Phy,
    pub stations: Vec<Station>,
    /// Further tables: the path to the access point, other traffic.
    pub more: String,
    /// Jitter or batches of the path, by which the bar of the queue time is longer, ms.
    pub uneven_ms: f64,
    /// When the box is inserted, s.
    pub insert_s: u32,
    /// Averaging windows of the results, s; empty: from 6 s to the end.
    pub windows: Vec<(u32, u32)>,
}

impl Site {
    /// A site whose box is inserted at 2 s.
    pub fn new(name: String, kind: &'static Kind, phy: &'static Phy, stations: Vec<Station>) -> Self {
        Self { name, kind, phy, stations, more: String::new(), uneven_ms: 0.0, insert_s: 2, windows: Vec::new() }
    }

    /// A site with `count` stations of one mode.
    pub fn uniform(kind: &'static Kind, mode: Mode, count: usize, traffic: Traffic) -> Self {
        let name = format!("{}, {} MCS {}, {count} {traffic:?}", kind.name, mode.phy, mode.mcs);
        Self::new(name, kind, mode.phy, vec![Station { mcs: mode.mcs, traffic }; count])
    }

    /// Bar of the 95th percentile of the queue time in the access point, ms: about two of the longest PPDUs of the PHY, and
    /// more if those of other stations have priority, or answers are late by chance.
    pub fn p95_bar_ms(&self) -> f64 {
        let is_by_station = [STATIONS.name, MAC80211.name].contains(&self.kind.name);
        (if self.is_wide() { 7.0 } else { 11.0 }) + self.uneven_ms + if is_by_station { 3.0 } else { 0.0 }
    }

    /// Whether the channel is wider than 20 MHz.
    pub fn is_wide(&self) -> bool {
        self.phy.width_mhz > 20
    }

    /// Its scenario, with the default box or without one.
    pub fn scenario(&self, has_box: bool, seed: u32, options: &Options) -> Result<Scenario> {
        let policy = Policy::named(if has_box { "evenair" } else { "fifo" })?;
        let text = policy.apply(&self.text(seed, options))?;
        let own = options.sets.iter().filter(|_| has_box).map(|(key, value)| (key.as_str(), value.as_str()));
        let sets: Vec<_> = self.kind.keys.iter().copied().chain(own).collect();
        Scenario::parse_with(&text, "controller.toml", &sets).with_context(|| self.name.clone())
    }

    fn text(&self, seed: u32, options: &Options) -> String {
        let Self { phy, more, .. } = self;
        let insert_s = options.insert_s.unwrap_or(self.insert_s);
        let reported = options.reported;
        let steady = [(STEADY_S, options.duration_s().max(STEADY_S + 1))];
        let windows = if self.windows.is_empty() { &steady[..] } else { &self.windows };
        let end_s = windows.iter().map(|window| window.1).max().unwrap_or_default();
        let stations = self.stations.iter().enumerate().map(|(at, Station { mcs, traffic })| {
            format!("[[station]]\nname = \"s{at}\"\nmcs = {mcs}\nstreams = {}\n{}", phy.streams, traffic.tables(at))
        });
        let phases = windows.iter().map(|(from_s, to_s)| {
            format!("[[phase]]\nname = \"from{from_s}\"\nfrom = \"{from_s} s\"\nto = \"{to_s} s\"\n")
        });
        format!(
            "version = 1\nname = \"controller\"\nseed = {seed}\nduration = \"{end_s} s\"\n\
             [telemetry]\nstations = {reported}\nrates = {reported}\n\
             [radio]\nstandard = \"{}\"\nwidth = \"{} MHz\"\nap_buffer = \"1000 packets\"\n\
             [lan]\nrate = \"1 Gb/s\"\ndelay = \"{} ms\"\n[[server]]\nname = \"server\"\n{}{}{more}\
             [[event]]\nat = \"{insert_s} s\"\ndo = \"insert\"\n",
            phy.standard,
            phy.width_mhz,
            PATH_MS / 2.0,
            stations.collect::<String>(),
            phases.collect::<String>(),
        )
    }
}
