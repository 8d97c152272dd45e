//! All traffic crosses the box unchanged.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::causes::LossReason;
use evenair_sys::iface;
use evenair_sys::netns::Netns;
use evenair_sys::ring::{Ring, Sender};

use crate::lab::{Lab, SINK, SOURCE};

const BROADCAST: [u8; 6] = [0xff; 6];
/// Port access entity group address of IEEE 802.1X, which a bridge does not forward.
const PAE_GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 3];

fn frame(to: [u8; 6], behind_addresses: &[u8], len: usize) -> Vec<u8> {
    let mut frame = [&to[..], &SOURCE, behind_addresses].concat();
    let from = frame.len();
    frame.resize(len, 0);
    frame[from..].iter_mut().zip(0..).for_each(|(byte, n): (_, usize)| *byte = (n * 7) as u8);
    frame
}

/// To an address that no host here has, so that nobody replies.
const V4: [u8; 30] =
    [8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0x66, 0x5f, 10, 9, 0, 1, 10, 9, 0, 77, 0, 9, 0, 9, 0, 26, 0, 0];
const V6: [u8; 10] = [0x86, 0xdd, 0x60, 0, 0, 0, 0, 6, 59, 64];

/// An IPv6 header between two made-up addresses, and its payload.
fn v6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x86, 0xdd, 0x60, 0, 0, 0, 0, payload.len() as u8, next, 64];
    bytes.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    bytes.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 77]);
    bytes.extend(payload);
    bytes
}

/// Frames of every kind that a bridge forwards, too.
fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("unknown EtherType", frame(SINK, &[0x88, 0xb5], 60)),
        ("largest", frame(SINK, &[0x88, 0xb5], 1514)),
        ("shortest header only", frame(SINK, &[0x88, 0xb5], 14)),
        ("IPv4 UDP", frame(SINK, &V4, 60)),
        ("IPv6", frame(SINK, &V6, 60)),
        ("ARP, broadcast", frame(BROADCAST, &[0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1], 60)),
        ("VLAN 5, priority 3", frame(SINK, &[0x81, 0x00, 0x60, 0x05, 0x88, 0xb5], 64)),
        ("VLAN 0 (priority only)", frame(SINK, &[0x81, 0x00, 0xe0, 0x00, 0x88, 0xb5], 64)),
        ("largest with a tag", frame(SINK, &[0x81, 0x00, 0x00, 0x05, 0x88, 0xb5], 1518)),
        ("provider tag and VLAN", frame(SINK, &[0x88, 0xa8, 0, 9, 0x81, 0x00, 0, 5, 0x88, 0xb5], 68)),
        ("IEEE 802.3 with LLC", frame(SINK, &[0, 46, 0x42, 0x42, 3], 60)),
        ("IPv4 multicast", frame([0x01, 0, 0x5e, 0, 0, 1], &V4, 60)),
        ("IPv6, hop-by-hop options", frame(SINK, &v6(0, &[17, 0, 5, 2, 0, 0, 1, 0, 0, 9, 0, 9, 0, 8, 0, 0]), 70)),
        ("neighbour solicitation", frame([0x33, 0x33, 0xff, 0, 0, 1], &v6(58, &[135, 0, 0, 0, 0, 0, 0, 0]), 62)),
        ("IPv4 UDP in a VLAN", frame(SINK, &[&[0x81, 0, 0, 5][..], &V4].concat(), 64)),
        ("IPv4 UDP in two VLANs", frame(SINK, &[&[0x88, 0xa8, 0, 9, 0x81, 0, 0, 5][..], &V4].concat(), 68)),
    ]
}

/// Sends the frames one by one at the source; returns those that the sink receives.
fn pass(lab: &Lab, frames: &[(&'static str, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut ring =
        lab.sink.run(|| Ring::open(&iface::find("k0").expect("laid"), 1024).expect("root")).expect("entered");
    ring.start().expect("up");
    let sender = lab.source.run(|| Sender::open(&iface::find("s0").expect("laid"), 1 << 20)).expect("entered");
    let sender = sender.expect("root");
    for (_, frame) in frames {
        assert_eq!(sender.send([&frame[..]]), Ok(1));
    }
    let (mut arrived, start) = (Vec::new(), Instant::now());
    while arrived.len() < frames.len() && start.elapsed() < Duration::from_secs(20) {
        let Some(frame) = ring.next_frame() else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let mut bytes = vec![0; 16_384];
        let len = frame.copy_to(&mut bytes).expect("whole");
        bytes.truncate(len);
        if bytes[6..12] == SOURCE {
            arrived.push(bytes);
        }
    }
    arrived
}

/// Sends frames of this length, of IP and of other protocols, and asserts that they cross unchanged.
pub fn largest_cross(lab: &Lab, len: usize) {
    let ip_len = u16::try_from(len - 14).expect("an IP packet's length").to_be_bytes();
    let frames = [
        ("another protocol", frame(SINK, &[0x88, 0xb5], len)),
        ("in a VLAN", frame(SINK, &[0x81, 0x00, 0x00, 0x05, 0x88, 0xb5], len + 4)),
        ("IPv4 UDP", frame(SINK, &[&V4[..4], &ip_len, &V4[6..12], &[0, 0], &V4[14..]].concat(), len)),
    ];
    let mut frames = frames.to_vec();
    checksum(&mut frames[2].1[14..34]);
    let arrived = pass(lab, &frames);
    for ((what, sent), arrived) in frames.iter().zip(&arrived) {
        assert!(arrived == sent, "{what} of {len} bytes");
    }
    assert_eq!(arrived.len(), frames.len());
}

/// Writes the checksum of an IPv4 header (RFC 1071).
fn checksum(header: &mut [u8]) {
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// Frames that a bridge does not forward, and the box does.
fn odd_kinds() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("802.1X", frame(PAE_GROUP, &[0x88, 0x8e, 2, 1], 60)),
        ("LLDP", frame([0x01, 0x80, 0xc2, 0, 0, 0x0e], &[0x88, 0xcc, 2, 7], 60)),
        ("spanning tree", frame([0x01, 0x80, 0xc2, 0, 0, 0], &[0, 38, 0x42, 0x42, 3], 60)),
        // If a firewall inspects forwarded packets, it reassembles fragments.
        ("IPv4, first fragment", frame(SINK, &[&V4[..8], &[0x20, 0], &V4[10..]].concat(), 60)),
        ("IPv4, later fragment", frame(SINK, &[&V4[..8], &[0x00, 0x10], &V4[10..]].concat(), 60)),
        ("IPv4, ESP", frame(SINK, &[&V4[..11], &[50], &V4[12..]].concat(), 60)),
        ("IPv6, fragment", frame(SINK, &v6(44, &[17, 0, 0, 1, 0, 0, 0, 7, 0, 9, 0, 9, 0, 8, 0, 0]), 70)),
        ("IPv4, header cut short", frame(SINK, &V4[..8], 22)),
        ("IPv4, wrong checksum", frame(SINK, &[&V4[..12], &[1, 2], &V4[14..]].concat(), 60)),
        ("IPv6, cut short", frame(SINK, &V6, 30)),
    ]
}

#[test]
fn frames_of_every_kind_cross_unchanged() {
    let Some(lab) = Lab::new() else { return };
    // Without the guard's measurement, a bypassed box gets no copies of the bridge's packets, and counts none.
    let running = lab.start_box("controller=none");
    let mut client = running.client();
    for inserted in [false, true] {
        if inserted {
            client.insert().expect("inserted");
        }
        let mut kinds = kinds();
        if inserted {
            kinds.extend(odd_kinds());
        }
        let mut arrived = pass(&lab, &kinds);
        if crate::IO != "af-packet" {
            // Frames to groups take another path, and may come before or after other ones.
            kinds.sort_by_key(|(_, frame)| frame[0] & 1);
            arrived.sort_by_key(|frame| frame[0] & 1);
        }
        let mut arrived = VecDeque::from(arrived);
        for (what, sent) in &kinds {
            assert_eq!(arrived.pop_front().as_ref(), Some(sent), "{what}, inserted: {inserted}");
        }
    }
    let status = client.shutdown().expect("ends");
    let crossed = (kinds().len() + odd_kinds().len()) as u64;
    assert_eq!((status.packets.received, status.packets.sent), (crossed, crossed));
    let kinds = status.kinds;
    assert_eq!(
        kinds.named()[..7].iter().map(|(_, count)| count).sum::<u64>(),
        crossed,
        "each is of one kind: {kinds:?}"
    );
    assert_eq!((kinds.arp, kinds.eapol, kinds.link_group), (1, 1, 2), "{kinds:?}");
    // A sixth has a priority tag.
    assert_eq!((kinds.fragment, kinds.tagged, kinds.group), (3, 5, 6), "{kinds:?}");
    assert_eq!((kinds.broken_ip, kinds.opaque), (2, 2), "{kinds:?}");
}

/// Bytes of a block of a transfer.
const BLOCK: usize = 64 << 10;

/// Transfers `len` bytes from a client in one namespace to a server in another; returns the throughput in Mb/s.
pub fn transfer(client: &Netns, server: &Netns, address: &str, len: usize) -> f64 {
    transfer_blocks(client, server, address, |sent| BLOCK.min(len - sent))
}

/// The same until `ended`, so that the transfer outlasts the test's other work on a slow machine; for a minute at most, so that a failing
/// test ends.
pub fn transfer_until(client: &Netns, server: &Netns, address: &str, ended: &AtomicBool) -> f64 {
    let start = Instant::now();
    let goes_on = || !ended.load(Ordering::Relaxed) && start.elapsed() < Duration::from_secs(60);
    transfer_blocks(client, server, address, |_| if goes_on() { BLOCK } else { 0 })
}

/// Transfers blocks; `next` maps the bytes sent so far to the size of the next block, zero for the end. All must arrive unchanged.
fn transfer_blocks(client: &Netns, server: &Netns, address: &str, next: impl Fn(usize) -> usize) -> f64 {
    let address: SocketAddr = address.parse().expect("an address");
    let listener = server.run(|| TcpListener::bind(address)).expect("entered").expect("free");
    // Repeats itself every 2,048 bytes, and so in every block.
    let block: Vec<u8> = (0..BLOCK).map(|n| ((n * 31) >> 3) as u8).collect();
    thread::scope(|scope| {
        let sink = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut bytes = Vec::new();
            let mut received = 0;
            while Read::take(&mut stream, BLOCK as u64).read_to_end(&mut bytes).expect("whole") > 0 {
                assert!(bytes == block[..bytes.len()], "the bytes arrived as they were sent");
                received += bytes.len();
                bytes.clear();
            }
            received
        });
        let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(20));
        let mut stream = client.run(connect).expect("entered").expect("connects");
        let start = Instant::now();
        let mut sent = 0;
        loop {
            let len = next(sent);
            if len == 0 {
                break;
            }
            stream.write_all(&block[..len]).expect("taken");
            sent += len;
        }
        drop(stream);
        assert_eq!(sink.join().expect("no panic"), sent, "all bytes arrived");
        sent as f64 * 8.0 / start.elapsed().as_secs_f64() / 1e6
    })
}

#[test]
fn tcp_crosses_a_bypassed_and_an_inserted_box_both_ways() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("controller=published");
    let mut client = running.client();
    let free = transfer(&lab.source, &lab.sink, "10.9.0.2:5001", 4 << 20);
    client.insert().expect("inserted");
    let up = transfer(&lab.source, &lab.sink, "10.9.0.2:5002", 1 << 20);
    let down = transfer(&lab.sink, &lab.source, "10.9.0.1:5003", 1 << 20);
    let status = client.status().expect("answers");
    println!("TCP: bridge {free:.0}, box up {up:.1} and down {down:.1} Mb/s; {:?}", status.pacing);
    assert_eq!(status.flows.len(), 2, "{:?}", status.flows);
    assert_eq!(status.stations.iter().map(|s| s.mac.as_str()).collect::<Vec<_>>(), ["02:00:00:00:00:0a"]);
    assert!(up < 60.0 && down < 60.0, "an 802.11g cell's rate: {up} and {down} Mb/s");
    let packets = client.shutdown().expect("ends").packets;
    assert!(
        packets.conserved && packets.losses[LossReason::TooLong] == 0 && packets.losses[LossReason::PoolFull] == 0,
        "{packets:?}"
    );
}

#[test]
fn a_connection_lives_through_insertion_and_bypass() {
    let Some(lab) = Lab::new() else { return };
    let running = lab.start_box("");
    let mut client = running.client();
    let changed = AtomicBool::new(false);
    thread::scope(|scope| {
        let moving = scope.spawn(|| transfer_until(&lab.sink, &lab.source, "10.9.0.1:5004", &changed));
        for _ in 0..5 {
            client.insert().expect("inserted");
            thread::sleep(Duration::from_millis(200));
            client.bypass().expect("bypassed");
            thread::sleep(Duration::from_millis(5));
        }
        changed.store(true, Ordering::Relaxed);
        moving.join().expect("whole");
    });
    let packets = client.shutdown().expect("ends").packets;
    assert!(packets.conserved, "{packets:?}");
    assert_eq!(
        (
            packets.losses[LossReason::RingFull],
            packets.losses[LossReason::PoolFull],
            packets.losses[LossReason::SendRefused]
        ),
        (0, 0, 0)
    );
}

#[test]
fn the_machine_itself_stays_reachable() {
    let Some(lab) = Lab::new() else { return };
    let _running = lab.start_box("inserted=true");
    // Address resolution is by broadcast, the connection to the bridge's own address.
    transfer(&lab.source, &lab.middle, "10.9.0.254:22", 100_000);
    transfer(&lab.middle, &lab.sink, "10.9.0.2:5005", 100_000);
}

#[test]
fn a_replay_of_live_traffic_decides_the_same() {
    let Some(lab) = Lab::new() else { return };
    let file = lab.file("recording");
    let running = lab.start_box(&format!("record={}", file.display()));
    let mut client = running.client();
    client.insert().expect("inserted");
    transfer(&lab.source, &lab.sink, "10.9.0.2:5006", 1 << 20);
    client.set_rate(evenair_packet::MacAddr(SOURCE), evenair_units::BitRate::from_mbps(54)).expect("taken");
    transfer(&lab.sink, &lab.source, "10.9.0.1:5007", 1 << 20);
    client.bypass().expect("bypassed");
    client.insert().expect("inserted again");
    transfer(&lab.sink, &lab.source, "10.9.0.1:5008", 100_000);
    let status = client.shutdown().expect("ends");
    let recording = status.recording.expect("there is one");
    let replay = evenair_live::replay(&file).expect("a recording");
    println!("recorded {} bytes, decisions {}, replayed {}", recording.bytes, recording.digest, replay.digest);
    assert_eq!((recording.stopped, &replay.digest), (None, &recording.digest));
    assert!(replay.is_identical() && status.packets.received > 1000, "{replay:?}");
}
