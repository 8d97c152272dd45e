//! What the source leaves open of its Linux, and the runs with it.

use std::fmt;

use evenair_scenario::Scenario;

use crate::Failure;
use crate::published::{Discipline, Pair, Table};

/// A packet of these experiments at IP level.
const PACKET_BYTES: u64 = 1052;

/// What a bucket holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burst {
    /// What `tc` gives: the rate for a tick, and 1600 bytes.
    Tc,
    Packets(u64),
}

/// How the source's queue may have been set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Packets in the card.
    pub driver: u32,
    /// Of the clock that fills the buckets, in microseconds.
    pub tick_us: u64,
    pub burst: Burst,
    /// A quantum is the bytes of a second at the rate, over this.
    pub r2q: u64,
    pub hysteresis: bool,
}

/// What the scenarios have.
pub const TODAY: Setting = Setting { driver: 8, tick_us: 10_000, burst: Burst::Tc, r2q: 10, hysteresis: true };

pub const DRIVERS: [u32; 7] = [1, 2, 3, 5, 8, 10, 20];
pub const TICKS_US: [u64; 4] = [100, 1000, 4000, 10_000];
pub const BURSTS: [Burst; 6] =
    [Burst::Packets(1), Burst::Packets(2), Burst::Packets(5), Burst::Packets(10), Burst::Packets(50), Burst::Tc];
pub const R2QS: [u64; 2] = [10, 100];

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let burst = match self.burst {
            Burst::Tc => "tc".to_owned(),
            Burst::Packets(packets) => packets.to_string(),
        };
        let hysteresis = if self.hysteresis { "on" } else { "off" };
        let tick = self.tick_us as f64 / 1e3;
        write!(f, "{} | {tick} | {burst} | 1/{} | {hysteresis}", self.driver, self.r2q)
    }
}

/// Names of the columns of [`Setting`].
pub const HEADS: &str = "driver, packets | tick, ms | burst, packets | quantum, s | hysteresis";

/// All of them together.
pub fn all() -> Vec<Setting> {
    let mut all = Vec::new();
    for (driver, tick_us) in DRIVERS.into_iter().flat_map(|driver| TICKS_US.map(|tick| (driver, tick))) {
        for (burst, r2q) in BURSTS.into_iter().flat_map(|burst| R2QS.map(|r2q| (burst, r2q))) {
            all.extend([false, true].map(|hysteresis| Setting { driver, tick_us, burst, r2q, hysteresis }));
        }
    }
    all
}

/// Those that differ from today's in one thing, and that thing; today's is among them under each.
pub fn one_by_one() -> Vec<(&'static str, Setting)> {
    let mut all: Vec<_> = DRIVERS.map(|driver| ("driver", Setting { driver, ..TODAY })).into();
    all.extend(TICKS_US.map(|tick_us| ("tick", Setting { tick_us, ..TODAY })));
    all.extend(BURSTS.map(|burst| ("burst", Setting { burst, ..TODAY })));
    all.extend(R2QS.map(|r2q| ("quantum", Setting { r2q, ..TODAY })));
    all.extend([false, true].map(|hysteresis| ("hysteresis", Setting { hysteresis, ..TODAY })));
    all
}

/// One simulation.
#[derive(Clone, Debug)]
pub struct Job {
    /// Which of the tables.
    pub table: &'static Table,
    pub place: usize,
    pub discipline: Discipline,
    pub setting: Setting,
    pub seconds: f64,
    pub seed: u64,
    /// In place of the estimate by signal, kb/s for the second station; of the first it is the best of the table.
    pub estimate_kbps: Option<u64>,
    /// By whose column the place is known.
    pub by: Discipline,
}

/// The best goodput of the scenarios' calibration, kb/s.
pub const BEST_KBPS: u64 = 5113;

impl Job {
    /// The values that it sets in its scenario.
    fn sets(&self) -> Vec<(String, String)> {
        let Setting { driver, tick_us, burst, r2q, hysteresis } = self.setting;
        let mut sets = vec![
            ("duration".to_owned(), format!("{} s", self.seconds)),
            ("station.moved.snr".to_owned(), format!("{:.3} dB", self.table.snr_db(self.place, self.by))),
            ("radio.ap_queue.driver".to_owned(), driver.to_string()),
            ("radio.ap_queue.tick".to_owned(), format!("{tick_us} us")),
            ("radio.ap_queue.hysteresis".to_owned(), hysteresis.to_string()),
        ];
        for (name, kbps) in ["first", "second"].into_iter().zip(self.table.kbps) {
            let bytes = match (self.discipline, burst) {
                // With bursts that no run uses up a tree is DRR by quanta.
                (Discipline::Drr, _) => 10_000_000,
                (_, Burst::Tc) => kbps * tick_us / 8000 + 1600,
                (_, Burst::Packets(packets)) => packets * PACKET_BYTES,
            };
            let key = |key| format!("radio.ap_queue.class.{name}.{key}");
            sets.push((key("burst"), format!("{bytes} bytes")));
            sets.push((key("cburst"), format!("{bytes} bytes")));
            sets.push((key("quantum"), format!("{} bytes", kbps * 125 / r2q)));
        }
        let point = |snr: &str, kbps: u64| format!("{{ snr = \"{snr}\", goodput = \"{kbps} kb/s\" }}");
        let table = match (self.discipline, self.estimate_kbps) {
            (Discipline::Whtb, None) => return sets,
            (Discipline::Whtb, Some(kbps)) => format!("[{}, {}]", point("10 dB", kbps), point("29 dB", BEST_KBPS)),
            // All channels are the same: nothing is stretched.
            _ => format!("[{}]", point("0 dB", BEST_KBPS)),
        };
        sets.push(("radio.ap_queue.channel".to_owned(), table));
        sets
    }

    /// The goodput of both stations.
    pub fn run(&self) -> Result<Pair, Failure> {
        let sets = self.sets();
        let sets: Vec<_> = sets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let mut scenario =
            Scenario::parse_with(self.table.text, "whtb.toml", &sets).map_err(|error| format!("{error:?}"))?;
        scenario.seed = self.seed;
        let result = evenair_sim::run(&scenario, |_| ()).map_err(|error| error.to_string())?;
        let phase = result.phases.first().ok_or("no phase")?;
        let goodput = |app: &str| phase.flows.iter().filter(|flow| flow.app == app).map(|flow| flow.goodput_mbps).sum();
        let [one, two]: Pair = ["one", "two"].map(goodput);
        Ok([one * 1e3, two * 1e3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_sched::{Config, Estimator, WhtbConfig};
    use evenair_units::{BitRate, Db};

    use crate::published::{CALIBRATION, TABLES};

    #[test]
    fn todays_setting_is_that_of_the_scenarios() {
        for table in &TABLES {
            let job = Job {
                table,
                place: 0,
                discipline: Discipline::Whtb,
                setting: TODAY,
                seconds: 81.92,
                seed: 1,
                estimate_kbps: None,
                by: Discipline::Drr,
            };
            let sets = job.sets();
            let sets: Vec<_> = sets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let queue = |sets: &[(&str, &str)]| {
                let queue = Scenario::parse_with(table.text, "whtb.toml", sets).unwrap().radio.ap_queue.unwrap();
                let Config::Whtb(WhtbConfig { tree, estimator: Estimator::Signal(channel) }) = queue.config else {
                    panic!("it is WHTB by signal")
                };
                (queue.driver, tree, channel)
            };
            let ((driver, tree, channel), theirs) = (queue(&sets), queue(&[]));
            assert_eq!((driver, tree.tick, tree.hysteresis), (theirs.0, theirs.1.tick, theirs.1.hysteresis));
            assert_eq!(channel, theirs.2);
            // The scenarios count the 1600 bytes of tc and the rates with the Ethernet header, and so differ by some bytes.
            for (ours, theirs) in tree.classes.iter().zip(&theirs.1.classes) {
                assert_eq!((ours.rate, ours.ceil), (theirs.rate, theirs.ceil));
                for [ours, theirs] in
                    [[ours.burst, theirs.burst], [ours.cburst, theirs.cburst], [ours.quantum, theirs.quantum]]
                {
                    assert!(ours.0.abs_diff(theirs.0) <= 21, "{ours:?} and {theirs:?}");
                }
            }
            let point =
                |&(snr, goodput): &(Db, BitRate)| (f64::from(snr.as_milli()) / 1e3, goodput.as_bps() as f64 / 1e3);
            assert_eq!(channel.points().iter().map(point).collect::<Vec<_>>(), CALIBRATION);
        }
        assert!(all().contains(&TODAY) && all().len() == 672);
    }
}
