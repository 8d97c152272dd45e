//! Positions of stations around their access point.
//!
//! The layouts are those of S. Choi, K. Park, C. Kim, "Performance impact of interlayer dependence in infrastructure
//! WLANs", IEEE Trans. Mobile Computing 5(7), 2006. Random positions come from a separate stream for each station, so that
//! an additional station does not move the others.

use evenair_units::Rng;
use evenair_wifi::Position;

/// A rule for the positions of all stations without their own position, relative to the access point. Lengths are in
/// millimetres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// On a circle around the access point, evenly spaced.
    Circle {
        /// Radius of the circle.
        radius_mm: i64,
    },
    /// On a line that begins at the access point.
    Line {
        /// Distance from the access point to the first station, and between neighbours.
        spacing_mm: i64,
    },
    /// Random in a disk with the access point at its centre.
    NearRandom {
        /// Radius of the disk.
        radius_mm: i64,
    },
    /// Random in a disk away from the access point.
    FarRandom {
        /// Radius of the disk.
        radius_mm: i64,
        /// Distance from the access point to the centre of the disk.
        distance_mm: i64,
    },
    /// All at one point.
    Point {
        /// Distance of the point from the access point.
        distance_mm: i64,
    },
}

impl Layout {
    /// Position of station `index` of `stations`, counted from zero. `rng` is that station's own.
    pub fn place(&self, index: usize, stations: usize, rng: &mut Rng) -> Position {
        let on_axis = |x_mm| Position { x_mm, y_mm: 0 };
        match *self {
            Self::Circle { radius_mm } => Position::polar(radius_mm as f64, index as f64 / stations as f64),
            Self::Line { spacing_mm } => on_axis(spacing_mm * (index as i64 + 1)),
            Self::NearRandom { radius_mm } => in_disk(radius_mm, rng),
            Self::FarRandom { radius_mm, distance_mm } => in_disk(radius_mm, rng).moved_by(on_axis(distance_mm)),
            Self::Point { distance_mm } => on_axis(distance_mm),
        }
    }
}

/// A random position, uniform over the disk's area.
fn in_disk(radius_mm: i64, rng: &mut Rng) -> Position {
    let radius = radius_mm as f64 * rng.unit().sqrt();
    Position::polar(radius, rng.unit())
}

#[cfg(test)]
mod tests {
    use evenair_units::Streams;

    use super::*;

    fn places(layout: Layout, stations: usize) -> Vec<Position> {
        let streams = Streams::new(1);
        (0..stations).map(|i| layout.place(i, stations, &mut streams.numbered("place", i as u64))).collect()
    }

    fn distances(layout: Layout, stations: usize) -> Vec<f64> {
        places(layout, stations).into_iter().map(|place| place.metres_to(Position::default())).collect()
    }

    #[test]
    fn distances_are_equal_on_a_circle_and_at_a_point_but_not_on_a_line() {
        let near = |metres: f64| (metres - 10.0).abs() < 0.002;
        assert!(distances(Layout::Circle { radius_mm: 10_000 }, 7).into_iter().all(near));
        assert!(distances(Layout::Point { distance_mm: 10_000 }, 7).into_iter().all(near));
        let circle = places(Layout::Circle { radius_mm: 10_000 }, 4);
        assert!((circle[0].metres_to(circle[2]) - 20.0).abs() < 0.002);
        assert_eq!(distances(Layout::Line { spacing_mm: 1_500 }, 3), [1.5, 3.0, 4.5]);
    }

    #[test]
    fn random_places_fill_their_disk_evenly() {
        let near = distances(Layout::NearRandom { radius_mm: 10_000 }, 4_000);
        assert!(near.iter().all(|&metres| metres <= 10.001));
        // Half of the area is within 7.07 m.
        let inner = near.iter().filter(|&&metres| metres < 10.0 / 2f64.sqrt()).count();
        assert!((1_900..2_100).contains(&inner), "{inner}");
        let far = distances(Layout::FarRandom { radius_mm: 10_000, distance_mm: 20_000 }, 1_000);
        assert!(far.iter().all(|metres| (9.999..30.001).contains(metres)));
        let beyond = far.iter().filter(|&&metres| metres > 20.0).count();
        assert!((450..600).contains(&beyond), "{beyond}");
    }

    #[test]
    fn an_additional_station_does_not_move_the_others() {
        let layout = Layout::FarRandom { radius_mm: 10_000, distance_mm: 20_000 };
        assert_eq!(places(layout, 5), places(layout, 6)[..5]);
    }
}
