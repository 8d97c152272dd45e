//! The box's configuration file: its keys, their checks, and the checked form that the box runs with.
//!
//! [`BoxConfig::load`] reads a file; [`BoxFile`] is the file as written, for programs that create one. The reference of all keys and the
//! JSON schema are generated from the same types ([`reference()`], [`schema`]), and [`Migration`] renames the keys of an older version.
//!
//! It is a separate crate because reading, writing and describing many forms is much generated code that runs once and need not be
//! optimised like the packet path. So all of it is instantiated here, and no function called by other crates is generic.

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

/// Default path of the box's configuration file.
pub const CONFIG: &str = "/etc/evenair/box.toml";
