//! Classes that may send at one level and priority, and their round robin, which persists over changes of its members.

use alloc::collections::BTreeSet;

/// Classes in the order of their numbers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Feed {
    classes: BTreeSet<usize>,
    /// The turn is that of the first class from here on; `None`: the round is over.
    next: Option<usize>,
}

impl Feed {
    pub(crate) fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    pub(crate) fn insert(&mut self, class: usize) {
        self.classes.insert(class);
    }

    /// Takes a class out; if it was its turn, that is of the next one, unless it comes back before that is asked for.
    pub(crate) fn remove(&mut self, class: usize) {
        self.classes.remove(&class);
    }

    /// The same, but it loses its turn for good.
    pub(crate) fn remove_for_good(&mut self, class: usize) {
        if self.next == Some(class) {
            self.advance();
        }
        self.classes.remove(&class);
    }

    /// Whose turn it is; `None` where the round is over.
    pub(crate) fn turn(&mut self) -> Option<usize> {
        self.next = self.classes.range(self.next?..).next().copied();
        self.next
    }

    /// The turn goes on.
    pub(crate) fn advance(&mut self) {
        self.next = self.next.and_then(|next| self.classes.range(next + 1..).next().copied());
    }

    /// A new round begins.
    pub(crate) fn rewind(&mut self) {
        self.next = self.classes.first().copied();
    }
}
