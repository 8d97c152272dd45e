//! The manager's events as events of the history.

use evenair_api::history::{Event, GuardStep};
use evenair_manager as manager;
use evenair_view::{codec as codec_of, label_text, refusal_word, speech as speech_status};

/// The event for the history; `None`: it is too frequent, and samples have the same information.
pub(crate) fn event_of(event: &manager::Event) -> Option<Event> {
    Some(match event {
        manager::Event::ModeChanged(mode) => Event::Mode { mode: evenair_view::mode(*mode), by: None },
        manager::Event::ConfigRefused(error) => Event::Refused { error: error.to_string() },
        manager::Event::StationLearned(mac) => Event::Station { station: mac.to_string() },
        manager::Event::StationOverShare { mac, over } => Event::OverShare { station: mac.to_string(), over: *over },
        manager::Event::Guard { domain, step, before, held } => Event::Guard {
            domain: label_text(*domain),
            step: guard_step(*step),
            before_mbps: before.as_mbps_f64(),
            held_mbps: held.as_mbps_f64(),
        },
        manager::Event::DomainsChanged { channels } => Event::Domains { channels: *channels },
        manager::Event::GroupLimited { domain, group, sender } => {
            Event::GroupLimited { domain: label_text(*domain), group: group.to_string(), station: sender.to_string() }
        }
        manager::Event::ReportContradicted { mac, rate } => Event::ReportContradicted {
            station: mac.to_string(),
            rate_mbps: rate.map(|rate| rate.bit_rate().as_mbps_f64()),
        },
        manager::Event::AddressContested { address, holder, claimant } => Event::AddressContested {
            station: claimant.to_string(),
            address: address.to_string(),
            holder: holder.to_string(),
        },
        manager::Event::CallAdmitted { .. }
        | manager::Event::CallRefused { .. }
        | manager::Event::CallRoamed { .. }
        | manager::Event::CallEnded { .. } => return call_event(event),
        manager::Event::ObservationRefused(_) | manager::Event::RateChanged { .. } => return None,
    })
}

/// An event about a call.
fn call_event(event: &manager::Event) -> Option<Event> {
    Some(match event {
        manager::Event::CallAdmitted { station, peer, codec } => {
            let (station, peer) = (station.to_string(), peer.to_string());
            Event::CallAdmitted { station, peer, codec: codec_of(*codec) }
        }
        manager::Event::CallRefused { station, peer, codec, why } => Event::CallRefused {
            station: station.to_string(),
            peer: peer.to_string(),
            codec: codec_of(*codec),
            why: refusal_word(*why).into(),
        },
        manager::Event::CallRoamed { station, peer, codec, domain, over } => Event::CallRoamed {
            station: station.to_string(),
            peer: peer.to_string(),
            codec: codec_of(*codec),
            domain: label_text(*domain),
            over: over.map(|why| refusal_word(why).into()),
        },
        manager::Event::CallEnded { station, peer, codec, admitted, lasted, speech } => Event::CallEnded {
            station: station.to_string(),
            peer: peer.to_string(),
            codec: codec_of(*codec),
            admitted: *admitted,
            lasted_s: lasted.as_secs_f64(),
            down: Box::new(speech_status(&speech[0], *codec)),
            up: Box::new(speech_status(&speech[1], *codec)),
        },
        _ => return None,
    })
}

const fn guard_step(step: manager::GuardStep) -> GuardStep {
    match step {
        manager::GuardStep::Opened => GuardStep::Opened,
        manager::GuardStep::Restored => GuardStep::Restored,
        manager::GuardStep::Measuring => GuardStep::Measuring,
        manager::GuardStep::Bypassed => GuardStep::Bypassed,
        manager::GuardStep::Trying => GuardStep::Trying,
        manager::GuardStep::Proven => GuardStep::Proven,
    }
}
