//! Citations of results, for a paper's appendix: the text of `evenair results show` and of Python's `provenance.cite()`.

use evenair_scenario::sweep::Settings;

use crate::Made;

/// What a citation says.
#[derive(Clone, Debug)]
pub struct Citation {
    /// The scenario's title; may be empty.
    pub title: String,
    /// The scenario's name.
    pub scenario: String,
    /// Of its text and settings.
    pub digest: String,
    /// What is set in all runs.
    pub settings: Settings,
    /// Sentences about what was compared, without their full stops.
    pub variants: Vec<String>,
    /// Keys that vary, with their values. The key `policy` is named in words, after the others.
    pub varied: Vec<(String, Vec<String>)>,
    /// The seeds; absent where no run has ended.
    pub seeds: Option<CitedSeeds>,
    /// What made the results.
    pub made: Made,
}

/// Seeds of a citation.
#[derive(Clone, Copy, Debug)]
pub enum CitedSeeds {
    /// Of one run.
    Run(u64),
    /// Of many: the first one, the last one, and the runs of all points that ended well.
    Runs(u64, u64, usize),
}

impl Citation {
    /// The text, a line for each fact.
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
