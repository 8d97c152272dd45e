//! Other programs that take packets at the box's ports: a second box, which would send every packet twice, or other BPF
//! programs, which may see packets before the bridge and the box, or hide them from both.
//!
//! A box holds a lock of each of its open ports ([`PortLock`]), so that a second box is refused on any kernel, even if both
//! start at the same moment. Other BPF programs can be detected from Linux 6.6 on, where programs attach by tcx; before,
//! they are filters of a clsact discipline. Their names require CAP_SYS_ADMIN, which the service does not have: it then
//! reports their numbers.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use evenair_sys::attached::{self, Attached};
use evenair_sys::iface::{self, Interface};
use evenair_sys::port_lock::{LockError, PortLock};
use serde_json::Value;
use tracing::warn;

use crate::capability::{CAP_NET_ADMIN, is_effective};
use crate::iproute;

/// A box that was killed may take a moment to lose its locks and programs.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);

/// Takes the locks of both ports. Any local process can take a lock's name; one that cannot be a box, since it lacks CAP_NET_ADMIN,
/// does not keep this one from starting: then there is no lock.
///
/// # Errors
/// Another box has one of them, with its process; the lock cannot be made.
pub(crate) fn lock(ports: [&Interface; 2]) -> Result<[Option<PortLock>; 2]> {
    let begin = Instant::now();
    let acquire = |port: &Interface| loop {
        match PortLock::acquire(port.index) {
            Ok(lock) => return Ok(Some(lock)),
            Err(LockError::Os(error)) => return Err(error.into()),
            Err(LockError::Held(Some(pid))) if !may_be_a_box(pid) => {
                warn!("process {pid}, which is no box, has the lock of {}: a second box may not be noticed", port.name);
                return Ok(None);
            }
            Err(LockError::Held(_)) if begin.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(LockError::Held(pid)) => bail!("[ports] {}: {}", port.name, another_box(&port.name, pid)),
        }
    };
    // In the order of their numbers: of two boxes with the ports the other way round one gets both, too.
    let [a, b] = ports;
    let (first, second) = if a.index < b.index { (a, b) } else { (b, a) };
    Ok([acquire(first)?, acquire(second)?])
}

/// Whether a process has what a box needs to take packets; a process whose status cannot be read may.
fn may_be_a_box(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    is_effective(&status, CAP_NET_ADMIN).unwrap_or(true)
}

fn another_box(port: &str, pid: Option<u32>) -> String {
    let process = pid.map_or_else(|| "in another PID namespace".into(), |pid| format!("process {pid}"));
    format!("another box, {process}, works on {port}; end it, or give this one other ports")
}

/// Refuses ports at which there are other programs, and warns of filters.
///
/// Called with the locks of the ports: no other box comes between the look and what follows it.
///
/// # Errors
/// There are some, with their names.
pub(crate) fn refuse(ports: [&str; 2]) -> Result<()> {
    let begin = Instant::now();
    for port in ports {
        loop {
            let others = attached::at_ingress(&iface::find(port)?)?;
            if others.is_empty() {
                break;
            }
            if begin.elapsed() > PATIENCE {
                bail!("[ports] {port}: {}", describe(port, &others));
            }
            std::thread::sleep(PAUSE);
        }
        let names = filters(port).unwrap_or_default();
        if !names.is_empty() {
            warn!(
                "{port} has filters of somebody else, which see packets only while the bridge carries them: {}",
                names.join(", ")
            );
        }
    }
    Ok(())
}

/// Who they are, and what to do.
pub(crate) fn describe(port: &str, others: &[Attached]) -> String {
    if let Some(pid) = others.iter().find_map(Attached::process) {
        return another_box(port, Some(pid));
    }
    let each = others.iter().map(|Attached { hook, id, name }| {
        let name = name.as_ref().map_or_else(String::new, |name| format!(" {name:?}"));
        format!("{hook} program number {id}{name}")
    });
    let number = others[0].id;
    format!(
        "there is another program at {port} that takes packets: {}; `bpftool prog show id {number}` tells whose it is \
         (\"evenair_PID\": another box), and it must be detached",
        each.collect::<Vec<_>>().join(", ")
    )
}

/// Names of the filters in the clsact discipline of a port that are not a box's.
pub(crate) fn filters(port: &str) -> Result<Vec<String>, String> {
    Ok(names(&iproute::list(&["tc", "-j", "filter", "show", "dev", port, "ingress"])?))
}

fn names(filters: &[Value]) -> Vec<String> {
    let with_options = filters.iter().filter(|filter| filter["options"].is_object());
    let name = |filter: &Value| {
        let kind = filter["kind"].as_str().unwrap_or("unknown");
        match filter["options"]["bpf_name"].as_str() {
            Some("evenair") => None,
            Some(name) => Some(format!("{kind} {name:?}")),
            None => Some(kind.to_owned()),
        }
    };
    with_options.filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_process_of_which_nothing_is_known_may_be_a_box() {
        assert!(may_be_a_box(u32::MAX));
    }

    #[test]
    fn filters_of_others_are_named_and_ours_are_not() {
        let list = json!([
            {"protocol": "all", "pref": 1, "kind": "bpf", "chain": 0},
            {"protocol": "all", "pref": 1, "kind": "bpf", "chain": 0, "options": {"handle": "0x1", "bpf_name": "evenair"}},
            {"protocol": "all", "pref": 2, "kind": "bpf", "chain": 0, "options": {"handle": "0x1", "bpf_name": "x.o:[y]"}},
            {"protocol": "ip", "pref": 3, "kind": "u32", "chain": 0, "options": {"fh": "800:"}},
        ]);
        assert_eq!(names(list.as_array().expect("a list")), ["bpf \"x.o:[y]\"", "u32"]);
    }

    #[test]
    fn a_box_is_distinguished_from_others() {
        let of = |name: Option<&str>| describe("eth0", &[Attached { hook: "tcx", id: 57, name: name.map(Into::into) }]);
        assert!(of(Some("evenair_123")).starts_with("another box, process 123, works on eth0"));
        assert!(of(Some("cil_from_netdev")).contains("tcx program number 57 \"cil_from_netdev\""));
        assert!(of(None).contains("bpftool prog show id 57"));
    }
}
