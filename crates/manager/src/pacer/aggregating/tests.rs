use super::*;
use alloc::collections::VecDeque;

use crate::ids::DomainId;

/// 1 ms less is enough where the lag is zero.
const TARGET: Span = Span::from_millis(4);
const EACH: Span = Span::from_millis(2);
const STATION: StationId = StationId(3);

fn at(us: u64) -> Instant {
    Instant::ZERO + Span::from_micros(us)
}

fn is_ready(account: &mut Aggregating, now: Instant) -> bool {
    account.reckon(now);
    account.ready_at(Allowance::Target(TARGET), Next { own: EACH, in_run: false }) <= now
}

/// An account of a path whose lag was measured as zero.
fn prompt() -> Aggregating {
    let mut lag = Lag::new(at(0));
    lag.expire(at(300_000), true, true);
    lag.expire(at(300_000), true, false);
    lag.note_release(at(300_000), 0, EACH, true);
    lag.note_completion(at(300_000), 0, false);
    Aggregating { lag, ..Aggregating::new(Mark::first(DomainId::DEFAULT), at(0)) }
}

/// Releases a packet to the only station.
fn release(account: &mut Aggregating, now: Instant, due: bool, previous: Option<Mark>) -> Mark {
    let packet = Release {
        unanswerable: false,
        airtime: EACH,
        for_data: Span::ZERO,
        is_sure: false,
        managed: true,
        due,
        previous,
        station: Some(STATION),
    };
    account.release(now, packet, Some(&mut Paced::default()))
}

fn answer(account: &mut Aggregating, now: Instant, mark: Mark) {
    account.answer(now, mark, STATION, &mut Paced::default());
}

/// The slowness, in thousandths.
fn slowness(account: &Aggregating) -> u64 {
    let speed = account.speed();
    speed.denominator * 1_000 / speed.numerator
}

/// Releases all packets that may be released now.
fn fill(account: &mut Aggregating, now: Instant, asks: bool) -> VecDeque<Mark> {
    let mut marks = VecDeque::new();
    while is_ready(account, now) {
        // All are of one flow.
        let previous = Mark::new(account.in_flight.next() - 1, asks);
        marks.push_back(release(account, now, asks, Some(previous)));
    }
    marks
}

#[test]
fn the_target_is_in_flight_and_an_acknowledgment_makes_room() {
    let mut account = prompt();
    let marks = fill(&mut account, at(0), true);
    assert_eq!(marks.len(), 3, "6 ms stand; with two, 4 ms are less than 3 + 2");
    answer(&mut account, at(2_000), marks[0]);
    assert_eq!(fill(&mut account, at(2_000), true).len(), 1);
    // All three have left when the third is acknowledged, whatever became of the second.
    answer(&mut account, at(4_000), marks[2]);
    assert_eq!(fill(&mut account, at(4_000), true).len(), 2);
    answer(&mut account, at(4_500), marks[1]);
    assert!(fill(&mut account, at(4_500), true).is_empty(), "an old answer is none");
}

#[test]
fn beside_a_flood_the_same_is_in_flight() {
    let mut account = prompt();
    account.note_flood(Span::from_micros(1_000), Span::from_micros(1_000));
    let marks = fill(&mut account, at(0), true);
    assert_eq!(marks.len(), 3, "or the access point has nothing to send when its turn comes");
    answer(&mut account, at(4_000), marks[0]);
    assert_eq!(fill(&mut account, at(4_000), true).len(), 1);
}

#[test]
fn unacknowledged_packets_leave_by_time() {
    let mut account = prompt();
    let mut released = 0;
    for us in (0..1_000_000).step_by(100) {
        released += fill(&mut account, at(us), false).len();
    }
    // Nine tenths of the 500 packets that a second has room for.
    assert!((445..=460).contains(&released), "{released}");
}

/// Releases all that may be released in these seconds, with no acknowledgments; returns how many packets.
fn unanswered(account: &mut Aggregating, seconds: core::ops::Range<u64>, said: RatesSaid) -> usize {
    let mut released = 0;
    for us in (seconds.start * 1_000_000..seconds.end * 1_000_000).step_by(100) {
        released += fill(account, at(us), false).len();
        if us % 500_000 == 0 {
            account.forget_speed(at(us), Ratio::ONE, said);
        }
    }
    released
}

#[test]
fn a_higher_speed_is_tried_while_packets_wait_and_rates_are_unreported() {
    let mut account = prompt();
    assert!(unanswered(&mut account, 0..5, RatesSaid::All) < 2_300, "it is said: 450 in a second");
    let mut account = prompt();
    unanswered(&mut account, 0..5, RatesSaid::NotAll);
    assert!(unanswered(&mut account, 5..6, RatesSaid::NotAll) > 10_000, "nothing says that it is slow");
    // Now there is room for all arrivals, as long as some come, and no longer.
    let found = account.speed();
    for second in 6..9 {
        release(&mut account, at(second * 1_000_000), false, None);
        account.starve();
        account.forget_speed(at(second * 1_000_000), Ratio::ONE, RatesSaid::NotAll);
    }
    assert_eq!(account.speed(), found);
    for second in 9..40 {
        account.forget_speed(at(second * 1_000_000), Ratio::ONE, RatesSaid::NotAll);
    }
    assert!(slowness(&account) > 900, "{:?}", account.speed());
}

#[test]
fn a_late_acknowledgment_ends_the_trial_and_a_prompt_one_does_not() {
    let mut account = prompt();
    unanswered(&mut account, 0..5, RatesSaid::NotAll);
    let tried = account.speed();
    let mark = release(&mut account, at(5_000_000), true, None);
    account.hear(at(5_010_000), Span::ZERO);
    answer(&mut account, at(5_010_000), mark);
    account.reckon(at(5_200_000));
    assert_eq!(account.speed(), tried, "prompt");
    release(&mut account, at(5_200_000), true, None);
    account.reckon(at(5_260_000));
    assert_eq!(slowness(&account), 1_000, "late");
    assert!(unanswered(&mut account, 6..9, RatesSaid::NotAll) < 1_400, "and it is not tried again at once");
}

#[test]
fn releases_nearly_stop_when_nothing_is_heard_and_resume_at_once() {
    let mut account = prompt();
    let mut in_second = |from: u64, heard: bool| {
        let mut released = 0;
        for us in (from * 1_000_000..(from + 1) * 1_000_000).step_by(1_000) {
            if heard {
                account.hear(at(us), Span::ZERO);
            }
            released += fill(&mut account, at(us), true).len();
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
        let mut account = prompt();
        fill(&mut account, at(0), asks);
        for _ in 0..1_000 {
            let deadline = account.ready_at(Allowance::Target(TARGET), Next { own: EACH, in_run: false });
            assert!(!is_ready(&mut account, deadline.saturating_sub(Span::from_micros(100))));
            assert!(!fill(&mut account, deadline, asks).is_empty());
        }
    }
}

#[test]
fn the_speed_of_the_medium_is_learned() {
    let mut account = prompt();
    let mut waiting = VecDeque::new();
    let mut serve = |account: &mut Aggregating, from: u64, each_us: u64| {
        for us in (from..from + 3_000_000).step_by(each_us as usize) {
            waiting.extend(fill(account, at(us), true));
            if let Some(mark) = waiting.pop_front() {
                account.hear(at(us), Span::ZERO);
                answer(account, at(us), mark);
            }
        }
        slowness(account)
    };
    assert!(serve(&mut account, 0, 2_000).abs_diff(1_000) < 20);
    assert!(serve(&mut account, 3_000_000, 8_000).abs_diff(4_000) < 200);
    assert!(serve(&mut account, 6_000_000, 1_000).abs_diff(500) < 20);
}

#[test]
fn a_fixed_limit_bounds_all_in_flight_whatever_the_lag() {
    for (limit_ms, packets) in [(1, 2), (9, 6), (20, 11)] {
        let mut account = Aggregating::new(Mark::first(DomainId::DEFAULT), at(0));
        let next = Next { own: EACH, in_run: false };
        while account.ready_at(Allowance::Fixed(Span::from_millis(limit_ms)), next) <= at(0) {
            release(&mut account, at(0), true, None);
        }
        assert_eq!(account.in_flight.count(), packets, "{limit_ms} ms and the next packet's own 2");
    }
}

#[test]
fn a_run_that_has_begun_is_finished() {
    let mut account = prompt();
    fill(&mut account, at(0), true);
    assert!(account.ready_at(Allowance::Target(TARGET), Next { own: EACH, in_run: false }) > at(0));
    assert_eq!(account.ready_at(Allowance::Target(TARGET), Next { own: EACH, in_run: true }), at(0));
}

/// An access point that serves each packet in [`EACH`], with completions that come later by `lag`. Returns the packets served in a second,
/// between the fifth and the twentieth, and the measured lag.
fn behind(lag: Span) -> (u64, Span) {
    let mut account = Aggregating::new(Mark::first(DomainId::DEFAULT), at(0));
    let mut paced = Paced::default();
    let (mut under_way, mut previous, mut free, mut served) = (VecDeque::new(), None, at(0), 0);
    for us in (0..20_000_000).step_by(50) {
        let now = at(us);
        if us % 500_000 == 0 {
            account.forget_speed(now, Ratio::ONE, RatesSaid::All);
        }
        while let Some((_, mark)) = under_way.front().copied().filter(|(done, _)| *done + lag <= now) {
            under_way.pop_front();
            account.hear(now, Span::ZERO);
            account.answer(now, mark, STATION, &mut paced);
            served += u64::from(us >= 5_000_000);
        }
        while is_ready(&mut account, now) {
            let packet = Release {
                unanswerable: false,
                airtime: EACH,
                for_data: Span::ZERO,
                is_sure: false,
                managed: true,
                due: true,
                previous,
                station: Some(STATION),
            };
            let mark = account.release(now, packet, Some(&mut paced));
            previous = Some(mark);
            free = free.max(now) + EACH;
            under_way.push_back((free, mark));
        }
    }
    (served / 15, account.lag())
}

#[test]
fn the_lag_is_in_flight_beside_the_target() {
    for lag in [Span::from_micros(500), Span::from_millis(5), Span::from_millis(20), Span::from_millis(40)] {
        let (served, seen) = behind(lag);
        assert!(served >= 480, "{served} of 500 in a second with {lag:?}");
        // Less by the second of the two packets, which is still in the access point when the first one completes.
        let near = EACH + Span::from_micros(100);
        assert!(seen <= lag + near && seen + near >= lag, "{seen:?} of {lag:?}");
    }
}
