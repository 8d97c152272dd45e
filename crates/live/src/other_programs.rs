//! Other programs that take packets at the box's ports: a second box, which would send every packet twice, or other BPF
//! programs, which may see packets before the bridge and the box, or hide them from both.
//!
//! A box holds a lock of each of its open ports ([`PortLock`]), so that a second box is refused on any kernel, even if both
//! start at the same moment. Other BPF programs can be detected from Linux 6.6 on, where programs attach by tcx; before,
//! they are filters of a clsact discipline. The box looks for them at its start and each second. Their names require
//! CAP_SYS_ADMIN, which the service does not have: it then reports their numbers.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use evenair_api::history::Event;
use evenair_sys::attached::{self, Attached};
use evenair_sys::bridge;
use evenair_sys::iface::{self, Interface};
use evenair_sys::iproute;
use evenair_sys::port_lock::{DIRECTORY, LockError, PortLock};
use serde_json::Value;
use tracing::{debug, warn};

use crate::events::EventSink;

/// Time for a killed box to lose its locks and programs; interval of attempts.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);
/// Interval at which the bridge's entries are flushed, so that none is older if the box is killed.
const FORGET_EVERY: Duration = Duration::from_millis(900);

/// The locks of both ports.
#[derive(Debug)]
pub(crate) struct Locks(Mutex<[(String, u32, PortLock); 2]>);

/// Takes the locks of both ports.
///
/// # Errors
/// Another box holds one of them, with its process; or the lock file cannot be created.
pub(crate) fn lock(ports: [&Interface; 2]) -> Result<Locks> {
    let begin = Instant::now();
    let acquire = |port: &Interface| loop {
        match PortLock::acquire(Path::new(DIRECTORY), port.index) {
            Ok(lock) => return Ok((port.name.clone(), port.index, lock)),
            Err(LockError::Held(_)) if begin.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(error) => bail!("[ports] {}: {}", port.name, no_lock(&port.name, &error)),
        }
    };
    // In the order of their numbers: of two boxes with swapped ports one gets both locks, too.
    let [a, b] = ports;
    let (first, second) = if a.index < b.index { (a, b) } else { (b, a) };
    Ok(Locks(Mutex::new([acquire(first)?, acquire(second)?])))
}

impl Locks {
    /// Locks again if the lock file was removed: systemd removes the directory when the service stops, while a box started by hand may
    /// run.
    pub(crate) fn renew(&self) {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, index, lock) in locks.iter_mut().filter(|(_, _, lock)| !lock.is_in_place()) {
            match PortLock::acquire(Path::new(DIRECTORY), *index) {
                Ok(new) => *lock = new,
                // Again at the next check.
                Err(error) => debug!("the lock of {name} was removed: {}", no_lock(name, &error)),
            }
        }
    }
}

fn no_lock(port: &str, error: &LockError) -> String {
    let cannot = format!("the lock that keeps a second box from {port} cannot be taken");
    match error {
        LockError::Held(pid) => another_box(port, *pid),
        LockError::Unsafe(path) => {
            format!("{cannot}: other users can write to {0}; run: chmod go-w {0}", path.display())
        }
        LockError::Os(error) => {
            format!(
                "{cannot}: {error}; {DIRECTORY} must be a directory of this user, run: install -d -o USER {DIRECTORY}"
            )
        }
    }
}

fn another_box(port: &str, pid: Option<u32>) -> String {
    let process = pid.map_or_else(|| "in another PID namespace".into(), |pid| format!("process {pid}"));
    format!("another box, {process}, works on {port}; end it, or give this one other ports")
}

/// Refuses ports with other programs, and warns of filters.
///
/// Called with the ports' locks held, so that no other box starts between the check and what follows.
///
/// # Errors
/// There are other programs, with their names.
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

/// Periodic checks at the ports outside of the packet loop: locks, programs attached by others, and entries of the bridge.
#[derive(Debug)]
pub(crate) struct Ports {
    ports: [(u32, String); 2],
    locks: Option<Arc<Locks>>,
    /// Programs present when the box had attached its own, and those reported since.
    known: BTreeSet<u32>,
    /// When the bridge's entries were last flushed, and whether the box was inserted then.
    forgot: Option<(Instant, bool)>,
}

impl Ports {
    /// To be created when the box has attached its programs.
    pub(crate) fn new(ports: [&Interface; 2], locks: Option<Arc<Locks>>) -> Self {
        let ports = ports.map(|port| (port.index, port.name.clone()));
        let mut new = Self { ports, locks, known: BTreeSet::new(), forgot: None };
        new.known = new.attached().into_iter().flat_map(|(_, programs)| programs).map(|program| program.id).collect();
        new
    }

    /// To be called about once a second, and at each switchover.
    pub(crate) fn tend(&mut self, is_inserted: bool, has_bridge: bool, history: Option<&EventSink>) {
        if let Some(locks) = &self.locks {
            locks.renew();
        }
        for text in self.new_programs() {
            warn!("{text}");
            if let Some(history) = history {
                history.leave_own(Event::Ports { text });
            }
        }
        if has_bridge {
            self.forget(is_inserted);
        }
    }

    /// The programs at each port, as far as they can be queried.
    fn attached(&self) -> Vec<(&str, Vec<Attached>)> {
        let of = |index: &u32| attached::at_ingress(&iface::find_index(*index).ok()?).ok();
        self.ports.iter().filter_map(|(index, name)| Some((name.as_str(), of(index)?))).collect()
    }

    /// Descriptions of programs that others have attached since the last call. A program attached by a BPF link causes no notification.
    fn new_programs(&mut self) -> Vec<String> {
        let (mut said, mut ids) = (Vec::new(), Vec::new());
        for (port, programs) in self.attached() {
            let new: Vec<_> = programs.into_iter().filter(|program| !self.known.contains(&program.id)).collect();
            ids.extend(new.iter().map(|program| program.id));
            if !new.is_empty() {
                said.push(describe(port, &new));
            }
        }
        self.known.extend(ids);
        said
    }

    /// Flushes the bridge's entries of the ports: at each switchover, and each second while the box carries the traffic. The bridge then
    /// sees only frames for itself, so that an entry could predate a station's roam; after a bypass, or when the box is killed, it would
    /// drop that station's downloads until the entry ages.
    fn forget(&mut self, is_inserted: bool) {
        let now = Instant::now();
        let is_due = match self.forgot {
            None => is_inserted,
            Some((_, was)) if was != is_inserted => true,
            Some((at, _)) => is_inserted && now >= at + FORGET_EVERY,
        };
        if !is_due {
            return;
        }
        self.forgot = Some((now, is_inserted));
        for (index, name) in &self.ports {
            if let Err(error) = bridge::forget_learned(*index) {
                debug!("{name}: {error}");
            }
        }
    }
}

/// The other programs at a port, and the remedy.
pub fn describe(port: &str, others: &[Attached]) -> String {
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
pub fn filters(port: &str) -> Result<Vec<String>, String> {
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
    use evenair_sys::error::OsError;
    use serde_json::json;

    #[test]
    fn a_refused_lock_names_the_remedy() {
        let of = |error| no_lock("eth1", &error);
        assert!(of(LockError::Held(Some(7))).starts_with("another box, process 7, works on eth1"));
        assert!(of(LockError::Unsafe("/run/evenair".into())).contains("run: chmod go-w /run/evenair"));
        let refused = OsError::new("create /run/evenair", 13);
        assert!(of(LockError::Os(refused)).contains("create /run/evenair: Permission denied"));
    }

    #[test]
    fn only_filters_of_others_are_named() {
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
