//! The first lines: problems, the state of the box, and the sums over all stations.

use evenair_api::GuardState;
use evenair_api::health::{HealthStatus, Level};
use evenair_api::watch::{Domain, Line, Totals};

use super::text::{duration, number, p95, percent, shortened, sum};

/// Maximum number of lines of a health sentence.
const MOST_HEALTH_LINES: usize = 2;
/// Width of a domain's name, in characters.
const DOMAIN: usize = 12;

/// The problems, in as many lines as necessary; a placeholder before the first health report.
pub fn health(line: &Line, width: usize) -> Vec<String> {
    let text = line.health.as_ref().map_or_else(|| "health: not judged yet".into(), HealthStatus::in_short);
    wrapped(&text, width, MOST_HEALTH_LINES)
}

/// The level of the health; `None` before the first report.
pub fn level(line: &Line) -> Option<Level> {
    line.health.as_ref().map(|health| health.level)
}

/// Wraps a text at spaces into at most `most` lines of `width` characters; the last line is truncated.
pub fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines.len() >= most;
        let last = lines.last_mut().expect("there is one");
        let fits = last.is_empty() || last.chars().count() + 1 + word.chars().count() <= width;
        match (fits || full, last.is_empty()) {
            (true, true) => last.push_str(word),
            (true, false) => *last += &format!(" {word}"),
            (false, _) => lines.push(word.into()),
        }
    }
    lines.into_iter().map(|line| shortened(&line, width)).collect()
}

/// Mode of the box, number of stations, and use of airtime.
pub fn state(line: &Line) -> String {
    let totals = totals(line);
    let lost = if totals.fail_open { "" } else { "NO FAIL-OPEN: " };
    let guard = match totals.guard {
        GuardState::Watching => "",
        GuardState::Loosened => " (the guard looks)",
        GuardState::Trying => " (on trial by the guard)",
        GuardState::Bypassed => " BY THE GUARD",
    };
    format!("{lost}{}{guard} for {}   {}", totals.mode, duration(totals.since_s), activity(line))
}

/// Number of stations, and use of airtime.
pub fn activity(line: &Line) -> String {
    let totals = totals(line);
    let known = totals.stations;
    let stations = match totals.active {
        Some(active) => format!("{active} of {known} stations active"),
        None => format!("{known} stations known"),
    };
    let air = air(line.domains.as_deref().unwrap_or_default());
    format!("{stations}   {air}")
}

/// Rates and latencies of all stations; latencies are 95th percentiles.
pub fn sums(line: &Line) -> String {
    let totals = totals(line);
    let latency = totals.latency;
    let wifi = match latency.in_box {
        Some(_) => format!("{} + {}", p95(latency.in_box), p95(latency.wlan)),
        None => p95(latency.wlan),
    };
    format!(
        "down {}  up {} Mb/s   p95: Wi-Fi {wifi}  Internet {} ms",
        number(totals.down_mbps.value),
        number(totals.up_mbps.value),
        p95(latency.internet)
    )
}

/// Charged airtime of the busiest contention domain.
fn air(domains: &[Domain]) -> String {
    let of = |domain: &Domain| sum(&[domain.air_down, domain.air_up, domain.air_group]).unwrap_or(-1.0);
    let Some(busiest) = domains.iter().max_by(|a, b| of(a).total_cmp(&of(b))) else { return "air -".into() };
    let name = if domains.len() > 1 { format!(" ({})", shortened(&busiest.name, DOMAIN)) } else { String::new() };
    format!("air {} %{name}", percent(Some(of(busiest)).filter(|air| *air >= 0.0)))
}

fn totals(line: &Line) -> Totals {
    line.totals.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use evenair_api::health::Reason;

    use super::*;

    #[test]
    fn a_long_sentence_goes_on_in_a_second_line() {
        let sentence = "annes-laptop gets 0.4 Mb/s of the 5.1 Mb/s that an equal share of the hall is".to_owned();
        let reason = Reason { level: Level::Bad, sentence, ..Reason::default() };
        let line = Line { health: Some(HealthStatus::of(vec![reason])), ..Line::default() };
        assert_eq!(
            health(&line, 80),
            ["health: bad: annes-laptop gets 0.4 Mb/s of the 5.1 Mb/s that an equal share of", "the hall is"]
        );
        assert_eq!(health(&line, 30).len(), MOST_HEALTH_LINES);
        assert!(health(&line, 30).iter().all(|line| line.chars().count() <= 30));
        assert_eq!(health(&Line::default(), 80), ["health: not judged yet"]);
    }

    #[test]
    fn what_endangers_the_network_is_in_capitals() {
        let shown = |guard, fail_open| {
            let totals = Totals { guard, fail_open, ..Totals::default() };
            state(&Line { totals: Some(totals), ..Line::default() })
        };
        assert_eq!(shown(GuardState::Bypassed, true), "bypassed BY THE GUARD for 0 s   0 stations known   air -");
        assert!(shown(GuardState::Watching, false).starts_with("NO FAIL-OPEN: bypassed for"));
    }
}
