//! Media for the closed loop.

use std::collections::VecDeque;

use evenair_medium::{AccessCategory, AfterCollision, Event, Medium, MediumConfig, Mpdu, NodeConfig, NodeId, To};
use evenair_units::{Bytes, Instant, Limit, Streams};
use evenair_wifi::{Phy, PhyRate};

/// A packet on its way over the WLAN.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub packet: u64,
    pub station: usize,
    pub from_station: bool,
    pub ip_len: Bytes,
    pub rate: PhyRate,
}

/// A medium.
pub trait Air {
    fn offer(&mut self, now: Instant, frame: Frame);
    /// The time of the next event.
    fn deadline(&self) -> Option<Instant>;
    /// Advances to now: returns a frame that was carried.
    fn advance(&mut self, now: Instant) -> Option<Frame>;
    /// From now on each frame takes this many thousandths of the usual time.
    fn slow_down(&mut self, permille: u64);
}

/// Serves frames one at a time in the order of arrival, each for the airtime that the formulas give.
pub struct Formula {
    phy: Phy,
    rts_threshold: Option<Bytes>,
    waiting: VecDeque<Frame>,
    done_at: Instant,
    slowness_permille: u64,
}

impl Formula {
    pub fn new(phy: Phy, rts_threshold: Option<Bytes>) -> Self {
        Self { phy, rts_threshold, waiting: VecDeque::new(), done_at: Instant::ZERO, slowness_permille: 1000 }
    }

    fn begin(&mut self, now: Instant) {
        if let Some(frame) = self.waiting.front() {
            let rts = self.rts_threshold.is_some_and(|threshold| frame.ip_len > threshold);
            let airtime = self.phy.access_cost(frame.ip_len, frame.rate, rts).0;
            self.done_at = now + airtime.mul_div(self.slowness_permille, 1000);
        }
    }
}

impl Air for Formula {
    fn offer(&mut self, now: Instant, frame: Frame) {
        self.waiting.push_back(frame);
        if self.waiting.len() == 1 {
            self.begin(now);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.done_at)
    }

    fn advance(&mut self, now: Instant) -> Option<Frame> {
        if self.done_at > now {
            return None;
        }
        let done = self.waiting.pop_front();
        self.begin(now);
        done
    }

    fn slow_down(&mut self, permille: u64) {
        self.slowness_permille = permille;
    }
}

/// A medium for each channel.
pub struct Channels {
    pub airs: Vec<Box<dyn Air>>,
    /// The channel of each station.
    pub channel: std::rc::Rc<std::cell::RefCell<Vec<usize>>>,
}

impl Air for Channels {
    fn offer(&mut self, now: Instant, frame: Frame) {
        self.airs[self.channel.borrow()[frame.station]].offer(now, frame);
    }

    fn deadline(&self) -> Option<Instant> {
        self.airs.iter().filter_map(|air| air.deadline()).min()
    }

    fn advance(&mut self, now: Instant) -> Option<Frame> {
        self.airs.iter_mut().find_map(|air| air.advance(now))
    }

    fn slow_down(&mut self, permille: u64) {
        self.airs.iter_mut().for_each(|air| air.slow_down(permille));
    }
}

/// DCF with its collisions: access points, which are the first nodes, and stations. No buffer overflows.
pub struct Dcf {
    medium: Medium<Frame>,
    access_points: u32,
    /// Number of stations at the first access point; the others are at the last.
    split: usize,
}

impl Dcf {
    pub fn new(phy: Phy, rts_threshold: Option<Bytes>, stations: usize) -> Self {
        Self::of(1, stations, config(phy, rts_threshold), stations, 1)
    }

    pub fn seeded(phy: Phy, rts_threshold: Option<Bytes>, stations: usize, seed: u64) -> Self {
        Self::of(1, stations, config(phy, rts_threshold), stations, seed)
    }

    /// Two access points on one channel.
    pub fn two(split: usize, phy: Phy, rts_threshold: Option<Bytes>, stations: usize) -> Self {
        Self::of(2, split, config(phy, rts_threshold), stations, 1)
    }

    fn of(access_points: u32, split: usize, config: MediumConfig, stations: usize, seed: u64) -> Self {
        let mut medium = Medium::new(config, &Streams::new(seed));
        let nodes = access_points as usize + stations;
        (0..nodes).for_each(|_| _ = medium.add_node(NodeConfig::dcf(Limit::Unlimited)));
        Self { medium, access_points, split }
    }
}

fn config(phy: Phy, rts_threshold: Option<Bytes>) -> MediumConfig {
    MediumConfig { rts_threshold, after_collision: AfterCollision::Eifs, ..MediumConfig::new(phy) }
}

impl Air for Dcf {
    fn offer(&mut self, now: Instant, frame: Frame) {
        let at_first = self.access_points == 1 || frame.station < self.split;
        let (ap, station) = (NodeId(u32::from(!at_first)), NodeId(self.access_points + frame.station as u32));
        let (from, to) = if frame.from_station { (station, ap) } else { (ap, station) };
        self.medium.handle_frame(
            now,
            from,
            Mpdu {
                to: To::Node(to),
                msdu: frame.ip_len,
                rate: frame.rate,
                category: AccessCategory::BestEffort,
                frame,
            },
        );
    }

    fn deadline(&self) -> Option<Instant> {
        self.medium.poll_deadline()
    }

    fn advance(&mut self, now: Instant) -> Option<Frame> {
        if self.medium.poll_deadline().is_some_and(|deadline| deadline <= now) {
            self.medium.handle_timeout(now);
        }
        // A frame past its retry limit is delivered nevertheless: the sources here have no recovery.
        self.medium.poll_event().map(|event| match event {
            Event::Delivered { frame, .. } | Event::Dropped { frame, .. } => frame,
        })
    }

    fn slow_down(&mut self, permille: u64) {
        assert_eq!(permille, 1000, "only the formula can be bent");
    }
}
