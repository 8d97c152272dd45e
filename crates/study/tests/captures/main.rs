//! The number of backlogged nodes from captures: whether its interval is right, and what becomes of frames that cannot be read.

mod interval;
mod mixes;
mod unread;
