//! Backlogged nodes from captures: whether the interval is right, and how unreadable frames count.

mod interval;
mod mixes;
mod unread;
