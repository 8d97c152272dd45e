use super::*;
use alloc::string::ToString;
use evenair_packet::MacAddr;
use evenair_units::{BitRate, Db};
use evenair_wifi::{Format, Phy, Standard};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const BUSY: u64 = 1_000_000;

fn of(standard: Standard) -> RateClasses {
    RateClasses::of(&Phy::default_for(standard))
}

fn at(s: u64) -> Instant {
    Instant::ZERO + Span::from_secs(s)
}

fn report(s: u64, kbps: i64) -> RateReport {
    RateReport {
        mac: MAC,
        source: 1,
        measured: at(s),
        valid_for: Span::from_secs(20),
        transmit_kbps: Some(kbps),
        receive_kbps: None,
        signal_dbm: None,
        transmit_mode: None,
        receive_mode: None,
    }
}

/// A station that is reported every five seconds.
#[derive(Default)]
struct Station {
    reports: ReportHistory,
    counts: ReportCounts,
    crossed: u64,
    now: u64,
}

impl Station {
    fn accept(&mut self, report: &RateReport) -> Option<u64> {
        self.counts +=
            self.reports.accept(at(self.now), report, (Bytes(self.crossed), Bytes::ZERO), &of(Standard::Dot11g));
        self.class()
    }

    fn class(&self) -> Option<u64> {
        self.reports.class(at(self.now)).map(|rate| rate.bit_rate().as_bps() / 1_000_000)
    }

    /// Reports after five more seconds and this many bytes.
    fn poll(&mut self, kbps: i64, bytes: u64) -> Option<u64> {
        (self.now, self.crossed) = (self.now + 5, self.crossed + bytes);
        self.accept(&report(self.now, kbps))
    }
}

#[test]
fn rate_adaptation_does_not_make_the_class_flap() {
    let mut station = Station::default();
    // A sender that changes between 24 and 48 at random: xorshift, so that the order has no period.
    let mut state = 0x9e37_79b9_u32;
    let (mut reported, mut classes) = (Vec::new(), Vec::new());
    for _ in 0..400 {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let kbps = [24_000, 36_000, 36_000, 48_000][state as usize % 4];
        reported.push(kbps / 1_000);
        classes.push(station.poll(kbps, BUSY).expect("a class") as i64);
    }
    let changes = |rates: &[i64]| rates.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes(&reported) > 200, "the reported rates do flap: {}", changes(&reported));
    assert!(changes(&classes) <= 12, "{} changes in 2000 s", changes(&classes));
    let usual = classes.iter().filter(|&&class| class == 36).count();
    assert!(usual > 340, "{usual} of 400 at the mean");
}

#[test]
fn a_station_that_walks_away_is_followed() {
    let mut station = Station::default();
    (0..10).for_each(|_| _ = station.poll(54_000, BUSY));
    assert_eq!(station.class(), Some(54));
    let classes: Vec<_> = (0..7).map(|_| station.poll(6_000, BUSY / 9).expect("a class")).collect();
    assert!(classes.is_sorted_by(|a, b| a >= b), "{classes:?}");
    assert_eq!(classes[6], 6, "{classes:?}");
}

#[test]
fn the_mean_is_by_medium_time() {
    // The same volume at 54 and at 6 takes as long as twice of it at 10.8.
    let mut station = Station::default();
    (0..4).for_each(|_| _ = (station.poll(54_000, BUSY), station.poll(6_000, BUSY)));
    let mean = station.reports.sources[0].mean_kbps().expect("samples");
    assert!((10_790..=10_810).contains(&mean), "{mean}");
}

#[test]
fn a_silent_station_keeps_the_rate_of_its_data() {
    let mut station = Station::default();
    assert_eq!(station.poll(1_000, 0), Some(6), "all that is known");
    assert_eq!(station.poll(48_000, BUSY), Some(48), "what was known of its silence does not count any more");
    for _ in 0..5 {
        assert_eq!(station.poll(6_000, 500), Some(48), "null frames");
    }
    // But not forever.
    for _ in 0..2 {
        station.poll(6_000, 500);
    }
    assert_eq!(station.class(), Some(6));
}

#[test]
fn impossible_values_are_refused_and_counted() {
    let mut station = Station { now: 100, ..Station::default() };
    for kbps in [0, -1, 249, i64::MIN, i64::MAX, 46_200_001] {
        assert_eq!(station.accept(&report(100, kbps)), None);
    }
    assert_eq!(station.counts, ReportCounts { absurd: 6, ..ReportCounts::default() });
    assert_eq!(station.accept(&report(101, 54_000)), None, "measured in the future");
    assert_eq!(station.accept(&report(80, 54_000)), None, "valid no longer");
    assert_eq!(station.accept(&report(99, 54_000)), Some(54));
    assert_eq!(station.accept(&report(98, 6_000)), Some(54), "older than the previous report");
    assert_eq!((station.counts.untimely, station.counts.taken), (3, 1));
    for dbm in [0, 20, -116, i64::MIN] {
        let signal = RateReport { transmit_kbps: None, signal_dbm: Some(dbm), ..report(100, 0) };
        assert_eq!(station.accept(&signal), Some(54));
        assert_eq!(station.reports.report(at(100)).expect("there").signal_dbm, None);
    }
    let signal = RateReport { transmit_kbps: None, signal_dbm: Some(-67), ..report(100, 0) };
    station.accept(&signal);
    let report = station.reports.report(at(100)).expect("there");
    assert_eq!((report.signal_dbm, report.transmit_kbps), (Some(-67), Some(54_000)));
}

#[test]
fn rates_of_other_standards_count_as_the_nearest() {
    for (kbps, class) in [(1_000, 6), (6_500, 6), (65_000, 54), (866_700, 54), (20_000, 18), (40_000, 36)] {
        let mut station = Station::default();
        assert_eq!(station.poll(kbps, BUSY), Some(class), "{kbps}");
        assert_eq!(station.reports.can_be_checked(at(5)), kbps <= 54_000, "{kbps}");
    }
}

#[test]
fn each_direction_counts_at_its_own_rate() {
    let both = RateReport { receive_kbps: Some(6_000), ..report(5, 54_000) };
    let mut station = Station { now: 5, ..Station::default() };
    station.reports.accept(at(5), &both, (Bytes::ZERO, Bytes::ZERO), &of(Standard::Dot11g));
    let again = RateReport { measured: at(6), ..both };
    station.now = 6;
    let uploads = (Bytes(10_000), Bytes(1_000_000));
    station.reports.accept(at(6), &again, uploads, &of(Standard::Dot11g));
    assert_eq!(station.class(), Some(6), "nearly all that crossed was from it");
}

#[test]
fn a_report_is_valid_for_the_reported_time() {
    let mut station = Station::default();
    station.poll(12_000, BUSY);
    station.reports.expire(at(24));
    assert!(!station.reports.is_empty());
    station.reports.expire(at(25));
    assert!(station.reports.is_empty() && station.reports.class(at(25)).is_none());
}

#[test]
fn two_sources_do_not_alternate_and_a_silent_one_is_left() {
    let mut station = Station::default();
    let other = |s, kbps| RateReport { source: 2, ..report(s, kbps) };
    for _ in 0..5 {
        station.poll(54_000, BUSY);
        assert_eq!(station.accept(&other(station.now, 6_000)), Some(54));
    }
    // The station has moved to the access point of the other source.
    for s in [30, 35, 40] {
        station.now = s;
        station.crossed += BUSY;
        station.accept(&other(s, 6_000));
    }
    assert_eq!(station.class(), Some(6));
    assert_eq!(station.reports.report(at(40)).map(|report| report.source), Some(2));
    for source in 3..10 {
        station.accept(&RateReport { source, ..report(40, 54_000) });
    }
    assert_eq!(station.reports.sources.len(), MAX_SOURCES);
    assert_eq!(station.counts.unknown, 5);
}

#[test]
fn a_rejected_rate_is_tried_again_after_ever_longer_times() {
    let mut check = ConsistencyCheck::default();
    let second = Span::from_secs(1);
    assert!(!check.on_airtime(second * 2, second) && !check.on_airtime(second * 2, second));
    assert!(!check.on_airtime(second, second), "an interval without evidence: anew");
    assert!(
        !check.on_airtime(second * 2, second)
            && !check.on_airtime(second * 2, second)
            && check.on_airtime(second * 2, second)
    );
    let mut now = at(0);
    for aside in [30, 60, 120, 240, 480, 480] {
        check.set_aside(now);
        assert!(check.is_set_aside(now + Span::from_secs(aside - 1)));
        now += Span::from_secs(aside);
        assert!(!check.is_set_aside(now));
    }
}

const CLASSES: [(Option<i32>, u64); 3] = [(Some(-65), 54), (Some(-75), 24), (None, 6)];

fn rssi(before_rates: bool) -> RssiConfig {
    let rate = |mbps: u64| Standard::Dot11g.rate(BitRate::from_mbps(mbps)).expect("a rate");
    let class = |(dbm, mbps): (Option<i32>, u64)| RssiClass {
        above: dbm.map(|dbm| Dbm::from_milli(dbm * 1_000)),
        rate: rate(mbps),
    };
    RssiConfig { classes: CLASSES.map(class).into(), hysteresis: RssiConfig::HYSTERESIS, before_rates }
}

#[test]
fn a_signal_alone_gives_the_rate_of_its_class_and_at_a_border_it_does_not_flap() {
    let rssi = rssi(false);
    assert_eq!(rssi.check(), Ok(()));
    let mut station = Station::default();
    let mut hear = |dbm: i64, rssi: Option<&RssiConfig>| {
        station.now += 5;
        let signal = RateReport { transmit_kbps: None, signal_dbm: Some(dbm), ..report(station.now, 0) };
        station.accept(&signal);
        station.reports.classify_signals(rssi, &of(Standard::Dot11g));
        station.class()
    };
    assert_eq!(hear(-60, None), None, "without classes a signal gives no rate");
    let mut classes = |signals: &[i64]| signals.iter().map(|&dbm| hear(dbm, Some(&rssi)).expect("a class")).collect();
    let at_border: Vec<u64> = classes(&[-64, -66, -64, -68, -65]);
    assert_eq!(at_border, [54; 5], "3 dB beyond the border it is in its class still");
    let away: Vec<u64> = classes(&[-69, -64, -63, -62]);
    assert_eq!(away, [24, 24, 24, 54]);
    let far: Vec<u64> = classes(&[-90, -73, -72, -30]);
    assert_eq!(far, [6, 6, 24, 54]);
}

#[test]
fn a_reported_rate_has_precedence_unless_the_operator_prefers_the_class() {
    for (before_rates, expected) in [(false, 36), (true, 6)] {
        let rssi = rssi(before_rates);
        let mut station = Station { now: 5, ..Station::default() };
        let both = RateReport { signal_dbm: Some(-80), ..report(5, 36_000) };
        station.accept(&both);
        station.reports.classify_signals(Some(&rssi), &of(Standard::Dot11g));
        assert_eq!(station.class(), Some(expected), "{before_rates}");
        // The classes are gone from the configuration.
        station.reports.classify_signals(None, &of(Standard::Dot11g));
        assert_eq!(station.class(), Some(36));
    }
}

#[test]
fn a_class_s_rate_counts_as_the_nearest_of_its_kind() {
    let (vht, ofdm) = ("780", "54");
    let mode = of(Standard::Dot11ac).iter().find(|rate| rate.to_string() == vht).expect("a mode");
    let of_mode = RssiClass { above: Some(Dbm::from_milli(-65_000)), rate: mode };
    let of_ofdm = RssiClass { above: None, rate: rssi(false).classes[0].rate };
    let rssi = RssiConfig { classes: [of_mode, of_ofdm].into(), ..rssi(false) };
    for (dbm, standard, expected, is_mode) in [
        (-50, Standard::Dot11ac, vht, true),
        (-50, Standard::Dot11ax, vht, true),
        (-50, Standard::Dot11n, "600", true),
        (-50, Standard::Dot11g, ofdm, false),
        (-80, Standard::Dot11ac, ofdm, false),
        (-80, Standard::Dot11b, "11", false),
    ] {
        let mut station = Station { now: 5, ..Station::default() };
        station.accept(&RateReport { transmit_kbps: None, signal_dbm: Some(dbm), ..report(5, 0) });
        station.reports.classify_signals(Some(&rssi), &of(standard));
        let rate = station.reports.reported_rate().expect("a class");
        assert_eq!((rate.to_string().as_str(), rate.mode().is_some()), (expected, is_mode), "{dbm} dBm, {standard}");
    }
}

fn mode(text: &str) -> PhyMode {
    text.parse().expect("a mode")
}

/// Reports a station with traffic, in a domain of this standard.
fn poll_mode(station: &mut Station, standard: Standard, kbps: Option<i64>, said: &str) -> Option<PhyRate> {
    (station.now, station.crossed) = (station.now + 5, station.crossed + BUSY);
    let report = RateReport { transmit_kbps: kbps, transmit_mode: Some(mode(said)), ..report(station.now, 0) };
    let counts = station.reports.accept(at(station.now), &report, (Bytes(station.crossed), Bytes::ZERO), &of(standard));
    station.counts += counts;
    station.reports.reported_rate()
}

#[test]
fn a_reported_mode_counts_exactly_and_before_the_bit_rate() {
    // Both are 780 Mb/s, and neither is the class of as many kb/s.
    for said in ["VHT MCS 8, 80 MHz, 2 streams, GI 0.4 us", "VHT MCS 4, 160 MHz, 2 streams, GI 0.4 us"] {
        for kbps in [Some(780_000), Some(6_000), Some(-1), None] {
            let mut station = Station::default();
            let rate = poll_mode(&mut station, Standard::Dot11ac, kbps, said);
            assert_eq!(rate, Some(mode(said).into()), "{kbps:?}");
            assert_eq!((station.counts.taken, station.counts.absurd, station.counts.refused_modes), (1, 0, 0));
            let report = station.reports.report(at(station.now)).expect("a report");
            assert_eq!((report.transmit_mode, report.refused_mode), (Some(mode(said)), None));
            assert_eq!(report.transmit_kbps, Some(780_000));
        }
    }
}

#[test]
fn a_mode_that_the_domain_does_not_have_is_refused_and_its_bit_rate_counts() {
    let said = "VHT MCS 7, 2 streams";
    let mut station = Station::default();
    let rate = poll_mode(&mut station, Standard::Dot11n, Some(130_000), said).expect("a rate");
    assert_eq!((rate.to_string().as_str(), rate.mode().map(|mode| mode.format())), ("130", Some(Format::Ht)));
    assert_eq!((station.counts.taken, station.counts.refused_modes), (1, 1));
    let report = station.reports.report(at(station.now)).expect("a report");
    assert_eq!((report.transmit_mode, report.refused_mode), (None, Some(mode(said))));

    let mut station = Station::default();
    assert_eq!(poll_mode(&mut station, Standard::Dot11g, Some(54_000), said).map(kbps_of), Some(54_000));
    let mut station = Station::default();
    assert_eq!(poll_mode(&mut station, Standard::Dot11n, None, said), None);
    assert_eq!((station.counts.taken, station.counts.refused_modes), (0, 1));
}

fn kbps_of(rate: PhyRate) -> u64 {
    kbps(&rate)
}

#[test]
fn a_mode_makes_54_mbps_a_rate_of_aggregates_and_without_one_it_stays_legacy() {
    let mut station = Station::default();
    let ht = "HT MCS 3, 40 MHz";
    assert_eq!(mode(ht).bit_rate(), BitRate::from_mbps(54));
    assert_eq!(poll_mode(&mut station, Standard::Dot11ac, Some(54_000), ht), Some(mode(ht).into()));
    assert_eq!(poll_of_modes(&mut Station::default(), 54_000).mode(), None);
}

#[test]
fn the_mean_of_several_modes_is_a_class_and_that_of_equal_rates_does_not_flap() {
    let mut station = Station::default();
    let (short, long) = ("VHT MCS 8, 80 MHz, 2 streams, GI 0.4 us", "VHT MCS 4, 160 MHz, 2 streams, GI 0.4 us");
    let in_force: Vec<_> = (0..12)
        .map(|i| poll_mode(&mut station, Standard::Dot11ac, None, [short, long][i % 2]).expect("a rate"))
        .collect();
    // The first report is of a silent station.
    assert!(in_force[1..].iter().all(|&rate| rate == PhyRate::from(mode(long))), "{in_force:?}");
    // At the other mode alone it is that, once no sample has the first.
    let later: Vec<_> =
        (0..8).map(|_| poll_mode(&mut station, Standard::Dot11ac, None, short).expect("a rate")).collect();
    assert_eq!(later.last(), Some(&mode(short).into()));
    assert_eq!(later.windows(2).filter(|two| two[0] != two[1]).count(), 1, "{later:?}");
    // Half the bytes at 780 and half at 65 Mb/s: 120 Mb/s.
    let slow = "VHT MCS 7";
    (0..8).for_each(|i| _ = poll_mode(&mut station, Standard::Dot11ac, None, [short, slow][i % 2]));
    let mean = station.reports.reported_rate().expect("a rate");
    assert!((110_000..130_000).contains(&kbps(&mean)) && of(Standard::Dot11ac).usual().contains(&mean), "{mean}");
}

#[test]
fn a_mode_is_left_for_a_class_when_the_station_moves_to_an_older_standard() {
    let mut station = Station::default();
    let said = "VHT MCS 8, 80 MHz, 2 streams, GI 0.4 us";
    poll_mode(&mut station, Standard::Dot11ac, None, said);
    for (standard, expected) in
        [(Standard::Dot11n, "600"), (Standard::Dot11g, "54"), (Standard::Dot11ac, "780"), (Standard::Dot11ax, "780")]
    {
        station.reports.reclassify(&of(standard));
        assert_eq!(
            station.reports.reported_rate().map(|rate| rate.to_string()).as_deref(),
            Some(expected),
            "{standard}"
        );
    }
    assert_eq!(station.reports.reported_rate(), Some(mode(said).into()));
}

#[test]
fn wrong_classes_are_refused() {
    let good = rssi(false);
    let wrong = |change: fn(&mut RssiConfig)| {
        let mut config = good.clone();
        change(&mut config);
        config.check().unwrap_err()
    };
    assert_eq!(wrong(|config| config.classes.truncate(1)), RssiError::Classes(1));
    assert_eq!(wrong(|config| config.classes.truncate(2)), RssiError::Border(1));
    assert_eq!(wrong(|config| config.classes[0].above = None), RssiError::Border(0));
    assert_eq!(wrong(|config| config.classes[1].above = config.classes[0].above), RssiError::Border(1));
    assert_eq!(wrong(|config| config.classes[2].rate = config.classes[1].rate), RssiError::Rate(2));
    let much = Db::from_milli(20_001);
    assert_eq!(wrong(|config| config.hysteresis = Db::from_milli(20_001)), RssiError::Hysteresis(much));
}

/// Reports a station with traffic, in a domain of 802.11ac.
fn poll_of_modes(station: &mut Station, kbps: i64) -> PhyRate {
    station.now += 5;
    station.crossed += BUSY;
    let classes = of(Standard::Dot11ac);
    let crossed = (Bytes(station.crossed), Bytes::ZERO);
    station.reports.accept(at(station.now), &report(station.now, kbps), crossed, &classes);
    station.reports.reported_rate().expect("a rate")
}

fn mbps(rate: PhyRate) -> u64 {
    rate.bit_rate().as_bps() / 1_000_000
}

#[test]
fn where_stations_aggregate_the_mean_counts_as_the_nearest_mode() {
    let mut station = Station::default();
    // The second report is the first with traffic before it.
    (0..2).for_each(|_| assert_eq!(mbps(poll_of_modes(&mut station, 780_000)), 780));
    assert!(station.reports.above_standard().is_none() && station.reports.can_be_checked(at(5)));
    // Rate adaptation by a mode up and down leaves the class.
    for kbps in [702_000, 780_000, 866_700, 780_000, 702_000, 780_000] {
        assert_eq!(mbps(poll_of_modes(&mut station, kbps)), 780, "{kbps}");
    }
    let classes: Vec<u64> = (0..6).map(|_| mbps(poll_of_modes(&mut station, 390_000))).collect();
    assert!(classes.is_sorted_by(|a, b| a >= b) && classes.last() == Some(&390), "{classes:?}");
}

#[test]
fn a_station_sends_single_frames_until_another_rate_is_reported() {
    let mut station = Station::default();
    for kbps in [54_000, 48_000, 54_000, 24_000] {
        let rate = poll_of_modes(&mut station, kbps);
        assert!(rate.mode().is_none(), "{rate} after {kbps}");
    }
    // A mean between such rates, but the station aggregates.
    assert!(poll_of_modes(&mut station, 86_700).mode().is_some());
}

#[test]
fn a_management_frame_says_nothing_about_a_silent_station() {
    let mut station = Station { now: 5, ..Station::default() };
    let classes = of(Standard::Dot11ac);
    station.reports.accept(at(5), &report(5, 6_000), (Bytes::ZERO, Bytes::ZERO), &classes);
    assert_eq!(station.reports.reported_rate().map(mbps), Some(6));
    assert_eq!(mbps(poll_of_modes(&mut station, 866_700)), 866);
}
