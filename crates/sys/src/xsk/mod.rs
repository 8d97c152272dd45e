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

/// Bytes in front of a received frame that the kernel keeps for itself (XDP_PACKET_HEADROOM in linux/bpf.h).
const HEADROOM: u32 = 256;
/// Most bytes of a slot: the kernel takes no more than a page.
const LARGEST_SLOT: u32 = 4096;
const SMALLEST_SLOT: u32 = 2048;
/// Longest frame that can be received.
pub const MOST_BYTES: u32 = LARGEST_SLOT - HEADROOM;
/// Room of the ring for sending: several batches, so that a card that takes frames by itself has some.
const SEND_RING: u32 = 1024;
/// Bytes that the kernel may hold for a socket where it copies them.
const SEND_BUFFER: u32 = 4 << 20;
/// The option for how many frames the kernel copies and sends in one call (linux/if_xdp.h, since Linux 6.17).
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
/// So many slots are lent at once, to write to what the kernel reads less often.
const REFILL: u32 = 32;

/// How long a slot must be for frames of `most_bytes` to be received into it; `None` where no slot is long enough.
pub fn slot_len(most_bytes: u32) -> Option<u32> {
    [SMALLEST_SLOT, LARGEST_SLOT].into_iter().find(|slot| most_bytes <= slot - HEADROOM)
}

/// The AF_XDP sockets (XSKs) of an interface.
#[derive(Debug)]
pub struct XskSet {
    interface: Interface,
    /// Of the memory that its frames are in.
    memory: NonNull<u8>,
    sockets: Vec<Socket>,
    outlet: Outlet,
    /// Whose turn it is to be asked first.
    turn: usize,
    /// Frames that the kernel has to send.
    sending: u64,
    /// Nothing could be sent when it was last tried.
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
    /// What the outlet has sent, where this is the first one.
    sent: Queue<u64>,
    /// Slots that it may have to receive into, and that it has.
    most_lent: u32,
    lent: u32,
    /// Frames that it has given.
    given: u64,
}

/// The socket that sends. It shares the queue and the completion ring of the set's first socket.
#[derive(Debug)]
struct Outlet {
    fd: OwnedFd,
    to_send: Queue<libc::xdp_desc>,
}

/// What became of frames that were to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// So many frames were handed to the kernel,
    pub frames: u64,
    /// of so many bytes,
    pub bytes: u64,
    /// and so many, of these or of earlier ones, it did not send: the interface had no room, or is down.
    pub lost: u64,
}

/// The requirements of an interface for an AF_XDP path.
#[derive(Clone, Copy, Debug)]
pub struct XskSetSpec<'a> {
    /// The interface.
    pub interface: &'a Interface,
    /// Its receive queues.
    pub queues: u32,
    /// Slots that each socket may have to receive into: a power of two.
    pub slots: u32,
}

impl XskSet {
    /// Opens sets that share `memory`. Without `copy` the card may write to it by itself, where its driver can.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENOBUFS` where less memory may be locked (RLIMIT_MEMLOCK, without `CAP_IPC_LOCK`),
    /// `EBUSY` where a queue has such a socket, `EINVAL` where slots have no length for it.
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

    /// Its sockets, by the receive queue.
    pub fn sockets(&self) -> impl ExactSizeIterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(|socket| socket.fd.as_fd())
    }

    /// Whether the card and this process share the memory, without a copy.
    pub fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Lends free slots to receive into, as many as it may have.
    ///
    /// # Panics
    /// If the memory is another one.
    pub fn lend(&mut self, frames: &mut Frames, free: &mut Vec<FrameId>) {
        self.check(frames);
        for socket in &mut self.sockets {
            socket.lend(frames, free);
        }
    }

    /// Takes up to `most` received frames, and returns how many there were.
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

    /// Hands frames to the kernel, in order, as far as there is room, at most [`SEND_BATCH`] at once.
    ///
    /// # Errors
    /// `ENETDOWN` and others, where not even what was handed over before could be sent: then nothing was handed over.
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
        // An error is reported at the next attempt: these frames belong to the kernel.
        done.lost += self.push().unwrap_or(0);
        Ok(done)
    }

    /// Has the kernel send what it was handed. Returns how many frames it lost.
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
                // One was taken and dropped on its way.
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

    /// Has the kernel go on with what it was handed and has not sent yet; slots of what has been sent become free.
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

    /// Frames that the kernel was handed and has not looked at yet.
    pub fn unsent(&mut self) -> u64 {
        self.outlet.to_send.waiting().into()
    }

    /// Frames that the kernel was handed and has not said to have sent.
    pub fn sending(&self) -> u64 {
        self.sending
    }

    /// For each queue, how many packets its socket has given, or lost because it had no slot for them.
    ///
    /// # Errors
    /// A refused system call, which it is not.
    pub fn gone(&self) -> Result<Vec<(u64, u64)>, OsError> {
        let gone = |socket: &Socket| Ok((socket.given, socket.lost(&self.interface)?));
        self.sockets.iter().map(gone).collect()
    }

    /// Slots that are lent to receive into, or hold frames that were not taken yet.
    pub fn lent(&self) -> usize {
        self.sockets.iter().map(|socket| socket.lent as usize).sum()
    }

    /// The error that a socket has pending, for instance `ENETDOWN` after the interface has gone. Waiting for it returns at
    /// once as long as it is not taken.
    pub fn take_error(&self) -> Option<OsError> {
        let call = format!("receive from {} (AF_XDP)", self.interface.name);
        let errnos = self.sockets.iter().filter_map(|socket| {
            let mut errno: libc::c_int = 0;
            get_option(&socket.fd, libc::SOL_SOCKET, libc::SO_ERROR, &mut errno).then_some(errno)
        });
        // All of them are taken.
        errnos.max().filter(|errno| *errno != 0).map(|errno| OsError::new(call, errno))
    }
}

/// How a socket gets at its frames.
#[derive(Clone, Copy, Debug)]
enum Binding {
    /// In the memory of this socket, the first one, and as that does.
    Shared(i32),
    /// The kernel copies them.
    Copy,
    /// Without a copy where the driver can.
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
        // Little is missing: it can wait, but for a small ring.
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
        // All at once, since to wait for one after the other takes longer.
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

    /// Packets that were taken for it, and lost because it had no slot for them.
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
    /// Beside the set's first socket, on its queue.
    fn open(first: &OwnedFd, interface: &Interface) -> Result<Self, OsError> {
        let fd = unbound()?;
        set_send_buffer(&fd, SEND_BUFFER, interface)?;
        set_option(&fd, libc::XDP_TX_RING, &SEND_RING, "XDP_TX_RING", interface)?;
        // Before Linux 6.17 the kernel takes 32 frames at once, and does not know the option.
        let _ = set_option(&fd, XDP_MAX_TX_SKB_BUDGET, &(SEND_BATCH as u32), "XDP_MAX_TX_SKB_BUDGET", interface);
        let offsets = offsets_of(&fd, interface)?;
        let to_send = Queue::map(&fd, SEND_RING, offsets.tx, libc::XDP_PGOFF_TX_RING as u64)?;
        bind(&fd, interface, 0, Binding::Shared(first.as_raw_fd()))?;
        Ok(Self { fd, to_send })
    }
}

fn bind(fd: &OwnedFd, interface: &Interface, queue: u32, binding: Binding) -> Result<(), OsError> {
    let (flags, shared) = match binding {
        // The rest is as with the first one.
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

/// A socket that is bound to nothing.
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

/// Whether this process may have such sockets.
///
/// # Errors
/// Why not.
pub fn may_open() -> Result<(), OsError> {
    unbound().map(drop)
}

/// The same with a number higher than that of other descriptors: those of a killed process are closed from the highest on.
pub(crate) fn first_to_go() -> Result<OwnedFd, OsError> {
    /// More than a process of this kind has open, and below the usual limit of 1024.
    const HIGH: libc::c_int = 768;
    let socket = unbound()?;
    // SAFETY: takes no pointer.
    match unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH) } {
        // The limit is lower than that: it goes in its turn.
        ..0 => Ok(socket),
        // SAFETY: a new descriptor without another owner.
        high => Ok(unsafe { OwnedFd::from_raw_fd(high) }),
    }
}

#[cfg(test)]
mod tests;
