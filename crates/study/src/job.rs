//! One run as a self-contained job: serialized inputs, serialized result.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use evenair_results::{RunResult, SeriesKind, scalars};
use evenair_scenario::Scenario;
use evenair_scenario::sweep::Settings;
use evenair_sim::{SimError, SimOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Record;
use crate::packed::{PackedSeries, RunSeries};
use crate::plan::hex;

/// All inputs of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The program that makes the run, see [`program`](crate::program). It only affects the key: the process that runs the job compares it.
    pub program: String,
    /// The scenario's file: its name in messages; files that the scenario names are relative to its folder.
    pub file: String,
    /// The scenario's text.
    pub text: String,
    /// Settings, as for [`Scenario::parse_with`].
    pub settings: Settings,
    /// Those settings that the record lists as varied.
    pub varied: Settings,
    /// Seed of the run.
    pub seed: u64,
    /// Full names of the measures to record; all if absent. They are not part of the key: the records of a store have all measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Vec<String>>,
    /// Kinds of series to record. They are not part of the key either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<SeriesKind>,
}

impl Job {
    /// The key of the run: a hash of program, text, settings and seed, in hexadecimal digits.
    pub fn key(&self) -> String {
        let mut hash = Sha256::new();
        let mut field = |text: &str| {
            // The length separates the fields.
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        field(&self.program);
        field(&self.text);
        field(&self.seed.to_string());
        // If a key is set several times, its last value counts; earlier ones do not change the hash.
        for (at, (key, value)) in self.settings.iter().enumerate() {
            let again = self.settings[at + 1..].iter().any(|(later, _)| later == key);
            if key != "seed" && !again {
                field(key);
                field(value);
            }
        }
        hex(&hash.finalize()[..16])
    }

    /// The record of a run that could not be made, with the reason.
    pub fn failed(&self, reason: String) -> Record {
        Record {
            key: self.key(),
            varied: self.varied.clone(),
            seed: self.seed,
            failed: Some(reason),
            scalars: Vec::new(),
            took_s: 0.0,
            series: RunSeries::new(),
        }
    }
}

/// Makes a run. `progress` receives the completed part, from 0 to 1, several times in a tenth of a second; after a break there is no
/// record.
///
/// The record depends on the job alone, except for the run time. An invalid scenario, an invalid run and a panic of the simulator
/// are recorded as reasons of failure.
pub fn run_job(job: &Job, progress: impl FnMut(f64) -> ControlFlow<()>) -> Option<Record> {
    let start = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| simulate(job, progress)));
    let outcome = outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Some(Err(format!("the simulator failed (an error of the program): {text}")))
    });
    let took_s = start.elapsed().as_secs_f64();
    Some(match outcome? {
        Ok((scalars, series)) => {
            Record { key: job.key(), varied: job.varied.clone(), seed: job.seed, failed: None, scalars, took_s, series }
        }
        Err(why) => Record { took_s, ..job.failed(why) },
    })
}

/// Results of a completed run: names and values of its measures, and its series.
type Found = (Vec<(String, f64)>, RunSeries);

/// The requested results of a run, or the reason of its failure; `None` if it was stopped.
fn simulate(job: &Job, mut progress: impl FnMut(f64) -> ControlFlow<()>) -> Option<Result<Found, String>> {
    let settings: Vec<_> = job.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let scenario = match Scenario::parse_with(&job.text, &job.file, &settings) {
        Ok(scenario) => Scenario { seed: job.seed, ..scenario },
        Err(error) => return Some(Err(error.to_string())),
    };
    let (whole, mut part) = (scenario.duration.as_secs_f64(), 0.0);
    let ran = evenair_sim::run_with(&scenario, &SimOptions::default(), |now| {
        part = now.map_or(part, |now| now.at_s / whole);
        progress(part)
    });
    match ran {
        Ok(result) => {
            let packed = |&kind: &SeriesKind| (kind, PackedSeries::of(&kind.table(&result.series)));
            let measures = measures(&result, job.measures.as_deref());
            Some(measures.map(|scalars| (scalars, job.series.iter().map(packed).collect())))
        }
        Err(SimError::Stopped) => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

/// The requested measures of a valid result.
fn measures(result: &RunResult, wanted: Option<&[String]>) -> Result<Vec<(String, f64)>, String> {
    if !result.valid {
        let why: Vec<_> = result.invalid_because.iter().chain(&result.box_faults).map(String::as_str).collect();
        return Err(format!("the run is not valid: {}", why.join("; ")));
    }
    // JSON has no other numbers, and they have no mean.
    let finite = scalars(result).into_iter().filter(|(_, value)| value.is_finite());
    Ok(finite.filter(|(name, _)| wanted.is_none_or(|wanted| wanted.contains(name))).collect())
}
