//! Status of published figures and findings, compared with the simulator's results.
//!
//! A figure is within if our mean is within 10 % of it and sufficiently precise: the half-width of its 95 % interval is at most
//! the band. A finding (a direction, an order, a threshold) is one or more bounds on our numbers; it is within if all of them
//! are met with the half-width counted against them. Where the source leaves something open, several readings are run. What is
//! within in only one reading is *fitted*; the reading is the same for all rows of an experiment, or the set-up was fitted to
//! the published number itself. What is not within is *explained* only if a run in the same table changes one named cause and
//! brings our figure into the band; *sources contradict* each other if another published number rules it out; the *source is
//! inconsistent* if its own numbers prove so; and a *real place* is a room whose cards and positions are not published. All else
//! is outside.

use std::fmt::Write;

use evenair_results::estimate::{CONFIDENCE, Estimate};
use evenair_scenario::{Published, Quantity};
use serde::{Deserialize, Serialize};

/// Tolerance of a published figure, relative.
const BAND: f64 = 0.10;

/// A number of ours: a mean over runs, with its half-width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ours {
    pub mean: f64,
    /// Half-width of the 95 % interval; absent with one run.
    pub half_width: Option<f64>,
}

impl Ours {
    /// From one value per seed; NaN if a run did not yield it.
    pub fn over(values: Vec<f64>) -> Self {
        let known = values.into_iter().map(|value| value.is_finite().then_some(value)).collect();
        let estimate = Estimate::of("", known, CONFIDENCE);
        estimate.map_or(Self { mean: f64::NAN, half_width: None }, |e| Self { mean: e.mean, half_width: e.half_width })
    }

    /// A deterministic number.
    pub fn exactly(value: f64) -> Self {
        Self { mean: value, half_width: None }
    }

    fn uncertainty(self) -> f64 {
        self.half_width.unwrap_or(0.0)
    }

    /// The number as text.
    pub fn text(self) -> String {
        let mut text = number(self.mean);
        if let Some(half) = self.half_width {
            let _ = write!(text, " ± {}", number(half));
        }
        text
    }
}

/// A number with three or four significant digits.
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

/// Bound of a number for a finding.
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

/// Status of a published figure or finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// Not within, for unknown reasons.
    Outside,
    /// Not within in every reading; measured in a room that is not described.
    RealPlace,
    /// Not within in every reading; another published number rules it out.
    Contradicted,
    /// Not within; the source's own numbers contradict each other.
    Inconsistent,
    /// Not within, but within if one named cause is changed.
    Explained,
    /// Within in the nearest reading of what the source leaves open, but not in every one.
    Fitted,
    Within,
}

impl Verdict {
    /// All statuses, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::Outside,
        Self::RealPlace,
        Self::Contradicted,
        Self::Inconsistent,
        Self::Explained,
        Self::Fitted,
        Self::Within,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::RealPlace => "real place",
            Self::Contradicted => "sources contradict",
            Self::Inconsistent => "source inconsistent",
            Self::Explained => "explained",
            Self::Fitted => "fitted",
            Self::Within => "within",
        }
    }
}

/// Origin of a line of evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A run of the scenario file.
    File,
    /// A run with another reading of what the source leaves open.
    Reading(String),
    /// A run with one cause changed.
    Cause(String),
    /// Arithmetic on the published numbers alone.
    Proof,
    /// Arithmetic on numbers published elsewhere; the source.
    Elsewhere(String),
    /// The authors' formula as they state it: shown, without effect on the status.
    Formula,
}

impl Origin {
    /// Prefix of the line; empty for a run of the file.
    pub fn text(&self) -> String {
        match self {
            Self::File => String::new(),
            Self::Reading(words) => format!("read as {words}: "),
            Self::Cause(words) => format!("with {words}: "),
            Self::Proof => "proof: ".to_owned(),
            Self::Elsewhere(words) => format!("{words}: "),
            Self::Formula => "by the authors' formula as they state it: ".to_owned(),
        }
    }
}

/// One line of evidence for a status.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The measured quantity, as text; empty if it is the published figure.
    pub what: String,
    pub ours: Ours,
    /// The bound of a finding.
    pub bound: Option<Bound>,
    /// Whether the line is within its band or bound.
    pub inside: bool,
    pub origin: Origin,
}

/// A number of ours and its bound in a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundCheck<'a> {
    /// The measured quantity, as text.
    pub what: &'a str,
    pub ours: Ours,
    pub bound: Bound,
}

impl<'a> BoundCheck<'a> {
    pub fn new(what: &'a str, ours: Ours, bound: Bound) -> Self {
        Self { what, ours, bound }
    }
}

/// Why a row's number is not comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The set-up was fitted to it.
    Calibrated(&'static str),
    /// It was measured in a room that is not described.
    RealPlace(&'static str),
}

impl Mark {
    /// The reason as text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Calibrated(words) | Self::RealPlace(words) => words,
        }
    }
}

/// One published figure or finding, with its evidence and status.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// `experiment/id`, unique.
    pub name: String,
    pub published: Published,
    pub verdict: Verdict,
    pub evidence: Vec<Evidence>,
    pub mark: Option<Mark>,
}

/// Collects the evidence for one experiment's published values.
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

    /// Ignores the widths of intervals: with few runs a 95 % interval is several times as wide as with many.
    pub fn by_means(self) -> Self {
        Self { means_only: true, ..self }
    }

    fn known(&self, ours: Ours) -> Ours {
        if self.means_only { Ours::exactly(ours.mean) } else { ours }
    }

    /// Adds our number for the published figure `id`.
    ///
    /// # Panics
    /// The scenario file has no figure with this id; the tests cover all ids.
    pub fn figure(&mut self, id: &str, ours: Ours) {
        self.figure_from(id, Origin::File, ours);
    }

    /// Adds a run that changes one cause.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn figure_if(&mut self, id: &str, cause: &str, ours: Ours) {
        self.figure_from(id, Origin::Cause(cause.to_owned()), ours);
    }

    /// Adds a run with another reading of what the source leaves open.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn figure_read(&mut self, id: &str, reading: &str, ours: Ours) {
        self.figure_from(id, Origin::Reading(reading.to_owned()), ours);
    }

    fn figure_from(&mut self, id: &str, origin: Origin, ours: Ours) {
        let ours = self.known(ours);
        let value = self.value(id);
        self.note_figure(id, origin, ours, within(ours, value, BAND * value.abs()));
    }

    /// Adds our number for a figure that was read off a plot as one digit: the tolerance is half a unit of that digit.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn digit(&mut self, id: &str, ours: Ours) {
        let ours = self.known(ours);
        let value = self.value(id);
        self.note_figure(id, Origin::File, ours, within(ours, value, half_a_digit(value)));
    }

    /// Adds our number for a figure with a band of its own, or the number of a run that changes one cause.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn figure_near(&mut self, id: &str, cause: Option<&str>, ours: Ours, band: f64) {
        let ours = self.known(ours);
        let origin = cause.map_or(Origin::File, |words| Origin::Cause(words.to_owned()));
        self.note_figure(id, origin, ours, within(ours, self.value(id), band));
    }

    /// Adds the value of the authors' formula beside our number.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn formula(&mut self, id: &str, value: f64) {
        self.note_figure(id, Origin::Formula, Ours::exactly(value), true);
    }

    /// The published value of the figure `id`.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn value(&self, id: &str) -> f64 {
        self.published(id).value.unwrap_or_else(|| panic!("{}/{id} has no value", self.experiment))
    }

    fn note_figure(&mut self, id: &str, origin: Origin, ours: Ours, inside: bool) {
        self.note(id, Evidence { what: String::new(), ours, bound: None, inside, origin });
    }

    /// Marks a row's number as not comparable.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn mark(&mut self, id: &str, mark: Mark) {
        self.entry(id).mark = Some(mark);
    }

    /// Adds a bound of the finding `id`; all bounds of a finding must be met.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn finding(&mut self, id: &str, what: &str, ours: Ours, bound: Bound) {
        self.finding_from(id, Origin::File, BoundCheck::new(what, ours, bound));
    }

    /// As [`Judge::figure_if`], for a finding's bounds.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn finding_if(&mut self, id: &str, cause: &str, check: BoundCheck<'_>) {
        self.finding_from(id, Origin::Cause(cause.to_owned()), check);
    }

    /// As [`Judge::figure_read`], for a finding's bounds.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn finding_read(&mut self, id: &str, reading: &str, check: BoundCheck<'_>) {
        self.finding_from(id, Origin::Reading(reading.to_owned()), check);
    }

    /// Adds arithmetic on the published numbers, with the bound that it would meet if they were consistent.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn proof(&mut self, id: &str, what: &str, number: f64, bound: Bound) {
        self.finding_from(id, Origin::Proof, BoundCheck::new(what, Ours::exactly(number), bound));
    }

    /// Adds arithmetic on numbers published elsewhere, with the bound that it would meet if both were true.
    ///
    /// # Panics
    /// As [`Judge::figure`].
    pub fn elsewhere(&mut self, id: &str, source: &str, check: BoundCheck<'_>) {
        self.finding_from(id, Origin::Elsewhere(source.to_owned()), check);
    }

    fn finding_from(&mut self, id: &str, origin: Origin, check: BoundCheck<'_>) {
        let BoundCheck { what, ours, bound } = check;
        let ours = self.known(ours);
        let inside = bound.holds(ours);
        self.note(id, Evidence { what: what.to_owned(), ours, bound: Some(bound), inside, origin });
    }

    /// The statuses, in the order of the scenario file. Published values without evidence are outside.
    pub fn finish(mut self) -> Vec<Judged> {
        let reading = nearest_reading(&self.judged);
        let with_id = self.published.iter().filter_map(|published| Some((published, published.id.as_deref()?)));
        let mut all = Vec::new();
        for (published, id) in with_id {
            let name = name(self.experiment, id);
            let found = self.judged.iter().position(|judged| judged.name == name);
            let mut judged = found.map_or_else(|| unjudged(name, published), |at| self.judged.swap_remove(at));
            judged.verdict = verdict(&judged, &reading);
            all.push(judged);
        }
        all
    }

    fn published(&self, id: &str) -> &'a Published {
        let found = self.published.iter().find(|published| published.id.as_deref() == Some(id));
        found.unwrap_or_else(|| panic!("the scenario file of {} publishes nothing with id {id:?}", self.experiment))
    }

    fn note(&mut self, id: &str, evidence: Evidence) {
        self.entry(id).evidence.push(evidence);
    }

    fn entry(&mut self, id: &str) -> &mut Judged {
        let published = self.published(id);
        let name = name(self.experiment, id);
        let at = self.judged.iter().position(|judged| judged.name == name).unwrap_or_else(|| {
            self.judged.push(unjudged(name, published));
            self.judged.len() - 1
        });
        &mut self.judged[at]
    }
}

fn name(experiment: &str, id: &str) -> String {
    format!("{experiment}/{id}")
}

fn unjudged(name: String, published: &Published) -> Judged {
    Judged { name, published: published.clone(), verdict: Verdict::Outside, evidence: Vec::new(), mark: None }
}

/// Within the band, with sufficient precision.
fn within(ours: Ours, published: f64, band: f64) -> bool {
    // A rounding error must not decide at the edge of the band.
    (ours.mean - published).abs() <= band * (1.0 + 1e-9) && ours.uncertainty() <= band
}

/// Half a unit of the first digit: 50 for 200, 5 for 50.
fn half_a_digit(value: f64) -> f64 {
    0.5 * 10_f64.powf(value.abs().log10().floor())
}

/// The reading for all rows of an experiment: the one with most rows within; among equals the first, beginning with the file's.
fn nearest_reading(judged: &[Judged]) -> Origin {
    let mut readings = vec![Origin::File];
    for line in judged.iter().flat_map(|judged| &judged.evidence) {
        if matches!(line.origin, Origin::Reading(_)) && !readings.contains(&line.origin) {
            readings.push(line.origin.clone());
        }
    }
    let within = |origin: &Origin| judged.iter().filter(|judged| all_inside(&judged.evidence, origin)).count();
    let most = readings.iter().map(within).max().unwrap_or(0);
    readings.into_iter().find(|origin| within(origin) == most).unwrap_or(Origin::File)
}

/// Whether every line of the file's run is within under this reading. Lines that the reading lacks are those of the file.
fn all_inside(evidence: &[Evidence], origin: &Origin) -> bool {
    let lines = |origin: &Origin| evidence.iter().filter(move |line| line.origin == *origin).collect::<Vec<_>>();
    let (own, read) = (lines(&Origin::File), lines(origin));
    let as_read = |line: &Evidence| read.iter().find(|other| other.what == line.what).map_or(line.inside, |l| l.inside);
    !own.is_empty() && own.iter().all(|line| as_read(line)) && read.iter().all(|line| line.inside)
}

/// The status: within in every reading, or in the nearest one; otherwise by causes, contradictions and proofs.
fn verdict(judged: &Judged, reading: &Origin) -> Verdict {
    let evidence = &judged.evidence;
    let readings = evidence.iter().filter(|line| matches!(line.origin, Origin::Reading(_)));
    let every = all_inside(evidence, &Origin::File) && readings.clone().all(|line| line.inside);
    let breaks = |is_it: fn(&Origin) -> bool| evidence.iter().any(|line| is_it(&line.origin) && !line.inside);
    match judged.mark {
        Some(Mark::Calibrated(_)) if every => Verdict::Fitted,
        _ if every => Verdict::Within,
        Some(Mark::RealPlace(_)) => Verdict::RealPlace,
        _ if breaks(|origin| matches!(origin, Origin::Elsewhere(_))) => Verdict::Contradicted,
        _ if all_inside(evidence, reading) => Verdict::Fitted,
        _ if is_explained(evidence) => Verdict::Explained,
        _ if breaks(|origin| *origin == Origin::Proof) => Verdict::Inconsistent,
        _ => Verdict::Outside,
    }
}

/// Whether a run with one cause changed brings every line within that is not within in the run of the file.
fn is_explained(evidence: &[Evidence]) -> bool {
    let own = || evidence.iter().filter(|line| line.origin == Origin::File);
    let failed: Vec<_> = own().filter(|line| !line.inside).map(|line| line.what.as_str()).collect();
    let explains = |cause: &Origin| {
        let lines = || evidence.iter().filter(|line| line.origin == *cause);
        lines().all(|line| line.inside) && failed.iter().all(|what| lines().any(|line| line.what == *what))
    };
    let mut causes = evidence.iter().map(|line| &line.origin).filter(|origin| matches!(origin, Origin::Cause(_)));
    own().next().is_some() && causes.any(explains)
}

/// Whether a published entry is a number, which counts as a figure, rather than a finding.
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
        assert_eq!(judged(Judge::new("x01", &list)), Verdict::Outside);
        assert_eq!(judged(Judge::new("x01", &list).by_means()), Verdict::Within);
    }

    #[test]
    fn values_without_evidence_are_outside() {
        assert_eq!(verdict_of(|_| ()), [Verdict::Outside, Verdict::Outside]);
    }

    #[test]
    fn a_figure_is_within_inside_the_band_and_if_it_is_known_that_well() {
        let of = |ours| verdict_of(|judge| judge.figure("figure", ours))[0];
        let vague = |half| Ours { mean: 10.0, half_width: Some(half) };
        assert_eq!([9.0, 11.0].map(|x| of(Ours::exactly(x))), [Verdict::Within; 2]);
        assert_eq!([8.9, 11.1, f64::NAN].map(|x| of(Ours::exactly(x))), [Verdict::Outside; 3]);
        assert_eq!((of(vague(1.0)), of(vague(1.1))), (Verdict::Within, Verdict::Outside));
        assert_eq!(of(Ours::over(vec![9.9, 10.1])), Verdict::Outside, "1.27 is too wide");
        assert_eq!(of(Ours::over(vec![9.99, 10.01])), Verdict::Within);
    }

    #[test]
    fn a_finding_is_within_where_all_its_bounds_do() {
        let of = |values: [f64; 2]| {
            verdict_of(|judge| {
                judge.finding("finding", "a", Ours::exactly(values[0]), Bound::AtMost(1.0));
                judge.finding("finding", "b", Ours::exactly(values[1]), Bound::AtLeast(2.0));
            })[1]
        };
        assert_eq!(of([1.0, 2.0]), Verdict::Within);
        assert_eq!([of([1.1, 2.0]), of([1.0, 1.9]), of([f64::NAN, 2.0])], [Verdict::Outside; 3]);
        let wide = Ours { mean: 0.9, half_width: Some(0.2) };
        assert_eq!(verdict_of(|judge| judge.finding("finding", "a", wide, Bound::AtMost(1.0)))[1], Verdict::Outside);
    }

    #[test]
    fn only_a_run_inside_the_band_explains_one_outside_of_it() {
        let of = |own: f64, changed: f64| {
            verdict_of(|judge| {
                judge.figure("figure", Ours::exactly(own));
                judge.figure_if("figure", "another buffer", Ours::exactly(changed));
            })[0]
        };
        assert_eq!(of(10.0, 20.0), Verdict::Within);
        assert_eq!(of(20.0, 10.0), Verdict::Explained);
        assert_eq!(of(20.0, 20.0), Verdict::Outside);
        let one_of_two = verdict_of(|judge| {
            judge.finding("finding", "a", Ours::exactly(2.0), Bound::AtMost(1.0));
            judge.finding("finding", "b", Ours::exactly(2.0), Bound::AtMost(1.0));
            judge.finding_if("finding", "x", BoundCheck::new("a", Ours::exactly(1.0), Bound::AtMost(1.0)));
        });
        assert_eq!(one_of_two[1], Verdict::Outside, "b is not explained");
        let alone = verdict_of(|judge| judge.figure_if("figure", "x", Ours::exactly(10.0)));
        assert_eq!(alone[0], Verdict::Outside, "nothing without the run itself");
    }

    #[test]
    fn a_value_within_in_one_reading_only_is_fitted() {
        let of = |file: f64, read: f64| {
            verdict_of(|judge| {
                judge.figure("figure", Ours::exactly(file));
                judge.figure_read("figure", "the lowest basic rate", Ours::exactly(read));
            })[0]
        };
        assert_eq!(of(10.0, 10.5), Verdict::Within, "it does not depend on the reading");
        assert_eq!([of(10.0, 20.0), of(20.0, 10.0)], [Verdict::Fitted; 2]);
        assert_eq!(of(20.0, 5.0), Verdict::Outside);
    }

    #[test]
    fn one_reading_serves_all_rows_of_an_experiment() {
        let verdicts = verdict_of(|judge| {
            judge.figure("figure", Ours::exactly(20.0));
            judge.figure_read("figure", "another rate", Ours::exactly(10.0));
            judge.finding("finding", "a", Ours::exactly(1.0), Bound::AtMost(1.0));
            judge.finding_read("finding", "another rate", BoundCheck::new("a", Ours::exactly(2.0), Bound::AtMost(1.0)));
        });
        assert_eq!(verdicts, [Verdict::Outside, Verdict::Fitted], "the file's reading is first among equals");
    }

    #[test]
    fn a_digit_of_a_plot_holds_within_half_a_unit() {
        assert_eq!([200.0, 100.0, 50.0, 500.0].map(half_a_digit), [50.0, 50.0, 5.0, 50.0]);
        let list = [published("digit", Some(200.0))];
        let of = |mean: f64| {
            let mut judge = Judge::new("x01", &list);
            judge.digit("digit", Ours::exactly(mean));
            judge.finish()[0].verdict
        };
        assert_eq!([150.0, 250.0].map(of), [Verdict::Within; 2]);
        assert_eq!([149.0, 251.0].map(of), [Verdict::Outside; 2]);
    }

    #[test]
    fn marks_formulas_and_other_sources_decide_where_they_may() {
        let of = |ours: f64, more: &dyn Fn(&mut Judge<'_>)| {
            verdict_of(|judge| {
                judge.figure("figure", Ours::exactly(ours));
                more(judge);
            })[0]
        };
        let [place, fitted] = [Mark::RealPlace("an office"), Mark::Calibrated("the signal is of this row")];
        let ruled_out = |judge: &mut Judge<'_>| {
            let check = BoundCheck::new("both together:", Ours::exactly(1.76), Bound::AtLeast(2.0));
            judge.elsewhere("figure", "another study", check);
        };
        assert_eq!(of(10.0, &|judge| judge.mark("figure", fitted)), Verdict::Fitted);
        assert_eq!(of(20.0, &|judge| judge.mark("figure", fitted)), Verdict::Outside);
        assert_eq!(
            [10.0, 20.0].map(|x| of(x, &|judge| judge.mark("figure", place))),
            [Verdict::Within, Verdict::RealPlace]
        );
        assert_eq!([10.0, 20.0].map(|x| of(x, &ruled_out)), [Verdict::Within, Verdict::Contradicted]);
        assert_eq!(
            [10.0, 20.0].map(|x| of(x, &|judge| judge.formula("figure", 9.0))),
            [Verdict::Within, Verdict::Outside]
        );
    }

    #[test]
    fn numbers_that_contradict_each_other_are_the_sources_fault() {
        let of = |ours: f64, taken: f64| {
            verdict_of(|judge| {
                judge.figure("figure", Ours::exactly(ours));
                judge.proof("figure", "part of the medium's time:", taken, Bound::AtMost(1.0));
            })[0]
        };
        assert_eq!(
            [of(20.0, 1.2), of(20.0, 0.9), of(10.0, 1.2)],
            [Verdict::Inconsistent, Verdict::Outside, Verdict::Within]
        );
    }
}
