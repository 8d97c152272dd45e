//! Errors of scenarios that the simulator does not support.

use evenair_reader::ConfigError as WrittenError;
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
    /// A trace could not be written.
    #[error("cannot write the trace {0}")]
    Trace(String),
    /// The caller has stopped the run.
    #[error("the run was stopped")]
    Stopped,
}

/// Why a command is refused.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The command would be wrong in the scenario's file, too.
    #[error(transparent)]
    Wrong(#[from] WrittenError),
    /// Nothing happens any more.
    #[error("the run is over")]
    Over,
    /// The scenario never inserts a box.
    #[error("the run has no box: create it with one (has_box)")]
    NoBox,
    /// The medium was built for nodes that all hear each other, which is faster.
    #[error("after this roam some nodes would not hear each other: write it into the scenario as an [[event]]")]
    Hidden,
}
