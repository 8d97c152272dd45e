//! Super-packets at a port: split into segments on reception, and merged again if consecutive segments leave together.
//!
//! The manager sees, charges and schedules segments only. Segments that are released one by one, as the medium takes them,
//! are sent one by one; segments that are released together, because nothing limits them, cost the kernel no more than
//! before. Only segments of one super-packet are merged: the kernel has validated their checksums, and merging computes new
//! ones. Other damaged packets must stay damaged.
//!
//! Not here: the layout of packets ([`evenair_packet::segments`]), and merging of datagrams.

use std::collections::VecDeque;

use evenair_packet::segments::{Run, Segments, payload};
use evenair_sys::ring::{Batch, Frame, MOST_SUPER_BYTES, SEND_BATCH, TcpOffload};

use crate::pool::{FrameId, Pool, Put};

/// Bytes of a VLAN tag that is put back.
const TAG: usize = 4;
/// Bytes of headers in front of a payload, at most: Ethernet with two tags, IPv6, the longest header of TCP, and some extensions.
const MOST_HEADERS: usize = 192;
/// Segments merged into one, at most: 64 KB of the usual size are 45.
const MOST_JOINED: usize = 128;
/// Parts of the frames of one batch, at most.
const MOST_PARTS: usize = 768;

/// Result of cutting a super-packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Segments, stored or not.
    pub(crate) segments: u64,
    /// Segments dropped for want of room.
    pub(crate) pool_full: u64,
    /// Segments dropped because they are longer than the MTU allows.
    pub(crate) too_long: u64,
}

/// Cuts super-packets.
#[derive(Debug)]
pub(crate) struct Cutter {
    whole: Vec<u8>,
}

impl Cutter {
    pub(crate) fn new() -> Self {
        Self { whole: vec![0; MOST_SUPER_BYTES + TAG] }
    }

    /// Stores the segments of a frame, each with `size` bytes of payload, in the pool; calls `store` for each. `None`: the frame is not
    /// complete, or carries neither TCP nor UDP.
    pub(crate) fn cut(
        &mut self,
        frame: Frame<'_>,
        size: u16,
        pool: &mut Pool,
        mut store: impl FnMut(&Pool, FrameId),
    ) -> Option<Cut> {
        let len = frame.copy_super_to(&mut self.whole)?;
        drop(frame);
        let segments = Segments::of(&self.whole[..len], size)?;
        let mut cut = Cut { segments: segments.count() as u64, ..Cut::default() };
        for n in 0..segments.count() {
            match pool.put(|to| segments.write(n, to)) {
                Put::Stored(id) => {
                    pool.mark_as_segment(&id);
                    store(pool, id);
                }
                Put::Full => cut.pool_full += 1,
                Put::Refused => cut.too_long += 1,
            }
        }
        Some(cut)
    }
}

/// Plans which of the queued frames are sent as one.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    planned: Vec<Planned>,
    headers: Vec<u8>,
    /// Whether the kernel has refused a super-packet here.
    refused: bool,
}

#[derive(Clone, Copy, Debug)]
struct Planned {
    /// Number of frames of the queue.
    frames: usize,
    /// Set if they are sent as one.
    offload: Option<TcpOffload>,
}

impl Joiner {
    /// Plans the next call of the kernel.
    pub(crate) fn plan(&mut self, queue: &VecDeque<FrameId>, pool: &Pool) {
        self.planned.clear();
        self.headers.clear();
        let (mut next, mut parts) = (0, 0);
        while next < queue.len() && self.planned.len() < SEND_BATCH && parts + MOST_JOINED < MOST_PARTS {
            let planned = self.plan_one(queue, next, pool);
            next += planned.frames;
            parts += planned.frames + 1;
            self.planned.push(planned);
        }
    }

    fn plan_one(&mut self, queue: &VecDeque<FrameId>, at: usize, pool: &Pool) -> Planned {
        let alone = Planned { frames: 1, offload: None };
        let first = pool.get(&queue[at]);
        let joinable = !self.refused && pool.is_segment(&queue[at]);
        let Some(mut run) = joinable.then(|| Run::begin(first)).flatten() else { return alone };
        for id in queue.range(at + 1..).take(MOST_JOINED - 1) {
            if !pool.is_segment(id) || !run.extend(first, pool.get(id)) {
                break;
            }
        }
        if run.count() == 1 {
            return alone;
        }
        let begin = self.headers.len();
        self.headers.resize(begin + MOST_HEADERS, 0);
        let Some(joined) = run.join(first, &mut self.headers[begin..]) else {
            self.headers.truncate(begin);
            return alone;
        };
        self.headers.truncate(begin + joined.headers);
        let offload = TcpOffload {
            headers: joined.headers as u16,
            segment: joined.size,
            transport: joined.transport as u16,
            is_v6: joined.is_v6,
            cwr: joined.cwr,
        };
        Planned { frames: run.count(), offload: Some(offload) }
    }

    /// The planned batch.
    pub(crate) fn batch<'a>(&'a self, queue: &'a VecDeque<FrameId>, pool: &'a Pool) -> Batch<'a> {
        let mut batch = Batch::new();
        let (mut frames, mut headers) = (queue.iter(), &self.headers[..]);
        for planned in &self.planned {
            let fits = match planned.offload {
                None => frames.next().is_some_and(|id| batch.push(pool.get(id))),
                Some(offload) => {
                    let (header, rest) = headers.split_at(offload.headers.into());
                    headers = rest;
                    let mut parts = vec![header];
                    parts.extend(frames.by_ref().take(planned.frames).map(|id| payload(pool.get(id))));
                    batch.push_super(offload, parts.into_iter())
                }
            };
            debug_assert!(fits, "it was planned so");
        }
        batch
    }

    /// Number of frames in the first `messages` of the plan.
    pub(crate) fn frames_of(&self, messages: usize) -> usize {
        self.planned[..messages].iter().map(|planned| planned.frames).sum()
    }

    /// Handles the kernel's refusal of the first planned message. Returns whether to try again without joining.
    pub(crate) fn give_up_joining(&mut self, errno: i32) -> bool {
        let was_joined = self.planned.first().is_some_and(|planned| planned.offload.is_some());
        let again = was_joined && matches!(errno, libc::EINVAL | libc::EMSGSIZE | libc::EOPNOTSUPP);
        self.refused |= again;
        again
    }
}
