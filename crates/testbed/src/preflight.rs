//! What can be known to be missing before anything is started.

use std::net::TcpListener;
use std::path::PathBuf;

use evenair_scenario::{AppKind, IpVersion, Scenario, Tool};
use evenair_sys::netns::Netns;
use evenair_sys::tap::Tap;
use evenair_sys::tcp::set_congestion_control;

use crate::error::TestbedError;
use crate::machine::has_ipv6;
use crate::plan::MAX_HOSTS;
use crate::topology::{BOX, ROUTER};

/// Checks that this machine can run the scenario.
///
/// # Errors
/// The first thing that is missing, and what to do about it.
pub fn check(scenario: &Scenario) -> Result<(), TestbedError> {
    let (hosts, apps) = (scenario.hosts.len(), scenario.apps.len());
    if hosts > MAX_HOSTS || apps > MAX_HOSTS {
        return Err(TestbedError::TooLarge(format!(
            "the scenario has {hosts} hosts and {apps} applications; the testbed has addresses for {MAX_HOSTS} of each"
        )));
    }
    if let Some(host) = scenario.hosts.iter().find(|host| [BOX, ROUTER].contains(&host.name.as_str())) {
        let name = &host.name;
        return Err(TestbedError::Unsupported(format!(
            "a host is called {name:?}, as a machine of the testbed itself is: rename it"
        )));
    }
    let namespace = Netns::new().map_err(TestbedError::from_namespace)?;
    namespace.run(|| Tap::create("probe0"))?.map_err(|error| TestbedError::from_tap("probe0", error))?;
    need("ip", "it sets up the hosts' networks (Debian, Ubuntu, Fedora: package iproute2 or iproute)")?;
    if scenario.apps.iter().any(uses_iperf3) {
        need("iperf3", "an application of the scenario asks for it with tool = \"iperf3\" (package iperf3)")?;
    }
    if !has_ipv6() && scenario.apps.iter().any(|app| app.ip == IpVersion::V6) {
        let text = "an application uses IPv6, which this kernel does not have (booted with ipv6.disable=1?)";
        return Err(TestbedError::Unsupported(text.to_owned()));
    }
    namespace.run(|| congestion_controls(scenario))?
}

/// Whether the application is made by iperf3.
pub fn uses_iperf3(app: &evenair_scenario::App) -> bool {
    matches!(app.kind, AppKind::Bulk { tool: Tool::Iperf3, .. })
}

/// Tries each congestion control that the scenario names, which also makes the kernel load its module.
fn congestion_controls(scenario: &Scenario) -> Result<(), TestbedError> {
    let own = scenario.apps.iter().filter_map(|app| match &app.kind {
        AppKind::Bulk { congestion_control, .. } => congestion_control.as_ref(),
        AppKind::Udp { .. } | AppKind::Web { .. } | AppKind::Ping { .. } => None,
    });
    let probe = TcpListener::bind("0.0.0.0:0")
        .map_err(|source| TestbedError::Child { who: "bind a TCP socket in a new namespace".to_owned(), source })?;
    for name in own.chain([&scenario.tcp.congestion_control]) {
        if let Err(error) = set_congestion_control(&probe, name) {
            let has =
                std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
            return Err(TestbedError::Unsupported(format!(
                "the kernel does not give the congestion control {name:?} ({error}); it has: {}",
                has.trim()
            )));
        }
    }
    Ok(())
}

fn need(program: &str, needed_for: &str) -> Result<(), TestbedError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // iproute2 is in sbin on Debian, which is not in every user's PATH; `Command` would not find it either.
    if std::env::split_paths(&path).any(|directory| is_program(&directory.join(program))) {
        return Ok(());
    }
    Err(TestbedError::MissingProgram { program: program.to_owned(), needed_for: needed_for.to_owned() })
}

fn is_program(path: &PathBuf) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_says_what_it_is_for() {
        let error = need("no-such-program", "nothing works without").expect_err("not there");
        let text = error.to_string();
        assert!(text.contains("no-such-program") && text.contains("nothing works without"), "{text}");
        need("sh", "").expect("every system has a shell");
    }
}
