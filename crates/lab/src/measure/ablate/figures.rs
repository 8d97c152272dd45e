//! What a run is judged by.

use std::fmt;

use evenair_results::{PhaseResult, RunResult, scalar};
use evenair_scenario::{AppKind, Scenario};

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Of all flows, Mb/s.
    Goodput,
    /// 95th percentile of the time in the access point, ms.
    ApDelay,
    /// Jain's index of the measured airtime of stations with transfers without end or with datagrams.
    Jain,
    /// Median load time of a page, ms.
    Page,
    /// R of the worst call (ITU-T G.107).
    Call,
}

/// How a difference is expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// In percent of the full controller's value.
    Percent,
    /// In the measure's own unit.
    Own,
}

impl Measure {
    pub const ALL: [Self; 5] = [Self::Goodput, Self::ApDelay, Self::Jain, Self::Page, Self::Call];

    /// Its heading, with its unit.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Goodput => "goodput, Mb/s",
            Self::ApDelay => "AP p95, ms",
            Self::Jain => "Jain of airtime",
            Self::Page => "page, ms",
            Self::Call => "worst R",
        }
    }

    /// Decimals of its values.
    pub const fn decimals(self) -> usize {
        match self {
            Self::Goodput | Self::ApDelay | Self::Call => 1,
            Self::Jain => 3,
            Self::Page => 0,
        }
    }

    /// How its differences are shown.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Goodput | Self::Page => Unit::Percent,
            Self::ApDelay | Self::Jain | Self::Call => Unit::Own,
        }
    }

    /// Whether more of it is worse.
    pub const fn is_cost(self) -> bool {
        matches!(self, Self::ApDelay | Self::Page)
    }

    /// A smaller difference from this value counts for nothing: 2 % of a rate; 10 % of a delay, and 1 ms at least; 0.02 of Jain's index;
    /// two points of R, which spans 93.
    pub fn least(self, value: f64) -> f64 {
        match self {
            Self::Goodput => 0.02 * value,
            Self::ApDelay | Self::Page => (0.1 * value).max(1.0),
            Self::Jain => 0.02,
            Self::Call => 2.0,
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// The figures of a run; absent where it has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures([Option<f64>; Measure::ALL.len()]);

impl Figures {
    /// Those of the last phase.
    pub fn of(run: &RunResult, scenario: &Scenario) -> Option<Self> {
        let phase = run.phases.last()?;
        let value = |name: &str| scalar(run, &format!("phase.{}.{name}", phase.name));
        let delay = |name: &PhaseResult| {
            let points = name.nodes.iter().filter(|node| node.is_access_point());
            points.filter_map(|node| node.sojourn.as_ref()).map(|sojourn| sojourn.p95_ms).reduce(f64::max)
        };
        let figure = |measure| match measure {
            Measure::Goodput => value("total_goodput_mbps"),
            Measure::ApDelay => delay(phase),
            Measure::Jain => phase.measured_airtime.as_ref()?.jain_of(|station| is_greedy(scenario, station)),
            Measure::Page => value("page.p50_s").map(|seconds| 1_000.0 * seconds),
            Measure::Call => value("calls.r_factor_min"),
        };
        Some(Self(Measure::ALL.map(figure)))
    }

    pub const fn get(&self, measure: Measure) -> Option<f64> {
        self.0[measure.index()]
    }

    /// For tests of what is done with figures.
    #[cfg(test)]
    pub const fn with(values: [Option<f64>; Measure::ALL.len()]) -> Self {
        Self(values)
    }
}

/// Whether a station has a transfer without end; where no station has one, datagrams.
fn is_greedy(scenario: &Scenario, station: &str) -> bool {
    let is_bulk = |kind: &AppKind| matches!(kind, AppKind::Bulk { .. });
    let has_bulk = scenario.apps.iter().any(|app| is_bulk(&app.kind));
    let counts = |kind: &AppKind| if has_bulk { is_bulk(kind) } else { matches!(kind, AppKind::Udp(_)) };
    scenario.apps.iter().any(|app| counts(&app.kind) && scenario.hosts[app.station].name == station)
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.heading().split(',').next().unwrap_or_default())
    }
}
