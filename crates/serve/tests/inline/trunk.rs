//! Hosts in VLANs at both ends of a lab, with the kernel's TCP. The kernel here may lack VLAN devices, so a thread at each end adds and
//! removes the tags between the hosts' TAP devices and the lab's cable.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evenair_sys::netns::Netns;
use evenair_sys::ring::{Ring, Sender};
use evenair_sys::rt::Epoll;
use evenair_sys::tap::Tap;
use evenair_sys::{iface, netns};

use crate::lab::{Lab, ip};

/// Hosts at one end, one in each VLAN, as 10.VLAN.0.`end`.
pub struct Trunk {
    hosts: Vec<(u16, Netns)>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Trunk {
    /// Hosts at the end of the lab's cable `port`.
    pub fn new(lab_end: &Netns, port: &str, end: u8, vlans: &[u16]) -> Self {
        let (mut hosts, mut taps) = (Vec::new(), Vec::new());
        for &vlan in vlans {
            let host = Netns::new().expect("root");
            let tap = host.run(|| Tap::create("h0")).expect("entered").expect("a TAP device");
            host.run(|| netns::set_sysctl("net/ipv6/conf/default/disable_ipv6", "1")).expect("entered").expect("set");
            ip(&host, &format!("link set h0 address 02:00:00:00:{vlan:02x}:{end:02x} gso_max_segs 1"));
            ip(&host, &format!("addr add 10.{vlan}.0.{end}/24 dev h0"));
            ip(&host, "link set h0 up");
            hosts.push((vlan, host));
            taps.push((vlan, tap));
        }
        let (ring, sender) = lab_end
            .run(|| {
                let interface = iface::find(port).expect("laid");
                let ring = Ring::open(&interface, 4096).expect("root");
                ring.start().expect("up");
                (ring, Sender::open(&interface, 4 << 20).expect("root"))
            })
            .expect("entered");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || relay(ring, &sender, &taps, &stopped));
        Self { hosts, stop, thread: Some(thread) }
    }

    /// Both ends of a lab: the stations' and the wired one.
    pub fn both(lab: &Lab, vlans: &[u16]) -> [Self; 2] {
        [Self::new(&lab.source, "s0", 1, vlans), Self::new(&lab.sink, "k0", 2, vlans)]
    }

    /// The host in a VLAN.
    pub fn host(&self, vlan: u16) -> &Netns {
        &self.hosts.iter().find(|(number, _)| *number == vlan).expect("there is one").1
    }
}

impl Drop for Trunk {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn relay(mut ring: Ring, sender: &Sender, taps: &[(u16, Tap)], stop: &AtomicBool) {
    let mut epoll = Epoll::new(8).expect("a set");
    epoll.add(ring.as_fd(), 0).expect("can be waited for");
    taps.iter().for_each(|(_, tap)| epoll.add(tap, 1).expect("can be waited for"));
    let mut buffer = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        let _ = epoll.wait(Some(Duration::from_millis(20))).expect("waits").count();
        while let Some(frame) = ring.next_frame() {
            let vlan = frame.vlan().map(|tag| tag.control & 0xfff);
            let tap = taps.iter().find(|(number, _)| Some(*number) == vlan);
            if let (Some((_, tap)), Some(len)) = (tap, frame.copy_to(&mut buffer)) {
                // Without its tag. A frame for which the host has no room is lost, as on any cable.
                let untagged = [&buffer[..12], &buffer[16..len]].concat();
                let _ = tap.write(&untagged);
            }
        }
        for (vlan, tap) in taps {
            while let Some(len) = tap.read(&mut buffer).expect("up") {
                let tagged = [&buffer[..12], &[0x81, 0x00], &vlan.to_be_bytes()[..], &buffer[12..len]].concat();
                let _ = sender.send([&tagged[..]]);
            }
        }
    }
}
