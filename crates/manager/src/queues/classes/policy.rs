//! The policy: the levels of the tree of queues, as the operator configures them.

use alloc::string::String;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use super::config::{Application, ClassError, ClassTree, Rule, check_rules};
use crate::config::error::{ConfigError, nonzero};
use crate::ids::ClassId;

/// The tree of queues, from the root down. A level divides what its parent gets among its children by their weights;
/// the nodes of the last level are the queues.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Policy {
    /// Levels in any order, each kind at most once, at least one; a tree of classes is the first.
    #[n(0)]
    pub levels: Vec<Level>,
    /// Names of the classes, by their numbers. For reports only.
    #[n(1)]
    pub names: Vec<String>,
}

/// One level of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Level {
    /// Direction of the data: from the WLAN, to the WLAN.
    #[n(0)]
    Direction {
        /// Weight of uploads.
        #[n(0)]
        up: u32,
        /// Weight of downloads.
        #[n(1)]
        down: u32,
    },
    /// The operator's classes of stations.
    #[n(1)]
    Class {
        /// Weight of each class.
        #[n(0)]
        weights: Vec<(ClassId, u32)>,
        /// Weight of all stations that are in none of them, together.
        #[n(1)]
        other: u32,
    },
    /// A tree of classes, with rules, minimums and ceilings. Under it all shares are of medium time, unless those of
    /// stations count in bits.
    #[n(2)]
    Tree(#[n(0)] ClassTree),
    /// Kinds of traffic within the level above.
    #[n(3)]
    Application {
        /// The kinds, at most [`ClassTree::MOST`].
        #[n(0)]
        applications: Vec<Application>,
        /// Weight of all other traffic.
        #[n(1)]
        other: u32,
    },
    /// Stations, by MAC address.
    #[n(4)]
    Station {
        /// Whether weights count in medium time (weight times `C_i`) and not in bits.
        #[n(0)]
        time_fair: bool,
    },
    /// IP addresses on the stations' side, all with weight one: behind a router or a mesh node, one MAC address
    /// represents many hosts. A host with addresses of both versions counts twice.
    #[n(5)]
    Host,
    /// Connections, all with weight one.
    #[n(6)]
    Flow,
}

impl Default for Policy {
    /// Equal medium time for every station, whatever the direction of its traffic; within a station equal for uploads
    /// and downloads; in each direction equal for every connection.
    fn default() -> Self {
        Self::of([Level::Station { time_fair: true }, Level::Direction { up: 1, down: 1 }, Level::Flow])
    }
}

impl Policy {
    /// A policy of these levels, without names of classes.
    pub fn of(levels: impl Into<Vec<Level>>) -> Self {
        Self { levels: levels.into(), names: Vec::new() }
    }

    /// Whether all shares are of medium time.
    pub(crate) fn is_by_time(&self) -> bool {
        self.tree().is_some() && !self.levels.contains(&Level::Station { time_fair: false })
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.levels.is_empty() {
            return Err(ConfigError::NoLevel);
        }
        for (i, level) in self.levels.iter().enumerate() {
            let same_kind = |other: &Level| core::mem::discriminant(other) == core::mem::discriminant(level);
            if self.levels[..i].iter().any(same_kind) {
                return Err(ConfigError::LevelTwice);
            }
            level.check()?;
        }
        let is_class = |level: &Level| matches!(level, Level::Class { .. });
        let is_lower = |level: &Level| matches!(level, Level::Tree(_));
        if self.levels[1..].iter().any(is_lower) || self.tree().is_some() && self.levels.iter().any(is_class) {
            return Err(ConfigError::Classes(ClassError::Level));
        }
        Ok(())
    }

    /// Whether code points affect classification.
    pub(crate) fn reads_dscp(&self) -> bool {
        let reads = |rules: &[Rule]| rules.iter().any(|rule| !rule.dscps.is_empty());
        self.levels.iter().any(|level| match level {
            Level::Tree(tree) => tree.classes.iter().any(|class| reads(class.rules())),
            Level::Application { applications, .. } => applications.iter().any(|application| reads(&application.rules)),
            _ => false,
        })
    }

    /// Its tree of classes, if it has one.
    pub(crate) fn tree(&self) -> Option<&ClassTree> {
        self.levels.iter().find_map(|level| if let Level::Tree(tree) = level { Some(tree) } else { None })
    }

    /// The parent of each class.
    pub(crate) fn parents(&self) -> impl Iterator<Item = Option<ClassId>> {
        let count = match self.levels.iter().find(|level| matches!(level, Level::Class { .. } | Level::Tree(_))) {
            Some(Level::Class { weights, .. }) => weights.iter().map(|(class, _)| usize::from(class.0) + 1).max(),
            Some(Level::Tree(tree)) => Some(tree.classes.len()),
            _ => None,
        };
        (0..count.unwrap_or(0)).map(|at| self.tree().and_then(|tree| tree.classes[at].parent))
    }
}

impl Level {
    fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Direction { up, down } => nonzero(*up).and_then(|()| nonzero(*down)),
            Self::Class { weights, other } => {
                nonzero(*other)?;
                for (i, (class, weight)) in weights.iter().enumerate() {
                    nonzero(*weight)?;
                    if weights[..i].iter().any(|(earlier, _)| earlier == class) {
                        return Err(ConfigError::ClassTwice(*class));
                    }
                }
                Ok(())
            }
            Self::Tree(tree) => {
                nonzero(tree.other)?;
                tree.classes.iter().try_for_each(|class| nonzero(class.weight))?;
                tree.check().map_err(ConfigError::Classes)
            }
            Self::Application { applications, other } => {
                nonzero(*other)?;
                applications.iter().try_for_each(|application| nonzero(application.weight))?;
                if applications.len() > ClassTree::MOST {
                    return Err(ConfigError::Classes(ClassError::TooMany));
                }
                let rules = applications.iter().flat_map(|application| &application.rules);
                check_rules(rules).map_err(ConfigError::Classes)
            }
            Self::Station { .. } | Self::Host | Self::Flow => Ok(()),
        }
    }
}
