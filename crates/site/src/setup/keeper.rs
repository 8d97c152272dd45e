//! Detects which service configures the interfaces of this machine at boot.
//!
//! Sources: systemd-networkd writes its state of a link to `/run/systemd/netif/links/INDEX` (sd-network's private state,
//! unchanged since systemd 218, drop-ins since 252), NetworkManager to `/run/NetworkManager/devices/INDEX`
//! (NetworkManager(8)); ifupdown uses interfaces(5).

use std::fs;
use std::path::{Path, PathBuf};

use super::act::Act;
use super::plan::Plan;
use super::{ifupdown, lasting, networkd};

/// The service that configures an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Keeper {
    /// systemd-networkd, with this configuration: its file for the interface, and the drop-ins.
    Networkd(String),
    /// ifupdown, by `/etc/network/interfaces`.
    Ifupdown,
    NetworkManager,
    /// None of these.
    Nobody,
}

/// Locations of a machine's files.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    root: PathBuf,
    /// Whether services of this machine configure the interfaces in this thread's network namespace.
    is_configured: bool,
}

impl Machine {
    /// This machine.
    pub(super) fn this() -> Self {
        let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/net")).ok();
        // Only root may inspect process 1.
        let is_configured = namespace("1").is_none_or(|first| Some(first) == namespace("thread-self"));
        Self { root: PathBuf::from("/"), is_configured }
    }

    /// A machine whose files are below this folder.
    pub(super) fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), is_configured: true }
    }

    /// The path of a file, given relative to the root.
    pub(super) fn path(&self, from_root: &str) -> PathBuf {
        self.root.join(from_root)
    }

    /// Whether the machine uses systemd.
    pub(super) fn has_systemd(&self) -> bool {
        self.is_configured && self.path("run/systemd/system").is_dir()
    }

    /// The service that configures an interface.
    pub(super) fn keeper(&self, interface: &str) -> Keeper {
        if !self.is_configured {
            return Keeper::Nobody;
        }
        let index = fs::read_to_string(self.path(&format!("sys/class/net/{interface}/ifindex"))).unwrap_or_default();
        let state = |folder: &str| fs::read_to_string(self.path(&format!("{folder}/{}", index.trim()))).ok();
        if state("run/NetworkManager/devices").is_some_and(|text| text.lines().any(|line| line == "managed=true")) {
            return Keeper::NetworkManager;
        }
        let network = state("run/systemd/netif/links").and_then(|text| networkd::text_of(&self.root, &text));
        match network {
            Some(text) => Keeper::Networkd(text),
            None if ifupdown::names(self, interface) => Keeper::Ifupdown,
            None => Keeper::Nobody,
        }
    }

    /// The service that restores an interface at boot, as text. `None`: unknown.
    pub(super) fn kept_by(&self, interface: &str) -> Option<&'static str> {
        let up = fs::read_to_string(self.path("etc/evenair/network/up")).unwrap_or_default();
        match self.keeper(interface) {
            Keeper::Networkd(_) => Some("systemd-networkd"),
            Keeper::Ifupdown => Some("ifupdown"),
            Keeper::NetworkManager => Some("NetworkManager"),
            Keeper::Nobody if makes(&up, interface) && self.path(lasting::WANTED).is_symlink() => Some(lasting::UNIT),
            Keeper::Nobody => None,
        }
    }

    /// Makes the plan the only configuration of an interface from the next boot on.
    ///
    /// # Errors
    /// Its existing configuration cannot be changed automatically.
    pub(super) fn release(&self, plan: &mut Plan, interface: &str) -> Result<(), String> {
        match self.keeper(interface) {
            Keeper::Networkd(_) => {
                let path = self.path(&format!("etc/systemd/network/05-evenair-{interface}.network"));
                let text = format!(
                    "# Written by evenair init, as /etc/evenair/network is.\n[Match]\nName={interface}\n\n[Link]\nUnmanaged=yes\n"
                );
                plan.lasting(Some(Act::Write(path.clone(), text)), Some(Act::Remove(path)));
                Ok(())
            }
            Keeper::Ifupdown => ifupdown::release(plan, self, interface),
            // It ignores interfaces that were configured before it.
            Keeper::NetworkManager | Keeper::Nobody => Ok(()),
        }
    }
}

/// Whether a script makes an interface.
fn makes(script: &str, interface: &str) -> bool {
    script.lines().any(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "add");
        line.contains("ip link add") && words.nth(1).is_some_and(|name| name == Act::quoted(interface))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine with these files.
    pub(in super::super) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("below the root")).expect("made");
            fs::write(path, text).expect("written");
        }
        let machine = Machine::at(folder.path());
        (folder, machine)
    }

    #[test]
    fn no_service_keeps_interfaces_made_by_hand() {
        let (folder, machine) = machine(&[("etc/evenair/network/up", "try ip link add br0 type bridge\n")]);
        assert_eq!(machine.kept_by("br0"), None, "nobody runs it");
        let unit = folder.path().join(lasting::WANTED);
        fs::create_dir_all(unit.parent().expect("in a folder")).expect("made");
        std::os::unix::fs::symlink("/etc/systemd/system/evenair-network.service", unit).expect("made");
        assert_eq!(machine.kept_by("br0"), Some("evenair-network.service"));
        assert_eq!(machine.kept_by("br1"), None);
    }

    #[test]
    fn who_configures_an_interface_is_detected_by_what_they_leave() {
        let (_folder, machine) = machine(&[
            ("sys/class/net/eth0/ifindex", "2\n"),
            ("sys/class/net/eth1/ifindex", "3\n"),
            ("sys/class/net/eth2/ifindex", "4\n"),
            ("sys/class/net/eth3/ifindex", "5\n"),
            (
                "run/systemd/netif/links/2",
                "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/20-wired.network\n",
            ),
            ("etc/systemd/network/20-wired.network", "[Match]\nName=eth0\n[Network]\nDHCP=yes\n"),
            ("run/systemd/netif/links/3", "ADMIN_STATE=unmanaged\n"),
            ("run/NetworkManager/devices/3", "[device]\nmanaged=true\n"),
            ("run/NetworkManager/devices/4", "[device]\nmanaged=false\n"),
            ("etc/network/interfaces", "auto lo eth2\niface eth2 inet dhcp\n"),
        ]);
        assert!(matches!(machine.keeper("eth0"), Keeper::Networkd(text) if text.contains("DHCP=yes")));
        assert_eq!(machine.keeper("eth1"), Keeper::NetworkManager);
        assert_eq!(machine.keeper("eth2"), Keeper::Ifupdown);
        assert_eq!(machine.keeper("eth3"), Keeper::Nobody);
        assert_eq!(machine.keeper("eth9"), Keeper::Nobody);
        let elsewhere = Machine { is_configured: false, ..machine };
        assert_eq!(elsewhere.keeper("eth0"), Keeper::Nobody, "interfaces of another namespace have other indices");
    }
}
