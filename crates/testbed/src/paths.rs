//! The wired paths between the box and the access points, in event time: Ethernet frames in, Ethernet frames out.
//!
//! An access point directly at the box has no path: its frames are delivered at once. The switch that joins access points
//! is on their side of the paths, so that frames between stations do not cross them. The simulator's paths work in the same
//! way.

use evenair_link::{DelayConfig, DelayLine};
use evenair_scenario::{DelaySpec, Scenario};
use evenair_units::{Instant, Streams};
use evenair_workload::Direction;

/// All delaying paths of a scenario.
#[derive(Debug)]
pub struct Paths {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    access_point: usize,
    way: Direction,
    frames: DelayLine<Vec<u8>>,
}

/// A frame that has reached the end of a path.
#[derive(Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time of arrival.
    pub at: Instant,
    /// Index of the access point of the path.
    pub access_point: usize,
    /// "Down" ends at the access point, "up" at the box.
    pub way: Direction,
    /// Ethernet frame.
    pub frame: Vec<u8>,
}

impl Paths {
    /// The paths of a scenario, without frames.
    pub fn new(scenario: &Scenario, streams: &Streams) -> Self {
        let mut lines = Vec::new();
        for (access_point, point) in scenario.access_points.iter().enumerate() {
            let ways = [(Direction::Down, point.path.down, "down"), (Direction::Up, point.path.up, "up")];
            for (way, spec, word) in ways.into_iter().filter(|(_, spec, _)| *spec != DelaySpec::default()) {
                let rng = streams.stream(&format!("path {word} of {}", point.name));
                let config = DelayConfig { delay: spec.delay, jitter: spec.jitter, batch: spec.batch };
                lines.push(Line { access_point, way, frames: DelayLine::new(config, rng) });
            }
        }
        Self { lines }
    }

    /// Sends a frame into one direction of an access point's path. Gives it back if there is no path.
    pub fn handle_frame(
        &mut self,
        now: Instant,
        access_point: usize,
        way: Direction,
        frame: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let is = |line: &&mut Line| line.access_point == access_point && line.way == way;
        let Some(line) = self.lines.iter_mut().find(is) else { return Some(frame) };
        line.frames.handle_frame(now, frame);
        None
    }

    /// The next frame that has reached the end of its path by `now`.
    pub fn poll_frame(&mut self, now: Instant) -> Option<Arrival> {
        let due = |line: &&mut Line| line.frames.poll_deadline().unwrap_or(Instant::MAX);
        let line = self.lines.iter_mut().min_by_key(due)?;
        let (at, frame) = line.frames.poll_frame(now)?;
        Some(Arrival { at, access_point: line.access_point, way: line.way, frame })
    }

    /// When the next frame reaches the end of its path.
    pub fn poll_deadline(&self) -> Option<Instant> {
        self.lines.iter().filter_map(|line| line.frames.poll_deadline()).min()
    }
}

#[cfg(test)]
mod tests {
    use evenair_units::Span;

    use super::*;

    const NEAR: usize = 0;
    const FAR: usize = 1;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// Access point `near` without, and `far` with a path: 30 ms downlink and 5 ms uplink, in batches of 4 ms.
    fn paths() -> Paths {
        let text = r#"
            version = 1
            name = "paths"
            duration = "5 s"
            [radio]
            standard = "802.11g"
            [[access_point]]
            name = "near"
            channel = 1
            [[access_point]]
            name = "far"
            channel = 6
            path = { down = { delay = "30 ms" }, up = { delay = "5 ms", batch = "4 ms" } }
            [[station]]
            name = "sta"
            rate = "54 Mb/s"
            access_point = "far"
            [[server]]
            name = "server"
            [[ping]]
            name = "ping"
            stations = ["sta"]
            server = "server"
        "#;
        let scenario = Scenario::parse(text, "paths.toml").unwrap_or_else(|error| panic!("{error}"));
        Paths::new(&scenario, &Streams::new(1))
    }

    #[test]
    fn each_direction_of_each_access_point_has_its_own_delay_and_keeps_its_order() {
        let mut paths = paths();
        assert_eq!(paths.handle_frame(at(0), NEAR, Direction::Down, vec![1]), Some(vec![1]), "there is no path");
        for n in 0..3 {
            assert_eq!(paths.handle_frame(at(0), FAR, Direction::Down, vec![n]), None);
        }
        for (ms, n) in [(2, 10), (4, 11)] {
            assert_eq!(paths.handle_frame(at(ms), FAR, Direction::Up, vec![n]), None);
        }
        let mut came = Vec::new();
        while let Some(due) = paths.poll_deadline() {
            assert_eq!(paths.poll_frame(due - Span::from_nanos(1)), None);
            let Arrival { at, access_point, way, frame } = paths.poll_frame(due).expect("it is due");
            assert_eq!((at, access_point), (due, FAR));
            came.push((at, way, frame[0]));
        }
        let (up, down) = (Direction::Up, Direction::Down);
        let expected = [(at(8), up, 10), (at(12), up, 11), (at(30), down, 0), (at(30), down, 1), (at(30), down, 2)];
        assert_eq!(came, expected);
    }
}
