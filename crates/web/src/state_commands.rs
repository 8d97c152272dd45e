//! `evenair-web backup` and `restore`: the state directory as one file; `account`: second factors.

use std::fs::File;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use evenair_web::{Backup, BackupTo, Clock, NewFactor, Restored, WebConfig, back_up, remove_factor};

use crate::commands::date;

/// Arguments of `evenair-web backup`.
#[derive(Args)]
pub struct BackupArgs {
    /// The file to write, which only its owner may read; "-": standard output
    #[arg(required_unless_present = "rotate")]
    file: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Write to `backups/` of the state directory instead, where the last two stay
    #[arg(long, conflicts_with_all = ["file", "force"])]
    rotate: bool,
}

/// Writes a backup.
pub fn backup(args: BackupArgs, config: &WebConfig) -> Result<()> {
    let to = match args.file {
        None => BackupTo::Rotated,
        Some(path) if path == Path::new("-") => BackupTo::Output,
        Some(path) => BackupTo::File { path, force: args.force },
    };
    let Backup { path, files, bytes, left_out } = back_up(config, &Clock::new(), &to)?;
    let what = format!("{files} files, {:.1} MB before they were packed", bytes as f64 / 1e6);
    match path {
        Some(path) => {
            println!("{}: {what}. Whoever can read it can pretend to be this page: keep it safe.", path.display())
        }
        None => eprintln!("{what}"),
    }
    for what in left_out {
        eprintln!("left out: {what}");
    }
    Ok(())
}

/// Arguments of `evenair-web restore`.
#[derive(Args)]
pub struct RestoreArgs {
    /// The backup; "-": standard input
    file: PathBuf,
}

/// Restores a backup.
pub fn restore(args: &RestoreArgs, config: &WebConfig) -> Result<()> {
    let clock = Clock::new();
    let name = || args.file.display().to_string();
    let restored = if args.file == Path::new("-") {
        evenair_web::restore(config, &clock, std::io::stdin().lock())
    } else {
        evenair_web::restore(config, &clock, File::open(&args.file).with_context(name)?)
    };
    let Restored { made_s, version, files, before } = restored.with_context(name)?;
    println!("{} has what it had {}: {files} files, of evenair-web {version}", config.state.display(), date(made_s));
    if let Some(before) = before {
        println!("What was there before is in {}; remove it when it is not needed any more.", before.display());
    }
    println!("Start evenair-web now: sudo systemctl start evenair-web");
    Ok(())
}

/// Number of attempts to type a code.
const TRIES: u32 = 3;

/// Commands about accounts.
#[derive(Subcommand)]
pub enum AccountCommand {
    /// Give an account a second factor: from now on its login asks for a code of an authenticator app (TOTP, RFC 6238) as well
    Totp {
        /// The account
        name: String,
        /// Take the second factor away
        #[arg(long)]
        off: bool,
    },
}

/// Executes a command.
pub fn account(command: AccountCommand, config: &WebConfig) -> Result<()> {
    match command {
        AccountCommand::Totp { name, off: true } => {
            remove_factor(config, &name)?;
            println!("{name} logs in with the password alone from now on");
            Ok(())
        }
        AccountCommand::Totp { name, off: false } => totp(&name, config),
    }
}

fn totp(name: &str, config: &WebConfig) -> Result<()> {
    let factor = NewFactor::of(config, name)?;
    println!("{}", factor.uri());
    println!("Secret, for an authenticator app: {}", factor.secret());
    for _ in 0..TRIES {
        print!("The code that the app shows now: ");
        std::io::stdout().flush()?;
        let mut code = String::new();
        if std::io::stdin().lock().read_line(&mut code)? == 0 {
            break;
        }
        if let Some(codes) = factor.confirm(config, &Clock::new(), &code)? {
            println!(
                "The login of {name} asks for a code from now on. Without the app each of these is for one login; they are not shown again:"
            );
            codes.iter().for_each(|code| println!("{code}"));
            return Ok(());
        }
        println!("That is not the code of now; is the clock of this machine right ({})?", date(Clock::new().unix()));
    }
    bail!("nothing was changed: no code was right")
}
