//! The pictures and the page of a simulated run.

use evenair_report::{Picture, Screen, Shade, measures_table, run_page, run_pictures};
use evenair_results::{EchoResult, FlowResult, Lateness, RunResult, SeriesKind, StationAirtime, scalars};
use evenair_scenario::Scenario;

const SCENARIO: &str = r#"version = 1
name = "two"
title = "Two <flows> & $a$ title"
duration = "8 s"
[radio]
standard = "802.11b"
[[station]]
name = "sta"
count = 2
rate = "11 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "up"
stations = ["sta1"]
server = "server"
direction = "up"
[[bulk]]
name = "down"
stations = ["sta2"]
server = "server"
direction = "down"
[[web]]
name = "reader"
stations = ["sta2"]
server = "server"
[[event]]
at = "4 s"
do = "insert"
[[phase]]
name = "bypassed"
from = "0 s"
to = "4 s"
[[phase]]
name = "inserted"
from = "4 s"
to = "8 s"
"#;

fn run() -> RunResult {
    let scenario = Scenario::parse(SCENARIO, "two.toml").unwrap();
    evenair_sim::run(&scenario, |_| {}).unwrap()
}

/// A run with all optional results.
fn full() -> RunResult {
    let mut run = run();
    run.phases[1].capacity_cstar_mbps = Some(5.0);
    run.lateness =
        Some(Lateness { frames: 9, p50_us: 9.0, p99_us: 80.0, p999_us: 300.0, max_us: 900.0, ..Lateness::default() });
    run
}

fn names(pictures: &[Picture]) -> Vec<&str> {
    pictures.iter().map(|picture| picture.name.as_str()).collect()
}

#[test]
fn every_picture_is_a_document_in_every_form() {
    let pictures = run_pictures(&full());
    assert_eq!(names(&pictures), ["throughput", "directions", "shares", "airtime", "ap-queue", "pages", "lateness"]);
    for picture in pictures {
        let forms: Vec<_> = [Shade::Light, Shade::Dark]
            .into_iter()
            .flat_map(|shade| [Screen::Wide, Screen::Narrow].map(|screen| picture.svg_for(shade, screen)))
            .collect();
        for (at, svg) in forms.iter().enumerate() {
            assert!(!forms[..at].contains(svg), "{} is drawn alike for two forms", picture.name);
            assert!(svg.trim_start().starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{}", picture.name);
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{}", picture.name);
        }
        assert_eq!(picture.svg(), forms[0]);
        let png = picture.png();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 5000, "{}", picture.name);
    }
}

#[test]
fn pictures_are_named() {
    let run = full();
    let jain = run.phases[0].measured_airtime.as_ref().unwrap().jain.expect("there are two stations");
    let pictures = run_pictures(&run);
    let has = |name: &str, words: &[&str]| {
        let svg = pictures.iter().find(|picture| picture.name == name).unwrap().svg();
        for word in words {
            assert!(svg.contains(word), "{name} does not say {word:?}");
        }
    };
    has("throughput", &["up", "down", "box in", "throughput, Mb/s", "time, s"]);
    has("directions", &["uploads", "downloads", "total", "service rate C", "capacity C*"]);
    has("shares", &["bypassed (0 to 4 s)", "inserted (4 to 8 s)", "equal", "share, %"]);
    has(
        "airtime",
        &[
            &format!("bypassed, Jain {jain:.3}"),
            "inserted, Jain ",
            "medium time, %",
            "to stations",
            "from stations",
            ">sta1<",
            "back-off",
        ],
    );
    has("pages", &["bypassed: ", "median", "pages that took no longer, %"]);
}

#[test]
fn pictures_of_an_invalid_run_are_marked() {
    let mut run = full();
    assert!(run_pictures(&run).iter().all(|picture| !picture.svg().contains("NOT VALID")));
    run.valid = false;
    assert!(run_pictures(&run).iter().all(|picture| picture.svg().contains("NOT VALID")));
}

#[test]
fn a_run_without_data_has_no_pictures() {
    let mut run = run();
    run.series.flows.clear();
    run.series.ap_queue_packets.clear();
    run.phases.clear();
    run.pages.clear();
    assert!(run_pictures(&run).is_empty());
}

#[test]
fn values_that_are_no_numbers_are_left_out() {
    let mut run = full();
    run.series.flows[0].ip_mbps[2] = f64::NAN;
    run.series.flows[1].ip_mbps.fill(f64::INFINITY);
    run.series.ap_queue_packets.fill(0.0);
    run.phases[0].flows[0].share = f64::NAN;
    for picture in run_pictures(&run) {
        assert!(!picture.svg().contains("NaN"), "{}", picture.name);
        assert!(!picture.png().is_empty());
    }
}

#[test]
fn names_cannot_break_out() {
    let mut run = full();
    run.series.flows[0].app = "<script>&\"".into();
    run.phases[0].flows[0].app = "<script>&\"".into();
    run.phases[0].name = "<b>".into();
    let pictures = run_pictures(&run);
    for picture in &pictures {
        assert!(!picture.svg().contains("<script>") && !picture.svg().contains("<b>"), "{}", picture.name);
    }
    let page = run_page(&run, &pictures);
    assert!(!page.contains("<script") && !page.contains("<b>") && page.contains("&lt;script&gt;"));
    assert!(page.contains("Two &lt;flows&gt; &amp; $a$ title"));
}

#[test]
fn echoes_are_not_drawn_as_flows() {
    let mut run = full();
    run.echoes.push(EchoResult { app: "up".into(), answers: 1, p50_ms: 1.0, p99_ms: 1.0, max_ms: 1.0 });
    let svg = run_pictures(&run)[0].svg();
    assert!(!svg.contains(">up<") && svg.contains(">down<"));
}

#[test]
fn the_page_stands_alone_on_light_and_dark_screens() {
    let run = full();
    let pictures = run_pictures(&run);
    let page = run_page(&run, &pictures);
    assert!(page.contains("The run is valid."));
    assert_eq!(page.matches("<img ").count(), 7);
    // The style, and the wide and narrow forms of each picture.
    assert_eq!(page.matches("prefers-color-scheme: dark").count(), 1 + 2 * 7);
    assert_eq!(page.matches("(max-width: 600px)").count(), 1 + 2 * 7);
    for outside in ["src=\"http", "href=", "url(", "@import", "<script", "http:", "https:"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("src=\"data:image/svg+xml;base64,").count(), 7);
}

#[test]
fn an_invalid_run_says_why_first() {
    let mut run = run();
    run.valid = false;
    run.invalid_because = vec!["late & <later>".into()];
    run.box_faults = vec!["packets < 0".into()];
    let page = run_page(&run, &run_pictures(&run));
    assert!(page.contains("<li>late &amp; &lt;later&gt;</li>"));
    assert!(page.contains("<li>The box at fault: packets &lt; 0</li>"));
    assert!(page.find("NOT VALID").unwrap() < page.find("<img ").unwrap());
}

#[test]
fn the_tables_of_a_run_have_its_numbers() {
    let run = run();
    let series = SeriesKind::Flow.table(&run.series);
    assert_eq!(series.rows(), 3 * 8);
    let mbps: f64 = (0..8).filter_map(|row| series.column("ip_mbps").unwrap().values.number(row)).sum();
    assert!((mbps - run.series.flows[0].ip_mbps.iter().sum::<f64>()).abs() < 1e-9);
    let measures = measures_table(&run);
    assert_eq!(measures.rows(), scalars(&run).len());
    let row = (0..measures.rows())
        .find(|&row| measures.columns[0].values.text(row) == "phase.inserted.total_ip_mbps")
        .unwrap();
    assert_eq!(measures.columns[1].values.number(row), Some(run.phases[1].total_ip_mbps));
    assert_eq!(measures.columns[2].values.text(row), "Mb/s");
}

#[test]
fn flows_that_are_alike_share_a_bar() {
    let mut run = full();
    let flow = |app: String, share: f64| FlowResult { app, share, ..run.phases[0].flows[0].clone() };
    let many: Vec<_> = (1..=30).map(|n| flow(format!("bulk{n}"), if n == 1 { 0.2 } else { 0.02 })).collect();
    let other = flow("alone".into(), 0.22);
    run.phases.iter_mut().for_each(|phase| phase.flows = many.iter().cloned().chain([other.clone()]).collect());
    let svg = |run: &RunResult| run_pictures(run).iter().find(|picture| picture.name == "shares").unwrap().svg();
    let together = svg(&run);
    for part in ["30 uploads · ", "alone · ", "of flows that are alike the mean"] {
        assert!(together.contains(part), "no {part}");
    }
    assert!(!together.contains("bulk2"));
    // With few flows each has its own.
    run.phases.iter_mut().for_each(|phase| phase.flows.truncate(3));
    let each = svg(&run);
    assert!(each.contains("bulk2 · ") && !each.contains("alike"));
}

#[test]
fn of_many_stations_those_with_most_airtime_are_drawn_and_the_others_together() {
    let mut run = full();
    for phase in &mut run.phases {
        let measured = phase.measured_airtime.as_mut().unwrap();
        let station = |number: u32| StationAirtime {
            station: format!("s{number}"),
            down_share: if number == 7 { 0.3 } else { 0.01 },
            ..StationAirtime::default()
        };
        measured.stations = (0..60).map(station).collect();
    }
    let pictures = run_pictures(&run);
    let svg = pictures.iter().find(|picture| picture.name == "airtime").unwrap().svg();
    for part in [">s7<", ">20 others<", "40 stations", "then the 20 others together"] {
        assert!(svg.contains(part), "no {part}");
    }
    assert!(!svg.contains(">s8<"), "there is no room for its name");
    run.phases.iter_mut().for_each(|phase| phase.measured_airtime = None);
    assert!(run_pictures(&run).iter().all(|picture| picture.name != "airtime"));
}
