//! The last line of the feed, and the losses in recent lines.

use std::collections::{BTreeMap, VecDeque};

use evenair_api::watch::{Line, LossCounts, Losses};

/// Interval over which losses are summed, in seconds.
pub const LOSS_SECONDS: f64 = 10.0;

/// The last line, and the losses of the last [`LOSS_SECONDS`].
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The last line.
    pub line: Line,
    /// For each line its time, and the losses by the key of the row.
    losses: VecDeque<(f64, BTreeMap<String, Losses>)>,
}

impl Samples {
    /// Handles the next line.
    pub fn take(&mut self, line: Line) {
        let stations = line.stations.iter().flatten().map(|station| (station.mac.clone(), station.losses));
        let domains = line.domains.iter().flatten().map(|domain| (domain_key(&domain.name), domain.losses));
        let classes = line.classes.iter().flatten().map(|class| (class_key(&class.name), class.losses));
        let all = stations.chain(domains).chain(classes);
        let losses = all.filter_map(|(key, losses)| Some((key, losses?))).collect();
        self.losses.push_back((line.at, losses));
        self.losses.retain(|(at, _)| (0.0..LOSS_SECONDS - 0.5).contains(&(line.at - at)));
        self.line = line;
    }

    /// Recent losses of a row, by its key (the MAC address of a station); `None`: the box did not see its packets.
    pub fn losses_of(&self, key: &str) -> Option<Losses> {
        let all = self.losses.iter().filter_map(|(_, losses)| losses.get(key).copied());
        all.reduce(|sum, losses| Losses { down: sum_of(sum.down, losses.down), up: sum_of(sum.up, losses.up) })
    }
}

/// The key of a contention domain.
pub fn domain_key(name: &str) -> String {
    format!("domain {name}")
}

/// The key of a class.
pub fn class_key(name: &str) -> String {
    format!("class {name}")
}

fn sum_of(a: LossCounts, b: LossCounts) -> LossCounts {
    LossCounts { data: a.data + b.data, here: a.here + b.here, wlan: a.wlan + b.wlan, wire: a.wire + b.wire }
}

/// Packets lost on all legs, in percent; `None` without TCP data.
pub fn percent(Losses { down, up }: Losses) -> Option<f64> {
    if down.data + up.data == 0 {
        return None;
    }
    let of = |counts: LossCounts| counts.data + counts.here + counts.wire;
    let lost = |counts: LossCounts| counts.here + counts.wlan + counts.wire;
    Some(100.0 * (lost(down) + lost(up)) as f64 / (of(down) + of(up)) as f64)
}

#[cfg(test)]
mod tests {
    use evenair_api::watch::Station;

    use super::*;

    fn line(at: f64, data: u64, wlan: u64) -> Line {
        let down = LossCounts { data, wlan, ..LossCounts::default() };
        let losses = Some(Losses { down, ..Losses::default() });
        let station = Station { mac: "a".into(), losses, ..Station::default() };
        Line { at, stations: Some(vec![station]), ..Line::default() }
    }

    #[test]
    fn losses_are_those_of_ten_seconds() {
        let mut samples = Samples::default();
        assert_eq!(samples.losses_of("a"), None);
        // Lines are not exactly one second apart.
        (0..30).for_each(|number| samples.take(line(f64::from(number) + 0.01 * f64::from(number % 3), 100, 2)));
        let losses = samples.losses_of("a").expect("ten lines");
        assert_eq!((losses.down.data, losses.down.wlan), (1000, 20));
        assert_eq!(percent(losses), Some(2.0));
        // The clock was set back.
        samples.take(line(5.0, 0, 0));
        assert_eq!(samples.losses_of("a").and_then(percent), None);
    }

    #[test]
    fn losses_of_every_leg_count() {
        let down = LossCounts { data: 96, here: 4, wlan: 1, wire: 0 };
        assert_eq!(percent(Losses { down, ..Losses::default() }), Some(5.0));
    }
}
