//! Subnets, such as `10.0.0.0/8`.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use minicbor::{Decode, Decoder, Encode, decode};

/// A subnet: the addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode)]
pub struct Subnet {
    #[n(0)]
    address: IpAddr,
    #[n(1)]
    prefix: u8,
}

/// Error: a text is not a subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubnetError;

impl Subnet {
    /// The subnet of `address` with this prefix length; `None` if an address has fewer bits.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= most).then_some(Self { address, prefix })
    }

    /// An address of it.
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// Prefix length, in bits.
    pub const fn prefix(self) -> u8 {
        self.prefix
    }

    /// Whether it contains an address.
    pub fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && self.first(self.address) == self.first(address)
    }

    /// The prefix of an address.
    fn first(self, address: IpAddr) -> u128 {
        let (bits, length) = match address {
            IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32),
            IpAddr::V6(v6) => (u128::from(v6), 128),
        };
        bits.checked_shr(length - u32::from(self.prefix)).unwrap_or(0)
    }
}

/// Whether an address is never routed: link-local addresses (RFC 3927, RFC 4291), groups and broadcasts.
pub fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_multicast() || v4.is_broadcast() || v4 == Ipv4Addr::UNSPECIFIED,
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_multicast() || v6 == Ipv6Addr::UNSPECIFIED,
    }
}

impl<'b, C> Decode<'b, C> for Subnet {
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, decode::Error> {
        let at = d.position();
        let (address, prefix) = d.decode_with(ctx)?;
        Self::new(address, prefix).ok_or_else(|| decode::Error::message("a prefix longer than an address").at(at))
    }
}

impl FromStr for Subnet {
    type Err = SubnetError;

    /// An address without a prefix length is a subnet of its own.
    fn from_str(text: &str) -> Result<Self, SubnetError> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| SubnetError)?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(all), |prefix| prefix.parse().map_err(|_| SubnetError))?;
        Self::new(address, prefix).ok_or(SubnetError)
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl fmt::Display for SubnetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no network such as 10.0.0.0/8 or fd00::/8")
    }
}

impl core::error::Error for SubnetError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn contains(subnet: &str, address: &str) -> bool {
        subnet.parse::<Subnet>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_subnet_contains_addresses_with_its_prefix() {
        assert!(contains("10.234.0.0/16", "10.234.200.7") && !contains("10.234.0.0/16", "10.235.0.1"));
        assert!(contains("192.168.1.128/25", "192.168.1.255") && !contains("192.168.1.128/25", "192.168.1.1"));
        assert!(contains("fdea:0:0:1::/64", "fdea::1:0:0:0:9") && !contains("fdea:0:0:1::/64", "fdea:0:0:2::9"));
        assert!(contains("0.0.0.0/0", "255.1.2.3") && !contains("0.0.0.0/0", "::1"), "versions are apart");
        assert!(contains("::/0", "fe80::1") && contains("10.0.0.1", "10.0.0.1") && !contains("10.0.0.1", "10.0.0.2"));
    }

    #[test]
    fn text_round_trips() {
        for text in ["10.0.0.0/8", "fd00::/8", "0.0.0.0/0", "::1/128"] {
            assert_eq!(text.parse::<Subnet>().unwrap().to_string(), text);
        }
        for wrong in ["10.0.0.0/33", "fd00::/129", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", ""] {
            assert_eq!(wrong.parse::<Subnet>(), Err(SubnetError), "{wrong}");
        }
    }

    #[test]
    fn link_local_addresses_and_groups_are_not_routed() {
        for (address, expected) in [
            ("169.254.1.1", true),
            ("fe80::1", true),
            ("224.0.0.251", true),
            ("10.0.0.1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_link_local(address.parse().unwrap()), expected, "{address}");
        }
    }
}
