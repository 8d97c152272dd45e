//! Conditions of the box, the Internet link, calls and telemetry.

use std::collections::VecDeque;

use super::facts::{Counters, Facts, Source};
use super::limits::Limits;
use super::memory::RAISED_AFTER;
use super::reason::{Code, Finding, Subject, SubjectKind};
use super::wifi::{name_of, subject};
use crate::causes::{Cause, LossReason};
use crate::watch::{Line, Totals};
use crate::{CallStatus, GuardState, Mode};

/// Minimum number of timed packets for a statement about the Internet link: in a second, or with a queue in the seconds after which a
/// reason is raised.
const TIMED: u64 = 10;
/// Traffic per minute in bytes below which its shares do not matter.
const LITTLE: u64 = 1_000_000;
/// The largest R of the E-model with default values (ITU-T G.107).
const BEST_RATING: f64 = 93.2;
/// Age in seconds from which on a call is rated: before that, one lost packet has too much weight.
const RATED_AFTER_S: f64 = 5.0;
/// Number of polls that a telemetry source may miss, for which its reports are valid.
const POLLS: f64 = 3.0;

/// Packets timed beyond the wire port, in each of the last seconds. A download has few.
#[derive(Debug, Default)]
pub(super) struct Timed {
    seconds: VecDeque<u64>,
    least_ms: Option<f64>,
}

/// Statistics of these packets.
pub(super) struct Trips {
    /// Number of packets in the last seconds.
    packets: u64,
    /// Lowest median of a second so far, in milliseconds: the path without its queue.
    least_ms: f64,
}

impl Timed {
    /// Adds the packets of a line.
    pub(super) fn add(&mut self, line: &Line) -> Trips {
        let times = line.totals.as_ref().and_then(|totals| totals.latency.internet);
        self.seconds.push_back(times.map_or(0, |times| times.packets));
        if self.seconds.len() > RAISED_AFTER as usize {
            self.seconds.pop_front();
        }
        self.least_ms = times.map(|times| times.p50_ms).into_iter().chain(self.least_ms).reduce(f64::min);
        Trips { packets: self.seconds.iter().sum(), least_ms: self.least_ms.unwrap_or_default() }
    }
}

/// Counts up to the present second.
pub(super) struct Lately {
    /// Counts of the last minute.
    pub(super) minute: Counters,
    /// Packets timed beyond the wire port.
    pub(super) timed: Trips,
}

/// Findings of a second.
pub(super) fn findings(line: &Line, facts: &Facts, lately: &Lately, limits: &Limits) -> Vec<Finding> {
    let totals = line.totals.clone().unwrap_or_default();
    let mut found: Vec<_> = by_state(&totals, facts).into_iter().flatten().collect();
    found.extend(by_count(&lately.minute, limits));
    found.extend(internet(&totals, &lately.timed, limits));
    found.extend(restarted(facts, limits));
    found.extend(calls(line, limits));
    found.extend(facts.telemetry.iter().map(|source| silent(source, limits)));
    found.extend(set_aside(facts));
    found
}

/// A finding that is true or false.
fn yes(code: Code, sentence: String, remedy: &str) -> Finding {
    let (value, limit, degree) = (1.0, 0.0, Some(f64::MAX));
    Finding {
        code,
        subject: Subject::of_box(),
        degree,
        value,
        limit,
        sentence,
        remedy: remedy.into(),
        ..Finding::default()
    }
}

fn by_state(totals: &Totals, facts: &Facts) -> [Option<Finding>; 4] {
    let is_bypassed = totals.mode == Mode::Bypassed;
    let is_by_guard = facts.guard.state == GuardState::Bypassed;
    let no_fail_open = (!totals.fail_open).then(|| {
        let why = facts.fail_open_why.first().map_or_else(String::new, |why| format!(": {why}"));
        let sentence = format!("The bridge cannot carry the traffic if the box stops{why}");
        yes(Code::NoFailOpen, sentence, "mend the bridge: evenair doctor says how")
    });
    let guard = (is_bypassed && is_by_guard).then(|| {
        let before = facts.guard.before_mbps.map_or_else(String::new, |before| format!(", {before:.1} Mb/s before"));
        let sentence = format!(
            "The guard has bypassed the box, which carried less than the bridge does: {:.1} Mb/s now{before}",
            facts.guard.now_mbps
        );
        yes(
            Code::GuardBypassed,
            sentence,
            "look for what delays frames between the box and the access points (evenair doctor), then run: evenair insert",
        )
    });
    let not_managing = (is_bypassed && !is_by_guard && facts.is_insert_commanded).then(|| {
        let sentence = format!(
            "The box has been bypassed for {:.0} s, although the last command was to insert it",
            totals.since_s
        );
        yes(Code::NotManaging, sentence, "run: evenair insert; if it is refused, the answer says why")
    });
    let history = facts.is_history_failing.then(|| {
        let sentence = "The history cannot be written: the last record was lost";
        yes(
            Code::HistoryFailing,
            sentence.into(),
            "make room at the path of [history], or give the box's user the right to write there",
        )
    });
    [no_fail_open, guard, not_managing, history]
}

/// A finding that is counted over a minute.
fn counted(code: Code, value: f64, limit: f64) -> Finding {
    let degree = if limit > 0.0 { value / limit } else { value * f64::MAX.sqrt() };
    Finding { code, subject: Subject::of_box(), degree: Some(degree), value, limit, ..Finding::default() }
}

fn by_count(minute: &Counters, limits: &Limits) -> Vec<Finding> {
    let share = minute.unread_bytes as f64 / minute.received_bytes.max(LITTLE) as f64;
    vec![
        lost(minute, limits),
        Finding {
            sentence: format!("The box was late {} times in the last minute, so that packets passed it by unmanaged", minute.lapses),
            remedy: "give the box a CPU core of its own; on a virtual machine, one that is not shared".into(),
            ..counted(Code::LateLoop, minute.lapses as f64, limits.lapses)
        },
        Finding {
            sentence: format!(
                "{} claims of addresses that other stations use were refused in the last minute",
                minute.addresses_contested
            ),
            remedy: "find both stations in evenair history --events, and give one of them another address".into(),
            ..counted(Code::AddressContested, minute.addresses_contested as f64, limits.contested_claims)
        },
        Finding {
            sentence: format!("{} calls were refused in the last minute, and are not preferred", minute.calls_refused),
            remedy: "raise the number of calls in [manager.voice], or add an access point on another channel".into(),
            ..counted(Code::CallsRefused, minute.calls_refused as f64, 0.0)
        },
        Finding {
            sentence: format!("{:.0} % of the traffic of the last minute cannot be read, and is not shared by station", share * 100.0),
            remedy: "put the box where the traffic is plain IP, PPPoE, MPLS, GRE, VXLAN or unencrypted CAPWAP, or have the access \
                     points bridge locally"
                .into(),
            unit: "%",
            ..counted(Code::UnmanagedTraffic, share * 100.0, limits.unmanaged_share * 100.0)
        },
    ]
}

/// Losses, without those of frames that no bridge forwards.
fn lost(minute: &Counters, limits: &Limits) -> Finding {
    let losses = || minute.losses.iter().filter(|(reason, _)| *reason != LossReason::LinkLocal);
    let all: u64 = losses().map(|(_, packets)| packets).sum();
    let (most, packets) = losses().max_by_key(|(_, packets)| *packets).unwrap_or((LossReason::RingFull, 0));
    Finding {
        sentence: format!(
            "The box lost {all} packets in the last minute, {packets} of them for this reason: {}",
            most.word()
        ),
        remedy: most.remedy().into(),
        unit: "packets",
        ..counted(Code::LostInBox, all as f64, limits.lost_packets)
    }
}

/// A few packets in each of several seconds suffice if they take longer than those of the fastest second: otherwise they may belong to a
/// single distant server, and seconds without packets show nothing.
fn internet(totals: &Totals, timed: &Trips, limits: &Limits) -> Option<Finding> {
    if timed.packets == 0 {
        return None;
    }
    let times = totals.latency.internet.unwrap_or_default();
    let has_queue = times.packets > 0 && times.p50_ms - timed.least_ms > limits.internet_median_ms;
    let is_known = times.packets >= TIMED || (timed.packets >= TIMED && has_queue);
    let degree = (times.p95_ms / limits.internet_latency_ms).min(times.p50_ms / limits.internet_median_ms);
    let remedy = if totals.latency.internet_queue.is_some() {
        "lower the rates of [manager.wan] by a tenth, so that the queue is in the box and not in the modem"
    } else {
        "let the box hold the queue of the Internet link: [manager.wan] with its rates down and up"
    };
    Some(Finding {
        code: Code::InternetLatency,
        subject: Subject::of_box(),
        degree: is_known.then_some(degree),
        value: times.p95_ms,
        limit: limits.internet_latency_ms,
        unit: "ms",
        sentence: format!(
            "Half of the packets take {:.0} ms to the Internet and back, and 5 of 100 take {:.0} ms or more",
            times.p50_ms, times.p95_ms
        ),
        remedy: remedy.into(),
        ..Finding::default()
    })
}

fn restarted(facts: &Facts, limits: &Limits) -> Option<Finding> {
    let since = facts.restarted_s.filter(|since| *since < limits.restarted_s)?;
    let sentence = format!("The box has started {since:.0} s ago, after it had ended without being asked to");
    let remedy = "see why: journalctl -u evenair, and the crash reports in /var/lib/evenair";
    Some(Finding { value: since, limit: limits.restarted_s, unit: "s", ..yes(Code::Restarted, sentence, remedy) })
}

/// The worst call of each station.
fn calls(line: &Line, limits: &Limits) -> Vec<Finding> {
    let rating = |call: &CallStatus| [call.down.r_factor, call.up.r_factor].into_iter().flatten().reduce(f64::min);
    let rated = line.calls.iter().flatten().filter(|call| call.lasts_s >= RATED_AFTER_S);
    let mut rated: Vec<_> = rated.filter_map(|call| Some((call, rating(call)?))).collect();
    // Of several calls of a station the worst one comes last and stays.
    rated.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let finding = |(call, rating): (&CallStatus, f64)| {
        let station = line.stations.iter().flatten().find(|station| station.mac == call.station);
        let name = station.map_or(call.station.as_str(), name_of);
        let of_mac = || Subject { id: call.station.clone(), name: name.into(), kind: SubjectKind::Station };
        let remedy = match &call.refused {
            Some(why) => format!("raise the number of calls in [manager.voice]: this one was refused, {why}"),
            None => format!("bring {name} nearer to its access point, or to one with fewer stations"),
        };
        Finding {
            code: Code::CallQuality,
            subject: station.map_or_else(of_mac, subject),
            degree: Some((BEST_RATING - rating) / (BEST_RATING - limits.call_rating).max(1.0)),
            value: rating,
            limit: limits.call_rating,
            unit: "R",
            sentence: format!("A call of {name} has the rating R {rating:.0} of at most 93"),
            remedy,
            ..Finding::default()
        }
    };
    rated.into_iter().map(finding).collect()
}

fn silent(source: &Source, limits: &Limits) -> Finding {
    let limit = limits.telemetry_silence_s.max(POLLS * source.interval_s);
    let error = source.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    Finding {
        code: Code::TelemetrySilent,
        subject: Subject::named(SubjectKind::Source, &source.name),
        degree: Some(source.silent_s / limit),
        value: source.silent_s,
        limit,
        unit: "s",
        sentence: format!("Telemetry of {} has been silent for {:.0} s{error}", source.name, source.silent_s),
        remedy: "poll it by hand and see what is wrong: evenair telemetry".into(),
        ..Finding::default()
    }
}

fn set_aside(facts: &Facts) -> Option<Finding> {
    let first = facts.set_aside.first()?;
    let rate = first.rate_mbps.map_or_else(String::new, |mbps| format!(" ({mbps} Mb/s)"));
    let others = match facts.set_aside.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more stations"),
    };
    let sentence = format!("Traffic contradicts the reported rate of {}{rate}{others}: it is set aside", first.station);
    let remedy = format!("compare the rates of {} with those at the access point: evenair telemetry", first.source);
    Some(Finding {
        value: facts.set_aside.len() as f64,
        unit: "stations",
        ..yes(Code::RateReportSetAside, sentence, &remedy)
    })
}
