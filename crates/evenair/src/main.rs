//! The `evenair` command.
fn main() {}
