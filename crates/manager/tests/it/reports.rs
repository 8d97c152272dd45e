//! Telemetry reports of stations: right ones give shares of medium time; wrong, late or lost ones do no harm.

use crate::air::Dcf;
use crate::world::{World, bits, close, config, jain, mac, rate, sources};
use evenair_manager::{Command, Config, Observation, RateReport, RateSource, ReportCounts, RssiClass, RssiConfig};
use evenair_packet::MacAddr;
use evenair_units::{Dbm, Instant, Span};
use evenair_wifi::{PhyRate, TcpShape, adwiser_80211b, tcp_capacity};

const POLL: Span = Span::from_secs(5);

/// Three stations, at 11, 5.5 and 2 Mb/s, that download, and three that upload.
fn rates() -> [PhyRate; 6] {
    [rate(11_000), rate(5_500), rate(2_000), rate(11_000), rate(5_500), rate(2_000)]
}

fn report(station: usize, now: Instant, kbps: i64) -> RateReport {
    RateReport {
        mac: mac(station),
        source: 1,
        measured: now,
        valid_for: POLL * 3,
        transmit_kbps: Some(kbps),
        receive_kbps: None,
        signal_dbm: None,
        transmit_mode: None,
        receive_mode: None,
    }
}

/// All stations are configured at the default rate; `reports` gives the report about each station at each poll.
fn run_over(
    dcf: bool,
    polls: u64,
    reports: impl Fn(u64, usize, Instant) -> Option<RateReport>,
) -> (Vec<f64>, ReportCounts) {
    run_of(dcf, true, polls, reports)
}

/// The same with configured rates, or without any, which are then inferred.
fn run_of(
    dcf: bool,
    configured: bool,
    polls: u64,
    reports: impl Fn(u64, usize, Instant) -> Option<RateReport>,
) -> (Vec<f64>, ReportCounts) {
    let rates = rates();
    let mut config = config(&rates);
    // As without any information, and without inference.
    config.stations.iter_mut().for_each(|station| station.rate = config.default_rate);
    if !configured {
        config.stations.clear();
        config.infer_rates = true;
    }
    run_with(config, dcf, polls, reports)
}

/// The same with this configuration.
fn run_with(
    config: Config,
    dcf: bool,
    polls: u64,
    reports: impl Fn(u64, usize, Instant) -> Option<RateReport>,
) -> (Vec<f64>, ReportCounts) {
    let rates = rates();
    let flows = sources(&[0, 1, 2], &[3, 4, 5]);
    let mut world = if dcf {
        let air = Dcf::new(config.phy.clone(), config.rts_threshold, rates.len());
        World::over(Box::new(air), config, &rates, flows)
    } else {
        World::new(config, &rates, flows)
    };
    world.command(Command::Insert);
    let mut got = vec![0.0; rates.len()];
    for poll in 0..polls + 12 {
        for station in 0..rates.len() {
            if let Some(report) = reports(poll, station, world.now) {
                world.tell(Observation::RateReport(report));
            }
        }
        let part = bits(&world.run(POLL));
        if poll >= polls {
            got.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
    }
    let report = world.manager.report(world.now);
    (got, report.rate_reports)
}

/// Wrong reports do no harm: each station gets what equal charges give, within 5 percent.
fn costs_nothing(name: &str, reports: impl Fn(u64, usize, Instant) -> Option<RateReport> + Copy) -> ReportCounts {
    costs_nothing_over(&[false, true], name, reports)
}

/// The same over DCF, over the deterministic medium, or over both.
fn costs_nothing_over(
    dcf: &[bool],
    name: &str,
    reports: impl Fn(u64, usize, Instant) -> Option<RateReport> + Copy,
) -> ReportCounts {
    let mut counts = ReportCounts::default();
    for &dcf in dcf {
        let (alone, _) = run_over(dcf, 12, |_, _, _| None);
        let (got, reported) = run_over(dcf, 12, reports);
        let total = (got.iter().sum::<f64>(), alone.iter().sum::<f64>());
        assert!(close(total.0, total.1, 50.0), "{name}: {total:?}");
        for (got, alone) in got.iter().zip(&alone) {
            assert!(close(*got, *alone, 50.0), "{name}: {got} beside {alone}");
        }
        counts = reported;
    }
    counts
}

const TRUE_KBPS: [i64; 6] = [11_000, 5_500, 2_000, 11_000, 5_500, 2_000];

/// Medium time for what each station got.
fn medium_times(got: &[f64]) -> Vec<f64> {
    let capacity = |rate| tcp_capacity(&adwiser_80211b(), rate, &TcpShape::ADWISER).as_bps() as f64;
    got.iter().zip(rates()).map(|(got, rate)| got / capacity(rate)).collect()
}

#[test]
fn without_reports_shares_are_of_medium_time_too() {
    let (alike, _) = run_over(true, 12, |_, _, _| None);
    // All rates are inferred, or those of the unreported stations.
    for only in [None, Some(0), Some(2)] {
        let (got, _) = run_of(true, false, 12, |_, i, now| (only == Some(i)).then(|| report(i, now, TRUE_KBPS[i])));
        let times = medium_times(&got);
        assert!(got.iter().sum::<f64>() > 1.15 * alike.iter().sum::<f64>(), "{only:?}: {got:?} beside {alike:?}");
        assert!(jain(&times) >= 0.98, "{only:?}: {times:?}");
    }
}

#[test]
fn the_source_of_a_rate_is_reported_inferred_or_unknown() {
    let rates = rates();
    for infer_rates in [false, true] {
        let config = Config { stations: Vec::new(), infer_rates, ..config(&rates) };
        let air = Dcf::new(config.phy.clone(), config.rts_threshold, rates.len());
        let mut world = World::over(Box::new(air), config, &rates, sources(&[0, 1, 2], &[3, 4, 5]));
        world.command(Command::Insert);
        let sources = |world: &World| -> Vec<RateSource> {
            world.manager.report(world.now).stations.iter().map(|station| station.rate_source).collect()
        };
        world.run(Span::from_millis(200));
        assert_eq!(sources(&world), [RateSource::Unknown; 6]);
        world.run(POLL * 12);
        let expected = if infer_rates { RateSource::Inferred } else { RateSource::Unknown };
        assert_eq!(sources(&world), [expected; 6]);
        world.tell(Observation::RateReport(report(0, world.now, 11_000)));
        assert_eq!(sources(&world)[..2], [RateSource::Reported, expected]);
        world.run(POLL * 4);
        assert_eq!(sources(&world)[0], expected, "the report has expired");
    }
}

#[test]
fn with_right_reports_shares_are_of_medium_time() {
    for dcf in [false, true] {
        let (alone, _) = run_over(dcf, 12, |_, _, _| None);
        let (got, counts) = run_over(dcf, 12, |_, i, now| Some(report(i, now, TRUE_KBPS[i])));
        // The canary of this file: reports have an effect.
        assert!(got.iter().sum::<f64>() > 1.2 * alone.iter().sum::<f64>(), "{got:?} beside {alone:?}");
        let times = medium_times(&got);
        assert!(jain(&times) >= 0.998, "{times:?}");
        // On the deterministic medium the order of turns may be one in which a station's packets cost more than its rate says.
        assert!(counts.taken == 144 && counts.contradicted <= u64::from(!dcf), "{counts:?}");
    }
}

#[test]
fn with_classes_by_signal_shares_are_of_medium_time_without_a_reported_rate() {
    // Each signal varies by 2 dB around the border or the middle of its class; no rate is reported.
    let signal = |poll: u64, i: usize, now| {
        let dbm = [-59, -70, -85][i % 3] + if poll.is_multiple_of(2) { 2 } else { -2 };
        Some(RateReport { transmit_kbps: None, signal_dbm: Some(dbm), ..report(i, now, 0) })
    };
    let alike = || {
        let mut config = config(&rates());
        config.stations.iter_mut().for_each(|station| station.rate = config.default_rate);
        config
    };
    let (alone, _) = run_with(alike(), true, 12, signal);
    let mut config = alike();
    let class =
        |dbm: Option<i32>, kbps| RssiClass { above: dbm.map(|dbm| Dbm::from_milli(dbm * 1_000)), rate: rate(kbps) };
    let classes = vec![class(Some(-60), 11_000), class(Some(-75), 5_500), class(None, 2_000)];
    config.rssi = Some(RssiConfig { classes, hysteresis: RssiConfig::HYSTERESIS, before_rates: false }.into());
    let (got, counts) = run_with(config, true, 12, signal);
    assert!(got.iter().sum::<f64>() > 1.2 * alone.iter().sum::<f64>(), "{got:?} beside {alone:?}");
    let times = medium_times(&got);
    assert!(jain(&times) >= 0.99, "{times:?}");
    assert_eq!((counts.taken, counts.contradicted), (144, 0));
}

#[test]
fn impossible_rates_do_no_harm() {
    for kbps in [0, -11_000, 249, i64::MAX, i64::MIN] {
        let counts = costs_nothing(&format!("{kbps}"), move |_, i, now| Some(report(i, now, kbps)));
        assert_eq!((counts.taken, counts.absurd), (0, 144));
    }
}

#[test]
fn late_and_future_reports_do_no_harm() {
    let late = |_, i: usize, now: Instant| {
        let measured = now.saturating_sub(Span::from_secs(16));
        Some(RateReport { measured, ..report(i, now, [2_000, 5_500, 11_000][i % 3]) })
            .filter(|_| now > Instant::ZERO + POLL * 4)
    };
    assert!(costs_nothing("late", late).untimely > 100);
    let future = |_, i: usize, now: Instant| Some(RateReport { measured: now + POLL, ..report(i, now, 1_000) });
    assert_eq!(costs_nothing("future", future).untimely, 144);
}

#[test]
fn lost_reports_expire() {
    // Reports cease after a quarter of a minute. On the deterministic medium, stations take turns in an order that earlier rates have
    // caused and that never changes; one that loses a part of the time would stay.
    costs_nothing_over(&[true], "lost", |poll, i, now| (poll < 3).then(|| report(i, now, TRUE_KBPS[i])));
}

#[test]
fn traffic_contradicts_rates_that_are_too_low() {
    let counts = costs_nothing("all low", |_, i, now| Some(report(i, now, 1_000)));
    assert!(counts.contradicted >= 6, "{counts:?}");
    let random = |poll: u64, i: usize, now: Instant| {
        Some(report(i, now, [1_000, 11_000, 2_000, 5_500][(poll as usize * 7 + i * 3) % 4]))
    };
    // On the deterministic medium, stations take turns in an order that earlier rates have caused and that never changes. If it has the
    // uploads behind each other, the box, which now takes all for slow, waits for a fifth of the time.
    costs_nothing_over(&[true], "random", random);
    costs_nothing("all high", |_, i, now| Some(report(i, now, 54_000)));
}

#[test]
fn the_report_of_a_lone_station_is_checked_by_its_traffic() {
    let rates = [rate(11_000)];
    let mut config = config(&rates);
    config.stations.clear();
    let mut world = World::new(config, &rates, sources(&[0], &[]));
    world.command(Command::Insert);
    for _ in 0..4 {
        world.tell(Observation::RateReport(report(0, world.now, 1_000)));
        world.run(POLL);
    }
    let report = world.manager.report(world.now);
    let [station] = &report.stations[..] else { panic!("one station") };
    let reported = station.reported.expect("it was reported");
    assert!(reported.set_aside && reported.class.is_none() && reported.transmit_kbps == Some(1_000), "{reported:?}");
    assert_eq!(report.rate_reports.contradicted, 1);
}

#[test]
fn reports_of_absent_stations_fill_no_table() {
    let mut world = World::new(config(&[rate(11_000)]), &[rate(11_000)], sources(&[0], &[]));
    for number in 0..10_000_u32 {
        let [a, b, c, d] = number.to_be_bytes();
        let made_up = RateReport { mac: MacAddr([2, 7, a, b, c, d]), ..report(0, world.now, 11_000) };
        world.tell(Observation::RateReport(made_up));
    }
    let group = RateReport { mac: MacAddr([1, 0, 0, 0, 0, 1]), ..report(0, world.now, 11_000) };
    world.tell(Observation::RateReport(group));
    let report = world.manager.report(world.now);
    assert_eq!(report.stations.len(), 2_048);
    assert_eq!(report.rate_reports.unknown, 10_000 + 1 - 2_047);
    // They are forgotten when the reports cease.
    world.run(Span::from_secs(400));
    assert_eq!(world.manager.report(world.now).stations.len(), 1);
}
