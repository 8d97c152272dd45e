//! Linux system calls: namespaces, TAP devices, packet rings, the traffic hold, real-time waiting

pub mod error;
pub mod netns;
pub mod process;
pub mod rt;
pub mod tap;
pub mod tcp;
