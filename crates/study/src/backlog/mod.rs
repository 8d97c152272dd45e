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
//! A frame for which none of this holds (the first of a connection, a datagram, data that a window let go, the
//! acknowledgment of a longer timer) is unresolved: since when its station was backlogged is not known, and the states since the
//! earliest instant that is possible are left out.
//!
//! In traces of the simulator, where the truth is known, the mean is right to 0.05 where each segment is acknowledged (the
//! paper's set-up). With delayed acknowledgments it is as good while nothing is lost; after losses it is up to 0.25 too
//! high, for which segment a duplicate acknowledges is a guess.
//!
//! Not here: Block ACK, aggregates, encrypted frames, captures by two clocks.

mod capture;
mod file;
mod infer;

use std::path::{Path, PathBuf};

use evenair_medium::BacklogChain;

/// What captures say.
#[derive(Clone, Debug, PartialEq)]
pub struct Inferred {
    /// The chain.
    pub chain: BacklogChain,
    /// Frames that were received, each once.
    pub frames: u64,
    /// Those of them that are unresolved.
    pub unresolved: u64,
    /// Captures that end before their last packet does.
    pub cuts: Vec<Cut>,
}

/// A capture that ends within a packet: what was read before it counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: ends within packet {}; the {packets} before it are used", path.display(), packets + 1)]
pub struct Cut {
    path: PathBuf,
    packets: u64,
}

/// A capture that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct CaptureError {
    path: PathBuf,
    what: String,
}

impl Inferred {
    /// Mean, and mean with two standard deviations, of the states.
    pub fn mean_and_2_sigma(&self) -> (f64, f64) {
        let states: Vec<_> = self.chain.states().map(|(state, times)| (f64::from(state), times as f64)).collect();
        let total: f64 = states.iter().map(|(_, times)| times).sum();
        let mean = states.iter().map(|(state, times)| state * times).sum::<f64>() / total;
        let variance = states.iter().map(|(state, times)| (state - mean) * (state - mean) * times).sum::<f64>() / total;
        (mean, mean + 2.0 * variance.sqrt())
    }
}

/// The chain from a capture on the air (with radiotap headers) and one on the access point's wire (Ethernet), each pcap or
/// pcapng.
///
/// # Errors
/// Where a file cannot be read, or is a capture of something else. A file that ends within a packet is no error.
pub fn infer(air: &Path, wire: &Path) -> Result<Inferred, CaptureError> {
    let (air, air_cut) = capture::air(air)?;
    let (wire, wire_cut) = capture::wire(wire)?;
    let cuts = air_cut.into_iter().chain(wire_cut).collect();
    Ok(Inferred { cuts, ..infer::infer(&air, &wire) })
}
