//! One module per family of commands.

pub mod backlog;
pub mod calibrate;
pub mod compare;
pub mod library;
pub mod results;
pub mod scenario;
pub mod scenario_run;
pub mod sim;
pub mod testbed;
