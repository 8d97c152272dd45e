//! The notation of frequencies, such as "50 /s".

use std::cmp::Ordering;

use evenair_units::Span;
use schemars::Schema;

use crate::quantity::{Units, quantity, quantity_schema, with_unit};
use crate::{FromWritten, Scalar};

/// A frequency of events.
#[derive(Clone, Copy, Debug)]
pub struct Frequency {
    /// Millionths of an event per the following span.
    millionths: u64,
    per: Span,
}

/// Millionths of an event, per the span of the same name.
const FREQUENCY: Units = &[("/s", 1_000_000), ("/min", 1_000_000), ("/h", 1_000_000)];

impl Frequency {
    /// Mean time between events, in nanoseconds, rounded down; [`Span::MAX`] if there are none.
    pub fn gap(self) -> Span {
        if self.millionths == 0 { Span::MAX } else { self.per.mul_div(1_000_000, self.millionths) }
    }
}

impl PartialOrd for Frequency {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let scaled = |one: &Self, other: &Self| u128::from(one.millionths) * u128::from(other.per.as_nanos());
        Some(scaled(self, other).cmp(&scaled(other, self)))
    }
}

/// Equal frequencies may be written differently, such as "60 /min" and "1 /s".
impl PartialEq for Frequency {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl FromWritten for Frequency {
    fn from_written(scalar: &Scalar) -> Result<Self, String> {
        let text = with_unit(scalar)?;
        let millionths = quantity(text, FREQUENCY)?;
        let per = match text.trim_end().rsplit('/').next() {
            Some("min") => Span::from_secs(60),
            Some("h") => Span::from_secs(3600),
            _ => Span::from_secs(1),
        };
        Ok(Self { millionths, per })
    }

    fn allowed() -> String {
        "a frequency such as \"50 /s\" (/s, /min, /h)".into()
    }

    fn schema() -> Schema {
        quantity_schema(FREQUENCY, "50 /s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_exact_to_the_nanosecond() {
        let gap = |text: &str| Frequency::from_written(&Scalar::from(text)).map(Frequency::gap);
        assert_eq!(gap("50 /s"), Ok(Span::from_millis(20)));
        assert_eq!(gap("7.5 /min"), Ok(Span::from_secs(8)));
        assert_eq!(gap("0.25/h"), Ok(Span::from_secs(4 * 3600)));
        assert_eq!(gap("0 /s"), Ok(Span::MAX));
        assert!(gap("50").is_err() && gap("50 Hz").is_err() && gap("-1 /s").is_err());
    }
}
