//! The commands of iproute2 and nft, with their JSON output and exit status.

use std::process::{Command, Output};

use serde_json::Value;

/// What a command prints as a JSON list.
///
/// # Errors
/// It cannot be run, or fails, or prints something else: why, in words.
pub fn list(command: &[&str]) -> Result<Vec<Value>, String> {
    let output = run(command)?;
    match serde_json::from_slice(&output.stdout) {
        Ok(Value::Array(list)) => Ok(list),
        // It prints nothing at all where the list is empty.
        _ if output.stdout.trim_ascii().is_empty() => Ok(Vec::new()),
        _ => Err(format!("{}: no list in JSON", command.join(" "))),
    }
}

/// Runs a command that is to succeed.
///
/// # Errors
/// It is not installed, or fails: why, with what it says itself.
pub fn run(command: &[&str]) -> Result<Output, String> {
    let output = Command::new(command[0]).args(&command[1..]).output();
    let package = if command[0] == "nft" { "nftables" } else { "iproute2" };
    let output = output.map_err(|error| format!("{}: {error} (it comes with {package})", command[0]))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{}: {}", command.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}
