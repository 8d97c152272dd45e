//! The controller of releases: `[manager.controller]`. The kinds, their keys, and the check of each.
//!
//! A new kind is a word of [`ControllerKind`], its keys in [`ControllerSpec`], and an arm of [`ControllerSpec::check`].

use std::fmt;

use evenair_manager::Controller;
use evenair_manager::controller::{Pi, Published, QueueTarget};
use evenair_reader::{OrDefault, Permille, Problems, Written, ranges, words};
use evenair_units::{BitRate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Parts, ServiceRates};

ranges! {
    /// Targets of a controller.
    pub Targets: Span = "0.1 ms to 1 s";
    /// Intervals between two decisions; for "pi" up to 10 s.
    pub Intervals: Span = "10 ms to 60 s";
    /// Tolerances, less than the whole service rate.
    pub Tolerances: Permille = "0 % to 99.9 %";
}

/// What paces the releases to the WLAN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ControllerSpec {
    /// What it is: "queue" keeps the access point's backlog short, estimated from the stations' ACKs, with as little in flight besides
    /// as carries nearly all, whatever the path delays; "published" adapts a service rate by the published additive rule; "pi" adapts
    /// it by a proportional-integral law; "fixed" is a constant service rate; "none" does not queue packets for the WLAN. Default:
    /// "queue".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "queue"))]
    pub kind: Option<Written<ControllerKind>>,
    /// "queue": target of the access point's backlog, as medium time, shortened by up to 1 ms where the path has no lag; "pi":
    /// target of the mean waiting time in the access point. Default: 3 ms with "queue", 10 ms with "pi".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["queue", "pi"] }))]
    pub target: Option<Written<Span, Targets>>,
    /// "published", "pi": time between two decisions; with "pi" up to 10 s. Default: 1 s with "published", 50 ms with "pi".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["published", "pi"] }))]
    pub interval: Option<Written<Span, Intervals>>,
    /// "fixed": the constant service rate, IP-level bits of DATA and ACKs over the WLAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["fixed"] }))]
    #[schemars(extend("x-needed-with" = { "kind": ["fixed"] }))]
    pub rate: Option<Written<BitRate, ServiceRates>>,
    /// "published": change of the service rate at each decision. Default: "0.1 Mb/s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["published"] }))]
    pub step: Option<Written<BitRate, ServiceRates>>,
    /// "published": measured use this little below the service rate counts as equal. Default: "3 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["published"] }))]
    pub tolerance: Option<Written<Permille, Tolerances>>,
    /// "published": initial service rate, as a part of C*. Default: "90 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-only-with" = { "kind": ["published"] }))]
    pub start: Option<Written<Permille, Parts>>,
}

/// Kind of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerKind {
    /// Controls the access point's queue.
    Queue,
    /// The published additive rule.
    Published,
    /// Proportional-integral control of the offered load.
    Pi,
    /// A constant rate.
    Fixed,
    /// No controller: packets are not held for the WLAN.
    None,
}

words!(ControllerKind {
    "queue" => Self::Queue,
    "published" => Self::Published,
    "pi" => Self::Pi,
    "fixed" => Self::Fixed,
    "none" => Self::None,
});
impl fmt::Display for ControllerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queue => "queue",
            Self::Published => "published",
            Self::Pi => "pi",
            Self::Fixed => "fixed",
            Self::None => "none",
        })
    }
}

impl ControllerSpec {
    /// The controller, or `None` and problems.
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<Controller> {
        match self.kind.get_or(ControllerKind::Queue, problems)? {
            ControllerKind::Queue => self.queue(problems).map(Into::into),
            ControllerKind::Published => self.published(problems).map(Into::into),
            ControllerKind::Pi => self.pi(problems).map(Into::into),
            ControllerKind::Fixed => self.rate.as_ref()?.get(problems).map(Controller::Fixed),
            ControllerKind::None => Some(Controller::None),
        }
    }

    fn queue(&self, problems: &mut Problems) -> Option<QueueTarget> {
        let target = self.target.get_or(QueueTarget::default().target, problems)?;
        Some(QueueTarget { target })
    }

    fn pi(&self, problems: &mut Problems) -> Option<Pi> {
        let usual = Pi::default();
        let longest = Span::from_secs(10);
        let target = self.target.get_or(usual.target, problems);
        let interval = self.interval.get_or_if(usual.interval, problems, |&span| span <= longest, "10 ms to 10 s");
        Some(Pi { interval: interval?, target: target? })
    }

    fn published(&self, problems: &mut Problems) -> Option<Published> {
        let usual = Published::default();
        let interval = self.interval.get_or(usual.interval, problems);
        let delta = self.step.get_or(usual.delta, problems);
        let tolerance = self.tolerance.get_or(Permille(usual.tolerance_permille), problems);
        let start = self.start.get_or(Permille(usual.start_permille), problems);
        Some(Published {
            interval: interval?,
            delta: delta?,
            tolerance_permille: tolerance?.0,
            start_permille: start?.0,
        })
    }
}
