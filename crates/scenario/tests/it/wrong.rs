//! Errors of a file are reported with position, key, and expected values.

use evenair_reader::ConfigError;
use evenair_scenario::Scenario;
use proptest::prelude::*;

/// A small valid file, with a line for everything that the tests break.
const GOOD: &str = r#"version = 1
name = "good"
duration = "60 s"
seed = 1
[radio]
standard = "802.11b"
preamble = "short"
basic_rates = ["1 Mb/s", "2 Mb/s"]
rts_threshold = "500 bytes"
ap_buffer = "100 packets"
short_retry_limit = 7
[wan.down]
rate = "8 Mb/s"
delay = "150 ms"
[wan.up]
rate = "8 Mb/s"
[[station]]
name = "sta"
count = 3
rate = "11 Mb/s"
weight = 2
[[station]]
name = "slow"
rate = "1 Mb/s"
[[server]]
name = "server"
[[server]]
name = "far"
at = "wan"
[[bulk]]
name = "up"
stations = ["sta", "slow"]
server = "server"
direction = "up"
start = "1 s"
[[web]]
name = "pages"
stations = ["slow"]
server = "far"
stop = "50 s"
size_alpha = 1.1
size_mean = "20 kB"
objects_min = 1
[[udp]]
name = "call"
stations = ["sta1"]
server = "far"
direction = "down"
rate = "64 kb/s"
payload = "160 bytes"
[[ping]]
name = "echo"
stations = ["sta2"]
server = "server"
interval = "200 ms"
[tcp]
congestion_control = "cubic"
[manager]
controller.kind = "published"
levels = ["direction", "station", "flow"]
up_weight = 1
[[event]]
at = "20 s"
do = "insert"
[[event]]
at = "30 s"
do = "rate"
stations = ["slow"]
rate = "2 Mb/s"
[measure]
interval = "1 s"
[[phase]]
name = "bypassed"
from = "5 s"
to = "20 s"
[[phase]]
name = "inserted"
from = "40 s"
to = "60 s"
[[published]]
what = "app"
of = "up1"
phase = "inserted"
value = "1.2 Mb/s"
note = "made up"
"#;

fn error_of(text: &str) -> String {
    match Scenario::parse(text, "bad.toml") {
        Err(error @ ConfigError::Invalid(_)) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("this was taken:\n{text}"),
    }
}

/// The valid file with `line` replaced by `with`, and the number of that line.
fn broken(line: &str, with: &str) -> (String, usize) {
    let number = GOOD.lines().position(|l| l == line).unwrap_or_else(|| panic!("no such line: {line}"));
    let text: Vec<_> = GOOD.lines().enumerate().map(|(i, l)| if i == number { with } else { l }).collect();
    (text.join("\n"), number + 1)
}

#[test]
fn the_good_file_is_good() {
    let scenario = Scenario::parse(GOOD, "good.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.hosts.len(), 6);
    assert_eq!(scenario.apps.len(), 7);
}

/// Line to break, its replacement, the column that the message names (0: it names another line), and further parts of the
/// message.
const BROKEN: &[(&str, &str, usize, &[&str])] = &[
    ("version = 1", "version = 2", 11, &["version: 2 is out of range", "allowed: 1"]),
    ("name = \"good\"", "name = \"../evil\"", 8, &["name: ", "allowed: 1 to 80 letters"]),
    ("duration = \"60 s\"", "duration = 60", 12, &["duration: 60 has no unit", "\"20 s\""]),
    ("duration = \"60 s\"", "duration = \"0 s\"", 12, &["duration: \"0 s\" is out of range"]),
    ("duration = \"60 s\"", "duration = \"-5 s\"", 12, &["duration: \"-5 s\" is negative"]),
    ("duration = \"60 s\"", "duration = \"90 h\"", 12, &["1 ms to 24 h"]),
    ("duration = \"60 s\"", "duration = \"60 seconds\"", 12, &["\"seconds\" is not a unit known here"]),
    ("duration = \"60 s\"", "duraton = \"60 s\"", 1, &["duraton: no such key; did you mean \"duration\"?"]),
    ("seed = 1", "seed = -1", 8, &["seed: -1 is negative"]),
    ("seed = 1", "ap_buffer = \"10 packets\"", 1, &["no such key; it belongs into [radio]"]),
    (
        "standard = \"802.11b\"",
        "standard = \"802.11be\"",
        12,
        &["radio.standard: ", "\"802.11b\", \"802.11a\", \"802.11g\", \"802.11n\""],
    ),
    (
        "standard = \"802.11b\"",
        "standard = \"802.11a\"",
        0,
        &["802.11a has no short preamble", "is not a rate of 802.11a"],
    ),
    (
        "basic_rates = [\"1 Mb/s\", \"2 Mb/s\"]",
        "basic_rates = [\"1 Mb/s\", \"3 Mb/s\"]",
        26,
        &["\"3 Mb/s\" is not a rate of 802.11b"],
    ),
    ("basic_rates = [\"1 Mb/s\", \"2 Mb/s\"]", "basic_rates = []", 15, &["radio.basic_rates: the list is empty"]),
    (
        "basic_rates = [\"1 Mb/s\", \"2 Mb/s\"]",
        "basic_rates = \"1 Mb/s\"",
        15,
        &["this is a single value; allowed: a list"],
    ),
    ("ap_buffer = \"100 packets\"", "ap_buffer = 100", 13, &["radio.ap_buffer: 100 has no unit", "\"100 packets\""]),
    ("ap_buffer = \"100 packets\"", "ap_buffer = \"0 packets\"", 13, &["room for a packet of 1500 bytes"]),
    ("ap_buffer = \"100 packets\"", "ap_buffer = \"1 kB\"", 13, &["room for a packet of 1500 bytes"]),
    (
        "short_retry_limit = 7",
        "short_retry_limit = 0",
        21,
        &["radio.short_retry_limit: 0 is out of range; allowed: 1 to 255"],
    ),
    ("short_retry_limit = 7", "short_retry_limit = \"seven\"", 21, &["\"seven\" is not a whole number"]),
    ("rate = \"8 Mb/s\"", "rate = \"8 MB/s\"", 8, &["wan.down.rate: \"8 MB/s\" is in bytes per second"]),
    ("rate = \"8 Mb/s\"", "rate = \"0 Mb/s\"", 8, &["1 b/s to 100 Gb/s"]),
    ("delay = \"150 ms\"", "delay = \"150 s\"", 9, &["wan.down.delay: ", "0 to 10 s"]),
    ("delay = \"150 ms\"", "delay = \"0.1 ns\"", 9, &["finer than the smallest unit"]),
    ("name = \"sta\"", "name = \"1sta\"", 8, &["allowed: a letter, then"]),
    ("count = 3", "count = 9999", 9, &["station.sta.count: 9999 is out of range; allowed: 1 to 2000"]),
    (
        "rate = \"11 Mb/s\"",
        "rate = \"12 Mb/s\"",
        8,
        &["station.sta.rate: \"12 Mb/s\" is not a rate of 802.11b", "\"5.5 Mb/s\""],
    ),
    ("weight = 2", "weight = 0", 10, &["station.sta.weight: 0 is out of range"]),
    ("weight = 2", "class = \"gold\"", 9, &["there is no class \"gold\""]),
    ("name = \"slow\"", "name = \"sta2\"", 8, &["a host or group named \"sta2\" is there already"]),
    ("at = \"wan\"", "delay = \"9 ms\"", 9, &["only with at = \"wan\""]),
    ("at = \"wan\"", "at = \"internet\"", 6, &["allowed: \"lan\", \"wan\""]),
    (
        "stations = [\"sta\", \"slow\"]",
        "stations = [\"sta\", \"slwo\"]",
        20,
        &["there is no station \"slwo\"; did you mean \"slow\"?"],
    ),
    ("stations = [\"sta\", \"slow\"]", "stations = [\"sta\", \"sta2\"]", 20, &["\"sta2\" is in this list twice"]),
    ("stations = [\"sta\", \"slow\"]", "stations = [\"server\"]", 13, &["\"server\" is not a station"]),
    ("server = \"server\"", "server = \"slow\"", 10, &["\"slow\" is not a server; allowed: far, server"]),
    (
        "direction = \"up\"",
        "direction = \"upp\"",
        13,
        &["bulk.up.direction: \"upp\" is not known; did you mean \"up\"?"],
    ),
    ("start = \"1 s\"", "start = \"60 s\"", 9, &["bulk.up.start: ", "before the run's end at 60 s"]),
    ("stop = \"50 s\"", "stop = \"70 s\"", 8, &["up to the run's end at 60 s"]),
    ("stop = \"50 s\"", "stop = \"0 s\"", 8, &["would start at 0 s and never run"]),
    ("name = \"pages\"", "name = \"up2\"", 8, &["an application or group named \"up2\" is there already"]),
    ("size_alpha = 1.1", "size_alpha = 1", 14, &["web.pages.size_alpha: 1 is out of range"]),
    ("size_mean = \"20 kB\"", "size_mean = \"20 MB\"", 13, &["is below the mean"]),
    ("objects_min = 1", "objects_min = 7", 15, &["7 is more than objects_max, 6"]),
    ("payload = \"160 bytes\"", "payload = \"1473 bytes\"", 11, &["1 to 1472 bytes"]),
    ("interval = \"200 ms\"", "interval = \"1 us\"", 12, &["ping.echo.interval: ", "1 ms to 60 s"]),
    ("congestion_control = \"cubic\"", "congestion_control = \"Cubic; rm\"", 22, &["tcp.congestion_control: "]),
    ("congestion_control = \"cubic\"", "mss = \"2000 bytes\"", 7, &["tcp.mss: ", "88 to 1460 bytes"]),
    ("congestion_control = \"cubic\"", "window = \"0 packets\"", 10, &["tcp.window: ", "one segment to 1 GiB"]),
    ("congestion_control = \"cubic\"", "initial_window = 0", 18, &["tcp.initial_window: ", "1 to 1000"]),
    ("congestion_control = \"cubic\"", "min_rto = \"0 s\"", 11, &["tcp.min_rto: ", "1 ms to 60 s"]),
    ("congestion_control = \"cubic\"", "stack = \"bsd\"", 9, &["tcp.stack: ", "\"textbook\""]),
    ("congestion_control = \"cubic\"", "fast_recovery = \"reno\"", 17, &["only with sack = false"]),
    ("controller.kind = \"published\"", "controller.kind = \"fixed\"", 19, &["kind = \"fixed\" without rate"]),
    (
        "controller.kind = \"published\"",
        "controller.rate = \"4 Mb/s\"",
        19,
        &["manager.controller.rate: ", "kind = \"queue\" does not use this"],
    ),
    ("controller.kind = \"published\"", "controller = \"pi\"", 1, &["`controller` is now `[manager.controller] kind`"]),
    (
        "controller.kind = \"published\"",
        "service_rate = \"9 Mb/s\"",
        1,
        &["`service_rate` is now `[manager.controller] rate`"],
    ),
    (
        "levels = [\"direction\", \"station\", \"flow\"]",
        "levels = [\"flow\", \"flow\"]",
        19,
        &["\"flow\" is named twice"],
    ),
    ("up_weight = 1", "up_weight = 5000", 13, &["1 to 1000"]),
    ("at = \"20 s\"", "at = \"61 s\"", 6, &["event.1.at: \"61 s\" is out of range", "before the run's end at 60 s"]),
    ("do = \"insert\"", "do = \"bypass\"", 6, &["at 20 s the box is bypassed already"]),
    ("do = \"rate\"", "do = \"leave\"", 0, &["event.2.rate: do = \"leave\" does not use this"]),
    ("do = \"rate\"", "do = \"join\"", 0, &["before \"slow\" joins"]),
    ("rate = \"2 Mb/s\"", "", 0, &["do = \"rate\" without rate; allowed: rate = \"5.5 Mb/s\""]),
    ("interval = \"1 s\"", "interval = \"61 s\"", 12, &["up to the run's duration"]),
    ("from = \"5 s\"", "from = \"5.5 s\"", 8, &["is not at the edge of an interval; allowed: a multiple of 1 s"]),
    ("to = \"20 s\"", "to = \"4 s\"", 6, &["phase.bypassed.to: the phase ends at \"4 s\", not after its start"]),
    ("to = \"60 s\"", "to = \"70 s\"", 6, &["up to the run's end at 60 s"]),
    ("name = \"inserted\"", "name = \"bypassed\"", 8, &["a phase named \"bypassed\" is there already"]),
    ("of = \"up1\"", "of = \"up9\"", 6, &["the name of one application"]),
    ("phase = \"inserted\"", "phase = \"during\"", 9, &["allowed: bypassed, inserted"]),
    ("value = \"1.2 Mb/s\"", "value = 1.2", 9, &["1.2 has no unit"]),
    ("value = \"1.2 Mb/s\"", "value = \"1.2 s\"", 9, &["\"1.2 s\" is no rate"]),
    ("what = \"app\"", "what = \"flow.up1.ip_mbs\"", 8, &["\"flow.up1.ip_mbs\" is not known"]),
    ("what = \"app\"", "what = \"phase.before.up_ip_mbps\"", 8, &["\"before\" is no phase"]),
    ("what = \"app\"", "what = \"flow.nobody.ip_mbps\"", 8, &["\"nobody\" is no application"]),
    ("interval = \"1 s\"", "warm_up = \"2.5 s\"", 11, &["is not at the edge of an interval"]),
    ("interval = \"1 s\"", "warm_up = \"20 s\"", 11, &["leaves nothing of the phase \"bypassed\"", "less than 20 s"]),
    ("interval = \"1 s\"", "warm_up = 20", 11, &["measure.warm_up: 20 has no unit"]),
    ("[measure]", "[mesure]", 2, &["mesure: no such key; did you mean \"measure\"?"]),
];

#[test]
fn each_mistake_is_reported_with_its_place() {
    let mut missed = Vec::new();
    for &(line, with, column, wanted) in BROKEN {
        let (text, number) = broken(line, with);
        let message = error_of(&text);
        let place = (column > 0).then(|| format!("bad.toml:{number}:{column}: "));
        let wanted = wanted.iter().map(|part| (*part).to_owned()).chain(place);
        missed.extend(wanted.filter(|part| !message.contains(part)).map(|part| format!("no {part:?} in:\n{message}")));
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_message_shows_the_line_and_marks_the_mistake() {
    let (text, _) = broken("ap_buffer = \"100 packets\"", "ap_buffer = \"100\"");
    let expected = "bad.toml:10:13: radio.ap_buffer: \"100\" has no unit; \
                    allowed: \"100 packets\", \"150 kB\", or \"unlimited\"\n\
                    \x20   | ap_buffer = \"100\"\n\
                    \x20   |             ^^^^^";
    assert_eq!(error_of(&text), expected);
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = GOOD
        .replace("seed = 1", "sede = 1")
        .replace("weight = 2", "weight = 0")
        .replace("start = \"1 s\"", "start = \"1 m\"")
        .replace("do = \"insert\"", "do = \"insret\"")
        .replace("server = \"far\"", "server = \"fra\"");
    let message = error_of(&text);
    for part in ["\"seed\"", "0 is out of range", "\"m\" is not a unit", "\"insert\"", "\"far\""] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(message.matches("bad.toml:").count(), 6, "{message}");
}

#[test]
fn mistakes_beside_a_wrong_standard_or_rate_are_reported_too() {
    let text = GOOD
        .replace("short_retry_limit = 7", "ber = 2")
        .replace("up_weight = 1", "up_weight = 5000")
        .replace("rate = \"2 Mb/s\"", "rate = \"2 MB/s\"");
    let parts = ["bad.toml:11:7: radio.ber: ", "manager.up_weight: 5000 is out of range", "event.2.rate: \"2 MB/s\""];
    let wrong = [
        ("standard = \"802.11b\"", "standard = \"802.11be\"", "bad.toml:6:12: radio.standard: "),
        ("preamble = \"short\"", "preamble = \"none\"", "bad.toml:7:12: radio.preamble: "),
        ("\"2 Mb/s\"]", "\"3 Mb/s\"]", "bad.toml:8:26: radio.basic_rates"),
        ("rts_threshold = \"500 bytes\"", "carrier_sense = \"9 dB\"", "bad.toml:9:17: radio.carrier_sense: "),
    ];
    for (line, with, first) in wrong {
        let message = error_of(&text.replace(line, with));
        for part in parts.iter().chain([&first]) {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert_eq!(message.matches("bad.toml:").count(), 4, "{message}");
    }
}

#[test]
fn missing_keys_and_tables_are_reported_together() {
    let message = error_of("version = 1\n[[station]]\nname = \"a\"\n[[bulk]]\nname = \"b\"\n");
    for key in ["name", "duration", "radio", "stations", "server", "direction"] {
        assert!(message.contains(&format!("the key \"{key}\" is missing")), "{key}: {message}");
    }
    let message = error_of(&GOOD.replace("rate = \"54 Mb/s\"", "").replace("rate = \"11 Mb/s\"", ""));
    assert!(
        message.contains("the station has no rate; allowed: rate, such as \"54 Mb/s\", or mcs and streams"),
        "{message}"
    );
}

#[test]
fn a_scenario_without_hosts_is_refused() {
    let text = "version = 1\nname = \"x\"\nduration = \"1 s\"\n[radio]\nstandard = \"802.11g\"\n";
    let message = error_of(text);
    assert!(message.contains("bad.toml: there is no station; allowed: at least one [[station]]"), "{message}");
    assert!(message.contains("bad.toml: there is no application"), "{message}");
}

#[test]
fn syntax_errors_have_a_place_too() {
    let message = error_of("version = 1\nname = \"x\nduration = \"1 s\"\n");
    assert!(message.starts_with("bad.toml:2:"), "{message}");
}

#[test]
fn a_server_beyond_a_missing_link_is_refused() {
    let text: String = GOOD.replace("[wan.down]", "[lan]").replace("delay = \"150 ms\"\n[wan.up]\n", "").replacen(
        "rate = \"8 Mb/s\"\nrate = \"8 Mb/s\"\n",
        "rate = \"8 Mb/s\"\n",
        1,
    );
    assert!(error_of(&text).contains("there is no Internet link"));
}

#[test]
fn too_many_stations_in_total_are_refused() {
    let text = GOOD.replace("count = 3", "count = 2000");
    assert!(error_of(&text).contains("with this there are 2001 stations, too many; allowed: up to 2000"));
}

#[test]
fn settings_of_the_command_line_are_checked_like_the_file() {
    let with = |key, value| Scenario::parse_with(GOOD, "good.toml", &[(key, value)]);
    let scenario = with("station.slow.rate", "5.5 Mb/s").unwrap();
    assert_eq!(format!("{:?}", scenario.hosts[3].place).matches("5.5 Mb/s").count(), 1);
    assert_eq!(with("seed", "99").unwrap().seed, 99);
    assert_eq!(with("event.1.at", "25 s").unwrap().events[0].at.as_nanos(), 25_000_000_000);
    assert_eq!(with("manager.charge", "bits").unwrap().seed, 1);
    assert_eq!(with("radio.basic_rates", "[\"2 Mb/s\"]").unwrap().radio.phy.lowest_basic().to_string(), "2");

    let error = |key, value| with(key, value).unwrap_err().to_string();
    assert!(error("radio.protection", "short").contains("802.11b does not protect its frames"));
    assert_eq!(
        error("radio.ap_buffer", "50"),
        "--set radio.ap_buffer=50: 50 has no unit; allowed: \"100 packets\", \"150 kB\", or \"unlimited\""
    );
    assert!(error("radio.ap_bufer", "50 packets").contains("did you mean \"ap_buffer\"?"));
    assert!(error("station.fast.rate", "1 Mb/s").contains("\"station\" has no entry \"fast\""));
    assert!(error("station", "x").contains("this is a single value"));
    assert!(error("seed.x", "1").contains("\"seed\" is a value, not a table"));
    assert!(error("station.rate", "1 Mb/s").contains("\"station\" is a list: name the entry"));
    assert!(error("", "1").contains("no such key"));
    // A value is a single value, whatever it contains.
    assert!(error("title", "\"x\"\nseed = 5").contains("one line of up to 200 characters"));
}

#[test]
fn a_missing_entry_is_reported_with_those_that_exist() {
    let error = |key| Scenario::parse_with(GOOD, "good.toml", &[(key, "1 s")]).unwrap_err().to_string();
    assert_eq!(
        error("event.9.at"),
        "--set event.9.at=1 s: \"event\" has no entry \"9\" in good.toml; allowed: event.1, event.2"
    );
    let message = error("station.slwo.rate");
    assert!(message.ends_with("did you mean \"slow\"?; allowed: station.sta, station.slow"), "{message}");
    assert_eq!(
        error("neighbour.1.start"),
        "--set neighbour.1.start=1 s: \"neighbour\" has no entry \"1\": good.toml has no [[neighbour]]"
    );
    assert!(error("sation.slow.rate").contains("did you mean \"station\"?"));
}

#[test]
fn a_count_that_removes_a_named_station_is_reported_with_the_count_needed() {
    let with = |count| Scenario::parse_with(GOOD, "good.toml", &[("station.sta.count", count)]);
    for count in ["2", "3", "9"] {
        assert_eq!(with(count).unwrap().hosts.len(), count.parse::<usize>().unwrap() + 3, "{count}");
    }
    let error = with("1").unwrap_err().to_string();
    let place = "good.toml:53:13: ping.echo.stations.1: there is no station \"sta2\" in its group; \
                 allowed: station.sta.count = 2 or more";
    assert!(error.starts_with(place), "{error}");
    let published = GOOD.replace("what = \"app\"\nof = \"up1\"", "what = \"station\"\nof = \"sta3\"");
    let error = Scenario::parse_with(&published, "good.toml", &[("station.sta.count", "2")]).unwrap_err().to_string();
    assert!(error.contains("published.1.of: ") && error.contains("station.sta.count = 3 or more"), "{error}");
}

#[test]
fn a_file_of_the_other_kind_is_named_with_its_command() {
    let error = Scenario::parse("[ports]\nwlan = \"eth1\"\n[radio]\n", "box.toml").unwrap_err().to_string();
    assert!(error.contains("this is the configuration of a box: evenair run --config box.toml"), "{error}");
    assert!(!error.contains("missing"), "{error}");
}

/// Pieces of valid files, values of wrong kinds, and random text.
fn mutation() -> impl Strategy<Value = (usize, usize, String)> {
    let piece = prop_oneof![
        Just(String::new()),
        Just("\"".to_owned()),
        Just("[[".to_owned()),
        Just("]".to_owned()),
        Just("{".to_owned()),
        Just("=".to_owned()),
        Just("\n".to_owned()),
        Just("[[station]]\n".to_owned()),
        Just("\"99999999999999999999 s\"".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("-0".to_owned()),
        Just("nan".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("\u{fc}\u{1f4f6}".to_owned()),
        "\\PC{0,8}",
    ];
    (0..GOOD.len(), 0usize..20, piece)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn mutated_files_never_panic(mutations in prop::collection::vec(mutation(), 1..6)) {
        let mut text = GOOD.to_owned();
        for (at, length, piece) in mutations {
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                text.replace_range(at..end, &piece);
            }
        }
        if let Err(error) = Scenario::parse(&text, "fuzz.toml") {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn random_text_never_panics(text in "\\PC{0,200}", key in "[a-z.0-9]{0,20}", value in "\\PC{0,20}") {
        prop_assert!(Scenario::parse_with(&text, "fuzz.toml", &[(&key, &value)]).is_err());
        let _ = Scenario::parse_with(GOOD, "fuzz.toml", &[(&key, &value)]).map_err(|error| error.to_string());
    }
}
