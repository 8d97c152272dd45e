//! What the box demands of a machine before it carries traffic, for programs that examine one (`evenair doctor`).

pub use crate::af_xdp::{Needs, comes_incomplete};
pub use crate::other_programs::{describe, filters};
pub use crate::packet_io::{Lockable, lockable, objection_to, read, too_little};
pub use crate::port::{check_pair, isolation, look_up, look_up_bridge, most_bytes};
