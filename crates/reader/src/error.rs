//! Errors of a file, with their positions.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// A problem at a position in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Position, in bytes from the start of the text.
    pub span: Range<usize>,
    /// What is wrong, as a clause.
    pub what: String,
    /// What would be right; empty if that is obvious from `what`.
    pub allowed: String,
}

/// All problems found so far.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

/// Why a file was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file was read, and is wrong in these places (at least one, in order).
    #[error("{}", Listing(.0))]
    Invalid(Vec<Located>),
}

/// A problem with its position, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Where it is.
    pub place: Place,
    /// The key's path, such as `station[2].rate`; empty if no key is concerned.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What would be right; may be empty.
    pub allowed: String,
    /// The line of the file, and the columns (from 0) to underline; absent for command-line options.
    pub source_line: Option<(String, Range<usize>)>,
}

/// Where a problem is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, or the command-line option that set the value.
    pub file: String,
    /// Line and column, from 1; absent for the whole file, and for options.
    pub position: Option<(usize, usize)>,
}

impl Place {
    /// The whole of a file, or an option.
    pub fn whole(file: impl Into<String>) -> Self {
        Self { file: file.into(), position: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.position.map_or(Ok(()), |(line, column)| write!(f, ":{line}:{column}"))
    }
}

/// Maximum number of problems listed individually: more usually have one cause.
const SHOWN: usize = 20;

struct Listing<'a>(&'a [Located]);

impl Problems {
    /// Notes a problem. `allowed` may be empty.
    pub fn add(&mut self, span: Range<usize>, what: impl Into<String>, allowed: impl Into<String>) {
        self.0.push(Problem { span, what: what.into(), allowed: allowed.into() });
    }

    /// Adds the problems that all of `others` have.
    pub fn add_common(&mut self, others: &[Self]) {
        let Some((first, rest)) = others.split_first() else { return };
        let is_common = |problem: &&Problem| rest.iter().all(|other| other.0.contains(problem));
        self.0.extend(first.0.iter().filter(is_common).cloned());
    }

    /// Whether nothing is wrong so far.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are so far.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The problems, in order of place.
    pub fn into_sorted(mut self) -> Vec<Problem> {
        self.0.sort_by_key(|problem| problem.span.start);
        self.0
    }
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.what)?;
        if !self.allowed.is_empty() {
            write!(f, "; allowed: {}", self.allowed)?;
        }
        if let Some((line, columns)) = &self.source_line {
            let underline = "^".repeat(columns.len().max(1));
            write!(f, "\n    | {line}\n    | {:width$}{underline}", "", width = columns.start)?;
        }
        Ok(())
    }
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, located) in self.0.iter().take(SHOWN).enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{located}")?;
        }
        if self.0.len() > SHOWN {
            write!(f, "\n... and {} more", self.0.len() - SHOWN)?;
        }
        Ok(())
    }
}
