//! Names of stations.

use serde::{Deserialize, Serialize};

use crate::words::string_enum;

string_enum! {
    /// Where a name comes from, the preferred origin first.
    pub enum NameOrigin {
        /// `evenair name`.
        #[default]
        Operator = "operator",
        /// `[[station]] name` of the configuration.
        Configuration = "configuration",
        /// The alias at a controller, reported by telemetry.
        Telemetry = "telemetry",
    }
}

/// A station's name as set by the operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationName {
    /// The station's MAC address.
    pub mac: String,
    /// Its name: 1 to 64 characters.
    pub name: String,
}

/// A station with a name, as listed by the box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedStation {
    /// The station's MAC address.
    pub mac: String,
    /// Its name.
    pub name: String,
    /// Origin of the name.
    pub origin: NameOrigin,
}
