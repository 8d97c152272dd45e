//! What the pacer asks of an account of the access points' backlog. There are two: [`super::standing`] for access points that send
//! single frames, and [`super::aggregating`] for those that aggregate.

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

/// The methods of an account, which both kinds have under the same names.
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
    /// A packet goes to the access points; `of`: what is known of its station.
    fn release(&mut self, now: Instant, release: Release, of: Option<&mut Paced>) -> Mark;
    /// The newest release, of this airtime, is of a protocol whose answers are not known.
    fn note_unanswerable(&mut self, airtime: Span);
    /// A release of a station was acknowledged; `of`: what is known of the station.
    fn answer(&mut self, now: Instant, mark: Mark, station: StationId, of: &mut Paced);
    /// A station sent a packet before it had the oldest release of the packet's flow.
    fn note_older_packet(&mut self, now: Instant);
    /// A station has answered a probe: all that was released before it has left, too.
    fn answer_probe(&mut self, now: Instant, mark: Mark, waited: Waited);
    /// The completion of this release is not waited for any more.
    fn is_given_up(&self, mark: Mark) -> bool;
    /// The box begins to hold packets.
    fn begin(&mut self, now: Instant);
    /// A packet of this airtime came from the WLAN.
    fn hear(&mut self, now: Instant, airtime: Span);
    /// DATA of a station came from the WLAN, of this airtime; `of`: what is known of the station.
    fn note_data(&mut self, now: Instant, airtime: Span, station: StationId, of: &Paced);
    /// The box has nothing to release, or keeps it back.
    fn starve(&mut self);
    /// The box keeps all back, so that a probe finds no queue.
    fn pause(&mut self, now: Instant);
    /// Answers to probes are not believed any more.
    fn disbelieve_probes(&mut self);
    /// A station has come to the domain.
    fn note_new_station(&mut self);
    /// Senders that do not respond have taken so much of an interval, and all others at most so much; both in believed airtime.
    fn note_flood(&mut self, flood: Span, others: Span);
    /// Advances the estimate to now.
    fn reckon(&mut self, now: Instant);
    /// To be called from time to time: forgets the speed where no answer has been due for long, toward the usual one.
    fn forget_speed(&mut self, now: Instant, usual: Ratio, said: RatesSaid);
    /// When the next packet may be released, if nothing is heard until then.
    fn ready_at(&self, allowance: Allowance, next: Next) -> Instant;
    /// How long a run of packets to one station may be, where the configuration says this.
    fn run_limit(&self, now: Instant, full: RunLimit) -> RunLimit;
    /// What a packet of this airtime to a station takes, in the unit of the account.
    fn own(&self, airtime: Span, of: &Paced) -> Span;
    /// The same as medium time.
    fn medium(&self, airtime: Span, of: &Paced) -> Span;
    /// The same, as it is shown.
    fn charged(&self, airtime: Span, of: &Paced) -> Span;
    /// Medium time, as it is without the accesses of others in between.
    fn undisturbed(&self, medium: Span) -> Span;
    /// What a station costs beside the mean, as measured: `(numerator, denominator)`.
    fn ratio(&self, of: &Paced) -> (u64, u64);
    /// What was learned of some station since it was last asked for.
    fn take_learned(&mut self) -> Option<(StationId, Learned)>;
    /// What sparse flows are judged by, in parts of believed airtime: `(numerator, denominator)`.
    fn sparse_pace(&self) -> (u64, u64);
    /// The medium's speed, relative to the believed airtime.
    fn speed(&self) -> Ratio;
    /// The access points' backlog, in the time that the medium takes for it.
    fn backlog(&self) -> Span;
    /// What has to be in flight beyond the target since the path delays, in medium time.
    fn lag(&self) -> Span;
    /// Probes show how far the access point's queue has come, and not the traffic.
    fn uses_probes(&self) -> bool;
    /// Answers to probes have made the medium look faster than any queue has shown.
    fn is_speed_unproven(&self) -> bool;
    /// Packets in flight.
    fn under_way(&self) -> u64;
    /// The number of the next release.
    fn next_release(&self) -> u64;
    /// The last release of each station that an acknowledgment is due to.
    fn awaited(&self) -> BTreeMap<StationId, u64>;
}
