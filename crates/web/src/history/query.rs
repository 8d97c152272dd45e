//! Series of the history: a measure of a subject over a time, in steps.
//!
//! Each part of the time is read from the longest intervals that fit into a step and are there: the newest, which have not ended, from
//! minutes, and what is older than its tier from longer intervals, whose points are then further apart than was asked for. The rows of
//! a step are merged before the measure is taken.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::Serialize;

use super::measure::Measure;
use super::row::Row;
use super::store::{Result, mark};
use super::subject::{Kind, Subject};
use super::tier::Tier;

/// A time and its steps, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Begin.
    pub from: i64,
    /// End.
    pub to: i64,
    /// Length of a step: whole minutes.
    pub every: i64,
}

/// A part of a time with rows of one tier.
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

/// The subject of a name: of a station also what it is called, in upper or lower case.
pub(crate) fn find(connection: &Connection, wanted: &Subject) -> Result<Option<(i64, Subject)>> {
    let sql = "SELECT id, name FROM subject WHERE kind = ?1 AND (name = ?2 OR kind = 4 AND lower(label) = lower(?2))
        ORDER BY name = ?2 DESC, last DESC LIMIT 1";
    let found = connection.query_row(sql, params![wanted.kind as i64, wanted.name], |row| {
        Ok((row.get(0)?, Subject { kind: wanted.kind, name: row.get(1)? }))
    });
    found.optional()
}

/// Names of all subjects of a kind; of stations also what they are called.
pub(crate) fn names(connection: &Connection, kind: Kind) -> Result<Vec<String>> {
    let sql = "SELECT name FROM subject WHERE kind = ?1
        UNION SELECT label FROM subject WHERE kind = ?1 AND kind = 4 AND label IS NOT NULL";
    let mut query = connection.prepare(sql)?;
    query.query_map([kind as i64], |row| row.get(0))?.collect()
}

/// Begin of the first interval that there is; `None`: there is none.
pub(crate) fn oldest(connection: &Connection) -> Result<Option<i64>> {
    let sql = "SELECT min(a) FROM (SELECT min(at) AS a FROM minute
        UNION SELECT min((SELECT min(at) FROM hour WHERE subject = id)) FROM subject WHERE kind = 0)";
    connection.query_row(sql, [], |row| row.get(0))
}

/// The values of a measure, of a subject by its number; steps of which it is unknown are left out.
pub(crate) fn series(
    connection: &Connection,
    id: i64,
    kind: Kind,
    measure: Measure,
    steps: Steps,
) -> Result<Vec<SeriesPoint>> {
    let parts = parts(connection, kind, steps)?;
    let rows = rows(connection, id, &parts, steps.every)?;
    let of_box = match find(connection, &Subject::BOX)? {
        Some((of_box, _)) if measure.is_mean() && of_box != id => {
            Some(self::rows(connection, of_box, &parts, steps.every)?)
        }
        _ => None,
    };
    let none = Row::default();
    let value = |(at, row): (&i64, &Row)| {
        let of_box = of_box.as_ref().map_or(row, |of_box| of_box.get(at).unwrap_or(&none));
        Some(SeriesPoint { at: *at, value: measure.of(kind, row, of_box)? })
    };
    Ok(rows.iter().filter_map(value).collect())
}

/// Which tier has which part of a time, the oldest part first.
fn parts(connection: &Connection, kind: Kind, steps: Steps) -> Result<Vec<Part>> {
    let tiers = kind.tiers();
    let base = tiers.iter().rposition(|tier| steps.every % tier.length_s() == 0).unwrap_or(0);
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

/// Rows by the begin of their step.
fn rows(connection: &Connection, id: i64, parts: &[Part], every: i64) -> Result<BTreeMap<i64, Row>> {
    let mut steps = BTreeMap::<i64, Row>::new();
    let mut add = |at: i64, bytes: &[u8]| {
        if let Some(row) = Row::unpack(bytes) {
            steps.entry(at - at.rem_euclid(every)).or_default().merge(&row);
        }
    };
    for part in parts {
        let begin = part.tier.begin_of(part.from);
        if part.tier == Tier::Minute {
            // One look-up for each: beside it are the rows of other subjects.
            let first: Option<i64> = connection.query_row("SELECT min(at) FROM minute", [], |row| row.get(0))?;
            let mut query = connection.prepare("SELECT data FROM minute WHERE at = ? AND subject = ?")?;
            for at in (first.map_or(part.to, |first| first.max(begin))..part.to).step_by(60) {
                let bytes: Option<Vec<u8>> = query.query_row([at, id], |row| row.get(0)).optional()?;
                bytes.iter().for_each(|bytes| add(at, bytes));
            }
            continue;
        }
        let sql =
            format!("SELECT at, data FROM {} WHERE subject = ? AND at >= ? AND at < ? ORDER BY at", part.tier.table());
        let mut query = connection.prepare(&sql)?;
        let mut found = query.query([id, begin, part.to])?;
        while let Some(found) = found.next()? {
            add(found.get(0)?, found.get_ref(1)?.as_blob()?);
        }
    }
    Ok(steps)
}
