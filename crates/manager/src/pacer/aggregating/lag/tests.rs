use super::*;
use alloc::vec::Vec;

fn at(us: u64) -> Instant {
    Instant::ZERO + Span::from_micros(us)
}

const fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// A path with a lag, and an access point that takes a fixed time for each packet.
struct Path {
    lag: Lag,
    now: Instant,
    released: u64,
    each: Span,
}

impl Path {
    fn new(each: Span) -> Self {
        Self { lag: Lag::new(at(0)), now: at(0), released: 0, each }
    }

    /// Waits until the box begins to drain.
    fn drain(&mut self) {
        while self.lag.holds_until(true).is_none() {
            self.now += ms(1);
            self.lag.expire(self.now, true, true);
        }
    }

    /// Completes everything in flight, and releases two packets.
    fn probe(&mut self) {
        self.lag.expire(self.now, true, false);
        assert!(self.lag.is_probing());
        for _ in 0..2 {
            assert_eq!(self.lag.holds_until(true), None);
            self.lag.note_release(self.now, self.released, self.each, true);
            self.released += 1;
        }
        assert_eq!(self.lag.holds_until(true), Some(self.now + ms(200)), "there is no third one");
    }

    /// One measurement, in which the acknowledgment of both packets comes this long after they have left.
    fn measure(&mut self, lag: Span) {
        self.drain();
        self.now += ms(3);
        self.probe();
        self.now += lag + self.each * 2;
        self.lag.note_completion(self.now, self.released - 1, false);
        assert!(!self.lag.is_probing() && self.lag.holds_until(true).is_none());
    }
}

fn is_near(value: Span, expected: Span) -> bool {
    value.max(expected) - value.min(expected) <= expected / 20
}

#[test]
fn the_lag_excludes_the_medium_time_of_the_probes() {
    for (lag, each) in [(200, 20), (200, 250), (2_000, 250), (2_000, 2_000), (20_000, 250), (20_000, 2_000)] {
        let mut path = Path::new(Span::from_micros(each));
        assert_eq!((path.lag.get(), path.lag.allowed()), (None, ms(10)), "not known");
        let lag = Span::from_micros(lag);
        for _ in 0..3 {
            path.measure(lag);
            let seen = path.lag.get().expect("it was measured");
            assert!(is_near(seen, lag), "{seen:?} of {lag:?} with {each} us");
        }
        assert!((lag * 5 / 4..lag * 5 / 4 + ms(3)).contains(&path.lag.allowed()));
    }
}

#[test]
fn the_target_is_longer_than_needed_where_no_sample_has_a_lag() {
    let micros = Span::from_micros;
    for (lag, expected) in [(200, 1_000), (500, 1_000), (700, 600), (2_000, 0)] {
        let mut path = Path::new(micros(250));
        path.measure(micros(lag));
        assert_eq!(path.lag.spare(), Span::ZERO, "one sample may be short by chance");
        path.measure(micros(lag));
        assert_eq!(path.lag.spare(), micros(expected), "with a lag of {lag} us");
    }
    // Jitter: one long sample of six is enough.
    let mut path = Path::new(micros(250));
    path.measure(ms(4));
    for _ in 1..6 {
        path.measure(micros(200));
        assert_eq!(path.lag.spare(), Span::ZERO);
    }
    path.measure(micros(200));
    assert_eq!(path.lag.spare(), ms(1));
}

#[test]
fn the_medium_time_of_the_probes_is_subtracted_in_part_only() {
    // The medium is ten times as fast as the airtime model.
    let mut path = Path::new(ms(4));
    path.drain();
    path.probe();
    path.now += ms(1);
    path.lag.note_completion(path.now, path.released - 1, false);
    assert_eq!(path.lag.get(), Some(ms(1) / 4));
}

#[test]
fn a_completion_of_an_earlier_release_is_no_sample() {
    let mut path = Path::new(ms(1));
    path.released = 5;
    path.drain();
    path.probe();
    path.lag.note_completion(path.now + ms(1), 4, false);
    assert!(path.lag.get().is_none() && path.lag.is_probing());
    path.lag.note_completion(path.now + ms(4), 6, false);
    assert_eq!(path.lag.get(), Some(ms(2)));
}

#[test]
fn the_lag_is_the_second_largest_of_six_samples() {
    let mut path = Path::new(Span::from_micros(100));
    for (lag, expected) in [(3, 3), (9, 9), (4, 4), (3, 4), (5, 5), (3, 5), (4, 5), (3, 4), (3, 4), (5, 5), (9, 5)] {
        path.measure(ms(lag));
        assert_eq!(path.lag.get(), Some(ms(expected)), "after one of {lag} ms");
    }
}

#[test]
fn a_late_station_does_not_count_beside_prompt_ones() {
    let mut path = Path::new(Span::from_micros(100));
    path.measure(ms(60));
    assert_eq!(path.lag.get(), Some(ms(60)), "nothing else is known");
    path.measure(ms(2));
    assert_eq!(path.lag.get(), Some(ms(2)));
    path.measure(ms(60));
    assert_eq!(path.lag.get(), Some(ms(2)));
    path.measure(ms(9));
    assert_eq!(path.lag.get(), Some(ms(9)), "so much is jitter");
    // On a path with a long lag, twice the least is jitter.
    let mut path = Path::new(Span::from_micros(100));
    for (lag, expected) in [(30, 30), (59, 59), (61, 59)] {
        path.measure(ms(lag));
        assert_eq!(path.lag.get(), Some(ms(expected)));
    }
}

#[test]
fn draining_and_probing_time_out() {
    let mut path = Path::new(ms(1));
    path.drain();
    let began = path.now;
    assert_eq!(path.lag.holds_until(true), Some(began + ms(100)), "nothing ever drains");
    path.lag.expire(began + ms(99), true, true);
    assert!(path.lag.holds_until(true).is_some());
    path.now = began + ms(100);
    path.lag.expire(path.now, true, true);
    assert!(path.lag.holds_until(true).is_none() && !path.lag.is_probing());

    path.drain();
    path.probe();
    let began = path.now;
    path.lag.expire(began + ms(199), true, true);
    assert!(path.lag.holds_until(true).is_some(), "nothing is ever completed");
    path.now = began + ms(200);
    path.lag.expire(path.now, true, true);
    assert!(path.lag.holds_until(true).is_none() && !path.lag.is_probing());
    path.lag.note_completion(path.now + ms(1), path.released, false);
    assert_eq!(path.lag.get(), None);
}

#[test]
fn a_drained_path_waits_for_packets_for_a_short_time() {
    let mut path = Path::new(ms(1));
    path.drain();
    path.lag.expire(path.now, true, false);
    path.lag.expire(path.now + ms(19), true, false);
    assert!(path.lag.is_probing());
    path.lag.expire(path.now + ms(20), true, false);
    assert!(!path.lag.is_probing());
    assert_eq!(path.lag.get(), None);
}

#[test]
fn where_no_acknowledgment_is_due_any_completion_is_the_sample() {
    for (took, lag) in [(20, 12), (60, 30)] {
        let mut path = Path::new(ms(2));
        path.drain();
        path.lag.expire(path.now, true, false);
        for number in 0..4 {
            assert!(path.lag.is_probing());
            path.lag.note_release(path.now, number, ms(2), false);
        }
        assert!(!path.lag.is_probing() && path.lag.holds_until(true).is_none(), "releases go on");
        path.lag.note_release(path.now, 4, ms(2), true);
        path.lag.note_completion(path.now + ms(took), 0, false);
        assert_eq!((path.lag.get(), path.lag.least_if_long()), (Some(ms(lag)), Span::ZERO));
        path.now += ms(took);
        path.measure(ms(40));
        assert_eq!(
            (path.lag.get(), path.lag.least_if_long()),
            (Some(ms(40)), ms(40)),
            "it does not count beside others"
        );
    }
}

#[test]
fn measurements_become_rarer() {
    let mut path = Path::new(Span::from_micros(100));
    let wait = |path: &mut Path| {
        let ended = path.now;
        path.drain();
        let waited = path.now.saturating_since(ended);
        path.probe();
        path.lag.note_completion(path.now, path.released - 1, false);
        waited
    };
    let waits: Vec<Span> = (0..8).map(|_| wait(&mut path)).collect();
    assert_eq!(waits, [300, 300, 600, 1_200, 2_400, 4_800, 5_000, 5_000].map(ms));
    // Nothing is measured while nothing waits in the box.
    path.lag.expire(path.now + ms(60_000), false, true);
    assert_eq!(path.lag.holds_until(true), None);
}

#[test]
fn a_packet_without_an_acknowledgment_due_is_no_probe() {
    let mut path = Path::new(ms(1));
    path.drain();
    path.lag.expire(path.now, true, false);
    // A call's packet, and DATA whose acknowledgment is delayed until the next DATA.
    path.lag.note_release(path.now, 0, ms(1), false);
    path.lag.note_release(path.now, 1, ms(1), false);
    assert!(path.lag.is_probing() && path.lag.holds_until(true).is_none());
    path.lag.note_completion(path.now, 1, false);
    assert!(path.lag.is_probing() && path.lag.get().is_none(), "it belongs to nothing that was measured");
    path.lag.note_release(path.now, 2, ms(1), true);
    path.lag.note_completion(path.now + ms(5), 2, false);
    assert_eq!(path.lag.get(), Some(ms(2)), "all three have taken their time");
}

#[test]
fn probes_take_no_more_than_a_run() {
    let mut path = Path::new(ms(1));
    path.drain();
    path.lag.expire(path.now, true, false);
    path.lag.note_release(path.now, 0, ms(1), true);
    for number in 1..8 {
        assert_eq!(path.lag.holds_until(true), None, "one acknowledgment may be lost");
        path.lag.note_release(path.now, number, ms(1), false);
    }
    assert!(path.lag.holds_until(true).is_some());
    // Datagrams alone do not leave without a limit.
    let mut path = Path::new(ms(1));
    path.drain();
    path.lag.expire(path.now, true, false);
    (0..8).for_each(|number| path.lag.note_release(path.now, number, ms(1), false));
    assert!(!path.lag.is_probing() && path.lag.get().is_none());
}

#[test]
fn a_station_that_uploads_does_not_count_beside_others() {
    let mut path = Path::new(Span::from_micros(100));
    let mut measure = |lag: u64, behind_upload: bool| {
        path.drain();
        path.probe();
        path.lag.note_completion(path.now + ms(lag) + path.each * 2, path.released - 1, behind_upload);
        path.lag.get()
    };
    assert_eq!(measure(40, true), Some(ms(40)), "nothing else is known");
    assert_eq!(measure(9, true), Some(ms(9)), "their least");
    assert_eq!(measure(12, true), Some(ms(9)));
    assert_eq!(measure(3, false), Some(ms(3)));
    assert_eq!(measure(4, true), Some(ms(3)), "although it is near");
    assert_eq!(measure(5, false), Some(ms(5)));
}
