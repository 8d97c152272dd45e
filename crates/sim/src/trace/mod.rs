//! Traces: the frames on the air and the wire as pcap files with the content of a capture.
//!
//! - `air.pcap`: every frame on the air with a radiotap header (radiotap.org), as seen by its receiver: DATA, ACK, RTS, CTS,
//!   retries with the Retry bit, and frames that the receiver could not decode, marked with a bad FCS. Of an A-MPDU each MPDU is
//!   a record, with the time of the PPDU, answered by a BlockAck.
//! - `ap-wire.pcap`: Ethernet at the access point's wired side.
//! - `box-wire.pcap`: Ethernet at the box's wired side, if there is a box.
//!
//! Times are those of the run, in nanoseconds from 1970, at the start of a frame. Headers are rebuilt from the simulated state,
//! with correct lengths, checksums and sequence numbers; payloads are zeros. Files are written during the run; only the frames
//! on the air are in memory.
//!
//! Encrypted frames have the header and the length of CCMP, and readable content. A BlockAck begins at the sender's oldest
//! MPDU, which a real receiver does not know: many begin at what they received last.
//!
//! Not here: beacons, power-save frames, other networks, delimiters between MPDUs; ARP, association and ADDBA, which are not
//! simulated; the Internet side of the router. A null frame takes a sequence number of the MPDUs to its receiver where nodes
//! aggregate.

mod air;
mod bursts;
mod frame;
mod packet;
mod pcap;
mod radiotap;
mod watch;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use evenair_medium::{AccessCategory, NodeId, OnAir, Transmission};
use evenair_packet::MacAddr;
use evenair_scenario::Scenario;
use evenair_units::{Bytes, Instant};

use self::bursts::Bursts;
use self::frame::Msdu;
use self::packet::Addresses;
use self::pcap::Pcap;
use self::radiotap::Radio;
use crate::domain::ContentionDomain;
use crate::packet::{Packet, Pool};
use crate::tcp::Segment;

/// A side of the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wired {
    /// Between the access point and the box, or the network if there is no box.
    AccessPoint,
    /// Between the box and the network.
    Network,
}

/// Writes the traces of a run.
#[derive(Debug)]
pub(crate) struct Tracer {
    radio: Radio,
    air: Pcap,
    access_point: Pcap,
    network: Option<Pcap>,
    addresses: Addresses,
    /// Channel of each domain, if it has one.
    channels: Vec<Option<u32>>,
    /// Transmissions whose end is not known yet, by domain and sender.
    open: BTreeMap<(usize, NodeId), Open>,
    /// Frames whose end is known, earliest first; frames still open may have begun before them.
    done: BinaryHeap<Reverse<(Instant, u64, Vec<u8>)>>,
    ended: u64,
    /// Frame in service of each category of each node.
    services: BTreeMap<(usize, NodeId, AccessCategory), Service>,
    /// The same for nodes that aggregate.
    bursts: Bursts,
    /// Whether nodes encrypt.
    encrypts: bool,
    /// Number of A-MPDUs so far.
    a_mpdus: u32,
    /// The last sequence number of each counter.
    sequences: BTreeMap<Counter, u16>,
    /// Nodes whose present frame carries no packet.
    sends_own: BTreeSet<(usize, NodeId)>,
    /// The first error, reported at the end.
    failed: Option<(PathBuf, io::Error)>,
}

/// A transmission and its frames: of an A-MPDU, each MPDU.
type Open = (Transmission, Vec<Vec<u8>>);

/// Scope of a sequence counter: a node in a domain; for QoS data also receiver and category.
type Counter = (usize, NodeId, Option<(MacAddr, AccessCategory)>);

/// Frame in service of a category of a node: kept because it may be repeated after it was received.
#[derive(Debug, Default)]
struct Service {
    sequence: u16,
    /// Its DATA was transmitted, not only RTS.
    sent: bool,
    msdu: Msdu,
}

impl Tracer {
    /// Creates the files in `folder`, and the folder if it is missing.
    fn new(folder: &Path, scenario: &Scenario, with_box: bool) -> Result<Self, (PathBuf, io::Error)> {
        fs::create_dir_all(folder).map_err(|error| (folder.to_owned(), error))?;
        let file = |name: &str, link| {
            let path = folder.join(name);
            Pcap::create(&path, link).map_err(|error| (path, error))
        };
        Ok(Self {
            radio: Radio::new(scenario),
            air: file("air.pcap", pcap::RADIOTAP)?,
            access_point: file("ap-wire.pcap", pcap::ETHERNET)?,
            network: with_box.then(|| file("box-wire.pcap", pcap::ETHERNET)).transpose()?,
            addresses: Addresses::new(scenario),
            channels: channels(scenario),
            open: BTreeMap::new(),
            done: BinaryHeap::new(),
            ended: 0,
            services: BTreeMap::new(),
            bursts: Bursts::default(),
            encrypts: scenario.radio.aggregation.is_some_and(|rules| rules.crypto > Bytes::ZERO),
            a_mpdus: 0,
            sequences: BTreeMap::new(),
            sends_own: BTreeSet::new(),
            failed: None,
        })
    }

    /// Records a packet on the wire.
    fn wire(&mut self, now: Instant, side: Wired, packet: &Packet, segment: Option<&Segment>) {
        let file = match (side, &mut self.network) {
            (Wired::AccessPoint, _) => &mut self.access_point,
            (Wired::Network, Some(file)) => file,
            (Wired::Network, None) => return,
        };
        let outcome = file.write(now, &self.addresses.packet(packet, segment).ethernet());
        self.note(outcome);
    }

    /// Handles a report of the medium.
    fn note_on_air(&mut self, on_air: &OnAir, domain: usize, air: &ContentionDomain, pool: &Pool) {
        match *on_air {
            // Beacons, null frames and other networks are left out, with their ACKs.
            OnAir::Begins(transmission) if self.is_own(domain, &transmission, air) => {}
            OnAir::Begins(transmission) => {
                self.serve(domain, &transmission, air, pool);
                let frames = self.frames(&transmission, domain, air);
                self.open.insert((domain, transmission.from), (transmission, frames));
            }
            OnAir::Ends { from, status, .. } => self.end((domain, from), status, air),
        }
    }

    /// Writes the frames that no later one can precede.
    fn advance(&mut self, now: Instant) {
        let horizon = self.open.values().map(|(transmission, _)| transmission.at).min().map_or(now, |at| at.min(now));
        self.flush(horizon);
    }

    /// Writes all frames that began up to `horizon`.
    fn flush(&mut self, horizon: Instant) {
        while let Some(Reverse((at, _, _))) = self.done.peek()
            && *at <= horizon
        {
            let Some(Reverse((at, _, bytes))) = self.done.pop() else { return };
            let outcome = self.air.write(at, &bytes);
            self.note(outcome);
        }
    }

    fn note(&mut self, outcome: Result<(), (PathBuf, io::Error)>) {
        if let Err(error) = outcome {
            self.failed.get_or_insert(error);
        }
    }

    /// Writes the rest, and returns the first error.
    fn finish(mut self) -> Result<(), (PathBuf, io::Error)> {
        self.flush(Instant::MAX);
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.air.finish()?;
        self.access_point.finish()?;
        self.network.map_or(Ok(()), Pcap::finish)
    }
}

/// The channel of each domain.
fn channels(scenario: &Scenario) -> Vec<Option<u32>> {
    let of = |domain| scenario.access_points.iter().find(|point| point.domain == domain);
    (0..scenario.domains()).map(|domain| of(domain).and_then(|point| point.channel)).collect()
}
