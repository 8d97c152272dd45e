//! The network that `evenair init --apply` makes with systemd-networkd: it is reverted unless confirmed, keeps the DHCP
//! lease, survives a reboot, and can be reverted later.

use crate::guest::Guest;

/// Two cables; a DHCP server at the far end of the wired one. networkd configures one of the near ends.
const SITE: [&str; 4] = [
    "for n in 0 1; do ip link add eth$n type veth peer name far$n; ip link set far$n up; ip link set eth$n up; done",
    "printf '[Match]\\nName=far0\\n[Network]\\nAddress=10.5.0.1/24\\nDHCPServer=yes\\nLinkLocalAddressing=no\\n' \
     >/etc/systemd/network/10-far0.network",
    "printf '[Match]\\nName=eth0\\n[Network]\\nDHCP=ipv4\\nLinkLocalAddressing=no\\n' >/etc/systemd/network/20-wired.network",
    "systemctl restart systemd-networkd",
];
const INIT: &str = "evenair init --force --wlan eth1 --wire eth0 --standard 802.11g --apply";
const FILES: &str = "ls /etc/systemd/network /run/systemd/network 2>/dev/null | grep evenair | sort";

/// Waits until an interface has an address of the site, and returns it.
fn leased(guest: &mut Guest, interface: &str) -> String {
    let line = format!("ip -4 -o addr show dev {interface} scope global");
    let shown = guest.until(&line, |text| text.contains(" 10.5.0."));
    shown.split_whitespace().find(|word| word.starts_with("10.5.0.")).expect("awaited").to_owned()
}

fn ports(guest: &mut Guest) -> String {
    guest.run("ls /sys/class/net/br0/brif").1
}

/// The bridge with networkd, on a machine with only the program.
pub fn is_made_kept_and_taken_back(guest: &mut Guest) {
    SITE.iter().for_each(|line| drop(guest.must(line)));
    let address = leased(guest, "eth0");
    let (code, output) = guest.run(&format!("{INIT} </dev/null"));
    assert!(code != 0 && output.contains("not confirmed"), "{output}");
    assert_eq!(leased(guest, "eth0"), address, "as it was");
    assert_eq!((guest.run(FILES).1.as_str(), guest.run("ip link show br0").0), ("", 1));

    let output = guest.must(&format!("echo yes | {INIT}"));
    assert!(output.contains("so it will be when this machine starts"), "{output}");
    assert_eq!(leased(guest, "br0"), address, "the same machine to who gives the addresses");
    assert_eq!(ports(guest), "eth0\neth1\n");
    let files = guest.must(FILES);
    assert_eq!(files, "05-evenair-br0-ports.network\n05-evenair-br0.netdev\n05-evenair-br0.network\n");
    assert_eq!(guest.run("ls /run/systemd/network | grep evenair").1, "", "each is there once");
    let (_, found) = guest.run("evenair doctor");
    assert!(found.contains("systemd-networkd makes br0"), "{found}");

    // From the package to managed traffic: this `init` and two more commands.
    guest.must("systemctl start evenair");
    guest.must("evenair insert");
    let status = guest.must("evenair status --all");
    assert!(status.starts_with("inserted, carried by the box") && status.contains("the sum agrees"), "{status}");
    guest.must("systemctl stop evenair");

    // As at a reboot.
    guest.must("systemctl stop systemd-networkd.socket systemd-networkd; ip link del br0; ip addr flush dev eth0; ip link set eth1 down; ip link set eth0 down");
    guest.must("systemctl start systemd-networkd");
    assert_eq!(leased(guest, "br0"), address);
    assert_eq!(ports(guest), "eth0\neth1\n");

    guest.must("sh /etc/evenair/network/down");
    assert_eq!(leased(guest, "eth0"), address);
    assert_eq!((guest.run(FILES).1.as_str(), guest.run("ip link show br0").0), ("", 1));
    assert_ne!(guest.run("ls /etc/evenair/network/down").0, 0, "there is nothing more to be taken back");
    guest.must("rm /etc/evenair/box.toml /etc/systemd/network/*; systemctl stop systemd-networkd.socket systemd-networkd; ip link del eth0; ip link del eth1");
}
