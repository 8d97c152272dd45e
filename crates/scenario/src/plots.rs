//! Pictures of a run, as SVG.
//!
//! Drawn by hand: a dozen kinds of elements are needed, and labels at the ends of lines, outside of the data, are what
//! a chart library's legends do not give. Colours are those of Okabe and Ito ("Color Universal Design", 2008), which
//! people with any colour vision can tell apart: blue for uploads, orange for downloads, in every picture. The same run
//! gives the same bytes.
//!
//! Not here: pictures of several runs together.

mod bars;
pub(crate) mod canvas;
mod scale;
mod time;

pub use bars::{lateness, shares};
pub use time::{ap_queue, directions, throughput};

use crate::Direction;
use crate::results::RunResult;

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// Name of its file, without ending.
    pub name: &'static str,
    /// The SVG document.
    pub svg: String,
}

/// Every picture that the run has data for.
pub fn all(run: &RunResult) -> Vec<Plot> {
    let plots = [
        ("throughput", throughput(run)),
        ("directions", directions(run)),
        ("shares", shares(run)),
        ("ap-queue", ap_queue(run)),
        ("lateness", lateness(run)),
    ];
    plots.into_iter().filter_map(|(name, svg)| Some(Plot { name, svg: svg? })).collect()
}

/// The colour of uploads, downloads, everything together, and other things.
mod colour {
    pub const UP: &str = "#0072b2";
    pub const DOWN: &str = "#d55e00";
    pub const TOTAL: &str = "#222222";
    pub const SERVICE: &str = "#009e73";
    pub const QUEUE: &str = "#cc79a7";
    pub const TEXT: &str = "#222222";
    pub const FAINT: &str = "#6b7280";
    pub const GRID: &str = "#e5e7eb";
    pub const ALARM: &str = "#b91c1c";
    pub const BAND: &str = "#eef2f7";
}

fn direction_colour(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => colour::UP,
        Direction::Down => colour::DOWN,
    }
}

/// The `index`-th of `count` shades of a direction's colour, dark to light.
fn shade(direction: Direction, index: usize, count: usize) -> String {
    let (dark, light) = match direction {
        Direction::Up => ([0x00, 0x3f, 0x6b], [0x6f, 0xbc, 0xea]),
        Direction::Down => ([0x8a, 0x36, 0x00], [0xf2, 0xa5, 0x4a]),
    };
    let part = if count > 1 { index as f64 / (count - 1) as f64 } else { 0.4 };
    let mix = |i: usize| (f64::from(dark[i]) + part * (f64::from(light[i]) - f64::from(dark[i]))).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{EchoResult, EventRecord, Lateness, sample};

    fn full() -> RunResult {
        let (_, mut run) = sample::two_flows();
        run.lateness = Some(Lateness {
            frames: 1000,
            p50_us: 9.0,
            p99_us: 80.0,
            p999_us: 300.0,
            max_us: 900.0,
            ..Default::default()
        });
        run.events.push(EventRecord { at_s: 5.0, what: "inserted".into(), detail: String::new() });
        run
    }

    /// Every tag that opens closes, in order; enough to say that a hand-made document is well formed.
    fn is_well_formed(svg: &str) -> bool {
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1) {
            let Some((tag, text)) = tag.split_once('>') else { return false };
            if text.contains('&') && !text.split('&').skip(1).all(|rest| rest.contains(';')) {
                return false;
            }
            match (tag.strip_prefix('/'), tag.ends_with('/')) {
                (Some(name), _) if open.pop() != Some(name.to_owned()) => return false,
                (Some(_), _) | (None, true) => {}
                (None, false) => open.push(tag.split(' ').next().unwrap_or_default().to_owned()),
            }
        }
        open.is_empty()
    }

    #[test]
    fn every_picture_is_a_document_without_holes() {
        let plots = all(&full());
        assert_eq!(plots.len(), 5);
        for plot in plots {
            assert!(plot.svg.starts_with("<svg "), "{}", plot.name);
            assert!(is_well_formed(&plot.svg), "{}: {}", plot.name, plot.svg);
            assert!(!plot.svg.contains("NaN") && !plot.svg.contains("inf"), "{}", plot.name);
        }
    }

    #[test]
    fn names_cannot_break_out_of_a_picture() {
        let mut run = full();
        run.series.flows[0].app = "<script>&\"".into();
        run.phases[0].flows[0].app = "<script>&\"".into();
        run.phases[0].name = "<b>".into();
        for plot in all(&run) {
            assert!(!plot.svg.contains("<script>") && !plot.svg.contains("<b>"), "{}", plot.name);
            assert!(is_well_formed(&plot.svg), "{}", plot.name);
        }
    }

    #[test]
    fn a_run_without_data_has_no_pictures() {
        let mut run = full();
        run.series.flows.clear();
        run.series.ap_queue_packets.clear();
        run.phases.clear();
        run.lateness = None;
        assert_eq!(all(&run), []);
    }

    #[test]
    fn values_that_are_no_numbers_do_not_get_in() {
        let mut run = full();
        run.series.flows[0].ip_mbps = vec![f64::NAN, f64::INFINITY, 0.0];
        run.series.ap_queue_packets = vec![0.0; 3];
        for plot in all(&run) {
            assert!(!plot.svg.contains("NaN") && !plot.svg.contains("inf"), "{}", plot.name);
        }
    }

    #[test]
    fn a_run_that_is_not_valid_says_so_everywhere() {
        let mut run = full();
        assert!(all(&run).iter().all(|plot| !plot.svg.contains("NOT VALID")));
        run.valid = false;
        assert!(all(&run).iter().all(|plot| plot.svg.contains("NOT VALID")));
    }

    #[test]
    fn the_insertion_is_marked() {
        let run = full();
        for svg in [throughput(&run), directions(&run), ap_queue(&run)] {
            assert!(svg.unwrap().contains("box in"));
        }
    }

    #[test]
    fn echoes_are_not_drawn_as_flows() {
        let mut run = full();
        run.echoes.push(EchoResult { app: "upload".into(), answers: 1, p50_ms: 1.0, p99_ms: 1.0, max_ms: 1.0 });
        assert!(!throughput(&run).unwrap().contains(">upload<"));
        assert!(throughput(&run).unwrap().contains(">download<"));
    }
}
