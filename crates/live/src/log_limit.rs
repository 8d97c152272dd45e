//! Rate limit for log lines that stations and other hosts can trigger. A flood of spoofed stations must not become a flood
//! of log lines, which would fill the disk and delay packets.

use evenair_units::{Instant, Span};

/// Log lines that may come at once.
const BURST: u32 = 60;
/// Interval of further lines.
const EACH: Span = Span::from_millis(200);

/// A token bucket of log lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogLimit {
    burst: u32,
    each: Span,
    left: u32,
    /// When the next line is added to the remaining ones.
    next: Instant,
    unlogged: u64,
}

impl LogLimit {
    pub(crate) const fn new(now: Instant) -> Self {
        Self::of(now, BURST, EACH)
    }

    /// The same with `burst` lines at once, and a further one after each span `each`.
    pub(crate) const fn of(now: Instant, burst: u32, each: Span) -> Self {
        Self { burst, each, left: burst, next: now, unlogged: 0 }
    }

    /// Whether a line may be logged at `now`; if so, the number of lines suppressed since the last one.
    pub(crate) fn admits(&mut self, now: Instant) -> Option<u64> {
        while self.left < self.burst && self.next <= now {
            self.left += 1;
            self.next = self.next.saturating_add(self.each);
        }
        if self.left == 0 {
            self.unlogged += 1;
            return None;
        }
        if self.left == self.burst {
            self.next = now.saturating_add(self.each);
        }
        self.left -= 1;
        Some(core::mem::take(&mut self.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_limited_and_suppressed_lines_are_reported() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut limit = LogLimit::new(at(0));
        // A thousand lines a second for ten seconds: the burst, and five a second.
        let logged: Vec<_> = (0..10_000).filter_map(|ms| limit.admits(at(ms))).collect();
        assert!((108..=111).contains(&logged.len()), "{}", logged.len());
        assert!(logged[..60].iter().all(|&unlogged| unlogged == 0));
        assert!(logged[61..].iter().all(|&unlogged| unlogged == 199), "{logged:?}");
        // After a long silence the full burst is available again.
        assert!(limit.admits(at(100_000)).is_some_and(|unlogged| unlogged > 0));
        assert_eq!((0..100).filter(|_| limit.admits(at(100_000)).is_some()).count(), 59);
    }

    #[test]
    fn usual_traffic_is_logged_completely() {
        let mut limit = LogLimit::new(Instant::ZERO);
        let lines = (0..1_000).map(|n| limit.admits(Instant::ZERO + Span::from_millis(250 * n)));
        assert!(lines.into_iter().all(|line| line == Some(0)));
    }
}
