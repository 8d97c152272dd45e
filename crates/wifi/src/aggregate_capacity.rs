//! Goodput of senders that aggregate, and the airtime of a packet that shares its access with others.
//!
//! An access is AIFS and a mean back-off of best effort, [RTS SIFS CTS SIFS], a PPDU, SIFS, and the response: a BlockAck, or
//! an ACK if the PPDU has one frame. It takes nearly the same time for one frame as for many, so the number of frames in it
//! determines the goodput.
//!
//! All functions use the *expected* number of frames in an aggregate, not the recently observed one: a small backlog makes
//! short aggregates, which look like a slow medium.
//!
//! Source: the medium access of IEEE Std 802.11-2020, clause 10.23, and the equations of `capacity`, with n packets of DATA
//! and k ACKs in each access. [`mixed_capacity`](crate::mixed_capacity) combines capacities of aggregating senders, too.
//!
//! Not modelled: losses of single frames, stalled block-ack windows, TXOP limits, several contending senders.

use evenair_units::{BitRate, Bytes, Span};

use crate::aggregate::{a_mpdu_bytes, subframe};
use crate::{
    AccessCategory, AggregateLimits, LLC_SNAP, MAC_HEADER_AND_FCS, Phy, PhyRate, QOS_CONTROL, TcpShape, full_aggregate,
};

/// Unit of probabilities: 1 / `MILLION`.
const MILLION: u128 = 1_000_000;
/// Binary places of the airtime per byte, in nanoseconds.
const PLACES: u32 = 16;

/// One saturated sender with one receiver.
#[derive(Clone, Copy, Debug)]
pub struct AggregateSender<'a> {
    /// The PHY profile of its BSS.
    pub phy: &'a Phy,
    /// PHY rate of its DATA.
    pub rate: PhyRate,
    /// Limits of its aggregates.
    pub limits: AggregateLimits,
    /// Accesses with more bytes of IP packets use RTS and CTS.
    pub rts_threshold: Option<Bytes>,
}

/// A TCP transfer with aggregation in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AggregateTcp {
    /// Its packets. `rts_threshold` is ignored in favour of the sender's.
    pub shape: TcpShape,
    /// Number of ACKs in an access; `None`: the ACKs of one aggregate of DATA, rounded to an integer.
    pub acks: Option<u16>,
    /// Probability that an aggregate of DATA collides with the access of the ACKs, in millionths; see
    /// [`collision_millionths`].
    pub collision_millionths: u32,
}

/// Airtime of packets to or from a station with the expected number of packets per access: computed once for a rate and its
/// limits, so that the airtime of a packet is a multiplication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AggregateCost {
    /// Airtime of a byte of a frame, in 2^-[`PLACES`] ns.
    per_byte: u64,
    /// Airtime of an access without its frames.
    pub per_access: Span,
    /// Expected packets of DATA per access.
    pub expected: u16,
    /// Expected ACKs per access.
    pub expected_acks: u16,
}

/// Probability, in millionths, that the senders of DATA and of its ACKs, which both contend after each access, draw the same
/// slot of the first window: one in `CWmin + 1`.
pub fn collision_millionths(phy: &Phy) -> u32 {
    1_000_000 / (phy.cw_min() + 1)
}

/// Size of the QoS DATA frame of an IP packet.
const fn mpdu(ip: Bytes) -> Bytes {
    Bytes(ip.0 + LLC_SNAP.0 + MAC_HEADER_AND_FCS.0 + QOS_CONTROL.0)
}

/// Quotient rounded to the nearest integer, ties to even.
const fn rounded(numerator: u64, denominator: u64) -> u64 {
    let (whole, twice_rest) = (numerator / denominator, numerator % denominator * 2);
    whole + (twice_rest > denominator || (twice_rest == denominator && whole % 2 == 1)) as u64
}

impl AggregateSender<'_> {
    /// Number of IP packets of this size in its largest aggregate.
    pub fn full(&self, ip: Bytes) -> u16 {
        full_aggregate(self.phy, self.rate, mpdu(ip), &self.limits)
    }

    /// Airtime of a PPDU with `n` IP packets of this size.
    pub fn ppdu(&self, n: u16, ip: Bytes) -> Span {
        let psdu = match n {
            0 | 1 => self.phy.single_mpdu(mpdu(ip), self.rate),
            n => a_mpdu_bytes(n, mpdu(ip)),
        };
        self.phy.ppdu(psdu, self.rate)
    }

    /// Duration of an access with `n` IP packets of this size: from the end of the previous access to the end of its
    /// response.
    pub fn cycle(&self, n: u16, ip: Bytes) -> Span {
        let is_above = |threshold: Bytes| ip.0 * u64::from(n) > threshold.0;
        let reservation = match self.rts_threshold.is_some_and(is_above) {
            true => self.phy.reservation(self.rate),
            false => Span::ZERO,
        };
        let answer = match n {
            0 | 1 => self.phy.ack(self.rate),
            _ => self.phy.block_ack(self.rate, self.limits.frames),
        };
        let best_effort = self.phy.default_edca()[AccessCategory::BestEffort.index()];
        let wait = best_effort.aifs(self.phy) + self.phy.mean_backoff();
        wait + reservation + self.ppdu(n, ip) + self.phy.sifs() + answer
    }

    /// Goodput, in IP-level bits per second, with `n` packets of this size in every access.
    pub fn throughput(&self, n: u16, ip: Bytes) -> BitRate {
        BitRate::from_bits_over(u64::from(n) * ip.bits(), self.cycle(n, ip))
    }

    /// C_i: IP-level capacity of the medium with only TCP at this rate, `n` packets of DATA in each access of the sender and
    /// k ACKs in each of the receiver, rounded down to the bit per second:
    ///
    /// `(n L_DATA + (n/d) L_ACK) / (T_DATA(n) + q P(n) + n/(d k) T_ACK(k))`
    ///
    /// with the duration T of an access, that of the PPDU P, and the probability q of a collision, which costs a PPDU.
    pub fn tcp_capacity(&self, n: u16, tcp: &AggregateTcp) -> BitRate {
        let TcpShape { data_ip, ack_ip, d_milli, .. } = tcp.shape;
        let k = self.acks_in_an_access(n, tcp);
        let ns = |span: Span| u128::from(span.as_nanos());
        let (n_wide, d, k_wide) = (u128::from(n), u128::from(d_milli), u128::from(k));
        // Numerator and denominator in thousandths of an ACK and in k-ths and millionths of an access.
        let bits = n_wide * (d * u128::from(data_ip.bits()) + 1_000 * u128::from(ack_ip.bits()));
        let data =
            ns(self.cycle(n, data_ip)) * MILLION + ns(self.ppdu(n, data_ip)) * u128::from(tcp.collision_millionths);
        let time = d * k_wide * data + 1_000 * n_wide * ns(self.cycle(k, ack_ip)) * MILLION;
        let bps = (bits * k_wide * MILLION * 1_000_000_000).checked_div(time).unwrap_or(0);
        BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// Airtime of packets if aggregates have `n` packets of this shape's DATA.
    pub fn cost(&self, n: u16, tcp: &AggregateTcp) -> AggregateCost {
        let n = n.max(1);
        let data_ip = tcp.shape.data_ip;
        let bps = self.rate.bit_rate().as_bps().max(1);
        let per_byte = ((8_000_000_000 << PLACES) + bps / 2) / bps;
        let expected_acks = self.acks_in_an_access(n, tcp);
        let mut cost = AggregateCost { per_byte, per_access: Span::ZERO, expected: n, expected_acks };
        // The rest of an access with `n` packets, so that their airtimes add up to it.
        cost.per_access = self.cycle(n, data_ip).saturating_sub(cost.frame(data_ip) * u64::from(n));
        cost
    }

    /// k, the ACKs per access.
    fn acks_in_an_access(&self, n: u16, tcp: &AggregateTcp) -> u16 {
        let d_milli = u64::from(tcp.shape.d_milli.max(1));
        let of_one_aggregate = rounded(u64::from(n) * 1_000, d_milli);
        let most = self.full(tcp.shape.ack_ip);
        tcp.acks.unwrap_or(u16::try_from(of_one_aggregate).unwrap_or(u16::MAX)).clamp(1, most)
    }
}

impl AggregateCost {
    /// Airtime of an IP packet of DATA: its frame, and its share of an access.
    pub const fn data(&self, ip: Bytes) -> Span {
        self.shared(ip, self.expected)
    }

    /// Airtime of an ACK.
    pub const fn ack(&self, ip: Bytes) -> Span {
        self.shared(ip, self.expected_acks)
    }

    /// Airtime of an IP packet alone in its access.
    pub const fn alone(&self, ip: Bytes) -> Span {
        self.shared(ip, 1)
    }

    /// Airtime of a released packet of DATA, with its share of the returning ACKs: one ACK for `d_milli` thousandths of
    /// packets.
    pub const fn data_with_acks(&self, ip: Bytes, ack_ip: Bytes, d_milli: u32) -> Span {
        let acks = self.ack(ack_ip).mul_div(1_000, d_milli as u64);
        Span::from_nanos(self.data(ip).as_nanos() + acks.as_nanos())
    }

    /// Share of the airtime in which frames are sent, if frames take `payload` per access: in thousandths, rounded down.
    pub const fn efficiency_permille(&self, payload: Span) -> u64 {
        payload.as_nanos() * 1_000 / (payload.as_nanos() + self.per_access.as_nanos())
    }

    const fn shared(&self, ip: Bytes, by: u16) -> Span {
        Span::from_nanos(self.frame(ip).as_nanos() + self.per_access.as_nanos() / by as u64)
    }

    /// Airtime of its frame within an aggregate.
    pub const fn frame(&self, ip: Bytes) -> Span {
        Span::from_nanos((subframe(mpdu(ip)) * self.per_byte) >> PLACES)
    }
}

#[cfg(test)]
#[path = "aggregate_capacity_tests.rs"]
mod tests;
