//! One page about a run: what happened in words, pictures, tables. It needs no other file and no network, so that it
//! can be mailed, archived, and opened years later.

use std::fmt::Write;

use crate::plots;
use crate::plots::canvas::escape;
use crate::results::summary::{echo_rows, flow_rows, numeric_columns, page_rows, phase_rows, published_rows};
use crate::results::{RunResult, in_words};
use crate::{Published, Quantity};

const STYLE: &str = "
body { font: 15px/1.5 system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; color: #222; background: #f6f7f9; margin: 0 }
main { max-width: 960px; margin: 0 auto; padding: 32px 20px 64px }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px }
h2 { font-size: 18px; margin: 36px 0 8px }
.facts { color: #6b7280; margin: 0 0 20px }
.verdict { padding: 10px 16px; border-left: 4px solid #009e73; background: #fff; margin: 0 0 20px }
.verdict.bad { border-color: #b91c1c; background: #fdf2f2 }
.verdict ul { margin: 4px 0 0; padding-left: 20px }
figure { margin: 16px 0; padding: 12px; background: #fff; border: 1px solid #e5e7eb; border-radius: 6px }
figure svg { display: block; width: 100%; height: auto }
.wide { overflow-x: auto; background: #fff; border: 1px solid #e5e7eb; border-radius: 6px }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px }
th, td { padding: 6px 12px; text-align: left; border-bottom: 1px solid #e5e7eb }
th { color: #6b7280; font-weight: 600 }
tr:last-child td { border-bottom: 0 }
td.number { text-align: right; white-space: nowrap } th.number { text-align: right }
@media print { body { background: #fff } figure, .wide { break-inside: avoid } }
";

/// The report page of a run, an HTML document.
pub fn report(run: &RunResult) -> String {
    let mut out = String::new();
    let title = escape(&run.title);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p class=\"facts\">{}</p>\n",
        escape(&format!(
            "{}, {}, seed {}, {} s, version {}",
            run.scenario, run.engine, run.seed, run.duration_s, run.version
        ))
    );
    verdict(run, &mut out);
    for phase in &run.phases {
        let _ = writeln!(out, "<p>{}</p>", escape(&in_words(run, phase)));
    }
    findings(run, &mut out);
    for plot in plots::all(run) {
        let _ = writeln!(out, "<figure>{}</figure>", plot.svg);
    }
    let tables = [
        ("Phases", phase_rows(run)),
        ("Beside what was published", published_rows(run)),
        ("Flows, Mb/s at IP level", flow_rows(run)),
        ("Web pages", page_rows(run)),
        ("Echoes", echo_rows(run)),
        ("Use of the medium", medium_rows(run)),
        ("Packets in the box", box_rows(run)),
        ("Frames lost", loss_rows(run)),
        ("Events", event_rows(run)),
    ];
    for (heading, rows) in tables {
        if rows.len() > 1 {
            let _ = writeln!(out, "<h2>{heading}</h2>");
            table(&rows, &mut out);
        }
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn verdict(run: &RunResult, out: &mut String) {
    if run.valid {
        out.push_str("<div class=\"verdict\">The run is valid.</div>\n");
        return;
    }
    out.push_str("<div class=\"verdict bad\"><strong>The run is not valid: do not use its numbers.</strong>\n<ul>\n");
    for reason in &run.invalid_because {
        let _ = writeln!(out, "<li>{}</li>", escape(reason));
    }
    for fault in &run.box_faults {
        let _ = writeln!(out, "<li>The box at fault: {}</li>", escape(fault));
    }
    out.push_str("</ul></div>\n");
}

/// What was published in words.
fn findings(run: &RunResult, out: &mut String) {
    let is_finding = |published: &&Published| published.what == Quantity::Finding;
    for finding in run.published.iter().filter(is_finding) {
        let phase = finding.phase.as_ref().map_or_else(String::new, |phase| format!(" ({phase})"));
        let _ = writeln!(out, "<p>Published{}: {}</p>", escape(&phase), escape(&finding.note));
    }
}

fn medium_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows = vec![row(["medium time", "share"])];
    let Some(medium) = &run.medium else { return rows };
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    rows.push(row(["frames and gaps inside of exchanges", &percent(medium.busy_share)]));
    rows.push(row(["contention: silence while somebody had a frame", &percent(medium.contending_share)]));
    rows.push(row(["idle: nobody had a frame", &percent(medium.idle_share)]));
    let collided = 100.0 * crate::results::stats::share(medium.collisions as f64, medium.transmissions as f64);
    rows.push(row(["transmissions that were collisions", &format!("{collided:.1} %")]));
    rows.extend(
        medium.airtime.iter().map(|sender| row([&format!("sent by {}", sender.sender), &percent(sender.share)])),
    );
    rows
}

fn box_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut rows = vec![row(["", "packets"])];
    let Some(counters) = &run.box_counters else { return rows };
    rows.push(row(["received", &counters.received.to_string()]));
    rows.push(row(["released", &counters.released.to_string()]));
    let dropped =
        |drop: &crate::results::DropCount| row([&format!("dropped: {}", drop.reason), &drop.packets.to_string()]);
    rows.extend(counters.dropped.iter().map(dropped));
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

fn table(rows: &[Vec<String>], out: &mut String) {
    let numbers = numeric_columns(rows);
    out.push_str("<div class=\"wide\"><table>\n");
    for (i, cells) in rows.iter().enumerate() {
        let tag = if i == 0 { "th" } else { "td" };
        out.push_str("<tr>");
        for (column, cell) in cells.iter().enumerate() {
            let class = if numbers.get(column) == Some(&true) { " class=\"number\"" } else { "" };
            let _ = write!(out, "<{tag}{class}>{}</{tag}>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn the_page_stands_alone() {
        let (_, run) = sample::two_flows();
        let page = report(&run);
        assert!(page.contains("The run is valid."));
        assert_eq!(page.matches("<svg ").count(), 4);
        assert!(page.contains("<td>uploads</td>"));
        for outside in ["src=", "href=", "url(", "@import", "<script"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(page.replace("http://www.w3.org/2000/svg", "").matches("http").count(), 0);
    }

    #[test]
    fn an_invalid_run_says_why_first() {
        let (_, mut run) = sample::two_flows();
        run.valid = false;
        run.invalid_because = vec!["late & <later>".into()];
        run.box_faults = vec!["packets < 0".into()];
        let page = report(&run);
        assert!(page.contains("<li>late &amp; &lt;later&gt;</li>"));
        assert!(page.contains("<li>The box at fault: packets &lt; 0</li>"));
        assert!(page.find("not valid").unwrap() < page.find("<svg ").unwrap());
    }
}
