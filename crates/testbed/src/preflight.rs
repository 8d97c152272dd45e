//! What can be known to be missing before anything is started.

use std::net::TcpListener;
use std::path::PathBuf;

use evenair_scenario::{AppKind, IpVersion, Scenario, Tool};
use evenair_sys::netns::Netns;
use evenair_sys::process::{effective_user, has_capability};
use evenair_sys::tap::Tap;
use evenair_sys::tcp::set_congestion_control;

use crate::error::TestbedError;
use crate::machine::has_ipv6;
use crate::plan::MAX_HOSTS;
use crate::topology::{BOX, ROUTER};

/// The oldest kernel of the distributions that set-up knows. What the box asks of BPF is in it.
const BOX_KERNEL: (u32, u32) = (5, 15);
/// Numbers of capability.h.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_BPF: u32 = 39;

/// Checks that this machine can run the scenario, with the box or without.
///
/// # Errors
/// The first thing that is missing, and what to do about it.
pub fn check(scenario: &Scenario, with_box: bool) -> Result<(), TestbedError> {
    if with_box {
        check_box()?;
    }
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

/// Checks that the box can be started here.
///
/// # Errors
/// What is missing, and what to do about it.
pub fn check_box() -> Result<(), TestbedError> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let may_load = effective_user() == 0
        && is_initial_user_namespace(&read("/proc/self/uid_map"))
        && (has_capability(CAP_BPF) || has_capability(CAP_SYS_ADMIN));
    if !may_load {
        let text = "the box must be run by root of the machine itself: the kernel takes its BPF programs from no other \
                    (CAP_BPF; root of a user namespace is not enough). Run as root, for instance with sudo";
        return Err(TestbedError::NoBox(text.to_owned()));
    }
    let release = read("/proc/sys/kernel/osrelease");
    if kernel_version(&release).is_some_and(|version| version < BOX_KERNEL) {
        let (major, minor) = BOX_KERNEL;
        let text = format!("the box needs Linux {major}.{minor} or later, and this is {}", release.trim());
        return Err(TestbedError::NoBox(text));
    }
    Ok(())
}

/// Whether `/proc/self/uid_map` is that of the namespace that the machine started with: every user is itself.
fn is_initial_user_namespace(uid_map: &str) -> bool {
    uid_map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

/// The first two numbers of a kernel's release.
fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.trim().split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
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
    fn root_of_a_user_namespace_is_told_from_root() {
        assert!(is_initial_user_namespace("         0          0 4294967295\n"));
        assert!(!is_initial_user_namespace("         0       1000          1\n"));
        assert!(!is_initial_user_namespace(""));
    }

    #[test]
    fn kernels_are_told_apart() {
        assert_eq!(kernel_version("6.6.0-rc1+\n"), Some((6, 6)));
        assert_eq!(kernel_version("6.12-amd64"), Some((6, 12)));
        assert!(kernel_version("5.4.0-91-generic").expect("two numbers") < BOX_KERNEL);
        assert_eq!(kernel_version("unknown"), None);
    }

    #[test]
    fn who_cannot_have_the_box_is_not_sent_to_a_user_namespace() {
        if let Err(error) = check_box() {
            let text = error.to_string();
            assert!(text.contains("box") && !text.contains("unshare"), "{text}");
        }
    }

    #[test]
    fn a_missing_program_says_what_it_is_for() {
        let error = need("no-such-program", "nothing works without").expect_err("not there");
        let text = error.to_string();
        assert!(text.contains("no-such-program") && text.contains("nothing works without"), "{text}");
        need("sh", "").expect("every system has a shell");
    }
}
