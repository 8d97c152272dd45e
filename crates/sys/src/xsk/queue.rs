//! One of the rings that an AF_XDP socket shares with the kernel (Documentation/networking/af_xdp.rst): a producer and a
//! consumer index, and elements between them. Each side writes only its own index.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::OsError;

/// A ring of elements `T`, which are plain data.
#[derive(Debug)]
pub(super) struct Queue<T> {
    start: NonNull<u8>,
    len: usize,
    offsets: libc::xdp_ring_offset,
    size: u32,
    /// This side's index, and the other side's as last read.
    ours: u32,
    theirs: u32,
    elements: std::marker::PhantomData<T>,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread.
unsafe impl<T: Send> Send for Queue<T> {}

/// Plain data that is exchanged in a ring.
///
/// # Safety
/// Any bytes are a value of it.
pub(super) unsafe trait Element: Copy {}
// SAFETY: all bytes are a number.
unsafe impl Element for u64 {}
// SAFETY: it is three numbers without padding.
unsafe impl Element for libc::xdp_desc {}

impl<T: Element> Queue<T> {
    /// Maps the ring of `size` elements (a power of two) at `page` of the socket.
    pub(super) fn map(socket: &OwnedFd, size: u32, offsets: libc::xdp_ring_offset, page: u64) -> Result<Self, OsError> {
        assert!(size.is_power_of_two());
        let len = offsets.desc as usize + size as usize * size_of::<T>();
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        let (fd, page) = (socket.as_raw_fd(), page as libc::off_t);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, page) };
        let start = match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => start,
            _ => return Err(OsError::last("mmap of a ring of an AF_XDP socket")),
        };
        Ok(Self { start, len, offsets, size, ours: 0, theirs: 0, elements: std::marker::PhantomData })
    }

    /// The index or flags at this offset.
    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel's offsets are of aligned words inside the mapping, in front of the elements; they are atomics for
        // either side.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(offset as usize).cast()) }
    }

    /// The address of the element with this index.
    fn element(&self, number: u32) -> NonNull<T> {
        let at = self.offsets.desc as usize + (number & (self.size - 1)) as usize * size_of::<T>();
        // SAFETY: the index is masked to the size of the ring, which is fully mapped.
        unsafe { self.start.add(at).cast() }
    }

    /// Whether the other side sleeps, and needs a wake-up for new elements.
    pub(super) fn wants_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// For the producer: number of free elements.
    pub(super) fn room(&mut self) -> u32 {
        self.size - self.waiting()
    }

    /// For the producer: number of elements that the consumer has not taken.
    pub(super) fn waiting(&mut self) -> u32 {
        self.theirs = self.word(self.offsets.consumer).load(Ordering::Acquire);
        self.ours.wrapping_sub(self.theirs)
    }

    /// For the producer: adds an element, visible after [`Self::publish`]. Only if there is room.
    pub(super) fn put(&mut self, element: T) {
        debug_assert!(self.ours.wrapping_sub(self.theirs) < self.size);
        // SAFETY: the place is ours: the other side has taken what was there, since there is room.
        unsafe { self.element(self.ours).write(element) };
        self.ours = self.ours.wrapping_add(1);
    }

    /// For the producer: makes added elements visible.
    pub(super) fn publish(&self) {
        self.word(self.offsets.producer).store(self.ours, Ordering::Release);
    }

    /// For the consumer: takes the next element, if there is one.
    pub(super) fn take(&mut self) -> Option<T> {
        if self.ours == self.theirs {
            self.theirs = self.word(self.offsets.producer).load(Ordering::Acquire);
            if self.ours == self.theirs {
                return None;
            }
        }
        // SAFETY: the other side has written the element, and leaves it to us until it is given back.
        let element = unsafe { self.element(self.ours).read() };
        self.ours = self.ours.wrapping_add(1);
        Some(element)
    }

    /// For the consumer: the next elements that [`Self::take`] will return, at most `most`.
    pub(super) fn ahead(&mut self, most: usize) -> impl Iterator<Item = T> + '_ {
        self.theirs = self.word(self.offsets.producer).load(Ordering::Acquire);
        let count = self.theirs.wrapping_sub(self.ours).min(u32::try_from(most).unwrap_or(u32::MAX));
        // SAFETY: the other side has written these elements, and leaves them to us until they are given back.
        (0..count).map(|n| unsafe { self.element(self.ours.wrapping_add(n)).read() })
    }

    /// For the consumer: returns the taken elements to the producer.
    pub(super) fn give_back(&self) {
        self.word(self.offsets.consumer).store(self.ours, Ordering::Release);
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        // SAFETY: exactly the range that mmap returned; no reference into it outlives the queue.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
