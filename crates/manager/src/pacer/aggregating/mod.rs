//! The default controller before access points that aggregate frames (802.11n and later): releases are limited by the medium time in
//! flight, and go in runs of one station.
//!
//! - A turn of a station is a *run* of packets ([`runs`]), so that the access point has whole aggregates to send. A run that has
//!   begun is finished; the next one begins when less is in flight than the target and what the path's lag needs.
//! - The medium time of a release is measured by station, from the time between completions ([`costs`]). It scales shares, what is in
//!   flight and runs. A reported rate is the initial value, and holds while the measured cost is within a factor of 1.5.
//! - The lag of the path is measured without a queue, by draining ([`lag`]).
//! - Completions show which releases have left ([`super::in_flight`]): by flow, and by station for releases without acknowledgments.
//!
//! Without completions time advances the account, as in [`super::standing`], which is the controller before access points of
//! 802.11a, b and g, and shares with this one the steps and trials of the speed where hardly anything is acknowledged.
//!
//! What was in flight before the box began to hold packets stays in the account, so that a full queue of the access point drains
//! before more is released into it.

pub(crate) mod costs;
mod lag;
pub(crate) mod paced;
pub(crate) mod runs;

use alloc::collections::BTreeMap;

use evenair_units::{Instant, Span};

use super::by_time::{Heard, LONG_AGO, ROUNDING, Stages};
use super::in_flight::{Completed, Departure, InFlight, Load};
use crate::config::without::{Mechanism, Without};
use crate::ids::StationId;

use super::marks::{Allowance, Mark, Next, Release};
use super::probes::speed::{ProbedSpeed, Waited};
use super::speed_steps::SpeedSteps;
use super::standing::{RatesSaid, Ratio};
use costs::{Cost, Costs, Done, Learned, UNIT};
use lag::Lag;
use paced::Paced;
use runs::{Evidence, RunLimit};

/// Packets always allowed in flight, however long they take: one is on the air, one is next.
const LEAST_UNDER_WAY: u64 = 2;
/// Time without an acknowledgment due after which the measured speed is forgotten.
const UNANSWERED: Span = Span::from_secs(1);
/// Latest acknowledgment during a trial: a later one shows that the tried speed is too high.
const PROMPT: Span = Span::from_millis(50);
/// Time from a failed trial to the next.
const TRY_AGAIN: Span = Span::from_secs(60);
/// Fastest speed of a trial, as slowness: 512 times the speed of the airtime model (512 Mb/s where that has 1 Mb/s).
const FASTEST_TRIED: u64 = UNIT / 512;
/// Completions add little if at most 1/`NEWS_PART` of the released packets was not already taken to have left by time.
const NEWS_PART: u64 = 8;
/// Stations hardly use the medium if the airtime received from them is at most 1/`QUIET_PART` of the airtime released.
const QUIET_PART: u64 = 8;
/// Shortest interval over which it is judged whether completions or time let packets go.
const WINDOW: Span = Span::from_millis(100);
/// Bounds of the slowness: from 512 times as fast as the airtime model (1 Mb/s assumed, an aggregate at 500 Mb/s real) to 64 times as
/// slow.
const SLOWNESS: core::ops::RangeInclusive<u64> = UNIT / 512..=UNIT * 64;

/// Part of completions from late stations, in thousandths, above which the access point is late, and not they.
const MOSTLY: u64 = 500;
/// Completions over which that part is averaged, as an exponential mean.
const LATE_OF: u64 = 64;

/// Factor, in halves, by which a station's measured cost may differ from its reported rate before the rate is rejected.
const CONTRADICTS_HALVES: u64 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Aggregating {
    in_flight: InFlight,
    costs: Costs,
    lag: Lag,
    /// Whether the access point aggregates, as completions show.
    evidence: Evidence,
    /// Airtime of all releases by the model, and instant of the newest one.
    released: Span,
    released_at: Instant,
    /// The newest acknowledged release.
    answered: Option<u64>,
    /// When something in flight was last acknowledged.
    answered_at: Instant,
    /// Airtime of all that have left, by completions; and of those that have left by time since the last one.
    carried: Span,
    left_by_time: Load,
    /// Medium time in flight that has left by time since the last completion, and the instant up to which this is computed.
    by_time: Span,
    reckoned: Instant,
    /// When the WLAN was last heard; since when an acknowledgment has been due; when one was last due.
    heard: Instant,
    due_since: Option<Instant>,
    due_last: Instant,
    window: Window,
    trial: Trial,
    steps: SpeedSteps,
    probed: ProbedSpeed,
    /// Airtime received from the WLAN since the last tick, and `released` at that tick.
    heard_airtime: Span,
    looked_at: Span,
    /// Part of the medium, in thousandths, that unresponsive senders over their share use.
    flooded_permille: u64,
    /// Part of recent completions, in thousandths, from stations that acknowledge late.
    late_permille: u64,
    /// Mechanisms that are left out.
    without: Without,
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

/// An interval in which it is judged whether completions or time let packets go.
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

/// The lag before the first measurement.
const fn first_lag(without: Without, now: Instant) -> Lag {
    if without.has(Mechanism::Lag) { Lag::NONE } else { Lag::new(now) }
}

impl Aggregating {
    /// `next`: the number of the next release.
    pub(crate) fn new(next: u64, now: Instant) -> Self {
        Self {
            in_flight: InFlight::new(next),
            costs: Costs::new(now, UNIT),
            lag: Lag::new(now),
            evidence: Evidence::new(),
            released: Span::ZERO,
            released_at: now,
            answered: None,
            answered_at: now,
            carried: Span::ZERO,
            left_by_time: Load::default(),
            by_time: Span::ZERO,
            reckoned: now,
            heard: now,
            due_since: None,
            due_last: now,
            window: Window { began: now, from: Span::ZERO, news: Span::ZERO, unanswerable: Span::ZERO, void: true },
            trial: Trial { from: None, asked: None, starved: true, not_before: Instant::ZERO },
            steps: SpeedSteps::new(),
            probed: ProbedSpeed::new(now),
            heard_airtime: Span::ZERO,
            looked_at: Span::ZERO,
            flooded_permille: 0,
            late_permille: 0,
            without: Without::NOTHING,
        }
    }

    /// The same without some mechanisms.
    pub(crate) fn without(self, without: Without, now: Instant) -> Self {
        Self { lag: first_lag(without, now), without, ..self }
    }

    /// Releases a packet to the access points; `of`: the pacer's state of its station.
    pub(crate) fn release(&mut self, now: Instant, release: Release, mut of: Option<&mut Paced>) -> Mark {
        self.reckon(now);
        if self.in_flight.count() == 0 {
            self.answered_at = now;
        }
        let Release { airtime, for_data, is_sure, due, unanswerable, previous, station, .. } = release;
        let before = core::mem::replace(&mut self.released_at, now);
        self.released += airtime;
        let medium = match &of {
            _ if is_sure => airtime,
            Some(of) => self.medium(airtime, of),
            None => self.costs.mean(airtime),
        };
        let asks_for_ack = for_data == Span::ZERO;
        let is_late = self.late_permille < MOSTLY && of.as_ref().is_some_and(|of| of.lateness.is_late());
        self.lag.note_release(now, self.in_flight.next(), medium, due && !is_late);
        let believed = airtime.saturating_sub(for_data);
        let shown = of.as_ref().and_then(|of| of.shown.of(believed)).filter(|_| !is_sure);
        let load = Load { believed, medium, shown: shown.unwrap_or_else(|| self.costs.mean(believed)) };
        let stands = self.in_flight.medium() + medium + self.lag();
        let leaves = (asks_for_ack && is_late).then(|| now.saturating_add(stands));
        let departure = Departure {
            load,
            previous: previous.map(Mark::number),
            due,
            unanswerable,
            for_data: !asks_for_ack,
            station,
            leaves,
        };
        if due
            && asks_for_ack
            && let Some(of) = of.as_deref_mut()
        {
            of.lateness.note_release(now, self.in_flight.next(), stands);
        }
        let (number, lost) = self.in_flight.push(now, departure, of.map(|of| &mut of.order));
        self.left(lost);
        if due {
            if self.trial.from.is_some() {
                self.trial.asked.get_or_insert((number, now));
            }
            let expected = self.outstanding();
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

    /// The box begins to hold packets. Releases of the bridge that are not completed stay in the account: they are in the access point, or
    /// later completions will show that it has dropped them.
    pub(crate) fn begin(&mut self, now: Instant) {
        (self.by_time, self.window.void) = (Span::ZERO, true);
        self.costs.starve();
        (self.lag, self.evidence) = (first_lag(self.without, now), Evidence::new());
        let dropped = self.in_flight.begin();
        self.left(dropped);
    }

    /// Releases of the bridge are part of this account anyway.
    pub(crate) const fn note_older_packet(&mut self, _now: Instant) {}

    /// Handles the acknowledgment of a release to a station.
    pub(crate) fn answer(&mut self, now: Instant, mark: Mark, station: StationId, of: &mut Paced) {
        self.reckon(now);
        let is_late = self.is_late(now, mark, of);
        if !is_late {
            self.lag.note_completion(now, mark.number(), of.uploads(now));
        }
        let order = Some(&mut of.order);
        let Completed { own, others, train, train_began, train_open, packets } = if is_late {
            self.in_flight.complete_late(now, mark.number(), order)
        } else {
            self.in_flight.complete(now, mark.number(), order)
        };
        let cleared = own + others;
        if cleared == Load::default() {
            return;
        }
        let left = core::mem::take(&mut self.left_by_time);
        self.carried += cleared.believed + left.believed;
        self.window.news += self.news(cleared);
        // What time has let go measures the assumed speed, and not the medium.
        if !is_late && left.believed <= cleared.believed * NEWS_PART {
            let own = Load { medium: self.medium(own.believed, of), ..own };
            of.shown.begin(own);
            let others = others + left;
            let others = Load { medium: self.costs.mean(others.believed), ..others };
            let arrived = train_began.saturating_add(self.lag.least_if_long());
            self.costs.note_completion(now, Done { station, own, others, arrived, train: train_open });
        }
        if !is_late {
            self.evidence.note_completion(now, train, packets);
            self.costs.begin(now, self.in_flight.count() > 0);
        }
        let newest = self.answered.map_or(mark.number(), |answered| answered.max(mark.number()));
        self.probed.note_completion(now, self.carried);
        if newest == mark.number() {
            let before = self.costs.slowness();
            let slowness = self.steps.note_answer(now, newest, before);
            self.set_slowness(before, slowness);
        }
        // This is the best evidence: had more left the access point long ago, it would have been acknowledged.
        self.by_time = Span::ZERO;
        (self.answered, self.answered_at) = (Some(newest), now);
        self.due_since = (self.in_flight.due() > 0).then_some(now);
        // It was prompt: the next one is judged anew.
        self.trial.asked = self.trial.asked.filter(|(number, _)| *number > newest);
        self.measure(now);
    }

    /// Whether this completion shows that the station acknowledges late.
    fn is_late(&mut self, now: Instant, mark: Mark, of: &mut Paced) -> bool {
        if let Some(timed) = of.lateness.timed(mark.number()) {
            let turns = of.lateness.note_completion(now, self.in_flight.was_overtaken(timed));
            if turns {
                // Its completions may have made aggregates look like single frames, and its delay like medium time.
                self.evidence.note_new_station();
                of.forget_cost();
            }
        }
        let is_late = of.lateness.is_late();
        self.late_permille = (self.late_permille * (LATE_OF - 1) + if is_late { 1_000 } else { 0 }) / LATE_OF;
        is_late && self.late_permille < MOSTLY
    }

    /// Notes DATA of a station from the WLAN, of this airtime: the medium has carried them since the last completion.
    pub(crate) fn note_data(&mut self, now: Instant, airtime: Span, station: StationId, of: &Paced) {
        let medium = self.medium(airtime, of);
        let load = Load { believed: airtime, medium, shown: of.shown.of(airtime).unwrap_or(medium) };
        self.costs.note_data(now, station, load);
        self.carried += airtime;
        self.window.news += airtime;
    }

    /// Airtime that a completion shows to have left and that had not left by time before.
    fn news(&self, cleared: Load) -> Span {
        let new = cleared.medium.saturating_sub(self.by_time).as_nanos();
        cleared.believed.mul_div(new, cleared.medium.as_nanos().max(1))
    }

    /// Notes that this much of what is in flight has left without a completion.
    fn left(&mut self, load: Load) {
        self.left_by_time += load;
        self.by_time = self.by_time.saturating_sub(load.medium);
    }

    fn set_slowness(&mut self, before: u64, slowness: u64) {
        if slowness != before {
            self.costs.set(slowness.clamp(*SLOWNESS.start(), *SLOWNESS.end()));
        }
    }

    /// A station has replied to a probe: all earlier releases have left, too.
    pub(crate) fn answer_probe(&mut self, now: Instant, mark: Mark, waited: Waited) {
        self.reckon(now);
        let cleared = self.in_flight.complete_all(mark.number());
        if cleared == Load::default() && self.left_by_time == Load::default() {
            return;
        }
        self.carried += cleared.believed + core::mem::take(&mut self.left_by_time).believed;
        let newest = self.answered.map_or(mark.number(), |answered| answered.max(mark.number()));
        let before = self.costs.slowness();
        let slowness = self.probed.note_probe(now, self.carried, waited, before);
        self.set_slowness(before, slowness);
        self.costs.begin(now, false);
        self.by_time = Span::ZERO;
        (self.answered, self.answered_at) = (Some(newest), now);
        self.due_last = self.due_last.max(now);
        self.due_since = (self.in_flight.due() > 0).then_some(now);
        self.trial.asked = self.trial.asked.filter(|(number, _)| *number > newest);
        self.window.void = true;
    }

    /// Whether replies to probes have raised the speed above what any queue has confirmed.
    pub(crate) fn is_speed_unproven(&self) -> bool {
        self.probed.is_unproven(self.costs.slowness())
    }

    /// The box releases nothing, so that a probe finds no queue.
    pub(crate) fn pause(&mut self, now: Instant) {
        self.probed.pause(now);
    }

    /// Replies to probes are no longer trusted.
    pub(crate) fn disbelieve_probes(&mut self) {
        let before = self.costs.slowness();
        let slowness = self.probed.give_up(before);
        self.set_slowness(before, slowness);
    }

    /// A packet of this estimated airtime came from the WLAN.
    pub(crate) fn hear(&mut self, now: Instant, airtime: Span) {
        self.reckon(now);
        self.heard = now;
        self.heard_airtime += airtime;
    }

    /// The box has nothing to release, or releases nothing on purpose.
    pub(crate) fn starve(&mut self) {
        self.costs.starve();
        self.probed.starve();
        self.window.void = true;
        self.trial.starved = true;
    }

    /// When the next packet may be released, if nothing is received until then: when less is in flight than the target and the packet's
    /// own medium time, since behind a long packet the acknowledgment of the one before comes late.
    pub(crate) fn ready_at(&self, allowance: Allowance, next: Next) -> Instant {
        let soon = self.reckoned.saturating_add(ROUNDING);
        if let Some(until) = self.lag.holds_until(self.is_awaited()) {
            return until.max(soon);
        }
        // A run that has begun is finished, since its rest would need another access.
        if next.in_run || self.lag.is_probing() {
            return self.reckoned;
        }
        // Beside a flood less of the medium is available, but a packet has to be next when the access point's turn comes.
        let lag = self.lag.allowed().max(self.probed.lag(self.reckoned));
        let allowance = if self.flooded_permille == 0 { allowance.less(self.lag.spare()) } else { allowance };
        let most = allowance.most(lag, self.flooded_permille) + next.own;
        // Beside a flood, overtaken releases wait long for their station's turn on the medium.
        let under_way = match self.flooded_permille {
            0 => self.under_way(),
            _ => self.under_way().saturating_sub(self.in_flight.passed()),
        };
        // While the access point sends frames to groups, which are no run, it should have a run ready. Beside 3 Mb/s of multicast a
        // station gets 77 % of its throughput without the box if all group frames count, 95 % if half do; if none do, packets stay 12
        // instead of 10 ms in the access point.
        let outstanding = self.outstanding().saturating_sub(self.in_flight.to_groups() / 2);
        if under_way < LEAST_UNDER_WAY || outstanding < most {
            return self.reckoned;
        }
        let given_up = self.in_flight.expires_at().map_or(Instant::MAX, |at| at.saturating_add(ROUNDING));
        let over = outstanding.saturating_sub(most) + ROUNDING;
        self.stages().moved_by(self.reckoned, over).min(given_up.max(soon))
    }

    /// Whether something in flight was not overtaken, and so is still to come.
    fn is_awaited(&self) -> bool {
        self.under_way() > self.in_flight.passed()
    }

    /// The present limit of a run.
    pub(crate) fn run_limit(&self, now: Instant, full: RunLimit) -> RunLimit {
        self.evidence.limit(now, full)
    }

    /// A station has joined the domain.
    pub(crate) fn note_new_station(&mut self) {
        self.evidence.note_new_station();
    }

    /// The account is in medium time.
    pub(crate) fn own(&self, airtime: Span, of: &Paced) -> Span {
        self.medium(airtime, of)
    }

    /// Medium time relative to charged airtime: `(numerator, denominator)`.
    pub(crate) fn sparse_pace(&self) -> (u64, u64) {
        self.costs.pace()
    }

    /// Medium time of a packet of this airtime to a station.
    pub(crate) fn medium(&self, airtime: Span, of: &Paced) -> Span {
        let (numerator, denominator) = self.relative(of, &of.cost);
        self.costs.mean(airtime).mul_div(numerator, denominator)
    }

    /// The same, as shown in reports.
    pub(crate) fn charged(&self, airtime: Span, of: &Paced) -> Span {
        // A correct reported rate is more exact, but for the overhead of single frames.
        let is_as_said = self.evidence.aggregates() && self.is_as_said(of);
        of.shown.of(airtime).filter(|_| !is_as_said).unwrap_or_else(|| self.medium(airtime, of))
    }

    /// Medium time without the accesses of others in between.
    pub(crate) fn undisturbed(&self, medium: Span) -> Span {
        self.costs.undisturbed(medium)
    }

    /// News of some station's cost, not taken before.
    pub(crate) fn take_learned(&mut self) -> Option<(StationId, Learned)> {
        self.costs.take_learned()
    }

    /// The typical cost of a station relative to the mean, for shares: `(numerator, denominator)`.
    pub(crate) fn ratio(&self, of: &Paced) -> (u64, u64) {
        self.relative(of, of.typical.cost())
    }

    /// This cost of a station relative to the mean.
    fn relative(&self, of: &Paced, cost: &Cost) -> (u64, u64) {
        let is_model = self.without.has(Mechanism::Cost) || self.is_as_said(of);
        if is_model { (1, 1) } else { self.costs.ratio(cost) }
    }

    /// Whether the station's rate is reported, and completions do not contradict it.
    fn is_as_said(&self, of: &Paced) -> bool {
        let (measured, unit) = self.costs.ratio(&of.cost);
        let is_near = measured * 2 <= unit * CONTRADICTS_HALVES && unit * 2 <= measured * CONTRADICTS_HALVES;
        of.has_rate && is_near
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
            let before = self.costs.slowness();
            self.set_slowness(before, (before / 2).max(fastest).min(before));
        } else if !(said != RatesSaid::All && in_use && self.trial.from.is_some()) {
            self.trial.from = None;
            let before = self.costs.slowness();
            self.set_slowness(before, (before * 3 + usual) / 4);
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
            self.costs.set(before);
            self.trial = Trial { from: None, asked: None, not_before: now + TRY_AGAIN, ..self.trial };
        }
    }

    /// Notes the airtime that unresponsive senders over their share used in an interval, and the most that all others used; both by the
    /// airtime model.
    pub(crate) fn note_flood(&mut self, flood: Span, others: Span) {
        let all = (flood + others).as_nanos().max(1);
        self.flooded_permille = Span::from_nanos(1_000).mul_div(flood.as_nanos(), all).as_nanos().min(999);
    }

    /// The medium's speed, relative to the airtime model.
    pub(crate) fn speed(&self) -> Ratio {
        let (took, believed) = self.costs.pace();
        Ratio { numerator: believed, denominator: took }
    }

    /// The access points' backlog, as medium time.
    pub(crate) fn backlog(&self) -> Span {
        self.outstanding().saturating_sub(self.lag())
    }

    /// The lag: medium time that has to be in flight beyond the target, as far as it is known.
    pub(crate) fn lag(&self) -> Span {
        self.lag.get().unwrap_or(Span::ZERO).max(self.probed.lag(self.reckoned))
    }

    /// Whether probes, and not the traffic, show completions.
    pub(crate) fn uses_probes(&self) -> bool {
        self.probed.is_in_use()
    }

    /// Medium time in flight: the access points' backlog, and what the path has under way.
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
        let waits = self.in_flight.due() > 0 && !self.trial.starved && self.flooded_permille == 0;
        self.lag.expire(now, waits, self.is_awaited());
        if self.in_flight.due() > 0 {
            self.due_last = self.due_last.max(now);
        }
        self.judge_trial(now);
        if now > self.reckoned && self.in_flight.count() > 0 {
            // If nothing is received, it is the box that the medium waits for.
            let stages = self.stages();
            self.window.void |= stages.is_lost(now);
            self.by_time = (self.by_time + stages.progress(self.reckoned, now)).min(self.in_flight.medium());
            // Between probes it stays in the account, since the next reply may show that less has left.
            let mut left = self.in_flight.expire(now);
            if !self.probed.is_in_use() {
                left += self.in_flight.serve(self.by_time);
            }
            self.left(left);
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
            lag: self.lag.allowed().max(self.probed.lag(self.reckoned)),
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
        // If most of it could have been acknowledged, late or lost acknowledgments are the reason.
        if !void && progress > Span::ZERO && self.flooded_permille == 0 {
            if news * NEWS_PART < progress && unanswerable * 2 >= progress {
                let before = self.costs.slowness();
                let slowness = self.steps.step(now, before);
                self.set_slowness(before, slowness);
            } else {
                self.steps.close();
            }
        }
        self.steps.begin();
        self.window =
            Window { began: now, from: self.carried, news: Span::ZERO, unanswerable: Span::ZERO, void: false };
    }
}

#[cfg(test)]
mod tests;
