//! What is set of sockets before they connect: DSCP (RFC 2474), the upper six bits of IPv4's type-of-service octet and of IPv6's
//! traffic class, and the congestion control.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

use evenair_sys::tcp::set_congestion_control;
use socket2::{Domain, SockRef, Socket, Type};

/// Marks all further packets of a socket; `address` determines the IP version.
pub(super) fn mark(socket: &impl AsFd, address: SocketAddr, dscp: u8) -> io::Result<()> {
    let octet = u32::from(dscp) << 2;
    let socket = SockRef::from(socket);
    if address.is_ipv4() { socket.set_tos_v4(octet) } else { socket.set_tclass_v6(octet) }
}

/// Connects with every segment marked, including the first one, and with a congestion control if it is not the host's. It is set before
/// the connection exists: one that began with BBR is paced for ever, whatever it has later.
pub(super) fn connect(server: SocketAddr, dscp: u8, congestion_control: Option<&str>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM, None)?;
    mark(&socket, server, dscp)?;
    if let Some(name) = congestion_control {
        set_congestion_control(&socket, name).map_err(io::Error::other)?;
    }
    socket.connect(&server.into())?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    const EF: u8 = 46;

    fn octet(socket: &impl AsFd, v4: bool) -> u32 {
        let socket = SockRef::from(socket);
        if v4 { socket.tos_v4() } else { socket.tclass_v6() }.expect("a socket")
    }

    #[test]
    fn both_ends_of_a_connection_are_marked() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let any: SocketAddr = any.parse().expect("an address");
            let Ok(listener) = TcpListener::bind(any) else {
                assert!(any.is_ipv6(), "loopback");
                eprintln!("skipped: no IPv6 here");
                continue;
            };
            mark(&listener, any, EF).expect("a socket");
            let client = connect(listener.local_addr().expect("bound"), EF, None).expect("connected");
            let (accepted, _) = listener.accept().expect("accepted");
            assert_eq!([octet(&client, any.is_ipv4()), octet(&accepted, any.is_ipv4())], [184, 184]);
        }
    }

    #[test]
    fn datagrams_are_marked() {
        let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let socket = UdpSocket::bind(any).expect("loopback");
        mark(&socket, any, 8).expect("a socket");
        assert_eq!(octet(&socket, true), 32);
    }
}
