use super::*;
use alloc::vec::Vec;
use evenair_units::{Rng, Streams};

const EACH: Span = Span::from_millis(1);
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

/// Releases to three stations, of [`EACH`] medium time.
struct Sender {
    in_flight: InFlight,
    /// Order of releases by station.
    orders: [Order; 3],
    /// The last release by flow.
    last: [Option<u64>; 6],
    now: Instant,
}

impl Sender {
    fn new() -> Self {
        Self { in_flight: InFlight::new(7), orders: [Order::default(); 3], last: [None; 6], now: at(0) }
    }

    /// Releases a packet. Returns its number, and the load that is no longer kept.
    fn push(&mut self, station: usize, flow: usize, due: bool) -> (u64, Load) {
        let load = Load { believed: EACH * 2, medium: EACH, shown: EACH };
        let id = Some(StationId(u32::try_from(station).expect("a small number")));
        let departure = Departure {
            load,
            previous: self.last[flow],
            due,
            unanswerable: false,
            for_data: false,
            station: id,
            leaves: None,
        };
        let (number, lost) = self.in_flight.push(self.now, departure, Some(&mut self.orders[station]));
        self.last[flow] = Some(number);
        (number, lost)
    }

    fn asks(&mut self, station: usize, flow: usize) -> u64 {
        self.push(station, flow, true).0
    }

    /// Releases a packet without an acknowledgment due.
    fn silent(&mut self, station: usize, flow: usize) -> u64 {
        self.push(station, flow, false).0
    }

    fn complete(&mut self, station: usize, number: u64) -> Completed {
        self.in_flight.complete(self.now, number, Some(&mut self.orders[station]))
    }

    /// Completes a release. Returns the packets that leave by it: of its station, of others.
    fn left(&mut self, station: usize, number: u64) -> [u64; 2] {
        let Completed { own, others, .. } = self.complete(station, number);
        [packets(own), packets(others)]
    }
}

fn packets(load: Load) -> u64 {
    assert_eq!(load.believed, load.medium * 2);
    load.medium.as_nanos() / EACH.as_nanos()
}

#[test]
fn a_completion_closes_only_its_own_flow() {
    let mut s = Sender::new();
    let n = [0, 1, 0, 1, 0].map(|flow| s.asks(A, flow));
    assert_eq!((s.in_flight.medium(), s.in_flight.count(), s.in_flight.due()), (EACH * 5, 5, 5));
    assert_eq!(s.left(A, n[2]), [2, 0]);
    assert_eq!(s.left(A, n[0]), [0, 0], "an old one is nothing new");
    assert_eq!(s.left(A, n[3]), [2, 0]);
    assert_eq!(s.left(A, n[4]), [1, 0]);
    assert_eq!((s.in_flight.medium(), s.in_flight.count(), s.in_flight.due()), (Span::ZERO, 0, 0));
    assert_eq!(s.asks(A, 0), n[4] + 1);
}

#[test]
fn releases_without_acknowledgments_leave_by_order() {
    let mut s = Sender::new();
    s.asks(A, 0);
    s.silent(B, 1);
    s.silent(A, 0);
    s.silent(B, 1);
    let third = s.asks(C, 2);
    s.silent(B, 1);
    assert_eq!(s.left(C, third), [1, 3]);
    assert_eq!(s.in_flight.due(), 1);
    let next = s.asks(A, 0);
    assert_eq!(s.left(A, next), [2, 1], "its chain goes on behind what order has cleared");
    assert_eq!(s.in_flight.count(), 0);
}

#[test]
fn unacknowledged_releases_leave_with_the_next_completion_of_their_station() {
    let mut s = Sender::new();
    let first = s.asks(A, 0);
    s.silent(A, 1);
    s.silent(A, 2);
    let other = s.asks(A, 3);
    assert_eq!(s.left(A, other), [3, 0], "of other flows of the station those without a due acknowledgment");
    assert!(!s.in_flight.is_given_up(first) && s.in_flight.due() == 1);
    assert_eq!(s.left(A, first), [1, 0]);
    assert_eq!(s.in_flight.count(), 0);
}

#[test]
fn releases_to_a_roamed_station_are_cleared_in_its_new_domain() {
    let mut s = Sender::new();
    let mut before = InFlight::new(1 << 48);
    let load = Load { believed: EACH * 2, medium: EACH, shown: EACH };
    let departure = Departure {
        load,
        previous: None,
        due: true,
        unanswerable: false,
        for_data: false,
        station: Some(StationId(0)),
        leaves: None,
    };
    let (number, _) = before.push(s.now, departure, Some(&mut s.orders[A]));
    before.complete(s.now, number, Some(&mut s.orders[A]));
    for _ in 0..2 {
        let _ = (s.asks(A, 0), s.silent(A, 1));
        let other = s.asks(A, 2);
        assert_eq!(s.left(A, other), [2, 0]);
    }
}

#[test]
fn a_completion_of_another_station_does_not_clear_those_of_a_responsive_one() {
    for silence in [10, 2_000] {
        let mut s = Sender::new();
        let first = s.asks(A, 0);
        s.complete(A, first);
        s.now = at(silence);
        let behind = [s.silent(A, 1), s.silent(A, 2)];
        let other = s.asks(B, 3);
        if silence > 1_000 {
            assert_eq!(s.left(B, other), [1, 2], "it has completed nothing for long");
            continue;
        }
        assert_eq!(s.left(B, other), [1, 0]);
        assert_eq!((s.in_flight.count(), s.in_flight.passed()), (2, 2));
        assert!(behind.iter().all(|&number| !s.in_flight.is_given_up(number)));
        let own = s.asks(A, 4);
        assert_eq!(s.left(A, own), [3, 0]);
        assert_eq!((s.in_flight.count(), s.in_flight.passed()), (0, 0));
    }
}

#[test]
fn the_odd_last_packet_of_a_train_leaves_with_it() {
    let mut s = Sender::new();
    s.silent(A, 0);
    let due = s.asks(A, 0);
    let odd = s.silent(A, 0);
    s.silent(B, 1);
    let done = s.complete(A, due);
    assert_eq!((packets(done.own), packets(done.others), done.packets, done.train_open), (3, 0, 3, EACH * 3));
    assert!(s.in_flight.is_given_up(odd));
    assert_eq!(s.in_flight.count(), 1, "the other station's is another train");
}

#[test]
fn a_train_is_waited_for_as_long_as_an_acknowledgment_is_due_to_it() {
    let mut s = Sender::new();
    let (first, _, last, _) = (s.asks(A, 0), s.silent(A, 0), s.asks(A, 1), s.silent(A, 1));
    // This one does not fit into the same train.
    let next = s.silent(A, 1);
    assert_eq!(s.left(A, first), [1, 0]);
    let done = s.complete(A, last);
    assert_eq!((packets(done.own), done.train_open), (3, EACH * 3));
    assert_eq!(s.in_flight.count(), 1);
    let after = s.asks(A, 1);
    let then = s.complete(A, after);
    assert_eq!((packets(then.own), then.train), (2, done.train + 1), "{next} and {after}");
}

#[test]
fn an_overtaken_release_is_given_up_in_time() {
    let mut s = Sender::new();
    let n = [(A, 0), (B, 1), (A, 0)].map(|flow| s.asks(flow.0, flow.1));
    s.now = at(1);
    s.complete(B, n[1]);
    let expiry = s.in_flight.expires_at().expect("it was overtaken");
    assert_eq!(packets(s.in_flight.expire(expiry)), 0);
    assert_eq!(packets(s.in_flight.expire(expiry + EACH)), 1, "the third was not overtaken");
    assert!(s.in_flight.is_given_up(n[0]) && !s.in_flight.is_given_up(n[2]));
}

#[test]
fn the_wait_follows_the_lateness_of_completions() {
    let expiry_after = |late: u64| {
        let mut s = Sender::new();
        let overtake = |s: &mut Sender| {
            s.last = [None; 6];
            let (slow, fast) = (s.asks(A, 0), s.asks(B, 1));
            s.complete(B, fast);
            slow
        };
        for _ in 0..200 {
            let slow = overtake(&mut s);
            s.now += Span::from_millis(late);
            s.complete(A, slow);
        }
        overtake(&mut s);
        s.in_flight.expires_at().expect("overtaken").saturating_since(s.now)
    };
    assert!(expiry_after(0) <= Span::from_millis(6));
    assert!(expiry_after(30) > Span::from_millis(40));
}

/// DATA sent for an ACK wait in the queues of uploading stations, here for half a second.
#[test]
fn with_uploads_alone_completions_are_waited_for_longer() {
    let expiry = |downloads: bool| {
        let mut s = Sender::new();
        let load = Load { believed: EACH * 2, medium: EACH, shown: EACH };
        let ack = Departure {
            load,
            previous: None,
            due: true,
            unanswerable: false,
            for_data: true,
            station: None,
            leaves: None,
        };
        for _ in 0..200 {
            let [slow, fast] = [0, 1].map(|_| s.in_flight.push(s.now, ack, None).0);
            if downloads {
                s.asks(C, 5);
            }
            s.in_flight.complete(s.now, fast, None);
            s.now += Span::from_millis(500);
            s.in_flight.complete(s.now, slow, None);
        }
        let [_, fast] = [0, 1].map(|_| s.in_flight.push(s.now, ack, None).0);
        s.in_flight.complete(s.now, fast, None);
        s.in_flight.given_up_at().expect("overtaken").saturating_since(s.now)
    };
    assert!(expiry(false) > Span::from_millis(500) && expiry(false) <= PATIENT_OF_UPLOADS, "{}", expiry(false));
    assert!(expiry(true) <= PATIENT.1, "{}", expiry(true));
}

#[test]
fn without_acknowledgments_time_clears_the_oldest() {
    let mut s = Sender::new();
    [0, 1, 0].iter().for_each(|&flow| _ = s.silent(A, flow));
    assert_eq!(packets(s.in_flight.serve(EACH * 5 / 2)), 2);
    assert_eq!(s.in_flight.count(), 1);
    s.asks(A, 0);
    assert_eq!(packets(s.in_flight.serve(EACH)), 0, "an acknowledgment is due");
}

#[test]
fn memory_is_bounded() {
    let mut s = Sender::new();
    let sent = 3 * MOST;
    // Each one is a train of its own.
    let lost: u64 = (0..sent).map(|k| packets(s.push(k % 2, k % 2, k % 3 == 0).1)).sum();
    assert_eq!(s.in_flight.count(), MOST as u64);
    assert_eq!(s.in_flight.medium(), EACH * MOST as u64);
    assert_eq!(lost, (sent - MOST) as u64);
    assert!(s.in_flight.releases.len() <= MOST && s.in_flight.trains.len() <= MOST + 1);
    let last = s.last[A].expect("it was just released");
    s.complete(A, last);
    assert!(s.in_flight.trains.len() <= MOST);
}

#[test]
fn each_release_is_in_flight_or_has_left_exactly_once() {
    let random = |rng: &mut Rng, below: usize| usize::try_from(rng.below(below as u64)).expect("small");
    for seed in 1..=20 {
        let mut rng = Streams::new(seed).stream("in flight");
        let mut s = Sender::new();
        let (mut sent, mut left, mut due) = (0, 0, Vec::new());
        for _ in 0..5_000 {
            s.now += Span::from_micros(random(&mut rng, 1_000) as u64);
            match random(&mut rng, 8) {
                0..4 => {
                    let (station, flow, asks) = (random(&mut rng, 3), random(&mut rng, 2), random(&mut rng, 2) == 0);
                    let (number, lost) = s.push(station, station * 2 + flow, asks);
                    due.extend(asks.then_some((station, number)));
                    (sent, left) = (sent + 1, left + packets(lost));
                }
                4..7 if !due.is_empty() => {
                    let (station, number) = due.swap_remove(random(&mut rng, due.len()));
                    left += s.left(station, number).iter().sum::<u64>();
                }
                _ => left += packets(s.in_flight.expire(s.now)),
            }
            assert_eq!(sent, left + s.in_flight.count());
            assert_eq!(s.in_flight.medium(), EACH * s.in_flight.count());
            let open = s.in_flight.trains.iter().fold(Span::ZERO, |open, train| open + train.open);
            assert_eq!(open, s.in_flight.medium());
        }
        left += packets(s.in_flight.complete_all(s.in_flight.next() - 1));
        assert_eq!((sent, s.in_flight.count(), s.in_flight.due(), s.in_flight.passed()), (left, 0, 0, 0));
        assert!(s.in_flight.releases.is_empty() && s.in_flight.trains.len() <= 1);
    }
}

/// If releases are followed by flow alone, those without an acknowledgment due leave by the order of releases.
#[test]
fn without_stations_releases_without_acknowledgments_leave_by_order() {
    let mut in_flight = InFlight::new(7);
    let mut last = [None; 3];
    let mut push = |in_flight: &mut InFlight, flow: usize, due: bool| {
        let load = Load { believed: EACH * 2, medium: EACH, shown: EACH };
        let departure = Departure {
            load,
            previous: last[flow],
            due,
            unanswerable: false,
            for_data: false,
            station: None,
            leaves: None,
        };
        let (number, _) = in_flight.push(at(0), departure, None);
        last[flow] = Some(number);
        number
    };
    let n = [(0, true), (1, false), (0, false), (1, false), (2, true), (1, false)]
        .map(|(flow, due)| push(&mut in_flight, flow, due));
    let left = |in_flight: &mut InFlight, number| {
        let Completed { own, others, .. } = in_flight.complete(at(1), number, None);
        [packets(own), packets(others)]
    };
    assert_eq!(left(&mut in_flight, n[4]), [1, 3], "the third flow's own, and three without any");
    assert_eq!((in_flight.count(), in_flight.due()), (2, 1), "neither its train nor its station ends anything");
    let next = push(&mut in_flight, 0, true);
    assert_eq!(left(&mut in_flight, next), [2, 1], "its chain goes on behind what order has cleared");
    assert_eq!(in_flight.count(), 0);
}

#[test]
fn releases_before_the_insertion_are_waited_for_as_long_as_completions_took() {
    let mut s = Sender::new();
    // For three seconds completions take half a second.
    for ms in 0..3_000 {
        s.now = at(ms);
        let number = s.asks(C, 5);
        if let Some(older) = number.checked_sub(500).filter(|&older| older >= 7) {
            s.complete(C, older);
        }
    }
    s.asks(A, 0);
    let last = s.asks(C, 5);
    s.in_flight.begin();
    s.asks(B, 1);
    s.complete(C, last);
    let given_up = |s: &mut Sender, ms: u64| packets(s.in_flight.expire(at(3_000 + ms)));
    assert_eq!((given_up(&mut s, 450), s.in_flight.passed()), (0, 1));
    assert_eq!((given_up(&mut s, 560), s.in_flight.count()), (1, 1));
    // Later releases are waited for as usual.
    let last = s.asks(C, 5);
    s.complete(C, last);
    assert_eq!(given_up(&mut s, 400), 1);
}

#[test]
fn a_flood_carried_by_the_bridge_is_cleared_and_acknowledged_releases_are_not() {
    let mut s = Sender::new();
    for _ in 0..3 {
        s.asks(A, 0);
    }
    let each = Load { believed: EACH * 2, medium: EACH, shown: EACH };
    let flood = Departure {
        load: each,
        previous: None,
        due: false,
        unanswerable: true,
        for_data: false,
        station: None,
        leaves: None,
    };
    let most = STANDS.as_nanos() / EACH.as_nanos();
    for _ in 0..4 * most {
        s.in_flight.push(s.now, flood, None);
    }
    let dropped = s.in_flight.begin();
    assert_eq!((packets(dropped), s.in_flight.count(), s.in_flight.due()), (3 * most + 3, most, 3));
    assert_eq!(s.in_flight.medium(), STANDS);
}
