//! ACKs held for a time.
//!
//! Each packet leaves at its time. Later packets of its flow leave no earlier, whatever their own time is. So a request
//! or a FIN behind held ACKs waits for them, and behind none it does not wait.
//!
//! What is not here: which packets are held, and for how long.

use alloc::collections::BTreeMap;

use evenair_units::Instant;

use crate::held::Held;

/// Held packets, in the order of leaving.
#[derive(Clone, Debug)]
pub(crate) struct Line<P> {
    held: BTreeMap<(Instant, u64), Held<P>>,
    next: u64,
}

/// A flow's state in the line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InLine {
    /// Packets held.
    pub(crate) held: u32,
    /// When the last one leaves.
    last: Option<Instant>,
}

impl InLine {
    /// When a packet leaves whose own time is `due`: no earlier than the held ones.
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

    /// When the next packet leaves.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.held.first_key_value().map(|(&(due, _), _)| due)
    }

    /// Holds a packet until `due`, which is no earlier than [`InLine::due`] of its flow.
    pub(crate) fn push(&mut self, due: Instant, held: Held<P>, flow: &mut InLine) {
        flow.held += 1;
        flow.last = Some(due);
        self.held.insert((due, self.next), held);
        self.next += 1;
    }

    /// The next packet, if it leaves by `until`. Its flow: see [`InLine::held`].
    pub(crate) fn pop(&mut self, until: Instant) -> Option<Held<P>> {
        let next = self.held.first_entry().filter(|next| next.key().0 <= until)?;
        Some(next.remove())
    }
}
