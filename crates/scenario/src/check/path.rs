//! The wired path between the box and the access points.

use evenair_reader::{OrDefault, Problems, Written};
use evenair_units::Span;

use crate::ranges::{Batches, Delays};
use crate::raw::{DelayRaw, OwnDelayRaw, OwnPathRaw, PathRaw};
use crate::{DelaySpec, PathSpec};

/// The default path of access points.
pub(super) fn of_all(raw: &PathRaw, problems: &mut Problems) -> PathSpec {
    let mut one_way = |raw: &DelayRaw| direction([&raw.delay, &raw.jitter], &raw.batch, DelaySpec::default(), problems);
    PathSpec { down: one_way(&raw.down), up: one_way(&raw.up) }
}

/// The path of one access point, with `all` as default.
pub(super) fn of_one(raw: &OwnPathRaw, all: PathSpec, problems: &mut Problems) -> PathSpec {
    let mut one_way = |raw: &OwnDelayRaw, all| direction([&raw.delay, &raw.jitter], &raw.batch, all, problems);
    PathSpec { down: one_way(&raw.down, all.down), up: one_way(&raw.up, all.up) }
}

fn direction(
    [delay, jitter]: [&Option<Written<Span, Delays>>; 2],
    batch: &Option<Written<Span, Batches>>,
    default: DelaySpec,
    problems: &mut Problems,
) -> DelaySpec {
    DelaySpec {
        delay: delay.get_or(default.delay, problems).unwrap_or(default.delay),
        jitter: jitter.get_or(default.jitter, problems).unwrap_or(default.jitter),
        batch: batch.get_or(default.batch, problems).unwrap_or(default.batch),
    }
}
