//! Aggregation against closed forms, against slot-by-slot simulations, and against runs of ns-3 3.44 with known parameters: 5
//! GHz, EDCA's best effort without TXOP limit unless one is given, MPDUs of 1,538 bytes with packets of 1,500, 600 packets
//! queued for each receiver, responses at 6, 12 and 24 Mb/s, no capture.

use evenair_medium::{
    AccessCategory, AfterCollision, Aggregation, Counters, Event, Limit, Medium, MediumConfig, Mpdu, NodeConfig,
    NodeId, Order, Recover, To,
};
use evenair_units::{Bytes, Instant, Span, Streams};
use evenair_wifi::{
    Band, EdcaParameters, EdcaSet, Format, GuardInterval, Phy, PhyMode, PhyRate, Standard, Width, a_mpdu_bytes,
};

use crate::saturation::assert_near;

/// Packets queued for each receiver.
const DEPTH: usize = 600;

/// A configuration of saturated senders.
#[derive(Clone)]
pub(crate) struct Case {
    /// The rate of each station.
    pub(crate) modes: Vec<PhyMode>,
    /// Whether the access point sends to the stations; otherwise each station sends to it.
    pub(crate) down: bool,
    pub(crate) msdu: Bytes,
    pub(crate) depth: usize,
    /// Loss probability of each MPDU, per 10^9, to or from each station.
    pub(crate) losses: Vec<u32>,
    pub(crate) txop: Span,
    pub(crate) config: MediumConfig,
    pub(crate) hidden: bool,
    pub(crate) seconds: u64,
}

/// Result of a case.
pub(crate) struct Carried {
    /// Mb/s of IP packets by station.
    pub(crate) each: Vec<f64>,
    pub(crate) senders: Counters,
}

impl Carried {
    pub(crate) fn mbps(&self) -> f64 {
        self.each.iter().sum()
    }

    /// MPDUs in a PPDU with DATA.
    pub(crate) fn mean_aggregate(&self) -> f64 {
        self.senders.mpdus as f64 / self.ppdus()
    }

    /// PPDUs with DATA, or RTS before them.
    fn ppdus(&self) -> f64 {
        (self.senders.attempts - self.senders.block_ack_requests) as f64
    }
}

/// The mode of a name like "HE 7", "VHT 8x2" at this width in MHz, guard interval 0.8 us.
pub(crate) fn mode(name: &str, mhz: u32) -> PhyMode {
    mode_with(name, mhz, GuardInterval::Ns800)
}

fn mode_with(name: &str, mhz: u32, guard: GuardInterval) -> PhyMode {
    let (format, rest) = name.split_once(' ').expect("a format and an MCS");
    let (mcs, streams) = rest.split_once('x').unwrap_or((rest, "1"));
    let format = match format {
        "HT" => Format::Ht,
        "VHT" => Format::Vht,
        _ => Format::He,
    };
    let width = match mhz {
        20 => Width::Mhz20,
        40 => Width::Mhz40,
        80 => Width::Mhz80,
        _ => Width::Mhz160,
    };
    PhyMode::new(format, mcs.parse().unwrap(), streams.parse().unwrap(), width, guard).unwrap()
}

/// The configuration of ns-3.
pub(crate) fn ns3(band: Band) -> MediumConfig {
    let phy = Phy::default_for(Standard::Dot11ax).in_band(band).unwrap().with_ns3_durations();
    MediumConfig {
        after_collision: AfterCollision::Difs,
        aggregation: Some(Aggregation::ns3()),
        ..MediumConfig::new(phy)
    }
}

impl Case {
    pub(crate) fn new(modes: &[PhyMode], down: bool) -> Self {
        Self {
            modes: modes.to_vec(),
            down,
            msdu: Bytes(1_500),
            depth: DEPTH,
            losses: vec![0; modes.len()],
            txop: Span::ZERO,
            config: ns3(Band::Ghz5),
            hidden: false,
            seconds: 4,
        }
    }

    pub(crate) fn aggregating(mut self, change: impl FnOnce(&mut Aggregation)) -> Self {
        change(self.config.aggregation.as_mut().unwrap());
        self
    }

    pub(crate) fn edca(&self) -> EdcaSet {
        self.config.phy.default_edca().map(|parameters| EdcaParameters { txop: self.txop, ..parameters })
    }

    /// The access point gets packets for each station at a constant rate in Mb/s into a queue of `limit`.
    fn overflow(&self, limit: u32, mbps: f64) -> Carried {
        let mut medium = Medium::new(self.config.clone(), &Streams::new(1));
        let ap = medium.add_node(NodeConfig::edca(Limit::Packets(limit), self.edca()));
        let stations: Vec<NodeId> =
            self.modes.iter().map(|_| medium.add_node(NodeConfig::edca(Limit::Unlimited, self.edca()))).collect();
        let gap = Span::from_nanos((self.msdu.bits() as f64 * 1e3 / mbps) as u64);
        let mut due: Vec<Instant> =
            (1..).zip(&stations).map(|(k, _)| Instant::ZERO + Span::from_micros(7 * k)).collect();
        let end = Instant::ZERO + Span::from_millis(self.seconds * 1_000);
        let mut bytes = vec![0u64; stations.len()];
        while let Some((station, at)) =
            due.iter().copied().enumerate().min_by_key(|&(_, at)| at).filter(|&(_, at)| at < end)
        {
            let (rate, category) = (PhyRate::from(self.modes[station]), AccessCategory::BestEffort);
            let to = To::Node(stations[station]);
            medium.handle_frame(at, ap, Mpdu { to, msdu: self.msdu, rate, category, frame: station });
            due[station] = at + gap;
            while let Some(event) = medium.poll_event() {
                if let Event::Delivered { frame, msdu, .. } = event {
                    bytes[frame] += msdu.0;
                }
            }
        }
        let each = bytes.iter().map(|&bytes| bytes as f64 * 8e-6 / self.seconds as f64).collect();
        Carried { each, senders: medium.all_counters() }
    }

    pub(crate) fn run(&self, seed: u64) -> Carried {
        let streams = Streams::new(seed);
        let mut medium = match self.hidden {
            false => Medium::new(self.config.clone(), &streams),
            true => Medium::with_hidden_nodes(self.config.clone(), &streams),
        };
        let ap = medium.add_node(NodeConfig::edca(Limit::Unlimited, self.edca()));
        let stations: Vec<NodeId> =
            self.modes.iter().map(|_| medium.add_node(NodeConfig::edca(Limit::Unlimited, self.edca()))).collect();
        let route = |station: usize| if self.down { (ap, stations[station]) } else { (stations[station], ap) };
        let send = |medium: &mut Medium<usize>, at, station: usize| {
            let (from, to) = route(station);
            let (rate, category) = (PhyRate::from(self.modes[station]), AccessCategory::BestEffort);
            medium.handle_frame(at, from, Mpdu { to: To::Node(to), msdu: self.msdu, rate, category, frame: station });
        };
        for (station, &loss) in self.losses.iter().enumerate() {
            let (from, to) = route(station);
            medium.set_frame_error(from, to, loss);
        }
        // The stations' queues are filled one after the other.
        for station in 0..stations.len() {
            let at = Instant::ZERO + Span::from_micros(500) * station as u64;
            (0..self.depth).for_each(|_| send(&mut medium, at, station));
        }
        let warm = Instant::ZERO + Span::from_micros(250_000 + 500 * stations.len() as u64);
        let end = warm + Span::from_millis(self.seconds * 1_000);
        let (mut bytes, mut before) = (vec![0u64; stations.len()], None);
        loop {
            let at = medium.advance(end);
            if at >= warm && before.is_none() {
                before = Some(medium.all_counters());
            }
            let mut any = false;
            while let Some(event) = medium.poll_event() {
                any = true;
                let (Event::Delivered { frame, .. } | Event::Dropped { frame, .. }) = event;
                if matches!(event, Event::Delivered { .. }) && at >= warm {
                    bytes[frame] += self.msdu.0;
                }
                send(&mut medium, at, frame);
            }
            if !any {
                break;
            }
        }
        let senders = medium.all_counters() - before.unwrap();
        Carried { each: bytes.iter().map(|&bytes| bytes as f64 * 8e-6 / self.seconds as f64).collect(), senders }
    }
}

/// Compares IP Mb/s and MPDUs per PPDU with those of ns-3, within a tolerance.
#[track_caller]
fn check(what: &str, case: &Case, mbps: f64, mpdus: f64, within: f64) {
    let ours = case.run(1);
    assert_near(what, ours.mbps(), mbps, within);
    assert_near(what, ours.mean_aggregate(), mpdus, 0.001);
}

#[test]
fn one_saturated_station() {
    let one = |name, mhz| Case::new(&[mode(name, mhz)], false);
    for (name, mhz, mbps, mpdus) in [
        ("HT 0", 20, 5.95, 2.0),
        ("HT 3", 20, 24.34, 11.0),
        ("HT 7x4", 40, 429.44, 42.0),
        ("VHT 8", 20, 73.12, 34.0),
        ("VHT 9x2", 40, 320.33, 64.0),
        ("VHT 0", 80, 27.18, 12.0),
        ("VHT 9", 80, 345.06, 64.0),
        ("VHT 8x2", 80, 577.51, 64.0),
        ("VHT 9x4", 80, 1070.80, 64.0),
        ("VHT 5", 160, 406.59, 64.0),
        ("HE 7", 20, 80.36, 37.0),
        ("HE 4", 80, 201.94, 95.0),
        ("HE 7", 80, 336.87, 158.0),
        ("HE 9x2", 80, 874.80, 256.0),
        ("HE 11x2", 80, 1074.62, 256.0),
        ("HE 11x2", 160, 1993.97, 256.0),
        ("HE 3", 160, 269.14, 126.0),
    ] {
        check(&format!("{name} {mhz} MHz"), &one(name, mhz), mbps, mpdus, 0.005);
        let formula = closed_form(&one(name, mhz), mpdus as u16);
        assert_near(name, Case { seconds: 20, ..one(name, mhz) }.run(1).mbps(), formula, 0.003);
    }
}

/// Goodput of a lone sender with this many MPDUs per access: AIFS, half of the first window, PPDU, SIFS and BlockAck.
fn closed_form(case: &Case, mpdus: u16) -> f64 {
    let (phy, rate) = (&case.config.phy, PhyRate::from(case.modes[0]));
    let mpdu = case.msdu + Bytes(38);
    let window = if case.modes[0].format() == Format::He { 256 } else { 64 };
    let cycle_us = 43.0
        + 7.5 * 9.0
        + phy.ppdu(a_mpdu_bytes(mpdus, mpdu), rate).as_secs_f64() * 1e6
        + 16.0
        + phy.block_ack(rate, window).as_secs_f64() * 1e6;
    f64::from(mpdus) * case.msdu.bits() as f64 / cycle_us
}

#[test]
fn one_saturated_station_with_other_limits_sizes_and_bands() {
    let one = |name, mhz| Case::new(&[mode(name, mhz)], false);
    let limited = |name, mhz, bytes| one(name, mhz).aggregating(|rules| rules.bytes = Bytes(bytes));
    let sized = |name, mhz, msdu| Case { msdu: Bytes(msdu), ..one(name, mhz) };
    let at_2_4 = |name| Case { config: ns3(Band::Ghz2_4), ..one(name, 20) };
    let long_guard = |name, mhz| Case::new(&[mode_with(name, mhz, GuardInterval::Ns3200)], false);
    for (what, case, mbps, mpdus) in [
        ("HT 7, 16,383 bytes", limited("HT 7", 20, 16_383), 57.18, 10.0),
        ("HT 7 at 2.4 GHz", at_2_4("HT 7"), 60.91, 28.0),
        ("HE 7 at 2.4 GHz", at_2_4("HE 7"), 80.34, 37.0),
        ("HT 7x2, none", limited("HT 7x2", 40, 0), 49.52, 1.0),
        ("VHT 8x2, 65,535 bytes", limited("VHT 8x2", 80, 65_535), 536.38, 42.0),
        ("HE 7, GI 3.2", long_guard("HE 7", 20), 68.37, 32.0),
        ("HE 11x2, GI 3.2", long_guard("HE 11x2", 80), 923.46, 256.0),
        ("HE 7, none", limited("HE 7", 20, 0), 34.46, 1.0),
        ("HE 7, 16,383 bytes", limited("HE 7", 20, 16_383), 72.60, 10.0),
        ("HE 11x2, none", limited("HE 11x2", 80, 0), 54.36, 1.0),
        ("HE 11x2, 65,535 bytes", limited("HE 11x2", 80, 65_535), 769.44, 42.0),
        ("HE 11x2, window 64", one("HE 11x2", 80).aggregating(|rules| rules.window = 64), 873.58, 64.0),
        ("HE 7, packets of 120", sized("HE 7", 20, 120), 59.50, 256.0),
        ("HE 7, packets of 500", sized("HE 7", 20, 500), 75.99, 107.0),
        ("VHT 8x2, packets of 500", sized("VHT 8x2", 80, 500), 427.35, 64.0),
        ("HE 7, packets of 1000", sized("HE 7", 20, 1_000), 79.24, 56.0),
    ] {
        check(what, &case, mbps, mpdus, 0.005);
    }
}

#[test]
fn a_saturated_access_point() {
    for (name, mhz, stations, mbps, mpdus) in [
        ("HE 7", 20, 1, 80.29, 37.0),
        ("HT 7", 20, 1, 60.85, 28.0),
        ("HE 11x2", 80, 1, 1073.70, 256.0),
        ("HE 7", 20, 2, 80.28, 37.0),
        ("HE 7", 20, 10, 80.28, 37.0),
        ("VHT 8x2", 80, 5, 579.44, 64.0),
    ] {
        let case = Case::new(&vec![mode(name, mhz); stations], true);
        check(&format!("{name} to {stations}"), &case, mbps, mpdus, 0.005);
    }
}

#[test]
fn rts_in_front_of_aggregates() {
    for (name, mbps, mpdus) in [("HE 7", 79.09, 37.0), ("HT 7", 59.96, 28.0)] {
        let mut case = Case::new(&[mode(name, 20)], false);
        case.config.rts_threshold = Some(Bytes::ZERO);
        check(name, &case, mbps, mpdus, 0.005);
    }
}

#[test]
fn several_packets_in_an_mpdu() {
    let with = |name, mhz, bytes, a_msdu| {
        Case::new(&[mode(name, mhz)], false)
            .aggregating(|rules| (rules.bytes, rules.a_msdu) = (Bytes(bytes), Bytes(a_msdu)))
    };
    for (what, case, mbps, mpdus) in [
        ("HT 7, 3839", with("HT 7", 20, u64::MAX, 3_839), 61.04, 14.0),
        ("VHT 8x2, 3839, no A-MPDU", with("VHT 8x2", 80, 0, 3_839), 103.94, 1.0),
        ("HT 7, 7935, no A-MPDU", with("HT 7", 20, 0, 7_935), 52.86, 1.0),
        ("HT 7, 7935", with("HT 7", 20, u64::MAX, 7_935), 61.40, 6.0),
        ("VHT 8x2, 7935", with("VHT 8x2", 80, u64::MAX, 7_935), 663.19, 63.0),
        ("VHT 8x2, 11398", with("VHT 8x2", 80, u64::MAX, 11_398), 664.25, 45.0),
    ] {
        let ours = case.run(1);
        assert_near(what, ours.mbps(), mbps, 0.005);
        assert!((ours.mean_aggregate() - mpdus).abs() <= 1.0, "{what}: {:.2} MPDUs for {mpdus}", ours.mean_aggregate());
    }
}

#[test]
fn mpdus_lost_to_noise() {
    for (name, mhz, down, per_mille, single, mbps, mpdus) in [
        ("HE 7", 20, true, &[10][..], false, 79.47, 37.0),
        ("HE 7", 20, true, &[100], false, 72.20, 37.0),
        ("VHT 8x2", 80, true, &[50], false, 501.19, 39.3),
        ("VHT 8x2", 80, true, &[100], false, 460.10, 34.1),
        ("HT 7", 20, false, &[100], false, 54.67, 26.9),
        ("VHT 8x2", 80, true, &[300], false, 325.68, 25.5),
        ("HE 7", 20, true, &[100], true, 29.93, 1.0),
        ("HE 7", 20, true, &[0, 100], false, 76.03, 37.0),
    ] {
        let mut case = Case::new(&vec![mode(name, mhz); per_mille.len()], down);
        case.losses = per_mille.iter().map(|per_mille| per_mille * 1_000_000).collect();
        if single {
            case = case.aggregating(|rules| rules.bytes = Bytes::ZERO);
        }
        let ours = case.run(1);
        let what = format!("{name}, {per_mille:?} lost");
        assert_near(&what, ours.mbps(), mbps, 0.02);
        assert_near(&what, ours.mean_aggregate(), mpdus, 0.03);
    }
}

/// Compares each station's goodput within 2 %, and the total within 1 %.
#[track_caller]
fn check_each(what: &str, case: &Case, each: &[f64]) {
    let ours = case.run(1);
    ours.each.iter().zip(each).for_each(|(&ours, &mbps)| assert_near(what, ours, mbps, 0.02));
    assert_near(what, ours.mbps(), each.iter().sum(), 0.01);
}

/// An access point with a deep queue that is filled for one station after the other, over the first seconds, as in the ns-3
/// runs.
#[test]
fn txops_and_mixed_rates() {
    for (modes, mhz, down, txop_us, bytes, each) in [
        (&["HE 7"][..], 20, false, 2_528, u64::MAX, &[74.49][..]),
        (&["HT 7"], 20, false, 2_528, u64::MAX, &[56.53]),
        (&["HE 11x2"], 80, false, 2_528, u64::MAX, &[1068.29]),
        (&["HT 7", "HT 0"], 20, true, 0, u64::MAX, &[4.44, 5.51]),
        (&["HT 7", "HT 0"], 20, true, 2_528, u64::MAX, &[4.33, 5.09]),
        (&["HT 7", "HT 7", "HT 0"], 20, true, 0, u64::MAX, &[4.44, 4.44, 5.08]),
        (&["HE 11", "HE 0"], 20, true, 0, 0, &[5.76, 6.22]),
    ] {
        let modes: Vec<PhyMode> = modes.iter().map(|name| mode(name, mhz)).collect();
        let case = Case { txop: Span::from_micros(txop_us), seconds: 5, ..Case::new(&modes, down) };
        let case = case.aggregating(|rules| rules.bytes = Bytes(bytes));
        check_each(&format!("{modes:?}, down {down}, TXOP {txop_us} us"), &case, each);
    }
}

/// Saturated stations of different rates: Mb/s of a slot-by-slot simulation (200,000 accesses and more).
#[test]
fn contention_of_stations_with_different_rates() {
    for (modes, mhz, each) in [
        (&["HE 11", "HE 0"][..], 20, &[66.16, 3.44][..]),
        (&["HT 7", "HT 0"], 20, &[31.68, 2.43]),
        (&["VHT 8x2", "VHT 4", "VHT 1"], 80, &[59.70, 58.22, 22.06]),
    ] {
        let modes: Vec<PhyMode> = modes.iter().map(|name| mode(name, mhz)).collect();
        check_each(&format!("{modes:?}"), &Case { seconds: 600, ..Case::new(&modes, false) }, each);
    }
}

/// Saturated stations: IP Mb/s of a slot-by-slot simulation (two runs of 150,000 accesses) without BlockAckReq after a
/// dropped MPDU.
#[test]
fn contention() {
    let (data, request) = (Recover::Data, Recover::Request);
    for (name, mhz, stations, recover, rts, mbps) in [
        ("HE 7", 20, 2, data, false, 76.01),
        ("HE 7", 20, 2, request, false, 75.27),
        ("HE 7", 20, 2, data, true, 79.36),
        ("HE 7", 20, 10, data, false, 63.28),
        ("HE 7", 20, 10, request, false, 57.55),
        ("HE 7", 20, 10, data, true, 79.50),
        ("HE 7", 20, 50, data, false, 47.58),
        ("HE 7", 20, 50, request, false, 38.93),
        ("HE 7", 20, 50, data, true, 79.26),
        ("VHT 8x2", 80, 10, data, false, 473.93),
        ("VHT 8x2", 80, 10, request, false, 416.19),
        ("VHT 8x2", 80, 10, data, true, 555.07),
    ] {
        let mut case = Case::new(&vec![mode(name, mhz); stations], false).aggregating(|rules| {
            rules.recover = recover;
            rules.request_after_drop = false;
        });
        case.config.rts_threshold = rts.then_some(Bytes::ZERO);
        case.seconds = 200;
        assert_near(&format!("{stations} x {name}, {recover:?}, RTS {rts}"), case.run(1).mbps(), mbps, 0.012);
    }
}

#[test]
fn a_queue_that_overflows() {
    for (name, mhz, stations, cbr, limit, mbps, mpdus) in [
        ("HE 7", 20, 1, 120.0, 4, 52.14, 2.5),
        ("HE 7", 20, 1, 120.0, 8, 62.44, 4.5),
        ("HE 7", 20, 1, 120.0, 64, 79.90, 32.5),
        ("VHT 8x2", 80, 1, 800.0, 8, 256.34, 6.9),
        ("VHT 8x2", 80, 1, 800.0, 32, 429.34, 19.5),
        ("VHT 8x2", 80, 1, 800.0, 64, 514.44, 35.6),
        ("HE 7", 20, 4, 30.0, 16, 63.72, 4.9),
        ("HE 11x2", 80, 1, 1_300.0, 512, 1076.58, 256.0),
    ] {
        let case = Case::new(&vec![mode(name, mhz); stations], true);
        let ours = case.overflow(limit, cbr);
        let what = format!("{name} to {stations}, {limit} packets");
        assert_near(&what, ours.mbps(), mbps, 0.03);
        assert_near(&what, ours.mean_aggregate(), mpdus, 0.05);
    }
}

/// If all nodes hear each other, both engines give the same run, to the nanosecond.
#[test]
fn both_engines_give_the_same_run() {
    let lossy = |mut case: Case| {
        case.losses = vec![200_000_000; case.modes.len()];
        case
    };
    let fast = mode("HE 7", 20);
    let limit = |txop_us, mut case: Case| {
        case.txop = Span::from_micros(txop_us);
        case
    };
    let reserving = |mut case: Case| {
        case.config.rts_threshold = Some(Bytes(3_000));
        case
    };
    for (what, case) in [
        ("uploads", Case::new(&[fast; 5], false)),
        ("downloads with losses", lossy(Case::new(&[fast, mode("HE 0", 20)], true))),
        ("uploads with losses", lossy(Case::new(&[fast; 3], false))),
        ("TXOPs", limit(2_528, Case::new(&[fast; 3], false))),
        ("RTS", reserving(Case::new(&[fast; 4], false))),
        ("neighbours", lossy(Case::new(&[fast; 3], true)).aggregating(|rules| rules.order = Order::Neighbours)),
    ] {
        let case = Case { seconds: 2, ..case.aggregating(|rules| (rules.cf_end, rules.deliver_each) = (false, false)) };
        let both = [false, true].map(|hidden| Case { hidden, ..case.clone() }.run(3));
        assert_eq!(both[0].each, both[1].each, "{what}");
        assert_eq!(both[0].senders.attempts, both[1].senders.attempts, "{what}");
        assert_eq!(both[0].senders.mpdus, both[1].senders.mpdus, "{what}");
    }
}

/// Packets of several flows, with losses, retries and an overflowing queue: each comes out once, and those of a flow in
/// order.
#[test]
fn every_packet_comes_out_once_and_in_order() {
    for (seed, order, recover, a_msdu) in [
        (1, Order::Arrival, Recover::Data, 0),
        (2, Order::RoundRobin, Recover::Data, 3_839),
        (3, Order::Arrival, Recover::Request, 0),
        (4, Order::Neighbours, Recover::Data, 3_839),
        (5, Order::Neighbours, Recover::Request, 0),
    ] {
        let mut case = Case::new(&[mode("HE 7", 20), mode("HE 0", 20), mode("VHT 3", 20)], true).aggregating(|rules| {
            (rules.order, rules.recover, rules.a_msdu) = (order, recover, Bytes(a_msdu));
            rules.reorder_timeout = Some(Span::from_millis(20));
            rules.attempts = 3;
        });
        case.config.rts_threshold = Some(Bytes(10_000));
        let mut medium = Medium::new(case.config.clone(), &Streams::new(seed));
        let ap = medium.add_node(NodeConfig::edca(Limit::Packets(100), case.edca()));
        let stations: Vec<NodeId> =
            (0..3).map(|_| medium.add_node(NodeConfig::edca(Limit::Unlimited, case.edca()))).collect();
        for &station in &stations {
            medium.set_frame_error(ap, station, 300_000_000);
        }
        let (mut came, mut gone) = (vec![0u64; 3], vec![Vec::new(); 3]);
        let mut dropped = 0u64;
        for step in 0..20_000u64 {
            let (station, at) = ((step % 7 % 3) as usize, Instant::ZERO + Span::from_micros(150 * step));
            let rate = PhyRate::from(case.modes[station]);
            let frame = (station, came[station]);
            came[station] += 1;
            let to = To::Node(stations[station]);
            medium.handle_frame(
                at,
                ap,
                Mpdu { to, msdu: Bytes(700), rate, category: AccessCategory::BestEffort, frame },
            );
            if step == 15_000 {
                medium.remove_node(at, stations[1]);
            }
            take(&mut medium, &mut gone, &mut dropped);
        }
        medium.handle_timeout(Instant::ZERO + Span::from_millis(60_000));
        take(&mut medium, &mut gone, &mut dropped);
        assert_eq!(medium.queue(ap).packets, 0);
        assert_eq!(gone.iter().map(Vec::len).sum::<usize>() as u64 + dropped, came.iter().sum::<u64>());
        for numbers in &gone {
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "in order and once: {numbers:?}");
        }
        let counters = medium.counters(ap);
        assert!(counters.retry_drops > 0 && counters.buffer_drops > 0 && counters.repeated_mpdus > 0, "{counters:?}");
    }
}

fn take(medium: &mut Medium<(usize, u64)>, gone: &mut [Vec<u64>], dropped: &mut u64) {
    while let Some(event) = medium.poll_event() {
        match event {
            Event::Delivered { frame: (station, number), .. } => gone[station].push(number),
            Event::Dropped { .. } => *dropped += 1,
        }
    }
}
/// VHT MCS 8 with two streams at 80 MHz, three stations, 5 % of MPDUs lost, TXOPs of 2,528 us. Before any run of ns-3 was
/// known, 534.1 Mb/s down and 516.4 Mb/s up were predicted. ns-3 then gave 534.5 down, 449.9 up, and 519.1 up without
/// BlockAckReq frames (here 519.5): it sends frames after a BlockAckReq in its TXOP at 20 MHz, which [`Aggregation::ns3`] has
/// adopted since.
#[test]
fn predicted_goodput_agrees_with_ns3() {
    for (down, recover, mbps, mpdus) in [
        (true, Recover::Request, 534.5, 36.0),
        (false, Recover::Request, 449.9, 36.1),
        (false, Recover::Data, 519.1, 36.7),
    ] {
        let mut case = Case::new(&[mode("VHT 8x2", 80); 3], down).aggregating(|rules| rules.recover = recover);
        case.losses = vec![50_000_000; 3];
        (case.txop, case.seconds) = (Span::from_micros(2_528), 20);
        let ours = case.run(1);
        assert_near("Mb/s", ours.mbps(), mbps, 0.01);
        assert_near("MPDUs", ours.mean_aggregate(), mpdus, 0.02);
    }
}

/// Frames for a receiver that has left are dropped, also after RTS, and the others get theirs.
#[test]
fn a_receiver_that_has_left_does_not_block_the_others() {
    for hidden in [false, true] {
        let mut case = Case::new(&[mode("HE 7", 20); 2], true);
        case.config.rts_threshold = Some(Bytes::ZERO);
        let streams = Streams::new(1);
        let mut medium = match hidden {
            false => Medium::new(case.config.clone(), &streams),
            true => Medium::with_hidden_nodes(case.config.clone(), &streams),
        };
        let [ap, gone, here] = [(); 3].map(|()| medium.add_node(NodeConfig::edca(Limit::Unlimited, case.edca())));
        medium.remove_node(Instant::ZERO, gone);
        for number in 0..20 {
            let to = To::Node(if number % 2 == 0 { gone } else { here });
            let (rate, category) = (PhyRate::from(case.modes[0]), AccessCategory::BestEffort);
            medium.handle_frame(Instant::ZERO, ap, Mpdu { to, msdu: case.msdu, rate, category, frame: number });
        }
        medium.handle_timeout(Instant::ZERO + Span::from_millis(2_000));
        let (mut delivered, mut dropped) = (0, 0);
        while let Some(event) = medium.poll_event() {
            match event {
                Event::Delivered { .. } => delivered += 1,
                Event::Dropped { .. } => dropped += 1,
            }
        }
        assert_eq!((delivered, dropped, medium.queue(ap).packets), (10, 10, 0), "hidden {hidden}");
    }
}
