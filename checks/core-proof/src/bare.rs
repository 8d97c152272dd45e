//! What a program needs that has no library beneath it: an entry point, an exit, a heap, the memory functions that the
//! compiler calls, and an end for panics.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicUsize, Ordering};

/// Exit code of a panic.
const PANICKED: i32 = 101;

// The kernel enters with the stack pointer aligned to 16 and no return address; a function expects what a call leaves.
#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "call {enter}", "ud2", enter = sym enter);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x29, #0", "bl {enter}", "brk #1", enter = sym enter);

extern "C" fn enter() -> ! {
    exit(crate::main())
}

/// The system call `exit_group`.
fn exit(code: i32) -> ! {
    // SAFETY: exit_group takes one integer, touches no memory and does not return.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("syscall", in("rax") 231, in("rdi") code, options(noreturn, nostack));
        #[cfg(target_arch = "aarch64")]
        asm!("svc #0", in("x8") 94, in("x0") code, options(noreturn, nostack));
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(PANICKED)
}

/// A heap that is only ever handed out, never taken back, apart from the newest piece: enough for a simulated second.
struct Bump {
    used: AtomicUsize,
}

const HEAP: usize = 64 << 20;
static mut ARENA: [u8; HEAP] = [0; HEAP];

#[global_allocator]
static BUMP: Bump = Bump { used: AtomicUsize::new(0) };

// SAFETY: pieces are disjoint, since `used` only grows past what was handed out, but for the newest piece, which is
// given back whole. There is one thread.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = &raw mut ARENA as usize;
        let begin = (base + self.used.load(Ordering::Relaxed)).next_multiple_of(layout.align());
        let end = begin + layout.size() - base;
        if end > HEAP {
            return core::ptr::null_mut();
        }
        self.used.store(end, Ordering::Relaxed);
        begin as *mut u8
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let begin = piece as usize - &raw mut ARENA as usize;
        if begin + layout.size() == self.used.load(Ordering::Relaxed) {
            self.used.store(begin, Ordering::Relaxed);
        }
    }
}

/// The memory functions of the C library that compiled code calls. Volatile accesses keep the compiler from turning
/// the loops back into calls of the very functions.
mod memory {
    use core::ptr::{read_volatile, write_volatile};

    // SAFETY, for all of them: the callers promise what the functions of these names ask in C.

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
        for i in 0..n {
            unsafe { write_volatile(to.add(i), read_volatile(from.add(i))) }
        }
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
        if (to as usize) <= from as usize {
            return unsafe { memcpy(to, from, n) };
        }
        for i in (0..n).rev() {
            unsafe { write_volatile(to.add(i), read_volatile(from.add(i))) }
        }
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
        for i in 0..n {
            unsafe { write_volatile(to.add(i), byte as u8) }
        }
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
        for i in 0..n {
            let (x, y) = unsafe { (read_volatile(a.add(i)), read_volatile(b.add(i))) };
            if x != y {
                return i32::from(x) - i32::from(y);
            }
        }
        0
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
        unsafe { memcmp(a, b, n) }
    }
}

/// The compiler's own library for this target was built to unwind and names this function. Nothing unwinds here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// As above.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    exit(PANICKED)
}
