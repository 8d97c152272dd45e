//! Scenarios for the tests, whether this machine lets them run, and how punctual it was.
//!
//! How fast and how punctual a machine is decides no test. What a run shows is judged with an allowance for a thread that
//! is held up for [`STALL_S`]. What would then say too little is judged tightly, and where such a judgement fails in a
//! run whose machine was late, as that run itself recorded, the run is made again ([`judged`]).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evenair_results::RunResult;
use evenair_scenario::Scenario;
use evenair_sys::netns::Netns;
use evenair_sys::tap::Tap;
use evenair_testbed::{TestbedOptions, preflight};

/// For so long a busy machine may hold up any thread without a test failing for it: seconds.
pub const STALL_S: f64 = 0.2;
/// 802.11b at 11 Mb/s, short preamble, `stations` stations `sta1`, `sta2` ... and the LAN's server, five seconds, and
/// what `rest` says in the words of the scenario format.
pub fn scenario(stations: usize, rest: &str) -> Scenario {
    parse(&text(stations, rest))
}

/// A scenario from a file's text.
pub fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// The same as a file's text.
pub fn text(stations: usize, rest: &str) -> String {
    let head = format!(
        r#"
            version = 1
            name = "test"
            duration = "5 s"
            [radio]
            standard = "802.11b"
            preamble = "short"
            basic_rates = ["1 Mb/s", "2 Mb/s"]
            rts_threshold = "500 bytes"
            ap_buffer = "150 kB"
            [[station]]
            name = "sta"
            count = {stations}
            rate = "11 Mb/s"
            [[server]]
            name = "server"
        "#
    );
    head + rest
}

/// The example program, which `cargo test` builds with the tests and which is the hosts' agent. `cargo test --test`
/// builds the tests alone: then one of before the last change is refused.
pub fn options() -> TestbedOptions {
    let test = std::env::current_exe().expect("a test is a program");
    let target = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps/TEST");
    let program: PathBuf = target.join("examples/testbed");
    let stale = newer_source(&program).unwrap_or_else(|error| Some(error.to_string()));
    if let Some(why) = stale {
        let how = "`cargo build -p evenair-testbed --examples` builds it, and so does `cargo test` without `--test`";
        panic!("{} is not of this source: {why}; {how}", program.display());
    }
    TestbedOptions::new(program)
}

/// A file from which `program` was made and that has changed since, by cargo's list of them beside it.
fn newer_source(program: &Path) -> std::io::Result<Option<String>> {
    let built = std::fs::metadata(program)?.modified()?;
    let list = std::fs::read_to_string(program.with_extension("d"))?;
    let sources = list.lines().filter_map(|line| line.split_once(": ")).flat_map(|(_, files)| files.split(' '));
    for source in sources.filter(|source| source.ends_with(".rs")) {
        if std::fs::metadata(source).and_then(|source| source.modified()).is_ok_and(|changed| changed > built) {
            return Ok(Some(format!("{source} is newer")));
        }
    }
    Ok(None)
}

/// A turn on the machine for one test after the other (they keep time, and would make each other late); `None`, with a
/// reason printed, where network namespaces or TAP devices are not to be had.
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    static MACHINE: Mutex<()> = Mutex::new(());
    let refused = match Netns::new() {
        Err(error) => Some(error),
        Ok(namespace) => match namespace.run(|| Tap::create("probe0")) {
            Err(error) | Ok(Err(error)) => Some(error),
            Ok(Ok(_)) => None,
        },
    };
    if let Some(error) = refused {
        eprintln!("skipped: {error} (needs root, or a user namespace and an open /dev/net/tun)");
        return None;
    }
    Some(MACHINE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The same for tests with the box, which the kernel grants to root of the machine only.
pub fn turn_with_box() -> Option<MutexGuard<'static, ()>> {
    if let Err(error) = preflight::check_box() {
        eprintln!("skipped: {error}");
        return None;
    }
    turn()
}

/// Runs a scenario once, and gives its result. Where `judge` objects, the panic says how late the radio was and for how long the
/// machine held up a thread beside it: this says whether to suspect the machine. `scripts/test` decides whether to run a test again.
pub fn judged(scenario: &Scenario, judge: impl FnOnce(&RunResult) -> anyhow::Result<()>) -> RunResult {
    let (result, held_up_s) = watched(|| {
        evenair_testbed::run(scenario, &options(), |_| {}).unwrap_or_else(|error| panic!("it runs: {error}"))
    });
    if let Err(objection) = judge(&result) {
        let RunResult { lateness, invalid_because, .. } = &result;
        panic!("{objection:#}; a thread was held up for {held_up_s:.3} s, {lateness:?}, {invalid_because:?}");
    }
    result
}

/// What `job` gives, and the longest time in seconds for which a thread beside it was held up.
fn watched<T>(job: impl FnOnce() -> T) -> (T, f64) {
    const NAP: Duration = Duration::from_millis(5);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !done.load(Ordering::Relaxed) {
                let start = Instant::now();
                std::thread::sleep(NAP);
                longest = longest.max(start.elapsed().saturating_sub(NAP));
            }
            longest.as_secs_f64()
        });
        // The watcher is to end even where the job panics, or the scope would wait for it for ever.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        done.store(true, Ordering::Relaxed);
        let held_up_s = watcher.join().expect("it only sleeps");
        (outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), held_up_s)
    })
}
