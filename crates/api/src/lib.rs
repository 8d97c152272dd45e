//! What the box says on its control socket, in its history and to the testbed. The crate has no code of the box, so that others
//! can read what it writes.

pub mod causes;
pub mod history;
mod hops;
mod kinds;
mod request;
mod states;
mod status;
mod words;

pub use hops::{Hop, HopResult};
pub use kinds::Kinds;
pub use request::{Request, Response};
pub use states::{Carrier, Codec, Direction, GuardState, Mode, ProbeState};
pub use status::*;
