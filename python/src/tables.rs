//! The tables of one run.

use evenair_results::{CallResult, Measure, MediumAirtime, RunResult, SeriesKind, Table, Values, measures};
use evenair_workload::Direction;
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

/// A column of text of some rows.
fn text<T>(rows: &[T], of: impl Fn(&T) -> Option<String>) -> Values {
    Values::Text(rows.iter().map(of).collect())
}

fn number<T>(rows: &[T], of: impl Fn(&T) -> Option<f64>) -> Values {
    Values::Number(rows.iter().map(of).collect())
}

fn count<T>(rows: &[T], of: impl Fn(&T) -> u64) -> Values {
    Values::Count(rows.iter().map(|row| Some(of(row))).collect())
}

/// Number of a row, for a column.
type NumberOf<T> = fn(&T) -> f64;

const fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}

/// A row for each number: phase, kind, name, measure, unit, value.
pub fn of_measures(run: &RunResult, kind: Option<&str>) -> Table {
    let all = measures(run);
    let rows: Vec<&Measure> = all.iter().filter(|row| kind.is_none_or(|kind| row.kind.word() == kind)).collect();
    let mut table = Table::default();
    table.push("phase", text(&rows, |row| row.phase.clone()));
    table.push("kind", text(&rows, |row| Some(row.kind.word().to_owned())));
    table.push("name", text(&rows, |row| row.name.clone()));
    table.push("measure", text(&rows, |row| Some(row.measure.clone())));
    table.push("unit", text(&rows, |row| Some(row.unit.to_owned()).filter(|unit| !unit.is_empty())));
    table.push("value", number(&rows, |row| Some(row.value)));
    table
}

/// A line of the balance of a medium's time in a phase.
struct Line<'a> {
    phase: &'a str,
    line: &'static str,
    station: Option<&'a str>,
    direction: Option<&'static str>,
    measured: f64,
    charged: Option<f64>,
}

impl<'a> Line<'a> {
    fn of(phase: &'a str, line: &'static str, measured: f64) -> Self {
        Self { phase, line, station: None, direction: None, measured, charged: None }
    }
}

/// Use of the medium's time in each phase, as parts of it; charged airtime beside measured airtime.
pub fn of_airtime(run: &RunResult) -> Table {
    let mut lines = Vec::new();
    for phase in &run.phases {
        let Some(measured) = &phase.measured_airtime else { continue };
        for station in &measured.stations {
            let charged = phase.charged_airtime.iter().find(|charged| charged.station == station.station);
            let sides = [
                ("down", station.down_share, charged.map(|charged| charged.down_share)),
                ("up", station.up_share, charged.map(|charged| charged.up_share)),
            ];
            for (direction, measured, charged) in sides {
                let (station, direction) = (Some(station.station.as_str()), Some(direction));
                lines.push(Line { phase: &phase.name, line: "station", station, direction, measured, charged });
            }
        }
        lines.extend(other_lines(&phase.name, measured));
    }
    let mut table = Table::default();
    table.push("phase", text(&lines, |line| Some(line.phase.to_owned())));
    table.push("line", text(&lines, |line| Some(line.line.to_owned())));
    table.push("station", text(&lines, |line| line.station.map(str::to_owned)));
    table.push("direction", text(&lines, |line| line.direction.map(str::to_owned)));
    table.push("measured_share", number(&lines, |line| Some(line.measured)));
    table.push("charged_share", number(&lines, |line| line.charged));
    table
}

fn other_lines<'a>(phase: &'a str, measured: &MediumAirtime) -> [Line<'a>; 5] {
    [
        Line::of(phase, "groups", measured.groups_share),
        Line::of(phase, "neighbours", measured.neighbours_share),
        Line::of(phase, "departed", measured.departed_share),
        Line::of(phase, "back-off", measured.back_off_share),
        Line::of(phase, "idle", measured.idle_share),
    ]
}

/// Listed transfers of known size, in the order of their ends.
pub fn of_transfers(run: &RunResult) -> Table {
    let rows = &run.transfers.records;
    let mut table = Table::default();
    table.push("app", text(rows, |row| Some(row.app.clone())));
    table.push("station", text(rows, |row| Some(row.station.clone())));
    table.push("direction", text(rows, |row| Some(word(row.direction).to_owned())));
    table.push("at_s", number(rows, |row| Some(row.at_s)));
    table.push("bytes", count(rows, |row| row.bytes));
    table.push("took_s", number(rows, |row| row.took_s));
    table.push("end", text(rows, |row| Some(format!("{:?}", row.end).to_lowercase())));
    table
}

/// Listed web pages, in the order of their ends.
pub fn of_pages(run: &RunResult) -> Table {
    let rows = &run.pages;
    let mut table = Table::default();
    table.push("app", text(rows, |row| Some(row.app.clone())));
    table.push("at_s", number(rows, |row| Some(row.at_s)));
    table.push("took_s", number(rows, |row| Some(row.took_s)));
    table.push("objects", count(rows, |row| u64::from(row.objects)));
    table.push("bytes", count(rows, |row| row.bytes));
    table
}

/// Calls by direction and phase: quality at the listener.
pub fn of_calls(run: &RunResult) -> Table {
    let rows = &run.calls;
    let mut table = Table::default();
    table.push("app", text(rows, |row| Some(row.app.clone())));
    table.push("station", text(rows, |row| Some(row.station.clone())));
    table.push("direction", text(rows, |row| Some(word(row.direction).to_owned())));
    table.push("phase", text(rows, |row| Some(row.phase.clone())));
    table.push("sent", count(rows, |row| row.heard.sent));
    table.push("lost", count(rows, |row| row.heard.lost));
    table.push("late", count(rows, |row| row.heard.late));
    let numbers: [(&str, NumberOf<CallResult>); 10] = [
        ("delay_mean_ms", |call| call.heard.delay_mean_ms),
        ("delay_p50_ms", |call| call.heard.delay_p50_ms),
        ("delay_p95_ms", |call| call.heard.delay_p95_ms),
        ("delay_p99_ms", |call| call.heard.delay_p99_ms),
        ("delay_max_ms", |call| call.heard.delay_max_ms),
        ("jitter_ms", |call| call.heard.jitter_ms),
        ("jitter_max_ms", |call| call.heard.jitter_max_ms),
        ("mouth_to_ear_ms", |call| call.heard.mouth_to_ear_ms),
        ("r_factor", |call| call.heard.r_factor),
        ("mos", |call| call.heard.mos),
    ];
    for (name, of) in numbers {
        table.push(name, number(rows, |row| Some(of(row))));
    }
    table
}

/// The kind of series of this name.
pub fn series_kind(word: &str) -> PyResult<SeriesKind> {
    word.parse().map_err(PyValueError::new_err)
}

/// Round-trip times of a flow by phase: upper end of each bucket that is not empty, its count, and the cumulative part.
pub fn of_rtt(run: &RunResult, app: &str) -> Table {
    let mut rows = Vec::new();
    for phase in &run.phases {
        let of_app = phase.flows.iter().filter(|flow| flow.app == app);
        for times in of_app.filter_map(|flow| flow.rtt.as_ref()) {
            let mut below = 0;
            for &(ms, values) in &times.buckets_ms {
                below += values;
                rows.push((&phase.name, ms, values, below as f64 / times.count as f64));
            }
        }
    }
    let mut table = Table::default();
    table.push("phase", text(&rows, |(phase, ..)| Some((*phase).clone())));
    table.push("rtt_ms", number(&rows, |(_, ms, ..)| Some(*ms)));
    table.push("count", count(&rows, |(.., values, _)| *values));
    table.push("cumulative_share", number(&rows, |(.., share)| Some(*share)));
    table
}

/// Events of the run.
pub fn of_events(run: &RunResult) -> Table {
    let rows = &run.events;
    let mut table = Table::default();
    table.push("at_s", number(rows, |row| Some(row.at_s)));
    table.push("what", text(rows, |row| Some(row.what.clone())));
    table.push("detail", text(rows, |row| Some(row.detail.clone()).filter(|detail| !detail.is_empty())));
    table
}
