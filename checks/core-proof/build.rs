//! No C start-up files and no C library: what the binary needs, it brings.

fn main() {
    for arg in ["-nostartfiles", "-nostdlib", "-static"] {
        println!("cargo::rustc-link-arg-bins={arg}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
