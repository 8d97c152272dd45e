//! A guard against harm: where much less is carried than before while packets wait here, the box may be what the medium waits
//! for, by a property of the path that it does not understand. Then it tries, and measures, what carries more.
//!
//! First it doubles the target for a few seconds. Where the medium is the limit, twice as much in flight carries no more (Little's
//! law), and the usual target comes back: a neighbour uses the channel, or the only user is far away. What is carried now is then
//! the new measure. Where more is carried, it doubles again, as long as that helps. If much less than before is carried with the
//! largest target too, or next to nothing with any, it holds nothing for a few seconds; where that carries more, it gives up, and
//! the operator hears of it.
//!
//! A try costs others delay. So after a false alarm the next one is put off, each time for twice as long.
//!
//! Not here: what is carried per station. A mixture of stations that becomes slower looks like harm, and is found out by trying.

use evenair_units::BitRate;

/// What is carried is averaged over so many intervals, of a second each.
const INTERVALS: usize = 3;
/// Less than this part of what was carried before, in hundredths, is suspicious; and less than the second is next to nothing.
const SUSPICIOUS_PERCENT: u64 = 70;
const NOTHING_PERCENT: u64 = 10;
/// So much of what was carried, in hundredths, has to be carried with a larger target, and with none, for that to be a remedy.
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

/// How firmly packets are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grip {
    /// Up to so many times the target may be in the access point.
    Target(u64),
    /// Nothing is held.
    Open,
}

/// What an interval has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardStep {
    /// The target is twice as large now.
    Loosened,
    /// Nothing is held now, for a few seconds.
    Opened,
    /// It is as it was before the last step, which carried no more.
    Restored,
    /// More is carried when nothing is held: the box has bypassed itself.
    Bypassed,
}

#[derive(Clone, Debug)]
pub(crate) struct Guard {
    state: State,
    /// How large the target is, in usual ones, and for how many intervals more if it is larger.
    times: u64,
    loose_for: u32,
    /// What the last intervals carried, how many there were since the state changed, and in how many of them, without a gap up
    /// to the last one, packets waited.
    recent: [u64; INTERVALS],
    intervals: usize,
    waited: usize,
    /// What was carried before, and when the last step was taken.
    reference: u64,
    suspicious: u64,
    /// No try for so many intervals; after the next false alarm for so many.
    wait: u32,
    patience: u32,
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
            recent: [0; INTERVALS],
            intervals: 0,
            waited: 0,
            reference: 0,
            suspicious: 0,
            wait: 0,
            patience: PATIENCE.0,
        }
    }

    pub(crate) const fn grip(&self) -> Grip {
        match self.state {
            State::Open => Grip::Open,
            State::Watching | State::Loosened => Grip::Target(self.times),
        }
    }

    /// What was carried before, and when the last step was taken.
    pub(crate) const fn rates(&self) -> (BitRate, BitRate) {
        (BitRate::from_bps(self.reference), BitRate::from_bps(self.suspicious))
    }

    /// An interval has ended in which so much was carried; `waits`: packets wait that the controller keeps back.
    pub(crate) fn tick(&mut self, carried: BitRate, waits: bool) -> Option<GuardStep> {
        self.wait = self.wait.saturating_sub(1);
        self.recent.rotate_left(1);
        self.recent[INTERVALS - 1] = carried.as_bps();
        self.intervals = self.intervals.saturating_add(1);
        self.waited = if waits { self.waited.saturating_add(1) } else { 0 };
        let mean = self.recent.iter().sum::<u64>() / INTERVALS as u64;
        match self.state {
            State::Watching if self.intervals < INTERVALS => None,
            State::Watching => self.watch(mean),
            // The first interval of a try is one of change.
            State::Loosened | State::Open if self.intervals <= INTERVALS => None,
            State::Loosened => Some(self.judge_loosened(mean)),
            State::Open => Some(self.judge_open(mean)),
        }
    }

    /// The box holds nothing, by command: what is carried without it is what counts later.
    pub(crate) fn note_bypassed(&mut self, carried: BitRate) {
        if self.state != State::Watching || self.times > 1 {
            *self = Self { reference: self.reference, patience: self.patience, ..Self::new() };
        }
        self.tick(carried, false);
    }

    fn watch(&mut self, mean: u64) -> Option<GuardStep> {
        self.loose_for = self.loose_for.saturating_sub(1);
        if self.loose_for == 0 {
            self.times = 1;
        }
        let is_suspicious = self.waited >= INTERVALS && self.is_below(mean, SUSPICIOUS_PERCENT);
        self.reference = mean.max(self.reference / FORGET.1 * FORGET.0);
        (is_suspicious && self.wait == 0).then(|| self.try_next(mean))
    }

    /// A larger target, or none.
    fn try_next(&mut self, mean: u64) -> GuardStep {
        self.suspicious = mean;
        if self.times >= LOOSEST {
            self.enter(State::Open);
            return GuardStep::Opened;
        }
        self.times *= 2;
        self.enter(State::Loosened);
        GuardStep::Loosened
    }

    fn judge_loosened(&mut self, mean: u64) -> GuardStep {
        if mean * 100 >= self.suspicious * GAIN_PERCENT && mean > 0 {
            if self.is_below(mean, SUSPICIOUS_PERCENT) {
                return self.try_next(mean);
            }
            self.keep();
            return GuardStep::Loosened;
        }
        if self.is_below(mean, NOTHING_PERCENT) {
            self.enter(State::Open);
            return GuardStep::Opened;
        }
        self.times /= 2;
        if self.times > 1 {
            self.reference = mean;
            self.keep();
            return GuardStep::Restored;
        }
        self.give_in(mean)
    }

    fn judge_open(&mut self, mean: u64) -> GuardStep {
        if mean * 100 >= self.suspicious * REMEDY_PERCENT && mean > 0 {
            *self = Self { reference: mean, suspicious: self.suspicious, ..Self::new() };
            return GuardStep::Bypassed;
        }
        self.give_in(mean)
    }

    /// The larger target stays for a while.
    fn keep(&mut self) {
        self.loose_for = LOOSE_FOR;
        self.enter(State::Watching);
    }

    /// It was a false alarm.
    fn give_in(&mut self, mean: u64) -> GuardStep {
        (self.times, self.loose_for) = (1, 0);
        self.reference = mean.min(self.reference);
        self.wait = self.patience;
        self.patience = (self.patience * 2).min(PATIENCE.1);
        self.enter(State::Watching);
        GuardStep::Restored
    }

    /// So much is less than this part, in hundredths, of what was carried before.
    const fn is_below(&self, carried: u64, percent: u64) -> bool {
        carried / percent < self.reference / 100
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
            guard.tick(BitRate::from_mbps(carried(grip)), grip != Grip::Open)
        };
        (0..intervals).filter_map(tick).collect()
    }

    fn after_bypass() -> Guard {
        let mut guard = Guard::new();
        (0..10).for_each(|_| guard.note_bypassed(BitRate::from_mbps(FULL)));
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
        let steps = run(&mut guard, 11, |grip| if grip == Grip::Open { FULL } else { 1 });
        assert_eq!(steps, [GuardStep::Loosened, GuardStep::Opened, GuardStep::Bypassed], "next to nothing was carried");
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
        assert_eq!(run(&mut guard, 600, |_| 5), [GuardStep::Loosened, GuardStep::Restored]);
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
    fn less_is_no_harm_where_nothing_waits_and_in_single_intervals() {
        let mut guard = after_bypass();
        for n in 0..200 {
            assert_eq!(guard.tick(BitRate::from_mbps(1), n % 3 != 0), None);
        }
    }
}
