//! The default controller behind a delaying path: as much is carried as without the delay.

use evenair_results::RunResult;

use crate::site::Site;

/// Transfers of four stations; the box is bypassed for ten seconds, and then inserted.
fn site(direction: &str, path: &str) -> RunResult {
    Site::new("lag", 50)
        .seed(7)
        .radio("802.11g", "")
        .stations("s", 4, "rate = '54 Mb/s'")
        .bulk("transfer", "s", direction)
        .insert(10)
        .phase("bypassed", 3, 10)
        .phase("inserted", 20, 50)
        .with(path)
        .run()
}

/// Total goodput in Mb/s: bypassed, and inserted.
fn goodputs(result: &RunResult) -> (f64, f64) {
    let of = |phase: usize| result.phases[phase].flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>();
    (of(0), of(result.phases.len() - 1))
}

/// On paths of up to 20 ms, with jitter, and with ACKs in batches, as much is carried as without any delay. The controller
/// searches the amount in flight that this needs from the insertion on, so that the guard does not act.
#[test]
fn as_much_is_carried_with_any_delay() {
    let paths = [
        "[ap_path.up]\ndelay = '2 ms'",
        "[ap_path.up]\ndelay = '5 ms'",
        "[ap_path.down]\ndelay = '5 ms'\n[ap_path.up]\ndelay = '5 ms'",
        "[ap_path.down]\ndelay = '10 ms'\n[ap_path.up]\ndelay = '10 ms'",
        "[ap_path.up]\nbatch = '5 ms'",
        "[ap_path.up]\nbatch = '20 ms'",
        "[ap_path.up]\ndelay = '3 ms'\njitter = '4 ms'",
        "[ap_path.down]\ndelay = '5 ms'\njitter = '10 ms'",
    ];
    for direction in ["down", "up"] {
        // Uploads without a box use the medium better, since four stations contend for it then.
        let without = site(direction, "");
        let (_, usual) = goodputs(&without);
        assert_eq!(guard_events(&without), [], "{direction}");
        for path in paths {
            let result = site(direction, path);
            let (bypassed, inserted) = goodputs(&result);
            println!("{direction} {path:?}: {inserted:.2} Mb/s of {usual:.2}, bypassed {bypassed:.2}");
            assert_eq!(guard_events(&result), [], "{direction} {path:?}");
            // Where the ACKs come in long batches, as much is carried as without merged duplicates.
            let least = if path.contains("20 ms") { 0.94 } else { 0.96 };
            assert!(inserted > least * usual, "{direction} {path:?}: {inserted:.2} Mb/s of {usual:.2}");
        }
    }
}

/// The guard's actions, with their times in seconds.
fn guard_events(result: &RunResult) -> Vec<(f64, &str)> {
    let events = result.events.iter().filter(|event| event.what.starts_with("guard"));
    events.map(|event| (event.at_s, event.what.as_str())).collect()
}

/// ACKs so late that the box, which never allows as much in flight as these paths need, starves the medium: the guard bypasses it.
/// It knows the earlier throughput from copies of the bridge's packets.
#[test]
fn a_box_that_does_harm_is_bypassed() {
    for path in ["[ap_path.up]\ndelay = '3 ms'\njitter = '200 ms'", "[ap_path.up]\ndelay = '300 ms'"] {
        let result = site("up", path);
        let events = guard_events(&result);
        let bypass = events.iter().find(|(_, what)| *what == "guard: bypass").map(|(at, _)| *at);
        assert!(bypass.is_some_and(|at| at <= 20.0), "{path:?}: {events:?}");
        let (bypassed, after) = goodputs(&result);
        println!("{path:?}: {bypassed:.2} Mb/s before, {after:.2} after");
        assert!(after > 0.85 * bypassed, "{path:?}: {bypassed:.2} Mb/s before, {after:.2} after");
    }
}
