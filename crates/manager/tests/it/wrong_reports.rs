//! Telemetry reports that are plausible and wrong: they do no harm compared with equal charges for all, and are detected by the measured
//! cost of packets.

use crate::air::Dcf;
use crate::world::{World, bits, config, jain, mac, rate, sources};
use evenair_manager::{Command, Config, Observation, RateReport, StationConfig};
use evenair_units::{Instant, Span};
use evenair_wifi::{PhyRate, TcpShape, adwiser_80211b, tcp_capacity};

const POLL: Span = Span::from_secs(5);
const SEEDS: u64 = 3;

/// The reports of each station at each poll; the stations have these rates, and download and upload.
struct Case {
    name: &'static str,
    kbps: &'static [u64],
    ups: &'static [usize],
    reports: fn(u64, usize) -> i64,
    /// From this second on, the real rates are these.
    later: Option<(u64, &'static [u64])>,
}

const MIXED: &[u64] = &[11_000, 5_500, 2_000, 11_000, 5_500, 2_000];
const LAST_THREE: &[usize] = &[3, 4, 5];

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

fn rates(kbps: &[u64]) -> Vec<PhyRate> {
    kbps.iter().map(|&kbps| rate(kbps)).collect()
}

/// All stations at the default rate: a box without telemetry and without inference.
fn all_alike(config: &Config, count: usize) -> Vec<StationConfig> {
    (0..count).map(|at| StationConfig { mac: mac(at), rate: config.default_rate, weight: 1, class: None }).collect()
}

/// Results of each station in a minute, 80 s after reports began or stations changed, in bits and in medium time.
fn run(case: &Case, seed: u64, reports: Option<fn(u64, usize) -> i64>) -> (Vec<f64>, Vec<f64>) {
    let at_first = rates(case.kbps);
    let downs: Vec<usize> = (0..case.kbps.len()).filter(|at| !case.ups.contains(at)).collect();
    let mut config = Config { stations: Vec::new(), ..config(&at_first) };
    if reports.is_none() {
        config.stations = all_alike(&config, at_first.len());
    }
    let flows = sources(&downs, case.ups);
    let at: Vec<usize> = flows.iter().map(|flow| flow.station).collect();
    let air = Dcf::seeded(config.phy.clone(), config.rts_threshold, at_first.len(), seed);
    let mut world = World::over(Box::new(air), config, &at_first, flows);
    world.command(Command::Insert);
    let begin = 16 + case.later.map_or(0, |(poll, _)| poll);
    let mut got = vec![0.0; case.kbps.len()];
    for poll in 0..begin + 12 {
        if let Some((_, kbps)) = case.later.filter(|(from, _)| *from == poll) {
            world.rates = rates(kbps);
        }
        for station in 0..case.kbps.len() {
            if let Some(kbps) = reports {
                world.tell(Observation::RateReport(report(station, world.now, kbps(poll, station))));
            }
        }
        let part = bits(&world.run(POLL));
        if poll >= begin {
            at.iter().zip(part).for_each(|(&at, part)| got[at] += part);
        }
    }
    let capacity = |rate: &PhyRate| tcp_capacity(&adwiser_80211b(), *rate, &TcpShape::ADWISER).as_bps() as f64;
    let time = got.iter().zip(&world.rates).map(|(got, rate)| got / capacity(rate)).collect();
    (got, time)
}

/// Nothing is worse than 95 % of equal charges for all: neither the total nor the equality of shares of medium time; and no station gets
/// less than 75 % of what it gets by equal charges, or would get if all reports were right, whichever is less. (A station with a wrong
/// report is charged like the mean of the others, and may get more or less: 65 % at least.)
fn costs_nothing(case: &Case) {
    for seed in 1..=SEEDS {
        let (alone, time_alone) = run(case, seed, None);
        let (got, time) = run(case, seed, Some(case.reports));
        let total = |got: &[f64]| got.iter().sum::<f64>();
        let (of_total, of_jain) = (total(&got) / total(&alone), jain(&time) / jain(&time_alone));
        println!("{} {seed}: total {of_total:.3}, Jain of medium time {of_jain:.3}", case.name);
        assert!(of_total >= 0.95, "{} {seed}: {got:?} beside {alone:?}", case.name);
        assert!(of_jain >= 0.95, "{} {seed}: {time:?} beside {time_alone:?}", case.name);
        let fair = total(&time) / time.len() as f64;
        for (station, (&own, &own_alone)) in time.iter().zip(&time_alone).enumerate() {
            let least = own_alone.min(fair);
            let is_right = (case.reports)(0, station) == case.kbps[station] as i64;
            let part = if is_right { 0.75 } else { 0.65 };
            assert!(own >= part * least, "{} {seed}: station {station} has {own} s, {least}", case.name);
        }
    }
}

fn true_kbps(station: usize) -> i64 {
    MIXED[station] as i64
}

const fn case(name: &'static str, reports: fn(u64, usize) -> i64) -> Case {
    Case { name, kbps: MIXED, ups: LAST_THREE, reports, later: None }
}

#[test]
fn a_fast_and_a_slow_station_swapped() {
    costs_nothing(&Case { kbps: &[11_000, 2_000], ups: &[], ..case("two", |_, at| [2_000, 11_000][at]) });
    costs_nothing(&case("three pairs", |_, at| [2_000, 5_500, 11_000][at % 3]));
}

#[test]
fn all_reported_too_fast() {
    costs_nothing(&case("twice", |_, at| true_kbps(at) * 2));
    costs_nothing(&case("five times", |_, at| true_kbps(at) * 5));
    costs_nothing(&case("ten times", |_, at| true_kbps(at) * 10));
}

#[test]
fn all_reported_too_slow() {
    costs_nothing(&case("half", |_, at| true_kbps(at) / 2));
    costs_nothing(&case("a fifth", |_, at| true_kbps(at) / 5));
    costs_nothing(&case("a tenth", |_, at| (true_kbps(at) / 10).max(250)));
}

#[test]
fn one_station_reported_wrongly() {
    costs_nothing(&case("a slow one is fast", |_, at| if at == 2 { 11_000 } else { true_kbps(at) }));
    costs_nothing(&case("a fast one is slow", |_, at| if at == 0 { 2_000 } else { true_kbps(at) }));
    let alike: &[u64] = &[11_000, 11_000, 11_000, 11_000];
    costs_nothing(&Case {
        kbps: alike,
        ups: &[3],
        ..case("one of equals", |_, at| if at == 1 { 2_000 } else { 11_000 })
    });
}

#[test]
fn rates_frozen_while_the_real_ones_change() {
    let later: Option<(u64, &'static [u64])> = Some((12, &[2_000, 5_500, 11_000, 11_000, 5_500, 2_000]));
    costs_nothing(&Case { later, ..case("frozen", |_, at| true_kbps(at)) });
}

#[test]
fn rates_reported_alternately_right_and_wrong() {
    costs_nothing(&case("every poll", |poll, at| true_kbps(if poll % 2 == 0 { at } else { 5 - at })));
    costs_nothing(&case("every half minute", |poll, at| true_kbps(if poll / 6 % 2 == 0 { at } else { 5 - at })));
}

#[test]
fn right_rates_are_accepted_also_after_wrong_ones() {
    for seed in 1..=SEEDS {
        let right = case("right", |_, at| true_kbps(at));
        let (alone, _) = run(&right, seed, None);
        let (got, time) = run(&right, seed, Some(right.reports));
        let all: f64 = got.iter().sum();
        assert!(all > 1.2 * alone.iter().sum::<f64>(), "{seed}: {got:?} beside {alone:?}");
        assert!(jain(&time) >= 0.998, "{seed}: {time:?}");
        // Wrong for a minute, right for 80 s before the shares are measured.
        let late = Case {
            later: Some((12, MIXED)),
            ..case("late", |poll, at| true_kbps(if poll < 12 { 5 - at } else { at }))
        };
        let (again, time) = run(&late, seed, Some(late.reports));
        assert!(again.iter().sum::<f64>() > 0.97 * all, "{seed}: {again:?} beside {got:?}");
        assert!(jain(&time) >= 0.99, "{seed}: {time:?}");
    }
}
