//! The scenarios that come with the package.

use evenair_results::{Table, Values};

/// Names and texts, sorted by name.
const SCENARIOS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// The text of a scenario by its name, or by the last part of the name.
pub fn text_of(name: &str) -> Result<(&'static str, &'static str), String> {
    let last = |full: &'static str| full.rsplit('/').next().unwrap_or(full);
    let exact = SCENARIOS.iter().find(|(full, _)| *full == name);
    let found = exact.or_else(|| SCENARIOS.iter().find(|(full, _)| last(full) == name));
    found.copied().ok_or_else(|| {
        let near = evenair_reader::nearest(name, SCENARIOS.iter().map(|(full, _)| last(full)), 3);
        format!("there is no example {name:?}; the nearest are {}; Scenario.examples() lists all", near.join(", "))
    })
}

/// Name, title and duration of each scenario.
pub fn table() -> Table {
    let scenarios: Vec<_> = SCENARIOS
        .iter()
        .filter_map(|(name, text)| Some((*name, evenair_scenario::Scenario::parse(text, name).ok()?)))
        .collect();
    let text = |of: &dyn Fn(&(&str, evenair_scenario::Scenario)) -> String| {
        Values::Text(scenarios.iter().map(|entry| Some(of(entry))).collect())
    };
    let mut table = Table::default();
    table.push("name", text(&|entry| entry.0.to_owned()));
    table.push("title", text(&|entry| entry.1.title.clone()));
    table.push("standard", text(&|entry| entry.1.radio.phy.standard().to_string()));
    table.push("stations", Values::Count(scenarios.iter().map(|entry| Some(stations(&entry.1))).collect()));
    let duration = |entry: &(&str, evenair_scenario::Scenario)| Some(entry.1.duration.as_secs_f64());
    table.push("duration_s", Values::Number(scenarios.iter().map(duration).collect()));
    table
}

fn stations(scenario: &evenair_scenario::Scenario) -> u64 {
    scenario.hosts.iter().filter(|host| host.place.is_station()).count() as u64
}
