//! Extensions of a tree for shares of medium time: packets that are charged more than their size, debts that delay a leaf,
//! and leaves that are paused for a while (see `whtb`).

use evenair_units::{Bytes, Instant, Span};

use super::Htb;
use crate::Packet;

/// The most quanta that a leaf owes: a debt is forgiven beyond it, so that who comes back is served some time.
const MOST_QUANTA: i64 = 64;

/// What packets of a leaf are charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    /// Their size, times this over that.
    pub(crate) ratio: (u64, u64),
    /// At most this.
    pub(crate) most: Option<Bytes>,
    /// A leaf that has sent more than its quanta allow does not send in its turn until they do; else each turn is a packet
    /// at least, as in the kernel.
    pub(crate) pays_debts: bool,
    /// Until then it does not send while others have packets.
    pub(crate) held_until: Instant,
    /// Each packet of it is a try: it is held back for so long after it.
    pub(crate) pause: Option<Span>,
}

impl Stretch {
    /// Packets are charged their size.
    pub(crate) const NONE: Self =
        Self { ratio: (1, 1), most: None, pays_debts: false, held_until: Instant::ZERO, pause: None };

    /// What a packet of `size` is charged.
    pub(crate) fn of(&self, size: Bytes) -> Bytes {
        let (over, under) = (u128::from(self.ratio.0), u128::from(self.ratio.1.max(1)));
        let stretched = u64::try_from(u128::from(size.0) * over / under).unwrap_or(u64::MAX);
        Bytes(self.most.map_or(stretched, |most| stretched.min(most.0)))
    }
}

impl<P: Packet + Send + 'static> Htb<P> {
    /// The stretch of a leaf, to be changed.
    pub(crate) fn stretch_mut(&mut self, leaf: usize) -> &mut Stretch {
        if self.stretches.is_empty() {
            self.stretches = self.classes.iter().map(|_| Stretch::NONE).collect();
        }
        &mut self.stretches[leaf]
    }

    /// What a packet of `size` of a leaf is charged now.
    pub(crate) fn charged(&self, leaf: usize, size: Bytes) -> Bytes {
        self.stretches.get(leaf).map_or(size, |stretch| stretch.of(size))
    }

    /// What a leaf may send in a turn.
    pub(crate) fn quantum(&self, leaf: usize) -> Bytes {
        Bytes(self.classes[leaf].quantum.unsigned_abs())
    }

    /// Whether a leaf with packets leaves its turn to others: it is held back and others have packets, or it owes, and then
    /// it has got its quantum for this.
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

    /// After so many turns that were left in a row, all who may send are held back: debts are paid by then.
    pub(super) fn most_skips(&self) -> usize {
        (MOST_QUANTA as usize + 2) * self.classes.len()
    }

    /// The next instant at which a leaf with packets is held back no more.
    pub(super) fn next_end_of_hold(&self, now: Instant) -> Option<Instant> {
        let held = self.stretches.iter().zip(&self.classes).filter(|(_, class)| class.level == 0 && class.active != 0);
        held.map(|(stretch, _)| stretch.held_until).filter(|&until| until > now).min()
    }

    pub(crate) fn is_leaf(&self, class: usize) -> bool {
        self.classes[class].level == 0
    }

    /// A leaf has sent a packet: if that is a try, the next one is not before this one's fate can be known.
    pub(super) fn probe(&mut self, now: Instant, leaf: usize) {
        if let Some(stretch) = self.stretches.get_mut(leaf)
            && let Some(pause) = stretch.pause
        {
            stretch.held_until = now.saturating_add(pause);
        }
    }

    /// A packet of a leaf that has left was charged so much too little, or too much: the leaf and all above it are charged
    /// that as they were for the packet that the leaf sent last.
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
