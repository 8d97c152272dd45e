//! Draws the pictures of a result file and writes its report page: `plots RESULT.json FOLDER`.

use std::path::Path;

use evenair_scenario::results::{RunResult, summary, write_whole};
use evenair_scenario::{plots, report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [result, folder] = arguments.as_slice() else { return Err("usage: plots RESULT.json FOLDER".into()) };
    let run = RunResult::read(Path::new(result))?;
    for plot in plots::all(&run) {
        write_whole(&Path::new(folder).join(plot.name).with_extension("svg"), plot.svg.as_bytes())?;
    }
    write_whole(&Path::new(folder).join("report.html"), report(&run).as_bytes())?;
    print!("{}", summary(&run));
    Ok(())
}
