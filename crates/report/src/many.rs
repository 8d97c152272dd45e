//! The plots of many runs: a measure over the varied key, and differences between two variants.

use evenair_results::{Curve, Curves};

use crate::chart::{Axis, Bars, Chart, Data, Ink, Interval, Line, Picture};

/// Maximum number of lines in a readable plot.
const LINES: usize = 21;

/// Draws curves, or bars of categories; `None` without data. Of too many, the first are drawn, with a note.
pub fn draw_curves(curves: &Curves) -> Option<Picture> {
    let drawn: Vec<_> = curves.curves.iter().filter(|curve| !curve.points.is_empty()).take(LINES).collect();
    let finite = |curve: &&&Curve| curve.points.iter().any(|(x, y, _)| x.is_finite() && y.is_finite());
    drawn.iter().find(finite)?;
    let left_out = curves.curves.len().saturating_sub(LINES);
    let more = if left_out > 0 { format!(", {left_out} further lines left out") } else { String::new() };
    let subtitle = format!("{}{more}", curves.subtitle);
    let chart = |x: &str, y: &str, data| Chart::new(&curves.title, &subtitle, Axis::new(x), Axis::new(y), data);
    let chart = match &curves.categories {
        // Bars are horizontal, so that names of categories have room; the measure is on the x axis.
        Some(names) => {
            let mut chart = chart(&curves.y_label, &curves.x_label, bars(names, &drawn));
            let is_negative = drawn.iter().flat_map(|curve| &curve.points).any(|point| point.1 < 0.0);
            // Intervals may reach below zero although no value does.
            chart.x.from = (!is_negative).then_some(0.0);
            chart
        }
        None => chart(&curves.x_label, &curves.y_label, lines(&drawn)).with_room(),
    };
    Some(chart.picture(&curves.name))
}

fn lines(curves: &[&Curve]) -> Data {
    let line = |(index, curve): (usize, &&Curve)| {
        let (ink, dash) = Ink::cycle(index);
        let points = curve.points.iter().map(|point| (point.0, point.1));
        let errors = curve.points.iter().map(|point| point.2.unwrap_or(0.0)).collect::<Vec<_>>();
        let line = Line::new(curve.name.as_deref(), ink, points);
        // Points without a number were left out, so the intervals no longer match.
        let errors = (errors.len() == line.points.len()).then_some(errors);
        Line { dash, marked: true, errors, ..line }
    };
    Data::Lines(curves.iter().enumerate().map(line).collect())
}

/// A group of bars for each category, with a bar and interval for each curve.
fn bars(names: &[String], curves: &[&Curve]) -> Data {
    let name = |curve: &Curve| curve.name.clone().unwrap_or_default();
    let series = curves.iter().enumerate().map(|(index, curve)| (name(curve), Ink::cycle(index).0));
    let group = |(at, name): (usize, &String)| {
        let of = |curve: &&Curve| {
            let point = curve.points.iter().find(|(x, y, _)| *x == (at + 1) as f64 && y.is_finite());
            point.map_or((0.0, 0.0), |(_, y, half)| (*y, half.filter(|half| half.is_finite()).unwrap_or(0.0)))
        };
        let (values, halves): (Vec<_>, Vec<_>) = curves.iter().map(of).unzip();
        Bars { label: name.clone(), values, whiskers: halves.into_iter().map(|half| (half, half)).collect() }
    };
    Data::Bars(series.collect(), names.iter().enumerate().map(group).collect())
}

/// A difference with its interval.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The measure.
    pub label: String,
    /// Relative difference, in percent.
    pub percent: f64,
    /// Half-width of the confidence interval, in percent.
    pub half_width: f64,
    /// Whether zero is outside of the interval.
    pub significant: bool,
}

/// Differences below each other, with a line at zero: blue if significant, grey if not. `None` without any.
pub fn differences(name: &str, title: &str, subtitle: &str, differences: &[Difference]) -> Option<Picture> {
    let finite = differences.iter().filter(|d| d.percent.is_finite() && d.half_width.is_finite());
    let intervals: Vec<_> = finite
        .map(|difference| Interval {
            label: difference.label.clone(),
            value: difference.percent,
            half_width: difference.half_width,
            ink: if difference.significant { Ink::up() } else { Ink::faint() },
        })
        .collect();
    let empty = intervals.is_empty();
    let data = Data::Intervals(intervals);
    let chart = Chart::new(title, subtitle, Axis::new("difference, %"), Axis::new(""), data);
    (!empty).then(|| chart.picture(name))
}
