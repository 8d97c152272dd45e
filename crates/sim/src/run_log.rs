//! The run log: the scenario's events, and errors, of which a long run may have any number. All events and the first errors
//! are listed, with the number of further errors at the end.

use evenair_results::EventRecord;

/// Kind of a note in results.
pub(crate) const NOTE: &str = "note";

#[derive(Debug)]
pub(crate) struct RunLog {
    records: Vec<EventRecord>,
    /// How many more notes may be listed.
    room: usize,
    left_out: u64,
}

impl RunLog {
    /// A log that lists at most this many notes.
    pub(crate) fn new(most: usize) -> Self {
        Self { records: Vec::new(), room: most, left_out: 0 }
    }

    pub(crate) fn push(&mut self, record: EventRecord) {
        if record.what == NOTE {
            if self.room == 0 {
                self.left_out += 1;
                return;
            }
            self.room -= 1;
        }
        self.records.push(record);
    }

    /// All listed records, at the end of the run.
    pub(crate) fn finish(mut self, at_s: f64) -> Vec<EventRecord> {
        if self.left_out > 0 {
            let detail = format!("{} more notes are not listed", self.left_out);
            self.records.push(EventRecord { at_s, what: NOTE.to_owned(), detail });
        }
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_all_listed_and_the_first_notes() {
        let mut run_log = RunLog::new(2);
        for what in [NOTE, "join", NOTE, NOTE, "leave", NOTE] {
            run_log.push(EventRecord { at_s: 1.0, what: what.to_owned(), detail: String::new() });
        }
        let listed = run_log.finish(9.0);
        let what: Vec<_> = listed.iter().map(|record| record.what.as_str()).collect();
        assert_eq!(what, [NOTE, "join", NOTE, "leave", NOTE]);
        assert_eq!((listed[4].at_s, listed[4].detail.as_str()), (9.0, "2 more notes are not listed"));
    }
}
