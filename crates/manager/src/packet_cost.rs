//! What a packet makes the WLAN carry, in packets and bytes. What that takes of the medium is the airtime model's to
//! say (see `airtime_model`).

use evenair_units::Bytes;

/// Packets that cross the WLAN, all of one size: `milli` thousandths of a packet of `ip_len` bytes at IP level.
/// Fractions are real: a receiver sends, on average, half an ACK for each segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Packets {
    pub(crate) milli: u64,
    pub(crate) ip_len: Bytes,
}

/// What a packet is charged for: itself, what it elicits, what it releases, and what has crossed the WLAN before
/// without having been charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct PacketCost(pub(crate) [Packets; 4]);

/// The cost of a packet that begins to wait, for a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Bytes that are expected to cross the WLAN because of its release.
    pub(crate) expected: Bytes,
    /// Those, and what packets of its connection that were released before turned out to cost more or less than expected.
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

    /// What is still to cross.
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
