//! The packages of the box and of its page under the service manager that they are made for: a small Debian with systemd as its first
//! process, in a virtual machine. Its kernel is an older one (6.1), on which the box puts its programs on the ports in the older way.
//!
//! `make service` builds the packages, makes the machine and runs this.

mod faults;
#[path = "../wifi/guest.rs"]
mod guest;
mod network;
mod page;

use std::path::{Path, PathBuf};

use guest::{Extra, Guest, Machine};

const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
/// Two cables in a bridge, as the example of a configuration has them.
const CABLES: &str = "ip link add br0 type bridge; \
    for n in 0 1; do ip link add eth$n type veth peer name far$n; ip link set eth$n master br0; \
    ip link set eth$n up; ip link set far$n up; done; ip link set br0 up";

/// The newest built package of this name; a release also has those for other architectures.
fn package(name: &str) -> PathBuf {
    let folder = std::env::var_os("EVENAIR_DEB").map_or_else(|| Path::new(TARGET).join("debian"), PathBuf::from);
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_wanted = |file: &str| file.starts_with(&format!("{name}_")) && file.ends_with("_amd64.deb");
    let packages = files.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_wanted));
    packages.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok()).expect("make deb")
}

/// Starts a machine with these packages in `/root`; `folder` is for its files.
fn boot(folder: &Path, packages: &[&str]) -> Guest {
    let paths: Vec<_> = packages.iter().map(|name| format!("root/{name}.deb")).collect();
    let extras = packages.iter().zip(&paths).map(|(name, path)| {
        let bytes = std::fs::read(package(name)).expect("readable");
        Extra { path, mode: 0o644, bytes }
    });
    let extras: Vec<_> = faults::extras().into_iter().chain(extras).collect();
    let machine = Machine { folder: &Path::new(TARGET).join("service-vm"), memory_mb: 1_400, network: None };
    Guest::boot(&machine, folder, &extras)
}

/// Makes `/root/NAME-next.deb` from `/root/NAME.deb`, with a higher version.
fn make_next(guest: &mut Guest, name: &str) {
    let next = format!("/root/{name}-next");
    guest.must(&format!("dpkg-deb -R /root/{name}.deb {next} && sed -i 's/^Version:.*/&.1/' {next}/DEBIAN/control"));
    guest.must(&format!("dpkg-deb -Znone --build {next} {next}.deb && rm -r {next}"));
}

fn property(guest: &mut Guest, name: &str) -> String {
    property_of(guest, "evenair", name)
}

fn property_of(guest: &mut Guest, unit: &str, name: &str) -> String {
    guest.must(&format!("systemctl show {unit} --property {name} --value")).trim().to_owned()
}

/// Waits until the unit has another main process which, if it reports so, is ready. Returns its process id.
fn await_another(guest: &mut Guest, unit: &str, pid: &str) -> String {
    let value = |text: &str, key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
    let another = |text: &str| value(text, "MainPID=").filter(|now| now != "0" && now != pid);
    let shown = guest.until(&format!("systemctl show {unit} --property MainPID,ActiveState"), |text| {
        another(text).is_some() && value(text, "ActiveState=").as_deref() == Some("active")
    });
    another(&shown).expect("awaited")
}

/// The kernel's OOM killer picks it. Returns the process id of its successor.
fn is_killed_for_want_of_memory(guest: &mut Guest, pid: &str) -> String {
    // The box does not ask for a better OOM score than others.
    guest.must(&format!("echo 1000 >/proc/{pid}/oom_score_adj && echo f >/proc/sysrq-trigger"));
    let next = await_another(guest, "evenair", pid);
    let log = guest.must("dmesg");
    assert!(log.lines().any(|line| line.contains("Out of memory") && line.contains(pid)), "{log}");
    guest.until("systemctl show --value --property StatusText evenair", |text| text.trim() == "inserted");
    next
}

/// The clock is set two hours ahead, and back. Returns the box's status.
fn goes_on_when_the_clock_steps(guest: &mut Guest, pid: &str) -> String {
    for step in ["+ 7200", "- 7200"] {
        guest.must(&format!("date -s @$(($(date +%s) {step})) && sleep 1"));
    }
    assert_eq!(property(guest, "MainPID"), pid, "nobody took it for hung");
    guest.must("evenair status --all")
}

/// The packaged service may not have AF_XDP sockets. The doctor reports that, and its remedy is sufficient.
fn has_af_xdp_with_what_the_doctor_says(guest: &mut Guest) {
    let io = |guest: &mut Guest| guest.must("evenair status --all | grep -m 1 eth1");
    guest.must("cp /etc/evenair/box.toml /root/ && sed -i 's/^bridge = .*/&\\nio = \"af-xdp\"/' /etc/evenair/box.toml");
    guest.must("systemctl restart evenair");
    let refused = io(guest);
    assert!(refused.contains("af-packet (") && !refused.contains("native"), "{refused}");
    let (_, found) = guest.run("evenair doctor");
    let mend = found.lines().find_map(|line| line.trim().strip_prefix("-> run: install")).expect("what to do");
    guest.must(&format!("install{mend}"));
    let had = io(guest);
    assert!(had.contains("af-xdp, native, copied"), "{had}\n{}", guest.run("evenair status --all").1);
    let (_, found) = guest.run("evenair doctor");
    assert!(found.contains("the service may have its sockets"), "{found}");
    guest.must("cp /root/box.toml /etc/evenair/ && systemctl restart evenair");
}

#[test]
#[ignore = "needs the virtual machine that scripts/service-vm makes: make service"]
fn the_package_is_installed_watched_upgraded_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut guest = boot(folder.path(), &["evenair"]);
    guest.must("dpkg -i /root/evenair.deb");
    network::is_made_kept_and_taken_back(&mut guest);
    guest.must(CABLES);
    assert_eq!(property(&mut guest, "ActiveState"), "inactive", "it does not start by itself");
    guest.must("systemctl start evenair");
    assert_eq!(property(&mut guest, "ActiveState"), "inactive", "without a configuration it is left out");
    guest.must("cp /usr/share/doc/evenair/box.toml /etc/evenair/");
    // Returns when the box has reported that it is ready.
    guest.must("systemctl start evenair");
    guest.must("evenair insert");
    assert_eq!(property(&mut guest, "StatusText"), "inserted");
    let first = property(&mut guest, "MainPID");
    let status = guest.must(&format!("cat /proc/{first}/status"));
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).expect("as proc(5) says");
    // CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_NICE, CAP_BPF (capabilities(7)); a filter of system calls; no way to get more.
    assert_eq!((field("CapEff:"), field("Seccomp:"), field("NoNewPrivs:")), ("0000008000803000", "2", "1"), "{status}");
    assert_ne!(field("Uid:").split_whitespace().next(), Some("0"));
    // It may run at real-time priority; under load, as at its start on an emulated processor, it temporarily does not.
    guest.until(&format!("chrt -p {first}"), |text| text.contains("SCHED_FIFO"));
    guest.must("systemctl reload evenair");
    assert_eq!(property(&mut guest, "MainPID"), first, "a reload is no restart");

    has_af_xdp_with_what_the_doctor_says(&mut guest);
    let first = property(&mut guest, "MainPID");

    // The watchdog detects a hanging process, and a killed one is restarted.
    guest.must(&format!("kill -STOP {first}"));
    let second = await_another(&mut guest, "evenair", &first);
    let log = guest.must("journalctl -u evenair --no-pager");
    assert!(log.contains("Watchdog timeout") || log.contains("watchdog"), "{log}");
    guest.must(&format!("kill -KILL {second}"));
    let third = await_another(&mut guest, "evenair", &second);
    assert_eq!(property(&mut guest, "NRestarts"), "2");
    // It was inserted, and continues so.
    guest.until("systemctl show --value --property StatusText evenair", |text| text.trim() == "inserted");

    let third = is_killed_for_want_of_memory(&mut guest, &third);
    let says = goes_on_when_the_clock_steps(&mut guest, &third);
    assert!(says.contains("inserted") && says.contains("the sum agrees"), "{says}");

    faults::has_a_limit_of_memory(&mut guest);
    faults::starts_whatever_other_users_hold(&mut guest);
    faults::waits_for_a_port_that_appears_late(&mut guest);
    faults::goes_on_with_a_full_disk(&mut guest);
    let third = property(&mut guest, "MainPID");

    make_next(&mut guest, "evenair");
    guest.must("dpkg -i /root/evenair-next.deb");
    await_another(&mut guest, "evenair", &third);
    let log = guest.must("journalctl -u evenair --no-pager");
    assert!(log.contains("the sum agrees"), "the old one has ended in order: {log}");

    let ports = |guest: &mut Guest| guest.must("ls /sys/class/net/br0/brif; cat /sys/class/net/br0/operstate");
    let before = ports(&mut guest);
    guest.must("dpkg -r evenair");
    assert_eq!(guest.run("systemctl is-active evenair").1.trim(), "inactive");
    assert_eq!(ports(&mut guest), before, "the bridge is the operator's");
    for port in ["eth0", "eth1"] {
        assert_eq!(
            guest.must(&format!("tc filter show dev {port} ingress; tc filter show dev {port} egress")).trim(),
            ""
        );
    }
    guest.must("dpkg -P evenair");
    assert_ne!(guest.run("id evenair").0, 0, "its user is gone");
    assert_ne!(guest.run("ls /etc/evenair").0, 0, "and its configuration");
    assert_ne!(guest.run("ls /etc/systemd/system/evenair.service.d/af-xdp.conf").0, 0, "and what else it was allowed");
}

#[test]
#[ignore = "needs the virtual machine that scripts/service-vm makes: make service"]
fn the_page_is_installed_used_upgraded_restored_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut guest = boot(folder.path(), &["evenair", "evenair-web"]);
    page::is_installed(&mut guest);
    page::makes_the_first_account(&mut guest);
    page::shows_and_commands_the_box(&mut guest);
    page::is_confined(&mut guest);
    let newest = page::is_backed_up(&mut guest);
    page::is_upgraded(&mut guest);
    page::is_upgraded_without_a_backup(&mut guest);
    page::is_restored(&mut guest, newest);
    page::is_removed_and_purged(&mut guest);
    page::outlives_the_box(&mut guest);
}
