//! Hints to the processor. None of them changes the behaviour of a program, and none is a system call.
//!
//! The one file outside of crate `sys` with `unsafe` code: the core and the simulator prefetch, and neither may depend on
//! system calls. The library's own safe function for it is not stable.

#![allow(unsafe_code)]

/// Asks the processor to bring the cache line at this address (64 bytes on most processors) into its caches, for a read
/// soon, and does not wait for it. Any address is allowed. On processors other than x86-64 and AArch64 nothing happens.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes nothing that the program can see, and faults at no address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above; the instruction writes to no register and to no memory.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use alloc::vec::Vec;
    use core::ptr;

    use super::*;

    #[test]
    fn a_prefetch_changes_nothing_and_faults_nowhere() {
        let numbers: Vec<u64> = (0..1 << 16).collect();
        numbers.iter().for_each(|number| prefetch(number));
        assert!(numbers.iter().copied().eq(0..1 << 16));
        prefetch(ptr::null::<u64>());
        prefetch(ptr::without_provenance::<u64>(usize::MAX));
    }
}
