//! A comparison of two variants: each a scenario file with its settings, run with the same seeds.

use std::path::Path;

use evenair_scenario::sweep::Settings;
use serde_json::{Value, json};

use crate::{Plan, PlanError, Point, Source};

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its scenario file.
    pub source: Source,
    /// Its settings.
    pub settings: Settings,
}

impl Plan {
    /// A plan of two variants, each a file with its settings, both run with the seeds of the first.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn pair([a, b]: [(&Path, &Settings); 2], replications: u32, program: &str) -> Result<Self, PlanError> {
        let read = |(file, settings): (&Path, &Settings)| -> Result<Variant, PlanError> {
            Ok(Variant { source: Source::read(file)?, settings: settings.clone() })
        };
        Self::of_variants([read(a)?, read(b)?], replications, program)
    }

    /// As [`Plan::pair`], of texts in place of files.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn of_variants([a, b]: [Variant; 2], replications: u32, program: &str) -> Result<Self, PlanError> {
        let (first, second) = (a.source.scenario(&a.settings)?, b.source.scenario(&b.settings)?);
        let point = |source, settings: Settings| Point {
            source,
            varied: settings.clone(),
            settings,
            seed: first.seed,
            runs: replications,
            wrong: None,
        };
        let mut plan = Self {
            sources: vec![a.source, b.source],
            name: first.name,
            title: first.title,
            axes: Vec::new(),
            points: vec![point(0, a.settings), point(1, b.settings)],
            replications,
            program: program.to_owned(),
            left_out: first.left_out,
            series: Vec::new(),
        };
        plan.note(second.left_out);
        Ok(plan)
    }
}

/// The content of `experiment.json` for a plan's two variants: all inputs of their runs.
pub fn variants_description(plan: &Plan) -> Value {
    let variant = |point: &Point| {
        let Source { file, text } = &plan.sources[point.source];
        json!({ "file": file, "text": text, "settings": point.settings })
    };
    plan.points.iter().map(variant).collect()
}

/// The variants that [`variants_description`] describes; `None` if something is missing.
pub(crate) fn variants_of(about: &Value) -> Option<[Variant; 2]> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let setting = |pair: &Value| Some((text(&pair[0])?, text(&pair[1])?));
    let variant = |of: &Value| {
        let settings = of["settings"].as_array()?.iter().map(setting).collect::<Option<_>>()?;
        Some(Variant { source: Source { file: text(&of["file"])?, text: text(&of["text"])? }, settings })
    };
    Some([variant(&about[0])?, variant(&about[1])?])
}
