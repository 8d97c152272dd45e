use alloc::collections::VecDeque;

use super::*;
use crate::Config;
use crate::access_points::Table;
use crate::station::Stations;
use evenair_packet::MacAddr;
use evenair_wifi::adwiser_80211b;

/// Identifiers of so many stations.
fn stations(count: u8) -> Vec<StationId> {
    let config = Config::new(adwiser_80211b());
    let models = config.airtime_models(&Table::of(&[]));
    let mut all = Stations::new(config.default_rate, &config.stations, &models, Instant::ZERO);
    (0..count).map(|n| all.learn(MacAddr([2, 0, 0, 0, 0, n]), &models, Instant::ZERO).expect("room")).collect()
}

/// A medium that serves stations by their reported airtimes, each packet really taking `real` times that (in
/// tenths); answers are `late` packets late. What is known of their costs after so many seconds, by station, in
/// tenths of the first's.
fn run(real: &[u64], leaning: bool, late: usize, seconds: u64) -> Vec<Option<u64>> {
    let ids = stations(real.len() as u8);
    let packet = |at: usize| Span::from_micros(1_000 + 700 * at as u64);
    let mut observed = Observed::default();
    let mut tags = alloc::vec![0_u64; real.len()];
    let (mut now, mut number, mut unanswered) = (Instant::ZERO, 0, VecDeque::new());
    while now < Instant::ZERO + Span::from_secs(seconds) {
        let at = (0..real.len()).min_by_key(|&at| tags[at]).expect("a station");
        let (more, less) = if leaning { lean(ids[at], now) } else { (1, 1) };
        tags[at] += packet(at).as_nanos() * more / less;
        number += 1;
        observed.release(number, ids[at], packet(at));
        now += packet(at).mul_div(real[at], 10);
        unanswered.push_back(number);
        if unanswered.len() > late
            && let Some(number) = unanswered.pop_front()
        {
            observed.answer(now, number);
        }
    }
    let costs = observed.costs();
    let cost = |id| costs.iter().find(|cost| cost.station == id).map(|cost| cost.cost);
    let first = cost(ids[0]);
    ids.iter().map(|&id| Some((cost(id)? * 10 + first? / 2) / first?)).collect()
}

#[test]
fn costs_are_seen_whatever_answers_do() {
    for late in 0..4 {
        assert_eq!(run(&[10, 10], true, late, 40), [Some(10), Some(10)], "{late}");
        let seen = run(&[10, 40, 20, 10], true, late, 40);
        for (seen, real) in seen.iter().zip([10, 40, 20, 10]) {
            let seen = seen.expect("known");
            assert!(seen.abs_diff(real) * 5 <= real, "{seen} of {real}, {late} late");
        }
    }
}

#[test]
fn nothing_is_concluded_from_a_mixture_that_is_always_the_same() {
    // The canary of leaning. Two that take turns, with answers a packet late: each would look like the other.
    let seen = run(&[10, 40], false, 1, 40);
    assert!(seen.iter().any(Option::is_none), "{seen:?}");
}

#[test]
fn nothing_is_known_at_first() {
    assert_eq!(run(&[10, 40], true, 0, 3), [None, None]);
}

#[test]
fn more_stations_than_are_distinguished_are_lumped_and_those_that_rest_make_room() {
    let ids = stations(40);
    let mut observed = Observed::default();
    let (mut now, mut number) = (Instant::ZERO, 0);
    let mut serve = |observed: &mut Observed, ids: &[StationId], seconds: u64| {
        let until = now + Span::from_secs(seconds);
        while now < until {
            number += 1;
            observed.release(number, ids[number as usize % ids.len()], Span::from_millis(1));
            now += Span::from_millis(1);
            observed.answer(now, number);
        }
    };
    serve(&mut observed, &ids, 10);
    assert_eq!((observed.rows.len(), observed.owners.len()), (MOST, MOST + 1));
    let others = ids.iter().find(|id| !observed.rows.contains_key(id)).copied().expect("one of the others");
    serve(&mut observed, &[others], 400);
    assert!(observed.rows.contains_key(&others));
    assert_eq!((observed.rows.len(), observed.owners.len()), (MOST, MOST + 1));
}

#[test]
fn pauses_are_not_taken_for_work() {
    let ids = stations(1);
    let mut observed = Observed::default();
    let mut now = Instant::ZERO;
    for number in 1..4_000 {
        observed.release(number, ids[0], Span::from_millis(2));
        now += Span::from_millis(2);
        observed.answer(now, number);
        if number % 100 == 0 {
            // Nothing to send; or an outage.
            now += if number % 200 == 0 { Span::from_millis(30) } else { Span::from_secs(2) };
            if number % 200 == 0 {
                observed.lose();
            }
        }
    }
    let [cost] = observed.costs()[..] else { panic!("known") };
    assert!(cost.cost.abs_diff(1 << 16) < 1 << 10, "{cost:?}");
}
