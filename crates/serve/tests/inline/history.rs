//! Calls with real packets through a real box, and their history.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use evenair_api::Codec;
use evenair_api::causes::Counter;
use evenair_api::history::Record;
use evenair_client::history::Reader;
use evenair_site::doctor;
use evenair_sys::netns::Netns;

use crate::lab::{Lab, SOURCE, ip};
use crate::traffic::transfer;

const PACKET: Duration = Duration::from_millis(20);

fn configuration(lab: &Lab, history: &Path) -> String {
    let file = lab.file("box.toml");
    let text = format!(
        "[ports]\nwlan = \"wl0\"\nwire = \"wi0\"\nbridge = \"br0\"\nmode = \"inserted\"\n[radio]\nstandard = \"802.11g\"\n\
         [manager.voice]\ncalls = 1\n[history]\npath = {:?}\ninterval = \"1 s\"\nlimit = \"1 MB\"\n",
        history.display()
    );
    std::fs::write(&file, text).expect("writable");
    format!("file={}", file.display())
}

/// Sends G.711 in RTP (RFC 3550, 5.1) from `near` to `far`: so many packets without every `missing`th, whose sequence
/// number is skipped.
fn speak(ns: &Netns, near: &str, far: &str, packets: u16, missing: u16) {
    let near: SocketAddr = near.parse().expect("an address");
    let socket = ns.run(|| UdpSocket::bind(near)).expect("entered").expect("free");
    socket.connect(far).expect("an address");
    let begin = Instant::now();
    for number in 0..packets {
        thread::sleep((PACKET * number.into()).saturating_sub(begin.elapsed()));
        if number % missing == missing - 1 {
            continue;
        }
        let mut packet = vec![0x80, 0];
        packet.extend_from_slice(&number.wrapping_add(65_500).to_be_bytes());
        packet.extend_from_slice(&(u32::from(number) * 160).to_be_bytes());
        packet.extend_from_slice(&[1, 2, 3, near.port() as u8]);
        packet.resize(12 + 160, 0xd5);
        // The other end may not listen yet.
        let _ = socket.send(&packet);
    }
}

fn records(history: &Path) -> (Vec<Record>, u64) {
    let mut reader = Reader::open(history).expect("a directory");
    let records = reader.by_ref().map(|record| record.expect("readable")).collect();
    (records, reader.seen().skipped)
}

fn events(records: &[Record], wanted: &str) -> Vec<String> {
    let text = |record: &Record| match record {
        Record::Event(record) if record.event.name() == wanted => Some(record.event.text()),
        _ => None,
    };
    records.iter().filter_map(text).collect()
}

#[test]
fn calls_on_unknown_ports_are_found_rated_and_kept() {
    let Some(lab) = Lab::new() else { return };
    let history = lab.file("history");
    let running = lab.start_box(&configuration(&lab, &history));
    let mut client = running.client();
    let call = |station: &'static str, server: &'static str, packets: u16| {
        let lab = &lab;
        move || {
            thread::scope(|scope| {
                scope.spawn(move || speak(&lab.source, station, server, packets, u16::MAX));
                scope.spawn(move || speak(&lab.sink, server, station, packets, 10));
            });
        }
    };
    let status = thread::scope(|scope| {
        scope.spawn(call("10.9.0.1:33001", "10.9.0.2:44001", 250));
        thread::sleep(Duration::from_millis(1_000));
        // One more than allowed.
        scope.spawn(call("10.9.0.1:33002", "10.9.0.2:44002", 180));
        thread::sleep(Duration::from_millis(3_500));
        client.status().expect("answers")
    });
    assert_eq!(status.calls.len(), 2, "{:?}", status.calls);
    let admitted = status.calls.iter().find(|call| call.refused.is_none()).expect("one is admitted");
    assert_eq!((admitted.codec, admitted.peer.as_str()), (Codec::G711, "10.9.0.2"));
    assert_eq!(admitted.station, evenair_packet::MacAddr(SOURCE).to_string());
    let (down, up) = (&admitted.down, &admitted.up);
    assert!((8.0..12.0).contains(&down.loss_percent) && up.lost == Some(0), "{admitted:?}");
    let (r_down, r_up) = (down.r_factor.expect("heard"), up.r_factor.expect("heard"));
    assert!(r_up > 85.0 && r_down < r_up - 15.0, "a loss of 10 % is heard: {admitted:?}");
    assert!(up.jitter_ms.expect("it is RTP") < 20.0, "{admitted:?}");
    drop(running);
    let (records, _) = records(&history);
    assert_eq!(events(&records, "call-admitted"), ["with 10.9.0.2, g711"]);
    let refused = events(&records, "call-refused");
    assert!(refused.len() == 1 && refused[0].contains("as many calls as may be"), "{refused:?}");
    let sample = |record: &Record| match record {
        Record::Sample(sample) => sample.calls.iter().any(|call| call.down.loss_percent > 5.0),
        _ => false,
    };
    assert!(records.iter().any(sample), "{records:?}");
}

#[test]
fn history_survives_a_killed_box() {
    let Some(lab) = Lab::beside_others() else { return };
    let history = lab.file("history");
    for run in 1..=2 {
        let mut running = lab.start_box(&configuration(&lab, &history));
        // It replies once it is inserted; a sample needs a state before the transfer.
        running.client().status().expect("answers");
        thread::sleep(Duration::from_millis(500));
        transfer(&lab.sink, &lab.source, "10.9.0.1:5201", 2_000_000);
        let bytes = |record: &Record| match record {
            Record::Sample(sample) => sample.stations.iter().map(|station| station.to_station_bytes).sum(),
            _ => 0,
        };
        let carried = |records: &[Record]| records.iter().map(bytes).sum::<u64>();
        // A sample is written each second, and the last one includes all of the transfer.
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(500));
            if carried(&records(&history).0) > 2_000_000 * run as u64 {
                break;
            }
        }
        running.child.kill().expect("it lives");
        running.child.wait().expect("it was a child");
        let (records, skipped) = records(&history);
        assert_eq!(skipped, 0);
        let starts = records.iter().filter(|record| matches!(record, Record::Start { .. })).count();
        assert_eq!((starts, events(&records, "station").len()), (run, run), "{records:?}");
        let carried = carried(&records);
        assert!(carried > 2_000_000 * run as u64 && carried < 2_400_000 * run as u64, "{carried}");
    }
}

/// A box that was inserted by a command is killed, and starts again as configured: bypassed.
#[test]
fn a_start_in_another_mode_than_that_of_the_last_command_is_reported() {
    let Some(lab) = Lab::beside_others() else { return };
    let history = lab.file("history");
    let parameters = configuration(&lab, &history);
    let file = lab.file("box.toml");
    let text = std::fs::read_to_string(&file).expect("written").replace("\"inserted\"", "\"bypassed\"");
    std::fs::write(&file, format!("{text}[control]\nsocket = {:?}\n", lab.file("box.sock"))).expect("writable");
    let mut running = lab.start_box(&parameters);
    assert!(doctor::not_inserted(&running.client().status().expect("answers")).is_none());
    running.client().insert().expect("inserted");
    let begin = Instant::now();
    let is_kept = || std::fs::read_to_string(history.join("run.json")).is_ok_and(|text| text.contains("\"insert\""));
    while !is_kept() || events(&records(&history).0, "mode").is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(20), "the command is not kept");
        thread::sleep(Duration::from_millis(10));
    }
    running.child.kill().expect("it lives");
    running.child.wait().expect("it was a child");
    let running = lab.start_box(&parameters);
    let status = running.client().status().expect("answers");
    let said = doctor::not_inserted(&status).expect("it is bypassed");
    assert!(said.starts_with("bypassed although the last command was insert (since 20"), "{said}");
    assert!(said.ends_with("Z, after an unclean end)"), "{said}");
    let findings = lab.middle.run(|| doctor::examine(&file)).expect("entered");
    assert!(findings.iter().any(|finding| finding.subject == "mode" && finding.mend.is_some()), "{findings:?}");
    running.client().observe().expect("observing");
    assert!(doctor::not_inserted(&running.client().status().expect("answers")).is_none(), "a command came");
    drop(running);
    let (records, _) = records(&history);
    let starts = events(&records, "start");
    assert_eq!(starts.len(), 2, "{records:?}");
    assert_eq!(starts[0], "bypassed");
    assert!(
        starts[1].starts_with("bypassed, although the last command was insert, after an unclean end"),
        "{starts:?}"
    );
    let modes = events(&records, "mode");
    let own = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("there"));
    let by_whom = |mode: &str| {
        modes.iter().any(|text| text.starts_with(&format!("{mode} by ")) && text.contains(&format!("uid {own}")))
    };
    assert!(by_whom("inserted") && by_whom("observing"), "{modes:?}");
}

#[test]
fn while_bypassed_the_history_has_what_the_kernel_counts() {
    let Some(lab) = Lab::beside_others() else { return };
    let history = lab.file("history");
    let parameters = configuration(&lab, &history);
    let file = lab.file("box.toml");
    let text = std::fs::read_to_string(&file).expect("written").replace("\"inserted\"", "\"bypassed\"");
    std::fs::write(&file, text).expect("writable");
    let _running = lab.start_box(&parameters);
    // The first sample has a state before it.
    thread::sleep(Duration::from_millis(1_500));
    transfer(&lab.sink, &lab.source, "10.9.0.1:5201", 2_000_000);
    let carried = |record: &Record| match record {
        Record::Sample(sample) => sample.carried.and_then(|carried| carried.to_wlan_bytes).unwrap_or(0),
        _ => 0,
    };
    let begin = Instant::now();
    let carried = loop {
        let sum = records(&history).0.iter().map(carried).sum::<u64>();
        if sum > 2_000_000 {
            break sum;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "{sum} bytes in the history");
        thread::sleep(Duration::from_millis(200));
    };
    assert!(carried < 2_400_000, "{carried}");
}

/// The address of the metrics is in use: the box ends, although its history has begun.
#[test]
fn a_box_that_fails_to_start_after_its_history_ends_with_the_error() {
    let Some(lab) = Lab::beside_others() else { return };
    let history = lab.file("history");
    let parameters = configuration(&lab, &history);
    let file = lab.file("box.toml");
    let text = std::fs::read_to_string(&file).expect("written");
    std::fs::write(&file, format!("{text}[metrics]\nlisten = \"127.0.0.1:9100\"\n")).expect("writable");
    ip(&lab.middle, "link set lo up");
    let _other = lab.middle.run(|| TcpListener::bind("127.0.0.1:9100")).expect("entered").expect("free");
    let mut running = lab.begin_box(&parameters, &[]);
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = running.child.try_wait().expect("a child") {
            break status;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "it hangs");
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(1));
    assert!(matches!(records(&history).0[..], [Record::Start { .. }, ..]), "its history has begun");
}

#[test]
fn a_call_that_telephones_agree_upon_begins_and_ends_with_their_words() {
    let Some(lab) = Lab::new() else { return };
    let history = lab.file("history");
    let running = lab.start_box(&configuration(&lab, &history));
    let mut client = running.client();
    let bind = |ns: &Netns, address: &str| {
        let address: SocketAddr = address.parse().expect("an address");
        ns.run(|| UdpSocket::bind(address)).expect("entered").expect("free")
    };
    let telephone = bind(&lab.source, "10.9.0.1:5060");
    let _exchange = bind(&lab.sink, "10.9.0.2:5060");
    let say = |start: &str, body: &str| {
        let message = format!("{start}\r\nCall-ID: 4711@10.9.0.1\r\nContent-Type: application/sdp\r\n\r\n{body}");
        telephone.send_to(message.as_bytes(), "10.9.0.2:5060").expect("taken");
    };
    say(
        "INVITE sip:desk@10.9.0.2 SIP/2.0",
        "v=0\r\nc=IN IP4 10.9.0.1\r\nm=audio 33010 RTP/AVP 97\r\na=rtpmap:97 G729/8000\r\na=ptime:20\r\n",
    );
    let (_ear, mouth) = (bind(&lab.source, "10.9.0.1:33010"), bind(&lab.sink, "10.9.0.2:44010"));
    for number in 0..3u8 {
        let [high, low] = (u16::from(number) * 160).to_be_bytes();
        let header = [0x80, 97, 0, number, 0, 0, high, low, 1, 2, 3, 4];
        mouth.send_to(&[&header[..], &[0x5a; 20]].concat(), "10.9.0.1:33010").expect("taken");
        thread::sleep(PACKET);
    }
    let calls = client.status().expect("answers").calls;
    assert_eq!(calls.iter().map(|call| call.codec).collect::<Vec<_>>(), [Codec::G729], "from its first packet on");
    say("BYE sip:desk@10.9.0.2 SIP/2.0", "");
    thread::sleep(Duration::from_millis(200));
    let status = client.status().expect("answers");
    assert_eq!(
        (
            status.calls.len(),
            status.packets.counted[Counter::CallsAdmitted],
            status.packets.counted[Counter::CallsEnded]
        ),
        (0, 1, 1)
    );
}
