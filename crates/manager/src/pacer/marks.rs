//! Releases: as an account of the backlog takes them, and as their acknowledgments refer to them.

use evenair_units::Span;

use crate::ids::{DomainId, StationId};

/// Bits of the number of a release: a billion packets a second for three days, or a million for years. The bits above are the domain, so
/// that the acknowledgment of a packet released before its station roamed goes to the right account.
const COUNT_BITS: u32 = 48;

/// A reference to a release, kept until its acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// Number of the release in its domain, with the domain in the upper bits.
    number: u64,
    /// Whether an acknowledgment is due.
    due: bool,
}

impl Mark {
    pub(crate) const fn new(number: u64, due: bool) -> Self {
        Self { number, due }
    }

    /// The number of the first release of a domain.
    pub(crate) const fn first(domain: DomainId) -> u64 {
        ((domain.index() as u64) << COUNT_BITS) + 1
    }

    /// Its position in the order of releases.
    pub(crate) const fn number(self) -> u64 {
        self.number
    }

    /// Whether an acknowledgment is due.
    pub(crate) const fn is_due(self) -> bool {
        self.due
    }

    /// The domain in which it was released.
    pub(crate) fn domain(self) -> DomainId {
        DomainId::at((self.number >> COUNT_BITS) as usize)
    }
}

/// A packet that goes to the access points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release {
    /// Airtime by the model, including what is still to come for it.
    pub(crate) airtime: Span,
    /// The part of `airtime` for DATA that its station sends in response.
    pub(crate) for_data: Span,
    /// Whether the airtime is exact, as that of frames to groups, and not scaled by measured costs.
    pub(crate) is_sure: bool,
    /// Whether an acknowledgment is due.
    pub(crate) due: bool,
    /// Whether it is of a protocol whose acknowledgments are not recognised, as datagrams.
    pub(crate) unanswerable: bool,
    /// Whether packets are held, so that the box decides what is in flight.
    pub(crate) managed: bool,
    /// The previous release of its flow.
    pub(crate) previous: Option<Mark>,
    /// The receiving station. `None`: a group.
    pub(crate) station: Option<StationId>,
}

/// The packet that is to be released next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// Its time, in the unit of the account (see `account`).
    pub(crate) own: Span,
    /// Whether it belongs to the run that has begun.
    pub(crate) in_run: bool,
}

/// How much may be in flight, in medium time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// Target of the access point's backlog; the lag of the path is allowed in addition.
    Target(Span),
    /// Fixed limit of all in flight.
    Fixed(Span),
}

impl Allowance {
    /// The same with a target that is shorter by this, by a third at most.
    pub(crate) fn less(self, spare: Span) -> Self {
        match self {
            Self::Target(target) => Self::Target(target - spare.min(target / 3)),
            Self::Fixed(most) => Self::Fixed(most),
        }
    }

    /// Most medium time in flight, with this lag of the path, and unresponsive senders that use `flooded_permille` of the medium.
    pub(crate) fn most(self, lag: Span, flooded_permille: u64) -> Span {
        match self {
            Self::Target(target) => target.mul_div(2_000 - flooded_permille, 2_000) + lag,
            Self::Fixed(most) => most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_shortened_by_a_third_at_most_and_a_fixed_limit_is_not() {
        let ms = Span::from_millis;
        for (allowance, spare, expected) in [
            (Allowance::Target(ms(3)), 1, Allowance::Target(ms(2))),
            (Allowance::Target(ms(6)), 1, Allowance::Target(ms(5))),
            (Allowance::Target(Span::from_micros(1_500)), 1, Allowance::Target(ms(1))),
            (Allowance::Target(ms(3)), 0, Allowance::Target(ms(3))),
            (Allowance::Fixed(ms(3)), 1, Allowance::Fixed(ms(3))),
        ] {
            assert_eq!(allowance.less(ms(spare)), expected, "{allowance:?} less {spare} ms");
        }
    }
}
