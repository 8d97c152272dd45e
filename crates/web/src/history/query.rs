//! Series of the history: a measure of a subject over a time range, in steps.
//!
//! Each part of the range is read from the longest intervals that fit into a step and exist: the newest, unmerged part from minutes,
//! and a part beyond a tier's retention from longer intervals, whose points are then further apart than requested. The rows of a step
//! are merged before the measure is computed. For the busiest tenth of a step, only the shortest intervals with the most bytes are
//! merged.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use evenair_api::watch::Event;
use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::Serialize;

use super::measure::Measure;
use super::row::{Row, Sum};
use super::store::{Result, mark};
use super::subject::{Kind, Subject};
use super::tier::Tier;

/// Length of a step that spans the whole range, in seconds.
pub(crate) const WHOLE: i64 = i64::MAX;
/// Reciprocal of the busiest part of a step.
const BUSIEST: i64 = 10;
/// Maximum number of events in a response: the newest ones.
const MOST_EVENTS: i64 = 10_000;

/// A time range with its steps, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Begin.
    pub from: i64,
    /// End.
    pub to: i64,
    /// Length of a step: whole minutes, or [`WHOLE`].
    pub every: i64,
}

impl Steps {
    /// Begin of the step that contains a time.
    const fn begin_of(self, at: i64) -> i64 {
        if self.every == WHOLE { self.from } else { at - at.rem_euclid(self.every) }
    }

    /// Whether an interval counts. A single step for a whole range excludes intervals that are partly outside of it.
    const fn has(self, Interval { at, length }: Interval) -> bool {
        self.every != WHOLE || (self.from <= at && at + length <= self.to)
    }

    /// Length of a step, in seconds.
    pub(crate) const fn length_s(self) -> i64 {
        if self.every == WHOLE { self.to - self.from } else { self.every }
    }
}

/// A question to the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// The measure, by name.
    pub measure: &'static str,
    /// Its subject.
    pub subject: Subject,
    /// Its time range.
    pub steps: Steps,
    /// Whether to use only the tenth of each step's intervals with the most bytes.
    pub is_busiest: bool,
}

/// The steps of a series with known values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Points {
    /// The points, the oldest first.
    pub points: Vec<SeriesPoint>,
    /// Total length of the intervals with known values, in seconds.
    pub data_s: i64,
}

/// An interval of the database.
#[derive(Clone, Copy, Debug)]
struct Interval {
    /// Begin, in seconds since 1970.
    at: i64,
    /// Length in seconds.
    length: i64,
}

/// A part of a time range with rows of one tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    tier: Tier,
    from: i64,
    to: i64,
}

/// A step of a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesPoint {
    /// Begin of the step, in seconds since 1970, UTC.
    pub at: i64,
    /// The value in it.
    pub value: f64,
}

/// The subject with a name; a station also by its label, in upper or lower case.
pub(crate) fn find(connection: &Connection, wanted: &Subject) -> Result<Option<(i64, Subject)>> {
    let sql = "SELECT id, name FROM subject WHERE kind = ?1 AND (name = ?2 OR kind = 4 AND lower(label) = lower(?2))
        ORDER BY name = ?2 DESC, last DESC LIMIT 1";
    let found = connection.query_row(sql, params![wanted.kind as i64, wanted.name], |row| {
        Ok((row.get(0)?, Subject { kind: wanted.kind, name: row.get(1)? }))
    });
    found.optional()
}

/// Names of all subjects of a kind; of stations also their labels.
pub(crate) fn names(connection: &Connection, kind: Kind) -> Result<Vec<String>> {
    let sql = "SELECT name FROM subject WHERE kind = ?1
        UNION SELECT label FROM subject WHERE kind = ?1 AND kind = 4 AND label IS NOT NULL";
    let mut query = connection.prepare(sql)?;
    query.query_map([kind as i64], |row| row.get(0))?.collect()
}

/// Begin of the first interval; `None` without any.
pub(crate) fn oldest(connection: &Connection) -> Result<Option<i64>> {
    let sql = "SELECT min(a) FROM (SELECT min(at) AS a FROM minute
        UNION SELECT min((SELECT min(at) FROM hour WHERE subject = id)) FROM subject WHERE kind = 0)";
    connection.query_row(sql, [], |row| row.get(0))
}

/// The newest events of a time range, the oldest first.
pub(crate) fn events(connection: &Connection, from: i64, to: i64) -> Result<Vec<Event>> {
    let sql = "SELECT at, event, text FROM event WHERE at >= ? AND at < ? ORDER BY at DESC LIMIT ?";
    let mut query = connection.prepare(sql)?;
    let event = |row: &rusqlite::Row<'_>| Ok(Event { at: row.get(0)?, event: row.get(1)?, text: row.get(2)? });
    let mut events = query.query_map(params![from, to, MOST_EVENTS], event)?.collect::<Result<Vec<_>>>()?;
    events.reverse();
    Ok(events)
}

/// The values of a measure of the subject with this number; steps with unknown values are left out.
pub(crate) fn series(connection: &Connection, id: i64, measure: Measure, question: &Question) -> Result<Points> {
    let (steps, kind) = (question.steps, question.subject.kind);
    let parts = parts(connection, kind, steps, question.is_busiest)?;
    let busiest = if question.is_busiest { Some(busiest(connection, id, &parts, steps)?) } else { None };
    let is_chosen = |at: i64| busiest.as_ref().is_none_or(|busiest| busiest.contains(&at));
    let mut data_s = 0;
    let mut rows = |id: i64, is_known: &dyn Fn(&Row) -> bool| -> Result<BTreeMap<i64, Row>> {
        let mut rows = BTreeMap::<i64, Row>::new();
        data_s = 0;
        each(connection, id, &parts, |interval, row| {
            if is_chosen(interval.at) && steps.has(interval) {
                data_s += if is_known(row) { interval.length } else { 0 };
                rows.entry(steps.begin_of(interval.at)).or_default().merge(row);
            }
        })?;
        Ok(rows)
    };
    let none = Row::default();
    let of_subject = rows(id, &|row| measure.of(kind, row, row).is_some())?;
    let of_box = match find(connection, &Subject::BOX)? {
        Some((of_box, _)) if measure.is_mean() && of_box != id => {
            Some(rows(of_box, &|row| measure.of(kind, &none, row).is_some())?)
        }
        _ => None,
    };
    let value = |(at, row): (&i64, &Row)| {
        let of_box = of_box.as_ref().map_or(row, |of_box| of_box.get(at).unwrap_or(&none));
        Some(SeriesPoint { at: *at, value: measure.of(kind, row, of_box)? })
    };
    Ok(Points { points: of_subject.iter().filter_map(value).collect(), data_s })
}

/// The begins of the intervals in the busiest tenth of each step, by the subject's bytes.
fn busiest(connection: &Connection, id: i64, parts: &[Part], steps: Steps) -> Result<BTreeSet<i64>> {
    let mut all = BTreeMap::<i64, Vec<(u64, Interval)>>::new();
    each(connection, id, parts, |interval, row| {
        if !steps.has(interval) {
            return;
        }
        let rate = (row.get(Sum::DownBytes) + row.get(Sum::UpBytes)) / interval.length as u64;
        all.entry(steps.begin_of(interval.at)).or_default().push((rate, interval));
    })?;
    let mut busiest = BTreeSet::new();
    for mut intervals in all.into_values() {
        intervals.sort_by_key(|(rate, interval)| (Reverse(*rate), interval.at));
        let total: i64 = intervals.iter().map(|(_, interval)| interval.length).sum();
        let mut taken = 0;
        for (_, interval) in intervals {
            if taken * BUSIEST >= total {
                break;
            }
            taken += interval.length;
            busiest.insert(interval.at);
        }
    }
    Ok(busiest)
}

/// The tiers that cover the parts of a time range, the oldest part first.
fn parts(connection: &Connection, kind: Kind, steps: Steps, is_shortest: bool) -> Result<Vec<Part>> {
    let tiers = kind.tiers();
    let fits = |tier: &Tier| !is_shortest && steps.every % tier.length_s() == 0;
    let base = tiers.iter().rposition(fits).unwrap_or(0);
    let (mut parts, mut to) = (Vec::new(), steps.to);
    if base > 0 {
        let merged = mark(connection, tiers[base])?.merged;
        if merged < to {
            parts.push(Part { tier: Tier::Minute, from: merged.max(steps.from), to });
            to = merged;
        }
    }
    for &tier in &tiers[base..] {
        let is_last = tiers.last() == Some(&tier);
        let from = if is_last { steps.from } else { mark(connection, tier)?.cut.max(steps.from) };
        if from < to {
            parts.push(Part { tier, from, to });
            to = from;
        }
    }
    parts.reverse();
    Ok(parts)
}

/// Calls `give` with each row of a subject and its interval.
fn each(connection: &Connection, id: i64, parts: &[Part], mut give: impl FnMut(Interval, &Row)) -> Result<()> {
    for part in parts {
        let (begin, length) = (part.tier.begin_of(part.from), part.tier.length_s());
        let mut give = |at: i64, bytes: &[u8]| {
            if let Some(row) = Row::unpack(bytes) {
                give(Interval { at, length }, &row);
            }
        };
        if part.tier == Tier::Minute {
            // One look-up per interval: its neighbours are rows of other subjects.
            let first: Option<i64> = connection.query_row("SELECT min(at) FROM minute", [], |row| row.get(0))?;
            let mut query = connection.prepare("SELECT data FROM minute WHERE at = ? AND subject = ?")?;
            for at in (first.map_or(part.to, |first| first.max(begin))..part.to).step_by(60) {
                let bytes: Option<Vec<u8>> = query.query_row([at, id], |row| row.get(0)).optional()?;
                bytes.iter().for_each(|bytes| give(at, bytes));
            }
            continue;
        }
        let sql =
            format!("SELECT at, data FROM {} WHERE subject = ? AND at >= ? AND at < ? ORDER BY at", part.tier.table());
        let mut query = connection.prepare(&sql)?;
        let mut found = query.query([id, begin, part.to])?;
        while let Some(found) = found.next()? {
            give(found.get(0)?, found.get_ref(1)?.as_blob()?);
        }
    }
    Ok(())
}
