//! The AF_XDP path of a port: AF_XDP sockets beside the packet ring ([`crate::port`]).
//!
//! The ring remains for frames that the AF_XDP path does not take ([`evenair_sys::fail_open::XdpGate`]): group-addressed
//! frames, which the bridge receives too, and all frames while the box observes. So the box also runs if the AF_XDP path
//! cannot be opened: the ring then takes all frames, and the status shows the reason.

use anyhow::{Context, Result, anyhow, bail};
use evenair_boxfile::Io;
use evenair_sys::bpf::XdpMode;
use evenair_sys::fail_open::{FailOpenGate, MOST_QUEUES, XdpGate};
use evenair_sys::iface::{self, Interface};
use evenair_sys::xsk::{self, XskSet, XskSetSpec};
use tracing::{info, warn};

use crate::offloads::{Offload, SwitchedOff};
use crate::pool::Pool;

/// The modes of AF_XDP to try, in this order.
const fn modes(io: Io) -> &'static [XdpMode] {
    match io {
        Io::Auto => &[XdpMode::Native],
        Io::AfPacket => &[],
        Io::AfXdp => &[XdpMode::Native, XdpMode::Generic],
        Io::AfXdpGeneric => &[XdpMode::Generic],
    }
}

/// Drivers that deliver frames with incomplete checksums, since their other end is on the same machine.
const DRIVERS_OF_THIS_MACHINE: [&str; 4] = ["veth", "tun", "virtio_net", "netfront"];
/// Whether frames from this driver may have checksums that are left to a card.
pub fn comes_incomplete(driver: &str) -> bool {
    DRIVERS_OF_THIS_MACHINE.contains(&driver)
}

/// Fewest slots of a socket; one that is empty for a moment loses packets.
const LEAST_SLOTS: u32 = 64;

/// A port's AF_XDP path.
#[derive(Debug)]
pub(crate) struct AfXdpPath {
    pub(crate) xsks: XskSet,
    pub(crate) xdp: XdpGate,
    /// Whether checksums have to be completed.
    pub(crate) completes: bool,
    _vlan: SwitchedOff,
    _merging: Option<SwitchedOff>,
}

/// Keeps the card from removing VLAN tags, which would be lost. A clean exit restores the interface.
fn vlan_in_place(name: &str) -> Result<SwitchedOff> {
    SwitchedOff::of(name, Offload::VlanStripping).with_context(|| {
        format!("{name} takes VLAN tags off, and they would be lost; try: ethtool -K {name} rxvlan off")
    })
}

/// Keeps the kernel from merging received segments into super-packets, since they must be scheduled one by one. A clean
/// exit restores the interface.
fn no_merging(name: &str) -> Option<SwitchedOff> {
    match SwitchedOff::of(name, Offload::Merging) {
        Ok(merging) => {
            if merging.was_on() {
                info!("{name}: generic receive offload is off as long as the box runs");
            }
            Some(merging)
        }
        Err(error) => {
            warn!("{error}: super-packets may arrive, and the long ones are lost");
            None
        }
    }
}

impl AfXdpPath {
    /// Takes packets from now on while the lease is valid.
    ///
    /// # Errors
    /// A refused system call.
    pub(crate) fn open(&mut self) -> Result<()> {
        Ok(self.xdp.start()?)
    }

    /// Description of the mode: "af-xdp, native, zero copy", for instance.
    pub(crate) fn describe(&self) -> String {
        let copy = if self.xsks.is_zero_copy() { "zero copy" } else { "copied" };
        format!("{}, {}, {copy}", Io::AfXdp, self.xdp.mode().name())
    }

    /// Why native mode is not used, if it was tried.
    pub(crate) fn why(&self) -> Option<String> {
        self.xdp.refused().map(ToString::to_string)
    }

    /// Packets taken.
    pub(crate) fn taken(&self) -> u64 {
        self.xdp.taken()
    }

    /// Packets taken and lost for want of a slot.
    pub(crate) fn lost(&self) -> Result<u64> {
        Ok(self.xsks.gone()?.into_iter().map(|(_, lost)| lost).sum())
    }

    /// While the lease is being released: whether everything taken has been sent or dropped, if everything received has.
    pub(crate) fn report_sent(&self) -> Result<bool> {
        let gone = self.xsks.gone()?.into_iter().zip(0..);
        Ok(gone.fold(true, |sent, ((given, lost), queue)| self.xdp.report_sent(queue, given + lost) & sent))
    }
}

/// Resources that the AF_XDP paths of both interfaces need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Receive queues of each interface.
    pub queues: [u32; 2],
    /// Bytes of a slot (UMEM frame).
    pub(crate) slot_len: u32,
    /// Slots of each socket.
    pub(crate) slots: [u32; 2],
}

impl Needs {
    /// Resources for frames of at most `most_bytes`, with about `ring_frames` slots a port.
    ///
    /// # Errors
    /// Why AF_XDP is not possible.
    pub fn of(ports: [&Interface; 2], most_bytes: usize, ring_frames: u32) -> Result<Self> {
        let Some(slot_len) = xsk::slot_len(most_bytes as u32) else {
            bail!(
                "frames of {most_bytes} bytes, which the MTU allows, are longer than AF_XDP has room for: {} at most",
                xsk::MOST_BYTES
            );
        };
        let queues = [iface::receive_queues(&ports[0].name)?, iface::receive_queues(&ports[1].name)?];
        for (port, queues) in ports.iter().zip(queues) {
            if queues > MOST_QUEUES {
                bail!("{0} has {queues} receive queues; run: ethtool -L {0} combined {MOST_QUEUES}", port.name);
            }
        }
        let slots = queues.map(|queues| (ring_frames / queues).max(LEAST_SLOTS).next_power_of_two());
        Ok(Self { queues, slot_len, slots })
    }

    /// Slots for receiving, of all sockets.
    pub(crate) fn all_slots(&self) -> u32 {
        self.queues.iter().zip(self.slots).map(|(queues, slots)| queues * slots).sum()
    }

    /// Memory to be locked, in bytes, with a pool of so many frames.
    pub fn locked_bytes(&self, pool_frames: u32) -> u64 {
        u64::from(pool_frames + self.all_slots()) * u64::from(self.slot_len)
    }
}

/// Memory of the AF_XDP paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Frames of the pool.
    pub(crate) pool_frames: u32,
    /// Frames of each port's rings.
    pub(crate) ring_frames: u32,
    /// Length of the longest frame.
    pub(crate) most_bytes: usize,
}

/// Opens AF_XDP paths on both ports, with shared memory; no packets are taken before the lease is acquired.
///
/// # Errors
/// Why AF_XDP is not possible.
pub(crate) fn open(
    io: Io,
    gate: &FailOpenGate,
    ports: [&Interface; 2],
    sizes: Sizes,
) -> Result<(Pool, [AfXdpPath; 2])> {
    let Sizes { pool_frames, ring_frames, most_bytes } = sizes;
    let needs = Needs::of(ports, most_bytes, ring_frames)?;
    let mut pool = Pool::new(pool_frames, needs.all_slots(), needs.slot_len as usize)?;
    let vlans = [vlan_in_place(&ports[0].name)?, vlan_in_place(&ports[1].name)?];
    let attach = |port| gate.attach_xdp(port, most_bytes as u32, modes(io));
    let xdps = [attach(ports[0])?, attach(ports[1])?];
    let of = [0, 1].map(|n| XskSetSpec { interface: ports[n], queues: needs.queues[n], slots: needs.slots[n] });
    let copied = xdps.iter().any(|xdp| xdp.mode() == XdpMode::Generic);
    let xsk_sets = pool.xsk_sets(&of, copied).or_else(|error| match copied {
        // One card may support zero copy and the other not: they share the memory, and so the mode.
        false => pool.xsk_sets(&of, true),
        true => Err(error),
    })?;
    let mut paths = Vec::new();
    for (((mut xsks, xdp), vlan), port) in xsk_sets.into_iter().zip(xdps).zip(vlans).zip(ports) {
        pool.lend(&mut xsks);
        for (socket, queue) in xsks.sockets().zip(0..) {
            xdp.open(queue, socket)?;
        }
        let completes = comes_incomplete(&iface::driver(&port.name)?);
        paths.push(AfXdpPath { xsks, xdp, completes, _vlan: vlan, _merging: no_merging(&port.name) });
    }
    let paths = <[AfXdpPath; 2]>::try_from(paths).map_err(|_| anyhow!("two ports have two paths"))?;
    Ok((pool, paths))
}
