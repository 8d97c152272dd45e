//! The commands but for the random populations: their cells, figures and bars.

use crate::report::{Column, Row, chosen, column, mbps, p95, print, ratio, rows};
use crate::runs::{Series, Window, equal_airtime, mean, measure};
use crate::site::{Control, DEEP, HE_20, HT_20, MODES, PATH_MS, Site, Station, Traffic, kinds};
use crate::{Failure, Options};

/// All stations at one mode.
fn uniform_sites(options: &Options, counts: &[usize], ways: &[Traffic]) -> Vec<Site> {
    let mut sites = Vec::new();
    for kind in kinds() {
        for mode in options.pick(&MODES, &[MODES[0], MODES[2]]) {
            for count in counts {
                sites.extend(ways.iter().map(|traffic| Site::uniform(kind, mode, *count, *traffic)));
            }
        }
    }
    sites
}

fn uniform_cells(options: &Options) -> Vec<Site> {
    let counts = options.pick(&[1, 2, 5, 10, 30], &[1, 10, 30]);
    uniform_sites(options, &counts, &Traffic::BULK)
}

/// Throughput and queue time, without and with the box.
fn comparison() -> Vec<Column> {
    let [without, with] = mbps();
    let [p95_without, p95_with] = p95();
    vec![
        without,
        with,
        column("with / without", 3, ratio).bar(">= 0.95", |_, ratio| ratio >= 0.95),
        column("lowest seed", 3, |row| row.with.ratios(&row.without).fold(f64::INFINITY, f64::min)),
        p95_without,
        p95_with.bar("<= 11 ms at 20 MHz (queues by station: 14), 7 ms at 40 and 80 MHz (10)", |site, ms| {
            ms <= site.p95_bar_ms()
        }),
        column("runs in which the guard acted", 0, |row| row.with.0.iter().filter(|run| run[0].guard).count() as f64),
    ]
}

pub fn uniform(options: &Options) -> Result<(), Failure> {
    let rows = rows(uniform_cells(options), options)?;
    print(&rows, &comparison());
    let all = mean(rows.iter().map(ratio));
    println!("missed {} of 1: mean of with / without over the cells: {all:.3} >= 0.98", u32::from(all < 0.98));
    Ok(())
}

/// Half of the stations at MCS 11 of HE, half at MCS 0: rows with unreported and with reported rates.
pub fn mixed(options: &Options) -> Result<(), Failure> {
    let mut sites = Vec::new();
    for kind in kinds() {
        for count in options.pick(&[2, 5, 10, 30], &[2, 10, 30]) {
            for traffic in Traffic::BULK {
                let stations = (0..count).map(|at| Station { mcs: if at % 2 == 0 { 11 } else { 0 }, traffic });
                let name = format!("{}, {count} {traffic:?}", kind.name);
                sites.push(Site::new(name, kind, &HE_20, stations.collect()));
            }
        }
    }
    let sites = chosen(sites, options);
    let totals = equal_airtime(&sites, options)?;
    let series = measure(&sites, [Control::Without, Control::Unreported, Control::Reported], options)?;
    let mut rows = Vec::new();
    for ((site, equal), [without, unreported, reported]) in sites.iter().zip(totals).zip(series) {
        for (word, with) in [("unreported", unreported), ("reported", reported)] {
            let site = Site { name: format!("{}, {word}", site.name), ..site.clone() };
            rows.push(Row { site, without: without.clone(), with, equal });
        }
    }
    println!(
        "11ax 20 MHz, MCS 11 beside MCS 0. Jain's index is of the stations' measured airtime, both ways; \"equal\" is the total"
    );
    println!("at equal airtime: the mean over the stations of what each carries alone without a box, measured.\n");
    let [p95_without, p95_with] = p95();
    let columns = [
        column("equal, Mb/s", 1, |row| row.equal),
        column("without / equal", 3, |row| row.without.mean(|at| at.mbps) / row.equal),
        column("with / equal", 3, |row| row.with.mean(|at| at.mbps) / row.equal).bar(">= 0.9", |_, part| part >= 0.9),
        column("Jain without", 3, |row| row.without.mean(Window::jain)),
        column("Jain with", 3, |row| row.with.mean(Window::jain)).bar(">= 0.95", |_, jain| jain >= 0.95),
        p95_without,
        p95_with,
    ];
    for word in [", unreported", ", reported"] {
        let part: Vec<Row> = rows.iter().filter(|row| row.site.name.ends_with(word)).cloned().collect();
        print(&part, &columns);
        println!();
    }
    Ok(())
}

/// Pings of one station beside ten downloads.
pub fn quiet(options: &Options) -> Result<(), Failure> {
    let mut sites = uniform_sites(options, &[10], &[Traffic::Down]);
    sites.iter_mut().for_each(|site| site.stations.push(Station { traffic: Traffic::Ping, ..site.stations[0] }));
    println!("Pings of one more station, 20 a second; round-trip times beyond the path's {PATH_MS} ms.\n");
    let columns = [
        column("p50 without, ms", 1, |row| row.without.mean(|at| at.ping_p50_ms) - PATH_MS),
        column("p95 without, ms", 1, |row| row.without.mean(|at| at.ping_p95_ms) - PATH_MS),
        column("p50 with, ms", 1, |row| row.with.mean(|at| at.ping_p50_ms) - PATH_MS)
            .bar("<= 8 ms at 20 MHz, 6 ms at 40 and 80 MHz", |site, ms| ms <= if site.is_wide() { 6.0 } else { 8.0 }),
        column("p95 with, ms", 1, |row| row.with.mean(|at| at.ping_p95_ms) - PATH_MS)
            .bar("<= 16 ms at 20 MHz, 12 ms at 40 and 80 MHz", |site, ms| {
                ms <= if site.is_wide() { 12.0 } else { 16.0 }
            }),
        column("Mb/s with / without", 3, ratio),
    ];
    print(&rows(sites, options)?, &columns);
    Ok(())
}

/// Paths between box and access point: name, and keys of the way down and up. A lag is of a round trip, half of it each way.
const PATHS: [[&str; 3]; 6] = [
    ["0 ms", "", ""],
    ["2 ms", "delay = \"1 ms\"", "delay = \"1 ms\""],
    ["5 ms", "delay = \"2.5 ms\"", "delay = \"2.5 ms\""],
    ["20 ms", "delay = \"10 ms\"", "delay = \"10 ms\""],
    ["jitter 5 ms", "", "jitter = \"5 ms\""],
    ["batches 5 ms", "", "batch = \"5 ms\""],
];

/// Downloads over a path that delays.
pub fn lag(options: &Options) -> Result<(), Failure> {
    let mut sites = Vec::new();
    for count in [1, 4, 10] {
        for [name, down, up] in PATHS {
            let site = Site::uniform(&DEEP, MODES[0], count, Traffic::Down);
            let more = format!("[ap_path.down]\n{down}\n[ap_path.up]\n{up}\n");
            sites.push(Site { name: format!("{}, {name}", site.name), more, ..site });
        }
    }
    println!(
        "The lag is of a round trip between box and access point; jitter and batches are on the way up. It is not in AP p95.\n"
    );
    print(&rows(sites, options)?, &comparison());
    Ok(())
}

/// When `insertion` inserts the box, and how long it looks then, s.
const INSERT_S: u32 = 10;
const SHOWN_S: u32 = 10;

/// Throughput in each second after the insertion, over that before.
fn seconds(run: &[Window]) -> impl Iterator<Item = f64> + '_ {
    run[2..].iter().map(|at| at.mbps / run[1].mbps)
}

/// The second of this number, mean of the seeds.
fn second(row: &Row, number: usize) -> f64 {
    mean(row.with.0.iter().filter_map(|run| seconds(run).nth(number)))
}

/// The lowest second of each run, mean of the seeds.
fn lowest(row: &Row) -> f64 {
    mean(row.with.0.iter().map(|run| seconds(run).fold(f64::INFINITY, f64::min)))
}

/// Ten downloads, behind a box that is inserted at 10 s, and behind one from the start.
pub fn insertion(options: &Options) -> Result<(), Failure> {
    let mut windows = vec![(3, 5), (INSERT_S - 5, INSERT_S)];
    windows.extend((INSERT_S..INSERT_S + SHOWN_S).map(|from| (from, from + 1)));
    let sites = uniform_sites(options, &[10], &[Traffic::Down]);
    let from_start: Vec<Site> =
        sites.iter().map(|site| Site { insert_s: 0, windows: vec![(3, 5)], ..site.clone() }).collect();
    let under_load = sites.into_iter().map(|site| Site { insert_s: INSERT_S, windows: windows.clone(), ..site });
    println!(
        "Throughput after an insertion at {INSERT_S} s over the mean of the 5 s before; and of the seconds 3 to 5 with the box"
    );
    println!("from the start, over those without.\n");
    let rows_under_load = rows(under_load.collect(), options)?;
    let columns = [
        column("before, Mb/s", 1, |row| mean(row.with.0.iter().map(|run| run[1].mbps))),
        column("lowest second / before", 3, lowest).bar(">= 0.65", |_, part| part >= 0.65),
        column("its 1st second", 3, |row| second(row, 0)),
        column("2nd", 3, |row| second(row, 1)),
        column("3rd", 3, |row| second(row, 2)),
        column("10th", 3, |row| second(row, 9)),
    ];
    print(&rows_under_load, &columns);
    println!();
    print(&rows(from_start, options)?, &[column("seconds 3 to 5", 3, ratio).bar(">= 0.95", |_, part| part >= 0.95)]);
    Ok(())
}

/// Three busy stations of MCS 11, 5 and 0: charged beside measured airtime, from 20 s to 30 s.
pub fn charged(options: &Options) -> Result<(), Failure> {
    let mut sites = Vec::new();
    for kind in kinds() {
        for traffic in Traffic::BULK {
            let stations = [11, 5, 0].map(|mcs| Station { mcs, traffic }).to_vec();
            let site = Site::new(format!("{}, {traffic:?}", kind.name), kind, &HE_20, stations);
            sites.push(Site { windows: vec![(20, 30)], ..site });
        }
    }
    /// Airtime of the station of this number, % of the time: measured (0) or charged (1).
    fn airtime(row: &Row, station: usize, which: usize) -> f64 {
        100.0 * row.with.mean(|at| at.airtime[station][which])
    }
    let near = "within 15 % of measured";
    let is_near = |_: &Site, ratio: f64| (ratio - 1.0).abs() <= 0.15;
    let columns = [
        column("MCS 11: measured, %", 1, |row| airtime(row, 0, 0)),
        column("MCS 11: charged / measured", 2, |row| airtime(row, 0, 1) / airtime(row, 0, 0)).bar(near, is_near),
        column("MCS 5: measured, %", 1, |row| airtime(row, 1, 0)),
        column("MCS 5: charged / measured", 2, |row| airtime(row, 1, 1) / airtime(row, 1, 0)).bar(near, is_near),
        column("MCS 0: measured, %", 1, |row| airtime(row, 2, 0)),
        column("MCS 0: charged / measured", 2, |row| airtime(row, 2, 1) / airtime(row, 2, 0)).bar(near, is_near),
        column("all charged, %", 1, |row| (0..3).map(|station| airtime(row, station, 1)).sum())
            .bar("<= 101 %", |_, all| all <= 101.0),
    ];
    print(&rows(sites, options)?, &columns);
    Ok(())
}

/// Three downloads with pings at MCS 15 of 802.11n beside multicast video.
pub fn multicast(options: &Options) -> Result<(), Failure> {
    let site = |mbps: u32| {
        let traffic = [Traffic::Down, Traffic::Down, Traffic::Down, Traffic::None];
        let stations = traffic.map(|traffic| Station { mcs: 7, traffic }).to_vec();
        let more = format!(
            "[[ping]]\nname = \"ping\"\nstations = [\"s0\", \"s1\", \"s2\"]\nserver = \"server\"\n\
             [[udp]]\nname = \"multicast\"\nstations = [\"s3\"]\nserver = \"server\"\ndirection = \"down\"\ngroup = true\n\
             rate = \"{mbps} Mb/s\"\npayload = \"1316 bytes\"\n"
        );
        Site { more, ..Site::new(format!("3 Down beside multicast of {mbps} Mb/s"), &DEEP, &HT_20, stations) }
    };
    let mut columns = comparison();
    let lost = |row: &Row| 100.0 * (row.without.mean(|at| at.multicast) - row.with.mean(|at| at.multicast));
    columns.push(column("multicast lost beyond that without, %", 2, lost).bar("<= 1", |_, lost| lost <= 1.0));
    print(&rows([1, 2, 3].map(site).to_vec(), options)?, &columns);
    Ok(())
}

/// Windows of `second-state`: from here on, and their length, s.
const WINDOWS_S: u32 = 5;
const WINDOW_S: u32 = 3;

/// Part of the windows of all seeds, in %, whose figure is below `low` or above `high` medians of all.
fn far(Series(runs): &Series, of: fn(&Window) -> f64, [low, high]: [f64; 2]) -> f64 {
    let mut values: Vec<f64> = runs.iter().flatten().map(of).collect();
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    100.0 * mean(values.iter().map(|value| f64::from(u8::from(!(low * median..=high * median).contains(value)))))
}

/// Windows of 3 s that are far from the median of all windows and seeds of a cell, with the box.
pub fn second_state(options: &Options) -> Result<(), Failure> {
    let ends = (WINDOWS_S + WINDOW_S..=options.duration_s()).step_by(WINDOW_S as usize);
    let windows: Vec<(u32, u32)> = ends.map(|to| (to - WINDOW_S, to)).collect();
    let sites = uniform_cells(options).into_iter().map(|site| Site { windows: windows.clone(), ..site });
    let columns = [
        column("throughput off by 25 %: % of the windows", 0, |row| far(&row.with, |at| at.mbps, [0.75, 1.25])),
        column("AP p95 off by a factor of 2: % of the windows", 0, |row| far(&row.with, |at| at.p95_ms, [0.5, 2.0])),
    ];
    let columns = columns.map(|column| column.bar("none", |_, part| part == 0.0));
    print(&rows(sites.collect(), options)?, &columns);
    Ok(())
}
