//! Limits the charges of all stations of a domain to the time that has passed, since they share one medium.
//!
//! Where the recent charges exceed the time, each charge is scaled down in that proportion. Frames to groups have their time first.

use evenair_units::Span;

/// Time after which the sums are halved.
const OVER: Span = Span::from_secs(2);

/// Recent charges of a domain; see the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChargedSum {
    /// Charges in this interval, unscaled.
    interval: Span,
    /// Charges of recent intervals, unscaled, and the time available for them.
    charged: Span,
    time: Span,
}

impl ChargedSum {
    /// Adds a charge, and returns it scaled.
    pub(crate) fn add(&mut self, charged: Span) -> Span {
        self.interval += charged;
        self.scale(charged)
    }

    /// Scales a charge.
    pub(crate) fn scale(&self, charged: Span) -> Span {
        if self.charged <= self.time { charged } else { charged.mul_div(self.time.as_nanos(), self.charged.as_nanos()) }
    }

    /// Ends an interval in which this much time was available to stations.
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
