//! The result of classification.

use crate::ids::ClassId;

/// A flow's place in the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyNode {
    /// The deepest class that takes it; `None`: no class does.
    pub(crate) class: Option<ClassId>,
    /// Its kind of traffic, by the number of an application.
    pub(crate) application: Option<ClassId>,
}
