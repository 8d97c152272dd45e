//! The closed form of the performance anomaly compared with the published one, and with the formulas of mixtures of rates.

use evenair_scenario::{Anomaly, Scenario, Sharing};
use evenair_units::{BitRate, Bytes};
use evenair_wifi::{
    AggregateLimits, AggregateSender, AggregateTcp, Format, GuardInterval, Phy, PhyMode, PhyRate, Standard, TcpShape,
    Width, collision_millionths, mixed_capacity, tcp_capacity, time_fair_weight,
};

/// A scenario with these lines of `[radio]`, stations and applications.
fn scenario(radio: &str, rest: &str) -> Scenario {
    let text = format!(
        "version = 1\nname = \"x\"\nduration = \"10 s\"\n[[server]]\nname = \"server\"\n[radio]\n{radio}\n{rest}"
    );
    Scenario::parse(&text, "x.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn closed_form(scenario: &Scenario) -> [Anomaly; 2] {
    scenario.anomaly(&scenario.measure.phases[0]).unwrap_or_else(|why| panic!("{why}"))
}

/// A fast and a slow station.
fn stations(fast: &str, slow: &str) -> String {
    format!("[[station]]\nname = \"fast\"\n{fast}\n[[station]]\nname = \"slow\"\n{slow}\n")
}

const DOWNLOADS: &str =
    "[[bulk]]\nname = \"file\"\nstations = [\"fast\", \"slow\"]\nserver = \"server\"\ndirection = \"down\"\n";
const PINGS: &str = "[[ping]]\nname = \"echo\"\nstations = [\"fast\"]\nserver = \"server\"\n";
const UPLOADS: &str = "[[udp]]\nname = \"flood\"\nstations = [\"fast\", \"slow\"]\nserver = \"server\"\ndirection = \"up\"\n\
                       rate = \"20 Mb/s\"\npayload = \"1472 B\"\n";

fn close(ours: f64, expected: f64, within: f64) {
    assert!((ours / expected - 1.0).abs() < within, "{ours} against {expected}");
}

/// Heusse et al., INFOCOM 2003, section III, for N = 2 hosts at 11 and 1 Mb/s with 1500 bytes: X = s / (T_f + T_s + P_c t_jam N),
/// where T = t_ov + t_tr + t_cont, t_cont = SLOT (1 + P_c) / (2 N) CWmin / 2, P_c = 1 - (1 - 1 / CWmin)^(N - 1), and t_jam = T_s.
#[test]
fn uploads_at_11_and_1_mbps_match_the_published_closed_form() {
    let collision = 1.0 / 31.0;
    let contention = 20.0 * (1.0 + collision) / 4.0 * 31.0 / 2.0;
    // us: DIFS, preambles and header with 1536 bytes, SIFS, ACK at 2 and 1 Mb/s.
    let fast = 50.0 + 192.0 + 1_536.0 * 8.0 / 11.0 + 10.0 + 192.0 + 56.0 + contention;
    let slow = 50.0 + 192.0 + 1_536.0 * 8.0 + 10.0 + 192.0 + 112.0 + contention;
    let ip_mbps = 12_000.0 / (fast + slow + collision * slow * 2.0);
    close(ip_mbps, 0.78, 0.01);
    let radio = "standard = \"802.11b\"";
    let [dcf, airtime] =
        closed_form(&scenario(radio, &(stations("rate = \"11 Mb/s\"", "rate = \"1 Mb/s\"") + UPLOADS)));
    assert_eq!((dcf.sharing, airtime.sharing), (Sharing::EqualAccesses, Sharing::EqualAirtime));
    assert_eq!(dcf.apps[0].goodput_mbps, dcf.apps[1].goodput_mbps);
    for app in &dcf.apps {
        close(app.goodput_mbps * 1_500.0 / 1_472.0, ip_mbps, 0.02);
    }
    // With equal airtime the fast one gets about as much as beside another fast one.
    let both = closed_form(&scenario(radio, &(stations("rate = \"11 Mb/s\"", "rate = \"11 Mb/s\"") + UPLOADS)));
    close(airtime.apps[0].goodput_mbps, both[0].apps[0].goodput_mbps, 1e-9);
    close(both[0].total_goodput_mbps(), both[1].total_goodput_mbps(), 1e-9);
}

/// Downloads of single frames: one FIFO is equation (1) with equal weights, and equal airtime equation (2).
#[test]
fn downloads_are_mixtures_of_capacities() {
    for (standard, fast, slow) in [(Standard::Dot11b, 11, 1), (Standard::Dot11a, 54, 6), (Standard::Dot11g, 54, 6)] {
        let radio = format!("standard = \"{standard}\"");
        let at = |mbps: u32| format!("rate = \"{mbps} Mb/s\"");
        let found = closed_form(&scenario(&radio, &(stations(&at(fast), &at(slow)) + DOWNLOADS)));
        let shape = TcpShape { rts_threshold: None, ..TcpShape::ADWISER };
        let phy = Phy::default_for(standard);
        let rate = |mbps: u32| standard.rate(BitRate::from_mbps(mbps.into())).expect("a rate of the standard");
        let capacities = [fast, slow].map(|mbps| tcp_capacity(&phy, rate(mbps), &shape));
        compare(&found, capacities);
    }
}

/// The same for aggregates, each as long as the format allows.
#[test]
fn aggregates_are_mixtures_of_capacities_of_aggregates() {
    let radio = "standard = \"802.11ax\"\nap_buffer = \"1000 packets\"\nedca_parameters = \"hostapd\"";
    let found = closed_form(&scenario(radio, &(stations("mcs = 11\nstreams = 2", "mcs = 0") + DOWNLOADS)));
    let phy = Phy::default_for(Standard::Dot11ax);
    let shape = TcpShape { rts_threshold: None, ..TcpShape::ADWISER };
    let modes = [(11, 2), (0, 1)].map(|(mcs, streams)| {
        PhyMode::new(Format::He, mcs, streams, Width::Mhz20, GuardInterval::Ns800).expect("a mode of 802.11ax")
    });
    let capacities = modes.map(|mode| {
        let rate = PhyRate::from(mode);
        let sender = AggregateSender { phy: &phy, rate, limits: AggregateLimits::of_rate(rate), rts_threshold: None };
        let tcp = AggregateTcp { shape, acks: None, collision_millionths: collision_millionths(&phy) };
        sender.tcp_capacity(sender.full(Bytes(1_500)), &tcp)
    });
    compare(&found, capacities);
    // A short buffer makes short aggregates.
    let short = radio.replace("1000 packets", "20 packets");
    let short = closed_form(&scenario(&short, &(stations("mcs = 11\nstreams = 2", "mcs = 0") + DOWNLOADS)));
    assert!(short[1].total_goodput_mbps() < 0.8 * found[1].total_goodput_mbps());
}

fn compare(found: &[Anomaly; 2], capacities: [BitRate; 2]) {
    // The application gets 1448 bytes of each 1500 and half an ACK of 52.
    let goodput = |ip: BitRate| ip.as_mbps_f64() * 1_448.0 / 1_526.0;
    let [packets, airtime] = found;
    assert_eq!(packets.sharing, Sharing::EqualPackets);
    close(packets.total_goodput_mbps(), goodput(mixed_capacity(&capacities.map(|one| (1, one)))), 1e-6);
    assert_eq!(packets.apps[0].goodput_mbps, packets.apps[1].goodput_mbps);
    let fair = capacities.map(|one| (time_fair_weight(1, one), one));
    close(airtime.total_goodput_mbps(), goodput(mixed_capacity(&fair)), 1e-6);
}

#[test]
fn features_that_the_closed_form_omits_are_refused_with_the_reason() {
    let both = stations("rate = \"11 Mb/s\"", "rate = \"1 Mb/s\"");
    let slow_source = UPLOADS.replace("20 Mb/s", "0.5 Mb/s");
    let radio = "standard = \"802.11b\"";
    for (radio, rest, reason) in [
        (radio, format!("{both}{DOWNLOADS}{UPLOADS}"), "there are both"),
        (radio, format!("{both}{slow_source}"), "always have packets"),
        (radio, format!("{both}{PINGS}"), "nothing is sent"),
        (&format!("{radio}\nrate_control = \"arf\""), format!("{both}{DOWNLOADS}"), "choose their rates"),
        (radio, format!("{}{DOWNLOADS}", both.replacen("rate", "loss = \"1 %\"\nrate", 1)), "losses"),
    ] {
        let scenario = scenario(radio, &rest);
        let why = scenario.anomaly(&scenario.measure.phases[0]).expect_err("refused");
        assert!(why.contains(reason), "{why}: no {reason}");
    }
}
