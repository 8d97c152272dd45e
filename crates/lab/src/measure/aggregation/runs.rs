//! Simulations, on all cores, and their figures.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use evenair_results::{FlowResult, PhaseResult, RunResult};

use super::super::jobs::in_parallel;
use super::options::Options;
use super::site::{DEEP, Phy, SINGLE, Site, Station, Traffic};

/// Length of a run of one station alone, s.
const ALONE_S: u32 = 10;

/// Figures of a window of a run.
#[derive(Clone, Debug)]
pub struct Window {
    /// IP packets of all flows but multicast, DATA and ACKs, Mb/s.
    pub mbps: f64,
    /// Part of the multicast that did not arrive.
    pub multicast_loss: f64,
    /// 95th percentile of the time in the access point, from arrival to delivery, ms.
    pub p95_ms: f64,
    /// Airtime of each station with a bulk transfer, in both directions, as a part of the time: measured, and charged by the box.
    pub airtime: Vec<[f64; 2]>,
    /// Median and 95th percentile of the echoes' round-trip times, ms.
    pub ping_p50_ms: f64,
    pub ping_p95_ms: f64,
    /// The box's guard against harm acted in the run.
    pub guard: bool,
}

impl Window {
    /// The figures of a phase of a run.
    pub fn of(phase: &PhaseResult, run: &RunResult) -> Self {
        let ap = phase.nodes.iter().find(|node| node.is_access_point());
        let echoes = phase.flows.iter().find(|flow| flow.app.starts_with("ping")).and_then(|flow| flow.rtt.as_ref());
        let multicast = phase.flows.iter().find(|flow| flow.app == "multicast");
        Self {
            mbps: phase.total_ip_mbps - multicast.map_or(0.0, |flow| flow.ip_mbps),
            multicast_loss: multicast.map_or(f64::NAN, FlowResult::loss_rate),
            p95_ms: ap.and_then(|ap| ap.sojourn.as_ref()).map_or(f64::NAN, |times| times.p95_ms),
            airtime: airtime(phase),
            ping_p50_ms: echoes.map_or(f64::NAN, |times| times.p50_ms),
            ping_p95_ms: echoes.map_or(f64::NAN, |times| times.p95_ms),
            guard: run.events.iter().any(|event| event.what.starts_with("guard")),
        }
    }

    /// Jain's index of the measured airtime.
    pub fn jain(&self) -> f64 {
        let shares = || self.airtime.iter().map(|[measured, _]| *measured);
        shares().sum::<f64>().powi(2) / (self.airtime.len() as f64 * shares().map(|share| share * share).sum::<f64>())
    }
}

fn airtime(phase: &PhaseResult) -> Vec<[f64; 2]> {
    let is_bulk = |app: &str| app.starts_with("down") || app.starts_with("up");
    let has_bulk = |name: &str| phase.flows.iter().any(|flow| flow.station == name && is_bulk(&flow.app));
    let charged = |name: &str| phase.charged_airtime.iter().find(|at| at.station == name);
    let stations = phase.measured_airtime.iter().flat_map(|measured| &measured.stations);
    let pair = stations.filter(|at| has_bulk(&at.station)).map(|at| {
        [at.down_share + at.up_share, charged(&at.station).map_or(0.0, |charged| charged.down_share + charged.up_share)]
    });
    pair.collect()
}

/// The mean; not a number without values.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// The windows of a site's runs, for each seed.
#[derive(Clone, Debug)]
pub struct Series(pub Vec<Vec<Window>>);

impl Series {
    /// Mean over the seeds of a figure of the first window.
    pub fn mean(&self, of: impl Fn(&Window) -> f64) -> f64 {
        mean(self.0.iter().map(|run| of(&run[0])))
    }
}

/// A site as it was measured.
#[derive(Clone, Debug)]
pub struct Row {
    pub site: Site,
    pub without: Series,
    pub with: Series,
    /// Throughput if all bulk stations had the same airtime, Mb/s.
    pub equal: f64,
}

impl Row {
    /// Throughput with the box relative to that without, for each seed.
    pub fn ratios(&self) -> impl Iterator<Item = f64> + '_ {
        self.with.0.iter().zip(&self.without.0).map(|(with, without)| with[0].mbps / without[0].mbps)
    }

    /// Throughput with the box relative to that at equal airtime.
    pub fn of_equal(&self) -> f64 {
        self.with.mean(|at| at.mbps) / self.equal
    }
}

/// Measures the sites that `--only` selects, without and with the box.
pub fn rows(mut sites: Vec<Site>, options: &Options) -> Result<Vec<Row>> {
    sites.retain(|site| site.name.contains(&options.only));
    let [without, with] = [false, true].map(|has_box| measure(&sites, has_box, options));
    let measured = without?.into_iter().zip(with?).zip(equal_airtime(&sites, options)?);
    let row = |(site, ((without, with), equal))| Row { site, without, with, equal };
    Ok(sites.into_iter().zip(measured).map(row).collect())
}

/// All sites with each seed, with or without a box.
pub fn measure(sites: &[Site], has_box: bool, options: &Options) -> Result<Vec<Series>> {
    let seeds = options.seeds();
    let jobs: Vec<(&Site, u32)> = sites.iter().flat_map(|site| (1..=seeds).map(move |seed| (site, seed))).collect();
    let runs = in_parallel(&jobs, |&(site, seed)| {
        let scenario = site.scenario(has_box, seed, options)?;
        let run = evenair_sim::run(&scenario, |_| ()).with_context(|| site.name.clone())?;
        Ok(run.phases.iter().map(|phase| Window::of(phase, &run)).collect())
    })?;
    Ok(runs.chunks(seeds as usize).map(|runs: &[Vec<Window>]| Series(runs.to_vec())).collect())
}

/// For each site, the throughput if all bulk stations had the same airtime, Mb/s: the mean of the stations' measured
/// throughputs when alone, before a deep FIFO without a box. Collisions of several stations are not included.
fn equal_airtime(sites: &[Site], options: &Options) -> Result<Vec<f64>> {
    type Key = (&'static Phy, u32, Traffic, bool);
    let keys_of = |site: &Site| -> Vec<Key> {
        let bulk = site.stations.iter().filter(|station| Traffic::BULK.contains(&station.traffic));
        bulk.map(|station| (site.phy, station.mcs, station.traffic, site.kind.name == SINGLE.name)).collect()
    };
    let mut alone: BTreeMap<Key, f64> = sites.iter().flat_map(keys_of).map(|key| (key, 0.0)).collect();
    let site = |&(phy, mcs, traffic, is_single): &Key| {
        let kind = if is_single { &SINGLE } else { &DEEP };
        Site::new("alone".to_owned(), kind, phy, vec![Station { mcs, traffic }])
    };
    let alone_sites: Vec<Site> = alone.keys().map(site).collect();
    let options = Options { seeds: Some(1), duration_s: Some(ALONE_S), ..options.clone() };
    let measured = measure(&alone_sites, false, &options)?;
    alone.values_mut().zip(measured).for_each(|(value, series)| *value = series.mean(|at| at.mbps));
    Ok(sites.iter().map(|site| mean(keys_of(site).iter().map(|key| alone[key]))).collect())
}
