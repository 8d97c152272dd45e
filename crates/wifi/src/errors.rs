//! Error models: from the signal-to-noise ratio to the loss probability of a frame, for every modulation and code of
//! 802.11a/b/g and n/ac/ax, over additive white Gaussian noise.
//!
//! - DSSS at 1 and 2 Mb/s: differential BPSK and QPSK; the latter by the approximation of G. Ferrari and G. E. Corazza,
//!   "Tight bounds and accurate approximations for DQPSK transmission bit error rate", Electronics Letters 40(20), 2004.
//! - CCK at 5.5 and 11 Mb/s: a code word is one of 16, or of 256 as two of 16, biorthogonal signals (J. G. Proakis,
//!   "Digital Communications", 4th edition, 5.2; M. B. Pursley and T. C. Royster, "Properties and performance of the
//!   IEEE 802.11b complementary-code-key signal sets", IEEE Trans. Communications 57(2), 2009).
//! - OFDM of all standards and formats: from published link simulations with soft decisions (`link_curves`). Each stream has
//!   the whole signal-to-noise ratio, in the frame's width.
//! - OFDM at 6 to 54 Mb/s with [`Phy::with_hard_decisions`]: bit errors of the constellation, then the union bound of the
//!   convolutional code with hard decisions, known as the NIST model: G. Pei and T. R. Henderson, "Validation of OFDM error rate
//!   model in ns-3", 2010; L. E. Miller, "Validation of 802.11a/UWB coexistence simulation", NIST, 2003. Distance spectra:
//!   D. Haccoun and G. Begin, "High-rate punctured convolutional codes for Viterbi and sequential decoding", IEEE Trans.
//!   Communications 37(11), 1989.
//!
//! A frame is received if both its PLCP header (with its own rate and size) and its payload are. Noise is that of the
//! channel's bandwidth; interference counts as noise.
//!
//! Not modelled: fading, a receiver's loss beyond its noise figure, the SYNC field (a receiver that misses it loses the frame
//! for another reason than bit errors).

mod link_curves;

use core::f64::consts::{PI, SQRT_2};

use evenair_units::Bytes;

use crate::phy::Phy;
use crate::power::{Db, db_to_ratio};
use crate::rate::Modulation;
use crate::{PhyRate, Preamble};

/// Bandwidth of a DSSS channel, Hz: between the first zeros of its spectral mask.
pub(crate) const DSSS_BANDWIDTH_HZ: f64 = 22e6;
/// Unit of probabilities: 1 / `BILLION`.
const BILLION: f64 = 1e9;

/// A constant bit error probability, in units of 10^-15.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct BitErrorRate(u64);

impl BitErrorRate {
    /// No errors.
    pub const ZERO: Self = Self(0);

    /// From a probability; `None` where it is not in `[0, 1)`.
    pub fn new(probability: f64) -> Option<Self> {
        (0.0..1.0).contains(&probability).then(|| Self(libm::round(probability * 1e15) as u64))
    }

    /// As a probability.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e15
    }

    /// Probability that at least one of these bytes has an error, per 10^9.
    pub fn frame_error_per_billion(self, frame: Bytes) -> u32 {
        per_billion(-libm::expm1(frame.bits() as f64 * libm::log1p(-self.as_f64())))
    }
}

/// Loss probability, per 10^9, of a frame with this PSDU (MAC frame with FCS) at `rate` in a network with this PHY, received
/// with `snr` above noise and interference: its PLCP header or its payload has an error.
pub fn frame_error_per_billion(phy: &Phy, rate: PhyRate, psdu: Bytes, snr: Db) -> u32 {
    per_billion(1.0 - header_success(phy, rate, snr) * payload_success(phy, rate, psdu, snr))
}

/// Loss probability, per 10^9, of the PLCP header, so that the receiver does not detect the frame.
pub fn header_error_per_billion(phy: &Phy, rate: PhyRate, snr: Db) -> u32 {
    per_billion(1.0 - header_success(phy, rate, snr))
}

fn per_billion(probability: f64) -> u32 {
    libm::round(probability.clamp(0.0, 1.0) * BILLION) as u32
}

/// Success probability of the PLCP header: 48 bits at 1 Mb/s after a long preamble, at 2 Mb/s after a short one (IEEE Std
/// 802.11-2016, 16.2.2); with OFDM the SIGNAL field's 24 bits as at 6 Mb/s (17.3.4), with which all later formats begin.
fn header_success(phy: &Phy, rate: PhyRate, snr: Db) -> f64 {
    let ratio = db_to_ratio(snr);
    match rate.modulation() {
        Modulation::Ofdm(_) | Modulation::PhyMode(_) => ofdm_success(phy, 12, Bytes(3), snr),
        Modulation::Dsss(2) => dbpsk(ratio, 48.0),
        Modulation::Dsss(_) if phy.preamble() == Preamble::Short => dqpsk(ratio, 48.0),
        Modulation::Dsss(_) => dbpsk(ratio, 48.0),
    }
}

/// Success probability of a PSDU at `rate`.
fn payload_success(phy: &Phy, rate: PhyRate, psdu: Bytes, snr: Db) -> f64 {
    let (ratio, bits) = (db_to_ratio(snr), psdu.bits() as f64);
    match rate.modulation() {
        Modulation::Dsss(2) => dbpsk(ratio, bits),
        Modulation::Dsss(4) => dqpsk(ratio, bits),
        // 1.375 million code words a second, 4 or 8 bits each: energy of a code word over noise density is 16 SNR. One
        // of 16 signals at 5.5 Mb/s, two of 16 with half of the energy each at 11 Mb/s.
        Modulation::Dsss(11) => libm::exp(libm::log1p(-biorthogonal_16(8.0 * ratio)) * bits / 4.0),
        Modulation::Dsss(_) => libm::exp(2.0 * libm::log1p(-biorthogonal_16(4.0 * ratio)) * bits / 8.0),
        Modulation::Ofdm(half_mbps) => ofdm_success(phy, half_mbps, psdu, snr),
        Modulation::PhyMode(mode) => link_curves::success(mode.mcs(), psdu, snr),
    }
}

/// Success probability of a PSDU at a rate of OFDM.
fn ofdm_success(phy: &Phy, half_mbps: u8, psdu: Bytes, snr: Db) -> f64 {
    if !phy.has_hard_decisions() {
        return link_curves::ofdm_success(half_mbps, psdu, snr);
    }
    let row = OFDM.iter().find(|row| row.mbps * 2 == half_mbps).expect("OFDM has a row for each rate");
    all_right(row.code.bit_error(row.constellation.bit_error(db_to_ratio(snr))), psdu.bits() as f64)
}

/// Probability that all of `bits` are right, if each is wrong with probability `error`; a bound above one counts as one.
fn all_right(error: f64, bits: f64) -> f64 {
    libm::exp(bits * libm::log1p(-error.min(1.0)))
}

/// Success probability of `bits` bits with differential BPSK at 1 Mb/s.
fn dbpsk(snr: f64, bits: f64) -> f64 {
    let eb_n0 = snr * DSSS_BANDWIDTH_HZ / 1e6;
    all_right(0.5 * libm::exp(-eb_n0), bits)
}

/// Success probability of `bits` bits with differential QPSK at 2 Mb/s.
fn dqpsk(snr: f64, bits: f64) -> f64 {
    let eb_n0 = snr * DSSS_BANDWIDTH_HZ / 2e6;
    let factor = (SQRT_2 + 1.0) / libm::sqrt(8.0 * PI * SQRT_2 * eb_n0);
    all_right(factor * libm::exp(-(2.0 - SQRT_2) * eb_n0), bits)
}

/// Probability of a wrong decision among 16 biorthogonal signals, at half of their energy over noise density `e`: `1 -
/// integral from -b of (2 Phi(x + b) - 1)^7 phi(x)` with `b = sqrt(2 e)`. The complement is integrated, so that small
/// probabilities keep their digits. The trapezoidal rule converges exponentially on such integrands.
fn biorthogonal_16(e: f64) -> f64 {
    const STEP: f64 = 0.05;
    const END: f64 = 10.0;
    let b = libm::sqrt(2.0 * e);
    let from = -b.min(END);
    let steps = libm::ceil((END - from) / STEP) as u32;
    let step = (END - from) / f64::from(steps);
    let integrand = |x: f64| {
        let others = libm::erfc((x + b) / SQRT_2);
        let missed = -libm::expm1(7.0 * libm::log1p(-others.min(1.0)));
        missed * libm::exp(-x * x / 2.0) / libm::sqrt(2.0 * PI)
    };
    let inner: f64 = (1..steps).map(|i| integrand(from + f64::from(i) * step)).sum();
    let integral = step * (inner + 0.5 * (integrand(from) + integrand(END)));
    (integral + 0.5 * libm::erfc(b / SQRT_2)).clamp(0.0, 1.0)
}

/// A rate of OFDM: its constellation and code.
struct Ofdm {
    mbps: u8,
    constellation: Constellation,
    code: &'static Code,
}

#[derive(Clone, Copy)]
enum Constellation {
    Bpsk,
    Qpsk,
    Qam16,
    Qam64,
}

/// A (punctured) convolutional code with generators 133 and 171 (octal).
struct Code {
    /// Information bits of a puncturing period.
    period: u32,
    /// Minimum distance between two paths.
    free_distance: u32,
    /// Step of the distances in `spectrum`.
    step: u32,
    /// Information bits in error over all paths at each distance, summed over the phases of the period.
    spectrum: &'static [f64],
}

const HALF: Code = Code {
    period: 1,
    free_distance: 10,
    step: 2,
    spectrum: &[36.0, 211.0, 1404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0],
};
const TWO_THIRDS: Code = Code {
    period: 2,
    free_distance: 6,
    step: 1,
    spectrum: &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0],
};
const THREE_QUARTERS: Code = Code {
    period: 3,
    free_distance: 5,
    step: 1,
    spectrum: &[
        42.0,
        201.0,
        1492.0,
        10_469.0,
        62_935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
};
/// IEEE Std 802.11-2016, table 17-4.
const OFDM: [Ofdm; 8] = [
    Ofdm { mbps: 6, constellation: Constellation::Bpsk, code: &HALF },
    Ofdm { mbps: 9, constellation: Constellation::Bpsk, code: &THREE_QUARTERS },
    Ofdm { mbps: 12, constellation: Constellation::Qpsk, code: &HALF },
    Ofdm { mbps: 18, constellation: Constellation::Qpsk, code: &THREE_QUARTERS },
    Ofdm { mbps: 24, constellation: Constellation::Qam16, code: &HALF },
    Ofdm { mbps: 36, constellation: Constellation::Qam16, code: &THREE_QUARTERS },
    Ofdm { mbps: 48, constellation: Constellation::Qam64, code: &TWO_THIRDS },
    Ofdm { mbps: 54, constellation: Constellation::Qam64, code: &THREE_QUARTERS },
];

impl Constellation {
    /// Bit error probability before decoding, with Gray coding.
    fn bit_error(self, snr: f64) -> f64 {
        let (factor, per_bit) = match self {
            Self::Bpsk => (0.5, 1.0),
            Self::Qpsk => (0.5, 2.0),
            Self::Qam16 => (3.0 / 8.0, 10.0),
            Self::Qam64 => (7.0 / 24.0, 42.0),
        };
        factor * libm::erfc(libm::sqrt(snr / per_bit))
    }
}

impl Code {
    /// Union bound of the bit error probability after decoding with hard decisions, with the Chernoff bound of each path.
    fn bit_error(&self, error: f64) -> f64 {
        let d = libm::sqrt(4.0 * error * (1.0 - error));
        let mut power = libm::pow(d, f64::from(self.free_distance));
        let step = libm::pow(d, f64::from(self.step));
        let mut sum = 0.0;
        for weight in self.spectrum {
            sum += weight * power;
            power *= step;
        }
        sum / f64::from(2 * self.period)
    }
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
