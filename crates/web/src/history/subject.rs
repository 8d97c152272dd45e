//! Subjects of the history.

use super::tier::Tier;

/// A kind of subject, by its number in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The whole box.
    Box = 0,
    /// A contention domain.
    Domain = 1,
    /// An access point.
    AccessPoint = 2,
    /// A policy class.
    Class = 3,
    /// A station.
    Station = 4,
}

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Self; 5] = [Self::Box, Self::Domain, Self::AccessPoint, Self::Class, Self::Station];

    /// Its word in requests and responses.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Box => "box",
            Self::Domain => "domain",
            Self::AccessPoint => "access-point",
            Self::Class => "class",
            Self::Station => "station",
        }
    }

    /// The tiers in which it has rows, the shortest first.
    pub(crate) const fn tiers(self) -> &'static [Tier] {
        match self {
            Self::Station => &[Tier::Minute, Tier::Hour],
            _ => &[Tier::Minute, Tier::Quarter, Tier::Hour],
        }
    }
}

/// A subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    /// Its kind.
    pub kind: Kind,
    /// Its name: the MAC address of a station, empty for the box.
    pub name: String,
}

impl Subject {
    /// The whole box.
    pub(crate) const BOX: Self = Self { kind: Kind::Box, name: String::new() };

    /// A subject of this kind and name.
    pub(crate) fn new(kind: Kind, name: &str) -> Self {
        Self { kind, name: name.to_owned() }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            Kind::Box => f.write_str("box"),
            kind => write!(f, "{}:{}", kind.word(), self.name),
        }
    }
}
