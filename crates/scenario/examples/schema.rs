//! Prints the JSON schema of scenario files; `scenarios/schema.json` is its output.

fn main() {
    println!("{:#}", evenair_scenario::schema());
}
