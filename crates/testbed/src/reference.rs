//! The radio without real time: saturated stations in event time, as a reference for runs in real time.
//!
//! If the testbed is faithful, saturated datagram senders get the same throughput through it as through the same medium in
//! event time.

use evenair_medium::{AccessCategory, Event, Medium, Mpdu, NodeConfig, NodeId, To};
use evenair_scenario::Radio;
use evenair_units::{BitRate, Bytes, Instant, Limit, Span, Streams};
use evenair_wifi::PhyRate;

/// Stations that always have a packet to send.
#[derive(Clone, Copy, Debug)]
pub struct SaturatedStations {
    /// Number of stations.
    pub count: usize,
    /// PHY rate of their frames.
    pub rate: PhyRate,
    /// Length of their IP packets.
    pub ip_len: Bytes,
}

/// IP-level bit rate of saturated stations through the medium to the access point, averaged over `length`.
pub fn saturated_uplink(radio: &Radio, stations: SaturatedStations, length: Span, streams: &Streams) -> BitRate {
    let SaturatedStations { count, rate, ip_len } = stations;
    let mut medium: Medium<()> = Medium::new(radio.medium_config(), streams);
    let access_point = medium.add_node(NodeConfig::dcf(Limit::Unlimited));
    let mpdu =
        || Mpdu { to: To::Node(access_point), msdu: ip_len, rate, category: AccessCategory::BestEffort, frame: () };
    let senders: Vec<NodeId> = (0..count).map(|_| medium.add_node(NodeConfig::dcf(Limit::Packets(2)))).collect();
    // Two packets each: one in service, one waiting, so that no sender ever runs dry.
    for &sender in senders.iter().chain(&senders) {
        medium.handle_frame(Instant::ZERO, sender, mpdu());
    }
    let end = Instant::ZERO + length;
    let mut bits = 0;
    while let Some(now) = medium.poll_deadline().filter(|&at| at <= end) {
        medium.handle_timeout(now);
        let mut again = Vec::new();
        while let Some(event) = medium.poll_event() {
            match event {
                Event::Delivered { from, msdu, .. } => {
                    bits += msdu.bits();
                    again.push(from);
                }
                Event::Dropped { from, .. } => again.push(from),
            }
        }
        again.into_iter().for_each(|from| medium.handle_frame(now, from, mpdu()));
    }
    BitRate::from_bits_over(bits, length)
}
