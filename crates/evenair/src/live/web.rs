//! `evenair web`: where a browser finds the page. The program of the page says so itself, since it reads its configuration.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use evenair_cli::{WEB, become_program, find_program, missing};
use serde_json::json;

/// Arguments of `evenair web`.
#[derive(Args)]
pub struct WebArgs {
    /// Print JSON: address, whether the program and its page are there, the SSH command for a browser elsewhere
    #[arg(long)]
    json: bool,
}

/// Replaces this process with `evenair-web --where`.
pub fn web(args: &WebArgs) -> Result<ExitCode> {
    if args.json && find_program(WEB).is_none() {
        let error = missing(WEB, WEB);
        let nothing = json!({ "program": null, "page": null, "address": null, "ssh": null, "error": error });
        println!("{nothing:#}");
        return Ok(ExitCode::FAILURE);
    }
    let json = args.json.then(|| OsString::from("--json"));
    become_program(WEB, WEB, WEB, [OsString::from("--where")].into_iter().chain(json))
}
