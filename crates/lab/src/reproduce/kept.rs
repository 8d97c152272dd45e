//! Rows of an interrupted `evenair reproduce --write`: each experiment's in a file of its own, from its last run until the table
//! is written.
//!
//! The program's file determines them: it has the scenarios, the seeds, the simulator and the judges. The rows of any other
//! build are not used, and a damaged file is named and its experiment run again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use evenair_results::write_whole;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Experiment;
use super::table::Row;
use crate::output::VERSION;

/// This process's program, also if its file was replaced since it began.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// A folder of kept rows.
pub struct Kept {
    directory: PathBuf,
    /// What determines the rows: version and hash of this program, and the form.
    made_by: String,
    short: bool,
}

/// The content of a file.
#[derive(Serialize, Deserialize)]
struct Content {
    made_by: String,
    experiment: String,
    rows: Vec<Row>,
    /// Of all else.
    hash: String,
}

impl Content {
    fn own_hash(&self) -> String {
        let all_else = serde_json::to_vec(&(&self.made_by, &self.experiment, &self.rows));
        hash(&all_else.expect("rows are plain data"))
    }
}

/// What is kept of an experiment.
#[derive(Debug, PartialEq)]
pub enum Found {
    /// Its rows, whole and of this program.
    Rows(Vec<Row>),
    /// Rows of another build or form.
    OfAnother,
    Nothing,
}

impl Kept {
    /// The rows in `directory`, which need not exist, of this program and of the short or the whole form.
    ///
    /// # Errors
    /// The program's file cannot be read.
    pub fn new(directory: &Path, short: bool) -> Result<Self> {
        let program = fs::read(THIS_PROGRAM).with_context(|| format!("cannot read {THIS_PROGRAM}"))?;
        let form = if short { "short" } else { "whole" };
        let made_by = format!("evenair-lab {VERSION}, {}, {form}", hash(&program));
        Ok(Self { directory: directory.to_owned(), made_by, short })
    }

    /// Looks for the rows of an experiment. A damaged file is named on standard error, and is nothing.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn find(&self, experiment: &str) -> Result<Found> {
        let file = self.file(experiment);
        let bytes = match fs::read(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            read => read.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let is_whole = |content: &Content| content.hash == content.own_hash();
        let Some(content) = serde_json::from_slice(&bytes).ok().filter(is_whole) else {
            eprintln!("{} is damaged: its experiment is run again", file.display());
            return Ok(Found::Nothing);
        };
        let is_ours = content.made_by == self.made_by && content.experiment == experiment;
        Ok(if is_ours { Found::Rows(content.rows) } else { Found::OfAnother })
    }

    /// Keeps the rows of an experiment, in place of what is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, experiment: &str, rows: &[Row]) -> Result<()> {
        fs::create_dir_all(&self.directory).with_context(|| format!("cannot make {}", self.directory.display()))?;
        let (made_by, experiment) = (self.made_by.clone(), experiment.to_owned());
        let file = self.file(&experiment);
        let mut content = Content { made_by, experiment, rows: rows.to_vec(), hash: String::new() };
        content.hash = content.own_hash();
        let text = serde_json::to_vec_pretty(&content).expect("rows are plain data");
        Ok(write_whole(&file, &text)?)
    }

    /// Removes what is kept of these experiments.
    ///
    /// # Errors
    /// A file is there and cannot be removed.
    pub fn remove(&self, experiments: &[Experiment]) -> Result<()> {
        for file in experiments.iter().map(|experiment| self.file(experiment.id)) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed.with_context(|| format!("cannot remove {}", file.display()))?,
            }
        }
        // Rows of other experiments, or of the other form, may stay.
        let _ = fs::remove_dir(&self.directory);
        Ok(())
    }

    fn file(&self, experiment: &str) -> PathBuf {
        self.directory.join(format!("{experiment}{}.json", if self.short { "-short" } else { "" }))
    }
}

fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::judge::Judge;
    use super::super::runs::{Runs, Variant};
    use super::super::{run, table};
    use super::*;

    /// A station that uploads for a second.
    const SMALL: &str = "version = 1\nname = \"small\"\nduration = \"1 s\"\nradio = { standard = \"802.11b\" }\n\
        station = [{ name = \"sta\", rate = \"11 Mb/s\" }]\nserver = [{ name = \"server\" }]\n\
        bulk = [{ name = \"up\", stations = [\"sta\"], server = \"server\", direction = \"up\" }]\n\
        [[published]]\nid = \"total\"\nwhat = \"figure\"\nvalue = 0.30000000000000004\nnote = \"Ours.\"\n";
    const IDS: [&str; 2] = ["x01", "x02"];

    fn variants() -> Vec<Variant> {
        [11.0, 2.0]
            .map(|rate| Variant::new(rate.to_string()).set("station.sta.rate", format!("\"{rate} Mb/s\"")).seeds(2))
            .into()
    }

    fn judge(runs: &Runs, judge: &mut Judge<'_>) {
        judge.figure("total", runs.mean("11", |run| run.phase("").total_ip_mbps));
        judge.figure_read("total", "another rate", runs.mean("2", |run| run.phase("").total_ip_mbps));
        judge.figure_if("total", "none of it", runs.mean("2", |_| f64::NAN));
    }

    fn experiments() -> Vec<Experiment> {
        let of = |id| Experiment { id, file: "small.toml", text: SMALL, in_short: true, variants, judge };
        IDS.map(of).into()
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary directory")
    }

    fn kept(folder: &tempfile::TempDir, short: bool) -> Kept {
        Kept::new(&folder.path().join("reproduce"), short).expect("this program can be read")
    }

    fn find(kept: &Kept, experiment: &str) -> Found {
        kept.find(experiment).expect("no file is unreadable")
    }

    fn rows() -> Vec<Row> {
        run(&experiments()[..1], true, None).expect("it can be run")
    }

    #[test]
    fn after_an_interruption_the_table_is_that_of_a_whole_run() {
        let experiments = experiments();
        let whole = table::markdown(&run(&experiments, true, None).expect("they can be run"));
        let folder = folder();
        let kept = kept(&folder, true);
        run(&experiments[..1], true, Some(&kept)).expect("it can be run");
        assert!(matches!(find(&kept, IDS[0]), Found::Rows(_)) && find(&kept, IDS[1]) == Found::Nothing);
        let both = run(&experiments, true, Some(&kept)).expect("the other can be run");
        assert_eq!(table::markdown(&both), whole);
        assert!(matches!(find(&kept, IDS[1]), Found::Rows(_)));
        kept.remove(&experiments).expect("they are there");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn what_is_kept_is_not_run() {
        fn none() -> Vec<Variant> {
            panic!("it is run")
        }
        let folder = folder();
        let kept = kept(&folder, true);
        kept.keep(IDS[0], &rows()).expect("it can be written");
        let experiments = [Experiment { variants: none, ..experiments().remove(0) }];
        assert_eq!(run(&experiments, true, Some(&kept)).expect("nothing is run"), rows());
    }

    #[test]
    fn rows_of_another_program_form_or_experiment_are_not_used() {
        let folder = folder();
        let kept = kept(&folder, false);
        kept.keep("x01", &rows()).expect("it can be written");
        assert_eq!(find(&kept, "x01"), Found::Rows(rows()));
        let short = Kept { made_by: kept.made_by.clone(), ..self::kept(&folder, true) };
        assert_eq!(find(&short, "x01"), Found::Nothing);
        let other = Kept { made_by: kept.made_by.replace("lab", "other"), ..self::kept(&folder, false) };
        assert_eq!(find(&other, "x01"), Found::OfAnother);
        fs::rename(kept.file("x01"), kept.file("x02")).expect("it is there");
        assert_eq!(find(&kept, "x02"), Found::OfAnother);
        assert_ne!(self::kept(&folder, true).made_by, kept.made_by);
    }

    #[test]
    fn a_damaged_file_is_not_used() {
        let folder = folder();
        let kept = kept(&folder, false);
        kept.keep("x01", &rows()).expect("it can be written");
        let text = fs::read_to_string(kept.file("x01")).expect("it is there");
        for damaged in [text.replace("none of it", "all of it"), text[..text.len() / 2].to_owned(), String::new()] {
            assert_ne!(damaged, text);
            fs::write(kept.file("x01"), damaged).expect("it can be written");
            assert_eq!(find(&kept, "x01"), Found::Nothing);
        }
    }
}
