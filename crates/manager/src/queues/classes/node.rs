//! The result of classification.

use crate::ids::ClassId;

/// Where a flow is in the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyNode {
    /// The class farthest from the root that takes it; `None`: none does.
    pub(crate) class: Option<ClassId>,
    /// What it is to its station, by the number of an application.
    pub(crate) application: Option<ClassId>,
}
