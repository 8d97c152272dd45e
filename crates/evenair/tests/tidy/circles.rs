//! Import cycles among the files of a crate. A file imports another if it names an item of it: by `use`, or by a path that begins
//! with `crate`, `super` or `self`; a re-exported item (`pub use`) counts as imported from the file that defines it. `lib.rs`,
//! which lists all modules, and `mod tests` are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{files, lines_before_tests, read};

/// A file as its module path in the crate: `["sensing", "exchange"]`; empty for `lib.rs`.
type Module = Vec<String>;

/// The files that each file of a crate imports.
pub struct Imports(BTreeMap<Module, BTreeSet<Module>>);

/// A crate's sources without comments and tests, by file, and the re-exports of its files.
struct Sources {
    text: BTreeMap<Module, String>,
    /// Path of the re-exported item, by module and name.
    passed_on: BTreeMap<(Module, String), Vec<String>>,
}

impl Imports {
    /// The imports of the crate whose sources are in `folder`.
    pub fn of(folder: &Path) -> Self {
        let text =
            files(folder, &[".rs"]).iter().map(|file| (module(folder, file), without_tests(&read(file)))).collect();
        let sources = Sources::new(text);
        let importing = sources.text.keys().filter(|module| !module.is_empty());
        Self(importing.map(|module| (module.clone(), sources.imported_by(module))).collect())
    }

    /// Groups of files that all import one another, directly or indirectly; the largest first.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<_, _> = self.0.keys().map(|module| (module, self.reached_from(module))).collect();
        let mut circles: Vec<Vec<String>> = Vec::new();
        let mut seen = BTreeSet::new();
        for (module, reaches) in &reached {
            if reaches.contains(*module) && !seen.contains(*module) {
                let circle = reaches.iter().filter(|other| reached[*other].contains(*module));
                seen.extend(circle.clone().cloned());
                circles.push(circle.map(|module| module.join("/")).collect());
            }
        }
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    /// The modules that `lib.rs` lists.
    pub fn at_the_top(&self) -> BTreeSet<&str> {
        self.0.keys().filter_map(|module| module.first()).map(String::as_str).collect()
    }

    fn reached_from(&self, module: &Module) -> BTreeSet<Module> {
        let mut reached = BTreeSet::new();
        let mut open = vec![module];
        while let Some(module) = open.pop() {
            open.extend(self.0[module].iter().filter(|imported| reached.insert((*imported).clone())));
        }
        reached
    }
}

fn module(folder: &Path, file: &Path) -> Module {
    let path = file.strip_prefix(folder).expect("a file of the folder").with_extension("");
    let mut parts: Module = path.iter().map(|part| part.to_str().expect("a plain name").to_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod") || parts == ["lib"] {
        parts.pop();
    }
    parts
}

/// The source up to the file's `mod tests`, without comments.
fn without_tests(source: &str) -> String {
    lines_before_tests(source).map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The paths of `a::{b, c::{d, e as f}}`.
fn paths(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, list)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let list = list.strip_suffix('}').unwrap_or(list);
    let (mut parts, mut depth) = (vec![String::new()], 0_i32);
    for c in list.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match (c, depth) {
            (',', 0) => parts.push(String::new()),
            _ => parts.last_mut().expect("never empty").push(c),
        }
    }
    let within = parts.iter().filter(|part| !part.trim().is_empty()).flat_map(|part| paths(part));
    within.map(|path| format!("{prefix}{path}")).collect()
}

/// The trees of a file's `use` declarations, each with whether it is a re-export; and the rest of the file.
fn declarations(source: &str) -> (Vec<(String, bool)>, String) {
    let (mut found, mut rest, mut open) = (Vec::new(), String::new(), source);
    while let Some(at) = open.find("use ") {
        let (before, declaration) = (&open[..at], &open[at + 4..]);
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        let visibility = line.is_empty() || line == "pub" || (line.starts_with("pub(") && line.ends_with(')'));
        let Some((tree, after)) = declaration.split_once(';').filter(|_| visibility) else {
            rest.push_str(&open[..at + 4]);
            open = declaration;
            continue;
        };
        rest.push_str(before);
        found.push((tree.split_whitespace().collect::<Vec<_>>().join(" "), !line.is_empty()));
        open = after;
    }
    rest.push_str(open);
    (found, rest)
}

/// Paths in a source that begin with a module keyword.
fn inline_paths(source: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let words = source.split(|c| !is_part(c));
    words
        .filter(|word| ["crate::", "super::", "self::"].iter().any(|start| word.starts_with(start)))
        .map(str::to_owned)
        .collect()
}

impl Sources {
    fn new(text: BTreeMap<Module, String>) -> Self {
        let mut sources = Self { text, passed_on: BTreeMap::new() };
        for (module, source) in &sources.text {
            for path in
                declarations(source).0.iter().filter(|(_, passed_on)| *passed_on).flat_map(|(tree, _)| paths(tree))
            {
                if let Some(path) = sources.path_in_crate(module, &path) {
                    sources.passed_on.insert((module.clone(), path.last().expect("a name").clone()), path);
                }
            }
        }
        sources
    }

    /// A path used in `module`, relative to the crate's root, if it belongs to this crate.
    fn path_in_crate(&self, module: &Module, path: &str) -> Option<Vec<String>> {
        let mut parts = path.split("::").map(|part| part.trim().to_owned()).peekable();
        let mut from = module.clone();
        let mut is_ours = false;
        while let Some(part) = parts.next_if(|part| ["crate", "super", "self"].contains(&part.as_str())) {
            is_ours = true;
            match part.as_str() {
                "crate" => from.clear(),
                "super" => drop(from.pop()),
                _ => {}
            }
        }
        from.extend(parts.next());
        let is_child = self.text.contains_key(&from);
        from.extend(parts);
        (is_ours || is_child).then_some(from).filter(|path| !path.is_empty())
    }

    /// The file in which the item at a path is defined.
    fn defined_in(&self, path: &[String]) -> Module {
        let known = (0..=path.len()).rev().find(|&n| self.text.contains_key(&path[..n])).unwrap_or(0);
        let (module, rest) = path.split_at(known);
        match rest.first().and_then(|name| self.passed_on.get(&(module.to_vec(), name.clone()))) {
            Some(elsewhere) if elsewhere.as_slice() != path => {
                self.defined_in(&[elsewhere.as_slice(), &rest[1..]].concat())
            }
            _ => module.to_vec(),
        }
    }

    fn imported_by(&self, module: &Module) -> BTreeSet<Module> {
        let (declared, rest) = declarations(&self.text[module]);
        let declared = declared.iter().filter(|(_, passed_on)| !passed_on).flat_map(|(tree, _)| paths(tree));
        let named = declared.chain(inline_paths(&rest)).filter_map(|path| self.path_in_crate(module, &path));
        named.map(|path| self.defined_in(&path)).filter(|other| other != module && !other.is_empty()).collect()
    }
}

#[test]
fn a_circle_is_found_through_re_exports_and_inline_paths() {
    let source = |module: &str, text: &str| {
        let module = module.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Module>();
        (module, without_tests(text))
    };
    let sources = Sources::new(BTreeMap::from([
        source("", "mod a; mod b; mod c; mod d;\npub use a::Thing;\npub(crate) use b::{Other as Another, c::Deep};"),
        source("a", "use crate::b::{self, Other};\nfn f() { crate::d::g() } // crate::c::Never\n"),
        source("b", "use std::fmt;\n"),
        source("b/c", "use super::Other;\nuse crate::Thing;\n"),
        source("d", "use crate::{Deep, Thing};\n#[cfg(test)]\nmod tests {\n use crate::b::c;\n}\n"),
    ]));
    let imports = Imports(sources.text.keys().map(|module| (module.clone(), sources.imported_by(module))).collect());
    let of = |module: &str| imports.0[&vec![module.to_owned()]].iter().map(|m| m.join("/")).collect::<Vec<_>>();
    assert_eq!(of("a"), ["b", "d"]);
    assert_eq!(of("d"), ["a", "b/c"]);
    assert_eq!(imports.circles(), [["a", "b/c", "d"]]);
}
