//! The manager's settings, read and written back.

use std::ops::Bound;

use evenair_manager::controller::{Pi, Published};
use evenair_manager::{
    BucketConfig, Charge, ClassId, CodelConfig, Config, Controller, Level, ReceiverConfig, ReleaseLimits, WanConfig,
};
use evenair_reader::{self as reader, Allowed, ConfigError};
use evenair_units::{BitRate, Limit, Span};
use evenair_wifi::{Phy, Standard, Width};

use super::controller::Intervals;
use super::internet::LinkAqmTimes;
use super::receiver::ReceiverTimes;
use super::uplink_limit::BucketDepths;
use super::*;

#[test]
fn the_internet_link() {
    let text = "[wan]\ndown = \"8 Mb/s\"\nup = \"1 Mb/s\"\nlan = [\"10.0.0.0/8\", \"fd00::/8\"]\n";
    let wan = check(text).unwrap().wan.expect("there is one");
    assert_eq!((wan.down, wan.up), (BitRate::from_kbps(7_200), BitRate::from_kbps(900)));
    assert_eq!((wan.lan.len(), wan.lan_permille, wan.aqm), (2, WanConfig::LAN_PERMILLE, WanConfig::AQM));
    let wan =
        check(&format!("{text}share = \"50 %\"\nlan_part = \"20 %\"\naqm_target = \"9 ms\"\n")).unwrap().wan.unwrap();
    assert_eq!((wan.down.as_bps(), wan.lan_permille, wan.aqm.target), (4_000_000, 200, Span::from_millis(9)));
    let error = |text: &str| check(text).unwrap_err().to_string();
    let bare = error("[wan]\n");
    assert!(["rate down", "rate up", "which addresses"].iter().all(|part| bare.contains(part)), "{bare}");
    assert!(error(&text.replace("fd00::/8", "fd00::/200")).contains("is no network"));
    assert!(error(&format!("{text}share = \"101 %\"\n")).contains("0.1 % to 100 %"));
}

#[test]
fn values_of_the_site_fill_in_missing_ones() {
    let (spec, ..) = reader::read::<ManagerSpec>("[wan]\nup = \"2 Mb/s\"\n", "box.toml", &[]).unwrap();
    let spec = spec.at_site([Some(BitRate::from_mbps(8)); 2], &["10.1.0.0/16"]);
    let written = toml::to_string(&spec).unwrap();
    let wan = check(&written).unwrap().wan.expect("there is one");
    assert_eq!((wan.down, wan.up), (BitRate::from_kbps(7_200), BitRate::from_kbps(1_800)), "{written}");
    assert_eq!(wan.lan, ["10.1.0.0/16".parse().unwrap()]);
    assert_eq!(ManagerSpec::default().at_site([None; 2], &["10.1.0.0/16"]), ManagerSpec::default());
}

fn check(text: &str) -> Result<Config, ConfigError> {
    let (spec, document, mut problems) = reader::read::<ManagerSpec>(text, "box.toml", &[])?;
    let phy = Phy::default_for(Standard::Dot11b);
    let config = spec.check(&phy, None, &mut problems);
    document.verdict(problems)?;
    Ok(config.expect("no problems, so a configuration"))
}

/// The upper bound of a range, if it is included.
fn highest<T, R: Allowed<T>>() -> Option<T> {
    match R::bounds().1 {
        Bound::Included(highest) => Some(highest),
        Bound::Excluded(_) | Bound::Unbounded => None,
    }
}

#[test]
fn the_declared_ranges_end_where_the_managers_own_do() {
    assert_eq!(highest::<_, ServiceRates>(), Some(Config::MAX_RATE));
    assert_eq!(highest::<_, FlowLimits>(), Some(Config::MAX_FLOWS));
    assert_eq!(highest::<_, ReceiverTimes>(), Some(ReceiverConfig::MAX_DELAY));
    for longest in [highest::<_, DrainLimits>(), highest::<_, Intervals>(), highest::<_, LinkAqmTimes>()] {
        assert!(longest.is_some_and(|longest| longest <= Config::MAX_SPAN));
    }
    let depth = format!("1500 bytes to {} GiB", BucketConfig::MAX_DEPTH.0 >> 30);
    assert!(BucketDepths::words().is_some_and(|words| words.starts_with(&depth)), "{depth}");
}

#[test]
fn an_empty_table_is_the_managers_own_default() {
    assert_eq!(check("").unwrap(), Config::new(Phy::default_for(Standard::Dot11b)));
}

#[test]
fn the_documented_defaults_are_the_managers_own() {
    let config = Config::new(Phy::default_for(Standard::Dot11b));
    let lines = documented(&schemars::schema_for!(ManagerSpec).to_value(), &[]);
    assert!(lines.len() >= 12 && lines.contains(&"pacing_slack = \"2 ms\"\n".to_owned()), "{lines:?}");
    assert_eq!(check(&lines.concat()).unwrap(), config, "{lines:?}");

    let schema = schemars::schema_for!(ControllerSpec).to_value();
    let of_published = ["step", "tolerance", "start"];
    for (kind, controller, others) in [
        ("queue", Controller::default(), &of_published[..]),
        ("published", Published::default().into(), &[]),
        ("pi", Pi::default().into(), &of_published),
    ] {
        let mut lines = documented(&schema, others).concat().replace("\"queue\"", &format!("\"{kind}\""));
        // Defaults that depend on the kind are described in words.
        for key in ["target", "interval"] {
            let said = schema["properties"][key]["description"].as_str().unwrap().split_once("Default: ").unwrap().1;
            let mut said = said.trim_end_matches('.').split(", ").map(|part| part.split_once(" with ").unwrap());
            let own = said.find(|(_, of)| *of == format!("\"{kind}\""));
            lines.extend(own.map(|(default, _)| format!("{key} = \"{default}\"\n")));
        }
        let text = format!("[controller]\n{lines}");
        assert_eq!(check(&text).unwrap(), Config { controller, ..config.clone() }, "{text}");
        assert_eq!(
            lines.lines().count(),
            1 + [1, 4, 2][["queue", "published", "pi"].iter().position(|k| *k == kind).unwrap()]
        );
    }
}

/// The documented defaults of a table's keys, except `others`, as lines of the table.
fn documented(schema: &serde_json::Value, others: &[&str]) -> Vec<String> {
    let line = |(key, property): (&String, &serde_json::Value)| {
        let description = property["description"].as_str()?.replace('\n', " ");
        let (_, default) = description.split_once("Default: ")?;
        // A default in words (such as the lowest basic rate) is not a value.
        let line = format!("{key} = {}\n", default.trim_end_matches('.'));
        (!others.contains(&key.as_str()) && line.parse::<toml::Table>().is_ok()).then_some(line)
    };
    schema["properties"].as_object().expect("a table has keys").iter().filter_map(line).collect()
}

#[test]
fn as_many_flows_as_the_manager_can_remember() {
    for flows in [1, 131_072, 2_000_000, Config::MAX_FLOWS] {
        assert_eq!(check(&format!("flow_limit = {flows}")).unwrap().flow_limit, flows);
    }
    for flows in ["0", "2097153", "4294967296"] {
        let error = check(&format!("flow_limit = {flows}")).unwrap_err().to_string();
        assert!(error.contains("flow_limit"), "{error}");
    }
}

#[test]
fn limits_for_experiments() {
    let limits = |text: &str| check(text).map(|config| config.release_limits);
    let usual = ReleaseLimits::default();
    assert_eq!(limits("in_flight = \"auto\"").unwrap(), usual);
    let (run, run_frames, in_flight) = (Span::from_millis(2), Some(1), Some(Span::from_micros(7_500)));
    let all = "run = \"2 ms\"\nrun_frames = 1\nin_flight = \"7.5 ms\"";
    assert_eq!(limits(all).unwrap(), ReleaseLimits { run, run_frames, in_flight });
    for (text, allowed) in [
        ("run = \"0 ms\"", "0.1 ms to 100 ms"),
        ("run_frames = 0", "1 to 1024"),
        ("in_flight = \"11 s\"", "0.1 ms to 10 s, or \"auto\""),
        ("in_flight = \"soon\"", "a time such as \"6 ms\", or \"auto\""),
    ] {
        let error = limits(text).unwrap_err().to_string();
        assert!(error.contains(allowed) && error.contains(text.split_once(' ').unwrap().0), "{error}");
    }
}

#[test]
fn classes_have_numbers_in_their_order() {
    let text = "levels = [\"class\", \"flow\"]\nother_weight = 2\n\
                [[class]]\nname = \"gold\"\nweight = 4\n[[class]]\nname = \"bronze\"\nweight = 1\n";
    let weights = vec![(ClassId(0), 4), (ClassId(1), 1)];
    assert_eq!(check(text).unwrap().policy.levels, [Level::Class { weights, other: 2 }, Level::Flow]);
    let (spec, ..) = reader::read::<ManagerSpec>(text, "box.toml", &[]).unwrap();
    assert_eq!(spec.class_id("bronze"), Some(ClassId(1)));
    assert_eq!(spec.class_id("silver"), None);

    let error = |text| check(text).unwrap_err().to_string();
    let class = "[[class]]\nname = \"gold\"\nweight = 4\n";
    let unused = format!("levels = [\"flow\"]\n{class}");
    assert!(error(&unused).contains("levels has no \"class\""));
    let Level::Class { .. } = check(class).unwrap().policy.levels[0] else { panic!("the first of the levels") };
    let twice = format!("levels = [\"class\"]\n{class}{class}");
    assert!(error(&twice).contains("box.toml:6:8: class.gold.name: a class named \"gold\" is there already"));
}

#[test]
fn a_fixed_service_rate() {
    let config = check("controller.kind = \"fixed\"\ncontroller.rate = \"4.6 Mb/s\"\ncharge = \"bits\"").unwrap();
    assert_eq!(config.controller, Controller::Fixed(BitRate::from_kbps(4_600)));
    assert_eq!(config.charge, Charge::Bits);
    let error = |text: &str| check(text).unwrap_err().to_string();
    let wrong = error("[controller]\nkind = \"fixed\"\nrate = \"0 Mb/s\"\nstep = \"1 Mb/s\"");
    assert!(wrong.contains("box.toml:3:8: controller.rate: ") && wrong.contains("above 0 b/s"), "{wrong}");
    assert!(wrong.contains("box.toml:4:8: controller.step: kind = \"fixed\" does not use this"), "{wrong}");
    let missing = error("[controller]\nkind = \"fixed\"\n");
    assert!(missing.contains("kind = \"fixed\" without rate"), "{missing}");
}

#[test]
fn controllers_and_their_keys() {
    let controller = |text: &str| check(&format!("[controller]\n{text}")).map(|config| config.controller);
    let millis = Span::from_millis;
    assert_eq!(controller("").unwrap(), Controller::default());
    assert_eq!(controller("target = \"5 ms\"").unwrap(), Controller::Queue { target: millis(5) });
    assert_eq!(controller("kind = \"none\"").unwrap(), Controller::None);
    let pi = Controller::Pi { interval: millis(20), target: millis(7) };
    assert_eq!(controller("kind = \"pi\"\ntarget = \"7 ms\"\ninterval = \"20 ms\"").unwrap(), pi);
    let error = |text: &str| controller(text).unwrap_err().to_string();
    let high = error("kind = \"published\"\nstep = \"2000000 Mb/s\"");
    assert!(high.contains("up to 1000 Gb/s"), "{high}");
    let long = "interval = \"20 s\"";
    assert!(controller(&format!("kind = \"published\"\n{long}")).is_ok());
    assert!(error(&format!("kind = \"pi\"\n{long}")).contains("10 ms to 10 s"));
    assert!(error(long).contains("only with kind = \"published\" or \"pi\""), "{}", error(long));
    assert!(error("kind = \"pie\"").contains("did you mean \"pi\"?"));
}

#[test]
fn the_management_of_queues() {
    let aqm = |target, interval| {
        Some(CodelConfig { target: Span::from_millis(target), interval: Span::from_millis(interval) })
    };
    assert_eq!(check("aqm = \"none\"").unwrap().aqm, None);
    assert_eq!(check("aqm_target = \"5 ms\"").unwrap().aqm, aqm(5, 100));
    assert_eq!(check("aqm_interval = \"10 ms\"").unwrap().aqm, aqm(10, 10));
    let error = |text| check(text).unwrap_err().to_string();
    assert!(error("aqm = \"none\"\naqm_target = \"5 ms\"").contains("aqm = \"none\" does not use this"));
    assert!(error("aqm_target = \"101 ms\"").contains("up to aqm_interval"));
    assert!(error("aqm = \"red\"").contains("\"codel\""));
}

#[test]
fn written_configurations_are_read_back() {
    let text = "controller.kind = \"published\"\ncontroller.step = \"0.2 Mb/s\"\ncontroller.tolerance = \"2.5 %\"\nlevels = [\"flow\"]\n\
                queue_limit = \"200 packets\"\n";
    let (spec, ..) = reader::read::<ManagerSpec>(text, "box.toml", &[]).unwrap();
    let written = toml::to_string(&spec).unwrap();
    let (again, ..) = reader::read::<ManagerSpec>(&written, "again.toml", &[]).unwrap();
    assert_eq!(again, spec);
}

#[test]
fn a_discipline_in_the_place_of_the_tree() {
    use evenair_sched::{Config as Discipline, LasAckConfig};
    let queue = |text: &str| check(text).unwrap().queue.expect("there is one");
    let las = queue("queue_limit = \"300 packets\"\n[queue]\ndiscipline = \"las-ack\"\n");
    let limit = Limit::Packets(300);
    assert_eq!(las.discipline, Discipline::LasAck(LasAckConfig { limit, ..LasAckConfig::default() }));
    let Discipline::FqCodel(fq) = queue("[queue]\ndiscipline = \"fq-codel\"\n").discipline else { panic!() };
    assert!(fq.codel.ecn, "the box marks");

    let tree = "[[class]]\nname = \"gold\"\nweight = 1\n[queue]\ndiscipline = \"htb\"\n\
                [[queue.class]]\nname = \"all\"\nrate = \"5 Mb/s\"\n\
                [[queue.class]]\nname = \"g\"\nparent = \"all\"\nrate = \"4 Mb/s\"\nstation_classes = [\"gold\"]\n\
                [[queue.class]]\nname = \"rest\"\nparent = \"all\"\nrate = \"1 Mb/s\"\n";
    let htb = queue(tree);
    assert_eq!((htb.leaves.len(), htb.leaves[0].leaf, htb.default_leaf), (1, 1, 2));
    assert_eq!(htb.leaves[0].classes, [ClassId(0)]);

    let error = |text: &str| check(text).unwrap_err().to_string();
    assert!(error(&tree.replace("[\"gold\"]", "[\"silver\"]")).contains("there is no class \"silver\""));
    assert!(error(&tree.replace("station_classes = [\"gold\"]", "apps = [\"x\"]")).contains("only for a queue of"));
    let of_tree = error("levels = [\"flow\"]\nsparse_first = false\n[queue]\ndiscipline = \"fifo\"\n");
    assert_eq!(of_tree.matches("takes the place of the tree").count(), 2, "{of_tree}");
    assert!(error("[queue]\ndiscipline = \"red\"\n").contains("fq-codel"));
    for word in ["station-fifo", "mac80211"] {
        let refused = error(&format!("[queue]\ndiscipline = \"{word}\"\n"));
        assert!(refused.contains(&format!("\"{word}\" is a queue of access points")), "{refused}");
    }
    assert!(error("[queue]\ndiscipline = \"fifo\"\ndriver = 3\n").contains("no MAC below"));
}

#[test]
fn a_discipline_that_knows_channels_in_the_place_of_the_tree() {
    let text = |words: &str| {
        format!("[queue]\ndiscipline = \"whtb\"\n{words}[[queue.class]]\nname = \"all\"\nrate = \"1 Mb/s\"\n")
    };
    let by_signal = "estimator = \"signal\"\nchannel = [{ snr = \"4 dB\", goodput = \"1 Mb/s\" }]\n";
    let noise = |words: &str| check(&text(words)).unwrap().queue.expect("there is one").noise;
    assert_eq!(noise(by_signal), evenair_wifi::power::noise_floor(Standard::Dot11b, Width::Mhz20));
    assert_eq!(noise(&format!("{by_signal}noise = \"-90 dBm\"\n")), evenair_units::Dbm::from_milli(-90_000));
    assert!(check(&text("")).is_ok(), "by rates");

    let error = |words: &str| check(&text(words)).unwrap_err().to_string();
    assert!(error(&format!("{by_signal}noise = \"10 dBm\"\n")).contains("-120 dBm to -30 dBm"));
    assert!(error("noise = \"-90 dBm\"\n").contains("only with estimator = \"signal\""));
    assert!(error("pause = \"1 s\"\n").contains("does not learn what became of a packet"));
    let of_fifo = check("[queue]\ndiscipline = \"fifo\"\nnoise = \"-90 dBm\"\n").unwrap_err().to_string();
    assert!(of_fifo.contains("discipline = \"fifo\" does not use this"), "{of_fifo}");
}

#[test]
fn the_guard_suspects_the_box_below_a_part() {
    let part = |text: &str| check(&format!("[guard]\n{text}")).map(|config| config.guard.suspicious_permille);
    assert_eq!(part("").unwrap(), 700);
    assert_eq!(part("suspicious_below = \"62.5 %\"").unwrap(), 625);
    for wrong in ["\"5 %\"", "\"96 %\"", "70", "\"much\""] {
        let error = part(&format!("suspicious_below = {wrong}")).unwrap_err().to_string();
        assert!(error.contains("suspicious_below") && error.contains("%"), "{error}");
    }
}
