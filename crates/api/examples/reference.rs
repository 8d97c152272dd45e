//! Prints the JSON Schema of the `status` or of the `history`, for `make reference`.

use std::process::ExitCode;

use evenair_api::reference;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("status") => println!("{:#}", reference::status_schema()),
        Some("history") => println!("{:#}", reference::history_schema()),
        other => {
            eprintln!("{other:?} cannot be printed: status and history can");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
