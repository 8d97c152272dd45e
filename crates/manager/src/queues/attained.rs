//! Least attained service first, within a station's share: short transfers go before long ones of the same station.
//!
//! A page is some tens of kilobytes. Beside the four downloads of its own station it would get a fifth of the
//! station's share. So a connection weighs the more the less it was served since it was last idle ([`IDLE`]): in a
//! [few levels](BITS), with equal turns within each. Nobody is starved, since these are weights and no priorities, and
//! the weight that a level's connections have together is bounded: to a long transfer, all shorter ones of its station
//! are as many as they are, or twenty if they are fewer.
//!
//! What a station gets stays its share: all of this is below it. Of an upload, the data that its ACKs release count.
//!
//! Source for the rule: Heusse, Urvoy-Keller, Duda, Institut Eurecom RR-08-220, 2008 (see `evenair_sched::LasAck`); there
//! it is a priority, and for all stations together.
//!
//! What is not here: the tags (see `evenair_sched`); the first packets of all, which go before their turns (`sparse`).

use evenair_sched::NodeId;
use evenair_units::{Instant, Span};

use super::{Node, Queues, Share};

/// Who was served less than this since it was idle is in the first level, or the second: 100 kB, which is most pages'
/// objects, and 1 MB.
const BITS: [u64; LEVELS] = [800_000, 8_000_000];
const LEVELS: usize = 2;
/// The weight of a long transfer, and what the transfers of each level have in all, of which none has less than a long
/// one.
const LONG: u64 = 16;
/// The weight of all flows together that their station has not answered: half of a long transfer's, so that any flow that it has
/// answered keeps more than half of its share beside them.
pub(super) const UNANSWERED: u64 = LONG / 2;
const OF_LEVEL: [u64; LEVELS] = [LONG * 16, LONG * 4];
/// Longer than the pauses of a transfer that waits for its window, shorter than a user's.
const IDLE: Span = Span::from_secs(1);

/// What a queue was served since it was idle, and in which level it is counted with its parent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attained {
    bits: u64,
    counted: Option<u8>,
}

/// Of an inner node: how many of its children are in each level.
pub(super) type InLevels = [u32; LEVELS];

impl Attained {
    fn level(self) -> Option<u8> {
        BITS.iter().position(|&most| self.bits < most).map(|level| level as u8)
    }
}

/// The weight of a queue in this level, in which there are so many.
fn weight(level: Option<u8>, in_levels: InLevels) -> u64 {
    let Some(level) = level.map(usize::from) else { return LONG };
    (OF_LEVEL[level] / u64::from(in_levels[level]).max(1)).max(LONG)
}

impl<P> Queues<P> {
    /// A queue that last held something then begins to hold something.
    pub(super) fn begin_attaining(&mut self, leaf: NodeId, last_held: Instant, now: Instant) {
        if now.saturating_since(last_held) >= IDLE {
            self.node(leaf).attained.bits = 0;
        }
        self.weigh(leaf);
    }

    /// A queue was served these bits.
    pub(super) fn note_attained(&mut self, leaf: NodeId, bits: u64) {
        let attained = &mut self.node(leaf).attained;
        attained.bits = attained.bits.saturating_add(bits);
        self.weigh(leaf);
    }

    /// Gives a queue the weight of its level.
    fn weigh(&mut self, leaf: NodeId) {
        let (by_attained, levels_weigh) = (self.by_attained, self.levels_weigh);
        let node = self.node(leaf);
        if !by_attained || !matches!(node.share, Share::Flow(_)) {
            return;
        }
        let level = node.attained.level().filter(|_| levels_weigh);
        let in_levels = count(&mut self.nodes, self.hsfq.parent(leaf), leaf, level);
        let weight = weight(level, in_levels);
        if self.hsfq.weight(leaf) != weight {
            self.hsfq.set_weight(leaf, weight);
        }
    }
}

/// Counts a queue in a level, or in none where it is not active: others then weigh more. How many there are in each now.
pub(super) fn count(nodes: &mut [Option<Node>], parent: Option<NodeId>, leaf: NodeId, level: Option<u8>) -> InLevels {
    let before = nodes[leaf.index()].as_mut().and_then(|node| core::mem::replace(&mut node.attained.counted, level));
    let parent = parent.and_then(|parent| nodes[parent.index()].as_mut());
    let Some(Node { in_levels, .. }) = parent else { return [0; LEVELS] };
    if before != level {
        before.into_iter().for_each(|level| in_levels[usize::from(level)] -= 1);
        level.into_iter().for_each(|level| in_levels[usize::from(level)] += 1);
    }
    *in_levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_transfer_counts_shorter_ones_as_twenty_or_as_they_are() {
        for in_levels in [[1, 0], [0, 1], [3, 2], [16, 4], [100, 0], [40, 30]] {
            let shorter: u64 =
                (0..LEVELS).map(|level| u64::from(in_levels[level]) * weight(Some(level as u8), in_levels)).sum();
            let number: u32 = in_levels.iter().sum();
            assert!(shorter <= LONG * u64::from(number.max(20)), "{in_levels:?}: {shorter}");
            assert!(shorter >= LONG * u64::from(number), "none has less than a long one");
        }
    }

    #[test]
    fn who_was_served_less_weighs_more() {
        let of = |bits| weight(Attained { bits, counted: None }.level(), [1, 1]);
        assert!(of(0) > of(800_000) && of(800_000) > of(8_000_000) && of(u64::MAX) == LONG);
    }
}
