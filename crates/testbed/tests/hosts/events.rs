//! Stations that join, leave and change their rate during the run.

use crate::common;

#[test]
fn a_station_joins_changes_its_rate_and_leaves() {
    let Some(_turn) = common::turn_with_box() else { return };
    let rest = r#"
        [[udp]]
        name = "down"
        stations = ["sta2"]
        server = "server"
        direction = "down"
        rate = "8 Mb/s"
        start = "2 s"
        payload = "1472 bytes"
        [[event]]
        at = "2 s"
        do = "join"
        stations = ["sta2"]
        [[event]]
        at = "3 s"
        do = "rate"
        stations = ["sta2"]
        rate = "2 Mb/s"
        [[event]]
        at = "4 s"
        do = "leave"
        stations = ["sta2"]
    "#;
    let scenario = common::scenario(2, rest);
    let mut options = common::options();
    // With the box, to which each event is reported.
    options.always_box = true;
    let result = evenair_testbed::run(&scenario, &options, |_| {}).expect("runs");
    let rates = &result.series.flows[0].ip_mbps;
    eprintln!("{rates:?} {:?} {:?} {:?}", result.events, result.losses, result.invalid_because);
    assert_eq!(rates[..2], [0.0, 0.0], "absent");
    // 5.7 Mb/s by the model at 11 Mb/s, minus the second in which the address is resolved repeatedly.
    assert!(rates[2] > 2.0, "{rates:?}");
    // At 2 Mb/s the medium carries 1.6 Mb/s; first it sends a queue of 100 packets at the old rate.
    assert!(rates[3] > 1.0 && rates[3] < 3.2, "{rates:?}");
    // An event that is processed late takes effect late.
    assert!(rates[4] < 0.05 + 2.0 * common::STALL_S, "gone: {rates:?}");
    let words: Vec<_> = result.events.iter().map(|event| event.what.as_str()).filter(|what| *what != "note").collect();
    assert_eq!(words, ["join", "rate", "leave"]);
    let lost = |reason: &str| result.losses.iter().any(|loss| loss.reason == reason);
    assert!(lost("not associated") && lost("buffer full"), "{:?}", result.losses);
    assert!(result.box_faults.is_empty(), "{:?}", result.box_faults);
}
