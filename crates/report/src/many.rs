//! The plots of many runs: a measure over what was varied, and differences between two variants.

use evenair_results::Curves;

use crate::chart::{Axis, Chart, Data, Ink, Interval, Line, Picture};

/// Most lines that a picture can hold and still be read.
const LINES: usize = 21;

/// Draws curves; `None` where there is nothing to draw. Of too many lines the first are drawn, and it is said so.
pub fn draw_curves(curves: &Curves) -> Option<Picture> {
    let drawn = curves.curves.iter().filter(|curve| !curve.points.is_empty()).take(LINES);
    let lines: Vec<_> = drawn
        .enumerate()
        .map(|(index, curve)| {
            let (ink, dash) = Ink::cycle(index);
            let points = curve.points.iter().map(|point| (point.0, point.1));
            let errors = curve.points.iter().map(|point| point.2.unwrap_or(0.0)).collect::<Vec<_>>();
            let line = Line::new(curve.name.as_deref(), ink, points);
            // Points that are no numbers were left out; intervals must be those of the others.
            let errors = (errors.len() == line.points.len()).then_some(errors);
            Line { dash, marked: true, errors, ..line }
        })
        .collect();
    if lines.iter().all(|line| line.points.is_empty()) {
        return None;
    }
    let left_out = curves.curves.len().saturating_sub(LINES);
    let more = if left_out > 0 { format!(", {left_out} further lines left out") } else { String::new() };
    let data = match &curves.categories {
        Some(names) => Data::Categories(names.clone(), lines),
        None => Data::Lines(lines),
    };
    let subtitle = format!("{}{more}", curves.subtitle);
    let chart = Chart::new(&curves.title, &subtitle, Axis::new(&curves.x_label), Axis::new(&curves.y_label), data);
    Some(chart.with_room().draw(&curves.name))
}

/// A difference with its interval.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The measure.
    pub label: String,
    /// How much larger it is, in percent.
    pub percent: f64,
    /// Half-width of the confidence interval, in percent.
    pub half_width: f64,
    /// Whether zero is outside of the interval.
    pub significant: bool,
}

/// Differences below each other, with a line at zero: blue where they are significant, grey where they are not.
/// `None` of none.
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
    (!empty).then(|| chart.draw(name))
}
