//! The document.

use std::fmt::Write;

use crate::published::{Discipline, PLACES, Pair, TABLES, error};
use crate::settings::{self, BEST_KBPS, Burst, Job, Setting, TODAY};
use crate::sweep::{Cell, Outcome, Places, Runs, cells, mean, published, run, run_all};
use crate::{Args, Failure, law};

/// Length of the source's runs.
const SECONDS: f64 = 81.92;
const SWEPT: [Discipline; 2] = [Discipline::Htb, Discipline::Whtb];
/// Estimates of the second station's channel, over its true goodput.
const TOO_GOOD: [f64; 9] = [0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0];

const LEGEND: &str = "\
What Garroppo, Giordano, Lucetti and Valori published of HTB and WHTB (\"The Wireless Hierarchical Token Bucket\", Tables 1 and 2)
beside the simulator with every combination of what they leave open of their Linux and their card. The places of the second
station are known in two ways: by the column of DRR, for each table on its own, and by the column that is compared. A pair is the goodput of the first and the second station, kb/s.

- driver: packets in the card below the queue.
- tick: step of the clock that fills the buckets. A timer of the discipline exists besides only in that it waits for this clock.
- burst: what both buckets hold, in packets of 1052 bytes (50 make DRR of a tree); \"tc\" is the rate for a tick and 1600 bytes, as `tc` gives it.
- quantum: part of a second at the rate; the source has 1/10.
- error: the larger relative error of the two goodputs; of a table or discipline, that of its worst cell. A goodput of 0 has to be met by
  1 kb/s at most.

";

/// Which cells a column of errors is about.
type Group = (&'static str, fn(Cell) -> bool);

const GROUPS: [Group; 7] = [
    ("HTB 4:1", |cell| cell.table == 0 && cell.of == Discipline::Htb),
    ("HTB 1:1", |cell| cell.table == 1 && cell.of == Discipline::Htb),
    ("HTB", |cell| cell.of == Discipline::Htb),
    ("WHTB 4:1", |cell| cell.table == 0 && cell.of == Discipline::Whtb),
    ("WHTB 1:1", |cell| cell.table == 1 && cell.of == Discipline::Whtb),
    ("WHTB", |cell| cell.of == Discipline::Whtb),
    ("all", |_| true),
];

/// Runs everything, and writes what came of it.
pub fn markdown(args: Args) -> Result<String, Failure> {
    let at_length = Runs { places: Places::ByDrr, seconds: SECONDS, seeds: args.seeds };
    let drr = run(&[TODAY], &cells(&[Discipline::Drr]), at_length)?;
    let mut text = LEGEND.to_owned();
    text += &bounds(&drr[0]);
    text += &alone();
    text += &swept(args, Places::ByDrr)?;
    text += &swept(args, Places::ByItself)?;
    for setting in [TODAY, Setting { burst: Burst::Packets(50), ..TODAY }] {
        text += &estimates(setting, args.seeds)?;
    }
    Ok(text)
}

/// All settings with the places known in one way.
fn swept(args: Args, places: Places) -> Result<String, Failure> {
    let runs = Runs { places, seconds: args.seconds, seeds: 1 };
    let outcomes = run(&settings::all(), &cells(&SWEPT), runs)?;
    let mut kept = vec![TODAY];
    for (_, is_asked) in GROUPS {
        let setting = nearest(&outcomes, is_asked).setting;
        if !kept.contains(&setting) {
            kept.push(setting);
        }
    }
    let at_length = Runs { seconds: SECONDS, seeds: args.seeds, ..runs };
    let mut text = match places {
        Places::ByDrr => "\n## Places by the columns of DRR\n".to_owned(),
        Places::ByItself => {
            "\n## Places by the discipline's own columns\n\nOne of the two goodputs of a cell is spent on its place: \
            what remains to be met is how they share. Out of range is the same as above.\n"
                .to_owned()
        }
    };
    text += &ranges(&outcomes, runs);
    if places == Places::ByItself {
        text += &law::markdown(&outcomes, Args { seconds: SECONDS, ..args })?;
    }
    text += &one_by_one(&outcomes);
    text += &lengths(&run(&kept, &cells(&SWEPT), at_length)?, at_length);
    Ok(text)
}

fn nearest(outcomes: &[Outcome], is_asked: fn(Cell) -> bool) -> &Outcome {
    let by_error = |a: &&Outcome, b: &&Outcome| a.worst(is_asked).0.total_cmp(&b.worst(is_asked).0);
    outcomes.iter().min_by(by_error).expect("there are settings")
}

/// A row of a table.
pub fn line(text: &mut String, columns: &[String]) {
    let _ = writeln!(text, "| {} |", columns.join(" | "));
}

/// The heads of a table.
pub fn heads(text: &mut String, heads: &str) {
    let _ = writeln!(text, "| {heads} |\n|{}", "---|".repeat(heads.split(" | ").count()));
}

fn pair([one, two]: Pair) -> String {
    format!("{one:.0}/{two:.0}")
}

fn percent(part: f64) -> String {
    if part.is_finite() { format!("{:.0} %", 100.0 * part) } else { "not 0".to_owned() }
}

fn cell(cell: Cell) -> [String; 3] {
    let Cell { table, place, of } = cell;
    [TABLES[table].share.to_owned(), PLACES[place].to_owned(), of.name().to_owned()]
}

/// How near any scheduler can come.
fn bounds(drr: &Outcome) -> String {
    let mut text = "## What no setting can meet\n\n\
        DRR's pair tells what the second station gets alone at a place, and both stations of DRR together, where both channels are good, \
        what the first does. A pair of another scheduler then takes a known part of the medium's time. More than 1 is out of reach of every \
        scheduler: the error is then at least what scales both goodputs down to 1. Out of range nothing tells what the second takes.\n\n"
        .to_owned();
    heads(
        &mut text,
        "share | place | signal | DRR published | DRR here | HTB takes | error at least | WHTB takes | error at least",
    );
    for &(at, ours) in &drr.cells {
        let Cell { table, place, .. } = at;
        let [share, name, _] = cell(at);
        let mut columns = vec![share, name, format!("{:.3} dB", TABLES[table].snr_db(place, Discipline::Drr))];
        columns.extend([pair(published(at)), pair(ours)]);
        for of in SWEPT {
            let taken = TABLES[table].time_taken(place, Discipline::Drr, published(Cell { of, ..at }));
            columns.push(taken.map_or("-".to_owned(), |taken| format!("{taken:.2}")));
            columns.push(TABLES[table].least_error(place, of).map_or("-".to_owned(), percent));
        }
        line(&mut text, &columns);
    }
    text
}

/// What the second station gets alone at the places of each column.
fn alone() -> String {
    let mut text = "\n## What the second station got alone, kb/s\n\nIf a pair takes all of the medium's time. The same words are not the \
        same places from column to column.\n\n"
        .to_owned();
    heads(&mut text, "place | DRR 4:1 | DRR 1:1 | HTB 4:1 | HTB 1:1 | WHTB 4:1 | WHTB 1:1");
    for (place, name) in PLACES.iter().enumerate().take(4).skip(1) {
        let mut columns = vec![(*name).to_owned()];
        for of in [Discipline::Drr, Discipline::Htb, Discipline::Whtb] {
            columns
                .extend(TABLES.iter().map(|table| format!("{:.0}", table.alone(place, of).expect("it is in range"))));
        }
        line(&mut text, &columns);
    }
    text
}

/// What the settings do in each cell.
fn ranges(outcomes: &[Outcome], runs: Runs) -> String {
    let mut text = format!(
        "\n### Each cell on its own\n\nOver all {} settings, {} s each: the goodputs that occur, the part of the medium's time that both take \
         (as above), and the error of the setting that is nearest in this cell alone.\n\n",
        outcomes.len(),
        runs.seconds
    );
    let columns = "share | place | discipline | published | first, kb/s | second, kb/s | time taken | published takes | least error";
    heads(&mut text, &format!("{columns} | {}", settings::HEADS));
    for at in cells(&SWEPT) {
        let pairs = || outcomes.iter().map(|outcome| outcome.at(at));
        let range = |of: &dyn Fn(Pair) -> f64, digits: usize| {
            let (least, most) = pairs().map(of).fold((f64::INFINITY, 0.0), |(low, high), x| (x.min(low), x.max(high)));
            format!("{least:.digits$} to {most:.digits$}")
        };
        let best = outcomes.iter().min_by(|a, b| {
            let of = |outcome: &Outcome| error(outcome.at(at), published(at));
            of(a).total_cmp(&of(b))
        });
        let best = best.expect("there are settings");
        let time = |pair| TABLES[at.table].time_taken(at.place, runs.places.of(at.of), pair);
        let mut columns = cell(at).to_vec();
        columns.extend([pair(published(at)), range(&|[one, _]| one, 0), range(&|[_, two]| two, 0)]);
        columns.push(match time([0.0, 0.0]) {
            Some(_) => range(&|pair| time(pair).unwrap_or(0.0), 2),
            None => "-".to_owned(),
        });
        columns.push(time(published(at)).map_or("-".to_owned(), |taken| format!("{taken:.2}")));
        columns.extend([percent(error(best.at(at), published(at))), best.setting.to_string()]);
        line(&mut text, &columns);
    }
    text
}

/// The errors in each group of cells.
fn errors(outcome: &Outcome) -> Vec<String> {
    GROUPS.iter().map(|(_, is_asked)| percent(outcome.worst(is_asked).0)).collect()
}

fn group_heads() -> String {
    GROUPS.map(|(name, _)| name).join(" | ")
}

/// What each key does.
fn one_by_one(outcomes: &[Outcome]) -> String {
    let mut text =
        "\n### One key after the other\n\nErrors with the setting of the scenarios, and with one key of it changed.\n\n"
            .to_owned();
    heads(&mut text, &format!("key | {} | {}", settings::HEADS, group_heads()));
    for (key, setting) in settings::one_by_one() {
        let outcome = outcomes.iter().find(|outcome| outcome.setting == setting).expect("all were run");
        let mut columns = vec![key.to_owned(), setting.to_string()];
        columns.extend(errors(outcome));
        line(&mut text, &columns);
    }
    text
}

/// The nearest settings, as long as the source ran.
fn lengths(outcomes: &[Outcome], runs: Runs) -> String {
    let mut text = format!(
        "\n### The nearest settings\n\nThe setting of the scenarios, and those of the sweep that are nearest in a table, in both tables of a \
         discipline, and in all, {SECONDS} s with {} seeds each.\n\n",
        runs.seeds
    );
    heads(&mut text, &format!("{} | {} | worst cell", settings::HEADS, group_heads()));
    for outcome in outcomes {
        let mut columns = vec![outcome.setting.to_string()];
        columns.extend(errors(outcome));
        columns.push(cell(outcome.worst(|_| true).1).join(" "));
        line(&mut text, &columns);
    }
    text += "\nTheir pairs, in the same order:\n\n";
    let numbers: Vec<String> = (1..=outcomes.len()).map(|number| number.to_string()).collect();
    heads(&mut text, &format!("share | place | discipline | published | {}", numbers.join(" | ")));
    for at in cells(&SWEPT) {
        let mut columns = cell(at).to_vec();
        columns.push(pair(published(at)));
        columns.extend(outcomes.iter().map(|outcome| pair(outcome.at(at))));
        line(&mut text, &columns);
    }
    text
}

/// How good the source's own estimates must have been.
fn estimates(setting: Setting, seeds: u64) -> Result<String, Failure> {
    let mut text = format!(
        "\n## How good the source took each channel for: {}\n\nWHTB ({}), and in place of the estimate by signal a constant one: what \
         the second station gets alone at the place by WHTB's own pair, times a factor; no more than the best channel's. The factor whose pair is \
         nearest to the published one is the error of the source's estimate, if nothing else differs.\n\n",
        if setting == TODAY { "the setting of the scenarios" } else { "bursts of 50 packets" },
        settings::HEADS
            .split(" | ")
            .zip(setting.to_string().split(" | "))
            .map(|(head, value)| format!("{head}: {value}"))
            .collect::<Vec<_>>()
            .join("; ")
    );
    let factors: Vec<String> = TOO_GOOD.iter().map(|factor| format!("times {factor}")).collect();
    heads(&mut text, &format!("share | place | true, kb/s | published | {} | nearest | error", factors.join(" | ")));
    for (table, place) in (0..TABLES.len()).flat_map(|table| (1..4).map(move |place| (table, place))) {
        let at = Cell { table, place, of: Discipline::Whtb };
        let true_kbps = TABLES[table].alone(place, Discipline::Whtb).expect("it is in range");
        let [share, name, _] = cell(at);
        let mut columns = vec![share, name, format!("{true_kbps:.0}"), pair(published(at))];
        let mut nearest = (f64::INFINITY, 0.0);
        for factor in TOO_GOOD {
            let kbps = ((true_kbps * factor) as u64).min(BEST_KBPS);
            let ours = estimated(at, setting, kbps, seeds)?;
            columns.push(pair(ours));
            let error = error(ours, published(at));
            if error < nearest.0 {
                nearest = (error, kbps as f64 / true_kbps);
            }
        }
        columns.extend([format!("times {:.2}", nearest.1), percent(nearest.0)]);
        line(&mut text, &columns);
    }
    Ok(text)
}

/// The pair with a constant estimate.
fn estimated(at: Cell, setting: Setting, kbps: u64, seeds: u64) -> Result<Pair, Failure> {
    let Cell { table, place, of: discipline } = at;
    let (table, estimate_kbps) = (&TABLES[table], Some(kbps));
    let job = |seed| Job { table, place, discipline, setting, seconds: SECONDS, seed, estimate_kbps, by: discipline };
    Ok(mean(&run_all(&(1..=seeds).map(job).collect::<Vec<_>>())?))
}
