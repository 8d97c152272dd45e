//! The bridge with ifupdown (interfaces(5)): the bridge gets the configuration of the wired side.
//!
//! Lines of other files are kept as comments with a mark; reverting the setup removes the mark.

use std::fs;
use std::path::PathBuf;

use super::act::{Act, TAKEN_OUT};
use super::keeper::Machine;
use super::plan::Plan;
use super::{Candidate, lasting};

const MAIN: &str = "etc/network/interfaces";
const FOLDER: &str = "etc/network/interfaces.d";
const OURS: &str = "etc/network/interfaces.d/evenair";

/// What is said of one interface, and the files without it.
#[derive(Debug, Default)]
struct Said {
    /// `family method`, and the lines below.
    stanzas: Vec<(String, Vec<String>)>,
    /// Others that were brought up by the same lines, by the first word of these.
    beside: Vec<(String, String)>,
    files: Vec<File>,
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

/// ifupdown brings this interface up.
pub(super) fn names(machine: &Machine, interface: &str) -> bool {
    let is_of = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("iface") && words.next() == Some(interface)
    };
    files(machine).iter().any(|file| file.text.lines().any(is_of))
}

/// Takes out what is said of an interface.
///
/// # Errors
/// It is said in a way that is not understood.
fn take_out(files: Vec<File>, interface: &str) -> Result<Said, String> {
    let mut said = Said::default();
    for mut file in files {
        let mut text = String::new();
        let mut is_inside = false;
        // Not `lines`, which would take a carriage return away.
        for line in file.text.strip_suffix('\n').unwrap_or(&file.text).split('\n') {
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
                lines.extend((!first.is_empty() && !first.starts_with('#')).then(|| line.trim().to_owned()));
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

/// Has ifupdown make the bridge at the next start, with what it had for the wired side.
///
/// # Errors
/// Its files say of the interfaces what is not understood.
pub(super) fn join(
    plan: &mut Plan,
    machine: &Machine,
    wlan: &Candidate,
    wire: &Candidate,
    bridge: &str,
) -> Result<(), String> {
    let of_wlan = take_out(files(machine), &wlan.name)?;
    let of_wire = take_out(of_wlan.files, &wire.name)?;
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
    options.iter().for_each(|line| text = format!("{text}    {line}\n"));
    for (method, options) in others {
        text = format!("{text}\niface {bridge} {method}\n");
        options.iter().for_each(|line| text = format!("{text}    {line}\n"));
    }
    write(plan, machine, of_wire.files, text);
    // With or without a reboot since, and with any address.
    let command = |what: &str, of: &str| format!("{what} --force {of}");
    let after = [format!("ip link del {bridge}"), command("ifdown", wire), command("ifup", wire)];
    lasting::tell_how_back_between(plan, machine, &[command("ifdown", bridge)], &after);
    Ok(())
}

/// Has ifupdown leave an interface alone from the next start on.
///
/// # Errors
/// Its files say of it what is not understood.
pub(super) fn release(plan: &mut Plan, machine: &Machine, interface: &str) -> Result<(), String> {
    let said = take_out(files(machine), interface)?;
    let ours = format!("# Written by evenair init.\n{}", beside(said.beside, [interface, interface]));
    write(plan, machine, said.files, ours);
    Ok(())
}

/// The lines that bring the others up.
fn beside(others: Vec<(String, String)>, without: [&str; 2]) -> String {
    let others = others.into_iter().filter(|(_, name)| !without.contains(&name.as_str()));
    others.map(|(word, name)| format!("{word} {name}\n")).collect()
}

fn write(plan: &mut Plan, machine: &Machine, files: Vec<File>, ours: String) {
    let path = machine.path(OURS);
    plan.lasting(Some(Act::Write(path.clone(), ours)), Some(Act::Remove(path.clone())));
    for file in files {
        let is_main = file.path == machine.path(MAIN);
        // Where it does not read the folder anyway.
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
    fn the_bridge_gets_what_the_wired_side_had_and_it_comes_back() {
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

    #[test]
    fn what_is_not_understood_is_refused() {
        let (_folder, machine) = machine(&[("etc/network/interfaces", "auto eth0 \\\n eth1\niface eth0 inet dhcp\n")]);
        let error = join(&mut Plan::default(), &machine, &port("eth1"), &port("eth0"), "br0").expect_err("refused");
        assert!(error.contains("goes on in another line"), "{error}");
    }
}
