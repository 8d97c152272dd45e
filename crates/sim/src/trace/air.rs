//! Makes frames of the capture from transmissions on the air.

use std::cmp::Reverse;

use evenair_medium::{AccessCategory, Kind, NodeId, To, Transmission, TxStatus};
use evenair_packet::MacAddr;

use super::bursts::{Mpdu, NUMBERS, Said};
use super::frame::{self, BlockAck, Data, Msdu};
use super::packet;
use super::radiotap::{Capture, Part};
use super::{Counter, Tracer};
use crate::domain::ContentionDomain;
use crate::packet::{PacketId, Pool};

/// Sender and receiver of a frame.
struct Ends {
    receiver: MacAddr,
    sender: MacAddr,
    /// Uplink: from a station to the access point.
    up: bool,
}

impl Ends {
    fn of(transmission: &Transmission, air: &ContentionDomain) -> Self {
        let receiver = match transmission.to {
            To::Node(node) => mac(node, air),
            To::Broadcast => MacAddr::BROADCAST,
        };
        Self { receiver, sender: mac(transmission.from, air), up: air.host_of(transmission.from).is_ok() }
    }

    /// The three addresses of a data frame; `msdu` is its packet if it is no A-MSDU (9.3.2.1).
    fn addresses(&self, msdu: Option<&Msdu>) -> [MacAddr; 3] {
        let Self { receiver, sender, up } = *self;
        match (up, msdu) {
            (true, Some(msdu)) => [receiver, msdu.source, msdu.destination],
            (false, Some(msdu)) => [receiver, sender, msdu.source],
            (true, None) => [receiver, sender, receiver],
            (false, None) => [receiver, sender, sender],
        }
    }
}

impl Tracer {
    /// Whether a frame neither carries a packet nor belongs to the exchange of one.
    pub(super) fn is_own(&mut self, domain: usize, transmission: &Transmission, air: &ContentionDomain) -> bool {
        let Transmission { from, to, kind, .. } = *transmission;
        if air.is_obss(from) {
            return true;
        }
        match (kind, to) {
            (Kind::Data { category, .. } | Kind::Rts { category, .. }, _) => {
                let own = air.medium.is_own(from, category);
                let sends = (domain, from);
                if own {
                    self.sends_own.insert(sends)
                } else {
                    self.sends_own.remove(&sends)
                };
                own
            }
            (Kind::Aggregate { .. } | Kind::BlockAckRequest { .. }, _) => {
                self.sends_own.remove(&(domain, from));
                false
            }
            (Kind::Cts | Kind::Ack, To::Node(sender)) => self.sends_own.contains(&(domain, sender)),
            (Kind::CfEnd, _) => self.sends_own.contains(&(domain, from)),
            (Kind::Cts | Kind::Ack, To::Broadcast) | (Kind::BlockAck, _) => false,
        }
    }

    /// Updates the state of the frames in service.
    pub(super) fn serve(&mut self, domain: usize, transmission: &Transmission, air: &ContentionDomain, pool: &Pool) {
        let from = transmission.from;
        let (category, is_new) = match transmission.kind {
            Kind::Rts { category, attempt } => (category, attempt == 1),
            Kind::Data { category, attempt, reserved, .. } => (category, attempt == 1 && !reserved),
            Kind::Aggregate { category, .. } | Kind::BlockAckRequest { category } => (category, false),
            Kind::Cts | Kind::Ack | Kind::BlockAck | Kind::CfEnd => return,
        };
        let addresses = &self.addresses;
        let read = |id: &PacketId| {
            let (packet, segment) = pool.whole(*id);
            addresses.packet(packet, segment).msdu()
        };
        if let Some(burst) = air.medium.burst_on_air(from, category) {
            return self.bursts.begin((domain, from, category, transmission.to), burst, read);
        }
        let service = self.services.entry((domain, from, category)).or_default();
        if is_new {
            service.sent = false;
        }
        if let Some(id) = air.medium.in_service(from, category) {
            service.msdu = read(id);
        }
    }

    /// Bytes of the frame without radiotap header; of an A-MPDU, each MPDU.
    pub(super) fn frames(
        &mut self,
        transmission: &Transmission,
        domain: usize,
        air: &ContentionDomain,
    ) -> Vec<Vec<u8>> {
        let ends = Ends::of(transmission, air);
        let (from, reserves) = (transmission.from, transmission.reserves);
        match (transmission.kind, transmission.to) {
            (Kind::Rts { .. }, _) => vec![frame::rts(reserves, ends.receiver, ends.sender)],
            (Kind::Cts, _) => vec![frame::cts(reserves, ends.receiver)],
            (Kind::Ack, _) => vec![frame::ack(reserves, ends.receiver)],
            (Kind::BlockAckRequest { .. }, _) => self.block_ack(transmission, &ends, (domain, from)),
            (Kind::CfEnd, _) => {
                // If a station sends the frame: the receiver of the burst that precedes it.
                let receiver = self.bursts.receiver((domain, from)).filter(|_| ends.up);
                vec![frame::cf_end(receiver.map_or(ends.sender, |receiver| mac(receiver, air)))]
            }
            (Kind::BlockAck, To::Node(asks)) => self.block_ack(transmission, &ends, (domain, asks)),
            (Kind::BlockAck, To::Broadcast) => unreachable!("a BlockAck is for one node"),
            (Kind::Aggregate { category, .. }, _) => self.burst(transmission, domain, &ends, Some(category)),
            (Kind::Data { category, qos, .. }, _) => {
                let category_of_qos = qos.then_some(category);
                match air.medium.burst_on_air(from, category) {
                    Some(_) => self.burst(transmission, domain, &ends, category_of_qos),
                    None => vec![self.data(transmission, domain, &ends, category_of_qos)],
                }
            }
        }
    }

    /// The frame in service of a node that does not aggregate; `qos` is its category if it has a QoS header.
    fn data(
        &mut self,
        transmission: &Transmission,
        domain: usize,
        ends: &Ends,
        qos: Option<AccessCategory>,
    ) -> Vec<u8> {
        let Kind::Data { category, .. } = transmission.kind else { unreachable!("it is a data frame") };
        let service = self.services.entry((domain, transmission.from, category)).or_default();
        let retry = std::mem::replace(&mut service.sent, true);
        if !retry {
            // QoS data has a sequence counter per receiver and category, all other frames share one (10.3.2.14.2).
            let counter: Counter = (domain, transmission.from, qos.map(|category| (ends.receiver, category)));
            let sequence = self.sequences.entry(counter).or_default();
            *sequence = (*sequence + 1) % NUMBERS as u16;
            service.sequence = *sequence;
        }
        frame::data(&Data {
            up: ends.up,
            retry,
            reserves: transmission.reserves,
            addresses: ends.addresses(Some(&service.msdu)),
            sequence: service.sequence,
            qos,
            packet_number: None,
            a_msdu: false,
            body: &service.msdu.bytes,
        })
    }

    /// The MPDUs of a node that aggregates; `qos` is their category if they have a QoS header.
    fn burst(
        &mut self,
        transmission: &Transmission,
        domain: usize,
        ends: &Ends,
        qos: Option<AccessCategory>,
    ) -> Vec<Vec<u8>> {
        let Self { bursts, sequences, encrypts, .. } = self;
        let encrypts = *encrypts && transmission.to != To::Broadcast;
        let others = sequences.entry((domain, transmission.from, None)).or_default();
        let mut frames = Vec::new();
        bursts.each((domain, transmission.from), |number, mpdu| {
            let sequence = match (qos, mpdu.sequence) {
                (Some(_), _) => (number % NUMBERS) as u16,
                (None, Some(known)) => known,
                (None, None) => {
                    *others = (*others + 1) % NUMBERS as u16;
                    *others
                }
            };
            mpdu.sequence = Some(sequence);
            let retry = std::mem::replace(&mut mpdu.sent, true);
            let (addresses, body) = body_of(mpdu, ends);
            frames.push(frame::data(&Data {
                up: ends.up,
                retry,
                reserves: transmission.reserves,
                addresses,
                sequence,
                qos,
                packet_number: encrypts.then_some(number + 1),
                a_msdu: mpdu.msdus.len() > 1,
                body: &body,
            }));
        });
        frames
    }

    /// A BlockAckReq or BlockAck about the last burst of `sender`.
    fn block_ack(&self, transmission: &Transmission, ends: &Ends, sender: (usize, NodeId)) -> Vec<Vec<u8>> {
        let is_request = matches!(transmission.kind, Kind::BlockAckRequest { .. });
        let said = self.bursts.said(sender);
        let frame = said.map(|Said { category, first, bitmap }| {
            frame::block_ack(&BlockAck {
                reserves: transmission.reserves,
                receiver: ends.receiver,
                sender: ends.sender,
                category,
                first,
                bitmap: if is_request { &[] } else { &bitmap },
            })
        });
        frame.into_iter().collect()
    }

    /// Handles the TX status of a node's frame.
    pub(super) fn end(&mut self, from: (usize, NodeId), status: TxStatus, air: &ContentionDomain) {
        let Some((transmission, frames)) = self.open.remove(&from) else { return };
        let is_received = status == TxStatus::Received;
        let received = match transmission.kind {
            Kind::Data { category, .. } | Kind::Aggregate { category, .. } if is_received => {
                self.bursts.end(from, air.medium.lost_of_burst(from.1, category))
            }
            _ => Vec::new(),
        };
        let is_a_mpdu = matches!(transmission.kind, Kind::Aggregate { .. })
            || frames.first().is_some_and(|frame| self.radio.delimits(&transmission, frame));
        self.a_mpdus = self.a_mpdus.wrapping_add(u32::from(is_a_mpdu));
        for (place, frame) in frames.iter().enumerate() {
            let (is_last, is_only) = (place + 1 == frames.len(), frames.len() == 1);
            let bytes = self.radio.capture(Capture {
                transmission: &transmission,
                channel: self.channels[from.0],
                frame,
                received: is_received && received.get(place).is_none_or(|&received| received),
                part: is_a_mpdu.then_some(Part { reference: self.a_mpdus, is_last, is_only }),
            });
            self.ended += 1;
            self.done.push(Reverse((transmission.at, self.ended, bytes)));
        }
    }
}

/// Addresses and body of an MPDU.
fn body_of(mpdu: &Mpdu, ends: &Ends) -> ([MacAddr; 3], Vec<u8>) {
    match &mpdu.msdus[..] {
        [msdu] => (ends.addresses(Some(msdu)), msdu.bytes.clone()),
        several => (ends.addresses(None), frame::a_msdu(several)),
    }
}

fn mac(node: NodeId, air: &ContentionDomain) -> MacAddr {
    air.host_of(node).map_or_else(packet::bssid, packet::mac_of)
}
