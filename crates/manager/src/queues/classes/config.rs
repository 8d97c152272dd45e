//! The configured tree of classes.

use alloc::vec::Vec;
use core::fmt;

use evenair_packet::{MacAddr, Subnet, Vlan};
use evenair_units::BitRate;
use minicbor::{Decode, Encode};

use super::label::Label;
use crate::config::limits::MAX_RATE;
use crate::ids::{ClassId, Direction};

/// A tree of classes above all levels of the policy.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ClassTree {
    /// The classes, by number. Siblings are matched in this order.
    #[n(0)]
    pub classes: Vec<Class>,
    /// Weight of traffic in no class, and in a class with children in none of these.
    #[n(1)]
    pub other: u32,
}

/// A class.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Class {
    /// The class above it; `None`: the root.
    #[n(0)]
    pub parent: Option<ClassId>,
    /// Its weight beside its siblings.
    #[n(1)]
    pub weight: u32,
    /// Guaranteed amount, served before weights decide, as long as it has packets.
    #[n(2)]
    pub minimum: Option<Amount>,
    /// Largest amount, whatever the others leave.
    #[n(3)]
    pub ceiling: Option<Amount>,
    /// The traffic in it.
    #[n(4)]
    pub takes: Takes,
}

/// An amount of the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Amount {
    /// Part of the medium's time, in thousandths. For a minimum, part of what is served.
    #[n(0)]
    Part(#[n(0)] u32),
    /// IP-level bits per second of data and ACKs that cross the WLAN.
    #[n(1)]
    Rate(#[n(0)] BitRate),
}

/// The traffic that a class takes.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Takes {
    /// Stations assigned to it, and the traffic of its children.
    #[n(0)]
    Named,
    /// Traffic that matches one of these rules.
    #[n(1)]
    Rules(#[n(0)] Vec<Rule>),
    /// Traffic that its siblings leave.
    #[n(2)]
    Rest,
}

/// Conditions, all of which must hold. A list names alternatives; an empty one is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Rule {
    /// MAC addresses of the station.
    #[cbor(n(0), skip_if = "Vec::is_empty")]
    pub macs: Vec<MacAddr>,
    /// Networks that the station's address is in.
    #[cbor(n(1), skip_if = "Vec::is_empty")]
    pub addresses: Vec<Subnet>,
    /// Networks that the other end's address is in.
    #[cbor(n(2), skip_if = "Vec::is_empty")]
    pub peers: Vec<Subnet>,
    /// VLANs; one with a single tag includes all with an inner tag.
    #[cbor(n(3), skip_if = "Vec::is_empty")]
    pub vlans: Vec<Vlan>,
    /// Differentiated services code points, in the direction of the data.
    #[cbor(n(4), skip_if = "Vec::is_empty")]
    pub dscps: Vec<u8>,
    /// IP protocol numbers.
    #[cbor(n(5), skip_if = "Vec::is_empty")]
    pub protocols: Vec<u8>,
    /// Ranges of ports of either end, first to last.
    #[cbor(n(6), skip_if = "Vec::is_empty")]
    pub ports: Vec<(u16, u16)>,
    /// Direction of the data.
    #[n(7)]
    pub direction: Option<Direction>,
    /// Networks in which the station was reported.
    #[cbor(n(8), skip_if = "Vec::is_empty")]
    pub ssids: Vec<Label>,
    /// Groups in which the station was reported.
    #[cbor(n(9), skip_if = "Vec::is_empty")]
    pub groups: Vec<Label>,
}

/// A kind of traffic within a station.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Application {
    /// Its weight beside the others of the station.
    #[n(0)]
    pub weight: u32,
    /// Traffic that matches one of these is of this kind, unless an earlier kind matches.
    #[n(1)]
    pub rules: Vec<Rule>,
}

/// Why a tree of classes is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassError {
    /// More than [`ClassTree::MOST`].
    TooMany,
    /// A class's parent does not exist, it is its own ancestor, or it is deeper than [`ClassTree::DEEPEST`].
    Parent(ClassId),
    /// Two siblings take the rest.
    RestTwice(ClassId),
    /// A minimum or ceiling is zero, more than all, or above [`Config::MAX_RATE`](crate::Config::MAX_RATE).
    Amount(ClassId),
    /// A minimum is above the ceiling.
    MinimumAboveCeiling(ClassId),
    /// The minimum parts of siblings exceed the total, or their parent's ceiling.
    Minima(Option<ClassId>),
    /// All rules together are more than [`ClassTree::MOST_RULES`], or have more than [`ClassTree::MOST_ITEMS`] list
    /// items.
    Rules,
    /// A rule's code point has more than six bits, or the end of a range of ports is before its beginning.
    Rule,
    /// The tree is not the first level, or there is a level of classes as well.
    Level,
}

impl ClassTree {
    /// Classes, at most.
    pub const MOST: usize = 256;
    /// Depth of the tree, at most.
    pub const DEEPEST: usize = 8;
    /// Rules of all classes, at most: each may be evaluated when a flow begins.
    pub const MOST_RULES: usize = 1024;
    /// List items of all rules, at most.
    pub const MOST_ITEMS: usize = 8192;

    pub(crate) fn check(&self) -> Result<(), ClassError> {
        if self.classes.len() > Self::MOST {
            return Err(ClassError::TooMany);
        }
        for (at, class) in self.classes.iter().enumerate() {
            let id = number(at);
            self.check_depth(id)?;
            class.check(id)?;
            let rest = |other: &Class| other.parent == class.parent && other.takes == Takes::Rest;
            if class.takes == Takes::Rest && self.classes[..at].iter().any(rest) {
                return Err(ClassError::RestTwice(id));
            }
        }
        check_rules(self.classes.iter().flat_map(Class::rules))?;
        let parents = (0..self.classes.len()).map(number);
        core::iter::once(None).chain(parents.map(Some)).try_for_each(|of| self.check_minima(of))
    }

    /// The class of a number.
    pub(crate) fn get(&self, class: ClassId) -> &Class {
        &self.classes[usize::from(class.0)]
    }

    /// A class and its ancestors, upward.
    pub(crate) fn path(&self, class: Option<ClassId>) -> impl Iterator<Item = ClassId> + '_ {
        core::iter::successors(class, |&class| self.get(class).parent)
    }

    pub(crate) fn has_children(&self, class: Option<ClassId>) -> bool {
        self.children(class).next().is_some()
    }

    pub(crate) fn children(&self, of: Option<ClassId>) -> impl Iterator<Item = ClassId> + '_ {
        let classes = self.classes.iter().enumerate();
        classes.filter(move |(_, class)| class.parent == of).map(|(at, _)| number(at))
    }

    fn check_depth(&self, class: ClassId) -> Result<(), ClassError> {
        let (mut at, mut depth) = (Some(class), 0);
        while let Some(id) = at {
            depth += 1;
            let found = self.classes.get(usize::from(id.0)).filter(|_| depth <= Self::DEEPEST);
            at = found.ok_or(ClassError::Parent(class))?.parent;
        }
        Ok(())
    }

    fn check_minima(&self, of: Option<ClassId>) -> Result<(), ClassError> {
        let most = match of.and_then(|of| self.get(of).ceiling) {
            Some(Amount::Part(permille)) => permille,
            _ => 1000,
        };
        let minimum = |class: &Class| if let Some(Amount::Part(part)) = class.minimum { part } else { 0 };
        let sum: u32 = self.classes.iter().filter(|class| class.parent == of).map(minimum).sum();
        if sum <= most { Ok(()) } else { Err(ClassError::Minima(of)) }
    }
}

impl Class {
    /// The rules of a class, if it has any.
    pub(crate) fn rules(&self) -> &[Rule] {
        if let Takes::Rules(rules) = &self.takes { rules } else { &[] }
    }

    fn check(&self, id: ClassId) -> Result<(), ClassError> {
        let amounts = [self.minimum, self.ceiling];
        if !amounts.into_iter().flatten().all(Amount::is_possible) {
            return Err(ClassError::Amount(id));
        }
        let crossed = match amounts {
            [Some(Amount::Part(low)), Some(Amount::Part(high))] => low > high,
            [Some(Amount::Rate(low)), Some(Amount::Rate(high))] => low > high,
            _ => false,
        };
        if crossed { Err(ClassError::MinimumAboveCeiling(id)) } else { Ok(()) }
    }
}

impl Amount {
    fn is_possible(self) -> bool {
        match self {
            Self::Part(permille) => (1..=1000).contains(&permille),
            Self::Rate(rate) => (BitRate::from_bps(1)..=MAX_RATE).contains(&rate),
        }
    }
}

impl Rule {
    /// Number of items in its lists.
    pub fn items(&self) -> usize {
        self.macs.len()
            + self.addresses.len()
            + self.peers.len()
            + self.vlans.len()
            + self.dscps.len()
            + self.protocols.len()
            + self.ports.len()
            + self.ssids.len()
            + self.groups.len()
    }
}

/// A class number; the limit on classes ensures that it fits.
pub(super) fn number(at: usize) -> ClassId {
    ClassId(u8::try_from(at).unwrap_or(u8::MAX))
}

/// Whether these rules together are within the limits.
pub(crate) fn check_rules<'a>(rules: impl Iterator<Item = &'a Rule>) -> Result<(), ClassError> {
    let (mut count, mut items) = (0, 0);
    for rule in rules {
        (count, items) = (count + 1, items + rule.items());
        if rule.dscps.iter().any(|&dscp| dscp > 63) || rule.ports.iter().any(|(first, last)| first > last) {
            return Err(ClassError::Rule);
        }
    }
    let fits = count <= ClassTree::MOST_RULES && items <= ClassTree::MOST_ITEMS;
    if fits { Ok(()) } else { Err(ClassError::Rules) }
}

impl fmt::Display for ClassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "there are more than {} classes", ClassTree::MOST),
            Self::Parent(class) => {
                write!(f, "the parents of class {} do not lead to the root in {} steps", class.0, ClassTree::DEEPEST)
            }
            Self::RestTwice(class) => write!(f, "class {} takes the rest, as a sibling does", class.0),
            Self::Amount(class) => {
                write!(f, "a minimum or ceiling of class {} is nothing, or more than all", class.0)
            }
            Self::MinimumAboveCeiling(class) => write!(f, "the minimum of class {} is above its ceiling", class.0),
            Self::Minima(None) => f.write_str("the minimum parts are more than the medium"),
            Self::Minima(Some(class)) => write!(f, "the minimum parts in class {} are more than it may have", class.0),
            Self::Rules => write!(
                f,
                "there are more than {} rules, or {} items in them",
                ClassTree::MOST_RULES,
                ClassTree::MOST_ITEMS
            ),
            Self::Rule => f.write_str("a code point is above 63, or a range of ports ends before it begins"),
            Self::Level => f.write_str("the tree of classes is to be the first level, without the level of classes"),
        }
    }
}
