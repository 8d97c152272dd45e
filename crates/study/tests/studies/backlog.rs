//! Compares the chain inferred from a run's captures with the one that the run counted.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use evenair_medium::BacklogChain;
use evenair_scenario::Scenario;
use evenair_sim::{SimOptions, run_with};
use evenair_study::backlog::{Inferred, infer};
use evenair_units::{Rng, Span, Streams};
use pcap_file::pcap::{PcapReader, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};

/// Stations that download, 20 ms away, throughout the run.
fn downloads(stations: u32, more: &str) -> String {
    format!(
        r#"version = 1
name = "backlog"
duration = "20 s"
[radio]
standard = "802.11b"
ap_buffer = "200 packets"
[lan]
rate = "100 Mb/s"
delay = "10 ms"
[[station]]
name = "sta"
count = {stations}
rate = "11 Mb/s"
[[server]]
name = "server"
[[bulk]]
name = "down"
stations = ["sta"]
server = "server"
direction = "down"
stagger = "50 ms"
[tcp]
{more}
"#
    )
}

/// `within`: tolerance of means, in nodes. The tolerance of proportions of states is half of it, for the average over four
/// seeds, because single runs scatter.
fn compare(text: &str, within: f64) {
    let seeds = 4;
    let mut apart = BTreeMap::<u64, f64>::new();
    for seed in 1..=seeds {
        let text = text.replace("version = 1", &format!("version = 1\nseed = {seed}"));
        for (state, difference) in compare_run(&text, within) {
            *apart.entry(state).or_default() += difference / f64::from(seeds);
        }
    }
    for (state, apart) in apart {
        assert!(apart.abs() < within / 2.0, "state {state}: {apart} apart, as a part of all visits");
    }
}

/// By how much the proportion of each number of stations in the inferred chain exceeds that in the counted one.
fn compare_run(text: &str, within: f64) -> Vec<(u64, f64)> {
    let scenario = Scenario::parse(text, "backlog.toml").unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap();
    let options = SimOptions { trace: Some(folder.path().to_owned()), ..SimOptions::default() };
    let result = run_with(&scenario, &options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    let inferred = infer(&folder.path().join("air.pcap"), &folder.path().join("ap-wire.pcap")).unwrap();
    let (mean, mean_plus_2_sigma) = inferred.mean_and_2_sigma();
    assert!(inferred.frames > 1_000);
    assert!(inferred.unresolved * 50 < inferred.frames, "{} of {} unresolved", inferred.unresolved, inferred.frames);
    let counted = result.phases[0].backlog.as_ref().expect("frames were received");
    assert!((mean - counted.mean).abs() < within, "mean {mean}, counted {}", counted.mean);
    assert!(
        (mean_plus_2_sigma - counted.mean_plus_2_sigma).abs() < 3.0 * within,
        "{mean_plus_2_sigma}, counted {}",
        counted.mean_plus_2_sigma
    );
    let visits: u64 = inferred.chain.states().map(|(_, visits)| visits).sum();
    let states = counted.states.iter().map(|state| {
        let ours = inferred.chain.states().find(|&(ours, _)| u64::from(ours) == state.nodes);
        (state.nodes, ours.map_or(0.0, |(_, ours)| ours as f64 / visits as f64) - state.share)
    });
    states.collect()
}

#[test]
fn captures_give_the_chain_that_the_run_counted() {
    for stations in [5, 20] {
        compare(&downloads(stations, "delayed_ack = false"), 0.05);
    }
    // Some acknowledgments are sent by timers.
    compare(&downloads(5, ""), 0.05);
}

/// MPDUs count one by one, and none twice: as many as were delivered.
#[test]
fn captures_of_a_mpdus_are_read() {
    let text = downloads(5, "").replace("\"802.11b\"", "\"802.11ax\"\nber = 1e-5").replace("\"20 s\"", "\"2 s\"");
    let text = text.replace("rate = \"11 Mb/s\"", "mcs = 7");
    let scenario = Scenario::parse(&text, "backlog.toml").unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap();
    let options = SimOptions { trace: Some(folder.path().to_owned()), ..SimOptions::default() };
    let result = run_with(&scenario, &options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    let inferred = infer(&folder.path().join("air.pcap"), &folder.path().join("ap-wire.pcap")).unwrap();
    let access = &result.phases[0].medium.as_ref().unwrap().access;
    let delivered: u64 = access.frames_by_attempts.iter().sum();
    assert!(inferred.frames.abs_diff(delivered) < delivered / 100, "{} frames, {delivered} delivered", inferred.frames);
}

/// Copies a capture without `of_thousand` out of a thousand packets, chosen at random.
fn remove(whole: &Path, rest: &Path, of_thousand: u64, seed: u64) {
    let mut rng = Streams::new(seed).stream("frames that the monitor does not hear");
    let mut reader = PcapReader::new(File::open(whole).unwrap()).unwrap();
    let mut writer = PcapWriter::with_header(File::create(rest).unwrap(), reader.header()).unwrap();
    while let Some(packet) = reader.next_raw_packet() {
        let packet = packet.unwrap();
        if rng.below(1000) >= of_thousand {
            writer.write_raw_packet(&packet).unwrap();
        }
    }
}

/// Transition probabilities of the states that are left at least 1000 times.
fn rates(chain: &BacklogChain) -> BTreeMap<(u32, u32), f64> {
    let mut left = BTreeMap::<u32, u64>::new();
    chain.transitions().for_each(|(from, _, times)| *left.entry(from).or_default() += times);
    let often = chain.transitions().filter(|(from, ..)| left[from] >= 1000);
    often.map(|(from, to, times)| ((from, to), times as f64 / left[&from] as f64)).collect()
}

/// Number of thinned captures per run, each with its own seed.
const LOSS_SEEDS: u64 = 2;

/// Simulates, removes `of_thousand` out of a thousand frames from the air capture with several seeds, and compares with the
/// complete capture: means to 0.1, transition rates to 5 % if `exactly`. Returns for how many seeds the interval contains the
/// mean.
fn lose(text: &str, of_thousand: u64, exactly: bool) -> usize {
    let scenario = Scenario::parse(text, "backlog.toml").unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap();
    let options = SimOptions { trace: Some(folder.path().to_owned()), ..SimOptions::default() };
    run_with(&scenario, &options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    let [air, rest, wire] = ["air.pcap", "rest.pcap", "ap-wire.pcap"].map(|name| folder.path().join(name));
    let whole = infer(&air, &wire).unwrap();
    let mean = whole.mean().expect("a narrow interval");
    let (from, to) = whole.mean_interval();
    assert!(from - 0.01 < mean && mean < to + 0.01 && to - from < 0.1, "{from} to {to}, {mean}");
    assert_eq!(whole.lost, 0, "nothing is lost: {mean}");
    let mut covered = 0;
    for seed in 1..=LOSS_SEEDS {
        remove(&air, &rest, of_thousand, seed);
        let inferred = infer(&rest, &wire).unwrap();
        let part = 1000.0 * inferred.lost as f64 / inferred.frames as f64 / of_thousand as f64;
        assert!((0.8..1.2).contains(&part), "{} of {} frames lost", inferred.lost, inferred.frames);
        let (low, high) = inferred.mean_interval();
        let ours = (low + high) / 2.0;
        assert!((ours - mean).abs() < 0.1, "mean {ours}, of the whole {mean}");
        println!("{low} to {high}, of the whole {mean}");
        covered += usize::from((low..high).contains(&mean));
        if exactly {
            assert!(high - low < 0.15, "{low} to {high}");
            compare_rates(&inferred.chain, &whole.chain);
        }
    }
    covered
}

/// Rates of frequent transitions agree to 5 % and 0.005.
fn compare_rates(ours: &BacklogChain, whole: &BacklogChain) {
    let (ours, whole) = (rates(ours), rates(whole));
    let common = whole.into_iter().filter(|&(_, rate)| rate > 0.02);
    let mut compared = 0;
    for (which, rate) in common {
        let Some(&ours) = ours.get(&which) else { continue };
        assert!((ours - rate).abs() < 0.05 * rate + 0.005, "{which:?}: {ours}, of the whole {rate}");
        compared += 1;
    }
    assert!(compared >= 5, "only {compared} rates");
}

#[test]
fn frames_that_the_monitor_did_not_hear_do_not_change_the_answer() {
    let long = |stations| downloads(stations, "delayed_ack = false");
    let in_radio = |keys: &str| downloads(5, "").replace("[radio]\n", &format!("[radio]\n{keys}\n"));
    let cases = [
        (long(5), 20, true),
        (long(20), 20, true),
        (downloads(5, ""), 20, true),
        // The access point drops packets: which of those that passed the wire were on the air is a guess.
        (downloads(20, "").replace("200 packets", "20 packets"), 20, false),
        // Receivers cannot decode some frames, and some are given up.
        (in_radio("ber = 2e-5\nshort_retry_limit = 2"), 20, true),
        // Sequence numbers count per receiver.
        (in_radio("edca = true"), 20, true),
        // A bad monitor.
        (long(20), 100, false),
    ];
    let covered: usize = cases.iter().map(|(text, of_thousand, exactly)| lose(text, *of_thousand, *exactly)).sum();
    let all = cases.len() * LOSS_SEEDS as usize;
    // The interval is one of 95 %.
    assert!(covered * 20 >= all * 17, "{covered} of {all} intervals have the mean of the whole");
}

#[test]
fn frames_that_were_given_up_are_not_taken_for_lost_ones() {
    // The monitor discards undecodable frames, and the wire capture has lost packets too.
    let text = downloads(5, "").replace("[radio]\n", "[radio]\nber = 2e-5\nshort_retry_limit = 2\n");
    let scenario = Scenario::parse(&text, "backlog.toml").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = SimOptions { trace: Some(folder.path().to_owned()), ..SimOptions::default() };
    run_with(&scenario, &options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    let [air, good, rest, wire, wire_rest] =
        ["air.pcap", "good.pcap", "rest.pcap", "ap-wire.pcap", "wire-rest.pcap"].map(|name| folder.path().join(name));
    let whole = infer(&air, &wire).unwrap();
    let mut reader = PcapReader::new(File::open(&air).unwrap()).unwrap();
    let mut writer = PcapWriter::with_header(File::create(&good).unwrap(), reader.header()).unwrap();
    let mut bad = 0;
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        // The radiotap flags are after TSFT.
        if packet.data[16] & 0x40 == 0 {
            writer.write_packet(&packet).unwrap();
        } else {
            bad += 1;
        }
    }
    drop(writer);
    assert!(bad > 1000, "{bad} could not be decoded");
    let mean = |inferred: &Inferred| inferred.mean_and_2_sigma().0;
    let without = infer(&good, &wire).unwrap();
    assert!(without.lost < 10, "{} lost", without.lost);
    assert!((mean(&without) - mean(&whole)).abs() < 0.01, "{} and {}", mean(&without), mean(&whole));
    for seed in 1..=4 {
        remove(&good, &rest, 20, seed);
        remove(&wire, &wire_rest, 20, seed + 10);
        let inferred = infer(&rest, &wire_rest).unwrap();
        assert!((mean(&inferred) - mean(&whole)).abs() < 0.1, "{} and {}", mean(&inferred), mean(&whole));
    }
}

#[test]
fn files_of_other_formats_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("air.pcap");
    assert!(infer(&path, &path).unwrap_err().to_string().contains("air.pcap"));
    std::fs::write(&path, b"no capture").unwrap();
    assert!(infer(&path, &path).is_err());
}

#[test]
fn captures_with_wrong_bytes_are_read_or_refused() {
    let scenario = Scenario::parse(&downloads(2, ""), "backlog.toml").unwrap();
    let scenario = Scenario { duration: Span::from_millis(300), ..scenario };
    let folder = tempfile::tempdir().unwrap();
    let options = SimOptions { trace: Some(folder.path().to_owned()), ..SimOptions::default() };
    run_with(&scenario, &options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    let (air, wire) = (folder.path().join("air.pcap"), folder.path().join("ap-wire.pcap"));
    let pcap = [&air, &wire].map(|path| std::fs::read(path).unwrap());
    let pcapng = [&air, &wire].map(|path| std::fs::read(as_pcapng(path, Some(9))).unwrap());
    let mut rng = Streams::new(1).stream("captures gone wrong");
    let (mut read, mut refused) = (0, 0);
    for round in 0..800 {
        let whole = if round % 2 == 0 { &pcap } else { &pcapng };
        for (path, bytes) in [&air, &wire].into_iter().zip(whole) {
            std::fs::write(path, changed(bytes, &mut rng)).unwrap();
        }
        match infer(&air, &wire) {
            Ok(inferred) => {
                // The mean of an empty chain is NaN, not a number.
                let (mean, _) = inferred.mean_and_2_sigma();
                assert!(inferred.chain.states().next().is_none() || mean >= 0.0, "{inferred:?}");
                read += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains(".pcap"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(read > 40 && refused > 40, "{read} read, {refused} refused: too one-sided to say much");
}

/// Copies the capture as pcapng, with times of so many decimals, or the default microseconds.
fn as_pcapng(pcap: &Path, decimals: Option<u8>) -> PathBuf {
    let path = pcap.with_extension(format!("{}.pcapng", decimals.unwrap_or(6)));
    let mut reader = PcapReader::new(File::open(pcap).unwrap()).unwrap();
    let mut writer = PcapNgWriter::new(File::create(&path).unwrap()).unwrap();
    let mut interface = InterfaceDescriptionBlock::new(reader.header().datalink, 0);
    interface.options.extend(decimals.map(InterfaceDescriptionOption::IfTsResol));
    writer.write_pcapng_block(interface).unwrap();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        // The crate writes this number of units without scaling.
        let units = packet.timestamp.as_nanos() as u64 / 10u64.pow(9 - u32::from(decimals.unwrap_or(6)));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(units),
            original_len: packet.orig_len,
            data: packet.data,
            options: Vec::new(),
        };
        writer.write_pcapng_block(block).unwrap();
    }
    path
}

#[test]
fn pcapng_gives_the_result_of_pcap() {
    let scenario = Scenario::parse(&downloads(2, ""), "backlog.toml").unwrap();
    let scenario = Scenario { duration: Span::from_secs(3), ..scenario };
    let folder = tempfile::tempdir().unwrap();
    let options = SimOptions { trace: Some(folder.path().to_owned()), ..SimOptions::default() };
    run_with(&scenario, &options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    let (air, wire) = (folder.path().join("air.pcap"), folder.path().join("ap-wire.pcap"));
    let pcap = infer(&air, &wire).unwrap();
    assert!(pcap.frames > 500 && pcap.cuts.is_empty(), "{pcap:?}");
    assert_eq!(infer(&as_pcapng(&air, Some(9)), &as_pcapng(&wire, Some(9))).unwrap(), pcap);
    // Microseconds: some events change places.
    let coarse = infer(&as_pcapng(&air, None), &as_pcapng(&wire, None)).unwrap();
    assert_eq!(coarse.frames, pcap.frames);
    assert!((coarse.mean_and_2_sigma().0 - pcap.mean_and_2_sigma().0).abs() < 0.01, "{coarse:?}");
    // The wire capture in place of the air capture.
    let error = infer(&as_pcapng(&wire, None), &wire).unwrap_err().to_string();
    assert!(error.contains("its link type is \"Ethernet\"") && error.contains("radiotap headers, e.g."), "{error}");
    let error = infer(&air, &air).unwrap_err().to_string();
    assert!(error.contains("its link type is \"IEEE 802.11 plus radiotap radio header\", not \"Ethernet\""), "{error}");
}

#[test]
fn a_capture_that_was_cut_short_counts_up_to_the_cut() {
    let scenario = Scenario::parse(&downloads(2, ""), "backlog.toml").unwrap();
    let scenario = Scenario { duration: Span::from_secs(2), ..scenario };
    let folder = tempfile::tempdir().unwrap();
    let options = SimOptions { trace: Some(folder.path().to_owned()), ..SimOptions::default() };
    run_with(&scenario, &options, |_| ControlFlow::Continue(())).expect("it can be simulated");
    let (air, wire) = (folder.path().join("air.pcap"), folder.path().join("ap-wire.pcap"));
    let mut reader = PcapReader::new(File::open(&air).unwrap()).unwrap();
    let mut packets = 0;
    while let Some(packet) = reader.next_packet() {
        packets += u64::from(packet.is_ok());
    }
    let whole = infer(&air, &wire).unwrap();
    for file in [air.clone(), as_pcapng(&air, None)] {
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        let cut = infer(&file, &wire).unwrap();
        let warning = cut.cuts[0].to_string();
        assert_eq!(cut.cuts.len(), 1);
        assert!(warning.contains(&format!("packet {packets};")) && warning.contains("air."), "{warning}");
        std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        let half = infer(&file, &wire).unwrap();
        assert!(half.cuts.len() == 1 && (0.4..0.6).contains(&(half.frames as f64 / whole.frames as f64)), "{half:?}");
    }
}

/// A damaged capture: a few bytes changed, half of the times within its first headers; sometimes cut short.
fn changed(capture: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = capture.to_vec();
    for _ in 0..rng.below(4) {
        let among = if rng.below(2) == 0 { 200 } else { bytes.len() as u64 };
        let at = rng.below(among) as usize;
        bytes[at] = rng.below(256) as u8;
    }
    if rng.below(4) == 0 {
        bytes.truncate(rng.below(bytes.len() as u64) as usize);
    }
    bytes
}
