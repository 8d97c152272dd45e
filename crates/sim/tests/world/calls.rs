//! Calls at the box: twelve have priority over a download, one more harms no other, and combinations of codecs are limited.

use evenair_results::{RunResult, scalar};
use evenair_scenario::Scenario;
use evenair_sim::run;

use crate::site::Site;

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
    // The access point sends the packets that the box marked as voice, and no others.
    let voice = of(&result, "calls12.ap.category.vo.delivered_frames");
    assert!((800.0..1_000.0).contains(&voice), "six calls of 50 packets a second in three seconds: {voice}");
}

/// Calls to separate phones beside a download, each with a codec and a second of its start. The box admits combinations of
/// codecs.
fn mixed(calls: &[(&str, u32)]) -> RunResult {
    Site::new("mixed-codecs", 30)
        .radio("802.11g", "ap_buffer = '150 kB'\nedca = true")
        .with("[manager.voice]\ncombinations = [{ g711 = 4 }, { g711 = 2, g729 = 3 }, { g729 = 4, other = 1 }]")
        .without_telemetry()
        .station("reader", "rate = '54 Mb/s'")
        .insert(0.5)
        .bulk("download", "reader", "down")
        .phase("all", 20, 30)
        .each(calls.iter().enumerate(), |site, (n, (codec, start))| {
            let phone = format!("phone{n}");
            site.station(&phone, "rate = '54 Mb/s'").app(
                "voip",
                &format!("call{n}"),
                &phone,
                &format!("codec = '{codec}'\nstart = '{start} s'"),
            )
        })
        .run()
}

/// Phones whose calls were admitted or refused, as `what` says, in the order of time.
fn phones<'a>(result: &'a RunResult, what: &str) -> Vec<&'a str> {
    result.events.iter().filter(|event| event.what == what).map(|event| event.detail.as_str()).collect()
}

#[test]
fn codecs_are_admitted_in_the_combinations_that_the_wlan_carries() {
    // Two and three is a corner: no call of any codec can be added. With the second call of G.711 the first one of G.729
    // still fits the second row.
    let corner =
        [("g711", 2), ("g711", 3), ("g729", 4), ("g711", 5), ("g729", 6), ("g729", 7), ("g729", 8), ("opus", 9)];
    let result = mixed(&corner);
    assert_eq!(phones(&result, "call admitted"), ["phone0", "phone1", "phone2", "phone4", "phone5"]);
    assert_eq!(phones(&result, "call refused"), ["phone3", "phone6", "phone7"]);
    for n in [0, 1, 2, 4, 5] {
        for call in [format!("call{n}-up"), format!("call{n}-down")] {
            // Without loss and delay: 93.2 with G.711, 82.2 with G.729.
            let r = of(&result, &format!("all.call.{call}.r_factor"));
            assert!(r >= 75.0, "{call}: R {r}");
        }
    }
    // Another row: after G.729 and Opus a call of G.711 does not fit, and one more of G.729 does.
    let result = mixed(&[("g729", 2), ("opus", 3), ("g711", 4), ("g729", 5)]);
    assert_eq!(phones(&result, "call admitted"), ["phone0", "phone1", "phone3"]);
    assert_eq!(phones(&result, "call refused"), ["phone2"]);
}
