//! Runs a site and records the reasons that the box raises.

use evenair_api::watch::{Domain, Line, Source, Station, Times, Value};
use evenair_scenario::Scenario;
use evenair_sim::{Second, SimOptions, Watching, run_watched};

use super::sites::{Fault, PLANTED_S, Site, site};

/// Bound of the time until a fault is named, in seconds.
const NAMED_WITHIN_S: f64 = 15.0;
/// Length of a run with a fault, in seconds.
pub const FAULTY_S: u64 = PLANTED_S + 17;

/// A reason that was raised.
pub struct Raised {
    /// When, from the start of the run.
    pub at_s: f64,
    pub code: String,
    /// Name of its subject.
    pub subject: String,
    pub value: f64,
    pub unit: String,
}

/// Results of a run.
#[derive(Default)]
pub struct Run {
    /// Raised reasons in the order of time; those of a second in their order.
    pub raised: Vec<Raised>,
    /// Medium time of packets relative to the time by reported rates, for each second and domain.
    costs: Vec<f64>,
}

impl Run {
    /// Median and maximum of these ratios.
    pub fn costs(&self) -> String {
        let mut costs = self.costs.clone();
        costs.sort_by(f64::total_cmp);
        let middle = costs.get(costs.len() / 2);
        middle.zip(costs.last()).map_or("-".into(), |(middle, most)| format!("{middle:.2}, {most:.2}"))
    }
}

/// Runs a scenario.
pub fn watch(scenario: &Scenario, watching: Watching) -> Run {
    let mut before: Vec<(String, String)> = Vec::new();
    let Run { mut raised, mut costs } = Run::default();
    let options = SimOptions { watching: Some(watching), ..SimOptions::default() };
    let second = |second: Second| {
        let domains = second.line.domains.iter().flatten();
        let reported = domains.filter(|domain| domain.capacity_mbps.source == Source::Reported);
        costs.extend(reported.filter_map(|domain| domain.air_cost.value));
        let mut now = Vec::new();
        for reason in second.reasons {
            let key = (reason.code.to_string(), reason.subject.name);
            if !before.contains(&key) {
                let ((code, subject), at_s) = (key.clone(), second.at_s);
                raised.push(Raised { at_s, code, subject, value: reason.value, unit: reason.unit });
            }
            now.push(key);
        }
        before = now;
    };
    run_watched(scenario, &options, second).expect("it runs");
    Run { raised, costs }
}

/// Result of a site with a fault, and whether the first reason names the fault and its subject in time.
pub struct First {
    /// Standard, stations and reports.
    pub site: String,
    pub run: Run,
    pub is_named: bool,
}

/// Runs the site of this number with this fault.
pub fn first(number: u64, fault: Fault) -> First {
    let Site { scenario, watching, name } = site(number, Some(fault), FAULTY_S);
    let run = watch(&scenario, watching);
    let is_it = |reason: &Raised| {
        let after_s = reason.at_s - PLANTED_S as f64;
        let in_time = (0.0..=NAMED_WITHIN_S).contains(&after_s);
        in_time && reason.code == fault.code().to_string() && reason.subject == fault.subject()
    };
    let is_named = run.raised.first().is_some_and(is_it);
    First { site: name, run, is_named }
}

/// The feed of a run, a line for each second.
pub fn seconds(scenario: &Scenario, watching: Watching) -> String {
    let mut text = String::new();
    let options = SimOptions { watching: Some(watching), ..SimOptions::default() };
    let second = |second: Second| {
        let codes: Vec<_> =
            second.reasons.iter().map(|reason| format!("{} {}", reason.code, reason.subject.name)).collect();
        text += &format!("{:3.0} s: {} {}\n", second.at_s, of_line(&second.line), codes.join(", "));
    };
    run_watched(scenario, &options, second).expect("it runs");
    text
}

fn of_line(line: &Line) -> String {
    let latency = line.totals.as_ref().map(|totals| totals.latency).unwrap_or_default();
    let domains: Vec<_> = line.domains.iter().flatten().map(of_domain).collect();
    let active = || line.stations.iter().flatten().filter(|station| station.active == Some(true));
    let stations: Vec<_> = active().take(3).map(of_station).collect();
    format!(
        "internet {}, box {}; {}; {} active: {};",
        times(latency.internet),
        times(latency.in_box),
        domains.join("; "),
        active().count(),
        stations.join(", ")
    )
}

fn times(times: Option<Times>) -> String {
    times.map_or("-".into(), |times| format!("{:.0}/{:.0} ms of {}", times.p50_ms, times.p95_ms, times.packets))
}

fn of_domain(domain: &Domain) -> String {
    let cost = domain.air_cost.value.map_or("-".into(), |cost| format!("{cost:.2}"));
    let lost = domain.losses.unwrap_or_default().down;
    format!(
        "{} wlan {}, air {:.2}, cost {cost}, lost of {}: {} here, {} wlan, {} wire",
        domain.name,
        times(domain.latency.wlan),
        sum(domain.air_down, domain.air_up),
        lost.data,
        lost.here,
        lost.wlan,
        lost.wire
    )
}

fn of_station(station: &Station) -> String {
    let name = station.name.as_deref().unwrap_or(&station.mac);
    format!(
        "{name} {:.2} air {:.1} Mb/s",
        sum(station.air_down, station.air_up),
        sum(station.down_mbps, station.up_mbps)
    )
}

/// Sum of the known values.
fn sum(down: Value, up: Value) -> f64 {
    down.value.unwrap_or(0.0) + up.value.unwrap_or(0.0)
}
