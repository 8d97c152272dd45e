//! The record of one packet.

use core::fmt;
use core::net::IpAddr;

use evenair_units::Bytes;

use crate::{Content, MacAddr, RtpMeta};

/// A side of the box: where a packet came in, or by which it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// The side of the access points and their stations.
    Wlan,
    /// The wired side.
    Wire,
}

/// All that the manager may know of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketMeta {
    /// The side it came in from.
    pub ingress: Port,
    /// Length of the Ethernet frame without its FCS.
    pub frame_len: Bytes,
    /// Source MAC address.
    pub src: MacAddr,
    /// Destination MAC address.
    pub dst: MacAddr,
    /// Its VLAN, where it has a tag that names one.
    pub vlan: Option<Vlan>,
    /// EtherType behind all VLAN tags; a length where the frame is IEEE 802.3 with LLC.
    pub ether_type: u16,
    /// What the IP header says, where there is an intact one.
    pub ip: Option<IpMeta>,
    /// What it carries, as far as that is understood.
    pub content: Content,
}

/// A VLAN, by the tags of a frame (IEEE 802.1Q): the outermost one, and what is inside of it where there are two (802.1ad,
/// "QinQ"). A tag with identifier zero carries a priority and names no VLAN (802.1Q, 9.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vlan {
    /// Identifier of the outermost tag that names one, 1 to 4095.
    pub id: u16,
    /// Identifier of the next tag inside it.
    pub inner: Option<u16>,
}

/// What IP and the layer above it say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpMeta {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Protocol number behind all extension headers (IANA "Assigned Internet Protocol Numbers").
    pub protocol: u8,
    /// Differentiated services code point (RFC 2474), 6 bits.
    pub dscp: u8,
    /// Explicit congestion notification field (RFC 3168), 2 bits.
    pub ecn: u8,
    /// Length at IP level, header included.
    pub total_len: Bytes,
    /// It is a fragment, the first one or a later one. Then `transport` is [`Transport::Other`].
    pub fragment: bool,
    /// The transport header.
    pub transport: Transport,
}

/// A transport header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp(TcpMeta),
    /// UDP.
    Udp {
        /// Source port.
        src_port: u16,
        /// Destination port.
        dst_port: u16,
    },
    /// ICMP or ICMPv6 (RFC 792, RFC 4443).
    Icmp {
        /// The message's type.
        kind: u8,
    },
    /// Anything else: another protocol, a fragment, a header cut short, or ciphertext.
    Other,
}

/// A TCP header (RFC 9293).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpMeta {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number; has a meaning only with [`TcpFlags::ACK`].
    pub ack: u32,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window field as on the wire, not scaled.
    pub window: u16,
    /// Bytes of data carried.
    pub payload: Bytes,
    /// Window scale option (RFC 7323), a shift; only SYN segments carry it.
    pub window_scale: Option<u8>,
    /// Maximum segment size option; only SYN segments carry it.
    pub mss: Option<u16>,
    /// It carries a SACK option (RFC 2018) with blocks.
    pub sack: bool,
    /// Timestamps option (RFC 7323, 3).
    pub timestamps: Option<Timestamps>,
}

/// A timestamps option, in the ticks of its senders' own clocks, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: when the sender sent the segment, by its clock.
    pub value: u32,
    /// TSecr: the value that it last got from the other end, by that one's clock; has a meaning only with
    /// [`TcpFlags::ACK`].
    pub echo: u32,
}

/// TCP control bits, in the order of the header's octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpFlags(pub u8);

impl From<u16> for Vlan {
    /// A VLAN of one tag.
    fn from(id: u16) -> Self {
        Self { id, inner: None }
    }
}

impl fmt::Display for Vlan {
    /// As `100`, or from the outside in as `100.20`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        self.inner.map_or(Ok(()), |inner| write!(f, ".{inner}"))
    }
}

impl Port {
    /// The side across the box.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Wlan => Self::Wire,
            Self::Wire => Self::Wlan,
        }
    }
}

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is significant.
    pub const URG: Self = Self(0x20);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// All bits of `other` are set in `self`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Some bit of `other` is set in `self`.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The bits of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl TcpMeta {
    /// A pure acknowledgment: it acknowledges, carries no data and neither opens nor closes anything.
    pub const fn is_pure_ack(&self) -> bool {
        let control = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST);
        self.payload.0 == 0 && self.flags.contains(TcpFlags::ACK) && !self.flags.intersects(control)
    }

    /// A SYN without ACK: it begins another connection between the same ports.
    pub const fn begins(&self) -> bool {
        self.flags.contains(TcpFlags::SYN) && !self.flags.contains(TcpFlags::ACK)
    }

    /// Sequence number behind the last byte, SYN and FIN counted as one each (RFC 9293, 3.4).
    pub const fn seq_end(&self) -> u32 {
        let phantom = self.flags.contains(TcpFlags::SYN) as u32 + self.flags.contains(TcpFlags::FIN) as u32;
        self.seq.wrapping_add(self.payload.0 as u32).wrapping_add(phantom)
    }
}

impl PacketMeta {
    /// The TCP header, where there is one.
    pub fn tcp(&self) -> Option<&TcpMeta> {
        match &self.ip.as_ref()?.transport {
            Transport::Tcp(tcp) => Some(tcp),
            _ => None,
        }
    }

    /// The header of RTP, where it carries what has one.
    pub const fn rtp(&self) -> Option<&RtpMeta> {
        match &self.content {
            Content::Rtp(rtp) => Some(rtp),
            Content::Opaque | Content::Sip(_) | Content::Claim(_) | Content::Lease(_) => None,
        }
    }

    /// Its size at IP level: what an 802.11 frame carries as MSDU, and what rates and buffers count. For a packet
    /// without an IP header that is all behind the MAC addresses and the EtherType.
    pub fn ip_len(&self) -> Bytes {
        const ETHERNET_HEADER: Bytes = Bytes(14);
        self.ip.as_ref().map_or_else(|| self.frame_len.saturating_sub(ETHERNET_HEADER), |ip| ip.total_len)
    }
}
