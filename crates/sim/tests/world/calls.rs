//! Calls at the box: twelve go first beside a download, and one more harms nobody.

use evenair_results::{RunResult, scalar};
use evenair_scenario::Scenario;
use evenair_sim::run;

const FILE: &str = include_str!("../../../../scenarios/box/b05-calls.toml");

fn result(sets: &[(&str, &str)]) -> RunResult {
    let scenario = Scenario::parse_with(FILE, "b05-calls.toml", sets).expect("a sound scenario");
    run(&scenario, |_| ()).expect("it can be simulated")
}

fn of(result: &RunResult, name: &str) -> f64 {
    scalar(result, &format!("phase.{name}")).unwrap_or_else(|| panic!("there is no {name}"))
}

fn notes(result: &RunResult, what: &str) -> usize {
    result.events.iter().filter(|event| event.what == what).count()
}

#[test]
fn admitted_calls_keep_their_quality_and_one_more_harms_nobody() {
    let result = result(&[]);
    assert_eq!((notes(&result, "call admitted"), notes(&result, "call refused")), (12, 1));
    for phase in ["calls12", "calls13"] {
        for call in (1..=12).flat_map(|n| [format!("up{n}"), format!("down{n}")]) {
            let r = of(&result, &format!("{phase}.call.{call}.r_factor"));
            let lost = of(&result, &format!("{phase}.call.{call}.loss_rate"));
            assert!(r >= 80.0 && lost < 0.01, "{call} in {phase}: R {r}, loss {lost}");
        }
    }
    let download = |phase: &str| of(&result, &format!("{phase}.flow.download.ip_mbps"));
    let (before, with_one_more) = (download("calls12"), download("calls13"));
    assert!(with_one_more > before * 0.96, "{before} Mb/s with 12 calls, {with_one_more} with one more");
    assert!(before > 0.5 * download("calls0"), "half of the medium is left to all else");
}

#[test]
fn calls_are_found_without_marks_and_marked_for_the_access_point() {
    let sets = [("voip.down.dscp", "DF"), ("manager.voice.calls", "6")];
    let result = result(&sets);
    assert_eq!((notes(&result, "call admitted"), notes(&result, "call refused")), (6, 7));
    // What the box marked was sent as voice by the access point, and the rest was not.
    let voice = of(&result, "calls12.ap.category.vo.delivered_frames");
    assert!((800.0..1_000.0).contains(&voice), "six calls of 50 packets a second in three seconds: {voice}");
}
