//! The first difference of two JSON documents.

use serde_json::Value;

/// Where two documents differ.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// Path of the value: `phases[0].total_ip_mbps`.
    pub place: String,
    /// Value in each document, as JSON.
    pub values: [String; 2],
}

/// The first difference of two texts: of their values or, if these are equal, of their lines. `None` if the bytes are equal.
pub fn difference(a: &str, b: &str) -> Option<Difference> {
    if a == b {
        return None;
    }
    let values = [a, b].map(serde_json::from_str::<Value>);
    let of_values = match &values {
        [Ok(a), Ok(b)] => of_values(a, b, ""),
        _ => None,
    };
    of_values.or_else(|| {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let (a, b) = (lines(a), lines(b));
        let line =
            |of: &[String], at: usize| of.get(at).map_or_else(|| "absent".to_owned(), |line| format!("{line:?}"));
        let at = (0..a.len().max(b.len())).find(|&at| a.get(at) != b.get(at));
        let values = at.map_or_else(
            || ["the same lines", "with other ends"].map(str::to_owned),
            |at| [line(&a, at), line(&b, at)],
        );
        Some(Difference { place: at.map_or_else(|| "the text".to_owned(), |at| format!("line {}", at + 1)), values })
    })
}

fn of_values(a: &Value, b: &Value, place: &str) -> Option<Difference> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            let dot = if place.is_empty() { "" } else { "." };
            names.into_iter().find_map(|name| of_parts(a.get(name), b.get(name), &format!("{place}{dot}{name}")))
        }
        (Value::Array(a), Value::Array(b)) => {
            (0..a.len().max(b.len())).find_map(|at| of_parts(a.get(at), b.get(at), &format!("{place}[{at}]")))
        }
        _ if a == b => None,
        _ => Some(Difference { place: place.to_owned(), values: [a, b].map(Value::to_string) }),
    }
}

fn of_parts(a: Option<&Value>, b: Option<&Value>, place: &str) -> Option<Difference> {
    match (a, b) {
        (Some(a), Some(b)) => of_values(a, b, place),
        _ => {
            let text = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), Value::to_string);
            Some(Difference { place: place.to_owned(), values: [text(a), text(b)] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_and_both_values_are_named() {
        let base = "{\"a\": [{\"x\": 0.1}, 2], \"b\": \"t\"}";
        assert_eq!(difference(base, base), None);
        let of = |other: &str| difference(base, other).map(|Difference { place, values: [a, b] }| (place, a, b));
        let found = |place: &str, a: &str, b: &str| Some((place.to_owned(), a.to_owned(), b.to_owned()));
        assert_eq!(of(&base.replace("0.1", "0.10000000000000002")), found("a[0].x", "0.1", "0.10000000000000002"));
        assert_eq!(of(&base.replace(", 2", "")), found("a[1]", "2", "absent"));
        assert_eq!(of(&base.replace("\"b\"", "\"c\"")), found("b", "\"t\"", "absent"));
        assert_eq!(of("{").map(|(place, ..)| place).as_deref(), Some("line 1"));
        assert_eq!(of(&format!("{base}\n")).map(|(place, ..)| place).as_deref(), Some("the text"));
    }
}
