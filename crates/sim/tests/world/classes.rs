//! Policy classes, with TCP over a medium with collisions.

use evenair_results::RunResult;
use evenair_scenario::Scenario;
use evenair_sim::run;
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{Phy, Standard, TcpShape, tcp_capacity};

const FILE: &str = include_str!("../../../../scenarios/box/b06-classes.toml");

fn result(sets: &[(&str, &str)]) -> RunResult {
    let scenario = Scenario::parse_with(FILE, "b06-classes.toml", sets).expect("a sound scenario");
    run(&scenario, |_| ()).expect("it can be simulated")
}

/// Medium time of an application as a part of the computed total, and its rate at IP level in Mb/s.
fn had(result: &RunResult, app: &str) -> (f64, f64) {
    let phy = Phy::default_for(Standard::Dot11g);
    let shape = TcpShape { data_ip: Bytes(1500), ack_ip: Bytes(52), d_milli: 2_000, rts_threshold: None };
    let flows = result.phases[0].flows.iter().filter(|flow| flow.app.starts_with(app));
    let each = flows.map(|flow| {
        let rate = phy.standard().rate(BitRate::from_bps((flow.rate_mbps * 1e6) as u64)).expect("a rate");
        (flow.ip_mbps / tcp_capacity(&phy, rate, &shape).as_mbps_f64(), flow.ip_mbps)
    });
    each.fold((0.0, 0.0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
}

fn close(got: f64, expected: f64, percent: f64) -> bool {
    (got - expected).abs() <= expected * percent / 100.0
}

#[test]
fn shares_of_the_medium_follow_the_weights_and_a_ceiling_holds() {
    let result = result(&[]);
    let [staff_down, staff_up, pupils_down, pupils_up] =
        ["staff-down", "staff-up", "pupils-down", "pupils-up"].map(|app| had(&result, app).0);
    let (staff, pupils) = (staff_down + staff_up, pupils_down + pupils_up);
    assert!(close(staff / pupils, 1.5, 3.0), "{staff} to {pupils}");
    assert!(close(staff_down / staff_up, 1.0, 3.0), "{staff_down} to {staff_up}");
    assert!(close(pupils_down / pupils_up, 1.0, 3.0), "{pupils_down} to {pupils_up}");
    let (guests, guests_mbps) = had(&result, "guests");
    assert!(close(guests_mbps, 2.0, 2.0), "{guests_mbps} Mb/s");
    assert!((0.9..1.1).contains(&(staff + pupils + guests)), "{staff} {pupils} {guests}: the medium is used");
}

#[test]
fn classes_share_twenty_to_one() {
    let result = result(&[
        ("manager.class.staff.weight", "20"),
        ("manager.class.pupils.weight", "1"),
        ("manager.class.staff.minimum", "1 %"),
    ]);
    let part = |app| had(&result, app).0;
    let (staff, pupils) = (part("staff-down") + part("staff-up"), part("pupils-down") + part("pupils-up"));
    assert!(close(staff / pupils, 20.0, 4.0), "{}", staff / pupils);
}
