//! Who else takes packets at the box's ports: a second box, which would send every packet a second time, or other BPF
//! programs, which see packets before the bridge and the box do or not at all, as these change hands.
//!
//! A box is known by the name of its programs. To know names takes CAP_SYS_ADMIN, which the service does not have: then it
//! says the numbers. Before Linux 6.6, where programs are filters of a clsact discipline, a second box is not found.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use evenair_sys::attached::{self, Attached};
use evenair_sys::iface;
use serde_json::Value;
use tracing::warn;

use crate::iproute;

/// A box that was killed may take a moment to lose its programs.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);

/// Refuses ports at which there are other programs, and warns of filters.
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
        return format!("another box, process {pid}, works on {port}; end it, or give this one other ports");
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
    fn a_box_is_told_from_others() {
        let of = |name: Option<&str>| describe("eth0", &[Attached { hook: "tcx", id: 57, name: name.map(Into::into) }]);
        assert!(of(Some("evenair_123")).starts_with("another box, process 123, works on eth0"));
        assert!(of(Some("cil_from_netdev")).contains("tcx program number 57 \"cil_from_netdev\""));
        assert!(of(None).contains("bpftool prog show id 57"));
    }
}
