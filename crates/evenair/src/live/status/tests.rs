//! The short status: its content, and that it fits a screen.

use evenair_api::health::Code;
use evenair_api::watch::{AccessPoint, Source, Station, Totals, Value};
use evenair_api::{FailOpenStatus, GuardState, GuardStatus, Mode};

use super::*;

fn reason(code: Code, sentence: &str) -> Reason {
    let remedy = "see in evenair top who holds the air, and give that station a class with a ceiling".into();
    Reason { code, level: code.level(), sentence: sentence.into(), remedy, ..Reason::default() }
}

fn line(stations: usize, access_points: usize) -> Line {
    let air = |part: usize| Value::new(part as f64 / 100.0, Source::Charged);
    let station = |number: usize| Station {
        mac: format!("02:00:00:00:00:{number:02x}"),
        access_point: Some("hall-2".into()),
        air_down: air(number),
        ..Station::default()
    };
    let point =
        |number: usize| AccessPoint { name: format!("hall-{number}"), air_up: air(number), ..Default::default() };
    Line {
        totals: Some(Totals { mode: Mode::Observing, since_s: 7500.0, stations, active: Some(3), ..Totals::default() }),
        domains: Some(vec![]),
        access_points: Some((0..access_points).map(point).collect()),
        stations: Some((0..stations.min(256)).map(station).collect()),
        ..Line::default()
    }
}

fn status(reasons: Vec<Reason>) -> Status {
    Status {
        mode: Mode::Observing,
        health: Some(HealthStatus::of(reasons)),
        uptime_s: 8000.0,
        stations_known: 9,
        ..Status::default()
    }
}

#[test]
fn a_quiet_box_needs_few_lines() {
    let lines = short(&status(vec![]), &Ok(line(1, 0)));
    let expected = [
        "observing, carried by the bridge for 2 h 5 min, up 2 h 13 min",
        "health: good",
        "3 of 1 stations active   air -",
        "down -  up - Mb/s   p95: Wi-Fi -  Internet - ms",
        "name                     access point air %   down     up p95 ms loss %   rate",
        "02:00:00:00:00:00        hall-2           0      -      -      -      -      -",
        HINT,
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_longest_status_fits_a_screen() {
    let sentence = "a-laptop-with-a-name-as-long-as-it-may-be gets 0.4 Mb/s of the 5.1 Mb/s that an equal share is";
    let mut status = status(vec![reason(Code::Starving, sentence); 5]);
    status.guard = GuardStatus { state: GuardState::Bypassed, ..GuardStatus::default() };
    status.fail_open = FailOpenStatus { available: false, why: vec!["a reason".repeat(20), "another".into()] };
    for reasons in 0..=5 {
        let health = HealthStatus::of(vec![reason(Code::Starving, sentence); reasons]);
        let lines = short(&Status { health: Some(health), ..status.clone() }, &Ok(line(1000, 40)));
        assert!(lines.len() <= HEIGHT && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
        assert_eq!(lines.last().map(String::as_str), Some(HINT));
        assert!(lines.iter().any(|line| line.starts_with("02:00:00:00:00:ff")), "the most air: {lines:#?}");
    }
    let lines = short(&status, &Ok(line(1000, 40)));
    assert!(lines.contains(&"health: bad (and 2 more in --all)".into()), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("  bad: starving: ")).count(), MOST_REASONS);
}

#[test]
fn those_with_the_most_air_are_shown_and_the_others_counted() {
    let lines = short(&status(vec![]), &Ok(line(1000, 40)));
    let first = |start: &str| lines.iter().position(|line| line.starts_with(start)).expect("it is there");
    let (points, stations) = (first("access point"), first("name"));
    assert!(lines[points + 1].starts_with("hall-39") && lines[points + 5].starts_with("hall-35"), "{lines:#?}");
    assert_eq!(lines[points + 6], "and 35 more");
    assert!(lines[stations + 1].starts_with("02:00:00:00:00:ff"), "{lines:#?}");
    assert_eq!(lines[stations + 6], "and 995 more");
}

#[test]
fn without_a_watch_socket_the_rest_is_shown() {
    let lines = short(&status(vec![reason(Code::LostInBox, "the box lost 12 packets")]), &Err("no socket".into()));
    assert_eq!(lines[0], "observing, carried by the bridge, up 2 h 13 min");
    assert!(lines.contains(&"rates and latency are unknown: no socket".into()), "{lines:#?}");
    assert!(
        lines.contains(&"9 stations known".into())
            && lines.contains(&"  bad: lost-in-box: the box lost 12 packets".into())
    );
}
