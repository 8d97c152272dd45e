//! Configuration files of a box: their meaning, and which are refused.

use std::path::Path;

use evenair_packet::MacAddr;
use evenair_reader::read;
use evenair_units::BitRate;
use evenair_wifi::Band;

use super::*;
use crate::history::HistoryConfig;

const GOOD: &str = r#"
[ports]
wlan = "eth1"
wire = "eth0"
bridge = "br0"
[control]
socket = "/run/evenair/control.sock"
[radio]
standard = "802.11b"
[manager]
levels = ["class", "station"]
class = [{ name = "gold", weight = 4 }]
[[station]]
mac = "02:00:00:00:00:01"
rate = "5.5 Mb/s"
class = "gold"
"#;

#[test]
fn the_packaged_configuration_is_valid() {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/box.toml"));
    let config = BoxConfig::load(file).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((config.bridge.as_deref(), config.inserted), (Some("br0"), false));
}

#[test]
fn a_valid_file_is_accepted() {
    let config = BoxConfig::parse(GOOD, "box.toml").expect("good");
    assert_eq!((config.wlan.as_str(), config.bridge.as_deref(), config.inserted), ("eth1", Some("br0"), false));
    let [station] = &config.manager.stations[..] else { panic!("one station") };
    assert_eq!(station.rate.bit_rate(), BitRate::from_kbps(5_500));
    assert_eq!(station.class.map(|class| class.0), Some(0));
    assert_eq!(config.manager.held_limit, Some(14_336), "seven eighths of the pool");
}

#[test]
fn a_scenario_is_refused_as_such() {
    let text = "version = 1\nname = \"x\"\nduration = \"10 s\"\n[radio]\nstandard = \"802.11g\"\n";
    let error = BoxConfig::parse(text, "x.toml").expect_err("no box").to_string();
    assert!(error.contains("this is a scenario: evenair sim run x.toml"), "{error}");
    assert!(!error.contains("missing"), "{error}");
    let error = BoxConfig::parse(&GOOD.replace("802.11b", "Wi-Fi 7"), "box.toml").expect_err("not modelled");
    assert!(error.to_string().contains("\"Wi-Fi 7\", 802.11be, is not modelled"), "{error}");
}

#[test]
fn stations_have_names() {
    let with = |rows: &str| BoxConfig::parse(&format!("{GOOD}{rows}"), "box.toml").map_err(|error| error.to_string());
    let config = with("name = \"Anne's laptop\"\n").expect("good");
    assert_eq!(config.names, [(MacAddr([2, 0, 0, 0, 0, 1]), "Anne's laptop".to_owned())].into());
    for name in ["", " Anne", "a\\u001b[2J", "a\\u202Eb", "02:00:00:00:00:02"] {
        let error = with(&format!("name = \"{name}\"\n")).expect_err("no name");
        assert!(error.contains("box.toml:17:8") && error.contains("1 to 64 characters"), "{error}");
    }
    let two = "name = \"Anne\"\n[[station]]\nmac = \"02:00:00:00:00:02\"\nname = \"anne\"\n";
    assert!(with(two).is_err_and(|error| error.contains("box.toml:20:8") && error.contains("each name once")));
}

#[test]
fn a_weight_beside_a_queue_discipline_is_refused_unless_the_internet_link_has_one() {
    let text = GOOD.replace("levels = [\"class\", \"station\"]", "queue = { discipline = \"fq-codel\" }");
    assert!(BoxConfig::parse(&text, "box.toml").is_ok());
    let error = BoxConfig::parse(&format!("{text}weight = 2\n"), "box.toml").expect_err("no effect").to_string();
    assert!(error.contains("box.toml:17:10: station.1.weight: "), "{error}");
    assert!(
        error.contains("\"fq-codel\" knows no weights of stations; allowed: without weight, or without"),
        "{error}"
    );
    let wan = "[manager.wan]\nup = \"2 Mb/s\"\ndown = \"8 Mb/s\"\nlan = [\"10.0.0.0/8\"]\n[[station]]";
    let text = format!("{text}weight = 2\n").replace("[[station]]", wan);
    let config = BoxConfig::parse(&text, "box.toml").expect("the Internet link's queues have weights");
    assert_eq!(config.manager.stations[0].weight, 2);
}

#[test]
fn everything_wrong_is_reported_at_once_with_its_line() {
    let bad = GOOD.replace("\"5.5 Mb/s\"", "\"54 Mb/s\"").replace("class = \"gold\"", "class = \"silver\"");
    let bad = bad.replace("02:00:00:00:00:01", "02:00").replace("wire = \"eth0\"", "wire = \"eth1\"");
    let error = BoxConfig::parse(&bad, "box.toml").expect_err("bad").to_string();
    for part in [
        "box.toml:4:8",
        "the same interface",
        "\"02:00\" is not a station's MAC address",
        "\"54 Mb/s\" is not a rate of 802.11b",
        "\"11 Mb/s\"",
        "there is no class \"silver\"",
    ] {
        assert!(error.contains(part), "{part:?} is missing in:\n{error}");
    }
}

#[test]
fn mistakes_beside_a_wrong_standard_or_band_are_reported_too() {
    let bad = GOOD.replace("class = \"gold\"", "class = \"silver\"").replace("02:00:00:00:00:01", "02:00");
    let bad = bad.replace("weight = 4", "weight = 0");
    let parts = ["0 is out of range", "is not a station's MAC address", "there is no class \"silver\""];
    for (with, first) in [("\"802.11be\"", "\"802.11be\" is not"), ("\"802.11b\"\nband = \"3 GHz\"", "\"3 GHz\"")] {
        let bad = bad.replace("\"802.11b\"", with);
        let error = BoxConfig::parse(&bad, "box.toml").expect_err("bad").to_string();
        for part in parts.iter().chain([&first]) {
            assert!(error.contains(part), "{part:?} is missing in:\n{error}");
        }
        assert_eq!(error.matches("box.toml:").count(), 4, "{error}");
    }
}

#[test]
fn rates_may_be_modes_and_80211n_may_be_at_2_4_ghz() {
    let read = |standard: &str, rate: &str| {
        let text = GOOD.replace("standard = \"802.11b\"", standard).replace("5.5 Mb/s", rate);
        let text = text.replacen("[manager]\n", &format!("[manager]\ndefault_rate = \"{rate}\"\n"), 1);
        BoxConfig::parse(&text, "box.toml").map(|config| config.manager).map_err(|error| error.to_string())
    };
    let n = "standard = \"802.11n\"\nband = \"2.4 GHz\"";
    let config = read(n, "HT MCS 15, 40 MHz, GI 0.4 us").expect("good");
    let mode = config.default_rate.mode().map(|mode| mode.to_string());
    assert_eq!(mode.as_deref(), Some("HT MCS 15, 40 MHz, 2 streams, GI 0.4 us"));
    assert_eq!((config.stations[0].rate, config.phy.band()), (config.default_rate, Band::Ghz2_4));
    assert_eq!(config.check(), Ok(()));
    // The slot is that of 5 GHz, and SIFS that of 2.4 GHz, after which a signal extension follows each OFDM frame.
    assert_eq!((config.phy.sifs().as_micros(), config.phy.slot().as_micros()), (10, 9));
    let config = read("standard = \"802.11ax\"", "86 Mb/s").expect("good");
    assert_eq!((config.default_rate.to_string().as_str(), config.phy.band()), ("86", Band::Ghz5));
    assert!(config.default_rate.mode().is_some());

    let error = read(n, "VHT MCS 7").expect_err("no VHT");
    assert!(error.contains("\"VHT MCS 7\" is not a rate of 802.11n"), "{error}");
    let error = read(n, "HT MCS 3, 2 streams").expect_err("one stream");
    assert!(error.contains("means 1 stream, not 2") && error.contains("HE MCS 7"), "{error}");
    let error = read("standard = \"802.11ax\"\nband = \"2.4 GHz\"", "HE MCS 7, 80 MHz").expect_err("too wide");
    assert!(error.contains("is not a rate of 802.11ax"), "{error}");
    let error = read("standard = \"802.11ac\"\nband = \"2.4 GHz\"", "54 Mb/s").expect_err("5 GHz alone");
    assert!(error.contains("2.4 GHz") && error.contains("the standard's own band"), "{error}");
}

#[test]
fn access_points_may_be_of_several_standards() {
    let points =
        "[[manager.access_point]]\nname = \"a\"\nstandard = \"802.11a\"\n[[manager.access_point]]\nname = \"b\"\n";
    let with = |rate: &str, more: &str| {
        BoxConfig::parse(&format!("{}{points}{more}", GOOD.replace("5.5 Mb/s", rate)), "box.toml")
    };
    let config = with("54 Mb/s", "").expect("good").manager;
    let standards: Vec<_> = config.access_points.iter().map(|point| point.standard).collect();
    assert_eq!(standards, [Some(Standard::Dot11a), None]);
    assert_eq!(config.standards(), [Standard::Dot11b, Standard::Dot11a]);
    assert_eq!(config.stations[0].rate.bit_rate(), BitRate::from_mbps(54), "a rate of some access point");
    assert_eq!(config.check(), Ok(()));
    let error = with("7 Mb/s", "").expect_err("no rate").to_string();
    assert!(error.contains("\"7 Mb/s\" is not a rate of 802.11b or 802.11a"), "{error}");
    // A shard has only the access points of its domains, and rates of their standards.
    let own = config.with_access_points(|point| point.standard.is_none());
    assert_eq!((own.check(), own.stations[0].rate.bit_rate()), (Ok(()), BitRate::from_mbps(11)));
    let error = with("11 Mb/s", "standard = \"802.11x\"\n").expect_err("no standard").to_string();
    assert!(error.contains("box.toml:22:12") && error.contains("\"802.11b\", \"802.11a\""), "{error}");
    let error = with("11 Mb/s", "domain = \"a\"\nstandard = \"802.11g\"\n").expect_err("two").to_string();
    for part in
        ["box.toml:23:12", "the access point b is 802.11g, and the contention domain a is 802.11a", "another domain"]
    {
        assert!(error.contains(part), "{part:?} is missing in:\n{error}");
    }
}

#[test]
fn access_points_may_aggregate() {
    for standard in Standard::ALL {
        let text = GOOD.replace("802.11b", &standard.to_string());
        let rate = standard.rates()[0];
        let text = text.replace("5.5 Mb/s", &format!("{rate} Mb/s"));
        let config = BoxConfig::parse(&text, "box.toml").unwrap_or_else(|error| panic!("{error}")).manager;
        assert_eq!((config.standards(), config.check()), ([standard].into(), Ok(())), "{standard}");
        assert_eq!(config.stations[0].rate, rate);
    }
    // A station's rate may be a mode.
    let text = GOOD.replace("802.11b", "802.11ax");
    let config = BoxConfig::parse(&text.replace("5.5 Mb/s", "86 Mb/s"), "box.toml").unwrap().manager;
    assert_eq!(config.stations[0].rate.mode().map(|mode| mode.mcs()), Some(7));
    let error = BoxConfig::parse(&text, "box.toml").unwrap_err().to_string();
    assert!(
        error.contains("\"5.5 Mb/s\" is not a rate of 802.11ax") && error.contains("the rate of a mode"),
        "{error}"
    );
}

#[test]
fn a_file_written_by_a_program_reads_back() {
    let (file, _, _) = read::<BoxFile>(GOOD, "box.toml", &[]).expect("good");
    assert_eq!(
        BoxConfig::parse(&file.to_toml(), "again.toml").expect("good"),
        BoxConfig::parse(GOOD, "").expect("good")
    );
}

#[test]
fn the_lan_has_the_networks_of_its_interfaces() {
    let wan = "[manager.wan]\ndown = \"8 Mb/s\"\nup = \"1 Mb/s\"\n";
    let with = |text: &str| BoxConfig::parse(&format!("{text}{wan}"), "box.toml");
    // Loopback has an address on every machine; it represents a bridge here.
    let config = with(&GOOD.replace("\"br0\"", "\"lo\"")).expect("good");
    let lan = config.manager.wan.expect("a link").lan;
    assert!(lan.contains(&"127.0.0.1/8".parse().expect("a network")), "{lan:?}");
    let nowhere = GOOD.replace("\"br0\"", "\"none-9\"").replace("\"eth", "\"none-");
    let error = with(&nowhere).expect_err("no addresses").to_string();
    assert!(error.contains("which addresses are not beyond"), "{error}");
}

#[test]
fn packet_io_is_as_configured() {
    let with = |io: &str, more: &str| {
        BoxConfig::parse(&GOOD.replace("[control]", &format!("io = \"{io}\"\n[control]\n{more}")), "box.toml")
    };
    assert_eq!(BoxConfig::parse(GOOD, "box.toml").expect("good").io, Io::Auto);
    for io in Io::ALL {
        assert_eq!(with(io.word(), "").expect("good").io, io);
    }
    let error = with("dpdk", "").expect_err("refused").to_string();
    assert!(error.contains("\"af-packet\", \"af-xdp\", \"af-xdp-generic\""), "{error}");
    let shards = "socket = \"s\"\n[shards]\ncount = 2\n[[manager.access_point]]\nname = \"a\"\nvlan = [11]\n#";
    let two = |io: &str| {
        BoxConfig::parse(&GOOD.replace("[control]\n", &format!("io = \"{io}\"\n[control]\n{shards}")), "box.toml")
    };
    for io in ["auto", "af-packet"] {
        assert_eq!(two(io).expect("good").shards, 2, "{io}");
    }
    let error = two("af-xdp").expect_err("refused").to_string();
    assert!(error.contains("does not tell the packets of several shards apart"), "{error}");
}

#[test]
fn metrics_are_served_on_loopback_only() {
    let with = |listen: &str| BoxConfig::parse(&format!("{GOOD}[metrics]\nlisten = \"{listen}\"\n"), "box.toml");
    let listen = |address: &str| with(address).expect("good").metrics.map(|metrics| metrics.listen);
    assert_eq!(listen("127.0.0.1:9469"), "127.0.0.1:9469".parse().ok());
    assert_eq!(listen("[::1]:9469"), "[::1]:9469".parse().ok());
    for wrong in ["0.0.0.0:9469", "192.168.1.1:9469", "127.0.0.1", "localhost:9469"] {
        let error = with(wrong).expect_err("refused").to_string();
        assert!(error.contains("no loopback address"), "{error}");
    }
}

#[test]
fn station_labels_of_the_metrics_are_as_configured() {
    let with = |stations: &str| {
        BoxConfig::parse(&format!("{GOOD}[metrics]\nlisten = \"127.0.0.1:9469\"\n{stations}\n"), "box.toml")
    };
    let labels = |stations: &str| with(stations).expect("good").metrics.expect("it is there").stations;
    assert_eq!(labels(""), StationLabels::Names);
    for (word, right) in [
        ("names", StationLabels::Names),
        ("mac", StationLabels::Mac),
        ("hashed", StationLabels::Hashed),
        ("none", StationLabels::None),
    ] {
        assert_eq!(labels(&format!("stations = \"{word}\"")), right, "{word}");
    }
    let error = with("stations = \"hash\"").expect_err("refused").to_string();
    assert!(error.contains("\"names\", \"mac\", \"hashed\", \"none\""), "{error}");
}

#[test]
fn history_is_stored_only_if_configured() {
    let with = |keys: &str| BoxConfig::parse(&format!("{GOOD}[history]\n{keys}"), "box.toml");
    assert_eq!(BoxConfig::parse(GOOD, "box.toml").expect("good").history, None);
    let usual = with("").expect("good").history.expect("it is asked for");
    assert_eq!((usual.path.to_str(), usual.limit.0), (Some(HistoryConfig::PATH), 64_000_000));
    let history = with("path = \"/srv/h\"\ninterval = \"5 s\"\nlimit = \"1 MB\"\n").expect("good").history;
    let history = history.expect("it is asked for");
    assert_eq!(
        (history.path.to_str(), history.interval.as_nanos(), history.limit.0),
        (Some("/srv/h"), 5_000_000_000, 1_000_000)
    );
    for (wrong, right) in [
        ("path = \"history\"", "begins with /"),
        ("interval = \"0.5 s\"", "1 s to 1 h"),
        ("limit = \"10 kB\"", "64 kB to 100 GB"),
        ("file = \"/srv/h\"", "path"),
    ] {
        let error = with(wrong).expect_err("refused").to_string();
        assert!(error.contains(right), "{error}");
    }
}

#[test]
fn a_gateway_is_beside_the_ports() {
    let with = |gateway: &str, uplink: &str| {
        let router = format!("[router]\ngateway = {gateway:?}\nuplink = {uplink:?}\n");
        BoxConfig::parse(&format!("{GOOD}{router}"), "box.toml")
    };
    let router = with("gw0", "eth7").expect("good").router.expect("there is one");
    assert_eq!((router.gateway.as_str(), router.uplink.as_str()), ("gw0", "eth7"));
    for (gateway, uplink, expected) in [
        ("eth0", "eth7", "is a port of the box"),
        ("gw0", "br0", "is a port of the box or their bridge"),
        ("gw0", "gw0", "the same interface"),
    ] {
        let error = with(gateway, uplink).expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let alone = GOOD.replace("bridge = \"br0\"\n", "") + "[router]\ngateway = \"gw0\"\nuplink = \"eth7\"\n";
    let error = BoxConfig::parse(&alone, "box.toml").expect_err("refused").to_string();
    assert!(error.contains("nothing leads to the gateway"), "{error}");
}

#[test]
fn keys_of_a_scenario_only_are_refused() {
    let text = GOOD.replace("[manager]", "[manager]\nknow_rates = false\nplaces_delay = \"2 s\"");
    let error = BoxConfig::parse(&text, "box.toml").expect_err("refused").to_string();
    for part in ["box.toml:11:1", "`know_rates` is a key of scenarios", "`places_delay` is a key of scenarios"] {
        assert!(error.contains(part), "{part:?} is missing in:\n{error}");
    }
}

#[test]
fn the_initial_mode_has_the_words_of_the_status() {
    let with = |line: &str| BoxConfig::parse(&GOOD.replace("[control]", &format!("{line}\n[control]")), "box.toml");
    for (word, inserted, observing) in
        [("inserted", true, false), ("observing", false, true), ("bypassed", false, false)]
    {
        let config = with(&format!("mode = \"{word}\"")).expect("good");
        assert_eq!((config.inserted, config.observing), (inserted, observing), "{word}");
    }
    let error = |line: &str| with(line).expect_err("refused").to_string();
    let migrate = "`evenair config migrate FILE` rewrites it";
    for (line, expected) in [
        ("mode = \"insert\"", "the mode \"insert\" is now \"inserted\""),
        ("inserted = true", "`inserted` is now `[ports] mode`"),
        ("pool_packets = 64", "`pool_packets` is now `[ports] pool_frames`"),
    ] {
        let error = error(line);
        assert!(error.contains("box.toml:6:") && error.contains(expected) && error.contains(migrate), "{error}");
    }
    assert!(error("mode = \"sleep\"").contains("there is no mode \"sleep\"; allowed: \"inserted\""));
}

#[test]
fn an_unknown_key_is_refused() {
    let error = BoxConfig::parse(&GOOD.replace("bridge", "brigde"), "box.toml").expect_err("misspelt").to_string();
    assert!(error.contains("brigde") && error.contains("bridge"), "{error}");
}
