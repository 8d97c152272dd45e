//! Frame error curves of OFDM from link simulations: receivers of 802.11n and later, with soft decisions.
//!
//! Hard decisions, as in the NIST model of [`crate::errors`], need 3 dB more at BPSK and 4 dB more at 64-QAM.
//!
//! Source: R. Patidar, S. Roy, T. R. Henderson, A. Chandramohan, "Link-to-System Mapping for ns-3 Wi-Fi OFDM Error Models",
//! Workshop on ns-3, 2017: packet error rate over SNR in white Gaussian noise, by MCS, from MATLAB's WLAN toolbox. ns-3 uses
//! these tables since 3.33; the points below are read off those of its release 3.44. Up to MCS 9 they are those of the
//! convolutional codes, ns-3's default, and for MCS 10 and 11 those of LDPC, their only code. At lower MCS, LDPC would need
//! 1.5 to 2 dB less for a packet error rate of 10 %.
//!
//! The error exponent is the same for each byte: `-ln(1 - PER)` is proportional to the frame size. Its logarithm is
//! interpolated linearly in dB between the points, and extrapolated beyond them.

use evenair_units::{Bytes, Db};

/// Sizes of a large and of a small frame in the source, bytes.
const LARGE: f64 = 1_458.0;
const SMALL: f64 = 32.0;

/// A loss probability of frames of a size.
struct Level {
    bytes: f64,
    lost: f64,
}

/// Levels of the SNR values in [`CONVOLUTIONAL`]; [`LDPC`] has the levels of large frames.
const LEVELS: [Level; 5] = [
    Level { bytes: SMALL, lost: 0.5 },
    Level { bytes: SMALL, lost: 0.1 },
    Level { bytes: LARGE, lost: 0.5 },
    Level { bytes: LARGE, lost: 0.1 },
    Level { bytes: LARGE, lost: 0.01 },
];

/// SNR in dB, by MCS and level.
const CONVOLUTIONAL: [[f64; 5]; 10] = [
    [-1.36, -0.41, 0.28, 0.87, 1.53],
    [1.65, 2.57, 3.28, 3.89, 4.54],
    [4.15, 5.07, 5.76, 6.37, 7.06],
    [6.93, 8.04, 8.92, 9.63, 10.45],
    [10.17, 11.22, 12.02, 12.72, 13.53],
    [14.05, 15.26, 16.20, 17.02, 17.96],
    [15.41, 16.58, 17.52, 18.32, 19.22],
    [16.83, 18.06, 18.78, 19.59, 20.50],
    [20.37, 21.68, 22.75, 23.65, 24.70],
    [22.03, 23.24, 24.24, 25.10, 26.10],
];
/// SNR in dB of MCS 10 and 11, by level.
const LDPC: [[f64; 3]; 2] = [[26.37, 26.78, 27.23], [28.43, 28.86, 29.30]];

/// Rate of OFDM, Mb/s, and the MCS with the same constellation and code.
const OF_OFDM: [(u8, u8); 7] = [(6, 0), (12, 1), (18, 2), (24, 3), (36, 4), (48, 5), (54, 6)];
/// 9 Mb/s is BPSK with the code of QPSK at 18 Mb/s, and needs half of its SNR: 3 dB less.
const HALF_OF_QPSK: f64 = 3.010_3;

/// Success probability of a frame of this size, at a mode with this MCS.
pub(crate) fn success(mcs: u8, size: Bytes, snr: Db) -> f64 {
    success_at(mcs, size.0 as f64, decibels(snr))
}

/// Success probability of a frame of this size, at a rate of OFDM.
pub(crate) fn ofdm_success(half_mbps: u8, size: Bytes, snr: Db) -> f64 {
    match OF_OFDM.iter().find(|(mbps, _)| 2 * mbps == half_mbps) {
        Some(&(_, mcs)) => success(mcs, size, snr),
        None => success_at(2, size.0 as f64, decibels(snr) + HALF_OF_QPSK),
    }
}

fn decibels(snr: Db) -> f64 {
    f64::from(snr.as_milli()) / 1e3
}

fn success_at(mcs: u8, bytes: f64, snr: f64) -> f64 {
    let mcs = usize::from(mcs);
    let log = match CONVOLUTIONAL.get(mcs) {
        Some(points) => between(points, &LEVELS, snr),
        None => between(&LDPC[mcs - CONVOLUTIONAL.len()], &LEVELS[2..], snr),
    };
    libm::exp(-libm::exp(log) * bytes)
}

/// Logarithm of the error exponent per byte at this SNR, by interpolation between the points.
fn between(points: &[f64], levels: &[Level], snr: f64) -> f64 {
    let above = points.iter().position(|&point| point >= snr).unwrap_or(points.len());
    let next = above.clamp(1, points.len() - 1);
    let at = |place: usize| levels[place].log_of_each_byte();
    let share = (snr - points[next - 1]) / (points[next] - points[next - 1]);
    at(next - 1) + share * (at(next) - at(next - 1))
}

impl Level {
    fn log_of_each_byte(&self) -> f64 {
        libm::log(-libm::log1p(-self.lost) / self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(mcs: u8, bytes: u64, snr: f64) -> f64 {
        1.0 - success(mcs, Bytes(bytes), Db::from_milli(libm::round(snr * 1e3) as i32))
    }

    /// Other points of the same tables than those of the curves: one for each half of a dB, or quarter.
    #[test]
    fn interpolated_points_agree_with_the_source() {
        let points: [(u8, u64, f64, f64); 26] = [
            (0, 1_458, 0.0, 0.8185),
            (0, 1_458, 0.5, 0.2908),
            (0, 1_458, 1.0, 0.0663),
            (0, 1_458, 2.0, 0.0015),
            (0, 32, -1.0, 0.3083),
            (0, 32, 0.0, 0.0344),
            (8, 1_458, 22.0, 0.9399),
            (8, 1_458, 22.5, 0.6709),
            (8, 1_458, 23.0, 0.3525),
            (8, 1_458, 24.0, 0.0475),
            (8, 1_458, 25.5, 0.0015),
            (9, 1_458, 23.5, 0.9506),
            (9, 1_458, 24.0, 0.6847),
            (9, 1_458, 24.5, 0.3261),
            (9, 1_458, 26.5, 0.0036),
            (9, 32, 22.5, 0.3038),
            (9, 32, 23.5, 0.0634),
            (9, 32, 24.0, 0.0247),
            (10, 1_458, 26.0, 0.9497),
            (10, 1_458, 26.5, 0.3294),
            (10, 1_458, 27.0, 0.0344),
            (10, 1_458, 27.5, 0.0021),
            (11, 1_458, 28.25, 0.7526),
            (11, 1_458, 28.5, 0.4023),
            (11, 1_458, 29.0, 0.0515),
            (11, 1_458, 29.75, 0.0010),
        ];
        for (mcs, bytes, snr, published) in points {
            let near = [0.1, -0.1].map(|db| lost(mcs, bytes, snr + db));
            assert!(
                near[0] <= published && published <= near[1],
                "MCS {mcs}, {bytes} bytes: {near:?} 0.1 dB from {snr} dB, published {published}"
            );
        }
    }
}
