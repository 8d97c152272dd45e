//! Addresses of proxies, and the base path below which they serve the page, as in `web.toml`.

use std::fmt::{self, Display};
use std::net::IpAddr;
use std::str::FromStr;

/// An address or a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Prefix length, in bits.
    length: u32,
}

impl Network {
    /// Whether the network contains an address.
    pub(crate) fn has(self, address: IpAddr) -> bool {
        let (ours, most) = bits(self.address);
        let (theirs, other) = bits(address.to_canonical());
        let shift = most - self.length;
        most == other && (shift >= u128::BITS || ours >> shift == theirs >> shift)
    }
}

/// The bits of an address, and their number.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl FromStr for Network {
    type Err = ();

    /// Parses "10.0.0.0/8" or "::1"; bits beyond the prefix must be zero.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(drop)?;
        let (value, most) = bits(address);
        let length = length.map_or(Ok(most), str::parse).map_err(drop)?;
        let rest = most.checked_sub(length).ok_or(())?;
        let is_whole = rest == 0 || value.trailing_zeros() >= rest;
        if is_whole { Ok(Self { address, length }) } else { Err(()) }
    }
}

impl Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// Whether the text is a valid base path: "" or "/a/b", of unreserved characters (RFC 3986, section
/// 2.3).
pub(crate) fn is_base_path(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~');
    let is_part = |part: &str| !part.is_empty() && part.chars().all(is_plain) && part != "." && part != "..";
    text.is_empty() || text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().expect("a network")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn networks_have_the_addresses_that_begin_as_they_do() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", "::10.1.2.3"),
            ("fd00::/8", "fdff::1", "fe00::1"),
            ("::1", "::1", "::2"),
            ("192.0.2.6/31", "192.0.2.7", "192.0.2.8"),
        ] {
            assert!(network(text).has(ip(inside)) && !network(text).has(ip(outside)), "{text}");
        }
        assert!(network("0.0.0.0/0").has(ip("192.0.2.1")) && !network("0.0.0.0/0").has(ip("::1")));
        assert!(network("::/0").has(ip("2001:db8::1")));
        for wrong in ["", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "box.lan", "::1/129", "1::/8"] {
            assert!(Network::from_str(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn base_paths_are_plain() {
        assert!(["", "/evenair", "/net/evenair-1"].into_iter().all(is_base_path));
        assert!(!["/", "evenair", "/evenair/", "//x", "/a b", "/{x}", "/..", "/a/../b"].into_iter().any(is_base_path));
    }
}
