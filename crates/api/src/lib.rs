//! What the box says on its control socket, in its history and to the testbed. The crate has no code of the box, so that others
//! can read what it writes.

pub mod causes;
pub mod health;
pub mod histogram;
pub mod history;
mod hops;
mod json;
mod kinds;
mod names;
pub mod reference;
mod request;
mod states;
mod status;
pub mod watch;
mod words;

/// Version of the contract. A field that goes or changes its meaning raises it; one that comes does not. Readers ignore fields
/// that they do not know.
pub const VERSION: u32 = 2;

pub use hops::{Hop, HopResult};
pub use json::Json;
pub use kinds::Kinds;
pub use names::{NameOrigin, NamedStation, StationName};
pub use request::{Request, Response};
pub use states::{Carrier, Codec, Direction, GuardState, Mode, ModeCommand, ProbeState, RateSource};
pub use status::*;
