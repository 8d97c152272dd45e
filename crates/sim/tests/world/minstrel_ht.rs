//! Rate control among modes: its goodput compared with that of each available mode.

use evenair_results::{RunResult, scalar};
use evenair_scenario::Scenario;
use evenair_wifi::{Format, GuardInterval, PhyMode, Width};

/// One-way datagrams, more than the medium carries, between a server and stations with the same signal.
#[derive(Clone, Copy)]
struct Case {
    mcs: u8,
    streams: u8,
    stations: u32,
    direction: &'static str,
    snr_db: u32,
}

/// Datagrams to one station, with all modes of two streams.
const DOWN: Case = Case { mcs: 9, streams: 2, stations: 1, direction: "down", snr_db: 40 };

fn run(control: &str, case: Case) -> RunResult {
    let Case { mcs, streams, stations, direction, snr_db } = case;
    let scenario = Scenario::parse(
        &format!(
            r#"version = 1
name = "modes"
duration = "3 s"
[radio]
standard = "802.11ac"
width = "40 MHz"
rate_control = "{control}"
ap_buffer = "1000 packets"
[lan]
rate = "1 Gb/s"
[[station]]
name = "sta"
count = {stations}
mcs = {mcs}
streams = {streams}
snr = "{snr_db} dB"
[[server]]
name = "server"
[[udp]]
name = "data"
stations = ["sta"]
server = "server"
direction = "{direction}"
rate = "450 Mb/s"
payload = "1400 bytes"
[[phase]]
name = "steady"
from = "1 s"
to = "3 s"
"#
        ),
        "modes.toml",
    );
    evenair_sim::run(&scenario.unwrap_or_else(|error| panic!("{error}")), |_| ()).expect("it can be simulated")
}

fn total(run: &RunResult) -> f64 {
    run.phases[0].total_ip_mbps
}

fn modes() -> impl Iterator<Item = PhyMode> {
    let fits = |mode: &PhyMode| {
        mode.width() == Width::Mhz40 && mode.guard_interval() == GuardInterval::Ns800 && mode.streams() <= 2
    };
    PhyMode::all(Format::Vht).filter(fits)
}

/// The reference: each available mode alone.
#[test]
fn it_carries_nearly_as_much_as_the_best_mode() {
    for snr_db in [6, 11, 16, 21, 26, 40] {
        let case = Case { snr_db, ..DOWN };
        let alone = |mode: PhyMode| total(&run("fixed", Case { mcs: mode.mcs(), streams: mode.streams(), ..case }));
        let best = modes().map(|mode| (alone(mode), mode)).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        let ours = total(&run("minstrel-ht", case));
        println!("{snr_db} dB: {ours:.1} Mb/s, {:?} {:.1}", best.1, best.0);
        assert!(ours > 0.87 * best.0 && ours < 1.02 * best.0, "{snr_db} dB: {ours} Mb/s, {:?} {}", best.1, best.0);
    }
    // Other modes of nearly the same throughput may replace the best one, but not if all frames are received.
    let used = scalar(&run("minstrel-ht", DOWN), "phase.steady.ap.rate_used.360.share");
    assert!(used.is_some_and(|used| used > 0.95), "{used:?}");
}

/// A missing BlockAck loses all MPDUs of an attempt at any signal, so that all modes seem to deliver less: only their ratios matter.
#[test]
fn collisions_do_not_make_it_slow() {
    let [fixed, chosen] =
        ["fixed", "minstrel-ht"].map(|control| total(&run(control, Case { stations: 10, direction: "up", ..DOWN })));
    assert!(chosen > 0.8 * fixed, "{chosen} of {fixed} Mb/s");
}

#[test]
fn a_station_with_one_mode_uses_it() {
    let [fixed, chosen] =
        ["fixed", "minstrel-ht"].map(|control| total(&run(control, Case { mcs: 0, streams: 1, ..DOWN })));
    assert!((chosen / fixed - 1.0).abs() < 0.01, "{chosen} of {fixed} Mb/s");
}

/// Senders of single frames, another network or a station of 802.11a, keep their rate and airtime.
#[test]
fn senders_without_modes_keep_their_rates() {
    let run = |control: &str| {
        let text = format!(
            r#"version = 1
name = "beside"
duration = "3 s"
[radio]
standard = "802.11ax"
rate_control = "{control}"
[[station]]
name = "old"
rate = "54 Mb/s"
[[server]]
name = "server"
[[udp]]
name = "data"
stations = ["old"]
server = "server"
direction = "down"
rate = "5 Mb/s"
[[neighbour]]
name = "next"
load = "30 %"
rate = "54 Mb/s"
"#
        );
        let scenario = Scenario::parse(&text, "beside.toml").unwrap_or_else(|error| panic!("{error}"));
        evenair_sim::run(&scenario, |_| ()).expect("it can be simulated")
    };
    let [fixed, chosen] = ["fixed", "minstrel-ht"].map(run);
    for name in ["phase.all.total_ip_mbps", "phase.all.measured_airtime.neighbours_share"] {
        let [fixed, chosen] = [&fixed, &chosen].map(|run| scalar(run, name).expect("it is measured"));
        assert!(fixed > 0.0 && fixed == chosen, "{name}: {chosen}, with fixed rates {fixed}");
    }
}
