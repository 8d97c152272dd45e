//! The experiments without a file of their own: their cells, figures and bars.

use anyhow::Result;

use super::options::Options;
use super::report::{
    COMPARISON, Column, EQUAL, EXPLANATION, JAIN, JAIN_WITHOUT, P95, P95_WITHOUT, RATIO, column, ratio, table,
};
use super::runs::{Row, Series, Window, mean, rows};
use super::site::{DEEP, HE_20, HT_20, KINDS, MODES, PATH_MS, Site, Station, Traffic};

/// All stations at one mode.
pub fn sites(options: &Options, counts: &[usize], ways: &[Traffic]) -> Vec<Site> {
    let mut sites = Vec::new();
    for kind in KINDS {
        for mode in options.pick(&MODES, &[MODES[0], MODES[2]]) {
            for count in counts {
                sites.extend(ways.iter().map(|traffic| Site::uniform(kind, mode, *count, *traffic)));
            }
        }
    }
    sites
}

fn uniform_sites(options: &Options) -> Vec<Site> {
    let counts = options.pick(&[1, 2, 5, 10, 30], &[1, 10, 30]);
    sites(options, &counts, &options.pick(&Traffic::BULK, &[Traffic::Down, Traffic::Up]))
}

pub fn uniform(options: &Options) -> Result<String> {
    let rows = rows(uniform_sites(options), options)?;
    let all = mean(rows.iter().map(ratio));
    let missed = u32::from(all < 0.98);
    let text = table(&rows, &COMPARISON);
    Ok(format!("{text}missed {missed} of 1: mean of with / without over the cells: {all:.3} >= 0.98\n"))
}

/// Stations from which on the bars of `mixed` are lower.
const MANY: usize = 30;

/// Half of the stations at MCS 11 of HE, half at MCS 0: first with unreported, then with reported rates.
pub fn mixed(options: &Options) -> Result<String> {
    let mut sites = Vec::new();
    for kind in KINDS {
        for count in options.pick(&[2, 5, 10, 30], &[2, 10, 30]) {
            for traffic in Traffic::BULK {
                let stations = (0..count).map(|at| Station { mcs: if at % 2 == 0 { 11 } else { 0 }, traffic });
                let name = format!("{}, {count} {traffic:?}", kind.name);
                sites.push(Site::new(name, kind, &HE_20, stations.collect()));
            }
        }
    }
    let columns = [
        EQUAL,
        column("without / equal", 3, |row| row.without.mean(|at| at.mbps) / row.equal),
        column("with / equal", 3, Row::of_equal).bars(&[(">= 0.92 (30 stations: 0.80)", |site, part| {
            part >= if site.stations.len() < MANY { 0.92 } else { 0.80 }
        })]),
        JAIN_WITHOUT,
        JAIN.bars(&[(">= 0.97 (30 stations: 0.93)", |site, jain| {
            jain >= if site.stations.len() < MANY { 0.97 } else { 0.93 }
        })]),
        P95_WITHOUT,
        P95,
    ];
    let mut text = format!("{EXPLANATION}\n");
    for reported in [false, true] {
        let rows = rows(sites.clone(), &Options { reported, ..options.clone() })?;
        let un = if reported { "" } else { "un" };
        text += &format!("11ax 20 MHz, MCS 11 beside MCS 0, rates {un}reported\n\n{}", table(&rows, &columns));
    }
    Ok(text)
}

/// Pings of one station beside ten downloads.
pub fn quiet(options: &Options) -> Result<String> {
    let mut sites = sites(options, &[10], &[Traffic::Down]);
    sites.iter_mut().for_each(|site| site.stations.push(Station { traffic: Traffic::Ping, ..site.stations[0] }));
    let columns = [
        column("p50 without, ms", 1, |row| row.without.mean(|at| at.ping_p50_ms) - PATH_MS),
        column("p95 without, ms", 1, |row| row.without.mean(|at| at.ping_p95_ms) - PATH_MS),
        column("p50 with, ms", 1, |row| row.with.mean(|at| at.ping_p50_ms) - PATH_MS)
            .bars(&[("<= 8 ms at 20 MHz, 6 ms at 40 and 80 MHz", |at, ms| ms <= if at.is_wide() { 6.0 } else { 8.0 })]),
        column("p95 with, ms", 1, |row| row.with.mean(|at| at.ping_p95_ms) - PATH_MS)
            .bars(&[("<= 16 ms at 20 MHz, 12 ms at 40 and 80 MHz", |at, ms| {
                ms <= if at.is_wide() { 12.0 } else { 16.0 }
            })]),
        RATIO,
    ];
    let text = table(&rows(sites, options)?, &columns);
    Ok(format!("Pings of one more station, 20 a second; round-trip times beyond the path's {PATH_MS} ms.\n\n{text}"))
}

/// Paths between box and access point: name, keys of the downlink and uplink directions, jitter or batch in ms. A lag is a round trip,
/// half of it each way.
const PATHS: [(&str, &str, &str, f64); 6] = [
    ("0 ms", "", "", 0.0),
    ("2 ms", "delay = \"1 ms\"", "delay = \"1 ms\"", 0.0),
    ("5 ms", "delay = \"2.5 ms\"", "delay = \"2.5 ms\"", 0.0),
    ("20 ms", "delay = \"10 ms\"", "delay = \"10 ms\"", 0.0),
    ("jitter 5 ms", "", "jitter = \"5 ms\"", 5.0),
    ("batches 5 ms", "", "batch = \"5 ms\"", 5.0),
];

/// Downloads over a path that delays.
pub fn lag(options: &Options) -> Result<String> {
    let mut sites = Vec::new();
    for count in [1, 4, 10] {
        for (name, down, up, uneven_ms) in PATHS {
            let site = Site::uniform(&DEEP, MODES[0], count, Traffic::Down);
            let more = format!("[ap_path.down]\n{down}\n[ap_path.up]\n{up}\n");
            sites.push(Site { name: format!("{}, {name}", site.name), more, uneven_ms, ..site });
        }
    }
    let text = table(&rows(sites, options)?, &COMPARISON);
    Ok(format!(
        "The lag is of a round trip between box and access point; jitter and batches are on the way up. It is not in AP p95, \
         whose bar is longer by the jitter or the batch.\n\n{text}"
    ))
}

/// Insertion of the box in `insertion`, s.
const INSERT_S: u32 = 10;

/// Throughput in each second after the insertion, over that before.
fn seconds(run: &[Window]) -> impl Iterator<Item = f64> + '_ {
    run[2..].iter().map(|at| at.mbps / run[1].mbps)
}

/// That of the second of this index, mean over the seeds.
fn second(row: &Row, number: usize) -> f64 {
    mean(row.with.0.iter().filter_map(|run| seconds(run).nth(number)))
}

/// Ten downloads, behind a box that is inserted at 10 s, and behind one from the start.
pub fn insertion(options: &Options) -> Result<String> {
    let options = Options { insert_s: None, ..options.clone() };
    let sites = sites(&options, &[10], &[Traffic::Down]).into_iter();
    let mut windows = vec![(3, 5), (INSERT_S - 5, INSERT_S)];
    let from_start = sites.clone().map(|site| Site { insert_s: 0, windows: windows.clone(), ..site }).collect();
    windows.extend((INSERT_S..2 * INSERT_S).map(|from| (from, from + 1)));
    let under_load = sites.map(|site| Site { insert_s: INSERT_S, windows: windows.clone(), ..site }).collect();
    let columns = [
        column("before, Mb/s", 1, |row| mean(row.with.0.iter().map(|run| run[1].mbps))),
        column("lowest second / before", 3, |row| {
            mean(row.with.0.iter().map(|run| seconds(run).fold(f64::INFINITY, f64::min)))
        })
        .bars(&[(">= 0.65", |_, part| part >= 0.65)]),
        column("1st second", 3, |row| second(row, 0)),
        column("2nd", 3, |row| second(row, 1)),
        column("3rd", 3, |row| second(row, 2)),
        column("10th", 3, |row| second(row, 9)),
    ];
    let under_load = table(&rows(under_load, &options)?, &columns);
    let from_start = table(&rows(from_start, &options)?, &[RATIO.bars(&[(">= 0.95", |_, ratio| ratio >= 0.95)])]);
    Ok(format!(
        "The box is inserted at {INSERT_S} s: throughput after that, over the mean of the 5 s before\n\n{under_load}\
         The box is there from the start: seconds 3 to 5\n\n{from_start}"
    ))
}

/// Measured airtime of the station of this index, % of the time.
fn measured<const STATION: usize>(row: &Row) -> f64 {
    100.0 * row.with.mean(|at| at.airtime[STATION][0])
}

/// Ratio of charged to measured airtime of the station of this index.
fn charge<const STATION: usize>(row: &Row) -> f64 {
    100.0 * row.with.mean(|at| at.airtime[STATION][1]) / measured::<STATION>(row)
}

/// Three busy stations, of 802.11ax at MCS 11, 5 and 0, and of 802.11ac and n at one mode: charged and measured airtime from 20 s to
/// 30 s.
pub fn charged(options: &Options) -> Result<String> {
    let mut sites = Vec::new();
    for kind in KINDS {
        for traffic in Traffic::BULK {
            let stations = [11, 5, 0].map(|mcs| Station { mcs, traffic }).to_vec();
            let name = format!("{}, {HE_20} MCS 11, 5, 0, {traffic:?}", kind.name);
            sites.push(Site::new(name, kind, &HE_20, stations));
            sites.extend(MODES[2..].iter().map(|mode| Site::uniform(kind, *mode, 3, traffic)));
        }
    }
    sites.iter_mut().for_each(|site| site.windows = vec![(20, 30)]);
    let near = |column: Column| column.bars(&[("within 15 %", |_, ratio| (ratio - 1.0).abs() <= 0.15)]);
    let columns = [
        column("1st measured, %", 1, measured::<0>),
        near(column("1st charged / measured", 2, charge::<0>)),
        column("2nd measured, %", 1, measured::<1>),
        near(column("2nd charged / measured", 2, charge::<1>)),
        column("3rd measured, %", 1, measured::<2>),
        near(column("3rd charged / measured", 2, charge::<2>)),
        column("all charged, %", 1, |row| {
            100.0 * row.with.mean(|at| at.airtime.iter().map(|[_, charged]| charged).sum())
        })
        .bars(&[("<= 101 %", |_, all| all <= 101.0)]),
    ];
    Ok(table(&rows(sites, options)?, &columns))
}

/// Three downloads with pings at MCS 15 of 802.11n beside multicast video.
pub fn multicast(options: &Options) -> Result<String> {
    let site = |mbps: u32| {
        let traffic = [Traffic::Down, Traffic::Down, Traffic::Down, Traffic::None];
        let more = format!(
            "[[ping]]\nname = \"ping\"\nstations = [\"s0\", \"s1\", \"s2\"]\nserver = \"server\"\n\
             [[udp]]\nname = \"multicast\"\nstations = [\"s3\"]\nserver = \"server\"\ndirection = \"down\"\ngroup = true\n\
             rate = \"{mbps} Mb/s\"\npayload = \"1316 bytes\"\n"
        );
        let stations = traffic.map(|traffic| Station { mcs: 7, traffic }).to_vec();
        Site { more, ..Site::new(format!("3 Down beside multicast of {mbps} Mb/s"), &DEEP, &HT_20, stations) }
    };
    let lost = column("multicast lost with, % of that offered", 2, |row| 100.0 * row.with.mean(|at| at.multicast_loss));
    let more = column("more than without", 2, |row| {
        100.0 * (row.with.mean(|at| at.multicast_loss) - row.without.mean(|at| at.multicast_loss))
    });
    let columns = [&COMPARISON[..], &[lost, more.bars(&[("<= 1", |_, more| more <= 1.0)])]].concat();
    Ok(table(&rows([1, 2, 3].map(site).to_vec(), options)?, &columns))
}

/// Begin of the windows of `second-state`, and their length, s.
const WINDOWS_S: u32 = 5;
const WINDOW_S: u32 = 3;

/// Part of the windows of all seeds, in %, whose figure is below `low` or above `high` times the median of all.
fn far(Series(runs): &Series, of: fn(&Window) -> f64, [low, high]: [f64; 2]) -> f64 {
    let mut values: Vec<f64> = runs.iter().flatten().map(of).collect();
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    100.0 * mean(values.iter().map(|value| f64::from(u8::from(!(low * median..=high * median).contains(value)))))
}

/// Windows of 3 s whose figures are far from the median of all windows and seeds of a cell, with the box.
pub fn second_state(options: &Options) -> Result<String> {
    let ends = (WINDOWS_S + WINDOW_S..=options.duration_s()).step_by(WINDOW_S as usize);
    let windows: Vec<(u32, u32)> = ends.map(|to| (to - WINDOW_S, to)).collect();
    let sites = uniform_sites(options).into_iter().map(|site| Site { windows: windows.clone(), ..site });
    let columns = [
        column("throughput off by 25 %: % of the windows", 0, |row| far(&row.with, |at| at.mbps, [0.75, 1.25])),
        column("AP p95 off by a factor of 2: % of the windows", 0, |row| far(&row.with, |at| at.p95_ms, [0.5, 2.0])),
    ];
    let none = |column: Column| column.bars(&[("none", |_, part| part == 0.0)]);
    Ok(table(&rows(sites.collect(), options)?, &columns.map(none)))
}
