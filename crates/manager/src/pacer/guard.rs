//! Harm guard: if the WLAN carries much less than without the box while packets wait in the box, the box may be the cause, because of a
//! property of the path that it does not model. The guard then holds nothing for a moment, and bypasses the box if that carries more.
//!
//! - The *baseline* is the throughput without the box: while it is bypassed or observes, from two intervals on, or while the
//!   guard holds nothing. An interval in which the box sees nothing is not evidence.
//! - Only what has crossed the medium counts, in the same way without the box and with it ([`carried`]): bytes from the
//!   stations, and bytes toward them once a station has acknowledged them.
//! - Four intervals in a row below a part of the baseline, 70 % if not set, in which packets wait, are suspicious. The guard
//!   then holds nothing for one or two intervals. If that carries clearly more, it bypasses the box, and the operator gets an event. If not, the
//!   medium is slower than it was: a neighbour uses the channel, or the only user is far away. The present throughput is then
//!   the baseline, and the next test is postponed, for twice as long each time, since it costs delay. If nothing at all was
//!   carried before, the access point may have restarted: the first success then counts as a coincidence.
//! - The access point's queue at the insertion drains first. Until half of the stations have acknowledged theirs, nothing is judged, and
//!   the throughput shows what the medium carries: once, that may lower the baseline, by 30 % at most. Nothing else lowers it while the box
//!   holds packets. It rises again, up to the throughput without the box.
//! - A box without a baseline measures one as soon as packets wait, if the operator allows it, by holding nothing for two intervals. The
//!   following intervals are compared with that, so that no test is needed: the box is on trial. A box that may not measure makes a test if
//!   its traffic uses much less than the whole medium, by the closed form for the stations' rates and, before access points that aggregate,
//!   their measured cost.
//! - A bypassed box is inserted again for a trial from time to time ([`Trials`]). During its first seconds much less than the baseline
//!   bypasses it again without a test.
//!
//! Not here: throughput of single stations. A mixture of stations that becomes slower looks like harm, and only a test shows
//! the difference.

mod carried;
mod config;
mod drain;
mod report;
mod trials;

pub(crate) use carried::{Carried, Confirmed, left_by_groups};
pub(crate) use drain::Undrained;
pub(crate) use trials::Trials;

pub use config::GuardConfig;
pub use report::{GuardReport, GuardState, GuardStep};

use evenair_units::BitRate;

/// Intervals of which the baseline is the mean, a second each.
const INTERVALS: usize = 2;
/// Part of the baseline, in hundredths, to which a drain lowers it at most.
const DRAINED_PERCENT: u64 = 70;
/// Suspicious intervals in a row before a test: transfers that the insertion has slowed down recover within three (Reno over 50 ms
/// at 11 Mb/s).
const SUSPICIOUS_INTERVALS: usize = 4;
/// Part of the baseline, in hundredths, below which an interval is no drain: the access point may be silent for another reason.
const SEVERE_PERCENT: u64 = 20;
/// Holding nothing is a remedy if it carries at least this part of the throughput before, in hundredths; after one interval, only if it
/// also carries at least this part of the baseline.
const REMEDY_PERCENT: u64 = 130;
const BACK_PERCENT: u64 = 50;
/// Fraction of the baseline that is kept in each interval without the box: half is forgotten in three minutes.
const FORGET: (u64, u64) = (255, 256);
/// Intervals until the next test, after the first false alarm and at most.
const PATIENCE: (u32, u32) = (60, 3_600);
/// Intervals with load of a trial: longer than a path takes to empty the access point's queue from before the insertion.
const TRIAL: usize = 10;
/// Longest drain, in intervals: two thousand packets at 2 Mb/s take 12 s.
const DRAIN: usize = 20;
/// Intervals in a row below the closed form before a test: transfers have reached their speed by then.
const SLOW_INTERVALS: usize = 10;

#[derive(Clone, Debug)]
pub(crate) struct Guard {
    config: GuardConfig,
    state: State,
    /// Throughput of the last intervals, newest last, and the number of intervals since the state changed.
    recent: [Carried; INTERVALS],
    intervals: usize,
    /// Intervals in a row, up to the last one, in which packets waited and throughput was below the limit: of the baseline, of the closed
    /// form.
    below: usize,
    slow: usize,
    /// Throughput without the box, and the baseline: what the medium can carry of that now. Zero if unknown.
    without: Carried,
    baseline: Carried,
    /// Throughput before the last test.
    suspicious: Carried,
    /// Whether holding nothing has helped after an interval without any throughput, which may have been a coincidence.
    coincidence: bool,
    /// Intervals until a test is allowed, and the wait after the next false alarm.
    wait: u32,
    patience: u32,
    /// Remaining intervals of a trial after the box was inserted.
    trial: usize,
    drain: Drain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Watching,
    /// Nothing is held, to see whether that carries more.
    Testing,
    /// Nothing is held, to measure the baseline.
    Measuring,
}

/// The drain of the access point's queue at the insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drain {
    /// Intervals so far, and the highest throughput of one of them.
    Since(usize, Carried),
    Over,
}

impl Drain {
    const NEW: Self = Self::Since(0, Carried::NONE);
}

/// Measurements of an interval in which the box was inserted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) carried: Carried,
    /// Whether packets wait that only the controller keeps back.
    pub(crate) waits: bool,
    /// Whether the traffic used little of the medium ([`Guard::is_slow`]).
    pub(crate) is_slow: bool,
}

impl Guard {
    pub(crate) const fn new(config: GuardConfig) -> Self {
        Self {
            config,
            state: State::Watching,
            recent: [Carried::NONE; INTERVALS],
            intervals: 0,
            below: 0,
            slow: 0,
            without: Carried::NONE,
            baseline: Carried::NONE,
            suspicious: Carried::NONE,
            coincidence: false,
            wait: 0,
            patience: PATIENCE.0,
            trial: 0,
            drain: Drain::NEW,
        }
    }

    /// Applies other settings.
    pub(crate) const fn configure(&mut self, config: GuardConfig) {
        self.config = config;
    }

    /// Begins a trial: the box, which this guard had bypassed, is inserted.
    pub(crate) const fn begin_trial(&mut self) {
        self.trial = TRIAL;
        self.enter(State::Watching);
    }

    /// Ends a trial because of an operator's decision.
    pub(crate) const fn end_trial(&mut self) {
        self.trial = 0;
    }

    /// Whether the box is on trial.
    pub(crate) const fn is_on_trial(&self) -> bool {
        self.trial > 0
    }

    /// Whether packets may be held.
    pub(crate) const fn holds(&self) -> bool {
        matches!(self.state, State::Watching)
    }

    /// The baseline, and the throughput before the last test.
    pub(crate) const fn rates(&self) -> (BitRate, BitRate) {
        (self.baseline.rate(), self.suspicious.rate())
    }

    /// The throughput of the last intervals.
    pub(crate) fn carried(&self) -> BitRate {
        self.mean().rate()
    }

    /// Whether so small a part of the medium, in thousandths, is suspicious. In airtime, since small packets carry few bits.
    pub(crate) fn is_slow(&self, used_permille: u64) -> bool {
        used_permille < self.config.suspicious()
    }

    /// Notes an interval of the drain and its throughput. True: the interval is not judged.
    pub(crate) fn note_drain(&mut self, carried: Carried) -> bool {
        let is_little = carried.is_none() || carried.is_below(SEVERE_PERCENT, self.baseline);
        let Drain::Since(intervals, most) = self.drain else { return false };
        if !self.holds() || intervals >= DRAIN || is_little {
            return false;
        }
        self.note(carried);
        self.drain = Drain::Since(intervals + 1, most.max(carried));
        true
    }

    /// Ends the drain, whose throughput shows what the medium carries with packets waiting in the access point.
    fn end_drain(&mut self) {
        if let Drain::Since(_, most) = core::mem::replace(&mut self.drain, Drain::Over)
            && !most.is_none()
        {
            self.baseline = self.baseline.min(most.max(self.baseline.part(DRAINED_PERCENT, 100)));
        }
    }

    /// Ends an interval.
    pub(crate) fn tick(&mut self, interval: Interval) -> Option<GuardStep> {
        self.end_drain();
        let Interval { carried, waits, is_slow } = interval;
        self.wait = self.wait.saturating_sub(1);
        self.note(carried);
        let is_below = carried.is_below(100, self.baseline.part(self.config.suspicious(), 1_000));
        self.below = if waits && is_below { self.below + 1 } else { 0 };
        self.slow = if waits && is_slow { self.slow + 1 } else { 0 };
        match self.state {
            State::Watching if self.trial > 0 => {
                self.trial -= usize::from(waits || !is_below);
                // The first interval after an insertion is transitional.
                (self.intervals > SUSPICIOUS_INTERVALS && self.below >= SUSPICIOUS_INTERVALS).then(|| self.fail_trial())
            }
            State::Watching if self.config.measure_at_start && waits && self.baseline.is_none() => {
                self.enter(State::Measuring);
                Some(GuardStep::Measuring)
            }
            State::Watching => self.watch(),
            State::Measuring => self.end_measuring(),
            State::Testing => self.judge_test(),
        }
    }

    /// Ends an interval without the box with this throughput. If there is none, or the box sees nothing, it is no evidence.
    pub(crate) fn note_bypassed(&mut self, carried: Carried) {
        if !self.holds() || self.is_on_trial() {
            let Self { config, without, baseline, patience, .. } = *self;
            *self = Self { without, baseline, patience, ..Self::new(config) };
        }
        (self.below, self.slow, self.drain) = (0, 0, Drain::NEW);
        if carried.is_none() {
            return;
        }
        self.note(carried);
        if self.intervals >= INTERVALS {
            self.set_baseline(self.mean().max(self.baseline.part(FORGET.0, FORGET.1)));
        }
    }

    const fn set_baseline(&mut self, carried: Carried) {
        (self.without, self.baseline) = (carried, carried);
    }

    const fn note(&mut self, carried: Carried) {
        self.recent = [self.recent[1], carried];
        self.intervals = self.intervals.saturating_add(1);
    }

    fn mean(&self) -> Carried {
        Carried::mean(&self.recent)
    }

    fn watch(&mut self) -> Option<GuardStep> {
        let is_suspicious = self.below >= SUSPICIOUS_INTERVALS;
        let is_unproven = self.baseline.is_none() && self.slow >= SLOW_INTERVALS;
        // The medium has become faster again, or the drain was slow.
        let [one, other] = self.recent;
        self.baseline = self.baseline.max(one.min(other).min(self.without));
        if self.wait > 0 || !(is_suspicious || is_unproven) {
            return None;
        }
        self.suspicious = self.mean();
        self.enter(State::Testing);
        Some(GuardStep::Opened)
    }

    /// Returns to the state in which the box was bypassed.
    fn fail_trial(&mut self) -> GuardStep {
        let Self { config, without, baseline, .. } = *self;
        *self = Self { without, baseline, suspicious: self.mean(), ..Self::new(config) };
        GuardStep::Bypassed
    }

    /// Ends the measurement; the next interval is the first one with the box throughout.
    fn end_measuring(&mut self) -> Option<GuardStep> {
        if self.intervals >= INTERVALS {
            self.set_baseline(self.recent[0].max(self.recent[1]));
            self.begin_trial();
            self.intervals = 1;
        }
        None
    }

    /// Judges a test. Its first interval is transitional, but may be clear already.
    fn judge_test(&mut self) -> Option<GuardStep> {
        let last = self.recent[INTERVALS - 1];
        let is_remedy = last.reaches(REMEDY_PERCENT, self.suspicious) && !last.is_none();
        let is_back =
            !self.suspicious.is_none() && !self.baseline.is_none() && last.reaches(BACK_PERCENT, self.baseline);
        match self.intervals {
            _ if is_remedy && is_back => Some(self.bypass(last)),
            0 | 1 => None,
            _ if !is_remedy => Some(self.give_in(last)),
            _ if self.suspicious.is_none() && !self.coincidence => {
                self.coincidence = true;
                self.enter(State::Watching);
                Some(GuardStep::Restored)
            }
            _ => Some(self.bypass(last)),
        }
    }

    /// Bypasses the box: without holding, the throughput is as before.
    fn bypass(&mut self, baseline: Carried) -> GuardStep {
        *self = Self { without: baseline, baseline, suspicious: self.suspicious, ..Self::new(self.config) };
        GuardStep::Bypassed
    }

    /// Ends a test as a false alarm.
    fn give_in(&mut self, carried: Carried) -> GuardStep {
        match self.baseline.is_none() {
            true => self.set_baseline(carried),
            false if !carried.is_none() => self.baseline = self.baseline.min(carried),
            false => {}
        }
        self.coincidence = false;
        self.wait = self.patience;
        self.patience = (self.patience * 2).min(PATIENCE.1);
        self.enter(State::Watching);
        GuardStep::Restored
    }

    const fn enter(&mut self, state: State) {
        self.state = state;
        (self.intervals, self.below, self.slow) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 20;

    /// Ticks the guard with the throughput while holding and while not; returns its steps and their intervals.
    fn timed(
        guard: &mut Guard,
        intervals: usize,
        carried: impl Fn(bool) -> u64,
    ) -> alloc::vec::Vec<(usize, GuardStep)> {
        let tick = |n| {
            let holds = guard.holds();
            let carried = carried(holds);
            let is_slow = guard.is_slow(carried * 1_000 / FULL);
            Some((n, guard.tick(Interval { carried: mbps(carried), waits: holds, is_slow })?))
        };
        (1..=intervals).filter_map(tick).collect()
    }

    fn run(guard: &mut Guard, intervals: usize, carried: impl Fn(bool) -> u64) -> alloc::vec::Vec<GuardStep> {
        timed(guard, intervals, carried).into_iter().map(|(_, step)| step).collect()
    }

    fn new() -> Guard {
        Guard::new(GuardConfig::default())
    }

    fn after_bypass() -> Guard {
        let mut guard = new();
        (0..2).for_each(|_| guard.note_bypassed(mbps(FULL)));
        guard
    }

    /// Throughput of a single station, in Mb/s.
    const fn mbps(rate: u64) -> Carried {
        Carried { all: rate * 1_000_000, fair: rate * 1_000_000 }
    }

    #[test]
    fn the_same_throughput_is_no_harm() {
        let mut guard = after_bypass();
        assert_eq!(run(&mut guard, 100, |_| FULL * 3 / 4), []);
        assert!(guard.holds());
    }

    #[test]
    fn much_less_leads_to_a_bypass_within_five_intervals_where_holding_nothing_helps() {
        for held in [1, FULL / 2, FULL * 2 / 3] {
            let steps = timed(&mut after_bypass(), 20, |holds| if holds { held } else { FULL });
            assert_eq!(steps[..2], [(4, GuardStep::Opened), (5, GuardStep::Bypassed)], "{held}");
        }
        // The first interval of the test is transitional: it takes another one.
        let mut guard = after_bypass();
        assert_eq!(timed(&mut guard, 5, |_| 8), [(4, GuardStep::Opened)]);
        assert_eq!(run(&mut guard, 1, |_| FULL), [GuardStep::Bypassed]);
        assert_eq!(guard.rates(), (mbps(FULL).rate(), mbps(8).rate()));
    }

    #[test]
    fn the_part_below_which_throughput_is_suspicious_can_be_set() {
        for (permille, carried, suspects) in
            [(700, 13, true), (700, 15, false), (500, 11, false), (500, 9, true), (950, 18, true)]
        {
            let mut guard = after_bypass();
            guard.configure(GuardConfig { suspicious_permille: permille, ..GuardConfig::default() });
            let opened = run(&mut guard, SUSPICIOUS_INTERVALS, |_| carried) == [GuardStep::Opened];
            assert_eq!(opened, suspects, "{permille}, {carried} of {FULL} Mb/s");
        }
    }

    #[test]
    fn less_in_single_intervals_or_without_waiting_packets_is_no_harm() {
        let mut guard = after_bypass();
        for carried in [20, 3, 3, 3, 15, 20, 1, 14, 3, 3, 3, 20] {
            assert_eq!(run(&mut guard, 1, |_| carried), []);
        }
        let nothing_waits = Interval { carried: mbps(1), waits: false, is_slow: true };
        (0..200).for_each(|_| assert_eq!(guard.tick(nothing_waits), None));
    }

    #[test]
    fn after_false_alarms_it_keeps_holding_and_tests_ever_more_rarely() {
        let mut guard = after_bypass();
        assert_eq!(timed(&mut guard, 600, |_| 5), [(4, GuardStep::Opened), (6, GuardStep::Restored)]);
        assert_eq!(guard.rates().0, mbps(5).rate(), "that is what the medium carries");
        // Fast and slow alternately.
        let mut tests = 0;
        for minute in 0..120 {
            let carried = if minute % 2 == 0 { FULL } else { 5 };
            let steps = run(&mut guard, 60, |_| carried);
            tests += steps.iter().filter(|step| **step == GuardStep::Opened).count();
        }
        assert!((1..=7).contains(&tests), "{tests}");
    }

    #[test]
    fn an_access_point_that_restarts_is_no_harm() {
        for outage in 4..60 {
            let mut guard = after_bypass();
            let mut steps = run(&mut guard, outage, |_| 0);
            steps.extend(run(&mut guard, 100, |_| FULL));
            assert!(!steps.contains(&GuardStep::Bypassed), "{outage}: {steps:?}");
            assert_eq!(guard.rates().0, mbps(FULL).rate(), "an outage is no measure");
        }
        // Only holding nothing helps, repeatedly.
        let steps = run(&mut after_bypass(), 12, |holds| if holds { 0 } else { FULL });
        assert_eq!(steps.last(), Some(&GuardStep::Bypassed), "{steps:?}");
    }

    #[test]
    fn two_intervals_with_traffic_are_a_baseline() {
        let mut guard = new();
        (0..600).for_each(|_| guard.note_bypassed(mbps(0)));
        guard.note_bypassed(mbps(FULL));
        assert_eq!(guard.rates().0, BitRate::ZERO);
        guard.note_bypassed(mbps(FULL));
        (0..600).for_each(|_| guard.note_bypassed(mbps(0)));
        assert_eq!(guard.rates().0, BitRate::from_mbps(FULL), "nor do they make one older");
    }

    #[test]
    fn only_a_test_lowers_the_baseline_while_packets_are_held() {
        let mut guard = after_bypass();
        let idle = Interval { carried: mbps(2), waits: false, is_slow: true };
        (0..3_600).for_each(|_| assert_eq!(guard.tick(idle), None));
        assert_eq!(guard.rates().0, mbps(FULL).rate());
        assert_eq!(timed(&mut guard, 5, |holds| if holds { 5 } else { FULL })[1], (5, GuardStep::Bypassed));
    }

    #[test]
    fn a_missing_baseline_is_measured_if_allowed() {
        let mut guard = Guard::new(GuardConfig { measure_at_start: true, ..GuardConfig::default() });
        let carried = |carried, waits| Interval { carried: mbps(carried), waits, is_slow: false };
        assert_eq!(guard.tick(carried(1, false)), None, "there is no load");
        assert_eq!(guard.tick(carried(1, true)), Some(GuardStep::Measuring));
        assert!(!guard.holds() && guard.tick(carried(8, false)).is_none());
        assert!(!guard.holds() && guard.tick(carried(FULL, false)).is_none());
        assert!(guard.holds() && guard.rates().0 == mbps(FULL).rate());
        // What was just measured needs no test.
        assert_eq!(timed(&mut guard.clone(), 4, |_| 5), [(4, GuardStep::Bypassed)]);
        // Later harm is tested.
        assert_eq!(run(&mut guard, TRIAL, |_| 15), []);
        let steps = timed(&mut guard, 5, |holds| if holds { 5 } else { FULL });
        assert_eq!(steps, [(4, GuardStep::Opened), (5, GuardStep::Bypassed)]);
    }

    #[test]
    fn without_a_baseline_much_less_than_the_closed_form_leads_to_a_test() {
        let steps = timed(&mut new(), 20, |holds| if holds { 5 } else { FULL });
        assert_eq!(steps[..2], [(SLOW_INTERVALS, GuardStep::Opened), (SLOW_INTERVALS + 2, GuardStep::Bypassed)]);
        let mut guard = new();
        assert_eq!(run(&mut guard, 2_000, |_| 5), [GuardStep::Opened, GuardStep::Restored], "once");
        assert_eq!(run(&mut new(), 2_000, |_| FULL * 3 / 4), [], "as much as the formula says");
    }

    #[test]
    fn a_trial_fails_without_a_test_and_ends_after_ten_intervals_of_load() {
        let mut guard = after_bypass();
        guard.begin_trial();
        assert_eq!(run(&mut guard, SUSPICIOUS_INTERVALS, |_| 13), [], "the first interval says nothing");
        assert_eq!(run(&mut guard, 1, |_| 13), [GuardStep::Bypassed]);
        assert_eq!((guard.rates(), guard.is_on_trial()), ((mbps(FULL).rate(), mbps(13).rate()), false));
        // The same throughput; later harm is tested.
        guard.begin_trial();
        assert_eq!(run(&mut guard, TRIAL, |_| 15), []);
        assert!(!guard.is_on_trial());
        assert_eq!(run(&mut guard, SUSPICIOUS_INTERVALS, |_| 5), [GuardStep::Opened]);
        // Without waiting packets and with little traffic, the trial goes on.
        let mut guard = after_bypass();
        guard.begin_trial();
        let idle = Interval { carried: mbps(1), waits: false, is_slow: true };
        (0..1_000).for_each(|_| assert_eq!(guard.tick(idle), None));
        assert!(guard.is_on_trial());
        assert_eq!(run(&mut guard, SUSPICIOUS_INTERVALS, |_| 1), [GuardStep::Bypassed]);
    }

    #[test]
    fn while_the_access_point_drains_nothing_is_judged_and_the_baseline_is_learned() {
        let mut guard = after_bypass();
        (0..8).for_each(|n| assert!(guard.note_drain(mbps(if n == 3 { 16 } else { 12 }))));
        assert_eq!(run(&mut guard, 50, |_| 12), []);
        // The canary: without the drain it would have made a test.
        assert_eq!(run(&mut after_bypass(), 5, |_| 12), [GuardStep::Opened]);
        // A slow drain lowers the baseline to 70 %, once.
        let mut guard = after_bypass();
        for _ in 0..2 {
            (0..5).for_each(|_| _ = guard.note_drain(mbps(6)));
            assert_eq!(run(&mut guard, 1, |_| 6), []);
            assert_eq!(guard.rates().0, mbps(FULL * 7 / 10).rate());
        }
        assert_eq!(run(&mut guard, 4, |_| 6).first(), Some(&GuardStep::Opened));
    }

    #[test]
    fn little_throughput_is_no_drain_and_an_endless_drain_ends() {
        let mut guard = after_bypass();
        assert!(!guard.note_drain(mbps(3)) && !guard.note_drain(mbps(0)), "it may be the box");
        assert_eq!(run(&mut guard, SUSPICIOUS_INTERVALS, |_| 3), [GuardStep::Opened]);
        assert!(!guard.note_drain(mbps(10)), "the guard is trying something");
        let mut guard = after_bypass();
        assert_eq!((0..1_000).take_while(|_| guard.note_drain(mbps(10))).count(), DRAIN);
        // The next insertion may have a drain again.
        guard.note_bypassed(mbps(FULL));
        assert!(guard.note_drain(mbps(10)));
    }
}
