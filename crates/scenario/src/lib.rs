//! The scenario file format and the results format.
//!
//! A scenario is one experiment: who talks to whom over which radio, what happens when, what is measured, and what
//! others published for it. The simulator and the testbed run the same file. [`Scenario::load`] reads one; what they
//! report is [`results::RunResult`].
//!
//! The crate runs nothing. Where a scenario's words and an engine's types differ, the engine converts.

mod capacity;
mod check;
pub mod config;
mod manager_spec;
pub mod plots;
mod raw;
mod report;
pub mod results;
mod schema;
mod types;
mod words;

pub use config::ConfigError as ScenarioError;
pub use manager_spec::{ClassSpec, ControllerKind, Fairness, LevelKind, ManagerSpec, PhySpec};
pub use report::report;
pub use schema::schema;
pub use types::*;
