//! The decisions of a manager as bytes: little endian, never parsed, because only their digest is compared.
//!
//! An optional field is a presence byte followed by the value.

use core::net::IpAddr;

use evenair_manager::{Cause, Event, Label, Mode, Output, SpeechReport};
use evenair_packet::{MacAddr, Port, Vlan};
use evenair_units::{Instant, Span};
use evenair_wifi::{PhyRate, Standard};

const TAG_RELEASE: u8 = 1;
const TAG_DROP: u8 = 2;
const TAG_EVENT: u8 = 3;
const TAG_PROBE: u8 = 4;
const TAG_CONSUME: u8 = 5;

/// The decisions of a manager, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionLog {
    bytes: Vec<u8>,
}

impl DecisionLog {
    /// Logs a decision that followed the input at this instant; `number` gives a packet's number.
    pub fn decision<P>(&mut self, now: Instant, output: &Output<P>, number: impl FnOnce(&P) -> u64) {
        self.bytes.put_u64(now.as_nanos());
        match output {
            Output::Release { packet, port, edits } => {
                self.bytes.put_u8(TAG_RELEASE);
                self.bytes.put_u64(number(packet));
                self.bytes.put_u8((*port == Port::Wlan).into());
                self.bytes.put_option(edits.dscp, Write::put_u8);
                self.bytes.put_u8(edits.congestion.into());
                self.bytes.put_option(edits.window, Write::put_u16);
            }
            Output::Drop { packet, reason } => {
                self.bytes.put_u8(TAG_DROP);
                self.bytes.put_u64(number(packet));
                self.bytes.put_u8(u8::try_from(reason.index()).expect("there are few reasons"));
            }
            Output::Probe { station, vlan, address } => {
                self.bytes.put_u8(TAG_PROBE);
                self.bytes.put(&station.0);
                self.bytes.put_option(*vlan, put_vlan);
                put_address(&mut self.bytes, *address);
            }
            Output::Consume { packet } => {
                self.bytes.put_u8(TAG_CONSUME);
                self.bytes.put_u64(number(packet));
            }
            Output::Event(event) => {
                self.bytes.put_u8(TAG_EVENT);
                put_event(event, &mut self.bytes);
            }
        }
    }

    /// The log.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A 64-bit digest of the log (FNV-1a): not cryptographic.
    pub fn digest(&self) -> u64 {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
    }
}

fn put_call(out: &mut Vec<u8>, station: MacAddr, peer: IpAddr) {
    out.put(&station.0);
    put_address(out, peer);
}

fn put_speech(out: &mut Vec<u8>, speech: &SpeechReport) {
    out.put_u64(speech.packets);
    out.put_option(speech.lost, Write::put_u64);
    out.put_u64(speech.dropped);
    let put_span = |out: &mut Vec<u8>, span: Span| out.put_u64(span.as_nanos());
    out.put_option(speech.jitter, put_span);
    out.put_option(speech.hop_mean, put_span);
    [speech.waited_mean, speech.waited_most, speech.gap].into_iter().for_each(|span| put_span(out, span));
}

fn put_event(event: &Event, out: &mut Vec<u8>) {
    match event {
        Event::ModeChanged(mode) => {
            out.put_u8(0);
            out.put_u8(match mode {
                Mode::Bypassed => 0,
                Mode::Inserted => 1,
                Mode::Draining => 2,
            });
        }
        // The recording has the refused configuration, from which the reason follows.
        Event::ConfigRefused(_) => out.put_u8(1),
        Event::ObservationRefused(_) => out.put_u8(2),
        Event::StationLearned(mac) => {
            out.put_u8(3);
            out.put(&mac.0);
        }
        Event::RateChanged { service_rate, capacity } => {
            out.put_u8(4);
            out.put_u64(service_rate.as_bps());
            out.put_u64(capacity.as_bps());
        }
        Event::StationOverShare { mac, over } => {
            out.put_u8(5);
            out.put(&mac.0);
            out.put_u8((*over).into());
        }
        Event::Guard { domain, step, before, held } => {
            out.put_u8(12);
            put_label(out, *domain);
            out.put_u8(*step as u8);
            out.put_u64(before.as_bps());
            out.put_u64(held.as_bps());
        }
        Event::DomainsChanged { channels } => {
            out.put_u8(14);
            out.put_u64(*channels as u64);
        }
        Event::GroupLimited { domain, group, sender } => {
            out.put_u8(13);
            put_label(out, *domain);
            out.put(&group.0);
            out.put(&sender.0);
        }
        Event::ReportContradicted { mac, rate } => {
            out.put_u8(9);
            out.put(&mac.0);
            out.put_option(*rate, |out, rate| put_rate(rate, out));
        }
        Event::AddressContested { address, holder, claimant } => {
            out.put_u8(10);
            put_address(out, *address);
            out.put(&holder.0);
            out.put(&claimant.0);
        }
        Event::CallAdmitted { station, peer, codec } => {
            out.put_u8(6);
            put_call(out, *station, *peer);
            out.put_u8(*codec as u8);
        }
        Event::CallRefused { station, peer, codec, why } => {
            out.put_u8(7);
            put_call(out, *station, *peer);
            out.put_u8(*codec as u8);
            out.put_u8(*why as u8);
        }
        Event::CallRoamed { station, peer, codec, domain, over } => {
            out.put_u8(11);
            put_call(out, *station, *peer);
            out.put_u8(*codec as u8);
            put_label(out, *domain);
            out.put_option(*over, |out, why| out.put_u8(why as u8));
        }
        Event::CallEnded { station, peer, codec, admitted, lasted, speech } => {
            out.put_u8(8);
            put_call(out, *station, *peer);
            out.put_u8(*codec as u8);
            out.put_u8((*admitted).into());
            out.put_u64(lasted.as_nanos());
            speech.iter().for_each(|speech| put_speech(out, speech));
        }
    }
}

fn put_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            out.put_u8(4);
            out.put(&v4.octets());
        }
        IpAddr::V6(v6) => {
            out.put_u8(6);
            out.put(&v6.octets());
        }
    }
}

fn put_vlan(out: &mut Vec<u8>, vlan: Vlan) {
    out.put_u16(vlan.id);
    out.put_option(vlan.inner, Write::put_u16);
}

fn put_label(out: &mut Vec<u8>, label: Label) {
    out.put_u8(label.as_bytes().len() as u8);
    out.put(label.as_bytes());
}

/// Writes the kind of a rate and its bit rate; for a mode also the mode, since several have the same bit rate.
fn put_rate(rate: PhyRate, out: &mut Vec<u8>) {
    match rate.mode() {
        None => {
            let is_dsss = Standard::Dot11b.rates().contains(&rate);
            out.put_u8(if is_dsss { 0 } else { 1 });
        }
        Some(mode) => {
            let parts =
                [mode.format() as u8, mode.mcs(), mode.streams(), mode.width() as u8, mode.guard_interval() as u8];
            out.put_u8(2);
            out.put(&parts);
        }
    }
    out.put_u64(rate.bit_rate().as_bps());
}

/// Appends values to bytes.
trait Write {
    fn put(&mut self, bytes: &[u8]);

    fn put_u8(&mut self, x: u8) {
        self.put(&[x]);
    }

    fn put_u16(&mut self, x: u16) {
        self.put(&x.to_le_bytes());
    }

    fn put_u64(&mut self, x: u64) {
        self.put(&x.to_le_bytes());
    }

    fn put_option<T>(&mut self, x: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.put_u8(x.is_some().into());
        if let Some(x) = x {
            put(self, x);
        }
    }
}

impl Write for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use evenair_packet::MacAddr;
    use evenair_units::BitRate;
    use evenair_wifi::{Format, PhyMode};

    use super::*;

    fn logged(rate: PhyRate) -> Vec<u8> {
        let mut log = DecisionLog::default();
        let event = Event::ReportContradicted { mac: MacAddr([1; 6]), rate: Some(rate) };
        log.decision(Instant::ZERO, &Output::<()>::Event(event), |()| 0);
        log.as_bytes().to_vec()
    }

    #[test]
    fn each_rate_is_logged_as_itself() {
        let modes = Format::ALL.into_iter().flat_map(PhyMode::all).map(PhyRate::from);
        let legacy = [Standard::Dot11b, Standard::Dot11a].into_iter().flat_map(|standard| standard.rates()).copied();
        let mut logs: Vec<_> = legacy.chain(modes).map(logged).collect();
        let rates = logs.len();
        logs.sort();
        logs.dedup();
        assert_eq!(logs.len(), rates);
    }

    #[test]
    fn rates_before_80211n_are_a_kind_and_bits_per_second() {
        let of = |standard: Standard, mbps| logged(standard.rate(BitRate::from_mbps(mbps)).expect("a rate of it"));
        for (log, kind, bps) in
            [(of(Standard::Dot11b, 11), 0, 11_000_000u64), (of(Standard::Dot11g, 54), 1, 54_000_000)]
        {
            assert_eq!(log[log.len() - 9], kind);
            assert_eq!(log[log.len() - 8..], bps.to_le_bytes());
        }
    }
}
