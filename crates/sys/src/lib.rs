//! Linux system calls: namespaces, TAP devices, packet rings, the fail-open gate, real-time waiting

pub mod attached;
pub mod bpf;
pub mod bridge;
pub mod capability;
pub mod checksum;
pub mod clsact;
pub mod error;
pub mod fail_open;
pub mod fatal;
pub mod frames;
pub mod iface;
pub mod iproute;
pub mod links;
pub mod netns;
pub mod networks;
pub mod peer;
pub mod port_lock;
pub mod process;
pub mod random;
pub mod ring;
pub mod rt;
pub mod tap;
pub mod tcp;
pub mod traffic;
pub mod xsk;
