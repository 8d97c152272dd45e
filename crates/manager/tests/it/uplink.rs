//! The upload limiter alone: nothing is held for the WLAN.

use evenair_manager::{
    BucketConfig, Command, Config, ConfigError, Controller, DropReason, Event, LimitRule, Manager, Observation, Output,
    Steps, UplinkLimit,
};
use evenair_packet::{MacAddr, PacketMeta, Port, TcpFlags};
use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::world::{SEGMENT, Segment, config, packet, rate};

const START: Instant = Instant::ZERO;
const AP: MacAddr = MacAddr([2, 0, 0, 0, 9, 9]);
const INTERVAL: Span = Span::from_millis(300);
/// An IP packet with a full segment.
const FULL: u64 = 1500;

fn mbps(milli: u64) -> BitRate {
    BitRate::from_kbps(milli)
}

fn limit(rule: LimitRule, kbps: u64) -> UplinkLimit {
    let bucket = BucketConfig { depth: Bytes(20 * FULL), threshold_permille: 0 };
    UplinkLimit { rule, rate: Some(mbps(kbps)), bucket, ..UplinkLimit::default() }
}

const STEPS: Steps = Steps { ceiling: Some(BitRate::from_kbps(5_000)), ..Steps::PUBLISHED };
const ADAPTIVE: LimitRule = LimitRule::Adaptive { steps: STEPS, datagrams_permille: 500 };

fn manager(limit: UplinkLimit) -> Manager<u64> {
    let config = Config { controller: Controller::None, uplink_limit: Some(limit), ..config(&[rate(11_000); 4]) };
    let mut manager = Manager::new(config, START);
    manager.handle_command(START, Command::Insert);
    while manager.poll_output().is_some() {}
    manager
}

fn upload(segment: u32) -> PacketMeta {
    packet(Port::Wlan, 0, 1, Segment::new(TcpFlags::ACK, 1 + segment * SEGMENT as u32, 1, SEGMENT))
}

fn download(segment: u32) -> PacketMeta {
    packet(Port::Wire, 1, 2, Segment::new(TcpFlags::ACK, 1 + segment * SEGMENT as u32, 1, SEGMENT))
}

/// The acknowledgment of [`download`]'s station for all before this segment.
fn acknowledgment(segment: u32) -> PacketMeta {
    packet(Port::Wlan, 1, 2, Segment::new(TcpFlags::ACK, 1, 1 + segment * SEGMENT as u32, 0))
}

/// Sources of packets at constant rates, each with a count of what passed and what was dropped.
struct Load {
    manager: Manager<u64>,
    now: Instant,
    number: u64,
    segment: u32,
}

#[derive(Clone, Copy)]
enum Source {
    Upload,
    Download,
    /// Acknowledgments of the download.
    Answers,
}

impl Load {
    fn new(manager: Manager<u64>) -> Self {
        Self { manager, now: START, number: 0, segment: 0 }
    }

    /// Runs sources at these rates in packets per second, and returns the part of each that passed, in thousandths. The
    /// manager is called at its deadlines.
    fn run(&mut self, span: Span, sources: &[(Source, u64)]) -> Vec<u64> {
        let end = self.now + span;
        let gap = |per_second: u64| Span::from_nanos(1_000_000_000 / per_second);
        let mut next: Vec<_> = sources.iter().map(|&(_, per_second)| self.now + gap(per_second)).collect();
        let mut counts = vec![(0u64, 0u64); sources.len()];
        loop {
            let (which, at) = next.iter().copied().enumerate().min_by_key(|&(_, at)| at).expect("there are sources");
            while let Some((deadline, _)) =
                self.manager.poll_deadline().filter(|&(deadline, _)| deadline <= at.min(end))
            {
                self.manager.handle_timeout(deadline);
            }
            if at >= end {
                self.now = end;
                return counts.into_iter().map(|(passed, all)| passed * 1_000 / all).collect();
            }
            self.now = at;
            next[which] += gap(sources[which].1);
            let (passed, all) = self.send(sources[which].0);
            counts[which].0 += passed;
            counts[which].1 += all;
        }
    }

    fn send(&mut self, source: Source) -> (u64, u64) {
        let meta = match source {
            Source::Upload => upload(self.segment),
            Source::Download => download(self.segment),
            Source::Answers => acknowledgment(self.segment),
        };
        self.segment += 1;
        self.number += 1;
        self.manager.handle_packet(self.now, self.number, &meta);
        let mut passed = 0;
        while let Some(output) = self.manager.poll_output() {
            match output {
                Output::Release { packet, port, .. } => {
                    assert_eq!(
                        (packet, port),
                        (self.number, meta.ingress.opposite()),
                        "at once, and out at the other side"
                    );
                    passed += 1;
                }
                Output::Drop { packet, reason } => {
                    assert_eq!((packet, reason), (self.number, DropReason::UplinkLimit));
                    assert_eq!(meta.ingress, Port::Wlan, "only what comes from the WLAN is limited");
                }
                Output::Probe { .. } | Output::Consume { .. } | Output::Event(_) => {}
            }
        }
        (passed, 1)
    }

    /// Reports the total of packets lost in the access point.
    fn lose(&mut self, total: u64) {
        self.manager.handle_observation(self.now, Observation::AccessPointLosses { access_point: AP, total });
    }

    fn limit(&self) -> BitRate {
        self.manager.report(self.now).uplink.expect("there is a limit").limit
    }
}

#[test]
fn uploads_get_the_limit_and_downloads_all() {
    // 2.4 Mb/s are 200 packets of 1500 bytes a second.
    let mut load = Load::new(manager(limit(LimitRule::Static, 2_400)));
    let sources = [(Source::Upload, 400), (Source::Download, 500)];
    let passed = load.run(Span::from_secs(20), &sources);
    assert!((500..=503).contains(&passed[0]) && passed[1] == 1_000, "{passed:?}");
    let counters = load.manager.counters();
    assert_eq!(counters.dropped(), counters.drops[DropReason::UplinkLimit]);
    assert_eq!(counters.received, counters.released + counters.drops[DropReason::UplinkLimit]);
    let report = load.manager.report(load.now).uplink.unwrap();
    assert!(report.up.as_bps().abs_diff(4_800_000) < 50_000 && report.down.as_bps().abs_diff(6_000_000) < 50_000);
}

#[test]
fn a_bypassed_manager_limits_nothing() {
    let mut load = Load::new(manager(limit(LimitRule::Static, 100)));
    load.manager.handle_command(START, Command::Bypass);
    while load.manager.poll_output().is_some() {}
    assert_eq!(load.run(Span::from_secs(5), &[(Source::Upload, 400)]), [1_000]);
}

#[test]
fn without_a_rate_the_limit_is_the_uploads_part_of_the_capacity() {
    let part = UplinkLimit { rate: None, split_permille: 250, ..limit(LimitRule::Static, 1) };
    let load = Load::new(manager(part));
    let report = load.manager.report(START);
    assert_eq!(load.limit(), report.capacity.mul_div(1, 4));
}

#[test]
fn as_published_the_limit_rises_until_something_is_lost_and_falls_to_the_target() {
    let mut load = Load::new(manager(limit(LimitRule::Published(STEPS), 2_400)));
    load.lose(0);
    let sources = [(Source::Upload, 300), (Source::Download, 100)];
    // 3.6 and 1.2 Mb/s: the target is half of 4.8.
    for n in 1..=5 {
        load.run(INTERVAL, &sources);
        load.lose(0);
        assert_eq!(load.limit(), mbps(2_400 + 200 * n), "{n}");
    }
    while load.limit() < mbps(5_000) {
        load.run(INTERVAL, &sources);
        load.lose(0);
    }
    load.run(INTERVAL, &sources);
    assert_eq!(load.limit(), mbps(5_000), "not above the ceiling");
    load.lose(7);
    load.run(INTERVAL, &sources);
    let jump = load.limit().as_bps();
    assert!(jump.abs_diff(3_400_000) < 60_000, "a step below what comes up: {jump}");
    load.lose(8);
    load.run(INTERVAL, &sources);
    assert!(load.limit().as_bps().abs_diff(jump - 200_000) < 10, "a step");
    for total in 9..40 {
        load.lose(total);
        load.run(INTERVAL, &sources);
    }
    assert!(load.limit().as_bps().abs_diff(2_400_000) < 60_000, "the target: {:?}", load.limit());
}

#[test]
fn adaptive_losses_without_downloads_are_no_reason() {
    let mut load = Load::new(manager(limit(ADAPTIVE, 2_400)));
    for total in 0..30 {
        load.lose(10 * total);
        load.run(INTERVAL, &[(Source::Upload, 380), (Source::Answers, 10)]);
    }
    assert!(load.limit() >= mbps(4_560), "{:?}", load.limit());
}

#[test]
fn adaptive_downloads_that_have_their_part_are_no_reason() {
    let mut load = Load::new(manager(limit(ADAPTIVE, 2_400)));
    for total in 0..30 {
        load.lose(10 * total);
        load.run(INTERVAL, &[(Source::Upload, 100), (Source::Download, 300), (Source::Answers, 150)]);
    }
    assert!(load.limit() >= mbps(4_800), "{:?}", load.limit());
}

#[test]
fn adaptive_gives_way_to_downloads_that_lose_within_two_seconds() {
    let mut load = Load::new(manager(limit(ADAPTIVE, 4_800)));
    // Next to nothing of the download arrives.
    for total in 0..7 {
        load.lose(10 * total);
        load.run(INTERVAL, &[(Source::Upload, 380), (Source::Download, 20)]);
    }
    // The bucket of 20 packets is empty: of 4.56 Mb/s the limit passes, half of which is its part.
    assert!(load.limit() < mbps(3_000), "{:?}", load.limit());
}

#[test]
fn adaptive_infers_losses_from_retransmissions() {
    let mut load = Load::new(manager(limit(ADAPTIVE, 4_800)));
    let sources = [(Source::Upload, 380)];
    load.run(INTERVAL * 5, &sources);
    let before = load.limit();
    // A download of which nothing arrives.
    for n in 0..10 {
        load.manager.handle_packet(load.now, 1_000_000 + n, &download(900_000));
        while load.manager.poll_output().is_some() {}
        load.run(INTERVAL, &sources);
    }
    assert!(load.limit() < before.mul_div(3, 4), "{before:?}, {:?}", load.limit());
    assert!(load.manager.report(load.now).uplink.unwrap().lost >= 9);
    // The station leaves, and after a while the uploads have all again.
    load.run(Span::from_secs(12), &sources);
    assert!(load.limit() >= before, "{:?}", load.limit());
}

#[test]
fn adaptive_never_drops_acks_of_downloads() {
    let mut load = Load::new(manager(limit(ADAPTIVE, 10)));
    let passed =
        load.run(Span::from_secs(10), &[(Source::Answers, 500), (Source::Upload, 200), (Source::Download, 10)]);
    assert_eq!(passed[0], 1_000);
    let mut load = Load::new(manager(limit(LimitRule::Static, 10)));
    assert!(load.run(Span::from_secs(10), &[(Source::Answers, 500), (Source::Upload, 200)])[0] < 1_000);
}

#[test]
fn another_configuration_keeps_the_limit_and_the_tokens() {
    let mut load = Load::new(manager(limit(LimitRule::Published(STEPS), 2_400)));
    load.run(INTERVAL * 4, &[(Source::Upload, 400)]);
    let before = load.limit();
    assert!(before > mbps(2_400));
    let reload = |load: &mut Load, limit| {
        let config = Config { controller: Controller::None, uplink_limit: limit, ..config(&[rate(11_000); 4]) };
        load.manager.handle_command(load.now, Command::Reconfigure(Box::new(config)));
        while load.manager.poll_output().is_some() {}
    };
    let deeper = BucketConfig { depth: Bytes(400 * FULL), threshold_permille: 0 };
    reload(&mut load, Some(UplinkLimit { bucket: deeper, ..limit(LimitRule::Published(STEPS), 2_400) }));
    assert_eq!(load.limit(), before);
    let passed = load.run(Span::from_millis(100), &[(Source::Upload, 1_000)]);
    assert!(passed[0] < 600, "a deeper bucket does not come full: {passed:?}");
    reload(&mut load, Some(limit(LimitRule::Static, 1_200)));
    assert_eq!(load.limit(), mbps(1_200), "another rate is in force at once");
    reload(&mut load, None);
    assert_eq!(load.manager.report(load.now).uplink, None);
    assert_eq!(load.run(Span::from_secs(1), &[(Source::Upload, 1_000)]), [1_000]);
}

#[test]
fn invalid_settings_are_refused() {
    let error = |change: fn(&mut UplinkLimit)| {
        let mut limit = UplinkLimit::default();
        change(&mut limit);
        Config { uplink_limit: Some(limit), ..config(&[rate(11_000)]) }.check().err()
    };
    fn steps(change: fn(&mut Steps)) -> LimitRule {
        let mut steps = Steps::PUBLISHED;
        change(&mut steps);
        LimitRule::Published(steps)
    }
    assert_eq!(error(|_| ()), None);
    assert_eq!(error(|l| l.rate = Some(BitRate::ZERO)), Some(ConfigError::ZeroRate));
    let high = Config::MAX_RATE + Config::MAX_RATE;
    assert_eq!(error(|l| l.rate = Some(Config::MAX_RATE + Config::MAX_RATE)), Some(ConfigError::HighRate(high)));
    assert_eq!(error(|l| l.rule = steps(|s| s.step = BitRate::ZERO)), Some(ConfigError::ZeroRate));
    assert_eq!(error(|l| l.rule = steps(|s| s.ceiling = Some(BitRate::ZERO))), Some(ConfigError::ZeroRate));
    assert_eq!(error(|l| l.rule = steps(|s| s.interval = Span::ZERO)), Some(ConfigError::ZeroSpan));
    assert_eq!(error(|l| l.memory = Span::ZERO), Some(ConfigError::ZeroSpan));
    assert_eq!(error(|l| l.memory = Config::MAX_SPAN * 2), Some(ConfigError::LongSpan(Config::MAX_SPAN * 2)));
    assert_eq!(error(|l| l.split_permille = 0), Some(ConfigError::UplinkPart(0)));
    assert_eq!(error(|l| l.split_permille = 1_000), Some(ConfigError::UplinkPart(1_000)));
    let all = |l: &mut UplinkLimit| {
        l.rule = LimitRule::Adaptive { steps: Steps::PUBLISHED, datagrams_permille: 1_000 };
    };
    assert_eq!(error(all), Some(ConfigError::UplinkPart(1_000)));
    assert_eq!(error(|l| l.bucket.depth = Bytes(1_499)), Some(ConfigError::Bucket));
    assert_eq!(error(|l| l.bucket.depth = Bytes(u64::MAX)), Some(ConfigError::Bucket));
    assert_eq!(error(|l| l.bucket.threshold_permille = 1_001), Some(ConfigError::Bucket));
}

#[test]
fn too_many_access_points_are_refused() {
    let mut manager = manager(limit(ADAPTIVE, 2_400));
    let refused = (0..2_000u32).filter(|n| {
        let [.., high, low] = n.to_be_bytes();
        let access_point = MacAddr([4, 0, 0, 0, high, low]);
        manager.handle_observation(START, Observation::AccessPointLosses { access_point, total: 1 });
        matches!(manager.poll_output(), Some(Output::Event(Event::ObservationRefused(_))))
    });
    assert_eq!(refused.count(), 2_000 - 1_024);
}
