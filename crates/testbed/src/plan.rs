//! Addresses and ports, determined before anything is created.
//!
//! They depend only on the scenario's order of hosts and applications, so that two runs of a file look the same in a packet
//! capture, and the server port of a frame identifies its application.
//!
//! | part | value |
//! |---|---|
//! | MAC addresses | `02:ea:KK:00:HH:HH`, kind KK (1 host, 2 router, 3 box, 4 host's management), number HHHH |
//! | wireless and local wire (one Ethernet segment) | `10.234.0.0/16`, `fdea:0:0:1::/64` |
//! | beyond the Internet link | `10.235.0.0/16`, `fdea:0:0:2::/64` |
//! | server port of application `k` | 20000 + `k` |
//! | client data port of application `k` where the tool wants one; SIP port of its telephones | 10000 + `k` |
//! | RTP port of the telephones of application `k` | 28000 + 2 `k` |

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use evenair_packet::MacAddr;
use evenair_scenario::{App, IpVersion, Place, Scenario};
use evenair_workload::Direction;

/// Server port of the first application.
pub const FIRST_SERVER_PORT: u16 = 20_000;
/// Client port of the first application's data connection, for tools that need a fixed one.
pub const FIRST_CLIENT_PORT: u16 = 10_000;
/// RTP port of the first application, where a telephone program makes it.
pub const FIRST_RTP_PORT: u16 = 28_000;
/// Maximum number of applications with telephones, so that their ports stay below Linux's ephemeral range.
pub const MAX_APPS_WITH_TELEPHONES: usize = 2_000;
/// Maximum number of hosts or applications that fit the scheme.
pub const MAX_HOSTS: usize = 10_000;

/// The side of the router on which an interface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Stations and the local wire.
    Lan,
    /// Beyond the Internet link.
    Wan,
}

/// The addresses of one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Its MAC address.
    pub mac: MacAddr,
    /// Its IPv4 address.
    pub v4: Ipv4Addr,
    /// Its IPv6 address.
    pub v6: Ipv6Addr,
}

impl Segment {
    /// Prefix lengths of IPv4 and IPv6.
    pub const PREFIXES: (u8, u8) = (16, 64);

    fn host(self, number: u16) -> (Ipv4Addr, Ipv6Addr) {
        let (second, subnet) = match self {
            Self::Lan => (234, 1),
            Self::Wan => (235, 2),
        };
        // At most 200 per third octet avoids .0 and .255, which older stacks treat specially.
        let v4 = Ipv4Addr::new(10, second, (number / 200) as u8 + 1, (number % 200) as u8 + 1);
        (v4, Ipv6Addr::new(0xfdea, 0, 0, subnet, 0, 0, 0, number + 1))
    }

    /// The networks of the segment, IPv4 and IPv6.
    pub fn network(self) -> (Ipv4Addr, Ipv6Addr) {
        let (second, subnet) = match self {
            Self::Lan => (234, 1),
            Self::Wan => (235, 2),
        };
        (Ipv4Addr::new(10, second, 0, 0), Ipv6Addr::new(0xfdea, 0, 0, subnet, 0, 0, 0, 0))
    }

    /// The router's interface on this segment: the default gateway.
    pub fn router(self) -> Addresses {
        let (second, number) = match self {
            Self::Lan => (234, 1),
            Self::Wan => (235, 2),
        };
        Addresses {
            mac: MacAddr([0x02, 0xea, 2, 0, 0, number]),
            v4: Ipv4Addr::new(10, second, 0, 1),
            v6: Ipv6Addr::new(0xfdea, 0, 0, number.into(), 0, 0, 1, 1),
        }
    }
}

/// The segment of a host.
pub fn segment(place: &Place) -> Segment {
    match place {
        Place::Station { .. } | Place::Lan => Segment::Lan,
        Place::Wan => Segment::Wan,
    }
}

/// Addresses of host `index` of the scenario.
pub fn host(scenario: &Scenario, index: usize) -> Addresses {
    let number = u16::try_from(index).expect("preflight limits the number of hosts");
    let (v4, v6) = segment(&scenario.hosts[index].place).host(number);
    let [high, low] = number.to_be_bytes();
    Addresses { mac: MacAddr([0x02, 0xea, 1, 0, high, low]), v4, v6 }
}

/// MAC addresses of the box's two ports, toward the access point and toward the wire.
pub fn box_ports() -> (MacAddr, MacAddr) {
    (MacAddr([0x02, 0xea, 3, 0, 0, 0]), MacAddr([0x02, 0xea, 3, 0, 0, 1]))
}

/// MAC address of host `index` in the management network.
pub fn management_mac(index: usize) -> MacAddr {
    let number = u16::try_from(index).expect("preflight limits the number of hosts");
    let [high, low] = number.to_be_bytes();
    MacAddr([0x02, 0xea, 4, 0, high, low])
}

/// The address of host `index` that application `app` uses.
pub fn app_address(scenario: &Scenario, app: &App, index: usize) -> IpAddr {
    let addresses = host(scenario, index);
    match app.ip {
        IpVersion::V4 => addresses.v4.into(),
        IpVersion::V6 => addresses.v6.into(),
    }
}

/// The server's port of application `index`.
pub fn server_port(index: usize) -> u16 {
    FIRST_SERVER_PORT + u16::try_from(index).expect("preflight limits the number of applications")
}

/// The client's port of application `index`, for tools that need a fixed one.
pub fn client_port(index: usize) -> u16 {
    FIRST_CLIENT_PORT + u16::try_from(index).expect("preflight limits the number of applications")
}

/// Calls by telephone programs: the RTP port, which is the same at both hosts, and the two applications, from the station
/// and to it.
pub fn telephones(scenario: &Scenario) -> Vec<(u16, [usize; 2])> {
    let calls =
        scenario.apps.iter().enumerate().filter(|(_, app)| app.is_telephone() && app.direction == Direction::Up);
    calls.filter_map(|(up, app)| Some((rtp_port(up), [up, scenario.answer_to(app)?]))).collect()
}

/// RTP port of the telephones whose call from the station is application `index`: an even number; RTCP uses the next one.
pub fn rtp_port(index: usize) -> u16 {
    FIRST_RTP_PORT + 2 * u16::try_from(index).expect("preflight limits the number of applications")
}

/// The application with this server port.
pub fn app_of_port(port: u16) -> Option<usize> {
    let index = usize::from(port.checked_sub(FIRST_SERVER_PORT)?);
    (index < MAX_HOSTS).then_some(index)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn addresses_are_unique_and_inside_their_segment() {
        for segment in [Segment::Lan, Segment::Wan] {
            let mut v4 = BTreeSet::from([segment.router().v4]);
            let mut v6 = BTreeSet::from([segment.router().v6]);
            for number in 0..MAX_HOSTS as u16 {
                let (four, six) = segment.host(number);
                assert!(v4.insert(four), "{four} twice");
                assert!(v6.insert(six), "{six} twice");
                assert_eq!(four.octets()[..2], segment.router().v4.octets()[..2]);
                assert_eq!(six.segments()[..4], segment.router().v6.segments()[..4]);
            }
        }
    }

    #[test]
    fn ports_identify_their_application_and_stay_below_the_ephemeral_range() {
        for index in [0, 1, MAX_HOSTS - 1] {
            assert_eq!(app_of_port(server_port(index)), Some(index));
            // Linux chooses client ports from 32768 on.
            assert!(server_port(index) < 32_768 && client_port(index) < FIRST_SERVER_PORT);
        }
        assert_eq!(app_of_port(FIRST_SERVER_PORT - 1), None);
    }
}
