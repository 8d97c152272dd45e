//! The plots of one run.

use evenair_results::stats::percentile;
use evenair_results::{FlowResult, FlowSeries, Lateness, PhaseResult, RunResult};
use evenair_workload::Direction;

use crate::airtime::airtime;
use crate::chart::{Axis, Bars, Chart, Dash, Data, Ink, Line, Mark, Picture};

/// Number of flows above which lines are named by direction only, and similar flows share a bar.
const NAMED_FLOWS: usize = 10;
/// Maximum number of bars of shares.
const BARS: usize = 40;

/// All pictures for which the run has data.
pub fn run_pictures(run: &RunResult) -> Vec<Picture> {
    let charts = [
        ("throughput", throughput(run)),
        ("directions", directions(run)),
        ("classes", classes(run)),
        ("shares", shares(run)),
        ("airtime", airtime(run)),
        ("ap-queue", ap_queue(run)),
        ("pages", pages(run)),
        ("lateness", lateness(run)),
    ];
    charts.into_iter().filter_map(|(name, chart)| Some(marked_if_invalid(chart?, run).picture(name))).collect()
}

/// Marks plots of an invalid run, from which no numbers must be taken.
fn marked_if_invalid(mut chart: Chart, run: &RunResult) -> Chart {
    if let Some(warning) = run.warning() {
        chart.title = format!("{}: {warning}", chart.title);
    }
    chart.subtitle = format!("{} · {}, seed {}", chart.subtitle, run.engine, run.seed);
    chart
}

/// Throughput of every flow over time.
fn throughput(run: &RunResult) -> Option<Chart> {
    let is_echo = |flow: &&FlowSeries| run.echoes.iter().any(|echo| echo.app == flow.app);
    let flows: Vec<_> = run.series.flows.iter().filter(|flow| !is_echo(flow) && !flow.ip_mbps.is_empty()).collect();
    let mut lines = Vec::new();
    for direction in [Direction::Up, Direction::Down] {
        let same: Vec<_> = flows.iter().filter(|flow| flow.direction == direction).collect();
        for (index, flow) in same.iter().enumerate() {
            let all = format!("{} {}", same.len(), words(direction));
            let name = match flows.len() {
                0..=NAMED_FLOWS => Some(flow.app.as_str()),
                _ if index == 0 => Some(all.as_str()),
                _ => None,
            };
            let mut line = Line::new(name, shade(direction, index, same.len()), over_time(run, &flow.ip_mbps));
            line.width = if flows.len() > NAMED_FLOWS { 1.25 } else { 1.75 };
            // Shades of one colour alone are hard to distinguish.
            line.dash =
                [Dash::Solid, Dash::Dashed, Dash::Dotted][if flows.len() > NAMED_FLOWS { 0 } else { index % 3 }];
            lines.push(line);
        }
    }
    let subtitle = format!("IP level over the WLAN hop, DATA and ACKs, mean over {} s", run.series.interval_s);
    Some(over_the_run(run, "Throughput of each flow", &subtitle, "throughput, Mb/s", lines))
        .filter(|_| !flows.is_empty())
}

/// Totals of uploads, downloads, and both over time, with the service rate and C*.
fn directions(run: &RunResult) -> Option<Chart> {
    let length = run.series.flows.iter().map(|flow| flow.ip_mbps.len()).max().filter(|&length| length > 0)?;
    let total = |direction: Option<Direction>| -> Vec<f64> {
        let flows = || run.series.flows.iter().filter(|flow| direction.is_none_or(|d| d == flow.direction));
        let at = |k: usize| flows().filter_map(|flow| flow.ip_mbps.get(k)).filter(|x| x.is_finite()).sum();
        (0..length).map(at).collect()
    };
    let mut lines = vec![Line::new(Some("total"), Ink::total(), over_time(run, &total(None)))];
    for direction in [Direction::Up, Direction::Down] {
        if run.series.flows.iter().any(|flow| flow.direction == direction) {
            let mut line = Line::new(Some(words(direction)), ink(direction), over_time(run, &total(Some(direction))));
            line.width = 2.25;
            lines.push(line);
        }
    }
    lines.extend(service_rate(run));
    lines.extend(capacity(run));
    let subtitle = format!("IP level over the WLAN hop, DATA and ACKs, mean over {} s", run.series.interval_s);
    Some(over_the_run(run, "Uploads and downloads", &subtitle, "throughput, Mb/s", lines))
}

/// Totals of the classes of stations over time, if there are several.
fn classes(run: &RunResult) -> Option<Chart> {
    let of_class = run.series.flows.iter().filter_map(|flow| flow.class.as_deref());
    let names: std::collections::BTreeSet<_> = of_class.collect();
    if names.len() < 2 {
        return None;
    }
    let line = |(index, name): (usize, &&str)| {
        let flows = || run.series.flows.iter().filter(|flow| flow.class.as_deref() == Some(*name));
        let length = flows().map(|flow| flow.ip_mbps.len()).max().unwrap_or(0);
        let at = |k: usize| flows().filter_map(|flow| flow.ip_mbps.get(k)).filter(|x| x.is_finite()).sum();
        let (ink, dash) = Ink::cycle(index);
        let total: Vec<f64> = (0..length).map(at).collect();
        Line { dash, ..Line::new(Some(name), ink, over_time(run, &total)) }
    };
    let lines = names.iter().enumerate().map(line).collect();
    let subtitle = format!("IP level over the WLAN hop, DATA and ACKs, mean over {} s", run.series.interval_s);
    Some(over_the_run(run, "Classes of stations", &subtitle, "throughput, Mb/s", lines))
}

/// The box's service rate, one line per period in which it managed.
fn service_rate(run: &RunResult) -> Vec<Line> {
    let values: Vec<_> = run.series.service_rate_mbps.iter().enumerate().collect();
    let stretches = values.chunk_by(|a, b| a.1.is_some() == b.1.is_some());
    let managed = stretches.filter(|stretch| stretch[0].1.is_some());
    let lines = managed.enumerate().map(|(index, stretch)| {
        let name = (index == 0).then_some("service rate C");
        let points = stretch.iter().filter_map(|(k, value)| Some((middle(run, *k), (**value)?)));
        Line { dash: Dash::Dashed, ..Line::new(name, Ink::service(), points) }
    });
    lines.collect()
}

/// C* over each phase.
fn capacity(run: &RunResult) -> Vec<Line> {
    let known = run.phases.iter().filter_map(|phase| Some((phase, phase.capacity_cstar_mbps?)));
    let line = |(index, (phase, capacity)): (usize, _)| {
        let phase: &PhaseResult = phase;
        let name = (index == 0).then_some("capacity C*");
        Line { dash: Dash::Dotted, ..Line::new(name, Ink::faint(), [(phase.from_s, capacity), (phase.to_s, capacity)]) }
    };
    known.enumerate().map(line).collect()
}

/// Each flow's share of the total in each phase; for similar flows the mean, minimum and maximum.
fn shares(run: &RunResult) -> Option<Chart> {
    let flows = run.phases.first().map(|phase| phase.flows.as_slice()).filter(|flows| !flows.is_empty())?;
    let series = run.phases.iter().enumerate().map(|(index, phase)| {
        let name = format!("{} ({:.0} to {:.0} s)", phase.name, phase.from_s, phase.to_s);
        (name, Ink::cycle(index).0)
    });
    let groups = alike(flows);
    let bars = groups.iter().take(BARS).map(|group| {
        let of_phase = |phase: &PhaseResult| {
            let share = |row: &usize| phase.flows.get(*row).map_or(0.0, |flow| 100.0 * finite(flow.share));
            let shares: Vec<f64> = group.rows.iter().map(share).collect();
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            let (least, most) = shares.iter().fold((mean, mean), |(low, high), &x| (low.min(x), high.max(x)));
            (mean, (mean - least, most - mean))
        };
        let (values, whiskers) = run.phases.iter().map(of_phase).unzip();
        Bars { label: group.label.clone(), values, whiskers }
    });
    let more = match (groups.len() > BARS, groups.len() < flows.len()) {
        (true, _) => format!(", the first {BARS} of {} bars", groups.len()),
        (_, true) => ", of flows that are alike the mean, from the least to the greatest".into(),
        _ => String::new(),
    };
    let subtitle = format!("part of all IP-level bits over the WLAN hop{more}");
    let data = Data::Bars(series.collect(), bars.collect());
    let mut chart = Chart::new("Shares of the total", &subtitle, Axis::from_zero("share, %"), Axis::new(""), data);
    let equal = 100.0 / flows.len() as f64;
    chart.marks.push(Mark { at: equal, upright: true, label: "equal".into() });
    Some(chart)
}

/// Similar flows, drawn as one bar.
struct Alike {
    label: String,
    /// Their indices in the phase.
    rows: Vec<usize>,
}

/// Each flow on its own; with many flows, those with the same direction, PHY rate and name (without its numbers)
/// together.
fn alike(flows: &[FlowResult]) -> Vec<Alike> {
    let plain = |flow: &FlowResult| flow.app.replace(|c: char| c.is_ascii_digit(), "");
    let same = |a: &FlowResult, b: &FlowResult| {
        (a.direction, a.rate_mbps, plain(a)) == (b.direction, b.rate_mbps, plain(b)) && flows.len() > NAMED_FLOWS
    };
    let mut groups: Vec<Alike> = Vec::new();
    for (row, flow) in flows.iter().enumerate() {
        match groups.iter_mut().find(|group| same(&flows[group.rows[0]], flow)) {
            Some(group) => group.rows.push(row),
            None => groups.push(Alike { label: String::new(), rows: vec![row] }),
        }
    }
    for group in &mut groups {
        let first = &flows[group.rows[0]];
        group.label = match group.rows.len() {
            1 => format!("{} · {} Mb/s", first.app, first.rate_mbps),
            count => format!("{count} {} · {} Mb/s", words(first.direction), first.rate_mbps),
        };
    }
    groups
}

/// The access point's queue over time.
fn ap_queue(run: &RunResult) -> Option<Chart> {
    let queue = &run.series.ap_queue_packets;
    if queue.is_empty() {
        return None;
    }
    let line = Line { filled: true, ..Line::new(None, Ink::queue(), over_time(run, queue)) };
    let subtitle =
        format!("packets waiting at the access point for the stations, mean over {} s", run.series.interval_s);
    Some(over_the_run(run, "Queue of the access point", &subtitle, "queue, packets", vec![line]))
}

/// Distribution of web page load times in each phase.
fn pages(run: &RunResult) -> Option<Chart> {
    let mut lines = Vec::new();
    for (index, phase) in run.phases.iter().enumerate() {
        let inside = run.pages.iter().filter(|page| (phase.from_s..phase.to_s).contains(&page.at_s));
        let mut times: Vec<_> = inside.map(|page| page.took_s).filter(|&took| took > 0.0).collect();
        times.sort_by(f64::total_cmp);
        let count = times.len();
        if count == 0 {
            continue;
        }
        let (ink, dash) = Ink::cycle(index);
        let median = percentile(&times, 500).unwrap_or_default();
        let name = format!("{}: {count}, median {median:.2} s", phase.name);
        let points = times.iter().enumerate().map(|(k, took)| (*took, 100.0 * (k + 1) as f64 / count as f64));
        lines.push(Line { dash, stepped: true, ..Line::new(Some(&name), ink, points) });
    }
    if lines.is_empty() {
        return None;
    }
    let x = Axis { logarithmic: true, ..Axis::new("time from the first connection to the last object, s") };
    let y = Axis { to: Some(100.0), ..Axis::from_zero("pages that took no longer, %") };
    let subtitle = match run.page_times.is_empty() {
        true => "distribution of the time that a page took".to_owned(),
        false => format!("distribution of the time that a page took, of the first {} pages", run.pages.len()),
    };
    Some(Chart::new("Web pages", &subtitle, x, y, Data::Lines(lines)))
}

/// Lateness of frames, and lag of packets into the model.
fn lateness(run: &RunResult) -> Option<Chart> {
    let late = run.lateness.as_ref()?;
    let line = |index, name, marks: &[(f64, f64)]| {
        let (ink, _) = Ink::cycle(index);
        // Times below a microsecond are not resolved, and a logarithmic axis has no zero.
        let points = marks.iter().map(|&(percent, us)| (us.max(1.0), percent));
        Line { marked: true, ..Line::new(Some(name), ink, points) }
    };
    let Lateness { p50_us, p99_us, p999_us, max_us, .. } = *late;
    let delivery = [(50.0, p50_us), (99.0, p99_us), (99.9, p999_us), (100.0, max_us)];
    let ingress = [(50.0, late.ingress_lag_p50_us), (99.0, late.ingress_lag_p99_us), (100.0, late.ingress_lag_max_us)];
    let lines = vec![line(0, "frames handed over", &delivery), line(1, "packets taken in", &ingress)];
    let subtitle = format!(
        "{} frames: median, 99 %, 99.9 %, worst; the medium idled for it {:.2} % of the time",
        late.frames,
        late.idle_for_late_permille / 10.0
    );
    let x = Axis { logarithmic: true, ..Axis::new("late by, µs") };
    let y = Axis { to: Some(102.0), from: Some(40.0), ..Axis::new("not later than this, %") };
    Some(Chart::new("Lateness of the testbed", &subtitle, x, y, Data::Lines(lines)))
}

/// A chart over the time of the run, with shaded phases and the box's mode changes.
fn over_the_run(run: &RunResult, title: &str, subtitle: &str, y: &str, lines: Vec<Line>) -> Chart {
    let x = Axis { to: Some(run.duration_s), ..Axis::from_zero("time, s") };
    let top = lines.iter().flat_map(|line| &line.points).map(|point| point.1).fold(0.0, f64::max);
    let y = Axis { to: Some(if top > 0.0 { 1.08 * top } else { 1.0 }), ..Axis::from_zero(y) };
    let mut chart = Chart::new(title, subtitle, x, y, Data::Lines(lines));
    // A phase that spans the whole run needs no shade.
    let part = run.phases.iter().filter(|phase| phase.to_s - phase.from_s < run.duration_s);
    chart.bands = part.map(|phase| (phase.from_s, phase.to_s)).collect();
    let mut last = f64::MIN;
    for event in &run.events {
        let label = match event.what.as_str() {
            "inserted" => "box in",
            "bypassed" => "box out",
            _ => continue,
        };
        // Overlapping labels are left out; the line stays.
        let label = if event.at_s - last > 0.08 * run.duration_s { label } else { "" };
        last = event.at_s;
        chart.marks.push(Mark { at: event.at_s, upright: true, label: label.into() });
    }
    chart
}

/// The values of intervals at their midpoints.
fn over_time<'a>(run: &'a RunResult, values: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    values.iter().enumerate().map(|(k, value)| (middle(run, k), *value))
}

fn middle(run: &RunResult, interval: usize) -> f64 {
    (interval as f64 + 0.5) * run.series.interval_s
}

fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { 0.0 }
}

fn ink(direction: Direction) -> Ink {
    match direction {
        Direction::Up => Ink::up(),
        Direction::Down => Ink::down(),
    }
}

/// The `index`-th of `count` shades of a direction's colour.
fn shade(direction: Direction, index: usize, count: usize) -> Ink {
    let (from, to) = match direction {
        Direction::Up => (Ink::new("#003f6b", "#2f8fd0"), Ink::new("#6fbcea", "#b5e0fa")),
        Direction::Down => (Ink::new("#8a3600", "#d9730d"), Ink::new("#f2a54a", "#fcd9a0")),
    };
    if count == 1 { ink(direction) } else { Ink::between(&from, &to, index, count) }
}

const fn words(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "uploads",
        Direction::Down => "downloads",
    }
}
