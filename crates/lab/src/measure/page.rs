//! What a measurement found, and the page of docs/measured that has it.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use evenair_study::Made;

use crate::output::VERSION;

/// What a measurement found.
#[derive(Debug)]
pub struct Measured {
    /// Its tables, in Markdown.
    pub text: String,
    /// Every bound that it has is met.
    pub is_met: bool,
}

/// A measurement without bounds.
impl From<String> for Measured {
    fn from(text: String) -> Self {
        Self { text, is_met: true }
    }
}

impl Measured {
    /// The page, named after its file: date, version, machine and command, then the tables.
    pub fn page(&self, file: &Path, mut made: Made) -> String {
        // However this program was started.
        if let Some(program) = made.command.first_mut() {
            "evenair".clone_into(program);
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let (date, command) = (made.date.clone().unwrap_or_default(), made.command_text().unwrap_or_default());
        let missed = if self.is_met { "" } else { "| **ended with** | **a bound was missed** |\n" };
        format!(
            "# Measured: {name}\n\n| | |\n|---|---|\n| date | {date} |\n| version | {VERSION} |\n| machine | {} |\n\
             | command | `{command}` |\n{missed}\n{}",
            machine(),
            self.text
        )
    }

    /// Writes the page.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, file: &Path, made: Made) -> Result<()> {
        fs::write(file, self.page(file, made)).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Processor, cores, memory and kernel.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let cpu = value(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = value(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let kib: f64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
    let cores = available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{cpu}, {cores} cores, {:.0} GiB, Linux {}", kib / f64::from(1 << 20), kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_how_it_was_made_and_whether_a_bound_was_missed() {
        let words = ["/usr/bin/evenair-lab", "measure", "grid", "--only", "4 sta"].map(str::to_owned);
        let made = Made { command: words.to_vec(), date: Some("2026-01-31".to_owned()), ..Made::default() };
        let page = |is_met| Measured { text: "| a |\n".to_owned(), is_met }.page(Path::new("x/grid.md"), made.clone());
        let met = page(true);
        assert!(met.starts_with("# Measured: grid\n\n| | |\n|---|---|\n| date | 2026-01-31 |\n| version | "), "{met}");
        assert!(met.contains("| command | `evenair measure grid --only '4 sta'` |\n\n| a |\n"), "{met}");
        let cores = format!(", {} cores, ", available_parallelism().map_or(1, usize::from));
        assert!(met.contains(&cores) && met.contains(" GiB, Linux "), "{met}");
        assert!(page(false).contains("` |\n| **ended with** | **a bound was missed** |\n\n| a |"), "{}", page(false));
    }
}
