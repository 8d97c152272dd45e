//! The interface between the pacer and an account of the access points' backlog. There are two accounts: [`super::standing`] for access
//! points that send single frames, and [`super::aggregating`] for those that aggregate.

use alloc::collections::BTreeMap;
use core::fmt::Debug;

use evenair_units::{Instant, Span};

use super::aggregating::Aggregating;
use super::aggregating::costs::Learned;
use super::aggregating::paced::Paced;
use super::aggregating::runs::RunLimit;
use super::marks::{Allowance, Mark, Next, Release};
use super::probes::speed::Waited;
use super::standing::{RatesSaid, Ratio, Standing};
use crate::ids::StationId;

/// Declares the methods of an account, and implements them for both kinds by their own methods of the same names.
macro_rules! account {
    ($($(#[$doc:meta])* fn $name:ident(&$($self:ident)+ $(, $arg:ident: $of:ty)*) $(-> $result:ty)?;)*) => {
        /// See the module.
        pub(crate) trait Account: Debug + Send {
            $($(#[$doc])* fn $name(&$($self)+ $(, $arg: $of)*) $(-> $result)?;)*
        }

        impl Account for Standing {
            $(fn $name(&$($self)+ $(, $arg: $of)*) $(-> $result)? { Standing::$name(account!(@ $($self)+) $(, $arg)*) })*
        }

        impl Account for Aggregating {
            $(fn $name(&$($self)+ $(, $arg: $of)*) $(-> $result)? { Aggregating::$name(account!(@ $($self)+) $(, $arg)*) })*
        }
    };
    (@ mut $self:ident) => { $self };
    (@ $self:ident) => { $self };
}

account! {
    /// A packet goes to the access points; `of`: the pacer's state of its station.
    fn release(&mut self, now: Instant, release: Release, of: Option<&mut Paced>) -> Mark;
    /// The newest release, of this airtime, is of a protocol whose acknowledgments are not recognised.
    fn note_unanswerable(&mut self, airtime: Span);
    /// A release of a station was acknowledged; `of`: the pacer's state of the station.
    fn answer(&mut self, now: Instant, mark: Mark, station: StationId, of: &mut Paced);
    /// A packet from a station was sent before the station had the oldest release of the packet's flow.
    fn note_older_packet(&mut self, now: Instant);
    /// A station has replied to a probe: all earlier releases have left, too.
    fn answer_probe(&mut self, now: Instant, mark: Mark, waited: Waited);
    /// Whether this release was given up: its completion is not waited for any more.
    fn is_given_up(&self, mark: Mark) -> bool;
    /// The box begins to hold packets.
    fn begin(&mut self, now: Instant);
    /// A packet of this airtime came from the WLAN.
    fn hear(&mut self, now: Instant, airtime: Span);
    /// DATA of a station came from the WLAN, of this airtime; `of`: the pacer's state of the station.
    fn note_data(&mut self, now: Instant, airtime: Span, station: StationId, of: &Paced);
    /// The box has nothing to release, or releases nothing on purpose.
    fn starve(&mut self);
    /// The box releases nothing, so that a probe finds no queue.
    fn pause(&mut self, now: Instant);
    /// Replies to probes are no longer trusted.
    fn disbelieve_probes(&mut self);
    /// A station has joined the domain.
    fn note_new_station(&mut self);
    /// Airtime that unresponsive senders used in an interval, and the most that all others used; both by the airtime model.
    fn note_flood(&mut self, flood: Span, others: Span);
    /// Advances the estimate to now.
    fn reckon(&mut self, now: Instant);
    /// Periodically: moves the measured speed toward the usual one if no acknowledgment has been due for long.
    fn forget_speed(&mut self, now: Instant, usual: Ratio, said: RatesSaid);
    /// When the next packet may be released, if nothing is received until then.
    fn ready_at(&self, allowance: Allowance, next: Next) -> Instant;
    /// The present limit of a run of packets to one station; `full`: the configured limit.
    fn run_limit(&self, now: Instant, full: RunLimit) -> RunLimit;
    /// What a packet of this airtime to a station adds, in the unit of the account.
    fn own(&self, airtime: Span, of: &Paced) -> Span;
    /// Medium time of a packet of this airtime to a station.
    fn medium(&self, airtime: Span, of: &Paced) -> Span;
    /// The same, as shown in reports.
    fn charged(&self, airtime: Span, of: &Paced) -> Span;
    /// Medium time without the accesses of other stations in between.
    fn undisturbed(&self, medium: Span) -> Span;
    /// Measured cost of a station relative to the mean: `(numerator, denominator)`.
    fn ratio(&self, of: &Paced) -> (u64, u64);
    /// News of some station's cost, not taken before.
    fn take_learned(&mut self) -> Option<(StationId, Learned)>;
    /// Scale from airtime of the model to the time by which flows are judged sparse: `(numerator, denominator)`.
    fn sparse_pace(&self) -> (u64, u64);
    /// The medium's speed, relative to the airtime model.
    fn speed(&self) -> Ratio;
    /// The access points' backlog, as medium time.
    fn backlog(&self) -> Span;
    /// The lag: medium time that has to be in flight beyond the target, since the path delays.
    fn lag(&self) -> Span;
    /// Whether probes, and not the traffic, show completions.
    fn uses_probes(&self) -> bool;
    /// Whether replies to probes have raised the speed above what any queue has confirmed.
    fn is_speed_unproven(&self) -> bool;
    /// Packets in flight.
    fn under_way(&self) -> u64;
    /// The number of the next release.
    fn next_release(&self) -> u64;
    /// The last release of each station with an acknowledgment due.
    fn awaited(&self) -> BTreeMap<StationId, u64>;
}
