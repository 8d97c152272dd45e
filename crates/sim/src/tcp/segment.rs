//! A TCP segment as a small record.
//!
//! Positions in the stream are 64 bits wide and do not wrap: the SYN is position 0, the first byte 1, and the FIN follows
//! the last byte. The advertised window has the 16 bits of the wire, because a box on the path may rewrite it. The payload
//! has no content.

use core::fmt;
use core::ops::Range;

use evenair_units::Bytes;

/// Maximum number of SACK blocks without other options (RFC 2018, section 3).
pub(crate) const MAX_SACK_BLOCKS: usize = 4;

/// Size of the TCP header without options, in bytes (RFC 9293, section 3.1).
const BASE_HEADER: u64 = 20;

/// A TCP segment. The SACK blocks, which few segments have, come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// Position of the first byte (or of the SYN, or of the FIN where there is no byte).
    pub seq: u64,
    /// The next position expected from the other end; valid if [`Flags::ack`] is set.
    pub ack: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Advertised window as on the wire: bytes in a SYN, else bytes shifted right by the negotiated scale.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Options of a SYN.
    pub syn: Option<SynOptions>,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK option; empty means that it is absent.
    pub sack: SackBlocks,
}

/// Control bits of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Opens the stream; takes one position.
    pub syn: bool,
    /// The acknowledgment is valid.
    pub ack: bool,
    /// Ends the stream; takes one position.
    pub fin: bool,
    /// Aborts the connection.
    pub rst: bool,
    /// The sender has no more to send just now (RFC 9293, section 3.9.1.2).
    pub psh: bool,
}

/// Options that only a SYN carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Largest segment that the sender of this option accepts, in bytes, options included (RFC 6691).
    pub mss: u16,
    /// Shift of the windows that its sender will advertise (RFC 7323, section 2.2).
    pub window_shift: Option<u8>,
    /// Its sender supports SACK (RFC 2018, section 2).
    pub sack_permitted: bool,
}

/// Timestamps option (RFC 7323, section 3) with a clock of one microsecond, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock when it sent the segment.
    pub value: u32,
    /// The value being echoed.
    pub echo: u32,
}

/// Up to four SACK blocks. They lie above the segment's acknowledgment and are stored relative to it.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct SackBlocks {
    count: u8,
    /// (distance of the block's first byte from the acknowledgment, length), in bytes; entries from `count` on are meaningless.
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
}

impl SackBlocks {
    /// No block: the option is absent.
    pub const NONE: Self = Self { blocks: [(0, 0); MAX_SACK_BLOCKS], count: 0 };

    /// Removes all blocks.
    pub(super) const fn clear(&mut self) {
        self.count = 0;
    }

    /// Number of blocks.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is no block.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a block to a segment that acknowledges `ack`.
    ///
    /// # Panics
    /// If there are four already, or the block is not within 4 GiB above `ack`.
    pub fn push(&mut self, ack: u64, block: Range<u64>) {
        let relative = |position: u64| u32::try_from(position).expect("a window is smaller than 4 GiB");
        let first = block.start.checked_sub(ack).expect("a SACK block lies above the acknowledgment");
        self.blocks[self.len()] = (relative(first), relative(block.end - block.start));
        self.count += 1;
    }

    /// The blocks of a segment that acknowledges `ack`, most recent first.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        self.blocks[..self.len()].iter().map(move |&(first, len)| {
            let start = ack + u64::from(first);
            start..start + u64::from(len)
        })
    }
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.blocks[..self.len()] == other.blocks[..other.len()]
    }
}

impl Eq for SackBlocks {}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.blocks[..self.len()]).finish()
    }
}

impl Segment {
    /// A segment without contents.
    pub(crate) const EMPTY: Self = Self {
        seq: 0,
        ack: 0,
        len: 0,
        window: 0,
        flags: Flags { syn: false, ack: false, fin: false, rst: false, psh: false },
        syn: None,
        timestamps: None,
        sack: SackBlocks::NONE,
    };

    /// Positions the segment takes: payload, SYN and FIN (RFC 9293, section 3.4).
    pub(crate) const fn seq_len(&self) -> u64 {
        self.len as u64 + self.flags.syn as u64 + self.flags.fin as u64
    }

    /// The first position after the segment.
    pub const fn end(&self) -> u64 {
        self.seq + self.seq_len()
    }

    /// Size of the TCP header with its options, padded as common stacks do.
    pub(crate) const fn header_len(&self) -> Bytes {
        let options = match &self.syn {
            // MSS 4, window scale 3, SACK permitted 2, timestamps 10, padded once.
            Some(syn) => {
                let scale = if syn.window_shift.is_some() { 3 } else { 0 };
                let sack = if syn.sack_permitted { 2 } else { 0 };
                let stamps = if self.timestamps.is_some() { 10 } else { 0 };
                (4 + scale + sack + stamps as u64).next_multiple_of(4)
            }
            // Each option padded to a multiple of four: timestamps 10 + 2, SACK 2 + 8 per block + 2.
            None => {
                let stamps = if self.timestamps.is_some() { 12 } else { 0 };
                stamps + if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.len() as u64 }
            }
        };
        Bytes(BASE_HEADER + options)
    }

    /// Size of the segment: TCP header and payload, without the IP header.
    pub const fn size(&self) -> Bytes {
        Bytes(self.header_len().0 + self.len as u64)
    }

    /// The sequence number as the wire shows it, for an initial sequence number of zero.
    pub(crate) const fn wire_seq(&self) -> u32 {
        self.seq as u32
    }

    /// The acknowledgment number as the wire shows it, for an initial sequence number of zero.
    pub(crate) const fn wire_ack(&self) -> u32 {
        self.ack as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Segment = Segment {
        seq: 1,
        ack: 1,
        len: 1448,
        window: 1000,
        flags: Flags { syn: false, ack: true, fin: false, rst: false, psh: false },
        syn: None,
        timestamps: None,
        sack: SackBlocks::NONE,
    };
    const STAMPS: Option<Timestamps> = Some(Timestamps { value: 1, echo: 2 });

    #[test]
    fn header_sizes_are_those_seen_on_the_wire() {
        assert_eq!(PLAIN.header_len(), Bytes(20));
        let data = Segment { timestamps: STAMPS, ..PLAIN };
        assert_eq!(data.header_len(), Bytes(32));
        assert_eq!(data.size(), Bytes(1480), "1500 bytes with the IPv4 header");

        let mut sack = SackBlocks::NONE;
        (0..3).for_each(|n| sack.push(1, 10 * n + 5..10 * n + 10));
        assert_eq!(Segment { len: 0, sack, ..data }.header_len(), Bytes(60), "the option space is 40 bytes");

        let syn = Some(SynOptions { mss: 1460, window_shift: Some(7), sack_permitted: true });
        let flags = Flags { syn: true, ..Flags::default() };
        let syn = Segment { len: 0, flags, syn, ..data };
        assert_eq!(syn.header_len(), Bytes(40), "a Linux SYN is 60 bytes with the IPv4 header");
        assert_eq!(syn.seq_len(), 1);
    }

    #[test]
    fn sack_blocks_are_read_back_as_written() {
        let mut sack = SackBlocks::NONE;
        sack.push(1_000, 3_000..4_000);
        sack.push(1_000, 1_500..2_000);
        assert_eq!(sack.iter(1_000).collect::<Vec<_>>(), [3_000..4_000, 1_500..2_000]);
    }

    #[test]
    fn a_segment_stays_small() {
        assert!(size_of::<Segment>() <= 96, "{} bytes", size_of::<Segment>());
    }
}
