//! Frames to groups, which an access point sends at its lowest rate and without back-pressure. Up to a share of a contention domain's
//! medium they pass at once, all senders together; beyond it they wait, and are dropped from the tail.
//!
//! There are two shares: one for IP multicast, one for broadcast and everything else. Where stations report their memberships (IGMP, MLD),
//! groups without members use the second. Memberships end after the time that the protocols give them, but only while a querier has them
//! repeated.
//!
//! What is not here: control packets to groups, which have a budget (`control_budget`).

use alloc::collections::{BTreeMap, VecDeque};
use core::net::IpAddr;

use evenair_packet::{MacAddr, Membership, PacketMeta};
use evenair_units::{Bytes, Instant, Span};
use minicbor::{Decode, Encode};

use super::control_budget::Bucket;
use crate::config::error::ConfigError;

/// Parts of a contention domain's medium that frames to groups may take, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct GroupShare {
    /// IP multicast.
    #[n(0)]
    pub multicast_permille: u32,
    /// Broadcast, multicast of other protocols, and groups without members.
    #[n(1)]
    pub other_permille: u32,
}

impl Default for GroupShare {
    fn default() -> Self {
        Self { multicast_permille: 600, other_permille: 100 }
    }
}

/// Statistics of frames to groups in a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupReport {
    /// Frames that wait.
    pub waiting: u64,
    /// Frames dropped since the domain was configured.
    pub dropped: u64,
    /// Group and sender of most of the recent drops.
    pub most_dropped: Option<(MacAddr, MacAddr)>,
}

/// Depth of a share's bucket, in time at the share's rate: a burst as of a video's key frame.
const BURST: Span = Span::from_millis(100);
/// Airtime of the waiting frames of one share, at most.
const MOST_WAITING: Span = Span::from_millis(50);
/// Waiting frames of one share, at most.
const MOST_FRAMES: usize = 512;
/// Lifetime of a membership after a report (RFC 3376, 8.4; RFC 3810, 9.4: 260 s).
const MEMBERSHIP: Span = Span::from_secs(260);
/// Least time between two events about drops.
const REPORT_INTERVAL: Span = Span::from_secs(60);
/// Groups in the table of memberships, at most.
const MOST_GROUPS: usize = 4096;

/// The share that a frame uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    Multicast,
    Other,
}

/// A frame to a group.
#[derive(Clone, Debug)]
pub(crate) struct ToGroup<P> {
    pub(crate) packet: P,
    pub(crate) group: MacAddr,
    pub(crate) sender: MacAddr,
    pub(crate) ip_len: Bytes,
    /// Airtime of its broadcast.
    pub(crate) airtime: Span,
    /// Whether its VLAN belongs to one domain, which alone sends it.
    pub(crate) is_of_domain: bool,
}

#[derive(Clone, Debug)]
struct Class<P> {
    bucket: Bucket,
    waiting: VecDeque<ToGroup<P>>,
    /// Airtime of the waiting frames.
    airtime: Span,
}

/// The frames to groups of one contention domain.
#[derive(Clone, Debug)]
pub(crate) struct Groups<P> {
    classes: [Class<P>; 2],
    dropped: u64,
    /// Group and sender of the majority of drops (majority vote), and its lead in votes.
    most_dropped: Option<(MacAddr, MacAddr)>,
    votes: u32,
    /// When an event last reported drops.
    reported: Option<Instant>,
}

impl<P> Default for Groups<P> {
    fn default() -> Self {
        let class = || Class { bucket: Bucket::default(), waiting: VecDeque::new(), airtime: Span::ZERO };
        Self { classes: [class(), class()], dropped: 0, most_dropped: None, votes: 0, reported: None }
    }
}

impl GroupShare {
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        let is_part =
            |permille| if (1..=1_000).contains(&permille) { Ok(()) } else { Err(ConfigError::GroupPart(permille)) };
        is_part(self.multicast_permille)?;
        is_part(self.other_permille)
    }

    const fn permille(self, share: Share) -> u64 {
        match share {
            Share::Multicast => self.multicast_permille as u64,
            Share::Other => self.other_permille as u64,
        }
    }

    /// What this airtime takes of a share's bucket: the time in which the share is granted that much.
    fn cost(self, share: Share, airtime: Span) -> Span {
        airtime.mul_div(1_000, self.permille(share).max(1))
    }
}

const SHARES: [Share; 2] = [Share::Multicast, Share::Other];

impl<P> Groups<P> {
    /// Admits a frame: returns it if it passes at once (`Ok`) or is to be dropped (`Err`); else it waits.
    pub(crate) fn admit(
        &mut self,
        now: Instant,
        shares: GroupShare,
        share: Share,
        frame: ToGroup<P>,
    ) -> Option<Result<ToGroup<P>, ToGroup<P>>> {
        let class = &mut self.classes[share as usize];
        let cost = shares.cost(share, frame.airtime);
        if class.waiting.is_empty() && class.bucket.has_room(now, cost, BURST) {
            class.bucket.fill(now, cost);
            return Some(Ok(frame));
        }
        let is_full = class.waiting.len() >= MOST_FRAMES || class.airtime + frame.airtime > MOST_WAITING;
        if is_full && !class.waiting.is_empty() {
            self.note_dropped((frame.group, frame.sender));
            return Some(Err(frame));
        }
        class.airtime += frame.airtime;
        class.waiting.push_back(frame);
        None
    }

    /// The next frame that its share lets go.
    pub(crate) fn pop(&mut self, now: Instant, shares: GroupShare) -> Option<ToGroup<P>> {
        SHARES.into_iter().find_map(|share| {
            let class = &mut self.classes[share as usize];
            let cost = shares.cost(share, class.waiting.front()?.airtime);
            if !class.bucket.has_room(now, cost, BURST) {
                return None;
            }
            class.bucket.fill(now, cost);
            class.pop()
        })
    }

    /// The next frame, regardless of the shares.
    pub(crate) fn pop_any(&mut self) -> Option<ToGroup<P>> {
        self.classes.iter_mut().find_map(Class::pop)
    }

    /// When the next waiting frame may go.
    pub(crate) fn due(&self, shares: GroupShare) -> Option<Instant> {
        let due = |share: Share| {
            let class = &self.classes[share as usize];
            let cost = shares.cost(share, class.waiting.front()?.airtime);
            // An empty bucket takes anything.
            Some(class.bucket.room_at(cost.min(BURST), BURST))
        };
        SHARES.into_iter().filter_map(due).min()
    }

    /// Charges airtime that this domain spent on group frames of other domains, which none of its shares has paid.
    pub(crate) fn note_elsewhere(&mut self, now: Instant, shares: GroupShare, airtime: Span) {
        let cost = shares.cost(Share::Multicast, airtime);
        self.classes[Share::Multicast as usize].bucket.fill(now, cost);
    }

    /// Whether a drop is reported by an event: at most once a minute.
    pub(crate) fn is_to_be_reported(&mut self, now: Instant) -> bool {
        let is_due = self.reported.is_none_or(|reported| now.saturating_since(reported) >= REPORT_INTERVAL);
        if is_due {
            self.reported = Some(now);
        }
        is_due
    }

    /// Frames that wait.
    pub(crate) fn len(&self) -> usize {
        self.classes.iter().map(|class| class.waiting.len()).sum()
    }

    pub(crate) fn report(&self) -> GroupReport {
        GroupReport { waiting: self.len() as u64, dropped: self.dropped, most_dropped: self.most_dropped }
    }

    /// Ends an interval: halves the votes of earlier drops.
    pub(crate) const fn age(&mut self) {
        self.votes /= 2;
    }

    fn note_dropped(&mut self, of: (MacAddr, MacAddr)) {
        self.dropped += 1;
        match self.most_dropped {
            Some(most) if most == of => self.votes = self.votes.saturating_add(1),
            Some(_) if self.votes > 0 => self.votes -= 1,
            _ => (self.most_dropped, self.votes) = (Some(of), 1),
        }
    }
}

impl<P> Class<P> {
    fn pop(&mut self) -> Option<ToGroup<P>> {
        let frame = self.waiting.pop_front()?;
        self.airtime = self.airtime.saturating_sub(frame.airtime);
        Some(frame)
    }
}

/// Groups with members among the stations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memberships {
    /// Last report of each group.
    groups: BTreeMap<IpAddr, Instant>,
    /// Whether any station has reported a membership.
    are_reported: bool,
    /// The last query, which makes all members report again.
    queried: Option<Instant>,
}

impl Memberships {
    /// Notes a message from a station (`from_station`) or from the wire.
    pub(crate) fn note(&mut self, now: Instant, message: &Membership, from_station: bool) {
        match message {
            Membership::Query => self.queried = Some(now),
            Membership::Report { joined, left } if from_station => {
                self.are_reported |= !joined.is_empty();
                for &group in joined {
                    if self.groups.len() < MOST_GROUPS || self.groups.contains_key(&group) {
                        self.groups.insert(group, now);
                    }
                }
                // Other members may remain; a querier asks them.
                if self.queried.is_none() {
                    left.iter().for_each(|group| _ = self.groups.remove(group));
                }
            }
            Membership::Report { .. } => {}
        }
    }

    /// The share that a frame takes from.
    pub(crate) fn share(&self, meta: &PacketMeta) -> Share {
        let group = meta.ip.as_ref().map(|ip| ip.dst).filter(IpAddr::is_multicast);
        match group {
            Some(group) if !self.are_reported || self.groups.contains_key(&group) => Share::Multicast,
            _ => Share::Other,
        }
    }

    /// Forgets memberships that were not reported again in time.
    pub(crate) fn expire(&mut self, now: Instant) {
        let asked = self.queried.is_some_and(|queried| now.saturating_since(queried) < MEMBERSHIP);
        if asked {
            self.groups.retain(|_, reported| now.saturating_since(*reported) < MEMBERSHIP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const SHARES: GroupShare = GroupShare { multicast_permille: 600, other_permille: 100 };

    fn frame(number: u32, sender: u8) -> ToGroup<u32> {
        ToGroup {
            packet: number,
            group: MacAddr::BROADCAST,
            sender: MacAddr([2, 0, 0, 0, 0, sender]),
            ip_len: Bytes(1_428),
            airtime: Span::from_millis(2),
            is_of_domain: false,
        }
    }

    /// Frames sent, in order, of ten seconds of a flood of 600 frames a second.
    fn sent(share: Share) -> (Vec<u32>, Groups<u32>) {
        let (mut groups, mut sent) = (Groups::default(), Vec::new());
        for number in 0..6_000 {
            let now = Instant::ZERO + Span::from_nanos(u64::from(number) * 1_000_000_000 / 600);
            while let Some(frame) = groups.pop(now, SHARES) {
                sent.push(frame.packet);
            }
            if let Some(Ok(frame)) = groups.admit(now, SHARES, share, frame(number, 1)) {
                sent.push(frame.packet);
            }
            assert!(groups.len() == 0 || groups.due(SHARES).is_some_and(|due| due > now));
        }
        (sent, groups)
    }

    #[test]
    fn a_flood_takes_its_share_and_its_order_stays() {
        // 2 ms each: 300 a second are 600 permille.
        for (share, expected) in [(Share::Multicast, 3_000), (Share::Other, 500)] {
            let (sent, groups) = sent(share);
            assert!((expected..=expected * 104 / 100).contains(&sent.len()), "{share:?}: {}", sent.len());
            assert!(sent.is_sorted());
            let report = groups.report();
            assert_eq!(sent.len() as u64 + report.dropped + report.waiting, 6_000);
            assert_eq!(report.most_dropped, Some((MacAddr::BROADCAST, MacAddr([2, 0, 0, 0, 0, 1]))));
        }
    }

    #[test]
    fn waiting_frames_are_sent_at_their_deadline() {
        let mut groups = Groups::default();
        let now = Instant::ZERO;
        let mut number = 0;
        while groups.len() < 3 {
            number += 1;
            _ = groups.admit(now, SHARES, Share::Other, frame(number, 1));
        }
        let due = groups.due(SHARES).expect("something waits");
        assert!(groups.pop(due - Span::from_nanos(1), SHARES).is_none());
        assert_eq!(groups.pop(due, SHARES).map(|frame| frame.packet), Some(number - 2));
    }

    #[test]
    fn groups_without_members_use_the_other_share_once_members_report() {
        let group = |text: &str| text.parse::<IpAddr>().unwrap();
        let report = |joined: &[&str], left: &[&str]| Membership::Report {
            joined: joined.iter().map(|text| group(text)).collect(),
            left: left.iter().map(|text| group(text)).collect(),
        };
        let mut members = Memberships::default();
        let at = |seconds| Instant::ZERO + Span::from_secs(seconds);
        let names = |members: &Memberships, text| !members.are_reported || members.groups.contains_key(&group(text));
        assert!(names(&members, "239.1.1.1"), "no station reports");
        members.note(at(0), &report(&["239.1.1.1"], &[]), false);
        assert!(names(&members, "239.1.1.2"), "a host on the wire is no station");
        members.note(at(0), &report(&["239.1.1.1"], &[]), true);
        assert!(names(&members, "239.1.1.1") && !names(&members, "239.1.1.2"));
        members.expire(at(1_000));
        assert!(names(&members, "239.1.1.1"), "without a querier, reports are not repeated");
        members.note(at(1_001), &Membership::Query, false);
        members.expire(at(1_002));
        assert!(!names(&members, "239.1.1.1"));
        members.note(at(1_003), &report(&["239.1.1.1"], &[]), true);
        members.note(at(1_004), &report(&[], &["239.1.1.1"]), true);
        assert!(names(&members, "239.1.1.1"), "others may be members, too");
    }
}
