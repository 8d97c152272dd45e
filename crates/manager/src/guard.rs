//! Harm guard: if the WLAN carries much less than before while packets wait in the box, the medium may be waiting for
//! the box, because of a property of the path that the box does not understand. The guard then measures which setting
//! carries more.
//!
//! The reference is best measured while the box is bypassed, from copies of the packets that the bridge carries. An
//! interval in which the box sees nothing is not evidence.
//!
//! Only what has crossed the medium counts, in the same way without the box and with it ([`carried`]): bytes from the
//! stations, and bytes toward them once a station has acknowledged them. What left by the port of the access points
//! does not: they may have dropped it. What no station confirms, as a flood of datagrams, counts neither before nor
//! after.
//!
//! A full queue of the access point takes seconds to drain after the insertion. As long as nothing is answered that the
//! box has released a second ago, the access point still works on what came before: the medium does not wait for the
//! box, and what is carried is what it can carry. So the guard takes no step then, and later asks for no more than that
//! ([`Guard::note_drain`]).
//!
//! First the guard doubles the target for a few seconds. If the medium is the limit, twice as much in flight carries
//! no more (Little's law), and the usual target returns: a neighbour uses the channel, or the only user is far away.
//! The present throughput is then the new reference. If more is carried, the guard doubles the target again, as long
//! as that helps. It opens the box, that is, holds nothing, for a few seconds if much less than before is carried
//! with the largest target too, less than half while a larger target is no gain, or next to nothing with any; with
//! next to nothing carried, it does so at once, and with less than a fifth after three seconds. If holding nothing
//! carries more, the guard bypasses the box and the operator gets an event. If nothing at all is carried, the access
//! point may be restarting: a first success of holding nothing then counts as a coincidence.
//!
//! A box that is bypassed so is inserted again for a trial from time to time ([`Trials`]). In the first seconds of a
//! trial in which packets wait there are no such steps: much less than was carried without the box bypasses it again.
//!
//! A box that was inserted at its start, or that consists of several shards, has no such reference. If it carries much less than the formula says, the guard probes a larger target: it stays
//! if it carries more, and nothing else follows from it.
//!
//! A probe costs delay. So after a false alarm the next probe is postponed, for twice as long each time.
//!
//! Not here: throughput of single stations. A mixture of stations that becomes slower looks like harm, and only a
//! probe shows the difference.

mod carried;
mod report;
mod trials;

pub(crate) use carried::{Carried, Confirmed};
pub(crate) use trials::Trials;

pub use report::{GuardReport, GuardState, GuardStep};

use evenair_units::BitRate;

/// What is carried is averaged over so many intervals, of a second each.
const INTERVALS: usize = 3;
/// Packets have waited for so many intervals before a try: the lag of the path is measured in the first ones, and
/// transfers that the insertion has slowed down are as fast as before.
const SETTLED: usize = 8;
/// Less than this part of what was carried before, in hundredths, is suspicious; and less than the second is next to
/// nothing.
const SUSPICIOUS_PERCENT: u64 = 70;
const NOTHING_PERCENT: u64 = 10;
/// With less than this part of what was carried without the box, in hundredths, it is tried what holding nothing
/// carries, even where a larger target is no gain.
const HARM_PERCENT: u64 = 50;
/// With less than this part of it, in hundredths, in each of the last intervals, that is tried at once: a larger target
/// would have to be found in several steps, of seconds each.
const SEVERE_PERCENT: u64 = 20;
/// So many intervals of next to nothing are enough, and so many without holding; the last of these has to carry this
/// part of what was carried before, in hundredths.
const NOTHING_INTERVALS: usize = 2;
const BACK_PERCENT: u64 = 50;
/// So much of what was carried, in hundredths, has to be carried with a larger target, and with none, for that to be
/// a remedy.
const GAIN_PERCENT: u64 = 115;
const REMEDY_PERCENT: u64 = 130;
/// The largest target, in usual ones.
const LOOSEST: u64 = 32;
/// What was carried once is forgotten by this part of it in each interval: by half in three minutes.
const FORGET: (u64, u64) = (255, 256);
/// Intervals before the next try, after the first false alarm and at most.
const PATIENCE: (u32, u32) = (60, 3_600);
/// For so many intervals a larger target that has helped stays, before the usual one is tried again.
const LOOSE_FOR: u32 = 300;
/// So many intervals of load are a trial: longer than a path takes to empty what stood in the access point
/// while the box was bypassed.
const TRIAL: usize = 10;
/// A queue from before the insertion drains for so many intervals at most: two thousand packets at 2 Mb/s are 12 s.
const DRAIN: usize = 20;
/// Packets have waited for so many intervals before a probe: transfers have reached their speed by then.
const PROBE_AFTER: usize = 10;

/// How firmly packets are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grip {
    /// Up to so many times the target may be in the access point.
    Target(u64),
    /// Nothing is held.
    Open,
}

#[derive(Clone, Debug)]
pub(crate) struct Guard {
    state: State,
    /// How large the target is, in usual ones, and for how many intervals more if it is larger.
    times: u64,
    loose_for: u32,
    /// What the last intervals carried, how many there were since the state changed, and in how many of them, without
    /// a gap up to the last one, packets waited.
    recent: [Carried; INTERVALS],
    intervals: usize,
    waited: usize,
    /// What was carried before, and when the last step was taken.
    reference: Carried,
    suspicious: Carried,
    /// What was carried while nothing was held; zero where that is not known.
    without: Carried,
    /// For so many intervals in a row the box has put through much less than the formula says.
    slow: usize,
    /// A probe has shown whether the box is the limit.
    is_probed: bool,
    /// The larger target is a probe.
    is_probe: bool,
    /// Holding nothing has helped after nothing at all was carried, which may have been a coincidence.
    coincidence: bool,
    /// No larger target, and no holding of nothing, for so many intervals; after the next false alarm for so many.
    wait: u32,
    wait_to_open: u32,
    patience: u32,
    /// The box has been inserted for a trial, of which so many intervals are still to come.
    trial: usize,
    /// For so many intervals what came before the insertion has drained, and the most that one of them has carried.
    drained: usize,
    most_drained: Carried,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Watching,
    Loosened,
    Open,
}

impl Guard {
    pub(crate) const fn new() -> Self {
        Self {
            state: State::Watching,
            times: 1,
            loose_for: 0,
            recent: [Carried::NONE; INTERVALS],
            intervals: 0,
            waited: 0,
            reference: Carried::NONE,
            suspicious: Carried::NONE,
            without: Carried::NONE,
            slow: 0,
            is_probed: false,
            is_probe: false,
            coincidence: false,
            wait: 0,
            wait_to_open: 0,
            patience: PATIENCE.0,
            trial: 0,
            drained: 0,
            most_drained: Carried::NONE,
        }
    }

    /// The box, which this guard has bypassed, is inserted for a trial.
    pub(crate) const fn begin_trial(&mut self) {
        self.trial = TRIAL;
        self.enter(State::Watching);
    }

    /// There is no trial any more: an operator has decided.
    pub(crate) const fn end_trial(&mut self) {
        self.trial = 0;
    }

    /// Whether it is still to be seen if the box may help now.
    pub(crate) const fn is_on_trial(&self) -> bool {
        self.trial > 0
    }

    pub(crate) const fn grip(&self) -> Grip {
        match self.state {
            State::Open => Grip::Open,
            State::Watching | State::Loosened => Grip::Target(self.times),
        }
    }

    /// What was carried before, and when the last step was taken.
    pub(crate) const fn rates(&self) -> (BitRate, BitRate) {
        (self.reference.rate(), self.suspicious.rate())
    }

    /// What was carried in the last intervals.
    pub(crate) fn carried(&self) -> BitRate {
        self.mean().rate()
    }

    /// Fewer packets are held than usual, or none.
    pub(crate) fn is_loosened(&self) -> bool {
        self.state != State::Watching || self.times > 1
    }

    /// An interval has ended in which so much was carried, all of it from before: nothing is answered that was released
    /// in the interval before. True: there is nothing to judge. With very little carried there is, since the
    /// access point may be silent for another reason.
    pub(crate) fn note_drain(&mut self, carried: Carried) -> bool {
        let is_little = carried.is_none() || carried.is_below(SEVERE_PERCENT, self.without);
        if !matches!(self.state, State::Watching) || self.drained >= DRAIN || is_little {
            return false;
        }
        self.note(carried);
        self.waited = 0;
        self.drained += 1;
        self.most_drained = self.most_drained.max(carried);
        true
    }

    /// What drained has shown what the medium carries with packets waiting in the access point.
    fn end_drain(&mut self) {
        let most = core::mem::take(&mut self.most_drained);
        if !most.is_none() {
            (self.reference, self.without) = (self.reference.min(most), self.without.min(most));
        }
    }

    /// So much is put through where the medium carries this much by the formula, and less than that is suspicious.
    pub(crate) const fn is_slow(throughput: BitRate, expected: BitRate) -> bool {
        throughput.as_bps() / SUSPICIOUS_PERCENT < expected.as_bps() / 100
    }

    /// An interval has ended in which so much was carried; `waits`: packets wait that the controller keeps back;
    /// `is_slow`: see [`Self::is_slow`].
    pub(crate) fn tick(&mut self, carried: Carried, waits: bool, is_slow: bool) -> Option<GuardStep> {
        self.end_drain();
        self.wait = self.wait.saturating_sub(1);
        self.wait_to_open = self.wait_to_open.saturating_sub(1);
        self.note(carried);
        self.waited = if waits { self.waited.saturating_add(1) } else { 0 };
        self.slow = if is_slow { self.slow.saturating_add(1) } else { 0 };
        let mean = self.mean();
        match self.state {
            State::Watching if self.trial > 0 => self.judge_trial(mean, waits),
            State::Watching if self.is_severe() => Some(self.open(self.recent[INTERVALS - 1])),
            State::Watching if self.intervals < INTERVALS => None,
            State::Watching => self.watch(mean),
            State::Open if self.is_back() => Some(self.bypass()),
            // The first interval of a try is one of change.
            State::Loosened | State::Open if self.intervals <= INTERVALS => None,
            State::Loosened if self.is_probe => Some(self.judge_probe(mean)),
            State::Loosened => Some(self.judge_loosened(mean)),
            State::Open => Some(self.judge_open(mean)),
        }
    }

    /// The box is bypassed, and so much is carried without it, which is what counts later. Where nothing is, or it
    /// sees nothing, that says nothing.
    pub(crate) fn note_bypassed(&mut self, carried: Carried) {
        if self.is_loosened() || self.is_on_trial() {
            let Self { reference, without, patience, .. } = *self;
            *self = Self { reference, without, patience, ..Self::new() };
        }
        (self.waited, self.drained, self.most_drained) = (0, 0, Carried::NONE);
        if carried.is_none() {
            return;
        }
        self.note(carried);
        if self.intervals >= INTERVALS {
            self.remember(self.mean());
            self.without = self.without.max(self.mean());
        }
    }

    const fn note(&mut self, carried: Carried) {
        self.recent = [self.recent[1], self.recent[2], carried];
        self.intervals = self.intervals.saturating_add(1);
    }

    fn mean(&self) -> Carried {
        Carried::mean(&self.recent)
    }

    fn remember(&mut self, mean: Carried) {
        self.reference = mean.max(self.reference.part(FORGET.0, FORGET.1));
        self.without = self.without.part(FORGET.0, FORGET.1);
    }

    fn watch(&mut self, mean: Carried) -> Option<GuardStep> {
        self.loose_for = self.loose_for.saturating_sub(1);
        if self.loose_for == 0 {
            self.times = 1;
        }
        let is_suspicious = self.waited >= SETTLED && mean.is_below(SUSPICIOUS_PERCENT, self.reference);
        let is_harm = self.waited >= SETTLED && self.is_harm(mean);
        let is_unproven = self.without.is_none() && !self.is_probed && self.waited >= PROBE_AFTER && self.times == 1;
        self.remember(mean);
        match self.wait {
            0 if is_suspicious => Some(self.try_next(mean)),
            0 if is_unproven && self.slow >= INTERVALS => {
                self.is_probe = true;
                self.loosen(mean);
                Some(GuardStep::Probing)
            }
            _ => is_harm.then(|| self.open(mean)),
        }
    }

    /// A trial is over as soon as it is clear that it has failed, or when for long enough packets have waited, or as much
    /// was carried. The first interval is one of change.
    fn judge_trial(&mut self, mean: Carried, waits: bool) -> Option<GuardStep> {
        self.trial -= usize::from(waits || !mean.is_below(SUSPICIOUS_PERCENT, self.without));
        let is_clear = self.intervals > INTERVALS && self.waited >= INTERVALS;
        (is_clear && mean.is_below(SUSPICIOUS_PERCENT, self.without)).then(|| self.fail_trial(mean))
    }

    /// It is as when the box was bypassed: what was carried then still counts.
    fn fail_trial(&mut self, mean: Carried) -> GuardStep {
        let Self { without, .. } = *self;
        *self = Self { reference: without, without, suspicious: mean, ..Self::new() };
        GuardStep::Bypassed
    }

    /// Next to nothing of what was carried without the box is carried while packets wait, or little for longer, but
    /// something: the medium works.
    fn is_severe(&self) -> bool {
        self.wait_to_open == 0
            && (self.has_carried_less(NOTHING_INTERVALS, NOTHING_PERCENT)
                || self.has_carried_less(INTERVALS, SEVERE_PERCENT))
    }

    /// In each of so many intervals, in which packets have waited, something was carried, but less than this part of
    /// what was carried without the box.
    fn has_carried_less(&self, intervals: usize, percent: u64) -> bool {
        let is_little = |carried: &Carried| !carried.is_none() && carried.is_below(percent, self.without);
        self.waited >= intervals && self.recent[INTERVALS - intervals..].iter().all(is_little)
    }

    /// It is to be tried whether holding nothing carries more.
    fn is_harm(&self, mean: Carried) -> bool {
        self.wait_to_open == 0 && mean.is_below(HARM_PERCENT, self.without)
    }

    /// Without holding, what was carried without the box is carried again.
    fn is_back(&self) -> bool {
        let last = self.recent[INTERVALS - 1];
        let is_remedy = !self.suspicious.is_none() && last.reaches(REMEDY_PERCENT, self.suspicious);
        !self.without.is_none()
            && self.intervals >= NOTHING_INTERVALS
            && is_remedy
            && last.reaches(BACK_PERCENT, self.without)
    }

    /// A larger target, or none.
    fn try_next(&mut self, mean: Carried) -> GuardStep {
        if self.times >= LOOSEST {
            return self.open(mean);
        }
        self.loosen(mean);
        GuardStep::Loosened
    }

    const fn loosen(&mut self, mean: Carried) {
        self.suspicious = mean;
        self.times *= 2;
        self.enter(State::Loosened);
    }

    const fn open(&mut self, mean: Carried) -> GuardStep {
        self.suspicious = mean;
        self.enter(State::Open);
        GuardStep::Opened
    }

    fn is_gain(&self, mean: Carried) -> bool {
        mean.reaches(GAIN_PERCENT, self.suspicious) && !mean.is_none()
    }

    fn judge_loosened(&mut self, mean: Carried) -> GuardStep {
        if self.is_gain(mean) {
            if mean.is_below(SUSPICIOUS_PERCENT, self.reference) {
                return self.try_next(mean);
            }
            self.keep();
            return GuardStep::Loosened;
        }
        if mean.is_below(NOTHING_PERCENT, self.reference) || self.is_harm(mean) {
            self.enter(State::Open);
            return GuardStep::Opened;
        }
        self.tighten(mean)
    }

    /// A larger target stays where it carries more. Then it is doubled once more.
    fn judge_probe(&mut self, mean: Carried) -> GuardStep {
        if self.is_gain(mean) && self.times < LOOSEST {
            self.loosen(mean);
            return GuardStep::Loosened;
        }
        (self.is_probe, self.is_probed) = (false, true);
        if self.is_gain(mean) {
            self.keep();
            return GuardStep::Loosened;
        }
        self.tighten(mean)
    }

    /// The last doubling has carried no more.
    fn tighten(&mut self, mean: Carried) -> GuardStep {
        self.times /= 2;
        if self.times > 1 {
            self.reference = mean;
            self.keep();
            return GuardStep::Restored;
        }
        self.give_in(mean)
    }

    fn judge_open(&mut self, mean: Carried) -> GuardStep {
        if !mean.reaches(REMEDY_PERCENT, self.suspicious) || mean.is_none() {
            self.without = mean.min(self.without);
            self.wait_to_open = self.patience;
            return self.give_in(mean);
        }
        if self.suspicious.is_none() && !self.coincidence {
            self.coincidence = true;
            (self.times, self.loose_for) = (1, 0);
            self.enter(State::Watching);
            return GuardStep::Restored;
        }
        self.bypass()
    }

    /// Holding nothing carries what was carried before.
    fn bypass(&mut self) -> GuardStep {
        let reference = self.recent[INTERVALS - 1];
        *self = Self { reference, without: reference, suspicious: self.suspicious, ..Self::new() };
        GuardStep::Bypassed
    }

    /// The larger target stays for a while.
    fn keep(&mut self) {
        self.loose_for = LOOSE_FOR;
        self.enter(State::Watching);
    }

    /// It was a false alarm.
    fn give_in(&mut self, mean: Carried) -> GuardStep {
        (self.times, self.loose_for, self.coincidence) = (1, 0, false);
        self.reference = mean.min(self.reference);
        self.wait = self.patience;
        self.patience = (self.patience * 2).min(PATIENCE.1);
        self.enter(State::Watching);
        GuardStep::Restored
    }

    const fn enter(&mut self, state: State) {
        self.state = state;
        self.intervals = 0;
        self.waited = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 20;

    /// Ticks the guard for so many intervals with what is carried under each grip, and gives its steps.
    fn run(guard: &mut Guard, intervals: usize, carried: impl Fn(Grip) -> u64) -> alloc::vec::Vec<GuardStep> {
        let tick = |_| {
            let grip = guard.grip();
            let carried = carried(grip);
            guard.tick(mbps(carried), grip != Grip::Open, carried * 100 < FULL * SUSPICIOUS_PERCENT)
        };
        (0..intervals).filter_map(tick).collect()
    }

    fn after_bypass() -> Guard {
        let mut guard = Guard::new();
        (0..10).for_each(|_| guard.note_bypassed(mbps(FULL)));
        guard
    }

    #[test]
    fn as_much_as_before_is_no_harm() {
        let mut guard = after_bypass();
        assert_eq!(run(&mut guard, 100, |_| FULL * 3 / 4), []);
        assert_eq!(guard.grip(), Grip::Target(1));
    }

    #[test]
    fn a_larger_target_is_tried_first_and_stays_where_it_helps() {
        let mut guard = after_bypass();
        let carried = |grip| match grip {
            Grip::Target(times) => (5 * times).min(FULL),
            Grip::Open => FULL,
        };
        assert_eq!(run(&mut guard, 20, carried), [GuardStep::Loosened; 3], "twice, four times, and that is enough");
        assert_eq!(guard.grip(), Grip::Target(4));
        assert_eq!(run(&mut guard, 250, carried), []);
        assert_eq!(run(&mut guard, 60, carried)[0], GuardStep::Loosened, "the usual one is tried again");
    }

    #[test]
    fn where_only_holding_nothing_helps_it_gives_up() {
        let mut guard = after_bypass();
        let steps = run(&mut guard, 4, |grip| if grip == Grip::Open { FULL } else { 1 });
        assert_eq!(steps, [GuardStep::Opened, GuardStep::Bypassed], "next to nothing was carried");
        assert_eq!((guard.carried(), guard.rates().0), (BitRate::ZERO, BitRate::from_mbps(FULL)));
        // Each step helps, and none enough.
        let mut guard = after_bypass();
        let carried = |grip| match grip {
            Grip::Target(times) => 3 + 2 * u64::from(times.ilog2()),
            Grip::Open => FULL,
        };
        let steps = run(&mut guard, 40, carried);
        assert!(steps.contains(&GuardStep::Bypassed), "{steps:?}");
    }

    #[test]
    fn where_nothing_helps_it_goes_on_and_tries_more_and_more_seldom() {
        let mut guard = after_bypass();
        let steps = run(&mut guard, 600, |_| 5);
        assert_eq!(steps, [GuardStep::Loosened, GuardStep::Opened, GuardStep::Restored]);
        let steps = run(&mut after_bypass(), 600, |_| 11);
        assert_eq!(steps, [GuardStep::Loosened, GuardStep::Restored], "more than half is no reason to hold nothing");
        // Fast and slow by turns.
        let mut tries = 0;
        for minute in 0..120 {
            let carried = if minute % 2 == 0 { FULL } else { 5 };
            let steps = run(&mut guard, 60, |_| carried);
            tries += steps.iter().filter(|step| **step == GuardStep::Loosened).count();
        }
        assert!((1..=7).contains(&tries), "{tries}");
    }

    #[test]
    fn an_access_point_that_restarts_is_no_harm() {
        for outage in 4..60 {
            let mut guard = after_bypass();
            let mut steps = run(&mut guard, outage, |_| 0);
            steps.extend(run(&mut guard, 100, |_| FULL));
            assert!(!steps.contains(&GuardStep::Bypassed), "{outage}: {steps:?}");
        }
        // Nothing but holding nothing helps, again and again.
        let steps = run(&mut after_bypass(), 2 * (SETTLED + 8), |grip| if grip == Grip::Open { FULL } else { 0 });
        assert_eq!(steps.last(), Some(&GuardStep::Bypassed), "{steps:?}");
    }

    #[test]
    fn a_time_in_which_nothing_was_seen_is_no_measure() {
        let mut guard = Guard::new();
        (0..600).for_each(|_| guard.note_bypassed(mbps(0)));
        assert_eq!(guard.rates().0, BitRate::ZERO);
        (0..INTERVALS).for_each(|_| guard.note_bypassed(mbps(FULL)));
        (0..600).for_each(|_| guard.note_bypassed(mbps(0)));
        assert_eq!(guard.rates().0, BitRate::from_mbps(FULL), "nor does it make one older");
    }

    #[test]
    fn without_a_measure_a_larger_target_is_a_probe_and_nothing_follows_from_it() {
        let carried = |grip| match grip {
            Grip::Target(times) => (5 * times).min(FULL),
            Grip::Open => FULL,
        };
        let mut guard = Guard::new();
        let steps = run(&mut guard, 40, carried);
        let all = [GuardStep::Probing, GuardStep::Loosened, GuardStep::Loosened, GuardStep::Restored];
        assert_eq!((steps.as_slice(), guard.grip()), (&all[..], Grip::Target(4)), "eight times as much was no gain");
        // Nothing but to hold nothing would help: it does not try that unasked, and probes once.
        let mut guard = Guard::new();
        let steps = run(&mut guard, 2_000, |grip| if grip == Grip::Open { FULL } else { 1 });
        assert_eq!(steps, [GuardStep::Probing, GuardStep::Restored]);
        assert_eq!(run(&mut Guard::new(), 2_000, |_| FULL * 3 / 4), [], "as much as the formula says");
    }

    #[test]
    fn where_a_larger_target_is_no_gain_it_holds_nothing_before_it_gives_in() {
        let mut guard = after_bypass();
        let steps = run(&mut guard, SETTLED + 8, |grip| if grip == Grip::Open { FULL } else { 4 });
        assert_eq!(steps[..3], [GuardStep::Loosened, GuardStep::Opened, GuardStep::Bypassed]);
        // The harm grows while a false alarm is still remembered.
        let mut guard = after_bypass();
        assert_eq!(run(&mut guard, SETTLED + 4, |_| 13), [GuardStep::Loosened, GuardStep::Restored]);
        let steps = run(&mut guard, SETTLED + 2, |grip| if grip == Grip::Open { FULL } else { 3 });
        assert_eq!(steps[..2], [GuardStep::Opened, GuardStep::Bypassed]);
    }

    #[test]
    fn little_for_three_intervals_is_enough_to_hold_nothing() {
        let carried = |grip| if grip == Grip::Open { FULL } else { 3 };
        assert_eq!(run(&mut after_bypass(), INTERVALS - 1, carried), []);
        assert_eq!(run(&mut after_bypass(), INTERVALS, carried), [GuardStep::Opened]);
        // A dip of two intervals, as of transfers that the insertion has slowed down, is not.
        let mut guard = after_bypass();
        for carried in [20, 3, 3, 5, 20, 20, 20, 20, 20] {
            assert_eq!(run(&mut guard, 1, |_| carried), []);
        }
    }

    #[test]
    fn a_trial_needs_no_steps_to_fail_and_ends_with_ten_intervals_of_load() {
        let mut guard = after_bypass();
        guard.begin_trial();
        assert_eq!(run(&mut guard, INTERVALS, |_| 13), [], "the first interval says nothing");
        assert_eq!(run(&mut guard, 1, |_| 13), [GuardStep::Bypassed]);
        assert_eq!((guard.rates(), guard.is_on_trial()), ((mbps(FULL).rate(), mbps(13).rate()), false));
        // As much as before; and what comes later is looked into step by step.
        guard.begin_trial();
        assert_eq!(run(&mut guard, TRIAL, |_| 15), []);
        assert!(!guard.is_on_trial());
        assert_eq!(run(&mut guard, SETTLED, |_| 5)[..1], [GuardStep::Loosened]);
        // Where nothing waits and little is carried, it is still to come.
        let mut guard = after_bypass();
        guard.begin_trial();
        (0..1_000).for_each(|_| assert_eq!(guard.tick(mbps(1), false, true), None));
        assert!(guard.is_on_trial());
        assert_eq!(run(&mut guard, INTERVALS, |_| 1), [GuardStep::Bypassed]);
    }

    /// Of a station that is alone.
    const fn mbps(rate: u64) -> Carried {
        Carried { all: rate * 1_000_000, fair: rate * 1_000_000 }
    }

    #[test]
    fn while_the_access_point_drains_it_waits_and_learns_what_the_medium_carries() {
        // Before the insertion the medium carried twice as much.
        let mut guard = after_bypass();
        (0..8).for_each(|n| assert!(guard.note_drain(mbps(if n == 3 { 10 } else { 8 }))));
        assert_eq!(run(&mut guard, 50, |_| 8), []);
        // Less than that is suspicious as ever.
        assert_eq!(run(&mut guard, SETTLED, |_| 1).first(), Some(&GuardStep::Loosened));
        // The canary: without the drain it would have tried a larger target.
        assert_eq!(run(&mut after_bypass(), SETTLED, |_| 8), [GuardStep::Loosened]);
    }

    #[test]
    fn next_to_nothing_is_no_drain_and_one_that_does_not_end_is_none() {
        let mut guard = after_bypass();
        assert!(!guard.note_drain(mbps(3)) && !guard.note_drain(mbps(0)), "it may be the box");
        assert_eq!(run(&mut guard, INTERVALS, |_| 3), [GuardStep::Opened]);
        assert!(!guard.note_drain(mbps(10)), "the guard is trying something");
        let mut guard = after_bypass();
        assert_eq!((0..1_000).take_while(|_| guard.note_drain(mbps(10))).count(), DRAIN);
        // After the next insertion there may be another one.
        guard.note_bypassed(mbps(FULL));
        assert!(guard.note_drain(mbps(10)));
    }

    #[test]
    fn less_is_no_harm_where_nothing_waits_and_in_single_intervals() {
        let mut guard = after_bypass();
        for n in 0..200 {
            assert_eq!(guard.tick(mbps(1), n % 2 != 0, true), None);
        }
    }
}
