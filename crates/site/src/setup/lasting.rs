//! A systemd unit that restores the confirmed network at boot, and the script that reverts it.
//!
//! Both are scripts that an operator can read, and neither needs the box's program: removing the package leaves the network
//! and its traffic unchanged.

use super::act::Act;
use super::keeper::Machine;
use super::plan::{Plan, Step};

/// Name of the unit.
pub(super) const UNIT: &str = "evenair-network.service";
/// The link that enables it at boot.
pub(super) const WANTED: &str = "etc/systemd/system/multi-user.target.wants/evenair-network.service";

/// Makes systemd apply the plan at boot, unless the interface `mark`, which the plan makes, already exists. Waits for the `interfaces` that
/// the plan starts from.
pub(super) fn keep(plan: &mut Plan, machine: &Machine, mark: &str, interfaces: &[&str]) {
    let command = |text: &str| Some(Act::Run(text.into()));
    let path = machine.path("etc/evenair/network/up");
    plan.lasting(Some(Act::Write(path.clone(), up(plan.steps(), mark))), Some(Act::Remove(path)));
    // The last step to be reverted is the reload of systemd.
    plan.lasting(None, command("systemctl daemon-reload"));
    let path = machine.path(&format!("etc/systemd/system/{UNIT}"));
    plan.lasting(Some(Act::Write(path.clone(), unit(interfaces))), Some(Act::Remove(path)));
    plan.lasting(command("systemctl daemon-reload"), None);
    plan.lasting(
        command(&format!("systemctl --quiet enable {UNIT}")),
        command(&format!("systemctl --quiet disable {UNIT}")),
    );
    tell_how_back(plan, machine);
}

/// Writes the script that reverts the whole plan.
pub(super) fn tell_how_back(plan: &mut Plan, machine: &Machine) {
    let text = down(plan.steps().iter().chain(plan.lasting_steps()), plan.restoration());
    write_way_back(plan, machine, text);
}

/// Writes the script that reverts the permanent part of the plan, between these commands, if another program has made the network since.
/// Each step may fail.
pub(super) fn tell_how_back_between(plan: &mut Plan, machine: &Machine, before: &[String], after: &[String]) {
    let line = |command: &String| Act::Run(command.clone()).in_shell("") + " 2>/dev/null\n";
    let undo = plan.lasting_steps().iter().rev().filter_map(|step| Some(step.undo.as_ref()?.in_shell("") + "\n"));
    let lines = before.iter().map(line).chain(undo).chain(after.iter().map(line));
    let text = DOWN.to_owned() + &lines.collect::<String>();
    write_way_back(plan, machine, text);
}

fn write_way_back(plan: &mut Plan, machine: &Machine, text: String) {
    let path = machine.path("etc/evenair/network/down");
    let back = Act::Remove(path.clone());
    plan.lasting(Some(Act::Write(path, text + &back.in_shell("") + "\n")), Some(back));
}

const DOWN: &str =
    "#!/bin/sh\n# Takes back what evenair init --apply has made. The bridge carries no traffic any more then.\n";

/// A script that reverts these steps and restores the previous state.
pub(super) fn down<'s>(steps: impl Iterator<Item = &'s Step>, restoration: &[Act]) -> String {
    let undo: Vec<_> = steps.filter_map(|step| step.undo.as_ref()).collect();
    let acts = undo.into_iter().rev().chain(restoration);
    DOWN.to_owned() + &acts.map(|act| act.in_shell("") + "\n").collect::<String>()
}

/// The steps as a script for a machine without the interface `mark`. It continues after a failure and reports it at the end: partial
/// connectivity is better than none.
pub(super) fn up(steps: &[Step], mark: &str) -> String {
    let mut text = format!(
        "#!/bin/sh\n# The network as evenair init --apply has made it, and as it was confirmed. {UNIT} runs this when the\n\
         # machine starts; /etc/evenair/network/down takes it back.\n\
         if ip link show dev {mark} >/dev/null 2>&1; then exit 0; fi\nfailed=0\ntry() {{ \"$@\" || {{ echo \"failed: $*\" >&2; failed=1; }}; }}\n\
         set_to() {{ echo \"$2\" >\"/proc/sys/$1\" || {{ echo \"failed: $1\" >&2; failed=1; }}; }}\n",
        mark = Act::quoted(mark)
    );
    for act in steps.iter().filter_map(|step| step.make.as_ref()) {
        let line = match act {
            Act::Run(command) => match command.strip_prefix("sysctl ").and_then(|setting| setting.split_once('=')) {
                Some((name, value)) => format!("set_to {} {}", Act::quoted(name), Act::quoted(value)),
                // The entry to remove may not exist.
                None if command.contains(" del ") => format!("{} 2>/dev/null", act.in_shell("")),
                None => act.in_shell("try "),
            },
            _ => act.in_shell(""),
        };
        text = text + &line + "\n";
    }
    text + "exit $failed\n"
}

fn unit(interfaces: &[&str]) -> String {
    let devices: Vec<_> =
        interfaces.iter().map(|name| format!("sys-subsystem-net-devices-{}.device", escaped(name))).collect();
    let devices = devices.join(" ");
    format!(
        "# Written by evenair init.\n[Unit]\nDescription=The network that the box stands in, as evenair init has made it\n\
         Wants={devices}\nAfter={devices} network-pre.target nftables.service networking.service systemd-networkd.service \
         NetworkManager.service\nBefore=evenair.service\nConditionPathExists=/etc/evenair/network/up\n\n[Service]\nType=oneshot\n\
         RemainAfterExit=yes\nExecStart=/bin/sh /etc/evenair/network/up\n\n[Install]\nWantedBy=multi-user.target\n"
    )
}

/// A name escaped for a unit's name (systemd.unit(5), "String Escaping for Inclusion in Unit Names").
fn escaped(name: &str) -> String {
    let plain =
        |at: usize, byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':' || (byte == b'.' && at > 0);
    let escape = |(at, byte)| if plain(at, byte) { char::from(byte).to_string() } else { format!("\\x{byte:02x}") };
    name.bytes().enumerate().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::keeper::tests::machine;

    #[test]
    fn a_plan_becomes_a_unit_and_a_way_back() {
        let (folder, machine) = machine(&[]);
        let mut plan = Plan::default();
        plan.step("ip link add gw0 type dummy".into(), Some("ip link del gw0".into()));
        plan.step("ip addr del 10.0.0.1/24 dev eth1".into(), Some("ip addr add 10.0.0.1/24 dev eth1".into()));
        plan.step("sysctl net/ipv4/ip_forward=1".into(), Some("sysctl net/ipv4/ip_forward=0".into()));
        keep(&mut plan, &machine, "gw0", &["eth-1"]);
        let written = |name: &str| {
            let path = folder.path().join(name);
            let act = plan.lasting_steps().iter().filter_map(|step| step.make.as_ref()).find_map(|act| match act {
                Act::Write(to, text) if *to == path => Some(text.clone()),
                _ => None,
            });
            act.unwrap_or_else(|| panic!("{name}: {plan:?}"))
        };
        let up = written("etc/evenair/network/up");
        for line in [
            "try ip link add gw0 type dummy",
            "ip addr del 10.0.0.1/24 dev eth1 2>/dev/null",
            "set_to net/ipv4/ip_forward 1",
        ] {
            assert!(up.lines().any(|l| l == line), "{line}: {up}");
        }
        let down = written("etc/evenair/network/down");
        let at = |text: &str| down.find(text).unwrap_or_else(|| panic!("{text}: {down}"));
        let order = [
            "systemctl --quiet disable",
            "/etc/systemd/system",
            "systemctl daemon-reload",
            "ip_forward=0",
            "ip addr add",
            "ip link del gw0",
        ];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{down}");
        assert!(written("etc/systemd/system/evenair-network.service").contains("devices-eth\\x2d1.device"));
    }
}
