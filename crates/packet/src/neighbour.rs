//! Address and name assignments, from ARP, neighbour discovery and DHCP.
//!
//! A *claim* says that an address belongs to a MAC address, and comes from that address: announcements by an access point or
//! a router for others (proxy ARP) are none. A *lease* is a DHCP client's request, or a server's grant. Both are parsed from
//! one packet each, within its bounds; messages that violate the standards are ignored.
//!
//! Not here: validation, which is the manager's; DHCPv6, whose clients have identifiers without MAC address; fragments.
//!
//! Source: RFC 826 (ARP), RFC 5227 (probes), RFC 4861 (neighbour discovery), RFC 2131 and RFC 2132 (DHCP), RFC 4702 (names).

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use crate::MacAddr;

/// A sender's claim that an address is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Claim {
    /// The address.
    #[n(0)]
    pub address: IpAddr,
    /// MAC address of the claimant.
    #[n(1)]
    pub mac: MacAddr,
}

/// A DHCP message about a client.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Lease {
    /// MAC address of the client.
    #[n(0)]
    pub mac: MacAddr,
    /// The address that a server grants; `None` in a client's message.
    #[n(1)]
    pub granted: Option<Ipv4Addr>,
    /// Duration of the lease, in seconds.
    #[n(2)]
    pub seconds: u32,
    /// Host name that the client sends.
    #[n(3)]
    pub name: Option<HostName>,
}

/// A host's name: 1 to 63 printable ASCII characters (RFC 1123 allows fewer kinds, some hosts send more).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HostName {
    bytes: [u8; Self::MOST],
    len: u8,
}

impl HostName {
    /// Maximum length, that of a DNS label (RFC 1035, 2.3.4).
    pub const MOST: usize = 63;

    /// The name in these bytes, up to the first dot; `None` if they are not a name.
    pub fn new(text: &[u8]) -> Option<Self> {
        let text = text.split(|byte| *byte == b'.' || *byte == 0).next()?.trim_ascii();
        let printable = text.iter().all(|byte| (b' '..=b'~').contains(byte));
        let mut bytes = [0; Self::MOST];
        bytes.get_mut(..text.len()).filter(|_| printable && !text.is_empty())?.copy_from_slice(text);
        Some(Self { bytes, len: text.len() as u8 })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl<C> Encode<C> for HostName {
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.str(self.as_str())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for HostName {
    /// Rejects names that [`HostName::new`] would change.
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        let at = d.position();
        let text = d.str()?;
        let name = Self::new(text.as_bytes()).filter(|name| name.as_str() == text);
        name.ok_or_else(|| decode::Error::message("not a host name").at(at))
    }
}

impl fmt::Debug for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Whether a host may use this address as its own.
fn is_own(address: IpAddr) -> bool {
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !(address.is_unspecified() || address.is_multicast() || address.is_loopback() || broadcast)
}

impl Claim {
    fn new(address: IpAddr, mac: MacAddr, src: MacAddr) -> Option<Self> {
        (is_own(address) && mac == src && !mac.is_multicast()).then_some(Self { address, mac })
    }

    /// Claim of an ARP packet in a frame from `src`, of the sender's address. A probe claims nothing (RFC 5227, 2.1.1).
    pub(crate) fn of_arp(packet: &[u8], src: MacAddr) -> Option<Self> {
        // Ethernet, IPv4, addresses of 6 and 4 bytes.
        let rest = packet.strip_prefix(&[0, 1, 8, 0, 6, 4])?;
        let (operation, rest) = rest.split_first_chunk::<2>()?;
        let (mac, rest) = rest.split_first_chunk::<6>()?;
        let (address, _) = rest.split_first_chunk::<4>()?;
        let known = matches!(u16::from_be_bytes(*operation), 1 | 2);
        Self::new(IpAddr::from(*address), MacAddr(*mac), src).filter(|_| known)
    }

    /// Claim of an ICMPv6 message from `sender` in a frame from `src`: a neighbour or router solicitation claims its sender,
    /// an advertisement its target. Without the option for a MAC address it is the frame's.
    pub(crate) fn of_icmpv6(message: &[u8], sender: IpAddr, src: MacAddr) -> Option<Self> {
        /// Options with the sender's, and the target's, MAC address (RFC 4861, 4.6.1).
        const SOURCE: u8 = 1;
        const TARGET: u8 = 2;
        let kind = *message.first()?;
        let target = || Some(IpAddr::V6(Ipv6Addr::from(*message.get(8..24)?.first_chunk::<16>()?)));
        let (address, option, options) = match kind {
            133 => (sender, SOURCE, 8),
            135 => (sender, SOURCE, 24),
            136 => (target()?, TARGET, 24),
            _ => return None,
        };
        let mut rest = message.get(options..)?;
        let mut mac = src;
        while let [found, units, ..] = *rest {
            let len = usize::from(units) * 8;
            // An option of zero length invalidates the message (RFC 4861, 4.6).
            let body = rest.get(2..len)?;
            if found == option {
                mac = MacAddr(*body.first_chunk::<6>()?);
            }
            rest = &rest[len..];
        }
        Self::new(address, mac, src)
    }
}

impl Lease {
    /// Whether packets between these ports may be DHCP.
    pub(crate) fn may_use(src_port: u16, dst_port: u16) -> bool {
        const PORTS: [u16; 2] = [67, 68];
        PORTS.contains(&src_port) && PORTS.contains(&dst_port)
    }

    /// Parses a message: a client's request has its name, a server's grant also its address.
    pub fn parse(message: &[u8]) -> Option<Self> {
        const COOKIE: [u8; 4] = [99, 130, 83, 99];
        /// Message types (RFC 2132, 9.6).
        const REQUEST: u8 = 3;
        const GRANT: u8 = 5;
        let (head, rest) = message.split_first_chunk::<236>()?;
        let options = rest.strip_prefix(&COOKIE)?;
        // Ethernet, addresses of 6 bytes.
        if head[1..3] != [1, 6] {
            return None;
        }
        let mac = MacAddr(*head[28..].first_chunk::<6>()?);
        let (mut kind, mut seconds, mut name, mut full_name) = (0, 0, None, None);
        for (option, value) in Options(options) {
            match (option, value) {
                (53, &[message_type]) => kind = message_type,
                (51, &[a, b, c, d]) => seconds = u32::from_be_bytes([a, b, c, d]),
                (12, text) => name = HostName::new(text),
                // Flags, two obsolete codes, and the name, unless it is in DNS encoding.
                (81, [flags, _, _, text @ ..]) if flags & 4 == 0 => full_name = HostName::new(text),
                _ => {}
            }
        }
        let granted = Ipv4Addr::from(*head[16..].first_chunk::<4>()?);
        let granted = match (head[0], kind) {
            (1, REQUEST) => None,
            (2, GRANT) if is_own(granted.into()) => Some(granted),
            _ => return None,
        };
        (!mac.is_multicast()).then_some(Self { mac, granted, seconds, name: name.or(full_name) })
    }
}

/// Options of DHCP: a code, a length, a value.
struct Options<'a>(&'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        const PAD: u8 = 0;
        const END: u8 = 255;
        while let [PAD, rest @ ..] = self.0 {
            self.0 = rest;
        }
        let [code, len, rest @ ..] = self.0 else { return None };
        if *code == END {
            return None;
        }
        let (value, rest) = rest.split_at_checked((*len).into())?;
        self.0 = rest;
        Some((*code, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 7]);

    fn arp(operation: u8, mac: MacAddr, address: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0, 1, 8, 0, 6, 4, 0, operation];
        packet.extend_from_slice(&mac.0);
        packet.extend_from_slice(&address);
        packet.extend_from_slice(&[0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
        packet
    }

    #[test]
    fn arp_claims_its_senders_address() {
        let claim = Some(Claim { address: IpAddr::from([10, 0, 0, 7]), mac: MAC });
        for operation in [1, 2] {
            assert_eq!(Claim::of_arp(&arp(operation, MAC, [10, 0, 0, 7]), MAC), claim);
        }
        assert_eq!(Claim::of_arp(&arp(3, MAC, [10, 0, 0, 7]), MAC), None, "reverse ARP");
        assert_eq!(Claim::of_arp(&arp(2, MAC, [10, 0, 0, 7]), MacAddr([2; 6])), None, "for another one");
        for address in [[0; 4], [255; 4], [224, 0, 0, 1], [127, 0, 0, 1]] {
            assert_eq!(Claim::of_arp(&arp(1, MAC, address), MAC), None, "{address:?}");
        }
        let whole = arp(1, MAC, [10, 0, 0, 7]);
        assert!((0..18).all(|len| Claim::of_arp(&whole[..len], MAC).is_none()));
    }

    /// RFC 4861, 4.3 and 4.4.
    fn neighbour(kind: u8, target: Ipv6Addr, option: &[u8]) -> Vec<u8> {
        let mut message = vec![kind, 0, 0, 0, 0, 0, 0, 0];
        message.extend_from_slice(&target.octets());
        message.extend_from_slice(option);
        message
    }

    #[test]
    fn neighbour_discovery_claims_the_sender_or_the_target() {
        let [own, other]: [Ipv6Addr; 2] = ["fe80::7", "fe80::9"].map(|text| text.parse().unwrap());
        let source = [1, 1, 2, 0, 0, 0, 0, 7];
        let target = [2, 1, 2, 0, 0, 0, 0, 7];
        let of =
            |message: &[u8], sender: Ipv6Addr| Claim::of_icmpv6(message, sender.into(), MAC).map(|claim| claim.address);
        assert_eq!(of(&neighbour(135, other, &source), own), Some(own.into()), "who asks tells who it is");
        assert_eq!(of(&neighbour(136, own, &target), own), Some(own.into()));
        assert_eq!(of(&neighbour(136, own, &[]), own), Some(own.into()), "the frame's address will do");
        assert_eq!(of(&neighbour(135, own, &[]), Ipv6Addr::UNSPECIFIED), None, "is it free?");
        assert_eq!(of(&neighbour(136, other, &[2, 1, 2, 0, 0, 0, 0, 9]), own), None, "for another one");
        assert_eq!(of(&[133, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 7], own), Some(own.into()));
        assert_eq!(of(&neighbour(134, own, &source), own), None, "routers have many addresses");
        for broken in [&[2u8, 0, 2, 0, 0, 0, 0, 7][..], &[2, 2, 2, 0, 0, 0, 0, 7], &[2, 1, 2, 0, 0]] {
            assert_eq!(of(&neighbour(136, own, broken), own), None, "{broken:?}");
        }
    }

    /// RFC 2131, 2, with these options behind the cookie.
    fn dhcp(operation: u8, granted: [u8; 4], options: &[u8]) -> Vec<u8> {
        let mut message = vec![0; 236];
        message[..4].copy_from_slice(&[operation, 1, 6, 0]);
        message[16..20].copy_from_slice(&granted);
        message[28..34].copy_from_slice(&MAC.0);
        message.extend_from_slice(&[99, 130, 83, 99]);
        message.extend_from_slice(options);
        message
    }

    fn name(lease: Option<Lease>) -> Option<alloc::string::String> {
        lease?.name.map(|name| name.as_str().into())
    }

    #[test]
    fn requests_have_the_name_and_grants_the_address() {
        let request = dhcp(1, [0; 4], b"\x35\x01\x03\x32\x04\x0a\x00\x00\x07\x0c\x05phone\xff");
        let lease = Lease::parse(&request).unwrap();
        assert_eq!((lease.mac, lease.granted), (MAC, None));
        assert_eq!(name(Some(lease)).as_deref(), Some("phone"));
        let grant = dhcp(2, [10, 0, 0, 7], b"\x35\x01\x05\x00\x00\x33\x04\x00\x00\x0e\x10\xff\x0c\x01x");
        let lease = Lease::parse(&grant).unwrap();
        assert_eq!((lease.granted, lease.seconds), (Some(Ipv4Addr::new(10, 0, 0, 7)), 3600));
        assert_eq!(lease.name, None, "what stands behind the end is none of it");
        let full = dhcp(1, [0; 4], b"\x35\x01\x03\x51\x7f\x00\x00\x00laptop.home.x\xff");
        assert_eq!(name(Lease::parse(&full)), None, "it is cut short");
        let full = dhcp(1, [0; 4], b"\x35\x01\x03\x51\x0e\x00\x00\x00laptop.home\xff");
        assert_eq!(name(Lease::parse(&full)).as_deref(), Some("laptop"));
    }

    #[test]
    fn other_messages_and_malformed_ones_are_ignored() {
        for (operation, granted, options) in [
            (2, [10, 0, 0, 7], &b"\x35\x01\x02\xff"[..]),
            (2, [10, 0, 0, 7], b"\x35\x01\x06\xff"),
            (2, [0, 0, 0, 0], b"\x35\x01\x05\xff"),
            (1, [0, 0, 0, 0], b"\x35\x01\x01\xff"),
            (1, [0, 0, 0, 0], b"\x35\x02\x03\x03\xff"),
            (1, [0, 0, 0, 0], b""),
        ] {
            assert_eq!(Lease::parse(&dhcp(operation, granted, options)), None, "{operation} {options:?}");
        }
        let request = dhcp(1, [0; 4], b"\x35\x01\x03\x0c\x05phone\xff");
        (0..request.len()).for_each(|len| _ = Lease::parse(&request[..len]));
        assert!((0..243).all(|len| Lease::parse(&request[..len]).is_none()));
        let mut foreign = request;
        foreign[1] = 6;
        assert_eq!(Lease::parse(&foreign), None, "not of Ethernet");
    }

    #[test]
    fn names_are_printable_and_short() {
        let name = |text: &[u8]| HostName::new(text).map(|name| alloc::string::String::from(name.as_str()));
        assert_eq!(name(b"Ann's phone\0").as_deref(), Some("Ann's phone"));
        assert_eq!(name(&[b'x'; 63]).map(|name| name.len()), Some(63));
        for wrong in [&b""[..], b".", b"a\nb", b"caf\xc3\xa9", &[b'x'; 64]] {
            assert_eq!(name(wrong), None);
        }
    }
}
