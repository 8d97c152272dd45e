//! Receiver control through the manager: which windows are lowered, which ACKs are held, and that no packet overtakes
//! them.

use evenair_manager::{
    Command, Config, Controller, Counter, DelayLaw, Manager, Mode, Output, Reason, ReceiverConfig, WindowLaw,
};
use evenair_packet::{PacketMeta, Port, TcpFlags, Transport};
use evenair_units::{Bytes, Instant, Limit, Span};

use crate::world::{SEGMENT, Segment, config, packet, rate};

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;
const HELD: Span = Span::from_millis(100);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

const fn receiver(window: Option<WindowLaw>, delay: Option<DelayLaw>) -> ReceiverConfig {
    ReceiverConfig { window, delay, uploads: false }
}

/// Two stations; nothing is held toward the WLAN.
fn with(receiver: ReceiverConfig) -> Config {
    Config { controller: Controller::None, receiver: Some(receiver), ..config(&[rate(11_000); 2]) }
}

/// An inserted manager.
fn manager(config: Config) -> Manager<u64> {
    let mut manager = Manager::new(config, Instant::ZERO);
    manager.handle_command(Instant::ZERO, Command::Insert);
    released(&mut manager);
    manager
}

/// Released packets, with their windows where lowered.
fn released(manager: &mut Manager<u64>) -> Vec<(u64, Option<u16>)> {
    let left = |output| match output {
        Output::Release { packet, edits, .. } => Some((packet, edits.window)),
        _ => None,
    };
    core::iter::from_fn(|| manager.poll_output()).filter_map(left).collect()
}

fn put(manager: &mut Manager<u64>, ms: u64, number: u64, meta: &PacketMeta) -> Vec<(u64, Option<u16>)> {
    manager.handle_packet(at(ms), number, meta);
    released(manager)
}

fn from_wlan(flow: u16, flags: TcpFlags, numbers: (u32, u32), payload: u64) -> PacketMeta {
    packet(Port::Wlan, 0, flow, Segment::new(flags, numbers.0, numbers.1, payload))
}

fn from_wire(flow: u16, flags: TcpFlags, numbers: (u32, u32), payload: u64) -> PacketMeta {
    packet(Port::Wire, 0, flow, Segment::new(flags, numbers.0, numbers.1, payload))
}

/// An ACK of so many segments of a download.
fn ack(flow: u16, segments: u32) -> PacketMeta {
    from_wlan(flow, ACK, (1, 1 + segments * SEGMENT as u32), 0)
}

fn syn(mut meta: PacketMeta) -> PacketMeta {
    let Some(Transport::Tcp(tcp)) = meta.ip.as_mut().map(|ip| &mut ip.transport) else { panic!("TCP") };
    (tcp.window_scale, tcp.mss) = (Some(5), Some(1460));
    meta
}

/// A station opens a connection and downloads a segment of it, in packets 0 to 3.
fn download(manager: &mut Manager<u64>, flow: u16) -> Vec<(u64, Option<u16>)> {
    let mut left = put(manager, 0, 0, &syn(from_wlan(flow, SYN, (0, 0), 0)));
    left.extend(put(manager, 0, 1, &syn(from_wire(flow, SYN.with(ACK), (0, 1), 0))));
    left.extend(put(manager, 0, 2, &from_wlan(flow, ACK, (1, 1), 0)));
    left.extend(put(manager, 0, 3, &from_wire(flow, ACK, (1, 1), SEGMENT)));
    left
}

#[test]
fn windows_from_the_wlan_are_lowered_and_no_packet_waits() {
    let five = WindowLaw::Fixed(Limit::Packets(5));
    let mut manager = manager(with(receiver(Some(five), None)));
    // 60,000 bytes in the SYN, then 60,000 units of 32 bytes; 7,300 bytes are 228.1 units.
    assert_eq!(download(&mut manager, 0), [(0, Some(7_300)), (1, None), (2, Some(229)), (3, None)]);
    assert_eq!(put(&mut manager, 9, 4, &ack(0, 1)), [(4, Some(229))]);
    let report = manager.report(at(9)).receiver.unwrap();
    assert_eq!((report.window, report.delay, report.held), (Some(Bytes(7_300)), None, 0));
    assert_eq!(manager.counters()[Counter::WindowsLowered], 3);
    manager.handle_timeout(at(1_000));
    let report = manager.report(at(1_000)).receiver.unwrap();
    assert_eq!((report.flows, report.clamped_flows), (1, 1));
}

#[test]
fn the_access_points_buffer_is_shared_by_the_flows() {
    let law = WindowLaw::ShareOf(Limit::Packets(30));
    let mut manager = manager(with(ReceiverConfig { uploads: true, ..receiver(Some(law), None) }));
    let windows = |left: Vec<(u64, Option<u16>)>| left.iter().map(|&(_, window)| window).collect::<Vec<_>>();
    let segments = |count: u64| Some((count * 1460).div_ceil(32) as u16);
    let first = windows(download(&mut manager, 0));
    assert_eq!(first, [Some(43_800), Some(43_800), segments(30), segments(30)]);
    (1..4).for_each(|flow| _ = download(&mut manager, flow));
    let read = u32::try_from(31 * SEGMENT).unwrap();
    assert_eq!(
        windows(put(&mut manager, 1, 4, &from_wlan(0, ACK, (1, read), 0))),
        [segments(7)],
        "30 / 4, and no part"
    );
    for flow in 1..3 {
        put(&mut manager, 2, 5, &from_wlan(flow, ACK.with(TcpFlags::FIN), (1, 1), 0));
    }
    manager.handle_timeout(at(1_000));
    assert_eq!(windows(put(&mut manager, 1_001, 6, &from_wlan(0, ACK, (1, 2 * read), 0))), [segments(15)]);
}

#[test]
fn acks_of_downloads_are_held_and_no_packet_of_their_flow_passes_them() {
    let mut manager = manager(with(receiver(None, Some(DelayLaw::Fixed(HELD)))));
    assert_eq!(download(&mut manager, 0).len(), 4, "a handshake does not wait");
    download(&mut manager, 1);
    assert!(put(&mut manager, 10, 4, &ack(0, 1)).is_empty());
    assert!(put(&mut manager, 20, 5, &ack(0, 1)).is_empty(), "a duplicate waits as well");
    assert!(put(&mut manager, 30, 6, &from_wlan(0, ACK, (1, 1), 100)).is_empty(), "a request waits behind them");
    assert!(put(&mut manager, 30, 7, &from_wlan(0, ACK.with(TcpFlags::FIN), (101, 1), 0)).is_empty());
    assert_eq!(put(&mut manager, 30, 8, &from_wlan(1, ACK, (1, 1), 100)), [(8, None)], "of another flow it does not");
    assert_eq!(put(&mut manager, 30, 9, &from_wire(0, ACK, (1, 1), SEGMENT)), [(9, None)], "nor toward the WLAN");
    assert_eq!((manager.counters().held, manager.report(at(30)).receiver.unwrap().held), (4, 4));
    assert_eq!(manager.poll_deadline(), Some((at(110), Reason::Release)));
    manager.handle_timeout(at(110));
    assert_eq!(released(&mut manager), [(4, None)]);
    manager.handle_timeout(at(120));
    assert_eq!(released(&mut manager), [(5, None), (6, None), (7, None)], "behind the last ACK, not later");
    assert_eq!((manager.counters().held, manager.counters()[Counter::AcksDelayed]), (0, 2));
}

#[test]
fn acks_of_uploads_and_datagrams_do_not_wait() {
    let mut manager = manager(with(receiver(None, Some(DelayLaw::Fixed(HELD)))));
    for k in 0..20 {
        put(&mut manager, 0, k, &from_wlan(0, ACK, (1 + k as u32 * SEGMENT as u32, 1), SEGMENT));
    }
    assert_eq!(put(&mut manager, 1, 90, &from_wlan(0, ACK, (30_000, 1), 0)), [(90, None)]);
    let mut udp = from_wlan(0, ACK, (0, 0), 100);
    let ip = udp.ip.as_mut().unwrap();
    (ip.protocol, ip.transport) = (17, Transport::Udp { src_port: 1, dst_port: 2 });
    assert_eq!(put(&mut manager, 1, 91, &udp), [(91, None)]);
}

#[test]
fn without_room_the_first_held_packet_leaves_early() {
    let mut manager = manager(Config { held_limit: Some(3), ..with(receiver(None, Some(DelayLaw::Fixed(HELD)))) });
    download(&mut manager, 0);
    for k in 0..3 {
        assert!(put(&mut manager, 10, 10 + k, &ack(0, 1)).is_empty());
    }
    assert_eq!(put(&mut manager, 11, 13, &ack(0, 1)), [(10, None)]);
    assert_eq!(manager.counters().held, 3);
}

#[test]
fn a_bypass_drains_held_packets_and_holds_no_more() {
    let mut manager = manager(with(receiver(None, Some(DelayLaw::Fixed(HELD)))));
    download(&mut manager, 0);
    put(&mut manager, 10, 4, &ack(0, 1));
    manager.handle_command(at(20), Command::Bypass);
    assert_eq!(manager.mode(), Mode::Draining);
    assert!(put(&mut manager, 30, 5, &ack(0, 1)).is_empty(), "nothing passes");
    manager.handle_timeout(at(110));
    assert_eq!(released(&mut manager), [(4, None), (5, None)]);
    assert_eq!(manager.mode(), Mode::Bypassed);

    let drain_limit = Span::from_millis(50);
    let mut manager = self::manager(Config { drain_limit, ..with(receiver(None, Some(DelayLaw::Fixed(HELD)))) });
    download(&mut manager, 0);
    put(&mut manager, 10, 4, &ack(0, 1));
    manager.handle_command(at(20), Command::Bypass);
    manager.handle_timeout(at(70));
    assert_eq!((released(&mut manager), manager.mode()), (vec![(4, None)], Mode::Bypassed), "patience ends");
}

#[test]
fn another_configuration_takes_over_held_packets() {
    let mut manager = manager(with(receiver(None, Some(DelayLaw::Fixed(HELD)))));
    download(&mut manager, 0);
    put(&mut manager, 10, 4, &ack(0, 1));
    let short = DelayLaw::Fixed(Span::from_millis(20));
    manager.handle_command(at(20), Command::Reconfigure(with(receiver(None, Some(short))).into()));
    assert!(put(&mut manager, 30, 5, &ack(0, 1)).is_empty());
    manager.handle_timeout(at(109));
    assert!(released(&mut manager).is_empty());
    manager
        .handle_command(at(109), Command::Reconfigure(Config { receiver: None, ..with(receiver(None, None)) }.into()));
    assert_eq!(manager.report(at(109)).receiver.map(|report| report.held), Some(2));
    manager.handle_timeout(at(110));
    assert_eq!(released(&mut manager), [(4, None), (5, None)]);
    assert_eq!(manager.report(at(110)).receiver, None);
    let wrong = with(receiver(None, None));
    manager.handle_command(at(120), Command::Reconfigure(wrong.into()));
    assert!(matches!(manager.poll_output(), Some(Output::Event(evenair_manager::Event::ConfigRefused(_)))));
}
