//! Data segments per second of CPU time that two endpoints exchange through a pipe.
//!
//! `cargo run --release -p evenair-sim --example tcp_speed`

use std::collections::VecDeque;
use std::error::Error;
use std::fs;

use evenair_sim::tcp::{Config, Connection, LossRecovery, Segment};
use evenair_units::{BitRate, Bytes, Instant, Rng, Span, Streams};

/// Data segments sent in each measurement.
const SEGMENTS: u64 = 5_000_000;

/// One direction of the pipe: segments leave one after the other and arrive in order after a delay.
struct Lane {
    rate: BitRate,
    free_at: Instant,
    flying: VecDeque<(Instant, Segment)>,
}

impl Lane {
    fn new(rate: BitRate) -> Self {
        Self { rate, free_at: Instant::ZERO, flying: VecDeque::new() }
    }

    fn send(&mut self, now: Instant, delay: Span, segment: Segment) {
        self.free_at = self.free_at.max(now) + self.rate.time_for(segment.size() + Bytes(20));
        self.flying.push_back((self.free_at + delay, segment));
    }

    fn next(&self) -> Instant {
        self.flying.front().map_or(Instant::MAX, |&(at, _)| at)
    }
}

fn deadline(end: &Connection) -> Instant {
    end.poll_deadline().map_or(Instant::MAX, |(at, _)| at)
}

/// Loss of data segments.
#[derive(Clone, Copy)]
enum Loss {
    None,
    /// Random, with this probability in 10^-9.
    Random(u32),
    /// Every second one of 2000 consecutive segments of every 100 000, at its first transmission.
    Bursts,
}

impl Loss {
    /// Whether the segment is lost; `again`: it is a retransmission.
    fn takes(self, segment: &Segment, again: bool, rng: &mut Rng) -> bool {
        let nth = segment.seq / 1460;
        match self {
            _ if segment.len == 0 => false,
            Self::None => false,
            Self::Random(per_billion) => rng.chance(per_billion),
            Self::Bursts => !again && nth % 100_000 < 2_000 && nth.is_multiple_of(2),
        }
    }
}

/// Runs an endless transfer; returns data segments sent, and virtual seconds.
fn transfer(config: &Config, loss: Loss) -> Result<(u64, f64), Box<dyn Error>> {
    let delay = Span::from_millis(10);
    let mut rng = Streams::new(1).stream("loss");
    let (mut a, mut b) = (Connection::connect(config.clone())?, Connection::listen(config.clone())?);
    let (mut there, mut back) = (Lane::new(BitRate::from_mbps(1_000)), Lane::new(BitRate::from_mbps(1_000)));
    a.write_endlessly();
    let (mut now, mut highest) = (Instant::ZERO, 0);
    while a.stats().data_segments_sent < SEGMENTS {
        while let Some(segment) = a.poll_transmit(now) {
            if !loss.takes(&segment, segment.seq < highest, &mut rng) {
                there.send(now, delay, segment);
            }
            highest = highest.max(segment.end());
        }
        while let Some(segment) = b.poll_transmit(now) {
            back.send(now, delay, segment);
        }
        while b.poll_event().is_some() {}
        now = there.next().min(back.next()).min(deadline(&a)).min(deadline(&b));
        if there.next() <= now {
            let (_, segment) = there.flying.pop_front().expect("the next one");
            b.handle_segment(now, &segment);
        } else if back.next() <= now {
            let (_, segment) = back.flying.pop_front().expect("the next one");
            a.handle_segment(now, &segment);
        } else {
            a.handle_timeout(now);
            b.handle_timeout(now);
        }
    }
    Ok((a.stats().data_segments_sent, now.saturating_since(Instant::ZERO).as_secs_f64()))
}

/// CPU time of this process so far, from the kernel's scheduler, so that other load does not count.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/schedstat")?;
    let ns: u64 = stat.split_whitespace().next().ok_or("/proc/self/schedstat is empty")?.parse()?;
    Ok(ns as f64 / 1e9)
}

fn main() -> Result<(), Box<dyn Error>> {
    let window = |segments: u64| Config::ns3().with_window(Bytes(segments * 1460));
    let newreno = Config { recovery: LossRecovery::NewReno, ..window(4_000) };
    let linux = Config::linux();
    for (name, config, loss) in [
        ("43 segments, an ACK for each", window(43).without_delayed_ack(), Loss::None),
        ("43 segments, delayed ACK", window(43), Loss::None),
        ("1000 segments, SACK, delayed ACK", window(1_000), Loss::None),
        ("linux: CUBIC, PRR, timestamps", linux.clone(), Loss::None),
        ("4000 segments, SACK, loss 10^-4", window(4_000), Loss::Random(100_000)),
        ("4000 segments, SACK, loss 1 %", window(4_000), Loss::Random(10_000_000)),
        ("4000 segments, SACK, bursts", window(4_000), Loss::Bursts),
        ("4000 segments, NewReno, loss 1 %", newreno, Loss::Random(10_000_000)),
        ("linux, loss 10^-4", linux, Loss::Random(100_000)),
    ] {
        let before = cpu_seconds()?;
        let (segments, virtual_s) = transfer(&config, loss)?;
        let cpu_s = cpu_seconds()? - before;
        let rate = segments as f64 / cpu_s / 1e6;
        println!("{name:34} {rate:6.2} M data segments/s of CPU, {:8.1} virtual s a CPU s", virtual_s / cpu_s);
    }
    Ok(())
}
