//! A citation of results for a paper's appendix, in the form of the Python package's `provenance.cite()`.

use evenair_scenario::sweep::Settings;
use evenair_study::{Plan, Point, Source, Store};

use super::folder::{KeptMany, KeptRun};
use crate::made::Made;

/// The axis of policies.
const POLICY: &str = "policy";

/// The citation of one run.
pub fn of_run(run: &KeptRun) -> String {
    let mut facts = head(&run.result.title, &run.result.scenario, &run.made, &run.source.digest(&run.settings));
    facts.extend(set("Set", &run.settings));
    facts.push(format!("Seed: {}.", run.result.seed));
    finish(facts, &run.made)
}

/// The citation of a sweep or a comparison.
pub fn of_many(many: &KeptMany, plan: &Plan, store: &Store) -> String {
    let settings = many.settings();
    let is_pair = many.about.get("variants").is_some();
    let text = many.about["text"].as_str().map(|text| Source { file: String::new(), text: text.to_owned() });
    let digest = text.map_or_else(|| plan.identity(), |source| source.digest(&settings));
    let mut facts = head(&plan.title, &plan.name, &many.made, &digest);
    facts.extend(set("Set", &settings));
    if is_pair {
        facts.extend(plan.points.iter().zip(["A", "B"]).map(|(point, side)| variant(plan, point, side)));
    }
    for axis in plan.axes.iter().filter(|axis| axis.key != POLICY) {
        facts.push(format!("Varied: {} = {}.", axis.key, axis.values.join(", ")));
    }
    for axis in plan.axes.iter().filter(|axis| axis.key == POLICY) {
        facts.push(format!("Policies: {}.", axis.values.join(", ")));
    }
    let runs = plan.runs();
    let ended = runs.iter().filter(|run| store.get(&run.key).is_some()).count();
    let seeds = runs.iter().map(|run| run.seed);
    if let (Some(first), Some(last)) = (seeds.clone().min(), seeds.max()) {
        facts.push(format!("Seeds: {first} to {last}, the same at each point; {ended} runs."));
    }
    finish(facts, &many.made)
}

fn head(title: &str, scenario: &str, made: &Made, digest: &str) -> Vec<String> {
    let title = if title.is_empty() { scenario } else { title };
    vec![
        format!("{title}."),
        format!("Simulated with {}.", made.program_text()),
        format!("Scenario: {scenario}, digest {digest}."),
    ]
}

fn set(word: &str, settings: &Settings) -> Option<String> {
    let pairs: Vec<_> = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    (!pairs.is_empty()).then(|| format!("{word}: {}.", pairs.join(", ")))
}

fn variant(plan: &Plan, point: &Point, side: &str) -> String {
    let file = &plan.sources[point.source].file;
    set(&format!("{side}: {file} with"), &point.settings).unwrap_or_else(|| format!("{side}: {file}."))
}

fn finish(mut facts: Vec<String>, made: &Made) -> String {
    let on = made.host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
    if let Some(date) = &made.date {
        facts.push(format!("Made{on}, {date}."));
    }
    facts.join("\n")
}
