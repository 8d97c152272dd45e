use alloc::collections::VecDeque;

use super::*;
use crate::Config;
use crate::stations::Stations;
use crate::stations::access_points::Table;
use evenair_packet::MacAddr;
use evenair_wifi::adwiser_80211b;

/// Identifiers of so many stations.
fn stations(count: u8) -> Vec<StationId> {
    let config = Config::new(adwiser_80211b());
    let models = config.airtime_models(&Table::of(&[]));
    let mut all = Stations::new(config.default_rate, &config.stations, &models, Instant::ZERO);
    (0..count).map(|n| all.learn(MacAddr([2, 0, 0, 0, 0, n]), &models, Instant::ZERO).expect("room")).collect()
}

/// A medium that serves stations by their assumed airtimes.
struct Medium {
    ids: Vec<StationId>,
    observed: Observed,
    /// Airtime that each station has had, in ns.
    tags: Vec<u64>,
    now: Instant,
    number: u64,
    unanswered: VecDeque<u64>,
}

impl Medium {
    fn new(count: usize) -> Self {
        Self {
            ids: stations(count as u8),
            observed: Observed::default(),
            tags: alloc::vec![0; count],
            now: Instant::ZERO,
            number: 0,
            unanswered: VecDeque::new(),
        }
    }

    /// Each packet takes `real` times the assumed airtime, in tenths; completions come `late` packets late.
    fn run(&mut self, real: &[u64], leaning: bool, late: usize, span: Span) {
        let packet = |at: usize| Span::from_micros(400 + 100 * at as u64);
        let until = self.now + span;
        while self.now < until {
            let at = (0..real.len()).min_by_key(|&at| self.tags[at]).expect("a station");
            let (charged, of) = if leaning { self.observed.lean(self.ids[at], self.now) } else { (1, 1) };
            self.tags[at] += packet(at).as_nanos() * charged / of;
            self.number += 1;
            self.observed.release(self.number, self.ids[at], packet(at));
            self.now += packet(at).mul_div(real[at], 10);
            self.unanswered.push_back(self.number);
            if self.unanswered.len() > late
                && let Some(number) = self.unanswered.pop_front()
            {
                let _ = self.observed.answer(self.now, number);
            }
        }
    }

    /// Estimated costs by station, in tenths of the first station's.
    fn seen(&self) -> Vec<Option<u64>> {
        let costs = self.observed.costs();
        let cost = |id| costs.iter().find(|cost| cost.station == id && cost.is_precise()).map(|cost| cost.cost);
        let first = cost(self.ids[0]);
        self.ids.iter().map(|&id| Some((cost(id)? * 10 + first? / 2) / first?)).collect()
    }

    /// Whether the estimates are these costs, to a third.
    fn sees(&self, real: &[u64]) -> bool {
        let seen = self.seen();
        let is_near = |(seen, real): (&Option<u64>, &u64)| seen.is_some_and(|seen| seen.abs_diff(*real) * 3 <= *real);
        seen.iter().zip(real).all(is_near)
    }
}

/// The estimates after so many seconds.
fn run(real: &[u64], leaning: bool, late: usize, seconds: u64) -> Vec<Option<u64>> {
    let mut medium = Medium::new(real.len());
    medium.run(real, leaning, late, Span::from_secs(seconds));
    medium.seen()
}

#[test]
fn costs_are_found_within_seconds_also_with_late_completions() {
    for late in 0..4 {
        for real in [&[10, 10][..], &[10, 40, 20, 10]] {
            let mut medium = Medium::new(real.len());
            medium.run(real, true, late, Span::from_secs(8));
            assert!(medium.sees(real), "{:?} of {real:?}, {late} late", medium.seen());
        }
    }
}

#[test]
fn nine_stations_are_distinguished_and_a_change_is_followed() {
    let before = [10, 10, 10, 20, 20, 20, 60, 60, 60];
    let mut medium = Medium::new(before.len());
    medium.run(&before, true, 2, Span::from_secs(22));
    assert!(medium.sees(&before), "{:?}", medium.seen());
    let mut after = before;
    after[1] = 60;
    after[7] = 10;
    medium.run(&after, true, 2, Span::from_secs(22));
    assert!(medium.sees(&after), "{:?}", medium.seen());
}

#[test]
fn the_dither_shrinks_once_costs_are_known() {
    let mut medium = Medium::new(3);
    medium.run(&[10, 20, 40], true, 1, Span::from_millis(500));
    let first = medium.observed.lean;
    medium.run(&[10, 20, 40], true, 1, Span::from_secs(20));
    let later = medium.observed.lean;
    assert!(later.0 * first.1 < first.0 * later.1, "{later:?} after {first:?}");
    // Nor is there a dither without acknowledgments.
    let silence = medium.now + Span::from_secs(2);
    assert_eq!(medium.observed.lean(medium.ids[0], silence), (1, 1));
}

/// While little is known over each pair of intervals, later over a whole sequence.
#[test]
fn the_dither_takes_no_stations_share() {
    for (learned, over) in [(2, 2), (SEQUENCE_BITS * 4, SEQUENCE_BITS)] {
        let mut medium = Medium::new(4);
        medium.run(&[10; 4], true, 1, STRETCH * learned);
        let mut shares = [0_u64; 4];
        let begins = STRETCH * (stretch_of(medium.now) + stretch_of(medium.now) % 2);
        for stretch in 0..over {
            let now = Instant::ZERO + begins + STRETCH * stretch;
            medium.observed.answered = now;
            for (share, &id) in shares.iter_mut().zip(&medium.ids) {
                let (charged, of) = medium.observed.lean(id, now);
                *share += 1_000_000 * charged / of;
            }
        }
        assert!(shares.iter().all(|share| share.abs_diff(shares[0]) <= 2 * over), "{shares:?}");
    }
}

#[test]
fn an_assumed_rate_of_a_station_changes_its_unit_but_not_its_cost() {
    let mut medium = Medium::new(2);
    let measure = |us| Some(Measure { full_size: Span::from_micros(us), is_reported: false });
    medium.observed.measure_in(|_| measure(1_000));
    medium.run(&[10, 30], true, 1, Span::from_secs(8));
    medium.observed.measure_in(|_| measure(1_000));
    assert!(medium.sees(&[10, 30]), "{:?}", medium.seen());
    let (first, second) = (medium.ids[0], medium.ids[1]);
    medium.observed.measure_in(|id| measure(if id == second { 3_000 } else { 1_000 }));
    assert!(medium.sees(&[10, 10]), "{:?}", medium.seen());
    // A station in another domain has no row any more.
    medium.observed.measure_in(|id| measure(1_000).filter(|_| id == first));
    assert!(!medium.observed.rows.contains_key(&second));
}

#[test]
fn nothing_is_concluded_from_a_constant_mixture() {
    // The canary of the dither. Two stations alternate, with completions a packet late: each would look like the other.
    let seen = run(&[10, 40], false, 1, 40);
    assert!(seen.iter().any(Option::is_none), "{seen:?}");
}

#[test]
fn nothing_is_known_at_first() {
    let mut medium = Medium::new(4);
    medium.run(&[10, 40, 20, 10], true, 1, Span::from_millis(300));
    assert_eq!(medium.seen(), [None; 4]);
}

#[test]
fn more_stations_than_rows_share_one_and_idle_ones_make_room() {
    let ids = stations(40);
    let mut observed = Observed::default();
    let (mut now, mut number) = (Instant::ZERO, 0);
    let mut serve = |observed: &mut Observed, ids: &[StationId], seconds: u64| {
        let until = now + Span::from_secs(seconds);
        while now < until {
            number += 1;
            observed.release(number, ids[number as usize % ids.len()], Span::from_millis(1));
            now += Span::from_millis(1);
            let _ = observed.answer(now, number);
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
fn pauses_do_not_count_as_medium_time() {
    let ids = stations(1);
    let mut observed = Observed::default();
    let mut now = Instant::ZERO;
    for number in 1..4_000 {
        observed.release(number, ids[0], Span::from_millis(2));
        now += Span::from_millis(2);
        let _ = observed.answer(now, number);
        if number % 100 == 0 {
            // Nothing to send, or an outage.
            now += if number % 200 == 0 { Span::from_millis(30) } else { Span::from_secs(2) };
            if number % 200 == 0 {
                observed.lose();
            }
        }
    }
    let [cost] = observed.costs()[..] else { panic!("known") };
    assert!(cost.cost.abs_diff(1 << 16) < 1 << 10, "{cost:?}");
}
