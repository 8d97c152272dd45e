//! Receive and transmit counters of an interface, from the kernel (`/proc/net/dev`, proc(5)).
//!
//! Not from rtnetlink, whose reply waits while any interface on the machine is being changed; and not from
//! `/sys/class/net`, which shows the namespace that mounted it.

use std::fs;

use crate::error::OsError;

/// Counters since the interface was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of frames.
    pub packets: u64,
    /// Bytes of these frames, with the Ethernet header.
    pub bytes: u64,
}

/// The counters of an interface by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    /// Received by the interface.
    pub received: Traffic,
    /// Sent by the interface.
    pub sent: Traffic,
}

/// Sum of both directions of the interface called `name` in the calling thread's network namespace.
///
/// # Errors
/// As [`by_direction`].
pub fn of(name: &str) -> Result<Traffic, OsError> {
    let Directions { received, sent } = by_direction(name)?;
    let [packets, bytes] = [(received.packets, sent.packets), (received.bytes, sent.bytes)]
        .map(|(received, sent)| received.saturating_add(sent));
    Ok(Traffic { packets, bytes })
}

/// The counters of the interface called `name` in the calling thread's network namespace.
///
/// # Errors
/// `ENODEV` if there is none of this name; a failed system call.
pub fn by_direction(name: &str) -> Result<Directions, OsError> {
    const FILE: &str = "/proc/thread-self/net/dev";
    let errno = |error: std::io::Error| error.raw_os_error().unwrap_or(libc::EIO);
    let table = fs::read_to_string(FILE).map_err(|error| OsError::new(format!("read {FILE}"), errno(error)))?;
    parse(&table, name).ok_or_else(|| OsError::new(format!("look up {name:?} in {FILE}"), libc::ENODEV))
}

/// A line has the name, a colon, and the counters for reception, then for transmission: bytes, packets and six more.
fn parse(table: &str, name: &str) -> Option<Directions> {
    let line =
        |line: &'_ str| line.split_once(':').filter(|(found, _)| found.trim() == name).map(|(_, rest)| rest.to_owned());
    let counters = table.lines().find_map(line)?;
    let counters: Vec<u64> = counters.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let at = |first: usize| Some(Traffic { packets: *counters.get(first + 1)?, bytes: *counters.get(first)? });
    Some(Directions { received: at(0)?, sent: at(8)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_on_loopback_are_counted() {
        let before = of("lo").expect("every namespace has a loopback interface");
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback is up");
        socket.send_to(&[0; 1000], socket.local_addr().expect("bound")).expect("sent");
        let after = of("lo").expect("still there");
        assert!(after.packets >= before.packets + 2 && after.bytes >= before.bytes + 2_000, "{before:?} {after:?}");
        assert_eq!(of("no-such-dev0").expect_err("there is none").errno(), libc::ENODEV);
    }

    #[test]
    fn a_table_is_read_by_name() {
        let table = "Inter-| Receive | Transmit\n face |bytes packets\n  wl0: 100 2 0 0 0 0 0 0 30 1 0 0 0 0 0 0\nwl01:7 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n cut: 1 2\n";
        let both = |received: (u64, u64), sent: (u64, u64)| {
            let [received, sent] = [received, sent].map(|(bytes, packets)| Traffic { packets, bytes });
            Some(Directions { received, sent })
        };
        assert_eq!(parse(table, "wl0"), both((100, 2), (30, 1)));
        assert_eq!(parse(table, "wl01"), both((7, 1), (0, 0)));
        assert_eq!((parse(table, "cut"), parse(table, "wl")), (None, None));
    }
}
