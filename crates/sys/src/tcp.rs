//! State of TCP connections in Linux, and options that the standard library does not set (tcp(7)).
#![allow(unsafe_code)]

use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

use crate::error::OsError;

/// The sending side of a connection as the kernel sees it (`TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpState {
    /// Congestion window in segments.
    pub cwnd_segments: u32,
    /// Smoothed round-trip time in microseconds.
    pub srtt_us: u32,
    /// Segments retransmitted since the start.
    pub retransmits: u32,
    /// Segments sent and not yet acknowledged.
    pub unacked_segments: u32,
    /// Present retransmission timeout in microseconds.
    pub rto_us: u32,
}

/// Returns the kernel's state of a connection.
///
/// # Errors
/// If the descriptor is not a TCP socket.
pub fn state(socket: impl AsFd) -> Result<TcpState, OsError> {
    // SAFETY: tcp_info is plain data for which all zero bytes is a valid value.
    let mut info: libc::tcp_info = unsafe { zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`, which is that long.
    let rc = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if rc != 0 {
        return Err(OsError::last("getsockopt(TCP_INFO)"));
    }
    Ok(TcpState {
        cwnd_segments: info.tcpi_snd_cwnd,
        srtt_us: info.tcpi_rtt,
        retransmits: info.tcpi_total_retrans,
        unacked_segments: info.tcpi_unacked,
        rto_us: info.tcpi_rto,
    })
}

/// Sets the congestion control of one connection, for instance `cubic`.
///
/// # Errors
/// `ENOENT` if the kernel does not have it, `EPERM` if this user may not use it.
pub fn set_congestion_control(socket: impl AsFd, name: &str) -> Result<(), OsError> {
    // SAFETY: the pointer and the length are those of a live string.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    if rc == 0 { Ok(()) } else { Err(OsError::last(format!("setsockopt(TCP_CONGESTION, {name})"))) }
}

/// Makes closing the connection discard unsent data and reset the peer, so that a stopped transfer stops at once
/// instead of draining megabytes through the network.
///
/// # Errors
/// If the descriptor is not a socket.
pub fn reset_on_close(socket: impl AsFd) -> Result<(), OsError> {
    set_linger(socket, libc::linger { l_onoff: 1, l_linger: 0 })
}

/// Restores the default after [`reset_on_close`]: the kernel sends unsent data and the FIN after closing, with
/// retransmissions.
///
/// # Errors
/// If the descriptor is not a socket.
pub fn finish_on_close(socket: impl AsFd) -> Result<(), OsError> {
    set_linger(socket, libc::linger { l_onoff: 0, l_linger: 0 })
}

fn set_linger(socket: impl AsFd, linger: libc::linger) -> Result<(), OsError> {
    // SAFETY: the pointer and the length are those of `linger`.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    if rc == 0 { Ok(()) } else { Err(OsError::last("setsockopt(SO_LINGER)")) }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// The congestion control of one connection.
    fn congestion_control(socket: impl AsFd) -> Result<String, OsError> {
        let mut name = [0u8; 17];
        let mut length = 16 as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` = 16 bytes into the 17 of `name`; the last stays zero.
        let rc = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                name.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if rc != 0 {
            return Err(OsError::last("getsockopt(TCP_CONGESTION)"));
        }
        let text = CStr::from_bytes_until_nul(&name).expect("the last byte is zero");
        Ok(text.to_string_lossy().into_owned())
    }

    #[test]
    fn a_loopback_connection_has_a_state_and_takes_a_congestion_control() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let state = state(&stream).expect("a TCP socket");
        assert!(state.cwnd_segments > 0 && state.rto_us > 0, "{state:?}");
        set_congestion_control(&stream, "reno").expect("reno is always there");
        assert_eq!(congestion_control(&stream).expect("a TCP socket"), "reno");
        let wrong = set_congestion_control(&stream, "no_such_control").expect_err("unknown");
        assert_eq!(wrong.errno(), libc::ENOENT);
    }

    #[test]
    fn closing_can_be_made_to_finish_again() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (mut peer, _) = listener.accept().expect("accepted");
        reset_on_close(&stream).expect("a socket");
        finish_on_close(&stream).expect("a socket");
        drop(stream);
        assert_eq!(peer.read(&mut [0; 1]).expect("no reset"), 0);
    }

    #[test]
    fn closing_resets_the_peer() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (mut peer, _) = listener.accept().expect("accepted");
        reset_on_close(&stream).expect("a socket");
        drop(stream);
        let error = peer.read(&mut [0; 1]).expect_err("a reset is an error, not the end of the stream");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
}
