//! The metadata of one packet.

use core::fmt;
use core::net::IpAddr;

use evenair_units::Bytes;
use minicbor::{Decode, Decoder, Encode, decode};

use crate::{Content, Control, Encapsulation, FlowKey, MacAddr, RtpMeta};

/// A side of the box: where a packet entered, or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum Port {
    /// The side of the access points and their stations.
    #[n(0)]
    Wlan,
    /// The wired side.
    #[n(1)]
    Wire,
}

/// All information about a packet for the manager.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PacketMeta {
    /// The side where it entered.
    #[n(0)]
    pub ingress: Port,
    /// Length of the Ethernet frame without its FCS.
    #[cbor(n(1), decode_with = "decode_length")]
    pub frame_len: Bytes,
    /// Source MAC address.
    #[n(2)]
    pub src: MacAddr,
    /// Destination MAC address.
    #[n(3)]
    pub dst: MacAddr,
    /// Its VLAN, if it has a tag with an identifier.
    #[n(6)]
    pub vlan: Option<Vlan>,
    /// EtherType behind all VLAN tags; a length for an IEEE 802.3 frame with LLC.
    #[n(4)]
    pub ether_type: u16,
    /// IP header, if there is an intact one.
    #[n(5)]
    pub ip: Option<IpMeta>,
    /// Content, as far as it is recognised.
    #[cbor(n(7), decode_with = "decode_known", skip_if = "Content::is_opaque")]
    pub content: Content,
    /// Network control protocol, if it belongs to one.
    #[n(8)]
    pub control: Option<Control>,
    /// Protocol from which the packet was decapsulated. Then all other fields are those of the inner packet, except for the
    /// frame's length and, where only the outer frame has them, the MAC addresses.
    #[n(9)]
    pub encapsulation: Option<Encapsulation>,
}

/// A VLAN, by the tags of a frame (IEEE 802.1Q): the outermost one, and the inner one of two (802.1ad, "QinQ"). A tag with
/// identifier zero carries a priority and no VLAN (802.1Q, 9.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Vlan {
    /// Identifier of the outermost tag that has one, 1 to 4095.
    #[n(0)]
    pub id: u16,
    /// Identifier of the next tag inside it.
    #[n(1)]
    pub inner: Option<u16>,
}

/// IP header and transport header.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct IpMeta {
    /// Source address.
    #[n(0)]
    pub src: IpAddr,
    /// Destination address.
    #[n(1)]
    pub dst: IpAddr,
    /// Protocol number behind all extension headers (IANA "Assigned Internet Protocol Numbers").
    #[n(2)]
    pub protocol: u8,
    /// Differentiated services code point (RFC 2474), 6 bits.
    #[n(3)]
    pub dscp: u8,
    /// Explicit congestion notification field (RFC 3168), 2 bits.
    #[n(4)]
    pub ecn: u8,
    /// Length at IP level, header included.
    #[cbor(n(5), decode_with = "decode_length")]
    pub total_len: Bytes,
    /// Whether it is a fragment, the first one or a later one. Then `transport` is [`Transport::Other`].
    #[n(6)]
    pub fragment: bool,
    /// The transport header.
    #[cbor(n(7), decode_with = "decode_known")]
    pub transport: Transport,
}

/// A transport header.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Transport {
    /// TCP.
    #[n(2)]
    Tcp(#[n(0)] TcpMeta),
    /// UDP.
    #[n(1)]
    Udp {
        /// Source port.
        #[n(0)]
        src_port: u16,
        /// Destination port.
        #[n(1)]
        dst_port: u16,
    },
    /// ICMP or ICMPv6 (RFC 792, RFC 4443).
    #[n(3)]
    Icmp {
        /// Message type.
        #[n(0)]
        kind: u8,
    },
    /// Anything else: another protocol, a fragment, a truncated header, or ciphertext.
    #[n(0)]
    Other,
}

/// A TCP header (RFC 9293).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TcpMeta {
    /// Source port.
    #[n(0)]
    pub src_port: u16,
    /// Destination port.
    #[n(1)]
    pub dst_port: u16,
    /// Sequence number of the first byte.
    #[n(2)]
    pub seq: u32,
    /// Acknowledgment number; has a meaning only with [`TcpFlags::ACK`].
    #[n(3)]
    pub ack: u32,
    /// Control bits.
    #[n(4)]
    pub flags: TcpFlags,
    /// Window field as on the wire, not scaled.
    #[n(5)]
    pub window: u16,
    /// Bytes of data carried.
    #[cbor(n(6), decode_with = "decode_length")]
    pub payload: Bytes,
    /// Window scale option (RFC 7323), a shift; only SYN segments carry it.
    #[n(9)]
    pub window_scale: Option<u8>,
    /// Maximum segment size option; only SYN segments carry it.
    #[n(10)]
    pub mss: Option<u16>,
    /// Sequence number behind the first block of a SACK option (RFC 2018), which holds the most recently received segment.
    #[n(11)]
    pub sacked_to: Option<u32>,
    /// Timestamps option (RFC 7323, 3).
    #[n(8)]
    pub timestamps: Option<Timestamps>,
}

/// A timestamps option, in the ticks of the senders' own clocks, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Timestamps {
    /// TSval: sending time of the segment, by the sender's clock.
    #[n(0)]
    pub value: u32,
    /// TSecr: the last TSval received from the other end; valid only with [`TcpFlags::ACK`].
    #[n(1)]
    pub echo: u32,
}

/// TCP control bits, in the order of the header's octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Encode, Decode)]
#[cbor(transparent)]
pub struct TcpFlags(#[n(0)] pub u8);

/// The longest packet that is decoded, offloads included; length arithmetic relies on it.
const MAX_LEN: Bytes = Bytes(1 << 20);

/// Decodes a value. An unknown variant is an error even within an optional field, which minicbor would otherwise treat as
/// absent.
fn decode_known<'b, C, T: Decode<'b, C>>(d: &mut Decoder<'b>, ctx: &mut C) -> Result<T, decode::Error> {
    let known = T::decode(d, ctx);
    known.map_err(|error| if error.is_unknown_variant() { decode::Error::message(error) } else { error })
}

/// Decodes the length of a packet or of a part of one.
fn decode_length<'b, C>(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Bytes, decode::Error> {
    let at = d.position();
    let length = d.decode_with(ctx)?;
    if length <= MAX_LEN { Ok(length) } else { Err(decode::Error::message("longer than any packet").at(at)) }
}

impl From<u16> for Vlan {
    /// A VLAN of one tag.
    fn from(id: u16) -> Self {
        Self { id, inner: None }
    }
}

impl fmt::Display for Vlan {
    /// `100`, or from the outside in `100.20`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        self.inner.map_or(Ok(()), |inner| write!(f, ".{inner}"))
    }
}

impl Port {
    /// The other side of the box.
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
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// Whether all bits of `other` are set in `self`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether some bit of `other` is set in `self`.
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
    /// Whether it is a pure acknowledgment: an ACK without data that neither opens nor closes the connection.
    pub const fn is_pure_ack(&self) -> bool {
        let control = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST);
        self.payload.0 == 0 && self.flags.contains(TcpFlags::ACK) && !self.flags.intersects(control)
    }

    /// Whether it is a SYN without ACK, which begins a new connection between the same ports.
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
    /// TCP header, if there is one.
    pub fn tcp(&self) -> Option<&TcpMeta> {
        match &self.ip.as_ref()?.transport {
            Transport::Tcp(tcp) => Some(tcp),
            _ => None,
        }
    }

    /// RTP header, if there is one.
    pub const fn rtp(&self) -> Option<&RtpMeta> {
        match &self.content {
            Content::Rtp(rtp) => Some(rtp),
            Content::Opaque | Content::Sip(_) | Content::Claim(_) | Content::Lease(_) | Content::Membership(_) => None,
        }
    }

    /// The key of its flow, and whether it travels from the lower to the higher end. Frames other than IP have a key of MAC
    /// addresses and EtherType; all LLC frames between two addresses are one flow.
    pub fn flow(&self) -> (FlowKey, bool) {
        self.ip.as_ref().map_or_else(|| FlowKey::of_frame(self.src, self.dst, self.ether_type), FlowKey::of)
    }

    /// Whether it may be marked with "congestion experienced": its transport is ECN-capable (RFC 3168), and edits reach its
    /// IP header.
    pub fn takes_marks(&self) -> bool {
        self.encapsulation.is_none() && self.ip.as_ref().is_some_and(|ip| ip.ecn != 0)
    }

    /// Whether its content is unreadable: it is neither IP nor a known control protocol, or it is a tunnel of an unknown or
    /// encrypted kind, which may carry several stations.
    pub fn is_unread(&self) -> bool {
        /// IP in IP, IPv6 in IPv4, GRE, Ethernet in IP, L2TP (IANA "Assigned Internet Protocol Numbers").
        const TUNNELS: [u8; 5] = [4, 41, 47, 97, 115];
        /// CAPWAP's data, VXLAN, Geneve.
        const TUNNEL_PORTS: [u16; 3] = [5247, 4789, 6081];
        let Some(ip) = &self.ip else { return self.control.is_none() };
        let is_tunnel = match ip.transport {
            Transport::Udp { src_port, dst_port } => TUNNEL_PORTS.contains(&dst_port) || src_port == TUNNEL_PORTS[0],
            Transport::Tcp(_) | Transport::Icmp { .. } | Transport::Other => TUNNELS.contains(&ip.protocol),
        };
        is_tunnel && self.encapsulation.is_none()
    }

    /// Its size at IP level: the MSDU of an 802.11 frame, which rates and buffers count. For a packet without an IP header,
    /// all behind the MAC addresses and the EtherType.
    pub fn ip_len(&self) -> Bytes {
        const ETHERNET_HEADER: Bytes = Bytes(14);
        self.ip.as_ref().map_or_else(|| self.frame_len.saturating_sub(ETHERNET_HEADER), |ip| ip.total_len)
    }
}
