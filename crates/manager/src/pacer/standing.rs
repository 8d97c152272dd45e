//! The default controller: it estimates the backlog of the access points, in medium time, and from that decides when
//! the next packet may be released.
//!
//! The box fills the access point's queue but cannot see it. It observes completions instead: an answer from a
//! station (for TCP an ACK, see `answers`) proves that the packet has left the queue, and so have all packets
//! released before it of its flow. The airtime of all that is *in flight*, released and not known to have left, is an upper
//! bound of the backlog and needs no reported rate. The
//! next packet may be released when this bound is below the target. The medium then always has something to send, and
//! the queue stays short whatever the medium does: retries, other networks, changing rates, stations that come and
//! go. Traffic that stations send on their own needs no account here, since it delays the completions.
//!
//! The accounts are those of flows (see `in_flight`), so that it does not matter how many queues there are before the medium: one of
//! an access point, those of several on one channel, of stations, or of flows.
//!
//! The estimate is robust against:
//! - a station that answers late, sleeps or has left, an application that reads slowly, a lost packet: a release that later ones
//!   of other flows have overtaken is given up after a time;
//! - delayed ACKs: an ACK is sent for a recent packet. Packets that were delivered but are not acknowledged yet count
//!   as backlog, a few at most; if a receiver delays its ACK for longer than the target lasts, time advances the
//!   estimate (below);
//! - traffic without acknowledgments (datagrams, groups): it is taken to pass through the same queue, and the next answer
//!   covers it;
//! - stations of unknown rate: estimated airtimes matter only in proportion to each other. The real speed of the
//!   medium is measured from the progress of completions while the box always had something to send (the inverse
//!   service rate, field `slowness`).
//!
//! Beside an unresponsive sender that takes more than its share, the medium does not wait for the box: each node with
//! a packet contends with that sender, and so few packets in flight are enough. More would only wait behind the one at
//! the head. Nothing is released in advance then, and the target is reduced by half of that sender's part of the
//! medium.
//!
//! The lag of a path is no backlog, and is allowed in flight in addition ([`super::knee`]).
//!
//! Without answers, time advances the last completed release, a little more slowly than the measured speed of the
//! medium. If an answer arrives later than that and is the newest so far, it moves the estimate back. If no answer
//! has been due for long, the measured speed is forgotten. If answers are due and nothing at all is received from the
//! WLAN, the estimate advances at a small fraction of the speed, so that a dead channel is not filled and a returning
//! one is detected.
//!
//! If neither answers nor reported rates give a speed, and unacknowledged datagrams wait in the box, the controller
//! runs a trial: it doubles the speed each interval until nothing waits. The first packet after that to which an
//! answer is due ends the trial if its answer is late: the speed returns to the usual one, and no trial is made for a
//! while.
//!
//! If answers are rare beside unacknowledged traffic, most packets are released by time, and the medium is offered
//! hardly more than its assumed speed. That it carries this load says nothing about its limit. Therefore a window in
//! which answers added little never lowers the speed below what was offered, and while answers stay prompt, the speed
//! rises by steps until one is late ([`super::speed_steps`]). A station reported above the standard's highest rate is
//! also a reason to try higher speeds: up to the reported one if other traffic is received from the WLAN, and beyond
//! it if not.
//!
//! Inserted where completions took many seconds, the box adds nothing to the access point's queue while packets come that their stations
//! sent before they had what was released since, until a release has been completed. For as long as completions took at most: a
//! station may say anything.
//!
//! What is not here: which packet is released next, which packet acknowledges which release (see `answers`).
//!
//! Principle: Byte Queue Limits keep a device's hidden queue short by its completions (Linux,
//! `lib/dynamic_queue_limits.c`); the answers are the completions here. The inverse service rate is measured like
//! BBR's delivery rate (Cardwell et al., 2016).

use alloc::collections::BTreeMap;

use evenair_units::{Instant, Span};

use super::aggregating::costs::Learned;
use super::aggregating::paced::Paced;
use super::aggregating::runs::RunLimit;
use super::by_time::{BY_TIME_PERCENT, Heard, LONG_AGO, ROUNDING, Stages};
use super::in_flight::{Completed, Departure, InFlight, Load};
use super::knee::Knee;
use super::marks::{Allowance, Mark, Next, Release};
use super::probes::speed::{ProbedSpeed, Waited};
use super::speed_steps::SpeedSteps;
use crate::config::without::{Mechanism, Without};
use crate::ids::StationId;

/// Slowness is counted in parts of this.
pub(crate) const UNIT: u64 = 1 << 10;
/// Fewer packets than this may always be under way, however long they take: one is on the air, one is next.
const LEAST_UNDER_WAY: u64 = 2;
/// After this long without an answer due, the measured speed is forgotten.
const UNANSWERED: Span = Span::from_secs(1);
/// An answer that takes longer than this shows that the speed of a trial is too high.
const PROMPT: Span = Span::from_millis(50);
/// The time to the next trial then.
const TRY_AGAIN: Span = Span::from_secs(60);
/// Where completions took so long before the box began to hold packets, the old queue is left to drain. A shorter one drains while the
/// box goes on, and senders need not fall back.
const LONG_QUEUE: Span = Span::from_secs(10);
/// After a completion of what the bridge carried, more of it stands in the access point for at least so long.
const OLD_QUEUE: Span = Span::from_millis(250);
/// The fastest that is tried out, in parts of `UNIT`: 1 Mb/s where it is 512.
const FASTEST_TRIED: u64 = UNIT / 512;
/// Answers add little if at most one part in so many of the completions was not already assumed by time.
const NEWS_PART: u64 = 8;
/// Others hardly use the medium where what is heard takes no more than one part in so many of what is released.
const QUIET_PART: u64 = 8;
/// The slowness is measured over at least so long.
const WINDOW: Span = Span::from_millis(100);
/// Of how many windows the mean counts, where the medium is found slower, and where it is found faster. A window in
/// which it waited for the box makes it look slow, and then it is kept waiting for longer; nothing makes it look
/// fast.
const WINDOWS: (u64, u64) = (8, 2);
/// The mean pace is that of about so long.
const PACE_OVER: Span = Span::from_secs(2);
/// Bounds of the slowness: no medium is so much faster than assumed (1 Mb/s assumed, 54 real), or slower.
const SLOWNESS: core::ops::RangeInclusive<u64> = UNIT / 64..=UNIT * 64;

#[derive(Clone, Debug)]
pub(crate) struct Standing {
    in_flight: InFlight,
    /// The estimated airtime of all releases, and when the newest one was.
    released: Span,
    released_at: Instant,
    /// The newest release with an answer.
    answered: Option<u64>,
    /// When something was answered that was in flight.
    answered_at: Instant,
    /// The estimated airtime of all that have left, as far as answers show it; and of those that have left by time since.
    carried: Span,
    left_by_time: Span,
    /// How much of what is in flight has left by time since the last answer, in estimated airtime, and until when that is computed.
    by_time: Span,
    reckoned: Instant,
    /// When the WLAN was last heard, since when an answer has been due, and when one was due last.
    heard: Instant,
    due_since: Option<Instant>,
    due_last: Instant,
    /// Real time for each unit of estimated airtime, in `UNIT`.
    slowness: u64,
    window: Window,
    /// Duration of recent windows, and the estimated airtime of the releases acknowledged in them.
    lately: (Span, Span),
    /// How much more than the target may be in flight, and how much of that is known to be needed.
    allowance: Knee,
    trial: Trial,
    steps: SpeedSteps,
    probed: ProbedSpeed,
    /// The airtime of what came from the WLAN, and that of all releases by then, since the last look at the speed.
    heard_airtime: Span,
    looked_at: Span,
    /// The part of the medium, in thousandths, of unresponsive senders that take more than their share.
    flooded_permille: u64,
    carried_before: CarriedBefore,
    /// Mechanisms that are left out.
    without: Without,
}

/// What the bridge carried before the box began to hold packets, and what of it still stands in the access point.
#[derive(Clone, Copy, Debug)]
struct CarriedBefore {
    /// All releases before this one. `None`: a later one has been completed, so that none of these stands before it any more.
    until: Option<u64>,
    /// When one of them was completed last since then.
    completed_at: Option<Instant>,
    /// By then all of them have left, whatever stations say.
    gone_at: Instant,
}

impl CarriedBefore {
    const NOTHING: Self = Self { until: None, completed_at: None, gone_at: Instant::ZERO };

    /// Releases before this one; completions took so long.
    fn new(now: Instant, until: u64, stood: Span) -> Self {
        if stood < LONG_QUEUE {
            return Self::NOTHING;
        }
        Self { until: Some(until), completed_at: None, gone_at: now.saturating_add(stood) }
    }

    /// Notes a completion; whether it shows that some of them stood in the access point, or did until now.
    fn note_completion(&mut self, now: Instant, number: u64) -> bool {
        let Some(until) = self.until else { return false };
        let stood = self.completed_at.is_some();
        if number < until {
            self.completed_at = Some(now);
        } else {
            *self = Self::NOTHING;
        }
        stood
    }

    /// Notes something that is older than what was released since.
    fn note_older(&mut self, now: Instant) {
        if self.until.is_some() {
            self.completed_at = Some(now);
        }
    }

    /// Until when they are taken to stand before all that was released since.
    fn stands_until(&self) -> Option<Instant> {
        Some(self.completed_at?.saturating_add(OLD_QUEUE).min(self.gone_at))
    }
}

/// A speed in parts of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ratio {
    pub(crate) numerator: u64,
    pub(crate) denominator: u64,
}

impl Ratio {
    pub(crate) const ONE: Self = Self { numerator: 1, denominator: 1 };
}

/// Whether the rates of the stations in use are known, reported or configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RatesSaid {
    /// All of them.
    All,
    /// Those of some are unknown.
    NotAll,
    /// Some are reported above the standard's highest rate; the highest of these, in hundredths of it.
    Faster {
        /// 550 where 300 Mb/s are reported and 54 are the highest.
        percent: u64,
    },
}

/// A trial of a speed without reports or answers, while packets wait in the box.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The slowness before it; `None`: none is tried out.
    from: Option<u64>,
    /// The first release since then that asked for an answer, and when.
    asked: Option<(u64, Instant)>,
    /// The box had nothing to release at some time since the last look.
    starved: bool,
    not_before: Instant,
}

/// A stretch of time in which the slowness is measured.
#[derive(Clone, Copy, Debug)]
struct Window {
    began: Instant,
    /// The acknowledged airtime at its start.
    from: Span,
    /// Of the airtime acknowledged since, the part that time had not moved the frontier past before.
    news: Span,
    /// What was released in it of protocols whose answers are not known.
    unanswerable: Span,
    /// The box had nothing to release at some time, or waited for a signal.
    void: bool,
}

impl Standing {
    /// `next`: the number of the next release.
    pub(crate) const fn new(next: u64, now: Instant) -> Self {
        Self {
            in_flight: InFlight::new(next),
            released: Span::ZERO,
            released_at: now,
            answered: None,
            answered_at: now,
            carried: Span::ZERO,
            left_by_time: Span::ZERO,
            by_time: Span::ZERO,
            reckoned: now,
            heard: now,
            due_since: None,
            due_last: now,
            slowness: UNIT,
            window: Window { began: now, from: Span::ZERO, news: Span::ZERO, unanswerable: Span::ZERO, void: true },
            lately: (Span::ZERO, Span::ZERO),
            allowance: Knee::new(now),
            trial: Trial { from: None, asked: None, starved: true, not_before: Instant::ZERO },
            steps: SpeedSteps::new(),
            probed: ProbedSpeed::new(now),
            heard_airtime: Span::ZERO,
            looked_at: Span::ZERO,
            flooded_permille: 0,
            carried_before: CarriedBefore::NOTHING,
            without: Without::NOTHING,
        }
    }

    /// The same without some mechanisms.
    pub(crate) fn without(self, without: Without) -> Self {
        Self { without, ..self }
    }

    /// A packet was released.
    pub(crate) fn release(&mut self, now: Instant, release: Release, _of: Option<&mut Paced>) -> Mark {
        let Release { airtime, due, managed, previous, .. } = release;
        let mark = self.note_release(now, airtime, due, previous);
        if due {
            self.time_answer(now, managed);
        }
        mark
    }

    fn note_release(&mut self, now: Instant, airtime: Span, due: bool, previous: Option<Mark>) -> Mark {
        self.reckon(now);
        if self.in_flight.count() == 0 {
            self.answered_at = now;
        }
        let before = core::mem::replace(&mut self.released_at, now);
        self.released += airtime;
        let load = Load { believed: airtime, medium: airtime, shown: airtime };
        let departure = Departure {
            load,
            previous: previous.map(Mark::number),
            due,
            unanswerable: false,
            for_data: false,
            station: None,
            leaves: None,
        };
        let (number, lost) = self.in_flight.push(now, departure, None);
        self.left(lost.believed);
        if due {
            if self.trial.from.is_some() {
                self.trial.asked.get_or_insert((number, now));
            }
            let expected = self.outstanding().mul_div(self.slowness, UNIT);
            self.steps.note_release(now, number, expected);
            // What was never answered long ago says nothing about now.
            self.due_since = self.due_since.filter(|_| now.saturating_since(before) < LONG_AGO).or(Some(now));
        }
        Mark::new(number, due)
    }

    /// It does not wait for the answer to this release any more, and for none to other releases of its flow until it is there.
    pub(crate) fn is_given_up(&self, mark: Mark) -> bool {
        self.in_flight.is_given_up(mark.number())
    }

    /// The newest release, of this airtime by the airtime model, is of a protocol whose answers are not known.
    pub(crate) fn note_unanswerable(&mut self, airtime: Span) {
        self.window.unanswerable += airtime;
    }

    /// The box begins to hold packets. What the bridge had carried before, and nothing has completed, may have been dropped
    /// by the access point: none of it counts as in flight.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.released -= self.in_flight.medium();
        self.looked_at = self.looked_at.min(self.released);
        self.carried_before = CarriedBefore::new(now, self.in_flight.next(), self.in_flight.stood());
        self.in_flight = InFlight::new(self.in_flight.next());
        (self.by_time, self.due_since, self.window.void) = (Span::ZERO, None, true);
        self.allowance.insert(now);
    }

    /// The newest release asks for an answer, which may be timed; `managed`: packets are held.
    fn time_answer(&mut self, now: Instant, managed: bool) {
        if !managed {
            return self.allowance.note_unmanaged(now, self.in_flight.next() - 1);
        }
        // Beside a flood even a lone packet waits for the medium, and so it does behind an old queue.
        if self.flooded_permille == 0 && self.old_until().is_none() {
            self.allowance.note_release(now, self.in_flight.next() - 1, self.outstanding());
        }
    }

    /// What came was sent before its station had a release: before that, too, something stands that is older.
    pub(crate) fn note_older_packet(&mut self, now: Instant) {
        self.carried_before.note_older(now);
    }

    /// A release was acknowledged.
    pub(crate) fn answer(&mut self, now: Instant, mark: Mark, _station: StationId, _of: &mut Paced) {
        self.reckon(now);
        self.window.void |= self.carried_before.note_completion(now, mark.number());
        let Completed { own, others, .. } = self.in_flight.complete(now, mark.number(), None);
        let cleared = own.believed + others.believed;
        if cleared == Span::ZERO {
            return;
        }
        self.carried += cleared + core::mem::take(&mut self.left_by_time);
        self.window.news += cleared.saturating_sub(self.by_time);
        let newest = self.answered.map_or(mark.number(), |answered| answered.max(mark.number()));
        self.probed.note_completion(now, self.carried);
        self.allowance.note_completion(now, newest, self.carried);
        if newest == mark.number() {
            self.slowness = self.steps.note_answer(now, newest, self.slowness).min(*SLOWNESS.end());
        }
        // This is the best that is known: had more left the access point long ago, it would have been answered.
        self.by_time = Span::ZERO;
        (self.answered, self.answered_at) = (Some(newest), now);
        self.due_since = (self.in_flight.due() > 0).then_some(now);
        // It was prompt: the next one judges anew.
        self.trial.asked = self.trial.asked.filter(|(number, _)| *number > newest);
        self.measure(now);
    }

    /// Of what is in flight this much is taken to have left without an answer.
    fn left(&mut self, airtime: Span) {
        self.left_by_time += airtime;
        self.by_time = self.by_time.saturating_sub(airtime);
    }

    /// A station has answered a probe: all that was released before it has left, too.
    pub(crate) fn answer_probe(&mut self, now: Instant, mark: Mark, waited: Waited) {
        self.reckon(now);
        let cleared = self.in_flight.complete_all(mark.number()).believed;
        if cleared == Span::ZERO && self.left_by_time == Span::ZERO {
            return;
        }
        self.carried += cleared + core::mem::take(&mut self.left_by_time);
        let newest = self.answered.map_or(mark.number(), |answered| answered.max(mark.number()));
        self.allowance.note_completion(now, newest, self.carried);
        self.slowness =
            self.probed.note_probe(now, self.carried, waited, self.slowness).clamp(*SLOWNESS.start(), *SLOWNESS.end());
        self.by_time = Span::ZERO;
        (self.answered, self.answered_at) = (Some(newest), now);
        self.due_last = self.due_last.max(now);
        self.due_since = (self.in_flight.due() > 0).then_some(now);
        self.trial.asked = self.trial.asked.filter(|(number, _)| *number > newest);
        self.window.void = true;
    }

    /// Answers to probes have made the medium look faster than any queue has shown.
    pub(crate) fn is_speed_unproven(&self) -> bool {
        self.probed.is_unproven(self.slowness)
    }

    /// The box keeps all back, so that a probe finds no queue.
    pub(crate) fn pause(&mut self, now: Instant) {
        self.probed.pause(now);
    }

    /// Answers to probes are not believed any more.
    pub(crate) fn disbelieve_probes(&mut self) {
        self.slowness = self.probed.give_up(self.slowness);
    }

    /// A packet of this estimated airtime came from the WLAN.
    pub(crate) fn hear(&mut self, now: Instant, airtime: Span) {
        self.reckon(now);
        self.heard = now;
        self.heard_airtime += airtime;
    }

    /// DATA of a station is part of what completes releases here.
    pub(crate) const fn note_data(&mut self, _now: Instant, _airtime: Span, _station: StationId, _of: &Paced) {}

    /// The box has nothing to release, or keeps it back.
    pub(crate) fn starve(&mut self) {
        self.allowance.starve();
        self.probed.starve();
        self.window.void = true;
        self.trial.starved = true;
    }

    /// When the next packet may be released, if nothing is heard until then. It may when less
    /// stands than the target and as much again as it takes itself: behind a long one the answer to the one before
    /// comes late.
    pub(crate) fn ready_at(&self, allowance: Allowance, Next { own, .. }: Next) -> Instant {
        let allowance = match allowance {
            Allowance::Target(target) => Allowance::Target(target.mul_div(UNIT, self.best_slowness())),
            Allowance::Fixed(most) => Allowance::Fixed(most.mul_div(UNIT, self.slowness)),
        };
        let lag = self.allowed().max(self.probed.lag(self.reckoned).mul_div(UNIT, self.slowness));
        // Beside a flood less of the medium is ours, but a packet has to be next when the access point's turn comes.
        let most = allowance.most(lag, self.flooded_permille) + own;
        let outstanding = self.outstanding();
        // Beside a flood what was overtaken waits for its station's turn on the medium, which takes long.
        let under_way = match self.flooded_permille {
            0 => self.under_way(),
            _ => self.under_way().saturating_sub(self.in_flight.passed()),
        };
        if under_way < LEAST_UNDER_WAY || outstanding < most {
            return self.reckoned;
        }
        let from = self.old_until().unwrap_or(self.reckoned);
        let given_up = self.in_flight.expires_at().map_or(Instant::MAX, |at| at.saturating_add(ROUNDING));
        self.stages()
            .moved_by(from, (outstanding.saturating_sub(most) + ROUNDING).mul_div(self.slowness, UNIT))
            .min(given_up.max(from.saturating_add(ROUNDING)))
    }

    /// To be called from time to time: where no answer has been due for long, what was learned of the medium's speed
    /// is forgotten bit by bit, toward this one. Where it may be faster than that, as far as rates are said, a higher
    /// one is tried out as long as something waits.
    pub(crate) fn forget_speed(&mut self, now: Instant, usual: Ratio, said: RatesSaid) {
        self.reckon(now);
        let starved = core::mem::take(&mut self.trial.starved);
        let is_quiet = self.look_who_is_heard();
        if now.saturating_since(self.due_last) < UNANSWERED {
            return;
        }
        self.steps.forget();
        if !starved {
            self.allowance.forget(now);
        }
        let usual = Span::from_nanos(UNIT).mul_div(usual.denominator, usual.numerator).as_nanos();
        let in_use = now.saturating_since(self.released_at) < UNANSWERED;
        // Where stations send, uploads say, what waits here may be their ACKs, and the medium is not ours alone.
        let is_silent = now.saturating_since(self.heard) >= UNANSWERED;
        let fastest = match said {
            RatesSaid::All => None,
            RatesSaid::NotAll | RatesSaid::Faster { .. } if is_silent => Some(FASTEST_TRIED),
            RatesSaid::Faster { percent } if is_quiet => Some((usual * 100 / percent.max(100)).max(FASTEST_TRIED)),
            RatesSaid::NotAll | RatesSaid::Faster { .. } => None,
        };
        let fastest = fastest.filter(|_| in_use && !starved && now >= self.trial.not_before);
        if let Some(fastest) = fastest {
            self.trial.from.get_or_insert(usual);
            self.slowness = (self.slowness / 2).max(fastest).min(self.slowness);
        } else if !(said != RatesSaid::All && in_use && self.trial.from.is_some()) {
            self.trial.from = None;
            let mean = (self.slowness * 3 + usual) / 4;
            self.slowness = mean.clamp(*SLOWNESS.start(), *SLOWNESS.end());
        }
    }

    /// Whether what was heard since the last look took little of the medium beside what was released.
    fn look_who_is_heard(&mut self) -> bool {
        let released = self.released - core::mem::replace(&mut self.looked_at, self.released);
        core::mem::take(&mut self.heard_airtime) * QUIET_PART <= released
    }

    /// Ends a trial that an answer has been due to for too long.
    fn judge_trial(&mut self, now: Instant) {
        let is_late = self.trial.asked.is_some_and(|(_, asked)| now.saturating_since(asked) > PROMPT);
        if let Some(before) = self.trial.from.filter(|_| is_late) {
            self.slowness = before;
            self.trial = Trial { from: None, asked: None, not_before: now + TRY_AGAIN, ..self.trial };
        }
    }

    /// Those who take more than their share and cannot be held back used so much of the medium in an interval, and
    /// all others at most so much; both in believed airtime.
    pub(crate) fn note_flood(&mut self, flood: Span, others: Span) {
        let all = (flood + others).as_nanos().max(1);
        if flood > Span::ZERO {
            self.allowance.give_up();
        }
        self.flooded_permille = Span::from_nanos(1_000).mul_div(flood.as_nanos(), all).as_nanos().min(999);
    }

    /// The medium's speed, relative to the estimated airtime.
    pub(crate) fn speed(&self) -> Ratio {
        Ratio { numerator: UNIT, denominator: self.slowness }
    }

    /// The mean time that the medium really took lately, in parts of what is believed: `(numerator, denominator)`. The
    /// speed tells what may be released now, and leans to the fast side; this tells what something has taken.
    pub(crate) fn pace(&self) -> (u64, u64) {
        match self.lately {
            (took, believed) if believed > Span::ZERO => (took.as_nanos(), believed.as_nanos()),
            _ => (self.slowness, UNIT),
        }
    }

    /// An access of its own for each packet.
    pub(crate) fn run_limit(&self, _now: Instant, _full: RunLimit) -> RunLimit {
        RunLimit::SINGLE
    }

    /// The account is in believed airtime.
    pub(crate) fn own(&self, airtime: Span, _of: &Paced) -> Span {
        airtime
    }

    /// Medium time of a packet of which this airtime is believed.
    pub(crate) fn medium(&self, airtime: Span, _of: &Paced) -> Span {
        let (numerator, denominator) = self.pace();
        airtime.mul_div(numerator, denominator)
    }

    /// The same, as it is shown.
    pub(crate) fn charged(&self, airtime: Span, of: &Paced) -> Span {
        self.medium(airtime, of)
    }

    /// Accesses of others are part of it.
    pub(crate) fn undisturbed(&self, medium: Span) -> Span {
        medium
    }

    /// Stations cost what their rates say.
    pub(crate) fn ratio(&self, _of: &Paced) -> (u64, u64) {
        (1, 1)
    }

    /// Nothing is learned of stations.
    pub(crate) fn take_learned(&mut self) -> Option<(StationId, Learned)> {
        None
    }

    /// Runs are of one packet for all stations.
    pub(crate) fn note_new_station(&mut self) {}

    /// Sparse flows are recognised by believed airtime.
    pub(crate) fn sparse_pace(&self) -> (u64, u64) {
        (1, 1)
    }

    /// The access points' backlog, in the time that the medium takes for it.
    pub(crate) fn backlog(&self) -> Span {
        self.outstanding().mul_div(self.slowness, UNIT).saturating_sub(self.lag())
    }

    /// What has to be in flight beyond the target since the path delays, as far as that is known, in medium time.
    pub(crate) fn lag(&self) -> Span {
        let proven = if self.without.has(Mechanism::Lag) { Span::ZERO } else { self.allowance.proven() };
        proven.mul_div(self.slowness, UNIT).max(self.probed.lag(self.reckoned))
    }

    /// So much more than the target may be in flight since the path delays, in believed airtime.
    fn allowed(&self) -> Span {
        if self.without.has(Mechanism::Lag) { Span::ZERO } else { self.allowance.get() }
    }

    /// Probes show how far the queue has come, and not the traffic.
    pub(crate) fn uses_probes(&self) -> bool {
        self.probed.is_in_use()
    }

    /// The slowness to convert the target by. A window in which too little was in flight makes the medium look slow; were the limit
    /// computed from that, it would shrink further.
    fn best_slowness(&self) -> u64 {
        match self.allowance.best() {
            0 => self.slowness,
            best => self.slowness.min((UNIT * 1_000_000_000 / best).max(1)),
        }
    }

    /// Until when what the bridge carried is taken to stand in the access point, before all that was released since, so that nothing
    /// of that leaves by time; `None`: it does not now.
    fn old_until(&self) -> Option<Instant> {
        self.carried_before.stands_until().filter(|&until| self.reckoned < until)
    }

    fn outstanding(&self) -> Span {
        self.in_flight.medium().saturating_sub(self.by_time)
    }

    /// Packets in flight.
    pub(crate) fn under_way(&self) -> u64 {
        if self.by_time < self.in_flight.medium() { self.in_flight.count() } else { 0 }
    }

    /// The number of the next release.
    pub(crate) fn next_release(&self) -> u64 {
        self.in_flight.next()
    }

    /// The last release of each station that an acknowledgment is due to.
    pub(crate) fn awaited(&self) -> BTreeMap<StationId, u64> {
        self.in_flight.awaited()
    }

    /// Advances the estimate to now.
    pub(crate) fn reckon(&mut self, now: Instant) {
        let until = self.carried_before.stands_until().unwrap_or(self.reckoned);
        let from = until.clamp(self.reckoned, now.max(self.reckoned));
        if now < until {
            self.allowance.wait(now);
        } else {
            self.allowance.expire(now);
        }
        if self.in_flight.due() > 0 {
            self.due_last = self.due_last.max(now);
        }
        self.judge_trial(now);
        if now > from && self.in_flight.count() > 0 {
            // Without a signal it is the box that the medium waits for.
            let stages = self.stages();
            self.window.void |= stages.is_lost(now);
            self.by_time =
                (self.by_time + stages.progress(from, now).mul_div(UNIT, self.slowness)).min(self.in_flight.medium());
            // Between probes it stays in the account, since the next answer may show that less has left.
            let mut left = Load::default();
            if !self.probed.is_in_use() {
                left += self.in_flight.serve(self.by_time);
            }
            left += self.in_flight.expire(now);
            self.left(left.believed);
        }
        self.reckoned = self.reckoned.max(now);
    }

    /// At which part of the medium's speed time moves the estimate.
    fn stages(&self) -> Stages {
        Stages::of(Heard {
            is_probed: self.probed.is_in_use(),
            answered_at: self.answered_at,
            heard: self.heard,
            due_since: self.due_since,
            is_due: self.in_flight.due() > 0,
            is_patient: self.without.has(Mechanism::Age),
            lag: self.allowed().mul_div(self.slowness, UNIT).max(self.probed.lag(self.reckoned)),
        })
    }

    /// An answer has come: ends a window that is long enough.
    fn measure(&mut self, now: Instant) {
        let Window { began, from, news, unanswerable, void } = self.window;
        let took = now.saturating_since(began);
        if !void && took < WINDOW {
            return;
        }
        let progress = self.carried.saturating_sub(from);
        if !void && progress > Span::ZERO {
            self.note_pace(took, progress);
            // Where most of it could have been answered, answers that are late or lost are the reason.
            let by_time = news * NEWS_PART < progress && unanswerable * 2 >= progress;
            self.learn(now, took.mul_div(UNIT, progress.as_nanos()).as_nanos(), by_time);
        }
        self.steps.begin();
        self.window =
            Window { began: now, from: self.carried, news: Span::ZERO, unanswerable: Span::ZERO, void: false };
    }

    /// A window has shown this slowness; `by_time`: it was time that let packets go in it, rather than answers.
    fn learn(&mut self, now: Instant, sample: u64, by_time: bool) {
        let sample = sample.clamp(self.slowness / 2, self.slowness * 2);
        // No more than this was offered.
        let slower = if by_time { sample * BY_TIME_PERCENT / 100 } else { sample };
        let mean = |sample: u64, windows: u64| (self.slowness * (windows - 1) + sample) / windows;
        let next = if slower > self.slowness {
            mean(slower, WINDOWS.0)
        } else if sample < self.slowness {
            mean(sample, WINDOWS.1)
        } else {
            self.slowness
        };
        let next = if by_time && self.flooded_permille == 0 {
            self.steps.step(now, next)
        } else {
            self.steps.close();
            next
        };
        self.slowness = next.clamp(*SLOWNESS.start(), *SLOWNESS.end());
    }

    fn note_pace(&mut self, took: Span, progress: Span) {
        if self.lately.0 >= PACE_OVER {
            self.lately = (self.lately.0 / 2, self.lately.1 / 2);
        }
        self.lately = (self.lately.0 + took, self.lately.1 + progress);
    }
}

#[cfg(test)]
mod tests;
