//! A summary of a run as text, for a terminal.

use std::fmt::Write;

use evenair_scenario::measures::full_name;
use evenair_scenario::{Published, Quantity};
use evenair_workload::Direction;

use super::rates::rate_rows;
use super::tables::{FLOWS_SHOWN, airtime_tables, application_rows, call_rows, category_rows, transfer_rows};
use super::{MediumAirtime, NodeResult, PhaseResult, RunResult, scalar};

/// A run as text and tables: the shares in each phase, compared with C* and with published values.
pub fn summary(run: &RunResult) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", run.title);
    let _ = writeln!(out, "{}, seed {}, {} s, version {}\n", run.engine, run.seed, run.duration_s, run.version);
    if let Some(warning) = run.warning() {
        let _ = writeln!(out, "{warning}:");
        for reason in &run.invalid_because {
            let _ = writeln!(out, "  - {reason}");
        }
        for fault in &run.box_faults {
            let _ = writeln!(out, "  - the box at fault: {fault}");
        }
        out.push('\n');
    }
    for phase in &run.phases {
        let _ = writeln!(out, "{}", in_words(run, phase));
    }
    out.push('\n');
    out.push_str(&table(&phase_rows(run)));
    out.push('\n');
    out.push_str(&table(&flow_rows(run)));
    let tables = [
        ("Published", published_rows(run)),
        ("Calls, datagrams and echoes by application", application_rows(run)),
        ("Calls", call_rows(run)),
        ("Response times by size", transfer_rows(run)),
        ("Pages", page_rows(run)),
        ("Echoes", echo_rows(run)),
        ("Access categories at the access point", category_rows(run)),
        ("PHY rates used, part of the attempts", rate_rows(run, 1)),
    ];
    let tables = tables.map(|(heading, rows)| (heading.to_owned(), rows));
    for (heading, rows) in tables.into_iter().chain(airtime_tables(run)) {
        if rows.len() > 1 {
            let _ = write!(out, "\n{heading}\n{}", table(&rows));
        }
    }
    let in_words = |published: &&Published| published.what == Quantity::Finding || published.at.is_some();
    for published in run.published.iter().filter(in_words) {
        let _ = writeln!(out, "Published{}: {}", of_phase(published), published.note);
    }
    if let Some(late) = run.lateness {
        let _ = writeln!(
            out,
            "\nLateness of {} frames: median {:.0} us, 99 % within {:.0} us, worst {:.0} us; the medium idled for it \
             {:.2} % of the time.",
            late.frames,
            late.p50_us,
            late.p99_us,
            late.max_us,
            late.idle_for_late_permille / 10.0
        );
    }
    out
}

/// The shares in a phase, as a sentence.
pub fn in_words(run: &RunResult, phase: &PhaseResult) -> String {
    let mut out = format!("{} ({:.0} to {:.0} s): ", capitalised(&phase.name), phase.from_s, phase.to_s);
    let both = [Direction::Up, Direction::Down].map(|d| phase.flows.iter().any(|flow| flow.direction == d));
    if both == [true, true] {
        let (up, down) = (phase.directions.up_ip_mbps, phase.directions.down_ip_mbps);
        let percent = |part: f64| 100.0 * super::stats::share(part, up + down);
        let _ = write!(
            out,
            "uploads get {up:.2} Mb/s ({:.0} %), downloads {down:.2} Mb/s ({:.0} %)",
            percent(up),
            percent(down)
        );
    } else {
        let _ = write!(out, "{:.2} Mb/s in all", phase.total_ip_mbps);
    }
    if let Some(capacity) = phase.capacity_cstar_mbps.filter(|&capacity| capacity > 0.0) {
        let _ = write!(out, ", together {:.0} % of C*", 100.0 * phase.total_ip_mbps / capacity);
    }
    // Page readers and echoes demand little, so their low rates are no finding.
    let modest = |app: &str| run.echoes.iter().any(|e| e.app == app) || run.pages.iter().any(|page| page.app == app);
    let greedy = || phase.flows.iter().filter(|flow| !modest(&flow.app));
    let most = greedy().max_by(|a, b| a.ip_mbps.total_cmp(&b.ip_mbps));
    let least = greedy().min_by(|a, b| a.ip_mbps.total_cmp(&b.ip_mbps));
    if let (Some(most), Some(least)) = (most, least)
        && most.app != least.app
    {
        if least.ip_mbps >= 0.95 * most.ip_mbps {
            out.push_str(". All flows are equal within 5 %");
        } else {
            let (a, b) = (most, least);
            let _ = write!(out, ". Most: {} with {:.3}; least: {} with {:.3}", a.app, a.ip_mbps, b.app, b.ip_mbps);
        }
    }
    out.push('.');
    out
}

/// One row per quantity, one column per phase; the first row is the heading.
pub fn phase_rows(run: &RunResult) -> Vec<Vec<String>> {
    let row = |name: &str, value: &dyn Fn(&PhaseResult) -> Option<String>| {
        let values = run.phases.iter().map(|phase| value(phase).unwrap_or_else(|| "-".into()));
        std::iter::once(name.to_owned()).chain(values).collect::<Vec<_>>()
    };
    let mbps = |x: f64| Some(format!("{x:.3}"));
    let percent = |x: f64| Some(format!("{:.1} %", 100.0 * x));
    let airtime = |phase: &PhaseResult, of: fn(&MediumAirtime) -> f64| phase.measured_airtime.as_ref().map(of);
    let access_point = |phase: &PhaseResult, of: &dyn Fn(&NodeResult) -> Option<String>| {
        phase.nodes.iter().find(|node| node.node == "ap").and_then(of)
    };
    let delay =
        |node: &NodeResult| node.sojourn.as_ref().map(|times| format!("{:.1} / {:.1}", times.p50_ms, times.p99_ms));
    let mut rows = vec![
        row("Mb/s at IP level", &|phase| Some(phase.name.clone())),
        row("uploads", &|phase| mbps(phase.directions.up_ip_mbps)),
        row("downloads", &|phase| mbps(phase.directions.down_ip_mbps)),
        row("total", &|phase| mbps(phase.total_ip_mbps)),
        row("capacity C*", &|phase| phase.capacity_cstar_mbps.and_then(mbps)),
        row("service rate C", &|phase| phase.service_rate_mbps.and_then(mbps)),
        row("goodput", &|phase| mbps(phase.total_goodput_mbps)),
        row("fairness of flows (Jain)", &|phase| phase.jain_flows.map(|index| format!("{index:.3}"))),
        row("AP queue, packets", &|phase| Some(format!("{:.1}", phase.ap_queue_mean_packets))),
        row("AP delay, ms: median / 99 %", &|phase| access_point(phase, &delay)),
        row("lost at the AP", &|phase| access_point(phase, &|node| node.loss_rate.and_then(percent))),
        row("attempts that collided", &|phase| phase.medium.as_ref()?.access.collision_rate.and_then(percent)),
        row("medium busy", &|phase| percent(phase.medium.as_ref()?.busy_share)),
        row("fairness of measured airtime (Jain)", &|phase| {
            phase.measured_airtime.as_ref()?.jain.map(|index| format!("{index:.3}"))
        }),
        row("the same of backlogged stations", &|phase| {
            phase.measured_airtime.as_ref()?.jain_backlogged.map(|index| format!("{index:.3}"))
        }),
        row("backlogged stations", &|phase| Some(phase.backlogged_stations.as_ref()?.len().to_string())),
        row("airtime to stations", &|phase| {
            percent(airtime(phase, |it| it.stations.iter().map(|s| s.down_share).sum())?)
        }),
        row("airtime from stations", &|phase| {
            percent(airtime(phase, |it| it.stations.iter().map(|s| s.up_share).sum())?)
        }),
        row("airtime in collisions", &|phase| percent(airtime(phase, |it| it.collisions_share)?)),
        row("back-off", &|phase| percent(airtime(phase, |it| it.back_off_share)?)),
        row("stations with a frame, mean", &|phase| Some(format!("{:.2}", phase.medium.as_ref()?.active_stations))),
    ];
    rows.extend(super::domains::rows(run));
    // Rows without a value in any phase, for want of a box or of an engine that counts them, are left out.
    rows.retain(|row| row[1..].iter().any(|cell| cell != "-"));
    rows
}

/// One row per flow, one column per phase; the first row is the heading.
pub fn flow_rows(run: &RunResult) -> Vec<Vec<String>> {
    let Some(first) = run.phases.first() else { return Vec::new() };
    let mut heading = vec!["flow".to_owned(), "station".to_owned(), "PHY Mb/s".to_owned()];
    heading.extend(run.phases.iter().map(|phase| phase.name.clone()));
    let mut rows = vec![heading];
    for (i, flow) in first.flows.iter().enumerate().take(FLOWS_SHOWN) {
        let mut row = vec![flow.app.clone(), flow.station.clone(), format!("{}", flow.rate_mbps)];
        let values = run.phases.iter().map(|phase| phase.flows.get(i));
        row.extend(values.map(|flow| flow.map_or_else(|| "-".into(), |flow| format!("{:.3}", flow.ip_mbps))));
        rows.push(row);
    }
    if first.flows.len() > FLOWS_SHOWN {
        rows.push(vec![format!("and {} more", first.flows.len() - FLOWS_SHOWN)]);
    }
    rows
}

/// Published values beside measured ones; the first row is the heading.
pub fn published_rows(run: &RunResult) -> Vec<Vec<String>> {
    let heading = ["quantity", "phase", "published", "measured", "difference", "note"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for published in &run.published {
        // A value of a variant does not concern this run.
        let Some(value) = published.value.filter(|_| published.at.is_none()) else { continue };
        let measured = measured(run, published);
        let difference = measured.filter(|_| value != 0.0).map(|m| format!("{:+.1} %", 100.0 * (m / value - 1.0)));
        rows.push(vec![
            quantity(&published.what),
            published.phase.clone().unwrap_or_else(|| "any".into()),
            format!("{value} {}", published.unit).trim_end().to_owned(),
            measured.map_or_else(|| "-".into(), |measured| format!("{measured:.3}")),
            difference.unwrap_or_else(|| "-".into()),
            published.note.clone(),
        ]);
    }
    rows
}

/// The run's own value of a published quantity: that of its phase, or of the last one.
fn measured(run: &RunResult, published: &Published) -> Option<f64> {
    let phase = match &published.phase {
        Some(name) => run.phases.iter().find(|phase| phase.name == *name)?,
        None => run.phases.last()?,
    };
    match &published.what {
        Quantity::Total => Some(phase.total_ip_mbps),
        Quantity::Up => Some(phase.directions.up_ip_mbps),
        Quantity::Down => Some(phase.directions.down_ip_mbps),
        Quantity::Capacity => phase.capacity_cstar_mbps,
        Quantity::JainFlows => phase.jain_flows,
        Quantity::App(name) => phase.flows.iter().find(|flow| flow.app == *name).map(|flow| flow.ip_mbps),
        Quantity::Station(name) => phase.stations.iter().find(|s| s.station == *name).map(|s| s.ip_mbps),
        Quantity::Measure(name) => scalar(run, &full_name(name, &phase.name)),
        Quantity::Figure | Quantity::Finding => None,
    }
}

/// A quantity as text.
fn quantity(what: &Quantity) -> String {
    match what {
        Quantity::Total => "total".into(),
        Quantity::Up => "uploads".into(),
        Quantity::Down => "downloads".into(),
        Quantity::Capacity => "capacity C*".into(),
        Quantity::JainFlows => "fairness of flows".into(),
        Quantity::App(name) | Quantity::Station(name) | Quantity::Measure(name) => name.clone(),
        Quantity::Figure => "figure".into(),
        Quantity::Finding => "finding".into(),
    }
}

/// The phase of a published value, and its variant with the key's value.
fn of_phase(published: &Published) -> String {
    let value = published.value.map(|value| format!("{value} {}", published.unit).trim_end().to_owned());
    let parts: Vec<_> = published.phase.iter().chain(&published.at).cloned().chain(value).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Round-trip times; the first row is the heading.
pub fn echo_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows = vec![["application", "answers", "median ms", "99 % ms", "worst ms"].map(str::to_owned).to_vec()];
    rows.extend(run.echoes.iter().map(|echo| {
        let times = [echo.p50_ms, echo.p99_ms, echo.max_ms].map(|ms| format!("{ms:.1}"));
        [echo.app.clone(), echo.answers.to_string()].into_iter().chain(times).collect()
    }));
    rows
}

/// Times of pages that were asked for in each phase; the first row is the heading.
pub fn page_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows = vec![["phase", "pages", "median s", "90 % s", "worst s"].map(str::to_owned).to_vec()];
    if run.pages.is_empty() {
        return rows;
    }
    for phase in &run.phases {
        let pages = run.pages_of(phase);
        let seconds = |s: Option<f64>| s.map_or_else(|| "-".into(), |s| format!("{s:.2}"));
        let times = [pages.p50_s, pages.p90_s, pages.max_s].map(seconds);
        rows.push([phase.name.clone(), pages.count.to_string()].into_iter().chain(times).collect());
    }
    rows
}

/// Which columns hold numbers only, below their heading.
pub fn numeric_columns(rows: &[Vec<String>]) -> Vec<bool> {
    let is_number = |cell: &str| cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c));
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    (0..columns)
        .map(|column| rows.iter().skip(1).filter_map(|row| row.get(column)).all(|cell| is_number(cell)))
        .collect()
}

/// Aligned columns: text to the left, numbers to the right.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let right = numeric_columns(rows);
    let mut out = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let _ = if right[column] { write!(line, " {cell:>width$} ") } else { write!(line, " {cell:<width$} ") };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A text with a capital first letter.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Lateness, sample};
    use super::*;

    #[test]
    fn the_summary_has_the_shares() {
        let (_, run) = sample::two_flows();
        let text = summary(&run);
        for part in [
            "Bypassed (0 to 5 s): uploads get 4.00 Mb/s (89 %), downloads 0.50 Mb/s (11 %)",
            "Most: upload with 4.000; least: download with 0.500.",
            "Inserted (5 to 10 s): uploads get 2.00 Mb/s (50 %), downloads 2.00 Mb/s (50 %), together 77 % of C*. All flows are equal",
            "Published (bypassed): Uploads win.",
            "uploads                inserted   2.4 Mb/s     2.000     -16.7 %",
            "flow.download.ip_mbps  bypassed   0.4 Mb/s     0.500     +25.0 %",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("NOT VALID"));
    }

    #[test]
    fn an_invalid_run_says_so_before_all_numbers() {
        let (_, mut run) = sample::two_flows();
        run.valid = false;
        run.invalid_because = vec!["the radio was late".into()];
        run.box_faults = vec!["its account does not add up".into()];
        let text = summary(&run);
        assert!(text.find("NOT VALID").unwrap() < text.find("Mb/s at IP level").unwrap());
        assert!(text.contains("- the radio was late") && text.contains("- the box at fault: its account"), "{text}");
    }

    #[test]
    fn a_run_on_a_busy_machine_is_not_fit_for_publication_and_no_more_is_said_against_it() {
        let (_, mut run) = sample::two_flows();
        run.valid = false;
        run.invalid_because = vec!["the radio was late".into()];
        run.lateness = Some(Lateness { bounds_exceeded: 1, ..Lateness::default() });
        let text = summary(&run);
        assert!(text.contains("This machine was busy: not fit for publication:\n  - the radio was late"), "{text}");
        assert!(!text.contains("NOT VALID"));
        // Another reason, or a fault of the box, is more than lateness.
        run.invalid_because.push("a host ended".into());
        assert!(summary(&run).contains("NOT VALID"));
        run.invalid_because.pop();
        run.box_faults = vec!["its account does not add up".into()];
        assert!(summary(&run).contains("NOT VALID"));
    }
}
