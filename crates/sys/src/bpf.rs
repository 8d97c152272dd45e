//! Small eBPF programs without a compiler or a loader library: an assembler for the few required instructions, and bpf(2)
//! for maps, programs and links.
//!
//! Sources: RFC 9669 (instruction set), linux/bpf.h (commands, map and program types, helper numbers). Every object is a
//! descriptor of this process, and the kernel frees it with the process.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use crate::error::OsError;

/// A register. R0 is the result, R1..R5 are arguments and are lost in calls, R6..R9 survive calls, R10 is the frame
/// pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// A kernel function that programs may call (enum bpf_func_id).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Helper {
    /// `void *bpf_map_lookup_elem(map, &key)`
    MapLookup = 1,
    /// `u64 bpf_ktime_get_ns()`: `CLOCK_MONOTONIC`
    KtimeNs = 5,
    /// `long bpf_clone_redirect(skb, ifindex, flags)`
    CloneRedirect = 13,
    /// `long bpf_skb_load_bytes(skb, offset, to, len)`
    SkbLoadBytes = 26,
    /// `long bpf_redirect_map(map, key, flags)`: the low bits of the flags are the result if there is no such element
    RedirectMap = 51,
}

/// Kind of a program (enum bpf_prog_type).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProgramKind {
    /// Filter of a socket: gets the packet, returns the number of its bytes that the socket receives.
    SocketFilter = 1,
    /// Classifier of the tc layer: gets the packet, returns its verdict.
    SchedCls = 3,
    /// Gets a packet before the kernel has allocated an sk_buff, returns its verdict.
    Xdp = 6,
}

/// struct bpf_insn.
struct Instruction {
    opcode: u8,
    dst: Reg,
    src: u8,
    offset: i16,
    imm: i32,
}

impl Instruction {
    const fn new(opcode: u8, dst: Reg, src: u8, offset: i16, imm: i32) -> Self {
        Self { opcode, dst, src, offset, imm }
    }

    fn encode(self) -> u64 {
        let (dst, src) = (self.dst as u8, self.src);
        let regs = if cfg!(target_endian = "little") { src << 4 | dst } else { dst << 4 | src };
        let (offset, imm) = (self.offset.to_ne_bytes(), self.imm.to_ne_bytes());
        u64::from_ne_bytes([self.opcode, regs, offset[0], offset[1], imm[0], imm[1], imm[2], imm[3]])
    }
}

/// Assembles a program. Jumps go to named labels, which may be placed later.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<u64>,
    labels: Vec<(&'static str, usize)>,
    jumps: Vec<(usize, &'static str)>,
}

impl Assembler {
    /// An empty program.
    pub fn new() -> Self {
        Self::default()
    }

    fn push(&mut self, instruction: Instruction) -> &mut Self {
        self.code.push(instruction.encode());
        self
    }

    /// `dst = imm`
    pub fn set(&mut self, dst: Reg, imm: i32) -> &mut Self {
        self.push(Instruction::new(0xb7, dst, 0, 0, imm))
    }

    /// `dst = src`
    pub fn copy(&mut self, dst: Reg, src: Reg) -> &mut Self {
        self.push(Instruction::new(0xbf, dst, src as u8, 0, 0))
    }

    /// `dst += imm`
    pub fn add(&mut self, dst: Reg, imm: i32) -> &mut Self {
        self.push(Instruction::new(0x07, dst, 0, 0, imm))
    }

    /// `dst += src`
    pub fn add_reg(&mut self, dst: Reg, src: Reg) -> &mut Self {
        self.push(Instruction::new(0x0f, dst, src as u8, 0, 0))
    }

    /// `dst *= imm`
    pub fn multiply(&mut self, dst: Reg, imm: i32) -> &mut Self {
        self.push(Instruction::new(0x27, dst, 0, 0, imm))
    }

    /// `dst &= imm`
    pub fn and(&mut self, dst: Reg, imm: i32) -> &mut Self {
        self.push(Instruction::new(0x57, dst, 0, 0, imm))
    }

    /// `dst = *(u64 *)(base + offset)`
    pub fn load(&mut self, dst: Reg, base: Reg, offset: i16) -> &mut Self {
        self.push(Instruction::new(0x79, dst, base as u8, offset, 0))
    }

    /// `dst = *(u32 *)(base + offset)`, for fields of a packet's context
    pub fn load_word(&mut self, dst: Reg, base: Reg, offset: i16) -> &mut Self {
        self.push(Instruction::new(0x61, dst, base as u8, offset, 0))
    }

    /// `dst = *(u16 *)(base + offset)`
    pub fn load_half(&mut self, dst: Reg, base: Reg, offset: i16) -> &mut Self {
        self.push(Instruction::new(0x69, dst, base as u8, offset, 0))
    }

    /// `dst = *(u8 *)(base + offset)`
    pub fn load_byte(&mut self, dst: Reg, base: Reg, offset: i16) -> &mut Self {
        self.push(Instruction::new(0x71, dst, base as u8, offset, 0))
    }

    /// `*(u64 *)(base + offset) = src`
    pub fn store(&mut self, base: Reg, offset: i16, src: Reg) -> &mut Self {
        self.push(Instruction::new(0x7b, base, src as u8, offset, 0))
    }

    /// `*(u32 *)(base + offset) = src`, for fields of a packet's context
    pub fn store_word(&mut self, base: Reg, offset: i16, src: Reg) -> &mut Self {
        self.push(Instruction::new(0x63, base, src as u8, offset, 0))
    }

    /// `*(u64 *)(base + offset) = imm`
    pub fn store_value(&mut self, base: Reg, offset: i16, imm: i32) -> &mut Self {
        self.push(Instruction::new(0x7a, base, 0, offset, imm))
    }

    /// `*(u64 *)(base + offset) += src`, atomically
    pub fn add_atomic(&mut self, base: Reg, offset: i16, src: Reg) -> &mut Self {
        self.push(Instruction::new(0xdb, base, src as u8, offset, 0))
    }

    /// `dst = map`, as an argument of helpers
    pub fn map(&mut self, dst: Reg, map: &Map) -> &mut Self {
        self.push(Instruction::new(0x18, dst, 1, 0, map.fd.as_raw_fd()));
        self.push(Instruction::new(0, Reg::R0, 0, 0, 0))
    }

    /// `dst = &map[0]` of an array
    pub fn map_value(&mut self, dst: Reg, map: &Map) -> &mut Self {
        self.push(Instruction::new(0x18, dst, 2, 0, map.fd.as_raw_fd()));
        self.push(Instruction::new(0, Reg::R0, 0, 0, 0))
    }

    /// `R0 = helper(R1..R5)`
    pub fn call(&mut self, helper: Helper) -> &mut Self {
        self.push(Instruction::new(0x85, Reg::R0, 0, 0, helper as i32))
    }

    /// `goto label`
    pub fn jump(&mut self, label: &'static str) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.push(Instruction::new(0x05, Reg::R0, 0, 0, 0))
    }

    /// `if a == imm goto label`
    pub fn if_value(&mut self, a: Reg, imm: i32, label: &'static str) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.push(Instruction::new(0x15, a, 0, 0, imm))
    }

    /// `if a != imm goto label`
    pub fn unless_value(&mut self, a: Reg, imm: i32, label: &'static str) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.push(Instruction::new(0x55, a, 0, 0, imm))
    }

    /// `if a == b goto label`
    pub fn if_equal(&mut self, a: Reg, b: Reg, label: &'static str) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.push(Instruction::new(0x1d, a, b as u8, 0, 0))
    }

    /// `if a >= b goto label`, unsigned
    pub fn if_at_least(&mut self, a: Reg, b: Reg, label: &'static str) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.push(Instruction::new(0x3d, a, b as u8, 0, 0))
    }

    /// `return R0`
    pub fn exit(&mut self) -> &mut Self {
        self.push(Instruction::new(0x95, Reg::R0, 0, 0, 0))
    }

    /// Places the label `name` here.
    pub fn label(&mut self, name: &'static str) -> &mut Self {
        self.labels.push((name, self.code.len()));
        self
    }

    /// The finished instructions.
    ///
    /// # Panics
    /// If a jump has no label.
    pub fn finish(&self) -> Vec<u64> {
        let mut code = self.code.clone();
        for (at, name) in &self.jumps {
            let (_, target) = self.labels.iter().find(|(label, _)| label == name).expect("every label is placed");
            let distance = i16::try_from(*target as i64 - *at as i64 - 1).expect("programs are short").to_ne_bytes();
            let mut bytes = code[*at].to_ne_bytes();
            bytes[2..4].copy_from_slice(&distance);
            code[*at] = u64::from_ne_bytes(bytes);
        }
        code
    }
}

/// A map: memory shared between programs and this process.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
}

const ARRAY: u32 = 2;
const PER_CPU_ARRAY: u32 = 6;
const SOCKETS: u32 = 17;
const MMAPABLE: u32 = 1 << 10;

impl Map {
    /// One element of `words` 64-bit words that this process can map ([`SharedWords`]).
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF`, `ENOSYS` without bpf(2).
    pub fn shared(words: usize) -> Result<Self, OsError> {
        Self::create(ARRAY, words as u32 * 8, 1, MMAPABLE)
    }

    /// One 64-bit word for each processor.
    ///
    /// # Errors
    /// As [`Self::shared`].
    pub fn per_cpu_word() -> Result<Self, OsError> {
        Self::create(PER_CPU_ARRAY, 8, 1, 0)
    }

    /// An empty map of at most `most` AF_XDP sockets. A socket that is closed leaves the map.
    ///
    /// # Errors
    /// As [`Self::shared`].
    pub fn sockets(most: u32) -> Result<Self, OsError> {
        Self::create(SOCKETS, 4, most, 0)
    }

    /// Puts a socket into a map of sockets.
    ///
    /// # Errors
    /// `EOPNOTSUPP` if it is no AF_XDP socket, `E2BIG` if there is no such index.
    pub fn set_socket(&self, at: u32, socket: impl AsFd) -> Result<(), OsError> {
        #[repr(C)]
        struct Attributes {
            map: u32,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let fd = socket.as_fd().as_raw_fd();
        let (key, value) = ((&raw const at) as u64, (&raw const fd) as u64);
        let mut attributes = Attributes { map: self.fd.as_raw_fd() as u32, padding: 0, key, value, flags: 0 };
        command(2, &mut attributes, "BPF_MAP_UPDATE_ELEM of a socket").map(|_| ())
    }

    fn create(kind: u32, value_size: u32, elements: u32, flags: u32) -> Result<Self, OsError> {
        // map_type, key_size, value_size, max_entries, map_flags
        let mut attributes = [kind, 4, value_size, elements, flags];
        let fd = bpf(0, &mut attributes, "BPF_MAP_CREATE (needs CAP_BPF, or to be root)")?;
        Ok(Self { fd })
    }
}

/// The words of a [`Map::shared`] map, mapped into this process.
#[derive(Debug)]
pub struct SharedWords {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the words are atomics in memory that this value owns; nothing is tied to a thread.
unsafe impl Send for SharedWords {}
// SAFETY: all that a shared reference gives is references to atomics.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps the first `words` words.
    ///
    /// # Errors
    /// `EINVAL` if the map is smaller than the pages that hold `words`.
    pub fn of(map: &Map, words: usize) -> Result<Self, OsError> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let fd = map.fd.as_raw_fd();
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), words * 8, protection, libc::MAP_SHARED, fd, 0) };
        match NonNull::new(start.cast::<AtomicU64>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, words }),
            _ => Err(OsError::last("mmap of a BPF map")),
        }
    }

    /// The word at `index`.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.words);
        // SAFETY: inside the mapping, which starts at a page and lives as long as `self`; all users of it uses aligned 64-bit
        // accesses.
        unsafe { self.start.add(index).as_ref() }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: exactly the range that mmap returned; references into it borrow `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}

/// A program that the kernel has verified.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
}

impl Program {
    /// Loads a program; `what` names it in errors.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` (and `CAP_NET_ADMIN` for a classifier); `EINVAL`/`EACCES` if the verifier rejects it: the
    /// error then ends with the verifier's message.
    pub fn load(kind: ProgramKind, code: &[u64], what: &str) -> Result<Self, OsError> {
        #[repr(C)]
        struct Attributes {
            kind: u32,
            instructions: u32,
            code: u64,
            license: u64,
            log_level: u32,
            log_size: u32,
            log: u64,
            kernel_version: u32,
            flags: u32,
            name: [u8; 16],
        }
        let license = c"Dual MIT/GPL";
        let mut log = vec![0u8; 64 * 1024];
        let mut attributes = Attributes {
            kind: kind as u32,
            instructions: code.len() as u32,
            code: code.as_ptr() as u64,
            license: license.as_ptr() as u64,
            log_level: 1,
            log_size: log.len() as u32,
            log: log.as_mut_ptr() as u64,
            kernel_version: 0,
            flags: 0,
            name: crate::attached::own_name(),
        };
        let call = format!("BPF_PROG_LOAD of {what} (needs CAP_BPF and CAP_NET_ADMIN, or to be root)");
        match bpf(5, &mut attributes, &call) {
            Ok(fd) => Ok(Self { fd }),
            Err(error) if error.errno() == libc::EPERM => Err(error),
            Err(error) => {
                let said = String::from_utf8_lossy(&log).trim_end_matches('\0').trim_end().to_owned();
                Err(OsError::new(format!("{}, verifier: {said}", error.call()), error.errno()))
            }
        }
    }

    /// Makes this the filter of `socket`.
    ///
    /// # Errors
    /// `EPERM` if the socket's filter is locked.
    pub fn filter(&self, socket: impl AsFd) -> Result<(), OsError> {
        let fd = self.fd.as_raw_fd();
        let len = size_of_val(&fd) as libc::socklen_t;
        let socket = socket.as_fd().as_raw_fd();
        let value = (&raw const fd).cast();
        // SAFETY: the kernel reads one integer.
        match unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, value, len) } {
            0 => Ok(()),
            _ => Err(OsError::last("setsockopt(SO_ATTACH_BPF)")),
        }
    }

    /// Attaches the classifier at the ingress of interface number `index`, in front of all others, as long as the link lives.
    ///
    /// # Errors
    /// `EINVAL` before Linux 6.6; `EPERM` without `CAP_NET_ADMIN`; `ENODEV`.
    pub fn attach_ingress(&self, index: u32, name: &str) -> Result<Link, OsError> {
        const TCX_INGRESS: u32 = 46;
        const BEFORE: u32 = 1 << 3;
        // prog_fd, target_ifindex, attach_type, flags, tcx { relative_fd, padding, expected_revision }
        let mut attributes = [self.fd.as_raw_fd() as u32, index, TCX_INGRESS, BEFORE, 0, 0, 0, 0];
        let call = format!("BPF_LINK_CREATE, tcx ingress, on {name} (needs CAP_NET_ADMIN)");
        Ok(Link { fd: bpf(28, &mut attributes, &call)? })
    }
}

/// Where a program sees packets (linux/if_link.h, XDP_FLAGS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum XdpMode {
    /// In the kernel's general receive path, on any interface.
    Generic = 1 << 1,
    /// In the interface's driver, before the kernel has made a packet of its own.
    Native = 1 << 2,
}

impl Program {
    /// Attaches the program to packets that arrive at interface number `index`, before all other processing, as long as the
    /// link lives.
    ///
    /// # Errors
    /// `EOPNOTSUPP` if the driver cannot; `EBUSY` if there is such a program; `EPERM` without `CAP_NET_ADMIN`; `ENODEV`; and
    /// errors of the driver, such as `ERANGE` for a large MTU.
    pub fn attach_xdp(&self, mode: XdpMode, index: u32, name: &str) -> Result<Link, OsError> {
        const XDP: u32 = 37;
        // prog_fd, target_ifindex, attach_type, flags, and nothing more
        let mut attributes = [self.fd.as_raw_fd() as u32, index, XDP, mode as u32, 0, 0, 0, 0];
        let call = format!("BPF_LINK_CREATE, XDP {}, on {name} (needs CAP_NET_ADMIN)", mode.name());
        Ok(Link { fd: bpf(28, &mut attributes, &call)? })
    }
}

impl XdpMode {
    /// Name of the mode.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Native => "native",
        }
    }
}

/// An attachment, which ends when this is dropped or the process dies.
#[derive(Debug)]
pub struct Link {
    fd: OwnedFd,
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Runs a command that returns a descriptor.
pub(crate) fn bpf<T>(number: libc::c_long, attributes: &mut T, what: &str) -> Result<OwnedFd, OsError> {
    let fd = command(number, attributes, what)?;
    // SAFETY: a new descriptor without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

pub(crate) fn command<T>(number: libc::c_long, attributes: &mut T, what: &str) -> Result<libc::c_long, OsError> {
    // SAFETY: the kernel reads and writes at most `size_of::<T>()` bytes of `attributes`, all of whose fields are
    // plain data; pointers among them point to what the caller keeps alive.
    match unsafe { libc::syscall(libc::SYS_bpf, number, std::ptr::from_mut(attributes), size_of::<T>()) } {
        ..0 => Err(OsError::last(format!("bpf({what})"))),
        result => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_encoded_as_the_standard_says() {
        let mut asm = Assembler::new();
        asm.if_value(Reg::R1, 7, "end").set(Reg::R0, -1).label("end").exit();
        let bytes: Vec<[u8; 8]> = asm.finish().into_iter().map(u64::to_ne_bytes).collect();
        if cfg!(target_endian = "little") {
            assert_eq!(bytes[0], [0x15, 0x01, 1, 0, 7, 0, 0, 0]);
            assert_eq!(bytes[1], [0xb7, 0x00, 0, 0, 0xff, 0xff, 0xff, 0xff]);
            assert_eq!(bytes[2], [0x95, 0, 0, 0, 0, 0, 0, 0]);
        }
    }

    #[test]
    #[should_panic(expected = "every label is placed")]
    fn a_jump_to_nowhere_is_a_bug() {
        Assembler::new().if_value(Reg::R0, 0, "nowhere").finish();
    }

    #[test]
    fn the_verifier_accepts_a_good_program_and_explains_a_rejection() {
        let good = Assembler::new().set(Reg::R0, 0).exit().finish();
        if let Err(error) = Program::load(ProgramKind::SocketFilter, &good, "a test") {
            eprintln!("skipped: {error}");
            return;
        }
        let bad = Assembler::new().copy(Reg::R0, Reg::R5).exit().finish();
        let error = Program::load(ProgramKind::SocketFilter, &bad, "a test").expect_err("R5 has no value");
        assert!(error.to_string().contains("R5 !read_ok"), "{error}");
    }
}
