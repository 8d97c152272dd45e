//! Packs the scenarios of the repository into the module, by name: `adwiser/a07-calls`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(!files.is_empty(), "there are no scenarios in {}", root.display());
    files.sort();
    let mut code = String::from("&[\n");
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).expect("it is in there").with_extension("");
        let text = file.canonicalize().expect("it is there");
        writeln!(code, "({:?}, include_str!({:?})),", name.to_string_lossy(), text.to_string_lossy()).expect("memory");
    }
    code.push(']');
    let to = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("scenarios.rs");
    fs::write(to, code).expect("the output folder takes it");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
}
