//! Writes test files according to the drafts draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// A packet to write.
#[derive(Clone, Debug)]
pub struct Packet {
    pub ns: u64,
    pub bytes: Vec<u8>,
    pub original_len: u32,
}

/// Byte orders.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    Big,
    Little,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }

    fn words(self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|&value| self.u32(value)).collect()
    }
}

/// Packets of lengths that need each kind of padding, microseconds apart.
pub fn packets() -> Vec<Packet> {
    let packet = |index: u64| {
        let bytes: Vec<u8> = (0..40 + index as u8 * 3).collect();
        Packet { ns: 1_700_000_000_000_000_000 + index * 1_234_000, original_len: bytes.len() as u32 + 7, bytes }
    };
    (0..12).map(packet).collect()
}

/// A pcap file. `field`: the link type with the bits above it.
pub fn pcap(order: Order, nanoseconds: bool, field: u32, packets: &[Packet]) -> Vec<u8> {
    let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = order.words(&[magic]);
    file.extend([order.u16(2), order.u16(4)].concat());
    file.extend(order.words(&[0, 0, 60, field]));
    for packet in packets {
        let fraction = packet.ns % 1_000_000_000 / if nanoseconds { 1 } else { 1000 };
        let seconds = packet.ns / 1_000_000_000;
        file.extend(order.words(&[seconds as u32, fraction as u32, packet.bytes.len() as u32, packet.original_len]));
        file.extend(&packet.bytes);
    }
    file
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0xee);
    padded
}

/// A block of pcapng.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let len = body.len() as u32 + 12;
    [&order.words(&[kind, len])[..], body, &order.u32(len)].concat()
}

/// An option of a block.
pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    [&order.u16(code)[..], &order.u16(value.len() as u16), &padded(value)].concat()
}

/// The header of a section of unknown length.
pub fn section(order: Order) -> Vec<u8> {
    let body = [&order.u32(0x1a2b_3c4d)[..], &order.u16(1), &order.u16(0), &[0xff; 8]].concat();
    block(order, 0x0a0d_0d0a, &body)
}

/// The description of an interface.
pub fn interface(order: Order, link: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
    block(order, 1, &[&order.u16(link)[..], &[0; 2], &order.u32(snaplen), options].concat())
}

/// An Enhanced Packet block; `units`: its time in the units of the interface.
pub fn enhanced(order: Order, interface: u32, units: u64, packet: &Packet) -> Vec<u8> {
    let lengths = [packet.bytes.len() as u32, packet.original_len];
    let fields = order.words(&[interface, (units >> 32) as u32, units as u32, lengths[0], lengths[1]]);
    block(order, 6, &[fields, padded(&packet.bytes)].concat())
}

/// An obsolete Packet block.
pub fn obsolete(order: Order, interface: u16, units: u64, packet: &Packet) -> Vec<u8> {
    let lengths = [packet.bytes.len() as u32, packet.original_len];
    let fields = order.words(&[(units >> 32) as u32, units as u32, lengths[0], lengths[1]]);
    let body = [&order.u16(interface)[..], &order.u16(3), &fields, &padded(&packet.bytes)].concat();
    block(order, 2, &body)
}

/// A Simple Packet block.
pub fn simple(order: Order, packet: &Packet) -> Vec<u8> {
    block(order, 3, &[&order.u32(packet.original_len)[..], &padded(&packet.bytes)].concat())
}

/// pcapng of Ethernet with times in nanoseconds.
pub fn pcapng(order: Order, packets: &[Packet]) -> Vec<u8> {
    let mut file = [section(order), interface(order, 1, 0, &option(order, 9, &[9]))].concat();
    packets.iter().for_each(|packet| file.extend(enhanced(order, 0, packet.ns, packet)));
    file
}

pub fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}
