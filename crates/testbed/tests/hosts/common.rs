//! Scenarios for the tests, preconditions of this machine, and its punctuality.
//!
//! No test depends on the speed or punctuality of the machine: results are compared with a tolerance for a thread that
//! stalls for [`STALL_S`]. Where that would be too loose the tolerance is tight, and the panic of a failed comparison says
//! how late the machine was ([`judged`]).

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evenair_results::RunResult;
use evenair_scenario::Scenario;
use evenair_sys::netns::Netns;
use evenair_sys::tap::Tap;
use evenair_testbed::{TestbedOptions, preflight};

/// Stall of any thread by a busy machine that fails no test, in seconds.
pub const STALL_S: f64 = 0.2;
/// 802.11b at 11 Mb/s, short preamble, `stations` stations `sta1`, `sta2` ... and the LAN's server, five seconds, and the
/// tables of `rest`.
pub fn scenario(stations: usize, rest: &str) -> Scenario {
    parse(&text(stations, rest))
}

/// A scenario from the text of a file.
pub fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// The scenario of [`scenario`] as text.
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

/// Options with the example program, which is the hosts' agent, and the daemon, which is the box. cargo does not always rebuild
/// them with the tests: outdated ones are refused.
pub fn options() -> TestbedOptions {
    let test = std::env::current_exe().expect("a test is a program");
    let target = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps/TEST");
    let [program, daemon] = ["examples/testbed", "evenaird"].map(|name| target.join(name));
    for file in [&program, &daemon] {
        if let Some(why) = newer_source(file).unwrap_or_else(|error| Some(error.to_string())) {
            let how = "`cargo build --workspace --bin evenaird --example testbed` builds it";
            panic!("{} is not of this source: {why}; {how}", file.display());
        }
    }
    TestbedOptions::new(program, daemon)
}

/// A source file of `program` that has changed since it was built, by cargo's dependency list beside it.
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

/// Makes tests run one after another (they are time-sensitive and would delay each other); `None`, with a printed reason,
/// if network namespaces or TAP devices are not available.
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

/// The same for tests with the box, which the kernel only permits to the machine's root.
pub fn turn_with_box() -> Option<MutexGuard<'static, ()>> {
    if let Err(error) = preflight::check_box() {
        eprintln!("skipped: {error}");
        return None;
    }
    turn()
}

/// Runs a scenario once, and returns its result. If `judge` objects, the panic says how late the radio was and for how long the
/// machine stalled a thread beside it, and so whether the machine may be the cause. `scripts/test` decides whether to repeat a test.
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

/// Result of `job`, and the longest stall of a thread beside it, in seconds.
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
        // The watcher must end even if the job panics, or the scope would wait for it forever.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        done.store(true, Ordering::Relaxed);
        let held_up_s = watcher.join().expect("it only sleeps");
        (outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), held_up_s)
    })
}
