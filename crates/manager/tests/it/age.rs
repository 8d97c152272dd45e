//! No packet leaves that is older than a second, except pure ACKs.

use evenair_manager::controller::Published;
use evenair_manager::{Command, Config, Controller, DropReason, Manager, Output, WanConfig};
use evenair_packet::{PacketMeta, Port, TcpFlags, Transport};
use evenair_sched::{CodelConfig, Config as Discipline};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};

use crate::disciplines::queue;
use crate::world::{SEGMENT, Segment, config, packet, rate};

const MAX_AGE: Span = Span::from_secs(1);
/// CoDel settings under which no queue gets a signal here.
const UNCRITICAL: CodelConfig = CodelConfig { target: Span::from_secs(20), interval: Span::from_secs(20) };

/// One station at a rate at which a full packet takes 60 ms.
fn slow(change: impl FnOnce(&mut Config)) -> Manager<u64> {
    let controller = Controller::Fixed(BitRate::from_kbps(200));
    let mut config = Config { controller, aqm: Some(UNCRITICAL), ..config(&[rate(11_000)]) };
    change(&mut config);
    let mut manager = Manager::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    manager
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn datagram(port: u16) -> PacketMeta {
    let mut meta = packet(Port::Wire, 0, 0, Segment::new(TcpFlags::ACK, 0, 0, SEGMENT));
    let ip = meta.ip.as_mut().unwrap();
    (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: port, dst_port: 7 });
    meta
}

/// When each packet left, and which were dropped as too old, until nothing is held.
fn run(
    manager: &mut Manager<u64>,
    from_ms: u64,
    mut each_ms: impl FnMut(&mut Manager<u64>, u64),
) -> [Vec<(u64, u64)>; 2] {
    let mut became = [Vec::new(), Vec::new()];
    for ms in from_ms.. {
        each_ms(manager, ms);
        manager.handle_timeout(at(ms));
        while let Some(output) = manager.poll_output() {
            match output {
                Output::Release { packet, .. } => became[0].push((packet, ms)),
                Output::Drop { packet, reason: DropReason::TooOld } => became[1].push((packet, ms)),
                _ => {}
            }
        }
        if manager.counters().held == 0 {
            break;
        }
    }
    became
}

#[test]
fn a_packet_held_for_more_than_a_second_is_dropped_in_its_turn() {
    let mut manager = slow(|_| {});
    (0..60).for_each(|n| manager.handle_packet(at(0), n, &datagram(7)));
    let [released, old] = run(&mut manager, 1, |manager, ms| {
        if ms == 900 {
            manager.handle_packet(at(ms), 60, &datagram(7));
        }
    });
    assert!(released.len() > 10 && old.len() > 30, "{} {}", released.len(), old.len());
    assert_eq!(released.len() + old.len(), 61);
    assert!(released.iter().all(|&(number, ms)| number == 60 || Span::from_millis(ms) <= MAX_AGE), "{released:?}");
    assert_eq!(released.last().unwrap().0, 60, "what is younger has its turn");
    assert!(released.last().unwrap().1 < 1_200, "at once: {released:?}");
    let counters = manager.counters();
    assert_eq!((counters.drops[DropReason::TooOld], counters.dropped()), (old.len() as u64, old.len() as u64));
}

#[test]
fn acks_of_an_upload_leave_at_any_age() {
    let mut manager = slow(|_| {});
    let segment = SEGMENT as u32;
    let sent = |n: u32| packet(Port::Wlan, 0, 1, Segment::new(TcpFlags::ACK, 1 + n * segment, 1, SEGMENT));
    (0..40).for_each(|n| manager.handle_packet(at(0), 1_000 + u64::from(n), &sent(n)));
    // Each stands for two segments of DATA, and so for 120 ms.
    for n in 1..=20 {
        let ack = packet(Port::Wire, 0, 1, Segment::new(TcpFlags::ACK, 1, 1 + 2 * n * segment, 0));
        manager.handle_packet(at(0), u64::from(n), &ack);
    }
    let [released, old] = run(&mut manager, 1, |_, _| {});
    let acks: Vec<_> = released.iter().filter(|(number, _)| *number < 1_000).collect();
    assert_eq!(acks.last().unwrap().0, 20, "the newest one, {acks:?}");
    assert!(acks.last().unwrap().1 > 1_000 && old.is_empty() && acks.len() == 20, "{acks:?} {old:?}");
}

#[test]
fn published_presets_and_disciplines_drop_nothing_for_its_age() {
    for preset in 0..3 {
        let mut manager = slow(|config| match preset {
            0 => config.queue = Some(queue(Discipline::Fifo(Limit::Packets(1000))).into()),
            1 => config.controller = Published::default().into(),
            _ => config.aqm = None,
        });
        for n in 0..90 {
            let long = datagram(7);
            manager.handle_packet(at(0), n, &long);
        }
        // Nothing is served meanwhile: the driver is late.
        let [released, old] = run(&mut manager, 3_000, |_, _| {});
        assert!(old.is_empty() && !released.is_empty() && released.iter().all(|(_, ms)| *ms >= 3_000));
        assert_eq!(manager.counters().drops[DropReason::TooOld], 0);
    }
}

#[test]
fn a_packet_may_wait_one_second_in_all_before_the_internet_link_and_behind_it() {
    let mut manager = slow(|config| {
        config.controller = Controller::Fixed(BitRate::from_kbps(300));
        let wan = WanConfig {
            down: BitRate::from_kbps(200),
            up: BitRate::from_kbps(200),
            lan: vec![],
            lan_permille: 100,
            aqm: UNCRITICAL,
            shared: false,
        };
        config.wan = Some(wan.into());
    });
    let beyond = |port, ingress| {
        let mut meta = datagram(port);
        let ip = meta.ip.as_mut().unwrap();
        if ingress == Port::Wlan {
            core::mem::swap(&mut meta.src, &mut meta.dst);
            core::mem::swap(&mut ip.src, &mut ip.dst);
        }
        PacketMeta { ingress, frame_len: Bytes(1514), ..meta }
    };
    for n in 0..60 {
        manager.handle_packet(at(0), n, &beyond(7, Port::Wire));
        manager.handle_packet(at(0), 100 + n, &beyond(9, Port::Wlan));
    }
    let [released, old] = run(&mut manager, 1, |_, _| {});
    assert_eq!(released.len() + old.len(), 120);
    for numbers in [0..100, 100..200] {
        let of = |became: &[(u64, u64)]| became.iter().filter(|(number, _)| numbers.contains(number)).count();
        assert!(of(&released) > 5 && of(&old) > 30, "{numbers:?} {released:?}");
    }
    assert!(released.iter().all(|&(_, ms)| Span::from_millis(ms) <= MAX_AGE), "{released:?}");
}

#[test]
fn the_end_of_the_drain_limit_releases_nothing_too_old() {
    let mut manager = slow(|config| config.drain_limit = Span::from_millis(1_500));
    (0..60).for_each(|n| manager.handle_packet(at(0), n, &datagram(7)));
    manager.handle_command(at(0), Command::Bypass);
    while manager.poll_output().is_some() {}
    let [released, old] = run(&mut manager, 1_500, |_, _| {});
    assert!(released.is_empty() && old.len() > 50, "{released:?}");
}
