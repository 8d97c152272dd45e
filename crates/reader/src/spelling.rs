//! Suggestions for misspelt words.

/// The candidate nearest to `word`, if it is near enough to be worth offering: at most a third of its letters wrong.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A long word is no misspelling of a key, and the distance is quadratic in its length.
    if word.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|&(edits, candidate)| edits * 3 <= candidate.chars().count().max(3))
        .min()
        .map(|(_, candidate)| candidate)
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
    fn only_near_words_are_offered() {
        let keys = ["delay", "rate", "buffer"];
        assert_eq!(closest("dealy", keys), Some("delay"));
        assert_eq!(closest("bufer", keys), Some("buffer"));
        assert_eq!(closest("colour", keys), None);
        assert_eq!(closest(&"x".repeat(1000), keys), None);
    }
}
