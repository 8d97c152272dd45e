//! Errors of scenarios that the simulator does not support.

use thiserror::Error;

use crate::tcp::ConfigError;

/// Why a scenario cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// The kernel has more congestion controls than the simulator.
    #[error("congestion control {0:?} is not simulated; \"cubic\" and \"reno\" are")]
    CongestionControl(String),
    /// TCP with these settings cannot work.
    #[error("[tcp]: {0}")]
    Tcp(#[from] ConfigError),
    /// The box's settings do not fit the radio.
    #[error("[manager]: the settings do not fit the radio")]
    Manager,
    /// A trace could not be written.
    #[error("cannot write the trace {0}")]
    Trace(String),
}
