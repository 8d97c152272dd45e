//! The bridge with systemd-networkd: the bridge gets the configuration of the wired side.
//!
//! networkd uses the first file that matches an interface (systemd.network(5)), so that three files with names that sort
//! first leave other files unchanged. Until the change is confirmed they are below `/run`, which does not survive a reboot.

use std::fs;
use std::path::{Path, PathBuf};

use super::Candidate;
use super::act::Act;
use super::ifupdown::mentions;
use super::keeper::Machine;
use super::lasting;
use super::plan::Plan;

const HEADER: &str = "# Written by evenair init.\n";

/// The configuration that networkd uses for the link with this state: its file and the drop-ins. `None`: it does not configure
/// the link.
pub(super) fn text_of(root: &Path, state: &str) -> Option<String> {
    let value = |key: &str| state.lines().find_map(|line| line.strip_prefix(key));
    if matches!(value("ADMIN_STATE="), None | Some("unmanaged")) {
        return None;
    }
    let read = |path: &Path| fs::read_to_string(root.join(path)).ok();
    let below = |path: &str| {
        let path = Path::new(path.trim_matches(['"', '/']));
        // The file may have been made permanent there since networkd read it.
        read(path).or_else(|| read(&Path::new("etc/systemd/network").join(path.file_name()?)))
    };
    let mut text = below(value("NETWORK_FILE=")?)?;
    let drop_ins = value("NETWORK_FILE_DROPINS=").unwrap_or_default().trim_matches('"');
    for path in drop_ins.split_whitespace() {
        text = text + "\n" + &below(path)?;
    }
    Some(text)
}

/// Configures networkd to join two interfaces in a bridge with the wired side's configuration `network`.
///
/// # Errors
/// A name that networkd would parse as a pattern.
pub(super) fn join(
    machine: &Machine,
    wlan: &Candidate,
    wire: &Candidate,
    bridge: &str,
    network: &str,
) -> Result<Plan, String> {
    let strange = |name: &&str| name.contains(['*', '?', '[', '!', '"', '\\']);
    if let Some(name) = [&*wlan.name, &*wire.name, bridge].iter().find(|name| strange(name)) {
        return Err(format!("{name}: systemd-networkd would take this name for a pattern"));
    }
    let index = fs::read_to_string(machine.path(&format!("sys/class/net/{}/ifindex", wire.name))).unwrap_or_default();
    let lease = fs::read_to_string(machine.path(&format!("run/systemd/netif/leases/{}", index.trim())));
    let files = [
        (
            format!("05-evenair-{bridge}.netdev"),
            format!(
                "{HEADER}[NetDev]\nName={bridge}\nKind=bridge\nMACAddress={}\n\n[Bridge]\nSTP=no\nGroupForwardMask=65528\n",
                wire.mac
            ),
        ),
        (
            format!("05-evenair-{bridge}.network"),
            over_bridge(&of_bridge(bridge, network, lease.ok().as_deref()), [&wlan.name, &wire.name], bridge)?,
        ),
        (
            format!("05-evenair-{bridge}-ports.network"),
            format!(
                "{HEADER}[Match]\nName={} {}\n\n[Link]\nRequiredForOnline=no\n\n[Network]\nBridge={bridge}\n\
                 LinkLocalAddressing=no\nIPv6AcceptRA=no\n",
                wlan.name, wire.name
            ),
        ),
    ];
    let mut plan = Plan::default();
    let command = |text: &str| Some(Act::Run(text.into()));
    // The first step is the last to be reverted.
    plan.act(None, command("networkctl reload"));
    for (name, text) in &files {
        let path = machine.path(&format!("run/systemd/network/{name}"));
        plan.act(Some(Act::Write(path.clone(), text.clone())), Some(Act::Remove(path)));
    }
    plan.act(command("networkctl reload"), command(&format!("ip link del {bridge}")));
    plan.act(Some(Act::Await { bridge: bridge.into(), ports: [wlan.name.clone(), wire.name.clone()] }), None);
    for (name, text) in &files {
        let path = |folder: &str| -> PathBuf { machine.path(&format!("{folder}/systemd/network/{name}")) };
        plan.lasting(Some(Act::Write(path("etc"), text.clone())), Some(Act::Remove(path("etc"))));
        plan.lasting(Some(Act::Remove(path("run"))), None);
    }
    lasting::tell_how_back(&mut plan, machine);
    Ok(plan)
}

/// Converts the wired side's configuration for the bridge: without its match and hardware settings, and with the client
/// identity that the DHCP server knows, so that the lease is kept.
pub(super) fn of_bridge(bridge: &str, network: &str, lease: Option<&str>) -> String {
    let mut text = format!("{HEADER}[Match]\nName={bridge}\n");
    let mut is_copied = false;
    for line in network.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            is_copied = !matches!(trimmed, "[Match]" | "[Link]" | "[SR-IOV]");
            text.push('\n');
        }
        if is_copied && !trimmed.is_empty() && !trimmed.starts_with(['#', ';']) {
            text = text + line + "\n";
        }
    }
    if let Some(iaid) = lease.and_then(identity) {
        text += &format!("\n[DHCPv4]\nIAID={iaid}\n");
    }
    text
}

/// Converts the bridge's configuration: routing rules for the wired side become rules for the bridge.
///
/// # Errors
/// It names a port in another way.
fn over_bridge(text: &str, [wlan, wire]: [&str; 2], bridge: &str) -> Result<String, String> {
    let mut moved = String::new();
    for line in text.lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let is_rule = matches!(key.trim(), "IncomingInterface" | "OutgoingInterface");
        let names_port = mentions(value, wire) || mentions(value, wlan);
        match (is_rule && value.trim() == wire, names_port) {
            (true, _) => moved += &format!("{key}={bridge}\n"),
            (false, true) => {
                return Err(format!(
                    "the systemd-networkd configuration of {wire} has {:?}, which names a port of the bridge to be; remove it, or \
                     join the interfaces yourself",
                    line.trim()
                ));
            }
            (false, false) => moved = moved + line + "\n",
        }
    }
    Ok(moved)
}

/// The interface's number in a DHCP client identity (RFC 4361, 6.1): `ff`, four bytes of it, and the machine's.
fn identity(lease: &str) -> Option<u32> {
    let id = lease.lines().find_map(|line| line.strip_prefix("CLIENTID="))?;
    u32::from_str_radix(id.strip_prefix("ff")?.get(..8)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::keeper::tests::machine;

    fn port(name: &str) -> Candidate {
        Candidate {
            name: name.into(),
            mac: "00:16:3e:00:00:01".into(),
            carrier: true,
            bridge: None,
            addresses: vec!["10.0.0.7/24".into()],
            to_router: name == "eth0",
            is_leased: true,
        }
    }

    #[test]
    fn the_bridge_gets_the_configuration_of_the_wired_side() {
        let network =
            "[Match]\nName=eth0\n\n[Link]\nMTUBytes=9000\n# so\n[Network]\nDHCP=yes\n[Route]\nGateway=10.0.0.1\n";
        let text = of_bridge("br0", network, Some("ADDRESS=10.0.0.7\nCLIENTID=ff6a7bd4f200020000ab11\n"));
        let expected = "# Written by evenair init.\n[Match]\nName=br0\n\n\n\n[Network]\nDHCP=yes\n\n[Route]\n\
                        Gateway=10.0.0.1\n\n[DHCPv4]\nIAID=1786500338\n";
        assert_eq!(text, expected);
        assert_eq!(identity("CLIENTID=0100163e000001\n"), None, "its MAC address, which the bridge has");
    }

    #[test]
    fn routes_stay_whole_and_rules_name_the_bridge() {
        let network = "[Network]\nAddress=203.0.113.7/32\n[Route]\nGateway=169.254.0.1\nGatewayOnLink=yes\n\
                       InitialCongestionWindow=20\n[Route]\nTable=100\nMultiPathRoute=10.0.0.1@eth9 3\n\
                       [RoutingPolicyRule]\nIncomingInterface=eth0\nTable=100\n";
        let ports = ["eth1", "eth0"];
        let text = over_bridge(&of_bridge("br0", network, None), ports, "br0").expect("understood");
        for line in network.lines().filter(|line| !line.contains("eth0")) {
            assert!(text.lines().any(|l| l == line), "{line}: {text}");
        }
        assert!(text.contains("IncomingInterface=br0\nTable=100"), "{text}");
        for line in ["MultiPathRoute=10.0.0.1@eth0 3", "VLAN=eth0.10", "IncomingInterface=eth1"] {
            let error = over_bridge(line, ports, "br0").expect_err("refused");
            assert!(error.contains(line), "{error}");
        }
    }

    #[test]
    fn drop_ins_count() {
        let (folder, _) = machine(&[
            ("usr/lib/systemd/network/a.network", "[Network]\nDHCP=yes\n"),
            ("etc/systemd/network/a.network.d/b.conf", "[Network]\nDNS=10.0.0.2\n"),
        ]);
        let state = "ADMIN_STATE=configured\nNETWORK_FILE=/usr/lib/systemd/network/a.network\n\
                     NETWORK_FILE_DROPINS=\"/etc/systemd/network/a.network.d/b.conf\"\n";
        let text = text_of(folder.path(), state).expect("configured");
        assert!(text.contains("DHCP=yes") && text.contains("DNS=10.0.0.2"), "{text}");
        assert_eq!(text_of(folder.path(), "ADMIN_STATE=unmanaged\n"), None);
        let moved = state.replace("/etc/systemd/network/a.network.d/b.conf", "").replace("/usr/lib", "/run");
        let (folder, _) = machine(&[("etc/systemd/network/a.network", "[Network]\nDHCP=ipv4\n")]);
        assert_eq!(text_of(folder.path(), &moved).as_deref(), Some("[Network]\nDHCP=ipv4\n"));
    }

    #[test]
    fn nothing_survives_a_reboot_before_it_is_kept() {
        let (folder, machine) = machine(&[]);
        let plan = join(&machine, &port("eth1"), &port("eth0"), "br0", "[Network]\nDHCP=yes\n").expect("a plan");
        let made: Vec<_> = plan.commands().collect();
        let etc = folder.path().join("etc").display().to_string();
        assert!(made.iter().all(|line| !line.contains(&etc)), "{made:#?}");
        let last = |text: &str| made.iter().position(|line| line == text).expect("one of them");
        assert_eq!(last("networkctl reload"), 3, "after the three files");
        let kept: Vec<_> = plan.lasting_commands().collect();
        assert_eq!(
            kept.iter().filter(|line| line.contains("/etc/systemd/network/05-evenair-br0")).count(),
            4,
            "{kept:#?}"
        );
        assert!(join(&machine, &port("e*"), &port("eth0"), "br0", "").is_err());
    }
}
