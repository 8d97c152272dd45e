use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::time::{Duration, Instant};

use super::*;
use crate::bpf::XdpMode;
use crate::fail_open::{FailOpenGate, XdpGate};
use crate::iface;
use crate::netns::Netns;
use crate::process;
use crate::ring::{Ring, Sender};
use crate::rt::monotonic_ns;

const STATION: [u8; 6] = [2, 0, 0, 0, 0, 1];
const QUEUES: u32 = 2;
/// For so long a busy machine may take to hand frames over.
const PATIENCE: Duration = Duration::from_secs(10);

/// A veth pair, with an AF_XDP path at its end in the near namespace.
struct Cable {
    far: Netns,
    memory: Frames,
    free: Vec<FrameId>,
    xsks: XskSet,
    xdp: XdpGate,
    gate: FailOpenGate,
}

impl Cable {
    fn new(near: &Netns, mode: XdpMode) -> Result<Self, OsError> {
        let far = Netns::new()?;
        let queues = format!("numrxqueues {QUEUES} numtxqueues {QUEUES}");
        let there = format!("/proc/{}/fd/{}", std::process::id(), far.as_fd().as_raw_fd());
        ip(near, &format!("link add near0 {queues} type veth peer name far0 {queues} netns {there}"));
        ip(near, "link set near0 up");
        ip(&far, "link set far0 up");
        let own = Interface { address: STATION, ..near.run(|| iface::find("near0")).expect("entered")? };
        let (memory, mut free) = Frames::new(512, slot_len(1522).expect("it fits") as usize)?;
        let (xsks, xdp, gate) = near
            .run(|| {
                let interface = iface::find("near0")?;
                let gate = FailOpenGate::new(Some(own))?;
                let xdp = gate.attach_xdp(&interface, 1522, &[mode])?;
                let of = XskSetSpec { interface: &interface, queues: QUEUES, slots: 64 };
                let xsks = XskSet::open(&memory, &[of], true)?.remove(0);
                Ok::<_, OsError>((xsks, xdp, gate))
            })
            .expect("entered")?;
        let mut cable = Self { far, memory, free: Vec::new(), xsks, xdp, gate };
        cable.xsks.lend(&mut cable.memory, &mut free);
        cable.free = free;
        for (socket, queue) in cable.xsks.sockets().zip(0..) {
            cable.xdp.open(queue, socket)?;
        }
        cable.xdp.start()?;
        Ok(cable)
    }

    /// Sends frames at the far end, and returns those that the AF_XDP path receives, `wanted` frames if all is well. Frames on
    /// different receive queues come in any order: which queue a frame takes follows the kernel's hash seed, which differs from
    /// boot to boot.
    fn offer(&mut self, frames: &[Vec<u8>], wanted: usize) -> Vec<Vec<u8>> {
        for equal in frames.chunk_by(|a, b| a == b) {
            // By the hash of its first frame a socket keeps to one of the queues.
            let sender = self.far.run(|| Sender::open(&iface::find("far0")?, 1 << 20)).expect("entered").expect("root");
            equal.iter().for_each(|frame| assert_eq!(sender.send([&frame[..]]), Ok(1)));
        }
        let (start, mut got) = (Instant::now(), Vec::new());
        loop {
            let is_late = start.elapsed() > PATIENCE;
            // What comes beyond it comes with it.
            std::thread::sleep(Duration::from_millis(20));
            let mut ids = Vec::new();
            self.xsks.receive(&mut self.memory, usize::MAX, |memory, id| {
                got.push(memory.bytes(&id).to_vec());
                ids.push(id);
            });
            self.free.extend(ids);
            if got.len() >= wanted || is_late {
                break;
            }
        }
        self.xsks.lend(&mut self.memory, &mut self.free);
        got
    }
}

fn ip(ns: &Netns, arguments: &str) {
    let mut command = Command::new("ip");
    command.args(arguments.split_whitespace());
    let status = process::tie(&mut command, Some(ns.as_fd())).status().expect("ip(8) is installed");
    assert!(status.success(), "ip {arguments}");
}

fn frame(to: [u8; 6], behind: &[u8], len: usize) -> Vec<u8> {
    let mut frame = [&to[..], &[2, 0, 0, 0, 0, 2], behind].concat();
    frame.resize(len, 7);
    frame
}

fn udp(port: u8) -> Vec<u8> {
    let header = [8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, port, 0, 9, 0, 26, 0, 0];
    frame(OTHER, &header, 60)
}

fn sorted(mut frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    frames.sort();
    frames
}

const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// What must be so in either mode.
fn lane_obeys_the_hold(near: &Netns, mode: XdpMode) -> Result<(), OsError> {
    let mut cable = Cable::new(near, mode)?;
    let tagged = frame(OTHER, &[0x81, 0, 0, 5, 0x88, 0xb5], 64);
    let mine = vec![frame(OTHER, &[0x88, 0xb5], 60), tagged, frame(OTHER, &[0x88, 0xb5], 1514)];
    let group = frame([0xff; 6], &[0x88, 0xb5], 60);
    let own = frame(STATION, &[0x88, 0xb5], 60);
    let all = [&mine[..], &[group, own]].concat();
    assert!(cable.offer(&all, 0).is_empty(), "the lease is not acquired");
    // Each socket that closes takes the kernel tens of milliseconds.
    let long = || monotonic_ns() + 60_000_000_000;
    cable.gate.acquire(long());
    let got = cable.offer(&all, mine.len());
    assert_eq!(sorted(got), sorted(mine), "unchanged, with their tags, and neither groups nor the machine's own");
    assert_eq!(cable.xdp.taken(), 3);
    cable.gate.renew(0, 1);
    assert!(cable.offer(&all, 0).is_empty(), "the loop has stopped");
    // Both queues, which a veth pair distinguishes only in its driver.
    cable.gate.acquire(long());
    let ports: Vec<_> = (0..32).map(udp).collect();
    assert_eq!(cable.offer(&ports, 32).len(), 32);
    let given: Vec<_> = cable.xsks.gone()?.into_iter().map(|(given, lost)| (given > 0, lost)).collect();
    assert_eq!(given, [(true, 0), (mode == XdpMode::Native, 0)], "{mode:?}");
    // A queue's packets are taken until all that were are gone.
    let report_sent = |cable: &Cable, missing: u64| {
        let gone = cable.xsks.gone().expect("open").into_iter().zip(0..);
        gone.map(|((given, lost), queue)| cable.xdp.report_sent(queue, given + lost - missing.min(given)))
            .collect::<Vec<_>>()
    };
    cable.gate.release();
    assert_eq!(report_sent(&cable, 1), [false, mode == XdpMode::Generic], "a queue that took nothing has given all");
    assert_eq!(cable.offer(&ports, 32).len(), 32);
    assert_eq!(report_sent(&cable, 0), [true; 2]);
    assert!(cable.offer(&ports, 0).is_empty());
    // More than there is room for is counted as lost. All of these are on one queue, whose ring is not full where less than half
    // of it was used since: by how many of the ports above, the kernel's hash seed decides.
    cable.gate.acquire(long());
    let many: Vec<_> = (0..200).map(|_| udp(1)).collect();
    let room: Vec<_> = cable.xsks.sockets.iter().map(|socket| (socket.given, u64::from(socket.lent))).collect();
    let (before, start) = (cable.xdp.taken(), Instant::now());
    let got = cable.offer(&many, 33).len() as u64;
    while cable.xdp.taken() - before < 200 && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    let used = cable.xsks.sockets.iter().zip(&room).find(|(socket, (given, _))| socket.given > *given);
    let (_, (_, lent)) = used.expect("one of the queues took them");
    let lost: u64 = cable.xsks.gone()?.iter().map(|(_, lost)| lost).sum();
    assert!((33..=64).contains(lent), "{lent} of 64 slots are lent");
    assert_eq!((cable.xdp.taken() - before, got, lost), (200, *lent, 200 - lent));
    sends_what_it_has(&mut cable);
    Ok(())
}

fn sends_what_it_has(cable: &mut Cable) {
    let mut ring =
        cable.far.run(|| Ring::open(&iface::find("far0").expect("laid"), 256)).expect("entered").expect("root");
    ring.start().expect("up");
    let mut queue: VecDeque<_> = (0..40).map(|_| cable.free.pop().expect("there are more")).collect();
    for (id, n) in queue.iter().zip(0..) {
        assert!(cable.memory.fill(id, |to| {
            let frame = frame(OTHER, &[0x88, 0xb5, n], 60);
            to[..60].copy_from_slice(&frame);
            Some(60)
        }));
    }
    let writable = edges_of(&cable.xsks);
    wait_for_edge(&writable);
    let sent = cable.xsks.send(&mut cable.memory, &mut queue).expect("up");
    assert_eq!((sent, queue.len()), (Sent { frames: 40, bytes: 2400, lost: 0 }, 0));
    let (start, before) = (Instant::now(), cable.free.len());
    while cable.xsks.sending() > 0 && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
        cable.xsks.tend(&mut cable.memory, &mut cable.free);
    }
    assert_eq!((cable.free.len() - before, cable.xsks.sending()), (40, 0));
    assert_eq!(wait_for_edge(&writable), 0, "a sent frame wakes who waits for frames to arrive");
    for n in 0..40 {
        assert_eq!(awaited(&mut ring), (60, n));
    }
}

/// Notifications that the sockets for receiving have become writable.
fn edges_of(xsks: &XskSet) -> OwnedFd {
    // SAFETY: takes no pointer; the descriptor is new.
    let epoll = unsafe { OwnedFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC)) };
    for socket in xsks.sockets() {
        let mut event = libc::epoll_event { events: (libc::EPOLLOUT | libc::EPOLLET) as u32, u64: 0 };
        let (epoll, socket) = (epoll.as_raw_fd(), socket.as_raw_fd());
        // SAFETY: the kernel reads one event.
        assert_eq!(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, socket, &raw mut event) }, 0);
    }
    epoll
}

/// How many sockets have had one since the last call.
fn wait_for_edge(epoll: &OwnedFd) -> i32 {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 4];
    // SAFETY: the kernel writes at most four events.
    unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), 4, 0) }
}

/// The next frame: its length, and its first byte behind the header.
fn awaited(ring: &mut Ring) -> (usize, u8) {
    let start = Instant::now();
    loop {
        if let Some(frame) = ring.next_frame() {
            return (frame.bytes().len(), frame.bytes()[14]);
        }
        assert!(start.elapsed() < PATIENCE, "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_lane_takes_what_the_hold_says_and_sends_what_it_is_given() {
    for mode in [XdpMode::Native, XdpMode::Generic] {
        let done = Netns::new().and_then(|near| {
            near.run(|| crate::netns::set_sysctl("net/ipv6/conf/default/disable_ipv6", "1")).expect("entered")?;
            lane_obeys_the_hold(&near, mode)
        });
        if let Err(error) = done {
            return eprintln!("skipped: {error} (needs root)");
        }
    }
}

#[test]
fn places_have_room_for_frames_up_to_a_page() {
    assert_eq!([1522, 1792, 1793, MOST_BYTES].map(slot_len), [Some(2048), Some(2048), Some(4096), Some(4096)]);
    assert_eq!(slot_len(MOST_BYTES + 1), None);
}
