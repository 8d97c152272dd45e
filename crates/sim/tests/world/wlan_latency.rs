//! The box's figures of the hop between it and the stations, latency and TCP loss, compared with the simulator's record of all packets
//! (`wlan_record`): the median within 15 %, the 95th percentile within 30 %, loss within 0.3 points, inserted and observing.
//!
//! The box does not detect DATA lost before it at the end of a sender's window: no later data shows the gap, and after its timeout the
//! sender retransmits it. Uploads that overflow their stations' buffers have many such losses: see [`Mix::overflows`].

use std::fmt;
use std::sync::Arc;

use evenair_manager::{Latency, Leg, LossCounts, Losses, Report};
use evenair_scenario::Scenario;
use evenair_sim::{SimOptions, Simulation, Watching, WlanSegments};
use evenair_units::Span;
use evenair_workload::Direction;

/// Only packets acknowledged between these instants are compared, when queues are full.
const FROM: Span = Span::from_secs(8);
const TO: Span = Span::from_secs(48);
/// Stations with fewer packets in the record, less than a few per second, are idle.
const BUSY: usize = 200;
/// Percentiles and their tolerances in percent; tolerance of loss in percentage points.
const BOUNDS: [(u64, f64); 2] = [(50, 15.0), (95, 30.0)];
const LOSS_BOUND: f64 = 0.3;
const WAYS: [Direction; 2] = [Direction::Down, Direction::Up];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Inserted,
    Observing,
}

/// A site.
struct Mix {
    name: &'static str,
    /// Keys of a scenario in addition to the common ones.
    site: &'static str,
    /// Many losses are at the end of a sender's window: the shown loss is a lower bound while observing.
    overflows: bool,
}

/// Windows of 64 kB keep uploads from overflowing their stations' buffers, as Linux does by TCP small queues.
const MIXES: [Mix; 5] = [
    Mix {
        name: "downloads at different rates",
        site: r#"
            radio = { standard = "802.11g", ap_buffer = "150 kB" }
            station = [{ name = "fast", rate = "54 Mb/s" }, { name = "middle", rate = "24 Mb/s" }, { name = "slow", rate = "6 Mb/s" }]
            bulk = [{ name = "down", stations = ["fast", "middle", "slow"], server = "server", direction = "down" }]
        "#,
        overflows: false,
    },
    Mix {
        name: "uploads and downloads",
        site: r#"
            radio = { standard = "802.11g", ap_buffer = "150 kB" }
            tcp = { window = "64 kB" }
            station = [
                { name = "down-fast", rate = "54 Mb/s" }, { name = "down-slow", rate = "12 Mb/s" },
                { name = "up-fast", rate = "54 Mb/s" }, { name = "up-slow", rate = "12 Mb/s" }, { name = "both", rate = "54 Mb/s" },
            ]
            bulk = [
                { name = "down", stations = ["down-fast", "down-slow", "both"], server = "server", direction = "down" },
                { name = "up", stations = ["up-fast", "up-slow", "both"], server = "server", direction = "up" },
            ]
        "#,
        overflows: false,
    },
    Mix {
        name: "uploads that overflow buffers",
        site: r#"
            radio = { standard = "802.11g", ap_buffer = "150 kB", station_buffer = "100 packets" }
            station = [
                { name = "down-fast", rate = "54 Mb/s" }, { name = "down-slow", rate = "12 Mb/s" },
                { name = "up-fast", rate = "54 Mb/s" }, { name = "up-slow", rate = "12 Mb/s" }, { name = "both", rate = "54 Mb/s" },
            ]
            bulk = [
                { name = "down", stations = ["down-fast", "down-slow", "both"], server = "server", direction = "down" },
                { name = "up", stations = ["up-fast", "up-slow", "both"], server = "server", direction = "up" },
            ]
        "#,
        overflows: true,
    },
    Mix {
        name: "pages and a call beside a download",
        site: r#"
            radio = { standard = "802.11g", ap_buffer = "150 kB", edca = true }
            station = [
                { name = "reader", rate = "54 Mb/s" }, { name = "phone", rate = "54 Mb/s" }, { name = "loader", rate = "54 Mb/s" },
            ]
            web = [{ name = "pages", stations = ["reader"], server = "server", size_cap = "2 MB" }]
            voip = [
                { name = "speech-up", stations = ["phone"], server = "server", direction = "up" },
                { name = "speech-down", stations = ["phone"], server = "server", direction = "down" },
            ]
            bulk = [{ name = "down", stations = ["loader"], server = "server", direction = "down" }]
        "#,
        overflows: false,
    },
    Mix {
        name: "802.11ax with a slow laptop, deep FIFO",
        site: r#"
            radio = { standard = "802.11ax", ap_buffer = "1000 packets", edca_parameters = "hostapd" }
            station = [{ name = "fast", count = 4, mcs = 11, streams = 2 }, { name = "slow", mcs = 0 }]
            bulk = [{ name = "down", stations = ["fast", "slow"], server = "server", direction = "down" }]
        "#,
        overflows: false,
    },
];

/// The box's figures of a station.
#[derive(Default)]
struct Shown {
    latency: Latency,
    losses: Losses,
}

impl Shown {
    /// The figures of the station whose address ends with the number of its host.
    fn of(report: &Report, host: usize) -> Self {
        let is_it = |mac: [u8; 6]| usize::from(u16::from_be_bytes([mac[4], mac[5]])) == host;
        let station = report.stations.iter().find(|station| is_it(station.mac.0));
        station.map_or_else(Self::default, |station| Self {
            latency: station.latency.as_deref().copied().unwrap_or_default(),
            losses: station.losses,
        })
    }

    fn since(&self, before: &Self) -> Self {
        Self { latency: self.latency.since(&before.latency), losses: self.losses.since(&before.losses) }
    }
}

/// One value, as shown by the box and as recorded.
struct Pair {
    what: String,
    shown: f64,
    record: f64,
    /// The difference in percent or points, and its tolerance.
    off: f64,
    bounds: std::ops::RangeInclusive<f64>,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.2} / {:.2} ({:+.1})", self.what, self.shown, self.record, self.off)
    }
}

/// Percentiles in milliseconds.
fn percentiles(shown: &Latency, mut times: Vec<Span>) -> impl Iterator<Item = Pair> {
    times.sort_unstable();
    let milliseconds = |span: Span| span.as_secs_f64() * 1e3;
    let shown = *shown.leg(Leg::Wlan);
    BOUNDS.into_iter().map(move |(percent, bound)| {
        let record = milliseconds(times[(times.len() * percent as usize).div_ceil(100) - 1]);
        let shown = shown.percentile(percent).map_or(0.0, milliseconds);
        let off = 100.0 * (shown / record - 1.0);
        Pair { what: format!("p{percent} ms"), shown, record, off, bounds: -bound..=bound }
    })
}

/// Losses of DATA in percent: those on the WLAN, and those shown as lost beyond the wire port, which must be none.
fn losses(way: Direction, shown: LossCounts, record: WlanSegments, overflows: bool) -> [Pair; 2] {
    let percent = |lost: u64| 100.0 * lost as f64 / shown.data.max(1) as f64;
    let [wlan, wire, record] = [shown.wlan, shown.wire, record.lost].map(percent);
    let least = if overflows { -record } else { -LOSS_BOUND };
    let pair = |what: &str, shown: f64, record: f64, least: f64| Pair {
        what: format!("lost {what} {} %", format!("{way:?}").to_lowercase()),
        shown,
        record,
        off: shown - record,
        bounds: least..=LOSS_BOUND,
    };
    [pair("wlan", wlan, record, least), pair("wire", wire, 0.0, 0.0)]
}

fn scenario(site: &str, mode: Mode) -> Scenario {
    let insert = if mode == Mode::Inserted { "event = [{ at = \"1 s\", do = \"insert\" }]\n" } else { "" };
    let text = format!(
        "version = 1\nname = \"wlan-latency\"\nduration = \"{} s\"\nserver = [{{ name = \"server\" }}]\n{insert}{site}",
        TO.as_secs_f64()
    );
    Scenario::parse(&text, "wlan-latency.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// DATA segments toward a station and from it so far.
fn lost_so_far(simulation: &Simulation, host: usize) -> [WlanSegments; 2] {
    let apps = || simulation.scenario().apps.iter().enumerate().filter(|(_, app)| app.station == host);
    let plus = |a: WlanSegments, b: WlanSegments| WlanSegments { passed: a.passed + b.passed, lost: a.lost + b.lost };
    WAYS.map(|way| apps().map(|(app, _)| simulation.wlan_segments(app, way)).fold(WlanSegments::default(), plus))
}

/// Compares a run; returns the values out of tolerance. Prints a line for each busy station.
fn check(mix: &Mix, mode: Mode) -> Vec<String> {
    let scenario = scenario(mix.site, mode);
    let stations: Vec<_> = (0..scenario.hosts.len()).filter(|&host| scenario.hosts[host].place.is_station()).collect();
    let watching = Some(Watching { observing: true, ..Watching::default() });
    let options = SimOptions { watching, record_wlan: true, ..SimOptions::default() };
    let mut simulation = Simulation::new(Arc::new(scenario), &options).expect("it runs");
    let state = |simulation: &Simulation| {
        let report = simulation.box_report().expect("there is a box");
        stations.iter().map(|&host| (Shown::of(&report, host), lost_so_far(simulation, host))).collect::<Vec<_>>()
    };
    simulation.step_until(FROM);
    let before = state(&simulation);
    simulation.step_until(TO);
    let mut missed = Vec::new();
    for ((host, now), before) in stations.iter().zip(state(&simulation)).zip(before) {
        let apps = &simulation.scenario().apps;
        let its = simulation.wlan_times().iter().filter(|time| time.at >= FROM && apps[time.app].station == *host);
        let times: Vec<_> = its.map(|time| time.took).collect();
        if times.len() < BUSY {
            continue;
        }
        let shown = now.0.since(&before.0);
        let head = format!("{} | {mode:?} | {}", mix.name, simulation.scenario().hosts[*host].name);
        let (timed, of) = (shown.latency.leg(Leg::Wlan).count(), times.len());
        let mut pairs: Vec<_> = percentiles(&shown.latency, times).collect();
        for (at, counts) in [shown.losses.down, shown.losses.up].into_iter().enumerate().filter(|(_, of)| of.data > 0) {
            let [now, before] = [now.1[at], before.1[at]];
            let record = WlanSegments { passed: now.passed - before.passed, lost: now.lost - before.lost };
            pairs.extend(losses(WAYS[at], counts, record, mix.overflows && mode == Mode::Observing));
        }
        let row: Vec<_> = pairs.iter().map(Pair::to_string).collect();
        println!("{head} | {timed} of {of} | {}", row.join(" | "));
        missed.extend(
            pairs.iter().filter(|pair| !pair.bounds.contains(&pair.off)).map(|pair| format!("{head} | {pair}")),
        );
    }
    missed
}

#[test]
fn the_box_shows_the_latency_and_the_loss_of_the_wlan() {
    println!("shown / record (difference in percent, of losses in points)");
    let runs = MIXES.iter().flat_map(|mix| [Mode::Inserted, Mode::Observing].map(|mode| (mix, mode)));
    let missed: Vec<_> = runs.flat_map(|(mix, mode)| check(mix, mode)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
