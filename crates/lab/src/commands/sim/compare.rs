//! `evenair sim compare`: differences between two variants.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use evenair_report::{Difference, Page, Picture, differences};
use evenair_scenario::sweep::Settings;
use evenair_study::{
    Comparison, Plan, Store, SweepResult, compare, comparison_table, description, variants_description,
};
use serde_json::json;

use super::super::library::scenario_file;
use super::super::scenario_run::key_and_value;
use super::many::{Many, document, interrupted, print_status};
use crate::output;

/// Number of printed differences, the largest first.
const SHOWN: usize = 20;
/// Most measures that a picture can hold and still be read.
const DRAWN: usize = 40;

/// Arguments of `evenair sim compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// The first variant's scenario: a file, or the name of one in `evenair scenario list`
    first: PathBuf,
    /// The second variant's scenario [default: the same]
    second: Option<PathBuf>,
    /// Replace a value in the first variant
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    a: Vec<(String, String)>,
    /// Replace a value in the second variant
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    b: Vec<(String, String)>,
    /// Pairs of runs, each with the same seed
    #[arg(long, default_value = "20", value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    replications: u32,
    #[command(flatten)]
    many: Many,
}

/// Compares two variants.
pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    let first = &scenario_file(&args.first)?;
    let second = &args.second.as_deref().map_or_else(|| Ok(first.clone()), scenario_file)?;
    let both = args.many.settings();
    let settings = |own: &Settings| -> Settings { both.iter().chain(own).cloned().collect() };
    let (a, b) = (settings(&args.a), settings(&args.b));
    if second == first && a == b {
        bail!("the two variants are the same: name two files, or say --a KEY=VALUE or --b KEY=VALUE");
    }
    let program = evenair_study::program();
    let plan = Plan::pair([(first, &a), (second, &b)], args.replications, program)?;
    let mut about = description(&plan, &args.many.settings(), output::VERSION);
    about["compare"] = json!({ "a": args.a, "b": args.b });
    about["program"] = json!(plan.program);
    about["variants"] = variants_description(&plan);
    let directory = args.many.directory(&plan, "compare", &about)?;
    let mut store = Store::open(&directory.join("runs.jsonl"))?;
    let status = args.many.run(&plan, &mut store)?;
    let comparisons = compare(&plan, &store);
    let table = comparison_table(&comparisons);

    let text = document(&plan, &status, "measures", &table)?;
    output::write_file(&directory, "compare.json", text.as_bytes())?;
    output::write_table(&directory, "compare", &table)?;
    output::write_rows(&directory, &plan, &store, &SweepResult::collect(&plan, &store))?;
    let facts = format!(
        "A: {}; B: {}; {} pairs of runs with the same seeds; mean difference and its 95 % confidence interval",
        variant(first, &args.a),
        variant(second, &args.b),
        plan.replications
    );
    let picture = picture("B against A", "mean of pairs and its 95 % confidence interval", &comparisons);
    let mut page = Page::new(&format!("{}: B against A", plan.title), &facts);
    let failure = |run: &evenair_study::PlannedRun| Some(format!("seed {}: {}", run.seed, store.failure(&run.key)?));
    let failed: Vec<_> = plan.runs().iter().filter_map(failure).collect();
    page.verdict("All runs ended well.", "Some runs failed; they and their pairs are left out:", &failed);
    picture.iter().for_each(|picture| page.picture(picture));
    page.table("Measures", &table);
    output::write_pictures(&directory, picture.as_slice())?;
    output::write_file(&directory, "report.html", page.finish().as_bytes())?;

    if args.many.json {
        print!("{text}");
    } else {
        print_status(&status);
        println!("{facts}\n");
        print_differences(&comparisons);
        println!(
            "results: {} (compare.csv, compare.parquet, runs.parquet, points_long.parquet, compare.json, report.html)",
            directory.display()
        );
    }
    if !status.is_complete() {
        return Ok(interrupted(&directory));
    }
    if let Some(first) = failed.first() {
        bail!("{} runs failed; {first}", failed.len());
    }
    Ok(ExitCode::SUCCESS)
}

/// A variant as text.
fn variant(file: &std::path::Path, settings: &Settings) -> String {
    let settings: String = settings.iter().map(|(key, value)| format!(" {key}={value}")).collect();
    format!("{}{settings}", file.file_stem().unwrap_or_default().to_string_lossy())
}

/// Prints the significant differences, those of single flows and stations last.
fn print_differences(comparisons: &[Comparison]) {
    let mut significant: Vec<_> = comparisons.iter().filter(|comparison| comparison.is_significant()).collect();
    significant.sort_by_key(|comparison| comparison.name.matches('.').count() > 2);
    if significant.is_empty() {
        println!("no measure of {} differs significantly", comparisons.len());
    } else {
        println!("{} of {} measures differ significantly:", significant.len(), comparisons.len());
    }
    for comparison in significant.iter().take(SHOWN) {
        let Comparison { name, a, b, difference, half_width, .. } = comparison;
        let half_width = half_width.unwrap_or_default();
        println!("  {name:<44} {a:>10.4} -> {b:>10.4}   {difference:>+10.4} ± {half_width:.4}");
    }
    if significant.len() > SHOWN {
        println!("  and {} more", significant.len() - SHOWN);
    }
}

/// The differences in percent, as a picture. With too many measures, those of single flows and stations are left out.
fn picture(title: &str, subtitle: &str, comparisons: &[Comparison]) -> Option<Picture> {
    let is_single = |name: &str| [".flow.", ".station.", ".airtime.", ".loss."].iter().any(|part| name.contains(part));
    let few = comparisons.len() <= DRAWN;
    let shown = comparisons.iter().filter(|c| few || !is_single(&c.name)).filter_map(|comparison| {
        Some(Difference {
            label: comparison.name.clone(),
            percent: comparison.percent(comparison.difference)?,
            half_width: comparison.percent(comparison.half_width?)?,
            significant: comparison.is_significant(),
        })
    });
    differences("differences", title, subtitle, &shown.take(DRAWN).collect::<Vec<_>>())
}
