//! Converts the counters to results.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenair_api::HopResult;
use evenair_medium::{Counters as Counter, MeasuredAirtime, Totals};
use evenair_results::{
    AirtimeShare, BoxCounters, CallResult, Charge, CountedAirtime, CountedStation, DropCount, LossCount, MediumAirtime,
    MediumUse, PhaseResult, RunResult, stats::share,
};
use evenair_scenario::{Place, Scenario};
use evenair_units::{Instant, Span};

use crate::middlebox::station_of;
use crate::wire::Leads;
use crate::world::World;

/// The whole report at the end of a run.
pub(crate) fn report(mut world: World) -> RunResult {
    let scenario = &*Arc::clone(&world.scenario);
    let airtime = counted_airtime(&mut world);
    let phases = &scenario.measure.phases;
    let box_hops = box_hops(&world);
    let (box_counters, medium, losses) = (box_counters(&world), medium_use(&world, &airtime), losses(&world));
    let echoes = scenario.apps.iter().zip(&world.apps).filter_map(|(app, state)| state.echoes(&app.name));
    let calls = scenario.apps.iter().zip(&world.apps);
    let calls = calls.filter_map(|(app, state)| Some(CallResult::of(scenario, app, state.call()?))).flatten().collect();
    let echoes = echoes.collect();
    let mut series = world.meter.finish(scenario);
    let hosts: Vec<_> = world.domains.first.hosts().collect();
    let mut periods = world.domains.finish(&mut series);
    periods.iter_mut().zip(world.airtime).for_each(|(period, counted)| period.airtime = Some(counted));
    for (period, backlogged) in periods.iter_mut().zip(world.backlogged_ns) {
        period.backlogged_ns = hosts.iter().copied().zip(backlogged).collect();
    }
    let phases = phases.iter().map(|phase| PhaseResult::average(scenario, &series, &periods, phase));
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
        left_out: scenario.left_out.clone(),
        events: world.run_log.finish(scenario.duration.as_secs_f64()),
        pages,
        page_times,
        calls,
        transfers: world.transfers.finish(scenario, &phases),
        phases,
        series,
    }
}

fn box_hops(world: &World) -> Vec<HopResult> {
    let report = world.middlebox.as_ref().map(|middlebox| middlebox.report(world.now));
    report.iter().flat_map(|report| &report.hops).map(|hop| evenair_view::hop_result(hop.hop, &hop.total)).collect()
}

fn box_counters(world: &World) -> Option<BoxCounters> {
    let counters = world.middlebox.as_ref()?.report(world.now).counters;
    assert_eq!(counters.received, counters.accounted_for(), "the box loses packets");
    Some(BoxCounters {
        received: counters.received,
        released: counters.released,
        dropped: DropCount::each(&counters.drops),
        probe_answers: counters.probe_answers,
        held: counters.held,
        ..BoxCounters::default()
    })
}

/// Name of a wired port in loss results; the directions of the Internet link have separate names.
pub(crate) fn port(scenario: &Scenario, leads: Leads) -> String {
    match leads {
        Leads::UpInternet => "internet up".to_owned(),
        Leads::DownInternet => "internet down".to_owned(),
        _ => place(scenario, leads),
    }
}

fn medium_use(world: &World, counted: &CountedAirtime) -> MediumUse {
    let (scenario, domains) = (&world.scenario, &world.domains);
    let totals = &counted.media;
    let part = |span: Span| share(span.as_secs_f64(), scenario.duration.as_secs_f64());
    // Mean over several media.
    let mean =
        |of: fn(&Totals) -> Span| totals.iter().map(|totals| part(of(totals))).sum::<f64>() / totals.len() as f64;
    let senders: Counter = domains.all().map(|air| air.medium.all_counters()).sum();
    let access_points: Counter = domains.all().map(|air| air.access_point_counters()).sum();
    MediumUse {
        busy_share: mean(|totals| totals.busy),
        contending_share: mean(|totals| totals.contending),
        idle_share: mean(|totals| totals.idle),
        transmissions: totals.iter().map(|totals| totals.transmissions).sum(),
        collisions: totals.iter().map(|totals| totals.collisions).sum(),
        management_share: mean(|totals| totals.overhead.management.0),
        group_share: mean(|totals| totals.overhead.groups.0),
        foreign_share: mean(|totals| totals.overhead.obss.0),
        attempts: senders.attempts,
        repeated_failures: senders.repeated_failures,
        duplicates: senders.duplicates,
        slowed: senders.slowed,
        ap_attempts: access_points.attempts,
        ap_repeated_failures: access_points.repeated_failures,
        ap_slowed: access_points.slowed,
        airtime: airtime(world, part),
        measured_airtime: Some(MediumAirtime::of_run(scenario, counted)),
        charged_airtime: counted.charged(scenario),
    }
}

/// Airtime so far, per station in the order of hosts and summed over media. The airtime of exchanges in progress is split at
/// the present time, which changes nothing else.
pub(crate) fn counted_airtime(world: &mut World) -> CountedAirtime {
    let now = world.now;
    world.domains.all_mut().for_each(|air| air.medium.split_airtime(now));
    let mut of_host: BTreeMap<usize, MeasuredAirtime> = BTreeMap::new();
    for (host, measured) in world.domains.all().flat_map(|air| air.measured_airtime()) {
        let sum = of_host.entry(host).or_default();
        *sum = *sum + measured;
    }
    let mut charged = charged(world);
    let station = |(host, measured)| CountedStation { host, measured, charged: charged.remove(&host) };
    CountedAirtime {
        length: now.saturating_since(Instant::ZERO),
        media: world.domains.all().map(|air| air.totals(now)).collect(),
        stations: of_host.into_iter().map(station).collect(),
    }
}

/// Charged airtime of each station that the box knows, by host.
fn charged(world: &World) -> BTreeMap<usize, Charge> {
    let stations = world.middlebox.as_ref().map_or_else(Vec::new, |middlebox| middlebox.report(world.now).stations);
    let charge = |station: &evenair_manager::StationReport| {
        let charge = Charge { down: station.airtime - station.airtime_up, up: station.airtime_up };
        Some((station_of(station.mac)?, charge))
    };
    stations.iter().filter_map(charge).collect()
}

/// Medium time by sender: access points first.
fn airtime(world: &World, part: impl Fn(Span) -> f64) -> Vec<AirtimeShare> {
    let mut all: Vec<_> = world.domains.all().flat_map(|air| air.airtime()).collect();
    all.sort_by_key(|(sender, _)| match *sender {
        Err(access_point) => (0, access_point),
        Ok(host) => (1, host),
    });
    let mut shares: Vec<AirtimeShare> = Vec::new();
    for (sender, time) in all {
        let sender = sender_name(&world.scenario, sender);
        match shares.last_mut().filter(|last| last.sender == sender) {
            Some(last) => last.share += part(time.0),
            None => shares.push(AirtimeShare { sender, share: part(time.0) }),
        }
    }
    shares
}

/// Name of a host, or of the access point of this index.
fn sender_name(scenario: &Scenario, sender: Result<usize, usize>) -> String {
    sender.map_or_else(|point| scenario.access_points[point].name.clone(), |host| scenario.hosts[host].name.clone())
}

/// Frames lost, by site. Sites have the testbed's names.
fn losses(world: &World) -> Vec<LossCount> {
    let scenario = &world.scenario;
    let air = world.domains.all().flat_map(|air| air.losses()).map(|(sender, reason, frames)| LossCount {
        place: sender_name(scenario, sender),
        reason: reason.to_owned(),
        frames,
    });
    let wire = world.wire.drops().map(|(leads, frames)| LossCount {
        place: place(scenario, leads),
        reason: "buffer full".to_owned(),
        frames,
    });
    let mut losses: Vec<LossCount> = Vec::new();
    for loss in air.filter(|loss| loss.frames > 0) {
        // A station may have lost frames on several media.
        let same = |known: &&mut LossCount| {
            world.domains.are_several() && known.place == loss.place && known.reason == loss.reason
        };
        match losses.iter_mut().find(same) {
            Some(known) => known.frames += loss.frames,
            None => losses.push(loss),
        }
    }
    losses.extend(wire.filter(|loss| loss.frames > 0));
    losses
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
