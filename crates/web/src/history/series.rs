//! Questions about the history and their responses, for the API and the command line.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use evenair_api::watch::Event;
use evenair_reader::{closest, did_you_mean, nearest};
use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;

use super::measure::{MEASURES, Measure};
use super::query::{self, Points, Question, SeriesPoint, Steps, WHOLE};
use super::store::{FILE, open_to_read};
use super::subject::{Kind, Subject};
use super::tier::Tier;

/// Maximum number of steps in a response: three years of hours.
pub(crate) const MOST_STEPS: i64 = 3 * 365 * 24;
/// Description of subjects, for messages.
pub(crate) const SUBJECTS: &str = "box, domain:NAME, access-point:NAME, class:NAME or station:MAC (or its name)";

/// Why a question has no response.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no history yet, or it cannot be read.
    NoHistory(String),
    /// There is no such subject; the nearest one.
    NoSubject(Option<String>),
    /// The range has too many steps; the shortest allowed step, in seconds.
    TooMany(i64),
}

/// A question from the command line.
#[derive(Clone, Debug)]
pub struct SeriesRequest {
    /// Name of the measure.
    pub measure: String,
    /// Its subject, as [`Series`] writes it.
    pub subject: String,
    /// Begin, in seconds since 1970.
    pub from_s: f64,
    /// End, in seconds since 1970.
    pub to_s: f64,
    /// Length of steps, such as "1h".
    pub every: String,
}

/// A measure over a time, in steps.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// The measure.
    pub measure: &'static str,
    /// Its unit; empty: a number of things, or a part from 0 to 1.
    pub unit: &'static str,
    /// Of what: `box`, or a kind, a colon and a name; of stations the MAC address.
    pub subject: String,
    /// Length of a step in seconds. Of a time of which only longer intervals are kept, points are further apart.
    pub every_s: i64,
    /// Begin of the first interval of the history, in seconds since 1970, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begins: Option<i64>,
    /// Length of the stored intervals in which the measure is known, in seconds: what the points rest on.
    pub data_s: i64,
    /// The oldest one first; steps of which the measure is unknown are left out.
    pub points: Vec<SeriesPoint>,
}

/// A measure by its name.
pub(crate) fn measure(text: &str) -> Option<&'static str> {
    MEASURES.into_iter().map(|(name, _)| name).find(|name| *name == text)
}

/// Names of all measures.
pub(crate) fn measures() -> [&'static str; MEASURES.len()] {
    MEASURES.map(|(name, _)| name)
}

/// Parses a subject; `None` if malformed.
pub(crate) fn subject(text: &str) -> Option<Subject> {
    if text == Kind::Box.word() {
        return Some(Subject::BOX);
    }
    let (word, name) = text.split_once(':')?;
    let kind = Kind::ALL.into_iter().find(|kind| *kind != Kind::Box && kind.word() == word)?;
    // MAC addresses are in lower case; stations' names match in any case.
    let name = if kind == Kind::Station { name.to_lowercase() } else { name.to_owned() };
    (!name.is_empty()).then_some(Subject { kind, name })
}

/// Parses a length of steps, in seconds; `None` if malformed.
pub(crate) fn every(text: &str) -> Option<i64> {
    if text == "all" {
        return Some(WHOLE);
    }
    let length: Duration = humantime::parse_duration(text).ok()?;
    let seconds = i64::try_from(length.as_secs()).ok()?;
    let is_right = length.subsec_nanos() == 0 && seconds % Tier::Minute.length_s() == 0;
    (is_right && (60..=Tier::Hour.kept_s()).contains(&seconds)).then_some(seconds)
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoHistory(why) => f.write_str(why),
            Self::NoSubject(near) => {
                write!(f, "there is no history of it{}", did_you_mean(near.as_deref()))
            }
            Self::TooMany(shortest) => {
                write!(f, "that is too many steps: of this time {shortest}s or more, in whole minutes")
            }
        }
    }
}

/// The response from the database in a state directory.
///
/// # Errors
/// See [`Refusal`].
pub(crate) fn answer(state: &Path, question: &Question) -> Result<Series, Refusal> {
    let Question { measure, subject, steps, .. } = question;
    let span = steps.to - steps.from;
    if span / steps.every > MOST_STEPS {
        let shortest = (span / MOST_STEPS + 1) as u64;
        return Err(Refusal::TooMany(shortest.next_multiple_of(60) as i64));
    }
    let path = state.join(FILE);
    let connection = opened(&path)?;
    // One snapshot of the database for all queries.
    let connection = connection.unchecked_transaction().map_err(failed)?;
    let Some((id, found)) = query::find(&connection, subject).map_err(failed)? else {
        let names = query::names(&connection, subject.kind).map_err(failed)?;
        let near = nearest(&subject.name, names.iter().map(String::as_str), 1).first().copied();
        return Err(Refusal::NoSubject(near.map(|near| Subject::new(subject.kind, near).to_string())));
    };
    let of = Measure::named(measure).expect("questions have names of measures");
    let Points { points, data_s } = query::series(&connection, id, of, question).map_err(failed)?;
    let begins = query::oldest(&connection).map_err(failed)?;
    let (unit, subject, every_s) = (of.unit(), found.to_string(), steps.length_s());
    Ok(Series { measure, unit, subject, every_s, begins, data_s, points })
}

/// The events of a time range, in seconds since 1970, from the database in a state directory; the oldest first.
///
/// # Errors
/// See [`Refusal`].
pub(crate) fn events(state: &Path, from: i64, to: i64) -> Result<Vec<Event>, Refusal> {
    query::events(&opened(&state.join(FILE))?, from, to).map_err(failed)
}

fn failed(error: rusqlite::Error) -> Refusal {
    Refusal::NoHistory(format!("the history cannot be read: {error}"))
}

fn opened(path: &Path) -> Result<Connection, Refusal> {
    if !path.exists() {
        return Err(Refusal::NoHistory("there is no history yet: it begins with the first minute of the box".into()));
    }
    open_to_read(path).map_err(failed)
}

/// The response to a question of the command line.
///
/// # Errors
/// A malformed question, with the valid forms; or why there is no response.
pub fn series_of(state: &Path, request: &SeriesRequest) -> anyhow::Result<Series> {
    let SeriesRequest { measure: name, subject: whose, from_s, to_s, every: length } = request;
    let measure = measure(name).with_context(|| {
        let names = measures();
        let near = did_you_mean(closest(name, names));
        format!("{name:?} is no measure{near}; measures are {}", names.join(", "))
    })?;
    let subject = subject(whose).with_context(|| format!("{whose:?} is not {SUBJECTS}"))?;
    let every = every(length).with_context(|| format!("{length:?} is not whole minutes, as 15min or 1h, nor all"))?;
    let steps = Steps { from: *from_s as i64, to: *to_s as i64, every };
    ensure!(steps.from < steps.to, "--from is not before --to");
    answer(state, &Question { measure, subject, steps, is_busiest: false })
        .map_err(|refusal| anyhow!("{whose}: {refusal}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_and_steps_are_read() {
        assert_eq!(subject("box"), Some(Subject::BOX));
        assert_eq!(subject("station:Anne"), Some(Subject::new(Kind::Station, "anne")));
        assert_eq!(subject("station:02:00:00:00:00:0A"), Some(Subject::new(Kind::Station, "02:00:00:00:00:0a")));
        assert_eq!(subject("access-point:Hall 1"), Some(Subject::new(Kind::AccessPoint, "Hall 1")));
        for wrong in ["", "box:", "box:x", "station:", "hall", "domains:hall"] {
            assert_eq!(subject(wrong), None, "{wrong}");
        }
        assert_eq!([every("1h"), every("1 min"), every("2days")], [Some(3600), Some(60), Some(172_800)]);
        assert_eq!(every("all"), Some(WHOLE));
        for wrong in ["", "1", "30s", "90s", "0h", "9999y", "-1h"] {
            assert_eq!(every(wrong), None, "{wrong}");
        }
    }
}
