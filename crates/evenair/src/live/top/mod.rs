//! `evenair top`: live view of a box, by second and station, from its watch feed (`evenair_api::watch`).
//!
//! The screen consists of lines of text (`view.rs`), shown in colours on a terminal (`screen.rs`) and as they are in a pipe.
//! Losses are sums over the last ten lines, all else is from the last one.

mod calls;
pub(super) mod head;
pub(super) mod samples;
mod screen;
mod station;
pub(super) mod table;
#[cfg(test)]
mod tests;
pub(super) mod text;
mod view;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use evenair_api::watch::Part;

use evenair_client::watch::{Feed, SOCKET};
use view::View;

/// Parts of the watch feed to request.
const PARTS: [Part; 6] = [Part::Health, Part::Totals, Part::Domains, Part::Stations, Part::Classes, Part::Calls];
/// Width of printed text: all columns except those of single legs.
const PRINTED_WIDTH: usize = 120;

/// Arguments of `evenair top`.
#[derive(Args)]
pub struct TopArgs {
    /// The box's watch socket, which root and the group evenair-watch may open
    #[arg(long, default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Seconds between two updates, 1 to 60; values are of the last of them
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=60), value_name = "S")]
    every: u64,
    /// Print this many updates as plain text and exit; without a terminal updates are printed until the reader ends
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Print the lines of the watch feed, JSON, with all their parts
    #[arg(long)]
    json: bool,
}

/// Shows a running box until `q` is pressed, or a number of times.
pub fn top(args: &TopArgs) -> Result<ExitCode> {
    let screen = !args.json && args.count.is_none() && io::stdout().is_terminal();
    // Losses are sums over the lines of every second.
    let (parts, every_s) = if args.json { (&Part::ALL[..], args.every) } else { (&PARTS[..], 1) };
    let feed = Feed::open(&args.socket, parts, every_s)?;
    if screen {
        screen::show(&args.socket, feed, Duration::from_secs(args.every))?;
    } else {
        print(args, feed, &mut io::stdout().lock())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints updates until there are enough, or the pipe is closed, which is no error.
fn print(args: &TopArgs, mut feed: Feed, out: &mut impl Write) -> Result<()> {
    let mut view = View::default();
    let (mut printed, mut seconds) = (0, 0);
    while args.count.is_none_or(|count| printed < count) {
        let (text, line) = feed.read()?;
        view.take(Ok(line));
        seconds += 1;
        let update = match args.json {
            true => text + "\n",
            false if (seconds - 1) % args.every == 0 => view.print(PRINTED_WIDTH).join("\n") + "\n\n",
            false => continue,
        };
        printed += 1;
        match out.write_all(update.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            done => done?,
        }
    }
    Ok(())
}
