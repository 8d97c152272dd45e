//! The live view of a run: the current throughput of each flow.
//!
//! On a terminal it is a panel that is redrawn in place; elsewhere (a pipe, a log) it is one line every few seconds. The
//! panel is inline: earlier output stays above it.

use std::io::{self, IsTerminal, Stderr, Write};

use evenair_api::Mode;
use evenair_results::{FlowProgress, Progress};
use evenair_scenario::Scenario;
use evenair_workload::Direction;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

/// Longest bar, in terminal cells.
const BAR_CELLS: usize = 40;
/// Lines of the panel that are not flows: heading, state, blank, footer.
const FIXED_LINES: u16 = 5;
/// The panel shows at most this many flows, and the number of the others.
const MAX_FLOWS: usize = 24;
/// Seconds between two lines without a terminal.
const PLAIN_EVERY_S: f64 = 5.0;
/// Terminal cells for the names and numbers around a bar; narrower terminals get shorter bars.
const AROUND_BAR: usize = 38;
/// Smallest throughput of a whole bar, in Mb/s.
const LEAST_SCALE_MBPS: f64 = 0.1;

/// Shows the progress of one run.
pub struct View {
    title: String,
    duration_s: f64,
    /// Throughput of a whole bar, in Mb/s: the highest of any flow so far, so that bars stay comparable over time.
    scale_mbps: f64,
    screen: Screen,
}

enum Screen {
    Panel(Box<Terminal<CrosstermBackend<Stderr>>>),
    Lines { next_s: f64, last_mode: Option<Mode> },
    Silent,
}

impl View {
    /// A view for a run of `scenario`; `quiet` shows nothing at all.
    pub fn new(scenario: &Scenario, quiet: bool) -> Self {
        let flows = scenario.apps.len().min(MAX_FLOWS) as u16;
        let screen = if quiet { Screen::Silent } else { Screen::open(flows + FIXED_LINES) };
        Self {
            title: scenario.title.clone(),
            duration_s: scenario.duration.as_secs_f64(),
            scale_mbps: LEAST_SCALE_MBPS,
            screen,
        }
    }

    /// Shows the newest state. A closed terminal does not end the run.
    pub fn show(&mut self, progress: &Progress) {
        self.scale_mbps = progress.flows.iter().map(|flow| flow.ip_mbps).fold(self.scale_mbps, f64::max);
        match &mut self.screen {
            Screen::Silent => {}
            Screen::Lines { next_s, last_mode } => {
                if progress.at_s >= *next_s || *last_mode != Some(progress.mode) {
                    *next_s = progress.at_s + PLAIN_EVERY_S;
                    *last_mode = Some(progress.mode);
                    let _ = writeln!(io::stderr(), "{}", plain_line(progress));
                }
            }
            Screen::Panel(terminal) => {
                let time = format!("{:.0} of {:.0} s", progress.at_s, self.duration_s);
                let (title, scale_mbps) = (&self.title, self.scale_mbps);
                let _ = terminal.draw(|frame| draw(frame, title, &time, scale_mbps, progress));
            }
        }
    }

    /// Leaves the last state on the screen and moves below it.
    pub fn finish(self) {
        if let Screen::Panel(_) = self.screen {
            let _ = writeln!(io::stderr());
        }
    }
}

impl Screen {
    fn open(lines: u16) -> Self {
        let plain = Self::Lines { next_s: 0.0, last_mode: None };
        if !io::stderr().is_terminal() {
            return plain;
        }
        let options = TerminalOptions { viewport: Viewport::Inline(lines) };
        match Terminal::with_options(CrosstermBackend::new(io::stderr()), options) {
            Ok(terminal) => Self::Panel(Box::new(terminal)),
            Err(_) => plain,
        }
    }
}

fn draw(frame: &mut Frame<'_>, title: &str, time: &str, scale_mbps: f64, progress: &Progress) {
    let area: Rect = frame.area();
    let bar_cells = usize::from(area.width).saturating_sub(AROUND_BAR).min(BAR_CELLS);
    let mut lines = vec![
        Line::from(vec![
            Span::styled(title.to_owned(), Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(format!("   {time}   whole bar {scale_mbps:.2} Mb/s")),
        ]),
        state_line(progress),
        Line::default(),
    ];
    lines.extend(progress.flows.iter().take(MAX_FLOWS).map(|flow| flow_line(flow, scale_mbps, bar_cells)));
    if progress.flows.len() > MAX_FLOWS {
        lines.push(Line::from(format!("  and {} more", progress.flows.len() - MAX_FLOWS)));
    }
    if let Some(reason) = progress.invalid_because.first() {
        lines.push(Line::styled(format!("INVALID: {reason}"), Style::new().fg(Color::Red)));
    }
    frame.render_widget(Paragraph::new(Text::from(lines)), area);
}

fn state_line(progress: &Progress) -> Line<'static> {
    let colour = if progress.mode == Mode::Inserted { Color::Green } else { Color::Yellow };
    let service = progress.service_rate_mbps.map_or_else(|| "-".to_owned(), |c| format!("{c:.2} Mb/s"));
    let rtt = median_rtt_ms(progress).map_or_else(String::new, |ms| format!("   RTT {ms:.0} ms"));
    let late = progress.lateness_p99_us.map_or_else(String::new, |us| format!("   late p99 {:.2} ms", us / 1e3));
    Line::from(vec![
        Span::raw("box "),
        Span::styled(progress.mode.word().to_uppercase(), Style::new().fg(colour).add_modifier(Modifier::BOLD)),
        Span::raw(format!(
            "   total {:.2} Mb/s   service rate {service}   AP queue {} packets{rtt}{late}",
            progress.total_ip_mbps, progress.ap_queue_packets
        )),
    ])
}

fn flow_line(flow: &FlowProgress, scale_mbps: f64, bar_cells: usize) -> Line<'static> {
    let (arrow, colour) = match flow.direction {
        Direction::Up => ("^", Color::LightRed),
        Direction::Down => ("v", Color::LightBlue),
    };
    let eighths = (flow.ip_mbps / scale_mbps * bar_cells as f64 * 8.0).round().max(0.0) as usize;
    Line::from(vec![
        Span::raw(format!("{arrow} {:<12} ", truncated(&flow.app, 12))),
        Span::styled(bar(eighths), Style::new().fg(colour)),
        Span::raw(format!(
            " {:.2} Mb/s{}",
            flow.ip_mbps,
            flow.rtt_ms.map_or_else(String::new, |ms| format!("  {ms:.0} ms"))
        )),
    ])
}

/// A bar, with its length in eighths of a cell.
fn bar(eighths: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

fn truncated(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Median round-trip time of the flows whose sender reports one, in milliseconds.
fn median_rtt_ms(progress: &Progress) -> Option<f64> {
    let mut rtts: Vec<f64> = progress.flows.iter().filter_map(|flow| flow.rtt_ms).collect();
    rtts.sort_by(f64::total_cmp);
    rtts.get(rtts.len() / 2).copied()
}

fn plain_line(progress: &Progress) -> String {
    let sum = |direction| -> f64 {
        // An empty sum of floats is -0.0, which would print with its sign.
        progress.flows.iter().filter(|flow| flow.direction == direction).map(|flow| flow.ip_mbps).sum::<f64>() + 0.0
    };
    let rtt = median_rtt_ms(progress).map_or_else(String::new, |ms| format!("  RTT {ms:.0} ms"));
    let invalid = progress.invalid_because.first().map_or_else(String::new, |reason| format!("  INVALID: {reason}"));
    format!(
        "{:6.1} s  {:<9}  up {:.2}  down {:.2}  total {:.2} Mb/s  AP queue {}{rtt}{invalid}",
        progress.at_s,
        progress.mode,
        sum(Direction::Up),
        sum(Direction::Down),
        progress.total_ip_mbps,
        progress.ap_queue_packets
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(bar(0), "");
        assert_eq!(bar(3), "▍");
        assert_eq!(bar(17), "██▏");
    }

    #[test]
    fn a_plain_line_sums_by_direction() {
        let line = plain_line(&progress());
        assert!(line.contains("up 2.50  down 0.25  total 2.75 Mb/s  AP queue 9  RTT 240 ms"), "{line}");
    }

    fn progress() -> Progress {
        let flow = |app: &str, direction, ip_mbps, rtt_ms| FlowProgress { app: app.into(), direction, ip_mbps, rtt_ms };
        Progress {
            at_s: 5.0,
            mode: Mode::Bypassed,
            flows: vec![
                flow("a", Direction::Up, 1.5, Some(240.0)),
                flow("b", Direction::Up, 1.0, Some(9.0)),
                flow("c", Direction::Down, 0.25, None),
            ],
            total_ip_mbps: 2.75,
            ap_queue_packets: 9,
            service_rate_mbps: None,
            lateness_p99_us: None,
            invalid_because: Vec::new(),
        }
    }

    #[test]
    fn the_scale_of_the_bars_never_shrinks() {
        let scenario = Scenario::parse(include_str!("../../../scenarios/demo.toml"), "demo").expect("sound");
        let mut view = View::new(&scenario, true);
        let mut now = progress();
        view.show(&now);
        now.flows.iter_mut().for_each(|flow| flow.ip_mbps /= 3.0);
        view.show(&now);
        assert!((view.scale_mbps - 1.5).abs() < 1e-9, "{}", view.scale_mbps);
    }
}
