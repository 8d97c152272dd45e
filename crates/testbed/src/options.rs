//! Options of a run.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How to run.
#[derive(Clone, Debug)]
pub struct TestbedOptions {
    /// The program that acts as the hosts' agent when run with the one argument `agent` (see [`crate::agent::main`]).
    pub program: PathBuf,
    /// The program of the box, the daemon, and its arguments; the path of a configuration file is appended.
    pub box_command: Vec<String>,
    /// Start the box program even if no event of the scenario needs it.
    pub always_box: bool,
    /// Where the box records its inputs; it is started for that if necessary.
    pub record: Option<PathBuf>,
    /// Path of the box's watch socket, for a page that shows the box's measurements: the box observes until it is inserted. `None`:
    /// the socket is beside the control socket, and the box is bypassed until then.
    pub watch: Option<PathBuf>,
    /// Set to true from outside (Ctrl-C) to end the run early, cleaned up and with the measurements so far.
    pub cancel: Arc<AtomicBool>,
}

impl TestbedOptions {
    /// Options with the hosts' agent, started as `PROGRAM agent`, and the daemon that is the box, started as `DAEMON --config FILE`.
    pub fn new(program: impl Into<PathBuf>, daemon: impl Into<PathBuf>) -> Self {
        let box_command = vec![daemon.into().display().to_string(), "--config".to_owned()];
        Self {
            program: program.into(),
            box_command,
            always_box: false,
            record: None,
            watch: None,
            cancel: Arc::default(),
        }
    }
}
