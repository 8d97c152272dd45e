//! Effects of particular packets, commands and observations.

use evenair_manager::{
    Collected, Collection, Command, Config, Controller, Counter, Direction, DropReason, Event, Level, Manager, Mode,
    Observation, Output, Part, Policy, Reason, StationCounted, StationCounter,
};
use evenair_packet::{Control, MacAddr, PacketMeta, Port, TcpFlags, Transport, Vlan};
use evenair_units::{BitRate, Bytes, Instant, Limit, Span};
use evenair_wifi::{Standard, mixed_capacity};

use crate::world::{SEGMENT, Segment, config, mac, packet, rate};

const START: Instant = Instant::ZERO;

/// Two stations at 11 Mb/s, inserted, at a fixed rate.
fn inserted(change: impl FnOnce(&mut Config)) -> Manager<u64> {
    let mut config = Config { controller: Controller::Fixed(BitRate::from_mbps(4)), ..config(&[rate(11_000); 2]) };
    change(&mut config);
    let mut manager = Manager::new(config, START);
    manager.handle_command(START, Command::Insert);
    drain(&mut manager);
    manager
}

fn drain(manager: &mut Manager<u64>) -> Vec<Output<u64>> {
    core::iter::from_fn(|| manager.poll_output()).collect()
}

fn released(outputs: &[Output<u64>]) -> Vec<u64> {
    let packet = |output: &Output<u64>| match output {
        Output::Release { packet, .. } => Some(*packet),
        _ => None,
    };
    outputs.iter().filter_map(packet).collect()
}

fn dropped(outputs: &[Output<u64>]) -> Vec<(u64, DropReason)> {
    let packet = |output: &Output<u64>| match output {
        Output::Drop { packet, reason } => Some((*packet, *reason)),
        _ => None,
    };
    outputs.iter().filter_map(packet).collect()
}

fn data(flow: u16, seq: u32) -> PacketMeta {
    packet(Port::Wire, 0, flow, Segment::new(TcpFlags::ACK, seq, 1, SEGMENT))
}

fn ack(flow: u16, segments: u32) -> PacketMeta {
    packet(Port::Wire, 0, flow, Segment::new(TcpFlags::ACK, 1, 1 + segments * SEGMENT as u32, 0))
}

fn udp(ingress: Port, dst: MacAddr) -> PacketMeta {
    let mut meta = packet(ingress, 0, 0, Segment::new(TcpFlags::ACK, 0, 0, 1400));
    meta.dst = dst;
    let ip = meta.ip.as_mut().unwrap();
    (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: 1, dst_port: 2 });
    meta
}

/// A frame of 1400 bytes that is not IP, toward a station.
fn foreign() -> PacketMeta {
    PacketMeta { ether_type: 0x88b5, ip: None, ..udp(Port::Wire, mac(0)) }
}

/// The time when everything held has been released, with the manager called at its deadlines.
fn time_to_empty(manager: &mut Manager<u64>, mut now: Instant) -> Instant {
    while manager.counters().held > 0 {
        (now, _) = manager.poll_deadline().unwrap();
        manager.handle_timeout(now);
    }
    now
}

#[test]
fn bypassed_passes_everything_at_once_and_learns() {
    let mut manager = Manager::new(config(&[rate(11_000)]), START);
    for number in 0..10 {
        manager.handle_packet(START, number, &data(0, number as u32 * SEGMENT as u32));
    }
    assert_eq!(released(&drain(&mut manager)), (0..10).collect::<Vec<_>>());
    let report = manager.report(START);
    assert_eq!((report.mode, report.counters.held, report.flows.len()), (Mode::Bypassed, 0, 1));
    assert_eq!((report.flows[0].direction, report.flows[0].released), (Direction::Down, Bytes(15_000)));
}

#[test]
fn holds_all_data_toward_the_wlan() {
    let mut manager = inserted(|_| {});
    manager.handle_packet(START, 0, &data(0, 1));
    manager.handle_packet(START, 1, &data(0, 1449));
    manager.handle_packet(START, 2, &udp(Port::Wire, mac(0)));
    manager.handle_packet(START, 3, &udp(Port::Wlan, MacAddr::BROADCAST));
    manager.handle_packet(START, 4, &packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::ACK, 1, 1, 0)));
    let mut fragment = data(0, 1);
    let ip = fragment.ip.as_mut().unwrap();
    (ip.fragment, ip.transport) = (true, Transport::Other);
    manager.handle_packet(START, 5, &fragment);
    manager.handle_packet(START, 6, &foreign());
    assert_eq!(released(&drain(&mut manager)), [0, 3, 4]);
    assert_eq!(
        (manager.counters().held, manager.counters()[Counter::Groups], manager.counters()[Counter::Control]),
        (4, 1, 0)
    );
    assert_eq!(manager.poll_deadline().unwrap().1, Reason::Release);
    assert_eq!(manager.report(START).flows.len(), 4, "fragments, datagrams and frames are flows of their own");
}

#[test]
fn control_packets_pass_at_once() {
    let mut manager = inserted(|_| {});
    (0..50).for_each(|k| manager.handle_packet(START, k, &data(0, 1 + k as u32 * SEGMENT as u32)));
    drain(&mut manager);
    let with = |protocol, transport| {
        let mut meta = udp(Port::Wire, mac(0));
        let ip = meta.ip.as_mut().unwrap();
        (ip.protocol, ip.transport) = (protocol, transport);
        meta
    };
    let of = |control, mut meta: PacketMeta| {
        meta.ip.iter_mut().for_each(|ip| ip.total_len = Bytes(72));
        PacketMeta { frame_len: Bytes(86), control: Some(control), ..meta }
    };
    let frame = |ether_type| PacketMeta { ether_type, ..foreign() };
    let spanning_tree = PacketMeta { dst: MacAddr([1, 0x80, 0xc2, 0, 0, 0]), ..frame(0x0026) };
    let control = [
        of(Control::Arp, frame(0x0806)),
        of(Control::Authentication, frame(0x888e)),
        of(Control::Link, spanning_tree),
        of(Control::Neighbour, with(58, Transport::Icmp { kind: 135 })),
        of(Control::Membership, with(2, Transport::Other)),
        of(Control::Dhcp, with(17, Transport::Udp { src_port: 67, dst_port: 68 })),
        of(Control::Dhcp, with(17, Transport::Udp { src_port: 547, dst_port: 546 })),
    ];
    for (number, meta) in control.iter().enumerate() {
        manager.handle_packet(START, 100 + number as u64, meta);
    }
    assert_eq!(released(&drain(&mut manager)), (100..107).collect::<Vec<_>>());
    assert_eq!(manager.counters()[Counter::Control], 7);
    // By ports and types alone nothing is control.
    let data = control[3..].iter().map(|meta| PacketMeta { control: None, ..meta.clone() });
    data.for_each(|meta| manager.handle_packet(START, 200, &meta));
    assert_eq!((released(&drain(&mut manager)), manager.counters()[Counter::Control]), (vec![], 7));
    let data =
        [with(58, Transport::Icmp { kind: 128 }), with(1, Transport::Icmp { kind: 8 }), with(50, Transport::Other)];
    data.iter().for_each(|meta| manager.handle_packet(START, 200, meta));
    assert_eq!(
        (released(&drain(&mut manager)), manager.counters()[Counter::Control]),
        (vec![], 7),
        "echoes and IPsec are data"
    );
}

/// DATA of an upload over QUIC, or of a flood; and packets in the other direction.
fn datagram(ingress: Port, port: u16, bytes: u64) -> PacketMeta {
    let mut meta = packet(ingress, 0, 0, Segment::new(TcpFlags::ACK, 0, 0, bytes));
    let ip = meta.ip.as_mut().unwrap();
    let (src_port, dst_port) = if ingress == Port::Wlan { (port, 443) } else { (443, port) };
    (ip.protocol, ip.transport) = (17, Transport::Udp { src_port, dst_port });
    meta
}

#[test]
fn an_answer_to_datagrams_from_the_wlan_pays_for_them() {
    let emptied = |up: usize| {
        let mut manager = inserted(|_| {});
        (0..up).for_each(|_| manager.handle_packet(START, 0, &datagram(Port::Wlan, 1, 1400)));
        (0..20).for_each(|_| manager.handle_packet(START, 1, &datagram(Port::Wire, 1, 10)));
        let end = time_to_empty(&mut manager, START);
        (end - START, manager.report(START).flows[0].direction)
    };
    let (alone, _) = emptied(0);
    let (with, direction) = emptied(20);
    assert_eq!(direction, Direction::Up);
    let each = (with - alone) / 20;
    assert!(each > Span::from_micros(1_500) && each < Span::from_millis(4), "{each} for 1400 bytes at 11 Mb/s");
}

#[test]
fn an_unanswered_flood_is_reported_and_paid_for_by_its_station() {
    let mut manager = inserted(|config| config.controller = Controller::default());
    let mut events = Vec::new();
    // A second station has a share as well; the first sends more than half of what the medium carries.
    for ms in 0..4_000 {
        let now = START + Span::from_millis(ms);
        if ms % 3 == 0 {
            manager.handle_packet(now, ms, &datagram(Port::Wlan, 1, 1400));
        }
        if ms % 20 == 0 {
            let download = packet(Port::Wire, 1, 1, Segment::new(TcpFlags::ACK, 1 + ms as u32 * 100, 1, SEGMENT));
            manager.handle_packet(now, ms, &download);
        }
        manager.handle_timeout(now);
        events.extend(drain(&mut manager).into_iter().filter_map(|output| match output {
            Output::Event(Event::StationOverShare { mac, over }) => Some((mac, over)),
            _ => None,
        }));
    }
    assert_eq!(events, [(mac(0), true)]);
    let over: Vec<_> = manager.report(START).stations.iter().map(|station| station.over_share).collect();
    assert_eq!(over, [true, false]);
    for second in 4..12 {
        manager.handle_timeout(START + Span::from_secs(second));
    }
    assert!(drain(&mut manager).contains(&Output::Event(Event::StationOverShare { mac: mac(0), over: false })));
}

#[test]
fn without_a_controller_all_passes_in_its_order_and_no_sender_gets_a_congestion_signal() {
    let mut manager = inserted(|config| {
        (config.controller, config.queue_limit) = (Controller::None, Limit::Packets(1));
    });
    for n in 0..200 {
        // A download with segments faster than any medium, an upload far ahead of its acknowledgments, a flood.
        manager.handle_packet(START, 3 * n, &data(1, 1 + n as u32 * SEGMENT as u32));
        let upload = packet(Port::Wlan, 0, 2, Segment::new(TcpFlags::ACK, 1 + n as u32 * SEGMENT as u32, 1, SEGMENT));
        manager.handle_packet(START, 3 * n + 1, &upload);
        manager.handle_packet(START, 3 * n + 2, &datagram(Port::Wlan, 1, 1400));
    }
    let outputs = drain(&mut manager);
    assert_eq!(released(&outputs), (0..600).collect::<Vec<_>>());
    assert_eq!((dropped(&outputs), manager.counters().held), (vec![], 0));
    let reported = outputs.iter().any(|output| matches!(output, Output::Event(Event::StationOverShare { .. })));
    assert!(!reported && manager.report(START).stations.iter().all(|station| !station.over_share));
}

#[test]
fn the_number_of_flows_of_datagrams_is_bounded_too() {
    let mut manager = inserted(|_| {});
    for n in 0..140_000_u32 {
        let mut meta = datagram(Port::Wlan, n as u16, 10);
        meta.ip.as_mut().unwrap().dst = std::net::IpAddr::from((n >> 8).to_be_bytes());
        manager.handle_packet(START, u64::from(n), &meta);
        drain(&mut manager);
    }
    assert_eq!(manager.report(START).flows.len(), 1 << 17);
    assert_eq!(manager.counters()[Counter::Untracked], 0, "the oldest, which hold nothing, have gone");
}

#[test]
fn waits_for_virtual_length_over_service_rate() {
    let mut manager = inserted(|config| config.charge = evenair_manager::Charge::Bits);
    manager.handle_packet(START, 0, &data(0, 1));
    manager.handle_packet(START, 1, &data(0, 1449));
    // 1500 bytes and half an ACK of 52 bytes, at 4 Mb/s.
    assert_eq!(manager.poll_deadline(), Some((START + Span::from_micros(3_052), Reason::Release)));
}

#[test]
fn other_traffic_delays_tcp_by_its_medium_time() {
    let emptied = |other: &[PacketMeta]| {
        let mut manager = inserted(|_| {});
        (0..100).for_each(|k| manager.handle_packet(START, k, &data(0, 1 + k as u32 * SEGMENT as u32)));
        other.iter().for_each(|meta| manager.handle_packet(START, 1000, meta));
        time_to_empty(&mut manager, START) - START
    };
    let alone = emptied(&[]);
    let control = PacketMeta { control: Some(Control::Arp), ..foreign() };
    let unicast = emptied(&vec![control.clone(); 3]) - alone;
    let broadcast = emptied(&vec![udp(Port::Wire, MacAddr::BROADCAST); 3]) - alone;
    let from = PacketMeta { ingress: Port::Wlan, src: mac(0), dst: MacAddr([2, 0, 0, 0, 9, 9]), ..control };
    let from_station = emptied(&vec![from; 3]) - alone;
    assert_eq!(unicast, from_station);
    assert!(unicast > Span::from_millis(4) && unicast < Span::from_millis(12), "{unicast}");
    assert!(broadcast > unicast * 2, "{broadcast} at the lowest basic rate against {unicast}");
}

#[test]
fn the_same_addresses_in_two_vlans_are_two_connections() {
    let mut manager = inserted(|_| {});
    let [one, two] = [1, 2].map(|id| Some(Vlan::from(id)));
    for (number, vlan) in [None, one, two, one].into_iter().enumerate() {
        manager.handle_packet(START, number as u64, &PacketMeta { vlan, ..data(0, 1) });
    }
    let flows = manager.report(START).flows;
    assert_eq!(flows.iter().map(|flow| flow.vlan).collect::<Vec<_>>(), [None, one, two]);
}

#[test]
fn a_connection_between_two_stations_by_a_wired_router_is_one_of_each() {
    let mut manager = inserted(|_| {});
    let router = MacAddr([2, 0, 0, 0, 9, 1]);
    for k in 0..10 {
        let up = packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::ACK, 1 + k * SEGMENT as u32, 1, SEGMENT));
        let down = PacketMeta { ingress: Port::Wire, src: router, dst: mac(1), ..up.clone() };
        manager.handle_packet(START, u64::from(2 * k), &up);
        manager.handle_packet(START, u64::from(2 * k + 1), &down);
    }
    let mut flows: Vec<_> =
        manager.report(START).flows.iter().map(|flow| (flow.station, flow.direction, flow.backlog_packets)).collect();
    flows.sort();
    assert_eq!(flows, [(mac(0), Direction::Up, 0), (mac(1), Direction::Down, 9)]);
}

#[test]
fn a_short_report_has_the_most_recently_used_connections() {
    let mut manager = inserted(|_| {});
    for (number, flow) in [1, 2, 3, 2].into_iter().enumerate() {
        manager.handle_packet(START, number as u64, &data(flow, 1));
    }
    let (mut collection, mut part) = (Collection::new(2), Part::new(START));
    while manager.collect(START, &mut collection, 1, &mut part) {}
    let mut collected = Collected::default();
    collected.take(&mut part);
    let (all, recent) = (manager.report(START), collected.finish(manager.report_totals(START), 1_000));
    let keys = |flows: &[evenair_manager::FlowReport]| flows.iter().map(|flow| flow.key).collect::<Vec<_>>();
    assert_eq!(keys(&recent.flows), [keys(&all.flows)[1], keys(&all.flows)[2]], "in the order of use");
    assert_eq!(evenair_manager::Report { flows: all.flows.clone(), queues: all.queues.clone(), ..recent }, all);
}

#[test]
fn all_queues_together_are_bounded_and_unheld_packets_still_pass() {
    let mut manager = inserted(|config| (config.held_limit, config.sparse_first) = (Some(20), false));
    // Each connection is far below its own limit; the first packet is released at once.
    for number in 0..30 {
        manager.handle_packet(START, number, &data(number as u16, 1));
    }
    let lost: Vec<_> = (21..30).map(|number| (number, DropReason::QueueFull)).collect();
    assert_eq!(dropped(&drain(&mut manager)), lost);
    assert_eq!(manager.counters().held, 20);
    manager.handle_packet(START, 30, &PacketMeta { control: Some(Control::Arp), ..foreign() });
    assert_eq!(released(&drain(&mut manager)), [30]);
}

#[test]
fn a_full_queue_drops_data_at_the_tail() {
    let mut manager = inserted(|config| (config.queue_limit, config.sparse_first) = (Limit::Packets(3), false));
    // The first is released at once.
    (0..6).for_each(|k| manager.handle_packet(START, k, &data(0, 1 + k as u32 * SEGMENT as u32)));
    let outputs = drain(&mut manager);
    assert_eq!(dropped(&outputs), [(4, DropReason::QueueFull), (5, DropReason::QueueFull)]);
    manager.handle_packet(START, 6, &data(1, 1));
    assert!(dropped(&drain(&mut manager)).is_empty(), "the limit is each queue's own");
    assert_eq!(manager.report(START).flows[0].dropped, 2);
}

#[test]
fn of_four_duplicate_acks_in_a_row_the_last_goes() {
    let mut manager = inserted(|_| ());
    let duplicate = |reported: u32| {
        let mut meta = ack(0, 2);
        let Some(Transport::Tcp(tcp)) = meta.ip.as_mut().map(|ip| &mut ip.transport) else { unreachable!("an ACK") };
        tcp.sacked_to = Some(tcp.ack + (reported + 2) * SEGMENT as u32);
        meta
    };
    // The first is released at once, and so is not merged with those behind it.
    (0..10).for_each(|k| manager.handle_packet(START, k.into(), &duplicate(k)));
    let outputs = drain(&mut manager);
    let merged = [1, 2, 3, 5, 6, 7].map(|number| (number, DropReason::AckSuperseded));
    assert_eq!((released(&outputs), dropped(&outputs)), (vec![0], merged.to_vec()));
    // One that reports nothing new, or whose flags differ, is not merged, and neither is an ACK in order.
    manager.handle_packet(START, 10, &duplicate(9));
    let mut flagged = duplicate(10);
    let Some(Transport::Tcp(tcp)) = flagged.ip.as_mut().map(|ip| &mut ip.transport) else { unreachable!("an ACK") };
    tcp.flags = TcpFlags::ACK.with(TcpFlags::CWR);
    manager.handle_packet(START, 11, &flagged);
    manager.handle_packet(START, 12, &ack(0, 4));
    manager.handle_packet(START, 13, &ack(0, 6));
    assert_eq!(dropped(&drain(&mut manager)), []);
}

#[test]
fn a_full_queue_of_acks_drops_the_superseded_head() {
    // Four ACKs for each packet of the limit.
    let mut manager = inserted(|config| config.queue_limit = Limit::Packets(1));
    (0..7).for_each(|k| manager.handle_packet(START, u64::from(k), &ack(0, 2 * k)));
    let outputs = drain(&mut manager);
    assert_eq!(released(&outputs), [0]);
    assert_eq!(dropped(&outputs), [(1, DropReason::AckSuperseded), (2, DropReason::AckSuperseded)]);
    // A duplicate supersedes the older ones, but nothing supersedes a duplicate of the newest.
    (7..10).for_each(|k| manager.handle_packet(START, k, &ack(0, 12)));
    let heads = [3, 4, 5].map(|head| (head, DropReason::AckSuperseded));
    assert_eq!(dropped(&drain(&mut manager)), heads);
    manager.handle_packet(START, 10, &ack(0, 12));
    assert_eq!(dropped(&drain(&mut manager)), [(10, DropReason::QueueFull)]);
}

#[test]
fn an_upload_far_ahead_loses_one_packet_for_each_window() {
    let mut manager = inserted(|config| config.queue_limit = Limit::Packets(20));
    let up = |k: u32| packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::ACK, 1 + k * SEGMENT as u32, 1, SEGMENT));
    (0..100).for_each(|k| manager.handle_packet(START, u64::from(k), &up(k)));
    assert!(dropped(&drain(&mut manager)).is_empty(), "nothing is held for it yet");
    // The first ACK is released, ten stand for twenty segments.
    (1..=11).for_each(|k| manager.handle_packet(START, 100 + u64::from(k), &ack(0, 2 * k)));
    (100..103).for_each(|k| manager.handle_packet(START, 100 + u64::from(k), &up(k)));
    assert_eq!(dropped(&drain(&mut manager)), [(200, DropReason::SenderAhead)]);
}

#[test]
fn direction_follows_the_data() {
    let mut manager = inserted(|_| {});
    let direction = |manager: &Manager<u64>| manager.report(START).flows[0].direction;
    // The station calls: until there are data, the called end is expected to send.
    manager.handle_packet(START, 0, &packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::SYN, 0, 0, 0)));
    assert_eq!(direction(&manager), Direction::Down);
    manager.handle_packet(START, 1, &packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::ACK, 1, 1, SEGMENT)));
    assert_eq!(direction(&manager), Direction::Up);
    // It changes its direction while it holds packets: they move along, in order.
    (0..8).for_each(|k| manager.handle_packet(START, 2 + k, &data(0, 1 + k as u32 * SEGMENT as u32)));
    assert_eq!(direction(&manager), Direction::Down);
    let queues = manager.report(START).queues;
    assert_eq!(queues.len(), 1);
    assert_eq!((queues[0].direction, queues[0].packets), (Some(Direction::Down), 7));
    time_to_empty(&mut manager, START);
    let order = released(&drain(&mut manager));
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn another_connection_between_the_same_ports_starts_afresh() {
    let mut manager = inserted(|_| {});
    let upload = packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::ACK, 1, 1, SEGMENT));
    (0..100).for_each(|number| manager.handle_packet(START, number, &upload));
    assert_eq!(manager.report(START).flows[0].direction, Direction::Up);
    manager.handle_packet(START, 100, &packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::SYN, 7, 0, 0)));
    manager.handle_packet(START, 101, &data(0, 1));
    assert_eq!(manager.report(START).flows[0].direction, Direction::Down);
}

#[test]
fn a_connection_taken_up_in_the_middle_is_understood() {
    for (meta, expected) in [
        (data(0, 9), Direction::Down),
        (ack(0, 9), Direction::Up),
        (packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::ACK, 9, 9, SEGMENT)), Direction::Up),
        (packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::ACK, 9, 9, 0)), Direction::Down),
        (packet(Port::Wire, 0, 0, Segment::new(TcpFlags::SYN.with(TcpFlags::ACK), 9, 9, 0)), Direction::Down),
        (packet(Port::Wire, 0, 0, Segment::new(TcpFlags::SYN, 9, 9, 0)), Direction::Up),
    ] {
        let mut manager = inserted(|_| {});
        manager.handle_packet(START, 0, &meta);
        assert_eq!(manager.report(START).flows[0].direction, expected, "{meta:?}");
    }
}

#[test]
fn observed_rates_change_weights_and_capacity_at_once() {
    let mut manager = inserted(|_| {});
    for (station, number) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
        manager.handle_packet(
            START,
            number,
            &packet(Port::Wire, station, 0, Segment::new(TcpFlags::ACK, 1, 1, SEGMENT)),
        );
    }
    drain(&mut manager);
    manager.handle_observation(START, Observation::StationRate { mac: mac(1), rate: rate(1_000) });
    let report = manager.report(START);
    let [fast, slow] = [report.stations[0].capacity, report.stations[1].capacity];
    assert!(slow < fast);
    let expected = mixed_capacity(&[(fast.as_bps(), fast), (slow.as_bps(), slow)]);
    assert!(report.capacity.as_bps().abs_diff(expected.as_bps()) < 1_000, "{} for {expected}", report.capacity);
    let outputs = drain(&mut manager);
    assert!(outputs.iter().any(|output| matches!(output, Output::Event(Event::RateChanged { .. }))));

    manager.handle_observation(START, Observation::StationGone { mac: mac(1) });
    assert_eq!(manager.report(START).capacity, fast, "back to the configured rate");
}

#[test]
fn wrong_observations_and_configurations_are_refused() {
    let mut manager = inserted(|_| {});
    let ofdm = Standard::Dot11a.rate(BitRate::from_mbps(54)).unwrap();
    for (mac, rate) in [(mac(0), ofdm), (MacAddr::BROADCAST, rate(1_000))] {
        let observation = Observation::StationRate { mac, rate };
        manager.handle_observation(START, observation);
        assert_eq!(drain(&mut manager), [Output::Event(Event::ObservationRefused(observation))]);
    }
    let before = manager.report(START);
    let wrong = Config { policy: Policy::of([]), ..config(&[]) };
    let error = wrong.check().unwrap_err();
    manager.handle_command(START, Command::Reconfigure(wrong.into()));
    assert_eq!(drain(&mut manager), [Output::Event(Event::ConfigRefused(error))]);
    assert_eq!(manager.report(START), before);
}

#[test]
fn stations_are_learned_and_forgotten() {
    let mut manager = inserted(|_| {});
    let stranger = packet(Port::Wlan, 77, 0, Segment::new(TcpFlags::ACK, 1, 1, 0));
    manager.handle_packet(START, 0, &stranger);
    assert!(drain(&mut manager).contains(&Output::Event(Event::StationLearned(mac(77)))));
    assert!(manager.report(START).stations.iter().any(|s| s.mac == mac(77) && s.learned));
    // Its connection goes first, then the station itself; configured ones stay.
    for second in 1..400 {
        manager.handle_timeout(START + Span::from_secs(second));
    }
    let report = manager.report(START + Span::from_secs(400));
    assert_eq!((report.flows.len(), report.stations.len()), (0, 2));
}

#[test]
fn a_stations_addresses_are_learned_and_bounded() {
    let mut manager = inserted(|_| {});
    let from = |last: u8| {
        let mut meta = packet(Port::Wlan, 0, 0, Segment::new(TcpFlags::ACK, 1, 1, 0));
        meta.ip.as_mut().unwrap().src = std::net::IpAddr::from([10, 0, 0, last]);
        meta
    };
    let addresses = |manager: &Manager<u64>| -> Vec<String> {
        manager.report(START).stations[0].addresses.iter().map(ToString::to_string).collect()
    };
    [1, 2, 1].into_iter().for_each(|last| manager.handle_packet(START, 0, &from(last)));
    assert_eq!(addresses(&manager), ["10.0.0.1", "10.0.0.2"]);
    (1..=200).for_each(|last| manager.handle_packet(START, 0, &from(last)));
    let got = addresses(&manager);
    assert_eq!((got.len(), got[0].as_str(), got[7].as_str()), (8, "10.0.0.200", "10.0.0.193"));
    // No station is learned from destinations, nor from a missing or a group address.
    let mut nobody = from(1);
    nobody.ip.as_mut().unwrap().src = std::net::IpAddr::from([0, 0, 0, 0]);
    manager.handle_packet(START, 0, &nobody);
    assert_eq!(addresses(&manager), got);
    assert!(manager.report(START).stations[0].random_mac, "02:... is local");
}

#[test]
fn reconfiguring_keeps_held_packets_and_their_order() {
    let mut manager = inserted(|config| config.sparse_first = false);
    let mut number = 0;
    for k in 0..50 {
        for flow in 0..3 {
            manager.handle_packet(START, number, &data(flow, 1 + k * SEGMENT as u32));
            number += 1;
        }
    }
    let mut order = released(&drain(&mut manager));
    let held = manager.counters().held;
    let levels = vec![Level::Station { time_fair: false }];
    let controller = Controller::Fixed(BitRate::from_mbps(4));
    let config =
        Config { policy: Policy::of(levels), controller, queue_limit: Limit::Packets(1), ..config(&[rate(11_000); 2]) };
    manager.handle_command(START, Command::Reconfigure(config.into()));
    assert_eq!(manager.counters().held, held);
    assert_eq!(manager.report(START).queues.len(), 1);
    time_to_empty(&mut manager, START);
    order.extend(released(&drain(&mut manager)));
    assert_eq!(order.len(), 150);
    for flow in 0..3 {
        assert!(order.iter().filter(|n| *n % 3 == flow).is_sorted());
    }
}

#[test]
fn an_empty_box_is_bypassed_at_once_and_inserting_twice_is_nothing() {
    let mut manager = inserted(|_| {});
    manager.handle_command(START, Command::Insert);
    assert_eq!(drain(&mut manager), []);
    manager.handle_command(START, Command::Bypass);
    assert_eq!(drain(&mut manager), [Output::Event(Event::ModeChanged(Mode::Bypassed))]);
    manager.handle_command(START, Command::Bypass);
    assert_eq!(drain(&mut manager), []);
}

#[test]
fn inserting_while_draining_keeps_held_packets() {
    let mut manager = inserted(|_| {});
    (0..10).for_each(|k| manager.handle_packet(START, k, &data(0, 1 + k as u32 * SEGMENT as u32)));
    manager.handle_command(START, Command::Bypass);
    manager.handle_packet(START, 10, &data(0, 1 + 10 * SEGMENT as u32));
    assert_eq!((manager.mode(), manager.counters().held), (Mode::Draining, 10));
    manager.handle_command(START, Command::Insert);
    assert_eq!((manager.mode(), manager.counters().held), (Mode::Inserted, 10));
    time_to_empty(&mut manager, START);
    assert_eq!(released(&drain(&mut manager)), (0..11).collect::<Vec<_>>());
    assert_eq!(manager.mode(), Mode::Inserted);
}

#[test]
fn a_hundred_thousand_connections_are_tracked_and_the_table_is_bounded() {
    let mut manager = inserted(|config| config.sparse_first = false);
    let connection = |n: u32| {
        let mut meta = data(0, 1);
        meta.ip.as_mut().unwrap().src = std::net::IpAddr::from(n.to_be_bytes());
        meta
    };
    (0..100_000).for_each(|n| manager.handle_packet(START, u64::from(n), &connection(n)));
    assert_eq!(manager.report(START).flows.len(), 100_000);
    assert_eq!(manager.counters().held, 99_999);
    // All hold packets, so that none can be evicted: further ones are dropped.
    (100_000..150_000).for_each(|n| manager.handle_packet(START, u64::from(n), &connection(n)));
    let counters = manager.counters();
    assert_eq!(counters[Counter::Untracked] + counters.held, 149_999);
    assert_eq!(counters[Counter::Untracked], counters.dropped());
    assert_eq!(counters.received, counters.released + counters.dropped() + counters.held);
    // Once empty, the table has room.
    manager.handle_command(START, Command::Bypass);
    manager.handle_timeout(START + Span::from_secs(1));
    manager.handle_packet(START + Span::from_secs(1), 0, &connection(200_000));
    assert_eq!(manager.counters()[Counter::Untracked], counters[Counter::Untracked]);
}

#[test]
fn a_queue_of_many_stations_keeps_its_mixture_and_outlives_its_first_station() {
    let directions = Policy::of([Level::Direction { up: 1, down: 1 }]);
    let rates = [rate(11_000), rate(1_000)];
    let mut manager = Manager::new(Config { policy: directions, ..config(&rates) }, START);
    manager.handle_command(START, Command::Insert);
    let learned = MacAddr([2, 0, 0, 0, 9, 9]);
    manager.handle_packet(
        START,
        0,
        &PacketMeta { src: learned, ..packet(Port::Wlan, 7, 1, Segment::new(TcpFlags::ACK, 1, 1, 0)) },
    );
    manager.handle_packet(START, 0, &PacketMeta { dst: learned, ..data(7, 1) });
    assert!(manager.report(START).stations.iter().any(|station| station.mac == learned));
    let slow = |seq| packet(Port::Wire, 1, 1, Segment::new(TcpFlags::ACK, seq, 1, SEGMENT));
    manager.handle_packet(START, 1, &slow(1));
    let mut now = time_to_empty(&mut manager, START);
    let observe = |manager: &mut Manager<u64>, now, kbps| {
        manager.handle_observation(now, Observation::StationRate { mac: mac(0), rate: rate(kbps) });
        manager.report(now).capacity
    };
    let mixture = observe(&mut manager, now, 1_000);
    assert!((0..100).all(|k| observe(&mut manager, now, [11_000, 1_000][k % 2]) == mixture), "observed 100 times");

    // The first station goes; the second one's connection goes on.
    for seconds in 1..700 {
        now = now.max(START + Span::from_secs(seconds));
        manager.handle_packet(now, seconds + 1, &slow(1 + seconds as u32 * SEGMENT as u32));
        now = time_to_empty(&mut manager, now);
        manager.handle_timeout(now);
    }
    assert!(manager.report(now).stations.iter().all(|station| station.mac != learned), "it was forgotten");
    (0..100).for_each(|k| _ = observe(&mut manager, now, [11_000, 1_000][k % 2]));
    assert!(manager.report(now).capacity < mixture, "what the slow one is served at");
}

/// Two stations at so low a rate that packets arriving together take nearly a second, with CoDel at its defaults.
fn slow(kbps: u64) -> Manager<u64> {
    inserted(|config| {
        config.controller = Controller::Fixed(BitRate::from_kbps(kbps));
        config.aqm = Some(Config::AQM);
    })
}

/// DATA of an upload, and of a download's station toward the wire.
fn sent_up(flow: u16, seq: u32, payload: u64) -> PacketMeta {
    packet(Port::Wlan, 0, flow, Segment::new(TcpFlags::ACK, seq, 1, payload))
}

/// An upload of 60 segments whose ACKs, one for every second segment, are held, until half of them have gone.
fn standing_upload(manager: &mut Manager<u64>) -> Instant {
    let segment = SEGMENT as u32;
    (0..60).for_each(|k| manager.handle_packet(START, k, &sent_up(0, 1 + k as u32 * segment, SEGMENT)));
    (1..=30).for_each(|k| manager.handle_packet(START, 100 + k, &ack(0, 2 * k as u32)));
    let mut now = START;
    while manager.counters().held > 15 {
        (now, _) = manager.poll_deadline().unwrap();
        manager.handle_timeout(now);
    }
    drain(manager);
    now
}

#[test]
fn a_standing_download_loses_packets_or_is_marked_if_ecn_capable() {
    for ecn in [0, 2] {
        let mut manager = slow(800);
        for k in 0..60 {
            let mut meta = data(0, 1 + k as u32 * SEGMENT as u32);
            meta.ip.as_mut().unwrap().ecn = ecn;
            manager.handle_packet(START, k, &meta);
        }
        time_to_empty(&mut manager, START);
        let outputs = drain(&mut manager);
        let lost = dropped(&outputs);
        let is_marked = |output: &&Output<u64>| matches!(output, Output::Release { edits, .. } if edits.congestion);
        let marked = outputs.iter().filter(is_marked).count();
        assert!(lost.iter().all(|(_, reason)| *reason == DropReason::StandingQueue), "{lost:?}");
        let (signals, other) = if ecn == 0 { (lost.len(), marked) } else { (marked, lost.len()) };
        assert!((5..60).contains(&signals) && other == 0, "ECN {ecn}: {marked} marked, {} lost", lost.len());
        assert_eq!(manager.counters()[Counter::Marked], marked as u64);
        let counted: Vec<_> = manager.report(START).stations.iter().map(|station| station.counted).collect();
        assert_eq!(counted[0][StationCounter::Dropped], lost.len() as u64);
        assert_eq!(counted[0][StationCounter::Marked], marked as u64);
        assert!(counted[1..].iter().all(StationCounted::is_zero), "{counted:?}");
    }
}

#[test]
fn a_short_queue_gives_no_congestion_signal_however_long_it_stands() {
    let mut manager = slow(800);
    let mut now = START;
    // Four packets, and each one that leaves is replaced: only the service rate makes them wait.
    for k in 0..60 {
        manager.handle_packet(now, k, &data(0, 1 + k as u32 * SEGMENT as u32));
        while manager.counters().held >= 4 {
            (now, _) = manager.poll_deadline().unwrap();
            manager.handle_timeout(now);
        }
    }
    assert_eq!(dropped(&drain(&mut manager)), []);
    assert!(now > START + Span::from_millis(500), "{now:?}");
}

#[test]
fn a_standing_upload_gets_one_congestion_signal_in_a_window_by_its_next_new_data() {
    let mut manager = slow(1_000);
    let now = standing_upload(&mut manager);
    let next = 1 + 60 * SEGMENT as u32;
    manager.handle_packet(now, 200, &sent_up(0, next - SEGMENT as u32, SEGMENT));
    (0..3).for_each(|k| manager.handle_packet(now, 201 + k, &sent_up(0, next + k as u32 * SEGMENT as u32, SEGMENT)));
    assert_eq!(dropped(&drain(&mut manager)), [(201, DropReason::SenderAhead)], "the retransmission is spared");
}

#[test]
fn an_upload_whose_queue_has_gone_gets_no_congestion_signal() {
    let mut manager = slow(1_000);
    let now = standing_upload(&mut manager);
    let later = time_to_empty(&mut manager, now) + Span::from_secs(60);
    drain(&mut manager);
    manager.handle_packet(later, 300, &sent_up(0, 1 + 60 * SEGMENT as u32, 100));
    assert_eq!(dropped(&drain(&mut manager)), []);
}

#[test]
fn requests_of_a_downloading_station_get_no_signal() {
    let mut manager = slow(800);
    // DATA with acknowledgments in between: a connection that carries data both ways, mostly down.
    for k in 0..40 {
        manager.handle_packet(START, 2 * k, &data(0, 1 + k as u32 * SEGMENT as u32));
        manager.handle_packet(
            START,
            2 * k + 1,
            &packet(Port::Wire, 0, 0, Segment::new(TcpFlags::ACK, 1, 2 + k as u32, 0)),
        );
    }
    let mut request = 1;
    while manager.counters().held > 0 {
        let (now, _) = manager.poll_deadline().unwrap();
        manager.handle_timeout(now);
        manager.handle_packet(now, 1_000, &sent_up(0, request, 10));
        request += 10;
    }
    let lost = dropped(&drain(&mut manager));
    assert!(!lost.is_empty() && lost.iter().all(|(_, reason)| *reason == DropReason::StandingQueue), "{lost:?}");
}
