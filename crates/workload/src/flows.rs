//! Transfers that arrive: arrivals of sized flows, and sources that send a file, pause, and send the next.
//!
//! The arrivals of an entry are one process, spread over its stations. Every reader of the random stream draws the same
//! arrivals, so that each host of the testbed generates its own part without communication, and the simulator generates the
//! same flows.

use evenair_reader::words;
use evenair_units::{Bytes, Rng, Span, Streams};
use serde::{Deserialize, Serialize};

use crate::Distribution;
use crate::written_units::as_nanos;

/// Arrivals of TCP transfers, spread over the applications of a group, one for each station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// Number of the group's first application in the scenario; the others follow.
    pub first: u32,
    /// Number of applications in the group.
    pub members: u32,
    /// Mean time between arrivals.
    #[serde(with = "as_nanos")]
    pub gap: Span,
    /// Whether gaps are exponential; otherwise all are equal.
    pub poisson: bool,
    /// Maximum number of arrivals.
    pub count: Option<u64>,
    /// Time of the last possible arrival after the start, in nanoseconds.
    pub until: Option<u64>,
    /// How the next station is chosen.
    pub spread: Spread,
    /// Bytes of a transfer.
    pub size: Distribution,
    /// Maximum number of concurrent transfers per station; more are refused.
    pub limit: u32,
    /// TCP congestion control of the senders, if it differs from the scenario's.
    pub congestion_control: Option<String>,
}

/// Which station gets the next transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Any, equally likely.
    Random,
    /// In turn.
    RoundRobin,
}

words!(Spread { "random" => Self::Random, "round-robin" => Self::RoundRobin });

/// A source that alternates between files and pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnOffSpec {
    /// Bytes of a file.
    pub size: Distribution,
    /// Nanoseconds from the sender's knowledge that a file has arrived to the start of the next.
    pub gap: Distribution,
    /// Whether all files use one connection; otherwise each has its own.
    pub persistent: bool,
    /// TCP congestion control of the sender, if it differs from the scenario's.
    pub congestion_control: Option<String>,
}

/// Start of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowArrival {
    /// Time since the start.
    pub at: Span,
    /// Index of its application in the group, from zero.
    pub member: u32,
    /// Its size.
    pub bytes: Bytes,
}

/// The arrivals of a group, in order of time.
#[derive(Clone, Debug)]
pub struct FlowArrivals {
    spec: FlowSpec,
    gaps: Rng,
    picks: Rng,
    sizes: Rng,
    made: u64,
    at: Span,
}

/// The files and pauses of one source.
#[derive(Clone, Debug)]
pub struct FileSource {
    spec: OnOffSpec,
    sizes: Rng,
    gaps: Rng,
}

impl FlowArrivals {
    /// The arrivals of the group with these streams.
    pub fn new(spec: &FlowSpec, streams: &Streams) -> Self {
        Self {
            spec: spec.clone(),
            gaps: streams.stream("flow arrivals"),
            picks: streams.stream("flow stations"),
            sizes: streams.stream("flow sizes"),
            made: 0,
            at: Span::ZERO,
        }
    }
}

impl Iterator for FlowArrivals {
    type Item = FlowArrival;

    fn next(&mut self) -> Option<FlowArrival> {
        let Self { spec, gaps, picks, sizes, made, at } = self;
        if spec.count.is_some_and(|count| *made >= count) {
            return None;
        }
        if spec.poisson {
            let gap = -(spec.gap.as_nanos() as f64) * libm::log1p(-gaps.unit());
            *at += Span::from_nanos(gap as u64);
        } else if *made > 0 {
            *at += spec.gap;
        }
        if spec.until.is_some_and(|until| at.as_nanos() >= until) {
            return None;
        }
        let member = match spec.spread {
            Spread::Random => picks.below(u64::from(spec.members)),
            Spread::RoundRobin => *made % u64::from(spec.members.max(1)),
        };
        *made += 1;
        Some(FlowArrival { at: *at, member: member as u32, bytes: spec.size.draw_bytes(sizes) })
    }
}

impl FileSource {
    /// The source of the application with these streams.
    pub fn new(spec: &OnOffSpec, streams: &Streams) -> Self {
        let (sizes, gaps) = (streams.stream("file sizes"), streams.stream("file gaps"));
        Self { spec: spec.clone(), sizes, gaps }
    }

    /// Bytes of the next file.
    pub fn file(&mut self) -> Bytes {
        self.spec.size.draw_bytes(&mut self.sizes)
    }

    /// The pause before it.
    pub fn pause(&mut self) -> Span {
        self.spec.gap.draw_span(&mut self.gaps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> FlowSpec {
        FlowSpec {
            first: 3,
            members: 4,
            gap: Span::from_millis(10),
            poisson: true,
            count: Some(100_000),
            until: None,
            spread: Spread::Random,
            size: Distribution::Exponential { min: 0.0, excess: 5e4, max: None },
            limit: 100,
            congestion_control: None,
        }
    }

    fn arrivals(spec: &FlowSpec) -> Vec<FlowArrival> {
        FlowArrivals::new(spec, &Streams::new(7)).collect()
    }

    #[test]
    fn poisson_arrivals_have_their_rate_their_dispersion_and_independent_stations() {
        let all = arrivals(&spec());
        assert_eq!(all.len(), 100_000);
        // 1000 s, with a standard deviation of sqrt(100,000) gaps: 0.3 %.
        let length = all.last().expect("many").at.as_secs_f64();
        assert!((length / 1000.0 - 1.0).abs() < 0.016, "{length}");
        // A station's arrivals are a Poisson process of a quarter of the rate: 25 per second with the same variance.
        let mut counts = vec![0.0f64; 900];
        for arrival in all.iter().filter(|arrival| arrival.member == 1) {
            if let Some(count) = counts.get_mut((arrival.at.as_nanos() / 1_000_000_000) as usize) {
                *count += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / 900.0;
        let variance = counts.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / 900.0;
        assert!((mean - 25.0).abs() < 1.0, "{mean}");
        assert!((variance / mean - 1.0).abs() < 0.25, "{variance} for {mean}");
        let mean = all.iter().map(|arrival| arrival.bytes.0 as f64).sum::<f64>() / 1e5;
        assert!((mean / 5e4 - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn regular_arrivals_go_round_from_the_start() {
        let spec = FlowSpec {
            poisson: false,
            spread: Spread::RoundRobin,
            size: Distribution::Constant(1e5),
            until: Some(65_000_000),
            ..spec()
        };
        let all: Vec<_> = arrivals(&spec).iter().map(|arrival| (arrival.at.as_micros(), arrival.member)).collect();
        assert_eq!(all, [(0, 0), (10_000, 1), (20_000, 2), (30_000, 3), (40_000, 0), (50_000, 1), (60_000, 2)]);
    }

    #[test]
    fn a_change_of_size_changes_no_instant_and_no_station() {
        let other = FlowSpec { size: Distribution::Pareto { alpha: 1.3, min: 1e3, max: None }, ..spec() };
        let places = |spec| arrivals(spec).iter().map(|arrival| (arrival.at, arrival.member)).collect::<Vec<_>>();
        assert!(places(&spec()) == places(&other));
    }
}
