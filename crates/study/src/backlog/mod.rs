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
//!
//! Data that an application sends at its own pace (datagrams, the first segments of a transfer, what a window let go) is held
//! since an unknown instant: after the node's frame before it, and no longer than a frame can contend, which the idle slots of the
//! medium say (`idle`). So the answer is an interval. A node whose frames come after as many idle slots as back-offs are drawn had
//! each next frame when it sent the one before (`standing`).
//!
//! Frames that the monitor did not hear are found by sequence numbers, ACKs and the wire (`lost`), and count like the others.
//! Without them their sender would not be backlogged. Frames whose content cannot be read (encrypted, cut short, A-MSDUs) are
//! frames like the others, of which only the sender is known.
//!
//! A frame for which nothing says exactly since when it was held is unresolved: the states since the earliest instant that is possible
//! are uncertain, and left out of the chain.
//!
//! In traces of the simulator, where the truth is known, the interval holds the mean to 0.05, with delayed acknowledgments and after
//! losses, too.
//!
//! The MPDUs of an A-MPDU are one event, as they are for the medium.
//!
//! Not here: which MPDUs a BlockAck reports, captures by two clocks. Who sleeps, and frames of other networks that the monitor
//! does not hear, are taken for idle slots.

mod acks;
mod capture;
mod events;
mod flow;
mod idle;
mod infer;
mod lost;
mod radiotap;
mod standing;
mod successes;
mod timeline;

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

/// The mean is not said where it may be off by half of so much.
const WIDE: f64 = 0.5;
/// Nor of fewer frames.
const FEW: u64 = 100;

/// What captures say.
#[derive(Clone, Debug, PartialEq)]
pub struct Inferred {
    /// The chain of the states that are known.
    pub chain: BacklogChain,
    /// Between which values the mean of all states is.
    pub between: (f64, f64),
    /// Frames that were received, each once.
    pub frames: u64,
    /// Those of them that are not in the capture.
    pub lost: u64,
    /// Those of them since when they were held is not known exactly.
    pub unresolved: u64,
    /// Frames that carry data, and why that cannot be read.
    pub unread: Unread,
    /// Frames of which the packet is on the wire, too.
    pub wired: u64,
    /// What the same capture says without as large a part of its frames again, each time others: nothing if none is lost.
    pub thinned: Vec<Thinned>,
    /// Captures that end before their last packet does.
    pub cuts: Vec<Cut>,
}

/// Data frames of which only sender and number can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// They are encrypted.
    pub encrypted: u64,
    /// Their records end within the headers: the snap length was too small.
    pub cut: u64,
    /// A-MSDUs, and frames without an LLC header.
    pub format: u64,
}

/// What a capture says without some of its frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Thinned {
    chain: BacklogChain,
    between: (f64, f64),
}

/// Why no mean is said.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoMean {
    /// There are hardly any frames.
    #[error("it has {0} frames that were received, too few for a mean")]
    Few(u64),
    /// The interval is too wide.
    #[error("since when frames were held is known too badly for a mean: it is between {0:.2} and {1:.2}")]
    Wide(f64, f64),
}

impl Inferred {
    /// The middle of the interval of the mean.
    ///
    /// # Errors
    /// Where that would say more than is known.
    pub fn mean(&self) -> Result<f64, NoMean> {
        let (low, high) = self.mean_interval();
        if self.frames < FEW {
            return Err(NoMean::Few(self.frames));
        }
        if high - low > WIDE {
            return Err(NoMean::Wide(low, high));
        }
        Ok((low + high) / 2.0)
    }

    /// The part of the frames at which the number of backlogged nodes is certain.
    pub fn certain(&self) -> f64 {
        let known: u64 = self.chain.states().map(|(_, visits)| visits).sum();
        known as f64 / self.frames as f64
    }

    /// Mean, and mean with two standard deviations, of the states that are certain.
    pub fn mean_and_2_sigma(&self) -> (f64, f64) {
        let (mean, deviation) = moments(&self.chain);
        (mean, mean + 2.0 * deviation)
    }

    /// Between which values the mean of the states would be had the monitor heard all frames: to either side, by how much it
    /// moves when as many frames again are taken away, on average and with what it varies by (95 %, Student's t). The idea
    /// is that of simulation extrapolation (J. Cook, L. Stefanski, J. American Statistical Association 89, 1994); which way
    /// it moves is not relied on.
    pub fn mean_interval(&self) -> (f64, f64) {
        let (low, below) = self.half_width(self.between.0, |thinned| thinned.between.0);
        let (high, above) = self.half_width(self.between.1, |thinned| thinned.between.1);
        ((low - below).max(1.0).min(low), high + above)
    }

    /// The part of the departures from a state that are to another, and half the width of its interval as of
    /// [`Self::mean_interval`].
    pub fn rate(&self, from: u32, to: u32) -> (f64, f64) {
        let of = |chain: &BacklogChain| {
            let departures = || chain.transitions().filter(|&(state, ..)| state == from);
            let all: u64 = departures().map(|(_, _, times)| times).sum();
            let times = departures().find(|&(_, next, _)| next == to).map_or(0, |(_, _, times)| times);
            times as f64 / all as f64
        };
        self.half_width(of(&self.chain), |thinned| of(&thinned.chain))
    }

    fn half_width(&self, found: f64, value: impl Fn(&Thinned) -> f64) -> (f64, f64) {
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

/// What they say without as large a part of the frames as was lost, each time others.
fn thinned(air: &[&AirFrame], wire: &[(Duration, Packet)], inferred: &Inferred) -> Vec<Thinned> {
    if inferred.lost == 0 {
        return Vec::new();
    }
    let without = |index| {
        let mut rng = Streams::new(index).stream("frames taken away");
        let rest: Vec<_> = air.iter().copied().filter(|_| rng.below(inferred.frames) >= inferred.lost).collect();
        let Inferred { chain, between, .. } = infer::infer(&rest, wire);
        Thinned { chain, between }
    };
    (0..THINNED).map(without).collect()
}
