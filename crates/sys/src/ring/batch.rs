//! Frames to send in one call, including super-packets that the kernel or the card segments (segmentation offload).

use super::SEND_BATCH;
use super::frame::{VIRTIO_HEADER, VIRTIO_NEEDS_CSUM};

// struct virtio_net_hdr (virtio 1.2, 5.1.6).
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_ECN: u8 = 0x80;
/// Offset of the checksum in a TCP header (RFC 9293, 3.1).
const TCP_CHECKSUM: u16 = 16;

/// Maximum number of slices of a batch: as many as one message may have (UIO_MAXIOV in linux/uio.h).
const MOST_PARTS: usize = 1024;

/// Offload parameters with which the kernel segments a super-packet of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOffload {
    /// Length of all headers.
    pub headers: u16,
    /// Payload bytes of each segment but the last.
    pub segment: u16,
    /// Offset of the TCP header, whose checksum field holds the sum of the pseudo header.
    pub transport: u16,
    /// Whether it is IPv6, else IPv4.
    pub is_v6: bool,
    /// Whether only the first segment has "congestion window reduced".
    pub cwr: bool,
}

impl TcpOffload {
    fn virtio(self) -> [u8; VIRTIO_HEADER] {
        let mut header = [0; VIRTIO_HEADER];
        header[0] = VIRTIO_NEEDS_CSUM;
        header[1] = if self.is_v6 { GSO_TCPV6 } else { GSO_TCPV4 } | if self.cwr { GSO_ECN } else { 0 };
        let fields = [self.headers, self.segment, self.transport, TCP_CHECKSUM];
        for (field, value) in header[2..].chunks_exact_mut(2).zip(fields) {
            field.copy_from_slice(&value.to_ne_bytes());
        }
        header
    }
}

/// Frames in the order of sending, at most [`SEND_BATCH`].
#[derive(Debug, Default)]
pub struct Batch<'a> {
    pub(super) frames: Vec<Parts>,
    pub(super) parts: Vec<&'a [u8]>,
}

/// One frame.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) virtio: [u8; VIRTIO_HEADER],
    /// Number of its slices, which follow those of the previous frame.
    pub(super) count: usize,
}

impl<'a> Batch<'a> {
    /// An empty batch.
    pub fn new() -> Self {
        Self { frames: Vec::with_capacity(SEND_BATCH), parts: Vec::with_capacity(SEND_BATCH) }
    }

    /// Adds a frame. Returns whether there was room for it.
    pub fn push(&mut self, frame: &'a [u8]) -> bool {
        self.add([0; VIRTIO_HEADER], [frame].into_iter())
    }

    /// Adds a super-packet that consists of these slices, headers first. Returns whether there was room for it.
    pub fn push_super(&mut self, offload: TcpOffload, parts: impl ExactSizeIterator<Item = &'a [u8]>) -> bool {
        self.add(offload.virtio(), parts)
    }

    fn add(&mut self, virtio: [u8; VIRTIO_HEADER], parts: impl ExactSizeIterator<Item = &'a [u8]>) -> bool {
        let count = parts.len();
        let has_room = self.frames.len() < SEND_BATCH && self.parts.len() + count < MOST_PARTS;
        if has_room {
            self.frames.push(Parts { virtio, count });
            self.parts.extend(parts);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_virtio_header_has_the_offload_parameters() {
        let offload = TcpOffload { headers: 66, segment: 1448, transport: 34, is_v6: false, cwr: false };
        let number = |n: u16| n.to_ne_bytes();
        let wanted = [&[1, 1][..], &number(66), &number(1448), &number(34), &number(16)].concat();
        assert_eq!(offload.virtio()[..], wanted);
        assert_eq!(TcpOffload { is_v6: true, cwr: true, ..offload }.virtio()[1], 0x84);
    }

    #[test]
    fn a_batch_has_bounded_room() {
        let (frame, mut batch) = ([0; 4], Batch::new());
        assert!((0..SEND_BATCH).all(|_| batch.push(&frame)));
        assert!(!batch.push(&frame));
        let offload = TcpOffload { headers: 1, segment: 1, transport: 0, is_v6: false, cwr: false };
        let mut parts = Batch::new();
        assert!(!parts.push_super(offload, vec![&frame[..]; MOST_PARTS].into_iter()));
        assert!(parts.push_super(offload, vec![&frame[..]; 100].into_iter()));
    }
}
