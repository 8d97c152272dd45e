//! Traces from various sources: captures of several tools and devices, tables, compressed files.

use std::io::Write;
use std::path::{Path, PathBuf};

use evenair_units::Span;
use evenair_workload::Direction;
use evenair_workload::trace::{Filter, Trace, TracedPacket, read};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

const UP: Filter = Filter { host: None, direction: Direction::Up };

fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/data", name].iter().collect()
}

fn bytes_of(name: &str) -> Vec<u8> {
    std::fs::read(data(name)).unwrap()
}

fn read_bytes(bytes: &[u8], filter: Filter) -> Result<Trace, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    read(file.path(), filter)
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Packets of this size, a millisecond apart.
fn every_millisecond(packets: u64, ip_len: u32) -> Vec<TracedPacket> {
    (0..packets).map(|index| TracedPacket { at: Span::from_millis(index), ip_len }).collect()
}

/// Eleven packets of 200 bytes a millisecond apart, 1.6 Mb/s, whatever the units of the file's times.
#[test]
fn captures_are_played_at_their_own_speed() {
    let names = ["trace-us.pcap", "trace-us.pcapng", "trace-us-option.pcapng", "trace-ns.pcapng", "trace-pppoe.pcap"];
    for name in names {
        let expected = Trace { packets: every_millisecond(11, 200), cut: None };
        assert_eq!(read(&data(name), UP), Ok(expected.clone()), "{name}");
        assert_eq!(read_bytes(&gzipped(&bytes_of(name)), UP), Ok(expected), "{name}, gzipped");
    }
}

#[test]
fn a_capture_of_all_devices_is_read() {
    let packets = read(&data("trace-any-sll2.pcap"), UP).unwrap().packets;
    let sizes: Vec<_> = packets.iter().map(|packet| packet.ip_len).collect();
    assert_eq!(sizes, [228, 256, 228, 256, 228, 256]);
    let times: Vec<_> = packets.iter().map(|packet| packet.at.as_nanos() / 1000).collect();
    assert_eq!(times, [0, 253, 10_423, 10_438, 20_588, 20_602]);
}

#[test]
fn a_trace_that_is_cut_is_read_up_to_there() {
    let whole = bytes_of("trace-us.pcap");
    let trace = read_bytes(&whole[..whole.len() - 1], UP).unwrap();
    assert_eq!(trace.packets, every_millisecond(10, 200));
    let cut = trace.cut.expect("a cut").to_string();
    assert!(cut.ends_with("ends within packet 11; the 10 before it are used"), "{cut}");
}

#[test]
fn a_table_may_be_compressed() {
    let table = b"0.5, 100, up\n0.501, 100\n";
    assert_eq!(read_bytes(&gzipped(table), UP).unwrap().packets, every_millisecond(2, 100));
}

/// An IPv4 packet of 100 bytes from 10.0.0.1 to 10.0.0.2, of which only the header was captured.
fn ipv4() -> Vec<u8> {
    [&[0x45, 0, 0, 100][..], &[0; 8], &[10, 0, 0, 1, 10, 0, 0, 2]].concat()
}

/// An IPv6 packet of 100 bytes.
fn ipv6() -> Vec<u8> {
    [&[0x60, 0, 0, 0, 0, 60, 17, 64][..], &[1; 16], &[2; 16]].concat()
}

/// A pcap file in microseconds, with packets that all have the time 1 s.
fn pcap(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link]);
    for packet in packets {
        file.extend(words(&[1, 0, packet.len() as u32, packet.len() as u32]));
        file.extend(packet);
    }
    file
}

fn ethernet(ether_type: u16, after: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &ether_type.to_be_bytes(), after].concat()
}

#[test]
fn ip_is_found_below_all_supported_headers() {
    let with = |before: &[u8], packet: Vec<u8>| [before, &packet].concat();
    let service_vlan = with(&[0, 5, 0x81, 0, 0, 6, 0x86, 0xdd], ipv6());
    let labels = with(&[0, 1, 0, 64, 0, 2, 1, 64], ipv6());
    let ppp_of_ipv6 = with(&[0x11, 0, 0, 7, 0, 102, 0, 0x57], ipv6());
    let snap = with(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], ipv4());
    let cases = [
        (1, ethernet(0x0800, &ipv4())),
        (1, ethernet(0x8100, &with(&[0, 5, 8, 0], ipv4()))),
        (1, ethernet(0x88a8, &service_vlan)),
        (1, ethernet(0x8847, &labels)),
        (1, ethernet(0x8864, &ppp_of_ipv6)),
        (1, ethernet(108, &snap)),
        (101, ipv4()),
        (12, ipv6()),
        (14, ipv4()),
        (228, ipv4()),
        (229, ipv6()),
        (113, with(&[&[0; 14][..], &[8, 0]].concat(), ipv4())),
        (276, with(&[&[0x86, 0xdd][..], &[0; 18]].concat(), ipv6())),
        (0, with(&[2, 0, 0, 0], ipv4())),
        (0, with(&[0, 0, 0, 30], ipv6())),
        (108, with(&[0, 0, 0, 24], ipv6())),
    ];
    for (link, packet) in cases {
        let file = pcap(link, std::slice::from_ref(&packet));
        assert_eq!(
            read_bytes(&file, UP).map(|trace| trace.packets),
            Ok(every_millisecond(1, 100)),
            "{link} {packet:?}"
        );
        // However short, it must not panic.
        for end in 0..packet.len() {
            let short = read_bytes(&pcap(link, &[packet[..end].to_vec()]), UP);
            assert!(
                short.is_err_and(|error| error.contains("none of its 1 packets counts: 1 are not IP")),
                "{link} {end}"
            );
        }
    }
}

/// A segment that a device is to cut has no length in its header; the file has it.
#[test]
fn segments_without_a_length_have_that_of_the_capture() {
    let mut segment = ipv4();
    segment[2..4].fill(0);
    segment.resize(3000, 0);
    assert_eq!(read_bytes(&pcap(1, &[ethernet(0x0800, &segment)]), UP).unwrap().packets[0].ip_len, 3000);
}

#[test]
fn other_link_types_are_named_with_what_to_capture() {
    for (link, name) in
        [(105, "IEEE 802.11 Wireless LAN"), (189, "USB packets with Linux header"), (999, "link type 999")]
    {
        let error = read_bytes(&pcap(link, &[ipv4()]), UP).unwrap_err();
        let why = format!(
            "its link type is \"{name}\", of which no IP packets are read: capture on a device that carries IP"
        );
        assert!(error.contains(&why) && error.contains("tcpdump -i eth0"), "{error}");
    }
}

#[test]
fn the_reason_why_nothing_counts_is_said() {
    let mut packets = vec![ethernet(0x0806, &[0; 28]); 3];
    packets.extend([ethernet(0x888e, &[0; 4]), ethernet(38, &[0x42, 0x42, 3]), ethernet(0x88b5, &[]), Vec::new()]);
    packets.extend([ethernet(0x0800, &[0; 20]), ethernet(0x8864, &[0x11, 0, 0, 7, 0, 4, 0xc0, 0x21])]);
    let error = read_bytes(&pcap(1, &packets), UP).unwrap_err();
    assert!(error.contains("none of its 9 packets counts: 9 are not IP (3 ARP, 1 "), "{error}");
    assert!(error.contains("EAPOL (802.1X)") && error.ends_with(" others)"), "{error}");
    let from = |host: &str, direction| {
        let filter = Filter { host: Some(host.parse().unwrap()), direction };
        read_bytes(&pcap(1, &[ethernet(0x0800, &ipv4()), packets[0].clone()]), filter)
    };
    assert!(from("10.0.0.1", Direction::Up).is_ok());
    let error = from("10.0.0.1", Direction::Down).unwrap_err();
    assert!(error.ends_with("2 packets counts: 1 are not IP (1 ARP), 1 are of the other direction, \"up\""), "{error}");
    let error = from("10.0.0.9", Direction::Up).unwrap_err();
    assert!(error.ends_with("1 are neither from nor to 10.0.0.9"), "{error}");
    let error = read_bytes(&pcap(1, &[]), UP).unwrap_err();
    assert!(error.ends_with("it has no packets"), "{error}");
    let error = read_bytes(b"1.0, 50, down\n", UP).unwrap_err();
    assert!(error.ends_with("none of its 1 packets counts: 1 are of the other direction, \"down\""), "{error}");
}

/// A pcapng file of raw IP, with a Simple Packet block.
#[test]
fn packets_without_a_time_are_refused() {
    let block = |kind: u32, body: &[u8]| {
        let len = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &len, body, &len].concat()
    };
    let section = block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat());
    let interface = block(1, &[101, 0, 0, 0, 0, 0, 0, 0]);
    let simple = block(3, &[&20_u32.to_le_bytes()[..], &ipv4()].concat());
    let error = read_bytes(&[section, interface, simple].concat(), UP).unwrap_err();
    assert!(error.contains("packet 1 has no time (a Simple Packet block of pcapng)"), "{error}");
}

#[test]
fn errors_name_the_file_once_and_the_line() {
    let error = read(Path::new("nowhere.pcap"), UP).unwrap_err();
    assert!(error.starts_with("nowhere.pcap: No such file"), "{error}");
    let says = |bytes: &[u8], what: &str| {
        let error = read_bytes(bytes, UP).unwrap_err();
        assert!(error.ends_with(what), "{error}, not {what}");
    };
    says(b"", ": is empty");
    says(b"0.1, 5\nmany\n", ": line 2: \"many\" is not SECONDS, BYTES");
    says(&[0xff; 50], "begins with the bytes ff ff ff ff ff ff, and it is no text");
    says(&[b'1'; 5000], "line 1: it has 1000 bytes or more; SECONDS, BYTES is expected");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn packets_never_cause_a_panic(
        link in prop::sample::select(vec![0_u32, 1, 12, 101, 108, 113, 228, 276]),
        ether_type in prop::sample::select(vec![0_u16, 0x0800, 0x86dd, 0x8100, 0x8847, 0x8864, 100]),
        rest in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let _ = read_bytes(&pcap(link, &[ethernet(ether_type, &rest), rest]), UP);
    }
}
