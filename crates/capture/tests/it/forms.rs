//! The same packets read from every format are equal.

use std::time::Duration;

use evenair_capture::{Link, Opened, Wanted, open};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use proptest::prelude::*;

use super::files::{self, Order, Packet};
use super::{Got, Kept, dripping, got, of_reader};

/// The packets that the reader should return.
fn expected(link: Link, packets: &[Packet]) -> Vec<Kept> {
    let kept = |(number, packet): (u64, &Packet)| Kept {
        number,
        time: Some(Duration::from_nanos(packet.ns)),
        link,
        bytes: packet.bytes.clone(),
        original_len: packet.original_len,
        fcs_len: None,
    };
    (1..).zip(packets).map(kept).collect()
}

#[test]
fn pcap_is_read_in_both_orders_and_units() {
    let packets = files::packets();
    for order in [Order::Big, Order::Little] {
        for nanoseconds in [false, true] {
            let got = got(&files::pcap(order, nanoseconds, 101, &packets));
            assert_eq!(got.records, expected(Link::RAW, &packets), "{order:?} {nanoseconds}");
            assert_eq!(got.links, [Link::RAW]);
        }
    }
}

#[test]
fn pcapng_gzip_and_pipes_give_the_packets_of_pcap() {
    let packets = files::packets();
    let pcap = files::pcap(Order::Little, false, 1, &packets);
    let Got { records, .. } = got(&pcap);
    assert_eq!(records, expected(Link::ETHERNET, &packets));
    for order in [Order::Big, Order::Little] {
        let head = [files::section(order), files::interface(order, 1, 0, &[])].concat();
        let all =
            |block: &dyn Fn(&Packet) -> Vec<u8>| [head.clone(), packets.iter().flat_map(block).collect()].concat();
        let pb = all(&|packet| files::obsolete(order, 0, packet.ns / 1000, packet));
        for file in [files::pcapng(order, &packets), pb, pcap.clone()] {
            assert_eq!(got(&file).records, records, "{order:?}");
            let zipped = files::gzipped(&file);
            assert_eq!(got(&zipped).records, records, "{order:?}, gzipped");
            // Concatenated gzip members, as `cat a.gz b.gz` makes them.
            let (begin, end) = file.split_at(file.len() / 2);
            assert_eq!(got(&[files::gzipped(begin), files::gzipped(end)].concat()).records, records);
            for slow in [&file, &zipped] {
                let got = of_reader(dripping(slow)).expect("it can be read").expect("a capture");
                assert_eq!((got.records, got.cut), (records.clone(), None));
            }
        }
    }
}

#[test]
fn every_link_type_keeps_its_number() {
    for number in 0..400 {
        assert_eq!(got(&files::pcap(Order::Big, false, number, &[])).links, [Link(number)]);
    }
}

#[test]
fn captures_that_another_writer_wrote_are_read() {
    let packets = files::packets();
    let header = PcapHeader { datalink: DataLink::LINUX_SLL2, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
    for packet in &packets {
        let packet = PcapPacket::new(Duration::from_nanos(packet.ns), packet.original_len, &packet.bytes);
        writer.write_packet(&packet).unwrap();
    }
    assert_eq!(got(&writer.into_writer()).records, expected(Link::LINUX_SLL2, &packets));
}

#[test]
fn sections_and_interfaces_have_their_own_clocks_and_links() {
    let packet = Packet { ns: 0, bytes: vec![1, 2, 3], original_len: 3 };
    let (big, little) = (Order::Big, Order::Little);
    let offset = files::option(little, 14, &2_i64.to_le_bytes());
    let binary = [files::option(little, 2, b"mon\xff"), files::option(little, 9, &[0x8a]), offset].concat();
    let file = [
        files::section(big),
        files::interface(big, 1, 0, &[]),
        files::enhanced(big, 0, 1_500_000, &packet),
        // A block of statistics, and one of an unknown kind.
        files::block(big, 5, &[0; 12]),
        files::block(big, 0x8000_0001, &[]),
        files::section(little),
        // if_tzone is ignored.
        files::interface(
            little,
            127,
            0,
            &[files::option(little, 10, &[0; 4]), files::option(little, 9, &[9])].concat(),
        ),
        files::interface(little, 101, 0, &binary),
        files::enhanced(little, 1, 1536, &packet),
        files::enhanced(little, 0, 1_500_000_000, &packet),
    ]
    .concat();
    let got = got(&file);
    let times: Vec<_> = got.records.iter().map(|record| (record.link, record.time.unwrap().as_millis())).collect();
    assert_eq!(times, [(Link::ETHERNET, 1500), (Link::RAW, 3500), (Link::RADIOTAP, 1500)]);
    assert_eq!(got.links, [Link::ETHERNET, Link::RADIOTAP, Link::RAW]);
}

#[test]
fn simple_packets_have_no_time_and_no_padding() {
    let order = Order::Little;
    let file = |snaplen, original_len| {
        let packet = Packet { ns: 0, bytes: vec![7; 5], original_len };
        [files::section(order), files::interface(order, 1, snaplen, &[]), files::simple(order, &packet)].concat()
    };
    for (snaplen, original_len, captured) in [(0, 5, 5), (100, 5, 5), (5, 90, 5), (3, 90, 3)] {
        let got = got(&file(snaplen, original_len));
        let record = &got.records[0];
        assert_eq!((record.time, &record.bytes[..], record.original_len), (None, &vec![7; captured][..], original_len));
    }
}

#[test]
fn the_length_of_the_frame_check_sequence_is_separated_from_the_link_type() {
    let packets = files::packets();
    let fcs = |field| {
        let record = &got(&files::pcap(Order::Big, false, field, &packets)).records[0];
        (record.link.0, record.fcs_len)
    };
    // Length in 16-bit words.
    assert_eq!(fcs(0x2400_0001), (1, Some(4)));
    assert_eq!(fcs(0x0400_0001), (1, Some(0)));
    // Without the flag the length is unknown.
    assert_eq!(fcs(0x2000_0001), (1, None));
    let (order, packet) = (Order::Little, &packets[0]);
    // In bits in the description of an interface; in bytes in the flags of a packet.
    let head = [files::section(order), files::interface(order, 1, 0, &files::option(order, 13, &[32]))].concat();
    assert_eq!(got(&[head, files::enhanced(order, 0, 1, packet)].concat()).records[0].fcs_len, Some(4));
}

/// `tcpdump -s 96`: the original lengths exceed the file's snapshot length.
#[test]
fn packets_may_have_been_longer_than_the_snapshot_length() {
    let packet = Packet { ns: 1_000, bytes: vec![1; 60], original_len: 1514 };
    let got = got(&files::pcap(Order::Little, false, 1, &[packet]));
    assert_eq!((got.records[0].bytes.len(), got.records[0].original_len), (60, 1514));
}

fn data(name: &str) -> std::path::PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/data", name].iter().collect()
}

#[test]
fn a_link_type_with_the_length_of_its_fcs_is_the_link_type() {
    let path = data("air-fcs-length.pcap");
    let got = got(&std::fs::read(&path).unwrap());
    assert_eq!((got.records.len(), got.links), (12, vec![Link::RADIOTAP]));
    assert!(got.records.iter().all(|record| record.fcs_len == Some(8)));
    let mut packets = 0;
    let wanted = Wanted { link: Link::RADIOTAP, instead: "" };
    assert_eq!(wanted.read(&path, |_, bytes, _| packets += usize::from(!bytes.is_empty())), Ok(None));
    assert_eq!(packets, 12);
}

#[test]
fn packets_of_one_link_type_are_read_and_others_named() {
    let wanted = Wanted { link: Link::RADIOTAP, instead: "on mon0" };
    let error = wanted.read(&data("trace-us.pcapng"), |_, _, _| ()).unwrap_err().to_string();
    let why = "its link type is \"Ethernet\", not \"IEEE 802.11 plus radiotap radio header\": capture on mon0";
    assert!(error.ends_with(why) && error.contains("trace-us.pcapng: "), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both.pcapng");
    let order = Order::Little;
    let both = [
        files::section(order),
        files::interface(order, 1, 0, &[]),
        files::interface(order, 127, 0, &[]),
        files::enhanced(order, 0, 5, &files::packets()[0]),
        files::enhanced(order, 1, 6, &files::packets()[1]),
    ]
    .concat();
    std::fs::write(&path, &both).unwrap();
    let mut times = Vec::new();
    assert_eq!(wanted.read(&path, |at, _, _| times.push(at)), Ok(None));
    assert_eq!(times, [Duration::from_micros(6)]);
    let timeless = files::simple(order, &files::packets()[0]);
    let head = [files::section(order), files::interface(order, 127, 40, &[])].concat();
    std::fs::write(&path, [head, timeless].concat()).unwrap();
    let error = wanted.read(&path, |_, _, _| ()).unwrap_err().to_string();
    assert!(error.contains("packet 1 has no time"), "{error}");
}

#[test]
fn other_files_can_be_read_as_text() {
    let text = b"0.1, 100\n0.2, 200\n";
    for bytes in [text.to_vec(), files::gzipped(text)] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let Ok(Opened::Other(mut other)) = open(file.path()) else { panic!("it is no capture") };
        assert!(other.why().contains("begins with the bytes 30 2e 31 2c"), "{}", other.why());
        let mut read = Vec::new();
        other.reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pcap_pcapng_and_gzip_give_the_same_packets(
        packets in prop::collection::vec((0..4_000_000_000_000_000_000_u64, prop::collection::vec(any::<u8>(), 0..200)), 0..20),
        is_big: bool,
    ) {
        let order = if is_big { Order::Big } else { Order::Little };
        let packets: Vec<_> = packets
            .into_iter()
            .map(|(ns, bytes)| Packet { ns, original_len: bytes.len() as u32, bytes })
            .collect();
        let pcap = files::pcap(order, true, 1, &packets);
        let expected = expected(Link::ETHERNET, &packets);
        prop_assert_eq!(&got(&pcap).records, &expected);
        prop_assert_eq!(&got(&files::gzipped(&pcap)).records, &expected);
        prop_assert_eq!(&got(&files::pcapng(order, &packets)).records, &expected);
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), form in 0..5_usize) {
        let packets = files::packets();
        let order = Order::Little;
        let head = [
            files::pcap(order, false, 1, &[]),
            files::pcapng(order, &packets[..1]),
            files::section(order),
            vec![0x1f, 0x8b, 8, 0],
            Vec::new(),
        ];
        let _ = super::of_bytes(&[head[form].clone(), bytes].concat());
    }
}
