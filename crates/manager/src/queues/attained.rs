//! Least attained service first, within a station's share: short transfers go before long ones of the same station.
//!
//! A page is some tens of kilobytes. Beside the four downloads of its own station it would get a fifth of the station's share. So a
//! connection weighs the more the less it was served since it was last idle ([`IDLE`]): in a [few levels](BITS), with equal turns within
//! each. No connection is starved, since these are weights and no priorities, and the total weight of a level is bounded: to a long
//! transfer, all shorter ones of its station count as many as they are, or as twenty if they are fewer.
//!
//! The share of a station does not change: all of this is below it. For an upload, the data that its ACKs release count.
//!
//! Source for the rule: Heusse, Urvoy-Keller, Duda, Institut Eurecom RR-08-220, 2008 (see `evenair_sched::LasAck`); there
//! it is a priority, and for all stations together.
//!
//! What is not here: the tags (see `evenair_sched`); the priority of a transfer's first packets (`sparse`).

use evenair_sched::NodeId;
use evenair_units::{Instant, Span};

use super::{Node, Queues, Share};

/// Bits served since idle up to which a connection is in the first or second level: 100 kB, which most objects of pages have at most, and
/// 1 MB.
const BITS: [u64; LEVELS] = [800_000, 8_000_000];
const LEVELS: usize = 2;
/// `LONG`: weight of a long transfer. `OF_LEVEL`: total weight of the transfers in each level, of which none has less than a long one.
const LONG: u64 = 16;
/// Total weight of all unanswered flows of a station: half of a long transfer's, so that any answered flow keeps more than half of its
/// share beside them.
pub(super) const UNANSWERED: u64 = LONG / 2;
const OF_LEVEL: [u64; LEVELS] = [LONG * 16, LONG * 4];
/// Idle time after which a connection starts in the first level: longer than a transfer waits for its window, shorter than a user's
/// pauses.
const IDLE: Span = Span::from_secs(1);

/// Bits served from a queue since it was idle, and the level in which its parent counts it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attained {
    bits: u64,
    counted: Option<u8>,
}

/// Children of an inner node in each level.
pub(super) type InLevels = [u32; LEVELS];

impl Attained {
    fn level(self) -> Option<u8> {
        BITS.iter().position(|&most| self.bits < most).map(|level| level as u8)
    }
}

/// The weight of a queue in this level, with the number of queues in each.
fn weight(level: Option<u8>, in_levels: InLevels) -> u64 {
    let Some(level) = level.map(usize::from) else { return LONG };
    (OF_LEVEL[level] / u64::from(in_levels[level]).max(1)).max(LONG)
}

impl<P> Queues<P> {
    /// Notes that a queue becomes non-empty, which last held a packet at `last_held`.
    pub(super) fn begin_attaining(&mut self, leaf: NodeId, last_held: Instant, now: Instant) {
        if now.saturating_since(last_held) >= IDLE {
            self.node(leaf).attained.bits = 0;
        }
        self.weigh(leaf);
    }

    /// Notes the service of a queue in bits.
    pub(super) fn note_attained(&mut self, leaf: NodeId, bits: u64) {
        let attained = &mut self.node(leaf).attained;
        attained.bits = attained.bits.saturating_add(bits);
        self.weigh(leaf);
    }

    /// Sets the weight of a queue by its level.
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

/// Counts a queue in a level, or in none if it is not active: others then weigh more. Returns the number in each level.
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
    fn the_weight_falls_with_attained_service() {
        let of = |bits| weight(Attained { bits, counted: None }.level(), [1, 1]);
        assert!(of(0) > of(800_000) && of(800_000) > of(8_000_000) && of(u64::MAX) == LONG);
    }
}
