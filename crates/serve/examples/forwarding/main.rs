//! Forwarding speed of the box, compared with a plain kernel bridge and with one that has HTB with as many classes as stations.
//!
//! The box runs twice, with packet rings and with AF_XDP sockets. All middles are in the same place of the same topology, and alternate (A
//! B C A B C, five rounds; three with `--short`), so that other work of the machine affects all alike. Packets go from the wire to the
//! stations, each station in turn. On one core, source and path alternate in one real-time class, and the CPU time of the path is the time
//! that is not idle, less that of source and sink joined by a cable. Under a backlog every class or queue holds packets while 5 % more
//! arrive than are served.
//!
//! Two shards are compared with one that has the same two contention domains, at full load on one core and with bursts on all: together
//! they carry twice as much as one, as long as a packet costs no more CPU time.
//!
//! On all cores, the source has the last one and the box the others, as it is deployed. There it is also measured with all its default
//! functions: the tree of queues, active queue management and charges by airtime, TCP data one way and ACKs the other, with packet I/O of
//! its own choice and with AF_XDP. Measured are the highest rate of each with at most 0.5 % lost, and, at parts of that rate, the latency
//! that it adds to the bridge's.
//!
//! Finally the box has as many watchers as it admits, among them the page with all the browsers that it admits, and then attackers of its
//! page; each is compared with a box without clients (`watched.rs`, `attackers.rs`).
//!
//! The exit status is 1 if a bound is missed.
//!
//! `forwarding [--short] [--bytes 64|512|1500] [--stations N] [--shards | --all-cores | --watched | --attacked] [--web PROGRAM]`; needs root, `tc`, `taskset` and `chrt`.

mod attackers;
mod lab;
mod load;
mod measure;
mod watched;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use evenair_boxfile::BoxConfig;
use evenair_serve::run;

use attackers::Attackers;
use lab::{Lab, Middle};
use measure::{Latency, MOST_LOST, Reading};
use watched::{Watched, Watchers};

/// Bytes of a frame without its check sequence, and its name.
const SIZES: [(usize, &str); 3] = [(60, "64"), (508, "512"), (1514, "1500")];
const STATIONS: [usize; 3] = [10, 1_000, 50_000];
/// Most classes with which HTB is measured: creating more takes minutes.
const MOST_CLASSES: usize = 1_000;
/// Part of the slower one's rate that is served under a backlog.
const BACKLOG_PART: f64 = 0.4;

/// Rounds of which the median is judged.
const SHARD_ROUNDS: usize = 5;

const USAGE: &str = "usage: forwarding [--bytes 64|512|1500] [--stations N] [--short] [--shards | --all-cores | --watched | --attacked] [--web PROGRAM]";

struct Plan {
    rounds: usize,
    span: Duration,
    sizes: Vec<(usize, &'static str)>,
    stations: Vec<usize>,
    /// Stations of the box with watchers.
    watched: usize,
}

fn main() -> Result<ExitCode> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let mut arguments = arguments.iter().map(String::as_str);
    let (mut alone, mut web) = (None, std::env::current_exe()?.with_file_name("../evenair-web"));
    let mut plan = Plan {
        rounds: 5,
        span: Duration::from_millis(600),
        sizes: SIZES.into(),
        stations: STATIONS.into(),
        watched: STATIONS[1],
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} wants a value: {USAGE}"));
        match argument {
            "--box" => return run_box(value()?.as_ref()),
            "--web" => web = value()?.into(),
            "--short" => {
                (plan.rounds, plan.span) = (3, Duration::from_millis(300));
                plan.sizes.retain(|size| *size != SIZES[1]);
            }
            "--shards" | "--all-cores" | "--watched" | "--attacked" => alone = Some(argument),
            "--bytes" => {
                let bytes = value()?;
                plan.sizes.retain(|(_, name)| *name == bytes);
            }
            "--stations" => {
                plan.watched = value()?.parse().context("a number of stations")?;
                plan.stations = vec![plan.watched];
            }
            _ => bail!(USAGE),
        }
    }
    if let Err(error) = evenair_sys::fail_open::FailOpenGate::new(None) {
        eprintln!("skipped: forwarding needs root: {error}");
        return Ok(ExitCode::SUCCESS);
    }
    let mut results = Results::default();
    if alone.is_none() {
        for &stations in &plan.stations {
            one_core(&plan, stations, &mut results)?;
        }
    }
    if matches!(alone, None | Some("--all-cores")) {
        for kind in [Middle::Managed, Middle::ManagedXdp, Middle::Box, Middle::BoxXdp] {
            whole_machine(&plan, kind, &mut results)?;
        }
    }
    if matches!(alone, None | Some("--shards")) {
        shards(&plan, &mut results)?;
    }
    // Nine, or five with `--short`: the bound is closer than those above.
    let rounds = 2 * plan.rounds - 1;
    if matches!(alone, None | Some("--watched")) {
        results.watched.push(watched::measure::<Watchers>(&web, rounds, plan.watched)?);
    }
    if matches!(alone, None | Some("--attacked")) {
        results.watched.push(watched::measure::<Attackers>(&web, rounds, plan.watched)?);
    }
    Ok(if results.judge() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the box of this configuration, whose log has the cost of copying its state.
fn run_box(config: &Path) -> Result<ExitCode> {
    let log = std::fs::File::create(lab::log_of(config)).context("the box's log")?;
    tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_ansi(false).with_writer(log).init();
    run(BoxConfig::load(config)?).map(|_| ExitCode::SUCCESS)
}

#[derive(Default)]
struct Results {
    /// Median CPU time of the path for a packet, by path, stations, size, and whether there is a backlog.
    path_ns: BTreeMap<(Middle, usize, usize, bool), f64>,
    /// By part of its highest rate in percent: 99th percentile that the box with all management adds to the bridge's, in microseconds.
    added: Vec<(f64, f64)>,
    idle: Option<f64>,
    /// Under a backlog: median of the delivered part of the rate to be served, by path, stations and size.
    served: BTreeMap<(Middle, usize, usize), f64>,
    /// By path and bytes: the highest rate on all cores, in kpps.
    highest: BTreeMap<(Middle, usize), f64>,
    /// By measurement: packets carried by two shards for each packet of one, with as much CPU time each.
    shards: Vec<(String, f64)>,
    watched: Vec<Watched>,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// All paths for so many stations, on one core.
fn one_core(plan: &Plan, stations: usize, results: &mut Results) -> Result<()> {
    let core = std::thread::available_parallelism()?.get() - 1;
    let lab = |kind| Lab::new(kind, stations, Some(core));
    let (cable, mut labs) = (lab(Middle::Cable)?, vec![lab(Middle::Bridge)?]);
    if stations <= MOST_CLASSES {
        labs.push(lab(Middle::Htb)?);
    }
    labs.push(lab(Middle::Box)?);
    labs.push(lab(Middle::BoxXdp)?);
    for &(len, name) in &plan.sizes {
        println!("\n{stations} stations, {name} bytes, one core:");
        println!(
            "  {:<24} {:>8} {:>8} {:>12} {:>10} {:>7}",
            "path", "kpps", "Gbit/s", "path ns/pkt", "kpps/core", "lost"
        );
        let mut rows: BTreeMap<(Middle, bool), Vec<(Reading, f64)>> = BTreeMap::new();
        for _ in 0..plan.rounds {
            let source = measure::flat_out(&cable, len, plan.span)?;
            let mut add = |lab: &Lab, backlog: bool, reading: Reading| {
                rows.entry((lab.kind, backlog)).or_default().push((reading, reading.path_ns(&source)));
            };
            let mut least = f64::INFINITY;
            for lab in &labs {
                let reading = measure::flat_out(lab, len, plan.span)?;
                least = least.min(reading.kpps);
                add(lab, false, reading);
            }
            for lab in labs.iter().filter(|lab| lab.kind != Middle::Bridge) {
                let pps = least * 1e3 * BACKLOG_PART;
                add(lab, true, measure::backlogged(lab, len, pps, plan.span)?);
            }
        }
        for ((kind, backlog), readings) in rows {
            let of = |f: fn(&(Reading, f64)) -> f64| median(readings.iter().map(f).collect());
            let (kpps, ns, lost) = (of(|r| r.0.kpps), of(|r| r.1), of(|r| r.0.lost));
            let name = format!("{}{}", kind.name(), if backlog { ", backlogged" } else { "" });
            let gbps = kpps * (len * 8) as f64 / 1e6;
            let per_core = 1e6 / ns;
            println!("  {name:<24} {kpps:>8.0} {gbps:>8.2} {ns:>12.0} {per_core:>10.0} {:>6.1}%", 100.0 * lost);
            if backlog {
                results.served.insert((kind, stations, len), of(|r| r.0.served));
            }
            results.path_ns.insert((kind, stations, len, backlog), ns);
        }
    }
    Ok(())
}

/// All cores, with the box as deployed, compared with the bridge: highest rate, latency, idle load. No other box runs meanwhile, since its
/// periodic work would delay packets.
fn whole_machine(plan: &Plan, kind: Middle, results: &mut Results) -> Result<()> {
    const STATIONS: usize = 1_000;
    let (bridge, lab) = (Lab::new(Middle::Bridge, STATIONS, None)?, Lab::new(kind, STATIONS, None)?);
    let chosen = lab.status().context("the box answers")?.wlan;
    let why = chosen.io_why.map(|why| format!(" ({why})")).unwrap_or_default();
    println!("\n{STATIONS} stations, all cores, {}: {}{why}", kind.name(), chosen.io);
    for &(len, name) in &plan.sizes {
        for lab in [&bridge, &lab] {
            let rounds = (0..plan.rounds).map(|_| measure::highest_rate(lab, len, plan.span));
            let (rates, of_source): (Vec<_>, Vec<_>) = rounds.collect::<Result<Vec<_>>>()?.into_iter().unzip();
            let kpps = median(rates) / 1e3;
            let gbps = kpps * (len * 8) as f64 / 1e6;
            let source = if of_source.contains(&true) { ", the source offers no more" } else { "" };
            let what = format!("{}, {name} bytes", lab.kind.name());
            println!(
                "  {what:<32} {kpps:>6.0} kpps {gbps:>6.2} Gbit/s with at most {} % lost{source}",
                100.0 * MOST_LOST
            );
            results.highest.insert((lab.kind, len), kpps);
        }
    }
    latencies(plan, [&bridge, &lab], results)?;
    let idle = measure::idle(&lab, Duration::from_secs(2));
    println!("  idle: {:.2} % of a core", 100.0 * idle);
    if kind == Middle::Managed {
        results.idle = Some(idle);
    }
    let packets = lab.status().context("the box answers")?.packets;
    println!(
        "  the box's account: taken {}, sent {}, dropped: {}, lost: {}",
        packets.taken, packets.sent, packets.drops, packets.losses
    );
    Ok(())
}

/// Latency of packets from source to sink, at parts of the rate that the box carries.
fn latencies(plan: &Plan, labs: [&Lab; 2], results: &mut Results) -> Result<()> {
    let (len, _) = SIZES[0];
    let kind = labs[1].kind;
    for percent in [1.0, 10.0, 50.0] {
        let pps = results.highest[&(kind, len)] * 10.0 * percent;
        let mut seen: [Vec<Latency>; 2] = Default::default();
        for _ in 0..plan.rounds {
            for (lab, seen) in labs.iter().zip(&mut seen) {
                seen.push(measure::latency(lab, len, pps, plan.span * 2)?);
            }
        }
        let mut p99s = [0.0; 2];
        for ((lab, rounds), p99_of) in labs.iter().zip(seen).zip(&mut p99s) {
            let of = |f: fn(&Latency) -> f64| median(rounds.iter().map(f).collect());
            let (p50, p99, p999) = (of(|l| l.p50), of(|l| l.p99), of(|l| l.p999));
            let name = lab.kind.name();
            println!("  {name:<20} at {percent:>2.0} %: p50 {p50:>4.0} us, p99 {p99:>5.0}, p99.9 {p999:>5.0}");
            *p99_of = p99;
        }
        if kind == Middle::Managed {
            results.added.push((percent, p99s[1] - p99s[0]));
        }
    }
    Ok(())
}

/// One shard and two with the same stations in two contention domains.
fn shards(plan: &Plan, results: &mut Results) -> Result<()> {
    const STATIONS: usize = 1_000;
    const KINDS: [Middle; 2] = [Middle::OneShard, Middle::TwoShards];
    let core = std::thread::available_parallelism()?.get() - 1;
    for (place, core) in [("one core", Some(core)), ("all cores", None)] {
        let read = |lab: &Lab, len| match core {
            Some(_) => measure::flat_out(lab, len, plan.span),
            None => measure::bursts(lab, len, plan.span),
        };
        let cable = Lab::new(Middle::Cable, STATIONS, core)?;
        let labs = [Lab::new(KINDS[0], STATIONS, core)?, Lab::new(KINDS[1], STATIONS, core)?];
        for &(len, name) in &plan.sizes {
            let mut rows: [Vec<(Reading, f64)>; 2] = Default::default();
            for _ in 0..SHARD_ROUNDS {
                let source = read(&cable, len)?;
                for (lab, row) in labs.iter().zip(&mut rows) {
                    let reading = read(lab, len)?;
                    row.push((reading, reading.path_ns(&source)));
                }
            }
            println!("\n{STATIONS} stations in two VLANs, {name} bytes, {place}:");
            println!("  {:<24} {:>8} {:>12} {:>16} {:>7}", "path", "kpps", "path ns/pkt", "kpackets/CPU-s", "lost");
            let ns = [0, 1].map(|at| {
                let of = |f: fn(&(Reading, f64)) -> f64| median(rows[at].iter().map(f).collect());
                let (kpps, ns, lost) = (of(|r| r.0.kpps), of(|r| r.1), of(|r| r.0.lost));
                let (name, per_cpu) = (KINDS[at].name(), 1e6 / ns);
                println!("  {name:<24} {kpps:>8.0} {ns:>12.0} {per_cpu:>16.0} {:>6.1}%", 100.0 * lost);
                ns
            });
            results.shards.push((format!("{name} bytes, {place}"), 2.0 * ns[0] / ns[1]));
        }
    }
    Ok(())
}

impl Results {
    /// Prints each promised figure with its bound. Returns whether all are met.
    fn judge(&self) -> bool {
        println!();
        let mut met = true;
        let mut say = |what: &str, value: f64, unit: &str, good: bool, bound: &str| {
            let verdict = if good { "ok    " } else { "MISSED" };
            println!("{verdict}  {what}: {value:.2}{unit} (bound: {bound})");
            met &= good;
        };
        for (len, name) in [SIZES[0], SIZES[2]] {
            let of = |kind| self.path_ns.get(&(kind, 1_000, len, true));
            if let (Some(htb), Some(boxed)) = (of(Middle::Htb), of(Middle::Box)) {
                let ratio = htb / boxed;
                say(
                    &format!("packets per core beside backlogged HTB, 1000 leaves, {name} bytes"),
                    ratio,
                    "",
                    ratio >= 1.0,
                    ">= 1.0",
                );
            }
            if let (Some(rings), Some(sockets)) = (of(Middle::Box), of(Middle::BoxXdp)) {
                println!(
                    "        packets per core with AF_XDP beside packet rings, 1000 stations, {name} bytes: {:.2}",
                    rings / sockets
                );
            }
            let of = |stations| self.path_ns.get(&(Middle::Box, stations, len, true));
            if let (Some(few), Some(many)) = (of(10), of(50_000)) {
                let ratio = few / many;
                say(&format!("50,000 stations beside 10, {name} bytes"), ratio, "", ratio >= 0.8, ">= 0.8");
            }
            if let Some(served) = self.served.get(&(Middle::Box, 50_000, len)) {
                let what = format!("delivered of the service rate, 50,000 backlogged stations, {name} bytes");
                say(&what, 100.0 * served, " %", *served >= 0.98, ">= 98 %");
            }
        }
        for &(percent, added) in &self.added {
            say(&format!("added latency, p99, at {percent:.0} %"), added, " us", added <= 150.0, "<= 150 us");
        }
        if let Some(idle) = self.idle {
            say("idle box", 100.0 * idle, " % of a core", idle < 0.03, "< 3 %");
        }
        if let Some(&kpps) = self.highest.get(&(Middle::Managed, SIZES[0].0)) {
            say("all management, default I/O, at most 0.5 % lost", kpps, " kpps", kpps >= 350.0, ">= 350 kpps");
        }
        for Watched { by, stations, loop_ratio, p99_us: [alone, beside], slices, lost, web } in &self.watched {
            let beside_them = |what: &str| format!("{what}, beside {by}");
            say(&beside_them("CPU time of the loop"), *loop_ratio, " of that alone", *loop_ratio <= 1.03, "<= 1.03");
            let bound = 1.2 * alone + 10.0;
            say(
                &beside_them("latency, p99"),
                *beside,
                " us",
                *beside <= bound,
                &format!("<= {bound:.0} us: 1.2 x + 10 us"),
            );
            say(&beside_them("packets lost"), *lost as f64, "", *lost == 0, "none");
            say(
                &beside_them("longest stop for the state, in CPU time"),
                slices.cpu_us,
                " us",
                slices.cpu_us <= 100.0,
                "<= 100 us",
            );
            let bound = if *stations <= 256 { 0.5 } else { 2.0 };
            say(
                &beside_them("copying the state, in CPU time"),
                slices.sum_ms,
                " ms a second",
                slices.sum_ms <= bound,
                &format!("<= {bound} ms a second"),
            );
            say(&beside_them("memory of evenair-web at most"), web.most_mb, " MB", web.most_mb <= 256.0, "<= 256 MB");
            say(
                &beside_them("evenair-web answers after it hung"),
                web.answers_after_s,
                " s",
                web.answers_after_s <= 10.0,
                "<= 10 s",
            );
        }
        for (what, ratio) in &self.shards {
            say(&format!("two shards beside one, {what}"), *ratio, "", *ratio >= 1.5, ">= 1.5");
        }
        met
    }
}
