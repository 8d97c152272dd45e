//! Shortened scenarios of the repository.

use evenair_scenario::Scenario;
use evenair_units::Span;
use evenair_workload::Phase;

/// A whole scenario compressed to `length`, with intervals of `interval`: all its events happen, only sooner.
pub fn hurried(mut scenario: Scenario, length: Span, interval: Span) -> Scenario {
    let whole = scenario.duration.as_nanos();
    let scaled = |at: Span| {
        Span::from_nanos((u128::from(at.as_nanos()) * u128::from(length.as_nanos()) / u128::from(whole)) as u64)
    };
    scenario.duration = length;
    scenario.measure.interval = interval;
    scenario.measure.phases = vec![Phase { name: "all".into(), from: Span::ZERO, to: length }];
    scenario.events.iter_mut().for_each(|event| event.at = scaled(event.at));
    for app in &mut scenario.apps {
        app.start = scaled(app.start);
        app.stop = app.stop.map(scaled);
    }
    scenario
}
