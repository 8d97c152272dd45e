use super::*;
use alloc::collections::VecDeque;

const TARGET: Span = Span::from_millis(3);
const PACKET: Span = Span::from_micros(500);

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// A medium that serves a packet at a time, and a path that delays its completion.
struct Path<D> {
    knee: Knee,
    now: Instant,
    released: u64,
    server_free: Instant,
    in_flight: VecDeque<(Instant, u64)>,
    /// Time to serve a packet, and the delay of its completion.
    each: Span,
    delay: D,
    random: u64,
    /// Whether nothing is held.
    is_observing: bool,
}

impl<D: FnMut(u64, Instant) -> Instant> Path<D> {
    /// `delay`: gives the instant of the completion from a random number and the instant at which the packet has left.
    fn new(delay: D) -> Self {
        let (now, in_flight) = (Instant::ZERO, VecDeque::new());
        let knee = Knee::new(now);
        Self {
            knee,
            now,
            released: 0,
            server_free: now,
            in_flight,
            each: PACKET,
            delay,
            random: 1,
            is_observing: false,
        }
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    fn release(&mut self) {
        if self.is_observing {
            self.knee.note_unmanaged(self.now, self.released);
        } else {
            self.knee.note_release(self.now, self.released, PACKET * (self.in_flight.len() as u64 + 1));
        }
        let back_off = Span::from_nanos(self.random() % self.each.as_nanos());
        self.server_free = self.server_free.max(self.now) + self.each / 2 + back_off;
        let random = self.random();
        let done = (self.delay)(random, self.server_free);
        let done = self.in_flight.back().map_or(done, |&(last, _)| done.max(last));
        self.in_flight.push_back((done, self.released));
        self.released += 1;
    }

    /// Runs for so many seconds with packets always waiting in the box. Returns the part, in thousandths, in which the
    /// medium was busy.
    fn saturate(&mut self, seconds: u64) -> u64 {
        self.send(seconds, usize::MAX)
    }

    /// The same with senders whose windows are this many packets together, in flight and in the box.
    fn send(&mut self, seconds: u64, window: usize) -> u64 {
        let (from, until) = (self.released, self.now + ms(1_000) * seconds);
        while self.now < until {
            while self.is_observing || PACKET * (self.in_flight.len() as u64) < TARGET + self.knee.get() {
                if self.in_flight.len() == window {
                    self.knee.starve();
                    break;
                }
                self.release();
            }
            let (done, number) = self.in_flight.pop_front().expect("some are in flight");
            self.now = self.now.max(done);
            self.knee.expire(self.now);
            self.knee.note_completion(self.now, number, PACKET * (number + 1));
        }
        (self.released - from) * self.each.as_nanos() / (seconds * 1_000_000)
    }

    /// Medium time of the packets in the access point.
    fn backlog(&self) -> Span {
        self.server_free.saturating_since(self.now)
    }
}

#[test]
fn a_path_without_lag_has_no_allowance() {
    let mut path = Path::new(|_, left| left);
    path.saturate(3);
    assert!(path.saturate(20) > 985);
    assert!(path.knee.get() <= ms(2), "{:?}", path.knee.get());
}

#[test]
fn a_lag_is_allowed_within_three_seconds_without_much_excess() {
    for lag in [2, 5, 20, 50] {
        let mut path = Path::new(move |_, left| left + ms(lag));
        path.saturate(3);
        let carried = path.saturate(20);
        assert!(carried > 965, "{lag} ms: {carried}");
        assert!(path.knee.get() < ms(lag + 3 + lag / 3), "{lag} ms: {:?}", path.knee.get());
    }
}

#[test]
fn a_large_allowance_after_an_insertion_is_reduced_once_more() {
    for (lag, most) in [(0, 3), (20, 30)] {
        let mut path = Path::new(move |_, left| left + ms(lag));
        path.saturate(1);
        // The search has ended too early, by chance, and later it does not begin anew.
        (path.knee.is_sure, path.knee.best) = (false, (1_000_000_000, path.now));
        path.knee.end(path.now, ms(30), false);
        path.saturate(5);
        assert!(path.knee.is_sure && path.knee.get() <= ms(most), "{lag} ms: {:?}", path.knee.get());
        assert!(path.saturate(10) > 965, "{lag} ms");
    }
}

#[test]
fn answers_with_jitter_and_in_batches_leave_the_medium_busy() {
    let mut jitter = Path::new(|random, left| left + Span::from_nanos(random % 10_000_000));
    let mut batches = Path::new(|_, left| {
        let batch = ms(5).as_nanos();
        Instant::ZERO + Span::from_nanos(left.saturating_since(Instant::ZERO).as_nanos().div_ceil(batch) * batch)
    });
    jitter.saturate(3);
    batches.saturate(3);
    let carried = (jitter.saturate(20), batches.saturate(20));
    assert!(carried.0 > 965 && carried.1 > 965, "{carried:?}");
    assert!(jitter.knee.get().max(batches.knee.get()) < ms(15));
}

#[test]
fn a_lag_that_grows_is_noticed_within_two_seconds() {
    let lag = core::cell::Cell::new(ms(0));
    let mut path = Path::new(|_, left| left + lag.get());
    path.saturate(10);
    lag.set(ms(20));
    path.saturate(2);
    let carried = path.saturate(5);
    assert!(carried > 950, "{carried}");
}

#[test]
fn sender_windows_that_just_fill_the_allowance_move_into_the_box() {
    for (lag, window) in (30..120).step_by(5).map(|window| (0, window)).chain([(10, 70), (10, 100)]) {
        let mut path = Path::new(move |_, left| left + ms(lag));
        path.is_observing = true;
        path.send(3, window);
        path.knee.insert(path.now);
        path.is_observing = false;
        path.send(8, window);
        let carried = path.send(10, window);
        assert!(carried > 965, "{lag} ms, {window} packets: {carried}");
        assert!(path.backlog() < ms(12), "{lag} ms, {window} packets: {:?}", path.backlog());
    }
}

#[test]
fn on_a_slower_medium_the_backlog_does_not_persist() {
    let mut path = Path::new(|_, left| left + ms(10));
    path.saturate(10);
    // The same packets take 50 ms of medium time instead of 10.
    path.each = PACKET * 5;
    path.saturate(8);
    assert!(path.backlog() < ms(30), "{:?}", path.backlog());
}

#[test]
fn without_completions_nothing_changes() {
    let mut knee = Knee::new(Instant::ZERO);
    for number in 0..6_000 {
        let now = Instant::ZERO + ms(number * 10);
        knee.expire(now);
        knee.note_release(now, number, PACKET);
        knee.starve();
    }
    assert_eq!(knee.get(), Span::ZERO);
}
