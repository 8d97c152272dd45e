//! The default controller: it estimates the backlog of the access points, in medium time, and from that decides when
//! the next packet may be released.
//!
//! The box fills the access point's queue but cannot see it. It observes completions instead: an acknowledgment from a station (for TCP an
//! ACK, see `answers`) proves that the packet has left the queue, and so have all earlier packets of its flow. The airtime of all that is
//! *in flight*, released and not known to have left, is an upper bound of the backlog and needs no reported rate. The next packet may be
//! released when this bound is below the target. The medium then always has something to send, and the queue stays short whatever the
//! medium does: retries, other networks, changing rates, stations that come and go. Traffic that stations send on their own needs no
//! account here, since it delays the completions.
//! Completions count by flow (see `in_flight`), so that the number of queues before the medium does not matter: one of an access point,
//! those of several on one channel, of stations, or of flows.
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
//! If the box is inserted where completions took many seconds, it releases nothing while packets come that their stations sent before
//! receiving any later release, until such a release is completed. This lasts no longer than completions took before, since a station may
//! send anything.
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

/// Fixed-point unit of slowness.
pub(crate) const UNIT: u64 = 1 << 10;
/// Packets always allowed in flight, however long they take: one is on the air, one is next.
const LEAST_UNDER_WAY: u64 = 2;
/// Time without an acknowledgment due after which the measured speed is forgotten.
const UNANSWERED: Span = Span::from_secs(1);
/// Latest acknowledgment during a trial: a later one shows that the tried speed is too high.
const PROMPT: Span = Span::from_millis(50);
/// Time from a failed trial to the next.
const TRY_AGAIN: Span = Span::from_secs(60);
/// Time that completions took before the insertion from which on the old queue is left to drain. A shorter queue drains while the box goes
/// on, and senders need not reduce their windows.
const LONG_QUEUE: Span = Span::from_secs(10);
/// Time after a completion of a release of the bridge for which more of them are taken to be in the access point.
const OLD_QUEUE: Span = Span::from_millis(250);
/// Fastest speed of a trial, as slowness: 512 times the speed of the airtime model (512 Mb/s where that has 1 Mb/s).
const FASTEST_TRIED: u64 = UNIT / 512;
/// Completions add little if at most 1/`NEWS_PART` of the released airtime was not already taken to have left by time.
const NEWS_PART: u64 = 8;
/// Stations hardly use the medium if the airtime received from them is at most 1/`QUIET_PART` of the airtime released.
const QUIET_PART: u64 = 8;
/// Shortest window over which the slowness is measured.
const WINDOW: Span = Span::from_millis(100);
/// Windows over which the slowness is averaged, where the medium is found slower, and where it is found faster. A window in which the
/// medium waited for the box makes it look slow, which would keep it waiting for longer; nothing makes it look fast.
const WINDOWS: (u64, u64) = (8, 2);
/// Memory of the mean service rate.
const PACE_OVER: Span = Span::from_secs(2);
/// Bounds of the slowness: from 64 times as fast as the airtime model (1 Mb/s assumed, 54 real) to 64 times as slow.
const SLOWNESS: core::ops::RangeInclusive<u64> = UNIT / 64..=UNIT * 64;

#[derive(Clone, Debug)]
pub(crate) struct Standing {
    in_flight: InFlight,
    /// Airtime of all releases by the model, and instant of the newest one.
    released: Span,
    released_at: Instant,
    /// The newest acknowledged release.
    answered: Option<u64>,
    /// When something in flight was last acknowledged.
    answered_at: Instant,
    /// Airtime of all that have left, by completions; and of those that have left by time since the last one.
    carried: Span,
    left_by_time: Span,
    /// Airtime in flight that has left by time since the last completion, and the instant up to which this is computed.
    by_time: Span,
    reckoned: Instant,
    /// When the WLAN was last heard; since when an acknowledgment has been due; when one was last due.
    heard: Instant,
    due_since: Option<Instant>,
    due_last: Instant,
    /// Inverse service rate: medium time for each unit of airtime by the model, in `UNIT`.
    slowness: u64,
    window: Window,
    /// Duration of recent windows, and the estimated airtime of the releases acknowledged in them.
    lately: (Span, Span),
    /// Finds how much more than the target may be in flight, and how much of that is needed.
    allowance: Knee,
    trial: Trial,
    steps: SpeedSteps,
    probed: ProbedSpeed,
    /// Airtime received from the WLAN since the last tick, and `released` at that tick.
    heard_airtime: Span,
    looked_at: Span,
    /// Part of the medium, in thousandths, that unresponsive senders over their share use.
    flooded_permille: u64,
    carried_before: CarriedBefore,
    /// Mechanisms that are left out.
    without: Without,
}

/// Releases of the bridge from before the insertion that may still be in the access point.
#[derive(Clone, Copy, Debug)]
struct CarriedBefore {
    /// All releases before this one. `None`: a later one has been completed, so that none of these is in front of it any more.
    until: Option<u64>,
    /// The last completion of one of them since the insertion.
    completed_at: Option<Instant>,
    /// When all of them have left, whatever stations send.
    gone_at: Instant,
}

impl CarriedBefore {
    const NOTHING: Self = Self { until: None, completed_at: None, gone_at: Instant::ZERO };

    /// All releases before `until`; `stood`: the time that completions took.
    fn new(now: Instant, until: u64, stood: Span) -> Self {
        if stood < LONG_QUEUE {
            return Self::NOTHING;
        }
        Self { until: Some(until), completed_at: None, gone_at: now.saturating_add(stood) }
    }

    /// Notes a completion. Returns whether some of them were known to be in the access point until now.
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

    /// Notes a packet from a station that is older than any later release.
    fn note_older(&mut self, now: Instant) {
        if self.until.is_some() {
            self.completed_at = Some(now);
        }
    }

    /// Until when they are taken to be in the access point, before all later releases.
    fn stands_until(&self) -> Option<Instant> {
        Some(self.completed_at?.saturating_add(OLD_QUEUE).min(self.gone_at))
    }
}

/// A ratio of two speeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ratio {
    pub(crate) numerator: u64,
    pub(crate) denominator: u64,
}

impl Ratio {
    pub(crate) const ONE: Self = Self { numerator: 1, denominator: 1 };
}

/// Whether the rates of the stations in use are known, by reports or configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RatesSaid {
    /// All are known.
    All,
    /// Some are unknown.
    NotAll,
    /// Some are reported above the standard's highest rate; the highest of these, in hundredths of that rate.
    Faster {
        /// 550 where 300 Mb/s are reported and 54 are the highest.
        percent: u64,
    },
}

/// A trial of a higher speed, without reports or acknowledgments, while packets wait in the box.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The slowness before it; `None`: no trial is running.
    from: Option<u64>,
    /// The first release since its start with an acknowledgment due, and when it went.
    asked: Option<(u64, Instant)>,
    /// Whether the box had nothing to release at some time since the last tick.
    starved: bool,
    not_before: Instant,
}

/// An interval in which the slowness is measured.
#[derive(Clone, Copy, Debug)]
struct Window {
    began: Instant,
    /// Airtime that had left at its start.
    from: Span,
    /// Airtime completed since, without the part that had already left by time.
    news: Span,
    /// Airtime released in it in protocols whose acknowledgments are not recognised.
    unanswerable: Span,
    /// Whether the box had nothing to release at some time, or waited for a completion.
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

    /// Notes a release.
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
            // An acknowledgment that has been due for very long says nothing about now.
            self.due_since = self.due_since.filter(|_| now.saturating_since(before) < LONG_AGO).or(Some(now));
        }
        Mark::new(number, due)
    }

    /// Whether this release was given up; other releases of its flow are then not waited for until it completes.
    pub(crate) fn is_given_up(&self, mark: Mark) -> bool {
        self.in_flight.is_given_up(mark.number())
    }

    /// Notes that the newest release, of this airtime by the model, is of a protocol whose acknowledgments are not recognised.
    pub(crate) fn note_unanswerable(&mut self, airtime: Span) {
        self.window.unanswerable += airtime;
    }

    /// The box begins to hold packets. Releases of the bridge that are not completed may have been dropped by the access point: none of
    /// them counts as in flight.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.released -= self.in_flight.medium();
        self.looked_at = self.looked_at.min(self.released);
        self.carried_before = CarriedBefore::new(now, self.in_flight.next(), self.in_flight.stood());
        self.in_flight = InFlight::new(self.in_flight.next());
        (self.by_time, self.due_since, self.window.void) = (Span::ZERO, None, true);
        self.allowance.insert(now);
    }

    /// Notes that the newest release elicits an acknowledgment, which may be timed; `managed`: packets are held.
    fn time_answer(&mut self, now: Instant, managed: bool) {
        if !managed {
            return self.allowance.note_unmanaged(now, self.in_flight.next() - 1);
        }
        // Beside a flood, or behind an old queue, even a lone packet waits for the medium.
        if self.flooded_permille == 0 && self.old_until().is_none() {
            self.allowance.note_release(now, self.in_flight.next() - 1, self.outstanding());
        }
    }

    /// A packet from a station was sent before the station had any later release: an older queue is still before those.
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
        // This is the best evidence: had more left the access point long ago, it would have been acknowledged.
        self.by_time = Span::ZERO;
        (self.answered, self.answered_at) = (Some(newest), now);
        self.due_since = (self.in_flight.due() > 0).then_some(now);
        // It was prompt: the next one is judged anew.
        self.trial.asked = self.trial.asked.filter(|(number, _)| *number > newest);
        self.measure(now);
    }

    /// Notes that this much of what is in flight has left without a completion.
    fn left(&mut self, airtime: Span) {
        self.left_by_time += airtime;
        self.by_time = self.by_time.saturating_sub(airtime);
    }

    /// A station has replied to a probe: all earlier releases have left, too.
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

    /// Whether replies to probes have raised the speed above what any queue has confirmed.
    pub(crate) fn is_speed_unproven(&self) -> bool {
        self.probed.is_unproven(self.slowness)
    }

    /// The box releases nothing, so that a probe finds no queue.
    pub(crate) fn pause(&mut self, now: Instant) {
        self.probed.pause(now);
    }

    /// Replies to probes are no longer trusted.
    pub(crate) fn disbelieve_probes(&mut self) {
        self.slowness = self.probed.give_up(self.slowness);
    }

    /// A packet of this estimated airtime came from the WLAN.
    pub(crate) fn hear(&mut self, now: Instant, airtime: Span) {
        self.reckon(now);
        self.heard = now;
        self.heard_airtime += airtime;
    }

    /// DATA of a station delay completions here, and need no account.
    pub(crate) const fn note_data(&mut self, _now: Instant, _airtime: Span, _station: StationId, _of: &Paced) {}

    /// The box has nothing to release, or releases nothing on purpose.
    pub(crate) fn starve(&mut self) {
        self.allowance.starve();
        self.probed.starve();
        self.window.void = true;
        self.trial.starved = true;
    }

    /// When the next packet may be released, if nothing is received until then: when less is in flight than the target and the packet's
    /// own airtime, since behind a long packet the acknowledgment of the one before comes late.
    pub(crate) fn ready_at(&self, allowance: Allowance, Next { own, .. }: Next) -> Instant {
        let allowance = match allowance {
            Allowance::Target(target) => Allowance::Target(target.mul_div(UNIT, self.best_slowness())),
            Allowance::Fixed(most) => Allowance::Fixed(most.mul_div(UNIT, self.slowness)),
        };
        let lag = self.allowed().max(self.probed.lag(self.reckoned).mul_div(UNIT, self.slowness));
        // Beside a flood less of the medium is ours, but a packet has to be next when the access point's turn comes.
        let most = allowance.most(lag, self.flooded_permille) + own;
        let outstanding = self.outstanding();
        // Beside a flood, overtaken releases wait long for their station's turn on the medium.
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

    /// Periodically: if no acknowledgment has been due for long, moves the measured speed toward the usual one. If known rates allow a
    /// higher speed, and packets wait, tries one instead.
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
        // Where stations send, for instance uploads, the waiting packets may be their ACKs, and the box does not have the medium for
        // itself.
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

    /// Whether airtime received since the last tick was little relative to airtime released.
    fn look_who_is_heard(&mut self) -> bool {
        let released = self.released - core::mem::replace(&mut self.looked_at, self.released);
        core::mem::take(&mut self.heard_airtime) * QUIET_PART <= released
    }

    /// Ends a trial whose acknowledgment has been due for too long.
    fn judge_trial(&mut self, now: Instant) {
        let is_late = self.trial.asked.is_some_and(|(_, asked)| now.saturating_since(asked) > PROMPT);
        if let Some(before) = self.trial.from.filter(|_| is_late) {
            self.slowness = before;
            self.trial = Trial { from: None, asked: None, not_before: now + TRY_AGAIN, ..self.trial };
        }
    }

    /// Notes the airtime that unresponsive senders over their share used in an interval, and the most that all others used; both by the
    /// airtime model.
    pub(crate) fn note_flood(&mut self, flood: Span, others: Span) {
        let all = (flood + others).as_nanos().max(1);
        if flood > Span::ZERO {
            self.allowance.give_up();
        }
        self.flooded_permille = Span::from_nanos(1_000).mul_div(flood.as_nanos(), all).as_nanos().min(999);
    }

    /// The medium's speed, relative to the airtime model.
    pub(crate) fn speed(&self) -> Ratio {
        Ratio { numerator: UNIT, denominator: self.slowness }
    }

    /// Recent mean of medium time relative to airtime by the model: `(numerator, denominator)`. The speed, which limits releases, is
    /// biased to the fast side; this is what releases have really taken.
    pub(crate) fn pace(&self) -> (u64, u64) {
        match self.lately {
            (took, believed) if believed > Span::ZERO => (took.as_nanos(), believed.as_nanos()),
            _ => (self.slowness, UNIT),
        }
    }

    /// A pair, of the medium time of two mean packets: a slow station's first packet ends it.
    pub(crate) fn run_limit(&self, _now: Instant, full: RunLimit) -> RunLimit {
        let pair = full.pair_of_data();
        match self.medium_of(self.allowance.packet()) * 2 {
            Span::ZERO => pair,
            time => RunLimit { time: time.min(pair.time), ..pair },
        }
    }

    /// The account is in airtime by the model.
    pub(crate) fn own(&self, airtime: Span, _of: &Paced) -> Span {
        airtime
    }

    /// Medium time of a packet of this airtime.
    pub(crate) fn medium(&self, airtime: Span, _of: &Paced) -> Span {
        self.medium_of(airtime)
    }

    fn medium_of(&self, airtime: Span) -> Span {
        let (numerator, denominator) = self.pace();
        airtime.mul_div(numerator, denominator)
    }

    /// The same, as shown in reports.
    pub(crate) fn charged(&self, airtime: Span, of: &Paced) -> Span {
        self.medium(airtime, of)
    }

    /// Accesses of others are included.
    pub(crate) fn undisturbed(&self, medium: Span) -> Span {
        medium
    }

    /// All stations cost what their rates say.
    pub(crate) fn ratio(&self, _of: &Paced) -> (u64, u64) {
        (1, 1)
    }

    /// Nothing is learned of single stations.
    pub(crate) fn take_learned(&mut self) -> Option<(StationId, Learned)> {
        None
    }

    /// Runs do not depend on what stations have shown.
    pub(crate) fn note_new_station(&mut self) {}

    /// Sparse flows are judged by airtime of the model.
    pub(crate) fn sparse_pace(&self) -> (u64, u64) {
        (1, 1)
    }

    /// The access points' backlog, as medium time.
    pub(crate) fn backlog(&self) -> Span {
        self.outstanding().mul_div(self.slowness, UNIT).saturating_sub(self.lag())
    }

    /// The lag: medium time that has to be in flight beyond the target, as far as it is known.
    pub(crate) fn lag(&self) -> Span {
        let proven = if self.without.has(Mechanism::Lag) { Span::ZERO } else { self.allowance.proven() };
        proven.mul_div(self.slowness, UNIT).max(self.probed.lag(self.reckoned))
    }

    /// So much more than the target may be in flight since the path delays, in believed airtime.
    fn allowed(&self) -> Span {
        if self.without.has(Mechanism::Lag) { Span::ZERO } else { self.allowance.get() }
    }

    /// Whether probes, and not the traffic, show completions.
    pub(crate) fn uses_probes(&self) -> bool {
        self.probed.is_in_use()
    }

    /// The slowness by which the target is converted. A window with too little in flight makes the medium look slow; a limit computed from
    /// that would shrink further.
    fn best_slowness(&self) -> u64 {
        match self.allowance.best() {
            0 => self.slowness,
            best => self.slowness.min((UNIT * 1_000_000_000 / best).max(1)),
        }
    }

    /// Until when releases of the bridge are taken to be in the access point, before all later releases, so that none of the latter leaves
    /// by time; `None`: not now.
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

    /// The last release of each station with an acknowledgment due.
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
            // If nothing is received, it is the box that the medium waits for.
            let stages = self.stages();
            self.window.void |= stages.is_lost(now);
            self.by_time =
                (self.by_time + stages.progress(from, now).mul_div(UNIT, self.slowness)).min(self.in_flight.medium());
            // Between probes it stays in the account, since the next reply may show that less has left.
            let mut left = Load::default();
            if !self.probed.is_in_use() {
                left += self.in_flight.serve(self.by_time);
            }
            left += self.in_flight.expire(now);
            self.left(left.believed);
        }
        self.reckoned = self.reckoned.max(now);
    }

    /// The parts of the medium's speed by which time moves the estimate.
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

    /// After a completion: ends a window that is long enough.
    fn measure(&mut self, now: Instant) {
        let Window { began, from, news, unanswerable, void } = self.window;
        let took = now.saturating_since(began);
        if !void && took < WINDOW {
            return;
        }
        let progress = self.carried.saturating_sub(from);
        if !void && progress > Span::ZERO {
            self.note_pace(took, progress);
            // If most of it could have been acknowledged, late or lost acknowledgments are the reason.
            let by_time = news * NEWS_PART < progress && unanswerable * 2 >= progress;
            self.learn(now, took.mul_div(UNIT, progress.as_nanos()).as_nanos(), by_time);
        }
        self.steps.begin();
        self.window =
            Window { began: now, from: self.carried, news: Span::ZERO, unanswerable: Span::ZERO, void: false };
    }

    /// Learns the slowness of a window; `by_time`: time let packets go in it, rather than completions.
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
