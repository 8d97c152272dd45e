//! Runs a command inside a host of a running testbed, for inspection.

use std::os::fd::AsFd;
use std::process::{Command, ExitStatus};

use evenair_sys::netns::Netns;
use evenair_sys::process::tie;

use crate::error::TestbedError;
use crate::rundir::running_hosts;

/// Runs `command` in host `host` of run `run` (or of the only one), with this process's standard input and output, and
/// waits for it. Hosts have their names of the scenario; there are also `box` and, with a WAN, `router`.
///
/// # Errors
/// If there is no such run or host (the error lists those available), or the command cannot be started.
pub fn exec(run: Option<&str>, host: &str, command: &[String]) -> Result<ExitStatus, TestbedError> {
    let hosts = running_hosts();
    let wanted = |(of, name): (&str, &str)| name == host && run.is_none_or(|run| run == of);
    let found: Vec<_> = hosts.iter().filter(|(of, name, _)| wanted((of, name))).collect();
    let [(_, _, namespace)] = found[..] else {
        return Err(TestbedError::NoSuchHost {
            what: if found.is_empty() { "there is no such host" } else { "there is more than one run: name it" },
            there_is: hosts.iter().map(|(of, name, _)| format!("{of} {name}")).collect::<Vec<_>>().join(", "),
        });
    };
    let namespace = Netns::open(namespace)?;
    let (program, arguments) = command
        .split_first()
        .ok_or(TestbedError::NoSuchHost { what: "there is no command to run", there_is: String::new() })?;
    let mut command = Command::new(program);
    command.args(arguments);
    let failed = |source| TestbedError::Child { who: program.clone(), source };
    tie(&mut command, Some(namespace.as_fd())).status().map_err(failed)
}
