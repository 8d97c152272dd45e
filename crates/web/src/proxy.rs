//! Reverse proxies in front of the page: which of them are believed, and what they say of a request.
//!
//! A proxy that terminates TLS and is named in `trusted_proxies` says who asks (`X-Forwarded-For`) and how (`X-Forwarded-Proto`). Of
//! anybody else these headers mean nothing. `X-Forwarded-For` is read from its end, where the nearest proxy has written: the first
//! address that is no trusted proxy is who asks, and what stands before it may be invented. `Forwarded` (RFC 7239) is not read.

use std::fmt::{self, Display};
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::HeaderMap;

use crate::connections::Peer;

/// Who asks, a list in which each proxy adds who asked it.
const FOR: &str = "x-forwarded-for";
/// "https" or "http": how the proxy was asked.
const PROTO: &str = "x-forwarded-proto";

/// An address, or all that begin as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// How many bits count.
    length: u32,
}

impl Network {
    /// Whether an address is of this network.
    pub(crate) fn has(self, address: IpAddr) -> bool {
        let (ours, most) = bits(self.address);
        let (theirs, other) = bits(address.to_canonical());
        let shift = most - self.length;
        most == other && (shift >= u128::BITS || ours >> shift == theirs >> shift)
    }
}

/// The bits of an address, and how many they are.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl FromStr for Network {
    type Err = ();

    /// Reads "10.0.0.0/8" or "::1"; the bits that do not count are zero.
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

/// Who asks and how, by what the connection and trusted proxies say.
pub(crate) fn asked_by(trusted: &[Network], peer: &Peer, headers: &HeaderMap) -> Peer {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.has(address));
    let mut asked = peer.clone();
    if !is_trusted(peer.address) {
        return asked;
    }
    let values = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
    let steps: Vec<_> = values(FOR).flat_map(|value| value.split(',')).map(|step| address(step.trim())).collect();
    // The nearest proxy knows how it was asked.
    if let Some(proto) = values(PROTO).flat_map(|value| value.split(',')).last() {
        asked.is_tls = proto.trim().eq_ignore_ascii_case("https");
        asked.is_remote = true;
    }
    if steps.is_empty() {
        return asked;
    }
    let mut is_known = true;
    for step in steps.into_iter().rev() {
        // What no proxy of ours can have written.
        let Some(step) = step else {
            is_known = false;
            break;
        };
        asked.address = step;
        if !is_trusted(step) {
            break;
        }
    }
    asked.is_remote = !(is_known && asked.address.is_loopback());
    asked
}

/// An address of such a list, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address| address.to_canonical())
}

/// Whether the text may be a base path: "" or "/a/b", of unreserved characters (RFC 3986, section 2.3).
pub(crate) fn is_base_path(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~');
    let is_part = |part: &str| !part.is_empty() && part.chars().all(is_plain) && part != "." && part != "..";
    text.is_empty() || text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_part))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

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

    /// Address, whether there is TLS, and whether who asks is elsewhere.
    fn asked(from: &str, headers: &[(&'static str, &'static str)]) -> (String, bool, bool) {
        let trusted = [network("127.0.0.1"), network("10.0.0.0/8")];
        let peer = Peer::at(ip(from));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let Peer { address, is_tls, is_remote, .. } = asked_by(&trusted, &peer, &map);
        (address.to_string(), is_tls, is_remote)
    }

    #[test]
    fn who_asks_is_the_rightmost_address_that_is_no_trusted_proxy() {
        for (headers, address) in [
            (&[][..], "127.0.0.1"),
            (&[(FOR, "192.0.2.1")], "192.0.2.1"),
            (&[(FOR, "203.0.113.9, 192.0.2.1")], "192.0.2.1"),
            (&[(FOR, "203.0.113.9, 192.0.2.1, 10.0.0.7")], "192.0.2.1"),
            (&[(FOR, "203.0.113.9"), (FOR, "192.0.2.1")], "192.0.2.1"),
            (&[(FOR, "192.0.2.1:5000")], "192.0.2.1"),
            (&[(FOR, "[2001:db8::1]:5000")], "2001:db8::1"),
            (&[(FOR, "2001:db8::1")], "2001:db8::1"),
            (&[(FOR, "10.0.0.8, 10.0.0.7")], "10.0.0.8"),
            (&[(FOR, "192.0.2.1, unknown, 10.0.0.7")], "10.0.0.7"),
            (&[(FOR, "unknown")], "127.0.0.1"),
        ] {
            assert_eq!(asked("127.0.0.1", headers).0, address, "{headers:?}");
        }
    }

    #[test]
    fn others_are_not_believed() {
        let headers = [(FOR, "127.0.0.1"), (PROTO, "https")];
        assert_eq!(asked("192.0.2.66", &headers), ("192.0.2.66".into(), false, false));
        assert_eq!(asked("::ffff:127.0.0.1", &headers), ("127.0.0.1".into(), true, false), "a proxy asked on the box");
    }

    #[test]
    fn a_proxy_that_does_not_say_who_asks_brings_somebody_from_elsewhere() {
        assert_eq!(asked("127.0.0.1", &[]), ("127.0.0.1".into(), false, false), "a browser on the box");
        assert_eq!(asked("127.0.0.1", &[(PROTO, "https")]), ("127.0.0.1".into(), true, true));
        assert!(asked("127.0.0.1", &[(FOR, "unknown")]).2 && asked("127.0.0.1", &[(FOR, "")]).2);
        assert!(!asked("127.0.0.1", &[(PROTO, "https"), (PROTO, "http")]).1, "the nearest was asked without TLS");
    }

    #[test]
    fn base_paths_are_plain() {
        assert!(["", "/evenair", "/net/evenair-1"].into_iter().all(is_base_path));
        assert!(!["/", "evenair", "/evenair/", "//x", "/a b", "/{x}", "/..", "/a/../b"].into_iter().any(is_base_path));
    }
}
