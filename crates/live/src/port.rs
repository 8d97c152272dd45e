//! One side of the box: its receive ring, its sender, the frames that wait to be sent, and what became of them all.

use std::collections::VecDeque;

use anyhow::{Context, Result, bail};
use evenair_packet::PacketMeta;
use evenair_sys::iface::{self, Interface};
use evenair_sys::ring::{Ring, RingCounters, SEND_BATCH, Sender};
use tracing::{info, warn};

use crate::kinds::Kinds;
use crate::pool::{FrameId, Pool, Put};

/// Bytes that the kernel may hold for a port before it refuses more.
const SEND_BUFFER: u32 = 4 << 20;

/// One side of the box.
#[derive(Debug)]
pub struct Port {
    side: evenair_packet::Port,
    ring: Ring,
    sender: Sender,
    queue: VecDeque<FrameId>,
    counters: PortCounters,
    kinds: Kinds,
    _merging: NoMerging,
}

/// Keeps the kernel from merging received segments into super-packets: they must be scheduled one by one. An orderly
/// end leaves the interface as it was.
#[derive(Debug)]
struct NoMerging {
    restore: Option<String>,
}

impl NoMerging {
    fn of(name: &str) -> Self {
        let was = iface::set_receive_merging(name, false);
        match &was {
            Ok(true) => info!("{name}: generic receive offload is off as long as the box runs"),
            Ok(false) => {}
            Err(error) => warn!("{error}: super-packets may arrive, and the long ones are lost"),
        }
        Self { restore: matches!(was, Ok(true)).then(|| name.to_owned()) }
    }
}

impl Drop for NoMerging {
    fn drop(&mut self) {
        if let Some(name) = &self.restore
            && let Err(error) = iface::set_receive_merging(name, true)
        {
            warn!("{error}: generic receive offload stays off");
        }
    }
}

/// What happened at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets that were merged by the kernel or left to the network card to split.
    pub super_packets: u64,
    /// Packets not taken in: longer than the interface's MTU allows, or broken.
    pub too_long: u64,
    /// Packets not taken in: the pool was full.
    pub pool_full: u64,
    /// Frames sent.
    pub sent: u64,
    /// Bytes sent, Ethernet headers included.
    pub sent_bytes: u64,
    /// Frames that the kernel refused: the interface's queue was full, it was down, or the frame too long for it.
    pub send_refused: u64,
}

/// Looks up a port's interface and checks that it can carry traffic.
///
/// # Errors
/// There is none of this name, it is down, or it is not a port of the bridge that is to take over.
pub fn look_up(key: &str, name: &str, bridge: Option<&Interface>) -> Result<Interface> {
    let port =
        iface::find(name).with_context(|| format!("[ports] {key} = {name:?}: there must be such an interface"))?;
    if !port.up {
        bail!("[ports] {key} = {name:?}: the interface is down; run: ip link set {name} up");
    }
    match bridge {
        Some(bridge) if port.master != Some(bridge.index) => bail!(
            "[ports] {key} = {name:?}: the interface must be a port of the bridge {0}, which carries the traffic when \
             the box does not; run: ip link set {name} master {0}",
            bridge.name
        ),
        _ => Ok(port),
    }
}

/// Looks up the bridge.
///
/// # Errors
/// There is none of this name, it is down, or it is no bridge.
pub fn look_up_bridge(name: &str) -> Result<Interface> {
    let bridge = iface::find(name).with_context(|| {
        format!("[ports] bridge = {name:?}: there must be such a bridge; run: ip link add {name} up type bridge")
    })?;
    if bridge.bridge_group_forward.is_none() {
        bail!("[ports] bridge = {name:?}: the interface is not a bridge");
    }
    if !bridge.up {
        bail!("[ports] bridge = {name:?}: the bridge is down; run: ip link set {name} up");
    }
    if bridge.bridge_group_forward == Some(0) {
        info!(
            "{name} does not forward 802.1X and LLDP while the box is bypassed (the box does); if that matters, run: \
             ip link set {name} type bridge group_fwd_mask 0xfff8"
        );
    }
    Ok(bridge)
}

/// Checks that packets can cross from each port to the other.
///
/// # Errors
/// They are one interface, or their MTUs differ.
pub fn check_pair(wlan: &Interface, wire: &Interface) -> Result<()> {
    if wlan.index == wire.index {
        bail!("[ports] wlan and wire are both {:?}: they must be two interfaces", wlan.name);
    }
    if wlan.mtu != wire.mtu {
        bail!(
            "[ports] {} has MTU {} and {} has MTU {}: packets could not cross; run: ip link set NAME mtu N",
            wlan.name,
            wlan.mtu,
            wire.name,
            wire.mtu
        );
    }
    Ok(())
}

impl Port {
    /// A port that does not receive yet.
    ///
    /// # Errors
    /// A refused system call, with its name.
    pub fn open(side: evenair_packet::Port, interface: &Interface, ring_frames: u32) -> Result<Self> {
        let ring = Ring::open(interface, ring_frames)?;
        let sender = Sender::open(interface, SEND_BUFFER)?;
        let merging = NoMerging::of(&interface.name);
        let (queue, counters) = (VecDeque::new(), PortCounters::default());
        Ok(Self { side, ring, sender, queue, counters, kinds: Kinds::default(), _merging: merging })
    }

    /// Starts to receive.
    ///
    /// # Errors
    /// The interface has gone.
    pub fn start(&self) -> Result<()> {
        Ok(self.ring.start()?)
    }

    /// The receive ring, for waiting.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.ring.interface().name
    }

    /// Takes up to `most` packets out of the ring into the pool, and adds them to `batch`. Returns how many it took out, those
    /// included that there was no room for.
    pub fn receive(&mut self, most: usize, pool: &mut Pool, batch: &mut Vec<(FrameId, PacketMeta)>) -> usize {
        let before = self.counters.super_packets;
        let taken = self.take_out(most, pool, batch);
        if before == 0 && self.counters.super_packets > 0 {
            warn!(
                "{0}: super-packets arrive; the long ones are lost. Turn offloads off where they come from: ethtool -K \
                 {0} gro off lro off, and for a virtual machine's port tso off gso off on its host",
                self.name()
            );
        }
        taken
    }

    fn take_out(&mut self, most: usize, pool: &mut Pool, batch: &mut Vec<(FrameId, PacketMeta)>) -> usize {
        for n in 0..most {
            let Some(frame) = self.ring.next_frame() else { return n };
            self.counters.super_packets += u64::from(frame.is_super_packet());
            match pool.put(|to| frame.copy_to(to)) {
                Put::Stored(id) => {
                    drop(frame);
                    let meta = evenair_packet::parse(self.side, pool.get(&id));
                    self.kinds.note(&meta);
                    batch.push((id, meta));
                }
                Put::Full => self.counters.pool_full += 1,
                Put::Refused => self.counters.too_long += 1,
            }
        }
        most
    }

    /// Queues a frame to be sent out of this port.
    pub fn queue(&mut self, id: FrameId) {
        self.queue.push_back(id);
    }

    /// Sends what is queued, in order, as far as the kernel takes it.
    pub fn flush(&mut self, pool: &mut Pool) {
        while !self.queue.is_empty() {
            pool.bring(self.queue.iter().take(SEND_BATCH));
            match self.sender.send(self.queue.iter().take(SEND_BATCH).map(|id| pool.get(id))) {
                Ok(sent) => {
                    for id in self.queue.drain(..sent) {
                        self.counters.sent += 1;
                        self.counters.sent_bytes += pool.get(&id).len() as u64;
                        pool.free(id);
                    }
                }
                Err(error) if error.errno() == libc::EAGAIN => return,
                Err(error) => {
                    if self.counters.send_refused == 0 {
                        warn!("{error}: the frame is lost (further ones are only counted)");
                    }
                    self.counters.send_refused += 1;
                    pool.free(self.queue.pop_front().expect("not empty"));
                }
            }
        }
    }

    /// Frames that wait for the kernel to take them.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// What happened here.
    pub fn counters(&self) -> PortCounters {
        self.counters
    }

    /// What kinds of packets came in here.
    pub fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// What the ring was offered.
    ///
    /// # Errors
    /// A refused system call.
    pub fn ring_counters(&mut self) -> Result<RingCounters> {
        Ok(self.ring.counters()?)
    }

    /// Called when the ring was reported ready and had no packet: takes the pending error, if there is one.
    ///
    /// # Errors
    /// The interface is gone for good.
    pub fn check(&mut self) -> Result<()> {
        let Some(error) = self.ring.take_error() else { return Ok(()) };
        warn!("{error}");
        let now = iface::find(self.name())?;
        if now.index != self.ring.interface().index {
            bail!("the interface {} was removed and made anew", now.name);
        }
        Ok(())
    }
}
