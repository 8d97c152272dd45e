//! Changes that the manager asks for in a packet it releases.
//!
//! Checksums are corrected incrementally (RFC 1624), never recomputed: a packet that came in damaged must leave
//! damaged, or its receiver could not tell. Frames whose layout is not understood are left alone.

use crate::parse::{Version, ip_offset};

/// Changes to a packet. `None` leaves a field as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Edits {
    /// New differentiated services code point, 6 bits; the ECN bits stay.
    pub dscp: Option<u8>,
}

impl Edits {
    /// No change.
    pub const NONE: Self = Self { dscp: None };

    /// Applies the changes to an Ethernet frame. A frame that carries no IP header is left as it is.
    pub fn apply(&self, frame: &mut [u8]) {
        if let Some(dscp) = self.dscp {
            match ip_offset(frame) {
                Some((Version::V4, at)) => set_dscp_v4(&mut frame[at..], dscp & 0x3f),
                Some((Version::V6, at)) => set_dscp_v6(&mut frame[at..], dscp & 0x3f),
                None => {}
            }
        }
    }
}

/// RFC 791: the second octet is DSCP and ECN, octets 10 and 11 are the header checksum.
fn set_dscp_v4(header: &mut [u8], dscp: u8) {
    let old = u16::from_be_bytes([header[0], header[1]]);
    header[1] = dscp << 2 | header[1] & 0b11;
    let new = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    header[10..12].copy_from_slice(&adjust_checksum(checksum, old, new).to_be_bytes());
}

/// RFC 8200: the traffic class lies across the first two octets; no checksum covers it.
fn set_dscp_v6(header: &mut [u8], dscp: u8) {
    header[0] = header[0] & 0xf0 | dscp >> 2;
    header[1] = dscp << 6 | header[1] & 0x3f;
}

/// RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
fn adjust_checksum(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Port, parse};
    use alloc::vec::Vec;
    use etherparse::{Ipv4HeaderSlice, PacketBuilder};
    use proptest::prelude::*;

    fn v4_frame(tos: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        let builder =
            PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        builder.udp(1, 2).write(&mut frame, payload).unwrap();
        let mut header = Ipv4HeaderSlice::from_slice(&frame[14..]).unwrap().to_header();
        header.dscp = (tos >> 2).try_into().unwrap();
        header.ecn = (tos & 3).try_into().unwrap();
        header.header_checksum = header.calc_header_checksum();
        frame[14..34].copy_from_slice(&header.to_bytes());
        frame
    }

    #[test]
    fn rfc_1624_example() {
        // Section 4 of the RFC: HC = 0xDD2F, m = 0x5555, m' = 0x3285 gives 0x0000.
        assert_eq!(adjust_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    proptest! {
        #[test]
        fn dscp_changes_alone_and_the_checksum_stays_right(tos: u8, dscp in 0u8..64, payload: [u8; 9]) {
            let mut frame = v4_frame(tos, &payload);
            let before = parse(Port::Wire, &frame).ip.unwrap();
            Edits { dscp: Some(dscp) }.apply(&mut frame);
            let after = parse(Port::Wire, &frame).ip.unwrap();
            prop_assert_eq!(after.dscp, dscp);
            prop_assert_eq!(&crate::IpMeta { dscp: before.dscp, ..after }, &before);
            let header = Ipv4HeaderSlice::from_slice(&frame[14..]).unwrap().to_header();
            prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
        }

        #[test]
        fn v6_traffic_class(dscp in 0u8..64, payload: [u8; 4]) {
            let mut frame = Vec::new();
            let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]).ipv6([1; 16], [2; 16], 64);
            builder.udp(1, 2).write(&mut frame, &payload).unwrap();
            let before = frame.clone();
            Edits { dscp: Some(dscp) }.apply(&mut frame);
            prop_assert_eq!(parse(Port::Wire, &frame).ip.unwrap().dscp, dscp);
            Edits { dscp: Some(0) }.apply(&mut frame);
            prop_assert_eq!(frame, before);
        }

        #[test]
        fn any_bytes_are_survived(mut frame: Vec<u8>, dscp: u8) {
            Edits { dscp: Some(dscp) }.apply(&mut frame);
        }
    }
}
