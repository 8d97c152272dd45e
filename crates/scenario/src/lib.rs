//! The scenario file format.
//!
//! A scenario is one experiment: the radio, the hosts and their traffic, the events, the measurements, and published
//! results to compare with. The simulator and the testbed run the same file. [`Scenario::load`] reads one.
//!
//! The crate runs nothing. Each engine converts the scenario's types to its own; only the conversion that both share, the
//! rules of the medium, is here (`air`).

mod air;
mod anomaly;
mod capacity;
mod check;
mod labels;
mod layout;
pub mod measures;
mod policy;
mod profile;
mod ranges;
mod raw;
mod schema;
pub mod sweep;
mod traffic_words;
mod types;
mod words;

pub use air::{AccessPointPlan, AirPlan, StationPlan};
pub use anomaly::{Anomaly, Expected, Sharing};
pub use check::text_of;
pub use labels::{Label, column_label, measure_label};
pub use layout::Layout;
pub use policy::{Policy, PolicyError};
pub use schema::{reference, schema};
pub use sweep::Axis;
pub use types::*;
