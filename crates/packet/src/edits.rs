//! Changes to a packet that the manager requests when it releases it.
//!
//! Checksums are corrected incrementally (RFC 1624), never recomputed: a damaged packet must stay damaged, or its
//! receiver could not detect that. Frames of unknown layout are left alone.

use crate::parse::{Version, ip_offset, tcp_offset};

/// Changes to a packet. `None` and `false` leave a field as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Edits {
    /// New differentiated services code point, 6 bits; the ECN bits stay.
    pub dscp: Option<u8>,
    /// Set "congestion experienced" (RFC 3168, 5), if the transport is ECN-capable; otherwise nothing changes.
    pub congestion: bool,
    /// New window field of TCP (RFC 9293, 3.1), as on the wire: not scaled. Other protocols, fragments, and TCP behind an
    /// authentication header, which covers the field, are left as they are.
    pub window: Option<u16>,
}

/// Offsets in a TCP header (RFC 9293, 3.1).
const WINDOW: usize = 14;
const TCP_CHECKSUM: usize = 16;

/// Both ECN bits: congestion experienced. Zero means that the transport is not ECN-capable.
const ECN: u8 = 0b11;

impl Edits {
    /// No change.
    pub const NONE: Self = Self { dscp: None, congestion: false, window: None };

    /// Applies the changes to an Ethernet frame. A frame that carries no IP header is left as it is.
    pub fn apply(&self, frame: &mut [u8]) {
        if *self == Self::NONE {
            return;
        }
        if let Some(window) = self.window
            && let Some(at) = tcp_offset(frame)
        {
            set_window(&mut frame[at..], window);
        }
        if self.dscp.is_none() && !self.congestion {
            return;
        }
        match ip_offset(frame) {
            Some((Version::V4, at)) => {
                let class = self.class(frame[at + 1]);
                set_class_v4(&mut frame[at..], class);
            }
            Some((Version::V6, at)) => {
                let class = self.class(frame[at] << 4 | frame[at + 1] >> 4);
                set_class_v6(&mut frame[at..], class);
            }
            None => {}
        }
    }

    /// New value of the octet with DSCP and ECN.
    const fn class(&self, was: u8) -> u8 {
        let class = match self.dscp {
            Some(dscp) => dscp << 2 | was & ECN,
            None => was,
        };
        if self.congestion && was & ECN != 0 { class | ECN } else { class }
    }
}

/// RFC 791: the second octet is DSCP and ECN, octets 10 and 11 are the header checksum.
fn set_class_v4(header: &mut [u8], class: u8) {
    let old = u16::from_be_bytes([header[0], header[1]]);
    header[1] = class;
    let new = u16::from_be_bytes([header[0], header[1]]);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    header[10..12].copy_from_slice(&adjust_checksum(checksum, old, new).to_be_bytes());
}

/// RFC 8200: the traffic class lies across the first two octets; no checksum covers it.
fn set_class_v6(header: &mut [u8], class: u8) {
    header[0] = header[0] & 0xf0 | class >> 4;
    header[1] = class << 4 | header[1] & 0x0f;
}

/// The checksum covers the field; that of the pseudo header does not change.
fn set_window(header: &mut [u8], window: u16) {
    let old = u16::from_be_bytes([header[WINDOW], header[WINDOW + 1]]);
    let checksum = u16::from_be_bytes([header[TCP_CHECKSUM], header[TCP_CHECKSUM + 1]]);
    if old != window {
        header[WINDOW..WINDOW + 2].copy_from_slice(&window.to_be_bytes());
        let checksum = adjust_checksum(checksum, old, window);
        header[TCP_CHECKSUM..TCP_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
    }
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
            Edits { dscp: Some(dscp), ..Edits::NONE }.apply(&mut frame);
            let after = parse(Port::Wire, &frame).ip.unwrap();
            prop_assert_eq!(after.dscp, dscp);
            prop_assert_eq!(crate::dscp(&frame), Some(dscp));
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
            Edits { dscp: Some(dscp), ..Edits::NONE }.apply(&mut frame);
            prop_assert_eq!(parse(Port::Wire, &frame).ip.unwrap().dscp, dscp);
            prop_assert_eq!(crate::dscp(&frame), Some(dscp));
            Edits { dscp: Some(0), ..Edits::NONE }.apply(&mut frame);
            prop_assert_eq!(frame, before);
        }

        #[test]
        fn congestion_is_marked_where_the_transport_understands_it(tos: u8, payload: [u8; 9]) {
            let mark = Edits { congestion: true, ..Edits::NONE };
            let mut v4 = v4_frame(tos, &payload);
            let mut v6 = Vec::new();
            PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
                .ipv6([1; 16], [2; 16], 64)
                .udp(1, 2)
                .write(&mut v6, &payload)
                .unwrap();
            set_class_v6(&mut v6[14..], tos);
            for frame in [&mut v4, &mut v6] {
                let before = parse(Port::Wire, frame).ip.unwrap();
                prop_assert_eq!(before.dscp << 2 | before.ecn, tos);
                mark.apply(frame);
                let after = parse(Port::Wire, frame).ip.unwrap();
                prop_assert_eq!(after.ecn, if tos & 3 == 0 { 0 } else { 3 });
                prop_assert_eq!(&crate::IpMeta { ecn: before.ecn, ..after }, &before);
            }
            let header = Ipv4HeaderSlice::from_slice(&v4[14..]).unwrap().to_header();
            prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
        }

        #[test]
        fn any_bytes_are_survived(mut frame: Vec<u8>, dscp: u8) {
            Edits { dscp: Some(dscp), congestion: true, window: None }.apply(&mut frame);
            let ip = parse(Port::Wire, &frame).ip;
            prop_assert!(ip.is_none_or(|ip| crate::dscp(&frame) == Some(ip.dscp)));
        }
    }
}
