//! Runs a site and keeps what the box raises.

use evenair_api::watch::{Line, Times};
use evenair_scenario::Scenario;
use evenair_sim::{Second, SimOptions, Watching, run_watched};

use crate::sites::{Fault, PLANTED_S, Site, site};

/// A fault is to be named within this, in seconds.
const NAMED_WITHIN_S: f64 = 15.0;
/// Length of a run with a fault, in seconds.
const FAULTY_S: u64 = PLANTED_S + 17;

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

/// The reasons that are raised in a run, in the order of time, those of a second in their order.
pub fn raised(scenario: &Scenario, watching: Watching) -> Vec<Raised> {
    let mut before: Vec<(String, String)> = Vec::new();
    let mut raised = Vec::new();
    let options = SimOptions { watching: Some(watching), ..SimOptions::default() };
    let second = |second: Second| {
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
    raised
}

/// What a site with a fault raised, and whether the first reason names the fault and its subject in time.
pub struct First {
    /// Standard, stations, reports.
    pub site: String,
    pub raised: Vec<Raised>,
    pub is_named: bool,
}

/// Runs the site of this number with this fault.
pub fn first(number: u64, fault: Fault) -> First {
    let Site { scenario, watching, name } = site(number, Some(fault), FAULTY_S);
    let raised = raised(&scenario, watching);
    let is_it = |reason: &Raised| {
        let after_s = reason.at_s - PLANTED_S as f64;
        let in_time = (0.0..=NAMED_WITHIN_S).contains(&after_s);
        in_time && reason.code == fault.code().to_string() && reason.subject == fault.subject()
    };
    let is_named = raised.first().is_some_and(is_it);
    First { site: name, raised, is_named }
}

/// Prints what the feed has of the site of this number with its fault, each second.
pub fn seconds(number: u64) {
    let fault = Fault::of(number);
    let Site { scenario, watching, name } = site(number, Some(fault), FAULTY_S);
    println!("{number} {fault:?}: {name}");
    let options = SimOptions { watching: Some(watching), ..SimOptions::default() };
    let second = |second: Second| {
        let codes: Vec<_> =
            second.reasons.iter().map(|reason| format!("{} {}", reason.code, reason.subject.name)).collect();
        println!("{:3.0} s: {} {}", second.at_s, of_line(&second.line), codes.join(", "));
    };
    run_watched(&scenario, &options, second).expect("it runs");
}

fn of_line(line: &Line) -> String {
    let times = |times: Option<Times>| {
        times.map_or("-".into(), |times| format!("{:.0}/{:.0} ms of {}", times.p50_ms, times.p95_ms, times.packets))
    };
    let latency = line.totals.as_ref().map(|totals| totals.latency).unwrap_or_default();
    let domain = line.domains.iter().flatten().next();
    let value = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
    let cost = value(domain.and_then(|domain| domain.air_cost.value));
    let air = domain.map(|domain| {
        [domain.air_down, domain.air_up].iter().filter_map(|part| part.value).sum::<f64>()
    });
    let losses = domain.and_then(|domain| domain.losses).unwrap_or_default();
    format!(
        "wlan {}; internet {}; box {}; air {}, cost {cost}; lost of {} down: here {}, wlan {}, wire {};",
        times(latency.wlan),
        times(latency.internet),
        times(latency.in_box),
        value(air),
        losses.down.data,
        losses.down.here,
        losses.down.wlan,
        losses.down.wire
    )
}
