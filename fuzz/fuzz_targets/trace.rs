//! A trace of real traffic that a scenario sends again: a capture or a table.
#![no_main]

use evenair_scenario::Scenario;
use libfuzzer_sys::fuzz_target;

const SCENARIO: &str = r#"version = 1
name = "replay"
duration = "10 s"
radio = { standard = "802.11b" }
station = [{ name = "sta", rate = "11 Mb/s" }]
server = [{ name = "server" }]
replay = [{ name = "app", stations = ["sta"], server = "server", direction = "up", file = "trace" }]
"#;

fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("evenair-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let scenario = folder.join("replay.toml");
    std::fs::write(&scenario, SCENARIO).expect("written");
    std::fs::write(folder.join("trace"), bytes).expect("written");
    let _ = Scenario::load(&scenario);
});
