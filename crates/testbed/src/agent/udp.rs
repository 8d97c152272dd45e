//! Datagrams and echoes.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use evenair_sys::rt::monotonic_ns;
use evenair_workload::DatagramSource;

use super::marking::mark;
use super::protocol::Report;
use super::state::{App, Times, sleep_until};

/// Interval at which a blocked receiver checks whether it must stop.
const PATIENCE: Duration = Duration::from_millis(200);
/// A sender that is further behind than this, in nanoseconds, skips the lost time instead of sending a long burst.
const MOST_BEHIND_NS: u64 = 50_000_000;
/// Size of an echo's payload in bytes: 64 bytes with its headers, as in ping(8).
const ECHO_BYTES: usize = 36;

pub(super) fn bind(address: SocketAddr, dscp: u8) -> Result<UdpSocket, String> {
    let socket = UdpSocket::bind(address).map_err(|e| format!("bind {address}: {e}"))?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(|e| e.to_string())?;
    mark(&socket, address, dscp).map_err(|e| format!("mark with DSCP {dscp}: {e}"))?;
    Ok(socket)
}

/// A socket that has joined a multicast group.
pub(super) fn bind_to_group(group: Ipv4Addr, port: u16, interface: Ipv4Addr) -> Result<UdpSocket, String> {
    let socket = bind((group, port).into(), 0)?;
    socket.join_multicast_v4(&group, &interface).map_err(|e| format!("join {group}: {e}"))?;
    Ok(socket)
}

pub(super) fn send(app: &App, socket: &UdpSocket, to: SocketAddr, mut source: DatagramSource, times: Times) {
    let content = [0x5a; 65_536];
    // Moves by the skipped time.
    let mut origin = times.start_ns;
    while !app.is_stopped() {
        let due = origin + source.peek().at.as_nanos();
        sleep_until(due);
        let behind = monotonic_ns().saturating_sub(due);
        origin += behind.saturating_sub(MOST_BEHIND_NS);
        // A full queue or an ICMP error loses the datagram.
        let size = usize::try_from(source.peek().payload.0).map_or(content.len(), |size| size.min(content.len()));
        let _ = socket.send_to(&content[..size], to);
        source.advance();
    }
}

pub(super) fn receive(app: &App, socket: &UdpSocket) {
    let mut buffer = [0; 65_536];
    while !app.is_stopped() {
        if let Ok((n, _)) = socket.recv_from(&mut buffer) {
            app.count_received(n);
        }
    }
}

pub(super) fn echo(app: &App, socket: &UdpSocket) {
    let mut buffer = [0; 65_536];
    while !app.is_stopped() {
        if let Ok((n, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..n], from);
        }
    }
}

pub(super) fn ping(app: &Arc<App>, server: SocketAddr, interval_ns: u64, times: Times) {
    sleep_until(times.start_ns);
    let any: SocketAddr = if server.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = match bind(any, app.dscp) {
        Ok(socket) => Arc::new(socket),
        Err(error) => return app.note(error),
    };
    let listener = { (Arc::clone(app), Arc::clone(&socket)) };
    thread::spawn(move || hear_echoes(&listener.0, &listener.1));
    let mut next = times.start_ns;
    while !app.is_stopped() {
        let mut datagram = [0; ECHO_BYTES];
        datagram[..8].copy_from_slice(&monotonic_ns().to_be_bytes());
        if let Err(error) = socket.send_to(&datagram, server)
            && error.kind() != ErrorKind::WouldBlock
        {
            app.note(format!("no echo request: {error}"));
        }
        next += interval_ns;
        sleep_until(next);
    }
}

fn hear_echoes(app: &App, socket: &UdpSocket) {
    let mut buffer = [0; ECHO_BYTES];
    while !app.is_stopped() {
        let Ok((ECHO_BYTES, _)) = socket.recv_from(&mut buffer) else { continue };
        let sent_ns = u64::from_be_bytes(*buffer.first_chunk().expect("it is longer"));
        let at_ns = monotonic_ns();
        app.report(&Report::Echo { app: app.number, at_ns, rtt_us: at_ns.saturating_sub(sent_ns) / 1000 });
    }
}
