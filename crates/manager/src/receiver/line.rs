//! ACKs that are held for a time.
//!
//! Each leaves when its time has come. Nothing of its flow passes it: what follows leaves no earlier, whatever its own
//! time. So a request or a FIN behind held ACKs waits for them, and where none is held it waits for nothing.
//!
//! What is not here: which packets are held, and for how long.

use alloc::collections::BTreeMap;

use evenair_units::Instant;

use crate::held::Held;

/// What is held, in the order of leaving.
#[derive(Clone, Debug)]
pub(crate) struct Line<P> {
    held: BTreeMap<(Instant, u64), Held<P>>,
    next: u64,
}

/// A flow's part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InLine {
    /// Packets held.
    pub(crate) held: u32,
    /// When the last one leaves.
    last: Option<Instant>,
}

impl InLine {
    /// When a packet leaves whose own time is `due`: not before those that are held.
    pub(crate) fn due(&self, due: Instant) -> Instant {
        self.last.filter(|_| self.held > 0).map_or(due, |last| last.max(due))
    }
}

impl<P> Default for Line<P> {
    fn default() -> Self {
        Self { held: BTreeMap::new(), next: 0 }
    }
}

impl<P> Line<P> {
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// When the next one leaves.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.held.first_key_value().map(|(&(due, _), _)| due)
    }

    /// Holds a packet until then, which is no earlier than [`InLine::due`] of its flow.
    pub(crate) fn push(&mut self, due: Instant, held: Held<P>, flow: &mut InLine) {
        flow.held += 1;
        flow.last = Some(due);
        self.held.insert((due, self.next), held);
        self.next += 1;
    }

    /// The next one, if it leaves by then. Its flow: see [`InLine::held`].
    pub(crate) fn pop(&mut self, until: Instant) -> Option<Held<P>> {
        let next = self.held.first_entry().filter(|next| next.key().0 <= until)?;
        Some(next.remove())
    }
}
