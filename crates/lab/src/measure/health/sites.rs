//! Generated sites: one access point with its PHY, its stations and their traffic, with one planted fault or none. A site is a
//! function of its number.
//!
//! Each fault is planted in the mode in which an operator meets it. Effects of stations on the medium show while the box observes: an
//! inserted box shares the air, so that a slow or greedy station does not harm others. Faults of the box, of the Internet link behind it
//! and of the channel are met while it is inserted.

use std::fmt::Write;

use evenair_api::health::Code;
use evenair_scenario::Scenario;
use evenair_sim::{LossyRing, Watching};
use evenair_units::{Span, Streams};

/// Start of a fault, in seconds.
pub const PLANTED_S: u64 = 8;

/// The fault of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A station at the lowest rate begins to download, while the box observes.
    SlowStation,
    /// Before others begin transfers, a station sends datagrams faster than the medium carries them, as if they were video, while the
    /// box observes.
    GreedyUploader,
    /// The inserted box's ring loses packets.
    LossyQueue,
    /// Transfers fill the buffer of an Internet link that is slower than the WLAN; all servers are beyond it.
    SlowInternet,
    /// Another network takes much of the channel; rates are reported.
    CrowdedChannel,
}

impl Fault {
    pub const ALL: [Self; 5] =
        [Self::SlowStation, Self::GreedyUploader, Self::LossyQueue, Self::SlowInternet, Self::CrowdedChannel];

    /// The fault of the site of this number.
    pub const fn of(number: u64) -> Self {
        Self::ALL[number as usize % Self::ALL.len()]
    }

    /// The code that the first reason must have.
    pub const fn code(self) -> Code {
        match self {
            Self::SlowStation => Code::SlowLink,
            Self::GreedyUploader => Code::HoldsTheAir,
            Self::LossyQueue => Code::LostInBox,
            Self::SlowInternet => Code::InternetLatency,
            Self::CrowdedChannel => Code::ChannelCrowded,
        }
    }

    /// The subject that the first reason must have.
    pub const fn subject(self) -> &'static str {
        match self {
            Self::SlowStation | Self::GreedyUploader => CULPRIT,
            Self::LossyQueue | Self::SlowInternet => "the box",
            Self::CrowdedChannel => "default",
        }
    }

    const fn is_met_observing(self) -> bool {
        matches!(self, Self::SlowStation | Self::GreedyUploader)
    }
}

/// Name of the station that causes a fault.
const CULPRIT: &str = "culprit";

/// A PHY: keys of `[radio]`, rates of ordinary stations, rate of a slow one, and minimum goodput of a lone ordinary one, Mb/s.
struct Phy {
    radio: &'static str,
    rates: [&'static str; 3],
    slow: &'static str,
    goodput_mbps: u64,
}

const PHYS: [Phy; 4] = [
    Phy {
        radio: "standard = \"802.11g\"",
        rates: ["rate = \"54 Mb/s\"", "rate = \"48 Mb/s\"", "rate = \"36 Mb/s\""],
        slow: "rate = \"6 Mb/s\"",
        goodput_mbps: 20,
    },
    Phy {
        radio: "standard = \"802.11n\"\nwidth = \"20 MHz\"",
        rates: ["mcs = 7\nstreams = 2", "mcs = 5\nstreams = 2", "mcs = 4\nstreams = 2"],
        slow: "mcs = 0",
        goodput_mbps: 60,
    },
    Phy {
        radio: "standard = \"802.11ac\"\nwidth = \"40 MHz\"",
        rates: ["mcs = 8\nstreams = 2", "mcs = 7\nstreams = 2", "mcs = 5\nstreams = 2"],
        slow: "mcs = 0",
        goodput_mbps: 120,
    },
    Phy {
        radio: "standard = \"802.11ax\"\nwidth = \"20 MHz\"",
        rates: ["mcs = 9\nstreams = 2", "mcs = 7\nstreams = 2", "mcs = 5\nstreams = 2"],
        slow: "mcs = 0",
        goodput_mbps: 70,
    },
];

/// A site.
pub struct Site {
    pub scenario: Scenario,
    pub watching: Watching,
    /// Standard, stations and reports.
    pub name: String,
}

/// The site of this number.
pub fn site(number: u64, fault: Option<Fault>, seconds: u64) -> Site {
    let mut rng = Streams::new(number).stream("site");
    let mut pick = |from: u64, to: u64| from + rng.below(to - from + 1);
    let phy = &PHYS[pick(0, 3) as usize];
    let stations = pick(3, 25);
    let (server, start_s) = match fault {
        Some(Fault::SlowInternet) => ("internet", PLANTED_S),
        Some(Fault::GreedyUploader) => ("lan", PLANTED_S + 1),
        _ => ("lan", 0),
    };
    let coin = pick(0, 1) == 1;
    let reported = coin || matches!(fault, Some(Fault::SlowStation | Fault::CrowdedChannel));
    let mut text = head(number, phy, seconds, reported, fault);
    for station in 0..stations {
        let rate = phy.rates[pick(0, 2) as usize];
        let _ = writeln!(text, "[[station]]\nname = \"s{station}\"\n{rate}");
        // The first two download, so that the medium is busy.
        let kind = if station < 2 { 0 } else { pick(0, 9) };
        text += &traffic(kind, station, server, start_s);
    }
    if let Some(fault) = fault {
        text += &planted(fault, phy, pick(0, 2));
    }
    let scenario = Scenario::parse(&text, "site.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let ring = LossyRing { from: Span::from_secs(PLANTED_S), one_in: pick(20, 200) };
    let watching = Watching {
        observing: fault.is_some_and(Fault::is_met_observing),
        lossy_ring: (fault == Some(Fault::LossyQueue)).then_some(ring),
    };
    let standard = scenario.radio.phy.standard();
    Site {
        name: format!("{standard}, {stations} stations{}", if reported { ", reported" } else { "" }),
        scenario,
        watching,
    }
}

fn head(number: u64, phy: &Phy, seconds: u64, reported: bool, fault: Option<Fault>) -> String {
    let internet = if fault == Some(Fault::SlowInternet) { phy.goodput_mbps / 5 } else { phy.goodput_mbps * 8 };
    // The buffer of a slow link holds a second of traffic, that of a fast one as much as TCP needs.
    let buffer = internet * 1_000 / 8 * if fault == Some(Fault::SlowInternet) { 1000 } else { 20 };
    // With longer queues before the fault, wifi-latency would be the first reason.
    let (ap_buffer, station_buffer) = match fault {
        Some(Fault::SlowStation) => (50, 30),
        Some(Fault::GreedyUploader) => (1000, 100),
        _ => (100, 100),
    };
    let insert =
        if fault.is_some_and(Fault::is_met_observing) { "" } else { "[[event]]\nat = \"1 s\"\ndo = \"insert\"\n" };
    format!(
        "version = 1\nname = \"site\"\nseed = {number}\nduration = \"{seconds} s\"\n[measure]\ninterval = \"10 s\"\n\
         [telemetry]\nstations = {reported}\nrates = {reported}\n[radio]\n{}\nap_buffer = \"{ap_buffer} packets\"\n\
         station_buffer = \"{station_buffer} packets\"\n\
         [lan]\nrate = \"1 Gb/s\"\ndelay = \"2 ms\"\n\
         [wan.down]\nrate = \"{internet} Mb/s\"\ndelay = \"10 ms\"\nbuffer = \"{buffer} bytes\"\n\
         [wan.up]\nrate = \"{internet} Mb/s\"\ndelay = \"10 ms\"\n\
         [[server]]\nname = \"lan\"\n[[server]]\nname = \"internet\"\nat = \"wan\"\n{insert}",
        phy.radio,
    )
}

/// Traffic of a station with this server, and when its transfers begin, by a number from 0 to 9: three in ten download, one uploads,
/// three read pages, one telephones, two only send echoes.
fn traffic(kind: u64, station: u64, server: &str, start_s: u64) -> String {
    let start = format!("start = \"{start_s} s\"");
    let table = |kind: &str, keys: &str| {
        format!(
            "[[{kind}]]\nname = \"{kind}{station}of\"\nstations = [\"s{station}\"]\nserver = \"{server}\"\n{keys}\n"
        )
    };
    match kind {
        0..=2 => table(
            "bulk",
            &format!("direction = \"down\"\nper_station = {}\n{start}", if server == "internet" { 4 } else { 1 }),
        ),
        3 => table("bulk", &format!("direction = \"up\"\n{start}")),
        4..=6 => table("web", ""),
        7 => table("voip", ""),
        _ => table("ping", "interval = \"200 ms\""),
    }
}

fn planted(fault: Fault, phy: &Phy, variant: u64) -> String {
    let start = format!("start = \"{PLANTED_S} s\"");
    match fault {
        Fault::SlowStation => format!(
            "[[station]]\nname = \"{CULPRIT}\"\n{}\n[[bulk]]\nname = \"slow\"\nstations = [\"{CULPRIT}\"]\nserver = \"lan\"\n\
             direction = \"down\"\nper_station = 3\n{start}\n",
            phy.slow
        ),
        Fault::GreedyUploader => format!(
            "[[station]]\nname = \"{CULPRIT}\"\n{}\n[[udp]]\nname = \"greedy\"\nstations = [\"{CULPRIT}\"]\nserver = \"lan\"\n\
             direction = \"up\"\nrate = \"{} Mb/s\"\npayload = \"1400 bytes\"\ndscp = \"CS5\"\n{start}\n",
            phy.rates[2],
            phy.goodput_mbps * 3
        ),
        Fault::CrowdedChannel => format!(
            "[[neighbour]]\nname = \"others\"\nload = \"{} %\"\nrate = \"{}\"\n{start}\n",
            50 + 10 * variant,
            "24 Mb/s"
        ),
        Fault::SlowInternet | Fault::LossyQueue => String::new(),
    }
}
