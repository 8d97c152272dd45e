//! The lag of a path: what a packet to a station and its answer take where nothing waits, beyond the medium's own time for them.
//! A driver, a mesh hop, a tower or a tunnel between the box and the access point adds milliseconds that are no backlog.
//!
//! Where the medium is kept busy, lag and backlog cannot be told apart: what is in flight takes as long as it is much (Little's
//! law), however that is divided. So only packets with at most one other in flight are timed. They come by themselves when
//! traffic begins or is light; where none has come for long, the box keeps so few in flight for a moment (as BBR's ProbeRTT
//! does: Cardwell et al., 2016). The least of the last samples is the lag: whatever else delays an answer, contention or a
//! station that sleeps or acknowledges late, makes it longer.
//!
//! While stations send much by themselves nothing can be timed; the uploads that the box holds fall silent when it probes.
//!
//! Not here: lags of single stations. The least of all stations of a contention domain counts, which errs toward less in flight.

use evenair_units::{Instant, Span};

/// A sample counts for so long at least, and for twice as long at most. Without one for so long, one is made.
const INTERVAL: Span = Span::from_secs(10);
/// A probe ends with so many samples, or after so long and twice the lag.
const SAMPLES: u32 = 4;
const PROBE: Span = Span::from_millis(60);
/// More is no lag of a path between a box and its access points. Behind an access point whose queue is full when the box is
/// inserted, answers are much later than that.
const MOST: Span = Span::from_millis(50);
/// A sample is clear if what stations sent took at most this part of its time.
const HEARD_PART: u64 = 4;
/// Most packets in flight, the timed one included.
const MOST_IN_FLIGHT: u64 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Lag {
    timed: Option<Timed>,
    /// The least samples of the present interval and of the one before.
    least: [Option<Span>; 2],
    interval_began: Instant,
    sampled_at: Instant,
    probe: Option<Probe>,
}

/// A packet whose answer is awaited.
#[derive(Clone, Copy, Debug)]
struct Timed {
    number: u64,
    at: Instant,
    /// What the medium takes for all in flight, it included.
    airtime: Span,
    /// What stations send until the answer comes.
    heard: Span,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    began: Instant,
    samples: u32,
}

impl Lag {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { timed: None, least: [None; 2], interval_began: now, sampled_at: now, probe: None }
    }

    /// The lag, as far as it is known.
    pub(crate) fn get(&self) -> Span {
        self.least.into_iter().flatten().min().unwrap_or(Span::ZERO)
    }

    /// Few packets are to be in flight now.
    pub(crate) const fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    /// A packet that asks for an answer is released; `in_flight` counts it, `airtime` is what the medium takes for all of them.
    pub(crate) fn note_release(&mut self, now: Instant, number: u64, in_flight: u64, airtime: Span) {
        if self.probe.is_some_and(|probe| now.saturating_since(probe.began) > PROBE + self.get() * 2) {
            self.probe = None;
            self.sampled_at = now;
        }
        if self.probe.is_none() && now.saturating_since(self.sampled_at) >= INTERVAL {
            self.probe = Some(Probe { began: now, samples: 0 });
        }
        let is_awaited = self.timed.is_some_and(|timed| now.saturating_since(timed.at) < INTERVAL);
        if in_flight <= MOST_IN_FLIGHT && !is_awaited {
            self.timed = Some(Timed { number, at: now, airtime, heard: Span::ZERO });
        }
    }

    /// A packet from a station, which the medium took so long for, was before a timed one's answer.
    pub(crate) fn note_uplink(&mut self, airtime: Span) {
        if let Some(timed) = &mut self.timed {
            timed.heard += airtime;
        }
    }

    /// A release was answered.
    pub(crate) fn note_answer(&mut self, now: Instant, number: u64) {
        let Some(timed) = self.timed.filter(|timed| timed.number <= number) else { return };
        self.timed = None;
        let took = now.saturating_since(timed.at);
        // It is not known which of what was heard it had to wait for, and which was sent before it came to the access point.
        let is_clear = timed.heard * HEARD_PART <= took;
        if timed.number == number && is_clear {
            self.sample(now, took.saturating_sub(timed.airtime + timed.heard));
        }
    }

    fn sample(&mut self, now: Instant, lag: Span) {
        if now.saturating_since(self.interval_began) >= INTERVAL {
            self.least = [None, self.least[0]];
            self.interval_began = now;
        }
        let lag = lag.min(MOST);
        self.least[0] = Some(self.least[0].map_or(lag, |least| least.min(lag)));
        self.sampled_at = now;
        if let Some(probe) = &mut self.probe {
            probe.samples += 1;
            if probe.samples >= SAMPLES {
                self.probe = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Span = Span::from_millis(1);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn exchange(lag: &mut Lag, number: u64, in_flight: u64, from: u64, to: u64) {
        lag.note_release(at(from), number, in_flight, OWN * in_flight);
        lag.note_answer(at(to), number);
    }

    #[test]
    fn the_least_of_what_lone_packets_take_is_the_lag() {
        let mut lag = Lag::new(at(0));
        assert_eq!(lag.get(), Span::ZERO);
        exchange(&mut lag, 1, 1, 0, 40);
        assert_eq!(lag.get(), Span::from_millis(39));
        exchange(&mut lag, 2, 2, 50, 57);
        assert_eq!(lag.get(), Span::from_millis(5));
        exchange(&mut lag, 3, 3, 60, 63);
        assert_eq!(lag.get(), Span::from_millis(5), "with two others in flight, it says nothing");
        exchange(&mut lag, 4, 1, 70, 500);
        assert_eq!(lag.get(), Span::from_millis(5), "the station slept");
    }

    #[test]
    fn an_answer_to_a_later_packet_is_no_sample() {
        let mut lag = Lag::new(at(0));
        lag.note_release(at(0), 1, 1, OWN);
        lag.note_answer(at(9), 2);
        assert_eq!(lag.get(), Span::ZERO);
        exchange(&mut lag, 3, 1, 10, 14);
        assert_eq!(lag.get(), Span::from_millis(3));
    }

    #[test]
    fn it_follows_a_path_that_has_changed_and_probes_where_the_medium_is_busy() {
        let mut lag = Lag::new(at(0));
        exchange(&mut lag, 1, 1, 0, 4);
        let mut probed = 0;
        for n in 2..3_000 {
            let now = n * 10;
            // As many are in flight as may be.
            let in_flight = if lag.is_probing() { 1 } else { 8 };
            probed += u64::from(lag.is_probing());
            exchange(&mut lag, n, in_flight, now, now + 9);
        }
        assert_eq!(lag.get(), Span::from_millis(8));
        assert!((8..=12).contains(&probed), "{probed}: four each ten seconds");
    }

    #[test]
    fn a_probe_without_an_answer_ends() {
        let mut lag = Lag::new(at(0));
        lag.note_release(at(10_000), 1, 1, OWN);
        assert!(lag.is_probing());
        lag.note_release(at(10_100), 2, 2, OWN);
        assert!(!lag.is_probing());
        lag.note_release(at(20_200), 3, 2, OWN);
        assert!(lag.is_probing(), "it is tried again");
    }
}
