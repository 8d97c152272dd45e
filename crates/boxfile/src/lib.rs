//! The box's configuration file: its keys, their checks, and the checked form that the box runs with.
//!
//! [`BoxConfig::load`] reads a file; [`BoxFile`] is the file as it is written, for programs that make one. The reference of all keys
//! and the JSON schema are made from the same types ([`reference()`], [`schema`]), and [`Migration`] renames the keys of an older version.
//!
//! A crate of its own because reading, writing and describing many forms is much generated code that runs once: it need not be optimised
//! as the packet path is. So all of it is instantiated here, and no function that others call is generic.

mod checked;
mod config;
mod history;
mod io;
mod metrics;
mod migrate;
pub mod names;
mod reference;
mod shards;
pub mod small_file;
mod sockets;
pub mod telemetry;

pub use checked::{BoxConfig, RouterConfig};
pub use config::{BoxFile, HealthSpec, MetricsSpec, PortsSpec, RecordSpec, RouterSpec, StationSpec};
pub use history::{HistoryConfig, HistorySpec};
pub use io::Io;
pub use metrics::{MetricsConfig, StationLabels};
pub use migrate::Migration;
pub use reference::{reference, schema};
pub use shards::{Plan, ShardsSpec};
pub use sockets::{ControlSpec, watch_socket_beside};
pub use telemetry::{SourceConfig, SourceKind, TelemetrySpec};

/// The box's configuration file, unless another is named.
pub const CONFIG: &str = "/etc/evenair/box.toml";
