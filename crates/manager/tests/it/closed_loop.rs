//! The manager in a closed loop: shares of stations and flows, and unused medium time.

use crate::air::Dcf;
use crate::world::{Way, World, bits, close, config, jain, rate, sources};
use evenair_manager::controller::Published;
use evenair_manager::{Charge, Command, Controller, Mode};
use evenair_units::{BitRate, Span};
use evenair_wifi::PhyRate;

const MINUTE: Span = Span::from_secs(60);

/// A managed world after it has settled.
fn settled(mut world: World) -> World {
    world.command(Command::Insert);
    world.run(MINUTE);
    world
}

#[test]
fn five_up_and_five_down_are_equal() {
    let rates = [rate(11_000); 10];
    let all: Vec<usize> = (0..10).collect();
    let mut world = settled(World::new(config(&rates), &rates, sources(&all[..5], &all[5..])));
    world.ap_queue_peak = 0;
    let got = bits(&world.run(MINUTE));
    let (down, up): (f64, f64) = (got[..5].iter().sum(), got[5..].iter().sum());
    assert!(jain(&got) >= 0.999, "{got:?}");
    assert!(close(up, down, 5.0));
    // The medium of this test carries exactly C*.
    let capacity = world.manager.report(world.now).capacity.as_bps() as f64;
    assert!(close((up + down) / 60.0, capacity, 10.0), "{} of {capacity}", (up + down) / 60.0);
    assert!(world.ap_queue_peak < 40, "the queue stays in the box: {} at the access point", world.ap_queue_peak);
}

#[test]
fn uploads_alone_are_equal() {
    let rates = [rate(11_000); 10];
    let all: Vec<usize> = (0..10).collect();
    let mut world = settled(World::new(config(&rates), &rates, sources(&[], &all)));
    let got = bits(&world.run(MINUTE));
    assert!(jain(&got) >= 0.999, "{got:?}");
}

#[test]
fn shares_follow_the_rates() {
    // Six stations, one up and one down at each of 11, 5.5 and 2 Mb/s, time fair.
    let rates = [rate(11_000), rate(5_500), rate(2_000), rate(11_000), rate(5_500), rate(2_000)];
    let mut world = settled(World::new(config(&rates), &rates, sources(&[0, 1, 2], &[3, 4, 5])));
    let got = bits(&world.run(MINUTE));
    let report = world.manager.report(world.now);
    let capacities: Vec<f64> = report.stations.iter().map(|s| s.capacity.as_bps() as f64).collect();
    let total: f64 = got.iter().sum();
    let normalised: Vec<f64> = got.iter().zip(&capacities).map(|(got, capacity)| got / capacity).collect();
    assert!(jain(&normalised) >= 0.999, "{normalised:?}");
    let (down, up): (f64, f64) = (got[..3].iter().sum(), got[3..].iter().sum());
    assert!(close(up, down, 5.0));
    let mean = capacities[..3].iter().sum::<f64>() / 3.0;
    assert!(close(report.capacity.as_bps() as f64, mean, 1.0), "equation (3)");
    // An ACK to a slow station is answered by a packet of 7 ms; while the box waits for it, time advances more slowly.
    assert!(close(total / 60.0, mean, 30.0), "{total} in a minute, {mean} a second");
}

#[test]
fn without_timestamps_acks_leave_by_time() {
    let rates = [rate(11_000); 4];
    for (uploads, least) in [(&[2, 3][..], 0.97), (&[0, 1, 2, 3][..], 0.88)] {
        let downloads: Vec<usize> = (0..4).filter(|station| !uploads.contains(station)).collect();
        let mut world = World::new(config(&rates), &rates, sources(&downloads, uploads));
        world.timestamps = false;
        let mut world = settled(world);
        let got = bits(&world.run(MINUTE));
        assert!(jain(&got) >= 0.999, "{got:?}");
        let part = got.iter().sum::<f64>() / 60.0 / world.manager.report(world.now).capacity.as_bps() as f64;
        assert!((least..=1.01).contains(&part), "{part} of the capacity with uploads by {uploads:?}");
    }
}

#[test]
fn station_weights_are_honoured() {
    let rates = [rate(11_000); 2];
    let mut config = config(&rates);
    config.stations[0].weight = 5;
    let mut world = settled(World::new(config, &rates, sources(&[0, 1], &[])));
    let got = bits(&world.run(MINUTE));
    assert!(close(got[0] / got[1], 5.0, 10.0), "{got:?}");
}

#[test]
fn several_flows_share_their_stations_part() {
    let rates = [rate(11_000); 2];
    let mut world = settled(World::new(config(&rates), &rates, sources(&[0, 0, 0, 1], &[])));
    let got = bits(&world.run(MINUTE));
    let station: f64 = got[..3].iter().sum();
    assert!(close(station, got[3], 5.0), "{got:?}");
    assert!(jain(&got[..3]) >= 0.999);
}

#[test]
fn a_fixed_service_rate_is_honoured() {
    for charge in [Charge::Airtime, Charge::Bits] {
        for kbps in [1_000, 3_000, 4_500] {
            let rates = [rate(11_000); 4];
            let controller = Controller::Fixed(BitRate::from_kbps(kbps));
            let config = evenair_manager::Config { charge, controller, ..config(&rates) };
            let mut world = World::new(config, &rates, sources(&[0, 1], &[2, 3]));
            // A driver that wakes up late by half a millisecond loses nothing.
            world.wake_delay = Span::from_micros(500);
            let mut world = settled(world);
            let got: f64 = bits(&world.run(MINUTE)).iter().sum::<f64>() / 60.0;
            assert!(close(got, kbps as f64 * 1e3, 5.0), "{charge:?}: {got} for {kbps} kb/s");
        }
    }
}

#[test]
fn without_the_manager_the_access_point_holds_the_queue() {
    // The canary of this file: the model shows the problem that the manager solves.
    let rates = [rate(11_000); 4];
    let mut world = World::new(config(&rates), &rates, sources(&[0, 1], &[2, 3]));
    let (mut got, mut measured) = (0.0, 0.0);
    for _ in 0..60 {
        got += bits(&world.run(Span::from_secs(1))).iter().sum::<f64>();
        measured += world.manager.report(world.now).throughput.as_bps() as f64;
    }
    assert!(world.ap_queue_peak > 50, "{}", world.ap_queue_peak);
    assert!(close(measured, got, 10.0), "it measures all the same: {measured} for {got}");
}

#[test]
fn the_service_rate_converges_from_below_and_from_above() {
    for charge in [Charge::Airtime, Charge::Bits] {
        let rates = [rate(11_000); 4];
        let controller = Controller::from(Published::default());
        let config = evenair_manager::Config { charge, controller, ..config(&rates) };
        let mut world = settled(World::new(config, &rates, sources(&[0, 1], &[2, 3])));
        let report = world.manager.report(world.now);
        assert_eq!(report.service_rate, report.capacity, "{charge:?}: the medium carries C*, so C climbs to it");

        // The medium becomes slower by a quarter: C follows, and returns with the medium.
        world.air.slow_down(1333);
        world.run(MINUTE);
        let slow = world.manager.report(world.now);
        assert!(slow.service_rate.as_bps() < report.capacity.as_bps() * 85 / 100, "{}", slow.service_rate);
        assert!(slow.service_rate.as_bps() > report.capacity.as_bps() * 60 / 100, "{}", slow.service_rate);
        world.air.slow_down(1000);
        world.run(MINUTE);
        assert_eq!(world.manager.report(world.now).service_rate, report.capacity, "{charge:?}");
    }
}

#[test]
fn with_the_queue_controller_a_medium_of_any_speed_is_used_and_the_queue_stays_short() {
    let rates = [rate(11_000); 4];
    let mut world = settled(World::new(config(&rates), &rates, sources(&[0, 1], &[2, 3])));
    let capacity = world.manager.report(world.now).capacity.as_bps() as f64;
    for slowness in [1000, 1333, 3000, 700, 1000] {
        world.air.slow_down(slowness);
        // At a third of the capacity the harm guard, without a baseline, holds nothing once.
        world.run(Span::from_secs(if slowness == 3000 { 20 } else { 3 }));
        world.ap_queue_peak = 0;
        let got: f64 = bits(&world.run(Span::from_secs(10))).iter().sum::<f64>() / 10.0;
        let carried = capacity * 1e3 / slowness as f64;
        assert!(close(got, carried, 20.0), "{got} of {carried} b/s");
        assert!(world.ap_queue_peak <= 6, "{} packets at the access point", world.ap_queue_peak);
        let reported = world.manager.report(world.now).service_rate.as_bps() as f64;
        assert!(close(reported, carried, 50.0), "{reported} reported, {carried} carried");
    }
}

#[test]
fn the_published_rule_keeps_the_queue_in_the_box_too() {
    let rates = [rate(11_000); 10];
    let all: Vec<usize> = (0..10).collect();
    let config = evenair_manager::Config { controller: Published::default().into(), ..config(&rates) };
    let mut world = settled(World::new(config, &rates, sources(&all[..5], &all[5..])));
    world.ap_queue_peak = 0;
    let got = bits(&world.run(MINUTE));
    assert!(jain(&got) >= 0.999, "{got:?}");
    let capacity = world.manager.report(world.now).capacity.as_bps() as f64;
    assert!(close(got.iter().sum::<f64>() / 60.0, capacity, 10.0));
    assert!(world.ap_queue_peak < 40, "{}", world.ap_queue_peak);
}

#[test]
fn draining_keeps_the_order_and_the_limit() {
    for (window, limit_reached) in [(40, false), (400, true)] {
        let rates = [rate(11_000); 4];
        let mut flows = sources(&[0, 1], &[2, 3]);
        flows.iter_mut().for_each(|source| source.window = window);
        let mut world = settled(World::new(config(&rates), &rates, flows));
        // Sources stop, so that only held packets are left to drain.
        world.sources.iter_mut().for_each(|source| source.window = 0);
        let began = world.now;
        world.command(Command::Bypass);
        assert_eq!(world.mode_changes.last(), Some(&(began, Mode::Draining)));
        world.run(Span::from_secs(2));
        let (ended, mode) = *world.mode_changes.last().unwrap();
        assert_eq!(mode, Mode::Bypassed);
        let took = ended - began;
        assert!(took <= Span::from_secs(1), "{took}");
        assert_eq!(took == Span::from_secs(1), limit_reached, "{took}");
        for flow in &world.released {
            assert!(flow.is_sorted(), "no packet passes an earlier one of its flow");
        }
        let counters = world.manager.counters();
        assert_eq!((counters.held, counters.received), (0, counters.released + counters.dropped()));
    }
}

#[test]
fn a_late_joiner_gets_its_share() {
    let rates = [rate(11_000); 4];
    let mut flows = sources(&[0, 1], &[2, 3]);
    flows[3].start = Span::from_secs(70);
    let mut world = settled(World::new(config(&rates), &rates, flows));
    world.run(Span::from_secs(20));
    let got = bits(&world.run(MINUTE));
    assert!(jain(&got) >= 0.999, "{got:?}");
    assert_eq!(world.sources[3].way, Way::Up);
}

fn over_dcf(rates: &[PhyRate], downs: &[usize], ups: &[usize]) -> World {
    let config = config(rates);
    let air = Dcf::new(config.phy.clone(), config.rts_threshold, rates.len());
    World::over(Box::new(air), config, rates, sources(downs, ups))
}

#[test]
fn over_dcf_flows_are_equal_and_little_is_wasted() {
    let rates = [rate(11_000); 10];
    let mut free = over_dcf(&rates, &[0, 1, 2, 3, 4], &[5, 6, 7, 8, 9]);
    free.run(MINUTE);
    let without: f64 = bits(&free.run(MINUTE)).iter().sum();
    let mut world = settled(over_dcf(&rates, &[0, 1, 2, 3, 4], &[5, 6, 7, 8, 9]));
    world.ap_queue_peak = 0;
    let got = bits(&world.run(MINUTE));
    assert!(jain(&got) >= 0.999, "{got:?}");
    assert!(world.ap_queue_peak < 10, "the queue stays in the box: {} at the access point", world.ap_queue_peak);
    // Where several stations count down together, DCF spends less on back-off than the formula for C* says.
    let with: f64 = got.iter().sum();
    assert!(with > 0.9 * without && with < without, "{with} of {without}");
}

#[test]
fn over_dcf_shares_follow_the_rates() {
    let rates = [rate(11_000), rate(5_500), rate(2_000), rate(11_000), rate(5_500), rate(2_000)];
    let mut world = settled(over_dcf(&rates, &[0, 1, 2], &[3, 4, 5]));
    world.ap_queue_peak = 0;
    let got = bits(&world.run(MINUTE));
    let report = world.manager.report(world.now);
    let normalised: Vec<f64> =
        got.iter().zip(&report.stations).map(|(got, station)| got / station.capacity.as_bps() as f64).collect();
    assert!(jain(&normalised) >= 0.999, "{normalised:?}");
    assert!(world.ap_queue_peak < 10, "{}", world.ap_queue_peak);
    let total = got.iter().sum::<f64>() / 60.0;
    assert!(total > 0.97 * report.capacity.as_bps() as f64, "{total} of {}", report.capacity);
}
