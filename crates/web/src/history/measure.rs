//! Measures of the history: numbers computed from rows.

use super::row::{Leg, Row, Sum};
use super::subject::Kind;

/// A measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Mean rate of this byte count, in Mb/s.
    Rate(Sum),
    /// This byte count.
    Bytes(Sum),
    /// Charged proportion of the time, 0 to 1.
    Air,
    /// Mean number of active stations.
    Active,
    /// Number of packets in both directions.
    Packets(Sum, Sum),
    /// Percentile of the latency of a leg, in ms.
    Percentile(Leg, u64),
    /// Number of packets timed on a leg.
    Timed(Leg),
    /// Time with good health, in seconds; of the box only.
    Good,
    /// Time with this state of health, in seconds; of the box only.
    Unwell(Sum),
}

/// All measures by name.
pub(crate) const MEASURES: [(&str, Measure); 27] = {
    use Leg::{Box, Internet, InternetQueue, Wlan};
    use Measure::{Active, Air, Bytes, Good, Packets, Percentile, Rate, Timed, Unwell};
    [
        ("down-mbps", Rate(Sum::DownBytes)),
        ("up-mbps", Rate(Sum::UpBytes)),
        ("down-bytes", Bytes(Sum::DownBytes)),
        ("up-bytes", Bytes(Sum::UpBytes)),
        ("air", Air),
        ("active", Active),
        ("box-lost", Packets(Sum::BoxDown, Sum::BoxUp)),
        ("wlan-lost", Packets(Sum::WlanDown, Sum::WlanUp)),
        ("wire-lost", Packets(Sum::WireDown, Sum::WireUp)),
        ("box-p50", Percentile(Box, 50)),
        ("box-p95", Percentile(Box, 95)),
        ("box-p99", Percentile(Box, 99)),
        ("wlan-p50", Percentile(Wlan, 50)),
        ("wlan-p95", Percentile(Wlan, 95)),
        ("wlan-p99", Percentile(Wlan, 99)),
        ("internet-queue-p50", Percentile(InternetQueue, 50)),
        ("internet-queue-p95", Percentile(InternetQueue, 95)),
        ("internet-queue-p99", Percentile(InternetQueue, 99)),
        ("internet-p50", Percentile(Internet, 50)),
        ("internet-p95", Percentile(Internet, 95)),
        ("internet-p99", Percentile(Internet, 99)),
        ("box-timed", Timed(Box)),
        ("wlan-timed", Timed(Wlan)),
        ("internet-timed", Timed(Internet)),
        ("good-s", Good),
        ("watch-s", Unwell(Sum::WatchMs)),
        ("bad-s", Unwell(Sum::BadMs)),
    ]
};

impl Measure {
    /// The measure with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        MEASURES.into_iter().find(|(other, _)| *other == name).map(|(_, measure)| measure)
    }

    /// Its unit; empty for counts.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Rate(_) => "Mb/s",
            Self::Bytes(_) => "bytes",
            Self::Percentile(..) => "ms",
            Self::Good | Self::Unwell(_) => "s",
            Self::Air | Self::Active | Self::Packets(..) | Self::Timed(_) => "",
        }
    }

    /// Whether it is a mean over the time that the box has seen, including idle time of the
    /// subject.
    pub(crate) const fn is_mean(self) -> bool {
        matches!(self, Self::Rate(_) | Self::Air | Self::Active)
    }

    /// The value from a subject's row, and the box's row of the same interval; `None`: unknown.
    pub(crate) fn of(self, kind: Kind, row: &Row, of_box: &Row) -> Option<f64> {
        // Rates of the box are those of its ports, which are also known in bypass.
        let seen = if kind == Kind::Box && matches!(self, Self::Rate(_)) { Sum::KnownMs } else { Sum::SeenMs };
        let seen_ms = Some(of_box.get(seen)).filter(|ms| *ms > 0).map(|ms| ms as f64);
        match self {
            Self::Rate(bytes) => Some(row.get(bytes) as f64 * 8e-3 / seen_ms?),
            Self::Bytes(bytes) => Some(row.get(bytes) as f64),
            Self::Air => Some(row.get(Sum::AirUs) as f64 * 1e-3 / seen_ms?),
            Self::Active => Some(row.get(Sum::ActiveMs) as f64 / seen_ms?),
            Self::Packets(down, up) => Some((row.get(down) + row.get(up)) as f64),
            Self::Percentile(leg, percent) => row.leg(leg).percentile_ms(percent),
            Self::Timed(leg) => Some(row.leg(leg).packets() as f64),
            Self::Good | Self::Unwell(_) if kind != Kind::Box => None,
            Self::Good => {
                let known_ms = known_ms(row)?;
                Some(known_ms.saturating_sub(row.get(Sum::WatchMs) + row.get(Sum::BadMs)) as f64 * 1e-3)
            }
            Self::Unwell(sum) => known_ms(row).map(|_| row.get(sum) as f64 * 1e-3),
        }
    }
}

/// Time with lines from the box, in ms; `None` without any.
fn known_ms(of_box: &Row) -> Option<u64> {
    Some(of_box.get(Sum::KnownMs).max(of_box.get(Sum::SeenMs))).filter(|ms| *ms > 0)
}

#[cfg(test)]
mod tests {
    use evenair_api::watch::LegHistograms;

    use super::*;

    #[test]
    fn names_are_of_one_measure_each() {
        for (name, measure) in MEASURES {
            assert_eq!(Measure::named(name), Some(measure), "{name}");
        }
        assert_eq!(Measure::named("wlan-p96"), None);
    }

    #[test]
    fn means_are_over_the_time_that_the_box_has_seen() {
        let (mut row, mut of_box) = (Row::default(), Row::default());
        row.add(Sum::DownBytes, 7_500_000);
        row.add(Sum::AirUs, 15_000_000);
        row.add_latencies(&LegHistograms { wlan: vec![4, 100].into(), ..LegHistograms::default() });
        let of = |name, kind, of_box: &Row| Measure::named(name).expect(name).of(kind, &row, of_box);
        assert_eq!(of("down-mbps", Kind::Station, &of_box), None, "the box saw nothing");
        of_box.add(Sum::KnownMs, 120_000);
        of_box.add(Sum::SeenMs, 60_000);
        assert_eq!(of("down-mbps", Kind::Station, &of_box), Some(1.0));
        assert_eq!(of("down-mbps", Kind::Box, &of_box), Some(0.5));
        assert_eq!(of("air", Kind::Station, &of_box), Some(0.25));
        assert!((of("wlan-p50", Kind::Station, &of_box).expect("timed") - 0.96).abs() < 0.1);
        assert_eq!(of("internet-p50", Kind::Station, &of_box), None);
        of_box.add(Sum::BadMs, 30_000);
        let health = ["good-s", "watch-s", "bad-s"].map(|name| Measure::named(name).expect(name));
        assert_eq!(health.map(|of| of.of(Kind::Box, &of_box, &of_box)), [Some(90.0), Some(0.0), Some(30.0)]);
        assert_eq!(health.map(|of| of.of(Kind::Domain, &of_box, &of_box)), [None; 3]);
        assert_eq!(health.map(|of| of.of(Kind::Box, &row, &row)), [None; 3], "it was not heard");
    }
}
