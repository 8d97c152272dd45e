//! One received frame in its ring slot, and its conversion to the frame on the wire.
//!
//! The kernel strips the outer VLAN tag and passes it beside the frame, and a frame from the same machine may have an
//! incomplete transport checksum (left to the network card). [`Frame::copy_to`] undoes both.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::checksum;

/// `struct tpacket2_hdr` (linux/if_packet.h).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Header {
    status: u32,
    len: u32,
    snap_len: u32,
    mac: u16,
    net: u16,
    sec: u32,
    nsec: u32,
    vlan_tci: u16,
    vlan_tpid: u16,
    padding: [u8; 4],
}

/// A slot that the kernel has passed to this process.
pub(super) struct Slot<'r> {
    pub(super) status: &'r AtomicU32,
    pub(super) header: Header,
    pub(super) bytes: &'r [u8],
}

/// Length of `struct virtio_net_hdr` (virtio 1.2, 5.1.6), which the kernel puts right in front of the frame.
pub(super) const VIRTIO_HEADER: usize = 10;
pub(super) const VIRTIO_NEEDS_CSUM: u8 = 1;
const VIRTIO_GSO_NONE: u8 = 0;

const MAC_ADDRESSES: usize = 12;
const TAG: usize = 4;
const ETH_P_8021Q: u16 = 0x8100;

/// A received frame. Dropping it returns its slot to the kernel.
pub struct Frame<'r> {
    slot: Slot<'r>,
    flags: u32,
    bytes: &'r [u8],
    virtio: [u8; VIRTIO_HEADER],
    is_cut: bool,
}

/// A VLAN tag (IEEE 802.1Q).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag {
    /// The tag's EtherType, 0x8100 or 0x88a8.
    pub protocol: u16,
    /// Priority, drop eligibility and VLAN identifier.
    pub control: u16,
}

/// A transport checksum that covers the pseudo header only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialChecksum {
    /// Offset of the transport header in the frame without its outer tag, in bytes.
    pub start: u16,
    /// Offset of the checksum in the transport header, in bytes.
    pub offset: u16,
}

impl<'r> Frame<'r> {
    pub(super) fn new(slot: Slot<'r>, flags: u32) -> Self {
        // The kernel's offsets are inside the slot; others would be a kernel fault, and panic here.
        let mac = usize::from(slot.header.mac);
        let all: &'r [u8] = slot.bytes;
        let bytes = &all[mac..mac + slot.header.snap_len as usize];
        let virtio = all[mac - VIRTIO_HEADER..mac].try_into().expect("the range has the header's length");
        let is_cut = slot.header.len > slot.header.snap_len;
        Self { slot, flags, bytes, virtio, is_cut }
    }

    /// A frame that did not fit into its slot, as read from the socket: behind its virtio header.
    pub(super) fn whole(slot: Slot<'r>, flags: u32, fetched: &'r [u8]) -> Self {
        let Some((virtio, bytes)) = fetched.split_first_chunk() else { return Self::new(slot, flags) };
        let is_cut = bytes.len() < slot.header.len as usize;
        Self { slot, flags, bytes, virtio: *virtio, is_cut }
    }

    /// The frame as the kernel holds it: without its outer VLAN tag, and possibly with a partial checksum.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// The outer VLAN tag, which [`Self::bytes`] does not contain.
    pub fn vlan(&self) -> Option<VlanTag> {
        let known = self.flags & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let protocol = if known { self.slot.header.vlan_tpid } else { ETH_P_8021Q };
        (self.flags & libc::TP_STATUS_VLAN_VALID != 0)
            .then_some(VlanTag { protocol, control: self.slot.header.vlan_tci })
    }

    /// The partial checksum, if it must be completed.
    pub fn partial_checksum(&self) -> Option<PartialChecksum> {
        let needed = self.virtio[0] & VIRTIO_NEEDS_CSUM != 0;
        needed.then(|| PartialChecksum { start: self.virtio_u16(6), offset: self.virtio_u16(8) })
    }

    /// Payload bytes of each segment of a super-packet but the last: the kernel merged several packets into this one, or a
    /// sender on this machine left segmentation to the network card. `None` for other frames.
    pub fn segment_size(&self) -> Option<u16> {
        (self.virtio[1] != VIRTIO_GSO_NONE).then(|| self.virtio_u16(4))
    }

    fn virtio_u16(&self, at: usize) -> u16 {
        u16::from_ne_bytes([self.virtio[at], self.virtio[at + 1]])
    }

    /// Whether the frame is truncated: it was longer than its slot, and there was no memory for the whole, or longer than
    /// [`super::MOST_SUPER_BYTES`].
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// When the kernel received it: nanoseconds of `CLOCK_REALTIME`.
    pub fn received_ns(&self) -> u64 {
        u64::from(self.slot.header.sec) * 1_000_000_000 + u64::from(self.slot.header.nsec)
    }

    /// Writes the frame as it was on the wire (outer VLAN tag in its place, checksum completed) to `out` and returns its
    /// length; `None` if it is truncated, is shorter than an Ethernet header or does not fit.
    pub fn copy_to(&self, out: &mut [u8]) -> Option<usize> {
        rebuild(self.bytes, self.vlan(), self.partial_checksum(), out).filter(|_| !self.is_cut())
    }

    /// [`Self::copy_to`] without completing the checksum: each segment of a super-packet has its own.
    pub fn copy_super_to(&self, out: &mut [u8]) -> Option<usize> {
        rebuild(self.bytes, self.vlan(), None, out).filter(|_| !self.is_cut())
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        self.slot.status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }
}

fn rebuild(bytes: &[u8], vlan: Option<VlanTag>, checksum: Option<PartialChecksum>, out: &mut [u8]) -> Option<usize> {
    let (addresses, rest) = bytes.split_at_checked(MAC_ADDRESSES)?;
    let tag_len = if vlan.is_some() { TAG } else { 0 };
    let len = bytes.len() + tag_len;
    let out = out.get_mut(..len)?;
    out[..MAC_ADDRESSES].copy_from_slice(addresses);
    if let Some(tag) = vlan {
        out[MAC_ADDRESSES..MAC_ADDRESSES + 2].copy_from_slice(&tag.protocol.to_be_bytes());
        out[MAC_ADDRESSES + 2..MAC_ADDRESSES + TAG].copy_from_slice(&tag.control.to_be_bytes());
    }
    out[MAC_ADDRESSES + tag_len..].copy_from_slice(rest);
    if let Some(PartialChecksum { start, offset }) = checksum {
        checksum::complete(out.get_mut(usize::from(start) + tag_len..)?, offset)?;
    }
    Some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP datagram 10.0.0.1:1000 -> 10.0.0.2:2000 with the payload "abc", in Ethernet; the checksum field holds
    /// the pseudo header's sum (10.0 + 0.1 + 10.0 + 0.2 + protocol 17 + length 11 = 0x141f).
    fn datagram() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        frame.extend([0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x03, 0xe8, 0x07, 0xd0, 0, 11, 0x14, 0x1f, b'a', b'b', b'c']);
        frame
    }

    const UDP_AT: usize = 34;

    #[test]
    fn a_partial_checksum_is_completed_behind_a_restored_tag() {
        let frame = datagram();
        let checksum = PartialChecksum { start: UDP_AT as u16, offset: 6 };
        let tag = VlanTag { protocol: 0x8100, control: 0x2005 };
        let mut out = [0; 64];
        let len = rebuild(&frame, Some(tag), Some(checksum), &mut out).expect("fits");
        assert_eq!(len, frame.len() + 4);
        assert_eq!(out[..12], frame[..12]);
        assert_eq!(out[12..18], [0x81, 0x00, 0x20, 0x05, 8, 0]);
        // Verification as a receiver does it: pseudo header plus everything sums to all ones.
        let udp = &out[UDP_AT + 4..len];
        let words = udp.chunks(2).map(|p| u32::from(p[0]) << 8 | p.get(1).map_or(0, |&b| u32::from(b)));
        let mut sum = words.sum::<u32>() + 0x141f;
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        assert_eq!(sum, 0xffff);
    }

    #[test]
    fn a_frame_that_does_not_fit_is_refused_instead_of_truncated() {
        let frame = datagram();
        assert_eq!(rebuild(&frame, None, None, &mut vec![0; frame.len() - 1]), None);
        assert_eq!(rebuild(&frame[..11], None, None, &mut [0; 64]), None);
        let outside = PartialChecksum { start: 60_000, offset: 6 };
        assert_eq!(rebuild(&frame, None, Some(outside), &mut [0; 64]), None);
    }
}
