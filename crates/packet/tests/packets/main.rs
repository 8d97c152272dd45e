//! Packets from outside: their parts, in tunnels and on their own, and what damaged ones yield.

mod encapsulation;
mod parse;
mod seeds;
mod window;
