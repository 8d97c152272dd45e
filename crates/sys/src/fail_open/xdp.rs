//! The AF_XDP path of a port: an XDP program that redirects packets to the loop's AF_XDP sockets ([`crate::xsk`]) before
//! the kernel has allocated an sk_buff.
//!
//! It takes only packets for the loop alone: whole frames to one address that is not the machine's own. All others pass to
//! the port's packet ring and gate ([`super`]), which can duplicate a packet: group-addressed frames, which the bridge
//! receives too; all frames while a loop observes, which the bridge forwards; and frames that are too long for a slot, or
//! from a queue without a socket.
//!
//! It obeys the same lease. The program reads the same words for each packet: once the loop stops renewing, all packets
//! pass. When a process dies, the kernel removes its program and sockets. Since that takes the kernel tens of milliseconds,
//! the program also checks an additional unbound socket, which the kernel closes first, at once ([`XdpGate::start`]).
//!
//! While the lease is being released, packets of a queue are taken until all packets taken from it have been sent, as with
//! the ring; each queue of the card is counted separately, since its packets are ordered, and those of a flow are in one
//! queue.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use super::{FailOpenGate, KEY, OWN_ADDRESS, RELEASING, UNTIL, block, offset};
use crate::bpf::{Assembler, Helper, Link, Map, Program, ProgramKind, Reg, SharedWords, XdpMode};
use crate::error::OsError;
use crate::iface::Interface;
use crate::xsk;

/// Most receive queues of a port that can have a socket each.
pub const MOST_QUEUES: u32 = 64;
/// Where among the sockets the sign of life is.
const LIFE: u32 = MOST_QUEUES;
/// Bytes of Ethernet's header.
const HEADER: i32 = 14;
const WORDS_OF_QUEUE: usize = 2;

// Fields of struct xdp_md (linux/bpf.h).
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const RX_QUEUE: i16 = 16;

const XDP_PASS: i32 = 2;
const XDP_REDIRECT: i32 = 4;

/// The XDP program of a port's AF_XDP path, which obeys the lease. When this is dropped, or the process dies, all packets pass.
#[derive(Debug)]
pub struct XdpGate {
    sockets: Map,
    /// For each queue, how many packets were taken, which the program writes, and how many of them are gone.
    words: SharedWords,
    /// The sign that the process lives.
    life: Option<OwnedFd>,
    mode: XdpMode,
    refused: Option<OsError>,
    // Held for its drop, which detaches it.
    _link: Link,
}

impl FailOpenGate {
    /// Attaches the XDP program of an AF_XDP path at `interface` for frames of at most `most_bytes`, in the driver or
    /// wherever it can be: `modes` are tried in turn. It takes nothing before it is given sockets.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` and `CAP_NET_ADMIN`, `EBUSY` where the interface has such a program, and what the driver has
    /// against it, for the last of the modes.
    ///
    /// # Panics
    /// If several loops share the traffic: it does not separate theirs. Without a mode.
    pub fn attach_xdp(&self, interface: &Interface, most_bytes: u32, modes: &[XdpMode]) -> Result<XdpGate, OsError> {
        assert!(self.shared.shards == 1);
        let sockets = Map::sockets(MOST_QUEUES + 1)?;
        let len = MOST_QUEUES as usize * WORDS_OF_QUEUE;
        let counts = Map::shared(len)?;
        let words = SharedWords::of(&counts, len)?;
        let code = self.xdp_program(&sockets, &counts, most_bytes as i32);
        let program = Program::load(ProgramKind::Xdp, &code, &format!("the AF_XDP path of {}", interface.name))?;
        let mut refused = None;
        for &mode in modes {
            match program.attach_xdp(mode, interface.index, &interface.name) {
                Ok(link) => return Ok(XdpGate { sockets, words, life: None, mode, refused, _link: link }),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.expect("there is a mode"))
    }

    /// `take = alive && whole && !group && destination != OWN_ADDRESS && now < UNTIL && !(RELEASING && TAKEN == SENT)`
    fn xdp_program(&self, sockets: &Map, counts: &Map, most_bytes: i32) -> Vec<u64> {
        use Reg::*;
        let of_loop = |word| offset(block(0) + word);
        let mut asm = Assembler::new();
        asm.copy(R6, R1).load_word(R7, R6, DATA).load_word(R8, R6, DATA_END);
        asm.copy(R1, R7).add(R1, most_bytes + 1).if_at_least(R8, R1, "pass");
        asm.copy(R1, R7).add(R1, HEADER).if_at_least(R8, R1, "whole").jump("pass");
        asm.label("whole").load_byte(R1, R7, 0).and(R1, 1).unless_value(R1, 0, "pass");
        // In two parts, and not by way of the stack: there, without CAP_PERFMON, Linux 6.1 takes the second part for damage to
        // the first.
        asm.map_value(R9, &self.shared.map).load_word(R1, R7, 0).load_word(R2, R9, offset(OWN_ADDRESS));
        asm.if_equal(R1, R2, "begins so").jump("other").label("begins so");
        asm.load_half(R1, R7, 4).load_half(R2, R9, offset(OWN_ADDRESS) + 4).if_equal(R1, R2, "pass").label("other");
        asm.call(Helper::KtimeNs).load(R1, R9, of_loop(UNTIL)).if_at_least(R0, R1, "pass");
        asm.load_word(R8, R6, RX_QUEUE).set(R1, MOST_QUEUES as i32).if_at_least(R8, R1, "pass");
        // R7 = &words[queue]
        asm.copy(R1, R8).and(R1, MOST_QUEUES as i32 - 1);
        asm.multiply(R1, 8 * WORDS_OF_QUEUE as i32).map_value(R7, counts).add_reg(R7, R1);
        asm.load(R1, R9, of_loop(RELEASING)).if_value(R1, 0, "take");
        asm.load(R1, R7, 0).load(R2, R7, 8).if_equal(R1, R2, "pass");
        unless_alive(asm.label("take"), sockets, "pass");
        asm.map(R1, sockets).copy(R2, R8).set(R3, XDP_PASS).call(Helper::RedirectMap);
        asm.unless_value(R0, XDP_REDIRECT, "end").set(R1, 1).add_atomic(R7, 0, R1).jump("end");
        asm.label("pass").set(R0, XDP_PASS).label("end").exit();
        asm.finish()
    }
}

/// Goes to `dead` where the process has ended.
fn unless_alive(asm: &mut Assembler, sockets: &Map, dead: &'static str) {
    use Reg::*;
    asm.store_value(R10, KEY, LIFE as i32).map(R1, sockets).copy(R2, R10).add(R2, KEY.into());
    asm.call(Helper::MapLookup).if_value(R0, 0, dead);
}

impl XdpGate {
    /// The same in the filter of the port's ring.
    pub(super) fn unless_alive(&self, asm: &mut Assembler, dead: &'static str) {
        unless_alive(asm, &self.sockets, dead);
    }

    /// Where the program sees packets.
    pub fn mode(&self) -> XdpMode {
        self.mode
    }

    /// What was against the mode that was tried before, if there was one.
    pub fn refused(&self) -> Option<&OsError> {
        self.refused.as_ref()
    }

    /// From now on packets are taken while the lease is valid.
    ///
    /// # Errors
    /// A refused system call.
    pub fn start(&mut self) -> Result<(), OsError> {
        let life = xsk::first_to_go()?;
        self.sockets.set_socket(LIFE, &life)?;
        self.life = Some(life);
        Ok(())
    }

    /// Packets of this queue are taken by this socket.
    ///
    /// # Errors
    /// A refused system call.
    pub fn open(&self, queue: u32, socket: impl AsFd) -> Result<(), OsError> {
        self.sockets.set_socket(queue, socket)
    }

    /// While the lease is being released: reports the number of packets taken from the queue that have been sent or dropped.
    /// Returns whether that is all it took, so that the queue's packets go to the bridge.
    ///
    /// # Panics
    /// If there is no such queue.
    pub fn report_sent(&self, queue: u32, gone: u64) -> bool {
        let first = queue as usize * WORDS_OF_QUEUE;
        self.words.word(first + 1).store(gone, Ordering::Release);
        self.words.word(first).load(Ordering::Acquire) == gone
    }

    /// How many packets were taken instead of by the bridge.
    pub fn taken(&self) -> u64 {
        let taken = (0..MOST_QUEUES as usize).map(|queue| queue * WORDS_OF_QUEUE);
        taken.map(|word| self.words.word(word).load(Ordering::Acquire)).sum()
    }
}
