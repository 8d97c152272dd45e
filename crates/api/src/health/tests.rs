//! Second by second: when each reason is raised and cleared, and that a healthy network has none.

use super::*;
use crate::causes::LossReason;
use crate::watch::Line;
use crate::watch::{Domain, Latency, Source as Origin, Station, Times, Totals, Value};
use crate::{CallStatus, GuardState, Mode, SpeechStatus};

fn times(p95_ms: f64, packets: u64) -> Option<Times> {
    Some(Times { p50_ms: p95_ms / 3.0, p95_ms, packets })
}

/// A station of "hall" with this part of the airtime, and 20 Mb/s of goodput for all of it.
fn station(name: &str, air: f64) -> Station {
    Station {
        mac: format!("02:{name}"),
        name: Some(name.into()),
        domain: "hall".into(),
        weight: 1,
        down_mbps: Value::new(air * 20.0, Origin::Measured),
        up_mbps: Value::new(0.0, Origin::Measured),
        air_down: Value::new(air, Origin::Charged),
        air_up: Value::new(0.0, Origin::Charged),
        rate_mbps: Value::new(54.0, Origin::Reported),
        held: (air * 20.0) as u64,
        active: Some(true),
        latency: Latency { in_box: times(15.0, 500), wlan: times(30.0, 500), ..Latency::default() },
        ..Station::default()
    }
}

fn domain(stations: &[Station]) -> Domain {
    let air: f64 = stations.iter().filter_map(|station| station.air_down.value).sum();
    Domain {
        name: "hall".into(),
        air_down: Value::new(air, Origin::Charged),
        capacity_mbps: Value::new(24.0, Origin::Reported),
        air_cost: Value::new(1.1, Origin::Measured),
        latency: Latency { wlan: times(40.0, 2000), ..Latency::default() },
        ..Domain::default()
    }
}

fn line(stations: Vec<Station>) -> Line {
    let latency = Latency { internet: times(60.0, 900), ..Latency::default() };
    let totals = Totals { mode: Mode::Inserted, fail_open: true, latency, ..Totals::default() };
    let speech = SpeechStatus { r_factor: Some(88.0), ..SpeechStatus::default() };
    let call = CallStatus {
        station: "02:phone".into(),
        lasts_s: 60.0,
        down: speech.clone(),
        up: speech,
        ..CallStatus::default()
    };
    Line {
        totals: Some(totals),
        domains: Some(vec![domain(&stations)]),
        stations: Some(stations),
        calls: Some(vec![call]),
        ..Line::default()
    }
}

/// Three stations share a busy medium equally, beside one with a call and one that sleeps.
fn healthy() -> (Line, Facts) {
    let mut phone = station("phone", 0.01);
    (phone.held, phone.latency.in_box, phone.latency.wlan) = (1, times(5.0, 50), times(45.0, 50));
    let mut tablet = station("tablet", 0.001);
    (tablet.held, tablet.latency.in_box, tablet.latency.wlan) = (0, times(4.0, 2), times(290.0, 3));
    let bulk = ["annes-laptop", "maxs-laptop", "desk"].map(|name| station(name, 0.3));
    let stations: Vec<_> = bulk.into_iter().chain([phone, tablet]).collect();
    let telemetry = vec![Source { name: "ubus ap-1".into(), silent_s: 12.0, interval_s: 10.0, error: None }];
    (line(stations), Facts { is_insert_commanded: true, telemetry, ..Facts::default() })
}

/// Causes one fault.
type Harm = fn(&mut Line, &mut Facts);

fn totals(line: &mut Line) -> &mut Totals {
    line.totals.as_mut().expect("there")
}

fn stations(line: &mut Line) -> &mut Vec<Station> {
    line.stations.as_mut().expect("there")
}

/// The first station gets a thirtieth of the airtime and waits; the second one gets the rest of its share.
fn starve(line: &mut Line, _: &mut Facts) {
    for (at, air) in [(0, 0.02), (1, 0.58)] {
        let stations = stations(line);
        let name = stations[at].name.clone().expect("named");
        stations[at] = station(&name, air);
    }
    stations(line)[0].latency.wlan = times(900.0, 30);
}

fn bypass(line: &mut Line, facts: &mut Facts) {
    totals(line).mode = Mode::Bypassed;
    totals(line).since_s = 33.0;
    facts.guard.state = GuardState::Watching;
}

const HARMS: &[(Code, &str, Harm)] = &[
    (Code::Starving, "annes-laptop starves: it gets 0.4 Mb/s, and an equal share of hall is 3.6 Mb/s", starve),
    (Code::HoldsTheAir, "annes-laptop starves: maxs-laptop holds 58 % of the air of hall", starve),
    (
        Code::SlowLink,
        "desk has a PHY rate of 6 Mb/s where 54 Mb/s is possible, and takes 70 % of the air of hall",
        |line, _| {
            stations(line)[2].rate_mbps = Value::new(6.0, Origin::Reported);
            stations(line)[2].air_down = Value::new(0.7, Origin::Charged);
        },
    ),
    (Code::WifiLatency, "5 of 100 packets of hall take 340 ms or more over the WLAN and back", |line, _| {
        line.domains.as_mut().expect("there")[0].latency.wlan = times(340.0, 900);
    }),
    (
        Code::ChannelCrowded,
        "60 % of the medium time of packets of hall is more than their reported PHY rates explain",
        |line, _| {
            line.domains.as_mut().expect("there")[0].air_cost = Value::new(2.5, Origin::Measured);
        },
    ),
    (
        Code::InternetLatency,
        "Half of the packets take 200 ms to the Internet and back, and 5 of 100 take 600 ms or more",
        |line, _| totals(line).latency.internet = times(600.0, 90),
    ),
    (
        Code::LostInBox,
        "The box lost 120 packets in the last minute, 100 of them for this reason: ring full",
        |_, facts| {
            facts.counters.losses[LossReason::RingFull] += 100;
            facts.counters.losses[LossReason::PoolFull] += 20;
            facts.counters.losses[LossReason::LinkLocal] += 500;
        },
    ),
    (
        Code::NoFailOpen,
        "The bridge cannot carry the traffic if the box stops: the bridge br0 is down",
        |line, facts| {
            totals(line).fail_open = false;
            facts.fail_open_why = vec!["the bridge br0 is down".into()];
        },
    ),
    (
        Code::GuardBypassed,
        "The guard has bypassed the box, which carried less than the bridge does: 19.5 Mb/s now, 20.0 Mb/s before",
        |line, facts| {
            bypass(line, facts);
            facts.guard.state = GuardState::Bypassed;
            (facts.guard.now_mbps, facts.guard.before_mbps) = (19.5, Some(20.0));
        },
    ),
    (Code::NotManaging, "The box has been bypassed for 33 s, although the last command was to insert it", bypass),
    (
        Code::UnmanagedTraffic,
        "50 % of the traffic of the last minute cannot be read, and is not shared by station",
        |_, facts| {
            facts.counters.received_bytes += 40_000_000;
            facts.counters.unread_bytes += 20_000_000;
        },
    ),
    (Code::CallQuality, "A call of phone has the rating R 55 of at most 93", |line, _| {
        line.calls.as_mut().expect("there")[0].up.r_factor = Some(55.0);
    }),
    (Code::CallsRefused, "1 calls were refused in the last minute, and are not preferred", |_, facts| {
        facts.counters.calls_refused += 1;
    }),
    (Code::TelemetrySilent, "Telemetry of ubus ap-1 has been silent for 95 s: timed out", |_, facts| {
        (facts.telemetry[0].silent_s, facts.telemetry[0].error) = (95.0, Some("timed out".into()));
    }),
    (
        Code::RateReportSetAside,
        "Traffic contradicts the reported rate of desk (54 Mb/s): it is set aside",
        |_, facts| {
            facts.set_aside =
                vec![SetAside { station: "desk".into(), rate_mbps: Some(54.0), source: "ubus ap-1".into() }];
        },
    ),
    (
        Code::AddressContested,
        "4 claims of addresses that other stations use were refused in the last minute",
        |_, facts| facts.counters.addresses_contested += 4,
    ),
    (
        Code::LateLoop,
        "The box was late 7 times in the last minute, so that packets passed it by unmanaged",
        |_, facts| {
            facts.counters.lapses += 7;
        },
    ),
    (Code::HistoryFailing, "The history cannot be written: the last record was lost", |_, facts| {
        facts.is_history_failing = true;
    }),
    (Code::Restarted, "The box has started 42 s ago, after it had ended without being asked to", |_, facts| {
        facts.restarted_s = Some(42.0);
    }),
];

/// A box with a fault in some of the seconds.
struct Course {
    health: Health,
    harm: Harm,
    second: u64,
}

impl Course {
    fn new(harm: Harm) -> Self {
        let mut course = Self { health: Health::default(), harm, second: 0 };
        (0..10).for_each(|_| assert_eq!(course.healthy(1), []));
        course
    }

    fn observe(&mut self, line: &Line, facts: &Facts) -> Vec<Reason> {
        self.second += 1;
        self.health.observe(&Line { at: self.second as f64, ..line.clone() }, facts, &Limits::default())
    }

    fn healthy(&mut self, seconds: u32) -> Vec<Reason> {
        let (line, facts) = healthy();
        (0..seconds).map(|_| self.observe(&line, &facts)).last().unwrap_or_default()
    }

    fn harmed(&mut self, seconds: u32) -> Vec<Reason> {
        let (mut line, mut facts) = healthy();
        (self.harm)(&mut line, &mut facts);
        (0..seconds).map(|_| self.observe(&line, &facts)).last().unwrap_or_default()
    }

    /// Counters keep the fault's counts, which are visible for the 60 s of their window.
    fn after_harm(&mut self) -> Vec<Reason> {
        let (mut line, mut facts) = healthy();
        (self.harm)(&mut line, &mut facts);
        let counters = facts.counters;
        let (line, facts) = healthy();
        self.observe(&line, &Facts { counters, ..facts })
    }
}

fn has(reasons: &[Reason], code: Code) -> bool {
    reasons.iter().any(|reason| reason.code == code)
}

#[test]
fn each_reason_is_raised_after_5_seconds_and_cleared_after_15() {
    for &(code, sentence, harm) in HARMS {
        let mut course = Course::new(harm);
        for second in 1..=60 {
            let reasons = course.harmed(1);
            assert_eq!(has(&reasons, code), second >= RAISED_AFTER, "{code} in second {second}: {reasons:?}");
            let Some(reason) = reasons.iter().find(|reason| reason.code == code) else { continue };
            assert_eq!(reason.since_s, 11.0, "{code}");
            // A station starves, which makes the reason of the one that holds the air "bad" from the next second on.
            let level = if code == Code::HoldsTheAir && second > RAISED_AFTER { Level::Bad } else { code.level() };
            assert_eq!(reason.level, level, "{code} in second {second}");
            // From then on the mean has no second without the fault.
            assert!(second < 10 || reason.sentence == sentence, "{}", reason.sentence);
            assert!(!reason.remedy.is_empty() && !reason.subject.name.is_empty(), "{reason:?}");
        }
        // If a change of mode ends the fault, reasons about the medium are reset.
        for second in 1..=20 {
            let reasons = course.after_harm();
            assert_eq!(has(&reasons, code), second < CLEARED_AFTER, "{code}, {second} s after: {reasons:?}");
        }
    }
}

#[test]
fn every_code_is_tested() {
    // The box raises neither of these.
    let others = [Code::Other, Code::AlertFailing];
    for code in Code::ALL {
        assert_eq!(HARMS.iter().any(|(tested, ..)| tested == code), !others.contains(code), "{code}");
    }
}

#[test]
fn a_harm_has_few_reasons() {
    for &(code, _, harm) in HARMS {
        let reasons = Course::new(harm).harmed(RAISED_AFTER + 1);
        let codes: Vec<_> = reasons.iter().map(|reason| reason.code).collect();
        let expected = match code {
            Code::Starving | Code::HoldsTheAir => vec![Code::HoldsTheAir, Code::Starving],
            _ => vec![code],
        };
        assert_eq!(codes, expected);
        let is_bad = expected.iter().any(|code| code.level() == Level::Bad);
        assert_eq!(HealthStatus::of(reasons).level, if is_bad { Level::Bad } else { Level::Watch });
    }
}

#[test]
fn a_fault_of_4_seconds_is_no_reason() {
    for &(code, _, harm) in HARMS {
        let (mut line, mut facts) = healthy();
        harm(&mut line, &mut facts);
        // Counts stay visible for a minute.
        if facts.counters == Counters::default() {
            let mut course = Course::new(harm);
            for _ in 0..10 {
                assert_eq!((course.harmed(4), course.healthy(1)), (vec![], vec![]), "{code}");
            }
        }
    }
}

fn latency(p95_ms: f64, packets: u64) -> Line {
    let (mut line, _) = healthy();
    line.domains.as_mut().expect("there")[0].latency.wlan = times(p95_ms, packets);
    line
}

/// Seconds until the reason is raised, or cleared.
fn until(course: &mut Course, line: &Line, is_raised: bool) -> u32 {
    let facts = healthy().1;
    (1..=200).find(|_| has(&course.observe(line, &facts), Code::WifiLatency) == is_raised).unwrap_or(u32::MAX)
}

#[test]
fn a_reason_that_returns_stays_for_a_minute() {
    let mut course = Course::new(|_, _| ());
    assert_eq!(
        (until(&mut course, &latency(120.0, 900), true), until(&mut course, &latency(40.0, 900), false)),
        (5, 15)
    );
    course.healthy(500);
    assert_eq!(
        (until(&mut course, &latency(120.0, 900), true), until(&mut course, &latency(40.0, 900), false)),
        (5, 60)
    );
    course.healthy(700);
    assert_eq!(
        (until(&mut course, &latency(120.0, 900), true), until(&mut course, &latency(40.0, 900), false)),
        (5, 15)
    );
}

#[test]
fn near_the_limit_nothing_changes() {
    let mut course = Course::new(|_, _| ());
    assert_eq!(until(&mut course, &latency(95.0, 900), true), u32::MAX, "below the limit");
    until(&mut course, &latency(120.0, 900), true);
    assert_eq!(until(&mut course, &latency(85.0, 900), false), u32::MAX, "above 0.8 of it");
    assert_eq!(until(&mut course, &latency(79.0, 900), false), 15);
}

#[test]
fn seconds_without_information_raise_nothing_and_finally_clear() {
    let mut course = Course::new(|_, _| ());
    assert_eq!(until(&mut course, &latency(500.0, 3), true), u32::MAX, "3 packets");
    for _ in 0..4 {
        until(&mut course, &latency(500.0, 3), false);
        let facts = healthy().1;
        course.observe(&latency(500.0, 900), &facts);
    }
    assert_eq!(until(&mut course, &latency(500.0, 900), true), 1, "the fifth of those that show it");
    assert_eq!(until(&mut course, &latency(500.0, 3), false), 15);
}

#[test]
fn a_change_of_mode_resets_reasons_about_the_medium() {
    let mut course = Course::new(|_, _| ());
    let mut bad = latency(500.0, 900);
    totals(&mut bad).fail_open = false;
    until(&mut course, &bad, true);
    totals(&mut bad).mode = Mode::Observing;
    let codes = |reasons: Vec<Reason>| reasons.iter().map(|reason| reason.code).collect::<Vec<_>>();
    let facts = healthy().1;
    assert_eq!(codes(course.observe(&bad, &facts)), [Code::NoFailOpen]);
    assert_eq!(until(&mut course, &bad, true), 4);
    totals(&mut bad).mode = Mode::Bypassed;
    let facts = Facts { is_insert_commanded: false, ..facts };
    (0..30).for_each(|_| assert_eq!(codes(course.observe(&bad, &facts)), [Code::NoFailOpen], "it sees no traffic"));
}

#[test]
fn an_observing_box_finds_starving_stations_by_goodput_and_advises_to_insert() {
    let mut course = Course::new(|line, facts| {
        starve(line, facts);
        totals(line).mode = Mode::Observing;
        // With assumed rates each is charged the same.
        let stations = stations(line);
        for at in [0, 1] {
            stations[at].air_down = Value::new(0.3, Origin::Charged);
        }
    });
    let reasons = course.harmed(5);
    assert_eq!((reasons.len(), reasons[0].code), (1, Code::Starving));
    assert!(reasons[0].remedy.starts_with("run evenair insert on the box"), "{reasons:?}");
    assert!(reasons[0].sentence.starts_with("annes-laptop starves: it gets "), "{reasons:?}");
}

#[test]
fn a_busy_network_with_equal_shares_is_silent() {
    let mut course = Course::new(|_, _| ());
    let mut random = 1u64;
    let mut part = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 40) as f64 / f64::from(1 << 24)
    };
    for _ in 0..3600 {
        let (mut line, facts) = healthy();
        for station in stations(&mut line) {
            // Shares of a second vary by a third, waits by a factor of four.
            let air = station.air_down.value.expect("known") * (0.7 + 0.6 * part());
            station.air_down = Value::new(air, Origin::Charged);
            station.down_mbps = Value::new(air * 20.0, Origin::Measured);
            station.held = (station.held as f64 * 3.0 * part()) as u64;
            station.latency.wlan = times(30.0 * (0.5 + 3.5 * part()), 300);
        }
        assert_eq!(course.observe(&line, &facts), []);
    }
}

#[test]
fn a_station_that_uses_the_air_alone_is_no_reason() {
    let mut course = Course::new(|_, _| ());
    let (mut line, facts) = healthy();
    *stations(&mut line) = vec![station("bulk", 0.95), station("idle", 0.005), station("mail", 0.01)];
    (0..60).for_each(|_| assert_eq!(course.observe(&line, &facts), []));
    assert_eq!(HealthStatus::of(vec![]).in_short(), "health: good");
}

#[test]
fn a_crowded_channel_is_known_only_by_reported_rates() {
    let mut course = Course::new(|_, _| {});
    let (mut line, facts) = healthy();
    let domain = &mut line.domains.as_mut().expect("there")[0];
    (domain.air_cost, domain.capacity_mbps.source) = (Value::new(2.5, Origin::Measured), Origin::Assumed);
    assert!((0..30).all(|_| course.observe(&line, &facts).is_empty()));
    line.domains.as_mut().expect("there")[0].capacity_mbps.source = Origin::Reported;
    let reasons = (0..30).map(|_| course.observe(&line, &facts)).last().expect("there");
    assert!(has(&reasons, Code::ChannelCrowded), "{reasons:?}");
}

#[test]
fn a_slow_station_that_has_its_share_of_the_air_is_no_reason() {
    let slow = |air: f64| {
        let mut course = Course::new(|_, _| {});
        let (mut line, facts) = healthy();
        *stations(&mut line) = vec![station("slow", air), station("near", 0.2), station("far", 0.2)];
        line.domains.as_mut().expect("there")[0].air_down = Value::new(air + 0.4, Origin::Charged);
        stations(&mut line)[0].rate_mbps = Value::new(6.0, Origin::Reported);
        (0..30).map(|_| course.observe(&line, &facts)).last().expect("there")
    };
    assert_eq!(slow(0.5), []);
    assert!(has(&slow(0.65), Code::SlowLink));
}

#[test]
fn a_station_that_holds_the_air_is_found_though_some_seconds_time_few_packets() {
    let mut course = Course::new(|_, _| {});
    let held = |packets| {
        let mut line = latency(500.0, packets);
        *stations(&mut line) = vec![station("held", 0.8), station("near", 0.05), station("far", 0.05)];
        line.domains.as_mut().expect("there")[0].air_down = Value::new(0.9, Origin::Charged);
        line
    };
    let facts = healthy().1;
    let seconds = [900, 3, 900, 900, 3, 900, 900];
    let [.., last] = seconds.map(|packets| course.observe(&held(packets), &facts));
    assert_eq!(last.iter().map(|reason| reason.code).collect::<Vec<_>>(), [Code::HoldsTheAir, Code::WifiLatency]);
    // Few packets alone are no reason.
    let mut course = Course::new(|_, _| {});
    assert!((0..30).all(|_| course.observe(&held(3), &facts).is_empty()));
}

#[test]
fn latency_waits_for_a_cause_that_is_about_to_be_raised() {
    let first = |holds_from: u32| {
        let (mut course, facts) = (Course::new(|_, _| {}), healthy().1);
        (1..=12).find_map(|second| {
            let mut line = latency(500.0, 900);
            let air = if second >= holds_from { [0.8, 0.05, 0.05] } else { [0.3; 3] };
            *stations(&mut line) =
                ["held", "near", "far"].into_iter().zip(air).map(|(name, air)| station(name, air)).collect();
            line.domains.as_mut().expect("there")[0].air_down = Value::new(0.9, Origin::Charged);
            let reasons = course.observe(&line, &facts);
            reasons.first().map(|reason| (second, reason.code))
        })
    };
    assert_eq!(first(99), Some((5, Code::WifiLatency)));
    assert_eq!(first(3), Some((7, Code::HoldsTheAir)));
    assert_eq!(first(6), Some((5, Code::WifiLatency)), "no cause was in sight");
}

#[test]
fn an_internet_queue_is_found_by_few_packets_of_each_second() {
    let raised = |packets: [u64; 10]| {
        let mut course = Course::new(|_, _| {});
        let (mut line, facts) = healthy();
        let mut seconds = packets.into_iter().map(|packets| {
            totals(&mut line).latency.internet = times(900.0, packets).filter(|_| packets > 0);
            course.observe(&line, &facts)
        });
        seconds.any(|reasons| has(&reasons, Code::InternetLatency))
    };
    assert!(raised([4, 4, 0, 4, 4, 4, 4, 4, 4, 4]), "seconds without one do not end it");
    assert!(!raised([1; 10]), "5 packets in 5 s");
    // A distant server without a queue.
    let (mut far, facts) = healthy();
    totals(&mut far).latency.internet = times(900.0, 4);
    let mut health = Health::default();
    assert!((0..30).all(|_| health.observe(&far, &facts, &Limits::default()).is_empty()));
}

/// An observing box in a room in which two stations alternate in holding the air, and others wait.
fn held_by_two(second: u64) -> Line {
    let more = if second.is_multiple_of(2) { 0.01 } else { -0.01 };
    let parts = [
        ("far", 0.45 + more),
        ("backup", 0.42 + more),
        ("near", 0.06),
        ("mail", 0.05),
        ("idle", 0.001),
        ("off", 0.001),
    ];
    let mut all: Vec<_> = parts.into_iter().map(|(name, air)| station(name, air)).collect();
    for station in &mut all {
        let is_idle = station.held == 0;
        station.latency = Latency { wlan: times(if is_idle { 5.0 } else { 500.0 }, 50), ..Latency::default() };
    }
    let mut line = line(all);
    totals(&mut line).mode = Mode::Observing;
    line.domains.as_mut().expect("there")[0].latency.wlan = times(500.0, 900);
    line
}

#[test]
fn waiting_stations_and_all_holders_of_the_air_are_named_with_means() {
    let mut health = Health::default();
    let facts = healthy().1;
    let reasons = (1..=40).map(|second| health.observe(&held_by_two(second), &facts, &Limits::default())).last();
    let reasons = reasons.expect("there");
    let [held, latency] = &reasons[..] else { panic!("one for both, and that of the latency: {reasons:#?}") };
    assert_eq!((held.code, latency.code), (Code::HoldsTheAir, Code::WifiLatency));
    assert_eq!(held.sentence, "mail and near wait long: far and backup hold 87 % of the air of hall");
    assert_eq!((held.value, held.level), (42.0, Level::Watch));
    let names = |subjects: &[Subject]| subjects.iter().map(|subject| subject.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(&held.with), names(&held.suffering)), (vec!["far".into()], vec!["mail".into(), "near".into()]));
}

#[test]
fn three_of_many_starving_stations_are_named() {
    let mut course = Course::new(|line, _| {
        let mut all: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| station(name, 0.01)).into();
        all.iter_mut().for_each(|station| station.latency.wlan = times(900.0, 30));
        all.push(station("hog", 0.85));
        line.domains.as_mut().expect("there")[0].air_down = Value::new(0.9, Origin::Charged);
        *stations(line) = all;
    });
    let reasons = course.harmed(20);
    assert_eq!(reasons[0].sentence, "a, b, c and 2 more starve: hog holds 85 % of the air of hall");
    assert_eq!((reasons[0].suffering.len(), reasons[0].level), (5, Level::Bad));
}
