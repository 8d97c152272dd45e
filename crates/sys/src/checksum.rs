//! Transport checksums that a sender on the same machine left for its network card.
//!
//! Such a frame has the sum of the pseudo header in its checksum field (RFC 1071 and the headers of RFC 793 and RFC 768).
//! Where the kernel marks such frames, [`complete`] computes the checksum. Where a frame is read before the kernel can mark
//! it, [`complete_if_partial`] compares the field: a wrong checksum that equals the pseudo header's sum is an incomplete
//! one. One in 65,536 damaged packets looks the same, as many as pass a receiver's own check.
//!
//! Not here: transport headers behind IPv6 extension headers, and in fragments.

use evenair_packet::checksum::sum;

const UDP_OFFSET: u16 = 6;
const TCP_OFFSET: u16 = 16;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Completes the checksum at `offset` of a transport header and its payload (RFC 1071): the field holds the sum of the pseudo
/// header, so that the sum of everything is the checksum's complement. `None` if the field is out of bounds.
pub fn complete(transport: &mut [u8], offset: u16) -> Option<()> {
    // In UDP a zero means "no checksum", and its other form replaces it (RFC 768); for others the forms are equal.
    let value = match !sum(transport, 0) {
        0 if offset == UDP_OFFSET => 0xffff,
        value => value,
    };
    let at = usize::from(offset);
    transport.get_mut(at..at + 2)?.copy_from_slice(&value.to_be_bytes());
    Some(())
}

/// Completes the checksum of a TCP segment or UDP datagram in an Ethernet frame if it is incomplete. Returns whether it was.
pub fn complete_if_partial(frame: &mut [u8]) -> bool {
    let Some((segment, pseudo, offset)) = segment_of(frame) else { return false };
    let (range, at) = (segment, usize::from(offset));
    let Some(transport) = frame.get_mut(range) else { return false };
    let Some(field) = transport.get(at..at + 2) else { return false };
    let partial = [field[0], field[1]] == pseudo.to_be_bytes();
    // The correct checksum may happen to be the same number.
    partial && sum(transport, pseudo.into()) != 0xffff && complete(transport, offset).is_some()
}

/// The range of the transport segment, the sum of its pseudo header, and the offset of its checksum.
fn segment_of(frame: &[u8]) -> Option<(std::ops::Range<usize>, u16, u16)> {
    let u16_at = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
    let mut at = 12;
    while matches!(u16_at(at)?, 0x8100 | 0x88a8) {
        at += 4;
    }
    let (kind, ip) = (u16_at(at)?, at + 2);
    let (protocol, addresses, segment) = match kind {
        0x0800 => {
            let (first, total) = (*frame.get(ip)?, usize::from(u16_at(ip + 2)?));
            let fragment = u16_at(ip + 6)? & 0x3fff != 0;
            let header = usize::from(first & 15) * 4;
            if first >> 4 != 4 || fragment || header < 20 || total < header {
                return None;
            }
            (*frame.get(ip + 9)?, ip + 12..ip + 20, ip + header..ip + total)
        }
        0x86dd => {
            let payload = usize::from(u16_at(ip + 4)?);
            (*frame.get(ip + 6)?, ip + 8..ip + 40, ip + 40..ip + 40 + payload)
        }
        _ => return None,
    };
    let offset = match protocol {
        TCP => TCP_OFFSET,
        UDP => UDP_OFFSET,
        _ => return None,
    };
    let rest = u64::from(protocol) + segment.len() as u64;
    Some((segment, sum(frame.get(addresses)?, rest), offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with this tag, network header and segment.
    fn frame(tag: &[u8], network: &[u8], segment: &[u8]) -> Vec<u8> {
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], tag, network, segment].concat()
    }

    /// IPv4 from 10.0.0.1 to 10.0.0.2; the pseudo header of UDP with eleven bytes sums to 10.0 + 0.1 + 10.0 + 0.2 + 17 + 11.
    const V4: [u8; 22] = [8, 0, 0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    const DATAGRAM: [u8; 11] = [0x03, 0xe8, 0x07, 0xd0, 0, 11, 0x14, 0x1f, b'a', b'b', b'c'];

    #[test]
    fn a_udp_checksum_of_zero_is_written_as_all_ones() {
        let mut zero_sum = [0xff, 0xff, 0, 0, 0, 0, 0, 0];
        complete(&mut zero_sum, 6).expect("inside");
        assert_eq!(zero_sum[6..], [0xff, 0xff]);
        let mut tcp = [0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        complete(&mut tcp, 16).expect("inside");
        assert_eq!(tcp[16..], [0, 0]);
        assert_eq!(complete(&mut [0; 7], 6), None);
    }

    #[test]
    fn an_incomplete_checksum_is_completed_once() {
        for tag in [&[][..], &[0x81, 0, 0, 5], &[0x88, 0xa8, 0, 9, 0x81, 0, 0, 5]] {
            let mut partial = frame(tag, &V4, &DATAGRAM);
            assert!(complete_if_partial(&mut partial));
            let udp = &partial[partial.len() - DATAGRAM.len()..];
            assert_eq!(sum(udp, 0x141f), 0xffff, "as a receiver checks it");
            let whole = partial.clone();
            assert!(!complete_if_partial(&mut partial));
            assert_eq!(partial, whole);
        }
        // IPv6 from ::1 to ::2, TCP of 20 bytes: 1 + 2 + 6 + 20.
        let mut v6 = vec![0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 6, 64];
        v6.extend((0..32).map(|n| u8::from(n == 15) + 2 * u8::from(n == 31)));
        let mut tcp = [7; 20];
        tcp[16..18].copy_from_slice(&29u16.to_be_bytes());
        let mut partial = frame(&[], &v6, &tcp);
        assert!(complete_if_partial(&mut partial));
        assert_eq!(sum(&partial[54..], 29), 0xffff);
    }

    #[test]
    fn other_frames_are_unchanged() {
        let mut wrong = DATAGRAM;
        wrong[7] += 1;
        let mut none = DATAGRAM;
        none[6..8].fill(0);
        let (mut fragment, mut other) = (V4, V4);
        fragment[8] = 0x20;
        other[11] = 50;
        // A payload whose correct checksum equals the pseudo header's sum: the other words then sum to its complement.
        let mut same = DATAGRAM;
        let rest = sum(&[0x03, 0xe8, 0x07, 0xd0, 0, 11, 0x14, 0x1f, 0, 0, b'c'], 0x141f);
        same[8..10].copy_from_slice(&(!rest).to_be_bytes());
        for (what, frame) in [
            ("damaged", frame(&[], &V4, &wrong)),
            ("no checksum", frame(&[], &V4, &none)),
            ("a fragment", frame(&[], &fragment, &DATAGRAM)),
            ("another protocol", frame(&[], &other, &DATAGRAM)),
            ("right by chance", frame(&[], &V4, &same)),
            ("cut short", frame(&[], &V4, &DATAGRAM[..7])),
            ("no IP", frame(&[], &[0x88, 0xb5, 1, 2], &[])),
            ("nothing", Vec::new()),
        ] {
            let mut after = frame.clone();
            assert!(!complete_if_partial(&mut after), "{what}");
            assert_eq!(after, frame, "{what}");
        }
    }
}
