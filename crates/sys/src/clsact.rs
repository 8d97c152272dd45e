//! A classifier at the ingress of an interface for kernels without tcx (before Linux 6.6).
//!
//! The program is attached to a `clsact` queueing discipline by rtnetlink(7), like `tc filter add dev DEV ingress bpf
//! direct-action` (tc-bpf(8)). Unlike a tcx link, it stays attached when the process dies. So such a program must let
//! packets pass by itself when its process is gone, as the gate of [`crate::fail_open`] does; the next start replaces it.
//!
//! The empty discipline remains when the program is detached: it has no effect, and removing it under traffic sometimes
//! loses a packet.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::error::OsError;

/// linux/rtnetlink.h, linux/pkt_sched.h, linux/pkt_cls.h.
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
const TC_H_CLSACT: u32 = 0xffff_fff1;
const TC_H_CLSACT_HANDLE: u32 = 0xffff_0000;
const TC_H_INGRESS: u32 = 0xffff_fff2;
/// In front of all others; with the handle it names the filter, so that a new one replaces one that was left behind.
const PREFERENCE: u32 = 1;
const HANDLE: u32 = 1;

/// An attached program: it is detached when this is dropped, but not when the process is killed.
#[derive(Debug)]
pub struct Attachment {
    index: u32,
    name: String,
}

impl Attachment {
    /// Attaches the classifier `program` where packets come in on interface number `index` of the calling thread's
    /// namespace.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN`, `ENODEV`, `EOPNOTSUPP` or `ENOENT` on a kernel without `cls_bpf`.
    pub fn ingress(program: impl AsFd, index: u32, name: &str) -> Result<Self, OsError> {
        let create = libc::NLM_F_CREATE as u16;
        let discipline = Request::new(
            libc::RTM_NEWQDISC,
            create | libc::NLM_F_EXCL as u16,
            TcMessage { index, handle: TC_H_CLSACT_HANDLE, parent: TC_H_CLSACT, info: 0 },
        )
        .attribute(TCA_KIND, b"clsact\0");
        match discipline.send(name, "add a clsact queueing discipline to") {
            Err(error) if error.errno() != libc::EEXIST => return Err(error),
            _ => {}
        }
        let attachment = Self { index, name: name.to_owned() };
        let fd = program.as_fd().as_raw_fd() as u32;
        let options = [
            attribute(TCA_BPF_FD, &fd.to_ne_bytes()),
            attribute(TCA_BPF_NAME, b"evenair\0"),
            attribute(TCA_BPF_FLAGS, &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes()),
        ];
        attachment
            .filter(libc::RTM_NEWTFILTER, create | libc::NLM_F_REPLACE as u16)
            .attribute(TCA_KIND, b"bpf\0")
            .attribute(TCA_OPTIONS | libc::NLA_F_NESTED as u16, &options.concat())
            .send(name, "attach a classifier to the ingress of")?;
        Ok(attachment)
    }

    fn filter(&self, kind: u16, flags: u16) -> Request {
        let every_protocol = u32::from((libc::ETH_P_ALL as u16).to_be());
        let info = PREFERENCE << 16 | every_protocol;
        Request::new(kind, flags, TcMessage { index: self.index, handle: HANDLE, parent: TC_H_INGRESS, info })
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        // Errors in here mean that the interface, and with it the attachment, is gone.
        let _ = self.filter(libc::RTM_DELTFILTER, 0).attribute(TCA_KIND, b"bpf\0").send(&self.name, "clean");
    }
}

/// struct tcmsg, without its family.
struct TcMessage {
    index: u32,
    handle: u32,
    parent: u32,
    info: u32,
}

/// struct nlmsghdr and struct tcmsg, then attributes.
struct Request(Vec<u8>);

impl Request {
    fn new(kind: u16, flags: u16, message: TcMessage) -> Self {
        let flags = flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut out = vec![0; 4];
        out.extend(kind.to_ne_bytes());
        out.extend(flags.to_ne_bytes());
        out.extend([0; 8]); // sequence number, port
        out.extend([0; 4]); // family, padding
        let TcMessage { index, handle, parent, info } = message;
        [index, handle, parent, info].iter().for_each(|word| out.extend(word.to_ne_bytes()));
        Self(out)
    }

    fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend(attribute(kind, value));
        self
    }

    /// Sends it and waits for the kernel's acknowledgement.
    fn send(mut self, name: &str, what: &str) -> Result<(), OsError> {
        let call = || format!("{what} {name} (rtnetlink; needs CAP_NET_ADMIN)");
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_ne_bytes());
        // SAFETY: takes no pointer.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
        if fd < 0 {
            return Err(OsError::last("socket(AF_NETLINK)"));
        }
        // SAFETY: a new descriptor without another owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: the pointer and the length are those of a live vector.
        if unsafe { libc::send(fd.as_raw_fd(), self.0.as_ptr().cast(), self.0.len(), 0) } < 0 {
            return Err(OsError::last(call()));
        }
        let mut answer = [0u8; 4096];
        // SAFETY: the pointer and the length are those of a live, exclusively borrowed array.
        let n = unsafe { libc::recv(fd.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
        let Ok(n) = usize::try_from(n) else { return Err(OsError::last(call())) };
        // struct nlmsghdr (16 bytes), then struct nlmsgerr, which begins with the error; 0 is the acknowledgement.
        let error = answer[..n].get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
        match error {
            Some(0) => Ok(()),
            Some(error) => Err(OsError::new(call(), -error)),
            None => Err(OsError::new(call(), libc::EPROTO)),
        }
    }
}

/// struct rtattr, the value, padding to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity((4 + value.len()).next_multiple_of(4));
    out.extend((4 + value.len() as u16).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::bpf::{Assembler, Map, Program, ProgramKind, Reg, SharedWords};
    use crate::iface;
    use crate::netns::Netns;
    use crate::tap::Tap;

    /// A classifier that counts what it sees in the first word of `map` and lets it pass.
    fn counter(map: &Map) -> Result<Program, OsError> {
        let mut asm = Assembler::new();
        asm.map_value(Reg::R9, map).set(Reg::R1, 1).add_atomic(Reg::R9, 0, Reg::R1).set(Reg::R0, -1).exit();
        Program::load(ProgramKind::SchedCls, &asm.finish(), "a counter")
    }

    #[test]
    fn an_attached_program_sees_what_comes_in_until_it_is_dropped_or_replaced() {
        let namespace = match Netns::new() {
            Ok(namespace) => namespace,
            Err(error) => return eprintln!("skipped: {error} (needs root)"),
        };
        let skipped = namespace.run(|| {
            let tap = match Tap::create("tap0") {
                Ok(tap) => tap,
                Err(error) => return Some(error),
            };
            let (one, two) = match (Map::shared(1), Map::shared(1)) {
                (Ok(one), Ok(two)) => (one, two),
                (Err(error), _) | (_, Err(error)) => return Some(error),
            };
            let up = Command::new("ip").args(["link", "set", "tap0", "up"]).status().expect("ip(8) is installed");
            assert!(up.success());
            let index = iface::find("tap0").expect("just made").index;
            let seen = |map: &Map| SharedWords::of(map, 1).expect("mapped").word(0).load(Ordering::Relaxed);
            let mut frame = [0u8; 60];
            frame[..6].fill(0xff);
            frame[12] = 0x88;

            let first = Attachment::ingress(counter(&one).expect("loaded").as_fd(), index, "tap0").expect("attached");
            tap.write(&frame).expect("written");
            assert_eq!(seen(&one), 1);
            // As after a kill: the first was never taken away. (Nothing else is left to do for it.)
            std::mem::forget(first);
            let second = Attachment::ingress(counter(&two).expect("loaded").as_fd(), index, "tap0").expect("replaced");
            tap.write(&frame).expect("written");
            assert_eq!((seen(&one), seen(&two)), (1, 1));
            drop(second);
            tap.write(&frame).expect("written");
            assert_eq!((seen(&one), seen(&two)), (1, 1));
            None
        });
        if let Some(error) = skipped.expect("entered") {
            eprintln!("skipped: {error}");
        }
    }

    #[test]
    fn a_missing_interface_is_an_error_with_its_name() {
        let request = Request::new(
            libc::RTM_NEWQDISC,
            libc::NLM_F_CREATE as u16,
            TcMessage { index: 0x7fff_fff0, handle: TC_H_CLSACT_HANDLE, parent: TC_H_CLSACT, info: 0 },
        );
        let error = request.attribute(TCA_KIND, b"clsact\0").send("gone0", "add to").expect_err("there is none");
        assert!(error.to_string().contains("gone0"), "{error}");
    }
}
