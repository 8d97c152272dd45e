//! What the box says on its control socket, in its history and to the testbed. The crate has no code of the box, so that others
//! can read what it writes.

pub mod causes;
mod hops;
mod kinds;
mod request;
mod status;
pub mod watch;

pub use hops::HopResult;
pub use kinds::Kinds;
pub use request::{Request, Response};
pub use status::*;
