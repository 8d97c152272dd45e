//! Positions, signals, losses and rates as configured, and refused configurations.

use evenair_medium::{AfterCollision, Interference, MediumConfig, RateControl};
use evenair_scenario::{AirPlan, Scenario};
use evenair_units::{BitRate, Db, Dbm};
use evenair_wifi::Position;

/// Two stations `a1` and `a2`, and `b`, with additional lines for them and for the radio.
fn scenario(radio: &str, a: &str, b: &str) -> Result<Scenario, String> {
    let text = format!(
        "version = 1\nname = \"radio\"\nduration = \"1 s\"\n\
         [[station]]\nname = \"a\"\ncount = 2\nrate = \"11 Mb/s\"\n{a}\n\
         [[station]]\nname = \"b\"\nrate = \"2 Mb/s\"\n{b}\n\
         [[server]]\nname = \"server\"\n\
         [[ping]]\nname = \"ping\"\nstations = [\"a\", \"b\"]\nserver = \"server\"\n\
         [radio]\nstandard = \"802.11b\"\n{radio}\n"
    );
    Scenario::parse(&text, "radio.toml").map_err(|error| error.to_string())
}

fn plan(radio: &str, a: &str, b: &str) -> AirPlan {
    AirPlan::new(&scenario(radio, a, b).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn the_default_is_the_standard_without_errors_or_positions() {
    let plan = plan("", "", "");
    assert_eq!(plan.medium.after_collision, AfterCollision::Eifs);
    assert_eq!((plan.medium.rate_control, plan.medium.reception), (RateControl::Fixed, Default::default()));
    assert_eq!((plan.medium.phy.cw_min(), plan.medium.phy.cw_max()), (31, 1023));
    assert!(
        plan.access_points[0].node.antenna.is_none()
            && plan.stations.iter().all(|station| station.node.antenna.is_none())
    );
}

#[test]
fn layouts_positions_and_powers_reach_the_nodes() {
    let radio =
        "tx_power = \"20 dBm\"\nap_position = [\"1 m\", \"0 m\"]\n[radio.layout]\nshape = \"line\"\nspacing = \"2 m\"";
    let plan = plan(radio, "", "position = [\"-3.5 m\", \"4 m\"]\ntx_power = \"10 dBm\"");
    let antennas: Vec<_> = plan.stations.iter().map(|station| station.node.antenna.unwrap()).collect();
    let place = |x_mm, y_mm| Position { x_mm, y_mm };
    assert_eq!(
        antennas.iter().map(|a| a.position).collect::<Vec<_>>(),
        [place(3_000, 0), place(5_000, 0), place(-3_500, 4_000)]
    );
    assert_eq!(antennas.iter().map(|a| a.power.as_milli()).collect::<Vec<_>>(), [20_000, 20_000, 10_000]);
    assert_eq!(plan.access_points[0].node.antenna.unwrap().position, place(1_000, 0));
    assert_eq!(plan.access_points[0].node.antenna.unwrap().power, Dbm::from_milli(20_000));
    assert!(plan.medium.reception.noise && plan.medium.reception.path_loss.is_some());
}

#[test]
fn stations_out_of_reach_of_each_other_are_hidden() {
    // The two of the group are at 44 and 88 m on a line, the third at the origin; the range is 87 m.
    let line = "layout = { shape = \"line\", spacing = \"44 m\" }";
    let hidden = |radio: &str, b: &str| -> Vec<Vec<usize>> {
        plan(radio, "", b).stations.into_iter().map(|station| station.hidden_from).collect()
    };
    let at_origin = "position = [\"0 m\", \"0 m\"]";
    assert_eq!(hidden(line, at_origin), [vec![], vec![2], vec![1]]);
    assert_eq!(hidden(&format!("carrier_sense = \"-83 dBm\"\n{line}"), at_origin), vec![Vec::<usize>::new(); 3]);
    let weak = format!("{at_origin}\ntx_power = \"0 dBm\"\nhidden_from = [\"a2\"]");
    assert_eq!(hidden(line, &weak), [vec![2], vec![2], vec![1, 0]]);
}

#[test]
fn random_places_follow_from_the_seed() {
    let of = |seed| {
        let mut scenario = scenario("layout = { shape = \"near-random\" }", "", "").unwrap();
        scenario.seed = seed;
        AirPlan::new(&scenario).stations
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn losses_and_signals_are_those_of_their_stations() {
    let plan =
        plan("ber = 1e-6\nrate_control = \"arf\"\ncw_min = 22\ncw_max = 22", "loss = \"0.5 %\"", "snr = \"12.5 dB\"");
    let of: Vec<_> = plan.stations.iter().map(|station| (station.loss_per_billion, station.snr)).collect();
    assert_eq!(of, [(5_000_000, None), (5_000_000, None), (0, Some(Db::from_milli(12_500)))]);
    assert_eq!(plan.medium.reception.ber.as_f64(), 1e-6);
    assert_eq!(plan.medium.rate_control, RateControl::Arf);
    assert_eq!((plan.medium.phy.cw_min(), plan.medium.phy.cw_max()), (22, 22));
    assert!(plan.medium.reception.path_loss.is_none());
}

#[test]
fn a_profile_sets_defaults_and_keys_override_it() {
    let layout = "\n[radio.layout]\nshape = \"line\"";
    let of = |radio: &str| plan(&format!("{radio}{layout}"), "", "").medium;
    let ns2 = of("profile = \"ns-2\"");
    let capture = ns2.reception.capture.unwrap();
    assert_eq!((ns2.after_collision, capture.threshold), (AfterCollision::EifsThenDifs, Db::from_milli(10_000)));
    assert_eq!(capture.over, Interference::Strongest);
    let basic = |plan: &MediumConfig| plan.phy.control_rate(plan.phy.standard().rates()[3]).bit_rate();
    assert_eq!(basic(&ns2), BitRate::from_bps(1_000_000), "the lowest alone");
    assert_eq!(basic(&of("profile = \"ns-2\"\nbasic_rates = [\"2 Mb/s\"]")), BitRate::from_bps(2_000_000));
    let ns3 = of("profile = \"ns-3\"\nrate_control = \"aarf\"");
    assert_eq!((ns3.after_collision, ns3.long_retry_limit), (AfterCollision::Difs, 7));
    assert!(ns3.idle_before_ack && !ns2.idle_before_ack);
    assert_eq!(ns3.rate_control, RateControl::Aarf { most: 60 });
    let own = of("profile = \"ns-3\"\nafter_collision = \"eifs\"\nlong_retry_limit = 3\ncapture_threshold = \"off\"");
    assert_eq!((own.after_collision, own.long_retry_limit, own.reception.capture), (AfterCollision::Eifs, 3, None));
    let other = of("profile = \"ns-2\"\ncapture_threshold = \"6 dB\"").reception.capture.unwrap();
    assert_eq!((other.threshold, other.over), (Db::from_milli(6_000), Interference::Strongest));
    assert_eq!(plan("profile = \"ns-2\"", "", "").medium.reception.capture, None, "no signal is known");
}

#[test]
fn impossible_radios_are_reported_with_their_position() {
    let wrong = |radio: &str, a: &str, b: &str, expected: &str| {
        let error = scenario(radio, a, b).expect_err(expected);
        assert!(error.contains(expected), "{error}\ninstead of: {expected}");
    };
    wrong("ber = 1.0", "", "", "radio.ber: 1 is out of range; allowed: a probability below 1");
    wrong("ber = -1e-6", "", "", "radio.ber");
    wrong("cw_min = 63\ncw_max = 31", "", "", "radio.cw_max: cw_min 63 is above cw_max 31");
    wrong("cw_min = 2000", "", "", "radio.cw_min: cw_min 2000 is above cw_max 1023");
    wrong("cw_max = 40000", "", "", "allowed: 0 to 32767");
    wrong("profile = \"ns2\"", "", "", "did you mean \"ns-2\"?");
    wrong("ofdm_decisions = \"hard\"", "", "", "receivers of 802.11b have no hard decisions; allowed: \"soft\"");
    wrong("rate_control = \"sample\"", "", "", "\"minstrel\"");
    wrong("capture_threshold = \"10 dB\"", "", "", "radio.capture_threshold: no signal is known");
    wrong("capture_threshold = \"-1 dB\"", "", "snr = \"3 dB\"", "\"-1 dB\" is negative");
    wrong("path_loss_exponent = 2.5", "", "", "radio.path_loss_exponent: no signal is known");
    wrong("path_loss_exponent = 0.0\nlayout = { shape = \"point\" }", "", "", "allowed: 1 to 8");
    wrong("carrier_sense = \"10 dBm\"", "", "", "allowed: -150 dBm to 0 dBm");
    wrong("tx_power = \"60 dBm\"", "", "", "allowed: -30 dBm to 36 dBm");
    wrong("tx_power = \"0.1 W\"", "", "", "\"W\" is not a unit known here");
    wrong("layout = { shape = \"ring\" }", "", "", "\"circle\", \"line\"");
    wrong("layout = { shape = \"line\", radius = \"3 m\" }", "", "", "shape = \"line\" does not use this");
    wrong("layout = { shape = \"circle\", radius = \"0 m\" }", "", "", "above 0 and up to 100 km");
    wrong("layout = { shape = \"circle\", radius = \"-5 m\" }", "", "", "above 0 and up to 100 km");
    wrong("ap_position = [\"1 m\"]", "", "", "1 coordinates");
    wrong("", "position = [\"1 m\", \"2 m\"]", "", "\"b\" has no position, and others have");
    wrong("", "position = [\"1 m\", \"2000000 km\"]", "position = [\"0 m\", \"0 m\"]", "-100 km to 100 km");
    wrong("", "tx_power = \"10 dBm\"", "", "without places, power has no effect");
    wrong("", "loss = \"101 %\"", "", "allowed: 0 % to 100 %");
    wrong("", "", "snr = \"900 dB\"", "allowed: -100 dB to 200 dB");
}
