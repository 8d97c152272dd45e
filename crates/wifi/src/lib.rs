//! Facts and closed forms of IEEE 802.11: timing, frame durations, TCP capacity, Bianchi's model
