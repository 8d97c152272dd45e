//! The fail-open gate: while its lease is valid, packets that arrive at the box's ports go to this process instead of the
//! kernel's bridge; as soon as the lease ends, for any reason, the bridge forwards them.
//!
//! Two small programs per port share memory with this process:
//!
//! - The **filter** of the port's packet ring decides for each packet whether the ring takes it, and stores the decision in
//!   a per-processor slot.
//! - The **gate** at tc ingress drops exactly the packets that the ring took. The kernel runs packet taps before tc
//!   ingress, for each packet on one processor without another packet of the port in between, so that the gate reads the
//!   decision for its own packet. So each packet is either taken or forwarded, however often the lease changes.
//!
//! The lease ends at a point in time that the packet loop renews. It ends
//! - when the process dies, whose descriptors keep the programs attached (before Linux 6.6 the gate stays, and passes
//!   everything, since without the filter no packet is assigned to the ring);
//! - when the loop stops renewing it (stopped, hung), at the time last set;
//! - by [`FailOpenGate::release`]: packets in the ring must leave before those that the bridge forwards. So the filter
//!   continues to take packets until everything that was taken has been sent ([`FailOpenGate::report_sent`]), and checks
//!   this for each packet.
//!
//! Without a valid lease, the rings may receive copies of the frames that the bridge forwards ([`FailOpenGate::watch`]), for
//! observation only.
//!
//! With several loops, each loop has its own ring on every port and its own lease ([`FailOpenGate::of_shards`]): each
//! filter takes its loop's packets by the outer VLAN tag, and one gate per port obeys whichever filter took a packet. The
//! statements above apply to each loop's packets: the packets of a hanging loop go to the bridge, and the other loops
//! continue.
//!
//! Packets that only the loop must see may be taken earlier, before the kernel has allocated an sk_buff: [`XdpGate`], which
//! obeys the same lease.
//!
//! The machine itself stays reachable: packets addressed to the bridge go to the kernel, and of group-addressed packets the
//! bridge gets a copy that it does not forward.
//!
//! Order is guaranteed for the packets of one processor, as in the kernel; a flow stays on one processor.
//!
//! Not here: fail-open without BPF (an nftables table owned by the process does the same without ordering at the
//! switchover).

mod xdp;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::bpf::{Assembler, Helper, Link, Map, Program, ProgramKind, Reg, SharedWords};
use crate::clsact;
use crate::error::OsError;
use crate::iface::Interface;
use crate::ring::Ring;

pub use xdp::{MOST_QUEUES, XdpGate};

/// Maximum number of ports of a hold.
pub const MAX_PORTS: usize = 8;
/// Maximum number of loops that share the ports.
pub const MAX_SHARDS: usize = 8;
/// Number of VLAN identifiers: IEEE 802.1Q has twelve bits for them.
pub const VLANS: usize = 4096;

// The words of the shared map: OWN_ADDRESS, a block for each shard, and a table with the shard of each VLAN, a byte each. The
// process writes all but TAKEN, which the gate writes.
const OWN_ADDRESS: usize = 0;
/// Words of a shard's block: three cache lines, so that no shard writes to another's.
const BLOCK: usize = 24;
// Words of a block:
const UNTIL: usize = 0;
const RELEASING: usize = 1;
const WATCHING: usize = 2;
const fn taken_word(port: usize) -> usize {
    3 + 2 * port
}
const fn sent_word(port: usize) -> usize {
    4 + 2 * port
}
/// Offset of a shard's block. Block 0 belongs to no shard, so that a decision, the shard's number plus one, is the number of
/// its block.
const fn block(shard: usize) -> usize {
    (shard + 1) * BLOCK
}
const TABLE: usize = block(MAX_SHARDS);
const WORDS: usize = TABLE + VLANS / 8;
/// Decisions are numbers below this.
const DECISIONS: i32 = 16;
const _: () = assert!(sent_word(MAX_PORTS - 1) < BLOCK && MAX_SHARDS < DECISIONS as usize);
const _: () = assert!((DECISIONS as usize) * BLOCK < WORDS);

// Fields of struct __sk_buff (linux/bpf.h).
const VLAN_PRESENT: i16 = 20;
const VLAN_TCI: i16 = 24;

const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;
const INGRESS: i32 = 1;

/// The shard of each VLAN, by the outer tag. Other packets belong to the first shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steering {
    shards: usize,
    table: Vec<u8>,
}

impl Steering {
    /// Assigns all VLANs to the first of `shards` shards.
    ///
    /// # Panics
    /// If `shards` is zero or above [`MAX_SHARDS`].
    pub fn new(shards: usize) -> Self {
        assert!((1..=MAX_SHARDS).contains(&shards));
        Self { shards, table: vec![0; VLANS] }
    }

    /// Number of shards.
    pub fn shards(&self) -> usize {
        self.shards
    }

    /// Assigns a VLAN to a shard.
    ///
    /// # Panics
    /// If there is no such shard, or the VLAN is not in 1 to 4095.
    pub fn send(&mut self, vlan: u16, shard: usize) {
        assert!(shard < self.shards && vlan > 0 && usize::from(vlan) < VLANS);
        self.table[usize::from(vlan)] = shard as u8;
    }

    /// The shard of packets of this VLAN, or of packets without one.
    ///
    /// # Panics
    /// If there is no such VLAN.
    pub fn shard_of(&self, vlan: Option<u16>) -> usize {
        vlan.map_or(0, |vlan| self.table[usize::from(vlan)].into())
    }
}

/// Keeps traffic away from the kernel's bridge while its lease is valid. When the last hold of a set is dropped, the bridge
/// forwards all traffic; when one is dropped earlier, with its ring, the bridge forwards that shard's.
#[derive(Debug)]
pub struct FailOpenGate {
    shared: Arc<Shared>,
    shard: usize,
}

/// State shared by the holds of all shards.
#[derive(Debug)]
struct Shared {
    map: Map,
    words: SharedWords,
    bridge: Option<Interface>,
    shards: usize,
    ports: Mutex<Vec<Port>>,
}

#[derive(Debug)]
struct Port {
    interface: u32,
    /// A word for each processor: number of the shard whose ring took the packet, plus one; zero: none has.
    decision: Map,
    // Held for its drop, which detaches it.
    _gate: Gate,
}

/// Attachment of a gate.
#[derive(Debug)]
enum Gate {
    /// Detached when the process ends in any way.
    Tcx { _link: Link },
    /// Before Linux 6.6. After a kill it stays, and lets everything pass since the lease is not renewed.
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

/// Identifies a port of a [`FailOpenGate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortId(usize);

impl FailOpenGate {
    /// A hold without ports and without a valid lease. `bridge` is the interface through which the machine itself takes part
    /// in the bridged network, if it does.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF`.
    pub fn new(bridge: Option<Interface>) -> Result<Self, OsError> {
        Ok(Self { shared: Arc::new(Shared::new(bridge, &Steering::new(1))?), shard: 0 })
    }

    /// A gate for each shard, as [`Self::new`].
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_shards(bridge: Option<Interface>, steering: &Steering) -> Result<Vec<Self>, OsError> {
        let shared = Arc::new(Shared::new(bridge, steering)?);
        Ok((0..steering.shards).map(|shard| Self { shared: Arc::clone(&shared), shard }).collect())
    }

    /// Attaches the port of `ring`. Call this before the ring is started: it then takes packets only while the
    /// lease is valid, and if the port has an AF_XDP path, while that one exists.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` and `CAP_NET_ADMIN`.
    ///
    /// # Panics
    /// With more than [`MAX_PORTS`] ports.
    pub fn attach(&mut self, ring: &Ring, xdp: Option<&XdpGate>) -> Result<PortId, OsError> {
        let interface = ring.interface();
        let name = |part: &str| format!("the fail-open {part} for {}", interface.name);
        let mut ports = self.shared.ports.lock().unwrap_or_else(PoisonError::into_inner);
        let number = ports.iter().position(|port| port.interface == interface.index);
        let id = PortId(number.unwrap_or(ports.len()));
        assert!(id.0 < MAX_PORTS);
        if number.is_none() {
            let decision = Map::per_cpu_word()?;
            let gate = self.shared.gate(&decision, id);
            let gate = Program::load(ProgramKind::SchedCls, &gate, &name("gate"))?;
            let _gate = Gate::attach(&gate, interface)?;
            ports.push(Port { interface: interface.index, decision, _gate });
        }
        let filter = self.shared.filter(&ports[id.0].decision, id, self.shard, xdp);
        drop(ports);
        Program::load(ProgramKind::SocketFilter, &filter, &name("filter"))?.filter(ring.as_fd())?;
        Ok(id)
    }

    /// A word of this shard's block.
    fn word(&self, word: usize) -> &AtomicU64 {
        self.shared.words.word(block(self.shard) + word)
    }

    /// Renews the lease until `until_ns` of `CLOCK_MONOTONIC`. Returns the nanoseconds since it expired, if it had: the
    /// bridge forwarded packets meanwhile.
    pub fn renew(&self, now_ns: u64, until_ns: u64) -> Option<u64> {
        let was = self.word(UNTIL).swap(until_ns, Ordering::AcqRel);
        (was != 0).then(|| now_ns.checked_sub(was)).flatten()
    }

    /// Acquires the lease, and ends a release.
    pub fn acquire(&self, until_ns: u64) {
        self.word(RELEASING).store(0, Ordering::Release);
        self.word(UNTIL).store(until_ns, Ordering::Release);
    }

    /// Begins the release: a port's packets go to the bridge as soon as everything that its ring took has been sent. The
    /// lease must be renewed until [`Self::report_sent`] has returned true for a few milliseconds (for packets whose decision is
    /// made but not yet counted), and then be revoked ([`Self::revoke`]).
    pub fn release(&self) {
        self.word(RELEASING).store(1, Ordering::Release);
    }

    /// While releasing: reports the number of packets taken by the port's ring (without copies) that have been sent or
    /// dropped. Returns whether that is all it took, so that the port's packets go to the bridge.
    pub fn report_sent(&self, port: PortId, gone: u64) -> bool {
        self.word(sent_word(port.0)).store(gone, Ordering::Release);
        self.word(taken_word(port.0)).load(Ordering::Acquire) == gone
    }

    /// Revokes the lease: the bridge forwards, the rings get nothing.
    pub fn revoke(&self) {
        self.word(UNTIL).store(0, Ordering::Release);
    }

    /// Updates the bridge's address, which changes when a port joins or leaves a bridge without a configured address: packets
    /// to the new one go to the machine.
    pub fn set_own_address(&self, address: [u8; 6]) {
        self.shared.words.word(OWN_ADDRESS).store(address_word(address), Ordering::Release);
    }

    /// Enables or disables copies of arriving packets for the rings while the lease is not valid. A copy may still arrive
    /// some milliseconds after copies are disabled; it must not be mistaken for a packet that the ring took.
    pub fn watch(&self, on: bool) {
        self.word(WATCHING).store(on.into(), Ordering::Release);
    }

    /// Number of the port's packets that the ring took instead of the bridge.
    pub fn taken(&self, port: PortId) -> u64 {
        self.word(taken_word(port.0)).load(Ordering::Acquire)
    }
}

impl Shared {
    fn new(bridge: Option<Interface>, steering: &Steering) -> Result<Self, OsError> {
        let map = Map::shared(WORDS)?;
        let words = SharedWords::of(&map, WORDS)?;
        if let Some(bridge) = &bridge {
            words.word(OWN_ADDRESS).store(address_word(bridge.address), Ordering::Relaxed);
        }
        for (at, of_eight) in steering.table.as_chunks::<8>().0.iter().enumerate() {
            words.word(TABLE + at).store(u64::from_ne_bytes(*of_eight), Ordering::Relaxed);
        }
        Ok(Self { map, words, bridge, shards: steering.shards, ports: Mutex::default() })
    }

    /// `take = alive && now < UNTIL && destination != OWN_ADDRESS && !(RELEASING && TAKEN == SENT)`; packets that are neither
    /// taken nor for the machine itself may be copied. Packets of other shards are not decided here.
    fn filter(&self, decision: &Map, port: PortId, shard: usize, xdp: Option<&XdpGate>) -> Vec<u64> {
        use Reg::*;
        let of_shard = |word| offset(block(shard) + word);
        let mut asm = Assembler::new();
        asm.copy(R6, R1).set(R8, 0);
        if self.shards > 1 {
            // R1 = TABLE[vlan], or [0], which is no VLAN.
            asm.map_value(R9, &self.map).set(R1, 0).load_word(R2, R6, VLAN_PRESENT).if_value(R2, 0, "untagged");
            asm.load_word(R1, R6, VLAN_TCI).and(R1, VLANS as i32 - 1);
            asm.label("untagged").add_reg(R9, R1).load_byte(R1, R9, offset(TABLE));
            asm.unless_value(R1, shard as i32, "refuse");
        }
        lookup(&mut asm, decision, "refuse");
        asm.copy(R7, R0).map_value(R9, &self.map);
        load_packet_bytes(&mut asm, 6, "own");
        asm.load(R1, R10, SCRATCH).load(R2, R9, offset(OWN_ADDRESS)).if_equal(R1, R2, "own");
        if let Some(xdp) = xdp {
            xdp.unless_alive(&mut asm, "decided");
        }
        asm.call(Helper::KtimeNs).load(R1, R9, of_shard(UNTIL)).if_at_least(R0, R1, "decided");
        asm.load(R1, R9, of_shard(RELEASING)).if_value(R1, 0, "take");
        asm.load(R1, R9, of_shard(taken_word(port.0))).load(R2, R9, of_shard(sent_word(port.0)));
        asm.if_equal(R1, R2, "decided");
        asm.label("take").set(R8, shard as i32 + 1);
        asm.label("decided").store(R7, 0, R8).unless_value(R8, 0, "all");
        asm.load(R8, R9, of_shard(WATCHING)).if_value(R8, 0, "refuse");
        // The socket may receive this many bytes.
        asm.label("all").set(R0, -1).exit();
        asm.label("own").store_value(R7, 0, 0);
        asm.label("refuse").set(R0, 0).exit();
        asm.finish()
    }

    /// Clears the decision (a packet that no tap saw must not find a stale one) and obeys it.
    fn gate(&self, decision: &Map, port: PortId) -> Vec<u64> {
        use Reg::*;
        let mut asm = Assembler::new();
        asm.copy(R6, R1);
        lookup(&mut asm, decision, "pass");
        asm.load(R7, R0, 0).store_value(R0, 0, 0).if_value(R7, 0, "pass");
        // The block of the shard that took it.
        asm.and(R7, DECISIONS - 1).multiply(R7, offset(BLOCK).into()).map_value(R9, &self.map).add_reg(R9, R7);
        asm.set(R1, 1).add_atomic(R9, offset(taken_word(port.0)), R1);
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

/// An address in the form in which the programs load it from a packet.
fn address_word([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_ne_bytes([a, b, c, d, e, f, 0, 0])
}

/// Offsets of packet bytes and keys on the stack, relative to the frame pointer.
const SCRATCH: i16 = -16;
const KEY: i16 = -8;

const fn offset(word: usize) -> i16 {
    8 * word as i16
}

/// `R0 = &map[0]`, or jumps to `missing` (required by the verifier; an array always has its element).
fn lookup(asm: &mut Assembler, map: &Map, missing: &'static str) {
    use Reg::*;
    asm.store_value(R10, KEY, 0).map(R1, map).copy(R2, R10).add(R2, KEY.into());
    asm.call(Helper::MapLookup).if_value(R0, 0, missing);
}

/// Loads the first `len` bytes of the packet in R6 into the scratch word, followed by zeros, or jumps to `short`.
fn load_packet_bytes(asm: &mut Assembler, len: i32, short: &'static str) {
    use Reg::*;
    asm.store_value(R10, SCRATCH, 0).copy(R1, R6).set(R2, 0).copy(R3, R10).add(R3, SCRATCH.into()).set(R4, len);
    asm.call(Helper::SkbLoadBytes).unless_value(R0, 0, short);
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::iface;
    use crate::netns::Netns;
    use crate::rt::monotonic_ns;
    use crate::tap::Tap;

    const VLAN: u16 = 12;

    fn frame(vlan: Option<u16>) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if let Some(vlan) = vlan {
            frame.extend([0x81, 0x00]);
            frame.extend(vlan.to_be_bytes());
        }
        frame.extend([0x88, 0xb5]);
        frame.resize(60, 0);
        frame
    }

    type Shard = (Ring, FailOpenGate, PortId);

    /// Two rings on a TAP device; the second one takes all packets of [`VLAN`].
    fn two_shards() -> Result<(Tap, Vec<Shard>), OsError> {
        let tap = Tap::create("tap0")?;
        let up = Command::new("ip").args(["link", "set", "tap0", "up"]).status().expect("ip(8) is installed");
        assert!(up.success());
        let interface = iface::find("tap0")?;
        let mut steering = Steering::new(2);
        steering.send(VLAN, 1);
        let rings = [Ring::open(&interface, 64)?, Ring::open(&interface, 64)?];
        let shards = rings.into_iter().zip(FailOpenGate::of_shards(None, &steering)?).map(|(ring, mut gate)| {
            let port = gate.attach(&ring, None)?;
            ring.start()?;
            Ok((ring, gate, port))
        });
        Ok((tap, shards.collect::<Result<_, OsError>>()?))
    }

    /// Packets that each ring has received since the last call, and packets that the gate counted for each so far.
    fn got(shards: &mut [Shard]) -> Vec<(u64, u64)> {
        let of = |(ring, gate, port): &mut Shard| {
            let mut count = 0;
            while ring.next_frame().is_some() {
                count += 1;
            }
            (count, gate.taken(*port))
        };
        shards.iter_mut().map(of).collect()
    }

    #[test]
    fn each_shard_takes_its_vlans_and_a_hanging_one_affects_no_other() {
        let namespace = match Netns::new() {
            Ok(namespace) => namespace,
            Err(error) => return eprintln!("skipped: {error} (needs root)"),
        };
        let skipped = namespace.run(|| {
            let (tap, mut shards) = match two_shards() {
                Ok(made) => made,
                Err(error) => return Some(error),
            };
            // The namespace may send packets itself; those that arrive are from this test.
            let send = |vlan| tap.write(&frame(vlan)).expect("written");
            let offer = || [None, Some(VLAN), Some(VLAN), Some(11), Some(VLAN)].into_iter().for_each(send);
            offer();
            assert_eq!(got(&mut shards), [(0, 0), (0, 0)], "no lease is acquired");
            let long = monotonic_ns() + 60_000_000_000;
            shards[0].1.acquire(long);
            shards[1].1.acquire(long);
            offer();
            assert_eq!(got(&mut shards), [(2, 2), (3, 3)]);
            // The second one stops renewing its lease.
            shards[1].1.renew(0, 1);
            offer();
            assert_eq!(got(&mut shards), [(2, 4), (0, 3)]);
            shards[1].1.watch(true);
            offer();
            assert_eq!(got(&mut shards), [(2, 6), (3, 3)], "copies are not taken");
            shards[1].1.watch(false);
            // The first one releases: its packets pass as soon as all that it took are settled.
            shards[1].1.renew(0, long);
            let (_, gate, port) = &shards[0];
            gate.release();
            assert!(!gate.report_sent(*port, 5), "one is missing");
            offer();
            assert_eq!(got(&mut shards), [(2, 8), (3, 6)]);
            let (_, gate, port) = &shards[0];
            assert!(gate.report_sent(*port, 8));
            offer();
            assert_eq!(got(&mut shards), [(0, 8), (3, 9)]);
            // Dropping one with its ring does not affect the other.
            shards.remove(0);
            offer();
            assert_eq!(got(&mut shards), [(3, 12)]);
            None
        });
        if let Some(error) = skipped.expect("entered") {
            eprintln!("skipped: {error}");
        }
    }
}
