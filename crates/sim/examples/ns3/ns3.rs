//! Runs of ns-3, and their results, stored below `target/ns3`.
//!
//! A result is a function of the program's source, its arguments and the seed, and is stored under a hash of these together
//! with them, so that a second validation takes moments.

use std::path::{Path, PathBuf};
use std::process::Command;

use evenair_results::write_whole;
use serde_json::Value;

use super::case::{Case, Got};

/// The program that drives ns-3.
const SOURCE: &str = include_str!("../../../../checks/ns3/wlan.cc");

/// ns-3's program and the store of its results.
#[derive(Clone, Debug)]
pub struct Ns3 {
    program: PathBuf,
    store: PathBuf,
}

/// One run: the results of each group, and the CPU time of the event loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub got: Vec<Got>,
    pub cpu_s: f64,
}

impl Ns3 {
    /// `None` if `scripts/ns3` has not built it.
    pub fn find() -> Option<Self> {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/ns3");
        let program = target.join("wlan");
        program.exists().then(|| Self { program, store: target.join("results") })
    }

    /// One run, from the store if it is there.
    pub fn run(&self, case: &Case, seed: u32) -> Result<Run, String> {
        let args = with_seed(case, seed);
        let key = format!("{SOURCE}\n{}", args.join(" "));
        let path = self.store.join(format!("{:016x}.json", fnv1a(key.as_bytes())));
        if let Some(run) = kept(&path, &args) {
            return Ok(run);
        }
        let output = self.output(&args)?;
        let run = parse(&output).ok_or(format!("ns-3 printed {output:?}"))?;
        std::fs::create_dir_all(&self.store).map_err(|error| error.to_string())?;
        let record = serde_json::json!({ "args": args, "output": output.trim() });
        write_whole(&path, record.to_string().as_bytes()).map_err(|error| error.to_string())?;
        Ok(run)
    }

    /// One run, never from the store.
    pub fn run_anew(&self, case: &Case, seed: u32) -> Result<Run, String> {
        let output = self.output(&with_seed(case, seed))?;
        parse(&output).ok_or(format!("ns-3 printed {output:?}"))
    }

    fn output(&self, args: &[String]) -> Result<String, String> {
        let output = Command::new(&self.program).args(args).output().map_err(|error| format!("ns-3: {error}"))?;
        if !output.status.success() {
            return Err(format!("ns-3 failed: {} {}", args.join(" "), String::from_utf8_lossy(&output.stderr)));
        }
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    }
}

fn with_seed(case: &Case, seed: u32) -> Vec<String> {
    let mut args = case.ns3_args();
    args.push(format!("--seed={seed}"));
    args
}

fn kept(path: &Path, args: &[String]) -> Option<Run> {
    let record: Value = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let same = record["args"].as_array()?.iter().map(Value::as_str).eq(args.iter().map(|arg| Some(arg.as_str())));
    same.then(|| parse(record["output"].as_str()?)).flatten()
}

/// Parses the program's output line.
fn parse(line: &str) -> Option<Run> {
    let value: Value = serde_json::from_str(line).ok()?;
    let got = value["groups"].as_object()?.iter().map(|(group, got)| {
        Some(Got { group: group.clone(), ip: got["ip_mbps"].as_f64()?, goodput: got["goodput_mbps"].as_f64()? })
    });
    Some(Run { got: got.collect::<Option<_>>()?, cpu_s: value["cpu_s"].as_f64()? })
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): the same on every machine and in every version.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_published() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn the_output_line_is_parsed() {
        let line = r#"{"cpu_s": 1.5, "groups": {"up": {"ip_mbps": 2.5, "goodput_mbps": 2.25}}}"#;
        let got = vec![Got { group: "up".into(), ip: 2.5, goodput: 2.25 }];
        assert_eq!(parse(line), Some(Run { got, cpu_s: 1.5 }));
        assert_eq!(parse(r#"{"cpu_s": 1.5, "groups": {"up": {}}}"#), None);
    }
}
