//! Which experiments run in both engines, and their scenarios in a run of seconds.

use evenair_scenario::{Action, Scenario};
use evenair_testbed::preflight::refusals;
use evenair_units::Span;
use evenair_workload::Phase;

/// A run is shortened to this part of its duration at least.
const LEAST_PART: f64 = 1.0 / 20.0;
/// A shortened run has no more beginnings of phases, from 0 s on.
const MOST_PHASES: usize = 3;

/// The scenario with its measured phase alone, in at most `seconds`; otherwise why it is not run in both engines.
pub fn runs_in_both(scenario: &Scenario, seconds: f64) -> Result<Scenario, String> {
    let refused: Vec<_> = refusals(scenario).iter().map(ToString::to_string).collect();
    if !refused.is_empty() {
        return Err(refused.join("; "));
    }
    let phase = measured(scenario);
    let mut short = scenario.clone();
    short.measure.phases = vec![phase.clone()];
    let duration = scenario.duration.as_secs_f64();
    if duration <= seconds {
        return Ok(short);
    }
    if duration * LEAST_PART > seconds {
        return Err(format!("it takes {duration:.0} s, more than {:.0} times a run", 1.0 / LEAST_PART));
    }
    let mut begins: Vec<_> = scenario.measure.phases.iter().map(|phase| phase.from).collect();
    begins.sort_unstable();
    begins.dedup();
    if begins.len() > MOST_PHASES {
        return Err(format!("{} phases one after the other do not fit into a run", begins.len()));
    }
    shorten(&mut short, &phase, seconds);
    Ok(short)
}

/// The longest of the phases that end last; the whole run without any.
fn measured(scenario: &Scenario) -> Phase {
    let phases = scenario.measure.phases.iter();
    let last = phases.max_by_key(|phase| (phase.to, phase.to.saturating_sub(phase.from))).cloned();
    last.unwrap_or_else(|| Phase { name: "all".to_owned(), from: Span::ZERO, to: scenario.duration })
}

/// Ends the run with the measured phase, after `seconds`. The phase begins when it did, or in the middle if that is earlier; events,
/// starts and ends before it and in it keep their places in proportion, in whole intervals.
fn shorten(scenario: &mut Scenario, phase: &Phase, seconds: f64) {
    let (from, to) = (phase.from.as_secs_f64(), phase.to.as_secs_f64());
    let interval = scenario.measure.interval.as_secs_f64();
    let whole = |second: f64| Span::from_secs_f64((second / interval).round() * interval);
    let new_from = whole(from.min(seconds / 2.0)).as_secs_f64();
    let new = |at: Span| match at.as_secs_f64() {
        at if at < from => whole(at * new_from / from),
        at => whole(new_from + (at - from) * (seconds - new_from) / (to - from)),
    };
    let end = new(phase.to);
    scenario.duration = end;
    scenario.measure.phases = vec![Phase { name: phase.name.clone(), from: new(phase.from), to: end }];
    for event in &mut scenario.events {
        event.at = new(event.at);
    }
    scenario.events.retain(|event| event.at < end);
    for app in &mut scenario.apps {
        app.start = new(app.start);
        app.stop = app.stop.map(new).filter(|&stop| stop < end);
    }
    scenario.apps.retain(|app| app.start < end);
}

/// Whether the box manages in the measured phase.
pub fn has_box(scenario: &Scenario) -> bool {
    let mut before = scenario.events.iter().filter(|event| event.at <= scenario.measure.phases[0].from);
    let last = before.rfind(|event| matches!(event.action, Action::Insert | Action::Bypass));
    last.is_some_and(|event| event.action == Action::Insert)
}

#[cfg(test)]
mod tests {
    use super::super::tests::scenario;
    use super::*;

    #[test]
    fn the_box_is_inserted_before_the_measured_phase_of_a_shortened_run() {
        let short = runs_in_both(&scenario("a11"), 30.0).expect("both have it");
        assert_eq!(short.duration, Span::from_secs(30));
        let [phase] = &*short.measure.phases else { panic!("{:?}", short.measure.phases) };
        assert_eq!((&*phase.name, phase.from, phase.to), ("inserted", Span::from_secs(15), Span::from_secs(30)));
        let events: Vec<_> = short.events.iter().map(|event| (event.at, event.action == Action::Insert)).collect();
        assert_eq!(events, [(Span::from_secs(4), true)]);
        assert!(has_box(&short));
        assert!(!has_box(&runs_in_both(&scenario("a02"), 30.0).expect("both have it")));
    }

    #[test]
    fn a_run_that_is_short_enough_stays_as_it_is() {
        let whole = scenario("a11");
        let kept = runs_in_both(&whole, 110.0).expect("both have it");
        assert_eq!((kept.duration, &kept.events, &kept.apps), (whole.duration, &whole.events, &whole.apps));
        assert_eq!(kept.measure.phases, whole.measure.phases[1..]);
    }

    #[test]
    fn what_only_one_engine_has_or_takes_too_long_says_so() {
        let why = |id, seconds| runs_in_both(&scenario(id), seconds).expect_err("not in both");
        assert!(why("las01", 30.0).contains("is for the simulator only"), "{}", why("las01", 30.0));
        assert_eq!(why("a09", 30.0), "it takes 3600 s, more than 20 times a run");
        assert_eq!(why("r07", 30.0), "11 phases one after the other do not fit into a run");
    }
}
