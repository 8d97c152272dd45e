//! Choice between the packet rings of [`crate::port`] and the AF_XDP sockets of [`crate::af_xdp`], with the reason.
//!
//! With [`Io::Auto`] the box chooses AF_XDP only if all known conditions are met: both drivers run the program in native
//! mode, frames are short enough, the process may open the sockets and lock their memory, one loop has all packets, and no
//! super-packets can arrive, which AF_XDP sockets cannot receive. Conditions that can be checked without changing the
//! interfaces come first, since many drivers restart a card's queues when a program is attached. Native mode is tested by
//! attaching the program.

use std::fs;

use anyhow::Result;
use evenair_boxfile::{BoxConfig, Io};
use evenair_sys::capability::{CAP_IPC_LOCK, is_effective};
use evenair_sys::fail_open::FailOpenGate;
use evenair_sys::iface::{self, Interface};
use evenair_sys::xsk;
use tracing::{info, warn};

use crate::af_xdp::{self, Needs, Sizes, comes_incomplete};
use crate::pool::Pool;
use crate::port::{self, Port};

/// Longest MTU with which AF_XDP is chosen, in bytes: such a frame, its tags and what XDP needs beside it fit receive buffers of 3,072
/// bytes, which drivers such as i40e and ixgbe give an XDP program at most.
pub(crate) const LONGEST_MTU: u32 = 3_000;

/// Properties of a port before any change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PortFacts {
    name: String,
    mtu: u32,
    /// Why super-packets may arrive, if they may.
    super_packets: Option<&'static str>,
}

impl PortFacts {
    fn of(interface: &Interface) -> Self {
        let Interface { name, mtu, .. } = interface;
        // An unknown property counts against AF_XDP.
        let driver = iface::driver(name).ok();
        let segments = iface::segments_of_peer(name).unwrap_or_default();
        let merges = iface::large_receive(name).unwrap_or(true);
        Self { name: name.clone(), mtu: *mtu, super_packets: super_packets(driver.as_deref(), segments, merges) }
    }
}

/// Why super-packets may arrive through this driver: its card merges segments (large receive offload), or its other end, which
/// sends packets of at most so many segments, is on the same machine.
fn super_packets(driver: Option<&str>, segments_of_peer: Option<u32>, merges: bool) -> Option<&'static str> {
    match driver {
        _ if merges => Some("its card merges segments into super-packets"),
        None => Some("its driver is not known, and super-packets may arrive"),
        Some(driver) if !comes_incomplete(driver) => None,
        Some("veth") => match segments_of_peer {
            Some(1) => None,
            Some(_) => Some("its other end may send super-packets (gso_max_segs there is above 1)"),
            None => Some("its other end may send super-packets, and cannot be looked at"),
        },
        Some(_) => Some("it is virtual, and its other end may send super-packets"),
    }
}

/// Why AF_XDP is not chosen for so many shards and these ports; `None`: no objection.
fn objection(shards: usize, ports: &[PortFacts; 2]) -> Option<String> {
    if shards > 1 {
        return Some(format!("AF_XDP does not tell the packets of {shards} shards apart"));
    }
    let long = ports.iter().find(|port| port.mtu > LONGEST_MTU);
    if let Some(PortFacts { name, mtu, .. }) = long {
        return Some(format!("{name} has MTU {mtu}, and AF_XDP is chosen up to {LONGEST_MTU}"));
    }
    let why = |port: &PortFacts| port.super_packets.map(|why| format!("{}: {why}", port.name));
    ports.iter().find_map(why)
}

/// Why AF_XDP would not be chosen for these interfaces by any process; `None`: there is no objection.
pub fn objection_to(config: &BoxConfig, ports: [&Interface; 2]) -> Option<String> {
    objection(config.shards, &ports.map(PortFacts::of)).or_else(|| {
        let most_bytes = ports.map(port::most_bytes).into_iter().max().unwrap_or_default();
        Needs::of(ports, most_bytes, config.ring_frames).err().map(|error| format!("{error:#}"))
    })
}

/// Why this process may not open the sockets, or lock the memory that they need.
fn not_permitted(config: &BoxConfig, ports: [&Interface; 2]) -> Option<String> {
    if let Err(error) = xsk::may_open() {
        return Some(error.to_string());
    }
    let most_bytes = ports.map(port::most_bytes).into_iter().max().unwrap_or_default();
    let bytes = Needs::of(ports, most_bytes, config.ring_frames).ok()?.locked_bytes(config.pool_frames);
    match lockable(bytes, &read("/proc/self/limits"), &read("/proc/self/status")) {
        Lockable::Yes => None,
        Lockable::Limited(limit) => Some(too_little(bytes, &limit)),
        Lockable::Unknown => Some("/proc/self/limits does not say how much memory may be locked".into()),
    }
}

/// The message that so many bytes may not be locked.
pub fn too_little(bytes: u64, limit: &str) -> String {
    format!("it needs {} MiB of locked memory, and this user may have {limit} bytes", bytes.div_ceil(1 << 20))
}

/// The content of a file; empty if it cannot be read.
pub fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Whether memory may be locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lockable {
    /// All of it.
    Yes,
    /// At most so many bytes, as text.
    Limited(String),
    /// The limits do not show it.
    Unknown,
}

/// Whether a process with these limits and this status (proc(5)) may lock so many bytes.
pub fn lockable(bytes: u64, limits: &str, status: &str) -> Lockable {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let limit = limit.and_then(|line| line.split_whitespace().next());
    match limit {
        _ if is_effective(status, CAP_IPC_LOCK) == Some(true) => Lockable::Yes,
        Some("unlimited") => Lockable::Yes,
        Some(limit) if limit.parse().is_ok_and(|limit: u64| limit >= bytes) => Lockable::Yes,
        Some(limit) => Lockable::Limited(limit.into()),
        None => Lockable::Unknown,
    }
}

/// The pool, with AF_XDP at both ports if it is configured or chosen and possible; and the reason.
///
/// # Errors
/// There is no memory for the packets.
pub(crate) fn open(
    config: &BoxConfig,
    gate: &FailOpenGate,
    ports: [&mut Port; 2],
    frame_len: usize,
) -> Result<(Pool, Option<String>)> {
    let interfaces = ports.each_ref().map(|port| port.interface());
    let objection = match config.io {
        Io::AfPacket => return Ok((Pool::new(config.pool_frames, 0, frame_len)?, None)),
        Io::Auto => objection_to(config, interfaces).or_else(|| not_permitted(config, interfaces)),
        Io::AfXdp | Io::AfXdpGeneric => None,
    };
    let sizes = Sizes { pool_frames: config.pool_frames, ring_frames: config.ring_frames, most_bytes: frame_len };
    let opened = match objection {
        Some(objection) => Err(objection),
        None => af_xdp::open(config.io, gate, interfaces, sizes).map_err(|error| format!("{error:#}")),
    };
    match opened {
        Ok((pool, paths)) => {
            for (port, path) in ports.into_iter().zip(paths) {
                port.add(path);
                let (io, why) = port.io();
                info!("{}: {io}{}", port.name(), why.map_or(String::new(), |why| format!(" ({why})")));
            }
            Ok((
                pool,
                (config.io == Io::Auto).then(|| "auto: both drivers have it, and no super-packets arrive".into()),
            ))
        }
        Err(why) => {
            let why = match config.io {
                Io::Auto => format!("auto: {why}"),
                _ => why,
            };
            match config.io {
                Io::Auto => info!("packets come in through packet rings ({why})"),
                io => warn!("[ports] io = \"{io}\" cannot be had: {why}; it is \"{}\" instead", Io::AfPacket),
            }
            Ok((Pool::new(config.pool_frames, 0, frame_len)?, Some(why)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(mtu: u32, super_packets: Option<&'static str>) -> PortFacts {
        PortFacts { name: "eth1".into(), mtu, super_packets }
    }

    #[test]
    fn af_xdp_is_chosen_for_one_shard_short_frames_and_no_super_packets() {
        let good = port(3_000, None);
        let of = |shards, other: PortFacts| objection(shards, &[good.clone(), other]);
        assert_eq!(of(1, good.clone()), None);
        assert!(of(2, good.clone()).is_some_and(|why| why.contains("2 shards")));
        assert!(of(1, port(3_001, None)).is_some_and(|why| why.contains("MTU 3001")));
        assert_eq!(of(1, port(1_500, Some("because"))).as_deref(), Some("eth1: because"));
    }

    #[test]
    fn super_packets_come_from_the_same_machine_or_a_card_that_merges() {
        assert_eq!(super_packets(Some("igb"), None, false), None);
        assert!(super_packets(Some("igb"), None, true).is_some());
        assert_eq!(super_packets(Some("veth"), Some(1), false), None);
        for segments in [Some(65_535), None] {
            assert!(super_packets(Some("veth"), segments, false).is_some(), "{segments:?}");
        }
        for driver in ["virtio_net", "tun", "netfront"] {
            assert!(super_packets(Some(driver), None, false).is_some(), "{driver}");
        }
        assert!(super_packets(None, None, false).is_some());
    }

    #[test]
    fn memory_may_be_locked_up_to_the_limit_or_with_the_capability() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max locked memory         8388608              8388608              bytes     \n";
        let ordinary = "CapEff:\t0000000000000000\n";
        assert_eq!(lockable(8 << 20, limits, ordinary), Lockable::Yes);
        assert_eq!(lockable(50 << 20, limits, ordinary), Lockable::Limited("8388608".into()));
        assert_eq!(lockable(50 << 20, limits, "CapEff:\t0000000000004000\n"), Lockable::Yes);
        assert_eq!(lockable(50 << 20, &limits.replacen("8388608  ", "unlimited", 1), ordinary), Lockable::Yes);
        assert_eq!(lockable(1, "", ordinary), Lockable::Unknown);
    }
}
