//! Runs that the command line makes shorter than their files.

use evenair_reader::ConfigError;
use evenair_scenario::{Action, Scenario};
use evenair_units::Span;

use crate::files::{scenarios, toml_files};

const TEXT: &str = r#"version = 1
name = "long"
duration = "60 s"
[radio]
standard = "802.11g"
[[station]]
name = "sta"
count = 3
rate = "54 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "early"
stations = ["sta1"]
server = "server"
direction = "up"
stop = "50 s"
[[bulk]]
name = "late"
stations = ["sta2", "sta3"]
server = "server"
direction = "down"
start = "40 s"
stagger = "5 s"
[[event]]
at = "10 s"
do = "insert"
[[event]]
at = "30 s"
do = "join"
stations = ["sta2"]
[[event]]
at = "55 s"
do = "bypass"
[[phase]]
name = "first"
from = "5 s"
to = "30 s"
[[phase]]
name = "last"
from = "50 s"
to = "60 s"
[[published]]
what = "total"
phase = "first"
value = "1 Mb/s"
note = "stays"
[[published]]
id = "of-last"
what = "total"
phase = "last"
value = "1 Mb/s"
note = "goes"
[[published]]
what = "phase.first.flow.late2.ip_mbps"
value = "1 Mb/s"
note = "goes with its application"
[[published]]
what = "jain_flows"
value = 0.5
note = "is of the last phase"
[[published]]
what = "finding"
note = "stays"
"#;

fn with(text: &str, sets: &[(&str, &str)]) -> Scenario {
    Scenario::parse_with(text, "long.toml", sets).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn parts_beyond_the_end_are_omitted_and_named() {
    let scenario = with(TEXT, &[("duration", "45 s")]);
    assert_eq!(
        scenario.left_out,
        [
            "phases: last",
            "events: event.3",
            "applications, which start later: late2",
            "published values: of-last, published.3, published.4"
        ]
    );
    assert_eq!((scenario.duration, scenario.events.len(), scenario.published.len()), (Span::from_secs(45), 2, 2));
    let shorter = with(TEXT, &[("duration", "20.5 s")]);
    assert_eq!(shorter.left_out[1], "the end of phases: first");
    assert_eq!(shorter.measure.phases[0].to, Span::from_secs(20));
    let shortest = with(TEXT, &[("duration", "3 s")]);
    let phases: Vec<_> = shortest.measure.phases.iter().map(|phase| (phase.name.as_str(), phase.to)).collect();
    assert_eq!(phases, [("all", Span::from_secs(3))]);
    assert!(!shortest.is_present(1, Span::ZERO), "a station that joins later is absent");
    assert!(shortest.apps.iter().all(|app| app.stop.is_none_or(|stop| stop >= app.start)));
}

#[test]
fn errors_of_the_file_itself_stay_errors() {
    let error =
        |text: &str, sets: &[(&str, &str)]| Scenario::parse_with(text, "long.toml", sets).unwrap_err().to_string();
    let late = TEXT.replace("at = \"55 s\"", "at = \"65 s\"");
    for sets in [&[][..], &[("duration", "45 s")], &[("duration", "62 s")]] {
        let error = error(&late, sets);
        assert!(error.contains("event.3.at: \"65 s\" is out of range"), "{error}");
    }
    assert!(error(&TEXT.replace("duration = \"60 s\"", "duration = \"45 s\""), &[]).contains("phase.last.from"));
    assert!(error(TEXT, &[("duration", "45 s"), ("event.1.at", "70 s")]).contains("--set event.1.at=70 s: "));
    assert!(with(TEXT, &[("duration", "60 s")]).left_out.is_empty());
    assert!(with(&late, &[("duration", "70 s")]).left_out.is_empty());
}

#[test]
fn every_shipped_scenario_can_be_shortened_or_names_the_key_that_prevents_it() {
    let second = Span::from_secs(1);
    for file in toml_files(&scenarios()) {
        match Scenario::load_with(&file, &[("duration", "2 s")]) {
            Ok(scenario) => {
                let end = scenario.duration;
                assert_eq!(end, second * 2);
                assert!(scenario.measure.phases.iter().all(|phase| phase.from < phase.to && phase.to <= end));
                let late = scenario.events.iter().filter(|event| event.at >= end);
                assert!(late.into_iter().all(|event| matches!(event.action, Action::Join(_))), "{}", file.display());
            }
            Err(ConfigError::Invalid(problems)) => {
                for problem in problems {
                    assert_eq!(problem.key, "measure.interval", "{problem}");
                    assert!(problem.place.file.starts_with(&*file.to_string_lossy()), "{problem}");
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
}
