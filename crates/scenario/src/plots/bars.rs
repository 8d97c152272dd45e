//! Pictures of what does not change over time: shares in each phase, and lateness.

use super::canvas::{Anchor, Canvas, Style};
use super::scale::Scale;
use super::{colour, direction_colour};
use crate::Direction;
use crate::results::{FlowResult, Lateness, PhaseResult, RunResult};

const WIDTH: f64 = 920.0;
/// Names of flows stand left of this.
const LEFT: f64 = 150.0;
const RIGHT: f64 = WIDTH - 24.0;
/// More flows than this are not drawn one by one.
const ROWS: usize = 40;

/// Every flow's share of the total, one panel per phase.
pub fn shares(run: &RunResult) -> Option<String> {
    let flows = run.phases.first().map(|phase| phase.flows.as_slice()).filter(|flows| !flows.is_empty())?;
    let rows = flows.len().min(ROWS);
    let row_height = if rows > 20 { 16.0 } else { 22.0 };
    let top = 104.0;
    let bottom = top + row_height * rows as f64;
    let height = bottom + 52.0;
    let mut canvas = Canvas::new(WIDTH, height, "Shares of the total");
    let more = if flows.len() > rows { format!(", the first {rows} of {} flows", flows.len()) } else { String::new() };
    let subtitle = format!("part of all IP-level bits over the WLAN hop{more}");
    canvas.heading(24.0, RIGHT, "Shares of the total", &subtitle, run);
    legend(&mut canvas, flows);

    for (row, flow) in flows.iter().take(rows).enumerate() {
        let y = top + row_height * (row as f64 + 0.5) + 4.0;
        let label = format!("{} · {} Mb/s", flow.app, flow.rate_mbps);
        canvas.text(LEFT - 10.0, y, Anchor::End, Style::AXIS, &shortened(&label, 22));
    }
    let largest = run.phases.iter().flat_map(|phase| &phase.flows).map(|flow| flow.share);
    let largest = largest.filter(|share| share.is_finite()).fold(0.0, f64::max);
    let gap = 28.0;
    let width = (RIGHT - LEFT + gap) / run.phases.len() as f64 - gap;
    for (i, phase) in run.phases.iter().enumerate() {
        let left = LEFT + (width + gap) * i as f64;
        // Room for the number at the end of the longest bar.
        let scale = Scale::round(100.0 * largest, (left, left + width - 44.0), 4);
        panel(&mut canvas, phase, rows, &scale, (left, top, bottom, row_height));
    }
    Some(canvas.finish())
}

/// What the colours mean, at the top right.
fn legend(canvas: &mut Canvas, flows: &[FlowResult]) {
    let mut x = RIGHT;
    for (direction, name) in [(Direction::Down, "downloads"), (Direction::Up, "uploads")] {
        if flows.iter().any(|flow| flow.direction == direction) {
            canvas.text(x, 46.0, Anchor::End, Style::LABEL, name);
            x -= 8.0 * name.len() as f64 + 12.0;
            canvas.rect(x, 35.0, 12.0, 12.0, direction_colour(direction));
            x -= 16.0;
        }
    }
}

/// One phase: `place` is its left edge, top, bottom, and the height of a row.
fn panel(canvas: &mut Canvas, phase: &PhaseResult, rows: usize, scale: &Scale, place: (f64, f64, f64, f64)) {
    let (left, top, bottom, row_height) = place;
    let heading = format!("{} ({:.0} to {:.0} s)", phase.name, phase.from_s, phase.to_s);
    canvas.text(left, top - 26.0, Anchor::Start, Style::LABEL.bold(), &heading);
    for (value, label) in scale.marks() {
        let x = scale.at(value);
        canvas.line((x, top), (x, bottom), colour::GRID, 1.0, "");
        canvas.text(x, bottom + 17.0, Anchor::Middle, Style::AXIS, &label);
    }
    canvas.text(left, bottom + 36.0, Anchor::Start, Style::AXIS, "share, %");
    for (row, flow) in phase.flows.iter().take(rows).enumerate() {
        let y = top + row_height * row as f64 + 3.0;
        let percent = 100.0 * flow.share;
        let end = scale.at(percent);
        canvas.rect(left, y, (end - left).max(1.0), row_height - 6.0, direction_colour(flow.direction));
        let decimals = usize::from(percent < 9.95);
        let text = format!("{percent:.decimals$} %");
        canvas.text(end + 5.0, y + row_height / 2.0 + 1.0, Anchor::Start, Style::AXIS, &text);
    }
    let equal = scale.at(100.0 / phase.flows.len() as f64);
    canvas.line((equal, top - 6.0), (equal, bottom), colour::TEXT, 1.0, "2 3");
    canvas.text(equal, top - 10.0, Anchor::Middle, Style::AXIS, "equal");
    canvas.line((left, top), (left, bottom), colour::FAINT, 1.0, "");
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// How late frames were handed over, and how long packets waited to get into the model.
pub fn lateness(run: &RunResult) -> Option<String> {
    let late = run.lateness.as_ref()?;
    let height = 250.0;
    let (left, right, top, bottom) = (150.0, WIDTH - 40.0, 84.0, height - 50.0);
    let mut canvas = Canvas::new(WIDTH, height, "Lateness of the testbed");
    let subtitle = format!(
        "{} frames; the medium idled for lateness {:.2} % of the time",
        late.frames,
        late.idle_for_late_permille / 10.0
    );
    canvas.heading(24.0, RIGHT, "Lateness of the testbed", &subtitle, run);

    let rows = rows(late);
    let largest =
        rows.iter().flat_map(|row| row.1.iter()).map(|mark| mark.1).filter(|x| x.is_finite()).fold(0.0, f64::max);
    let decades = largest.max(100.0).log10().ceil();
    let x = |us: f64| left + (us.max(1.0).log10() / decades).min(1.0) * (right - left);
    for decade in 0..=decades as u32 {
        let us = 10f64.powi(decade as i32);
        canvas.line((x(us), top), (x(us), bottom), colour::GRID, 1.0, "");
        canvas.text(x(us), bottom + 17.0, Anchor::Middle, Style::AXIS, &micros(us));
    }
    canvas.text((left + right) / 2.0, bottom + 36.0, Anchor::Middle, Style::AXIS, "late by, logarithmic");
    let row_height = (bottom - top) / rows.len() as f64;
    for (i, (name, marks)) in rows.iter().enumerate() {
        let y = top + row_height * (i as f64 + 0.55);
        canvas.text(left - 12.0, y + 4.0, Anchor::End, Style::LABEL, name);
        let ends = marks.iter().map(|mark| x(mark.1));
        let (low, high) = ends.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        canvas.line((low, y), (high, y), colour::UP, 2.0, "");
        for (k, (label, us)) in marks.iter().enumerate() {
            canvas.dot(x(*us), y, 5.0, colour::UP);
            // Above and below in turn, for neighbours are often near.
            let above = k % 2 == 0;
            let text_y = if above { y - 11.0 } else { y + 20.0 };
            canvas.text(x(*us), text_y, Anchor::Middle, Style::AXIS, &format!("{label} {}", micros(*us)));
        }
    }
    Some(canvas.finish())
}

/// Each row's name and marks.
fn rows(late: &Lateness) -> Vec<(&'static str, Vec<(&'static str, f64)>)> {
    let delivery =
        vec![("median", late.p50_us), ("99 %", late.p99_us), ("99.9 %", late.p999_us), ("worst", late.max_us)];
    let ingress = vec![
        ("median", late.ingress_lag_p50_us),
        ("99 %", late.ingress_lag_p99_us),
        ("worst", late.ingress_lag_max_us),
    ];
    vec![("frames handed over", delivery), ("packets taken in", ingress)]
}

fn micros(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{} s", us / 1e6),
        us if us >= 1e4 => format!("{:.0} ms", us / 1e3),
        us if us >= 1e3 => format!("{} ms", (us / 100.0).round() / 10.0),
        us => format!("{us:.0} µs"),
    }
}
