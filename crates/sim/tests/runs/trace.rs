//! Traces: their content is that of a capture, and taking them changes nothing.

use std::collections::HashMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use evenair_results::RunResult;
use evenair_scenario::Scenario;
use evenair_sim::{SimOptions, run, run_with};
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;

const SCENARIO: &str = r#"version = 1
name = "traced"
duration = "4 s"
[radio]
standard = "802.11b"
ap_buffer = "20 packets"
[[station]]
name = "sta"
count = 3
rate = "11 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "up"
stations = ["sta1", "sta2"]
server = "server"
direction = "up"
[[bulk]]
name = "down"
stations = ["sta2"]
server = "server"
direction = "down"
ip = "v6"
[[udp]]
name = "datagrams"
stations = ["sta3"]
server = "server"
direction = "down"
rate = "500 kb/s"
[[ping]]
name = "ping"
stations = ["sta1"]
server = "server"
"#;

const BOX: &str = "[[event]]\nat = \"2 s\"\ndo = \"insert\"\n";

struct Captured {
    at: Duration,
    bytes: Vec<u8>,
}

fn read(path: &Path, link: DataLink) -> Vec<Captured> {
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    assert_eq!(reader.header().datalink, link);
    let mut out = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        assert_eq!(packet.orig_len as usize, packet.data.len());
        out.push(Captured { at: packet.timestamp, bytes: packet.data.into_owned() });
    }
    assert!(out.windows(2).all(|pair| pair[0].at <= pair[1].at), "times go back");
    out
}

/// Packets on the wire on one side of the box, without its probes and their answers, which are only on the stations' side.
fn read_wire(path: &Path) -> Vec<Captured> {
    const ARP: [u8; 2] = [0x08, 0x06];
    let (arp, rest): (Vec<_>, Vec<_>) =
        read(path, DataLink::ETHERNET).into_iter().partition(|captured| captured.bytes[12..14] == ARP);
    let mut due = 0;
    for captured in &arp {
        due += if captured.bytes[21] == 1 { 1 } else { -1 };
        assert!(due >= 0, "an answer to no request");
    }
    assert!(path.ends_with("ap-wire.pcap") || arp.is_empty(), "probes are for stations");
    rest
}

/// Runs with traces into `folder`, and again without; both results must be equal.
fn traced(folder: &Path, text: &str, sets: &[(&str, &str)]) -> RunResult {
    let scenario = Scenario::parse_with(text, "traced.toml", sets).unwrap();
    let options = SimOptions { trace: Some(folder.to_owned()), ..SimOptions::default() };
    let with = run_with(&scenario, &options, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(with, run(&scenario, |_| {}).unwrap(), "tracing changes the run");
    with
}

/// Checks an IP packet's lengths and checksums.
fn check_ip(ip: &[u8]) -> (bool, u64) {
    let packet = SlicedPacket::from_ip(ip).unwrap();
    let transport = packet.transport.as_ref().unwrap();
    let Some(net) = &packet.net else { panic!("no IP") };
    let payload = net.ip_payload_ref().unwrap().payload;
    match net {
        NetSlice::Ipv4(v4) => {
            let header = v4.header();
            assert_eq!(usize::from(header.total_len()), ip.len());
            assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
        }
        NetSlice::Ipv6(v6) => assert_eq!(usize::from(v6.header().payload_length()) + 40, ip.len()),
        other => panic!("{other:?}"),
    }
    let sum = |pseudo: &[u8], protocol: u8| {
        let mut words = pseudo.to_vec();
        words.extend((payload.len() as u32).to_be_bytes());
        words.extend([0, 0, 0, protocol]);
        words.extend(payload);
        words.resize(words.len().next_multiple_of(2), 0);
        let sum: u64 = words.chunks(2).map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        (sum % 0xffff, sum > 0)
    };
    let addresses = match net {
        NetSlice::Ipv4(v4) => [v4.header().source(), v4.header().destination()].concat(),
        NetSlice::Ipv6(v6) => [v6.header().source(), v6.header().destination()].concat(),
        _ => unreachable!(),
    };
    let (is_tcp, protocol) = match transport {
        TransportSlice::Tcp(_) => (true, 6),
        TransportSlice::Udp(_) => (false, 17),
        other => panic!("{other:?}"),
    };
    // The ones' complement sum of everything, checksum included, is zero (RFC 1071).
    assert_eq!(sum(&addresses, protocol), (0, true), "a checksum is wrong");
    (is_tcp, ip.len() as u64)
}

struct AirFrame<'a> {
    bad: bool,
    mac: &'a [u8],
}

fn air_frames(frames: &[Captured]) -> Vec<AirFrame<'_>> {
    let frame = |captured: &Captured| {
        let bytes: &[u8] = &captured.bytes;
        assert_eq!(bytes[..4], [0, 0, 22, 0]);
        let us = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
        assert_eq!(us, captured.at.as_micros() as u64);
        bytes.len()
    };
    frames
        .iter()
        .map(|captured| {
            let length = frame(captured);
            let (mac, fcs) = captured.bytes[22..].split_at(length - 26);
            let bad = captured.bytes[16] & 0x40 != 0;
            let right = crc32(mac).to_le_bytes() == *fcs;
            assert_eq!(bad, !right, "the flag says other than the checksum");
            AirFrame { bad, mac }
        })
        .collect()
}

/// IEEE 802.3, 3.2.9, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

#[test]
fn the_air_has_what_the_run_reports() {
    for rts in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let sets: &[_] = if rts { &[("radio.rts_threshold", "500 bytes")] } else { &[] };
        let result = traced(folder.path(), SCENARIO, sets);
        let captured = read(&folder.path().join("air.pcap"), DataLink::IEEE802_11_RADIOTAP);
        let frames = air_frames(&captured);
        let of = |kind: u8| frames.iter().filter(|frame| frame.mac[0] == kind).collect::<Vec<_>>();
        let (data, acks, requests, clears) = (of(0x08), of(0xd4), of(0xb4), of(0xc4));
        assert_eq!(data.len() + acks.len() + requests.len() + clears.len(), frames.len());
        let good = data.iter().filter(|frame| !frame.bad).count();
        assert!(good > 1000 && acks.len().abs_diff(good) <= 1, "{good} {}", acks.len());
        assert_eq!(requests.is_empty(), !rts);
        assert!(clears.len() <= requests.len());

        // Received DATA in IP-level bits equals the reported total; the last frame may have been received after the end.
        let mut bits = 0;
        for frame in &data {
            let ip = &frame.mac[32..];
            assert_eq!(frame.mac[24..30], [0xaa, 0xaa, 3, 0, 0, 0]);
            let (_, length) = check_ip(ip);
            bits += if frame.bad { 0 } else { 8 * length };
        }
        let reported: f64 = result.phases[0].flows.iter().map(|flow| flow.ip_mbps).sum::<f64>() * 4e6;
        assert!((bits as f64 - reported).abs() < 12_001.0, "{bits} bits on the air, {reported} reported");

        // There are collisions, and frames are repeated after them.
        let bad = if rts { requests.iter().filter(|f| f.bad).count() } else { data.iter().filter(|f| f.bad).count() };
        assert!(bad > 20);
    }
}

#[test]
fn repeated_frames_say_so() {
    let folder = tempfile::tempdir().unwrap();
    traced(folder.path(), SCENARIO, &[]);
    let captured = read(&folder.path().join("air.pcap"), DataLink::IEEE802_11_RADIOTAP);
    let mut last: HashMap<Vec<u8>, (u16, bool)> = HashMap::new();
    let mut retries = 0;
    for frame in air_frames(&captured).iter().filter(|frame| frame.mac[0] == 0x08) {
        let sequence = u16::from_le_bytes([frame.mac[22], frame.mac[23]]) >> 4;
        let retry = frame.mac[1] & 0x08 != 0;
        let (before, failed) = last.insert(frame.mac[10..16].to_vec(), (sequence, frame.bad)).unwrap_or((0, false));
        assert_eq!(retry, failed && sequence == before, "a retry repeats what failed, and nothing else does");
        if !retry {
            // After the retry limit the next frame is a different one.
            assert_eq!(sequence, (before + 1) % 4096);
        }
        retries += u32::from(retry);
    }
    assert!(retries > 20);
}

#[test]
fn the_wire_has_each_packet_once() {
    let folder = tempfile::tempdir().unwrap();
    let result = traced(folder.path(), &format!("{SCENARIO}{BOX}"), &[]);
    let (mut ups, mut downs) = (Vec::new(), Vec::new());
    for file in ["ap-wire.pcap", "box-wire.pcap"] {
        let (mut up, mut down) = (0, 0);
        for captured in read_wire(&folder.path().join(file)) {
            let packet = SlicedPacket::from_ethernet(&captured.bytes).unwrap();
            assert!(packet.link.is_some());
            check_ip(&captured.bytes[14..]);
            // Stations are hosts 0 to 2 of the scenario.
            if captured.bytes[11] < 3 { up += 1 } else { down += 1 }
        }
        ups.push(up);
        downs.push(down);
    }
    let counters = result.box_counters.unwrap();
    let dropped: u64 = counters.dropped.iter().map(|drop| drop.packets).sum();
    // Packets that arrived on one side left on the other, unless the box dropped or still holds them.
    let lost = (ups[0] - ups[1]) + (downs[1] - downs[0]);
    assert_eq!(lost, dropped + counters.held, "{ups:?} {downs:?}");
    assert!(ups[1] > 500 && downs[0] > 500);
}

/// Two access points on different channels and a station that roams between them every half second.
fn roaming() -> String {
    let mut text = SCENARIO.replace(
        "[[server]]",
        "access_point = \"hall\"\n[[access_point]]\nname = \"hall\"\nchannel = 1\n\
         [[access_point]]\nname = \"yard\"\nchannel = 6\n[[server]]",
    );
    for k in 0..5 {
        let (at, to) = (1_200 + 500 * k, ["yard", "hall"][k % 2]);
        text += &format!(
            "[[event]]\nat = \"{at} ms\"\ndo = \"roam\"\nstations = [\"sta2\"]\naccess_point = \"{to}\"\ngap = \"30 ms\"\n"
        );
    }
    text + "[[event]]\nat = \"1 s\"\ndo = \"insert\"\n\
            [[manager.access_point]]\nname = \"hall\"\n[[manager.access_point]]\nname = \"yard\"\n"
}

/// Packets leave the box in the order of arrival in each flow and direction; some may be missing.
#[test]
fn roaming_keeps_the_order_of_each_flow() {
    let folder = tempfile::tempdir().unwrap();
    let result = traced(folder.path(), &roaming(), &[]);
    assert_eq!(result.events.iter().filter(|event| event.what == "roamed").count(), 5);
    // By addresses and ports of both ends: TCP and UDP over both versions of IP.
    let flows = |file: &str| {
        let mut flows: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
        for Captured { bytes, .. } in read_wire(&folder.path().join(file)) {
            let addresses = if bytes[14] >> 4 == 4 { 26..38 } else { 22..58 };
            flows.entry(bytes[addresses].to_vec()).or_default().push(bytes);
        }
        flows
    };
    let (access_point, network) = (flows("ap-wire.pcap"), flows("box-wire.pcap"));
    assert_eq!(access_point.len(), network.len());
    let mut missing = 0;
    for (flow, near) in &access_point {
        let far = &network[flow];
        // Stations are hosts 0 to 2 of the scenario.
        let (came, left) = if near[0][11] < 3 { (near, far) } else { (far, near) };
        let mut order = came.iter();
        let in_order = left.iter().filter(|packet| order.any(|other| other == *packet)).count();
        assert_eq!(in_order, left.len(), "of {} packets that left", left.len());
        missing += came.len() - left.len();
    }
    let counters = result.box_counters.unwrap();
    assert_eq!(missing as u64, counters.dropped.iter().map(|drop| drop.packets).sum::<u64>() + counters.held);
    // There are frames on both channels: 2412 and 2437 MHz.
    let air = read(&folder.path().join("air.pcap"), DataLink::IEEE802_11_RADIOTAP);
    let on = |mhz: u16| air.iter().filter(|frame| frame.bytes[18..20] == mhz.to_le_bytes()).count();
    assert!(on(2412) > 1000 && on(2437) > 500 && on(2412) + on(2437) == air.len(), "{} {}", on(2412), on(2437));
}

#[test]
fn qos_data_has_a_sequence_counter_for_each_receiver() {
    let folder = tempfile::tempdir().unwrap();
    traced(folder.path(), &SCENARIO.replace("[radio]\n", "[radio]\nedca = true\n"), &[]);
    let captured = read(&folder.path().join("air.pcap"), DataLink::IEEE802_11_RADIOTAP);
    let mut last: HashMap<(Vec<u8>, u8), u16> = HashMap::new();
    for frame in air_frames(&captured).iter().filter(|frame| frame.mac[0] == 0x88 && frame.mac[1] & 0x08 == 0) {
        let sequence = u16::from_le_bytes([frame.mac[22], frame.mac[23]]) >> 4;
        let counter = (frame.mac[4..16].to_vec(), frame.mac[24] & 15);
        let before = last.insert(counter, sequence).unwrap_or(0);
        assert_eq!(sequence, (before + 1) % 4096);
    }
    // The access point sends to several receivers.
    assert!(last.len() > 3, "{} counters", last.len());
}

#[test]
fn without_a_box_there_is_one_wire() {
    let folder = tempfile::tempdir().unwrap();
    traced(folder.path(), SCENARIO, &[]);
    let mut files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["air.pcap", "ap-wire.pcap"]);
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "").unwrap();
    let scenario = Scenario::parse(SCENARIO, "traced.toml").unwrap();
    let options = SimOptions { trace: Some(taken), ..SimOptions::default() };
    let error = run_with(&scenario, &options, |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(error.contains("cannot write the trace") && error.contains("taken"), "{error}");
}

/// Wireshark's own dissectors, if they are installed.
#[test]
fn tshark_finds_nothing_malformed() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    traced(folder.path(), &format!("{SCENARIO}{BOX}"), &[]);
    // Wireshark does not dissect frames with a bad FCS, and reports them as malformed.
    let tshark = |file: &str, filter: &str, fcs: &str| {
        let fcs = format!("wlan.check_checksum:{fcs}");
        let checked = ["ip", "tcp", "udp"].map(|protocol| format!("{protocol}.check_checksum:TRUE"));
        let output = Command::new("tshark")
            .args(["-n", "-o", &fcs])
            .args(checked.iter().flat_map(|option| ["-o", option]))
            .arg("-r")
            .arg(folder.path().join(file))
            .args(["-Y", filter])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
    };
    let count = |file: &str, filter: &str| tshark(file, filter, "FALSE");
    for file in ["air.pcap", "ap-wire.pcap", "box-wire.pcap"] {
        assert_eq!(count(file, "_ws.malformed"), 0, "{file}");
        let wrong = "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0";
        assert_eq!(count(file, wrong), 0, "{file}");
        assert!(count(file, "tcp") > 1000, "{file}");
    }
    let spoiled = count("air.pcap", "radiotap.flags.badfcs == 1");
    assert!(spoiled > 20 && tshark("air.pcap", "wlan.fcs.status == 0", "TRUE") == spoiled);
    assert!(count("air.pcap", "wlan.fc.retry == 1") > 20);
    assert!(count("air.pcap", "wlan.fc.type_subtype == 29") > 1000);
    assert!(count("ap-wire.pcap", "tcp.analysis.ack_lost_segment") == 0);
}

/// A scenario of a standard that aggregates: its `[radio]` keys, and the mode of its stations.
fn aggregating(radio: &str, mode: &str) -> String {
    let radio = format!("{radio}\n[measure]\ninterval = \"50 ms\"");
    let scenario = SCENARIO.replace("standard = \"802.11b\"\nap_buffer = \"20 packets\"", &radio);
    scenario.replace("rate = \"11 Mb/s\"", mode).replace("\"4 s\"", "\"300 ms\"").replace("500 kb/s", "2 Mb/s")
}

/// A frame of a capture with aggregates.
struct Seen {
    at: Duration,
    bad: bool,
    /// Reference of the A-MPDU, and whether the frame is the last MPDU in it.
    part: Option<(u32, bool)>,
    mac: Vec<u8>,
}

impl Seen {
    fn is_data(&self) -> bool {
        self.mac[0] == 0x88
    }

    /// Scope of the frame's sequence counter, and its sequence number.
    fn number(&self) -> (Vec<u8>, u16) {
        ([&self.mac[4..16], &[self.mac[24] & 15]].concat(), u16::from_le_bytes([self.mac[22], self.mac[23]]) >> 4)
    }

    /// Whether the frame ends an access of its sender: a PPDU with data, or a BlockAckReq.
    fn ends_access(&self) -> bool {
        self.mac[0] == 0x84 || self.is_data() && self.part.is_none_or(|(_, is_last)| is_last)
    }
}

/// The frames in `air.pcap`, read from radiotap fields in the order of their bits.
fn seen(folder: &Path) -> Vec<Seen> {
    let captured = read(&folder.join("air.pcap"), DataLink::IEEE802_11_RADIOTAP);
    let frame = |Captured { at, bytes }: Captured| {
        let length = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
        let present = u32::from_le_bytes(bytes[4..8].try_into().unwrap());
        // After channel or MCS, aligned to four bytes.
        let status = if present & 1 << 19 != 0 { 28 } else { 24 };
        let part = (present & 1 << 20 != 0).then(|| {
            let reference = u32::from_le_bytes(bytes[status..status + 4].try_into().unwrap());
            (reference, bytes[status + 4] & 0x08 != 0)
        });
        let (mac, fcs) = bytes[length..].split_at(bytes.len() - length - 4);
        let bad = bytes[16] & 0x40 != 0;
        assert_eq!(bad, crc32(mac).to_le_bytes() != *fcs, "the flag says other than the checksum");
        Seen { at, bad, part, mac: mac.to_vec() }
    };
    captured.into_iter().map(frame).collect()
}

/// Frames are lost, bursts collide and are repeated, MPDUs are A-MSDUs, some are preceded by RTS, stations are hidden.
const AGGREGATING: [(&str, &str); 6] = [
    ("standard = \"802.11n\"\nwidth = \"40 MHz\"\nber = 1e-5", "mcs = 4\nstreams = 2"),
    ("standard = \"802.11ac\"\nwidth = \"80 MHz\"\nguard_interval = \"0.4 us\"", "mcs = 8\nstreams = 2"),
    ("standard = \"802.11ax\"\nber = 1e-5", "mcs = 7"),
    ("standard = \"802.11ax\"\nprofile = \"ns-3\"\nac.be.txop = \"2528 us\"\nber = 1e-5", "mcs = 7"),
    ("standard = \"802.11ac\"\naggregation = { a_msdu = \"7935 bytes\", encryption = \"ccmp\" }", "mcs = 8"),
    (
        "standard = \"802.11ax\"\nrts_threshold = \"3000 bytes\"\nber = 1e-6\nedca_parameters = \"hostapd\"",
        "mcs = 5\nhidden_from = [\"sta\"]",
    ),
];

#[test]
fn each_access_of_a_run_with_aggregates_is_traced_once() {
    for (radio, mode) in AGGREGATING {
        let folder = tempfile::tempdir().unwrap();
        let result = traced(folder.path(), &aggregating(radio, mode), &[]);
        let frames = seen(folder.path());
        // An RTS without CTS is an access; one with CTS belongs to the access of the frame that follows.
        let of = |kind: u8| frames.iter().filter(|frame| frame.mac[0] == kind).count();
        let lost_clears = frames.iter().filter(|frame| frame.mac[0] == 0xc4 && frame.bad).count();
        let reserved = of(0xc4) - lost_clears;
        let accesses = frames.iter().filter(|frame| frame.ends_access()).count() + of(0xb4) - reserved;
        let medium = result.phases[0].medium.as_ref().unwrap();
        let attempts = medium.access.attempts as usize;
        assert!(accesses.abs_diff(attempts) <= 3, "{radio}: {accesses} accesses, {attempts} attempts");
        assert!(of(0x94) > 50 && attempts > 100, "{radio}: {} BlockAcks, {attempts} attempts", of(0x94));
        assert!(radio.contains("rts") == (of(0xb4) > 20), "{radio}: {} RTS", of(0xb4));
        assert!(!radio.contains("ns-3") || of(0x84) > 5, "{radio}: {} BlockAckReqs", of(0x84));
        assert!(radio.contains("ns-3") == (of(0xe4) > 20), "{radio}: {} CF-Ends", of(0xe4));
    }
}

#[test]
fn mpdus_are_numbered_repeated_and_acknowledged() {
    for (radio, mode) in AGGREGATING {
        let folder = tempfile::tempdir().unwrap();
        traced(folder.path(), &aggregating(radio, mode), &[]);
        // Number of transmissions of each MPDU, and whether it was received.
        let mut sent: HashMap<(Vec<u8>, u16), (u32, bool)> = HashMap::new();
        let (mut repeats, mut spoiled, mut acknowledged, mut gaps) = (0, 0, 0, 0);
        for frame in seen(folder.path()) {
            if frame.is_data() {
                let (key, number) = frame.number();
                // Sequence numbers wrap after 4095.
                sent.remove(&(key.clone(), (number + 2048) % 4096));
                let known = sent.entry((key, number)).or_default();
                assert_eq!(frame.mac[1] & 0x08 != 0, known.0 > 0, "{radio}: Retry is set in what is repeated");
                repeats += u32::from(known.0 > 0);
                spoiled += u32::from(frame.bad);
                *known = (known.0 + 1, known.1 || !frame.bad);
            } else if frame.mac[0] == 0x94 && !frame.bad {
                // The bitmap says which of the transmitted MPDUs were received.
                let tid = frame.mac[17] >> 4;
                let key = [&frame.mac[10..16], &frame.mac[4..10], &[tid]].concat();
                let first = u16::from_le_bytes([frame.mac[18], frame.mac[19]]) >> 4;
                let bitmap = &frame.mac[20..];
                assert_eq!(bitmap.len(), if radio.contains("802.11ax") { 32 } else { 8 });
                for place in 0..8 * bitmap.len() {
                    let number = (first + place as u16) % 4096;
                    let bit = bitmap[place / 8] & 1 << (place % 8) != 0;
                    let (times, received) = sent.get(&(key.clone(), number)).copied().unwrap_or_default();
                    assert_eq!(bit, received, "{radio}: number {number}, sent {times} times");
                    acknowledged += u32::from(bit);
                    gaps += u32::from(times > 0 && !received);
                }
            }
        }
        let numbers = sent.len() as u32;
        assert!(repeats > 20 && spoiled > 20 && numbers > 300, "{radio}: {repeats}, {spoiled}, {numbers}");
        assert!(acknowledged > 200, "{radio}: {acknowledged} acknowledged");
        assert!(!radio.contains("1e-5") || gaps > 20, "{radio}: {gaps} asked for again");
    }
}

/// tshark's dissection of `air.pcap`: a row of these fields per frame; `None` if tshark is not installed.
fn dissected(folder: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let output = Command::new("tshark")
        .args(["-n", "-o", "wlan.check_checksum:FALSE", "-o", "wlan.ignore_wep:Yes - with IV", "-T", "fields", "-r"])
        .arg(folder.join("air.pcap"))
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output()
        .map_err(|_| println!("skipped: tshark is not installed"))
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// Values that tshark must find in a run of a standard.
struct Expected {
    /// The PHY.
    phy: &'static str,
    /// Field with the MCS, and its value.
    mcs: [&'static str; 2],
    mbps: f64,
    /// Whether tshark computes durations.
    lasts: bool,
}

#[test]
fn tshark_finds_modes_aggregates_and_durations() {
    let expected = [
        Expected { phy: "7", mcs: ["radiotap.mcs.index", "12"], mbps: 162.0, lasts: true },
        Expected { phy: "8", mcs: ["radiotap.vht.mcs.0", "8"], mbps: 780.0, lasts: true },
        // Version 4.0 does not compute durations of HE.
        Expected { phy: "11", mcs: ["radiotap.he.data_3.data_mcs", "0x0007"], mbps: 86.0, lasts: false },
    ];
    for ((radio, mode), expected) in AGGREGATING.into_iter().zip(expected) {
        let folder = tempfile::tempdir().unwrap();
        traced(folder.path(), &aggregating(radio, mode), &[]);
        let fields = [
            "wlan.fc.type_subtype",
            "wlan_radio.phy",
            expected.mcs[0],
            "wlan_radio.data_rate",
            "radiotap.ampdu.reference",
            "wlan_radio.last_part_of_an_ampdu",
            "wlan_radio.duration",
            "wlan_radio.aggregate.duration",
            "_ws.malformed",
        ];
        let Some(lines) = dissected(folder.path(), &fields) else { return };
        let frames = seen(folder.path());
        assert_eq!(lines.len(), frames.len());
        let mut compared = 0;
        for (number, (line, frame)) in lines.iter().zip(&frames).enumerate() {
            let [kind, phy, mcs, mbps, reference, is_last, lasts, all_last, malformed] = &line[..] else {
                panic!("{line:?}")
            };
            assert_eq!(malformed, "", "{radio}: frame {}", number + 1);
            assert_eq!(kind == "0x0028", frame.is_data());
            assert_eq!(phy, if frame.is_data() { expected.phy } else { "5" }, "{line:?}");
            if !frame.is_data() {
                continue;
            }
            assert_eq!([fields[2], mcs], expected.mcs);
            assert_eq!(mbps.parse::<f64>().unwrap(), expected.mbps);
            assert_eq!(*reference, frame.part.map_or(String::new(), |(reference, _)| reference.to_string()));
            assert_eq!(is_last == "1", frame.part.is_some_and(|(_, is_last)| is_last), "{line:?}");
            // The answer to the whole A-MPDU begins a SIFS after its end.
            if let (true, Some(answer)) = (expected.lasts && frame.ends_access(), frames.get(number + 1))
                && [0x94, 0xd4].contains(&answer.mac[0])
                && answer.mac[4..10] == frame.mac[10..16]
            {
                let theirs: f64 = if all_last.is_empty() { lasts } else { all_last }.parse().unwrap();
                let ours = (answer.at - frame.at).as_secs_f64() * 1e6 - 16.0;
                // tshark omits delimiters, rounds each MPDU to symbols, and uses a shorter preamble for VHT.
                assert!((ours - theirs).abs() <= 12.0 + 0.04 * ours, "{radio}: {ours} us, theirs {theirs}, {line:?}");
                compared += 1;
            }
        }
        assert!(!expected.lasts || compared > 100, "{radio}: {compared} durations");
    }
}

#[test]
fn tshark_finds_the_packets_in_encrypted_a_msdus() {
    let (radio, mode) = AGGREGATING[4];
    let folder = tempfile::tempdir().unwrap();
    traced(folder.path(), &aggregating(radio, mode), &[]);
    let fields = ["wlan.qos.amsdupresent", "wlan.fc.protected", "tcp.len", "udp.length", "_ws.malformed", "wlan.da"];
    let Some(lines) = dissected(folder.path(), &fields) else { return };
    let (mut aggregates, mut packets) = (0, 0);
    for line in lines.iter().filter(|line| !line[0].is_empty()) {
        assert_eq!([&line[1], &line[4]], ["1", ""], "{line:?}");
        let several = line[0] == "1";
        let count = |field: &str| field.split(',').filter(|value| !value.is_empty()).count();
        let found = count(&line[2]) + count(&line[3]);
        assert!(found <= 1 || several, "{line:?}");
        assert!(found > 1 || !several, "{line:?}");
        aggregates += u32::from(several);
        packets += found;
    }
    assert!(aggregates > 50 && packets > 300, "{aggregates} A-MSDUs, {packets} packets");
}

/// Beacons, a station that sleeps, one that roams, one that leaves and comes back, another network, a station of 802.11a.
#[test]
fn every_kind_of_station_event_can_be_traced() {
    for (keys, mode) in
        [("a_msdu = \"3839 bytes\"\norder = \"stations\"", "hidden_from = [\"s\"]"), ("encryption = \"ccmp\"", "")]
    {
        let text = format!(
            r#"version = 1
name = "events"
duration = "2400 ms"
access_point = [{{ name = "a", channel = 36 }}, {{ name = "b", channel = 36 }}]
neighbour = [{{ name = "n", access_point = "a", load = "10 %", rate = "24 Mb/s" }}]
server = [{{ name = "server" }}]
bulk = [
    {{ name = "down", stations = ["s1", "roamer"], server = "server", direction = "down" }},
    {{ name = "up", stations = ["s2", "roamer"], server = "server", direction = "up" }},
]
web = [{{ name = "pages", stations = ["sleeper", "s3"], server = "server" }}]
event = [
    {{ at = "600 ms", do = "roam", stations = ["roamer"], access_point = "b" }},
    {{ at = "900 ms", do = "leave", stations = ["s1"] }},
    {{ at = "1300 ms", do = "join", stations = ["s1"] }},
    {{ at = "1700 ms", do = "roam", stations = ["roamer"], access_point = "a" }},
]
[radio]
standard = "802.11ax"
ap_buffer = "300 packets"
beacon_interval = "102.4 ms"
[radio.aggregation]
{keys}
[[station]]
name = "sleeper"
rate = "24 Mb/s"
access_point = "a"
listen_interval = 2
[[station]]
name = "roamer"
rate = "24 Mb/s"
access_point = "a"
[[station]]
name = "s"
count = 3
mcs = 1
{mode}
access_point = "a"
loss = "10 %"
"#
        );
        let folder = tempfile::tempdir().unwrap();
        traced(folder.path(), &text, &[]);
        let frames = seen(folder.path());
        let of = |kind: u8| frames.iter().filter(|frame| frame.mac[0] == kind).count();
        assert!(of(0x88) > 500 && of(0x94) > 50 && of(0xd4) > 100, "{} {} {}", of(0x88), of(0x94), of(0xd4));
        let Some(lines) = dissected(folder.path(), &["_ws.malformed"]) else { return };
        assert_eq!(lines.len(), frames.len());
        let malformed = lines.iter().position(|line| !line.concat().is_empty());
        assert_eq!(malformed, None, "{keys}");
    }
}
