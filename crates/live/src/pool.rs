//! Memory for the packets that the box holds: a fixed number of frames of one size, reserved at start.
//!
//! Frames are copied out of the receive ring at once, so that a packet held for long does not block the ring, and so
//! that a release only moves a number. Nothing is allocated per packet.

use std::hint::black_box;

/// A frame's place in the pool. Not `Copy`: who holds one holds the packet, and gives it back exactly once.
#[derive(Debug, PartialEq, Eq)]
pub struct FrameId(u32);

impl FrameId {
    /// The place's number, which names the packet as long as it is held.
    pub fn number(&self) -> u32 {
        self.0
    }
}

/// The frames.
#[derive(Debug)]
pub struct Pool {
    bytes: Vec<u8>,
    frame_len: usize,
    lengths: Vec<u32>,
    free: Vec<u32>,
    peak_used: usize,
}

impl Pool {
    /// Room for `frames` frames of at most `frame_len` bytes.
    pub fn new(frames: u32, frame_len: usize) -> Self {
        Self {
            // Pages come as they are first used. A killed process gives its pages back before the hold ends, so that
            // untouched ones shorten the gap.
            bytes: vec![0; frames as usize * frame_len],
            frame_len,
            lengths: vec![0; frames as usize],
            // The last one freed is the next one taken: it is likely still in the cache.
            free: (0..frames).rev().collect(),
            peak_used: 0,
        }
    }

    /// Takes a place and lets `fill` write a frame into it. `fill` returns the frame's length, or `None` if there is
    /// no frame after all.
    pub fn put(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Put {
        let Some(&number) = self.free.last() else { return Put::Full };
        let start = number as usize * self.frame_len;
        let Some(len) = fill(&mut self.bytes[start..start + self.frame_len]) else { return Put::Refused };
        assert!(len <= self.frame_len);
        self.free.pop();
        self.lengths[number as usize] = len as u32;
        self.peak_used = self.peak_used.max(self.used());
        Put::Stored(FrameId(number))
    }

    /// The frame's bytes.
    pub fn get(&self, id: &FrameId) -> &[u8] {
        let start = id.0 as usize * self.frame_len;
        &self.bytes[start..start + self.lengths[id.0 as usize] as usize]
    }

    /// Asks memory for the beginnings of these frames, which will be read one after the other: a frame that was held for long
    /// is no longer in the processor's cache, and to wait for each would take longer than to wait for all at once. The
    /// rest of a long frame follows quickly once it is read from its beginning on.
    pub fn bring<'a>(&self, ids: impl Iterator<Item = &'a FrameId>) {
        const LINE: usize = 64;
        const LINES: usize = 4;
        for id in ids {
            self.get(id).iter().step_by(LINE).take(LINES).for_each(|byte| _ = black_box(*byte));
        }
    }

    /// The frame's bytes, to be changed.
    pub fn get_mut(&mut self, id: &FrameId) -> &mut [u8] {
        let start = id.0 as usize * self.frame_len;
        &mut self.bytes[start..start + self.lengths[id.0 as usize] as usize]
    }

    /// Gives the place back.
    pub fn free(&mut self, id: FrameId) {
        self.free.push(id.0);
        debug_assert!(self.free.len() <= self.lengths.len());
    }

    /// Places in use.
    pub fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }

    /// The most that were ever in use.
    pub fn peak_used(&self) -> usize {
        self.peak_used
    }

    /// All places.
    pub fn size(&self) -> usize {
        self.lengths.len()
    }
}

/// What became of [`Pool::put`].
#[derive(Debug, PartialEq, Eq)]
pub enum Put {
    /// The frame is in this place.
    Stored(FrameId),
    /// Every place is in use.
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
    fn frames_keep_their_bytes_and_places_are_used_again() {
        let mut pool = Pool::new(2, 4);
        let Put::Stored(a) = put(&mut pool, b"one") else { panic!("there is room") };
        let Put::Stored(b) = put(&mut pool, b"two!") else { panic!("there is room") };
        assert_eq!(put(&mut pool, b"x"), Put::Full);
        assert_eq!((pool.get(&a), pool.get(&b)), (&b"one"[..], &b"two!"[..]));
        pool.free(a);
        pool.get_mut(&b)[0] = b'T';
        let Put::Stored(c) = put(&mut pool, b"3") else { panic!("a place was freed") };
        assert_eq!((pool.get(&c), pool.get(&b)), (&b"3"[..], &b"Two!"[..]));
        assert_eq!((pool.used(), pool.peak_used(), pool.size()), (2, 2, 2));
    }

    #[test]
    fn a_refused_frame_takes_no_place() {
        let mut pool = Pool::new(1, 4);
        assert_eq!(pool.put(|_| None), Put::Refused);
        assert_eq!(pool.used(), 0);
    }
}
