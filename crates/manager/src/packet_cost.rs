//! The packets that the WLAN carries because of one packet, in packets and bytes. The airtime model computes their
//! airtime (see `airtime_model`).

use evenair_units::Bytes;

/// Packets that cross the WLAN, all of one size: `milli` thousandths of a packet of `ip_len` bytes at IP level.
/// Fractions occur: a receiver sends, on average, half an ACK for each segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Packets {
    pub(crate) milli: u64,
    pub(crate) ip_len: Bytes,
}

/// The cost of a packet: itself, packets that it elicits, packets that it releases, and packets that have crossed the
/// WLAN before without being charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct PacketCost(pub(crate) [Packets; 4]);

/// The charge, for a discipline, of a packet that begins to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Bytes that are expected to cross the WLAN because of its release.
    pub(crate) expected: Bytes,
    /// `expected`, corrected by what earlier releases of its flow have cost more or less than expected.
    pub(crate) due: Bytes,
}

impl Packets {
    pub(crate) const fn one(ip_len: Bytes) -> Self {
        Self { milli: 1_000, ip_len }
    }
}

impl PacketCost {
    /// The cost of a packet that causes no others.
    pub(crate) fn alone(packet: Packets) -> Self {
        Self([packet, Packets::default(), Packets::default(), Packets::default()])
    }

    /// The part that is still to cross.
    pub(crate) fn outstanding(&self) -> Self {
        let [own, elicited, released, _] = self.0;
        Self([own, elicited, released, Packets::default()])
    }

    /// The virtual length in bits.
    pub(crate) fn bits(&self) -> u64 {
        self.0.iter().map(|p| p.milli * p.ip_len.bits()).sum::<u64>() / 1_000
    }

    /// The virtual length in bytes, rounded up.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.bits().div_ceil(8))
    }
}
