//! A scenario that is taken: a few milliseconds of it are simulated.
#![no_main]

use evenair_scenario::Scenario;
use evenair_units::Span;
use evenair_workload::Phase;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(mut scenario) = Scenario::parse(text, "fuzz.toml") {
        let length = Span::from_millis(10);
        scenario.duration = length;
        scenario.measure.interval = length;
        scenario.measure.phases = vec![Phase { name: "all".into(), from: Span::ZERO, to: length }];
        scenario.events.retain(|event| event.at < length);
        scenario.apps.iter_mut().for_each(|app| (app.start, app.stop) = (Span::ZERO, None));
        let _ = evenair_sim::run(&scenario, |_| ());
    }
});
