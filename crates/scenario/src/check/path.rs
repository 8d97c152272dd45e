//! The wired path between the box and the access points: the range of its parameters.

use evenair_reader::{OrDefault, Problems, Written};
use evenair_units::Span;

use super::MAX_DELAY;
use crate::raw::{DelayRaw, OwnDelayRaw, OwnPathRaw, PathRaw};
use crate::{DelaySpec, PathSpec};

/// No driver collects packets for longer before it hands them over.
const MAX_BATCH: Span = Span::from_secs(1);

/// The path of each access point that says nothing else.
pub(super) fn of_all(raw: &PathRaw, problems: &mut Problems) -> PathSpec {
    let mut one_way = |raw: &DelayRaw| direction([&raw.delay, &raw.jitter, &raw.batch], DelaySpec::default(), problems);
    PathSpec { down: one_way(&raw.down), up: one_way(&raw.up) }
}

/// The path of one access point; what it does not say is as for `all`.
pub(super) fn of_one(raw: &OwnPathRaw, all: PathSpec, problems: &mut Problems) -> PathSpec {
    let mut one_way = |raw: &OwnDelayRaw, all| direction([&raw.delay, &raw.jitter, &raw.batch], all, problems);
    PathSpec { down: one_way(&raw.down, all.down), up: one_way(&raw.up, all.up) }
}

fn direction(
    [delay, jitter, batch]: [&Option<Written<Span>>; 3],
    default: DelaySpec,
    problems: &mut Problems,
) -> DelaySpec {
    let mut up_to = |written: &Option<Written<Span>>, default, most: Span, allowed: &str| {
        written.get_or_if(default, problems, |&span| span <= most, allowed).unwrap_or(default)
    };
    DelaySpec {
        delay: up_to(delay, default.delay, MAX_DELAY, "0 to 10 s"),
        jitter: up_to(jitter, default.jitter, MAX_DELAY, "0 to 10 s"),
        batch: up_to(batch, default.batch, MAX_BATCH, "0 to 1 s"),
    }
}
