//! Scenarios of 802.11n and later.

use evenair_medium::Order;
use evenair_scenario::{Place, Scenario};
use evenair_wifi::{Band, Format, GuardInterval, PhyRate, Standard, Width};

fn read(radio: &str, stations: &str) -> Result<Scenario, String> {
    let text = format!(
        "version = 1\nname = \"x\"\nduration = \"1 s\"\n[radio]\n{radio}\n{stations}\n[[server]]\nname = \"s\"\n\
         [[bulk]]\nname = \"b\"\nstations = [\"a\"]\nserver = \"s\"\ndirection = \"down\"\n"
    );
    Scenario::parse(&text, "x.toml").map_err(|error| error.to_string())
}

fn station(keys: &str) -> String {
    format!("[[station]]\nname = \"a\"\n{keys}\n")
}

fn rate(radio: &str, keys: &str) -> PhyRate {
    let scenario = read(radio, &station(keys)).unwrap();
    let Place::Station { rate, .. } = scenario.hosts[0].place else { panic!("the first host is the station") };
    rate
}

#[test]
fn a_station_has_the_mode_of_its_mcs_or_of_its_bit_rate() {
    let wide = "standard = \"802.11ac\"\nwidth = \"80 MHz\"";
    let mode = rate(wide, "mcs = 8\nstreams = 2").mode().unwrap();
    assert_eq!((mode.format(), mode.mcs(), mode.streams(), mode.width()), (Format::Vht, 8, 2, Width::Mhz80));
    assert_eq!(rate(wide, "rate = \"702 Mb/s\""), mode.into());
    assert_eq!(rate(wide, "rate = \"54 Mb/s\"").mode(), None, "a station of 802.11a");
    let old = rate(wide, "standard = \"802.11n\"\nmcs = 7").mode().unwrap();
    assert_eq!((old.format(), old.width()), (Format::Ht, Width::Mhz40), "the widest that it knows");
    let short = rate("standard = \"802.11n\"\nguard_interval = \"0.4 us\"", "mcs = 7").mode().unwrap();
    assert_eq!(short.guard_interval(), GuardInterval::Ns400);
    assert_eq!(rate("standard = \"802.11ax\"", "rate = \"86 Mb/s\"").mode().unwrap().mcs(), 7);
}

#[test]
fn a_network_of_these_standards_aggregates_and_has_edca() {
    let scenario = read("standard = \"802.11ax\"\nband = \"2.4 GHz\"", &station("mcs = 0")).unwrap();
    let radio = &scenario.radio;
    assert_eq!((radio.phy.standard(), radio.phy.band()), (Standard::Dot11ax, Band::Ghz2_4));
    assert!(radio.edca.is_some());
    assert_eq!(radio.aggregation, Some(evenair_medium::Aggregation::new()));
    let ns3 = read("standard = \"802.11ax\"\nprofile = \"ns-3\"", &station("mcs = 0")).unwrap();
    assert_eq!(ns3.radio.aggregation, Some(evenair_medium::Aggregation::ns3()));
    assert_eq!(ns3.radio.edca.unwrap().stations[1].txop.as_nanos(), 0);
    let before = read("standard = \"802.11g\"", &station("rate = \"54 Mb/s\"")).unwrap();
    assert_eq!((before.radio.aggregation, before.radio.edca), (None, None));
}

#[test]
fn an_access_takes_frames_in_the_configured_order() {
    for (word, order) in
        [("arrival", Order::Arrival), ("stations", Order::RoundRobin), ("neighbours", Order::Neighbours)]
    {
        let radio = format!("standard = \"802.11ax\"\naggregation.order = \"{word}\"");
        let rules = read(&radio, &station("mcs = 0")).unwrap().radio.aggregation.unwrap();
        assert_eq!(rules.order, order, "{word}");
    }
    let error = read("standard = \"802.11ax\"\naggregation.order = \"any\"", &station("mcs = 0")).unwrap_err();
    assert!(error.contains("\"neighbours\""), "{error}");
}

#[test]
fn features_that_a_standard_lacks_are_refused_with_those_it_has() {
    let ax = "standard = \"802.11ax\"";
    for (radio, keys, parts) in [
        (ax, "mcs = 12", &["station.a.mcs", "12"][..]),
        (ax, "mcs = 7\nrate = \"86 Mb/s\"", &["the rate is given twice"]),
        (ax, "rate = \"87 Mb/s\"", &["is not a rate of 802.11ax at 20 MHz"]),
        (ax, "rate = \"86 Mb/s\"\nstreams = 2", &["the rate says all"]),
        (ax, "", &["the station has no rate"]),
        ("standard = \"802.11g\"", "mcs = 7", &["802.11g has no MCS"]),
        ("standard = \"802.11n\"", "standard = \"802.11ac\"\nmcs = 7", &["stations of 802.11ac do not send so"]),
        ("standard = \"802.11n\"\nwidth = \"80 MHz\"", "mcs = 7", &["radio.width", "\"20 MHz\", \"40 MHz\""]),
        ("standard = \"802.11ax\"\nguard_interval = \"0.4 us\"", "mcs = 7", &["\"0.8 us\", \"1.6 us\", \"3.2 us\""]),
        ("standard = \"802.11ac\"\nband = \"2.4 GHz\"", "mcs = 7", &["radio.band"]),
        ("standard = \"802.11ax\"\nedca = false", "mcs = 7", &["802.11ax has EDCA"]),
        (
            "standard = \"802.11ax\"\nrate_control = \"minstrel\"",
            "mcs = 7",
            &["not for the modes of 802.11ax", "\"minstrel-ht\""],
        ),
        (
            "standard = \"802.11a\"\nrate_control = \"minstrel-ht\"",
            "rate = \"54 Mb/s\"",
            &["for 802.11n, ac and ax alone", "\"minstrel\""],
        ),
        ("standard = \"802.11a\"\nwidth = \"20 MHz\"", "rate = \"54 Mb/s\"", &["one width and one guard interval"]),
        ("standard = \"802.11a\"\naggregation.window = 64", "rate = \"54 Mb/s\"", &["802.11a does not aggregate"]),
        ("standard = \"802.11ax\"\naggregation.window = 0", "mcs = 7", &["radio.aggregation.window", "1 to 1024"]),
    ] {
        let error = read(radio, &station(keys)).unwrap_err();
        parts.iter().for_each(|part| assert!(error.contains(part), "{radio}, {keys}: {error}"));
    }
}
