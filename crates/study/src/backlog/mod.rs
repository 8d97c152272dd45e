//! The chain of backlogged stations, inferred from captures: one in monitor mode on the air, one on the access point's
//! wire, by one clock.
//!
//! S. Choi, K. Park, C. Kim, "Performance impact of interlayer dependence in infrastructure WLANs", IEEE Trans. Mobile
//! Computing 5(7), 2006: the chain's state at each frame that is received is how many MACs, the access point's included,
//! hold a frame not yet delivered. A capture does not say when a MAC got a frame, but mostly it follows:
//!
//! - The access point got it when it passed the wire.
//! - A station's TCP acknowledgment was made when the data that it acknowledges were received, the last of them; one that
//!   acknowledges nothing new, when the next data after the ones acknowledged before were.
//! - One that came later than 30 ms after these was sent by a timer, which runs for as long as most such waits were.
//! - A station that received nothing between two frames of its own had the second while it sent the first.
//!
//! Frames that the monitor did not hear are found by sequence numbers, ACKs and the wire (`lost`), and count like the others.
//! Without them their sender would not be backlogged, and a station that received one unseen would seem to have held its
//! answer since its last own frame. An acknowledgment of data that nobody saw is therefore unresolved.
//!
//! A frame for which none of this holds (the first of a connection, a datagram, data that a window let go, the
//! acknowledgment of a longer timer) is unresolved: since when its station was backlogged is not known, and the states since the
//! earliest instant that is possible are left out.
//!
//! In traces of the simulator, where the truth is known, the mean is right to 0.05 where each segment is acknowledged (the
//! paper's set-up). With delayed acknowledgments it is as good while nothing is lost; after losses it is up to 0.25 too
//! high, for which segment a duplicate acknowledges is a guess.
//!
//! Of an A-MPDU each MPDU counts as one frame, at the beginning of its PPDU, though the medium counts the PPDU once: the
//! states are weighted otherwise, and more frames are unresolved, as many acknowledgments of TCP come in one PPDU.
//!
//! Not here: what BlockAcks say, A-MSDUs, encrypted frames, captures by two clocks.

mod capture;
mod flow;
mod infer;
mod lost;
mod successes;

use std::path::Path;
use std::time::Duration;

pub use evenair_capture::{CaptureError, Cut};
use evenair_medium::BacklogChain;
use evenair_units::Streams;

use self::capture::{AirFrame, Packet};

/// How often frames are taken away to find by how much their loss moves the result: the standard deviation of so many values
/// is known to a quarter of itself.
const THINNED: u64 = 8;
/// Student's t of 95 % in the middle, for one less than so many values.
const T_95: f64 = 2.365;

/// What captures say.
#[derive(Clone, Debug, PartialEq)]
pub struct Inferred {
    /// The chain.
    pub chain: BacklogChain,
    /// Frames that were received, each once.
    pub frames: u64,
    /// Those of them that are not in the capture.
    pub lost: u64,
    /// Those of them that are unresolved.
    pub unresolved: u64,
    /// The chains from the same capture without as large a part of its frames again, each time others: none if none is lost.
    pub thinned: Vec<BacklogChain>,
    /// Captures that end before their last packet does.
    pub cuts: Vec<Cut>,
}

impl Inferred {
    /// Mean, and mean with two standard deviations, of the states.
    pub fn mean_and_2_sigma(&self) -> (f64, f64) {
        let (mean, deviation) = moments(&self.chain);
        (mean, mean + 2.0 * deviation)
    }

    /// Between which values the mean of the states would be had the monitor heard all frames: to either side, by how much it
    /// moves when as many frames again are taken away, on average and with what it varies by (95 %, Student's t). The idea
    /// is that of simulation extrapolation (J. Cook, L. Stefanski, J. American Statistical Association 89, 1994); which way
    /// it moves is not relied on.
    pub fn mean_interval(&self) -> (f64, f64) {
        let (mean, half) = self.with_half_width(|chain| moments(chain).0);
        (mean - half, mean + half)
    }

    /// The part of the departures from a state that are to another, and half the width of its interval as of
    /// [`Self::mean_interval`].
    pub fn rate(&self, from: u32, to: u32) -> (f64, f64) {
        self.with_half_width(|chain| {
            let departures = || chain.transitions().filter(|&(state, ..)| state == from);
            let all: u64 = departures().map(|(_, _, times)| times).sum();
            let times = departures().find(|&(_, next, _)| next == to).map_or(0, |(_, _, times)| times);
            times as f64 / all as f64
        })
    }

    fn with_half_width(&self, value: impl Fn(&BacklogChain) -> f64) -> (f64, f64) {
        let found = value(&self.chain);
        let thinned: Vec<_> = self.thinned.iter().map(value).filter(|value| value.is_finite()).collect();
        if thinned.len() < 2 {
            return (found, 0.0);
        }
        let count = thinned.len() as f64;
        let mean = thinned.iter().sum::<f64>() / count;
        let variance = thinned.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (found, (mean - found).abs() + T_95 * variance.sqrt())
    }
}

/// Mean and standard deviation of the states.
fn moments(chain: &BacklogChain) -> (f64, f64) {
    let states: Vec<_> = chain.states().map(|(state, times)| (f64::from(state), times as f64)).collect();
    let total: f64 = states.iter().map(|(_, times)| times).sum();
    let mean = states.iter().map(|(state, times)| state * times).sum::<f64>() / total;
    let variance = states.iter().map(|(state, times)| (state - mean) * (state - mean) * times).sum::<f64>() / total;
    (mean, variance.sqrt())
}

/// The chain from a capture on the air (with radiotap headers) and one on the access point's wire (Ethernet), each pcap or
/// pcapng, gzipped or not.
///
/// # Errors
/// Where a file cannot be read, or is a capture of something else. A file that ends within a packet is no error.
pub fn infer(air: &Path, wire: &Path) -> Result<Inferred, CaptureError> {
    let (air, air_cut) = capture::air(air)?;
    let (mut wire, wire_cut) = capture::wire(wire)?;
    // Captures of several devices are not quite in order.
    wire.sort_by_key(|&(at, _)| at);
    let air: Vec<_> = air.iter().collect();
    let cuts = air_cut.into_iter().chain(wire_cut).collect();
    let inferred = infer::infer(&air, &wire);
    let thinned = thinned(&air, &wire, &inferred);
    Ok(Inferred { cuts, thinned, ..inferred })
}

/// The chains without as large a part of the frames as was lost, each time others.
fn thinned(air: &[&AirFrame], wire: &[(Duration, Packet)], inferred: &Inferred) -> Vec<BacklogChain> {
    if inferred.lost == 0 {
        return Vec::new();
    }
    let without = |index| {
        let mut rng = Streams::new(index).stream("frames taken away");
        let rest: Vec<_> = air.iter().copied().filter(|_| rng.below(inferred.frames) >= inferred.lost).collect();
        infer::infer(&rest, wire).chain
    };
    (0..THINNED).map(without).collect()
}
