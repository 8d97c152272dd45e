//! The releases of a contention domain that are in flight: released, and not known to have left the access point.
//!
//! A completion is an acknowledgment of one flow. It shows that the release that it belongs to has left its queue in the access
//! point, and so have all earlier ones of that flow, since nothing overtakes within a flow. It shows nothing of other flows: they
//! may wait at another access point of the same channel, in a queue of their station, or in one of their own. So each release
//! points to the one before it of its flow, and a completion closes that chain.
//!
//! For other releases the order of releases decides:
//! - Releases that no acknowledgment is due to (datagrams, an ACK without timestamps, DATA whose ACK is delayed to the next one) are
//!   taken to have left when a later release of any flow is completed. Before a FIFO access point that is right, and elsewhere it
//!   is the best that is known.
//! - Where an acknowledgment is due, a release that was overtaken by a completion is waited for. In a FIFO access point it has left, and
//!   its acknowledgment is on the way, unless it was lost, or the station sleeps or has left. The wait is learned from how late
//!   acknowledgments of overtaken releases usually are: mean and deviation, as with TCP's retransmission timer (Jacobson, "Congestion
//!   avoidance and control", SIGCOMM 1988). After that the release is given up, and until its flow completes something again, the flow's
//!   further releases count as ones without acknowledgments.
//!
//! - Where a station acknowledges late ([`super::lateness`]), a release to it has left once it was overtaken, or after the medium time of
//!   all in flight up to it. Others do not wait for it, and its lateness does not count for others.
//!
//! Packets that the bridge carried before the insertion wait in the access point, or in queues of stations before their acknowledgments,
//! for as long as completions took then. Where each station has such a queue of seconds, each release is overtaken at once; giving it up
//! soon would build up a queue of seconds in the access point. So it is waited for as long as completions took.
//!
//! The cost per release is constant: each is closed, overtaken and removed once.

mod delay;

use alloc::collections::{BTreeMap, VecDeque};
use core::ops::{Add, AddAssign};

use evenair_units::{Instant, Span};

use crate::ids::StationId;
use delay::Delay;

/// Wait for an overtaken release: at first, at least and at most.
const PATIENCE: Span = Span::from_millis(10);
const PATIENT: (Span, Span) = (Span::from_millis(5), Span::from_millis(100));
/// Longest wait where only uploads are acknowledged, and time since the last other release until that is so. DATA that a station sends for
/// an ACK wait in its own queue, behind earlier DATA, and in any order relative to other stations'.
const PATIENT_OF_UPLOADS: Span = Span::from_secs(1);
const UPLOADS_ALONE: Span = Span::from_secs(1);
/// Most medium time of datagrams in the access point at the insertion, where no completion has shown how long they wait.
const STANDS: Span = Span::from_millis(200);
/// Completions over which mean and deviation of the lateness are taken, as exponential means.
const MEAN_OF: u64 = 32;
/// Releases kept, at most; the controller has far fewer in flight while completions come.
const MOST: usize = 4096;
/// Time since its last completion within which a station's own completions show what it has received.
const ANSWERS: Span = Span::from_secs(1);
/// Medium time of consecutive releases to one station that form one train, at most.
const TRAIN: Span = Span::from_millis(4);

/// The releases in flight of a contention domain; see the module.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    /// Number of the oldest kept release, or of the next one if none is kept.
    first: u64,
    releases: VecDeque<Release>,
    /// Trains of the kept releases, oldest first, and the number of the oldest one.
    trains: VecDeque<Train>,
    first_train: u64,
    /// Of open releases: medium time; the part to no station (groups and unknown receivers); count; those with an acknowledgment due.
    medium: Span,
    to_groups: Span,
    count: u64,
    due: u64,
    /// Number of open releases that were overtaken.
    passed: u64,
    /// All before this number are completed, closed or overtaken.
    overtaken: u64,
    /// Releases to stations that acknowledge late, and when the medium will have served them.
    leaving: VecDeque<(u64, Instant)>,
    /// Lateness of completions of overtaken releases: mean and mean deviation.
    lateness: (Span, Span),
    /// The last release that elicits an acknowledgment and no DATA, and whether that was long ago.
    downloaded: Option<Instant>,
    uploads_alone: bool,
    delay: Delay,
    /// Releases before this number went while the box held nothing; once overtaken, they are waited for at least this long.
    carried: (u64, Span),
}

/// Time that releases take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Airtime by the model.
    pub(crate) believed: Span,
    /// Medium time, by the measured costs of their stations.
    pub(crate) medium: Span,
    /// Medium time as shown in reports.
    pub(crate) shown: Span,
}

/// Releases that have left flight by a completion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    /// Releases to the same station.
    pub(crate) own: Load,
    /// Releases to others, by the order of releases.
    pub(crate) others: Load,
    /// The train of the completed release, and the number of packets to its station that have left.
    pub(crate) train: u64,
    pub(crate) packets: u32,
    /// When that train began, and its medium time that was in flight before.
    pub(crate) train_began: Instant,
    pub(crate) train_open: Span,
}

impl Add for Load {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Load {
    fn add_assign(&mut self, other: Self) {
        self.believed += other.believed;
        self.medium += other.medium;
        self.shown += other.shown;
    }
}

/// The order of releases to one station in a contention domain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order {
    /// The number of its last release, and the number below which it is decided which releases have left.
    last: Option<u64>,
    settled: u64,
    completed: Option<Instant>,
}

/// Consecutive releases to one station.
#[derive(Clone, Copy, Debug)]
struct Train {
    station: Option<StationId>,
    /// When its first release went.
    began: Instant,
    /// Medium time of all its releases, and of the open ones.
    medium: Span,
    open: Span,
    /// Releases kept, and open ones with an acknowledgment due.
    kept: u32,
    due: u32,
}

#[derive(Clone, Copy, Debug)]
struct Release {
    load: Load,
    /// When it was overtaken.
    overtaken: Option<Instant>,
    /// Distance to the previous release of its flow, and of its station; zero: none.
    back: u32,
    back_of_station: u32,
    train: u64,
    state: State,
    /// Whether its station acknowledges late.
    is_late: bool,
    unanswerable: bool,
}

/// A release to be added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) load: Load,
    /// The number of the previous release of its flow.
    pub(crate) previous: Option<u64>,
    /// Whether an acknowledgment is due.
    pub(crate) due: bool,
    /// Whether its protocol's acknowledgments are not recognised.
    pub(crate) unanswerable: bool,
    /// Whether its station sends DATA in response.
    pub(crate) for_data: bool,
    pub(crate) station: Option<StationId>,
    /// When the medium will have served it, if its station acknowledges late.
    pub(crate) leaves: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In flight; `due`: an acknowledgment is due; `own`: completions of its own station show when it has left.
    Open { due: bool, own: bool },
    /// Counts as gone, although its flow has completed nothing since.
    Cleared,
    /// Completed, with all earlier ones of its flow.
    Completed,
}

impl InFlight {
    /// Nothing in flight; the next release has this number.
    pub(crate) const fn new(next: u64) -> Self {
        Self {
            first: next,
            releases: VecDeque::new(),
            trains: VecDeque::new(),
            first_train: 0,
            medium: Span::ZERO,
            to_groups: Span::ZERO,
            count: 0,
            due: 0,
            passed: 0,
            overtaken: next,
            leaving: VecDeque::new(),
            lateness: (PATIENCE, Span::ZERO),
            downloaded: None,
            uploads_alone: false,
            delay: Delay::new(),
            carried: (next, Span::ZERO),
        }
    }

    /// Medium time of all releases in flight.
    pub(crate) const fn medium(&self) -> Span {
        self.medium
    }

    /// The part of `medium` to groups and unknown receivers.
    pub(crate) const fn to_groups(&self) -> Span {
        self.to_groups
    }

    /// Number of releases in flight.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Number of overtaken ones, which have left if the access point has one queue for all.
    pub(crate) const fn passed(&self) -> u64 {
        self.passed
    }

    /// Number of those with an acknowledgment due.
    pub(crate) const fn due(&self) -> u64 {
        self.due
    }

    /// The number of the next release.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.releases.len() as u64
    }

    /// The last release of each station with an acknowledgment due.
    pub(crate) fn awaited(&self) -> BTreeMap<StationId, u64> {
        let awaited = |(release, number): (&Release, u64)| {
            let is_due = matches!(release.state, State::Open { due: true, .. });
            let train = usize::try_from(release.train - self.first_train).ok()?;
            Some((self.trains[train].station.filter(|_| is_due)?, number))
        };
        self.releases.iter().zip(self.first..).filter_map(awaited).collect()
    }

    /// Adds a release. Returns its number, and the load of releases dropped because there are too many.
    pub(crate) fn push(&mut self, now: Instant, departure: Departure, order: Option<&mut Order>) -> (u64, Load) {
        let mut cleared = Load::default();
        if self.releases.len() == MOST {
            cleared += self.close(0, State::Cleared);
            self.drop_closed();
        }
        let Departure { load, previous, due, unanswerable, for_data, station, leaves } = departure;
        let number = self.next();
        let ago = |before: Option<u64>| before.and_then(|before| u32::try_from(number.checked_sub(before)?).ok());
        let (mut own, mut back_of_station) = (false, 0);
        if let Some(order) = order {
            own = order.completed.is_some_and(|at| now.saturating_since(at) < ANSWERS);
            back_of_station = ago(order.last.replace(number)).unwrap_or(0);
        }
        self.delay.note_release(now, number);
        if due && !for_data {
            self.downloaded = Some(now);
        }
        self.uploads_alone = self.downloaded.is_none_or(|at| now.saturating_since(at) > UPLOADS_ALONE);
        let train = self.board(now, load.medium, due, station);
        let (back, state) = (ago(previous).unwrap_or(0), State::Open { due, own });
        self.releases.push_back(Release {
            load,
            overtaken: None,
            back,
            back_of_station,
            train,
            state,
            is_late: leaves.is_some(),
            unanswerable,
        });
        self.leaving.extend(leaves.map(|at| (number, at)));
        self.medium += load.medium;
        if station.is_none() {
            self.to_groups += load.medium;
        }
        self.count += 1;
        self.due += u64::from(due);
        (number, cleared)
    }

    /// Appends a release to the newest train, or begins another one. Returns the number of its train.
    fn board(&mut self, now: Instant, medium: Span, due: bool, station: Option<StationId>) -> u64 {
        let joins =
            self.trains.back().is_some_and(|train| train.kept > 0 && train.station == station && train.medium < TRAIN);
        if !joins {
            self.trains.push_back(Train { station, began: now, medium: Span::ZERO, open: Span::ZERO, kept: 0, due: 0 });
        }
        let train = self.trains.back_mut().expect("it was just made");
        train.medium += medium;
        train.open += medium;
        train.kept += 1;
        train.due += u32::from(due);
        self.first_train + self.trains.len() as u64 - 1
    }

    /// Whether a completion has overtaken this release, or it is no longer kept.
    pub(crate) fn was_overtaken(&self, number: u64) -> bool {
        self.index(number).is_none_or(|at| number < self.overtaken && self.releases[at].state != State::Completed)
    }

    /// Completes a release; `order`: of its station, where releases are followed by station, too.
    pub(crate) fn complete(&mut self, now: Instant, number: u64, order: Option<&mut Order>) -> Completed {
        self.learn_lateness(now, number);
        self.delay.note_completion(now, number);
        self.complete_late(now, number, order)
    }

    /// Completes a release to a station that acknowledges late, without learning from its lateness.
    pub(crate) fn complete_late(&mut self, now: Instant, number: u64, order: Option<&mut Order>) -> Completed {
        let mut own = Load::default();
        let mut chain = self.index(number);
        let (train, count) = (chain.map_or(0, |at| self.releases[at].train), self.count);
        let place = usize::try_from(train.saturating_sub(self.first_train)).ok();
        let (train_began, train_open) = place
            .and_then(|at| self.trains.get(at))
            .map_or((Instant::ZERO, Span::ZERO), |train| (train.began, train.open));
        while let Some(at) = chain
            && self.releases[at].state != State::Completed
        {
            own += self.close(at, State::Completed);
            chain = at.checked_sub(self.releases[at].back as usize).filter(|&before| before != at);
        }
        if let Some(order) = order {
            own += self.settle(now, number, order);
            own += self.end_train(number, train);
        }
        let packets = u32::try_from(count - self.count).unwrap_or(u32::MAX);
        let others = self.overtake(now, number);
        self.drop_closed();
        Completed { own, others, train, packets, train_began, train_open }
    }

    /// Once no acknowledgment is due for a train, clears the rest of it: it came with the last completed release, since the acknowledgment
    /// of an odd packet is delayed.
    fn end_train(&mut self, number: u64, train: u64) -> Load {
        let mut cleared = Load::default();
        let Some(at) = self.index(number) else { return cleared };
        let place = usize::try_from(train.saturating_sub(self.first_train)).ok();
        if place.and_then(|place| self.trains.get(place)).is_none_or(|train| train.due > 0) {
            return cleared;
        }
        let mut next = at + 1;
        while self.releases.get(next).is_some_and(|release| release.train == train) {
            cleared += self.close(next, State::Cleared);
            next += 1;
        }
        cleared
    }

    /// Clears earlier releases to a station without an acknowledgment due.
    fn settle(&mut self, now: Instant, number: u64, order: &mut Order) -> Load {
        let mut cleared = Load::default();
        order.completed = Some(now);
        // Numbers of another domain, from which it has roamed, mean nothing here.
        let settled = Some(order.settled).filter(|&settled| settled <= self.next()).unwrap_or(0);
        order.settled = settled.max(number + 1);
        let mut chain = self.index(number);
        while let Some(at) = chain
            && self.first + at as u64 >= settled
        {
            if matches!(self.releases[at].state, State::Open { due: false, .. }) {
                cleared += self.close(at, State::Cleared);
            }
            let back = self.releases[at].back_of_station as usize;
            chain = at.checked_sub(back).filter(|&before| before != at);
        }
        cleared
    }

    /// Completes all releases up to this one, of any flow.
    pub(crate) fn complete_all(&mut self, number: u64) -> Load {
        let mut cleared = Load::default();
        let until = self.index(number).map_or(0, |at| at + 1);
        (0..until).for_each(|at| cleared += self.close(at, State::Completed));
        self.overtaken = self.overtaken.max(number + 1);
        self.drop_closed();
        cleared
    }

    /// Gives up releases that were overtaken too long ago.
    pub(crate) fn expire(&mut self, now: Instant) -> Load {
        let mut cleared = Load::default();
        while let Some(&(number, at)) = self.leaving.front()
            && now > at
        {
            self.leaving.pop_front();
            cleared += self.index(number).map_or(Load::default(), |at| self.close(at, State::Cleared));
        }
        self.drop_closed();
        while self.given_up_at().is_some_and(|at| now > at) {
            cleared += self.close(0, State::Cleared);
            self.drop_closed();
        }
        cleared
    }

    /// When the next release is given up.
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        let leaves = self.leaving.front().map(|&(_, at)| at);
        self.given_up_at().into_iter().chain(leaves).min()
    }

    /// When the oldest release is given up, if it was overtaken.
    fn given_up_at(&self) -> Option<Instant> {
        let overtaken = self.releases.front()?.overtaken?;
        let (until, stood) = self.carried;
        let least = if self.first < until { stood } else { Span::ZERO };
        Some(overtaken.saturating_add(self.patience().max(least)))
    }

    /// Mean time that recent completions took.
    pub(crate) const fn stood(&self) -> Span {
        self.delay.mean()
    }

    /// The box begins to decide what is released. Clears datagrams that cannot be in flight: of a flood the bridge has carried more than
    /// any access point holds, and the access point has dropped the rest.
    pub(crate) fn begin(&mut self) -> Load {
        let stood = self.stood();
        self.carried = (self.next(), stood);
        let mut cleared = Load::default();
        for at in 0..self.releases.len() {
            if self.medium > stood.max(STANDS) && self.releases[at].unanswerable {
                cleared += self.close(at, State::Cleared);
            }
        }
        self.drop_closed();
        cleared
    }

    /// Clears what the medium serves in this time, if no acknowledgment is due.
    pub(crate) fn serve(&mut self, served: Span) -> Load {
        let mut cleared = Load::default();
        while let Some(oldest) = self.releases.front()
            && self.due == 0
            && cleared.medium + oldest.load.medium <= served
        {
            cleared += self.close(0, State::Cleared);
            self.drop_closed();
        }
        cleared
    }

    /// Whether a release was given up, or cleared by the order of releases.
    pub(crate) fn is_given_up(&self, number: u64) -> bool {
        match self.index(number) {
            Some(at) => self.releases[at].state == State::Cleared,
            None => number < self.first,
        }
    }

    fn index(&self, number: u64) -> Option<usize> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (at < self.releases.len()).then_some(at)
    }

    /// Takes a release out of flight, and returns its load if it was in flight.
    fn close(&mut self, at: usize, state: State) -> Load {
        let release = &mut self.releases[at];
        let State::Open { due, .. } = core::mem::replace(&mut release.state, state) else { return Load::default() };
        self.medium -= release.load.medium;
        self.count -= 1;
        self.due -= u64::from(due);
        self.passed -= u64::from(release.overtaken.is_some());
        let train = usize::try_from(release.train - self.first_train).expect("trains are kept as long as releases");
        if self.trains[train].station.is_none() {
            self.to_groups -= release.load.medium;
        }
        self.trains[train].open -= release.load.medium;
        self.trains[train].due -= u32::from(due);
        release.load
    }

    /// Marks all open releases before this completed one as overtaken.
    fn overtake(&mut self, now: Instant, number: u64) -> Load {
        let mut cleared = Load::default();
        for other in self.overtaken..number {
            let Some(at) = self.index(other) else { continue };
            match self.releases[at].state {
                State::Open { due, own } if (due || own) && !self.releases[at].is_late => {
                    self.releases[at].overtaken = Some(now);
                    self.passed += 1;
                }
                State::Open { .. } => cleared += self.close(at, State::Cleared),
                State::Cleared | State::Completed => {}
            }
        }
        self.overtaken = self.overtaken.max(number + 1);
        cleared
    }

    fn drop_closed(&mut self) {
        while let Some(oldest) = self.releases.front()
            && !matches!(oldest.state, State::Open { .. })
        {
            let train = &mut self.trains[usize::try_from(oldest.train - self.first_train).expect("its train is kept")];
            train.kept -= 1;
            self.releases.pop_front();
            self.first += 1;
        }
        while self.trains.len() > 1 && self.trains.front().is_some_and(|train| train.kept == 0) {
            self.trains.pop_front();
            self.first_train += 1;
        }
    }

    /// How long an overtaken release is waited for.
    fn patience(&self) -> Span {
        (self.lateness.0 + self.lateness.1 * 4).max(PATIENT.0).min(self.most_patient())
    }

    const fn most_patient(&self) -> Span {
        if self.uploads_alone { PATIENT_OF_UPLOADS } else { PATIENT.1 }
    }

    fn learn_lateness(&mut self, now: Instant, number: u64) {
        let late = match self.index(number).map(|at| self.releases[at]) {
            Some(Release { state: State::Completed, .. }) => return,
            Some(release) => release.overtaken.map_or(Span::ZERO, |overtaken| now.saturating_since(overtaken)),
            // The release was given up too soon.
            None => self.patience() * 2,
        };
        let (mean, deviation) = self.lateness;
        let off = late.max(mean) - late.min(mean);
        let average = |old: Span, new: Span| (old * (MEAN_OF - 1) + new) / MEAN_OF;
        let most = self.most_patient();
        self.lateness = (average(mean, late.min(most)), average(deviation, off.min(most)));
    }
}

#[cfg(test)]
mod tests;
