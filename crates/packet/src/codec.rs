//! Metadata to bytes and back, for recordings.
//!
//! A format of our own, little endian, without a self-description: a recording is read by the code that wrote it, and
//! its header carries the version. Optional fields are a presence byte followed by the value. Reading wrong bytes is
//! an error, never a panic.

use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use evenair_units::Bytes;

use crate::content::{self, Content};
use crate::{IpMeta, MacAddr, PacketMeta, Port, TcpFlags, TcpMeta, Timestamps, Transport, Vlan};

/// Bytes that no encoder wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecError {
    /// They end in the middle of a value.
    Truncated,
    /// A tag has no meaning.
    Tag(u8),
    /// A number is larger than it can be.
    OutOfRange(u64),
}

/// No packet is longer, offloads included; whoever computes with lengths relies on it.
const MAX_LEN: u64 = 1 << 20;

/// In a packet's first byte, beside its port: what it carries is written down at its end. Packets that were written down
/// before that was looked at have it not, and are read as ones that carry nothing.
const CARRIES: u8 = 2;

/// Reads values off the front of some bytes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Writes values to the end of some bytes.
pub trait Write {
    /// Appends raw bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Appends one byte.
    fn put_u8(&mut self, x: u8) {
        self.put(&[x]);
    }
    /// Appends two bytes.
    fn put_u16(&mut self, x: u16) {
        self.put(&x.to_le_bytes());
    }
    /// Appends four bytes.
    fn put_u32(&mut self, x: u32) {
        self.put(&x.to_le_bytes());
    }
    /// Appends eight bytes.
    fn put_u64(&mut self, x: u64) {
        self.put(&x.to_le_bytes());
    }
    /// Appends a presence byte and, if there is one, the value.
    fn put_option<T>(&mut self, x: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.put_u8(x.is_some().into());
        if let Some(x) = x {
            put(self, x);
        }
    }
}

impl Write for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl<'a> Reader<'a> {
    /// Reads from the front of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub const fn consumed(&self) -> usize {
        self.at
    }

    /// Nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], CodecError> {
        let end = self.at.checked_add(n).ok_or(CodecError::Truncated)?;
        let taken = self.bytes.get(self.at..end).ok_or(CodecError::Truncated)?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        self.take(N)?.try_into().map_err(|_| CodecError::Truncated)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, CodecError> {
        Ok(self.array::<1>()?[0])
    }
    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, CodecError> {
        self.array().map(u16::from_le_bytes)
    }
    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, CodecError> {
        self.array().map(u32::from_le_bytes)
    }
    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, CodecError> {
        self.array().map(u64::from_le_bytes)
    }
    /// A byte that is 0 or 1.
    pub fn bool(&mut self) -> Result<bool, CodecError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            tag => Err(CodecError::Tag(tag)),
        }
    }
    /// Eight bytes for a number that is not above `max`.
    pub fn u64_up_to(&mut self, max: u64) -> Result<u64, CodecError> {
        let number = self.u64()?;
        if number <= max { Ok(number) } else { Err(CodecError::OutOfRange(number)) }
    }
    fn length(&mut self) -> Result<Bytes, CodecError> {
        self.u64_up_to(MAX_LEN).map(Bytes)
    }
    /// A MAC address.
    pub fn mac(&mut self) -> Result<MacAddr, CodecError> {
        self.array().map(MacAddr)
    }
    /// A presence byte and, if it says so, a value.
    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, CodecError>,
    ) -> Result<Option<T>, CodecError> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }
}

/// Appends a packet's metadata to `out`.
pub fn encode(meta: &PacketMeta, out: &mut Vec<u8>) {
    let carries = meta.content != Content::Opaque;
    out.put_u8(u8::from(meta.ingress == Port::Wire) | if carries { CARRIES } else { 0 });
    out.put_u64(meta.frame_len.0);
    out.put(&meta.src.0);
    out.put(&meta.dst.0);
    out.put_option(meta.vlan, put_vlan);
    out.put_u16(meta.ether_type);
    out.put_option(meta.ip.as_ref(), encode_ip);
    if carries {
        content::encode(out, &meta.content);
    }
}

/// Reads one packet's metadata off the front of `bytes`, and says how many bytes it took.
pub fn decode(bytes: &[u8]) -> Result<(PacketMeta, usize), CodecError> {
    let mut reader = Reader::new(bytes);
    let first = reader.u8()?;
    let meta = PacketMeta {
        ingress: match first & !CARRIES {
            0 => Port::Wlan,
            1 => Port::Wire,
            _ => return Err(CodecError::Tag(first)),
        },
        frame_len: reader.length()?,
        src: reader.mac()?,
        dst: reader.mac()?,
        vlan: reader.option(read_vlan)?,
        ether_type: reader.u16()?,
        ip: reader.option(decode_ip)?,
        content: if first & CARRIES == 0 { Content::Opaque } else { content::decode(&mut reader)? },
    };
    Ok((meta, reader.consumed()))
}

fn encode_ip(out: &mut Vec<u8>, ip: &IpMeta) {
    put_address(out, ip.src);
    put_address(out, ip.dst);
    out.put(&[ip.protocol, ip.dscp, ip.ecn]);
    out.put_u64(ip.total_len.0);
    out.put_u8(ip.fragment.into());
    match &ip.transport {
        Transport::Other => out.put_u8(0),
        Transport::Udp { src_port, dst_port } => {
            out.put_u8(1);
            out.put_u16(*src_port);
            out.put_u16(*dst_port);
        }
        Transport::Tcp(tcp) => {
            out.put_u8(2);
            encode_tcp(out, tcp);
        }
        Transport::Icmp { kind } => {
            out.put_u8(3);
            out.put_u8(*kind);
        }
    }
}

fn decode_ip(reader: &mut Reader<'_>) -> Result<IpMeta, CodecError> {
    Ok(IpMeta {
        src: read_address(reader)?,
        dst: read_address(reader)?,
        protocol: reader.u8()?,
        dscp: reader.u8()?,
        ecn: reader.u8()?,
        total_len: reader.length()?,
        fragment: reader.bool()?,
        transport: match reader.u8()? {
            0 => Transport::Other,
            1 => Transport::Udp { src_port: reader.u16()?, dst_port: reader.u16()? },
            2 => Transport::Tcp(decode_tcp(reader)?),
            3 => Transport::Icmp { kind: reader.u8()? },
            tag => return Err(CodecError::Tag(tag)),
        },
    })
}

fn encode_tcp(out: &mut Vec<u8>, tcp: &TcpMeta) {
    out.put_u16(tcp.src_port);
    out.put_u16(tcp.dst_port);
    out.put_u32(tcp.seq);
    out.put_u32(tcp.ack);
    out.put_u8(tcp.flags.0);
    out.put_u16(tcp.window);
    out.put_u64(tcp.payload.0);
    out.put_option(tcp.window_scale, Write::put_u8);
    out.put_option(tcp.mss, Write::put_u16);
    out.put_u8(tcp.sack.into());
    out.put_option(tcp.timestamps, |out, stamps| {
        out.put_u32(stamps.value);
        out.put_u32(stamps.echo);
    });
}

fn decode_tcp(reader: &mut Reader<'_>) -> Result<TcpMeta, CodecError> {
    Ok(TcpMeta {
        src_port: reader.u16()?,
        dst_port: reader.u16()?,
        seq: reader.u32()?,
        ack: reader.u32()?,
        flags: TcpFlags(reader.u8()?),
        window: reader.u16()?,
        payload: reader.length()?,
        window_scale: reader.option(Reader::u8)?,
        mss: reader.option(Reader::u16)?,
        sack: reader.bool()?,
        timestamps: reader.option(|r| Ok(Timestamps { value: r.u32()?, echo: r.u32()? }))?,
    })
}

/// Appends a VLAN.
pub fn put_vlan(out: &mut Vec<u8>, vlan: Vlan) {
    out.put_u16(vlan.id);
    out.put_option(vlan.inner, Write::put_u16);
}

/// Reads a VLAN off the front.
pub fn read_vlan(reader: &mut Reader<'_>) -> Result<Vlan, CodecError> {
    Ok(Vlan { id: reader.u16()?, inner: reader.option(Reader::u16)? })
}

/// Appends an IP address.
pub fn put_address(out: &mut Vec<u8>, addr: IpAddr) {
    match addr {
        IpAddr::V4(v4) => {
            out.put_u8(4);
            out.put(&v4.octets());
        }
        IpAddr::V6(v6) => {
            out.put_u8(6);
            out.put(&v6.octets());
        }
    }
}

/// Reads an IP address off the front.
pub fn read_address(reader: &mut Reader<'_>) -> Result<IpAddr, CodecError> {
    match reader.u8()? {
        4 => reader.array().map(|octets: [u8; 4]| IpAddr::V4(Ipv4Addr::from(octets))),
        6 => reader.array().map(|octets: [u8; 16]| IpAddr::V6(Ipv6Addr::from(octets))),
        tag => Err(CodecError::Tag(tag)),
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the bytes end in the middle of a value"),
            Self::Tag(tag) => write!(f, "the tag {tag} has no meaning"),
            Self::OutOfRange(number) => write!(f, "the number {number} is out of range"),
        }
    }
}

impl core::error::Error for CodecError {}
