//! The hold: while it is in force, packets that come in on the box's ports go to this process and not through the
//! kernel's bridge; as soon as it is not, for whatever reason, the bridge forwards.
//!
//! Two small programs a port share the memory of this process:
//!
//! - The **filter** of the port's packet ring decides, packet by packet, whether the ring takes it, and notes the
//!   decision in a slot of the processor.
//! - The **gate** at tc ingress drops exactly the packets that the ring took. The kernel runs packet taps before tc
//!   ingress, for each packet on one processor without another of the port in between, so that the gate reads the
//!   decision on its own packet. No packet is taken and forwarded, or neither, however often the hold changes.
//!
//! The hold is a point in time, beaten forward by the packet loop. It ends
//! - when the process dies, whose descriptors are all that keeps the programs in place (before Linux 6.6 the gate stays,
//!   and passes everything, since without the filter no packet is decided to be the ring's);
//! - when the loop stops beating (stopped, hung), at the time last set;
//! - by [`Hold::release`]: packets in the ring must leave before those that the bridge forwards. So the filter goes on
//!   taking until everything that was taken has been sent ([`Hold::settle`]), and that is checked for each packet.
//!
//! Where the hold is not in force, the rings may be given copies of what the bridge forwards ([`Hold::watch`]): to be looked
//! at and not to be sent.
//!
//! The machine itself stays reachable: what is addressed to the bridge goes to the kernel, and of group-addressed
//! packets the bridge gets a copy that it does not forward.
//!
//! This orders packets of one processor, as the kernel does; a flow stays on one processor.
//!
//! Not here: what needs no BPF (an nftables table owned by the process does the same without the order at the switch).

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use crate::bpf::{Assembler, Helper, Link, Map, Program, ProgramKind, Reg, SharedWords};
use crate::clsact;
use crate::error::OsError;
use crate::iface::Interface;
use crate::ring::Ring;

/// Most ports of one hold.
pub const MAX_PORTS: usize = 8;

// The words of the shared map. Written by the process: UNTIL, RELEASING, OWN_ADDRESS, WATCHING and each port's SENT.
// Written by the gate: each port's TAKEN.
const UNTIL: usize = 0;
const RELEASING: usize = 1;
const OWN_ADDRESS: usize = 2;
const WATCHING: usize = 3;
const fn taken_word(port: usize) -> usize {
    4 + 2 * port
}
const fn sent_word(port: usize) -> usize {
    5 + 2 * port
}
const WORDS: usize = sent_word(MAX_PORTS - 1) + 1;

const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;
const INGRESS: i32 = 1;

/// Keeps traffic away from the kernel's bridge while it is in force. Dropping it lets the bridge forward.
#[derive(Debug)]
pub struct Hold {
    shared: Map,
    words: SharedWords,
    bridge: Option<Interface>,
    ports: Vec<Port>,
}

#[derive(Debug)]
struct Port {
    // Held for its drop, which detaches it.
    _gate: Gate,
}

/// How a gate is attached.
#[derive(Debug)]
enum Gate {
    /// It goes with the process, however that ends.
    Tcx { _link: Link },
    /// Before Linux 6.6. After a kill it stays, and lets everything pass since nobody beats the hold.
    Clsact { _attachment: clsact::Attachment },
}

impl Gate {
    fn attach(program: &Program, interface: &Interface) -> Result<Self, OsError> {
        match program.attach_ingress(interface.index, &interface.name) {
            Ok(link) => Ok(Self::Tcx { _link: link }),
            Err(error) if error.errno() == libc::EINVAL => {
                let attachment = clsact::Attachment::ingress(program, interface.index, &interface.name)?;
                Ok(Self::Clsact { _attachment: attachment })
            }
            Err(error) => Err(error),
        }
    }
}

/// Names a port of a [`Hold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortId(usize);

impl Hold {
    /// A hold without ports, not in force. `bridge` is the interface by which the machine itself takes part in the
    /// bridged network, where it does.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF`.
    pub fn new(bridge: Option<Interface>) -> Result<Self, OsError> {
        let shared = Map::shared(WORDS)?;
        let words = SharedWords::of(&shared, WORDS)?;
        if let Some(bridge) = &bridge {
            let mut address = [0; 8];
            address[..6].copy_from_slice(&bridge.address);
            words.word(OWN_ADDRESS).store(u64::from_ne_bytes(address), Ordering::Relaxed);
        }
        Ok(Self { shared, words, bridge, ports: Vec::new() })
    }

    /// Puts the port of `ring` under the hold. To be called before the ring is started: it then takes packets only
    /// while the hold is in force.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` and `CAP_NET_ADMIN`.
    ///
    /// # Panics
    /// With more than [`MAX_PORTS`] ports.
    pub fn attach(&mut self, ring: &Ring) -> Result<PortId, OsError> {
        let id = PortId(self.ports.len());
        assert!(id.0 < MAX_PORTS);
        let interface = ring.interface();
        let decision = Map::per_cpu_word()?;
        let name = |part: &str| format!("the hold's {part} for {}", interface.name);
        let gate = self.gate(&decision, id);
        let gate = Program::load(ProgramKind::SchedCls, &gate, &name("gate"))?;
        let filter = self.filter(&decision, id);
        let filter = Program::load(ProgramKind::SocketFilter, &filter, &name("filter"))?;
        let gate = Gate::attach(&gate, interface)?;
        filter.filter(ring.as_fd())?;
        self.ports.push(Port { _gate: gate });
        Ok(id)
    }

    /// The hold is in force until `until_ns` of `CLOCK_MONOTONIC`, unless it is set again before. Returns for how many
    /// nanoseconds it had run out, if it had: packets then passed by the bridge.
    pub fn beat(&self, now_ns: u64, until_ns: u64) -> Option<u64> {
        let was = self.words.word(UNTIL).swap(until_ns, Ordering::AcqRel);
        (was != 0).then(|| now_ns.checked_sub(was)).flatten()
    }

    /// Takes the hold up: from now on it is not being released.
    pub fn take(&self, until_ns: u64) {
        self.words.word(RELEASING).store(0, Ordering::Release);
        self.words.word(UNTIL).store(until_ns, Ordering::Release);
    }

    /// Begins to give the traffic back: from now on a port's packets go to the bridge as soon as everything that its
    /// ring took has been sent. It must be beaten further until [`Self::settle`] has been true for a while (a few
    /// milliseconds: packets whose decision is made but not yet counted), then [`Self::lift`]ed.
    pub fn release(&self) {
        self.words.word(RELEASING).store(1, Ordering::Release);
    }

    /// While releasing: says that so many packets that the port's ring took (copies do not count) have been sent or
    /// dropped. Returns whether that is all it took, so that the port's packets go to the bridge.
    pub fn settle(&self, port: PortId, gone: u64) -> bool {
        self.words.word(sent_word(port.0)).store(gone, Ordering::Release);
        self.words.word(taken_word(port.0)).load(Ordering::Acquire) == gone
    }

    /// The hold is not in force any more: the bridge forwards, the rings get nothing.
    pub fn lift(&self) {
        self.words.word(UNTIL).store(0, Ordering::Release);
    }

    /// From now on the rings get copies of what comes in while the hold is not in force, or do not. A copy may still come
    /// some milliseconds after the end of it; it must not be taken for a packet that the ring took.
    pub fn watch(&self, on: bool) {
        self.words.word(WATCHING).store(on.into(), Ordering::Release);
    }

    /// How many packets of the port the ring took instead of the bridge.
    pub fn taken(&self, port: PortId) -> u64 {
        self.words.word(taken_word(port.0)).load(Ordering::Acquire)
    }

    /// `take = now < UNTIL && destination != OWN_ADDRESS && !(RELEASING && TAKEN == SENT)`; what is not taken and not for
    /// the machine itself may be copied.
    fn filter(&self, decision: &Map, port: PortId) -> Vec<u64> {
        use Reg::*;
        let mut asm = Assembler::new();
        asm.copy(R6, R1).set(R8, 0);
        lookup(&mut asm, decision, "refuse");
        asm.copy(R7, R0).map_value(R9, &self.shared);
        load_packet_bytes(&mut asm, 6, "own");
        asm.load(R1, R10, SCRATCH).load(R2, R9, offset(OWN_ADDRESS)).if_equal(R1, R2, "own");
        asm.call(Helper::KtimeNs).load(R1, R9, offset(UNTIL)).if_at_least(R0, R1, "decided");
        asm.load(R1, R9, offset(RELEASING)).if_value(R1, 0, "take");
        asm.load(R1, R9, offset(taken_word(port.0))).load(R2, R9, offset(sent_word(port.0)));
        asm.if_equal(R1, R2, "decided");
        asm.label("take").set(R8, 1);
        asm.label("decided").store(R7, 0, R8).unless_value(R8, 0, "ring");
        asm.load(R8, R9, offset(WATCHING));
        // The socket may have this many bytes: 0, or 2^32 - 1.
        asm.label("ring").copy(R0, R8).negate(R0).exit();
        asm.label("own").store_value(R7, 0, 0);
        asm.label("refuse").set(R0, 0).exit();
        asm.finish()
    }

    /// Takes the decision out of its slot (a packet that no tap saw must not find an old one) and obeys it.
    fn gate(&self, decision: &Map, port: PortId) -> Vec<u64> {
        use Reg::*;
        let mut asm = Assembler::new();
        asm.copy(R6, R1);
        lookup(&mut asm, decision, "pass");
        asm.load(R7, R0, 0).store_value(R0, 0, 0).if_value(R7, 0, "pass");
        asm.map_value(R9, &self.shared).set(R1, 1).add_atomic(R9, offset(taken_word(port.0)), R1);
        if let Some(bridge) = &self.bridge {
            load_packet_bytes(&mut asm, 1, "drop");
            asm.load_byte(R1, R10, SCRATCH).and(R1, 1).if_value(R1, 0, "drop"); // not a group address
            asm.copy(R1, R6).set(R2, bridge.index as i32).set(R3, INGRESS).call(Helper::CloneRedirect);
        }
        asm.label("drop").set(R0, TCX_DROP).exit();
        asm.label("pass").set(R0, TCX_NEXT).exit();
        asm.finish()
    }
}

/// Where on the stack packet bytes and keys lie, relative to the frame pointer.
const SCRATCH: i16 = -16;
const KEY: i16 = -8;

const fn offset(word: usize) -> i16 {
    8 * word as i16
}

/// `R0 = &map[0]`, or goes to `missing` (which the verifier wants to be told; an array has its element).
fn lookup(asm: &mut Assembler, map: &Map, missing: &'static str) {
    use Reg::*;
    asm.store_value(R10, KEY, 0).map(R1, map).copy(R2, R10).add(R2, KEY.into());
    asm.call(Helper::MapLookup).if_value(R0, 0, missing);
}

/// Loads the first `len` bytes of the packet in R6 into the scratch word, zeros behind them, or goes to `short`.
fn load_packet_bytes(asm: &mut Assembler, len: i32, short: &'static str) {
    use Reg::*;
    asm.store_value(R10, SCRATCH, 0).copy(R1, R6).set(R2, 0).copy(R3, R10).add(R3, SCRATCH.into()).set(R4, len);
    asm.call(Helper::SkbLoadBytes).unless_value(R0, 0, short);
}
