//! The testbed in real time: kernel TCP over the simulated radio, and the daemon as the box.

use anyhow::{Result, bail};
use evenair_testbed::TestbedOptions;

use super::super::kinds::Kind;
use super::options::Options;
use super::report::{Column, P95, P95_WITHOUT, RATIO, WITH, WITHOUT, column, table};
use super::runs::{Row, Series, Window};
use super::site::{HE_20, HT_40, Mode, NEIGHBOURS, STATIONS, Site, Station, Traffic};
use crate::commands::testbed;

/// Begin and end of the measured time, s.
const MEASURED: (u32, u32) = (5, 25);
/// Modes of about 100 and 300 Mb/s.
const MODES: [Mode; 2] = [Mode { phy: &HE_20, mcs: 8 }, Mode { phy: &HT_40, mcs: 7 }];
/// Numbers of downloading and of uploading stations.
const LOADS: [(usize, usize); 3] = [(4, 0), (10, 0), (4, 4)];
/// Runs for each one that is to be valid, at most.
const ATTEMPTS: u32 = 2;

/// Columns of the table: before neighbours "without" is the access point with queues by station, too.
const COLUMNS: [Column; 6] = [
    WITHOUT,
    WITH,
    RATIO.bars(&[("queues by station >= 0.90, neighbours >= 0.85", |site, ratio| {
        ratio >= if site.kind.name == STATIONS.name { 0.90 } else { 0.85 }
    })]),
    P95_WITHOUT,
    P95.bars(&[("<= 10 ms", |_, ms| ms <= 10.0)]),
    column("valid runs with the box", 0, |row| row.with.0.len() as f64),
];

/// All cells, one run after the other.
pub fn live(options: &Options) -> Result<String> {
    let testbed = testbed::options()?;
    let mut rows = Vec::new();
    for mode in MODES {
        for (down, up) in LOADS {
            let site = |kind: &'static Kind| {
                let stations = [vec![Traffic::Down; down], vec![Traffic::Up; up]].concat();
                let stations = stations.into_iter().map(|traffic| Station { mcs: mode.mcs, traffic }).collect();
                let name = format!("{}, {} MCS {}, {down} down, {up} up", kind.name, mode.phy, mode.mcs);
                Site { insert_s: 0, windows: vec![MEASURED], ..Site::new(name, kind, mode.phy, stations) }
            };
            let sites = [&STATIONS, &NEIGHBOURS].map(site);
            if !sites.iter().any(|site| site.name.contains(&options.only)) {
                continue;
            }
            let without = valid_runs(&sites[0], false, options, &testbed)?;
            for site in sites {
                let with = valid_runs(&site, true, options, &testbed)?;
                rows.push(Row { site, without: without.clone(), with, equal: f64::NAN });
            }
        }
    }
    Ok(format!(
        "Downloads and uploads of kernel TCP in real time, from {} s to {} s; runs in which the testbed was late are made \
         again with another seed, {ATTEMPTS} runs for each valid one at most.\n\n{}",
        MEASURED.0,
        MEASURED.1,
        table(&rows, &COLUMNS)
    ))
}

/// A site's runs in which the testbed was not late.
fn valid_runs(site: &Site, has_box: bool, options: &Options, testbed: &TestbedOptions) -> Result<Series> {
    let mut runs = Vec::new();
    for seed in 1..=options.seeds() * ATTEMPTS {
        if runs.len() == options.seeds() as usize {
            break;
        }
        let run = testbed::run_scenario(&site.scenario(has_box, seed, options)?, testbed, true)?;
        if !run.valid && !run.was_only_late() {
            bail!("{}: the run is not valid: {}", site.name, run.invalid_because.join("; "));
        }
        if run.valid {
            runs.push(run.phases.iter().map(|phase| Window::of(phase, &run)).collect());
        }
        let outcome = if run.valid { "valid" } else { "late" };
        eprintln!("{}, {}, seed {seed}: {outcome}", site.name, if has_box { "box" } else { "no box" });
    }
    Ok(Series(runs))
}
