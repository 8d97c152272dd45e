//! The bridge with ifupdown (interfaces(5)): the bridge gets the configuration of the wired side.
//!
//! Lines of existing files are kept as marked comments; reverting the setup removes the mark.

use std::fs;
use std::path::PathBuf;

use super::act::{Act, TAKEN_OUT};
use super::keeper::Machine;
use super::plan::Plan;
use super::{Candidate, lasting};

const MAIN: &str = "etc/network/interfaces";
const FOLDER: &str = "etc/network/interfaces.d";
const OURS: &str = "etc/network/interfaces.d/evenair";

/// Configuration of one interface, and the files without it.
#[derive(Debug, Default)]
struct Said {
    /// `family method`, and the lines below.
    stanzas: Vec<(String, Vec<Line>)>,
    /// Other interfaces brought up by the same lines, by the first word of these.
    beside: Vec<(String, String)>,
    files: Vec<File>,
}

/// A line of a stanza, and its position.
#[derive(Debug)]
struct Line {
    text: String,
    /// File and number of the line.
    place: String,
}

#[derive(Clone, Debug)]
struct File {
    path: PathBuf,
    text: String,
    is_changed: bool,
}

fn files(machine: &Machine) -> Vec<File> {
    let folder = fs::read_dir(machine.path(FOLDER)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = folder.filter(|path| *path != machine.path(OURS)).collect();
    paths.sort();
    paths.insert(0, machine.path(MAIN));
    let read = |path: PathBuf| Some(File { text: fs::read_to_string(&path).ok()?, path, is_changed: false });
    paths.into_iter().filter_map(read).collect()
}

/// Whether ifupdown brings this interface up.
pub(super) fn names(machine: &Machine, interface: &str) -> bool {
    let is_of = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("iface") && words.next() == Some(interface)
    };
    files(machine).iter().any(|file| file.text.lines().any(is_of))
}

/// Removes the configuration of an interface.
///
/// # Errors
/// It has an unsupported form.
fn take_out(files: Vec<File>, interface: &str) -> Result<Said, String> {
    let mut said = Said::default();
    for mut file in files {
        let mut text = String::new();
        let mut is_inside = false;
        // Not `lines`, which would strip a carriage return.
        for (at, line) in file.text.strip_suffix('\n').unwrap_or(&file.text).split('\n').enumerate() {
            let words: Vec<_> = line.split_whitespace().collect();
            let first = words.first().copied().unwrap_or_default();
            let starts = ["iface", "auto", "mapping", "source", "source-directory", "no-auto-down", "no-scripts"];
            if starts.contains(&first) || first.starts_with("allow-") {
                is_inside = first == "iface" && words.get(1) == Some(&interface);
            }
            let brings_up = (first == "auto" || first.starts_with("allow-")) && words[1..].contains(&interface);
            if (is_inside || brings_up) && line.trim_end().ends_with('\\') {
                return Err(format!("{}: {line:?} goes on in another line", file.path.display()));
            }
            if brings_up {
                let others = words[1..].iter().filter(|word| **word != interface);
                said.beside.extend(others.map(|other| (first.to_owned(), (*other).to_owned())));
            } else if is_inside && first == "iface" {
                said.stanzas.push((words[2..].join(" "), Vec::new()));
            } else if is_inside && let Some((_, lines)) = said.stanzas.last_mut() {
                let place = format!("{}:{}", file.path.display(), at + 1);
                let line = Line { text: line.trim().to_owned(), place };
                lines.extend((!first.is_empty() && !first.starts_with('#')).then_some(line));
            }
            let is_there = !first.is_empty() && !line.starts_with(TAKEN_OUT);
            let is_taken = brings_up || is_inside && is_there;
            file.is_changed |= is_taken;
            text = text + if is_taken { TAKEN_OUT } else { "" } + line + "\n";
        }
        said.files.push(File { text, ..file });
    }
    Ok(said)
}

/// Configures ifupdown to make the bridge at the next boot, with the configuration of the wired side.
///
/// # Errors
/// Its files configure the interfaces in an unsupported form.
pub(super) fn join(
    plan: &mut Plan,
    machine: &Machine,
    wlan: &Candidate,
    wire: &Candidate,
    bridge: &str,
) -> Result<(), String> {
    let of_wlan = take_out(files(machine), &wlan.name)?;
    let mut of_wire = take_out(of_wlan.files, &wire.name)?;
    check_others(&of_wire.files, [&wlan.name, &wire.name])?;
    for line in of_wire.stanzas.iter_mut().flat_map(|(_, lines)| lines) {
        line.text = moved(line, [&wlan.name, &wire.name], bridge)?;
    }
    let Some(((method, options), others)) = of_wire.stanzas.split_first() else {
        return Err(format!("/etc/network/interfaces says nothing of {}", wire.name));
    };
    let (wlan, mac, wire) = (&wlan.name, &wire.mac, &wire.name);
    let mut text = format!(
        "# Written by evenair init.\n{}auto {bridge}\niface {bridge} {method}\n    \
         pre-up ip link show dev {bridge} >/dev/null 2>&1 || ip link add {bridge} type bridge group_fwd_mask 0xfff8\n    \
         pre-up ip link set {bridge} address {mac}\n    \
         pre-up ip link set {wire} up && ip link set {wire} master {bridge}\n    \
         pre-up ip link set {wlan} up && ip link set {wlan} master {bridge} || true\n    \
         post-down ip link del {bridge}\n",
        beside([of_wlan.beside, of_wire.beside].concat(), [wlan, wire])
    );
    options.iter().for_each(|line| text = format!("{text}    {}\n", line.text));
    for (method, options) in others {
        text = format!("{text}\niface {bridge} {method}\n");
        options.iter().for_each(|line| text = format!("{text}    {}\n", line.text));
    }
    write(plan, machine, of_wire.files, text);
    // Works with or without a reboot since, and with any address.
    let command = |what: &str, of: &str| format!("{what} --force {of}");
    let after = [format!("ip link del {bridge}"), command("ifdown", wire), command("ifup", wire)];
    lasting::tell_how_back_between(plan, machine, &[command("ifdown", bridge)], &after);
    Ok(())
}

/// Subcommands of `ip` that move from the port to the bridge, and `route` of net-tools.
const MOVED: [&str; 12] =
    ["route", "ro", "r", "addr", "address", "a", "neigh", "neighbour", "neighbor", "n", "rule", "ru"];
/// Words before an interface's name in these commands.
const BEFORE_NAME: [&str; 3] = ["dev", "iif", "oif"];

/// Converts a line of the wired side's stanza for the bridge: addresses and routes move to the bridge.
///
/// # Errors
/// It names a port in another way, so that it may mean the port or the bridge.
fn moved(line: &Line, [wlan, wire]: [&str; 2], bridge: &str) -> Result<String, String> {
    if !mentions(&line.text, wire) && !mentions(&line.text, wlan) {
        return Ok(line.text.clone());
    }
    let refused = || {
        format!(
            "{}: {:?} names a port of the bridge to be; write $IFACE where it means the interface with the address, or move it \
             out of this file",
            line.place, line.text
        )
    };
    let (_hook, command) = line.text.split_once(char::is_whitespace).ok_or_else(refused)?;
    let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let ends = |word: &str| matches!(word, "&&" | "||" | "|" | "&") || word.ends_with(';');
    for part in words.split_inclusive_mut(|word| ends(word)) {
        let is_moved = is_moved(part);
        for at in 1..part.len() {
            let name = part[at].trim_end_matches(';');
            if is_moved && name == wire && BEFORE_NAME.contains(&part[at - 1].as_str()) {
                part[at] = part[at].replace(wire, bridge);
            }
        }
    }
    let text = line.text.replace(command, &words.join(" "));
    // Neither by an alias, such as eth0:1, nor in another command.
    let rest = words.iter().filter(|word| word.trim_end_matches(';') != bridge);
    match rest.into_iter().any(|word| mentions(word, wire) || mentions(word, wlan)) {
        true => Err(refused()),
        false => Ok(text),
    }
}

/// Whether it is a command for the interface with the address.
fn is_moved(command: &[String]) -> bool {
    let mut words = command.iter().map(String::as_str);
    let program = words.next().and_then(|path| path.rsplit('/').next());
    match program {
        Some("route") => true,
        Some("ip") => words.find(|word| !word.starts_with('-')).is_some_and(|object| MOVED.contains(&object)),
        _ => false,
    }
}

/// Whether a text has an interface's name, as a word or at the beginning of that of an alias or a VLAN.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_of_name) && !text[at + name.len()..].starts_with(is_of_name))
}

/// Checks that no other active line names a port: aliases, VLANs and commands would still use it.
fn check_others(files: &[File], ports: [&str; 2]) -> Result<(), String> {
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            let first = line.split_whitespace().next().unwrap_or_default();
            let says_nothing = first.starts_with('#') || first.starts_with("source") || first.starts_with("no-");
            if let Some(port) = ports.iter().find(|port| !says_nothing && mentions(line, port)) {
                return Err(format!(
                    "{}:{}: {:?} names {port}, which is to be a port of the bridge; remove it, or join the interfaces yourself",
                    file.path.display(),
                    at + 1,
                    line.trim()
                ));
            }
        }
    }
    Ok(())
}

/// Configures ifupdown to ignore an interface from the next boot on.
///
/// # Errors
/// Its files configure the interface in an unsupported form.
pub(super) fn release(plan: &mut Plan, machine: &Machine, interface: &str) -> Result<(), String> {
    let said = take_out(files(machine), interface)?;
    let ours = format!("# Written by evenair init.\n{}", beside(said.beside, [interface, interface]));
    write(plan, machine, said.files, ours);
    Ok(())
}

/// The lines that bring up the other interfaces.
fn beside(others: Vec<(String, String)>, without: [&str; 2]) -> String {
    let others = others.into_iter().filter(|(_, name)| !without.contains(&name.as_str()));
    others.map(|(word, name)| format!("{word} {name}\n")).collect()
}

fn write(plan: &mut Plan, machine: &Machine, files: Vec<File>, ours: String) {
    let path = machine.path(OURS);
    plan.lasting(Some(Act::Write(path.clone(), ours)), Some(Act::Remove(path.clone())));
    for file in files {
        let is_main = file.path == machine.path(MAIN);
        // If it does not read the folder anyway.
        let source = if is_main && !file.text.lines().any(reads_folder) {
            format!("source {}", path.display())
        } else {
            String::new()
        };
        if file.is_changed || !source.is_empty() {
            let text = if source.is_empty() { file.text } else { format!("{}{source}\n", file.text) };
            plan.lasting(Some(Act::Write(file.path.clone(), text)), Some(Act::PutBack(file.path, source)));
        }
    }
}

fn reads_folder(line: &str) -> bool {
    let mut words = line.split_whitespace();
    matches!(words.next(), Some("source" | "source-directory"))
        && words.next().is_some_and(|what| what.contains("interfaces.d"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::keeper::tests::machine;

    const TEXT: &str = "source /etc/network/interfaces.d/*\n\nauto lo eth0\niface lo inet loopback\n\n# The wire\n\
                        iface eth0 inet static\n    address 10.0.0.7/24\n    gateway 10.0.0.1\niface eth0 inet6 auto\n\n\
                        allow-hotplug eth1\niface eth1 inet dhcp\n";

    fn port(name: &str) -> Candidate {
        Candidate {
            name: name.into(),
            mac: "00:16:3e:00:00:01".into(),
            carrier: true,
            bridge: None,
            addresses: vec![],
            to_router: name == "eth0",
            is_leased: false,
        }
    }

    #[test]
    fn the_bridge_gets_the_configuration_of_the_wired_side_and_returns_it() {
        for text in [TEXT, TEXT.split_once('\n').expect("lines").1] {
            let (folder, machine) = machine(&[("etc/network/interfaces", text)]);
            let mut plan = Plan::default();
            join(&mut plan, &machine, &port("eth1"), &port("eth0"), "br0").expect("understood");
            let down = plan.lasting_commands().last().expect("some");
            let order = ["ifdown --force br0", "interfaces.d/evenair", "ifup --force eth0"];
            assert!(order.windows(2).all(|pair| down.find(pair[0]) < down.find(pair[1])), "{down}");
            for step in plan.lasting_steps() {
                step.make.as_ref().expect("each").make().expect("made");
            }
            let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("readable");
            let (main, ours) = (read(MAIN), read(OURS));
            let in_force: Vec<_> = main.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
            assert_eq!(in_force.len(), 2, "{in_force:?}");
            assert!(in_force.contains(&"iface lo inet loopback"));
            assert!(in_force.iter().any(|line| line.starts_with("source ")));
            for line in ["auto lo", "auto br0", "iface br0 inet static", "    gateway 10.0.0.1", "iface br0 inet6 auto"]
            {
                assert!(ours.lines().any(|l| l == line), "{line}: {ours}");
            }
            assert!(!ours.contains("dhcp"), "the other port has no address: {ours}");
            assert!(!names(&machine, "eth0") && !names(&machine, "eth1"));
            for step in plan.lasting_steps().iter().rev() {
                step.undo.as_ref().expect("each").make().expect("taken back");
            }
            assert_eq!(read(MAIN), text);
            assert!(!folder.path().join(OURS).exists());
        }
    }

    /// The bridge's stanza for a wired side with this line, or the error.
    fn with_line(line: &str) -> Result<String, String> {
        let text =
            format!("auto eth0\niface eth0 inet static\n    address 10.0.0.7/24\n    {line}\niface eth1 inet manual\n");
        let (_folder, machine) = machine(&[("etc/network/interfaces", &text)]);
        let mut plan = Plan::default();
        join(&mut plan, &machine, &port("eth1"), &port("eth0"), "br0")?;
        Ok(plan.lasting_commands().next().expect("the bridge's file"))
    }

    #[test]
    fn commands_over_the_wired_side_are_over_the_bridge() {
        for (line, moved) in [
            ("up ip route add 10.20.0.0/16 via 10.0.0.1 dev eth0", "up ip route add 10.20.0.0/16 via 10.0.0.1 dev br0"),
            ("down ip -4 route del 10.20.0.0/16 dev eth0 || true", "down ip -4 route del 10.20.0.0/16 dev br0 || true"),
            (
                "post-up /sbin/ip addr add 10.0.0.8/24 dev eth0; /sbin/ip rule add iif eth0 table 9",
                "post-up /sbin/ip addr add 10.0.0.8/24 dev br0; /sbin/ip rule add iif br0 table 9",
            ),
            (
                "up route add -net 10.20.0.0/16 gw 10.0.0.1 dev eth0",
                "up route add -net 10.20.0.0/16 gw 10.0.0.1 dev br0",
            ),
            ("up ip route add 10.20.0.0/16 dev $IFACE", "up ip route add 10.20.0.0/16 dev $IFACE"),
            ("up logger -t net myeth0 eth01", "up logger -t net myeth0 eth01"),
        ] {
            let text = with_line(line).expect("understood");
            assert!(text.lines().any(|l| l.trim() == moved), "{line}: {text}");
        }
    }

    #[test]
    fn lines_that_name_a_port_otherwise_are_refused_with_their_place() {
        for line in [
            "up ethtool -K eth0 tso off",
            "up ip link set dev eth0 txqueuelen 100",
            "up ip route add 10.20.0.0/16 dev eth0 && tc qdisc add dev eth0 root fq",
            "up sysctl -w net.ipv4.conf.eth0.rp_filter=0",
            "up ip route add 10.20.0.0/16 dev eth1",
            "up sh -c 'ip route add 10.20.0.0/16 dev eth0'",
            "up ip addr add 10.0.0.9/24 dev eth0 label eth0:1",
        ] {
            let error = with_line(line).expect_err(line);
            assert!(error.contains("interfaces:4: ") && error.contains(line), "{error}");
        }
        for line in [
            "\niface eth0:1 inet static",
            "\niface eth0.10 inet dhcp",
            "\niface lo inet loopback\n    up ip route add 10.1.0.0/16 dev eth0",
        ] {
            let error = with_line(line).expect_err(line);
            assert!(error.contains("/etc/network/interfaces:") && error.contains("names eth0"), "{error}");
        }
    }

    #[test]
    fn unsupported_forms_are_refused() {
        let (_folder, machine) = machine(&[("etc/network/interfaces", "auto eth0 \\\n eth1\niface eth0 inet dhcp\n")]);
        let error = join(&mut Plan::default(), &machine, &port("eth1"), &port("eth0"), "br0").expect_err("refused");
        assert!(error.contains("goes on in another line"), "{error}");
    }
}
