//! Parsers of `evenair init` for a machine's network: output of `ip`, networkd's files, interfaces(5).
//!
//! `fuzz/fuzz_targets/init.rs` does the same with inputs from libFuzzer.

use std::fs;
use std::path::{Path, PathBuf};

use evenair_site::setup::parsers::{Ifupdown, entries, interfaces, networkd_bridge, networkd_text};
use serde_json::Value;

/// Parses the interfaces from the output of `ip`. Returns their number.
pub fn ports(links: &str, routes: &str) -> usize {
    let list = |text| serde_json::from_str::<Vec<Value>>(text).unwrap_or_default();
    for command in entries(&list(links), routes) {
        assert!(command.starts_with("ip -") && !command.contains('\n'), "{command}");
    }
    let (links, routes) = (list(links), list(routes));
    let ports = interfaces(&links, &routes);
    assert!(ports.len() <= links.len());
    ports.len()
}

/// The link state written by systemd-networkd, its file for the link, and its lease.
pub fn networkd(root: &Path, state: &str, network: &str, lease: &str) -> Option<String> {
    let folder = root.join("etc/systemd/network");
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("a.network"), network).expect("writable");
    // Not outside of the folder.
    let text = networkd_text(root, &state.replace("..", ""));
    let bridge = networkd_bridge(network, Some(lease));
    let heads: Vec<_> = bridge.lines().map(str::trim).filter(|line| line.starts_with('[')).collect();
    let count = |head: &str| heads.iter().filter(|line| **line == head).count();
    assert_eq!((count("[Match]"), count("[Link]")), (1, 0), "{bridge}");
    text
}

/// Joins two interfaces in this text of interfaces(5), and undoes it: the text is as before. Returns whether the text was understood.
pub fn ifupdown(root: &Path, text: &str) -> bool {
    const LINE: &str = "#evenair# ";
    let main: PathBuf = root.join("etc/network/interfaces");
    fs::create_dir_all(root.join("etc/network/interfaces.d")).expect("made");
    fs::write(&main, text).expect("writable");
    let Ok(machine) = Ifupdown::join(root, "eth1", "eth0") else { return false };
    for command in machine.commands() {
        // A text for a shell ends at its delimiter.
        if let Some((first, rest)) = command.split_once('\n') {
            let end = first.rsplit_once("<<'").and_then(|(_, end)| end.strip_suffix('\'')).expect("a text");
            assert_eq!(rest.split('\n').position(|line| line == end), Some(rest.split('\n').count() - 1), "{command}");
        }
    }
    machine.make().expect("writable");
    assert!(!machine.names("eth0") && !machine.names("eth1"), "nobody else brings them up");
    machine.take_back().expect("writable");
    let after = fs::read_to_string(&main).expect("there");
    // Lines end with a newline then. Lines commented out by an earlier set-up are restored as well.
    let lines = |text: &str| {
        let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let put_back = |line: &String| line.strip_prefix(LINE).unwrap_or(line).to_owned();
    let (before, after) = (lines(text), lines(&after));
    assert!(after == before || after == before.iter().map(put_back).collect::<Vec<_>>(), "{after:?} of {before:?}");
    assert!(!root.join("etc/network/interfaces.d/evenair").exists());
    true
}
