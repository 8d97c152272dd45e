//! Releases, as an account of the access points' backlog takes them and as their answers name them.

use evenair_units::Span;

use crate::ids::{DomainId, StationId};

/// Releases are counted in so many bits: a billion packets in a second for three days, or a million for years. What is
/// above them is the domain, so that the answer to a packet released before its station roamed finds its way.
const COUNT_BITS: u32 = 48;

/// A release, as far as its answer needs to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// How many were released up to it, behind the number of the domain.
    number: u64,
    /// An answer is due to it.
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

    /// Its place in the order of releases.
    pub(crate) const fn number(self) -> u64 {
        self.number
    }

    /// An answer is due to it.
    pub(crate) const fn is_due(self) -> bool {
        self.due
    }

    /// Where it was released.
    pub(crate) fn domain(self) -> DomainId {
        DomainId::at((self.number >> COUNT_BITS) as usize)
    }
}

/// A packet that goes to the access points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release {
    /// Airtime by the airtime model, with what is still to come for it.
    pub(crate) airtime: Span,
    /// Of it, that of DATA that its station sends for it.
    pub(crate) for_data: Span,
    /// The airtime is sure, as that of frames to groups, and not measured.
    pub(crate) is_sure: bool,
    /// An answer is due to it.
    pub(crate) due: bool,
    /// It is of a protocol whose answers are not known, as datagrams are.
    pub(crate) unanswerable: bool,
    /// Packets are held, so that what is in flight is the box's choice.
    pub(crate) managed: bool,
    /// The release before it of its flow.
    pub(crate) previous: Option<Mark>,
    /// Who receives it. `None`: a group.
    pub(crate) station: Option<StationId>,
}

/// The packet that is to be released next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// What it takes, in the unit of the account (see `account`).
    pub(crate) own: Span,
    /// It goes on a run of its station.
    pub(crate) in_run: bool,
}

/// How much may be in flight, in medium time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// This much in the access point, and what the path's lag needs besides.
    Target(Span),
    /// This much in all.
    Fixed(Span),
}

impl Allowance {
    /// Medium time in flight, where the lag needs this much, and unresponsive senders take so many thousandths of the medium.
    pub(crate) fn most(self, lag: Span, flooded_permille: u64) -> Span {
        match self {
            Self::Target(target) => target.mul_div(2_000 - flooded_permille, 2_000) + lag,
            Self::Fixed(most) => most,
        }
    }
}
