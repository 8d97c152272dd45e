//! Classes that may send at one level and priority, and their round robin, which persists while members change.

use alloc::collections::BTreeSet;

/// Classes ordered by number.
#[derive(Clone, Default, Debug)]
pub(crate) struct Feed {
    classes: BTreeSet<usize>,
    /// The turn is that of the first class from this number on; `None`: the round is over.
    next: Option<usize>,
}

impl Feed {
    pub(crate) fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    pub(crate) fn insert(&mut self, class: usize) {
        self.classes.insert(class);
    }

    /// Removes a class. Its turn passes to the next one, unless it returns before [`Self::turn`].
    pub(crate) fn remove(&mut self, class: usize) {
        self.classes.remove(&class);
    }

    /// Removes a class, which loses its turn for good.
    pub(crate) fn remove_for_good(&mut self, class: usize) {
        if self.next == Some(class) {
            self.advance();
        }
        self.classes.remove(&class);
    }

    /// The class whose turn it is; `None` if the round is over.
    pub(crate) fn turn(&mut self) -> Option<usize> {
        self.next = self.classes.range(self.next?..).next().copied();
        self.next
    }

    /// Passes the turn to the next class.
    pub(crate) fn advance(&mut self) {
        self.next = self.next.and_then(|next| self.classes.range(next + 1..).next().copied());
    }

    /// Begins a new round.
    pub(crate) fn rewind(&mut self) {
        self.next = self.classes.first().copied();
    }
}
