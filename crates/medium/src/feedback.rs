//! Feedback to management traffic: the outcome of sent frames.

use alloc::collections::VecDeque;

use evenair_units::{Airtime, Instant};

use crate::frame::{NodeId, Own, To};

/// Outcome of a received packet, or of a management frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    pub(crate) at: Instant,
    pub(crate) from: NodeId,
    pub(crate) to: To,
    /// The management frame; `None`: a packet.
    pub(crate) own: Option<Own>,
    /// Airtime of all its transmissions.
    pub(crate) airtime: Airtime,
    /// Whether it was received; otherwise it was dropped.
    pub(crate) received: bool,
}

/// Queue of unhandled feedback, and the next timer of management traffic.
#[derive(Debug)]
pub(crate) struct FeedbackQueue {
    /// Whether there is management traffic.
    pub(crate) is_wanted: bool,
    /// Next task of management traffic; [`Instant::MAX`] if there is none.
    pub(crate) due: Instant,
    pending: VecDeque<Feedback>,
}

impl FeedbackQueue {
    pub(crate) const fn new() -> Self {
        Self { is_wanted: false, due: Instant::MAX, pending: VecDeque::new() }
    }

    /// Queues feedback. It is handled at the same instant, after the event that caused it.
    #[inline(never)]
    pub(crate) fn push(&mut self, feedback: Feedback) {
        if self.is_wanted {
            self.due = feedback.at;
            self.pending.push_back(feedback);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Feedback> {
        self.pending.pop_front()
    }
}
