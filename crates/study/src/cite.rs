//! Citations of results, for a paper's appendix: the text of `evenair results show` and of Python's `provenance.cite()`.

use evenair_scenario::sweep::Settings;

use crate::Made;

/// The facts of a citation.
#[derive(Clone, Debug)]
pub struct Citation {
    /// The scenario's title; may be empty.
    pub title: String,
    /// The scenario's name.
    pub scenario: String,
    /// Digest of the scenario's text and settings.
    pub digest: String,
    /// Settings of all runs.
    pub settings: Settings,
    /// Sentences about what was compared, without their full stops.
    pub variants: Vec<String>,
    /// Varied keys with their values. The key `policy` is described in words, after the others.
    pub varied: Vec<(String, Vec<String>)>,
    /// The seeds; absent if no run has completed.
    pub seeds: Option<CitedSeeds>,
    /// The program and machine that produced the results.
    pub made: Made,
}

/// Seeds of a citation.
#[derive(Clone, Copy, Debug)]
pub enum CitedSeeds {
    /// The seed of a single run.
    Run(u64),
    /// First seed, last seed, and number of completed runs of all points.
    Runs(u64, u64, usize),
}

impl Citation {
    /// The text, one line per fact.
    pub fn text(&self) -> String {
        let title = if self.title.is_empty() { &self.scenario } else { &self.title };
        let mut facts = vec![
            format!("{title}."),
            format!("Simulated with {}.", self.made.program_text()),
            format!("Scenario: {}, digest {}.", self.scenario, self.digest),
        ];
        let pairs: Vec<_> = self.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        if !pairs.is_empty() {
            facts.push(format!("Set: {}.", pairs.join(", ")));
        }
        facts.extend(self.variants.iter().map(|variant| format!("{variant}.")));
        let (policies, others): (Vec<_>, Vec<_>) = self.varied.iter().partition(|(key, _)| key == "policy");
        facts.extend(others.iter().map(|(key, values)| format!("Varied: {key} = {}.", values.join(", "))));
        facts.extend(policies.iter().map(|(_, names)| format!("Policies: {}.", names.join(", "))));
        facts.extend(self.seeds.map(|seeds| match seeds {
            CitedSeeds::Run(seed) => format!("Seed: {seed}."),
            CitedSeeds::Runs(first, last, runs) => {
                format!("Seeds: {first} to {last}, the same at each point; {runs} runs.")
            }
        }));
        let on = self.made.host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
        facts.extend(self.made.date.as_ref().map(|date| format!("Made{on}, {date}.")));
        facts.join("\n")
    }
}
