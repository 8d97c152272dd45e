//! Rate control among modes: its goodput compared with that of each available mode.

use evenair_results::{RunResult, scalar};
use evenair_wifi::{Format, GuardInterval, PhyMode, Width};

use crate::site::Site;

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
    Site::new("modes", 3)
        .radio("802.11ac", &format!("width = '40 MHz'\nrate_control = '{control}'\nap_buffer = '1000 packets'"))
        .with("[lan]\nrate = '1 Gb/s'")
        .stations("sta", stations, &format!("mcs = {mcs}\nstreams = {streams}\nsnr = '{snr_db} dB'"))
        .udp("data", "sta", direction, "450 Mb/s")
        .and("payload = '1400 bytes'")
        .phase("steady", 1, 3)
        .run()
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
        Site::new("beside", 3)
            .radio("802.11ax", &format!("rate_control = '{control}'"))
            .station("old", "rate = '54 Mb/s'")
            .udp("data", "old", "down", "5 Mb/s")
            .with("[[neighbour]]\nname = 'next'\nload = '30 %'\nrate = '54 Mb/s'")
            .run()
    };
    let [fixed, chosen] = ["fixed", "minstrel-ht"].map(run);
    for name in ["phase.all.total_ip_mbps", "phase.all.measured_airtime.neighbours_share"] {
        let [fixed, chosen] = [&fixed, &chosen].map(|run| scalar(run, name).expect("it is measured"));
        assert!(fixed > 0.0 && fixed == chosen, "{name}: {chosen}, with fixed rates {fixed}");
    }
}
