//! A simulated second of the core. Each step that does not come out as it must has a number, which becomes the exit
//! code.

use evenair_units::{BitRate, Bytes, Instant, Span, Streams};

/// Drives everything.
pub fn drive() -> Result<(), i32> {
    let streams = Streams::new(1);
    let mut rng = streams.stream("core-proof");
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + Span::from_secs(1) {
        now += BitRate::from_bps(11_000_000).time_for(Bytes(1 + rng.below(1500)));
    }
    check(1, now < Instant::ZERO + Span::from_secs(2))
}

fn check(step: i32, holds: bool) -> Result<(), i32> {
    if holds { Ok(()) } else { Err(step) }
}
