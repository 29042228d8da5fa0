//! The turns in which a rank sends its rows for an expert, and in which the results return.

use std::ops::Range;

/// One rank's rows for an expert, divided into turns. A sender puts one turn to a peer and then goes on to the next peer;
/// results come back in the same turns.
///
/// The expert's rows are cut at multiples of `turn`. A cut that lies completely in the rank's range is whole. The rows
/// before the first whole cut and after the last one are the ends of the range; other ranks may have the rest of these
/// cuts. The first turn has both ends, so that other ranks' rows in the same cuts don't wait for a later turn. If the ends
/// together have less than `turn / 2` rows, the first turn also has the first whole cut. Each later turn has one whole cut.
///
/// ```
/// use hpmoe_kernels::route::PairTurns;
///
/// // Rows 6 to 23, eight in a turn. The end is short, so the first turn also has rows 8 to 15.
/// let turns = PairTurns::new(6..24, 8);
/// assert_eq!([6, 8, 16].map(|row| turns.of_row(row)), [0, 0, 1]);
/// // Rows 5 to 24. The ends, rows 5 to 7 and 24, are half of a turn, so the first turn has nothing else.
/// let turns = PairTurns::new(5..25, 8);
/// assert_eq!([5, 8, 16, 24].map(|row| turns.of_row(row)), [0, 1, 2, 0]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairTurns {
    rows: Range<usize>,
    /// The rows that whole cuts cover, which no other rank shares; empty if there is no whole cut.
    whole: Range<usize>,
    turn: usize,
    /// Number of whole cuts in the first turn.
    at_first: usize,
}

impl PairTurns {
    /// Divides a range of the expert's rows into turns. The first turn has both ends of the range, and in some cases a whole
    /// cut, so it may have fewer or more rows than `turn`. Each later turn has `turn` rows.
    ///
    /// # Panics
    ///
    /// If `turn` is 0.
    #[must_use]
    pub fn new(rows: Range<usize>, turn: usize) -> Self {
        let Range { start, end } = rows;
        let (first, last) = (start.div_ceil(turn) * turn, end / turn * turn);
        let whole = if first < last { first..last } else { end..end };
        let ends = (whole.start - start) + (end - whole.end);
        let at_first = usize::from(!whole.is_empty() && 2 * ends < turn);
        Self { rows, whole, turn, at_first }
    }

    /// The turn of a row of the range, from 0. Like the range, `row` is a position among all of the expert's rows.
    #[must_use]
    pub fn of_row(&self, row: usize) -> usize {
        if self.whole.contains(&row) { (row - self.whole.start) / self.turn + 1 - self.at_first } else { 0 }
    }

    /// The turns of the pieces that result from cutting the range at rows whose numbers are multiples of `height`.
    ///
    /// # Panics
    ///
    /// If `height` is 0.
    #[must_use]
    pub fn of_pieces(&self, height: usize) -> PieceTurns {
        let before = |row: usize| row.div_ceil(height).saturating_sub(self.rows.start / height);
        let pieces = if self.rows.is_empty() { 0 } else { before(self.rows.end) };
        let behind = pieces - before(self.whole.end).min(pieces);
        let each = self.turn.div_ceil(height);
        let first = (behind + before(self.whole.start) + self.at_first * each).min(pieces);
        PieceTurns { pieces, behind, first, each }
    }
}

/// The pieces of one rank's rows for an expert, in the order in which they are put: turn after turn.
///
/// ```
/// use hpmoe_kernels::route::PairTurns;
///
/// // Pieces of four rows: 5 to 7, 8 to 11, and so on up to row 24.
/// let pieces = PairTurns::new(5..25, 8).of_pieces(4);
/// let turn = |turn: usize| (pieces.begin(turn)..pieces.begin(turn + 1)).map(|place| pieces.piece(place)).collect::<Vec<_>>();
/// assert_eq!([turn(0), turn(1), turn(2)], [vec![5, 0], vec![1, 2], vec![3, 4]]);
/// assert_eq!(pieces.count(), 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieceTurns {
    pieces: usize,
    /// Number of pieces after the last whole cut. They come first in the order.
    behind: usize,
    /// Number of pieces in the first turn. `each` is the number in each later turn.
    first: usize,
    each: usize,
}

impl PieceTurns {
    /// Number of turns, at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        1 + (self.pieces - self.first).div_ceil(self.each)
    }

    /// Position of the first piece of a turn. For a turn from [`Self::count`] on, it is the number of pieces.
    #[must_use]
    pub fn begin(&self, turn: usize) -> usize {
        turn.checked_sub(1).map_or(0, |later| (self.first + later * self.each).min(self.pieces))
    }

    /// The number of the piece at position `place` of the order. Pieces are numbered by their rows; numbers and positions
    /// start at 0.
    #[must_use]
    pub const fn piece(&self, place: usize) -> usize {
        if place < self.behind { self.pieces - self.behind + place } else { place - self.behind }
    }

    /// The turn that position `place` of the order belongs to.
    #[must_use]
    pub fn of_place(&self, place: usize) -> usize {
        if place < self.first { 0 } else { 1 + (place - self.first) / self.each }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_rows_have_one_turn() {
        for rows in [0..0, 3..3, 3..4, 0..8, 1..15, 4..12] {
            let pieces = PairTurns::new(rows.clone(), 8).of_pieces(2);
            assert_eq!(pieces.count(), 1, "{rows:?}");
            assert!(rows.clone().all(|row| PairTurns::new(rows.clone(), 8).of_row(row) == 0));
        }
    }

    proptest! {
        #[test]
        fn every_piece_has_one_place(start in 0usize..50, len in 0usize..200, turn in 1usize..40, height in 1usize..40) {
            let pieces = PairTurns::new(start..start + len, turn).of_pieces(height);
            let all = if len == 0 { 0 } else { (start + len).div_ceil(height) - start / height };
            prop_assert_eq!(pieces.begin(pieces.count()), all);
            prop_assert!(pieces.count() == 1 || pieces.begin(pieces.count() - 1) < all);
            let mut found: Vec<usize> = (0..all).map(|place| pieces.piece(place)).collect();
            found.sort_unstable();
            prop_assert!(found.into_iter().eq(0..all));
            for turn in 0..pieces.count() {
                prop_assert!((pieces.begin(turn)..pieces.begin(turn + 1)).all(|place| pieces.of_place(place) == turn));
            }
        }

        #[test]
        fn pieces_come_in_the_turns_of_their_rows(start in 0usize..50, len in 1usize..200, height in 1usize..10, factor in 1usize..5) {
            let turns = PairTurns::new(start..start + len, height * factor);
            let pieces = turns.of_pieces(height);
            for place in 0..pieces.begin(pieces.count()) {
                let row = (start / height + pieces.piece(place)) * height;
                prop_assert_eq!(turns.of_row(row.max(start)), pieces.of_place(place));
            }
        }
    }
}
