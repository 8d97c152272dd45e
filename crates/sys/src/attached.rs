//! BPF programs at tcx and XDP that see the packets arriving at an interface: Evenair's, or another program's.
//!
//! Uses bpf(2) with BPF_PROG_QUERY (needs CAP_NET_ADMIN), and BPF_PROG_GET_FD_BY_ID for the names (needs CAP_SYS_ADMIN, so
//! that they are often unknown).
#![allow(unsafe_code)]

use crate::bpf;
use crate::error::OsError;
use crate::iface::Interface;

/// Maximum number of programs that are looked up, for each hook.
const MOST: usize = 64;
/// Prefix of the names of our programs; the process id follows.
const OURS: &str = "evenair_";

/// A program that is attached to an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Where it is attached: "tcx" or "XDP".
    pub hook: &'static str,
    /// Kernel id of the program.
    pub id: u32,
    /// Its name, if the caller may read it.
    pub name: Option<String>,
}

impl Attached {
    /// Process id of the box that owns the program; `None` if it is not a box's, or its name is unknown.
    pub fn process(&self) -> Option<u32> {
        self.name.as_ref()?.strip_prefix(OURS)?.parse().ok()
    }
}

/// Name of the programs of this process: at most fifteen bytes.
pub(crate) fn own_name() -> [u8; 16] {
    let mut name = [0; 16];
    let text = format!("{OURS}{}", std::process::id());
    name.iter_mut().take(15).zip(text.bytes()).for_each(|(to, from)| *to = from);
    name
}

/// The programs that see packets arriving at an interface now. None at tcx before Linux 6.6.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN`, `ENODEV`.
pub fn at_ingress(interface: &Interface) -> Result<Vec<Attached>, OsError> {
    let tcx = query_tcx(interface)?.into_iter().map(|id| ("tcx", id));
    let all = tcx.chain(interface.xdp_program.map(|id| ("XDP", id)));
    Ok(all.map(|(hook, id)| Attached { hook, id, name: name_of(id) }).collect())
}

fn query_tcx(interface: &Interface) -> Result<Vec<u32>, OsError> {
    const TCX_INGRESS: u32 = 46;
    #[repr(C)]
    struct Attributes {
        interface: u32,
        kind: u32,
        flags: u32,
        attach_flags: u32,
        programs: u64,
        count: u32,
        padding: u32,
        more: [u64; 4],
    }
    let mut ids = [0u32; MOST];
    let mut attributes = Attributes {
        interface: interface.index,
        kind: TCX_INGRESS,
        flags: 0,
        attach_flags: 0,
        programs: ids.as_mut_ptr() as u64,
        count: MOST as u32,
        padding: 0,
        more: [0; 4],
    };
    let call = format!("BPF_PROG_QUERY, tcx ingress, on {} (needs CAP_NET_ADMIN)", interface.name);
    match bpf::command(16, &mut attributes, &call) {
        Ok(_) => Ok(ids.into_iter().take(attributes.count as usize).filter(|id| *id != 0).collect()),
        // None was ever attached, or the kernel has no tcx.
        Err(error) if [libc::ENOENT, libc::EINVAL].contains(&error.errno()) => Ok(Vec::new()),
        // There are more.
        Err(error) if error.errno() == libc::ENOSPC => Ok(ids.to_vec()),
        Err(error) => Err(error),
    }
}

fn name_of(id: u32) -> Option<String> {
    // prog_id, next_id, open_flags
    let mut attributes = [id, 0, 0];
    let program = bpf::bpf(13, &mut attributes, "BPF_PROG_GET_FD_BY_ID").ok()?;
    #[repr(C)]
    struct Attributes {
        program: u32,
        len: u32,
        info: u64,
    }
    // struct bpf_prog_info up to the name, which is its last sixteen bytes.
    let mut info = [0u64; 10];
    let mut attributes = Attributes {
        program: std::os::fd::AsRawFd::as_raw_fd(&program) as u32,
        len: size_of_val(&info) as u32,
        info: info.as_mut_ptr() as u64,
    };
    bpf::command(15, &mut attributes, "BPF_OBJ_GET_INFO_BY_FD").ok()?;
    let bytes = info[8..].iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0);
    Some(String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::{Assembler, Program, ProgramKind, Reg, XdpMode};
    use crate::netns::Netns;
    use crate::{iface, tap::Tap};

    #[test]
    fn attached_programs_are_found_with_their_names() {
        let Ok(namespace) = Netns::new() else { return eprintln!("skipped: needs root") };
        let look = || -> Result<(), OsError> {
            let _tap = Tap::create("tap0")?;
            let pass = |kind| Program::load(kind, &Assembler::new().set(Reg::R0, 2).exit().finish(), "a test");
            let interface = iface::find("tap0")?;
            assert_eq!(at_ingress(&interface)?, []);
            let _tcx = pass(ProgramKind::SchedCls)?.attach_ingress(interface.index, "tap0");
            let _xdp = pass(ProgramKind::Xdp)?.attach_xdp(XdpMode::Generic, interface.index, "tap0")?;
            let found = at_ingress(&iface::find("tap0")?)?;
            assert!(found.iter().any(|program| program.hook == "XDP"), "{found:?}");
            assert!(_tcx.is_err() || found.iter().any(|program| program.hook == "tcx"), "{found:?}");
            for program in found.iter().filter(|program| program.name.is_some()) {
                assert_eq!(program.process(), Some(std::process::id()), "{program:?}");
            }
            Ok(())
        };
        if let Err(error) = namespace.run(look).expect("entered") {
            eprintln!("skipped: {error}");
        }
    }
}
