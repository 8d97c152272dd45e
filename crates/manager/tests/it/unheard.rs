//! Unheard stations, and full tables.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use evenair_manager::{Command, Config, Controller, Event, Manager, Observation, Output, QueueReport};
use evenair_packet::{MacAddr, PacketMeta, Port, TcpFlags, Transport};
use evenair_sched::Config as Discipline;
use evenair_units::{BitRate, Instant, Limit, Span};

use crate::disciplines::queue;
use crate::world::{SEGMENT, Segment, config, mac, packet, rate};

/// Stations in the table, at most.
const MOST: u32 = 1 << 16;

/// An address that is not configured.
fn made_up(number: u32) -> MacAddr {
    let [a, b, c, d] = number.to_be_bytes();
    MacAddr([6, 0, a, b, c, d])
}

/// A datagram to or from a made-up address.
fn datagram(ingress: Port, number: u32) -> PacketMeta {
    let mut meta = packet(ingress, 0, 0, Segment::new(TcpFlags::ACK, 0, 0, 1000));
    let [_, b, c, d] = number.to_be_bytes();
    let own = IpAddr::V4(Ipv4Addr::new(10, 128 | b, c, d));
    let ip = meta.ip.as_mut().unwrap();
    (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: 7, dst_port: 7 });
    match ingress {
        Port::Wlan => (meta.src, ip.src) = (made_up(number), own),
        Port::Wire => (meta.dst, ip.dst) = (made_up(number), own),
    }
    meta
}

fn download(station: usize, number: u64) -> PacketMeta {
    packet(Port::Wire, station, 1, Segment::new(TcpFlags::ACK, 1 + number as u32 * SEGMENT as u32, 1, SEGMENT))
}

/// Two configured stations, at a constant rate.
fn inserted(change: impl FnOnce(&mut Config)) -> Manager<u64> {
    let mut config =
        Config { controller: Controller::Fixed(BitRate::from_mbps(4)), ..config(&[rate(11_000), rate(11_000)]) };
    change(&mut config);
    let mut manager = Manager::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    manager
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

/// Packets released toward the WLAN, and events.
fn drain(manager: &mut Manager<u64>) -> (Vec<u64>, Vec<Event>) {
    let (mut released, mut events) = (Vec::new(), Vec::new());
    while let Some(output) = manager.poll_output() {
        match output {
            Output::Release { packet, port: Port::Wlan, .. } => released.push(packet),
            Output::Event(event) => events.push(event),
            _ => {}
        }
    }
    (released, events)
}

fn queues(manager: &Manager<u64>, now: Instant, is_it: impl Fn(&QueueReport) -> bool) -> usize {
    manager.report(now).queues.iter().filter(|queue| is_it(queue)).count()
}

#[test]
fn packets_to_made_up_addresses_share_the_queue_and_the_share_of_one_station() {
    let mut manager = inserted(|config| config.default_rate = rate(11_000));
    let (mut own, mut others, mut learned) = (0, 0, 0);
    for ms in 0..3_000u64 {
        manager.handle_timeout(at(ms));
        for n in 0..5 {
            manager.handle_packet(at(ms), 1_000_000 + n, &datagram(Port::Wire, (ms * 5 + n) as u32));
        }
        if ms % 2 == 0 {
            manager.handle_packet(at(ms), ms, &download(0, ms));
        }
        let (released, events) = drain(&mut manager);
        own += released.iter().filter(|number| **number < 1_000_000).count();
        others += released.iter().filter(|number| **number >= 1_000_000).count();
        learned += events.iter().filter(|event| matches!(event, Event::StationLearned(_))).count();
    }
    assert_eq!(learned, 0);
    let report = manager.report(at(3_000));
    assert_eq!((report.stations.len(), report.stations_known), (2, 2));
    assert_eq!(report.domains[0].stations, 2);
    assert_eq!(queues(&manager, at(3_000), |queue| queue.station.is_none()), 1, "{:?}", report.queues);
    // Half of the time each, in packets of 1500 and of 1052 bytes: if each address were a station, nothing would be
    // left.
    assert!(own > 200 && others * 2 > own && others < own * 2, "{own} {others}");
}

#[test]
fn packets_held_for_an_address_become_its_own_in_order_once_it_is_heard() {
    for discipline in [false, true] {
        let mut manager = inserted(|config| {
            config.sparse_first = false;
            if discipline {
                config.queue = Some(queue(Discipline::Fifo(Limit::Packets(1000))).into());
            }
        });
        let flow_of = |number: u64| number % 3;
        let meta = |number: u64| {
            let mut meta = datagram(Port::Wire, 9);
            let port = 100 + flow_of(number) as u16;
            meta.ip.as_mut().unwrap().transport = Transport::Udp { src_port: port, dst_port: 7 };
            meta
        };
        let mut order = Vec::new();
        (0..60).for_each(|number| manager.handle_packet(at(0), number, &meta(number)));
        manager.handle_packet(at(0), 900, &datagram(Port::Wire, 10));
        order.extend(drain(&mut manager).0);
        manager.handle_packet(at(1), 901, &datagram(Port::Wlan, 9));
        let (released, events) = drain(&mut manager);
        assert!(events.contains(&Event::StationLearned(made_up(9))), "{events:?}");
        order.extend(released);
        if !discipline {
            assert_eq!(queues(&manager, at(1), |queue| queue.station == Some(made_up(9))), 3);
            assert_eq!(queues(&manager, at(1), |queue| queue.station.is_none()), 1, "the other address's");
        }
        for number in 60..90 {
            manager.handle_packet(at(1), number, &meta(number));
        }
        for ms in 2..900 {
            manager.handle_timeout(at(ms));
            order.extend(drain(&mut manager).0);
        }
        assert_eq!(order.len(), 91);
        for flow in 0..3 {
            let of: Vec<_> = order.iter().filter(|&&number| number < 900 && flow_of(number) == flow).collect();
            assert!(of.len() == 30 && of.is_sorted(), "{of:?}");
        }
        assert_eq!(manager.counters().dropped(), 0);
    }
}

#[test]
fn an_unheard_address_takes_no_flow_from_a_station_that_was_heard() {
    let mut manager = inserted(|_| {});
    (0..20).for_each(|n| manager.handle_packet(at(0), n, &download(0, n)));
    let mut meta = download(0, 20);
    meta.dst = made_up(1);
    manager.handle_packet(at(0), 20, &meta);
    assert_eq!(queues(&manager, at(0), |queue| queue.station == Some(mac(0))), 1);
    assert_eq!(queues(&manager, at(0), |queue| queue.station.is_none()), 0);
}

#[test]
fn a_full_table_evicts_unheard_stations_first_and_then_the_longest_idle() {
    let mut manager = inserted(|_| {});
    let known = |manager: &Manager<u64>| {
        let stations = manager.report(Instant::ZERO).stations.into_iter();
        stations.map(|station| station.mac).collect::<BTreeSet<_>>()
    };
    // Two configured stations, one that was named, one that is heard first, and then as many as there is room for.
    let named = made_up(5_000_000);
    manager.handle_observation(at(0), Observation::StationRate { mac: named, rate: rate(2_000) });
    manager.handle_packet(at(0), 1, &datagram(Port::Wlan, 0));
    (0..30).for_each(|n| manager.handle_packet(at(0), 100 + n, &datagram(Port::Wire, 0)));
    for number in 1..MOST - 3 {
        manager.handle_packet(at(0) + Span::from_micros(number.into()), 2, &datagram(Port::Wlan, number));
    }
    let held = manager.counters().held;
    assert!(held > 0);
    drain(&mut manager);
    let before = known(&manager);
    assert_eq!(before.len(), MOST as usize);
    assert!(before.contains(&named));
    let now = at(70);
    manager.handle_packet(now, 3, &datagram(Port::Wlan, 1_000_000));
    let after = known(&manager);
    assert_eq!(after.len(), MOST as usize);
    assert!(after.contains(&made_up(1_000_000)) && !after.contains(&named), "who was never heard goes first");
    assert!(after.contains(&made_up(0)));
    // The second one was used again meanwhile, so that the third one is evicted; and packets held for the first one are
    // not lost.
    manager.handle_packet(now, 4, &datagram(Port::Wlan, 1));
    for number in 1_000_001..1_000_003 {
        manager.handle_packet(now, 5, &datagram(Port::Wlan, number));
    }
    let after = known(&manager);
    let gone: Vec<_> = (0..5).filter(|&number| !after.contains(&made_up(number))).collect();
    assert_eq!((gone, after.len()), (vec![0, 2], MOST as usize));
    assert!(after.contains(&mac(0)) && after.contains(&mac(1)), "the operator's stay");
    assert_eq!(manager.report(now).stations_known, MOST as usize);
    let (mut released, _) = drain(&mut manager);
    for ms in 70..500 {
        manager.handle_timeout(at(ms));
        released.extend(drain(&mut manager).0);
    }
    let counters = manager.counters();
    assert_eq!((counters.held, counters.dropped()), (0, 0));
    assert!(released.is_sorted() && released.last() == Some(&129), "{released:?}");
    // A report adds no station beyond the limit.
    manager.handle_observation(at(500), Observation::StationRate { mac: made_up(7_000_000), rate: rate(2_000) });
    let refused = |event: &Event| matches!(event, Event::ObservationRefused(_));
    assert!(drain(&mut manager).1.iter().any(refused));
}
