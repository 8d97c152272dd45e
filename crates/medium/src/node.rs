//! One node: its buffer, its contention window, and how the frame at the head of its queue has fared.

use alloc::collections::VecDeque;

use evenair_units::{Airtime, Bytes, Instant, Rng, Streams};

use crate::{Counters, Mpdu, NodeConfig, QueueState};

#[derive(Debug)]
pub(crate) struct Node<F> {
    config: NodeConfig,
    queue: VecDeque<Queued<F>>,
    bytes: Bytes,
    window: u32,
    pub(crate) head: Head,
    /// From the start of its transmission until the medium falls silent.
    pub(crate) on_air: bool,
    pub(crate) has_left: bool,
    pub(crate) counters: Counters,
    back_off: Rng,
    errors: Rng,
}

#[derive(Debug)]
pub(crate) struct Queued<F> {
    pub(crate) enqueued: Instant,
    pub(crate) mpdu: Mpdu<F>,
}

/// What happened so far to the frame at the head of the queue.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Head {
    pub(crate) attempts: u32,
    pub(crate) airtime: Airtime,
    pub(crate) short_retries: u32,
    pub(crate) long_retries: u32,
}

impl<F> Node<F> {
    /// Its draws do not depend on how many other nodes there are, nor back-off on what is lost.
    pub(crate) fn new(config: NodeConfig, id: u32, window: u32, streams: &Streams) -> Self {
        Self {
            config,
            queue: VecDeque::new(),
            bytes: Bytes::ZERO,
            window,
            head: Head::default(),
            on_air: false,
            has_left: false,
            counters: Counters::default(),
            back_off: streams.numbered("medium back-off", u64::from(id)),
            errors: streams.numbered("medium frame errors", u64::from(id)),
        }
    }

    pub(crate) fn has_frame(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(crate) fn front(&self) -> Option<&Mpdu<F>> {
        self.queue.front().map(|queued| &queued.mpdu)
    }

    pub(crate) fn queue_state(&self) -> QueueState {
        QueueState { packets: self.queue.len(), bytes: self.bytes }
    }

    /// Takes a frame in, or gives it back where the buffer is full.
    pub(crate) fn push(&mut self, now: Instant, mpdu: Mpdu<F>) -> Result<(), Mpdu<F>> {
        if !self.config.buffer.admits(self.queue.len(), self.bytes, mpdu.msdu) {
            self.counters.buffer_drops += 1;
            return Err(mpdu);
        }
        self.bytes += mpdu.msdu;
        self.queue.push_back(Queued { enqueued: now, mpdu });
        Ok(())
    }

    /// The frame at the head, delivered or given up, and how it fared.
    pub(crate) fn pop(&mut self) -> Option<(Queued<F>, Head)> {
        let queued = self.queue.pop_front()?;
        self.bytes = self.bytes - queued.mpdu.msdu;
        Some((queued, core::mem::take(&mut self.head)))
    }

    pub(crate) fn draw_back_off(&mut self) -> u64 {
        self.back_off.below(u64::from(self.window) + 1)
    }

    pub(crate) fn draw_error(&mut self, per_billion: u32) -> bool {
        per_billion > 0 && self.errors.chance(per_billion)
    }

    pub(crate) fn reset_window(&mut self, min: u32) {
        self.window = min;
    }

    pub(crate) fn widen_window(&mut self, max: u32) {
        self.window = (2 * self.window + 1).min(max);
    }
}
