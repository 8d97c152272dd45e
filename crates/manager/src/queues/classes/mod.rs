//! The operator's tree of policy classes: which flows are in which class, and what each class may have.
//!
//! Classification takes a flow down the tree from its root: at each class to the first child, in the order of
//! configuration, that matches it, until none does. So a parent's conditions bound its children's, and the first
//! matching rule decides. Flows that match no child are in the *others* of that class, together one more child.
//!
//! A class matches:
//! - with rules, the flows that match one of them, that is, all conditions that the rule names;
//! - without rules, the flows of stations that name it, and the flows that one of its children matches;
//! - as the rest: the flows that its siblings leave, at whichever position it is among them.
//!
//! A station that the configuration assigns to a class is in it whatever the rules say, and is classified further
//! from there.
//!
//! A flow is classified when it begins, when its station or direction changes, when new information about its station
//! arrives, and when its code point changes while none of its packets is held: a sender must not be able to make the
//! box move queues with every packet.
//!
//! What is not here: queues and their order (see `nodes` and `queues`).

mod classify;
pub(crate) mod config;
mod label;
mod node;
pub(crate) mod nodes;
mod policy;
pub(crate) mod totals;

pub use config::{Amount, Application, Class, ClassError, ClassTree, Rule, Takes};
pub use label::{Label, LabelError};
pub(crate) use node::PolicyNode;
pub use policy::{Level, Policy};
