//! Sizes and times of an application's datagrams: constant rate, with noise, Poisson, frames of varying size, any of these
//! in bursts, and traces.
//!
//! The simulator and the testbed use the same random streams, so that they send the same datagrams at the same times. A
//! source with regular times begins at a random point of its first gap, because synchronized sources would always collide.

use std::sync::Arc;

use evenair_units::{Bytes, Rng, Span, Streams};
use serde::{Deserialize, Serialize};

use crate::Distribution;
use crate::written_units::{as_bytes, as_list, as_nanos};

/// How an application sends datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatagramSpec {
    /// Times at which they are due.
    pub spacing: Spacing,
    /// UDP payload of each; with [`Spacing::Frames`], of the largest.
    #[serde(with = "as_bytes")]
    pub payload: Bytes,
    /// Periods of sending; always on if absent.
    pub bursts: Option<Bursts>,
}

/// Time between datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Always the same.
    Regular {
        /// Time from one to the next.
        #[serde(with = "as_nanos")]
        gap: Span,
    },
    /// Uniform around the gap.
    Noisy {
        /// Mean.
        #[serde(with = "as_nanos")]
        gap: Span,
        /// Maximum deviation from the mean.
        #[serde(with = "as_nanos")]
        most: Span,
    },
    /// Exponential: a Poisson process.
    Poisson {
        /// Mean.
        #[serde(with = "as_nanos")]
        gap: Span,
    },
    /// A frame at regular times, of random size, cut into datagrams that are sent at once.
    Frames {
        /// Time from one frame to the next.
        #[serde(with = "as_nanos")]
        interval: Span,
        /// Size of a frame, in bytes.
        size: Distribution,
    },
    /// From a trace.
    Trace {
        /// Time after the start in nanoseconds, and UDP payload in bytes, of each; at least one.
        #[serde(with = "as_list")]
        datagrams: Arc<[(u64, u32)]>,
        /// Period of repetition; without one, the trace is played once.
        repeat_ns: Option<u64>,
    },
}

/// Alternating periods of sending and silence. The first is random, with the long-run proportions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bursts {
    /// Nanoseconds of sending.
    pub on: Distribution,
    /// Nanoseconds of silence.
    pub off: Distribution,
}

/// A datagram that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Time since the start of the application.
    pub at: Span,
    /// UDP payload.
    pub payload: Bytes,
}

/// The datagrams of one application, one after the other, without end. The state of the usual kind is inline, so that it
/// needs few memory accesses.
#[derive(Clone, Debug)]
pub struct DatagramSource {
    next: Datagram,
    pace: Pace,
}

#[derive(Clone, Debug)]
enum Pace {
    /// [`Spacing::Regular`] without bursts: the usual kind.
    Regular(Span),
    Drawn(Box<Drawn>),
}

/// State of random sources and traces.
#[derive(Clone, Debug)]
struct Drawn {
    spec: DatagramSpec,
    draws: Rng,
    /// Bytes of the current frame after the next datagram.
    frame_left: Bytes,
    /// Remaining sending time of the current burst.
    burst_left: Span,
    /// Number of the next datagram of a trace.
    place: usize,
    /// Start of the trace's current repetition.
    begun: Span,
}

/// Due time if there is no next datagram: later than any run (31 years, so that sums do not overflow).
const NEVER: Span = Span::from_secs(1_000_000_000);

impl DatagramSpec {
    /// Mean rate of UDP payload, bits per second.
    pub fn mean_bps(&self) -> f64 {
        let (bytes, gap) = match &self.spacing {
            Spacing::Regular { gap } | Spacing::Noisy { gap, .. } | Spacing::Poisson { gap } => {
                (self.payload.0 as f64, gap)
            }
            Spacing::Frames { interval, size } => (size.mean(), interval),
            Spacing::Trace { datagrams, repeat_ns } => {
                let length = repeat_ns.or(datagrams.last().map(|last| last.0)).unwrap_or(0).max(1);
                return datagrams.iter().map(|&(_, payload)| f64::from(payload)).sum::<f64>() * 8e9 / length as f64;
            }
        };
        let share = self.bursts.as_ref().map_or(1.0, Bursts::share);
        bytes * 8.0 * 1e9 / gap.as_nanos().max(1) as f64 * share
    }
}

impl Bursts {
    /// Proportion of the time in which it is on.
    pub fn share(&self) -> f64 {
        let (on, off) = (self.on.mean(), self.off.mean());
        on / (on + off)
    }
}

impl DatagramSource {
    /// The source of the application with these streams.
    pub fn new(spec: &DatagramSpec, streams: &Streams) -> Self {
        let mut phases = streams.stream("datagram phase");
        if let (Spacing::Regular { gap }, None) = (&spec.spacing, &spec.bursts) {
            let at = Span::from_nanos(phases.below(gap.as_nanos()));
            return Self { next: Datagram { at, payload: spec.payload }, pace: Pace::Regular(*gap) };
        }
        let draws = streams.stream("datagrams");
        let (next, drawn) = Drawn::new(spec, draws, &mut phases);
        Self { next, pace: Pace::Drawn(Box::new(drawn)) }
    }

    /// Delays all datagrams by `time`: for an application that starts later than its clock.
    pub fn put_off(&mut self, time: Span) {
        self.next.at += time;
        if let Pace::Drawn(drawn) = &mut self.pace {
            drawn.begun += time;
        }
    }

    /// The next datagram.
    #[inline]
    pub fn peek(&self) -> Datagram {
        self.next
    }

    /// Advances to the next datagram.
    #[inline]
    pub fn advance(&mut self) {
        match &mut self.pace {
            Pace::Regular(gap) => self.next.at += (*gap).max(Span::from_nanos(1)),
            Pace::Drawn(drawn) => drawn.advance(&mut self.next),
        }
    }

    /// Advances to the first datagram that is due at `until` or later, or has another size than the current one. Returns
    /// the number of skipped datagrams.
    pub fn skip_alike(&mut self, until: Span) -> u64 {
        if let Pace::Regular(gap) = self.pace {
            let behind = until.saturating_sub(self.next.at).as_nanos();
            // Mostly one, and a division is slow.
            let skipped = match behind {
                0 => 0,
                _ if behind <= gap.as_nanos() => 1,
                _ => behind.div_ceil(gap.as_nanos().max(1)),
            };
            self.next.at += gap * skipped;
            return skipped;
        }
        let (size, mut skipped) = (self.next.payload, 0);
        while self.next.at < until && self.next.payload == size {
            self.advance();
            skipped += 1;
        }
        skipped
    }
}

impl Drawn {
    /// Returns the first datagram, too.
    fn new(spec: &DatagramSpec, draws: Rng, phases: &mut Rng) -> (Datagram, Self) {
        let (frame_left, burst_left, begun) = (Bytes::ZERO, Span::ZERO, Span::ZERO);
        let mut drawn = Self { spec: spec.clone(), draws, frame_left, burst_left, place: 0, begun };
        let mut next = Datagram { at: Span::ZERO, payload: spec.payload };
        if let Spacing::Trace { .. } = &spec.spacing {
            drawn.read_trace(&mut next);
            return (next, drawn);
        }
        let mut first = match &spec.spacing {
            Spacing::Regular { gap } | Spacing::Noisy { gap, .. } | Spacing::Frames { interval: gap, .. } => {
                Span::from_nanos(phases.below(gap.as_nanos()))
            }
            Spacing::Poisson { .. } | Spacing::Trace { .. } => drawn.gap(),
        };
        if let Some(bursts) = &spec.bursts {
            if phases.unit() < bursts.share() {
                drawn.burst_left = bursts.on.draw_span(&mut drawn.draws);
            }
            first = drawn.with_silence(first);
        }
        next.at = first;
        drawn.begin_frame(&mut next);
        (next, drawn)
    }

    fn advance(&mut self, next: &mut Datagram) {
        if self.frame_left > Bytes::ZERO {
            self.cut_datagram(next);
            return;
        }
        if let Spacing::Trace { .. } = &self.spec.spacing {
            self.place += 1;
            self.read_trace(next);
            return;
        }
        let gap = self.gap();
        let passes = self.with_silence(gap);
        next.at += passes;
        self.begin_frame(next);
    }

    fn gap(&mut self) -> Span {
        let gap = match &self.spec.spacing {
            Spacing::Regular { gap } | Spacing::Frames { interval: gap, .. } => *gap,
            Spacing::Noisy { gap, most } => *gap - *most + Span::from_nanos(self.draws.below(2 * most.as_nanos() + 1)),
            Spacing::Poisson { gap } => {
                let mean = gap.as_nanos() as f64;
                Span::from_nanos((-mean * libm::log1p(-self.draws.unit())) as u64)
            }
            Spacing::Trace { .. } => NEVER,
        };
        gap.max(Span::from_nanos(1))
    }

    /// Time in which `sending` time passes, including silences.
    fn with_silence(&mut self, sending: Span) -> Span {
        let Some(bursts) = &self.spec.bursts else { return sending };
        let (mut left, mut passed) = (sending, Span::ZERO);
        while left > self.burst_left {
            left -= self.burst_left;
            passed += self.burst_left + bursts.off.draw_span(&mut self.draws);
            // An empty burst would make this loop endless.
            self.burst_left = bursts.on.draw_span(&mut self.draws).max(Span::from_micros(1));
        }
        self.burst_left -= left;
        passed + left
    }

    fn read_trace(&mut self, next: &mut Datagram) {
        let Spacing::Trace { datagrams, repeat_ns } = &self.spec.spacing else { return };
        if let (true, Some(repeat_ns)) = (self.place == datagrams.len(), repeat_ns) {
            self.place = 0;
            self.begun += Span::from_nanos(*repeat_ns);
        }
        *next = match datagrams.get(self.place) {
            Some(&(at, payload)) => Datagram { at: self.begun + Span::from_nanos(at), payload: Bytes(payload.into()) },
            None => Datagram { at: NEVER, payload: Bytes::ZERO },
        };
    }

    fn begin_frame(&mut self, next: &mut Datagram) {
        if let Spacing::Frames { size, .. } = &self.spec.spacing {
            self.frame_left = size.draw_bytes(&mut self.draws);
            self.cut_datagram(next);
        }
    }

    fn cut_datagram(&mut self, next: &mut Datagram) {
        next.payload = self.frame_left.min(self.spec.payload);
        self.frame_left = self.frame_left.saturating_sub(next.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(spacing: Spacing, bursts: Option<Bursts>, number: u64) -> DatagramSource {
        let spec = DatagramSpec { spacing, payload: Bytes(1000), bursts };
        DatagramSource::new(&spec, &Streams::new(number))
    }

    fn all(bursts: Option<&Bursts>) -> Vec<(DatagramSpec, DatagramSource)> {
        let gap = Span::from_millis(2);
        let size = Distribution::lognormal_of_mean(5000.0, 2000.0, Some(20_000.0));
        let spacings = [
            Spacing::Regular { gap },
            Spacing::Noisy { gap, most: Span::from_micros(200) },
            Spacing::Poisson { gap },
            Spacing::Frames { interval: gap, size },
        ];
        let of = |spacing: Spacing| {
            let spec = DatagramSpec { spacing: spacing.clone(), payload: Bytes(1000), bursts: bursts.cloned() };
            (spec, source(spacing, bursts.cloned(), 3))
        };
        spacings.into_iter().map(of).collect()
    }

    /// The datagrams up to an instant.
    fn until(source: &mut DatagramSource, end: Span) -> Vec<Datagram> {
        std::iter::from_fn(|| {
            let next = source.peek();
            source.advance();
            (next.at < end).then_some(next)
        })
        .collect()
    }

    #[test]
    fn every_source_has_its_mean_rate() {
        let on = Distribution::Exponential { min: 0.0, excess: 40e6, max: None };
        let off = Distribution::Pareto { alpha: 2.5, min: 36e6, max: None };
        for bursts in [None, Some(Bursts { on, off })] {
            for (spec, mut source) in all(bursts.as_ref()) {
                let (seconds, mean) = (2000.0, spec.mean_bps());
                let sent = until(&mut source, Span::from_secs(2000));
                assert!(sent.windows(2).all(|pair| pair[0].at <= pair[1].at));
                let bps = sent.iter().map(|datagram| datagram.payload.0).sum::<u64>() as f64 * 8.0 / seconds;
                // 20,000 bursts of variable length: a few percent.
                let margin = if bursts.is_some() { 0.03 } else { 0.005 };
                assert!((bps / mean - 1.0).abs() < margin, "{:?}: {bps}, not {mean}", spec);
            }
        }
    }

    #[test]
    fn noise_is_uniform_around_the_gap_and_sources_are_not_in_phase() {
        let gap = Span::from_micros(1000);
        let spacing = Spacing::Noisy { gap, most: Span::from_micros(100) };
        let sent = until(&mut source(spacing.clone(), None, 0), Span::from_secs(100));
        let gaps: Vec<_> = sent.windows(2).map(|pair| (pair[1].at - pair[0].at).as_nanos() as f64 / 1e3).collect();
        assert!(gaps.iter().all(|gap| (900.0..=1100.0).contains(gap)));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
        // Variance of a uniform distribution of width 200: 200^2 / 12.
        assert!((variance / (200.0 * 200.0 / 12.0) - 1.0).abs() < 0.02, "{variance}");
        let first: Vec<_> = (0..100).map(|number| source(spacing.clone(), None, number).peek().at).collect();
        let early = first.iter().filter(|&&at| at < Span::from_micros(500)).count();
        assert!((30..=70).contains(&early) && first.iter().all(|&at| at < gap), "{early}");
    }

    #[test]
    fn poisson_counts_have_the_variance_of_their_mean() {
        let mut source = source(Spacing::Poisson { gap: Span::from_millis(1) }, None, 0);
        let mut counts = vec![0u32; 5000];
        for datagram in until(&mut source, Span::from_secs(100)) {
            counts[(datagram.at.as_nanos() / 20_000_000) as usize] += 1;
        }
        let mean = f64::from(counts.iter().sum::<u32>()) / 5000.0;
        let variance = counts.iter().map(|&n| (f64::from(n) - mean) * (f64::from(n) - mean)).sum::<f64>() / 5000.0;
        assert!((mean - 20.0).abs() < 0.35, "{mean}");
        // The index of dispersion of 5000 counts has a standard error of 2 %.
        assert!((variance / mean - 1.0).abs() < 0.1, "{}", variance / mean);
    }

    #[test]
    fn frames_are_cut_and_sent_at_once() {
        let size = Distribution::Constant(2500.0);
        let mut source = source(Spacing::Frames { interval: Span::from_millis(40), size }, None, 0);
        let sent = until(&mut source, Span::from_secs(1));
        assert_eq!(sent.len(), 75);
        for frame in sent.chunks(3) {
            assert!(frame.iter().all(|datagram| datagram.at == frame[0].at));
            assert_eq!(frame.iter().map(|datagram| datagram.payload.0).collect::<Vec<_>>(), [1000, 1000, 500]);
        }
    }

    #[test]
    fn silences_hold_nothing() {
        let (on, off) = (Distribution::Constant(10e6), Distribution::Constant(90e6));
        let mut source = source(Spacing::Regular { gap: Span::from_millis(1) }, Some(Bursts { on, off }), 0);
        let sent = until(&mut source, Span::from_secs(10));
        let long = sent.windows(2).filter(|pair| pair[1].at - pair[0].at > Span::from_millis(2)).count();
        assert!((98..=101).contains(&long), "{long}");
        assert!((980..=1010).contains(&sent.len()), "{}", sent.len());
    }

    #[test]
    fn a_trace_ends_or_begins_anew() {
        let datagrams: Arc<[_]> = vec![(0, 100), (0, 50), (7_000_000, 200)].into();
        let once = source(Spacing::Trace { datagrams: Arc::clone(&datagrams), repeat_ns: None }, None, 0);
        let all = |mut source: DatagramSource| {
            let sent = until(&mut source, Span::from_millis(25));
            sent.iter().map(|datagram| (datagram.at.as_micros() / 1000, datagram.payload.0)).collect::<Vec<_>>()
        };
        assert_eq!(all(once), [(0, 100), (0, 50), (7, 200)]);
        let again = source(Spacing::Trace { datagrams, repeat_ns: Some(10_000_000) }, None, 0);
        assert_eq!(all(again)[..7], [(0, 100), (0, 50), (7, 200), (10, 100), (10, 50), (17, 200), (20, 100)]);
    }

    #[test]
    fn skipping_leaves_out_what_advancing_would_pass() {
        for (_, source) in all(None) {
            let (mut skipped, mut walked) = (source.clone(), source);
            let mut passed = 0;
            let until = Span::from_millis(333);
            while skipped.peek().at < until {
                passed += skipped.skip_alike(until);
            }
            for _ in 0..passed {
                assert!(walked.peek().at < until);
                walked.advance();
            }
            assert_eq!(skipped.peek(), walked.peek());
        }
    }
}
