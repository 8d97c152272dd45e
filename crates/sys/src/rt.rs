//! Real time on an ordinary kernel: the monotonic clock, priorities, and waiting for a descriptor or a deadline to within
//! microseconds.
//!
//! Waiting sleeps until shortly before the deadline and polls the rest: a sleep alone is late by tens of microseconds (wake-up
//! from idle), and polling all the time would run into the kernel's limit for real-time threads (sched_rt_runtime_us: 950 ms a
//! second) and starve other threads on the core.
//! [`RunDelay`] is the time for which the thread was runnable without running. It makes the age of an event measurable: a
//! thread that slept on a descriptor became runnable at the moment of the event.
//! measurable: a thread that slept on a descriptor became runnable at the moment of the event.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use crate::error::OsError;

/// Time of `CLOCK_MONOTONIC` in nanoseconds: the same in all processes of the machine.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec. These clocks exist on every Linux, so that the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Which requests of [`make_real_time`] the kernel granted. None is necessary, all improve punctuality.
#[derive(Clone, Debug)]
pub struct RealTime {
    /// Whether SCHED_FIFO was set.
    pub fifo: Result<(), OsError>,
    /// Core to which the thread is pinned.
    pub core: Result<usize, OsError>,
    /// Whether memory is locked, each page once it is touched.
    pub locked: Result<(), OsError>,
}

/// Makes the calling thread a real-time thread: SCHED_FIFO at `priority` (1..=99), pinned to the last core that it may use,
/// timer slack 1 ns, and the process's memory locked.
pub fn make_real_time(priority: i32) -> RealTime {
    RealTime { core: pin_to_last_core(), fifo: set_fifo(priority), locked: lock_memory() }
}

/// Limits the calling thread's timer slack to 1 ns, instead of the 50 us within which the kernel otherwise batches wake-ups
/// (PR_SET_TIMERSLACK). Real-time threads have no slack.
pub fn remove_timer_slack() {
    // SAFETY: prctl with these arguments takes no pointer, and cannot fail.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Prefers the calling thread over ordinary ones: nice value -15, of -20 to 19, and the shortest slice, 0.1 ms: since Linux
/// 6.12 a thread with short slices runs sooner after a wake-up (sched_setattr(2); older kernels ignore it).
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`.
pub fn prefer_this_thread() -> Result<(), OsError> {
    /// `struct sched_attr` in its first version.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: -15,
        priority: 0,
        runtime: 100_000,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the kernel reads the structure, whose size is in it; 0 is the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        0 => Ok(()),
        _ => Err(OsError::last("sched_setattr (needs CAP_SYS_NICE)")),
    }
}

/// Runs the calling thread before all ordinary ones: SCHED_FIFO at the lowest real-time priority. Its children are ordinary.
/// The thread must sleep from time to time: the kernel limits real-time threads to 950 ms of each second
/// (sched_rt_runtime_us), and other threads on the core do not run meanwhile. [`prefer_this_thread`] undoes it.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`.
pub fn run_first() -> Result<(), OsError> {
    set_fifo(1)
}

/// Runs the calling thread only when no other one needs the core (SCHED_IDLE): for work without deadline beside measurements.
///
/// # Errors
/// The kernel's error; no privilege is needed.
pub fn run_last() -> Result<(), OsError> {
    set_policy(libc::SCHED_IDLE, 0, "sched_setscheduler")
}

/// Sets policy and priority of the calling thread, by the system call: musl's function of that name only returns `ENOSYS`,
/// because in POSIX it applies to the process.
fn set_policy(policy: libc::c_int, priority: libc::c_int, call: &str) -> Result<(), OsError> {
    // SAFETY: the kernel reads one sched_param, which is this number alone; 0 is the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) } {
        0 => Ok(()),
        _ => Err(OsError::last(call)),
    }
}

fn set_fifo(priority: i32) -> Result<(), OsError> {
    // SAFETY: prctl with these arguments takes no pointer. It matters only where SCHED_FIFO (slack 0) is refused.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    // Children do not inherit the policy.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    set_policy(policy, priority, "sched_setscheduler(SCHED_FIFO)")
}

/// Pins the calling thread to the last core that it may use. Returns that core's number.
///
/// # Errors
/// The kernel's error; no privilege is needed.
pub fn pin_to_last_core() -> Result<usize, OsError> {
    // SAFETY: cpu_set_t is plain data for which all zero bytes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the kernel writes at most `size` bytes into `set`.
    if unsafe { libc::sched_getaffinity(0, size, &raw mut set) } != 0 {
        return Err(OsError::last("sched_getaffinity"));
    }
    // SAFETY: the index is below CPU_SETSIZE, the number of bits of the set.
    let allowed = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
    let last = (0..libc::CPU_SETSIZE as usize).rev().find(allowed);
    let last = last.ok_or_else(|| OsError::new("sched_getaffinity (empty set)", libc::EINVAL))?;
    // SAFETY: as above for the two macros' functions; the kernel reads `size` bytes of `set`.
    let rc = unsafe {
        libc::CPU_ZERO(&mut set);
        libc::CPU_SET(last, &mut set);
        libc::sched_setaffinity(0, size, &raw const set)
    };
    if rc == 0 { Ok(last) } else { Err(OsError::last("sched_setaffinity")) }
}

fn lock_memory() -> Result<(), OsError> {
    if !may_lock_without_limit() {
        // Locking might succeed now, and make allocations fail when the process has grown to the limit.
        return Err(OsError::new("mlockall (needs CAP_IPC_LOCK or `ulimit -l unlimited`)", libc::EPERM));
    }
    // ONFAULT: the stacks of helper threads are large and mostly untouched.
    // SAFETY: mlockall takes no pointer.
    match unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) } {
        0 => Ok(()),
        _ => Err(OsError::last("mlockall")),
    }
}

/// Whether this process may lock memory without limit: no limit is set, or it has the capability in the initial user
/// namespace (the one with all user ids), where alone it counts.
fn may_lock_without_limit() -> bool {
    const CAP_IPC_LOCK: u32 = 14;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) } == 0;
    if known && limit.rlim_cur == libc::RLIM_INFINITY {
        return true;
    }
    let users = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let all_users = users.split_ascii_whitespace().eq(["0", "0", "4294967295"]);
    all_users && crate::process::has_capability(CAP_IPC_LOCK)
}

/// Undoes the memory lock of [`make_real_time`].
pub fn unlock_memory() {
    // SAFETY: munlockall takes nothing; it cannot fail on Linux.
    unsafe { libc::munlockall() };
}

/// A set of descriptors to wait for readiness (epoll(7), level-triggered).
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Epoll {
    /// A set that reports at most `at_once` ready descriptors per wait.
    ///
    /// # Errors
    /// At the limit of descriptors.
    pub fn new(at_once: usize) -> Result<Self, OsError> {
        // SAFETY: takes no pointer.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(OsError::last("epoll_create1"));
        }
        // SAFETY: a new descriptor without another owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd, events: vec![libc::epoll_event { events: 0, u64: 0 }; at_once.max(1)] })
    }

    /// Reports `token` when `fd` is readable.
    ///
    /// # Errors
    /// `EPERM` for a descriptor that cannot be waited for, `EEXIST` for one that is in the set already.
    pub fn add(&self, fd: impl AsFd, token: u64) -> Result<(), OsError> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: token };
        let (epoll, fd) = (self.fd.as_raw_fd(), fd.as_fd().as_raw_fd());
        // SAFETY: the kernel reads one epoll_event.
        match unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(OsError::last("epoll_ctl(EPOLL_CTL_ADD)")),
        }
    }

    /// Waits until a descriptor is ready or `timeout` has passed (`None`: no limit), and returns the tokens of the ready
    /// ones. A signal ends the wait early, without tokens.
    ///
    /// # Errors
    /// `ENOSYS` on kernels before 5.11, which have no timeouts in nanoseconds.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<impl Iterator<Item = u64> + '_, OsError> {
        let time = timeout
            .map(|t| libc::timespec { tv_sec: t.as_secs() as i64, tv_nsec: libc::c_long::from(t.subsec_nanos()) });
        let time_pointer = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the kernel writes at most `events.len()` events into `events` and reads one timespec or none.
        let n = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                time_pointer,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        let ready = match usize::try_from(n) {
            Ok(n) => n,
            Err(_) => {
                let error = OsError::last("epoll_pwait2");
                if error.errno() != libc::EINTR {
                    return Err(error);
                }
                0
            }
        };
        Ok(self.events[..ready].iter().map(|event| event.u64))
    }
}

/// A counter that wakes an [`Epoll`] (eventfd(2)), by which another thread can wake a sleeping one.
#[derive(Debug)]
pub struct Waker {
    fd: OwnedFd,
}

impl Waker {
    /// A waker that has not been used.
    ///
    /// # Errors
    /// At the limit of descriptors.
    pub fn new() -> Result<Self, OsError> {
        // SAFETY: takes no pointer.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(OsError::last("eventfd"));
        }
        // SAFETY: a new descriptor without another owner.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Makes the descriptor ready.
    pub fn wake(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes of a live array. It fails only when the counter is full: then it is ready anyhow.
        unsafe { libc::write(self.fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Makes it not ready again.
    pub fn clear(&self) {
        let mut count = [0u8; 8];
        // SAFETY: eight bytes of a live array. It fails only when the counter is zero, which is what is wanted.
        unsafe { libc::read(self.fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// How long the calling thread has been runnable without running, since its start (`/proc/thread-self/schedstat`).
#[derive(Debug)]
pub struct RunDelay {
    file: File,
}

impl RunDelay {
    /// The run delay of the calling thread. `None` if the kernel does not count it (no `CONFIG_SCHED_INFO`).
    pub fn of_this_thread() -> Option<Self> {
        let delay = Self { file: File::open("/proc/thread-self/schedstat").ok()? };
        // A kernel without the count writes "0 0 0".
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        (!text.starts_with("0 0 0")).then_some(delay)
    }

    /// The totals so far.
    ///
    /// # Errors
    /// If the kernel's answer cannot be read.
    pub fn totals(&self) -> Result<Scheduled, OsError> {
        let mut text = [0u8; 64];
        let n =
            self.file.read_at(&mut text, 0).map_err(|e| OsError::from_io("read /proc/thread-self/schedstat", &e))?;
        // Three numbers: time run, time waited, times run.
        let mut numbers = text[..n]
            .split(|byte| !byte.is_ascii_digit())
            .map(|digits| digits.iter().fold(0, |sum, &digit| sum * 10 + u64::from(digit - b'0')));
        let (_, delay_ns, times) = (numbers.next(), numbers.next(), numbers.next());
        Ok(Scheduled { delay_ns: delay_ns.unwrap_or(0), times: times.unwrap_or(0) })
    }
}

/// Scheduling statistics of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// Time for which it was runnable without running, in nanoseconds.
    pub delay_ns: u64,
    /// Number of times that it was put on a core: after each sleep, and after each preemption.
    pub times: u64,
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_wait_without_events_takes_its_time() {
        let mut epoll = Epoll::new(4).expect("a descriptor is free");
        let start = Instant::now();
        assert_eq!(epoll.wait(Some(Duration::from_millis(3))).expect("waits").count(), 0);
        assert!(start.elapsed() >= Duration::from_millis(3));
    }

    #[test]
    fn a_waker_ends_a_wait_until_it_is_cleared() {
        let mut epoll = Epoll::new(4).expect("a descriptor is free");
        let waker = Waker::new().expect("a descriptor is free");
        epoll.add(&waker, 7).expect("can be waited for");
        waker.wake();
        waker.wake();
        assert_eq!(epoll.wait(None).expect("waits").collect::<Vec<_>>(), [7]);
        waker.clear();
        assert_eq!(epoll.wait(Some(Duration::ZERO)).expect("waits").count(), 0);
    }

    #[test]
    fn a_sleep_is_counted() {
        let Some(delay) = RunDelay::of_this_thread() else {
            eprintln!("skipped: this kernel does not count run delay");
            return;
        };
        let before = delay.totals().expect("readable");
        std::thread::sleep(Duration::from_millis(1));
        assert!(delay.totals().expect("readable").times > before.times);
    }

    #[test]
    fn run_delay_grows_when_threads_share_a_core() {
        let Some(_) = RunDelay::of_this_thread() else {
            eprintln!("skipped: this kernel does not count run delay");
            return;
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let grown = std::thread::scope(|scope| {
            for _ in 0..2 * cores {
                scope.spawn(|| {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let delay = RunDelay::of_this_thread().expect("as above");
            let before = delay.totals().expect("readable");
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(300) {}
            let after = delay.totals().expect("readable");
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            after.delay_ns - before.delay_ns
        });
        assert!(grown > 1_000_000, "{grown} ns in 300 ms beside two threads a core");
    }

    #[test]
    fn real_time_is_granted_or_the_error_names_the_call() {
        let granted = std::thread::spawn(|| make_real_time(10)).join().expect("no panic");
        unlock_memory();
        for refused in [granted.fifo.err(), granted.core.err(), granted.locked.err()].into_iter().flatten() {
            eprintln!("not granted here: {refused}");
            assert!(matches!(refused.errno(), libc::EPERM | libc::ENOMEM | libc::EINVAL), "{refused}");
        }
    }

    #[test]
    fn a_preferred_thread_can_be_ordinary_again() {
        // SAFETY: takes no pointer; 0 is the calling thread.
        let policy = || unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) } as i32 & !libc::SCHED_RESET_ON_FORK;
        let policies = std::thread::spawn(move || {
            run_first().and_then(|()| {
                let first = policy();
                let started = std::thread::spawn(policy).join().expect("no panic");
                prefer_this_thread().map(|()| (first, started, policy()))
            })
        });
        match policies.join().expect("no panic") {
            Ok(policies) => assert_eq!(policies, (libc::SCHED_FIFO, libc::SCHED_OTHER, libc::SCHED_OTHER)),
            Err(error) => {
                eprintln!("skipped: {error}");
                assert_eq!(error.errno(), libc::EPERM);
            }
        }
    }

    #[test]
    fn the_clocks_go_forward() {
        let (time, cpu) = (monotonic_ns(), thread_cpu_ns());
        std::thread::sleep(Duration::from_millis(20));
        assert!(monotonic_ns() - time >= 20_000_000);
        assert!(thread_cpu_ns() - cpu < 20_000_000, "sleeping costs no CPU time");
    }
}
