//! What the box says on its control socket, in its history and to the testbed. The crate has no code of the box, so that others
//! can read what it writes.

pub mod causes;
mod hops;

pub use hops::HopResult;
