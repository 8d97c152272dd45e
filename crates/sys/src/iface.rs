//! The kernel's state of a network interface: one RTM_GETLINK request per query (rtnetlink(7)).
//!
//! It uses rtnetlink instead of `/sys/class/net`, because sysfs shows the namespace that mounted it, not the caller's. It
//! only reads, except for [`set_receive_merging`] and [`set_vlan_stripping`], which are ethtool requests; `ip(8)` creates
//! interfaces.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::OsError;

/// An interface in the calling thread's network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Interface index.
    pub index: u32,
    /// Largest packet above the Ethernet header, in bytes.
    pub mtu: u32,
    /// MAC address; zeros if it has none of six bytes.
    pub address: [u8; 6],
    /// Whether it is administratively up.
    pub up: bool,
    /// Whether it has a carrier; `None` if the kernel does not report it.
    pub carrier: Option<bool>,
    /// Index of its bridge (or other master).
    pub master: Option<u32>,
    /// `group_fwd_mask` of a bridge: which of the addresses 01:80:c2:00:00:0x it forwards. `None` for other interfaces.
    pub bridge_group_forward: Option<u16>,
    /// Whether a bridge takes part in the spanning tree protocol. `None` for other interfaces.
    pub bridge_spanning_tree: Option<bool>,
    /// State of a bridge's port, which decides whether the bridge forwards packets from it. `None` for other interfaces.
    pub port_state: Option<PortState>,
    /// Whether it is an isolated port of a bridge: the bridge forwards nothing between two isolated ports.
    pub port_isolated: bool,
    /// `group_fwd_mask` of a bridge's port: which of the addresses 01:80:c2:00:00:0x the bridge forwards from it, in
    /// addition to those of its own mask.
    pub port_group_forward: u16,
    /// Id of the XDP program at its ingress, if there is one.
    pub xdp_program: Option<u32>,
}

/// The state of a bridge's port (BR_STATE_* of linux/if_bridge.h; IEEE 802.1D, 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PortState {
    /// The port is down or has no carrier.
    Disabled,
    Listening,
    Learning,
    Forwarding,
    Blocking,
}

impl PortState {
    fn new(number: u8) -> Option<Self> {
        [Self::Disabled, Self::Listening, Self::Learning, Self::Forwarding, Self::Blocking]
            .get(usize::from(number))
            .copied()
    }
}

/// Looks up the interface called `name`.
///
/// # Errors
/// `ENODEV` if there is none of this name in the calling thread's namespace.
pub fn find(name: &str) -> Result<Interface, OsError> {
    let call = || format!("look up the interface {name:?} (RTM_GETLINK)");
    if name.is_empty() || name.len() >= libc::IF_NAMESIZE {
        return Err(OsError::new(call(), libc::ENODEV));
    }
    look_up(&get_link(0, Some(name)), call)
}

/// Looks up the interface with this index, under its present name.
///
/// # Errors
/// `ENODEV` if there is none in the calling thread's namespace.
pub fn find_index(index: u32) -> Result<Interface, OsError> {
    look_up(&get_link(index, None), || format!("look up the interface number {index} (RTM_GETLINK)"))
}

/// Maximum number of segments in a packet from the other end of a virtual cable (`gso_max_segs` there): 1 if there are no
/// super-packets. `None` if the interface has no other end, or one in an inaccessible network namespace.
///
/// # Errors
/// As [`find`].
pub fn segments_of_peer(name: &str) -> Result<Option<u32>, OsError> {
    let own = find(name)?;
    let call = || format!("look up the other end of {name} (RTM_GETLINK)");
    let answer = ask(&get_link(own.index, None), call)?;
    let Some(peer) = attribute_u32(&answer, libc::IFLA_LINK).filter(|peer| *peer != 0) else { return Ok(None) };
    let mut request = get_link(peer, None);
    if let Some(namespace) = attribute_u32(&answer, libc::IFLA_LINK_NETNSID) {
        request.extend(8u16.to_ne_bytes());
        request.extend(IFLA_TARGET_NETNSID.to_ne_bytes());
        request.extend(namespace.to_ne_bytes());
        let total = request.len() as u32;
        request[..4].copy_from_slice(&total.to_ne_bytes());
    }
    let answer = ask(&request, call)?;
    Ok(attribute_u32(&answer, IFLA_GSO_MAX_SEGS))
}

/// linux/if_link.h
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_TARGET_NETNSID: u16 = 46;

/// A 32-bit attribute of an answer; `None` if it is missing, or the answer is an error.
fn attribute_u32(answer: &[u8], kind: u16) -> Option<u32> {
    if i32::from(u16_at(answer, 4)?) == libc::NLMSG_ERROR {
        return None;
    }
    let (_, value) = attributes(answer.get(HEADER + IFINFO..)?).find(|(of, _)| *of == kind)?;
    u32_at(value, 0)
}

fn look_up(request: &[u8], call: impl Fn() -> String) -> Result<Interface, OsError> {
    parse_answer(&ask(request, &call)?).map_err(|errno| OsError::new(call(), errno))
}

pub(crate) fn ask(request: &[u8], call: impl Fn() -> String) -> Result<Vec<u8>, OsError> {
    // SAFETY: takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    if fd < 0 {
        return Err(OsError::last("socket(AF_NETLINK)"));
    }
    // SAFETY: a new descriptor without another owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the pointer and the length are those of a live vector.
    if unsafe { libc::send(fd.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) } < 0 {
        return Err(OsError::last(call()));
    }
    let mut answer = vec![0u8; 32 * 1024];
    // SAFETY: the pointer and the length are those of a live, exclusively borrowed vector.
    let n = unsafe { libc::recv(fd.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    let Ok(n) = usize::try_from(n) else { return Err(OsError::last(call())) };
    answer.truncate(n);
    Ok(answer)
}

const HEADER: usize = 16; // struct nlmsghdr
const IFINFO: usize = 16; // struct ifinfomsg

/// struct nlmsghdr, struct ifinfomsg with the interface's index, and with a name attribute IFLA_IFNAME.
fn get_link(index: u32, name: Option<&str>) -> Vec<u8> {
    // The length comes last.
    let mut out = vec![0; 4];
    out.extend(libc::RTM_GETLINK.to_ne_bytes());
    out.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    out.resize(HEADER + 4, 0);
    out.extend(index.to_ne_bytes());
    out.resize(HEADER + IFINFO, 0);
    if let Some(name) = name {
        out.extend((4 + name.len() as u16 + 1).to_ne_bytes());
        out.extend(libc::IFLA_IFNAME.to_ne_bytes());
        out.extend(name.as_bytes());
        out.push(0);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    let total = out.len() as u32;
    out[..4].copy_from_slice(&total.to_ne_bytes());
    out
}

fn parse_answer(answer: &[u8]) -> Result<Interface, i32> {
    let kind = u16_at(answer, 4).ok_or(libc::EPROTO)?;
    if i32::from(kind) == libc::NLMSG_ERROR {
        return Err(u32_at(answer, HEADER).map_or(libc::EPROTO, |e| -(e as i32)));
    }
    let (Some(index), Some(flags)) = (u32_at(answer, HEADER + 4), u32_at(answer, HEADER + 8)) else {
        return Err(libc::EPROTO);
    };
    let mut found = Interface {
        name: String::new(),
        index,
        mtu: 0,
        address: [0; 6],
        up: flags & libc::IFF_UP as u32 != 0,
        carrier: None,
        master: None,
        bridge_group_forward: None,
        bridge_spanning_tree: None,
        port_state: None,
        port_isolated: false,
        port_group_forward: 0,
        xdp_program: None,
    };
    for (kind, value) in attributes(answer.get(HEADER + IFINFO..).ok_or(libc::EPROTO)?) {
        match kind {
            libc::IFLA_IFNAME => {
                found.name = String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned();
            }
            libc::IFLA_MTU => found.mtu = u32_at(value, 0).ok_or(libc::EPROTO)?,
            libc::IFLA_MASTER => found.master = u32_at(value, 0),
            libc::IFLA_ADDRESS => found.address = value.try_into().unwrap_or_default(),
            libc::IFLA_XDP => found.xdp_program = xdp_program(value),
            libc::IFLA_CARRIER => found.carrier = value.first().map(|&carrier| carrier != 0),
            libc::IFLA_LINKINFO => {
                found.bridge_group_forward = bridge_setting(value, IFLA_BR_GROUP_FWD_MASK).and_then(|v| u16_at(v, 0));
                found.bridge_spanning_tree =
                    bridge_setting(value, IFLA_BR_STP_STATE).and_then(|v| u32_at(v, 0)).map(|on| on != 0);
                found.port_state = port_setting(value, IFLA_BRPORT_STATE).and_then(|v| PortState::new(*v.first()?));
                found.port_isolated = port_setting(value, IFLA_BRPORT_ISOLATED).is_some_and(|v| v.first() == Some(&1));
                found.port_group_forward =
                    port_setting(value, IFLA_BRPORT_GROUP_FWD_MASK).and_then(|v| u16_at(v, 0)).unwrap_or(0);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// linux/if_link.h
const IFLA_BR_STP_STATE: u16 = 5;
const IFLA_BR_GROUP_FWD_MASK: u16 = 9;

const IFLA_BRPORT_STATE: u16 = 1;
const IFLA_BRPORT_GROUP_FWD_MASK: u16 = 31;
const IFLA_BRPORT_ISOLATED: u16 = 33;

/// IFLA_INFO_SLAVE_KIND must say "bridge"; IFLA_INFO_SLAVE_DATA then carries the port's settings.
fn port_setting(link_info: &[u8], setting: u16) -> Option<&[u8]> {
    let is_port = attributes(link_info).any(|(kind, value)| {
        kind == libc::IFLA_INFO_SLAVE_KIND && value.strip_suffix(&[0]).unwrap_or(value) == b"bridge"
    });
    let (_, data) = attributes(link_info).find(|(kind, _)| is_port && *kind == libc::IFLA_INFO_SLAVE_DATA)?;
    attributes(data).find(|(kind, _)| *kind == setting).map(|(_, value)| value)
}

/// Any of IFLA_XDP_PROG_ID and, where there are several, IFLA_XDP_DRV_PROG_ID, IFLA_XDP_SKB_PROG_ID and IFLA_XDP_HW_PROG_ID.
fn xdp_program(xdp: &[u8]) -> Option<u32> {
    attributes(xdp).filter(|(kind, _)| (4..=7).contains(kind)).find_map(|(_, id)| u32_at(id, 0).filter(|id| *id != 0))
}

/// IFLA_INFO_KIND must say "bridge"; IFLA_INFO_DATA then carries the bridge's settings.
fn bridge_setting(link_info: &[u8], setting: u16) -> Option<&[u8]> {
    let is_bridge = attributes(link_info)
        .any(|(kind, value)| kind == libc::IFLA_INFO_KIND && value.strip_suffix(&[0]).unwrap_or(value) == b"bridge");
    let (_, data) = attributes(link_info).find(|(kind, _)| is_bridge && *kind == libc::IFLA_INFO_DATA)?;
    attributes(data).find(|(kind, _)| *kind == setting).map(|(_, value)| value)
}

/// The attributes (struct rtattr and its value) of a message, up to the first truncated one.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & !(libc::NLA_F_NESTED as u16 | libc::NLA_F_NET_BYTEORDER as u16);
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Enables or disables merging of received TCP segments into super-packets (generic receive offload), and returns the
/// previous setting. A box that schedules packets must see them as they are sent over the air.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN`, `ENODEV`, `EOPNOTSUPP`.
pub fn set_receive_merging(name: &str, on: bool) -> Result<bool, OsError> {
    const ETHTOOL_GGRO: u32 = 0x2b;
    const ETHTOOL_SGRO: u32 = 0x2c;
    let was = ethtool(name, ETHTOOL_GGRO, 0)? != 0;
    if was != on {
        ethtool(name, ETHTOOL_SGRO, u32::from(on))?;
    }
    Ok(was)
}

/// Whether the network card merges received segments into super-packets (large receive offload), which cannot be forwarded.
///
/// # Errors
/// `ENODEV`. An interface without this offload does not merge.
pub fn large_receive(name: &str) -> Result<bool, OsError> {
    const ETH_FLAG_LRO: u32 = 1 << 15;
    Ok(flags(name)? & ETH_FLAG_LRO != 0)
}

/// Whether the card strips the outer VLAN tag of received frames and passes it separately.
///
/// # Errors
/// `ENODEV`. An interface without this offload does not.
pub fn strips_vlan(name: &str) -> Result<bool, OsError> {
    Ok(flags(name)? & ETH_FLAG_RXVLAN != 0)
}

/// Makes the card strip the outer VLAN tag of received frames, or leave it, and returns the previous setting.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN`, `ENODEV`, `EINVAL` or `EOPNOTSUPP` if that cannot be changed.
pub fn set_vlan_stripping(name: &str, on: bool) -> Result<bool, OsError> {
    const ETHTOOL_SFLAGS: u32 = 0x26;
    let was = flags(name)?;
    if (was & ETH_FLAG_RXVLAN != 0) != on {
        ethtool(name, ETHTOOL_SFLAGS, was ^ ETH_FLAG_RXVLAN)?;
    }
    Ok(was & ETH_FLAG_RXVLAN != 0)
}

const ETH_FLAG_RXVLAN: u32 = 1 << 8;

/// Bit mask of some offloads (linux/ethtool.h). Zero if the interface does not support the query.
fn flags(name: &str) -> Result<u32, OsError> {
    const ETHTOOL_GFLAGS: u32 = 0x25;
    none_if_unknown(ethtool(name, ETHTOOL_GFLAGS, 0))
}

fn none_if_unknown<T: Default>(answer: Result<T, OsError>) -> Result<T, OsError> {
    match answer {
        Err(error) if error.errno() == libc::EOPNOTSUPP => Ok(T::default()),
        answer => answer,
    }
}

/// Number of receive queues of the interface; 1 if it is not reported.
///
/// # Errors
/// `ENODEV`.
pub fn receive_queues(name: &str) -> Result<u32, OsError> {
    const ETHTOOL_GCHANNELS: u32 = 0x3c;
    // struct ethtool_channels: the command, four maxima, then queues for receiving, sending, other purposes, and both.
    let mut channels = [0u32; 9];
    channels[0] = ETHTOOL_GCHANNELS;
    none_if_unknown(ethtool_with(name, ETHTOOL_GCHANNELS, &mut channels))?;
    Ok((channels[5] + channels[8]).max(1))
}

/// Name of the interface's driver, such as "veth" or "igb"; empty if it has none.
///
/// # Errors
/// `ENODEV`.
pub fn driver(name: &str) -> Result<String, OsError> {
    const ETHTOOL_GDRVINFO: u32 = 3;
    // struct ethtool_drvinfo: the command, the driver's name in 32 bytes, and more.
    let mut info = [0u32; 49];
    info[0] = ETHTOOL_GDRVINFO;
    none_if_unknown(ethtool_with(name, ETHTOOL_GDRVINFO, &mut info))?;
    let bytes = info[1..9].iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0);
    Ok(String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned())
}

fn ethtool(name: &str, command: u32, value: u32) -> Result<u32, OsError> {
    // struct ethtool_value
    let mut argument = [command, value];
    ethtool_with(name, command, &mut argument)?;
    Ok(argument[1])
}

/// An ethtool request; `argument` is the command's structure in linux/ethtool.h, of integers only and no smaller.
fn ethtool_with<const WORDS: usize>(name: &str, command: u32, argument: &mut [u32; WORDS]) -> Result<(), OsError> {
    let call = || format!("ioctl(SIOCETHTOOL, {command:#x}) on {name}");
    if name.len() >= libc::IF_NAMESIZE {
        return Err(OsError::new(call(), libc::ENODEV));
    }
    // SAFETY: takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(OsError::last("socket(AF_INET)"));
    }
    // SAFETY: a new descriptor without another owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: ifreq is plain data for which all zero bytes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = argument.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads the ifreq and, through it, reads and writes the argument; both outlive the call.
    match unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request) } {
        0 => Ok(()),
        _ => Err(OsError::last(call())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found_and_is_no_bridge() {
        let lo = find("lo").expect("every namespace has a loopback interface");
        assert_eq!((lo.index, lo.master, lo.bridge_group_forward), (1, None, None));
        assert_eq!(lo.mtu, 65_536);
        assert_eq!(find_index(1), Ok(lo));
        assert_eq!(find_index(0x7fff_fff0).expect_err("there is none").errno(), libc::ENODEV);
    }

    #[test]
    fn a_missing_interface_is_named() {
        let error = find("no-such-dev0").expect_err("there is none");
        assert_eq!(error.errno(), libc::ENODEV);
        assert!(error.to_string().contains("\"no-such-dev0\""), "{error}");
        assert_eq!(find("a-name-of-sixteen").expect_err("too long").errno(), libc::ENODEV);
    }

    #[test]
    fn a_virtual_interface_has_one_queue_and_strips_no_tag() {
        assert_eq!((receive_queues("lo"), strips_vlan("lo"), driver("lo")), (Ok(1), Ok(false), Ok(String::new())));
        assert_eq!(receive_queues("no-such-dev0").expect_err("there is none").errno(), libc::ENODEV);
    }

    #[test]
    fn the_peer_of_a_cable_reports_its_maximum_of_segments() {
        use crate::netns::Netns;
        let (Ok(near), Ok(far)) = (Netns::new(), Netns::new()) else { return eprintln!("skipped: needs root") };
        let ip = |of: &Netns, arguments: &str| {
            let run = || std::process::Command::new("ip").args(arguments.split_whitespace()).status();
            assert!(of.run(run).expect("entered").expect("ip(8) is installed").success(), "ip {arguments}");
        };
        let path = format!("/proc/{}/fd/{}", std::process::id(), std::os::fd::AsFd::as_fd(&far).as_raw_fd());
        ip(&near, "link add here0 type veth peer name here1");
        ip(&near, "link set here1 gso_max_segs 7");
        ip(&near, &format!("link add away0 type veth peer name away1 netns {path}"));
        ip(&near, "link add alone type bridge");
        let of = |name| near.run(|| segments_of_peer(name)).expect("entered");
        assert_eq!((of("here0"), of("alone")), (Ok(Some(7)), Ok(None)));
        assert!(of("away0").expect("found").is_some_and(|segments| segments > 1));
        ip(&far, "link set away1 gso_max_segs 1");
        assert_eq!(of("away0"), Ok(Some(1)));
        assert_eq!(of("no-such-dev0").expect_err("there is none").errno(), libc::ENODEV);
    }

    #[test]
    fn attributes_end_at_the_first_truncated_one() {
        let bytes = [8, 0, 4, 0, 1, 2, 3, 4, 5, 0, 9, 0, 7, 0, 0, 0, 200, 0, 1, 0];
        let found: Vec<_> = attributes(&bytes).collect();
        assert_eq!(found, [(4, &[1u8, 2, 3, 4][..]), (9, &[7u8][..])]);
    }
}
