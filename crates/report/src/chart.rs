//! Charts: one description, drawn for light and for dark backgrounds.
//!
//! `kuva` draws them; only this file uses it. Colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with
//! any colour vision can tell apart; lines also differ in their dashes if there are more of them than colours. The legend is beside
//! the plot, where nothing overlaps, and below it on a narrow screen.

use std::fmt::Write;
use std::sync::Arc;

use kuva::backend::svg::SvgBackend;
use kuva::plot::annotations::{ReferenceLine, ShadedRegion, TextAnnotation};
use kuva::plot::legend::LegendPosition;
use kuva::plot::{BarPlot, ForestPlot, LegendEntry, LegendShape, LinePlot, ScatterPlot};
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::{Scene, render_multiple};
use kuva::{RasterBackend, Theme};

/// Pixels of a PNG per unit of the picture: sharp on high-density screens and in print.
const PNG_SCALE: f32 = 2.0;
/// Height of a plot of lines with its axes, and of title and subtitle above it, in pixels.
const HEIGHT: f64 = 370.0;
const TITLES: f64 = 50.0;
/// Pixels of a bar, and of the gap between two groups of bars.
const BAR: f64 = 13.0;
const BAR_GAP: f64 = 10.0;
/// Maximum number of tick intervals on an axis with little room.
const NARROW_TICKS: usize = 4;
/// Height of a line of the legend below a plot, in pixels.
const LEGEND: f64 = 20.0;
/// Distance of stacks, in pixels.
const STACK: f64 = 64.0;
/// Width of a label's character, and distance from the middle of a stack down to a label's anchor, in pixels.
const CHARACTER: f64 = 7.0;
const LABEL_DOWN: f64 = 10.0;

/// A finished picture.
pub struct Picture {
    /// Name of its file, without extension.
    pub name: String,
    chart: Chart,
}

impl Picture {
    /// Title in one line.
    pub fn title(&self) -> &str {
        &self.chart.title
    }

    /// Origin of the data.
    pub fn subtitle(&self) -> &str {
        &self.chart.subtitle
    }

    /// The SVG document, for light backgrounds and wide screens.
    pub fn svg(&self) -> String {
        self.svg_for(Shade::Light, Screen::Wide)
    }

    /// The SVG document.
    pub fn svg_for(&self, shade: Shade, screen: Screen) -> String {
        named_clips(&SvgBackend::new().render_scene(&self.chart.scene(shade, screen)), &self.name)
    }

    /// The PNG document, for light backgrounds and wide screens.
    ///
    /// # Panics
    /// Never for a picture that was made here: its size is known to fit.
    pub fn png(&self) -> Vec<u8> {
        let scene = self.chart.scene(Shade::Light, Screen::Wide);
        RasterBackend::new().with_scale(PNG_SCALE).render_scene(&scene).expect("a picture of this size")
    }
}

/// The SVG document with clip ids named after the picture, so that several fit into one page. The library numbers them over all
/// drawings of a process.
fn named_clips(svg: &str, picture: &str) -> String {
    let prefix = picture.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    const NAME: &str = "kuva-clip-";
    let mut pieces = svg.split(NAME);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    let mut seen: Vec<&str> = Vec::new();
    for piece in pieces {
        let (number, rest) = piece.split_at(piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len()));
        let place = seen.iter().position(|one| *one == number).unwrap_or_else(|| {
            seen.push(number);
            seen.len() - 1
        });
        let _ = write!(out, "{prefix}-{place}{rest}");
    }
    out
}

/// Background of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shade {
    /// White.
    Light,
    /// Nearly black.
    Dark,
}

/// Screen of a drawing: the picture has its width, so that text keeps its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// A page of a document, a browser's window.
    Wide,
    /// A phone in portrait orientation. The picture has no title and subtitle: they belong in the text above it.
    Narrow,
}

impl Screen {
    /// Width of a picture, in pixels.
    const fn width(self) -> f64 {
        match self {
            Self::Wide => 920.0,
            Self::Narrow => 360.0,
        }
    }

    /// Characters per line of an axis label.
    const fn line(self) -> usize {
        match self {
            Self::Wide => 100,
            Self::Narrow => 32,
        }
    }

    /// Maximum length of a name on an axis or in a legend, in characters, which leaves room for the data.
    const fn name(self) -> usize {
        match self {
            Self::Wide => 28,
            Self::Narrow => 22,
        }
    }
}

/// A colour on light and on dark backgrounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ink {
    light: String,
    dark: String,
}

impl Ink {
    pub fn new(light: &str, dark: &str) -> Self {
        Self { light: light.to_owned(), dark: dark.to_owned() }
    }

    /// Blue.
    pub fn up() -> Self {
        Self::new("#0072b2", "#56b4e9")
    }

    /// Vermilion, and orange where it is dark.
    pub fn down() -> Self {
        Self::new("#d55e00", "#e69f00")
    }

    /// The total.
    pub fn total() -> Self {
        Self::new("#222222", "#e0e0e0")
    }

    /// For orientation lines.
    pub fn faint() -> Self {
        Self::new("#6b7280", "#9ca3af")
    }

    /// Bluish green.
    pub fn service() -> Self {
        Self::new("#009e73", "#2fc89b")
    }

    /// Reddish purple.
    pub fn queue() -> Self {
        Self::new("#b4568f", "#e2a3cb")
    }

    /// Distinct colours; repeated with other dashes when they run out.
    pub fn cycle(index: usize) -> (Self, Dash) {
        let colours = [
            Self::up(),
            Self::down(),
            Self::service(),
            Self::queue(),
            Self::new("#b07a00", "#f0e442"),
            Self::new("#3a9bd0", "#8fd0f5"),
            Self::total(),
        ];
        let dashes = [Dash::Solid, Dash::Dashed, Dash::Dotted];
        (colours[index % colours.len()].clone(), dashes[index / colours.len() % dashes.len()])
    }

    /// The `index`-th of `count` mixtures of two colours.
    pub fn between(from: &Self, to: &Self, index: usize, count: usize) -> Self {
        let part = if count > 1 { index as f64 / (count - 1) as f64 } else { 0.0 };
        let mix = |a: &str, b: &str| {
            let channel = |text: &str, at: usize| f64::from(u8::from_str_radix(&text[at..at + 2], 16).unwrap_or(0));
            let mixed = [1, 3, 5].map(|at| channel(a, at) + part * (channel(b, at) - channel(a, at)));
            let [r, g, b] = mixed.map(|x| x.round() as u8);
            format!("#{r:02x}{g:02x}{b:02x}")
        };
        Self { light: mix(&from.light, &to.light), dark: mix(&from.dark, &to.dark) }
    }

    fn on(&self, shade: Shade) -> String {
        match shade {
            Shade::Light => self.light.clone(),
            Shade::Dark => self.dark.clone(),
        }
    }
}

/// Dash pattern of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dash {
    #[default]
    Solid,
    Dashed,
    Dotted,
}

/// A line, or points.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Name in the legend; without one the line is not listed.
    pub name: Option<String>,
    pub ink: Ink,
    pub dash: Dash,
    pub width: f64,
    pub points: Vec<(f64, f64)>,
    /// Half-widths of confidence intervals, one per point.
    pub errors: Option<Vec<f64>>,
    /// Whether the area below it is filled.
    pub filled: bool,
    /// Whether the points are marked.
    pub marked: bool,
    /// Whether it is a step function, such as an empirical distribution.
    pub stepped: bool,
}

impl Line {
    /// A plain line. Points that are NaN or infinite are left out.
    pub fn new(name: Option<&str>, ink: Ink, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        Self {
            name: name.map(str::to_owned),
            ink,
            dash: Dash::Solid,
            width: 1.75,
            points,
            errors: None,
            filled: false,
            marked: false,
            stepped: false,
        }
    }

    fn plots(&self, shade: Shade, screen: Screen) -> Vec<Plot> {
        let colour = self.ink.on(shade);
        let mut line = LinePlot::new()
            .with_data(self.points.iter().copied())
            .with_color(colour.clone())
            .with_stroke_width(self.width);
        line = match self.dash {
            Dash::Solid => line,
            Dash::Dashed => line.with_dashed(),
            Dash::Dotted => line.with_dotted(),
        };
        if let Some(errors) = &self.errors {
            line = line.with_y_err(errors.iter().copied());
        }
        if self.filled {
            line = line.with_fill().with_fill_opacity(0.2);
        }
        if self.stepped {
            line = line.with_step();
        }
        if let Some(name) = &self.name {
            line = line.with_legend(plain(&shortened(name, screen)));
        }
        let mut plots = vec![Plot::from(line)];
        if self.marked {
            let marks = ScatterPlot::new().with_data(self.points.iter().copied()).with_color(colour).with_size(3.5);
            plots.push(marks.into());
        }
        plots
    }
}

/// One axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axis {
    /// Label with the unit: `time, s`.
    pub label: String,
    /// Whether it is logarithmic, for positive values only.
    pub logarithmic: bool,
    /// Its ends, if they do not follow from the data.
    pub from: Option<f64>,
    pub to: Option<f64>,
}

impl Axis {
    pub fn new(label: &str) -> Self {
        Self { label: label.to_owned(), ..Self::default() }
    }

    /// An axis that begins at zero.
    pub fn from_zero(label: &str) -> Self {
        Self { from: Some(0.0), ..Self::new(label) }
    }
}

/// Bars of one category, one for each series.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    pub label: String,
    /// Values, one per series.
    pub values: Vec<f64>,
    /// Lengths of the whiskers below and above a value, one pair per series.
    pub whiskers: Vec<(f64, f64)>,
}

/// A horizontal stack of parts.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub label: String,
    /// Each part's length and colour, from left to right.
    pub parts: Vec<(f64, Ink)>,
    /// Labels of the parts, if there is room.
    pub names: Vec<Name>,
}

/// A label on a part of a stack.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub text: String,
    pub from: f64,
    pub to: f64,
}

/// An estimate with its interval.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub label: String,
    pub value: f64,
    pub half_width: f64,
    pub ink: Ink,
}

/// A line across the picture that marks a value.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub at: f64,
    pub upright: bool,
    pub label: String,
}

/// Data of a chart.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Lines(Vec<Line>),
    /// Horizontal bars: names (possibly empty) and colours of the series, and the bars.
    Bars(Vec<(String, Ink)>, Vec<Bars>),
    /// Horizontal stacks: names and colours in the legend, and the stacks.
    Stacks(Vec<(String, Ink)>, Vec<Stack>),
    /// Horizontal intervals around estimates, with a line at zero.
    Intervals(Vec<Interval>),
}

/// A picture before it is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub title: String,
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub data: Data,
    pub marks: Vec<Mark>,
    /// Shaded ranges of the x axis.
    pub bands: Vec<(f64, f64)>,
}

impl Chart {
    pub fn new(title: &str, subtitle: &str, x: Axis, y: Axis, data: Data) -> Self {
        let (title, subtitle) = (title.to_owned(), subtitle.to_owned());
        Self { title, subtitle, x, y, data, marks: Vec::new(), bands: Vec::new() }
    }

    /// Extends the y axis to all points with their intervals, and to zero if that is near.
    pub fn with_room(mut self) -> Self {
        let Data::Lines(lines) = &self.data else { return self };
        let ends = lines.iter().flat_map(|line| {
            let errors = line.errors.iter().flatten().copied().chain(std::iter::repeat(0.0));
            line.points.iter().zip(errors).flat_map(|((_, y), error)| [y - error, y + error])
        });
        let (low, high) = ends.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(y), high.max(y)));
        if low > high {
            return self;
        }
        let margin = if high > low { 0.06 * (high - low) } else { 0.5 * high.abs().max(0.1) };
        let near_zero = low >= 0.0 && low < 0.6 * high;
        self.y.from = Some(if near_zero || (low >= 0.0 && low < margin) { 0.0 } else { low - margin });
        self.y.to = Some(high + margin);
        self
    }

    /// Draws the picture; `name`: its file name.
    pub fn picture(self, name: &str) -> Picture {
        Picture { name: name.to_owned(), chart: self }
    }

    fn scene(&self, shade: Shade, screen: Screen) -> Scene {
        let plots = self.plots(shade, screen);
        let mut layout = Layout::auto_from_plots(&plots)
            .with_title_size(17)
            .with_subtitle_size(12)
            .with_label_size(13)
            .with_tick_size(12)
            .with_body_size(12)
            .with_x_label(plain(&self.x.label))
            .with_x_label_wrap(screen.line())
            .with_y_label(plain(&self.y.label))
            .with_y_label_wrap(44)
            .with_width(screen.width())
            .with_height(self.height(screen))
            .with_legend_box(false)
            .with_theme(theme(shade))
            .with_font_family("system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif");
        layout = match screen {
            Screen::Wide => layout.with_title(plain(&self.title)).with_subtitle(plain(&self.subtitle)),
            Screen::Narrow => layout.with_ticks(NARROW_TICKS),
        };
        if screen == Screen::Narrow || matches!(self.data, Data::Stacks(..)) {
            layout = layout.with_legend_position(LegendPosition::OutsideBottomColumns);
        }
        if let Data::Bars(series, _) | Data::Stacks(series, _) = &self.data {
            let entry = |(name, ink): &(String, Ink)| LegendEntry {
                label: plain(name),
                color: ink.on(shade),
                shape: LegendShape::Rect,
                dasharray: None,
            };
            layout =
                layout.with_legend_entries(series.iter().filter(|(name, _)| !name.is_empty()).map(entry).collect());
        }
        if let Data::Stacks(_, stacks) = &self.data {
            layout = self.names(stacks, screen).into_iter().fold(layout, Layout::with_annotation);
        }
        layout = ends(layout, &self.x, &self.y);
        for &(from, to) in &self.bands {
            let colour = if shade == Shade::Light { "#64748b" } else { "#94a3b8" };
            let region = ShadedRegion::vertical(from, to).with_color(colour).with_opacity(0.09);
            layout = layout.with_shaded_region(region);
        }
        for mark in &self.marks {
            let line = if mark.upright { ReferenceLine::vertical(mark.at) } else { ReferenceLine::horizontal(mark.at) };
            let line = line.with_color(Ink::faint().on(shade)).with_label(plain(&mark.label)).with_dasharray("3 3");
            layout = layout.with_reference_line(line);
        }
        render_multiple(plots, layout)
    }

    /// Labels of stacks, as far as they fit.
    fn names(&self, stacks: &[Stack], screen: Screen) -> Vec<TextAnnotation> {
        let whole = self.x.to.unwrap_or(100.0);
        let fits = |name: &&Name| {
            name.text.chars().count() as f64 * CHARACTER
                < (name.to - name.from) / whole * (screen.width() - 190.0) - CHARACTER
        };
        let rows = stacks.iter().rev().zip(1_u32..);
        let named = rows.flat_map(|(stack, row)| stack.names.iter().filter(fits).map(move |name| (row, name)));
        let text = |(row, name): (u32, &Name)| {
            let (x, y) = ((name.from + name.to) / 2.0, f64::from(row) - LABEL_DOWN / STACK);
            TextAnnotation::new(plain(&name.text), x, y).with_font_size(11)
        };
        named.map(text).collect()
    }

    fn plots(&self, shade: Shade, screen: Screen) -> Vec<Plot> {
        match &self.data {
            Data::Lines(lines) => lines.iter().flat_map(|line| line.plots(shade, screen)).collect(),
            Data::Bars(series, bars) => {
                let mut plot = BarPlot::new().with_horizontal(true).with_width(0.75);
                // The library draws upward; people read downward.
                for bar in bars.iter().rev() {
                    let values = bar.values.iter().zip(series).map(|(value, (_, ink))| (*value, ink.on(shade)));
                    plot = plot.with_group(plain(&shortened(&bar.label, screen)), values.rev().collect::<Vec<_>>());
                }
                let whiskers: Vec<_> = bars.iter().rev().flat_map(|bar| bar.whiskers.iter().rev().copied()).collect();
                if whiskers.iter().any(|ends| *ends != (0.0, 0.0)) {
                    plot = plot.with_asymmetric_error(whiskers).with_error_color(Ink::total().on(shade));
                }
                vec![plot.into()]
            }
            Data::Stacks(_, stacks) => {
                let mut plot = BarPlot::new().with_horizontal(true).with_stacked().with_width(0.72);
                for stack in stacks.iter().rev() {
                    let parts = stack.parts.iter().map(|(length, ink)| (*length, ink.on(shade)));
                    plot = plot.with_group(plain(&shortened(&stack.label, screen)), parts.collect::<Vec<_>>());
                }
                vec![plot.into()]
            }
            Data::Intervals(intervals) => {
                let mut plot = ForestPlot::new().with_null_value(0.0).with_marker_size(5.0).with_cap_size(4.0);
                for interval in intervals {
                    let Interval { label, value, half_width, ink } = interval;
                    let (low, high) = (value - half_width, value + half_width);
                    let label = match screen {
                        Screen::Wide => label.clone(),
                        Screen::Narrow => ending(label, screen),
                    };
                    plot = plot.with_colored_row(plain(&label), *value, low, high, ink.on(shade));
                }
                vec![plot.into()]
            }
        }
    }

    fn height(&self, screen: Screen) -> f64 {
        let (titles, legend) = match screen {
            Screen::Wide => (TITLES, 0.0),
            Screen::Narrow => (0.0, LEGEND * self.legend_entries().div_ceil(2) as f64),
        };
        titles + legend + self.height_of_data()
    }

    fn legend_entries(&self) -> usize {
        match &self.data {
            Data::Lines(lines) => lines.iter().filter(|line| line.name.is_some()).count(),
            Data::Bars(series, _) | Data::Stacks(series, _) => series.len(),
            Data::Intervals(_) => 0,
        }
    }

    /// Height of the plot with its axes, in pixels.
    fn height_of_data(&self) -> f64 {
        match &self.data {
            Data::Bars(series, bars) => 120.0 + (BAR_GAP + BAR * series.len() as f64) * bars.len() as f64,
            Data::Stacks(_, stacks) => 80.0 + STACK * stacks.len() as f64,
            Data::Intervals(intervals) => 120.0 + 24.0 * intervals.len() as f64,
            Data::Lines(_) => HEIGHT,
        }
    }
}

fn ends(mut layout: Layout, x: &Axis, y: &Axis) -> Layout {
    if x.logarithmic {
        layout = layout.with_log_x().with_x_tick_format(TickFormat::Custom(Arc::new(|x| format!("{x}"))));
    }
    if y.logarithmic {
        layout = layout.with_log_y().with_y_tick_format(TickFormat::Custom(Arc::new(|y| format!("{y}"))));
    }
    if let Some(from) = x.from {
        layout = layout.with_x_axis_min(from);
    }
    if let Some(to) = x.to {
        layout = layout.with_x_axis_max(to);
    }
    if let Some(from) = y.from {
        layout = layout.with_y_axis_min(from);
    }
    if let Some(to) = y.to {
        layout = layout.with_y_axis_max(to);
    }
    layout
}

fn theme(shade: Shade) -> Theme {
    let set = |theme: Theme, background: &str, text: &str, line: &str, grid: &str| Theme {
        background: background.into(),
        text_color: text.into(),
        axis_color: line.into(),
        tick_color: line.into(),
        grid_color: grid.into(),
        legend_bg: background.into(),
        ..theme
    };
    match shade {
        Shade::Light => set(Theme::light(), "#ffffff", "#222222", "#6b7280", "#e5e7eb"),
        Shade::Dark => set(Theme::dark(), "#1c1f24", "#e0e0e0", "#9ca3af", "#363b43"),
    }
}

/// A text with escapes, so that nothing is parsed as a formula.
fn plain(text: &str) -> String {
    text.replace('$', "\\$")
}

/// A name truncated to leave room for the data.
fn shortened(text: &str, screen: Screen) -> String {
    let most = screen.name();
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// The end of a path that distinguishes it: `phase.steady.ap.loss_rate` ends in `ap.loss_rate`.
fn ending(path: &str, screen: Screen) -> String {
    let most = screen.name();
    let whole = path.match_indices('.').map(|(at, _)| &path[at + 1..]).find(|rest| rest.chars().count() <= most);
    if path.chars().count() <= most { path.to_owned() } else { shortened(whole.unwrap_or(path), screen) }
}
