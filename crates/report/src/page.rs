//! HTML pages with text, plots and tables. A page needs no other file and no network, so that it can be mailed and archived,
//! and suits light and dark screens.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use evenair_api::causes::{Cause, LossReason};
use evenair_results::rates::rate_rows;
use evenair_results::stats::share;
use evenair_results::summary::{
    echo_rows, flow_rows, in_words, numeric_columns, page_rows, phase_rows, published_rows,
};
use evenair_results::tables::{
    airtime_tables, application_rows, call_rows, category_rows, flow_detail_rows, sender_rows, transfer_rows,
};
use evenair_results::{BoxCounters, DropCount, RunResult};
use evenair_scenario::{Published, Quantity};

use evenair_results::{Column, Table};

use crate::{Picture, Screen, Shade};

/// Maximum number of senders whose rates are listed.
const SENDERS_SHOWN: usize = 24;

const STYLE: &str = "
:root { color-scheme: light dark; --text: #222; --faint: #6b7280; --page: #f6f7f9; --card: #fff; --line: #e5e7eb;
  --good: #009e73; --bad: #b91c1c; --alarm: #fdf2f2 }
@media (prefers-color-scheme: dark) { :root { --text: #e0e0e0; --faint: #9ca3af; --page: #14161a; --card: #1c1f24;
  --line: #363b43; --good: #2fc89b; --bad: #f87171; --alarm: #3a1d1f } }
body { font: 15px/1.5 system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; color: var(--text); background: var(--page);
  margin: 0 }
main { max-width: 960px; margin: 0 auto; padding: 32px 20px 64px }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px }
h2 { font-size: 18px; margin: 36px 0 8px }
.facts { color: var(--faint); margin: 0 0 20px }
.verdict { padding: 10px 16px; border-left: 4px solid var(--good); background: var(--card); margin: 0 0 20px }
.verdict.bad { border-color: var(--bad); background: var(--alarm) }
.verdict ul { margin: 4px 0 0; padding-left: 20px }
figure { margin: 16px 0; padding: 12px; background: var(--card); border: 1px solid var(--line); border-radius: 6px }
figcaption { display: none; font-size: 13px; margin: 0 0 8px }
@media (max-width: 600px) { figcaption { display: block } figure { padding: 8px } }
figure img { display: block; width: 100%; height: auto }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 6px }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px }
th, td { padding: 6px 12px; text-align: left; border-bottom: 1px solid var(--line) }
th { color: var(--faint); font-weight: 600 }
tr:last-child td { border-bottom: 0 }
td.number { text-align: right; white-space: nowrap } th.number { text-align: right }
@media print { body { background: #fff } figure, .wide { break-inside: avoid } }
";

/// A page under construction.
pub struct Page {
    out: String,
}

impl Page {
    /// A page with this heading and a line of facts below it.
    pub fn new(title: &str, facts: &str) -> Self {
        let (title, facts) = (escape(title), escape(facts));
        let out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p class=\"facts\">{facts}</p>\n"
        );
        Self { out }
    }

    /// Adds the conclusion: good, or bad with these reasons.
    pub fn verdict(&mut self, good: &str, bad: &str, reasons: &[String]) {
        if reasons.is_empty() {
            let _ = writeln!(self.out, "<div class=\"verdict\">{}</div>", escape(good));
            return;
        }
        let _ = writeln!(self.out, "<div class=\"verdict bad\"><strong>{}</strong>\n<ul>", escape(bad));
        for reason in reasons {
            let _ = writeln!(self.out, "<li>{}</li>", escape(reason));
        }
        self.out.push_str("</ul></div>\n");
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.out, "<p>{}</p>", escape(text));
    }

    /// Adds a picture for each kind of screen and background.
    pub fn picture(&mut self, picture: &Picture) {
        let url =
            |shade, screen| format!("data:image/svg+xml;base64,{}", STANDARD.encode(picture.svg_for(shade, screen)));
        let caption = format!("<strong>{}</strong><br>{}", escape(picture.title()), escape(picture.subtitle()));
        let _ = write!(self.out, "<figure><figcaption>{caption}</figcaption><picture>");
        let forms = [
            ("(max-width: 600px) and (prefers-color-scheme: dark)", Shade::Dark, Screen::Narrow),
            ("(max-width: 600px)", Shade::Light, Screen::Narrow),
            ("(prefers-color-scheme: dark)", Shade::Dark, Screen::Wide),
        ];
        for (media, shade, screen) in forms {
            let _ = write!(self.out, "<source media=\"{media}\" srcset=\"{}\">", url(shade, screen));
        }
        let (title, url) = (escape(picture.title()), url(Shade::Light, Screen::Wide));
        let _ = writeln!(self.out, "<img alt=\"{title}\" src=\"{url}\"></picture></figure>");
    }

    /// Adds a table below a heading; the first row has the column headings. Nothing without further rows.
    pub fn rows(&mut self, heading: &str, rows: &[Vec<String>]) {
        if rows.len() < 2 {
            return;
        }
        let _ = writeln!(self.out, "<h2>{}</h2>", escape(heading));
        let numbers = numeric_columns(rows);
        self.out.push_str("<div class=\"wide\"><table>\n");
        for (i, cells) in rows.iter().enumerate() {
            let tag = if i == 0 { "th" } else { "td" };
            self.out.push_str("<tr>");
            for (column, cell) in cells.iter().enumerate() {
                let class = if numbers.get(column) == Some(&true) { " class=\"number\"" } else { "" };
                let _ = write!(self.out, "<{tag}{class}>{}</{tag}>", escape(cell));
            }
            self.out.push_str("</tr>\n");
        }
        self.out.push_str("</table></div>\n");
    }

    /// A table of results.
    pub fn table(&mut self, heading: &str, table: &Table) {
        let first = vec![table.columns.iter().map(|column| column.name.clone()).collect()];
        let cell = |column: &Column, row| match column.values.number(row) {
            Some(x) if x.fract() != 0.0 => significant(x),
            _ => column.values.text(row),
        };
        let rows = (0..table.rows()).map(|row| table.columns.iter().map(|column| cell(column, row)).collect());
        self.rows(heading, &first.into_iter().chain(rows).collect::<Vec<_>>());
    }

    /// The document.
    pub fn finish(mut self) -> String {
        self.out.push_str("</main>\n</body>\n</html>\n");
        self.out
    }
}

/// A number with five significant digits.
fn significant(x: f64) -> String {
    let decimals = (4.0 - x.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{x:.decimals$}")
}

/// The page of one run.
pub fn run_page(run: &RunResult, pictures: &[Picture]) -> String {
    let facts =
        format!("{}, {}, seed {}, {} s, version {}", run.scenario, run.engine, run.seed, run.duration_s, run.version);
    let mut page = Page::new(&run.title, &facts);
    let faults = run.box_faults.iter().map(|fault| format!("The box at fault: {fault}"));
    let mut reasons: Vec<_> = run.invalid_because.iter().cloned().chain(faults).collect();
    if !run.valid && reasons.is_empty() {
        reasons.push("it says so, without a reason".into());
    }
    page.verdict("The run is valid.", &format!("{}.", run.warning().unwrap_or_default()), &reasons);
    for left_out in &run.left_out {
        page.paragraph(&format!("Beyond the end of this run, and left out: {left_out}."));
    }
    for phase in &run.phases {
        page.paragraph(&in_words(run, phase));
    }
    let is_finding = |published: &&Published| published.what == Quantity::Finding;
    for finding in run.published.iter().filter(is_finding) {
        let phase = finding.phase.as_ref().map_or_else(String::new, |phase| format!(" ({phase})"));
        page.paragraph(&format!("Published{phase}: {}", finding.note));
    }
    for picture in pictures {
        page.picture(picture);
    }
    page.rows("Phases", &phase_rows(run));
    page.rows("Beside what was published", &published_rows(run));
    page.rows("Flows, Mb/s at IP level", &flow_rows(run));
    page.rows("Calls, datagrams and echoes by application", &application_rows(run));
    page.rows("Calls", &call_rows(run));
    page.rows("Response times by size", &transfer_rows(run));
    page.rows("Web pages", &page_rows(run));
    page.rows("Echoes", &echo_rows(run));
    for phase in &run.phases {
        page.rows(&format!("Flows: {}", phase.name), &flow_detail_rows(phase));
        page.rows(&format!("Senders on the medium: {}", phase.name), &sender_rows(phase));
    }
    page.rows("Access categories at the access point", &category_rows(run));
    page.rows("PHY rates used, part of the attempts", &rate_rows(run, SENDERS_SHOWN));
    page.rows("Use of the medium", &medium_rows(run));
    airtime_tables(run).iter().for_each(|(heading, rows)| page.rows(heading, rows));
    page.rows("Packets in the box", &box_rows(run.box_counters.as_ref()));
    page.rows("Frames lost", &loss_rows(run));
    page.rows("Events", &event_rows(run));
    page.finish()
}

fn medium_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows = vec![row(["medium time", "share"])];
    let Some(medium) = &run.medium else { return rows };
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    rows.push(row(["frames and gaps inside of exchanges", &percent(medium.busy_share)]));
    rows.push(row(["contention: silence while somebody had a frame", &percent(medium.contending_share)]));
    rows.push(row(["idle: nobody had a frame", &percent(medium.idle_share)]));
    let collided = share(medium.collisions as f64, medium.transmissions as f64);
    rows.push(row(["transmissions that were collisions", &percent(collided)]));
    rows.extend(
        medium.airtime.iter().map(|sender| row([&format!("sent by {}", sender.sender), &percent(sender.share)])),
    );
    rows
}

fn box_rows(counters: Option<&BoxCounters>) -> Vec<Vec<String>> {
    let mut rows = vec![row(["", "packets"])];
    let Some(counters) = counters else { return rows };
    rows.push(row(["received", &counters.received.to_string()]));
    rows.push(row(["released", &counters.released.to_string()]));
    let dropped = |drop: &DropCount| row([&format!("dropped: {}", drop.reason), &drop.packets.to_string()]);
    rows.extend(counters.dropped.iter().map(dropped));
    let lost = |(reason, packets): (LossReason, u64)| row([&format!("lost: {}", reason.word()), &packets.to_string()]);
    rows.extend(counters.losses.iter().filter(|(_, packets)| *packets > 0).map(lost));
    rows.push(row(["answers to probes", &counters.probe_answers.to_string()]));
    rows.push(row(["still held at the end", &counters.held.to_string()]));
    rows
}

fn loss_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows = vec![row(["where", "why", "frames"])];
    rows.extend(run.losses.iter().map(|loss| row([&loss.place, &loss.reason, &loss.frames.to_string()])));
    rows
}

fn event_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows = vec![row(["at", "what", ""])];
    rows.extend(run.events.iter().map(|event| row([&format!("{:.3} s", event.at_s), &event.what, &event.detail])));
    rows
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Escapes HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use evenair_api::causes::{DropReason, Drops, Losses};

    use super::*;

    #[test]
    fn every_cause_is_in_the_table_of_packets_in_the_box() {
        let rows = |drops: &Drops, losses| {
            let counters = BoxCounters { dropped: DropCount::each(drops), losses, ..BoxCounters::default() };
            box_rows(Some(&counters))
        };
        for &reason in DropReason::ALL {
            let mut drops = Drops::default();
            drops[reason] = 7;
            let rows = rows(&drops, Losses::default());
            assert!(rows.contains(&row([&format!("dropped: {}", reason.word()), "7"])), "{rows:?}");
            assert!(!rows.iter().any(|row| row[0].starts_with("lost")), "{rows:?}");
        }
        for &reason in LossReason::ALL {
            let mut losses = Losses::default();
            losses[reason] = 7;
            let rows = rows(&Drops::default(), losses);
            assert!(rows.contains(&row([&format!("lost: {}", reason.word()), "7"])), "{rows:?}");
        }
    }
}
