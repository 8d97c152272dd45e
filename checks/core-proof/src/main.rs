//! Proof that the core crates need no standard library: a program of theirs alone, with neither `std` nor a C library,
//! that drives the core for a simulated second and reports by its exit code.
//!
//! The program brings its own panic handler. `std` has one too, and a program may have only one, so if any core crate
//! linked `std` (itself or through a dependency), this would not compile. scripts/core-proof builds it, runs it and
//! looks through its symbols.
//!
//! What it does not show: that results are right. That is for the tests of the crates.

#![no_std]
#![no_main]

extern crate alloc;

#[cfg(feature = "canary")]
extern crate std;

mod bare;
mod drive;

/// Called by the entry point of [`bare`] with a working stack.
fn main() -> i32 {
    match drive::drive() {
        Ok(()) => 0,
        Err(step) => step,
    }
}
