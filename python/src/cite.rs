//! Citations, with the text of `evenair results show`.

use evenair_study::{Citation, CitedSeeds, Made};
use pyo3::prelude::*;

/// Provenance of a sweep, as a mapping made by `package/evenair/_provenance.py`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Provenance {
    title: String,
    scenario: String,
    digest: String,
    settings: Vec<(String, String)>,
    varied: Vec<(String, Vec<String>)>,
    seeds: (u64, u64),
    runs: usize,
    version: String,
    program: String,
    host: Option<String>,
    date: String,
}

/// The text of a citation.
#[pyfunction]
#[pyo3(signature = (of, /))]
pub fn cite(of: Provenance) -> String {
    let (first, last) = of.seeds;
    let (version, program, date) = (Some(of.version), Some(of.program), Some(of.date));
    let citation = Citation {
        title: of.title,
        scenario: of.scenario,
        digest: of.digest,
        settings: of.settings,
        variants: Vec::new(),
        varied: of.varied,
        seeds: Some(CitedSeeds::Runs(first, last, of.runs)),
        made: Made { version, program, host: of.host, date, ..Made::default() },
    };
    citation.text()
}
