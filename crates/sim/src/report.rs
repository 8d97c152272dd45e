//! From what was counted to what is reported.

use evenair_scenario::results::{
    AirtimeShare, BoxCounters, DropCount, LossCount, MediumUse, PhaseResult, RunResult, stats::share,
};
use evenair_scenario::{Place, Scenario};
use evenair_units::Span;

use crate::wire::Leads;
use crate::world::World;

/// The whole report at the end of a run.
pub(crate) fn report(world: World<'_>) -> RunResult {
    let scenario = world.scenario;
    let series = &world.meter.series;
    let phases = &scenario.measure.phases;
    let echoes = scenario.apps.iter().zip(&world.apps).filter_map(|(app, state)| state.echoes(&app.name));
    RunResult {
        scenario: scenario.name.clone(),
        title: scenario.title.clone(),
        seed: scenario.seed,
        engine: "sim".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        valid: true,
        invalid_because: Vec::new(),
        box_faults: Vec::new(),
        duration_s: scenario.duration.as_secs_f64(),
        phases: phases.iter().map(|phase| PhaseResult::average(scenario, series, phase)).collect(),
        lateness: None,
        box_counters: box_counters(&world),
        medium: Some(medium_use(&world)),
        losses: losses(&world),
        echoes: echoes.collect(),
        published: scenario.published.clone(),
        events: world.events,
        pages: world.pages,
        series: world.meter.series,
    }
}

fn box_counters(world: &World<'_>) -> Option<BoxCounters> {
    let counters = world.middlebox.as_ref()?.report(world.now).counters;
    assert_eq!(counters.received, counters.released + counters.dropped() + counters.held, "the box loses packets");
    let drop = |reason: &str, packets| DropCount { reason: reason.to_owned(), packets };
    Some(BoxCounters {
        received: counters.received,
        released: counters.released,
        dropped: vec![
            drop("queue full", counters.dropped_queue_full),
            drop("ack superseded", counters.dropped_ack_superseded),
        ],
        held: counters.held,
        ..BoxCounters::default()
    })
}

fn medium_use(world: &World<'_>) -> MediumUse {
    let scenario = world.scenario;
    let totals = world.air.totals(world.now);
    let part = |span: Span| share(span.as_secs_f64(), scenario.duration.as_secs_f64());
    let sender = |host: Option<usize>| host.map_or_else(|| "ap".to_owned(), |host| scenario.hosts[host].name.clone());
    let airtime = world.air.airtime();
    MediumUse {
        busy_share: part(totals.busy),
        contending_share: part(totals.contending),
        idle_share: part(totals.idle),
        transmissions: totals.transmissions,
        collisions: totals.collisions,
        airtime: airtime.map(|(host, time)| AirtimeShare { sender: sender(host), share: part(time.0) }).collect(),
    }
}

/// Where frames were lost. Places have the testbed's names.
fn losses(world: &World<'_>) -> Vec<LossCount> {
    let scenario = world.scenario;
    let air = world.air.losses().map(|(host, reason, frames)| LossCount {
        place: host.map_or_else(|| "ap".to_owned(), |host| scenario.hosts[host].name.clone()),
        reason: reason.to_owned(),
        frames,
    });
    let wire = world.wire.drops().map(|(leads, frames)| LossCount {
        place: place(scenario, leads),
        reason: "buffer full".to_owned(),
        frames,
    });
    air.chain(wire).filter(|loss| loss.frames > 0).collect()
}

fn place(scenario: &Scenario, leads: Leads) -> String {
    match leads {
        Leads::ToAccessPoint => "lan to the box".to_owned(),
        Leads::ToRouter => "lan to the router".to_owned(),
        Leads::UpInternet | Leads::DownInternet => "internet link".to_owned(),
        Leads::ToServer(host) => {
            debug_assert_eq!(scenario.hosts[host].place, Place::Lan);
            format!("lan to {}", scenario.hosts[host].name)
        }
    }
}
