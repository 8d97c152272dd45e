//! One direction of a path that delays frames without limiting their rate: a driver, a mesh hop, a tunnel.
//!
//! Each frame takes `delay` plus a uniform random time between zero and `jitter`. If the path delivers frames in batches,
//! as interrupt moderation in a driver does, an arrived frame waits for the next multiple of `batch` since the origin of
//! time. There is no loss and no reordering: a frame is never delivered before the one in front of it. So frames closer
//! together than the jitter delay each other, and their mean delay is above `delay + jitter / 2`.
//!
//! Not here: loss, a rate, or a limited buffer; see [`crate::Link`].

use alloc::collections::VecDeque;

use evenair_units::{Instant, Rng, Span};

/// Configuration of one direction of a path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DelayConfig {
    /// Minimum delay of a frame.
    pub delay: Span,
    /// Maximum of the additional uniform random delay of each frame.
    pub jitter: Span,
    /// Frames are delivered at multiples of this; zero: as each arrives.
    pub batch: Span,
}

/// One direction of a path, and the frames on it.
#[derive(Clone, Debug)]
pub struct DelayLine<F> {
    config: DelayConfig,
    rng: Rng,
    /// In order of entry, which is that of arrival.
    frames: VecDeque<(Instant, F)>,
    /// When the last frame in `frames` is delivered.
    last: Instant,
}

impl<F> DelayLine<F> {
    /// An empty path, whose jitter is drawn from `rng`.
    pub const fn new(config: DelayConfig, rng: Rng) -> Self {
        Self { config, rng, frames: VecDeque::new(), last: Instant::ZERO }
    }

    /// A frame enters the path. `now` does not go back.
    pub fn handle_frame(&mut self, now: Instant, frame: F) {
        let DelayConfig { delay, jitter, batch } = self.config;
        let drawn = match jitter {
            Span::ZERO => Span::ZERO,
            most => Span::from_nanos(self.rng.below(most.as_nanos().saturating_add(1))),
        };
        let arrival = now.saturating_add(delay).saturating_add(drawn);
        self.last = self.last.max(end_of_batch(arrival, batch));
        self.frames.push_back((self.last, frame));
    }

    /// The next frame that is delivered by `now`, with the instant of delivery.
    pub fn poll_frame(&mut self, now: Instant) -> Option<(Instant, F)> {
        self.poll_deadline().filter(|&at| at <= now)?;
        self.frames.pop_front()
    }

    /// When the next frame is delivered.
    pub fn poll_deadline(&self) -> Option<Instant> {
        self.frames.front().map(|&(at, _)| at)
    }

    /// Number of frames on the path.
    pub fn held(&self) -> usize {
        self.frames.len()
    }
}

/// The first multiple of `batch` that is not before `at`.
fn end_of_batch(at: Instant, batch: Span) -> Instant {
    match batch.as_nanos() {
        0 => at,
        batch => Instant::from_nanos(at.as_nanos().div_ceil(batch).saturating_mul(batch)),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use evenair_units::Streams;
    use proptest::prelude::*;

    use super::*;

    const MS: Span = Span::from_millis(1);

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Span::from_micros(us)
    }

    fn line(delay_us: u64, jitter_us: u64, batch_us: u64) -> DelayLine<usize> {
        let us = Span::from_micros;
        let config = DelayConfig { delay: us(delay_us), jitter: us(jitter_us), batch: us(batch_us) };
        DelayLine::new(config, Streams::new(1).stream("path"))
    }

    fn drain(line: &mut DelayLine<usize>, now: Instant) -> Vec<(Instant, usize)> {
        core::iter::from_fn(|| line.poll_frame(now)).collect()
    }

    #[test]
    fn each_frame_is_under_way_for_the_delay_however_many_there_are() {
        let mut line = line(5_000, 0, 0);
        (0..100).for_each(|n| line.handle_frame(at_us(n), n as usize));
        assert_eq!((line.held(), line.poll_deadline()), (100, Some(at_us(5_000))));
        assert_eq!(drain(&mut line, at_us(4_999)), []);
        let expected: Vec<_> = (0..100).map(|n| (at_us(5_000 + n), n as usize)).collect();
        assert_eq!(drain(&mut line, at_us(9_999)), expected);
        assert_eq!((line.held(), line.poll_deadline()), (0, None));
    }

    #[test]
    fn jitter_of_frames_far_apart_is_uniform_up_to_its_bound() {
        let mut line = line(5_000, 1_000, 0);
        let came: Vec<_> = (0..2_000).map(|n| Instant::ZERO + MS * 10 * n).collect();
        came.iter().enumerate().for_each(|(n, &now)| line.handle_frame(now, n));
        let delays = drain(&mut line, Instant::MAX).into_iter().map(|(at, n)| at.saturating_since(came[n]).as_micros());
        let delays: Vec<_> = delays.collect();
        let (least, most) = (*delays.iter().min().unwrap(), *delays.iter().max().unwrap());
        assert!((5_000..5_010).contains(&least) && (5_990..=6_000).contains(&most), "{least} to {most}");
        let mean = delays.iter().sum::<u64>() / delays.len() as u64;
        assert!((5_475..=5_525).contains(&mean), "{mean}");
    }

    #[test]
    fn batches_are_handed_over_at_multiples_and_a_frame_that_arrives_at_one_goes_with_it() {
        let mut line = line(100, 0, 5_000);
        for (n, us) in [0, 4_900, 4_901, 9_900].into_iter().enumerate() {
            line.handle_frame(at_us(us), n);
        }
        let expected = [(at_us(5_000), 0), (at_us(5_000), 1), (at_us(10_000), 2), (at_us(10_000), 3)];
        assert_eq!(drain(&mut line, at_us(10_000)), expected);
    }

    #[test]
    fn a_path_without_any_delay_hands_over_at_once() {
        let mut line = line(0, 0, 0);
        line.handle_frame(at_us(7), 0);
        assert_eq!(drain(&mut line, at_us(7)), [(at_us(7), 0)]);
    }

    #[test]
    fn the_end_of_time_is_no_overflow() {
        let mut line = DelayLine::new(
            DelayConfig { delay: Span::MAX, jitter: Span::MAX, batch: Span::from_millis(3) },
            Streams::new(1).stream("path"),
        );
        line.handle_frame(at_us(1), 0);
        assert_eq!(line.held(), 1);
    }

    proptest! {
        /// For any path: all frames are delivered, once, in order, neither too early nor too late, and identically a second
        /// time.
        #[test]
        fn order_bounds_and_the_number_of_frames_are_kept(
            delay in 0_u64..5_000,
            jitter in 0_u64..5_000,
            batch in 0_u64..3_000,
            gaps in prop::collection::vec(0_u64..2_000, 1..200),
        ) {
            let (mut one, mut other) = (line(delay, jitter, batch), line(delay, jitter, batch));
            let (mut now, mut came, mut out) = (Instant::ZERO, Vec::new(), Vec::new());
            for (n, &gap) in gaps.iter().enumerate() {
                now += Span::from_micros(gap);
                out.extend(drain(&mut one, now));
                one.handle_frame(now, n);
                other.handle_frame(now, n);
                came.push(now);
                prop_assert_eq!(out.len() + one.held(), came.len());
            }
            out.extend(drain(&mut one, Instant::MAX));
            prop_assert!(out.iter().map(|&(_, n)| n).eq(0..gaps.len()));
            prop_assert!(out.is_sorted_by_key(|&(at, _)| at));
            for &(at, n) in &out {
                let waited = at.saturating_since(came[n]).as_micros();
                prop_assert!((delay..=delay + jitter + batch).contains(&waited), "{} us", waited);
                prop_assert!(batch == 0 || at.as_nanos() % (batch * 1_000) == 0);
            }
            prop_assert_eq!(out, drain(&mut other, Instant::MAX));
        }
    }
}
