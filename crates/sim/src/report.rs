//! From what was counted to what is reported.

use evenair_manager::Counters;
use evenair_scenario::results::{
    AirtimeShare, BoxCounters, CallResult, DropCount, HopResult, LossCount, MediumUse, PhaseResult, RunResult,
    stats::share,
};
use evenair_scenario::{Place, Scenario};
use evenair_units::Span;

use crate::wire::Leads;
use crate::world::World;

/// The whole report at the end of a run.
pub(crate) fn report(world: World<'_>) -> RunResult {
    let scenario = world.scenario;
    let phases = &scenario.measure.phases;
    let box_hops = box_hops(&world);
    let (box_counters, medium, losses) = (box_counters(&world), medium_use(&world), losses(&world));
    let echoes = scenario.apps.iter().zip(&world.apps).filter_map(|(app, state)| state.echoes(&app.name));
    let calls = scenario.apps.iter().zip(&world.apps);
    let calls = calls.filter_map(|(app, state)| Some(CallResult::of(scenario, app, state.call()?))).flatten().collect();
    let echoes = echoes.collect();
    let mut series = world.meter.finish(scenario);
    let stretches = world.air.tally.finish(&mut series);
    let phases = phases.iter().map(|phase| PhaseResult::average(scenario, &series, &stretches, phase));
    let phases: Vec<_> = phases.collect();
    let (pages, page_times) = world.pages.finish(scenario, &phases);
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
        lateness: None,
        box_counters,
        box_hops,
        medium: Some(medium),
        losses,
        echoes,
        published: scenario.published.clone(),
        events: world.events.finish(scenario.duration.as_secs_f64()),
        pages,
        page_times,
        calls,
        transfers: world.transfers.finish(scenario, &phases),
        phases,
        series,
    }
}

fn box_hops(world: &World<'_>) -> Vec<HopResult> {
    let report = world.middlebox.as_ref().map(|middlebox| middlebox.report(world.now));
    report.iter().flat_map(|report| &report.hops).map(|hop| HopResult::new(hop.hop, &hop.total)).collect()
}

fn box_counters(world: &World<'_>) -> Option<BoxCounters> {
    let counters = world.middlebox.as_ref()?.report(world.now).counters;
    assert_eq!(counters.received, counters.released + counters.dropped() + counters.held, "the box loses packets");
    let drop = |(reason, packets): (&str, u64)| DropCount { reason: reason.to_owned(), packets };
    Some(BoxCounters {
        received: counters.received,
        released: counters.released,
        dropped: box_drops(&counters).map(drop).to_vec(),
        held: counters.held,
        ..BoxCounters::default()
    })
}

/// What the box drops, by the reason's name in results.
pub(crate) fn box_drops(counters: &Counters) -> [(&'static str, u64); 5] {
    [
        ("queue full", counters.dropped_queue_full),
        ("ack superseded", counters.dropped_ack_superseded),
        ("sender ahead", counters.dropped_sender_ahead),
        ("standing queue", counters.dropped_standing_queue),
        ("uplink limit", counters.dropped_uplink_limit),
    ]
}

/// The name of a wired port among the places where packets are counted: each direction of the Internet link by itself.
pub(crate) fn port(scenario: &Scenario, leads: Leads) -> String {
    match leads {
        Leads::UpInternet => "internet up".to_owned(),
        Leads::DownInternet => "internet down".to_owned(),
        _ => place(scenario, leads),
    }
}

fn medium_use(world: &World<'_>) -> MediumUse {
    let scenario = world.scenario;
    let totals = world.air.totals(world.now);
    let part = |span: Span| share(span.as_secs_f64(), scenario.duration.as_secs_f64());
    let sender = |host: Option<usize>| host.map_or_else(|| "ap".to_owned(), |host| scenario.hosts[host].name.clone());
    let airtime = world.air.airtime();
    let senders = world.air.medium.all_counters();
    let access_point = world.air.access_point_counters();
    MediumUse {
        busy_share: part(totals.busy),
        contending_share: part(totals.contending),
        idle_share: part(totals.idle),
        transmissions: totals.transmissions,
        collisions: totals.collisions,
        attempts: senders.attempts,
        repeated_failures: senders.repeated_failures,
        duplicates: senders.duplicates,
        slowed: senders.slowed,
        ap_attempts: access_point.attempts,
        ap_repeated_failures: access_point.repeated_failures,
        ap_slowed: access_point.slowed,
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
        Leads::UpInternet | Leads::DownInternet | Leads::FromServer(_) => "internet link".to_owned(),
        Leads::ToServer(host) => {
            debug_assert_eq!(scenario.hosts[host].place, Place::Lan);
            format!("lan to {}", scenario.hosts[host].name)
        }
    }
}
