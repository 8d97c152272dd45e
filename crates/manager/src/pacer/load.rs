//! The PI controller: a proportional-integral law keeps the load offered to the medium just below the critical one.
//!
//! Below a critical load a medium carries all that it is offered, and hardly any packet waits for it; above it,
//! queues grow without bound, collisions and drops waste a part of the capacity, and less gets through than at the
//! critical load (Choi, Park, Kim, "Performance Impact of Inter-Layer Dependence in Infrastructure WLANs", who leave
//! the shaper to others). The critical load depends on stations, rates and neighbours, but it shows in the time that
//! packets wait in the access point. So the service rate C follows that wait.
//!
//! - *Measurement*: each acknowledged packet gives the time from its release to its acknowledgment, less its own
//!   airtime. A packet released into an access point with almost nothing in flight counts as not having waited,
//!   whatever delay its station added. The measured value is the mean of an interval T; a sample counts for four
//!   times the target at most, so that a sleeping station does not dominate.
//! - *Law*, in its incremental form, where `q` is that mean and `q*` the target:
//!   `C += C * (a (q_before - q) + b (q* - q)) / T`, with a = 1/2 and b = 1/16.
//! - *Stability*: at a load of `u` times the critical one a queue grows by `u - 1` seconds in a second. With that,
//!   the loop's characteristic equation is `z^2 - (2 - a - b) z + 1 - a = 0`, with roots at 0.85 and 0.59: no
//!   overshoot to speak of, and nine tenths of an error are corrected in 14 intervals. With a measurement that is one
//!   interval old its largest root is 0.86, with one of two intervals 0.92. The law changes C in proportion to C, so
//!   that it is the same for each medium, and a formula for the medium's speed is needed only for the start.
//! - *No windup*: there is no sum beside C itself. C does not rise in an interval in which almost no packet waited in
//!   the box, since C was not what limited the load then; it may fall, because a backlog in the access point is too
//!   much in any case.
//! - *Without a signal*: while answers are due and none comes, C is halved each interval, down to a twentieth of C*,
//!   and returns to its previous value with the next answer. If none is due (datagrams), C goes to nine tenths of C*,
//!   where the published controller starts.
//!
//! What is not here: the server that keeps to C (see `server`), and the order of packets.

use alloc::collections::VecDeque;

use evenair_units::{BitRate, Instant, Span};

/// Releases with an acknowledgment awaited, at most; beyond that the oldest are given up.
const MOST: usize = 4096;
/// Packets in flight below which a new release does not count as waiting.
const NEXT_TO_NOTHING: u64 = 2;
/// Bound of a sample, in multiples of the target.
const MOST_TARGETS: u64 = 4;
/// Gains of the law, in sixteenths: proportional a = 1/2, integral b = 1/16.
const PROPORTIONAL: i128 = 8;
const INTEGRAL: i128 = 1;
/// Largest change of C in an interval, in millionths of C.
const MOST_CHANGE: i128 = MILLION / 4;
const MILLION: i128 = 1_000_000;
/// Part of the releases of an interval, as a divisor, that may leave nothing waiting in the box for C to be what limits the load.
const EMPTY_PART: u64 = 4;
/// Time without acknowledgments, while some are due, after which the signal is lost. Stations sleep for 100 to 300 ms.
const LOST: Span = Span::from_millis(300);
/// Intervals without a judgement after which the last measurement is outdated.
const STALE: u64 = 8;

/// A release with an acknowledgment awaited.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    at: Instant,
    /// Medium time of the packet and its acknowledgment.
    own: Span,
    /// Whether others were in flight before it, so that it may have waited.
    behind: bool,
}

/// Measurements of an interval, and the state of the law.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    sent: VecDeque<Sent>,
    waited: Span,
    samples: u64,
    releases: u64,
    /// Releases that left nothing waiting in the box.
    emptying: u64,
    /// Mean wait of the interval before.
    before: Option<Span>,
    /// Time of the last acknowledgment, or since when one is due.
    heard: Instant,
    next: Instant,
    /// C at the time when the signal was lost.
    lost_at: Option<BitRate>,
}

/// Change of C at the end of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// C stays.
    Stay,
    /// C changes by this many millionths of itself.
    Change(i32),
    /// C returns to this value.
    Back(BitRate),
    /// C is halved.
    Halve,
    /// C moves toward its initial value.
    Start,
}

impl Shaper {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            sent: VecDeque::new(),
            waited: Span::ZERO,
            samples: 0,
            releases: 0,
            emptying: 0,
            before: None,
            heard: now,
            next: now,
            lost_at: None,
        }
    }

    /// Notes a release with a completion expected, and the number in flight before it; `own`: medium time of the packet
    /// and its ACK.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, under_way: u64, own: Span) {
        if self.sent.is_empty() {
            self.heard = now;
        }
        if self.sent.len() == MOST {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { number, at: now, own, behind: under_way >= NEXT_TO_NOTHING });
    }

    /// Notes that the server has released a packet; `waiting`: others wait behind it in the box.
    pub(crate) fn note_service(&mut self, waiting: bool) {
        self.releases += 1;
        self.emptying += u64::from(!waiting);
    }

    /// Handles the acknowledgment of the release of this number, and of all earlier ones.
    pub(crate) fn note_answer(&mut self, now: Instant, number: u64, target: Span) {
        let done = self.sent.iter().take_while(|sent| sent.number <= number).count();
        let Some(last) = self.sent.drain(..done).next_back().filter(|last| last.number == number) else { return };
        let waited = now.saturating_since(last.at).saturating_sub(last.own);
        self.waited += if last.behind { waited.min(target * MOST_TARGETS) } else { Span::ZERO };
        self.samples += 1;
        self.heard = now;
    }

    /// Ends an interval if its time has come, and returns the change of C, which is `rate`.
    pub(crate) fn judge(&mut self, now: Instant, interval: Span, target: Span, rate: BitRate) -> Step {
        if now < self.next {
            return Step::Stay;
        }
        let stale = now.saturating_since(self.next) > interval * STALE;
        self.next = now.saturating_add(interval);
        let (samples, releases) = (core::mem::take(&mut self.samples), core::mem::take(&mut self.releases));
        let waited = core::mem::replace(&mut self.waited, Span::ZERO);
        let emptying = core::mem::take(&mut self.emptying);
        if stale || (samples, releases) == (0, 0) {
            self.before = None;
            return Step::Stay;
        }
        if samples == 0 {
            return self.without_signal(now, rate);
        }
        if let Some(rate) = self.lost_at.take() {
            self.before = None;
            return Step::Back(rate);
        }
        let mean = waited / samples;
        let before = self.before.replace(mean).unwrap_or(mean);
        let ns = |span: Span| i128::from(span.as_nanos());
        let law = PROPORTIONAL * (ns(before) - ns(mean)) + INTEGRAL * (ns(target) - ns(mean));
        let change = (law * MILLION / 16 / ns(interval).max(1)).clamp(-MOST_CHANGE, MOST_CHANGE);
        let limits = emptying * EMPTY_PART <= releases;
        let change = if limits { change } else { change.min(0) };
        Step::Change(i32::try_from(change).unwrap_or(0))
    }

    fn without_signal(&mut self, now: Instant, rate: BitRate) -> Step {
        self.before = None;
        if self.sent.is_empty() {
            return Step::Start;
        }
        if now.saturating_since(self.heard) < LOST {
            return Step::Stay;
        }
        self.lost_at.get_or_insert(rate);
        Step::Halve
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const INTERVAL: Span = Span::from_millis(50);
    const TARGET: Span = Span::from_millis(10);
    const OWN: Span = Span::from_millis(2);
    const RATE: BitRate = BitRate::from_mbps(5);

    /// A medium that takes 2 ms for each packet at C*, and loads it at `u` times the critical load, in ns.
    struct Loop {
        shaper: Shaper,
        now: Instant,
        number: u64,
        /// C relative to C*, and the critical load relative to C*, in millionths.
        rate: u64,
        carries: u64,
        /// When the medium has served its queue.
        free: Instant,
        answers: VecDeque<(Instant, u64)>,
        /// Whether the box always has packets.
        backlogged: bool,
        silent: bool,
    }

    impl Loop {
        fn new(rate: u64, carries: u64) -> Self {
            let (now, free) = (Instant::ZERO, Instant::ZERO);
            let (shaper, answers) = (Shaper::new(now), VecDeque::new());
            Self { shaper, now, number: 0, rate, carries, free, answers, backlogged: true, silent: false }
        }

        fn queue(&self) -> Span {
            self.free.saturating_since(self.now)
        }

        /// One release of the server, and its consequences.
        fn step(&mut self) {
            self.now += OWN.mul_div(1_000_000, self.rate);
            while self.answers.front().is_some_and(|answer| answer.0 <= self.now) {
                let (at, number) = self.answers.pop_front().expect("it is there");
                if !self.silent {
                    self.shaper.note_answer(at, number, TARGET);
                }
            }
            let rate = BitRate::from_bps(self.rate);
            match self.shaper.judge(self.now, INTERVAL, TARGET, rate) {
                Step::Stay => {}
                Step::Change(millionths) => {
                    self.rate = self.rate.saturating_add_signed(self.rate as i64 * i64::from(millionths) / 1_000_000);
                }
                Step::Back(rate) => self.rate = rate.as_bps(),
                Step::Halve => self.rate = (self.rate / 2).max(50_000),
                Step::Start => self.rate = 900_000,
            }
            self.number += 1;
            let under_way = self.answers.len() as u64;
            self.shaper.note_release(self.now, self.number, under_way, OWN);
            self.shaper.note_service(self.backlogged);
            self.free = self.free.max(self.now) + OWN.mul_div(1_000_000, self.carries);
            self.answers.push_back((self.free, self.number));
        }

        fn run(&mut self, span: Span) -> (u64, Span) {
            let (until, mut sum, mut queue, mut count) = (self.now + span, 0, Span::ZERO, 0);
            while self.now < until {
                self.step();
                (sum, queue, count) = (sum + self.rate, queue + self.queue(), count + 1);
            }
            (sum / count, queue / count)
        }
    }

    #[test]
    fn after_a_step_of_the_medium_the_load_settles_at_its_capacity_with_the_target_waiting() {
        for (from, to) in [(800_000, 500_000), (500_000, 800_000), (300_000, 1_000_000), (1_000_000, 900_000)] {
            let mut medium = Loop::new(from, from);
            medium.run(Span::from_secs(5));
            medium.carries = to;
            medium.run(Span::from_secs(if to > from { 12 } else { 3 }));
            let (rate, queue) = medium.run(Span::from_secs(2));
            assert!(rate.abs_diff(to) * 50 < to, "from {from} to {to}: {rate}");
            assert!(queue > TARGET / 2 && queue < TARGET * 2, "from {from} to {to}: {queue} stands");
            // It stays there, without a growing or lasting oscillation.
            let rates: Vec<u64> = (0..40).map(|_| medium.run(INTERVAL).0).collect();
            let swing = rates.iter().max().unwrap() - rates.iter().min().unwrap();
            assert!(swing * 10 < to, "from {from} to {to}: it swings by {swing}");
        }
    }

    #[test]
    fn a_standing_queue_is_gone_in_two_seconds_without_much_undershoot() {
        let mut medium = Loop::new(800_000, 800_000);
        medium.run(Span::from_secs(5));
        medium.free = medium.now + Span::from_millis(200);
        let least = (0..60).map(|_| medium.run(INTERVAL).0).min().unwrap();
        assert!(medium.queue() < TARGET * 3, "{} after 3 s", medium.queue());
        assert!(least >= 300_000, "{least}");
        let (rate, _) = medium.run(Span::from_secs(3));
        assert!(rate.abs_diff(800_000) < 50_000, "{rate} after it");
    }

    #[test]
    fn the_load_does_not_wind_up_without_demand() {
        let mut medium = Loop::new(400_000, 800_000);
        medium.backlogged = false;
        medium.run(Span::from_secs(60));
        assert_eq!(medium.rate, 400_000, "senders were what limited it");
        medium.backlogged = true;
        let most = (0..400).map(|_| (medium.run(INTERVAL).0, medium.queue())).max_by_key(|pair| pair.1).unwrap();
        assert!(most.1 < TARGET * 6, "{most:?}: it rises to what the medium carries, and not far beyond");
        // The canary: an access point that fills up lowers C, whether packets wait in the box or not.
        let mut medium = Loop::new(1_000_000, 800_000);
        medium.backlogged = false;
        medium.run(Span::from_secs(5));
        assert!(medium.rate < 850_000, "{}", medium.rate);
    }

    #[test]
    fn without_a_signal_c_is_small_and_returns_with_it() {
        let mut medium = Loop::new(800_000, 800_000);
        medium.run(Span::from_secs(5));
        let before = medium.rate;
        medium.silent = true;
        medium.run(Span::from_millis(200));
        assert!(medium.rate > before / 2, "a station sleeps");
        medium.run(Span::from_secs(1));
        assert_eq!(medium.rate, 50_000);
        medium.silent = false;
        medium.run(Span::from_millis(500));
        assert!(medium.rate > before * 3 / 4, "{} of {before}", medium.rate);
    }

    #[test]
    fn without_acknowledgments_due_c_goes_to_its_initial_value() {
        let mut shaper = Shaper::new(Instant::ZERO);
        let now = Instant::ZERO + INTERVAL;
        assert_eq!(shaper.judge(now, INTERVAL, TARGET, RATE), Step::Stay, "nothing was released");
        let now = now + INTERVAL;
        shaper.note_service(true);
        assert_eq!(shaper.judge(now, INTERVAL, TARGET, RATE), Step::Start);
        assert_eq!(shaper.judge(now, INTERVAL, TARGET, RATE), Step::Stay, "the interval has just begun");
        let late = now + Span::from_secs(10);
        shaper.note_release(late, 2, 0, OWN);
        shaper.note_answer(late + Span::from_secs(1), 2, TARGET);
        assert_eq!(shaper.judge(late, INTERVAL, TARGET, RATE), Step::Stay, "of another time");
    }
}
