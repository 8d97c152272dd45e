//! Several contention domains under one manager: each at its own rate, and stations that move between them.

use crate::air::{Air, Channels, Dcf, Formula};
use crate::world::{Segment, World, bits, close, config, jain, mac, packet, rate, sources};
use evenair_manager::{
    AccessPoint, Command, Config, Controller, Label, LimitRule, Manager, Observation, Output, Place, UplinkLimit,
};
use evenair_packet::{PacketMeta, Port, TcpFlags, Vlan};
use evenair_units::{BitRate, Instant, Span};
use evenair_wifi::PhyRate;

const HALF_A_MINUTE: Span = Span::from_secs(30);

fn label(text: &str) -> Label {
    text.parse().expect("a short name")
}

/// Two access points, each in a contention domain of its own, or both in one as far as the box knows.
fn access_points(same: bool) -> Vec<AccessPoint> {
    let mut points: Vec<_> = ["a", "b"].map(|name| AccessPoint::new(label(name))).into();
    if same {
        points[1].domain = points[0].domain;
    }
    points
}

fn at(station: usize, access_point: &str) -> Observation {
    Observation::StationAt { mac: mac(station), place: Some(Place::Named(label(access_point))) }
}

/// Stations at these rates, the first `split` of them at access point a; their traffic; whether there are two channels, and whether the
/// box knows two domains.
struct Site {
    rates: Vec<PhyRate>,
    split: usize,
    downs: Vec<usize>,
    ups: Vec<usize>,
    channels: usize,
    known: bool,
    /// Contention and collisions, instead of the formulas.
    dcf: bool,
}

impl Site {
    /// A world after it has settled, and the channel of each station, which can be changed.
    fn build(&self) -> (World, std::rc::Rc<std::cell::RefCell<Vec<usize>>>) {
        let config = Config { access_points: access_points(!self.known), ..config(&self.rates) };
        let channel = |station: usize| usize::from(station >= self.split && self.channels > 1);
        let channel = std::rc::Rc::new(std::cell::RefCell::new((0..self.rates.len()).map(channel).collect::<Vec<_>>()));
        let (phy, rts) = (config.phy.clone(), config.rts_threshold);
        let air = |_| -> Box<dyn Air> {
            match (self.dcf, self.channels) {
                (false, _) => Box::new(Formula::new(phy.clone(), rts)),
                (true, 1) => Box::new(Dcf::two(self.split, phy.clone(), rts, self.rates.len())),
                (true, _) => Box::new(Dcf::new(phy.clone(), rts, self.rates.len())),
            }
        };
        let airs = (0..self.channels).map(air).collect();
        let air = Channels { airs, channel: channel.clone() };
        let mut world = World::over(Box::new(air), config, &self.rates, sources(&self.downs, &self.ups));
        world.command(Command::Insert);
        for station in 0..self.rates.len() {
            world.tell(at(station, if station < self.split { "a" } else { "b" }));
        }
        world.run(HALF_A_MINUTE);
        (world, channel)
    }
}

/// Mb/s by flow.
fn rates_of(world: &mut World) -> Vec<f64> {
    bits(&world.run(HALF_A_MINUTE)).iter().map(|bits| bits / HALF_A_MINUTE.as_secs_f64() / 1e6).collect()
}

/// Three fast stations at one access point, one of which uploads; at the other a slow and a fast one. Flows belong to stations 0, 1, 3, 4
/// and 2.
fn mixed(channels: usize, known: bool) -> Site {
    let (fast, slow) = (rate(11_000), rate(1_000));
    let rates = vec![fast, fast, fast, slow, fast];
    Site { rates, split: 3, downs: vec![0, 1, 3, 4], ups: vec![2], channels, known, dcf: false }
}

/// The total throughput of the stations of one access point alone.
fn alone(stations: std::ops::Range<usize>) -> f64 {
    let site = mixed(1, false);
    let only = |flows: &[usize]| flows.iter().copied().filter(|station| stations.contains(station)).collect();
    let (mut world, _) = Site { downs: only(&site.downs), ups: only(&site.ups), ..site }.build();
    rates_of(&mut world).iter().sum()
}

#[test]
fn each_domain_is_used_as_if_it_were_alone() {
    let (a_alone, b_alone) = (alone(0..3), alone(3..5));
    let (mut world, _) = mixed(2, true).build();
    let got = rates_of(&mut world);
    let (a, b) = (got[0] + got[1] + got[4], got[2] + got[3]);
    println!("alone {a_alone:.2} and {b_alone:.2}, together {a:.2} and {b:.2}, flows {got:.2?}");
    assert!(close(a, a_alone, 30.0), "{a} of {a_alone}");
    assert!(close(b, b_alone, 30.0), "{b} of {b_alone}");
    // Stations have equal medium time, whichever way they send.
    assert!(close(got[0], got[1], 30.0) && close(got[0], got[4], 30.0), "{got:?}");
    let report = world.manager.report(world.now);
    let airtime: Vec<f64> = report.stations.iter().map(|station| station.airtime.as_secs_f64()).collect();
    assert!(close(airtime[3], airtime[4], 30.0), "{airtime:?}");
    let names: Vec<_> = report.domains.iter().map(|domain| (domain.name.to_string(), domain.stations)).collect();
    assert_eq!(names, [("default".into(), 0), ("a".into(), 3), ("b".into(), 2)]);
    // The canary: two domains treated as one give each flow as much as the slower one can.
    let (mut world, _) = mixed(2, false).build();
    let common = rates_of(&mut world);
    let total = common.iter().sum::<f64>();
    println!("taken for one: {total:.2}, flows {common:.2?}");
    assert!(total < 0.9 * (a_alone + b_alone), "{total} of {}", a_alone + b_alone);
}

#[test]
fn access_points_in_one_domain_share_it() {
    let (mut world, _) = mixed(1, false).build();
    let got = rates_of(&mut world);
    let report = world.manager.report(world.now);
    assert_eq!(report.domains.len(), 2);
    assert_eq!(report.domains[1].access_points, [label("a"), label("b")]);
    let airtime: Vec<f64> = report.stations.iter().map(|station| station.airtime.as_secs_f64()).collect();
    println!("one medium: flows {got:.2?}, airtime {airtime:.1?}");
    let down = [airtime[0], airtime[1], airtime[3], airtime[4]];
    assert!(down.iter().all(|&airtime| close(airtime, down[0], 30.0)), "{airtime:?}");
    // Treated as two domains they still share the medium, and neither starves. Only fairness across them is lost: a slow station takes
    // from those of the other access point, as it does without a box.
    let (mut world, _) = Site { dcf: true, ..mixed(1, true) }.build();
    let apart = rates_of(&mut world);
    println!("taken for two: flows {apart:.2?}");
    assert!(apart.iter().all(|&rate| rate > 0.1), "{apart:?}");
    assert!(apart.iter().sum::<f64>() > 0.4 * got.iter().sum::<f64>(), "{apart:?} beside {got:?}");
}

/// Throughput by flow.
fn contended(stations: std::ops::Range<usize>, channels: usize, known: bool) -> Vec<f64> {
    let site = mixed(channels, known);
    let only = |flows: &[usize]| flows.iter().copied().filter(|station| stations.contains(station)).collect();
    let (mut world, _) = Site { downs: only(&site.downs), ups: only(&site.ups), dcf: true, ..site }.build();
    rates_of(&mut world)
}

#[test]
fn under_contention_each_domain_is_used_as_if_it_were_alone() {
    let total = |rates: &[f64]| rates.iter().sum::<f64>();
    let (a_alone, b_alone) = (total(&contended(0..3, 2, true)), total(&contended(3..5, 2, true)));
    let got = contended(0..5, 2, true);
    let (a, b) = (got[0] + got[1] + got[4], got[2] + got[3]);
    println!("alone {a_alone:.2} and {b_alone:.2}, together {a:.2} and {b:.2}, flows {got:.2?}");
    assert!(close(a, a_alone, 30.0) && close(b, b_alone, 30.0), "{a} of {a_alone}, {b} of {b_alone}");
    let common = contended(0..5, 2, false);
    println!("taken for one: {:.2}, flows {common:.2?}", total(&common));
    assert!(total(&common) < 0.95 * (a_alone + b_alone));
    // On one channel: treated as one domain, and as two.
    let (one, two) = (contended(0..5, 1, false), contended(0..5, 1, true));
    println!("one channel: {:.2}, flows {one:.2?}; taken for two {:.2}, flows {two:.2?}", total(&one), total(&two));
    assert!(close(one[0], one[1], 30.0) && close(one[0], one[3], 30.0), "equal stations are equal: {one:?}");
    assert!(total(&two) < total(&one) && two.iter().all(|&rate| rate > 0.1), "{two:?}");
}

#[test]
fn a_station_that_roams_has_its_share_within_two_seconds() {
    let fast = rate(11_000);
    let site = Site {
        rates: vec![fast; 5],
        split: 3,
        downs: (0..5).collect(),
        ups: Vec::new(),
        channels: 2,
        known: true,
        dcf: false,
    };
    let (mut world, channel) = site.build();
    world.released.iter_mut().for_each(Vec::clear);
    channel.borrow_mut()[2] = 1;
    world.tell(at(2, "b"));
    world.run(Span::from_secs(2));
    let got = bits(&world.run(Span::from_secs(4)));
    assert!(jain(&got[..2]) > 0.999 && jain(&got[2..]) > 0.999, "{got:?}");
    assert!(close(got[0] / got[3], 1.5, 30.0), "two share one medium and three the other: {got:?}");
    let report = world.manager.report(world.now);
    assert_eq!(report.domains.iter().map(|domain| domain.roamed).collect::<Vec<_>>(), [0, 3, 3]);
    assert_eq!(report.counters.dropped(), 0);
    // Packets are numbered in the order of arrival.
    assert!(world.released.iter().all(|numbers| numbers.is_sorted()), "none passed another");
}

/// A packet of DATA toward a station.
fn data(station: usize, seq: u32) -> PacketMeta {
    packet(Port::Wire, station, 1, Segment::new(TcpFlags::ACK, 1 + seq * 1448, 1, 1448))
}

#[test]
fn packets_released_before_a_roam_stay_in_the_old_account() {
    let rates = [rate(11_000); 2];
    let mut manager = Manager::new(Config { access_points: access_points(false), ..config(&rates) }, Instant::ZERO);
    let at_ms = |ms| Instant::ZERO + Span::from_millis(ms);
    manager.handle_command(at_ms(0), Command::Insert);
    manager.handle_observation(at_ms(0), at(0, "a"));
    manager.handle_observation(at_ms(0), at(1, "b"));
    let mut number = 0;
    let mut send = |manager: &mut Manager<u64>, station: usize, packets: u32| {
        for seq in 0..packets {
            number += 1;
            manager.handle_packet(at_ms(1), number, &data(station, seq));
        }
    };
    let released = |manager: &mut Manager<u64>| {
        core::iter::from_fn(|| manager.poll_output()).filter(|out| matches!(out, Output::Release { .. })).count()
    };
    let held = |manager: &Manager<u64>| manager.report(at_ms(1)).domains.iter().map(|d| d.hop.held).collect::<Vec<_>>();
    send(&mut manager, 0, 40);
    let first = released(&mut manager);
    assert!((2..16).contains(&first), "the access point has room for some: {first}");
    assert_eq!(held(&manager), [0, 40 - first as u64, 0]);
    // The other domain has room of its own, which releases in the first one do not use.
    manager.handle_observation(at_ms(1), at(0, "b"));
    let after = released(&mut manager);
    assert_eq!(after, first);
    assert_eq!(held(&manager), [0, 0, 40 - 2 * first as u64]);
    // In the first one nothing may follow until a completion of these releases.
    manager.handle_observation(at_ms(1), at(1, "a"));
    send(&mut manager, 1, 20);
    assert_eq!(released(&mut manager), 0);
    // An ACK by the new access point completes a release by the old one.
    let ack = packet(Port::Wlan, 0, 1, Segment::new(TcpFlags::ACK, 1, 1 + first as u32 * 1448, 0));
    manager.handle_packet(at_ms(1), 1000, &ack);
    assert!(released(&mut manager) > 1, "the ACK itself, and what there is room for now");
}

#[test]
fn a_vlan_shows_where_a_station_is_and_has_precedence_over_reports() {
    let rates = [rate(11_000); 1];
    let mut points = access_points(false);
    points[0].vlans = [11.into()].into();
    points[1].radios = [evenair_manager::MacPrefix { mac: mac(90), bits: 40 }].into();
    let mut manager = Manager::<u64>::new(Config { access_points: points, ..config(&rates) }, Instant::ZERO);
    let place =
        |manager: &Manager<u64>| manager.report(Instant::ZERO).stations[0].access_point.map(|at| at.to_string());
    let tell = |manager: &mut Manager<u64>, place| {
        manager.handle_observation(Instant::ZERO, Observation::StationAt { mac: mac(0), place });
    };
    assert_eq!(place(&manager), None);
    tell(&mut manager, Some(Place::Radio(mac(77))));
    assert_eq!(place(&manager).as_deref(), Some("b"), "by the first bits of its radio's address");
    tell(&mut manager, Some(Place::Named(label("elsewhere"))));
    assert_eq!(place(&manager), None, "nobody knows where that is");
    tell(&mut manager, Some(Place::Named(label("b"))));
    let mut ack = packet(Port::Wlan, 0, 1, Segment::new(TcpFlags::ACK, 1, 1, 0));
    manager.handle_packet(Instant::ZERO, 1, &ack);
    assert_eq!(place(&manager).as_deref(), Some("b"), "no VLAN says nothing");
    ack.vlan = Some(11.into());
    manager.handle_packet(Instant::ZERO, 2, &ack);
    assert_eq!(place(&manager).as_deref(), Some("a"));
    tell(&mut manager, Some(Place::Named(label("b"))));
    assert_eq!(place(&manager).as_deref(), Some("a"), "its frames are newer than any telling");
    // Without VLANs in the configuration the last report counts.
    let other = Config { access_points: access_points(false), ..config(&rates) };
    manager.handle_command(Instant::ZERO, Command::Reconfigure(other.into()));
    assert_eq!(place(&manager).as_deref(), Some("a"), "by its name it is known still");
    let none = Config { access_points: Vec::new(), ..config(&rates) };
    manager.handle_command(Instant::ZERO, Command::Reconfigure(none.into()));
    assert_eq!((place(&manager), manager.report(Instant::ZERO).domains.len()), (None, 1));
}

/// Two stations, a fast one at access point a and a slow one at b, that each upload so many full packets a second: how many in a thousand
/// pass in the second ten seconds.
fn limited(same: bool, per_second: [u64; 2]) -> ([u64; 2], Manager<u64>) {
    let rates = [rate(11_000), rate(2_000)];
    let limit = UplinkLimit { rule: LimitRule::Static, ..UplinkLimit::default() };
    let config = Config {
        access_points: access_points(same),
        uplink_limit: Some(limit),
        controller: Controller::None,
        ..config(&rates)
    };
    let mut manager = Manager::<u64>::new(config, Instant::ZERO);
    manager.handle_observation(Instant::ZERO, at(0, "a"));
    manager.handle_observation(Instant::ZERO, at(1, "b"));
    manager.handle_command(Instant::ZERO, Command::Insert);
    let mut counts = [(0, 0); 2];
    let mut next = [Instant::ZERO; 2];
    let mut segments = [0; 2];
    loop {
        let station = usize::from(next[1] < next[0]);
        let now = next[station];
        if now >= Instant::ZERO + Span::from_secs(20) {
            return (counts.map(|(passed, all)| passed * 1_000 / all), manager);
        }
        while let Some((deadline, _)) = manager.poll_deadline().filter(|&(deadline, _)| deadline <= now) {
            manager.handle_timeout(deadline);
        }
        let seq = 1 + segments[station] * 1448;
        manager.handle_packet(now, 1, &packet(Port::Wlan, station, 1, Segment::new(TcpFlags::ACK, seq, 1, 1448)));
        (segments[station], next[station]) =
            (segments[station] + 1, now + Span::from_nanos(1_000_000_000 / per_second[station]));
        let outputs: Vec<_> = core::iter::from_fn(|| manager.poll_output()).collect();
        if now >= Instant::ZERO + Span::from_secs(10) {
            counts[station].1 += 1;
            counts[station].0 += outputs.iter().filter(|out| matches!(out, Output::Release { .. })).count() as u64;
        }
    }
}

#[test]
fn each_domain_limits_its_own_uploads() {
    // 400 and 100 packets of 1500 bytes a second are 4.8 and 1.2 Mb/s; half of each domain's C* may pass.
    let (passed, manager) = limited(false, [400, 100]);
    let report = manager.report(Instant::ZERO + Span::from_secs(20));
    let limits: Vec<_> = report.domains.iter().map(|domain| domain.uplink.expect("limited").limit).collect();
    for (domain, (passed, offered)) in passed.into_iter().zip([4_800_000, 1_200_000]).enumerate() {
        let limit = limits[domain + 1].as_bps();
        assert!(close((passed * offered / 1_000) as f64, limit as f64, 50.0), "{passed} of {offered} b/s: {limits:?}");
    }
    assert!(limits[1] > limits[2].mul_div(2, 1), "{limits:?}");
    let all = report.uplink.expect("limited");
    assert_eq!(all.limit, limits[1] + limits[2], "nobody is on the default one");
    // The canary: one's traffic is not taken from the other's limit, as it is in a shared domain.
    let (alone, _) = limited(false, [400, 10]);
    assert!(close(alone[0] as f64, passed[0] as f64, 30.0), "{alone:?} {passed:?}");
    let (together, _) = limited(true, [400, 100]);
    assert!(together[1] < 700 && together[0].abs_diff(together[1]) < 100, "{together:?}");
}

#[test]
fn windows_are_steered_in_each_domain_by_itself() {
    use evenair_manager::{ReceiverConfig, WindowLaw};
    // Access point a has a queue; b has none.
    let rates = [rate(11_000); 2];
    let law = WindowLaw::Target(Span::from_millis(10));
    let receiver = Some(ReceiverConfig { window: Some(law), delay: None, uploads: false });
    let config =
        Config { access_points: access_points(false), receiver, controller: Controller::None, ..config(&rates) };
    let mut manager = Manager::<u64>::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    for (station, place) in [(0, "a"), (1, "b")] {
        manager.handle_observation(Instant::ZERO, at(station, place));
        for ingress in [Port::Wlan, Port::Wire] {
            let syn = if ingress == Port::Wlan { TcpFlags::SYN } else { TcpFlags::SYN.with(TcpFlags::ACK) };
            manager.handle_packet(Instant::ZERO, 1, &packet(ingress, station, 1, Segment::new(syn, 0, 0, 0)));
        }
    }
    for round in 0..200u32 {
        for (station, waits_ms) in [(0, 60), (1, 3)] {
            let now = Instant::ZERO + Span::from_millis(100) * u64::from(round) + Span::from_millis(station as u64);
            let seq = 1 + round * 1448;
            manager.handle_packet(now, 1, &packet(Port::Wire, station, 1, Segment::new(TcpFlags::ACK, seq, 1, 1448)));
            let answer = packet(Port::Wlan, station, 1, Segment::new(TcpFlags::ACK, 1, seq + 1448, 0));
            let now = now + Span::from_millis(waits_ms);
            while let Some((deadline, _)) = manager.poll_deadline().filter(|&(deadline, _)| deadline <= now) {
                manager.handle_timeout(deadline);
            }
            manager.handle_packet(now, 1, &answer);
            while manager.poll_output().is_some() {}
        }
    }
    let report = manager.report(Instant::ZERO + Span::from_secs(20));
    let of = |at: usize| report.domains[at].receiver.expect("steered");
    let (a, b) = (of(1), of(2));
    assert!(a.window < b.window, "{a:?} {b:?}");
    assert!(a.ap_queueing > b.ap_queueing && (a.flows, b.flows) == (1, 1), "{a:?} {b:?}");
    let all = report.receiver.expect("steered");
    assert_eq!((all.window, all.flows, all.ap_queueing), (a.window, 2, a.ap_queueing));
}

/// All are busy: nothing is lost, and each domain gets its packets.
#[test]
fn five_hundred_domains_of_a_hundred_stations() {
    const DOMAINS: usize = 500;
    const STATIONS: usize = 100;
    let access_points = (0..DOMAINS).map(|at| AccessPoint::new(label(&format!("ap-{at}")))).collect();
    let mut manager = Manager::<u64>::new(Config { access_points, ..config(&[]) }, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    let (mut now, mut number, mut released) = (Instant::ZERO, 0, vec![0u64; DOMAINS]);
    let mut of = Vec::new();
    let station = |at: usize| evenair_packet::MacAddr([2, 1, 0, 0, (at >> 8) as u8, at as u8]);
    for round in 0..6u32 {
        for at in 0..DOMAINS * STATIONS {
            let mut meta = data(0, round);
            meta.dst = station(at);
            if let Some(ip) = &mut meta.ip {
                ip.dst = std::net::Ipv4Addr::from(0x0a00_0000 + at as u32).into();
            }
            if round == 0 {
                // Learned by their traffic first: no more than 2048 are learned from reports.
                let hello = PacketMeta { ingress: Port::Wlan, src: meta.dst, dst: meta.src, ip: None, ..meta.clone() };
                manager.handle_packet(now, u64::MAX, &hello);
                let place = Some(Place::Named(label(&format!("ap-{}", at % DOMAINS))));
                manager.handle_observation(now, Observation::StationAt { mac: meta.dst, place });
            }
            manager.handle_packet(now, number, &meta);
            of.push(at % DOMAINS);
            number += 1;
            now += Span::from_micros(4);
            while manager.poll_deadline().is_some_and(|(at, _)| at <= now) {
                manager.handle_timeout(now);
            }
            while let Some(output) = manager.poll_output() {
                match output {
                    Output::Release { packet: u64::MAX, .. }
                    | Output::Probe { .. }
                    | Output::Consume { .. }
                    | Output::Event(_) => {}
                    Output::Release { packet, .. } => released[of[packet as usize]] += 1,
                    Output::Drop { .. } => panic!("there is room"),
                }
            }
        }
    }
    let counters = manager.counters();
    assert_eq!(counters.held, number - released.iter().sum::<u64>());
    let (least, most) = (released.iter().min().unwrap(), released.iter().max().unwrap());
    assert!(*least > 20 && most - least < 40, "each at its own pace: {least} to {most}");
    let report = manager.report(now);
    assert!(report.domains[1..].iter().all(|domain| domain.stations == STATIONS && domain.roamed == STATIONS as u64));
    assert!(report.capacity > BitRate::from_mbps(300), "of all together");
}

/// Two channels behind a box without configured access points; the first `split` stations are on the first one.
fn unconfigured(site: &Site, tuned: bool) -> (World, std::rc::Rc<std::cell::RefCell<Vec<usize>>>) {
    let channel = (0..site.rates.len()).map(|station| usize::from(station >= site.split)).collect();
    let channel = std::rc::Rc::new(std::cell::RefCell::new(channel));
    // Without reports, as many packets are in flight as with the usual target at higher rates.
    let controller = if tuned { Controller::default() } else { Controller::Queue { target: Span::from_millis(20) } };
    let config = Config { controller, ..config(&site.rates) };
    let (phy, rts) = (config.phy.clone(), config.rts_threshold);
    let air = |_| -> Box<dyn Air> { Box::new(Formula::new(phy.clone(), rts)) };
    let air = Channels { airs: (0..2).map(air).collect(), channel: channel.clone() };
    let mut world = World::over(Box::new(air), config, &site.rates, sources(&site.downs, &site.ups));
    world.command(Command::Insert);
    for station in (0..5).filter(|_| tuned) {
        world.tell(on(station, channel.borrow()[station], 2_412));
    }
    world.run(HALF_A_MINUTE);
    (world, channel)
}

/// A report that a station is at the radio of this number, on the channel of that number above the first.
fn on(station: usize, radio: usize, first_mhz: u16) -> Observation {
    let (radio, mhz) = (mac(100 + radio), first_mhz + 25 * radio as u16);
    Observation::StationAt { mac: mac(station), place: Some(Place::Tuned { radio, mhz }) }
}

fn names(world: &World) -> Vec<(String, usize, bool)> {
    let domains = world.manager.report(world.now).domains;
    domains.iter().map(|domain| (domain.name.to_string(), domain.stations, domain.learned)).collect()
}

#[test]
fn reported_channels_are_domains() {
    let (a_alone, b_alone) = (alone(0..3), alone(3..5));
    let (mut world, channel) = unconfigured(&mixed(2, true), true);
    let got = rates_of(&mut world);
    let (a, b) = (got[0] + got[1] + got[4], got[2] + got[3]);
    assert!(close(a, a_alone, 30.0) && close(b, b_alone, 30.0), "{a} of {a_alone}, {b} of {b_alone}");
    let expected = [("default", 0, false), ("2412 MHz", 3, true), ("2437 MHz", 2, true)];
    assert_eq!(names(&world), expected.map(|(name, stations, learned)| (name.to_owned(), stations, learned)));
    let report = world.manager.report(world.now);
    assert_eq!(report.domains[2].access_points, [label(&mac(101).to_string())]);
    assert_eq!(report.stations[4].access_point, Some(label(&mac(101).to_string())));
    // The second access point changes to the channel of the first: all are in one domain, and share it.
    *channel.borrow_mut() = vec![0; 5];
    for station in 3..5 {
        let place = Place::Tuned { radio: mac(101), mhz: 2_412 };
        world.tell(Observation::StationAt { mac: mac(station), place: Some(place) });
    }
    world.run(HALF_A_MINUTE);
    assert_eq!((names(&world)[1].1, names(&world)[2].1), (5, 0));
    let before: Vec<_> = world.manager.report(world.now).stations.iter().map(|station| station.airtime).collect();
    world.run(HALF_A_MINUTE);
    let after = world.manager.report(world.now).stations;
    let used = |at: usize| (after[at].airtime - before[at]).as_secs_f64();
    assert!([1, 3, 4].iter().all(|&at| close(used(at), used(0), 40.0)), "{:?}", [0, 1, 2, 3, 4].map(used));
    // The configuration has precedence over channels.
    let points = vec![AccessPoint {
        domain: label("default"),
        radios: vec![evenair_manager::MacPrefix { mac: mac(100), bits: 40 }],
        ..AccessPoint::new(label("all"))
    }];
    world.command(Command::Reconfigure(Box::new(Config { access_points: points, ..config(&world.rates) })));
    assert_eq!(names(&world)[0].1, 5);
    assert_eq!(world.manager.report(world.now).stations[4].access_point, Some(label("all")));
}

#[test]
fn one_reported_channel_is_one_domain_as_without_reports() {
    let site = mixed(1, false);
    let run = |tell: bool| {
        let config = config(&site.rates);
        let mut world = World::new(config, &site.rates, sources(&site.downs, &site.ups));
        world.command(Command::Insert);
        for station in (0..5).filter(|_| tell) {
            let place = Place::Tuned { radio: mac(100 + station % 2), mhz: 5_180 };
            world.tell(Observation::StationAt { mac: mac(station), place: Some(place) });
        }
        let got = bits(&world.run(HALF_A_MINUTE));
        (got, world.manager.report(world.now).domains.len())
    };
    assert_eq!(run(true), run(false));
    assert_eq!(run(true).1, 1);
}

#[test]
fn one_channel_is_never_taken_for_two_domains() {
    for dcf in [false, true] {
        let mut site = mixed(1, false);
        site.dcf = dcf;
        let (mut world, _) = site.build();
        world.command(Command::Reconfigure(Box::new(config(&site.rates))));
        world.run(HALF_A_MINUTE * 4);
        assert_eq!(names(&world).len(), 1, "{dcf}: {:?}", names(&world));
    }
}

/// A download of a station in the VLAN of one access point, with frames waiting; then the station sends in another's VLAN.
#[test]
fn a_frame_in_another_vlan_takes_no_flow_to_another_domain() {
    let mut points = access_points(false);
    (points[0].vlans, points[1].vlans) = (vec![Vlan::from(11)], vec![Vlan::from(12)]);
    let controller = Controller::Fixed(BitRate::from_mbps(4));
    let config = Config { access_points: points, controller, ..config(&[rate(11_000); 2]) };
    let (now, mut manager) = (Instant::ZERO, Manager::new(config, Instant::ZERO));
    manager.handle_command(now, Command::Insert);
    let in_vlan = |id: u16, meta: PacketMeta| PacketMeta { vlan: Some(Vlan::from(id)), ..meta };
    let held = |manager: &Manager<u64>| {
        let domains = manager.report(now).domains;
        domains.iter().map(|domain| (domain.name.to_string(), domain.hop.held)).collect::<Vec<_>>()
    };
    let ack = |id| in_vlan(id, packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::ACK, 1, 1, 0)));
    manager.handle_packet(now, 0, &ack(11));
    for number in 1..=10 {
        let data = Segment::new(TcpFlags::ACK, number as u32 * 1448, 1, 1448);
        manager.handle_packet(now, number, &in_vlan(11, packet(Port::Wire, 0, 0, data)));
    }
    let before = held(&manager);
    assert!(before[1] == ("a".into(), before[1].1) && before[1].1 >= 9, "{before:?}");
    manager.handle_packet(now, 100, &ack(12));
    assert_eq!(held(&manager), before, "the station is at b by its last frame, its download goes on at a");
    let data = Segment::new(TcpFlags::ACK, 11 * 1448, 1, 1448);
    manager.handle_packet(now, 101, &in_vlan(11, packet(Port::Wire, 0, 0, data)));
    assert_eq!((held(&manager)[1].1, held(&manager)[2].1), (before[1].1 + 1, 0));
}
