//! Scenarios for the tests, and whether this machine lets them run.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use evenair_scenario::Scenario;
use evenair_sys::netns::Netns;
use evenair_sys::tap::Tap;
use evenair_testbed::{TestbedOptions, preflight};

/// 802.11b at 11 Mb/s, short preamble, `stations` stations `sta1`, `sta2` ... and the LAN's server, five seconds, and
/// what `rest` says in the words of the scenario format.
pub fn scenario(stations: usize, rest: &str) -> Scenario {
    Scenario::parse(&text(stations, rest), "test.toml").unwrap_or_else(|error| panic!("{error}"))
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

/// The example program, which cargo builds with the tests and which is the hosts' agent.
pub fn options() -> TestbedOptions {
    let test = std::env::current_exe().expect("a test is a program");
    let target = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps/TEST");
    let program: PathBuf = target.join("examples/testbed");
    assert!(program.exists(), "{} is built by `cargo test`, or by `cargo build --examples`", program.display());
    TestbedOptions::new(program)
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
