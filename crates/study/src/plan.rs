//! Which runs an experiment has.

use std::path::{Path, PathBuf};
use std::{fs, io};

use evenair_reader::ConfigError;
use evenair_scenario::sweep::Settings;
use evenair_scenario::{Axis, Policy, PolicyError, Scenario};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::Job;

/// No experiment has more runs than this.
const MOST_RUNS: usize = 10_000_000;

/// Why there is nothing to run.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The scenario is wrong, whatever is varied; or every point is, and this is what is wrong with the first.
    #[error(transparent)]
    Scenario(#[from] ConfigError),
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A policy cannot be had in this scenario.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// What is to be varied does not fit together.
    #[error("{0}")]
    Axes(String),
    /// There are too many runs.
    #[error("{0} runs are more than {MOST_RUNS}")]
    TooMany(usize),
}

/// An experiment: a scenario, what varies, and how often each point is repeated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario files.
    pub sources: Vec<Source>,
    /// Name of the scenario.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What varies.
    pub axes: Vec<Axis>,
    /// The points.
    pub points: Vec<Point>,
    /// Runs of each point at first.
    pub replications: u32,
    /// The program that made the results, as [`program`] names it: a part of the keys of runs.
    pub program: String,
    /// What of the files lies beyond a duration that is set, at one point or more, see [`Scenario::left_out`].
    pub left_out: Vec<String>,
}

/// A scenario file.
#[derive(Clone, Debug)]
pub struct Source {
    /// What messages call it.
    pub file: String,
    /// What is in it.
    pub text: String,
}

/// One point of an experiment.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its scenario file, by its place in the plan.
    pub source: usize,
    /// What is set at this point and nowhere else.
    pub varied: Settings,
    /// All that is set, that of all points first.
    pub settings: Settings,
    /// Seed of its first run; the others have those that follow.
    pub seed: u64,
    /// How many runs it has.
    pub runs: u32,
    /// What is wrong with it, if anything is.
    pub wrong: Option<String>,
}

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// The point, by its place in the plan.
    pub point: usize,
    /// Seed of the run.
    pub seed: u64,
    /// What the run is known by.
    pub key: String,
}

impl Plan {
    /// An experiment with the scenario in `file`: `sets` everywhere, and `axes`, or where there are none, what the
    /// file's own `[[sweep]]` varies. `program` names the program that runs it, see [`program`].
    ///
    /// # Errors
    /// See [`PlanError`]. A point that is wrong by itself is none, while others are right.
    pub fn new(
        file: &Path,
        sets: &Settings,
        axes: Vec<Axis>,
        replications: u32,
        program: &str,
    ) -> Result<Self, PlanError> {
        let (base, source) = load(file, sets)?;
        let axes = if axes.is_empty() { base.sweep.clone() } else { axes };
        let points = Scenario::points(&axes).map_err(PlanError::Axes)?;
        let mut plan = Self {
            sources: vec![source],
            name: base.name,
            title: base.title,
            axes,
            points: Vec::new(),
            replications,
            program: program.to_owned(),
            left_out: Vec::new(),
        };
        let runs = points.len().saturating_mul(replications as usize);
        if runs > MOST_RUNS {
            return Err(PlanError::TooMany(runs));
        }
        let mut first_error = None;
        for varied in points {
            let settings: Settings = sets.iter().chain(&varied).cloned().collect();
            let mut point = Point { source: 0, varied, settings, seed: base.seed, runs: replications, wrong: None };
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
        match first_error {
            Some(error) if plan.points.iter().all(|point| point.wrong.is_some()) => Err(error.into()),
            _ => Ok(plan),
        }
    }

    /// Two variants, each a file with its settings, which are run with the same seeds: those of the first.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn pair([a, b]: [(&Path, &Settings); 2], replications: u32, program: &str) -> Result<Self, PlanError> {
        let ((first, source_a), (second, source_b)) = (load(a.0, a.1)?, load(b.0, b.1)?);
        let point = |source, settings: &Settings| Point {
            source,
            varied: settings.clone(),
            settings: settings.clone(),
            seed: first.seed,
            runs: replications,
            wrong: None,
        };
        let mut plan = Self {
            sources: vec![source_a, source_b],
            name: first.name,
            title: first.title,
            axes: Vec::new(),
            points: vec![point(0, a.1), point(1, b.1)],
            replications,
            program: program.to_owned(),
            left_out: first.left_out,
        };
        plan.note(second.left_out);
        Ok(plan)
    }

    /// Notes what is left out at a point, once.
    fn note(&mut self, left_out: Vec<String>) {
        let new = left_out.into_iter().filter(|one| !self.left_out.contains(one)).collect::<Vec<_>>();
        self.left_out.extend(new);
    }

    /// A scenario under several policies, which are run with the same seeds: one axis, `policy`.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn policies(
        file: &Path,
        sets: &Settings,
        policies: &[Policy],
        replications: u32,
        program: &str,
    ) -> Result<Self, PlanError> {
        let (base, source) = load(file, sets)?;
        let names: Vec<String> = policies.iter().map(|policy| policy.name.clone()).collect();
        let mut plan = Self {
            sources: Vec::new(),
            name: base.name,
            title: base.title,
            axes: vec![Axis { key: "policy".to_owned(), values: names, together: false }],
            points: Vec::new(),
            replications,
            program: program.to_owned(),
            left_out: Vec::new(),
        };
        for policy in policies {
            let (text, settings) = policy.apply_with(&source.file, &source.text, sets)?;
            plan.sources.push(Source { file: source.file.clone(), text });
            let point = Point {
                source: plan.points.len(),
                varied: vec![("policy".to_owned(), policy.name.clone())],
                settings,
                seed: base.seed,
                runs: replications,
                wrong: None,
            };
            // What is wrong now is wrong with the policy.
            let scenario = plan
                .scenario(&point, None)
                .map_err(|error| PlanError::Axes(policy.at_its_places(error, &source.file).to_string()))?;
            plan.note(scenario.left_out);
            plan.points.push(point);
        }
        Ok(plan)
    }

    /// The scenario of a point, with this seed.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn scenario(&self, point: &Point, seed: Option<u64>) -> Result<Scenario, ConfigError> {
        let Source { file, text } = &self.sources[point.source];
        let mut scenario = Scenario::parse_with(text, file, &borrowed(&point.settings))?;
        if let Some(seed) = seed {
            scenario.seed = seed;
        }
        Ok(scenario)
    }

    /// All runs of points that are right. The first runs of all points come first, so that an experiment that is cut
    /// short has something of each.
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

    /// What the experiment is known by, whatever program runs it and however often: a hash of the scenario and of what
    /// is set at its points.
    pub fn identity(&self) -> String {
        let mut hash = Sha256::new();
        for point in &self.points {
            hash.update(&self.sources[point.source].text);
            hash.update(format!("{:?}", point.settings));
        }
        hex(&hash.finalize()[..16])
    }

    /// A run as a job for itself.
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
        }
    }
}

/// The simulator in the keys of runs: its version, and a hash of the sources that decide results, with the versions of
/// what they depend on. Programs built of the same sources share results, whatever flags they were built with.
pub const fn program() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), " ", env!("EVENAIR_SIMULATOR_SOURCES"))
}

/// A scenario, checked, and its text.
fn load(file: &Path, sets: &Settings) -> Result<(Scenario, Source), PlanError> {
    // Loading it first tells what is wrong with the file alone, and refuses what is no scenario.
    let scenario = Scenario::load_with(file, &borrowed(sets))?;
    let text = fs::read_to_string(file).map_err(|source| PlanError::Read { path: file.to_owned(), source })?;
    Ok((scenario, Source { file: file.to_string_lossy().into_owned(), text }))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn borrowed(settings: &Settings) -> Vec<(&str, &str)> {
    settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}
