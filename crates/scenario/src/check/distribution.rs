//! Distributions of sizes and times: the keys of each family, and the range of their values.

use std::fs;
use std::ops::Range;
use std::path::Path;

use evenair_reader::{Allowed, FromWritten, List, OrDefault, Problems, Written};
use evenair_units::{Bytes, Span};
use evenair_workload::Distribution;

use crate::raw::{SizeRaw, TimeRaw};
use crate::traffic_words::Family;

/// Maximum size of a file of values; an empirical distribution needs no more.
const MAX_FILE_BYTES: u64 = 10_000_000;

/// The range of values, and their notation in errors.
#[derive(Clone, Copy)]
pub(super) struct Admitted<'a> {
    /// Minimum and maximum, in bytes or nanoseconds.
    pub bounds: (f64, f64),
    /// The range in error messages.
    pub words: &'a str,
}

/// A distribution as written, of either kind of quantity.
pub(super) struct Draft<'a> {
    shape: Family,
    /// The position for errors of the whole distribution.
    place: Range<usize>,
    mean: Option<Value>,
    min: Option<Value>,
    max: Option<Value>,
    deviation: Option<Value>,
    alpha: Option<Value>,
    values: Option<(Vec<f64>, Range<usize>)>,
    cdf: Option<(Vec<f64>, Range<usize>)>,
    file: Option<&'a Written<String>>,
    /// Bytes or nanoseconds per unit of files.
    file_unit: f64,
}

#[derive(Clone)]
struct Value {
    x: f64,
    span: Range<usize>,
}

/// A kind of quantity with distributions.
trait Quantity: FromWritten {
    fn number(self) -> f64;
}

impl Quantity for Bytes {
    fn number(self) -> f64 {
        self.0 as f64
    }
}

impl Quantity for Span {
    fn number(self) -> f64 {
        self.as_nanos() as f64
    }
}

impl Quantity for f64 {
    fn number(self) -> f64 {
        self
    }
}

fn value<Q: Quantity, R: Allowed<Q>>(written: &Option<Written<Q, R>>, problems: &mut Problems) -> Option<Value> {
    let written = written.as_ref()?;
    written.get(problems).map(|quantity| Value { x: quantity.number(), span: written.span() })
}

fn list<Q: Quantity>(written: &Option<List<Q>>, problems: &mut Problems) -> Option<(Vec<f64>, Range<usize>)> {
    let list = written.as_ref()?;
    let span = list.items().first().map_or(0..0, Written::span);
    list.get(problems).map(|values| (values.into_iter().map(Q::number).collect(), span))
}

macro_rules! check {
    ($(#[$meta:meta])* $name:ident, $raw:ty, $file_unit:expr) => {
        $(#[$meta])*
        pub(super) fn $name(
            raw: &$raw,
            place: Range<usize>,
            admitted: Admitted<'_>,
            folder: &Path,
            problems: &mut Problems,
        ) -> Option<Distribution> {
            let before = problems.count();
            let draft = Draft {
                shape: raw.distribution.get_or(Family::Constant, problems)?,
                place: raw.distribution.as_ref().map_or(place, Written::span),
                mean: value(&raw.mean, problems),
                min: value(&raw.min, problems),
                max: value(&raw.max, problems),
                deviation: value(&raw.deviation, problems),
                alpha: value(&raw.alpha, problems),
                values: list(&raw.values, problems),
                cdf: list(&raw.cdf, problems),
                file: raw.file.as_ref(),
                file_unit: $file_unit,
            };
            if problems.count() > before { None } else { draft.check(admitted, folder, problems) }
        }
    };
}

check!(
    /// A distribution of sizes, or `None` and more problems. `place` is the position for errors of the whole distribution if it
    /// names no family.
    sizes,
    SizeRaw,
    1.0
);
check!(
    /// A distribution of times, as [`sizes`].
    times,
    TimeRaw,
    1e9
);

impl Draft<'_> {
    fn check(&self, admitted: Admitted<'_>, folder: &Path, problems: &mut Problems) -> Option<Distribution> {
        let before = problems.count();
        self.check_numbers(admitted, problems);
        if problems.count() > before {
            return None;
        }
        let max = self.max.as_ref().map(|value| value.x);
        let min = self.min.as_ref().map(|value| value.x);
        match self.shape {
            Family::Constant => self.need(&self.mean, "mean", problems).map(Distribution::Constant),
            Family::Uniform => {
                let (min, max) = (self.need(&self.min, "min", problems), self.need(&self.max, "max", problems));
                Some(Distribution::Uniform { min: min?, max: max? })
            }
            Family::Exponential => {
                let min = min.unwrap_or(0.0);
                let excess = self.need(&self.mean, "mean", problems)? - min;
                self.must(excess > 0.0, "the mean is not above min", "a mean above min", problems)?;
                Some(Distribution::Exponential { min, excess, max })
            }
            Family::Pareto => self.pareto(min, max, problems),
            Family::BoundedPareto => self.bounded_pareto(problems),
            Family::Lognormal => {
                let mean = self.need(&self.mean, "mean", problems);
                let deviation = self.need(&self.deviation, "deviation", problems);
                let (mean, deviation) = (mean?, deviation?);
                let possible = mean > 0.0 && deviation > 0.0 && deviation <= 100.0 * mean;
                let allowed = "both above zero, and the deviation up to 100 times the mean";
                self.must(possible, "no lognormal distribution has this mean and deviation", allowed, problems)?;
                Some(Distribution::lognormal_of_mean(mean, deviation, max))
            }
            Family::Empirical => self.empirical(admitted, folder, problems),
        }
    }

    /// Checks every value, and that there is room between minimum and maximum.
    fn check_numbers(&self, admitted: Admitted<'_>, problems: &mut Problems) {
        let (low, high) = admitted.bounds;
        // A constant and a mean must be in the range; other values may also be zero.
        let mean = self.mean.iter().map(|value| (value, low));
        let bounds = [&self.min, &self.max].into_iter().flatten().map(|value| (value, 0.0));
        for (value, low) in mean.chain(bounds).chain(self.deviation.iter().map(|value| (value, 0.0))) {
            if !(low..=high).contains(&value.x) {
                problems.add(value.span.clone(), "is out of range", admitted.words);
            }
        }
        if let (Some(min), Some(max)) = (&self.min, &self.max)
            && min.x >= max.x
        {
            problems.add(max.span.clone(), "the largest value is not above min", "max above min");
        }
    }

    fn pareto(&self, min: Option<f64>, max: Option<f64>, problems: &mut Problems) -> Option<Distribution> {
        let alpha = self.need(&self.alpha, "alpha", problems)?;
        let has_mean = alpha > 1.0;
        match (min, &self.mean) {
            (Some(min), None) => {
                let what = format!("with a tail exponent of {alpha} and no max the mean is infinite");
                self.must(has_mean || max.is_some(), &what, "alpha above 1, or a max", problems)?;
                self.must(min > 0.0, "min is zero", "min above zero", problems)?;
                Some(Distribution::Pareto { alpha, min, max })
            }
            (None, Some(mean)) => {
                let what = format!("with a tail exponent of {alpha} no mean is finite");
                self.must(has_mean, &what, "alpha above 1, or min in place of mean", problems)?;
                if max.is_some_and(|max| max <= mean.x) {
                    problems.add(mean.span.clone(), "the mean is not below max", "a mean below max");
                    return None;
                }
                Some(Distribution::pareto_of_mean(alpha, mean.x, max))
            }
            _ => self.must(false, "needs its smallest value or its mean", "one of min and mean", problems).and(None),
        }
    }

    fn bounded_pareto(&self, problems: &mut Problems) -> Option<Distribution> {
        let (min, max) = (self.need(&self.min, "min", problems), self.need(&self.max, "max", problems));
        let (min, max) = (min?, max?);
        self.must(min > 0.0, "min is zero", "min above zero", problems)?;
        match (&self.alpha, &self.mean) {
            (Some(alpha), None) => Some(Distribution::BoundedPareto { alpha: alpha.x, min, max }),
            (None, Some(mean)) => {
                let found = Distribution::bounded_pareto_of_mean(min, max, mean.x);
                if found.is_none() {
                    let what = "no tail exponent gives this mean between min and max";
                    problems.add(mean.span.clone(), what, "a mean between those of the exponents 20 and 0.01");
                }
                found
            }
            _ => self.must(false, "needs its tail exponent or its mean", "one of alpha and mean", problems).and(None),
        }
    }

    fn empirical(&self, admitted: Admitted<'_>, folder: &Path, problems: &mut Problems) -> Option<Distribution> {
        let (values, cdf, span) = match (&self.values, self.file) {
            (Some((values, span)), None) => (values.clone(), self.cdf.clone().map(|(cdf, _)| cdf), span.clone()),
            (None, Some(file)) if self.cdf.is_none() => {
                let (values, cdf) = read_file(folder, file, self.file_unit, problems)?;
                (values, cdf, file.span())
            }
            _ => {
                self.must(false, "needs its values", "values, values and cdf, or file", problems)?;
                return None;
            }
        };
        let place = self.cdf.as_ref().map_or(span.clone(), |(_, span)| span.clone());
        let (low, high) = admitted.bounds;
        if let Some(wrong) = values.iter().find(|value| !(low..=high).contains(*value)) {
            problems.add(span, format!("{wrong} is out of range"), admitted.words);
            return None;
        }
        let Some(cdf) = cdf else { return Some(Distribution::Values(values)) };
        if cdf.len() != values.len() {
            let what = format!("{} probabilities for {} values", cdf.len(), values.len());
            problems.add(place, what, "one for each value");
            return None;
        }
        let ascend = |list: &[f64]| list.windows(2).all(|pair| pair[0] <= pair[1]);
        let sound = ascend(&values) && ascend(&cdf) && cdf[0] >= 0.0 && cdf.last().is_some_and(|&p| p == 1.0);
        if !sound {
            let what = "this is no cumulative distribution";
            problems.add(place, what, "values and probabilities that ascend, the last probability 1");
            return None;
        }
        Some(Distribution::Cdf(values.into_iter().zip(cdf).collect()))
    }

    fn need(&self, value: &Option<Value>, key: &str, problems: &mut Problems) -> Option<f64> {
        if value.is_none() {
            problems.add(self.place.clone(), format!("this distribution needs {key}"), "");
        }
        value.as_ref().map(|value| value.x)
    }

    fn must(&self, holds: bool, what: &str, allowed: &str, problems: &mut Problems) -> Option<()> {
        if !holds {
            problems.add(self.place.clone(), what, allowed);
        }
        holds.then_some(())
    }
}

/// Values, and their cumulative probabilities if the file has them. Empty lines and lines that begin with # are ignored.
fn read_file(
    folder: &Path,
    written: &Written<String>,
    unit: f64,
    problems: &mut Problems,
) -> Option<(Vec<f64>, Option<Vec<f64>>)> {
    let path = folder.join(written.get(problems)?);
    let mut refuse = |what: String| problems.add(written.span(), what, "a file of lines \"VALUE\" or \"VALUE, CDF\"");
    let text = match fs::metadata(&path).and_then(|about| {
        if about.len() > MAX_FILE_BYTES {
            return Err(std::io::Error::other(format!("more than {MAX_FILE_BYTES} bytes")));
        }
        fs::read_to_string(&path)
    }) {
        Ok(text) => text,
        Err(error) => {
            refuse(format!("{}: {error}", path.display()));
            return None;
        }
    };
    let lines = text.lines().enumerate().map(|(number, line)| (number, line.trim()));
    let (mut values, mut cdf) = (Vec::new(), Vec::new());
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let mut numbers = line.split(',').map(|field| field.trim().parse::<f64>().ok().filter(|x| x.is_finite()));
        match (numbers.next().flatten(), numbers.next(), numbers.next()) {
            (Some(value), None, _) => values.push(value * unit),
            (Some(value), Some(Some(p)), None) => {
                values.push(value * unit);
                cdf.push(p);
            }
            _ => {
                refuse(format!("{}:{}: \"{line}\" is no such line", path.display(), number + 1));
                return None;
            }
        }
    }
    if values.is_empty() || !(cdf.is_empty() || cdf.len() == values.len()) {
        let what = if values.is_empty() { "has no values" } else { "has probabilities for some of its values only" };
        refuse(format!("{} {what}", path.display()));
        return None;
    }
    Some((values, (!cdf.is_empty()).then_some(cdf)))
}
