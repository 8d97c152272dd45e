use super::*;
use evenair_units::Streams;

const A: StationId = StationId(1);
const B: StationId = StationId(2);
const BELIEVED: Span = Span::from_millis(1);

const fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// A domain in which a run takes 1 ms by the airtime model.
struct Domain {
    costs: Costs,
    now: Instant,
    /// Learned costs of the two stations.
    known: [Cost; 2],
    typical: [Typical; 2],
}

impl Domain {
    fn new() -> Self {
        let now = Instant::ZERO + ms(1);
        let mut costs = Costs::new(now, UNIT);
        costs.begin(now, true);
        Self { costs, now, known: [Cost::default(); 2], typical: [Typical::default(); 2] }
    }

    fn known(&self, station: StationId) -> &Cost {
        &self.known[usize::from(station == B)]
    }

    /// Medium time of a run of a station, by its learned cost.
    fn run(&self, station: StationId) -> Span {
        let (numerator, denominator) = self.costs.ratio(self.known(station));
        self.costs.mean(BELIEVED).mul_div(numerator, denominator)
    }

    /// Completes a quarter of a run after this time, with so many quarters in flight before.
    fn quarter(&mut self, station: StationId, took: Span, in_flight: u64) {
        let medium = self.run(station) / 4;
        self.done(station, took, Load { believed: BELIEVED / 4, medium, shown: medium }, medium * in_flight);
    }

    /// Completes a run.
    fn run_done(&mut self, station: StationId, took: Span) {
        let medium = self.run(station);
        self.done(station, took, Load { believed: BELIEVED, medium, shown: medium }, medium);
    }

    fn done(&mut self, station: StationId, took: Span, own: Load, train: Span) {
        let done = Done { station, own, others: Load::default(), arrived: Instant::ZERO, train };
        self.complete(took, done);
    }

    fn complete(&mut self, took: Span, done: Done) {
        self.now += took;
        self.costs.note_completion(self.now, done);
        self.costs.begin(self.now, true);
        while let Some((id, learned)) = self.costs.take_learned() {
            if let Learned::Cost(cost, weight) = learned {
                self.known[usize::from(id == B)].learn(cost);
                self.typical[usize::from(id == B)].learn(cost, weight);
            }
        }
    }

    /// Notes DATA of a station after this time.
    fn data(&mut self, station: StationId, took: Span) {
        self.now += took;
        let medium = self.run(station);
        self.costs.note_data(self.now, station, Load { believed: BELIEVED, medium, shown: medium });
    }

    fn assert_costs(&self, a: Span, b: Span) {
        assert!(is_near(self.run(A), a, 20), "A: {:?} of {a:?}", self.run(A));
        assert!(is_near(self.run(B), b, 20), "B: {:?} of {b:?}", self.run(B));
        let mean = self.costs.mean(BELIEVED);
        assert!(is_near(mean, (a + b) / 2, 20), "mean: {mean:?}");
    }
}

/// Whether two times differ by at most one part in `part`.
fn is_near(value: Span, expected: Span, part: u64) -> bool {
    value.max(expected) - value.min(expected) <= expected / part
}

#[test]
fn runs_in_turn_show_what_each_station_costs() {
    let mut domain = Domain::new();
    for _ in 0..1_000 {
        domain.run_done(A, ms(4));
        domain.run_done(B, ms(1));
    }
    domain.assert_costs(ms(4), ms(1));
    assert!(domain.costs.slowness().abs_diff(UNIT * 5 / 2) < UNIT / 20);
    // The stations exchange their costs.
    for _ in 0..1_000 {
        domain.run_done(A, ms(1));
        domain.run_done(B, ms(4));
    }
    domain.assert_costs(ms(1), ms(4));
}

#[test]
fn time_measured_as_another_stations_does_not_move_the_typical_cost() {
    let mut domain = Domain::new();
    for _ in 0..1_000 {
        domain.run_done(A, ms(4));
        domain.run_done(B, ms(1));
        domain.run_done(A, ms(4));
        domain.run_done(B, ms(1));
        // The run of A was on the air before the completion of B.
        domain.run_done(B, ms(4));
        domain.run_done(A, ms(1));
    }
    let [mean, typical] = [domain.known, domain.typical.map(|typical| *typical.cost())]
        .map(|costs| costs.map(|cost| domain.costs.mean(BELIEVED).mul_div(domain.costs.ratio(&cost).0, UNIT)));
    assert!(is_near(typical[0], ms(4), 10) && is_near(typical[1], ms(1), 10), "{typical:?}");
    assert!(mean[0] < mean[1] * 2, "the sums have it: {mean:?}");
}

#[test]
fn the_typical_cost_follows_a_change_within_half_of_the_kept_clusters() {
    let mut typical = Typical::default();
    let cost = |took: Span| Cost { took, believed: BELIEVED };
    let mut add = |took: Span, times: usize| {
        (0..times).for_each(|_| typical.learn(cost(took), BELIEVED));
        typical.cost().took.as_nanos() / (typical.cost().believed.as_nanos() / BELIEVED.as_nanos())
    };
    assert_eq!(add(ms(4), RECENT), 4_000_000);
    assert_eq!(add(ms(1), RECENT / 2 - 1), 4_000_000);
    assert_eq!(add(ms(1), 1), 1_000_000);
}

#[test]
fn clusters_of_several_stations_count_by_the_stations_part() {
    let mut typical = Typical::default();
    for _ in 0..8 {
        typical.learn(Cost { took: ms(4), believed: BELIEVED }, BELIEVED);
        typical.learn(Cost { took: ms(1), believed: BELIEVED }, BELIEVED / 4);
        typical.learn(Cost { took: ms(2), believed: BELIEVED }, BELIEVED / 4);
    }
    let cost = *typical.cost();
    assert_eq!((cost.took, cost.believed), (ms(96), BELIEVED * 24));
}

#[test]
fn a_medium_that_waited_for_a_run_was_not_busy() {
    let mut domain = Domain::new();
    for _ in 0..1_000 {
        for (station, cost) in [(A, ms(4)), (B, ms(1))] {
            let medium = domain.run(station);
            let own = Load { believed: BELIEVED, medium, shown: medium };
            let arrived = domain.now + (ms(25) - cost);
            domain.complete(ms(25), Done { station, own, others: Load::default(), arrived, train: medium });
        }
    }
    domain.assert_costs(ms(4), ms(1));
}

#[test]
fn runs_of_several_completions_show_the_same_costs() {
    let mut domain = Domain::new();
    for _ in 0..2_000 {
        (0..4).for_each(|k| domain.quarter(A, ms(1), 4 - k));
        (0..4).for_each(|k| domain.quarter(B, ms(1) / 4, 4 - k));
    }
    domain.assert_costs(ms(4), ms(1));
}

#[test]
fn an_acknowledgment_behind_the_next_run_does_not_swap_the_costs() {
    let soon = Span::from_micros(50);
    for (first, second) in [(A, B), (B, A)] {
        let mut domain = Domain::new();
        for round in 0..2_000 {
            if round < 200 || round % 4 == 0 {
                domain.run_done(A, ms(4));
                domain.run_done(B, ms(1));
            } else {
                domain.run_done(first, ms(5) - soon);
                domain.run_done(second, soon);
            }
        }
        domain.assert_costs(ms(4), ms(1));
    }
}

#[test]
fn a_completion_too_early_for_its_train_joins_the_cluster_before() {
    let mut domain = Domain::new();
    for _ in 0..1_000 {
        domain.run_done(A, ms(4));
        domain.run_done(B, ms(1));
    }
    // The run of A was on the air before the acknowledgment of B came.
    for _ in 0..1_000 {
        domain.run_done(B, ms(4) + ms(1) / 2);
        domain.run_done(A, ms(1) / 2);
    }
    domain.assert_costs(ms(4), ms(1));
}

#[test]
fn time_in_which_the_medium_may_have_been_idle_is_not_measured() {
    let busy = |_: &mut Domain| {};
    let empty = |domain: &mut Domain| domain.costs.begin(domain.now, false);
    let starve = |domain: &mut Domain| domain.costs.starve();
    let learned = |before: &dyn Fn(&mut Domain), took: u64| {
        let mut domain = Domain::new();
        for _ in 0..200 {
            before(&mut domain);
            domain.run_done(A, ms(took));
        }
        let nothing = domain.costs.slowness() == UNIT && *domain.known(A) == Cost::default();
        assert!(nothing || domain.costs.slowness() > UNIT * 3);
        !nothing
    };
    assert!(!learned(&empty, 4), "nothing is in flight");
    assert!(!learned(&starve, 4), "the box has nothing to release");
    assert!(!learned(&busy, 201), "an outage");
    assert!(learned(&busy, 4) && learned(&busy, 199));
}

#[test]
fn a_cluster_with_a_void_interval_is_not_measured() {
    let mut domain = Domain::new();
    for _ in 0..200 {
        domain.costs.starve();
        domain.run_done(A, ms(4));
        domain.run_done(B, Span::from_micros(50));
    }
    assert_eq!((domain.costs.slowness(), domain.known), (UNIT, [Cost::default(); 2]));
}

#[test]
fn the_initial_estimate_is_soon_outweighed() {
    for believed in [UNIT / 64, UNIT, UNIT * 4] {
        let mut domain = Domain::new();
        domain.costs.set(believed);
        (0..50).for_each(|_| domain.run_done(A, ms(2)));
        let early = domain.costs.mean(BELIEVED);
        assert!(is_near(early, ms(2), 2), "after 100 ms: {early:?}");
        (0..450).for_each(|_| domain.run_done(A, ms(2)));
        let late = domain.costs.mean(BELIEVED);
        assert!(is_near(late, ms(2), 20), "after 1 s: {late:?}");
    }
}

#[test]
fn a_medium_much_faster_than_the_model_is_recognised() {
    for part in [5, 50] {
        let mut domain = Domain::new();
        let took = ms(1) / part;
        (0..3_000 * part).for_each(|_| domain.run_done(A, took));
        assert!(is_near(domain.costs.mean(BELIEVED), took, 20), "{:?} of {took:?}", domain.costs.mean(BELIEVED));
        assert!(is_near(domain.run(A), took, 20));
    }
}

#[test]
fn an_unknown_station_has_the_mean_cost() {
    let mut domain = Domain::new();
    (0..500).for_each(|_| domain.run_done(A, ms(2)));
    assert_eq!(domain.run(B), domain.costs.mean(BELIEVED));
    domain.known[1].learn(Cost { took: ms(3), believed: ms(30) });
    assert_eq!(domain.costs.ratio(domain.known(B)), (1, 1), "of 3 ms nothing follows");
    domain.known[1].learn(Cost { took: ms(3), believed: ms(30) });
    assert!(is_near(domain.run(B), ms(1) / 10, 20), "{:?}", domain.run(B));
    domain.known[1] = Cost { took: ms(80), believed: Span::from_nanos(1) };
    assert_eq!(domain.costs.ratio(domain.known(B)), (64 * UNIT, UNIT), "no station costs more");
}

#[test]
fn undisturbed_time_follows_the_quick_quarter() {
    for seed in 1..=5 {
        let mut rng = Streams::new(seed).stream("costs");
        let mut domain = Domain::new();
        let (mut sum, mut count) = (0, 0);
        for round in 0..20_000 {
            // Between 1 and 2 ms: a quarter takes less than 1.25 ms, of 1.5 ms on average.
            domain.run_done(A, Span::from_nanos(1_000_000 + rng.below(1_000_000)));
            if round >= 2_000 {
                sum += domain.costs.undisturbed(ms(3) / 2).as_nanos();
                count += 1;
            }
        }
        let mean = Span::from_nanos(sum / count);
        assert!(is_near(mean, ms(5) / 4, 20), "{mean:?}");
    }
}

#[test]
fn a_medium_without_others_is_hardly_quicker_than_the_mean() {
    let mut domain = Domain::new();
    for _ in 0..1_000 {
        domain.run_done(A, ms(2));
        let undisturbed = domain.costs.undisturbed(ms(2));
        assert!((ms(2) * 4 / 5..=ms(2)).contains(&undisturbed), "{undisturbed:?}");
    }
}

#[test]
fn uploads_have_their_part_of_a_run_whose_acknowledgment_follows_them() {
    let mut domain = Domain::new();
    for round in 0..4_000 {
        if round % 2 == 0 {
            domain.run_done(A, ms(3));
        } else {
            domain.data(B, ms(4) - ms(1) / 2);
            domain.run_done(A, ms(1) / 2);
        }
    }
    assert!(is_near(domain.run(A), ms(3), 20), "A: {:?}", domain.run(A));
    assert!(is_near(domain.run(B), ms(1), 10), "B: {:?}", domain.run(B));
}

#[test]
fn data_of_one_access_belong_to_the_completion_they_come_with() {
    let mut domain = Domain::new();
    for _ in 0..2_000 {
        domain.run_done(A, ms(2));
        domain.data(A, Span::ZERO);
        domain.run_done(B, ms(2));
    }
    assert!(is_near(domain.run(A), ms(1), 20), "A: {:?}, half of it DATA", domain.run(A));
    assert!(is_near(domain.run(B), ms(2), 20), "B: {:?}", domain.run(B));
}
