//! Trusted reverse proxies in front of the page, and their information about a request.
//!
//! A proxy that terminates TLS and is listed in `trusted_proxies` reports the client's address (`X-Forwarded-For`) and protocol
//! (`X-Forwarded-Proto`). These headers are ignored from all others. `X-Forwarded-For` is read from its end, where the nearest proxy
//! has appended: the first address that is no trusted proxy is the client, and earlier ones may be forged. `Forwarded` (RFC 7239) is
//! not read.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

use crate::connections::Peer;
use crate::network::Network;

/// Header with the client's address, to which each proxy appends that of its own client.
const FOR: &str = "x-forwarded-for";
/// Header with the client's protocol: "https" or "http".
const PROTO: &str = "x-forwarded-proto";

/// The client, according to the connection and trusted proxies.
pub(crate) fn asked_by(trusted: &[Network], peer: &Peer, headers: &HeaderMap) -> Peer {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.has(address));
    let mut asked = peer.clone();
    if !is_trusted(peer.address) {
        return asked;
    }
    let values = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
    let steps: Vec<_> = values(FOR).flat_map(|value| value.split(',')).map(|step| address(step.trim())).collect();
    // The nearest proxy reports the protocol of its own client.
    if let Some(proto) = values(PROTO).flat_map(|value| value.split(',')).last() {
        asked.is_tls = proto.trim().eq_ignore_ascii_case("https");
        asked.is_remote = true;
    }
    if steps.is_empty() {
        return asked;
    }
    let mut is_known = true;
    for step in steps.into_iter().rev() {
        // A value that no trusted proxy can have written.
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

/// Parses an address of the list, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address| address.to_canonical())
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

    /// Address, whether with TLS, and whether the client is remote.
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
    fn the_client_is_the_rightmost_address_that_is_no_trusted_proxy() {
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
    fn untrusted_headers_are_ignored() {
        let headers = [(FOR, "127.0.0.1"), (PROTO, "https")];
        assert_eq!(asked("192.0.2.66", &headers), ("192.0.2.66".into(), false, false));
        assert_eq!(asked("::ffff:127.0.0.1", &headers), ("127.0.0.1".into(), true, false), "a proxy asked on the box");
    }

    #[test]
    fn a_client_behind_a_proxy_without_its_address_is_remote() {
        assert_eq!(asked("127.0.0.1", &[]), ("127.0.0.1".into(), false, false), "a browser on the box");
        assert_eq!(asked("127.0.0.1", &[(PROTO, "https")]), ("127.0.0.1".into(), true, true));
        assert!(asked("127.0.0.1", &[(FOR, "unknown")]).2 && asked("127.0.0.1", &[(FOR, "")]).2);
        assert!(!asked("127.0.0.1", &[(PROTO, "https"), (PROTO, "http")]).1, "the nearest was asked without TLS");
    }
}
