//! The box: packet I/O, bridge and bypass, and the loop that drives the manager
