//! The airtime shares of group frames: `[manager.group_share]`.

use evenair_manager::GroupShare;
use evenair_reader::{OrDefault, Permille, Problems, Written};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manager::words::Parts;

/// The parts of a contention domain's medium that multicast and broadcast toward the WLAN may take. What exceeds them waits, and is
/// dropped from the tail of the queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GroupShareSpec {
    /// IP multicast; where stations report memberships (IGMP, MLD), only to groups that one has reported. Default: "60 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast: Option<Written<Permille, Parts>>,
    /// Broadcast, multicast of other protocols, and IP multicast to groups that no station has reported. Default: "10 %".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Written<Permille, Parts>>,
}

impl GroupShareSpec {
    /// The shares, or `None` and problems.
    pub(crate) fn check(&self, problems: &mut Problems) -> Option<GroupShare> {
        let usual = GroupShare::default();
        let multicast = self.multicast.get_or(Permille(usual.multicast_permille), problems);
        let other = self.other.get_or(Permille(usual.other_permille), problems);
        Some(GroupShare { multicast_permille: multicast?.0, other_permille: other?.0 })
    }
}
