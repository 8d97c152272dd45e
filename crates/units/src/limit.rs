//! Limits of buffers.

use minicbor::{Decode, Encode};

use crate::Bytes;

/// Limit of a drop-tail buffer. The buffer defines what counts as a packet's size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Limit {
    /// This many packets of any size.
    #[n(0)]
    Packets(#[n(0)] u32),
    /// This many bytes in packets of any number.
    #[n(1)]
    Bytes(#[n(0)] Bytes),
    /// No limit.
    #[n(2)]
    Unlimited,
}

impl Limit {
    /// Whether a buffer that holds `packets` packets with `bytes` bytes in all has room for one more of `size` bytes.
    pub const fn admits(self, packets: usize, bytes: Bytes, size: Bytes) -> bool {
        match self {
            Self::Packets(limit) => packets < limit as usize,
            Self::Bytes(limit) => bytes.0.saturating_add(size.0) <= limit.0,
            Self::Unlimited => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_packet_fills_the_buffer_exactly() {
        assert!(Limit::Packets(3).admits(2, Bytes(9_000), Bytes(1_500)));
        assert!(!Limit::Packets(3).admits(3, Bytes::ZERO, Bytes::ZERO));
        assert!(Limit::Bytes(Bytes(3_000)).admits(100, Bytes(1_500), Bytes(1_500)));
        assert!(!Limit::Bytes(Bytes(3_000)).admits(1, Bytes(1_500), Bytes(1_501)));
        assert!(Limit::Unlimited.admits(usize::MAX, Bytes(u64::MAX), Bytes(1)));
    }
}
