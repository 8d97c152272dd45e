//! The tables in Markdown: of each mechanism what it is good for, and where; of each network what the full controller has, and what
//! changes without each mechanism.

use std::fmt::Write as _;

use super::figures::{Figures, Measure};
use super::judge::{Change, Verdict};

/// The runs of a network.
#[derive(Debug)]
pub struct OfNetwork {
    pub network: String,
    /// Of the full controller, of each seed.
    pub full: Vec<Figures>,
    pub variants: Vec<Variant>,
}

/// The runs without a mechanism.
#[derive(Debug)]
pub struct Variant {
    /// What the mechanism is called, and what it is.
    pub word: String,
    pub meaning: String,
    /// Of each seed, as of the full controller.
    pub runs: Vec<Figures>,
}

impl OfNetwork {
    /// What changes without a mechanism; absent where the network does not have the measure.
    fn changes(&self, variant: usize) -> [Option<Change>; Measure::ALL.len()] {
        let without = self.variants.get(variant).map_or(&[][..], |variant| &variant.runs);
        Measure::ALL.map(|measure| Change::of(measure, &self.full, without))
    }
}

/// All of it.
pub fn text(measured: &[OfNetwork], seeds: u64) -> String {
    let mut text = format!(
        "The default controller without one mechanism, beside the full one with the same seeds (1 to {seeds}): mean of the differences in \
         pairs,\nand half of its 95 % interval. **Bold**: worse without it by more than counts, and so is all of the interval; _italic_: \
         better by more\nthan counts, all of the interval; ?: the mean alone. What counts: 2 % of goodput, 10 % of a delay and at least \
         1 ms, 0.02 of Jain's index,\n2 points of R.\n\n## What each mechanism earns\n\n"
    );
    summary(&mut text, measured);
    text += "\n## The full controller\n\n";
    full(&mut text, measured);
    for (number, of_network) in measured.iter().enumerate() {
        let _ = write!(text, "\n## {}. {}\n\n", number + 1, of_network.network);
        network(&mut text, of_network);
    }
    text
}

/// A row for each mechanism: what is worse, better, and perhaps one of both, without it, by the numbers of the networks.
fn summary(text: &mut String, measured: &[OfNetwork]) {
    *text += "| without | it is | worse in | better in | perhaps one of both in | networks in which a figure differs |\n\
              |---|---|---|---|---|---|\n";
    let variants = measured.first().map_or(&[][..], |first| &first.variants);
    for (at, Variant { word, meaning, .. }) in variants.iter().enumerate() {
        let with = |wanted: Verdict, show: fn(&[Change]) -> String| {
            let of_network = |(number, of): (usize, &OfNetwork)| {
                let changes = of.changes(at).into_iter().flatten().filter(|change| change.verdict() == wanted);
                let changes: Vec<Change> = changes.collect();
                (!changes.is_empty()).then(|| format!("{}{}", number + 1, show(&changes)))
            };
            let all: Vec<String> = measured.iter().enumerate().filter_map(of_network).collect();
            if all.is_empty() { "nothing".to_owned() } else { all.join("; ") }
        };
        let [earns, costs] = [Verdict::Earns, Verdict::Costs].map(|verdict| with(verdict, in_words));
        let unclear = with(Verdict::Unclear, |_| String::new());
        let differs = measured.iter().filter(|of| of.variants.get(at).is_some_and(|off| off.runs != of.full)).count();
        let networks = measured.len();
        let _ = writeln!(text, "| {word} | {meaning} | {earns} | {costs} | {unclear} | {differs} of {networks} |");
    }
}

fn in_words(changes: &[Change]) -> String {
    let words: Vec<String> = changes.iter().map(|change| format!("{} {}", change.measure, change.text())).collect();
    format!(": {}", words.join(", "))
}

fn heading(text: &mut String, first: &str, of: impl Fn(Measure) -> String) {
    let heads: Vec<String> = Measure::ALL.into_iter().map(of).collect();
    let _ = writeln!(text, "| {first} | {} |\n|---|{}", heads.join(" | "), "---|".repeat(heads.len()));
}

fn full(text: &mut String, measured: &[OfNetwork]) {
    heading(text, "network", |measure| measure.heading().to_owned());
    for (number, OfNetwork { network, full, .. }) in measured.iter().enumerate() {
        let value = |measure: Measure| {
            let values: Vec<f64> = full.iter().filter_map(|run| run.get(measure)).collect();
            let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
            mean.map_or("-".to_owned(), |mean| format!("{mean:.*}", measure.decimals()))
        };
        let _ = writeln!(text, "| {}. {network} | {} |", number + 1, Measure::ALL.map(value).join(" | "));
    }
}

fn network(text: &mut String, measured: &OfNetwork) {
    heading(text, "without", |measure| measure.heading().to_owned());
    for (at, Variant { word, .. }) in measured.variants.iter().enumerate() {
        let cell = |change: Option<Change>| {
            let Some(change) = change else { return "-".to_owned() };
            let text = change.text();
            match change.verdict() {
                Verdict::Earns => format!("**{text}**"),
                Verdict::Costs => format!("_{text}_"),
                Verdict::Unclear => format!("{text} ?"),
                Verdict::Nothing => text,
            }
        };
        let _ = writeln!(text, "| {word} | {} |", measured.changes(at).map(cell).join(" | "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mechanism_earns_where_something_is_worse_without_it() {
        let full = vec![Figures::with([Some(100.0), Some(5.0), Some(0.99), None, None]); 3];
        let off = |goodput, jain| vec![Figures::with([Some(goodput), Some(5.0), Some(jain), None, None]); 3];
        let variant = |word: &str, runs| Variant { word: word.to_owned(), meaning: "m".to_owned(), runs };
        let variants =
            vec![variant("runs", off(50.0, 0.99)), variant("lag", full.clone()), variant("age", off(100.0, 0.5))];
        let all = text(&[OfNetwork { network: "office: busy".to_owned(), full, variants }], 3);
        for line in [
            "| runs | m | 1: goodput -50.0 ± 0.0 % | nothing | nothing | 1 of 1 |",
            "| lag | m | nothing | nothing | nothing | 0 of 1 |",
            "| age | m | 1: Jain of airtime -0.490 ± 0.000 | nothing | nothing | 1 of 1 |",
            "| 1. office: busy | 100.0 | 5.0 | 0.990 | - | - |",
            "| runs | **-50.0 ± 0.0 %** | +0.0 ± 0.0 | +0.000 ± 0.000 | - | - |",
        ] {
            assert!(all.lines().any(|of| of == line), "{line}\n{all}");
        }
    }
}
