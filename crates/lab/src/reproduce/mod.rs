//! `evenair reproduce`: every published experiment in the simulator, and the status of each published value.
//!
//! The set-up of an experiment and its published values are in its scenario file; each `[[published]]` entry with an `id` gets a
//! status. Variants and the computation of our numbers are in a module per source ([`adwiser`], [`adwiser_physical`],
//! [`uplink`], [`uplink_limit`], [`uplink_appendix`], [`las_ack`], [`whtb`], [`inter_layer`], [`location`], [`receiver`],
//! [`load`], [`access_points`]; [`ours`] and [`disturbed`] have Evenair's own promises), with two functions per experiment.
//! [`judge`] has the rules.
//!
//! The table in docs/reproduction.md is this command's output. It also lists what is known to be outside: the command fails if
//! something else is outside, or if more than a tenth of the figures are explained.

mod access_points;
mod adwiser;
mod adwiser_physical;
mod disturbed;
mod formula;
mod inter_layer;
mod judge;
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
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_scenario::Scenario;

use judge::{Judge, Judged, Verdict, is_figure};
use runs::{Runs, Variant, Work, run_all};

/// Maximum proportion of explained figures.
const EXPLAINED_AT_MOST: f64 = 0.10;
/// Number of seeds per variant in the short form, in which a mean may leave the band by chance.
const SHORT_SEEDS: u64 = 6;
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
    /// Write the table to this file
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// Every experiment, in the order of the sources.
fn all() -> Vec<Experiment> {
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
    let judged = run(&experiments, args.short)?;
    print!("{}", table::text(&judged));
    let whole = args.ids.is_empty() && !args.short;
    let lost = lost(&judged, whole, COMMITTED, table::REASONS);
    match &args.write {
        // Otherwise the next call would take it as the reference.
        Some(path) if !lost.is_empty() => eprintln!("{} is not written", path.display()),
        Some(path) => std::fs::write(path, table::markdown(&judged))?,
        None => {}
    }
    let problems: Vec<_> = lost.into_iter().chain(problems(&judged, whole, COMMITTED)).collect();
    for problem in &problems {
        eprintln!("{problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn scenario(experiment: &Experiment) -> Result<Scenario> {
    Ok(Scenario::parse(experiment.text, experiment.file)?)
}

/// Runs the experiments, with few seeds if `short`, and returns the statuses.
fn run(experiments: &[Experiment], short: bool) -> Result<Vec<Judged>> {
    let work: Vec<_> = experiments
        .iter()
        .map(|experiment| {
            let mut variants = (experiment.variants)();
            for variant in variants.iter_mut().filter(|_| short) {
                variant.seeds = variant.seeds.min(SHORT_SEEDS);
            }
            Work { text: experiment.text, file: experiment.file, variants }
        })
        .collect();
    let shows = std::io::stderr().is_terminal();
    let outcomes = run_all(&work, |done, of| {
        if shows {
            eprint!("\r{done} of {of} runs ");
            let _ = std::io::stderr().flush();
        }
    })?;
    if shows {
        eprintln!();
    }
    let mut judged = Vec::new();
    for (experiment, runs) in experiments.iter().zip(&outcomes) {
        let published = scenario(experiment)?.published;
        let judge = Judge::new(experiment.id, &published);
        let mut judge = if short { judge.by_means() } else { judge };
        (experiment.judge)(runs, &mut judge);
        judged.extend(judge.finish());
    }
    Ok(judged)
}

/// Rows that were within, are not any more, and have no entry in the reasons: a rewritten table alone does not excuse them.
fn lost(judged: &[Judged], whole: bool, committed: &str, reasons: &str) -> Vec<String> {
    // With few seeds a run may not be precise enough to explain or to fit.
    let is_lost = |judged: &&Judged| match judged.verdict {
        Verdict::Within => false,
        Verdict::Outside => true,
        _ => whole,
    };
    let was_within = |judged: &&Judged| table::verdict_in(committed, &judged.name) == Some(Verdict::Within);
    let has_reason = |judged: &&Judged| reasons.contains(&format!("`{}`", judged.name));
    let lost = judged.iter().filter(is_lost).filter(was_within).filter(|judged| !has_reason(judged));
    let say = |judged: &Judged| {
        let word = judged.verdict.word();
        format!(
            "{} was within and is {word}: if that is right, crates/lab/src/reproduce/reasons.md says why",
            judged.name
        )
    };
    lost.map(say).collect()
}

/// Other reasons for the command to fail.
fn problems(judged: &[Judged], whole: bool, committed: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for judged in judged.iter().filter(|judged| judged.verdict == Verdict::Outside) {
        let known = table::verdict_in(committed, &judged.name);
        // With few seeds a run may not be precise enough to explain or to fit.
        let excused = known.is_some_and(|known| match known {
            // Values that were within are reported by `lost`.
            Verdict::Outside | Verdict::Within => true,
            _ => !whole,
        });
        if !excused {
            problems.push(format!("{} is outside, and was not in docs/reproduction.md", judged.name));
        }
    }
    let figures = || judged.iter().filter(|judged| is_figure(&judged.published));
    let explained = figures().filter(|judged| judged.verdict == Verdict::Explained).count();
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

    fn judged(name: &str, figure: bool, verdict: Verdict) -> Judged {
        let what = if figure { Quantity::Figure } else { Quantity::Finding };
        let (phase, value, unit, id, at) = (None, None, String::new(), None, None);
        let published = Published { what, phase, value, unit, note: String::new(), id, at };
        Judged { name: name.into(), published, verdict, evidence: Vec::new(), mark: None }
    }

    #[test]
    fn values_that_leave_their_band_need_a_reason() {
        let known = table::markdown(&[judged("a/x", true, Verdict::Within), judged("a/y", true, Verdict::Explained)]);
        let now = |verdict| [judged("a/x", true, verdict), judged("a/y", true, Verdict::Outside)];
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
        let known = table::markdown(&[judged("a/x", true, Verdict::Outside), judged("a/y", true, Verdict::Within)]);
        let open = [judged("a/x", true, Verdict::Outside), judged("a/y", true, Verdict::Outside)];
        assert!(problems(&open, true, &known).is_empty());
        let new = [judged("a/z", true, Verdict::Outside)];
        assert_eq!(problems(&new, true, &known), ["a/z is outside, and was not in docs/reproduction.md"]);
        assert!(problems(&open[..1], true, &known).is_empty());
        let explained = table::markdown(&[judged("a/x", true, Verdict::Explained)]);
        assert_eq!(problems(&open[..1], true, &explained).len(), 1);
        assert!(problems(&open[..1], false, &explained).is_empty());
        let mut figures: Vec<_> = (0..10).map(|n| judged(&format!("a/{n}"), true, Verdict::Within)).collect();
        figures[0].verdict = Verdict::Explained;
        figures.push(judged("a/words", false, Verdict::Explained));
        assert!(problems(&figures, true, "").is_empty());
        figures[1].verdict = Verdict::Explained;
        assert_eq!(problems(&figures, true, "").len(), 1);
        assert!(problems(&figures, false, "").is_empty(), "a part of the experiments is no measure of it");
    }
}
