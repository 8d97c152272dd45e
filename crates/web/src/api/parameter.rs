//! Query parameters, and path variables.

use evenair_cli::moment_s;
use serde_json::{Value, json};

use super::problem::{InputError, Problem, shortened};
use crate::feed::Range;
use crate::history::{self, SUBJECTS, Subject};
use crate::secret::bytes_of_hex;

/// Path of the API.
pub(crate) const BASE: &str = "/api/v1";
/// Parameters of a list.
pub(crate) const PAGES: &[Parameter] = &[Parameter::Limit, Parameter::Cursor];
/// Maximum and default number of items on a page.
const MOST_ITEMS: usize = 1000;
const ITEMS: usize = 100;
/// Words of [`Parameter::Span`].
const SPANS: [(&str, Range); 2] = [("10min", Range::TenMinutes), ("24h", Range::Day)];

/// A parameter of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// Maximum number of items on a page.
    Limit,
    /// Position at which a page begins.
    Cursor,
    /// Time range of a recent history.
    Span,
    /// A measure of the stored history.
    Measure,
    /// Subject of the measure.
    Subject,
    /// Begin of the time range.
    From,
    /// End of the time range.
    To,
    /// Length of steps.
    Every,
    /// Whether to use only the busiest minutes.
    Busiest,
}

/// The checked parameters of a query; missing ones have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// Maximum number of items on a page.
    pub limit: usize,
    /// The last item of the previous page; `None`: the first page.
    pub cursor: Option<Cursor>,
    /// Time range of a recent history; `None`: not given.
    pub span: Option<Range>,
    /// A measure of the stored history; `None`: the recent history.
    pub measure: Option<&'static str>,
    /// Subject of the measure.
    pub subject: Option<Subject>,
    /// Begin of the time range, in seconds since 1970.
    pub from: Option<i64>,
    /// End of the time range, in seconds since 1970.
    pub to: Option<i64>,
    /// Length of steps, in seconds.
    pub every: Option<i64>,
    /// Whether to use only the busiest minutes of each step; `None`: all.
    pub busiest: Option<bool>,
}

/// A position in a list: that of an item. Lists are sorted by the items' keys, so that pages neither repeat nor omit an item that
/// exists throughout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cursor {
    /// Key of the item.
    pub key: String,
    /// Number of the item among those with this key, from 0.
    pub number: usize,
}

impl Cursor {
    /// Parses the output of [`Display`](std::fmt::Display).
    fn parse(text: &str) -> Option<Self> {
        let text = String::from_utf8(bytes_of_hex(text)?).ok()?;
        let (number, key) = text.split_once(' ')?;
        Some(Self { key: key.to_owned(), number: number.parse().ok()? })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::secret::hex(format!("{} {}", self.number, self.key).as_bytes()))
    }
}

impl Parameter {
    /// Its name in a query.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Cursor => "cursor",
            Self::Span => "span",
            Self::Measure => "measure",
            Self::Subject => "subject",
            Self::From => "from",
            Self::To => "to",
            Self::Every => "every",
            Self::Busiest => "busiest",
        }
    }

    /// Its description.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Limit => "Most items on a page.",
            Self::Cursor => "`next` of the page before; without it the list begins with its first item.",
            Self::Span => "How far back: `10min` has a point for each second, `24h` one for each minute.",
            Self::Measure => {
                "A measure of the stored history, which `evenair-web` keeps for up to three years: the answer is then a series. \
                 Latencies of a step are percentiles of all its packets. Without it the answer is what the box has in memory."
            }
            Self::Subject => {
                "Of what the measure is: `box`, or `domain:`, `access-point:`, `class:` or `station:` with a name."
            }
            Self::From => "Begin of the time: how long ago (`30d`), or a time in UTC (`2026-03-01 08:00`).",
            Self::To => "End of the time, in the same way; without it now.",
            Self::Every => {
                "Length of its steps, in whole minutes: `1min`, `15min`, `1h`, `1day`; or `all`: one step from `from` to `to`."
            }
            Self::Busiest => {
                "Of each step only the tenth of its minutes in which the subject had the most bytes. Where only longer intervals are \
                 kept, the tenth of these."
            }
        }
    }

    /// Its JSON Schema.
    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Limit => json!({"type": "integer", "minimum": 1, "maximum": MOST_ITEMS, "default": ITEMS}),
            Self::Cursor => json!({"type": "string", "pattern": "^([0-9a-f]{2})+$"}),
            Self::Span => json!({"type": "string", "enum": SPANS.map(|(word, _)| word), "default": SPANS[0].0}),
            Self::Measure => json!({"type": "string", "enum": history::measures()}),
            Self::Subject => json!({"type": "string", "default": "box"}),
            Self::From => json!({"type": "string", "default": "24h"}),
            Self::To => json!({"type": "string"}),
            Self::Every => json!({"type": "string", "default": "1h"}),
            Self::Busiest => json!({"type": "boolean", "default": false}),
        }
    }

    fn read(self, text: &str, query: &mut Query) -> Result<(), InputError> {
        let wrong = |right: &str| InputError::new(self.name(), format!("{:?} is not {right}", shortened(text)));
        match self {
            Self::Limit => {
                let limit = text.parse().ok().filter(|limit| (1..=MOST_ITEMS).contains(limit));
                query.limit = limit.ok_or_else(|| wrong(&format!("a whole number from 1 to {MOST_ITEMS}")))?;
            }
            Self::Cursor => query.cursor = Some(Cursor::parse(text).ok_or_else(|| wrong("`next` of a page"))?),
            Self::Span => {
                let span = SPANS.into_iter().find(|(word, _)| *word == text).map(|(_, range)| range);
                let words = SPANS.map(|(word, _)| word);
                query.span = Some(span.ok_or_else(|| InputError::not_one_of(self.name(), text, &words))?);
            }
            Self::Measure => {
                let measure = history::measure(text);
                let wrong = || InputError::not_one_of(self.name(), text, &history::measures());
                query.measure = Some(measure.ok_or_else(wrong)?);
            }
            Self::Subject => query.subject = Some(history::subject(text).ok_or_else(|| wrong(SUBJECTS))?),
            Self::From => query.from = Some(self.moment(text)?),
            Self::To => query.to = Some(self.moment(text)?),
            Self::Every => {
                query.every = Some(history::every(text).ok_or_else(|| wrong("whole minutes, as 15min or 1h, nor all"))?)
            }
            Self::Busiest => query.busiest = Some(text.parse().map_err(|_| wrong("true or false"))?),
        }
        Ok(())
    }
}

impl Parameter {
    fn moment(self, text: &str) -> Result<i64, InputError> {
        let moment = moment_s(&shortened(text)).map_err(|why| InputError::new(self.name(), why))?;
        Ok(moment as i64)
    }
}

impl Query {
    /// Parses a query, in which these parameters are allowed.
    ///
    /// # Errors
    /// All its problems.
    pub(crate) fn parse(text: &str, parameters: &[Parameter]) -> Result<Self, Problem> {
        let mut query = Self { limit: ITEMS, ..Self::default() };
        let (mut errors, mut seen) = (Vec::new(), Vec::new());
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let Some(parameter) = parameters.iter().find(|parameter| parameter.name() == name) else {
                errors.push(unknown(&name, parameters));
                continue;
            };
            if seen.contains(parameter) {
                errors.push(InputError::new(&name, "it is given twice"));
                continue;
            }
            seen.push(*parameter);
            errors.extend(parameter.read(&value, &mut query).err());
        }
        if errors.is_empty() { Ok(query) } else { Err(Problem::of_input(errors)) }
    }
}

fn unknown(name: &str, parameters: &[Parameter]) -> InputError {
    if parameters.is_empty() {
        return InputError::new(name, "this path has no parameters");
    }
    let names: Vec<_> = parameters.iter().map(|parameter| parameter.name()).collect();
    let error = InputError::not_one_of(name, name, &names);
    InputError { detail: format!("there is no such parameter: {}", error.detail), ..error }
}

/// Description of a path variable.
///
/// # Panics
/// No path has such a variable.
pub(crate) fn meaning_of_variable(name: &str) -> &'static str {
    match name {
        "station" => "MAC address of a station, such as 02:00:00:00:00:01.",
        "domain" => "Name of a contention domain.",
        "access_point" => "Name of an access point.",
        _ => panic!("no path has {{{name}}}"),
    }
}
