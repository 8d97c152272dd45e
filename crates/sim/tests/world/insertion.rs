//! The box is inserted under load: transfers have run behind a bloated access point, and the windows of uploads have grown to
//! seconds of the medium's time.

use evenair_results::PhaseResult;
use evenair_scenario::Scenario;
use evenair_sim::run;
use evenair_workload::Direction;

fn mbps(phase: &PhaseResult, direction: Option<Direction>) -> f64 {
    let of = phase.flows.iter().filter(|flow| direction.is_none_or(|direction| flow.direction == direction));
    of.map(|flow| flow.ip_mbps).sum()
}

/// The longest mean round trip of a flow, in milliseconds.
fn round_trip(phase: &PhaseResult, direction: Direction) -> f64 {
    let of = phase.flows.iter().filter(|flow| flow.direction == direction);
    of.filter_map(|flow| flow.rtt_ms).fold(0.0, f64::max)
}

/// The uploads' standing windows take 3.4 s of the medium, of which they have a half: all has been drawn down after 3 s and 1.25
/// times what that takes, while the medium goes on carrying what it carried.
#[test]
fn the_standing_backlog_of_uploads_is_drawn_down() {
    let seconds: String = (0..14)
        .map(|s| format!("[[phase]]\nname = \"s{s}\"\nfrom = \"{} s\"\nto = \"{} s\"\n", 20 + s, 21 + s))
        .collect();
    let text = format!(
        r#"
        version = 1
        name = "insertion"
        duration = "34 s"
        [telemetry]
        stations = false
        rates = false
        [radio]
        standard = "802.11g"
        ap_buffer = "100 packets"
        [[station]]
        name = "s"
        count = 4
        rate = "54 Mb/s"
        [[station]]
        name = "t"
        count = 4
        rate = "54 Mb/s"
        [[server]]
        name = "server"
        [[bulk]]
        name = "d"
        stations = ["s"]
        server = "server"
        direction = "down"
        [[bulk]]
        name = "u"
        stations = ["t"]
        server = "server"
        direction = "up"
        [[event]]
        at = "20 s"
        do = "insert"
        [[phase]]
        name = "before"
        from = "10 s"
        to = "20 s"
        {seconds}"#
    );
    let scenario = Scenario::parse(&text, "insertion.toml").unwrap_or_else(|error| panic!("{error}"));
    let result = run(&scenario, |_| ()).expect("it runs");
    let (before, after) = result.phases.split_first().expect("there are phases");
    let total = mbps(before, None);
    for second in after {
        assert!(mbps(second, None) >= 0.8 * total, "{}: {} of {total} Mb/s", second.name, mbps(second, None));
    }
    for second in &after[6..] {
        let (up, down) = (mbps(second, Some(Direction::Up)), mbps(second, Some(Direction::Down)));
        assert!((0.9..1.1).contains(&(up / down)), "{}: {up} up, {down} Mb/s down", second.name);
    }
    assert!(round_trip(before, Direction::Up) > 1_000.0, "{} ms before", round_trip(before, Direction::Up));
    for second in &after[8..] {
        assert!(round_trip(second, Direction::Up) < 200.0, "{}: {} ms", second.name, round_trip(second, Direction::Up));
        assert!(round_trip(second, Direction::Down) < 200.0);
    }
}
