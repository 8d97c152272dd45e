//! Random populations: PHY, kind of access point, number, modes and directions of stations, a lag, pages and calls.

use anyhow::Result;

use super::options::Options;
use super::report::{
    Column, EQUAL, EXPLANATION, JAIN, JAIN_WITHOUT, P95, P95_WITHOUT, WITH, WITHOUT, column, ratio, table,
};
use super::runs::{Row, Window, rows};
use super::site::{HE_20, HT_40, KINDS, Site, Station, Traffic, VHT_80};

/// Number of populations; they are numbered from 1.
const POPULATIONS: u64 = 40;

/// Maximum number of stations of a population.
const STATIONS_MAX: u32 = 40;

/// Minimum of Jain's index of measured airtime at which a population counts as fair without a box.
const FAIR: f64 = 0.9;

/// SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below `n`.
    fn below(&mut self, n: u32) -> u32 {
        (self.next() % u64::from(n)) as u32
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}

/// The population of this number.
fn population(number: u64) -> Site {
    let mut random = SplitMix64(number);
    let phy = random.pick(&[&HE_20, &VHT_80, &HT_40]);
    let kind = random.pick(&KINDS);
    let [one, other] = [(); 2].map(|()| random.below(phy.top_mcs + 1));
    let (low, high) = (one.min(other), one.max(other));
    let ways = random.pick(&[&Traffic::BULK[..1], &Traffic::BULK[1..2], &Traffic::BULK[..2], &Traffic::BULK]);
    let (bulk, others) = (1 + random.below(STATIONS_MAX - 4), random.pick(&[0, 0, 2, 4]));
    let mut station =
        |ways: &[Traffic]| Station { mcs: low + random.below(high - low + 1), traffic: random.pick(ways) };
    let mut stations: Vec<Station> = (0..bulk).map(|_| station(ways)).collect();
    stations.extend((0..others).map(|_| station(&[Traffic::Pages, Traffic::Call])));
    // One-way lag, in tenths of a millisecond.
    let lag = random.pick(&[0, 0, 1]) * random.below(16);
    let ways: Vec<String> = ways.iter().map(|way| format!("{way:?}")).collect();
    let insert_s = random.pick(&[0, 2]);
    let name = format!(
        "{number}: {}, {}, {bulk} {} at MCS {low} to {high}, {others} with pages or calls, lag {} ms, box from {insert_s} s",
        kind.name,
        phy,
        ways.join("/"),
        f64::from(2 * lag) / 10.0,
    );
    let delay = format!("delay = \"{} us\"", 100 * lag);
    let more = format!("[ap_path.down]\n{delay}\n[ap_path.up]\n{delay}\n");
    Site { more, insert_s, ..Site::new(name, kind, phy, stations) }
}

/// Throughput with the box relative to that without, or to that at equal airtime if airtime is unfair without it.
fn part(row: &Row) -> f64 {
    if row.without.mean(Window::jain) >= FAIR { ratio(row) } else { row.of_equal() }
}

/// Results of the controller in random populations, the lowest throughput first.
pub fn populations(options: &Options) -> Result<String> {
    const COLUMNS: [Column; 8] = [
        WITHOUT,
        EQUAL,
        WITH,
        column("of reference", 3, part)
            .bars(&[(">= 0.85", |_, part| part >= 0.85), (">= 0.95", |_, part| part >= 0.95)]),
        JAIN_WITHOUT,
        JAIN,
        P95_WITHOUT,
        P95.bars(&[("<= 15 ms", |_, ms| ms <= 15.0), ("<= 30 ms", |_, ms| ms <= 30.0)]),
    ];
    let mut rows = rows((1..=POPULATIONS).map(population).collect(), options)?;
    rows.sort_by(|a, b| part(a).total_cmp(&part(b)));
    let mut p95s: Vec<f64> = rows.iter().map(|row| row.with.mean(|at| at.p95_ms)).collect();
    p95s.sort_by(|a, b| b.total_cmp(a));
    let median = rows.get(rows.len() / 2).map_or(f64::NAN, part);
    Ok(format!(
        "{EXPLANATION}The reference is the throughput without the box where Jain's index is {FAIR} at least, else \"equal\".\n\n\
         {}of reference: median {median:.3}; longest AP p95, ms: {:.0?}\n",
        table(&rows, &COLUMNS),
        &p95s[..p95s.len().min(10)]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = SplitMix64(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn each_population_is_a_scenario() {
        for site in (1..=POPULATIONS).map(population) {
            let scenario = site.scenario(true, 1, &Options::default());
            assert!(scenario.is_ok(), "{:?}", scenario.err());
        }
    }
}
