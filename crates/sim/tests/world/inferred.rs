//! Without telemetry the box infers the rates of stations from the airtime of their releases, and is as fair as with reported
//! rates.

use evenair_results::PhaseResult;

use crate::site::Site;

/// Total goodput in Mb/s, and Jain's index of the stations' measured airtimes.
#[derive(Debug)]
struct Figures {
    goodput: f64,
    jain: f64,
}

fn figures(phase: &PhaseResult) -> Figures {
    let measured = phase.measured_airtime.as_ref().expect("it is measured");
    let airtimes: Vec<f64> = measured.stations.iter().map(|s| s.down_share + s.up_share).collect();
    let sum: f64 = airtimes.iter().sum();
    let squares: f64 = airtimes.iter().map(|airtime| airtime * airtime).sum();
    let goodput = phase.flows.iter().map(|flow| flow.goodput_mbps).sum();
    Figures { goodput, jain: sum * sum / (airtimes.len() as f64 * squares) }
}

/// Three stations at each of these rates in Mb/s, all with a transfer in this direction: from 5 to 20 s after the insertion of the
/// box, and later.
fn phases_of(mbps: &[u32], direction: &str, reported: bool, seed: u64) -> [Figures; 2] {
    let result = Site::new("inferred", 44)
        .seed(seed)
        .radio("802.11g", "ap_buffer = '150 kB'")
        .with(&format!("[telemetry]\nstations = {reported}\nrates = {reported}"))
        .each(mbps.iter().enumerate(), |site, (number, mbps)| {
            let name = format!("s{number}");
            site.stations(&name, 3, &format!("rate = '{mbps} Mb/s'")).bulk(&format!("t{number}"), &name, direction)
        })
        .with("[manager]\ninfer_rates = true")
        .insert(2)
        .phase("early", 7, 22)
        .phase("late", 22, 44)
        .run();
    [figures(&result.phases[0]), figures(&result.phases[1])]
}

/// Means of three seeds.
fn phases(mbps: &[u32], direction: &str, reported: bool) -> [Figures; 2] {
    let runs = [1, 2, 3].map(|seed| phases_of(mbps, direction, reported, seed));
    [0, 1].map(|phase| {
        let mean = |of: &dyn Fn(&Figures) -> f64| runs.iter().map(|run| of(&run[phase])).sum::<f64>() / 3.0;
        Figures { goodput: mean(&|figures| figures.goodput), jain: mean(&|figures| figures.jain) }
    })
}

/// Checks that goodput and fairness without reports are at least these parts of those with reports, early and late.
fn is_as_if_reported(direction: &str, [soon, then]: [f64; 2]) {
    let rates = [54, 24, 6];
    let [early, late] = phases(&rates, direction, false);
    let [early_reported, late_reported] = phases(&rates, direction, true);
    println!("{direction}: {early:.3?} {early_reported:.3?} {late:.3?} {late_reported:.3?}");
    assert!(early.jain > soon && early.goodput > soon * early_reported.goodput, "{early:?} of {early_reported:?}");
    assert!(late.jain > then && late.goodput > then * late_reported.goodput, "{late:?} of {late_reported:?}");
}

#[test]
fn downloads_have_equal_airtimes_without_reports() {
    is_as_if_reported("down", [0.95, 0.97]);
}

#[test]
fn uploads_have_equal_airtimes_without_reports() {
    is_as_if_reported("up", [0.92, 0.93]);
}

#[test]
fn equal_stations_stay_equal() {
    for (direction, mbps) in [("down", 54), ("up", 54), ("down", 6), ("up", 6)] {
        let [phases, reported] = [false, true].map(|reported| phases(&[mbps], direction, reported));
        println!("{direction} at {mbps} Mb/s: {phases:.3?} of {reported:.3?}");
        for (phase, reported) in phases.iter().zip(&reported) {
            assert!(phase.jain > 0.97, "{direction}: {phase:?}");
            assert!(phase.goodput > 0.92 * reported.goodput, "{direction}: {phase:?} of {reported:?}");
        }
    }
}
