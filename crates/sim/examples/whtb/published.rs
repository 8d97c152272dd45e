//! What Garroppo, Giordano, Lucetti and Valori measured, and how far from it every scheduler has to be.

/// A discipline of their tables that is simulated here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Discipline {
    /// By which the places are found.
    Drr,
    Htb,
    Whtb,
}

impl Discipline {
    /// As the tables head their columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drr => "DRR",
            Self::Htb => "HTB",
            Self::Whtb => "WHTB",
        }
    }
}

/// The second station's places, from where both channels are good to out of range.
pub const PLACES: [&str; 5] = ["Good", "Medium", "Bad", "Very Bad", "Out of range"];

/// Goodput of the first and the second station, kb/s.
pub type Pair = [f64; 2];

/// One of their two tables: a pair for each place.
#[derive(Debug)]
pub struct Table {
    /// The share of the two stations.
    pub share: &'static str,
    /// The scenario of it.
    pub text: &'static str,
    /// Reservations of the two, kb/s of IP packets, as in the scenario.
    pub kbps: [u64; 2],
    drr: [Pair; 5],
    htb: [Pair; 5],
    whtb: [Pair; 5],
}

pub const TABLES: [Table; 2] = [
    Table {
        share: "4:1",
        text: include_str!("../../../../scenarios/whtb/w01-four-to-one.toml"),
        kbps: [4139, 1035],
        drr: [[4054.0, 1025.0], [3276.0, 828.0], [2161.0, 546.0], [1449.0, 342.0], [680.0, 0.0]],
        htb: [[4061.0, 1011.0], [3966.0, 609.0], [3544.0, 503.0], [2105.0, 255.0], [1205.0, 0.0]],
        whtb: [[3937.0, 991.0], [3344.0, 788.0], [3960.0, 469.0], [3401.0, 160.0], [3226.0, 0.0]],
    },
    Table {
        share: "1:1",
        text: include_str!("../../../../scenarios/whtb/w02-one-to-one.toml"),
        kbps: [2587, 2587],
        drr: [[2546.0, 2543.0], [2038.0, 2037.0], [1471.0, 1469.0], [573.0, 562.0], [201.0, 0.0]],
        htb: [[2534.0, 2512.0], [1925.0, 1855.0], [1492.0, 1153.0], [778.0, 369.0], [199.0, 0.0]],
        whtb: [[2511.0, 2514.0], [2061.0, 2028.0], [2107.0, 956.0], [1825.0, 313.0], [1878.0, 0.0]],
    },
];

impl Table {
    /// The published column of a discipline.
    pub fn column(&self, discipline: Discipline) -> &[Pair; 5] {
        match discipline {
            Discipline::Drr => &self.drr,
            Discipline::Htb => &self.htb,
            Discipline::Whtb => &self.whtb,
        }
    }

    /// What a station gets alone over the best channel: both stations together where both channels are good.
    pub fn saturation(&self) -> f64 {
        self.drr[0].iter().sum()
    }

    /// What the second station gets alone at a place, kb/s, if the published pair of a discipline takes all of the medium's time;
    /// `None` out of range.
    pub fn alone(&self, place: usize, by: Discipline) -> Option<f64> {
        let [one, two] = self.column(by)[place];
        (two > 0.0).then(|| two / (1.0 - one / self.saturation()))
    }

    /// The part of the medium's time that a pair takes at a place that the column of a discipline tells; `None` out of range,
    /// where nothing tells what the second takes.
    pub fn time_taken(&self, place: usize, by: Discipline, [one, two]: Pair) -> Option<f64> {
        Some(one / self.saturation() + two / self.alone(place, by)?)
    }

    /// No scheduler is nearer than this to the published pair of a discipline, at the place that DRR's pair tells: with both
    /// goodputs in the same proportion to the published ones, all of the medium's time is used up.
    pub fn least_error(&self, place: usize, discipline: Discipline) -> Option<f64> {
        let taken = self.time_taken(place, Discipline::Drr, self.column(discipline)[place])?;
        Some((1.0 - 1.0 / taken).max(0.0))
    }

    /// The signal at which the second station gets alone what it got by the column of a discipline.
    pub fn snr_db(&self, place: usize, by: Discipline) -> f64 {
        match (self.alone(place, by), place) {
            (_, 0) => 30.0,
            (None, _) => 0.0,
            (Some(alone), _) => snr_at(alone * CALIBRATION[CALIBRATION.len() - 1].1 / self.saturation()),
        }
    }
}

/// What `evenair calibrate` gave of the link of the scenarios: dB and kb/s, as in their channel tables.
pub const CALIBRATION: [(f64, f64); 14] = [
    (5.695, 408.0),
    (5.8, 632.0),
    (5.915, 901.0),
    (6.0, 1204.0),
    (6.1, 1637.0),
    (6.26, 2328.0),
    (6.5, 3176.0),
    (6.75, 3916.0),
    (7.0, 4460.0),
    (7.5, 4844.0),
    (8.0, 5041.0),
    (9.0, 5100.0),
    (12.0, 5112.0),
    (30.0, 5113.0),
];

/// The signal with this goodput, on the lines between the points of the calibration.
fn snr_at(kbps: f64) -> f64 {
    let pairs = CALIBRATION.windows(2).find(|pair| kbps < pair[1].1);
    let &[(from, low), (to, high)] = pairs.unwrap_or(&CALIBRATION[CALIBRATION.len() - 2..]) else {
        unreachable!("windows of two")
    };
    from + (to - from) * (kbps - low) / (high - low)
}

/// The larger relative error of a pair; a published zero is met by no more than 1 kb/s.
pub fn error(ours: Pair, published: Pair) -> f64 {
    let one = |ours: f64, published: f64| match published {
        0.0 if ours <= 1.0 => 0.0,
        0.0 => f64::INFINITY,
        _ => (ours / published - 1.0).abs(),
    };
    one(ours[0], published[0]).max(one(ours[1], published[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_goodputs_that_need_more_than_the_medium_are_out_of_reach() {
        let [four, one] = &TABLES;
        // 3544 of 5079 and 503 of the 950 kb/s that the second gets alone are 1.23 of the time.
        let taken = four.time_taken(2, Discipline::Drr, [3544.0, 503.0]).unwrap();
        assert!((taken - 1.227).abs() < 0.001, "{taken}");
        assert!((four.least_error(2, Discipline::Htb).unwrap() - 0.185).abs() < 0.001);
        // HTB's at 1:1 and Very Bad leave a quarter of it.
        assert!(one.time_taken(3, Discipline::Drr, [778.0, 369.0]).unwrap() < 0.75);
        assert_eq!(one.least_error(3, Discipline::Htb), Some(0.0));
        assert_eq!(one.least_error(4, Discipline::Htb), None);
    }

    #[test]
    fn signals_are_those_at_which_the_calibration_has_the_goodput() {
        // 2332 of 5079 are 2347.6 of 5113 kb/s: between 2328 at 6.26 dB, where the scenarios have this place, and 3176 at 6.5 dB.
        assert!((TABLES[0].snr_db(1, Discipline::Drr) - 6.2656).abs() < 0.001);
        // Halfway between two points.
        assert!((snr_at(520.0) - 5.7475).abs() < 1e-9);
        assert_eq!([0, 4].map(|place| TABLES[1].snr_db(place, Discipline::Whtb)), [30.0, 0.0]);
    }

    #[test]
    fn an_error_is_that_of_the_station_that_is_further_off() {
        assert!((error([110.0, 80.0], [100.0, 100.0]) - 0.2).abs() < 1e-9);
        assert_eq!(error([100.0, 0.0], [100.0, 0.0]), 0.0);
        assert_eq!(error([100.0, 5.0], [100.0, 0.0]), f64::INFINITY);
    }
}
