//! `evenair results show`: describes a folder of results.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use evenair_results::in_words;
use evenair_scenario::sweep::Settings;
use evenair_study::{PointResult, SweepResult};
use serde_json::{Value, json};

use super::cite;
use super::folder::{Kept, KeptMany, KeptRun};
use crate::output::VERSION;

/// Maximum number of points printed; the folder's tables have all.
const POINTS_SHOWN: usize = 40;
/// Measures of a point that are printed, with or without a phase.
const MEASURES_SHOWN: [&str; 4] = ["total_ip_mbps", "up_ip_mbps", "down_ip_mbps", "jain_flows"];

/// Arguments of `evenair results show`.
#[derive(Args)]
pub struct ShowArgs {
    /// The folder of a run, a sweep or a comparison
    folder: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// A description to print.
struct Shown {
    /// Facts as JSON, in addition to `rows`.
    facts: Value,
    /// One line per phase or point.
    rows: Vec<String>,
}

/// Shows a folder of results.
pub fn run(args: &ShowArgs) -> Result<ExitCode> {
    let kept = Kept::of(&args.folder)?;
    let Shown { mut facts, rows } = match &kept {
        Kept::Run(run) => of_run(run),
        Kept::Many(many) => of_many(many)?,
    };
    let made = kept.made();
    facts["made"] = json!(made);
    facts["this_version"] = json!(made.is_of(VERSION));
    if args.json {
        println!("{facts:#}");
        return Ok(ExitCode::SUCCESS);
    }
    let text = |key: &str| facts[key].as_str().unwrap_or_default();
    println!("{}\n{}", text("title"), text("what"));
    let line = |name: &str, value: &str| println!("  {name:<10}{value}");
    line("command", made.command_text().as_deref().unwrap_or("not known: an earlier version wrote this folder"));
    line("program", &made.program_text());
    let place = [&made.host, &made.date].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ");
    line("made", if place.is_empty() { "not known" } else { &place });
    line("set", &text_of_settings(&facts["settings"]));
    line("complete", &answer(&facts["complete"], &facts["missing"]));
    line("valid", &answer(&facts["valid"], &facts["invalid_because"]));
    println!();
    rows.iter().for_each(|row| println!("{row}"));
    println!("\nTo cite:\n\n{}", text("cite"));
    Ok(ExitCode::SUCCESS)
}

/// "yes", or "NO" with the reasons.
fn answer(is_so: &Value, why: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let reasons: Vec<String> =
        why.as_array().map_or_else(|| text(why).into_iter().collect(), |all| all.iter().filter_map(text).collect());
    if *is_so == true { "yes".to_owned() } else { format!("NO: {}", reasons.join("; ")) }
}

fn text_of_settings(settings: &Value) -> String {
    let pair = |pair: &Value| Some(format!("{}={}", pair[0].as_str()?, pair[1].as_str()?));
    let pairs: Vec<_> = settings.as_array().into_iter().flatten().filter_map(pair).collect();
    if pairs.is_empty() { "nothing".to_owned() } else { pairs.join(", ") }
}

fn of_run(run: &KeptRun) -> Shown {
    let result = &run.result;
    let why: Vec<_> = result.invalid_because.iter().chain(&result.box_faults).collect();
    let phases = result.phases.iter();
    let phase = |phase: &evenair_results::PhaseResult| {
        let (up, down) = (phase.directions.up_ip_mbps, phase.directions.down_ip_mbps);
        json!({ "name": phase.name, "from_s": phase.from_s, "to_s": phase.to_s, "up_ip_mbps": up, "down_ip_mbps": down })
    };
    let facts = json!({
        "kind": "run",
        "title": result.title,
        "what": format!("run of {}, {}, seed {}, {} s", result.scenario, result.engine, result.seed, result.duration_s),
        "scenario": result.scenario,
        "engine": result.engine,
        "seed": result.seed,
        "settings": run.settings,
        "complete": true,
        "valid": result.valid,
        "invalid_because": why,
        "phases": phases.clone().map(phase).collect::<Vec<_>>(),
        "cite": cite::of_run(run),
    });
    Shown { facts, rows: phases.map(|phase| in_words(result, phase)).collect() }
}

fn of_many(many: &KeptMany) -> Result<Shown> {
    let (plan, store) = many.plan()?;
    let result = SweepResult::collect(&plan, &store);
    let missing = many.missing(&plan, &store);
    let failed: Vec<_> = result
        .points
        .iter()
        .filter_map(|point| Some(format!("{}: {}", name(&point.varied), point.failed.as_ref()?)))
        .collect();
    let runs: u64 = result.points.iter().map(|point| point.runs).sum();
    let measures: Vec<String> = MEASURES_SHOWN.iter().flat_map(|name| result.named(name)).collect();
    let facts = json!({
        "kind": many.kind(),
        "title": plan.title,
        "what": format!("{} of {}: {} points, {runs} runs", many.kind(), plan.name, plan.points.len()),
        "scenario": plan.name,
        "settings": many.settings(),
        "complete": missing.is_none(),
        "missing": missing,
        "valid": failed.is_empty(),
        "invalid_because": failed,
        "runs": runs,
        "points": result.points.iter().map(|point| point_json(point, &measures)).collect::<Vec<_>>(),
        "cite": cite::of_many(many, &plan, &store),
    });
    let mut rows = vec![format!("means of {}", measures.join(", "))];
    rows.extend(result.points.iter().take(POINTS_SHOWN).map(|point| point_text(point, &measures)));
    if result.points.len() > POINTS_SHOWN {
        rows.push(format!("  and {} more points", result.points.len() - POINTS_SHOWN));
    }
    Ok(Shown { facts, rows })
}

fn name(varied: &Settings) -> String {
    let pairs: Vec<_> = varied.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if pairs.is_empty() { "as in the file".to_owned() } else { pairs.join(" ") }
}

fn point_text(point: &PointResult, measures: &[String]) -> String {
    let value =
        |name: &String| point.estimate(name).map_or_else(|| "-".to_owned(), |found| format!("{:.3}", found.mean));
    let values: String = measures.iter().map(|name| format!("{:>10}", value(name))).collect();
    format!("  {:<40} {:>4} runs{values}", name(&point.varied), point.runs)
}

fn point_json(point: &PointResult, measures: &[String]) -> Value {
    let mean = |name: &String| Some((name.clone(), json!(point.estimate(name)?.mean)));
    let means: serde_json::Map<_, _> = measures.iter().filter_map(mean).collect();
    json!({ "varied": point.varied, "runs": point.runs, "failed": point.failed, "means": means })
}
