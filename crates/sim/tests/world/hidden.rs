//! Stations that do not hear each other, in a scenario.

use crate::site::Site;

/// Total Mb/s of two saturated stations, and the part of failed attempts.
fn pair(radio: &str, hidden: bool) -> f64 {
    Site::new("hidden-pair", 20)
        .radio("802.11a", radio)
        .stations("sta", 2, "rate = '6 Mb/s'")
        .when(hidden, |site| site.and("hidden_from = ['sta']"))
        .udp("flood", "sta", "up", "6 Mb/s")
        .and("payload = '1472 bytes'")
        .run()
        .phases[0]
        .total_ip_mbps
}

#[test]
fn hidden_stations_collapse_and_rts_helps() {
    let [hear, hidden, with_rts] = [pair("", false), pair("", true), pair("rts_threshold = '500 bytes'", true)];
    assert!(hidden < 0.4 * hear, "{hidden} Mb/s of {hear}");
    assert!(with_rts > 0.9 * hear, "{with_rts} Mb/s of {hear}");
}

#[test]
fn stations_that_join_later_are_hidden_too() {
    let of = |hidden: &str| {
        let result = Site::new("late", 20)
            .radio("802.11a", "")
            .station("early", "rate = '6 Mb/s'")
            .station("late", "rate = '6 Mb/s'")
            .and(hidden)
            .udp("flood", "early", "up", "6 Mb/s")
            .and("payload = '1472 bytes'")
            .udp("more", "late", "up", "6 Mb/s")
            .and("start = '10 s'\npayload = '1472 bytes'")
            .event(10, "join")
            .and("stations = ['late']")
            .phase("alone", 0, 10)
            .phase("both", 10, 20)
            .run();
        [0, 1].map(|phase| result.phases[phase].total_ip_mbps)
    };
    let [hear, hidden] = [of(""), of("hidden_from = ['early']")];
    assert!((hidden[0] / hear[0] - 1.0).abs() < 0.001, "{hidden:?} {hear:?}");
    assert!(hidden[1] < 0.4 * hear[1], "{hidden:?} {hear:?}");
}
