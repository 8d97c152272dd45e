//! Memory for frames, divided into slots of one size that can be lent to the kernel.
//!
//! A [`FrameId`] owns a slot and cannot be copied. A lent slot belongs to the kernel until the kernel returns it, and has
//! no id meanwhile.
//!
//! Not here: the list of free slots.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::ptr::NonNull;

use crate::error::OsError;

/// A slot for a frame. Not `Copy`: who holds one holds the frame, and gives it back exactly once.
#[derive(Debug, PartialEq, Eq)]
pub struct FrameId(u32);

impl FrameId {
    /// The slot's number, which names the frame as long as it is held.
    pub fn number(&self) -> u32 {
        self.0
    }
}

/// The slots.
#[derive(Debug)]
pub struct Frames {
    start: NonNull<u8>,
    slot_len: usize,
    spans: Vec<Span>,
}

/// Where in its slot a frame lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    at: u32,
    len: u32,
}

/// The kernel has the slot.
const LENT: Span = Span { at: 0, len: u32::MAX };

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread. Shared references only read.
unsafe impl Send for Frames {}
// SAFETY: see above.
unsafe impl Sync for Frames {}

impl Frames {
    /// So many slots of `slot_len` bytes, which begin at a page, and all their ids. Pages come as they are first used.
    ///
    /// # Errors
    /// `ENOMEM`; `EINVAL` where there would be no byte.
    pub fn new(slots: u32, slot_len: usize) -> Result<(Self, Vec<FrameId>), OsError> {
        let bytes = slots as usize * slot_len;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        let start = match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => start,
            _ => return Err(OsError::last(format!("mmap of {bytes} bytes for {slots} frames"))),
        };
        let spans = vec![Span { at: 0, len: 0 }; slots as usize];
        Ok((Self { start, slot_len, spans }, (0..slots).map(FrameId).collect()))
    }

    /// Bytes of a slot.
    pub fn slot_len(&self) -> usize {
        self.slot_len
    }

    /// All slots.
    pub fn slots(&self) -> usize {
        self.spans.len()
    }

    /// Whether the kernel has the slot with this number.
    pub fn is_lent(&self, number: u32) -> bool {
        self.spans[number as usize] == LENT
    }

    /// The frame's slot in memory, and its length.
    ///
    /// # Panics
    /// If there is no such slot, or it is lent: the id is of other slots.
    fn find(&self, id: &FrameId) -> (NonNull<u8>, usize) {
        let Span { at, len } = self.spans[id.0 as usize];
        let (at, len) = (at as usize, len as usize);
        assert!(at + len <= self.slot_len, "a slot that is lent, or an id of other slots");
        // SAFETY: inside the mapping, by the two checks above.
        (unsafe { self.start.add(id.0 as usize * self.slot_len + at) }, len)
    }

    /// The frame's bytes.
    ///
    /// # Panics
    /// If the id is of other slots.
    pub fn bytes(&self, id: &FrameId) -> &[u8] {
        let (start, len) = self.find(id);
        // SAFETY: inside the mapping. The kernel does not own the slot, and there are no writers while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), len) }
    }

    /// The frame's bytes, to be changed.
    ///
    /// # Panics
    /// As [`Self::bytes`].
    pub fn bytes_mut(&mut self, id: &FrameId) -> &mut [u8] {
        let (start, len) = self.find(id);
        // SAFETY: inside the mapping. The kernel does not own the slot, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) }
    }

    /// Lets `write` put a frame into the slot, with access to all its bytes, and return the length. Returns whether it did.
    ///
    /// # Panics
    /// As [`Self::bytes`], or if the frame is longer than the slot.
    pub fn fill(&mut self, id: &FrameId, write: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        let slot = Span { at: 0, len: self.slot_len as u32 };
        assert!(self.spans[id.0 as usize] != LENT, "an id of other slots");
        self.spans[id.0 as usize] = slot;
        let len = write(self.bytes_mut(id));
        assert!(len.is_none_or(|len| len <= self.slot_len));
        self.spans[id.0 as usize].len = len.unwrap_or(0) as u32;
        len.is_some()
    }

    /// The whole memory, to be registered with the kernel.
    pub(crate) fn memory(&self) -> (NonNull<u8>, usize) {
        (self.start, self.spans.len() * self.slot_len)
    }

    /// Gives the slot to the kernel, and says where it begins and where its frame does, in bytes from the beginning of all,
    /// and how long the frame is.
    pub(crate) fn lend(&mut self, id: FrameId) -> (u64, u64, u32) {
        let span = std::mem::replace(&mut self.spans[id.0 as usize], LENT);
        assert!(span != LENT, "an id of other slots");
        let slot = u64::from(id.0) * self.slot_len as u64;
        (slot, slot + u64::from(span.at), span.len)
    }

    /// Asks for pages of 2 MiB: with tens of thousands of frames the addresses of small ones are in no cache of the processor. For
    /// memory that is not in use yet, and is about to be locked: to find a page may take milliseconds. A kernel without such
    /// pages refuses, and has small ones.
    pub(crate) fn prefer_large_pages(&self) {
        let (start, len) = self.memory();
        // SAFETY: the whole mapping, whose contents stay as they are.
        unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_HUGEPAGE) };
    }

    /// Asks memory for the headers of the frame that the kernel has put at `address`.
    pub(crate) fn prefetch(&self, address: u64) {
        const LINE: usize = 64;
        for at in [address as usize, address as usize + LINE] {
            if at < self.spans.len() * self.slot_len {
                // SAFETY: inside the mapping; the value is not used.
                black_box(unsafe { self.start.add(at).read_volatile() });
            }
        }
    }

    /// Takes the slot back in which `address` lies, with a frame of `len` bytes from there on.
    ///
    /// # Panics
    /// If the kernel does not have it, or the frame is not inside: a fault of the kernel.
    pub(crate) fn take_back(&mut self, address: u64, len: u32) -> FrameId {
        let slot_len = self.slot_len as u64;
        let (number, at) = (address / slot_len, address % slot_len);
        let span = &mut self.spans[number as usize];
        assert!(*span == LENT && at + u64::from(len) <= slot_len, "the kernel gave what it did not have");
        *span = Span { at: at as u32, len };
        FrameId(number as u32)
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        let (start, len) = self.memory();
        // SAFETY: exactly the range that mmap returned; references into it borrow `self`. What the kernel still uses of it
        // it holds by itself.
        unsafe { libc::munmap(start.as_ptr().cast(), len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_keeps_its_bytes_and_its_place_goes_to_the_kernel_and_back() {
        let (mut frames, mut ids) = Frames::new(3, 64).expect("memory");
        let (b, a) = (ids.remove(1), ids.remove(0));
        assert!(frames.fill(&b, |to| {
            to[..3].copy_from_slice(b"one");
            Some(3)
        }));
        assert!(!frames.fill(&a, |_| None));
        frames.bytes_mut(&b)[0] = b'O';
        assert_eq!((frames.bytes(&b), frames.bytes(&a)), (&b"One"[..], &b""[..]));
        assert_eq!(frames.lend(b), (64, 64, 3));
        let back = frames.take_back(64 + 1, 2);
        assert_eq!((back.number(), frames.bytes(&back)), (1, &b"ne"[..]));
    }

    #[test]
    #[should_panic(expected = "what it did not have")]
    fn a_place_comes_back_once() {
        let (mut frames, mut ids) = Frames::new(2, 64).expect("memory");
        frames.lend(ids.remove(0));
        frames.take_back(0, 0);
        frames.take_back(0, 0);
    }

    #[test]
    #[should_panic(expected = "lent")]
    fn what_is_lent_is_not_looked_at() {
        let (mut frames, mut ids) = Frames::new(2, 64).expect("memory");
        let (_, mut of_others) = Frames::new(2, 64).expect("memory");
        frames.lend(ids.remove(0));
        frames.bytes(&of_others.remove(0));
    }
}
