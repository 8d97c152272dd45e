//! Whole Ethernet frames from and to interfaces through AF_XDP sockets (Documentation/networking/af_xdp.rst): frames stay
//! in one memory area, [`Frames`], from the card (or the kernel's copy) to the loop and to the card of the other interface.
//!
//! An interface has an [`XskSet`] with one socket for each of its receive queues, and one more that only sends: the kernel
//! wakes the waiters of a socket for each frame that it has sent, so the sending socket has none. All sets share the
//! memory. A slot is lent to a socket for reception, comes back with a frame, is lent again for transmission, and comes
//! back on completion. A socket never has more slots for reception than it was opened for.
//!
//! [`crate::fail_open::XdpGate`] decides which packets are redirected here; when a process dies, its sockets are closed. Sent
//! frames bypass the interface's queueing discipline: they may overtake frames that the kernel has queued there.
//!
//! Not here: frames longer than a page; a VLAN tag that the card stripped (see [`crate::iface::set_vlan_stripping`]);
//! merged packets.
#![allow(unsafe_code)]

mod options;
mod queue;

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use crate::error::OsError;
use crate::frames::{FrameId, Frames};
use crate::iface::Interface;
use crate::ring::{SEND_BATCH, set_send_buffer};
use options::{get_option, offsets_of, set_option};
use queue::Queue;

/// Headroom that the kernel reserves in front of a received frame, bytes (XDP_PACKET_HEADROOM in linux/bpf.h).
const HEADROOM: u32 = 256;
/// Maximum size of a slot, bytes: the kernel accepts no more than a page.
const LARGEST_SLOT: u32 = 4096;
const SMALLEST_SLOT: u32 = 2048;
/// Maximum length of a received frame, bytes.
pub const MOST_BYTES: u32 = LARGEST_SLOT - HEADROOM;
/// Size of the transmit ring: several batches, so that a card with zero-copy has enough.
const SEND_RING: u32 = 1024;
/// Send buffer of a socket for copied frames, bytes.
const SEND_BUFFER: u32 = 4 << 20;
/// Socket option: number of frames that the kernel copies and sends in one call (linux/if_xdp.h, since Linux 6.17).
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
/// Slots are lent at least this many at once, to write less often to memory that the kernel reads.
const REFILL: u32 = 32;

/// Slot size for receiving frames of `most_bytes`; `None` if no slot is large enough.
pub fn slot_len(most_bytes: u32) -> Option<u32> {
    [SMALLEST_SLOT, LARGEST_SLOT].into_iter().find(|slot| most_bytes <= slot - HEADROOM)
}

/// The AF_XDP sockets of an interface.
#[derive(Debug)]
pub struct XskSet {
    interface: Interface,
    /// Address of the memory of its frames.
    memory: NonNull<u8>,
    sockets: Vec<Socket>,
    outlet: Outlet,
    /// Index of the socket to receive from first.
    turn: usize,
    /// Number of frames that the kernel has not completed.
    sending: u64,
    /// Whether nothing could be sent at the last attempt.
    stuck: bool,
    zero_copy: bool,
}

// SAFETY: the pointer is compared and never followed.
unsafe impl Send for XskSet {}

#[derive(Debug)]
struct Socket {
    fd: OwnedFd,
    received: Queue<libc::xdp_desc>,
    fill: Queue<u64>,
    /// Completion ring of the outlet, in the first socket.
    sent: Queue<u64>,
    /// Maximum number of slots lent for reception, and their present number.
    most_lent: u32,
    lent: u32,
    /// Number of frames received.
    given: u64,
}

/// The sending socket. It shares the queue and the completion ring of the lane's first socket.
#[derive(Debug)]
struct Outlet {
    fd: OwnedFd,
    to_send: Queue<libc::xdp_desc>,
}

/// Result of sending frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of frames passed to the kernel.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Number of frames, of these or earlier ones, that the kernel did not send: the interface had no room, or is down.
    pub lost: u64,
}

/// Parameters of an interface's AF_XDP path.
#[derive(Clone, Copy, Debug)]
pub struct XskSetSpec<'a> {
    /// The interface.
    pub interface: &'a Interface,
    /// Number of its receive queues.
    pub queues: u32,
    /// Maximum number of slots that each socket may have for reception: a power of two.
    pub slots: u32,
}

impl XskSet {
    /// Opens lanes that share `memory`. Without `copy` the card may access it directly, if its driver supports that.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENOBUFS` if less memory may be locked (RLIMIT_MEMLOCK, without `CAP_IPC_LOCK`),
    /// `EBUSY` if a queue has such a socket, `EINVAL` if the slots have an unsuitable size.
    pub fn open(memory: &Frames, of: &[XskSetSpec<'_>], copy: bool) -> Result<Vec<Self>, OsError> {
        memory.prefer_large_pages();
        let mut first = None;
        let mut xsk_sets = Vec::new();
        for XskSetSpec { interface, queues, slots } in of {
            let mut sockets = Vec::new();
            for queue in 0..*queues {
                let binding = match first {
                    Some(fd) => Binding::Shared(fd),
                    None if copy => Binding::Copy,
                    None => Binding::Any,
                };
                let socket = Socket::open(memory, interface, queue, *slots, binding)?;
                first = first.or(Some(socket.fd.as_raw_fd()));
                sockets.push(socket);
            }
            let outlet = Outlet::open(&sockets[0].fd, interface)?;
            let zero_copy = sockets.iter().all(|socket| socket.is_zero_copy());
            let (interface, start) = ((*interface).clone(), memory.memory().0);
            xsk_sets.push(Self {
                interface,
                memory: start,
                sockets,
                outlet,
                turn: 0,
                sending: 0,
                stuck: false,
                zero_copy,
            });
        }
        Ok(xsk_sets)
    }

    fn check(&self, frames: &Frames) {
        assert!(self.memory == frames.memory().0, "a set's frames are in the memory that it was opened with");
    }

    /// Its sockets, ordered by receive queue.
    pub fn sockets(&self) -> impl ExactSizeIterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(|socket| socket.fd.as_fd())
    }

    /// Whether the card and this process share the memory without a copy.
    pub fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Lends free slots for reception, up to the maximum of each socket.
    ///
    /// # Panics
    /// If the lane uses other memory.
    pub fn lend(&mut self, frames: &mut Frames, free: &mut Vec<FrameId>) {
        self.check(frames);
        for socket in &mut self.sockets {
            socket.lend(frames, free);
        }
    }

    /// Passes up to `most` received frames to `with`, and returns their number.
    ///
    /// # Panics
    /// As [`Self::lend`].
    pub fn receive(&mut self, frames: &mut Frames, most: usize, mut with: impl FnMut(&mut Frames, FrameId)) -> usize {
        self.check(frames);
        let (mut taken, count) = (0, self.sockets.len());
        for n in 0..count {
            let socket = &mut self.sockets[(self.turn + n) % count];
            taken += socket.receive(frames, most - taken, &mut with);
        }
        self.turn = (self.turn + 1) % count.max(1);
        taken
    }

    /// Passes frames to the kernel, in order, as far as there is room, at most [`SEND_BATCH`] at once.
    ///
    /// # Errors
    /// `ENETDOWN` and others, if not even earlier frames could be sent: then none is passed.
    ///
    /// # Panics
    /// As [`Self::lend`].
    pub fn send(&mut self, frames: &mut Frames, queue: &mut VecDeque<FrameId>) -> Result<Sent, OsError> {
        self.check(frames);
        let mut done = Sent::default();
        if self.stuck {
            done.lost += self.push()?;
        }
        let to_send = &mut self.outlet.to_send;
        let count = (to_send.room() as usize).min(queue.len()).min(SEND_BATCH);
        for id in queue.drain(..count) {
            let (_, addr, len) = frames.lend(id);
            done.bytes += u64::from(len);
            to_send.put(libc::xdp_desc { addr, len, options: 0 });
        }
        done.frames = count as u64;
        self.sending += done.frames;
        to_send.publish();
        // An error is reported at the next attempt: the kernel owns these frames now.
        done.lost += self.push().unwrap_or(0);
        Ok(done)
    }

    /// Makes the kernel send the frames passed to it. Returns how many frames it lost.
    fn push(&mut self) -> Result<u64, OsError> {
        let (outlet, mut lost) = (&mut self.outlet, 0);
        self.stuck = false;
        let mut waiting = outlet.to_send.waiting();
        while waiting > 0 && outlet.to_send.wants_wakeup() {
            // SAFETY: takes no memory of ours.
            let rc = unsafe {
                libc::sendto(outlet.fd.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
            };
            if rc >= 0 {
                break;
            }
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
            let before = std::mem::replace(&mut waiting, outlet.to_send.waiting());
            match errno {
                // One frame was taken and dropped on its way.
                libc::EBUSY if waiting < before => lost += 1,
                libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::ENOMEM if waiting == before => break,
                libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EINTR => {}
                _ => {
                    self.stuck = true;
                    return Err(OsError::new(format!("sendto(AF_XDP) on {}", self.interface.name), errno));
                }
            }
        }
        Ok(lost)
    }

    /// Makes the kernel continue with unsent frames; returns slots of completed frames to `free`.
    ///
    /// # Panics
    /// As [`Self::lend`].
    pub fn tend(&mut self, frames: &mut Frames, free: &mut Vec<FrameId>) -> Sent {
        self.check(frames);
        // A down interface is reported at the next send.
        let lost = if self.unsent() > 0 { self.push().unwrap_or(0) } else { 0 };
        let sent = &mut self.sockets[0].sent;
        let mut done = 0;
        while let Some(address) = sent.take() {
            free.push(frames.take_back(address, 0));
            done += 1;
        }
        if done > 0 {
            sent.give_back();
            self.sending -= done;
        }
        Sent { lost, ..Sent::default() }
    }

    /// Number of frames passed to the kernel that it has not taken from the ring.
    pub fn unsent(&mut self) -> u64 {
        self.outlet.to_send.waiting().into()
    }

    /// Number of frames passed to the kernel that it has not completed.
    pub fn sending(&self) -> u64 {
        self.sending
    }

    /// For each queue, the number of packets received by its socket, and of those lost for lack of a slot.
    ///
    /// # Errors
    /// A failed system call, which does not happen.
    pub fn gone(&self) -> Result<Vec<(u64, u64)>, OsError> {
        let gone = |socket: &Socket| Ok((socket.given, socket.lost(&self.interface)?));
        self.sockets.iter().map(gone).collect()
    }

    /// Number of slots that are lent for reception or hold frames that were not received yet.
    pub fn lent(&self) -> usize {
        self.sockets.iter().map(|socket| socket.lent as usize).sum()
    }

    /// The pending error of a socket, for instance `ENETDOWN` after the interface has gone. Until it is taken, waiting for
    /// the socket returns at once.
    pub fn take_error(&self) -> Option<OsError> {
        let call = format!("receive from {} (AF_XDP)", self.interface.name);
        let errnos = self.sockets.iter().filter_map(|socket| {
            let mut errno: libc::c_int = 0;
            get_option(&socket.fd, libc::SOL_SOCKET, libc::SO_ERROR, &mut errno).then_some(errno)
        });
        // All pending errors are taken.
        errnos.max().filter(|errno| *errno != 0).map(|errno| OsError::new(call, errno))
    }
}

/// Binding of a socket to memory.
#[derive(Clone, Copy, Debug)]
enum Binding {
    /// Shares the memory and the mode of this socket, the first one.
    Shared(i32),
    /// The kernel copies frames.
    Copy,
    /// Zero-copy if the driver supports it.
    Any,
}

impl Socket {
    fn open(
        memory: &Frames,
        interface: &Interface,
        queue: u32,
        most_lent: u32,
        binding: Binding,
    ) -> Result<Self, OsError> {
        let fd = unbound()?;
        let set = |option, size: u32, name| set_option(&fd, option, &size, name, interface);
        if !matches!(binding, Binding::Shared(_)) {
            let (start, len) = memory.memory();
            let registration = libc::xdp_umem_reg {
                addr: start.as_ptr() as u64,
                len: len as u64,
                chunk_size: memory.slot_len() as u32,
                headroom: 0,
                flags: 0,
                tx_metadata_len: 0,
            };
            let name =
                format!("XDP_UMEM_REG, {} MiB of locked memory (LimitMEMLOCK, ulimit -l)", len.div_ceil(1 << 20));
            set_option(&fd, libc::XDP_UMEM_REG, &registration, &name, interface)?;
        }
        set(libc::XDP_UMEM_FILL_RING, most_lent, "XDP_UMEM_FILL_RING")?;
        set(libc::XDP_UMEM_COMPLETION_RING, SEND_RING, "XDP_UMEM_COMPLETION_RING")?;
        set(libc::XDP_RX_RING, most_lent, "XDP_RX_RING")?;
        let offsets = offsets_of(&fd, interface)?;
        let socket = Self {
            received: Queue::map(&fd, most_lent, offsets.rx, libc::XDP_PGOFF_RX_RING as u64)?,
            fill: Queue::map(&fd, most_lent, offsets.fr, libc::XDP_UMEM_PGOFF_FILL_RING)?,
            sent: Queue::map(&fd, SEND_RING, offsets.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING)?,
            fd,
            most_lent,
            lent: 0,
            given: 0,
        };
        bind(&socket.fd, interface, queue, binding)?;
        Ok(socket)
    }

    fn is_zero_copy(&self) -> bool {
        let mut options = libc::xdp_options { flags: 0 };
        get_option(&self.fd, libc::SOL_XDP, libc::XDP_OPTIONS, &mut options)
            && options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0
    }

    fn lend(&mut self, frames: &mut Frames, free: &mut Vec<FrameId>) {
        let missing = (self.most_lent - self.lent) as usize;
        // Few slots are missing: refilling can wait, except for a small ring.
        if missing < (REFILL.min(self.most_lent / 2)) as usize {
            return;
        }
        let count = missing.min(free.len()).min(self.fill.room() as usize);
        for id in free.drain(free.len() - count..).rev() {
            self.fill.put(frames.lend(id).0);
        }
        self.lent += count as u32;
        self.fill.publish();
        if count > 0 && self.fill.wants_wakeup() {
            // SAFETY: takes no memory of ours. There is nothing to read; the call makes the driver continue.
            unsafe { libc::recv(self.fd.as_raw_fd(), std::ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
        }
    }

    fn receive(&mut self, frames: &mut Frames, most: usize, with: &mut impl FnMut(&mut Frames, FrameId)) -> usize {
        // All at once, so that the cache misses overlap.
        self.received.ahead(most).for_each(|libc::xdp_desc { addr, .. }| frames.prefetch(addr));
        let mut taken = 0;
        while taken < most
            && let Some(libc::xdp_desc { addr, len, .. }) = self.received.take()
        {
            let id = frames.take_back(addr, len);
            with(frames, id);
            taken += 1;
        }
        if taken > 0 {
            self.received.give_back();
            self.lent -= taken as u32;
            self.given += taken as u64;
        }
        taken
    }

    /// Number of packets redirected to the socket and lost for lack of a slot.
    fn lost(&self, interface: &Interface) -> Result<u64, OsError> {
        // SAFETY: plain numbers, for which zero is a value.
        let mut statistics: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        if !get_option(&self.fd, libc::SOL_XDP, libc::XDP_STATISTICS, &mut statistics) {
            return Err(OsError::last(format!("getsockopt(XDP_STATISTICS) on {}", interface.name)));
        }
        Ok(statistics.rx_dropped + statistics.rx_ring_full)
    }
}

impl Outlet {
    /// Opens the sending socket beside the lane's first socket, on its queue.
    fn open(first: &OwnedFd, interface: &Interface) -> Result<Self, OsError> {
        let fd = unbound()?;
        set_send_buffer(&fd, SEND_BUFFER, interface)?;
        set_option(&fd, libc::XDP_TX_RING, &SEND_RING, "XDP_TX_RING", interface)?;
        // Before Linux 6.17 the kernel takes 32 frames at once, and does not have the option.
        let _ = set_option(&fd, XDP_MAX_TX_SKB_BUDGET, &(SEND_BATCH as u32), "XDP_MAX_TX_SKB_BUDGET", interface);
        let offsets = offsets_of(&fd, interface)?;
        let to_send = Queue::map(&fd, SEND_RING, offsets.tx, libc::XDP_PGOFF_TX_RING as u64)?;
        bind(&fd, interface, 0, Binding::Shared(first.as_raw_fd()))?;
        Ok(Self { fd, to_send })
    }
}

fn bind(fd: &OwnedFd, interface: &Interface, queue: u32, binding: Binding) -> Result<(), OsError> {
    let (flags, shared) = match binding {
        // The rest is as with the first socket.
        Binding::Shared(fd) => (libc::XDP_SHARED_UMEM, fd as u32),
        Binding::Copy => (libc::XDP_USE_NEED_WAKEUP | libc::XDP_COPY, 0),
        Binding::Any => (libc::XDP_USE_NEED_WAKEUP, 0),
    };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface.index,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: shared,
    };
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes of `address`.
    match unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) } {
        0 => Ok(()),
        _ => Err(OsError::last(format!("bind(AF_XDP) to queue {queue} of {}", interface.name))),
    }
}

/// An unbound AF_XDP socket.
pub(crate) fn unbound() -> Result<OwnedFd, OsError> {
    // SAFETY: takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(OsError::last(
            "socket(AF_XDP) (needs CAP_NET_RAW, a kernel that has it, and RestrictAddressFamilies=AF_XDP in a service)",
        ));
    }
    // SAFETY: a new descriptor without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether this process may open such sockets.
///
/// # Errors
/// The error that prevents it.
pub fn may_open() -> Result<(), OsError> {
    unbound().map(drop)
}

/// An unbound socket with a higher number than other descriptors: the kernel closes those of a killed process from the
/// highest down.
pub(crate) fn first_to_go() -> Result<OwnedFd, OsError> {
    /// Above the open descriptors of a process of this kind, and below the usual limit of 1024.
    const HIGH: libc::c_int = 768;
    let socket = unbound()?;
    // SAFETY: takes no pointer.
    match unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH) } {
        // The limit is lower: it is closed in order of its number.
        ..0 => Ok(socket),
        // SAFETY: a new descriptor without another owner.
        high => Ok(unsafe { OwnedFd::from_raw_fd(high) }),
    }
}

#[cfg(test)]
mod tests;
