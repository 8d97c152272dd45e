//! Telephone calls: RTP packets (RFC 3550) whose payload begins with their sending time.
//!
//! The listener measures the quality. It knows the expected number of packets from the seed, like the speaker: if the
//! speaker was delayed and skipped packets, they count as lost.

use std::net::{SocketAddr, UdpSocket};

use evenair_sys::rt::monotonic_ns;
use evenair_units::{Span, Streams};
use evenair_workload::voice::{CallMeter, RTP_HEADER};
use evenair_workload::{DatagramSource, Phase};

use super::protocol::{Call, Report};
use super::state::{App, Times, sleep_until};

/// Dynamic payload type (RFC 3551, 3), whose clock is that of G.711.
const PAYLOAD_TYPE: u8 = 96;
const CLOCK_HZ: u64 = 8_000;
/// Position of the sending time in a packet, in bytes; no packet is shorter.
const SENT: std::ops::Range<usize> = RTP_HEADER.0 as usize..RTP_HEADER.0 as usize + 8;
/// Time between two reports, in nanoseconds.
const REPORT_NS: u64 = 1_000_000_000;

pub(super) fn speak(app: &App, socket: &UdpSocket, to: SocketAddr, mut source: DatagramSource, times: Times) {
    let mut content = [0x5a; 2048];
    content[0] = 2 << 6;
    content[1] = PAYLOAD_TYPE;
    content[8..12].copy_from_slice(&(app.number as u32).to_be_bytes());
    for sequence in 0u64.. {
        let datagram = source.peek();
        sleep_until(times.start_ns + datagram.at.as_nanos());
        if app.is_stopped() {
            return;
        }
        let size = usize::try_from(datagram.payload.0).map_or(content.len(), |n| n.clamp(SENT.end, content.len()));
        let ticks = datagram.at.mul_div(CLOCK_HZ, 1_000_000_000).as_nanos();
        content[2..4].copy_from_slice(&(sequence as u16).to_be_bytes());
        content[4..8].copy_from_slice(&(ticks as u32).to_be_bytes());
        content[SENT].copy_from_slice(&monotonic_ns().to_be_bytes());
        // A full queue or an ICMP error loses the packet.
        let _ = socket.send_to(&content[..size], to);
        source.advance();
    }
}

pub(super) fn listen(app: &App, socket: &UdpSocket, call: &Call, times: Times) {
    let origin_ns = times.start_ns.saturating_sub(call.lasts.0);
    let span = Span::from_nanos;
    let phases: Vec<_> =
        call.phases.iter().map(|&(from, to)| Phase { name: String::new(), from: span(from), to: span(to) }).collect();
    let (start, stop) = (span(call.lasts.0), span(call.lasts.1));
    let mut meter = CallMeter::new(call.spec.hearing, start, stop, &phases);
    let mut source = DatagramSource::new(&call.spec.packets, &Streams::new(call.seed));
    let mut buffer = [0; 2048];
    let mut next_report = times.start_ns + REPORT_NS;
    loop {
        let stopped = app.is_stopped();
        // Packets received before the end count, too: the socket is read before the end is checked.
        if let Ok((n, _)) = socket.recv_from(&mut buffer) {
            app.count_received(n);
            if let Some(sent_ns) = buffer[..n].get(SENT).and_then(|bytes| bytes.first_chunk()) {
                let sent_ns = u64::from_be_bytes(*sent_ns);
                let delay = span(monotonic_ns().saturating_sub(sent_ns));
                meter.receive(span(sent_ns.saturating_sub(origin_ns)), delay);
            }
        }
        let now = monotonic_ns();
        if stopped || now >= next_report {
            next_report = now + REPORT_NS;
            let due = span(now.saturating_sub(origin_ns)).min(stop);
            while start + source.peek().at < due {
                meter.send(start + source.peek().at);
                source.advance();
            }
            app.report(&Report::Call { app: app.number, heard: meter.heard_by_number().collect() });
        }
        if stopped {
            return;
        }
    }
}
