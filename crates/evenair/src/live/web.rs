//! `evenair web`: prints the address of the page. The page's program prints it itself, since it reads its own configuration.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use evenair_cli::{WEB, become_program, find_program, missing};
use serde_json::json;

/// Arguments of `evenair web`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct WebArgs {
    #[command(subcommand)]
    command: Option<WebCommand>,
    /// Print JSON: address, fingerprint, whether the program and its page are there, the SSH command for a browser elsewhere
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum WebCommand {
    /// Print a link that makes an account in a browser, once and within 15 minutes, or gives one a new password
    #[command(disable_help_flag = true)]
    Setup {
        /// Arguments of `evenair-web setup`: --role view, operate or admin; --name NAME
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Make, list and remove tokens, with which programs use the API
    #[command(disable_help_flag = true)]
    Token {
        /// Arguments of `evenair-web token`: add --note TEXT, with --role and --days; list; remove ID
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Print the audit log: who logged in, and who changed what, the newest line last
    #[command(disable_help_flag = true)]
    Audit {
        /// Arguments of `evenair-web audit`: --lines N; --json
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Test the receivers of alerts, and mute what they hear of
    #[command(disable_help_flag = true)]
    Alert {
        /// Arguments of `evenair-web alert`: test NAME; mute CODE --for TIME; unmute CODE; list
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Give an account a second factor, or take it away
    #[command(disable_help_flag = true)]
    Account {
        /// Arguments of `evenair-web account`: totp NAME; --off
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Write accounts, tokens, certificate, audit log and history of the page to one file
    #[command(disable_help_flag = true)]
    Backup {
        /// Arguments of `evenair-web backup`: FILE or "-"; --force; --rotate
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Put such a backup in the place of what the page has, which is kept; the page must not run
    #[command(disable_help_flag = true)]
    Restore {
        /// Arguments of `evenair-web restore`: FILE or "-"
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// Replaces this process with `evenair-web --where`, or with one of its commands.
pub fn web(args: &WebArgs) -> Result<ExitCode> {
    let command = args.command.as_ref().map(|command| match command {
        WebCommand::Setup { arguments } => ("setup", arguments),
        WebCommand::Token { arguments } => ("token", arguments),
        WebCommand::Audit { arguments } => ("audit", arguments),
        WebCommand::Alert { arguments } => ("alert", arguments),
        WebCommand::Account { arguments } => ("account", arguments),
        WebCommand::Backup { arguments } => ("backup", arguments),
        WebCommand::Restore { arguments } => ("restore", arguments),
    });
    if let Some((name, arguments)) = command {
        return become_program(WEB, WEB, WEB, [OsString::from(name)].into_iter().chain(arguments.iter().cloned()));
    }
    if args.json && find_program(WEB).is_none() {
        let error = missing(WEB, WEB);
        let nothing =
            json!({ "program": null, "page": null, "address": null, "fingerprint": null, "ssh": null, "error": error });
        println!("{nothing:#}");
        return Ok(ExitCode::FAILURE);
    }
    let json = args.json.then(|| OsString::from("--json"));
    become_program(WEB, WEB, WEB, [OsString::from("--where")].into_iter().chain(json))
}
