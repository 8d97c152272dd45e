//! Counters of an engine without series, in periods that add up to phases.
//!
//! Histograms per interval would be too large. So an engine ends a period wherever a phase begins or ends, and reports its
//! counters since the last one; a phase is the sum of its periods. With an automatic warm-up a period is [`warm_up::step`]
//! intervals long, so that the phase can be truncated after any of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use evenair_medium::{BacklogChain, PpduCounters};
use evenair_scenario::{Scenario, WarmUp};
use evenair_units::Span;

use super::histogram::{Histogram, Times};
use super::{CountedAirtime, PhaseResult, UsedRate, warm_up};

/// What was counted in a period.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Period {
    /// Its intervals.
    pub intervals: Range<usize>,
    /// As [`super::Series::nodes`].
    pub nodes: Vec<NodePeriod>,
    /// As [`super::Series::flows`].
    pub flows: Vec<FlowPeriod>,
    /// Backlogged nodes at successful transmissions.
    pub chain: BacklogChain,
    /// By the number of each station among the scenario's hosts, nanoseconds in which packets to it or from it were queued: in
    /// the box, at an access point or in its own MAC. Empty where that was not counted.
    pub backlogged_ns: BTreeMap<usize, u64>,
    /// Airtime from the start of the run to the end of the period; absent where it was not counted. A sum of periods has
    /// none.
    pub airtime: Option<CountedAirtime>,
}

/// One sender on the medium.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodePeriod {
    /// From a frame's arrival in the buffer to its delivery.
    pub sojourn: Times,
    /// Delivered frames by the number of attempts they took, from one on.
    pub frames_by_attempts: Vec<u64>,
    /// Nanoseconds at each level of the queue; empty where that was not counted.
    pub time_at_level: Vec<u64>,
    /// Attempts by PHY rate; empty where senders do not choose their rates.
    pub attempts_by_rate: BTreeMap<UsedRate, u64>,
    /// PPDUs toward the station and from it; empty where there are none.
    pub ppdus: Vec<PpduCounters>,
    /// By [`evenair_wifi::AccessCategory::index`]; empty where there are no categories.
    pub categories: Vec<CategoryPeriod>,
}

/// One access category of one sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CategoryPeriod {
    /// Frames that came to its buffer, those included that found no room.
    pub offered: u64,
    /// Frames that were delivered.
    pub delivered: u64,
    /// Frames that were lost.
    pub lost: u64,
    /// Packets times nanoseconds in its queue.
    pub area_ns: u64,
    /// Length of the period.
    pub length_ns: u64,
    /// The most that the queue held.
    pub most: u64,
    /// From a frame's arrival in the buffer to its delivery.
    pub sojourn: Times,
}

/// One flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowPeriod {
    /// Round-trip times.
    pub rtt: Times,
    /// One-way delays.
    pub delay: Times,
    /// Jitter.
    pub jitter: Jitter,
}

/// Jitter of a stream: a smoothed mean of the change of delay from one packet to the next (RFC 3550, 6.4.1 and A.8),
/// averaged over the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    last_ns: Option<u64>,
    /// Sixteen times the smoothed value.
    scaled_ns: u64,
    sum_ns: u64,
    count: u64,
}

impl Jitter {
    /// A packet arrived after a delay of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if let Some(last) = self.last_ns.replace(ns) {
            // J += (|D| - J) / 16, kept sixteenfold as in A.8.
            self.scaled_ns = self.scaled_ns + ns.abs_diff(last) - ((self.scaled_ns + 8) >> 4);
            self.sum_ns += self.scaled_ns >> 4;
            self.count += 1;
        }
    }

    /// What was counted since the last call; the stream goes on.
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self { sum_ns: 0, count: 0, ..*self })
    }

    /// Adds the packets of another period.
    pub fn add(&mut self, other: &Self) {
        self.sum_ns += other.sum_ns;
        self.count += other.count;
    }

    /// The mean over the packets; `None` before the second one.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e6)
    }
}

impl NodePeriod {
    /// Adds what another period counted.
    pub fn add(&mut self, other: &Self) {
        self.sojourn.add(&other.sojourn);
        add_up(&mut self.frames_by_attempts, &other.frames_by_attempts);
        add_up(&mut self.time_at_level, &other.time_at_level);
        for (&rate, &attempts) in &other.attempts_by_rate {
            *self.attempts_by_rate.entry(rate).or_default() += attempts;
        }
        self.ppdus.resize_with(self.ppdus.len().max(other.ppdus.len()), PpduCounters::default);
        self.ppdus.iter_mut().zip(&other.ppdus).for_each(|(own, other)| own.add(other));
        self.categories.resize_with(self.categories.len().max(other.categories.len()), CategoryPeriod::default);
        self.categories.iter_mut().zip(&other.categories).for_each(|(own, other)| own.add(other));
    }
}

impl CategoryPeriod {
    fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.delivered += other.delivered;
        self.lost += other.lost;
        self.area_ns += other.area_ns;
        self.length_ns += other.length_ns;
        self.most = self.most.max(other.most);
        self.sojourn.add(&other.sojourn);
    }
}

impl FlowPeriod {
    /// Adds what another period counted.
    pub fn add(&mut self, other: &Self) {
        self.rtt.add(&other.rtt);
        self.delay.add(&other.delay);
        self.jitter.add(&other.jitter);
    }
}

impl Period {
    /// Several together.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for period in all {
            sum.nodes.resize_with(sum.nodes.len().max(period.nodes.len()), NodePeriod::default);
            sum.nodes.iter_mut().zip(&period.nodes).for_each(|(own, other)| own.add(other));
            sum.flows.resize_with(sum.flows.len().max(period.flows.len()), FlowPeriod::default);
            sum.flows.iter_mut().zip(&period.flows).for_each(|(own, other)| own.add(other));
            sum.chain.add(&period.chain);
            period.backlogged_ns.iter().for_each(|(&host, ns)| *sum.backlogged_ns.entry(host).or_default() += ns);
        }
        sum
    }

    /// The numbers of the intervals of a scenario before which its periods end.
    pub fn ends(scenario: &Scenario) -> BTreeSet<usize> {
        let measure = &scenario.measure;
        let mut ends = BTreeSet::new();
        for phase in &measure.phases {
            let [from, to] = [phase.from, phase.to].map(|at| (at / measure.interval) as usize);
            match measure.warm_up {
                WarmUp::Auto => ends.extend((from..to).step_by(warm_up::step(to - from)).chain([to])),
                WarmUp::Until(_) => ends.extend([from, to]),
            }
        }
        ends.remove(&0);
        ends
    }
}

/// In which period something happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Periods {
    interval: Span,
    /// The numbers of the intervals before which periods end.
    ends: Vec<usize>,
}

impl Periods {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self { interval: scenario.measure.interval, ends: Period::ends(scenario).into_iter().collect() }
    }

    /// The number of the period of an instant of the run.
    pub(super) fn of(&self, at: Span) -> usize {
        self.ends.partition_point(|&end| self.interval * end as u64 <= at)
    }

    /// Those of a phase.
    pub(super) fn within(&self, phase: &PhaseResult) -> Range<usize> {
        let interval = self.interval.as_secs_f64();
        let [from, to] = [phase.from_s, phase.to_s].map(|at| (at / interval).round() as usize);
        let place = |at: usize| self.ends.partition_point(|&end| end <= at);
        place(from)..place(to)
    }
}

fn add_up(own: &mut Vec<u64>, other: &[u64]) {
    own.resize(own.len().max(other.len()), 0);
    own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
}

/// A histogram and jitter of one-way delays, as they are recorded.
#[derive(Clone, Debug, Default)]
pub struct DelayRecord {
    times: Histogram,
    jitter: Jitter,
}

impl DelayRecord {
    /// A packet arrived after this delay.
    pub fn record(&mut self, delay: Span) {
        self.times.record(delay);
        self.jitter.record(delay.as_nanos());
    }

    /// Where this delay will be counted, where there is such a place: to have it fetched before that.
    pub fn place(&self, delay: Span) -> Option<&u8> {
        self.times.place(delay)
    }

    /// What was recorded since the last call.
    pub fn take(&mut self) -> (Times, Jitter) {
        (self.times.take(), self.jitter.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_that_of_the_rfc() {
        // Delays alternate by 16 ms: J goes 1, 1.94, ... toward 16.
        let mut jitter = Jitter::default();
        [0u64, 16_000_000, 0].into_iter().for_each(|ns| jitter.record(ns));
        // After the first change J = 16/16 = 1, after the second 1 + (16 - 1)/16 = 1.9375: mean 1.46875.
        assert!((jitter.mean_ms().unwrap() - 1.46875).abs() < 1e-6);
        let first = jitter.take();
        assert_eq!((first.mean_ms().is_some(), jitter.mean_ms()), (true, None));
        (0..1000).for_each(|k| jitter.record((k % 2) * 16_000_000));
        assert!((jitter.mean_ms().unwrap() - 16.0).abs() < 0.3);
    }

    #[test]
    fn periods_end_where_phases_do() {
        let (mut scenario, _) = super::super::sample::two_flows();
        assert_eq!(Period::ends(&scenario).into_iter().collect::<Vec<_>>(), [5, 10]);
        scenario.measure.warm_up = WarmUp::Auto;
        scenario.measure.phases[1].from = Span::from_secs(3);
        assert_eq!(Period::ends(&scenario).into_iter().collect::<Vec<_>>(), [3, 5, 8, 10]);
    }
}
