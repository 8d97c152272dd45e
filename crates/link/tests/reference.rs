//! The link against a plain list of transmission times.

use evenair_link::{Limit, Link, LinkConfig};
use evenair_units::{BitRate, Bytes, Instant, Span};
use proptest::prelude::*;

/// Arrival of each frame, or `None` if it is dropped, computed over all frames before it.
fn reference(config: LinkConfig, frames: &[(Instant, Bytes)]) -> Vec<Option<Instant>> {
    let mut sent: Vec<(Instant, Bytes)> = vec![];
    let mut arrivals = vec![];
    for &(now, len) in frames {
        let waiting = || sent.iter().filter(|&&(sent_at, _)| sent_at > now);
        if !config.buffer.admits(waiting().count(), waiting().map(|&(_, len)| len).sum(), len) {
            arrivals.push(None);
            continue;
        }
        let starts = sent.last().map_or(now, |&(before, _)| before.max(now));
        let ends = starts + config.rate.map_or(Span::ZERO, |rate| rate.time_for(len));
        sent.push((ends, len));
        arrivals.push(Some(ends + config.delay));
    }
    arrivals
}

fn any_config() -> impl Strategy<Value = LinkConfig> {
    let buffer = prop_oneof![
        (1..20u32).prop_map(Limit::Packets),
        (1..20_000u64).prop_map(|bytes| Limit::Bytes(Bytes(bytes))),
        Just(Limit::Unlimited)
    ];
    (prop::option::of(1..100u64), 0..50_000u64, buffer).prop_map(|(mbps, delay_us, buffer)| LinkConfig {
        rate: mbps.map(BitRate::from_mbps),
        delay: Span::from_micros(delay_us),
        buffer,
    })
}

proptest! {
    #[test]
    fn frames_arrive_when_a_plain_list_says(
        config in any_config(),
        steps in prop::collection::vec((0..2_000u64, 1..1_500u64, any::<bool>()), 0..200),
    ) {
        let mut link = Link::new(config);
        let mut now = Instant::ZERO;
        let mut frames = vec![];
        let mut arrived = vec![];
        for (id, &(gap_us, len, poll)) in steps.iter().enumerate() {
            now += Span::from_micros(gap_us);
            frames.push((now, Bytes(len)));
            link.handle_frame(now, Bytes(len), id);
            // Polling arrivals in between makes no difference.
            if poll {
                arrived.extend(core::iter::from_fn(|| link.poll_frame(now)));
                prop_assert!(link.poll_deadline().is_none_or(|at| at > now));
            }
        }
        arrived.extend(core::iter::from_fn(|| link.poll_frame(Instant::MAX)));
        let dropped: Vec<usize> = core::iter::from_fn(|| link.poll_drop()).collect();

        let expected = reference(config, &frames);
        let is = |arrives: bool| (0..frames.len()).filter(|&id| expected[id].is_some() == arrives).collect::<Vec<_>>();
        prop_assert_eq!(dropped, is(false));
        prop_assert_eq!(arrived, is(true).iter().map(|&id| (expected[id].unwrap(), id)).collect::<Vec<_>>());
        prop_assert_eq!(link.backlog(Instant::MAX), (0, Bytes::ZERO));
    }
}
