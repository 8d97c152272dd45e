//! Feedback to management traffic: what became of frames that were sent.

use alloc::collections::VecDeque;

use evenair_units::{Airtime, Instant};

use crate::frame::{NodeId, Own, To};

/// What has become of a packet that was received, or of a frame of a node's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    pub(crate) at: Instant,
    pub(crate) from: NodeId,
    pub(crate) to: To,
    /// `None`: a packet.
    pub(crate) own: Option<Own>,
    /// Medium time of all transmissions that it took.
    pub(crate) airtime: Airtime,
    /// Otherwise it was given up.
    pub(crate) received: bool,
}

/// Feedback that management traffic has not handled yet, and when management traffic has something to do.
#[derive(Debug)]
pub(crate) struct FeedbackQueue {
    /// There is management traffic.
    pub(crate) is_wanted: bool,
    /// When management traffic has something to do next; [`Instant::MAX`] where it does not.
    pub(crate) due: Instant,
    pending: VecDeque<Feedback>,
}

impl FeedbackQueue {
    pub(crate) const fn new() -> Self {
        Self { is_wanted: false, due: Instant::MAX, pending: VecDeque::new() }
    }

    /// It is handled at the same instant, once what brought it about is done.
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
