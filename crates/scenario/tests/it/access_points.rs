//! Access points in a scenario: associations, shared media, and refused configurations.

use evenair_scenario::{Action, AirPlan, DelaySpec, Place, Scenario};
use evenair_units::{Span, Streams};

/// Access points `hall` and `yard`, and station `a` at the first and `b` at the second.
const TWO: &str = r#"version = 1
name = "two"
duration = "10 s"
[radio]
standard = "802.11g"
[[access_point]]
name = "hall"
channel = 1
[[access_point]]
name = "yard"
channel = 6
[[station]]
name = "a"
rate = "54 Mb/s"
access_point = "hall"
[[station]]
name = "b"
rate = "54 Mb/s"
access_point = "yard"
[[server]]
name = "server"
[[ping]]
name = "ping"
stations = ["a", "b"]
server = "server"
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "two.toml").map_err(|error| error.to_string())
}

fn roam(at: &str, station: &str, to: &str, more: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\ndo = \"roam\"\nstations = [\"{station}\"]\naccess_point = \"{to}\"\n{more}\n")
}

fn point(name: &str, channel: u32, more: &str) -> String {
    format!("[[access_point]]\nname = \"{name}\"\nchannel = {channel}\n{more}\n")
}

#[test]
fn without_any_there_is_one_called_ap() {
    let text = TWO.replace("access_point = \"hall\"\n", "").replace("access_point = \"yard\"\n", "");
    let (before, after) = text.split_once("[[access_point]]").expect("there are some");
    let (_, after) = after.split_once("[[station]]").expect("there is one");
    let scenario = parse(&format!("{before}[[station]]{after}")).expect("it is sound");
    let [point] = &scenario.access_points[..] else { panic!("one") };
    assert_eq!((point.name.as_str(), point.channel, scenario.domains()), ("ap", None, 1));
    let plan = AirPlan::new(&scenario);
    assert_eq!(plan.streams(&Streams::new(7)), Streams::new(7), "the streams of a run with one medium are its own");
}

#[test]
fn access_points_on_one_channel_share_a_medium_unless_in_different_areas() {
    let domains = |text: &str| -> Vec<usize> {
        parse(text).unwrap_or_else(|error| panic!("{error}")).access_points.iter().map(|point| point.domain).collect()
    };
    assert_eq!(domains(TWO), [0, 1]);
    assert_eq!(domains(&format!("{TWO}{}{}", point("roof", 6, ""), point("shed", 1, ""))), [0, 1, 1, 0]);
    let areas = format!("{TWO}{}{}", point("roof", 6, "area = \"north\""), point("shed", 6, "area = \"north\""));
    assert_eq!(domains(&areas), [0, 1, 2, 2]);
    let scenario = parse(&areas).unwrap();
    let names: Vec<_> = scenario.access_points.iter().map(|point| point.domain_name.as_str()).collect();
    assert_eq!(names, ["channel-1", "channel-6", "channel-6-north", "channel-6-north"]);
    let [first, second, third] = &AirPlan::all(&scenario)[..] else { panic!("three") };
    let counts = [first, second, third].map(|plan| (plan.access_points.len(), plan.stations.len()));
    assert_eq!(counts, [(1, 2), (1, 2), (2, 2)], "each knows all stations");
    let streams = Streams::new(1);
    assert_ne!(first.streams(&streams), second.streams(&streams));
    let alone =
        parse(&TWO.replace("channel = 1", "channel = 11").replace("\"yard\"\nchannel = 6", "\"yard\"\nchannel = 1"));
    let alone = AirPlan::all(&alone.unwrap());
    assert_eq!(alone[1].streams(&streams), first.streams(&streams), "by its name, whatever else there is");
}

#[test]
fn stations_are_at_their_access_point_and_roam() {
    let text = format!("{TWO}{}{}", roam("2 s", "a", "yard", ""), roam("4 s", "a", "hall", "gap = \"1 s\""));
    let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let Place::Station { access_point, .. } = scenario.hosts[1].place else { panic!("a station") };
    assert_eq!(access_point, 1);
    let gap = |index: usize| match scenario.events[index].action {
        Action::Roam { station: 0, access_point, gap } => (access_point, gap),
        ref other => panic!("{other:?}"),
    };
    assert_eq!((gap(0), gap(1)), ((1, Span::from_millis(50)), (0, Span::from_secs(1))));
    let at = |seconds| scenario.access_point_at(0, Span::from_secs(seconds));
    assert_eq!([at(0), at(2), at(3), at(4)], [0, 1, 1, 0]);
}

#[test]
fn impossible_access_points_are_reported_with_their_position() {
    let refused = |text: &str, words: &[&str]| {
        let error = parse(text).map(|_| ()).expect_err(text);
        assert!(words.iter().all(|word| error.contains(word)), "{words:?} in: {error}");
    };
    let with = |more: &str| format!("{TWO}{more}");
    refused(
        &TWO.replace("= \"yard\"\n[[server", "= \"yart\"\n[[server"),
        &["station.b.access_point", "did you mean \"yard\""],
    );
    refused(&TWO.replace("access_point = \"yard\"\n", ""), &["\"b\" is at none of the 2 access points", "hall, yard"]);
    refused(&with(&point("hall", 11, "")), &["an access point named \"hall\" is there already"]);
    refused(&with(&point("a", 11, "")), &["a host or group named \"a\" is there already"]);
    refused(&with(&point("a name", 11, "")), &["\"a name\""]);
    refused(&with(&point(&"x".repeat(33), 11, "")), &["1 to 32"]);
    refused(&with(&point("roof", 15, "")), &["15", "1 to 14"]);
    refused(&with(&point("roof", 4, "")), &["channel 4 overlaps with channel 1 of \"hall\"", "another area"]);
    assert!(parse(&with(&point("roof", 4, "area = \"far\""))).is_ok());
    refused(&with(&point("roof", 11, "vlan = 4095")), &["1 to 4094"]);
    refused(&with(&point("roof", 11, "position = [\"1 m\", \"2 m\"]")), &["places do not matter"]);
    let asymmetric = TWO.replace("\"802.11g\"", "\"802.11g\"\naccess = \"asymmetric\"");
    refused(&format!("{asymmetric}{}", point("roof", 6, "")), &["asymmetric", "one access point"]);
    assert!(parse(&asymmetric).is_ok(), "each has a medium of its own");
    refused(&with("[[manager.access_point]]\nname = \"hal\"\n"), &["no source would report", "hall, yard"]);
    assert!(parse(&with("[[manager.access_point]]\nname = \"x\"\naliases = [\"hall\"]\n")).is_ok());
    assert!(parse(&with("[[manager.access_point]]\nname = \"x\"\nvlan = [7]\n")).is_ok());
    refused(&with("[telemetry]\nassociations_delay = \"1 h\"\n"), &["0 to 10 min"]);
}

#[test]
fn a_roam_must_lead_to_another_access_point() {
    let refused = |more: &str, words: &str| {
        let error = parse(&format!("{TWO}{more}")).map(|_| ()).expect_err(more);
        assert!(error.contains(words), "{words:?} in: {error}");
    };
    refused(&roam("2 s", "a", "hall", ""), "station \"a\" is at \"hall\" already");
    refused(&(roam("2 s", "a", "yard", "") + &roam("3 s", "a", "yard", "")), "is at \"yard\" already");
    refused(&roam("2 s", "a", "roof", ""), "there is no access point \"roof\"");
    refused(&roam("2 s", "a", "yard", "gap = \"2 min\""), "0 to 60 s");
    refused(&roam("2 s", "a", "yard", "rate = \"6 Mb/s\""), "do = \"roam\" does not use this");
    let without = "[[event]]\nat = \"1 s\"\ndo = \"roam\"\nstations = [\"a\"]\n";
    refused(without, "do = \"roam\" without access_point");
    let leave = "[[event]]\nat = \"2 s\"\ndo = \"leave\"\nstations = [\"a\"]\n";
    refused(&format!("{leave}gap = \"1 s\"\n"), "only with do = \"roam\"");
    refused(&format!("{leave}{}", roam("3 s", "a", "yard", "")), "station \"a\" is not there");
    refused(&format!("{}{leave}", roam("1999 ms", "a", "yard", "")), "station \"a\" roams until 2.049 s");
    refused(&(roam("2 s", "a", "yard", "gap = \"1 s\"") + &roam("2500 ms", "a", "hall", "")), "roams until 3 s");
    let join = "[[event]]\nat = \"8 s\"\ndo = \"join\"\nstations = [\"a\"]\n";
    refused(&format!("{}{join}", roam("2 s", "a", "yard", "")), "station \"a\" is not there");
}

#[test]
fn a_path_has_the_common_defaults_unless_overridden() {
    let delay = |delay, jitter, batch| {
        let ms = Span::from_millis;
        DelaySpec { delay: ms(delay), jitter: ms(jitter), batch: ms(batch) }
    };
    let nothing = DelaySpec::default();
    let paths = |text: &str| -> Vec<(DelaySpec, DelaySpec)> {
        let scenario = parse(text).unwrap_or_else(|error| panic!("{error}"));
        scenario.access_points.iter().map(|point| (point.path.down, point.path.up)).collect()
    };
    assert_eq!(paths(TWO), [(nothing, nothing); 2]);
    let all = "[ap_path.up]\ndelay = \"5 ms\"\nbatch = \"2 ms\"\n[ap_path.down]\njitter = \"1 ms\"\n";
    let of_all = (delay(0, 1, 0), delay(5, 0, 2));
    assert_eq!(paths(&format!("{TWO}{all}")), [of_all; 2]);
    let own =
        TWO.replace("channel = 6\n", "channel = 6\n[access_point.path.up]\ndelay = \"9 ms\"\njitter = \"3 ms\"\n");
    assert_eq!(paths(&format!("{own}{all}")), [of_all, (delay(0, 1, 0), delay(9, 3, 2))]);
    let single = TWO.replace("access_point = \"yard\"\n", "access_point = \"hall\"\n");
    let (before, after) = single.split_once("[[access_point]]\nname = \"yard\"\nchannel = 6\n").expect("it is there");
    assert_eq!(paths(&format!("{before}{after}{all}")), [of_all]);
    let set = |key: &str, value: &str| {
        let scenario = Scenario::parse_with(TWO, "two.toml", &[(key, value)]).expect("it can be set");
        scenario.access_points.iter().map(|point| point.path.up.delay).collect::<Vec<_>>()
    };
    assert_eq!(set("ap_path.up.delay", "5 ms"), [Span::from_millis(5); 2]);
    assert_eq!(set("access_point.yard.path.up.delay", "5 ms"), [Span::ZERO, Span::from_millis(5)]);
}

#[test]
fn an_impossible_path_is_refused() {
    let refused = |more: &str| parse(&format!("{TWO}{more}")).unwrap_err();
    let long = refused("[ap_path.up]\ndelay = \"11 s\"\n");
    assert!(
        long.contains("two.toml:27:9") && long.contains("ap_path.up.delay") && long.contains("0 to 10 s"),
        "{long}"
    );
    assert!(refused("[ap_path.down]\njitter = \"11 s\"\n").contains("0 to 10 s"));
    assert!(refused("[ap_path.up]\nbatch = \"2 s\"\n").contains("0 to 1 s"));
    assert!(refused("[ap_path.up]\ndelay = \"-5 ms\"\n").contains("ap_path.up.delay"));
    assert!(refused("[ap_path.up]\ndelay = 5\n").contains("ap_path.up.delay"));
    assert!(refused("[ap_path]\ndelay = \"5 ms\"\n").contains("delay"));
    let own = TWO.replace("channel = 6\n", "channel = 6\n[access_point.path.up]\nbatch = \"1001 ms\"\n");
    assert!(parse(&own).unwrap_err().contains("0 to 1 s"));
}
