//! The box program between access point and wire.

use crate::common;

#[test]
fn uploads_starve_downloads_over_a_plain_bridge() {
    let Some(_turn) = common::turn() else { return };
    let rest = r#"
        [[bulk]]
        name = "up"
        stations = ["sta1", "sta2", "sta3", "sta4", "sta5"]
        server = "server"
        direction = "up"
        [[bulk]]
        name = "down"
        stations = ["sta6", "sta7", "sta8", "sta9", "sta10"]
        server = "server"
        direction = "down"
        [[phase]]
        name = "all"
        from = "8 s"
        to = "14 s"
    "#;
    let text = common::text(10, rest).replace(r#"duration = "5 s""#, r#"duration = "14 s""#);
    let scenario = common::parse(&text);
    let result = evenair_testbed::run(&scenario, &common::options(), |_| {}).expect("runs");
    let phase = &result.phases[0];
    eprintln!("{:?} of {} Mb/s; {:?}", phase.directions, phase.total_ip_mbps, result.lateness);
    assert!(phase.total_ip_mbps > 4.5, "{}", phase.total_ip_mbps);
    assert!(phase.directions.down_ip_mbps < 0.2 * phase.total_ip_mbps, "{:?}", phase.directions);
    assert!(result.box_counters.is_none(), "no box without need");
}

#[test]
fn the_box_is_inserted_and_bypassed_while_traffic_flows() {
    let Some(_turn) = common::turn_with_box() else { return };
    let rest = r#"
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
        [[event]]
        at = "1 s"
        do = "insert"
        [[event]]
        at = "3 s"
        do = "bypass"
        [[phase]]
        name = "inserted"
        from = "1 s"
        to = "3 s"
        [[phase]]
        name = "bypassed"
        from = "5 s"
        to = "7 s"
    "#;
    let text = common::text(2, rest).replace(r#"duration = "5 s""#, r#"duration = "7 s""#);
    let scenario = common::parse(&text);
    let mut modes = Vec::new();
    let result =
        evenair_testbed::run(&scenario, &common::options(), |progress| modes.push(progress.mode)).expect("runs");
    eprintln!("{modes:?} {:?} {:?} {:?}", result.events, result.box_counters, result.invalid_because);
    let happened = |what: &str| result.events.iter().find(|event| event.what == what).map(|event| event.at_s);
    // Immediately, or after draining for at most a second.
    assert!(happened("inserted").is_some_and(|at| (1.0..1.5).contains(&at)), "{:?}", result.events);
    assert!(happened("bypassed").is_some_and(|at| (3.0..4.5).contains(&at)), "{:?}", result.events);
    assert!(modes.contains(&evenair_api::Mode::Inserted), "{modes:?}");
    let counters = result.box_counters.expect("the box tells");
    let dropped: u64 = counters.dropped.iter().map(|drop| drop.packets).sum();
    assert!(counters.received > 300, "{counters:?}");
    assert_eq!(counters.received, counters.released + dropped + counters.held);
    assert_eq!(counters.held, 0, "bypassed and drained");
    for phase in &result.phases {
        assert!(phase.total_ip_mbps > 2.5, "{} {}", phase.name, phase.total_ip_mbps);
    }
    let rates: Vec<_> = result.phases.iter().map(|phase| phase.service_rate_mbps).collect();
    assert!(rates[0].is_some_and(|rate| rate > 3.0) && rates[1].is_none(), "{rates:?}");
}

#[test]
fn a_box_that_does_not_start_gives_a_reason() {
    let Some(_turn) = common::turn_with_box() else { return };
    let rest = r#"
        [[ping]]
        name = "ping"
        stations = ["sta"]
        server = "server"
    "#;
    let scenario = common::scenario(1, rest);
    let mut options = common::options();
    options.always_box = true;
    options.box_command = ["sh", "-c", "echo no such luck >&2; exit 3"].map(str::to_owned).to_vec();
    let error = evenair_testbed::run(&scenario, &options, |_| {}).expect_err("there is no box").to_string();
    assert!(error.contains("no such luck") && error.contains("exit status: 3"), "{error}");
}
