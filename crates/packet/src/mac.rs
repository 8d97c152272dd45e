//! IEEE 802 MAC addresses (EUI-48).

use core::fmt;
use core::net::Ipv4Addr;
use core::str::FromStr;

use minicbor::{Decode, Encode};

/// A 48-bit MAC address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct MacAddr(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; 6]);

/// Text that is not six hexadecimal octets separated by colons or hyphens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacAddrError;

impl MacAddr {
    /// The broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether it is locally administered (IEEE 802, 8.2), as a station's random address is, rather than
    /// assigned by the maker.
    pub const fn is_local(self) -> bool {
        self.0[0] & 2 != 0
    }

    /// Group address of packets to an IPv4 group: the group's last 23 bits behind a fixed prefix (RFC 1112,
    /// 6.4).
    pub const fn of_group(group: Ipv4Addr) -> Self {
        let [_, b, c, d] = group.octets();
        Self([0x01, 0x00, 0x5e, b & 0x7f, c, d])
    }

    /// Whether it is a group address, broadcast included: the I/G bit (IEEE 802, clause 8.2) is set.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MacAddr {
    type Err = MacAddrError;

    fn from_str(text: &str) -> Result<Self, MacAddrError> {
        let mut octets = [0; 6];
        let mut parts = text.split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().filter(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit()));
            *octet = part.and_then(|p| u8::from_str_radix(p, 16).ok()).ok_or(MacAddrError)?;
        }
        if parts.next().is_some() { Err(MacAddrError) } else { Ok(Self(octets)) }
    }
}

impl fmt::Display for MacAddrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a MAC address is six octets such as 02:00:5e:10:00:01")
    }
}

impl core::error::Error for MacAddrError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn text_round_trips_and_wrong_text_is_refused() {
        let mac: MacAddr = "02:00:5E:10:00:0a".parse().unwrap();
        assert_eq!(mac.to_string(), "02:00:5e:10:00:0a");
        assert_eq!("02-00-5e-10-00-0a".parse(), Ok(mac));
        for wrong in
            ["", "02:00:5e:10:00", "02:00:5e:10:00:0a:0b", "2:0:5e:10:0:a", "02:00:5e:10:00:+a", "02005e10000a"]
        {
            assert_eq!(wrong.parse::<MacAddr>(), Err(MacAddrError), "{wrong}");
        }
    }

    #[test]
    fn group_bit() {
        assert!(MacAddr::BROADCAST.is_multicast());
        assert!(MacAddr([0x01, 0, 0x5e, 0, 0, 1]).is_multicast());
        assert!(!MacAddr([0x02, 0, 0, 0, 0, 1]).is_multicast());
    }
}
