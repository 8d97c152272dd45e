//! Reported latencies compared with those of every packet, as recorded by the simulated hosts and their medium.

use evenair_manager::{Command, Latency, Leg, StationReport};
use evenair_units::Span;

use crate::world::{World, config, mac, rate, sources};

fn station(world: &World, number: usize) -> StationReport {
    let stations = world.manager.report(world.now).stations;
    stations.into_iter().find(|station| station.mac == mac(number)).expect("it is known")
}

fn percentile(trips: &mut [Span], percent: usize) -> f64 {
    trips.sort_unstable();
    trips[(trips.len() * percent).div_ceil(100) - 1].as_secs_f64()
}

/// Times on the WLAN: a slow and a fast station with a download each, and a fast one that uploads.
#[test]
fn percentiles_of_the_wlan_are_those_of_all_packets() {
    let rates = [rate(1_000), rate(11_000), rate(11_000)];
    for inserted in [false, true] {
        let mut world = World::new(config(&rates), &rates, sources(&[0, 1], &[2]));
        if inserted {
            world.command(Command::Insert);
        }
        world.run(Span::from_secs(5));
        let before: Vec<Latency> =
            (0..3).map(|number| *station(&world, number).latency.expect("it was timed")).collect();
        world.trips.iter_mut().for_each(Vec::clear);
        world.run(Span::from_secs(30));
        for (number, before) in before.iter().enumerate() {
            let latency = station(&world, number).latency.expect("it was timed").since(before);
            let times = latency.leg(Leg::Wlan);
            assert!(times.count() >= 50, "station {number}: {} timed", times.count());
            for (percent, bound) in [(50, 0.15), (95, 0.3)] {
                let shown = times.percentile(percent).expect("some").as_secs_f64();
                let real = percentile(&mut world.trips[number], percent as usize);
                println!("inserted {inserted}, station {number}, {percent} %: {shown} of {real} s");
                assert!((shown / real - 1.0).abs() < bound, "station {number}, {percent} %: {shown} of {real} s");
            }
            assert_eq!(latency.leg(Leg::Box).count() > 0, inserted);
        }
        let up = station(&world, 2).latency.expect("it was timed").since(&before[2]);
        let internet = up.leg(Leg::Internet).percentile(50).expect("DATA were acknowledged").as_secs_f64();
        assert!((internet / 2e-3 - 1.0).abs() < 0.15, "{internet} s beyond the wire port, of 2 ms");
    }
}
