//! One Internet link under several managers, in virtual time: as the shards of a box share it, on one thread.

use evenair_manager::{Command, Config, Controller, Hop, LinkShare, Manager, Output, Turn, WanConfig};
use evenair_packet::{Port, TcpFlags};
use evenair_recording::{DecisionLog, Recorder, replay};
use evenair_units::{BitRate, Bytes, Instant, Span};

use crate::world::{Segment, config, jain, packet, rate};

/// Packets of each busy station that wait.
const WAITING: u64 = 8;
const PAYLOAD: u64 = 1448;
/// Such a packet at IP level.
const PACKET: Bytes = Bytes(1500);

/// A shard: a manager, its ends of the link, its inputs and its decisions.
struct Shard {
    manager: Manager<usize>,
    shares: [(Hop, LinkShare); 2],
    recorder: Recorder,
    log: DecisionLog,
    number: usize,
    /// By station: packets that wait, and that have left; whether there is always a next one.
    waiting: Vec<u64>,
    gone: Vec<u64>,
    busy: Vec<bool>,
    /// Packets arrive at this port.
    from: Port,
    asks_at: Instant,
}

impl Shard {
    fn new(config: &Config, shares: [LinkShare; 2], stations: usize, from: Port) -> Self {
        let mut recorder = Recorder::new(config, Instant::ZERO);
        let mut manager = Manager::new(config.clone(), Instant::ZERO);
        recorder.command(Instant::ZERO, &Command::Insert);
        manager.handle_command(Instant::ZERO, Command::Insert);
        let [down, up] = shares;
        Self {
            manager,
            shares: [(Hop::InternetDown, down), (Hop::InternetUp, up)],
            recorder,
            log: DecisionLog::default(),
            number: 0,
            waiting: vec![0; stations],
            gone: vec![0; stations],
            busy: vec![true; stations],
            from,
            asks_at: Instant::ZERO,
        }
    }

    /// When it next has something to do.
    fn due(&self) -> Instant {
        self.manager.poll_deadline().map_or(Instant::MAX, |(at, _)| at).min(self.asks_at)
    }

    /// A round of its loop.
    fn round(&mut self, now: Instant) {
        for station in 0..self.busy.len() {
            while self.busy[station] && self.waiting[station] < WAITING {
                let meta =
                    packet(self.from, station, 1, Segment::new(TcpFlags::ACK, self.number as u32 * 1448, 1, PAYLOAD));
                self.number += 1;
                self.waiting[station] += 1;
                // Its number identifies the station.
                let handle = self.number * 100 + station;
                self.recorder.packet(now, handle as u64, &meta);
                self.manager.handle_packet(now, handle, &meta);
            }
        }
        self.recorder.timeout(now);
        self.manager.handle_timeout(now);
        self.asks_at = Instant::MAX;
        for (hop, share) in &mut self.shares {
            while let Some(need) = self.manager.link_need(*hop) {
                match share.turn(now, need) {
                    Turn::Take(lease) => {
                        self.recorder.lease(now, *hop, lease);
                        self.manager.handle_lease(now, *hop, lease);
                    }
                    Turn::Wait(at) => {
                        self.asks_at = self.asks_at.min(at);
                        break;
                    }
                    Turn::GoOn | Turn::Rest => break,
                }
            }
        }
        while let Some(output) = self.manager.poll_output() {
            self.log.decision(now, &output, |handle| *handle as u64);
            match output {
                Output::Release { packet, .. } => {
                    self.waiting[packet % 100] -= 1;
                    self.gone[packet % 100] += 1;
                }
                Output::Drop { .. } => panic!("nothing is lost here"),
                Output::Probe { .. } | Output::Consume { .. } | Output::Event(_) => {}
            }
        }
    }
}

/// A link of this rate under shards with so many stations each, which all use all they can get.
struct Link {
    shards: Vec<Shard>,
    now: Instant,
    rate: BitRate,
    gone: u64,
}

impl Link {
    fn new(rate_of_link: BitRate, stations: &[usize], from: Port) -> Self {
        let aqm = WanConfig::AQM;
        let wan = WanConfig { down: rate_of_link, up: rate_of_link, lan: vec![], lan_permille: 100, aqm, shared: true };
        let rates = vec![rate(11_000); 10];
        let config = Config { wan: Some(wan.into()), controller: Controller::None, aqm: None, ..config(&rates) };
        let shares = || LinkShare::of_shards(stations.len(), config.pacing_slack, Instant::ZERO);
        let ends = shares().into_iter().zip(shares()).zip(stations);
        let shards = ends.map(|((down, up), &stations)| Shard::new(&config, [down, up], stations, from)).collect();
        Self { shards, now: Instant::ZERO, rate: rate_of_link, gone: 0 }
    }

    /// Runs for this time, and returns what each station of each shard got. All together never exceed the link's rate.
    fn run(&mut self, span: Span) -> Vec<Vec<u64>> {
        let (start, until) = (self.now, self.now + span);
        while self.now < until {
            for shard in &mut self.shards {
                // A shard without packets has its rounds, too, as when packets arrive.
                shard.round(self.now);
            }
            let gone: u64 = self.shards.iter().flat_map(|shard| &shard.gone).sum();
            let carried = self.rate.time_for_bits(PACKET.bits() * (self.gone + gone));
            // Slack, a lease, and a packet of each.
            let most = self.now.saturating_since(Instant::ZERO) + Span::from_millis(4);
            let packets = self.rate.time_for_bits(PACKET.bits()) * self.shards.len() as u64;
            assert!(carried <= most + packets, "{gone} packets at {}", self.now.saturating_since(start));
            let next = self.shards.iter().map(Shard::due).min().unwrap_or(Instant::MAX);
            self.now = next.max(self.now + Span::from_micros(20)).min(until);
        }
        let got: Vec<Vec<u64>> = self.shards.iter_mut().map(|shard| core::mem::take(&mut shard.gone)).collect();
        for shard in &mut self.shards {
            shard.gone = vec![0; shard.busy.len()];
        }
        self.gone += got.iter().flatten().sum::<u64>();
        got
    }

    /// Packets that the link carries in this time.
    fn carries(&self, span: Span) -> f64 {
        self.rate.as_bps() as f64 * span.as_secs_f64() / PACKET.bits() as f64
    }
}

fn flat(got: &[Vec<u64>]) -> Vec<f64> {
    got.iter().flatten().map(|&packets| packets as f64).collect()
}

#[test]
fn stations_share_alike_whichever_shard_they_are_on() {
    const SPAN: Span = Span::from_secs(4);
    for from in [Port::Wire, Port::Wlan] {
        let mut link = Link::new(BitRate::from_mbps(50), &[1, 3, 6], from);
        let got = link.run(SPAN);
        let all = flat(&got);
        assert!(jain(&all) >= 0.98, "{got:?}");
        assert!(all.iter().sum::<f64>() >= 0.98 * link.carries(SPAN), "{got:?}");
    }
}

#[test]
fn a_shard_alone_has_the_link_and_gives_it_up_at_once() {
    const SPAN: Span = Span::from_secs(2);
    let mut link = Link::new(BitRate::from_mbps(20), &[2, 2], Port::Wire);
    link.shards[1].busy = vec![false; 2];
    let got = link.run(SPAN);
    assert!(flat(&got[..1]).iter().sum::<f64>() >= 0.97 * link.carries(SPAN), "{got:?}");
    link.shards[1].busy = vec![true; 2];
    let short = Span::from_millis(200);
    let got = link.run(short);
    assert!(jain(&flat(&got)) >= 0.98, "from the first moment: {got:?}");
    link.shards[0].busy = vec![false; 2];
    let got = link.run(SPAN);
    assert!(flat(&got[1..]).iter().sum::<f64>() >= 0.97 * link.carries(SPAN), "{got:?}");
}

#[test]
fn a_slow_link_is_shared_packet_by_packet() {
    // A packet takes twelve leases.
    const SPAN: Span = Span::from_secs(60);
    let mut link = Link::new(BitRate::from_mbps(1), &[1, 1, 2], Port::Wire);
    let got = link.run(SPAN);
    assert!(jain(&flat(&got)) >= 0.98, "{got:?}");
    assert!(flat(&got).iter().sum::<f64>() >= 0.97 * link.carries(SPAN), "{got:?}");
}

#[test]
fn each_shards_recording_replays_alone() {
    let mut link = Link::new(BitRate::from_mbps(20), &[1, 2], Port::Wire);
    link.run(Span::from_millis(500));
    for shard in &mut link.shards {
        let (replayed, end) = replay(&shard.recorder.take()).expect("a recording");
        assert_eq!(end, Ok(()));
        assert!(replayed.as_bytes() == shard.log.as_bytes() && shard.log.as_bytes().len() > 1_000);
    }
}

#[test]
fn no_packet_passes_without_a_lease_and_all_leave_when_the_drain_limit_ends() {
    let mut link = Link::new(BitRate::from_mbps(20), &[1], Port::Wire);
    let shard = &mut link.shards[0];
    let meta = packet(Port::Wire, 0, 1, Segment::new(TcpFlags::ACK, 1, 1, PAYLOAD));
    let at_ms = |ms| Instant::ZERO + Span::from_millis(ms);
    shard.manager.handle_packet(at_ms(0), 1, &meta);
    shard.manager.handle_timeout(at_ms(50));
    let released = |shard: &mut Shard| {
        core::iter::from_fn(|| shard.manager.poll_output()).filter(|out| matches!(out, Output::Release { .. })).count()
    };
    assert_eq!(released(shard), 0);
    assert!(shard.manager.link_need(Hop::InternetDown).is_some_and(|need| need.weight == 1 && !need.leased));
    assert_eq!(shard.manager.link_need(Hop::Wlan), None);
    shard.manager.handle_command(at_ms(60), Command::Bypass);
    shard.manager.handle_timeout(at_ms(60) + Span::from_secs(2));
    assert_eq!(released(shard), 1, "the drain limit");
}
