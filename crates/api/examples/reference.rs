//! Prints what `make reference` writes: `status` and `history` for their JSON Schema, `fields` for the list of all fields.

use std::process::ExitCode;

use evenair_api::reference;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("status") => println!("{:#}", reference::status_schema()),
        Some("history") => println!("{:#}", reference::history_schema()),
        Some("fields") => print!("{}", reference::fields()),
        other => {
            eprintln!("{other:?} cannot be printed: status, history or fields can");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
