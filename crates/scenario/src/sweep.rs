//! The parameters of a sweep: keys, their values, and the resulting points.
//!
//! Values are in the notation of [`Scenario::load_with`], separated by commas, or a range with a step: `2, 5, 10`, `2..20
//! step 2`, `50 packets, 100 packets`, `1 Mb/s .. 7 Mb/s step 0.5 Mb/s`. A range includes its first value, and its last one
//! if a step reaches it. Ranges are computed in decimals, without rounding.
//!
//! Each point is checked as a scenario, which validates keys and values.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use evenair_reader::{self as reader, ConfigError, OrDefault, Problems, Written};

use crate::Scenario;
use crate::raw::{ScenarioRaw, SweepRaw};

/// Maximum number of values of a key.
pub const MOST_VALUES: usize = 10_000;
/// Maximum number of points of an experiment.
pub const MOST_POINTS: usize = 100_000;

/// Maximum number of points that are all checked; with more, only those are checked that differ from the first one in one
/// entry, or in entries that advance together.
const ALL_CHECKED: usize = 500;
/// Maximum number of errors after which no further points are checked: they usually have one cause.
const PROBLEMS: usize = 20;

/// Expected values in an error message.
const ALLOWED: &str = "values such as \"2, 5, 10\", \"2..20 step 2\" or \"1 Mb/s..7 Mb/s step 0.5 Mb/s\"";

/// A key and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The key, as [`Scenario::load_with`] takes it: `radio.ap_buffer`, `station.sta.count`.
    pub key: String,
    /// Its values, each as [`Scenario::load_with`] takes it.
    pub values: Vec<String>,
    /// Whether it advances together with the axis before it, instead of making a grid with it.
    pub together: bool,
}

/// The settings of one point: keys and values, as [`Scenario::load_with`] takes them.
pub type Settings = Vec<(String, String)>;

impl Axis {
    /// Reads `KEY=VALUES` of a command line.
    ///
    /// # Errors
    /// What is wrong, as a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (key, values) = text.split_once('=').ok_or("expected KEY=VALUES, for instance station.sta.count=2,5,10")?;
        let key = key.trim();
        if key.is_empty() {
            return Err("expected KEY=VALUES: there is no key".into());
        }
        let values = values_of(values).map_err(|what| format!("{key}: {what}; allowed: {ALLOWED}"))?;
        Ok(Self { key: key.to_owned(), values, together: false })
    }
}

impl Scenario {
    /// Settings of every point of the experiment, the last axis changing fastest. One point without settings if nothing
    /// varies.
    ///
    /// # Errors
    /// If the axes do not fit together.
    pub fn points(axes: &[Axis]) -> Result<Vec<Settings>, String> {
        points(axes)
    }

    /// As [`Scenario::load_with`], and also checks the points of the file's own `[[sweep]]`. Errors of a point are reported at
    /// the entry that causes them.
    ///
    /// # Errors
    /// As [`Scenario::load_with`], of the file or of a point.
    pub fn load_with_points(path: impl AsRef<Path>, sets: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let (text, file) = (crate::check::text_of(path)?, path.to_string_lossy());
        let scenario = Self::parse_with(&text, &file, sets)?;
        check_points(&text, &file, sets)?;
        Ok(scenario)
    }
}

fn check_points(text: &str, file: &str, sets: &[(&str, &str)]) -> Result<(), ConfigError> {
    let (raw, document, mut problems) = reader::read::<ScenarioRaw>(text, file, sets)?;
    let axes = check(&raw.sweep, &mut problems);
    let mut found = BTreeSet::new();
    for point in few(points(&axes).unwrap_or_default(), &axes) {
        let settings: Vec<(&str, &str)> = point.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let all: Vec<_> = sets.iter().chain(&settings).copied().collect();
        let Err(ConfigError::Invalid(wrong)) = Scenario::parse_with(text, file, &all) else { continue };
        for located in wrong {
            let brings = |(key, value): &(&str, &str)| located.place.file == format!("--set {key}={value}");
            let at = settings.iter().rposition(brings);
            let what = match at {
                Some(at) => format!("{} = {}: {}", settings[at].0, settings[at].1, located.what),
                None => {
                    let point: Vec<_> = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                    format!("at {}: {}: {}", point.join(", "), located.key, located.what)
                }
            };
            let entry = at.unwrap_or(settings.len() - 1);
            if found.insert((entry, what.clone())) {
                problems.add(raw.sweep[entry].values.span(), what, located.allowed);
            }
        }
        if found.len() >= PROBLEMS {
            break;
        }
    }
    document.verdict(problems)
}

/// The points to check; none if nothing varies.
fn few(points: Vec<Settings>, axes: &[Axis]) -> Vec<Settings> {
    if axes.is_empty() {
        return Vec::new();
    }
    if points.len() <= ALL_CHECKED {
        return points;
    }
    let first = points[0].clone();
    let differs = |point: &Settings| {
        let of = point.iter().zip(&first).zip(axes);
        of.filter(|((here, first), axis)| !axis.together && here.1 != first.1).count()
    };
    points.into_iter().filter(|point| differs(point) <= 1).collect()
}

fn points(axes: &[Axis]) -> Result<Vec<Settings>, String> {
    let mut points: Vec<Settings> = vec![Vec::new()];
    let mut rest = axes;
    while let [first, others @ ..] = rest {
        let others = others.iter().take_while(|axis| axis.together).count();
        let (group, after) = rest.split_at(1 + others);
        rest = after;
        for axis in group {
            if let Some(twice) = axes.iter().filter(|other| other.key == axis.key).nth(1) {
                return Err(format!("{} is varied twice", twice.key));
            }
            if axis.values.len() != first.values.len() {
                let (a, b) = (first.values.len(), axis.values.len());
                return Err(format!(
                    "{} has {a} values and {} has {b}; together they need as many",
                    first.key, axis.key
                ));
            }
        }
        if points.len().saturating_mul(first.values.len()) > MOST_POINTS {
            return Err(format!("the values span more than {MOST_POINTS} points"));
        }
        let steps = 0..first.values.len();
        let step = |i: usize| group.iter().map(move |axis| (axis.key.clone(), axis.values[i].clone()));
        points = points
            .iter()
            .flat_map(|point| steps.clone().map(move |i| point.iter().cloned().chain(step(i)).collect()))
            .collect();
    }
    Ok(points)
}

/// The checked form of `[[sweep]]`.
pub(crate) fn check(raw: &[SweepRaw], problems: &mut Problems) -> Vec<Axis> {
    let mut axes = Vec::new();
    for (i, entry) in raw.iter().enumerate() {
        let key = entry.key.get_if(problems, |key| !key.trim().is_empty(), "a key as --set takes it");
        let values = values(&entry.values, problems);
        let together = entry.together.get_or(false, problems).unwrap_or(false);
        if i == 0 && together {
            problems.add(entry.together.place(), "there is no entry before it", "false for the first entry");
        }
        let (Some(key), Some(values)) = (key, values) else { continue };
        axes.push(Axis { key: key.trim().to_owned(), values, together: together && i > 0 });
    }
    if axes.len() == raw.len()
        && let Err(what) = points(&axes)
    {
        let span: Range<usize> = raw.last().map_or(0..0, |entry| entry.values.span());
        problems.add(span, what, "");
    }
    axes
}

fn values(written: &Written<String>, problems: &mut Problems) -> Option<Vec<String>> {
    let text = written.get(problems)?;
    values_of(&text).map_err(|what| problems.add(written.span(), what, ALLOWED)).ok()
}

/// Parses a list of values and ranges.
fn values_of(text: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    for item in split(text)? {
        match item.split_once("..") {
            // Dots within quotes are text.
            Some((from, rest)) if from.matches('"').count() % 2 == 0 => values.extend(range(from, rest)?),
            _ => values.push(item.to_owned()),
        }
        if values.len() > MOST_VALUES {
            return Err(format!("there are more than {MOST_VALUES} values"));
        }
    }
    Ok(values)
}

/// Splits at the commas outside quotes and brackets.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut items, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0_u32, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                items.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(text[start..].trim());
    if items.iter().any(|item| item.is_empty()) {
        return Err(format!("\"{text}\" has an empty value"));
    }
    Ok(items)
}

/// A decimal number, `digits * 10^-places`, and its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Quantity {
    digits: i128,
    places: u32,
    unit: String,
}

impl Quantity {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().trim_matches('"').trim();
        let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(text.len());
        let (number, unit) = (&text[..split], text[split..].trim());
        let bad = || format!("\"{text}\" is not a number, with a unit or without");
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.trim_start_matches('-').is_empty() || number.ends_with('.') || whole.len() + fraction.len() > 18 {
            return Err(bad());
        }
        let digits = format!("{whole}{fraction}").parse().map_err(|_| bad())?;
        Ok(Self { digits, places: fraction.len() as u32, unit: unit.to_owned() })
    }

    /// The digits with `places` decimal places, at least as many as it has.
    fn at(&self, places: u32) -> i128 {
        self.digits * 10_i128.pow(places - self.places)
    }
}

/// The values of `from..to step step`.
fn range(from: &str, rest: &str) -> Result<Vec<String>, String> {
    let (to, step) = match rest.split_once("step") {
        Some((to, step)) => (Quantity::parse(to)?, Some(Quantity::parse(step)?)),
        None => (Quantity::parse(rest)?, None),
    };
    let from = Quantity::parse(from)?;
    let step = match step {
        Some(step) => step,
        None if from.places == 0 && to.places == 0 => Quantity { digits: 1, ..to.clone() },
        None => return Err("a range of numbers that are not whole needs a step".into()),
    };
    let unit = [&from, &to, &step].map(|quantity| quantity.unit.as_str()).into_iter().find(|unit| !unit.is_empty());
    let unit = unit.unwrap_or("");
    if let Some(other) = [&from, &to, &step].iter().find(|quantity| !["", unit].contains(&quantity.unit.as_str())) {
        return Err(format!("a range has one unit, not \"{unit}\" and \"{}\"", other.unit));
    }
    let places = from.places.max(to.places).max(step.places);
    let (from, to, step) = (from.at(places), to.at(places), step.at(places));
    if step <= 0 || to < from {
        return Err("a range goes upward, in steps above zero".into());
    }
    if (to - from) / step >= MOST_VALUES as i128 {
        return Err(format!("there are more than {MOST_VALUES} values"));
    }
    Ok((0..=(to - from) / step).map(|i| written(from + i * step, places, unit)).collect())
}

fn written(digits: i128, places: u32, unit: &str) -> String {
    let scale = 10_i128.pow(places);
    let sign = if digits < 0 { "-" } else { "" };
    let (whole, fraction) = (digits.abs() / scale, digits.abs() % scale);
    let fraction = format!("{fraction:0width$}", width = places as usize);
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    let blank = if unit.is_empty() { "" } else { " " };
    format!("{sign}{whole}{dot}{fraction}{blank}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        Axis::parse(text).unwrap()
    }

    #[test]
    fn values_are_lists_and_ranges() {
        assert_eq!(axis("seed=1, 2,5").values, ["1", "2", "5"]);
        assert_eq!(axis("a.b=2..11 step 3").values, ["2", "5", "8", "11"]);
        assert_eq!(axis("a=2..10 step 3").values, ["2", "5", "8"]);
        assert_eq!(axis("a=8..10,20").values, ["8", "9", "10", "20"]);
        assert_eq!(axis("a=50 packets,\"100 packets\"").values, ["50 packets", "\"100 packets\""]);
        assert_eq!(axis("a=[\"x, y\", \"z\"],[\"z\"]").values, ["[\"x, y\", \"z\"]", "[\"z\"]"]);
        assert_eq!(axis("a=\"..\"").values, ["\"..\""]);
        let rates = axis("a=\"1 Mb/s\"..\"2.5 Mb/s\" step \"0.5 Mb/s\"");
        assert_eq!(rates.values, ["1 Mb/s", "1.5 Mb/s", "2 Mb/s", "2.5 Mb/s"]);
        assert_eq!(axis("a=0..30 ms step 15").values, ["0 ms", "15 ms", "30 ms"]);
        assert_eq!(axis("a=0.1..0.3 step 0.1").values, ["0.1", "0.2", "0.3"]);
        assert_eq!(axis("a=-1..1").values, ["-1", "0", "1"]);
    }

    #[test]
    fn invalid_lists_and_ranges_are_reported() {
        for bad in [
            "",
            "a",
            "=1",
            "a=",
            "a=1,,2",
            "a=5..1",
            "a=1..2 step 0",
            "a=0.5..2",
            "a=1 s..2 ms",
            "a=1..99999",
            "a=x..y",
        ] {
            assert!(Axis::parse(bad).is_err(), "{bad}");
        }
        let long = format!("a=1..{}", "9".repeat(60));
        assert!(Axis::parse(&long).is_err());
    }

    #[test]
    fn errors_in_a_file_are_reported_with_their_position() {
        let base = r#"version = 1
name = "x"
duration = "1 s"
radio.standard = "802.11b"
station = [{ name = "a", rate = "11 Mb/s" }]
server = [{ name = "b" }]
ping = [{ name = "c", stations = ["a"], server = "b" }]
"#;
        let entry = |rest: &str| format!("{base}[[sweep]]\nkey = \"seed\"\n{rest}\n");
        let error = |text: String| Scenario::parse(&text, "x.toml").unwrap_err().to_string();
        let backward = error(entry("values = \"3..1\""));
        assert!(backward.starts_with("x.toml:10:10: sweep.1.values: a range goes upward"), "{backward}");
        let alone = error(entry("values = \"1..3\"\ntogether = true"));
        assert!(alone.contains("x.toml:11:12") && alone.contains("no entry before it"), "{alone}");
        let twice = error(format!("{}{}", entry("values = \"1,2\""), &entry("values = \"1,2\"")[base.len()..]));
        assert!(twice.contains("seed is varied twice"), "{twice}");
        let right = Scenario::parse(&entry("values = \"1..3\""), "x.toml").unwrap();
        assert_eq!(right.sweep, [axis("seed=1..3")]);
    }

    #[test]
    fn errors_of_a_point_are_reported_at_its_entry() {
        let file = |sweeps: &str| {
            format!(
                "version = 1\nname = \"x\"\nduration = \"1 s\"\nradio.standard = \"802.11b\"\n\
                 station = [{{ name = \"a\", count = 2, rate = \"11 Mb/s\" }}]\nserver = [{{ name = \"b\" }}]\n\
                 ping = [{{ name = \"c\", stations = [\"a\"], server = \"b\" }}]\n{sweeps}"
            )
        };
        let entry = |key: &str, values: &str| format!("[[sweep]]\nkey = \"{key}\"\nvalues = \"{values}\"\n");
        let check = |sweeps: String| check_points(&file(&sweeps), "x.toml", &[]).map_err(|error| error.to_string());
        assert_eq!(check(String::new()), Ok(()));
        assert_eq!(check(entry("station.a.count", "1..5") + &entry("station.a.rate", "1 Mb/s, 2 Mb/s")), Ok(()));
        let rate = check(entry("seed", "1..3") + &entry("station.a.rate", "1 Mb/s, 3 Mb/s")).unwrap_err();
        assert!(rate.starts_with("x.toml:13:10: sweep.2.values: station.a.rate = 3 Mb/s: "), "{rate}");
        assert_eq!(rate.matches("x.toml").count(), 1, "reported once, not at each seed: {rate}");
        let key = check(entry("station.a.nonsense", "1")).unwrap_err();
        assert!(key.contains("sweep.1.values") && key.contains("nonsense"), "{key}");
        // 2000 points, with invalid last values.
        let long = check(entry("station.a.count", "1..1000") + &entry("station.a.rate", "1 Mb/s, 7 Mb/s")).unwrap_err();
        assert!(long.contains("station.a.rate = 7 Mb/s"), "{long}");
    }

    #[test]
    fn axes_make_a_grid_or_advance_together() {
        let (a, b) = (axis("a=1,2"), axis("b=x,y"));
        let values = |axes: &[Axis]| -> Vec<String> {
            let points = Scenario::points(axes).unwrap();
            points.iter().map(|point| point.iter().map(|(_, value)| value.as_str()).collect()).collect()
        };
        assert_eq!(values(&[a.clone(), b.clone()]), ["1x", "1y", "2x", "2y"]);
        let together = Axis { together: true, ..b.clone() };
        assert_eq!(values(&[a.clone(), together.clone()]), ["1x", "2y"]);
        assert_eq!(values(&[axis("c=u,v"), a.clone(), together]), ["u1x", "u2y", "v1x", "v2y"]);
        assert_eq!(values(&[]), [""]);
        assert!(Scenario::points(&[a.clone(), a.clone()]).is_err());
        assert!(Scenario::points(&[a, Axis { together: true, ..axis("b=1,2,3") }]).is_err());
        let wide = axis("w=1..1000");
        assert!(Scenario::points(&[wide.clone(), Axis { key: "v".into(), ..wide }]).is_err());
    }
}
