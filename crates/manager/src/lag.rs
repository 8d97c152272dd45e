//! The lag of a path: how long a packet to a station and its answer take without any queue. A driver, a mesh hop, a
//! tower or a tunnel between box and access point adds milliseconds that are no backlog, and so much more has to be
//! in flight.
//!
//! From time to time the box keeps very few packets in flight for a moment and times them (as BBR's ProbeRTT does:
//! Cardwell et al., 2016). The second smallest value of a probe is the *floor*: other causes of delay, such as
//! contention or a station that sleeps or acknowledges late, only make it larger; what makes it smaller, an answer to
//! an earlier copy of a packet, is rare. If the access point's queue was full when the box was inserted, all values
//! are too large for a while; therefore the smaller of two probes counts.
//!
//! Between probes the box also times packets while others wait in it. The time beyond the floor is backlog, in
//! whichever queue. If that is clearly less than the target, the medium may be waiting for the box, and the allowance
//! for the lag grows by a step, up to the floor. The step stays if it raised the throughput; with few and long
//! packets in flight it does not stay, because their own airtime is most of the floor. If the backlog is clearly more
//! than the target, the allowance shrinks. So the estimate needs no rate (compare Brakmo and Peterson, "TCP Vegas",
//! 1995).
//!
//! Not here: lags of single stations. The smallest of all stations of a contention domain counts, which errs toward
//! less in flight.

use evenair_units::{Instant, Span};

/// Between two probes, and before the first one. The first ones follow each other more quickly, each interval being
/// twice the one before.
const INTERVAL: Span = Span::from_secs(10);
const SOON: Span = Span::from_millis(500);
/// A probe ends with so many samples, or after so long. With fewer than the second number it has no result.
const SAMPLES: (u32, u32) = (8, 3);
const PROBE: Span = Span::from_millis(150);
/// More is no lag of a path between a box and its access points.
const MOST: Span = Span::from_millis(50);
/// Most packets in flight while probing, the timed one included.
const MOST_IN_FLIGHT: u64 = 2;

/// So many packets are timed, over so long at least, before the allowance changes.
const TIMED: usize = 8;
const JUDGED_OVER: Span = Span::from_millis(200);
/// A step stays if so much is carried with it, in hundredths of what was before it. Where it did not, the next one is
/// taken after so long.
const GAIN_PERCENT: u64 = 110;
const NEXT_STEP: Span = Span::from_secs(10);
/// Of these the one with so many below it counts: late answers have other reasons.
const QUARTILE: usize = 2;
/// A backlog below the first is clearly too small, and one above the second clearly too large, where 3 ms are wanted.
const BACKLOG: (Span, Span) = (Span::from_micros(1_500), Span::from_micros(4_500));

#[derive(Clone, Debug)]
pub(crate) struct Lag {
    allowance: Span,
    awaited: Option<Awaited>,
    /// What packets took lately with many in flight, and since when that is collected.
    took: [Span; TIMED],
    timed: usize,
    since: Instant,
    /// What had been carried by then, in estimated airtime.
    carried: Span,
    step: Option<Step>,
    /// No step before that.
    wait_until: Instant,
    /// Results of the last two probes.
    floors: [Option<Span>; 2],
    probe: Option<Probe>,
    /// When the next one begins; none before traffic has come. And how long after it the one behind it does.
    next: Option<Instant>,
    interval: Span,
}

/// A packet whose answer is awaited.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    number: u64,
    at: Instant,
}

/// The allowance has grown, to see whether more is carried.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The allowance, and what was carried in a second, in nanoseconds of believed airtime, before it.
    allowance: Span,
    carried: u64,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    began: Instant,
    samples: u32,
    /// The least, and the second least.
    least: [Span; 2],
}

impl Lag {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            allowance: Span::ZERO,
            awaited: None,
            took: [Span::ZERO; TIMED],
            timed: 0,
            since: now,
            carried: Span::ZERO,
            step: None,
            wait_until: now,
            floors: [None; 2],
            probe: None,
            next: None,
            interval: SOON,
        }
    }

    /// So much more may be in flight.
    pub(crate) const fn get(&self) -> Span {
        self.allowance
    }

    /// Few packets are to be in flight now.
    pub(crate) const fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// Time has passed: a probe ends, whatever came of it.
    pub(crate) fn expire(&mut self, now: Instant) {
        if let Some(probe) = self.probe.filter(|probe| now.saturating_since(probe.began) > PROBE) {
            self.end(now, probe);
        }
    }

    /// A packet that asks for an answer is released; `in_flight` counts it.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, in_flight: u64) {
        let next = *self.next.get_or_insert(now + SOON);
        if self.probe.is_none() && now >= next {
            self.probe = Some(Probe { began: now, samples: 0, least: [MOST; 2] });
            self.awaited = None;
        }
        let is_to_be_timed = self.probe.is_none() || in_flight <= MOST_IN_FLIGHT;
        if is_to_be_timed && self.awaited.is_none_or(|awaited| now.saturating_since(awaited.at) > PROBE) {
            self.awaited = Some(Awaited { number, at: now });
        }
    }

    /// Nothing waits in the box: what packets take says nothing about the target.
    pub(crate) const fn starve(&mut self) {
        self.timed = 0;
        // It was not judged.
        if let Some(step) = self.step.take() {
            self.allowance = step.allowance;
        }
        if self.probe.is_none() {
            self.awaited = None;
        }
    }

    /// Beside a flood nothing can be timed.
    pub(crate) const fn give_up_probe(&mut self) {
        (self.probe, self.awaited, self.timed, self.step) = (None, None, 0, None);
    }

    /// A release was acknowledged; `carried` is the estimated airtime of all up to it.
    pub(crate) fn note_answer(&mut self, now: Instant, number: u64, carried: Span) {
        let Some(awaited) = self.awaited.filter(|awaited| awaited.number <= number) else { return };
        self.awaited = None;
        if awaited.number != number {
            return;
        }
        let took = now.saturating_since(awaited.at);
        let Some(mut probe) = self.probe else { return self.note_took(now, took, carried) };
        let [least, second] = probe.least;
        probe.least = [least.min(took), second.min(least.max(took))];
        probe.samples += 1;
        self.probe = Some(probe);
        if probe.samples >= SAMPLES.0 {
            self.end(now, probe);
        }
    }

    fn end(&mut self, now: Instant, probe: Probe) {
        (self.probe, self.awaited, self.timed) = (None, None, 0);
        self.next = Some(now + self.interval);
        self.interval = (self.interval * 2).min(INTERVAL);
        if probe.samples >= SAMPLES.1 {
            self.floors = [Some(probe.least[1]), self.floors[0]];
        }
        self.allowance = self.allowance.min(self.floor().unwrap_or(Span::ZERO));
    }

    fn floor(&self) -> Option<Span> {
        let [last, before] = self.floors;
        Some(last?.min(before?))
    }

    fn note_took(&mut self, now: Instant, took: Span, carried: Span) {
        if self.timed == 0 {
            (self.since, self.carried) = (now, carried);
        }
        self.took[self.timed % TIMED] = took;
        self.timed += 1;
        let elapsed = now.saturating_since(self.since);
        if self.timed < TIMED || elapsed < JUDGED_OVER {
            return;
        }
        self.timed = 0;
        let carried = carried.saturating_sub(self.carried).mul_div(1_000_000_000, elapsed.as_nanos());
        self.judge(now, carried.as_nanos());
    }

    fn judge(&mut self, now: Instant, carried: u64) {
        let Some(floor) = self.floor() else { return };
        if let Some(step) = self.step.take()
            && carried * 100 < step.carried * GAIN_PERCENT
        {
            self.allowance = step.allowance.min(self.allowance);
            self.wait_until = now + NEXT_STEP;
            return;
        }
        let mut took = self.took;
        took.sort_unstable();
        let backlog = took[QUARTILE].saturating_sub(floor);
        if backlog < BACKLOG.0 && now >= self.wait_until && self.allowance < floor {
            self.step = Some(Step { allowance: self.allowance, carried });
            self.allowance = (self.allowance + BACKLOG.0.max(floor / 4)).min(floor);
        } else if backlog > BACKLOG.1 {
            let most = self.allowance / 4 + Span::from_micros(100);
            self.allowance = self.allowance.saturating_sub((backlog - BACKLOG.1).min(most));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// A path with a lag and a medium that takes a millisecond for each packet; the box keeps `target + lag.get()` in
    /// flight, and one packet while probing. Returns how much it has carried, in packets, and for how many rounds it
    /// was probing.
    fn carry(lag: &mut Lag, from: u64, rounds: u64, path: u64, backlog_before: impl Fn(u64) -> u64) -> (u64, u64) {
        let (mut carried, mut packets, mut probed) = (0, 0, 0);
        let mut now = Instant::ZERO + ms(from);
        for number in 0..rounds {
            let allowed = (ms(3) + lag.get()).as_nanos() / 1_000_000 + 1;
            let in_flight = if lag.is_probing() { 1 } else { allowed };
            lag.expire(now);
            lag.note_release(now, number, in_flight);
            let in_flight = if lag.is_probing() { 1 } else { in_flight };
            let took = (path + 1).max(in_flight) + backlog_before(number);
            now += ms(took);
            // As many as are in flight are carried in the time that one takes.
            packets += in_flight;
            lag.note_answer(now, number, ms(packets));
            carried += in_flight * 1_000 / took;
            probed += u64::from(lag.is_probing());
        }
        (carried / rounds, probed)
    }

    #[test]
    fn a_path_without_lag_is_allowed_none() {
        let mut lag = Lag::new(Instant::ZERO);
        assert!(carry(&mut lag, 0, 10_000, 0, |_| 0).0 >= 999);
        assert_eq!(lag.get(), Span::ZERO);
    }

    #[test]
    fn a_lag_is_allowed_for_and_the_medium_stays_busy() {
        for path in [5, 20] {
            let mut lag = Lag::new(Instant::ZERO);
            carry(&mut lag, 0, 2_000, path, |_| 0);
            assert!(lag.get() >= ms(path - 2) && lag.get() <= ms(path + 1), "{path}: {:?}", lag.get());
            let (carried, probed) = carry(&mut lag, 1_000_000, 2_000, path, |_| 0);
            assert!(carried > 960, "{path}: {carried} of 1000");
            assert!(probed < 100, "{path}: {probed} of 2000");
        }
    }

    #[test]
    fn an_access_point_that_was_full_at_first_is_no_lag() {
        let mut lag = Lag::new(Instant::ZERO);
        carry(&mut lag, 0, 100, 0, |number| 40u64.saturating_sub(number));
        carry(&mut lag, 5_000, 10_000, 0, |_| 0);
        assert_eq!(lag.get(), Span::ZERO);
    }

    #[test]
    fn the_allowance_goes_when_the_lag_does() {
        let mut lag = Lag::new(Instant::ZERO);
        carry(&mut lag, 0, 2_000, 10, |_| 0);
        assert!(lag.get() > ms(7));
        carry(&mut lag, 1_000_000, 10_000, 0, |_| 0);
        assert!(lag.get() < ms(2), "{:?}", lag.get());
    }

    #[test]
    fn without_answers_nothing_is_allowed() {
        let mut lag = Lag::new(Instant::ZERO);
        for number in 0..6_000 {
            lag.expire(Instant::ZERO + ms(number * 10));
            lag.note_release(Instant::ZERO + ms(number * 10), number, 1);
        }
        assert_eq!(lag.get(), Span::ZERO);
    }
}
