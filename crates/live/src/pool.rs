//! Packet memory of the box: a fixed number of frames of one size, reserved at start.
//!
//! Frames are copied out of the receive ring at once, so that a long-queued packet does not block the ring, and a release
//! moves only an index. There are no allocations per packet.

use std::hint::black_box;

use std::collections::VecDeque;

use anyhow::Result;
use evenair_sys::error::OsError;
pub use evenair_sys::frames::FrameId;
use evenair_sys::frames::Frames;
use evenair_sys::xsk::{Sent, XskSet, XskSetSpec};

/// The frames of the box.
#[derive(Debug)]
pub struct Pool {
    // Pages are allocated on first use. A killed process frees its pages before the lease ends, so untouched pages shorten the gap.
    frames: Frames,
    free: Vec<FrameId>,
    /// Slots given to the kernel, to receive into or to send.
    lent: usize,
    /// Slots for receiving, in addition to those of the box.
    receiving: usize,
    peak_used: usize,
    /// Slots with outdated frames, by number, and their count.
    stale: Vec<bool>,
    stale_left: usize,
    /// Slots whose frames are segments of super-packets, by number.
    segments: Vec<bool>,
}

impl Pool {
    /// A pool of `frames` frames of at most `frame_len` bytes, and `receiving` more into which the kernel receives.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(frames: u32, receiving: u32, frame_len: usize) -> Result<Self> {
        let (frames, mut free) = Frames::new(frames + receiving, frame_len)?;
        // The slot freed last is reused first: it is likely still in the cache.
        free.reverse();
        let receiving = receiving as usize;
        let segments = vec![false; frames.slots()];
        Ok(Self { frames, free, lent: 0, receiving, peak_used: 0, stale: Vec::new(), stale_left: 0, segments })
    }

    /// Opens sets of AF_XDP sockets whose frames are in this pool ([`XskSet::open`]).
    ///
    /// # Errors
    /// A refused system call.
    pub fn xsk_sets(&self, of: &[XskSetSpec<'_>], copy: bool) -> Result<Vec<XskSet>, OsError> {
        XskSet::open(&self.frames, of, copy)
    }

    /// Lends free slots to an AF_XDP path for reception.
    pub fn lend(&mut self, xsks: &mut XskSet) {
        let before = self.free.len();
        xsks.lend(&mut self.frames, &mut self.free);
        self.lent += before - self.free.len();
    }

    /// Takes up to `most` frames that an AF_XDP path has received, and lends it as many slots. Calls `look` for each. Returns their
    /// number.
    pub fn receive(&mut self, xsks: &mut XskSet, most: usize, mut look: impl FnMut(&mut [u8], FrameId)) -> usize {
        let segments = &mut self.segments;
        let taken = xsks.receive(&mut self.frames, most, |frames, id| {
            segments[id.number() as usize] = false;
            let bytes = frames.bytes_mut(&id);
            look(bytes, id);
        });
        self.lent -= taken;
        self.peak_used = self.peak_used.max(self.used());
        self.lend(xsks);
        taken
    }

    /// Gives queued frames to an AF_XDP path for transmission, as far as it accepts them.
    ///
    /// # Errors
    /// None was accepted: [`XskSet::send`].
    pub fn send(&mut self, xsks: &mut XskSet, queue: &mut VecDeque<FrameId>) -> Result<Sent, OsError> {
        let sent = xsks.send(&mut self.frames, queue)?;
        self.lent += sent.frames as usize;
        Ok(sent)
    }

    /// Takes back the frames that an AF_XDP path has sent.
    pub fn tend(&mut self, xsks: &mut XskSet) -> Sent {
        let before = self.free.len();
        let sent = xsks.tend(&mut self.frames, &mut self.free);
        self.lent -= self.free.len() - before;
        sent
    }

    /// Marks all frames in use as stale ([`Self::is_stale`]), until their slots are reused.
    pub fn outdate(&mut self) {
        let slots = self.frames.slots() as u32;
        self.stale = (0..slots).map(|number| !self.frames.is_lent(number)).collect();
        for id in &self.free {
            self.stale[id.number() as usize] = false;
        }
        self.stale_left = self.used();
    }

    /// Whether the frame is outdated.
    pub fn is_stale(&self, id: &FrameId) -> bool {
        self.stale_left > 0 && self.stale[id.number() as usize]
    }

    /// Takes a slot and lets `fill` write a frame into it. `fill` returns the frame's length, or `None` if there is no frame.
    pub fn put(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Put {
        let Some(id) = self.free.pop() else { return Put::Full };
        self.segments[id.number() as usize] = false;
        if !self.frames.fill(&id, fill) {
            self.free.push(id);
            return Put::Refused;
        }
        self.peak_used = self.peak_used.max(self.used());
        Put::Stored(id)
    }

    /// Marks the frame as a segment of a super-packet, whose checksum the kernel has verified.
    pub fn mark_as_segment(&mut self, id: &FrameId) {
        self.segments[id.number() as usize] = true;
    }

    /// Whether the frame is such a segment.
    pub fn is_segment(&self, id: &FrameId) -> bool {
        self.segments[id.number() as usize]
    }

    /// The frame's bytes.
    pub fn get(&self, id: &FrameId) -> &[u8] {
        self.frames.bytes(id)
    }

    /// Prefetches the beginnings of these frames, which will be read one after the other: a frame that was held for long is no longer in
    /// the processor's cache, and waiting for each would take longer than for all at once. The rest of a long frame follows quickly once
    /// its beginning is read.
    pub fn prefetch<'a>(&self, ids: impl Iterator<Item = &'a FrameId>) {
        const LINE: usize = 64;
        const LINES: usize = 4;
        for id in ids {
            self.get(id).iter().step_by(LINE).take(LINES).for_each(|byte| _ = black_box(*byte));
        }
    }

    /// The frame's bytes, mutable.
    pub fn get_mut(&mut self, id: &FrameId) -> &mut [u8] {
        self.frames.bytes_mut(id)
    }

    /// Frees the slot.
    pub fn free(&mut self, id: FrameId) {
        if self.is_stale(&id) {
            self.stale[id.number() as usize] = false;
            self.stale_left -= 1;
        }
        self.free.push(id);
        debug_assert!(self.free.len() <= self.frames.slots());
    }

    /// Slots in use.
    pub fn used(&self) -> usize {
        self.frames.slots() - self.free.len() - self.lent
    }

    /// Most slots ever in use.
    pub fn peak_used(&self) -> usize {
        self.peak_used
    }

    /// Number of slots, without those for receiving.
    pub fn size(&self) -> usize {
        self.frames.slots() - self.receiving
    }
}

/// Result of [`Pool::put`].
#[derive(Debug, PartialEq, Eq)]
pub enum Put {
    /// The frame is in this slot.
    Stored(FrameId),
    /// Every slot is in use.
    Full,
    /// There was no frame.
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(pool: &mut Pool, frame: &[u8]) -> Put {
        pool.put(|to| {
            to[..frame.len()].copy_from_slice(frame);
            Some(frame.len())
        })
    }

    #[test]
    fn frames_keep_their_bytes_and_slots_are_used_again() {
        let mut pool = Pool::new(2, 0, 4).expect("memory");
        let Put::Stored(a) = put(&mut pool, b"one") else { panic!("there is room") };
        let Put::Stored(b) = put(&mut pool, b"two!") else { panic!("there is room") };
        assert_eq!(put(&mut pool, b"x"), Put::Full);
        assert_eq!((pool.get(&a), pool.get(&b)), (&b"one"[..], &b"two!"[..]));
        pool.free(a);
        pool.get_mut(&b)[0] = b'T';
        let Put::Stored(c) = put(&mut pool, b"3") else { panic!("a slot was freed") };
        assert_eq!((pool.get(&c), pool.get(&b)), (&b"3"[..], &b"Two!"[..]));
        assert_eq!((pool.used(), pool.peak_used(), pool.size()), (2, 2, 2));
    }

    #[test]
    fn a_refused_frame_takes_no_slot() {
        let mut pool = Pool::new(1, 0, 4).expect("memory");
        assert_eq!(pool.put(|_| None), Put::Refused);
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn a_frame_is_stale_until_its_slot_is_reused() {
        let mut pool = Pool::new(3, 0, 4).expect("memory");
        let (Put::Stored(a), Put::Stored(b)) = (put(&mut pool, b"a"), put(&mut pool, b"b")) else {
            panic!("there is room")
        };
        assert!(!pool.is_stale(&a));
        pool.outdate();
        let Put::Stored(c) = put(&mut pool, b"c") else { panic!("there is room") };
        assert!(pool.is_stale(&a) && pool.is_stale(&b) && !pool.is_stale(&c));
        pool.free(a);
        let Put::Stored(d) = put(&mut pool, b"d") else { panic!("there is room") };
        assert!(!pool.is_stale(&d) && pool.is_stale(&b));
    }
}
