//! Comparison of published figures and findings with the simulator's: one status for each.
//!
//! A figure is within tolerance if the simulated mean is within 10 % of it and the half width of its 95 % interval is no wider
//! than the tolerance. A finding (a direction, an order, a threshold) is one or more bounds on simulated numbers; it is within
//! tolerance if all bounds are met, including the half width. A figure outside tolerance is *explained* only if a run in the
//! same table changes one named cause and moves the figure into the tolerance. All others are open.

use std::fmt::Write;

use evenair_scenario::results::estimate::{CONFIDENCE, Estimate};
use evenair_scenario::{Published, Quantity};

/// How far from a published figure ours may lie, as a part of it.
const BAND: f64 = 0.10;

/// A number of ours: a mean over runs, and how far it may be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ours {
    pub mean: f64,
    /// Absent with one run.
    pub half_width: Option<f64>,
}

impl Ours {
    /// Over one value for each seed; not a number where a run did not yield it.
    pub fn over(values: Vec<f64>) -> Self {
        let known = values.into_iter().map(|value| value.is_finite().then_some(value)).collect();
        let estimate = Estimate::of("", known, CONFIDENCE);
        estimate.map_or(Self { mean: f64::NAN, half_width: None }, |e| Self { mean: e.mean, half_width: e.half_width })
    }

    /// What follows from the runs without chance.
    pub fn exactly(value: f64) -> Self {
        Self { mean: value, half_width: None }
    }

    fn uncertainty(self) -> f64 {
        self.half_width.unwrap_or(0.0)
    }

    /// For people.
    pub fn text(self) -> String {
        let mut text = number(self.mean);
        if let Some(half) = self.half_width {
            let _ = write!(text, " ± {}", number(half));
        }
        text
    }
}

/// Three or four digits that matter.
pub fn number(x: f64) -> String {
    match x.abs() {
        _ if !x.is_finite() => "none".to_owned(),
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1.0 => format!("{x:.2}"),
        a if a >= 0.1 || a == 0.0 => format!("{x:.3}"),
        _ => format!("{x:.4}"),
    }
}

/// Where a number must lie for a finding to hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
    Between(f64, f64),
}

impl Bound {
    fn holds(self, ours: Ours) -> bool {
        let (low, high) = (ours.mean - ours.uncertainty(), ours.mean + ours.uncertainty());
        match self {
            Self::AtMost(limit) => high <= limit,
            Self::AtLeast(limit) => low >= limit,
            Self::Between(least, most) => low >= least && high <= most,
        }
    }

    pub fn text(self) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {}", number(limit)),
            Self::AtLeast(limit) => format!("≥ {}", number(limit)),
            Self::Between(least, most) => format!("{} to {}", number(least), number(most)),
        }
    }
}

/// Whether what was published holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Open,
    Explained,
    Holds,
}

impl Verdict {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Explained => "explained",
            Self::Holds => "holds",
        }
    }
}

/// One line of the reasons for a status.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// What was measured, in words; empty where the published figure itself says it.
    pub what: String,
    pub ours: Ours,
    /// For findings.
    pub bound: Option<Bound>,
    /// Whether this line is inside its band or bound.
    pub inside: bool,
    /// The one cause that was changed, in a run that explains.
    pub cause: Option<String>,
}

/// One published figure or finding, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// `experiment/id`, unique over all.
    pub name: String,
    pub published: Published,
    pub verdict: Verdict,
    pub evidence: Vec<Evidence>,
}

/// Collects judgements of one experiment's published values.
pub struct Judge<'a> {
    experiment: &'a str,
    published: &'a [Published],
    judged: Vec<Judged>,
    means_only: bool,
}

impl<'a> Judge<'a> {
    pub fn new(experiment: &'a str, published: &'a [Published]) -> Self {
        Self { experiment, published, judged: Vec::new(), means_only: false }
    }

    /// Judges means and leaves intervals out: of a few runs a 95 % interval is several times as wide as of many,
    /// and says nothing.
    pub fn by_means(self) -> Self {
        Self { means_only: true, ..self }
    }

    fn known(&self, ours: Ours) -> Ours {
        if self.means_only { Ours::exactly(ours.mean) } else { ours }
    }

    /// Our number for the published figure `id`.
    ///
    /// # Panics
    /// If the scenario file has no figure of that id: the tests run through all of them.
    pub fn figure(&mut self, id: &str, ours: Ours) {
        let ours = self.known(ours);
        let value = self.published(id).value.unwrap_or_else(|| panic!("{}/{id} has no value", self.experiment));
        let inside = within_band(ours, value);
        self.note(id, Evidence { what: String::new(), ours, bound: None, inside, cause: None });
    }

    /// A run that changes one cause, described in words, and nothing else.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn figure_if(&mut self, id: &str, cause: &str, ours: Ours) {
        let ours = self.known(ours);
        let value = self.published(id).value.unwrap_or_else(|| panic!("{}/{id} has no value", self.experiment));
        let inside = within_band(ours, value);
        self.note(id, Evidence { what: String::new(), ours, bound: None, inside, cause: Some(cause.to_owned()) });
    }

    /// A bound that the finding `id` asks for; where there are several, all must hold.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn finding(&mut self, id: &str, what: &str, ours: Ours, bound: Bound) {
        let ours = self.known(ours);
        let inside = bound.holds(ours);
        self.note(id, Evidence { what: what.to_owned(), ours, bound: Some(bound), inside, cause: None });
    }

    /// As [`Judge::figure_if`], for a finding's bounds.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn finding_if(&mut self, id: &str, cause: &str, what: &str, ours: Ours, bound: Bound) {
        let ours = self.known(ours);
        let inside = bound.holds(ours);
        let cause = Some(cause.to_owned());
        self.note(id, Evidence { what: what.to_owned(), ours, bound: Some(bound), inside, cause });
    }

    /// The judgements, in the order of the scenario file; what was published and not judged is open.
    pub fn finish(mut self) -> Vec<Judged> {
        let with_id = self.published.iter().filter_map(|published| Some((published, published.id.as_deref()?)));
        let mut all = Vec::new();
        for (published, id) in with_id {
            let name = name(self.experiment, id);
            let found = self.judged.iter().position(|judged| judged.name == name);
            let mut judged = found.map_or_else(|| unjudged(name, published), |at| self.judged.swap_remove(at));
            judged.verdict = verdict(&judged.evidence);
            all.push(judged);
        }
        all
    }

    fn published(&self, id: &str) -> &'a Published {
        let found = self.published.iter().find(|published| published.id.as_deref() == Some(id));
        found.unwrap_or_else(|| panic!("the scenario file of {} publishes nothing with id {id:?}", self.experiment))
    }

    fn note(&mut self, id: &str, evidence: Evidence) {
        let published = self.published(id);
        let name = name(self.experiment, id);
        match self.judged.iter_mut().find(|judged| judged.name == name) {
            Some(judged) => judged.evidence.push(evidence),
            None => {
                let mut judged = unjudged(name, published);
                judged.evidence.push(evidence);
                self.judged.push(judged);
            }
        }
    }
}

fn name(experiment: &str, id: &str) -> String {
    format!("{experiment}/{id}")
}

fn unjudged(name: String, published: &Published) -> Judged {
    Judged { name, published: published.clone(), verdict: Verdict::Open, evidence: Vec::new() }
}

/// Within the band, and known so well that this says something.
fn within_band(ours: Ours, published: f64) -> bool {
    let band = BAND * published.abs();
    // A rounding error must not decide at the band's edge.
    (ours.mean - published).abs() <= band * (1.0 + 1e-9) && ours.uncertainty() <= band
}

/// All lines of the run itself inside: it holds. Else one cause may have every line of its own inside.
fn verdict(evidence: &[Evidence]) -> Verdict {
    let own = || evidence.iter().filter(|line| line.cause.is_none());
    if own().next().is_none() {
        return Verdict::Open;
    }
    if own().all(|line| line.inside) {
        return Verdict::Holds;
    }
    let failed: Vec<_> = own().filter(|line| !line.inside).map(|line| line.what.as_str()).collect();
    let explains = |cause: &str| {
        let lines = || evidence.iter().filter(|line| line.cause.as_deref() == Some(cause));
        lines().all(|line| line.inside) && failed.iter().all(|what| lines().any(|line| line.what == *what))
    };
    let mut causes = evidence.iter().filter_map(|line| line.cause.as_deref());
    if causes.any(explains) { Verdict::Explained } else { Verdict::Open }
}

/// Whether a published entry is a number (which is counted among the figures) or words.
pub fn is_figure(published: &Published) -> bool {
    published.what != Quantity::Finding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(id: &str, value: Option<f64>) -> Published {
        Published {
            what: if value.is_some() { Quantity::Figure } else { Quantity::Finding },
            phase: None,
            value,
            unit: String::new(),
            note: "words".into(),
            id: Some(id.into()),
            at: None,
        }
    }

    fn verdict_of(judging: impl Fn(&mut Judge<'_>)) -> Vec<Verdict> {
        let list = [published("figure", Some(10.0)), published("finding", None)];
        let mut judge = Judge::new("x01", &list);
        judging(&mut judge);
        judge.finish().iter().map(|judged| judged.verdict).collect()
    }

    #[test]
    fn by_means_an_interval_does_not_decide() {
        let list = [published("one", Some(10.0))];
        let judged = |judge: Judge<'_>| {
            let mut judge = judge;
            judge.figure("one", Ours { mean: 10.5, half_width: Some(5.0) });
            judge.finish()[0].verdict
        };
        assert_eq!(judged(Judge::new("x01", &list)), Verdict::Open);
        assert_eq!(judged(Judge::new("x01", &list).by_means()), Verdict::Holds);
    }

    #[test]
    fn what_nobody_judged_is_open() {
        assert_eq!(verdict_of(|_| ()), [Verdict::Open, Verdict::Open]);
    }

    #[test]
    fn a_figure_holds_within_the_band_and_if_it_is_known_that_well() {
        let of = |ours| verdict_of(|judge| judge.figure("figure", ours))[0];
        let vague = |half| Ours { mean: 10.0, half_width: Some(half) };
        assert_eq!([9.0, 11.0].map(|x| of(Ours::exactly(x))), [Verdict::Holds; 2]);
        assert_eq!([8.9, 11.1, f64::NAN].map(|x| of(Ours::exactly(x))), [Verdict::Open; 3]);
        assert_eq!((of(vague(1.0)), of(vague(1.1))), (Verdict::Holds, Verdict::Open));
        assert_eq!(of(Ours::over(vec![9.9, 10.1])), Verdict::Open, "1.27 is too wide");
        assert_eq!(of(Ours::over(vec![9.99, 10.01])), Verdict::Holds);
    }

    #[test]
    fn a_finding_holds_where_all_its_bounds_do() {
        let of = |values: [f64; 2]| {
            verdict_of(|judge| {
                judge.finding("finding", "a", Ours::exactly(values[0]), Bound::AtMost(1.0));
                judge.finding("finding", "b", Ours::exactly(values[1]), Bound::AtLeast(2.0));
            })[1]
        };
        assert_eq!(of([1.0, 2.0]), Verdict::Holds);
        assert_eq!([of([1.1, 2.0]), of([1.0, 1.9]), of([f64::NAN, 2.0])], [Verdict::Open; 3]);
        let wide = Ours { mean: 0.9, half_width: Some(0.2) };
        assert_eq!(verdict_of(|judge| judge.finding("finding", "a", wide, Bound::AtMost(1.0)))[1], Verdict::Open);
    }

    #[test]
    fn only_a_run_inside_the_band_explains_one_outside_of_it() {
        let of = |own: f64, changed: f64| {
            verdict_of(|judge| {
                judge.figure("figure", Ours::exactly(own));
                judge.figure_if("figure", "another buffer", Ours::exactly(changed));
            })[0]
        };
        assert_eq!(of(10.0, 20.0), Verdict::Holds);
        assert_eq!(of(20.0, 10.0), Verdict::Explained);
        assert_eq!(of(20.0, 20.0), Verdict::Open);
        let one_of_two = verdict_of(|judge| {
            judge.finding("finding", "a", Ours::exactly(2.0), Bound::AtMost(1.0));
            judge.finding("finding", "b", Ours::exactly(2.0), Bound::AtMost(1.0));
            judge.finding_if("finding", "x", "a", Ours::exactly(1.0), Bound::AtMost(1.0));
        });
        assert_eq!(one_of_two[1], Verdict::Open, "b is not explained");
        let alone = verdict_of(|judge| judge.figure_if("figure", "x", Ours::exactly(10.0)));
        assert_eq!(alone[0], Verdict::Open, "nothing without the run itself");
    }
}
