//! Extensions of a tree for shares of airtime: packets charged more than their size, debts that delay a leaf, and leaves
//! that are paused for a while (see `whtb`).

use evenair_units::{Bytes, Instant, Span};

use super::Htb;
use crate::Packet;

/// Maximum debt of a leaf, in quanta: more is forgiven, so that a recovered leaf is served in bounded time.
const MOST_QUANTA: i64 = 64;

/// Charging of a leaf's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    /// Charge relative to the size, as a fraction.
    pub(crate) ratio: (u64, u64),
    /// Maximum charge.
    pub(crate) most: Option<Bytes>,
    /// Whether a leaf that has sent more than its quanta allow skips its turns until it has paid; otherwise each turn is at
    /// least a packet, as in the kernel.
    pub(crate) pays_debts: bool,
    /// Until when it does not send while others have packets.
    pub(crate) held_until: Instant,
    /// If set, each of its packets is a probe, after which it pauses for this time.
    pub(crate) pause: Option<Span>,
}

impl Stretch {
    /// Packets are charged their size.
    pub(crate) const NONE: Self =
        Self { ratio: (1, 1), most: None, pays_debts: false, held_until: Instant::ZERO, pause: None };

    /// Charge of a packet of `size`.
    pub(crate) fn of(&self, size: Bytes) -> Bytes {
        let (over, under) = (u128::from(self.ratio.0), u128::from(self.ratio.1.max(1)));
        let stretched = u64::try_from(u128::from(size.0) * over / under).unwrap_or(u64::MAX);
        Bytes(self.most.map_or(stretched, |most| stretched.min(most.0)))
    }
}

impl<P: Packet + Send + 'static> Htb<P> {
    /// The stretch of a leaf, mutable.
    pub(crate) fn stretch_mut(&mut self, leaf: usize) -> &mut Stretch {
        if self.stretches.is_empty() {
            self.stretches = self.classes.iter().map(|_| Stretch::NONE).collect();
        }
        &mut self.stretches[leaf]
    }

    /// Present charge of a packet of `size` of a leaf.
    pub(crate) fn charged(&self, leaf: usize, size: Bytes) -> Bytes {
        self.stretches.get(leaf).map_or(size, |stretch| stretch.of(size))
    }

    /// Bytes that a leaf may send in a turn.
    pub(crate) fn quantum(&self, leaf: usize) -> Bytes {
        Bytes(self.classes[leaf].quantum.unsigned_abs())
    }

    /// Whether a leaf with packets skips its turn: it is held and others have packets, or it owes, in which case it gets
    /// its quantum toward the debt.
    pub(super) fn skips_turn(&mut self, now: Instant, leaf: usize, level: usize) -> bool {
        let Some(stretch) = self.stretches.get(leaf) else { return false };
        if now < stretch.held_until && self.leaves.len() > self.leaves.get(leaf).len() {
            return true;
        }
        let class = &mut self.classes[leaf];
        let owes = stretch.pays_debts && class.deficit[level] < 0;
        if owes {
            class.deficit[level] = (class.deficit[level] + class.quantum).min(class.quantum);
        }
        owes
    }

    /// Consecutive skipped turns after which all eligible leaves must be held, since debts are paid by then.
    pub(super) fn most_skips(&self) -> usize {
        (MOST_QUANTA as usize + 2) * self.classes.len()
    }

    /// When the next held leaf with packets is released.
    pub(super) fn next_end_of_hold(&self, now: Instant) -> Option<Instant> {
        let held = self.stretches.iter().zip(&self.classes).filter(|(_, class)| class.level == 0 && class.active != 0);
        held.map(|(stretch, _)| stretch.held_until).filter(|&until| until > now).min()
    }

    pub(crate) fn is_leaf(&self, class: usize) -> bool {
        self.classes[class].level == 0
    }

    /// A leaf has sent a packet: if it is a probe, the leaf pauses until the outcome can be known.
    pub(super) fn probe(&mut self, now: Instant, leaf: usize) {
        if let Some(stretch) = self.stretches.get_mut(leaf)
            && let Some(pause) = stretch.pause
        {
            stretch.held_until = now.saturating_add(pause);
        }
    }

    /// Corrects the charge of a departed packet by `more` bytes: at the leaf and all classes above it, as they were charged
    /// for the leaf's last packet.
    pub(crate) fn settle(&mut self, now: Instant, leaf: usize, more: i64) {
        let now = self.clock(now);
        let class = &mut self.classes[leaf];
        let level = class.sent_from;
        let least = class.quantum.saturating_mul(-MOST_QUANTA);
        class.deficit[level] = class.deficit[level].saturating_sub(more).clamp(least, class.quantum);
        let mut at = Some(leaf);
        while let Some(class) = at {
            let lent_from_above = self.classes[class].level < level;
            self.classes[class].correct(more, lent_from_above);
            self.update_mode(now, class);
            at = self.classes[class].parent;
        }
    }
}
