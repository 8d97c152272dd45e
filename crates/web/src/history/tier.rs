//! Tiers: the lengths of intervals, and the retention of rows of each.

const DAY_S: i64 = 24 * 3600;

/// Intervals of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// A minute, for 7 days.
    Minute,
    /// A quarter of an hour, for 90 days; not for stations.
    Quarter,
    /// An hour, for 3 years; for stations 90 days.
    Hour,
}

impl Tier {
    /// All of them, the shortest first.
    pub(crate) const ALL: [Self; 3] = [Self::Minute, Self::Quarter, Self::Hour];
    /// Retention of stations' hours, in seconds.
    pub(crate) const STATION_HOURS_S: i64 = 90 * DAY_S;

    /// Its table.
    pub(crate) const fn table(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Quarter => "quarter",
            Self::Hour => "hour",
        }
    }

    /// Length of an interval, in seconds.
    pub(crate) const fn length_s(self) -> i64 {
        match self {
            Self::Minute => 60,
            Self::Quarter => 15 * 60,
            Self::Hour => 3600,
        }
    }

    /// Retention of its rows, in seconds.
    pub(crate) const fn kept_s(self) -> i64 {
        match self {
            Self::Minute => 7 * DAY_S,
            Self::Quarter => 90 * DAY_S,
            Self::Hour => 3 * 365 * DAY_S,
        }
    }

    /// Begin of the interval that contains a time, in seconds since 1970.
    pub(crate) const fn begin_of(self, at_s: i64) -> i64 {
        at_s - at_s.rem_euclid(self.length_s())
    }
}
