//! Commands of iproute2 and nft, with their JSON output and exit status.

use std::process::{Command, Output};

use serde_json::Value;

/// JSON list that a command prints.
///
/// # Errors
/// The command cannot be run, fails, or prints something else: the reason as text.
pub fn list(command: &[&str]) -> Result<Vec<Value>, String> {
    let output = run(command)?;
    match serde_json::from_slice(&output.stdout) {
        Ok(Value::Array(list)) => Ok(list),
        // It prints nothing if the list is empty.
        _ if output.stdout.trim_ascii().is_empty() => Ok(Vec::new()),
        _ => Err(format!("{}: no list in JSON", command.join(" "))),
    }
}

/// Runs a command that must succeed.
///
/// # Errors
/// The command is not installed, or fails: the reason as text, with its own message.
pub fn run(command: &[&str]) -> Result<Output, String> {
    let output = Command::new(command[0]).args(&command[1..]).output();
    let package = if command[0] == "nft" { "nftables" } else { "iproute2" };
    let output = output.map_err(|error| format!("{}: {error} (it comes with {package})", command[0]))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{}: {}", command.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}
