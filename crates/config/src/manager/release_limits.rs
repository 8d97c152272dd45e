//! Limits of the controller "queue", for experiments: `run`, `run_frames` and `in_flight` of `[manager]`.

use evenair_manager::ReleaseLimits;
use evenair_reader::{FromWritten, OrDefault, Problems, Scalar, ranges};
use evenair_units::Span;
use schemars::{Schema, json_schema};

use super::ManagerSpec;

/// A limit of the airtime in flight; `None`: "auto".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight(pub Option<Span>);

impl FromWritten for InFlight {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        match scalar {
            Scalar::Text(text) if text == "auto" => Ok(Self(None)),
            _ => Span::from_written(scalar).map(|span| Self(Some(span))),
        }
    }

    fn allowed() -> String {
        "a time such as \"6 ms\", or \"auto\"".into()
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [Span::schema(), { "const": "auto" }] })
    }
}

const LEAST: Span = Span::from_micros(100);
const MOST: Span = Span::from_secs(10);

ranges! {
    /// Limits in flight.
    pub InFlightLimits: InFlight = "0.1 ms to 10 s, or \"auto\"" if |limit: &InFlight| limit.0.is_none_or(|span| (LEAST..=MOST).contains(&span));
}

impl ManagerSpec {
    /// The limits, or `None` and problems.
    pub(super) fn release_limits(&self, problems: &mut Problems) -> Option<ReleaseLimits> {
        let run = self.run.get_or(ReleaseLimits::default().run, problems);
        let run_frames = self.run_frames.get_optional(problems);
        let in_flight = self.in_flight.get_or(InFlight(None), problems);
        Some(ReleaseLimits { run: run?, run_frames: run_frames?, in_flight: in_flight?.0 })
    }
}
