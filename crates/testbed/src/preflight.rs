//! Checks for missing requirements before a run.

use std::net::TcpListener;
use std::path::Path;

use evenair_scenario::{App, AppKind, FastRecovery, IpVersion, Place, Scenario, Stack, Tool};
use evenair_sys::netns::Netns;
use evenair_sys::process::{effective_user, has_capability};
use evenair_sys::tap::Tap;
use evenair_sys::tcp::set_congestion_control;
use evenair_units::Span;

use crate::agent::quic::CONGESTION_CONTROLS;
use crate::error::TestbedError;
use crate::machine::has_ipv6;
use crate::plan::{MAX_APPS_WITH_TELEPHONES, MAX_HOSTS};
use crate::topology::{BOX, ROUTER};

/// Oldest kernel of the distributions that the set-up script supports. It has the BPF features that the box needs.
const BOX_KERNEL: (u32, u32) = (5, 15);
/// Maximum number of stations, each of which is a real host on one machine.
const MAX_STATIONS: usize = 250;
/// Capability numbers of capability.h.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_BPF: u32 = 39;

/// Checks that this machine can run the scenario, with the box or without.
///
/// # Errors
/// The first missing requirement, with a remedy.
pub fn check(scenario: &Scenario, box_command: Option<&Vec<String>>) -> Result<(), TestbedError> {
    if let Some(command) = box_command {
        check_box()?;
        if let Some(program) = command.first() {
            need(program, "it is the box between the access point and the wire (package evenair)")?;
        }
    }
    refusals(scenario).into_iter().next().map_or(Ok(()), Err)?;
    let namespace = Netns::new().map_err(TestbedError::from_namespace)?;
    namespace.run(|| Tap::create("probe0"))?.map_err(|error| TestbedError::from_tap("probe0", error))?;
    need("ip", "it sets up the hosts' networks (Debian, Ubuntu, Fedora: package iproute2 or iproute)")?;
    if scenario.apps.iter().any(uses_iperf3) {
        need("iperf3", "an application of the scenario asks for it with tool = \"iperf3\" (package iperf3)")?;
    }
    if scenario.apps.iter().any(App::is_telephone) {
        need("baresip", "an application of the scenario asks for it with tool = \"baresip\" (package baresip-core)")?;
    }
    if !has_ipv6() && scenario.apps.iter().any(|app| app.ip == IpVersion::V6) {
        let text = "an application uses IPv6, which this kernel does not have (booted with ipv6.disable=1?)";
        return Err(TestbedError::Unsupported(text.to_owned()));
    }
    namespace.run(|| congestion_controls(scenario))?
}

/// Features of a scenario that the testbed does not support on any machine.
pub fn refusals(scenario: &Scenario) -> Vec<TestbedError> {
    let mut found: Vec<_> = [
        few_stations(scenario.hosts.iter().filter(|host| host.place.is_station()).count()),
        few_hosts(scenario),
        names_of_its_own(scenario),
        refuse_unknown_tools(scenario),
    ]
    .into_iter()
    .filter_map(Result::err)
    .collect();
    found.extend(for_the_simulator_only(scenario));
    found
}

/// A key of a scenario that only the simulator supports.
struct SimulatorOnly {
    /// The key with its table, as in the format's reference.
    key: &'static str,
    /// How the scenario uses the key, if it does.
    asks: fn(&Scenario) -> Option<String>,
    /// Why the testbed does not support it.
    why: &'static str,
}

/// All keys that the reference marks as "simulator only".
static SIMULATOR_ONLY: [SimulatorOnly; 5] = [
    SimulatorOnly {
        key: "station.answers_late",
        asks: |scenario| {
            let is_late = |place: Place| matches!(place, Place::Station { link, .. } if link.answers_late > Span::ZERO);
            let host = scenario.hosts.iter().find(|host| is_late(host.place))?;
            Some(format!("station.{}.answers_late", host.name))
        },
        why: "the testbed's stations answer as soon as the kernel does",
    },
    SimulatorOnly {
        key: "tcp.stack",
        asks: |scenario| match scenario.tcp.stack {
            Stack::Linux => None,
            Stack::Textbook => Some("tcp.stack = \"textbook\"".to_owned()),
            Stack::Ns3 => Some("tcp.stack = \"ns-3\"".to_owned()),
        },
        why: "the testbed's hosts have the kernel's TCP",
    },
    SimulatorOnly {
        key: "tcp.fast_recovery",
        asks: |scenario| {
            let is_reno = scenario.tcp.fast_recovery == FastRecovery::Reno;
            is_reno.then(|| "tcp.fast_recovery = \"reno\"".to_owned())
        },
        why: "the testbed's hosts have the kernel's TCP",
    },
    SimulatorOnly {
        key: "telemetry.ap_losses",
        asks: |scenario| scenario.telemetry.ap_losses.then(|| "telemetry.ap_losses".to_owned()),
        why: "the testbed does not report the losses of the access point to the box",
    },
    SimulatorOnly {
        key: "telemetry.signal",
        asks: |scenario| scenario.telemetry.signal.then(|| "telemetry.signal".to_owned()),
        why: "the testbed does not report signals of stations to the box",
    },
];

fn for_the_simulator_only(scenario: &Scenario) -> impl Iterator<Item = TestbedError> {
    SIMULATOR_ONLY.iter().filter_map(move |SimulatorOnly { key, asks, why }| {
        let asked = asks(scenario)?;
        let text = format!("{asked} is for the simulator only: {why} ({key} in the reference)");
        Some(TestbedError::Unsupported(text))
    })
}

/// Checks that there are addresses and ports for all hosts and applications.
fn few_hosts(scenario: &Scenario) -> Result<(), TestbedError> {
    let (hosts, apps) = (scenario.hosts.len(), scenario.apps.len());
    if hosts > MAX_HOSTS || apps > MAX_HOSTS {
        return Err(TestbedError::TooLarge(format!(
            "the scenario has {hosts} hosts and {apps} applications; the testbed has addresses for {MAX_HOSTS} of each"
        )));
    }
    if apps > MAX_APPS_WITH_TELEPHONES && scenario.apps.iter().any(App::is_telephone) {
        return Err(TestbedError::TooLarge(format!(
            "the scenario has {apps} applications; beside telephones there may be {MAX_APPS_WITH_TELEPHONES}"
        )));
    }
    Ok(())
}

fn names_of_its_own(scenario: &Scenario) -> Result<(), TestbedError> {
    let taken = |name: &str| [BOX, ROUTER].contains(&name);
    let Some(host) = scenario.hosts.iter().find(|host| taken(host.name.as_str())) else { return Ok(()) };
    let name = &host.name;
    let text = format!("a host is called {name:?}, as a machine of the testbed itself is: rename it");
    Err(TestbedError::Unsupported(text))
}

/// Checks the number of stations, each of which is a network namespace with its own processes.
fn few_stations(stations: usize) -> Result<(), TestbedError> {
    if stations <= MAX_STATIONS {
        return Ok(());
    }
    let text = format!(
        "the scenario has {stations} stations ([[station]], count); the testbed has up to {MAX_STATIONS}, the simulator more"
    );
    Err(TestbedError::TooLarge(text))
}

/// Checks that the box can be started here.
///
/// # Errors
/// The missing requirement, with a remedy.
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

/// Whether `/proc/self/uid_map` is that of the initial user namespace: every user is mapped to itself.
fn is_initial_user_namespace(uid_map: &str) -> bool {
    uid_map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

/// The first two numbers of a kernel release.
fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.trim().split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether iperf3 runs the application.
pub fn uses_iperf3(app: &App) -> bool {
    matches!(app.kind, AppKind::Bulk { tool: Tool::Iperf3, .. })
}

/// Whether the application uses QUIC.
fn uses_quic(app: &App) -> bool {
    matches!(app.kind, AppKind::Bulk { tool: Tool::Quic, .. })
}

/// Refuses applications over QUIC with a congestion control that QUIC does not have here.
fn refuse_unknown_tools(scenario: &Scenario) -> Result<(), TestbedError> {
    let name = |app: &App| app.kind.congestion_control().unwrap_or(&scenario.tcp.congestion_control).to_owned();
    let known = |app: &&App| CONGESTION_CONTROLS.contains(&name(app).as_str());
    match scenario.apps.iter().filter(|app| uses_quic(app)).find(|app| !known(app)) {
        None => Ok(()),
        Some(app) => Err(TestbedError::Unsupported(format!(
            "{}: no congestion control {:?} over QUIC; there are {}",
            app.name,
            name(app),
            CONGESTION_CONTROLS.join(", ")
        ))),
    }
}

/// Tries each congestion control of the scenario, which also makes the kernel load its module.
fn congestion_controls(scenario: &Scenario) -> Result<(), TestbedError> {
    let own = scenario.apps.iter().filter(|app| !uses_quic(app)).filter_map(|app| app.kind.congestion_control());
    let probe = TcpListener::bind("0.0.0.0:0")
        .map_err(|source| TestbedError::Child { who: "bind a TCP socket in a new namespace".to_owned(), source })?;
    for name in own.chain([scenario.tcp.congestion_control.as_str()]) {
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

/// Checks for a program, by path or by name in PATH.
fn need(program: &str, needed_for: &str) -> Result<(), TestbedError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // On Debian iproute2 is in sbin, which is not in every user's PATH; `Command` would not find it either.
    let mut places = std::env::split_paths(&path).map(|directory| directory.join(program));
    if if program.contains('/') { is_program(Path::new(program)) } else { places.any(|place| is_program(&place)) } {
        return Ok(());
    }
    Err(TestbedError::MissingProgram { program: program.to_owned(), needed_for: needed_for.to_owned() })
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn root_of_a_user_namespace_is_not_taken_for_root() {
        assert!(is_initial_user_namespace("         0          0 4294967295\n"));
        assert!(!is_initial_user_namespace("         0       1000          1\n"));
        assert!(!is_initial_user_namespace(""));
    }

    #[test]
    fn kernels_are_distinguished() {
        assert_eq!(kernel_version("6.6.0-rc1+\n"), Some((6, 6)));
        assert_eq!(kernel_version("6.12-amd64"), Some((6, 12)));
        assert!(kernel_version("5.4.0-91-generic").expect("two numbers") < BOX_KERNEL);
        assert_eq!(kernel_version("unknown"), None);
    }

    #[test]
    fn the_remedy_for_the_box_is_not_a_user_namespace() {
        if let Err(error) = check_box() {
            let text = error.to_string();
            assert!(text.contains("box") && !text.contains("unshare"), "{text}");
        }
    }

    #[test]
    fn too_many_stations_are_refused_by_their_key() {
        few_stations(250).expect("as many as there may be");
        let text = few_stations(251).expect_err("too many").to_string();
        assert!(text.contains("251") && text.contains("[[station]]") && text.contains("250"), "{text}");
    }

    /// The keys that the reference marks as "simulator only", with their tables.
    fn documented() -> BTreeSet<String> {
        let schema = evenair_scenario::schema();
        let inner = |property: &Value| {
            let property = property.get("items").unwrap_or(property);
            schema.pointer(property["$ref"].as_str()?.strip_prefix('#')?).cloned()
        };
        let mut tables = vec![(String::new(), schema.clone())];
        let mut found = BTreeSet::new();
        while let Some((table, node)) = tables.pop() {
            for (name, property) in node["properties"].as_object().expect("a table has keys") {
                let key = if table.is_empty() { name.clone() } else { format!("{table}.{name}") };
                let text = property["description"].as_str().unwrap_or_default().replace('\n', " ");
                if text.contains("simulator only") {
                    found.insert(key.clone());
                }
                tables.extend(inner(property).map(|inner| (key, inner)));
            }
        }
        found
    }

    /// A scenario with further tables.
    fn scenario(rest: &str) -> Scenario {
        let text = format!(
            "version = 1\nname = \"p\"\nduration = \"1 s\"\n[radio]\nstandard = \"802.11b\"\n\
             [[station]]\nname = \"a\"\nrate = \"11 Mb/s\"\n[[server]]\nname = \"s\"\n\
             [[ping]]\nname = \"p\"\nstations = [\"a\"]\nserver = \"s\"\n{rest}\n"
        );
        Scenario::parse(&text, "p.toml").expect("it is sound")
    }

    /// A scenario that uses the key.
    fn example(key: &str) -> Scenario {
        match key {
            "station.answers_late" => {
                scenario("[[station]]\nname = \"b\"\nrate = \"11 Mb/s\"\nanswers_late = \"30 ms\"")
            }
            "tcp.stack" => scenario("[tcp]\nstack = \"textbook\""),
            "tcp.fast_recovery" => scenario("[tcp]\nsack = false\nfast_recovery = \"reno\""),
            "telemetry.ap_losses" => scenario("[telemetry]\nap_losses = true"),
            "telemetry.signal" => scenario("[telemetry]\nsignal = true"),
            key => panic!("{key} is documented as \"simulator only\": write a scenario that uses it"),
        }
    }

    #[test]
    fn exactly_the_keys_documented_as_simulator_only_are_refused() {
        let refused: BTreeSet<String> = SIMULATOR_ONLY.iter().map(|only| only.key.to_owned()).collect();
        assert_eq!(documented(), refused, "left: the reference; right: preflight");
        assert_eq!(refusals(&scenario("")).len(), 0);
        for key in documented() {
            let found: Vec<String> = refusals(&example(&key)).iter().map(ToString::to_string).collect();
            let (table, name) = key.split_once('.').expect("in a table");
            assert!(
                matches!(&found[..], [text] if text.starts_with(table) && text.contains(&format!(".{name}"))
                    && text.contains(" is for the simulator only: ")),
                "{key}: {found:?}"
            );
        }
    }

    #[test]
    fn a_simulated_tcp_stack_is_refused_by_name() {
        for stack in ["textbook", "ns-3"] {
            let found = refusals(&scenario(&format!("[tcp]\nstack = \"{stack}\"")));
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert!(matches!(&found[..], [text] if text.contains(&format!("stack = \"{stack}\""))), "{found:?}");
        }
        assert_eq!(refusals(&scenario("[tcp]\nstack = \"linux\"")).len(), 0);
    }

    #[test]
    fn all_unsupported_features_are_reported_at_once() {
        let text = "version = 1\nname = \"q\"\nduration = \"1 s\"\n[radio]\nstandard = \"802.11b\"\n\
                    [[station]]\nname = \"a\"\nrate = \"11 Mb/s\"\n[[server]]\nname = \"s\"\n\
                    [[ping]]\nname = \"p\"\nstations = [\"a\"]\nserver = \"s\"\n\
                    [tcp]\nstack = \"textbook\"\n[telemetry]\nsignal = true\nap_losses = true\n";
        let scenario = Scenario::parse(text, "q.toml").expect("it is sound");
        let found: Vec<_> = refusals(&scenario).iter().map(ToString::to_string).collect();
        for key in ["tcp.stack", "telemetry.signal", "telemetry.ap_losses"] {
            assert_eq!(found.iter().filter(|text| text.contains(key)).count(), 1, "{key}: {found:#?}");
        }
        assert_eq!(found.len(), 3, "{found:#?}");
    }

    #[test]
    fn the_error_of_a_missing_program_says_what_it_is_for() {
        let error = need("no-such-program", "nothing works without").expect_err("not there");
        let text = error.to_string();
        assert!(text.contains("no-such-program") && text.contains("nothing works without"), "{text}");
        need("sh", "").expect("every system has a shell");
        need("/bin/sh", "").expect("a program may be named by its path");
        need("/bin/no-such-program", "").expect_err("not there");
    }
}
