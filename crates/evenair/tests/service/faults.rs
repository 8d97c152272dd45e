//! Faults around the service that must not keep it from starting or running: other users, ports that appear late, a full disk.
//! Also the service's own limits.

use crate::guest::{Extra, Guest};
use crate::{CABLES, property};

/// A program that holds the names of older locks, for other users.
const HOLD_NAMES: &str = "usr/local/bin/hold-names";
/// Prefix that runs a command as a user without privileges.
const AS_NOBODY: &str = "setpriv --reuid 65534 --regid 65534 --clear-groups --";
/// 2^30 bytes, as in the unit.
const MEMORY_MAX: u64 = 1 << 30;

/// Files that these cases need on the machine.
pub fn extras() -> [Extra<'static>; 1] {
    [Extra { path: HOLD_NAMES, mode: 0o755, bytes: include_bytes!("guest/hold-names").into() }]
}

/// Checks that the box runs and responds, in this mode.
fn runs(guest: &mut Guest, mode: &str) {
    assert_eq!(property(guest, "ActiveState"), "active");
    guest.until("systemctl show --value --property StatusText evenair", |text| text.trim() == mode);
    let status = guest.must("evenair status --all");
    assert!(status.starts_with(mode) && status.contains("the sum agrees"), "{status}");
}

/// Starts a command as a user without privileges.
fn begin_as_nobody(guest: &mut Guest, command: &str) {
    guest.must(&format!("{AS_NOBODY} {command} >/tmp/holder 2>&1 & echo $! >/tmp/holder.pid"));
}

/// Ends the command started last.
fn end_it(guest: &mut Guest) {
    guest.must("kill $(cat /tmp/holder.pid)");
}

/// Another local user holds the sockets with which older versions locked ports, in three ways, and the directory of the locks.
pub fn starts_whatever_other_users_hold(guest: &mut Guest) {
    for how in ["hold-names plain", "hold-names dead", "unshare -Ur hold-names plain"] {
        guest.must("systemctl stop evenair");
        let ports = "$(cat /sys/class/net/eth0/ifindex /sys/class/net/eth1/ifindex)";
        begin_as_nobody(guest, &format!("{how} {ports}"));
        guest.until("grep -c @evenair-port- /proc/net/unix", |count| count.trim() == "2");
        // Before the start the directory does not exist, and other users cannot create it.
        assert_ne!(guest.run(&format!("{AS_NOBODY} mkdir /run/evenair")).0, 0, "{how}");
        guest.must("systemctl start evenair");
        guest.must("evenair insert");
        runs(guest, "inserted");
        end_it(guest);
        guest.until("grep -c @evenair-port- /proc/net/unix", |count| count.trim() == "0");
    }
    for file in guest.must("ls /run/evenair/*.lock").lines() {
        assert_ne!(guest.run(&format!("{AS_NOBODY} flock --nonblock {file} true")).0, 0, "{file} is open to others");
    }
    begin_as_nobody(guest, "flock --no-fork /run/evenair sleep 3600");
    guest.until("flock --nonblock /run/evenair true; echo $?", |code| code.trim() == "1");
    guest.must("systemctl restart evenair");
    runs(guest, "inserted");
    end_it(guest);
}

/// The service starts before the interface to the access points exists.
pub fn waits_for_a_port_that_appears_late(guest: &mut Guest) {
    guest.must("systemctl stop evenair; ip link del eth1");
    guest.must("systemctl start evenair");
    let first = property(guest, "MainPID");
    guest.until("systemctl show --value --property StatusText evenair", |text| text.trim() == "waiting for its ports");
    // Longer than the watchdog's timeout.
    guest.must("sleep 12");
    assert_eq!((property(guest, "ActiveState").as_str(), &property(guest, "MainPID")), ("active", &first));
    let cable = CABLES.replace("for n in 0 1;", "for n in 1;");
    let cable = cable.strip_prefix("ip link add br0 type bridge; ").expect("the bridge is there");
    guest.must(cable);
    runs(guest, "bypassed");
    guest.must("evenair insert");
    runs(guest, "inserted");
    assert_eq!(property(guest, "MainPID"), first, "it has waited, and was not started again");
}

/// The disk is full for the history, from the start and later; then also for the file of the mode.
pub fn goes_on_with_a_full_disk(guest: &mut Guest) {
    let journal = "journalctl -u evenair --no-pager --since -5min";
    guest.must("systemctl stop evenair; cp /etc/evenair/box.toml /root/");
    guest.must("sed -i 's/^\\[history\\].*/&\\ninterval = \"1 s\"/' /etc/evenair/box.toml");
    guest.must("mount -t tmpfs -o size=64k full /var/lib/evenair && chown evenair: /var/lib/evenair");
    guest.run("head -c 1M /dev/zero >/var/lib/evenair/fill");
    guest.must("systemctl start evenair");
    guest.must("evenair insert");
    guest.until(journal, |text| text.contains("history cannot be kept: No space left on device"));
    runs(guest, "inserted");
    guest.must("rm /var/lib/evenair/fill");
    guest.until(journal, |text| text.contains("history is kept again"));
    guest.run("head -c 1M /dev/zero >/var/lib/evenair/fill");
    guest.until(journal, |text| text.matches("history cannot be kept").count() == 2);
    runs(guest, "inserted");

    // The mode is stored below /run, which systemd limits to a fifth of the memory.
    guest.run("head -c 2G /dev/zero >/run/fill");
    let (code, said) = guest.run("evenair bypass && evenair insert");
    guest.must("rm /run/fill");
    assert_eq!(code, 0, "{said}");
    runs(guest, "inserted");

    guest.must("systemctl stop evenair; umount /var/lib/evenair; cp /root/box.toml /etc/evenair/");
    guest.must("systemctl start evenair && evenair insert");
}

/// The control group has the unit's memory limit, and the box is far below it.
pub fn has_a_limit_of_memory(guest: &mut Guest) {
    assert_eq!(property(guest, "MemoryMax"), MEMORY_MAX.to_string());
    let group = format!("/sys/fs/cgroup{}", property(guest, "ControlGroup"));
    let mut number = |file: &str| guest.must(&format!("cat {group}/{file}")).trim().parse::<u64>().expect("a number");
    let (limit, current) = (number("memory.max"), number("memory.current"));
    assert_eq!(limit, MEMORY_MAX);
    assert!(current < limit / 2, "{current} of {limit} bytes");
}
