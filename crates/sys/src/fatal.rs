//! A crash report for fatal signals: an abort, such as after a failed allocation, or a fault of memory or instruction.
//!
//! A signal handler may call few functions (signal-safety(7)): it must neither allocate nor lock. So the text is prepared
//! when the handler is installed; the handler itself opens a file, adds the signal and the time, and lets the signal take
//! its default action. A descriptor is reserved for a process that has run out of descriptors.
//!
//! Not here: a backtrace, which is not possible in a signal handler; the core dump, if there is one, has it.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::OsError;

/// The signals that are reported, with their names.
const SIGNALS: [(libc::c_int, &str); 5] = [
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGSEGV, "SIGSEGV"),
];

/// Digits of the seconds and of the nanoseconds in a report's name.
const SECONDS: usize = 12;
const NANOSECONDS: usize = 9;

/// Data that the handler needs, prepared in advance.
struct Prepared {
    /// Path of a report up to its number, with space for `SECONDS.NANOSECONDS.txt` and the final zero.
    path: CString,
    /// Offset of the number in the path.
    number: usize,
    text: String,
    reserve: OwnedFd,
    /// Previous action of each of [`SIGNALS`].
    before: [libc::sigaction; SIGNALS.len()],
}

static PREPARED: OnceLock<Prepared> = OnceLock::new();
/// Only the first signal is reported, not its consequences.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Maximum length of a report's path, in bytes, final zero included: it is composed on the handler's stack.
const LONGEST_PATH: usize = 1024;

/// Installs crash reports: before a fatal signal kills this process, it writes `text`, the signal and the time to a new file
/// `DIRECTORY/PREFIX` + seconds `.` nanoseconds `.txt`, in decimal since 1970. Once in a process.
///
/// # Errors
/// The path has a zero byte or is too long, reports are installed already, or a system call failed.
pub fn report(directory: &Path, prefix: &str, text: String) -> Result<(), OsError> {
    let mut path = directory.join(prefix).as_os_str().as_bytes().to_vec();
    let number = path.len();
    path.extend_from_slice(&[b'0'; SECONDS]);
    path.push(b'.');
    path.extend_from_slice(&[b'0'; NANOSECONDS]);
    path.extend_from_slice(b".txt");
    let invalid = |what: &str| OsError::new(format!("{} {}", directory.display(), what), libc::EINVAL);
    if path.len() >= LONGEST_PATH {
        return Err(invalid("is too long for reports"));
    }
    let path = CString::new(path).map_err(|_| invalid("has a zero byte"))?;
    let reserve = File::open("/dev/null").map_err(|error| OsError::from_io("open(/dev/null)", &error))?.into();
    let mut before = [const { MaybeUninit::<libc::sigaction>::zeroed() }; SIGNALS.len()];
    for (&(signal, name), before) in SIGNALS.iter().zip(&mut before) {
        // SAFETY: no new action is given, and the old one is written to a sigaction.
        if unsafe { libc::sigaction(signal, ptr::null(), before.as_mut_ptr()) } != 0 {
            return Err(OsError::last(format!("sigaction({name})")));
        }
    }
    // SAFETY: each was filled in by sigaction.
    let before = before.map(|action| unsafe { action.assume_init() });
    let prepared = Prepared { path, number, text, reserve, before };
    PREPARED.set(prepared).map_err(|_| invalid("is not the first one for reports"))?;
    SIGNALS.iter().try_for_each(|&(signal, name)| install(signal, name))
}

fn install(signal: libc::c_int, name: &str) -> Result<(), OsError> {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = handle;
    // SAFETY: a sigaction of zeros is one without flags and with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    // The stack may have overflowed: Rust's threads have an alternate stack for signals.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler has the form that SA_SIGINFO asks for, keeps to what signal-safety(7) allows, and lives as
    // long as the program.
    match unsafe { libc::sigaction(signal, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(OsError::last(format!("sigaction({name})"))),
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let Some(prepared) = PREPARED.get() else { return };
    let place = SIGNALS.iter().position(|&(known, _)| known == signal).unwrap_or_default();
    if !REPORTED.swap(true, Ordering::AcqRel) {
        write_report(prepared, SIGNALS[place].1);
    }
    // SAFETY: with SA_SIGINFO the kernel hands in a siginfo_t.
    let is_fault = unsafe { (*info).si_code } > 0;
    // After a fault the instruction is repeated on return and faults again, under the previous handler: Rust's runtime
    // reports a stack overflow, and aborts.
    SIGNALS.iter().zip(&prepared.before).for_each(|(&(signal, _), before)| {
        // SAFETY: the action is one that the kernel gave.
        unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
    });
    if !is_fault {
        // Sent by the process itself or by another: delivered again on return.
        // SAFETY: signal and raise take no pointer.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Writes a report. Calls only async-signal-safe functions, and allocates nothing.
fn write_report(prepared: &Prepared, name: &str) {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it is written to a timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut now) };
    let (seconds, nanoseconds) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    let mut path = [0; LONGEST_PATH];
    let given = prepared.path.as_bytes_with_nul();
    path[..given.len()].copy_from_slice(given);
    let end = prepared.number + SECONDS;
    write_number(&mut path[prepared.number..end], seconds);
    write_number(&mut path[end + 1..end + 1 + NANOSECONDS], nanoseconds);
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the descriptor has no other user, and the process is about to end; the path ends with a zero.
    let file = unsafe {
        libc::close(prepared.reserve.as_raw_fd());
        libc::open(path.as_ptr().cast(), flags, 0o600)
    };
    if file < 0 {
        return;
    }
    let (mut process, mut thread, mut at) = ([0; 10], [0; 10], [0; SECONDS]);
    // SAFETY: they take nothing and cannot fail.
    let (process_id, thread_id) = unsafe { (libc::getpid(), libc::gettid()) };
    write_number(&mut process, u64::from(process_id.unsigned_abs()));
    write_number(&mut thread, u64::from(thread_id.unsigned_abs()));
    write_number(&mut at, seconds);
    let parts: [&[u8]; 9] = [
        prepared.text.as_bytes(),
        b"signal: ",
        name.as_bytes(),
        b"\ntime: ",
        trimmed(&at),
        b" seconds since 1970\nprocess: ",
        trimmed(&process),
        b"\nthread: ",
        trimmed(&thread),
    ];
    parts.into_iter().chain([&b"\n"[..]]).for_each(|part| write_all(file, part));
    // SAFETY: it was opened above.
    unsafe { libc::close(file) };
}

/// Writes a number in decimal with leading zeros; of a number that is too large the first digits are lost.
fn write_number(digits: &mut [u8], mut number: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// A number without leading zeros.
fn trimmed(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take(digits.len() - 1).take_while(|&&digit| digit == b'0').count();
    &digits[zeros..]
}

fn write_all(file: libc::c_int, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the bytes are there for as long as the slice.
        match unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) } {
            written @ 1.. => bytes = &bytes[(written.unsigned_abs()).min(bytes.len())..],
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_allocation() {
        let mut digits = [0; 5];
        write_number(&mut digits, 120);
        assert_eq!((&digits, trimmed(&digits)), (b"00120", &b"120"[..]));
        write_number(&mut digits, 0);
        assert_eq!(trimmed(&digits), b"0");
    }
}
