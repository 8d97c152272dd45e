//! Linux system calls: namespaces, TAP devices, packet rings, the traffic hold, real-time waiting
