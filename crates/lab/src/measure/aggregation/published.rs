//! Insertion as published: the experiments A10, A11 and A13 run for 300 s without the box, with the server beyond the Internet, and
//! the box is inserted then. The figures are of the transient.

use std::path::Path;

use anyhow::Result;
use evenair_results::{RunResult, Series};
use evenair_scenario::Scenario;
use evenair_workload::Direction;

use super::super::jobs::in_parallel;
use super::options::Options;
use crate::commands::library::scenario_file;

/// Second in which the box is inserted.
const AT: usize = 300;
/// Seconds before it over which the access point's rate of departures is taken.
const BEFORE: usize = 10;
/// An access point with fewer packets has drained.
const DRAINED: f64 = 60.0;
/// The queue may take this many times the time that it would take without arrivals.
const SLACK: f64 = 1.3;
/// Means over which uploads are compared with their share, and directions with each other, in seconds.
const UPLOADS_S: usize = 5;
const DIRECTIONS_S: usize = 10;

/// An experiment, and by flow the part that it is due.
struct Experiment {
    file: &'static str,
    server_moves: bool,
    /// Parts of the rates: those of C(11) : C(5.5) : C(2) as published for A10, equal for others.
    weight: fn(rate_mbps: f64) -> f64,
}

fn equal(_: f64) -> f64 {
    1.0
}

/// Published capacities of 802.11b at each rate, in Mb/s.
fn capacity(rate_mbps: f64) -> f64 {
    match rate_mbps {
        rate if rate > 8.0 => 4.89,
        rate if rate > 4.0 => 3.33,
        _ => 1.58,
    }
}

const EXPERIMENTS: [Experiment; 3] = [
    Experiment { file: "a10-mixed-rates", server_moves: true, weight: capacity },
    Experiment { file: "a11-equal-up-and-down", server_moves: true, weight: equal },
    Experiment { file: "a13-two-uploads", server_moves: false, weight: equal },
];

/// Seconds after the insertion until something holds to the end of the run; `None`: never.
type Since = Option<usize>;

struct Transient {
    waiting: f64,
    /// Seconds that the queue may take to drain, and those that it took.
    allowed_s: f64,
    drained_s: Since,
    /// All uploads are within 15 % of their share.
    uploads_s: Since,
    /// All downloads are.
    downloads_s: Since,
    /// The totals of the directions are within 10 % of each other.
    directions_s: Since,
    /// Means of the last 30 s, in Mb/s.
    total_mbps: f64,
}

fn simulate(experiment: &Experiment, seed: u32, options: &Options) -> Result<RunResult> {
    let end = format!("{} s", AT + options.duration_s.unwrap_or(200) as usize);
    let (seed, at, from) = (seed.to_string(), format!("{AT} s"), format!("{} s", AT + 30));
    let mut sets = vec![
        ("duration", &*end),
        ("event.1.at", &at),
        ("phase.bypassed.to", &at),
        ("phase.inserted.from", &from),
        ("phase.inserted.to", &end),
        ("seed", &seed),
    ];
    if experiment.server_moves {
        let delay = "300 ms";
        sets.push(("server.server.at", "wan"));
        sets.extend([
            ("wan.down.rate", "8 Mb/s"),
            ("wan.down.delay", delay),
            ("wan.up.rate", "8 Mb/s"),
            ("wan.up.delay", delay),
        ]);
    }
    sets.extend(options.sets.iter().map(|(key, value)| (&**key, &**value)));
    let scenario = Scenario::load_with(scenario_file(Path::new(experiment.file))?, &sets)?;
    Ok(evenair_sim::run(&scenario, |_| ())?)
}

/// The first second after the insertion from which on every mean over `window` seconds passes.
fn since(end: usize, window: usize, passes: impl Fn(std::ops::Range<usize>) -> bool) -> Since {
    let last = (AT..=end - window).rev().take_while(|&from| passes(from..from + window)).last()?;
    Some(last - AT)
}

fn mean(series: &[f64], within: &std::ops::Range<usize>) -> f64 {
    series[within.clone()].iter().sum::<f64>() / within.len() as f64
}

fn transient(series: &Series, weight: fn(f64) -> f64) -> Transient {
    let end = series.ap_queue_packets.len();
    // What the access point sent: ACKs of uploads, DATA of downloads.
    let sent = series.flows.iter().flat_map(|flow| match flow.direction {
        Direction::Up => &flow.ack_packets[AT - BEFORE..AT],
        Direction::Down => &flow.data_packets[AT - BEFORE..AT],
    });
    let sent: u64 = sent.sum();
    let waiting = series.ap_queue_packets[AT - 1];
    let weights: f64 = series.flows.iter().map(|flow| weight(flow.rate_mbps)).sum();
    let total =
        |within: &std::ops::Range<usize>| series.flows.iter().map(|flow| mean(&flow.ip_mbps, within)).sum::<f64>();
    let at_share = |direction: Direction| {
        since(end, UPLOADS_S, |within| {
            let total = total(&within);
            series.flows.iter().filter(|flow| flow.direction == direction).all(|flow| {
                let share = total * weight(flow.rate_mbps) / weights;
                (mean(&flow.ip_mbps, &within) / share - 1.0).abs() <= 0.15
            })
        })
    };
    let of = |direction: Direction, within: &std::ops::Range<usize>| {
        series
            .flows
            .iter()
            .filter(|flow| flow.direction == direction)
            .map(|flow| mean(&flow.ip_mbps, within))
            .sum::<f64>()
    };
    Transient {
        waiting,
        allowed_s: SLACK * waiting * BEFORE as f64 / sent.max(1) as f64,
        drained_s: series.ap_queue_packets[AT..].iter().position(|&queue| queue < DRAINED),
        uploads_s: at_share(Direction::Up),
        downloads_s: at_share(Direction::Down),
        directions_s: since(end, DIRECTIONS_S, |within| {
            (of(Direction::Up, &within) / of(Direction::Down, &within) - 1.0).abs() <= 0.1
        }),
        total_mbps: total(&(end - 30..end)),
    }
}

/// The transient of each experiment, by seed.
pub fn published(options: &Options) -> Result<String> {
    let mut lines = format!(
        "Seconds after an insertion at {AT} s. Drained: fewer than {DRAINED} packets in the access point, with the time allowed, {SLACK} \
         times that of its departures before. Uploads and downloads: each from then on within 15 % of its share, in means over \
         {UPLOADS_S} s; directions: equal within 10 %, over {DIRECTIONS_S} s.\n\n\
         | experiment, seed | packets in the AP | drained, s (allowed) | uploads | downloads | directions | total, Mb/s |\n\
         |---|---|---|---|---|---|---|\n"
    );
    let cells = EXPERIMENTS.iter().filter(|experiment| experiment.file.contains(&options.only));
    let cells: Vec<_> =
        cells.flat_map(|experiment| (1..=options.seeds()).map(move |seed| (experiment, seed))).collect();
    let rows = in_parallel(&cells, |&(experiment, seed)| {
        let result = simulate(experiment, seed, options)?;
        Ok((experiment, seed, transient(&result.series, experiment.weight)))
    })?;
    let text = |since: Since| since.map_or("never".to_owned(), |s| s.to_string());
    for (experiment, seed, row) in &rows {
        lines += &format!(
            "| {}, {seed} | {:.0} | {} ({:.0}) | {} | {} | {} | {:.2} |\n",
            experiment.file,
            row.waiting,
            text(row.drained_s),
            row.allowed_s,
            text(row.uploads_s),
            if experiment.server_moves { text(row.downloads_s) } else { "-".into() },
            if experiment.server_moves { text(row.directions_s) } else { "-".into() },
            row.total_mbps
        );
    }
    let late = |row: &&Transient| row.drained_s.is_none_or(|took| took as f64 > row.allowed_s.max(1.0));
    let missed = rows.iter().map(|(.., row)| row).filter(late).count();
    Ok(format!("{lines}\nmissed {missed} of {}: drained within the time allowed\n", rows.len()))
}
