use super::*;
use alloc::collections::VecDeque;

const TARGET: Span = Span::from_millis(3);
const EACH: Span = Span::from_millis(2);

fn at(us: u64) -> Instant {
    Instant::ZERO + Span::from_micros(us)
}

fn is_ready(standing: &mut Standing, now: Instant) -> bool {
    standing.reckon(now);
    standing.ready_at(Allowance::Target(TARGET), Next { own: EACH, in_run: false }) <= now
}

fn answer(standing: &mut Standing, now: Instant, mark: Mark) {
    standing.answer(now, mark, StationId(3), &mut Paced::default());
}

/// Releases all packets that may be released now.
fn fill(standing: &mut Standing, now: Instant, asks: bool) -> VecDeque<Mark> {
    let mut marks = VecDeque::new();
    while is_ready(standing, now) {
        // All are of one flow.
        let previous = Mark::new(standing.in_flight.next() - 1, asks);
        marks.push_back(standing.note_release(now, EACH, asks, Some(previous)));
    }
    marks
}

#[test]
fn the_target_is_in_flight_and_an_acknowledgment_makes_room() {
    let mut standing = Standing::new(1, at(0));
    let marks = fill(&mut standing, at(0), true);
    assert_eq!(marks.len(), 3, "6 ms stand; with two, 4 ms are less than 3 + 2");
    answer(&mut standing, at(2_000), marks[0]);
    assert_eq!(fill(&mut standing, at(2_000), true).len(), 1);
    // All three have left when the third is acknowledged, whatever became of the second.
    answer(&mut standing, at(4_000), marks[2]);
    assert_eq!(fill(&mut standing, at(4_000), true).len(), 2);
    answer(&mut standing, at(4_500), marks[1]);
    assert!(fill(&mut standing, at(4_500), true).is_empty(), "an old answer is none");
}

#[test]
fn beside_a_flood_the_same_is_in_flight() {
    let mut standing = Standing::new(1, at(0));
    standing.note_flood(Span::from_micros(1_000), Span::from_micros(1_000));
    let marks = fill(&mut standing, at(0), true);
    assert_eq!(marks.len(), 3, "or the access point has nothing to send when its turn comes");
    answer(&mut standing, at(4_000), marks[0]);
    assert_eq!(fill(&mut standing, at(4_000), true).len(), 1);
}

#[test]
fn unacknowledged_packets_leave_by_time() {
    let mut standing = Standing::new(1, at(0));
    let mut released = 0;
    for us in (0..1_000_000).step_by(100) {
        released += fill(&mut standing, at(us), false).len();
    }
    // Nine tenths of the 500 packets that a second has room for.
    assert!((445..=460).contains(&released), "{released}");
}

/// Releases all that may be released in these seconds, with no acknowledgments; returns how many packets.
fn unanswered(standing: &mut Standing, seconds: core::ops::Range<u64>, said: RatesSaid) -> usize {
    let mut released = 0;
    for us in (seconds.start * 1_000_000..seconds.end * 1_000_000).step_by(100) {
        released += fill(standing, at(us), false).len();
        if us % 500_000 == 0 {
            standing.forget_speed(at(us), Ratio::ONE, said);
        }
    }
    released
}

#[test]
fn a_higher_speed_is_tried_while_packets_wait_and_rates_are_unreported() {
    let mut standing = Standing::new(1, at(0));
    assert!(unanswered(&mut standing, 0..5, RatesSaid::All) < 2_300, "it is said: 450 in a second");
    let mut standing = Standing::new(1, at(0));
    unanswered(&mut standing, 0..5, RatesSaid::NotAll);
    assert!(unanswered(&mut standing, 5..6, RatesSaid::NotAll) > 10_000, "nothing says that it is slow");
    // Now there is room for all arrivals, as long as some come, and no longer.
    let found = standing.speed();
    for second in 6..9 {
        standing.note_release(at(second * 1_000_000), EACH, false, None);
        standing.starve();
        standing.forget_speed(at(second * 1_000_000), Ratio::ONE, RatesSaid::NotAll);
    }
    assert_eq!(standing.speed(), found);
    for second in 9..40 {
        standing.forget_speed(at(second * 1_000_000), Ratio::ONE, RatesSaid::NotAll);
    }
    assert!(standing.speed().denominator > UNIT * 9 / 10, "{:?}", standing.speed());
}

#[test]
fn a_late_acknowledgment_ends_the_trial_and_a_prompt_one_does_not() {
    let mut standing = Standing::new(1, at(0));
    unanswered(&mut standing, 0..5, RatesSaid::NotAll);
    let tried = standing.speed();
    let mark = standing.note_release(at(5_000_000), EACH, true, None);
    standing.hear(at(5_010_000), Span::ZERO);
    answer(&mut standing, at(5_010_000), mark);
    standing.reckon(at(5_200_000));
    assert_eq!(standing.speed(), tried, "prompt");
    standing.note_release(at(5_200_000), EACH, true, None);
    standing.reckon(at(5_260_000));
    assert_eq!(standing.speed(), Ratio { numerator: UNIT, denominator: UNIT }, "late");
    assert!(unanswered(&mut standing, 6..9, RatesSaid::NotAll) < 1_400, "and it is not tried again at once");
}

#[test]
fn releases_nearly_stop_when_nothing_is_heard_and_resume_at_once() {
    let mut standing = Standing::new(1, at(0));
    let mut in_second = |from: u64, heard: bool| {
        let mut released = 0;
        for us in (from * 1_000_000..(from + 1) * 1_000_000).step_by(1_000) {
            if heard {
                standing.hear(at(us), Span::ZERO);
            }
            released += fill(&mut standing, at(us), true).len();
        }
        released
    };
    // Other packets are heard, and only acknowledgments are missing: the access point works.
    assert!(in_second(0, true) > 400);
    let (first, second) = (in_second(1, false), in_second(2, false));
    assert!((100..160).contains(&first), "{first}: a quarter");
    assert!((20..30).contains(&second), "{second}: a twentieth");
    assert!(in_second(3, true) > 400);
}

#[test]
fn the_deadline_is_the_instant_at_which_a_packet_may_go() {
    for asks in [false, true] {
        let mut standing = Standing::new(1, at(0));
        fill(&mut standing, at(0), asks);
        for _ in 0..1_000 {
            let deadline = standing.ready_at(Allowance::Target(TARGET), Next { own: EACH, in_run: false });
            assert!(!is_ready(&mut standing, deadline.saturating_sub(Span::from_micros(100))));
            assert!(!fill(&mut standing, deadline, asks).is_empty());
        }
    }
}

#[test]
fn the_speed_of_the_medium_is_learned() {
    let mut standing = Standing::new(1, at(0));
    let mut waiting = VecDeque::new();
    let mut serve = |standing: &mut Standing, from: u64, each_us: u64| {
        for us in (from..from + 3_000_000).step_by(each_us as usize) {
            waiting.extend(fill(standing, at(us), true));
            if let Some(mark) = waiting.pop_front() {
                standing.hear(at(us), Span::ZERO);
                answer(standing, at(us), mark);
            }
        }
        let speed = standing.speed();
        speed.denominator * 1_000 / speed.numerator
    };
    assert!(serve(&mut standing, 0, 2_000).abs_diff(1_000) < 20);
    assert!(serve(&mut standing, 3_000_000, 8_000).abs_diff(4_000) < 200);
    assert!(serve(&mut standing, 6_000_000, 1_000).abs_diff(500) < 20);
}
