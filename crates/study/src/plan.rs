//! The runs of an experiment.

use std::path::Path;

use evenair_reader::ConfigError;
use evenair_results::SeriesKind;
use evenair_scenario::sweep::Settings;
use evenair_scenario::{Axis, Policy, PolicyError, Scenario};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::{Job, Store};

/// Largest number of runs of an experiment.
const MOST_RUNS: usize = 10_000_000;

/// Why a plan cannot be made.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The scenario is invalid at every point; this is the error of the first, or of the scenario itself.
    #[error(transparent)]
    Scenario(#[from] ConfigError),
    /// A policy is not applicable to the scenario.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The varied keys and values do not fit together.
    #[error("{0}")]
    Axes(String),
    /// The experiment has too many runs.
    #[error("{0} runs are more than {MOST_RUNS}")]
    TooMany(usize),
}

/// An experiment: a scenario, the varied keys, and the number of runs per point.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario files.
    pub sources: Vec<Source>,
    /// Name of the scenario.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The varied keys with their values.
    pub axes: Vec<Axis>,
    /// The points.
    pub points: Vec<Point>,
    /// Initial number of runs per point.
    pub replications: u32,
    /// The program that makes the results, as [`program`] names it: part of the runs' keys.
    pub program: String,
    /// Entries of the files that lie beyond a shortened duration, at one point or more, see [`Scenario::left_out`].
    pub left_out: Vec<String>,
    /// Kinds of series to record; initially none. They are not part of the runs' keys.
    pub series: Vec<SeriesKind>,
}

/// A scenario file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name in messages.
    pub file: String,
    /// Its content.
    pub text: String,
}

impl Source {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let text = evenair_scenario::text_of(path)?;
        Ok(Self { file: path.to_string_lossy().into_owned(), text })
    }

    /// A hash of the text and the settings: equal for scenarios that give the same runs. 32 hexadecimal digits.
    pub fn digest(&self, sets: &Settings) -> String {
        let mut hash = Sha256::new();
        for part in sets.iter().flat_map(|(key, value)| [key, value]).chain([&self.text]) {
            // The length separates the parts.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hex(&hash.finalize()[..16])
    }

    pub(crate) fn scenario(&self, sets: &Settings) -> Result<Scenario, ConfigError> {
        Scenario::parse_with(&self.text, &self.file, &borrowed(sets))
    }
}

/// The definition of an experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The scenario.
    pub source: Source,
    /// Settings of all runs.
    pub sets: Settings,
    /// The varied keys; `None`: those of the scenario's own `[[sweep]]`.
    pub axes: Option<Vec<Axis>>,
    /// Policies under which each point is run, with the same seeds. They form the last axis, `policy`. Without any, the scenario is
    /// run as it is.
    pub policies: Vec<Policy>,
}

impl Experiment {
    /// Adds the axis of policies to a plan. An error that occurs under a policy with no key varied is reported as an error of the
    /// policy.
    fn check_policies(&self, plan: &mut Plan) -> Result<(), PlanError> {
        if self.policies.is_empty() {
            return Ok(());
        }
        if plan.axes.iter().any(|axis| axis.key == POLICY) {
            return Err(PlanError::Axes("policies are an axis already, so the key policy cannot be varied".into()));
        }
        let names: Vec<String> = self.policies.iter().map(|policy| policy.name.clone()).collect();
        if let Some(again) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(PlanError::Axes(format!("the policy {} is named twice", again.1)));
        }
        for policy in &self.policies {
            let (text, settings) = policy.apply_with(&self.source.file, &self.source.text, &self.sets)?;
            let under = Source { file: self.source.file.clone(), text };
            under
                .scenario(&settings)
                .map_err(|error| PlanError::Axes(policy.at_its_places(error, &under.file).to_string()))?;
        }
        plan.axes.push(Axis { key: POLICY.to_owned(), values: names, together: false });
        Ok(())
    }

    /// The points with these values of the other axes, one per policy.
    fn points_at(&self, plan: &mut Plan, varied: &Settings) -> Result<Vec<Point>, PlanError> {
        let all: Settings = self.sets.iter().chain(varied).cloned().collect();
        let mut point = |text: String, settings, varied| {
            let source = plan.source(Source { file: self.source.file.clone(), text });
            Point { source, varied, settings, seed: 0, runs: 0, wrong: None }
        };
        if self.policies.is_empty() {
            return Ok(vec![point(self.source.text.clone(), all, varied.clone())]);
        }
        let under = |policy: &Policy| {
            let (text, settings) = policy.apply_with(&self.source.file, &self.source.text, &all)?;
            let mut varied = varied.clone();
            varied.push((POLICY.to_owned(), policy.name.clone()));
            Ok(point(text, settings, varied))
        };
        self.policies.iter().map(under).collect()
    }
}

/// Name of the axis of policies.
const POLICY: &str = "policy";

/// One point of an experiment.
#[derive(Clone, Debug)]
pub struct Point {
    /// Index of its scenario file in the plan.
    pub source: usize,
    /// The settings that are specific to this point.
    pub varied: Settings,
    /// All settings, those of all points first.
    pub settings: Settings,
    /// Seed of its first run; further runs have the following seeds.
    pub seed: u64,
    /// Number of its runs.
    pub runs: u32,
    /// Its error, if it is invalid.
    pub wrong: Option<String>,
}

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Index of the point in the plan.
    pub point: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Key of the run.
    pub key: String,
}

impl Plan {
    /// An experiment with the scenario in `file`: `sets` apply to all runs; `axes` are the varied keys, by default those of the
    /// file's own `[[sweep]]`. `program` names the program that runs it, see [`program`].
    ///
    /// # Errors
    /// See [`Plan::of`].
    pub fn new(
        file: &Path,
        sets: &Settings,
        axes: Vec<Axis>,
        replications: u32,
        program: &str,
    ) -> Result<Self, PlanError> {
        let axes = (!axes.is_empty()).then_some(axes);
        let experiment = Experiment { source: Source::read(file)?, sets: sets.clone(), axes, policies: Vec::new() };
        Self::of(&experiment, replications, program)
    }

    /// An experiment, with `replications` runs of each point. `program` names the program that runs it, see [`program`].
    ///
    /// # Errors
    /// See [`PlanError`]. An invalid point is no error as long as another is valid.
    pub fn of(experiment: &Experiment, replications: u32, program: &str) -> Result<Self, PlanError> {
        let base = experiment.source.scenario(&experiment.sets)?;
        let axes = experiment.axes.clone().unwrap_or_else(|| base.sweep.clone());
        let points = Scenario::points(&axes).map_err(PlanError::Axes)?;
        let mut plan = Self {
            sources: Vec::new(),
            name: base.name,
            title: base.title,
            axes,
            points: Vec::new(),
            replications,
            program: program.to_owned(),
            left_out: Vec::new(),
            series: Vec::new(),
        };
        let runs = points.len().saturating_mul(replications as usize).saturating_mul(experiment.policies.len().max(1));
        if runs > MOST_RUNS {
            return Err(PlanError::TooMany(runs));
        }
        experiment.check_policies(&mut plan)?;
        let mut first_error = None;
        for varied in points {
            for point in experiment.points_at(&mut plan, &varied)? {
                let mut point = Point { seed: base.seed, runs: replications, ..point };
                match plan.scenario(&point, None) {
                    Ok(scenario) => {
                        point.seed = scenario.seed;
                        plan.note(scenario.left_out);
                    }
                    Err(error) => {
                        point.wrong = Some(error.to_string());
                        first_error.get_or_insert(error);
                    }
                }
                plan.points.push(point);
            }
        }
        match first_error {
            Some(error) if plan.points.iter().all(|point| point.wrong.is_some()) => Err(error.into()),
            _ => Ok(plan),
        }
    }

    /// Index of a scenario in the plan; a new one is added.
    fn source(&mut self, source: Source) -> usize {
        let known = self.sources.iter().position(|known| known.text == source.text);
        known.unwrap_or_else(|| {
            self.sources.push(source);
            self.sources.len() - 1
        })
    }

    /// Adds entries that are left out at a point, each once.
    pub(crate) fn note(&mut self, left_out: Vec<String>) {
        let new = left_out.into_iter().filter(|one| !self.left_out.contains(one)).collect::<Vec<_>>();
        self.left_out.extend(new);
    }

    /// The scenario of a point, with this seed.
    ///
    /// # Errors
    /// The scenario is invalid.
    pub fn scenario(&self, point: &Point, seed: Option<u64>) -> Result<Scenario, ConfigError> {
        let mut scenario = self.sources[point.source].scenario(&point.settings)?;
        if let Some(seed) = seed {
            scenario.seed = seed;
        }
        Ok(scenario)
    }

    /// All runs of valid points. The first runs of all points come first, so that an interrupted experiment has results of each.
    pub fn runs(&self) -> Vec<PlannedRun> {
        let points = || self.points.iter().enumerate().filter(|(_, point)| point.wrong.is_none());
        let most = self.points.iter().map(|point| point.runs).max().unwrap_or(0);
        (0..u64::from(most))
            .flat_map(|replication| {
                let wanted = points().filter(move |(_, point)| replication < u64::from(point.runs));
                wanted.map(move |(index, point)| {
                    let seed = point.seed.wrapping_add(replication);
                    PlannedRun { point: index, seed, key: self.job_of(point, seed).key() }
                })
            })
            .collect()
    }

    /// The runs that a store lacks, or has without the requested series.
    pub fn missing(&self, store: &Store) -> Vec<PlannedRun> {
        self.runs().into_iter().filter(|run| !store.has(&run.key, &self.series)).collect()
    }

    /// The identity of the experiment, whatever the program and the number of runs: a hash of the scenario and of the settings of
    /// its points.
    pub fn identity(&self) -> String {
        let mut hash = Sha256::new();
        for point in &self.points {
            hash.update(&self.sources[point.source].text);
            hash.update(format!("{:?}", point.settings));
        }
        hex(&hash.finalize()[..16])
    }

    /// A run as a self-contained job.
    pub fn job(&self, run: &PlannedRun) -> Job {
        self.job_of(&self.points[run.point], run.seed)
    }

    fn job_of(&self, point: &Point, seed: u64) -> Job {
        let Source { file, text } = self.sources[point.source].clone();
        Job {
            program: self.program.clone(),
            file,
            text,
            settings: point.settings.clone(),
            varied: point.varied.clone(),
            seed,
            measures: None,
            series: self.series.clone(),
        }
    }
}

/// The simulator in the keys of runs: its version, and a hash of the sources that determine results, with the versions of their
/// dependencies. Programs built from the same sources share results, whatever the compiler flags.
pub const fn program() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), " ", env!("EVENAIR_SIMULATOR_SOURCES"))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn borrowed(settings: &Settings) -> Vec<(&str, &str)> {
    settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}
