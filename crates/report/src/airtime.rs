//! The plot of airtime: one bar per phase, divided into proportions of its time.
//!
//! A station is a piece of the bar: frames to it, then frames from it, in the colours of downloads and uploads in the other
//! plots. Neighbouring stations differ in shade and are in the same order in all bars, so that equal shares are pieces of equal
//! length. Collisions are one piece for all stations together.

use evenair_results::tables::airtime_lines;
use evenair_results::{MediumAirtime, PhaseResult, RunResult, StationAirtime};

use crate::chart::{Axis, Chart, Data, Ink, Name, Stack};

/// Maximum number of stations drawn individually; those of a larger network are drawn together.
const ONE_BY_ONE: usize = 40;

/// Chart of the medium's time in each phase.
pub(crate) fn airtime(run: &RunResult) -> Option<Chart> {
    let phases: Vec<_> =
        run.phases.iter().filter_map(|phase| Some((phase, phase.measured_airtime.as_ref()?))).collect();
    let stations = &phases.first()?.1.stations;
    let shown = shown(&phases);
    // A station's airtime is relative to its own medium's time, whereas bars cover all media.
    let media = phases.iter().map(|(phase, _)| phase.domains.len()).max().unwrap_or(1).max(1);
    let stacks: Vec<_> = phases.iter().map(|(phase, measured)| stack(phase, measured, &shown, media)).collect();
    let others = stations.len() - shown.len();
    let rest = if others > 0 { format!(", then the {others} others together") } else { String::new() };
    let subtitle = format!("part of each phase; {} stations, in turn darker and lighter{rest}", shown.len());
    // The plot includes the number of the last tick.
    let x = Axis { to: Some(102.0), ..Axis::from_zero("medium time, %") };
    Some(Chart::new("Airtime", &subtitle, x, Axis::new(""), Data::Stacks(legend(&phases), stacks)))
}

/// Indices of the stations drawn individually, in order.
fn shown(phases: &[(&PhaseResult, &MediumAirtime)]) -> Vec<usize> {
    let of = |place: usize| -> f64 {
        let stations = phases.iter().filter_map(|(_, measured)| measured.stations.get(place));
        stations.map(|station| station.down_share + station.up_share).sum()
    };
    let mut places: Vec<_> = (0..phases.first().map_or(0, |(_, measured)| measured.stations.len())).collect();
    places.sort_by(|&a, &b| of(b).total_cmp(&of(a)));
    places.truncate(ONE_BY_ONE);
    places.sort_unstable();
    places
}

/// Airtime of frames to a station and from it, without its part of collisions.
fn ways(station: &StationAirtime) -> [f64; 2] {
    let down_collisions = station.collisions_share - station.collisions_up_share;
    [station.down_share - down_collisions, station.up_share - station.collisions_up_share]
}

fn stack(phase: &PhaseResult, measured: &MediumAirtime, shown: &[usize], media: usize) -> Stack {
    let mut bar = Stack { label: label(phase, measured), parts: Vec::new(), names: Vec::new() };
    let mut end = 0.0;
    let mut add = |bar: &mut Stack, share: f64, ink: Ink| {
        let percent = if share.is_finite() { 100.0 * share.max(0.0) } else { 0.0 };
        bar.parts.push((percent, ink));
        end += percent;
        end
    };
    let mut from = 0.0;
    let others = (0..measured.stations.len()).filter(|place| !shown.contains(place));
    let others: Vec<_> = others.map(|place| &measured.stations[place]).collect();
    let single = shown.iter().filter_map(|&place| measured.stations.get(place));
    let single = single.map(|station| (station.station.clone(), ways(station)));
    let all =
        others.iter().map(|station| ways(station)).fold([0.0; 2], |sum, ways| [sum[0] + ways[0], sum[1] + ways[1]]);
    let together = (!others.is_empty()).then(|| (format!("{} others", others.len()), all));
    for (number, (text, [down, up])) in single.chain(together).enumerate() {
        let lighter = number % 2 == 1;
        add(&mut bar, down / media as f64, down_ink(lighter));
        let to = add(&mut bar, up / media as f64, up_ink(lighter));
        bar.names.push(Name { text, from, to });
        from = to;
    }
    for ((_, share), ink) in lines(measured, media).into_iter().zip(inks()) {
        add(&mut bar, share, ink);
    }
    bar
}

fn label(phase: &PhaseResult, measured: &MediumAirtime) -> String {
    match measured.jain {
        Some(jain) => format!("{}, Jain {jain:.3}", phase.name),
        None => phase.name.clone(),
    }
}

/// All pieces without a station. Collisions are those of stations' frames; those of other frames, such as beacons, are in the
/// lines of these.
fn lines(measured: &MediumAirtime, media: usize) -> Vec<(&'static str, f64)> {
    let of_stations = measured.stations.iter().map(|station| station.collisions_share).sum::<f64>();
    [("collisions", of_stations / media as f64)].into_iter().chain(airtime_lines(measured)).collect()
}

/// The inks of [`lines`].
fn inks() -> [Ink; 6] {
    [
        Ink::queue(),
        Ink::service(),
        Ink::new("#b07a00", "#f0e442"),
        Ink::total(),
        Ink::new("#9ca3af", "#6b7280"),
        Ink::new("#e5e7eb", "#363b43"),
    ]
}

/// Legend of the pieces that occur.
fn legend(phases: &[(&PhaseResult, &MediumAirtime)]) -> Vec<(String, Ink)> {
    let mut entries = vec![("to stations".to_owned(), down_ink(false)), ("from stations".to_owned(), up_ink(false))];
    let Some((_, first)) = phases.first() else { return entries };
    for (number, ((name, _), ink)) in lines(first, 1).into_iter().zip(inks()).enumerate() {
        if phases.iter().any(|(_, measured)| lines(measured, 1)[number].1 > 0.0005) {
            entries.push((name.to_owned(), ink));
        }
    }
    entries
}

/// Orange and blue as for downloads and uploads, light enough (or dark enough on dark backgrounds) for text on them to be
/// readable.
fn down_ink(lighter: bool) -> Ink {
    if lighter { Ink::new("#f7c9a5", "#bf6a1c") } else { Ink::new("#e07b39", "#a34a00") }
}

fn up_ink(lighter: bool) -> Ink {
    if lighter { Ink::new("#b3d9f2", "#2d7fb5") } else { Ink::new("#4a9fd6", "#0b5f94") }
}
