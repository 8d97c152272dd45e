//! The program has the page in it, and is built again when the page is.

fn main() {
    println!("cargo::rerun-if-changed=../../page/dist");
}
