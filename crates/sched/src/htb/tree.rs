//! Eligibility in the tree: the modes of classes, the rounds that they take part in, and charging.
//!
//! Names of the corresponding kernel functions are in parentheses.

use evenair_units::{Bytes, Instant, Span};

use super::feed::Feed;
use super::{Htb, Mode, PRIORITIES};
use crate::Packet;

/// A round robin: that of a row, or of a class's borrowers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Round {
    Row,
    Under(usize),
}

fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIORITIES).filter(move |priority| mask & (1 << priority) != 0)
}

impl<P: Packet + Send + 'static> Htb<P> {
    fn feed(&mut self, class: usize, priority: usize) -> &mut Feed {
        &mut self.classes[class].feeds.as_mut().expect("only inner classes are borrowed from")[priority]
    }

    fn round(&mut self, round: Round, level: usize, priority: usize) -> &mut Feed {
        match round {
            Round::Row => &mut self.rows[level][priority],
            Round::Under(class) => self.feed(class, priority),
        }
    }

    /// A leaf has got its first packet (`htb_activate`).
    pub(super) fn activate(&mut self, leaf: usize) {
        self.classes[leaf].active = 1 << self.classes[leaf].priority;
        self.activate_priorities(leaf);
    }

    /// A leaf has lost its last packet (`htb_deactivate`).
    pub(super) fn deactivate(&mut self, leaf: usize) {
        self.deactivate_priorities(leaf);
        self.classes[leaf].active = 0;
    }

    /// Enters a class's active priorities in the rounds from which it may send: up along borrowing classes, to a green one
    /// (`htb_activate_prios`).
    fn activate_priorities(&mut self, class: usize) {
        let (mut class, mut mask) = (class, self.classes[class].active);
        while self.classes[class].mode == Mode::MayBorrow
            && mask != 0
            && let Some(parent) = self.classes[class].parent
        {
            let mut new = mask;
            for priority in bits(mask) {
                let feed = self.feed(parent, priority);
                // The class has borrowers of this priority already, and so is entered above.
                if !feed.is_empty() {
                    new &= !(1 << priority);
                }
                feed.insert(class);
            }
            self.classes[parent].active |= new;
            (class, mask) = (parent, new);
        }
        if self.classes[class].mode == Mode::CanSend {
            let level = self.classes[class].level;
            bits(mask).for_each(|priority| self.rows[level][priority].insert(class));
        }
    }

    /// Reverses [`Self::activate_priorities`] (`htb_deactivate_prios`).
    fn deactivate_priorities(&mut self, class: usize) {
        let (mut class, mut mask) = (class, self.classes[class].active);
        while self.classes[class].mode == Mode::MayBorrow
            && mask != 0
            && let Some(parent) = self.classes[class].parent
        {
            let mut gone = 0;
            for priority in bits(mask) {
                let feed = self.feed(parent, priority);
                feed.remove(class);
                gone |= u8::from(feed.is_empty()) << priority;
            }
            self.classes[parent].active &= !gone;
            (class, mask) = (parent, gone);
        }
        if self.classes[class].mode == Mode::CanSend {
            let level = self.classes[class].level;
            bits(mask).for_each(|priority| self.rows[level][priority].remove_for_good(class));
        }
    }

    /// `htb_change_class_mode`.
    fn set_mode(&mut self, class: usize, mode: Mode) {
        if self.classes[class].mode == mode {
            return;
        }
        let is_active = self.classes[class].active != 0;
        if is_active && self.classes[class].mode != Mode::CannotSend {
            self.deactivate_priorities(class);
        }
        self.classes[class].mode = mode;
        if is_active && mode != Mode::CannotSend {
            self.activate_priorities(class);
        }
    }

    /// Schedules the next update of a class's mode, in `ns` nanoseconds, or cancels it (`htb_add_to_wait_tree`).
    fn wait(&mut self, now: Instant, class: usize, ns: Option<i64>) {
        let Self { classes, waiting, .. } = self;
        let waiting = &mut waiting[classes[class].level];
        if let Some(at) = classes[class].waits_until.take() {
            waiting.remove(&(at, class));
        }
        if let Some(ns) = ns {
            let at = now.saturating_add(Span::from_nanos(ns.max(1).unsigned_abs()));
            classes[class].waits_until = Some(at);
            waiting.insert((at, class));
        }
    }

    /// Updates the modes of a level that change by now (`htb_do_events`).
    pub(super) fn change_modes(&mut self, now: Instant, level: usize) {
        while let Some(&(at, class)) = self.waiting[level].first()
            && at <= now
        {
            let (mode, ns) = self.classes[class].mode_at(now, self.config.hysteresis);
            self.set_mode(class, mode);
            self.wait(now, class, (mode != Mode::CanSend).then_some(ns));
        }
    }

    /// The next leaf to serve among those in a row or borrowing from its classes (`htb_lookup_leaf`). A completed round
    /// restarts, and the one above it advances.
    pub(super) fn turn(&mut self, level: usize, priority: usize) -> Option<usize> {
        // At most one class of each level, and the row.
        let mut path = [Round::Row; super::LEVELS + 1];
        let mut depth = 0;
        loop {
            let round = self.round(path[depth], level, priority);
            if round.is_empty() {
                return None;
            }
            match round.turn() {
                None => {
                    round.rewind();
                    if depth > 0 {
                        depth -= 1;
                        self.round(path[depth], level, priority).advance();
                    }
                }
                Some(class) if self.classes[class].level == 0 => return Some(class),
                Some(class) => {
                    depth += 1;
                    path[depth] = Round::Under(class);
                }
            }
        }
    }

    /// Ends the turn of a leaf that sends from a level (`htb_next_rb_node` in `htb_dequeue_tree`).
    pub(super) fn pass_turn(&mut self, leaf: usize, level: usize, priority: usize) {
        let parent = self.classes[leaf].parent.filter(|_| level > 0);
        let round = parent.map_or(Round::Row, Round::Under);
        self.round(round, level, priority).advance();
    }

    /// Charges a packet of `size` that a leaf sent from a level (`htb_charge_class`). The class that lent, and those above
    /// it, are charged in both buckets, those below at their ceiling only.
    pub(super) fn charge(&mut self, now: Instant, leaf: usize, level: usize, size: Bytes) {
        let mut at = Some(leaf);
        while let Some(class) = at {
            let lent_from_above = self.classes[class].level < level;
            self.classes[class].charge(now, size, lent_from_above);
            let was = self.classes[class].mode;
            let (mode, ns) = self.classes[class].mode_now(self.config.hysteresis);
            self.set_mode(class, mode);
            if mode != was {
                self.wait(now, class, (mode != Mode::CanSend).then_some(ns));
            }
            at = self.classes[class].parent;
        }
    }

    /// Updates the mode of a class whose buckets have changed between two packets.
    pub(super) fn update_mode(&mut self, now: Instant, class: usize) {
        let (mode, ns) = self.classes[class].mode_at(now, self.config.hysteresis);
        self.set_mode(class, mode);
        self.wait(now, class, (mode != Mode::CanSend).then_some(ns));
    }
}
