//! Function parameters are named one by one: none is a tuple that the signature destructures.
//!
//! The linter limits their number (`too-many-arguments-threshold`), but does not look into tuples.

use super::{files, read, root};

/// Source text in which comments and the content of strings and characters are blanked out.
fn code(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < bytes.len() {
        let len = literal(&source[at..]);
        if len > 0 {
            out.extend(source[at..at + len].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            at += len;
        } else {
            let c = source[at..].chars().next().expect("not at the end");
            out.push(c);
            at += c.len_utf8();
        }
    }
    out
}

/// Length of the comment, string or character literal at the beginning of this text; 0 if there is none.
fn literal(text: &str) -> usize {
    let until = |start: usize, end: &str| text[start..].find(end).map_or(text.len(), |at| start + at + end.len());
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return until(2, "*/");
    }
    if let Some(rest) = text.strip_prefix("r#") {
        let hashes = 1 + rest.bytes().take_while(|&byte| byte == b'#').count();
        let is_raw = text[1 + hashes..].starts_with('"');
        return if is_raw { until(hashes + 2, &format!("\"{}", "#".repeat(hashes))) } else { 0 };
    }
    let quote = match text.chars().next() {
        Some('"') => '"',
        // Otherwise a lifetime.
        Some('\'') if text[1..].starts_with('\\') || text.chars().nth(2) == Some('\'') => '\'',
        _ => return 0,
    };
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

/// Splits a list at the commas outside of all brackets, up to its closing bracket.
fn parts(list: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut parts) = (0, 0, Vec::new());
    let mut before = ' ';
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if before == '-' || before == '=' => {}
            ')' | ']' | '}' if depth == 0 => {
                parts.push(&list[begin..at]);
                break;
            }
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    parts
}

/// Names of functions whose signature destructures a tuple. Strategies of a property test, `(a, b) in pairs()`, are no
/// signature.
fn takers(source: &str) -> Vec<String> {
    let code = code(source);
    let mut found = Vec::new();
    for (at, _) in
        code.match_indices("fn ").filter(|&(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    {
        let rest = code[at + 3..].trim_start();
        let name: String = rest.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect();
        let mut list = rest[name.len()..].trim_start();
        if let Some(generics) = list.strip_prefix('<') {
            list = after_generics(generics);
        }
        let Some(list) = list.strip_prefix('(').filter(|_| !name.is_empty()) else { continue };
        let is_tuple = |part: &&str| {
            let pattern = part.trim_start().trim_start_matches(['&', ' ']);
            pattern.starts_with('(') && matches!(after_tuple(pattern).trim_start().chars().next(), Some(':'))
        };
        if parts(list).iter().any(is_tuple) {
            found.push(name);
        }
    }
    found
}

/// The text after generics whose bracket is already open.
fn after_generics(text: &str) -> &str {
    let (mut depth, mut before) = (1, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text[at + 1..].trim_start();
        }
        before = c;
    }
    ""
}

/// The text after the tuple at its beginning.
fn after_tuple(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

#[test]
fn no_parameter_is_a_tuple_that_is_taken_apart() {
    let crates = root().join("crates");
    let mut functions = 0;
    let mut wrong = Vec::new();
    for path in files(&crates, &[".rs"]) {
        let source = read(&path);
        functions += source.matches("fn ").count();
        let file = path.strip_prefix(&crates).expect("below it").to_str().expect("a plain name");
        wrong.extend(takers(&source).into_iter().map(|taker| format!("{file}: {taker}")));
    }
    assert!(functions > 5_000, "found only {functions} functions: this test sees nothing");
    assert!(wrong.is_empty(), "a type with names, or a parameter each: {wrong:#?}");
}

#[test]
fn tuples_are_found_in_signatures_only() {
    let found = [
        "fn f((a, b): (u8, u8)) {}",
        "pub fn f(&self, x: u8, &(a, _): &(u8, u8)) {}",
        "fn f<T, F: Fn(u8) -> Vec<T>>(\n    x: T, // it\n    (a, (b, c)): (u8, (u8, F)),\n) {}",
        "fn f<'a>(c: &'a str, (a, b): (char, u8)) { g('(', \"fn h(\", '\\'') }",
    ];
    for source in found {
        assert_eq!(takers(source), ["f"], "{source}");
    }
    let none = [
        "fn f(a: (u8, u8), g: impl Fn((u8, u8)) -> u8) { pairs.map(|(a, b): (u8, u8)| a) }",
        "proptest! { fn f((a, b) in pairs()) {} }",
        "// fn f((a, b): (u8, u8))\nconst A: &str = \"fn f((a, b): (u8, u8))\"; const B: &str = r#\"fn f((a, b): (u8, u8))\"#;",
        "fn f(NodeId(to): NodeId, [a, b]: [u8; 2]) {}",
    ];
    for source in none {
        assert!(takers(source).is_empty(), "{source}");
    }
}
