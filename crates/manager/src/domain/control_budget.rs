//! The budget of control packets of a contention domain: ARP, neighbour discovery, DHCP and the like pass all queues as long as they take
//! little of the medium, from any sender. Packets beyond the budget wait for their turn, in a flow of their station.
//!
//! Three limits hold at once, each a leaky bucket in airtime: from one sender toward one station the greater of 2 % of the medium and 50
//! frames a second; from all senders toward one station 10 %; in the domain 20 %. The fuller a shared bucket, the longer a sender must
//! have been known to use it, so that a flood from ever new addresses leaves room for the router and the servers.
//!
//! A group counts as a station. All tables are bounded: a sender without an entry counts as new, a station without an entry has no budget.

use alloc::collections::BTreeMap;

use evenair_packet::MacAddr;
use evenair_units::{Instant, Span};

/// Interval of frames that one sender may always send toward one station: 50 a second.
const FRAME_INTERVAL: Span = Span::from_millis(20);
/// Limits as fractions of the medium, one part in: one sender toward one station, all senders toward one station, a domain.
const PART_OF_PAIR: u64 = 50;
const PART_OF_STATION: u64 = 10;
const PART_OF_DOMAIN: u64 = 5;
/// Depth of a bucket, in time at its rate: a quarter of a second holds the exchanges of a station that joins, and 50 ms of the domain's
/// airtime.
const BURST: Span = Span::from_millis(250);
/// Age at which a sender may fill a shared bucket to three quarters; a new one fills it to half.
const HALF_KNOWN: Span = Span::from_secs(10);
/// Idle time after which a sender is forgotten: ten minutes, longer than hosts keep neighbours without asking again.
const SENDER_IDLE: Span = Span::from_secs(600);
/// Entries of each table at most; a site has fewer senders of control packets at once.
const MOST: usize = 4096;

/// A leaky bucket, stored as the instant when it will be empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    empty_at: Instant,
}

impl Bucket {
    /// Whether the bucket, filled up to `limit`, has room for this much. An empty bucket takes any amount.
    pub(crate) fn has_room(self, now: Instant, much: Span, limit: Span) -> bool {
        let level = self.empty_at.saturating_since(now);
        level == Span::ZERO || level + much <= limit
    }

    /// Adds this much.
    pub(crate) fn fill(&mut self, now: Instant, much: Span) {
        self.empty_at = self.empty_at.max(now).saturating_add(much);
    }

    /// When the bucket will have room for this much.
    pub(crate) fn room_at(self, much: Span, limit: Span) -> Instant {
        let level = limit.saturating_sub(much);
        self.empty_at.saturating_sub(level)
    }

    fn is_empty(self, now: Instant) -> bool {
        self.empty_at <= now
    }
}

/// When a sender was first and last heard.
#[derive(Clone, Copy, Debug)]
struct Sender {
    since: Instant,
    last: Instant,
}

/// The buckets and senders of one domain; see the module.
#[derive(Debug, Default)]
pub(crate) struct ControlBudget {
    domain: Bucket,
    stations: BTreeMap<MacAddr, Bucket>,
    pairs: BTreeMap<(MacAddr, MacAddr), Bucket>,
    senders: BTreeMap<MacAddr, Sender>,
}

impl ControlBudget {
    /// Whether a packet of this airtime from `sender` to `station` is within the budget; if so, charges it.
    pub(crate) fn admit(&mut self, now: Instant, sender: MacAddr, station: MacAddr, airtime: Span) -> bool {
        let limit = self.note_sender(now, sender);
        let of_pair = cost_of_pair(airtime);
        let (of_station, of_domain) = (airtime.mul_div(PART_OF_STATION, 1), airtime.mul_div(PART_OF_DOMAIN, 1));
        let pair = self.pairs.get(&(sender, station)).copied().unwrap_or_default();
        let all = self.stations.get(&station).copied().unwrap_or_default();
        let has_room = pair.has_room(now, of_pair, BURST)
            && all.has_room(now, of_station, limit)
            && self.domain.has_room(now, of_domain, limit)
            && self.has_entries(sender, station);
        if has_room {
            self.pairs.entry((sender, station)).or_default().fill(now, of_pair);
            self.stations.entry(station).or_default().fill(now, of_station);
            self.domain.fill(now, of_domain);
        }
        has_room
    }

    /// Same as [`Self::admit`] for a packet that a station has sent already: it does not count against the budgets of others.
    pub(crate) fn admit_sent(&mut self, now: Instant, station: MacAddr, airtime: Span) -> bool {
        let of_pair = cost_of_pair(airtime);
        let pair = self.pairs.get(&(station, station)).copied().unwrap_or_default();
        let has_room = pair.has_room(now, of_pair, BURST) && self.has_entries(station, station);
        if has_room {
            self.pairs.entry((station, station)).or_default().fill(now, of_pair);
        }
        has_room
    }

    /// Forgets buckets that are empty, and senders that have been silent.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.pairs.retain(|_, bucket| !bucket.is_empty(now));
        self.stations.retain(|_, bucket| !bucket.is_empty(now));
        self.senders.retain(|_, sender| now.saturating_since(sender.last) < SENDER_IDLE);
    }

    fn has_entries(&self, sender: MacAddr, station: MacAddr) -> bool {
        let has_pair = self.pairs.len() < MOST || self.pairs.contains_key(&(sender, station));
        has_pair && (self.stations.len() < MOST || self.stations.contains_key(&station))
    }

    /// How full a shared bucket may get by this sender.
    fn note_sender(&mut self, now: Instant, mac: MacAddr) -> Span {
        let has_entry = self.senders.len() < MOST || self.senders.contains_key(&mac);
        let known = has_entry.then(|| {
            let sender = self.senders.entry(mac).or_insert(Sender { since: now, last: now });
            sender.last = now;
            now.saturating_since(sender.since)
        });
        let known = known.unwrap_or(Span::ZERO);
        let of_age = (BURST - NEW).mul_div(known.as_nanos(), (known + HALF_KNOWN).as_nanos());
        NEW + of_age
    }
}

/// How full a shared bucket may get by a new sender.
const NEW: Span = Span::from_nanos(BURST.as_nanos() / 2);

/// Charge of a packet to the bucket of its sender and station.
fn cost_of_pair(airtime: Span) -> Span {
    airtime.mul_div(PART_OF_PAIR, 1).min(FRAME_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Span = Span::from_millis(1);

    fn mac(number: u32) -> MacAddr {
        let [a, b, c, d] = number.to_be_bytes();
        MacAddr([2, 0, a, b, c, d])
    }

    /// Airtime admitted from a flood of so many frames a second, from a given second on, for twenty seconds.
    struct Flood {
        from: u64,
        rate: u64,
        airtime: Span,
    }

    const SECONDS: u64 = 20;

    impl Flood {
        /// `ends`: sender and station of each frame.
        fn run(&self, budget: &mut ControlBudget, ends: impl Fn(u64) -> (u32, u32)) -> u64 {
            let mut sum = Span::ZERO;
            for number in 0..SECONDS * self.rate {
                let since = Span::from_nanos(number * 1_000_000_000 / self.rate);
                let now = Instant::ZERO + Span::from_secs(self.from) + since;
                let (sender, station) = ends(number);
                if budget.admit(now, mac(sender), mac(station), self.airtime) {
                    sum += self.airtime;
                }
                if number.is_multiple_of(self.rate) {
                    budget.expire(now);
                }
            }
            sum.as_nanos() / (SECONDS * 1_000_000)
        }
    }

    #[test]
    fn a_sender_has_a_fiftieth_of_the_medium_toward_a_station_or_fifty_frames() {
        let mut budget = ControlBudget::default();
        let long = Flood { from: 0, rate: 1_000, airtime: MILLISECOND }.run(&mut budget, |_| (1, 2));
        assert!((48..=54).contains(&long), "{long} permille, 50 frames of 1 ms");
        let short = Flood { from: 30, rate: 4_000, airtime: MILLISECOND / 10 }.run(&mut budget, |_| (1, 3));
        assert!((19..=22).contains(&short), "{short} permille, 200 frames of 0.1 ms");
    }

    #[test]
    fn all_senders_share_a_tenth_toward_a_station_and_a_fifth_of_the_domain() {
        let mut budget = ControlBudget::default();
        let flood = |from| Flood { from, rate: 5_000, airtime: MILLISECOND };
        let station = flood(0).run(&mut budget, |number| (number as u32 % 100, 200));
        assert!((95..=105).contains(&station), "{station} permille");
        let domain = flood(30).run(&mut budget, |number| (number as u32 % 100, 200 + number as u32 % 50));
        assert!((190..=210).contains(&domain), "{domain} permille");
    }

    #[test]
    fn senders_known_for_long_keep_room_beside_a_flood_from_new_addresses() {
        let mut budget = ControlBudget::default();
        let router = |budget: &mut ControlBudget, from: u64, seconds: u64, flood: bool| {
            let (mut refused, mut made_up) = (0, 1_000_u32);
            for number in 0..seconds * 2_000 {
                let now = Instant::ZERO + Span::from_secs(from) + Span::from_nanos(number * 500_000);
                if number.is_multiple_of(50) {
                    refused +=
                        u32::from(!budget.admit(now, mac(1), mac(100 + number as u32 / 50 % 40), MILLISECOND / 5));
                }
                if flood {
                    made_up += 1;
                    budget.admit(now, mac(made_up), mac(100 + made_up % 40), MILLISECOND);
                }
                if number.is_multiple_of(200) {
                    budget.expire(now);
                }
            }
            refused
        };
        assert_eq!(router(&mut budget, 0, 30, false), 0);
        assert_eq!(router(&mut budget, 30, 30, true), 0, "40 a second from a router that is known");
        assert!(budget.senders.len() <= MOST && budget.pairs.len() <= MOST);
    }
}
