//! Questions at a terminal, each repeated until the answer is valid.

use std::io::{self, BufRead, Write};

use anyhow::{Result, bail};

/// A dialogue with the operator.
pub struct Dialogue<R> {
    answers: R,
    asks: bool,
}

impl<R: BufRead> Dialogue<R> {
    /// Reads answers from `input`; `asks`: an operator is present.
    pub fn new(answers: R, asks: bool) -> Self {
        Self { answers, asks }
    }

    /// An operator is present.
    pub fn asks(&self) -> bool {
        self.asks
    }

    /// Asks until `read` accepts the answer; its error messages should name the allowed answers. An empty answer is the
    /// proposal.
    ///
    /// # Errors
    /// The answers have ended.
    pub fn ask<T>(
        &mut self,
        question: &str,
        proposal: Option<&str>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T> {
        loop {
            match proposal {
                Some(proposal) => print!("{question} [{proposal}]: "),
                None => print!("{question}: "),
            }
            io::stdout().flush()?;
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                bail!("no answer");
            }
            let answer = match (line.trim(), proposal) {
                ("", Some(proposal)) => proposal,
                (answer, _) => answer,
            };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(why) => println!("  {why}"),
            }
        }
    }
}
