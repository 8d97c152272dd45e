//! Queues in front of the medium as configured, and refused configurations.

use evenair_ap::QueueSpec;
use evenair_scenario::Scenario;
use evenair_sched::{
    AirtimeLimits, CbqConfig, ChannelTable, Config, DeliveryConfig, Estimator, HtbConfig, Mac80211Config, Sharing,
};
use evenair_units::{BitRate, Bytes, Db, Limit, Span};

/// The access point's queue, in a BSS of three stations with an upload and a download each.
fn queue(words: &str) -> Result<QueueSpec, String> {
    let text = format!(
        "version = 1\nname = \"queues\"\nduration = \"1 s\"\n\
         [[station]]\nname = \"sta\"\ncount = 3\nrate = \"11 Mb/s\"\n\
         [[server]]\nname = \"server\"\n\
         [[bulk]]\nname = \"up\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"up\"\n\
         [[bulk]]\nname = \"down\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"down\"\n\
         [radio]\nstandard = \"802.11b\"\nap_buffer = \"70 packets\"\n\
         [radio.ap_queue]\n{words}\n"
    );
    let scenario = Scenario::parse(&text, "queues.toml").map_err(|error| error.to_string())?;
    Ok(scenario.radio.ap_queue.expect("there is a queue"))
}

const HTB: &str = "discipline = \"htb\"\n";

fn class(name: &str, more: &str) -> String {
    format!("[[radio.ap_queue.class]]\nname = \"{name}\"\nrate = \"1 Mb/s\"\n{more}\n")
}

fn tree(words: &str) -> (HtbConfig, Vec<u32>) {
    let spec = queue(words).unwrap_or_else(|error| panic!("{error}"));
    let Config::Htb(config) = spec.config else { panic!("{:?} is no tree", spec.config) };
    (config, spec.class_of_app)
}

fn error(words: &str) -> String {
    queue(words).expect_err("it is wrong")
}

#[test]
fn a_class_has_the_kernels_defaults_unless_overridden() {
    let more = "ceil = \"3 Mb/s\"\nburst = \"2 kB\"\ncburst = \"4 kB\"\nquantum = \"3000 bytes\"\npriority = 7";
    let (config, _) = tree(&format!(
        "{HTB}hysteresis = true\ntick = \"10 ms\"\n{}{}",
        class("root", ""),
        class("leaf", &format!("parent = \"root\"\n{more}"))
    ));
    let [root, leaf] = &config.classes[..] else { panic!("{config:?}") };
    assert_eq!((root.parent, root.ceil, root.quantum), (None, BitRate::from_mbps(1), Bytes(12_500)));
    assert_eq!((root.burst, root.cburst, root.priority), (Bytes(1600), Bytes(1600), 0));
    assert_eq!((leaf.parent, leaf.ceil, leaf.quantum), (Some(0), BitRate::from_mbps(3), Bytes(3000)));
    assert_eq!((leaf.burst, leaf.cburst, leaf.priority), (Bytes(2000), Bytes(4000), 7));
    assert_eq!((config.default, config.hysteresis, config.tick), (1, true, Span::from_millis(10)));
    assert_eq!(*config.leaf, Config::Fifo(Limit::Packets(70)));
}

#[test]
fn an_application_belongs_to_the_first_leaf_whose_conditions_it_meets() {
    let root = class("root", "");
    let leaf = |name: &str, more: &str| class(name, &format!("parent = \"root\"\n{more}"));
    let first = leaf("first", "stations = [\"sta1\"]\ndirection = \"up\"");
    let words = [HTB, &root, &first, &leaf("second", "apps = [\"down2\", \"up\"]"), &leaf("rest", "")].concat();
    let (config, class_of_app) = tree(&words);
    assert_eq!(config.default, 3);
    // Order: up1 to up3, then down1 to down3.
    assert_eq!(class_of_app, [1, 2, 2, 3, 2, 3]);
    let (config, class_of_app) = tree(&words.replacen(HTB, &format!("{HTB}default = \"second\"\n"), 1));
    assert_eq!((config.default, class_of_app), (2, vec![1, 2, 2, 2, 2, 2]));
}

#[test]
fn impossible_trees_are_reported() {
    let root = class("root", "");
    let with = |more: &str| error(&format!("{HTB}{root}{more}"));
    assert!(error(HTB).contains("a tree of 0 classes"), "{}", error(HTB));
    assert!(with(&class("root", "")).contains("a class named \"root\" is there already"));
    assert!(with(&class("leaf", "parent = \"rot\"")).contains("is no class above this one"));
    assert!(with(&class("leaf", "ceil = \"0.5 Mb/s\"")).contains("no less than the class's rate"));
    assert!(with(&class("leaf", "priority = 8")).contains("0 to 7"));
    assert!(with(&class("leaf", "quantum = \"0 bytes\"")).contains("1 byte to 1 GB"));
    assert!(with(&class("leaf", "apps = [\"side\"]")).contains("there is no application named \"side\""));
    assert!(with(&class("leaf", "stations = [\"stb\"]")).contains("stb"));
    let inner = class("root", "stations = [\"sta1\"]") + &class("leaf", "parent = \"root\"");
    assert!(error(&format!("{HTB}{inner}")).contains("has children"));
    let default = error(&format!("{HTB}default = \"root\"\n{root}{}", class("leaf", "parent = \"root\"")));
    assert!(default.contains("is no leaf of the tree"), "{default}");
    let deep: String = (1..9).map(|n| class(&format!("c{n}"), &format!("parent = \"c{}\"", n - 1))).collect();
    assert!(error(&format!("{HTB}{}{deep}", class("c0", ""))).contains("up to 8 levels"));
    let fifo = error(&format!("discipline = \"fifo\"\n{root}"));
    assert!(fifo.contains("discipline = \"fifo\" does not use this"), "{fifo}");
    assert!(error(&format!("{HTB}quantum = \"1500 bytes\"\n{root}")).contains("does not use this"));
}

#[test]
fn whtb_has_a_tree_and_channel_estimation() {
    let config =
        |words: &str| queue(&format!("discipline = \"whtb\"\n{words}{}", class("all", ""))).map(|spec| spec.config);
    let of = |words: &str| match config(words) {
        Ok(Config::Whtb(config)) => config.estimator,
        other => panic!("{other:?}"),
    };
    assert_eq!(of(""), Estimator::Delivery(DeliveryConfig::default()));
    let written = of("estimator = \"delivery\"\ndead = \"5 %\"\npause = \"200 ms\"\n");
    assert_eq!(written, Estimator::Delivery(DeliveryConfig { dead_permille: 50, pause: Span::from_millis(200) }));
    let points = "[{ snr = \"4 dB\", goodput = \"1 Mb/s\" }, { snr = \"8.5 dB\", goodput = \"5 Mb/s\" }]";
    let point = |milli, mbps| (Db::from_milli(milli), BitRate::from_mbps(mbps));
    let table = ChannelTable::new(vec![point(4_000, 1), point(8_500, 5)]).expect("it rises");
    assert_eq!(of(&format!("estimator = \"signal\"\nchannel = {points}\n")), Estimator::Signal(table));

    let error = |words: &str| config(words).expect_err("it is wrong");
    assert!(error("estimator = \"signal\"\n").contains("no table from signal to goodput"));
    let falls = "estimator = \"signal\"\nchannel = [{ snr = \"4 dB\", goodput = \"1 Mb/s\" }, { snr = \"3 dB\", goodput = \"1 Mb/s\" }]\n";
    assert!(error(falls).contains("each snr above the last"));
    assert!(error(&format!("channel = {points}\n")).contains("only with estimator = \"signal\""));
    assert!(error("estimator = \"signal\"\npause = \"1 s\"\n").contains("only with estimator = \"delivery\""));
    assert!(error("dead = \"60 %\"\n").contains("0 % to 50 %"));
    let noisy = error(&format!("estimator = \"signal\"\nchannel = {points}\nnoise = \"-90 dBm\"\n"));
    assert!(noisy.contains("only for the manager's queue"), "{noisy}");
    let htb = self::error(&format!("{HTB}pause = \"1 s\"\n{}", class("all", "")));
    assert!(htb.contains("does not use this"), "{htb}");
}

const CBQ: &str = "discipline = \"cbq\"\n";

#[test]
fn a_class_of_cbq_has_its_part_of_the_link_and_the_configured_values() {
    let one = class(
        "one",
        "parent = \"link\"\nborrows = false\nmax_burst = 5\nmin_idle = \"3 ms\"\nquantum = \"700 bytes\"\nisolated = true\nmin_burst = 3",
    );
    let root = class("link", "").replace("1 Mb/s", "10 Mb/s");
    let two = class("two", "parent = \"link\"").replace("1 Mb/s", "4 Mb/s");
    let spec = queue(&[CBQ, &root, &one, &two].concat()).unwrap_or_else(|error| panic!("{error}"));
    let Config::Cbq(config) = spec.config else { panic!("{:?}", spec.config) };
    let [link, one, two] = &config.classes[..] else { panic!("{config:?}") };
    assert_eq!((link.parent, link.borrows, config.default, config.gain), (None, true, 2, 5));
    assert_eq!((one.quantum, one.borrows, one.min_idle), (Bytes(700), false, Some(Span::from_millis(3))));
    // Four fifths of two allotments.
    assert_eq!((two.quantum, two.borrows, two.min_idle), (Bytes(2422), true, None));
    // 8 ms and 0.8 for a packet of 1000 bytes; (32/31)^5 - 1 is 0.17206.
    let idle = one.max_idle.as_nanos() as f64 / 1e6;
    assert!((idle - 7.2 * 0.172_06).abs() < 1e-3, "{idle} ms");
    // (32/31)^2 - 1 is 0.06556, and 1 - g is 1/32.
    let extra = one.extra_delay.expect("it has a burst").as_nanos() as f64 / 1e6;
    assert!((extra - 7.2 * (1.0 + 0.065_557 * 32.0)).abs() < 1e-2, "{extra} ms");
    assert_eq!((one.isolated, two.isolated, two.extra_delay, config.sharing), (true, false, None, Sharing::TopLevel));
    let formal = queue(&[CBQ, "sharing = \"formal\"\n", &root].concat()).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(formal.config, Config::Cbq(CbqConfig { sharing: Sharing::Formal, .. })));
}

#[test]
fn keys_of_another_kind_of_tree_are_refused() {
    for (tree, key) in
        [(CBQ, "ceil = \"2 Mb/s\""), (CBQ, "burst = \"2 kB\""), (HTB, "borrows = true"), (HTB, "max_burst = 3")]
    {
        let text = error(&[tree, &class("leaf", key)].concat());
        assert!(text.contains("does not use this"), "{tree} {key}: {text}");
    }
    assert!(error(&[CBQ, "tick = \"10 ms\"\n", &class("leaf", "")].concat()).contains("does not use this"));
    assert!(error(&[CBQ, &class("leaf", "max_burst = 1001")].concat()).contains("1 to 1000 packets"));
}

#[test]
fn queues_by_station_have_the_buffers_size_above_the_drivers_queue() {
    let of = |words: &str| queue(words).unwrap_or_else(|error| panic!("{error}"));
    let limit = Limit::Packets(70);
    let fifo = of("discipline = \"station-fifo\"");
    assert_eq!((fifo.config, fifo.driver), (Config::StationFifo(limit), 1));
    let airtime = of("discipline = \"mac80211\"");
    assert_eq!(airtime.config, Config::Mac80211(Mac80211Config { limit, ..Mac80211Config::default() }));
    assert_eq!((airtime.driver, of("discipline = \"mac80211\"\ndriver = 1").driver), (2, 1));
    for key in ["quantum = \"1 kB\"", "target = \"5 ms\"", "by = \"station\"", "queues = 16"] {
        let error = error(&format!("discipline = \"mac80211\"\n{key}"));
        assert!(error.contains("mac80211"), "{error}");
    }
}

const MAC80211: &str = "discipline = \"mac80211\"\n";

fn mac80211(words: &str) -> Mac80211Config {
    let spec = queue(&format!("{MAC80211}{words}")).unwrap_or_else(|error| panic!("{error}"));
    let Config::Mac80211(config) = spec.config else { panic!("{:?}", spec.config) };
    config
}

#[test]
fn airtime_queue_limits_are_those_of_linux_unless_configured() {
    let usual = AirtimeLimits::default();
    assert_eq!((mac80211("").aql, mac80211("aql = true").aql), (Some(usual), Some(usual)));
    let total = Span::from_millis(8);
    let (low, high) = (Span::from_millis(2), Span::from_millis(4));
    let written = mac80211("aql_low = \"2 ms\"\naql_high = \"4000 us\"\naql_total = \"8 ms\"").aql;
    assert_eq!(written, Some(AirtimeLimits { low, high, total }));
    assert_eq!(mac80211("aql_total = \"8 ms\"").aql, Some(AirtimeLimits { total, ..usual }));
    assert_eq!(mac80211("aql = false").aql, None);

    let error = |words: &str| error(&format!("{MAC80211}{words}"));
    for words in ["aql_low = \"13 ms\"", "aql_high = \"4 ms\"", "aql_low = \"3 ms\"\naql_high = \"2 ms\""] {
        assert!(error(words).contains("is above aql_high of"), "{words}: {}", error(words));
    }
    let low = error("aql_high = \"4 ms\"");
    assert!(low.contains("aql_low of 5000 us is above aql_high of 4000 us"), "{low}");
    assert!(error("aql_low = \"0 s\"").contains("1 us to 10 s"));
    assert!(error("aql = false\naql_total = \"8 ms\"").contains("aql = false does not use this"));
    for words in ["aql = true", "aql_low = \"1 ms\"", "airtime_weight = [{ stations = [\"sta\"], weight = 2 }]"] {
        let other = self::error(&format!("discipline = \"fq-codel\"\n{words}"));
        assert!(other.contains("discipline = \"fq-codel\" does not use this"), "{other}");
    }
}

#[test]
fn the_mac_holds_as_many_packets_as_without_airtime_limits() {
    let driver = |radio: &str, words: &str| {
        let text = format!(
            "version = 1\nname = \"queues\"\nduration = \"1 s\"\n\
             [[station]]\nname = \"sta\"\nrate = \"54 Mb/s\"\n[[server]]\nname = \"server\"\n\
             [[bulk]]\nname = \"down\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"down\"\n\
             [radio]\nstandard = \"{radio}\"\nap_queue = {{ discipline = \"mac80211\"{words} }}\n"
        );
        let scenario = Scenario::parse(&text, "queues.toml").unwrap_or_else(|error| panic!("{error}"));
        scenario.radio.ap_queue.expect("there is a queue").driver
    };
    let without = ", aql = false";
    assert_eq!((driver("802.11g", ""), driver("802.11g", without)), (2, 2));
    assert_eq!((driver("802.11n", ""), driver("802.11n", without)), (8_192, 128));
    assert_eq!(driver("802.11n", ", aql = false, driver = 1000"), 1_000);
}

#[test]
fn weights_of_stations_are_refused_beside_a_queue_of_the_manager() {
    let weighted = "[[station]]\nname = \"heavy\"\nrate = \"11 Mb/s\"\nweight = 2";
    let with = |manager: &str| queue(&format!("discipline = \"codel\"\n{manager}\n{weighted}"));
    assert!(with("").is_ok());
    let error = with("[manager.queue]\ndiscipline = \"drr\"").expect_err("no effect");
    assert!(error.contains("station.heavy.weight: the queue discipline \"drr\" knows no weights"), "{error}");
}

#[test]
fn airtime_weights_are_of_the_stations_that_are_named() {
    let weights = |words: &str| mac80211(words).weights.into_iter().collect::<Vec<_>>();
    assert_eq!(weights(""), []);
    let two = "airtime_weight = [{ stations = [\"sta3\"], weight = 4 }, { stations = [\"sta1\"], weight = 2 }]";
    assert_eq!(weights(two), [(0, 2), (2, 4)]);
    assert_eq!(weights("airtime_weight = [{ stations = [\"sta\"], weight = 255 }]"), [(0, 255), (1, 255), (2, 255)]);

    let error = |words: &str| error(&format!("{MAC80211}airtime_weight = [{words}]"));
    assert!(error("{ stations = [\"sta\"], weight = 0 }").contains("1 to 255"));
    assert!(error("{ stations = [\"stb\"], weight = 2 }").contains("stb"));
    assert!(error("{ stations = [\"server\"], weight = 2 }").contains("server"));
    assert!(error("{ stations = [\"sta1\"] }").contains("weight"));
    let twice = error("{ stations = [\"sta\"], weight = 2 }, { stations = [\"sta2\"], weight = 3 }");
    assert!(twice.contains("station \"sta2\" has a weight already"), "{twice}");
    // A station's own queue.
    let own = format!("{MAC80211}[radio.station_queue]\n{MAC80211}{two}");
    let own = queue(&own).expect_err("it is wrong");
    assert!(own.contains("only in [radio.ap_queue]"), "{own}");
}
