//! Captures with unreadable frames: they count, with unknown content.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use evenair_scenario::Scenario;
use evenair_sim::{SimOptions, run_with};
use evenair_study::backlog::{Inferred, NoMean, infer};
use pcap_file::pcap::{PcapReader, PcapWriter};

const DOWNLOADS: &str = r#"version = 1
name = "downloads"
seed = 1
duration = "10 s"
[radio]
standard = "802.11g"
ap_buffer = "100 packets"
[[station]]
name = "sta"
count = 5
rate = "54 Mb/s"
[lan]
rate = "1 Gb/s"
delay = "5 ms"
[[server]]
name = "server"
[[bulk]]
name = "down"
stations = ["sta"]
server = "server"
direction = "down"
stagger = "50 ms"
"#;

/// Captures of five downloads.
fn captures() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let options = SimOptions { trace: Some(folder.path().to_owned()), ..SimOptions::default() };
    let scenario = Scenario::parse(DOWNLOADS, "downloads.toml").unwrap();
    run_with(&scenario, &options, |_| ControlFlow::Continue(())).unwrap();
    let (air, wire) = (folder.path().join("air.pcap"), folder.path().join("ap-wire.pcap"));
    (folder, air, wire)
}

/// Copies a capture and applies `change` to each packet; packets that become empty are left out.
fn changed(from: &Path, name: &str, change: impl Fn(&mut Vec<u8>)) -> PathBuf {
    let to = from.with_file_name(name);
    let mut reader = PcapReader::new(File::open(from).unwrap()).unwrap();
    let mut writer = PcapWriter::with_header(File::create(&to).unwrap(), reader.header()).unwrap();
    while let Some(packet) = reader.next_packet() {
        let mut packet = packet.unwrap();
        change(packet.data.to_mut());
        if !packet.data.is_empty() {
            writer.write_packet(&packet).unwrap();
        }
    }
    to
}

/// The frame behind the radiotap header.
fn frame(record: &mut [u8]) -> &mut [u8] {
    let length = usize::from(u16::from_le_bytes([record[2], record[3]]));
    &mut record[length..]
}

#[test]
fn a_capture_of_headers_gives_the_result_of_the_whole() {
    let (_folder, air, wire) = captures();
    let whole = infer(&air, &wire).unwrap();
    let snap = |of: &Path, name: &str, length: usize| changed(of, name, |record| record.truncate(length));
    let cut = infer(&snap(&air, "cut.pcap", 160), &snap(&wire, "cut-wire.pcap", 160)).unwrap();
    assert_eq!(cut, whole);
    // Within the headers: packets are unreadable, and no mean is reported.
    let short = infer(&snap(&air, "short.pcap", 60), &wire).unwrap();
    assert_eq!((short.frames, short.wired), (whole.frames, 0));
    assert!(short.unread.cut * 10 > short.frames * 9, "{:?}", short.unread);
    assert!(short.mean().is_err(), "{:?}", short.mean_interval());
}

#[test]
fn encrypted_frames_count_as_unresolved() {
    let (_folder, air, wire) = captures();
    let whole = infer(&air, &wire).unwrap();
    // Only the data frames to and from one station are encrypted, as beside an open network.
    let some = changed(&air, "some.pcap", |record| {
        let frame = frame(record);
        let is_its = |at: usize| frame.len() > 30 && frame[at + 5] == 1 && frame[at + 2] == 1;
        if frame[0] & 0x0c == 8 && (is_its(4) || is_its(10)) {
            frame[1] |= 0x40;
        }
    });
    let some = infer(&some, &wire).unwrap();
    assert_eq!((some.frames, some.lost), (whole.frames, 0));
    assert!(some.unread.encrypted * 10 > some.frames, "{:?}", some.unread);
    assert!(some.unresolved >= some.unread.encrypted * 9 / 10, "{} unresolved, {:?}", some.unresolved, some.unread);
    let mean = whole.mean().expect("a narrow interval");
    let (low, high) = some.mean_interval();
    assert!(low - 0.05 < mean && mean < high + 0.05, "{low} to {high}, of the whole {mean}");
}

#[test]
fn few_frames_have_no_mean() {
    let (_folder, air, wire) = captures();
    let mut reader = PcapReader::new(File::open(&air).unwrap()).unwrap();
    let few = air.with_file_name("few.pcap");
    let mut writer = PcapWriter::with_header(File::create(&few).unwrap(), reader.header()).unwrap();
    for _ in 0..40 {
        writer.write_packet(&reader.next_packet().unwrap().unwrap()).unwrap();
    }
    drop(writer);
    let few = infer(&few, &wire).unwrap();
    assert_eq!(few.mean(), Err(NoMean::Few(few.frames)));
}

#[test]
fn a_gap_in_the_numbers_adds_no_more_frames_than_the_capture_has() {
    let (_folder, air, wire) = captures();
    // Only every two hundredth data frame and its ACK: the sequence numbers are far apart.
    let kept = std::cell::Cell::new(0);
    let rare = changed(&air, "rare.pcap", |record| {
        if frame(record)[0] & 0x0c == 8 {
            kept.set(kept.get() + 1);
        }
        if kept.get() % 200 != 0 {
            record.clear();
        }
    });
    let rare: Inferred = infer(&rare, &wire).unwrap();
    assert!(rare.lost * 2 <= rare.frames, "{} of {} frames are not in the capture", rare.lost, rare.frames);
}
