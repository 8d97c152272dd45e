//! The releases of a contention domain that are in flight: released, and not known to have left the access point.
//!
//! A completion is an acknowledgment of one flow. It shows that the release that it belongs to has left its queue in the access
//! point, and so have all earlier ones of that flow, since nothing overtakes within a flow. It shows nothing of other flows: they
//! may wait at another access point of the same channel, in a queue of their station, or in one of their own. So each release
//! points to the one before it of its flow, and a completion closes that chain.
//!
//! What does not follow from a chain follows from the order of releases:
//! - Releases that no acknowledgment is due to (datagrams, an ACK without timestamps, DATA whose ACK is delayed to the next one) are
//!   taken to have left when a later release of any flow is completed. Before a FIFO access point that is right, and elsewhere it
//!   is the best that is known.
//! - Where an acknowledgment is due, a release that was overtaken by a completion is waited for. In a FIFO access point it has left,
//!   and its acknowledgment is on the way, unless it was lost, or the station sleeps or has left. For how long is learned from
//!   how late acknowledgments of overtaken releases usually are: mean and deviation, as with TCP's retransmission timer (Jacobson,
//!   "Congestion avoidance and control", SIGCOMM 1988). After that the release is given up, and until its flow completes
//!   something again, the flow's further releases count as ones without acknowledgments.
//!
//! The cost is constant for each release: each is closed, overtaken and removed once.

use alloc::collections::VecDeque;

use evenair_units::{Instant, Span};

/// A release that is overtaken is waited for at first, at least and at most so long.
const PATIENCE: Span = Span::from_millis(10);
const PATIENT: (Span, Span) = (Span::from_millis(5), Span::from_millis(100));
/// How late completions are is a mean over so many.
const MEAN_OF: u64 = 32;
/// The most releases that are kept; the controller has far fewer in flight while completions come.
const MOST: usize = 4096;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    /// The number of the oldest below, or the next one.
    first: u64,
    releases: VecDeque<Release>,
    /// Of those that are open.
    airtime: Span,
    count: u64,
    due: u64,
    /// Of those that are open and were overtaken.
    passed: u64,
    /// All before this one are completed, closed or overtaken.
    overtaken: u64,
    /// How late completions are that were overtaken: mean and mean deviation.
    lateness: (Span, Span),
}

#[derive(Clone, Copy, Debug)]
struct Release {
    airtime: Span,
    /// When it was overtaken.
    overtaken: Option<Instant>,
    /// How many releases ago the one before it of its flow was; zero: none.
    back: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In flight; `due`: an acknowledgment is due to it.
    Open { due: bool },
    /// It counts as gone, though its flow has completed nothing since.
    Cleared,
    /// It is complete, and so are all before it of its flow.
    Completed,
}

impl InFlight {
    /// The next release has this number.
    pub(crate) const fn new(next: u64) -> Self {
        Self {
            first: next,
            releases: VecDeque::new(),
            airtime: Span::ZERO,
            count: 0,
            due: 0,
            passed: 0,
            overtaken: next,
            lateness: (PATIENCE, Span::ZERO),
        }
    }

    /// The airtime of all releases in flight.
    pub(crate) const fn airtime(&self) -> Span {
        self.airtime
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// How many of them were overtaken, so that they have left if the access point has one queue for all.
    pub(crate) const fn passed(&self) -> u64 {
        self.passed
    }

    /// To how many of them an acknowledgment is due.
    pub(crate) const fn due(&self) -> u64 {
        self.due
    }

    /// The number of the next release.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.releases.len() as u64
    }

    /// An acknowledgment is due, and the oldest release in flight is from before this one.
    pub(crate) const fn has_from_before(&self, number: u64) -> bool {
        self.due > 0 && self.first < number
    }

    /// A release. `previous`: the number of the one before it of its flow; `due`: an acknowledgment is due to it. Its number, and
    /// the airtime of what is no longer kept, since there are too many.
    pub(crate) fn push(&mut self, airtime: Span, previous: Option<u64>, due: bool) -> (u64, Span) {
        let mut cleared = Span::ZERO;
        if self.releases.len() == MOST {
            cleared = self.close(0, State::Cleared);
            self.drop_closed();
        }
        let number = self.next();
        let back = previous.and_then(|previous| u32::try_from(number.checked_sub(previous)?).ok()).unwrap_or(0);
        self.releases.push_back(Release { airtime, overtaken: None, back, state: State::Open { due } });
        self.airtime += airtime;
        self.count += 1;
        self.due += u64::from(due);
        (number, cleared)
    }

    /// This release is complete. The airtime of all that left flight by that.
    pub(crate) fn complete(&mut self, now: Instant, number: u64) -> Span {
        self.learn_lateness(now, number);
        let mut cleared = Span::ZERO;
        let mut chain = self.index(number);
        while let Some(at) = chain
            && self.releases[at].state != State::Completed
        {
            cleared += self.close(at, State::Completed);
            chain = at.checked_sub(self.releases[at].back as usize).filter(|&before| before != at);
        }
        cleared += self.overtake(now, number);
        self.drop_closed();
        cleared
    }

    /// All releases up to this one have left, of whichever flow. Their airtime.
    pub(crate) fn complete_all(&mut self, number: u64) -> Span {
        let mut cleared = Span::ZERO;
        let until = self.index(number).map_or(0, |at| at + 1);
        (0..until).for_each(|at| cleared += self.close(at, State::Completed));
        self.overtaken = self.overtaken.max(number + 1);
        self.drop_closed();
        cleared
    }

    /// Gives up those that were overtaken too long ago. Their airtime.
    pub(crate) fn expire(&mut self, now: Instant) -> Span {
        let mut cleared = Span::ZERO;
        while let Some(Release { overtaken: Some(overtaken), .. }) = self.releases.front().copied()
            && now.saturating_since(overtaken) > self.patience()
        {
            cleared += self.close(0, State::Cleared);
            self.drop_closed();
        }
        cleared
    }

    /// When the next one is given up.
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        let overtaken = self.releases.front()?.overtaken?;
        Some(overtaken.saturating_add(self.patience()))
    }

    /// Time has passed in which this much airtime was served, and no acknowledgment is due to anything: what is served by that is
    /// gone. The airtime of that.
    pub(crate) fn serve(&mut self, served: Span) -> Span {
        let mut cleared = Span::ZERO;
        while let Some(oldest) = self.releases.front()
            && self.due == 0
            && cleared + oldest.airtime <= served
        {
            cleared += self.close(0, State::Cleared);
            self.drop_closed();
        }
        cleared
    }

    /// It was given up, or cleared by the order of releases.
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

    /// Takes one out of flight. Its airtime if it was in flight.
    fn close(&mut self, at: usize, state: State) -> Span {
        let release = &mut self.releases[at];
        let State::Open { due } = core::mem::replace(&mut release.state, state) else { return Span::ZERO };
        self.airtime -= release.airtime;
        self.count -= 1;
        self.due -= u64::from(due);
        self.passed -= u64::from(release.overtaken.is_some());
        release.airtime
    }

    /// A completion of this one has overtaken all before it that are in flight.
    fn overtake(&mut self, now: Instant, number: u64) -> Span {
        let mut cleared = Span::ZERO;
        for other in self.overtaken..number {
            let Some(at) = self.index(other) else { continue };
            match self.releases[at].state {
                State::Open { due: true } => {
                    self.releases[at].overtaken = Some(now);
                    self.passed += 1;
                }
                State::Open { due: false } => cleared += self.close(at, State::Cleared),
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
            self.releases.pop_front();
            self.first += 1;
        }
    }

    /// How long one that was overtaken is waited for.
    fn patience(&self) -> Span {
        (self.lateness.0 + self.lateness.1 * 4).max(PATIENT.0).min(PATIENT.1)
    }

    fn learn_lateness(&mut self, now: Instant, number: u64) {
        let late = match self.index(number).map(|at| self.releases[at]) {
            Some(Release { state: State::Completed, .. }) => return,
            Some(release) => release.overtaken.map_or(Span::ZERO, |overtaken| now.saturating_since(overtaken)),
            // It was given up too soon.
            None => self.patience() * 2,
        };
        let (mean, deviation) = self.lateness;
        let off = late.max(mean) - late.min(mean);
        let average = |old: Span, new: Span| (old * (MEAN_OF - 1) + new) / MEAN_OF;
        self.lateness = (average(mean, late.min(PATIENT.1)), average(deviation, off.min(PATIENT.1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const EACH: Span = Span::from_millis(1);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// Releases in turn of these flows, with what is due to them.
    fn released(of: &[(usize, bool)]) -> (InFlight, Vec<u64>) {
        let mut in_flight = InFlight::new(7);
        let mut last = [None; 4];
        let push = |&(flow, due): &(usize, bool)| {
            let (number, _) = in_flight.push(EACH, last[flow], due);
            last[flow] = Some(number);
            number
        };
        let numbers = of.iter().map(push).collect();
        (in_flight, numbers)
    }

    #[test]
    fn a_completion_closes_its_own_flow_alone() {
        let (mut in_flight, n) = released(&[(0, true), (1, true), (0, true), (1, true), (0, true)]);
        assert_eq!((in_flight.airtime(), in_flight.count(), in_flight.due()), (EACH * 5, 5, 5));
        assert_eq!(in_flight.complete(at(1), n[2]), EACH * 2);
        assert_eq!(in_flight.complete(at(1), n[0]), Span::ZERO, "an old one is nothing new");
        assert_eq!(in_flight.complete(at(2), n[3]), EACH * 2);
        assert_eq!(in_flight.complete(at(3), n[4]), EACH);
        assert_eq!((in_flight.airtime(), in_flight.count(), in_flight.due()), (Span::ZERO, 0, 0));
        assert_eq!(in_flight.push(EACH, Some(n[4]), true).0, n[4] + 1);
    }

    #[test]
    fn what_no_acknowledgment_is_due_to_goes_by_order() {
        let (mut in_flight, n) = released(&[(0, true), (1, false), (0, false), (1, false), (2, true), (1, false)]);
        assert_eq!(in_flight.complete(at(1), n[4]), EACH * 4, "the third flow's own and three without any");
        assert_eq!(in_flight.due(), 1);
        let (next, _) = in_flight.push(EACH, Some(n[2]), true);
        assert_eq!(in_flight.complete(at(2), next), EACH * 3, "its chain goes on behind what order has cleared");
        assert_eq!(in_flight.count(), 0);
    }

    #[test]
    fn one_that_stays_away_is_given_up_in_time() {
        let (mut in_flight, n) = released(&[(0, true), (1, true), (0, true)]);
        in_flight.complete(at(1), n[1]);
        let expiry = in_flight.expires_at().expect("it was overtaken");
        assert_eq!(in_flight.expire(expiry), Span::ZERO);
        assert_eq!(in_flight.expire(expiry + EACH), EACH, "the third was not overtaken");
        assert!(in_flight.is_given_up(n[0]) && !in_flight.is_given_up(n[2]));
    }

    #[test]
    fn patience_follows_how_late_completions_are() {
        let expiry_after = |late: u64| {
            let (mut in_flight, _) = released(&[]);
            let mut now = at(0);
            for _ in 0..200 {
                let (slow, _) = in_flight.push(EACH, None, true);
                let (fast, _) = in_flight.push(EACH, None, true);
                in_flight.complete(now, fast);
                now += Span::from_millis(late);
                in_flight.complete(now, slow);
            }
            let (_, _) = in_flight.push(EACH, None, true);
            let (fast, _) = in_flight.push(EACH, None, true);
            in_flight.complete(now, fast);
            in_flight.expires_at().expect("overtaken").saturating_since(now)
        };
        assert!(expiry_after(0) <= Span::from_millis(6));
        assert!(expiry_after(30) > Span::from_millis(40));
    }

    #[test]
    fn without_acknowledgments_time_clears_the_oldest() {
        let (mut in_flight, _) = released(&[(0, false), (1, false), (0, false)]);
        assert_eq!(in_flight.serve(EACH * 5 / 2), EACH * 2);
        assert_eq!(in_flight.count(), 1);
        in_flight.push(EACH, None, true);
        assert_eq!(in_flight.serve(EACH), Span::ZERO, "an acknowledgment is due");
    }

    #[test]
    fn it_is_bounded() {
        let (mut in_flight, _) = released(&[]);
        (0..3 * MOST).for_each(|_| _ = in_flight.push(EACH, None, true));
        assert_eq!(in_flight.count(), MOST as u64);
        assert_eq!(in_flight.airtime(), EACH * MOST as u64);
    }
}
