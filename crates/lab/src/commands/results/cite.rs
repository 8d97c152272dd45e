//! Citations of result folders.

use evenair_study::{Citation, CitedSeeds, Plan, Point, Source, Store};

use super::folder::{KeptMany, KeptRun};

/// The citation of one run.
pub fn of_run(run: &KeptRun) -> String {
    let citation = Citation {
        title: run.result.title.clone(),
        scenario: run.result.scenario.clone(),
        digest: run.source.digest(&run.settings),
        settings: run.settings.clone(),
        variants: Vec::new(),
        varied: Vec::new(),
        seeds: Some(CitedSeeds::Run(run.result.seed)),
        made: run.made.clone(),
    };
    citation.text()
}

/// The citation of a sweep or a comparison.
pub fn of_many(many: &KeptMany, plan: &Plan, store: &Store) -> String {
    let settings = many.settings();
    let is_pair = many.about.get("variants").is_some();
    let text = many.about["text"].as_str().map(|text| Source { file: String::new(), text: text.to_owned() });
    let variants = plan.points.iter().zip(["A", "B"]).filter(|_| is_pair);
    let runs = plan.runs();
    let ended = runs.iter().filter(|run| store.get(&run.key).is_some()).count();
    let seeds = runs.iter().map(|run| run.seed);
    let citation = Citation {
        title: plan.title.clone(),
        scenario: plan.name.clone(),
        digest: text.map_or_else(|| plan.identity(), |source| source.digest(&settings)),
        settings,
        variants: variants.map(|(point, side)| variant(plan, point, side)).collect(),
        varied: plan.axes.iter().map(|axis| (axis.key.clone(), axis.values.clone())).collect(),
        seeds: seeds.clone().min().zip(seeds.max()).map(|(first, last)| CitedSeeds::Runs(first, last, ended)),
        made: many.made.clone(),
    };
    citation.text()
}

fn variant(plan: &Plan, point: &Point, side: &str) -> String {
    let file = &plan.sources[point.source].file;
    let pairs: Vec<_> = point.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if pairs.is_empty() { format!("{side}: {file}") } else { format!("{side}: {file} with: {}", pairs.join(", ")) }
}
