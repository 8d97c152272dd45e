//! Whole Ethernet frames from and to an interface: AF_PACKET with a memory-mapped receive ring (TPACKET_V2,
//! Documentation/networking/packet_mmap.rst) and batched sending (sendmmsg(2)).
//!
//! Version 2 of the ring is used, because version 3 delivers blocks on a timer and so adds a millisecond on an idle path. Sent
//! frames go through the interface's queueing discipline, so that they cannot overtake what the kernel forwarded before them.
//! The ring does not see what the machine itself sends (PACKET_IGNORE_OUTGOING).
//!
//! Super-packets (segmentation offload, up to 64 KB) are far longer than a slot. The kernel queues a frame that does not fit
//! into its slot in the socket's ordinary receive queue (PACKET_COPY_THRESH), in the same order, and [`Ring::next_frame`] reads
//! it from there. They are sent with the same header that they arrive with (PACKET_VNET_HDR).
//!
//! Not here: deciding which packets are taken (see [`crate::fail_open`]), and splitting and merging of super-packets.
#![allow(unsafe_code)]

mod batch;
mod frame;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

pub use batch::{Batch, TcpOffload};
pub use frame::{Frame, PartialChecksum, VlanTag};
use frame::{Header, Slot, VIRTIO_HEADER};

use crate::error::OsError;
use crate::iface::Interface;

/// What is in front of a frame in its slot: the ring's header, an address, the virtio header and padding.
const SLOT_OVERHEAD: u32 = 128;
/// Ethernet header and two more VLAN tags inside the frame.
const FRAME_OVERHEAD: u32 = 14 + 8;
/// Memory is asked for in blocks of at least this many bytes.
const BLOCK: u32 = 64 * 1024;
/// Most frames in one call of [`Sender::send`].
pub const SEND_BATCH: usize = 64;
/// Longest super-packet, with its Ethernet header: more is said by no length field of IP. (Linux may be set up for longer ones
/// within a machine, "BIG TCP"; they are lost.)
pub const MOST_SUPER_BYTES: usize = 65_535 + FRAME_OVERHEAD as usize;
/// Memory that the kernel may use for super-packets that have come and were not fetched: some 150, two milliseconds at 40 Gb/s.
const SUPER_BUFFER: u32 = 16 << 20;

/// Bytes that hold any frame of the interface, with its VLAN tag put back.
pub fn max_frame_len(interface: &Interface) -> usize {
    (interface.mtu + FRAME_OVERHEAD) as usize
}

/// The receive ring of one interface.
#[derive(Debug)]
pub struct Ring {
    fd: OwnedFd,
    interface: Interface,
    map: Mapping,
    slot_len: usize,
    slots: usize,
    next: usize,
    /// The frame that did not fit into its slot, behind its virtio header.
    whole: Vec<u8>,
    consumed: u64,
    dropped: u64,
}

#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to its `Ring` alone; nothing in it is tied to a thread.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that mmap returned; no reference into it outlives the ring.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// How many packets a ring was offered since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingCounters {
    /// Taken out of the ring by [`Ring::next_frame`].
    pub consumed: u64,
    /// Lost because the ring was full.
    pub dropped: u64,
}

impl Ring {
    /// Makes a ring of at least `frames` slots for `interface`. It receives nothing until [`Ring::start`], so that a
    /// filter can be attached first.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENOMEM` where the ring does not fit, each with the call that failed.
    pub fn open(interface: &Interface, frames: u32) -> Result<Self, OsError> {
        let fd = packet_socket(interface)?;
        let slot_len = (interface.mtu + FRAME_OVERHEAD + SLOT_OVERHEAD).next_power_of_two();
        let block = slot_len.max(BLOCK);
        let blocks = (u64::from(frames) * u64::from(slot_len)).div_ceil(u64::from(block)).max(1);
        let Ok(blocks) = u32::try_from(blocks) else {
            return Err(OsError::new(format!("a ring of {frames} frames on {}", interface.name), libc::ENOMEM));
        };
        let slots = blocks * (block / slot_len);
        const TPACKET_V2: i32 = 1;
        set_option(&fd, libc::PACKET_VERSION, &TPACKET_V2, "PACKET_VERSION", interface)?;
        set_option(&fd, libc::PACKET_VNET_HDR, &1i32, "PACKET_VNET_HDR", interface)?;
        set_option(&fd, libc::PACKET_IGNORE_OUTGOING, &1i32, "PACKET_IGNORE_OUTGOING", interface)?;
        const PACKET_COPY_THRESH: i32 = 7;
        set_option(&fd, PACKET_COPY_THRESH, &1i32, "PACKET_COPY_THRESH", interface)?;
        set_receive_buffer(&fd, SUPER_BUFFER, interface)?;
        let request = libc::tpacket_req {
            tp_block_size: block,
            tp_block_nr: blocks,
            tp_frame_size: slot_len,
            tp_frame_nr: slots,
        };
        set_option(&fd, libc::PACKET_RX_RING, &request, "PACKET_RX_RING", interface)?;
        let map = map_ring(&fd, block as usize * blocks as usize, interface)?;
        Ok(Self {
            fd,
            interface: interface.clone(),
            map,
            slot_len: slot_len as usize,
            slots: slots as usize,
            next: 0,
            whole: vec![0; VIRTIO_HEADER + MOST_SUPER_BYTES],
            consumed: 0,
            dropped: 0,
        })
    }

    /// Starts to receive, in promiscuous mode: a box in line must get what is addressed to others.
    ///
    /// # Errors
    /// `ENODEV` where the interface has gone, `ENETDOWN` where it is down.
    pub fn start(&self) -> Result<(), OsError> {
        let promiscuous = libc::packet_mreq {
            mr_ifindex: self.interface.index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set_option(
            &self.fd,
            libc::PACKET_ADD_MEMBERSHIP,
            &promiscuous,
            "PACKET_ADD_MEMBERSHIP, promiscuous",
            &self.interface,
        )?;
        bind(&self.fd, &self.interface, libc::ETH_P_ALL as u16)
    }

    /// The interface as it was when the ring was opened.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Packets that the ring holds when it is full.
    pub fn room(&self) -> u64 {
        self.slots as u64
    }

    /// Bytes that hold any frame of the interface, with its VLAN tag put back.
    pub fn max_frame_len(&self) -> usize {
        max_frame_len(&self.interface)
    }

    /// The oldest frame in the ring; `None` when it is empty. Dropping the frame gives its slot back to the kernel.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        let offset = self.next * self.slot_len;
        debug_assert!(offset + self.slot_len <= self.map.len);
        // SAFETY: `next < slots`, so that the slot lies inside the mapping, which lives as long as `self`. A slot is
        // aligned to its own power-of-two length. The status word is shared with the kernel: atomic from here on.
        let (start, status) = unsafe {
            let start = self.map.start.as_ptr().add(offset);
            (start, AtomicU32::from_ptr(start.cast()))
        };
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.next = (self.next + 1) % self.slots;
        self.consumed += 1;
        // SAFETY: the kernel set TP_STATUS_USER and so leaves the slot to us until the status is zero again, which
        // happens when the frame (which borrows `self`) is dropped. Header and bytes are plain data inside the slot.
        let slot = unsafe {
            let header: Header = start.cast::<Header>().read();
            let bytes = std::slice::from_raw_parts(start, self.slot_len);
            Slot { status, header, bytes }
        };
        if flags & libc::TP_STATUS_COPY == 0 {
            return Some(Frame::new(slot, flags));
        }
        let len = receive(&self.fd, &mut self.whole);
        Some(Frame::whole(slot, flags, &self.whole[..len]))
    }

    /// The error that the socket has pending, for instance `ENETDOWN` after the interface went down. Waiting for the
    /// ring returns at once as long as it is not taken.
    pub fn take_error(&self) -> Option<OsError> {
        let mut errno: libc::c_int = 0;
        let mut len = size_of_val(&errno) as libc::socklen_t;
        let value = (&raw mut errno).cast();
        // SAFETY: the kernel writes at most `len` bytes into `errno`. It does not fail for a socket.
        unsafe { libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, value, &raw mut len) };
        (errno != 0).then(|| OsError::new(format!("receive from {}", self.interface.name), errno))
    }

    /// What the ring was offered so far.
    ///
    /// # Errors
    /// Where the kernel refuses PACKET_STATISTICS, which it does not for a socket that has a ring.
    pub fn counters(&mut self) -> Result<RingCounters, OsError> {
        // The kernel's counters start again at zero with every reading.
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of_val(&stats) as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes into `stats`.
        let rc = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut len,
            )
        };
        if rc != 0 {
            return Err(OsError::last(format!("getsockopt(PACKET_STATISTICS) on {}", self.interface.name)));
        }
        self.dropped += u64::from(stats.tp_drops);
        Ok(RingCounters { consumed: self.consumed, dropped: self.dropped })
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sends frames out of one interface. It receives nothing.
#[derive(Debug)]
pub struct Sender {
    fd: OwnedFd,
    name: String,
}

impl Sender {
    /// A sender for `interface` with a socket buffer of `buffer` bytes (less where the system's limit is lower and
    /// the process has no `CAP_NET_ADMIN`).
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`; `ENODEV`.
    pub fn open(interface: &Interface, buffer: u32) -> Result<Self, OsError> {
        let fd = packet_socket(interface)?;
        set_option(&fd, libc::PACKET_VNET_HDR, &1i32, "PACKET_VNET_HDR", interface)?;
        set_send_buffer(&fd, buffer, interface)?;
        bind(&fd, interface, 0)?;
        Ok(Self { fd, name: interface.name.clone() })
    }

    /// Hands frames to the kernel, in order, at most [`SEND_BATCH`] at once, and returns how many it took.
    ///
    /// # Errors
    /// As [`Self::send_batch`].
    pub fn send<'a>(&self, frames: impl IntoIterator<Item = &'a [u8]>) -> Result<usize, OsError> {
        let mut batch = Batch::new();
        frames.into_iter().all(|frame| batch.push(frame));
        self.send_batch(&batch)
    }

    /// Hands a batch to the kernel, in order, and returns how many of its frames it took; a super-packet is one frame.
    ///
    /// # Errors
    /// Of the **first** frame: `EAGAIN` where the socket's buffer is full (try it again later); `ENOBUFS` (the
    /// interface's queue is full), `EMSGSIZE` (longer than the MTU allows), `ENETDOWN`: the frame was not sent.
    pub fn send_batch(&self, batch: &Batch<'_>) -> Result<usize, OsError> {
        let mut iovecs = Vec::with_capacity(batch.frames.len() + batch.parts.len());
        // SAFETY: plain data for which all zero bytes is a valid value.
        let mut messages = [unsafe { std::mem::zeroed::<libc::mmsghdr>() }; SEND_BATCH];
        let iovec = |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut parts = batch.parts.iter();
        for (frame, message) in batch.frames.iter().zip(&mut messages) {
            let begin = iovecs.len();
            iovecs.push(iovec(&frame.virtio));
            iovecs.extend(parts.by_ref().take(frame.count).map(|part| iovec(part)));
            // Its capacity is that of all, so that the vector stays where it is.
            message.msg_hdr.msg_iov = iovecs.as_mut_ptr().wrapping_add(begin);
            // An int in musl, which has zero bytes beside it, and a size_t in the kernel and glibc.
            message.msg_hdr.msg_iovlen = (iovecs.len() - begin) as _;
        }
        let count = batch.frames.len() as libc::c_uint;
        if count == 0 {
            return Ok(0);
        }
        // By the system call: musl's function of that name makes one for each message.
        // SAFETY: the first `count` messages point to iovecs of this vector, those to slices that the batch borrows; the
        // kernel only reads through them, and writes their `msg_len`.
        let n = unsafe {
            libc::syscall(libc::SYS_sendmmsg, self.fd.as_raw_fd(), messages.as_mut_ptr(), count, libc::MSG_DONTWAIT)
        };
        usize::try_from(n).map_err(|_| OsError::last(format!("sendmmsg on {}", self.name)))
    }
}

/// The next frame of the socket's receive queue, cut to `into`; zero where there is none.
fn receive(fd: &OwnedFd, into: &mut [u8]) -> usize {
    // SAFETY: the kernel writes at most `into.len()` bytes.
    let n = unsafe { libc::recv(fd.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), libc::MSG_DONTWAIT) };
    usize::try_from(n).unwrap_or(0)
}

fn packet_socket(interface: &Interface) -> Result<OwnedFd, OsError> {
    // Protocol 0: nothing is received before bind() names a protocol.
    // SAFETY: takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(OsError::last(format!("socket(AF_PACKET) for {} (needs CAP_NET_RAW)", interface.name)));
    }
    // SAFETY: a new descriptor without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn bind(fd: &OwnedFd, interface: &Interface, protocol: u16) -> Result<(), OsError> {
    // SAFETY: sockaddr_ll is plain data for which all zero bytes is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface.index as i32;
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes of `address`.
    match unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) } {
        0 => Ok(()),
        _ => Err(OsError::last(format!("bind(AF_PACKET) to {}", interface.name))),
    }
}

fn set_option<T>(fd: &OwnedFd, option: i32, value: &T, name: &str, interface: &Interface) -> Result<(), OsError> {
    let len = size_of::<T>() as libc::socklen_t;
    let value = std::ptr::from_ref(value).cast();
    // SAFETY: the kernel reads `len` bytes of a live value.
    match unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_PACKET, option, value, len) } {
        0 => Ok(()),
        _ => Err(OsError::last(format!("setsockopt({name}) for {}", interface.name))),
    }
}

/// As much as asked for, or as the system's limit allows.
pub(crate) fn set_send_buffer(fd: &OwnedFd, bytes: u32, interface: &Interface) -> Result<(), OsError> {
    let size = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    if set_socket_option(fd, libc::SO_SNDBUFFORCE, &size) != 0 && set_socket_option(fd, libc::SO_SNDBUF, &size) != 0 {
        return Err(OsError::last(format!("setsockopt(SO_SNDBUF) on {}", interface.name)));
    }
    Ok(())
}

fn set_receive_buffer(fd: &OwnedFd, bytes: u32, interface: &Interface) -> Result<(), OsError> {
    let size = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    if set_socket_option(fd, libc::SO_RCVBUFFORCE, &size) != 0 && set_socket_option(fd, libc::SO_RCVBUF, &size) != 0 {
        return Err(OsError::last(format!("setsockopt(SO_RCVBUF) on {}", interface.name)));
    }
    Ok(())
}

fn set_socket_option(fd: &OwnedFd, option: i32, value: &libc::c_int) -> i32 {
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    let value = std::ptr::from_ref(value).cast();
    // SAFETY: the kernel reads `len` bytes of a live integer.
    unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, option, value, len) }
}

fn map_ring(fd: &OwnedFd, len: usize, interface: &Interface) -> Result<Mapping, OsError> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of `len` bytes at an address that the kernel chooses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
    match NonNull::new(start.cast::<u8>()) {
        Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Mapping { start, len }),
        _ => Err(OsError::last(format!("mmap of a ring of {len} bytes for {}", interface.name))),
    }
}
