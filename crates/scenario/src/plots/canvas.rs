//! The few SVG elements that the pictures need.

use std::fmt::Write;

use super::colour;
use crate::results::RunResult;

/// An SVG document being drawn. Coordinates are pixels from the top left.
pub(super) struct Canvas {
    out: String,
}

/// Where a text stands from its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub size: f64,
    pub bold: bool,
    pub colour: &'static str,
}

impl Style {
    pub const TITLE: Self = Self { size: 17.0, bold: true, colour: colour::TEXT };
    pub const SUBTITLE: Self = Self { size: 12.5, bold: false, colour: colour::FAINT };
    pub const AXIS: Self = Self { size: 12.0, bold: false, colour: colour::FAINT };
    pub const LABEL: Self = Self { size: 12.5, bold: false, colour: colour::TEXT };

    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }
}

impl Canvas {
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" \
             font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n"
        );
        let _ = writeln!(out, "<title>{}</title>", escape(title));
        let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>");
        Self { out }
    }

    /// What the picture shows, and at the right of which run; a run that is not valid says so in every picture.
    pub fn heading(&mut self, left: f64, right: f64, title: &str, subtitle: &str, run: &RunResult) {
        self.text(left, 26.0, Anchor::Start, Style::TITLE, title);
        self.text(left, 46.0, Anchor::Start, Style::SUBTITLE, subtitle);
        let of = format!("{}, {}, seed {}", run.scenario, run.engine, run.seed);
        self.text(right, 26.0, Anchor::End, Style::SUBTITLE, &of);
        if !run.valid {
            self.coloured_text(right, 64.0, Anchor::End, Style::LABEL.bold(), colour::ALARM, "NOT VALID");
        }
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, style: Style, text: &str) {
        self.coloured_text(x, y, anchor, style, style.colour, text);
    }

    pub fn coloured_text(&mut self, x: f64, y: f64, anchor: Anchor, style: Style, colour: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if style.bold { " font-weight=\"600\"" } else { "" };
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{}\"{weight} \
             fill=\"{colour}\">{}</text>",
            style.size,
            escape(text)
        );
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64, dash: &str) {
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let _ = writeln!(
            self.out,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" \
             stroke-width=\"{width}\"{dash}/>",
            from.0, from.1, to.0, to.1
        );
    }

    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        let _ = writeln!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
            width.max(0.0),
            height.max(0.0)
        );
    }

    pub fn dot(&mut self, x: f64, y: f64, radius: f64, colour: &str) {
        let _ = writeln!(
            self.out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\" stroke=\"#ffffff\" \
             stroke-width=\"1.5\"/>"
        );
    }

    /// A line through points, with a tooltip where `name` is not empty.
    pub fn path(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dash: &str, name: &str) {
        if points.len() < 2 {
            return;
        }
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let _ = writeln!(
            self.out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\"{dash}><title>{}</title></polyline>",
            coordinates(points),
            escape(name)
        );
    }

    /// The area between a line and the height `base`.
    pub fn area(&mut self, points: &[(f64, f64)], base: f64, colour: &str, opacity: f64) {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
        let _ = writeln!(
            self.out,
            "<polygon points=\"{:.1},{base:.1} {} {:.1},{base:.1}\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>",
            first.0,
            coordinates(points),
            last.0
        );
    }

    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

fn coordinates(points: &[(f64, f64)]) -> String {
    let mut out = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(out, "{}{x:.1},{y:.1}", if i > 0 { " " } else { "" });
    }
    out
}

/// Text for SVG and HTML, in elements and in quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML 1.0 has no control characters but these, not even escaped.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
