//! Traffic of applications: valid files are converted as written, and errors are reported with their position.

use std::fs;

use evenair_scenario::{AppKind, Scenario};
use evenair_units::{Bytes, Span};
use evenair_workload::{DatagramSpec, Direction, Distribution, Spacing, Spread};

/// A scenario with these tables of applications.
fn scenario(apps: &str) -> String {
    format!(
        "version = 1\nname = \"traffic\"\nduration = \"60 s\"\n[radio]\nstandard = \"802.11b\"\n\
         [[station]]\nname = \"sta\"\ncount = 3\nrate = \"11 Mb/s\"\n[[server]]\nname = \"server\"\n{apps}"
    )
}

/// Keys of every application.
const COMMON: &str = "name = \"app\"\nstations = [\"sta\"]\nserver = \"server\"\n";

fn kind(table: &str, lines: &str) -> AppKind {
    let text = scenario(&format!("[[{table}]]\n{COMMON}{lines}"));
    let scenario = Scenario::parse(&text, "good.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.apps.len(), 3);
    scenario.apps[0].kind.clone()
}

fn datagrams(lines: &str) -> DatagramSpec {
    match kind("udp", &format!("direction = \"up\"\n{lines}")) {
        AppKind::Udp(spec) => spec,
        other => panic!("{other:?}"),
    }
}

#[test]
fn datagrams_are_spaced_as_written() {
    let gap = Span::from_millis(20);
    let plain = datagrams("rate = \"64 kb/s\"\npayload = \"160 bytes\"\n");
    assert_eq!(plain, DatagramSpec { spacing: Spacing::Regular { gap }, payload: Bytes(160), bursts: None });
    let noisy = datagrams("packet_rate = \"50 /s\"\nnoise = \"10 %\"\n");
    assert_eq!(noisy.spacing, Spacing::Noisy { gap, most: Span::from_millis(2) });
    assert_eq!(datagrams("packet_rate = \"50 /s\"\narrivals = \"poisson\"\n").spacing, Spacing::Poisson { gap });
    let video = "frame_interval = \"40 ms\"\n[udp.frame]\ndistribution = \"uniform\"\nmin = \"1 kB\"\nmax = \"9 kB\"\n";
    let size = Distribution::Uniform { min: 1e3, max: 9e3 };
    assert_eq!(datagrams(video).spacing, Spacing::Frames { interval: Span::from_millis(40), size });
    let bursts = "rate = \"1 Mb/s\"\non = { distribution = \"pareto\", alpha = 1.5, min = \"100 ms\" }\n\
                  off = { distribution = \"exponential\", mean = \"2 s\" }\n";
    let bursts = datagrams(bursts).bursts.expect("it has them");
    assert_eq!(bursts.on, Distribution::Pareto { alpha: 1.5, min: 1e8, max: None });
    assert_eq!(bursts.off, Distribution::Exponential { min: 0.0, excess: 2e9, max: None });
}

/// The distribution of a `[udp.frame]` with these keys.
fn frame(keys: &str) -> Distribution {
    match datagrams(&format!("frame_interval = \"40 ms\"\nframe = {{ {keys} }}\n")).spacing {
        Spacing::Frames { size, .. } => size,
        other => panic!("{other:?}"),
    }
}

#[test]
fn distributions_are_as_written() {
    assert_eq!(frame("mean = \"2 kB\""), Distribution::Constant(2000.0));
    assert_eq!(
        frame("distribution = \"exponential\", mean = \"60 kB\", min = \"9 kB\", max = \"1 MB\""),
        Distribution::Exponential { min: 9e3, excess: 51e3, max: Some(1e6) }
    );
    assert_eq!(
        frame("distribution = \"pareto\", mean = \"20 kB\", alpha = 2"),
        Distribution::Pareto { alpha: 2.0, min: 1e4, max: None }
    );
    assert_eq!(
        frame("distribution = \"bounded-pareto\", alpha = 1.05, min = \"9 kB\", max = \"1 MB\""),
        Distribution::BoundedPareto { alpha: 1.05, min: 9e3, max: 1e6 }
    );
    let by_mean = frame("distribution = \"bounded-pareto\", mean = \"60 kB\", min = \"9 kB\", max = \"1 MB\"");
    assert!((by_mean.mean() - 60e3).abs() < 1.0, "{by_mean:?}");
    let lognormal = frame("distribution = \"lognormal\", mean = \"8 kB\", deviation = \"4 kB\"");
    assert!((lognormal.mean() - 8e3).abs() < 1e-6, "{lognormal:?}");
    assert_eq!(
        frame("distribution = \"empirical\", values = [\"1 kB\", \"5 kB\"]"),
        Distribution::Values(vec![1e3, 5e3])
    );
    assert_eq!(
        frame("distribution = \"empirical\", values = [\"1 kB\", \"5 kB\"], cdf = [0.4, 1]"),
        Distribution::Cdf(vec![(1e3, 0.4), (5e3, 1.0)])
    );
}

#[test]
fn values_are_read_from_a_file_beside_the_scenario() {
    let folder = tempfile::tempdir().expect("a folder");
    let load = |content: &str| {
        fs::write(folder.path().join("sizes.csv"), content).expect("written");
        let frame = "frame_interval = \"1 s\"\nframe = { distribution = \"empirical\", file = \"sizes.csv\" }\n";
        let path = folder.path().join("scenario.toml");
        fs::write(&path, scenario(&format!("[[udp]]\n{COMMON}direction = \"up\"\n{frame}"))).expect("written");
        Scenario::load(&path).map(|scenario| match &scenario.apps[0].kind {
            AppKind::Udp(DatagramSpec { spacing: Spacing::Frames { size, .. }, .. }) => size.clone(),
            other => panic!("{other:?}"),
        })
    };
    let points = load("# bytes, probability\n100, 0.5\n\n2000,1\n").expect("sound");
    assert_eq!(points, Distribution::Cdf(vec![(100.0, 0.5), (2000.0, 1.0)]));
    assert_eq!(load("100\n200\n").expect("sound"), Distribution::Values(vec![100.0, 200.0]));
    for (content, wanted) in [
        ("", "has no values"),
        ("100, 0.5\n200\n", "for some of its values only"),
        ("100\nmany\n", "sizes.csv:2: \"many\" is no such line"),
        ("100, 0.5\n200, 0.9\n", "no cumulative distribution"),
        ("0\n", "1 byte to 10 MB"),
    ] {
        let error = load(content).expect_err(content).to_string();
        assert!(error.contains(wanted) && error.contains("frame.file"), "{content:?}: {error}");
    }
}

#[test]
fn arrivals_are_spread_over_their_stations() {
    let flows =
        |lines: &str| match kind("flows", &format!("direction = \"down\"\nsize = {{ mean = \"50 kB\" }}\n{lines}")) {
            AppKind::Flows(spec) => spec,
            other => panic!("{other:?}"),
        };
    let by_load = flows("load = \"4 Mb/s\"\nstart = \"10 s\"\nuntil = \"30 s\"\n");
    assert_eq!((by_load.gap, by_load.poisson, by_load.spread), (Span::from_millis(100), true, Spread::Random));
    assert_eq!((by_load.first, by_load.members, by_load.until), (0, 3, Some(20_000_000_000)));
    let regular = flows("rate = \"8 /s\"\narrivals = \"regular\"\nspread = \"round-robin\"\ncount = 120\nlimit = 7\n");
    assert_eq!((regular.gap, regular.poisson, regular.spread), (Span::from_millis(125), false, Spread::RoundRobin));
    assert_eq!((regular.count, regular.limit, regular.until), (Some(120), 7, None));
}

#[test]
fn a_call_is_an_application_for_each_direction() {
    let text = scenario(&format!("[[voip]]\n{COMMON}codec = \"g729\"\nframe = \"40 ms\"\nsuppress_silence = true\n"));
    let scenario = Scenario::parse(&text, "good.toml").unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<_> = scenario.apps.iter().map(|app| (app.name.as_str(), app.direction)).collect();
    let ways = [("up", Direction::Up), ("down", Direction::Down)];
    let expected = ways.map(|(way, direction)| (1..=3).map(move |k| (format!("app-{way}{k}"), direction)));
    let expected: Vec<_> = expected.into_iter().flatten().collect();
    assert!(
        names.iter().copied().eq(expected.iter().map(|(name, direction)| (name.as_str(), *direction))),
        "{names:?}"
    );
    let AppKind::Voip(spec) = &scenario.apps[0].kind else { panic!("{:?}", scenario.apps[0]) };
    assert_eq!((spec.packets.payload, spec.packets.bursts.is_some()), (Bytes(52), true));
    assert_eq!((spec.hearing.coding, spec.hearing.impairment), (Span::from_millis(45), 11.0));
    assert!(scenario.apps.iter().all(|app| app.dscp == 46));
}

#[test]
fn a_trace_is_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("trace.csv"), "0.0, 128\n0.5, 3000\n2.0, 28\n").expect("written");
    let entry = format!("[[replay]]\n{COMMON}direction = \"down\"\nfile = \"trace.csv\"\nspeed = 2\nrepeat = true\n");
    let path = folder.path().join("scenario.toml");
    fs::write(&path, scenario(&entry)).expect("written");
    let scenario = Scenario::load(&path).unwrap_or_else(|error| panic!("{error}"));
    let AppKind::Udp(DatagramSpec { spacing: Spacing::Trace { datagrams, repeat_ns }, .. }) = &scenario.apps[0].kind
    else {
        panic!("{:?}", scenario.apps[0])
    };
    // 2972 bytes of payload need three frames; the mean gap of 1 s is half a second at double speed.
    let expected = [(0, 100), (250_000_000, 1472), (250_000_000, 1472), (250_000_000, 28), (1_000_000_000, 0)];
    assert_eq!((&datagrams[..], *repeat_ns), (&expected[..], Some(1_500_000_000)));
}

#[test]
fn a_capture_that_ends_within_a_packet_is_replayed_with_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    // pcap of raw IP: two packets, the second without its last byte.
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        capture.extend(word.to_le_bytes());
    }
    for second in [1_u32, 2] {
        [second, 0, 20, 128].iter().for_each(|word| capture.extend(word.to_le_bytes()));
        capture.extend([0x45, 0, 0, 128, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    }
    fs::write(folder.path().join("trace.pcap"), &capture[..capture.len() - 1]).expect("written");
    let path = folder.path().join("scenario.toml");
    let entry = format!("[[replay]]\n{COMMON}direction = \"up\"\nfile = \"trace.pcap\"\n");
    fs::write(&path, scenario(&entry)).expect("written");
    let scenario = Scenario::load(&path).unwrap_or_else(|error| panic!("{error}"));
    let [warning] = &scenario.warnings[..] else { panic!("{:?}", scenario.warnings) };
    assert!(warning.ends_with("trace.pcap: ends within packet 2; the 1 before it are used"), "{warning}");
}

/// Table, lines in addition to the common ones, and parts of the message.
const WRONG: &[(&str, &str, &[&str])] = &[
    ("udp", "direction = \"up\"", &["udp.app.name: how often it sends is not said", "one of rate, packet_rate"]),
    ("udp", "direction = \"up\"\nrate = \"1 Mb/s\"\npacket_rate = \"5 /s\"", &["udp.app.packet_rate: how often"]),
    ("udp", "direction = \"up\"\npacket_rate = \"5\"", &["packet_rate: \"5\" has no unit", "\"50 /s\""]),
    ("udp", "direction = \"up\"\npacket_rate = \"0 /s\"", &["packet_rate: \"0 /s\" is out of range"]),
    ("udp", "direction = \"up\"\npacket_rate = \"2000000 /s\"", &["packet_rate: ", "1 /h to 1000000 /s"]),
    (
        "udp",
        "direction = \"up\"\nrate = \"10 Gb/s\"\npayload = \"1 byte\"",
        &["udp.app.rate: in datagrams of 1 B", "1250000000 of them a second", "up to 1000000 datagrams a second"],
    ),
    ("udp", "direction = \"up\"\nrate = \"1 Mb/s\"\nnoise = \"101 %\"", &["noise: \"101 %\" is out of range"]),
    ("udp", "direction = \"up\"\nrate = \"1 Mb/s\"\narrivals = \"poison\"", &["did you mean \"poisson\"?"]),
    (
        "udp",
        "direction = \"up\"\nrate = \"1 Mb/s\"\narrivals = \"poisson\"\nnoise = \"5 %\"",
        &["udp.app.noise: Poisson arrivals have no further noise"],
    ),
    ("udp", "direction = \"up\"\nframe_interval = \"40 ms\"", &["the sizes of the frames are not said", "[udp.frame]"]),
    ("udp", "direction = \"up\"\nrate = \"1 Mb/s\"\nframe = { mean = \"1 kB\" }", &["frames come at their own times"]),
    ("udp", "direction = \"up\"\nrate = \"1 Mb/s\"\non = { mean = \"1 s\" }", &["both [udp.on] and [udp.off]"]),
    ("replay", "direction = \"up\"", &["the key \"file\" is missing"]),
    (
        "replay",
        "direction = \"up\"\nfile = \"nowhere.pcap\"",
        &["replay.app.file: nowhere.pcap: ", "a capture (pcap, pcapng)"],
    ),
    ("replay", "direction = \"up\"\nfile = \"x\"\nhost = \"me\"", &["replay.app.host: \"me\" is no IP address"]),
    ("replay", "direction = \"up\"\nfile = \"x\"\nspeed = 0", &["replay.app.speed: 0 is out of range"]),
    ("voip", "codec = \"g722\"", &["voip.app.codec: \"g722\" is not known", "\"g711\", \"g729\", \"opus\""]),
    ("voip", "codec = \"g729\"\nframe = \"15 ms\"", &["voip.app.frame: ", "a multiple of 10 ms"]),
    ("voip", "codec = \"opus\"\nframe = \"30 ms\"", &["2.5, 5, 10, 20, 40 or 60 ms"]),
    ("voip", "frame = \"0 ms\"", &["voip.app.frame: \"0 ms\" is out of range"]),
    ("voip", "bit_rate = \"24 kb/s\"", &["this codec has its own bit rate"]),
    ("voip", "robustness = 0", &["voip.app.robustness: 0 is out of range"]),
    ("voip", "playout = \"1 min\"", &["0 to 10 s"]),
    ("flows", "direction = \"up\"\ninterval = \"1 s\"", &["flows.app: the key \"size\" is missing"]),
    (
        "flows",
        "direction = \"up\"\nsize = { mean = \"1 kB\" }",
        &["how often transfers arrive", "one of interval, rate, load"],
    ),
    (
        "flows",
        "direction = \"up\"\nsize = { mean = \"1 kB\" }\ninterval = \"0 s\"",
        &["flows.app.interval: \"0 s\" is out"],
    ),
    (
        "flows",
        "direction = \"up\"\nsize = { mean = \"1 kB\" }\nload = \"1000 Gb/s\"",
        &["1 us to 24 h between arrivals"],
    ),
    (
        "flows",
        "direction = \"up\"\nsize = { mean = \"1 kB\" }\nrate = \"1 /s\"\nstart = \"5 s\"\nuntil = \"5 s\"",
        &["flows.app.until: \"5 s\" is out of range", "after the start"],
    ),
    (
        "flows",
        "direction = \"up\"\nsize = { mean = \"1 kB\" }\nrate = \"1 /s\"\ncount = 0",
        &["count: 0 is out of range"],
    ),
    (
        "flows",
        "direction = \"up\"\nsize = { mean = \"1 kB\" }\nrate = \"1 /s\"\nper_station = 2",
        &["per_station: no such key"],
    ),
    ("onoff", "direction = \"up\"\nsize = { mean = \"1 kB\" }", &["the key \"gap\" is missing"]),
    (
        "onoff",
        "direction = \"up\"\nsize = { mean = \"1 kB\" }\ngap = { mean = \"1 kB\" }",
        &["onoff.app.gap.mean: ", "is not a unit known here"],
    ),
    (
        "udp",
        "direction = \"up\"\nrate = \"1 Mb/s\"\noff = { mean = \"1 s\" }\non = { distribution = \"uniform\", min = \"0 s\", max = \"1 us\" }",
        &["udp.app.on.distribution: is too short on average"],
    ),
];

/// Keys of a `[udp.frame]`, and a part of the message.
const WRONG_FRAMES: &[(&str, &str)] = &[
    ("min = \"1 kB\"", "frame.min: distribution = \"constant\" does not use this"),
    ("distribution = \"uniform\", min = \"1 kB\"", "frame.distribution: this distribution needs max"),
    ("distribution = \"uniform\", min = \"2 kB\", max = \"1 kB\"", "frame.max: the largest value is not above min"),
    ("mean = \"0 bytes\"", "frame.mean: is out of range; allowed: 1 byte to 10 MB"),
    ("mean = \"1 GB\"", "frame.mean: is out of range"),
    ("mean = 5", "frame.mean: 5 has no unit"),
    ("distribution = \"exponential\", mean = \"1 kB\", min = \"2 kB\"", "the mean is not above min"),
    ("distribution = \"pareto\", alpha = 1, min = \"1 kB\"", "the mean is infinite; allowed: alpha above 1, or a max"),
    ("distribution = \"pareto\", alpha = 0.9, mean = \"1 kB\", max = \"2 kB\"", "no mean is finite"),
    ("distribution = \"pareto\", alpha = 2", "needs its smallest value or its mean"),
    ("distribution = \"pareto\", alpha = 99, min = \"1 kB\"", "frame.alpha: 99 is out of range; allowed: 0.05 to 20"),
    ("distribution = \"bounded-pareto\", min = \"1 kB\", max = \"9 kB\"", "one of alpha and mean"),
    (
        "distribution = \"bounded-pareto\", min = \"1 kB\", max = \"9 kB\", mean = \"8 kB\"",
        "frame.mean: no tail exponent gives this mean",
    ),
    ("distribution = \"lognormal\", mean = \"1 kB\", deviation = \"1 MB\"", "no lognormal distribution"),
    ("distribution = \"empirical\"", "values, values and cdf, or file"),
    ("distribution = \"empirical\", values = []", "frame.values: the list is empty"),
    ("distribution = \"empirical\", values = [\"1 kB\"], cdf = [0.5, 1]", "2 probabilities for 1 values"),
    ("distribution = \"empirical\", values = [\"1 kB\", \"2 kB\"], cdf = [1, 0.5]", "no cumulative distribution"),
    ("distribution = \"empirical\", file = \"nowhere.csv\"", "frame.file: nowhere.csv: "),
    ("distribution = \"parteo\"", "did you mean \"pareto\"?"),
];

#[test]
fn mistakes_are_reported_with_their_place() {
    let frames = WRONG_FRAMES.iter().map(|&(keys, wanted)| {
        ("udp", format!("direction = \"up\"\nframe_interval = \"40 ms\"\nframe = {{ {keys} }}"), vec![wanted])
    });
    let others = WRONG.iter().map(|&(table, lines, wanted)| (table, lines.to_owned(), wanted.to_vec()));
    let mut missed = Vec::new();
    for (table, lines, wanted) in others.chain(frames) {
        let text = scenario(&format!("[[{table}]]\n{COMMON}{lines}\n"));
        let message = match Scenario::parse(&text, "bad.toml") {
            Err(error) => error.to_string(),
            Ok(_) => "this was taken".to_owned(),
        };
        let gone = wanted.iter().filter(|part| !message.contains(**part));
        missed.extend(gone.map(|part| format!("{lines}\nno {part:?} in:\n{message}\n")));
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
