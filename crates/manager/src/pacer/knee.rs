//! Finds how much has to be in flight beyond the target of backlog: as little as carries nearly all of what more would carry.
//!
//! A path between the box and a station takes time that is no backlog: a driver, a mesh hop, a tunnel, answers in batches, a
//! random delay. As much medium time as that has to be in flight in addition, or the medium waits for the box. How long it is
//! cannot be read from single packets, since a queue in the access point looks the same. Throughput distinguishes them:
//! more in flight carries more up to the *knee*, and from there on only waits for longer (Kleinrock, "Power and deterministic
//! rules of thumb for probabilistic problems in computer communications", ICC 1979).
//!
//! The allowance is therefore moved in *trials*, judged by what the path carries: the airtime of completed releases in a second.
//! A window of measurement begins with the first completion of a packet that was released after the last change, so that what
//! was in flight before it does not count. Where the box had nothing to release, it was not the limit, and the window is void.
//!
//! What a medium carries in a window differs from one to the next, by one per cent or by five; how much is measured, and a
//! difference counts only where chance hardly makes one so large. Where it is not clear the smaller allowance is taken, since too
//! large a one is a standing queue. There are two kinds of trials:
//! - *Coarse* ones double or halve the allowance and need a window or two. Below the knee half in flight carries half, which no
//!   chance hides. They find the neighbourhood of the knee within a second, at the beginning and when much less is carried than
//!   before.
//! - *Fine* ones change it by a quarter and compare the means of several windows, from time to time, the more rarely the more
//!   often they changed nothing.
//!
//! Nothing here assumes anything of the path or of rates.

use evenair_units::{Instant, Span};

/// Largest allowance at the insertion, in medium time. Until the first trial the allowance is the least time that recent packets took.
/// That includes a queue in the access point; but halving corrects too large an allowance within a second, while too small a one starves
/// the medium and makes senders reduce their windows, from which they take seconds to recover.
const MOST_AT_INSERTION: Span = Span::from_millis(60);
/// Least allowance at the insertion, and the allowance if no packet was timed, in airtime at the assumed rates, often the lowest ones:
/// some ten packets.
const AT_INSERTION: Span = Span::from_millis(24);
/// Length of an interval: the least time that packets take is taken over the present and the last one.
const LEAST_OVER: Span = Span::from_secs(3);
/// Largest allowance, in airtime: 50 ms each way, with jitter and batches, on a medium eight times as fast as assumed.
const MOST: Span = Span::from_millis(1_200);
/// Allowances below LEAST count as zero; STEP is the smallest change, if a packet is not longer. Both in medium time.
const LEAST: Span = Span::from_micros(700);
const STEP: Span = Span::from_micros(750);
/// Larger allowances, of twice the step each, that are tried after one that did not help, while less is carried than the best.
const REACH: u32 = 1;
/// Least completions of a measurement window; its least and greatest length.
const COMPLETIONS: u32 = 60;
const WINDOW: (Span, Span) = (Span::from_millis(120), Span::from_millis(600));
/// Length of a window, in round trips of a packet and its acknowledgment.
const ROUNDS: u64 = 3;
/// Time without a judgement after which: starved windows are judged, since less than the allowance may be in use; a trial is given up, and
/// an allowance that was never judged is halved; all is forgotten.
const UNJUDGED: Span = Span::from_millis(400);
const GIVEN_UP: Span = Span::from_secs(2);
const FORGOTTEN: Span = Span::from_secs(10);
/// Rate of a doubled allowance, in thousandths of the usual one, that needs no second window.
const OBVIOUS: u64 = 1_250;
/// Rate, in thousandths of the usual one, from which on a doubled allowance carries more, and a halved one as much.
const COARSE: (u64, u64) = (1_100, 940);
/// The same for an allowance larger by a quarter, and one smaller by a fifth; the part of the best rate that is enough, in thousandths;
/// and how long the best is remembered.
const FINE: (u64, u64) = (1_025, 980);
const ENOUGH: u64 = 970;
const MEMORY: Span = Span::from_secs(20);
/// Initial standard deviation of the rate between windows, in thousandths; then it is measured.
const NOISE: u64 = 25;
/// Judgements in a row of starved windows, two seconds at least, after which the senders' windows are taken to fill an allowance that is
/// in use.
const FILLED: u32 = 5;
/// Part of the usual rate, in thousandths, below which the lag may have grown.
const FALLEN: u64 = 850;
/// Windows of a fine trial.
const FINE_WINDOWS: u64 = 8;
/// Windows of which the rate is a mean.
const MEAN_OF: u64 = 16;
/// Allowance found after an insertion, in medium time, above which it is reduced once more: the search may have ended by chance, beside
/// a queue from before, and fine trials would take half a minute to correct that.
const DOUBTED: Span = Span::from_millis(8);
/// Time between two fine trials: at least, at most.
const WAIT: (Span, Span) = (Span::from_secs(1), Span::from_secs(16));

/// The search for the knee; see the module. Rates are nanoseconds of airtime in a second.
#[derive(Clone, Debug)]
pub(crate) struct Knee {
    /// In airtime by the model, so that it does not depend on the measured speed of the medium.
    allowance: Span,
    stage: Stage,
    window: Window,
    /// Usual rate with the present allowance.
    usual: Mean,
    /// Rate in the last windows, if it is much lower than usual.
    fallen: Mean,
    /// Standard deviation of the rate of a window, in thousandths of it, and the rate of the last window.
    noise: u64,
    last: Option<u64>,
    /// The best mean rate of the last seconds, and when it was.
    best: (u64, Instant),
    judged: Instant,
    fine: Schedule,
    /// Mean time of a packet and its acknowledgment, with what waits before it; and the packet being timed.
    took: Span,
    timed: Option<(u64, Instant)>,
    /// Least time of packets in this interval and the one before; when this one began.
    least: [Option<Span>; 2],
    least_since: Instant,
    /// Mean airtime of a packet.
    packet: Span,
    /// Most in flight in this window and the last judged one.
    peak: Span,
    /// Starved windows judged in a row.
    starved_in_row: u32,
    /// Whether what was found after the insertion is beyond doubt.
    is_sure: bool,
    /// Schedule of trials of a smaller allowance because less is in use.
    unused: Schedule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is held; throughput and times of packets are measured for the insertion.
    Observing,
    /// The next window shows the present rate.
    Settling,
    /// The neighbourhood of the knee is to be searched.
    Unknown,
    Steady,
    /// Another allowance is tried.
    Trial(Trial),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trial {
    kind: Kind,
    before: Span,
    carried: Mean,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Twice the allowance; `rescue`: because less than usual is carried.
    Double {
        rescue: bool,
    },
    /// Half the allowance, or seven tenths where half was too little.
    Halve {
        last: bool,
    },
    /// Less than was in use, where the box had nothing to release; `peak`: the most in flight.
    Unused {
        peak: Span,
    },
    Larger,
    Smaller,
}

/// Mean rate over a number of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mean {
    rate: u64,
    windows: u64,
}

/// An interval in which the rate is measured.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The first release with the present allowance.
    first: Option<u64>,
    /// The first completion of such a release, and the airtime of all releases up to it.
    began: Option<Began>,
    completions: u32,
    /// Whether the box had nothing to release at some time.
    starved: bool,
}

#[derive(Clone, Copy, Debug)]
struct Began {
    at: Instant,
    number: u64,
    carried: Span,
}

/// The schedule of one kind of trials; for fine ones, also which is next.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    next: Instant,
    wait: Span,
    is_larger: bool,
    /// Larger allowances in a row that have not helped although less was carried than the best.
    reach: u32,
    /// Whether a larger allowance could not be judged.
    is_unjudged: bool,
}

impl Schedule {
    const fn at(now: Instant) -> Self {
        Self { next: now, wait: WAIT.0, is_larger: true, reach: 0, is_unjudged: false }
    }

    fn fail(&mut self, now: Instant) {
        self.wait = (self.wait * 2).min(WAIT.1);
        self.next = now + self.wait;
    }
}

impl Mean {
    const NONE: Self = Self { rate: 0, windows: 0 };

    fn add(&mut self, rate: u64) {
        self.windows = (self.windows + 1).min(MEAN_OF);
        self.rate = (self.rate * (self.windows - 1) + rate) / self.windows;
    }

    /// Whether a rate is at least this part of the mean, in thousandths.
    const fn is_reached(self, rate: u64, permille: u64) -> bool {
        rate >= self.rate / 1_000 * permille
    }
}

impl Window {
    const NEW: Self = Self { first: None, began: None, completions: 0, starved: false };
}

impl Knee {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            allowance: Span::ZERO,
            stage: Stage::Unknown,
            window: Window::NEW,
            usual: Mean::NONE,
            fallen: Mean::NONE,
            noise: NOISE,
            last: None,
            best: (0, now),
            judged: now,
            fine: Schedule::at(now),
            took: Span::ZERO,
            timed: None,
            least: [None; 2],
            least_since: now,
            packet: Span::ZERO,
            peak: Span::ZERO,
            starved_in_row: 0,
            is_sure: false,
            unused: Schedule::at(now),
        }
    }

    /// The box begins to hold packets.
    pub(crate) fn insert(&mut self, now: Instant) {
        let least = self.least.into_iter().flatten().min().filter(|_| self.best.0 > 0);
        let seen = least.map(|least| self.believed(least.min(MOST_AT_INSERTION)).min(MOST));
        let allowance = seen.unwrap_or(AT_INSERTION).max(AT_INSERTION);
        *self = Self { allowance, stage: Stage::Settling, best: self.best, ..Self::new(now) };
    }

    fn note_took(&mut self, now: Instant, took: Span) {
        self.took = (self.took * 3 + took) / 4;
        if now.saturating_since(self.least_since) >= LEAST_OVER {
            (self.least, self.least_since) = ([None, self.least[0]], now);
        }
        self.least[0] = Some(self.least[0].map_or(took, |least| least.min(took)));
    }

    /// The allowance: airtime in flight beyond the target.
    pub(crate) const fn get(&self) -> Span {
        self.allowance
    }

    /// The allowance if it is known to be needed: the lag of the path, without any queue.
    pub(crate) fn proven(&self) -> Span {
        match self.stage {
            Stage::Observing | Stage::Settling | Stage::Unknown => Span::ZERO,
            Stage::Steady | Stage::Trial(_) => self.allowance,
        }
    }

    /// The best recent rate; zero: unknown.
    pub(crate) const fn best(&self) -> u64 {
        self.best.0
    }

    /// Notes a packet with an acknowledgment due that passes while nothing is held.
    pub(crate) fn note_unmanaged(&mut self, now: Instant, number: u64) {
        if self.stage != Stage::Observing {
            *self = Self { stage: Stage::Observing, ..Self::new(now) };
        }
        self.await_completion(now, number);
    }

    /// Notes a release with an acknowledgment due; `in_flight`: airtime of all releases in flight.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, in_flight: Span) {
        if now.saturating_since(self.judged) > FORGOTTEN && self.timed.is_none() {
            (self.stage, self.usual, self.judged) = (Stage::Unknown, Mean::NONE, now);
            (self.unused, self.fine) = (Schedule::at(now), Schedule::at(now));
        }
        self.peak = self.peak.max(in_flight);
        self.await_completion(now, number);
    }

    fn await_completion(&mut self, now: Instant, number: u64) {
        self.window.first.get_or_insert(number);
        if self.timed.is_none_or(|(_, at)| now.saturating_since(at) > WINDOW.1) {
            self.timed = Some((number, now));
        }
    }

    /// The box has nothing to release, or must not release.
    pub(crate) const fn starve(&mut self) {
        self.window.starved = true;
    }

    /// Gives up beside a flood, where nothing can be judged: only what is known to be needed stays allowed.
    pub(crate) fn give_up(&mut self) {
        self.starved_in_row = 0;
        match self.stage {
            Stage::Steady => {}
            Stage::Trial(Trial { kind: Kind::Larger | Kind::Smaller, before, .. }) => {
                (self.stage, self.allowance) = (Stage::Steady, before);
            }
            Stage::Observing => return,
            Stage::Settling | Stage::Unknown | Stage::Trial(_) => {
                (self.stage, self.allowance) = (Stage::Unknown, Span::ZERO);
            }
        }
        (self.usual, self.fallen, self.window) = (Mean::NONE, Mean::NONE, Window::NEW);
    }

    /// Forgets all after a long time without completions.
    pub(crate) fn forget(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// Notes time in which nothing could be judged.
    pub(crate) const fn wait(&mut self, now: Instant) {
        self.judged = now;
    }

    /// Ends a trial that has lasted for too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        if let Stage::Trial(trial) = self.stage
            && now.saturating_since(self.judged) > GIVEN_UP
        {
            self.judged = now;
            self.end(now, trial.before, false);
        }
        // If completions are too few to judge by, the allowance at the insertion may well be a queue.
        let is_unjudged = matches!(self.stage, Stage::Settling | Stage::Unknown) && self.allowance > Span::ZERO;
        if is_unjudged && now.saturating_since(self.judged) > GIVEN_UP {
            self.judged = now;
            let half = self.allowance / 2;
            self.change(if half < self.believed(LEAST) { Span::ZERO } else { half });
        }
    }

    /// Notes a completion; `carried`: airtime of all releases up to it.
    pub(crate) fn note_completion(&mut self, now: Instant, number: u64, carried: Span) {
        if let Some((timed, at)) = self.timed
            && timed <= number
        {
            self.timed = None;
            self.note_took(now, now.saturating_since(at));
        }
        if self.window.first.is_none_or(|first| number < first) {
            return;
        }
        let ends = Began { at: now, number, carried };
        let Some(began) = self.window.began else {
            self.window.began = Some(ends);
            return;
        };
        self.window.completions += 1;
        let elapsed = now.saturating_since(began.at);
        let length = (self.took * ROUNDS).max(WINDOW.0).min(WINDOW.1);
        if elapsed < length || self.window.completions < COMPLETIONS {
            return;
        }
        let progress = carried.saturating_sub(began.carried);
        self.packet = progress / number.saturating_sub(began.number).max(1);
        let rate = progress.mul_div(1_000_000_000, elapsed.as_nanos()).as_nanos();
        let starved = self.window.starved;
        self.window = Window { began: Some(ends), completions: 0, starved: false, ..self.window };
        if self.stage == Stage::Observing {
            return self.note_carried(now, rate);
        }
        if starved {
            return self.judge_starved(now, rate);
        }
        (self.judged, self.peak, self.starved_in_row) = (now, Span::ZERO, 0);
        self.learn_noise(rate);
        self.judge(now, rate);
    }

    /// Two windows with the same allowance differ by chance alone, on average by 1.13 times the standard deviation.
    fn learn_noise(&mut self, rate: u64) {
        if let Some(last) = self.last.replace(rate).filter(|&last| last > 0) {
            let difference = (rate.abs_diff(last) / (last / 1_000).max(1)).min(NOISE * 8);
            self.noise = (self.noise * 15 + difference * 8 / 9) / 16;
        }
    }

    /// Judges a starved window: the box had nothing to release at some time, so that it was not the limit. If that lasts, less than the
    /// allowance is in use, and only a burst would fill all of it; or the windows of the senders just fill it, and all that they may send
    /// is in the access point. A smaller allowance then carries as much, and the rest waits in the box.
    fn judge_starved(&mut self, now: Instant, rate: u64) {
        if now.saturating_since(self.judged) < UNJUDGED {
            return;
        }
        self.judged = now;
        self.starved_in_row = self.starved_in_row.saturating_add(1);
        let peak = core::mem::take(&mut self.peak);
        if rate > self.best.0 {
            self.best = (rate, now);
        }
        match self.stage {
            Stage::Trial(trial) if self.allowance > trial.before && self.usual.is_reached(rate, self.more()) => {
                // More is carried although less than all of it is in use: the senders' windows grow into it.
                self.end(now, self.allowance, true);
                (self.fine.is_unjudged, self.fine.is_larger) = (true, true);
                self.unused.next = now + GIVEN_UP;
            }
            Stage::Trial(trial) if self.allowance > trial.before && peak > (trial.before + self.allowance) / 2 => {
                // Most of it was in use, and it carried no more.
                self.end(now, trial.before, false);
            }
            Stage::Trial(trial) if self.allowance > trial.before => {
                // Too little waited in the box, as when a sender has just slowed down: it is tried again soon.
                self.end(now, trial.before, true);
                self.fine.is_unjudged = true;
            }
            Stage::Trial(trial) if self.usual.is_reached(rate, self.as_much(trial)) => {
                self.end(now, self.allowance, false)
            }
            Stage::Trial(trial) => {
                self.unused.fail(now);
                self.end(now, trial.before, false);
            }
            _ if now >= self.unused.next && (peak < self.allowance + self.step() || self.is_filled()) => {
                self.usual = Mean { rate, windows: 1 };
                self.begin(Kind::Unused { peak });
            }
            _ => {}
        }
    }

    /// Medium time as airtime by the model, at the best rate.
    fn believed(&self, time: Span) -> Span {
        if self.best.0 == 0 { time } else { time.mul_div(self.best.0, 1_000_000_000) }
    }

    /// Mean airtime of a packet in the last window, by the model; zero before the first.
    pub(crate) const fn packet(&self) -> Span {
        self.packet
    }

    /// The smallest step: less than a packet makes no difference.
    fn step(&self) -> Span {
        self.believed(STEP).max(self.packet)
    }

    fn judge(&mut self, now: Instant, rate: u64) {
        match self.stage {
            Stage::Observing => {}
            Stage::Settling => self.stage = Stage::Unknown,
            Stage::Unknown => {
                self.usual.add(rate);
                if self.allowance == Span::ZERO {
                    self.begin(Kind::Double { rescue: false });
                } else if self.usual.windows >= 2 {
                    self.begin(Kind::Halve { last: false });
                }
            }
            Stage::Steady => self.watch(now, rate),
            Stage::Trial(mut trial) => {
                trial.carried.add(rate);
                self.stage = Stage::Trial(trial);
                self.judge_trial(now, trial);
            }
        }
    }

    fn watch(&mut self, now: Instant, rate: u64) {
        if !self.reference().is_reached(rate, FALLEN) {
            // A single window may be so by chance.
            self.fallen.add(rate);
            if self.fallen.windows >= 2 {
                self.usual = self.fallen;
                self.begin(Kind::Double { rescue: true });
            }
            return;
        }
        self.fallen = Mean::NONE;
        self.usual.add(rate);
        if self.fine.is_unjudged && self.usual.windows >= 2 && now >= self.fine.next {
            self.fine.is_unjudged = false;
            return self.begin(Kind::Double { rescue: false });
        }
        if !self.is_sure && self.usual.windows > 2 && now >= self.fine.next {
            self.is_sure = true;
            if self.allowance > self.believed(DOUBTED) {
                self.fine = Schedule::at(now);
                return self.begin(Kind::Halve { last: true });
            }
        }
        if self.usual.windows < FINE_WINDOWS {
            return;
        }
        self.note_best(now);
        if self.is_little(self.usual.rate) {
            self.begin(Kind::Larger);
        } else if now >= self.fine.next {
            let is_larger = self.fine.is_larger || self.allowance == Span::ZERO;
            self.begin(if is_larger { Kind::Larger } else { Kind::Smaller });
        }
    }

    /// Rate, in thousandths of the usual one, from which on a larger allowance carries more.
    fn more(&self) -> u64 {
        COARSE.0.max(1_000 + self.noise * 4)
    }

    /// Whether the senders' windows have exactly filled the allowance for long: it is in use, and shows nothing.
    fn is_filled(&self) -> bool {
        self.starved_in_row >= FILLED && self.allowance > Span::ZERO
    }

    /// Rate, in thousandths of the usual one, from which on a smaller allowance carries as much. A mostly used one may be needed.
    fn as_much(&self, trial: Trial) -> u64 {
        match trial.kind {
            Kind::Unused { peak } if peak >= trial.before + self.step() => FINE.1 - self.noise / 4,
            _ => COARSE.1 - self.noise,
        }
    }

    /// The usual rate; just after a change, the best of the last seconds.
    const fn reference(&self) -> Mean {
        if self.usual.windows >= 2 { self.usual } else { Mean { rate: self.best.0, windows: 1 } }
    }

    /// Whether a rate is clearly less than the best of the last seconds.
    const fn is_little(&self, rate: u64) -> bool {
        !Mean { rate: self.best.0, windows: 1 }.is_reached(rate, ENOUGH - self.noise / 2)
    }

    fn judge_trial(&mut self, now: Instant, trial: Trial) {
        let Mean { rate, windows } = trial.carried;
        match trial.kind {
            Kind::Double { .. } if self.usual.is_reached(rate, self.more()) => {
                if windows >= 2 || self.usual.is_reached(rate, OBVIOUS) {
                    self.usual = trial.carried;
                    self.begin(trial.kind);
                }
            }
            Kind::Double { rescue: false } => {
                // The last step that helped may have been more than was needed.
                self.change(trial.before);
                if trial.before == Span::ZERO {
                    self.note_best(now);
                    self.end(now, Span::ZERO, false);
                } else {
                    self.begin(Kind::Halve { last: true });
                }
            }
            Kind::Double { rescue: true } => {
                // The path carries less, whatever is in flight; the same airtime takes longer now.
                (self.usual, self.best) = (trial.carried, (rate, now));
                self.change(trial.before);
                if trial.before == Span::ZERO {
                    self.end(now, Span::ZERO, false);
                } else {
                    self.begin(Kind::Halve { last: false });
                }
            }
            Kind::Unused { .. } if self.usual.is_reached(rate, self.as_much(trial)) => {
                self.unused = Schedule::at(now);
                (self.stage, self.usual) = (Stage::Unknown, Mean::NONE);
            }
            Kind::Unused { .. } if windows < 2 => {}
            Kind::Unused { .. } => {
                self.unused.fail(now);
                self.end(now, trial.before, false);
            }
            Kind::Halve { .. } if self.usual.is_reached(rate, COARSE.1 - self.noise) => {
                self.usual.add(rate);
                if self.allowance == Span::ZERO {
                    self.note_best(now);
                    self.end(now, self.allowance, false);
                } else {
                    self.begin(trial.kind);
                }
            }
            Kind::Halve { .. } if windows < 2 => {}
            Kind::Halve { last } => {
                self.change(trial.before);
                self.note_best(now);
                if last {
                    self.end(now, trial.before, false);
                } else if self.usual.windows <= 2 {
                    // Already half is too little: the knee may be above.
                    self.begin(Kind::Double { rescue: false });
                } else {
                    self.begin(Kind::Halve { last: true });
                }
            }
            Kind::Larger if windows >= 2 && self.usual.is_reached(rate, self.more()) => {
                self.usual = trial.carried;
                self.begin(Kind::Double { rescue: false });
            }
            // A larger allowance does not carry so much less: something else has changed.
            Kind::Larger if !self.usual.is_reached(rate, FALLEN) => self.end(now, trial.before, false),
            Kind::Larger | Kind::Smaller if windows < FINE_WINDOWS => {}
            Kind::Larger => {
                let is_kept = self.usual.is_reached(rate, FINE.0.max(1_000 + self.noise * 5 / 4));
                if is_kept || !self.is_little(self.usual.rate) {
                    self.fine.reach = 0;
                } else if self.fine.reach < REACH {
                    self.fine.reach += 1;
                } else {
                    (self.fine.reach, self.best) = (0, (self.usual.rate.max(rate), now));
                }
                self.judge_fine(now, trial, is_kept);
            }
            Kind::Smaller => self.judge_fine(
                now,
                trial,
                self.usual.is_reached(rate, FINE.1 - self.noise / 4) && !self.is_little(rate),
            ),
        }
    }

    fn judge_fine(&mut self, now: Instant, trial: Trial, is_kept: bool) {
        if is_kept {
            self.usual = trial.carried;
            self.note_best(now);
            return self.end(now, self.allowance, true);
        }
        self.fine.is_larger = trial.kind == Kind::Smaller;
        self.end(now, trial.before, false);
    }

    const fn note_best(&mut self, now: Instant) {
        self.note_carried(now, self.usual.rate);
    }

    /// Notes a rate, which may be the best of the last seconds.
    const fn note_carried(&mut self, now: Instant, rate: u64) {
        let is_old = now.saturating_since(self.best.1).as_nanos() > MEMORY.as_nanos();
        if is_old || rate >= self.best.0 {
            self.best = (rate, now);
        }
    }

    fn begin(&mut self, kind: Kind) {
        let before = self.allowance;
        let to = match kind {
            Kind::Double { .. } => before * 2 + self.step() * 2,
            Kind::Larger => before + (before / 4).max(self.step()) * (1 << self.fine.reach),
            Kind::Halve { last: false } => before / 2,
            Kind::Halve { last: true } => before * 7 / 10,
            Kind::Smaller | Kind::Unused { .. } => before * 4 / 5,
        };
        self.stage = Stage::Trial(Trial { kind, before, carried: Mean::NONE });
        self.change(if to < self.believed(LEAST) { Span::ZERO } else { to.min(MOST) });
    }

    /// Ends a trial with this allowance.
    fn end(&mut self, now: Instant, allowance: Span, is_success: bool) {
        (self.stage, self.usual) = (Stage::Steady, Mean::NONE);
        self.fine.fail(now);
        if is_success {
            (self.fine.wait, self.fine.next) = (WAIT.0, now + WAIT.0);
        }
        if allowance != self.allowance {
            self.change(allowance);
        }
    }

    /// Sets the allowance; releases before say nothing about it.
    const fn change(&mut self, to: Span) {
        self.fallen = Mean::NONE;
        self.last = None;
        self.allowance = to;
        self.window = Window::NEW;
    }
}

#[cfg(test)]
mod tests;
