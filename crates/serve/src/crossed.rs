//! IP-level bytes that crossed the box between two instants: by its own counters while it carries the traffic, by the kernel's while the
//! bridge does, in both cases without the Ethernet header of 14 bytes.

use evenair_api::{Carrier, Status};
use evenair_sys::traffic::{Directions, Traffic};

/// Bytes of an Ethernet header; VLAN tags count as part of the packet.
const HEADER: u64 = 14;

/// Counters at one instant.
#[derive(Clone, Copy)]
pub(crate) struct Counted<'a> {
    pub(crate) status: &'a Status,
    /// The kernel's counters of the port of the access points; `None`: the port is gone.
    pub(crate) kernel: Option<Directions>,
}

impl Counted<'_> {
    /// Bytes since `before`, toward the WLAN and from it; `None`: unknown.
    pub(crate) fn since(&self, before: Counted<'_>) -> [Option<u64>; 2] {
        const UNKNOWN: [Option<u64>; 2] = [None; 2];
        let by_box = [before, *self].map(|counted| counted.status.carrier == Carrier::Box);
        let since = |from: [u64; 2], to: [u64; 2]| [0, 1].map(|way| to[way].checked_sub(from[way]));
        match by_box {
            [true, true] => since(before.sent(), self.sent()),
            // The kernel does not count packets that AF_XDP sockets take from the driver.
            [a, b] if (a || b) && !self.status.wlan.io.starts_with("af-packet") => UNKNOWN,
            _ => match (before.crossed(), self.crossed()) {
                (Some(from), Some(to)) => since(from, to),
                _ => UNKNOWN,
            },
        }
    }

    /// By the box's counters.
    fn sent(&self) -> [u64; 2] {
        [&self.status.wlan, &self.status.wire]
            .map(|port| ip_bytes(Traffic { packets: port.sent, bytes: port.sent_bytes }))
    }

    /// By the kernel's counters: packets sent by the port of the access points go down, received ones go up.
    fn crossed(&self) -> Option<[u64; 2]> {
        self.kernel.map(|port| [ip_bytes(port.sent), ip_bytes(port.received)])
    }
}

fn ip_bytes(traffic: Traffic) -> u64 {
    traffic.bytes.saturating_sub(HEADER * traffic.packets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::status_of;
    use crate::names::Names;
    use crate::tests_support::snapshot;

    /// The bytes of a second in which the kernel's port has sent ten packets of 2,500 bytes, and the box's a thousand of a kilobyte.
    fn since(before: Carrier, now: Carrier, io: &str) -> [Option<u64>; 2] {
        let status = |seconds: u64, carrier| {
            let mut snapshot = snapshot();
            (snapshot.carrier, snapshot.wlan.io) = (carrier, io.into());
            (snapshot.wlan.sent, snapshot.wlan.sent_bytes) = (1_000 * seconds, 1_014_000 * seconds);
            status_of(&snapshot, &Names::default())
        };
        let kernel = |seconds: u64| {
            let sent = Traffic { packets: 10 * seconds, bytes: 25_140 * seconds };
            Some(Directions { sent, received: Traffic { packets: 0, bytes: 500 * seconds } })
        };
        let [before, now] =
            [(10, before), (11, now)].map(|(seconds, carrier)| (status(seconds, carrier), kernel(seconds)));
        let counted = |(status, kernel)| Counted { status, kernel };
        counted((&now.0, now.1)).since(counted((&before.0, before.1)))
    }

    #[test]
    fn the_counters_of_the_present_carrier_are_used() {
        assert_eq!(since(Carrier::Box, Carrier::Box, "af-packet"), [Some(1_000_000), Some(0)]);
        assert_eq!(since(Carrier::Bridge, Carrier::Bridge, "af-packet"), [Some(25_000), Some(500)]);
    }

    #[test]
    fn a_second_with_a_switchover_uses_the_kernels_counters_if_they_count_all() {
        assert_eq!(since(Carrier::Bridge, Carrier::Box, "af-packet"), [Some(25_000), Some(500)]);
        assert_eq!(since(Carrier::Bridge, Carrier::Box, "af-xdp native"), [None; 2]);
        let (status, gone) = (Status::default(), Status { carrier: Carrier::Bridge, ..Status::default() });
        let counted = |status| Counted { status, kernel: None };
        assert_eq!(counted(&status).since(counted(&gone)), [None; 2]);
    }
}
