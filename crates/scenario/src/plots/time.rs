//! Pictures over the time of a run.

use super::canvas::{Anchor, Canvas, Style};
use super::scale::Scale;
use super::{colour, direction_colour, shade};
use crate::Direction;
use crate::results::{FlowSeries, PhaseResult, RunResult};

const WIDTH: f64 = 920.0;
const HEIGHT: f64 = 410.0;
/// The data are drawn between these.
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 158.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = HEIGHT - 48.0;
/// With more flows than this their lines are labelled by direction only.
const NAMED_FLOWS: usize = 8;

/// Throughput of every flow over time.
pub fn throughput(run: &RunResult) -> Option<String> {
    let is_echo = |flow: &&FlowSeries| run.echoes.iter().any(|echo| echo.app == flow.app);
    let flows: Vec<_> = run.series.flows.iter().filter(|flow| !is_echo(flow) && !flow.ip_mbps.is_empty()).collect();
    if flows.is_empty() {
        return None;
    }
    let top = maximum(flows.iter().flat_map(|flow| flow.ip_mbps.iter().copied()));
    let subtitle = format!("IP level over the WLAN hop, DATA and ACKs, mean over {}", interval(run));
    let mut picture = TimePicture::new(run, "Throughput of each flow", &subtitle, top, "Mb/s");
    for direction in [Direction::Up, Direction::Down] {
        let same: Vec<_> = flows.iter().filter(|flow| flow.direction == direction).collect();
        for (i, flow) in same.iter().enumerate() {
            let colour = shade(direction, i, same.len());
            picture.curve(&flow.ip_mbps, &colour, 1.5, &flow.app);
            if flows.len() <= NAMED_FLOWS {
                picture.label(end_height(&flow.ip_mbps), &colour, &flow.app);
            }
        }
        if flows.len() > NAMED_FLOWS && !same.is_empty() {
            let height = same.iter().map(|flow| end_height(&flow.ip_mbps)).sum::<f64>() / same.len() as f64;
            let word = if direction == Direction::Up { "uploads" } else { "downloads" };
            picture.label(height, direction_colour(direction), &format!("{} {word}", same.len()));
        }
    }
    Some(picture.finish())
}

/// Totals of uploads, downloads, and both over time, with the service rate and C*.
pub fn directions(run: &RunResult) -> Option<String> {
    let length = run.series.flows.iter().map(|flow| flow.ip_mbps.len()).max().filter(|&length| length > 0)?;
    let total = |direction: Option<Direction>| -> Vec<f64> {
        let flows = || run.series.flows.iter().filter(|flow| direction.is_none_or(|d| d == flow.direction));
        let at = |k: usize| flows().filter_map(|flow| flow.ip_mbps.get(k)).filter(|x| x.is_finite()).sum();
        (0..length).map(at).collect()
    };
    let (up, down, all) = (total(Some(Direction::Up)), total(Some(Direction::Down)), total(None));
    let capacities = || run.phases.iter().filter_map(|phase| phase.capacity_cstar_mbps);
    let top = maximum(all.iter().copied().chain(capacities()));
    let subtitle = format!("IP level over the WLAN hop, DATA and ACKs, mean over {}", interval(run));
    let mut picture = TimePicture::new(run, "Uploads and downloads", &subtitle, top, "Mb/s");

    picture.capacity(&run.phases);
    let service = &run.series.service_rate_mbps;
    if service.iter().any(Option::is_some) {
        picture.curve_with_gaps(service, colour::SERVICE, 1.5, "service rate C");
        let last = service.iter().rev().flatten().next().copied().unwrap_or(0.0);
        picture.label(last, colour::SERVICE, "service rate C");
    }
    picture.curve(&all, colour::TOTAL, 1.5, "total");
    picture.label(end_height(&all), colour::TOTAL, "total");
    for (values, direction, name) in [(&up, Direction::Up, "uploads"), (&down, Direction::Down, "downloads")] {
        if run.series.flows.iter().any(|flow| flow.direction == direction) {
            picture.curve(values, direction_colour(direction), 2.25, name);
            picture.label(end_height(values), direction_colour(direction), name);
        }
    }
    Some(picture.finish())
}

/// The access point's queue over time.
pub fn ap_queue(run: &RunResult) -> Option<String> {
    let queue = &run.series.ap_queue_packets;
    if queue.is_empty() {
        return None;
    }
    let subtitle = format!("packets waiting at the access point for the stations, mean over {}", interval(run));
    let top = maximum(queue.iter().copied());
    let mut picture = TimePicture::new(run, "Queue of the access point", &subtitle, top, "packets");
    picture.filled_curve(queue, colour::QUEUE, "queue");
    Some(picture.finish())
}

fn interval(run: &RunResult) -> String {
    format!("{} s", run.series.interval_s)
}

fn maximum(values: impl Iterator<Item = f64>) -> f64 {
    values.filter(|x| x.is_finite()).fold(0.0, f64::max)
}

/// Where a curve is near its end, for its label: the mean of its last tenth.
fn end_height(values: &[f64]) -> f64 {
    let count = (values.len() / 10).max(1).min(values.len());
    let last = &values[values.len() - count..];
    last.iter().filter(|x| x.is_finite()).sum::<f64>() / count as f64
}

/// A picture with time to the right, phases shaded, and events marked.
struct TimePicture {
    canvas: Canvas,
    x: Scale,
    y: Scale,
    interval_s: f64,
    /// Labels at the right: height, colour, text.
    labels: Vec<(f64, String, String)>,
}

impl TimePicture {
    fn new(run: &RunResult, title: &str, subtitle: &str, top: f64, unit: &str) -> Self {
        let mut picture = Self {
            canvas: Canvas::new(WIDTH, HEIGHT, title),
            x: Scale::exact(run.duration_s, (LEFT, RIGHT), 8),
            y: Scale::round(top * 1.02, (BOTTOM, TOP), 6),
            interval_s: run.series.interval_s,
            labels: Vec::new(),
        };
        picture.canvas.heading(LEFT, WIDTH - 24.0, title, subtitle, run);
        picture.bands(&run.phases);
        picture.axes(unit);
        picture.events(run);
        picture
    }

    fn bands(&mut self, phases: &[PhaseResult]) {
        for phase in phases {
            let (from, to) = (self.x.at(phase.from_s), self.x.at(phase.to_s));
            self.canvas.rect(from, TOP, to - from, BOTTOM - TOP, colour::BAND);
        }
    }

    fn axes(&mut self, unit: &str) {
        for (value, label) in self.y.marks() {
            let y = self.y.at(value);
            self.canvas.line((LEFT, y), (RIGHT, y), colour::GRID, 1.0, "");
            self.canvas.text(LEFT - 8.0, y + 4.0, Anchor::End, Style::AXIS, &label);
        }
        self.canvas.text(LEFT - 8.0, TOP - 12.0, Anchor::End, Style::AXIS, unit);
        for (value, label) in self.x.marks() {
            let x = self.x.at(value);
            self.canvas.line((x, BOTTOM), (x, BOTTOM + 4.0), colour::FAINT, 1.0, "");
            self.canvas.text(x, BOTTOM + 19.0, Anchor::Middle, Style::AXIS, &label);
        }
        self.canvas.line((LEFT, BOTTOM), (RIGHT, BOTTOM), colour::FAINT, 1.0, "");
        self.canvas.text((LEFT + RIGHT) / 2.0, BOTTOM + 38.0, Anchor::Middle, Style::AXIS, "time, s");
    }

    /// The box's switching as marked lines, the stations' coming and going as short ones at the bottom.
    fn events(&mut self, run: &RunResult) {
        let mut last_label = f64::MIN;
        for event in &run.events {
            let x = self.x.at(event.at_s);
            let label = match event.what.as_str() {
                "inserted" => "box in",
                "bypassed" => "box out",
                "join" | "leave" | "rate" => {
                    self.canvas.line((x, BOTTOM - 10.0), (x, BOTTOM), colour::FAINT, 1.5, "");
                    continue;
                }
                _ => continue,
            };
            self.canvas.line((x, TOP - 8.0), (x, BOTTOM), colour::TEXT, 1.0, "2 3");
            if x - last_label > 50.0 {
                self.canvas.text(x, TOP - 12.0, Anchor::Middle, Style::AXIS.bold(), label);
                last_label = x;
            }
        }
        for phase in &run.phases {
            let (from, to) = (self.x.at(phase.from_s), self.x.at(phase.to_s));
            // Where a name does not fit into its band, the shade alone has to do.
            if to - from > 7.0 * phase.name.chars().count() as f64 {
                self.canvas.text((from + to) / 2.0, TOP + 15.0, Anchor::Middle, Style::AXIS, &phase.name);
            }
        }
    }

    /// Pixels of each interval's middle; what is no number is left out.
    fn points(&self, values: impl Iterator<Item = f64>, first: usize) -> Vec<(f64, f64)> {
        values
            .enumerate()
            .filter(|(_, value)| value.is_finite())
            .map(|(k, value)| {
                (self.x.at((first + k) as f64 * self.interval_s + self.interval_s / 2.0), self.y.at(value))
            })
            .collect()
    }

    fn curve(&mut self, values: &[f64], colour: &str, width: f64, name: &str) {
        let points = self.points(values.iter().copied(), 0);
        self.canvas.path(&points, colour, width, "", name);
    }

    fn curve_with_gaps(&mut self, values: &[Option<f64>], colour: &str, width: f64, name: &str) {
        let mut first = 0;
        for run in values.chunk_by(|a, b| a.is_some() == b.is_some()) {
            let points = self.points(run.iter().copied().flatten(), first);
            self.canvas.path(&points, colour, width, "6 3", name);
            first += run.len();
        }
    }

    fn filled_curve(&mut self, values: &[f64], colour: &str, name: &str) {
        let points = self.points(values.iter().copied(), 0);
        self.canvas.area(&points, BOTTOM, colour, 0.25);
        self.canvas.path(&points, colour, 2.0, "", name);
    }

    /// C* over each phase; over the whole run where all phases have the same.
    fn capacity(&mut self, phases: &[PhaseResult]) {
        let known: Vec<_> = phases.iter().filter_map(|phase| Some((phase, phase.capacity_cstar_mbps?))).collect();
        let Some(&(_, last)) = known.last() else { return };
        let same = known.len() == phases.len() && known.iter().all(|(_, capacity)| *capacity == last);
        let mut stretch = |from, to, capacity| {
            let y = self.y.at(capacity);
            self.canvas.line((from, y), (to, y), colour::FAINT, 1.5, "2 4");
        };
        if same {
            stretch(LEFT, RIGHT, last);
        } else {
            for (phase, capacity) in known {
                stretch(self.x.at(phase.from_s), self.x.at(phase.to_s), capacity);
            }
        }
        self.label(last, colour::FAINT, &format!("C* {last:.2}"));
    }

    fn label(&mut self, value: f64, colour: &str, text: &str) {
        let height = self.y.at(if value.is_finite() { value } else { 0.0 });
        self.labels.push((height, colour.to_owned(), text.to_owned()));
    }

    fn finish(mut self) -> String {
        let mut labels = std::mem::take(&mut self.labels);
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let heights = spread(&labels.iter().map(|label| label.0).collect::<Vec<_>>());
        for ((height, colour, text), y) in labels.into_iter().zip(heights) {
            self.canvas.line((RIGHT + 3.0, height), (RIGHT + 13.0, y), &colour, 1.0, "");
            let text: String =
                if text.chars().count() > 19 { text.chars().take(18).chain(['…']).collect() } else { text };
            self.canvas.coloured_text(RIGHT + 17.0, y + 4.0, Anchor::Start, Style::LABEL.bold(), &colour, &text);
        }
        self.canvas.finish()
    }
}

/// Moves ascending heights apart so that their labels do not overlap, and keeps them inside of the picture.
fn spread(heights: &[f64]) -> Vec<f64> {
    const GAP: f64 = 17.0;
    let mut placed = heights.to_vec();
    for i in 1..placed.len() {
        placed[i] = placed[i].max(placed[i - 1] + GAP);
    }
    let mut limit = BOTTOM;
    for y in placed.iter_mut().rev() {
        *y = y.min(limit);
        limit = *y - GAP;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_overlap() {
        let placed = spread(&[100.0, 101.0, 102.0, BOTTOM]);
        assert!(placed.windows(2).all(|pair| pair[1] - pair[0] >= 16.99), "{placed:?}");
        assert_eq!(placed[0], 100.0);
        assert_eq!(placed[3], BOTTOM);
        let crowded = spread(&[BOTTOM; 4]);
        assert!(crowded.windows(2).all(|pair| pair[1] - pair[0] >= 16.99) && crowded[3] <= BOTTOM, "{crowded:?}");
    }

    #[test]
    fn a_label_stands_where_its_curve_ends() {
        let values: Vec<_> = (0..100).map(|k| if k < 90 { 0.0 } else { 2.0 }).collect();
        assert_eq!(end_height(&values), 2.0);
        assert_eq!(end_height(&[3.0]), 3.0);
    }
}
