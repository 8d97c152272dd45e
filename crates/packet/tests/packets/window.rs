//! Edits of the TCP window in frames of all layouts, against checksums computed in full.

use core::net::IpAddr;

use etherparse::{PacketBuilder, TcpOptionElement, TcpSlice};
use evenair_packet::{Edits, IpMeta, PacketMeta, Port, TcpMeta, Transport, parse};
use proptest::prelude::*;

/// A TCP segment, header included.
fn segment(window: u16, timestamps: bool, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([0; 4], [0; 4], 64).tcp(5001, 443, 1000, window);
    let options = [TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(7, 9)];
    let builder = builder.ack(7777).options(if timestamps { &options } else { &[] }).unwrap();
    builder.write(&mut frame, payload).unwrap();
    frame.split_off(34)
}

/// The correct checksum of a segment.
fn checksum(segment: &[u8], src: IpAddr, dst: IpAddr) -> u16 {
    let tcp = TcpSlice::from_slice(segment).unwrap();
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => tcp.calc_checksum_ipv4(src.octets(), dst.octets()).unwrap(),
        (IpAddr::V6(src), IpAddr::V6(dst)) => tcp.calc_checksum_ipv6(src.octets(), dst.octets()).unwrap(),
        _ => unreachable!("one version"),
    }
}

/// A frame with this segment, and the segment's offset. `v6`: behind `more` extension headers; else IPv4 with `more`
/// words of options.
fn frame(v6: bool, more: usize, tags: usize, addresses: [u8; 2], mut segment: Vec<u8>) -> (Vec<u8>, usize) {
    let mut frame = [[4; 6], [2; 6]].concat();
    for tag in 0..tags {
        frame.extend_from_slice(&[0x81, 0, 0, tag as u8]);
    }
    let (src, dst): (IpAddr, IpAddr) = match v6 {
        false => ([addresses[0]; 4].into(), [addresses[1]; 4].into()),
        true => ([addresses[0]; 16].into(), [addresses[1]; 16].into()),
    };
    let right = checksum(&segment, src, dst);
    segment[16..18].copy_from_slice(&right.to_be_bytes());
    if v6 {
        frame.extend_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend_from_slice(&((more * 8 + segment.len()) as u16).to_be_bytes());
        let kinds: Vec<u8> = (0..more).map(|i| if i == 0 { 0 } else { 60 }).chain([6]).collect();
        frame.extend_from_slice(&[kinds[0], 64]);
        frame.extend([addresses[0]; 16].into_iter().chain([addresses[1]; 16]));
        // Each: the next header, no further 8 octets, one PadN option.
        kinds[1..].iter().for_each(|&next| frame.extend_from_slice(&[next, 0, 1, 4, 0, 0, 0, 0]));
    } else {
        frame.extend_from_slice(&[0x08, 0x00, 0x45 + more as u8, 0]);
        frame.extend_from_slice(&((20 + more * 4 + segment.len()) as u16).to_be_bytes());
        frame.extend_from_slice(&[0, 1, 0x40, 0, 64, 6, 0xab, 0xcd]);
        frame.extend([addresses[0]; 4].into_iter().chain([addresses[1]; 4]));
        frame.extend(core::iter::repeat_n(1, more * 4));
    }
    let at = frame.len();
    frame.append(&mut segment);
    (frame, at)
}

fn ends(meta: &PacketMeta) -> (IpAddr, IpAddr) {
    let ip = meta.ip.as_ref().unwrap();
    (ip.src, ip.dst)
}

/// Layout around a segment: see [`frame`].
#[derive(Clone, Copy, Debug)]
struct Layout {
    v6: bool,
    more: usize,
    tags: usize,
    addresses: [u8; 2],
}

fn layouts() -> impl Strategy<Value = Layout> {
    let parts = (any::<bool>(), 0usize..4, 0usize..3, any::<[u8; 2]>());
    parts.prop_map(|(v6, more, tags, addresses)| Layout { v6, more, tags, addresses })
}

proptest! {
    #[test]
    fn the_checksum_is_that_of_a_full_computation(
        layout in layouts(),
        windows: [u16; 2],
        timestamps: bool,
        payload in proptest::collection::vec(any::<u8>(), 0..40),
        padding in 0usize..7,
    ) {
        let Layout { v6, more, tags, addresses } = layout;
        let [was, window] = windows;
        let (mut edited, at) = frame(v6, more, tags, addresses, segment(was, timestamps, &payload));
        edited.resize(edited.len() + padding, 0);
        let before = (edited.clone(), parse(Port::Wlan, &edited));
        Edits { window: Some(window), ..Edits::NONE }.apply(&mut edited);
        let after = parse(Port::Wlan, &edited);
        let tcp = TcpMeta { window, ..before.1.tcp().expect("TCP").clone() };
        prop_assert_eq!(after.tcp(), Some(&tcp));
        let end = edited.len() - padding;
        let (src, dst) = ends(&after);
        prop_assert_eq!(&edited[at + 16..at + 18], &checksum(&edited[at..end], src, dst).to_be_bytes());
        // Nothing else has changed.
        edited[at + 14..at + 18].copy_from_slice(&before.0[at + 14..at + 18]);
        prop_assert_eq!(edited, before.0);
    }

    #[test]
    fn a_damaged_packet_stays_damaged(was: u16, window: u16, damage in 1u16..0xffff, v6: bool) {
        let (mut frame, at) = frame(v6, 0, 0, [10, 11], segment(was, true, b"data"));
        let right = u16::from_be_bytes([frame[at + 16], frame[at + 17]]);
        frame[at + 16..at + 18].copy_from_slice(&(right ^ damage).to_be_bytes());
        Edits { window: Some(window), ..Edits::NONE }.apply(&mut frame);
        let (src, dst) = ends(&parse(Port::Wlan, &frame));
        let (is, ought) = (u16::from_be_bytes([frame[at + 16], frame[at + 17]]), checksum(&frame[at..], src, dst));
        // All zeros and all ones are the same number in ones' complement.
        prop_assert_ne!(is % 0xffff, ought % 0xffff);
    }

    /// For any bytes: a TCP header has the new window, and no other byte but the checksum has changed.
    #[test]
    fn changed_frames_are_survived(
        v6: bool,
        more in 0usize..4,
        changes in proptest::collection::vec((12usize..120, any::<u8>()), 0..6),
        cut in 0usize..40,
        window: u16,
    ) {
        let (mut edited, _) = frame(v6, more, 1, [10, 11], segment(99, false, b"some data"));
        for (at, value) in changes {
            if let Some(byte) = edited.get_mut(at) {
                *byte = value;
            }
        }
        edited.truncate(edited.len() - cut.saturating_sub(30));
        let before = (edited.clone(), parse(Port::Wlan, &edited));
        Edits { window: Some(window), ..Edits::NONE }.apply(&mut edited);
        let changed: Vec<usize> = (0..edited.len()).filter(|&i| edited[i] != before.0[i]).collect();
        match before.1.tcp() {
            None => prop_assert!(changed.is_empty()),
            Some(_) if changed.is_empty() => {}
            Some(tcp) => {
                let after = parse(Port::Wlan, &edited);
                prop_assert_eq!(after.tcp(), Some(&TcpMeta { window, ..tcp.clone() }));
                prop_assert!(changed.len() <= 4 && changed[changed.len() - 1] - changed[0] < 4);
            }
        }
    }
}

#[test]
fn fragments_ciphertext_and_other_protocols_are_left_alone() {
    let (whole, at) = frame(false, 0, 0, [10, 11], segment(99, false, b"data"));
    let (behind, _) = frame(true, 1, 0, [10, 11], segment(99, false, b"data"));
    let changed = |frame: &[u8], at: usize, value: u8| {
        let mut frame = frame.to_vec();
        frame[at] = value;
        frame
    };
    let mut protected = behind[..54].to_vec();
    // An authentication header (RFC 4302) of 16 octets, TCP behind it.
    protected.extend_from_slice(&[6, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 9, 9, 9, 9]);
    protected.extend_from_slice(&behind[62..]);
    let payload_len = (protected.len() - 54) as u16;
    protected[18..20].copy_from_slice(&payload_len.to_be_bytes());
    protected[20] = 51;
    let meta = parse(Port::Wlan, &protected);
    assert!(matches!(meta.ip, Some(IpMeta { transport: Transport::Tcp(_), .. })), "it can be read: {meta:?}");
    let others = [
        changed(&whole, 20, 0x20),      // more fragments
        changed(&whole, 21, 1),         // a later fragment
        changed(&whole, 23, 17),        // UDP
        changed(&whole, 12, 0x99),      // not IP
        changed(&whole, at + 12, 0x40), // a header shorter than TCP's
        changed(&behind, 54, 50),       // ciphertext (RFC 4303)
        protected,
    ];
    for frame in others {
        let mut edited = frame.clone();
        Edits { window: Some(1), ..Edits::NONE }.apply(&mut edited);
        assert_eq!(edited, frame);
    }
    let mut edited = whole.clone();
    Edits { window: Some(1), ..Edits::NONE }.apply(&mut edited);
    assert_ne!(edited, whole, "and this one is not");
}
