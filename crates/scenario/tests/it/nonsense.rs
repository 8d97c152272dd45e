//! Any text of a scenario is either refused with reasons, or is a scenario. It never panics.

use evenair_scenario::Scenario;
use toml::Value;

use crate::mutate::{Mutator, NUMBERS, Step, WORDS, leaves};

impl Mutator {
    /// A scenario's text with some bytes changed, mostly no longer TOML.
    pub fn text(&mut self) -> String {
        let mut bytes = self.scenario().into_bytes();
        for _ in 0..=self.below(6) {
            let at = self.below(bytes.len());
            match self.below(if bytes.len() > 1 { 4 } else { 1 }) {
                0 => bytes[at] = self.below(256) as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, self.pick(b"\"'[]{}=#.,\n\\0-")),
                _ => bytes.truncate(at.max(1)),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A key and a value as `--set` takes them.
    pub fn setting(&mut self) -> (String, String) {
        let corpus = self.corpus.len();
        let tree = Value::Table(self.corpus[self.rng.below(corpus as u64) as usize].clone());
        let place = self.pick(&leaves(&tree));
        let mut key: Vec<String> = place
            .iter()
            .map(|step| match step {
                Step::Key(key) => key.clone(),
                Step::Index(index) => (index + self.below(3)).to_string(),
            })
            .collect();
        match self.below(5) {
            0 => key.push(self.pick(WORDS).into()),
            1 => drop(key.pop()),
            2 => key.insert(self.below(key.len() + 1), self.pick(NUMBERS).into()),
            _ => {}
        }
        let value = match self.nonsense() {
            Value::String(text) => text,
            other => other.to_string(),
        };
        (key.join("."), value)
    }
}

/// Whether the text is accepted; if not, checks that the error names a position.
fn is_taken(text: &str, sets: &[(&str, &str)]) -> bool {
    match Scenario::parse_with(text, "mutated.toml", sets) {
        Ok(_) => true,
        Err(error) => {
            let words = error.to_string();
            assert!(words.len() > 15, "no reason: {words}");
            false
        }
    }
}

#[test]
fn changed_keys_and_values() {
    let mut mutator = Mutator::new(1);
    let taken = (0..1000).filter(|_| is_taken(&mutator.scenario(), &[])).count();
    // If all mutations were refused, only the first check would be tested.
    assert!((100..900).contains(&taken), "{taken} of 1000 were taken");
}

#[test]
fn changed_bytes() {
    let mut mutator = Mutator::new(2);
    let taken = (0..600).filter(|_| is_taken(&mutator.text(), &[])).count();
    assert!((1..480).contains(&taken), "{taken} of 600 were taken");
}

#[test]
fn settings_of_the_command_line() {
    let mut mutator = Mutator::new(3);
    let text = mutator.scenario();
    for _ in 0..1000 {
        let (key, value) = mutator.setting();
        is_taken(&text, &[(&key, &value)]);
    }
}

/// A capture with bytes changed, cut or added is refused or read, without a panic.
#[test]
fn changed_captures() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "version = 1\nname = \"x\"\nduration = \"10 s\"\n[radio]\nstandard = \"802.11b\"\n[[station]]\nname = \"sta\"\n\
                rate = \"11 Mb/s\"\n[[server]]\nname = \"server\"\n[[replay]]\nname = \"app\"\nstations = [\"sta\"]\n\
                server = \"server\"\ndirection = \"up\"\nfile = \"trace\"\n";
    let scenario = folder.path().join("x.toml");
    std::fs::write(&scenario, text).expect("written");
    let mut mutator = Mutator::new(4);
    let mut taken = 0;
    for whole in [capture(), b"0.0,100,up\n0.5,1500,up\n1.25,40,up\n".to_vec()] {
        for round in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..round % 5 {
                let at = mutator.below(bytes.len());
                match mutator.below(3) {
                    0 => bytes[at] = mutator.below(256) as u8,
                    1 => bytes[at] = 0xff,
                    _ => bytes.truncate(at.max(1)),
                }
            }
            std::fs::write(folder.path().join("trace"), bytes).expect("written");
            taken += usize::from(Scenario::load(&scenario).is_ok());
        }
    }
    assert!((100..590).contains(&taken), "{taken} of 600 were taken");
}

/// Three packets of bare IPv4 in a pcap file of microseconds.
fn capture() -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        bytes.extend(word.to_le_bytes());
    }
    for (seconds, len) in [(1_u32, 40_u16), (2, 1500), (3, 576)] {
        for word in [seconds, 0, 40, u32::from(len)] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([0x45, 0]);
        bytes.extend(len.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0; 20]);
    }
    bytes
}

/// Mistakes that people have made, or could.
#[test]
fn known_mistakes_are_refused() {
    let plain = |more: &str| {
        format!(
            "version = 1\nname = \"x\"\nduration = \"10 s\"\n{more}\n[[server]]\nname = \"server\"\n\
             [[ping]]\nname = \"ping\"\nstations = [\"sta\"]\nserver = \"server\"\n"
        )
    };
    let radio = "[radio]\nstandard = \"802.11b\"\n";
    let station = "[[station]]\nname = \"sta\"\nrate = \"11 Mb/s\"\n";
    assert!(is_taken(&plain(&format!("{radio}{station}")), &[]));
    for more in [
        format!("{radio}[[station]]\nname = \"sta\"\nrate = \"0 Mb/s\"\n"),
        format!("{radio}{station}count = 1000000\n"),
        format!("{radio}{station}count = -1\n"),
        format!("{radio}{station}[measure]\ninterval = \"1 ns\"\n"),
        format!("{radio}ap_buffer = \"0 packets\"\n{station}"),
        format!("{radio}{station}[[event]]\nat = \"-1 s\"\ndo = \"insert\"\n"),
        format!("{radio}{station}[lan]\nrate = \"0 b/s\"\n"),
        format!("{radio}{station}[manager.controller]\nkind = \"published\"\ninterval = \"0 s\"\n"),
    ] {
        assert!(!is_taken(&plain(&more), &[]), "{more}");
    }
}

/// A day in steps of 10 ms with many connections would fill the memory with its time series.
#[test]
fn a_run_too_large_for_memory_is_refused() {
    let text = |duration: &str, interval: &str| {
        format!(
            "version = 1\nname = \"x\"\nduration = \"{duration}\"\n[measure]\ninterval = \"{interval}\"\n\
             [radio]\nstandard = \"802.11b\"\n[[station]]\nname = \"sta\"\ncount = 100\nrate = \"11 Mb/s\"\n\
             [[server]]\nname = \"server\"\n[[bulk]]\nname = \"b\"\nstations = [\"sta\"]\nserver = \"server\"\ndirection = \"up\"\n"
        )
    };
    assert!(is_taken(&text("24 h", "1 s"), &[]));
    let error = Scenario::parse(&text("24 h", "10 ms"), "x.toml").expect_err("too large").to_string();
    assert!(error.contains("measure.interval") && error.contains("x.toml:5:"), "{error}");
}
