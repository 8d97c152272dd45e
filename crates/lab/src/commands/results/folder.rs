//! Detects the kind of a folder of results.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use evenair_results::RunResult;
use evenair_scenario::sweep::Settings;
use evenair_study::{FolderError, Made, Plan, Source, Store, kept_plan, of_folder};
use serde_json::Value;

/// Number of subfolders suggested for a folder without results.
const OFFERED: usize = 3;

/// A folder of results.
pub enum Kept {
    /// One run.
    Run(Box<KeptRun>),
    /// A sweep or a comparison.
    Many(Box<KeptMany>),
}

/// The folder of one run.
pub struct KeptRun {
    pub made: Made,
    /// `run.json`.
    pub about: Value,
    /// The scenario from `scenario.toml`, under its original file name.
    pub source: Source,
    pub settings: Settings,
    pub result: RunResult,
    /// `result.json`.
    pub text: String,
}

/// The folder of a sweep or a comparison.
pub struct KeptMany {
    pub folder: PathBuf,
    pub made: Made,
    /// `experiment.json`.
    pub about: Value,
    /// The document with the results, if the command has completed there.
    pub document: Option<Value>,
}

impl Kept {
    /// Detects the kind of a folder.
    ///
    /// # Errors
    /// It has no results, or a part is missing or cannot be read.
    pub fn of(folder: &Path) -> Result<Self> {
        if !folder.is_dir() {
            bail!("{} is no folder: name one of results, such as results/NAME-1", folder.display());
        }
        if let Some(about) = of_folder(folder)? {
            return KeptMany::of(folder, about).map(|many| Self::Many(Box::new(many)));
        }
        if ["run.json", "result.json"].iter().any(|name| folder.join(name).exists()) {
            return KeptRun::of(folder).map(|run| Self::Run(Box::new(run)));
        }
        if folder.join("replications.json").exists() {
            bail!(
                "{} is of evenair sim run --replications, which keeps no scenario; evenair sim sweep keeps all",
                folder.display()
            );
        }
        let inside = folders_with_results(folder);
        let offered = if inside.is_empty() { String::new() } else { format!("; name {}", inside.join(" or ")) };
        bail!(
            "{} has neither run.json, as evenair sim run --out writes it, nor experiment.json, as sweeps and comparisons do{offered}",
            folder.display()
        )
    }

    pub const fn made(&self) -> &Made {
        match self {
            Self::Run(run) => &run.made,
            Self::Many(many) => &many.made,
        }
    }
}

impl KeptRun {
    fn of(folder: &Path) -> Result<Self> {
        let read = |name: &str| {
            let file = folder.join(name);
            let remedy = "the folder of a run has run.json, scenario.toml and result.json";
            fs::read_to_string(&file).with_context(|| format!("cannot read {} ({remedy})", file.display()))
        };
        let about = json(&folder.join("run.json"), &read("run.json")?)?;
        let file = about["file"].as_str().unwrap_or("scenario.toml").to_owned();
        let settings = about["settings"].as_array().into_iter().flatten();
        let settings = settings.filter_map(|setting| setting.as_str()?.split_once('='));
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let text = read("result.json")?;
        Ok(Self {
            made: Made::read(folder)?.or_of(&about),
            source: Source { file, text: read("scenario.toml")? },
            settings,
            result: RunResult::read(&folder.join("result.json"))?,
            text,
            about,
        })
    }
}

impl KeptMany {
    fn of(folder: &Path, about: Value) -> Result<Self> {
        let file = ["sweep.json", "compare.json", "policies.json"].map(|name| folder.join(name));
        let document = file.iter().find(|file| file.exists()).map(|file| -> Result<Value> {
            json(file, &fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?)
        });
        let made = Made::read(folder)?.or_of(&about);
        Ok(Self { folder: folder.to_owned(), made, document: document.transpose()?, about })
    }

    /// The plan, with the number of runs that each point has, and the runs.
    ///
    /// # Errors
    /// See [`FolderError`].
    pub fn plan(&self) -> Result<(Plan, Store), FolderError> {
        kept_plan(&self.folder)
    }

    /// The kind of experiment, as text.
    pub fn kind(&self) -> &'static str {
        let has = |name: &str| self.folder.join(name).exists();
        match () {
            () if self.about.get("variants").is_some() => "comparison of two variants",
            () if has("policies.json") => "comparison of policies",
            () => "sweep",
        }
    }

    /// Settings of all runs.
    pub fn settings(&self) -> Settings {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let setting = |pair: &Value| Some((text(&pair[0])?, text(&pair[1])?));
        self.about["settings"].as_array().into_iter().flatten().filter_map(setting).collect()
    }

    /// Why it is incomplete, if it is.
    pub fn missing(&self, plan: &Plan, store: &Store) -> Option<String> {
        let Some(document) = &self.document else {
            return Some("the command has not ended yet, or was killed; the same command goes on".to_owned());
        };
        if document["complete"] != true {
            return Some("the command was interrupted; the same command goes on".to_owned());
        }
        let wanted = document["replications"].as_u64().unwrap_or(0);
        let runs = plan.runs();
        let right = plan.points.iter().filter(|point| point.wrong.is_none()).count() as u64;
        let there = runs.iter().filter(|run| store.get(&run.key).is_some());
        let there = there.count() + runs.iter().filter(|run| store.failure(&run.key).is_some()).count();
        let expected = (right * wanted).max(runs.len() as u64);
        (there as u64 != expected).then(|| format!("runs.jsonl has {there} of {expected} runs"))
    }
}

/// Parses JSON; the error names the file.
fn json(file: &Path, text: &str) -> Result<Value> {
    serde_json::from_str(text).with_context(|| format!("{} is not readable as JSON", file.display()))
}

/// Subfolders that have results.
fn folders_with_results(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let has = |path: &PathBuf| ["run.json", "experiment.json"].iter().any(|name| path.join(name).exists());
    let mut found: Vec<_> = entries.filter(has).map(|path| path.display().to_string()).collect();
    found.sort();
    found.truncate(OFFERED);
    found
}
