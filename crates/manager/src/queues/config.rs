//! The settings of the tree of queues.

use evenair_sched::CodelConfig;
use evenair_units::Limit;

use super::classes::Policy;
use crate::config::without::Without;

/// See the fields of the same names of [`Config`](crate::Config).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeConfig<'c> {
    pub(crate) policy: &'c Policy,
    pub(crate) queue_limit: Limit,
    pub(crate) held_limit: Option<u32>,
    pub(crate) aqm: Option<CodelConfig>,
    pub(crate) sparse_first: bool,
    /// Mechanisms that are left out.
    pub(crate) without: Without,
    /// The part of the WLAN that the LAN keeps, if the box serves the Internet link.
    pub(crate) lan_permille: Option<u32>,
}
