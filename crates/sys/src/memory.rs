//! Memory hints for programs whose working set exceeds the processor's caches. None of them changes the behaviour of a
//! program.

#![allow(unsafe_code)]

use std::mem::size_of_val;

/// Asks the processor for a place in memory that will be needed soon, and does not wait for it: the whole piece that it
/// fetches at once, 64 bytes on most. Where the processor cannot be asked nothing happens.
#[inline(always)]
pub fn fetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes nothing that the program can see, and faults at no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above; the instruction writes to no register and to no memory.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) place, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}

/// Says that a large piece of memory is better kept in large pages, which take fewer look-ups, and fewer faults where it is
/// not there yet: the kernel may do so from now on, where it has them. Small pieces are left alone.
pub fn prefer_large_pages<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    const LARGE: usize = 2 << 20;
    let begin = (memory.as_ptr() as usize).next_multiple_of(LARGE);
    let end = (memory.as_ptr() as usize + size_of_val(memory)) & !(LARGE - 1);
    if begin < end {
        // SAFETY: the range lies within memory that the caller has for itself, and the advice changes none of what is in it.
        // It is only advice: where it fails all stays as it was.
        unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_what_it_is() {
        let mut numbers: Vec<u64> = Vec::with_capacity(1 << 20);
        numbers.extend(0..1_000);
        prefer_large_pages(numbers.spare_capacity_mut());
        numbers.extend(1_000..1 << 20);
        numbers.iter().for_each(|number| fetch(number));
        fetch(std::ptr::null::<u64>());
        assert!(numbers.iter().copied().eq(0..1 << 20));
        // Less than a page, and nothing.
        prefer_large_pages(Vec::<u8>::with_capacity(10).spare_capacity_mut());
        prefer_large_pages::<u8>(&mut []);
    }
}
