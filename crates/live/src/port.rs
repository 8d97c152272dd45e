//! A port of the box: its receive ring, its sender, the transmit queue, and counters; and, if it has one, its AF_XDP path
//! ([`crate::af_xdp`]), which then receives most packets and sends all.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use anyhow::{Context, Result, bail};
use evenair_api::Kinds;
use evenair_api::causes::{LossReason, Losses};
use evenair_boxfile::{BoxConfig, Io};
use evenair_packet::PacketMeta;
use evenair_sys::checksum;
use evenair_sys::fail_open::{FailOpenGate, PortId};
use evenair_sys::iface::{self, Interface};
use evenair_sys::ring::{Ring, RingCounters, SEND_BATCH, Sender};
use evenair_sys::xsk::Sent;
use tracing::{info, warn};

use crate::af_xdp::AfXdpPath;
use crate::offload::{Cut, Cutter, Joiner};
use crate::pool::{FrameId, Pool, Put};
use crate::protocol_counters::count_protocol;

/// Bytes that the kernel may hold for a port before it refuses more.
const SEND_BUFFER: u32 = 4 << 20;

/// One side of the box.
#[derive(Debug)]
pub struct Port {
    side: evenair_packet::Port,
    ring: Ring,
    sender: Sender,
    af_xdp: Option<AfXdpPath>,
    queue: VecDeque<FrameId>,
    counters: PortCounters,
    kinds: Kinds,
    cutter: Cutter,
    joiner: Joiner,
}

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Received super-packets: merged by the kernel, or left to the network card to cut.
    pub super_packets: u64,
    /// Segments that super-packets were cut into, beyond one each.
    pub more_segments: u64,
    /// Frames sent.
    pub sent: u64,
    /// Bytes sent, Ethernet headers included.
    pub sent_bytes: u64,
    /// Packets lost, by reason; those for which the ring had no room are counted there ([`Port::losses`]).
    pub losses: Losses,
}

/// Looks up a port's interface and checks that it can carry traffic.
///
/// # Errors
/// There is none of this name, it is down, or it is not a port of the configured bridge.
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
    Ok(bridge)
}

/// Looks up the bridge and the two ports, the WLAN side first, and checks that they can be used.
///
/// # Errors
/// As [`look_up_bridge`], [`look_up`] and [`check_pair`].
pub fn look_up_all(config: &BoxConfig) -> Result<(Option<Interface>, [Interface; 2])> {
    let bridge = config.bridge.as_deref().map(look_up_bridge).transpose()?;
    let wlan = look_up("wlan", &config.wlan, bridge.as_ref())?;
    let wire = look_up("wire", &config.wire, bridge.as_ref())?;
    check_pair(&wlan, &wire)?;
    if let Some(why) = bridge.as_ref().and_then(|bridge| isolation(&bridge.name, &wlan, &wire)) {
        bail!("[ports] {why}");
    }
    Ok((bridge, [wlan, wire]))
}

/// Why a bridge does not forward between two of its ports, if it isolates them from each other.
pub fn isolation(bridge: &str, wlan: &Interface, wire: &Interface) -> Option<String> {
    let (wlan_name, wire_name) = (&wlan.name, &wire.name);
    (wlan.port_isolated && wire.port_isolated).then(|| {
        format!(
            "{bridge} isolates its ports {wlan_name} and {wire_name} from each other; run: ip link set {wlan_name} type \
             bridge_slave isolated off"
        )
    })
}

/// Which of the groups 01:80:c2:00:00:00 to :0f pass from a port, a bit each: those that the kernel's bridge forwards (`br_handle_frame`
/// in net/bridge/br_input.c), so that the same groups pass with the box and without it.
///
/// Its own mask cannot name :00 (STP), :01 (pause frames) and :02 (LACP). The first passes if the bridge does not take part in the
/// spanning tree, the others only by the mask of the port, which cannot name :01. Without a bridge all pass except :01 and :02.
pub fn group_mask(bridge: Option<&Interface>, port: &Interface) -> u16 {
    const STP: u16 = 1;
    const PAUSE: u16 = 1 << 1;
    const LACP: u16 = 1 << 2;
    let Some(bridge) = bridge else { return !(PAUSE | LACP) };
    let own = bridge.bridge_group_forward.unwrap_or(0) & !(STP | PAUSE | LACP);
    let stp = if bridge.bridge_spanning_tree == Some(true) { 0 } else { STP };
    (own | stp | port.port_group_forward) & !PAUSE
}

/// The last byte of a frame's destination, if it is one of these groups.
pub fn link_local_group(frame: &[u8]) -> Option<u8> {
    match frame {
        [0x01, 0x80, 0xc2, 0, 0, last @ ..=0x0f, ..] => Some(*last),
        _ => None,
    }
}

/// Logs the groups that do not pass.
pub fn log_bridge(bridge: &Interface) {
    let name = &bridge.name;
    if bridge.bridge_group_forward == Some(0) {
        info!(
            "{name} does not forward 802.1X and LLDP, and so the box does not either; if that matters, run: \
             ip link set {name} type bridge group_fwd_mask 0xfff8"
        );
    }
}

/// Length in bytes of the longest frame of an interface, with its VLAN tags.
pub fn most_bytes(interface: &Interface) -> usize {
    evenair_sys::ring::max_frame_len(interface)
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

impl PortCounters {
    fn add(&mut self, Cut { segments, pool_full, too_long }: Cut) {
        self.more_segments += segments - 1;
        self.losses[LossReason::PoolFull] += pool_full;
        self.losses[LossReason::TooLong] += too_long;
    }
}

impl Port {
    /// A port that does not receive yet.
    ///
    /// # Errors
    /// A refused system call, with its name.
    pub fn open(side: evenair_packet::Port, interface: &Interface, ring_frames: u32) -> Result<Self> {
        let ring = Ring::open(interface, ring_frames)?;
        let sender = Sender::open(interface, SEND_BUFFER)?;
        Ok(Self {
            side,
            ring,
            sender,
            af_xdp: None,
            queue: VecDeque::new(),
            counters: PortCounters::default(),
            kinds: Kinds::default(),
            cutter: Cutter::new(),
            joiner: Joiner::default(),
        })
    }

    /// Adds an AF_XDP path.
    pub fn add(&mut self, af_xdp: AfXdpPath) {
        self.af_xdp = Some(af_xdp);
    }

    /// Attaches it to the fail-open gate.
    ///
    /// # Errors
    /// A missing privilege.
    pub fn attach(&self, gate: &mut FailOpenGate) -> Result<PortId> {
        Ok(gate.attach(&self.ring, self.af_xdp.as_ref().map(|af_xdp| &af_xdp.xdp))?)
    }

    /// Lets its AF_XDP path, if it has one, take packets as soon as the lease is valid.
    ///
    /// # Errors
    /// A refused system call.
    pub fn open_xdp(&mut self) -> Result<()> {
        self.af_xdp.as_mut().map_or(Ok(()), AfXdpPath::open)
    }

    /// Its interface, as it was when the port was opened.
    pub fn interface(&self) -> &Interface {
        self.ring.interface()
    }

    /// Starts to receive.
    ///
    /// # Errors
    /// The interface has gone.
    pub fn start(&self) -> Result<()> {
        Ok(self.ring.start()?)
    }

    /// The receive ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Descriptors to wait at for received packets.
    pub fn inlets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let sockets = self.af_xdp.iter().flat_map(|af_xdp| af_xdp.xsks.sockets());
        std::iter::once(std::os::fd::AsFd::as_fd(&self.ring)).chain(sockets)
    }

    /// Packet I/O in use, and why not another one that was tried.
    pub fn io(&self) -> (String, Option<String>) {
        match &self.af_xdp {
            Some(af_xdp) => (af_xdp.describe(), af_xdp.why()),
            None => (Io::AfPacket.to_string(), None),
        }
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.ring.interface().name
    }

    /// Takes up to `most` packets from the ring into the pool, and as many from the AF_XDP path if `af_xdp` is set, and adds them to
    /// `batch`. Returns the larger of both counts, including packets for which there was no room.
    pub fn receive(
        &mut self,
        most: usize,
        af_xdp: bool,
        pool: &mut Pool,
        batch: &mut Vec<(FrameId, PacketMeta)>,
    ) -> usize {
        let before = self.counters.super_packets;
        let taken = self.take_out(most, pool, batch);
        if self.af_xdp.is_some() && before == 0 && self.counters.super_packets > 0 {
            warn!(
                "{}: super-packets arrive, which AF_XDP sockets cannot receive: they come through the packet ring, beside the other \
                 packets of their connections, and may change places with them. Set [ports] io = \"af-packet\", or turn \
                 segmentation offload off where they come from: ip link set NAME gso_max_segs 1",
                self.name()
            );
        }
        let (side, kinds) = (self.side, &mut self.kinds);
        let Some(AfXdpPath { xsks, completes, .. }) = self.af_xdp.as_mut().filter(|_| af_xdp) else { return taken };
        let more = pool.receive(xsks, most, |bytes, id| {
            if *completes {
                checksum::complete_if_partial(bytes);
            }
            let meta = evenair_packet::parse(side, bytes);
            count_protocol(kinds, &meta);
            batch.push((id, meta));
        });
        taken.max(more)
    }

    fn take_out(&mut self, most: usize, pool: &mut Pool, batch: &mut Vec<(FrameId, PacketMeta)>) -> usize {
        let Self { side, ring, counters, kinds, cutter, .. } = self;
        let begin = batch.len();
        let mut store = |pool: &Pool, id: FrameId, batch: &mut Vec<_>| {
            let meta = evenair_packet::parse(*side, pool.get(&id));
            count_protocol(kinds, &meta);
            batch.push((id, meta));
        };
        for n in 0..most {
            if batch.len() - begin >= most {
                return most;
            }
            let Some(frame) = ring.next_frame() else { return n };
            if let Some(size) = frame.segment_size() {
                counters.super_packets += 1;
                let is_cut = frame.is_cut();
                match cutter.cut(frame, size, pool, |pool, id| store(pool, id, batch)) {
                    Some(cut) => counters.add(cut),
                    None if is_cut => counters.losses[LossReason::SuperLost] += 1,
                    None => counters.losses[LossReason::TooLong] += 1,
                }
                continue;
            }
            match pool.put(|to| frame.copy_to(to)) {
                Put::Stored(id) => {
                    drop(frame);
                    store(pool, id, batch);
                }
                Put::Full => counters.losses[LossReason::PoolFull] += 1,
                Put::Refused => counters.losses[LossReason::TooLong] += 1,
            }
        }
        most
    }

    /// Drops all received packets, and all queued frames, as outdated.
    pub fn discard(&mut self, pool: &mut Pool) {
        while self.ring.next_frame().is_some() {
            self.counters.losses[LossReason::Stale] += 1;
        }
        if let Some(AfXdpPath { xsks, .. }) = &mut self.af_xdp {
            let mut stale = Vec::new();
            pool.receive(xsks, usize::MAX, |_, id| stale.push(id));
            self.counters.losses[LossReason::Stale] += stale.len() as u64;
            stale.into_iter().for_each(|id| pool.free(id));
        }
        self.counters.losses[LossReason::StaleReleased] += self.queue.len() as u64;
        self.queue.drain(..).for_each(|id| pool.free(id));
    }

    /// Queues a frame to be sent by this port.
    pub fn queue(&mut self, id: FrameId) {
        self.queue.push_back(id);
    }

    /// Drops a frame that came in here for a group that does not pass.
    pub fn give_up_link_local(&mut self, id: FrameId, pool: &mut Pool) {
        self.counters.losses[LossReason::LinkLocal] += 1;
        pool.free(id);
    }

    /// Drops a frame that was outdated when the manager released it to this port.
    pub fn give_up_stale(&mut self, id: FrameId, pool: &mut Pool) {
        self.counters.losses[LossReason::StaleReleased] += 1;
        pool.free(id);
    }

    /// Sends queued frames in order, as far as the kernel accepts them; at most a batch, so that the caller can check whether it is still
    /// in time. Returns whether more can be sent now.
    pub fn flush(&mut self, pool: &mut Pool) -> bool {
        match &self.af_xdp {
            Some(_) => self.flush_af_xdp(pool),
            None => self.flush_sender(pool),
        }
    }

    fn flush_sender(&mut self, pool: &mut Pool) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        pool.prefetch(self.queue.iter().take(SEND_BATCH));
        self.joiner.plan(&self.queue, pool);
        let sent = self.sender.send_batch(&self.joiner.batch(&self.queue, pool));
        match sent {
            Ok(sent) => {
                for id in self.queue.drain(..self.joiner.frames_of(sent)) {
                    self.counters.sent += 1;
                    self.counters.sent_bytes += pool.get(&id).len() as u64;
                    pool.free(id);
                }
            }
            Err(error) if error.errno() == libc::EAGAIN => return false,
            Err(error) if self.joiner.give_up_joining(error.errno()) => {
                warn!("{error}: super-packets leave {} cut into segments from now on", self.name());
            }
            Err(error) => self.refused(&error, self.joiner.frames_of(1), pool),
        }
        !self.queue.is_empty()
    }

    fn flush_af_xdp(&mut self, pool: &mut Pool) -> bool {
        let Some(AfXdpPath { xsks, .. }) = &mut self.af_xdp else { return false };
        let earlier = pool.tend(xsks);
        let sent = if self.queue.is_empty() { Ok(Sent::default()) } else { pool.send(xsks, &mut self.queue) };
        let later = pool.tend(xsks);
        self.count(earlier);
        self.count(later);
        match sent {
            Ok(sent) => {
                self.count(sent);
                sent.frames > 0 && !self.queue.is_empty()
            }
            Err(error) => {
                self.refused(&error, 1, pool);
                !self.queue.is_empty()
            }
        }
    }

    /// A lost frame was among those handed over, now or before; it is unknown which one.
    fn count(&mut self, Sent { frames, bytes, lost }: Sent) {
        self.counters.sent = self.counters.sent + frames - lost;
        self.counters.sent_bytes += bytes;
        self.counters.losses[LossReason::SendRefused] += lost;
    }

    /// Drops this number of the oldest frames, which the kernel refused.
    fn refused(&mut self, error: &evenair_sys::error::OsError, frames: usize, pool: &mut Pool) {
        if self.counters.losses[LossReason::SendRefused] == 0 {
            warn!("{error}: the frame is lost (further ones are only counted)");
        }
        self.counters.losses[LossReason::SendRefused] += frames as u64;
        self.queue.drain(..frames).for_each(|id| pool.free(id));
    }

    /// Frames queued until the kernel accepts them.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Frames given to the kernel that it has not looked at: it has to be called again.
    pub fn unsent(&mut self) -> u64 {
        self.af_xdp.as_mut().map_or(0, |af_xdp| af_xdp.xsks.unsent())
    }

    /// Frames given to the kernel that it has not reported as sent, as far as it reports that.
    pub fn sending(&self) -> u64 {
        self.af_xdp.as_ref().map_or(0, |af_xdp| af_xdp.xsks.sending())
    }

    /// Packets that may be on their way in, at most.
    pub fn room(&self) -> u64 {
        self.ring.room() + self.af_xdp.as_ref().map_or(0, |af_xdp| af_xdp.xsks.lent() as u64)
    }

    /// While the lease is being released: reports that all arrived packets, except this number of copies, are gone. Returns
    /// whether that is all that was taken.
    ///
    /// # Errors
    /// A refused system call.
    pub fn report_sent(&mut self, gate: &FailOpenGate, id: PortId, copies: u64) -> Result<bool> {
        // A ring gives all copies before packets that were taken after them.
        let counters = self.ring.counters()?;
        let ring = gate.report_sent(id, counters.consumed + counters.dropped - copies);
        let af_xdp = self.af_xdp.as_ref().map_or(Ok(true), AfXdpPath::report_sent)?;
        Ok(ring && af_xdp)
    }

    /// Packets taken from the bridge.
    pub fn taken(&self, gate: &FailOpenGate, id: PortId) -> u64 {
        gate.taken(id) + self.af_xdp.as_ref().map_or(0, AfXdpPath::taken)
    }

    /// Packets lost here, by reason.
    ///
    /// # Errors
    /// A refused system call.
    pub fn losses(&mut self) -> Result<Losses> {
        let mut losses = self.counters.losses;
        losses[LossReason::RingFull] +=
            self.ring.counters()?.dropped + self.af_xdp.as_ref().map_or(Ok(0), AfXdpPath::lost)?;
        Ok(losses)
    }

    /// Counters of the port.
    pub fn counters(&self) -> PortCounters {
        self.counters
    }

    /// Received packets by kind.
    pub fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// Packets offered to the ring.
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
        let of_xsks = self.af_xdp.as_ref().and_then(|af_xdp| af_xdp.xsks.take_error());
        let Some(error) = self.ring.take_error().or(of_xsks) else { return Ok(()) };
        warn!("{error}");
        // By index: another interface may have its name now, or it may have another name.
        match iface::find_index(self.ring.interface().index) {
            Ok(_) => Ok(()),
            Err(_) => bail!("the interface {} was removed", self.name()),
        }
    }
}
