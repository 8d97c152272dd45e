//! Series under construction: zeros are added when a later value follows, or the run ends.
//!
//! The values of an interval are one row until the run ends, and are converted to series then: otherwise each of many
//! senders and applications would have a dozen memory locations to write for every interval. All rows are in one sequence,
//! interval by interval, and are sorted by owner at the end of the run.

use evenair_results::LossSeries;
use evenair_scenario::Scenario;
use evenair_units::hint::prefetch;

/// Number of whole intervals of a run.
pub(crate) fn intervals(scenario: &Scenario) -> usize {
    (scenario.duration / scenario.measure.interval) as usize
}

/// Rows in a piece of memory: small enough that the allocator keeps a freed piece for the series made of the rows. Memory
/// returned to the kernel would have to be cleared and mapped again page by page.
const PIECE: usize = 1 << 9;
/// How many of an owner's rows, which lie far apart, are prefetched at once.
const AHEAD: usize = 8;

/// Rows of many senders or applications, one for each interval in which something happened.
#[derive(Debug)]
pub(crate) struct Rows<R> {
    /// Interval and row; all pieces but the last one are full.
    pieces: Vec<Vec<(u32, R)>>,
    /// Owner of each row, stored separately since sorting reads nothing else.
    owners: Vec<u32>,
}

/// Rows sorted by owner.
#[derive(Debug)]
pub(crate) struct Sorted<R> {
    pieces: Vec<Vec<(u32, R)>>,
    /// Indices of rows, grouped by owner and in the order of time.
    order: Vec<u32>,
    /// Where each owner's rows begin in `order`, and the end.
    begins: Vec<u32>,
}

impl<R> Default for Rows<R> {
    fn default() -> Self {
        Self { pieces: Vec::new(), owners: Vec::new() }
    }
}

impl<R> Rows<R> {
    /// Adds the row of `owner` in interval `number`, which must not be below that of an earlier row of the owner.
    #[inline]
    pub(crate) fn push(&mut self, owner: usize, number: usize, row: R) {
        let row = (number as u32, row);
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push(row),
            _ => self.begin_piece(row),
        }
        self.owners.push(owner as u32);
    }

    #[cold]
    fn begin_piece(&mut self, row: (u32, R)) {
        // The first piece is small, as there may be few rows.
        let mut piece = Vec::with_capacity(if self.pieces.is_empty() { 0 } else { PIECE });
        piece.push(row);
        self.pieces.push(piece);
    }

    /// Sorts the rows of this many owners.
    pub(crate) fn sort(self, owners: usize) -> Sorted<R> {
        let mut begins = vec![0; owners + 1];
        self.owners.iter().for_each(|&owner| begins[owner as usize + 1] += 1);
        (0..owners).for_each(|owner| begins[owner + 1] += begins[owner]);
        let (mut next, mut order) = (begins.clone(), vec![0; self.owners.len()]);
        for (place, &owner) in (0..).zip(&self.owners) {
            let free = &mut next[owner as usize];
            order[*free as usize] = place;
            *free += 1;
        }
        Sorted { pieces: self.pieces, order, begins }
    }
}

impl<R> Sorted<R> {
    /// An owner's rows, each with the number of its interval.
    pub(crate) fn of(&self, owner: usize) -> impl Iterator<Item = (usize, &R)> {
        let [begin, end] = [self.begins[owner] as usize, self.begins[owner + 1] as usize];
        (begin..end).map(|at| {
            if let Some(&later) = self.order.get(at + AHEAD) {
                prefetch(self.row(later));
            }
            let (number, row) = self.row(self.order[at]);
            (*number as usize, row)
        })
    }

    fn row(&self, place: u32) -> &(u32, R) {
        &self.pieces[place as usize / PIECE][place as usize % PIECE]
    }
}

/// An interval of a run, with the number of intervals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) number: usize,
    pub(crate) intervals: usize,
}

/// Sets the value of an interval; a zero is not stored while the series is shorter. A series gets its final capacity with
/// its first value.
#[inline]
pub(crate) fn put<T: Copy + Default + PartialEq>(series: &mut Vec<T>, at: Interval, value: T) {
    let Interval { number, intervals } = at;
    if value != T::default() {
        if series.len() != number || number == 0 {
            skip_to(series, number, intervals);
        }
        series.push(value);
    }
}

/// Appends zeros up to interval `number`.
#[inline(never)]
fn skip_to<T: Copy + Default>(series: &mut Vec<T>, number: usize, intervals: usize) {
    if series.capacity() == 0 {
        series.reserve_exact(intervals);
    }
    series.resize(number, T::default());
}

/// As [`put`], for the losses of a reason.
pub(crate) fn put_loss(series: &mut Vec<LossSeries>, at: Interval, reason: &str, frames: u64) {
    if frames > 0 {
        let place = series.iter().position(|loss| loss.reason == reason).unwrap_or_else(|| {
            series.push(LossSeries { reason: reason.to_owned(), frames: Vec::new() });
            series.len() - 1
        });
        put(&mut series[place].frames, at, frames);
    }
}

/// Appends zeros up to the length of the run, unless the series is empty.
pub(crate) fn fill<T: Copy + Default>(series: &mut Vec<T>, intervals: usize) {
    if !series.is_empty() {
        series.resize(intervals, T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_owner_gets_its_own_rows_in_the_order_of_time() {
        let mut rows = Rows::default();
        for (owner, number, row) in [(2, 0, 'a'), (0, 0, 'b'), (2, 1, 'c'), (0, 3, 'd'), (2, 3, 'e')] {
            rows.push(owner, number, row);
        }
        let sorted = rows.sort(4);
        let of = |owner| sorted.of(owner).map(|(number, &row)| (number, row)).collect::<Vec<_>>();
        assert_eq!(of(0), [(0, 'b'), (3, 'd')]);
        assert_eq!(of(1), []);
        assert_eq!(of(2), [(0, 'a'), (1, 'c'), (3, 'e')]);
        assert_eq!(of(3), []);
    }

    #[test]
    fn many_rows_keep_their_owners_and_order() {
        const OWNERS: usize = 7;
        const INTERVALS: usize = PIECE;
        let mut rows = Rows::default();
        let is_there = |owner: usize, number: usize| !(owner * 31 + number * number).is_multiple_of(3);
        for number in 0..INTERVALS {
            (0..OWNERS)
                .filter(|&owner| is_there(owner, number))
                .for_each(|owner| rows.push(owner, number, owner ^ number));
        }
        assert!(rows.pieces.len() > 2 && rows.pieces[1..].iter().all(|piece| piece.capacity() == PIECE));
        let sorted = rows.sort(OWNERS);
        for owner in 0..OWNERS {
            let expected =
                (0..INTERVALS).filter(|&number| is_there(owner, number)).map(|number| (number, owner ^ number));
            assert!(sorted.of(owner).map(|(number, &row)| (number, row)).eq(expected));
        }
    }
}
