//! Requests to the kernel's bridge (rtnetlink(7)).

use crate::error::OsError;
use crate::iface;

/// linux/rtnetlink.h, linux/netlink.h, linux/neighbour.h, linux/if_link.h
const RTM_SETLINK: u16 = 19;
const RTM_DELNEIGH: u16 = 29;
const NLM_F_BULK: u16 = 0x200;
const AF_BRIDGE: u8 = 7;
const NUD_NOARP: u16 = 0x40;
const NUD_PERMANENT: u16 = 0x80;
const NTF_MASTER: u8 = 4;
const NTF_EXT_LEARNED: u8 = 0x10;
const NDA_NDM_STATE_MASK: u16 = 16;
const NDA_NDM_FLAGS_MASK: u16 = 17;
const IFLA_PROTINFO: u16 = 12;
const IFLA_BRPORT_FLUSH: u16 = 24;

/// Makes the bridge forget the addresses that it has learned at a port, by the port's index. Static and permanent entries
/// stay.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN`, `ENODEV`; `EOPNOTSUPP` or `EINVAL` if the interface is not a port of a bridge.
pub fn forget_learned(port: u32) -> Result<(), OsError> {
    match request(port, &bulk_delete(port)) {
        // Before Linux 5.19. This request sends a notification of the interface each time.
        Err(error) if [libc::EINVAL, libc::EOPNOTSUPP].contains(&error.errno()) => request(port, &flush(port)),
        answer => answer,
    }
}

fn request(port: u32, message: &[u8]) -> Result<(), OsError> {
    let call = || format!("forget the learned addresses of the bridge's port number {port}");
    let answer = iface::ask(message, call)?;
    // struct nlmsgerr: the error, negative, or zero.
    let error = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map_or(-libc::EPROTO, i32::from_ne_bytes);
    if error == 0 { Ok(()) } else { Err(OsError::new(call(), -error)) }
}

/// struct nlmsghdr with a placeholder for the length, which [`finish`] sets.
fn header(kind: u16, flags: u16) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend(kind.to_ne_bytes());
    out.extend((libc::NLM_F_REQUEST as u16 | libc::NLM_F_ACK as u16 | flags).to_ne_bytes());
    out.resize(16, 0);
    out
}

fn attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    out.extend((4 + value.len() as u16).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn finish(mut out: Vec<u8>) -> Vec<u8> {
    let len = out.len() as u32;
    out[..4].copy_from_slice(&len.to_ne_bytes());
    out
}

/// Deletes the entries of a port that are neither static nor permanent nor learned by another program.
fn bulk_delete(port: u32) -> Vec<u8> {
    let mut out = header(RTM_DELNEIGH, NLM_F_BULK);
    // struct ndmsg: family, padding, index, state (none of the mask), flags, type
    out.extend([AF_BRIDGE, 0, 0, 0]);
    out.extend(port.to_ne_bytes());
    out.extend([0, 0, NTF_MASTER, 0]);
    attribute(&mut out, NDA_NDM_STATE_MASK, &(NUD_NOARP | NUD_PERMANENT).to_ne_bytes());
    attribute(&mut out, NDA_NDM_FLAGS_MASK, &[NTF_EXT_LEARNED]);
    finish(out)
}

fn flush(port: u32) -> Vec<u8> {
    let mut out = header(RTM_SETLINK, 0);
    // struct ifinfomsg
    out.extend([AF_BRIDGE, 0, 0, 0]);
    out.extend(port.to_ne_bytes());
    out.extend([0; 8]);
    let mut settings = Vec::new();
    attribute(&mut settings, IFLA_BRPORT_FLUSH, &[]);
    attribute(&mut out, IFLA_PROTINFO | libc::NLA_F_NESTED as u16, &settings);
    finish(out)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::netns::Netns;

    fn run(command: &str) -> String {
        let mut words = command.split_whitespace();
        let output =
            Command::new(words.next().expect("a command")).args(words).output().expect("iproute2 is installed");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[test]
    fn learned_addresses_are_forgotten_and_others_stay() {
        let Ok(namespace) = Netns::new() else { return eprintln!("skipped: needs root") };
        let check = || {
            run("ip link add br0 up type bridge");
            for port in ["p0", "p1"] {
                run(&format!("ip link add {port} master br0 type veth peer name {port}x"));
                // The bridge accepts entries only at forwarding ports.
                ["", "x"].iter().for_each(|end| _ = run(&format!("ip link set {port}{end} up")));
                while iface::find(port).expect("made").port_state != Some(iface::PortState::Forwarding) {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                // Learned, static and permanent entries.
                run(&format!("bridge fdb add 02:00:00:00:{port}:01 dev {port} master dynamic").replace(":p", ":0"));
                run(&format!("bridge fdb add 02:00:00:00:{port}:02 dev {port} master static").replace(":p", ":0"));
                run(&format!("bridge fdb add 02:00:00:00:{port}:03 dev {port} master permanent").replace(":p", ":0"));
            }
            let index = iface::find("p0").expect("made").index;
            let has = |address: &str| run("bridge fdb show br br0").contains(address);
            for by_bulk in [true, false] {
                assert!(has("02:00:00:00:00:01"));
                match by_bulk {
                    true => forget_learned(index).expect("forgotten"),
                    false => request(index, &flush(index)).expect("forgotten"),
                }
                let left = ["00:01", "00:02", "00:03", "01:01", "01:02"].map(|end| has(&format!("02:00:00:00:{end}")));
                assert_eq!(left, [false, true, true, true, true], "{}", run("bridge fdb show br br0"));
                run("bridge fdb add 02:00:00:00:00:01 dev p0 master dynamic");
            }
            run("ip link set p1 nomaster");
            forget_learned(iface::find("p1").expect("made").index).expect_err("not a port of a bridge");
            assert_eq!(forget_learned(0x7fff_fff0).expect_err("there is none").errno(), libc::ENODEV);
        };
        namespace.run(check).expect("entered");
    }
}
