//! Old terms must not return: the list of renamed terms with their replacements (`checks/terms.txt`).

use crate::{files, lines_before_tests, read, root};

/// Files in which an old term is allowed: the changelog, the table of renamed keys with its tests, and the list itself.
const MAY_HAVE_THEM: [&str; 7] = [
    "CHANGELOG.md",
    "checks/terms.txt",
    "checks/renamed-results.txt",
    "crates/reader/src/renames.rs",
    "crates/boxfile/src/config/tests.rs",
    "crates/boxfile/src/migrate.rs",
    "crates/evenair/tests/tidy/terms.rs",
];

/// The old terms, each with its replacement.
fn terms(list: &str) -> Vec<(&str, &str)> {
    let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(" -> ").unwrap_or_else(|| panic!("{line:?} is not `OLD -> NEW`"))).collect()
}

/// Whether a text contains a term as a whole, not as a part of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[test]
fn old_words_do_not_come_back() {
    let list = read(&root().join("checks/terms.txt"));
    let terms = terms(&list);
    assert!(terms.len() > 5, "checks/terms.txt has lost its terms");
    let mut found = Vec::new();
    for path in files(&root(), &[".rs", ".md", ".toml", ".json", ".service", ".sh"]) {
        let name = path.strip_prefix(root()).expect("inside").display().to_string();
        if MAY_HAVE_THEM.contains(&name.as_str())
            || name.contains("tests/data/")
            || name.ends_with("tests/it/migrate.rs")
        {
            continue;
        }
        // Tests may contain refused names.
        for (line, n) in lines_before_tests(&read(&path)).zip(1..) {
            let old = terms.iter().filter(|(old, _)| has_word(line, old));
            found.extend(old.map(|(old, new)| format!("{name}:{n}: {old} (write {new})")));
        }
    }
    assert!(found.is_empty(), "old words:\n{}", found.join("\n"));
}

#[test]
fn a_word_is_found_on_its_own_only() {
    assert!(has_word("the `know_rates` key", "know_rates") && has_word("know_rates", "know_rates"));
    assert!(!has_word("know_rates_too", "know_rates") && !has_word("unknow_rates", "know_rates"));
    assert!(has_word("one is to be told of it", "to be told of"));
    assert_eq!(terms("# why\n\na b -> c\n"), [("a b", "c")]);
}
