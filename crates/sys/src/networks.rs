//! Networks of an interface: its addresses with their prefix lengths (getifaddrs(3)).
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr::NonNull;

use crate::error::OsError;

/// The list of getifaddrs, freed when dropped.
struct List(Option<NonNull<libc::ifaddrs>>);

impl Drop for List {
    fn drop(&mut self) {
        if let Some(first) = self.0 {
            // SAFETY: the list that getifaddrs returned, not yet freed.
            unsafe { libc::freeifaddrs(first.as_ptr()) };
        }
    }
}

/// The addresses of the interface called `name` in the calling thread's namespace, with their prefix lengths. Empty if there
/// is no such interface.
///
/// # Errors
/// Lack of memory or descriptors.
pub fn of(name: &str) -> Result<Vec<(IpAddr, u8)>, OsError> {
    let mut first = std::ptr::null_mut();
    // SAFETY: the pointer is that of a live variable.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(OsError::last("getifaddrs"));
    }
    let list = List(NonNull::new(first));
    let mut networks = Vec::new();
    let mut at = list.0;
    while let Some(entry) = at {
        // SAFETY: entries live as long as the list, and nothing changes them.
        let entry = unsafe { entry.as_ref() };
        // SAFETY: ifa_name is a text that ends in a zero, as long-lived as the list.
        let is_wanted = unsafe { CStr::from_ptr(entry.ifa_name) }.to_bytes() == name.as_bytes();
        if is_wanted && let (Some(address), Some(mask)) = (address(entry.ifa_addr), address(entry.ifa_netmask)) {
            networks.push((address, prefix(mask)));
        }
        at = NonNull::new(entry.ifa_next);
    }
    Ok(networks)
}

/// The IP address in a socket address of a list.
fn address(socket_address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: null, or an address as long-lived as the list; each family has its own layout, for which every byte pattern is a
    // value, and is read without regard to alignment.
    unsafe {
        match i32::from(socket_address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let v4 = socket_address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let v6 = socket_address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

fn prefix(mask: IpAddr) -> u8 {
    let ones = match mask {
        IpAddr::V4(v4) => u32::from(v4).leading_ones(),
        IpAddr::V6(v6) => u128::from(v6).leading_ones(),
    };
    ones as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_its_network_and_a_missing_interface_has_none() {
        let loopback = of("lo").expect("asked");
        assert!(loopback.contains(&(Ipv4Addr::LOCALHOST.into(), 8)), "{loopback:?}");
        assert_eq!(of("no such thing").expect("asked"), []);
    }

    #[test]
    fn prefixes_of_masks() {
        for (mask, expected) in [("255.255.255.0", 24), ("0.0.0.0", 0), ("ffff:ffff:ffff:ffff::", 64)] {
            assert_eq!(prefix(mask.parse().expect("an address")), expected, "{mask}");
        }
    }
}
