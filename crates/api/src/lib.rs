//! The contract of the box's control socket, history and watch feed. The crate has no code of the box, so that other programs
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

/// Version of the contract, raised when a field is removed or changes its meaning, but not when one is added. Readers ignore
/// unknown fields.
pub const VERSION: u32 = 2;

pub use hops::{Hop, HopResult};
pub use json::Json;
pub use kinds::Kinds;
pub use names::{NameOrigin, NamedStation, StationName};
pub use request::{Request, Response};
pub use states::{Carrier, Codec, Direction, GuardState, Mode, ModeCommand, ProbeState, RateSource};
pub use status::*;
