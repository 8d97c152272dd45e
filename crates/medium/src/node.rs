//! One node: its EDCAFs (one with DCF, four with EDCA), and their common state.

use core::ops::Range;

use evenair_units::{Rng, Span, Streams};
use evenair_wifi::{AccessCategory, EdcaParameters, Phy};

use crate::config::{BackOff, NodeConfig};
use crate::edcaf::{Rules, Waiting};
use crate::idle_sense::IdleSense;

/// Names of the back-off streams by category.
const EDCA_STREAMS: [&str; 4] =
    ["medium back-off bk", "medium back-off be", "medium back-off vi", "medium back-off vo"];

/// The random streams of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeStreams {
    /// Streams of the medium, or of all nodes of this name.
    pub(crate) streams: Streams,
    /// The node's number on the medium, or among the nodes of its name.
    pub(crate) number: u64,
}

impl NodeStreams {
    /// Its stream for a purpose, independent of other nodes.
    pub(crate) fn stream(&self, purpose: &str) -> Rng {
        self.streams.numbered(purpose, self.number)
    }
}

#[derive(Debug)]
pub(crate) struct Node {
    /// Number of its first EDCAF; the others of EDCA follow in order of priority.
    first: u32,
    /// Sends QoS frames, from four EDCAFs.
    pub(crate) edca: bool,
    pub(crate) has_left: bool,
    /// Number of EDCAFs with a frame.
    pub(crate) backlogged: u32,
    /// Bit mask of the EDCAFs that ever got a frame.
    used: u8,
}

impl Node {
    pub(crate) fn new(config: &NodeConfig, first: u32) -> Self {
        Self { first, edca: config.edca.is_some(), has_left: false, backlogged: 0, used: 0 }
    }

    /// The EDCAF that sends frames of this category.
    pub(crate) fn edcaf(&self, category: AccessCategory) -> u32 {
        self.first + if self.edca { category.index() as u32 } else { 0 }
    }

    /// Records that an EDCAF got a frame.
    pub(crate) fn note_used(&mut self, edcaf: u32) {
        self.used |= 1 << (edcaf - self.first);
    }

    /// Its EDCAFs that ever got a frame: in most networks one, since all frames have the same category.
    pub(crate) fn used_edcafs(&self) -> impl Iterator<Item = usize> {
        let (first, used) = (self.first as usize, self.used);
        (0..AccessCategory::ALL.len()).filter(move |number| used >> number & 1 == 1).map(move |number| first + number)
    }

    /// Category of its EDCAF of this number.
    pub(crate) fn category(&self, edcaf: u32) -> AccessCategory {
        if self.edca { AccessCategory::ALL[(edcaf - self.first) as usize] } else { AccessCategory::BestEffort }
    }

    /// All its EDCAFs.
    pub(crate) fn edcafs(&self) -> Range<usize> {
        let first = self.first as usize;
        first..first + if self.edca { AccessCategory::ALL.len() } else { 1 }
    }
}

/// The EDCAFs of a node: the rules of each, its wait, and its back-off stream, which is independent of the others.
pub(crate) fn edcafs(
    config: &NodeConfig,
    phy: &Phy,
    streams: NodeStreams,
) -> impl Iterator<Item = (Rules, Waiting, Rng)> {
    let NodeConfig { buffer, edca, .. } = *config;
    let dcf = edca.is_none().then(|| {
        let (cw_min, cw_max, more_per_billion) = match config.back_off {
            BackOff::Standard => (phy.cw_min(), phy.cw_max(), 0),
            BackOff::Constant { slots, more_per_billion } => (slots, slots, more_per_billion),
            BackOff::IdleSense => (IdleSense::MAX_WINDOW, IdleSense::MAX_WINDOW, 0),
        };
        let idle_sense = config.back_off == BackOff::IdleSense;
        let space = phy.difs();
        let rules = Rules { cw_min, cw_max, space, txop: Span::ZERO, buffer, more_per_billion, idle_sense };
        let waiting = Waiting { space, counts_boundaries: false };
        (rules, waiting, streams.stream("medium back-off"))
    });
    let edca = edca.into_iter().flatten().zip(EDCA_STREAMS).map(move |(parameters, stream)| {
        let EdcaParameters { cw_min, cw_max, txop, .. } = parameters;
        let space = parameters.aifs(phy);
        let rules = Rules { cw_min, cw_max, space, txop, buffer, more_per_billion: 0, idle_sense: false };
        let waiting = Waiting { space, counts_boundaries: true };
        (rules, waiting, streams.stream(stream))
    });
    dcf.into_iter().chain(edca)
}
