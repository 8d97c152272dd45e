//! What all stations of a domain are charged together: no more than the time, since they share one medium.
//!
//! Where less time has passed than the sum of what was charged lately, each charge counts in that proportion. Frames to groups
//! have their time first.

use evenair_units::Span;

/// Sums are halved when they are of so much time.
const OVER: Span = Span::from_secs(2);

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChargedSum {
    /// In this interval, before it is scaled.
    interval: Span,
    /// Of recent intervals: that, and the time that there was for it.
    charged: Span,
    time: Span,
}

impl ChargedSum {
    /// Takes in a charge, and returns it as it counts.
    pub(crate) fn add(&mut self, charged: Span) -> Span {
        self.interval += charged;
        self.scale(charged)
    }

    /// A charge as it counts.
    pub(crate) fn scale(&self, charged: Span) -> Span {
        if self.charged <= self.time { charged } else { charged.mul_div(self.time.as_nanos(), self.charged.as_nanos()) }
    }

    /// An interval has ended in which stations had so much time.
    pub(crate) fn end_interval(&mut self, time: Span) {
        if self.time >= OVER {
            (self.charged, self.time) = (self.charged / 2, self.time / 2);
        }
        self.charged += core::mem::take(&mut self.interval);
        self.time += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_charged_no_more_than_the_time() {
        let ms = Span::from_millis;
        let mut sum = ChargedSum::default();
        assert_eq!(sum.add(ms(30)), ms(30), "nothing is known yet");
        sum.end_interval(ms(100));
        assert_eq!(sum.add(ms(30)), ms(30), "the medium was idle for the rest");
        for _ in 0..100 {
            sum.add(ms(600));
            sum.add(ms(200));
            sum.end_interval(ms(80));
        }
        let all = sum.add(ms(600)) + sum.add(ms(200));
        assert!(all >= ms(79) && all <= ms(81), "{all}");
    }
}
