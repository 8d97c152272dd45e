//! A wired link in event time: a rate, a delay and a drop-tail buffer, in one direction.
//!
//! A frame waits until those before it have been sent, takes `size / rate` to be sent, and arrives `delay` later; any
//! number may be in flight at once, so a long delay does not lower the rate. Frames keep their order. A [`DelayLine`]
//! is the other kind of link: no rate and no buffer, but a varying delay. Not here: loss other than by the buffer, and
//! framing (sizes are as the caller counts them).
//!
//! Its interface is that of all state machines: `handle_frame` puts in, `poll_frame` and `poll_drop` take out until
//! `None`, and `poll_deadline` says when `poll_frame` will have more. There is no `handle_timeout`, since nothing but
//! time changes a link.
//!
//! ```
//! use evenair_link::{Link, LinkConfig};
//! use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
//!
//! let config = LinkConfig {
//!     rate: Some(BitRate::from_mbps(12)),
//!     delay: Span::from_millis(10),
//!     buffer: Limit::Packets(100),
//! };
//! let mut link = Link::new(config);
//! link.handle_frame(Instant::ZERO, Bytes(1_500), "first");
//! link.handle_frame(Instant::ZERO, Bytes(1_500), "second");
//! // 1 ms to send it, 10 ms to arrive.
//! let arrival = link.poll_deadline().expect("frames are under way");
//! assert_eq!(arrival, Instant::ZERO + Span::from_millis(11));
//! assert_eq!(link.poll_frame(arrival), Some((arrival, "first")));
//! assert_eq!(link.poll_frame(arrival), None);
//! ```

#![no_std]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

mod delay_line;

use alloc::collections::VecDeque;

pub use delay_line::{DelayConfig, DelayLine};
pub use evenair_units::Limit;
use evenair_units::{BitRate, Bytes, Instant, Span};

/// Configuration of one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkConfig {
    /// Bits per second; `None`: a frame takes no time to send, and nothing ever waits.
    pub rate: Option<BitRate>,
    /// Propagation delay: from the end of transmission to arrival.
    pub delay: Span,
    /// Drop-tail buffer in front of the link; the frame being sent counts.
    pub buffer: Limit,
}

/// One direction of a link, and the frames on it.
#[derive(Clone, Debug)]
pub struct Link<F> {
    config: LinkConfig,
    /// All frames in order of arrival at the link: those in flight, then the one being sent, then those waiting.
    frames: VecDeque<Carried<F>>,
    /// Number of frames at the front of `frames` that have been sent, as of the last call.
    sent: usize,
    /// Bytes of frames that have not been sent.
    buffered: Bytes,
    /// End of transmission of the last of `frames`.
    free_at: Instant,
    /// Size and transmission time of the last frame, as a cache: most are alike.
    last: (Bytes, Span),
    dropped: VecDeque<F>,
}

#[derive(Clone, Debug)]
struct Carried<F> {
    sent_at: Instant,
    len: Bytes,
    frame: F,
}

impl<F> Link<F> {
    /// An empty link.
    pub const fn new(config: LinkConfig) -> Self {
        Self {
            config,
            frames: VecDeque::new(),
            sent: 0,
            buffered: Bytes::ZERO,
            free_at: Instant::ZERO,
            last: (Bytes::ZERO, Span::ZERO),
            dropped: VecDeque::new(),
        }
    }

    /// A frame of `len` arrives at the link; if the buffer is full it comes out of [`Self::poll_drop`]. `now` does not
    /// go back.
    #[inline]
    pub fn handle_frame(&mut self, now: Instant, len: Bytes, frame: F) {
        if self.config.buffer != Limit::Unlimited {
            self.settle(now);
            if !self.config.buffer.admits(self.frames.len() - self.sent, self.buffered, len) {
                self.dropped.push_back(frame);
                return;
            }
        }
        if self.last.0 != len {
            self.last = (len, self.config.rate.map_or(Span::ZERO, |rate| rate.time_for(len)));
        }
        self.free_at = self.free_at.max(now).saturating_add(self.last.1);
        self.frames.push_back(Carried { sent_at: self.free_at, len, frame });
        self.buffered += len;
    }

    /// The next frame that arrives by `now`, with its instant of arrival.
    #[inline]
    pub fn poll_frame(&mut self, now: Instant) -> Option<(Instant, F)> {
        let at = self.poll_deadline().filter(|&at| at <= now)?;
        if self.sent == 0 {
            self.settle(now);
        }
        self.sent -= 1;
        self.frames.pop_front().map(|carried| (at, carried.frame))
    }

    /// A frame that found the buffer full.
    #[inline]
    pub fn poll_drop(&mut self) -> Option<F> {
        self.dropped.pop_front()
    }

    /// When the next frame arrives.
    #[inline]
    pub fn poll_deadline(&self) -> Option<Instant> {
        self.frames.front().map(|carried| carried.sent_at.saturating_add(self.config.delay))
    }

    /// Frames and bytes in the buffer at `now`, the frame being sent included.
    pub fn backlog(&mut self, now: Instant) -> (usize, Bytes) {
        self.settle(now);
        (self.frames.len() - self.sent, self.buffered)
    }

    /// Removes frames sent by `now` from the buffer's occupancy.
    fn settle(&mut self, now: Instant) {
        while let Some(carried) = self.frames.get(self.sent).filter(|carried| carried.sent_at <= now) {
            self.buffered = self.buffered - carried.len;
            self.sent += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use super::*;

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    fn drain(link: &mut Link<u32>, now: Instant) -> Vec<(Instant, u32)> {
        core::iter::from_fn(|| link.poll_frame(now)).collect()
    }

    /// 8 Mb/s: a byte takes a microsecond.
    fn link(delay_us: u64, buffer: Limit) -> Link<u32> {
        Link::new(LinkConfig { rate: Some(BitRate::from_mbps(8)), delay: Span::from_micros(delay_us), buffer })
    }

    #[test]
    fn frames_are_sent_one_after_the_other_and_fly_together() {
        let mut link = link(10_000, Limit::Unlimited);
        for n in 0..3 {
            link.handle_frame(Instant::ZERO, Bytes(1_000), n);
        }
        assert_eq!(link.poll_deadline(), Some(at_us(11_000)));
        assert_eq!(drain(&mut link, at_us(10_999)), vec![]);
        assert_eq!(drain(&mut link, at_us(12_999)), vec![(at_us(11_000), 0), (at_us(12_000), 1)]);
        assert_eq!(drain(&mut link, at_us(13_000)), vec![(at_us(13_000), 2)]);
        assert_eq!(link.poll_deadline(), None);
    }

    #[test]
    fn an_idle_link_starts_at_once_and_arrivals_late_to_be_fetched_keep_their_time() {
        let mut link = link(5, Limit::Unlimited);
        link.handle_frame(at_us(100), Bytes(10), 0);
        link.handle_frame(at_us(500), Bytes(10), 1);
        assert_eq!(drain(&mut link, at_us(9_999)), vec![(at_us(115), 0), (at_us(515), 1)]);
    }

    #[test]
    fn the_buffer_counts_the_frame_being_sent_and_not_those_in_flight() {
        let mut link = link(1_000_000, Limit::Packets(2));
        for n in 0..3 {
            link.handle_frame(Instant::ZERO, Bytes(100), n);
        }
        assert_eq!(link.poll_drop(), Some(2));
        assert_eq!(link.poll_drop(), None);
        assert_eq!(link.backlog(at_us(99)), (2, Bytes(200)));
        link.handle_frame(at_us(100), Bytes(100), 3);
        assert_eq!(link.poll_drop(), None);
        assert_eq!(link.backlog(at_us(100)), (2, Bytes(200)));
        assert_eq!(link.backlog(at_us(300)), (0, Bytes::ZERO));
        assert_eq!(drain(&mut link, at_us(2_000_000)).iter().map(|&(_, n)| n).collect::<Vec<_>>(), vec![0, 1, 3]);
    }

    #[test]
    fn a_buffer_in_bytes_takes_a_small_frame_where_a_large_one_does_not_fit() {
        let mut link = link(0, Limit::Bytes(Bytes(1_600)));
        link.handle_frame(Instant::ZERO, Bytes(1_500), 0);
        link.handle_frame(Instant::ZERO, Bytes(1_500), 1);
        link.handle_frame(Instant::ZERO, Bytes(100), 2);
        assert_eq!(link.poll_drop(), Some(1));
        assert_eq!(drain(&mut link, at_us(1_600)), vec![(at_us(1_500), 0), (at_us(1_600), 2)]);
    }

    #[test]
    fn without_a_rate_only_the_delay_remains() {
        let mut link = Link::new(LinkConfig { rate: None, delay: Span::from_millis(1), buffer: Limit::Packets(1) });
        for n in 0..100 {
            link.handle_frame(at_us(n), Bytes(1_500), n as u32);
        }
        assert_eq!(link.poll_drop(), None);
        assert_eq!(drain(&mut link, at_us(1_099)).len(), 100);
    }
}
