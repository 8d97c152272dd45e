//! A half-duplex radio between two interfaces of one namespace: one frame is in the air at a time, and the access point and the
//! stations that have frames take turns, as DCF gives all contenders equal chances. It can fail and come back.
//!
//! The default controller needs it: it estimates the access point's backlog from TCP ACKs, which a plain veth pair returns at once. What
//! is not here: collisions, retries, different rates. The testbed has them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use evenair_sys::iface;
use evenair_sys::netns::Netns;
use evenair_sys::ring::{Ring, Sender};

/// Airtime of a frame beyond its bits, approximately: inter-frame space, backoff, preamble and acknowledgment of 802.11g.
const OVERHEAD: Duration = Duration::from_micros(100);
/// With [`OVERHEAD`], 20 Mb/s for frames of 1,514 bytes.
const BITS_PER_US: u32 = 24;
/// The rate of frames to groups: the lowest basic rate of 802.11g.
const GROUP_BITS_PER_US: u32 = 6;
/// Frames held by the access point, or by a station, at most.
const QUEUE: usize = 100;
/// Lateness of this thread that is made up, at most.
const MOST_LATE: Duration = Duration::from_millis(5);

/// Controls and counters of a radio.
#[derive(Debug, Default)]
pub struct Radio {
    /// The radio has failed: frames that are sent or wait are lost.
    pub silent: AtomicBool,
    /// Frames that the access point sent, and the sum of how many waited behind each.
    pub sent: AtomicU64,
    /// See above.
    pub waited: AtomicU64,
    /// Ends the radio's thread.
    pub over: AtomicBool,
}

impl Radio {
    /// Mean number of frames that waited in the access point behind one that it sent, since the last call.
    pub fn mean_queue(&self) -> f64 {
        let [sent, waited] = [&self.sent, &self.waited].map(|count| count.swap(0, Relaxed));
        waited as f64 / sent.max(1) as f64
    }

    /// Carries frames between `wired`, the access point's cable, and `air`, with the `stations` behind it, until it is over. The last byte
    /// of a station's address is its number.
    pub fn carry(&self, ns: &Netns, wired: &str, air: &str, stations: usize) {
        ns.run(|| self.serve([wired, air], stations)).expect("entered");
    }

    fn serve(&self, names: [&str; 2], stations: usize) {
        let interfaces = names.map(|name| iface::find(name).expect("laid"));
        let mut rings = interfaces.each_ref().map(|interface| Ring::open(interface, 1024).expect("root"));
        rings.iter().for_each(|ring| ring.start().expect("up"));
        let senders = interfaces.each_ref().map(|interface| Sender::open(interface, 1 << 20).expect("root"));
        // The access point's, then one for each station.
        let mut queues: Vec<VecDeque<Vec<u8>>> = vec![VecDeque::new(); 1 + stations];
        let (mut turn, mut idle_from) = (0, Instant::now());
        while !self.over.load(Relaxed) {
            for (side, ring) in rings.iter_mut().enumerate() {
                while let Some(frame) = ring.next_frame() {
                    let mut bytes = vec![0; frame.bytes().len() + 4];
                    let Some(len) = frame.copy_to(&mut bytes) else { continue };
                    bytes.truncate(len);
                    let sender = if side == 0 { 0 } else { 1 + usize::from(bytes[11]) };
                    let queue = queues.get_mut(sender).filter(|queue| queue.len() < QUEUE);
                    queue.into_iter().for_each(|queue| queue.push_back(std::mem::take(&mut bytes)));
                }
            }
            if self.silent.load(Relaxed) {
                queues.iter_mut().for_each(VecDeque::clear);
            }
            let now = Instant::now();
            idle_from = idle_from.max(now.checked_sub(MOST_LATE).expect("the machine has run for longer"));
            while idle_from <= now {
                let Some(next) = (1..=queues.len()).map(|n| (turn + n) % queues.len()).find(|&n| !queues[n].is_empty())
                else {
                    break;
                };
                turn = next;
                let frame = queues[next].pop_front().expect("it has one");
                if next == 0 {
                    self.sent.fetch_add(1, Relaxed);
                    self.waited.fetch_add(queues[0].len() as u64, Relaxed);
                }
                // A frame that the kernel refuses is lost, like others on the air.
                let _ = senders[usize::from(next == 0)].send([&frame[..]]);
                let is_group = next == 0 && frame[0] & 1 == 1;
                let rate = if is_group { GROUP_BITS_PER_US } else { BITS_PER_US };
                idle_from += OVERHEAD + Duration::from_micros(8 * frame.len() as u64) / rate;
            }
            sleep(Duration::from_micros(50));
        }
    }
}
