//! A soak: hours of field days, in which the box's memory and open descriptors stay as they were after the first hour. `scripts/soak` runs
//! it, and continues an interrupted soak.
//!
//! A sample after each event goes to the file `EVENAIR_SOAK_CSV`, so that it is there however the soak ends. `EVENAIR_SOAK` is the
//! length and `EVENAIR_SOAK_WARM_UP` the time after which the bounds hold, in seconds; `EVENAIR_SOAK_RUN` the number of the run, which
//! is its seed.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::field_day::{live_through, number};

const HOUR_S: u64 = 3600;
/// Largest growth of memory after the first hour: a twentieth, and this many kB.
const SLACK_KB: u64 = 4 * 1024;
/// Readings of the descriptors: a control client that has hung up keeps its descriptor until its thread has ended.
const READINGS: usize = 20;
const BETWEEN_READINGS: Duration = Duration::from_millis(20);

/// Resources of the box at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    rss_kb: u64,
    descriptors: usize,
}

impl Sample {
    /// The growth beyond the bounds since the sample at the end of the first hour.
    fn growth(self, first: Self) -> Option<String> {
        let most_kb = first.rss_kb + first.rss_kb / 20 + SLACK_KB;
        if self.rss_kb > most_kb {
            return Some(format!("{} kB of memory, and at most {most_kb} kB would be right", self.rss_kb));
        }
        (self.descriptors != first.descriptors)
            .then(|| format!("{} open descriptors, and {} would be right", self.descriptors, first.descriptors))
    }
}

/// The least number of open descriptors in several readings.
fn descriptors(pid: u32) -> usize {
    let folder = format!("/proc/{pid}/fd");
    let reading = |_| {
        sleep(BETWEEN_READINGS);
        fs::read_dir(&folder).expect("it lives").count()
    };
    (0..READINGS).map(reading).min().expect("there are readings")
}

/// The table of the samples, with its heading if it is new.
fn table(path: &Path) -> File {
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("writable");
    if file.metadata().expect("open").len() == 0 {
        writeln!(file, "run,at_s,rss_kb,descriptors,stations,cpu_s").expect("writable");
    }
    file
}

#[test]
#[ignore = "takes hours: scripts/soak"]
fn a_soak() {
    let length = Duration::from_secs(number("EVENAIR_SOAK").unwrap_or(HOUR_S));
    let warm_up = Duration::from_secs(number("EVENAIR_SOAK_WARM_UP").unwrap_or(HOUR_S));
    let run = number("EVENAIR_SOAK_RUN").unwrap_or(1);
    let path = std::env::var_os("EVENAIR_SOAK_CSV").expect("scripts/soak sets EVENAIR_SOAK_CSV");
    let (mut table, mut first) = (table(Path::new(&path)), None);
    live_through(length, run, &mut |site, at, status| {
        let sample = Sample { rss_kb: site.resident_kb(), descriptors: descriptors(site.running.child.id()) };
        let (cpu_s, at_s) = (site.running.cpu_time().as_secs_f64(), at.as_secs());
        let Sample { rss_kb, descriptors } = sample;
        writeln!(table, "{run},{at_s},{rss_kb},{descriptors},{},{cpu_s:.2}", status.stations_known).expect("writable");
        if at >= warm_up {
            let growth = sample.growth(*first.get_or_insert(sample));
            assert!(growth.is_none(), "after {at_s} s: {}", growth.unwrap_or_default());
        }
    });
}

#[test]
fn growth_after_the_first_hour_is_found() {
    let first = Sample { rss_kb: 100_000, descriptors: 40 };
    assert_eq!(first.growth(first), None);
    assert_eq!(Sample { rss_kb: 109_096, ..first }.growth(first), None);
    let grown = Sample { rss_kb: 109_097, ..first }.growth(first).expect("one too many");
    assert_eq!(grown, "109097 kB of memory, and at most 109096 kB would be right");
    for descriptors in [39, 41] {
        assert!(Sample { descriptors, ..first }.growth(first).is_some());
    }
}
