//! Suggestions for misspelt words.

/// Longest word that is compared, in bytes or characters: the distance is quadratic in the length.
const LONGEST_WORD: usize = 64;

/// The candidate nearest to `word`, if at most a third of its letters are wrong.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A long word is no misspelling of a key.
    if word.len() > LONGEST_WORD {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|&(edits, candidate)| edits * 3 <= candidate.chars().count().max(3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// The `most` candidates nearest to `word`, the nearest first, at any distance. Case-insensitive.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let word: String = word.chars().take(LONGEST_WORD).flat_map(char::to_lowercase).collect();
    let mut all: Vec<_> =
        candidates.into_iter().map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate)).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().take(most).map(|(_, candidate)| candidate).collect()
}

/// The end of a message that suggests a spelling, if there is one: `; did you mean "rate"?`.
pub fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"))
}

/// The suggested spelling in a message, see [`did_you_mean`].
pub fn offered(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("did you mean \"")?;
    rest.split_once("\"?").map(|(near, _)| near)
}

/// Edits (insert, delete, replace, swap neighbours) between two words: optimal string alignment.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<_>, Vec<_>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in table.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in table[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = best;
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("dealy", "delay"), 1);
    }

    #[test]
    fn the_nearest_are_suggested_at_any_distance() {
        let names = ["Maria", "Mario", "printer", "marta", "Maria"];
        assert_eq!(nearest("MARIA", names, 3), ["Maria", "Mario", "marta"]);
        assert_eq!(nearest("x", ["abc"], 3), ["abc"]);
        assert!(nearest(&"x".repeat(100_000), [], 3).is_empty());
    }

    #[test]
    fn a_suggestion_is_found_in_its_message() {
        for near in [Some("rate"), Some("55 Mb/s"), None] {
            assert_eq!(offered(&format!("\"x\" is not known{}", did_you_mean(near))), near);
        }
    }

    #[test]
    fn only_near_words_are_suggested() {
        let keys = ["delay", "rate", "buffer"];
        assert_eq!(closest("dealy", keys), Some("delay"));
        assert_eq!(closest("bufer", keys), Some("buffer"));
        assert_eq!(closest("colour", keys), None);
        assert_eq!(closest(&"x".repeat(1000), keys), None);
    }
}
