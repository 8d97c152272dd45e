//! `evenair reproduce`: every published experiment in the simulator, and the status of each published value.
//!
//! The set-up of an experiment and its published values are in its scenario file; each `[[published]]` entry with an `id` gets a
//! status. Variants and the computation of our numbers are in a module per source ([`adwiser`], [`adwiser_physical`],
//! [`uplink`], [`uplink_limit`], [`uplink_appendix`], [`las_ack`], [`whtb`], [`inter_layer`], [`location`], [`receiver`],
//! [`load`], [`access_points`]; [`ours`] and [`disturbed`] have Evenair's own promises), with two functions per experiment.
//! [`judge`] has the rules.
//!
//! The table in docs/reproduction.md is this command's output. It also lists what is known to be outside: the command fails if
//! something else is outside, or if more than a tenth of the figures are explained. Until the table is written, [`kept`] has the
//! rows of each experiment that was run, so that an interrupted call goes on.

mod access_points;
mod adwiser;
mod adwiser_physical;
mod disturbed;
mod formula;
mod inter_layer;
mod judge;
mod kept;
mod las_ack;
mod load;
mod location;
mod ours;
mod quantities;
mod receiver;
mod runs;
mod table;
mod uplink;
mod uplink_appendix;
mod uplink_limit;
mod whtb;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_results::write_whole;
use evenair_scenario::Scenario;

use judge::{Judge, Verdict, is_figure};
use kept::{Found, Kept};
use runs::{Runs, Variant, Work, run_all};
use table::Row;

/// Maximum proportion of explained figures.
const EXPLAINED_AT_MOST: f64 = 0.10;
/// Number of seeds per variant in the short form, in which a mean may leave the band by chance.
const SHORT_SEEDS: u64 = 6;
/// Folder of the rows of an interrupted call.
const KEPT: &str = "results/reproduce";
/// The committed table: values that are outside in it may be so.
const COMMITTED: &str = include_str!("../../../../docs/reproduction.md");

/// One published experiment.
pub struct Experiment {
    /// The source's number of the experiment, for the command line.
    pub id: &'static str,
    /// Path of its scenario below `scenarios/`.
    pub file: &'static str,
    /// Text of the scenario.
    pub text: &'static str,
    /// Whether the short form includes it.
    pub in_short: bool,
    /// The variants to run.
    pub variants: fn() -> Vec<Variant>,
    /// Computes the evidence from the runs.
    pub judge: fn(&Runs, &mut Judge<'_>),
}

/// An experiment with the functions `ID::variants` and `ID::judge`, and the text of its file.
macro_rules! experiment {
    ($module:ident, $file:literal, $in_short:literal) => {
        $crate::reproduce::Experiment {
            id: stringify!($module),
            file: concat!("scenarios/", $file),
            text: include_str!(concat!("../../../../scenarios/", $file)),
            in_short: $in_short,
            variants: $module::variants,
            judge: $module::judge,
        }
    };
}
use experiment;

/// How experiments are reproduced.
#[derive(Args)]
pub struct ReproduceArgs {
    /// Experiments, such as a01 r03; all of them without
    ids: Vec<String>,
    /// Name the experiments and run nothing
    #[arg(long)]
    list: bool,
    /// A few of them with few seeds, in a minute or two
    #[arg(long)]
    short: bool,
    /// Write the table to this file; after an interruption, the same call goes on from the experiments in results/reproduce
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// Every experiment, in the order of the sources.
pub fn all() -> Vec<Experiment> {
    let sources = [
        adwiser::all(),
        adwiser_physical::all(),
        uplink::all(),
        uplink_limit::all(),
        uplink_appendix::all(),
        las_ack::all(),
        whtb::all(),
        inter_layer::all(),
        location::all(),
        receiver::all(),
        load::all(),
        access_points::all(),
        ours::all(),
        disturbed::all(),
    ];
    sources.into_iter().flatten().collect()
}

/// Runs the experiments and prints the statuses.
pub fn reproduce(args: &ReproduceArgs) -> Result<ExitCode> {
    let mut experiments = all();
    if let Some(unknown) = args.ids.iter().find(|id| experiments.iter().all(|known| known.id != id.as_str())) {
        bail!("there is no experiment \"{unknown}\"; \"evenair reproduce --list\" names them");
    }
    experiments.retain(|experiment| {
        let named = args.ids.iter().any(|id| id == experiment.id);
        named || args.ids.is_empty() && (experiment.in_short || !args.short)
    });
    if args.list {
        for experiment in &experiments {
            println!("{:<4} {}  ({})", experiment.id, scenario(experiment)?.title, experiment.file);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let kept = match args.write {
        Some(_) => Some(Kept::new(Path::new(KEPT), args.short)?),
        None => None,
    };
    let rows = run(&experiments, args.short, kept.as_ref())?;
    print!("{}", table::text(&rows));
    let whole = args.ids.is_empty() && !args.short;
    let lost = lost(&rows, whole, COMMITTED, table::REASONS);
    match &args.write {
        // Otherwise the next call would take it as the reference.
        Some(path) if !lost.is_empty() => eprintln!("{} is not written", path.display()),
        Some(path) => write_whole(path, table::markdown(&rows).as_bytes())?,
        None => {}
    }
    if let Some(kept) = &kept {
        kept.remove(&experiments)?;
    }
    let problems: Vec<_> = lost.into_iter().chain(problems(&rows, whole, COMMITTED)).collect();
    for problem in &problems {
        eprintln!("{problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn scenario(experiment: &Experiment) -> Result<Scenario> {
    Ok(Scenario::parse(experiment.text, experiment.file)?)
}

/// Runs the experiments, with few seeds if `short`, and returns the statuses. Those whose rows `kept` has are not run; it
/// gets those of the others, of each as soon as its runs have ended.
fn run(experiments: &[Experiment], short: bool, kept: Option<&Kept>) -> Result<Vec<Row>> {
    let find = |experiment: &Experiment| kept.map_or(Ok(Found::Nothing), |kept| kept.find(experiment.id));
    let found = experiments.iter().map(find).collect::<Result<Vec<_>>>()?;
    say("taken from", experiments, &found, |found| matches!(found, Found::Rows(_)));
    say("run again, as another program left them in", experiments, &found, |found| *found == Found::OfAnother);
    let is_to_run = |(_, found): &(&Experiment, &Found)| !matches!(found, Found::Rows(_));
    let to_run: Vec<_> = experiments.iter().zip(&found).filter(is_to_run).map(|(experiment, _)| experiment).collect();
    let work = |experiment: &&Experiment| {
        let mut variants = (experiment.variants)();
        for variant in variants.iter_mut().filter(|_| short) {
            variant.seeds = variant.seeds.min(SHORT_SEEDS);
        }
        Work { text: experiment.text, file: experiment.file, variants }
    };
    let work: Vec<_> = to_run.iter().map(work).collect();
    let shows = std::io::stderr().is_terminal();
    let done = |done, of| {
        if shows {
            eprint!("\r{done} of {of} runs ");
            let _ = std::io::stderr().flush();
        }
    };
    let judge = |number: usize, runs: &Runs| {
        let rows = judged(to_run[number], runs, short)?;
        if let Some(kept) = kept {
            kept.keep(to_run[number].id, &rows)?;
        }
        Ok(rows)
    };
    let mut new = run_all(&work, done, judge)?.into_iter();
    if shows {
        eprintln!();
    }
    let rows = found.into_iter().flat_map(|found| match found {
        Found::Rows(rows) => rows,
        _ => new.next().expect("what was not found was run"),
    });
    Ok(rows.collect())
}

/// Says which experiments were found so.
fn say(what: &str, experiments: &[Experiment], found: &[Found], is_so: fn(&Found) -> bool) {
    let those = experiments.iter().zip(found).filter(|(_, found)| is_so(found));
    let ids: Vec<_> = those.map(|(experiment, _)| experiment.id).collect();
    if !ids.is_empty() {
        eprintln!("{what} {KEPT}: {}", ids.join(" "));
    }
}

fn judged(experiment: &Experiment, runs: &Runs, short: bool) -> Result<Vec<Row>> {
    let published = scenario(experiment)?.published;
    let judge = Judge::new(experiment.id, &published);
    let mut judge = if short { judge.by_means() } else { judge };
    (experiment.judge)(runs, &mut judge);
    Ok(judge.finish().into_iter().map(Row::from).collect())
}

/// Rows that were within, are not any more, and have no entry in the reasons: a rewritten table alone does not excuse them.
fn lost(rows: &[Row], whole: bool, committed: &str, reasons: &str) -> Vec<String> {
    // With few seeds a run may not be precise enough to explain or to fit.
    let is_lost = |row: &&Row| match row.verdict {
        Verdict::Within => false,
        Verdict::Outside => true,
        _ => whole,
    };
    let was_within = |row: &&Row| table::verdict_in(committed, &row.name) == Some(Verdict::Within);
    let has_reason = |row: &&Row| reasons.contains(&format!("`{}`", row.name));
    let lost = rows.iter().filter(is_lost).filter(was_within).filter(|row| !has_reason(row));
    let say = |row: &Row| {
        let word = row.verdict.word();
        format!("{} was within and is {word}: if that is right, crates/lab/src/reproduce/reasons.md says why", row.name)
    };
    lost.map(say).collect()
}

/// Other reasons for the command to fail.
fn problems(rows: &[Row], whole: bool, committed: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for row in rows.iter().filter(|row| row.verdict == Verdict::Outside) {
        let known = table::verdict_in(committed, &row.name);
        // With few seeds a run may not be precise enough to explain or to fit.
        let excused = known.is_some_and(|known| match known {
            // Values that were within are reported by `lost`.
            Verdict::Outside | Verdict::Within => true,
            _ => !whole,
        });
        if !excused {
            problems.push(format!("{} is outside, and was not in docs/reproduction.md", row.name));
        }
    }
    let figures = || rows.iter().filter(|row| is_figure(&row.published));
    let explained = figures().filter(|row| row.verdict == Verdict::Explained).count();
    if whole && explained as f64 > EXPLAINED_AT_MOST * figures().count() as f64 {
        problems.push(format!("{explained} of {} figures are explained; a tenth may be", figures().count()));
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use evenair_scenario::{Published, Quantity};

    use super::*;

    /// Every value that a scenario file publishes with an id, by its full name.
    fn names() -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for experiment in all() {
            let scenario = scenario(&experiment).expect("scenario files are sound");
            let ids: Vec<_> = scenario.published.into_iter().filter_map(|published| published.id).collect();
            assert!(!ids.is_empty(), "{} publishes nothing", experiment.file);
            for id in ids {
                assert!(names.insert(format!("{}/{id}", experiment.id)), "{}/{id} twice", experiment.id);
            }
        }
        names
    }

    #[test]
    fn the_committed_table_has_what_the_scenario_files_publish() {
        let names = names();
        let rows: BTreeSet<_> = table::names_in(COMMITTED).map(str::to_owned).collect();
        assert_eq!(rows, names, "write it anew: make reproduction");
    }

    #[test]
    fn every_variant_is_a_sound_scenario_and_labels_come_once() {
        for experiment in all() {
            let mut labels = BTreeSet::new();
            for variant in (experiment.variants)() {
                assert!(labels.insert(variant.label.clone()), "{}: \"{}\" twice", experiment.id, variant.label);
                assert!(variant.seeds > 0);
                if let Err(error) = variant.scenario(experiment.text, experiment.file, 0) {
                    panic!("{error:#}");
                }
            }
        }
    }

    #[test]
    fn quantities_are_of_rows_that_are_published() {
        let names = names();
        assert_eq!(quantities::rows().filter(|row| !names.contains(*row)).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn ids_are_of_their_files() {
        for experiment in all() {
            let file = experiment.file.rsplit('/').next().expect("a path");
            assert!(file.starts_with(&format!("{}-", experiment.id)), "{} is not {file}", experiment.id);
        }
    }

    fn row(name: &str, figure: bool, verdict: Verdict) -> Row {
        let what = if figure { Quantity::Figure } else { Quantity::Finding };
        let (phase, value, unit, id, at) = (None, None, String::new(), None, None);
        let published = Published { what, phase, value, unit, note: String::new(), id, at };
        Row { name: name.into(), published, verdict, ours: Vec::new() }
    }

    #[test]
    fn values_that_leave_their_band_need_a_reason() {
        let known = table::markdown(&[row("a/x", true, Verdict::Within), row("a/y", true, Verdict::Explained)]);
        let now = |verdict| [row("a/x", true, verdict), row("a/y", true, Verdict::Outside)];
        for verdict in [Verdict::Outside, Verdict::Inconsistent, Verdict::Explained, Verdict::Fitted] {
            let lost_of_all = lost(&now(verdict), true, &known, "| `a/xy` | of another row |");
            assert_eq!(lost_of_all.len(), 1, "{verdict:?}: {lost_of_all:?}");
            assert!(lost_of_all[0].starts_with("a/x was within and is "), "{lost_of_all:?}");
            assert!(lost(&now(verdict), true, &known, "| `a/x` | the source was read again |").is_empty());
            assert_eq!(lost(&now(verdict), false, &known, "").len(), usize::from(verdict == Verdict::Outside));
        }
        assert!(lost(&now(Verdict::Within), true, &known, "").is_empty());
    }

    #[test]
    fn new_values_outside_and_too_many_explained_ones_fail() {
        let known = table::markdown(&[row("a/x", true, Verdict::Outside), row("a/y", true, Verdict::Within)]);
        let open = [row("a/x", true, Verdict::Outside), row("a/y", true, Verdict::Outside)];
        assert!(problems(&open, true, &known).is_empty());
        let new = [row("a/z", true, Verdict::Outside)];
        assert_eq!(problems(&new, true, &known), ["a/z is outside, and was not in docs/reproduction.md"]);
        assert!(problems(&open[..1], true, &known).is_empty());
        let explained = table::markdown(&[row("a/x", true, Verdict::Explained)]);
        assert_eq!(problems(&open[..1], true, &explained).len(), 1);
        assert!(problems(&open[..1], false, &explained).is_empty());
        let mut figures: Vec<_> = (0..10).map(|n| row(&format!("a/{n}"), true, Verdict::Within)).collect();
        figures[0].verdict = Verdict::Explained;
        figures.push(row("a/words", false, Verdict::Explained));
        assert!(problems(&figures, true, "").is_empty());
        figures[1].verdict = Verdict::Explained;
        assert_eq!(problems(&figures, true, "").len(), 1);
        assert!(problems(&figures, false, "").is_empty(), "a part of the experiments is no measure of it");
    }
}
