//! Normal equations, solved in integers.
//!
//! `M = L D L^T` (a Cholesky decomposition without roots), in numbers of `FRACTION` binary places. The largest
//! element of M is brought to one first, and a small part of that is added to the diagonal, so that nothing is
//! divided by what rounding has left of a zero: what the equations do not determine comes out with a large variance,
//! and not as an error.
//!
//! Source: Golub and Van Loan, "Matrix Computations", 4.1.

use alloc::vec::Vec;

/// Binary places of all numbers in here. Two factors below 2^23 each still fit when they are multiplied.
const FRACTION: u32 = 40;
/// Added to the diagonal: one part in so many of the largest element.
const RIDGE: u32 = 22;
/// Of elements: far beyond what a solution that means something has.
const MOST: i128 = 1 << (FRACTION + 22);

/// What solves the equations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Solution {
    /// Each unknown, in parts of [`Solution::UNIT`].
    pub(super) values: Vec<i64>,
    /// The diagonal of the inverse of M, which times the variance of the noise is that of the unknown: a numerator over
    /// [`Solution::scale`] times [`Solution::UNIT`].
    pub(super) spread: Vec<u64>,
    pub(super) scale: u128,
}

impl Solution {
    pub(super) const UNIT: i64 = 1 << 16;
}

const fn times(a: i128, b: i128) -> i128 {
    (a * b) >> FRACTION
}

fn over(a: i128, b: i128) -> i128 {
    ((a << FRACTION) / b).clamp(-MOST, MOST)
}

/// Solves `m x = b` for a symmetric `m` of `b.len()` rows that is a sum of squares. `None` where all of it is zero.
pub(super) fn solve(m: &[Vec<u128>], b: &[u128]) -> Option<Solution> {
    let n = b.len();
    let scale = m.iter().flatten().copied().max().filter(|&most| most > 0)?;
    let (l, d) = decompose(m, scale);
    let column = |right: &dyn Fn(usize) -> i128| {
        let mut x: Vec<i128> = Vec::with_capacity(n);
        for (i, row) in l.iter().enumerate() {
            let known: i128 = row.iter().zip(&x).map(|(&factor, &x)| times(factor, x)).sum();
            x.push((right(i) - known).clamp(-MOST, MOST));
        }
        (0..n).for_each(|i| x[i] = over(x[i], d[i]));
        for i in (0..n).rev() {
            let known: i128 = (i + 1..n).map(|k| times(l[k][i], x[k])).sum();
            x[i] = (x[i] - known).clamp(-MOST, MOST);
        }
        x
    };
    let to_unit = |x: i128| (x >> (FRACTION - 16)) as i64;
    let values = column(&|i| fraction(b[i], scale)).into_iter().map(to_unit).collect();
    let unit = |at: usize| column(&|i| i128::from(i == at) << FRACTION)[at];
    let spread = (0..n).map(|at| u64::try_from(to_unit(unit(at))).unwrap_or(0)).collect();
    Some(Solution { values, spread, scale })
}

/// `a / scale`. What is more than 2^20 times larger comes out as that.
fn fraction(a: u128, scale: u128) -> i128 {
    // So that shifting it by FRACTION does not overflow: what is cut off is below one part in 2^46.
    let spare = (128 - a.max(scale).leading_zeros()).saturating_sub(86);
    let (a, scale) = ((a >> spare) as i128, ((scale >> spare) as i128).max(1));
    over(a.min(scale << 20), scale)
}

fn decompose(m: &[Vec<u128>], scale: u128) -> (Vec<Vec<i128>>, Vec<i128>) {
    let n = m.len();
    let least = (1 << FRACTION) >> RIDGE;
    let mut l: Vec<Vec<i128>> = Vec::with_capacity(n);
    let mut d: Vec<i128> = Vec::with_capacity(n);
    for (i, own) in m.iter().enumerate() {
        let mut row: Vec<i128> = Vec::with_capacity(i);
        let mut pivot = fraction(own[i], scale) + least;
        for (j, above) in l.iter().enumerate() {
            let known: i128 = (0..j).map(|k| times(times(row[k], above[k]), d[k])).sum();
            let factor = over(fraction(own[j], scale) - known, d[j]);
            pivot -= times(times(factor, factor), d[j]);
            row.push(factor);
        }
        l.push(row);
        d.push(pivot.max(least));
    }
    (l, d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Rows of what was used, and what it took by these costs.
    fn equations(rows: &[&[u64]], costs: &[u64]) -> (Vec<Vec<u128>>, Vec<u128>) {
        let n = costs.len();
        let (mut m, mut b) = (vec![vec![0; n]; n], vec![0; n]);
        for row in rows {
            let took: u64 = row.iter().zip(costs).map(|(a, x)| a * x).sum();
            for i in 0..n {
                (0..n).for_each(|j| m[i][j] += u128::from(row[i]) * u128::from(row[j]));
                b[i] += u128::from(row[i]) * u128::from(took);
            }
        }
        (m, b)
    }

    fn near(value: i64, cost: u64) -> bool {
        (value - cost as i64 * Solution::UNIT).abs() * 100 < cost as i64 * Solution::UNIT
    }

    #[test]
    fn costs_are_found_from_what_mixtures_took() {
        let rows: [&[u64]; 5] = [&[100, 50, 80], &[60, 90, 80], &[80, 70, 120], &[100, 90, 40], &[70, 30, 100]];
        let costs = [1, 4, 2];
        let (m, b) = equations(&rows, &costs);
        let solution = solve(&m, &b).expect("not all zero");
        for (value, cost) in solution.values.iter().zip(costs) {
            assert!(near(*value, cost), "{solution:?}");
        }
        // As large as they get: seconds in nanoseconds, summed up.
        let large: Vec<Vec<u128>> = m.iter().map(|row| row.iter().map(|a| a << 60).collect()).collect();
        let right: Vec<u128> = b.iter().map(|b| b << 60).collect();
        assert_eq!(solve(&large, &right).expect("not all zero").values, solution.values);
    }

    #[test]
    fn what_always_came_together_is_shown_by_its_spread() {
        let apart: [&[u64]; 4] = [&[100, 50], &[50, 100], &[120, 60], &[60, 90]];
        let together: [&[u64]; 4] = [&[100, 50], &[80, 40], &[120, 60], &[60, 30]];
        let of = |rows: &[&[u64]]| {
            let (m, b) = equations(rows, &[1, 4]);
            solve(&m, &b).expect("not all zero")
        };
        let (clear, unclear) = (of(&apart), of(&together));
        assert!(clear.spread.iter().all(|&spread| spread < 20 << 16), "{clear:?}");
        assert!(unclear.spread[1] > 100 * clear.spread[1], "{unclear:?}");
        // Between them they take what was seen all the same.
        let sum = unclear.values[0] * 2 + unclear.values[1];
        assert!((sum - 6 * Solution::UNIT).abs() < Solution::UNIT / 20, "{unclear:?}");
        assert_eq!(solve(&[vec![0; 2], vec![0; 2]], &[0, 0]), None);
    }

    #[test]
    fn many_unknowns_are_within_range() {
        let n = 32;
        let mut state = 1_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let rows: Vec<Vec<u64>> = (0..96).map(|_| (0..n).map(|_| 10_000 + random() % 5_000).collect()).collect();
        let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
        let costs: Vec<u64> = (0..n).map(|i| 1 + i % 4).collect();
        let (m, b) = equations(&rows, &costs);
        let solution = solve(&m, &b).expect("not all zero");
        for (value, cost) in solution.values.iter().zip(costs) {
            assert!((value - cost as i64 * Solution::UNIT).abs() < Solution::UNIT / 10, "{value} of {cost}");
        }
    }
}
