//! The chain of backlogged stations, inferred from captures: one in monitor mode on the air, one on the access point's wire, with a
//! common clock.
//!
//! S. Choi, K. Park, C. Kim, "Performance impact of interlayer dependence in infrastructure WLANs", IEEE Trans. Mobile Computing 5(7),
//! 2006: the chain's state at each frame that is received is how many MACs, the access point's included, hold a frame not yet
//! delivered. A capture does not show when a MAC got a frame, but mostly it follows:
//!
//! - The access point gets a frame when its packet passes the wire.
//! - A station makes a TCP ACK when it receives the last of the data that the ACK covers; one that
//!   acknowledges nothing new, when it receives the next data after those.
//! - An ACK that came more than 30 ms later was sent by a timer, whose duration is that of most such delays.
//!
//! Data that an application sends at its own pace (datagrams, the first segments of a transfer, segments released by a window) is held
//! since an unknown instant: after the node's previous frame, and no longer than a frame can contend, which follows from the idle
//! slots of the medium (`idle`). So the result is an interval. A node whose numbers of idle slots between frames are distributed like
//! drawn back-offs was always backlogged (`standing`).
//!
//! Frames that the monitor missed are found by sequence numbers, ACKs and the wire (`lost`), and count like the others: without them
//! their sender would not seem backlogged. Frames whose content cannot be read (encrypted, cut short, A-MSDUs) are frames like the
//! others, of which only the sender is known.
//!
//! A frame whose holding time is not known exactly is unresolved: the states since the earliest possible instant are uncertain, and
//! left out of the chain.
//!
//! In traces of the simulator, where the truth is known, the interval contains the mean to within 0.05, also with delayed ACKs and
//! losses.
//!
//! The MPDUs of an A-MPDU are one event, as they are for the medium.
//!
//! Not here: which MPDUs a BlockAck reports, captures with two clocks. Sleeping stations, and frames of other networks that the
//! monitor misses, count as idle slots.

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

/// Number of times that frames are removed at random to estimate how their loss shifts the result: the standard deviation of eight
/// values is known to a quarter of itself.
const THINNED: u64 = 8;
/// Quantile of Student's t for a two-sided 95 % interval with `THINNED` - 1 degrees of freedom.
const T_95: f64 = 2.365;

/// Widest interval for which a mean is reported, in nodes.
const WIDE: f64 = 0.5;
/// Fewest frames for which a mean is reported.
const FEW: u64 = 100;

/// Results inferred from captures.
#[derive(Clone, Debug, PartialEq)]
pub struct Inferred {
    /// The chain of the certain states.
    pub chain: BacklogChain,
    /// Lower and upper bound of the mean of all states, in nodes.
    pub between: (f64, f64),
    /// Received frames, each counted once.
    pub frames: u64,
    /// Of these, frames that are not in the capture.
    pub lost: u64,
    /// Of these, frames whose holding time is not known exactly.
    pub unresolved: u64,
    /// Data frames whose content cannot be read, by reason.
    pub unread: Unread,
    /// Frames whose packet is also on the wire.
    pub wired: u64,
    /// Results for the same capture with the lost proportion of frames removed again, at random each time; empty if none was lost.
    pub thinned: Vec<Thinned>,
    /// Captures that end within a packet.
    pub cuts: Vec<Cut>,
}

/// Data frames of which only sender and number can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// They are encrypted.
    pub encrypted: u64,
    /// Their records end within the headers: the snapshot length was too small.
    pub cut: u64,
    /// A-MSDUs, and frames without an LLC header.
    pub format: u64,
}

/// Result for a capture from which frames were removed.
#[derive(Clone, Debug, PartialEq)]
pub struct Thinned {
    chain: BacklogChain,
    between: (f64, f64),
}

/// Why no mean is reported.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoMean {
    /// There are too few frames.
    #[error("it has {0} frames that were received, too few for a mean")]
    Few(u64),
    /// The interval is too wide.
    #[error("since when frames were held is known too badly for a mean: it is between {0:.2} and {1:.2}")]
    Wide(f64, f64),
}

impl Inferred {
    /// The middle of the interval of the mean, in nodes.
    ///
    /// # Errors
    /// There are too few frames, or the interval is too wide.
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

    /// The proportion of frames at which the number of backlogged nodes is certain.
    pub fn certain(&self) -> f64 {
        let known: u64 = self.chain.states().map(|(_, visits)| visits).sum();
        known as f64 / self.frames as f64
    }

    /// Mean, and mean plus two standard deviations, of the certain states.
    pub fn mean_and_2_sigma(&self) -> (f64, f64) {
        let (mean, deviation) = moments(&self.chain);
        (mean, mean + 2.0 * deviation)
    }

    /// Interval of the mean of the states if the monitor had captured all frames. Each side extends the bound by its mean shift when
    /// the lost proportion of frames is removed again, plus the variation of that shift (95 %, Student's t). The idea is that of
    /// simulation extrapolation (J. Cook, L. Stefanski, J. American Statistical Association 89, 1994); the direction of the shift is
    /// not used.
    pub fn mean_interval(&self) -> (f64, f64) {
        let (low, below) = self.half_width(self.between.0, |thinned| thinned.between.0);
        let (high, above) = self.half_width(self.between.1, |thinned| thinned.between.1);
        ((low - below).max(1.0).min(low), high + above)
    }

    /// The proportion of departures from state `from` that lead to state `to`, and the half-width of its interval, computed as in
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

/// The chain from a capture on the air (with radiotap headers) and one on the access point's wire (Ethernet), each pcap or pcapng,
/// gzipped or not.
///
/// # Errors
/// A file cannot be read, or is a capture of something else. A file that ends within a packet is no error.
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

/// Results with the lost proportion of frames removed again, at random each time.
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
