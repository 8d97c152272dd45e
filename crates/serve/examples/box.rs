//! A box on the command line, for trying it by hand: `box FILE` runs one, `box --replay RECORDING` replays.
use anyhow::{Result, bail};
use evenair_boxfile::BoxConfig;
use evenair_live::replay;
use evenair_serve::run;

fn main() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--replay", recording] => println!("{:#?}", replay(recording.as_ref())?),
        [file] => println!("{}", serde_json::to_string_pretty(&run(BoxConfig::load(file.as_ref())?)?)?),
        _ => bail!("usage: box FILE, or box --replay RECORDING"),
    }
    Ok(())
}
