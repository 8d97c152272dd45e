//! Wired links in event time: rate, delay, buffer
